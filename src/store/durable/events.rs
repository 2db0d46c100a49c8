//! What a stream makes of the lines: where a session stands, and what has become of its inputs. Payloads are none of it.

use chrono::{DateTime, Utc};

use super::identity;
use super::session::{Progress, Session, State};
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
    /// Work is finished.
    Finished {
        /// Its id.
        work_id: String,
        /// The cursor of its last input.
        last: u64,
        /// Whether it has a result.
        completed: bool,
    },
    /// Work is blocked, or not any more.
    Changed {
        /// Its id.
        work_id: String,
        /// How far it is.
        progress: Progress,
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
            What::Finished { completed: true, .. } => "turn.completed",
            What::Finished { completed: false, .. } => "turn.failed",
            What::Changed { .. } => "work.changed",
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
pub struct Events<'l> {
    /// The cursor of the first of them.
    pub first: u64,
    /// The cursor of the last of them; before the first: there are none.
    pub last: u64,
    line: &'l Line<'l>,
    session: &'l Session,
}

impl<'l> Events<'l> {
    /// Of this line, which says this of the session.
    #[must_use]
    pub fn of(line: &'l Line<'l>, session: &'l Session) -> Events<'l> {
        let count = match (line.op.name, &session.work) {
            ("open" | "fork" | "close" | "kill" | "delete", _) => 1,
            ("accept", _) => line.members.records("inputs").len() as u64,
            // What was given out again is no further event.
            ("claim", Some(work)) if work.claims == 1 => work.inputs(),
            // The last work of a closing session has closed it.
            ("complete" | "fail", _) => 1 + u64::from(session.state == State::Closed),
            ("block", Some(_)) => 1,
            // What was put off was not blocked.
            ("unblock", Some(_)) => u64::from(line.members.raw("blocked") == Some(b"true")),
            _ => 0,
        };
        Events { first: session.events.saturating_sub(count) + 1, last: session.events, line, session }
    }

    /// Those behind a cursor, one at a time: a line may have more of them than bytes.
    pub fn behind(&self, cursor: u64) -> Box<dyn Iterator<Item = Event> + '_> {
        let gone = (cursor + 1).saturating_sub(self.first);
        if self.last < self.first || cursor >= self.last {
            return Box::new(std::iter::empty());
        }
        let numbered = (self.first + gone)..=self.last;
        match (self.line.op.name, &self.session.work) {
            ("accept", _) => {
                let inputs = self.line.members.records("inputs").into_iter();
                let whats =
                    inputs.skip(usize::try_from(gone).unwrap_or(usize::MAX)).map(|(_, input)| What::Accepted {
                        input_id: input.text("input_id").unwrap_or_default().into_owned(),
                        cursor: input.natural("cursor").unwrap_or_default(),
                    });
                Box::new(numbered.zip(whats).map(|(cursor, what)| self.event(cursor, what)))
            }
            ("claim", Some(work)) => {
                let whats = (work.first + gone..=work.last).map(|cursor| What::Delivered {
                    input_id: identity::input(&self.session.session_id, cursor),
                    cursor,
                    work_id: work.work_id.clone(),
                });
                Box::new(numbered.zip(whats).map(|(cursor, what)| self.event(cursor, what)))
            }
            ("complete" | "fail", _) => {
                let members = &self.line.members;
                let finished = What::Finished {
                    work_id: members.text("work_id").unwrap_or_default().into_owned(),
                    last: members.natural("last").unwrap_or_default(),
                    completed: self.line.op.name == "complete",
                };
                let whats = [finished, What::Status(self.session.state)].into_iter();
                let whats = whats.skip(usize::try_from(gone).unwrap_or(usize::MAX));
                Box::new(numbered.zip(whats).map(|(cursor, what)| self.event(cursor, what)))
            }
            ("block" | "unblock", Some(work)) => {
                let what = What::Changed { work_id: work.work_id.clone(), progress: work.progress };
                Box::new(std::iter::once(self.event(self.last, what)))
            }
            _ => Box::new(std::iter::once(self.event(self.last, What::Status(self.session.state)))),
        }
    }

    fn event(&self, cursor: u64, what: What) -> Event {
        let id = match &what {
            What::Status(state) => format!("session.status:{}:{}", self.session.session_id, state.name()),
            What::Accepted { input_id, .. } | What::Delivered { input_id, .. } => {
                format!("{}:{input_id}", what.kind())
            }
            What::Finished { work_id, .. } => format!("{}:{work_id}", what.kind()),
            What::Changed { work_id, .. } => format!("{}:{work_id}:{cursor}", what.kind()),
        };
        Event { id, cursor, occurred_at: self.session.updated_at, what }
    }
}
