//! Which facts a verb looks at, and what it leaves out.

use std::borrow::Cow;

use clap::Args;

use super::view::Eyes;
use crate::cmd::complete::Offers;
use crate::cmd::{Context, plural};
use crate::error::Result;
use crate::journal::live::{IdKey, Row};
use crate::journal::table::Table;
use crate::store::fact::document::Fact;
use crate::store::fact::{JOURNAL, current, privacy, tenant_named};

/// Which facts.
#[derive(Args, Debug)]
pub struct Filter {
    /// Only facts of this tenant
    #[arg(long, value_name = "TENANT")]
    pub tenant: Option<String>,
    /// Only facts about this entity
    #[arg(long, value_name = "ENTITY", add = Offers::Entities)]
    pub entity: Option<String>,
    /// Only facts whose entity begins with this
    #[arg(long, value_name = "TEXT", add = Offers::Entities)]
    pub prefix: Option<String>,
    /// Only facts with this key
    #[arg(long, value_name = "KEY", add = Offers::Keys)]
    pub key: Option<String>,
    /// Private facts too, whoever they belong to, under their stored entities
    #[arg(long)]
    pub all_agents: bool,
}

impl Filter {
    /// Whether a fact passes. `entity`: as it is seen.
    fn has(&self, fact: &Fact<'_>, entity: &str) -> bool {
        self.tenant.as_deref().is_none_or(|tenant| fact.tenant == tenant_named(tenant))
            && self.entity.as_deref().is_none_or(|wanted| entity == wanted)
            && self.prefix.as_deref().is_none_or(|prefix| entity.starts_with(prefix))
            && self.key.as_deref().is_none_or(|key| fact.key == key)
    }

    /// Whether it lets everything pass.
    pub(super) fn is_open(&self) -> bool {
        self.tenant.is_none() && self.entity.is_none() && self.prefix.is_none() && self.key.is_none()
    }
}

/// How many facts were left out, by reason.
#[derive(Debug, Default)]
pub(super) struct Hidden {
    pub(super) deleted: u64,
    pub(super) superseded: u64,
    pub(super) private: u64,
}

impl Hidden {
    /// Says so, with the flags that show them.
    pub(super) fn tell(&self, context: &mut Context) {
        let counts = [
            (self.private, "private fact", "--all-agents"),
            (self.superseded, "superseded fact", "--all"),
            (self.deleted, "deleted fact", "--deleted"),
        ];
        for (count, what, flag) in counts.into_iter().filter(|(count, ..)| *count > 0) {
            context.printer.note(&format!("{} not shown ({flag})", plural(count, what)));
        }
    }
}

/// A look at facts: through whose eyes, at which, and what was left out.
pub(super) struct Look<'a> {
    pub(super) eyes: &'a Eyes,
    pub(super) filter: &'a Filter,
    pub(super) hidden: Hidden,
}

/// Whether further facts are wanted.
pub(super) enum Next {
    More,
    Enough,
}

/// A fact that passes.
pub(super) struct Met<'m> {
    /// As it is now.
    pub(super) fact: &'m Fact<'m>,
    /// Its entity, as it is seen.
    pub(super) entity: Cow<'m, str>,
    pub(super) row: Row,
}

impl Look<'_> {
    /// Hands out the facts that pass, in the order of `rows`, as long as `take` wants more. Those that these eyes do not
    /// see are counted. `wanted`: what a fact must say, in its own document, under the entity as it is seen.
    pub(super) fn each(
        &mut self,
        context: &mut Context,
        table: &mut Table,
        rows: Vec<(IdKey, Row)>,
        wanted: &dyn Fn(&Fact<'_>, &str) -> bool,
        take: &mut dyn FnMut(&mut Context, &mut Table, &mut Hidden, &Met<'_>) -> Result<Next>,
    ) -> Result<()> {
        for (key, row) in rows {
            if context.printer.gone() {
                return Ok(());
            }
            let document = table.opened.read(row.place.span())?;
            let Some(fact) = Fact::read(&document) else {
                context.without_it(&JOURNAL, table)?;
                continue;
            };
            match self.eyes.see(&fact) {
                Some(entity) if self.filter.has(&fact, &entity) && wanted(&fact, &entity) => {}
                Some(_) => continue,
                None => {
                    let names = [&*fact.entity, privacy::split(&fact.entity).1];
                    let passes = |entity: &&str| self.filter.has(&fact, entity) && wanted(&fact, entity);
                    self.hidden.private += u64::from(row.live && names.iter().any(passes));
                    continue;
                }
            }
            // What later events have made of it is looked up for those that pass.
            let Some(now) = current::brought_up(&table.opened, &mut table.live, (key, row), fact)? else {
                context.without_it(&JOURNAL, table)?;
                continue;
            };
            let entity = self.eyes.see(&now.fact).unwrap_or_default();
            match take(context, table, &mut self.hidden, &Met { fact: &now.fact, entity, row })? {
                Next::More => {}
                Next::Enough => return Ok(()),
            }
        }
        Ok(())
    }
}
