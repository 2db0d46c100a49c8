//! The lines of the journal: each carries the session as it is from then on, and what came with it.

use chrono::{DateTime, Utc};
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

use super::SESSION;
use super::session::Session;
use crate::journal::read;
use crate::store::stamped;

/// Where an input came from.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Source {
    /// Somebody has sent it.
    #[default]
    Send,
    /// A signal was published.
    Signal,
}

impl Source {
    /// Its name.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Source::Send => "send",
            Source::Signal => "signal",
        }
    }
}

/// An input.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Input {
    /// Its id.
    pub input_id: String,
    /// Its number in the session, from 1.
    pub cursor: u64,
    /// Where it came from.
    pub source: Source,
    /// When it was accepted.
    #[serde(with = "stamped")]
    pub accepted_at: DateTime<Utc>,
    /// By what its sender knows it again.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub idempotency_key: Option<String>,
    /// The signal that was published.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub signal_id: Option<String>,
    /// By what its publisher knows the occurrence again.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub occurrence: Option<String>,
    /// The subscription by which it came.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub subscription_id: Option<String>,
    /// What was sent, as JSON; none: it was erased.
    #[serde(skip_serializing_if = "Option::is_none", default, deserialize_with = "raw")]
    pub payload: Option<Box<RawValue>>,
}

/// A value that is there, be it `null`.
fn raw<'de, D: serde::Deserializer<'de>>(from: D) -> Result<Option<Box<RawValue>>, D::Error> {
    Box::<RawValue>::deserialize(from).map(Some)
}

impl Input {
    /// Reads an input from where it lies in its line; `None` where it is none.
    #[must_use]
    pub fn read(bytes: &[u8]) -> Option<Input> {
        serde_json::from_slice(bytes).ok()
    }
}

/// What a session wants to hear of.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Subscription {
    /// Its id.
    pub subscription_id: String,
    /// Whose it is.
    pub session_id: String,
    /// Where the signal counts.
    pub namespace: String,
    /// The signal.
    pub signal_id: String,
    /// What must be in a payload, in its one form; empty: anything.
    pub match_key: String,
    /// Since when.
    #[serde(with = "stamped")]
    pub created_at: DateTime<Utc>,
}

impl Subscription {
    /// Reads a subscription from where it lies in its line; `None` where it is none.
    #[must_use]
    pub fn read(bytes: &[u8]) -> Option<Subscription> {
        serde_json::from_slice(bytes).ok()
    }
}

impl Session {
    /// Reads a session from where it lies in its line; `None` where it is none.
    #[must_use]
    pub fn read(bytes: &[u8]) -> Option<Session> {
        read::read_record(SESSION, bytes)?;
        serde_json::from_slice(bytes).ok().filter(Session::is_sound)
    }

    /// The line of an op that says something of a session alone.
    #[must_use]
    pub fn line(&self, op: &str) -> Vec<u8> {
        self.line_with(op, &())
    }

    /// The line of an op with further members, without its line end.
    #[must_use]
    pub fn line_with<T: Serialize>(&self, op: &str, more: &T) -> Vec<u8> {
        #[derive(Serialize)]
        struct Line<'a> {
            op: &'a str,
            session: &'a Session,
        }
        // Neither can fail: structs of texts and numbers.
        let mut line = serde_json::to_vec(&Line { op, session: self }).unwrap_or_default();
        let more = serde_json::to_vec(more).unwrap_or_default();
        if more.len() > 2 && more.first() == Some(&b'{') {
            line.pop();
            line.push(b',');
            line.extend_from_slice(&more[1..]);
        }
        line
    }

    /// The line with which inputs are accepted.
    #[must_use]
    pub fn accept_line(&self, inputs: &[Input]) -> Vec<u8> {
        #[derive(Serialize)]
        struct More<'a> {
            inputs: &'a [Input],
        }
        self.line_with("accept", &More { inputs })
    }

    /// The line that counts inputs that came again.
    #[must_use]
    pub fn repeat_line(&self, input_ids: &[String]) -> Vec<u8> {
        #[derive(Serialize)]
        struct More<'a> {
            input_ids: &'a [String],
        }
        self.line_with("repeat", &More { input_ids })
    }

    /// The line of a result that is on disk and not yet committed.
    #[must_use]
    pub fn checkpoint_line(&self, work_id: &str, output: &RawValue) -> Vec<u8> {
        #[derive(Serialize)]
        struct More<'a> {
            work_id: &'a str,
            output: &'a RawValue,
        }
        self.line_with("checkpoint", &More { work_id, output })
    }

    /// The line with which work is completed; without an output where that is on disk already.
    #[must_use]
    pub fn complete_line(&self, work_id: &str, (first, last): (u64, u64), output: Option<&RawValue>) -> Vec<u8> {
        #[derive(Serialize)]
        struct More<'a> {
            work_id: &'a str,
            first: u64,
            last: u64,
            #[serde(skip_serializing_if = "Option::is_none")]
            output: Option<&'a RawValue>,
        }
        self.line_with("complete", &More { work_id, first, last, output })
    }

    /// What is left of the line with which work was completed, or its result put on disk, where the result is erased.
    #[must_use]
    pub fn erased_line(&self, op: &str, work_id: &str, cursors: Option<(u64, u64)>) -> Vec<u8> {
        #[derive(Serialize)]
        struct More<'a> {
            work_id: &'a str,
            #[serde(skip_serializing_if = "Option::is_none")]
            first: Option<u64>,
            #[serde(skip_serializing_if = "Option::is_none")]
            last: Option<u64>,
            erased: bool,
        }
        let (first, last) = cursors.unzip();
        self.line_with(op, &More { work_id, first, last, erased: true })
    }

    /// The line with which work fails for good.
    #[must_use]
    pub fn fail_line(&self, work_id: &str, (first, last): (u64, u64), reason: &str) -> Vec<u8> {
        #[derive(Serialize)]
        struct More<'a> {
            work_id: &'a str,
            first: u64,
            last: u64,
            reason: &'a str,
        }
        self.line_with("fail", &More { work_id, first, last, reason })
    }

    /// The line with which a subscription begins.
    #[must_use]
    pub fn subscribe_line(&self, subscription: &Subscription) -> Vec<u8> {
        #[derive(Serialize)]
        struct More<'a> {
            subscription: &'a Subscription,
        }
        self.line_with("subscribe", &More { subscription })
    }

    /// The line with which a subscription ends.
    #[must_use]
    pub fn unsubscribe_line(&self, subscription_id: &str) -> Vec<u8> {
        #[derive(Serialize)]
        struct More<'a> {
            subscription_id: &'a str,
        }
        self.line_with("unsubscribe", &More { subscription_id })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::journal::read::{Reading, read};
    use crate::store::durable::session::TargetKind;
    use crate::store::durable::{JOURNAL, identity};

    fn now() -> DateTime<Utc> {
        "2026-03-01T08:00:01.5Z".parse().unwrap()
    }

    #[test]
    fn every_line_is_an_event_of_the_journal_and_carries_the_session() {
        let mut session = Session::open("app", ("sup\"port", TargetKind::Agent), "k\u{2028}", now());
        let mut lines = vec![session.line("open")];
        let payload = || Some(RawValue::from_string("null".to_owned()).unwrap());
        session.accept(1, now()).unwrap();
        let input = Input {
            input_id: identity::input(&session.session_id, 1),
            cursor: 1,
            source: Source::Send,
            accepted_at: now(),
            idempotency_key: Some("once".to_owned()),
            signal_id: None,
            occurrence: None,
            subscription_id: None,
            payload: payload(),
        };
        lines.push(session.accept_line(std::slice::from_ref(&input)));
        lines.push(session.repeat_line(&[input.input_id]));
        session.claim(None, 1, now(), now());
        lines.push(session.line("claim"));
        let work = session.work.clone().unwrap().work_id;
        lines.push(session.checkpoint_line(&work, &payload().unwrap()));
        lines.push(session.complete_line(&work, (1, 1), payload().as_deref()));
        lines.push(session.complete_line(&work, (1, 1), None));
        lines.push(session.erased_line("complete", &work, Some((1, 1))));
        lines.push(session.erased_line("checkpoint", &work, None));
        lines.push(session.fail_line(&work, (1, 1), "why"));
        let subscription = Subscription {
            subscription_id: identity::subscription("app", &session.session_id, "s", ""),
            session_id: session.session_id.clone(),
            namespace: "app".to_owned(),
            signal_id: "s".to_owned(),
            match_key: String::new(),
            created_at: now(),
        };
        lines.push(session.subscribe_line(&subscription));
        lines.push(session.unsubscribe_line(&subscription.subscription_id));
        for op in ["fork", "renew", "release", "block", "unblock", "close", "kill", "delete"] {
            lines.push(session.line(op));
        }
        for line in lines {
            let Reading::Event { event, end, .. } = read(JOURNAL.shape, &line) else {
                panic!("{}", String::from_utf8_lossy(&line));
            };
            assert_eq!(end, line.len());
            let bytes = event.members.raw("session").unwrap();
            assert_eq!((JOURNAL.id_of)(bytes).as_ref(), Some(&session.session_id));
            assert!(Session::read(bytes).is_some());
            for (range, _) in event.members.records("inputs") {
                let input = Input::read(&line[range]).unwrap();
                assert_eq!(input.payload.unwrap().get(), "null");
            }
        }
    }
}
