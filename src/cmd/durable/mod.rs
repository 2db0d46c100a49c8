//! `cruxctl durable`: sessions under a key, a queue of inputs each, and workers. One file for each thing that is done:
//! `open` makes them, `ingress` sends, `turn` claims and commits step by step, `worker` does so for any program (`queue`
//! says what is next, `running` sees to the program), `join` hands out results, `look` shows without payloads, `stream` tells what happens, `signal` subscribes and publishes,
//! `life` ends them.

pub mod ingress;
pub mod join;
pub mod life;
pub mod look;
pub mod open;
mod queue;
mod running;
pub mod signal;
pub mod stream;
pub mod turn;
pub mod worker;

use clap::{ArgGroup, Args, Subcommand};

use super::Context;
use super::complete::{Durable, Offers};
use crate::error::{Code, Error, Result};
use crate::journal::Span;
use crate::journal::live::{IdKey, Live};
use crate::journal::lock::Lock;
use crate::journal::table::Table;
use crate::render::quoted;
use crate::store::durable::identity::Keyed;
use crate::store::durable::{Input, JOURNAL, Session, State, rules};

/// Arguments of `cruxctl durable`.
#[derive(Args, Debug)]
pub struct DurableArgs {
    /// The verb.
    #[command(subcommand)]
    pub verb: Verb,
}

/// The verbs of `cruxctl durable`.
#[derive(Debug, Subcommand)]
pub enum Verb {
    /// Open a session under a key, or reopen it
    ///
    /// A key belongs to one target in a namespace: whoever opens it again with the same target gets the same session, also
    /// when many do so at once; with another target it is refused. Ids are hashes of namespace, target and key, so that
    /// they are the same everywhere. Opening runs nothing. A session that was closed stays closed under its key, and the
    /// key of a deleted one never comes back.
    Open(open::Open),
    /// Show which session a key has; never make one
    Get(open::Get),
    /// Go on from a session in a child of its own
    ///
    /// The child shares the thread, and has no inputs, subscriptions or key. Forking twice at the same place gives the same
    /// child. A session that is closing or blocked cannot be forked.
    Fork(open::Fork),
    /// List the children of a session
    Forks(look::Forks),
    /// Send an input: one JSON value from standard input
    ///
    /// Done when the input is on disk; a worker sees to it later. Inputs of a session are numbered from 1 in the order in
    /// which they were accepted, whoever sends them. An input has at most 64 levels, 100,000 values and 1 MiB; one that
    /// does not fit takes no number. White space between tokens is not kept. With --idempotency-key, sending again returns
    /// what was accepted the first time; where that was another payload, a warning says so.
    Send(ingress::Send),
    /// Send many inputs at once, one to a line: all of them or none
    SendMany(ingress::SendMany),
    /// Work off inputs with a command
    ///
    /// Claims the inputs of a session that wait, all at once or --batch of them, and runs the command with them on its
    /// standard input, one JSON value to a line, in order. Its standard output, one JSON value, is the result of all of them,
    /// if it ends with 0. A command that ends with 78 blocks the session until `durable unblock`; any other status, a
    /// signal, or an output that is not one JSON value, is a failure: it is tried again, with the same inputs, until it has
    /// failed --max-attempts times. The command's standard error goes where this command's goes. What it has started in the
    /// background ends with it, unless that has begun a session of its own, and may hold its output for 8 seconds.
    ///
    /// The command finds in its environment CRUXCTL_WORK_ID, CRUXCTL_WORK_EFFECT (the same for each attempt: by it a command
    /// knows what it has done before), CRUXCTL_WORK_SESSION, CRUXCTL_WORK_THREAD, CRUXCTL_WORK_NAMESPACE,
    /// CRUXCTL_WORK_TARGET, CRUXCTL_WORK_KEY, CRUXCTL_WORK_FIRST, CRUXCTL_WORK_LAST, CRUXCTL_WORK_ATTEMPT (failures and this
    /// one), CRUXCTL_WORK_CLAIMS (how often the work was given out), and CRUXCTL_DATA_DIR.
    ///
    /// A worker that dies loses its claim: at once where its command is gone as well, else when the lease ends. Whoever comes
    /// next gets the same inputs. A command may therefore run more than once; its result is committed once. A death is no
    /// failure: a command that takes its worker down is given its inputs again, and can tell by CRUXCTL_WORK_CLAIMS.
    ///
    /// Without --follow it ends when nothing waits that it can do: it waits for what it has put off itself, not for what
    /// others have. It ends with 5 where work that it has done has failed for good or was blocked, and with 3 where a session
    /// cannot be worked on because an input is lost. SIGTERM, SIGINT and SIGHUP end the command, and what it has not finished
    /// is given back; then the signal ends this command as well, but with --follow it ends with 0.
    Work(worker::Work),
    /// Claim the inputs of a session that wait, for a worker of one's own
    ///
    /// Prints the work, its fence and its inputs. Until the lease ends nobody else gets them, and whoever shows the fence may
    /// `complete`, `fail`, `block` or `checkpoint` the work. Inputs that are sent meanwhile wait for the next claim.
    Claim(turn::Claim),
    /// Hold on to claimed work for longer
    Renew(turn::Renew),
    /// Give claimed work back, for somebody else to claim
    Release(turn::Release),
    /// Put the result of claimed work on disk before it is committed
    ///
    /// Whoever claims the work after a crash is told that its result is prepared, and has only to complete it. The first
    /// result counts: a second one is refused.
    Checkpoint(turn::Checkpoint),
    /// Commit claimed work with its result: one JSON value from standard input
    Complete(turn::Complete),
    /// Fail claimed work: its inputs are finished and have no result
    Fail(turn::Fail),
    /// Block claimed work until somebody unblocks it
    Block(turn::Block),
    /// Let blocked work be claimed again
    ///
    /// And at once what was put off. Where the next input of a session is lost, because its line was damaged and set aside,
    /// this gives it up: it has failed then, and those behind it can be claimed.
    Unblock(turn::Unblock),
    /// Print the result of an input, exactly as it was committed
    ///
    /// While there is none the exit status is 1 (no.session_result_pending), or 5 where it waits for `durable unblock`
    /// (refused.session_result_blocked). Where there never will be one it is 5: the work has failed
    /// (refused.session_result_failed), the session was killed before (refused.session_result_dropped), or the result was
    /// erased (refused.session_result_erased).
    Result(join::ResultOf),
    /// Show where a session stands
    Status(look::Status),
    /// Show the newest inputs of a session and what has become of them; no payloads
    Inspect(look::Inspect),
    /// Show what was counted in the life of a session; no payloads
    Stats(look::Stats),
    /// List the sessions; no payloads
    List(look::List),
    /// Print what has happened to a session, one JSON object a line; no payloads
    ///
    /// Without --after it begins with a snapshot, and the events follow that the journal has without a gap, up to now; with
    /// the cursor of an event, those behind it. A cursor that is not there, or not any more, gives a snapshot with the reason
    /// cursor-expired and all that is there. With --follow it goes on, until the session has ended.
    Stream(stream::Stream),
    /// Subscribe a session to a signal
    ///
    /// What is published from then on becomes an input of the session. With --match, a JSON object, only payloads count that
    /// have each of its members with the same value. Subscribing again, in whatever order the members are written, changes
    /// nothing.
    Subscribe(signal::Subscribe),
    /// End a subscription; what was delivered stays
    Unsubscribe(signal::Unsubscribe),
    /// List the active subscriptions
    Subscriptions(signal::Subscriptions),
    /// Publish an occurrence of a signal: one JSON value from standard input
    ///
    /// It becomes an input of each session with an active subscription that it matches, once for each session, however many
    /// of its subscriptions match, and however often the same occurrence is published. Of a member that a payload has twice,
    /// the last one is matched.
    Publish(signal::Publish),
    /// Take no inputs any more, and close when those that are there are finished
    Close(life::Close),
    /// End a session at once: whoever works on it can no longer commit
    Kill(life::Kill),
    /// Leave nothing of a session that is closed or killed but that it was there
    ///
    /// Its key never comes back. `journal compact durable` erases its inputs and results.
    Delete(life::Delete),
}

/// Runs a verb.
pub fn run(context: &mut Context, args: DurableArgs) -> Result<()> {
    if context.typed_agent.is_some() {
        context.printer.note("durable sessions belong to no agent: --agent changes nothing here");
    }
    match args.verb {
        Verb::Open(args) => open::open(context, &args),
        Verb::Get(args) => open::get(context, &args),
        Verb::Fork(args) => open::fork(context, &args),
        Verb::Forks(args) => look::forks(context, &args),
        Verb::Send(args) => ingress::send(context, &args),
        Verb::SendMany(args) => ingress::send_many(context, &args),
        Verb::Work(args) => worker::run(context, &args),
        Verb::Claim(args) => turn::claim(context, &args),
        Verb::Renew(args) => turn::renew(context, &args),
        Verb::Release(args) => turn::release(context, &args),
        Verb::Checkpoint(args) => turn::checkpoint(context, &args),
        Verb::Complete(args) => turn::complete(context, &args),
        Verb::Fail(args) => turn::fail(context, &args),
        Verb::Block(args) => turn::block(context, &args),
        Verb::Unblock(args) => turn::unblock(context, &args),
        Verb::Result(args) => join::run(context, &args),
        Verb::Status(args) => look::status(context, &args),
        Verb::Inspect(args) => look::inspect(context, &args),
        Verb::Stats(args) => look::stats(context, &args),
        Verb::List(args) => look::list(context, &args),
        Verb::Stream(args) => stream::run(context, &args),
        Verb::Subscribe(args) => signal::subscribe(context, &args),
        Verb::Unsubscribe(args) => signal::unsubscribe(context, &args),
        Verb::Subscriptions(args) => signal::subscriptions(context, &args),
        Verb::Publish(args) => signal::publish(context, &args),
        Verb::Close(args) => life::close(context, &args),
        Verb::Kill(args) => life::kill(context, &args),
        Verb::Delete(args) => life::delete(context, &args),
    }
}

/// Which session a verb is about: its id, or its target and key.
#[derive(Args, Clone, Debug)]
#[command(group = ArgGroup::new("session or key").args(["session", "key"]).required(true))]
pub struct Which {
    /// The session's id
    #[arg(long, value_name = "ID", conflicts_with_all = ["target", "key"], add = Offers::Durable(Durable::Sessions))]
    pub session: Option<String>,
    /// The agent's id or the flow's name
    #[arg(long, value_name = "TARGET", requires = "key", add = Offers::Durable(Durable::Targets))]
    pub target: Option<String>,
    /// The key that the session was opened under
    #[arg(long, value_name = "KEY", requires = "target", add = Offers::Durable(Durable::Keys))]
    pub key: Option<String>,
    /// Where the key counts
    #[arg(long, value_name = "NAMESPACE", default_value = NAMESPACE, add = Offers::Durable(Durable::Namespaces))]
    pub namespace: String,
}

/// The namespace where none is named.
pub const NAMESPACE: &str = "default";

impl Which {
    /// The ids of its key, where it is named by one.
    fn keyed(&self) -> Option<Keyed> {
        Some(Keyed::of(&self.namespace, self.target.as_ref()?, self.key.as_ref()?))
    }

    /// The session's id.
    #[must_use]
    pub fn id(&self) -> String {
        let by_key = || self.keyed().map(|keyed| keyed.session_id);
        self.session.clone().or_else(by_key).unwrap_or_default()
    }
}

/// Refuses to write behind damage: where the last line of a session is lost, its inputs would get numbers that are taken,
/// and what was committed would be done again.
fn whole(table: &Table) -> Result<()> {
    if !table.is_damaged() {
        return Ok(());
    }
    let message = format!("{} is damaged: what it hides may be the last word on a session", JOURNAL.file);
    // What is not there any more, no repair brings back.
    let then = match table.seen.damage {
        0 => "cruxctl journal check durable --accept",
        _ => "cruxctl journal repair durable --apply",
    };
    Err(Error::new(Code::RefusedDamage, message).hint("cruxctl journal check durable").hint(then))
}

/// The sessions, for a verb that changes something; without the lock where nothing will be written.
fn for_change(context: &mut Context, dry_run: bool) -> Result<(Option<Lock>, Table)> {
    let (lock, table) = context.for_change(&JOURNAL, dry_run)?;
    whole(&table)?;
    Ok((lock, table))
}

/// Reads what the index knows a place of. Where something else lies there the index is wrong, and all of the journal is read.
///
/// Errors: what lies there is not what its line says that it is.
fn read_found<T>(
    table: &mut Table,
    place: impl Fn(&mut Live) -> Option<Span>,
    read: impl Fn(&[u8]) -> Option<T>,
) -> Result<Option<T>> {
    let Some(at) = table.look(&place)? else { return Ok(None) };
    if let Some(found) = table.opened.read(at).ok().and_then(|bytes| read(&bytes)) {
        return Ok(Some(found));
    }
    let at = if table.without_index()? { table.look(&place)? } else { Some(at) };
    let Some(at) = at else { return Ok(None) };
    read(&table.opened.read(at)?).map(Some).ok_or_else(|| {
        let line = table.opened.line_of(at.offset).map_or_else(|_| String::new(), |line| format!("line {line} of "));
        let message = format!("what {line}{} says, at byte {}, contradicts itself", JOURNAL.file, at.offset);
        Error::new(Code::DamagedJournal, message).hint("cruxctl journal check durable")
    })
}

/// A session by its id, deleted or not.
fn session(table: &mut Table, id: &str) -> Result<Option<Session>> {
    let place = |live: &mut Live| rules::session(live, id).map(|known| known.place);
    read_found(table, place, |bytes| Session::read(bytes).filter(|found| found.session_id == id))
}

/// A session by its key in the index, deleted or not.
fn session_at(table: &mut Table, key: IdKey) -> Result<Option<Session>> {
    let place = |live: &mut Live| rules::by_index_key(live, key).map(|known| known.place);
    read_found(table, place, |bytes| Session::read(bytes).filter(|found| IdKey::of(&found.session_id) == key))
}

/// An input by its id.
fn input_of(table: &mut Table, id: &str) -> Result<Option<Input>> {
    let place = |live: &mut Live| rules::input(live, id).map(|known| known.place);
    read_found(table, place, |bytes| Input::read(bytes).filter(|found| found.input_id == id))
}

/// The session that a verb shows.
///
/// Errors: there is none, its key belongs to another target, or it was deleted.
fn find(table: &mut Table, which: &Which) -> Result<Session> {
    find_or(table, which, |found| gone(&found.session_id, "was deleted"))
}

/// The session that a verb changes, or that a key is asked for. The errors are the same, but for one that was deleted.
fn find_to_change(table: &mut Table, which: &Which) -> Result<Session> {
    find_or(table, which, if which.key.is_some() { tombstoned } else { Session::deleted })
}

fn find_or(table: &mut Table, which: &Which, deleted: fn(&Session) -> Error) -> Result<Session> {
    match session(table, &which.id())? {
        Some(found) if found.state == State::Deleted => Err(deleted(&found)),
        Some(found) => Ok(found),
        None => Err(nowhere(table, which)?),
    }
}

/// Why there is no session of this name.
fn nowhere(table: &mut Table, which: &Which) -> Result<Error> {
    let Some(keyed) = which.keyed() else { return Ok(gone(&which.id(), "is not there")) };
    if let Some(other) = of_key(table, &keyed)? {
        return Ok(conflict(&other, which.target.as_deref().unwrap_or_default()));
    }
    let message = format!(
        "no session of {:?} has the key {:?} in the namespace {:?}",
        which.target.as_deref().unwrap_or_default(),
        which.key.as_deref().unwrap_or_default(),
        which.namespace
    );
    Ok(Error::new(Code::NoSessionNotFound, message).hint("cruxctl durable list"))
}

/// The session that a key belongs to, whatever its target.
fn of_key(table: &mut Table, keyed: &Keyed) -> Result<Option<Session>> {
    let place = |live: &mut Live| rules::by_key(live, &keyed.key_hash).map(|known| known.place);
    read_found(table, place, |bytes| Session::read(bytes).filter(|found| found.key_hash == keyed.key_hash))
}

/// The error where the journal has lost an input.
fn missing(input_id: &str) -> Error {
    let message = format!("{} has lost {input_id}, which it says was accepted", JOURNAL.file);
    Error::new(Code::DamagedJournal, message)
        .hint("cruxctl journal check durable")
        .hint("what a repair has taken out lies in cruxctl/quarantine")
}

fn gone(id: &str, why: &str) -> Error {
    Error::new(Code::NoSessionNotFound, format!("the durable session {id} {why}")).hint("cruxctl durable list")
}

fn tombstoned(session: &Session) -> Error {
    let message = format!("the key belongs to {}, which was deleted: it never comes back", session.session_id);
    Error::new(Code::RefusedSessionTombstoned, message)
}

/// The error of a key that belongs to a session of another target.
fn conflict(other: &Session, target: &str) -> Error {
    if other.state == State::Deleted {
        return tombstoned(other);
    }
    let (kind, id) = (other.target_kind.name(), &other.target_id);
    let message = match id == target {
        true => format!("the key belongs to {id:?}, which is of the kind {kind}"),
        false => format!("the key belongs to {kind} {id:?}, not to {target:?}"),
    };
    Error::new(Code::RefusedSessionIdentityConflict, message)
        .hint(format!("cruxctl durable status --session {}", quoted(&other.session_id)))
}

/// Appends a line behind the lock, if there is one: a dry run has none. Nobody is kept waiting while it is told.
fn write(context: &mut Context, lock: Option<Lock>, table: Table, line: Vec<u8>) -> Result<()> {
    if let Some(lock) = lock {
        context.append(&lock, table, &[line])?;
    }
    Ok(())
}

/// A cursor as it is shown; absent where there is none.
fn cursor(number: u64) -> crate::render::Value<'static> {
    match number {
        0 => crate::render::Value::Absent,
        number => crate::render::Value::text(number.to_string()),
    }
}
