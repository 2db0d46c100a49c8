//! `cruxctl case import`: many cases at once, one to a line, on disk together.

use std::borrow::Cow;
use std::collections::HashSet;
use std::fs::File;
use std::io::{BufRead, BufReader, Read};
use std::path::PathBuf;

use chrono::{DateTime, Utc};
use clap::Args;

use super::record::{self, Document};
use crate::cmd::{Context, input, plural};
use crate::env;
use crate::error::{Code, Error, Result, plain};
use crate::journal::append;
use crate::journal::live::IdKey;
use crate::journal::lock::Lock;
use crate::render::{Group, Value};
use crate::store::case::JOURNAL;

/// How many bytes of records are appended at once. The lock is not held while more are waited for.
const BATCH: usize = 4 << 20;

/// Arguments of `case import`.
#[derive(Args, Debug)]
pub struct Import {
    /// Read from this file instead of standard input
    #[arg(value_name = "FILE", value_hint = clap::ValueHint::FilePath)]
    pub file: Option<PathBuf>,
    /// All or none: one line that is no case keeps all others out, and a write that fails is undone; who is killed
    /// in the middle of it may leave the first of them. The whole input is held in memory
    #[arg(long)]
    pub atomic: bool,
    /// Say what would be done and do nothing
    #[arg(long)]
    pub dry_run: bool,
}

/// What is said of each case that was imported.
pub const IMPORTED: &[Group] = &[Group {
    name: "imported",
    one: "case",
    columns: &["line", "id", "dry_run"],
    shown: &["line", "id"],
    blocks: false,
}];

/// Cases that are not yet written.
#[derive(Default)]
struct Batch {
    /// The input's line, the case's id, whether the id was given, and the record.
    cases: Vec<(u64, String, bool, Vec<u8>)>,
    bytes: usize,
}

/// What has become of the lines.
#[derive(Default)]
struct Done {
    imported: Vec<(u64, String)>,
    refused: u64,
    /// The ids that were given so far.
    given: HashSet<IdKey>,
}

/// Runs the verb.
pub fn run(context: &mut Context, args: &Import) -> Result<()> {
    let mut done = Done::default();
    let result = import(context, args, &mut done);
    let written = !args.dry_run && !done.imported.is_empty();
    if result.is_err() && !written {
        return result;
    }
    // What is there is told, whatever has come between.
    let told = tell(context, args, &done);
    if done.refused > 0 {
        context.mark(Code::UsageDocument.kind().status());
    }
    if let Err(error) = result {
        return Err(unfinished(context, &done, error));
    }
    told.map_err(|error| error.after(true, &format!("{} imported", plural(done.imported.len() as u64, "case"))))
}

fn import(context: &mut Context, args: &Import, done: &mut Done) -> Result<()> {
    let (mut input, name) = open(args)?;
    let mut batch = Batch::default();
    let (mut number, mut line) = (0u64, Vec::new());
    while next_line(&mut *input, &name, &mut line)? {
        number += 1;
        let text = line.trim_ascii();
        if text.is_empty() {
            continue;
        }
        match case_of(context, text) {
            Ok((id, given, record)) => {
                batch.bytes += record.len() + 1;
                batch.cases.push((number, id, given, record));
            }
            Err(error) => refuse(context, done, number, error),
        }
        if batch.bytes >= BATCH && !args.atomic {
            write(context, args, std::mem::take(&mut batch), done, false)?;
        }
    }
    all_or_none(args, done)?;
    write(context, args, batch, done, true)
}

/// The failure of an import of which a part is written: who runs it again as it is would have that part twice.
fn unfinished(context: &Context, done: &Done, error: Error) -> Error {
    let last = done.imported.last().map_or(0, |(line, _)| *line);
    let sync = |lock| append::append(&context.dir, &JOURNAL, &lock, &[], context.sync);
    let synced = context.sync && Lock::try_take(&context.dir).is_some_and(|lock| sync(lock).is_ok());
    let message = format!(
        "{} up to line {last} imported, and their ids printed{}; then: {}",
        plural(done.imported.len() as u64, "case"),
        if synced { "" } else { " (a power failure may still lose them)" },
        error.message.replace("nothing was written", "nothing more was written")
    );
    Error::new(Code::UnknownWrite, message)
        .hint(format!("import the other lines: tail -n +{} CASES.jsonl | cruxctl case import", last + 1))
}

/// Refuses an import of all or none of which a line was refused.
fn all_or_none(args: &Import, done: &Done) -> Result<()> {
    if args.atomic && done.refused > 0 {
        let message = format!("{} cannot be imported, so nothing was", plural(done.refused, "line"));
        return Err(Error::new(Code::UsageDocument, message));
    }
    Ok(())
}

fn open(args: &Import) -> Result<(Box<dyn BufRead>, String)> {
    if let Some(path) = args.file.as_ref().filter(|path| *path != "-") {
        let file = File::open(path).map_err(|e| Error::io("open", path, &e))?;
        return Ok((Box::new(BufReader::new(file)), path.display().to_string()));
    }
    let stdin = input::piped("the cases are", "cruxctl case import CASES.jsonl")?;
    Ok((Box::new(stdin.lock()), "standard input".to_owned()))
}

/// Reads the next line, of which no more is kept than may be written; `false` at the end.
fn next_line(input: &mut dyn BufRead, name: &str, line: &mut Vec<u8>) -> Result<bool> {
    line.clear();
    let failed = |e: std::io::Error| Error::new(Code::EnvironmentStdin, format!("cannot read {name}: {}", plain(&e)));
    let most = append::LONGEST_RECORD + 1;
    let got = (&mut *input).take(most).read_until(b'\n', line).map_err(failed)?;
    if got as u64 == most && line.last() != Some(&b'\n') {
        // The rest of a line that is too long anyway.
        input.skip_until(b'\n').map_err(failed)?;
    }
    Ok(got > 0)
}

/// The id of a case, whether it was given, and its record.
fn case_of(context: &mut Context, text: &[u8]) -> Result<(String, bool, Vec<u8>)> {
    if text.len() as u64 > append::LONGEST_RECORD {
        let message = format!("it has more than {} bytes", append::LONGEST_RECORD);
        return Err(Error::new(Code::RefusedTooLarge, message));
    }
    let document = Document::read(text, "it")?;
    let (id, given) = match &document.case_id {
        Some(id) => (id.clone(), true),
        None => (env::new_id("c_")?, false),
    };
    if given {
        input::check_new_id(&id, true)?;
    }
    let created_at = match &document.created_at {
        Some(text) => text.parse::<DateTime<Utc>>().map_err(|error| {
            Error::new(Code::UsageDocument, format!("its created_at {text:?} is no time: {error}"))
        })?,
        None => context.env.now(),
    };
    let case = record::case(context, document, Cow::Borrowed(&id), created_at)?;
    let line = case.line();
    append::check_length(&JOURNAL, &line)?;
    Ok((id.clone(), given, line))
}

/// Names a line that is not imported.
fn refuse(context: &mut Context, done: &mut Done, number: u64, mut error: Error) {
    done.refused += 1;
    error.message = format!("line {number} is not imported: {}", error.message);
    error.hints.clear();
    context.printer.warn_loudly(&error);
}

/// Appends a batch behind the lock; the last one is synced, and with it all before. Ids that are there already are
/// refused.
fn write(context: &mut Context, args: &Import, batch: Batch, done: &mut Done, last: bool) -> Result<()> {
    if batch.cases.is_empty() && (!last || done.imported.is_empty()) {
        return Ok(());
    }
    let (lock, mut table) = if args.dry_run {
        (None, context.table(&JOURNAL, false)?)
    } else {
        let (lock, table) = context.locked(&JOURNAL)?;
        (Some(lock), table)
    };
    let (mut lines, mut taken) = (Vec::new(), Vec::new());
    for (number, id, given, record) in batch.cases {
        if given && (!done.given.insert(IdKey::of(&id)) || table.get(&id)?.is_some()) {
            let error = Error::new(Code::RefusedExists, format!("there is a case {id:?} already"));
            refuse(context, done, number, error);
            continue;
        }
        lines.push(record);
        taken.push((number, id));
    }
    all_or_none(args, done)?;
    // Where every line was refused there is nothing to make whole or durable: the journal stays as it is.
    let nothing = lines.is_empty() && done.imported.is_empty();
    if let Some(lock) = lock.filter(|_| !nothing) {
        let sync = context.sync;
        context.sync = sync && last;
        let appended = super::append(context, &lock, table, &lines);
        context.sync = sync;
        appended?;
    }
    done.imported.extend(taken);
    Ok(())
}

fn tell(context: &mut Context, args: &Import, done: &Done) -> Result<()> {
    context.printer.begin("cruxctl.case.import.v1", IMPORTED)?;
    for (number, id) in &done.imported {
        let cells = [Value::Count(*number), Value::text(&**id), Value::Flag(args.dry_run)];
        context.printer.row(0, &[id], &cells)?;
    }
    context.printer.end()
}
