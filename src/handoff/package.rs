//! The package: what one agent hands over to another. It is read as the daemon reads it, and a little more strictly; texts
//! are carried as they are written, and a session's state is never built as a generic value.

use std::borrow::Cow;

use chrono::{DateTime, Utc};
use serde::Deserialize;
use serde::de::{self, Deserializer};
use serde_json::value::RawValue;

use super::fact::Fact;
use super::strict::{self, Fault};
use super::task::TaskRecord;

/// A package that was read.
#[derive(Debug)]
pub struct Package<'p> {
    /// The session's id as the minting agent knows it.
    pub session_id: Cow<'p, str>,
    /// The session's state as it is written; none where the session was absent.
    pub session_state: Option<&'p str>,
    /// The facts that go along.
    pub facts: Vec<Fact<'p>>,
    /// When it was minted, by the minting clock.
    pub created_at: DateTime<Utc>,
    /// Who says to have minted it.
    pub source_agent: Cow<'p, str>,
    /// Whom it is for.
    pub target_agent: Option<Cow<'p, str>>,
    /// What is said with it.
    pub message: Option<Cow<'p, str>>,
    /// Ids of the work that the state and the facts name.
    pub work_ids: Vec<String>,
    /// The task's record as it is written.
    pub task_record: Option<&'p str>,
    /// Until when it may be taken.
    pub expires_at: Option<DateTime<Utc>>,
    /// The package's own id, where the minter has given it one.
    pub handoff_id: Option<Cow<'p, str>>,
    /// The key that it says to be minted with. It is a hint, and decides nothing.
    pub key_id: Option<Cow<'p, str>>,
}

#[derive(Deserialize)]
struct Read<'p> {
    #[serde(borrow)]
    session_id: Cow<'p, str>,
    #[serde(borrow)]
    session_state: Option<&'p RawValue>,
    #[serde(borrow)]
    facts: Vec<&'p RawValue>,
    #[serde(borrow)]
    created_at: Cow<'p, str>,
    #[serde(borrow)]
    source_agent: Cow<'p, str>,
    target_agent: Option<Cow<'p, str>>,
    message: Option<Cow<'p, str>>,
    #[serde(default)]
    work_ids: Vec<String>,
    #[serde(borrow)]
    task_record: Option<&'p RawValue>,
    #[serde(default, deserialize_with = "text")]
    expires_at: Option<Cow<'p, str>>,
    #[serde(default, deserialize_with = "text")]
    handoff_id: Option<Cow<'p, str>>,
    #[serde(default, deserialize_with = "text")]
    key_id: Option<Cow<'p, str>>,
}

/// A text that may be absent, but not `null`.
fn text<'de, 'p, D: Deserializer<'de>>(reader: D) -> Result<Option<Cow<'p, str>>, D::Error> {
    String::deserialize(reader).map(|text| Some(Cow::Owned(text)))
}

impl<'p> Package<'p> {
    /// Reads a payload's bytes; says why where they are no package.
    pub fn read(payload: &'p [u8]) -> Result<Package<'p>, Fault> {
        let fault = |why: String| Fault { why, duplicate: false };
        let payload = std::str::from_utf8(payload)
            .map_err(|error| fault(format!("not UTF-8, at byte {}", error.valid_up_to())))?;
        strict::walk(payload, &mut |_| {})?;
        let is_object = |text: &str| text.trim_ascii_start().starts_with('{');
        if !is_object(payload) {
            return Err(fault("it is no object".to_owned()));
        }
        let read: Read<'p> = serde_json::from_str(payload).map_err(|error| fault(error.to_string()))?;
        if let Some(task) = read.task_record {
            let task_record = || -> Result<TaskRecord, serde_json::Error> {
                if is_object(task.get()) {
                    serde_json::from_str(task.get())
                } else {
                    Err(de::Error::custom("no object"))
                }
            };
            task_record().map_err(|error| fault(format!("its task_record: {error}")))?;
        }
        let mut facts = Vec::with_capacity(read.facts.len());
        for (index, raw) in read.facts.iter().enumerate() {
            let fact = Fact::read(raw.get()).map_err(|why| fault(format!("its fact {}: {why}", index + 1)))?;
            facts.push(fact);
        }
        let time = |name: &str, text: &str| match DateTime::parse_from_rfc3339(text) {
            Ok(time) => Ok(time.to_utc()),
            Err(_) => Err(fault(format!("its {name} {} is no RFC 3339 time", super::shown(text)))),
        };
        Ok(Package {
            session_id: read.session_id,
            session_state: read.session_state.map(RawValue::get),
            facts,
            created_at: time("created_at", &read.created_at)?,
            source_agent: read.source_agent,
            target_agent: read.target_agent,
            message: read.message,
            work_ids: read.work_ids,
            task_record: read.task_record.map(RawValue::get),
            expires_at: read.expires_at.map(|text| time("expires_at", &text)).transpose()?,
            handoff_id: read.handoff_id,
            key_id: read.key_id,
        })
    }

    /// How many of the facts are for one agent's eyes.
    #[must_use]
    pub fn private_facts(&self) -> usize {
        self.facts.iter().filter(|fact| fact.private).count()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn packages_are_read_as_the_daemon_reads_them_and_no_more() {
        let least =
            "{\"session_id\":\"s\",\"facts\":[],\"created_at\":\"2026-07-01T12:00:00+02:00\",\"source_agent\":\"a\"";
        let read = |more: &str| Package::read(format!("{least}{more}}}").as_bytes()).map(drop);
        for more in [
            "",
            ",\"session_state\":null,\"target_agent\":null,\"message\":null,\"task_record\":null",
            ",\"unknown\":{\"a\":[1]},\"expires_at\":\"2026-07-01T12:00:00Z\"",
            ",\"task_record\":{\"requester\":\"a\",\"new\":1}",
        ] {
            read(more).unwrap();
        }
        for more in [
            ",\"expires_at\":null",
            ",\"expires_at\":1",
            ",\"expires_at\":\"tomorrow\"",
            ",\"handoff_id\":1",
            ",\"key_id\":null",
            ",\"work_ids\":null",
            ",\"message\":1",
            ",\"target_agent\":[]",
            ",\"task_record\":[]",
            ",\"task_record\":{\"sources\":null}",
            ",\"facts\":[]",
            ",\"session_state\":{\"a\":1,\"\\u0061\":2}",
        ] {
            read(more).unwrap_err();
        }
        for (is, becomes) in [("+02:00", ""), ("\"a\"", "null"), ("[]", "[[]]"), ("[]", "{}"), ("\"s\"", "7")] {
            Package::read(format!("{}}}", least.replace(is, becomes)).as_bytes()).unwrap_err();
        }
        Package::read(b"[\"s\",null,[],\"2026-07-01T12:00:00Z\",\"a\",null,null]").unwrap_err();
        Package::read(b"{\"session_id\":\"\xff\"}").unwrap_err();
    }
}
