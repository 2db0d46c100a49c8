//! What an argument of `cruxctl durable` can be given.

use super::asked::Asked;
use super::offers::Text;
use crate::journal::files::DataDir;
use crate::journal::ids::{each_live, each_of};
use crate::store::durable::{JOURNAL, Session, State, Subscription, identity, rules};

/// What an argument of `cruxctl durable` can be given.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Durable {
    /// The id of a session.
    Sessions,
    /// The target of a session.
    Targets,
    /// The key of a session, of the target that was typed before.
    Keys,
    /// The namespace of a session.
    Namespaces,
    /// The id of work that is under way.
    Works,
    /// The id of an input: the newest of each session.
    Inputs,
    /// The id of an active subscription.
    Subscriptions,
    /// A signal to which somebody is subscribed.
    Signals,
}

/// How many of the newest inputs of a session are offered.
const NEWEST: u64 = 64;

impl Durable {
    /// The texts, and what there is to say of them; `None` where not all of them can be told.
    pub(super) fn texts(self, dir: &DataDir, asked: &Asked, word: &str) -> Option<Vec<Text>> {
        let mut texts = Vec::new();
        if matches!(self, Durable::Subscriptions | Durable::Signals) {
            each_of(dir, &JOURNAL, word, &rules::is_active_subscription, &mut |bytes| {
                let Some(found) = Subscription::read(bytes) else { return };
                texts.push(match self {
                    Durable::Signals => (found.signal_id, None),
                    _ => (found.subscription_id, Some(found.signal_id)),
                });
            })?;
            return Some(texts);
        }
        // An input's id is made of its session's, and is in no line that says where this stands.
        let with = if self == Durable::Inputs { "" } else { word };
        each_live(dir, &JOURNAL, with, &mut |bytes| {
            if let Some(session) = Session::read(bytes).filter(|session| session.state != State::Deleted) {
                self.of(&session, asked, &mut texts);
            }
        })?;
        Some(texts)
    }

    fn of(self, session: &Session, asked: &Asked, texts: &mut Vec<Text>) {
        let is = |typed: &Option<String>, own: &str| typed.as_deref().is_none_or(|typed| typed == own);
        let whose = || Some(format!("{} {}", session.target_id, session.key.as_deref().unwrap_or_default()));
        match self {
            Durable::Sessions => texts.push((session.session_id.clone(), whose())),
            Durable::Targets => texts.push((session.target_id.clone(), None)),
            Durable::Namespaces => texts.push((session.namespace.clone(), None)),
            Durable::Keys if is(&asked.target, &session.target_id) => {
                let status = session.status().name().to_owned();
                texts.extend(session.key.clone().map(|key| (key, Some(status))));
            }
            Durable::Works => {
                let of = |progress: &str| Some(format!("{} {progress}", whose().unwrap_or_default()));
                texts.extend(session.work.as_ref().map(|work| (work.work_id.clone(), of(work.progress.name()))));
            }
            Durable::Inputs => {
                let newest = session.accepted.saturating_sub(NEWEST) + 1..=session.accepted;
                texts.extend(newest.map(|cursor| (identity::input(&session.session_id, cursor), whose())));
            }
            Durable::Keys | Durable::Subscriptions | Durable::Signals => {}
        }
    }
}
