//! `cruxctl journal log`: what happened, in order, in one journal or in all of them; and what happens from here on.

use std::collections::VecDeque;
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::thread;
use std::time::Duration;

use chrono::{DateTime, Utc};
use clap::Args;

use super::{Name, chosen};
use crate::cmd::complete::Offers;
use crate::cmd::{Context, moment};
use crate::error::{Code, Error, Result};
use crate::journal::follow::{Change, Follower};
use crate::journal::replay::{self, Opened, Seen};
use crate::journal::scan::{Item, Stretch};
use crate::journal::{Journal, Span, audit};
use crate::render::{Format, Group, Value};
use crate::store::{self, event};

/// Arguments of `journal log`.
#[derive(Args, Debug)]
pub struct Log {
    /// Which journals [default: all that there are]
    #[arg(value_name = "JOURNAL", value_enum)]
    pub journals: Vec<Name>,
    /// Only events that name this id, as it is stored
    #[arg(long, value_name = "ID", add = Offers::Recorded)]
    pub id: Option<String>,
    /// Only events of these ops, for example store,delete
    #[arg(long, value_name = "OP", value_delimiter = ',')]
    pub op: Vec<String>,
    /// Only events since this RFC 3339 time, or within this time span (2h)
    #[arg(long, value_name = "TIME")]
    pub since: Option<String>,
    /// Only events until this RFC 3339 time, or up to this time span ago
    #[arg(long, value_name = "TIME")]
    pub until: Option<String>,
    /// Only the last so many of them
    #[arg(long, value_name = "N")]
    pub last: Option<usize>,
    /// Go on with what is written from now on, until the reader goes away
    #[arg(short, long, conflicts_with = "until")]
    pub follow: bool,
}

/// What is said of each event.
pub const LOGGED: &[Group] = &[Group {
    name: "events",
    one: "event",
    columns: &["time", "journal", "op", "id", "bytes", "line", "offset"],
    shown: &[],
    blocks: false,
}];

/// How often a journal that is followed is looked at.
const LOOK_AGAIN: Duration = Duration::from_millis(20);

/// How many events are handed from one thread to the other at once, and how many such handfuls wait.
const HANDFUL: usize = 256;
const WAITING: usize = 4;

/// One event.
#[derive(Debug)]
struct Row {
    journal: &'static str,
    time: Option<DateTime<Utc>>,
    /// The latest time up to here: what has no time, or an earlier one, happened behind what stands in front of it.
    order: Option<DateTime<Utc>>,
    op: String,
    id: Option<String>,
    line: u64,
    span: Span,
}

/// Which events are wanted.
#[derive(Debug)]
struct Filter {
    id: Option<String>,
    ops: Vec<String>,
    since: Option<DateTime<Utc>>,
    until: Option<DateTime<Utc>>,
}

impl Filter {
    fn of(args: &Log, now: DateTime<Utc>) -> Result<Filter> {
        let time = |text: &Option<String>| text.as_deref().map(|text| moment(text, now)).transpose();
        Ok(Filter { id: args.id.clone(), ops: args.op.clone(), since: time(&args.since)?, until: time(&args.until)? })
    }

    fn wants(&self, op: &str, at: Option<DateTime<Utc>>) -> bool {
        (self.ops.is_empty() || self.ops.iter().any(|wanted| wanted == op))
            && self.since.is_none_or(|since| at.is_some_and(|at| at >= since))
            && self.until.is_none_or(|until| at.is_none_or(|at| at <= until))
    }
}

/// One journal while its events are read.
struct Reader<'r> {
    journal: &'static Journal,
    filter: &'r Filter,
    /// The latest time so far.
    clock: Option<DateTime<Utc>>,
}

impl Reader<'_> {
    /// Hands out the events that an item has and that are wanted.
    fn item(&mut self, item: &Item<'_>, take: &mut dyn FnMut(Row)) {
        match item {
            Item::Record(record) => {
                let named = self.filter.id.as_deref().is_none_or(|id| store::names(record.event, id));
                event::each(record, &mut |id, span, time| {
                    self.clock = self.clock.max(time);
                    let op = record.event.op.name;
                    // Of an event that lists records those are meant that have the id.
                    let is_it =
                        span == record.span || self.filter.id.as_deref().is_none_or(|wanted| id == Some(wanted));
                    if named && is_it && self.filter.wants(op, time.or(self.clock)) {
                        let id = id.map(str::to_owned);
                        take(self.row(op.to_owned(), id, time, record.line, span));
                    }
                });
            }
            Item::Foreign { line, span, op, text } => {
                // Nobody knows what it is about.
                let quoted = self.filter.id.as_ref().and_then(|id| serde_json::to_vec(id).ok());
                let named = quoted.is_none_or(|id| memchr::memmem::find(text, &id).is_some());
                if named && self.filter.wants(op, self.clock) {
                    take(self.row((*op).to_owned(), None, None, *line, *span));
                }
            }
            Item::Finding(..) | Item::LineEnd { .. } => {}
        }
    }

    fn row(&self, op: String, id: Option<String>, time: Option<DateTime<Utc>>, line: u64, span: Span) -> Row {
        Row { journal: self.journal.name, time, order: self.clock, op, id, line, span }
    }
}

/// Runs the verb.
pub fn run(context: &mut Context, args: &Log) -> Result<()> {
    let filter = Filter::of(args, context.env.now())?;
    if args.follow && context.printer.format() == Format::Json {
        let message = "one JSON object has an end, and --follow has none";
        return Err(Error::new(Code::UsageArguments, message).hint("one object a line: --format jsonl"));
    }
    let journals = chosen(context, &args.journals);
    unknown_ops(context, &filter, &journals);
    let mut opened = Vec::new();
    for journal in &journals {
        let mut one = replay::open(&context.dir, journal)?;
        if args.follow {
            // A line that has no end yet is shown when it has one.
            one.len = Follower::whole_lines(&one)?;
        }
        opened.push(one);
    }
    context.note_missing_dir();
    context.printer.begin("cruxctl.journal.log.v1", LOGGED)?;
    let mut last = VecDeque::new();
    let seen = merged(&journals, &opened, &filter, &mut |row| match args.last {
        Some(most) => {
            last.push_back(row);
            if last.len() > most {
                last.pop_front();
            }
            Ok(true)
        }
        None => {
            tell(context, &row)?;
            Ok(!context.printer.gone())
        }
    })?;
    last.iter().try_for_each(|row| tell(context, row))?;
    for ((journal, opened), seen) in journals.iter().zip(&opened).zip(&seen) {
        let against = audit::glance(&context.dir, journal, opened, None);
        context.tell_damage(journal, seen, against.as_ref(), !args.follow);
    }
    if !args.follow {
        return context.printer.end();
    }
    let from = seen.iter().map(|seen| seen.totals.lines);
    let followers: Vec<Follower> = journals
        .iter()
        .zip(opened.into_iter().zip(from))
        .map(|(journal, (opened, lines))| {
            let at = opened.len;
            Follower::new(&context.dir, journal, opened, (at, lines))
        })
        .collect();
    follow(context, &journals, followers, &filter)
}

/// Tells of ops that no chosen journal knows: they may be mistyped, or another version's.
fn unknown_ops(context: &mut Context, filter: &Filter, journals: &[&Journal]) {
    let known: Vec<&str> = journals.iter().flat_map(|journal| journal.shape.ops).map(|op| op.name).collect();
    for op in filter.ops.iter().filter(|op| !known.contains(&op.as_str())) {
        let mut names = known.clone();
        names.sort_unstable();
        names.dedup();
        context.printer.note(&format!("no op of these journals is called {op:?}: they have {}", names.join(", ")));
    }
}

fn tell(context: &mut Context, row: &Row) -> Result<()> {
    let cells = [
        Value::time(row.time),
        Value::text(row.journal),
        Value::text(&*row.op),
        Value::maybe(row.id.as_deref()),
        Value::Count(row.span.len),
        Value::Count(row.line),
        Value::Count(row.span.offset),
    ];
    let ids: Vec<&str> = row.id.as_deref().into_iter().collect();
    context.printer.row(0, &ids, &cells)
}

/// Hands out the events of several journals, the earliest first; those of one journal in the order of its file. `take`
/// says whether it wants more.
fn merged(
    journals: &[&'static Journal],
    opened: &[Opened],
    filter: &Filter,
    take: &mut dyn FnMut(Row) -> Result<bool>,
) -> Result<Vec<Seen>> {
    thread::scope(|scope| {
        let mut sources = Vec::new();
        for (journal, opened) in journals.iter().zip(opened) {
            let (sender, receiver) = sync_channel(WAITING);
            let reading = thread::Builder::new().spawn_scoped(scope, move || each(journal, opened, filter, &sender));
            let reading = reading.map_err(|e| Error::from_io("cannot start a thread", &e))?;
            sources.push((Source { receiver, rows: VecDeque::new() }, reading));
        }
        loop {
            let next = sources.iter_mut().filter_map(|(source, _)| Some((source.order()?, source)));
            let Some((_, source)) = next.min_by_key(|(order, _)| *order) else { break };
            let Some(row) = source.rows.pop_front() else { break };
            if !take(row)? {
                break;
            }
        }
        let mut all = Vec::new();
        for (source, reading) in sources {
            // Where nobody wants more, the reading ends with its next handful.
            drop(source);
            match reading.join() {
                Ok(seen) => all.push(seen?),
                Err(_) => return Err(Error::new(Code::EnvironmentIo, "a reading thread has ended too early")),
            }
        }
        Ok(all)
    })
}

/// The events of one journal, as they come.
struct Source {
    receiver: Receiver<Vec<Row>>,
    rows: VecDeque<Row>,
}

impl Source {
    /// The place of the next event among those of others; `None` where there is none.
    fn order(&mut self) -> Option<Option<DateTime<Utc>>> {
        if self.rows.is_empty() {
            self.rows = self.receiver.recv().ok()?.into();
        }
        self.rows.front().map(|row| row.order)
    }
}

/// Sends the events of one journal, in handfuls, as long as somebody listens.
fn each(journal: &'static Journal, opened: &Opened, filter: &Filter, sender: &SyncSender<Vec<Row>>) -> Result<Seen> {
    let mut reader = Reader { journal, filter, clock: None };
    let mut handful = Vec::with_capacity(HANDFUL);
    let mut wanted = true;
    let stop = || Error::new(Code::EnvironmentIo, "nobody wants more");
    let seen = opened.scan_items(journal, Stretch::whole(opened.len), &mut |item| {
        reader.item(item, &mut |row| handful.push(row));
        if handful.len() >= HANDFUL {
            wanted = sender.send(std::mem::take(&mut handful)).is_ok();
        }
        if wanted { Ok(()) } else { Err(stop()) }
    });
    let _ = sender.send(handful);
    if wanted { seen } else { Ok(Seen::default()) }
}

/// Hands out what is written from now on, until nobody reads it any more.
fn follow(
    context: &mut Context,
    journals: &[&'static Journal],
    mut followers: Vec<Follower>,
    filter: &Filter,
) -> Result<()> {
    let clock = Some(context.env.now());
    let mut readers: Vec<Reader<'_>> = journals.iter().map(|journal| Reader { journal, filter, clock }).collect();
    loop {
        context.printer.pause()?;
        context.printer.wait(LOOK_AGAIN);
        if context.printer.gone() {
            return Ok(());
        }
        for (follower, reader) in followers.iter_mut().zip(&mut readers) {
            let look = follower.look(&mut |item| {
                let mut result = Ok(());
                reader.item(item, &mut |row| {
                    if result.is_ok() {
                        result = tell(context, &row);
                    }
                });
                result
            })?;
            let journal = reader.journal;
            context.tell_damage(journal, &look.seen, None, false);
            if look.seen.damage > 0 && !context.damaged_ok {
                context.mark(Code::DamagedJournal.kind().status());
            }
            look.changes.iter().for_each(|change| tell_change(context, journal, *change));
        }
    }
}

fn tell_change(context: &mut Context, journal: &Journal, change: Change) {
    let file = journal.file;
    match change {
        Change::Replaced => {
            context.printer.note(&format!("{file} was compacted or repaired; what follows comes behind"))
        }
        Change::Exchanged(known) => {
            let text = format!(
                "another file has taken the place of {file}, and nothing says where it goes on; its first {known} bytes \
                 were seen before"
            );
            context.printer.warn(&text, &[format!("cruxctl journal check {}", journal.name)]);
        }
        Change::Rewritten => {
            let text = format!("{file} was written over in place: what it has now is shown from its beginning");
            context.printer.warn(&text, &[format!("cruxctl journal check {}", journal.name)]);
        }
        Change::Cut(had, has) => {
            let text = format!("{file} was cut: it had {had} bytes, and has {has}");
            context.printer.warn(&text, &[format!("cruxctl journal check {}", journal.name)]);
        }
    }
}
