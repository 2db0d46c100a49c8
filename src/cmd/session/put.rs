//! `cruxctl session put`: a state goes in, whole and on disk, or not at all.

use std::borrow::Cow;
use std::path::PathBuf;
use std::time::Duration;

use chrono::{DateTime, TimeDelta, Utc};
use clap::Args;

use super::One;
use super::view::{Writing, command, find, parsed, write};
use crate::cmd::{Context, input};
use crate::error::{Code, Error, Result};
use crate::store::session::{self, JOURNAL, Session};

/// Arguments of `session put`.
#[derive(Args, Debug)]
pub struct Put {
    /// Which session.
    #[command(flatten)]
    pub one: One,
    /// Read the state from this file instead of standard input
    #[arg(long, value_name = "FILE", value_hint = clap::ValueHint::FilePath)]
    pub file: Option<PathBuf>,
    /// Let the session expire after this time span, for example 90m, 2h or 3days
    #[arg(long, value_name = "TIME", value_parser = humantime::parse_duration)]
    pub ttl: Option<Duration>,
    /// Only if there is no such session
    #[arg(long, conflicts_with = "if_match")]
    pub if_absent: bool,
    /// Only if the current state has this BLAKE3 hash, as `session show` prints it
    #[arg(long, value_name = "HASH")]
    pub if_match: Option<String>,
    /// How.
    #[command(flatten)]
    pub writing: Writing,
}

/// Runs the verb.
pub fn run(context: &mut Context, args: Put) -> Result<()> {
    let scope = context.scope(args.one.all_agents)?;
    let stored = scope.stored(&args.one.id).into_owned();
    let most = input::most_state_bytes(args.writing.max_state_bytes)?;
    let if_match = match &args.if_match {
        Some(text) => Some(text.parse::<blake3::Hash>().map_err(|_| {
            let message = format!("--if-match {text:?} is no BLAKE3 hash of 64 hex digits");
            Error::new(Code::UsageArguments, message).hint(command(context, "show", &scope, &args.one.id))
        })?),
        None => None,
    };
    let expires_at = args.ttl.map(|ttl| expiry(ttl, context.env.now())).transpose()?;
    let state = input::state(args.file.as_deref(), most)?;
    if let Some(why) = state.daemon_loses.filter(|_| !args.writing.allow_daemon_unreadable) {
        return Err(input::unreadable_for_daemon(&why));
    }
    let (lock, mut table) = context.for_new(&JOURNAL, args.writing.dry_run)?;
    let current = find(&mut table, &scope, &args.one.id)?;
    let current = current.as_ref().map(|(line, _)| parsed(&table, line)).transpose()?;
    match (&current, if_match) {
        (None, _) => input::check_new_id(&args.one.id, args.one.all_agents)?,
        (Some(current), _) if args.if_absent => {
            let message = format!("session {:?} exists; its state has the hash {}", args.one.id, current.hash());
            return Err(Error::new(Code::RefusedExists, message));
        }
        (Some(current), Some(wanted)) if blake3::hash(current.state) != wanted => {
            let message = format!(
                "session {:?} has changed: its state now has the hash {}, not {wanted}",
                args.one.id,
                current.hash()
            );
            let hint = command(context, "get", &scope, &args.one.id);
            return Err(Error::new(Code::RefusedChanged, message).hint(hint));
        }
        (Some(_), _) => {}
    }
    if current.is_none() && if_match.is_some() {
        let message = format!("session {:?} does not exist, so its state cannot have that hash", args.one.id);
        return Err(Error::new(Code::RefusedChanged, message));
    }
    let new = Session {
        id: Cow::Borrowed(&stored),
        state: &state.text,
        updated_at: context.env.now(),
        total_tokens: session::tokens(&state.text),
        expires_at,
        archived: false,
        archived_at: None,
        archive_reason: None,
        actor: args.writing.actor(context),
        others: String::new(),
        exact: true,
    };
    write(context, ("put", "cruxctl.session.put.v1"), (&args.one.id, &new), (lock, table))
}

/// When a session expires that does so after this time span.
pub(super) fn expiry(ttl: Duration, now: DateTime<Utc>) -> Result<DateTime<Utc>> {
    let at = TimeDelta::from_std(ttl).ok().and_then(|ttl| now.checked_add_signed(ttl));
    at.ok_or_else(|| Error::new(Code::UsageArguments, "--ttl is longer than time can be told"))
}
