//! `cruxctl durable claim` and what may follow it: a worker of one's own, step by step.

use std::path::PathBuf;
use std::time::Duration;

use chrono::{DateTime, TimeDelta, Utc};
use clap::Args;
use serde_json::value::RawValue;

use super::open::tell;
use super::{Which, checked, cursor, find_to_change, for_change, read_at, session_at, write};
use crate::cmd::{Context, input};
use crate::error::{Code, Error, Result};
use crate::journal::Span;
use crate::journal::table::{self, Table};
use crate::render::{Group, Value};
use crate::store::durable::{Claimable, Input, JOURNAL, Progress, Session, Work, identity, rules};

/// Arguments of `durable claim`.
#[derive(Args, Debug)]
pub struct Claim {
    /// Which session.
    #[command(flatten)]
    pub which: Which,
    /// For how long nobody else gets the work
    #[arg(long, value_name = "TIME", default_value = "5m", value_parser = humantime::parse_duration)]
    pub lease: Duration,
    /// Who claims it, for whoever looks in
    #[arg(long, value_name = "NAME")]
    pub worker: Option<String>,
    /// Say what would be done and do nothing
    #[arg(long)]
    pub dry_run: bool,
}

/// Which work, and that it is one's own.
#[derive(Args, Debug)]
pub struct Held {
    /// The work's id
    #[arg(long, value_name = "WORK")]
    pub work: String,
    /// The fence that the claim has printed
    #[arg(long, value_name = "FENCE")]
    pub fence: u64,
    /// Say what would be done and do nothing
    #[arg(long)]
    pub dry_run: bool,
}

/// Arguments of `durable renew`.
#[derive(Args, Debug)]
pub struct Renew {
    /// Which work.
    #[command(flatten)]
    pub held: Held,
    /// For how long from now on nobody else gets the work
    #[arg(long, value_name = "TIME", default_value = "5m", value_parser = humantime::parse_duration)]
    pub lease: Duration,
}

/// Arguments of `durable release`.
#[derive(Args, Debug)]
pub struct Release {
    /// Which work.
    #[command(flatten)]
    pub held: Held,
    /// Nobody may claim it for so long
    #[arg(long, value_name = "TIME", value_parser = humantime::parse_duration)]
    pub delay: Option<Duration>,
}

/// Arguments of `durable checkpoint`.
#[derive(Args, Debug)]
pub struct Checkpoint {
    /// Which work.
    #[command(flatten)]
    pub held: Held,
    /// Read the result from this file instead of standard input
    #[arg(long, value_name = "FILE", value_hint = clap::ValueHint::FilePath)]
    pub file: Option<PathBuf>,
}

/// Arguments of `durable complete`.
#[derive(Args, Debug)]
pub struct Complete {
    /// Which work.
    #[command(flatten)]
    pub held: Held,
    /// Read the result from this file instead of standard input
    #[arg(long, value_name = "FILE", value_hint = clap::ValueHint::FilePath, conflicts_with = "prepared")]
    pub file: Option<PathBuf>,
    /// Commit the result that is on disk already
    #[arg(long)]
    pub prepared: bool,
}

/// Arguments of `durable fail`.
#[derive(Args, Debug)]
pub struct Fail {
    /// Which work.
    #[command(flatten)]
    pub held: Held,
    /// Why, for whoever asks for the result
    #[arg(long, value_name = "TEXT", default_value = "the worker has failed it")]
    pub reason: String,
}

/// Arguments of `durable block`.
#[derive(Args, Debug)]
pub struct Block {
    /// Which work.
    #[command(flatten)]
    pub held: Held,
    /// What is in its way, for whoever looks in
    #[arg(long, value_name = "TEXT", default_value = "the worker has blocked it")]
    pub reason: String,
}

/// Arguments of `durable unblock`.
#[derive(Args, Debug)]
pub struct Unblock {
    /// Which session.
    #[command(flatten)]
    pub which: Which,
    /// Say what would be done and do nothing
    #[arg(long)]
    pub dry_run: bool,
}

/// What is said of a claim: the work, then its inputs.
pub const CLAIMED: &[Group] = &[
    Group {
        name: "works",
        one: "work",
        columns: &[
            "work_id",
            "fence",
            "session_id",
            "effect_id",
            "first_cursor",
            "last_cursor",
            "claims",
            "prepared",
            "lease_until",
            "dry_run",
        ],
        shown: &["work_id", "fence", "first_cursor", "last_cursor", "lease_until"],
        blocks: false,
    },
    Group {
        name: "inputs",
        one: "input",
        columns: &["id", "cursor", "source", "accepted_at", "payload"],
        shown: &["cursor", "id", "payload"],
        blocks: false,
    },
];

/// What is said of work that has changed.
pub const CHANGED: &[Group] = &[Group {
    name: "works",
    one: "work",
    columns: &["work_id", "action", "session_id", "state", "processed_cursor", "lease_until", "dry_run"],
    shown: &["work_id", "action", "state", "processed_cursor"],
    blocks: false,
}];

/// The longest text that says why something is so, in bytes.
const LONGEST_REASON: usize = 1024;

/// A moment so long from now on.
pub(super) fn from_now(now: DateTime<Utc>, time: Duration, flag: &str) -> Result<DateTime<Utc>> {
    let at = TimeDelta::from_std(time).ok().and_then(|time| now.checked_add_signed(time));
    at.filter(|at| chrono::Datelike::year(at) <= 9999)
        .ok_or_else(|| Error::new(Code::UsageArguments, format!("{flag} is longer than time can be told")))
}

/// Refuses a reason that nobody could read.
pub(super) fn check_reason(text: &str) -> Result<()> {
    if text.len() <= LONGEST_REASON && !text.chars().any(char::is_control) {
        return Ok(());
    }
    let message = format!("--reason holds a control character or more than {LONGEST_REASON} bytes");
    Err(Error::new(Code::UsageArguments, message))
}

/// Runs `durable claim`.
pub fn claim(context: &mut Context, args: &Claim) -> Result<()> {
    if let Some(worker) = &args.worker {
        let why = worker.starts_with("w_").then(|| "names that begin with w_ belong to durable work".to_owned());
        input::check_new("worker", worker, why)?;
    }
    let (lock, mut table) = for_change(context, args.dry_run)?;
    let mut session = find_to_change(&mut table, &args.which)?;
    let now = context.env.now();
    let why = match session.claimable() {
        Claimable::Nothing => Some("nothing waits".to_owned()),
        Claimable::Blocked => Some("its work is blocked".to_owned()),
        Claimable::From(Some(at)) if at > now => Some(format!("its work waits until {}", text(at))),
        Claimable::Held(Some(until)) if until > now => Some(format!("a worker has it until {}", text(until))),
        Claimable::From(_) | Claimable::Held(_) => None,
    };
    if let Some(why) = why {
        let message = format!("there is nothing to claim of session {}: {why}", session.session_id);
        return Err(Error::new(Code::NoSessionWork, message));
    }
    let until = from_now(now, args.lease, "--lease")?;
    session.claim(args.worker.clone(), until, now);
    if let Some(work) = &session.work {
        check_inputs(&mut table, &session, work)?;
    }
    write(context, lock.as_ref(), table, session.line("claim"))?;
    drop(lock);
    tell_claim(context, &session, args.dry_run)
        .map_err(|error| error.after(!args.dry_run, "the work is claimed until its lease ends"))
}

/// A moment in words.
pub(super) fn text(at: DateTime<Utc>) -> String {
    at.to_rfc3339_opts(chrono::SecondsFormat::Secs, true)
}

/// Where an input of a session lies.
fn place_of(table: &mut Table, id: &str) -> Result<Span> {
    let known = rules::input(&mut table.live, id);
    checked(table)?;
    known.map(|known| known.place).ok_or_else(|| {
        let message = format!("{} has no input {id}, which it says was accepted", JOURNAL.file);
        Error::new(Code::RefusedDamage, message).hint("cruxctl journal check durable")
    })
}

/// Refuses to begin work of which an input is not there.
pub(super) fn check_inputs(table: &mut Table, session: &Session, work: &Work) -> Result<()> {
    (work.first..=work.last)
        .try_for_each(|cursor| place_of(table, &identity::input(&session.session_id, cursor)).map(|_| ()))
}

/// Hands out the inputs of work, in order, one at a time.
pub(super) fn each_input(
    table: &mut Table,
    session: &Session,
    work: &Work,
    take: &mut dyn FnMut(Input) -> Result<()>,
) -> Result<()> {
    for cursor in work.first..=work.last {
        let id = identity::input(&session.session_id, cursor);
        let place = place_of(table, &id)?;
        let mut again = |table: &mut Table| rules::input(&mut table.live, &id).map(|known| known.place);
        let input = read_at(table, place, Input::read, &mut again)?;
        if input.input_id != id {
            return Err(table::rewritten(&JOURNAL));
        }
        take(input)?;
    }
    Ok(())
}

fn tell_claim(context: &mut Context, session: &Session, dry_run: bool) -> Result<()> {
    let Some(work) = &session.work else { return Ok(()) };
    let first = identity::input(&session.session_id, work.first);
    let (_, effect) = identity::work(&session.namespace, &session.session_id, &first);
    let cells = [
        Value::text(&*work.work_id),
        Value::Count(work.fence),
        Value::text(&*session.session_id),
        Value::text(effect),
        cursor(work.first),
        cursor(work.last),
        Value::Count(work.claims),
        Value::Flag(work.prepared),
        work.until.map_or(Value::Absent, Value::Time),
        Value::Flag(dry_run),
    ];
    context.printer.begin("cruxctl.durable.claim.v1", CLAIMED)?;
    context.printer.row(0, &[&work.work_id], &cells)?;
    let mut table = Table::open(&context.dir, &JOURNAL, false)?;
    each_input(&mut table, session, work, &mut |input| {
        let cells = [
            Value::text(&*input.input_id),
            cursor(input.cursor),
            Value::text(input.source.name()),
            Value::Time(input.accepted_at),
            input.payload.as_ref().map_or(Value::Absent, |payload| Value::Json(payload.get().as_bytes())),
        ];
        context.printer.row(1, &[], &cells)
    })?;
    context.printer.end()
}

/// The session whose work it is.
pub(super) fn session_of(table: &mut Table, work_id: &str) -> Result<Session> {
    let work = rules::work(&mut table.live, work_id);
    checked(table)?;
    let found = work.map_or(Ok(None), |work| session_at(table, work.session))?;
    found.ok_or_else(|| Error::new(Code::NoSessionWork, format!("there is no work {work_id:?}")))
}

/// What somebody who holds work does to it: the line, from the session as it is afterwards.
type Step<'s> = dyn FnMut(&mut Session, DateTime<Utc>) -> Result<Vec<u8>> + 's;

/// Does something to work that somebody holds.
fn step(
    context: &mut Context,
    held: &Held,
    (action, schema): (&'static str, &'static str),
    step: &mut Step<'_>,
) -> Result<()> {
    let (lock, mut table) = for_change(context, held.dry_run)?;
    let mut session = session_of(&mut table, &held.work)?;
    let now = context.env.now();
    session.held(&held.work, held.fence, now)?;
    let line = step(&mut session, now)?;
    write(context, lock.as_ref(), table, line)?;
    tell_step(context, &session, &held.work, (action, schema), held.dry_run)
}

fn tell_step(
    context: &mut Context,
    session: &Session,
    work_id: &str,
    (action, schema): (&'static str, &'static str),
    dry_run: bool,
) -> Result<()> {
    let until = session.work.as_ref().filter(|work| work.progress == Progress::Running).and_then(|work| work.until);
    let cells = [
        Value::text(work_id),
        Value::text(action),
        Value::text(&*session.session_id),
        Value::text(session.status().name()),
        cursor(session.processed),
        until.map_or(Value::Absent, Value::Time),
        Value::Flag(dry_run),
    ];
    let told = tell(context, schema, CHANGED, work_id, &cells);
    told.map_err(|error| error.after(!dry_run, &format!("{action} of {work_id} is done")))
}

/// Runs `durable renew`.
pub fn renew(context: &mut Context, args: &Renew) -> Result<()> {
    step(context, &args.held, ("renew", "cruxctl.durable.renew.v1"), &mut |session, now| {
        renewed(session, from_now(now, args.lease, "--lease")?, now)
    })
}

/// Holds on to work until another moment.
pub(super) fn renewed(session: &mut Session, until: DateTime<Utc>, now: DateTime<Utc>) -> Result<Vec<u8>> {
    if let Some(work) = &mut session.work {
        work.until = Some(until);
    }
    session.updated_at = now;
    Ok(session.line("renew"))
}

/// Runs `durable release`.
pub fn release(context: &mut Context, args: &Release) -> Result<()> {
    step(context, &args.held, ("release", "cruxctl.durable.release.v1"), &mut |session, now| {
        let at = args.delay.map(|delay| from_now(now, delay, "--delay")).transpose()?;
        Ok(released(session, at, now))
    })
}

/// Gives work back, to be claimed from a moment on.
pub(super) fn released(session: &mut Session, at: Option<DateTime<Utc>>, now: DateTime<Utc>) -> Vec<u8> {
    if let Some(work) = &mut session.work {
        (work.progress, work.until, work.worker) = (Progress::Queued, at, None);
    }
    session.updated_at = now;
    session.line("release")
}

/// Reads a result: one JSON value.
fn result_of(file: Option<&std::path::Path>) -> Result<Box<RawValue>> {
    let hint = "pipe it in: COMMAND | cruxctl durable complete --work WORK --fence FENCE";
    let most = input::most_state_bytes(None)?;
    let (text, name) = input::bytes(file, most, "the result is", hint)?;
    let text = text.ok_or_else(|| {
        Error::new(Code::RefusedTooLarge, format!("{name} has more than {most} bytes"))
            .hint("raise the limit: CRUXCTL_MAX_STATE_BYTES=33554432")
    })?;
    output(&text).map_err(|why| Error::new(Code::UsageNotJson, format!("{name} is not one JSON value: {why}")))
}

/// What is kept of a result: its tokens. An error says why it is none.
pub(super) fn output(text: &[u8]) -> std::result::Result<Box<RawValue>, String> {
    crate::journal::json::whole(text, 0).map_err(|fail| format!("{}, at byte {}", fail.why, fail.at))?;
    let mut line = Vec::with_capacity(text.len());
    crate::journal::json::Squeeze::default().squeeze(text, &mut line);
    let line = String::from_utf8(line).map_err(|_| "not UTF-8".to_owned())?;
    RawValue::from_string(line).map_err(|error| error.to_string())
}

/// Runs `durable checkpoint`.
pub fn checkpoint(context: &mut Context, args: &Checkpoint) -> Result<()> {
    let output = result_of(args.file.as_deref())?;
    step(context, &args.held, ("checkpoint", "cruxctl.durable.checkpoint.v1"), &mut |session, now| {
        let work_id = args.held.work.as_str();
        if let Some(work) = session.work.as_mut().filter(|work| !work.prepared) {
            work.prepared = true;
            session.updated_at = now;
            return Ok(session.checkpoint_line(work_id, &output));
        }
        let message = format!("the result of {work_id} is prepared already, and the first one counts");
        Err(Error::new(Code::RefusedExists, message)
            .hint(format!("cruxctl durable complete --work {work_id} --fence {} --prepared", args.held.fence)))
    })
}

/// Runs `durable complete`.
pub fn complete(context: &mut Context, args: &Complete) -> Result<()> {
    let output = match args.prepared {
        true => None,
        false => Some(result_of(args.file.as_deref())?),
    };
    step(context, &args.held, ("complete", "cruxctl.durable.complete.v1"), &mut |session, now| {
        completed(session, output.as_deref(), now)
    })
}

/// Completes the work that is under way; without an output the one that is prepared counts.
pub(super) fn completed(session: &mut Session, output: Option<&RawValue>, now: DateTime<Utc>) -> Result<Vec<u8>> {
    let prepared = session.work.as_ref().is_some_and(|work| work.prepared);
    let work = session.work.as_ref().map(|work| work.work_id.clone()).unwrap_or_default();
    match (prepared, output) {
        (true, Some(_)) => {
            let message = format!("the result of {work} is prepared already, and the first one counts");
            return Err(Error::new(Code::RefusedExists, message).hint("give --prepared instead of a result"));
        }
        (false, None) => {
            return Err(Error::new(Code::NoSessionWork, format!("no result of {work} is prepared")));
        }
        _ => {}
    }
    let done = session.complete(now);
    Ok(done.map_or_else(Vec::new, |work| session.complete_line(&work.work_id, (work.first, work.last), output)))
}

/// Runs `durable fail`.
pub fn fail(context: &mut Context, args: &Fail) -> Result<()> {
    check_reason(&args.reason)?;
    step(context, &args.held, ("fail", "cruxctl.durable.fail.v1"), &mut |session, now| {
        Ok(failed(session, &args.reason, now))
    })
}

/// Fails the work that is under way, for good.
pub(super) fn failed(session: &mut Session, reason: &str, now: DateTime<Utc>) -> Vec<u8> {
    let done = session.fail(now);
    done.map_or_else(Vec::new, |work| session.fail_line(&work.work_id, (work.first, work.last), reason))
}

/// Runs `durable block`.
pub fn block(context: &mut Context, args: &Block) -> Result<()> {
    check_reason(&args.reason)?;
    step(context, &args.held, ("block", "cruxctl.durable.block.v1"), &mut |session, now| {
        Ok(blocked(session, &args.reason, now))
    })
}

/// Blocks the work that is under way.
pub(super) fn blocked(session: &mut Session, reason: &str, now: DateTime<Utc>) -> Vec<u8> {
    if let Some(work) = &mut session.work {
        (work.progress, work.until, work.worker) = (Progress::Blocked, None, None);
        work.blocker = Some(reason.to_owned());
    }
    session.updated_at = now;
    session.line("block")
}

/// Runs `durable unblock`.
pub fn unblock(context: &mut Context, args: &Unblock) -> Result<()> {
    let (lock, mut table) = for_change(context, args.dry_run)?;
    let mut session = find_to_change(&mut table, &args.which)?;
    let now = context.env.now();
    let work = session.work.as_mut().filter(|work| work.progress == Progress::Blocked);
    let Some(work) = work else {
        let message = format!("session {} has no work that is blocked", session.session_id);
        return Err(Error::new(Code::NoSessionWork, message));
    };
    (work.progress, work.until, work.blocker) = (Progress::Queued, None, None);
    let work_id = work.work_id.clone();
    session.updated_at = now;
    write(context, lock.as_ref(), table, session.line("unblock"))?;
    tell_step(context, &session, &work_id, ("unblock", "cruxctl.durable.unblock.v1"), args.dry_run)
}
