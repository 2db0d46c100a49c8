//! A package that is built, member for member as the daemon writes it, and then ours.

use std::collections::BTreeSet;

use chrono::{DateTime, SecondsFormat, Utc};
use serde::Serialize;
use serde_json::value::RawValue;

use super::fact::Fact;
use super::package::Package;
use super::strict::{self, Fault};
use super::task::TaskRecord;

/// Who mints where there is no agent.
pub const ANONYMOUS: &str = "anonymous";

/// What a package is built of.
#[derive(Debug)]
pub struct Build<'b> {
    /// The session's id as the minting agent knows it.
    pub session_id: &'b str,
    /// The session's state as it is written; none where the session is absent.
    pub state: Option<&'b str>,
    /// The facts that go along, each as its JSON text.
    pub facts: &'b [String],
    /// Now.
    pub created_at: DateTime<Utc>,
    /// Who mints it.
    pub source_agent: Option<&'b str>,
    /// Whom it is for.
    pub target_agent: Option<&'b str>,
    /// What is said with it.
    pub message: Option<&'b str>,
    /// Ids of work beside those that are found in the state and the facts.
    pub work_ids: &'b [String],
    /// The task's record.
    pub task_record: Option<&'b TaskRecord>,
    /// Until when it may be taken.
    pub expires_at: Option<DateTime<Utc>>,
    /// The package's own id.
    pub handoff_id: &'b str,
    /// The key that it is minted with.
    pub key_id: &'b str,
}

#[derive(Serialize)]
struct Written<'b> {
    session_id: &'b str,
    session_state: Option<&'b RawValue>,
    facts: Vec<&'b RawValue>,
    created_at: String,
    source_agent: &'b str,
    #[serde(skip_serializing_if = "Option::is_none")]
    target_agent: Option<&'b str>,
    message: Option<&'b str>,
    #[serde(skip_serializing_if = "BTreeSet::is_empty")]
    work_ids: BTreeSet<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    task_record: Option<&'b TaskRecord>,
    #[serde(skip_serializing_if = "Option::is_none")]
    expires_at: Option<String>,
    handoff_id: &'b str,
    key_id: &'b str,
}

impl Build<'_> {
    /// The payload's bytes. What a receiver would not read is a fault here.
    pub fn payload(&self) -> Result<Vec<u8>, Fault> {
        let raw = |text| serde_json::from_str::<&RawValue>(text);
        let fault = |error: serde_json::Error| Fault { why: error.to_string(), duplicate: false };
        let mut work_ids: BTreeSet<String> = self.work_ids.iter().cloned().collect();
        if let Some(state) = self.state {
            strict::walk(state, &mut |text| {
                if text.starts_with("w_") || text.starts_with("execplan:") {
                    work_ids.insert(text.to_owned());
                }
            })?;
        }
        for text in self.facts {
            let fact = Fact::read(text).map_err(|why| Fault { why, duplicate: false })?;
            if fact.entity.starts_with("__work__::") {
                work_ids.extend(fact.entity.rsplit("::").next().map(str::to_owned));
            }
        }
        let written = Written {
            session_id: self.session_id,
            session_state: self.state.map(raw).transpose().map_err(fault)?,
            facts: self.facts.iter().map(|text| raw(text)).collect::<Result<_, _>>().map_err(fault)?,
            created_at: self.created_at.to_rfc3339(),
            source_agent: self.source_agent.unwrap_or(ANONYMOUS),
            target_agent: self.target_agent,
            message: self.message,
            work_ids,
            task_record: self.task_record,
            expires_at: self.expires_at.map(|at| at.to_rfc3339_opts(SecondsFormat::AutoSi, true)),
            handoff_id: self.handoff_id,
            key_id: self.key_id,
        };
        let payload = serde_json::to_vec(&written).map_err(fault)?;
        Package::read(&payload).map(drop)?;
        Ok(payload)
    }
}

/// The ids of facts that a state names: every string value, at any depth, that begins with `f_`; sorted.
pub fn fact_ids(state: &str) -> Result<BTreeSet<String>, Fault> {
    let mut ids = BTreeSet::new();
    strict::walk(state, &mut |text| {
        if text.starts_with("f_") {
            ids.insert(text.to_owned());
        }
    })?;
    Ok(ids)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn fact(id: &str, entity: &str) -> String {
        format!(
            "{{\"fact_id\":\"{id}\",\"entity\":\"{entity}\",\"key\":\"k\",\"value\":\"v\",\"source_receipt\":null,\
             \"confidence\":1.0,\"stored_at\":\"2026-01-01T00:00:00Z\",\"tokens\":1,\"deleted\":false,\"private\":true }}"
        )
    }

    fn build<'b>(state: Option<&'b str>, facts: &'b [String]) -> Build<'b> {
        Build {
            session_id: "s",
            state,
            facts,
            created_at: "2026-07-01T12:00:00Z".parse().unwrap(),
            source_agent: None,
            target_agent: None,
            message: None,
            work_ids: &[],
            task_record: None,
            expires_at: None,
            handoff_id: "h_1",
            key_id: "k",
        }
    }

    #[test]
    fn members_stand_in_the_daemons_order_and_what_is_empty_is_left_out() {
        let payload = String::from_utf8(build(None, &[]).payload().unwrap()).unwrap();
        let want = "{\"session_id\":\"s\",\"session_state\":null,\"facts\":[],\
                    \"created_at\":\"2026-07-01T12:00:00+00:00\",\"source_agent\":\"anonymous\",\"message\":null,\
                    \"handoff_id\":\"h_1\",\"key_id\":\"k\"}";
        assert_eq!(payload, want);
        let facts = [fact("f_1", "__work__::w_7"), fact("f_2", "__work__::a::b"), fact("f_3", "x::__work__::c")];
        let whole = Build {
            source_agent: Some("alice"),
            target_agent: Some("bob"),
            message: Some("\"\n"),
            work_ids: &["z".to_owned(), "b".to_owned()],
            task_record: Some(&TaskRecord::default()),
            expires_at: Some("2026-07-02T12:00:00.5Z".parse().unwrap()),
            created_at: "2026-07-01T12:00:00.123456789Z".parse().unwrap(),
            ..build(Some("{\"w_no\":[\"w_2\",\"execplan:1\", 1.10],\"k\":\"not w_3\"}"), &facts)
        };
        let payload = String::from_utf8(whole.payload().unwrap()).unwrap();
        let want = format!(
            "{{\"session_id\":\"s\",\"session_state\":{{\"w_no\":[\"w_2\",\"execplan:1\", 1.10],\"k\":\"not w_3\"}},\
             \"facts\":[{}],\"created_at\":\"2026-07-01T12:00:00.123456789+00:00\",\"source_agent\":\"alice\",\
             \"target_agent\":\"bob\",\"message\":\"\\\"\\n\",\"work_ids\":[\"b\",\"execplan:1\",\"w_2\",\"w_7\",\"z\"],\
             \"task_record\":{{}},\"expires_at\":\"2026-07-02T12:00:00.500Z\",\"handoff_id\":\"h_1\",\"key_id\":\"k\"}}",
            facts.join(",")
        );
        assert_eq!(payload, want);
        let package = Package::read(payload.as_bytes()).unwrap();
        assert_eq!((package.facts[0].raw, package.private_facts()), (&*facts[0], 3));
        assert_eq!(package.session_state, whole.state);
    }

    #[test]
    fn what_a_receiver_would_not_read_is_not_built() {
        assert!(build(Some("{\"a\":[{\"b\":1,\"b\":1}]}"), &[]).payload().unwrap_err().duplicate);
        for state in ["1e400", "\"\\ud800\"", "{", &("[".repeat(127) + &"]".repeat(127))] {
            assert!(!build(Some(state), &[]).payload().unwrap_err().duplicate, "{state}");
        }
        build(Some(&("[".repeat(126) + &"]".repeat(126))), &[]).payload().unwrap();
        assert!(build(None, &["{}".to_owned()]).payload().is_err());
    }

    #[test]
    fn facts_are_named_by_whole_strings() {
        let ids = fact_ids("{\"f_no\":\"f_2\",\"a\":[\"f_1\",\"see f_3\",\"f_2\"]}").unwrap();
        assert_eq!(ids.into_iter().collect::<Vec<_>>(), ["f_1", "f_2"]);
    }
}
