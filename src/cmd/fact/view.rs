//! What the verbs share: whose eyes look, what is said of a fact, and a fact by its id.

use std::borrow::Cow;

use crate::cmd::Context;
use crate::env;
use crate::error::{Code, Error, Result};
use crate::journal::live::{IdKey, Row};
use crate::journal::table::Table;
use crate::render::{Value, quoted};
use crate::store::fact::current::{self, Current};
use crate::store::fact::document::Fact;
use crate::store::fact::privacy::{self, Privacy};
use crate::store::scope::Scope;

/// Whose eyes look at facts.
#[derive(Debug)]
pub(in crate::cmd) struct Eyes {
    pub(in crate::cmd) scope: Scope,
    pub(in crate::cmd) privacy: Privacy,
}

impl Eyes {
    pub(in crate::cmd) fn of(context: &Context, all_agents: bool) -> Result<Eyes> {
        Ok(Eyes::through(context.scope(all_agents)?))
    }

    pub(in crate::cmd) fn through(scope: Scope) -> Eyes {
        let always = env::var("CORECRUXD_ALWAYS_PRIVATE_PREFIXES");
        let shared = env::var("CORECRUXD_SHARE_PREFIXES_OVERRIDE");
        Eyes { scope, privacy: Privacy::of(always.as_deref(), shared.as_deref()) }
    }

    pub(in crate::cmd) fn is_private(&self, fact: &Fact<'_>) -> bool {
        self.privacy.is_private(&fact.entity, fact.private)
    }

    /// The entity as these eyes see it; `None` where they do not see the fact.
    pub(in crate::cmd) fn see<'f>(&self, fact: &'f Fact<'_>) -> Option<Cow<'f, str>> {
        privacy::visible(&self.scope, &fact.entity, self.is_private(fact))
    }
}

/// What is said of a fact in a list.
pub(super) const COLUMNS: &[&str] = &[
    "id",
    "tenant",
    "entity",
    "key",
    "value",
    "confidence",
    "horizon",
    "private",
    "version",
    "stored_at",
    "supersedes",
    "superseded_by",
    "deleted",
    "actor",
    "source_receipt",
    "valid_from",
    "valid_to",
    "reverified_at",
    "tokens",
    "access_count",
    "last_accessed_at",
];

/// What a table shows of it.
pub(super) const SHOWN: &[&str] = &["id", "entity", "key", "value", "confidence", "version", "stored_at"];

/// The cells of [`COLUMNS`]. `entity`: as it is seen.
pub(super) fn cells<'f>(fact: &'f Fact<'_>, entity: &'f str, private: bool) -> Vec<Value<'f>> {
    vec![
        Value::text(&*fact.id),
        Value::text(&*fact.tenant),
        Value::text(entity),
        Value::text(&*fact.key),
        Value::Long(Cow::Borrowed(&*fact.value)),
        Value::single(fact.sureness()),
        Value::text(&*fact.horizon),
        Value::Flag(private),
        Value::Count(fact.version),
        Value::Time(fact.stored_at),
        Value::maybe(fact.supersedes.as_deref()),
        Value::maybe(fact.superseded_by.as_deref()),
        Value::Flag(fact.deleted),
        Value::maybe(fact.actor.as_deref()),
        Value::maybe(fact.source_receipt.as_deref()),
        Value::time(fact.valid_from),
        Value::time(fact.valid_to),
        Value::time(fact.reverified_at),
        Value::Count(fact.tokens),
        Value::Count(fact.access_count),
        Value::time(fact.last_accessed_at),
    ]
}

/// A fact that these eyes see, deleted or not: its row and its document.
pub(super) fn find(table: &mut Table, eyes: &Eyes, id: &str) -> Result<(Row, Vec<u8>)> {
    let mut hidden = false;
    if let Some((row, document)) = table.known(id)? {
        match Fact::read(&document).is_some_and(|fact| eyes.see(&fact).is_some()) {
            true => return Ok((row, document)),
            false => hidden = eyes.scope == Scope::Unscoped,
        }
    }
    let shown: String = id.chars().take(200).collect();
    let message = match &eyes.scope {
        Scope::Agent(agent) => format!("agent {agent:?} sees no fact {shown:?}"),
        _ if hidden => format!("the fact {shown:?} is private, and no agent looks at it"),
        _ => format!("there is no fact {shown:?}"),
    };
    let hint = match hidden {
        true => format!("cruxctl fact show --all-agents {}", quoted(id)),
        false => match &eyes.scope {
            Scope::Agent(agent) => format!("cruxctl fact list --agent {}", quoted(agent)),
            _ => "cruxctl fact list".to_owned(),
        },
    };
    Err(Error::new(Code::NoFact, message).hint(hint))
}

/// The fact as it is now, from a document that was held against its id.
pub(in crate::cmd) fn current<'d>(table: &mut Table, row: Row, document: &'d [u8]) -> Result<Current<'d>> {
    let now = match Fact::read(document) {
        Some(fact) => {
            let row = (IdKey::of(&fact.id), row);
            current::brought_up(&table.opened, &mut table.live, row, fact)?
        }
        None => None,
    };
    now.ok_or_else(|| table.distrust())
}
