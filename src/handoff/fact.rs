//! A fact in a package, with every member that a journal's fact has.

use std::borrow::Cow;

use chrono::{DateTime, Utc};
use serde::Deserialize;
use serde::de::{self, Deserializer};

/// How long a fact is likely to hold.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Horizon {
    /// Not for long.
    Volatile,
    /// For a while.
    Medium,
    /// For good.
    Stable,
    /// Nobody has said.
    #[default]
    None,
}

/// A fact as a package carries it. What may be missing on old lines has the daemon's default.
#[derive(Clone, Debug, Deserialize)]
pub struct Fact<'p> {
    /// The text it was read from, as it is written.
    #[serde(skip)]
    pub raw: &'p str,
    /// The id that it had where it comes from.
    #[serde(borrow)]
    pub fact_id: Cow<'p, str>,
    /// Whose it was.
    #[serde(borrow, default = "tenant")]
    pub tenant_hash: Cow<'p, str>,
    /// What it is about.
    #[serde(borrow)]
    pub entity: Cow<'p, str>,
    /// Which side of it.
    #[serde(borrow)]
    pub key: Cow<'p, str>,
    /// What is known.
    #[serde(borrow)]
    pub value: Cow<'p, str>,
    /// From which receipt.
    pub source_receipt: Option<Cow<'p, str>>,
    /// How surely; finite.
    #[serde(deserialize_with = "finite")]
    pub confidence: f32,
    /// Since when.
    #[serde(deserialize_with = "time")]
    pub stored_at: DateTime<Utc>,
    /// The token estimate of the value.
    pub tokens: u64,
    /// Whether it was deleted.
    pub deleted: bool,
    /// Its version there.
    #[serde(default = "first")]
    pub version: u64,
    /// The id that it replaced there.
    pub supersedes: Option<Cow<'p, str>>,
    /// Whether only one agent may see it.
    #[serde(default)]
    pub private: bool,
    /// How long it is likely to hold.
    #[serde(default)]
    pub horizon_class: Horizon,
    /// When somebody looked whether it still holds.
    #[serde(default, deserialize_with = "maybe_time")]
    pub reverified_at: Option<DateTime<Utc>>,
    /// The id that replaced it there.
    pub superseded_by: Option<Cow<'p, str>>,
    /// Who stored it.
    pub actor: Option<Cow<'p, str>>,
    /// From when on it holds.
    #[serde(default, deserialize_with = "maybe_time")]
    pub valid_from: Option<DateTime<Utc>>,
    /// Until when it holds.
    #[serde(default, deserialize_with = "maybe_time")]
    pub valid_to: Option<DateTime<Utc>>,
    /// How often it was read.
    #[serde(default)]
    pub access_count: u64,
    /// When it was last read.
    #[serde(default, deserialize_with = "maybe_time")]
    pub last_accessed_at: Option<DateTime<Utc>>,
}

impl<'p> Fact<'p> {
    /// Reads a fact's text; says why where it is none.
    pub fn read(raw: &'p str) -> Result<Fact<'p>, String> {
        if !raw.trim_ascii_start().starts_with('{') {
            return Err("it is no object".to_owned());
        }
        let fact: Fact<'p> = serde_json::from_str(raw).map_err(|error| error.to_string())?;
        Ok(Fact { raw, ..fact })
    }
}

fn tenant() -> Cow<'static, str> {
    Cow::Borrowed("default")
}

fn first() -> u64 {
    1
}

fn finite<'de, D: Deserializer<'de>>(reader: D) -> Result<f32, D::Error> {
    let number = f32::deserialize(reader)?;
    if number.is_finite() { Ok(number) } else { Err(de::Error::custom("no 32-bit float holds the confidence")) }
}

/// A time as chrono reads it in the daemon's typed members.
fn time<'de, D: Deserializer<'de>>(reader: D) -> Result<DateTime<Utc>, D::Error> {
    parsed(&String::deserialize(reader)?)
}

fn maybe_time<'de, D: Deserializer<'de>>(reader: D) -> Result<Option<DateTime<Utc>>, D::Error> {
    Option::<String>::deserialize(reader)?.as_deref().map(parsed).transpose()
}

fn parsed<E: de::Error>(text: &str) -> Result<DateTime<Utc>, E> {
    text.parse().map_err(|_| E::custom(format!("{} is no time", super::shown(text))))
}

#[cfg(test)]
mod tests {
    use super::*;

    const FACT: &str = r#"{"fact_id":"f_1","entity":"e","key":"k","value":"v\n","source_receipt":null,"confidence":0.95,"stored_at":"2026-03-01T11:11:09.945337158Z","tokens":7,"deleted":false}"#;

    #[test]
    fn what_may_be_missing_has_the_daemons_default() {
        let fact = Fact::read(FACT).unwrap();
        assert_eq!(
            (&*fact.tenant_hash, fact.version, fact.private, fact.horizon_class),
            ("default", 1, false, Horizon::None)
        );
        assert_eq!((&*fact.value, fact.confidence, fact.raw), ("v\n", 0.95, FACT));
        assert!(matches!(fact.entity, Cow::Borrowed("e")));
    }

    #[test]
    fn what_the_daemon_could_not_store_is_no_fact() {
        for (is, becomes) in [
            ("\"fact_id\":\"f_1\",", ""),
            ("\"v\\n\"", "1"),
            ("0.95", "1e39"),
            ("0.95", "null"),
            ("\"tokens\":7", "\"tokens\":-7"),
            ("\"tokens\":7", "\"tokens\":7.0"),
            ("false", "0"),
            ("2026-03-01T", "yesterday"),
            ("\"tokens\":7", "\"tokens\":7,\"horizon_class\":\"soon\""),
            ("\"tokens\":7", "\"tokens\":7,\"tenant_hash\":null"),
            ("\"tokens\":7", "\"tokens\":7,\"valid_to\":\"x\""),
        ] {
            assert!(FACT.contains(is) && Fact::read(&FACT.replace(is, becomes)).is_err(), "{is} {becomes}");
        }
        for fine in ["\"valid_to\":null", "\"private\":true", "\"horizon_class\":\"medium\"", "\"new\":[1]"] {
            Fact::read(&FACT.replace("\"tokens\"", &format!("{fine},\"tokens\""))).unwrap();
        }
        assert!(Fact::read("[]").is_err() && Fact::read("").is_err());
    }
}
