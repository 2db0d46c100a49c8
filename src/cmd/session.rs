//! `cruxctl session`: opaque JSON states by id, scoped by agent.

use std::borrow::Cow;
use std::path::PathBuf;
use std::time::Duration;

use chrono::TimeDelta;
use clap::{Args, Subcommand, ValueEnum};

use super::{Context, input, moment, plural};
use crate::env;
use crate::error::{Code, Error, Result};
use crate::journal::append::{self, Appended};
use crate::journal::lock::Lock;
use crate::journal::replay::{self, Opened, Seen};
use crate::journal::scan::Item;
use crate::journal::{Replay, Span};
use crate::render::{Group, Value, quoted};
use crate::store::scope::{self, Scope};
use crate::store::session::{self, JOURNAL, Session, Sessions};

/// The largest state that is written unless a flag or variable raises it.
const MAX_STATE_BYTES: u64 = 16 << 20;

/// Arguments of `cruxctl session`.
#[derive(Args, Debug)]
pub struct SessionArgs {
    /// The verb.
    #[command(subcommand)]
    pub verb: Verb,
}

/// The verbs of `cruxctl session`.
#[derive(Debug, Subcommand)]
pub enum Verb {
    /// Store a state under an id
    ///
    /// The state is one JSON value, read from standard input or a file. One line is kept byte for byte; a text with
    /// raw line breaks loses the white space between tokens and nothing else. A put replaces the whole session: over
    /// an archived one it un-archives it, and without --ttl the session no longer expires. The command succeeds only
    /// when the record is on disk and was read back.
    Put(Put),
    /// Print a session's state: its bytes and one line end
    Get(Get),
    /// Show a session's document: scope, sizes, times, hash, place in the journal
    Show(One),
    /// List sessions, the one written last first
    ///
    /// Archived sessions are hidden unless --archived or --all is given. Expired ones are shown and marked.
    List(List),
    /// Delete a session; this cannot be taken back
    Delete(Change),
    /// Hide a session from lists; it is kept in full
    Archive(Archive),
    /// Show an archived session in lists again
    Unarchive(Change),
    /// Delete the sessions that have expired
    Reap(Reap),
}

/// Which session, through whose eyes.
#[derive(Args, Debug)]
pub struct One {
    /// The session's id
    pub id: String,
    /// Take the id as it is stored, whatever agent it belongs to
    #[arg(long)]
    pub all_agents: bool,
}

/// A change of one session.
#[derive(Args, Debug)]
pub struct Change {
    /// Which session.
    #[command(flatten)]
    pub one: One,
    /// Say what would be done and do nothing
    #[arg(long)]
    pub dry_run: bool,
}

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
    /// Who writes it [default: the agent]
    #[arg(long, value_name = "NAME")]
    pub actor: Option<String>,
    /// Only if there is no such session
    #[arg(long, conflicts_with = "if_match")]
    pub if_absent: bool,
    /// Only if the current state has this BLAKE3 hash, as `session show` prints it
    #[arg(long, value_name = "HASH")]
    pub if_match: Option<String>,
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

/// Arguments of `session get`.
#[derive(Args, Debug)]
pub struct Get {
    /// Which session.
    #[command(flatten)]
    pub one: One,
    /// Print an expired session too
    #[arg(long)]
    pub expired: bool,
    /// Exact bytes on a terminal too
    #[arg(long, conflicts_with_all = ["format", "json"])]
    pub raw: bool,
}

/// How `session list` is ordered.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Sort {
    /// Last write first, by the order of the journal
    Written,
    /// By id
    Id,
    /// Latest updated_at first
    Updated,
    /// Largest state first
    Size,
}

/// Arguments of `session list`.
#[derive(Args, Debug)]
pub struct List {
    /// Every stored id as it is, whatever agent it belongs to
    #[arg(long)]
    pub all_agents: bool,
    /// Only archived sessions
    #[arg(long, conflicts_with = "all")]
    pub archived: bool,
    /// Archived sessions too
    #[arg(long)]
    pub all: bool,
    /// Only ids that begin with this
    #[arg(long, value_name = "TEXT")]
    pub prefix: Option<String>,
    /// Only sessions updated since this RFC 3339 time, or within this time span (2h)
    #[arg(long, value_name = "TIME")]
    pub since: Option<String>,
    /// The order
    #[arg(long, value_enum, default_value = "written")]
    pub sort: Sort,
    /// The other way round
    #[arg(long)]
    pub reverse: bool,
    /// At most this many
    #[arg(long, value_name = "N")]
    pub limit: Option<u64>,
}

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

/// Runs a verb.
pub fn run(context: &mut Context, args: SessionArgs) -> Result<()> {
    match args.verb {
        Verb::Put(args) => put(context, args),
        Verb::Get(args) => get(context, &args),
        Verb::Show(args) => show(context, &args),
        Verb::List(args) => list(context, &args),
        Verb::Delete(args) => delete(context, &args),
        Verb::Archive(args) => archive(context, &args.change, Some(args.reason.as_deref())),
        Verb::Unarchive(args) => archive(context, &args, None),
        Verb::Reap(args) => reap(context, &args),
    }
}

/// The journal of sessions as one verb sees it.
struct Loaded {
    opened: Opened,
    live: Sessions,
    seen: Seen,
}

impl Loaded {
    fn from(opened: Opened) -> Result<Loaded> {
        let mut live = Sessions::default();
        let seen = opened.scan(
            &JOURNAL,
            &mut |record| {
                live.record(record);
                Ok(())
            },
            &mut |_| Ok(()),
        )?;
        Ok(Loaded { opened, live, seen })
    }

    /// Reads without a lock. `answers`: what is read is the answer, so that damage counts.
    fn read(context: &mut Context, answers: bool) -> Result<Loaded> {
        missing_folder(context);
        let loaded = Loaded::from(replay::open(&context.dir, &JOURNAL)?)?;
        context.tell_damage(&JOURNAL, &loaded.seen, answers);
        Ok(loaded)
    }

    /// Reads behind the lock, for a verb that decides by what is there. The long reading is done before the lock is
    /// taken, so that behind it only what others have written meanwhile is left to read.
    fn locked(context: &mut Context) -> Result<(Lock, Loaded)> {
        let before = Loaded::from(replay::open(&context.dir, &JOURNAL)?)?;
        let lock = Lock::take(&context.dir, context.lock_timeout)?;
        let opened = replay::open_locked(&context.dir, &JOURNAL, &lock)?;
        let loaded = match opened.grown_from(&before.opened)? {
            Some(mut stretch) => {
                let Loaded { mut live, mut seen, .. } = before;
                stretch.lines_before = seen.totals.lines;
                let more = opened.scan_items(&JOURNAL, stretch, &mut |item| {
                    if let Item::Record(record) = item {
                        live.record(record);
                    }
                    Ok(())
                })?;
                seen.add(more);
                Loaded { opened, live, seen }
            }
            None => Loaded::from(opened)?,
        };
        context.tell_damage(&JOURNAL, &loaded.seen, false);
        Ok((lock, loaded))
    }

    /// The line of a live session that this scope sees, and its place.
    fn line(&self, scope: &Scope, id: &str) -> Result<Option<(Vec<u8>, Span)>> {
        let stored = scope.stored(id);
        let span = scope.visible(&stored).and_then(|_| self.live.0.get(&stored));
        let Some(span) = span else { return Ok(None) };
        Ok(Some((self.opened.read(span)?, span)))
    }
}

fn missing_folder(context: &mut Context) {
    if !context.dir.root.exists() {
        let text = format!("there is no data directory {}; the first write makes it", context.dir.root.display());
        context.printer.note(&text);
    }
}

/// A command on one session, as it is typed: the verb with its flags, the flags of the scope, the id.
fn command(context: &Context, verb: &str, scope: &Scope, id: &str) -> String {
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

fn session(line: &[u8]) -> Result<Session<'_>> {
    // The line was a record a moment ago; it is none only if somebody rewrote the journal in place.
    Session::read(line).ok_or_else(|| {
        Error::new(Code::BusyChanging, "sessions.jsonl was rewritten while it was read; run the command again")
    })
}

/// Among how many sessions one that was not found is looked for under other names.
const SUGGEST_AMONG: u64 = 20_000;

/// "No such session", with what else it might have been.
fn absent(context: &Context, loaded: &Loaded, scope: &Scope, id: &str) -> Result<Error> {
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
    let spans = if loaded.live.live() <= SUGGEST_AMONG { loaded.live.0.spans() } else { Vec::new() };
    for span in spans {
        let line = loaded.opened.read(span)?;
        let Some(found) = Session::read(&line) else { continue };
        match scope.visible(&found.id) {
            Some(visible) if !id.is_empty() && visible.starts_with(id) && near.len() < 5 => {
                near.push(visible.to_owned())
            }
            // An agent is told nothing of others.
            None if *scope == Scope::Unscoped && scope::split(&found.id).1 == id && elsewhere.len() < 5 => {
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

const CHANGED: &[Group] = &[Group {
    name: "changed",
    one: "changed",
    columns: &["action", "id", "hash", "bytes", "tokens", "offset", "dry_run"],
    shown: &["action", "id", "hash", "bytes", "tokens"],
    blocks: false,
}];

/// One line of what a writing verb did.
struct Done<'a> {
    action: &'static str,
    id: &'a str,
    session: Option<&'a Session<'a>>,
    span: Option<Span>,
}

fn tell(context: &mut Context, schema: &'static str, done: &[Done<'_>], dry_run: bool) -> Result<()> {
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
    told.map_err(|mut error: Error| {
        if !dry_run && !done.is_empty() {
            error.message.push_str("; the record is stored");
        }
        error
    })
}

fn write(context: &mut Context, lock: &Lock, lines: &[Vec<u8>]) -> Result<Appended> {
    let appended = append::append(&context.dir, &JOURNAL, lock, lines, context.sync)?;
    for note in &appended.notes {
        context.printer.note(note);
    }
    Ok(appended)
}

fn put(context: &mut Context, args: Put) -> Result<()> {
    let scope = context.scope(args.one.all_agents)?;
    let stored = scope.stored(&args.one.id).into_owned();
    let most = match (args.max_state_bytes, env::var("CRUXCTL_MAX_STATE_BYTES")) {
        (Some(bytes), _) => bytes,
        (None, Some(text)) => text.parse().map_err(|_| {
            Error::new(
                Code::UsageArguments,
                format!("CRUXCTL_MAX_STATE_BYTES is {text:?}, which is no number of bytes"),
            )
        })?,
        (None, None) => MAX_STATE_BYTES,
    };
    let if_match = match &args.if_match {
        Some(text) => Some(text.parse::<blake3::Hash>().map_err(|_| {
            let message = format!("--if-match {text:?} is no BLAKE3 hash of 64 hex digits");
            Error::new(Code::UsageArguments, message).hint(command(context, "show", &scope, &args.one.id))
        })?),
        None => None,
    };
    let expires_at = match args.ttl {
        Some(ttl) => {
            let at = TimeDelta::from_std(ttl).ok().and_then(|ttl| context.env.now().checked_add_signed(ttl));
            Some(at.ok_or_else(|| Error::new(Code::UsageArguments, "--ttl is longer than time can be told"))?)
        }
        None => None,
    };
    let state = input::state(args.file.as_deref(), most)?;
    if let Some(why) = state.daemon_loses.filter(|_| !args.allow_daemon_unreadable) {
        let message = format!("the daemon would lose this session: {why}");
        return Err(Error::new(Code::RefusedDaemonUnreadable, message)
            .hint("store it all the same: --allow-daemon-unreadable"));
    }
    let (lock, loaded) = if args.dry_run {
        (None, Loaded::read(context, false)?)
    } else {
        let (lock, loaded) = Loaded::locked(context)?;
        (Some(lock), loaded)
    };
    let current = loaded.line(&scope, &args.one.id)?;
    let current = current.as_ref().map(|(line, _)| session(line)).transpose()?;
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
        actor: args.actor.as_deref().or(context.agent.as_deref()).map(|a| Cow::Owned(a.to_owned())),
        others: String::new(),
    };
    let line = new.line();
    append::check_length(&JOURNAL, &line)?;
    let mut done = Done { action: "put", id: &args.one.id, session: Some(&new), span: None };
    if let Some(lock) = lock {
        let appended = write(context, &lock, &[line])?;
        done.span = appended.spans.first().copied();
    }
    tell(context, "cruxctl.session.put.v1", &[done], args.dry_run)
}

fn get(context: &mut Context, args: &Get) -> Result<()> {
    let scope = context.scope(args.one.all_agents)?;
    let loaded = Loaded::read(context, true)?;
    let Some((line, _)) = loaded.line(&scope, &args.one.id)? else {
        return Err(absent(context, &loaded, &scope, &args.one.id)?);
    };
    let found = session(&line)?;
    if found.expired(context.env.now()) && !args.expired {
        let at = found.expires_at.map(crate::render::rfc3339).unwrap_or_default();
        let message = format!("session {:?} has expired at {at}; it stays until it is reaped", args.one.id);
        let hint = command(context, "get --expired", &scope, &args.one.id);
        return Err(Error::new(Code::RefusedExpired, message).hint(hint));
    }
    if args.raw || context.printer.wants_raw() {
        context.printer.raw(found.state)?;
        context.printer.raw(b"\n")?;
        return context.printer.flush();
    }
    let printer = &mut context.printer;
    if printer.format() == crate::render::Format::Table || printer.format() == crate::render::Format::Plain {
        let text = String::from_utf8_lossy(found.state);
        let safe = crate::render::for_terminal(&text);
        printer.raw(safe.as_bytes())?;
        printer.raw(b"\n")?;
        return printer.flush();
    }
    printer.begin("cruxctl.session.get.v1", &[])?;
    printer.fields(
        Some(&args.one.id),
        &[
            ("id", Value::text(&*args.one.id)),
            ("hash", Value::text(found.hash())),
            ("state", Value::Json(found.state)),
        ],
    )?;
    printer.end()
}

fn show(context: &mut Context, args: &One) -> Result<()> {
    let scope = context.scope(args.all_agents)?;
    let loaded = Loaded::read(context, true)?;
    let Some((line, span)) = loaded.line(&scope, &args.id)? else {
        return Err(absent(context, &loaded, &scope, &args.id)?);
    };
    let found = session(&line)?;
    let line_number = loaded.opened.line_of(span.offset)?;
    let (agent, logical) = scope::split(&found.id);
    let fields = [
        ("id", Value::text(&*args.id)),
        ("stored_id", Value::text(&*found.id)),
        ("agent", Value::maybe(agent)),
        ("logical_id", Value::text(logical)),
        ("bytes", Value::Count(found.state.len() as u64)),
        ("tokens", Value::Count(found.total_tokens)),
        ("hash", Value::text(found.hash())),
        ("updated_at", Value::Time(found.updated_at)),
        ("expires_at", Value::time(found.expires_at)),
        ("expired", Value::Flag(found.expired(context.env.now()))),
        ("archived", Value::Flag(found.archived)),
        ("archived_at", Value::time(found.archived_at)),
        ("archive_reason", Value::maybe(found.archive_reason.as_deref())),
        ("actor", Value::maybe(found.actor.as_deref())),
        ("journal", Value::text(loaded.opened.path.display().to_string())),
        ("line", Value::Count(line_number)),
        ("offset", Value::Count(span.offset)),
        ("length", Value::Count(span.len)),
    ];
    context.printer.begin("cruxctl.session.show.v1", &[])?;
    context.printer.fields(Some(&args.id), &fields)?;
    context.printer.end()
}

const LISTED: &[Group] = &[Group {
    name: "sessions",
    one: "session",
    columns: &["id", "updated_at", "bytes", "tokens", "expires_at", "expired", "archived", "actor"],
    shown: &[],
    blocks: false,
}];

fn list(context: &mut Context, args: &List) -> Result<()> {
    let scope = context.scope(args.all_agents)?;
    let now = context.env.now();
    let since = args.since.as_deref().map(|text| moment(text, now)).transpose()?;
    let loaded = Loaded::read(context, true)?;
    let mut spans = loaded.live.0.spans();
    spans.reverse();
    if args.sort != Sort::Written {
        spans = sorted(&loaded, spans, args.sort)?;
    }
    if args.reverse {
        spans.reverse();
    }
    let (mut out_of_scope, mut archived, mut shown) = (0u64, 0u64, 0u64);
    context.printer.begin("cruxctl.session.list.v1", LISTED)?;
    for span in spans {
        if context.printer.gone() {
            return Ok(());
        }
        let line = loaded.opened.read(span)?;
        let found = session(&line)?;
        let Some(id) = scope.visible(&found.id) else {
            out_of_scope += 1;
            continue;
        };
        let filtered = args.prefix.as_deref().is_some_and(|prefix| !id.starts_with(prefix))
            || since.is_some_and(|since| found.updated_at < since)
            || (args.archived && !found.archived);
        if filtered {
            continue;
        }
        if found.archived && !args.archived && !args.all {
            archived += 1;
            continue;
        }
        if args.limit.is_some_and(|limit| shown >= limit) {
            continue;
        }
        shown += 1;
        let cells = [
            Value::text(id),
            Value::Time(found.updated_at),
            Value::Count(found.state.len() as u64),
            Value::Count(found.total_tokens),
            Value::time(found.expires_at),
            Value::Flag(found.expired(now)),
            Value::Flag(found.archived),
            Value::maybe(found.actor.as_deref()),
        ];
        context.printer.row(0, &[id], &cells)?;
    }
    context.printer.end()?;
    if out_of_scope > 0 {
        let text = format!("{} of other scopes not shown (--all-agents)", plural(out_of_scope, "session"));
        context.printer.note(&text);
    }
    if archived > 0 {
        let text = format!("{} not shown (--all, or --archived)", plural(archived, "archived session"));
        context.printer.note(&text);
    }
    Ok(())
}

fn sorted(loaded: &Loaded, spans: Vec<Span>, sort: Sort) -> Result<Vec<Span>> {
    let mut keyed = Vec::with_capacity(spans.len());
    for span in spans {
        let line = loaded.opened.read(span)?;
        let found = session(&line)?;
        let nanos = found.updated_at.timestamp_subsec_nanos();
        let number = match sort {
            Sort::Updated => (-found.updated_at.timestamp(), u32::MAX - nanos),
            Sort::Size => (-i64::try_from(found.state.len()).unwrap_or(i64::MAX), 0),
            Sort::Written | Sort::Id => (0, 0),
        };
        let id = if sort == Sort::Id { found.id.into_owned() } else { String::new() };
        keyed.push((number, id, span));
    }
    // A tie keeps the order of the journal, last write first.
    keyed.sort_by(|a, b| (a.0, &a.1).cmp(&(b.0, &b.1)));
    Ok(keyed.into_iter().map(|(_, _, span)| span).collect())
}

/// The lock where something is written, and what is there.
fn for_change(context: &mut Context, dry_run: bool) -> Result<(Option<Lock>, Loaded)> {
    if dry_run || !context.dir.root.exists() {
        return Ok((None, Loaded::read(context, false)?));
    }
    let (lock, loaded) = Loaded::locked(context)?;
    Ok((Some(lock), loaded))
}

/// An id that JSON text cannot hold cannot be written again.
fn writable(found: &Session<'_>, line: &[u8]) -> Result<()> {
    if !found.id_is_raw(line) {
        return Ok(());
    }
    let message = format!("the id {:?} holds half of a surrogate pair; no record can be written for it", found.id);
    Err(Error::new(Code::RefusedDaemonUnreadable, message).hint("cruxctl journal repair sessions --for-daemon"))
}

fn delete(context: &mut Context, args: &Change) -> Result<()> {
    let scope = context.scope(args.one.all_agents)?;
    let stored = scope.stored(&args.one.id).into_owned();
    let (lock, loaded) = for_change(context, args.dry_run)?;
    let Some((line, _)) = loaded.line(&scope, &args.one.id)? else {
        return Err(no_from(context, &loaded, &scope, &args.one.id)?);
    };
    let found = session(&line)?;
    writable(&found, &line)?;
    let mut done = Done { action: "delete", id: &args.one.id, session: Some(&found), span: None };
    if let Some(lock) = lock {
        done.span = write(context, &lock, &[session::delete_line(&stored)])?.spans.first().copied();
    }
    tell(context, "cruxctl.session.delete.v1", &[done], args.dry_run)
}

/// A writing verb's "no": from a damaged journal it may be wrong.
fn no_from(context: &mut Context, loaded: &Loaded, scope: &Scope, id: &str) -> Result<Error> {
    if loaded.seen.damage > 0 && !context.damaged_ok {
        context.mark(Code::DamagedJournal.kind().status());
    }
    absent(context, loaded, scope, id)
}

/// Archives with a reason, or un-archives.
fn archive(context: &mut Context, args: &Change, reason: Option<Option<&str>>) -> Result<()> {
    let scope = context.scope(args.one.all_agents)?;
    let (lock, loaded) = for_change(context, args.dry_run)?;
    let Some((line, _)) = loaded.line(&scope, &args.one.id)? else {
        return Err(no_from(context, &loaded, &scope, &args.one.id)?);
    };
    let found = session(&line)?;
    writable(&found, &line)?;
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
    let (action, schema) = match reason {
        Some(_) => ("archive", "cruxctl.session.archive.v1"),
        None => ("unarchive", "cruxctl.session.unarchive.v1"),
    };
    let line = new.line();
    append::check_length(&JOURNAL, &line)?;
    let mut done = Done { action, id: &args.one.id, session: Some(&new), span: None };
    if let Some(lock) = lock {
        done.span = write(context, &lock, &[line])?.spans.first().copied();
    }
    tell(context, schema, &[done], args.dry_run)
}

fn reap(context: &mut Context, args: &Reap) -> Result<()> {
    let scope = context.scope(args.all_agents)?;
    let now = context.env.now();
    let (lock, loaded) = for_change(context, args.dry_run)?;
    let mut lines = Vec::new();
    let mut ids = Vec::new();
    let mut out_of_scope = 0u64;
    for span in loaded.live.0.spans() {
        let line = loaded.opened.read(span)?;
        let found = session(&line)?;
        if !found.expired(now) {
            continue;
        }
        let Some(id) = scope.visible(&found.id) else {
            out_of_scope += 1;
            continue;
        };
        if found.id_is_raw(&line) {
            continue;
        }
        lines.push(session::delete_line(&found.id));
        ids.push(id.to_owned());
    }
    let mut spans = Vec::new();
    if let Some(lock) = lock
        && !lines.is_empty()
    {
        spans = write(context, &lock, &lines)?.spans;
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
