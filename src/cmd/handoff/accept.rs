//! `cruxctl handoff accept`: an envelope is verified and loaded, once, however often the command is interrupted.
//!
//! The order on disk is a promise: an open entry in the ledger with the ids that will be used; the facts; the session;
//! the entry again, as accepted. Each step is on disk before the next, all behind one lock. Whoever finds an open entry
//! loads what is missing.

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
use crate::render::{Value, rfc3339};
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

/// What an accept comes to, decided before anything is written.
struct Plan {
    /// The entry as it is once all is on disk, but for the state and the time.
    entry: Entry,
    /// What is appended to the facts.
    facts: Vec<Vec<u8>>,
    /// What is appended to the sessions; none: nothing of it is loaded.
    session: Option<Vec<Vec<u8>>>,
    /// Whether a session of the receiver's is replaced.
    replaced: bool,
    /// Whether an accept that was interrupted is completed.
    completes: bool,
    /// How many facts are left out, because newer ones were stored since.
    passed: usize,
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
    let (lock, mut ledger) = context.for_new(&handoff::JOURNAL, args.dry_run)?;
    let before = ledger::entry(&mut ledger, &proven.content_hash().to_hex())?;
    let open = before.as_ref().filter(|entry| entry.state == State::Open);
    if let Some(before) = &before {
        check_before(before, context.agent.as_ref(), args.again)?;
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
    let mut plan = match open {
        Some(open) => completing(context, &load, &mut journals, open)?,
        None => beginning(&verified, &load, &mut journals, &receiver, before.as_ref(), args.if_absent)?,
    };
    if let Some(lock) = lock {
        write(context, &lock, ledger, journals, &mut plan)?;
        let observed = Observed {
            action: "accept",
            session_id: &verified.package.session_id,
            source_agent: &verified.package.source_agent,
            target_agent: verified.package.target_agent.as_deref().or(agent.as_deref()),
            content_hash: verified.content_hash,
        };
        observe(context, Some(&lock), &observed);
    }
    tell(context, &verified, &load, &plan, args.dry_run)
}

/// Refuses a handoff that was accepted before, and one that somebody else is at.
fn check_before(before: &Entry, agent: Option<&String>, again: bool) -> Result<()> {
    match before.state {
        State::Open if before.receiver.as_ref() != agent => Err(others(before)),
        State::Open if again => {
            let message = "this handoff is half accepted: complete it without --again first, or give it up";
            Err(ledger::in_the_way(before, message.to_owned()))
        }
        State::Accepted | State::Abandoned if !again => Err(replayed(before)),
        _ => Ok(()),
    }
}

/// A handoff of which nothing is there yet.
fn beginning(
    verified: &Verified<'_>,
    load: &Load<'_>,
    journals: &mut Journals,
    receiver: &Receiver<'_>,
    before: Option<&Entry>,
    if_absent: bool,
) -> Result<Plan> {
    let package = &verified.package;
    let had = match &load.session {
        Some(session) => journals.sessions.get(&session.id)?.map(|(line, _)| line),
        None => None,
    };
    if let Some(line) = had.as_ref().filter(|_| if_absent) {
        let hash = Session::read(line).map(|session| session.hash()).unwrap_or_default();
        let message = format!("session {:?} exists; its state has the hash {hash}", package.session_id);
        return Err(Error::new(Code::RefusedExists, message));
    }
    let (facts, heads_before) = load::fact_lines(&mut journals.facts, &mut load.facts.clone())?;
    let entry = Entry {
        content_hash: verified.content_hash.to_hex().to_string(),
        state: State::Open,
        handoff_id: package.handoff_id.as_deref().map(str::to_owned),
        session_id: package.session_id.clone().into_owned(),
        source_agent: package.source_agent.clone().into_owned(),
        receiver: receiver.agent.map(str::to_owned),
        signed_by: match verified.by {
            By::Mac => None,
            By::Agent(agent) => Some(agent.clone()),
        },
        key_id: verified.key_id.to_owned(),
        session: load.session.is_some(),
        fact_ids: load.facts.iter().map(|fact| fact.id.clone().into_owned()).collect(),
        sessions_bytes: journals.sessions.opened.len,
        facts_bytes: journals.facts.opened.len,
        session_before: had.as_deref().map(load::line_hash),
        heads_before,
        times: before.map_or(1, |before| before.times.saturating_add(1)),
        begun_at: receiver.at,
        accepted_at: None,
    };
    Ok(Plan {
        entry,
        facts,
        session: load.session.as_ref().map(|session| vec![session.line.clone()]),
        replaced: had.is_some(),
        completes: false,
        passed: 0,
    })
}

/// A handoff of which a part may be there. What others have written since is left alone, and told.
fn completing(context: &mut Context, load: &Load<'_>, journals: &mut Journals, open: &Entry) -> Result<Plan> {
    let missing = load::missing_lines(&mut journals.facts, &mut load.facts.clone(), open)?;
    let since = match &load.session {
        Some(session) => load::since(&mut journals.sessions, session, open)?,
        None => Since::Nothing,
    };
    tell_left_alone(context, open, missing.passed.len(), since);
    let session = load.session.as_ref().and_then(|session| match since {
        Since::Nothing => Some(vec![session.line.clone()]),
        Since::Stored => Some(Vec::new()),
        Since::Others => None,
    });
    let mut entry = Entry { session: session.is_some(), ..open.clone() };
    entry.fact_ids.retain(|id| !missing.passed.contains(id));
    let passed = missing.passed.len();
    Ok(Plan { entry, facts: missing.lines, session, replaced: false, completes: true, passed })
}

/// Writes step by step, each on disk before the next.
fn write(context: &mut Context, lock: &Lock, ledger: Table, journals: Journals, plan: &mut Plan) -> Result<()> {
    if !plan.completes {
        context.append(lock, ledger, &[plan.entry.line()])?;
    }
    append(context, lock, journals.facts, &fact::JOURNAL, &plan.facts, plan)?;
    if let Some(lines) = &plan.session {
        append(context, lock, journals.sessions, &session::JOURNAL, lines, plan)?;
    }
    (plan.entry.state, plan.entry.accepted_at) = (State::Accepted, Some(context.env.now()));
    let ledger = context.also_for_change(&handoff::JOURNAL, Some(lock), false)?;
    let closed = context.append(lock, ledger, &[plan.entry.line()]);
    closed.map(drop).map_err(|error| interrupted(error, &plan.entry))
}

/// Says what of a handoff that is completed is left alone, because somebody else has written since.
fn tell_left_alone(context: &mut Context, open: &Entry, passed: usize, since: Since) {
    let hint = ["load it all the same, once it is accepted: --again".to_owned()];
    if since == Since::Others {
        let text = format!(
            "session {:?} was written or deleted after this handoff was begun to be accepted: it is left as it is",
            open.session_id
        );
        context.printer.warn(&text, &hint);
    }
    if passed > 0 {
        let text = format!(
            "{} left out: newer ones were stored after this handoff was begun to be accepted",
            plural(passed as u64, "fact")
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
    ledger::in_the_way(open, message)
}

/// Appends lines. Without any, what a run before this one has appended is made durable.
fn append(
    context: &mut Context,
    lock: &Lock,
    table: Table,
    journal: &Journal,
    lines: &[Vec<u8>],
    plan: &Plan,
) -> Result<()> {
    let has = context.dir.has(journal).unwrap_or(true);
    if lines.is_empty() && (!plan.completes || !has) {
        return Ok(());
    }
    context.append(lock, table, lines).map(drop).map_err(|error| interrupted(error, &plan.entry))
}

/// An error after loading has begun: what to do about what is missing.
fn interrupted(error: Error, entry: &Entry) -> Error {
    error.hint(format!("then load what is missing, with the same envelope: {}", ledger::completing(entry)))
}

fn tell(context: &mut Context, verified: &Verified<'_>, load: &Load<'_>, plan: &Plan, dry_run: bool) -> Result<()> {
    let (entry, package, lost) = (&plan.entry, &verified.package, &load.lost);
    let stored = load.session.as_ref().map(|session| session.id.as_str());
    let fields = [
        ("session_id", Value::text(&*entry.session_id)),
        ("stored_session_id", Value::maybe(stored)),
        ("session_loaded", Value::Flag(plan.entry.session)),
        ("session_replaced", Value::Flag(plan.replaced)),
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
        ("completed", Value::Flag(plan.completes)),
        ("accepted_at", Value::time(entry.accepted_at)),
        ("lost_tenants", Value::Count(lost.tenants)),
        ("lost_actors", Value::Count(lost.actors)),
        ("lost_validity", Value::Count(lost.validity)),
        ("lost_horizons", Value::Count(lost.horizons)),
        ("left_out_deleted", Value::Count(lost.deleted)),
        ("left_out_newer", Value::Count(plan.passed as u64)),
        ("dry_run", Value::Flag(dry_run)),
    ];
    let printer = &mut context.printer;
    let told = printer
        .begin("cruxctl.handoff.accept.v1", &[])
        .and_then(|()| printer.fields(Some(&entry.session_id), &fields))
        .and_then(|()| printer.end());
    told.map_err(|error: Error| error.after(!dry_run, "the handoff is accepted"))
}
