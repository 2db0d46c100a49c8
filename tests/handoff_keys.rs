//! Keys of handoffs: made for their owner alone, never printed, never written over; and a trust list that nobody gets
//! into by accident.

use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::Path;

use cruxctl::cmd::docs;
use cruxctl::error::Code;
use serde_json::Value;

use crate::support::{Answer, World, everything, strace_is_waived, words};

const SECRET: &str = "a secret of these tests";

fn mode(path: &Path) -> u32 {
    fs::metadata(path).unwrap().permissions().mode() & 0o777
}

/// Runs a command with a secret in the daemon's variable.
fn with_secret(world: &World, args: &str, secret: &str, input: &[u8]) -> Answer {
    fs::write(world.beside("input"), input).unwrap();
    let mut command = world.command(&words(args));
    command.env("CRUX_MCP_HANDOFF_SECRET", secret).stdin(fs::File::open(world.beside("input")).unwrap());
    Answer::from(command.output().unwrap())
}

/// A world with a session `s`, a secret in `key`, and key pairs of alice and bob.
fn world() -> World {
    let world = World::new();
    world.put("s", "1");
    world.run_with(&words("session put s --agent alice"), "1").ends(0);
    world.run_with(&words("session put s --agent bob"), "1").ends(0);
    world.run(&words("handoff keygen key")).ends(0);
    world.run(&words("handoff keygen --ed25519 alice")).ends(0);
    world.run(&words("handoff keygen --ed25519 bob")).ends(0);
    world
}

fn signed(world: &World, agent: &str) -> Vec<u8> {
    world.run(&words(&format!("handoff create s --agent {agent} --sign-key {agent}"))).ends(0).stdout
}

fn trust(world: &World, args: &str) -> Answer {
    world.run(&[words("handoff trust --json"), words(args)].concat())
}

#[test]
fn a_new_key_is_its_owners_alone_whatever_the_umask() {
    let world = World::new();
    for umask in ["000", "022", "777"] {
        world
            .shell(&format!(
                "umask {umask}; cruxctl handoff keygen k{umask} && cruxctl handoff keygen --ed25519 e{umask}"
            ))
            .ends(0);
        for file in [format!("k{umask}"), format!("e{umask}"), format!("e{umask}.pub")] {
            assert_eq!(mode(&world.beside(&file)), 0o600, "{file}");
        }
        let text = fs::read_to_string(world.beside(&format!("k{umask}"))).unwrap();
        let digits = text.strip_suffix('\n').unwrap();
        assert!(digits.len() == 64 && digits.bytes().all(|b| matches!(b, b'0'..=b'9' | b'a'..=b'f')), "{text}");
    }
    let file = |name: &str| fs::read_to_string(world.beside(name)).unwrap();
    assert!(file("k000") != file("k022") && file("e000") != file("e022"));
    assert!(
        file("e000").starts_with("cruxctl-ed25519-private-v1:")
            && file("e000.pub").starts_with("cruxctl-ed25519-public-v1:")
    );
}

#[test]
fn nothing_is_written_over_and_no_link_is_followed() {
    let world = World::new();
    fs::write(world.beside("there"), "mine").unwrap();
    fs::write(world.beside("pair.pub"), "mine").unwrap();
    symlink(world.beside("there"), world.beside("link")).unwrap();
    symlink(world.beside("nowhere"), world.beside("dangling")).unwrap();
    fs::create_dir(world.beside("folder")).unwrap();
    let before = everything(&world.beside(""));
    for args in [
        "there",
        "link",
        "dangling",
        "folder",
        "--ed25519 there",
        "--ed25519 pair",
        "there --dry-run",
        "--ed25519 pair --dry-run",
    ] {
        let answer = world.run(&[words("handoff keygen --json"), words(args)].concat());
        answer.fails(Code::RefusedExists);
        assert!(answer.stdout.is_empty() && everything(&world.beside("")) == before, "{args}");
    }
    world.run(&words("handoff keygen nowhere/k --json")).fails(Code::EnvironmentIo);
    let dry = world.run(&words("handoff keygen new --dry-run --json")).ends(0).json();
    assert!(dry["keys"][0]["dry_run"] == true && dry["keys"][0]["key_id"].is_null());
    assert!(everything(&world.beside("")) == before);
}

#[test]
fn a_key_that_cannot_be_kept_leaves_nothing_behind() {
    if strace_is_waived() {
        return;
    }
    for (call, code) in [("write:error=ENOSPC", Code::EnvironmentSpace), ("fsync:error=EIO", Code::EnvironmentIo)] {
        for (args, files) in [("keygen k", 1), ("keygen --ed25519 k", 2)] {
            let mut failed = 0;
            for nth in 1.. {
                let world = World::new();
                let line =
                    format!("strace -qq -o /dev/null -e inject={call}:when={nth} cruxctl handoff {args} --json");
                let answer = world.shell(&line);
                if answer.status == 0 || answer.code() == "environment.stdout" {
                    break;
                }
                answer.fails(code);
                assert!(answer.stdout.is_empty() && everything(&world.beside("")).is_empty(), "{call} {nth}");
                failed += 1;
            }
            // Each file is written once; it and its folder are synced.
            assert_eq!(failed, if call.starts_with("write") { files } else { 2 * files }, "{call} {args}");
        }
    }
}

#[test]
fn a_new_key_is_on_disk_before_it_is_told() {
    if strace_is_waived() {
        return;
    }
    let world = World::new();
    let calls = "trace=write,fsync,openat,renameat2";
    let traced = world.traced(&["-e", calls], &words("handoff keygen k"), "");
    // It gets its name when it is whole.
    let synced = traced.places("fsync", ".tmp>");
    let folder = traced.places("fsync", &format!("{}>", world.beside("").display()).replace("/>", ">"));
    let told = traced.places("write", "/out>");
    assert!(synced.len() == 1 && folder.len() == 1 && told.len() == 1, "{traced:?}");
    let named = traced.places("renameat2", "RENAME_NOREPLACE");
    assert!(synced[0] < named[0] && named[0] < folder[0] && folder[0] < told[0], "{traced:?}");
    let opened = traced.places("openat", ".tmp\"");
    assert!(
        traced.calls[opened[0]].contains("O_EXCL") && traced.calls[opened[0]].contains("O_NOFOLLOW"),
        "{traced:?}"
    );
}

#[test]
fn one_secret_through_echo_printf_and_another_systems_editor_is_one_key() {
    let world = world();
    for (file, text) in
        [("echo", "s3cret of a test\n"), ("printf", "s3cret of a test"), ("crlf", "s3cret of a test\r\n")]
    {
        fs::write(world.beside(file), text).unwrap();
    }
    let minted = with_secret(&world, "handoff create s", "s3cret of a test", b"").ends(0).stdout;
    for file in ["echo", "printf", "crlf"] {
        world.run_with(&["handoff", "verify", "--key-file", file], &minted).ends(0);
    }
    // The variable is taken as it is.
    with_secret(&world, "handoff verify", "s3cret of a test", &minted).ends(0);
    with_secret(&world, "handoff verify", "s3cret of a test\n", &minted).ends(4);
    // What the manual says of the daemon's variable.
    let exported = world.shell(
        "export CRUX_MCP_HANDOFF_SECRET=\"$(cat key)\"; set -o pipefail; cruxctl handoff create s | cruxctl handoff verify --key-file key",
    );
    exported.ends(0);
    // Bytes that are no text are a secret, too.
    fs::write(world.beside("bytes"), b"\xff\xfe\x00 sixteen bytes").unwrap();
    let minted = world.run(&words("handoff create s --key-file bytes")).ends(0);
    world.run_with(&words("handoff verify --key-file bytes"), minted.stdout).ends(0);
}

#[test]
fn a_secret_of_nothing_neither_mints_nor_verifies() {
    let world = world();
    for text in ["", "\n", "\r\n", "  \t", "\n\n"] {
        fs::write(world.beside("blank"), text).unwrap();
        for verb in ["create s", "verify"] {
            let answer = world.run(&words(&format!("handoff {verb} --json --key-file blank")));
            let error = answer.fails(Code::EnvironmentKeyEmpty);
            assert!(answer.stdout.is_empty() && error["message"].as_str().unwrap().contains("blank"));
            if !text.contains('\n') || text == "\n\n" {
                with_secret(&world, &format!("handoff {verb} --json"), text, b"").fails(Code::EnvironmentKeyEmpty);
            }
        }
    }
    // A set but empty variable does not give way to the trust list.
    trust(&world, "add alice alice.pub").ends(0);
    with_secret(&world, "handoff verify --json", "", &signed(&world, "alice")).fails(Code::EnvironmentKeyEmpty);
}

#[test]
fn no_secret_is_in_an_argument_in_talk_or_in_any_call_but_the_one_that_keeps_it() {
    for noun in docs::tree().get_subcommands().filter(|noun| noun.get_name() == "handoff") {
        for verb in noun.get_subcommands() {
            let flags: Vec<&str> = verb.get_arguments().filter_map(clap::Arg::get_long).collect();
            assert!(
                !flags.iter().any(|flag| ["secret", "key", "password", "private-key"].contains(flag)),
                "{flags:?}"
            );
        }
    }
    let world = world();
    fs::write(world.beside("secret"), SECRET).unwrap();
    let minted = world.run(&words("handoff create s --key-file secret"));
    let derived = blake3::hash(SECRET.as_bytes()).to_hex();
    let lines = [
        "create s --key-file secret",
        "verify --key-file secret --json",
        "verify --key-file secret --require ed25519",
        "create s --sign-key secret",
        "verify --trusted a=secret",
        "keygen secret",
    ];
    for line in lines {
        let answer = world.run_with(&words(&format!("handoff {line}")), &minted.stdout);
        let all = answer.text() + &answer.stderr;
        assert!(!all.contains(SECRET) && !all.contains(&derived[..16]), "{line}: {all}");
    }
    for name in ["alice", "key"] {
        let private = fs::read_to_string(world.beside(name)).unwrap();
        let private = private.trim_end().rsplit(':').next().unwrap().to_owned();
        for line in [
            format!("create s --sign-key {name}"),
            format!("create s --key-file {name}"),
            format!("verify --trusted a={name}"),
        ] {
            let answer = world.run_with(&words(&format!("handoff {line}")), &minted.stdout);
            assert!(!(answer.text() + &answer.stderr).contains(&private), "{line}");
        }
    }
    if strace_is_waived() {
        return;
    }
    let traced = world.traced(
        &["-e", "trace=write,execve"],
        &words("handoff verify --key-file secret --json"),
        &minted.text(),
    );
    assert!(!traced.calls.is_empty() && traced.calls.iter().all(|call| !call.contains(SECRET)), "{traced:?}");
    let traced = world.traced(&["-e", "trace=write"], &words("handoff keygen fresh"), "");
    let fresh = fs::read_to_string(world.beside("fresh")).unwrap();
    let with_it = traced.calls.iter().filter(|call| call.contains(fresh.trim_end()));
    assert!(with_it.clone().count() == 1 && with_it.clone().all(|call| call.contains(".tmp>")), "{traced:?}");
}

#[test]
fn key_files_that_are_open_short_or_of_another_kind_are_named() {
    let world = world();
    let minted = world.run(&words("handoff create s --key-file key")).ends(0);
    assert!(!minted.stderr.contains("warning"), "{minted:?}");
    for mode in [0o644, 0o640, 0o604] {
        fs::set_permissions(world.beside("key"), fs::Permissions::from_mode(mode)).unwrap();
        let answer = world.run_with(&words("handoff verify --key-file key"), &minted.stdout).ends(0);
        assert!(
            answer.stderr.contains("key file key is open to others") && answer.stderr.contains("chmod 600 key"),
            "{answer:?}"
        );
    }
    fs::write(world.beside("short"), "fifteen bytes..").unwrap();
    assert!(world.run(&words("handoff create s --key-file short")).ends(0).stderr.contains("short"));
    for (line, code) in [
        ("create s --sign-key alice.pub", Code::UsageKey),
        ("create s --sign-key key", Code::UsageKey),
        ("create s --key-file alice", Code::UsageKey),
        ("create s --key-file alice.pub", Code::UsageKey),
        ("verify --key-file alice.pub", Code::UsageKey),
        ("verify --trusted alice=alice", Code::UsageKey),
        ("verify --trusted alice=key", Code::UsageKey),
        ("verify --trusted alice", Code::UsageArguments),
        ("verify --trusted =alice.pub", Code::UsageId),
        ("verify --trusted alice=nowhere", Code::EnvironmentIo),
        ("verify --trusted alice=alice.pub --trusted bob=alice.pub", Code::UsageArguments),
        ("trust add alice alice", Code::UsageKey),
        ("create s --key-file .", Code::EnvironmentIo),
        ("create s --key-file /dev/zero", Code::EnvironmentFileKind),
        ("create s", Code::EnvironmentNoKey),
        ("verify --require ed25519", Code::EnvironmentNoKey),
    ] {
        let answer = world.run(&words(&format!("handoff {line} --json")));
        let error = answer.fails(code);
        let hinted = !matches!(code, Code::UsageKey | Code::EnvironmentNoKey) || error["hints"][0].is_string();
        assert!(answer.stdout.is_empty() && hinted, "{line}: {error}");
    }
    // A secret that comes out of another program is in no file.
    let answer =
        world.shell("cruxctl handoff create s --key-file <(cat key) | cruxctl handoff verify --key-file key");
    assert!(answer.status == 0 && !answer.stdout.is_empty(), "{answer:?}");
}

#[test]
fn a_trusted_agent_is_believed_until_the_key_is_removed() {
    let world = world();
    let (alice, bob) = (signed(&world, "alice"), signed(&world, "bob"));
    let verify = |text: &[u8]| world.run_with(&words("handoff verify --json"), text);
    verify(&alice).fails(Code::EnvironmentNoKey);
    let added = trust(&world, "add alice alice.pub").ends(0).json();
    let id = added["changed"][0]["key_id"].as_str().unwrap().to_owned();
    assert_eq!(verify(&alice).ends(0).json()["signed_by"], "alice");
    let error = verify(&bob).fails(Code::RejectedMac);
    assert!(error["message"].as_str().unwrap().contains("1 trusted agent"), "{error}");
    // One key, one agent; several keys of an agent.
    let error = trust(&world, "add bob alice.pub").fails(Code::RefusedKey);
    assert!(error["message"].as_str().unwrap().contains("alice"), "{error}");
    trust(&world, "add bob bob.pub").ends(0);
    world.run(&words("handoff keygen --ed25519 alice2")).ends(0);
    trust(&world, "add alice alice2.pub").ends(0);
    let again = trust(&world, "add alice alice.pub").ends(0).json();
    assert_eq!(
        (again["changed"][0]["action"].as_str(), &again["changed"][0]["offset"]),
        (Some("none"), &Value::Null)
    );
    let listed = trust(&world, "list").ends(0).json();
    let agents: Vec<&str> =
        listed["keys"].as_array().unwrap().iter().map(|key| key["agent"].as_str().unwrap()).collect();
    assert_eq!(agents, ["alice", "alice", "bob"]);
    verify(&bob).ends(0);
    // A name that is not one's own.
    let lie = world.run(&words("handoff create s --agent bob --sign-key alice")).ends(0);
    verify(&lie.stdout).fails(Code::RejectedSource);
    // What is typed is all that is trusted.
    world.run_with(&words("handoff verify --trusted bob=bob.pub --json"), &alice).fails(Code::RejectedMac);
    trust(&world, &format!("remove {id} --dry-run")).ends(0);
    verify(&alice).ends(0);
    trust(&world, &format!("remove {id}")).ends(0);
    verify(&alice).fails(Code::RejectedMac);
    trust(&world, &format!("remove {id}")).fails(Code::NoKey);
    // The key is free for somebody else now.
    trust(&world, "add carol alice.pub").ends(0);
    verify(&alice).fails(Code::RejectedSource);
    assert_eq!(trust(&world, "remove alice").ends(0).json()["changed"].as_array().unwrap().len(), 1);
    trust(&world, "remove bob").ends(0);
    trust(&world, "remove carol").ends(0);
    verify(&bob).fails(Code::EnvironmentNoKey);
    assert_eq!(mode(&world.dir().join("cruxctl/trust.jsonl")), 0o600);
    trust(&world, "add a::b bob.pub").fails(Code::UsageId);
}

#[test]
fn the_trust_list_is_a_journal_like_others() {
    let world = world();
    let names = |world: &World| -> Vec<String> {
        let (_, report) = world.check(&[]);
        report["journals"].as_array().unwrap().iter().map(|row| row["journal"].as_str().unwrap().to_owned()).collect()
    };
    assert!(!names(&world).contains(&"trust".to_owned()));
    let changed = trust(&world, "add alice alice.pub").ends(0).json();
    let key = changed["changed"][0]["public_key"].as_str().unwrap().to_owned();
    trust(&world, "add bob bob.pub").ends(0);
    trust(&world, "remove bob").ends(0);
    assert!(names(&world).contains(&"trust".to_owned()));
    assert_eq!(world.live_ids("trust"), [&*key]);
    let shown = world.run(&["journal", "show", "trust", "--id", &key]).ends(0).text();
    assert!(shown.contains("alice") && !shown.contains("bob"), "{shown}");
    world.run(&words("journal compact trust")).ends(0);
    assert_eq!(world.read("cruxctl/trust.jsonl").iter().filter(|b| **b == b'\n').count(), 1);
    world.run_with(&words("handoff verify"), signed(&world, "alice")).ends(0);
}

#[test]
fn a_damaged_trust_list_trusts_nobody_and_stops_no_other_key() {
    let world = world().damaged();
    trust(&world, "add alice alice.pub").ends(0);
    let alice = signed(&world, "alice");
    let mac = world.run(&words("handoff create s --key-file key")).ends(0).stdout;
    // The record of a removal that was torn: the key may be one that nobody trusts any more.
    world.append("cruxctl/trust.jsonl", "{\"op\":\"delete\",\"public_k");
    world.run_with(&words("handoff verify --json"), &alice).fails(Code::RefusedDamage);
    world.run_with(&words("handoff verify --key-file key --json"), &alice).fails(Code::RefusedDamage);
    world.run_with(&words("handoff verify --key-file key"), &mac).ends(0);
    world.run_with(&words("handoff verify --trusted alice=alice.pub"), &alice).ends(0);
    trust(&world, "list").ends(3);
    // A list that cannot be read stops no other key, either.
    let journal = world.dir().join("cruxctl/trust.jsonl");
    let blind = |args: &str, envelope: &[u8]| {
        fs::write(world.beside("envelope"), envelope).unwrap();
        let inject = format!("strace -qq -o /dev/null -P '{}' -e inject=openat:error=EACCES", journal.display());
        world.shell(&format!("{inject} cruxctl handoff verify {args} envelope --json"))
    };
    if !strace_is_waived() {
        blind("--key-file key", &mac).ends(0);
        blind("--key-file key", &alice).fails(Code::EnvironmentPermission);
        blind("", &alice).fails(Code::EnvironmentPermission);
    }
    world.run(&words("journal repair trust --apply")).ends(0);
    world.run_with(&words("handoff verify"), &alice).ends(0);
}

#[test]
fn a_repair_of_what_forbids_something_says_what_to_look_at() {
    let world = world().damaged();
    signed(&world, "alice");
    trust(&world, "add alice alice.pub").ends(0);
    trust(&world, "remove alice").ends(0);
    let whole = world.read("cruxctl/trust.jsonl");
    world.write("cruxctl/trust.jsonl", &whole[..whole.len() - 20]);
    for apply in ["", " --apply"] {
        let told = world.run(&words(&format!("journal repair trust{apply}")));
        assert!(told.stderr.contains("one was removed"), "{told:?}");
        assert!(told.hints().contains(&"cruxctl handoff trust list".to_owned()), "{told:?}");
    }
}

#[test]
fn a_trust_list_that_others_may_write_is_told() {
    use std::os::unix::fs::PermissionsExt;
    let world = world();
    let envelope = signed(&world, "alice");
    trust(&world, "add alice alice.pub").ends(0);
    let list = world.dir().join("cruxctl/trust.jsonl");
    for (mode, warns) in [(0o600, false), (0o644, false), (0o620, true), (0o666, true)] {
        fs::set_permissions(&list, fs::Permissions::from_mode(mode)).unwrap();
        let answer = world.run_with(&words("handoff verify"), &envelope).ends(0);
        assert_eq!(answer.stderr.contains("others may write it"), warns, "{mode:o}: {answer:?}");
    }
}

#[test]
fn a_mac_in_the_name_of_an_agent_with_a_trusted_key_is_told() {
    let world = world();
    signed(&world, "alice");
    let mac = |agent: &str| {
        let line = format!("handoff create s --allow-missing --key-file key --agent {agent}");
        world.run(&words(&line)).ends(0).stdout
    };
    trust(&world, "add alice alice.pub").ends(0);
    for (agent, warns) in [("alice", true), ("bob", false)] {
        let answer = world.run_with(&words("handoff verify --key-file key"), mac(agent)).ends(0);
        assert_eq!(answer.stderr.contains("did not sign this"), warns, "{answer:?}");
    }
    world.run_with(&words("handoff verify --require ed25519 --json"), mac("alice")).fails(Code::RejectedAlgorithm);
}
