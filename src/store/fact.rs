//! `facts.jsonl`: what agents know. The first record of an id wins, a delete is soft, and consolidations bind facts
//! to each other.

use std::borrow::Cow;
use std::ops::Range;

use crate::journal::Journal;
use crate::journal::finding::Span;
use crate::journal::live::{IdKey, Live, Place, Row, Rule};
use crate::journal::read;
use crate::journal::scan::Record;
use crate::journal::shape::{Daemon, Event, Member, Members, Need, Op, Shape, Type};

const fn required(name: &'static str, ty: Type) -> Member {
    Member { name, ty, need: Need::Required }
}

const fn optional(name: &'static str, ty: Type) -> Member {
    Member { name, ty, need: Need::Optional }
}

const fn default(name: &'static str, ty: Type) -> Member {
    Member { name, ty, need: Need::Default }
}

/// The members of a fact, in the daemon's order.
pub const FACT: &[Member] = &[
    required("fact_id", Type::Text),
    default("tenant_hash", Type::Text),
    required("entity", Type::Text),
    required("key", Type::Text),
    required("value", Type::Text),
    optional("source_receipt", Type::Text),
    required("confidence", Type::Number),
    required("stored_at", Type::Time),
    required("tokens", Type::Natural(u64::MAX)),
    required("deleted", Type::Bool),
    default("version", Type::Natural(u64::MAX)),
    optional("supersedes", Type::Text),
    default("private", Type::Bool),
    default("horizon_class", Type::Choice(&["volatile", "medium", "stable", "none"])),
    optional("reverified_at", Type::Time),
    optional("superseded_by", Type::Text),
    optional("actor", Type::Text),
    optional("valid_from", Type::Time),
    optional("valid_to", Type::Time),
    default("access_count", Type::Natural(u64::MAX)),
    optional("last_accessed_at", Type::Time),
];

static SHAPE: Shape = Shape {
    ops: &[
        Op { name: "store", id: "fact_id", members: &[required("fact", Type::Record(FACT))] },
        Op { name: "store_batch", id: "fact_id", members: &[required("facts", Type::Records(FACT))] },
        Op {
            name: "replace_latest",
            id: "fact_id",
            members: &[required("fact", Type::Record(FACT)), required("replaced_fact_ids", Type::Texts)],
        },
        Op {
            name: "delete",
            id: "fact_id",
            members: &[required("fact_id", Type::Text), required("deleted_at", Type::Text)],
        },
        Op {
            name: "supersede",
            id: "fact_id",
            members: &[
                required("fact_id", Type::Text),
                required("by_fact_id", Type::Text),
                required("superseded_at", Type::Text),
            ],
        },
        Op {
            name: "clear_supersede",
            id: "fact_id",
            members: &[required("fact_id", Type::Text), required("cleared_at", Type::Text)],
        },
        Op {
            name: "set_validity",
            id: "fact_id",
            members: &[
                required("fact_id", Type::Text),
                optional("valid_from", Type::Time),
                optional("valid_to", Type::Time),
                required("set_at", Type::Text),
            ],
        },
        Op {
            name: "consolidate",
            id: "fact_id",
            members: &[
                required("canonical", Type::Record(FACT)),
                required("superseded_fact_ids", Type::Texts),
                required("consolidated_at", Type::Text),
            ],
        },
        Op {
            name: "consolidation_provenance",
            id: "canonical_fact_id",
            members: &[
                required("canonical_fact_id", Type::Text),
                required("source_fact_ids", Type::Texts),
                required("tenant_hash", Type::Text),
                required("recorded_at", Type::Text),
            ],
        },
        Op {
            name: "consolidate_undo",
            id: "canonical_fact_id",
            members: &[
                required("canonical_fact_id", Type::Text),
                required("restored_fact_ids", Type::Texts),
                required("undone_at", Type::Text),
            ],
        },
    ],
    daemon: Some(Daemon {
        trims_unicode: false,
        stops_at_bad_utf8: false,
        moves_tail_aside: true,
        longest_line: Some(64 << 20),
        skips_long: is_scan_record,
    }),
};

/// The journal of facts.
pub static JOURNAL: Journal =
    Journal { name: "facts", file: "facts.jsonl", shape: &SHAPE, rule: Rule::Own(replay), id_of };

/// Entities whose facts with the key `content` replace each other.
const LATEST_ONLY: [&str; 3] = ["__repo_registry__::", "__repo_scan__::", "__workspace_scan__::"];

/// Whether a line above the length limit is one of those that the daemon skips instead of refusing to start.
fn is_scan_record(event: &Event<'_>) -> bool {
    event.op.name == "store" && is_latest_only(&event.record)
}

fn is_latest_only(fact: &Members<'_>) -> bool {
    fact.text("key").is_some_and(|key| key == "content")
        && fact.text("entity").is_some_and(|entity| LATEST_ONLY.iter().any(|prefix| entity.starts_with(prefix)))
}

/// What is kept of a fact: its place, whether it is live (not deleted), whether it is bound (a source of an active
/// consolidation), and tags.
#[derive(Clone, Copy, Debug)]
struct Known {
    place: Place,
    live: bool,
    bound: bool,
    /// Of the tenant.
    tenant: u64,
    /// Of tenant, entity and key.
    chain: u64,
    /// Of the fact that supersedes it; 0: none.
    superseded_by: u64,
}

impl Known {
    fn of(live: &mut Live, key: IdKey) -> Option<Known> {
        let Row { place, live, mark, more: [tenant, chain, superseded_by] } = live.row(key)?;
        Some(Known { place, live, bound: mark, tenant, chain, superseded_by })
    }

    fn keep(self, live: &mut Live, key: IdKey) {
        let more = [self.tenant, self.chain, self.superseded_by];
        live.set(key, Row { place: self.place, live: self.live, mark: self.bound, more });
    }
}

/// Beside a canonical fact: a hash of its recorded sources.
const SOURCES: u64 = 1;

/// Every fact that the journal knows, live and deleted, by the daemon's rules. Beside the facts there is a row for each
/// latest-only chain, with the key of its fact, and one for each canonical fact with recorded sources.
struct Facts<'l> {
    live: &'l mut Live,
}

impl Facts<'_> {
    fn known(&mut self, key: IdKey) -> Option<Known> {
        Known::of(self.live, key)
    }

    fn change(&mut self, key: IdKey, change: impl FnOnce(&mut Known)) {
        if let Some(mut fact) = self.known(key) {
            change(&mut fact);
            fact.keep(self.live, key);
        }
    }

    fn is_source(&mut self, key: IdKey) -> bool {
        self.known(key).is_some_and(|fact| fact.bound)
    }

    fn sources(&mut self, canonical: IdKey) -> Option<[u64; 3]> {
        self.live.row(canonical.beside(SOURCES)).map(|row| row.more)
    }

    /// Binds sources to the fact that stands for them, and records that it does.
    fn bind(&mut self, sources: &[IdKey], canonical: IdKey) {
        for source in sources {
            self.change(*source, |fact| {
                fact.superseded_by = canonical.tag();
                fact.bound = true;
            });
        }
        self.live.set(canonical.beside(SOURCES), Row { more: hash(sources), ..Row::default() });
    }

    fn delete(&mut self, key: IdKey) {
        self.change(key, |fact| fact.live = false);
    }

    /// Stores a fact; `false` when its id is known already.
    fn store(&mut self, fact: &Members<'_>, place: Span) -> bool {
        let (Some(id), Some(chain)) = (fact.id("fact_id"), chain(fact)) else { return false };
        let key = IdKey::of(&id);
        if self.known(key).is_some() {
            return false;
        }
        if is_latest_only(fact) {
            let [a, b] = key.words();
            let before = self.live.row(chain);
            self.live.set(chain, Row { more: [a, b, 1], ..Row::default() });
            if let Some(Row { more: [a, b, _], .. }) = before {
                self.live.remove(IdKey::from_words([a, b]));
            }
        }
        let known = Known {
            place: Place::of(place),
            live: fact.flag("deleted") != Some(true),
            bound: false,
            tenant: tenant(fact),
            chain: chain.tag(),
            superseded_by: fact.id("superseded_by").map_or(0, |by| IdKey::of(&by).tag()),
        };
        known.keep(self.live, key);
        true
    }

    fn replace_latest(&mut self, event: &Event<'_>) {
        let own = chain(&event.record).map(IdKey::tag);
        for replaced in event.members.texts("replaced_fact_ids") {
            let replaced = IdKey::of(&replaced);
            if self.known(replaced).is_some_and(|fact| Some(fact.chain) == own) {
                self.live.remove(replaced);
            }
        }
    }

    fn supersede(&mut self, key: IdKey, event: &Event<'_>) -> bool {
        let Some(by) = event.members.id("by_fact_id").map(|id| IdKey::of(&id)) else { return false };
        let tenant = self.known(by).map(|fact| fact.tenant);
        let holds = self.known(key).is_some_and(|fact| Some(fact.tenant) == tenant);
        if holds {
            self.change(key, |fact| fact.superseded_by = by.tag());
        }
        holds
    }

    fn consolidate(&mut self, event: &Event<'_>, place: Span) -> bool {
        let fact = &event.record;
        let Some(id) = fact.id("fact_id") else { return false };
        let key = IdKey::of(&id);
        let ids = event.members.texts("superseded_fact_ids");
        let tenant = tenant(fact);
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
        self.bind(&sources, key);
        true
    }

    fn provenance(&mut self, event: &Event<'_>) -> bool {
        let Some(canonical) = event.members.id("canonical_fact_id").map(|id| IdKey::of(&id)) else { return false };
        let sources = sorted(&event.members.texts("source_fact_ids"));
        let mut edge = |source: &IdKey| self.known(*source).is_some_and(|f| f.superseded_by == canonical.tag());
        if sources.is_empty() || !sources.iter().all(&mut edge) || self.known(canonical).is_none() {
            return false;
        }
        self.bind(&sources, canonical);
        true
    }

    fn undo(&mut self, event: &Event<'_>) -> bool {
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
        self.delete(canonical);
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

/// The id of a fact's own text.
#[must_use]
pub fn id_of(fact: &[u8]) -> Option<String> {
    let members = read::read_record(FACT, fact)?;
    members.id("fact_id").map(Cow::into_owned)
}

fn tenant_text<'a>(fact: &Members<'a>) -> Cow<'a, str> {
    // A blank tenant is the default one.
    fact.text("tenant_hash").filter(|t| !t.trim().is_empty()).unwrap_or("default".into())
}

fn chain(fact: &Members<'_>) -> Option<IdKey> {
    Some(IdKey::of_parts(&[&tenant_text(fact), &fact.text("entity")?, &fact.text("key")?]))
}

/// The tag of a fact's tenant.
fn tenant(fact: &Members<'_>) -> u64 {
    IdKey::of(&tenant_text(fact)).tag()
}

/// Takes the next record by the daemon's rules.
fn replay(live: &mut Live, record: &Record<'_>) {
    let event = record.event;
    let place =
        |range: Range<usize>| Span { offset: record.span.offset + range.start as u64, len: range.len() as u64 };
    let one = event.members.range(if event.op.name == "consolidate" { "canonical" } else { "fact" });
    let one = one.map(place).unwrap_or_default();
    let named = event.members.id("fact_id").or_else(|| event.members.id("canonical_fact_id"));
    let id = named.or_else(|| event.record.id("fact_id")).unwrap_or_default();
    let key = IdKey::of(&id);
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
            facts.delete(key);
            None
        }
        "supersede" | "clear_supersede" if facts.is_source(key) => {
            Some("supersession of a source of an active consolidation")
        }
        "supersede" => (!facts.supersede(key, event)).then_some("supersede across tenants or of absent facts"),
        "clear_supersede" => {
            facts.change(key, |fact| fact.superseded_by = 0);
            None
        }
        "consolidate" => (!facts.consolidate(event, one)).then_some("consolidation that does not hold"),
        "consolidation_provenance" => {
            (!facts.provenance(event)).then_some("consolidation provenance without its edges")
        }
        "consolidate_undo" => {
            (!facts.undo(event)).then_some("undo of something else than the recorded consolidation")
        }
        _ => None,
    };
    if let Some(what) = skipped {
        live.skip(record.line, what, &id);
    }
}
