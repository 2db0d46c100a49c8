//! `cruxctl fact show`: one fact, as it is now.

use clap::Args;

use super::view::{COLUMNS, Eyes, cells, current, find};
use crate::cmd::Context;
use crate::cmd::complete::Offers;
use crate::error::Result;
use crate::render::Value;
use crate::store::fact::JOURNAL;
use crate::store::fact::current::stamps;

/// Arguments of `fact show`.
#[derive(Args, Debug)]
pub struct Show {
    /// The fact's id
    #[arg(add = Offers::Facts)]
    pub id: String,
    /// A private fact too, whoever it belongs to
    #[arg(long)]
    pub all_agents: bool,
}

/// Runs the verb.
pub fn run(context: &mut Context, args: &Show) -> Result<()> {
    let eyes = Eyes::of(context, args.all_agents)?;
    let mut table = context.table(&JOURNAL, true)?;
    let (row, document) = find(&mut table, &eyes, &args.id)?;
    let now = current(&mut table, row, &document)?;
    let fact = &now.fact;
    let [superseded_at, deleted_at] = stamps(&table.opened, &now.events)?;
    let span = row.place.span();
    let line = table.opened.line_of(span.offset)?;
    let entity = eyes.see(fact).unwrap_or_default();
    let mut fields: Vec<_> = COLUMNS.iter().copied().zip(cells(fact, &entity, eyes.is_private(fact))).collect();
    let journal = table.opened.path.display().to_string();
    fields.extend([
        ("superseded_at", Value::time(superseded_at.filter(|_| fact.superseded_by.is_some()))),
        ("deleted_at", Value::time(deleted_at.filter(|_| fact.deleted))),
        ("consolidated", Value::Flag(now.bound)),
        ("journal", Value::text(journal)),
        ("line", Value::Count(line)),
        ("offset", Value::Count(span.offset)),
        ("length", Value::Count(span.len)),
    ]);
    context.printer.begin("cruxctl.fact.show.v1", &[])?;
    context.printer.fields(Some(&args.id), &fields)?;
    context.printer.end()
}
