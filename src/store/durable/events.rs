//! What a stream makes of the lines: where a session stands, and what has become of its inputs. Payloads are none of it.

use chrono::{DateTime, Utc};

use super::identity;
use super::session::{Session, State};
use crate::journal::shape::Event as Line;

/// What has happened.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum What {
    /// The session has got another state.
    Status(State),
    /// An input was accepted.
    Accepted {
        /// Its id.
        input_id: String,
        /// Its number in the session.
        cursor: u64,
    },
    /// An input was given to a worker.
    Delivered {
        /// Its id.
        input_id: String,
        /// Its number in the session.
        cursor: u64,
        /// As part of what.
        work_id: String,
    },
}

impl What {
    /// The kind of event.
    #[must_use]
    pub fn kind(&self) -> &'static str {
        match self {
            What::Status(_) => "session.status",
            What::Accepted { .. } => "ingress.accepted",
            What::Delivered { .. } => "ingress.delivered",
        }
    }
}

/// An event of a session's stream.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Event {
    /// By which whoever reads it twice knows it again.
    pub id: String,
    /// Its number in the stream, from 1.
    pub cursor: u64,
    /// When it happened.
    pub occurred_at: DateTime<Utc>,
    /// What has happened.
    pub what: What,
}

/// The events of a line about a session.
#[must_use]
pub fn of(line: &Line<'_>, session: &Session) -> Vec<Event> {
    let whats: Vec<What> = match (line.op.name, &session.work) {
        ("open" | "fork" | "close" | "kill" | "delete", _) => vec![What::Status(session.state)],
        ("accept", _) => {
            let inputs = line.members.records("inputs").into_iter();
            inputs
                .filter_map(|(_, input)| {
                    let input_id = input.text("input_id")?.into_owned();
                    Some(What::Accepted { input_id, cursor: input.natural("cursor")? })
                })
                .collect()
        }
        // What was given out again is no further event.
        ("claim", Some(work)) if work.claims == 1 => (work.first..=work.last)
            .map(|cursor| What::Delivered {
                input_id: identity::input(&session.session_id, cursor),
                cursor,
                work_id: work.work_id.clone(),
            })
            .collect(),
        // The last work of a closing session has closed it.
        ("complete" | "fail", _) if session.state == State::Closed => vec![What::Status(State::Closed)],
        _ => Vec::new(),
    };
    let before = session.events.saturating_sub(whats.len() as u64);
    (before + 1..)
        .zip(whats)
        .map(|(cursor, what)| {
            let id = match &what {
                What::Status(state) => format!("session.status:{}:{}", session.session_id, state.name()),
                What::Accepted { input_id, .. } | What::Delivered { input_id, .. } => {
                    format!("{}:{input_id}", what.kind())
                }
            };
            Event { id, cursor, occurred_at: session.updated_at, what }
        })
        .collect()
}
