//! `cruxctl session get` and `show`: a state, and what is known of it.

use clap::Args;

use super::One;
use super::view::{absent, command, find, parsed};
use crate::cmd::Context;
use crate::error::{Code, Error, Result};
use crate::render::{Format, Value, for_terminal, rfc3339};
use crate::store::scope;
use crate::store::session::JOURNAL;

/// Arguments of `session get`.
#[derive(Args, Debug)]
pub struct Get {
    /// Which session.
    #[command(flatten)]
    pub one: One,
    /// Print an expired session too
    #[arg(long)]
    pub expired: bool,
    /// Exact bytes on a terminal too
    #[arg(long, conflicts_with_all = ["format", "json"])]
    pub raw: bool,
}

/// Runs `get`.
pub fn run(context: &mut Context, args: &Get) -> Result<()> {
    let scope = context.scope(args.one.all_agents)?;
    let mut table = context.table(&JOURNAL, true)?;
    let Some((line, _)) = find(&mut table, &scope, &args.one.id)? else {
        return Err(absent(context, &mut table, &scope, &args.one.id)?);
    };
    let found = parsed(&table, &line)?;
    if found.expired(context.env.now()) && !args.expired {
        let at = found.expires_at.map(rfc3339).unwrap_or_default();
        let message = format!("session {:?} has expired at {at}; it stays until it is reaped", args.one.id);
        let hint = command(context, "get --expired", &scope, &args.one.id);
        return Err(Error::new(Code::RefusedExpired, message).hint(hint));
    }
    if args.raw || context.printer.wants_raw() {
        context.printer.raw(found.state)?;
        context.printer.raw(b"\n")?;
        return context.printer.flush();
    }
    let printer = &mut context.printer;
    if printer.format() == Format::Table || printer.format() == Format::Plain {
        let text = String::from_utf8_lossy(found.state);
        let safe = for_terminal(&text);
        printer.raw(safe.as_bytes())?;
        printer.raw(b"\n")?;
        return printer.flush();
    }
    printer.begin("cruxctl.session.get.v1", &[])?;
    printer.fields(
        Some(&args.one.id),
        &[
            ("id", Value::text(&*args.one.id)),
            ("hash", Value::text(found.hash())),
            ("state", Value::Json(found.state)),
        ],
    )?;
    printer.end()
}

/// Runs `show`.
pub fn show(context: &mut Context, args: &One) -> Result<()> {
    let scope = context.scope(args.all_agents)?;
    let mut table = context.table(&JOURNAL, true)?;
    let Some((line, span)) = find(&mut table, &scope, &args.id)? else {
        return Err(absent(context, &mut table, &scope, &args.id)?);
    };
    let found = parsed(&table, &line)?;
    let line_number = table.opened.line_of(span.offset)?;
    let (agent, logical) = scope::split(&found.id);
    let fields = [
        ("id", Value::text(&*args.id)),
        ("stored_id", Value::text(&*found.id)),
        ("agent", Value::maybe(agent)),
        ("logical_id", Value::text(logical)),
        ("bytes", Value::Count(found.state.len() as u64)),
        ("tokens", Value::Count(found.total_tokens)),
        ("hash", Value::text(found.hash())),
        ("updated_at", Value::Time(found.updated_at)),
        ("expires_at", Value::time(found.expires_at)),
        ("expired", Value::Flag(found.expired(context.env.now()))),
        ("archived", Value::Flag(found.archived)),
        ("archived_at", Value::time(found.archived_at)),
        ("archive_reason", Value::maybe(found.archive_reason.as_deref())),
        ("actor", Value::maybe(found.actor.as_deref())),
        ("journal", Value::text(table.opened.path.display().to_string())),
        ("line", Value::Count(line_number)),
        ("offset", Value::Count(span.offset)),
        ("length", Value::Count(span.len)),
    ];
    context.printer.begin("cruxctl.session.show.v1", &[])?;
    context.printer.fields(Some(&args.id), &fields)?;
    context.printer.end()
}
