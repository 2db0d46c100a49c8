//! Envelopes: nothing comes out before a key vouches for it, and then exactly the bytes that hold; every way to be no
//! good has a code of its own; and what is minted here, the daemon accepts.

use std::fmt::Write;
use std::fs;

use base64::Engine;
use base64::engine::general_purpose::{STANDARD, URL_SAFE};
use cruxctl::error::Code;
use cruxctl::handoff::keys::{MacKey, Secret};
use cruxctl::handoff::verify::{Conditions, Keys, prove};
use serde_json::{Value, json};

use crate::support::{Answer, World, session_line, tree, words};

/// The secret of the envelopes that are made here.
pub const SECRET: &str = "a secret of these tests";

/// The least that a package has.
pub const PACKAGE: &str = "{\"session_id\":\"s\",\"session_state\":{\"n\":1.10},\"facts\":[],\
                       \"created_at\":\"2026-07-01T12:00:00+00:00\",\"source_agent\":\"alice\",\"message\":null}";

/// An envelope's members, from a payload's bytes and a secret: by BLAKE3 and base64 alone.
pub fn parts(payload: &[u8], secret: &str) -> Value {
    let mac = blake3::keyed_hash(blake3::hash(secret.as_bytes()).as_bytes(), payload);
    json!({
        "payload_b64": STANDARD.encode(payload),
        "content_hash": blake3::hash(payload).to_hex().as_str(),
        "signature_b64": STANDARD.encode(mac.as_bytes()),
        "signature_alg": "blake3-mac-v1",
    })
}

pub fn envelope(payload: impl AsRef<[u8]>) -> String {
    parts(payload.as_ref(), SECRET).to_string()
}

/// A package with more members.
pub fn with(members: &str) -> String {
    PACKAGE.replace("\"message\":null", &format!("\"message\":null,{members}"))
}

/// A world with the secret in the file `key`.
pub fn world() -> World {
    let world = World::new();
    fs::write(world.beside("key"), SECRET).unwrap();
    set_mode(&world, "key", 0o600);
    world
}

fn set_mode(world: &World, file: &str, mode: u32) {
    use std::os::unix::fs::PermissionsExt;
    fs::set_permissions(world.beside(file), fs::Permissions::from_mode(mode)).unwrap();
}

fn verify(world: &World, args: &str, text: impl AsRef<[u8]>) -> Answer {
    world.run_with(&[words("handoff verify --key-file key"), words(args)].concat(), text)
}

/// The answer to an envelope that is no good: not a byte on standard output, one code, and nowhere the word that says
/// that all is well.
pub fn rejected(answer: &Answer, code: Code) {
    let told = answer.stderr.to_lowercase();
    assert_eq!((answer.code().as_str(), answer.status), (code.text(), i32::from(code.kind().status())), "{answer:?}");
    assert!(answer.stdout.is_empty() && !told.contains("verified"), "{answer:?}");
}

pub fn json_file(path: &str) -> Value {
    serde_json::from_slice(&fs::read(tree(path)).unwrap()).unwrap()
}

#[test]
fn what_the_daemon_accepts_holds_and_what_it_rejects_does_not() {
    let verdicts = json_file("tests/data/envelopes/verdicts.json");
    assert_eq!(verdicts.as_array().unwrap().len(), 12);
    for verdict in verdicts.as_array().unwrap() {
        let text = |name: &str| verdict[name].as_str().unwrap_or_default();
        let world = world();
        fs::write(world.beside("key"), text("secret")).unwrap();
        let bytes = fs::read(tree(&format!("tests/data/envelopes/{}", text("file")))).unwrap();
        let answer = verify(&world, &format!("--agent {}", text("receiver_agent")), &bytes);
        let code = match text("kind") {
            "" => {
                assert_eq!((answer.status, verdict["accepted"].as_bool()), (0, Some(true)), "{answer:?}");
                assert_eq!(answer.stdout, text("payload_text").as_bytes(), "{}", text("file"));
                continue;
            }
            "HashMismatch" => Code::RejectedHash,
            "SignatureInvalid" => Code::RejectedMac,
            "UnsupportedSignatureAlgorithm" => Code::RejectedAlgorithm,
            "Base64" | "EnvelopeJson" => Code::RejectedMalformed,
            kind => panic!("{kind}"),
        };
        rejected(&answer, code);
    }
}

#[test]
fn what_is_minted_holds_by_blake3_and_base64_alone_and_has_the_daemons_members() {
    let world = world();
    world.put("s", "{\"n\":1.10,\"refs\":[\"w_2\",{\"w_no\":\"execplan:1\"}]}");
    let minted = world.run(&words("handoff create s --key-file key --work-id w_1")).ends(0).text();
    assert!(minted.ends_with("\"}\n") && minted.lines().count() == 1);
    let envelope: Value = serde_json::from_str(&minted).unwrap();
    let payload = STANDARD.decode(envelope["payload_b64"].as_str().unwrap()).unwrap();
    assert_eq!(envelope, parts(&payload, SECRET));
    let at: Vec<usize> = ["{\"payload_b64\":", ",\"content_hash\":", ",\"signature_b64\":", ",\"signature_alg\":"]
        .iter()
        .map(|name| minted.find(name).unwrap())
        .collect();
    assert!(at.is_sorted() && at[0] == 0 && envelope.as_object().unwrap().len() == 4);
    let payload = String::from_utf8(payload).unwrap();
    let begin = "{\"session_id\":\"s\",\"session_state\":{\"n\":1.10,\"refs\":[\"w_2\",{\"w_no\":\"execplan:1\"}]},\
                 \"facts\":[],\"created_at\":\"2026-07-01T12:00:00+00:00\",\"source_agent\":\"anonymous\",\"message\":null,\
                 \"work_ids\":[\"execplan:1\",\"w_1\",\"w_2\"],\"expires_at\":\"2026-07-02T12:00:00Z\",\"handoff_id\":\"h_";
    assert!(payload.starts_with(begin), "{payload}");
    let names = payload.split("\"handoff_id\":\"h_").nth(1).unwrap();
    let key_id = &blake3::Hasher::new_derive_key("cruxctl handoff key id v1")
        .update(blake3::hash(SECRET.as_bytes()).as_bytes())
        .finalize()
        .to_hex()[..16];
    assert_eq!(&names[32..], format!("\",\"key_id\":\"{key_id}\"}}"));
    assert_eq!(verify(&world, "", &minted).ends(0).text(), payload);
}

#[test]
fn every_part_of_a_package_stands_where_the_daemon_has_it() {
    let world = world();
    world.run_with(&words("session put s --agent alice"), "1").ends(0);
    fs::write(world.beside("task"), "{\"sources\":[\"x\"],\"requester\":\"r\"}").unwrap();
    let line = "handoff create s --key-file key --agent alice --target bob --task-record task --no-expiry --message";
    let minted = world.run(&[words(line), vec!["-take \"over\"\n"]].concat()).ends(0);
    let payload = verify(&world, "--agent bob", &minted.stdout).ends(0).text();
    let want = "{\"session_id\":\"s\",\"session_state\":1,\"facts\":[],\"created_at\":\"2026-07-01T12:00:00+00:00\",\
                \"source_agent\":\"alice\",\"target_agent\":\"bob\",\"message\":\"-take \\\"over\\\"\\n\",\
                \"task_record\":{\"requester\":\"r\",\"sources\":[\"x\"]},\"handoff_id\":\"";
    assert!(payload.starts_with(want), "{payload}");
    // A scope is a scope: nobody else's session is handed over.
    world.run(&words("handoff create s --key-file key --json")).fails(Code::NoSession);
    let missing = world.run(&words("handoff create s --key-file key --allow-missing")).ends(0);
    assert!(verify(&world, "", missing.stdout).ends(0).text().contains("\"session_state\":null"));
}

#[test]
fn a_state_is_handed_on_byte_for_byte() {
    let world = world();
    for state in [
        r#"{"n": 12345678901234567890123, "e": 1e2, "z": -0, "Run":1, "run":2}"#,
        r#"{"ru\u006E":"\u00e9\ud83d\ude80\n\/\u0000","x":[ ] }"#,
        "\"🚀\u{202e}\u{feff}\"",
        "1.10",
        "null",
        &("[".repeat(124) + &"]".repeat(124)),
    ] {
        world.put("s", state);
        let minted = world.run(&words("handoff create s --key-file key")).ends(0);
        let payload = verify(&world, "", minted.stdout).ends(0).text();
        assert!(
            payload.starts_with(&format!("{{\"session_id\":\"s\",\"session_state\":{state},\"facts\":")),
            "{payload}"
        );
    }
    // The MAC is over bytes, and bytes are handed on: whatever a minter writes, with its white space.
    let odd = PACKAGE.replace("\"facts\"", " \"fa\\u0063ts\"\t").replace("1.10", "1.10 ") + "\n";
    assert_eq!(verify(&world, "--raw", envelope(&odd)).ends(0).text(), odd);
}

#[test]
fn a_state_that_readers_differ_in_is_neither_minted_nor_taken() {
    let world = world();
    for state in ["{\"a\":1,\"a\":1}", "[[{\"b\":{\"x\":1,\"\\u0078\":2}}]]"] {
        world.put("s", state);
        let answer = world.run(&words("handoff create s --key-file key --json"));
        answer.fails(Code::RefusedDuplicate);
        assert!(answer.stdout.is_empty());
        rejected(&verify(&world, "", envelope(PACKAGE.replace("{\"n\":1.10}", state))), Code::RejectedPayload);
    }
    world.run_with(&words("session put s --allow-daemon-unreadable"), "[1e400]").ends(0);
    world.run(&words("handoff create s --key-file key --json")).fails(Code::RefusedDaemonUnreadable);
    let text = envelope(PACKAGE);
    for twice in ["payload_b64", "signature_alg", "\\u0070ayload_b64"] {
        rejected(&verify(&world, "", text.replace('}', &format!(",\"{twice}\":\"\"}}"))), Code::RejectedMalformed);
    }
    rejected(&verify(&world, "", text.replace('}', ",\"x\":1,\"x\":1}")), Code::RejectedMalformed);
    rejected(&verify(&world, "", text.replace('}', ",\"x\":[{\"y\":1,\"y\":1}]}")), Code::RejectedMalformed);
}

fn key(secret: &str) -> MacKey {
    Secret::from_variable(secret.as_bytes().to_vec().into(), "test").unwrap().mac_key()
}

#[test]
fn no_bit_can_be_flipped_and_nothing_can_be_cut_off() {
    let text = envelope(with("\"expires_at\":\"2026-07-02T12:00:00Z\"")).into_bytes();
    let keys = Keys { macs: vec![key("another"), key(SECRET)], agents: Vec::new(), doubted: false };
    assert!(prove(&text, &keys, None).is_ok());
    let world = world();
    let check = |text: &[u8], sample: bool| {
        let error = prove(text, &keys, None).err().unwrap_or_else(|| panic!("{}", String::from_utf8_lossy(text)));
        assert_eq!(error.status(), 4, "{error:?}");
        if sample {
            rejected(&verify(&world, "", text), error.code);
        }
    };
    for bit in 0..8 * text.len() {
        let mut text = text.clone();
        text[bit / 8] ^= 1 << (bit % 8);
        check(&text, bit % 211 == 0);
    }
    for len in 0..text.len() {
        check(&text[..len], len % 83 == 0);
        check(&text[text.len() - len..], false);
    }
}

#[test]
fn whatever_a_minter_with_the_secret_writes_is_read_or_rejected() {
    let fact = "{\"fact_id\":\"f\",\"entity\":\"e\",\"key\":\"k\",\"value\":\"\",\"confidence\":1,\"tokens\":0,\"deleted\":false,\
                \"stored_at\":\"2026-01-01T00:00:00Z\",\"private\":true,\"valid_to\":\"+262142-01-01T00:00:00Z\"}";
    let whole =
        with("\"expires_at\":\"9999-12-31T23:59:60Z\",\"task_record\":{\"sources\":[\"x\"]},\"work_ids\":[\"w\"]")
            .replace("[]", &format!("[{fact}]"))
            .replace("2026-07-01T12:00:00+00:00", "0000-01-01T00:00:00+23:59");
    let keys = Keys { macs: vec![key(SECRET)], agents: Vec::new(), doubted: false };
    let mut taken = 0;
    let mut judge = |payload: &[u8]| {
        let proven = prove(envelope(payload).as_bytes(), &keys, None).unwrap();
        let now = "2026-07-01T12:00:00Z".parse().unwrap();
        let conditions = Conditions { now, receiver: Some("bob"), max_age: None };
        match proven.judge(&conditions) {
            Ok(verified) => {
                assert_eq!(verified.payload, payload);
                taken += 1;
            }
            Err(error) => assert_eq!(error.status(), 4, "{error:?}"),
        }
    };
    judge(whole.as_bytes());
    for bit in 0..8 * whole.len() {
        let mut payload = whole.clone().into_bytes();
        payload[bit / 8] ^= 1 << (bit % 8);
        judge(&payload);
    }
    for at in 0..whole.len() {
        judge(&whole.as_bytes()[..at]);
        judge([&whole.as_bytes()[..at], b"[{\"a\":1e400,", &whole.as_bytes()[at..]].concat().as_slice());
    }
    assert!(taken > 100, "{taken}");
}

#[test]
fn a_long_payload_whose_last_byte_is_wrong_gives_not_one_byte() {
    let world = world();
    let long = PACKAGE.replace("1.10", &format!("\"{}\"", "x".repeat(12 << 20)));
    let good = envelope(&long);
    assert_eq!(verify(&world, "", &good).ends(0).stdout.len(), long.len());
    let mut other = parts(long.replace("null}", "nulL}").as_bytes(), SECRET);
    rejected(&verify(&world, "", other.to_string()), Code::RejectedPayload);
    other["signature_b64"] = parts(long.as_bytes(), SECRET)["signature_b64"].clone();
    rejected(&verify(&world, "", other.to_string()), Code::RejectedMac);
    other["content_hash"] = parts(long.as_bytes(), SECRET)["content_hash"].clone();
    rejected(&verify(&world, "", other.to_string()), Code::RejectedHash);
}

#[test]
fn base64_that_can_be_written_otherwise_is_malformed_and_never_a_bad_mac() {
    let world = world();
    // The payload ends in bits that do not count, and holds what the URL alphabet writes otherwise.
    let payload = PACKAGE.replace("null}", "\"\u{7fff}ÿ>?~!\"}");
    let good = parts(payload.as_bytes(), SECRET);
    assert!(good["payload_b64"].as_str().unwrap().ends_with('='), "{good}");
    verify(&world, "", good.to_string()).ends(0);
    for member in ["payload_b64", "signature_b64"] {
        let text = good[member].as_str().unwrap();
        let bare = text.trim_end_matches('=');
        let pad = &text[bare.len()..];
        let last = bare.chars().last().unwrap();
        let next = char::from_u32(u32::from(last) + 1).unwrap();
        let mut bad = vec![
            bare.to_owned(),
            format!("{text}="),
            format!("{text}===="),
            format!("{}{next}{pad}", &bare[..bare.len() - 1]),
            format!("{}={}", &text[..8], &text[9..]),
            format!("{}\n{}", &text[..8], &text[8..]),
            format!(" {text}"),
            format!("{text}\n"),
            format!("{}\u{e9}{}", &text[..8], &text[9..]),
            format!("{}\0", &text[..text.len() - 1]),
        ];
        let url = URL_SAFE.encode(STANDARD.decode(text).unwrap());
        bad.extend((url != text).then_some(url));
        for bad in bad {
            let mut other = good.clone();
            other[member] = json!(bad);
            rejected(&verify(&world, "", other.to_string()), Code::RejectedMalformed);
        }
    }
    for length in [0, 31, 33, 64] {
        let mut other = good.clone();
        other["signature_b64"] = json!(STANDARD.encode(vec![0; length]));
        rejected(&verify(&world, "", other.to_string()), Code::RejectedMalformed);
    }
}

#[test]
fn nothing_may_stand_behind_an_envelope() {
    let world = world();
    let good = envelope(PACKAGE);
    for space in ["", "\n", "\r\n", " \t\n\n"] {
        assert_eq!(verify(&world, "", format!("{space}{good}{space}")).ends(0).text(), PACKAGE);
    }
    for behind in ["{}", "\n{}", &*good, &format!("\n{good}"), "\0", "\n\0", ",", "x", "\u{feff}"] {
        rejected(&verify(&world, "", format!("{good}{behind}")), Code::RejectedMalformed);
    }
    rejected(&verify(&world, "", format!("\u{feff}{good}")), Code::RejectedMalformed);
    rejected(&verify(&world, "", [good.as_bytes(), b"\xff"].concat()), Code::RejectedMalformed);
    rejected(&verify(&world, "", format!("[{good}]")), Code::RejectedMalformed);
}

#[test]
fn an_algorithm_is_taken_by_its_exact_name_alone() {
    let world = world();
    let mut other = parts(PACKAGE.as_bytes(), "another secret");
    for name in ["", "none", "blake3-mac-v2", "Blake3-mac-v1", "blake3-mac-v1 ", "ed25519", "verified", "Ed25519-v1"]
    {
        other["signature_alg"] = json!(name);
        // Before base64, hash and MAC.
        other["content_hash"] = json!("x");
        rejected(&verify(&world, "", other.to_string()), Code::RejectedAlgorithm);
    }
    for value in [json!(1), json!(null), json!(["blake3-mac-v1"]), json!({"alg": "blake3-mac-v1"})] {
        other["signature_alg"] = value;
        rejected(&verify(&world, "", other.to_string()), Code::RejectedMalformed);
    }
    let good = envelope(PACKAGE);
    verify(&world, "--require mac", &good).ends(0);
    fs::write(world.beside("k.pub"), ed25519("public_file")).unwrap();
    rejected(&verify(&world, "--require ed25519 --trusted alice=k.pub", &good), Code::RejectedAlgorithm);
}

#[test]
fn a_hash_that_fits_proves_nothing() {
    let world = world();
    let mut edited = parts(PACKAGE.replace("alice", "mallory").as_bytes(), SECRET);
    edited["signature_b64"] = parts(PACKAGE.as_bytes(), SECRET)["signature_b64"].clone();
    rejected(&verify(&world, "", edited.to_string()), Code::RejectedMac);
    let inspected = world.run_with(&words("handoff inspect"), edited.to_string()).ends(0);
    assert!(inspected.text().contains("\thash_fits\tyes\n"), "{inspected:?}");
    assert!(inspected.lines().iter().all(|line| line.starts_with("unverified\tfalse\t")), "{inspected:?}");
    // A hash in another case or length is none.
    for hash in
        [edited["content_hash"].as_str().unwrap().to_uppercase(), "0".repeat(63), "0".repeat(65), "g".repeat(64)]
    {
        let mut other = parts(PACKAGE.as_bytes(), SECRET);
        other["content_hash"] = json!(hash);
        rejected(&verify(&world, "", other.to_string()), Code::RejectedMalformed);
    }
}

#[test]
fn a_package_for_another_agent_is_not_taken() {
    let world = world();
    let text = envelope(with("\"target_agent\":\"bob\""));
    verify(&world, "--agent bob", &text).ends(0);
    for agent in ["", "--agent a", "--agent Bob", "--agent bob2", "--agent BOB"] {
        rejected(&verify(&world, agent, &text), Code::RejectedTarget);
    }
    rejected(&verify(&world, "", envelope(with("\"target_agent\":\"\""))), Code::RejectedTarget);
    verify(&world, "--agent c", envelope(with("\"target_agent\":null"))).ends(0);
    world.run(&words("handoff verify --key-file key --agent a::b --json")).fails(Code::UsageId);
    // The variable names the agent as well.
    let mut command = world.command(&words("handoff verify --key-file key env"));
    fs::write(world.beside("env"), &text).unwrap();
    Answer::from(command.env("CRUXCTL_AGENT", "bob").output().unwrap()).ends(0);
    let fact = |private: bool| {
        let fact = json!({
            "fact_id": "f_1", "entity": "e", "key": "k", "value": "v", "confidence": 0.5, "tokens": 1, "deleted": false,
            "stored_at": "2026-01-01T00:00:00Z", "private": private,
        });
        envelope(PACKAGE.replace("[]", &format!("[{fact}]")))
    };
    verify(&world, "", fact(false)).ends(0);
    verify(&world, "--agent carol", fact(true)).ends(0);
    rejected(&verify(&world, "", fact(true)), Code::RejectedReceiver);
}

#[test]
fn a_handoff_lives_as_long_as_it_says_and_no_longer_than_ninety_days() {
    let mut world = world();
    world.put("s", "1");
    let create = |args: &str| world.run(&[words("handoff create s --key-file key --json"), words(args)].concat());
    for (args, want) in [
        ("", Some("2026-07-02T12:00:00Z")),
        ("--ttl 90days", Some("2026-09-29T12:00:00Z")),
        ("--ttl 1500ms", Some("2026-07-01T12:00:01.500Z")),
        ("--no-expiry", None),
    ] {
        let payload: Value =
            serde_json::from_slice(&verify(&world, "", create(args).ends(0).stdout).ends(0).stdout).unwrap();
        assert_eq!(payload["expires_at"].as_str(), want, "{args}");
    }
    for (args, code) in [
        ("--ttl 90days1s", Code::RefusedTtl),
        ("--ttl 500000000000years", Code::RefusedTtl),
        ("--ttl 0s", Code::UsageArguments),
        ("--ttl soon", Code::UsageArguments),
        ("--ttl 1h --no-expiry", Code::UsageArguments),
    ] {
        assert!(create(args).stdout.is_empty());
        create(args).fails(code);
    }
    for nonsense in ["1", "null", "\"tomorrow\"", "\"2026-07-02\"", "\"\"", "\"2026-13-01T00:00:00Z\"", "{}"] {
        rejected(&verify(&world, "", envelope(with(&format!("\"expires_at\":{nonsense}")))), Code::RejectedPayload);
    }
    rejected(&verify(&world, "", envelope(PACKAGE.replace("2026-07-01T", "a while ago "))), Code::RejectedPayload);
    // A minute of leeway, and both clocks in the message.
    let text = envelope(with("\"expires_at\":\"2026-07-01T14:00:00+02:00\""));
    for (now, status) in [("12:00:00", 0), ("12:00:30", 0), ("12:00:59.999", 0), ("12:01:00", 4), ("13:00:00", 4)] {
        world.at(&format!("2026-07-01T{now}Z"));
        let answer = verify(&world, "", &text).ends(status);
        if status == 4 {
            rejected(&answer, Code::RejectedExpired);
            let clocks = ["2026-07-01T12:00:00Z", &format!("2026-07-01T{now}Z"), "60 s"];
            assert!(clocks.iter().all(|clock| answer.stderr.contains(clock)), "{answer:?}");
        }
    }
    for (now, warns) in [("11:59:30", false), ("11:59:00.001", false), ("11:59:00", true), ("01:00:00", true)] {
        world.at(&format!("2026-07-01T{now}Z"));
        let answer = verify(&world, "", envelope(PACKAGE)).ends(0);
        assert_eq!(answer.stderr.contains("ahead of the clock"), warns, "{answer:?}");
    }
    for (now, age, status) in [
        ("13:00:59", "1h", 0),
        ("13:01:00", "1h", 4),
        ("11:59:01", "1s", 0),
        ("11:00:00", "1s", 4),
        ("12:00:59", "0s", 0),
    ] {
        world.at(&format!("2026-07-01T{now}Z"));
        let answer = verify(&world, &format!("--max-age {age}"), envelope(PACKAGE)).ends(status);
        assert_eq!(answer.stderr.contains("--max-age"), status == 4, "{answer:?}");
    }
    verify(&world, "--max-age 500000000000years", envelope(PACKAGE)).ends(2);
}

#[test]
fn all_keys_are_tried_and_a_key_id_decides_nothing() {
    let world = world();
    for (file, secret) in [("old", "an older secret here"), ("other", "the secret of others")] {
        fs::write(world.beside(file), secret).unwrap();
    }
    let run = |args: &str, text: &str| world.run_with(&[words("handoff verify"), words(args)].concat(), text);
    let old = parts(PACKAGE.as_bytes(), "an older secret here").to_string();
    run("--key-file key --key-file old", &old).ends(0);
    run("--key-file old --key-file key", &envelope(PACKAGE)).ends(0);
    rejected(&run("--key-file key --key-file other", &old), Code::RejectedMac);
    // The id of one key, and the MAC of another.
    let lying = with(&format!("\"key_id\":\"{}\"", key("the secret of others").key_id()));
    run("--key-file key", &envelope(&lying)).ends(0);
    rejected(&run("--key-file other", &envelope(&lying)), Code::RejectedMac);
    let told = run("--key-file key --json", &envelope(&lying)).ends(0).json();
    assert_eq!(told["key_id"], key(SECRET).key_id().as_str());
}

#[test]
fn members_beside_the_payload_are_named_and_never_passed_on() {
    let world = world();
    let mut text = parts(PACKAGE.as_bytes(), SECRET);
    text["verified"] = json!(true);
    text["session_id"] = json!("another");
    let answer = verify(&world, "", text.to_string()).ends(0);
    assert_eq!(answer.text(), PACKAGE);
    assert!(answer.stderr.contains("\"verified\"") && answer.stderr.contains("\"session_id\""), "{answer:?}");
    assert!(!verify(&world, "--json", text.to_string()).ends(0).text().contains("another"));
    // Only where all is well: in a failure they are not even named.
    text["content_hash"] = json!("0".repeat(64));
    rejected(&verify(&world, "", text.to_string()), Code::RejectedHash);
}

#[test]
fn a_failure_never_has_the_word_however_it_comes_in() {
    let world = world();
    let mut alg = parts(PACKAGE.as_bytes(), SECRET);
    alg["signature_alg"] = json!("VerifieD");
    let twice = envelope(PACKAGE).replace('}', ",\"verified\":1,\"verified\":1}");
    for text in [
        alg.to_string(),
        twice,
        envelope(with("\"target_agent\":\"verified\"")),
        envelope(with("\"expires_at\":\"verified\"")),
        envelope(with("\"handoff_id\":{\"verified\":1,\"verified\":2}")),
        envelope(PACKAGE.replace("[]", "[\"verified\"]")),
        envelope("verified"),
        "verified".to_owned(),
    ] {
        for format in ["plain", "json", "table"] {
            let answer = verify(&world, &format!("--format {format}"), &text).ends(4);
            let all = answer.text() + &answer.stderr;
            assert!(answer.stdout.is_empty() && !all.to_lowercase().contains("verified"), "{answer:?}");
        }
    }
}

#[test]
fn no_key_a_wrong_path_a_cut_download_and_an_altered_envelope_are_four_sentences() {
    let world = world();
    let text = envelope(PACKAGE);
    let no_key = world.run_with(&words("handoff verify"), &text);
    rejected(&no_key, Code::EnvironmentNoKey);
    let wrong_path = world.run_with(&words("handoff verify --key-file nowhere.key"), &text);
    rejected(&wrong_path, Code::EnvironmentIo);
    assert!(wrong_path.stderr.contains("nowhere.key"));
    let cut = verify(&world, "", &text[..text.len() / 2]);
    rejected(&cut, Code::RejectedMalformed);
    let altered = verify(&world, "", text.replace("\"eyJ", "\"eyK"));
    rejected(&altered, Code::RejectedHash);
    let mac = verify(&world, "", parts(PACKAGE.as_bytes(), "another").to_string());
    rejected(&mac, Code::RejectedMac);
    assert!(mac.stderr.contains("changes with every restart") && mac.stderr.contains("--key-file OTHER"), "{mac:?}");
    // Keys come first: nobody waits for an envelope that nothing can be held against.
    let first = world.shell("cruxctl handoff verify --json < /");
    first.fails(Code::EnvironmentNoKey);
    world.shell("cruxctl handoff verify --key-file key --json < /").fails(Code::EnvironmentStdin);
    world.run(&words("handoff verify nowhere.json --key-file key --json")).fails(Code::EnvironmentIo);
}

#[test]
fn what_is_deep_long_or_many_ends_with_a_sentence() {
    let world = world();
    for text in ["[".repeat(1 << 20), "{\"a\":".repeat(1 << 18)] {
        rejected(&verify(&world, "", &text), Code::RejectedMalformed);
        rejected(&verify(&world, "", envelope(PACKAGE.replace("1.10", &text))), Code::RejectedPayload);
    }
    let mut many = String::from("{");
    (0..300_000).for_each(|n| write!(many, "\"{n}\":0,").unwrap());
    many.push_str("\"end\":1}");
    let payload = PACKAGE.replace("{\"n\":1.10}", &many);
    assert_eq!(verify(&world, "", envelope(&payload)).ends(0).text(), payload);
    rejected(&verify(&world, "", envelope(payload.replace("\"end\"", "\"77777\""))), Code::RejectedPayload);
    // The limit names its flag, and reading stops there.
    let text = envelope(PACKAGE);
    verify(&world, &format!("--max-bytes {}", text.len()), &text).ends(0);
    let long = verify(&world, &format!("--max-bytes {}", text.len() - 1), &text);
    rejected(&long, Code::RejectedMalformed);
    assert!(long.stderr.contains("--max-bytes"), "{long:?}");
    let endless = world.shell("cruxctl handoff verify --key-file key --max-bytes 1000000 < /dev/zero");
    rejected(&endless, Code::RejectedMalformed);
}

#[test]
fn a_mint_that_fails_gives_nothing_to_verify_and_a_pipe_tells() {
    let world = world();
    for input in ["", "\n", "  \r\n"] {
        let answer = verify(&world, "", input);
        rejected(&answer, Code::RejectedMalformed);
        assert!(answer.stderr.contains("empty input") && answer.stderr.contains("pipefail"), "{answer:?}");
    }
    let pipe = |from: &str| {
        world.shell(&format!(
            "set -o pipefail; cruxctl handoff create {from} --key-file key | cruxctl handoff verify --key-file key | wc -c"
        ))
    };
    let answer = pipe("nope");
    assert_eq!((answer.status, answer.text().trim()), (4, "0"), "{answer:?}");
    world.put("s", "{\"step\":1}");
    assert!(pipe("s").ends(0).text().trim().parse::<u64>().unwrap() > 100);
    let state = world.shell(
        "set -o pipefail; export CRUX_MCP_HANDOFF_SECRET=\"$(cat key)\"; cruxctl handoff create s | \
         cruxctl handoff verify | python3 -c 'import json, sys; print(json.load(sys.stdin)[\"session_state\"][\"step\"])'",
    );
    assert_eq!(state.ends(0).text(), "1\n");
    // Whoever stops reading has not been cheated.
    world.shell("set -o pipefail; cruxctl handoff create s --key-file key | true").ends(0);
}

#[test]
fn a_document_that_nobody_vouches_for_is_told_apart_from_a_broken_envelope() {
    let world = world();
    for text in [
        "{}",
        "{\"version\":\"handoff-v2\",\"content\":\"x\",\"result\":1}",
        "{\"version\":\"handoff-v2\",\"summary\":\"all verified\"}",
        "{\"payload_b64\":\"e30=\"}",
    ] {
        rejected(&verify(&world, "", text), Code::RejectedUnsigned);
    }
    let good = parts(PACKAGE.as_bytes(), SECRET);
    for name in ["payload_b64", "content_hash", "signature_b64", "signature_alg"] {
        for value in [None, Some(json!(null)), Some(json!(7)), Some(json!([]))] {
            let mut other = good.clone();
            match value {
                Some(value) => other[name] = value,
                None => drop(other.as_object_mut().unwrap().remove(name)),
            }
            let answer = verify(&world, "", other.to_string());
            rejected(&answer, Code::RejectedMalformed);
            assert!(answer.stderr.contains(name), "{answer:?}");
        }
    }
    for text in ["1", "null", "\"x\"", "[]"] {
        rejected(&verify(&world, "", text), Code::RejectedMalformed);
    }
}

#[test]
fn the_answer_of_an_mcp_tool_is_unwrapped_where_that_is_asked_for() {
    let world = world();
    let text = |text: &str| json!({"type": "text", "text": text});
    let good = envelope(PACKAGE);
    let answer = json!({"content": [text(&good)], "isError": false});
    let response = json!({"jsonrpc": "2.0", "id": 1, "result": answer});
    for wrapped in [&answer, &response] {
        assert_eq!(verify(&world, "--from-mcp", wrapped.to_string()).ends(0).text(), PACKAGE);
        let bare = verify(&world, "", wrapped.to_string());
        rejected(&bare, Code::RejectedMalformed);
        assert!(bare.stderr.contains("--from-mcp"), "{bare:?}");
    }
    let image = json!({"type": "image", "data": ""});
    verify(&world, "--from-mcp", json!({"content": [image, text(&good)]}).to_string()).ends(0);
    for bad in [
        json!({"content": [text(&good)], "isError": true}),
        json!({"content": [text(&good), text(&good)]}),
        json!({"content": []}),
        json!({"content": [image]}),
        json!({"content": [text("")]}),
        json!({"content": [{"type": "text", "text": 1}]}),
        json!({"content": "x"}),
        json!({"content": [text(&good)], "x": {"verified": 1}}).to_string().replace("1}", "1,\"verified\":2}").into(),
        json!({"jsonrpc": "2.0", "error": {"code": -32603, "message": "not verified"}}),
        json!([good]),
        serde_json::from_str(&good).unwrap(),
    ] {
        let bad = bad.as_str().map_or_else(|| bad.to_string(), str::to_owned);
        rejected(&verify(&world, "--from-mcp", bad), Code::RejectedMalformed);
    }
}

/// A member of what OpenSSL has signed.
fn ed25519(name: &str) -> String {
    json_file("tests/data/envelopes/ed25519.json")[name].as_str().unwrap().to_owned()
}

/// The envelope of what OpenSSL has signed, with another payload where one is given.
fn signed(payload: Option<&str>) -> String {
    let mut parts = parts(payload.unwrap_or(&ed25519("payload_text")).as_bytes(), "");
    parts["signature_b64"] = json!(ed25519("signature_b64"));
    parts["signature_alg"] = json!("ed25519-v1");
    parts.to_string()
}

#[test]
fn what_openssl_has_signed_holds_and_a_fixed_key_signs_the_same() {
    let world = world();
    fs::write(world.beside("k"), ed25519("private_file")).unwrap();
    fs::write(world.beside("k.pub"), ed25519("public_file")).unwrap();
    let run = |args: &str, text: String| world.run_with(&[words("handoff verify"), words(args)].concat(), text);
    assert_eq!(run("--trusted alice=k.pub", signed(None)).ends(0).text(), ed25519("payload_text"));
    let told = run("--trusted alice=k.pub --json", signed(None)).ends(0).json();
    let id = &blake3::hash(&hex(&ed25519("public_file")[26..90])).to_hex()[..16];
    assert_eq!(json!([told["signed_by"], told["algorithm"], told["key_id"]]), json!(["alice", "ed25519-v1", id]));
    let key = cruxctl::handoff::signature::PrivateKey::read(ed25519("private_file").as_bytes(), "k").unwrap();
    assert_eq!(STANDARD.encode(key.sign(ed25519("payload_text").as_bytes())), ed25519("signature_b64"));
    assert_eq!(key.public().file(), ed25519("public_file"));
    // Somebody else's name, another payload, a MAC in a signature's place.
    rejected(&run("--trusted bob=k.pub", signed(None)), Code::RejectedSource);
    let other = ed25519("payload_text").replace("1.10", "1.11");
    rejected(&run("--trusted alice=k.pub", signed(Some(&other))), Code::RejectedMac);
    let mac = parts(PACKAGE.as_bytes(), SECRET).to_string();
    rejected(&run("--trusted alice=k.pub", mac.clone()), Code::RejectedAlgorithm);
    rejected(&run("--trusted alice=k.pub", mac.replace("blake3-mac-v1", "ed25519-v1")), Code::RejectedMalformed);
    run("--trusted alice=k.pub --key-file key", mac).ends(0);
    rejected(&run("--trusted alice=k.pub --key-file key --require mac", signed(None)), Code::RejectedAlgorithm);
    let unknown = run("--key-file key", signed(None));
    // Whoever holds a forgery is not told to trust its maker.
    rejected(&unknown, Code::RejectedAlgorithm);
    assert!(unknown.stderr.contains("--trusted") && !unknown.stderr.contains("trust add"), "{unknown:?}");
}

fn hex(digits: &str) -> Vec<u8> {
    (0..digits.len()).step_by(2).map(|at| u8::from_str_radix(&digits[at..at + 2], 16).unwrap()).collect()
}

#[test]
fn every_line_of_an_inspection_says_that_nothing_is_proven() {
    let world = World::new();
    let nasty =
        with("\"target_agent\":\"\\u001b]52;c;x\\u0007\\u202e\",\"task_record\":{\"requester\":\"\u{202e}\"}");
    let run = |args: &str, text: &str| world.run_with(&[words("handoff inspect"), words(args)].concat(), text);
    for format in ["plain", "table"] {
        let answer = run(&format!("--format {format}"), &envelope(&nasty)).ends(0);
        let mut lines = answer.lines();
        if format == "table" {
            lines.remove(0);
        }
        assert!(
            lines.len() > 10 && lines.iter().all(|line| line.trim_start().starts_with("unverified")),
            "{answer:?}"
        );
        assert!(!answer.text().contains(['\u{1b}', '\u{202e}', '\u{7}']), "{answer:?}");
    }
    let told = run("--json", &envelope(&nasty)).ends(0).json();
    assert!(told["verified"] == false);
    assert!(
        told["parts"]
            .as_array()
            .unwrap()
            .iter()
            .all(|part| part["verified"] == false && part["mark"] == "unverified")
    );
    for (text, code) in [
        (String::new(), Code::RejectedMalformed),
        ("{}".to_owned(), Code::RejectedUnsigned),
        (envelope(PACKAGE).replace("\"eyJ", "\"e!J"), Code::RejectedMalformed),
    ] {
        rejected(&run("", &text), code);
    }
    let no_package = run("", &envelope("{}")).ends(4);
    assert!(no_package.code() == "rejected.payload" && no_package.text().contains("no_package"), "{no_package:?}");
    let wrong = envelope(PACKAGE).replace("\"eyJ", "\"eyK");
    assert!(run("", &wrong).text().contains("hash_fits\tno"));
}

#[test]
fn a_payload_above_sixty_four_mebibytes_is_not_minted_and_a_full_disk_is_told() {
    let world = world();
    let record = "{\"op\":\"store\",\"session\":{\"session_id\":\"s\",\"state\":\"";
    let rest = "\",\"updated_at\":\"2026-01-01T00:00:00Z\",\"total_tokens\":1,\"archived\":false}}\n";
    let state = "x".repeat((64 << 20) - record.len() - rest.len());
    fs::create_dir(world.dir()).unwrap();
    world.write("sessions.jsonl", [record, &state, rest].concat());
    world.run(&words("handoff create s --key-file key --json")).fails(Code::RefusedTooLarge);
    world.write("sessions.jsonl", session_line("s", "1") + "\n");
    world.forget();
    fs::write(world.beside("env"), envelope(PACKAGE)).unwrap();
    for line in ["verify env --key-file key", "create s --key-file key", "inspect env", "keygen new"] {
        let answer = world.shell(&format!("cruxctl handoff {line} --json > /dev/full"));
        answer.fails(Code::EnvironmentStdout);
    }
    world.shell("cruxctl handoff verify env --key-file key >&-").ends(7);
}

#[test]
fn an_envelope_is_the_same_document_in_every_format_and_talk_says_what_it_is() {
    let world = world();
    world.put("s", "1");
    let create =
        |args: &str| world.run(&[words("handoff create s --key-file key --target bob"), words(args)].concat());
    for format in ["table", "plain", "json", "jsonl", "id"] {
        let answer = create(&format!("--format {format}")).ends(0);
        let names: Vec<String> = answer.json().as_object().unwrap().keys().cloned().collect();
        assert_eq!(names, ["content_hash", "payload_b64", "signature_alg", "signature_b64"], "{format}");
        let payload: Value =
            serde_json::from_slice(&verify(&world, "--agent bob", &answer.stdout).ends(0).stdout).unwrap();
        for said in [
            payload["handoff_id"].as_str().unwrap(),
            "bob",
            "2026-07-02T12:00:00Z",
            payload["key_id"].as_str().unwrap(),
        ] {
            assert!(answer.stderr.contains(said), "{said}: {answer:?}");
        }
    }
    assert!(create("-q").ends(0).stderr.is_empty());
    let dry = create("--dry-run").ends(0);
    assert!(dry.stdout.is_empty() && dry.stderr.contains("would mint"), "{dry:?}");
    // On a terminal as well.
    let terminal = world.shell("script -qec 'cruxctl handoff create s --key-file key -q' /dev/null").text();
    assert!(terminal.starts_with("{\"payload_b64\""), "{terminal}");
    fs::write(world.beside("env"), envelope(PACKAGE)).unwrap();
    let terminal = |args: &str| {
        world.shell(&format!("script -qec 'cruxctl handoff verify env --key-file key {args}' /dev/null")).text()
    };
    assert!(terminal("").contains("session id") && terminal("--raw") == PACKAGE);
}

#[test]
fn odd_sessions_are_told_of_and_documents_that_are_none_are_refused() {
    let world = world();
    world.run_with(&words("session put old --ttl 0s"), "1").ends(0);
    world.put("hidden", "1");
    world.run(&words("session archive hidden")).ends(0);
    let create = |args: &str| world.run(&[words("handoff create --key-file key --json"), words(args)].concat());
    assert!(create("old").ends(0).stderr.contains("has expired"));
    assert!(create("hidden").ends(0).stderr.contains("is archived"));
    fs::write(world.beside("task"), "{\"requestor\":\"r\"}").unwrap();
    let error = create("hidden --task-record task").fails(Code::UsageDocument);
    assert!(error["message"].as_str().unwrap().contains("requestor"));
    create("hidden --task-record nowhere").fails(Code::EnvironmentIo);
    create("hidden --target a::b").fails(Code::UsageId);
    create("hidden --all-agents").fails(Code::UsageArguments);
    create("hidden --work-id=").fails(Code::UsageArguments);
    create("hidden --sign-key key").fails(Code::UsageArguments);
    create("nope").fails(Code::NoSession);
    create("__agent_session::a::b --allow-missing").fails(Code::UsageId);
    // From a damaged journal the state may be an old one.
    let damaged = World::with("sessions.jsonl", session_line("a", "1") + "\nx\n").damaged();
    fs::write(damaged.beside("key"), SECRET).unwrap();
    let answer = damaged.run(&words("handoff create a --key-file key")).ends(3);
    verify(&damaged, "", answer.stdout).ends(0);
}

#[test]
fn the_daemons_own_session_is_minted_as_the_daemon_minted_it() {
    let daemon = json_file("tests/data/envelopes/verdicts.json")[0]["payload_text"].as_str().unwrap().to_owned();
    let mut world = World::copy_of("tests/data/daemon/small/data").damaged();
    fs::write(world.beside("key"), SECRET).unwrap();
    world.at("2026-11-29T16:15:45.214725586Z");
    let line = "handoff create handoff_src --agent alice --key-file key --no-expiry --message";
    let answer = world.run(&[words(line), vec!["take over \"now\""]].concat());
    let payload = verify(&world, "", answer.stdout).ends(0).text();
    assert!(payload.starts_with(daemon.trim_end_matches('}')), "{payload}\n{daemon}");
}
