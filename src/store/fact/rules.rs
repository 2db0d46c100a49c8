//! How the records of `facts.jsonl` add up: the daemon's rules, one record after the other.
//!
//! Beside the row of a fact there may be one for the events that have changed it, beside a canonical fact one for its
//! recorded sources, and for each chain of versions one with the key of its newest.

use std::borrow::Cow;
use std::ops::Range;

use super::document::Fact;
use super::{is_latest_only, tenant_of};
use crate::journal::finding::Span;
use crate::journal::live::{IdKey, Live, Place, Row};
use crate::journal::scan::Record;
use crate::journal::shape::{Event, Members};

/// What is kept of a fact: its place, whether it is live (not deleted), whether it is bound (a source of an active
/// consolidation), and tags.
#[derive(Clone, Copy, Debug)]
pub struct Known {
    /// Where its document lies.
    pub place: Place,
    /// Whether it is not deleted.
    pub live: bool,
    /// Whether an active consolidation stands for it.
    pub bound: bool,
    /// Of the tenant.
    pub tenant: u64,
    /// Of tenant, entity and key.
    pub chain: u64,
    /// Of the fact that supersedes it; 0: none.
    pub superseded_by: u64,
}

impl Known {
    /// What a fact's row says.
    #[must_use]
    pub fn of(row: Row) -> Known {
        let Row { place, live, mark, more: [tenant, chain, superseded_by], .. } = row;
        Known { place, live, bound: mark, tenant, chain, superseded_by }
    }

    fn keep(self, live: &mut Live, key: IdKey) {
        let more = [self.tenant, self.chain, self.superseded_by];
        live.set(key, Row { place: self.place, live: self.live, mark: self.bound, beside: false, more });
    }
}

/// Where the events lie that have changed a fact since it was stored; an empty place: none has.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Events {
    /// The one that says which fact supersedes it, or that fact's own document.
    pub supersession: Place,
    /// The one that says when it holds.
    pub validity: Place,
    /// The one that deleted it.
    pub deletion: Place,
}

impl Events {
    /// The events of a fact.
    pub fn of(live: &mut Live, fact: IdKey) -> Events {
        let Some(row) = live.row(fact.beside(EVENTS)) else { return Events::default() };
        let [validity, deletion, lengths] = row.more;
        let place = |offset: u64, len: u64| Place::of(Span { offset, len: len & 0xFFFF_FFFF });
        Events {
            supersession: row.place,
            validity: place(validity, lengths >> 32),
            deletion: place(deletion, lengths),
        }
    }

    fn keep(self, live: &mut Live, fact: IdKey) {
        let (validity, deletion) = (self.validity.span(), self.deletion.span());
        let more = [validity.offset, deletion.offset, validity.len << 32 | deletion.len];
        live.set(fact.beside(EVENTS), Row { place: self.supersession, beside: true, more, ..Row::default() });
    }
}

/// Beside a canonical fact: where its sources were recorded, and a hash of them.
const SOURCES: u64 = 1;
/// Beside a fact: its [`Events`].
const EVENTS: u64 = 2;

/// Where the active consolidation that a fact stands for was recorded.
pub fn consolidation(live: &mut Live, canonical: IdKey) -> Option<Span> {
    live.row(canonical.beside(SOURCES)).map(|row| row.place.span())
}

/// The newest fact of a chain, and its version; it may have been deleted since. `None`: the chain has no fact.
pub fn newest(live: &mut Live, chain: IdKey) -> Option<(IdKey, u64)> {
    let [a, b, version] = live.row(chain)?.more;
    Some((IdKey::from_words([a, b]), version))
}

/// Every fact that the journal knows, live and deleted.
struct Facts<'l> {
    live: &'l mut Live,
}

impl Facts<'_> {
    fn known(&mut self, key: IdKey) -> Option<Known> {
        self.live.row(key).map(Known::of)
    }

    fn change(&mut self, key: IdKey, change: impl FnOnce(&mut Known)) {
        if let Some(mut fact) = self.known(key) {
            change(&mut fact);
            fact.keep(self.live, key);
        }
    }

    /// Notes the event that has changed a fact.
    fn note(&mut self, key: IdKey, note: impl FnOnce(&mut Events)) {
        let mut events = Events::of(self.live, key);
        note(&mut events);
        events.keep(self.live, key);
    }

    /// Forgets a fact altogether.
    fn remove(&mut self, key: IdKey) {
        self.live.remove(key);
        self.live.remove(key.beside(EVENTS));
    }

    fn is_source(&mut self, key: IdKey) -> bool {
        self.known(key).is_some_and(|fact| fact.bound)
    }

    fn sources(&mut self, canonical: IdKey) -> Option<[u64; 3]> {
        self.live.row(canonical.beside(SOURCES)).map(|row| row.more)
    }

    /// Binds sources to the fact that stands for them, and records that it does.
    fn bind(&mut self, sources: &[IdKey], canonical: IdKey, place: Place) {
        for source in sources {
            self.change(*source, |fact| {
                fact.superseded_by = canonical.tag();
                fact.bound = true;
            });
        }
        let more = hash(sources);
        self.live.set(canonical.beside(SOURCES), Row { place, beside: true, more, ..Row::default() });
    }

    fn delete(&mut self, key: IdKey, place: Place) {
        if self.known(key).is_some_and(|fact| fact.live) {
            self.change(key, |fact| fact.live = false);
            self.note(key, |events| events.deletion = place);
        }
    }

    /// Stores a fact; `false` when its id is known already.
    fn store(&mut self, fact: &Members<'_>, place: Span) -> bool {
        let (Some(id), Some(chain)) = (fact.id("fact_id"), chain_in(fact)) else { return false };
        let key = IdKey::of(&id);
        if self.known(key).is_some() {
            return false;
        }
        let known = Known {
            place: Place::of(place),
            live: fact.flag("deleted") != Some(true),
            bound: false,
            tenant: IdKey::of(&tenant_of(fact)).tag(),
            chain: chain.tag(),
            superseded_by: fact.id("superseded_by").map_or(0, |by| IdKey::of(&by).tag()),
        };
        let before = newest(self.live, chain);
        let latest_only = is_latest_only(fact);
        if latest_only && let Some((before, _)) = before {
            self.remove(before);
        }
        let version = fact.natural("version").unwrap_or(1);
        if latest_only || before.is_none_or(|(_, newest)| version >= newest) {
            let [a, b] = key.words();
            self.live.set(chain, Row { beside: true, more: [a, b, version], ..Row::default() });
        }
        known.keep(self.live, key);
        true
    }

    fn replace_latest(&mut self, event: &Event<'_>) {
        let own = chain_in(&event.record).map(IdKey::tag);
        for replaced in event.members.texts("replaced_fact_ids") {
            let replaced = IdKey::of(&replaced);
            if self.known(replaced).is_some_and(|fact| Some(fact.chain) == own) {
                self.remove(replaced);
            }
        }
    }

    fn supersede(&mut self, key: IdKey, event: &Event<'_>, place: Place) -> bool {
        let Some(by) = event.members.id("by_fact_id").map(|id| IdKey::of(&id)) else { return false };
        let tenant = self.known(by).map(|fact| fact.tenant);
        let holds = self.known(key).is_some_and(|fact| Some(fact.tenant) == tenant);
        if holds {
            self.change(key, |fact| fact.superseded_by = by.tag());
            self.note(key, |events| events.supersession = place);
        }
        holds
    }

    fn consolidate(&mut self, event: &Event<'_>, place: Span, line: Place) -> bool {
        let fact = &event.record;
        let Some(id) = fact.id("fact_id") else { return false };
        let key = IdKey::of(&id);
        let ids = event.members.texts("superseded_fact_ids");
        let tenant = IdKey::of(&tenant_of(fact)).tag();
        let mut eligible = |id: &Cow<'_, str>| {
            let fact = self.known(IdKey::of(id));
            !id.is_empty() && fact.is_some_and(|f| f.live && f.tenant == tenant && f.superseded_by == 0)
        };
        if ids.is_empty() || !ids.iter().all(&mut eligible) || self.known(key).is_some() {
            return false;
        }
        let sources = sorted(&ids);
        let supersedes = fact.id("supersedes").map(|id| IdKey::of(&id));
        let whole = sources.len() == ids.len()
            && supersedes.is_none_or(|s| sources.binary_search(&s).is_ok())
            && fact.flag("deleted") != Some(true);
        if !whole || !self.store(fact, place) {
            return false;
        }
        self.bind(&sources, key, line);
        // The event names all of them: each looks into the one document instead.
        sources.iter().for_each(|source| self.note(*source, |events| events.supersession = Place::of(place)));
        true
    }

    fn provenance(&mut self, event: &Event<'_>, line: Place) -> bool {
        let Some(canonical) = event.members.id("canonical_fact_id").map(|id| IdKey::of(&id)) else { return false };
        let sources = sorted(&event.members.texts("source_fact_ids"));
        let mut edge = |source: &IdKey| self.known(*source).is_some_and(|f| f.superseded_by == canonical.tag());
        if sources.is_empty() || !sources.iter().all(&mut edge) || self.known(canonical).is_none() {
            return false;
        }
        self.bind(&sources, canonical, line);
        true
    }

    fn undo(&mut self, event: &Event<'_>, line: Place) -> bool {
        let Some(canonical) = event.members.id("canonical_fact_id").map(|id| IdKey::of(&id)) else { return false };
        let restored = sorted(&event.members.texts("restored_fact_ids"));
        if self.sources(canonical) != Some(hash(&restored)) {
            return false;
        }
        self.live.remove(canonical.beside(SOURCES));
        for source in &restored {
            self.change(*source, |fact| {
                fact.superseded_by = 0;
                fact.bound = false;
            });
        }
        self.delete(canonical, line);
        true
    }
}

/// A hash of keys that are sorted, in words that are not all zero.
fn hash(keys: &[IdKey]) -> [u64; 3] {
    let mut hasher = blake3::Hasher::new();
    for word in keys.iter().flat_map(|key| key.words()) {
        hasher.update(&word.to_le_bytes());
    }
    let word = |at: usize| hasher.finalize().as_bytes()[at..].first_chunk().map_or(0, |b| u64::from_le_bytes(*b));
    [word(0), word(8), 1]
}

/// The keys of ids, sorted, each once.
fn sorted(ids: &[Cow<'_, str>]) -> Vec<IdKey> {
    let mut keys: Vec<IdKey> = ids.iter().map(|id| IdKey::of(id)).collect();
    keys.sort_unstable();
    keys.dedup();
    keys
}

fn chain_in(fact: &Members<'_>) -> Option<IdKey> {
    Some(chain(&tenant_of(fact), &fact.text("entity")?, &fact.text("key")?))
}

/// The key of a fact's chain.
#[must_use]
pub fn chain_of(fact: &Fact<'_>) -> IdKey {
    chain(&fact.tenant, &fact.entity, &fact.key)
}

/// The key of a chain of versions.
#[must_use]
pub fn chain(tenant: &str, entity: &str, key: &str) -> IdKey {
    IdKey::of_parts(&[tenant, entity, key])
}

/// Takes the next record.
pub(super) fn replay(live: &mut Live, record: &Record<'_>) {
    let event = record.event;
    let place =
        |range: Range<usize>| Span { offset: record.span.offset + range.start as u64, len: range.len() as u64 };
    let one = event.members.range(if event.op.name == "consolidate" { "canonical" } else { "fact" });
    let one = one.map(place).unwrap_or_default();
    let named = event.members.id("fact_id").or_else(|| event.members.id("canonical_fact_id"));
    let id = named.or_else(|| event.record.id("fact_id")).unwrap_or_default();
    let (key, line) = (IdKey::of(&id), Place::of(record.span));
    let known = "store of a fact id that is known already";
    let mut facts = Facts { live };
    let skipped = match event.op.name {
        "store" => (!facts.store(&event.record, one)).then_some(known),
        "store_batch" => {
            for (range, fact) in event.members.records("facts") {
                if !facts.store(&fact, place(range)) {
                    let id = fact.id("fact_id").unwrap_or_default();
                    facts.live.skip(record.line, known, &id);
                }
            }
            None
        }
        "replace_latest" => {
            facts.replace_latest(event);
            (!facts.store(&event.record, one)).then_some(known)
        }
        "delete" if facts.is_source(key) => Some("delete of a source of an active consolidation"),
        "delete" if facts.sources(key).is_some() => Some("delete of a consolidated fact with recorded sources"),
        "delete" => {
            facts.delete(key, line);
            None
        }
        "supersede" | "clear_supersede" if facts.is_source(key) => {
            Some("supersession of a source of an active consolidation")
        }
        "supersede" => (!facts.supersede(key, event, line)).then_some("supersede across tenants or of absent facts"),
        "clear_supersede" => {
            facts.change(key, |fact| fact.superseded_by = 0);
            None
        }
        "set_validity" => {
            if facts.known(key).is_some() {
                facts.note(key, |events| events.validity = line);
            }
            None
        }
        "consolidate" => (!facts.consolidate(event, one, line)).then_some("consolidation that does not hold"),
        "consolidation_provenance" => {
            (!facts.provenance(event, line)).then_some("consolidation provenance without its edges")
        }
        "consolidate_undo" => {
            (!facts.undo(event, line)).then_some("undo of something else than the recorded consolidation")
        }
        _ => None,
    };
    if let Some(what) = skipped {
        live.skip(record.line, what, &id);
    }
}
