//! What the words of a line say about what is asked for: which directory, whose eyes, which session.

use std::path::PathBuf;

use clap::{ArgMatches, CommandFactory};

use super::line::{Line, Variable, Word};
use crate::cmd::{Cli, input, journal};
use crate::env;
use crate::journal::Journal;
use crate::journal::files::DataDir;
use crate::store::scope::Scope;

/// What is known when a word is completed.
#[derive(Debug)]
pub struct Asked {
    /// The data directory, if one can be told.
    pub dir: Option<DataDir>,
    /// Through whose eyes; `None` where nobody can look: an agent that is none, or a contradiction.
    pub scope: Option<Scope>,
    /// The id of the session that was typed before, as it is stored.
    pub session: Option<String>,
    /// The target of a durable session that was typed before.
    pub target: Option<String>,
    /// The entity that was typed before, as it was typed.
    pub entity: Option<String>,
    /// The journals that were typed.
    pub journals: Vec<&'static Journal>,
    /// Values that were typed before for the argument that takes several.
    pub given: Vec<String>,
    /// Whether what begins with a dash is no option any more.
    pub escaped: bool,
}

impl Asked {
    /// Reads a line. Whatever is wrong with it is passed over: somebody is in the middle of it.
    #[must_use]
    pub fn of(line: &Line) -> Asked {
        let all = |words: &[Word]| words.iter().map(expanded).collect::<Vec<_>>();
        let words = all(&line.before);
        let before = parsed(words.clone());
        // What is typed behind the cursor says which directory and whose eyes as well. Something must be at the cursor,
        // or an option in front of it would lack its value.
        let whole = if line.after.is_empty() {
            before.clone()
        } else {
            let word = if line.word.text.is_empty() { "-".to_owned() } else { expanded(&line.word) };
            parsed([words, vec![word], all(&line.after)].concat())
        };
        let (typed, whole) = (before.as_ref().and_then(innermost), whole.as_ref().and_then(innermost));
        let text = |name| typed.and_then(|matches| one::<String>(matches, name));
        let agent = whole.and_then(|matches| one::<String>(matches, "agent"));
        let all_agents = whole.and_then(|matches| one::<bool>(matches, "all_agents")).unwrap_or(false);
        let dir = whole.and_then(|matches| one::<PathBuf>(matches, "data_dir"));
        let dir = dir.or_else(|| env::data_dir().map(|(dir, _)| dir));
        let scope = scope(agent, all_agents);
        let id = text("id").or_else(|| text("session"));
        let given = typed.and_then(|matches| matches.try_get_many::<String>("ids").ok().flatten());
        Asked {
            session: id.zip(scope.as_ref()).map(|(id, scope)| scope.stored(&id).into_owned()),
            target: text("target"),
            entity: text("entity").or_else(|| text("what")),
            journals: ["journal", "journals"].iter().flat_map(|name| journals(whole, name)).collect(),
            given: given.into_iter().flatten().cloned().collect(),
            escaped: line.before.iter().any(|word| word.text == "--"),
            dir: dir.map(|root| DataDir { root, boot: env::boot_id(), clock: None }),
            scope,
        }
    }
}

/// The arguments on a line, as far as they are there.
fn parsed(words: Vec<String>) -> Option<ArgMatches> {
    Cli::command().ignore_errors(true).try_get_matches_from(words).ok()
}

/// The arguments of the verb.
fn innermost(matches: &ArgMatches) -> Option<&ArgMatches> {
    match matches.subcommand() {
        Some((_, inner)) => innermost(inner),
        None => Some(matches),
    }
}

fn one<T: Clone + Send + Sync + 'static>(matches: &ArgMatches, name: &str) -> Option<T> {
    matches.try_get_one::<T>(name).ok().flatten().cloned()
}

fn journals(matches: Option<&ArgMatches>, name: &str) -> Vec<&'static Journal> {
    let names = matches.and_then(|matches| matches.try_get_many::<journal::Name>(name).ok().flatten());
    names.into_iter().flatten().map(|name| name.journal()).collect()
}

fn scope(typed_agent: Option<String>, all_agents: bool) -> Option<Scope> {
    match (all_agents, typed_agent) {
        (true, Some(_)) => None,
        (true, None) => Some(Scope::All),
        (false, typed) => match typed.or_else(|| env::var("CRUXCTL_AGENT")) {
            Some(agent) => input::check_agent(&agent).is_ok().then_some(Scope::Agent(agent)),
            None => Some(Scope::Unscoped),
        },
    }
}

/// A word as the shell hands it to a command, as far as the environment can tell: the rest stays as it was typed.
fn expanded(word: &Word) -> String {
    let home = if word.tilde { env::var("HOME") } else { None };
    let mut at = usize::from(home.is_some());
    let mut out = home.unwrap_or_default();
    for Variable { name, place, quoted } in &word.variables {
        // Of a value that is not quoted, a shell may make several words, or names of files.
        let is_word = |value: &String| *quoted || !value.contains([' ', '\t', '\n', '*', '?', '[']);
        if let Some(value) = env::var(name).filter(is_word) {
            out.extend([&word.text[at..place.start], &value]);
            at = place.end;
        }
    }
    out + &word.text[at..]
}
