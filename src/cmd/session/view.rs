//! What the verbs share: the journal as one verb sees it, what is not there, and what was done.

use std::borrow::Cow;

use clap::Args;

use crate::cmd::Context;
use crate::error::{Code, Error, Result};
use crate::journal::lock::Lock;
use crate::journal::table::Table;
use crate::journal::{Span, append};
use crate::render::{Group, Value, quoted};
use crate::store::scope::{self, Scope};
use crate::store::session::{JOURNAL, Session};

/// The line of a live session that this scope sees, and its place.
pub(in crate::cmd) fn find(table: &mut Table, scope: &Scope, id: &str) -> Result<Option<(Vec<u8>, Span)>> {
    let stored = scope.stored(id);
    if scope.visible(&stored).is_none() { Ok(None) } else { table.get(&stored) }
}

/// A live record's line as a session.
pub(in crate::cmd) fn parsed<'l>(table: &Table, line: &'l [u8]) -> Result<Session<'l>> {
    Session::read(line).ok_or_else(|| table.distrust())
}

/// A command on one session, as it is typed: the verb with its flags, the flags of the scope, the id.
pub(in crate::cmd) fn command(context: &Context, verb: &str, scope: &Scope, id: &str) -> String {
    let flags = match scope {
        Scope::All => " --all-agents".to_owned(),
        // An agent of the environment is there the next time as well.
        Scope::Agent(agent) if context.agent.as_ref() != Some(agent) || context.typed_agent.is_some() => {
            format!(" --agent {}", quoted(agent))
        }
        _ => String::new(),
    };
    let dashes = if id.starts_with('-') { "-- " } else { "" };
    format!("cruxctl session {verb}{flags} {dashes}{}", quoted(id))
}

/// Among how many sessions one that was not found is looked for under other names.
const SUGGEST_AMONG: u64 = 1_000;

/// "No such session", with what else it might have been.
pub(in crate::cmd) fn absent(context: &Context, table: &mut Table, scope: &Scope, id: &str) -> Result<Error> {
    let shown: String = id.chars().take(200).collect();
    let message = match scope {
        Scope::Agent(agent) => format!("agent {agent:?} has no session {shown:?}"),
        Scope::Unscoped => format!("there is no session {shown:?}"),
        Scope::All => format!("there is no stored session id {shown:?}"),
    };
    let mut error = Error::new(Code::NoSession, message);
    let mut near = Vec::new();
    let mut elsewhere = Vec::new();
    // A script that asks whether a session exists must not wait for suggestions.
    let few = table.live.live() <= SUGGEST_AMONG;
    let spans = if few { table.spans()? } else { Vec::new() };
    for span in spans {
        let line = table.opened.read(span)?;
        let Some(found) = Session::read(&line) else { continue };
        match scope.visible(&found.id) {
            Some(visible) if !id.is_empty() && visible.starts_with(id) && near.len() < 5 => {
                near.push(visible.to_owned())
            }
            // An agent is told of ids that belong to nobody, and nothing of other agents.
            None if (*scope == Scope::Unscoped || !found.id.starts_with(scope::PREFIX))
                && scope::split(&found.id).1 == id
                && elsewhere.len() < 5 =>
            {
                elsewhere.push(found.id.into_owned())
            }
            _ => {}
        }
    }
    for id in near {
        error = error.hint(command(context, "get", scope, &id));
    }
    for stored in elsewhere {
        let there = scope::split(&stored).0.map_or(Scope::All, |agent| Scope::Agent(agent.to_owned()));
        error = error.hint(command(context, "get", &there, id));
    }
    if context.agent.is_some() && matches!(scope, Scope::All) {
        error = error.hint("with --all-agents an id is taken as it is stored");
    }
    Ok(error)
}

/// What is said of each change.
pub const CHANGED: &[Group] = &[Group {
    name: "changed",
    one: "changed",
    columns: &["action", "id", "hash", "bytes", "tokens", "offset", "dry_run"],
    shown: &["action", "id", "hash", "bytes", "tokens"],
    blocks: false,
}];

/// One line of what a writing verb did.
pub(super) struct Done<'a> {
    pub(super) action: &'static str,
    pub(super) id: &'a str,
    pub(super) session: Option<&'a Session<'a>>,
    pub(super) span: Option<Span>,
}

pub(super) fn tell(context: &mut Context, schema: &'static str, done: &[Done<'_>], dry_run: bool) -> Result<()> {
    let printer = &mut context.printer;
    let told = (|| {
        printer.begin(schema, CHANGED)?;
        for d in done {
            let cells = [
                Value::text(d.action),
                Value::text(d.id),
                Value::maybe(d.session.map(Session::hash)),
                d.session.map_or(Value::Absent, |s| Value::Count(s.state.len() as u64)),
                d.session.map_or(Value::Absent, |s| Value::Count(s.total_tokens)),
                d.span.map_or(Value::Absent, |s| Value::Count(s.offset)),
                Value::Flag(dry_run),
            ];
            printer.row(0, &[d.id], &cells)?;
        }
        printer.end()
    })();
    told.map_err(|error: Error| error.after(!dry_run && !done.is_empty(), "the record is stored"))
}

/// Writes a session behind the lock, where it is not only tried, and tells of it. `what`: the action, and the answer's
/// schema.
pub(super) fn write(
    context: &mut Context,
    (action, schema): (&'static str, &'static str),
    (id, new): (&str, &Session<'_>),
    (lock, table): (Option<Lock>, Table),
) -> Result<()> {
    let line = new.line();
    append::check_length(&JOURNAL, &line)?;
    let dry_run = lock.is_none();
    let mut done = Done { action, id, session: Some(new), span: None };
    if let Some(lock) = lock {
        done.span = context.append(&lock, table, &[line])?.spans.first().copied();
    }
    tell(context, schema, &[done], dry_run)
}

/// How a session is written.
#[derive(Args, Debug)]
pub struct Writing {
    /// Who writes it [default: the agent]
    #[arg(long, value_name = "NAME")]
    pub actor: Option<String>,
    /// The largest state that is written [default: $CRUXCTL_MAX_STATE_BYTES or 16777216]
    #[arg(long, value_name = "BYTES")]
    pub max_state_bytes: Option<u64>,
    /// Store a state that the daemon cannot read
    #[arg(long)]
    pub allow_daemon_unreadable: bool,
    /// Say what would be done and do nothing
    #[arg(long)]
    pub dry_run: bool,
}

impl Writing {
    /// Who writes it.
    pub(super) fn actor(&self, context: &Context) -> Option<Cow<'static, str>> {
        self.actor.clone().or_else(|| context.agent.clone()).map(Cow::Owned)
    }
}
