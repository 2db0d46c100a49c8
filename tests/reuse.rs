//! Cases that are used again are counted, in a journal of our own: no count is lost, the daemon's journal stays as it
//! is, and damage there stops nobody from reading cases.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::thread;

use cruxctl::error::Code;
use proptest::prelude::*;
use serde_json::{Value, json};

use crate::support::{Answer, World, everything, session_line, split_ids, strace_is_waived, tree, words};

const CASES: &str = "cases.jsonl";
const REUSE: &str = "cruxctl/reuse.jsonl";

/// A `record` line of a case, which the daemon says was used `times` times.
fn case_line(id: &str, times: u64) -> String {
    let case = json!({
        "case_id": id, "task": format!("deploy {id}"), "action": "a", "outcome": "o", "success": true, "reward": 1.0,
        "created_at": "2026-01-01T00:00:00Z", "times_reused": times,
    });
    format!("{}\n", json!({"op": "record", "case": case}))
}

/// A `reuse` line.
fn count_line(id: &str, times: u64) -> String {
    format!("{{\"op\":\"reuse\",\"case_id\":\"{id}\",\"times\":{times},\"used_at\":\"2026-07-01T12:00:00Z\"}}\n")
}

/// A world with the cases `c1`, `c2` and `c3`, of which the daemon says that they were used 0, 2 and 5 times.
fn bank() -> World {
    World::with(CASES, [case_line("c1", 0), case_line("c2", 2), case_line("c3", 5)].concat())
}

/// The same, with these bytes as the journal of counts.
fn bank_with(counts: impl AsRef<[u8]>) -> World {
    let world = bank();
    fs::create_dir(world.dir().join("cruxctl")).unwrap();
    world.write(REUSE, counts);
    world
}

fn reuse(world: &World, args: &str) -> Answer {
    world.run(&[words("case reuse --json"), words(args)].concat())
}

/// The count that `case show` tells, and its status.
fn shown(world: &World, id: &str) -> (i32, u64) {
    let answer = world.run(&["case", "show", id, "--json"]);
    (answer.status, answer.json()["times_reused"].as_u64().unwrap())
}

/// The ids and counts that `case list` tells, by id, and its status.
fn listed(world: &World) -> (i32, Vec<(String, u64)>) {
    let answer = world.run(&words("case list --sort id --json"));
    let report = answer.json();
    let one = |case: &Value| (case["id"].as_str().unwrap().to_owned(), case["times_reused"].as_u64().unwrap());
    (answer.status, report["cases"].as_array().unwrap().iter().map(one).collect())
}

fn counts(numbers: [u64; 3]) -> Vec<(String, u64)> {
    ["c1", "c2", "c3"].map(str::to_owned).into_iter().zip(numbers).collect()
}

/// A journal's row of a check's report.
fn row<'r>(report: &'r Value, journal: &str) -> Option<&'r Value> {
    report["journals"].as_array().unwrap().iter().find(|row| row["journal"] == journal)
}

#[test]
fn a_use_is_counted_on_top_of_what_the_daemon_says() {
    let world = bank();
    let before = world.read(CASES);
    let told = reuse(&world, "c2").ends(0).json();
    let want = json!([{
        "action": "reuse", "id": "c2", "task": "deploy c2", "times_reused": 3, "offset": 0, "dry_run": false,
    }]);
    assert_eq!(told["changed"], want);
    assert_eq!(String::from_utf8(world.read(REUSE)).unwrap(), count_line("c2", 1));
    let told = reuse(&world, "c1 c2 c3").ends(0).json();
    let column = |name: &str| -> Vec<Value> {
        told["changed"].as_array().unwrap().iter().map(|row| row[name].clone()).collect()
    };
    assert_eq!(column("times_reused"), [1, 4, 6]);
    let offsets: Vec<usize> =
        column("offset").iter().map(|at| usize::try_from(at.as_u64().unwrap()).unwrap()).collect();
    let journal = String::from_utf8(world.read(REUSE)).unwrap();
    for (offset, (id, times)) in offsets.into_iter().zip([("c1", 1), ("c2", 2), ("c3", 1)]) {
        assert!(journal[offset..].starts_with(&count_line(id, times)), "{journal}");
    }
    assert_eq!(listed(&world), (0, counts([1, 4, 6])));
    assert_eq!([shown(&world, "c1"), shown(&world, "c2"), shown(&world, "c3")], [(0, 1), (0, 4), (0, 6)]);
    assert!(world.read(CASES) == before, "the daemon's journal stays as it is");
    // What is exported is what the daemon wrote.
    let exported = world.run(&words("journal export cases")).ends(0).text();
    assert!(exported.contains("\"times_reused\":2") && !exported.contains("\"times_reused\":4"), "{exported}");
}

#[test]
fn the_same_id_twice_counts_twice_and_all_goes_out_in_one_write() {
    if strace_is_waived() {
        return;
    }
    let world = bank();
    let traced = world.traced(&["-e", "trace=write,fdatasync"], &words("case reuse c1 c2 c1 c1 --json"), "");
    let told = traced.answer.json();
    let times: Vec<&Value> = told["changed"].as_array().unwrap().iter().map(|row| &row["times_reused"]).collect();
    assert_eq!(json!(times), json!([1, 3, 2, 3]));
    let (writes, syncs) = (traced.places("write", "/reuse.jsonl>"), traced.places("fdatasync", "/reuse.jsonl>"));
    assert!(writes.len() == 1 && syncs.len() == 1 && writes[0] < syncs[0], "{traced:?}");
    assert!(traced.places("write", "/cases.jsonl>").is_empty(), "{traced:?}");
    assert_eq!(listed(&world), (0, counts([3, 3, 5])));
    assert_eq!(world.run(&words("case reuse c3 c3 --format id")).ends(0).lines(), ["c3", "c3"]);
}

#[test]
fn one_id_that_is_no_case_keeps_all_others_from_being_counted() {
    let world = bank();
    for args in ["nope", "c1 nope c2", "c1 c2 nope", "c1 nope --dry-run"] {
        let answer = reuse(&world, args);
        let error = answer.fails(Code::NoCase);
        assert!(answer.stdout.is_empty() && error["message"].as_str().unwrap().contains("\"nope\""), "{answer:?}");
        assert!(!world.dir().join(REUSE).exists(), "{args}");
    }
    world.run(&words("case delete c2")).ends(0);
    reuse(&world, "c1 c2").fails(Code::NoCase);
    assert!(!world.dir().join(REUSE).exists());
    reuse(&world, "").fails(Code::UsageArguments);
    // In a damaged bank the case may be there.
    let damaged = World::with(CASES, case_line("c1", 0) + "{\"op\":\"rec\n").damaged();
    reuse(&damaged, "nope").ends(3);
    reuse(&damaged, "c1").ends(0);
}

#[test]
fn a_dry_run_counts_nothing_and_makes_nothing() {
    let world = bank();
    let before = everything(&world.beside(""));
    let told = reuse(&world, "c2 c2 --dry-run").ends(0).json();
    let rows = told["changed"].as_array().unwrap();
    assert_eq!(json!([rows[0]["times_reused"], rows[1]["times_reused"]]), json!([3, 4]));
    assert!(rows.iter().all(|row| row["dry_run"] == true && row["offset"].is_null()), "{told}");
    assert!(everything(&world.beside("")) == before);
    let nowhere = World::new();
    reuse(&nowhere, "c1").fails(Code::NoCase);
    assert!(!nowhere.dir().exists());
    // On top of counts that there are.
    reuse(&world, "c2").ends(0);
    let told = reuse(&world, "c2 --dry-run").ends(0).json();
    assert_eq!(told["changed"][0]["times_reused"], 4);
    assert_eq!(shown(&world, "c2"), (0, 3));
}

#[test]
fn the_file_and_its_folder_are_their_owners_alone() {
    let world = bank();
    reuse(&world, "c1").ends(0);
    let mode = |path: &str| fs::metadata(world.dir().join(path)).unwrap().permissions().mode() & 0o777;
    assert_eq!([mode(REUSE), mode("cruxctl")], [0o600, 0o700]);
}

#[test]
fn thirty_at_once_count_thirty() {
    let world = bank();
    let mut told: Vec<u64> = thread::scope(|scope| {
        let all: Vec<_> = (0..30).map(|_| scope.spawn(|| reuse(&world, "c2").ends(0).json())).collect();
        all.into_iter().map(|one| one.join().unwrap()["changed"][0]["times_reused"].as_u64().unwrap()).collect()
    });
    told.sort_unstable();
    assert_eq!(told, (3..=32).collect::<Vec<_>>(), "each has its own number");
    assert_eq!(listed(&world), (0, counts([0, 32, 5])));
}

#[test]
fn the_highest_count_stays() {
    let most = u64::MAX;
    let world = bank_with(count_line("c1", most - 1) + &count_line("c2", most));
    assert_eq!(listed(&world), (0, counts([most - 1, most, 5])));
    reuse(&world, "c1 c1 c1 c2").ends(0);
    assert_eq!(listed(&world), (0, counts([most, most, 5])));
    assert_eq!(world.check(&["reuse"]).0, 0);
    // One more than that is no count.
    let beyond = count_line("c1", 1).replace("\"times\":1", "\"times\":18446744073709551616");
    let world = bank_with(count_line("c1", 4) + &beyond).damaged();
    assert_eq!(world.classes("reuse"), ["wrong-type"]);
    assert_eq!(shown(&world, "c1"), (3, 4));
}

#[test]
fn a_deleted_case_keeps_its_count_for_when_it_comes_back() {
    let world = bank();
    reuse(&world, "c2 c2").ends(0);
    let exported = world.run(&words("journal export cases")).ends(0).text();
    world.run(&words("case delete c2")).ends(0);
    assert_eq!(listed(&world).1.len(), 2);
    let back: String =
        exported.lines().filter(|line| line.contains("\"c2\"")).map(|line| format!("{line}\n")).collect();
    world.run_with(&words("case import"), back).ends(0);
    // An import does not keep what the exported case says.
    assert_eq!(shown(&world, "c2"), (0, 2));
}

#[test]
fn what_is_found_and_in_which_order_does_not_hang_on_counts() {
    let world = World::with(CASES, fs::read(tree("tests/data/retrieve/cases.jsonl")).unwrap());
    let found = |query: &str| world.run(&["case", "retrieve", query, "-k", "100", "--json"]).stdout;
    let queries = ["deploy", "the service", "test", "error in the build"];
    let before = queries.map(found);
    assert!(before.iter().any(|answer| !answer.is_empty()));
    let ids = world.run(&words("case list --format id -0")).ends(0);
    let ids = split_ids(&ids.stdout);
    let odd: Vec<&str> = ids.iter().step_by(2).map(String::as_str).collect();
    for _ in 0..3 {
        world.run(&[vec!["case", "reuse", "--"], odd.clone()].concat()).ends(0);
    }
    assert!(queries.map(found) == before);
}

#[test]
fn damage_in_the_counts_is_told_and_stops_nobody() {
    let text = [&*count_line("c1", 3), "{\"op\":\"reuse\",\"case_id\":\"c2\",\"ti\n", &count_line("c3", 1)].concat();
    let world = bank_with(&text).damaged();
    let told = "cruxctl/reuse.jsonl is damaged in 1 place: line 2,";
    for line in ["case show c1", "case show c3 --json", "case list", "case list --json", "case list --format id"] {
        let answer = world.run(&words(line)).ends(3);
        assert!(!answer.stdout.is_empty() && answer.stderr.contains(told), "{answer:?}");
        assert!(answer.stderr.contains("cruxctl journal check reuse"), "{answer:?}");
        let known = world.run(&[words(line), words("--damaged-ok")].concat()).ends(0);
        assert!(known.stderr.contains(told), "{known:?}");
    }
    assert_eq!(listed(&world), (3, counts([3, 2, 6])));
    assert_eq!(shown(&world, "c1"), (3, 3));
    // A case that is not there is no answer of the counts.
    world.run(&words("case show nope")).ends(1);
    world.run(&words("case retrieve deploy")).ends(0);
    // What is counted on top of it may be too low.
    let answer = world.run(&words("case reuse c1 c2")).ends(3);
    assert!(answer.stderr.contains("warning: cruxctl/reuse.jsonl is damaged in 1 place"), "{answer:?}");
    assert_eq!(listed(&world), (3, counts([4, 3, 6])));
    // Following the advice mends it, and no count that could be read is lost.
    let report = world.run(&words("journal check --json")).ends(3).json();
    assert_eq!(report["next"], json!(["cruxctl journal repair reuse"]));
    let plan = world.shell("cruxctl journal repair reuse").ends(0);
    assert!(!plan.stderr.contains("stop the daemon"), "{plan:?}");
    world.shell(&plan.hints()[0]).ends(0);
    assert_eq!(listed(&world), (0, counts([4, 3, 6])));
    assert_eq!(world.check(&[]).0, 0);
}

#[test]
fn counts_that_cannot_be_opened_are_told_and_the_cases_are_shown() {
    let world = bank();
    fs::create_dir_all(world.dir().join(REUSE)).unwrap();
    for line in ["case show c2", "case list"] {
        let answer = world.run(&[words(line), words("--json")].concat());
        let error = answer.fails(Code::EnvironmentFileKind);
        assert!(error["message"].as_str().unwrap().contains(REUSE), "{error}");
        assert!(answer.text().contains("\"times_reused\": 2") || answer.text().contains("\"times_reused\":2"));
    }
    reuse(&world, "c2").fails(Code::EnvironmentFileKind);
    world.run(&words("case retrieve deploy")).ends(0);
    fs::remove_dir(world.dir().join(REUSE)).unwrap();
}

#[test]
fn a_folder_that_cannot_be_looked_into_is_told() {
    if strace_is_waived() {
        return;
    }
    let world = bank();
    reuse(&world, "c2").ends(0);
    let path = world.dir().join(REUSE);
    for line in ["case show c2", "case list"] {
        let strace = "strace -qq -o /dev/null -e inject=statx,lstat,newfstatat:error=EACCES";
        let answer = world.shell(&format!("{strace} -P '{}' cruxctl {line} --json", path.display())).ends(7);
        assert!(answer.stderr.contains("cannot look at") && answer.text().contains("c2"), "{answer:?}");
    }
}

#[test]
fn compaction_keeps_every_count() {
    let world = bank();
    for ids in ["c1 c2 c1", "c2", "c3 c2"] {
        reuse(&world, ids).ends(0);
    }
    let (before, cases) = (listed(&world), world.read(CASES));
    let told = world.run(&words("journal compact reuse --json")).ends(0).json();
    let told = &told["journals"][0];
    assert_eq!(json!([told["journal"], told["live"], told["dropped"]]), json!(["reuse", 3, 3]));
    let now = String::from_utf8(world.read(REUSE)).unwrap();
    assert_eq!(now, [count_line("c1", 2), count_line("c3", 1), count_line("c2", 3)].concat());
    assert_eq!(listed(&world), before);
    reuse(&world, "c1").ends(0);
    assert_eq!(shown(&world, "c1"), (0, 3));
    assert!(world.read(CASES) == cases);
    assert_eq!(fs::metadata(world.dir().join(REUSE)).unwrap().permissions().mode() & 0o777, 0o600);
}

#[test]
fn a_count_that_is_gone_is_named_by_the_witness() {
    let world = bank();
    reuse(&world, "c1 c2").ends(0);
    assert_eq!(world.check(&[]).0, 0);
    reuse(&world, "c2").ends(0);
    let whole = world.read(REUSE);
    world.write(REUSE, &whole[..count_line("c1", 1).len() * 2]);
    let (status, report) = world.check(&[]);
    let finding = &report["findings"][0];
    assert_eq!(
        (status, &finding["class"], &finding["daemon"]),
        (3, &json!("records-missing"), &json!("never-reads"))
    );
    assert_eq!(finding["ids"], json!(["c2"]));
    assert_eq!(report["for_the_daemon"], "the daemon starts and reads everything");
    assert_eq!(shown(&world, "c2").0, 3);
    // The whole file, too, which a check without a name would else pass over.
    fs::remove_file(world.dir().join(REUSE)).unwrap();
    let (status, report) = world.check(&[]);
    assert_eq!((status, &row(&report, "reuse").unwrap()["exists"]), (3, &json!(false)));
    world.write(REUSE, whole);
    assert_eq!(world.check(&[]).0, 0);
}

#[test]
fn an_index_answers_for_a_long_journal_of_counts() {
    let text: String = (0..16_000).map(|n| count_line(&format!("other-{n}"), 1)).collect();
    let world = bank_with(count_line("c1", 7) + &text);
    assert!(world.read(REUSE).len() > 1 << 20);
    // A dry run keeps nothing.
    world.run(&words("case reuse c1 --dry-run")).ends(0);
    assert!(!world.dir().join("cruxctl/index").exists());
    assert_eq!(shown(&world, "c1"), (0, 7));
    assert!(world.dir().join("cruxctl/index/reuse.index").exists());
    reuse(&world, "c1 c2").ends(0);
    assert_eq!(listed(&world), (0, counts([8, 3, 5])));
    assert_eq!(world.check(&["reuse", "--full"]).0, 0);
}

#[test]
fn our_own_journal_is_checked_where_it_is_and_asked_for() {
    let journals = |report: &Value| -> Vec<String> {
        report["journals"].as_array().unwrap().iter().map(|row| row["journal"].as_str().unwrap().to_owned()).collect()
    };
    let world = bank();
    let of = |verb: &str| journals(&world.run(&words(verb)).ends(0).json());
    for verb in ["journal check --json", "journal repair --json"] {
        assert_eq!(of(verb), ["sessions", "cases", "facts"], "{verb}");
    }
    // Where it is asked for it is told, and not made.
    for name in ["reuse", "reuse.jsonl"] {
        assert_eq!(of(&format!("journal check {name} --json")), ["reuse"]);
    }
    assert!(!world.dir().join(REUSE).exists());
    reuse(&world, "c1").ends(0);
    for verb in ["journal check --json", "journal repair --json"] {
        assert_eq!(of(verb), ["sessions", "cases", "facts", "reuse"], "{verb}");
    }
    assert_eq!(of("journal check reuse cases --json"), ["cases", "reuse"]);
    let report = world.run(&words("journal check reuse --json")).ends(0).json();
    assert_eq!(report["for_the_daemon"], "the daemon never reads this journal");
    let line = count_line("c1", 1);
    for verb in ["journal export reuse", "journal show reuse --id c1", "journal show reuse --line 1"] {
        assert_eq!(world.run(&words(verb)).ends(0).text(), line, "{verb}");
    }
    assert_eq!(world.run(&words("journal export reuse --format id")).ends(0).lines(), ["c1"]);
}

#[test]
fn what_only_the_daemon_would_stumble_over_is_nothing_in_our_own_journal() {
    let good = count_line("c1", 3);
    let more = |member: &str| good.replace("}\n", &format!(",\"x\":{member}}}\n"));
    for (what, text) in [
        ("no line end", good.trim_end().to_owned()),
        ("a byte order mark", format!("\u{feff}{good}")),
        ("too deep", more(&("[".repeat(130) + &"]".repeat(130)))),
        ("a number out of range", more("1e400")),
        ("half of a surrogate pair", more("\"\\ud83d\"")),
        ("foreign space", format!("\u{a0}{good}\n")),
    ] {
        let world = bank_with(&text);
        for args in [&["--for-daemon"][..], &[], &["reuse", "--for-daemon", "--full"]] {
            let (status, report) = world.check(args);
            let own = row(&report, "reuse").unwrap();
            assert_eq!((status, &own["verdict"], &report["findings"]), (0, &json!("clean"), &json!([])), "{what}");
            assert!(report["verdict"].as_str().unwrap().starts_with("clean"), "{what}: {report}");
        }
        assert_eq!(shown(&world, "c1"), (0, 3), "{what}");
        reuse(&world, "c1").ends(0);
        assert_eq!(shown(&world, "c1"), (0, 4), "{what}");
        world.run(&words("journal compact reuse")).ends(0);
        assert_eq!(shown(&world, "c1"), (0, 4), "{what}");
        assert_eq!(world.check(&["--for-daemon"]).0, 0, "{what}");
    }
    // Another version's record is passed through, and is nothing to the daemon either.
    let world = bank_with(format!("{good}{{\"op\":\"praise\",\"case_id\":\"c1\"}}\n"));
    let (status, report) = world.check(&["--for-daemon"]);
    let finding = &report["findings"][0];
    assert_eq!((status, &finding["class"], &finding["daemon"]), (0, &json!("unknown-op"), &json!("never-reads")));
    world.run(&words("journal compact reuse")).ends(0);
    assert!(String::from_utf8(world.read(REUSE)).unwrap().contains("praise"));
    // Beside it, a journal of the daemon's is judged as ever.
    world.write("sessions.jsonl", session_line("a", "1"));
    assert_eq!(world.check(&["--for-daemon"]).0, 3);
}

#[test]
fn a_copy_beside_our_own_journal_is_named() {
    let world = bank();
    reuse(&world, "c1").ends(0);
    world.write("cruxctl/reuse.conflict.jsonl", "");
    world.write("cruxctl/.reuse.jsonl.cruxctl-abc.tmp", "");
    let answer = world.run(&words("journal check")).ends(0);
    assert!(answer.stderr.contains("cruxctl/reuse.conflict.jsonl in the data directory is no journal"), "{answer:?}");
    assert!(answer.stderr.contains("cruxctl/.reuse.jsonl.cruxctl-abc.tmp in the data directory is a copy"));
}

#[test]
fn where_nothing_was_counted_that_costs_one_look() {
    if strace_is_waived() {
        return;
    }
    let world = bank();
    for (args, looks) in [("case list", 1), ("case show c1", 1), ("case retrieve deploy", 0)] {
        let traced = world.traced(&["-e", "trace=%file"], &words(args), "");
        let about = traced.calls.iter().filter(|call| call.contains("/cruxctl/reuse.jsonl\"")).count();
        assert_eq!(about, looks, "{args}: {traced:?}");
    }
    // And where something was, it is opened once, however many cases are shown.
    reuse(&world, "c1 c2").ends(0);
    let traced = world.traced(&["-e", "trace=openat"], &words("case list"), "");
    assert_eq!(traced.places("openat", "/cruxctl/reuse.jsonl\"").len(), 1, "{traced:?}");
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 12, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn any_uses_with_compactions_between_add_up(
        steps in prop::collection::vec(prop::option::weighted(0.8, prop::collection::vec(0usize..3, 1..5)), 1..8),
    ) {
        let world = bank();
        let mut want = [0, 2, 5];
        for step in steps {
            match step {
                Some(uses) => {
                    let ids: Vec<&str> = uses.iter().map(|n| ["c1", "c2", "c3"][*n]).collect();
                    world.run(&[vec!["case", "reuse"], ids].concat()).ends(0);
                    uses.into_iter().for_each(|n| want[n] += 1);
                }
                None => drop(world.run(&words("journal compact reuse")).ends(0)),
            }
        }
        prop_assert_eq!(listed(&world), (0, counts(want)));
    }
}
