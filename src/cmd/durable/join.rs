//! `cruxctl durable result`: what has come of an input.

use std::time::{Duration, Instant};

use clap::Args;

use super::{missing, read_found, session};
use crate::cmd::Context;
use crate::cmd::complete::{Durable, Offers};
use crate::error::{Code, Error, Result};
use crate::journal::live::Live;
use crate::journal::replay::Opened;
use crate::journal::table::Table;
use crate::render::{Format, Value, json_text, quoted};
use crate::store::durable::rules::Outcome;
use crate::store::durable::{JOURNAL, Progress, Session, State, identity, rules};

/// Arguments of `durable result`.
#[derive(Args, Debug)]
pub struct ResultOf {
    /// The input's id, as `durable send` prints it
    #[arg(long, value_name = "INPUT", add = Offers::Durable(Durable::Inputs))]
    pub input: String,
    /// Wait so long for it
    #[arg(long, value_name = "TIME", value_parser = humantime::parse_duration)]
    pub wait: Option<Duration>,
}

/// How often a journal is looked at that is waited for.
const LOOK_AGAIN: Duration = Duration::from_millis(20);

/// Waits until the journal is not as it was when it was opened, and not longer than until `end`; `false`: that came first,
/// or nobody reads any more.
pub(super) fn wait_for_change(context: &mut Context, opened: &Opened, end: Option<Instant>) -> bool {
    loop {
        let left = end.map(|end| end.saturating_duration_since(Instant::now()));
        if context.printer.gone() || left.is_some_and(|left| left.is_zero()) {
            return false;
        }
        context.printer.wait(left.unwrap_or(LOOK_AGAIN).min(LOOK_AGAIN));
        let absent = opened.file.is_none() && !opened.path.exists();
        if !absent && !opened.is_unchanged() {
            return true;
        }
    }
}

/// Runs the verb.
pub fn run(context: &mut Context, args: &ResultOf) -> Result<()> {
    let end = args.wait.map(|wait| Instant::now() + wait.min(Duration::from_secs(u64::from(u32::MAX))));
    let (id, cursor) = identity::input_parts(&args.input)
        .ok_or_else(|| Error::new(Code::UsageId, format!("{:?} is no input's id", args.input)))?;
    loop {
        let mut table = context.table(&JOURNAL, true)?;
        let pending = match look(&mut table, &args.input, (&id, cursor))? {
            Ok(result) => return tell(context, args, &result),
            Err(error) => error,
        };
        let waits = matches!(pending.code, Code::NoSessionResultPending | Code::RefusedSessionResultBlocked);
        let waits = waits && end.is_some();
        if !waits || !wait_for_change(context, &table.opened, end) {
            return Err(pending);
        }
        // Damage counts that the last look meets: what a killed process has begun to write, the next one sets aside.
        context.forget_damage();
    }
}

/// What has come of an input: its result, or why there is none.
fn look(
    table: &mut Table,
    input_id: &str,
    (session_id, cursor): (&str, u64),
) -> Result<std::result::Result<Vec<u8>, Error>> {
    let found = session(table, session_id)?.filter(|found| found.accepted >= cursor && cursor > 0);
    let Some(found) = found else {
        return Ok(Err(Error::new(Code::NoSessionInput, format!("there is no input {input_id}"))));
    };
    if found.state == State::Deleted {
        return Ok(Err(found.deleted()));
    }
    let lost = |what: &str| {
        let message = format!("{} has lost {what} of {input_id}, which is finished", JOURNAL.file);
        Error::new(Code::DamagedJournal, message)
            .hint("cruxctl journal check durable")
            .hint("what a repair has taken out lies in cruxctl/quarantine")
    };
    let Some(known) = table.look(|live| rules::input(live, input_id))? else {
        return Ok(Err(missing(input_id)));
    };
    let first = identity::input(&found.session_id, known.first);
    let (work_id, _) = identity::work(&found.namespace, &found.session_id, &first);
    let work = table.look(|live| rules::work(live, &work_id))?;
    let place = |live: &mut Live| rules::work(live, &work_id).map(|work| work.result).filter(|span| span.len > 0);
    Ok(match known.outcome {
        Outcome::None if cursor <= found.processed => Err(lost("the line that says what became")),
        Outcome::None => Err(unfinished(&found, input_id, cursor)),
        Outcome::Failed => {
            let reason = read_found(table, place, text)?.unwrap_or_default();
            let message = format!("the work {work_id} of {input_id} has failed: {reason}");
            Err(Error::new(Code::RefusedSessionResultFailed, message))
        }
        Outcome::Completed if work.is_some_and(|work| work.erased) => {
            let message = format!("the result of {input_id} was erased when the journal was compacted");
            Err(Error::new(Code::RefusedSessionResultErased, message))
        }
        Outcome::Completed => read_found(table, place, json)?.ok_or_else(|| lost("the result")),
    })
}

/// A JSON value, as it is written.
fn json(bytes: &[u8]) -> Option<Vec<u8>> {
    crate::journal::json::whole(bytes, 0).is_ok().then(|| bytes.to_vec())
}

fn text(bytes: &[u8]) -> Option<String> {
    serde_json::from_slice(bytes).ok()
}

/// Why an input is not finished.
fn unfinished(session: &Session, input_id: &str, cursor: u64) -> Error {
    let work = session.work.as_ref().filter(|work| work.first <= cursor && cursor <= work.last);
    match (session.state, work) {
        (State::Killed, _) => {
            let message = format!("the session of {input_id} was killed before it was finished");
            Error::new(Code::RefusedSessionResultDropped, message)
        }
        (_, Some(work)) if work.progress == Progress::Blocked => {
            let why = work.blocker.as_deref().unwrap_or_default();
            Error::new(Code::RefusedSessionResultBlocked, format!("the work of {input_id} is blocked: {why}"))
                .hint(format!("cruxctl durable unblock --session {}", quoted(&session.session_id)))
        }
        (_, Some(work)) => {
            let message = format!("there is no result of {input_id} yet: its work is {}", work.progress.name());
            Error::new(Code::NoSessionResultPending, message)
        }
        (_, None) => {
            let message = format!("there is no result of {input_id} yet: nobody has claimed it");
            Error::new(Code::NoSessionResultPending, message)
        }
    }
}

fn tell(context: &mut Context, args: &ResultOf, result: &[u8]) -> Result<()> {
    let printer = &mut context.printer;
    if printer.wants_raw() {
        printer.raw(result)?;
        printer.raw(b"\n")?;
        return printer.flush();
    }
    if matches!(printer.format(), Format::Table | Format::Plain) {
        printer.raw(format!("{}\n", json_text(result)).as_bytes())?;
        return printer.flush();
    }
    printer.begin("cruxctl.durable.result.v1", &[])?;
    printer.fields(Some(&args.input), &[("input_id", Value::text(&*args.input)), ("result", Value::Json(result))])?;
    printer.end()
}
