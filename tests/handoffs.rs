//! Accepting a handoff loads it once: whatever interrupts it, whoever else tries, whatever was written since; and nothing
//! comes in that the receiver does not own.

use std::collections::BTreeMap;
use std::fs;
use std::io::Write;
use std::process::Stdio;
use std::thread;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use cruxctl::error::Code;
use serde_json::{Value, json};

use crate::envelopes::{SECRET, envelope, json_file, rejected, with, world};
use crate::support::{Answer, Mount, World, session_line, strace_is_waived, words};

const FACTS: &str = "facts.jsonl";
const SESSIONS: &str = "sessions.jsonl";
const LEDGER: &str = "cruxctl/handoffs.jsonl";
const ACCEPT: &str = "handoff accept --key-file key --agent bob --json";
const STORED: &str = "__agent_session::bob::s";

/// A fact as a package carries it.
fn fact(id: &str, entity: &str, key: &str) -> Value {
    json!({
        "fact_id": id, "tenant_hash": "default", "entity": entity, "key": key, "value": format!("value of {id}"),
        "source_receipt": "r", "confidence": 0.95, "stored_at": "2026-01-01T00:00:00Z", "tokens": 1, "deleted": false,
        "version": 4, "private": false, "horizon_class": "none",
    })
}

fn package(facts: &[Value]) -> String {
    with("\"work_ids\":[\"w_1\"]").replace("\"facts\":[]", &format!("\"facts\":{}", json!(facts)))
}

/// A handoff of a session and three facts, two of them of one chain.
fn three() -> String {
    envelope(package(&[fact("f_a", "e", "k"), fact("f_b", "e2", "k"), fact("f_c", "e", "k")]))
}

fn accept(world: &World, text: &str) -> Answer {
    world.run_with(&words(ACCEPT), text)
}

fn lines(world: &World, file: &str) -> Vec<Value> {
    let path = world.dir().join(file);
    let text = fs::read_to_string(path).unwrap_or_default();
    text.lines().filter_map(|line| serde_json::from_str(line).ok()).collect()
}

/// Every fact that the journal knows, by id.
fn facts(world: &World) -> BTreeMap<String, Value> {
    let answer = world.run(&words("fact list --all --deleted --all-agents --json")).ends(0);
    let rows = answer.json()["facts"].as_array().unwrap().clone();
    rows.into_iter().map(|fact| (fact["id"].as_str().unwrap().to_owned(), fact)).collect()
}

/// Holds the world against what the three facts and the session must be, whatever has happened: each once.
fn is_loaded_once(world: &World, what: &str) {
    let facts = facts(world);
    assert_eq!(facts.len(), 3, "{what}: {facts:#?}");
    let of = |value: &str| facts.values().find(|fact| fact["value"] == value).unwrap();
    let (a, c) = (of("value of f_a"), of("value of f_c"));
    let want = (json!(1), json!(2), a["id"].clone(), c["id"].clone());
    assert_eq!(
        (a["version"].clone(), c["version"].clone(), c["supersedes"].clone(), a["superseded_by"].clone()),
        want,
        "{what}"
    );
    assert_eq!(of("value of f_b")["version"], 1, "{what}");
    let stores = |file: &str| lines(world, file).iter().filter(|line| line["op"] == "store").count();
    assert_eq!((stores(FACTS), stores(SESSIONS)), (3, 1), "{what}");
    assert_eq!(world.session_ids(), [STORED], "{what}");
    let entry = lines(world, LEDGER).pop().unwrap();
    assert_eq!((&entry["state"], &entry["times"]), (&json!("accepted"), &json!(1)), "{what}");
    accept(world, &three()).fails(Code::RefusedReplayed);
}

// ---- What is loaded ----

#[test]
fn what_the_daemon_loads_of_its_own_envelopes_is_loaded() {
    let mut loaded = 0;
    for verdict in json_file("tests/data/envelopes/verdicts.json").as_array().unwrap() {
        let Some(sessions) = verdict["sessions_written"].as_object() else { continue };
        loaded += 1;
        let world = world();
        fs::write(world.beside("key"), verdict["secret"].as_str().unwrap()).unwrap();
        let file = format!("tests/data/envelopes/{}", verdict["file"].as_str().unwrap());
        let told = accept(&world, &fs::read_to_string(crate::support::tree(&file)).unwrap()).ends(0).json();
        let stored = lines(&world, SESSIONS);
        assert_eq!(stored.len(), sessions.len());
        for event in &stored {
            let session = &event["session"];
            assert_eq!(session["state"], sessions[session["session_id"].as_str().unwrap()], "{file}");
            assert!(session.get("expires_at").is_none(), "{file}");
        }
        let written = verdict["facts_written"].as_array().unwrap();
        let ids: Vec<&str> = told["fact_ids"].as_array().unwrap().iter().map(|id| id.as_str().unwrap()).collect();
        assert_eq!(ids.len(), written.len(), "{file}");
        let facts = facts(&world);
        for (id, theirs) in ids.iter().zip(written) {
            let mut ours = facts[*id].clone();
            let members = ours.as_object_mut().unwrap();
            for (own, name) in [("tenant", "tenant_hash"), ("horizon", "horizon_class")] {
                let value = members.remove(own).unwrap();
                members.insert(name.to_owned(), value);
            }
            for (name, value) in theirs.as_object().unwrap() {
                let link = value.as_str().and_then(|text| text.strip_prefix("<fact ")?.strip_suffix('>'));
                let want = link.map_or(value.clone(), |at| json!(ids[at.parse::<usize>().unwrap()]));
                assert_eq!(ours[name], want, "{file}: {name}");
            }
            for name in ["superseded_by", "supersedes"] {
                assert!(theirs.get(name).is_some() || ours[name].is_null(), "{file}: {name}");
            }
        }
    }
    assert_eq!(loaded, 5);
}

#[test]
fn a_handoff_is_loaded_once_and_refused_from_then_on() {
    let world = world();
    let told = accept(&world, &three()).ends(0).json();
    assert_eq!(told["session_loaded"], true);
    assert_eq!((&told["facts_loaded"], &told["lost_horizons"], &told["times"]), (&json!(3), &json!(0), &json!(1)));
    assert_eq!(told["work_ids"], json!(["w_1"]));
    is_loaded_once(&world, "once");
    let mut later = world;
    later.at("2026-07-02T00:00:00Z");
    let error = accept(&later, &three()).fails(Code::RefusedReplayed);
    let message = error["message"].as_str().unwrap();
    assert!(message.contains("2026-07-01T12:00:00Z") && message.contains("bob"), "{error}");
    // The same payload in another envelope is the same handoff; another agent is no way around.
    let padded = three().replace("{\"content", "{\"x\":1, \"content");
    accept(&later, &padded).fails(Code::RefusedReplayed);
    later
        .run_with(&words("handoff accept --key-file key --agent carol --json"), three())
        .fails(Code::RefusedReplayed);
    let again = later.run_with(&[words(ACCEPT), vec!["--again"]].concat(), three()).ends(0).json();
    assert_eq!((&again["times"], &again["session_replaced"]), (&json!(2), &json!(true)));
    let versions = later.run(&words("fact history e k --json")).json()["versions"].as_array().unwrap().len();
    assert_eq!(versions, 4);
    let list = later.run(&words("handoff list --json")).ends(0).json();
    let row = &list["handoffs"][0];
    assert_eq!((&row["state"], &row["facts"], &row["times"]), (&json!("accepted"), &json!(3), &json!(2)));
    assert_eq!(row["accepted_at"], "2026-07-02T00:00:00Z");
    assert_eq!(later.check(&[]).0, 0);
}

#[test]
fn of_many_at_once_one_wins() {
    let world = world();
    let statuses = thread::scope(|scope| {
        let one = || accept(&world, &three()).status;
        let all: Vec<_> = (0..12).map(|_| scope.spawn(one)).collect();
        let mut statuses: Vec<i32> = all.into_iter().map(|one| one.join().unwrap()).collect();
        statuses.sort_unstable();
        statuses
    });
    assert_eq!(statuses, [&[0][..], &[5; 11]].concat());
    is_loaded_once(&world, "at once");
}

#[test]
fn what_the_format_does_not_carry_over_is_counted() {
    let world = world();
    let full = |id: &str, members: Value| {
        let mut fact = fact(id, "bench:x", id);
        for (name, value) in members.as_object().unwrap() {
            fact[name] = value.clone();
        }
        fact
    };
    let facts = [
        full("f_1", json!({"tenant_hash": "t2", "actor": "alice"})),
        full("f_2", json!({"valid_from": "2026-01-01T00:00:00Z", "horizon_class": "stable"})),
        full("f_3", json!({"deleted": true})),
        full("f_4", json!({"tenant_hash": " ", "valid_to": "2026-01-01T00:00:00Z", "superseded_by": "f_9"})),
    ];
    let told = accept(&world, &envelope(package(&facts))).ends(0).json();
    let lost: Vec<&Value> =
        ["lost_tenants", "lost_actors", "lost_validity", "lost_horizons", "left_out_deleted", "facts_loaded"]
            .map(|n| &told[n])
            .into();
    assert_eq!(json!(lost), json!([1, 1, 2, 2, 1, 3]));
    for fact in self::facts(&world).values() {
        assert_eq!((&fact["tenant"], &fact["horizon"]), (&json!("default"), &json!("stable")));
        assert!(fact["actor"].is_null() && fact["valid_from"].is_null() && fact["superseded_by"].is_null());
    }
}

#[test]
fn a_session_that_is_there_is_replaced_unless_that_is_not_wanted() {
    let world = world();
    world.run_with(&words("session put s --agent bob"), "\"mine\"").ends(0);
    let before = world.read(SESSIONS);
    let error = world.run_with(&[words(ACCEPT), vec!["--if-absent"]].concat(), three()).fails(Code::RefusedExists);
    assert!(error["message"].as_str().unwrap().contains("\"s\""), "{error}");
    assert!(world.read(SESSIONS) == before && lines(&world, LEDGER).is_empty() && !world.dir().join(FACTS).exists());
    let told = accept(&world, &three()).ends(0).json();
    assert_eq!(told["session_replaced"], true);
    assert_eq!(world.run(&words("session get s --agent bob")).text(), "{\"n\":1.10}\n");
}

#[test]
fn a_package_without_a_state_brings_its_facts_alone() {
    let world = world();
    let text = package(&[fact("f_1", "e", "k")]).replace("{\"n\":1.10}", "null");
    let told = accept(&world, &envelope(text)).ends(0).json();
    assert_eq!((&told["session_loaded"], &told["facts_loaded"]), (&json!(false), &json!(1)));
    assert!(!world.dir().join(SESSIONS).exists() && facts(&world).len() == 1);
}

#[test]
fn a_state_is_stored_byte_for_byte_on_one_line() {
    for (state, want) in [
        (
            "{\"n\": 12345678901234567890123, \"e\": 1e2, \"z\": -0}",
            "{\"n\": 12345678901234567890123, \"e\": 1e2, \"z\": -0}",
        ),
        ("{\n  \"a b\": [1,\r\n 2]\n}", "{\"a b\":[1,2]}"),
    ] {
        let world = world();
        accept(&world, &envelope(package(&[]).replace("{\"n\":1.10}", state))).ends(0);
        assert_eq!(world.run(&words("session get s --agent bob")).text(), format!("{want}\n"));
        assert_eq!(world.check(&["--for-daemon"]).0, 0);
    }
}

#[test]
fn a_dry_run_says_what_would_be_loaded_and_loads_nothing() {
    let world = world();
    let told = world.run_with(&[words(ACCEPT), vec!["--dry-run"]].concat(), three()).ends(0).json();
    assert_eq!(
        (&told["facts_loaded"], &told["session_loaded"], &told["dry_run"]),
        (&json!(3), &json!(true), &json!(true))
    );
    assert!(told["accepted_at"].is_null() && !world.dir().exists());
    accept(&world, &three()).ends(0);
    world.run_with(&[words(ACCEPT), vec!["--dry-run"]].concat(), three()).fails(Code::RefusedReplayed);
}

// ---- What does not come in ----

/// Nothing was written at all.
fn untouched(world: &World, answer: &Answer) {
    let there = [SESSIONS, FACTS, LEDGER].map(|file| world.dir().join(file).exists());
    assert!(answer.stdout.is_empty() && there == [false; 3], "{answer:?} {there:?}");
}

#[test]
fn nothing_comes_in_under_the_name_of_another_agent_or_the_daemon() {
    let private = |entity: &str| {
        let mut fact = fact("f_1", entity, "k");
        fact["private"] = json!(true);
        envelope(package(&[fact]))
    };
    let plain = |entity: &str| envelope(package(&[fact("f_1", entity, "k")]));
    for (text, entity, private) in [
        (private("notes"), "__agent::bob::notes", true),
        (private("__agent::alice::notes"), "__agent::bob::notes", true),
        // It says that it is not private, and it is by its name.
        (plain("__agent::carol::notes::x"), "__agent::bob::notes::x", true),
        (private("__ops::host"), "__agent::bob::__ops::host", true),
        (plain("__ops::host"), "__ops::host", true),
        (plain("github::x"), "github::x", true),
        (plain("project:x"), "project:x", false),
    ] {
        let world = world();
        accept(&world, &text).ends(0);
        let fact = lines(&world, FACTS).remove(0)["fact"].clone();
        assert_eq!((&fact["entity"], &fact["private"]), (&json!(entity), &json!(private)));
        // Without an agent there is nobody whom a private fact could belong to.
        if entity.starts_with("__agent::") {
            let world = self::world();
            let answer = world.run_with(&words("handoff accept --key-file key --json"), &text);
            rejected(&answer, Code::RejectedReceiver);
            untouched(&world, &answer);
        }
    }
    for entity in ["__legal_hold__::x", "__legal_hold_receipt__::x", "__incident__::x"] {
        let world = world();
        let answer = accept(&world, &plain(entity));
        answer.fails(Code::RefusedDaemonsOwn);
        untouched(&world, &answer);
    }
    let world = world();
    let text = envelope(package(&[]).replace("\"session_id\":\"s\"", "\"session_id\":\"__agent_session::carol::s\""));
    let answer = world.run_with(&words("handoff accept --key-file key --json"), &text);
    rejected(&answer, Code::RejectedPayload);
    untouched(&world, &answer);
    accept(&world, &text).ends(0);
    assert_eq!(world.session_ids(), ["__agent_session::bob::__agent_session::carol::s"]);
}

#[test]
fn what_does_not_fit_is_refused_before_anything_is_written() {
    let deep = format!("{}1{}", "[".repeat(126), "]".repeat(126));
    let large = format!("\"{}\"", "x".repeat(17 << 20));
    for (state, code) in [(deep, Code::RefusedDaemonUnreadable), (large.clone(), Code::RefusedTooLarge)] {
        let world = world();
        let text = package(&[fact("f_1", "e", "k")]).replace("{\"n\":1.10}", &state);
        let answer = accept(&world, &envelope(text));
        answer.fails(code);
        untouched(&world, &answer);
    }
    let world = world();
    let text = envelope(package(&[]).replace("{\"n\":1.10}", &large));
    world.run_with(&[words(ACCEPT), vec!["--max-state-bytes", "20000000"]].concat(), text).ends(0);
    // Control characters take six bytes each in a line of the journal.
    let world = self::world();
    let mut huge = fact("f_1", "e", "k");
    huge["value"] = json!("\u{1}".repeat(12 << 20));
    let answer = accept(&world, &envelope(package(&[fact("f_0", "e", "k"), huge])));
    answer.fails(Code::RefusedTooLarge);
    untouched(&world, &answer);
}

#[test]
fn an_envelope_that_is_no_good_changes_nothing() {
    let world = world();
    for (text, code) in [
        (three().replace("\"content_hash\":\"", "\"content_hash\":\"0"), Code::RejectedMalformed),
        (crate::envelopes::parts(b"{}", SECRET).to_string(), Code::RejectedPayload),
        (crate::envelopes::parts(b"{}", "another secret of tests").to_string(), Code::RejectedMac),
        (envelope(with("\"target_agent\":\"carol\"")), Code::RejectedTarget),
        (envelope(with("\"expires_at\":\"2026-07-01T11:00:00Z\"")), Code::RejectedExpired),
    ] {
        let answer = accept(&world, &text);
        rejected(&answer, code);
        untouched(&world, &answer);
    }
}

#[test]
fn a_damaged_ledger_lets_nothing_in() {
    let world = world().damaged();
    accept(&world, &three()).ends(0);
    let ledger = world.read(LEDGER);
    world.write(LEDGER, &ledger[..ledger.len() - 40]);
    let before = world.journals();
    let error = accept(&world, &three()).fails(Code::RefusedDamage);
    assert!(error["hints"][0].as_str().unwrap().contains("journal check handoffs"), "{error}");
    world.run(&words("journal compact sessions --json")).fails(Code::RefusedDamage);
    assert_eq!(world.run(&words("handoff list --json")).status, 3);
    assert!(world.journals() == before);
    // A record that is gone altogether is missed as well.
    world.write(LEDGER, "");
    accept(&world, &three()).fails(Code::RefusedDamage);
}

#[test]
fn damage_beside_what_is_loaded_is_told_and_in_nobodys_way() {
    let world = world().damaged();
    fs::create_dir(world.dir()).unwrap();
    world.write(SESSIONS, session_line("x", "1") + "\n{\"op\":");
    world.write(FACTS, "{\"op\":\n");
    let answer = accept(&world, &three()).ends(0);
    assert!(answer.stderr.contains("sessions.jsonl is damaged") && answer.stderr.contains("facts.jsonl is damaged"));
    assert_eq!(world.run(&words("session get s --agent bob")).stdout, b"{\"n\":1.10}\n");
}

// ---- Interrupted ----

/// Accepts until it is done; no more than twice.
fn completes(world: &World, what: &str) -> Value {
    let answer = accept(world, &three());
    match answer.status {
        0 => answer.json(),
        5 => {
            answer.fails(Code::RefusedReplayed);
            Value::Null
        }
        _ => panic!("{what}: {answer:?}"),
    }
}

#[test]
fn killed_at_any_call_it_is_completed_by_typing_it_again() {
    if strace_is_waived() {
        return;
    }
    let mut killed = 0;
    for call in ["write", "fdatasync", "openat", "pwrite64", "fsync"] {
        for nth in 1.. {
            let world = world();
            let inject = format!("inject={call}:signal=KILL:when={nth}");
            let traced = world.traced(&["-e", &format!("trace={call}"), "-e", &inject], &words(ACCEPT), &three());
            if traced.answer.status == 0 {
                break;
            }
            killed += 1;
            let what = format!("{call} {nth}");
            let told = completes(&world, &what);
            let open = !told.is_null() && told["completed"] == true;
            assert_eq!(lines(&world, LEDGER).len(), 2, "{what}, {open}");
            is_loaded_once(&world, &what);
        }
    }
    assert!(killed > 30, "{killed}");
}

#[test]
fn whatever_call_fails_it_is_completed_by_typing_it_again() {
    if strace_is_waived() {
        return;
    }
    let mut failed = 0;
    for (call, error) in [("write", "ENOSPC"), ("fdatasync", "EIO"), ("pread64", "EIO")] {
        for nth in 1.. {
            let world = world();
            let inject = format!("inject={call}:error={error}:when={nth}");
            let traced = world.traced(&["-e", &format!("trace={call}"), "-e", &inject], &words(ACCEPT), &three());
            if traced.injected().is_none() {
                break;
            }
            let what = format!("{call} {nth}: {:?}", traced.answer);
            // The program has not even begun.
            if traced.answer.status == 127 {
                continue;
            }
            failed += u32::from(traced.answer.status != 0);
            assert!([0, 7, 8].contains(&traced.answer.status), "{what}");
            if traced.answer.status != 0 && !traced.answer.stderr.contains("standard output") {
                assert!(traced.answer.stdout.is_empty(), "{what}");
            }
            let entry = lines(&world, LEDGER);
            if traced.answer.status == 0 || entry.last().is_some_and(|entry| entry["state"] == "accepted") {
                is_loaded_once(&world, &what);
                continue;
            }
            completes(&world, &what);
            is_loaded_once(&world, &what);
        }
    }
    assert!(failed > 4, "{failed}");
}

#[test]
fn killed_at_any_moment_it_is_completed_by_typing_it_again() {
    let world = world();
    // How long it takes here and now.
    let begun = std::time::Instant::now();
    accept(&world, &three()).ends(0);
    let takes = begun.elapsed();
    for n in 0..200u32 {
        let world = self::world();
        let mut command = world.command(&words(ACCEPT));
        let mut child = command.stdin(Stdio::piped()).spawn().unwrap();
        child.stdin.take().unwrap().write_all(three().as_bytes()).unwrap();
        thread::sleep(takes * n / 160);
        let _ = child.kill();
        child.wait().unwrap();
        completes(&world, &n.to_string());
        is_loaded_once(&world, &n.to_string());
    }
}

#[test]
fn on_a_full_disk_nothing_is_lost_and_the_rest_comes_later() {
    let world = world();
    fs::create_dir(world.dir()).unwrap();
    let Some(_mount) = Mount::memory(&world.dir(), "1m") else { return };
    let mut big = fact("f_b", "e2", "k");
    big["value"] = json!("x".repeat(300_000));
    let text = envelope(package(&[fact("f_a", "e", "k"), big]));
    world.run(&words("journal check")).ends(0);
    world.fill(100_000);
    let answer = accept(&world, &text);
    answer.fails(Code::EnvironmentSpace);
    assert!(answer.stdout.is_empty() && answer.stderr.contains("cruxctl handoff accept --agent bob"), "{answer:?}");
    assert!(facts(&world).is_empty());
    fs::remove_file(world.dir().join("filler")).unwrap();
    let told = accept(&world, &text).ends(0).json();
    assert_eq!((&told["completed"], facts(&world).len()), (&json!(true), 2));
}

/// A world in which a handoff was begun: the ledger's first line, and these lines of the journals that it would have.
fn begun(facts: &[usize], session: bool) -> World {
    let whole = world();
    accept(&whole, &three()).ends(0);
    let pick = |file: &str, wanted: &[usize]| {
        let text = String::from_utf8(whole.read(file)).unwrap();
        let lines: Vec<&str> = text.lines().collect();
        wanted.iter().map(|n| format!("{}\n", lines[*n])).collect::<String>()
    };
    let world = world();
    fs::create_dir_all(world.dir().join("cruxctl")).unwrap();
    world.write(LEDGER, pick(LEDGER, &[0]));
    world.write(FACTS, pick(FACTS, facts));
    world.write(SESSIONS, pick(SESSIONS, if session { &[0] } else { &[] }));
    world
}

#[test]
fn whatever_part_is_there_the_rest_is_loaded_with_the_same_ids() {
    // The journal of facts has the lines a, b, c, and that c takes the place of a.
    for facts in [&[][..], &[0], &[1], &[0, 1], &[0, 1, 2], &[0, 1, 2, 3], &[0, 2], &[2]] {
        for session in [false, true] {
            let world = begun(facts, session);
            let ids = lines(&world, LEDGER)[0]["fact_ids"].clone();
            let what = format!("{facts:?}, {session}");
            let told = accept(&world, &three()).ends(0).json();
            assert_eq!((&told["completed"], &told["fact_ids"]), (&json!(true), &ids), "{what}");
            // A line that lost the one before it keeps the version that it was written with.
            if !facts.starts_with(&[2]) {
                is_loaded_once(&world, &what);
            }
            let known = self::facts(&world);
            assert!(
                known.len() == 3 && known.keys().all(|id| ids.as_array().unwrap().contains(&json!(id))),
                "{what}"
            );
        }
    }
}

#[test]
fn what_was_written_since_is_left_as_it_is() {
    // Somebody has stored the session since: it stays, and is told.
    let world = begun(&[0], false);
    world.run_with(&words("session put s --agent bob"), "\"newer\"").ends(0);
    let answer = accept(&world, &three()).ends(0);
    assert_eq!(answer.json()["session_loaded"], false);
    assert!(answer.stderr.contains("left as it is"), "{answer:?}");
    assert_eq!(world.run(&words("session get s --agent bob")).text(), "\"newer\"\n");
    // Our own record is there, and then somebody else's.
    let world = begun(&[0], true);
    world.run_with(&words("session put s --agent bob"), "\"newer\"").ends(0);
    assert_eq!(accept(&world, &three()).ends(0).json()["session_loaded"], true);
    assert_eq!(world.run(&words("session get s --agent bob")).text(), "\"newer\"\n");
    // Somebody has deleted it.
    let world = begun(&[0], true);
    world.run(&words("session delete s --agent bob")).ends(0);
    accept(&world, &three()).ends(0);
    assert!(world.session_ids().is_empty());
    // A fact that was loaded was deleted, and a link that was made was taken back.
    let world = begun(&[0, 1, 2, 3], false);
    let ids = lines(&world, LEDGER)[0]["fact_ids"].clone();
    let id = |n: usize| ids[n].as_str().unwrap();
    world.run(&["fact", "delete", id(1)]).ends(0);
    world.run(&["fact", "supersede", id(0), "--clear"]).ends(0);
    accept(&world, &three()).ends(0);
    let facts = facts(&world);
    assert!(facts.len() == 3 && facts[id(1)]["deleted"] == true && facts[id(0)]["superseded_by"].is_null());
    // Somebody has stored a version of the same chain: it stays the newest, whatever of ours was there before.
    for (there, left_out) in [(&[][..], 2), (&[0], 1)] {
        let world = begun(there, false);
        world.run(&words("fact store --entity e --key k --value theirs")).ends(0);
        let answer = accept(&world, &three()).ends(0);
        assert_eq!(
            (&answer.json()["left_out_newer"], &answer.json()["facts_loaded"]),
            (&json!(left_out), &json!(3 - left_out))
        );
        assert!(answer.stderr.contains("left out: newer ones"), "{answer:?}");
        let list = world.run(&words("fact list --entity e --json")).json();
        assert_eq!(list["facts"].as_array().unwrap().len(), 1);
        assert_eq!(list["facts"][0]["value"], "theirs");
        let entry = lines(&world, LEDGER).pop().unwrap();
        assert_eq!(entry["fact_ids"].as_array().unwrap().len(), 3 - left_out);
    }
    // A version that was there before is none of these.
    let world = self::world();
    world.run(&words("fact store --entity e --key k --value before")).ends(0);
    let before = world.read(FACTS);
    accept(&world, &three()).ends(0);
    let first = String::from_utf8(world.read(LEDGER)).unwrap().lines().next().unwrap().to_owned() + "\n";
    for (file, bytes) in [(LEDGER, first.as_bytes()), (FACTS, &before), (SESSIONS, b"")] {
        world.write(file, bytes);
    }
    fs::remove_dir_all(world.dir().join("cruxctl/index")).unwrap();
    assert_eq!(accept(&world, &three()).ends(0).json()["facts_loaded"], 3);
    let history = world.run(&words("fact history e k --json")).json();
    let values: Vec<&Value> = history["versions"].as_array().unwrap().iter().map(|v| &v["value"]).collect();
    assert_eq!(json!(values), json!(["before", "value of f_a", "value of f_c"]));
}

#[test]
fn a_repair_or_a_clock_between_changes_nothing_of_what_is_left_alone() {
    // A session that was deleted since stays so, though a repair has moved every record.
    let world = world().damaged();
    world.run_with(&words("session put s --agent bob"), "\"mine\"").ends(0);
    let good = world.read(SESSIONS);
    world.write(
        SESSIONS,
        [&b"{\"op\":\"store\",\"session\":{\"session_id\":\"torn, and rather long\"\n"[..], &good].concat(),
    );
    let before = world.read(SESSIONS);
    accept(&world, &three()).ends(0);
    let back_to_begun = |world: &World, sessions: &[u8]| {
        let first = String::from_utf8(world.read(LEDGER)).unwrap().lines().next().unwrap().to_owned() + "\n";
        for (file, bytes) in [(LEDGER, first.as_bytes()), (FACTS, b""), (SESSIONS, sessions)] {
            world.write(file, bytes);
        }
        fs::remove_dir_all(world.dir().join("cruxctl/index")).unwrap();
    };
    back_to_begun(&world, &before);
    world.run(&words("session delete s --agent bob")).ends(0);
    world.run(&words("journal repair sessions --apply")).ends(0);
    let answer = accept(&world, &three()).ends(0);
    assert!(answer.json()["session_loaded"] == false && world.session_ids().is_empty(), "{answer:?}");
    assert_eq!(lines(&world, LEDGER).pop().unwrap()["session"], false);
    // One that nobody has touched is replaced, whatever its clock said.
    let mut world = self::world();
    world.at("2026-12-01T00:00:00Z");
    world.run_with(&words("session put s --agent bob"), "\"ahead\"").ends(0);
    let before = world.read(SESSIONS);
    world.at("2026-07-01T12:00:00Z");
    accept(&world, &three()).ends(0);
    back_to_begun(&world, &before);
    let trial = world.run_with(&[words(ACCEPT), vec!["--dry-run"]].concat(), three()).ends(0).json();
    let told = accept(&world, &three()).ends(0).json();
    for told in [trial, told] {
        assert_eq!(
            (&told["session_loaded"], &told["completed"], &told["left_out_newer"]),
            (&json!(true), &json!(true), &json!(0))
        );
    }
}

#[test]
fn what_is_there_without_its_line_end_gets_it() {
    let whole = begun(&[0, 1, 2, 3], true);
    for file in [FACTS, SESSIONS] {
        let world = begun(&[0, 1, 2, 3], true);
        let bytes = whole.read(file);
        let text = String::from_utf8(world.read(file)).unwrap();
        world.write(file, &text[..text.len() - 1]);
        accept(&world, &three()).ends(0);
        assert!(world.read(file).ends_with(b"\n") && world.read(file).len() == bytes.len(), "{file}");
        is_loaded_once(&world, file);
        assert_eq!(world.check(&["--for-daemon"]).0, 0);
    }
}

#[test]
fn a_fact_of_which_only_the_delete_is_left_is_not_loaded_again() {
    let world = begun(&[0, 1, 2, 3], true);
    let ids = lines(&world, LEDGER)[0]["fact_ids"].clone();
    let id = ids[1].as_str().unwrap();
    // As the daemon compacts it.
    let text = String::from_utf8(world.read(FACTS)).unwrap();
    let left: String = text.lines().filter(|line| !line.contains(id)).map(|line| format!("{line}\n")).collect();
    world.write(FACTS, left + &format!("{{\"op\":\"delete\",\"fact_id\":\"{id}\",\"deleted_at\":\"x\"}}\n"));
    accept(&world, &three()).ends(0);
    assert_eq!(facts(&world).len(), 2);
    // A scan that a newer one has removed is not put in its place.
    let scan = envelope(package(&[fact("f_s", "__repo_scan__::x", "content")]));
    let world = self::world();
    accept(&world, &scan).ends(0);
    let first = String::from_utf8(world.read(LEDGER)).unwrap().lines().next().unwrap().to_owned() + "\n";
    world.write(LEDGER, first);
    fs::remove_dir_all(world.dir().join("cruxctl/index")).unwrap();
    world.run(&words("fact store --entity __repo_scan__::x --key content --value newer --all-agents")).ends(0);
    accept(&world, &scan).ends(0);
    let facts = facts(&world);
    assert!(facts.len() == 1 && facts.values().all(|fact| fact["value"] == "newer"), "{facts:?}");
}

#[test]
fn a_handoff_that_was_begun_in_time_is_completed_however_late() {
    let text = envelope(with("\"expires_at\":\"2026-07-01T13:00:00Z\""));
    let mut world = world();
    accept(&world, &text).ends(0);
    let first = String::from_utf8(world.read(LEDGER)).unwrap().lines().next().unwrap().to_owned();
    world.write(LEDGER, first + "\n");
    world.write(SESSIONS, "");
    fs::remove_dir_all(world.dir().join("cruxctl/index")).unwrap();
    world.at("2026-09-01T00:00:00Z");
    let told = accept(&world, &text).ends(0).json();
    assert_eq!((&told["completed"], &told["accepted_at"]), (&json!(true), &json!("2026-09-01T00:00:00Z")));
    accept(&world, &text).fails(Code::RefusedReplayed);
}

#[test]
fn while_it_is_half_accepted_nobody_else_accepts_it_and_nothing_is_compacted() {
    let world = begun(&[0], false);
    let hash = lines(&world, LEDGER)[0]["content_hash"].as_str().unwrap().to_owned();
    for agent in [&["--agent", "carol"][..], &[]] {
        let error =
            world.run_with(&[words("handoff accept --key-file key --json"), agent.to_vec()].concat(), three());
        assert!(error.fails(Code::RefusedOpen)["hints"][0].as_str().unwrap().contains("--agent bob"));
    }
    for line in ["compact facts", "compact sessions", "compact facts --dry-run"] {
        let error = world.run(&words(&format!("journal {line} --json"))).fails(Code::RefusedOpen);
        assert!(error["hints"][1].as_str().unwrap().contains(&hash), "{error}");
    }
    world.run_with(&[words(ACCEPT), vec!["--again"]].concat(), three()).fails(Code::RefusedOpen);
    world.run(&words("journal compact cases")).ends(0);
    let list = world.run(&words("handoff list --open --json")).ends(0);
    assert_eq!(list.json()["handoffs"][0]["state"], "open");
    assert!(list.stderr.contains("half accepted"));
    // It can be given up; then it is over, unless all of it is wanted anew.
    world.run(&["handoff", "abandon", &hash, "--dry-run"]).ends(0);
    world.run(&words("journal compact facts --json")).fails(Code::RefusedOpen);
    world.run(&["handoff", "abandon", &hash]).ends(0);
    world.run(&["handoff", "abandon", &hash, "--json"]).fails(Code::NoHandoff);
    world.run(&words("journal compact facts")).ends(0);
    accept(&world, &three()).fails(Code::RefusedReplayed);
    world.run_with(&[words(ACCEPT), vec!["--again"]].concat(), three()).ends(0);
    assert_eq!(facts(&world).len(), 4);
}

// ---- The other side ----

#[test]
fn facts_go_along_that_the_state_names_or_that_are_about_the_session() {
    let world = world();
    let store =
        |line: &str| world.run(&[vec!["fact", "store"], words(line)].concat()).ends(0).text().trim().to_owned();
    let old = store("--entity s --key summary --value old");
    let new = store("--entity s --key summary --value new --tenant default --actor alice");
    let decision = store("--entity __decisions__::s --key d --value v --confidence 0.3");
    let named = store("--entity elsewhere --key k --value v");
    let work = store("--entity project:p --key k --value v");
    let other = store("--entity s2 --key k --value v");
    let deleted = store("--entity s --key gone --value v");
    let hers = store("--entity s --key k --value v --private --agent alice");
    let ops = store("--entity __ops::s --key k --value v");
    world.run(&["fact", "delete", &deleted]).ends(0);
    // Whole values name facts; names of members do not, nor parts of a text.
    let state = json!({"a": [named, ops, format!("see {other}")], work: 1}).to_string();
    world.run_with(&words("session put s --agent alice"), state).ends(0);
    let mint = "handoff create s --agent alice --key-file key --no-expiry";
    let payload = |flags: &str| {
        let minted = world.run(&[words(mint), words(flags)].concat()).ends(0);
        let envelope: Value = minted.json();
        let payload = STANDARD.decode(envelope["payload_b64"].as_str().unwrap()).unwrap();
        (serde_json::from_slice::<Value>(&payload).unwrap(), minted.stderr)
    };
    assert_eq!(payload("").0["facts"], json!([]));
    let (package, told) = payload("--include-facts");
    let mut want = [&old, &new, &decision, &named];
    want.sort();
    let ids: Vec<&str> =
        package["facts"].as_array().unwrap().iter().map(|f| f["fact_id"].as_str().unwrap()).collect();
    assert_eq!(ids, want, "stored at the same time, so by their ids");
    assert!(told.contains("2 private facts") && told.contains("with 4 facts"), "{told}");
    let first = package["facts"].as_array().unwrap().iter().find(|fact| fact["fact_id"] == *old).unwrap();
    assert_eq!(first["superseded_by"], json!(new));
    assert!(world.run(&["fact", "show", &hers, "--all-agents"]).status == 0);
}

#[test]
fn the_daemons_own_facts_are_bundled_as_the_daemon_bundled_them() {
    let world = World::copy_of("tests/data/daemon/small/data");
    fs::write(world.beside("key"), SECRET).unwrap();
    let minted = world.run(&words("handoff create handoff_src --agent alice --key-file key --include-facts")).ends(0);
    let payload = STANDARD.decode(minted.json()["payload_b64"].as_str().unwrap()).unwrap();
    let theirs = json_file("tests/data/envelopes/verdicts.json")[1]["payload_text"].as_str().unwrap().to_owned();
    let facts = |payload: &str| payload.split("\"created_at\"").next().unwrap().to_owned();
    assert_eq!(facts(std::str::from_utf8(&payload).unwrap()), facts(&theirs));
    assert!(facts(&theirs).len() > 1000);
}

#[test]
fn a_handoff_goes_through_a_pipe_into_another_data_directory() {
    let world = world();
    world.run_with(&words("session put s --agent alice"), "{\"step\":7}").ends(0);
    world.run(&words("fact store --entity s --key k --value v")).ends(0);
    let line = "set -o pipefail; cruxctl handoff create s --agent alice --target bob --include-facts --key-file key | \
                cruxctl handoff accept --agent bob --key-file key --data-dir there --format id";
    assert_eq!(world.shell(line).ends(0).text(), "s\n");
    assert_eq!(world.shell("cruxctl session get s --agent bob --data-dir there").text(), "{\"step\":7}\n");
    assert_eq!(world.shell("cruxctl fact list --entity s --data-dir there --format id").lines().len(), 1);
    let verified = "set -o pipefail; cruxctl handoff create s --agent alice --target bob --key-file key | \
                    cruxctl handoff verify --agent bob --key-file key";
    assert!(world.shell(verified).ends(0).text().starts_with("{\"session_id\":\"s\""));
    let missing = "set -o pipefail; cruxctl handoff create nope --agent alice --key-file key | \
                   cruxctl handoff accept --agent bob --key-file key --data-dir there";
    assert_eq!(world.shell(missing).status, 4, "the last that fails is the empty input");
}

#[test]
fn an_agents_signature_is_enough_and_is_noted() {
    let world = world();
    world.run_with(&words("session put s --agent alice"), "1").ends(0);
    world.run(&words("handoff keygen a.key --ed25519")).ends(0);
    let minted = world.run(&words("handoff create s --agent alice --sign-key a.key")).ends(0).text();
    let line = "handoff accept --agent bob --data-dir there --json";
    world.run_with(&words(line), &minted).fails(Code::EnvironmentNoKey);
    world.run(&words("handoff trust add alice a.key.pub --data-dir there")).ends(0);
    let told = world.run_with(&words(line), &minted).ends(0).json();
    assert_eq!(told["signed_by"], "alice");
    let list = world.run(&words("handoff list --data-dir there --json")).json();
    assert_eq!(list["handoffs"][0]["signed_by"], "alice");
}

#[test]
fn handoffs_are_noted_where_the_variable_asks_for_it_and_never_get_in_the_way() {
    let world = world();
    world.run_with(&words("session put s --agent alice"), "1").ends(0);
    let run = |value: &str, line: &str, input: &str| {
        let mut command = world.command(&words(line));
        command.env("CORECRUXD_HANDOFF_OBSERVATIONS", value).stdin(Stdio::piped());
        let mut child = command.spawn().unwrap();
        child.stdin.take().unwrap().write_all(input.as_bytes()).unwrap();
        Answer::from(child.wait_with_output().unwrap())
    };
    let create = "handoff create s --agent alice --target Bob --key-file key";
    let file = "cruxctl/observations.jsonl";
    for off in ["", "0", "false", "OFF", "no"] {
        run(off, create, "").ends(0);
    }
    assert!(!world.dir().join(file).exists());
    let minted = run("1", create, "").ends(0).text();
    run("yes", "handoff accept --key-file key --agent Bob", &minted).ends(0);
    let notes = lines(&world, file);
    let envelope: Value = serde_json::from_str(&minted).unwrap();
    let hash = envelope["content_hash"].as_str().unwrap();
    for (note, action) in notes.iter().zip(["create", "accept"]) {
        let want = json!({
            "kind": "handoff", "provider": "crux-handoff",
            "payload": {
                "schema": "crux.s1.handoff_observation.v1", "action": action, "surface": "cruxctl", "session_id": "s",
                "source_agent": "alice", "target_agent": "bob", "source_passport": null, "target_passport": null,
                "cross_vendor": null, "handoff_payload_hash": format!("blake3:{hash}"), "handoff_content_hash": hash,
            },
        });
        assert_eq!(*note, want);
    }
    assert_eq!(notes.len(), 2);
    // Where it cannot be noted, the handoff is minted all the same.
    fs::remove_file(world.dir().join(file)).unwrap();
    fs::create_dir(world.dir().join(file)).unwrap();
    let answer = run("1", create, "").ends(0);
    assert!(answer.stderr.contains("not observed") && answer.text().starts_with("{\"payload_b64\""), "{answer:?}");
    assert_eq!(world.check(&[]).0, 0);
}

/// Where the ledger's last line begins.
fn last_line(world: &World) -> usize {
    let ledger = world.read(LEDGER);
    ledger[..ledger.len() - 1].iter().rposition(|byte| *byte == b'\n').map_or(0, |at| at + 1)
}

fn cut_ledger(world: &World, len: usize) {
    let ledger = fs::OpenOptions::new().write(true).open(world.dir().join(LEDGER)).unwrap();
    ledger.set_len(len as u64).unwrap();
}

#[test]
fn a_write_to_the_ledger_that_was_never_finished_is_set_aside_and_in_nobodys_way() {
    // Somebody was killed in the middle of the ledger's first line, and in the middle of a later one.
    for others in [0, 2] {
        let world = world();
        for n in 0..others {
            accept(&world, &envelope(package(&[fact(&format!("f_{n}"), "e", "k")]))).ends(0);
        }
        let before = world.read(LEDGER);
        fs::create_dir_all(world.dir().join("cruxctl")).unwrap();
        world.append(LEDGER, "{\"op\":\"begin\",\"content_h");
        let answer = accept(&world, &three()).ends(0);
        assert!(answer.stderr.contains("was never finished: its 24 bytes were set aside"), "{answer:?}");
        assert!(world.read(LEDGER).starts_with(&before));
        assert_eq!(world.check(&[]).0, 0);
        accept(&world, &three()).fails(Code::RefusedReplayed);
    }
}

#[test]
fn a_line_of_the_ledger_that_was_cut_is_no_unfinished_write_and_lets_nothing_in() {
    let world = world().damaged();
    accept(&world, &three()).ends(0);
    let at = last_line(&world);
    // In the middle of a line that was acknowledged, the witness there or not.
    cut_ledger(&world, at + 20);
    accept(&world, &three()).fails(Code::RefusedDamage);
    world.forget();
    accept(&world, &three()).fails(Code::RefusedDamage);
}
