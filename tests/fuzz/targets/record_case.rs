//! Any bytes as cases, given to `case record` and to `case import`: what is taken is one line a case, says what was given,
//! and is read again as it is; what is refused leaves nothing.

#![no_main]

use std::fs;
use std::path::PathBuf;
use std::sync::LazyLock;

use chrono::{DateTime, Utc};
use cruxctl::journal::scan::{self, Item, Stretch};
use cruxctl::store::case::{Case, JOURNAL};
use cruxctl_fuzz::json::{self, Value, What};
use cruxctl_fuzz::world::{self, Answer};
use libfuzzer_sys::fuzz_target;

static FOLDER: LazyLock<PathBuf> = LazyLock::new(|| world::folder("case"));

fuzz_target!(|data: &[u8]| {
    let [how, input @ ..] = data else { return };
    let dir = FOLDER.join("data");
    let _ = fs::remove_dir_all(&dir);
    fs::create_dir_all(&dir).expect("a folder can be made");
    let import = how % 2 == 1;
    let root = dir.to_str().expect("a path of ours");
    let verb = if import { "import" } else { "record" };
    let answer = world::run(&["case", verb, "--json", "--no-sync", "--data-dir", root], input);
    let written = fs::read(dir.join(JOURNAL.file)).unwrap_or_default();
    let lines = read_again(&dir.join(JOURNAL.file), &written);
    let given: Vec<&[u8]> = match import {
        true => input.split(|byte| *byte == b'\n').filter(|line| !line.trim_ascii().is_empty()).collect(),
        false => vec![input],
    };
    let told = told(&answer, import);
    let mut records = lines.iter();
    let mut ids = Vec::new();
    let mut all = true;
    for one in given {
        let trimmed = if import { one.trim_ascii() } else { one };
        match case(trimmed, import) {
            Taken::No => all = false,
            Taken::Yes(value) => {
                if value.get("case_id").and_then(Value::text).is_some_and(|id| ids.contains(&id)) {
                    all = false;
                    continue;
                }
                let record = records.next().expect("a case is not written");
                let case = Case::read(record).expect("it was read before");
                says(&value, &case);
                ids.push(case.id.into_owned());
            }
        }
    }
    assert!(records.next().is_none(), "more is written than was given");
    assert_eq!(ids, told, "{answer:?}");
    assert_eq!(answer.status == 0, all, "{answer:?}");
    assert!(matches!(answer.status, 0 | 2), "{answer:?}");
});

/// Each line of what is written, which is a case, and written again is the same.
fn read_again(path: &std::path::Path, written: &[u8]) -> Vec<Vec<u8>> {
    let mut lines = Vec::new();
    if written.is_empty() {
        return lines;
    }
    assert!(written.ends_with(b"\n"));
    for line in written[..written.len() - 1].split(|byte| *byte == b'\n') {
        serde_json::from_slice::<serde_json::Value>(line).expect("the daemon reads it");
        let case = Case::read(line).expect("it is a case");
        assert_eq!(case.line(), line);
        assert!((0.0..=1.0).contains(&case.reward) && case.reward.is_sign_positive());
        lines.push(line.to_vec());
    }
    let file = fs::File::open(path).expect("it was written");
    let stretch = Stretch::whole(written.len() as u64);
    let scanned = scan::scan(path, &file, JOURNAL.shape, stretch, &mut |item| {
        assert!(!matches!(item, Item::Finding(..) | Item::Foreign { .. }), "{item:?}");
        Ok(())
    });
    scanned.expect("a file in memory can be read");
    lines
}

/// The ids that are told.
fn told(answer: &Answer, import: bool) -> Vec<String> {
    if answer.stdout.is_empty() {
        return Vec::new();
    }
    let told = json::parse(&answer.stdout).expect("the answer is JSON");
    let list = told.get(if import { "imported" } else { "recorded" });
    let list = list.map_or(&[][..], |list| if let What::List(all) = &list.what { all } else { &[] });
    list.iter().map(|one| one.get("id").and_then(Value::text).expect("an id")).collect()
}

/// What becomes of a document.
enum Taken {
    No,
    Yes(Value),
}

const MEMBERS: [&str; 11] = [
    "task",
    "action",
    "outcome",
    "context",
    "success",
    "reward",
    "tags",
    "source_receipt",
    "case_id",
    "created_at",
    "times_reused",
];

/// Whether a document is a case, found out once more.
fn case(text: &[u8], import: bool) -> Taken {
    let taken = || -> Option<Value> {
        std::str::from_utf8(text).ok()?;
        let value = json::parse(text).ok()?;
        let What::Object(members) = &value.what else { return None };
        let known = |(name, _): &(json::Text, Value)| MEMBERS.iter().any(|own| name.is(own));
        let twice = members.iter().enumerate().any(|(n, (name, _))| members[..n].iter().any(|(own, _)| own == name));
        if twice || !members.iter().all(known) {
            return None;
        }
        for name in ["task", "action", "outcome"] {
            value.get(name)?.text()?;
        }
        let null = |value: &Value| matches!(value.what, What::Word("null"));
        for name in ["context", "source_receipt", "case_id", "created_at"] {
            if value.get(name).is_some_and(|value| !null(value) && value.text().is_none()) {
                return None;
            }
        }
        let fits = |name: &str, fits: &dyn Fn(&Value) -> bool| value.get(name).is_none_or(fits);
        let right = fits("success", &|value| matches!(value.what, What::Word("true" | "false")))
            && fits(
                "reward",
                &|value| matches!(&value.what, What::Number(n) if n.parse::<f64>().is_ok_and(f64::is_finite)),
            )
            && fits(
                "tags",
                &|value| matches!(&value.what, What::List(all) if all.iter().all(|tag| tag.text().is_some())),
            );
        let given = |name: &str| value.get(name).and_then(Value::text);
        let (id, time) = (given("case_id"), given("created_at"));
        if !right || (!import && (id.is_some() || time.is_some())) {
            return None;
        }
        if id.is_some_and(|id| id.is_empty() || id.len() > 1024 || id.chars().any(char::is_control)) {
            return None;
        }
        time.is_none_or(|time| time.parse::<DateTime<Utc>>().is_ok()).then_some(value)
    };
    taken().map_or(Taken::No, Taken::Yes)
}

/// The record says what the document does.
fn says(value: &Value, case: &Case<'_>) {
    let text = |name: &str| value.get(name).and_then(Value::text);
    assert_eq!(text("task").as_deref(), Some(&*case.task));
    assert_eq!(text("action").as_deref(), Some(&*case.action));
    assert_eq!(text("outcome").as_deref(), Some(&*case.outcome));
    assert_eq!(text("context").as_deref(), case.context.as_deref());
    assert_eq!(text("source_receipt").as_deref(), case.source_receipt.as_deref());
    assert_eq!(case.success, !value.get("success").is_some_and(|value| matches!(value.what, What::Word("false"))));
    let tags = value.get("tags").map(|tags| {
        let What::List(all) = &tags.what else { return Vec::new() };
        all.iter().filter_map(Value::text).collect()
    });
    assert_eq!(tags.unwrap_or_default(), case.tag_texts());
    let reward = value.get("reward").map_or(1.0, |reward| match &reward.what {
        What::Number(number) => number.parse::<f64>().expect("a number"),
        _ => unreachable!("it was looked at before"),
    });
    assert_eq!(case.reward, reward.clamp(0.0, 1.0) as f32);
    assert_eq!(case.times_reused, 0);
    match text("created_at") {
        Some(time) => assert_eq!(time.parse::<DateTime<Utc>>().ok(), Some(case.created_at)),
        None => assert_eq!(case.created_at, world::NOW.parse::<DateTime<Utc>>().expect("a time")),
    }
    match text("case_id") {
        Some(id) => assert_eq!(id, case.id),
        None => assert!(case.id.starts_with("c_") && case.id.len() == 34),
    }
}
