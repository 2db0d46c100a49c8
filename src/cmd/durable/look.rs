//! `cruxctl durable status`, `inspect`, `stats`, `list` and `forks`: where sessions stand. No payload is shown, and none
//! is read but where it lies beside what is shown.

use chrono::{DateTime, Utc};
use clap::Args;
use serde_json::json;

use super::open::forked_from;
use super::{Which, cursor, find};
use crate::cmd::Context;
use crate::cmd::complete::{Durable, Offers};
use crate::error::Result;
use crate::journal::table::Table;
use crate::render::{Group, Value};
use crate::store::durable::compact::ATTRIBUTED;
use crate::store::durable::rules::{KnownInput, Outcome};
use crate::store::durable::{JOURNAL, Progress, Session, State, Work, identity, rules};
use crate::store::time_text;

/// Arguments of `durable status`.
#[derive(Args, Debug)]
pub struct Status {
    /// Which session.
    #[command(flatten)]
    pub which: Which,
}

/// Arguments of `durable inspect`.
#[derive(Args, Debug)]
pub struct Inspect {
    /// Which session.
    #[command(flatten)]
    pub which: Which,
}

/// Arguments of `durable stats`.
#[derive(Args, Debug)]
pub struct Stats {
    /// Which session.
    #[command(flatten)]
    pub which: Which,
}

/// Arguments of `durable list`.
#[derive(Args, Debug)]
pub struct List {
    /// Only sessions of this agent or flow
    #[arg(long, value_name = "TARGET", add = Offers::Durable(Durable::Targets))]
    pub target: Option<String>,
    /// Only sessions that stand like this
    #[arg(long, value_name = "STATUS", value_parser = ["parked", "running", "blocked", "closing", "closed"])]
    pub status: Option<String>,
    /// Those as well of which nothing is left but that they were there
    #[arg(long)]
    pub deleted: bool,
    /// At most this many
    #[arg(long, value_name = "N")]
    pub limit: Option<u64>,
}

/// Arguments of `durable forks`.
#[derive(Args, Debug)]
pub struct Forks {
    /// Which session.
    #[command(flatten)]
    pub which: Which,
}

/// How many of the newest inputs are shown.
const SHOWN: u64 = 64;

/// What is shown of each input.
pub const INSPECTED: &[Group] = &[Group {
    name: "inputs",
    one: "input",
    columns: &["id", "cursor", "state", "work_id", "checkpoint_prepared", "delivery"],
    shown: &["cursor", "state", "id", "work_id"],
    blocks: false,
}];

/// What is counted of each input.
pub const COUNTED: &[Group] = &[Group {
    name: "inputs",
    one: "input",
    columns: &["id", "cursor", "accepted", "deduplicated", "delivered"],
    shown: &["cursor", "id", "accepted", "deduplicated", "delivered"],
    blocks: false,
}];

/// What a list says of each session.
pub const LISTED: &[Group] = &[Group {
    name: "sessions",
    one: "session",
    columns: &[
        "id",
        "target_kind",
        "target_id",
        "namespace",
        "key",
        "status",
        "accepted_cursor",
        "processed_cursor",
        "pending_inputs",
        "pending_work",
        "updated_at",
    ],
    shown: &["id", "target_id", "key", "status", "pending_inputs", "updated_at"],
    blocks: false,
}];

/// What is said of each child.
pub const FORKS: &[Group] =
    &[Group { name: "sessions", one: "session", columns: &["id", "forked_from"], shown: &[], blocks: false }];

/// Runs `durable status`.
pub fn status(context: &mut Context, args: &Status) -> Result<()> {
    let mut table = context.table(&JOURNAL, true)?;
    let found = find(&mut table, &args.which)?;
    context.printer.begin("cruxctl.durable.status.v1", &[])?;
    context.printer.fields(None, &standing(&found))?;
    context.printer.end()
}

/// Where a session stands.
pub(super) fn standing(session: &Session) -> [(&'static str, Value<'static>); 5] {
    [
        ("state", Value::text(session.status().name())),
        ("accepted_cursor", cursor(session.accepted)),
        ("processed_cursor", cursor(session.processed)),
        ("pending_inputs", Value::Count(session.pending_inputs())),
        ("pending_work", Value::Count(session.pending_work())),
    ]
}

/// An input as far as it is shown.
struct Shown {
    id: String,
    cursor: u64,
    state: &'static str,
    work_id: Option<String>,
    prepared: bool,
    delivered: bool,
    delivered_at: Option<DateTime<Utc>>,
    repeats: u64,
}

/// What is known of an input.
fn shown(table: &mut Table, session: &Session, cursor: u64) -> Result<Shown> {
    let id = identity::input(&session.session_id, cursor);
    let known = table.look(|live| rules::input(live, &id))?;
    let KnownInput { outcome, first, repeats, .. } = known.unwrap_or_default();
    let of_first = |first| {
        let first = identity::input(&session.session_id, first);
        Some(identity::work(&session.namespace, &session.session_id, &first).0)
    };
    let work: Option<&Work> = session.work.as_ref().filter(|work| work.first <= cursor && cursor <= work.last);
    let (state, work_id) = match (outcome, work) {
        // A line was lost: the one with which it was accepted, or the one with which it was finished.
        _ if known.is_none() => ("lost", work.map(|work| work.work_id.clone())),
        (Outcome::None, _) if cursor <= session.processed => ("lost", None),
        (Outcome::Completed, _) => {
            let work_id = of_first(first);
            let result = table.look(|live| rules::work(live, work_id.as_deref().unwrap_or_default()))?;
            let is_there = result.is_some_and(|result| result.erased || result.result.len > 0);
            (if is_there { "completed" } else { "lost" }, work_id)
        }
        (Outcome::Failed, _) => ("failed", of_first(first)),
        (Outcome::None, Some(work)) => (work.progress.name(), Some(work.work_id.clone())),
        (Outcome::None, None) if session.state == State::Killed => ("dropped", None),
        (Outcome::None, None) => ("accepted", None),
    };
    let prepared = work.is_some_and(|work| work.prepared);
    // What was killed in a worker's hands had been given to one.
    let fenced = session
        .fenced_work_id
        .as_ref()
        .is_some_and(|fenced| of_first(session.processed + 1).as_ref() == Some(fenced));
    let delivered = work_id.is_some() || fenced && cursor <= session.processed + fenced_inputs(session);
    let delivered_at = work.and_then(|work| work.delivered_at);
    Ok(Shown { id, cursor, state, work_id, prepared, delivered, delivered_at, repeats })
}

impl Shown {
    /// Its delivery, where there was one: a command gets all of its inputs at once, before its first step.
    fn delivery(&self) -> Option<String> {
        let mut delivery = json!({ "step_index": 0, "reason": "initial" });
        if let Some(at) = self.delivered_at {
            delivery["delivered_at"] = json!(time_text(at));
        }
        self.delivered.then(|| delivery.to_string())
    }
}

/// How many inputs were in a worker's hands when a session was killed.
fn fenced_inputs(session: &Session) -> u64 {
    let unfinished = session.accepted - session.processed;
    unfinished.saturating_sub(session.statistics.dropped)
}

/// Runs `durable inspect`.
pub fn inspect(context: &mut Context, args: &Inspect) -> Result<()> {
    let mut table = context.table(&JOURNAL, true)?;
    let found = find(&mut table, &args.which)?;
    let first = found.accepted.saturating_sub(SHOWN) + 1;
    context.printer.begin("cruxctl.durable.inspect.v1", INSPECTED)?;
    for number in first..=found.accepted {
        let shown = shown(&mut table, &found, number)?;
        let delivery = shown.delivery();
        let cells = [
            Value::text(&*shown.id),
            cursor(shown.cursor),
            Value::text(shown.state),
            Value::maybe(shown.work_id.as_deref()),
            Value::Flag(shown.prepared),
            delivery.as_deref().map_or(Value::Absent, |json| Value::Json(json.as_bytes())),
        ];
        context.printer.row(0, &[&shown.id], &cells)?;
    }
    let prepared = found.work.as_ref().filter(|work| work.prepared);
    let checkpoint = prepared.map(|work| {
        let mut checkpoint =
            json!({ "input_id": identity::input(&found.session_id, work.first), "work_id": work.work_id });
        if let Some(at) = work.checkpointed_at {
            checkpoint["checkpointed_at"] = json!(time_text(at));
        }
        checkpoint.to_string()
    });
    let recovery = match prepared {
        Some(work) if !super::turn::is_prepared(&mut table, work)? => Some(
            json!({
                "code": "session_turn_result_artifact_unavailable",
                "next_step": "claim the work and complete it with a result, or fail it",
            })
            .to_string(),
        ),
        _ => None,
    };
    let coverage = json!({
        "inputs": if found.accepted > SHOWN { "truncated" } else { "complete" },
        "limit": SHOWN,
    })
    .to_string();
    let work = found.work.as_ref();
    let wake = work.is_none_or(|work| work.progress == Progress::Queued) && found.pending_work() > 0;
    context.printer.fields(
        None,
        &[
            ("id", Value::text(&*found.session_id)),
            ("target_id", Value::text(&*found.target_id)),
            ("thread_id", Value::text(&*found.thread_id)),
            ("wake_pending", Value::Flag(wake)),
            ("work_id", Value::maybe(work.map(|work| &*work.work_id))),
            ("work_state", Value::maybe(work.map(|work| work.progress.name()))),
            ("fence", work.map_or(Value::Absent, |work| Value::Count(work.fence))),
            ("claims", work.map_or(Value::Absent, |work| Value::Count(work.claims))),
            ("failures", work.map_or(Value::Absent, |work| Value::Count(work.failures))),
            ("worker", Value::maybe(work.and_then(|work| work.worker.as_deref()))),
            ("until", work.and_then(|work| work.until).map_or(Value::Absent, Value::Time)),
            ("blocker", Value::maybe(work.and_then(|work| work.blocker.as_deref()))),
            ("fenced_work_id", Value::maybe(found.fenced_work_id.as_deref())),
            ("checkpoint", checkpoint.as_deref().map_or(Value::Absent, |json| Value::Json(json.as_bytes()))),
            ("recovery", recovery.as_deref().map_or(Value::Absent, |json| Value::Json(json.as_bytes()))),
            ("coverage", Value::Json(coverage.as_bytes())),
        ],
    )?;
    context.printer.end()
}

/// Runs `durable stats`.
pub fn stats(context: &mut Context, args: &Stats) -> Result<()> {
    let mut table = context.table(&JOURNAL, true)?;
    let found = find(&mut table, &args.which)?;
    context.printer.begin("cruxctl.durable.stats.v1", COUNTED)?;
    for number in 1..=found.accepted.min(ATTRIBUTED) {
        let shown = shown(&mut table, &found, number)?;
        let cells = [
            Value::text(&*shown.id),
            cursor(shown.cursor),
            Value::Count(1),
            Value::Count(shown.repeats),
            Value::Count(u64::from(shown.delivered)),
        ];
        context.printer.row(0, &[&shown.id], &cells)?;
    }
    let counted = found.statistics;
    let progress = found.work.as_ref().map(|work| work.progress);
    // What nobody has claimed yet is queued as well.
    let queued = found.pending_work() > 0 && progress != Some(Progress::Running);
    let work = json!({
        "total": {
            "started": counted.started,
            "completed": counted.completed,
            "failed": counted.failed,
            "current": {
                "queued": u64::from(queued),
                "running": u64::from(progress == Some(Progress::Running)),
                "blocked": u64::from(progress == Some(Progress::Blocked)),
            },
        },
    })
    .to_string();
    let ingress = json!({
        "accepted": counted.accepted,
        "deduplicated": counted.deduplicated,
        "delivered": counted.delivered,
        "resumed": counted.resumed,
        "dropped": counted.dropped,
    })
    .to_string();
    context.printer.fields(
        None,
        &[
            ("id", Value::text(&*found.session_id)),
            ("version", Value::Count(1)),
            ("work", Value::Json(work.as_bytes())),
            ("ingress", Value::Json(ingress.as_bytes())),
        ],
    )?;
    context.printer.end()
}

/// Runs `durable list`.
pub fn list(context: &mut Context, args: &List) -> Result<()> {
    let mut table = context.table(&JOURNAL, true)?;
    let mut spans = table.spans()?;
    spans.reverse();
    let mut told = 0;
    context.printer.begin("cruxctl.durable.list.v1", LISTED)?;
    for span in spans {
        if context.printer.gone() || args.limit.is_some_and(|limit| told >= limit) {
            break;
        }
        let Some(found) = Session::read(&table.opened.read(span)?) else {
            context.without_it(&JOURNAL, &mut table)?;
            continue;
        };
        let status = if found.state == State::Deleted { "deleted" } else { found.status().name() };
        // One that is closing may be blocked as well, and then closes only when somebody unblocks it.
        let is = |wanted: &str| wanted == status || wanted == "blocked" && found.is_blocked();
        let shown = (args.deleted || found.state != State::Deleted)
            && args.target.as_ref().is_none_or(|target| *target == found.target_id)
            && args.status.as_deref().is_none_or(is);
        if !shown {
            continue;
        }
        told += 1;
        let cells = [
            Value::text(&*found.session_id),
            Value::text(found.target_kind.name()),
            Value::text(&*found.target_id),
            Value::text(&*found.namespace),
            Value::maybe(found.key.as_deref()),
            Value::text(status),
            cursor(found.accepted),
            cursor(found.processed),
            Value::Count(found.pending_inputs()),
            Value::Count(found.pending_work()),
            Value::Time(found.updated_at),
        ];
        context.printer.row(0, &[&found.session_id], &cells)?;
    }
    context.printer.end()
}

/// Runs `durable forks`.
pub fn forks(context: &mut Context, args: &Forks) -> Result<()> {
    let mut table = context.table(&JOURNAL, true)?;
    let parent = find(&mut table, &args.which)?;
    context.printer.begin("cruxctl.durable.forks.v1", FORKS)?;
    for span in table.spans()? {
        let Some(found) = Session::read(&table.opened.read(span)?) else {
            context.without_it(&JOURNAL, &mut table)?;
            continue;
        };
        let from = found.forked_from.as_ref();
        if found.state == State::Deleted || from.is_none_or(|from| from.session_id != parent.session_id) {
            continue;
        }
        let from = forked_from(&found);
        let cells = [Value::text(&*found.session_id), from.as_deref().map_or(Value::Absent, Value::Json)];
        context.printer.row(0, &[&found.session_id], &cells)?;
    }
    context.printer.end()
}
