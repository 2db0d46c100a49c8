//! `cruxctl handoff create`: a session becomes an envelope, on one line.

use std::path::PathBuf;
use std::time::Duration;

use chrono::{DateTime, TimeDelta, Utc};
use clap::Args;

use super::bundle;
use super::keys::{self, Minting};
use super::observe::{Observed, observe};
use crate::cmd::complete::Offers;
use crate::cmd::session::view;
use crate::cmd::{Context, input, plural};
use crate::env;
use crate::error::{Code, Error, Result};
use crate::handoff::build::{self, Build};
use crate::handoff::envelope;
use crate::handoff::keys::MAC;
use crate::handoff::signature::ED25519;
use crate::handoff::strict::Fault;
use crate::handoff::task::TaskRecord;
use crate::render::{Printer, rfc3339};
use crate::store::session::JOURNAL;

/// The longest payload that is minted.
const LONGEST_PAYLOAD: usize = 64 << 20;

/// The longest task record that is read.
const LONGEST_TASK: u64 = 1 << 20;

/// The longest time for which a handoff may be valid.
const LONGEST_TTL: Duration = Duration::from_secs(90 * 24 * 60 * 60);

/// Arguments of `handoff create`.
#[derive(Args, Debug)]
pub struct Create {
    /// The session's id
    #[arg(value_name = "SESSION", add = Offers::Sessions)]
    pub session: String,
    /// Only this agent may take it
    #[arg(long, value_name = "AGENT", add = Offers::Agents)]
    pub target: Option<String>,
    /// What the receiver is to know
    #[arg(long, value_name = "TEXT", allow_hyphen_values = true)]
    pub message: Option<String>,
    /// A JSON document with any of requester, desired_outcome, sources, acceptance_criteria, boundaries, blocker_rule
    #[arg(long, value_name = "FILE", value_hint = clap::ValueHint::FilePath)]
    pub task_record: Option<PathBuf>,
    /// The id of work that goes along, beside what the state names; may be given more than once
    #[arg(long = "work-id", value_name = "ID")]
    pub work_ids: Vec<String>,
    /// Facts go along: those that the state names by their ids, and those about the session and its decisions
    #[arg(long)]
    pub include_facts: bool,
    /// How long it may be taken, at most 90days
    #[arg(long, value_name = "TIME", default_value = "24h", value_parser = humantime::parse_duration)]
    pub ttl: Duration,
    /// It may be taken for ever
    #[arg(long, conflicts_with = "ttl")]
    pub no_expiry: bool,
    /// Mint an envelope without a state where there is no such session
    #[arg(long)]
    pub allow_missing: bool,
    /// The file with the secret [default: $CRUX_MCP_HANDOFF_SECRET]
    #[arg(long, value_name = "FILE", value_hint = clap::ValueHint::FilePath)]
    pub key_file: Option<PathBuf>,
    /// Sign with this private ed25519 key instead: only cruxctl verifies that
    #[arg(long, value_name = "FILE", value_hint = clap::ValueHint::FilePath, conflicts_with = "key_file")]
    pub sign_key: Option<PathBuf>,
    /// Say what would be minted, and mint nothing
    #[arg(long)]
    pub dry_run: bool,
}

/// Runs the verb.
pub fn run(context: &mut Context, args: &Create) -> Result<()> {
    let scope = context.scope(false)?;
    if let Some(target) = &args.target {
        input::check_agent(target)?;
    }
    if args.work_ids.iter().any(String::is_empty) {
        return Err(Error::new(Code::UsageArguments, "a --work-id is empty"));
    }
    let expires_at = expiry(context.env.now(), args)?;
    let key = keys::minting(context, args.key_file.as_deref(), args.sign_key.as_deref())?;
    let task_record = task_record(args)?;
    let mut table = context.table(&JOURNAL, true)?;
    let line = view::find(&mut table, &scope, &args.session)?.map(|(line, _)| line);
    let session = line.as_deref().map(|line| view::parsed(&table, line)).transpose()?;
    match &session {
        Some(session) => tell_oddities(context, args, session),
        None if args.allow_missing => input::check_new_id(&args.session, false)?,
        None => {
            let mut error = view::absent(context, &mut table, &scope, &args.session)?;
            for hint in &mut error.hints {
                *hint = hint.replacen("cruxctl session get", "cruxctl handoff create", 1);
            }
            return Err(error.hint("hand over what goes along with it, without a state: --allow-missing"));
        }
    }
    let state = session.as_ref().map(|session| std::str::from_utf8(session.state)).transpose();
    let state = state.map_err(|_| table.distrust())?;
    let facts = match args.include_facts {
        true => bundle::facts(context, &args.session, state, LONGEST_PAYLOAD)?,
        false => Vec::new(),
    };
    let handoff_id = env::new_id("h_")?;
    let key_id = match &key {
        Minting::Mac(secret) => secret.mac_key().key_id(),
        Minting::Signature(key) => key.public().key_id(),
    };
    let build = Build {
        session_id: &args.session,
        state,
        facts: &facts,
        created_at: context.env.now(),
        source_agent: context.agent.as_deref(),
        target_agent: args.target.as_deref(),
        message: args.message.as_deref(),
        work_ids: &args.work_ids,
        task_record: task_record.as_ref(),
        expires_at,
        handoff_id: &handoff_id,
        key_id: &key_id,
    };
    let payload = build.payload().map_err(|fault| unbuilt(&args.session, fault))?;
    if payload.len() > LONGEST_PAYLOAD {
        return Err(too_large(payload.len(), LONGEST_PAYLOAD));
    }
    if args.sign_key.is_some() && context.agent.is_none() {
        let message = "a signature is an agent's own, and no agent is named: nobody would take the envelope";
        return Err(Error::new(Code::UsageArguments, message).hint("name the agent: --agent alice"));
    }
    tell_minted(&mut context.printer, args, &build, payload.len());
    if args.dry_run {
        return Ok(());
    }
    let line = match &key {
        Minting::Mac(secret) => envelope::mint(&payload, secret.mac_key().mac(&payload).as_bytes(), MAC),
        Minting::Signature(key) => envelope::mint(&payload, &key.sign(&payload), ED25519),
    };
    // The envelope is a document of its own, whatever the format: others verify it.
    context.printer.raw(line.as_bytes())?;
    context.printer.raw(b"\n")?;
    context.printer.flush()?;
    let agent = context.agent.clone();
    let observed = Observed {
        action: "create",
        session_id: &args.session,
        source_agent: agent.as_deref().unwrap_or(build::ANONYMOUS),
        target_agent: args.target.as_deref(),
        content_hash: blake3::hash(&payload),
    };
    observe(context, None, &observed);
    Ok(())
}

/// Refuses a payload that is longer than any that is minted.
pub(super) fn too_large(bytes: usize, most: usize) -> Error {
    let message = format!("the payload would have {bytes} bytes or more; the most that is minted is {most}");
    Error::new(Code::RefusedTooLarge, message)
}

fn expiry(now: DateTime<Utc>, args: &Create) -> Result<Option<DateTime<Utc>>> {
    if args.no_expiry {
        return Ok(None);
    }
    if args.ttl > LONGEST_TTL {
        let message = "--ttl is longer than 90 days: who keeps an envelope that long keeps the secret as well";
        return Err(Error::new(Code::RefusedTtl, message).hint("mint a new one when it is needed, or: --no-expiry"));
    }
    if args.ttl.is_zero() {
        return Err(Error::new(Code::UsageArguments, "--ttl is 0: nobody could take the handoff"));
    }
    let at = TimeDelta::from_std(args.ttl).ok().and_then(|ttl| now.checked_add_signed(ttl));
    at.map(Some).ok_or_else(|| Error::new(Code::UsageArguments, "--ttl is longer than time can be told"))
}

fn task_record(args: &Create) -> Result<Option<TaskRecord>> {
    let Some(path) = args.task_record.as_deref() else { return Ok(None) };
    let hint = "name a file: --task-record TASK.json";
    let (text, name) = input::bytes(Some(path), LONGEST_TASK, "the task record is", hint)?;
    let text = text.ok_or_else(|| {
        Error::new(Code::RefusedTooLarge, format!("the task record {name} has more than {LONGEST_TASK} bytes"))
    })?;
    TaskRecord::document(&text, &name).map(Some)
}

fn tell_oddities(context: &mut Context, args: &Create, session: &crate::store::session::Session<'_>) {
    let odd = [(session.expired(context.env.now()), "has expired"), (session.archived, "is archived")];
    for (_, what) in odd.into_iter().filter(|(is, _)| *is) {
        context.printer.note(&format!("session {:?} {what}; it is handed over all the same", args.session));
    }
}

fn unbuilt(session: &str, fault: Fault) -> Error {
    let Fault { why, duplicate } = fault;
    if duplicate {
        let message = format!("session {session:?} is not handed over, for readers differ in what it means: {why}");
        return Error::new(Code::RefusedDuplicate, message);
    }
    let message = format!("session {session:?} is not handed over: a receiver would not read it: {why}");
    Error::new(Code::RefusedDaemonUnreadable, message)
}

fn tell_minted(printer: &mut Printer, args: &Create, build: &Build<'_>, bytes: usize) {
    let whom = match &args.target {
        Some(target) => format!("agent {target:?}"),
        None => "whoever can verify it".to_owned(),
    };
    let until = match build.expires_at {
        Some(at) => format!("expires at {}", rfc3339(at)),
        None => "never expires".to_owned(),
    };
    let verb = if args.dry_run { "would mint" } else { "minted" };
    let text = format!(
        "{verb} handoff {} of session {:?} with {} for {whom}: {until}, key id {}, {bytes} bytes",
        build.handoff_id,
        args.session,
        plural(build.facts.len() as u64, "fact"),
        build.key_id
    );
    printer.note(&text);
}
