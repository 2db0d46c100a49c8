//! The lines of `facts.jsonl` that are written, each without its line end.

use std::borrow::Cow;

use chrono::{DateTime, Utc};
use serde::Serialize;

use super::document::Fact;
use crate::store::time_text;

/// A moment as the daemon stamps events.
fn stamp(at: DateTime<Utc>) -> String {
    at.to_rfc3339()
}

fn line(event: &impl Serialize) -> Vec<u8> {
    // It cannot fail: events are structs of texts.
    serde_json::to_vec(event).unwrap_or_default()
}

/// A fact is stored.
#[must_use]
pub fn store(fact: &Fact<'_>) -> Vec<u8> {
    store_document(&fact.document())
}

/// A document is stored as it is.
#[must_use]
pub fn store_document(document: &[u8]) -> Vec<u8> {
    [b"{\"op\":\"store\",\"fact\":", document, b"}"].concat()
}

/// Another fact takes a fact's place.
#[must_use]
pub fn supersede(id: &str, by: &str, at: DateTime<Utc>) -> Vec<u8> {
    #[derive(Serialize)]
    struct Event<'a> {
        op: &'static str,
        fact_id: &'a str,
        by_fact_id: &'a str,
        superseded_at: String,
    }
    line(&Event { op: "supersede", fact_id: id, by_fact_id: by, superseded_at: stamp(at) })
}

/// No fact takes a fact's place any more.
#[must_use]
pub fn clear_supersede(id: &str, at: DateTime<Utc>) -> Vec<u8> {
    #[derive(Serialize)]
    struct Event<'a> {
        op: &'static str,
        fact_id: &'a str,
        cleared_at: String,
    }
    line(&Event { op: "clear_supersede", fact_id: id, cleared_at: stamp(at) })
}

/// A fact is deleted.
#[must_use]
pub fn delete(id: &str, at: &str) -> Vec<u8> {
    #[derive(Serialize)]
    struct Event<'a> {
        op: &'static str,
        fact_id: &'a str,
        deleted_at: &'a str,
    }
    line(&Event { op: "delete", fact_id: id, deleted_at: at })
}

/// A fact is deleted now.
#[must_use]
pub fn delete_at(id: &str, at: DateTime<Utc>) -> Vec<u8> {
    delete(id, &stamp(at))
}

/// A fact holds between these times; one that is absent is no border.
#[must_use]
pub fn set_validity(id: &str, from: Option<DateTime<Utc>>, to: Option<DateTime<Utc>>, at: DateTime<Utc>) -> Vec<u8> {
    #[derive(Serialize)]
    struct Event<'a> {
        op: &'static str,
        fact_id: &'a str,
        #[serde(skip_serializing_if = "Option::is_none")]
        valid_from: Option<String>,
        #[serde(skip_serializing_if = "Option::is_none")]
        valid_to: Option<String>,
        set_at: String,
    }
    line(&Event {
        op: "set_validity",
        fact_id: id,
        valid_from: from.map(time_text),
        valid_to: to.map(time_text),
        set_at: stamp(at),
    })
}

/// One fact stands for others.
#[must_use]
pub fn provenance(canonical: &str, sources: &[Cow<'_, str>], tenant: &str, at: &str) -> Vec<u8> {
    #[derive(Serialize)]
    struct Event<'a> {
        op: &'static str,
        canonical_fact_id: &'a str,
        source_fact_ids: &'a [Cow<'a, str>],
        tenant_hash: &'a str,
        recorded_at: &'a str,
    }
    line(&Event {
        op: "consolidation_provenance",
        canonical_fact_id: canonical,
        source_fact_ids: sources,
        tenant_hash: tenant,
        recorded_at: at,
    })
}
