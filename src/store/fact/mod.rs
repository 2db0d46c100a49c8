//! `facts.jsonl`: what agents know. The first record of an id wins, a delete is soft, and consolidations bind facts
//! to each other.
//!
//! The format is here; [`document`] is one fact, [`events`] the lines that are written, [`rules`] how the records add
//! up, [`current`] a fact with what later events have made of it, [`versions`] the next of a chain, [`compact`] what a
//! compaction leaves, and [`privacy`] whose eyes see a fact.

pub mod compact;
pub mod current;
pub mod document;
pub mod events;
pub mod privacy;
pub mod rules;
pub mod versions;

use std::borrow::Cow;

use crate::journal::Journal;
use crate::journal::live::Rule;
use crate::journal::read;
use crate::journal::shape::{Daemon, Event, Member, Members, Op, Shape, Type};

/// How long facts are expected to hold.
pub const HORIZONS: [&str; 4] = ["volatile", "medium", "stable", "none"];

/// The members of a fact, in the daemon's order.
pub const FACT: &[Member] = &[
    Member::required("fact_id", Type::Text),
    Member::default("tenant_hash", Type::Text),
    Member::required("entity", Type::Text),
    Member::required("key", Type::Text),
    Member::required("value", Type::Text),
    Member::optional("source_receipt", Type::Text),
    Member::required("confidence", Type::Number),
    Member::required("stored_at", Type::Time),
    Member::required("tokens", Type::Natural(u64::MAX)),
    Member::required("deleted", Type::Bool),
    Member::default("version", Type::Natural(u64::MAX)),
    Member::optional("supersedes", Type::Text),
    Member::default("private", Type::Bool),
    Member::default("horizon_class", Type::Choice(&HORIZONS)),
    Member::optional("reverified_at", Type::Time),
    Member::optional("superseded_by", Type::Text),
    Member::optional("actor", Type::Text),
    Member::optional("valid_from", Type::Time),
    Member::optional("valid_to", Type::Time),
    Member::default("access_count", Type::Natural(u64::MAX)),
    Member::optional("last_accessed_at", Type::Time),
];

static SHAPE: Shape = Shape {
    ops: &[
        Op { name: "store", id: "fact_id", members: &[Member::required("fact", Type::Record(FACT))] },
        Op { name: "store_batch", id: "fact_id", members: &[Member::required("facts", Type::Records(FACT))] },
        Op {
            name: "replace_latest",
            id: "fact_id",
            members: &[
                Member::required("fact", Type::Record(FACT)),
                Member::required("replaced_fact_ids", Type::Texts),
            ],
        },
        Op {
            name: "delete",
            id: "fact_id",
            members: &[Member::required("fact_id", Type::Text), Member::required("deleted_at", Type::Text)],
        },
        Op {
            name: "supersede",
            id: "fact_id",
            members: &[
                Member::required("fact_id", Type::Text),
                Member::required("by_fact_id", Type::Text),
                Member::required("superseded_at", Type::Text),
            ],
        },
        Op {
            name: "clear_supersede",
            id: "fact_id",
            members: &[Member::required("fact_id", Type::Text), Member::required("cleared_at", Type::Text)],
        },
        Op {
            name: "set_validity",
            id: "fact_id",
            members: &[
                Member::required("fact_id", Type::Text),
                Member::optional("valid_from", Type::Time),
                Member::optional("valid_to", Type::Time),
                Member::required("set_at", Type::Text),
            ],
        },
        Op {
            name: "consolidate",
            id: "fact_id",
            members: &[
                Member::required("canonical", Type::Record(FACT)),
                Member::required("superseded_fact_ids", Type::Texts),
                Member::required("consolidated_at", Type::Text),
            ],
        },
        Op {
            name: "consolidation_provenance",
            id: "canonical_fact_id",
            members: &[
                Member::required("canonical_fact_id", Type::Text),
                Member::required("source_fact_ids", Type::Texts),
                Member::required("tenant_hash", Type::Text),
                Member::required("recorded_at", Type::Text),
            ],
        },
        Op {
            name: "consolidate_undo",
            id: "canonical_fact_id",
            members: &[
                Member::required("canonical_fact_id", Type::Text),
                Member::required("restored_fact_ids", Type::Texts),
                Member::required("undone_at", Type::Text),
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
pub static JOURNAL: Journal = Journal {
    name: "facts",
    file: "facts.jsonl",
    shape: &SHAPE,
    rule: Rule::Own(rules::replay),
    id_of,
    compacts: Some(compact::rewrite),
    has_payloads: false,
};

/// The tenant of a fact that names none.
pub const DEFAULT_TENANT: &str = "default";

/// Entities whose facts with the key `content` replace each other.
const LATEST_ONLY: [&str; 3] = ["__repo_registry__::", "__repo_scan__::", "__workspace_scan__::"];

/// Whether a line above the length limit is one of those that the daemon skips instead of refusing to start.
fn is_scan_record(event: &Event<'_>) -> bool {
    event.op.name == "store" && is_latest_only(&event.record)
}

fn is_latest_only(fact: &Members<'_>) -> bool {
    fact.text("entity").zip(fact.text("key")).is_some_and(|(entity, key)| replaces_earlier(&entity, &key))
}

/// Whether a fact of this entity and key removes the earlier ones.
#[must_use]
pub fn replaces_earlier(entity: &str, key: &str) -> bool {
    key == "content" && LATEST_ONLY.iter().any(|prefix| entity.starts_with(prefix))
}

/// The id of a fact's own text.
#[must_use]
pub fn id_of(fact: &[u8]) -> Option<String> {
    let members = read::read_record(FACT, fact)?;
    members.id("fact_id").map(Cow::into_owned)
}

/// The tenant of this name: a blank one is the default one.
#[must_use]
pub fn tenant_named(name: &str) -> &str {
    if name.trim().is_empty() { DEFAULT_TENANT } else { name }
}

/// A fact's tenant.
fn tenant_of<'a>(fact: &Members<'a>) -> Cow<'a, str> {
    fact.text("tenant_hash").filter(|name| tenant_named(name) == name).unwrap_or(DEFAULT_TENANT.into())
}
