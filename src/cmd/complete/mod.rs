//! What a line may go on with: a shell asks while somebody types.
//!
//! The scripts in `completions/` hand over what was typed and get lines back. Nothing here changes anything, waits for
//! anybody or says what went wrong: an answer without candidates is one. [`line`] is what was typed, [`asked`] what that
//! says, [`offers`] what there is for an argument, [`durable`] for
//! those of durable sessions, [`groups`] what is shown of too many, and [`shells`] how each shell
//! is answered. The rest of a command line, its verbs, options and files, the command tree knows by itself.

pub mod asked;
pub mod durable;
pub mod groups;
pub mod line;
pub mod offers;
pub mod shells;

use std::ffi::{OsStr, OsString};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use clap::{Arg, Command, CommandFactory};
use clap_complete::engine::{ArgValueCompleter, CompletionCandidate, complete};

pub use durable::Durable;
pub use offers::Offers;

use self::asked::Asked;
use self::line::{Line, Word};
use self::shells::Shell;
use super::Cli;
use crate::render::is_plain;

/// Something that the word at the cursor may become.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Candidate {
    /// The whole word.
    pub text: String,
    /// What there is to say of it, in a few words.
    pub help: Option<String>,
    /// Whether it goes on behind this: a folder, or a beginning that several share.
    pub open: bool,
}

/// Answers a shell's script. `typed`: what it handed over.
#[must_use]
pub fn answer(shell: &str, typed: &[OsString]) -> String {
    let typed: Vec<String> = typed.iter().map(|text| text.to_string_lossy().into_owned()).collect();
    let Some((shell, line)) = Shell::named(shell).and_then(|shell| Some((shell, shell.line(&typed)?))) else {
        return String::new();
    };
    shell.answer(&line, &candidates(&line))
}

/// What the word at the cursor may become.
fn candidates(line: &Line) -> Vec<Candidate> {
    let asked = Arc::new(Asked::of(line));
    let valued = Arc::new(AtomicBool::new(false));
    let mut command = with_offers(Cli::command(), &asked, &valued);
    let mut words = joined(&command, &line.before);
    words.push(OsString::from(&line.word.text));
    let at = words.len() - 1;
    let found = complete(&mut command, words, at, Some(Path::new(".")));
    let mut found: Vec<Candidate> = found.unwrap_or_default().iter().filter_map(candidate).collect();
    // Options are for who has typed a dash, unless nothing else belongs here.
    let is_option = |candidate: &Candidate| candidate.text.starts_with('-') && !asked.escaped;
    if line.word.text.is_empty() && (valued.load(Ordering::Relaxed) || !found.iter().all(is_option)) {
        found.retain(|candidate| !is_option(candidate));
    }
    found
}

/// The words of a line, in which the value of an option that every verb takes is tied to it: the engine takes any word
/// that stands by itself for a verb, where there is one of that name.
fn joined(command: &Command, words: &[Word]) -> Vec<OsString> {
    let takes_value = |word: &str| {
        let takes = |arg: &Arg| arg.get_action().takes_values() && arg.get_long() == word.strip_prefix("--");
        command.get_arguments().any(|arg| arg.is_global_set() && takes(arg))
    };
    let mut out = Vec::with_capacity(words.len() + 1);
    let mut words = words.iter().map(|word| &*word.text).collect::<Vec<_>>().into_iter();
    while let Some(word) = words.next() {
        match words.as_slice().first().filter(|_| takes_value(word)).copied() {
            Some(value) => {
                out.push(format!("{word}={value}").into());
                words.next();
            }
            None => out.push(word.into()),
        }
        if word == "--" {
            out.extend(words.by_ref().map(OsString::from));
        }
    }
    out
}

/// The command tree, in which each argument that is marked offers what it can. `valued`: whether one was asked.
fn with_offers(command: Command, asked: &Arc<Asked>, valued: &Arc<AtomicBool>) -> Command {
    let command = command.mut_args(|arg| match arg.get::<Offers>().copied() {
        Some(offers) => {
            let (asked, valued) = (Arc::clone(asked), Arc::clone(valued));
            arg.add(ArgValueCompleter::new(move |word: &OsStr| {
                valued.store(true, Ordering::Relaxed);
                offers.candidates(&asked, word)
            }))
        }
        None => arg,
    });
    command.mut_subcommands(|sub| with_offers(sub, asked, valued))
}

/// A candidate of the engine's; `None` where it is nothing to put on somebody's line.
fn candidate(found: &CompletionCandidate) -> Option<Candidate> {
    let text = found.get_value().to_str().filter(|text| is_plain(text))?;
    let help = found.get_help().map(|help| help.to_string().lines().next().unwrap_or_default().to_owned());
    let open = offers::is_beginning(found) || text.ends_with('/');
    Some(Candidate { text: text.to_owned(), help: help.filter(|help| is_plain(help)), open })
}
