//! The daemon's own data, both ways: what the daemon has written or left behind is read in full, and what is written
//! here the daemon reads. Beside each fixture lies what the daemon itself makes of it.

use std::collections::BTreeSet;
use std::fs;

use serde::{Deserialize, Serialize};
use serde_json::Value;
use serde_json::value::RawValue;

use crate::support::{NOW, World, before_repair, session_line, tree};

const JOURNALS: [&str; 3] = ["sessions", "cases", "facts"];

/// Verbs that only read, or say what they would do.
const READING: &[&[&str]] = &[
    &["session", "list", "--all-agents", "--all"],
    &["session", "get", "sess_00001"],
    &["session", "show", "sess_00001"],
    &["session", "delete", "sess_00001", "--dry-run"],
    &["session", "reap", "--all-agents", "--dry-run"],
    &["journal", "check"],
    &["journal", "check", "--for-daemon"],
    &["journal", "export", "sessions"],
    &["journal", "export", "cases"],
    &["journal", "export", "facts"],
    &["journal", "show", "sessions", "--line", "1"],
    &["journal", "repair"],
    &["journal", "repair", "--for-daemon"],
    &["journal", "repair", "--apply", "--dry-run"],
    &["journal", "compact", "sessions", "--dry-run"],
];

fn json(path: &str) -> Value {
    serde_json::from_slice(&fs::read(tree(path)).unwrap()).unwrap()
}

fn texts(list: &Value) -> BTreeSet<String> {
    list.as_array().unwrap().iter().map(|text| text.as_str().unwrap().to_owned()).collect()
}

/// One kind of damage: a data directory, and what the daemon makes of it.
struct Torn {
    name: String,
    manifest: Value,
}

impl Torn {
    /// Every kind, the undamaged one included.
    fn all() -> Vec<Torn> {
        let entries = fs::read_dir(tree("tests/data/daemon/torn")).unwrap();
        let names = entries.map(|entry| entry.unwrap().file_name().into_string().unwrap());
        let all: Vec<Torn> = names.map(Torn::named).collect();
        assert!(all.len() >= 14, "fixtures are missing");
        all
    }

    fn named(name: String) -> Torn {
        let manifest = json(&format!("tests/data/daemon/torn/{name}/manifest.json"));
        Torn { name, manifest }
    }

    fn world(&self) -> World {
        World::copy_of(&format!("tests/data/daemon/torn/{}/data", self.name)).damaged()
    }

    /// Whether a line of each journal has bytes that are no record here either. A kind that is not named here fails,
    /// so that none is added without a decision.
    fn unreadable(&self) -> bool {
        match &*self.name {
            "bad_utf8_middle" | "middle_corrupt" | "only_nul" | "tail_torn" | "unknown_op" => true,
            "_base"
            | "blank_lines"
            | "bom"
            | "crlf"
            | "dup_ids"
            | "empty_files"
            | "missing_files"
            | "tail_valid_no_newline"
            | "unknown_fields" => false,
            other => panic!("nobody has said whether {other} can be read"),
        }
    }

    /// The ids that must be there: those that the daemon keeps; where it does not start, those of the lines that its
    /// reader takes one by one; and a record with a byte order mark in front, which is whole.
    fn kept(&self, journal: &str) -> BTreeSet<String> {
        let replay = &self.manifest["replay"][journal];
        if self.name == "bom" {
            return Torn::named("_base".to_owned()).kept(journal);
        }
        if !replay["error"].is_null() {
            let file = format!("tests/data/daemon/torn/{}/data/{journal}.jsonl", self.name);
            return replayed(journal, &fs::read(tree(&file)).unwrap());
        }
        texts(&replay["ids"])
    }

    /// The lines that the daemon loses, or welds its next append to.
    fn lost_lines(&self, journal: &str, bytes: &[u8]) -> BTreeSet<u64> {
        let replay = &self.manifest["replay"][journal];
        let mut lost = lost_lines(replay.get("error"), &replay["warning_texts"], bytes);
        let probe = &self.manifest["append_probe"][journal];
        if probe["survives_next_replay"] == false {
            lost.insert(last_line(bytes));
        }
        lost
    }
}

fn last_line(bytes: &[u8]) -> u64 {
    bytes.split_inclusive(|b| *b == b'\n').count() as u64
}

/// The lines that the daemon says it loses: those that it skips because they cannot be parsed, the tail that it moves
/// aside, and where it does not start, those that are not UTF-8. What it parses and then skips by a rule is not lost.
fn lost_lines(error: Option<&Value>, warnings: &Value, bytes: &[u8]) -> BTreeSet<u64> {
    let mut lost = BTreeSet::new();
    if error.is_some_and(|error| !error.is_null()) {
        let lines = bytes.split(|b| *b == b'\n').zip(1..);
        lost.extend(lines.filter(|(line, _)| std::str::from_utf8(line).is_err()).map(|(_, number)| number));
        assert!(!lost.is_empty(), "why does the daemon not start?");
    }
    for warning in warnings.as_array().into_iter().flatten() {
        let warning = warning.as_str().unwrap();
        if warning.contains("parse-skip") {
            let number = warning.strip_prefix("line ").unwrap().split(':').next().unwrap();
            lost.insert(number.parse().unwrap());
        } else if warning.contains("quarantined") {
            lost.insert(last_line(bytes));
        }
    }
    lost
}

/// The live ids of sessions or cases, read line by line with a reader of its own.
fn replayed(journal: &str, bytes: &[u8]) -> BTreeSet<String> {
    let (record, member) = if journal == "sessions" { ("session", "session_id") } else { ("case", "case_id") };
    let mut live = BTreeSet::new();
    for line in bytes.split(|b| *b == b'\n') {
        let Ok(event) = serde_json::from_slice::<Value>(line) else { continue };
        if event["op"] == "delete" {
            live.remove(event[member].as_str().unwrap());
        } else {
            live.insert(event[record][member].as_str().unwrap().to_owned());
        }
    }
    live
}

/// The ids that the verbs show, which must all agree on them.
fn shown(world: &World, journal: &str) -> BTreeSet<String> {
    let exported = world.live_ids(journal);
    if journal == "sessions" {
        assert_eq!(world.session_ids(), exported, "session list and journal export disagree");
    }
    let (_, report) = world.check(&[journal]);
    assert_eq!(report["journals"][0]["live"], exported.len(), "journal check disagrees: {report}");
    exported.into_iter().collect()
}

/// The lines that a check has findings on.
fn found_lines(report: &Value) -> BTreeSet<u64> {
    report["findings"].as_array().unwrap().iter().map(|finding| finding["line"].as_u64().unwrap()).collect()
}

#[test]
fn every_record_that_the_daemon_keeps_is_read_and_all_verbs_agree_on_it() {
    for torn in Torn::all() {
        let world = torn.world();
        for journal in JOURNALS {
            assert_eq!(shown(&world, journal), torn.kept(journal), "{}, {journal}", torn.name);
        }
    }
}

#[test]
fn check_ends_with_3_exactly_where_a_line_cannot_be_read() {
    for torn in Torn::all() {
        let world = torn.world();
        for journal in JOURNALS {
            let (status, report) = world.check(&[journal]);
            assert_eq!(status, if torn.unreadable() { 3 } else { 0 }, "{}: {report}", torn.name);
        }
        assert_eq!(world.check(&[]).0, if torn.unreadable() { 3 } else { 0 }, "{}", torn.name);
    }
}

#[test]
fn check_for_the_daemon_names_the_lines_that_the_daemon_loses_and_no_others() {
    for torn in Torn::all() {
        let world = torn.world();
        for journal in JOURNALS {
            let lost = torn.lost_lines(journal, &world.read(&format!("{journal}.jsonl")));
            let (status, report) = world.check(&[journal, "--for-daemon"]);
            assert_eq!(found_lines(&report), lost, "{}, {journal}: {report}", torn.name);
            assert_eq!(status, if lost.is_empty() { 0 } else { 3 }, "{}, {journal}", torn.name);
        }
    }
}

#[test]
fn reading_changes_no_byte_of_any_journal() {
    for torn in Torn::all() {
        let world = torn.world();
        let times = |world: &World| -> Vec<_> {
            let names = world.journals().into_keys();
            names.map(|name| fs::metadata(world.dir().join(name)).unwrap().modified().unwrap()).collect()
        };
        let before = (world.journals(), times(&world));
        for args in READING {
            let answer = world.run(args);
            assert!(matches!(answer.status, 0 | 1 | 3 | 5), "{}: {args:?}: {answer:?}", torn.name);
            assert!((world.journals(), times(&world)) == before, "{}: {args:?} has changed a journal", torn.name);
        }
    }
}

#[test]
fn a_session_put_beside_damage_welds_nothing_and_hides_nothing() {
    for torn in Torn::all() {
        let world = torn.world();
        let before = world.journals();
        let ids: Vec<_> = JOURNALS.iter().map(|journal| shown(&world, journal)).collect();
        let documents = world.run(&["journal", "export", "sessions", "--damaged-ok"]).ends(0).lines();
        let welded = |classes: Vec<String>| classes.iter().filter(|class| *class == "welded").count();
        let welds = welded(world.classes("sessions"));

        world.run_with(&["session", "put", "probe"], "{\"probe\":true}").ends(0);

        let mut after = world.journals();
        let sessions = after.remove("sessions.jsonl").unwrap();
        let old = before.get("sessions.jsonl").cloned().unwrap_or_default();
        assert!(sessions.starts_with(&old), "{}: what was there has changed", torn.name);
        let others = before.into_iter().filter(|(name, _)| name != "sessions.jsonl");
        assert_eq!(after, others.collect(), "{}: another journal was touched", torn.name);
        assert_eq!(welded(world.classes("sessions")), welds, "{}", torn.name);
        assert_eq!(shown(&world, "sessions"), &ids[0] | &BTreeSet::from(["probe".to_owned()]), "{}", torn.name);
        let after = world.run(&["journal", "export", "sessions", "--damaged-ok"]).ends(0).lines();
        assert_eq!(after[..after.len() - 1], documents, "{}: a document has changed", torn.name);
        assert_eq!(world.run(&["session", "get", "probe", "--damaged-ok"]).ends(0).text(), "{\"probe\":true}\n");
        for (journal, ids) in JOURNALS.iter().zip(&ids).skip(1) {
            assert_eq!(shown(&world, journal), *ids, "{}, {journal}", torn.name);
        }
    }
}

#[test]
fn a_repair_cleans_keeps_every_record_and_destroys_no_byte() {
    for torn in Torn::all() {
        let mut world = torn.world();
        let before = world.journals();
        let ids: Vec<_> = JOURNALS.iter().map(|journal| shown(&world, journal)).collect();

        let report = world.run(&["journal", "repair", "--apply", "--json"]).ends(0).json();

        assert_eq!(world.check(&[]).0, 0, "{}", torn.name);
        for ((journal, ids), row) in JOURNALS.iter().zip(&ids).zip(report["journals"].as_array().unwrap()) {
            let file = format!("{journal}.jsonl");
            let old = before.get(&file).cloned().unwrap_or_default();
            let number = |name: &str| row[name].as_u64().unwrap();
            assert_eq!(row["journal"], *journal);
            assert_eq!(number("before_bytes"), old.len() as u64, "{}: {row}", torn.name);
            assert_eq!(number("after_bytes"), world.read(&file).len() as u64, "{}: {row}", torn.name);
            assert_eq!(
                number("after_bytes") + number("set_aside_bytes") - number("inserted_bytes"),
                number("before_bytes"),
                "{}: {row}",
                torn.name
            );
            assert!(before_repair(&world, journal) == old, "{}, {journal}: a byte was destroyed", torn.name);
            assert_eq!(shown(&world, journal), *ids, "{}, {journal}", torn.name);
            let held = world.check(&[journal]).1["journals"][0]["quarantined_bytes"].clone();
            assert_eq!(held, row["set_aside_bytes"], "{}, {journal}", torn.name);
        }

        // What has been mended stays as it is, now and a day later.
        let mended = world.journals();
        world.at("2026-07-02T12:00:00Z");
        for args in [&["journal", "repair", "--json"][..], &["journal", "repair", "--apply", "--json"]] {
            let second = world.run(args).ends(0).json();
            assert_eq!(second["edits"], serde_json::json!([]), "{}: {second}", torn.name);
        }
        assert!(world.journals() == mended, "{}: the second repair has changed something", torn.name);
    }
}

/// A line of the sessions journal, read as it lies there: members in any order, the state's text untouched.
#[derive(Deserialize)]
struct RawLine {
    op: String,
    session: Option<RawSession>,
    session_id: Option<String>,
}

#[derive(Deserialize)]
struct RawSession {
    session_id: String,
    state: Box<RawValue>,
}

/// The text of each live session's state, as it stands in the journal.
fn raw_states(bytes: &[u8]) -> Vec<(String, String)> {
    let mut live: Vec<(String, String)> = Vec::new();
    for line in std::str::from_utf8(bytes).unwrap().lines().map(str::trim).filter(|line| !line.is_empty()) {
        let line: RawLine = serde_json::from_str(line).unwrap();
        let id = line.session.as_ref().map(|session| session.session_id.clone()).or(line.session_id).unwrap();
        live.retain(|(known, _)| *known != id);
        if line.op == "store" {
            live.push((id, line.session.unwrap().state.get().to_owned()));
        }
    }
    live
}

/// The two directories that the daemon reads without a loss.
const WHOLE: [&str; 2] = ["small", "legacy"];

fn whole(name: &str) -> (World, Value, Value) {
    let folder = format!("tests/data/daemon/{name}");
    let world = World::copy_of(&format!("{folder}/data"));
    (world, json(&format!("{folder}/manifest.json")), json(&format!("{folder}/expected.json")))
}

/// Whether two JSON values are the same, floats within a relative rounding.
fn alike(ours: &Value, theirs: &Value, rounding: f64) -> bool {
    match (ours, theirs) {
        (Value::Number(a), Value::Number(b)) if a != b => {
            let (a, b) = (a.as_f64().unwrap(), b.as_f64().unwrap());
            (a - b).abs() <= rounding * a.abs().max(b.abs())
        }
        (Value::Array(a), Value::Array(b)) => {
            a.len() == b.len() && a.iter().zip(b).all(|(a, b)| alike(a, b, rounding))
        }
        (Value::Object(a), Value::Object(b)) => {
            a.len() == b.len() && a.iter().zip(b).all(|((an, a), (bn, b))| an == bn && alike(a, b, rounding))
        }
        (a, b) => a == b,
    }
}

#[test]
fn what_the_daemon_reads_in_full_is_clean_and_its_live_ids_are_the_daemons() {
    for name in WHOLE {
        let (world, manifest, expected) = whole(name);
        assert_eq!(world.check(&[]).0, 0, "{name}");
        assert_eq!(world.check(&["--for-daemon"]).0, 0, "{name}");
        for journal in JOURNALS {
            let ids = texts(&manifest["replay"][journal]["ids"]);
            assert_eq!(shown(&world, journal), ids, "{name}, {journal}");
            let documents = expected[journal].as_object().unwrap();
            assert!(ids.iter().all(|id| documents.contains_key(id)), "{name}: the fixture disagrees with itself");
        }
    }
}

#[test]
fn session_get_prints_the_text_of_the_state_as_it_stands_in_the_journal() {
    for name in WHOLE {
        let (world, _, expected) = whole(name);
        let states = raw_states(&world.read("sessions.jsonl"));
        assert!(states.len() > 4, "{name}");
        for (id, text) in states {
            let answer = world.run(&["session", "get", "--all-agents", "--raw", "--expired", "--", &id]).ends(0);
            assert_eq!(answer.text(), format!("{text}\n"), "{name}: {id:?}");
            // The daemon's own reading of a float may be off by its last bit.
            let theirs = &expected["sessions"][&id]["state"];
            assert!(alike(&answer.json(), theirs, f64::EPSILON), "{name}: {id:?}: {text} is not {theirs}");
        }
    }
}

/// The actor that the journals name for a session.
fn actor(id: &str) -> Value {
    if id == "with_actor_field" { "claude-work".into() } else { Value::Null }
}

#[test]
fn session_show_agrees_with_the_daemon_on_every_member() {
    for name in WHOLE {
        let (world, _, expected) = whole(name);
        for (id, theirs) in expected["sessions"].as_object().unwrap() {
            let ours = world.run(&["session", "show", "--all-agents", "--json", "--", id]).ends(0).json();
            assert_eq!(ours["stored_id"], theirs["session_id"], "{name}");
            assert_eq!(ours["tokens"], theirs["total_tokens"], "{name}: {id:?}");
            for member in ["updated_at", "expires_at", "archived", "archived_at", "archive_reason"] {
                // What the daemon leaves out is null here. Both print a moment in the same one way.
                let theirs = theirs.get(member).unwrap_or(&Value::Null);
                assert_eq!(&ours[member], theirs, "{name}: {id:?}, {member}");
            }
            // The daemon that made the fixtures did not keep the actor of a session yet.
            assert_eq!(ours["actor"], actor(id), "{name}: {id:?}");
        }
    }
}

/// The documents of a journal's live records.
fn documents(world: &World, journal: &str) -> Vec<Value> {
    let lines = world.run(&["journal", "export", journal]).ends(0).lines();
    lines.iter().map(|line| serde_json::from_str(line).unwrap()).collect()
}

/// A confidence or reward as the daemon keeps it: a 32-bit float, and none where it is out of range.
fn single(number: &Value) -> Value {
    serde_json::to_value(number.to_string().parse::<f32>().unwrap()).unwrap()
}

#[test]
fn exported_cases_are_the_daemons_cases() {
    for name in WHOLE {
        let (world, _, expected) = whole(name);
        for mut ours in documents(&world, "cases") {
            let id = ours["case_id"].as_str().unwrap().to_owned();
            let theirs = expected["cases"][&id].as_object().unwrap();
            let reward = single(&ours["reward"]);
            assert!(alike(&reward, &theirs["reward"], f64::from(f32::EPSILON)), "{name}, {id}: {reward}");
            ours["reward"] = theirs["reward"].clone();
            // What says nothing, and what it does not know, the daemon leaves out when it writes the case again.
            let ours = ours.as_object_mut().unwrap();
            ours.retain(|member, value| {
                (!value.is_null() || member == "reward") && *value != serde_json::json!([]) && member != "embedding"
            });
            assert_eq!(ours, theirs, "{name}");
        }
    }
}

#[test]
fn exported_facts_say_what_the_daemons_facts_say() {
    for name in WHOLE {
        let (world, _, expected) = whole(name);
        for ours in documents(&world, "facts") {
            let id = ours["fact_id"].as_str().unwrap();
            let theirs = &expected["facts"][id];
            assert_eq!(single(&ours["confidence"]), single(&theirs["confidence"]), "{name}, {id}");
            // Later events may change who supersedes whom and since when a fact holds; what it says they never change.
            for member in ["entity", "key", "value", "stored_at", "tokens"] {
                assert_eq!(ours[member], theirs[member], "{name}, {id}, {member}");
            }
            for (member, default) in [("source_receipt", Value::Null), ("version", 1.into()), ("actor", Value::Null)]
            {
                let theirs = theirs.get(member).unwrap_or(&Value::Null);
                assert_eq!(ours.get(member).unwrap_or(&default), theirs, "{name}, {id}, {member}");
            }
        }
    }
}

/// The bytes of a base64 text.
fn base64(text: &str) -> Vec<u8> {
    const ALPHABET: &[u8] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let (mut bytes, mut bits, mut held) = (Vec::new(), 0, 0);
    for digit in text.trim_end_matches('=').bytes() {
        bits = (bits & 0x3F) << 6 | ALPHABET.iter().position(|b| *b == digit).unwrap();
        held += 6;
        if held >= 8 {
            held -= 8;
            bytes.push(u8::try_from(bits >> held & 0xFF).unwrap());
        }
    }
    bytes
}

/// Holds a journal of a line or three against what the daemon has made of it.
fn probe(journal: &str, entry: &Value, made: &Value, kept: &Value) {
    let name = &entry["name"];
    let bytes = base64(entry["file_b64"].as_str().unwrap());
    let world = World::with(&format!("{journal}.jsonl"), &bytes).damaged();
    let ours = shown(&world, journal);
    let kept = if kept.is_null() { BTreeSet::new() } else { texts(kept) };
    assert!(ours.is_superset(&kept), "{name}: the daemon keeps {kept:?}, and here are only {ours:?}");
    let lost = lost_lines(made.get("error"), &made["warnings"], &bytes);
    let (status, report) = world.check(&[journal, "--for-daemon"]);
    assert_eq!(found_lines(&report), lost, "{name}: {report}");
    assert_eq!(status, if lost.is_empty() { 0 } else { 3 }, "{name}: {report}");
}

#[test]
fn odd_session_lines_are_taken_where_the_daemon_takes_them_and_named_where_it_loses_them() {
    let entries = json("tests/data/daemon/lines/sessions_lines.json");
    for entry in entries["lines"].as_array().unwrap() {
        probe("sessions", entry, entry, &entry["ids"]);
    }
}

#[test]
fn odd_fact_lines_are_taken_where_the_daemon_takes_them_and_named_where_it_loses_them() {
    let entries = json("tests/data/daemon/lines/facts_lines.json");
    let stored: Vec<&Value> =
        entries["lines"].as_array().unwrap().iter().filter(|entry| entry["file_b64"].is_string()).collect();
    assert!(stored.len() >= 17, "fixtures are missing");
    for entry in stored {
        probe("facts", entry, &entry["new"], &entry["new"]["live_ids"]);
    }
}

#[test]
fn a_time_is_taken_and_shown_as_the_daemon_takes_and_writes_it() {
    for date in json("tests/data/daemon/lines/dates.json")["dates"].as_array().unwrap() {
        let line = session_line("a", "{}").replace("2026-01-01T00:00:00Z", date["in"].as_str().unwrap());
        let world = World::with("sessions.jsonl", line + "\n").damaged();
        if date["out"].is_null() {
            assert!(shown(&world, "sessions").is_empty(), "{date}");
            assert_eq!(world.classes("sessions"), ["wrong-type"], "{date}");
            continue;
        }
        let ours = world.run(&["session", "show", "a", "--json"]).ends(0).json();
        assert_eq!(ours["updated_at"], date["out"], "{date}");
        assert_eq!(world.check(&["--for-daemon"]).0, 0, "{date}");
    }
}

/// The daemon's own event: what it reads a line into, and writes it from.
#[derive(Debug, Deserialize, Serialize)]
#[serde(tag = "op", rename_all = "snake_case")]
enum DaemonEvent {
    Store { session: DaemonSession },
    Delete { session_id: String },
}

/// The daemon's own session document.
#[derive(Debug, Deserialize, Serialize)]
struct DaemonSession {
    session_id: String,
    state: Value,
    updated_at: String,
    total_tokens: usize,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    expires_at: Option<String>,
    #[serde(default)]
    archived: bool,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    archived_at: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    archive_reason: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    actor: Option<String>,
}

/// The events of whole lines, which the daemon must read. Its times end in `Z`.
fn daemon_events(bytes: &[u8]) -> Vec<DaemonEvent> {
    let text = std::str::from_utf8(bytes).unwrap();
    assert!(text.ends_with('\n'));
    let events: Vec<DaemonEvent> = text.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    for event in &events {
        let DaemonEvent::Store { session } = event else { continue };
        let times = [Some(&session.updated_at), session.expires_at.as_ref(), session.archived_at.as_ref()];
        assert!(times.into_iter().flatten().all(|time| time.ends_with('Z')), "{event:?}");
    }
    events
}

#[test]
fn every_verb_writes_the_lines_that_the_daemon_would_write() {
    let mut world = World::new();
    let story: &[(&str, &[&str], &str)] = &[
        ("2026-07-01T12:00:00Z", &["put", "plan"], " {\"n\":[1,-2.5],\"s\":\"é\\n\"}\n"),
        ("2026-07-01T12:00:00.12Z", &["put", "plan", "--agent", "alice", "--ttl", "90m"], "null"),
        ("2026-07-01T14:00:01.000001+02:00", &["archive", "plan", "--reason", "done \"now\" é\t"], ""),
        ("2026-07-01T12:00:02.500Z", &["unarchive", "plan"], ""),
        ("2026-07-01T12:00:03.000000001Z", &["archive", "plan"], ""),
        ("2026-07-01T12:00:04Z", &["put", "plan", "--actor", "bob"], "\"again\""),
        ("2026-07-01T12:00:05Z", &["put", "日本 \"x\"\\y/z", "--ttl", "1s"], "[]"),
        ("2026-07-01T12:00:06Z", &["delete", "plan"], ""),
        ("2026-07-01T13:30:01Z", &["reap", "--all-agents"], ""),
    ];
    for (now, args, state) in story {
        world.at(now);
        world.run_with(&[&["session"], *args].concat(), state).ends(0);
    }
    let written = concat!(
        r#"{"op":"store","session":{"session_id":"plan","state":{"n":[1,-2.5],"s":"é\n"},"#,
        r#""updated_at":"2026-07-01T12:00:00Z","total_tokens":7,"archived":false}}"#,
        "\n",
        r#"{"op":"store","session":{"session_id":"__agent_session::alice::plan","state":null,"#,
        r#""updated_at":"2026-07-01T12:00:00.120Z","total_tokens":1,"expires_at":"2026-07-01T13:30:00.120Z","#,
        r#""archived":false,"actor":"alice"}}"#,
        "\n",
        r#"{"op":"store","session":{"session_id":"plan","state":{"n":[1,-2.5],"s":"é\n"},"#,
        r#""updated_at":"2026-07-01T12:00:01.000001Z","total_tokens":7,"archived":true,"#,
        r#""archived_at":"2026-07-01T12:00:01.000001Z","archive_reason":"done \"now\" é\t"}}"#,
        "\n",
        r#"{"op":"store","session":{"session_id":"plan","state":{"n":[1,-2.5],"s":"é\n"},"#,
        r#""updated_at":"2026-07-01T12:00:02.500Z","total_tokens":7,"archived":false}}"#,
        "\n",
        r#"{"op":"store","session":{"session_id":"plan","state":{"n":[1,-2.5],"s":"é\n"},"#,
        r#""updated_at":"2026-07-01T12:00:03.000000001Z","total_tokens":7,"archived":true,"#,
        r#""archived_at":"2026-07-01T12:00:03.000000001Z"}}"#,
        "\n",
        r#"{"op":"store","session":{"session_id":"plan","state":"again","#,
        r#""updated_at":"2026-07-01T12:00:04Z","total_tokens":2,"archived":false,"actor":"bob"}}"#,
        "\n",
        r#"{"op":"store","session":{"session_id":"日本 \"x\"\\y/z","state":[],"#,
        r#""updated_at":"2026-07-01T12:00:05Z","total_tokens":1,"expires_at":"2026-07-01T12:00:06Z","archived":false}}"#,
        "\n",
        r#"{"op":"delete","session_id":"plan","deleted_at":"2026-07-01T12:00:06Z"}"#,
        "\n",
        r#"{"op":"delete","session_id":"__agent_session::alice::plan","deleted_at":"2026-07-01T13:30:01Z"}"#,
        "\n",
        r#"{"op":"delete","session_id":"日本 \"x\"\\y/z","deleted_at":"2026-07-01T13:30:01Z"}"#,
        "\n",
    );
    assert_eq!(String::from_utf8(world.read("sessions.jsonl")).unwrap(), written);
    // Read by the daemon and written by it again, not one byte of it changes.
    let again: Vec<String> =
        daemon_events(written.as_bytes()).iter().map(|event| serde_json::to_string(event).unwrap() + "\n").collect();
    // But for the time of a deletion, which it reads past.
    let without_times = written.replace(",\"deleted_at\":\"2026-07-01T12:00:06Z\"", "");
    assert_eq!(again.concat(), without_times.replace(",\"deleted_at\":\"2026-07-01T13:30:01Z\"", ""));
}

#[test]
fn a_session_that_is_archived_and_brought_back_means_the_same_to_the_daemon() {
    for name in WHOLE {
        let (world, _, expected) = whole(name);
        for (id, theirs) in expected["sessions"].as_object().unwrap() {
            let before = world.read("sessions.jsonl");
            world.run(&["session", "archive", "--no-sync", "--all-agents", "--reason", "why", "--", id]).ends(0);
            world.run(&["session", "unarchive", "--no-sync", "--all-agents", "--", id]).ends(0);
            let after = world.read("sessions.jsonl");
            let events = daemon_events(after.strip_prefix(&before[..]).unwrap());
            assert_eq!(events.len(), 2, "{name}: {id:?}");
            for (event, archived) in events.into_iter().zip([true, false]) {
                let DaemonEvent::Store { session } = event else { panic!("{name}: {id:?}: {event:?}") };
                let mut wanted = theirs.clone();
                wanted["updated_at"] = NOW.into();
                wanted["archived"] = archived.into();
                let members = wanted.as_object_mut().unwrap();
                members.retain(|member, _| !member.starts_with("archive") || member == "archived");
                if archived {
                    wanted["archived_at"] = NOW.into();
                    wanted["archive_reason"] = "why".into();
                }
                if !actor(id).is_null() {
                    wanted["actor"] = actor(id);
                }
                let ours = serde_json::to_value(session).unwrap();
                assert!(alike(&ours, &wanted, f64::EPSILON), "{name}: {ours} is not {wanted}");
            }
        }
    }
}
