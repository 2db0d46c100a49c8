//! `cruxctl case reuse`: a precedent was used again, and is counted; and what the other verbs show of that.

use std::collections::HashMap;

use clap::Args;

use super::one;
use crate::cmd::complete::Offers;
use crate::cmd::{Context, plural};
use crate::error::{Error, Result};
use crate::journal::append;
use crate::journal::table::Table;
use crate::render::{Group, Value};
use crate::store::case::{self, Case};
use crate::store::reuse::{self, JOURNAL};

/// Arguments of `case reuse`.
#[derive(Args, Debug)]
pub struct Reuse {
    /// The cases' ids
    #[arg(value_name = "ID", required = true, add = Offers::Cases)]
    pub ids: Vec<String>,
    /// Say what would be done and do nothing
    #[arg(long)]
    pub dry_run: bool,
}

/// What is said of each use.
pub const REUSED: &[Group] = &[Group {
    name: "changed",
    one: "changed",
    columns: &["action", "id", "task", "times_reused", "offset", "dry_run"],
    shown: &["action", "id", "task", "times_reused"],
    blocks: false,
}];

/// Our own counts, beside the journal of cases.
pub(super) struct Counts(Option<Table>);

impl Counts {
    /// Opens them for an answer. Where there are none, that costs one look; where they cannot be read, the answer is
    /// given without them, and the exit status says so.
    pub(super) fn open(context: &mut Context) -> Counts {
        match context.dir.has(&JOURNAL) {
            Ok(true) => {}
            Ok(false) => return Counts(None),
            Err(error) => {
                context.answer_without(Error::io("look at", &context.dir.journal(&JOURNAL), &error));
                return Counts(None);
            }
        }
        match context.table(&JOURNAL, true) {
            Ok(table) => Counts(Some(table)),
            Err(error) => {
                context.answer_without(error);
                Counts(None)
            }
        }
    }

    /// How often a case was used again: what the journal of cases says of it, and what was counted here.
    pub(super) fn of(&mut self, case: &Case<'_>) -> Result<u64> {
        let ours = match &mut self.0 {
            Some(table) => counted(table, &case.id)?,
            None => 0,
        };
        Ok(u64::from(case.times_reused).saturating_add(ours))
    }
}

/// What was counted of an id.
fn counted(table: &mut Table, id: &str) -> Result<u64> {
    match table.get(id)? {
        Some((line, _)) => reuse::times(&line).ok_or_else(|| table.distrust()),
        None => Ok(0),
    }
}

/// One use of a case.
struct Use<'a> {
    id: &'a str,
    task: String,
    /// What the journal of cases says of it.
    before: u32,
    /// What was counted here, with this use.
    times: u64,
}

/// Runs the verb.
pub fn run(context: &mut Context, args: &Reuse) -> Result<()> {
    let (lock, mut cases) = context.for_change(&case::JOURNAL, args.dry_run)?;
    let mut uses = found(context, &mut cases, &args.ids)?;
    let mut table = context.also_for_change(&JOURNAL, lock.as_ref(), true)?;
    count(&mut table, &mut uses)?;
    let now = context.env.now();
    let lines: Vec<Vec<u8>> = uses.iter().map(|used| reuse::line(used.id, used.times, now)).collect();
    for line in &lines {
        append::check_length(&JOURNAL, line)?;
    }
    let mut offsets = vec![None; uses.len()];
    let written = lock.is_some();
    if let Some(lock) = lock {
        let done = context.append(&lock, table, &lines)?;
        offsets = done.spans.iter().map(|span| Some(span.offset)).collect();
    }
    tell(context, &uses, &offsets, args.dry_run)
        .map_err(|error: Error| error.after(written, &format!("{} counted", plural(uses.len() as u64, "use"))))
}

/// The cases that were named. All are looked for before the first is counted.
fn found<'a>(context: &mut Context, cases: &mut Table, ids: &'a [String]) -> Result<Vec<Use<'a>>> {
    let mut uses = Vec::with_capacity(ids.len());
    for id in ids {
        let (line, _) = one::find(cases, id).inspect_err(|_| context.doubt_no(cases))?;
        let case = Case::read(&line).ok_or_else(|| cases.distrust())?;
        uses.push(Use { id, task: case.task.into_owned(), before: case.times_reused, times: 0 });
    }
    Ok(uses)
}

/// Counts each use on top of what was counted before.
fn count(table: &mut Table, uses: &mut [Use<'_>]) -> Result<()> {
    let mut known: HashMap<&str, u64> = HashMap::new();
    for used in uses {
        let before = match known.get(used.id) {
            Some(times) => *times,
            None => counted(table, used.id)?,
        };
        used.times = reuse::once_more(before);
        known.insert(used.id, used.times);
    }
    Ok(())
}

fn tell(context: &mut Context, uses: &[Use<'_>], offsets: &[Option<u64>], dry_run: bool) -> Result<()> {
    context.printer.begin("cruxctl.case.reuse.v1", REUSED)?;
    for (used, offset) in uses.iter().zip(offsets) {
        let cells = [
            Value::text("reuse"),
            Value::text(used.id),
            Value::text(&*used.task),
            Value::Count(u64::from(used.before).saturating_add(used.times)),
            offset.map_or(Value::Absent, Value::Count),
            Value::Flag(dry_run),
        ];
        context.printer.row(0, &[used.id], &cells)?;
    }
    context.printer.end()
}
