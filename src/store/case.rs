//! `cases.jsonl`: what an agent did and how it turned out. The last record of an id wins.

use std::borrow::Cow;

use chrono::{DateTime, Utc};
use serde::Serialize;

use super::time_text;
use crate::journal::Journal;
use crate::journal::live::Rule;
use crate::journal::read::{self, Reading};
use crate::journal::shape::{Member, Op, Shape, Type};

/// The members of a case, in the daemon's order.
pub const CASE: &[Member] = &[
    Member::required("case_id", Type::Text),
    Member::required("task", Type::Text),
    Member::optional("context", Type::Text),
    Member::required("action", Type::Text),
    Member::required("outcome", Type::Text),
    Member::required("success", Type::Bool),
    Member::required("reward", Type::Number),
    Member::default("tags", Type::Texts),
    Member::optional("source_receipt", Type::Text),
    Member::required("created_at", Type::Time),
    Member::default("times_reused", Type::Natural(u32::MAX as u64)),
];

static SHAPE: Shape = Shape {
    ops: &[
        Op { id: "case_id", name: "record", members: &[Member::required("case", Type::Record(CASE))] },
        Op { id: "case_id", name: "delete", members: &[Member::required("case_id", Type::Text)] },
    ],
    daemon: Some(super::LINE_BY_LINE),
};

/// The journal of cases.
pub static JOURNAL: Journal = Journal {
    name: "cases",
    file: "cases.jsonl",
    shape: &SHAPE,
    rule: Rule::LastWins,
    id_of: |bytes| read::live_id(&SHAPE, bytes),
    compacts: None,
    has_payloads: false,
};

/// A recorded case. Texts are the journal's.
#[derive(Clone, Debug, PartialEq)]
pub struct Case<'a> {
    /// The id.
    pub id: Cow<'a, str>,
    /// What was to be done: what retrieval looks at, with the tags.
    pub task: Cow<'a, str>,
    /// Under which circumstances.
    pub context: Option<Cow<'a, str>>,
    /// What was done.
    pub action: Cow<'a, str>,
    /// How it turned out.
    pub outcome: Cow<'a, str>,
    /// Whether it turned out well.
    pub success: bool,
    /// How well, from 0 to 1. Other writers may have written anything; what is beyond a 32-bit float is infinite, as it
    /// is to the daemon.
    pub reward: f32,
    /// Tags.
    pub tags: Vec<Cow<'a, str>>,
    /// The receipt of the run.
    pub source_receipt: Option<Cow<'a, str>>,
    /// When it was recorded.
    pub created_at: DateTime<Utc>,
    /// How often the journal says it was used again.
    pub times_reused: u32,
}

impl<'a> Case<'a> {
    /// Reads a `record` line of the journal; `None` where it is none.
    #[must_use]
    pub fn read(line: &'a [u8]) -> Option<Case<'a>> {
        let Reading::Event { event, .. } = read::read(&SHAPE, line) else { return None };
        let doc = event.record;
        Some(Case {
            id: doc.id("case_id")?,
            task: doc.text("task")?,
            context: doc.text("context"),
            action: doc.text("action")?,
            outcome: doc.text("outcome")?,
            success: doc.flag("success")?,
            reward: reward(doc.raw("reward")?)?,
            tags: doc.texts("tags"),
            source_receipt: doc.text("source_receipt"),
            created_at: doc.time("created_at")?.to_utc(),
            times_reused: doc.natural("times_reused").and_then(|n| u32::try_from(n).ok()).unwrap_or(0),
        })
    }

    /// The tags, each a text of its own.
    #[must_use]
    pub fn tag_texts(&self) -> Vec<String> {
        self.tags.iter().map(|tag| tag.clone().into_owned()).collect()
    }

    /// The `record` line of this case, without its line end: the daemon's members in the daemon's order.
    #[must_use]
    pub fn line(&self) -> Vec<u8> {
        let written = Written {
            case_id: &self.id,
            task: &self.task,
            context: self.context.as_deref(),
            action: &self.action,
            outcome: &self.outcome,
            success: self.success,
            reward: self.reward,
            tags: &self.tags,
            source_receipt: self.source_receipt.as_deref(),
            created_at: time_text(self.created_at),
            times_reused: self.times_reused,
        };
        // It cannot fail: a struct of texts and numbers.
        serde_json::to_vec(&Event { op: "record", case: written }).unwrap_or_default()
    }
}

/// A reward's number as the daemon holds it: a 32-bit float.
fn reward(number: &[u8]) -> Option<f32> {
    // As the daemon does it. It loses a line with a number beyond a 64-bit float; here that is infinite as well.
    serde_json::from_slice(number).ok().or_else(|| std::str::from_utf8(number).ok()?.parse().ok())
}

#[derive(Serialize)]
struct Event<'a> {
    op: &'static str,
    case: Written<'a>,
}

#[derive(Serialize)]
struct Written<'a> {
    case_id: &'a str,
    task: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    context: Option<&'a str>,
    action: &'a str,
    outcome: &'a str,
    success: bool,
    reward: f32,
    #[serde(skip_serializing_if = "<[_]>::is_empty")]
    tags: &'a [Cow<'a, str>],
    #[serde(skip_serializing_if = "Option::is_none")]
    source_receipt: Option<&'a str>,
    created_at: String,
    #[serde(skip_serializing_if = "is_zero")]
    times_reused: u32,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde hands out references")]
fn is_zero(number: &u32) -> bool {
    *number == 0
}

/// The `delete` line of an id, without its line end. The daemon's has no time; it reads past ours.
#[must_use]
pub fn delete_line(id: &str, at: DateTime<Utc>) -> Vec<u8> {
    #[derive(Serialize)]
    struct Delete<'a> {
        op: &'static str,
        case_id: &'a str,
        deleted_at: String,
    }
    // It cannot fail: it is a struct of texts.
    serde_json::to_vec(&Delete { op: "delete", case_id: id, deleted_at: time_text(at) }).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_written_is_read_again() {
        let case = Case {
            id: "c_1".into(),
            task: "t \u{2028}\n".into(),
            context: None,
            action: "a".into(),
            outcome: "o".into(),
            success: true,
            reward: 0.9,
            tags: vec!["x".into()],
            source_receipt: Some("r".into()),
            created_at: "2026-03-01T08:00:01.984062823Z".parse().unwrap(),
            times_reused: 0,
        };
        let line = case.line();
        assert_eq!(Case::read(&line), Some(case));
        assert!(String::from_utf8(line).unwrap().contains("\"reward\":0.9,"));
    }
}
