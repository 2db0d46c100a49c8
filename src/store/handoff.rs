//! `cruxctl/handoffs.jsonl`: the ledger of handoffs that were accepted here, so that none is accepted twice by accident.
//! It is ours alone: the daemon never reads it.
//!
//! A handoff is known by the hash of its payload. Before anything of it is loaded, an open entry says what will be; after
//! all is on disk, the next record of it says so. Each record has the whole entry, so that the last one wins.

use chrono::{DateTime, Utc};
use serde::Serialize;

use super::stamped;
use crate::journal::Journal;
use crate::journal::live::Rule;
use crate::journal::read::{self, Reading};
use crate::journal::shape::{Member, Op, Shape, Type};

static SHAPE: Shape = Shape {
    ops: &[Op {
        id: "content_hash",
        name: "handoff",
        members: &[
            Member::required("content_hash", Type::Text),
            Member::required("state", Type::Choice(&["open", "accepted", "abandoned"])),
            Member::optional("handoff_id", Type::Text),
            Member::required("session_id", Type::Text),
            Member::required("source_agent", Type::Text),
            Member::optional("receiver", Type::Text),
            Member::optional("signed_by", Type::Text),
            Member::required("key_id", Type::Text),
            Member::required("session", Type::Bool),
            Member::required("fact_ids", Type::Texts),
            Member::required("sessions_bytes", Type::Natural(u64::MAX)),
            Member::required("facts_bytes", Type::Natural(u64::MAX)),
            Member::optional("session_before", Type::Text),
            Member::required("heads_before", Type::Texts),
            Member::required("times", Type::Natural(u64::MAX)),
            Member::required("begun_at", Type::Time),
            Member::optional("accepted_at", Type::Time),
        ],
    }],
    daemon: None,
};

/// The ledger.
pub static JOURNAL: Journal = Journal {
    name: "handoffs",
    file: "cruxctl/handoffs.jsonl",
    shape: &SHAPE,
    rule: Rule::LastWins,
    id_of: |bytes| read::live_id(&SHAPE, bytes),
    compacts: None,
    has_payloads: false,
};

/// How far a handoff has come.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum State {
    /// Loading has begun, and was not seen to end.
    Open,
    /// All of it is on disk.
    Accepted,
    /// It was given up: what was loaded is there, the rest is not.
    Abandoned,
}

impl State {
    /// Its name.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            State::Open => "open",
            State::Accepted => "accepted",
            State::Abandoned => "abandoned",
        }
    }
}

/// A handoff as the ledger has it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Entry {
    /// The BLAKE3 hash of the payload, in hex.
    pub content_hash: String,
    /// How far it has come.
    pub state: State,
    /// The package's own id.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub handoff_id: Option<String>,
    /// The session's id as agents know it.
    pub session_id: String,
    /// Who says to have minted it.
    pub source_agent: String,
    /// The agent that accepts it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub receiver: Option<String>,
    /// The agent whose signature vouches for it; none: a MAC does.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub signed_by: Option<String>,
    /// The key that vouches for it.
    pub key_id: String,
    /// Whether a session goes along.
    pub session: bool,
    /// The ids that its facts get here, in the package's order.
    pub fact_ids: Vec<String>,
    /// How long the journal of sessions was before.
    pub sessions_bytes: u64,
    /// How long the journal of facts was before.
    pub facts_bytes: u64,
    /// The hash of the session's live record before, in hex; none: there was no such session.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub session_before: Option<String>,
    /// The newest facts before of the chains that its facts continue.
    pub heads_before: Vec<String>,
    /// How many times it was accepted, this one included.
    pub times: u64,
    /// When loading began.
    #[serde(with = "stamped")]
    pub begun_at: DateTime<Utc>,
    /// When all of it was on disk.
    #[serde(skip_serializing_if = "Option::is_none", with = "stamped::maybe")]
    pub accepted_at: Option<DateTime<Utc>>,
}

impl Entry {
    /// Reads a `handoff` line; `None` where it is none.
    #[must_use]
    pub fn read(line: &[u8]) -> Option<Entry> {
        let Reading::Event { event, .. } = read::read(&SHAPE, line) else { return None };
        let doc = event.members;
        let owned = |name| doc.text(name).map(std::borrow::Cow::into_owned);
        let state = match &*doc.text("state")? {
            "open" => State::Open,
            "accepted" => State::Accepted,
            _ => State::Abandoned,
        };
        Some(Entry {
            content_hash: owned("content_hash")?,
            state,
            handoff_id: owned("handoff_id"),
            session_id: owned("session_id")?,
            source_agent: owned("source_agent")?,
            receiver: owned("receiver"),
            signed_by: owned("signed_by"),
            key_id: owned("key_id")?,
            session: doc.flag("session")?,
            fact_ids: doc.texts("fact_ids").into_iter().map(std::borrow::Cow::into_owned).collect(),
            sessions_bytes: doc.natural("sessions_bytes")?,
            facts_bytes: doc.natural("facts_bytes")?,
            session_before: owned("session_before"),
            heads_before: doc.texts("heads_before").into_iter().map(std::borrow::Cow::into_owned).collect(),
            times: doc.natural("times")?,
            begun_at: doc.time("begun_at")?.to_utc(),
            accepted_at: doc.time("accepted_at").map(|at| at.to_utc()),
        })
    }

    /// The `handoff` line, without its line end.
    #[must_use]
    pub fn line(&self) -> Vec<u8> {
        // It cannot fail: a struct of texts and numbers.
        let entry = serde_json::to_vec(self).unwrap_or_default();
        [b"{\"op\":\"handoff\",", entry.get(1..).unwrap_or_default()].concat()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_written_is_read_again() {
        let entry = Entry {
            content_hash: "ab".repeat(32),
            state: State::Open,
            handoff_id: None,
            session_id: "s\"\u{2028}".to_owned(),
            source_agent: "alice".to_owned(),
            receiver: Some("bob".to_owned()),
            signed_by: None,
            key_id: "k".to_owned(),
            session: true,
            fact_ids: vec!["f_1".to_owned(), "f_2".to_owned()],
            sessions_bytes: 1,
            facts_bytes: u64::MAX,
            session_before: Some("cd".to_owned()),
            heads_before: vec!["f_0".to_owned()],
            times: 2,
            begun_at: "2026-03-01T08:00:01.5Z".parse().unwrap(),
            accepted_at: None,
        };
        let line = entry.line();
        assert_eq!(Entry::read(&line), Some(entry.clone()));
        assert_eq!((JOURNAL.id_of)(&line), Some("ab".repeat(32)));
        let done = Entry { state: State::Accepted, accepted_at: Some(entry.begun_at), ..entry };
        assert_eq!(Entry::read(&done.line()), Some(done));
    }
}
