//! `cruxctl durable work`: any program works off inputs.
//!
//! A worker holds a lock on a file of its own as long as it lives, and its command inherits it: who finds the lock free
//! knows that both are gone, and need not wait until the lease ends.

use std::collections::{HashMap, HashSet};
use std::fs::File;
use std::io;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use chrono::{DateTime, Utc};
use clap::Args;

use super::join::wait_for_change;
use super::queue::Queue;
use super::running::{End, execute};
use super::turn::{blocked, completed, failed, from_now, is_prepared, last_of_next, lease, released};
use super::{session, session_at, whole};
use crate::cmd::complete::{Durable, Offers};
use crate::cmd::{Context, plural};
use crate::env;
use crate::error::{Code, Error, Result};
use crate::journal::files;
use crate::journal::live::IdKey;
use crate::journal::lock::Lock;
use crate::journal::replay;
use crate::journal::table::{Table, rewritten};
use crate::render::{Group, Value};
use crate::store::durable::rules::Known;
use crate::store::durable::{Claimable, JOURNAL, Session, State, Work as Activation};

/// Arguments of `durable work`.
#[derive(Args, Debug)]
pub struct Work {
    /// Only inputs of this session
    #[arg(long, value_name = "ID", conflicts_with = "target", add = Offers::Durable(Durable::Sessions))]
    pub session: Option<String>,
    /// Only inputs of sessions of this agent or flow
    #[arg(long, value_name = "TARGET", add = Offers::Durable(Durable::Targets))]
    pub target: Option<String>,
    /// At most so many inputs at once; without it, all that wait
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..))]
    pub batch: Option<u64>,
    /// End after one claim
    #[arg(long, conflicts_with = "follow")]
    pub once: bool,
    /// Wait for further inputs, until a signal ends it
    #[arg(short, long)]
    pub follow: bool,
    /// For how long a claim counts; it is renewed while the command runs
    #[arg(long, value_name = "TIME", default_value = "5m", value_parser = humantime::parse_duration)]
    pub lease: Duration,
    /// Kill a command that runs for longer: it has failed then
    #[arg(long, value_name = "TIME", value_parser = humantime::parse_duration)]
    pub timeout: Option<Duration>,
    /// How often a command may fail before its inputs have failed
    #[arg(long, value_name = "N", default_value_t = 3, value_parser = clap::value_parser!(u64).range(1..))]
    pub max_attempts: u64,
    /// How long to wait before a command is tried again; twice as long each time
    #[arg(long, value_name = "TIME", default_value = "1s", value_parser = humantime::parse_duration)]
    pub retry_delay: Duration,
    /// The command and its arguments
    #[arg(last = true, required = true, value_name = "COMMAND", value_hint = clap::ValueHint::CommandWithArguments)]
    pub command: Vec<std::ffi::OsString>,
}

/// What is said of each work that was done.
pub const WORKED: &[Group] = &[Group {
    name: "works",
    one: "work",
    columns: &["work_id", "session_id", "first_cursor", "last_cursor", "outcome", "attempt", "reason"],
    shown: &["outcome", "session_id", "first_cursor", "last_cursor", "reason"],
    blocks: false,
}];

/// The longest wait before a command is tried again.
const LONGEST_DELAY: Duration = Duration::from_secs(3600);

/// A worker that is alive as long as its file is locked.
struct Alive {
    name: String,
    path: PathBuf,
    _file: File,
}

impl Alive {
    /// Begins to be alive.
    fn begin(context: &Context) -> Result<Alive> {
        let name = env::new_id("w_")?;
        let folder = folder(context);
        // Behind the lock nobody takes a file that is not locked yet for one that was left behind.
        let _lock = Lock::take(&context.dir, context.lock_timeout)?;
        context.dir.make(&folder)?;
        for entry in std::fs::read_dir(&folder).into_iter().flatten().flatten() {
            if File::open(entry.path()).is_ok_and(|file| file.try_lock().is_ok()) {
                files::remove_kept(&entry.path());
            }
        }
        let path = folder.join(&name);
        let file = context.dir.create_new(&path, false)?;
        file.try_lock().map_err(|error| {
            let message = format!("cannot lock {}: {error}", path.display());
            Error::new(Code::EnvironmentLock, message)
        })?;
        // The command inherits it.
        rustix::io::fcntl_setfd(&file, rustix::io::FdFlags::empty())
            .map_err(|error| Error::io("open", &path, &error.into()))?;
        Ok(Alive { name, path, _file: file })
    }

    /// Whether a worker, or a command that it has left behind, is still there.
    fn is(context: &Context, name: &str) -> bool {
        // A claim in steps has a name of its own, and no file.
        if !name.starts_with("w_") || name.contains('/') {
            return true;
        }
        match File::open(folder(context).join(name)) {
            Ok(file) => file.try_lock_shared().is_err(),
            Err(error) => error.kind() != io::ErrorKind::NotFound,
        }
    }
}

impl Drop for Alive {
    fn drop(&mut self) {
        files::remove_kept(&self.path);
    }
}

/// Where workers have their files.
fn folder(context: &Context) -> PathBuf {
    context.dir.own().join("workers")
}

/// Runs the verb.
pub fn run(context: &mut Context, args: &Work) -> Result<()> {
    if args.timeout.is_some_and(|timeout| timeout.is_zero()) {
        return Err(Error::new(Code::UsageArguments, "--timeout is 0: every command would fail"));
    }
    let now = context.env.now();
    lease(now, args.lease)?;
    from_now(now, args.retry_delay, "--retry-delay")?;
    let stop = listen()?;
    let mut run = Run {
        args,
        alive: None,
        queue: Queue::new(args.session.as_deref(), args.target.as_deref()),
        put_off: HashSet::new(),
        broken: HashMap::new(),
        others: false,
        failed: 0,
        blocked: 0,
    };
    context.note_missing_dir();
    if let Some(id) = &args.session {
        let mut table = Table::open(&context.dir, &JOURNAL, true)?;
        let found = session(&mut table, id)?.filter(|found| found.state != State::Deleted);
        found.ok_or_else(|| super::gone(id, "is not there"))?;
    }
    context.printer.begin("cruxctl.durable.work.v1", WORKED)?;
    let mut done = 0u64;
    while stop.load(Ordering::Relaxed) == 0 && !context.printer.gone() {
        match run.next(context)? {
            Next::Work(session, _) => {
                done += 1;
                run.one(context, *session, &stop)?;
                context.printer.pause()?;
                if args.once {
                    break;
                }
            }
            Next::Nothing if !args.follow => break,
            Next::Later(_) if args.once => break,
            Next::Later(at) => run.wait(context, Some(at), &stop)?,
            Next::Nothing => run.wait(context, None, &stop)?,
        }
    }
    context.printer.end()?;
    // Who goes on with what comes next would go on too early.
    let signal = i32::try_from(stop.load(Ordering::Relaxed)).unwrap_or_default();
    if signal != 0 && !args.follow {
        context.printer.flush()?;
        // A signal leaves no time for what else is to be left in order.
        run.alive = None;
        let _ = signal_hook::low_level::emulate_default_handler(signal);
    }
    // What else there was is done by now.
    if let Some(error) = run.broken.into_values().next() {
        return Err(error);
    }
    let told = [(run.failed, "failed for good"), (run.blocked, "blocked")];
    let told: Vec<String> = told
        .iter()
        .filter(|(count, _)| *count > 0)
        .map(|(count, what)| format!("{} {what}", plural(*count, "work")))
        .collect();
    if !told.is_empty() {
        let error = Error::new(Code::RefusedSessionWorkFailed, told.join(", "));
        let blocked = (run.blocked > 0).then(|| "cruxctl durable list --status blocked".to_owned());
        return Err(blocked.into_iter().fold(error, Error::hint));
    }
    if done == 0 && args.once {
        return Err(Error::new(Code::NoSessionWork, "nothing waits for a worker"));
    }
    Ok(())
}

/// Listens to the signals that end a worker, but for those that it was begun without: by `nohup`, or in the background.
fn listen() -> Result<Arc<AtomicUsize>> {
    let stop = Arc::new(AtomicUsize::new(0));
    let ignored = ignored_signals();
    for signal in [signal_hook::consts::SIGINT, signal_hook::consts::SIGTERM, signal_hook::consts::SIGHUP] {
        if ignored & 1 << (signal - 1) != 0 {
            continue;
        }
        signal_hook::flag::register_usize(signal, Arc::clone(&stop), usize::try_from(signal).unwrap_or(1))
            .map_err(|error| Error::from_io("cannot listen to signals", &error))?;
    }
    Ok(stop)
}

/// A bit for each signal that whoever has begun this process wants ignored; see `proc(5)`.
fn ignored_signals() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let mask = status.lines().find_map(|line| line.strip_prefix("SigIgn:"));
    mask.and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok()).unwrap_or_default()
}

/// A worker at work.
struct Run<'a> {
    args: &'a Work,
    /// From its first claim on.
    alive: Option<Alive>,
    queue: Queue,
    /// The sessions whose work it has put off, to try it again.
    put_off: HashSet<IdKey>,
    /// The sessions that cannot be worked on, and why.
    broken: HashMap<IdKey, Error>,
    /// Whether others are at work, which may die.
    others: bool,
    /// How much of its work has failed for good.
    failed: u64,
    /// How much of its work is blocked.
    blocked: u64,
}

/// What is to be done next.
enum Next {
    /// This session's work, up to this input.
    Work(Box<Session>, u64),
    /// Nothing now, but at this moment.
    Later(DateTime<Utc>),
    /// Nothing.
    Nothing,
}

/// How long a worker sleeps at most while others are at work: their death is seen then.
const NAP: Duration = Duration::from_millis(200);

/// How often somebody who waits looks whether they are to end.
const LOOK_AGAIN: Duration = Duration::from_millis(20);

impl Run<'_> {
    /// Waits until something has changed, or a moment has come.
    fn wait(&self, context: &mut Context, at: Option<DateTime<Utc>>, stop: &AtomicUsize) -> Result<()> {
        let opened = replay::open_at_once(&context.dir, &JOURNAL)?;
        let now = env::Env::read()?.now();
        let left = at.map(|at| (at - now).to_std().unwrap_or_default());
        let nap = self.others.then_some(NAP);
        let until = left.into_iter().chain(nap).min().map(|left| Instant::now() + left);
        while stop.load(Ordering::Relaxed) == 0 && !context.printer.gone() {
            let look = Instant::now() + LOOK_AGAIN;
            let turn = until.map_or(look, |until| until.min(look));
            if wait_for_change(context, &opened, Some(turn)) || until.is_some_and(|until| Instant::now() >= until) {
                break;
            }
        }
        Ok(())
    }

    /// Claims what has waited longest.
    fn next(&mut self, context: &mut Context) -> Result<Next> {
        // It is later than it was.
        context.env = env::Env::read()?;
        // Without the lock first: nobody is kept waiting where there is nothing.
        let mut table = Table::open(&context.dir, &JOURNAL, true)?;
        // A long journal is not read whole each time.
        table.keep();
        if table.is_damaged() {
            // What a killed writer has begun to write is set aside; nobody works on behind anything else.
            let (_lock, now) = context.locked(&JOURNAL)?;
            whole(&now)?;
            table = now;
        }
        self.follow(&mut table)?;
        let found = self.first(context, &mut table)?;
        let Next::Work(..) = found else { return Ok(found) };
        let name = match &self.alive {
            Some(alive) => alive.name.clone(),
            None => self.alive.insert(Alive::begin(context)?).name.clone(),
        };
        let (lock, mut table) = context.locked(&JOURNAL)?;
        whole(&table)?;
        self.follow(&mut table)?;
        // Another worker may have been faster.
        let found = self.first(context, &mut table)?;
        let Next::Work(mut session, last) = found else { return Ok(found) };
        let now = context.env.now();
        session.claim(Some(name), last, lease(now, self.args.lease)?, now);
        self.put_off.remove(&IdKey::of(&session.session_id));
        let line = session.line("claim");
        context.append(&lock, table, &[line])?;
        Ok(Next::Work(session, last))
    }

    fn follow(&mut self, table: &mut Table) -> Result<()> {
        // Somebody may have put it right, or given up what is lost.
        for key in self.queue.follow(table)? {
            self.broken.remove(&key);
        }
        Ok(())
    }

    /// The session whose work has waited longest of what can be claimed.
    fn first(&mut self, context: &mut Context, table: &mut Table) -> Result<Next> {
        let now = context.env.now();
        let millis = u64::try_from(now.timestamp_millis()).unwrap_or_default();
        let mut later = None::<u64>;
        self.others = false;
        for (key, Known { due, held, .. }) in self.queue.in_order() {
            if self.broken.contains_key(&key) {
                continue;
            }
            // Another worker may be gone long before its lease ends.
            if due <= millis || held {
                match self.free(context, table, key, now) {
                    Ok(Some((session, last))) => return Ok(Next::Work(Box::new(session), last)),
                    Ok(None) => {}
                    // It does not stand in the way of the others.
                    Err(error) if error.code == Code::DamagedJournal => {
                        context.printer.warn_of(&error);
                        self.broken.insert(key, error);
                        continue;
                    }
                    Err(error) => return Err(error),
                }
            }
            self.others |= held;
            // What another worker has, or has put off, is its own affair.
            if !held && (self.args.follow || self.put_off.contains(&key)) {
                let due = due.max(millis + 1);
                later = Some(later.map_or(due, |at| at.min(due)));
            }
        }
        let later = later.and_then(|at| DateTime::from_timestamp_millis(i64::try_from(at).ok()?));
        Ok(later.map_or(Next::Nothing, Next::Later))
    }

    /// A session, if its work can be claimed, and up to which input.
    ///
    /// Errors: 3 an input of the work is lost.
    fn free(
        &self,
        context: &Context,
        table: &mut Table,
        key: IdKey,
        now: DateTime<Utc>,
    ) -> Result<Option<(Session, u64)>> {
        let Some(session) = session_at(table, key)?.filter(|session| is_free(context, session, now)) else {
            return Ok(None);
        };
        let last = last_of_next(table, &session, self.args.batch)?;
        Ok(Some((session, last)))
    }

    /// Does the work that was claimed.
    fn one(&mut self, context: &mut Context, claimed: Session, stop: &AtomicUsize) -> Result<()> {
        let Some(mut work) = claimed.work.clone() else { return Ok(()) };
        // What was prepared is not done again.
        let (end, failure) = match work.prepared {
            true => (End::Prepared, None),
            false => match execute(context, self.args, &claimed, &mut work, stop) {
                Ok(end) => (end, None),
                // It is not the inputs' fault: somebody else goes on with them.
                Err(error) => (End::Stopped, Some(error)),
            },
        };
        let (lock, mut table) = locked_while_held(context, &work)?;
        whole(&table)?;
        let now = context.env.now();
        let mut session = session(&mut table, &claimed.session_id)?.ok_or_else(|| rewritten(&JOURNAL))?;
        let is_prepared = match session.held(&work.work_id, work.fence, now) {
            Ok(work) => Ok(is_prepared(&mut table, work)?),
            Err(error) => Err(error),
        };
        let (line, outcome, reason) = match (is_prepared, end) {
            (Err(error), _) => (Vec::new(), "lost", Some(error.message)),
            (Ok(false), End::Prepared) => {
                let why = "its prepared result is lost".to_owned();
                (blocked(&mut session, &why, now), "blocked", Some(why))
            }
            // The first result counts.
            (Ok(true), End::Prepared | End::Completed(_)) => {
                (completed(&mut session, true, None, now)?, "completed", None)
            }
            (Ok(false), End::Completed(output)) => {
                (completed(&mut session, false, Some(&output), now)?, "completed", None)
            }
            (Ok(_), End::Blocked(why)) => (blocked(&mut session, &why, now), "blocked", Some(why)),
            (Ok(_), End::Stopped | End::Lost) => (released(&mut session, None, now), "released", None),
            (Ok(_), End::Failed(why)) => {
                let failures = session.work.as_mut().map_or(0, |work| {
                    work.failures += 1;
                    work.failures
                });
                if failures >= self.args.max_attempts {
                    (failed(&mut session, &why, now), "failed", Some(why))
                } else {
                    let power = u32::try_from(failures - 1).unwrap_or(u32::MAX);
                    let most = LONGEST_DELAY.max(self.args.retry_delay);
                    let delay = self.args.retry_delay.saturating_mul(2u32.saturating_pow(power)).min(most);
                    let at = from_now(now, delay, "--retry-delay")?;
                    self.put_off.insert(IdKey::of(&session.session_id));
                    (released(&mut session, Some(at), now), "retried", Some(why))
                }
            }
        };
        if !line.is_empty() {
            context.append(&lock, table, &[line])?;
        }
        drop(lock);
        self.failed += u64::from(outcome == "failed");
        self.blocked += u64::from(outcome == "blocked");
        let cells = [
            Value::text(&*work.work_id),
            Value::text(&*claimed.session_id),
            super::cursor(work.first),
            super::cursor(work.last),
            Value::text(outcome),
            Value::Count(work.failures + 1),
            Value::maybe(reason),
        ];
        context.printer.row(0, &[&work.work_id], &cells)?;
        failure.map_or(Ok(()), Err)
    }
}

/// The lock, and the journal behind it, to commit work: where somebody is at it for long, as long as the work is held.
fn locked_while_held(context: &mut Context, work: &Activation) -> Result<(Lock, Table)> {
    loop {
        match context.locked(&JOURNAL) {
            Err(error) if error.code == Code::BusyLock => {
                let now = env::Env::read()?.now();
                if work.until.is_none_or(|until| until <= now) {
                    return Err(error);
                }
                context.printer.warn_of(&error);
            }
            locked => return locked,
        }
    }
}

/// Whether the work of a session can be claimed.
pub(super) fn is_free(context: &Context, session: &Session, now: DateTime<Utc>) -> bool {
    match session.claimable() {
        Claimable::Nothing | Claimable::Blocked => false,
        Claimable::From(at) => at.is_none_or(|at| at <= now),
        Claimable::Held(until) => {
            let worker = session.work.as_ref().and_then(|work| work.worker.as_deref());
            until.is_none_or(|until| until <= now) || worker.is_some_and(|worker| !Alive::is(context, worker))
        }
    }
}
