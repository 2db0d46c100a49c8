//! `cruxctl durable work`: any program works off inputs.
//!
//! A worker holds a lock on a file of its own as long as it lives, and its command inherits it: who finds the lock free
//! knows that both are gone, and need not wait until the lease ends.

use std::fs::File;
use std::io::{self, BufWriter, Read, Write};
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::path::PathBuf;
use std::process::{Child, ChildStdin, Command, ExitStatus, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use chrono::{DateTime, TimeDelta, Utc};
use clap::Args;
use rustix::process::{Pid, Signal, kill_process_group};
use serde_json::value::RawValue;

use super::join::wait_for_change;
use super::turn::{blocked, check_inputs, completed, each_input, failed, from_now, output, released, renewed};
use super::{checked, session, whole};
use crate::cmd::{Context, input};
use crate::env;
use crate::error::{Code, Error, Result, plain};
use crate::journal::files;
use crate::journal::lock::Lock;
use crate::journal::replay::{self, Opened};
use crate::journal::table::{Table, rewritten};
use crate::render::{Group, Value};
use crate::store::durable::rules::{self, Known};
use crate::store::durable::{Claimable, JOURNAL, Session, Work as Activation, identity};

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

/// With this status a command asks for somebody to put something right: EX_CONFIG of sysexits.h.
const BLOCKS: i32 = 78;

/// How often a command that runs is looked at.
const LOOK: Duration = Duration::from_millis(20);
const SHORT_LOOK: Duration = Duration::from_micros(200);

/// The longest wait before a command is tried again.
const LONGEST_DELAY: Duration = Duration::from_secs(3600);

/// How often it is looked whether the work of a command that runs was taken away.
const LOOK_AGAIN: Duration = Duration::from_millis(200);

/// How long a command has to end by itself once it was told to.
const GRACE: Duration = Duration::from_secs(8);

/// How many bytes of a result are read at once.
const BLOCK: usize = 1 << 16;

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

/// What a command has come to.
enum End {
    Completed(Box<RawValue>),
    Failed(String),
    Blocked(String),
    /// A signal has ended the worker: somebody else goes on.
    Stopped,
    /// Somebody else has it by now.
    Lost,
}

/// Runs the verb.
pub fn run(context: &mut Context, args: &Work) -> Result<()> {
    let stop = Arc::new(AtomicUsize::new(0));
    for signal in [signal_hook::consts::SIGINT, signal_hook::consts::SIGTERM] {
        signal_hook::flag::register_usize(signal, Arc::clone(&stop), usize::try_from(signal).unwrap_or(1))
            .map_err(|error| Error::from_io("cannot listen to signals", &error))?;
    }
    let alive = Alive::begin(context)?;
    context.printer.begin("cruxctl.durable.work.v1", WORKED)?;
    let mut done = 0u64;
    loop {
        if stop.load(Ordering::Relaxed) != 0 || context.printer.gone() {
            break;
        }
        match next(context, args, &alive)? {
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
    /// This session's work, which is claimed.
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
fn next(context: &mut Context, args: &Work, alive: &Alive) -> Result<Next> {
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
    let (found, later) = candidates(context, table, args)?;
    if found.is_empty() {
        return Ok(later.map_or(Next::Nothing, Next::Later));
    }
    let (lock, mut table) = context.locked(&JOURNAL)?;
    whole(&table)?;
    let now = context.env.now();
    for id in found {
        let Some(mut session) = session(&mut table, &id)? else { continue };
        if !is_free(context, &session, now) {
            continue;
        }
        let until = from_now(now, args.lease, "--lease")?;
        session.claim(Some(alive.name.clone()), until, now);
        if let Some(work) = &session.work {
            check_inputs(&mut table, &session, work)?;
        }
        let line = session.line("claim");
        context.append(&lock, table, &[line])?;
        return Ok(Next::Work(Box::new(session)));
    }
    Ok(Next::Later(now))
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

/// The sessions whose work can be claimed, the input that has waited longest first, and when the next one can be.
fn candidates(context: &mut Context, mut table: Table, args: &Work) -> Result<(Vec<String>, Option<DateTime<Utc>>)> {
    let now = context.env.now();
    let millis = u64::try_from(now.timestamp_millis()).unwrap_or_default();
    let known: Vec<Known> = match &args.session {
        Some(id) => rules::session(&mut table.live, id).into_iter().collect(),
        None => {
            let rows =
                table.live.rows().map_err(|error| Error::io("read the index of", &table.opened.path, &error))?;
            rows.into_iter().filter_map(|(_, row)| Known::of(row)).collect()
        }
    };
    checked(&mut table)?;
    let (mut found, mut later) = (Vec::new(), None::<u64>);
    for known in known.into_iter().filter(|known| known.due > 0) {
        if known.due > millis && !known.held {
            later = Some(later.map_or(known.due, |at| at.min(known.due)));
            continue;
        }
        let Some(session) = Session::read(&table.opened.read(known.place)?) else {
            return Err(rewritten(&JOURNAL));
        };
        if args.target.as_ref().is_some_and(|target| *target != session.target_id) {
            continue;
        }
        if !is_free(context, &session, now) {
            // What another worker has is its own affair; the rest waits for less than a millisecond.
            if !known.held {
                later = Some(millis + 1);
            }
            continue;
        }
        let first = identity::input(&session.session_id, session.processed + 1);
        let since = rules::input(&mut table.live, &first).map_or(u64::MAX, |input| input.place.offset);
        found.push((since, session.session_id));
    }
    checked(&mut table)?;
    found.sort_unstable();
    let later = later.and_then(|at| DateTime::from_timestamp_millis(i64::try_from(at).ok()?));
    Ok((found.into_iter().map(|(_, id)| id).collect(), later))
}

/// Does the work that was claimed.
fn one(context: &mut Context, args: &Work, claimed: Session, stop: &Arc<AtomicUsize>) -> Result<()> {
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

/// Runs the command with the inputs of work; says what it has come to.
fn execute(
    context: &mut Context,
    args: &Work,
    session: &Session,
    work: &Activation,
    stop: &Arc<AtomicUsize>,
) -> Result<End> {
    let most = input::most_state_bytes(None)?;
    let mut child = spawn(args, session, work).map_err(|error| {
        let name = args.command.first().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
        Error::from_io(&format!("cannot run {name}"), &error)
    })?;
    let feeder = child.stdin.take().map(|stdin| {
        let (dir, session, work) = (context.dir.clone(), session.clone(), work.clone());
        thread::spawn(move || feed(&dir, &session, &work, stdin))
    });
    let reader = child.stdout.take().map(|stdout| thread::spawn(move || read_most(stdout, most)));
    let opened = replay::open_at_once(&context.dir, &JOURNAL)?;
    let mut watch = Watch { begun: Instant::now(), looked: Instant::now(), opened, until: work.until, stopped: None };
    let mut ended = None;
    let status = loop {
        if ended.is_none() {
            ended = child.try_wait().map_err(|error| Error::from_io("cannot wait for the command", &error))?;
        }
        // What it has started in the background may still write to its output. And what was not all read as it was sent is
        // no input: that is known only when all of it was handed over.
        let read = reader.as_ref().is_none_or(thread::JoinHandle::is_finished);
        let fed = feeder.as_ref().is_none_or(thread::JoinHandle::is_finished);
        if let Some(status) = ended.filter(|_| read && fed) {
            break status;
        }
        match watch.look(context, args, (session, work), stop, &child) {
            // A command that takes long is looked at less often.
            Ok(None) => thread::sleep((watch.begun.elapsed() / 16).clamp(SHORT_LOOK, LOOK)),
            end => {
                end_group(&mut child);
                return Ok(end?.unwrap_or(End::Lost));
            }
        }
    };
    if watch.stopped.is_some() && !status.success() {
        return Ok(End::Stopped);
    }
    let written = reader.map_or_else(|| Ok(Vec::new()), |reader| reader.join().unwrap_or_else(|_| Ok(Vec::new())));
    let failed = |_| Err(Error::new(Code::EnvironmentIo, "the inputs could not be handed to the command"));
    feeder.map_or(Ok(()), |feeder| feeder.join().unwrap_or_else(failed))?;
    Ok(match (outcome(status), written) {
        (Some(end), _) => end,
        (None, Err(why)) => End::Failed(why),
        (None, Ok(written)) => match output(&written) {
            Ok(output) => End::Completed(output),
            Err(why) => End::Failed(format!("its standard output is not one JSON value: {why}")),
        },
    })
}

/// Hands the inputs of work to a command, one to a line.
fn feed(dir: &files::DataDir, session: &Session, work: &Activation, stdin: ChildStdin) -> Result<()> {
    let mut table = Table::open(dir, &JOURNAL, false)?;
    let mut stdin = Some(BufWriter::new(stdin));
    each_input(&mut table, session, work, &mut |input| {
        let Some(payload) = input.payload else {
            let message = format!("the payload of input {} was erased", input.cursor);
            return Err(Error::new(Code::RefusedDamage, message));
        };
        // A command need not read all of it, or any.
        if let Some(to) = &mut stdin
            && (to.write_all(payload.get().as_bytes()).is_err() || to.write_all(b"\n").is_err())
        {
            stdin = None;
        }
        Ok(())
    })
}

/// What an exit status says, unless it says that the output counts.
fn outcome(status: ExitStatus) -> Option<End> {
    match (status.code(), status.signal()) {
        (Some(0), _) => None,
        (Some(BLOCKS), _) => Some(End::Blocked(format!("the command ended with {BLOCKS}"))),
        (Some(code), _) => Some(End::Failed(format!("the command ended with {code}"))),
        (None, signal) => Some(End::Failed(format!("signal {} ended the command", signal.unwrap_or_default()))),
    }
}

fn spawn(args: &Work, session: &Session, work: &Activation) -> io::Result<Child> {
    let (name, rest) = args.command.split_first().ok_or(io::ErrorKind::InvalidInput)?;
    let first = identity::input(&session.session_id, work.first);
    let (_, effect) = identity::work(&session.namespace, &session.session_id, &first);
    Command::new(name)
        .args(rest)
        .env("CRUXCTL_WORK_ID", &work.work_id)
        .env("CRUXCTL_WORK_EFFECT", effect)
        .env("CRUXCTL_WORK_SESSION", &session.session_id)
        .env("CRUXCTL_WORK_THREAD", &session.thread_id)
        .env("CRUXCTL_WORK_TARGET", &session.target_id)
        .env("CRUXCTL_WORK_KEY", session.key.as_deref().unwrap_or_default())
        .env("CRUXCTL_WORK_FIRST", work.first.to_string())
        .env("CRUXCTL_WORK_LAST", work.last.to_string())
        .env("CRUXCTL_WORK_ATTEMPT", (work.failures + 1).to_string())
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        // Its own group: what it has started ends with it.
        .process_group(0)
        .spawn()
}

/// Reads an output, of which no more is kept than may be a result.
fn read_most(mut from: impl Read, most: u64) -> std::result::Result<Vec<u8>, String> {
    let (mut bytes, mut block, mut too_long) = (Vec::new(), vec![0; BLOCK], false);
    loop {
        match from.read(&mut block) {
            Ok(0) => break,
            Ok(got) if bytes.len() as u64 + got as u64 <= most => bytes.extend_from_slice(&block[..got]),
            Ok(_) => too_long = true,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(format!("its standard output cannot be read: {}", plain(&error))),
        }
    }
    if too_long { Err(format!("its standard output has more than {most} bytes")) } else { Ok(bytes) }
}

/// Sees to it that a command that runs is stopped in time, and its claim kept.
struct Watch {
    begun: Instant,
    /// When it was last looked whether the work is still held, and the journal as it was then.
    looked: Instant,
    opened: Opened,
    until: Option<DateTime<Utc>>,
    /// When the command was told to end.
    stopped: Option<Instant>,
}

impl Watch {
    /// What a command that runs has come to, if it must be ended now.
    fn look(
        &mut self,
        context: &mut Context,
        args: &Work,
        of: (&Session, &Activation),
        stop: &AtomicUsize,
        child: &Child,
    ) -> Result<Option<End>> {
        if stop.load(Ordering::Relaxed) != 0 && self.stopped.is_none() {
            // What it has done by then counts.
            self.stopped = Some(Instant::now());
            to_group(child, Signal::TERM);
        }
        if self.stopped.is_some_and(|since| since.elapsed() >= GRACE) {
            return Ok(Some(End::Stopped));
        }
        if let Some(timeout) = args.timeout.filter(|timeout| self.begun.elapsed() >= *timeout) {
            let time = humantime::format_duration(timeout);
            return Ok(Some(End::Failed(format!("the command ran for longer than {time}"))));
        }
        let half = TimeDelta::from_std(args.lease / 2).unwrap_or_default();
        let now = env::Env::read()?.now();
        if self.until.is_some_and(|until| now + half >= until) {
            return self.renew(context, args, of);
        }
        if self.looked.elapsed() >= LOOK_AGAIN {
            self.looked = Instant::now();
            return self.still_held(context, of);
        }
        Ok(None)
    }

    /// Looks whether the session was killed meanwhile, or somebody else has the work.
    fn still_held(&mut self, context: &Context, (of, work): (&Session, &Activation)) -> Result<Option<End>> {
        if self.opened.is_unchanged() {
            return Ok(None);
        }
        let mut table = Table::open(&context.dir, &JOURNAL, false)?;
        let held = match session(&mut table, &of.session_id)? {
            Some(mut session) => session.held(&work.work_id, work.fence, env::Env::read()?.now()).is_ok(),
            None => false,
        };
        self.opened = table.opened;
        Ok((!held).then_some(End::Lost))
    }

    fn renew(
        &mut self,
        context: &mut Context,
        args: &Work,
        (of, work): (&Session, &Activation),
    ) -> Result<Option<End>> {
        let (lock, mut table): (Lock, Table) = context.locked(&JOURNAL)?;
        let now = context.env.now();
        let Some(mut session) = session(&mut table, &of.session_id)? else { return Ok(Some(End::Lost)) };
        if session.held(&work.work_id, work.fence, now).is_err() {
            return Ok(Some(End::Lost));
        }
        let until = from_now(now, args.lease, "--lease")?;
        let line = renewed(&mut session, until, now)?;
        context.append(&lock, table, &[line])?;
        self.until = Some(until);
        Ok(None)
    }
}

fn to_group(child: &Child, signal: Signal) {
    if let Some(pid) = i32::try_from(child.id()).ok().and_then(Pid::from_raw) {
        // One that is gone needs none.
        let _ = kill_process_group(pid, signal);
    }
}

/// Ends a command and all that it has started.
fn end_group(child: &mut Child) {
    to_group(child, Signal::KILL);
    let _ = child.wait();
}
