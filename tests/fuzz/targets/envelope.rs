//! Any bytes as an envelope, as a payload, and as changes of good envelopes: nothing is vouched for unless its key really
//! does, and what is vouched for is read as others read it.

#![no_main]

use std::sync::LazyLock;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use chrono::{DateTime, Utc};
use cruxctl::handoff::envelope::{self, mint};
use cruxctl::handoff::keys::{MAC, Secret};
use cruxctl::handoff::signature::{ED25519, PrivateKey};
use cruxctl::handoff::strict;
use cruxctl::handoff::verify::{Conditions, Keys, Proven, Trusted, prove};
use cruxctl::journal::json as ours;
use cruxctl_fuzz::{json, world};
use ed25519_dalek::{Signature, VerifyingKey};
use libfuzzer_sys::fuzz_target;
use zeroize::Zeroizing;

const SECRET: &[u8] = b"golden-secret";
const AGENT: &str = "alice";

static KEYS: LazyLock<Keys> = LazyLock::new(|| {
    let secret =
        |bytes: &[u8]| Secret::from_variable(Zeroizing::new(bytes.to_vec()), "s").expect("a secret").mac_key();
    let trusted = |agent: &str, seed| Trusted { agent: agent.to_owned(), key: PrivateKey::new(&seed).public() };
    let agents = vec![trusted("bob", [8; 32]), trusted(AGENT, [7; 32])];
    Keys { macs: vec![secret(b"another secret"), secret(SECRET)], agents, doubted: false }
});

/// A payload that everything holds for.
const PAYLOAD: &str = r#"{"session_id":"s","session_state":{"a":[1,"x"]},"facts":[],"created_at":"2026-07-01T11:00:00+00:00","source_agent":"alice","target_agent":"bob","message":null,"work_ids":["w_1"],"expires_at":"2026-07-01T13:00:00Z","handoff_id":"h","key_id":"k"}"#;

fuzz_target!(|data: &[u8]| {
    let [how, rest @ ..] = data else { return };
    match how % 5 {
        0 => judge(rest),
        1 => judge(minted(rest, true).as_bytes()),
        2 => judge(minted(rest, false).as_bytes()),
        3 => judge(&changed(minted(PAYLOAD.as_bytes(), true).into_bytes(), rest)),
        _ => judge(&changed(minted(PAYLOAD.as_bytes(), false).into_bytes(), rest)),
    }
});

fn minted(payload: &[u8], mac: bool) -> String {
    match mac {
        true => mint(payload, KEYS.macs[1].mac(payload).as_bytes(), MAC),
        false => mint(payload, &PrivateKey::new(&[7; 32]).sign(payload), ED25519),
    }
}

/// Sets, takes out and puts in bytes, three for each change.
fn changed(mut text: Vec<u8>, changes: &[u8]) -> Vec<u8> {
    for change in changes.chunks_exact(4).take(16) {
        let at = (usize::from(change[0]) << 8 | usize::from(change[1])) % text.len();
        match change[2] % 4 {
            0 => text[at] = change[3],
            1 => text[at] ^= 1 << (change[3] % 8),
            2 => text.insert(at, change[3]),
            _ => drop(text.remove(at)),
        }
        if text.is_empty() {
            break;
        }
    }
    text
}

fn judge(text: &[u8]) {
    reads_alike(text);
    // What an answer of a tool has inside is nothing that is believed either.
    if let Ok(inside) = envelope::from_mcp(text) {
        held(inside.as_bytes());
    }
    held(text);
}

/// The strict reader takes what the daemon's takes, but for members that occur twice.
fn reads_alike(text: &[u8]) {
    let Ok(text) = std::str::from_utf8(text) else { return };
    let generic = serde_json::from_str::<serde_json::Value>(text).is_ok();
    let mut texts = Vec::new();
    let walked = strict::walk(text, &mut |text| texts.push(text.to_owned()));
    let mine = json::parse(text.as_bytes());
    let quirks = ours::whole(text.as_bytes(), 0);
    assert_eq!(mine.as_ref().err(), quirks.as_ref().err().map(|fail| &fail.at));
    assert_eq!(generic, quirks.is_ok_and(|(_, quirks)| quirks.none()));
    let repeats = mine.as_ref().is_ok_and(json::Value::repeats);
    match walked {
        Ok(()) => assert!(generic && !repeats, "a member twice is taken"),
        Err(fault) => assert!(!generic || repeats, "{fault:?}"),
    }
    if let (true, false, Ok(value)) = (generic, repeats, mine) {
        let mut want = Vec::new();
        value.each_text(&mut |text| want.push(text));
        assert_eq!(texts, want);
        let members = strict::members(text);
        assert_eq!(members.is_some(), matches!(value.what, json::What::Object(_)));
        for ((name, raw), (own, value)) in members.iter().flatten().zip(value.members()) {
            assert!(own.is(name));
            assert_eq!(raw.get().as_bytes(), &text.as_bytes()[value.at.clone()]);
            assert_eq!(strict::text(raw).map(std::borrow::Cow::into_owned), value.text());
        }
    }
}

/// Who vouches for an envelope, found out once more.
fn vouched(text: &[u8]) -> Option<(Vec<u8>, &'static str)> {
    std::str::from_utf8(text).ok()?;
    serde_json::from_slice::<serde_json::Value>(text).ok()?;
    let value = json::parse(text).ok()?;
    if value.repeats() {
        return None;
    }
    let text = |name: &str| value.get(name)?.text();
    let payload = STANDARD.decode(text("payload_b64")?).ok()?;
    let signature = STANDARD.decode(text("signature_b64")?).ok()?;
    let hash = text("content_hash")?;
    if hash != blake3::hash(&payload).to_hex().as_str() {
        return None;
    }
    match &*text("signature_alg")? {
        "blake3-mac-v1" => {
            let fits =
                |secret: &[u8]| signature == blake3::keyed_hash(blake3::hash(secret).as_bytes(), &payload).as_bytes();
            (fits(SECRET) || fits(b"another secret")).then_some((payload, ""))
        }
        "ed25519-v1" => {
            let signature = Signature::from_slice(&signature).ok()?;
            let message = [b"cruxctl-handoff-ed25519-v1\0", &*payload].concat();
            let signed = |seed: [u8; 32]| {
                let key: VerifyingKey = ed25519_dalek::SigningKey::from_bytes(&seed).verifying_key();
                key.verify_strict(&message, &signature).is_ok()
            };
            let agent = if signed([7; 32]) {
                AGENT
            } else if signed([8; 32]) {
                "bob"
            } else {
                return None;
            };
            Some((payload, agent))
        }
        _ => None,
    }
}

fn held(text: &[u8]) {
    let want = vouched(text);
    let proven = prove(text, &KEYS, None);
    assert_eq!(proven.is_ok(), want.is_some(), "{:?}", proven.err());
    let (Ok(proven), Some((payload, agent))) = (proven, want) else { return };
    assert_eq!(proven.content_hash(), blake3::hash(&payload));
    // Without its key, nobody vouches.
    let few = Keys { macs: Vec::new(), agents: Vec::new(), doubted: false };
    assert!(prove(text, &few, None).is_err());
    for receiver in [None, Some("bob"), Some("carol")] {
        package(&proven, &payload, agent, receiver);
    }
}

/// A package that is taken says what its payload says, is for who takes it, and is by who signed it.
fn package(proven: &Proven, payload: &[u8], agent: &str, receiver: Option<&str>) {
    let now: DateTime<Utc> = world::NOW.parse().expect("a time");
    let Ok(verified) = proven.judge(&Conditions { now, receiver, max_age: None }) else { return };
    assert_eq!(verified.payload, payload);
    reads_alike(payload);
    let value = json::parse(payload).expect("a payload is JSON");
    assert!(!value.repeats());
    let text = |name: &str| value.get(name).and_then(json::Value::text);
    let package = &verified.package;
    let own = |text: &Option<std::borrow::Cow<'_, str>>| text.as_deref().map(str::to_owned);
    assert_eq!(text("session_id").as_deref(), Some(&*package.session_id));
    assert_eq!(text("source_agent").as_deref(), Some(&*package.source_agent));
    assert!(agent.is_empty() || package.source_agent == agent, "it is signed by another");
    assert_eq!(text("target_agent"), own(&package.target_agent));
    assert!(package.target_agent.is_none() || package.target_agent.as_deref() == receiver, "it is for another");
    assert_eq!(text("message"), own(&package.message));
    assert_eq!(text("handoff_id"), own(&package.handoff_id));
    let state = value.get("session_state").map(|state| &payload[state.at.clone()]).filter(|state| *state != b"null");
    assert_eq!(state, package.session_state.map(str::as_bytes));
    let facts =
        value.get("facts").map_or(0, |facts| if let json::What::List(all) = &facts.what { all.len() } else { 0 });
    assert_eq!(facts, package.facts.len());
    assert!(package.private_facts() == 0 || receiver.is_some(), "private facts go to nobody");
    if let Some(at) = text("expires_at") {
        let at = DateTime::parse_from_rfc3339(&at).expect("a time").to_utc();
        assert!((now - at).num_seconds() < 60, "it has expired");
    }
}
