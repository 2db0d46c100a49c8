//! `cruxctl journal compact`: live records and nothing else.

use clap::Args;

use super::{Name, tell_carried_over};
use crate::cmd::handoff::ledger;
use crate::cmd::{Context, moment};
use crate::env;
use crate::error::{Code, Error, Result};
use crate::journal::lock::Lock;
use crate::journal::{Journal, compact, replay};
use crate::render::{Group, Value};
use crate::store::{durable, fact, session};

/// Arguments of `journal compact`.
#[derive(Args, Debug)]
pub struct Compact {
    /// Which journal
    #[arg(value_name = "JOURNAL", value_enum)]
    pub journal: Name,
    /// Of durable sessions, erase as well what was sent and what came of it, where that was finished longer ago than this
    ///
    /// A length such as 30days, or a moment such as 2026-03-01T08:00:00Z. Ids, cursors and outcomes stay.
    #[arg(long, value_name = "TIME")]
    pub retain: Option<String>,
    /// Say what would be dropped and drop nothing
    #[arg(long)]
    pub dry_run: bool,
}

/// What a compaction says.
pub const COMPACTED: &[Group] = &[Group {
    name: "journals",
    one: "journal",
    columns: &["journal", "before_bytes", "after_bytes", "live", "foreign", "dropped", "dry_run"],
    shown: &[],
    blocks: false,
}];

/// Whether a journal is not compacted while a handoff is half accepted.
pub(super) fn is_guarded(journal: &Journal) -> bool {
    [session::JOURNAL.name, fact::JOURNAL.name].contains(&journal.name)
}

/// Runs the verb.
pub fn run(context: &mut Context, args: &Compact) -> Result<()> {
    let journal = args.journal.journal();
    let guarded = is_guarded(journal);
    if args.retain.is_some() && journal.name != durable::JOURNAL.name {
        let message = format!("--retain is for the journal durable: {} keeps what is live", journal.file);
        return Err(Error::new(Code::UsageArguments, message));
    }
    let erase_before = args.retain.as_deref().map(|text| moment(text, context.env.now())).transpose()?;
    let done = if args.dry_run || !context.has_dir()? {
        if guarded {
            ledger::none_open(context, None)?;
        }
        compact::plan(&context.dir, &replay::open(&context.dir, journal)?, journal, erase_before)?
    } else {
        let lock = Lock::take(&context.dir, context.lock_timeout)?;
        if guarded {
            ledger::none_open(context, Some(&lock))?;
        }
        compact::apply(&context.dir, journal, &lock, &env::random_tag()?, erase_before)?
    };
    let cells = [
        Value::text(journal.name),
        Value::Count(done.before_bytes),
        Value::Count(done.after_bytes),
        Value::Count(done.live),
        Value::Count(done.foreign),
        Value::Count(done.dropped),
        Value::Flag(args.dry_run),
    ];
    let printer = &mut context.printer;
    let told = printer
        .begin("cruxctl.journal.compact.v1", COMPACTED)
        .and_then(|()| printer.row(0, &[journal.name], &cells))
        .and_then(|()| printer.end());
    told.map_err(|error| error.after(!args.dry_run, &format!("{} is compacted", journal.file)))?;
    tell_carried_over(context, journal, done.carried_over);
    if let Some(error) = done.unkept {
        context.printer.note(&error.message);
    }
    Ok(())
}
