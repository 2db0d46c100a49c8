//! `cruxctl completions` and `cruxctl man`: what the binary knows of itself, as files.

use std::fs;
use std::path::PathBuf;

use anyhow::Context as _;
use clap::{Args, CommandFactory};
use clap_complete::Shell;
use clap_mangen::Man;
use clap_mangen::roff::{Roff, bold, roman};

use super::{Cli, Context, case, complete, doctor, durable, examples, fact, handoff, journal, session};
use crate::env;
use crate::error::{Kind, WHEN_ZERO};
use crate::handoff::STRICTER;
use crate::journal::Class;
use crate::render::Group;

/// Arguments of `cruxctl completions`.
#[derive(Args, Debug)]
pub struct CompletionsArgs {
    /// Which shell
    #[arg(value_enum)]
    pub shell: Shell,
}

/// Arguments of `cruxctl man`.
#[derive(Args, Debug)]
pub struct ManArgs {
    /// The folder; it is made where it is missing
    #[arg(value_name = "DIR", value_hint = clap::ValueHint::DirPath)]
    pub folder: PathBuf,
}

/// The whole command tree, with its examples behind each command's help.
#[must_use]
pub fn tree() -> clap::Command {
    with_examples(Cli::command(), "cruxctl")
}

fn with_examples(command: clap::Command, path: &str) -> clap::Command {
    let mut help = String::new();
    for (what, line) in examples::of(path) {
        help.push_str(&format!("\n  {what}:\n      {}\n", broken(line)));
    }
    let command = if help.is_empty() { command } else { command.after_long_help(format!("Examples:{help}")) };
    command.mut_subcommands(|sub| {
        let path = format!("{path} {}", sub.get_name());
        with_examples(sub, &path)
    })
}

/// How long a line of an example may be, so that no terminal breaks it elsewhere than a shell may.
const EXAMPLE_WIDTH: usize = 70;

/// A command line over several lines where it is long, so that it can be pasted as it stands.
fn broken(line: &str) -> String {
    let (mut text, mut width, mut quote) = (String::new(), 0, None);
    // Words between which the shell takes a break: not those of a quoted text.
    for word in line.split_inclusive(' ') {
        if quote.is_none() && width > 0 && width + word.trim_end().len() > EXAMPLE_WIDTH {
            text.push_str("\\\n          ");
            width = 4;
        }
        for c in word.chars() {
            match quote {
                None if c == '"' || c == '\'' => quote = Some(c),
                Some(open) if open == c => quote = None,
                _ => {}
            }
        }
        text.push_str(word);
        width += word.len();
    }
    text
}

/// Prints a shell's completion script.
pub fn completions(context: &mut Context, args: &CompletionsArgs) -> anyhow::Result<()> {
    let script = match complete::shells::Shell::named(&args.shell.to_string()) {
        Some(shell) => shell.script().into(),
        // These complete what the command tree knows.
        None => {
            let mut script = Vec::new();
            clap_complete::generate(args.shell, &mut tree(), "cruxctl", &mut script);
            script
        }
    };
    Ok(context.printer.raw(&script)?)
}

/// Writes a page for every command.
pub fn man(context: &mut Context, args: &ManArgs) -> anyhow::Result<()> {
    fs::create_dir_all(&args.folder)
        .with_context(|| format!("cannot create the folder {}", args.folder.display()))?;
    for (name, page) in pages() {
        let path = args.folder.join(&name);
        fs::write(&path, page).with_context(|| format!("cannot write {}", path.display()))?;
        context.printer.raw(format!("{name}\n").as_bytes())?;
    }
    Ok(())
}

/// Every page of the manual: file name and text.
#[must_use]
pub fn pages() -> Vec<(String, Vec<u8>)> {
    let mut pages = Vec::new();
    // The manual has its examples in a section of their own.
    let mut command = without_help(Cli::command());
    command.build();
    collect(&command, "cruxctl", &mut pages);
    pages
}

/// Without the verb `help`, which has no page.
fn without_help(command: clap::Command) -> clap::Command {
    command.disable_help_subcommand(true).mut_subcommands(without_help)
}

fn collect(command: &clap::Command, path: &str, pages: &mut Vec<(String, Vec<u8>)>) {
    let name = path.replace(' ', "-");
    let named = command.clone().name(name.clone()).display_name(name.clone()).bin_name(path.to_owned());
    let man = Man::new(named).title(name.to_uppercase());
    // The version stands where a date would: it changes when the page does.
    let man = man.date(concat!("cruxctl ", env!("CARGO_PKG_VERSION"))).source("cruxctl").manual("cruxctl manual");
    let mut page = Vec::new();
    // Writing to a vector cannot fail.
    let _ = man.render(&mut page);
    let _ = sections(path).to_writer(&mut page);
    pages.push((format!("{name}.1"), page));
    for sub in command.get_subcommands().filter(|sub| !sub.is_hide_set() && sub.get_name() != "help") {
        collect(sub, &format!("{path} {}", sub.get_name()), pages);
    }
}

/// What every page says behind the options.
fn sections(path: &str) -> Roff {
    let mut roff = Roff::new();
    roff.control("SH", ["EXIT STATUS"]);
    roff.control("TP", []);
    roff.text([bold("0")]);
    roff.text([roman(WHEN_ZERO)]);
    for kind in Kind::ALL {
        roff.control("TP", []);
        roff.text([bold(kind.status().to_string())]);
        roff.text([roman(kind.when())]);
    }
    roff.control("PP", []);
    roff.text([roman("Where two apply: 8 before 7, 6, 5, 4, 2, 3, 1, 0.")]);
    let groups = groups(path);
    if !groups.is_empty() {
        roff.control("SH", ["PLAIN OUTPUT"]);
        roff.text([roman("Fields are separated by tabs, in this order:")]);
        for group in groups {
            roff.control("PP", []);
            let kind = if groups.len() > 1 { format!("{} ", group.one) } else { String::new() };
            roff.text([bold(kind), roman(group.columns.join(", "))]);
        }
        roff.control("PP", []);
        if groups.len() > 1 {
            roff.text([roman("The word in front is the first field.")]);
        }
        roff.text([roman(
            "What is told once stands at the end, a line each: a name and a value. A field with JSON is JSON. In all others \
             a backslash is written as \\\\, a tab as \\t, a line end as \\n, and what a terminal would act on as \\u{HEX}.",
        )]);
    }
    if path == "cruxctl journal check" {
        roff.control("SH", ["FINDINGS"]);
        for class in Class::ALL {
            roff.control("TP", []);
            roff.text([bold(class.name()), roman(format!(" ({})", class.severity().name()))]);
            roff.text([roman(class.what())]);
        }
        for paragraph in SEVERITIES {
            roff.control("PP", []);
            roff.text([roman(*paragraph)]);
        }
    }
    if path == "cruxctl handoff verify" {
        roff.control("SH", ["WHERE STRICTER THAN THE DAEMON"]);
        for (what, why) in STRICTER {
            roff.control("TP", []);
            roff.text([bold(*what)]);
            roff.text([roman(*why)]);
        }
    }
    let (title, texts) = match path {
        "cruxctl durable" => ("WORDS", WORDS),
        "cruxctl durable stream" => ("EVENTS", EVENTS),
        "cruxctl journal compact" => ("WHAT STAYS OF DURABLE SESSIONS", RETAINED),
        _ => ("", &[][..]),
    };
    if !texts.is_empty() {
        roff.control("SH", [title]);
    }
    for (what, text) in texts {
        roff.control("TP", []);
        roff.text([bold(*what)]);
        roff.text([roman(*text)]);
    }
    if !matches!(path, "cruxctl completions" | "cruxctl man") {
        roff.control("SH", ["BESIDE A RUNNING DAEMON"]);
        for paragraph in BESIDE {
            roff.control("PP", []);
            roff.text([roman(*paragraph)]);
        }
    }
    roff.control("SH", ["ENVIRONMENT"]);
    for (name, what) in env::VARIABLES {
        roff.control("TP", []);
        roff.text([bold(*name)]);
        roff.text([roman(*what)]);
    }
    roff.control("SH", ["FILES"]);
    for (name, what) in FILES {
        roff.control("TP", []);
        roff.text([bold(*name)]);
        roff.text([roman(*what)]);
    }
    roff.control("SH", ["EXAMPLES"]);
    for (what, line) in examples::of(path) {
        roff.control("PP", []);
        roff.text([roman(format!("{what}:"))]);
        roff.control("PP", []);
        roff.control("RS", ["4"]);
        roff.control("nf", []);
        roff.text([roman(*line)]);
        roff.control("fi", []);
        roff.control("RE", []);
    }
    roff
}

/// The words that durable sessions are told in.
const WORDS: &[(&str, &str)] = &[
    ("parked", "Nothing is to be done: every input is finished."),
    ("running", "Inputs wait, or a worker has them. `inspect` tells which: accepted, queued or running."),
    ("blocked", "A worker has asked for somebody to put something right. `unblock` lets its work be claimed again."),
    ("closing, closed", "It takes no inputs any more. It is closed when the last one is finished, or was killed."),
    ("cursor", "The number of an input in its session, from 1, in the order in which inputs were accepted."),
    ("work", "The inputs that a worker was given at once, and their one result. A session has one work at a time."),
    ("fence", "What a worker shows to commit its work. Each claim has another one, and only the last one counts."),
    ("delivered", "An input was given to a worker."),
    (
        "failed",
        "The inputs are finished and have no result. What is to be tried again is sent again, under another key.",
    ),
    (
        "lost",
        "A line of the journal was damaged and set aside: the one with the input, or the one that says what became of it.",
    ),
];

/// The events of a stream.
const EVENTS: &[(&str, &str)] = &[
    (
        "session.snapshot",
        "Where the session stands, in the place of all that has happened before. It has the cursor of the last event.",
    ),
    ("session.status", "It was opened, is closing, or has ended. The stream ends with its end."),
    ("ingress.accepted", "An input was accepted: sent, or published as a signal."),
    ("ingress.delivered", "An input was given to a worker for the first time."),
    ("turn.completed, turn.failed", "Work is finished, up to this input."),
    ("work.changed", "Work was blocked, or unblocked."),
];

/// What a compaction leaves of durable sessions.
const RETAINED: &[(&str, &str)] = &[
    (
        "always",
        "How each session stands, its inputs with their payloads, every result, what is under way, active subscriptions, and what must be known so that nothing comes twice.",
    ),
    (
        "never",
        "What was renewed, released, blocked and unblocked: a stream begins behind what is gone. Of a deleted session only that it was there.",
    ),
    (
        "--retain TIME",
        "Erases the payloads of inputs that were finished longer ago than that, and their results; of a session that was killed longer ago, those that were not finished as well. Ids, cursors, outcomes and counts stay, and `result` answers refused.session_result_erased. What waits or is under way is not touched. TIME is a length such as 30days, or a moment such as 2026-03-01T08:00:00Z.",
    ),
    (
        "elsewhere",
        "What a repair has set aside lies in DIR/cruxctl/quarantine, payloads included, until somebody deletes it there.",
    ),
];

/// The rows that a verb writes.
fn groups(path: &str) -> &'static [Group] {
    match path {
        "cruxctl doctor" => doctor::SEEN,
        "cruxctl session list" => session::list::LISTED,
        "cruxctl session put"
        | "cruxctl session delete"
        | "cruxctl session archive"
        | "cruxctl session unarchive"
        | "cruxctl session reap"
        | "cruxctl session restore" => session::view::CHANGED,
        "cruxctl session history" => session::history::VERSIONS,
        "cruxctl session diff" => session::diff::DIFFERENCES,
        "cruxctl case reuse" => case::reuse::REUSED,
        "cruxctl case list" => case::list::LISTED,
        "cruxctl case retrieve" => case::retrieve::FOUND,
        "cruxctl fact store" => fact::store::STORED,
        "cruxctl fact list" => fact::list::LISTED,
        "cruxctl fact query" => fact::query::FOUND,
        "cruxctl fact history" => fact::history::VERSIONS,
        "cruxctl fact delete" | "cruxctl fact supersede" | "cruxctl fact validity" => fact::change::CHANGED,
        "cruxctl handoff list" => handoff::ledger::LISTED,
        "cruxctl handoff abandon" => handoff::ledger::CHANGED,
        "cruxctl handoff inspect" => handoff::inspect::INSPECTED,
        "cruxctl handoff keygen" => handoff::keygen::MADE,
        "cruxctl handoff trust list" => handoff::trust::LISTED,
        "cruxctl handoff trust add" | "cruxctl handoff trust remove" => handoff::trust::CHANGED,
        "cruxctl durable open" => durable::open::OPENED,
        "cruxctl durable fork" => durable::open::FORKED,
        "cruxctl durable forks" => durable::look::FORKS,
        "cruxctl durable send" | "cruxctl durable send-many" => durable::ingress::ACCEPTED,
        "cruxctl durable work" => durable::worker::WORKED,
        "cruxctl durable claim" => durable::turn::CLAIMED,
        "cruxctl durable renew"
        | "cruxctl durable release"
        | "cruxctl durable checkpoint"
        | "cruxctl durable complete"
        | "cruxctl durable fail"
        | "cruxctl durable block"
        | "cruxctl durable unblock" => durable::turn::CHANGED,
        "cruxctl durable inspect" => durable::look::INSPECTED,
        "cruxctl durable stats" => durable::look::COUNTED,
        "cruxctl durable list" => durable::look::LISTED,
        "cruxctl durable stream" => durable::stream::STREAMED,
        "cruxctl durable subscribe" => durable::signal::SUBSCRIBED,
        "cruxctl durable unsubscribe" => durable::signal::UNSUBSCRIBED,
        "cruxctl durable subscriptions" => durable::signal::LISTED,
        "cruxctl durable publish" => durable::signal::DELIVERED,
        "cruxctl durable close" | "cruxctl durable kill" | "cruxctl durable delete" => durable::life::ENDED,
        "cruxctl journal check" => journal::check::CHECKED,
        "cruxctl journal log" => journal::log::LOGGED,
        "cruxctl journal repair" => journal::repair::PLANNED,
        "cruxctl journal stat" => journal::stat::COUNTED,
        "cruxctl journal map" => journal::map::DRAWN,
        "cruxctl journal compact" => journal::compact::COMPACTED,
        _ => &[],
    }
}

/// What the severities of findings mean, in the words of the manual.
const SEVERITIES: &[&str] = &[
    "damage cannot all be read: status 3. daemon is read here, but the daemon loses it or stumbles, and foreign is \
     passed through: status 3 under --for-daemon.",
    "What the daemon does is one of keeps, moves-aside, loses-line, loses-next-append, loses-line-and-next-append and \
     does-not-start; does-not-notice of what is gone or has changed, and never-reads in a journal of our own.",
];

/// What holds while a daemon runs on the same directory, in the words of the manual.
pub const BESIDE: &[&str] = &[
    "A running daemon reads its journals only when it starts. What is appended here it sees at its next start; until \
     then its own next write of the same session wins.",
    "It writes a record and its line end one after the other. What is written here between the two stands on one line \
     with it: both are read here, journal check names the line, and the daemon drops it at its next start, unless journal \
     repair has put it right by then.",
    "It takes no lock. Sessions and cases may be appended beside it. Stop it before facts are written, for it drops what \
     it did not load when it compacts its journal of facts, and before journal repair --apply and journal compact: what \
     it appends meanwhile is carried over, but what it holds in memory is its own.",
];

/// The files in a data directory, in the words of the manual.
pub const FILES: &[(&str, &str)] = &[
    ("DIR/sessions.jsonl", "the daemon's journal of sessions"),
    ("DIR/cases.jsonl", "the daemon's journal of cases"),
    ("DIR/facts.jsonl", "the daemon's journal of facts"),
    ("DIR/cruxctl/reuse.jsonl", "how often cases were used again; our own journal, which the daemon never reads"),
    (
        "DIR/cruxctl/handoffs.jsonl",
        "the ledger of handoffs that were accepted; our own journal, which the daemon never reads",
    ),
    ("DIR/cruxctl/trust.jsonl", "whose signatures are trusted; our own journal, which the daemon never reads"),
    ("DIR/cruxctl/durable.jsonl", "durable sessions; our own journal, which the daemon never reads"),
    ("DIR/cruxctl/workers/", "a file for each worker that runs, and is locked as long as it does"),
    (
        "DIR/cruxctl/observations.jsonl",
        "what is noted of handoffs, where CORECRUXD_HANDOFF_OBSERVATIONS asks for it; only ever appended to",
    ),
    ("DIR/cruxctl/lock", "the lock of writers; never renamed or removed"),
    ("DIR/cruxctl/index/NAME.index", "where live records lie; a cache, which may be deleted at any time"),
    ("DIR/cruxctl/index/cases.segments", "which cases have which words; a cache as well"),
    ("DIR/cruxctl/index/NAME.witness", "what each line of a journal was; evidence: keep it with the journal"),
    (
        "DIR/cruxctl/index/NAME.continued",
        "where a journal that was replaced goes on, for journal log --follow; it may be deleted",
    ),
    ("DIR/cruxctl/quarantine/", "what repair has set aside, with a manifest for each repair"),
];
