//! What an argument can be given: the ids, agents and entities that are in the data directory at this moment.
//!
//! An argument is marked with what it takes, and nothing is read before somebody asks.

use std::collections::BTreeSet;
use std::ffi::OsStr;

use clap::builder::ArgExt;
use clap_complete::engine::CompletionCandidate;

use super::asked::Asked;
use super::durable::Durable;
use super::groups::{Shown, shown};
use crate::cmd::fact::view::Eyes;
use crate::cmd::handoff::trust::key_id;
use crate::journal::files::DataDir;
use crate::journal::ids::{Ids, Which, each_live, ids};
use crate::journal::stamp::Stamp;
use crate::journal::{self, Journal};
use crate::render::{is_plain, rfc3339};
use crate::store::fact::document::Fact;
use crate::store::fact::privacy;
use crate::store::handoff::State;
use crate::store::scope;
use crate::store::{JOURNALS, case, fact, handoff, session, trust};

/// The id of a candidate that is only a beginning starts with this.
const BEGINNING: &str = "beginning of ";

/// What an argument can be given.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Offers {
    /// The id of a session, as the scope sees it.
    Sessions,
    /// The id of a session that there is or was, as the scope sees it.
    SessionsEver,
    /// The number of a revision of the session that was typed before.
    Revisions,
    /// The id of a case.
    Cases,
    /// The id of a fact.
    Facts,
    /// An entity.
    Entities,
    /// The key of a fact, of the entity that was typed before.
    Keys,
    /// An entity, or the id of a fact.
    EntitiesAndFacts,
    /// An agent that has sessions or private facts here, or whose signatures are trusted.
    Agents,
    /// A handoff that is half accepted.
    OpenHandoffs,
    /// A key whose signatures are trusted, or its agent.
    TrustedKeys,
    /// An id with a record in the journals that were typed, or in any, as it is stored.
    Recorded,
    /// Something of durable sessions.
    Durable(Durable),
}

impl ArgExt for Offers {}

/// A text to go on with, and what there is to say of it.
pub(super) type Text = (String, Option<String>);

impl Offers {
    /// What can be put in the place of a word; nothing, where not all of it is known.
    #[must_use]
    pub fn candidates(self, asked: &Asked, word: &OsStr) -> Vec<CompletionCandidate> {
        let (Some(dir), Some(word)) = (&asked.dir, word.to_str()) else { return Vec::new() };
        // Neither what a terminal would act on, nor what the command would take for an option.
        let fits = |text: &str| {
            // Comparing with nothing takes longer than one would think.
            (word.is_empty() || text.starts_with(word))
                && !text.is_empty()
                && is_plain(text)
                && (asked.escaped || !text.starts_with('-'))
                && !asked.given.iter().any(|given| given == text)
        };
        let found = match self {
            Offers::Sessions => sessions(dir, asked, Which::Live, word, &fits),
            Offers::SessionsEver => sessions(dir, asked, Which::Mentioned, word, &fits),
            Offers::Revisions => asked.session.as_deref().map(|id| told(revisions(dir, id), &fits)),
            Offers::Cases => ids(dir, &case::JOURNAL, Which::Live, word, &fits).map(|ids| few(ids.iter())),
            Offers::Facts => facts(dir, (asked, word), &fits).map(|facts| told(facts, &fits)),
            Offers::Entities => of_facts(dir, (asked, word), &|_, entity| vec![entity.to_owned()], &fits),
            Offers::Keys => of_facts(dir, (asked, word), &|fact, entity| keys(asked, fact, entity), &fits),
            Offers::EntitiesAndFacts => {
                let both = |fact: &Fact<'_>, entity: &str| match word {
                    // An id is offered to somebody who has begun to type one.
                    "" => vec![entity.to_owned()],
                    _ => vec![entity.to_owned(), fact.id.to_string()],
                };
                of_facts(dir, (asked, word), &both, &fits)
            }
            Offers::Agents => {
                agents(dir).map(|agents| few(agents.iter().map(String::as_str).filter(|agent| fits(agent))))
            }
            Offers::OpenHandoffs => open_handoffs(dir, word).map(|open| told(open, &fits)),
            Offers::TrustedKeys => trusted_keys(dir, word).map(|keys| told(keys, &fits)),
            Offers::Recorded => recorded(dir, (asked, word), &fits),
            Offers::Durable(what) => what.texts(dir, asked, word).map(|texts| told(texts, &fits)),
        };
        found.unwrap_or_default()
    }
}

/// Whether a candidate is only a beginning: no space belongs behind it.
pub(super) fn is_beginning(candidate: &CompletionCandidate) -> bool {
    candidate.get_id().is_some_and(|id| id.starts_with(BEGINNING))
}

/// Candidates of texts that need no explanation.
fn few<'t>(texts: impl Iterator<Item = &'t str>) -> Vec<CompletionCandidate> {
    let candidate = |shown: Shown| match shown {
        Shown::Whole(text) => CompletionCandidate::new(text),
        Shown::Beginning(text, many) => {
            let id = format!("{BEGINNING}{text}");
            CompletionCandidate::new(text).id(Some(id)).help(Some(format!("{many} begin so").into()))
        }
    };
    shown(texts.collect()).into_iter().map(candidate).collect()
}

/// Candidates of texts with their explanations; without these where there are too many.
fn told(mut texts: Vec<Text>, fits: &dyn Fn(&str) -> bool) -> Vec<CompletionCandidate> {
    texts.retain(|(text, _)| fits(text));
    texts.sort_unstable();
    texts.dedup_by(|a, b| a.0 == b.0);
    let candidates = few(texts.iter().map(|(text, _)| &**text));
    if candidates.iter().any(is_beginning) {
        return candidates;
    }
    // Both are in the same order.
    let help = texts.into_iter().map(|(_, what)| what.map(Into::into));
    candidates.into_iter().zip(help).map(|(candidate, help)| candidate.help(help)).collect()
}

/// The ids of sessions, as the scope sees them.
fn sessions(
    dir: &DataDir,
    asked: &Asked,
    which: Which,
    word: &str,
    fits: &dyn Fn(&str) -> bool,
) -> Option<Vec<CompletionCandidate>> {
    let scope = asked.scope.as_ref()?;
    let stored = ids(dir, &session::JOURNAL, which, word, &|id| scope.visible(id).is_some_and(fits))?;
    Some(few(stored.iter().filter_map(|id| scope.visible(id))))
}

/// The ids in the journals that were typed, or in any.
fn recorded(
    dir: &DataDir,
    (asked, word): (&Asked, &str),
    fits: &dyn Fn(&str) -> bool,
) -> Option<Vec<CompletionCandidate>> {
    let journals = if asked.journals.is_empty() { &JOURNALS } else { &asked.journals[..] };
    let ids = |journal: &&Journal| ids(dir, journal, Which::Mentioned, word, fits);
    let all: Vec<Ids> = journals.iter().map(ids).collect::<Option<_>>()?;
    let mut texts: Vec<&str> = all.iter().flat_map(Ids::iter).collect();
    if all.len() > 1 {
        texts.sort_unstable();
        texts.dedup();
    }
    Some(few(texts.into_iter()))
}

/// The versions of a session, by their numbers. `id`: as it is stored.
fn revisions(dir: &DataDir, id: &str) -> Vec<Text> {
    let revisions = journal::ids::revisions(dir, &session::JOURNAL, id).into_iter();
    let time = |stamp: Option<Stamp>| stamp.and_then(Stamp::time).map(rfc3339);
    revisions.map(|(number, stamp)| (number.to_string(), time(stamp))).collect()
}

/// What live facts that these eyes see have to offer, each once.
fn of_facts(
    dir: &DataDir,
    (asked, word): (&Asked, &str),
    of: &dyn Fn(&Fact<'_>, &str) -> Vec<String>,
    fits: &dyn Fn(&str) -> bool,
) -> Option<Vec<CompletionCandidate>> {
    let mut found = BTreeSet::new();
    each_fact(dir, asked, word, &mut |fact, entity| {
        found.extend(of(fact, entity).into_iter().filter(|text| fits(text)))
    })?;
    Some(few(found.iter().map(String::as_str)))
}

fn each_fact(dir: &DataDir, asked: &Asked, word: &str, take: &mut dyn FnMut(&Fact<'_>, &str)) -> Option<()> {
    let eyes = Eyes::through(asked.scope.clone()?);
    each_live(dir, &fact::JOURNAL, word, &mut |document| {
        if let Some(fact) = Fact::read(document)
            && let Some(entity) = eyes.see(&fact)
        {
            take(&fact, &entity);
        }
    })
}

fn keys(asked: &Asked, fact: &Fact<'_>, entity: &str) -> Vec<String> {
    let wanted = asked.entity.as_deref().is_none_or(|wanted| wanted == entity);
    wanted.then(|| fact.key.to_string()).into_iter().collect()
}

fn facts(dir: &DataDir, (asked, word): (&Asked, &str), fits: &dyn Fn(&str) -> bool) -> Option<Vec<Text>> {
    let mut facts = Vec::new();
    each_fact(dir, asked, word, &mut |fact, entity| {
        if fits(&fact.id) {
            facts.push((fact.id.to_string(), Some(format!("{entity} {}", fact.key))));
        }
    })?;
    Some(facts)
}

fn agents(dir: &DataDir) -> Option<BTreeSet<String>> {
    let mut agents: BTreeSet<String> = BTreeSet::new();
    let mut add = |agent: Option<&str>| {
        if let Some(agent) = agent.filter(|agent| !agents.contains(*agent)) {
            agents.insert(agent.to_owned());
        }
    };
    let scoped = |id: &str| scope::split(id).0.is_some();
    ids(dir, &session::JOURNAL, Which::Live, scope::PREFIX, &scoped)?.iter().for_each(|id| add(scope::split(id).0));
    each_live(dir, &fact::JOURNAL, privacy::AGENT_PREFIX, &mut |document| {
        add(Fact::read(document).and_then(|fact| privacy::split(&fact.entity).0.map(str::to_owned)).as_deref());
    })?;
    each(dir, &trust::JOURNAL, trust::Entry::read, &mut |entry| add(Some(&entry.agent)))?;
    Some(agents)
}

fn open_handoffs(dir: &DataDir, word: &str) -> Option<Vec<Text>> {
    let mut open = Vec::new();
    each(dir, &handoff::JOURNAL, handoff::Entry::read, &mut |entry| {
        if entry.state == State::Open {
            let what = Some(format!("session {} of {}", entry.session_id, entry.source_agent));
            // Its own id is shorter; the hash is for who has begun to type it.
            let names = entry
                .handoff_id
                .iter()
                .chain((entry.handoff_id.is_none() || !word.is_empty()).then_some(&entry.content_hash));
            open.extend(names.map(|name| (name.clone(), what.clone())));
        }
    })?;
    Some(open)
}

fn trusted_keys(dir: &DataDir, word: &str) -> Option<Vec<Text>> {
    let mut keys = Vec::new();
    each(dir, &trust::JOURNAL, trust::Entry::read, &mut |entry| {
        keys.push((entry.agent.clone(), Some("every key of this agent".to_owned())));
        keys.push((key_id(&entry), Some(format!("key of {}", entry.agent))));
        if !word.is_empty() {
            keys.push((entry.public_key, Some(format!("key of {}", entry.agent))));
        }
    })?;
    Some(keys)
}

fn each<T>(dir: &DataDir, journal: &Journal, read: fn(&[u8]) -> Option<T>, take: &mut dyn FnMut(T)) -> Option<()> {
    each_live(dir, journal, "", &mut |line| read(line).into_iter().for_each(&mut *take))
}
