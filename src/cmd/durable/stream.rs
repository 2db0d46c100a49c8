//! `cruxctl durable stream`: what happens to a session, as it happens.

use chrono::{DateTime, Utc};
use clap::Args;
use serde_json::json;

use super::join::wait_for_change;
use super::{Which, find, look, session};
use crate::cmd::Context;
use crate::error::{Code, Error, Result};
use crate::journal::replay::{self, Opened};
use crate::journal::scan::{Item, Stretch};
use crate::journal::table::Table;
use crate::render::{Format, Group, Value};
use crate::store::durable::events::{Event, Events, What};
use crate::store::durable::{JOURNAL, Session, State, identity, rules};

/// Arguments of `durable stream`.
#[derive(Args, Debug)]
pub struct Stream {
    /// Which session.
    #[command(flatten)]
    pub which: Which,
    /// Only events behind the one with this cursor
    #[arg(long, value_name = "CURSOR")]
    pub after: Option<String>,
    /// At most this many events, the snapshot not counted
    #[arg(long, value_name = "N")]
    pub limit: Option<u64>,
    /// Go on with what happens from now on, until the session is closed or the reader goes away
    #[arg(short, long)]
    pub follow: bool,
}

/// What is said of each event.
pub const STREAMED: &[Group] = &[Group {
    name: "events",
    one: "event",
    columns: &[
        "id",
        "cursor",
        "kind",
        "session_id",
        "occurred_at",
        "schema_version",
        "reason",
        "status",
        "input_id",
        "input_cursor",
        "source",
        "step_index",
        "work_id",
    ],
    shown: &["occurred_at", "cursor", "kind", "reason", "input_cursor", "source"],
    blocks: false,
}];

/// The events of a session that are there, from the first behind which none is missing.
#[derive(Clone, Copy, Debug)]
struct Retained {
    /// The cursor of the first of them.
    from: u64,
    /// The cursor of the last of them.
    to: u64,
}

/// Runs the verb.
pub fn run(context: &mut Context, args: &Stream) -> Result<()> {
    if args.follow && context.printer.format() == Format::Json {
        let message = "one JSON object has an end, and --follow has none";
        return Err(Error::new(Code::UsageArguments, message).hint("give --format jsonl"));
    }
    context.printer.prefer(Format::Jsonl);
    let mut table = context.table(&JOURNAL, true)?;
    let found = find(&mut table, &args.which)?;
    let session_id = &*found.session_id;
    // It is read along beside the table, in which inputs are looked up.
    let mut opened = replay::open(&context.dir, &JOURNAL)?;
    let mut retained = Retained { from: 1, to: 0 };
    each(&opened, Stretch::whole(opened.len), session_id, &mut |events| {
        if events.first <= events.last {
            if events.first != retained.to + 1 {
                retained.from = events.first;
            }
            retained.to = events.last;
        }
        Ok(())
    })?;
    let wanted = match &args.after {
        None => None,
        // Behind the last one that is gone, nothing is missing.
        Some(text) => text.parse::<u64>().ok().filter(|at| (retained.from..=retained.to + 1).contains(&(at + 1))),
    };
    let reason = match (&args.after, wanted) {
        (None, _) => Some("initial"),
        (Some(_), None) => Some("cursor-expired"),
        (Some(_), Some(_)) => None,
    };
    context.printer.begin("cruxctl.durable.stream.v1", STREAMED)?;
    if let Some(reason) = reason {
        snapshot(context, &found, reason)?;
    }
    let mut left = args.limit.unwrap_or(u64::MAX);
    let mut last = wanted.unwrap_or(retained.from - 1);
    let (mut stretch, mut ended) = (Stretch::whole(opened.len), false);
    loop {
        each(&opened, stretch, session_id, &mut |events| {
            for event in events.behind(last) {
                if left == 0 || context.printer.gone() {
                    break;
                }
                // What a compaction has dropped before it was told is made up for.
                if event.cursor > last + 1
                    && let Some(now) = session(&mut table, session_id)?
                {
                    snapshot(context, &now, "cursor-expired")?;
                }
                (left, last) = (left - 1, event.cursor);
                ended |= matches!(event.what, What::Status(state) if is_over(state));
                tell(context, &mut table, session_id, &event)?;
            }
            Ok(())
        })?;
        // What has ended has no further events, also where its end was told before.
        ended |= session(&mut table, session_id)?.is_none_or(|now| is_over(now.state));
        if !args.follow || left == 0 || ended || context.printer.gone() {
            break;
        }
        context.printer.pause()?;
        if !wait_for_change(context, &opened, None) {
            break;
        }
        // The table first: of what has ended by it, the end is told below.
        table = Table::open(&context.dir, &JOURNAL, false)?;
        let now = replay::open(&context.dir, &JOURNAL)?;
        // In a journal that was compacted, cursors say what is new.
        stretch = now.grown_from(&opened)?.unwrap_or(Stretch::whole(now.len));
        opened = now;
    }
    context.printer.end()
}

/// Whether a stream ends with this state.
fn is_over(state: State) -> bool {
    matches!(state, State::Closed | State::Killed | State::Deleted)
}

/// What takes the events of a line.
type Take<'t> = dyn FnMut(&Events<'_>) -> Result<()> + 't;

/// Hands out the events of a session that lie in a stretch of the journal.
fn each(opened: &Opened, stretch: Stretch, session_id: &str, take: &mut Take<'_>) -> Result<()> {
    opened.scan_items(&JOURNAL, stretch, &mut |item| {
        let Item::Record(record) = item else { return Ok(()) };
        if record.event.record.text("session_id").is_none_or(|id| id != session_id) {
            return Ok(());
        }
        let session = record.event.members.raw("session").and_then(Session::read);
        session.map_or(Ok(()), |session| take(&Events::of(record.event, &session)))
    })?;
    Ok(())
}

/// A line of the stream, by its columns.
#[derive(Default)]
struct Told<'a> {
    id: &'a str,
    cursor: u64,
    kind: &'static str,
    session_id: &'a str,
    occurred_at: DateTime<Utc>,
    reason: Option<&'static str>,
    status: Option<String>,
    input_id: Option<&'a str>,
    input_cursor: Option<u64>,
    source: Option<&'static str>,
    step_index: Option<u64>,
    work_id: Option<&'a str>,
}

impl Told<'_> {
    fn tell(&self, context: &mut Context) -> Result<()> {
        let cells = [
            Value::text(self.id),
            Value::text(self.cursor.to_string()),
            Value::text(self.kind),
            Value::text(self.session_id),
            Value::Time(self.occurred_at),
            Value::Count(1),
            Value::maybe(self.reason),
            self.status.as_ref().map_or(Value::Absent, |json| Value::Json(json.as_bytes())),
            Value::maybe(self.input_id),
            Value::maybe(self.input_cursor.map(|cursor| cursor.to_string())),
            Value::maybe(self.source),
            self.step_index.map_or(Value::Absent, Value::Count),
            Value::maybe(self.work_id),
        ];
        context.printer.row(0, &[self.id], &cells)
    }
}

/// Where the session stands, in the place of all that has happened before.
fn snapshot(context: &mut Context, session: &Session, reason: &'static str) -> Result<()> {
    let members = look::standing(session).into_iter().filter_map(|(name, value)| {
        let json = match value {
            Value::Count(count) => json!(count),
            Value::Text(text) => json!(text),
            _ => return None,
        };
        Some((name.to_owned(), json))
    });
    let told = Told {
        id: &format!("session.snapshot:{}:{}", session.session_id, session.events),
        cursor: session.events,
        kind: "session.snapshot",
        session_id: &session.session_id,
        occurred_at: session.updated_at,
        reason: Some(reason),
        status: Some(serde_json::Value::Object(members.collect()).to_string()),
        ..Told::default()
    };
    told.tell(context)
}

/// Tells an event.
fn tell(context: &mut Context, table: &mut Table, session_id: &str, event: &Event) -> Result<()> {
    let Event { id, cursor, occurred_at, what } = event;
    let (kind, state) = (what.kind(), |state: &str| Some(json!({ "state": state }).to_string()));
    let told = Told { id, cursor: *cursor, kind, session_id, occurred_at: *occurred_at, ..Told::default() };
    let last_id;
    let told = match what {
        // Of a stream a session that has ended is closed, however it did.
        What::Status(now) => Told {
            status: state(match now {
                State::Ready => "parked",
                State::Closing => "closing",
                State::Closed | State::Killed | State::Deleted => "closed",
            }),
            ..told
        },
        What::Accepted { input_id, cursor } => {
            let source = came_from(table, input_id)?;
            Told { input_id: Some(input_id), input_cursor: Some(*cursor), source, ..told }
        }
        What::Delivered { input_id, cursor, work_id } => {
            let (source, step_index, work_id) = (came_from(table, input_id)?, Some(0), Some(work_id.as_str()));
            Told { input_id: Some(input_id), input_cursor: Some(*cursor), source, step_index, work_id, ..told }
        }
        What::Finished { work_id, last, .. } => {
            last_id = identity::input(session_id, *last);
            Told { input_id: Some(&last_id), input_cursor: Some(*last), work_id: Some(work_id), ..told }
        }
        What::Changed { work_id, progress } => {
            Told { status: state(progress.name()), work_id: Some(work_id), ..told }
        }
    };
    told.tell(context)
}

/// Where an input came from, as far as the journal still has it.
fn came_from(table: &mut Table, input_id: &str) -> Result<Option<&'static str>> {
    Ok(table.look(|live| rules::input(live, input_id))?.map(|known| known.source.name()))
}
