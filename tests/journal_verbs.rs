//! The operator's verbs on journals: show and export print what is there, compact drops only what is dead, check's
//! numbers add up, and old damage is told by every verb without stopping one.

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::Path;

use cruxctl::error::Code;
use serde_json::{Value, json};

use crate::support::{Answer, World, everything, session_line, tree, words};

/// A case's `record` line.
fn case_line(id: &str, task: &str) -> String {
    format!(
        "{{\"op\":\"record\",\"case\":{{\"case_id\":\"{id}\",\"task\":\"{task}\",\"action\":\"a\",\"outcome\":\"o\",\
         \"success\":true,\"reward\":1.0,\"created_at\":\"2026-01-01T00:00:00Z\"}}}}"
    )
}

/// A fact as it stands in an event.
fn fact(id: &str) -> String {
    format!(
        "{{\"fact_id\":\"{id}\",\"tenant_hash\":\"default\",\"entity\":\"e\",\"key\":\"{id}\",\"value\":\"v\",\
         \"source_receipt\":null,\"confidence\":1.0,\"stored_at\":\"2026-01-01T00:00:00Z\",\"tokens\":1,\"deleted\":false,\
         \"version\":1,\"private\":false,\"horizon_class\":\"none\"}}"
    )
}

/// A journal of sessions with one good line, one that is no JSON, and one good line.
fn damaged() -> World {
    let lines = [session_line("a", "1"), "{\"op\":\"store\",\"session\":{\"sess".to_owned(), session_line("b", "2")];
    World::with("sessions.jsonl", lines.join("\n") + "\n").damaged()
}

/// The data directories that the daemon wrote, or that were damaged after it.
fn directories() -> Vec<String> {
    let mut found = vec!["tests/data/after-crash".to_owned()];
    for folder in ["tests/data/daemon", "tests/data/daemon/torn"] {
        for entry in fs::read_dir(tree(folder)).unwrap() {
            let name = entry.unwrap().file_name().into_string().unwrap();
            let path = format!("{folder}/{name}/data");
            found.extend(tree(&path).is_dir().then_some(path));
        }
    }
    found.sort();
    assert!(found.len() > 10, "{found:?}");
    found
}

/// A journal's row of a report.
fn row<'r>(report: &'r Value, journal: &str) -> &'r Value {
    report["journals"].as_array().unwrap().iter().find(|row| row["journal"] == journal).unwrap()
}

/// The findings of a journal in a report.
fn findings<'r>(report: &'r Value, journal: &str) -> Vec<&'r Value> {
    report["findings"].as_array().unwrap().iter().filter(|finding| finding["journal"] == journal).collect()
}

fn count(value: &Value) -> u64 {
    value.as_u64().unwrap_or_else(|| panic!("{value} is no count"))
}

#[test]
fn a_line_is_shown_as_it_is_by_its_number_and_by_any_of_its_bytes() {
    let lines: [&[u8]; 7] = [
        session_line("a", "1").as_bytes().to_vec().leak(),
        b"",
        b"  {\"op\":\"delete\",\"session_id\":\"a\"} \r",
        b"not JSON, \xff not UTF-8",
        b"\0\0\0",
        b"[1]",
        b"{\"op\":\"torn",
    ];
    let world = World::with("sessions.jsonl", lines.join(&b'\n')).damaged();
    let mut start = 0;
    for (index, line) in lines.iter().enumerate() {
        let number = (index + 1).to_string();
        let by_number = world.run(&["journal", "show", "sessions", "--line", &number]).ends(0);
        assert_eq!(by_number.stdout, [line, &b"\n"[..]].concat(), "line {number}");
        // The line end belongs to the line; the last has none.
        let end = start + line.len() - usize::from(index + 1 == lines.len());
        for offset in [start, start + line.len() / 2, end] {
            let by_offset = world.run(&["journal", "show", "sessions", "--offset", &offset.to_string()]).ends(0);
            assert_eq!(by_offset.stdout, by_number.stdout, "byte {offset} of line {number}");
        }
        let told = world.run(&["journal", "show", "sessions", "--line", &number, "--json"]).ends(0).json();
        let told = &told["lines"][0];
        assert_eq!(json!([told["line"], told["offset"], told["length"]]), json!([index + 1, start, line.len()]));
        start += line.len() + 1;
    }
    let told = world.run(&words("journal show sessions --line 4 --json")).ends(0).json();
    assert_eq!(told["lines"][0]["text"], "not JSON, \\xff not UTF-8");
}

#[test]
fn a_place_that_is_not_there_is_a_no() {
    let line = session_line("a", "1") + "\n";
    let world = World::with("sessions.jsonl", &line);
    world.write("cases.jsonl", "");
    let beyond = format!("sessions --offset {}", line.len());
    for place in [
        "sessions --line 0",
        "sessions --line 2",
        "sessions --line 18446744073709551615",
        &beyond,
        "sessions --offset 18446744073709551615",
        "sessions --id b",
        "cases --line 1",
        "cases --offset 0",
        "cases --id a",
        "facts --line 1",
        "facts --id a",
    ] {
        let answer = world.run(&[words("journal show --json"), words(place)].concat());
        let error = answer.fails(Code::NoRecord);
        assert!(answer.stdout.is_empty(), "{answer:?}");
        let file = format!("{}.jsonl", words(place)[0]);
        assert!(error["message"].as_str().unwrap().contains(&file), "{error}");
    }
}

#[test]
fn show_takes_exactly_one_place() {
    let world = World::with("sessions.jsonl", session_line("a", "1") + "\n");
    for place in ["", "--line 1 --offset 0", "--line 1 --id a", "--offset 0 --id a", "--line 1 --offset 0 --id a"] {
        let answer = world.run(&[words("journal show sessions --json"), words(place)].concat());
        answer.fails(Code::UsageArguments);
    }
    for place in ["--line 1", "--offset 0", "--id a"] {
        world.run(&[words("journal show sessions"), words(place)].concat()).ends(0);
        world.run(&[words("journal show"), words(place)].concat()).ends(2);
    }
    for bad in ["--line x", "--line=-1", "--offset 1.5", "--offset="] {
        world.run(&[words("journal show sessions --json"), words(bad)].concat()).fails(Code::UsageArguments);
    }
}

/// The numbers of the lines that `journal show --id` prints, and the status.
fn lines_about(world: &World, journal: &str, id: &str) -> (i32, Vec<u64>) {
    let answer = world.run(&["journal", "show", journal, "--json", "--id", id]);
    if answer.stdout.is_empty() {
        return (answer.status, Vec::new());
    }
    (answer.status, answer.json()["lines"].as_array().unwrap().iter().map(|line| count(&line["line"])).collect())
}

#[test]
fn show_by_id_prints_every_line_with_a_record_about_it_once() {
    let delete = |id: &str| format!("{{\"op\":\"delete\",\"session_id\":\"{id}\"}}");
    let sessions = [
        session_line("a", "1"),
        session_line("b", "1"),
        session_line("a", "2") + &session_line("a", "3") + &delete("b"),
        delete("a"),
        "[\"delete\",\"a\"]".to_owned(),
        session_line("c", "{\"session_id\":\"a\"}"),
        session_line("\\u0061", "4").replace("\\\\", "\\"),
    ];
    let world = World::with("sessions.jsonl", sessions.join("\n") + "\n").damaged();
    // Two records share a line: that is damage to name, and both are read.
    assert_eq!(lines_about(&world, "sessions", "a"), (3, vec![1, 3, 4, 5, 7]));
    assert_eq!(lines_about(&world, "sessions", "b"), (3, vec![2, 3]));
    assert_eq!(lines_about(&world, "sessions", "d"), (3, vec![]));
    let facts = [
        format!("{{\"op\":\"store\",\"fact\":{}}}", fact("f_1")),
        format!("{{\"op\":\"store_batch\",\"facts\":[{},{}]}}", fact("f_2"), fact("f_3")),
        "{\"op\":\"supersede\",\"fact_id\":\"f_1\",\"by_fact_id\":\"f_3\",\"superseded_at\":\"x\"}".to_owned(),
        format!("{{\"op\":\"replace_latest\",\"fact\":{},\"replaced_fact_ids\":[\"f_2\"]}}", fact("f_4")),
        "{\"op\":\"delete\",\"fact_id\":\"f_4\",\"deleted_at\":\"x\"}".to_owned(),
    ];
    world.write("facts.jsonl", facts.join("\n") + "\n");
    for (id, lines) in [("f_1", vec![1, 3]), ("f_2", vec![2, 4]), ("f_3", vec![2, 3]), ("f_4", vec![4, 5])] {
        assert_eq!(lines_about(&world, "facts", id), (0, lines), "{id}");
    }
    let cases =
        [case_line("c_1", "x"), case_line("c_2", "c_1"), "{\"op\":\"delete\",\"case_id\":\"c_1\"}".to_owned()];
    world.write("cases.jsonl", cases.join("\n") + "\n");
    assert_eq!(lines_about(&world, "cases", "c_1"), (0, vec![1, 3]));
    assert_eq!(lines_about(&world, "cases", ""), (1, vec![]));
}

#[test]
fn show_by_id_names_a_damaged_line_whose_id_can_still_be_told() {
    let torn = session_line("a", "\"a long state\"");
    let lines = [session_line("a", "1"), torn[..torn.len() - 60].to_owned(), session_line("b", "1")];
    let world = World::with("sessions.jsonl", lines.join("\n") + "\n").damaged();
    assert_eq!(lines_about(&world, "sessions", "a"), (3, vec![1, 2]));
}

#[test]
fn export_prints_the_live_documents_as_they_are_written() {
    let unknown = session_line("b", "{\"n\": 1.10, \"k\": 1, \"k\": 2}").replace("}}", ",\"x_new\":[ 1e2 ]}}");
    let lines = [
        session_line("__agent_session::alice::a", "1"),
        session_line("gone", "1"),
        unknown.clone(),
        "{\"op\":\"rename\",\"session_id\":\"a\"}".to_owned(),
        "{\"op\":\"delete\",\"session_id\":\"gone\"}".to_owned(),
        session_line("c", "1").replace("\"archived\":false", "\"archived\":true"),
        session_line("c", "null").replace("\"archived\":false", "\"archived\":true"),
    ];
    let world = World::with("sessions.jsonl", lines.join("\r\n \n") + "\n");
    let document = |line: &str| {
        line.strip_prefix("{\"op\":\"store\",\"session\":").unwrap().strip_suffix('}').unwrap().to_owned()
    };
    let want = [document(&lines[0]), document(&unknown), document(&lines[6])];
    assert_eq!(world.run(&words("journal export sessions")).ends(0).lines(), want);
    assert_eq!(world.run(&words("journal export sessions --format jsonl")).ends(0).lines(), want);
    let ids = world.run(&words("journal export sessions --format id")).ends(0).lines();
    assert_eq!(ids, ["__agent_session::alice::a", "b", "c"]);
    assert!(world.run(&words("journal export cases")).ends(0).stdout.is_empty());
    let cases = [case_line("c_2", "x"), case_line("c_1", "y"), case_line("c_2", "z")];
    world.write("cases.jsonl", cases.join("\n") + "\n");
    let want: Vec<&str> =
        [1, 2].map(|n: usize| cases[n].split_once("\"case\":").unwrap().1.strip_suffix('}').unwrap()).into();
    assert_eq!(world.run(&words("journal export cases")).ends(0).lines(), want);
    let batch = format!("{{\"op\":\"store_batch\",\"facts\":[{}, {}]}}\n", fact("f_2"), fact("f_1"));
    world.write("facts.jsonl", batch + "{\"op\":\"delete\",\"fact_id\":\"f_2\",\"deleted_at\":\"x\"}\n");
    assert_eq!(world.run(&words("journal export facts")).ends(0).lines(), [fact("f_1")]);
}

#[test]
fn all_verbs_agree_on_how_many_are_live() {
    for path in directories() {
        let world = World::copy_of(&path).damaged();
        let (_, report) = world.check(&[]);
        for journal in ["sessions", "cases", "facts"] {
            let ids = world.live_ids(journal);
            assert_eq!(count(&row(&report, journal)["live"]), ids.len() as u64, "{path}: {journal}");
            let documents = world.run(&["journal", "export", journal, "--damaged-ok"]).ends(0).lines().len();
            assert_eq!(documents, ids.len(), "{path}: {journal}");
            if journal == "sessions" {
                assert_eq!(world.session_ids(), ids, "{path}");
            }
        }
    }
}

#[test]
fn compact_keeps_live_records_and_foreign_lines_byte_for_byte_in_their_order() {
    let archived = session_line("hidden", "\"\\u00e9\"").replace("\"archived\":false", "\"archived\":true");
    let expired =
        session_line("old", "1").replace("\"archived\"", "\"expires_at\":\"2026-01-02T00:00:00Z\",\"archived\"");
    let odd = session_line("odd", "{\"n\": 1.10, \"k\": 1, \"k\": 2}").replace("}}", ",\"x_new\":[ 1e2 ]}}");
    let foreign = "{\"op\":\"rename\",\"from\":\"a\" , \"to\":\"b\"}";
    let keep = |line: &str| (line.to_owned(), true);
    let drop = |line: &str| (line.to_owned(), false);
    let lines = [
        drop(&session_line("a", "1")),
        keep(&archived),
        keep(foreign),
        drop(""),
        keep(&expired),
        drop(&session_line("gone", "1")),
        keep(&odd),
        drop("{\"op\":\"delete\",\"session_id\":\"gone\"}"),
        drop("  "),
        drop("{\"op\":\"delete\",\"session_id\":\"never-there\"}"),
        keep(&session_line("__agent_session::alice::a", "1")),
        keep(&session_line("a", "2")),
    ];
    let before: String = lines.iter().map(|(line, _)| format!("{line}\n")).collect();
    let after: String = lines.iter().filter(|(_, kept)| *kept).map(|(line, _)| format!("{line}\n")).collect();
    let world = World::with("sessions.jsonl", &before);
    let ids = world.session_ids();
    for flag in ["--dry-run", "--no-sync"] {
        let told = world.run(&["journal", "compact", "sessions.jsonl", "--json", flag]).ends(0).json();
        let dry = flag == "--dry-run";
        let want = json!({
            "journal": "sessions", "before_bytes": before.len(), "after_bytes": after.len(), "live": 5, "foreign": 1,
            "dropped": 4, "dry_run": dry,
        });
        assert_eq!(told["journals"], json!([want]));
        let now = String::from_utf8(world.read("sessions.jsonl")).unwrap();
        assert_eq!(&now, if dry { &before } else { &after });
    }
    assert_eq!(world.session_ids(), ids);
    assert_eq!(row(&world.check(&[]).1, "sessions")["dead_bytes"], 0);
}

#[test]
fn a_second_compact_changes_nothing() {
    let mut compacted = 0;
    for path in directories() {
        let world = World::copy_of(&path).damaged();
        for journal in ["sessions", "cases"] {
            let file = format!("{journal}.jsonl");
            let ids = world.live_ids(journal);
            let documents = world.run(&["journal", "export", journal, "--damaged-ok"]).ends(0).lines();
            let answer = world.run(&["journal", "compact", journal, "--json"]);
            if count(&row(&world.check(&[]).1, journal)["damage"]) > 0 {
                answer.fails(Code::RefusedDamage);
                continue;
            }
            compacted += 1;
            let told = answer.ends(0).json();
            let stay = count(&told["journals"][0]["live"]) + count(&told["journals"][0]["foreign"]);
            let bytes = world.read(&file);
            assert_eq!(bytes.iter().filter(|b| **b == b'\n').count() as u64, stay, "{path}: {journal}");
            assert_eq!(world.live_ids(journal), ids, "{path}: {journal}");
            assert_eq!(world.run(&["journal", "export", journal]).ends(0).lines(), documents, "{path}: {journal}");
            let inode = |world: &World| fs::metadata(world.dir().join(&file)).map(|data| data.ino()).ok();
            let first = inode(&world);
            world.run(&["journal", "compact", journal]).ends(0);
            assert!(world.read(&file) == bytes && inode(&world) == first, "{path}: {journal}");
        }
    }
    assert!(compacted > 10, "{compacted}");
}

#[test]
fn compact_refuses_a_damaged_journal_and_changes_nothing() {
    let world = damaged();
    world.write("cases.jsonl", "[]\n");
    world.write("facts.jsonl", format!("{{\"op\":\"store\",\"fact\":{}}}\n{{", fact("f_1")));
    let before = world.journals();
    for journal in ["sessions", "cases", "facts"] {
        for flags in [&["--json"][..], &["--json", "--dry-run"], &["--json", "--damaged-ok"]] {
            let answer = world.run(&[&["journal", "compact", journal][..], flags].concat());
            let error = answer.fails(Code::RefusedDamage);
            assert_eq!(error["hints"], json!([format!("cruxctl journal repair {journal}")]));
            assert!(answer.stdout.is_empty(), "{answer:?}");
        }
    }
    assert_eq!(world.journals(), before);
}

#[test]
fn the_numbers_of_a_summary_add_up_to_the_file() {
    let live = [session_line("a", "2"), session_line("b", "\"é\"")];
    let dead = [session_line("a", "1"), "{\"op\":\"delete\",\"session_id\":\"c\"}".to_owned()];
    let bad = ["{\"op\":\"store\"".to_owned(), "\0".repeat(5000), "42".to_owned()];
    let lines = [&dead[0], &bad[0], &live[0], &bad[1], &dead[1], &bad[2], &live[1]].map(String::as_str);
    let world = World::with("sessions.jsonl", lines.join("\n") + "\n").damaged();
    let (_, report) = world.check(&["sessions"]);
    let sums = [&dead[..], &bad].map(|part| part.iter().map(String::len).sum::<usize>());
    let summary = row(&report, "sessions");
    let got = ["bytes", "lines", "live", "dead_bytes", "damaged_bytes", "damage"].map(|name| &summary[name]);
    assert_eq!(json!(got), json!([world.read("sessions.jsonl").len(), 7, 2, sums[0], sums[1], 3]));
    assert_eq!(summary["verdict"], "damaged");
}

#[test]
fn the_numbers_of_a_summary_add_up_in_every_directory() {
    for path in directories() {
        let world = World::copy_of(&path).damaged();
        let (_, report) = world.check(&[]);
        let files = world.journals();
        for journal in ["sessions", "cases", "facts"] {
            let summary = row(&report, journal);
            let file = files.get(&format!("{journal}.jsonl"));
            let bytes = file.cloned().unwrap_or_default();
            assert_eq!(summary["exists"], file.is_some(), "{path}: {journal}");
            assert_eq!(count(&summary["bytes"]), bytes.len() as u64, "{path}: {journal}");
            let lines: Vec<&[u8]> = bytes.split_inclusive(|b| *b == b'\n').collect();
            assert_eq!(count(&summary["lines"]), lines.len() as u64, "{path}: {journal}");
            for severity in ["damage", "daemon", "foreign"] {
                let found = findings(&report, journal).iter().filter(|f| f["severity"] == severity).count() as u64;
                assert_eq!(count(&summary[severity]), found, "{path}: {journal}: {severity}");
            }
            if journal == "facts" {
                continue;
            }
            // What is neither a record nor damage is white space, another version's record, or a byte order mark.
            let trimmed =
                |line: &[u8]| std::str::from_utf8(line).map_or(line.trim_ascii().len(), |text| text.trim().len());
            let space: u64 = lines.iter().map(|line| (line.len() - trimmed(line)) as u64).sum();
            let others =
                findings(&report, journal).into_iter().filter(|f| f["class"] == "unknown-op" || f["class"] == "bom");
            let others: u64 = others.map(|f| count(&f["length"])).sum();
            let sum = live_bytes(&world, journal) + count(&summary["dead_bytes"]) + count(&summary["damaged_bytes"]);
            assert_eq!(sum + space + others, bytes.len() as u64, "{path}: {journal}: {summary}");
        }
    }
}

/// The bytes of the live records, from what a compaction of a repaired copy would leave.
fn live_bytes(world: &World, journal: &str) -> u64 {
    let copy = World::new().damaged();
    fs::create_dir_all(copy.dir()).unwrap();
    for (name, bytes) in world.journals() {
        copy.write(&name, bytes);
    }
    copy.run(&["journal", "repair", journal, "--apply"]).ends(0);
    let plan = copy.run(&["journal", "compact", journal, "--dry-run", "--json"]).ends(0).json();
    let (_, report) = copy.check(&[journal]);
    let foreign: u64 =
        findings(&report, journal).iter().filter(|f| f["class"] == "unknown-op").map(|f| count(&f["length"])).sum();
    let told = &plan["journals"][0];
    count(&told["after_bytes"]) - count(&told["live"]) - count(&told["foreign"]) - foreign
}

#[test]
fn what_only_the_daemon_loses_counts_under_for_daemon_alone() {
    let good = session_line("a", "1");
    let case = case_line("c_1", "x");
    let store = format!("{{\"op\":\"store\",\"fact\":{}}}", fact("f_1"));
    for (journal, text, class) in [
        ("sessions", good.clone(), "no-final-newline"),
        ("cases", case, "no-final-newline"),
        ("facts", store.clone(), "no-final-newline"),
        ("sessions", format!("\u{feff}{good}\n"), "bom"),
        ("sessions", session_line("a", &("[".repeat(126) + &"]".repeat(126))) + "\n", "too-deep"),
        ("sessions", session_line("a", "1e400") + "\n", "number-out-of-range"),
        ("sessions", session_line("a", "\"\\ud83d\"") + "\n", "lone-surrogate"),
        ("facts", format!("\u{a0}{store}\n"), "foreign-space"),
        ("sessions", format!("{good}\n{{\"op\":\"rename\"}}\n"), "unknown-op"),
    ] {
        let world = World::with(&format!("{journal}.jsonl"), text);
        let (status, report) = world.check(&[]);
        let classes: Vec<&Value> = findings(&report, journal).iter().map(|f| &f["class"]).collect();
        assert_eq!((status, classes), (0, vec![&json!(class)]), "{class}");
        assert_eq!(row(&report, journal)["verdict"], "readable", "{class}");
        assert!(report["verdict"].as_str().unwrap().starts_with("readable"), "{class}: {report}");
        let (status, report) = world.check(&["--for-daemon"]);
        assert_eq!(status, 3, "{class}");
        assert_eq!(row(&report, journal)["verdict"], "readable", "{class}");
        assert_eq!(world.check(&["--for-daemon", "--damaged-ok"]).0, 0, "{class}");
        let others = ["sessions", "cases", "facts"].into_iter().filter(|name| *name != journal);
        assert_eq!(world.check(&[vec!["--for-daemon"], others.collect()].concat()).0, 0, "{class}");
        let severity = findings(&report, journal)[0]["severity"].as_str().unwrap().to_owned();
        assert_eq!(severity, if class == "unknown-op" { "foreign" } else { "daemon" }, "{class}");
        // Following the advice mends it; another version's record is nothing to mend.
        let mut next: Vec<&str> = report["next"].as_array().unwrap().iter().map(|n| n.as_str().unwrap()).collect();
        let plan = format!("cruxctl journal repair {journal} --for-daemon");
        assert_eq!(next.pop(), (severity == "daemon").then_some(plan.as_str()), "{class}");
        if severity == "daemon" {
            world.shell(&format!("{plan} --apply")).ends(0);
            assert_eq!(world.check(&["--for-daemon"]).0, 0, "{class}");
        }
    }
}

#[test]
fn journals_are_named_with_and_without_their_ending() {
    let world = World::with("sessions.jsonl", session_line("a", "1") + "\n");
    let named = |args: &str| {
        let (status, report) = world.check(&words(args));
        let rows = report["journals"].as_array().unwrap();
        (status, rows.iter().map(|row| row["journal"].as_str().unwrap().to_owned()).collect::<Vec<_>>())
    };
    for (args, want) in [
        ("", "sessions cases facts"),
        ("sessions", "sessions"),
        ("sessions.jsonl", "sessions"),
        ("facts.jsonl sessions", "sessions facts"),
        ("cases cases cases.jsonl", "cases"),
    ] {
        assert_eq!(named(args), (0, words(want).into_iter().map(str::to_owned).collect()), "{args}");
    }
    for verb in ["check", "repair", "compact", "export", "show --line 1"] {
        for name in ["handoff", "session", "sessions.json", "./sessions.jsonl", "SESSIONS", ".jsonl"] {
            let answer = world.run(&[vec!["journal"], words(verb), vec!["--json", name]].concat());
            let error = answer.fails(Code::UsageArguments);
            assert!(error["message"].as_str().unwrap().contains(name), "{error}");
        }
        let empty = world.run(&[vec!["journal"], words(verb), vec!["--json", ""]].concat());
        empty.fails(Code::UsageArguments);
    }
    for verb in ["compact", "export", "show --line 1"] {
        world.run(&[vec!["journal"], words(verb), vec!["--json"]].concat()).fails(Code::UsageArguments);
    }
}

/// Ways to say that damage is known, and ways that do not say it.
fn with_damaged_ok(world: &World, line: &str, way: &str) -> Answer {
    let mut command = world.command(&words(line));
    match way.strip_prefix("CRUXCTL_DAMAGED_OK=") {
        Some(value) => command.env("CRUXCTL_DAMAGED_OK", value),
        None => command.args(words(way)),
    };
    Answer::from(command.output().unwrap())
}

const KNOWN: [&str; 3] = ["--damaged-ok", "CRUXCTL_DAMAGED_OK=1", "CRUXCTL_DAMAGED_OK=true"];
const NOT_KNOWN: [&str; 4] = ["", "CRUXCTL_DAMAGED_OK=", "CRUXCTL_DAMAGED_OK=0", "CRUXCTL_DAMAGED_OK=false"];

/// Holds a verb on a damaged journal against its status when the damage is known.
fn known_damage(world: &World, line: &str, status: i32) {
    // The first check says that it is the first.
    world.run(&words(line)).ends(3);
    let plain = world.run(&words(line)).ends(3);
    for way in NOT_KNOWN {
        with_damaged_ok(world, line, way).ends(3);
    }
    for way in KNOWN {
        let answer = with_damaged_ok(world, line, way).ends(status);
        assert_eq!(answer.stdout, plain.stdout, "{line}");
        let told = format!("{}{}", answer.text(), answer.stderr);
        assert!(told.contains("sessions.jsonl is damaged in 1 place: line 2,") || line.contains("check"), "{told}");
        assert!(told.contains("line 2, byte "), "{told}");
        assert_eq!(answer.stderr, plain.stderr, "{line}");
    }
}

#[test]
fn damage_counts_as_three_unless_it_is_known() {
    let world = damaged();
    for line in [
        "session list",
        "session get a",
        "session get a --rev 1",
        "session show b",
        "session history a",
        "session diff a",
        "journal export sessions",
        "journal check",
        "journal log",
    ] {
        known_damage(&world, line, 0);
    }
    for line in [
        "session get nope",
        "session get nope --rev 1",
        "session show nope",
        "session history nope",
        "session diff nope",
        "session restore nope --rev 1",
        "session delete nope",
        "session archive nope",
    ] {
        let answer = world.run(&words(line)).ends(3);
        assert!(answer.stdout.is_empty() && answer.stderr.contains("no.session"), "{answer:?}");
        known_damage(&world, line, 1);
    }
    // What has nothing to do with the damage is not touched by it.
    world.run(&words("journal check cases facts")).ends(0);
    world.run(&words("journal export cases")).ends(0);
}

#[test]
fn damage_counts_for_show_by_id_too() {
    let world = damaged();
    known_damage(&world, "journal show sessions --id a", 0);
    known_damage(&world, "journal show sessions --id nope", 1);
}

#[test]
fn a_write_beside_old_damage_is_done_and_warns() {
    let world = damaged();
    for line in [
        "session put a",
        "session put c --ttl 0s",
        "session archive a",
        "session unarchive a",
        "session reap",
        "session delete a",
    ] {
        let before = world.read("sessions.jsonl");
        let answer = world.run_with(&words(line), "7").ends(0);
        assert!(answer.stderr.contains("warning: sessions.jsonl is damaged in 1 place: line 2,"), "{answer:?}");
        assert!(answer.hints().contains(&"cruxctl journal check sessions".to_owned()), "{answer:?}");
        let after = world.read("sessions.jsonl");
        assert!(after.len() > before.len() && after.starts_with(&before), "{line}");
        let quiet = world.run_with(&[words(line), vec!["--quiet", "--dry-run", "--damaged-ok"]].concat(), "7");
        assert!(!quiet.stderr.contains("damaged"), "{quiet:?}");
    }
    assert_eq!(world.session_ids(), ["b"]);
}

#[test]
fn check_says_how_much_lies_in_quarantine() {
    let world = damaged();
    let mut held = 0;
    for round in 1..=3 {
        let (_, report) = world.check(&["sessions"]);
        assert_eq!(row(&report, "sessions")["quarantined_bytes"], held);
        let told = world.run(&words("journal repair sessions --apply --json")).ends(0).json();
        let told = &told["journals"][0];
        let set_aside = count(&told["set_aside_bytes"]);
        assert!(set_aside > 0 && told["applied"] == true, "{told}");
        held += set_aside;
        let manifest = Path::new(told["quarantine"].as_str().unwrap());
        assert!(manifest.starts_with(world.dir().join("cruxctl/quarantine")) && manifest.is_file(), "{told}");
        let (status, report) = world.check(&["sessions"]);
        let summary = row(&report, "sessions");
        let got = json!([
            status,
            summary["quarantined_bytes"],
            summary["damage"],
            summary["damaged_bytes"],
            summary["live"]
        ]);
        assert_eq!(got, json!([0, held, 0, 0, 2]), "round {round}");
        assert_eq!(row(&world.check(&[]).1, "cases")["quarantined_bytes"], 0);
        let again = world.run(&words("journal repair sessions --apply --json")).ends(0).json();
        assert_eq!(
            json!([again["journals"][0]["applied"], again["journals"][0]["quarantine"]]),
            json!([false, null])
        );
        let mut journal = world.read("sessions.jsonl");
        journal.extend_from_slice("[]\n".repeat(round).as_bytes());
        world.write("sessions.jsonl", journal);
    }
}

#[test]
fn hints_name_the_data_directory_when_it_was_typed() {
    // The directory of the environment does not exist: a hint that forgets the flag does something else.
    let world = World::new();
    let name = "it's $HOME here";
    fs::create_dir(world.beside(name)).unwrap();
    let journal = world.beside(name).join("sessions.jsonl");
    let torn = format!("{}\n{{\"op\n{}\n", session_line("build-1", "1"), session_line("build-2", "2"));
    fs::write(&journal, &torn).unwrap();
    let typed = |line: &str| world.run(&[words(line), vec!["--data-dir", name]].concat());
    let quoted = "--data-dir 'it'\\''s $HOME here'";
    for (line, status) in [("session list", 3), ("session get build", 3), ("journal compact sessions", 5)] {
        let hints = typed(line).ends(status).hints();
        assert!(!hints.is_empty() && hints.iter().all(|hint| hint.contains(quoted)), "{line}: {hints:?}");
        for hint in hints {
            let pasted = world.shell(&hint);
            assert!([0, 3].contains(&pasted.status) && !pasted.stdout.is_empty(), "{hint}: {pasted:?}");
        }
    }
    let report = typed("journal check --json").ends(3).json();
    let next = report["next"][0].as_str().unwrap().to_owned();
    assert!(next.contains(quoted), "{next}");
    let plain = typed("journal check").ends(3).lines();
    assert!(plain.iter().any(|line| line.starts_with("next\t") && line.contains("--data-dir")), "{plain:?}");
    // From command to command, as they are given, until nothing is wrong.
    let plan = world.shell(&next).ends(0);
    assert_eq!(fs::read_to_string(&journal).unwrap(), torn);
    world.shell(&plan.hints()[0]).ends(0);
    typed("journal check").ends(0);
    assert_eq!(typed("session list --format id").ends(0).lines(), ["build-2", "build-1"]);
    // Where it was not typed it is not named.
    fs::rename(world.beside(name), world.dir()).unwrap();
    let answer = world.run(&words("session get build")).ends(1);
    assert!(!answer.hints().is_empty() && !answer.stderr.contains("--data-dir"), "{answer:?}");
}

#[test]
fn verbs_that_read_change_nothing_and_make_nothing() {
    let world = World::copy_of("tests/data/after-crash").damaged();
    let stamps = |world: &World| -> BTreeMap<_, _> {
        let files = everything(&world.dir());
        files
            .into_iter()
            .map(|(path, bytes)| (fs::metadata(&path).unwrap().modified().unwrap(), (path, bytes)))
            .collect()
    };
    let before = stamps(&world);
    for line in [
        "journal check --dry-run",
        "journal check --dry-run --for-daemon --full",
        "journal stat",
        "journal map",
        "journal report --html -",
        "journal repair",
        "journal export facts",
        "journal show sessions --line 1",
        "session list --all --all-agents",
        "session get sess_00000",
        "session show sess_00000",
        "session history sess_00000",
        "session diff sess_00000",
        "session get sess_00000 --rev 1",
        "session get sess_00000 --at 1h",
        "session restore sess_00000 --rev 1 --dry-run",
        "journal log",
        "doctor",
        "session get nope",
    ] {
        world.run(&words(line));
        assert!(stamps(&world) == before, "{line}");
    }
    // A check keeps what it has read, beside the journals.
    world.run(&words("journal check")).ends(3);
    let kept = stamps(&world);
    let own = world.dir().join("cruxctl");
    let new = kept.values().filter(|(path, _)| !before.values().any(|(old, _)| old == path));
    assert!(new.into_iter().all(|(path, _)| path.starts_with(&own)));
    assert!(before.iter().all(|(time, file)| kept.get(time) == Some(file)));
    let nowhere = World::new();
    for line in [
        "journal check",
        "journal stat",
        "journal map",
        "journal report --html -",
        "journal repair --apply",
        "journal compact sessions",
        "journal export facts",
        "journal log",
        "doctor",
        "session list",
    ] {
        nowhere.run(&words(line)).ends(0);
        assert!(!nowhere.dir().exists(), "{line}");
    }
}
