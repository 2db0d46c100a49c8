//! `cruxctl session list`: what is there, and how much of it is not shown.

use clap::{Args, ValueEnum};

use crate::cmd::complete::Offers;
use crate::cmd::{Context, moment, plural};
use crate::error::Result;
use crate::journal::Span;
use crate::journal::table::Table;
use crate::render::{Group, Value};
use crate::store::session::{JOURNAL, Session};

/// How `session list` is ordered.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Sort {
    /// Last write first, by the order of the journal
    Written,
    /// By id
    Id,
    /// Latest updated_at first
    Updated,
    /// Largest state first
    Size,
}

/// Arguments of `session list`.
#[derive(Args, Debug)]
pub struct List {
    /// Every stored id as it is, whatever agent it belongs to
    #[arg(long)]
    pub all_agents: bool,
    /// Only archived sessions
    #[arg(long, conflicts_with = "all")]
    pub archived: bool,
    /// Archived sessions too
    #[arg(long)]
    pub all: bool,
    /// Only ids that begin with this
    #[arg(long, value_name = "TEXT", add = Offers::Sessions)]
    pub prefix: Option<String>,
    /// Only sessions updated since this RFC 3339 time, or within this time span (2h)
    #[arg(long, value_name = "TIME")]
    pub since: Option<String>,
    /// The order
    #[arg(long, value_enum, default_value = "written")]
    pub sort: Sort,
    /// The other way round
    #[arg(long)]
    pub reverse: bool,
    /// At most this many
    #[arg(long, value_name = "N")]
    pub limit: Option<u64>,
}

/// What a list says of each session.
pub const LISTED: &[Group] = &[Group {
    name: "sessions",
    one: "session",
    columns: &["id", "updated_at", "bytes", "tokens", "expires_at", "expired", "archived", "actor"],
    shown: &[],
    blocks: false,
}];

/// Runs the verb.
pub fn run(context: &mut Context, args: &List) -> Result<()> {
    let scope = context.scope(args.all_agents)?;
    let now = context.env.now();
    let since = args.since.as_deref().map(|text| moment(text, now)).transpose()?;
    let mut table = context.table(&JOURNAL, true)?;
    let mut spans = table.spans()?;
    spans.reverse();
    if args.sort != Sort::Written {
        spans = sorted(context, &mut table, spans, args.sort)?;
    }
    if args.reverse {
        spans.reverse();
    }
    let (mut out_of_scope, mut archived, mut shown) = (0u64, 0u64, 0u64);
    context.printer.begin("cruxctl.session.list.v1", LISTED)?;
    for span in spans {
        if context.printer.gone() {
            return Ok(());
        }
        let line = table.opened.read(span)?;
        let Some(found) = Session::read(&line) else {
            context.without_it(&JOURNAL, &mut table)?;
            continue;
        };
        let Some(id) = scope.visible(&found.id) else {
            out_of_scope += 1;
            continue;
        };
        let filtered = args.prefix.as_deref().is_some_and(|prefix| !id.starts_with(prefix))
            || since.is_some_and(|since| found.updated_at < since)
            || (args.archived && !found.archived);
        if filtered {
            continue;
        }
        if found.archived && !args.archived && !args.all {
            archived += 1;
            continue;
        }
        if args.limit.is_some_and(|limit| shown >= limit) {
            continue;
        }
        shown += 1;
        let cells = [
            Value::text(id),
            Value::Time(found.updated_at),
            Value::Count(found.state.len() as u64),
            Value::Count(found.total_tokens),
            Value::time(found.expires_at),
            Value::Flag(found.expired(now)),
            Value::Flag(found.archived),
            Value::maybe(found.actor.as_deref()),
        ];
        context.printer.row(0, &[id], &cells)?;
    }
    context.printer.end()?;
    if out_of_scope > 0 {
        let text = format!("{} of other scopes not shown (--all-agents)", plural(out_of_scope, "session"));
        context.printer.note(&text);
    }
    if archived > 0 {
        let text = format!("{} not shown (--all, or --archived)", plural(archived, "archived session"));
        context.printer.note(&text);
    }
    Ok(())
}

fn sorted(context: &mut Context, table: &mut Table, spans: Vec<Span>, sort: Sort) -> Result<Vec<Span>> {
    let mut keyed = Vec::with_capacity(spans.len());
    for span in spans {
        let line = table.opened.read(span)?;
        let Some(found) = Session::read(&line) else {
            context.without_it(&JOURNAL, table)?;
            continue;
        };
        let nanos = found.updated_at.timestamp_subsec_nanos();
        let number = match sort {
            Sort::Updated => (-found.updated_at.timestamp(), u32::MAX - nanos),
            Sort::Size => (-i64::try_from(found.state.len()).unwrap_or(i64::MAX), 0),
            Sort::Written | Sort::Id => (0, 0),
        };
        let id = if sort == Sort::Id { found.id.into_owned() } else { String::new() };
        keyed.push((number, id, span));
    }
    // A tie keeps the order of the journal, last write first.
    keyed.sort_by(|a, b| (a.0, &a.1).cmp(&(b.0, &b.1)));
    Ok(keyed.into_iter().map(|(_, _, span)| span).collect())
}
