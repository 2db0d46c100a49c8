//! What a package becomes on the receiver's side, and what of it is there already.

use std::borrow::Cow;
use std::collections::HashSet;

use chrono::{DateTime, Utc};

use crate::cmd::fact::view::current;
use crate::cmd::input;
use crate::env;
use crate::error::{Code, Error, Result};
use crate::handoff::fact::Horizon;
use crate::handoff::package::Package;
use crate::journal::append;
use crate::journal::json::{self, Squeeze};
use crate::journal::live::IdKey;
use crate::journal::scan::{Item, Stretch};
use crate::journal::split::event_ids;
use crate::journal::table::Table;
use crate::store::fact::document::{Fact, confidence_text, tokens};
use crate::store::fact::privacy::{self, AGENT_PREFIX, Privacy};
use crate::store::fact::rules::{Events, Known};
use crate::store::fact::versions::Versions;
use crate::store::fact::{self, DEFAULT_TENANT, events};
use crate::store::handoff::Entry;
use crate::store::scope::Scope;
use crate::store::session::{self, Session};

/// Who takes a package, and how.
pub(super) struct Receiver<'r> {
    /// The agent.
    pub(super) agent: Option<&'r str>,
    /// Which entities are born private here.
    pub(super) privacy: &'r Privacy,
    /// The largest state that is stored.
    pub(super) most_state_bytes: u64,
    /// When it is taken.
    pub(super) at: DateTime<Utc>,
}

/// A session that is loaded.
pub(super) struct Loading {
    /// Its stored id.
    pub(super) id: String,
    /// The line that stores it.
    pub(super) line: Vec<u8>,
}

/// What the format does not carry over, in facts.
#[derive(Debug, Default)]
pub(super) struct Lost {
    pub(super) tenants: u64,
    pub(super) actors: u64,
    pub(super) validity: u64,
    pub(super) horizons: u64,
    /// Deleted ones, which are left out.
    pub(super) deleted: u64,
}

/// What is loaded.
pub(super) struct Load<'p> {
    pub(super) session: Option<Loading>,
    /// The facts, whose versions are not known yet.
    pub(super) facts: Vec<Fact<'p>>,
    pub(super) lost: Lost,
}

impl<'p> Load<'p> {
    /// Makes of a package what is stored here. `ids`: those that its facts have got before. Everything is checked that
    /// could keep a part of it from being written.
    pub(super) fn of(package: &'p Package<'p>, receiver: &Receiver<'_>, ids: Option<&[String]>) -> Result<Load<'p>> {
        let session = package.session_state.map(|state| loading(package, state, receiver)).transpose()?;
        let mut lost = Lost::default();
        let mut facts = Vec::new();
        for fact in &package.facts {
            if fact.deleted {
                lost.deleted += 1;
                continue;
            }
            let (entity, moved) = entity(fact, receiver)?;
            let horizon = privacy::horizon(&entity);
            lost.tenants += u64::from(!matches!(fact.tenant_hash.trim(), "" | DEFAULT_TENANT));
            lost.actors += u64::from(fact.actor.is_some());
            lost.validity += u64::from(fact.valid_from.is_some() || fact.valid_to.is_some());
            lost.horizons += u64::from(name(fact.horizon_class) != horizon);
            let id = match ids.map(|ids| ids.get(facts.len())) {
                Some(id) => id.cloned().unwrap_or_default(),
                None => env::new_id("f_")?,
            };
            let loaded = Fact {
                id: id.into(),
                tenant: DEFAULT_TENANT.into(),
                private: receiver.privacy.is_private(&entity, moved),
                horizon: horizon.into(),
                entity,
                key: Cow::Borrowed(&*fact.key),
                value: Cow::Borrowed(&*fact.value),
                source_receipt: fact.source_receipt.as_deref().map(Cow::Borrowed),
                // The package was read: it is a number that JSON has.
                confidence: confidence_text(fact.confidence).unwrap_or_default().into(),
                stored_at: receiver.at,
                tokens: tokens(&fact.value),
                deleted: false,
                version: 1,
                supersedes: None,
                reverified_at: None,
                superseded_by: None,
                actor: None,
                valid_from: None,
                valid_to: None,
                access_count: 0,
                last_accessed_at: None,
                source: b"",
            };
            // However long its version and the id before it will be.
            let widest = Fact { version: u64::MAX, supersedes: Some("f".repeat(64).into()), ..loaded.clone() };
            append::check_length(&fact::JOURNAL, &events::store(&widest))?;
            facts.push(loaded);
        }
        if ids.is_some_and(|ids| ids.len() != facts.len()) {
            let message = "the ledger has another number of facts for this handoff than it brings";
            return Err(Error::new(Code::RefusedOpen, message).hint("cruxctl handoff list --open"));
        }
        Ok(Load { session, facts, lost })
    }
}

fn name(horizon: Horizon) -> &'static str {
    match horizon {
        Horizon::Volatile => "volatile",
        Horizon::Medium => "medium",
        Horizon::Stable => "stable",
        Horizon::None => "none",
    }
}

/// The entity under which a fact is stored here, and whether it is the receiver's own.
fn entity<'p>(fact: &'p crate::handoff::fact::Fact<'p>, receiver: &Receiver<'_>) -> Result<(Cow<'p, str>, bool)> {
    // Facts of an agent's own entities are private whatever they say: nobody hands anything into another agent's.
    if fact.private || fact.entity.starts_with(AGENT_PREFIX) {
        let Some(agent) = receiver.agent else {
            let message =
                format!("its fact about {:?} is private, and no agent is named here (--agent)", fact.entity);
            return Err(
                Error::new(Code::RejectedReceiver, message).hint("name the agent that takes it: --agent AGENT")
            );
        };
        return Ok((privacy::private_entity(agent, privacy::split(&fact.entity).1).into(), true));
    }
    if let Some(prefix) = privacy::daemons_own(&fact.entity) {
        let message = format!("it brings a fact whose entity begins with {prefix}: those are the daemon's own");
        return Err(Error::new(Code::RefusedDaemonsOwn, message));
    }
    Ok((Cow::Borrowed(&*fact.entity), false))
}

fn loading(package: &Package<'_>, state: &str, receiver: &Receiver<'_>) -> Result<Loading> {
    input::check_new_id(&package.session_id, receiver.agent.is_some()).map_err(|error| {
        Error::new(Code::RejectedPayload, format!("the payload is no handoff package for here: {}", error.message))
    })?;
    // One line, whatever white space the minter has put between its tokens.
    let mut text = Vec::new();
    match state.contains(['\n', '\r']) {
        true => Squeeze::default().squeeze(state.as_bytes(), &mut text),
        false => text.extend_from_slice(state.as_bytes()),
    }
    if text.len() as u64 > receiver.most_state_bytes {
        return Err(input::too_large(&text.len().to_string(), receiver.most_state_bytes));
    }
    let not_json = |fail: json::Fail| {
        let message = format!("the payload's session state is no JSON: {}, at its byte {}", fail.why, fail.at);
        Error::new(Code::RejectedPayload, message)
    };
    let (_, quirks) = json::whole(&text, session::DEPTH_AROUND_STATE).map_err(not_json)?;
    if let Some((at, why)) = input::loses(&quirks) {
        let message = format!("the daemon would lose this session: {why}, at byte {at} of its state");
        return Err(Error::new(Code::RefusedDaemonUnreadable, message));
    }
    let scope = receiver.agent.map_or(Scope::Unscoped, |agent| Scope::Agent(agent.to_owned()));
    let id = scope.stored(&package.session_id).into_owned();
    let line = Session {
        id: Cow::Borrowed(&id),
        state: &text,
        updated_at: receiver.at,
        total_tokens: session::tokens(&text),
        expires_at: None,
        archived: false,
        archived_at: None,
        archive_reason: None,
        actor: receiver.agent.map(Cow::Borrowed),
        others: String::new(),
        exact: true,
    }
    .line();
    append::check_length(&session::JOURNAL, &line)?;
    Ok(Loading { id, line })
}

/// What is appended to the facts where loading was begun before.
pub(super) struct Missing {
    /// The lines.
    pub(super) lines: Vec<Vec<u8>>,
    /// Facts of which somebody else has stored a newer version since loading began, which stays the newest.
    pub(super) passed: Vec<String>,
}

/// The lines that store the facts, and the newest facts before of the chains that they continue.
pub(super) fn fact_lines(table: &mut Table, facts: &mut [Fact<'_>]) -> Result<(Vec<Vec<u8>>, Vec<String>)> {
    let (mut versions, mut lines) = (Versions::default(), Vec::new());
    for fact in facts {
        lines.extend(versions.store(table, fact)?);
    }
    Ok((lines, versions.continued))
}

/// The lines of the facts that are not there yet, where loading was begun before.
pub(super) fn missing_lines(table: &mut Table, facts: &mut [Fact<'_>], entry: &Entry) -> Result<Missing> {
    let own: HashSet<&str> = entry.fact_ids.iter().map(String::as_str).collect();
    // What is named in the journal was there, whatever has removed it since.
    let mut named = HashSet::new();
    table.opened.scan_items(&fact::JOURNAL, Stretch::whole(table.opened.len), &mut |item| {
        if let Item::Record(record) = item {
            event_ids(record.event, &mut |id| {
                if own.contains(id) {
                    named.insert(id.to_owned());
                }
            });
        }
        Ok(())
    })?;
    let (mut versions, mut missing) = (Versions::default(), Missing { lines: Vec::new(), passed: Vec::new() });
    for fact in facts {
        if let Some((row, document)) = table.known(&fact.id)? {
            let now = current(table, row, &document)?;
            missing.lines.extend(unlinked(table, &now.fact, row.place.span().offset));
        } else if !named.contains(&*fact.id) {
            let head = versions.head(table, fact)?;
            let expected = |id: &String| own.contains(id.as_str()) || entry.heads_before.contains(id);
            match head.filter(|id| !expected(id)) {
                Some(_) => missing.passed.push(fact.id.clone().into_owned()),
                None => missing.lines.extend(versions.store(table, fact)?),
            }
        }
    }
    Ok(missing)
}

/// The line by which a fact takes the place of the version before it, where it was stored and the command was interrupted
/// in front of that line. Where anybody has said since what takes that place, it stays so.
fn unlinked(table: &mut Table, fact: &Fact<'_>, offset: u64) -> Option<Vec<u8>> {
    let before = fact.supersedes.as_deref()?;
    let key = IdKey::of(before);
    let known = Known::of(table.live.row(key)?);
    let said_since = Events::of(&mut table.live, key).supersession.span().offset > offset;
    let free = known.superseded_by == 0 && !known.bound && !said_since;
    free.then(|| events::supersede(before, &fact.id, fact.stored_at))
}

/// What has become of a session since its loading began.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Since {
    /// Nothing: it is to be stored.
    Nothing,
    /// It was stored.
    Stored,
    /// Somebody else has written or deleted it, and it was not stored before.
    Others,
}

/// Holds what the journal has of a session against what it had before loading began. Places and times say nothing: a
/// repair moves records, and clocks go back.
pub(super) fn since(table: &mut Table, session: &Loading, entry: &Entry) -> Result<Since> {
    let current = table.get(&session.id)?.map(|(line, _)| line);
    if current.as_ref() == Some(&session.line) {
        return Ok(Since::Stored);
    }
    let mut stored = false;
    table.opened.scan_items(&session::JOURNAL, Stretch::whole(table.opened.len), &mut |item| {
        stored |= matches!(item, Item::Record(record) if record.event.members.text == session.line);
        Ok(())
    })?;
    let same = current.as_deref().map(line_hash) == entry.session_before;
    Ok(match (stored, same) {
        (true, _) => Since::Stored,
        (false, true) => Since::Nothing,
        (false, false) => Since::Others,
    })
}

/// A record as the ledger knows it.
pub(super) fn line_hash(line: &[u8]) -> String {
    blake3::hash(line).to_hex().to_string()
}
