//! `cruxctl durable close`, `kill` and `delete`: how a session ends.

use chrono::{DateTime, Utc};
use clap::Args;

use super::open::tell;
use super::{Which, cursor, for_change, session, write};
use crate::cmd::Context;
use crate::error::Result;
use crate::render::{Group, Value};
use crate::store::durable::{Session, State};

/// Arguments of `durable close`.
#[derive(Args, Debug)]
pub struct Close {
    /// Which session.
    #[command(flatten)]
    pub which: Which,
    /// Say what would be done and do nothing
    #[arg(long)]
    pub dry_run: bool,
}

/// Arguments of `durable kill`.
#[derive(Args, Debug)]
pub struct Kill {
    /// Which session.
    #[command(flatten)]
    pub which: Which,
    /// Say what would be done and do nothing
    #[arg(long)]
    pub dry_run: bool,
}

/// Arguments of `durable delete`.
#[derive(Args, Debug)]
pub struct Delete {
    /// Which session.
    #[command(flatten)]
    pub which: Which,
    /// Say what would be done and do nothing
    #[arg(long)]
    pub dry_run: bool,
}

/// What is said of a session that ends.
pub const ENDED: &[Group] = &[Group {
    name: "sessions",
    one: "session",
    columns: &[
        "id",
        "state",
        "accepted_cursor",
        "processed_cursor",
        "pending_inputs",
        "pending_work",
        "changed",
        "dry_run",
    ],
    shown: &["id", "state", "pending_inputs", "pending_work"],
    blocks: false,
}];

/// Runs `durable close`.
pub fn close(context: &mut Context, args: &Close) -> Result<()> {
    end(context, &args.which, args.dry_run, ("close", "cruxctl.durable.close.v1"), Session::close)
}

/// Runs `durable kill`.
pub fn kill(context: &mut Context, args: &Kill) -> Result<()> {
    end(context, &args.which, args.dry_run, ("kill", "cruxctl.durable.kill.v1"), Session::kill)
}

/// Runs `durable delete`.
pub fn delete(context: &mut Context, args: &Delete) -> Result<()> {
    end(context, &args.which, args.dry_run, ("delete", "cruxctl.durable.delete.v1"), Session::delete)
}

fn end(
    context: &mut Context,
    which: &Which,
    dry_run: bool,
    (op, schema): (&str, &'static str),
    change: fn(&mut Session, DateTime<Utc>) -> Result<bool>,
) -> Result<()> {
    let (lock, mut table) = for_change(context, dry_run)?;
    let found = match session(&mut table, &which.id())? {
        // Who deletes twice has what they want.
        Some(found) if found.state == State::Deleted && op == "delete" => Ok(found),
        _ => super::find_to_change(&mut table, which),
    };
    let mut ended = found?;
    let changed = change(&mut ended, context.env.now())?;
    if changed {
        write(context, lock, table, ended.line(op))?;
    }
    let cells = [
        Value::text(&*ended.session_id),
        Value::text(ended.state.name()),
        cursor(ended.accepted),
        cursor(ended.processed),
        Value::Count(ended.pending_inputs()),
        Value::Count(ended.pending_work()),
        Value::Flag(changed),
        Value::Flag(dry_run),
    ];
    let done = changed && !dry_run;
    let told = tell(context, schema, ENDED, &ended.session_id, &cells);
    told.map_err(|error| error.after(done, &format!("{} is {}", ended.session_id, ended.state.name())))
}
