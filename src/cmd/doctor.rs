//! `cruxctl doctor`: one screen for whoever comes to a machine that is not their own.

use std::fs;
use std::io::Read;
use std::path::{Path, PathBuf};

use zeroize::Zeroizing;

use super::handoff::keys::VARIABLE;
use super::handoff::trust;
use super::journal::{check as checked, chosen};
use super::{Context, plural};
use crate::env;
use crate::error::{Code, Error, Result};
use crate::handoff::signature::{PrivateKey, PublicKey};
use crate::journal::check::{self, Options, Summary};
use crate::journal::finding::{Finding, Severity};
use crate::journal::index::{self, Index};
use crate::journal::lock::Lock;
use crate::journal::{Journal, files, replay};
use crate::machine::{self, Process, Rights};
use crate::render::{Group, Value, quoted};
use crate::store::{JOURNALS, trust as store};

/// What a doctor says.
pub const SEEN: &[Group] = &[
    Group {
        name: "journals",
        one: "journal",
        columns: &[
            "journal",
            "bytes",
            "live",
            "verdict",
            "damage",
            "index",
            "witness",
            "owner",
            "mode",
            "first_damage",
        ],
        shown: &[],
        blocks: false,
    },
    Group {
        name: "keys",
        one: "key",
        columns: &["kind", "where", "whose", "key_id", "mode"],
        shown: &[],
        blocks: false,
    },
    Group { name: "variables", one: "variable", columns: &["variable", "value"], shown: &[], blocks: false },
];

/// Less room than this is told.
const LITTLE_ROOM: u64 = 64 << 20;

/// A key file is not longer.
const LONGEST_KEY: u64 = 4096;

/// What is to be said at the end, as it is found.
#[derive(Default)]
struct Advice {
    /// Commands, in the order in which they are to be typed.
    next: Vec<String>,
    /// Files that others may read and should not.
    loose: Vec<PathBuf>,
    /// What could not be looked at.
    failed: Vec<Error>,
}

/// Runs the verb.
pub fn run(context: &mut Context) -> Result<()> {
    let mut advice = Advice::default();
    context.printer.begin("cruxctl.doctor.v1", SEEN)?;
    let summaries = journals(context, &mut advice)?;
    let summaries: Vec<&Summary> = summaries.iter().collect();
    keys(context, &mut advice)?;
    variables(context)?;
    directory(context, &mut advice, &summaries)?;
    context.printer.end()?;
    checked::count_damage(context, &summaries, false, (checked::verdict(&summaries), String::new()));
    checked::first_error(context, advice.failed)
}

/// A line for each journal.
fn journals(context: &mut Context, advice: &mut Advice) -> Result<Vec<Summary>> {
    let now = context.env.now_text();
    let options = Options { full: false, accept: false, keep: false, now: &now };
    let mut summaries = Vec::new();
    for journal in chosen(context, &[]) {
        let mut first: Option<Finding> = None;
        let mut progress = context.printer.progress(journal.file);
        let summary = check::check(
            &context.dir,
            journal,
            options,
            &mut |finding| {
                let counts = finding.class.severity() == Severity::Damage;
                first = first.take().or_else(|| counts.then(|| finding.clone()));
                Ok(())
            },
            &mut |done, all| progress.at(done, all),
        );
        drop(progress);
        let path = context.dir.journal(journal);
        let rights = Rights::of(&path).ok().flatten();
        if rights.is_some_and(is_to_be_closed) {
            advice.loose.push(path);
        }
        let (owner, mode) = owner_and_mode(rights);
        let index = index_word(context, journal);
        if matches!(index, "stale" | "none") && summary.as_ref().is_ok_and(|summary| !summary.bad(false)) {
            advice.next.push(format!("cruxctl journal check {}", journal.name));
        }
        let cells = match &summary {
            Ok(summary) => [
                Value::text(journal.name),
                Value::Count(summary.seen.totals.bytes),
                Value::Count(summary.live),
                Value::text(checked::word(summary)),
                Value::Count(summary.seen.damage),
                Value::text(index),
                if summary.exists { Value::text(summary.witness.word()) } else { Value::Absent },
                owner,
                mode,
                Value::maybe(first.map(|finding| {
                    format!("line {}, byte {}: {}", finding.line, finding.span.offset, finding.class.name())
                })),
            ],
            Err(error) => {
                let mut cells = [const { Value::Absent }; 10];
                cells[0] = Value::text(journal.name);
                cells[3] = Value::text("unreadable");
                [cells[7], cells[8], cells[9]] = [owner, mode, Value::text(error.message.clone())];
                cells
            }
        };
        context.printer.row(0, &[journal.name], &cells)?;
        match summary {
            Ok(summary) => summaries.push(summary),
            Err(error) => advice.failed.push(error),
        }
    }
    Ok(summaries)
}

/// Whether others may open what they should not, and this user can mend it.
fn is_to_be_closed(rights: Rights) -> bool {
    rights.is_loose() && rights.is_ours()
}

fn owner_and_mode(rights: Option<Rights>) -> (Value<'static>, Value<'static>) {
    let owner = rights.map(|rights| env::user_name(rights.uid));
    (Value::maybe(owner), Value::maybe(rights.map(|rights| format!("{:04o}", rights.mode))))
}

/// How far a journal's index has come, in a word.
fn index_word(context: &Context, journal: &Journal) -> &'static str {
    let Ok(opened) = replay::open(&context.dir, journal) else { return "unreadable" };
    match Index::open(&context.dir, journal, &opened, false) {
        Some(index) if index.behind(&opened) == 0 => "current",
        Some(_) => "behind",
        None if index::path(&context.dir, journal).exists() => "stale",
        None if opened.len < index::WORTH_IT => "not needed",
        None => "none",
    }
}

/// The keys that there are: in the environment, on the list of those that are trusted, and beside the data. What they
/// are is not shown, only how they are called.
fn keys(context: &mut Context, advice: &mut Advice) -> Result<()> {
    let printer = &mut context.printer;
    if let Some(secret) = env::bytes(VARIABLE).map(Zeroizing::new) {
        let what = match String::from_utf8_lossy(&secret).trim() {
            "" => "empty: handoffs are neither minted nor accepted with it".to_owned(),
            _ => plural(secret.len() as u64, "byte"),
        };
        let cells = [Value::text("secret"), Value::text(VARIABLE), Value::text(what), Value::Absent, Value::Absent];
        printer.row(1, &[], &cells)?;
    }
    match trust::readable(context) {
        Ok(trusted) => {
            for key in trusted {
                let id = key.key.key_id();
                let cells = [
                    Value::text("trusted"),
                    Value::text(store::JOURNAL.file),
                    Value::text(key.agent),
                    Value::text(&*id),
                    Value::Absent,
                ];
                context.printer.row(1, &[], &cells)?;
            }
        }
        // A damaged list is told as a journal, and one that cannot be looked at was told to be left out.
        Err(error) if error.code == Code::RefusedDamage || context.dir.has(&store::JOURNAL).is_err() => {}
        Err(error) => advice.failed.push(error),
    }
    let (root, here) = (context.dir.root.clone(), PathBuf::from("."));
    let here = (!machine::is_same(&root, &here)).then_some(here);
    for folder in [root].into_iter().chain(here) {
        for (path, key) in key_files(&folder) {
            let rights = Rights::of(&path).ok().flatten();
            if key.is_private && rights.is_some_and(is_to_be_closed) {
                advice.loose.push(path.clone());
            }
            let (owner, mode) = owner_and_mode(rights);
            let kind = if key.is_private { "private" } else { "public" };
            let cells = [Value::text(kind), Value::text(path.to_string_lossy()), owner, Value::text(&*key.id), mode];
            context.printer.row(1, &[], &cells)?;
        }
    }
    Ok(())
}

/// A key in a file.
struct KeyFile {
    is_private: bool,
    id: String,
}

/// The files of a folder that hold ed25519 keys of ours.
fn key_files(folder: &Path) -> Vec<(PathBuf, KeyFile)> {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    let is_named = |path: &PathBuf| path.extension().is_some_and(|end| end == "key" || end == "pub");
    let mut paths: Vec<PathBuf> = entries.map(|entry| entry.path()).filter(is_named).collect();
    paths.sort();
    paths.into_iter().filter_map(|path| key_of(&path).map(|key| (path, key))).collect()
}

fn key_of(path: &Path) -> Option<KeyFile> {
    let file = files::open_kept(path, false).ok()??;
    let mut bytes = Zeroizing::new(Vec::with_capacity(usize::try_from(LONGEST_KEY).ok()?));
    file.take(LONGEST_KEY).read_to_end(&mut bytes).ok()?;
    let private =
        PrivateKey::read(&bytes, "").ok().map(|key| KeyFile { is_private: true, id: key.public().key_id() });
    private.or_else(|| PublicKey::read(&bytes, "").ok().map(|key| KeyFile { is_private: false, id: key.key_id() }))
}

/// The variables that say something here.
fn variables(context: &mut Context) -> Result<()> {
    for (name, _) in env::VARIABLES {
        let Some(value) = env::var(name) else { continue };
        let value = if env::is_secret(name) { "set, and not shown".to_owned() } else { value };
        context.printer.row(2, &[], &[Value::text(*name), Value::text(value)])?;
    }
    Ok(())
}

/// What is to be said of the directory, and what to do next.
fn directory(context: &mut Context, advice: &mut Advice, summaries: &[&Summary]) -> Result<()> {
    let root = context.dir.root.clone();
    let rights = match Rights::of(&root) {
        Ok(rights) => rights,
        Err(error) => {
            advice.failed.push(Error::io("look at", &root, &error));
            None
        }
    };
    let room = machine::room(&root).ok();
    let shown = quoted(&root.to_string_lossy());
    let commands = checked::next_commands(summaries, false);
    let commands = commands.iter().chain(&advice.next);
    let carried = context.printer.carried.clone();
    let mut next: Vec<String> = commands.map(|command| carried.command(command)).collect();
    if rights.is_some_and(|rights| rights.mode & 0o022 != 0 && rights.is_ours()) {
        next.push(format!("chmod 700 {shown}"));
    }
    if !advice.loose.is_empty() {
        let paths: Vec<String> = advice.loose.iter().map(|path| quoted(&path.to_string_lossy())).collect();
        next.push(format!("chmod 600 {}", paths.join(" ")));
    }
    let paths: Vec<PathBuf> =
        JOURNALS.iter().filter_map(|journal| fs::canonicalize(context.dir.journal(journal)).ok()).collect();
    let open = machine::at_files(&paths);
    let strays = check::strays(&context.dir, &JOURNALS);
    let (owner, mode) = owner_and_mode(rights);
    let verdict = checked::verdict(summaries);
    let real = fs::canonicalize(&root).ok().filter(|real| *real != root);
    let fields = [
        ("version", Value::text(concat!("cruxctl ", env!("CARGO_PKG_VERSION")))),
        ("data_dir", Value::text(root.to_string_lossy())),
        ("really", Value::maybe(real.map(|real| real.to_string_lossy().into_owned()))),
        ("chosen_by", Value::text(context.dir_from)),
        ("exists", Value::Flag(rights.is_some())),
        ("owner", owner),
        ("mode", mode),
        ("you", Value::text(env::user_name(env::user()))),
        ("you_may_write", Value::Flag(may_write(context, room.as_ref()))),
        ("file_system", Value::maybe(room.as_ref().and_then(|room| room.kind.clone()))),
        ("free_bytes", room.as_ref().map_or(Value::Absent, |room| Value::Count(room.free))),
        ("lock", Value::text(lock_text(context))),
        (
            "opened_by",
            Value::Texts(open.processes.iter().map(|(process, files)| opened_text(process, files)).collect()),
        ),
        ("unseen_processes", Value::Count(open.unseen)),
        ("quarantined_bytes", Value::Count(quarantined(summaries))),
        ("strays", Value::Texts(strays)),
        ("verdict", Value::text(&*verdict)),
        ("for_the_daemon", Value::text(checked::daemon_verdict(summaries))),
        ("next", Value::Commands(next)),
    ];
    context.printer.fields(None, &fields)?;
    if rights.is_none() {
        let text = format!("there is no data directory {}; the first write makes it", root.display());
        context.printer.note(&text);
    }
    if open.unseen > 0 {
        let many = if open.unseen == 1 { "1 process".to_owned() } else { format!("{} processes", open.unseen) };
        let text = format!("{many} of other users may have a journal open: they cannot be looked at (sudo)");
        context.printer.note(&text);
    }
    if let Some(room) = room.filter(|room| room.free < LITTLE_ROOM) {
        let text = format!("there is little room on the file system of {}: {} bytes", root.display(), room.free);
        context.printer.warn(&text, &[]);
    }
    Ok(())
}

/// Whether this user may write there, or make what is missing.
fn may_write(context: &Context, room: Option<&machine::Room>) -> bool {
    let dir = &context.dir;
    let folder = machine::nearest(&dir.root).to_owned();
    let journals = JOURNALS.iter().map(|journal| dir.journal(journal)).filter(|path| path.exists());
    let may = |path: PathBuf| Rights::of(&path).is_ok_and(|rights| rights.is_some_and(|rights| rights.writable));
    room.is_none_or(|room| !room.read_only) && [folder].into_iter().chain(journals).all(may)
}

fn lock_text(context: &Context) -> String {
    let path = context.dir.lock();
    if matches!(path.try_exists(), Ok(false)) {
        return "never taken".to_owned();
    }
    let holders: Vec<String> = machine::holders(&path).iter().map(process_text).collect();
    match Lock::probe(&context.dir) {
        _ if !holders.is_empty() => format!("held by {}", holders.join(", ")),
        Some(true) => "held, by a process that cannot be seen from here".to_owned(),
        Some(false) => "free".to_owned(),
        None => "nobody knows: it cannot be looked at".to_owned(),
    }
}

fn opened_text(process: &Process, files: &[PathBuf]) -> String {
    let names: Vec<String> =
        files.iter().filter_map(|file| Some(file.file_name()?.to_string_lossy().into_owned())).collect();
    format!("{}: {}", process_text(process), names.join(", "))
}

/// A process as it is called; one that has ended, and whose children go on, has no name.
fn process_text(process: &Process) -> String {
    match process.name.as_str() {
        "" => format!("process {}", process.pid),
        name => format!("process {} ({name})", process.pid),
    }
}

fn quarantined(summaries: &[&Summary]) -> u64 {
    summaries.iter().filter_map(|summary| summary.held.as_ref()).map(|held| held.bytes).sum()
}
