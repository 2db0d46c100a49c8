//! The ids of durable sessions and of what belongs to them. Each is a hash of what it stands for, so that whoever asks
//! twice gets the same one, on every machine, and anybody can find it out again: the SHA-256 of a JSON array that
//! begins with what kind of id it is.

use std::fmt::Write;

use sha2::{Digest, Sha256};

const SESSION: &str = "crux-session:v1";
const FORK: &str = "crux-session-fork:v1";
const FORK_KEY: &str = "crux-session-fork-key:v1";
const TURN: &str = "crux-session-turn:v1";

/// What every id of a session begins with.
const SESSION_PREFIX: &str = "session_";
const INPUT_PREFIX: &str = "input_";

/// What every id of a subscription begins with.
pub const SUBSCRIPTION_PREFIX: &str = "subscription_";

/// The SHA-256 of the texts as a JSON array without white space, in hex.
fn hash(texts: &[&str]) -> String {
    // It cannot fail: texts.
    let array = serde_json::to_vec(texts).unwrap_or_default();
    Sha256::digest(&array).iter().fold(String::with_capacity(64), |mut hex, byte| {
        let _ = write!(hex, "{byte:02x}");
        hex
    })
}

/// The ids of a session that is opened under a key.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Keyed {
    /// The session's id.
    pub session_id: String,
    /// Its thread's id.
    pub thread_id: String,
    /// By what the key is looked up: it belongs to one target.
    pub key_hash: String,
}

impl Keyed {
    /// Of a namespace, a target and a key.
    #[must_use]
    pub fn of(namespace: &str, target: &str, key: &str) -> Keyed {
        let own = hash(&[SESSION, namespace, target, key]);
        Keyed {
            session_id: format!("{SESSION_PREFIX}{own}"),
            thread_id: format!("thread_{own}"),
            key_hash: hash(&[SESSION, namespace, key]),
        }
    }
}

/// The id of a fork, and the hash that stands in the place of a key. `cursor`: the parent's last accepted input; `head`:
/// how far its turns had come.
#[must_use]
pub fn fork(namespace: &str, parent: &str, cursor: u64, head: u64) -> (String, String) {
    let own = hash(&[FORK, namespace, parent, &cursor.to_string(), &head.to_string()]);
    let id = format!("{SESSION_PREFIX}fork_{own}");
    let key_hash = hash(&[FORK_KEY, namespace, &id]);
    (id, key_hash)
}

/// The id of a session's input, from which both can be told.
#[must_use]
pub fn input(session: &str, cursor: u64) -> String {
    format!("{INPUT_PREFIX}{}_{cursor}", session.strip_prefix(SESSION_PREFIX).unwrap_or(session))
}

/// The session and the cursor of an input's id; `None` where it is none.
#[must_use]
pub fn input_parts(id: &str) -> Option<(String, u64)> {
    let (session, cursor) = id.strip_prefix(INPUT_PREFIX)?.rsplit_once('_')?;
    let number: u64 = cursor.parse().ok()?;
    let parts = (format!("{SESSION_PREFIX}{session}"), number);
    (input(&parts.0, number) == id).then_some(parts)
}

/// The id of the work that begins with an input, and the scope of its effects: whoever repeats the work has the same
/// one, so that it can tell what it has done before.
#[must_use]
pub fn work(namespace: &str, session: &str, first_input: &str) -> (String, String) {
    let own = hash(&[TURN, namespace, session, first_input]);
    (format!("work_{own}"), format!("effect_{own}"))
}

/// The id of a session's subscription. `match_key`: what is matched, in its one form; empty: everything.
#[must_use]
pub fn subscription(namespace: &str, session: &str, signal: &str, match_key: &str) -> String {
    format!("{SUBSCRIPTION_PREFIX}{}", hash(&[SESSION, namespace, session, signal, match_key]))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_are_hashes_that_anybody_can_find_out() {
        // printf '["crux-session:v1","app","support","customer-42"]' | sha256sum
        let ids = Keyed::of("app", "support", "customer-42");
        let own = "3ea7551c1a32c417ed0be70dece476d49643f15f51a9e0746ab39746a62769b0";
        assert_eq!((&*ids.session_id, &*ids.thread_id), (&*format!("session_{own}"), &*format!("thread_{own}")));
        // printf '["crux-session:v1","app","customer-42"]' | sha256sum
        assert_eq!(ids.key_hash, "d5ab4d3dfdcb8e4e3cc3a09199ca5039d90fed68386fc016051207b15fb83152");
    }

    #[test]
    fn an_input_names_its_session() {
        let (fork, _) = fork("app", "session_ab", 3, 2);
        for session in ["session_ab", &fork] {
            assert_eq!(input_parts(&input(session, 12)), Some((session.to_owned(), 12)));
        }
        for wrong in ["", "input_", "input_ab_", "input_ab_x", "input_ab_07", "session_ab_7", "input_ab_-1"] {
            assert_eq!(input_parts(wrong), None, "{wrong}");
        }
    }
}
