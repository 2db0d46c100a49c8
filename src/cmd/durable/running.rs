//! A command that runs for a worker: its inputs are handed to it, its output is read, its claim is kept, and it is ended
//! when its time is over or somebody else has its work.

use std::io::{self, BufWriter, Read, Write};
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::process::{Child, ChildStdin, Command, ExitStatus, Stdio};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use chrono::TimeDelta;
use rustix::process::{Pid, Signal, WaitId, WaitIdOptions, kill_process_group, waitid};
use serde_json::value::RawValue;

use super::turn::{each_input, lease, output, renewed};
use super::worker::Work;
use super::{session, whole};
use crate::cmd::{Context, input};
use crate::env;
use crate::error::{Code, Error, Result, plain};
use crate::journal::append::LONGEST_RECORD;
use crate::journal::files;
use crate::journal::replay::{self, Opened};
use crate::journal::table::Table;
use crate::store::durable::{JOURNAL, Session, Work as Activation, identity};

/// With this status a command asks for somebody to put something right: EX_CONFIG of sysexits.h.
const BLOCKS: i32 = 78;

/// How often a command that runs is looked at.
const LOOK: Duration = Duration::from_millis(20);
const SHORT_LOOK: Duration = Duration::from_micros(200);

/// How often it is looked whether the work of a command that runs was taken away.
const LOOK_AGAIN: Duration = Duration::from_millis(200);

/// How long a command has to end by itself once it was told to, and what it has started, once it has ended.
const GRACE: Duration = Duration::from_secs(8);

/// How long the lock is waited for at once while a command runs.
const SHORT_WAIT: Duration = Duration::from_millis(500);

/// More bytes than the line of a result has beside it.
const AROUND: u64 = 1 << 20;

/// How many bytes of a result are read at once.
const BLOCK: usize = 1 << 16;

/// What a command has come to.
pub(super) enum End {
    Completed(Box<RawValue>),
    /// It was not run: its result is on disk.
    Prepared,
    Failed(String),
    Blocked(String),
    /// A signal has ended the worker: somebody else goes on.
    Stopped,
    /// Somebody else has it by now.
    Lost,
}

/// A command that runs, in a process group of its own. What is left of the group ends with it, whatever happens.
struct Running {
    child: Child,
    /// Whether the command has ended by itself.
    ended: bool,
    /// Whether all of it was ended.
    gone: bool,
}

impl Running {
    /// Whether the command has ended. It stays where it is, so that its number is nobody else's.
    fn has_ended(&mut self) -> Result<bool> {
        if !self.ended
            && let Some(pid) = self.pid()
        {
            let options = WaitIdOptions::EXITED | WaitIdOptions::NOWAIT | WaitIdOptions::NOHANG;
            let state = waitid(WaitId::Pid(pid), options)
                .map_err(|error| Error::from_io("cannot wait for the command", &error.into()))?;
            self.ended = state.is_some();
        }
        Ok(self.ended)
    }

    fn pid(&self) -> Option<Pid> {
        i32::try_from(self.child.id()).ok().and_then(Pid::from_raw)
    }

    fn signal(&self, signal: Signal) {
        if let Some(pid) = self.pid() {
            // One that is gone needs none.
            let _ = kill_process_group(pid, signal);
        }
    }

    /// Ends the command and all that it has started.
    fn end(&mut self) -> Result<ExitStatus> {
        // Once it was waited for, its number may be that of somebody else.
        if !std::mem::replace(&mut self.gone, true) {
            self.signal(Signal::KILL);
        }
        self.child.wait().map_err(|error| Error::from_io("cannot wait for the command", &error))
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        let _ = self.end();
    }
}

/// Runs the command with the inputs of work; says what it has come to, and in the work, until when it is held.
pub(super) fn execute(
    context: &mut Context,
    args: &Work,
    session: &Session,
    work: &mut Activation,
    stop: &AtomicUsize,
) -> Result<End> {
    let most = input::most_state_bytes(None)?.min(LONGEST_RECORD - AROUND);
    let child = spawn(context, args, session, work).map_err(|error| {
        let name = args.command.first().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
        Error::from_io(&format!("cannot run {name}"), &error)
    })?;
    let mut running = Running { child, ended: false, gone: false };
    let feeder = running.child.stdin.take().map(|stdin| {
        let (dir, session, work) = (context.dir.clone(), session.clone(), work.clone());
        thread::spawn(move || feed(&dir, &session, &work, stdin))
    });
    let written = Arc::new(Mutex::new(Written::default()));
    let reader = running.child.stdout.take().map(|stdout| {
        let written = Arc::clone(&written);
        thread::spawn(move || read_most(stdout, most, &written))
    });
    let opened = replay::open_at_once(&context.dir, &JOURNAL)?;
    let mut watch = Watch { begun: Instant::now(), looked: Instant::now(), opened, stopped: None, busy: false };
    let mut ended = None::<Instant>;
    let are_done = || {
        let read = reader.as_ref().is_none_or(thread::JoinHandle::is_finished);
        read && feeder.as_ref().is_none_or(thread::JoinHandle::is_finished)
    };
    loop {
        if let Some(why) = &seen(&written).failed {
            return Ok(End::Failed(why.clone()));
        }
        if running.has_ended()? {
            // What it has started in the background may still write to its output, and for a while it may. And what was
            // not all read as it was sent is no input: that is known only when all of it was handed over.
            let since = *ended.get_or_insert_with(Instant::now);
            if are_done() || since.elapsed() >= GRACE {
                break;
            }
        }
        match watch.look(context, args, (session, work), stop, &running)? {
            // A command that takes long is looked at less often.
            None => thread::sleep((watch.begun.elapsed() / 16).clamp(SHORT_LOOK, LOOK)),
            Some(end) => return Ok(end),
        }
    }
    let status = running.end()?;
    if watch.stopped.is_some() && !status.success() {
        return Ok(End::Stopped);
    }
    // With its group the pipes are closed, unless something has left the group: nobody waits for that.
    let since = Instant::now();
    while !are_done() && since.elapsed() < LOOK_AGAIN {
        thread::sleep(SHORT_LOOK);
    }
    let failed = |_| Err(Error::new(Code::EnvironmentIo, "the inputs could not be handed to the command"));
    let feeder = feeder.filter(thread::JoinHandle::is_finished);
    feeder.map_or(Ok(()), |feeder| feeder.join().unwrap_or_else(failed))?;
    let Written { bytes, failed } = std::mem::take(&mut *seen(&written));
    let written = failed.map_or(Ok(bytes), Err);
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

fn spawn(context: &Context, args: &Work, session: &Session, work: &Activation) -> io::Result<Child> {
    let (name, rest) = args.command.split_first().ok_or(io::ErrorKind::InvalidInput)?;
    let first = identity::input(&session.session_id, work.first);
    let (_, effect) = identity::work(&session.namespace, &session.session_id, &first);
    Command::new(name)
        .args(rest)
        // What it sends to this directory goes there, however that was named here.
        .env("CRUXCTL_DATA_DIR", std::path::absolute(&context.dir.root)?)
        .env("CRUXCTL_WORK_NAMESPACE", &session.namespace)
        .env("CRUXCTL_WORK_CLAIMS", work.claims.to_string())
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

/// What a command has written so far.
#[derive(Default)]
struct Written {
    bytes: Vec<u8>,
    /// Why it is no result, whatever comes.
    failed: Option<String>,
}

/// What was written, as it is at this moment.
fn seen(written: &Mutex<Written>) -> MutexGuard<'_, Written> {
    // Who holds it does nothing that could fail.
    written.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Reads an output to its end, or until it is no result any more.
fn read_most(mut from: impl Read, most: u64, written: &Mutex<Written>) {
    let mut block = vec![0; BLOCK];
    loop {
        let got = from.read(&mut block);
        let mut written = seen(written);
        match got {
            Ok(0) => break,
            Ok(got) if written.bytes.len() as u64 + got as u64 <= most => {
                written.bytes.extend_from_slice(&block[..got]);
            }
            Ok(_) => written.failed = Some(format!("its standard output has more than {most} bytes")),
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => written.failed = Some(format!("its standard output cannot be read: {}", plain(&error))),
        }
        if written.failed.is_some() {
            break;
        }
    }
}

/// Sees to it that a command that runs is stopped in time, and its claim kept.
struct Watch {
    begun: Instant,
    /// When it was last looked whether the work is still held, and the journal as it was then.
    looked: Instant,
    opened: Opened,
    /// When the command was told to end.
    stopped: Option<Instant>,
    /// Whether the lock was not free when the claim was to be renewed.
    busy: bool,
}

impl Watch {
    /// What a command that runs has come to, if it must be ended now.
    fn look(
        &mut self,
        context: &mut Context,
        args: &Work,
        (of, work): (&Session, &mut Activation),
        stop: &AtomicUsize,
        running: &Running,
    ) -> Result<Option<End>> {
        if stop.load(Ordering::Relaxed) != 0 && self.stopped.is_none() {
            // What it has done by then counts.
            self.stopped = Some(Instant::now());
            running.signal(Signal::TERM);
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
        let is_time = self.looked.elapsed() >= LOOK_AGAIN;
        if work.until.is_some_and(|until| now + half >= until) && (is_time || !self.busy) {
            self.looked = Instant::now();
            return self.renew(context, args, (of, work));
        }
        if is_time {
            self.looked = Instant::now();
            return self.still_held(context, (of, work));
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

    /// Holds on to the work for longer. Where somebody is at the journal for long, it is tried again, as long as it is held.
    fn renew(
        &mut self,
        context: &mut Context,
        args: &Work,
        (of, work): (&Session, &mut Activation),
    ) -> Result<Option<End>> {
        let patience = context.lock_timeout;
        context.lock_timeout = patience.min(SHORT_WAIT);
        let locked = context.locked(&JOURNAL);
        context.lock_timeout = patience;
        let (lock, mut table) = match locked {
            Err(error) if error.code == Code::BusyLock => {
                self.busy = true;
                let now = env::Env::read()?.now();
                return Ok(work.until.is_none_or(|until| until <= now).then_some(End::Lost));
            }
            locked => locked?,
        };
        self.busy = false;
        whole(&table)?;
        let now = context.env.now();
        let Some(mut session) = session(&mut table, &of.session_id)? else { return Ok(Some(End::Lost)) };
        if session.held(&work.work_id, work.fence, now).is_err() {
            return Ok(Some(End::Lost));
        }
        let until = lease(now, args.lease)?;
        let line = renewed(&mut session, until, now)?;
        context.append(&lock, table, &[line])?;
        work.until = Some(until);
        Ok(None)
    }
}
