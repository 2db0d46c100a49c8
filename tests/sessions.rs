//! The session verbs keep what they are given, to the byte; say no with the right status and change nothing then;
//! and show each agent its own.

use std::collections::BTreeMap;
use std::fs;

use cruxctl::cmd::docs;
use cruxctl::error::Code;
use cruxctl::handoff::signature::PrivateKey;
use cruxctl::store::session::LONGEST_ID;
use proptest::prelude::*;
use serde_json::{Value, json};

use crate::durable;
use crate::support::{Answer, NOW, World, everything, session_line, words};

/// `session put` with these arguments and this state.
fn put(world: &World, args: &str, state: impl AsRef<[u8]>) -> Answer {
    world.run_with(&[vec!["session", "put"], words(args)].concat(), state)
}

/// Any verb of `session`, in JSON.
fn ask(world: &World, args: &str) -> Answer {
    world.run(&[vec!["session"], words(args), vec!["--json"]].concat())
}

/// What `session get` prints, without the line end that it adds.
fn state_of(world: &World, args: &str) -> Vec<u8> {
    let mut state = world.run(&[vec!["session", "get"], words(args)].concat()).ends(0).stdout;
    assert_eq!(state.pop(), Some(b'\n'));
    state
}

/// The ids that `session list` prints, in its order.
fn listed(world: &World, args: &str) -> Vec<String> {
    world.run(&[vec!["session", "list", "--format", "id"], words(args)].concat()).ends(0).lines()
}

/// One member of `session show`.
fn shown(world: &World, id: &str, member: &str) -> Value {
    ask(world, &format!("show {id}")).ends(0).json()[member].clone()
}

fn nested(levels: usize) -> String {
    "[".repeat(levels) + &"]".repeat(levels)
}

/// States in which a reader that builds values would change something.
const STATES: &[&str] = &[
    r#"{"n": 12345678901234567890123, "e": 1e2, "z": -0, "k": 1, "k": 2}"#,
    "9007199254740993",
    "18446744073709551616",
    "1234567890123456789012345678901234567890",
    "-1234567890123456789012345678901234567890",
    "117.63331139400017",
    "1.10",
    "1E+2",
    "-0.0",
    r#""\u00e9\ud83d\ude80\n\/\\\"\u0000\u001F""#,
    "\"é\"",
    "\"🚀👩\u{200d}👩\u{200d}👧 e\u{301} \u{2028}\u{202e}\u{feff}\"",
    "{\"b\":1,\t\"a\" : [ ] , \"\": {} }",
    "true",
    "false",
    "null",
    r#""""#,
    "{}",
    "[]",
];

#[test]
fn one_line_is_kept_byte_for_byte() {
    let world = World::new();
    let path = world.beside("state.json");
    let file = path.to_str().unwrap();
    for state in STATES {
        put(&world, "stdin", format!("{state}\n")).ends(0);
        put(&world, "dash --file -", format!("  {state} \r\n")).ends(0);
        fs::write(&path, state).unwrap();
        put(&world, &format!("file --file {file}"), "not this").ends(0);
        for id in ["stdin", "dash", "file"] {
            assert_eq!(state_of(&world, id), state.as_bytes(), "{state}");
            assert_eq!(state_of(&world, &format!("--raw {id}")), state.as_bytes(), "{state}");
        }
        // A terminal would act on one of them: there JSON is written with escapes, and means the same.
        let json = world.run(&words("session get stdin --json")).ends(0).text();
        let same = json.ends_with(&format!("\"state\":{state}}}\n"));
        let means_the_same = || {
            serde_json::from_str::<Value>(&json).unwrap()["state"] == serde_json::from_str::<Value>(state).unwrap()
        };
        assert!(if state.contains('\u{202e}') { !same && means_the_same() } else { same }, "{state}: {json}");
    }
}

#[test]
fn a_store_and_a_delete_are_written_as_the_daemon_writes_them_and_the_delete_with_its_time() {
    let mut world = World::new();
    put(&world, "a --agent al", r#"{"b":1,"a":2}"#).ends(0);
    put(&world, "b --ttl 90s --actor me", "1").ends(0);
    world.at("2026-07-01T12:00:00.120Z");
    world.run(&words("session archive b --reason done")).ends(0);
    world.run(&words("session delete b")).ends(0);
    let want = [
        r#"{"op":"store","session":{"session_id":"__agent_session::al::a","state":{"b":1,"a":2},"updated_at":"2026-07-01T12:00:00Z","total_tokens":4,"archived":false,"actor":"al"}}"#,
        r#"{"op":"store","session":{"session_id":"b","state":1,"updated_at":"2026-07-01T12:00:00Z","total_tokens":1,"expires_at":"2026-07-01T12:01:30Z","archived":false,"actor":"me"}}"#,
        r#"{"op":"store","session":{"session_id":"b","state":1,"updated_at":"2026-07-01T12:00:00.120Z","total_tokens":1,"expires_at":"2026-07-01T12:01:30Z","archived":true,"archived_at":"2026-07-01T12:00:00.120Z","archive_reason":"done","actor":"me"}}"#,
        r#"{"op":"delete","session_id":"b","deleted_at":"2026-07-01T12:00:00.120Z"}"#,
    ];
    assert_eq!(String::from_utf8(world.read("sessions.jsonl")).unwrap(), want.join("\n") + "\n");
}

#[test]
fn a_pretty_text_loses_the_white_space_between_tokens_and_nothing_else() {
    let world = World::new();
    let tokens = r#"{|"a b\" : ,"|:|[|1.10|,|-0|,|1e2|]|,|"k"|:|1|,|"k"|:|"two  spaces\n\t\\"|,|"é "|:|null|}"#;
    let tokens: Vec<&str> = tokens.split('|').collect();
    for space in ["\n", "\r\n", "\r", " \n\t ", "\n\n\r\n"] {
        put(&world, "pretty", format!("{space}{}{space}", tokens.join(space))).ends(0);
        assert_eq!(state_of(&world, "pretty"), tokens.concat().as_bytes(), "{space:?}");
    }
}

#[test]
fn a_long_state_is_kept_whatever_the_size_of_a_read() {
    let world = World::new();
    // Escapes and quotes lie across every border of a block, whatever its size is.
    let part = r#"{"\\\"\u00e9\\": [1.10,  -0, "x\\"]}"#;
    let squeezed = part.replace(" ", "");
    let line = format!("[{}{part}]", format!("{part} , ").repeat(9000));
    put(&world, "line", &line).ends(0);
    assert_eq!(state_of(&world, "line"), line.as_bytes());
    // The first line break comes in a later block than the first.
    let late = format!("[{}{part}\n]", format!("{part} , ").repeat(9000));
    put(&world, "late", late).ends(0);
    assert_eq!(state_of(&world, "late"), format!("[{}{squeezed}]", format!("{squeezed},").repeat(9000)).as_bytes());
}

#[test]
fn a_line_break_never_joins_two_tokens_into_one() {
    let world = World::new();
    for text in
        ["1\n2", "[1\n2]", "tru\ne", "-\n1", "1.\r\n5", "1e\n5", "{\"a\":nu\nll}", "{}\n{}", "1\n2\n3\n", "0\n0"]
    {
        let error = put(&world, "a --json", text).fails(Code::UsageNotJson);
        assert!(error["message"].as_str().unwrap().contains("byte"), "{text:?}: {error}");
    }
    assert!(!world.dir().exists());
}

#[test]
fn what_is_not_one_json_value_is_refused_with_the_place() {
    let world = World::new();
    let deep = "[".repeat(1_000_000);
    let cases: &[(&[u8], usize)] = &[
        (b"{\"a\":tru{", 8),
        (b"{\"a\":1", 6),
        (b"  {\"a\":}", 7),
        (b"[1,]", 3),
        (b"01", 1),
        (b"-", 1),
        (b"{} x", 3),
        (b"{}{}", 2),
        (b"{}\0", 2),
        (b"'a'", 0),
        (b"NaN", 0),
        (b"\"a\tb\"", 2),
        (b"\"a\\x\"", 3),
        (b"\"a\nb\"", 2),
        (b"\"\xff\"", 1),
        (b"[\"\xc3\xa9\",\"\xed\xa0\x80\"]", 7),
        (b"\"\xe2\x82", 1),
        (b"\xef\xbb\xbf{}", 0),
        (b"\x0c{}", 0),
        (b"{}\x0b", 2),
        (deep.as_bytes(), deep.len()),
    ];
    for (text, at) in cases {
        let error = put(&world, "a --json", text).fails(Code::UsageNotJson);
        let message = error["message"].as_str().unwrap();
        let head = String::from_utf8_lossy(&text[..text.len().min(20)]).into_owned();
        assert!(message.starts_with("standard input"), "{head:?}: {message}");
        let place = message.rsplit(' ').next().unwrap();
        assert_eq!(place, at.to_string(), "{head:?}: {message}");
    }
    for text in ["", " \r\n\t "] {
        let error = put(&world, "a --json", text).fails(Code::UsageNotJson);
        assert!(error["message"].as_str().unwrap().contains("empty"), "{error}");
    }
    let path = world.beside("state.json");
    fs::write(&path, "[").unwrap();
    let error = put(&world, &format!("a --json --file {}", path.display()), "1").fails(Code::UsageNotJson);
    assert!(error["message"].as_str().unwrap().contains(path.to_str().unwrap()), "{error}");
    assert!(!world.dir().exists());
}

#[test]
fn tokens_are_a_quarter_of_the_compact_bytes_rounded_up() {
    let world = World::new();
    let long = format!("\"{}\"", "x".repeat(1000));
    for (state, tokens) in [
        ("1", 1),
        ("null", 1),
        ("12345", 2),
        (r#"{"a": 1}"#, 2),
        (r#"{ "a" : [ 1 , 2 ] }"#, 3),
        (r#""a  b""#, 2),
        (r#""a  bc""#, 2),
        (r#""a  bcd""#, 2),
        (r#""a  bcde""#, 3),
        ("\"éé\"", 2),
        (r#""\" \\""#, 2),
        (&long, 251),
    ] {
        put(&world, "a", state).ends(0);
        assert_eq!(shown(&world, "a", "tokens"), tokens, "{state}");
        assert_eq!(shown(&world, "a", "bytes"), state.len(), "{state}");
    }
}

#[test]
fn a_session_expires_exactly_at_now_plus_ttl() {
    let mut world = World::new();
    world.at("2026-07-01T12:00:00.123456789Z");
    put(&world, "a --ttl 90m", "1").ends(0);
    put(&world, "stays", "2").ends(0);
    assert_eq!(shown(&world, "a", "expires_at"), "2026-07-01T13:30:00.123456789Z");
    assert_eq!(shown(&world, "stays", "expires_at"), Value::Null);
    let expired = |world: &World| {
        let list = ask(world, "list").ends(0).json();
        let of = |id: &str| {
            let row = list["sessions"].as_array().unwrap().iter().find(|s| s["id"] == id).unwrap();
            row["expired"].clone()
        };
        assert_eq!(of("stays"), false);
        assert_eq!(of("a"), shown(world, "a", "expired"));
        of("a").as_bool().unwrap()
    };
    world.at("2026-07-01T13:30:00.123456788Z");
    assert!(!expired(&world));
    assert_eq!(state_of(&world, "a"), b"1");
    for now in ["2026-07-01T13:30:00.123456789Z", "2031-01-01T00:00:00Z"] {
        world.at(now);
        assert!(expired(&world));
        let answer = ask(&world, "get a");
        let error = answer.fails(Code::RefusedExpired);
        assert!(answer.stdout.is_empty(), "{answer:?}");
        assert!(error["message"].as_str().unwrap().contains("2026-07-01T13:30:00.123456789Z"), "{error}");
        assert_eq!(state_of(&world, "a --expired"), b"1");
        assert_eq!(state_of(&world, "stays"), b"2");
        assert_eq!(listed(&world, ""), ["stays", "a"]);
    }
}

#[test]
fn a_time_to_live_is_of_one_put_only() {
    let world = World::new();
    put(&world, "a --ttl 0s", "1").ends(0);
    ask(&world, "get a").fails(Code::RefusedExpired);
    put(&world, "a --ttl 1ms", "2").ends(0);
    assert_eq!(shown(&world, "a", "expires_at"), "2026-07-01T12:00:00.001Z");
    put(&world, "a", "3").ends(0);
    assert_eq!(shown(&world, "a", "expires_at"), Value::Null);
    for ttl in ["10000000000years", "-1s", "soon", "5"] {
        put(&world, &format!("b --json --ttl={ttl}"), "1").fails(Code::UsageArguments);
    }
    assert_eq!(listed(&world, ""), ["a"]);
}

/// A world in which sessions of nobody, alice and bob have expired, archived ones too, and others have not.
fn with_expired() -> World {
    let mut world = World::new();
    for (args, state) in [
        ("gone --ttl 1m", "1"),
        ("hidden --ttl 1m", "2"),
        ("later --ttl 1h", "3"),
        ("never", "4"),
        ("gone --agent alice --ttl 1m", "5"),
        ("gone --agent bob --ttl 1m", "6"),
    ] {
        put(&world, args, state).ends(0);
    }
    world.run(&words("session archive hidden")).ends(0);
    world.at("2026-07-01T12:01:00Z");
    world
}

#[test]
fn reap_deletes_what_has_expired_in_this_scope_and_counts_the_rest() {
    let world = with_expired();
    let before = world.read("sessions.jsonl");
    let dry = ask(&world, "reap --dry-run").ends(0);
    assert_eq!(world.read("sessions.jsonl"), before);
    let real = ask(&world, "reap").ends(0);
    for answer in [&dry, &real] {
        let ids: Vec<Value> =
            answer.json()["changed"].as_array().unwrap().iter().map(|c| json!([c["action"], c["id"]])).collect();
        assert_eq!(ids, [json!(["reap", "gone"]), json!(["reap", "hidden"])]);
        let note = answer.talk()[0]["message"].as_str().unwrap().to_owned();
        assert!(note.starts_with("2 expired") && note.contains("--all-agents"), "{note}");
    }
    let new = String::from_utf8(world.read("sessions.jsonl")[before.len()..].to_vec()).unwrap();
    assert_eq!(
        new,
        "{\"op\":\"delete\",\"session_id\":\"gone\",\"deleted_at\":\"2026-07-01T12:01:00Z\"}\n{\"op\":\"delete\",\"session_id\":\"hidden\",\"deleted_at\":\"2026-07-01T12:01:00Z\"}\n"
    );
    assert_eq!(listed(&world, "--all"), ["never", "later"]);
    assert_eq!(world.run(&words("session reap --agent alice --format id")).ends(0).lines(), ["gone"]);
    let rest = world.run(&words("session reap --all-agents --format id")).ends(0);
    assert_eq!(rest.lines(), ["__agent_session::bob::gone"]);
    assert_eq!(rest.stderr, "");
    let before = world.read("sessions.jsonl");
    assert_eq!(ask(&world, "reap --all-agents").ends(0).json()["changed"], json!([]));
    assert_eq!(world.read("sessions.jsonl"), before);
}

#[test]
fn the_actor_is_whom_the_flag_names_else_the_agent_else_nobody() {
    let world = World::new();
    for (args, actor) in [
        ("a", Value::Null),
        ("a --actor me", json!("me")),
        ("a --agent alice", json!("alice")),
        ("a --agent alice --actor me", json!("me")),
    ] {
        put(&world, args, "1").ends(0);
        let line = world.run(&words("journal export sessions")).ends(0).lines().pop().unwrap();
        let record: Value = serde_json::from_str(&line).unwrap();
        assert_eq!(record.get("actor").cloned().unwrap_or_default(), actor, "{args}: {record}");
        assert_eq!(record.get("actor").is_some(), !actor.is_null(), "{args}: {record}");
    }
}

#[test]
fn if_absent_stores_only_what_is_new() {
    let world = World::new();
    put(&world, "a --if-absent", "1").ends(0);
    let before = world.read("sessions.jsonl");
    for dry in ["", " --dry-run"] {
        let error = put(&world, &format!("a --if-absent --json{dry}"), "2").fails(Code::RefusedExists);
        let message = error["message"].as_str().unwrap();
        let hash = blake3::hash(b"1").to_hex();
        assert!(message.contains("\"a\"") && message.contains(hash.as_str()), "{message}");
    }
    assert_eq!(world.read("sessions.jsonl"), before);
    put(&world, "a --if-absent --agent alice", "2").ends(0);
    world.run(&words("session delete a")).ends(0);
    put(&world, "a --if-absent", "3").ends(0);
    assert_eq!(state_of(&world, "a"), b"3");
}

#[test]
fn if_match_stores_only_over_the_state_that_has_this_hash() {
    let world = World::new();
    let state = r#"{"n": 1.10}"#;
    let hash = blake3::hash(state.as_bytes()).to_hex().to_string();
    put(&world, "a", state).ends(0);
    assert_eq!(shown(&world, "a", "hash"), hash.as_str());
    assert_eq!(ask(&world, "get a").ends(0).json()["hash"], hash.as_str());
    put(&world, &format!("a --if-match {hash}"), "2").ends(0);
    let before = world.read("sessions.jsonl");
    let error = put(&world, &format!("a --json --if-match {hash}"), "3").fails(Code::RefusedChanged);
    let now = blake3::hash(b"2").to_hex();
    assert!(error["message"].as_str().unwrap().contains(now.as_str()), "{error}");
    let error = put(&world, &format!("other --json --if-match {hash}"), "3").fails(Code::RefusedChanged);
    assert!(error["message"].as_str().unwrap().contains("other"), "{error}");
    for bad in ["", "1", "zz", &hash[1..], &format!("{hash}0"), &hash.replace(&hash[..1], "g")] {
        let arg = format!("--if-match={bad}");
        let answer = world.run_with(&["session", "put", "a", "--json", &arg], "3");
        let error = answer.fails(Code::UsageArguments);
        assert!(error["message"].as_str().unwrap().contains("--if-match"), "{error}");
    }
    put(&world, &format!("a --json --if-absent --if-match {hash}"), "3").fails(Code::UsageArguments);
    assert_eq!(world.read("sessions.jsonl"), before);
}

#[test]
fn a_state_above_the_limit_is_refused_and_white_space_around_tokens_does_not_count() {
    let world = World::new();
    let limited = |args: &str, variable: Option<&str>, state: &str| {
        let words = [vec!["session", "put", "a", "--json"], words(args)].concat();
        let mut command = world.command(&words);
        let path = world.beside("state.json");
        fs::write(&path, state).unwrap();
        command.arg("--file").arg(path).envs(variable.map(|v| ("CRUXCTL_MAX_STATE_BYTES", v)));
        Answer::from(command.output().unwrap())
    };
    let state = r#"{"a":1}"#;
    let blank = " ".repeat(300_000);
    for text in [
        state.to_owned(),
        format!("{state}\n"),
        "{\n  \"a\": 1\n}\n".to_owned(),
        format!("{state}{blank}"),
        format!("{blank}{state}"),
        format!("{{\n{blank}\"a\":{blank}1}}"),
    ] {
        let head = &text[..text.len().min(20)];
        let shown = format!("{} bytes, {head:?}", text.len());
        assert_eq!(limited("--max-state-bytes 7", None, &text).status, 0, "{shown}");
        assert_eq!(limited("", Some("7"), &text).status, 0, "{shown}");
        limited("--max-state-bytes 6", None, &text).fails(Code::RefusedTooLarge);
        limited("", Some("6"), &text).fails(Code::RefusedTooLarge);
        limited("--max-state-bytes 7", Some("6"), state).ends(0);
        limited("--max-state-bytes 6", Some("7"), state).fails(Code::RefusedTooLarge);
    }
    let error = limited("--max-state-bytes 6", None, state).fails(Code::RefusedTooLarge);
    let message = error["message"].as_str().unwrap();
    assert!(message.contains(" 7 ") && message.ends_with(" 6"), "{message}");
    // One line is kept as it is, with the white space in it: that is what is stored, so it counts.
    limited("--max-state-bytes 7", None, r#"{"a": 1}"#).fails(Code::RefusedTooLarge);
    let error = limited("", Some("much"), state).fails(Code::UsageArguments);
    assert!(error["message"].as_str().unwrap().contains("CRUXCTL_MAX_STATE_BYTES"), "{error}");
    limited("", Some(""), state).ends(0);
    limited("--max-state-bytes=-1", None, state).fails(Code::UsageArguments);
}

#[test]
fn sixteen_mebibytes_are_stored_and_one_byte_more_is_refused() {
    let world = World::new();
    let most = 16 << 20;
    let of = |bytes: usize| format!("[\n\"{}\"]", "x".repeat(bytes - 4));
    put(&world, "a", of(most)).ends(0);
    assert_eq!(shown(&world, "a", "bytes"), most);
    let error = put(&world, "b --json", of(most + 1)).fails(Code::RefusedTooLarge);
    assert!(error["hints"][0].as_str().unwrap().contains("--max-state-bytes"), "{error}");
    // No flag lifts the ceiling of a record.
    let huge = of((64 << 20) + 1);
    put(&world, "c --json --max-state-bytes 1000000000", huge).fails(Code::RefusedTooLarge);
    assert_eq!(listed(&world, ""), ["a"]);
}

#[test]
fn a_state_that_the_daemon_would_lose_is_refused_with_the_place_and_stored_when_told_to() {
    let world = World::new();
    let daemon_takes = [nested(125), "[1e308]".to_owned(), r#"["\ud83d\ude80"]"#.to_owned(), "1e-999".to_owned()];
    for state in &daemon_takes {
        put(&world, "good", state).ends(0);
    }
    let objects = |levels: usize| "{\"a\":".repeat(levels) + "1" + &"}".repeat(levels);
    let digits = format!("[{}]", "9".repeat(400));
    let cases: &[(&str, usize, &str)] = &[
        (&nested(126), 125, "too-deep"),
        (&nested(10_000), 125, "too-deep"),
        (&objects(126), 125 * 5, "too-deep"),
        (&nested(100_000), 125, "too-deep"),
        ("[1,1e400]", 3, "number-out-of-range"),
        ("-1e400", 0, "number-out-of-range"),
        (&digits, 1, "number-out-of-range"),
        (r#""\ud83d""#, 1, "lone-surrogate"),
        (r#"["\udc00"]"#, 2, "lone-surrogate"),
        (r#"["a\ude00\ud83d"]"#, 3, "lone-surrogate"),
        (r#"{"a":1,"\ud83dx":1e400}"#, 8, "lone-surrogate"),
    ];
    for (state, at, class) in cases {
        let head = &state[..state.len().min(24)];
        let before = world.read("sessions.jsonl");
        for (spaces, at) in [("", *at), ("  ", at + 2)] {
            let error = put(&world, "odd --json", format!("{spaces}{state}")).fails(Code::RefusedDaemonUnreadable);
            let message = error["message"].as_str().unwrap();
            assert!(message.ends_with(&format!("at byte {at}")), "{head}: {message}");
            assert!(error["hints"][0].as_str().unwrap().contains("--allow-daemon-unreadable"), "{error}");
        }
        assert!(world.read("sessions.jsonl") == before, "{head}");
        put(&world, "odd --allow-daemon-unreadable", state).ends(0);
        assert!(state_of(&world, "odd") == state.as_bytes(), "{head}");
        assert_eq!(listed(&world, ""), ["odd", "good"], "{head}");
        assert_eq!(shown(&world, "odd", "bytes"), state.len(), "{head}");
        let (status, report) = world.check(&["sessions"]);
        let classes: Vec<&Value> = report["findings"].as_array().unwrap().iter().map(|f| &f["class"]).collect();
        assert!(status == 0 && classes.contains(&&json!(class)), "{head}: {status} {classes:?}");
        assert_eq!(world.check(&["sessions", "--for-daemon"]).0, 3, "{head}");
        world.run(&words("session archive odd")).ends(0);
        assert!(state_of(&world, "odd") == state.as_bytes(), "{head}");
        world.run(&words("session delete odd")).ends(0);
        world.run(&words("journal compact sessions")).ends(0);
        assert_eq!(world.check(&["sessions", "--for-daemon"]).0, 0, "{head}");
    }
}

#[test]
fn a_million_levels_overflow_nothing() {
    let world = World::new();
    let arrays = nested(1_000_000);
    put(&world, "deep --json", &arrays).fails(Code::RefusedDaemonUnreadable);
    put(&world, "deep --json --allow-daemon-unreadable", &arrays[..1_999_999]).fails(Code::UsageNotJson);
    put(&world, "deep --allow-daemon-unreadable", &arrays).ends(0);
    assert!(state_of(&world, "deep") == arrays.as_bytes());
    assert_eq!(listed(&world, ""), ["deep"]);
    assert_eq!(world.check(&["sessions"]).0, 0);
    // Objects in arrays, with white space between the tokens, through every verb that reads.
    let deep = "{\"a\":[".repeat(50_000) + &"]}".repeat(50_000);
    put(&world, "deep --allow-daemon-unreadable", format!("[\n{deep}\n]")).ends(0);
    assert!(state_of(&world, "deep") == format!("[{deep}]").as_bytes());
    for line in ["session show deep", "session get deep --json", "journal repair", "journal export sessions"] {
        world.run(&words(line)).ends(0);
    }
    world.run(&words("journal compact sessions")).ends(0);
    assert!(state_of(&world, "deep") == format!("[{deep}]").as_bytes());
}

#[test]
fn ids_that_may_not_be_created_are_refused_and_nothing_is_made() {
    let world = World::new();
    let long = "x".repeat(LONGEST_ID + 1);
    let wide = "é".repeat(LONGEST_ID / 2 + 1);
    let scoped = "__agent_session::alice::s";
    let ids = [
        "",
        &long,
        &wide,
        "a\nb",
        "\t",
        "\r",
        "\u{1b}[2J",
        "a\u{7f}",
        "\u{85}",
        scoped,
        "__agent_session::",
        "a\u{9b}",
    ];
    for id in ids {
        for args in [&["--json"][..], &["--json", "--agent", "bob"], &["--json", "--dry-run"]] {
            let answer = world.run_with(&[&["session", "put", id][..], args].concat(), "1");
            let error = answer.fails(Code::UsageId);
            assert!(answer.stdout.is_empty(), "{answer:?}");
            let message = error["message"].as_str().unwrap();
            assert!(message.len() < 300, "{message}");
        }
        // The id is told apart from one that is not there: reading it is no usage error.
        ask_id(&world, "get", id, &["--json"]).fails(Code::NoSession);
    }
    put(&world, &format!("{scoped} --all-agents"), "1").ends(0);
    assert_eq!(state_of(&world, "s --agent alice"), b"1");
    for id in ["", &long, "a\nb"] {
        let answer = world.run_with(&["session", "put", id, "--json", "--all-agents"], "1");
        answer.fails(Code::UsageId);
    }
}

/// A verb on one id, whatever characters it holds.
fn ask_id(world: &World, verb: &str, id: &str, flags: &[&str]) -> Answer {
    world.run(&[&["session", verb][..], flags, &["--", id]].concat())
}

#[test]
fn an_id_is_a_text_and_never_a_path_or_a_flag() {
    let world = World::new();
    let longest = "x".repeat(LONGEST_ID);
    let ids = [
        "../../x",
        "/etc/passwd",
        "a/b",
        ".",
        "..",
        "-x",
        "--",
        "--json",
        "日本",
        "a b",
        " ",
        "\"q\"",
        "\\",
        "a\\nb",
        "::",
        "a::b",
        "é",
        "e\u{301}",
        "'",
        "$(x)",
        "*",
        "\u{202e}x",
        "\u{feff}",
        &longest,
    ];
    for id in ids {
        world
            .run_with(&["session", "put", "--", id], format!("[{id:?}]").replace("\\'", "'").replace("\\u{", "u{"))
            .ends(0);
        for verb in ["get", "show", "archive", "unarchive"] {
            ask_id(&world, verb, id, &[]).ends(0);
        }
    }
    let mut want: Vec<String> = ids.iter().map(|id| (*id).to_owned()).collect();
    want.sort();
    assert_eq!(world.session_ids(), want);
    let made: Vec<String> = everything(&world.beside("")).keys().map(|p| p.display().to_string()).collect();
    let inside = |p: &String| {
        let index = ["/data/cruxctl/index", "/data/cruxctl/index/sessions.witness"];
        let others = ["/data", "/data/sessions.jsonl", "/data/cruxctl", "/data/cruxctl/lock"];
        index.iter().chain(&others).any(|e| p.ends_with(e))
    };
    assert!(made.iter().all(inside) && made.len() == 6, "{made:?}");
    for id in ids {
        ask_id(&world, "delete", id, &[]).ends(0);
    }
    assert!(world.session_ids().is_empty());
}

#[test]
fn an_id_that_a_journal_holds_is_read_overwritten_and_deleted_whatever_it_is() {
    let long = "y".repeat(5000);
    let ids = [
        "",
        "a\nb",
        "\u{1b}[2J\u{9b}",
        &long,
        "__agent_session::broken",
        "__agent_session::",
        "__agent_session::::x",
        "\t",
    ];
    let lines: Vec<String> = ids.iter().map(|id| session_line(id, "1") + "\n").collect();
    let world = World::with("sessions.jsonl", lines.concat());
    for id in ids {
        let flags: &[&str] = if id.starts_with("__") { &["--all-agents"] } else { &[] };
        let get =
            |state: &str| assert_eq!(ask_id(&world, "get", id, flags).ends(0).text(), format!("{state}\n"), "{id:?}");
        get("1");
        let show = ask_id(&world, "show", id, &[&["--json"], flags].concat()).ends(0).json();
        assert_eq!(show["id"], id);
        world.run_with(&[&["session", "put"][..], flags, &["--", id]].concat(), "2").ends(0);
        get("2");
        ask_id(&world, "archive", id, flags).ends(0);
        get("2");
        ask_id(&world, "delete", id, flags).ends(0);
        ask_id(&world, "get", id, &[&["--json"], flags].concat()).fails(Code::NoSession);
    }
    assert!(world.session_ids().is_empty());
}

#[test]
fn an_empty_id_within_an_agents_scope_is_read_and_deleted_too() {
    let world = World::with("sessions.jsonl", session_line("__agent_session::alice::", "1") + "\n");
    assert_eq!(ask_id(&world, "get", "", &["--agent", "alice"]).ends(0).text(), "1\n");
    ask_id(&world, "get", "", &["--json"]).fails(Code::NoSession);
    ask_id(&world, "delete", "", &["--agent", "alice"]).ends(0);
    assert!(world.session_ids().is_empty());
}

/// The scopes of one id, each as flags, with the state that lies there.
const SCOPES: [(&str, &str); 3] = [("", "0"), ("--agent alice", "1"), ("--agent bob", "2")];

#[test]
fn each_scope_sees_and_changes_its_own_and_nothing_else() {
    let world = World::new();
    for (flags, state) in SCOPES {
        put(&world, &format!("s {flags}"), state).ends(0);
    }
    for (flags, state) in SCOPES {
        assert_eq!(state_of(&world, &format!("s {flags}")), state.as_bytes());
        let list = world.run(&[vec!["session", "list", "--format", "id"], words(flags)].concat()).ends(0);
        assert_eq!(list.lines(), ["s"]);
        assert!(list.stderr.starts_with("note: 2 ") && list.stderr.contains("--all-agents"), "{list:?}");
        let show = ask(&world, &format!("show s {flags}")).ends(0).json();
        let agent = words(flags).get(1).copied();
        let stored = agent.map_or("s".to_owned(), |agent| format!("__agent_session::{agent}::s"));
        assert_eq!([&show["id"], &show["logical_id"], &show["agent"]], [&json!("s"), &json!("s"), &json!(agent)]);
        assert_eq!(show["stored_id"], stored);
        assert_eq!(state_of(&world, &format!("{stored} --all-agents")), state.as_bytes());
    }
    ask(&world, "list --all-agents --agent alice").fails(Code::UsageArguments);
    let all = listed(&world, "--all-agents");
    assert_eq!(all, ["__agent_session::bob::s", "__agent_session::alice::s", "s"]);
    // Another agent's id as it is stored belongs to nobody else.
    for line in ["get __agent_session::bob::s", "get __agent_session::bob::s --agent alice", "delete s --agent carol"]
    {
        ask(&world, line).fails(Code::NoSession);
    }
    put(&world, "__agent_session::bob::s --json", "9").fails(Code::UsageId);
    for verb in ["archive", "unarchive", "delete"] {
        let others = |world: &World| {
            let lines = world.run(&words("journal export sessions")).ends(0).lines();
            lines.into_iter().filter(|line| !line.contains("alice")).collect::<Vec<_>>()
        };
        let before = others(&world);
        world.run(&words(&format!("session {verb} s --agent alice"))).ends(0);
        assert_eq!(others(&world), before, "{verb}");
    }
    assert_eq!(listed(&world, "--all-agents --all"), ["__agent_session::bob::s", "s"]);
    for verb in ["archive", "unarchive", "delete"] {
        world.run(&words(&format!("session {verb} __agent_session::bob::s --all-agents"))).ends(0);
    }
    assert_eq!(listed(&world, "--all-agents --all"), ["s"]);
}

#[test]
fn the_variable_names_the_agent_for_every_verb_and_the_flag_comes_before_it() {
    let world = World::new();
    let run = |line: &str, variable: &str| {
        let mut command = world.command(&words(line));
        command.env("CRUXCTL_AGENT", variable);
        Answer::from(command.output().unwrap())
    };
    for (flags, state) in SCOPES {
        put(&world, &format!("s {flags} --ttl 0s"), state).ends(0);
    }
    assert_eq!(run("session get s --expired", "alice").ends(0).text(), "1\n");
    assert_eq!(run("session get s --expired --agent bob", "alice").ends(0).text(), "2\n");
    // Empty is unset.
    assert_eq!(run("session get s --expired", "").ends(0).text(), "0\n");
    assert_eq!(run("session list --format id", "carol").ends(0).text(), "");
    assert_eq!(run("session list --format id --all-agents", "carol").ends(0).lines().len(), 3);
    for verb in ["show", "archive", "unarchive"] {
        run(&format!("session {verb} s"), "alice").ends(0);
        run(&format!("session {verb} s"), "carol").ends(1);
    }
    assert_eq!(run("session reap --format id", "alice").ends(0).lines(), ["s"]);
    assert_eq!(run("session delete s --format id", "bob").ends(0).lines(), ["s"]);
    assert_eq!(listed(&world, "--all-agents"), ["s"]);
    for agent in ["a::b", "a\nb"] {
        run("session list --json", agent).fails(Code::UsageId);
    }
}

#[test]
fn an_agent_that_ids_could_not_be_told_apart_by_is_refused() {
    let world = World::new();
    // `alice:` with the id `x` would be stored as what `alice` knows as `:x`.
    for agent in ["", "a::b", "::", "a\u{7}", "alice:"] {
        for verb in ["put", "get", "show", "delete", "archive", "unarchive"] {
            let answer = world.run_with(&["session", verb, "x", "--json", "--agent", agent], "1");
            answer.fails(Code::UsageId);
        }
        for verb in ["list", "reap"] {
            world.run(&["session", verb, "--json", "--agent", agent]).fails(Code::UsageId);
        }
    }
    assert!(!world.dir().exists());
    for agent in ["a:b", ":a", "日本", "a b", "-"] {
        let agent = format!("--agent={agent}");
        world.run_with(&["session", "put", "x", &agent], "1").ends(0);
        assert_eq!(world.run(&["session", "list", &agent, "--format", "id"]).ends(0).lines(), ["x"], "{agent}");
        world.run(&["session", "delete", "x", &agent]).ends(0);
    }
}

#[test]
fn malformed_scoped_ids_are_seen_by_nobody_but_all_agents() {
    let ids = ["__agent_session::broken", "__agent_session::", "__agent_session::::x", "__agent_session"];
    let lines: Vec<String> = ids.iter().map(|id| session_line(id, "1") + "\n").collect();
    let world = World::with("sessions.jsonl", lines.concat());
    // Without the double colon it is an id like any other.
    assert_eq!(listed(&world, ""), ["__agent_session"]);
    assert!(listed(&world, "--agent broken").is_empty());
    assert_eq!(listed(&world, "--all-agents").len(), 4);
    for id in &ids[..3] {
        ask(&world, &format!("get {id}")).fails(Code::NoSession);
        ask(&world, &format!("show {id} --all-agents")).ends(0);
    }
}

#[test]
fn archive_keeps_the_document_and_refreshes_its_times() {
    let state = r#"{"n": 1.10, "k": 1, "k": 2, "e": "\u00e9"}"#;
    let members = r#""total_tokens":999,"expires_at":"2027-01-01T00:00:00Z","archived":false,"actor":"somebody""#;
    let unknown = r#""x_new":{"a": 1.10, "b":[ ]},"y":12345678901234567890123"#;
    let old = format!(r#""session_id":"a","state":{state},"updated_at":"2026-01-01T00:00:00Z",{members},{unknown}"#);
    let mut world = World::with("sessions.jsonl", format!("{{\"op\":\"store\",\"session\":{{{old}}}}}\n"));
    let last =
        |world: &World| String::from_utf8(world.read("sessions.jsonl")).unwrap().lines().last().unwrap().to_owned();
    let want = |updated: &str, archived: &str| {
        let tokens = r#""total_tokens":999,"expires_at":"2027-01-01T00:00:00Z""#;
        format!(
            "{{\"op\":\"store\",\"session\":{{\"session_id\":\"a\",\"state\":{state},\"updated_at\":\"{updated}\",{tokens},\
             \"archived\":{archived},\"actor\":\"somebody\",{unknown}}}}}"
        )
    };
    world.run(&["session", "archive", "a", "--reason", "done; \"so\" far"]).ends(0);
    let archived = format!(r#"true,"archived_at":"{NOW}","archive_reason":"done; \"so\" far""#);
    assert_eq!(last(&world), want(NOW, &archived));
    world.at("2026-07-02T00:00:00Z");
    world.run(&words("session archive a")).ends(0);
    // Once more, without a reason: the one that is there stays.
    let archived = r#"true,"archived_at":"2026-07-02T00:00:00Z","archive_reason":"done; \"so\" far""#;
    assert_eq!(last(&world), want("2026-07-02T00:00:00Z", archived));
    world.at("2026-07-03T00:00:00Z");
    world.run(&words("session unarchive a")).ends(0);
    assert_eq!(last(&world), want("2026-07-03T00:00:00Z", "false"));
    assert_eq!(world.read("sessions.jsonl").iter().filter(|b| **b == b'\n').count(), 4);
}

#[test]
fn archived_sessions_are_hidden_counted_and_read() {
    let world = World::new();
    for id in ["a", "b", "c"] {
        put(&world, id, "1").ends(0);
    }
    world.run(&words("session archive b --reason done")).ends(0);
    let list = world.run(&words("session list --format id")).ends(0);
    assert_eq!(list.lines(), ["c", "a"]);
    assert!(list.stderr.starts_with("note: 1 archived session") && list.stderr.contains("--all"), "{list:?}");
    assert_eq!(listed(&world, "--archived"), ["b"]);
    let all = world.run(&words("session list --all --format id")).ends(0);
    assert_eq!(all.lines(), ["b", "c", "a"]);
    assert_eq!(all.stderr, "");
    ask(&world, "list --all --archived").fails(Code::UsageArguments);
    assert_eq!(state_of(&world, "b"), b"1");
    let show = ask(&world, "show b").ends(0).json();
    assert_eq!(json!([show["archived"], show["archived_at"], show["archive_reason"]]), json!([true, NOW, "done"]));
    put(&world, "b", "2").ends(0);
    let show = ask(&world, "show b").ends(0).json();
    assert_eq!(json!([show["archived"], show["archived_at"], show["archive_reason"]]), json!([false, null, null]));
    assert_eq!(listed(&world, ""), ["b", "c", "a"]);
    // A hidden session that a filter leaves out anyway is not counted.
    world.run(&words("session archive b")).ends(0);
    assert_eq!(world.run(&words("session list --prefix a")).ends(0).stderr, "");
}

#[test]
fn an_unknown_id_is_a_no_with_empty_output_and_with_candidates() {
    let world = World::new();
    for (args, state) in
        [("build-42", "1"), ("build-43", "2"), ("other", "3"), ("build --agent alice", "4"), ("x --agent bob", "5")]
    {
        put(&world, args, state).ends(0);
    }
    let before = everything(&world.beside(""));
    for verb in ["get", "show", "archive", "unarchive", "delete"] {
        for format in ["table", "plain", "json", "jsonl", "id"] {
            let answer = world.run(&["session", verb, "build", "--format", format]).ends(1);
            assert!(answer.stdout.is_empty(), "{answer:?}");
            for word in ["no.session", "build-42", "build-43", "--agent alice"] {
                assert!(answer.stderr.contains(word), "{word}: {answer:?}");
            }
            assert!(!answer.stderr.contains("other"), "{answer:?}");
        }
        let answer = world.run(&["session", verb, "nothing-like-it"]).ends(1);
        assert!(answer.stdout.is_empty() && answer.hints().is_empty(), "{answer:?}");
    }
    assert_eq!(everything(&world.beside("")), before);
    // Without a data directory there is nothing, and nothing is made.
    let nowhere = World::new();
    for verb in ["get", "show", "archive", "unarchive", "delete"] {
        let answer = ask(&nowhere, &format!("{verb} build"));
        answer.fails(Code::NoSession);
        assert!(answer.stdout.is_empty() && !nowhere.dir().exists(), "{answer:?}");
    }
}

#[test]
fn every_candidate_can_be_pasted_and_finds_the_session() {
    let world = World::new();
    put(&world, "build-42", "1").ends(0);
    put(&world, "own-1 --agent alice", "1").ends(0);
    put(&world, "x --agent bob", "1").ends(0);
    world.run_with(&["session", "put", "it's 1"], "1").ends(0);
    world.run_with(&["session", "put", "--", "-dash-1"], "1").ends(0);
    put(&world, "old --ttl 0s", "1").ends(0);
    put(&world, "old --ttl 0s --agent alice", "1").ends(0);
    for (args, hints) in [
        (&["build"][..], 1),
        (&["it's"], 1),
        (&["--", "-dash"], 1),
        (&["x"], 1),
        (&["old"], 1),
        // What was typed to name the scope belongs to the command.
        (&["old", "--agent", "alice"], 1),
        (&["own", "--agent", "alice"], 1),
        // An agent is told nothing of others.
        (&["x", "--agent", "alice"], 0),
        (&["build-42", "--agent", "alice"], 1),
        (&["__agent_session::bob", "--all-agents"], 1),
        (&["__agent_session::alice::old", "--all-agents"], 1),
    ] {
        let answer = world.run(&[&["session", "get"][..], args].concat());
        assert!([1, 5].contains(&answer.status), "{answer:?}");
        assert_eq!(answer.hints().len(), hints, "{args:?}: {answer:?}");
        for hint in answer.hints() {
            let pasted = world.shell(&hint);
            assert_eq!((pasted.status, pasted.text().as_str()), (0, "1\n"), "{args:?}: {hint}: {pasted:?}");
        }
    }
}

#[test]
fn lists_are_in_the_order_of_the_last_write_or_as_asked_for() {
    let world = World::new();
    for (id, state) in [("a", "1"), ("b", "[1,2,3]"), ("c", "[1]"), ("d", "[2]")] {
        put(&world, id, state).ends(0);
    }
    put(&world, "b", "[1,2,4]").ends(0);
    for (args, want) in [
        ("", "b d c a"),
        ("--sort written", "b d c a"),
        ("--reverse", "a c d b"),
        ("--sort id", "a b c d"),
        ("--sort id --reverse", "d c b a"),
        // A tie: the last write first.
        ("--sort size", "b d c a"),
        ("--sort size --reverse", "a c d b"),
        ("--sort updated", "b d c a"),
        ("--limit 2", "b d"),
        ("--limit 0", ""),
        ("--limit 9", "b d c a"),
        ("--sort id --reverse --limit 1", "d"),
        ("--prefix b", "b"),
        ("--prefix=", "b d c a"),
        ("--prefix nothing", ""),
    ] {
        assert_eq!(listed(&world, args), words(want), "{args}");
    }
    for bad in ["--sort time", "--limit=-1", "--limit x", "--since yesterday", "--since="] {
        ask(&world, &format!("list {bad}")).fails(Code::UsageArguments);
    }
}

#[test]
fn since_takes_a_time_or_a_time_span_and_includes_its_moment() {
    let mut world = World::new();
    for (hour, id) in [(8, "a"), (10, "b"), (11, "c")] {
        world.at(&format!("2026-07-01T{hour:02}:00:00Z"));
        put(&world, id, "1").ends(0);
    }
    world.at(NOW);
    for (since, want) in [
        ("2h", "c b"),
        ("1h 59m", "c"),
        ("119m", "c"),
        ("1day", "c b a"),
        ("2026-07-01T10:00:00Z", "c b"),
        ("2026-07-01T10:00:00.000000001Z", "c"),
        ("2026-07-01T12:00:00+02:00", "c b"),
        ("2027-01-01T00:00:00Z", ""),
    ] {
        let list = world.run(&["session", "list", "--format", "id", "--since", since]).ends(0);
        assert_eq!(list.lines(), words(want), "{since}");
    }
}

#[test]
fn updated_orders_by_time_and_written_by_the_journal_whatever_the_clock_said() {
    let at = |id: &str, state: u32, time: &str| {
        format!(
            "{{\"op\":\"store\",\"session\":{{\"session_id\":\"{id}\",\"state\":{state},\"updated_at\":\"{time}\",\
             \"total_tokens\":1,\"archived\":false}}}}\n"
        )
    };
    let journal = [
        at("a", 1, "2026-03-01T00:00:00Z"),
        at("b", 1, "2100-01-01T00:00:00.5Z"),
        at("b", 2, "2100-01-01T00:00:00.25Z"),
        at("c", 1, "1969-12-31T23:59:59.75Z"),
        at("a", 2, "2026-02-01T00:00:00+05:30"),
        at("a", 3, "2026-02-01T00:00:00Z"),
        at("d", 1, "2026-02-01T00:00:00Z"),
        at("e", 1, "1969-12-31T23:59:59.5Z"),
    ];
    let world = World::with("sessions.jsonl", journal.concat());
    // The clock went backwards: the last record in the file is the latest.
    assert_eq!(state_of(&world, "a"), b"3");
    assert_eq!(state_of(&world, "b"), b"2");
    assert_eq!(listed(&world, ""), ["e", "d", "a", "c", "b"]);
    assert_eq!(listed(&world, "--sort updated"), ["b", "d", "a", "c", "e"]);
    assert_eq!(listed(&world, "--since 2026-02-01T00:00:00Z"), ["d", "a", "b"]);
    put(&world, "b", "9").ends(0);
    assert_eq!(state_of(&world, "b"), b"9");
    assert_eq!(listed(&world, ""), ["b", "e", "d", "a", "c"]);
}

#[test]
fn a_dry_run_changes_no_byte_and_makes_nothing() {
    let writers = [
        "session put new",
        "session put later --ttl 1h --actor me",
        "session delete later",
        "session archive later --reason x",
        "session unarchive hidden",
        "session restore later --rev 1 --ttl 1h",
        "session reap",
        "session reap --all-agents",
        "journal compact sessions",
        "journal repair --apply",
        "journal check",
        "case record --task t1 --action a --outcome o",
        "case delete c1",
        "case import cases",
        "case reuse c1 c1",
        "fact store --entity e --key k --value v",
        "fact delete f_1",
        "fact supersede f_1 --by f_2",
        "fact validity f_1 --to none",
        "journal compact facts",
        "handoff create later --key-file key",
        "handoff accept envelope --key-file key",
        "handoff abandon h_1",
        "handoff keygen new",
        "handoff trust add alice alice.pub",
        "handoff trust remove carol",
        "durable open --target t --kind flow --key new",
        "durable fork --target t --key held",
        "durable send --target t --key k",
        "durable send-many --target t --key k",
        "durable claim --target t --key k",
        "durable renew --work HELD_WORK --fence FENCE --lease 1h",
        "durable release --work HELD_WORK --fence FENCE",
        "durable checkpoint --work HELD_WORK --fence FENCE",
        "durable complete --work HELD_WORK --fence FENCE",
        "durable fail --work HELD_WORK --fence FENCE",
        "durable block --work HELD_WORK --fence FENCE",
        "durable unblock --target t --key blocked",
        "durable subscribe --target t --key k --signal s2",
        "durable unsubscribe --sub SUBSCRIPTION",
        "durable publish --signal s --occurrence o",
        "durable close --target t --key k",
        "durable kill --target t --key held",
        "durable delete --target t --key closed",
        "journal compact durable",
    ];
    for noun in docs::tree().get_subcommands() {
        for verb in noun.get_subcommands().filter(|verb| verb.get_arguments().any(|arg| arg.get_id() == "dry_run")) {
            let name = format!("{} {}", noun.get_name(), verb.get_name());
            assert!(writers.iter().any(|line| words(line)[..2].join(" ") == name), "{name}");
        }
    }
    let case = "{\"op\":\"record\",\"case\":{\"case_id\":\"c1\",\"task\":\"t1\",\"action\":\"a\",\"outcome\":\"o\",\
                \"success\":true,\"reward\":1.0,\"created_at\":\"2026-01-01T00:00:00Z\"}}\n";
    let store_line = "{\"op\":\"store\",\"fact\":{\"fact_id\":\"f_0\",\"entity\":\"e\",\"key\":\"f_0\",\"value\":\"v\",\
                        \"confidence\":1,\"stored_at\":\"2026-01-01T00:00:00Z\",\"tokens\":1,\"deleted\":false}}\n";
    let erased = "{\"op\":\"delete\",\"fact_id\":\"f_0\",\"deleted_at\":\"x\"}\n";
    let with_both = |line: &str| {
        let world = with_expired();
        world.write("cases.jsonl", case);
        let fact = |id: &str| store_line.replace("f_0", id);
        world.write("facts.jsonl", [fact("f_0"), fact("f_1"), fact("f_2"), erased.to_owned()].concat());
        fs::write(world.beside("cases"), "{\"task\":\"t1\",\"action\":\"a\",\"outcome\":\"o\"}\n").unwrap();
        fs::write(world.beside("key"), "a secret of these tests").unwrap();
        let public = |seed: u8| PrivateKey::new(&[seed; 32]).public();
        fs::write(world.beside("alice.pub"), public(1).file()).unwrap();
        let carol = json!({"op": "store", "public_key": public(2).to_hex(), "agent": "carol", "added_at": NOW});
        fs::create_dir_all(world.dir().join("cruxctl")).unwrap();
        world.write("cruxctl/trust.jsonl", format!("{carol}\n"));
        world.write("cruxctl/durable.jsonl", durable::journal());
        fs::write(world.beside("envelope"), crate::envelopes::envelope(crate::envelopes::PACKAGE)).unwrap();
        // Half accepted, it is in the way of compactions.
        if line.contains("abandon") {
            let open = json!({
                "op": "handoff", "content_hash": "ab", "state": "open", "handoff_id": "h_1", "session_id": "s",
                "source_agent": "a", "key_id": "k", "session": true, "fact_ids": [], "sessions_bytes": 0,
                "facts_bytes": 0, "heads_before": [], "times": 1, "begun_at": NOW,
            });
            world.write("cruxctl/handoffs.jsonl", format!("{open}\n"));
        }
        world
    };
    let own = ["cruxctl/reuse.jsonl", "cruxctl/trust.jsonl", "cruxctl/handoffs.jsonl", "cruxctl/durable.jsonl"];
    let files = [&["sessions.jsonl", "cases.jsonl", "facts.jsonl", "../new"], &own[..]].concat();
    let journals = |world: &World| files.iter().map(|file| world.read(file)).collect::<Vec<_>>();
    let stamp = |world: &World| fs::metadata(world.dir().join("sessions.jsonl")).unwrap().modified().unwrap();
    for line in writers {
        let world = with_both(line);
        let before = everything(&world.beside(""));
        let stamped = stamp(&world);
        let line = &*durable::with_ids(line);
        let args = [words(line), vec!["--dry-run", "--json"]].concat();
        let input = if line.contains("publish") { "{\"a\":1}" } else { "1" };
        let answer = world.run_with(&args, input).ends(0);
        assert!(!line.contains("handoff create") || answer.stdout.is_empty(), "{answer:?}");
        let told = if answer.stdout.is_empty() { json!({}) } else { answer.json() };
        if let Some(changed) = told["changed"].as_array() {
            assert!(!changed.is_empty() && changed.iter().all(|c| c["dry_run"] == true), "{line}: {told}");
            assert!(changed.iter().all(|c| c["offset"].is_null()), "{line}: {told}");
        }
        assert!(everything(&world.beside("")) == before && stamp(&world) == stamped, "{line}");
        // The same without the flag does something, or the test says nothing; one world each.
        let real = with_both(line);
        let journal = journals(&real);
        real.run_with(&words(line), input).ends(0);
        let idle = ["repair", "journal check", "handoff create"].iter().any(|verb| line.contains(verb));
        assert_eq!(journals(&real) == journal, idle, "{line}");
    }
    let nowhere = World::new();
    let world = with_both("");
    for file in ["cases", "key", "alice.pub", "envelope"] {
        fs::copy(world.beside(file), nowhere.beside(file)).unwrap();
    }
    for line in writers {
        let answer = nowhere.run_with(&[words(&durable::with_ids(line)), vec!["--dry-run"]].concat(), "1");
        let wants_one =
            ["delete", "archive", "restore", "reuse", "handoff create", "remove", "supersede", "validity", "abandon"]
                .iter()
                .any(|verb| line.contains(verb));
        let wants_one =
            wants_one || line.contains("durable") && !["open", "publish", "compact"].contains(&words(line)[1]);
        assert_eq!(answer.status, i32::from(wants_one), "{line}: {answer:?}");
        assert!(!nowhere.dir().exists(), "{line}");
    }
    // What is refused is refused in a dry run, too.
    put(&world, "later --dry-run --json --if-absent", "1").fails(Code::RefusedExists);
    put(&world, "later --dry-run --json", "1e400").fails(Code::RefusedDaemonUnreadable);
    put(&world, "later --dry-run --json", "{").fails(Code::UsageNotJson);
}

#[test]
fn a_write_says_where_its_record_lies() {
    let world = World::new();
    put(&world, "first", "1").ends(0);
    for (line, tells) in [
        ("session put a --ttl 0s", "\"state\":7"),
        ("session archive a --reason x", "\"archived\":true"),
        ("session unarchive a", "\"archived\":false"),
        ("session reap", "\"op\":\"delete\""),
    ] {
        let told = world.run_with(&[words(line), vec!["--json"]].concat(), "7").ends(0).json();
        let change = &told["changed"][0];
        let offset = usize::try_from(change["offset"].as_u64().unwrap()).unwrap();
        let journal = world.read("sessions.jsonl");
        let record = String::from_utf8(journal[offset..].to_vec()).unwrap();
        assert!(journal[offset - 1] == b'\n' && record.contains(tells) && record.ends_with('\n'), "{line}: {record}");
        assert!(change["id"] == "a" && change["dry_run"] == false, "{line}: {told}");
    }
}

/// One step of a story; `who` and `id` are positions in [`WHO`] and [`IDS`].
#[derive(Clone, Debug)]
enum Step {
    Put { who: usize, id: usize, state: u8, ttl: Option<u8> },
    Delete { who: usize, id: usize },
    Archive { who: usize, id: usize },
    Unarchive { who: usize, id: usize },
    Reap { who: usize },
    ReapAll,
    Compact,
    Wait { minutes: u8 },
}

const WHO: [&str; 3] = ["", "--agent=alice", "--agent=bob"];
const IDS: [&str; 3] = ["s", "a/b", "__agent"];

fn step() -> impl Strategy<Value = Step> {
    let (who, id) = (0..WHO.len(), 0..IDS.len());
    let one = (who.clone(), id);
    prop_oneof![
        5 => (one.clone(), 0u8..100, proptest::option::of(0u8..4))
            .prop_map(|((who, id), state, ttl)| Step::Put { who, id, state, ttl }),
        2 => one.clone().prop_map(|(who, id)| Step::Delete { who, id }),
        2 => one.clone().prop_map(|(who, id)| Step::Archive { who, id }),
        1 => one.prop_map(|(who, id)| Step::Unarchive { who, id }),
        1 => who.prop_map(|who| Step::Reap { who }),
        1 => Just(Step::ReapAll),
        1 => Just(Step::Compact),
        3 => (1u8..4).prop_map(|minutes| Step::Wait { minutes }),
    ]
}

/// What a session must be.
#[derive(Clone, Debug)]
struct Known {
    state: String,
    expires: Option<u32>,
    updated: u32,
    archived: bool,
    written: usize,
}

/// The stored id of an id in a scope.
fn stored(who: usize, id: usize) -> String {
    WHO[who].strip_prefix("--agent=").map_or(IDS[id].to_owned(), |a| format!("__agent_session::{a}::{}", IDS[id]))
}

/// A minute of the day of the story.
fn clock(minute: u32) -> String {
    format!("2026-07-01T{:02}:{:02}:00Z", minute / 60, minute % 60)
}

/// Carries a story out twice, by the binary and on a map, and compares what both know after each write.
fn told_twice(steps: &[Step]) {
    let mut world = World::new();
    let mut map: BTreeMap<String, Known> = BTreeMap::new();
    let (mut now, mut written) = (0, 0);
    world.at(&clock(now));
    for step in steps {
        written += 1;
        let run = |verb: &str, who: usize, rest: &[&str], input: &str| {
            let flags: Vec<&str> = words(WHO[who]);
            world.run_with(&[&["session", verb][..], &flags, rest].concat(), input)
        };
        match *step {
            Step::Put { who, id, state, ttl } => {
                let state = format!("{{\"n\": {state}.10}}");
                let time = ttl.map(|minutes| format!("--ttl={minutes}m"));
                let args: Vec<&str> = [IDS[id]].into_iter().chain(time.as_deref()).collect();
                run("put", who, &args, &state).ends(0);
                let expires = ttl.map(|minutes| now + u32::from(minutes));
                map.insert(stored(who, id), Known { state, expires, updated: now, archived: false, written });
            }
            Step::Delete { who, id } => {
                let had = map.remove(&stored(who, id)).is_some();
                run("delete", who, &[IDS[id]], "").ends(i32::from(!had));
            }
            Step::Archive { who, id } | Step::Unarchive { who, id } => {
                let archive = matches!(step, Step::Archive { .. });
                let known = map.get_mut(&stored(who, id));
                run(if archive { "archive" } else { "unarchive" }, who, &[IDS[id]], "")
                    .ends(i32::from(known.is_none()));
                if let Some(known) = known {
                    (known.archived, known.updated, known.written) = (archive, now, written);
                }
            }
            Step::Reap { .. } | Step::ReapAll => {
                let who = if let Step::Reap { who } = *step { Some(who) } else { None };
                run("reap", who.unwrap_or_default(), if who.is_none() { &["--all-agents"] } else { &[] }, "").ends(0);
                let ours = |id: &str| who.is_none_or(|who| (0..IDS.len()).any(|n| stored(who, n) == id));
                map.retain(|id, known| !(ours(id) && known.expires.is_some_and(|at| at <= now)));
            }
            Step::Compact => {
                world.run(&words("journal compact sessions")).ends(0);
                let lines = world.read("sessions.jsonl").iter().filter(|b| **b == b'\n').count();
                assert_eq!(lines, map.len(), "{steps:?}");
            }
            Step::Wait { minutes } => {
                now += u32::from(minutes);
                world.at(&clock(now));
                continue;
            }
        }
        let list = ask(&world, "list --all-agents --all").ends(0).json();
        let mut want: Vec<(&String, &Known)> = map.iter().collect();
        want.sort_by_key(|(_, known)| std::cmp::Reverse(known.written));
        let want: Vec<Value> = want
            .into_iter()
            .map(|(id, known)| {
                let expired = known.expires.is_some_and(|at| at <= now);
                json!([id, clock(known.updated), known.expires.map(clock), expired, known.archived])
            })
            .collect();
        let got: Vec<Value> = list["sessions"]
            .as_array()
            .unwrap()
            .iter()
            .map(|s| json!([s["id"], s["updated_at"], s["expires_at"], s["expired"], s["archived"]]))
            .collect();
        assert_eq!(got, want, "after {step:?} in {steps:?}");
    }
    for (id, known) in &map {
        assert_eq!(state_of(&world, &format!("{id} --all-agents --expired")), known.state.as_bytes(), "{steps:?}");
    }
    for (who, flags) in WHO.iter().enumerate() {
        let mut want: Vec<&str> =
            (0..IDS.len()).filter(|n| map.contains_key(&stored(who, *n))).map(|n| IDS[n]).collect();
        want.sort_unstable();
        assert_eq!(listed(&world, &format!("--all --sort id {flags}")), want, "{steps:?}");
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 24, max_shrink_iters: 64, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn any_story_leaves_what_a_plain_map_would_hold(steps in proptest::collection::vec(step(), 1..16)) {
        told_twice(&steps);
    }
}
