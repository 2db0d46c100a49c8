//! `facts.jsonl`: what agents know. The first record of an id wins, a delete is soft, and consolidations bind facts
//! to each other.

use std::borrow::Cow;
use std::collections::HashMap;
use std::ops::Range;

use crate::journal::finding::Span;
use crate::journal::live::{IdKey, KeyMap, Place};
use crate::journal::read;
use crate::journal::scan::Record;
use crate::journal::shape::{Daemon, Event, Member, Members, Need, Op, Shape, Type};
use crate::journal::{Journal, Replay};

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
    daemon: Daemon {
        trims_unicode: false,
        stops_at_bad_utf8: false,
        moves_tail_aside: true,
        longest_line: Some(64 << 20),
        skips_long: is_scan_record,
    },
};

/// The journal of facts.
pub static JOURNAL: Journal = Journal {
    name: "facts",
    file: "facts.jsonl",
    shape: &SHAPE,
    replay: || Box::new(Facts::default()),
    last_wins: false,
};

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

/// What replay keeps of a fact: 40 bytes.
#[derive(Clone, Copy, Debug)]
struct Known {
    place: Place,
    /// Position of the tenant in [`Facts::tenants`].
    tenant: u32,
    /// Tag of tenant, entity and key.
    chain: u64,
    /// Tag of the fact that supersedes it; 0: none.
    superseded_by: u64,
    deleted: bool,
    /// A source of an active consolidation.
    bound: bool,
}

/// Every fact that the journal knows, live and deleted, by the daemon's rules.
#[derive(Default)]
pub struct Facts {
    known: KeyMap<Known>,
    /// The tenants that were seen, by the tag of their name.
    tenants: HashMap<u64, u32>,
    /// For each latest-only chain, its fact.
    latest: KeyMap<IdKey>,
    /// For each canonical fact with recorded sources, these, sorted.
    sources: KeyMap<Vec<IdKey>>,
    bytes: u64,
    skipped: Vec<String>,
    skips: u64,
}

/// How many skipped events are told one by one.
const TOLD: usize = 20;

impl Facts {
    fn skip(&mut self, line: u64, what: &str, id: &str) {
        self.skips += 1;
        if self.skipped.len() < TOLD {
            self.skipped.push(format!("line {line}: {what} ({id})"));
        }
    }

    fn is_source(&self, key: IdKey) -> bool {
        self.known.get(&key).is_some_and(|fact| fact.bound)
    }

    fn tenant(&mut self, fact: &Members<'_>) -> u32 {
        let next = u32::try_from(self.tenants.len()).unwrap_or(u32::MAX);
        *self.tenants.entry(IdKey::of(&tenant_text(fact)).tag()).or_insert(next)
    }

    /// Binds sources to the fact that stands for them, or frees them.
    fn bind(&mut self, sources: &[IdKey], canonical: Option<IdKey>) {
        for source in sources {
            if let Some(fact) = self.known.get_mut(source) {
                fact.superseded_by = canonical.map_or(0, IdKey::tag);
                fact.bound = canonical.is_some();
            }
        }
    }

    fn is_live(&self, key: IdKey) -> bool {
        self.known.get(&key).is_some_and(|fact| !fact.deleted)
    }

    fn remove(&mut self, key: IdKey) {
        if let Some(fact) = self.known.remove(&key)
            && !fact.deleted
        {
            self.bytes -= fact.place.span().len;
        }
    }

    fn delete(&mut self, key: IdKey) {
        if let Some(fact) = self.known.get_mut(&key)
            && !fact.deleted
        {
            fact.deleted = true;
            self.bytes -= fact.place.span().len;
        }
    }

    /// Stores a fact; `false` when its id is known already.
    fn store(&mut self, fact: &Members<'_>, place: Span) -> bool {
        let (Some(id), Some(chain)) = (fact.id("fact_id"), chain(fact)) else { return false };
        let key = IdKey::of(&id);
        if self.known.contains_key(&key) {
            return false;
        }
        if is_latest_only(fact)
            && let Some(before) = self.latest.insert(chain, key)
        {
            self.remove(before);
        }
        let deleted = fact.flag("deleted") == Some(true);
        if !deleted {
            self.bytes += place.len;
        }
        let superseded_by = fact.id("superseded_by").map_or(0, |by| IdKey::of(&by).tag());
        let (place, tenant, chain) = (Place::of(place), self.tenant(fact), chain.tag());
        self.known.insert(key, Known { place, tenant, chain, superseded_by, deleted, bound: false });
        true
    }

    fn replace_latest(&mut self, event: &Event<'_>) {
        let own = chain(&event.record).map(IdKey::tag);
        for replaced in event.members.texts("replaced_fact_ids") {
            let replaced = IdKey::of(&replaced);
            if self.known.get(&replaced).is_some_and(|fact| Some(fact.chain) == own) {
                self.remove(replaced);
            }
        }
    }

    fn supersede(&mut self, key: IdKey, event: &Event<'_>) -> bool {
        let Some(by) = event.members.id("by_fact_id").map(|id| IdKey::of(&id)) else { return false };
        let tenant = self.known.get(&by).map(|fact| fact.tenant);
        match self.known.get_mut(&key) {
            Some(fact) if Some(fact.tenant) == tenant => {
                fact.superseded_by = by.tag();
                true
            }
            _ => false,
        }
    }

    fn consolidate(&mut self, event: &Event<'_>, place: Span) -> bool {
        let fact = &event.record;
        let Some(id) = fact.id("fact_id") else { return false };
        let key = IdKey::of(&id);
        let ids = event.members.texts("superseded_fact_ids");
        let tenant = self.tenant(fact);
        let eligible = |id: &Cow<'_, str>| {
            let fact = self.known.get(&IdKey::of(id));
            !id.is_empty() && fact.is_some_and(|f| !f.deleted && f.tenant == tenant && f.superseded_by == 0)
        };
        if ids.is_empty() || self.known.contains_key(&key) || !ids.iter().all(eligible) {
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
        self.bind(&sources, Some(key));
        self.sources.insert(key, sources);
        true
    }

    fn provenance(&mut self, event: &Event<'_>) -> bool {
        let Some(canonical) = event.members.id("canonical_fact_id").map(|id| IdKey::of(&id)) else { return false };
        let sources = sorted(&event.members.texts("source_fact_ids"));
        let edge = |source: &IdKey| self.known.get(source).is_some_and(|f| f.superseded_by == canonical.tag());
        if sources.is_empty() || !self.known.contains_key(&canonical) || !sources.iter().all(edge) {
            return false;
        }
        self.bind(&sources, Some(canonical));
        self.sources.insert(canonical, sources);
        true
    }

    fn undo(&mut self, event: &Event<'_>) -> bool {
        let Some(canonical) = event.members.id("canonical_fact_id").map(|id| IdKey::of(&id)) else { return false };
        let restored = sorted(&event.members.texts("restored_fact_ids"));
        if self.sources.get(&canonical) != Some(&restored) {
            return false;
        }
        self.sources.remove(&canonical);
        self.bind(&restored, None);
        self.delete(canonical);
        true
    }
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

impl Replay for Facts {
    fn record(&mut self, record: &Record<'_>) {
        let event = record.event;
        let place =
            |range: Range<usize>| Span { offset: record.span.offset + range.start as u64, len: range.len() as u64 };
        let one = event.members.range(if event.op.name == "consolidate" { "canonical" } else { "fact" });
        let one = one.map(place).unwrap_or_default();
        let named = event.members.id("fact_id").or_else(|| event.members.id("canonical_fact_id"));
        let id = named.or_else(|| event.record.id("fact_id")).unwrap_or_default();
        let key = IdKey::of(&id);
        let known = "store of a fact id that is known already";
        let skipped = match event.op.name {
            "store" => (!self.store(&event.record, one)).then_some(known),
            "store_batch" => {
                for (range, fact) in event.members.records("facts") {
                    if !self.store(&fact, place(range)) {
                        let id = fact.id("fact_id").unwrap_or_default();
                        self.skip(record.line, known, &id);
                    }
                }
                None
            }
            "replace_latest" => {
                self.replace_latest(event);
                (!self.store(&event.record, one)).then_some(known)
            }
            "delete" if self.is_source(key) => Some("delete of a source of an active consolidation"),
            "delete" if self.sources.contains_key(&key) => {
                Some("delete of a consolidated fact with recorded sources")
            }
            "delete" => {
                self.delete(key);
                None
            }
            "supersede" | "clear_supersede" if self.is_source(key) => {
                Some("supersession of a source of an active consolidation")
            }
            "supersede" => (!self.supersede(key, event)).then_some("supersede across tenants or of absent facts"),
            "clear_supersede" => {
                if let Some(fact) = self.known.get_mut(&key) {
                    fact.superseded_by = 0;
                }
                None
            }
            "consolidate" => (!self.consolidate(event, one)).then_some("consolidation that does not hold"),
            "consolidation_provenance" => {
                (!self.provenance(event)).then_some("consolidation provenance without its edges")
            }
            "consolidate_undo" => {
                (!self.undo(event)).then_some("undo of something else than the recorded consolidation")
            }
            _ => None,
        };
        if let Some(what) = skipped {
            self.skip(record.line, what, &id);
        }
    }

    fn live(&self) -> u64 {
        self.known.values().filter(|fact| !fact.deleted).count() as u64
    }

    fn live_bytes(&self) -> u64 {
        self.bytes
    }

    fn spans(&self) -> Vec<Span> {
        let live = self.known.iter().filter(|(key, _)| self.is_live(**key));
        let mut spans: Vec<Span> = live.map(|(_, fact)| fact.place.span()).collect();
        spans.sort_unstable_by_key(|span| span.offset);
        spans
    }

    fn notes(&self) -> Vec<String> {
        let mut notes: Vec<String> =
            self.skipped.iter().map(|note| format!("{note}: the daemon reads and ignores it")).collect();
        let rest = self.skips - self.skipped.len() as u64;
        if rest > 0 {
            notes.push(format!("and {rest} more events that the daemon reads and ignores"));
        }
        notes
    }
}
