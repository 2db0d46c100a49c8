//! The command line: what was typed becomes a [`Context`], and a noun's verb runs in it.
//!
//! One file a noun. The doc comments on the arguments are the help and the manual.

pub mod case;
pub mod complete;
pub mod docs;
pub mod doctor;
pub mod durable;
pub mod examples;
pub mod fact;
pub mod handoff;
pub mod input;
pub mod journal;
pub mod session;

use std::ffi::OsString;
use std::path::PathBuf;
use std::time::Duration;

use chrono::{DateTime, Datelike, FixedOffset, TimeDelta, Utc};
use clap::error::ErrorKind;
use clap::{Args, Parser, Subcommand};

use self::complete::Offers;
use crate::env::{self, Env};
use crate::error::{Code, Error, Result, worse};
use crate::journal::append::Appended;
use crate::journal::files::DataDir;
use crate::journal::lock::Lock;
use crate::journal::repair;
use crate::journal::replay::Seen;
use crate::journal::table::Table;
use crate::journal::{Finding, Journal};
use crate::render::{Format, Printer, Settings};
use crate::store::scope::Scope;

/// Read, check, repair and write the append-only JSONL journals of a Crux data directory
///
/// A data directory holds what AI agents are doing (sessions), how it turned out (cases) and what they know (facts).
/// It is the Crux daemon's own: whatever the daemon writes is read, and whatever is written, the daemon reads.
#[derive(Debug, Parser)]
#[command(name = "cruxctl", version, max_term_width = 100, args_override_self = true)]
pub struct Cli {
    /// The noun.
    #[command(subcommand)]
    pub noun: Noun,
    /// Flags that every verb takes.
    #[command(flatten)]
    pub global: Global,
}

/// Flags that every verb takes.
#[derive(Args, Clone, Debug)]
#[command(next_help_heading = "Global options")]
pub struct Global {
    /// The data directory [default: $CRUXCTL_DATA_DIR, $CORECRUXD_DATA_DIR, or crux in the XDG data home]
    #[arg(long, global = true, value_name = "DIR", value_hint = clap::ValueHint::DirPath)]
    pub data_dir: Option<PathBuf>,
    /// Act as this agent: see its ids and no others [default: $CRUXCTL_AGENT]
    #[arg(long, global = true, value_name = "AGENT", add = Offers::Agents)]
    pub agent: Option<String>,
    /// How the answer is written [default: table on a terminal, plain in a pipe]
    #[arg(long, global = true, value_enum, value_name = "FORMAT")]
    pub format: Option<Format>,
    /// Short for --format json
    #[arg(long, global = true, conflicts_with = "format")]
    pub json: bool,
    /// With --format id: end each id with a NUL byte instead of a line end
    #[arg(short = '0', long, global = true)]
    pub null: bool,
    /// No notes and warnings; errors are still told
    #[arg(short, long, global = true)]
    pub quiet: bool,
    /// Colours: auto, always or never
    #[arg(long, global = true, value_name = "WHEN", default_value = "auto", value_parser = ["auto", "always", "never"])]
    pub color: String,
    /// How long to wait for another writer
    #[arg(long, global = true, value_name = "TIME", default_value = "10s", value_parser = humantime::parse_duration)]
    pub lock_timeout: Duration,
    /// Do not wait until a write is on disk; a power failure may then lose it
    #[arg(long, global = true)]
    pub no_sync: bool,
    /// Damage in a journal is still told, but does not change the exit status
    #[arg(long, global = true)]
    pub damaged_ok: bool,
}

/// The nouns.
#[derive(Debug, Subcommand)]
pub enum Noun {
    /// What agents are doing: opaque JSON states by id
    Session(session::SessionArgs),
    /// How it turned out: record it, find precedents
    Case(case::CaseArgs),
    /// What is known: store it, find it, say when it holds
    Fact(fact::FactArgs),
    /// What one agent hands over to another: mint, verify, accept
    Handoff(handoff::HandoffArgs),
    /// Conversations under a key: a queue of inputs each, workers, and results
    Durable(durable::DurableArgs),
    /// The journals themselves: check, repair, show, picture, compact, export
    Journal(journal::JournalArgs),
    /// Look at the data directory: where and whose it is, what is in it, what to do next
    ///
    /// One screen for whoever comes to a machine that is not their own. Nothing is written, and no lock is waited for. Every
    /// journal is checked as journal check --dry-run does it, so that it takes as long. Keys are named, and never shown.
    Doctor,
    /// Print a shell's completion script
    Completions(docs::CompletionsArgs),
    /// Write the manual pages to a folder
    Man(docs::ManArgs),
}

/// The command line of a noun that is its first word. Only that noun's arguments are built, which is half of the time
/// that a short command takes. Whatever does not parse this way is parsed again as a whole, and told from there.
#[derive(Debug, Parser)]
#[command(name = "cruxctl", args_override_self = true)]
struct OneNoun<A: Args> {
    #[command(flatten)]
    args: A,
    #[command(flatten)]
    global: Global,
}

/// Parses a command line that begins with its noun.
fn parse_noun(argv: &[OsString]) -> Option<Cli> {
    let [name, noun, rest @ ..] = argv else { return None };
    let words = std::iter::once(name).chain(rest);
    match noun.to_str()? {
        "session" => {
            let OneNoun { args, global } = OneNoun::try_parse_from(words).ok()?;
            Some(Cli { noun: Noun::Session(args), global })
        }
        "case" => {
            let OneNoun { args, global } = OneNoun::try_parse_from(words).ok()?;
            Some(Cli { noun: Noun::Case(args), global })
        }
        "fact" => {
            let OneNoun { args, global } = OneNoun::try_parse_from(words).ok()?;
            Some(Cli { noun: Noun::Fact(args), global })
        }
        "handoff" => {
            let OneNoun { args, global } = OneNoun::try_parse_from(words).ok()?;
            Some(Cli { noun: Noun::Handoff(args), global })
        }
        "durable" => {
            let OneNoun { args, global } = OneNoun::try_parse_from(words).ok()?;
            Some(Cli { noun: Noun::Durable(args), global })
        }
        "journal" => {
            let OneNoun { args, global } = OneNoun::try_parse_from(words).ok()?;
            Some(Cli { noun: Noun::Journal(args), global })
        }
        _ => None,
    }
}

/// What a verb needs to know, resolved from flags and environment.
pub struct Context {
    /// Clock and environment.
    pub env: Env,
    /// The data directory.
    pub dir: DataDir,
    /// The agent, if any.
    pub agent: Option<String>,
    /// How long to wait for the lock.
    pub lock_timeout: Duration,
    /// Whether writes are synced.
    pub sync: bool,
    /// Whether damage leaves the exit status alone.
    pub damaged_ok: bool,
    /// Where answers and talk go.
    pub printer: Printer,
    /// The worst exit status so far.
    pub status: u8,
    /// Damage that the answer has met, told when the command ends.
    pub damage: Vec<Error>,
    /// The agent's flag, where it was typed.
    pub typed_agent: Option<String>,
    /// The flag or variable that says which data directory it is.
    pub dir_from: &'static str,
}

impl Context {
    /// The scope of a session verb.
    pub fn scope(&self, all_agents: bool) -> Result<Scope> {
        match (&self.agent, &self.typed_agent) {
            (_, Some(_)) if all_agents => {
                Err(Error::new(Code::UsageArguments, "--agent and --all-agents contradict each other"))
            }
            _ if all_agents => Ok(Scope::All),
            (Some(agent), _) => input::check_agent(agent).map(|()| Scope::Agent(agent.clone())),
            (None, _) => Ok(Scope::Unscoped),
        }
    }

    /// Whether there is a data directory.
    pub fn has_dir(&self) -> Result<bool> {
        self.dir.root.try_exists().map_err(|e| Error::io("look at", &self.dir.root, &e))
    }

    /// Says that there is no data directory, where there is none: a journal of it is not just empty.
    pub fn note_missing_dir(&mut self) {
        if !self.dir.root.exists() {
            let text = format!("there is no data directory {}", self.dir.root.display());
            self.printer.note(&text);
        }
    }

    /// Remembers a status; the worst one is what the process ends with.
    pub fn mark(&mut self, status: u8) {
        self.status = worse(self.status, status);
    }

    /// Tells of damage that a verb has met on the way. `reading`: the answer may lack something, so it counts.
    /// `against`: what the journal's witness has to say.
    pub fn tell_damage(&mut self, journal: &Journal, seen: &Seen, against: Option<&Finding>, reading: bool) {
        if let Some(span) = seen.in_progress {
            let text =
                format!("a write is in progress on {}: its last {} bytes are not judged", journal.file, span.len);
            self.printer.note(&text);
        }
        if let Some(first) = seen.first.first().or(against) {
            let damage = seen.damage + u64::from(against.is_some());
            let places = plural(damage, "place");
            let message = format!(
                "{} is damaged in {places}: line {}, byte {}, {} bytes: {} ({}){}",
                journal.file,
                first.line,
                first.span.offset,
                first.span.len,
                first.class.name(),
                first.why,
                if damage > 1 { ", and more" } else { "" }
            );
            let hint = format!("cruxctl journal check {}", journal.name);
            let damage = Error::new(Code::DamagedJournal, message).hint(hint);
            if reading && !self.damaged_ok {
                self.mark(damage.status());
                self.damage.push(damage);
            } else {
                self.printer.warn_of(&damage);
            }
        } else if seen.daemon > 0 {
            let places = plural(seen.daemon, "place");
            let text = format!("{}: the daemon would lose or stumble over {places}", journal.file);
            self.printer.warn(&text, &[format!("cruxctl journal check {} --for-daemon", journal.name)]);
        }
    }

    /// The live records of a journal, opened without a lock. `answers`: what is read is the answer, so that damage
    /// counts, and it is kept for the next command.
    pub fn table(&mut self, journal: &'static Journal, answers: bool) -> Result<Table> {
        if !self.dir.root.exists() {
            let text = format!("there is no data directory {}; the first write makes it", self.dir.root.display());
            self.printer.note(&text);
        }
        let mut table = Table::open(&self.dir, journal, answers)?;
        if answers && let Some(note) = table.keep() {
            self.printer.note(note);
        }
        self.tell_damage(journal, &table.seen, table.against.as_ref(), answers);
        Ok(table)
    }

    /// The lock, and the live records of a journal behind it, for a verb that decides by what is there.
    pub fn locked(&mut self, journal: &'static Journal) -> Result<(Lock, Table)> {
        let (lock, table) = Table::lock(&self.dir, journal, self.lock_timeout)?;
        // Behind the lock it is later: what is stamped from here on is in the order of the journal.
        self.env = Env::read()?;
        let table = self.without_unfinished(journal, &lock, table)?;
        self.tell_damage(journal, &table.seen, table.against.as_ref(), false);
        Ok((lock, table))
    }

    /// Sets aside what a killed process has begun to write to a journal of our own: nobody was told that it is there, and
    /// it would stand in the way of everybody. Where that fails, the journal is damaged as it was.
    fn without_unfinished(&mut self, journal: &'static Journal, lock: &Lock, table: Table) -> Result<Table> {
        let Some(span) = table.unfinished() else { return Ok(table) };
        let naming = self.naming()?;
        match repair::apply(&self.dir, journal, lock, &repair::Options::default(), &naming) {
            Ok(_) => {
                let text = format!(
                    "the last write to {} was never finished: its {} bytes were set aside in {}",
                    journal.file,
                    span.len,
                    self.dir.quarantine().display()
                );
                self.printer.note(&text);
                Table::behind(&self.dir, journal, lock)
            }
            Err(error) => {
                self.printer.warn_of(&error);
                Ok(table)
            }
        }
    }

    /// How what a repair sets aside is called.
    pub fn naming(&self) -> Result<repair::Naming> {
        Ok(repair::Naming { made_at: self.env.now_text(), stamp: self.env.stamp(), tag: env::random_tag()? })
    }

    /// The same for what is new; without the lock where nothing will be written.
    pub fn for_new(&mut self, journal: &'static Journal, dry_run: bool) -> Result<(Option<Lock>, Table)> {
        if dry_run {
            return Ok((None, self.table(journal, false)?));
        }
        let (lock, table) = self.locked(journal)?;
        Ok((Some(lock), table))
    }

    /// The same for a change of what is there; without the lock where nothing will be written.
    pub fn for_change(&mut self, journal: &'static Journal, dry_run: bool) -> Result<(Option<Lock>, Table)> {
        let nothing = dry_run || !self.has_dir()?;
        self.for_new(journal, nothing)
    }

    /// One more journal for a change, behind the same lock. `answers`: what is counted on top of it is told, so that its
    /// damage counts.
    pub fn also_for_change(
        &mut self,
        journal: &'static Journal,
        lock: Option<&Lock>,
        answers: bool,
    ) -> Result<Table> {
        let table = match lock {
            Some(lock) => {
                let table = Table::behind(&self.dir, journal, lock)?;
                self.without_unfinished(journal, lock, table)?
            }
            None => Table::open(&self.dir, journal, false)?,
        };
        self.tell_damage(journal, &table.seen, table.against.as_ref(), answers);
        Ok(table)
    }

    /// Goes on without a record that cannot be read: the whole journal is read once more, and its damage told.
    pub fn without_it(&mut self, journal: &Journal, table: &mut Table) -> Result<()> {
        if table.reread()? {
            self.tell_damage(journal, &table.seen, table.against.as_ref(), true);
        }
        Ok(())
    }

    /// What is read of every live record, in the order of the journal.
    pub fn each_live<T>(
        &mut self,
        journal: &Journal,
        table: &mut Table,
        read: fn(&[u8]) -> Option<T>,
    ) -> Result<Vec<T>> {
        let mut all = Vec::new();
        for span in table.spans()? {
            match read(&table.opened.read(span)?) {
                Some(one) => all.push(one),
                None => self.without_it(journal, table)?,
            }
        }
        Ok(all)
    }

    /// Remembers what keeps the answer from being whole, and answers all the same.
    pub fn answer_without(&mut self, error: Error) {
        self.mark(error.status());
        self.damage.push(error);
    }

    /// Forgets the damage that was met so far: the journal is read again, and what is there then counts.
    pub fn forget_damage(&mut self) {
        self.damage.clear();
        self.status = 0;
    }

    /// Counts damage that the answer itself tells. Whoever reads JSON also gets it where errors are.
    pub fn told_damage(&mut self, error: Error) {
        if self.damaged_ok {
            return;
        }
        self.mark(error.status());
        if matches!(self.printer.format(), Format::Json | Format::Jsonl) {
            self.damage.push(error);
        }
    }

    /// Marks that a writing verb's "no" came from a damaged journal: it may be wrong.
    pub fn doubt_no(&mut self, table: &Table) {
        if table.is_damaged() && !self.damaged_ok {
            self.mark(Code::DamagedJournal.kind().status());
        }
    }

    /// Appends records behind the lock, and says what happened on the way.
    pub fn append(&mut self, lock: &Lock, table: Table, lines: &[Vec<u8>]) -> Result<Appended> {
        let appended = table.append(lock, lines, self.sync)?;
        for note in &appended.notes {
            self.printer.note(note);
        }
        Ok(appended)
    }

    /// Appends, and hands back the journal as it is then, to go on with.
    pub fn append_and_go_on(
        &mut self,
        lock: &Lock,
        table: Table,
        journal: &'static Journal,
        lines: &[Vec<u8>],
    ) -> Result<Table> {
        self.append(lock, table, lines)?;
        Table::behind(&self.dir, journal, lock)
    }

    /// Ends the command: what damage the answer met, and why there is none.
    fn end(&mut self, result: Result<()>) {
        let damage = std::mem::take(&mut self.damage);
        let json = matches!(self.printer.format(), Format::Json | Format::Jsonl);
        match result {
            Ok(()) if json => damage.iter().for_each(|damage| self.printer.error(damage, damage.status())),
            // It decides the exit status, so that it is told however quiet the rest is.
            _ => damage.iter().for_each(|damage| self.printer.warn_loudly(damage)),
        }
        if let Err(error) = result {
            // A "no" from a damaged journal counts as damage: the answer may lie in what could not be read.
            self.mark(error.status());
            self.printer.error(&error, self.status);
        }
    }
}

/// A count and its noun.
#[must_use]
pub fn plural(count: u64, noun: &str) -> String {
    if count == 1 { format!("1 {noun}") } else { format!("{count} {noun}s") }
}

/// Runs one command line. `stdout_closed`: standard output was closed when the process began.
pub fn run(argv: Vec<OsString>, stdout_closed: bool) -> u8 {
    if let Some(shell) = env::completes()
        && let [_, dashes, typed @ ..] = &argv[..]
        && dashes == "--"
    {
        let mut printer = Printer::new(Settings { stdout_closed, ..Settings::default() });
        // Whatever goes wrong, somebody is in the middle of a line.
        let _ = printer.raw(complete::answer(&shell, typed).as_bytes()).and_then(|()| printer.flush());
        return 0;
    }
    let cli = match parse_noun(&argv).map_or_else(|| Cli::try_parse_from(&argv), Ok) {
        Ok(cli) => cli,
        // Only help needs the examples.
        Err(error) if error.kind() == ErrorKind::DisplayHelp => {
            let error = docs::tree().try_get_matches_from(&argv).err().unwrap_or(error);
            return usage(&error, &argv, stdout_closed);
        }
        Err(error) => return usage(&error, &argv, stdout_closed),
    };
    let (settings, unknown_format) = settings(&cli.global, stdout_closed);
    let mut printer = Printer::new(settings);
    if let Some(dir) = &cli.global.data_dir {
        printer.carried.flag("--data-dir", &dir.to_string_lossy());
    }
    if let Some(error) = unknown_format {
        printer.error(&error, error.status());
        return error.status();
    }
    let mut context = match resolve(&cli.global) {
        Ok(resolved) => resolved.with(printer),
        Err(error) => {
            printer.error(&error, error.status());
            return error.status();
        }
    };
    let result = dispatch(&mut context, cli.noun).and_then(|()| Ok(context.printer.flush()?));
    context.end(result.map_err(ours));
    context.status
}

fn dispatch(context: &mut Context, noun: Noun) -> anyhow::Result<()> {
    match noun {
        Noun::Session(args) => Ok(session::run(context, args)?),
        Noun::Case(args) => Ok(case::run(context, args)?),
        Noun::Fact(args) => Ok(fact::run(context, args)?),
        Noun::Handoff(args) => Ok(handoff::run(context, args)?),
        Noun::Durable(args) => Ok(durable::run(context, args)?),
        Noun::Journal(args) => Ok(journal::run(context, args)?),
        Noun::Doctor => Ok(doctor::run(context)?),
        Noun::Completions(args) => docs::completions(context, &args),
        Noun::Man(args) => docs::man(context, &args),
    }
}

/// An error of a verb as one of the table. What is none of ours comes from the file system.
fn ours(error: anyhow::Error) -> Error {
    error.downcast::<Error>().unwrap_or_else(|other| {
        let io = other.chain().find_map(|cause| cause.downcast_ref::<std::io::Error>());
        match io {
            Some(io) => Error::from_io(&other.to_string(), io),
            None => Error::new(Code::EnvironmentIo, format!("{other:#}")),
        }
    })
}

fn settings(global: &Global, stdout_closed: bool) -> (Settings, Option<Error>) {
    let mut format = if global.json { Some(Format::Json) } else { global.format };
    let mut unknown = None;
    if format.is_none()
        && let Some(name) = env::var("CRUXCTL_FORMAT")
    {
        match clap::ValueEnum::from_str(&name, true) {
            Ok(value) => format = Some(value),
            Err(_) => {
                let message = format!("CRUXCTL_FORMAT is {name:?}; it can be table, plain, json, jsonl or id");
                unknown = Some(Error::new(Code::UsageArguments, message));
            }
        }
    }
    let color = match global.color.as_str() {
        "always" => Some(true),
        "never" => Some(false),
        _ => env::var("NO_COLOR").map(|_| false),
    };
    let ascii = env::is_ascii();
    (Settings { format, null: global.null, quiet: global.quiet, color, ascii, stdout_closed }, unknown)
}

/// What flags and environment come to.
struct Resolved {
    env: Env,
    dir: DataDir,
    dir_from: &'static str,
    agent: Option<String>,
    typed_agent: Option<String>,
    lock_timeout: Duration,
    sync: bool,
    damaged_ok: bool,
}

impl Resolved {
    fn with(self, printer: Printer) -> Context {
        let Resolved { env, dir, dir_from, agent, typed_agent, lock_timeout, sync, damaged_ok } = self;
        let (status, damage) = (0, Vec::new());
        Context { env, dir, dir_from, agent, typed_agent, lock_timeout, sync, damaged_ok, printer, status, damage }
    }
}

fn resolve(global: &Global) -> Result<Resolved> {
    let typed = || global.data_dir.clone().map(|dir| (dir, "--data-dir"));
    let (root, dir_from) = typed().or_else(env::data_dir).ok_or_else(|| {
        let message = "no data directory: none of --data-dir, CRUXCTL_DATA_DIR, CORECRUXD_DATA_DIR, XDG_DATA_HOME and \
                       HOME is set";
        Error::new(Code::UsageArguments, message)
    })?;
    if root.as_os_str().is_empty() {
        return Err(Error::new(Code::UsageArguments, "--data-dir is empty"));
    }
    if !root.exists() && root.is_symlink() {
        let message = format!("{} is a link that leads nowhere", root.display());
        return Err(Error::new(Code::EnvironmentFileKind, message));
    }
    let agent = global.agent.clone().or_else(|| env::var("CRUXCTL_AGENT"));
    Ok(Resolved {
        env: Env::read()?,
        dir: DataDir { root, boot: env::boot_id(), clock: Some(env::wall_clock()) },
        dir_from,
        agent,
        typed_agent: global.agent.clone(),
        lock_timeout: global.lock_timeout,
        sync: !global.no_sync,
        damaged_ok: global.damaged_ok || env::truthy("CRUXCTL_DAMAGED_OK"),
    })
}

/// Tells a wrong command line; help and version are answers.
fn usage(error: &clap::Error, argv: &[OsString], stdout_closed: bool) -> u8 {
    let json = argv.iter().zip(argv.iter().skip(1).map(Some).chain([None])).any(|(arg, next)| {
        let value = next.map(|n| n.to_string_lossy().into_owned()).unwrap_or_default();
        let arg = arg.to_string_lossy();
        arg == "--json" || arg.starts_with("--format=json") || (arg == "--format" && value.starts_with("json"))
    });
    let typed = argv.iter().any(|arg| arg.to_string_lossy().starts_with("--format"));
    let json = json || (!typed && env::var("CRUXCTL_FORMAT").is_some_and(|format| format.starts_with("json")));
    let format = json.then_some(Format::Json);
    let mut printer = Printer::new(Settings { format, stdout_closed, ..Settings::default() });
    match error.kind() {
        ErrorKind::DisplayHelp | ErrorKind::DisplayVersion => {
            let text = error.render().to_string();
            match printer.raw(text.as_bytes()).and_then(|()| printer.flush()) {
                Ok(()) => 0,
                Err(error) => {
                    printer.error(&error, error.status());
                    error.status()
                }
            }
        }
        _ if json => {
            // The first paragraph says what is wrong and with which arguments.
            let text = error.render().to_string();
            let lines: Vec<&str> = text.lines().take_while(|line| !line.is_empty()).map(str::trim).collect();
            let message = lines.join(" ").trim_start_matches("error: ").to_owned();
            let error = Error::new(Code::UsageArguments, message).hint("cruxctl --help");
            printer.error(&error, error.status());
            error.status()
        }
        _ => {
            // What was typed may be anything: it is shown, not acted on.
            let text: Vec<String> = error.render().to_string().lines().map(crate::render::for_terminal).collect();
            printer.to_stderr(&(text.join("\n") + "\n"));
            Code::UsageArguments.kind().status()
        }
    }
}

/// Reads a moment that something stored is held against: an RFC 3339 time, or how long ago. Whatever a journal may have as
/// a time can be asked for, years with five digits as well.
pub fn moment(text: &str, now: DateTime<Utc>) -> Result<DateTime<Utc>> {
    if let Ok(time) = text.parse::<DateTime<FixedOffset>>() {
        return Ok(time.to_utc());
    }
    moment_by(text, &|span| now.checked_sub_signed(span))
}

/// Reads a moment: an RFC 3339 time, or in how long.
pub fn coming_moment(text: &str, now: DateTime<Utc>) -> Result<DateTime<Utc>> {
    moment_by(text, &|span| now.checked_add_signed(span))
}

fn moment_by(text: &str, by: &dyn Fn(TimeDelta) -> Option<DateTime<Utc>>) -> Result<DateTime<Utc>> {
    if let Ok(time) = DateTime::parse_from_rfc3339(text) {
        return Ok(time.to_utc());
    }
    let span = humantime::parse_duration(text).ok().and_then(|d| TimeDelta::from_std(d).ok());
    // RFC 3339 knows four digits of a year.
    span.and_then(by).filter(|time| (0..=9999).contains(&time.year())).ok_or_else(|| {
        let message = format!("{text:?} is neither an RFC 3339 time nor a time span like 2h or 3days");
        Error::new(Code::UsageArguments, message)
    })
}
