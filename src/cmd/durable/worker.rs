//! `cruxctl durable work`: any program works off inputs.
//!
//! A worker holds a lock on a file of its own as long as it lives, and its command inherits it: who finds the lock free
//! knows that both are gone, and need not wait until the lease ends.

use std::fs::File;
use std::io;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use chrono::{DateTime, Utc};
use clap::Args;

use super::join::wait_for_change;
use super::queue::{Queue, Waiting};
use super::running::{End, execute};
use super::turn::{blocked, check_inputs, completed, failed, from_now, released};
use super::{session, session_at, whole};
use crate::cmd::Context;
use crate::env;
use crate::error::{Code, Error, Result};
use crate::journal::files;
use crate::journal::lock::Lock;
use crate::journal::replay;
use crate::journal::table::{Table, rewritten};
use crate::render::{Group, Value};
use crate::store::durable::{Claimable, JOURNAL, Session};

/// Arguments of `durable work`.
#[derive(Args, Debug)]
pub struct Work {
    /// Only inputs of this session
    #[arg(long, value_name = "ID", conflicts_with = "target")]
    pub session: Option<String>,
    /// Only inputs of sessions of this agent or flow
    #[arg(long, value_name = "TARGET")]
    pub target: Option<String>,
    /// End after one claim
    #[arg(long, conflicts_with = "follow")]
    pub once: bool,
    /// Wait for further inputs, until a signal ends it
    #[arg(short, long)]
    pub follow: bool,
    /// For how long a worker that cannot be seen keeps its claim; it is renewed while the command runs
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
    let stop = Arc::new(AtomicUsize::new(0));
    for signal in [signal_hook::consts::SIGINT, signal_hook::consts::SIGTERM] {
        signal_hook::flag::register_usize(signal, Arc::clone(&stop), usize::try_from(signal).unwrap_or(1))
            .map_err(|error| Error::from_io("cannot listen to signals", &error))?;
    }
    let alive = Alive::begin(context)?;
    let mut queue = Queue::new(args.session.as_deref(), args.target.as_deref());
    context.printer.begin("cruxctl.durable.work.v1", WORKED)?;
    let mut done = 0u64;
    loop {
        if stop.load(Ordering::Relaxed) != 0 || context.printer.gone() {
            break;
        }
        match next(context, args, &alive, &mut queue)? {
            Next::Work(session) => {
                done += 1;
                one(context, args, *session, &stop)?;
                context.printer.pause()?;
                if args.once {
                    break;
                }
            }
            Next::Nothing if !args.follow => break,
            Next::Later(at) if !args.follow && !args.once => wait(context, Some(at), &stop)?,
            Next::Later(_) if !args.follow => break,
            Next::Later(at) => wait(context, Some(at), &stop)?,
            Next::Nothing => wait(context, None, &stop)?,
        }
    }
    context.printer.end()?;
    if done == 0 && args.once {
        return Err(Error::new(Code::NoSessionWork, "nothing waits for a worker"));
    }
    Ok(())
}

/// What is to be done next.
enum Next {
    /// This session's work.
    Work(Box<Session>),
    /// Nothing now, but at this moment.
    Later(DateTime<Utc>),
    /// Nothing.
    Nothing,
}

/// How long a worker sleeps at most that waits for a moment: another's death is seen then as well.
const NAP: Duration = Duration::from_millis(200);

/// Waits until something has changed, or a moment has come.
fn wait(context: &mut Context, at: Option<DateTime<Utc>>, stop: &AtomicUsize) -> Result<()> {
    let opened = replay::open_at_once(&context.dir, &JOURNAL)?;
    let now = env::Env::read()?.now();
    let left = at.map(|at| (at - now).to_std().unwrap_or_default());
    let until = Instant::now() + left.unwrap_or(NAP).min(NAP);
    while stop.load(Ordering::Relaxed) == 0 {
        let turn = until.min(Instant::now() + Duration::from_millis(20));
        if wait_for_change(context, &opened, Some(turn)) || Instant::now() >= until || context.printer.gone() {
            break;
        }
    }
    Ok(())
}

/// Claims what has waited longest.
fn next(context: &mut Context, args: &Work, alive: &Alive, queue: &mut Queue) -> Result<Next> {
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
    queue.follow(&mut table)?;
    let found = first(context, &mut table, queue)?;
    let Next::Work(_) = found else { return Ok(found) };
    let (lock, mut table) = context.locked(&JOURNAL)?;
    whole(&table)?;
    queue.follow(&mut table)?;
    // Another worker may have been faster.
    let found = first(context, &mut table, queue)?;
    let Next::Work(mut session) = found else { return Ok(found) };
    let now = context.env.now();
    let until = from_now(now, args.lease, "--lease")?;
    session.claim(Some(alive.name.clone()), until, now);
    if let Some(work) = &session.work {
        check_inputs(&mut table, &session, work)?;
    }
    let line = session.line("claim");
    context.append(&lock, table, &[line])?;
    Ok(Next::Work(session))
}

/// The session whose work has waited longest of what can be claimed.
fn first(context: &Context, table: &mut Table, queue: &Queue) -> Result<Next> {
    let now = context.env.now();
    let millis = u64::try_from(now.timestamp_millis()).unwrap_or_default();
    let mut later = None::<u64>;
    for Waiting { key, due, held } in queue.in_order() {
        // Another worker may be gone long before its lease ends.
        if due <= millis || held {
            let session = session_at(table, key)?.ok_or_else(|| rewritten(&JOURNAL))?;
            if is_free(context, &session, now) {
                return Ok(Next::Work(Box::new(session)));
            }
        }
        // What another worker has is its own affair; the rest waits for less than a millisecond.
        if !held {
            let due = due.max(millis + 1);
            later = Some(later.map_or(due, |at| at.min(due)));
        }
    }
    let later = later.and_then(|at| DateTime::from_timestamp_millis(i64::try_from(at).ok()?));
    Ok(later.map_or(Next::Nothing, Next::Later))
}

/// Whether the work of a session can be claimed.
fn is_free(context: &Context, session: &Session, now: DateTime<Utc>) -> bool {
    match session.claimable() {
        Claimable::Nothing | Claimable::Blocked => false,
        Claimable::From(at) => at.is_none_or(|at| at <= now),
        Claimable::Held(until) => {
            let worker = session.work.as_ref().and_then(|work| work.worker.as_deref());
            until.is_none_or(|until| until <= now) || worker.is_some_and(|worker| !Alive::is(context, worker))
        }
    }
}

/// Does the work that was claimed.
fn one(context: &mut Context, args: &Work, claimed: Session, stop: &AtomicUsize) -> Result<()> {
    let Some(work) = claimed.work.clone() else { return Ok(()) };
    // What was prepared is not done again.
    let (end, failure) = match work.prepared {
        true => (None, None),
        false => match execute(context, args, &claimed, &work, stop) {
            Ok(end) => (Some(end), None),
            // It is not the inputs' fault: somebody else goes on with them.
            Err(error) => (Some(End::Stopped), Some(error)),
        },
    };
    let (lock, mut table) = context.locked(&JOURNAL)?;
    whole(&table)?;
    let now = context.env.now();
    let mut session = session(&mut table, &claimed.session_id)?.ok_or_else(|| rewritten(&JOURNAL))?;
    let held = session.held(&work.work_id, work.fence, now).map(|_| ());
    let (line, outcome, reason) = match (held, end) {
        (Err(error), _) => (Vec::new(), "lost", Some(error.message)),
        (Ok(()), Some(End::Lost)) => (Vec::new(), "lost", None),
        (Ok(()), None) => (completed(&mut session, None, now)?, "completed", None),
        (Ok(()), Some(End::Completed(output))) => (completed(&mut session, Some(&output), now)?, "completed", None),
        (Ok(()), Some(End::Blocked(why))) => (blocked(&mut session, &why, now), "blocked", Some(why)),
        (Ok(()), Some(End::Stopped)) => (released(&mut session, None, now), "released", None),
        (Ok(()), Some(End::Failed(why))) => {
            let failures = session.work.as_mut().map_or(0, |work| {
                work.failures += 1;
                work.failures
            });
            if failures >= args.max_attempts {
                (failed(&mut session, &why, now), "failed", Some(why))
            } else {
                let power = u32::try_from(failures - 1).unwrap_or(u32::MAX);
                let factor = 2u32.saturating_pow(power);
                let delay = args.retry_delay.saturating_mul(factor).min(LONGEST_DELAY.max(args.retry_delay));
                let at = from_now(now, delay, "--retry-delay")?;
                (released(&mut session, Some(at), now), "retried", Some(why))
            }
        }
    };
    if !line.is_empty() {
        context.append(&lock, table, &[line])?;
    }
    drop(lock);
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
