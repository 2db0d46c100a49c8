//! `cruxctl handoff list` and `abandon`: the ledger of what was accepted here.

use clap::Args;

use crate::cmd::complete::Offers;
use crate::cmd::{Context, plural};
use crate::error::{Code, Error, Result};
use crate::journal::lock::Lock;
use crate::journal::table::Table;
use crate::render::{Group, Value, quoted};
use crate::store::handoff::{Entry, JOURNAL, State};

/// Arguments of `handoff list`.
#[derive(Args, Debug)]
pub struct List {
    /// Only those that are half accepted
    #[arg(long)]
    pub open: bool,
    /// At most this many
    #[arg(long, value_name = "N")]
    pub limit: Option<u64>,
}

/// Arguments of `handoff abandon`.
#[derive(Args, Debug)]
pub struct Abandon {
    /// The handoff's content hash, or its own id
    #[arg(value_name = "HASH|ID", add = Offers::OpenHandoffs)]
    pub which: String,
    /// Say what would be done and do nothing
    #[arg(long)]
    pub dry_run: bool,
}

/// What a list says of each handoff.
pub const LISTED: &[Group] = &[Group {
    name: "handoffs",
    one: "handoff",
    columns: &[
        "content_hash",
        "state",
        "handoff_id",
        "session_id",
        "source_agent",
        "receiver",
        "signed_by",
        "key_id",
        "session",
        "facts",
        "times",
        "begun_at",
        "accepted_at",
    ],
    shown: &["state", "accepted_at", "session_id", "source_agent", "receiver", "facts", "times", "content_hash"],
    blocks: false,
}];

/// What is said of a handoff that was given up.
pub const CHANGED: &[Group] = &[Group {
    name: "changed",
    one: "changed",
    columns: &["action", "content_hash", "handoff_id", "session_id", "offset", "dry_run"],
    shown: &["action", "session_id", "content_hash"],
    blocks: false,
}];

/// Refuses a ledger that may hide an entry: what was accepted could be accepted again.
fn whole(table: &Table) -> Result<()> {
    if !table.is_damaged() {
        return Ok(());
    }
    let message = format!("{} is damaged: what it hides may have been accepted before", JOURNAL.file);
    Err(Error::new(Code::RefusedDamage, message)
        .hint("cruxctl journal check handoffs")
        .hint("cruxctl journal repair handoffs --apply"))
}

/// The command that completes a half accepted handoff.
pub(super) fn completing(entry: &Entry) -> String {
    let agent = entry.receiver.as_ref().map_or(String::new(), |agent| format!(" --agent {}", quoted(agent)));
    format!("cruxctl handoff accept{agent}")
}

/// The refusal of what a half accepted handoff is in the way of.
pub(super) fn in_the_way(entry: &Entry, message: String) -> Error {
    Error::new(Code::RefusedOpen, message)
        .hint(format!("complete it with the same envelope: {}", completing(entry)))
        .hint(format!("cruxctl handoff abandon {}", entry.content_hash))
}

/// The entry of a payload's hash.
pub(super) fn entry(table: &mut Table, hash: &str) -> Result<Option<Entry>> {
    whole(table)?;
    let Some((line, _)) = table.get(hash)? else { return Ok(None) };
    Entry::read(&line).map(Some).ok_or_else(|| table.distrust())
}

/// Every entry, the one written last first.
fn entries(context: &mut Context, table: &mut Table) -> Result<Vec<Entry>> {
    let mut entries = context.each_live(&JOURNAL, table, Entry::read)?;
    entries.reverse();
    Ok(entries)
}

/// Refuses what a half accepted handoff must be completed before.
pub(in crate::cmd) fn none_open(context: &mut Context, lock: Option<&Lock>) -> Result<()> {
    if !context.dir.has(&JOURNAL).map_err(|e| Error::io("look at", &context.dir.journal(&JOURNAL), &e))? {
        return Ok(());
    }
    let mut table = context.also_for_change(&JOURNAL, lock, false)?;
    whole(&table)?;
    let open = entries(context, &mut table)?.into_iter().find(|entry| entry.state == State::Open);
    let Some(open) = open else { return Ok(()) };
    let message = format!(
        "the handoff {} of session {:?} is half accepted: complete it, or give it up",
        open.content_hash, open.session_id
    );
    Err(in_the_way(&open, message))
}

/// Runs `list`.
pub fn list(context: &mut Context, args: &List) -> Result<()> {
    let mut table = context.table(&JOURNAL, true)?;
    let mut entries = entries(context, &mut table)?;
    entries.retain(|entry| !args.open || entry.state == State::Open);
    let most = args.limit.map_or(usize::MAX, |limit| usize::try_from(limit).unwrap_or(usize::MAX));
    context.printer.begin("cruxctl.handoff.list.v1", LISTED)?;
    for entry in entries.iter().take(most) {
        let cells = [
            Value::text(&*entry.content_hash),
            Value::text(entry.state.name()),
            Value::maybe(entry.handoff_id.as_deref()),
            Value::text(&*entry.session_id),
            Value::text(&*entry.source_agent),
            Value::maybe(entry.receiver.as_deref()),
            Value::maybe(entry.signed_by.as_deref()),
            Value::text(&*entry.key_id),
            Value::Flag(entry.session),
            Value::Count(entry.fact_ids.len() as u64),
            Value::Count(entry.times),
            Value::Time(entry.begun_at),
            Value::time(entry.accepted_at),
        ];
        context.printer.row(0, &[&entry.content_hash], &cells)?;
    }
    context.printer.end()?;
    let open: Vec<&Entry> = entries.iter().filter(|entry| entry.state == State::Open).collect();
    if !open.is_empty() {
        let text = format!("{} half accepted: complete each with its envelope", plural(open.len() as u64, "handoff"));
        let mut commands: Vec<String> = open.into_iter().map(completing).collect();
        commands.sort();
        commands.dedup();
        context.printer.warn(&text, &commands);
    }
    Ok(())
}

/// Runs `abandon`.
pub fn abandon(context: &mut Context, args: &Abandon) -> Result<()> {
    let (lock, mut table) = context.for_change(&JOURNAL, args.dry_run)?;
    whole(&table)?;
    let is_it = |entry: &Entry| entry.content_hash == args.which || entry.handoff_id.as_ref() == Some(&args.which);
    let found = entries(context, &mut table)?.into_iter().find(|entry| is_it(entry) && entry.state == State::Open);
    let Some(found) = found else {
        let message = format!("there is no half accepted handoff {:?}", args.which);
        return Err(Error::new(Code::NoHandoff, message).hint("cruxctl handoff list"));
    };
    let entry = Entry { state: State::Abandoned, ..found };
    let mut offset = None;
    if let Some(lock) = lock {
        offset = context.append(&lock, table, &[entry.line()])?.spans.first().map(|span| span.offset);
    }
    let cells = [
        Value::text("abandon"),
        Value::text(&*entry.content_hash),
        Value::maybe(entry.handoff_id.as_deref()),
        Value::text(&*entry.session_id),
        offset.map_or(Value::Absent, Value::Count),
        Value::Flag(args.dry_run),
    ];
    context.printer.begin("cruxctl.handoff.abandon.v1", CHANGED)?;
    context.printer.row(0, &[&entry.content_hash], &cells)?;
    context.printer.end()
}
