//! `cruxctl session diff`: what differs between two versions of a state, with every value as it is written.

use std::borrow::Cow;

use clap::Args;
use serde::Serialize;

use super::Ever;
use super::version::{Walk, never, walk};
use super::view::command;
use crate::cmd::complete::Offers;
use crate::cmd::{Context, plural};
use crate::error::{Code, Error, Result};
use crate::journal::table::rewritten;
use crate::render::{Format, Group, Printer, Value, rfc3339};
use crate::store::diff::{Change, diff};
use crate::store::session::{JOURNAL, Session, Version};

/// Arguments of `session diff`.
#[derive(Args, Debug)]
pub struct DiffArgs {
    /// Which session.
    #[command(flatten)]
    pub one: Ever,
    /// The version before, as `session history` counts them [default: the one in front of the other]
    #[arg(value_name = "A", add = Offers::Revisions)]
    pub before: Option<u64>,
    /// The version afterwards [default: the last one]
    #[arg(value_name = "B", add = Offers::Revisions)]
    pub after: Option<u64>,
}

/// What is said of each difference.
pub const DIFFERENCES: &[Group] = &[Group {
    name: "differences",
    one: "difference",
    columns: &["of", "path", "change", "before", "after"],
    shown: &[],
    blocks: false,
}];

/// What is known of a session beside its state.
#[derive(Serialize)]
struct Around<'s> {
    expires_at: Option<String>,
    archived: bool,
    archived_at: Option<String>,
    archive_reason: Option<&'s str>,
    actor: Option<&'s str>,
}

/// The same as a JSON text, with what other versions have added.
fn around(session: &Session<'_>) -> Vec<u8> {
    let around = Around {
        expires_at: session.expires_at.map(rfc3339),
        archived: session.archived,
        archived_at: session.archived_at.map(rfc3339),
        archive_reason: session.archive_reason.as_deref(),
        actor: session.actor.as_deref(),
    };
    // It cannot fail: it is a struct of texts.
    let mut text = serde_json::to_vec(&around).unwrap_or_default();
    text.pop();
    text.extend_from_slice(session.others.as_bytes());
    text.push(b'}');
    text
}

/// A version's number and bytes.
type Record = (u64, Vec<u8>);

/// Runs the verb.
pub fn run(context: &mut Context, args: &DiffArgs) -> Result<()> {
    let scope = context.scope(args.one.all_agents)?;
    // The two that are wanted; without numbers always the last two.
    let (mut old, mut new): (Option<Record>, Option<Record>) = (None, None);
    let Walk { history, .. } = walk(context, &scope, &args.one.id, &mut |_, _, revision, bytes| {
        let this = || Some((revision.number, bytes.to_vec()));
        if args.after.is_none_or(|after| revision.number <= after) {
            let front = new.take();
            if args.before.is_none() {
                old = front;
            }
            new = this();
        }
        if args.before == Some(revision.number) {
            old = this();
        }
        Ok(())
    })?;
    if history.revisions == 0 {
        return Err(never(context, &scope, &args.one.id)?);
    }
    for wanted in [args.before, args.after].into_iter().flatten() {
        if wanted == 0 || wanted > history.revisions {
            let has = plural(history.revisions, "version");
            let message = format!("session {:?} has {has}; there is no {wanted}", args.one.id);
            let hint = command(context, "history", &scope, &args.one.id);
            return Err(Error::new(Code::NoRevision, message).hint(hint));
        }
    }
    let (before, after) = (session(old.as_ref())?, session(new.as_ref())?);
    let numbers = [&old, &new].map(|version| version.as_ref().map(|(number, _)| *number));
    tell(context, before.as_ref(), after.as_ref(), numbers)
}

/// The session that a version was; `None` where it was none, or was deleted.
fn session(version: Option<&Record>) -> Result<Option<Session<'_>>> {
    let Some((_, bytes)) = version else { return Ok(None) };
    match Version::read(bytes) {
        Some(Version::Stored(session)) => Ok(Some(*session)),
        Some(Version::Deleted(_)) => Ok(None),
        None => Err(rewritten(&JOURNAL)),
    }
}

fn tell(
    context: &mut Context,
    before: Option<&Session<'_>>,
    after: Option<&Session<'_>>,
    numbers: [Option<u64>; 2],
) -> Result<()> {
    let printer = &mut context.printer;
    printer.begin("cruxctl.session.diff.v1", DIFFERENCES)?;
    let mut differs = false;
    let (old, new) = (before.map(around), after.map(around));
    let parts = [
        ("state", before.map(|session| session.state), after.map(|session| session.state)),
        ("session", old.as_deref(), new.as_deref()),
    ];
    for (of, before, after) in parts {
        let mut take = |path: &str, change: Change<'_>| {
            differs = true;
            row(printer, of, path, change)
        };
        match (before, after) {
            (Some(before), Some(after)) => diff(before, after, &mut take)?,
            // There was no session, or there is none any more.
            (None, None) => {}
            (before, after) if of == "state" => take(".", Change { before, after })?,
            _ => {}
        }
    }
    let [before, after] = numbers.map(|number| number.map_or(Value::Absent, Value::Count));
    printer.fields(None, &[("before_rev", before), ("after_rev", after)])?;
    printer.end()?;
    if !differs {
        let text = match numbers {
            [Some(before), Some(after)] => format!("versions {before} and {after} say the same"),
            _ => "there is only one version".to_owned(),
        };
        printer.note(&text);
    }
    Ok(())
}

fn row(printer: &mut Printer, of: &str, path: &str, change: Change<'_>) -> Result<()> {
    let table = printer.format() == Format::Table;
    let side = |value: Option<&'_ [u8]>| -> Value<'static> {
        value.map_or(Value::Absent, |value| Value::Long(Cow::Owned(String::from_utf8_lossy(value).into_owned())))
    };
    let json = |value| match value {
        Some(value) => Value::Json(value),
        None => Value::Absent,
    };
    let (before, after) = match table {
        true => (side(change.before), side(change.after)),
        false => (json(change.before), json(change.after)),
    };
    let cells = [Value::text(of), Value::text(path), Value::text(change.name()), before, after];
    printer.row(0, &[path], &cells)
}
