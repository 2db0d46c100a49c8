//! `journal stat`, `map` and `report` count right: against a count of the tests' own, against `journal check` and
//! `journal compact --dry-run`, and against each other. The page stands alone, and what others wrote is text in it.

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};

use chrono::DateTime;
use cruxctl::error::Code;
use proptest::prelude::*;
use serde_json::{Value, json};

use crate::support::{Answer, World, everything, session_line, tree, words};

/// The figures that `stat` has of the journals of a world, whatever it ends with.
fn stat(world: &World, args: &[&str]) -> (i32, Value) {
    let answer = world.run(&[&["journal", "stat", "--json"], args].concat());
    (answer.status, answer.json())
}

/// The rows of a group that are about a journal.
fn rows<'r>(answer: &'r Value, group: &str, journal: &str) -> Vec<&'r Value> {
    answer[group].as_array().unwrap().iter().filter(|row| row["journal"] == journal).collect()
}

/// Some members of a row.
fn members(row: &Value, names: &[&str]) -> Value {
    names.iter().map(|name| row[name].clone()).collect()
}

fn count(value: &Value) -> u64 {
    value.as_u64().unwrap_or_else(|| panic!("{value} is no count"))
}

fn sum(rows: &[&Value], name: &str) -> u64 {
    rows.iter().map(|row| count(&row[name])).sum()
}

/// The data directories of the tree.
fn directories() -> Vec<String> {
    let mut found = vec!["tests/data/after-crash".to_owned(), "tests/data/nowhere".to_owned()];
    for folder in ["tests/data/daemon", "tests/data/daemon/torn"] {
        for entry in fs::read_dir(tree(folder)).unwrap() {
            let path = format!("{folder}/{}/data", entry.unwrap().file_name().into_string().unwrap());
            found.extend(tree(&path).is_dir().then_some(path));
        }
    }
    assert!(found.len() > 10, "{found:?}");
    found
}

/// What one line of an invented journal is.
#[derive(Clone, Debug)]
enum Line {
    Store { id: u8, state: usize, second: i64 },
    Delete { id: u8 },
    Foreign(usize),
    Wreck(usize),
    Blank(usize),
}

impl Line {
    fn text(&self) -> String {
        match self {
            Line::Store { id, state, second } => {
                let time = DateTime::from_timestamp(*second, 0).unwrap();
                // Other writers use other forms of one time.
                let east = chrono::FixedOffset::east_opt(5 * 3_600 + 1_800).unwrap();
                let time = match second % 5 {
                    1 if *second >= 0 => time.with_timezone(&east).to_rfc3339(),
                    2 => time.format("%Y-%m-%d %H:%M:%S.25z").to_string(),
                    _ => time.to_rfc3339_opts(chrono::SecondsFormat::Secs, true),
                };
                let state = format!("\"{}\"", "é".repeat(*state));
                session_line(&format!("s{id}"), &state).replace("2026-01-01T00:00:00Z", &time)
            }
            Line::Delete { id } => format!("{{\"op\":\"delete\",\"session_id\":\"s{id}\"}}"),
            Line::Foreign(len) => format!("{{\"op\":\"rename\",\"what\":\"{}\"}}", "x".repeat(*len)),
            Line::Wreck(len) => format!("{{\"op\":{}", "9".repeat(*len)),
            Line::Blank(len) => " ".repeat(*len),
        }
    }
}

/// A count of a journal's lines that knows nothing of the tool.
#[derive(Debug, Default)]
struct Counted {
    live: BTreeMap<String, u64>,
    ids: BTreeMap<String, (u64, u64)>,
    records: Vec<(u64, Option<i64>)>,
    damaged: (u64, u64),
    foreign: (u64, u64),
}

/// Counts the lines of a journal of sessions or cases with nothing but a JSON parser.
fn counted(text: &str) -> Counted {
    let mut counted = Counted::default();
    for line in text.lines().map(str::trim).filter(|line| !line.is_empty()) {
        let len = line.len() as u64;
        let Ok(event) = serde_json::from_str::<Value>(line) else {
            counted.damaged = (counted.damaged.0 + 1, counted.damaged.1 + len);
            continue;
        };
        let document = ["session", "case"].iter().map(|name| &event[name]).find(|d| d.is_object()).unwrap_or(&event);
        let id = ["session_id", "case_id"].iter().find_map(|name| document[name].as_str());
        let Some(id) = id.filter(|_| event["op"] != "rename") else {
            counted.foreign = (counted.foreign.0 + 1, counted.foreign.1 + len);
            continue;
        };
        let time = ["updated_at", "created_at"].iter().find_map(|name| document[name].as_str());
        let second = time.map(|time| DateTime::parse_from_rfc3339(time).unwrap().timestamp());
        counted.records.push((len, second));
        let all = counted.ids.entry(id.to_owned()).or_default();
        *all = (all.0 + len, all.1 + 1);
        if event["op"] == "delete" {
            counted.live.remove(id)
        } else {
            counted.live.insert(id.to_owned(), len)
        };
    }
    counted
}

/// The widths that stretches of time can have.
const WIDTHS: [i64; 14] =
    [1, 5, 15, 60, 300, 900, 3_600, 10_800, 43_200, 86_400, 604_800, 2_419_200, 7_257_600, 29_030_400];

/// Records by the stretch in which they were written: where it begins, how many, and their bytes.
fn stretches(records: &[(u64, Option<i64>)], width: i64) -> Vec<(i64, u64, u64)> {
    let mut at = records.iter().find_map(|(_, second)| *second).unwrap();
    let earliest = records.iter().filter_map(|(_, second)| *second).min().unwrap();
    let mut before = true;
    let mut all: BTreeMap<i64, (u64, u64)> = BTreeMap::new();
    for (len, second) in records {
        before &= second.is_none();
        at = second.unwrap_or(at);
        // What comes before any time counts with the earliest.
        let stretch = all.entry((if before { earliest } else { at }).div_euclid(width) * width).or_default();
        *stretch = (stretch.0 + 1, stretch.1 + len);
    }
    all.into_iter().map(|(at, (records, bytes))| (at, records, bytes)).collect()
}

/// Holds every figure of a journal of sessions or cases against a count of its own.
fn is_right(world: &World, journal: &str) {
    let bytes = world.read(&format!("{journal}.jsonl"));
    let own = counted(std::str::from_utf8(&bytes).unwrap());
    let (status, answer) = stat(world, &[journal]);
    assert_eq!(status, if own.damaged.0 > 0 { 3 } else { 0 });
    let row = rows(&answer, "journals", journal)[0];
    let record_bytes: u64 = own.records.iter().map(|(len, _)| len).sum();
    let live: u64 = own.live.values().sum();
    let names = [
        "bytes",
        "records",
        "live",
        "live_bytes",
        "dead_bytes",
        "damaged_bytes",
        "damage",
        "foreign_bytes",
        "foreign",
    ];
    let (damaged, foreign) = (own.damaged, own.foreign);
    let want = json!([
        bytes.len(),
        own.records.len(),
        own.live.len(),
        live,
        record_bytes - live,
        damaged.1,
        damaged.0,
        foreign.1,
        foreign.0
    ]);
    assert_eq!(members(row, &names), want, "{answer}");
    let rest = bytes.len() as u64 - record_bytes - damaged.1 - foreign.1;
    assert_eq!(count(&row["other_bytes"]), rest);
    match record_bytes {
        0 => assert!(row["dead_share"].is_null()),
        _ => {
            let share = (record_bytes - live) as f64 / record_bytes as f64;
            assert!((row["dead_share"].as_f64().unwrap() - share).abs() < 0.0001, "{row}");
        }
    }
    biggest_is_right(&own, &answer, journal);
    growth_is_right(&own, &answer, journal);
    // What a compaction would leave: each live record and each of another version on a line of its own.
    let after = live + own.live.len() as u64 + foreign.1 + foreign.0;
    if damaged.0 == 0 {
        assert_eq!(count(&row["compacted_bytes"]), after);
    }
    agrees(world, journal, row);
    adds_up(world, journal, row);
}

fn biggest_is_right(own: &Counted, answer: &Value, journal: &str) {
    let told = rows(answer, "biggest", journal);
    assert_eq!(told.len(), own.ids.len().min(10));
    let mut sizes: Vec<u64> = own.ids.values().map(|(bytes, _)| *bytes).collect();
    sizes.sort_unstable_by(|a, b| b.cmp(a));
    for (row, size) in told.iter().zip(sizes) {
        let id = row["id"].as_str().unwrap();
        let (bytes, records) = own.ids[id];
        let live = own.live.get(id).copied();
        let want = json!([size, records, live.is_some(), live.unwrap_or(0)]);
        assert_eq!((members(row, &["bytes", "records", "live", "live_bytes"]), bytes), (want, size), "{id}");
    }
    let mut ids: Vec<&str> = told.iter().map(|row| row["id"].as_str().unwrap()).collect();
    ids.sort_unstable();
    ids.dedup();
    assert_eq!(ids.len(), told.len(), "an id twice: {answer}");
}

fn growth_is_right(own: &Counted, answer: &Value, journal: &str) {
    let told = rows(answer, "growth", journal);
    let row = rows(answer, "journals", journal)[0];
    let seconds: Vec<i64> = own.records.iter().filter_map(|(_, second)| *second).collect();
    let (Some(first), Some(last)) = (seconds.iter().min(), seconds.iter().max()) else {
        assert!(row["first_at"].is_null() && told.iter().all(|row| row["at"].is_null()), "{answer}");
        assert_eq!(sum(&told, "records"), own.records.len() as u64);
        return;
    };
    let second = |value: &Value| DateTime::parse_from_rfc3339(value.as_str().unwrap()).unwrap().timestamp();
    assert_eq!((second(&row["first_at"]), second(&row["last_at"])), (*first, *last));
    let width = WIDTHS.into_iter().find(|width| stretches(&own.records, *width).len() <= 24).unwrap();
    assert!(told.iter().all(|row| row["seconds"] == width), "{width}: {told:?}");
    let got: Vec<_> =
        told.iter().map(|row| (second(&row["at"]), count(&row["records"]), count(&row["bytes"]))).collect();
    assert_eq!(got, stretches(&own.records, width));
}

/// What `check` and `compact --dry-run` say of a journal is what `stat` says of it.
fn agrees(world: &World, journal: &str, row: &Value) {
    let (_, check) = world.check(&["--dry-run", journal]);
    let checked = rows(&check, "journals", journal)[0];
    for name in
        ["exists", "bytes", "lines", "live", "dead_bytes", "damaged_bytes", "damage", "daemon", "foreign", "verdict"]
    {
        assert_eq!(row[name], checked[name], "{journal}: {name}");
    }
    let plan = world.run(&["journal", "compact", journal, "--dry-run", "--json"]);
    if plan.status > 0 {
        assert!(
            row["refused"].is_string() && row["saved_bytes"].is_null() && row["compacted_bytes"].is_null(),
            "{row}"
        );
        return;
    }
    let plan = &plan.json()["journals"][0];
    let saved = plan["before_bytes"].as_i64().unwrap() - plan["after_bytes"].as_i64().unwrap();
    let want = json!([plan["after_bytes"], saved, null]);
    assert_eq!(members(row, &["compacted_bytes", "saved_bytes", "refused"]), want, "{journal}");
}

/// The cells of a map, however many, come to the figures of `stat`, and lie end to end.
fn adds_up(world: &World, journal: &str, row: &Value) {
    for cells in ["1", "7", "64", "4096"] {
        let map = world.run(&["journal", "map", journal, "--json", "--cells", cells]).json();
        let told = rows(&map, "cells", journal);
        assert_eq!(told.len() as u64, count(&row["bytes"]).min(cells.parse().unwrap()));
        for name in ["live_bytes", "dead_bytes", "damaged_bytes", "foreign_bytes", "other_bytes"] {
            assert_eq!(sum(&told, name), count(&row[name]), "{journal}: {name} in {cells} cells");
        }
        let mut at = 0;
        for cell in &told {
            let own = ["live_bytes", "dead_bytes", "damaged_bytes", "foreign_bytes", "other_bytes"];
            let bytes: u64 = own.iter().map(|name| count(&cell[name])).sum();
            assert_eq!((count(&cell["start_offset"]), count(&cell["end_offset"])), (at, at + bytes), "{cell}");
            at += bytes;
        }
        assert_eq!(at, count(&row["bytes"]));
        let damaged = rows(&map, "damage", journal);
        assert_eq!(damaged.len() as u64, count(&row["damage"]), "{map}");
        let marked = told.iter().filter(|cell| count(&cell["places"]) > 0).count();
        assert_eq!(marked > 0, !damaged.is_empty() && at > 0, "{map}");
    }
}

fn line() -> impl Strategy<Value = Line> {
    let second = prop_oneof![
        8 => 1_767_225_600i64..1_767_312_000,
        2 => 1_700_000_000i64..1_800_000_000,
        1 => Just(0i64),
        1 => Just(4_102_444_800i64),
    ];
    prop_oneof![
        12 => (0u8..20, 0usize..200, second).prop_map(|(id, state, second)| Line::Store { id, state, second }),
        4 => (0u8..20).prop_map(|id| Line::Delete { id }),
        1 => (0usize..300).prop_map(Line::Foreign),
        1 => (1usize..300).prop_map(Line::Wreck),
        1 => (0usize..40).prop_map(Line::Blank),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 40, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn the_figures_of_any_journal_are_those_of_a_count_of_its_lines(lines in prop::collection::vec(line(), 0..60)) {
        let text: String = lines.iter().map(|line| line.text() + "\n").collect();
        let world = World::with("sessions.jsonl", text).damaged();
        is_right(&world, "sessions");
    }
}

#[test]
fn the_figures_of_what_the_daemon_wrote_are_those_of_a_count_of_its_lines() {
    for path in ["tests/data/daemon/small/data", "tests/data/daemon/torn/_base/data"] {
        let world = World::copy_of(path);
        assert!(!world.journals().is_empty(), "{path}");
        ["sessions", "cases"].into_iter().for_each(|journal| is_right(&world, journal));
    }
}

#[test]
fn stat_check_compact_and_map_agree_in_every_directory() {
    for path in directories() {
        let world = World::copy_of(&path).damaged();
        let (status, answer) = stat(&world, &[]);
        let (checked, check) = world.check(&["--dry-run"]);
        assert_eq!(status, checked, "{path}");
        for name in ["verdict", "for_the_daemon", "next"] {
            assert_eq!(answer[name], check[name], "{path}");
        }
        for journal in ["sessions", "cases", "facts"] {
            let row = rows(&answer, "journals", journal)[0];
            agrees(&world, journal, row);
            adds_up(&world, journal, row);
            let growth = rows(&answer, "growth", journal);
            assert_eq!(sum(&growth, "records"), count(&row["records"]), "{path}: {journal}");
            assert_eq!(sum(&growth, "bytes"), count(&row["live_bytes"]) + count(&row["dead_bytes"]), "{path}");
            // By class: as many as were found one by one.
            for class in rows(&answer, "findings", journal) {
                let same = rows(&check, "findings", journal).into_iter().filter(|f| f["class"] == class["class"]);
                let (places, bytes) = same.fold((0, 0), |(n, bytes), f| (n + 1, bytes + count(&f["length"])));
                assert_eq!(members(class, &["places", "bytes"]), json!([places, bytes]), "{path}: {class}");
            }
        }
    }
}

#[test]
fn a_journal_that_was_checked_has_the_same_figures_as_one_that_is_read_for_the_first_time() {
    for path in directories() {
        let world = World::copy_of(&path).damaged();
        let before = stat(&world, &[]);
        world.check(&[]);
        assert_eq!(stat(&world, &[]), before, "{path}");
    }
}

#[test]
fn a_long_journal_that_is_read_on_two_threads_is_counted_right() {
    let mut text = String::new();
    for n in 0..20_000u32 {
        let line =
            Line::Store { id: u8::try_from(n * 7 % 251).unwrap(), state: 450, second: 1_767_225_600 + i64::from(n) };
        text.push_str(&line.text());
        text.push('\n');
        if n % 5_000 == 17 {
            text.push_str("{\"op\":\"store\n");
        }
    }
    let world = World::with("sessions.jsonl", text).damaged();
    is_right(&world, "sessions");
    world.check(&[]);
    is_right(&world, "sessions");
}

/// A `store` line of a fact.
fn fact_line(id: &str, entity: &str, value: &str) -> String {
    format!(
        "{{\"op\":\"store\",\"fact\":{{\"fact_id\":\"{id}\",\"entity\":\"{entity}\",\"key\":\"k\",\"value\":\"{value}\",\
         \"confidence\":1,\"stored_at\":\"2026-01-01T00:00:00Z\",\"tokens\":1,\"deleted\":false}}}}\n"
    )
}

#[test]
fn facts_are_as_big_as_the_live_ones_are() {
    let sizes = [3, 200, 5, 90, 7, 11, 13, 17, 19, 23, 29, 31];
    let mut text: String =
        sizes.iter().map(|n| fact_line(&format!("f_{n}"), &format!("e{n}"), &"v".repeat(*n))).collect();
    text.push_str("{\"op\":\"delete\",\"fact_id\":\"f_200\",\"deleted_at\":\"2026-01-02T00:00:00Z\"}\n");
    let world = World::with("facts.jsonl", &text);
    let (_, answer) = stat(&world, &["facts"]);
    let told: Vec<&str> = rows(&answer, "biggest", "facts").iter().map(|row| row["id"].as_str().unwrap()).collect();
    let live: Vec<String> = [90, 31, 29, 23, 19, 17, 13, 11, 7, 5].iter().map(|n| format!("f_{n}")).collect();
    let of = |id: &str| {
        json!(text.lines().find(|line| line.contains(id)).unwrap().len() - "{\"op\":\"store\",\"fact\":}".len())
    };
    assert_eq!(told, live, "one that is deleted is none of them");
    for row in rows(&answer, "biggest", "facts") {
        let id = format!("\"{}\"", row["id"].as_str().unwrap());
        assert_eq!(members(row, &["bytes", "records", "live", "live_bytes"]), json!([of(&id), 1, true, of(&id)]));
    }
    agrees(&world, "facts", rows(&answer, "journals", "facts")[0]);
}

/// What `stat` says a compaction of a journal would be refused for.
fn refused(world: &World, journal: &str) -> Value {
    let answer = stat(world, &[journal]).1;
    let row = rows(&answer, "journals", journal)[0].clone();
    agrees(world, journal, &row);
    row["refused"].clone()
}

#[test]
fn a_compaction_that_would_be_refused_saves_nothing_and_a_word_says_why() {
    let good = [session_line("a", "1"), session_line("a", "2"), session_line("b", "3")].join("\n") + "\n";
    let world = World::with("sessions.jsonl", &good).damaged();
    assert_eq!(refused(&world, "sessions"), Value::Null);
    world.check(&[]);
    world.write("sessions.jsonl", session_line("a", "1") + "\n");
    assert_eq!(refused(&world, "sessions"), "witness");
    let world = World::with("sessions.jsonl", good.clone() + "{\"op\"\n").damaged();
    assert_eq!(refused(&world, "sessions"), "damage");
    // The daemon cannot read the newest version; where it cannot read the only one, nothing is lost.
    let deep = session_line("a", &("[".repeat(130) + &"]".repeat(130)));
    let world = World::with("sessions.jsonl", good.clone() + &deep + "\n");
    assert_eq!(refused(&world, "sessions"), "unread");
    let world = World::with("sessions.jsonl", deep + "\n");
    assert_eq!(refused(&world, "sessions"), Value::Null);
    let hold = fact_line("f_h", "__legal_hold__::case", "v") + &fact_line("f_1", "e", "v");
    let world = World::with("facts.jsonl", &hold);
    assert_eq!(refused(&world, "facts"), Value::Null);
    world.append("facts.jsonl", "{\"op\":\"delete\",\"fact_id\":\"f_1\",\"deleted_at\":\"2026-01-02T00:00:00Z\"}\n");
    assert_eq!(refused(&world, "facts"), "hold");
    let open = json!({
        "op": "handoff", "content_hash": "cd".repeat(32), "state": "open", "handoff_id": "h", "session_id": "s",
        "source_agent": "alice", "receiver": "bob", "key_id": "k", "session": true, "fact_ids": ["f_1"],
        "sessions_bytes": 0, "facts_bytes": 0, "heads_before": [], "times": 1, "begun_at": "2026-01-01T00:00:00Z",
    });
    let world = World::with("sessions.jsonl", &good);
    fs::create_dir(world.dir().join("cruxctl")).unwrap();
    world.write("cruxctl/handoffs.jsonl", format!("{open}\n"));
    assert_eq!(refused(&world, "sessions"), "handoff");
    assert_eq!(refused(&world, "cases"), Value::Null);
    assert_eq!(refused(&world, "handoffs"), Value::Null);
}

#[test]
fn a_compaction_that_only_ends_the_last_line_saves_less_than_nothing() {
    let world = World::with("sessions.jsonl", session_line("a", "1"));
    let (_, answer) = stat(&world, &["sessions"]);
    let row = rows(&answer, "journals", "sessions")[0];
    assert_eq!(row["saved_bytes"], -1);
    agrees(&world, "sessions", row);
}

#[test]
fn clocks_that_went_wrong_break_no_picture() {
    let mut seconds = vec![-62_167_219_200, 0, 4_102_444_800, 253_402_300_799];
    seconds.extend((0..200).map(|n| 1_767_225_600 + n * 3_601));
    let lines = |seconds: &[i64]| -> String {
        seconds.iter().map(|second| Line::Store { id: 1, state: 1, second: *second }.text() + "\n").collect()
    };
    let world = World::with("sessions.jsonl", lines(&seconds));
    is_right(&world, "sessions");
    let years: Vec<i64> = (0..9_999).step_by(7).map(|year| -62_167_219_200 + year * 31_557_600).collect();
    let world = World::with("sessions.jsonl", lines(&years));
    let (_, answer) = stat(&world, &["sessions"]);
    let told = rows(&answer, "growth", "sessions");
    assert!((2..=24).contains(&told.len()), "{told:?}");
    assert_eq!(sum(&told, "records"), years.len() as u64);
    // Deletes have no time: they count with what was written before them, or with the first that has one.
    let lines = [Line::Delete { id: 1 }, Line::Store { id: 1, state: 1, second: 0 }, Line::Delete { id: 2 }];
    is_right(
        &World::with("sessions.jsonl", lines.iter().map(|line| line.text() + "\n").collect::<String>()),
        "sessions",
    );
    is_right(&World::with("sessions.jsonl", Line::Delete { id: 1 }.text() + "\n"), "sessions");
}

#[test]
fn nothing_there_is_nothing_and_no_failure() {
    let nowhere = World::new();
    for line in ["journal stat --json", "journal map --json"] {
        let answer = nowhere.run(&words(line)).ends(0);
        assert!(answer.stderr.contains("there is no data directory"), "{answer:?}");
        assert!(!nowhere.dir().exists());
    }
    let (_, answer) = stat(&nowhere, &[]);
    for journal in ["sessions", "cases", "facts"] {
        let row = rows(&answer, "journals", journal)[0].as_object().unwrap();
        let told = row.values().filter(|value| value.is_number());
        assert!(told.clone().count() > 8 && told.into_iter().all(|value| *value == 0), "{row:?}");
    }
    let empty = World::with("sessions.jsonl", "");
    is_right(&empty, "sessions");
    assert!(empty.run(&words("journal map --format table")).ends(0).text().contains("sessions.jsonl: is empty"));
}

#[test]
fn damage_ends_with_three_unless_it_is_known() {
    let world = World::copy_of("tests/data/after-crash").damaged();
    for line in ["journal stat", "journal map", "journal report --html page.html", "journal report --html -"] {
        for format in ["table", "plain", "json", "jsonl", "id"] {
            let args = [words(line), vec!["--format", format]].concat();
            let answer = world.run(&args).ends(3);
            assert_eq!(answer.stderr.contains("damaged.journal"), format.starts_with("json"), "{answer:?}");
            world.run(&[args, vec!["--damaged-ok"]].concat()).ends(0);
        }
    }
}

#[test]
fn a_journal_that_cannot_be_read_says_nothing_about_the_others() {
    let world = World::with("sessions.jsonl", session_line("a", "1") + "\n").damaged();
    fs::create_dir(world.dir().join("cases.jsonl")).unwrap();
    let answer = world.run(&words("journal stat --json"));
    answer.fails(Code::EnvironmentFileKind);
    let report = answer.json();
    assert_eq!(rows(&report, "journals", "cases")[0]["verdict"], "unreadable");
    assert_eq!(rows(&report, "journals", "sessions")[0]["live"], 1);
    world.run(&words("journal report --html page.html --json")).fails(Code::EnvironmentFileKind);
    let page = fs::read_to_string(world.beside("page.html")).unwrap();
    assert!(page.contains("cases.jsonl</strong>: ") && page.contains("a folder where a journal should be"), "{page}");
}

#[test]
fn one_journal_fits_on_a_screen_and_the_bars_are_as_the_locale_has_them() {
    let lines: String = (0u32..500)
        .map(|n| {
            Line::Store { id: u8::try_from(n % 256).unwrap(), state: 40, second: i64::from(n * n * 60) }.text() + "\n"
        })
        .collect();
    let world = World::with("sessions.jsonl", lines);
    let table = |line: &str, locale: &str| {
        let mut command = world.command(&words(line));
        command.env("LC_CTYPE", locale).env("LANG", "C");
        Answer::from(command.output().unwrap()).ends(0).text()
    };
    let stat = "journal stat sessions --format table";
    let map = "journal map sessions --format table";
    let text = table(stat, "de_DE.UTF-8");
    assert!(text.lines().count() <= 40 && text.lines().all(|line| line.chars().count() <= 120), "{text}");
    assert!(text.contains("█████") && !text.contains('#'), "{text}");
    assert_eq!(text, world.run(&words(stat)).text(), "no locale is one with Unicode");
    let plain = table(stat, "C");
    assert!(plain.is_ascii() && plain.contains("#####"), "{plain}");
    assert!(table(map, "en_US.utf8").contains('░') && table(map, "POSIX").is_ascii());
    // What is drawn is for the eye alone.
    for format in ["plain", "json", "jsonl"] {
        let answer = world.run(&["journal", "stat", "sessions", "--format", format]).ends(0);
        assert!(!answer.text().contains("bar") && answer.text().is_ascii(), "{answer:?}");
    }
}

#[test]
fn a_map_shows_any_damage_and_where_to_look() {
    let good = session_line("a", &format!("\"{}\"", "x".repeat(50_000)));
    let world = World::with("sessions.jsonl", format!("{good}\n{{\n{good}\n")).damaged();
    let answer = world.run(&words("journal map sessions --format table --cells 2")).ends(3);
    let bar = answer.lines()[1].clone();
    assert!(bar.contains('×') && bar.trim().chars().count() == 2, "{answer:?}");
    let look = format!("cruxctl journal show sessions --offset {}", good.len() + 1);
    assert!(answer.text().contains(&look), "{answer:?}");
    assert_eq!(world.shell(&look).ends(0).text(), "{\n");
    assert_eq!(
        answer.text(),
        world.run(&words("journal map sessions --format table --cells 2 --color never")).text()
    );
    let colored = world.run(&words("journal map sessions --format table --cells 2 --color always")).text();
    assert!(colored.contains("\u{1b}[1;31m×"), "{colored:?}");
    for cells in ["0", "4097", "x"] {
        world.run(&["journal", "map", "--cells", cells, "--json"]).fails(Code::UsageArguments);
    }
    // What the witness misses has no bytes, and is marked where it would be.
    world.write("sessions.jsonl", format!("{good}\n{good}\n"));
    world.check(&[]);
    world.write("sessions.jsonl", format!("{good}\n"));
    let map = world.run(&words("journal map sessions --json")).ends(3).json();
    let cells = rows(&map, "cells", "sessions");
    assert_eq!((sum(&cells, "damaged_bytes"), count(&cells[63]["places"])), (0, 1));
}

/// The figures of a page, by their ids.
fn figures(page: &str) -> BTreeMap<String, String> {
    let mut figures = BTreeMap::new();
    for element in page.split("<data id=\"").skip(1) {
        let (id, rest) = element.split_once("\" value=\"").unwrap();
        let (value, _) = rest.split_once('"').unwrap();
        let before = figures.insert(id.to_owned(), unescaped(value));
        assert!(before.is_none(), "{id} is there twice");
    }
    figures
}

/// What an attribute stands for.
fn unescaped(value: &str) -> String {
    let mut out = String::new();
    let mut rest = value;
    while let Some((text, entity)) = rest.split_once('&') {
        let (name, behind) = entity.split_once(';').unwrap();
        out.push_str(text);
        out.push(match name {
            "amp" => '&',
            "lt" => '<',
            "gt" => '>',
            "quot" => '"',
            "nbsp" => '\u{a0}',
            number => char::from_u32(number.strip_prefix('#').unwrap().parse().unwrap()).unwrap(),
        });
        rest = behind;
    }
    out + rest
}

/// The figures of an answer of `stat` and one of `map`, by the ids that they have on a page.
fn expected(stat: &Value, map: &Value) -> BTreeMap<String, String> {
    let text = |value: &Value| match value {
        Value::Null => String::new(),
        Value::String(text) => text.clone(),
        other => other.to_string(),
    };
    let mut expected = BTreeMap::new();
    for row in stat["journals"].as_array().unwrap() {
        let journal = row["journal"].as_str().unwrap();
        let mut add = |prefix: &str, row: &Value, but: &[&str]| {
            for (name, value) in row.as_object().unwrap().iter().filter(|(name, _)| !but.contains(&name.as_str())) {
                expected.insert(format!("{journal}.{prefix}{name}"), text(value));
            }
        };
        add("", row, &[]);
        for group in ["growth", "biggest", "findings"] {
            for (at, row) in rows(stat, group, journal).into_iter().enumerate() {
                add(&format!("{group}.{at}."), row, &["journal"]);
            }
        }
        for (at, row) in rows(map, "cells", journal).into_iter().enumerate() {
            add(&format!("map.{at}."), row, &["journal", "cell"]);
        }
    }
    expected
}

/// An id that would end its element, run a script, load something, turn the line round and hide.
const NASTY: &str =
    "</data><script>alert(1)</script><img src=x onerror=alert(1)>\"'&amp;\u{202e}\u{200b}\u{1b}]52;\n";

/// Worlds that a page is made of: clean, damaged, empty, and with text of others that means harm.
fn worlds() -> Vec<World> {
    let mut worlds: Vec<World> = directories().iter().map(|path| World::copy_of(path).damaged()).collect();
    let lines =
        [session_line(NASTY, "1"), session_line("a", "2"), format!("{{\"op\":\"{}\"", NASTY.escape_default())];
    let world = World::with("sessions.jsonl", lines.join("\n") + "\n").damaged();
    world.write("cases.jsonl", "");
    worlds.push(world);
    worlds
}

fn page(world: &World) -> String {
    let status = world.check(&["--dry-run"]).0;
    let answer = world.run(&words("journal report --html page.html")).ends(status);
    assert!(answer.text().starts_with("path\tpage.html\n"), "{answer:?}");
    fs::read_to_string(world.beside("page.html")).unwrap()
}

#[test]
fn every_figure_of_a_page_is_that_of_stat_and_map() {
    for world in worlds() {
        let page = page(&world);
        let map = world.run(&words("journal map --json --cells 120")).json();
        assert_eq!(figures(&page), expected(&stat(&world, &[]).1, &map));
    }
}

#[test]
fn a_browser_reads_the_same_figures_off_a_page_and_runs_and_loads_nothing() {
    let world = worlds().pop().unwrap();
    let text = page(&world);
    let answer = world.shell(
        "chromium --headless --no-sandbox --disable-gpu --disable-dev-shm-usage --disable-quic --no-first-run \
         --disable-background-networking --disable-component-update --disable-sync --user-data-dir=$PWD/profile \
         --dump-dom file://$PWD/page.html",
    );
    let dom = answer.ends(0).text();
    assert_eq!(figures(&dom), figures(&text));
    assert!(figures(&dom).len() > 100, "{dom}");
    assert_eq!(figures(&dom)["sessions.biggest.0.id"], NASTY);
    // Every element that is there is one that was written.
    let elements = |page: &str, name: &str| page.matches(&format!("<{name}")).count();
    for name in ["script", "img", "link", "iframe", "object", "embed", "form", "input", "base"] {
        assert_eq!(elements(&dom, name), 0, "{name}");
    }
    for name in ["svg", "table", "section", "data "] {
        assert_eq!(elements(&dom, name), elements(&text, name), "{name}");
    }
}

#[test]
fn a_page_stands_alone_and_text_of_others_is_text_in_it() {
    for world in worlds() {
        let page = page(&world);
        let csp = "http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src 'unsafe-inline'\"";
        assert!(page.contains(csp));
        for what in
            ["http:", "https:", "//", "src=", "@import", "url(", "<script", "<img", "<link", "javascript", " on"]
        {
            let found = page.match_indices(what).filter(|(at, _)| {
                // A word that begins with "on" is none of the attributes that run something.
                what != " on"
                    || page[at + 3..]
                        .split(|c: char| !c.is_ascii_alphabetic())
                        .next()
                        .is_some_and(|word| page[at + 3 + word.len()..].starts_with('='))
            });
            let harmless =
                |at: usize| page[..at].rfind('<') < page[..at].rfind('>') || page[..at].ends_with("value=\"");
            let found: Vec<&str> = found.filter(|(at, _)| !harmless(*at)).map(|(at, _)| &page[at..at + 40]).collect();
            let inside_a_value = |text: &&str| text.starts_with("src=x") || text.starts_with(" onerror");
            assert!(found.iter().all(inside_a_value), "{what}: {found:?}");
        }
        let acts = |c: char| (c.is_control() && c != '\n') || "\u{202e}\u{200b}\u{feff}".contains(c);
        assert!(!page.contains(acts), "{page}");
        for (element, must) in [("<svg ", "aria-"), ("<table", "<table><caption>"), ("<th ", "<th scope=")] {
            for (at, _) in page.match_indices(element) {
                let head = &page[at..page[at..].find("</").map_or(page.len(), |end| at + end)];
                assert!(head.contains(must), "{head}");
            }
        }
        assert_eq!(page.matches("role=\"img\"").count(), page.matches("<desc ").count());
    }
}

#[test]
fn the_findings_of_a_page_are_those_of_check() {
    let world = World::copy_of("tests/data/after-crash").damaged();
    let page = page(&world);
    let (_, check) = world.check(&["--dry-run"]);
    for finding in check["findings"].as_array().unwrap() {
        let told = format!(
            "line <data class=\"line\" value=\"{}\">{0}</data>, byte <data class=\"offset\" value=\"{}\">",
            finding["line"], finding["offset"]
        );
        assert!(page.contains(&told), "{told}");
    }
    for command in check["next"].as_array().unwrap() {
        assert!(page.contains(&format!("<code>{}</code>", command.as_str().unwrap())), "{command}");
    }
    assert!(page.contains("The daemon does not start."));
}

#[test]
fn a_page_is_for_its_owner_and_takes_the_place_of_a_file_and_of_nothing_else() {
    let world = World::with("sessions.jsonl", session_line("a", "1") + "\n");
    let report = |file: &str| world.run(&["journal", "report", "--json", "--html", file]);
    let path = world.beside("page.html");
    let mode = || fs::metadata(&path).unwrap().permissions().mode() & 0o777;
    let told = report("page.html").ends(0).json();
    assert_eq!((&told["path"], &told["bytes"]), (&json!("page.html"), &json!(fs::read(&path).unwrap().len())));
    assert_eq!(mode(), 0o600);
    fs::write(&path, "what was there").unwrap();
    fs::set_permissions(&path, fs::Permissions::from_mode(0o644)).unwrap();
    report("page.html").ends(0);
    assert!(mode() == 0o600 && fs::read_to_string(&path).unwrap().starts_with("<!doctype html>"));
    fs::create_dir(world.beside("folder")).unwrap();
    symlink(&path, world.beside("link")).unwrap();
    let before = everything(&world.beside(""));
    for (file, code) in [
        ("folder", Code::EnvironmentFileKind),
        ("folder/", Code::EnvironmentFileKind),
        ("..", Code::EnvironmentFileKind),
        ("link", Code::EnvironmentFileKind),
        ("/dev/null", Code::EnvironmentFileKind),
        ("nowhere/page.html", Code::EnvironmentIo),
        ("data/sessions.jsonl", Code::UsageArguments),
        ("data/../data/cases.jsonl", Code::UsageArguments),
    ] {
        let error = report(file).fails(code);
        assert!(error["message"].as_str().unwrap().contains(file), "{error}");
    }
    assert!(everything(&world.beside("")) == before, "something was left behind");
    world.shell("mkfifo fifo").ends(0);
    report("fifo").fails(Code::EnvironmentFileKind);
    // By another name it is still a journal, and among what is ours a page has no place.
    fs::hard_link(world.dir().join("sessions.jsonl"), world.beside("other")).unwrap();
    report("other").fails(Code::UsageArguments);
    world.check(&[]);
    report("data/cruxctl/page.html").fails(Code::UsageArguments);
    report("data/cruxctl/lock").fails(Code::UsageArguments);
    assert!(world.read("sessions.jsonl").starts_with(b"{\"op\":"));
    world.run(&words("journal report --json")).fails(Code::UsageArguments);
}

#[test]
fn a_page_that_cannot_be_written_leaves_what_was_there() {
    let world = World::with("sessions.jsonl", session_line("a", "1") + "\n");
    fs::write(world.beside("page.html"), "what was there").unwrap();
    let before = everything(&world.beside(""));
    let answer = world.shell("ulimit -f 4; trap '' XFSZ; cruxctl journal report --html page.html --json");
    answer.fails(Code::EnvironmentSpace);
    assert!(everything(&world.beside("")) == before);
}

#[test]
fn a_page_goes_through_a_pipe_as_it_is() {
    let world = World::copy_of("tests/data/after-crash").damaged();
    let page = page(&world);
    for format in ["table", "plain", "json", "jsonl", "id"] {
        let answer = world.run(&["journal", "report", "--html", "-", "--format", format]).ends(3);
        assert!(answer.text() == page, "{format}");
    }
    for line in ["journal report --html -", "journal stat", "journal map"] {
        for format in ["table", "plain", "json"] {
            world.shell(&format!("set -o pipefail; cruxctl {line} --format {format} --damaged-ok | head -1")).ends(0);
            world.shell(&format!("cruxctl {line} --format {format} --damaged-ok > /dev/full")).ends(7);
        }
    }
}
