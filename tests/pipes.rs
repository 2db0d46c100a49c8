//! At the ends of a pipe: a reader that goes away is no failure, an output that cannot be written is one and says what
//! has been done all the same, and text of others never acts on a terminal.

use std::fs::{self, OpenOptions};
use std::process::Stdio;

use serde_json::{Value, json};

use crate::support::{Answer, World, expired_line, session_line, split_ids};

const FORMATS: [&str; 5] = ["table", "plain", "json", "jsonl", "id"];

/// More than a pipe holds.
const PIPE: usize = 1 << 16;

/// A verb as it is typed behind `cruxctl`.
fn line(args: &[&str]) -> String {
    args.iter().map(|arg| format!(" '{arg}'")).collect()
}

/// A world in which every verb that lists has more than 64 KiB to say. `extra` follows every record.
fn large(extra: &str) -> World {
    let mut text = String::new();
    for n in 0..300 {
        let id = format!("s{n}-{}", "x".repeat(300));
        let state = format!("\"{}\"", "x".repeat(200));
        let record = expired_line(&id);
        text.push_str(&format!("{record}\n{}\n{extra}", session_line("hot", &state)));
    }
    text.push_str(&(session_line("big", &format!("\"{}\"", "x".repeat(2 * PIPE))) + "\n"));
    let world = World::with("sessions.jsonl", text);
    fs::write(world.beside("state"), "{\"stored\":true}").unwrap();
    world
}

/// Runs a line of `bash` whose first command is `cruxctl` with these arguments; its status is the answer's.
fn into(world: &World, args: &[&str], rest: &str) -> Answer {
    world.shell(&format!("set -o pipefail; timeout 60 cruxctl{} {rest}; exit ${{PIPESTATUS[0]}}", line(args)))
}

/// Nothing but notes, warnings and what they advise.
fn only_notes(stderr: &str) -> bool {
    let note = |line: &str| {
        let json = serde_json::from_str::<Value>(line).is_ok_and(|note| note["schema"] == "cruxctl.note.v1");
        json || ["note: ", "warning: ", "  try: "].iter().any(|begin| line.starts_with(begin))
    };
    stderr.lines().all(note)
}

fn long_answers() -> Vec<Vec<&'static str>> {
    let mut all = Vec::new();
    for format in FORMATS {
        all.push(vec!["session", "list", "--format", format]);
        all.push(vec!["session", "reap", "--dry-run", "--format", format]);
        all.push(vec!["journal", "export", "sessions", "--format", format]);
        if format != "id" {
            all.push(vec!["session", "get", "big", "--format", format]);
            all.push(vec!["journal", "show", "sessions", "--id", "hot", "--format", format]);
        }
    }
    all.push(vec!["session", "get", "big"]);
    all.push(vec!["session", "list"]);
    all.push(vec!["journal", "export", "sessions"]);
    all.push(vec!["journal", "show", "sessions", "--id", "hot"]);
    all
}

fn goes_away(world: &World, args: &[&str]) {
    let whole = world.run(args).ends(0);
    assert!(whole.stdout.len() > PIPE, "{args:?} prints only {} bytes: the test shows nothing", whole.stdout.len());
    let answer = into(world, args, "| head -1 > first");
    assert_eq!((answer.status, only_notes(&answer.stderr)), (0, true), "{args:?}: {answer:?}");
    let first = fs::read(world.beside("first")).unwrap();
    assert!(!first.is_empty() && whole.stdout.starts_with(&first), "{args:?}");
}

#[test]
fn a_reader_that_takes_one_line_and_goes_is_no_failure() {
    let world = large("");
    for args in long_answers() {
        goes_away(&world, &args);
    }
}

#[test]
fn a_reader_of_findings_that_takes_one_line_and_goes_is_no_failure() {
    let world = large(&"{\"op\":\"sto\n{\"op\":\"delete\"}\n{\"op\":\"store\",\"sess\n".repeat(3)).damaged();
    for format in ["table", "plain", "json", "jsonl"] {
        goes_away(&world, &["journal", "check", "--damaged-ok", "--format", format]);
        goes_away(&world, &["journal", "repair", "--format", format]);
    }
    // What was asked for is done although nobody reads of it.
    let answer = into(&world, &["journal", "repair", "--apply"], "| head -1 > first");
    assert_eq!((answer.status, only_notes(&answer.stderr)), (0, true), "{answer:?}");
    assert_eq!(world.check(&[]).0, 0);
}

/// Every verb that prints, on the world [`small`]. The first ones write a session.
fn printing() -> Vec<Vec<&'static str>> {
    let texts = [
        "session put new --file state",
        "session put new --file state --dry-run",
        "session delete a",
        "session archive b",
        "session unarchive c",
        "session reap",
        "session reap --dry-run",
        "session restore d --rev 1 --ttl 1h",
        "session list --all",
        "session history d",
        "session diff d 1 2",
        "session get d",
        "session get d --rev 1",
        "session show d",
        "journal check",
        "journal repair",
        "journal repair --apply",
        "journal show sessions --line 1",
        "journal show sessions --id d",
        "journal compact sessions --dry-run",
        "journal compact sessions",
        "journal export sessions",
        "journal log",
        "doctor",
        "completions bash",
        "completions zsh",
        "man pages",
        "--help",
        "--version",
        "session --help",
        "session put --help",
    ];
    texts.iter().map(|text| text.split(' ').collect()).collect()
}

/// A world in which every verb of [`printing`] has something to do.
fn small() -> World {
    let mut text = String::new();
    for id in ["a", "b", "c", "d", "a", "d"] {
        text.push_str(&(session_line(id, "1").replace("false", if id == "c" { "true" } else { "false" }) + "\n"));
    }
    let world = World::with("sessions.jsonl", text + &expired_line("e") + "\n");
    fs::write(world.beside("state"), "{\"stored\":true}").unwrap();
    world
}

#[test]
fn a_reader_that_takes_nothing_is_no_failure() {
    let world = small();
    for args in printing() {
        let world = if args[0] == "--help" || args[0] == "--version" { &world } else { &small() };
        let answer = into(world, &args, "| true");
        assert_eq!((answer.status, only_notes(&answer.stderr)), (0, true), "{args:?}: {answer:?}");
    }
}

#[test]
fn an_output_that_cannot_be_written_is_told_and_what_was_done_stays_done() {
    for place in ["> /dev/full", ">&-"] {
        for args in printing() {
            let world = small();
            let before = world.session_ids();
            let answer = into(&world, &args, place);
            assert_eq!((answer.status, &*answer.code()), (7, "environment.stdout"), "{args:?} {place}: {answer:?}");
            assert!(answer.stderr.contains("standard output"), "{args:?} {place}: {answer:?}");
            let dry = args.contains(&"--dry-run");
            let written =
                ["put", "delete", "archive", "unarchive", "reap", "restore"].contains(&args[1 % args.len()]) && !dry;
            let written = written && !args.contains(&"--help");
            assert_eq!(answer.stderr.contains("the record is stored"), written, "{args:?} {place}: {answer:?}");
            let after = world.session_ids();
            match args[..] {
                ["session", "put", _, "--file", _] => {
                    assert_eq!(world.run(&["session", "get", "new"]).ends(0).text(), "{\"stored\":true}\n");
                }
                ["session", "delete", id] => assert!(!after.contains(&id.to_owned())),
                ["session", "reap"] => assert!(!after.contains(&"e".to_owned())),
                ["session", "archive", id] => {
                    assert_eq!(world.run(&["session", "show", id, "--json"]).ends(0).json()["archived"], true);
                }
                ["session", "unarchive", id] => {
                    assert_eq!(world.run(&["session", "show", id, "--json"]).ends(0).json()["archived"], false);
                }
                _ => assert_eq!(before, after, "{args:?}"),
            }
        }
    }
}

#[test]
fn where_json_is_asked_for_an_output_that_cannot_be_written_is_one_json_error() {
    let world = small();
    for format in ["json", "jsonl"] {
        let answer = into(&world, &["session", "list", "--format", format, "--quiet"], "> /dev/full");
        let error: Value = serde_json::from_str(&answer.stderr).unwrap();
        let told = [&error["schema"], &error["code"], &error["kind"], &error["status"]];
        let expected = [&json!("cruxctl.error.v1"), &json!("environment.stdout"), &json!("environment"), &json!(7)];
        assert_eq!(told, expected, "{answer:?}");
        assert_eq!(answer.status, 7);
    }
}

#[test]
fn an_output_that_nobody_wants_is_no_failure() {
    for args in printing() {
        let world = small();
        into(&world, &args, "> /dev/null").ends(0);
        // Opened for reading and writing, as other languages do it.
        let world = small();
        let null = OpenOptions::new().read(true).write(true).open("/dev/null").unwrap();
        let output = world.command(&args).stdout(Stdio::from(null)).output().unwrap();
        assert_eq!(output.status.code(), Some(0), "{args:?}: {output:?}");
    }
}

#[test]
fn talk_that_nobody_can_hear_changes_nothing() {
    for place in ["2>&-", "2> /dev/full"] {
        let world = small();
        assert_eq!(into(&world, &["session", "list"], place).ends(0).lines().len(), 4);
        into(&world, &["session", "get", "nobody"], place).ends(1);
        into(&world, &["session", "nonsense"], place).ends(2);
        into(&world, &["session", "list"], &format!("> /dev/full {place}")).ends(7);
        into(&world, &["session", "list"], &format!("<&- >&- {place}")).ends(7);
        assert_eq!(into(&world, &["session", "put", "new", "--file", "state"], &format!("<&- {place}")).status, 0);
        assert!(world.session_ids().contains(&"new".to_owned()));
    }
}

#[test]
fn a_put_without_a_state_is_told_so_at_once() {
    let world = small();
    let before = world.journals();
    for input in ["< /dev/null", "<&-", "<<< ''", "<<< '   '", "< <(true)", "--file /dev/null"] {
        let answer = into(&world, &["session", "put", "x"], input);
        assert_eq!((answer.status, &*answer.code()), (2, "usage.not_json"), "{input}: {answer:?}");
        assert!(answer.stderr.contains("empty") && answer.stdout.is_empty(), "{input}: {answer:?}");
    }
    let answer = into(&world, &["session", "put", "x"], "< /");
    assert_eq!((answer.status, &*answer.code()), (7, "environment.stdin"), "{answer:?}");
    assert_eq!(world.journals(), before);
}

#[test]
fn get_prints_the_bytes_of_the_state_and_one_line_end() {
    let world = World::new();
    let states = [
        "{\"b\": 1 ,\"a\":[ 1.10,-0,1e2 ], \"b\":2}",
        "\"\\u00e9 \\/ \\ud83d\\ude80 é 🚀 \u{202e} \u{200b} \u{9b}\"",
        "9007199254740993.000",
        "\"\"",
        "null",
    ];
    for state in states {
        world.put("x", state);
        let expected = format!("{state}\n").into_bytes();
        for args in [&["session", "get", "x"][..], &["session", "get", "x", "--raw"]] {
            let answer = world.run(args).ends(0);
            assert_eq!((&answer.stdout, &*answer.stderr), (&expected, ""), "{state}");
        }
    }
}

// ---------------------------------------------------------------------------------------------------------------------
// Text of others

/// Texts that a terminal acts on, or that it shows as something else than they are.
const NASTY: [&str; 11] = [
    "\u{1b}]52;c;aGk=\u{7}",
    "\u{1b}[2J",
    "\u{9b}2J",
    "abc\u{202e}gpj.exe",
    "good\rbad",
    "zero\u{200b}width\u{200d}\u{2060}",
    "\u{2066}isolated\u{2069}",
    "\u{feff}mark",
    "tab\tbed",
    "two\nlines",
    "del\u{7f}\u{61c}\u{85}\u{2028}",
];

/// Holds that nothing in a text acts on a terminal, but for the line ends and tabs that set it.
fn tame(text: &[u8], story: &str) {
    let text = std::str::from_utf8(text).unwrap_or_else(|e| panic!("{story}: {e}"));
    let acts = |c: char| {
        c.is_control() && !matches!(c, '\n' | '\t')
            || matches!(c, '\u{61c}' | '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2060}'..='\u{2069}' | '\u{feff}')
    };
    assert!(!text.chars().any(acts), "{story}: {text:?}");
}

/// Sessions whose ids, states, actors and reasons are all nasty, one of a nasty agent, and damage that is.
fn nasty() -> World {
    let mut text = String::new();
    for nasty in NASTY {
        let scoped = format!("__agent_session::{nasty}::{nasty}");
        for id in [nasty, &scoped] {
            let session = json!({
                "session_id": id, "state": {nasty: nasty}, "updated_at": "2026-01-01T00:00:00Z", "total_tokens": 1,
                "archived": true, "archived_at": "2026-01-01T00:00:00Z", "archive_reason": nasty, "actor": nasty,
                "expires_at": "2026-12-01T00:00:00Z",
            });
            text.push_str(&format!("{}\n", json!({"op": "store", "session": session})));
        }
        text.push_str(&format!("{}\n", json!({"op": nasty, nasty: nasty})));
        // Raw, as no JSON may have it, with an id that can be told.
        text.push_str(&format!("{{\"op\":\"delete\",\"session_id\":{},\"x\":\"{nasty}\n", json!(nasty)));
    }
    World::with("sessions.jsonl", text).damaged()
}

#[test]
fn text_of_others_never_acts_on_a_terminal_in_any_view() {
    let world = nasty();
    fs::write(world.dir().join("sessions \u{1b}[2J\u{202e}.jsonl"), "").unwrap();
    let run = |args: &[&str]| {
        let answer = world.run(args);
        let story = format!("{args:?}");
        assert!([0, 3].contains(&answer.status), "{story}: {answer:?}");
        assert!(!answer.stdout.is_empty(), "{story}: {answer:?}");
        tame(&answer.stdout, &story);
        tame(answer.stderr.as_bytes(), &story);
    };
    for format in ["table", "plain", "json", "jsonl"] {
        run(&["session", "list", "--all", "--format", format]);
        run(&["session", "list", "--all", "--all-agents", "--format", format]);
        run(&["journal", "check", "--format", format]);
        run(&["journal", "repair", "--format", format]);
        for id in NASTY {
            run(&["session", "get", id, "--format", format]);
            run(&["session", "show", id, "--format", format]);
            run(&["journal", "show", "sessions", "--id", id, "--format", format]);
            run(&["session", "archive", id, "--reason", id, "--dry-run", "--format", format]);
            run(&["session", "delete", id, "--dry-run", "--format", format]);
        }
        for journal_line in ["1", "3", "4"] {
            run(&["journal", "show", "sessions", "--line", journal_line, "--format", format]);
        }
    }
    for format in ["table", "plain", "json"] {
        run(&["journal", "export", "sessions", "--format", format]);
    }
}

#[test]
fn text_of_others_never_acts_on_a_terminal_in_any_error() {
    let world = nasty();
    let refused = |args: &[&str], variable: Option<(&str, &str)>| {
        for format in ["plain", "json"] {
            let mut command = world.command(&[args, &["--format", format]].concat());
            command.envs(variable);
            let answer = Answer::from(command.output().unwrap());
            let story = format!("{args:?} {variable:?}");
            assert!(![0, 101].contains(&answer.status) && !answer.stderr.is_empty(), "{story}: {answer:?}");
            tame(&answer.stdout, &story);
            tame(answer.stderr.as_bytes(), &story);
        }
    };
    for nasty in NASTY {
        let near = &nasty[..nasty.chars().next().unwrap().len_utf8()];
        let elsewhere = world.beside(&format!("{nasty}/state"));
        let elsewhere = elsewhere.to_str().unwrap();
        for args in [
            &["session", "get", &format!("{nasty}?")][..],
            &["session", "get", near],
            &["session", "get", nasty, "--agent", "alice"],
            &["session", "delete", near, "--all-agents"],
            &["session", "put", &format!("{nasty}\u{1}"), "--file", "nothing"],
            &["session", "put", "x", "--file", elsewhere],
            &["session", "put", "x", "--if-match", nasty],
            &["session", "put", "x", "--ttl", nasty],
            &["session", "list", "--agent", &format!("{nasty}::")],
            &["session", "list", "--since", nasty],
            &["session", "list", "--sort", nasty],
            &["session", nasty],
            &["session", "list", &format!("--{nasty}")],
            &["journal", "check", nasty],
            &["journal", "show", nasty, "--line", "1"],
            &["journal", "show", "sessions", "--id", &format!("{nasty}?")],
            &["journal", "show", "sessions", "--line", nasty],
            &["man", "/dev/null/\u{1b}[2J"],
            &["completions", nasty],
            &[nasty],
        ] {
            refused(args, None);
        }
        refused(&["session", "list"], Some(("CRUXCTL_NOW", nasty)));
        refused(&["session", "list"], Some(("CRUXCTL_AGENT", &format!("{nasty}::"))));
        refused(&["session", "put", "x", "--file", "in"], Some(("CRUXCTL_MAX_STATE_BYTES", nasty)));
    }
}

#[test]
fn the_name_of_a_data_directory_never_acts_on_a_terminal() {
    for nasty in NASTY {
        let world = World::new();
        let dir = world.beside(nasty);
        let dir = dir.to_str().unwrap();
        let run = |args: &[&str]| {
            let answer = world.run(&[args, &["--data-dir", dir]].concat());
            let story = format!("{args:?} in {nasty:?}: {answer:?}");
            tame(&answer.stdout, &story);
            tame(answer.stderr.as_bytes(), &story);
            answer
        };
        run(&["session", "list"]).ends(0);
        run(&["journal", "check"]).ends(0);
        fs::create_dir(dir).unwrap();
        let file = format!("{dir}/sessions.jsonl");
        fs::write(&file, session_line("a", "1") + "\n{\"op\":\"sto\n").unwrap();
        for format in ["table", "plain", "json"] {
            run(&["session", "show", "a", "--format", format]).ends(3);
            run(&["session", "get", "b", "--format", format]).ends(3);
            run(&["journal", "check", "--format", format]).ends(3);
            run(&["journal", "repair", "--format", format]).ends(0);
        }
        run(&["journal", "repair", "--apply"]).ends(0);
        fs::remove_file(&file).unwrap();
        fs::create_dir(&file).unwrap();
        run(&["session", "list"]).ends(7);
        run(&["session", "delete", "a", "--json"]).ends(7);
    }
}

#[test]
fn json_is_exact_after_decoding() {
    let world = nasty();
    let listed = world.run(&["session", "list", "--all", "--json"]).ends(3).json();
    let ids: Vec<&str> = listed["sessions"].as_array().unwrap().iter().map(|s| s["id"].as_str().unwrap()).collect();
    // The one written last comes first.
    assert_eq!(ids, NASTY.iter().rev().copied().collect::<Vec<_>>());
    for nasty in NASTY {
        let shown = world.run(&["session", "show", nasty, "--json"]).ends(3).json();
        for member in ["id", "stored_id", "archive_reason", "actor"] {
            assert_eq!(shown[member], nasty, "{member}");
        }
        let scoped = format!("__agent_session::{nasty}::{nasty}");
        let shown = world.run(&["session", "show", &scoped, "--all-agents", "--json"]).ends(3).json();
        assert_eq!((&shown["agent"], &shown["logical_id"]), (&json!(nasty), &json!(nasty)));
        let got = world.run(&["session", "get", nasty, "--json"]).ends(3).json();
        assert_eq!(got["state"], json!({nasty: nasty}));
        let exported = world.run(&["journal", "export", "sessions", "--json"]).ends(3).json();
        let records = exported["records"].as_array().unwrap();
        assert!(records.iter().any(|r| r["id"] == nasty && r["record"]["actor"] == nasty));
    }
}

#[test]
fn ids_are_raw_where_only_ids_are_asked_for() {
    let world = nasty();
    let mut expected: Vec<String> = NASTY.iter().map(|id| (*id).to_owned()).collect();
    expected.sort();
    let answer = world.run(&["session", "list", "--all", "--format", "id", "-0"]).ends(3);
    assert_eq!(split_ids(&answer.stdout), expected);
    let answer = world.run(&["session", "list", "--all", "--format", "id", "--reverse"]).ends(3);
    let lines: String = NASTY.iter().map(|id| format!("{id}\n")).collect();
    assert_eq!(answer.text(), lines);
}

// ---------------------------------------------------------------------------------------------------------------------
// On a terminal

/// What a command shows on a terminal of its own, with plain line ends, and its status. `None` where there is no
/// `script` to make a terminal.
fn on_terminal(world: &World, args: &str) -> Option<(i32, String)> {
    if world.shell("command -v script").status != 0 {
        return None;
    }
    let answer = world.shell(&format!("script -qec \"cruxctl {args}\" /dev/null < /dev/null"));
    Some((answer.status, answer.text().replace("\r\n", "\n")))
}

#[test]
fn a_terminal_gets_tables_and_a_pipe_gets_fields() {
    let world = small();
    let piped = world.run(&["session", "list"]).ends(0).text();
    assert!(piped.lines().all(|line| line.matches('\t').count() == 7), "{piped}");
    let Some((status, shown)) = on_terminal(&world, "session list --quiet") else { return };
    let shown: Vec<Vec<&str>> = shown.lines().map(|line| line.split_whitespace().collect()).collect();
    assert_eq!((status, &shown[0][..3]), (0, &["id", "updated", "at"][..]), "{shown:?}");
    assert_eq!(shown[1..].iter().map(|row| row[0]).collect::<Vec<_>>(), ["e", "d", "a", "b"], "{shown:?}");
}

#[test]
fn on_a_terminal_text_of_others_is_escaped_unless_exact_bytes_are_asked_for() {
    let world = nasty();
    let Some((status, listed)) = on_terminal(&world, "session list --all --all-agents") else { return };
    assert_eq!(status, 3, "{listed}");
    for args in ["session list --all --all-agents", "journal check", "journal repair", "journal export sessions"] {
        let (_, shown) = on_terminal(&world, args).unwrap();
        // Bold and the colours of warnings are ours.
        let ours = ["\u{1b}[1m", "\u{1b}[0m", "\u{1b}[1;33m", "\u{1b}[1;31m"];
        let shown = ours.iter().fold(shown, |text, code| text.replace(code, ""));
        tame(shown.as_bytes(), args);
        assert!(
            (args == "journal repair" || shown.contains("\\u{202e}")) && !shown.contains('\t'),
            "{args}: {shown}"
        );
    }
    let world = World::new();
    world.put("x", "\"a\u{202e}b\u{9b}\"");
    assert_eq!(on_terminal(&world, "session get x"), Some((0, "\"a\\u{202e}b\\u{9b}\"\n".to_owned())));
    assert_eq!(on_terminal(&world, "session get x --raw"), Some((0, "\"a\u{202e}b\u{9b}\"\n".to_owned())));
}

#[test]
fn on_a_terminal_a_put_does_not_wait_for_a_state_to_be_typed() {
    let world = World::new();
    let Some((status, shown)) = on_terminal(&world, "session put x") else { return };
    assert!(status == 2 && shown.contains("terminal") && shown.contains("--file"), "{shown}");
}
