//! Whose session is whose: the daemon's scoping of ids by agent.

use std::borrow::Cow;

/// What a stored id that belongs to an agent begins with.
pub const PREFIX: &str = "__agent_session::";

/// Through whose eyes a command looks at stored ids.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Scope {
    /// No agent: sees ids without scope.
    Unscoped,
    /// An agent: sees its own ids, without the prefix.
    Agent(String),
    /// Sees every stored id as it is.
    All,
}

impl Scope {
    /// The stored id of an id that this scope names.
    #[must_use]
    pub fn stored<'a>(&self, id: &'a str) -> Cow<'a, str> {
        match self {
            Scope::Unscoped | Scope::All => Cow::Borrowed(id),
            Scope::Agent(agent) => Cow::Owned(format!("{PREFIX}{agent}::{id}")),
        }
    }

    /// The id under which this scope sees a stored id; `None` where it does not.
    #[must_use]
    pub fn visible<'a>(&self, stored: &'a str) -> Option<&'a str> {
        match self {
            Scope::All => Some(stored),
            Scope::Unscoped => (!stored.starts_with(PREFIX)).then_some(stored),
            Scope::Agent(agent) => match split(stored) {
                (Some(owner), logical) if owner == agent => Some(logical),
                _ => None,
            },
        }
    }
}

/// The agent that a stored id belongs to, and the id that the agent knows: split at the first `::` behind the prefix.
#[must_use]
pub fn split(stored: &str) -> (Option<&str>, &str) {
    match stored.strip_prefix(PREFIX).and_then(|rest| rest.split_once("::")) {
        Some((agent, logical)) => (Some(agent), logical),
        None => (None, stored),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_agent_sees_its_own_ids_and_no_others() {
        let alice = Scope::Agent("alice".to_owned());
        assert_eq!(alice.stored("s"), "__agent_session::alice::s");
        assert_eq!(alice.visible("__agent_session::alice::a::b"), Some("a::b"));
        assert_eq!(alice.visible("__agent_session::alice2::s"), None);
        assert_eq!(alice.visible("s"), None);
    }

    #[test]
    fn no_agent_sees_only_ids_without_scope() {
        assert_eq!(Scope::Unscoped.visible("s"), Some("s"));
        assert_eq!(Scope::Unscoped.visible("__agent_session::alice::s"), None);
        assert_eq!(Scope::Unscoped.visible("__agent_session::broken"), None);
        assert_eq!(Scope::All.visible("__agent_session::broken"), Some("__agent_session::broken"));
    }
}
