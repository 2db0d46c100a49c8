//! Whose eyes see a fact, and which entities are more than a name to the daemon.

use std::borrow::Cow;

use crate::store::scope::Scope;

/// What the entity of an agent's private fact begins with.
pub const AGENT_PREFIX: &str = "__agent::";

/// Entities whose facts are private whatever their documents say.
const BORN_PRIVATE: [&str; 36] = [
    "__candidate_fact__::",
    AGENT_PREFIX,
    "__ops::",
    "__ops__::",
    "__ax__::",
    "__ax_session::",
    "__constraints__::",
    "__project_layer__::",
    "__plane__::",
    "__plane_layer__::",
    "__workspace__::",
    "__workspace_scan__::",
    "__repo_registry__::",
    "__repo_scan__::",
    "__repo_codegraph_ids__::",
    "__repo_extdeps__::",
    "__storybook__::",
    "__dossier__::",
    "__project_repo_link__::",
    "__extension__::",
    "__extension_grant__::",
    "__work__::",
    "__work_transition__::",
    "__workbench__::",
    "__answer_replay_capsule__::",
    "__passport__::",
    "__session_binding__::",
    "__coord__::",
    "__incident__::",
    LEGAL_HOLD,
    "__legal_hold_receipt__::",
    "__bootstrap__::",
    "__project__::",
    "__tenant_metadata__::",
    "decisions::",
    "github::",
];

/// What the entity of a legal hold begins with.
pub const LEGAL_HOLD: &str = "__legal_hold__::";

/// Entities that the daemon alone writes.
const DAEMONS_OWN: [&str; 3] = [LEGAL_HOLD, "__legal_hold_receipt__::", "__incident__::"];

/// How long facts hold by what their entity begins with.
const HORIZON_BY_ENTITY: [(&str, &str); 6] = [
    ("__ops::", "volatile"),
    ("bench:", "stable"),
    ("__bootstrap__::", "stable"),
    ("execplan:", "medium"),
    ("incident:", "medium"),
    ("__candidate_fact__::", "medium"),
];

/// The prefix of an entity that only the daemon may write, if it is one.
#[must_use]
pub fn daemons_own(entity: &str) -> Option<&'static str> {
    DAEMONS_OWN.into_iter().find(|prefix| entity.starts_with(prefix))
}

/// How long a fact of this entity is expected to hold, where nobody says.
#[must_use]
pub fn horizon(entity: &str) -> &'static str {
    HORIZON_BY_ENTITY.into_iter().find(|(prefix, _)| entity.starts_with(prefix)).map_or("none", |(_, h)| h)
}

/// Which entities are born private.
#[derive(Clone, Debug, Default)]
pub struct Privacy {
    /// Further prefixes that are (`CORECRUXD_ALWAYS_PRIVATE_PREFIXES`).
    pub always: Vec<String>,
    /// Prefixes that are not (`CORECRUXD_SHARE_PREFIXES_OVERRIDE`).
    pub shared: Vec<String>,
}

impl Privacy {
    /// Reads the two variables: prefixes separated by commas, white space around them left out.
    #[must_use]
    pub fn of(always: Option<&str>, shared: Option<&str>) -> Privacy {
        let prefixes = |text: Option<&str>| {
            let parts = text.unwrap_or_default().split(',').map(str::trim).filter(|part| !part.is_empty());
            parts.map(str::to_owned).collect()
        };
        Privacy { always: prefixes(always), shared: prefixes(shared) }
    }

    /// The prefix by which an entity is born private, if it is.
    #[must_use]
    pub fn born_private<'p>(&'p self, entity: &str) -> Option<&'p str> {
        let prefixes = BORN_PRIVATE.into_iter().chain(self.always.iter().map(String::as_str));
        let mut private = prefixes.filter(|prefix| !self.shared.iter().any(|shared| shared == prefix));
        private.find(|prefix| entity.starts_with(prefix))
    }

    /// Whether a fact is private, whatever its document says.
    #[must_use]
    pub fn is_private(&self, entity: &str, says: bool) -> bool {
        says || self.born_private(entity).is_some()
    }
}

/// The stored entity of what an agent calls its own `entity`.
#[must_use]
pub fn private_entity(agent: &str, entity: &str) -> String {
    format!("{AGENT_PREFIX}{agent}::{entity}")
}

/// The agent that a stored entity belongs to, and the entity that the agent knows.
#[must_use]
pub fn split(entity: &str) -> (Option<&str>, &str) {
    match entity.strip_prefix(AGENT_PREFIX).and_then(|rest| rest.split_once("::")) {
        Some((agent, logical)) => (Some(agent), logical),
        None => (None, entity),
    }
}

/// The entity under which a scope sees a fact; `None` where it does not see it. An agent sees what is not private, and
/// its own; what is private and nobody's is seen by nobody.
#[must_use]
pub fn visible<'e>(scope: &Scope, entity: &'e str, private: bool) -> Option<Cow<'e, str>> {
    match scope {
        Scope::All => Some(entity.into()),
        _ if !private => Some(entity.into()),
        Scope::Unscoped => None,
        Scope::Agent(agent) => match split(entity) {
            (Some(owner), logical) if owner == agent => Some(logical.into()),
            _ => None,
        },
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn private_facts_are_seen_by_their_agent_alone() {
        let alice = Scope::Agent("alice".to_owned());
        let stored = private_entity("alice", "notes::x");
        assert_eq!(visible(&alice, &stored, true).as_deref(), Some("notes::x"));
        assert_eq!(visible(&Scope::Agent("bob".to_owned()), &stored, true), None);
        assert_eq!(visible(&Scope::Unscoped, &stored, true), None);
        assert_eq!(visible(&Scope::All, &stored, true).as_deref(), Some(&*stored));
        assert_eq!(visible(&alice, "e", true), None, "private, and nobody's");
        assert_eq!(visible(&alice, "e", false).as_deref(), Some("e"));
    }

    #[test]
    fn the_variables_add_prefixes_and_take_some_away() {
        let plain = Privacy::default();
        assert!(plain.is_private("github::x", false) && !plain.is_private("project:x", false));
        assert!(plain.is_private("project:x", true));
        let changed = Privacy::of(Some("project:, secret::"), Some("github::"));
        assert!(changed.is_private("project:x", false) && changed.is_private("secret::x", false));
        assert!(!changed.is_private("github::x", false) && changed.is_private("__ops::x", false));
    }
}
