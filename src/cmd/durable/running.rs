//! A command that runs for a worker: its inputs are handed to it, its output is read, its claim is kept, and it is ended
//! when its time is over or somebody else has its work.

use std::io::{self, BufWriter, Read, Write};
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::process::{Child, ChildStdin, Command, ExitStatus, Stdio};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use chrono::{DateTime, TimeDelta, Utc};
use rustix::process::{Pid, Signal, kill_process_group};
use serde_json::value::RawValue;

use super::session;
use super::turn::{each_input, from_now, output, renewed};
use super::worker::Work;
use crate::cmd::{Context, input};
use crate::env;
use crate::error::{Code, Error, Result, plain};
use crate::journal::files;
use crate::journal::lock::Lock;
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

/// How long a command has to end by itself once it was told to.
const GRACE: Duration = Duration::from_secs(8);

/// How many bytes of a result are read at once.
const BLOCK: usize = 1 << 16;

/// What a command has come to.
pub(super) enum End {
    Completed(Box<RawValue>),
    Failed(String),
    Blocked(String),
    /// A signal has ended the worker: somebody else goes on.
    Stopped,
    /// Somebody else has it by now.
    Lost,
}

/// Runs the command with the inputs of work; says what it has come to.
pub(super) fn execute(
    context: &mut Context,
    args: &Work,
    session: &Session,
    work: &Activation,
    stop: &AtomicUsize,
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
