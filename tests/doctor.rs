//! The doctor: one look at a directory says where and whose it is, what is in it, who is at it, and what to do next;
//! and nothing is changed by looking.

use std::fs;
use std::os::unix::fs::PermissionsExt;

use cruxctl::handoff::signature::PrivateKey;
use serde_json::Value;

use crate::support::{World, session_line, words};

fn doctor(world: &World) -> Value {
    world.run(&words("doctor --json")).json()
}

fn journal<'v>(told: &'v Value, name: &str) -> &'v Value {
    told["journals"].as_array().unwrap().iter().find(|journal| journal["journal"] == name).unwrap()
}

#[test]
fn a_damaged_directory_is_told_in_one_screen_and_left_as_it_is() {
    let world = World::copy_of("tests/data/after-crash").damaged();
    let before = world.journals();
    let answer = world.run(&words("doctor --json"));
    assert_eq!(answer.status, 3);
    let told = answer.json();
    let sessions = journal(&told, "sessions");
    assert!(sessions["verdict"] == "damaged" && sessions["damage"] == 4, "{told}");
    assert_eq!(sessions["first_damage"], "line 6, byte 1408: welded");
    assert_eq!(told["chosen_by"], "CRUXCTL_DATA_DIR");
    assert_eq!(told["next"][0], "cruxctl journal repair sessions");
    assert_eq!(told["for_the_daemon"], "the daemon does not start, because of sessions.jsonl");
    // What a check says is what is said here.
    let check = world.run(&words("journal check --dry-run --json")).json();
    assert_eq!(told["verdict"], check["verdict"]);
    assert!(world.journals() == before && !world.dir().join("cruxctl").exists());
    let table = world.run(&words("doctor --format table"));
    assert!(table.text().lines().count() <= 35, "{table:?}");
    assert_eq!(world.run(&words("doctor --damaged-ok")).status, 0);
}

#[test]
fn every_format_says_the_same() {
    let world = World::copy_of("tests/data/after-crash").damaged();
    let told = doctor(&world);
    for format in ["table", "plain", "jsonl"] {
        let text = world.run(&["doctor", "--format", format]).text();
        for what in ["verdict", "owner", "file_system", "for_the_daemon"] {
            assert!(text.contains(told[what].as_str().unwrap()), "{format}: {what} in {text}");
        }
        assert!(text.contains("line 6, byte 1408: welded"), "{format}: {text}");
    }
    assert_eq!(world.run(&words("doctor --format id")).text(), "sessions\ncases\nfacts\n");
}

#[test]
fn a_directory_that_is_not_there_is_said_and_not_made() {
    let world = World::new();
    let answer = world.run(&words("doctor --json")).ends(0);
    let told = answer.json();
    assert!(told["exists"] == false && told["owner"].is_null(), "{told}");
    assert!(answer.stderr.contains("the first write makes it") && !world.dir().exists(), "{answer:?}");
    // Why it is this one.
    let mut command = world.command(&words("doctor --json"));
    command.env_remove("CRUXCTL_DATA_DIR").env("HOME", world.beside("home"));
    let told: Value = serde_json::from_slice(&command.output().unwrap().stdout).unwrap();
    assert!(told["chosen_by"] == "HOME" && told["data_dir"].as_str().unwrap().ends_with("/home/.local/share/crux"));
    let typed = world.run(&["doctor", "--json", "--data-dir", "other"]).json();
    assert!(typed["chosen_by"] == "--data-dir" && typed["data_dir"] == "other", "{typed}");
}

#[test]
fn modes_that_let_others_in_are_told_with_the_command_that_mends_them() {
    let world = World::with("sessions.jsonl", session_line("a", "1") + "\n");
    let path = world.dir().join("sessions.jsonl");
    fs::set_permissions(&path, fs::Permissions::from_mode(0o664)).unwrap();
    fs::set_permissions(world.dir(), fs::Permissions::from_mode(0o777)).unwrap();
    let told = doctor(&world);
    assert_eq!(journal(&told, "sessions")["mode"], "0664");
    assert_eq!(told["mode"], "0777");
    for command in told["next"].as_array().unwrap() {
        world.shell(command.as_str().unwrap()).ends(0);
    }
    let told = doctor(&world);
    assert_eq!((&told["mode"], &journal(&told, "sessions")["mode"]), (&"0700".into(), &"0600".into()));
    assert_eq!(told["next"], serde_json::json!([]));
}

#[test]
fn who_holds_the_lock_and_who_has_a_journal_open_is_told() {
    let world = World::new();
    world.run_with(&words("session put a"), "1").ends(0);
    assert_eq!(doctor(&world)["lock"], "free");
    let line = "exec 9< data/cruxctl/lock 8>> data/sessions.jsonl; flock -x 9; cruxctl doctor --json; true";
    let answer = world.shell(line).ends(0);
    let told: Value = serde_json::from_slice(&answer.stdout).unwrap();
    assert!(told["lock"].as_str().unwrap().starts_with("held by process "), "{told}");
    let open = told["opened_by"].as_array().unwrap();
    assert!(open.iter().any(|one| one.as_str().unwrap().contains("): sessions.jsonl")), "{told}");
}

#[test]
fn a_key_in_the_directory_is_told_once_from_wherever_it_is_looked_at() {
    let world = World::new();
    fs::create_dir_all(world.dir()).unwrap();
    fs::write(world.dir().join("k.key"), PrivateKey::new(&[7; 32]).file().as_bytes()).unwrap();
    let answer = world.shell("cd data && cruxctl doctor --data-dir . --json").ends(0);
    let told: Value = serde_json::from_slice(&answer.stdout).unwrap();
    assert_eq!(told["keys"].as_array().unwrap().len(), 1, "{told}");
}

#[test]
fn what_may_not_be_written_or_looked_at_is_not_said_to_be_fine() {
    let world = World::with("sessions.jsonl", session_line("a", "1") + "\n");
    for path in [world.beside("."), world.dir(), world.dir().join("sessions.jsonl")] {
        let mode = if path.is_dir() { 0o755 } else { 0o644 };
        fs::set_permissions(path, fs::Permissions::from_mode(mode)).unwrap();
    }
    for dir in ["data", "new/below"] {
        let told = crate::storage::as_nobody(&world, &["doctor", "--json", "--data-dir", dir]).ends(0).json();
        assert_eq!(told["you_may_write"], false, "{dir}: {told}");
        assert!(told["unseen_processes"].as_u64().unwrap() > 0, "{told}");
    }
}

#[test]
fn keys_are_named_and_never_shown() {
    let world = World::new();
    let key = PrivateKey::new(&[7; 32]);
    fs::create_dir_all(world.dir()).unwrap();
    fs::write(world.beside("alice.key"), key.file().as_bytes()).unwrap();
    fs::write(world.beside("alice.key.pub"), key.public().file()).unwrap();
    fs::write(world.beside("other.key"), "-----BEGIN PRIVATE KEY-----").unwrap();
    world.run(&["handoff", "trust", "add", "alice", "alice.key.pub"]).ends(0);
    let mut command = world.command(&words("doctor --json"));
    command.env("CRUX_MCP_HANDOFF_SECRET", "correct horse battery staple");
    let output = command.output().unwrap();
    let text = String::from_utf8(output.stdout).unwrap();
    let told: Value = serde_json::from_str(&text).unwrap();
    let keys = told["keys"].as_array().unwrap();
    let kinds: Vec<&str> = keys.iter().map(|key| key["kind"].as_str().unwrap()).collect();
    assert_eq!(kinds, ["secret", "trusted", "private", "public"], "{told}");
    assert!(keys[1..].iter().all(|found| found["key_id"] == key.public().key_id().as_str()), "{told}");
    assert_eq!(keys[0]["whose"], "28 bytes");
    assert!(told["next"].as_array().unwrap().iter().any(|next| next == "chmod 600 ./alice.key"), "{told}");
    let digits = key.file();
    let digits = digits.trim_end().rsplit('-').next().unwrap();
    for secret in ["correct horse", &digits[digits.len() - 16..], "BEGIN PRIVATE"] {
        assert!(!text.contains(secret) && !String::from_utf8_lossy(&output.stderr).contains(secret), "{secret}");
    }
}

#[test]
fn a_journal_that_cannot_be_read_says_nothing_of_the_others() {
    let world = World::with("cases.jsonl", "").damaged();
    fs::create_dir(world.dir().join("sessions.jsonl")).unwrap();
    let answer = world.run(&words("doctor --json"));
    assert_eq!(answer.status, 7, "{answer:?}");
    let told = answer.json();
    assert_eq!(journal(&told, "sessions")["verdict"], "unreadable");
    assert_eq!(journal(&told, "cases")["verdict"], "clean");
}

#[test]
fn the_state_of_the_index_is_told() {
    let world = World::new();
    fs::create_dir_all(world.dir()).unwrap();
    let pad = "x".repeat(1_000);
    let text: String = (0..1_500).map(|n| session_line(&format!("s{n}"), &format!("\"{pad}\"")) + "\n").collect();
    world.write("sessions.jsonl", &text);
    fs::set_permissions(world.dir().join("sessions.jsonl"), fs::Permissions::from_mode(0o600)).unwrap();
    fs::set_permissions(world.dir(), fs::Permissions::from_mode(0o700)).unwrap();
    let told = doctor(&world);
    assert_eq!(journal(&told, "sessions")["index"], "none");
    assert_eq!(told["next"], serde_json::json!(["cruxctl journal check sessions"]));
    world.run(&words("journal check sessions")).ends(0);
    assert_eq!(journal(&doctor(&world), "sessions")["index"], "current");
}
