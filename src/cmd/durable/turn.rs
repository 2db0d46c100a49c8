//! `cruxctl durable claim` and what may follow it: a worker of one's own, step by step.

use std::path::PathBuf;
use std::time::Duration;

use chrono::{DateTime, TimeDelta, Utc};
use clap::Args;
use serde_json::value::RawValue;

use super::open::tell;
use super::worker::is_free;
use super::{Which, cursor, find_to_change, for_change, input_of, missing, session_at, write};
use crate::cmd::complete::{Durable, Offers};
use crate::cmd::{Context, input};
use crate::error::{Code, Error, Result};
use crate::journal::table::Table;
use crate::render::{Group, Value, quoted};
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
    /// At most so many inputs at once
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..))]
    pub batch: Option<u64>,
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
    #[arg(long, value_name = "WORK", add = Offers::Durable(Durable::Works))]
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

/// With a shorter lease, work would be lost before it is begun.
const SHORTEST_LEASE: Duration = Duration::from_secs(1);

/// How many lost inputs are given up at once.
const GIVEN_UP: u64 = 1 << 17;

/// How many bytes of inputs are kept from before a claim is written until it is told.
const READ_AHEAD: usize = 8 << 20;

/// The longest text that says why something is so, in bytes.
const LONGEST_REASON: usize = 1024;

/// A moment so long from now on.
pub(super) fn from_now(now: DateTime<Utc>, time: Duration, flag: &str) -> Result<DateTime<Utc>> {
    let at = TimeDelta::from_std(time).ok().and_then(|time| now.checked_add_signed(time));
    at.filter(|at| chrono::Datelike::year(at) <= 9999)
        .ok_or_else(|| Error::new(Code::UsageArguments, format!("{flag} is longer than time can be told")))
}

/// A lease from now on.
pub(super) fn lease(now: DateTime<Utc>, time: Duration) -> Result<DateTime<Utc>> {
    if time < SHORTEST_LEASE {
        let shortest = humantime::format_duration(SHORTEST_LEASE);
        return Err(Error::new(Code::UsageArguments, format!("--lease is shorter than {shortest}")));
    }
    from_now(now, time, "--lease")
}

/// A reason as it is kept: in one line, and not longer than it may be.
fn reason(text: &str) -> Result<String> {
    if text.trim().is_empty() {
        return Err(Error::new(Code::UsageArguments, "--reason is empty; leave it away where there is none"));
    }
    let mut line: String = text.trim().chars().map(|c| if c.is_control() { ' ' } else { c }).collect();
    if line.len() > LONGEST_REASON {
        let most = LONGEST_REASON - '…'.len_utf8();
        line.truncate((0..=most).rev().find(|at| line.is_char_boundary(*at)).unwrap_or_default());
        line.push('…');
    }
    Ok(line)
}

/// Runs `durable claim`.
pub fn claim(context: &mut Context, args: &Claim) -> Result<()> {
    lease(context.env.now(), args.lease)?;
    if let Some(worker) = &args.worker {
        let why = worker.starts_with("w_").then(|| "names that begin with w_ belong to durable work".to_owned());
        input::check_new("worker", worker, why)?;
    }
    let (lock, mut table) = for_change(context, args.dry_run)?;
    let mut session = find_to_change(&mut table, &args.which)?;
    let now = context.env.now();
    let why = match session.claimable() {
        _ if is_free(context, &session, now) => None,
        Claimable::Nothing => Some("nothing waits".to_owned()),
        Claimable::Blocked => Some("its work is blocked".to_owned()),
        Claimable::From(at) => at.map(|at| format!("its work waits until {}", text(at))),
        Claimable::Held(until) => until.map(|until| format!("a worker has it until {}", text(until))),
    };
    if let Some(why) = why {
        let message = format!("there is nothing to claim of session {}: {why}", session.session_id);
        return Err(Error::new(Code::NoSessionWork, message));
    }
    let until = lease(now, args.lease)?;
    let last = last_of_next(&mut table, &session, args.batch)?;
    session.claim(args.worker.clone(), last, until, now);
    let inputs = read_ahead(&mut table, &session)?;
    write(context, lock, table, session.line("claim"))?;
    tell_claim(context, &session, inputs, args.dry_run)
        .map_err(|error| error.after(!args.dry_run, "the work is claimed until its lease ends"))
}

/// A moment in words.
pub(super) fn text(at: DateTime<Utc>) -> String {
    at.to_rfc3339_opts(chrono::SecondsFormat::Secs, true)
}

/// Whether an input is there.
fn is_there(table: &mut Table, session: &Session, cursor: u64) -> Result<bool> {
    let id = identity::input(&session.session_id, cursor);
    Ok(table.look(|live| rules::input(live, &id))?.is_some())
}

/// The first input between two cursors of which it is so or not so that it is there.
fn first_that_is(table: &mut Table, session: &Session, (first, last): (u64, u64), so: bool) -> Result<Option<u64>> {
    for cursor in first..=last {
        if is_there(table, session, cursor)? == so {
            return Ok(Some(cursor));
        }
    }
    Ok(None)
}

/// The cursor of the last input of a session's next work: of what was claimed before, or else of what waits, up to the
/// first that is lost, and `batch` at most.
///
/// Errors: 3 an input of it is lost.
pub(super) fn last_of_next(table: &mut Table, session: &Session, batch: Option<u64>) -> Result<u64> {
    let first = session.processed + 1;
    let most = session.processed.saturating_add(batch.unwrap_or(u64::MAX)).min(session.accepted);
    let last = session.work.as_ref().map_or(most, |work| work.last);
    match first_that_is(table, session, (first, last), false)? {
        None => Ok(last),
        Some(lost) if session.work.is_none() && lost > first => Ok(lost - 1),
        Some(lost) => {
            let unblock = format!("cruxctl durable unblock --session {}", quoted(&session.session_id));
            Err(missing(&identity::input(&session.session_id, lost)).hint(unblock))
        }
    }
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
        take(input_of(table, &id)?.ok_or_else(|| missing(&id))?)?;
    }
    Ok(())
}

/// The inputs of the work that a session has, read before anything is written: what cannot be handed out is not claimed.
/// `None` where they are too much to be kept.
fn read_ahead(table: &mut Table, session: &Session) -> Result<Option<Vec<Input>>> {
    let Some(work) = &session.work else { return Ok(None) };
    let (mut inputs, mut bytes) = (Some(Vec::new()), 0);
    each_input(table, session, work, &mut |input| {
        bytes += size_of::<Input>() + input.payload.as_ref().map_or(0, |payload| payload.get().len());
        if bytes > READ_AHEAD {
            inputs = None;
        }
        inputs.iter_mut().for_each(|inputs| inputs.push(input.clone()));
        Ok(())
    })?;
    Ok(inputs)
}

fn tell_claim(context: &mut Context, session: &Session, inputs: Option<Vec<Input>>, dry_run: bool) -> Result<()> {
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
    let mut tell = |input: &Input| {
        let cells = [
            Value::text(&*input.input_id),
            cursor(input.cursor),
            Value::text(input.source.name()),
            Value::Time(input.accepted_at),
            input.payload.as_ref().map_or(Value::Absent, |payload| Value::Json(payload.get().as_bytes())),
        ];
        context.printer.row(1, &[], &cells)
    };
    match inputs {
        Some(inputs) => inputs.iter().try_for_each(tell)?,
        None => {
            let mut table = Table::open(&context.dir, &JOURNAL, false)?;
            each_input(&mut table, session, work, &mut |input| tell(&input))?;
        }
    }
    context.printer.end()
}

/// The session whose work it is.
pub(super) fn session_of(table: &mut Table, work_id: &str) -> Result<Session> {
    let work = table.look(|live| rules::work(live, work_id))?;
    let found = work.map_or(Ok(None), |work| session_at(table, work.session))?;
    found.ok_or_else(|| Error::new(Code::NoSessionWork, format!("there is no work {work_id:?}")))
}

/// Whether the result of work that is prepared is in the journal: the line that had it may be lost.
pub(super) fn is_prepared(table: &mut Table, work: &Work) -> Result<bool> {
    let known = table.look(|live| rules::work(live, &work.work_id))?;
    Ok(work.prepared && known.is_some_and(|known| known.result.len > 0))
}

/// What somebody who holds work does to it: the line, from the session as it is afterwards. Told is whether its prepared
/// result is there.
type Step<'s> = dyn FnMut(&mut Session, bool, DateTime<Utc>) -> Result<Vec<u8>> + 's;

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
    let is_prepared = is_prepared(&mut table, session.held(&held.work, held.fence, now)?)?;
    let line = step(&mut session, is_prepared, now)?;
    write(context, lock, table, line)?;
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
    step(context, &args.held, ("renew", "cruxctl.durable.renew.v1"), &mut |session, _, now| {
        renewed(session, lease(now, args.lease)?, now)
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
    step(context, &args.held, ("release", "cruxctl.durable.release.v1"), &mut |session, _, now| {
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
    step(context, &args.held, ("checkpoint", "cruxctl.durable.checkpoint.v1"), &mut |session, is_prepared, now| {
        let work_id = args.held.work.as_str();
        if let Some(work) = session.work.as_mut().filter(|_| !is_prepared) {
            (work.prepared, work.checkpointed_at) = (true, Some(now));
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
    step(context, &args.held, ("complete", "cruxctl.durable.complete.v1"), &mut |session, is_prepared, now| {
        completed(session, is_prepared, output.as_deref(), now)
    })
}

/// Completes the work that is under way; without an output the one that is prepared counts, if it is there.
pub(super) fn completed(
    session: &mut Session,
    is_prepared: bool,
    output: Option<&RawValue>,
    now: DateTime<Utc>,
) -> Result<Vec<u8>> {
    let of = |work: &Work| (work.work_id.clone(), work.fence, work.prepared);
    let (work, fence, said) = session.work.as_ref().map(of).unwrap_or_default();
    match (is_prepared, output) {
        (true, Some(_)) => {
            let message = format!("the result of {work} is prepared already, and the first one counts");
            return Err(Error::new(Code::RefusedExists, message).hint("give --prepared instead of a result"));
        }
        (false, None) if said => {
            let message = format!("the prepared result of {work} is not in {} any more", JOURNAL.file);
            return Err(Error::new(Code::RefusedSessionTurnResultArtifactUnavailable, message)
                .hint(format!("cruxctl durable complete --work {work} --fence {fence} --file RESULT.json"))
                .hint(format!("cruxctl durable fail --work {work} --fence {fence}")));
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
    let reason = reason(&args.reason)?;
    step(context, &args.held, ("fail", "cruxctl.durable.fail.v1"), &mut |session, _, now| {
        Ok(failed(session, &reason, now))
    })
}

/// Fails the work that is under way, for good.
pub(super) fn failed(session: &mut Session, reason: &str, now: DateTime<Utc>) -> Vec<u8> {
    let done = session.fail(now);
    done.map_or_else(Vec::new, |work| session.fail_line(&work.work_id, (work.first, work.last), reason))
}

/// Runs `durable block`.
pub fn block(context: &mut Context, args: &Block) -> Result<()> {
    let reason = reason(&args.reason)?;
    step(context, &args.held, ("block", "cruxctl.durable.block.v1"), &mut |session, _, now| {
        Ok(blocked(session, &reason, now))
    })
}

/// Blocks the work that is under way.
pub(super) fn blocked(session: &mut Session, reason: &str, now: DateTime<Utc>) -> Vec<u8> {
    session.block(reason, now);
    session.line("block")
}

/// Runs `durable unblock`.
pub fn unblock(context: &mut Context, args: &Unblock) -> Result<()> {
    let (lock, mut table) = for_change(context, args.dry_run)?;
    let mut session = find_to_change(&mut table, &args.which)?;
    let now = context.env.now();
    let (work_id, line) = match session.claimable() {
        Claimable::Nothing => (None, Vec::new()),
        _ => unblocked(context, &mut table, &mut session, now)?,
    };
    let Some(work_id) = work_id else {
        let message = format!("session {} has no work that is blocked or put off", session.session_id);
        return Err(Error::new(Code::NoSessionWork, message));
    };
    write(context, lock, table, line)?;
    tell_step(context, &session, &work_id, ("unblock", "cruxctl.durable.unblock.v1"), args.dry_run)
}

/// Puts right what keeps the next work of a session from being claimed: it is blocked, put off, or has inputs that are
/// lost, which have failed then. Its id, and the line; none where nothing does.
fn unblocked(
    context: &Context,
    table: &mut Table,
    session: &mut Session,
    now: DateTime<Utc>,
) -> Result<(Option<String>, Vec<u8>)> {
    let first = session.processed + 1;
    let last = session.work.as_ref().map_or(session.accepted, |work| work.last);
    let lost = first_that_is(table, session, (first, last), false)?;
    if lost.is_some() && (is_free(context, session, now) || session.claimable() == Claimable::Blocked) {
        let had = session.work.take();
        if lost == Some(first) {
            // A number in a line may be anything; what is lost behind these is given up the next time.
            let last = last.min(first.saturating_add(GIVEN_UP));
            let last = first_that_is(table, session, (first, last), true)?.map_or(last, |there| there - 1);
            let Some(work) = session.give_up(last, now) else { return Ok((None, Vec::new())) };
            let line = session.fail_line(&work.work_id, (first, last), "it is lost: the journal does not have it");
            return Ok((Some(work.work_id), line));
        }
        if let Some(work) = had {
            // What is in front of the lost one is claimed anew.
            session.updated_at = now;
            return Ok((Some(work.work_id), session.line("release")));
        }
    }
    let Some(work) = session.work.as_mut() else { return Ok((None, Vec::new())) };
    let is_blocked = work.progress == Progress::Blocked;
    let is_put_off = work.progress == Progress::Queued && work.until.is_some_and(|until| until > now);
    if !is_blocked && !is_put_off {
        return Ok((None, Vec::new()));
    }
    // Where its result is lost, it is worked on again.
    work.prepared = is_prepared(table, work)?;
    let work_id = work.work_id.clone();
    session.unblock(now);
    Ok((Some(work_id), session.line_with("unblock", &serde_json::json!({ "blocked": is_blocked }))))
}
