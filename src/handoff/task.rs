//! The record of a task that goes along with a session: who asked for what, and when it is done.

use serde::{Deserialize, Serialize};

use super::{shown, strict};
use crate::error::{Code, Error, Result};

/// A task's record, in the daemon's order. What is empty is left out.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct TaskRecord {
    /// Who asked for it.
    #[serde(skip_serializing_if = "blank")]
    pub requester: Option<String>,
    /// What is to come out of it.
    #[serde(skip_serializing_if = "blank")]
    pub desired_outcome: Option<String>,
    /// Where to look.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub sources: Vec<String>,
    /// When it is done.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub acceptance_criteria: Vec<String>,
    /// What must not be touched.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub boundaries: Vec<String>,
    /// What to do when it cannot go on.
    #[serde(skip_serializing_if = "blank")]
    pub blocker_rule: Option<String>,
}

/// Every member of a record.
const MEMBERS: [&str; 6] =
    ["requester", "desired_outcome", "sources", "acceptance_criteria", "boundaries", "blocker_rule"];

fn blank(text: &Option<String>) -> bool {
    text.as_ref().is_none_or(String::is_empty)
}

impl TaskRecord {
    /// Reads a document that somebody has written; `name` is where it comes from. A member that no record has is an
    /// error there: it would be lost in silence.
    pub fn document(text: &[u8], name: &str) -> Result<TaskRecord> {
        let not_json = |why: &str| Error::new(Code::UsageNotJson, format!("{name} is not one JSON value: {why}"));
        let wrong = |why: String| Error::new(Code::UsageDocument, format!("{name} is no task record: {why}"));
        let text = std::str::from_utf8(text).map_err(|_| not_json("not UTF-8"))?;
        strict::walk(text, &mut |_| {}).map_err(|fault| match fault.duplicate {
            true => wrong(fault.why),
            false => not_json(&fault.why),
        })?;
        let members = strict::members(text).ok_or_else(|| wrong("it is no JSON object".to_owned()))?;
        if let Some((other, _)) = members.iter().find(|(name, _)| !MEMBERS.contains(&&**name)) {
            return Err(wrong(format!("it has the member {}, and knows only {}", shown(other), MEMBERS.join(", "))));
        }
        serde_json::from_str(text).map_err(|error| wrong(error.to_string()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_empty_is_left_out() {
        let made = |text: &str| serde_json::to_string(&TaskRecord::document(text.as_bytes(), "t").unwrap()).unwrap();
        let all = r#"{"requester":"a","desired_outcome":"b","sources":["c"],"acceptance_criteria":["d"],"boundaries":["e"],"blocker_rule":"f"}"#;
        assert_eq!(made(all), all);
        assert_eq!(made(r#" {"sources":[],"requester":null,"blocker_rule":""} "#), "{}");
        assert_eq!(made(r#"{"boundaries":["x"],"requester":"r"}"#), r#"{"requester":"r","boundaries":["x"]}"#);
    }

    #[test]
    fn what_is_no_record_is_named() {
        for (text, code, names) in [
            (r#"{"requestor":"a"}"#, Code::UsageDocument, "requestor"),
            (r#"{"sources":"a"}"#, Code::UsageDocument, "sequence"),
            (r#"{"requester":"a","requester":"b"}"#, Code::UsageDocument, "requester"),
            ("[]", Code::UsageDocument, "object"),
            ("{", Code::UsageNotJson, "EOF"),
            ("", Code::UsageNotJson, "EOF"),
        ] {
            let error = TaskRecord::document(text.as_bytes(), "task.json").unwrap_err();
            assert!(error.code == code && error.message.contains(names), "{text}: {error:?}");
            assert!(error.message.starts_with("task.json "));
        }
    }
}
