//! Moments in records that serde reads and writes: in the daemon's form.

use chrono::{DateTime, Utc};
use serde::{Deserialize, Deserializer, Serializer, de};

use super::time_text;

/// Writes a moment.
pub fn serialize<S: Serializer>(at: &DateTime<Utc>, to: S) -> Result<S::Ok, S::Error> {
    to.serialize_str(&time_text(*at))
}

/// Reads a moment.
pub fn deserialize<'de, D: Deserializer<'de>>(from: D) -> Result<DateTime<Utc>, D::Error> {
    String::deserialize(from)?.parse().map_err(de::Error::custom)
}

/// A moment that need not be there.
pub mod maybe {
    use chrono::{DateTime, Utc};
    use serde::{Deserialize, Deserializer, Serialize, Serializer, de};

    use super::super::time_text;

    /// Writes a moment, if there is one.
    pub fn serialize<S: Serializer>(at: &Option<DateTime<Utc>>, to: S) -> Result<S::Ok, S::Error> {
        at.map(time_text).serialize(to)
    }

    /// Reads a moment, if there is one.
    pub fn deserialize<'de, D: Deserializer<'de>>(from: D) -> Result<Option<DateTime<Utc>>, D::Error> {
        let text = Option::<String>::deserialize(from)?;
        text.map(|text| text.parse().map_err(de::Error::custom)).transpose()
    }
}
