//! `cruxctl handoff accept`: an envelope is verified and loaded, once, however often the command is interrupted.
//!
//! The order on disk is a promise: an open entry in the ledger with the ids that will be used; the facts; the session;
//! the entry again, as accepted. Each step is on disk before the next, all behind one lock. Whoever finds an open entry
//! loads what is missing.

use chrono::{DateTime, Utc};
use clap::Args;

use super::ledger;
use super::load::{self, Load, Receiver, Since};
use super::observe::{Observed, observe};
use super::take::Take;
use crate::cmd::fact::view::Eyes;
use crate::cmd::{Context, input, plural};
use crate::error::{Code, Error, Result};
use crate::handoff::verify::{By, Verified};
use crate::journal::Journal;
use crate::journal::lock::Lock;
use crate::journal::table::Table;
use crate::render::{Value, quoted, rfc3339};
use crate::store::handoff::{self, Entry, State};
use crate::store::session::Session;
use crate::store::{fact, session};

/// Arguments of `handoff accept`.
#[derive(Args, Debug)]
pub struct Accept {
    /// Which envelope, and on which conditions.
    #[command(flatten)]
    pub take: Take,
    /// Accept it although it was accepted before: the session is stored again, and so is each fact
    #[arg(long)]
    pub again: bool,
    /// Only if the receiver has no such session
    #[arg(long)]
    pub if_absent: bool,
    /// The largest state that is stored [default: $CRUXCTL_MAX_STATE_BYTES or 16777216]
    #[arg(long, value_name = "BYTES")]
    pub max_state_bytes: Option<u64>,
    /// Say what would be loaded, and load nothing
    #[arg(long)]
    pub dry_run: bool,
}

/// The journals that are written, opened behind the lock.
struct Journals {
    sessions: Table,
    facts: Table,
}

/// What was done.
struct Done {
    entry: Entry,
    session: bool,
    replaced: bool,
    completed: bool,
    /// The ids of facts that are left out, because newer ones were stored since.
    passed: Vec<String>,
}

/// Runs the verb.
pub fn run(context: &mut Context, args: &Accept) -> Result<()> {
    let most_state_bytes = input::most_state_bytes(args.max_state_bytes)?;
    let eyes = Eyes::of(context, false)?;
    let proven = args.take.prove(context)?;
    // What is long to read is read before the lock is taken.
    for journal in [&session::JOURNAL, &fact::JOURNAL] {
        Table::open(&context.dir, journal, true)?.keep();
    }
    let (lock, mut table) = match args.dry_run {
        true => (None, context.table(&handoff::JOURNAL, false)?),
        false => {
            let (lock, table) = context.locked(&handoff::JOURNAL)?;
            (Some(lock), table)
        }
    };
    let before = ledger::entry(&mut table, &proven.content_hash().to_hex())?;
    let open = before.as_ref().filter(|entry| entry.state == State::Open);
    if let Some(before) = before.as_ref().filter(|_| open.is_none() && !args.again) {
        return Err(replayed(before));
    }
    if let Some(other) = open.filter(|open| open.receiver != context.agent) {
        return Err(others(other));
    }
    if let Some(open) = open.filter(|_| args.again) {
        let message = "this handoff is half accepted: complete it without --again first, or give it up";
        return Err(
            Error::new(Code::RefusedOpen, message).hint(format!("cruxctl handoff abandon {}", open.content_hash))
        );
    }
    // What was taken in time is completed, however late.
    let now = open.map_or(context.env.now(), |open| open.begun_at);
    let verified = args.take.judge(context, &proven, now)?;
    let agent = context.agent.clone();
    let receiver = Receiver { agent: agent.as_deref(), privacy: &eyes.privacy, most_state_bytes, at: now };
    let load = Load::of(&verified.package, &receiver, open.map(|open| &*open.fact_ids))?;
    let mut journals = Journals {
        sessions: context.also_for_change(&session::JOURNAL, lock.as_ref(), false)?,
        facts: context.also_for_change(&fact::JOURNAL, lock.as_ref(), false)?,
    };
    let current = match &load.session {
        Some(session) => journals.sessions.get(&session.id)?,
        None => None,
    };
    if let Some((line, _)) = current.as_ref().filter(|_| args.if_absent && open.is_none()) {
        let hash = Session::read(line).map(|session| session.hash()).unwrap_or_default();
        let id = &verified.package.session_id;
        let message = format!("session {id:?} exists; its state has the hash {hash}");
        return Err(Error::new(Code::RefusedExists, message));
    }
    let mut facts = load.facts.clone();
    let entry = match open {
        Some(open) => open.clone(),
        None => {
            let had = current.as_ref().map(|(line, _)| load::line_hash(line));
            let heads = load::heads(&mut journals.facts, &facts)?;
            begun(&verified, &load, &journals, (agent.as_deref(), now), (had, heads), before.as_ref())
        }
    };
    let missing = match open {
        Some(open) => load::missing_lines(&mut journals.facts, &mut facts, open)?,
        None => load::fact_lines(&mut journals.facts, &mut facts)?,
    };
    let since = match (&load.session, open) {
        (Some(session), Some(open)) => load::since(&mut journals.sessions, session, open)?,
        _ => Since::Nothing,
    };
    let session = load.session.as_ref().filter(|_| since != Since::Others);
    let mut done = Done {
        session: session.is_some(),
        replaced: session.is_some() && current.is_some() && open.is_none(),
        completed: open.is_some(),
        passed: missing.passed,
        entry,
    };
    tell_left_alone(context, &done, since);
    if let Some(lock) = lock {
        if open.is_none() {
            context.append(&lock, table, &[done.entry.line()])?;
        }
        append(context, &lock, journals.facts, &fact::JOURNAL, &missing.lines, &done)?;
        if let Some(session) = session {
            let lines = if since == Since::Stored { Vec::new() } else { vec![session.line.clone()] };
            append(context, &lock, journals.sessions, &session::JOURNAL, &lines, &done)?;
        }
        (done.entry.state, done.entry.accepted_at) = (State::Accepted, Some(context.env.now()));
        // What was left alone was not loaded.
        done.entry.session = done.session;
        done.entry.fact_ids.retain(|id| !done.passed.contains(id));
        let table = context.also_for_change(&handoff::JOURNAL, Some(&lock), false)?;
        context.append(&lock, table, &[done.entry.line()]).map_err(|e| interrupted(e, &done.entry))?;
        let observed = Observed {
            action: "accept",
            session_id: &verified.package.session_id,
            source_agent: &verified.package.source_agent,
            target_agent: verified.package.target_agent.as_deref().or(agent.as_deref()),
            content_hash: verified.content_hash,
        };
        observe(context, Some(&lock), &observed);
    }
    done.entry.fact_ids.retain(|id| !done.passed.contains(id));
    tell(context, &verified, &load, &done, args.dry_run)
}

/// Says what of a handoff that is completed is left alone, because somebody else has written since.
fn tell_left_alone(context: &mut Context, done: &Done, since: Since) {
    let hint = ["load it all the same, once it is accepted: --again".to_owned()];
    if since == Since::Others {
        let text = format!(
            "session {:?} was written or deleted after this handoff was begun to be accepted: it is left as it is",
            done.entry.session_id
        );
        context.printer.warn(&text, &hint);
    }
    if !done.passed.is_empty() {
        let text = format!(
            "{} left out: newer ones were stored after this handoff was begun to be accepted",
            plural(done.passed.len() as u64, "fact")
        );
        context.printer.warn(&text, &hint);
    }
}

/// "It was accepted before."
fn replayed(before: &Entry) -> Error {
    let by = before.receiver.as_ref().map_or(String::new(), |agent| format!(" by agent {agent:?}"));
    let message = match (before.state, before.accepted_at) {
        (State::Accepted, Some(at)) => format!("this handoff was accepted before{by}, at {}", rfc3339(at)),
        _ => format!("this handoff was given up half accepted{by}, at {}", rfc3339(before.begun_at)),
    };
    Error::new(Code::RefusedReplayed, message)
        .hint("cruxctl handoff list")
        .hint("load all of it once more, as new versions: --again")
}

/// "Somebody else is at it."
fn others(open: &Entry) -> Error {
    let who = open.receiver.as_ref().map_or("without an agent".to_owned(), |agent| format!("by agent {agent:?}"));
    let message =
        format!("this handoff was begun to be accepted {who} at {}, and not completed", rfc3339(open.begun_at));
    let hint = match &open.receiver {
        Some(agent) => {
            format!("complete it with the same envelope: cruxctl handoff accept --agent {}", quoted(agent))
        }
        None => "complete it with the same envelope, without --agent".to_owned(),
    };
    Error::new(Code::RefusedOpen, message).hint(hint).hint(format!("cruxctl handoff abandon {}", open.content_hash))
}

/// The entry of a handoff whose loading begins.
fn begun(
    verified: &Verified<'_>,
    load: &Load<'_>,
    journals: &Journals,
    (receiver, now): (Option<&str>, DateTime<Utc>),
    (session_before, heads_before): (Option<String>, Vec<String>),
    before: Option<&Entry>,
) -> Entry {
    let package = &verified.package;
    Entry {
        content_hash: verified.content_hash.to_hex().to_string(),
        state: State::Open,
        handoff_id: package.handoff_id.as_deref().map(str::to_owned),
        session_id: package.session_id.clone().into_owned(),
        source_agent: package.source_agent.clone().into_owned(),
        receiver: receiver.map(str::to_owned),
        signed_by: match verified.by {
            By::Mac => None,
            By::Agent(agent) => Some(agent.clone()),
        },
        key_id: verified.key_id.to_owned(),
        session: load.session.is_some(),
        fact_ids: load.facts.iter().map(|fact| fact.id.clone().into_owned()).collect(),
        sessions_bytes: journals.sessions.opened.len,
        facts_bytes: journals.facts.opened.len,
        session_before,
        heads_before,
        times: before.map_or(1, |before| before.times.saturating_add(1)),
        begun_at: now,
        accepted_at: None,
    }
}

/// Appends lines. Without any, what a run before this one has appended is made durable.
fn append(
    context: &mut Context,
    lock: &Lock,
    table: Table,
    journal: &Journal,
    lines: &[Vec<u8>],
    done: &Done,
) -> Result<()> {
    let has = context.dir.has(journal).unwrap_or(true);
    if lines.is_empty() && (!done.completed || !has) {
        return Ok(());
    }
    context.append(lock, table, lines).map(drop).map_err(|error| interrupted(error, &done.entry))
}

/// An error after loading has begun: what to do about what is missing.
fn interrupted(error: Error, entry: &Entry) -> Error {
    let agent = entry.receiver.as_ref().map_or(String::new(), |agent| format!(" --agent {}", quoted(agent)));
    error.hint(format!("then load what is missing, with the same envelope: cruxctl handoff accept{agent}"))
}

fn tell(context: &mut Context, verified: &Verified<'_>, load: &Load<'_>, done: &Done, dry_run: bool) -> Result<()> {
    let (entry, package, lost) = (&done.entry, &verified.package, &load.lost);
    let stored = load.session.as_ref().map(|session| session.id.as_str());
    let fields = [
        ("session_id", Value::text(&*entry.session_id)),
        ("stored_session_id", Value::maybe(stored)),
        ("session_loaded", Value::Flag(done.session)),
        ("session_replaced", Value::Flag(done.replaced)),
        ("facts_loaded", Value::Count(entry.fact_ids.len() as u64)),
        ("fact_ids", Value::Texts(entry.fact_ids.clone())),
        ("source_agent", Value::text(&*entry.source_agent)),
        ("receiver", Value::maybe(entry.receiver.as_deref())),
        ("message", Value::maybe(package.message.as_deref())),
        ("work_ids", Value::Texts(package.work_ids.clone())),
        ("task_record", package.task_record.map_or(Value::Absent, |task| Value::Json(task.as_bytes()))),
        ("handoff_id", Value::maybe(entry.handoff_id.as_deref())),
        ("content_hash", Value::text(&*entry.content_hash)),
        ("signed_by", Value::maybe(entry.signed_by.as_deref())),
        ("key_id", Value::text(&*entry.key_id)),
        ("times", Value::Count(entry.times)),
        ("completed", Value::Flag(done.completed)),
        ("accepted_at", Value::time(entry.accepted_at)),
        ("lost_tenants", Value::Count(lost.tenants)),
        ("lost_actors", Value::Count(lost.actors)),
        ("lost_validity", Value::Count(lost.validity)),
        ("lost_horizons", Value::Count(lost.horizons)),
        ("left_out_deleted", Value::Count(lost.deleted)),
        ("left_out_newer", Value::Count(done.passed.len() as u64)),
        ("dry_run", Value::Flag(dry_run)),
    ];
    let printer = &mut context.printer;
    let told = printer
        .begin("cruxctl.handoff.accept.v1", &[])
        .and_then(|()| printer.fields(Some(&entry.session_id), &fields))
        .and_then(|()| printer.end());
    told.map_err(|mut error| {
        if !dry_run {
            error.message.push_str("; the handoff is accepted");
        }
        error
    })
}
