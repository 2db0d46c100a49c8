//! A durable session as its journal has it: who it is, how far it has come, and what may become of it next.
//!
//! Every line of the journal carries the whole of it as it is from then on, so that the last line of a session says all
//! of its state. What a verb does to it is one of the methods here; none of them knows the journal.

use chrono::{DateTime, Utc};
use serde::{Deserialize, Serialize};

use super::identity::{self, Keyed};
use crate::error::{Code, Error, Result};
use crate::store::{stamped, time_text};

/// What a session belongs to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, clap::ValueEnum)]
#[serde(rename_all = "lowercase")]
pub enum TargetKind {
    /// An agent, by its id
    Agent,
    /// A flow, by its name
    Flow,
}

impl TargetKind {
    /// Its name.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            TargetKind::Agent => "agent",
            TargetKind::Flow => "flow",
        }
    }
}

/// How far the life of a session has come.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum State {
    /// It takes inputs.
    Ready,
    /// It takes none any more, and works off those that it has.
    Closing,
    /// It is over, and everything was worked off.
    Closed,
    /// It was ended at once.
    Killed,
    /// Nothing is left of it but that it was there: its key never comes back.
    Deleted,
}

impl State {
    /// Its name.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            State::Ready => "ready",
            State::Closing => "closing",
            State::Closed => "closed",
            State::Killed => "killed",
            State::Deleted => "deleted",
        }
    }
}

/// Where a fork came from.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ForkedFrom {
    /// The parent.
    pub session_id: String,
    /// The parent's last accepted input.
    pub cursor: u64,
    /// The parent's last finished input: up to there its thread is shared.
    pub thread_revision: u64,
}

/// How far the one activation of a session has come.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Progress {
    /// It waits for a worker, from a moment on.
    Queued,
    /// A worker has it, until a moment.
    Running,
    /// It waits for somebody to put right what is in its way.
    Blocked,
}

impl Progress {
    /// Its name.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Progress::Queued => "queued",
            Progress::Running => "running",
            Progress::Blocked => "blocked",
        }
    }
}

/// The one activation of a session: inputs that one worker has at once. What was claimed once stays together.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Work {
    /// Its id.
    pub work_id: String,
    /// The cursor of its first input.
    pub first: u64,
    /// The cursor of its last input.
    pub last: u64,
    /// How far it has come.
    pub progress: Progress,
    /// What a worker must show to commit: another worker has another one.
    pub fence: u64,
    /// How often it was claimed.
    pub claims: u64,
    /// How often it has failed.
    pub failures: u64,
    /// Whether its result is on disk already, and has only to be committed.
    pub prepared: bool,
    /// The worker that has it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub worker: Option<String>,
    /// Running: until when the worker may commit. Queued: when it may be claimed.
    #[serde(skip_serializing_if = "Option::is_none", with = "stamped::maybe", default)]
    pub until: Option<DateTime<Utc>>,
    /// What is in its way, as somebody has said it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub blocker: Option<String>,
    /// When its inputs were given to a worker for the first time.
    #[serde(skip_serializing_if = "Option::is_none", with = "stamped::maybe", default)]
    pub delivered_at: Option<DateTime<Utc>>,
    /// When its result was put on disk.
    #[serde(skip_serializing_if = "Option::is_none", with = "stamped::maybe", default)]
    pub checkpointed_at: Option<DateTime<Utc>>,
}

impl Work {
    /// How many inputs it has.
    #[must_use]
    pub fn inputs(&self) -> u64 {
        self.last - self.first + 1
    }
}

/// What has been counted in the life of a session.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Statistics {
    /// Inputs that were accepted.
    pub accepted: u64,
    /// Inputs that were there already when they came again.
    pub deduplicated: u64,
    /// Inputs that a worker was given.
    pub delivered: u64,
    /// Inputs that a worker was given once more.
    pub resumed: u64,
    /// Inputs that no worker will be given any more.
    pub dropped: u64,
    /// Work that was begun.
    pub started: u64,
    /// Work that was completed.
    pub completed: u64,
    /// Work that has failed for good.
    pub failed: u64,
}

/// A durable session.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Session {
    /// Its id.
    pub session_id: String,
    /// Where its key counts.
    pub namespace: String,
    /// The agent's id or the flow's name.
    pub target_id: String,
    /// Which of the two.
    pub target_kind: TargetKind,
    /// The key that it was opened under; gone once it was deleted, and a fork has none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub key: Option<String>,
    /// By what the key is looked up.
    pub key_hash: String,
    /// The id of its thread; a fork shares that of its parent.
    pub thread_id: String,
    /// Where it was forked from.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub forked_from: Option<ForkedFrom>,
    /// How far its life has come.
    pub state: State,
    /// The cursor of the last input that was accepted; 0: none was.
    pub accepted: u64,
    /// The cursor of the last input that is finished; 0: none is.
    pub processed: u64,
    /// How many events its stream has had.
    pub events: u64,
    /// The last fence that was given out.
    pub fences: u64,
    /// What is being worked on.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub work: Option<Work>,
    /// The work that was under way when the session was killed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub fenced_work_id: Option<String>,
    /// What has been counted.
    pub statistics: Statistics,
    /// When it last changed.
    #[serde(with = "stamped")]
    pub updated_at: DateTime<Utc>,
    /// When it was opened.
    #[serde(with = "stamped")]
    pub created_at: DateTime<Utc>,
}

/// What is shown of where a session stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Status {
    /// Nothing is to be done.
    Parked,
    /// Inputs wait or are worked on.
    Running,
    /// Its work waits for somebody.
    Blocked,
    /// It takes no inputs any more, and still has some.
    Closing,
    /// It is over.
    Closed,
}

impl Status {
    /// Its name.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Status::Parked => "parked",
            Status::Running => "running",
            Status::Blocked => "blocked",
            Status::Closing => "closing",
            Status::Closed => "closed",
        }
    }
}

/// Whether and when the next work of a session can be claimed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Claimable {
    /// There is nothing to do.
    Nothing,
    /// From this moment on: at once, where it has passed.
    From(Option<DateTime<Utc>>),
    /// A worker has it until then.
    Held(Option<DateTime<Utc>>),
    /// Not before somebody has put it right.
    Blocked,
}

impl Session {
    /// A new session.
    #[must_use]
    pub fn open(namespace: &str, target: (&str, TargetKind), key: &str, now: DateTime<Utc>) -> Session {
        let Keyed { session_id, thread_id, key_hash } = Keyed::of(namespace, target.0, key);
        Session {
            session_id,
            namespace: namespace.to_owned(),
            target_id: target.0.to_owned(),
            target_kind: target.1,
            key: Some(key.to_owned()),
            key_hash,
            thread_id,
            forked_from: None,
            state: State::Ready,
            accepted: 0,
            processed: 0,
            events: 1,
            fences: 0,
            work: None,
            fenced_work_id: None,
            statistics: Statistics::default(),
            created_at: now,
            updated_at: now,
        }
    }

    /// Whether its numbers can be: what is finished was accepted, and what is worked on comes between. That none of them is
    /// too great to be counted on, the shape of the line has seen to.
    #[must_use]
    pub fn is_sound(&self) -> bool {
        let work = self.work.as_ref().is_none_or(|work| {
            self.processed.checked_add(1) == Some(work.first) && work.first <= work.last && work.last <= self.accepted
        });
        self.processed <= self.accepted && work
    }

    /// A child that goes on from here: the same thread, no inputs, no subscriptions, no key.
    ///
    /// Errors: the session is closing, blocked or deleted.
    pub fn fork(&self, now: DateTime<Utc>) -> Result<Session> {
        let why = match self.state {
            State::Deleted => return Err(self.deleted()),
            State::Closing => "closing",
            State::Ready if self.status() == Status::Blocked => "blocked",
            State::Ready | State::Closed | State::Killed => "",
        };
        if !why.is_empty() {
            let message = format!("session {} is {why}, and cannot be forked now", self.session_id);
            return Err(Error::new(Code::RefusedSessionLifecycle, message));
        }
        let (cursor, head) = (self.accepted, self.processed);
        let (session_id, key_hash) = identity::fork(&self.namespace, &self.session_id, cursor, head);
        let from = ForkedFrom { session_id: self.session_id.clone(), cursor, thread_revision: head };
        Ok(Session {
            session_id,
            key: None,
            key_hash,
            thread_id: self.thread_id.clone(),
            forked_from: Some(from),
            ..Session::open(&self.namespace, (&self.target_id, self.target_kind), "", now)
        })
    }

    /// Where it stands; a deleted one is closed.
    #[must_use]
    pub fn status(&self) -> Status {
        match self.state {
            State::Closing => Status::Closing,
            State::Closed | State::Killed | State::Deleted => Status::Closed,
            State::Ready if self.is_blocked() => Status::Blocked,
            State::Ready if self.pending_inputs() > 0 => Status::Running,
            State::Ready => Status::Parked,
        }
    }

    /// Whether its work waits for somebody.
    #[must_use]
    pub fn is_blocked(&self) -> bool {
        self.work.as_ref().is_some_and(|work| work.progress == Progress::Blocked)
    }

    /// How many inputs are accepted and not finished. Those of a killed session never will be, and do not wait.
    #[must_use]
    pub fn pending_inputs(&self) -> u64 {
        match self.state {
            State::Killed | State::Deleted => 0,
            _ => self.accepted - self.processed,
        }
    }

    /// How much work waits or is under way: a session has one at a time. What is blocked does not count.
    #[must_use]
    pub fn pending_work(&self) -> u64 {
        u64::from(self.pending_inputs() > 0 && !self.is_blocked())
    }

    /// Whether and when its next work can be claimed.
    #[must_use]
    pub fn claimable(&self) -> Claimable {
        if !matches!(self.state, State::Ready | State::Closing) || self.pending_inputs() == 0 {
            return Claimable::Nothing;
        }
        match &self.work {
            None => Claimable::From(None),
            Some(work) => match work.progress {
                Progress::Queued => Claimable::From(work.until),
                Progress::Running => Claimable::Held(work.until),
                Progress::Blocked => Claimable::Blocked,
            },
        }
    }

    /// Refuses whoever may not send to it or subscribe it.
    pub fn takes_ingress(&self) -> Result<()> {
        match self.state {
            State::Ready => Ok(()),
            State::Deleted => Err(self.deleted()),
            State::Closing | State::Closed | State::Killed => {
                let message =
                    format!("session {} is {}, and takes nothing any more", self.session_id, self.state.name());
                Err(Error::new(Code::RefusedSessionClosed, message))
            }
        }
    }

    /// The error of who would change one that was deleted.
    #[must_use]
    pub fn deleted(&self) -> Error {
        Error::new(Code::RefusedSessionDeleted, format!("session {} was deleted", self.session_id))
    }

    /// Accepts inputs; says which cursor the first of them has.
    pub fn accept(&mut self, count: u64, now: DateTime<Utc>) -> Result<u64> {
        self.takes_ingress()?;
        let first = self.accepted + 1;
        self.accepted += count;
        self.events += count;
        self.statistics.accepted += count;
        self.updated_at = now;
        Ok(first)
    }

    /// Counts inputs that came again.
    pub fn repeat(&mut self, count: u64, now: DateTime<Utc>) {
        self.statistics.deduplicated += count;
        self.updated_at = now;
    }

    /// Gives the next work to a worker, which may commit until a moment: what was claimed before, or else the inputs up to
    /// the cursor `last`. The caller has seen that it is free.
    pub fn claim(&mut self, worker: Option<String>, last: u64, until: DateTime<Utc>, now: DateTime<Utc>) {
        // One that was given out before, with a line that is lost, is not given out again.
        self.fences = (self.fences + 1).max(u64::try_from(now.timestamp_millis()).unwrap_or_default());
        self.updated_at = now;
        let work = match self.work.take() {
            Some(work) => {
                self.statistics.resumed += work.inputs();
                work
            }
            None => {
                let work = self.next_work(last, now);
                self.statistics.started += 1;
                self.statistics.delivered += work.inputs();
                self.events += work.inputs();
                work
            }
        };
        let (fence, claims, progress) = (self.fences, work.claims + 1, Progress::Running);
        self.work = Some(Work { progress, fence, claims, worker, until: Some(until), blocker: None, ..work });
    }

    /// The next work, up to the cursor `last`.
    fn next_work(&self, last: u64, now: DateTime<Utc>) -> Work {
        let first = self.processed + 1;
        let input = identity::input(&self.session_id, first);
        Work {
            work_id: identity::work(&self.namespace, &self.session_id, &input).0,
            first,
            last,
            progress: Progress::Queued,
            fence: self.fences,
            claims: 0,
            failures: 0,
            prepared: false,
            worker: None,
            until: None,
            blocker: None,
            delivered_at: Some(now),
            checkpointed_at: None,
        }
    }

    /// Gives up the inputs up to the cursor `last`, which are lost: they are finished, and have failed.
    pub fn give_up(&mut self, last: u64, now: DateTime<Utc>) -> Option<Work> {
        self.work = Some(self.next_work(last, now));
        self.fail(now)
    }

    /// Blocks the work that is under way.
    pub fn block(&mut self, reason: &str, now: DateTime<Utc>) {
        if let Some(work) = &mut self.work {
            (work.progress, work.until, work.worker) = (Progress::Blocked, None, None);
            work.blocker = Some(reason.to_owned());
        }
        self.events += 1;
        self.updated_at = now;
    }

    /// Lets work be claimed at once that is blocked or put off.
    pub fn unblock(&mut self, now: DateTime<Utc>) {
        if let Some(work) = &mut self.work {
            self.events += u64::from(work.progress == Progress::Blocked);
            (work.progress, work.until, work.blocker) = (Progress::Queued, None, None);
        }
        self.updated_at = now;
    }

    /// The work of this id, if whoever shows this fence may still commit it.
    ///
    /// Errors: it was taken from them, or their time has run out.
    pub fn held(&mut self, work_id: &str, fence: u64, now: DateTime<Utc>) -> Result<&mut Work> {
        let why = match (&self.work, self.state) {
            (_, State::Killed) => "its session was killed".to_owned(),
            (_, State::Deleted) => "its session was deleted".to_owned(),
            (Some(work), _) if work.work_id == work_id => match work.progress {
                _ if work.fence < fence => "it was never given out".to_owned(),
                _ if work.fence != fence => "another worker has it by now".to_owned(),
                Progress::Queued => "it was given back".to_owned(),
                Progress::Blocked => "it is blocked".to_owned(),
                Progress::Running => match work.until.filter(|until| *until <= now) {
                    Some(until) => format!("the lease ended at {}", time_text(until)),
                    None => String::new(),
                },
            },
            _ => "it is finished".to_owned(),
        };
        match &mut self.work {
            Some(work) if why.is_empty() => Ok(work),
            _ => {
                let message = format!("the fence {fence} of {work_id} does not count any more: {why}");
                Err(Error::new(Code::RefusedSessionFenced, message))
            }
        }
    }

    /// Ends the work that is under way: its inputs are finished, whatever has become of them.
    fn finish(&mut self, now: DateTime<Utc>) -> Option<Work> {
        let work = self.work.take()?;
        self.processed = work.last;
        self.events += 1;
        self.updated_at = now;
        if self.state == State::Closing && self.processed == self.accepted {
            self.state = State::Closed;
            self.events += 1;
        }
        Some(work)
    }

    /// Completes the work that is under way.
    pub fn complete(&mut self, now: DateTime<Utc>) -> Option<Work> {
        self.statistics.completed += 1;
        self.finish(now)
    }

    /// Fails the work that is under way, for good.
    pub fn fail(&mut self, now: DateTime<Utc>) -> Option<Work> {
        self.statistics.failed += 1;
        self.finish(now)
    }

    /// Takes no inputs any more. Says whether that changes anything.
    pub fn close(&mut self, now: DateTime<Utc>) -> Result<bool> {
        match self.state {
            State::Deleted => return Err(self.deleted()),
            State::Closing | State::Closed | State::Killed => return Ok(false),
            State::Ready => {}
        }
        self.state = if self.pending_inputs() == 0 { State::Closed } else { State::Closing };
        self.events += 1;
        self.updated_at = now;
        Ok(true)
    }

    /// Ends it at once. Says whether that changes anything.
    pub fn kill(&mut self, now: DateTime<Utc>) -> Result<bool> {
        match self.state {
            State::Deleted => return Err(self.deleted()),
            State::Closed | State::Killed => return Ok(false),
            State::Ready | State::Closing => {}
        }
        let work = self.work.take();
        let given = work.as_ref().map_or(self.processed, |work| work.last);
        self.statistics.dropped += self.accepted - given;
        self.fenced_work_id = work.map(|work| work.work_id);
        self.state = State::Killed;
        self.events += 1;
        self.updated_at = now;
        Ok(true)
    }

    /// Leaves nothing of it but that it was there. Says whether that changes anything.
    pub fn delete(&mut self, now: DateTime<Utc>) -> Result<bool> {
        match self.state {
            State::Deleted => return Ok(false),
            State::Closed | State::Killed => {}
            State::Ready | State::Closing => {
                let first = match self.state {
                    State::Closing if self.is_blocked() => "unblock its work, or kill it",
                    State::Closing => "wait for its inputs, or kill it",
                    _ => "close or kill it",
                };
                let message = format!("session {} is {}; {first} first", self.session_id, self.state.name());
                return Err(Error::new(Code::RefusedSessionNotClosed, message));
            }
        }
        self.state = State::Deleted;
        self.key = None;
        self.events += 1;
        self.updated_at = now;
        Ok(true)
    }
}
