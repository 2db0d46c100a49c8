//! `cruxctl fact list`: what is known, and how much of it is not shown.

use clap::{Args, ValueEnum};

use super::pick::{Filter, Hidden, Look, Next};
use super::view::{COLUMNS, Eyes, SHOWN, cells};
use crate::cmd::Context;
use crate::error::Result;
use crate::journal::live::{IdKey, Row};
use crate::journal::table::Table;
use crate::render::Group;
use crate::store::fact::JOURNAL;
use crate::store::fact::document::Fact;

/// How `fact list` is ordered.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Sort {
    /// Last stored first, by the order of the journal
    Stored,
    /// By tenant, entity, key and version
    Entity,
    /// By id
    Id,
}

/// Arguments of `fact list`.
#[derive(Args, Debug)]
pub struct List {
    /// Which facts.
    #[command(flatten)]
    pub filter: Filter,
    /// Superseded facts too
    #[arg(long)]
    pub all: bool,
    /// Superseded and deleted facts too
    #[arg(long)]
    pub deleted: bool,
    /// The order
    #[arg(long, value_enum, default_value = "stored")]
    pub sort: Sort,
    /// The other way round
    #[arg(long)]
    pub reverse: bool,
    /// At most this many; no further are looked at, nor counted as hidden
    #[arg(long, value_name = "N")]
    pub limit: Option<u64>,
}

/// What a list says of each fact.
pub const LISTED: &[Group] = &[Group { name: "facts", one: "fact", columns: COLUMNS, shown: SHOWN, blocks: false }];

/// Runs the verb.
pub fn run(context: &mut Context, args: &List) -> Result<()> {
    let eyes = Eyes::of(context, args.filter.all_agents)?;
    let mut table = context.table(&JOURNAL, true)?;
    let mut rows = table.records()?;
    rows.reverse();
    if args.sort != Sort::Stored {
        sort(context, &mut table, &mut rows, args.sort)?;
    }
    if args.reverse {
        rows.reverse();
    }
    let mut look = Look { eyes: &eyes, filter: &args.filter, hidden: Hidden::default() };
    let mut shown = 0u64;
    context.printer.begin("cruxctl.fact.list.v1", LISTED)?;
    look.each(context, &mut table, rows, &|_, _| true, &mut |context, _, hidden, met| {
        let fact = met.fact;
        if fact.deleted && !args.deleted {
            hidden.deleted += 1;
        } else if fact.superseded_by.is_some() && !fact.deleted && !args.all && !args.deleted {
            hidden.superseded += 1;
        } else if args.limit.is_some_and(|limit| shown >= limit) {
            return Ok(Next::Enough);
        } else {
            shown += 1;
            context.printer.row(0, &[&fact.id], &cells(fact, &met.entity, eyes.is_private(fact)))?;
        }
        Ok(Next::More)
    })?;
    if context.printer.gone() {
        return Ok(());
    }
    context.printer.end()?;
    look.hidden.tell(context);
    Ok(())
}

/// A tie keeps the order of the journal, last stored first.
fn sort(context: &mut Context, table: &mut Table, rows: &mut Vec<(IdKey, Row)>, by: Sort) -> Result<()> {
    let mut keyed = Vec::with_capacity(rows.len());
    for (key, row) in rows.drain(..) {
        let document = table.opened.read(row.place.span())?;
        let Some(fact) = Fact::read(&document) else {
            context.without_it(&JOURNAL, table)?;
            continue;
        };
        let texts = match by {
            Sort::Id => [fact.id.into_owned(), String::new(), String::new()],
            _ => [fact.tenant.into_owned(), fact.entity.into_owned(), fact.key.into_owned()],
        };
        keyed.push(((texts, fact.version), (key, row)));
    }
    keyed.sort_by(|a, b| a.0.cmp(&b.0));
    rows.extend(keyed.into_iter().map(|(_, row)| row));
    Ok(())
}
