//! Damage, kind by kind: each is named with its place, what it matters and what the daemon does there; no good record
//! is hidden by a bad neighbour; a piece of somebody's state never becomes an event; and a repair mends it all and
//! destroys no byte.

use std::collections::BTreeSet;
use std::fs::{self, File};
use std::io::{Seek, SeekFrom, Write};
use std::os::unix::fs::MetadataExt;

use proptest::prelude::*;
use proptest::sample::Index;
use serde::Deserialize;
use serde::de::IgnoredAny;
use serde_json::{Value, json};

use crate::support::{World, before_repair, session_line, split_ids};

/// A whole record of a journal, without its line end.
fn record(journal: &str, id: &str) -> String {
    match journal {
        "sessions" => session_line(id, "{\"n\":1}"),
        "cases" => format!(
            "{{\"op\":\"record\",\"case\":{{\"case_id\":\"{id}\",\"task\":\"t\",\"action\":\"a\",\"outcome\":\"o\",\
             \"success\":true,\"reward\":1.0,\"tags\":[\"x\"],\"created_at\":\"2026-01-01T00:00:00Z\"}}}}"
        ),
        _ => fact(id, id, "v"),
    }
}

fn fact(id: &str, entity: &str, value: &str) -> String {
    format!(
        "{{\"op\":\"store\",\"fact\":{{\"fact_id\":\"{id}\",\"tenant_hash\":\"default\",\"entity\":\"{entity}\",\
         \"key\":\"content\",\"value\":\"{value}\",\"source_receipt\":null,\"confidence\":1.0,\
         \"stored_at\":\"2026-01-01T00:00:00Z\",\"tokens\":1,\"deleted\":false,\"version\":1,\"private\":false,\
         \"horizon_class\":\"none\"}}}}"
    )
}

/// A text up to and with the first `end` in it.
fn until(text: &str, end: &str) -> String {
    text[..text.find(end).unwrap() + end.len()].to_owned()
}

/// What a finding must say.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Found {
    line: u64,
    offset: u64,
    length: u64,
    class: String,
    severity: String,
    daemon: String,
    ids: Vec<String>,
}

/// How much a class matters.
fn severity(class: &str) -> &'static str {
    match class {
        "torn-tail" | "welded" | "nul-gap" | "invalid-utf8" | "not-json" | "not-an-object" | "trailing-bytes"
        | "missing-member" | "wrong-type" | "duplicate-member" => "damage",
        "no-final-newline"
        | "bom"
        | "too-deep"
        | "number-out-of-range"
        | "lone-surrogate"
        | "too-long"
        | "foreign-space" => "daemon",
        "unknown-op" => "foreign",
        other => panic!("there is no class {other}"),
    }
}

/// The findings of a check, in the order of the file.
fn findings(report: &Value) -> Vec<Found> {
    let text = |value: &Value| value.as_str().unwrap().to_owned();
    let mut findings: Vec<Found> = report["findings"]
        .as_array()
        .unwrap()
        .iter()
        .map(|finding| Found {
            line: finding["line"].as_u64().unwrap(),
            offset: finding["offset"].as_u64().unwrap(),
            length: finding["length"].as_u64().unwrap(),
            class: text(&finding["class"]),
            severity: text(&finding["severity"]),
            daemon: text(&finding["daemon"]),
            ids: finding["ids"].as_array().unwrap().iter().map(text).collect(),
        })
        .collect();
    findings.sort();
    findings
}

/// A journal that is made by hand, and what a check must find in it.
#[derive(Clone, Debug)]
struct Made {
    journal: &'static str,
    bytes: Vec<u8>,
    found: Vec<Found>,
}

fn made(journal: &'static str) -> Made {
    Made { journal, bytes: Vec::new(), found: Vec::new() }
}

impl Made {
    /// Bytes of which nothing is to be said.
    fn text(mut self, bytes: impl AsRef<[u8]>) -> Made {
        self.bytes.extend_from_slice(bytes.as_ref());
        self
    }

    /// A whole line.
    fn good(self, id: &str) -> Made {
        let line = record(self.journal, id) + "\n";
        self.text(line)
    }

    /// Bytes with a finding about them.
    fn bad(mut self, bytes: impl AsRef<[u8]>, class: &str, daemon: &str, ids: &[&str]) -> Made {
        let offset = self.bytes.len() as u64;
        self.bytes.extend_from_slice(bytes.as_ref());
        self.also(offset, class, daemon, ids)
    }

    /// A finding about the bytes since `offset`.
    fn also(mut self, offset: u64, class: &str, daemon: &str, ids: &[&str]) -> Made {
        let before = &self.bytes[..usize::try_from(offset).unwrap()];
        self.found.push(Found {
            line: 1 + before.iter().filter(|b| **b == b'\n').count() as u64,
            offset,
            length: self.bytes.len() as u64 - offset,
            class: class.to_owned(),
            severity: severity(class).to_owned(),
            daemon: daemon.to_owned(),
            ids: ids.iter().map(|id| (*id).to_owned()).collect(),
        });
        self
    }

    fn world(&self) -> World {
        World::with(&format!("{}.jsonl", self.journal), &self.bytes).damaged()
    }

    /// Holds every verb against what must be there: the findings, these live ids, and a repair that keeps them, ends
    /// clean, can be undone to the byte and has nothing left to do the second time.
    fn holds(mut self, ids: &[&str]) {
        let mut ids = ids.to_vec();
        ids.sort_unstable();
        let journal = self.journal;
        let file = format!("{journal}.jsonl");
        let world = self.world();
        self.found.sort();
        let damaged = self.found.iter().any(|found| found.severity == "damage");
        let status = if damaged { 3 } else { 0 };

        let (ended, report) = world.check(&[journal]);
        assert_eq!(findings(&report), self.found, "{report}");
        assert_eq!(ended, status, "{report}");
        for finding in report["findings"].as_array().unwrap() {
            assert!(finding["possible"].is_null(), "{finding}");
            let (from, length) = (finding["offset"].as_u64().unwrap(), finding["length"].as_u64().unwrap());
            let from = usize::try_from(from).unwrap();
            let begins = shown(&self.bytes[from..from + usize::try_from(length).unwrap()]);
            let told = finding["begins"].as_str().unwrap();
            assert!(!told.is_empty() && begins.starts_with(told), "{finding}");
        }
        let (for_daemon, report) = world.check(&[journal, "--for-daemon"]);
        assert_eq!(for_daemon, if self.found.is_empty() { 0 } else { 3 }, "{report}");

        // What is readable is answered, and the status tells whether that is all.
        assert_eq!(report["journals"][0]["live"], ids.len(), "{report}");
        let export = world.run(&["journal", "export", journal, "--format", "id", "-0"]).ends(status);
        assert_eq!(split_ids(&export.stdout), ids);
        if journal == "sessions" {
            let list = world.run(&["session", "list", "--all-agents", "--all", "--format", "id", "-0"]).ends(status);
            assert_eq!(split_ids(&list.stdout), ids);
        }
        assert!(world.read(&file) == self.bytes, "reading has changed the journal");

        let first = world.run(&["journal", "repair", journal, "--apply", "--json"]).ends(0).json();
        assert!(!self.found.is_empty() || first["edits"] == json!([]), "there was nothing to repair: {first}");
        assert_eq!(world.check(&[journal]).0, 0, "{:?}", String::from_utf8_lossy(&world.read(&file)));
        assert_eq!(world.live_ids(journal), ids);
        assert!(before_repair(&world, journal) == self.bytes, "a byte was destroyed");
        let second = world.run(&["journal", "repair", journal, "--apply", "--json"]).ends(0).json();
        assert_eq!(second["edits"], json!([]), "{second}");
    }
}

/// Bytes as a check shows them: those that are no text as hex.
fn shown(bytes: &[u8]) -> String {
    let mut out = String::new();
    for chunk in bytes.utf8_chunks() {
        out.push_str(chunk.valid());
        chunk.invalid().iter().for_each(|byte| out.push_str(&format!("\\x{byte:02x}")));
    }
    out
}

const JOURNALS: [&str; 3] = ["sessions", "cases", "facts"];

/// What the daemon does with an unterminated line that it cannot read.
fn torn(journal: &str) -> &'static str {
    if journal == "facts" { "moves-aside" } else { "loses-line-and-next-append" }
}

#[test]
fn a_file_that_ends_inside_a_record_is_a_torn_tail() {
    for journal in JOURNALS {
        let next = record(journal, "b");
        for (end, ids) in [("{", &[][..]), ("\"op", &[]), ("_id\":\"b\",", &["b"])] {
            made(journal).good("a").bad(until(&next, end), "torn-tail", torn(journal), ids).holds(&["a"]);
        }
        let all_but_one = &next[..next.len() - 1];
        made(journal).good("a").bad(all_but_one, "torn-tail", torn(journal), &["b"]).holds(&["a"]);
        // Nothing but the torn record is there.
        made(journal).bad(until(&next, "\"op\":"), "torn-tail", torn(journal), &[]).holds(&[]);
    }
}

#[test]
fn a_torn_tail_behind_a_whole_record_does_not_hide_it() {
    for journal in JOURNALS {
        let torn_part = until(&record(journal, "b"), "_id\":\"b\",");
        made(journal)
            .text(record(journal, "a"))
            .bad(torn_part, "torn-tail", torn(journal), &["b", "a"])
            .holds(&["a"]);
    }
}

#[test]
fn a_torn_prefix_never_hides_the_record_behind_it() {
    let state = "{\"t\":\"just a \\\"q\\\" \\u00e9\",\"n\":-12.5e3,\"l\":[true,false,null]}";
    let cut = session_line("b", state);
    let ends = [
        "{",
        "{\"",
        "{\"op",
        "{\"op\"",
        "{\"op\":",
        "{\"op\":\"st",
        "store\"",
        "store\",",
        "\"session",
        "\"session\"",
        "{\"session_id\"",
        "_id\":",
        "_id\":\"",
        "_id\":\"b",
        "_id\":\"b\"",
        "_id\":\"b\",",
        "\"state",
        "{\"t\"",
        "\"just a",
        "just a \\",
        "just a \\\"",
        "\\\"q\\\"",
        "\\u",
        "\\u00",
        "\\u00e9",
        "\\u00e9\"",
        "\"n\"",
        "-",
        "-1",
        "-12",
        "-12.",
        "-12.5",
        "-12.5e",
        "-12.5e3",
        "tru",
        "true",
        "fals",
        "nul",
        "null]",
        "null]}",
        "updated_at\":",
        "at\":\"2026-",
        "Z\",",
        "tokens\":",
        "tokens\":1",
        "archived\":",
        "archived\":fa",
        "false}",
    ];
    let behind: Vec<String> = (0..2 * ends.len()).map(|n| format!("c{n}")).collect();
    let mut journal = made("sessions").good("a");
    for (n, id) in behind.iter().enumerate() {
        let fragment = until(&cut, ends[n / 2]);
        let ids = if fragment.contains("_id\":\"b\"") { &["b", &**id][..] } else { &[&**id] };
        // Some writers put a space behind the bracket.
        let record = session_line(id, "{}").replacen('{', if n % 2 == 0 { "{" } else { "{ " }, 1);
        journal = journal.bad(&fragment, "welded", "loses-line", ids).text(record + "\n");
    }
    let ids: Vec<&str> = behind.iter().map(String::as_str).chain(["a", "z"]).collect();
    journal.good("z").holds(&ids);
}

#[test]
fn a_torn_prefix_never_hides_the_case_or_fact_behind_it() {
    for journal in ["cases", "facts"] {
        for end in ["{\"op\":", "_id\":\"b", "_id\":\"b\",", "2026-"] {
            let fragment = until(&record(journal, "b"), end);
            let ids = if end.ends_with("b") || end.ends_with("\"op\":") { &["c"][..] } else { &["b", "c"] };
            made(journal)
                .good("a")
                .bad(fragment, "welded", "loses-line", ids)
                .good("c")
                .good("d")
                .holds(&["a", "c", "d"]);
        }
    }
}

#[test]
fn a_stray_quote_in_front_of_a_record_does_not_hide_it() {
    // Together with the record's first bytes it reads as a whole string, and what is left as nothing.
    for journal in JOURNALS {
        let whole = record(journal, "a");
        for front in ["\"", "\"x", &format!("{whole}\""), &format!("{whole} \"x")] {
            let world = made(journal).text(front).good("b").world();
            let (_, report) = world.check(&[journal]);
            let mut shown = report["findings"].as_array().unwrap().iter().filter_map(possible);
            let read = world.live_ids(journal).contains(&"b".to_owned());
            assert!(read || shown.any(|text| text.contains(" b at byte ")), "{report}");
        }
    }
}

#[test]
fn a_prefix_torn_inside_a_character_is_not_utf8_and_hides_nothing() {
    for (journal, daemon) in [("sessions", "does-not-start"), ("facts", "loses-line")] {
        let whole = record(journal, "b").replacen("\"2026", "\"日2026", 1);
        for length in [1, 2] {
            let cut = whole.find('日').unwrap() + length;
            let fragment = &whole.as_bytes()[..cut];
            made(journal).good("a").bad(fragment, "invalid-utf8", daemon, &["b", "c"]).good("c").holds(&["a", "c"]);
            made(journal)
                .good("a")
                .bad(fragment, "invalid-utf8", daemon, &["b"])
                .text("\n")
                .good("c")
                .holds(&["a", "c"]);
        }
    }
}

#[test]
fn a_tail_torn_inside_a_character_keeps_the_daemon_of_sessions_and_cases_from_starting() {
    for (journal, daemon) in [("sessions", "does-not-start"), ("cases", "does-not-start"), ("facts", "moves-aside")] {
        let whole = record(journal, "b").replacen("\"2026", "\"日2026", 1);
        let fragment = &whole.as_bytes()[..whole.find('日').unwrap() + 1];
        made(journal).good("a").bad(fragment, "invalid-utf8", daemon, &["b"]).holds(&["a"]);
    }
}

#[test]
fn records_on_one_line_are_all_read() {
    for journal in JOURNALS {
        let [a, b, c] = ["a", "b", "c"].map(|id| record(journal, id));
        made(journal)
            .text(&a)
            .bad(&b, "welded", "loses-line", &["a", "b"])
            .text("\n")
            .good("d")
            .holds(&["a", "b", "d"]);
        let (daemon, offset) = (if journal == "facts" { "moves-aside" } else { "loses-next-append" }, a.len() as u64);
        made(journal)
            .text(&a)
            .bad(&b, "welded", "loses-line", &["a", "b"])
            .also(offset, "no-final-newline", daemon, &["b"])
            .holds(&["a", "b"]);
        made(journal)
            .text(&a)
            .text(" \t")
            .bad(&b, "welded", "loses-line", &["a", "b"])
            .bad(&c, "welded", "loses-line", &["b", "c"])
            .text("\r\n")
            .holds(&["a", "b", "c"]);
    }
}

#[test]
fn two_crashes_leave_two_fragments_and_the_record_behind_them_is_read() {
    for journal in JOURNALS {
        let first = until(&record(journal, "b"), "\"2026-0");
        let second = until(&record(journal, "c"), "_id\":\"c\",");
        made(journal)
            .good("a")
            .bad(&first, "not-json", "loses-line", &["b"])
            .bad(&second, "welded", "loses-line", &["c", "d"])
            .good("d")
            .good("e")
            .holds(&["a", "d", "e"]);
        // The daemon's third append did not come.
        made(journal)
            .good("a")
            .bad(&first, "not-json", "loses-line", &["b"])
            .bad(&second, "torn-tail", torn(journal), &["c"])
            .holds(&["a"]);
    }
    // The first was cut where a value begins, so that the second goes on with it: they are one wreck.
    let first = until(&record("sessions", "b"), "state\":");
    let second = until(&record("sessions", "c"), "2026-0");
    made("sessions").good("a").bad(first + &second, "welded", "loses-line", &["b", "d"]).good("d").holds(&["a", "d"]);
}

#[test]
fn junk_behind_a_record_does_not_hide_it() {
    for journal in JOURNALS {
        let mut all = made(journal);
        let ids = ["a", "b", "c", "d", "e"];
        for (id, junk) in ids.iter().zip(["x", "}", ",", "\"", "{\"op\""]) {
            all = all.text(record(journal, id) + " ").bad(junk, "trailing-bytes", "loses-line", &[id]).text(" \n");
        }
        all.holds(&ids);
        let fragment = until(&record(journal, "b"), "_id\":\"b\",");
        made(journal)
            .text(record(journal, "a"))
            .bad(fragment, "trailing-bytes", "loses-line", &["b", "a"])
            .text("\n")
            .good("c")
            .holds(&["a", "c"]);
    }
}

#[test]
fn a_run_of_nul_bytes_is_one_gap_with_its_length() {
    for journal in JOURNALS {
        // More than is read at once is tried in one of them.
        let lengths = if journal == "sessions" { &[1, 300, 1 << 20, (1 << 20) + 1][..] } else { &[1, 300] };
        for length in lengths {
            let nuls = vec![0; *length];
            made(journal).good("a").bad(&nuls, "nul-gap", "loses-line", &[]).text("\n").good("b").holds(&["a", "b"]);
        }
        // A crash left a hole, and the daemon has gone on behind it.
        made(journal).good("a").bad([0; 4096], "nul-gap", "loses-line", &["b"]).good("b").holds(&["a", "b"]);
        // The file was lengthened and never written.
        made(journal).good("a").bad([0; 4096], "nul-gap", torn(journal), &[]).holds(&["a"]);
        made(journal).bad([0; 7], "nul-gap", torn(journal), &[]).holds(&[]);
    }
}

#[test]
fn a_record_behind_nul_bytes_is_read_and_one_between_them_is_shown() {
    // What stands between two gaps may be a piece of one record that both have hit.
    let (a, b, c) = (record("sessions", "a"), record("sessions", "b"), record("sessions", "c"));
    let world = World::with("sessions.jsonl", format!("\0\0\0{a}\0\0 {b}\n{c}\n")).damaged();
    assert_eq!(world.session_ids(), ["b", "c"]);
    let (status, report) = world.check(&["sessions"]);
    let possible: Vec<&str> =
        report["findings"].as_array().unwrap().iter().filter_map(|f| f["possible"].as_str()).collect();
    assert!(status == 3 && possible.len() == 1 && possible[0].starts_with("store a "), "{report}");
    world.run(&["journal", "repair", "sessions", "--take", "1", "--apply"]).ends(0);
    assert_eq!(world.session_ids(), ["a", "b", "c"]);
}

#[test]
fn nul_bytes_in_a_state_make_no_event_of_what_stands_between_them() {
    let victim = record("sessions", "victim");
    let delete = "{\"op\":\"delete\",\"session_id\":\"victim\"}";
    for middle in [
        format!("{} {delete}", "\0".repeat(8)),
        format!("\0x\0y\0z\0{delete}"),
        format!("{}{delete}{}", "\0".repeat(4), "\0".repeat(4)),
        format!("\0\u{a0}\t{delete}"),
    ] {
        let harmed = session_line("a", &format!("[1,{middle}, {{\"op\":\"x\"}}]"));
        let world = World::with("sessions.jsonl", format!("{victim}\n{harmed}\n")).damaged();
        assert_eq!(world.session_ids(), ["victim"], "{middle:?}");
        world.run(&["journal", "repair", "sessions", "--apply"]).ends(0);
        assert_eq!(world.session_ids(), ["victim"], "{middle:?}");
    }
}

#[test]
fn white_space_of_other_journals_around_wreckage_goes_with_it() {
    let fact = record("facts", "f");
    for text in [
        format!("{fact}\ngarbage\x0b\n"),
        format!("\0\0\x0b{fact}\n"),
        format!("{fact}\nfrag\u{a0}\0\0\0\n"),
        format!("wreck\u{a0}\0\0\0\n{fact}\n"),
    ] {
        let world = World::with("facts.jsonl", &text);
        for flags in [&["--for-daemon"][..], &["--for-daemon", "--apply"]] {
            world.run(&[&["journal", "repair", "facts"][..], flags].concat()).ends(0);
        }
        assert_eq!(world.check(&["facts", "--for-daemon"]).0, 0, "{text:?}");
        assert_eq!(world.live_ids("facts").len(), 1, "{text:?}");
    }
}

#[test]
fn nul_bytes_inside_a_record_leave_two_pieces_that_are_none() {
    let whole = session_line("b", "[0,1,2,3,4,5,6,7]");
    let front = until(&whole, "[0,1,2");
    let back = whole.strip_prefix(&until(&whole, "[0,1,2,3")).unwrap();
    made("sessions")
        .good("a")
        .bad(front, "not-json", "loses-line", &["b"])
        .bad([0; 4], "nul-gap", "loses-line", &[])
        .bad(back, "not-json", "loses-line", &[])
        .text("\n")
        .good("c")
        .holds(&["a", "c"]);
}

#[test]
fn a_sparse_hole_of_200_mib_is_read_in_bounded_memory() {
    let world = World::with("sessions.jsonl", record("sessions", "a") + "\n").damaged();
    let hole = 200 << 20;
    let path = world.dir().join("sessions.jsonl");
    let mut file = File::options().append(true).open(&path).unwrap();
    let before = file.metadata().unwrap().len();
    file.set_len(before + hole).unwrap();
    file.write_all((record("sessions", "b") + "\n").as_bytes()).unwrap();

    let answer = world.shell("ulimit -v 200000; cruxctl journal check sessions --json --quiet").ends(3);

    let report = answer.json();
    let wanted = Found {
        line: 2,
        offset: before,
        length: hole,
        class: "nul-gap".to_owned(),
        severity: "damage".to_owned(),
        daemon: "loses-line".to_owned(),
        ids: vec!["b".to_owned()],
    };
    assert_eq!(findings(&report), [wanted]);
    assert_eq!(report["journals"][0]["live"], 2);
}

#[test]
fn a_repair_keeps_a_hole_a_hole() {
    let world = World::with("sessions.jsonl", record("sessions", "a") + "\n").damaged();
    let mut file = File::options().write(true).open(world.dir().join("sessions.jsonl")).unwrap();
    file.seek(SeekFrom::End(8 << 20)).unwrap();
    file.write_all((record("sessions", "b") + "\n").as_bytes()).unwrap();
    let before = world.read("sessions.jsonl");

    world.shell("ulimit -v 200000; cruxctl journal repair sessions --apply --quiet").ends(0);

    assert_eq!(world.session_ids(), ["a", "b"]);
    assert!(before_repair(&world, "sessions") == before, "a byte was destroyed");
    let folder = fs::read_dir(world.dir().join("cruxctl/quarantine")).unwrap();
    let blocks: u64 = folder.map(|entry| entry.unwrap().metadata().unwrap().blocks()).sum();
    assert!(blocks * 512 < 1 << 20, "8 MiB of nothing take {} bytes of the disk", blocks * 512);
}

#[test]
fn bytes_that_are_not_utf8_are_named_and_stop_the_daemon_of_sessions_and_cases() {
    let daemons = [("sessions", "does-not-start"), ("cases", "does-not-start"), ("facts", "loses-line")];
    for (journal, daemon) in daemons {
        let mut all = made(journal).good("a");
        for wrong in [&b"\xff"[..], b"\xc3", b"\xed\xa0\x80", b"\xc0\xaf", b"a\x80", b"\xf0\x9f\x9a"] {
            let whole = record(journal, "b");
            let (front, back) = whole.split_at(whole.find("2026").unwrap());
            let line = [front.as_bytes(), wrong, back.as_bytes()].concat();
            all = all.bad(line, "invalid-utf8", daemon, &["b"]).text("\n").good("c");
        }
        all.bad(b"\xff", "invalid-utf8", daemon, &[])
            .text("\n")
            .good("d")
            // Not even a newer version's record may be passed through like this.
            .bad(b"{\"op\":\"merge_v9\",\"x\":\"\xff\"}", "invalid-utf8", daemon, &[])
            .text("\n")
            .holds(&["a", "c", "d"]);
    }
}

/// Lines that are wrong in themselves, between two good ones.
fn between(journal: &'static str, class: &str, lines: &[(&str, &[&str])]) {
    let begun = made(journal).good("a");
    let bad = |made: Made, (line, ids): &(&str, &[&str])| made.bad(line, class, "loses-line", ids).text("\n");
    lines.iter().fold(begun, bad).good("z").holds(&["a", "z"]);
}

#[test]
fn lines_that_are_not_json() {
    let open = record("sessions", "b");
    let open = &open[..open.len() - 1];
    let raw = session_line("b", "\"a\tb\"");
    let number = session_line("b", "01");
    between(
        "sessions",
        "not-json",
        &[
            ("hello", &[]),
            ("// hi", &[]),
            ("}", &[]),
            ("{\"op\" \"store\"}", &[]),
            ("{'op':'store'}", &[]),
            ("{\"op\":\"delete\",}", &[]),
            ("{\"op\":\"delete\",\"session_id\":\"b\",}", &["b"]),
            (open, &["b"]),
            (&raw, &["b"]),
            (&number, &["b"]),
        ],
    );
}

#[test]
fn a_line_that_is_not_json_is_told_with_the_first_impossible_byte() {
    let world = made("sessions").good("a").text("{\"op\" \"store\"}\n").world();
    let (_, report) = world.check(&["sessions"]);
    let finding = &report["findings"][0];
    let at = finding["offset"].as_u64().unwrap() + 6;
    assert!(finding["what"].as_str().unwrap().ends_with(&format!("at byte {at}")), "{finding}");
}

#[test]
fn lines_that_are_json_and_no_object() {
    let lines: [(&str, &[&str]); 8] = [
        ("[]", &[]),
        ("42", &[]),
        ("-1.5e3", &[]),
        ("null", &[]),
        ("\"x\"", &[]),
        ("true", &[]),
        ("[1,2]", &[]),
        ("[{\"op\":\"delete\"}]", &[]),
    ];
    between("sessions", "not-an-object", &lines);
    between("cases", "not-an-object", &lines[..1]);
    between("facts", "not-an-object", &lines[3..5]);
}

#[test]
fn lines_that_lack_a_member() {
    let without = |journal: &str, member: &str| record(journal, "b").replacen(&format!("\"{member}\""), "\"zz\"", 1);
    between(
        "sessions",
        "missing-member",
        &[
            ("{}", &[]),
            ("{\"session_id\":\"b\"}", &[]),
            ("{\"op\":\"store\"}", &[]),
            ("{\"op\":\"delete\",\"id\":\"b\"}", &[]),
            ("[\"delete\"]", &[]),
            ("{\"op\":\"store\",\"session\":[\"b\",{}]}", &["b"]),
            (&without("sessions", "op"), &[]),
            (&without("sessions", "session_id"), &[]),
            (&without("sessions", "state"), &["b"]),
            (&without("sessions", "updated_at"), &["b"]),
            (&without("sessions", "total_tokens"), &["b"]),
        ],
    );
    between(
        "cases",
        "missing-member",
        &[
            (&without("cases", "task"), &["b"]),
            (&without("cases", "reward"), &["b"]),
            (&without("cases", "created_at"), &["b"]),
        ],
    );
    between(
        "facts",
        "missing-member",
        &[
            ("{\"op\":\"delete\",\"fact_id\":\"b\"}", &["b"]),
            ("{\"op\":\"supersede\",\"fact_id\":\"b\",\"superseded_at\":\"x\"}", &["b"]),
            (&without("facts", "deleted"), &["b"]),
            (&without("facts", "confidence"), &["b"]),
        ],
    );
}

#[test]
fn lines_with_a_member_of_a_wrong_type() {
    let with = |journal: &str, old: &str, new: &str| {
        let line = record(journal, "b");
        assert!(line.contains(old), "{line} has no {old}");
        line.replacen(old, new, 1)
    };
    between(
        "sessions",
        "wrong-type",
        &[
            ("{\"op\":5,\"session_id\":\"b\"}", &[]),
            ("{\"op\":null}", &[]),
            ("{\"op\":\"delete\",\"session_id\":5}", &[]),
            ("{\"op\":\"store\",\"session\":\"x\"}", &[]),
            ("[\"delete\",\"b\",\"c\"]", &["b"]),
            (&with("sessions", "\"b\"", "null"), &[]),
            (&with("sessions", ":1,", ":\"1\","), &["b"]),
            (&with("sessions", ":1,", ":-1,"), &["b"]),
            (&with("sessions", ":1,", ":1.0,"), &["b"]),
            (&with("sessions", ":1,", ":18446744073709551616,"), &["b"]),
            (&with("sessions", "false", "null"), &["b"]),
            (&with("sessions", "false", "0"), &["b"]),
            (&with("sessions", "\"2026-01-01T00:00:00Z\"", "\"yesterday\""), &["b"]),
            (&with("sessions", "\"2026-01-01T00:00:00Z\"", "1767225600"), &["b"]),
            (&with("sessions", "false", "false,\"expires_at\":\"never\""), &["b"]),
            (&with("sessions", "false", "false,\"archive_reason\":5"), &["b"]),
        ],
    );
    between(
        "cases",
        "wrong-type",
        &[
            (&with("cases", "[\"x\"]", "null"), &["b"]),
            (&with("cases", "[\"x\"]", "[1]"), &["b"]),
            (&with("cases", "1.0", "null"), &["b"]),
            (&with("cases", "true", "\"true\""), &["b"]),
        ],
    );
    between(
        "facts",
        "wrong-type",
        &[
            (&with("facts", "\"none\"", "\"weekly\""), &["b"]),
            (&with("facts", "\"version\":1", "\"version\":-1"), &["b"]),
            (&with("facts", "\"tokens\":1", "\"tokens\":null"), &["b"]),
            ("{\"op\":\"store_batch\",\"facts\":[5]}", &[]),
        ],
    );
}

#[test]
fn lines_with_a_member_twice() {
    let twice = |text: &str| record("sessions", "b").replacen(text, &format!("{text}{text}"), 1);
    let whole = record("sessions", "b");
    let session = whole.strip_prefix("{\"op\":\"store\",").unwrap().strip_suffix("}").unwrap().to_owned();
    between(
        "sessions",
        "duplicate-member",
        &[
            ("{\"op\":\"delete\",\"session_id\":\"b\",\"op\":\"delete\"}", &["b"]),
            ("{\"op\":\"delete\",\"session_id\":\"b\",\"session_id\":\"c\"}", &["b", "c"]),
            ("{\"op\":\"delete\",\"session_id\":\"b\",\"\\u0073ession_id\":\"c\"}", &["b", "c"]),
            (&format!("{{\"op\":\"store\",{session},{session}}}"), &["b"]),
            (&twice("\"session_id\":\"b\","), &["b"]),
            (&twice("\"total_tokens\":1,"), &["b"]),
        ],
    );
    // Inside a state, and among members that nobody knows, it is nobody's business.
    let inside = session_line("b", "{\"a\":1,\"a\":2}").replace("\"total", "\"zz\":1,\"zz\":2,\"total");
    made("sessions").good("a").text(inside + "\n").holds(&["a", "b"]);
}

#[test]
fn a_last_record_without_its_line_end_is_read_and_the_daemon_is_warned_of() {
    for journal in JOURNALS {
        let daemon = if journal == "facts" { "moves-aside" } else { "loses-next-append" };
        let last = record(journal, "b");
        made(journal).good("a").bad(&last, "no-final-newline", daemon, &["b"]).holds(&["a", "b"]);
        made(journal).bad(&last, "no-final-newline", daemon, &["b"]).holds(&["b"]);
        // A CRLF file that was cut in the middle of its last line end.
        made(journal).good("a").bad(last, "no-final-newline", daemon, &["b"]).text("\r").holds(&["a", "b"]);
    }
}

#[test]
fn what_stands_in_front_of_a_record_that_the_daemon_loses_is_named_with_the_record() {
    for journal in JOURNALS {
        made(journal).bad(b"\xEF\xBB\xBF", "bom", "loses-line", &["a"]).good("a").good("b").holds(&["a", "b"]);
    }
    for space in ["\u{a0}", "\u{3000}", "\u{b}"] {
        made("facts").good("a").bad(space, "foreign-space", "loses-line", &["b"]).good("b").holds(&["a", "b"]);
        let behind = record("facts", "b");
        made("facts")
            .good("a")
            .text(behind)
            .bad(space, "foreign-space", "loses-line", &["b"])
            .text("\n")
            .holds(&["a", "b"]);
    }
}

#[test]
fn white_space_that_the_daemon_trims_is_nothing() {
    for journal in ["sessions", "cases"] {
        let line = format!("\u{3000}\u{a0}\t{} \u{b}\u{c}\r\n \u{2003}\n", record(journal, "b"));
        made(journal).good("a").text(line).holds(&["a", "b"]);
    }
    made("facts").good("a").text(format!("\t\u{c} {}\u{c}\r\n \t\n", record("facts", "b"))).holds(&["a", "b"]);
    // Of such a line alone the daemon complains, and loses nothing.
    made("facts").good("a").bad("\u{a0}", "foreign-space", "keeps", &[]).text("\n").holds(&["a"]);
}

#[test]
fn what_is_nested_deeper_than_the_daemon_reads_is_read_here() {
    // 127 levels are read; two of them are around the state.
    for levels in [125, 126, 10_000, 1_000_000] {
        let state = "[".repeat(levels) + &"]".repeat(levels);
        let line = session_line("b", &state);
        let journal = made("sessions").good("a");
        let journal =
            if levels <= 125 { journal.text(line) } else { journal.bad(line, "too-deep", "loses-line", &["b"]) };
        journal.text("\n").good("c").holds(&["a", "b", "c"]);
    }
    let objects = "{\"a\":".repeat(126) + "1" + &"}".repeat(126);
    let line = session_line("b", &objects);
    made("sessions").bad(line, "too-deep", "loses-line", &["b"]).text("\n").holds(&["b"]);
    // In a member that nobody knows it counts as well.
    let line = record("facts", "b").replacen("\"key\"", &format!("\"zz\":{objects},\"key\""), 1);
    made("facts").bad(line, "too-deep", "loses-line", &["b"]).text("\n").holds(&["b"]);
}

/// Records that are read here and that the daemon loses, all of one id, between two good ones.
fn lost_by_the_daemon(class: &str, id: &str, lines: &[String]) {
    let bad = |made: Made, line: &String| made.bad(line, class, "loses-line", &[id]).text("\n");
    lines.iter().fold(made("sessions").good("a"), bad).good("z").holds(&["a", id, "z"]);
}

#[test]
fn a_number_that_no_float_holds_is_read_here() {
    let lines = ["1e400", "[-1e400]", &"9".repeat(400), "{\"a\":1.5e309}"].map(|state| session_line("b", state));
    lost_by_the_daemon("number-out-of-range", "b", &lines);
    let fine =
        ["1e308", "1e-400", "18446744073709551616", "-0"].map(|state| session_line("b", state) + "\n").concat();
    made("sessions").text(fine).holds(&["b"]);
}

#[test]
fn half_a_surrogate_pair_is_read_here_in_values_names_and_ids() {
    let states =
        ["\"\\ud83d\"", "\"\\udc00\"", "\"\\ude80\\ud83d\"", "\"\\ud83dx\"", "{\"\\udc00\":1}", "{\"a\\ud83d\":1}"];
    lost_by_the_daemon("lone-surrogate", "b", &states.map(|state| session_line("b", state)));
    // An id with one has no characters: it stands for itself, as written.
    let line = session_line("b", "{}").replacen("\"b\"", "\"\\ud800\"", 1);
    lost_by_the_daemon("lone-surrogate", "\u{fffd}\\ud800", &[line]);
    made("sessions").text(session_line("b", "\"\\ud83d\\ude80\"") + "\n").holds(&["b"]);
}

#[test]
fn every_reason_for_which_the_daemon_loses_a_record_is_named() {
    let state = format!("[1e400,\"\\ud83d\",{}{}]", "[".repeat(130), "]".repeat(130));
    let offset = record("sessions", "a").len() as u64 + 1;
    made("sessions")
        .good("a")
        .bad(session_line("b", &state), "too-deep", "loses-line", &["b"])
        .also(offset, "number-out-of-range", "loses-line", &["b"])
        .also(offset, "lone-surrogate", "loses-line", &["b"])
        .text("\n")
        .holds(&["a", "b"]);
}

#[test]
fn a_fact_line_that_the_daemon_does_not_take_for_its_length_is_read_and_mended() {
    let long = fact("big", "e", &"v".repeat(65 << 20));
    let journal = made("facts").good("a").bad(&long, "too-long", "does-not-start", &["big"]).text("\n").good("c");
    let world = journal.world();
    let (status, report) = world.check(&["facts"]);
    assert_eq!((status, findings(&report)), (0, journal.found.clone()));
    assert_eq!(report["journals"][0]["live"], 3);
    assert!(report["for_the_daemon"].as_str().unwrap().contains("does not start"), "{report}");

    // It can be read here, and is set aside all the same: without that the daemon does not start.
    world.run(&["journal", "repair", "facts", "--apply"]).ends(0);
    assert_eq!(world.check(&["facts", "--for-daemon"]).0, 0);
    assert_eq!(world.live_ids("facts"), ["a", "c"]);
    assert!(before_repair(&world, "facts") == journal.bytes, "a byte was destroyed");
}

#[test]
fn a_long_line_of_a_repository_scan_is_skipped_by_the_daemon() {
    let long = fact("big", "__repo_scan__::x", &"v".repeat(65 << 20));
    let journal = made("facts").good("a").bad(&long, "too-long", "loses-line", &["big"]).text("\n").good("c");
    let world = journal.world();
    let (status, report) = world.check(&["facts", "--for-daemon"]);
    assert_eq!((status, findings(&report)), (3, journal.found));
    assert_eq!(report["journals"][0]["live"], 3);
}

const FOREIGN: [&str; 4] = [
    "{\"op\":\"merge_v9\",\"x\":1}",
    "{\"x\":[{\"op\":\"store\"}],\"op\":\"merge_v9\"}",
    "[\"merge_v9\",{\"session_id\":\"a\"}]",
    "{\"op\":\"STORE\",\"session\":{}}",
];

#[test]
fn an_op_that_is_not_known_is_named_and_passed_through() {
    for journal in JOURNALS {
        for line in FOREIGN {
            made(journal)
                .good("a")
                .bad(line, "unknown-op", "loses-line", &[])
                .text("\n")
                .good("c")
                .holds(&["a", "c"]);
        }
        let offset = record(journal, "a").len() as u64;
        made(journal)
            .text(record(journal, "a"))
            .bad(FOREIGN[0], "unknown-op", "loses-line", &[])
            .also(offset, "welded", "loses-line", &["a"])
            .text("\n")
            .good("c")
            .holds(&["a", "c"]);
    }
}

#[test]
fn no_repair_and_no_compaction_removes_a_line_of_another_version() {
    let world = made("sessions")
        .text(FOREIGN.join("\n") + "\n")
        .good("a")
        .text("wreck\n")
        .text(record("sessions", "b") + FOREIGN[0] + "\n")
        .text(until(&record("sessions", "x"), "_id\":\"x") + FOREIGN[1] + "\n")
        .good("a")
        .world();
    world.run(&["journal", "repair", "sessions", "--apply", "--for-daemon"]).ends(0);
    world.run(&["journal", "compact", "sessions"]).ends(0);
    let lines = String::from_utf8(world.read("sessions.jsonl")).unwrap();
    let foreign: Vec<&str> = lines.lines().filter(|line| !line.starts_with("{\"op\":\"store\"")).collect();
    assert_eq!(foreign, [&FOREIGN[..], &[FOREIGN[0], FOREIGN[1]]].concat());
    assert_eq!(world.session_ids(), ["a", "b"]);
}

#[test]
fn an_empty_journal_is_whole() {
    for journal in JOURNALS {
        for bytes in ["", "\n", "   \n", " \t\r\n\n\r\n", "\n\n\n"] {
            made(journal).text(bytes).holds(&[]);
        }
    }
    for journal in ["sessions", "cases"] {
        made(journal).text("   ").holds(&[]);
        made(journal).good("a").text("   ").holds(&["a"]);
    }
    // The daemon moves any tail of this journal aside, spaces too.
    made("facts").bad("   ", "no-final-newline", "moves-aside", &[]).holds(&[]);
}

#[test]
fn damage_in_the_first_line_hides_no_later_one() {
    for journal in JOURNALS {
        made(journal)
            .bad("{\"op\":\"st", "not-json", "loses-line", &[])
            .text("\n")
            .good("a")
            .good("b")
            .good("c")
            .holds(&["a", "b", "c"]);
    }
}

#[test]
fn line_ends_of_another_system_are_white_space() {
    for journal in JOURNALS {
        let [a, b, c] = ["a", "b", "c"].map(|id| record(journal, id));
        made(journal).text(format!("{a}\r\n{b}\r\n")).holds(&["a", "b"]);
        made(journal)
            .text(format!("{a}\n{b}\r\n"))
            .bad("{\"op\"", "not-json", "loses-line", &[])
            .text(format!("\r\n\r\n{c}\r\r\n"))
            .holds(&["a", "b", "c"]);
    }
}

#[test]
fn two_hundred_thousand_tiny_lines_are_read() {
    let tiny = "{\"op\":\"delete\",\"session_id\":\"x\"}\n\n[\"delete\",\"y\"]\n{}\n".repeat(50_000);
    let world = World::with("sessions.jsonl", tiny + &record("sessions", "a")).damaged();
    let (status, report) = world.check(&["sessions", "--quiet"]);
    assert_eq!(status, 3);
    assert_eq!(report["journals"][0]["lines"], 200_001);
    assert_eq!(report["journals"][0]["damage"], 50_000);
    assert_eq!(report["journals"][0]["live"], 1);
}

/// A state that is full of what looks like events, and the places behind its last bytes at which it looks like one
/// whole event to its end.
fn state_of_events() -> (String, Vec<usize>) {
    let one = "{\"op\":\"delete\",\"session_id\":\"in1\"}";
    let two = session_line("in2", "[2]");
    let state = format!(
        "{{\"op\":\"delete\",\"session_id\":\"in5\",\"log\":[{one},{two},[\"delete\",\"in3\"]],\
         \"s\":\"{{\\\"op\\\":\\\"delete\\\",\\\"session_id\\\":\\\"in4\\\"}}\"}}"
    );
    let ends = [one, &two].map(|event| state.find(event).unwrap() + event.len());
    let whole = state.len();
    (state, [&ends[..], &[whole]].concat())
}

/// Whole sessions of the ids that the state's events are about. None of them may change.
fn inner() -> Made {
    let ids = ["in1", "in2", "in3", "in4", "in5"];
    ids.into_iter().fold(made("sessions"), |journal, id| journal.good(id))
}

/// The documents of every session, and what a check finds.
fn documents(world: &World) -> (BTreeSet<String>, Vec<Value>) {
    let lines = world.run(&["journal", "export", "sessions", "--damaged-ok", "--quiet"]).ends(0).lines();
    let (_, report) = world.check(&["sessions", "--quiet"]);
    assert_eq!(report["journals"][0]["live"], lines.len());
    (lines.into_iter().collect(), report["findings"].as_array().unwrap().clone())
}

/// What a finding says of a record that may lie at the end of a fragment.
fn possible(finding: &Value) -> Option<&str> {
    finding["possible"].as_str()
}

#[test]
fn a_state_cut_at_any_byte_never_becomes_an_event() {
    let (state, ends) = state_of_events();
    let outer = session_line("outer", &state);
    let around = outer.find(&state).unwrap();
    let mut journal = inner();
    let (untouched, _) = documents(&journal.world());
    // Line k + 5 holds the first k bytes.
    for cut in 1..outer.len() {
        journal = journal.text(&outer[..cut]).text("\n");
    }
    let (now, findings) = documents(&journal.world());
    assert_eq!(now, untouched);
    assert_eq!(findings.len(), outer.len() - 1, "each cut is one finding");
    let mut shown = BTreeSet::new();
    for (finding, cut) in findings.iter().zip(1..) {
        assert_eq!((&finding["length"], &finding["class"]), (&json!(cut), &json!("not-json")), "{finding}");
        if let Some(text) = possible(finding) {
            assert!(text.contains("in") && text.contains(&format!("--take {} ", cut + 5)), "{finding}");
            shown.insert(cut - around);
        }
    }
    // An event in its array form at the end may be shown as well.
    let array = state.find("\"in3\"]").unwrap() + 6;
    shown.remove(&array);
    assert_eq!(shown.into_iter().collect::<Vec<_>>(), ends);
}

#[test]
fn a_state_cut_at_any_byte_at_the_end_of_the_file_never_becomes_an_event() {
    let (state, ends) = state_of_events();
    let outer = session_line("outer", &state);
    let around = outer.find(&state).unwrap();
    let (untouched, _) = documents(&inner().world());
    // Cuts at which nothing can end are tried in the middle of a file.
    for cut in (1..outer.len()).filter(|cut| matches!(outer.as_bytes()[cut - 1], b'}' | b']')) {
        let (now, findings) = documents(&inner().text(&outer[..cut]).world());
        assert_eq!(now, untouched, "{cut}");
        assert_eq!((findings.len(), &findings[0]["class"]), (1, &json!("torn-tail")), "{cut}: {findings:?}");
        let fits = cut > around && ends.contains(&(cut - around));
        assert!(possible(&findings[0]).is_some() || !fits, "{cut}: {findings:?}");
    }
}

#[test]
fn a_state_whose_beginning_was_zeroed_never_becomes_an_event() {
    let (state, _) = state_of_events();
    let outer = session_line("outer", &state);
    let mut journal = inner();
    let (untouched, _) = documents(&journal.world());
    for cut in 1..outer.len() {
        journal = journal.text(vec![0; cut]).text(&outer[cut..]).text("\n");
    }
    let (now, findings) = documents(&journal.world());
    assert_eq!(now, untouched);
    let named: BTreeSet<u64> = findings.iter().map(|finding| finding["line"].as_u64().unwrap()).collect();
    assert_eq!(named.len(), outer.len() - 1, "every line has a finding");
}

/// What the daemon's derived reader looks for in a line, so far as it says where a line stops being one.
#[derive(Deserialize)]
#[allow(dead_code, reason = "only the reading counts")]
struct DaemonLine {
    op: String,
    session: DaemonSession,
}

#[derive(Deserialize)]
#[allow(dead_code, reason = "only the reading counts")]
struct DaemonSession {
    session_id: String,
    state: IgnoredAny,
    updated_at: String,
    total_tokens: u64,
    archived: bool,
}

#[test]
fn the_record_behind_a_state_cut_at_any_byte_is_read_or_shown_as_possible() {
    let (state, _) = state_of_events();
    let outer = session_line("outer", &state);
    let mut journal = inner();
    let mut wanted = documents(&journal.world()).0;
    let mut only_possible = Vec::new();
    for cut in 1..outer.len() {
        let behind = session_line(&format!("g{cut}"), "{}");
        let line = format!("{}{behind}", &outer[..cut]);
        // A reader that goes on from the fragment into the record, and not only into its first bytes, shows that the
        // record could be a piece of the state.
        let error = serde_json::from_str::<DaemonLine>(&line).err().unwrap();
        if error.column() > cut + 8 {
            only_possible.push(cut);
        } else {
            wanted.insert(
                behind.strip_prefix("{\"op\":\"store\",\"session\":").unwrap().strip_suffix('}').unwrap().to_owned(),
            );
        }
        journal = journal.text(line + "\n");
    }
    assert!(only_possible.len() > 5 && only_possible.len() < outer.len() / 4, "{only_possible:?}");
    let (now, findings) = documents(&journal.world());
    assert_eq!(now, wanted);
    let shown: Vec<usize> = findings
        .iter()
        .filter_map(|finding| {
            let cut = finding["line"].as_u64().unwrap() - 5;
            let text = possible(finding)?;
            assert!(text.starts_with(&format!("store g{cut} ")), "{finding}");
            Some(usize::try_from(cut).unwrap())
        })
        .collect();
    assert_eq!(shown, only_possible);
}

#[test]
fn a_possible_record_is_shown_however_much_the_state_in_front_of_it_looks_like_events() {
    let events = vec!["{\"op\":\"delete\",\"session_id\":\"in1\"}"; 300].join(",");
    let fragment = until(&session_line("outer", &format!("[{events},7]")), "},7").replace(",7", ",");
    let world = inner().text(fragment + &record("sessions", "g") + "\n").world();
    let (_, findings) = documents(&world);
    assert_eq!(findings.len(), 1);
    assert!(possible(&findings[0]).is_some_and(|text| text.starts_with("store g ")), "{:?}", findings[0]["possible"]);
}

/// Two lines that end in what may be a record, one that does not, and whole ones.
fn doubtful() -> Made {
    let cut = until(&session_line("outer", "{}"), "state\":");
    made("sessions")
        .good("a")
        .text(format!("{cut}{}\n", record("sessions", "b")))
        .text("wreck\n")
        .text(format!("{cut}{}\n", record("sessions", "c")))
        .good("d")
}

#[test]
fn a_possible_record_is_taken_only_where_repair_is_told_to() {
    let journal = doubtful();
    let world = journal.world();
    assert_eq!(world.session_ids(), ["a", "d"]);
    let plan = world.run(&["journal", "repair", "sessions", "--take", "4", "--json"]).ends(0).json();
    assert_eq!(plan["journals"][0]["possible"], 1, "{plan}");
    assert!(world.read("sessions.jsonl") == journal.bytes, "a plan has changed the journal");

    let done = world.run(&["journal", "repair", "sessions", "--take", "4", "--apply", "--json"]).ends(0).json();

    assert_eq!(world.session_ids(), ["a", "c", "d"]);
    assert_eq!(world.check(&["sessions", "--for-daemon"]).0, 0);
    assert!(before_repair(&world, "sessions") == journal.bytes, "a byte was destroyed");
    // The record that was not taken lies in quarantine, whole.
    let removed = |line: u64| done["edits"].as_array().unwrap().iter().any(|edit| edit["line"] == line);
    assert!(removed(2) && removed(3) && removed(4), "{done}");

    let all = doubtful().world();
    all.run(&["journal", "repair", "sessions", "--take", "2", "--take", "4", "--apply"]).ends(0);
    assert_eq!(all.session_ids(), ["a", "b", "c", "d"]);
    let none = doubtful().world();
    none.run(&["journal", "repair", "sessions", "--apply"]).ends(0);
    assert_eq!(none.session_ids(), ["a", "d"]);
}

#[test]
fn a_possible_record_at_the_torn_end_can_be_taken() {
    let (state, ends) = state_of_events();
    let outer = session_line("outer", &state);
    let cut = outer.find(&state).unwrap() + ends[1];
    let world = made("sessions").text(&outer[..cut]).world();
    let (_, findings) = documents(&world);
    assert!(possible(&findings[0]).unwrap().starts_with("store in2 "), "{findings:?}");
    world.run(&["journal", "repair", "sessions", "--take", "1", "--apply"]).ends(0);
    assert_eq!(world.session_ids(), ["in2"]);
    assert_eq!(world.run(&["session", "get", "in2"]).ends(0).text(), "[2]\n");
    assert!(before_repair(&world, "sessions") == outer.as_bytes()[..cut], "a byte was destroyed");
}

#[test]
fn a_possible_record_in_array_form_is_shown_and_can_be_taken() {
    let cut = until(&session_line("outer", "{}"), "state\":");
    let [object, delete] = ["[ \"store\", {", "[\"delete\",\"a\"]"];
    let store = record("sessions", "b").replacen("{\"op\":\"store\",\"session\":{", object, 1);
    let store = format!("{}]", store.strip_suffix('}').unwrap());
    let journal = made("sessions").good("a").text(format!("{cut}{store}\n")).text(format!("{cut}{delete}\n"));
    let world = journal.world();
    let (_, findings) = documents(&world);
    let shown: Vec<&str> = findings.iter().filter_map(possible).collect();
    assert!(
        matches!(shown[..], [one, two] if one.starts_with("store b ") && two.starts_with("delete a ")),
        "{shown:?}"
    );
    world.run(&["journal", "repair", "sessions", "--take", "2", "--apply"]).ends(0);
    assert_eq!(world.session_ids(), ["a", "b"]);
    let world = journal.world();
    world.run(&["journal", "repair", "sessions", "--take", "2", "--take", "3", "--apply"]).ends(0);
    assert_eq!(world.session_ids(), ["b"]);
}

#[test]
fn repair_takes_nothing_where_nothing_is_to_take() {
    let journal = doubtful();
    let world = journal.world();
    for (line, status) in [("1", 1), ("3", 1), ("9", 1)] {
        for apply in [&[][..], &["--apply"]] {
            let args = [&["journal", "repair", "sessions", "--take", line], apply].concat();
            assert!(world.run(&args).ends(status).stderr.contains(&format!("line {line}")));
        }
    }
    world.run(&["journal", "repair", "--take", "2", "--apply"]).ends(2);
    assert!(world.read("sessions.jsonl") == journal.bytes, "a refusal has changed the journal");
}

#[test]
fn a_plan_changes_nothing() {
    let world = World::copy_of("tests/data/after-crash").damaged();
    let before = world.journals();
    for args in [
        &["journal", "repair"][..],
        &["journal", "repair", "--for-daemon"],
        &["journal", "repair", "--apply", "--dry-run"],
    ] {
        let answer = world.run(&[args, &["--json"]].concat()).ends(0);
        assert!(!answer.json()["edits"].as_array().unwrap().is_empty());
        assert!(world.journals() == before && !world.dir().join("cruxctl/quarantine").exists(), "{args:?}");
    }
}

#[test]
fn a_repair_that_would_set_too_much_aside_is_refused_before_the_first_journal_is_changed() {
    let world = made("sessions").good("a").text("wreck\n").world();
    world.write("facts.jsonl", "a longer wreck\n");
    let before = world.journals();
    // The line end of a line that goes is set aside as well.
    for most in ["0", "5", "6", "14"] {
        for apply in [&["--apply"][..], &[]] {
            let args = [&["journal", "repair", "--max-loss-bytes", most], apply].concat();
            let answer = world.run(&args).ends(5);
            assert!(answer.stderr.contains("max-loss-bytes"), "{answer:?}");
            assert!(world.journals() == before && !world.dir().join("cruxctl/quarantine").exists(), "{most}");
        }
    }
    world.run(&["journal", "repair", "--apply", "--max-loss-bytes", "15"]).ends(0);
    assert_eq!(world.check(&[]).0, 0);
    assert!(before.iter().all(|(name, bytes)| before_repair(&world, name.trim_end_matches(".jsonl")) == *bytes));
}

#[test]
fn a_repair_for_the_daemon_sets_aside_what_only_the_daemon_loses() {
    let lost = [
        session_line("deep", &("[".repeat(200) + &"]".repeat(200))),
        session_line("big", "1e400"),
        session_line("half", "\"\\ud83d\""),
    ];
    let journal = made("sessions").text(b"\xEF\xBB\xBF").good("a").text(lost.join("\n") + "\n").good("b");
    let world = journal.world();
    world.write("facts.jsonl", format!("\u{a0}{}\u{3000}\n", record("facts", "f")));
    let spaced = world.read("facts.jsonl");

    world.run(&["journal", "repair", "--apply"]).ends(0);
    assert!(world.read("sessions.jsonl") == journal.bytes, "what can be read here is not damage");

    world.run(&["journal", "repair", "--apply", "--for-daemon"]).ends(0);
    // A mark or space goes; the record behind it stays.
    assert_eq!(world.session_ids(), ["a", "b"]);
    assert_eq!(world.live_ids("facts"), ["f"]);
    assert_eq!(world.check(&["--for-daemon"]).0, 0);
    assert!(before_repair(&world, "sessions") == journal.bytes, "a byte was destroyed");
    assert!(before_repair(&world, "facts") == spaced, "a byte was destroyed");
    let second = world.run(&["journal", "repair", "--apply", "--for-daemon", "--json"]).ends(0).json();
    assert_eq!(second["edits"], json!([]));
}

#[test]
fn a_repair_takes_the_white_space_of_a_line_that_goes_with_it() {
    let nuls = [0; 3];
    for journal in JOURNALS {
        let mut spaces = vec!["", " ", " \t\r"];
        if journal == "facts" {
            // Left in front of the next record, these would lose it to the daemon.
            spaces.extend(["\u{a0}", "\u{b}"]);
        }
        for space in spaces {
            for end in ["\n", ""] {
                let wreck = |made: Made| {
                    let made = made.text(space).text("wreck").text(space).text(nuls).text(space);
                    made.text(nuls).text(space).text("wreck").text(space)
                };
                let alone = |ids: &[&str]| ids.iter().map(|id| record(journal, id) + "\n").collect::<String>();
                let mut all = vec![(wreck(made(journal).good("a")).text(end), alone(&["a"]))];
                all.push((wreck(made(journal)).text(end), String::new()));
                if end == "\n" {
                    all.push((wreck(made(journal).good("a")).text(end).good("b"), alone(&["a", "b"])));
                    all.push((wreck(made(journal)).text(end).good("b"), alone(&["b"])));
                }
                for (journal, left) in all {
                    let world = journal.world();
                    world.run(&["journal", "repair", journal.journal, "--apply"]).ends(0);
                    let bytes = world.read(&format!("{}.jsonl", journal.journal));
                    assert_eq!(
                        String::from_utf8(bytes).unwrap(),
                        left,
                        "{:?}",
                        String::from_utf8_lossy(&journal.bytes)
                    );
                    assert!(before_repair(&world, journal.journal) == journal.bytes, "a byte was destroyed");
                }
            }
        }
    }
}

#[test]
fn a_repair_leaves_no_byte_order_mark_in_front_of_a_record_that_had_none() {
    for journal in JOURNALS {
        let world = made(journal).text("\u{feff}wreck\n").good("a").world();
        world.run(&["journal", "repair", journal, "--apply"]).ends(0);
        assert_eq!(world.read(&format!("{journal}.jsonl")), format!("{}\n", record(journal, "a")).as_bytes());
    }
}

/// One thing that happens to a journal.
#[derive(Clone, Debug)]
enum Accident {
    Cut(Index, usize),
    Truncate(Index),
    Overwrite(Index, Vec<u8>),
    Zero(Index, usize),
    Insert(Index, Vec<u8>),
}

fn accident() -> impl Strategy<Value = Accident> {
    let junk = prop_oneof![
        proptest::collection::vec(any::<u8>(), 1..12),
        "[\\[\\]{}:,\"\\\\a0\\n -]{1,6}".prop_map(String::into_bytes),
        (1usize..90).prop_map(|cut| record("sessions", "x").as_bytes()[..cut].to_vec()),
    ];
    prop_oneof![
        (any::<Index>(), 1usize..200).prop_map(|(at, length)| Accident::Cut(at, length)),
        any::<Index>().prop_map(Accident::Truncate),
        (any::<Index>(), junk.clone()).prop_map(|(at, bytes)| Accident::Overwrite(at, bytes)),
        (any::<Index>(), 1usize..200).prop_map(|(at, length)| Accident::Zero(at, length)),
        (any::<Index>(), junk).prop_map(|(at, bytes)| Accident::Insert(at, bytes)),
    ]
}

/// A byte, and where it stood before anything happened.
type Traced = (u8, Option<usize>);

fn befall(bytes: &mut Vec<Traced>, accident: &Accident) {
    if bytes.is_empty() {
        return;
    }
    let new = |bytes: &[u8]| bytes.iter().map(|byte| (*byte, None)).collect::<Vec<Traced>>();
    match accident {
        Accident::Cut(at, length) => {
            let at = at.index(bytes.len());
            bytes.drain(at..(at + length).min(bytes.len()));
        }
        Accident::Truncate(at) => bytes.truncate(at.index(bytes.len())),
        Accident::Overwrite(at, junk) => {
            let at = at.index(bytes.len());
            bytes.splice(at..(at + junk.len()).min(bytes.len()), new(junk));
        }
        Accident::Zero(at, length) => {
            let at = at.index(bytes.len());
            let end = (at + length).min(bytes.len());
            bytes.splice(at..end, new(&vec![0; end - at]));
        }
        Accident::Insert(at, junk) => {
            let at = at.index(bytes.len());
            bytes.splice(at..at, new(junk));
        }
    }
}

/// Holds a journal of these whole lines, to which these accidents happen, against the laws.
fn survives(journal: &'static str, lines: &[(String, String)], accidents: &[Accident]) -> Result<(), TestCaseError> {
    let whole: Vec<u8> = lines.iter().flat_map(|(_, line)| format!("{line}\n").into_bytes()).collect();
    let mut traced: Vec<Traced> = whole.iter().enumerate().map(|(at, byte)| (*byte, Some(at))).collect();
    accidents.iter().for_each(|accident| befall(&mut traced, accident));
    let bytes: Vec<u8> = traced.iter().map(|(byte, _)| *byte).collect();
    let made = Made { journal, bytes, found: Vec::new() };
    let world = made.world();

    let live = world.live_ids(journal);
    let (status, report) = world.check(&[journal]);
    prop_assert!(matches!(status, 0 | 3), "{status}: {report}");
    prop_assert_eq!(&report["journals"][0]["live"], live.len(), "{}", report);
    if journal == "sessions" {
        prop_assert_eq!(&world.session_ids(), &live);
    }
    let shown: Vec<&str> = report["findings"].as_array().unwrap().iter().filter_map(possible).collect();
    let mut start = 0;
    for (id, line) in lines {
        let untouched: Vec<Option<usize>> = (start..=start + line.len()).map(Some).collect();
        start += line.len() + 1;
        let Some(at) = traced.iter().position(|(_, from)| *from == untouched[0]) else { continue };
        let now = traced[at..].iter().map(|(_, from)| *from).take(untouched.len());
        if now.eq(untouched) {
            let possible = shown.iter().any(|text| text.starts_with(&format!("store {id} ")));
            prop_assert!(live.contains(id) || possible, "{id} is hidden: {report}");
        }
    }

    world.run(&["journal", "repair", journal, "--apply"]).ends(0);
    prop_assert_eq!(world.check(&[journal]).0, 0);
    prop_assert_eq!(&world.live_ids(journal), &live);
    prop_assert!(before_repair(&world, journal) == made.bytes, "a byte was destroyed");
    let second = world.run(&["journal", "repair", journal, "--apply", "--json"]).ends(0).json();
    prop_assert_eq!(&second["edits"], &json!([]));
    Ok(())
}

fn few() -> ProptestConfig {
    ProptestConfig { cases: 24, max_shrink_iters: 200, failure_persistence: None, ..ProptestConfig::default() }
}

proptest! {
    #![proptest_config(few())]

    #[test]
    fn whatever_happens_to_a_sessions_journal_no_untouched_line_is_hidden_and_no_byte_destroyed(
        states in proptest::collection::vec(0usize..5, 1..10),
        accidents in proptest::collection::vec(accident(), 1..5),
    ) {
        let forms = [
            "{\"n\":1}",
            "\"é\\n\\u00e9 日本 \\\"quoted\\\"\"",
            "[1,[-2.5e3,{\"a\":null}],{},[]]",
            // Taken for an event, this would delete a line's session.
            "[{\"op\":\"delete\",\"session_id\":\"s0\"}]",
            "{\"op\":\"delete\",\"session_id\":\"s1\"}",
        ];
        let line = |(n, form): (usize, &usize)| (format!("s{n}"), session_line(&format!("s{n}"), forms[*form]));
        let lines: Vec<(String, String)> = states.iter().enumerate().map(line).collect();
        survives("sessions", &lines, &accidents)?;
    }

    #[test]
    fn whatever_happens_to_a_facts_journal_no_untouched_line_is_hidden_and_no_byte_destroyed(
        count in 1usize..8,
        accidents in proptest::collection::vec(accident(), 1..5),
    ) {
        let lines: Vec<(String, String)> = (0..count).map(|n| (format!("f{n}"), record("facts", &format!("f{n}")))).collect();
        survives("facts", &lines, &accidents)?;
    }
}
