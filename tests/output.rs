//! Every verb answers in every format, and says the same in each; errors are one object where JSON was asked for;
//! and global flags work wherever they are typed.

use std::collections::BTreeSet;
use std::fs;
use std::sync::LazyLock;

use cruxctl::cmd::docs;
use cruxctl::error::Code;
use cruxctl::handoff::envelope;
use cruxctl::handoff::keys::MAC;
use cruxctl::handoff::signature::PrivateKey;
use serde_json::{Map, Value, json};

use crate::durable;
use crate::support::{Answer, World, leaves, session_line, words};

/// How a verb is run here: the command line, standard input, and the member that holds the ids of a row.
const TYPED: &[(&str, &str, &str)] = &[
    ("session put new", "{\"k\":1}", "id"),
    ("session get one", "", "id"),
    ("session show one", "", "id"),
    ("session list --all-agents --all", "", "id"),
    ("session history one", "", "rev"),
    ("session diff one", "", "path"),
    ("session restore one --rev 1", "", "id"),
    ("session delete one", "", "id"),
    ("session archive one --reason because", "", "id"),
    ("session unarchive hidden", "", "id"),
    ("session reap --all-agents", "", "id"),
    ("case retrieve words --explain --fold", "", "id"),
    ("case show c_2", "", "id"),
    ("case list", "", "id"),
    ("case reuse c_2 c_2", "", "id"),
    ("case delete c_2", "", "id"),
    ("fact show f_2", "", "id"),
    ("fact list --all --deleted --all-agents", "", "id"),
    ("fact query words", "", "id"),
    ("fact history f_2", "", "id"),
    ("fact delete f_2", "", "id"),
    ("fact supersede f_2 --by f_1", "", "id"),
    ("fact validity f_2 --from 2026-01-01T00:00:00Z", "", "id"),
    ("handoff verify envelope --key-file secret", "", "handoff_id"),
    ("handoff inspect envelope", "", ""),
    ("handoff accept good --key-file secret", "", "session_id"),
    ("handoff list", "", "content_hash"),
    ("handoff abandon h_open", "", "content_hash"),
    ("handoff trust add bob bob.pub", "", "key_id"),
    ("handoff trust list", "", "key_id"),
    ("handoff trust remove alice", "", "key_id"),
    ("durable open --target t --kind flow --key new", "", "id"),
    ("durable get --target t --key k", "", "id"),
    ("durable fork --target t --key held", "", "id"),
    ("durable forks --target t --key k", "", "id"),
    ("durable send --target t --key k", "{\"a\": 1}", "id"),
    ("durable send-many --target t --key k", "1\n2", "id"),
    ("durable claim --target t --key k", "", "work_id"),
    ("durable renew --work HELD_WORK --fence FENCE", "", "work_id"),
    ("durable release --work HELD_WORK --fence FENCE", "", "work_id"),
    ("durable checkpoint --work HELD_WORK --fence FENCE", "1", "work_id"),
    ("durable complete --work HELD_WORK --fence FENCE", "1", "work_id"),
    ("durable fail --work HELD_WORK --fence FENCE", "", "work_id"),
    ("durable block --work HELD_WORK --fence FENCE", "", "work_id"),
    ("durable unblock --target t --key blocked", "", "work_id"),
    ("durable result --input INPUT", "", "input_id"),
    ("durable status --target t --key k", "", ""),
    ("durable inspect --target t --key k", "", "id"),
    ("durable stats --target t --key k", "", "id"),
    ("durable list", "", "id"),
    ("durable stream --target t --key k", "", "id"),
    ("durable subscribe --target t --key k --signal s2", "", "id"),
    ("durable unsubscribe --sub SUBSCRIPTION", "", "id"),
    ("durable subscriptions", "", "id"),
    ("durable publish --signal s --occurrence o", "{\"a\":1}", "input_id"),
    ("durable close --target t --key k", "", "id"),
    ("durable kill --target t --key held", "", "id"),
    ("durable delete --target t --key closed", "", "id"),
    ("journal check", "", "ids"),
    ("journal repair", "", ""),
    ("journal show sessions --id one", "", "line"),
    ("journal log", "", "id"),
    ("journal compact cases", "", "journal"),
    ("journal export sessions", "", "id"),
    ("journal stat", "", "id"),
    ("journal map", "", ""),
    ("journal report --html page", "", "path"),
];

/// The same with the ids of their directory.
static VERBS: LazyLock<Vec<(String, &str, &str)>> =
    LazyLock::new(|| TYPED.iter().map(|(line, input, ids)| (durable::with_ids(line), *input, *ids)).collect());

/// Verbs whose answer is a file's text, whatever the format, or is another one each time.
const TEXTS: &[&str] = &[
    "completions",
    "man",
    "doctor",
    "case record",
    "case import",
    "fact store",
    "handoff create",
    "handoff keygen",
    "durable work",
];

const FORMATS: [&str; 5] = ["table", "plain", "json", "jsonl", "id"];

/// Ids that a terminal would act on, that a line would break at, or that look like an escape.
const NASTY: [&str; 5] = [
    "tab\there",
    "line\nend\r",
    "\u{1b}]52;c;x\u{7}\u{9b}2J",
    "back\\slash\\t\\u{1b}",
    "\u{202e}bidi\u{200b}\u{feff}é日",
];

/// The journals of a directory in which every verb has something to say.
fn journals() -> Vec<(&'static str, String)> {
    let mut sessions: Vec<String> = NASTY.iter().map(|id| session_line(id, "{\"a\":\"\\u001b\\u202e\"}")).collect();
    let with = |id: &str, members: &str| session_line(id, "[1,2]").replace("\"archived\":false", members);
    sessions.extend([
        session_line("one", "1"),
        with("hidden", "\"archived\":true,\"actor\":\"me\""),
        with("__agent_session::alice::old", "\"expires_at\":\"2026-01-02T00:00:00Z\",\"archived\":false"),
        with("old", "\"expires_at\":\"2026-01-02T00:00:00Z\",\"archived\":false"),
        "{\"op\":\"store\",\"session\":{\"session_id\":\"torn\",\"state\":\"\u{202e}\u{1b}[2J".to_owned(),
        "{\"op\":\"rename\",\"session_id\":\"one\"}".to_owned(),
        session_line("one", "{\"b\":[],\"n\":1.5}"),
    ]);
    let case = |id: &str| {
        format!(
            "{{\"op\":\"record\",\"case\":{{\"case_id\":\"{id}\",\"task\":\"words \\u001b]52;\",\"action\":\"a\",\
             \"outcome\":\"o\u{202e}\",\"success\":true,\"reward\":0.9,\"tags\":[\"x\\ty\",\"z\"],\"created_at\":\"2026-01-01T00:00:00Z\"}}}}\n"
        )
    };
    let cases = [case("c_1"), case("c_2"), "{\"op\":\"delete\",\"case_id\":\"c_1\"}\n".to_owned()].concat();
    let fact = |id: &str, entity: &str| {
        format!(
            "{{\"op\":\"store\",\"fact\":{{\"fact_id\":\"{id}\",\"tenant_hash\":\"t \",\"entity\":\"{entity}\",\"key\":\"k\",\
             \"value\":\"words \\u001b]52;\",\"source_receipt\":\"r\u{202e}\",\"confidence\":0.9,\"stored_at\":\"2026-01-01T00:00:00Z\",\
             \"tokens\":3,\"deleted\":false,\"valid_from\":\"2026-01-01T00:00:00Z\"}}}}\n"
        )
    };
    let facts = [fact("f_1", "e"), fact("f_2", "e"), fact("f_3", "__agent::a\u{9b}::x")].concat();
    let public = |seed: u8| PrivateKey::new(&[seed; 32]).public().to_hex();
    let trust = |seed: u8, agent: &str| {
        let key =
            json!({"op": "store", "public_key": public(seed), "agent": agent, "added_at": "2026-01-01T00:00:00Z"});
        format!("{key}\n")
    };
    let trust = [trust(1, "alice"), trust(2, "\u{1b}]52;\u{202e}"), trust(3, "alice")].concat();
    vec![
        ("sessions.jsonl", sessions.join("\n") + "\n"),
        ("cases.jsonl", cases),
        ("facts.jsonl", facts),
        ("cruxctl/trust.jsonl", trust),
        ("cruxctl/handoffs.jsonl", ledger()),
        ("cruxctl/durable.jsonl", durable::journal()),
    ]
}

/// The ledger with a handoff that was accepted and one that is half accepted.
fn ledger() -> String {
    let entry = |hash: &str, state: &str, id: &str| {
        let entry = json!({
            "op": "handoff", "content_hash": hash.repeat(32), "state": state, "handoff_id": id, "session_id": "\u{1b}s",
            "source_agent": "alice", "receiver": "bob", "key_id": "k", "session": true, "fact_ids": ["f_1"],
            "sessions_bytes": 0, "facts_bytes": 0, "heads_before": [], "times": 1, "begun_at": "2026-01-01T00:00:00Z",
        });
        format!("{entry}\n")
    };
    [entry("ab", "accepted", "h_1"), entry("cd", "open", "h_open")].concat()
}

/// Puts the directory back to what it was.
fn reset(world: &World) {
    let _ = fs::remove_dir_all(world.dir());
    fs::create_dir_all(world.dir().join("cruxctl")).unwrap();
    for (file, text) in journals() {
        world.write(file, text);
    }
}

fn everywhere() -> World {
    let world = World::new().damaged();
    reset(&world);
    fs::write(world.beside("bob.pub"), PrivateKey::new(&[4; 32]).public().file()).unwrap();
    fs::write(world.beside("secret"), "a secret of these tests").unwrap();
    let payload = json!({
        "session_id": "s\u{1b}]52;", "session_state": {"n": 1}, "facts": [], "created_at": "2026-07-01T12:00:00+00:00",
        "source_agent": "alice", "message": "\u{202e}\n\t", "work_ids": ["w_1", "w_2"], "handoff_id": "h_1",
        "expires_at": "2026-07-02T12:00:00Z", "task_record": {"requester": "\u{9b}"},
    })
    .to_string();
    // An id with a control character is verified, and not loaded.
    for (file, payload) in [("envelope", payload.clone()), ("good", payload.replace("s\\u001b]52;", "s"))] {
        let mac = blake3::keyed_hash(blake3::hash(b"a secret of these tests").as_bytes(), payload.as_bytes());
        fs::write(world.beside(file), envelope::mint(payload.as_bytes(), mac.as_bytes(), MAC)).unwrap();
    }
    world
}

/// The words of a command line that name the verb.
fn path(line: &str) -> Vec<&str> {
    let words = words(line);
    let depth = if line.starts_with("handoff trust") { 3 } else { 2 };
    words[..depth].to_vec()
}

/// What a verb answers in a format, always from the same directory.
fn answer(world: &World, line: &str, input: &str, format: &str) -> Answer {
    reset(world);
    world.run_with(&[words(line), vec!["--format", format]].concat(), input)
}

/// The rows of an answer in JSON, and its fields.
fn parts(document: &Value) -> (Vec<Map<String, Value>>, Map<String, Value>) {
    let (mut rows, mut fields) = (Vec::new(), Map::new());
    for (name, value) in document.as_object().unwrap().iter().filter(|(name, _)| *name != "schema") {
        match value.as_array() {
            // A list of texts is a field, as the next commands of a check are.
            Some(list) if list.iter().all(Value::is_object) && !["next", "fact_ids"].contains(&name.as_str()) => {
                rows.extend(list.iter().map(|row| row.as_object().unwrap().clone()));
            }
            _ => drop(fields.insert(name.clone(), value.clone())),
        }
    }
    (rows, fields)
}

/// A value as the cell of a plain line, before anything is escaped.
fn cell(value: &Value) -> String {
    match value {
        Value::Null => String::new(),
        Value::String(text) => canonical(text),
        Value::Array(texts) if texts.iter().all(Value::is_string) => {
            texts.iter().map(|text| text.as_str().unwrap()).collect::<Vec<_>>().join(" ")
        }
        other => other.to_string(),
    }
}

/// The same text; a JSON object without white space and with its members in one order.
fn canonical(text: &str) -> String {
    match serde_json::from_str::<Value>(text) {
        Ok(value) if value.is_object() => value.to_string(),
        _ => text.to_owned(),
    }
}

/// The text that a plain cell stands for; JSON stands for itself.
fn unplain(text: &str) -> String {
    if text.starts_with('{') && serde_json::from_str::<Value>(text).is_ok() {
        return canonical(text);
    }
    let mut out = String::new();
    let mut chars = text.chars();
    while let Some(c) = chars.next() {
        out.push(match (c, if c == '\\' { chars.next() } else { None }) {
            ('\\', Some('t')) => '\t',
            ('\\', Some('n')) => '\n',
            ('\\', Some('r')) => '\r',
            ('\\', Some('\\')) => '\\',
            ('\\', Some('u')) => {
                let hex: String = chars.by_ref().skip(1).take_while(|c| *c != '}').collect();
                char::from_u32(u32::from_str_radix(&hex, 16).unwrap()).unwrap()
            }
            ('\\', other) => panic!("{text:?} has the escape {other:?}"),
            (c, _) => c,
        });
    }
    canonical(&out)
}

/// Whether a terminal would act on a character.
fn acts(c: char) -> bool {
    c.is_control()
        || matches!(c, '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2060}'..='\u{206f}' | '\u{feff}')
}

fn sorted<T: Ord>(items: impl IntoIterator<Item = T>) -> Vec<T> {
    let mut items: Vec<T> = items.into_iter().collect();
    items.sort();
    items
}

#[test]
fn every_verb_is_held_against_every_format() {
    let leaves = leaves();
    let listed: BTreeSet<String> = VERBS
        .iter()
        .map(|(line, ..)| path(line).join(" "))
        .chain(TEXTS.iter().map(|noun| (*noun).to_owned()))
        .collect();
    assert_eq!(leaves, listed);
}

#[test]
fn every_verb_ends_with_the_same_status_and_says_something_in_every_format() {
    let world = everywhere();
    for (line, input, ids) in VERBS.iter() {
        let want = answer(&world, line, input, "json").status;
        assert!([0, 3].contains(&want), "{line}: {want}");
        for format in FORMATS {
            let answer = answer(&world, line, input, format).ends(want);
            assert_eq!(answer.stdout.is_empty(), format == "id" && ids.is_empty(), "{line} --format {format}");
        }
    }
}

#[test]
fn json_is_one_object_with_a_schema_and_jsonl_says_the_same_in_lines() {
    let world = everywhere();
    for (line, input, _) in VERBS.iter() {
        let document = answer(&world, line, input, "json").json();
        let schema = format!("cruxctl.{}.v1", path(line).join("."));
        assert_eq!(document["schema"], schema.as_str());
        let (mut rows, fields) = parts(&document);
        let lines = answer(&world, line, input, "jsonl").lines();
        let objects: Vec<Map<String, Value>> = lines.iter().map(|line| serde_json::from_str(line).unwrap()).collect();
        if line.contains("export") {
            // Documents themselves, as they are piped to other tools.
            let documents: Vec<&Value> = rows.iter().map(|row| &row["record"]).collect();
            assert_eq!(json!(objects), json!(documents), "{line}");
            continue;
        }
        rows.extend((!fields.is_empty()).then_some(fields));
        let text = |mut object: Map<String, Value>| {
            object.remove("kind");
            json!(object).to_string()
        };
        assert_eq!(sorted(objects.into_iter().map(text)), sorted(rows.into_iter().map(text)), "{line}");
    }
}

#[test]
fn plain_says_the_same_as_json_in_cells_that_tabs_separate() {
    let world = everywhere();
    for (line, input, _) in VERBS.iter() {
        let (rows, mut fields) = parts(&answer(&world, line, input, "json").json());
        if line.contains("inspect") {
            // Every line of it says so by itself.
            fields.remove("verified");
        }
        let plain = answer(&world, line, input, "plain").text();
        assert!(!plain.chars().any(|c| acts(c) && c != '\n' && c != '\t'), "{line}: {plain:?}");
        if let Some(whole) = [("session get", "state"), ("durable result", "result")]
            .into_iter()
            .find_map(|(verb, whole)| line.contains(verb).then_some(whole))
        {
            let value: Value = serde_json::from_str(&plain).unwrap();
            assert_eq!(value, fields[whole]);
            continue;
        }
        let kinds = [
            "finding",
            "journal",
            "edit",
            "version",
            "unreadable",
            "class",
            "stretch",
            "id",
            "cell",
            "damage",
            "work",
            "input",
            "delivery",
        ];
        let lines = plain.lines().map(|line| {
            let mut cells: Vec<String> = line.split('\t').map(unplain).collect();
            // Where there are several kinds of rows, the first cell says which one it is.
            if cells.len() > 2 && kinds.contains(&cells[0].as_str()) {
                cells.remove(0);
            }
            sorted(cells)
        });
        let of_row = |row: Map<String, Value>| sorted(row.values().map(cell));
        let of_field = |(name, value): (String, Value)| match value.as_array() {
            Some(texts) => texts.iter().map(|text| sorted([name.clone(), cell(text)])).collect(),
            None => vec![sorted([name, cell(&value)])],
        };
        let want = rows.into_iter().map(of_row).chain(fields.into_iter().flat_map(of_field));
        assert_eq!(sorted(lines), sorted(want), "{line}");
    }
}

#[test]
fn a_table_has_the_numbers_and_words_of_json_and_nothing_that_a_terminal_acts_on() {
    let world = everywhere();
    for (line, input, _) in VERBS.iter() {
        let (rows, fields) = parts(&answer(&world, line, input, "json").json());
        let table = answer(&world, line, input, "table").text();
        assert!(!table.chars().any(|c| acts(c) && c != '\n'), "{line}: {table:?}");
        let told: BTreeSet<&str> = table.split(|c: char| c.is_whitespace() || "(),:".contains(c)).collect();
        let cells = rows.into_iter().flatten().chain(fields);
        // A table leaves out what only machines need; what it has a heading for, it shows.
        let shown = |name: &String| table.contains(&name.replace('_', " "));
        for (name, value) in cells.filter(|(name, _)| shown(name) && (name != "hash" || !line.contains("get"))) {
            // People are told what the daemon does in a sentence, machines by a name.
            let sentence = line.contains("check") && name == "daemon";
            match &value {
                Value::Number(n) => assert!(told.contains(n.to_string().as_str()), "{line}: {name} {n} in {table}"),
                Value::String(text)
                    if !sentence && text.is_ascii() && !text.contains(['\\', '"', '\u{1b}', '\t', '\n']) =>
                {
                    assert!(
                        table.contains(text.as_str()) || line.contains("get"),
                        "{line}: {name} {text:?} in {table}"
                    );
                }
                _ => {}
            }
        }
    }
}

#[test]
fn id_prints_the_ids_of_json_as_they_are_and_nothing_else() {
    let world = everywhere();
    for (line, input, member) in VERBS.iter() {
        let (rows, fields) = parts(&answer(&world, line, input, "json").json());
        let ids = |row: Map<String, Value>| -> Vec<String> {
            match row.get(*member) {
                Some(Value::Array(ids)) => ids.iter().map(cell).collect(),
                Some(Value::Null) | None => Vec::new(),
                Some(id) => vec![cell(id)],
            }
        };
        // Where there are rows, the ids are theirs.
        let rows: Vec<String> = rows.into_iter().flat_map(ids).collect();
        let want = if rows.is_empty() { ids(fields) } else { rows };
        for (flag, end) in [("--null", "\0"), ("-0", "\0"), ("--quiet", "\n")] {
            reset(&world);
            let args = [words(line), vec!["--format", "id", flag]].concat();
            let text = world.run_with(&args, input).text();
            assert_eq!(text, want.iter().map(|id| format!("{id}{end}")).collect::<String>(), "{line} {flag}");
        }
    }
}

#[test]
fn nasty_ids_come_back_exactly_from_json_plain_and_id() {
    let world = everywhere();
    let mut want = sorted(NASTY.map(str::to_owned));
    let one_of_ours = |id: &String| NASTY.contains(&id.as_str());
    let json = answer(&world, "session list", "", "json");
    assert!(!json.text().chars().any(|c| acts(c) && c != '\n'), "{json:?}");
    let rows = parts(&json.json()).0;
    assert_eq!(sorted(rows.iter().map(|row| cell(&row["id"])).filter(one_of_ours)), want);
    let plain = answer(&world, "session list", "", "plain").lines();
    assert_eq!(plain.len(), rows.len());
    let columns: BTreeSet<usize> = plain.iter().map(|line| line.split('\t').count()).collect();
    assert_eq!(columns, BTreeSet::from([rows[0].len()]));
    let first = plain.iter().map(|line| unplain(line.split('\t').next().unwrap()));
    assert_eq!(sorted(first.filter(one_of_ours)), want);
    want.extend(["__agent_session::alice::old", "hidden", "old", "one"].map(str::to_owned));
    assert_eq!(world.session_ids(), sorted(want));
}

#[test]
fn texts_are_printed_whatever_the_format() {
    let world = World::new();
    let man = world.beside("man");
    for format in FORMATS {
        let script = world.run(&["completions", "bash", "--format", format]).ends(0);
        assert!(script.text().contains("_cruxctl"), "{script:?}");
        let pages = world.run(&["man", man.to_str().unwrap(), "--format", format]).ends(0);
        assert!(pages.lines().contains(&"cruxctl.1".to_owned()), "{pages:?}");
    }
}

/// Command lines that fail, with the code and a word of the message.
const FAILING: &[(&str, Code, &str)] = &[
    ("session get nope --damaged-ok", Code::NoSession, "nope"),
    ("session put nope --if-match zz", Code::UsageArguments, "zz"),
    ("session list --since never", Code::UsageArguments, "never"),
    ("handoff abandon nope", Code::NoHandoff, "nope"),
    ("fact show nope", Code::NoFact, "nope"),
    ("fact query nothing", Code::NoFactMatch, "no fact"),
    ("journal compact sessions", Code::RefusedOpen, "cdcd"),
    ("journal repair --apply --max-loss-bytes 1", Code::RefusedLoss, "sessions.jsonl"),
    ("journal repair sessions --take 1", Code::NoRecord, "line 1"),
    ("journal repair --take 1", Code::UsageArguments, "--take"),
    // Wrong command lines.
    ("sessions", Code::UsageArguments, "sessions"),
    ("session lst", Code::UsageArguments, "lst"),
    ("session get", Code::UsageArguments, "ID"),
    ("session get a b", Code::UsageArguments, "b"),
    ("session get a --nope", Code::UsageArguments, "--nope"),
    ("session put a --ttl soon", Code::UsageArguments, "soon"),
    ("session list --limit x", Code::UsageArguments, "--limit"),
    ("session list --all --archived", Code::UsageArguments, "--archived"),
    ("session list --color blue", Code::UsageArguments, "blue"),
    ("journal check nope", Code::UsageArguments, "nope"),
    ("journal show sessions", Code::UsageArguments, "--line"),
    ("handoff verify --require mac", Code::EnvironmentNoKey, "CRUX_MCP_HANDOFF_SECRET"),
    ("handoff verify --trusted alice", Code::UsageArguments, "alice"),
    ("handoff trust nope", Code::UsageArguments, "nope"),
    ("handoff create", Code::UsageArguments, "SESSION"),
];

#[test]
fn an_error_is_one_object_where_json_was_asked_for() {
    let world = everywhere();
    for (line, code, word) in FAILING {
        for flags in ["--json", "--format json", "--format=json", "--format jsonl", "--format=jsonl"] {
            for args in [[words(line), words(flags)].concat(), [words(flags), words(line)].concat()] {
                let answer = world.run(&args);
                let error = answer.fails(*code);
                assert_eq!(
                    answer.talk().len(),
                    1 + usize::from(answer.stderr.contains("cruxctl.note.v1")),
                    "{answer:?}"
                );
                let names: Vec<&str> = error.as_object().unwrap().keys().map(String::as_str).collect();
                assert_eq!(names, ["code", "hints", "kind", "message", "schema", "status"]);
                assert_eq!(
                    json!([error["kind"], error["status"]]),
                    json!([code.kind().name(), code.kind().status()])
                );
                assert!(error["hints"].as_array().unwrap().iter().all(Value::is_string), "{error}");
                let message = error["message"].as_str().unwrap();
                assert!(message.contains(word) && !message.contains('\n'), "{line}: {message:?}");
            }
        }
        // Elsewhere it is a sentence with the code, or the words of the argument parser.
        let answer = world.run(&words(line)).ends(i32::from(code.kind().status()));
        assert!(answer.stderr.contains("error: ") && answer.stderr.contains(word), "{answer:?}");
    }
}

#[test]
fn the_variable_asks_for_json_as_the_flag_does_for_wrong_command_lines_too() {
    let world = everywhere();
    for (line, code, _) in FAILING {
        for format in ["json", "jsonl"] {
            let mut command = world.command(&words(line));
            Answer::from(command.env("CRUXCTL_FORMAT", format).output().unwrap()).fails(*code);
        }
    }
}

#[test]
fn a_command_that_fails_leaves_no_half_of_a_document() {
    let world = everywhere();
    let whole = |line: &str| {
        let answer = world.run(&[words(line), vec!["--json"]].concat());
        let whole = answer.stdout.is_empty() || serde_json::from_slice::<Value>(&answer.stdout).is_ok();
        assert!(answer.status > 0 && whole, "{line}: {} {answer:?}", String::from_utf8_lossy(&answer.stdout));
    };
    FAILING.iter().for_each(|(line, ..)| whole(line));
    // The last of the journals is a folder.
    fs::remove_file(world.dir().join("facts.jsonl")).unwrap();
    fs::create_dir(world.dir().join("facts.jsonl")).unwrap();
    ["journal check", "journal repair", "journal export facts"].into_iter().for_each(whole);
}

#[test]
fn every_line_of_talk_is_an_object_where_json_was_asked_for() {
    let world = everywhere();
    for (line, input, _) in VERBS.iter() {
        for format in ["json", "jsonl"] {
            for note in answer(&world, line, input, format).talk() {
                let names: Vec<&str> = note.as_object().unwrap().keys().map(String::as_str).collect();
                if note["schema"] == "cruxctl.error.v1" {
                    assert_eq!(names, ["code", "hints", "kind", "message", "schema", "status"], "{line}");
                    continue;
                }
                assert_eq!(names, ["code", "hints", "level", "message", "schema"], "{line}");
                assert!(["note", "warning"].contains(&note["level"].as_str().unwrap()), "{line}: {note}");
            }
        }
    }
}

#[test]
fn quiet_drops_notes_and_warnings_and_keeps_errors_and_answers() {
    let world = everywhere();
    let mut noisy = 0;
    for (line, input, _) in VERBS.iter() {
        for format in FORMATS {
            let loud = answer(&world, line, input, format);
            noisy += usize::from(!loud.stderr.is_empty());
            for flag in ["--quiet", "-q"] {
                reset(&world);
                let args = [words(line), vec!["--format", format, flag]].concat();
                let quiet = world.run_with(&args, input).ends(loud.status);
                // What decides the exit status is told all the same.
                let told = quiet.stderr.is_empty() || (quiet.status == 3 && quiet.stderr.contains("damaged."));
                assert!(told, "{line} --format {format}: {quiet:?}");
                assert_eq!(quiet.stdout, loud.stdout, "{line} --format {format}");
            }
        }
    }
    assert!(noisy > 20, "{noisy}");
    reset(&world);
    for (line, code, _) in FAILING {
        world.run(&[words(line), vec!["--json", "--quiet"]].concat()).fails(*code);
        let answer = world.run(&[words(line), vec!["-q"]].concat()).ends(i32::from(code.kind().status()));
        assert!(answer.stderr.starts_with("error: "), "{answer:?}");
    }
}

#[test]
fn colours_are_where_they_are_asked_for() {
    let world = everywhere();
    let colored = |line: &str, variable: Option<&str>| {
        let mut command = world.command(&words(line));
        let answer = Answer::from(command.envs(variable.map(|value| ("NO_COLOR", value))).output().unwrap());
        (answer.text().contains('\u{1b}'), answer.stderr.contains('\u{1b}'))
    };
    // Headlines are on standard output, errors on standard error.
    for (line, on_stdout, on_stderr) in [
        ("journal check --format table", true, false),
        ("session get nope --format table", false, true),
        ("session get nope --format plain", false, true),
        ("session list --format plain", false, true),
        ("journal check --json", false, false),
        ("session get nope --json", false, false),
        ("session list --format jsonl", false, false),
    ] {
        for variable in [None, Some(""), Some("1")] {
            assert_eq!(colored(line, variable), (false, false), "{line}");
            assert_eq!(colored(&format!("{line} --color auto"), variable), (false, false), "{line}");
            assert_eq!(colored(&format!("{line} --color never"), variable), (false, false), "{line}");
            // A flag says more than a variable.
            assert_eq!(colored(&format!("{line} --color always"), variable), (on_stdout, on_stderr), "{line}");
        }
    }
}

#[test]
fn on_a_terminal_answers_are_coloured_tables_with_nothing_to_act_on() {
    let world = everywhere();
    let terminal = |line: &str| world.shell(&format!("script -qec '{line}' /dev/null")).text().replace("\r\n", "\n");
    let check = terminal("cruxctl journal check sessions");
    let headline = "\u{1b}[1msessions.jsonl line ";
    assert!(check.contains(headline) && check.contains("verdict"), "{check:?}");
    for line in ["NO_COLOR=1 cruxctl journal check sessions", "cruxctl journal check sessions --color never"] {
        let plain = terminal(line);
        assert!(!plain.contains('\u{1b}') && plain.contains("sessions.jsonl line "), "{plain:?}");
    }
    // An empty variable is an unset one.
    assert!(terminal("NO_COLOR= cruxctl journal check sessions").contains(headline));
    let list = terminal("cruxctl session list --color never");
    assert!(list.contains("updated at") && !list.chars().any(|c| acts(c) && c != '\n'), "{list:?}");
    world.run_with(&["session", "put", "raw"], "\"\u{202e}\u{9b}\"").ends(0);
    assert!(terminal("cruxctl session get raw -q").contains("\"\\u{202e}\\u{9b}\""));
    assert!(terminal("cruxctl session get raw -q --raw").contains("\"\u{202e}\u{9b}\""));
}

#[test]
fn the_variable_names_the_format_and_the_flag_comes_before_it() {
    let world = everywhere();
    let with = |format: &str, flags: &str| {
        let mut command = world.command(&[words("session list --all-agents"), words(flags)].concat());
        Answer::from(command.env("CRUXCTL_FORMAT", format).output().unwrap())
    };
    for format in FORMATS {
        let want = world.run(&["session", "list", "--all-agents", "--format", format]);
        assert_eq!(with(format, "").stdout, want.stdout, "{format}");
        assert_eq!(with("table", &format!("--format {format}")).stdout, want.stdout, "{format}");
    }
    assert_eq!(with("id", "--json").stdout, with("json", "").stdout);
    assert_eq!(with("", "").stdout, with("plain", "").stdout);
    let wrong = with("yaml", "").ends(2);
    assert!(
        wrong.stdout.is_empty() && wrong.stderr.contains("CRUXCTL_FORMAT") && wrong.stderr.contains("yaml"),
        "{wrong:?}"
    );
    // A flag was typed: what the variable says does not matter.
    assert_eq!(with("yaml", "--format id").stdout, with("id", "").stdout);
    world.run(&words("session list --json --format json")).ends(2);
}

#[test]
fn global_flags_work_in_front_of_the_noun_in_front_of_the_verb_and_behind_it() {
    let world = everywhere();
    let other = world.beside("other");
    fs::create_dir(&other).unwrap();
    fs::write(other.join("sessions.jsonl"), session_line("elsewhere", "1") + "\n").unwrap();
    let flags = [
        ("data-dir", vec!["--data-dir", "other"]),
        ("agent", vec!["--agent", "alice"]),
        ("format", vec!["--format", "id"]),
        ("json", vec!["--json"]),
        ("null", vec!["-0", "--format", "id"]),
        ("quiet", vec!["-q"]),
        ("color", vec!["--color", "always"]),
        ("lock-timeout", vec!["--lock-timeout", "1s"]),
        ("no-sync", vec!["--no-sync"]),
        ("damaged-ok", vec!["--damaged-ok"]),
    ];
    let tree = docs::tree();
    let global = tree.get_arguments().filter(|arg| arg.is_global_set()).map(|arg| arg.get_long().unwrap());
    assert_eq!(sorted(global), sorted(flags.iter().map(|(name, _)| *name)));
    let said = |args: &[&str]| {
        let answer = world.run(args);
        (answer.status, answer.stdout, answer.stderr)
    };
    let bare = said(&["session", "list"]);
    for (name, flag) in &flags {
        let places = [0, 1, 2].map(|at| {
            let mut args = vec!["session", "list"];
            args.splice(at..at, flag.iter().copied());
            said(&args)
        });
        assert!(places[0] == places[1] && places[1] == places[2], "{name}: {places:?}");
        let idle = ["lock-timeout", "no-sync"].contains(name);
        assert_eq!(places[0] == bare, idle, "{name}: {places:?}");
    }
}

#[test]
fn a_command_is_pasted_from_every_format_as_it_stands() {
    let world = World::new().damaged();
    let odd = "it's $(touch ran) \\ a'; touch ran; '";
    let dir = world.beside(odd);
    fs::create_dir_all(&dir).unwrap();
    let torn = "{\"op\":\"store\",\"session\":{\"session_id\":\"s\",\"state\":1";
    fs::write(dir.join("sessions.jsonl"), format!("{torn}\n")).unwrap();
    let plain = |line: &str, name: &str| -> String {
        let text = world.run(&[words(line), vec!["--format", "plain", "--quiet", "--data-dir", odd]].concat()).text();
        let line = text.lines().find(|line| line.starts_with(name)).unwrap_or_else(|| panic!("{text}"));
        line.rsplit('\t').next().unwrap().to_owned()
    };
    let shown = [torn, "\n"].concat();
    assert_eq!(world.shell(&plain("journal map", "damage")).text(), shown);
    assert_eq!(world.shell(&plain("session history s", "unreadable")).text(), shown);
    for (verb, name) in [("doctor", "next"), ("journal check", "next"), ("journal stat", "next")] {
        assert!(world.shell(&plain(verb, name)).ends(0).text().contains("set-aside"), "{verb}");
    }
    world.shell(&(plain("doctor", "next") + " --apply")).ends(0);
    // What was set aside was taken with its line end.
    assert_eq!(world.shell(&plain("session history s", "unreadable")).text(), shown);
    assert!(!world.beside("ran").exists());
}
