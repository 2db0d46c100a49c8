//! `cruxctl session delete`, `archive`, `unarchive` and `reap`: changes that need no new state.

use std::borrow::Cow;

use clap::Args;

use super::Change;
use super::view::{Done, absent, find, parsed, tell, write};
use crate::cmd::{Context, plural};
use crate::error::{Code, Error, Result};
use crate::journal::shape::RAW_ID;
use crate::journal::table::Table;
use crate::store::scope::Scope;
use crate::store::session::{JOURNAL, Session, delete_line};

/// Arguments of `session archive`.
#[derive(Args, Debug)]
pub struct Archive {
    /// Which session.
    #[command(flatten)]
    pub change: Change,
    /// Why
    #[arg(long, value_name = "TEXT")]
    pub reason: Option<String>,
}

/// Arguments of `session reap`.
#[derive(Args, Debug)]
pub struct Reap {
    /// Of every agent
    #[arg(long)]
    pub all_agents: bool,
    /// List what would be deleted and delete nothing
    #[arg(long)]
    pub dry_run: bool,
}

/// What JSON text cannot hold cannot be written again.
pub(super) fn writable(found: &Session<'_>) -> Result<()> {
    if found.exact {
        return Ok(());
    }
    let message =
        format!("session {:?} has half of a surrogate pair in a text: it cannot be written again as it is", found.id);
    Err(Error::new(Code::RefusedDaemonUnreadable, message).hint("cruxctl journal repair sessions --for-daemon"))
}

/// Runs `delete`.
pub fn delete(context: &mut Context, args: &Change) -> Result<()> {
    let scope = context.scope(args.one.all_agents)?;
    let stored = scope.stored(&args.one.id).into_owned();
    let (lock, mut table) = context.for_change(&JOURNAL, args.dry_run)?;
    let Some((line, _)) = find(&mut table, &scope, &args.one.id)? else {
        return Err(no_from(context, &mut table, &scope, &args.one.id)?);
    };
    let found = parsed(&table, &line)?;
    if found.id.starts_with(RAW_ID) {
        writable(&found)?;
    }
    let mut done = Done { action: "delete", id: &args.one.id, session: Some(&found), span: None };
    if let Some(lock) = lock {
        let deletion = delete_line(&stored, context.env.now());
        done.span = context.append(&lock, table, &[deletion])?.spans.first().copied();
    }
    tell(context, "cruxctl.session.delete.v1", &[done], args.dry_run)
}

/// A writing verb's "no": from a damaged journal it may be wrong.
fn no_from(context: &mut Context, table: &mut Table, scope: &Scope, id: &str) -> Result<Error> {
    context.doubt_no(table);
    absent(context, table, scope, id)
}

/// Archives, with a reason or without, or un-archives.
pub fn archive(context: &mut Context, args: &Change, reason: Option<Option<&str>>) -> Result<()> {
    let scope = context.scope(args.one.all_agents)?;
    let (lock, mut table) = context.for_change(&JOURNAL, args.dry_run)?;
    let Some((line, _)) = find(&mut table, &scope, &args.one.id)? else {
        return Err(no_from(context, &mut table, &scope, &args.one.id)?);
    };
    let found = parsed(&table, &line)?;
    writable(&found)?;
    let now = context.env.now();
    let new = Session {
        updated_at: now,
        archived: reason.is_some(),
        archived_at: reason.map(|_| now),
        // Archiving once more without a reason keeps the one that is there.
        archive_reason: match reason {
            Some(Some(text)) => Some(Cow::Owned(text.to_owned())),
            Some(None) => found.archive_reason.clone().filter(|_| found.archived),
            None => None,
        },
        ..found.clone()
    };
    let what = match reason {
        Some(_) => ("archive", "cruxctl.session.archive.v1"),
        None => ("unarchive", "cruxctl.session.unarchive.v1"),
    };
    write(context, what, (&args.one.id, &new), (lock, table))
}

/// Runs `reap`.
pub fn reap(context: &mut Context, args: &Reap) -> Result<()> {
    let scope = context.scope(args.all_agents)?;
    let now = context.env.now();
    let (lock, mut table) = context.for_change(&JOURNAL, args.dry_run)?;
    let deleted_at = context.env.now();
    let mut lines = Vec::new();
    let mut ids = Vec::new();
    let mut out_of_scope = 0u64;
    for span in table.spans()? {
        let line = table.opened.read(span)?;
        let found = parsed(&table, &line)?;
        if !found.expired(now) {
            continue;
        }
        let Some(id) = scope.visible(&found.id) else {
            out_of_scope += 1;
            continue;
        };
        if let Err(error) = writable(&found) {
            // One that cannot be deleted keeps nobody from deleting the others.
            if found.id.starts_with(RAW_ID) {
                context.printer.warn_of(&error);
                continue;
            }
        }
        lines.push(delete_line(&found.id, deleted_at));
        ids.push(id.to_owned());
    }
    let mut spans = Vec::new();
    if let Some(lock) = lock
        && !lines.is_empty()
    {
        spans = context.append(&lock, table, &lines)?.spans;
    }
    let done: Vec<Done<'_>> = ids
        .iter()
        .enumerate()
        .map(|(i, id)| Done { action: "reap", id, session: None, span: spans.get(i).copied() })
        .collect();
    tell(context, "cruxctl.session.reap.v1", &done, args.dry_run)?;
    if out_of_scope > 0 {
        let text = format!("{} of other scopes left alone (--all-agents)", plural(out_of_scope, "expired session"));
        context.printer.note(&text);
    }
    Ok(())
}
