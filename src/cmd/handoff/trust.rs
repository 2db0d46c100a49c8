//! `cruxctl handoff trust`: which agents' signatures are trusted, kept in a journal of our own.

use std::path::PathBuf;

use clap::{Args, Subcommand};

use super::keys::public_key;
use crate::cmd::complete::Offers;
use crate::cmd::{Context, input};
use crate::error::{Code, Error, Result};
use crate::handoff::signature::PublicKey;
use crate::handoff::verify::Trusted;
use crate::journal::files;
use crate::journal::table::Table;
use crate::render::{Group, Value, quoted};
use crate::store::trust::{self, Entry, JOURNAL};

/// Arguments of `handoff trust`.
#[derive(Args, Debug)]
pub struct TrustArgs {
    /// The verb.
    #[command(subcommand)]
    pub verb: Verb,
}

/// The verbs of `handoff trust`.
#[derive(Debug, Subcommand)]
pub enum Verb {
    /// Trust an agent's public key
    ///
    /// A key belongs to one agent; an agent may have several keys. They are kept in DIR/cruxctl/trust.jsonl: whoever may
    /// write there decides who is trusted.
    Add(Add),
    /// List the trusted keys, by agent
    List,
    /// Trust a key no longer, or none of an agent's
    Remove(Remove),
}

/// Arguments of `handoff trust add`.
#[derive(Args, Debug)]
pub struct Add {
    /// Whose key it is
    #[arg(add = Offers::Agents)]
    pub agent: String,
    /// The public key's file
    #[arg(value_name = "KEY.pub", value_hint = clap::ValueHint::FilePath)]
    pub key: PathBuf,
    /// Say what would be done and do nothing
    #[arg(long)]
    pub dry_run: bool,
}

/// Arguments of `handoff trust remove`.
#[derive(Args, Debug)]
pub struct Remove {
    /// A key's id, or an agent
    #[arg(value_name = "KEY_ID|AGENT", add = Offers::TrustedKeys)]
    pub which: String,
    /// Say what would be done and do nothing
    #[arg(long)]
    pub dry_run: bool,
}

/// What a list says of each key.
pub const LISTED: &[Group] = &[Group {
    name: "keys",
    one: "key",
    columns: &["key_id", "agent", "added_at", "public_key"],
    shown: &[],
    blocks: false,
}];

/// What is said of each change.
pub const CHANGED: &[Group] = &[Group {
    name: "changed",
    one: "changed",
    columns: &["action", "key_id", "agent", "public_key", "offset", "dry_run"],
    shown: &["action", "key_id", "agent", "public_key"],
    blocks: false,
}];

/// Runs a verb.
pub fn run(context: &mut Context, args: TrustArgs) -> Result<()> {
    match args.verb {
        Verb::Add(args) => add(context, &args),
        Verb::List => list(context),
        Verb::Remove(args) => remove(context, &args),
    }
}

/// The trusted keys, for holding an envelope against them. A list that cannot be read, or is damaged, is none: a key
/// that was removed may be in it. Then it is said why; other keys count all the same.
pub(super) fn trusted(context: &mut Context) -> (Vec<Trusted>, Option<Error>) {
    match readable(context) {
        Ok(keys) => (keys, None),
        Err(doubt) => (Vec::new(), Some(doubt)),
    }
}

pub(in crate::cmd) fn readable(context: &mut Context) -> Result<Vec<Trusted>> {
    if !context.dir.has(&JOURNAL).map_err(|e| Error::io("look at", &context.dir.journal(&JOURNAL), &e))? {
        return Ok(Vec::new());
    }
    let path = context.dir.journal(&JOURNAL);
    if let Some(mode) = files::writable_by_others(&path) {
        let text =
            format!("{} decides who is trusted, and others may write it: its mode is {mode:03o}", path.display());
        context.printer.warn(&text, &[format!("chmod 600 {}", quoted(&path.to_string_lossy()))]);
    }
    let mut table = context.table(&JOURNAL, false)?;
    let entries = if table.is_damaged() { Vec::new() } else { entries(context, &mut table)? };
    if table.is_damaged() {
        let message = format!("{} is damaged: a key that was removed may still be in it", JOURNAL.file);
        return Err(Error::new(Code::RefusedDamage, message)
            .hint("cruxctl journal check trust")
            .hint("name the keys instead: --trusted AGENT=KEY.pub"));
    }
    let mut keys = Vec::new();
    for entry in entries {
        match PublicKey::from_hex(&entry.public_key) {
            Some(key) => keys.push(Trusted { agent: entry.agent, key }),
            None => {
                let text = format!("{} has a key of agent {:?} that is none", JOURNAL.file, entry.agent);
                context.printer.warn(&text, &[]);
            }
        }
    }
    Ok(keys)
}

/// Every entry, by agent.
fn entries(context: &mut Context, table: &mut Table) -> Result<Vec<Entry>> {
    let mut entries = context.each_live(&JOURNAL, table, Entry::read)?;
    entries.sort_by(|a, b| (&a.agent, &a.public_key).cmp(&(&b.agent, &b.public_key)));
    Ok(entries)
}

pub(in crate::cmd) fn key_id(entry: &Entry) -> String {
    PublicKey::from_hex(&entry.public_key).map(|key| key.key_id()).unwrap_or_default()
}

fn list(context: &mut Context) -> Result<()> {
    let mut table = context.table(&JOURNAL, true)?;
    let entries = entries(context, &mut table)?;
    context.printer.begin("cruxctl.handoff.trust.list.v1", LISTED)?;
    for entry in &entries {
        let id = key_id(entry);
        let cells = [
            Value::text(&*id),
            Value::text(&*entry.agent),
            Value::Time(entry.added_at),
            Value::text(&*entry.public_key),
        ];
        context.printer.row(0, &[&id], &cells)?;
    }
    context.printer.end()
}

fn add(context: &mut Context, args: &Add) -> Result<()> {
    input::check_agent(&args.agent)?;
    let public_key = public_key(&args.key)?.to_hex();
    let new = Entry { public_key, agent: args.agent.clone(), added_at: context.env.now() };
    let (lock, mut table) = context.for_new(&JOURNAL, args.dry_run)?;
    let there = table.get(&new.public_key)?.map(|(line, _)| Entry::read(&line).ok_or_else(|| table.distrust()));
    match there.transpose()? {
        Some(there) if there.agent != new.agent => {
            let message = format!("the key {} belongs to agent {:?}", key_id(&new), there.agent);
            let hint = format!("cruxctl handoff trust remove {}", quoted(&key_id(&new)));
            return Err(Error::new(Code::RefusedKey, message).hint(hint));
        }
        Some(_) => {
            context.printer.note(&format!("the key {} of agent {:?} is trusted already", key_id(&new), new.agent));
            return tell(context, "cruxctl.handoff.trust.add.v1", "none", &[new], &[None], args.dry_run);
        }
        None => {}
    }
    let mut offsets = vec![None];
    if let Some(lock) = lock {
        let done = context.append(&lock, table, &[new.line()])?;
        offsets = done.spans.iter().map(|span| Some(span.offset)).collect();
    }
    tell(context, "cruxctl.handoff.trust.add.v1", "add", &[new], &offsets, args.dry_run)
}

fn remove(context: &mut Context, args: &Remove) -> Result<()> {
    let (lock, mut table) = context.for_change(&JOURNAL, args.dry_run)?;
    let mut gone = entries(context, &mut table)?;
    let wanted = |entry: &Entry| [&*entry.agent, &*entry.public_key, &*key_id(entry)].contains(&&*args.which);
    gone.retain(wanted);
    if gone.is_empty() {
        context.doubt_no(&table);
        let message = format!("no trusted key has the id {:?} or belongs to such an agent", args.which);
        return Err(Error::new(Code::NoKey, message).hint("cruxctl handoff trust list"));
    }
    let now = context.env.now();
    let mut offsets = vec![None; gone.len()];
    if let Some(lock) = lock {
        let lines: Vec<Vec<u8>> = gone.iter().map(|entry| trust::delete_line(&entry.public_key, now)).collect();
        let done = context.append(&lock, table, &lines)?;
        offsets = done.spans.iter().map(|span| Some(span.offset)).collect();
    }
    tell(context, "cruxctl.handoff.trust.remove.v1", "remove", &gone, &offsets, args.dry_run)
}

fn tell(
    context: &mut Context,
    schema: &'static str,
    action: &'static str,
    entries: &[Entry],
    offsets: &[Option<u64>],
    dry_run: bool,
) -> Result<()> {
    let printer = &mut context.printer;
    let told = (|| {
        printer.begin(schema, CHANGED)?;
        for (entry, offset) in entries.iter().zip(offsets) {
            let id = key_id(entry);
            let cells = [
                Value::text(action),
                Value::text(&*id),
                Value::text(&*entry.agent),
                Value::text(&*entry.public_key),
                offset.map_or(Value::Absent, Value::Count),
                Value::Flag(dry_run),
            ];
            printer.row(0, &[&id], &cells)?;
        }
        printer.end()
    })();
    told.map_err(|error: Error| error.after(offsets.iter().any(Option::is_some), "the change is stored"))
}
