//! `cruxctl case list`: what is there.

use std::cmp::{Ordering, Reverse};

use clap::{Args, ValueEnum};

use super::Filter;
use super::reuse::Counts;
use crate::cmd::Context;
use crate::error::Result;
use crate::journal::Span;
use crate::journal::table::Table;
use crate::render::{Group, Value};
use crate::store::case::{Case, JOURNAL};

/// How `case list` is ordered.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Sort {
    /// Last recorded first, by the order of the journal
    Recorded,
    /// Latest created_at first
    Created,
    /// Best rewarded first
    Reward,
    /// By id
    Id,
}

/// Arguments of `case list`.
#[derive(Args, Debug)]
pub struct List {
    /// Which cases.
    #[command(flatten)]
    pub filter: Filter,
    /// Only cases that did not turn out well
    #[arg(long, conflicts_with = "only_success")]
    pub only_failed: bool,
    /// The order
    #[arg(long, value_enum, default_value = "recorded")]
    pub sort: Sort,
    /// The other way round
    #[arg(long)]
    pub reverse: bool,
    /// At most this many
    #[arg(long, value_name = "N")]
    pub limit: Option<u64>,
}

/// What a list says of each case.
pub const LISTED: &[Group] = &[Group {
    name: "cases",
    one: "case",
    columns: &[
        "id",
        "created_at",
        "success",
        "reward",
        "task",
        "action",
        "outcome",
        "tags",
        "context",
        "source_receipt",
        "times_reused",
    ],
    shown: &["id", "created_at", "success", "reward", "task", "outcome"],
    blocks: false,
}];

/// Runs the verb.
pub fn run(context: &mut Context, args: &List) -> Result<()> {
    let wanted = args.filter.at(context)?;
    let mut table = context.table(&JOURNAL, true)?;
    let mut spans = table.spans()?;
    spans.reverse();
    if args.sort != Sort::Recorded {
        spans = sorted(context, &mut table, spans, args.sort)?;
    }
    if args.reverse {
        spans.reverse();
    }
    let mut counts = Counts::open(context);
    let mut shown = 0;
    context.printer.begin("cruxctl.case.list.v1", LISTED)?;
    for span in spans {
        if context.printer.gone() || args.limit.is_some_and(|limit| shown >= limit) {
            break;
        }
        let line = table.opened.read(span)?;
        let Some(case) = Case::read(&line) else {
            context.without_it(&JOURNAL, &mut table)?;
            continue;
        };
        if !wanted.has(&case) || (args.only_failed && case.success) {
            continue;
        }
        shown += 1;
        let cells = [
            Value::text(&*case.id),
            Value::Time(case.created_at),
            Value::Flag(case.success),
            Value::single(case.reward),
            Value::text(&*case.task),
            Value::text(&*case.action),
            Value::text(&*case.outcome),
            Value::Texts(case.tag_texts()),
            Value::maybe(case.context.as_deref()),
            Value::maybe(case.source_receipt.as_deref()),
            Value::Count(counts.of(&case)?),
        ];
        context.printer.row(0, &[&case.id], &cells)?;
    }
    context.printer.end()
}

fn sorted(context: &mut Context, table: &mut Table, spans: Vec<Span>, sort: Sort) -> Result<Vec<Span>> {
    let mut keyed = Vec::with_capacity(spans.len());
    for span in spans {
        let line = table.opened.read(span)?;
        let Some(case) = Case::read(&line) else {
            context.without_it(&JOURNAL, table)?;
            continue;
        };
        let id = if sort == Sort::Id { case.id.into_owned() } else { String::new() };
        keyed.push((case.created_at, case.reward, id, span));
    }
    // A tie keeps the order of the journal, last recorded first.
    match sort {
        Sort::Recorded => {}
        Sort::Created => keyed.sort_by_key(|key| Reverse(key.0)),
        Sort::Reward => keyed.sort_by(|a, b| b.1.partial_cmp(&a.1).unwrap_or(Ordering::Equal)),
        Sort::Id => keyed.sort_by(|a, b| a.2.cmp(&b.2)),
    }
    Ok(keyed.into_iter().map(|(.., span)| span).collect())
}
