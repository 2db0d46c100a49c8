//! `cruxctl durable open`, `get` and `fork`: which session it is.

use clap::Args;

use super::{Which, find, find_to_change, of_key, session, whole, write};
use crate::cmd::complete::{Durable, Offers};
use crate::cmd::{Context, input};
use crate::error::{Code, Error, Result};
use crate::render::{Group, Value};
use crate::store::durable::identity::Keyed;
use crate::store::durable::{ForkedFrom, JOURNAL, Session, State, TargetKind};

/// Arguments of `durable open`.
#[derive(Args, Debug)]
pub struct Open {
    /// The agent's id or the flow's name
    #[arg(long, value_name = "TARGET", add = Offers::Durable(Durable::Targets))]
    pub target: String,
    /// Which of the two it is
    #[arg(long, value_enum, value_name = "KIND")]
    pub kind: TargetKind,
    /// What the session is for, for example an order or a customer
    #[arg(long, value_name = "KEY", add = Offers::Durable(Durable::Keys))]
    pub key: String,
    /// Where the key counts
    #[arg(long, value_name = "NAMESPACE", default_value = super::NAMESPACE, add = Offers::Durable(Durable::Namespaces))]
    pub namespace: String,
    /// Say what would be done and do nothing
    #[arg(long)]
    pub dry_run: bool,
}

/// Arguments of `durable get`.
#[derive(Args, Debug)]
pub struct Get {
    /// Which session.
    #[command(flatten)]
    pub which: Which,
}

/// Arguments of `durable fork`.
#[derive(Args, Debug)]
pub struct Fork {
    /// Which session.
    #[command(flatten)]
    pub which: Which,
    /// Say what would be done and do nothing
    #[arg(long)]
    pub dry_run: bool,
}

/// What is said of a session that was opened.
pub const OPENED: &[Group] = &[Group {
    name: "sessions",
    one: "session",
    columns: &["id", "thread_id", "created", "dry_run", "status"],
    shown: &["id", "created", "status"],
    blocks: false,
}];

/// What is said of a child.
pub const FORKED: &[Group] = &[Group {
    name: "sessions",
    one: "session",
    columns: &["id", "thread_id", "forked_from", "created", "dry_run"],
    shown: &["id", "created"],
    blocks: false,
}];

/// Runs `durable open`.
pub fn open(context: &mut Context, args: &Open) -> Result<()> {
    for (what, text) in [("target", &args.target), ("key", &args.key), ("namespace", &args.namespace)] {
        input::check_new(what, text, None)?;
    }
    let (lock, mut table) = context.for_new(&JOURNAL, args.dry_run)?;
    whole(&table)?;
    let keyed = Keyed::of(&args.namespace, &args.target, &args.key);
    let found = match session(&mut table, &keyed.session_id)? {
        Some(found) => Some(found),
        None => of_key(&mut table, &keyed)?,
    };
    let created = found.is_none();
    let opened = match found {
        Some(found) if found.state == State::Deleted => return Err(super::tombstoned(&found)),
        Some(found) if found.target_id != args.target || found.target_kind != args.kind => {
            return Err(super::conflict(&found, &args.target));
        }
        Some(found) => found,
        None => {
            let new = Session::open(&args.namespace, (&args.target, args.kind), &args.key, context.env.now());
            write(context, lock, table, new.line("open"))?;
            new
        }
    };
    let cells = [
        Value::text(&*opened.session_id),
        Value::text(&*opened.thread_id),
        Value::Flag(created),
        Value::Flag(args.dry_run),
        Value::text(opened.status().name()),
    ];
    let told = tell(context, "cruxctl.durable.open.v1", OPENED, &opened.session_id, &cells);
    told.map_err(|error| error.after(created && !args.dry_run, &format!("{} is open", opened.session_id)))
}

/// Answers with one row.
pub(super) fn tell(
    context: &mut Context,
    schema: &'static str,
    groups: &'static [Group],
    id: &str,
    cells: &[Value<'_>],
) -> Result<()> {
    context.printer.begin(schema, groups)?;
    context.printer.row(0, &[id], cells)?;
    context.printer.end()
}

/// Runs `durable get`.
pub fn get(context: &mut Context, args: &Get) -> Result<()> {
    let mut table = context.table(&JOURNAL, true)?;
    let found = match &args.which.key {
        // A key that is gone is another answer than one that was never there.
        Some(_) => find_to_change(&mut table, &args.which)?,
        None => find(&mut table, &args.which)?,
    };
    let forked = forked_from(&found);
    context.printer.begin("cruxctl.durable.get.v1", &[])?;
    context.printer.fields(
        Some(&found.session_id),
        &[
            ("id", Value::text(&*found.session_id)),
            ("thread_id", Value::text(&*found.thread_id)),
            ("namespace", Value::text(&*found.namespace)),
            ("target_id", Value::text(&*found.target_id)),
            ("target_kind", Value::text(found.target_kind.name())),
            ("key", Value::maybe(found.key.as_deref())),
            ("key_hash", Value::text(&*found.key_hash)),
            ("forked_from", forked.as_deref().map_or(Value::Absent, Value::Json)),
            ("state", Value::text(found.state.name())),
            ("created_at", Value::Time(found.created_at)),
            ("updated_at", Value::Time(found.updated_at)),
        ],
    )?;
    context.printer.end()
}

/// Where a session was forked from, as JSON.
pub(super) fn forked_from(session: &Session) -> Option<Vec<u8>> {
    let ForkedFrom { session_id, cursor, thread_revision } = session.forked_from.as_ref()?;
    let json = serde_json::json!({
        "session_id": session_id,
        "cursor": cursor.to_string(),
        "thread_revision": thread_revision.to_string(),
    });
    serde_json::to_vec(&json).ok()
}

/// Runs `durable fork`.
pub fn fork(context: &mut Context, args: &Fork) -> Result<()> {
    let (lock, mut table) = super::for_change(context, args.dry_run)?;
    let parent = find_to_change(&mut table, &args.which)?;
    let new = parent.fork(context.env.now())?;
    let found = session(&mut table, &new.session_id)?;
    let created = found.is_none();
    let child = match found {
        Some(found) if found.state == State::Deleted => {
            let message = format!("its child {} at this place was deleted, and never comes back", found.session_id);
            return Err(Error::new(Code::RefusedSessionTombstoned, message));
        }
        Some(found) => found,
        None => {
            write(context, lock, table, new.line("fork"))?;
            new
        }
    };
    let forked = forked_from(&child);
    let cells = [
        Value::text(&*child.session_id),
        Value::text(&*child.thread_id),
        forked.as_deref().map_or(Value::Absent, Value::Json),
        Value::Flag(created),
        Value::Flag(args.dry_run),
    ];
    let told = tell(context, "cruxctl.durable.fork.v1", FORKED, &child.session_id, &cells);
    told.map_err(|error| error.after(created && !args.dry_run, &format!("{} is open", child.session_id)))
}
