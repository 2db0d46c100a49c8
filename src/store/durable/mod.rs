//! `cruxctl/durable.jsonl`: sessions that own one conversation of an agent or a flow under a caller's key, with their
//! inputs, what is being worked on, and the results. It is ours alone: the daemon never reads it.
//!
//! One line is one thing that happened, whole: it carries the session as it is from then on ([`Session`]), and what came
//! with it: inputs, a result, a subscription. So the last line of a session says its state, a batch of inputs is there
//! or is not, and a repair that sets a line aside takes nothing else along. In reading order: [`identity`] makes the ids,
//! [`session`] says what may happen, [`lines`] writes it, [`rules`] says what the lines add up to, [`events`] what a
//! stream makes of them, [`compact`] what a compaction leaves.

pub mod compact;
pub mod events;
pub mod identity;
pub mod limits;
pub mod lines;
pub mod rules;
pub mod session;

pub use lines::{Input, Source, Subscription};
pub use session::{Claimable, ForkedFrom, Progress, Session, State, Statistics, Status, TargetKind, Work};

use crate::journal::Journal;
use crate::journal::live::Rule;
use crate::journal::read;
use crate::journal::shape::{Member, Op, Shape, Type};

/// More than can be counted in the life of a session.
const COUNT: Type = Type::Natural((1 << 56) - 1);

/// Where a fork came from.
const FORKED_FROM: &[Member] = &[
    Member::required("session_id", Type::Text),
    Member::required("cursor", COUNT),
    Member::required("thread_revision", COUNT),
];

/// The work of a session.
const WORK: &[Member] = &[
    Member::required("work_id", Type::Text),
    Member::required("first", COUNT),
    Member::required("last", COUNT),
    Member::required("progress", Type::Choice(&["queued", "running", "blocked"])),
    Member::required("fence", COUNT),
    Member::required("claims", COUNT),
    Member::required("failures", COUNT),
    Member::required("prepared", Type::Bool),
    Member::optional("worker", Type::Text),
    Member::optional("until", Type::Time),
    Member::optional("blocker", Type::Text),
    Member::optional("delivered_at", Type::Time),
    Member::optional("checkpointed_at", Type::Time),
];

/// What was counted in the life of a session.
const STATISTICS: &[Member] = &[
    Member::required("accepted", COUNT),
    Member::required("deduplicated", COUNT),
    Member::required("delivered", COUNT),
    Member::required("resumed", COUNT),
    Member::required("dropped", COUNT),
    Member::required("started", COUNT),
    Member::required("completed", COUNT),
    Member::required("failed", COUNT),
];

/// A subscription as the line has it with which it began.
const SUBSCRIPTION: &[Member] = &[
    Member::required("subscription_id", Type::Text),
    Member::required("session_id", Type::Text),
    Member::required("namespace", Type::Text),
    Member::required("signal_id", Type::Text),
    Member::required("match_key", Type::Text),
    Member::required("created_at", Type::Time),
];

/// A session as every line has it.
pub(super) const SESSION: &[Member] = &[
    Member::required("session_id", Type::Text),
    Member::required("namespace", Type::Text),
    Member::required("target_id", Type::Text),
    Member::required("target_kind", Type::Choice(&["agent", "flow"])),
    Member::optional("key", Type::Text),
    Member::required("key_hash", Type::Text),
    Member::required("thread_id", Type::Text),
    Member::optional("forked_from", Type::Record(FORKED_FROM)),
    Member::required("state", Type::Choice(&["ready", "closing", "closed", "killed", "deleted"])),
    Member::required("accepted", COUNT),
    Member::required("processed", COUNT),
    Member::required("events", COUNT),
    Member::required("fences", COUNT),
    Member::optional("work", Type::Record(WORK)),
    Member::optional("fenced_work_id", Type::Text),
    Member::required("statistics", Type::Record(STATISTICS)),
    // The time of the line comes first.
    Member::required("updated_at", Type::Time),
    Member::required("created_at", Type::Time),
];

/// An input as the line has it with which it was accepted.
const INPUT: &[Member] = &[
    Member::required("input_id", Type::Text),
    Member::required("cursor", COUNT),
    Member::required("source", Type::Choice(&["send", "signal"])),
    Member::required("accepted_at", Type::Time),
    Member::optional("idempotency_key", Type::Text),
    Member::optional("signal_id", Type::Text),
    Member::optional("occurrence", Type::Text),
    Member::optional("subscription_id", Type::Text),
    // Absent: it was erased.
    Member::optional("payload", Type::Any),
];

/// An op that says something of a session alone.
const fn plain(name: &'static str) -> Op {
    Op { id: "session_id", name, members: &[SESSION_MEMBER] }
}

const SESSION_MEMBER: Member = Member::required("session", Type::Record(SESSION));
const WORK_ID: Member = Member::required("work_id", Type::Text);
// The output was there, and a compaction has erased it.
const ERASED: Member = Member::optional("erased", Type::Bool);
const FIRST: Member = Member::required("first", COUNT);
const LAST: Member = Member::required("last", COUNT);

static SHAPE: Shape = Shape {
    ops: &[
        plain("open"),
        plain("fork"),
        Op {
            id: "session_id",
            name: "accept",
            members: &[SESSION_MEMBER, Member::required("inputs", Type::Records(INPUT))],
        },
        Op {
            id: "session_id",
            name: "repeat",
            members: &[SESSION_MEMBER, Member::required("input_ids", Type::Texts)],
        },
        plain("claim"),
        plain("renew"),
        plain("release"),
        Op {
            id: "session_id",
            name: "checkpoint",
            members: &[SESSION_MEMBER, WORK_ID, Member::optional("output", Type::Any), ERASED],
        },
        Op {
            id: "session_id",
            name: "complete",
            members: &[SESSION_MEMBER, WORK_ID, FIRST, LAST, Member::optional("output", Type::Any), ERASED],
        },
        Op {
            id: "session_id",
            name: "fail",
            members: &[SESSION_MEMBER, WORK_ID, FIRST, LAST, Member::required("reason", Type::Text)],
        },
        plain("block"),
        Op {
            id: "session_id",
            name: "unblock",
            // Whether it was blocked, and not just put off.
            members: &[SESSION_MEMBER, Member::optional("blocked", Type::Bool)],
        },
        Op {
            id: "session_id",
            name: "subscribe",
            members: &[SESSION_MEMBER, Member::required("subscription", Type::Record(SUBSCRIPTION))],
        },
        Op {
            id: "session_id",
            name: "unsubscribe",
            members: &[SESSION_MEMBER, Member::required("subscription_id", Type::Text)],
        },
        plain("close"),
        plain("kill"),
        plain("delete"),
    ],
    daemon: None,
};

/// The journal of durable sessions.
pub static JOURNAL: Journal = Journal {
    name: "durable",
    file: "cruxctl/durable.jsonl",
    shape: &SHAPE,
    rule: Rule::Own(rules::fold),
    id_of: |bytes| read::read_record(SESSION, bytes)?.id("session_id").map(std::borrow::Cow::into_owned),
    compacts: Some(compact::rewrite),
    has_payloads: true,
};
