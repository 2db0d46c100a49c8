//! What the verbs share: the journal as one verb sees it, what is not there, and what was done.

use crate::cmd::Context;
use crate::error::{Code, Error, Result};
use crate::journal::append::{self, Appended};
use crate::journal::files::DataDir;
use crate::journal::index::{self, Indexed, Live};
use crate::journal::live::LastWins;
use crate::journal::lock::Lock;
use crate::journal::replay::{self, Opened, Seen};
use crate::journal::scan::{Item, Stretch};
use crate::journal::{Replay, Span};
use crate::render::{Group, Value, quoted};
use crate::store::scope::{self, Scope};
use crate::store::session::{JOURNAL, Session};

/// The journal of sessions as one verb sees it.
pub(super) struct Loaded {
    pub(super) opened: Opened,
    pub(super) live: Live,
    pub(super) seen: Seen,
}

impl Loaded {
    /// Looks into the index, or replays the journal where there is none to believe.
    fn from(dir: &DataDir, opened: Opened) -> Result<Loaded> {
        if let Some((indexed, seen)) = Indexed::open(dir, &JOURNAL, &opened)? {
            return Ok(Loaded { opened, live: Live::Indexed(Box::new(indexed)), seen });
        }
        Loaded::replayed(opened)
    }

    fn replayed(opened: Opened) -> Result<Loaded> {
        let mut live = LastWins::default();
        let seen = opened.replay(&JOURNAL, &mut live, &mut |_| Ok(()))?;
        Ok(Loaded { opened, live: Live::Replayed(live), seen })
    }

    /// Reads without a lock. `answers`: what is read is the answer, so that damage counts, and it is kept for the next.
    pub(super) fn read(context: &mut Context, answers: bool) -> Result<Loaded> {
        missing_folder(context);
        let loaded = Loaded::from(&context.dir, replay::open(&context.dir, &JOURNAL)?)?;
        if answers {
            loaded.keep(context);
        }
        context.tell_damage(&JOURNAL, &loaded.seen, answers);
        Ok(loaded)
    }

    /// Keeps what was read for the next command, if the lock is free: nothing depends on it.
    fn keep(&self, context: &mut Context) {
        let worth_it = match &self.live {
            Live::Replayed(_) => self.opened.len >= index::WORTH_IT,
            Live::Indexed(indexed) => indexed.behind(&self.opened) >= index::WORTH_IT,
        };
        if !worth_it {
            return;
        }
        let Some(lock) = Lock::try_take(&context.dir) else {
            if !context.dir.can_make(&index::folder(&context.dir)) {
                context.printer.note("no index can be kept here, so every command reads the whole journal");
            }
            return;
        };
        match &self.live {
            Live::Replayed(live) => {
                index::build(&context.dir, &JOURNAL, &self.opened, live, &self.seen, &lock);
            }
            Live::Indexed(_) => index::catch_up(&context.dir, &JOURNAL, &self.opened, &lock),
        }
    }

    /// Reads behind the lock, for a verb that decides by what is there. The long reading is done before the lock is
    /// taken, so that behind it only what others have written meanwhile is left to read.
    pub(super) fn locked(context: &mut Context) -> Result<(Lock, Loaded)> {
        let before = Loaded::from(&context.dir, replay::open(&context.dir, &JOURNAL)?)?;
        let lock = Lock::take(&context.dir, context.lock_timeout)?;
        let opened = replay::open_locked(&context.dir, &JOURNAL, &lock)?;
        let loaded = match before.live {
            Live::Indexed(_) => Loaded::from(&context.dir, opened)?,
            Live::Replayed(live) => match opened.grown_from(&before.opened)? {
                Some(stretch) => Loaded::grown(opened, live, before.seen, stretch)?,
                None => Loaded::replayed(opened)?,
            },
        };
        context.tell_damage(&JOURNAL, &loaded.seen, false);
        Ok((lock, loaded))
    }

    /// What was replayed, and what has come since.
    fn grown(opened: Opened, mut live: LastWins, mut seen: Seen, mut stretch: Stretch) -> Result<Loaded> {
        stretch.lines_before = seen.totals.lines;
        let more = opened.scan_items(&JOURNAL, stretch, &mut |item| {
            if let Item::Record(record) = item {
                live.record(record);
            }
            Ok(())
        })?;
        seen.add(more);
        Ok(Loaded { opened, live: Live::Replayed(live), seen })
    }

    /// The line of a live session that this scope sees, and its place.
    pub(super) fn line(&mut self, dir: &DataDir, scope: &Scope, id: &str) -> Result<Option<(Vec<u8>, Span)>> {
        let stored = scope.stored(id);
        if scope.visible(&stored).is_none() {
            return Ok(None);
        }
        if let Live::Indexed(indexed) = &self.live {
            // What an index says is held against the journal.
            match indexed.get(&stored) {
                Ok(None) => return Ok(None),
                Ok(Some(span)) => {
                    if let Ok(line) = self.opened.read(span)
                        && Session::read(&line).is_some_and(|found| found.id == stored)
                    {
                        return Ok(Some((line, span)));
                    }
                }
                Err(_) => {}
            }
            self.fall_back(dir)?;
        }
        let Some(span) = self.live.get(&stored).ok().flatten() else { return Ok(None) };
        Ok(Some((self.opened.read(span)?, span)))
    }

    /// The live records' places, in the order of the file.
    pub(super) fn spans(&mut self, dir: &DataDir) -> Result<Vec<Span>> {
        if let Ok(spans) = self.live.spans() {
            return Ok(spans);
        }
        self.fall_back(dir)?;
        Ok(self.live.spans().unwrap_or_default())
    }

    /// The index was wrong: it is thrown away, and the journal is read whole.
    fn fall_back(&mut self, dir: &DataDir) -> Result<()> {
        if let Some(lock) = Lock::try_take(dir) {
            index::remove(dir, &JOURNAL, &lock);
        }
        let mut live = LastWins::default();
        self.seen = self.opened.replay(&JOURNAL, &mut live, &mut |_| Ok(()))?;
        self.live = Live::Replayed(live);
        Ok(())
    }

    /// A record that is not what it was: an index that says otherwise is thrown away.
    pub(super) fn distrust(&self, context: &Context) -> Error {
        if let (Live::Indexed(_), Some(lock)) = (&self.live, Lock::try_take(&context.dir)) {
            index::remove(&context.dir, &JOURNAL, &lock);
        }
        Error::new(Code::BusyChanging, "sessions.jsonl was rewritten while it was read; run the command again")
    }

    /// A live record's line as a session.
    pub(super) fn session<'l>(&self, context: &Context, line: &'l [u8]) -> Result<Session<'l>> {
        Session::read(line).ok_or_else(|| self.distrust(context))
    }
}

fn missing_folder(context: &mut Context) {
    if !context.dir.root.exists() {
        let text = format!("there is no data directory {}; the first write makes it", context.dir.root.display());
        context.printer.note(&text);
    }
}

/// A command on one session, as it is typed: the verb with its flags, the flags of the scope, the id.
pub(super) fn command(context: &Context, verb: &str, scope: &Scope, id: &str) -> String {
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
pub(super) fn absent(context: &Context, loaded: &mut Loaded, scope: &Scope, id: &str) -> Result<Error> {
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
    let few = loaded.live.at_most() <= SUGGEST_AMONG;
    let spans = if few { loaded.spans(&context.dir)? } else { Vec::new() };
    for span in spans {
        let line = loaded.opened.read(span)?;
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
    told.map_err(|mut error: Error| {
        if !dry_run && !done.is_empty() {
            error.message.push_str("; the record is stored");
        }
        error
    })
}

/// Appends, and brings the index up to date. What happens to the index does not concern the record.
pub(super) fn write(context: &mut Context, lock: &Lock, loaded: Loaded, lines: &[Vec<u8>]) -> Result<Appended> {
    let appended = append::append(&context.dir, &JOURNAL, lock, lines, context.sync)?;
    for note in &appended.notes {
        context.printer.note(note);
    }
    let dir = &context.dir;
    let Ok(opened) = replay::open_locked(dir, &JOURNAL, lock) else { return Ok(appended) };
    match loaded.live {
        Live::Indexed(_) => index::catch_up(dir, &JOURNAL, &opened, lock),
        Live::Replayed(live) if opened.len >= index::WORTH_IT => {
            if let Ok(Some(stretch)) = opened.grown_from(&loaded.opened)
                && let Ok(Loaded { opened, live: Live::Replayed(live), seen }) =
                    Loaded::grown(opened, live, loaded.seen, stretch)
            {
                index::build(dir, &JOURNAL, &opened, &live, &seen, lock);
            }
        }
        Live::Replayed(_) => {}
    }
    Ok(appended)
}
