//! `cruxctl durable send` and `send-many`: inputs go in, in order, and are on disk.

use std::path::PathBuf;

use clap::Args;
use serde_json::value::RawValue;

use super::signal::canonical;
use super::{Which, find_to_change, for_change, read_found};
use crate::cmd::{Context, input, plural};
use crate::error::{Code, Error, Result};
use crate::journal::append::LONGEST_RECORD;
use crate::journal::json::Squeeze;
use crate::journal::live::Live;
use crate::journal::table::Table;
use crate::render::{Group, Value};
use crate::store::durable::{Input, Session, Source, identity, limits, rules};

/// Arguments of `durable send`.
#[derive(Args, Debug)]
pub struct Send {
    /// Which session.
    #[command(flatten)]
    pub which: Which,
    /// Read the input from this file instead of standard input
    #[arg(long, value_name = "FILE", value_hint = clap::ValueHint::FilePath)]
    pub file: Option<PathBuf>,
    /// Accept it once: whoever sends with the same key again gets what was accepted then
    #[arg(long, value_name = "KEY")]
    pub idempotency_key: Option<String>,
    /// Say what would be done and do nothing
    #[arg(long)]
    pub dry_run: bool,
}

/// Arguments of `durable send-many`.
#[derive(Args, Debug)]
pub struct SendMany {
    /// Which session.
    #[command(flatten)]
    pub which: Which,
    /// Read the inputs from this file instead of standard input
    #[arg(long, value_name = "FILE", value_hint = clap::ValueHint::FilePath)]
    pub file: Option<PathBuf>,
    /// Accept each once: the first input gets this key with `/1` behind it, the second with `/2`
    #[arg(long, value_name = "KEY")]
    pub idempotency_key: Option<String>,
    /// Say what would be done and do nothing
    #[arg(long)]
    pub dry_run: bool,
}

/// What is said of each input.
pub const ACCEPTED: &[Group] = &[Group {
    name: "inputs",
    one: "input",
    columns: &["id", "cursor", "accepted_at", "deduplicated", "dry_run"],
    shown: &["cursor", "id"],
    blocks: false,
}];

/// How much is read where one input is expected: white space between tokens may make it longer than it counts.
const MOST_READ: u64 = 16 * limits::BYTES;

/// How many bytes an input has in its record at least, beside its payload and its key.
const AROUND: u64 = 160;

/// An input that came in, and by what its sender knows it again.
pub(super) struct Sent {
    pub payload: Box<RawValue>,
    pub idempotency_key: Option<String>,
}

/// Runs `durable send`.
pub fn send(context: &mut Context, args: &Send) -> Result<()> {
    check_key(args.idempotency_key.as_deref())?;
    let hint =
        "pipe it in: echo '{\"order\":42}' | cruxctl durable send --session ID, or name a file: --file INPUT.json";
    let payload = one_input(args.file.as_deref(), "the input", hint)?;
    let sent = Sent { payload, idempotency_key: args.idempotency_key.clone() };
    accept(context, &args.which, vec![sent], args.dry_run, "cruxctl.durable.send.v1")
}

/// Refuses an idempotency key that is none: with an empty one, all but the first would be taken for the first.
fn check_key(key: Option<&str>) -> Result<()> {
    key.map_or(Ok(()), |key| input::check_new("idempotency key", key, None))
}

/// Reads one input.
pub(super) fn one_input(file: Option<&std::path::Path>, what: &str, hint: &str) -> Result<Box<RawValue>> {
    let (text, name) = input::bytes(file, MOST_READ, &format!("{what} is"), hint)?;
    let Some(text) = text else {
        let message = format!("{name} has more than {MOST_READ} bytes; an input has {} at most", limits::BYTES);
        return Err(Error::new(Code::UsageSessionInputInvalid, message));
    };
    payload(&text, &name)
}

/// What is kept of an input: its tokens.
pub(super) fn payload(text: &[u8], name: &str) -> Result<Box<RawValue>> {
    let mut line = Vec::with_capacity(text.len());
    Squeeze::default().squeeze(text, &mut line);
    limits::check(&line, name)?;
    let invalid = |error: &dyn std::fmt::Display| {
        Error::new(Code::UsageSessionInputInvalid, format!("{name} is not one JSON value: {error}"))
    };
    let line = String::from_utf8(line).map_err(|error| invalid(&error))?;
    RawValue::from_string(line).map_err(|error| invalid(&error))
}

/// Runs `durable send-many`.
pub fn send_many(context: &mut Context, args: &SendMany) -> Result<()> {
    check_key(args.idempotency_key.as_deref())?;
    let hint = "cruxctl durable send-many --session ID --file INPUTS.jsonl";
    let (text, name) = input::bytes(args.file.as_deref(), LONGEST_RECORD, "the inputs are", hint)?;
    let Some(text) = text else { return Err(too_many(&name)) };
    let (mut sent, mut bytes) = (Vec::new(), 0);
    for (number, line) in (1..).zip(text.split(|byte| *byte == b'\n')) {
        if line.trim_ascii().is_empty() {
            continue;
        }
        let payload = payload(line, &format!("line {number} of {name}"))
            .map_err(|error| error.after(true, "none of the lines was accepted"))?;
        let idempotency_key = args.idempotency_key.as_ref().map(|key| format!("{key}/{}", sent.len() + 1));
        // Short lines are many records long before they are many bytes.
        bytes += (payload.get().len() + idempotency_key.as_ref().map_or(0, String::len)) as u64 + AROUND;
        if bytes > LONGEST_RECORD {
            return Err(too_many(&name));
        }
        sent.push(Sent { payload, idempotency_key });
    }
    if sent.is_empty() {
        context.printer.note(&format!("there is no input in {name}; nothing was accepted"));
    }
    accept(context, &args.which, sent, args.dry_run, "cruxctl.durable.send-many.v1")
}

fn too_many(name: &str) -> Error {
    let message = format!(
        "what {name} holds would be one record of more than {LONGEST_RECORD} bytes: all of it or none; nothing was \
         accepted"
    );
    Error::new(Code::RefusedTooLarge, message).hint("send it in parts: split -l 10000 INPUTS.jsonl")
}

/// An input as it is told: where it came in, and whether it was there already.
struct Told {
    id: String,
    cursor: u64,
    accepted_at: chrono::DateTime<chrono::Utc>,
    deduplicated: bool,
}

/// Accepts inputs, all of them or none.
fn accept(context: &mut Context, which: &Which, sent: Vec<Sent>, dry_run: bool, schema: &'static str) -> Result<()> {
    let (lock, mut table) = for_change(context, dry_run)?;
    let mut session = find_to_change(&mut table, which)?;
    let now = context.env.now();
    let mut told: Vec<Told> = Vec::with_capacity(sent.len());
    let mut new: Vec<Input> = Vec::new();
    for Sent { payload, idempotency_key } in sent {
        let before = match &idempotency_key {
            Some(key) => sent_before(&mut table, &session, key)?,
            None => None,
        };
        if let Some(before) = before {
            warn_of_another(context, &before, &payload, idempotency_key.as_deref().unwrap_or_default());
            let Input { input_id: id, cursor, accepted_at, .. } = before;
            told.push(Told { id, cursor, accepted_at, deduplicated: true });
            continue;
        }
        let cursor = session.accepted + 1 + new.len() as u64;
        let input_id = identity::input(&session.session_id, cursor);
        told.push(Told { id: input_id.clone(), cursor, accepted_at: now, deduplicated: false });
        new.push(Input {
            input_id,
            cursor,
            source: Source::Send,
            accepted_at: now,
            idempotency_key,
            signal_id: None,
            occurrence: None,
            subscription_id: None,
            payload: Some(payload),
        });
    }
    // What was accepted before is told again, also by one that takes nothing more.
    if told.is_empty() || !new.is_empty() {
        session.takes_ingress()?;
    }
    let mut lines = Vec::new();
    let again: Vec<String> = told.iter().filter(|told| told.deduplicated).map(|told| told.id.clone()).collect();
    if !again.is_empty() {
        session.repeat(again.len() as u64, now);
        lines.push(session.repeat_line(&again));
    }
    if !new.is_empty() {
        session.accept(new.len() as u64, now)?;
        lines.push(session.accept_line(&new));
    }
    if let Some(lock) = lock.filter(|_| !lines.is_empty()) {
        context.append(&lock, table, &lines)?;
    }
    let done = !dry_run && !new.is_empty();
    tell(context, schema, &told, dry_run)
        .map_err(|error| error.after(done, &format!("{} accepted", plural(new.len() as u64, "input"))))
}

/// Says so where something else comes with the key of an input: what was accepted first counts, and this does not. What
/// was erased cannot be told from it.
pub(super) fn warn_of_another(context: &mut Context, before: &Input, payload: &RawValue, key: &str) {
    let same = |own: &RawValue| {
        let read = |text: &RawValue| serde_json::from_str::<serde_json::Value>(text.get()).ok();
        own.get() == payload.get()
            || read(own).zip(read(payload)).is_some_and(|(a, b)| canonical(&a) == canonical(&b))
    };
    if before.payload.as_deref().is_some_and(|own| !same(own)) {
        let text =
            format!("{key:?} came with another payload before, as {}: this one is not accepted", before.input_id);
        context.printer.warn(&text, &[]);
    }
}

/// The input that came with an idempotency key before.
fn sent_before(table: &mut Table, session: &Session, key: &str) -> Result<Option<Input>> {
    let place = |live: &mut Live| rules::sent_before(live, &session.session_id, key);
    let is = |found: &Input| found.idempotency_key.as_deref() == Some(key);
    read_found(table, place, |bytes| Input::read(bytes).filter(is))
}

fn tell(context: &mut Context, schema: &'static str, told: &[Told], dry_run: bool) -> Result<()> {
    context.printer.begin(schema, ACCEPTED)?;
    for Told { id, cursor, accepted_at, deduplicated } in told {
        let cells = [
            Value::text(&**id),
            Value::text(cursor.to_string()),
            Value::Time(*accepted_at),
            Value::Flag(*deduplicated),
            Value::Flag(dry_run),
        ];
        context.printer.row(0, &[id], &cells)?;
    }
    context.printer.end()
}
