//! `cruxctl durable stream`: what happens to a session, as it happens.

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

/// Where the session stands, in the place of all that has happened before.
fn snapshot(context: &mut Context, session: &Session, reason: &str) -> Result<()> {
    let members = look::standing(session).map(|(name, value)| {
        let json = match value {
            Value::Count(count) => json!(count),
            Value::Text(text) => json!(text),
            _ => json!(null),
        };
        (name.to_owned(), json)
    });
    let status =
        serde_json::Value::Object(members.into_iter().filter(|(_, json)| !json.is_null()).collect()).to_string();
    let id = format!("session.snapshot:{}:{}", session.session_id, session.events);
    let cells = [
        Value::text(&*id),
        Value::text(session.events.to_string()),
        Value::text("session.snapshot"),
        Value::text(&*session.session_id),
        Value::Time(session.updated_at),
        Value::Count(1),
        Value::text(reason),
        Value::Json(status.as_bytes()),
        Value::Absent,
        Value::Absent,
        Value::Absent,
        Value::Absent,
        Value::Absent,
    ];
    context.printer.row(0, &[&id], &cells)
}

/// Tells an event.
fn tell(context: &mut Context, table: &mut Table, session_id: &str, event: &Event) -> Result<()> {
    let (mut status, mut input, mut source, mut step, mut work) =
        (Value::Absent, (Value::Absent, Value::Absent), Value::Absent, Value::Absent, Value::Absent);
    let state;
    match &event.what {
        What::Status(now) => {
            // Of a stream a session that has ended is closed, however it did.
            let shown = match now {
                State::Ready => "parked",
                State::Closing => "closing",
                State::Closed | State::Killed | State::Deleted => "closed",
            };
            state = json!({ "state": shown }).to_string();
            status = Value::Json(state.as_bytes());
        }
        What::Accepted { input_id, cursor } => {
            input = (Value::text(&**input_id), Value::text(cursor.to_string()));
            source = came_from(table, input_id)?;
        }
        What::Delivered { input_id, cursor, work_id } => {
            input = (Value::text(&**input_id), Value::text(cursor.to_string()));
            source = came_from(table, input_id)?;
            step = Value::Count(0);
            work = Value::text(&**work_id);
        }
        What::Finished { work_id, last, .. } => {
            input = (Value::text(identity::input(session_id, *last)), Value::text(last.to_string()));
            work = Value::text(&**work_id);
        }
        What::Changed { work_id, progress } => {
            state = json!({ "state": progress.name() }).to_string();
            status = Value::Json(state.as_bytes());
            work = Value::text(&**work_id);
        }
    }
    let cells = [
        Value::text(&*event.id),
        Value::text(event.cursor.to_string()),
        Value::text(event.what.kind()),
        Value::text(session_id),
        Value::Time(event.occurred_at),
        Value::Count(1),
        Value::Absent,
        status,
        input.0,
        input.1,
        source,
        step,
        work,
    ];
    context.printer.row(0, &[&event.id], &cells)
}

/// Where an input came from, as far as the journal still has it.
fn came_from(table: &mut Table, input_id: &str) -> Result<Value<'static>> {
    let known = table.look(|live| rules::input(live, input_id))?;
    Ok(known.map_or(Value::Absent, |known| Value::text(known.source.name())))
}
