//! One fact as a document: read from the journal's text, and written in the daemon's order.

use std::borrow::Cow;

use chrono::{DateTime, Utc};
use serde::Serialize;
use serde_json::value::RawValue;

use super::{FACT, tenant_of};
use crate::journal::read;
use crate::store::{is_exact, others, time_text};

/// A fact. Texts are the journal's.
#[derive(Clone, Debug)]
pub struct Fact<'a> {
    /// The id.
    pub id: Cow<'a, str>,
    /// Whose it is; a blank tenant is the default one.
    pub tenant: Cow<'a, str>,
    /// What it is about, as it is stored.
    pub entity: Cow<'a, str>,
    /// Which of the entity's facts.
    pub key: Cow<'a, str>,
    /// What is known.
    pub value: Cow<'a, str>,
    /// The receipt of the run it came from.
    pub source_receipt: Option<Cow<'a, str>>,
    /// How sure it is, as the number is written.
    pub confidence: Cow<'a, str>,
    /// When it was stored.
    pub stored_at: DateTime<Utc>,
    /// The recorded token estimate of the value.
    pub tokens: u64,
    /// Whether it was deleted.
    pub deleted: bool,
    /// Its place among the versions of tenant, entity and key, from 1.
    pub version: u64,
    /// The version before it.
    pub supersedes: Option<Cow<'a, str>>,
    /// Whether it is private, as the document says; born-private entities are whatever it says.
    pub private: bool,
    /// How long it is expected to hold: one of [`super::HORIZONS`].
    pub horizon: Cow<'a, str>,
    /// When it was last found to hold.
    pub reverified_at: Option<DateTime<Utc>>,
    /// The fact that took its place.
    pub superseded_by: Option<Cow<'a, str>>,
    /// Who stored it.
    pub actor: Option<Cow<'a, str>>,
    /// Since when it holds.
    pub valid_from: Option<DateTime<Utc>>,
    /// Until when it holds.
    pub valid_to: Option<DateTime<Utc>>,
    /// How often it was asked for.
    pub access_count: u64,
    /// When it was last asked for.
    pub last_accessed_at: Option<DateTime<Utc>>,
    /// The document that it was read from, with whatever other versions have added; empty where it is new.
    pub source: &'a [u8],
}

impl<'a> Fact<'a> {
    /// Reads a fact's document; `None` where it is none.
    #[must_use]
    pub fn read(document: &'a [u8]) -> Option<Fact<'a>> {
        let doc = read::read_record(FACT, document)?;
        let time = |name| doc.time(name).map(|time| time.to_utc());
        Some(Fact {
            id: doc.id("fact_id")?,
            tenant: tenant_of(&doc),
            entity: doc.text("entity")?,
            key: doc.text("key")?,
            value: doc.text("value")?,
            source_receipt: doc.text("source_receipt"),
            confidence: std::str::from_utf8(doc.raw("confidence")?).ok()?.into(),
            stored_at: time("stored_at")?,
            tokens: doc.natural("tokens")?,
            deleted: doc.flag("deleted")?,
            version: doc.natural("version").unwrap_or(1),
            supersedes: doc.id("supersedes"),
            private: doc.flag("private").unwrap_or(false),
            horizon: doc.text("horizon_class").unwrap_or("none".into()),
            reverified_at: time("reverified_at"),
            superseded_by: doc.id("superseded_by"),
            actor: doc.text("actor"),
            valid_from: time("valid_from"),
            valid_to: time("valid_to"),
            access_count: doc.natural("access_count").unwrap_or(0),
            last_accessed_at: time("last_accessed_at"),
            source: document,
        })
    }

    /// Whether its texts can be written again as they are: half of a surrogate pair cannot.
    #[must_use]
    pub fn is_exact(&self) -> bool {
        read::read_record(FACT, self.source).is_none_or(|doc| TEXTS.iter().all(|name| is_exact(&doc, name)))
    }

    /// How sure it is, as the daemon holds it: a 32-bit float. Beyond its range it is infinite.
    #[must_use]
    pub fn sureness(&self) -> f32 {
        self.confidence.parse().unwrap_or(f32::NAN)
    }

    /// The document: the daemon's members in the daemon's order, then what other versions have added.
    #[must_use]
    pub fn document(&self) -> Vec<u8> {
        let confidence = RawValue::from_string(self.confidence.clone().into_owned());
        let written = Written {
            fact_id: &self.id,
            tenant_hash: &self.tenant,
            entity: &self.entity,
            key: &self.key,
            value: &self.value,
            source_receipt: self.source_receipt.as_deref(),
            confidence: confidence.unwrap_or_else(|_| RawValue::NULL.to_owned()),
            stored_at: time_text(self.stored_at),
            tokens: self.tokens,
            deleted: self.deleted,
            version: self.version,
            supersedes: self.supersedes.as_deref(),
            private: self.private,
            horizon_class: &self.horizon,
            reverified_at: self.reverified_at.map(time_text),
            superseded_by: self.superseded_by.as_deref(),
            actor: self.actor.as_deref(),
            valid_from: self.valid_from.map(time_text),
            valid_to: self.valid_to.map(time_text),
            access_count: self.access_count,
            last_accessed_at: self.last_accessed_at.map(time_text),
        };
        // It cannot fail: a struct of texts and numbers.
        let mut text = serde_json::to_vec(&written).unwrap_or_default();
        if let Some(doc) = read::read_record(FACT, self.source) {
            text.pop();
            text.extend_from_slice(others(&doc, self.source).as_bytes());
            text.push(b'}');
        }
        text
    }
}

/// The members that hold texts of others.
const TEXTS: [&str; 9] =
    ["fact_id", "tenant_hash", "entity", "key", "value", "source_receipt", "supersedes", "superseded_by", "actor"];

#[derive(Serialize)]
struct Written<'a> {
    fact_id: &'a str,
    tenant_hash: &'a str,
    entity: &'a str,
    key: &'a str,
    value: &'a str,
    source_receipt: Option<&'a str>,
    confidence: Box<RawValue>,
    stored_at: String,
    tokens: u64,
    deleted: bool,
    version: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    supersedes: Option<&'a str>,
    private: bool,
    horizon_class: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    reverified_at: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    superseded_by: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    actor: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    valid_from: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    valid_to: Option<String>,
    #[serde(skip_serializing_if = "is_zero")]
    access_count: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    last_accessed_at: Option<String>,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde hands out references")]
fn is_zero(number: &u64) -> bool {
    *number == 0
}

/// The daemon's token estimate of a value: a quarter of its bytes, rounded up.
#[must_use]
pub fn tokens(value: &str) -> u64 {
    (value.len() as u64).div_ceil(4)
}

/// A confidence as the daemon writes it; `None` where JSON has no such number, and the daemon would lose the fact.
#[must_use]
pub fn confidence_text(confidence: f32) -> Option<String> {
    serde_json::to_string(&confidence).ok().filter(|_| confidence.is_finite())
}
