//! `sessions.jsonl`: what agents are doing. The last record of an id wins.

use std::borrow::Cow;

use chrono::{DateTime, Utc};
use serde::Serialize;

use super::time_text;
use crate::journal::Journal;
use crate::journal::json::Squeeze;
use crate::journal::live::Rule;
use crate::journal::read::{self, Reading};
use crate::journal::shape::{Member, Op, Shape, Type};

/// The members of a session document, in the daemon's order.
pub const SESSION: &[Member] = &[
    Member::required("session_id", Type::Text),
    Member::required("state", Type::Any),
    Member::required("updated_at", Type::Time),
    Member::required("total_tokens", Type::Natural(u64::MAX)),
    Member::optional("expires_at", Type::Time),
    Member::default("archived", Type::Bool),
    Member::optional("archived_at", Type::Time),
    Member::optional("archive_reason", Type::Text),
    Member::optional("actor", Type::Text),
];

static SHAPE: Shape = Shape {
    ops: &[
        Op { id: "session_id", name: "store", members: &[Member::required("session", Type::Record(SESSION))] },
        Op { id: "session_id", name: "delete", members: &[Member::required("session_id", Type::Text)] },
    ],
    daemon: Some(super::LINE_BY_LINE),
};

/// The journal of sessions.
pub static JOURNAL: Journal = Journal {
    name: "sessions",
    file: "sessions.jsonl",
    shape: &SHAPE,
    rule: Rule::LastWins,
    id_of: |bytes| read::live_id(&SHAPE, bytes),
    compacts: None,
    has_payloads: false,
};

/// Arrays and objects that are open around a state in its line.
pub const DEPTH_AROUND_STATE: usize = 2;

/// The longest id that may be created, in bytes.
pub const LONGEST_ID: usize = 1024;

/// A stored session. Texts and state are the journal's.
#[derive(Clone, Debug)]
pub struct Session<'a> {
    /// The stored id.
    pub id: Cow<'a, str>,
    /// The state's text, as written.
    pub state: &'a [u8],
    /// When it was last written.
    pub updated_at: DateTime<Utc>,
    /// The recorded token estimate.
    pub total_tokens: u64,
    /// When it expires.
    pub expires_at: Option<DateTime<Utc>>,
    /// Whether it is archived.
    pub archived: bool,
    /// Since when.
    pub archived_at: Option<DateTime<Utc>>,
    /// Why.
    pub archive_reason: Option<Cow<'a, str>>,
    /// Who wrote it.
    pub actor: Option<Cow<'a, str>>,
    /// Members that this version does not know, as written, each with its comma in front.
    pub others: String,
    /// Whether its texts can be written again as they are: half of a surrogate pair cannot.
    pub exact: bool,
}

impl<'a> Session<'a> {
    /// Reads a `store` line of the journal; `None` where it is none.
    #[must_use]
    pub fn read(line: &'a [u8]) -> Option<Session<'a>> {
        let Reading::Event { event, .. } = read::read(&SHAPE, line) else { return None };
        let doc = event.record;
        let time = |name| doc.time(name).map(|time| time.to_utc());
        Some(Session {
            id: doc.id("session_id")?,
            state: doc.raw("state")?,
            updated_at: time("updated_at")?,
            total_tokens: doc.natural("total_tokens")?,
            expires_at: time("expires_at"),
            archived: doc.flag("archived").unwrap_or(false),
            archived_at: time("archived_at"),
            archive_reason: doc.text("archive_reason"),
            actor: doc.text("actor"),
            others: super::others(&doc, event.members.raw("session").unwrap_or_default()),
            exact: ["session_id", "actor", "archive_reason"].iter().all(|name| super::is_exact(&doc, name)),
        })
    }

    /// Whether it has expired at `now`.
    #[must_use]
    pub fn expired(&self, now: DateTime<Utc>) -> bool {
        self.expires_at.is_some_and(|at| now >= at)
    }

    /// The BLAKE3 hash of the state's bytes, in hex.
    #[must_use]
    pub fn hash(&self) -> String {
        blake3::hash(self.state).to_hex().to_string()
    }

    /// The `store` line of this session, without its line end: the daemon's members in the daemon's order, then what
    /// other versions have added.
    #[must_use]
    pub fn line(&self) -> Vec<u8> {
        let head = Head { session_id: &self.id };
        let tail = Tail {
            updated_at: time_text(self.updated_at),
            total_tokens: self.total_tokens,
            expires_at: self.expires_at.map(time_text),
            archived: self.archived,
            archived_at: self.archived_at.map(time_text),
            archive_reason: self.archive_reason.as_deref(),
            actor: self.actor.as_deref(),
        };
        let mut line = b"{\"op\":\"store\",\"session\":".to_vec();
        // Neither can fail: both are structs of texts and numbers.
        let head = serde_json::to_vec(&head).unwrap_or_default();
        let tail = serde_json::to_vec(&tail).unwrap_or_default();
        line.extend_from_slice(&head[..head.len().saturating_sub(1)]);
        line.extend_from_slice(b",\"state\":");
        line.extend_from_slice(self.state);
        line.push(b',');
        line.extend_from_slice(tail.get(1..tail.len().saturating_sub(1)).unwrap_or_default());
        line.extend_from_slice(self.others.as_bytes());
        line.extend_from_slice(b"}}");
        line
    }
}

#[derive(Serialize)]
struct Head<'a> {
    session_id: &'a str,
}

#[derive(Serialize)]
struct Tail<'a> {
    updated_at: String,
    total_tokens: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    expires_at: Option<String>,
    archived: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    archived_at: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    archive_reason: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    actor: Option<&'a str>,
}

/// What a record makes of a session.
#[derive(Clone, Debug)]
pub enum Version<'a> {
    /// It is stored.
    Stored(Box<Session<'a>>),
    /// It is deleted, and when, where that is known.
    Deleted(Option<DateTime<Utc>>),
}

impl<'a> Version<'a> {
    /// Reads a line of the journal; `None` where it is no record.
    #[must_use]
    pub fn read(line: &'a [u8]) -> Option<Version<'a>> {
        match read::read(&SHAPE, line) {
            Reading::Event { event, .. } if event.op.name == "delete" => {
                Some(Version::Deleted(super::deleted_at(line)))
            }
            _ => Session::read(line).map(|session| Version::Stored(Box::new(session))),
        }
    }
}

/// The `delete` line of a stored id, without its line end. The daemon's has no time; it reads past ours.
#[must_use]
pub fn delete_line(id: &str, at: DateTime<Utc>) -> Vec<u8> {
    #[derive(Serialize)]
    struct Delete<'a> {
        op: &'static str,
        session_id: &'a str,
        deleted_at: String,
    }
    // It cannot fail: it is a struct of texts.
    serde_json::to_vec(&Delete { op: "delete", session_id: id, deleted_at: time_text(at) }).unwrap_or_default()
}

/// The daemon's token estimate of a state: a quarter of its bytes without insignificant white space, rounded up.
#[must_use]
pub fn tokens(state: &[u8]) -> u64 {
    Squeeze::compact_len(state).div_ceil(4)
}
