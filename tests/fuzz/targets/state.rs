//! Any bytes as the state of a session: what is taken is one line, the same JSON value, and as long as is counted.

#![no_main]

use std::fs;
use std::path::PathBuf;
use std::sync::LazyLock;

use chrono::DateTime;
use cruxctl::cmd::input;
use cruxctl::error::Code;
use cruxctl::journal::json::Squeeze;
use cruxctl::store::session::{self, Session};
use cruxctl_fuzz::{json, world};
use libfuzzer_sys::fuzz_target;

static FILE: LazyLock<PathBuf> = LazyLock::new(|| world::folder("state").join("state.json"));

/// The limits that a state is held against.
const MOST: [u64; 6] = [16 << 20, 4, 64, 1000, 70_000, 140_000];

/// More than is read at once, and more than is kept as it came.
const MUCH: usize = 70_000;

fuzz_target!(|data: &[u8]| {
    let [most, rest @ ..] = data else { return };
    let (most, text) = (MOST[usize::from(*most) % MOST.len()], grown(rest));
    fs::write(&*FILE, &text).expect("memory can be written");
    let state = input::state(Some(&FILE), most);
    let value = std::str::from_utf8(&text).map_err(|error| error.valid_up_to()).and_then(|_| json::parse(&text));
    let Ok(value) = value else {
        let error = state.expect_err("it is no JSON");
        assert!(matches!(error.code, Code::UsageNotJson | Code::RefusedTooLarge), "{error:?}");
        return;
    };
    let own = &text[value.at.clone()];
    let lines = own.iter().any(|byte| matches!(byte, b'\n' | b'\r'));
    let want = if lines { json::compact(&text, &value) } else { own.to_vec() };
    let state = match state {
        Ok(state) => state,
        Err(error) => {
            assert_eq!(error.code, Code::RefusedTooLarge, "{error:?}");
            assert!(want.len() as u64 > most, "{} bytes are not more than {most}", want.len());
            return;
        }
    };
    assert!(want.len() as u64 <= most, "{} bytes are more than {most}", want.len());
    assert_eq!(state.text, want);
    assert!(!state.text.contains(&b'\n') && !state.text.contains(&b'\r'));
    let mut again = Vec::new();
    Squeeze::default().squeeze(&state.text, &mut again);
    assert_eq!(again, json::compact(&text, &value));
    assert_eq!(Squeeze::compact_len(&state.text), again.len() as u64);
    assert_eq!(session::tokens(&state.text), (again.len() as u64).div_ceil(4));
    stored(&state);
});

/// As a line it is read again as it is, and the daemon reads it unless it is said that it does not.
fn stored(state: &input::State) {
    let now = DateTime::parse_from_rfc3339(world::NOW).expect("a time").to_utc();
    let new = Session {
        id: "s".into(),
        state: &state.text,
        updated_at: now,
        total_tokens: session::tokens(&state.text),
        expires_at: None,
        archived: false,
        archived_at: None,
        archive_reason: None,
        actor: None,
        others: String::new(),
        exact: true,
    };
    let line = new.line();
    assert!(!line.contains(&b'\n'));
    let read = Session::read(&line).expect("it is a session");
    assert_eq!((read.state, read.updated_at, &*read.id), (&*state.text, now, "s"));
    let generic = serde_json::from_slice::<serde_json::Value>(&line).is_ok();
    assert_eq!(generic, state.daemon_loses.is_none(), "{:?}", state.daemon_loses);
}

/// The bytes, where some that no text has stand for a great many others.
fn grown(bytes: &[u8]) -> Vec<u8> {
    let mut text = Vec::new();
    for byte in bytes {
        match byte {
            0xF8 => text.extend([b' '; MUCH]),
            0xF9 => text.extend([&b"\n"[..], &[b' '; MUCH]].concat()),
            0xFA => text.extend([b'a'; MUCH]),
            0xFB => text.extend(b"[0,\t0, 1] ,".repeat(MUCH / 10)),
            other => text.push(*other),
        }
        if text.len() > 5 * MUCH {
            break;
        }
    }
    text
}
