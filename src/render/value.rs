//! One value of an answer, whatever it is written in.

use std::borrow::Cow;

use chrono::{DateTime, SecondsFormat, Utc};

use super::safe::{self, for_plain, for_terminal, json_text};

/// One value of an answer.
#[derive(Clone, Debug)]
pub enum Value<'a> {
    /// Text of ours or of others.
    Text(Cow<'a, str>),
    /// Text of which a row of a table shows the beginning alone.
    Long(Cow<'a, str>),
    /// A count or size.
    Count(u64),
    /// A number as JSON writes it; a text where JSON has no such number.
    Number(String),
    /// Yes or no.
    Flag(bool),
    /// A moment.
    Time(DateTime<Utc>),
    /// JSON text as it is written.
    Json(&'a [u8]),
    /// Several texts.
    Texts(Vec<String>),
    /// A command line of ours, to be pasted as it stands: its words are quoted for a shell.
    Command(String),
    /// Several of them.
    Commands(Vec<String>),
    /// Bytes of others that need not be text.
    Bytes(&'a [u8]),
    /// Nothing.
    Absent,
}

impl<'a> Value<'a> {
    /// A 64-bit float, with as many digits as tell it from every other.
    #[must_use]
    pub fn double(number: f64) -> Value<'a> {
        Value::Number(written(number, serde_json::to_string(&number)))
    }

    /// A 32-bit float, with as many digits as tell it from every other.
    #[must_use]
    pub fn single(number: f32) -> Value<'a> {
        Value::Number(written(f64::from(number), serde_json::to_string(&number)))
    }

    /// A text.
    pub fn text(text: impl Into<Cow<'a, str>>) -> Value<'a> {
        Value::Text(text.into())
    }

    /// A text, or nothing.
    pub fn maybe(text: Option<impl Into<Cow<'a, str>>>) -> Value<'a> {
        text.map_or(Value::Absent, |text| Value::Text(text.into()))
    }

    /// A moment, or nothing.
    #[must_use]
    pub fn time(time: Option<DateTime<Utc>>) -> Value<'a> {
        time.map_or(Value::Absent, Value::Time)
    }

    /// The value as lines, each with a text of a list.
    pub(super) fn lines(&self) -> Vec<String> {
        match self {
            Value::Texts(texts) | Value::Commands(texts) => texts.clone(),
            other => vec![other.raw()],
        }
    }

    /// A text of the value as a field of a line. A command or JSON that was escaped once more would be something else.
    pub(super) fn plain(&self, text: &str) -> String {
        match self {
            Value::Command(_) | Value::Commands(_) | Value::Json(_) => for_terminal(text),
            _ => for_plain(text),
        }
    }

    /// The value as text, not yet made safe; but JSON is, in its own way.
    pub(super) fn raw(&self) -> String {
        match self {
            Value::Text(text) | Value::Long(text) => text.to_string(),
            Value::Count(n) => n.to_string(),
            Value::Number(n) => n.clone(),
            Value::Flag(flag) => flag.to_string(),
            Value::Time(time) => rfc3339(*time),
            Value::Json(bytes) => json_text(bytes),
            Value::Command(text) => text.clone(),
            Value::Texts(texts) | Value::Commands(texts) => texts.join(" "),
            Value::Bytes(bytes) => safe::bytes(bytes),
            Value::Absent => String::new(),
        }
    }
}

/// A number as JSON writes it, or what it is where JSON cannot.
fn written(number: f64, json: serde_json::Result<String>) -> String {
    match number.is_finite() {
        true => json.unwrap_or_default(),
        false if number > 0.0 => "infinity".to_owned(),
        false => "-infinity".to_owned(),
    }
}

/// A moment as the journals have it.
#[must_use]
pub fn rfc3339(time: DateTime<Utc>) -> String {
    time.to_rfc3339_opts(SecondsFormat::AutoSi, true)
}
