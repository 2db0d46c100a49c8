//! `cruxctl journal log`: what happened, in order, in one journal or in all of them; and what happens from here on.

use std::collections::VecDeque;
use std::sync::mpsc::sync_channel;
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
use crate::journal::{Journal, Span, audit, parallel};
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

/// How much of a journal is read at once, and how many times as much is read ahead.
const STRETCH: u64 = 512 << 10;
const WAITING: usize = 1;

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

impl Row {
    /// How many bytes it takes.
    fn weight(&self) -> usize {
        size_of::<Row>() + self.op.len() + self.id.as_ref().map_or(0, String::len)
    }
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
    let seen = match args.last {
        Some(most) => last(context, (&journals, &opened), &filter, most)?,
        None => merged(&journals, &opened, &filter, &mut |row| {
            tell(context, &row)?;
            Ok(!context.printer.gone())
        })?,
    };
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

/// What the last of many events are, in bounded memory.
#[derive(Default)]
struct Last {
    rows: VecDeque<Row>,
    /// What the rows weigh.
    bytes: usize,
    /// How many events there were.
    events: u64,
    /// They were too many, or too long, to be kept.
    too_much: bool,
}

impl Last {
    /// How many bytes of events are kept.
    const MOST: usize = 16 << 20;

    fn take(&mut self, row: Row, most: usize) {
        self.events += 1;
        if self.too_much {
            return;
        }
        self.bytes += row.weight();
        self.rows.push_back(row);
        if self.rows.len() > most
            && let Some(first) = self.rows.pop_front()
        {
            self.bytes -= first.weight();
        }
        if self.bytes > Self::MOST {
            self.too_much = true;
            self.rows = VecDeque::new();
        }
    }
}

/// Shows the last events. Where they are too many to be kept, the journals are read a second time, up to where they were
/// read before.
fn last(
    context: &mut Context,
    (journals, opened): (&[&'static Journal], &[Opened]),
    filter: &Filter,
    most: usize,
) -> Result<Vec<Seen>> {
    let mut last = Last::default();
    let seen = merged(journals, opened, filter, &mut |row| {
        last.take(row, most);
        Ok(true)
    })?;
    if !last.too_much {
        last.rows.iter().try_for_each(|row| tell(context, row))?;
        return Ok(seen);
    }
    let mut in_front = last.events.saturating_sub(most as u64);
    merged(journals, opened, filter, &mut |row| {
        match in_front {
            0 => tell(context, &row)?,
            _ => in_front -= 1,
        }
        Ok(!context.printer.gone())
    })?;
    Ok(seen)
}

/// Hands out the events of several journals, the earliest first; those of one journal in the order of its file. `take`
/// says whether it wants more.
fn merged(
    journals: &[&'static Journal],
    opened: &[Opened],
    filter: &Filter,
    take: &mut dyn FnMut(Row) -> Result<bool>,
) -> Result<Vec<Seen>> {
    let mut all: Vec<Seen> = journals.iter().map(|_| Seen::default()).collect();
    thread::scope(|scope| {
        let mut sources = Vec::new();
        for ((journal, opened), seen) in journals.iter().zip(opened).zip(&mut all) {
            let reader = Reader { journal, filter, clock: None };
            let mut reading = Reading { reader, opened, at: 0, seen };
            let more: More<'_> = if parallel::has_room() {
                let (sender, receiver) = sync_channel(WAITING);
                let read = move || {
                    while let Some(rows) = reading.more().transpose() {
                        let failed = rows.is_err();
                        // Where nobody wants more, nobody listens.
                        if sender.send(rows).is_err() || failed {
                            return;
                        }
                    }
                };
                let spawned = thread::Builder::new().spawn_scoped(scope, read);
                spawned.map_err(|e| Error::from_io("cannot start a thread", &e))?;
                Box::new(move || receiver.recv().ok().transpose())
            } else {
                Box::new(move || reading.more())
            };
            sources.push(Source { more, rows: VecDeque::new() });
        }
        loop {
            sources.iter_mut().try_for_each(Source::fill)?;
            let next = sources.iter_mut().filter(|source| !source.rows.is_empty());
            let next = next.min_by_key(|source| source.rows.front().map(|row| row.order));
            let Some(row) = next.and_then(|source| source.rows.pop_front()) else { return Ok(()) };
            if !take(row)? {
                return Ok(());
            }
        }
    })?;
    Ok(all)
}

/// Gets the next events of a journal; `None` behind its end.
type More<'m> = Box<dyn FnMut() -> Result<Option<Vec<Row>>> + 'm>;

/// The events of one journal, as they come.
struct Source<'m> {
    more: More<'m>,
    rows: VecDeque<Row>,
}

impl Source<'_> {
    /// Sees to it that the next event is there, where there is one.
    fn fill(&mut self) -> Result<()> {
        while self.rows.is_empty() {
            match (self.more)()? {
                Some(rows) => self.rows = rows.into(),
                None => break,
            }
        }
        Ok(())
    }
}

/// One journal that is read stretch by stretch.
struct Reading<'r> {
    reader: Reader<'r>,
    opened: &'r Opened,
    /// Where the next line begins.
    at: u64,
    seen: &'r mut Seen,
}

impl Reading<'_> {
    /// The events of the next stretch that are wanted; `None` behind the last.
    fn more(&mut self) -> Result<Option<Vec<Row>>> {
        let Reading { reader, opened, at, seen } = self;
        if *at >= opened.len {
            return Ok(None);
        }
        let lines_until = at.saturating_add(STRETCH);
        let stretch =
            Stretch { from: *at, lines_before: seen.totals.lines, lines_until, ..Stretch::whole(opened.len) };
        let mut rows = Vec::new();
        let more = opened.scan_items(reader.journal, stretch, &mut |item| {
            reader.item(item, &mut |row| rows.push(row));
            Ok(())
        })?;
        // A file that was cut since it was opened has no more.
        *at = if more.totals.bytes == 0 { opened.len } else { *at + more.totals.bytes };
        seen.add(more);
        Ok(Some(rows))
    }
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
