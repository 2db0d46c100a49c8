//! `cruxctl/trust.jsonl`: which ed25519 keys belong to which agent. It is ours alone: the daemon never reads it.
//!
//! A key belongs to one agent, so it is the record's id, and the last record of a key wins. An agent may have several.

use chrono::{DateTime, Utc};
use serde::Serialize;

use super::time_text;
use crate::journal::Journal;
use crate::journal::live::Rule;
use crate::journal::read::{self, Reading};
use crate::journal::shape::{Member, Op, Shape, Type};

static SHAPE: Shape = Shape {
    ops: &[
        Op {
            id: "public_key",
            name: "store",
            members: &[
                Member::required("public_key", Type::Text),
                Member::required("agent", Type::Text),
                Member::required("added_at", Type::Time),
            ],
        },
        Op {
            id: "public_key",
            name: "delete",
            members: &[Member::required("public_key", Type::Text), Member::required("removed_at", Type::Time)],
        },
    ],
    daemon: None,
};

/// The journal of trusted keys.
pub static JOURNAL: Journal = Journal {
    name: "trust",
    file: "cruxctl/trust.jsonl",
    shape: &SHAPE,
    rule: Rule::LastWins,
    id_of: |bytes| read::live_id(&SHAPE, bytes),
    compacts: None,
    has_payloads: false,
};

/// A key and its agent, as the journal has them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Entry {
    /// The key in hex digits.
    pub public_key: String,
    /// Whose it is.
    pub agent: String,
    /// Since when.
    pub added_at: DateTime<Utc>,
}

impl Entry {
    /// Reads a `store` line; `None` where it is none.
    #[must_use]
    pub fn read(line: &[u8]) -> Option<Entry> {
        let Reading::Event { event, .. } = read::read(&SHAPE, line) else { return None };
        let text = |name| event.members.text(name).map(std::borrow::Cow::into_owned);
        Some(Entry {
            public_key: text("public_key")?,
            agent: text("agent")?,
            added_at: event.members.time("added_at")?.to_utc(),
        })
    }

    /// The `store` line, without its line end.
    #[must_use]
    pub fn line(&self) -> Vec<u8> {
        #[derive(Serialize)]
        struct Store<'a> {
            op: &'static str,
            public_key: &'a str,
            agent: &'a str,
            added_at: String,
        }
        let Entry { public_key, agent, added_at } = self;
        // It cannot fail: a struct of texts.
        serde_json::to_vec(&Store { op: "store", public_key, agent, added_at: time_text(*added_at) })
            .unwrap_or_default()
    }
}

/// The `delete` line of a key, without its line end.
#[must_use]
pub fn delete_line(public_key: &str, removed_at: DateTime<Utc>) -> Vec<u8> {
    #[derive(Serialize)]
    struct Delete<'a> {
        op: &'static str,
        public_key: &'a str,
        removed_at: String,
    }
    serde_json::to_vec(&Delete { op: "delete", public_key, removed_at: time_text(removed_at) }).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_written_is_read_again() {
        let at = "2026-03-01T08:00:01.5Z".parse().unwrap();
        let entry = Entry { public_key: "ab".repeat(32), agent: "a\"\u{2028}".to_owned(), added_at: at };
        let line = entry.line();
        assert_eq!(Entry::read(&line), Some(entry));
        assert_eq!((JOURNAL.id_of)(&line), Some("ab".repeat(32)));
        assert_eq!(Entry::read(&delete_line("ab", at)), None);
    }
}
