//! `cruxctl session restore`: an earlier version becomes the live one again, as a new version.

use std::time::Duration;

use clap::{ArgGroup, Args};

use super::Ever;
use super::change::writable;
use super::put::expiry;
use super::version::{self, When};
use super::view::{Writing, find, tell, write};
use crate::cmd::{Context, input};
use crate::error::Result;
use crate::journal::json;
use crate::render::rfc3339;
use crate::store::session::{DEPTH_AROUND_STATE, JOURNAL, Session};

/// Arguments of `session restore`.
#[derive(Args, Debug)]
#[command(group = ArgGroup::new("version").required(true).args(["rev", "at"]))]
pub struct Restore {
    /// Which session.
    #[command(flatten)]
    pub one: Ever,
    /// Which version.
    #[command(flatten)]
    pub when: When,
    /// Let the session expire after this time span [default: when the version expires, unless that is past]
    #[arg(long, value_name = "TIME", value_parser = humantime::parse_duration)]
    pub ttl: Option<Duration>,
    /// How.
    #[command(flatten)]
    pub writing: Writing,
}

/// Runs the verb.
pub fn run(context: &mut Context, args: &Restore) -> Result<()> {
    let scope = context.scope(args.one.all_agents)?;
    let most = input::most_state_bytes(args.writing.max_state_bytes)?;
    // The whole journal is read before the lock is taken. Its versions stay what they are, whatever comes behind them.
    let found = version::find_to_write(context, &scope, &args.one.id, &args.when)?;
    let was = found.session()?;
    writable(&was)?;
    fits(&was, most, args.writing.allow_daemon_unreadable)?;
    let (lock, mut table) = context.for_change(&JOURNAL, args.writing.dry_run)?;
    let now = context.env.now();
    let current = find(&mut table, &scope, &args.one.id)?;
    // What is live and has expired is of no use to anybody: it is written anew.
    let as_it_is = args.ttl.is_none() && args.writing.actor.is_none() && !was.expired(now);
    if as_it_is && current.is_some_and(|(line, _)| line == found.bytes) {
        let text = format!("version {} is the live one: nothing was written", found.revision.number);
        tell(context, SCHEMA, &[], args.writing.dry_run)?;
        context.printer.note(&text);
        return Ok(());
    }
    let kept = was.expires_at.filter(|at| *at > now);
    let new = Session {
        updated_at: now,
        expires_at: args.ttl.map(|ttl| expiry(ttl, now)).transpose()?.or(kept),
        actor: args.writing.actor(context),
        ..was.clone()
    };
    write(context, ("restore", SCHEMA), (&args.one.id, &new), (lock, table))?;
    if let Some(at) = was.expires_at.filter(|_| new.expires_at.is_none()) {
        let text = format!("that version expired at {}; restored, it does not expire (--ttl)", rfc3339(at));
        context.printer.note(&text);
    }
    Ok(())
}

const SCHEMA: &str = "cruxctl.session.restore.v1";

/// Refuses to write again what `session put` would not write.
fn fits(was: &Session<'_>, most: u64, unreadable: bool) -> Result<()> {
    if was.state.len() as u64 > most {
        return Err(input::too_large(&was.state.len().to_string(), most));
    }
    let quirks = json::whole(was.state, DEPTH_AROUND_STATE).map(|(_, quirks)| quirks).unwrap_or_default();
    let Some((at, why)) = input::loses(&quirks).filter(|_| !unreadable) else { return Ok(()) };
    Err(input::unreadable_for_daemon(&format!("{why}, at byte {at}")))
}
