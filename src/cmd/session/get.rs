//! `cruxctl session get` and `show`: a state, and what is known of it.

use clap::Args;

use super::One;
use super::version::{self, Found, When};
use super::view::{absent, command, find, parsed};
use crate::cmd::{Context, moment};
use crate::error::{Code, Error, Result};
use crate::journal::Span;
use crate::journal::replay::Opened;
use crate::journal::table::rewritten;
use crate::render::{Format, Value, for_terminal, quoted, rfc3339};
use crate::store::scope::{self, Scope};
use crate::store::session::{JOURNAL, Session};

/// Arguments of `session get`.
#[derive(Args, Debug)]
pub struct Get {
    /// Which session.
    #[command(flatten)]
    pub one: One,
    /// Which version.
    #[command(flatten)]
    pub when: When,
    /// Print a session too that has expired, or had at the time of --at
    #[arg(long)]
    pub expired: bool,
    /// Exact bytes on a terminal too
    #[arg(long, conflicts_with_all = ["format", "json"])]
    pub raw: bool,
}

/// Arguments of `session show`.
#[derive(Args, Debug)]
pub struct Show {
    /// Which session.
    #[command(flatten)]
    pub one: One,
    /// Which version.
    #[command(flatten)]
    pub when: When,
}

/// A version as it is shown.
struct Shown {
    bytes: Vec<u8>,
    span: Span,
    /// Its number and line, where the history was read.
    counted: Option<(u64, u64)>,
    opened: Opened,
}

/// The version that is meant: the live one, which the index knows, or one out of the history.
fn look_up(context: &mut Context, scope: &Scope, one: &One, when: &When) -> Result<Shown> {
    if when.is_named() {
        let Found { bytes, revision, opened } = version::find(context, scope, &one.id, when)?;
        return Ok(Shown { bytes, span: revision.span, counted: Some((revision.number, revision.line)), opened });
    }
    let mut table = context.table(&JOURNAL, true)?;
    let Some((bytes, span)) = find(&mut table, scope, &one.id)? else {
        return Err(absent(context, &mut table, scope, &one.id)?);
    };
    parsed(&table, &bytes)?;
    Ok(Shown { bytes, span, counted: None, opened: table.opened })
}

/// Runs `get`.
pub fn run(context: &mut Context, args: &Get) -> Result<()> {
    let scope = context.scope(args.one.all_agents)?;
    let shown = look_up(context, &scope, &args.one, &args.when)?;
    let found = session(&shown)?;
    // A version that was called by its number is wanted as it was.
    let looked_at = match &args.when {
        When { rev: Some(_), .. } => None,
        When { at, .. } => Some(at.as_deref().map_or(Ok(context.env.now()), |at| moment(at, context.env.now()))?),
    };
    if looked_at.is_some_and(|at| found.expired(at)) && !args.expired {
        let at = found.expires_at.map(rfc3339).unwrap_or_default();
        let message = format!("session {:?} has expired at {at}; it stays until it is reaped", args.one.id);
        let verb = args.when.at.as_ref().map_or(String::new(), |at| format!(" --at {}", quoted(at)));
        let hint = command(context, &format!("get --expired{verb}"), &scope, &args.one.id);
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
            ("rev", shown.counted.map_or(Value::Absent, |(rev, _)| Value::Count(rev))),
            ("state", Value::Json(found.state)),
        ],
    )?;
    printer.end()
}

/// The session that a record was.
fn session(shown: &Shown) -> Result<Session<'_>> {
    Session::read(&shown.bytes).ok_or_else(|| rewritten(&JOURNAL))
}

/// Runs `show`.
pub fn show(context: &mut Context, args: &Show) -> Result<()> {
    let scope = context.scope(args.one.all_agents)?;
    let shown = look_up(context, &scope, &args.one, &args.when)?;
    let found = session(&shown)?;
    let (opened, span) = (&shown.opened, shown.span);
    let line_number = match shown.counted {
        Some((_, line)) => line,
        None => opened.line_of(span.offset)?,
    };
    let (agent, logical) = scope::split(&found.id);
    let fields = [
        ("id", Value::text(&*args.one.id)),
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
        ("journal", Value::text(opened.path.display().to_string())),
        ("line", Value::Count(line_number)),
        ("offset", Value::Count(span.offset)),
        ("length", Value::Count(span.len)),
        ("rev", shown.counted.map_or(Value::Absent, |(rev, _)| Value::Count(rev))),
    ];
    context.printer.begin("cruxctl.session.show.v1", &[])?;
    context.printer.fields(Some(&args.one.id), &fields)?;
    context.printer.end()
}
