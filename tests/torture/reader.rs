//! What a line of each journal is, read with derived readers such as the daemon's: nothing of the tool's own reader.
//!
//! They say yes or no. The members are there to be asked for, and nobody looks at them afterwards.

use chrono::{DateTime, FixedOffset};
use serde::de::{DeserializeOwned, Error, IgnoredAny};
use serde::{Deserialize, Deserializer};
use serde_json::Value;

/// Whether a line, without its line end, is one event of a journal and nothing else; and the id that it makes live, or
/// the one that it ends, where the last record of an id wins.
pub fn event(journal: &str, line: &[u8]) -> Option<Option<(String, bool)>> {
    match journal {
        "sessions" => read::<Session>(line).map(|event| {
            Some(match event {
                Session::Store { session } => (session.session_id, true),
                Session::Delete { session_id } => (session_id, false),
            })
        }),
        "cases" => read::<Case>(line).map(|event| {
            Some(match event {
                Case::Record { case } => (case.case_id, true),
                Case::Delete { case_id } => (case_id, false),
            })
        }),
        "facts" => read::<Fact>(line).map(|_| None),
        "reuse" => read::<Reuse>(line).map(|event| {
            Some(match event {
                Reuse::Reuse { case_id, .. } => (case_id, true),
                Reuse::Delete { case_id } => (case_id, false),
            })
        }),
        "handoffs" => read::<Handoff>(line).map(|Handoff::Handoff { content_hash, .. }| Some((content_hash, true))),
        "trust" => read::<Trust>(line).map(|event| {
            Some(match event {
                Trust::Store { public_key, .. } => (public_key, true),
                Trust::Delete { public_key, .. } => (public_key, false),
            })
        }),
        // One that was deleted is known for ever.
        "durable" => read::<Durable>(line).map(|event| Some((event.session().session_id.clone(), true))),
        _ => panic!("there is no journal {journal}"),
    }
}

/// Why a text is no JSON, to a reader that only passes over it: whatever the numbers are, and however deep it is.
pub fn json(text: &[u8]) -> Result<(), String> {
    let text = std::str::from_utf8(text).map_err(|error| error.to_string())?;
    match serde_json::from_str::<IgnoredAny>(text) {
        Err(error) if !error.to_string().starts_with("recursion limit") => Err(error.to_string()),
        _ => Ok(()),
    }
}

fn read<T: DeserializeOwned>(line: &[u8]) -> Option<T> {
    serde_json::from_str(std::str::from_utf8(line).ok()?.trim()).ok()
}

/// A text that is a time to the daemon.
struct Time;

impl<'de> Deserialize<'de> for Time {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Time, D::Error> {
        let text = String::deserialize(deserializer)?;
        text.parse::<DateTime<FixedOffset>>().map(|_| Time).map_err(D::Error::custom)
    }
}

#[derive(Deserialize)]
#[serde(tag = "op", rename_all = "snake_case")]
enum Session {
    Store { session: SessionDocument },
    Delete { session_id: String },
}

#[derive(Deserialize)]
struct SessionDocument {
    session_id: String,
    state: Value,
    updated_at: Time,
    total_tokens: u64,
    #[serde(default)]
    expires_at: Option<Time>,
    #[serde(default)]
    archived: bool,
    #[serde(default)]
    archived_at: Option<Time>,
    #[serde(default)]
    archive_reason: Option<String>,
    #[serde(default)]
    actor: Option<String>,
}

#[derive(Deserialize)]
#[serde(tag = "op", rename_all = "snake_case")]
enum Case {
    Record { case: CaseDocument },
    Delete { case_id: String },
}

#[derive(Deserialize)]
struct CaseDocument {
    case_id: String,
    task: String,
    #[serde(default)]
    context: Option<String>,
    action: String,
    outcome: String,
    success: bool,
    reward: f32,
    #[serde(default)]
    tags: Vec<String>,
    #[serde(default)]
    source_receipt: Option<String>,
    created_at: Time,
    #[serde(default)]
    times_reused: u32,
}

#[derive(Deserialize)]
#[serde(rename_all = "snake_case")]
enum Horizon {
    Volatile,
    Medium,
    Stable,
    None,
}

impl Horizon {
    fn none() -> Horizon {
        Horizon::None
    }
}

#[derive(Deserialize)]
struct FactDocument {
    fact_id: String,
    #[serde(default)]
    tenant_hash: String,
    entity: String,
    key: String,
    value: String,
    #[serde(default)]
    source_receipt: Option<String>,
    confidence: f64,
    stored_at: Time,
    tokens: u64,
    deleted: bool,
    #[serde(default)]
    version: u64,
    #[serde(default)]
    supersedes: Option<String>,
    #[serde(default)]
    private: bool,
    #[serde(default = "Horizon::none")]
    horizon_class: Horizon,
    #[serde(default)]
    reverified_at: Option<Time>,
    #[serde(default)]
    superseded_by: Option<String>,
    #[serde(default)]
    actor: Option<String>,
    #[serde(default)]
    valid_from: Option<Time>,
    #[serde(default)]
    valid_to: Option<Time>,
    #[serde(default)]
    access_count: u64,
    #[serde(default)]
    last_accessed_at: Option<Time>,
}

#[derive(Deserialize)]
#[serde(tag = "op", rename_all = "snake_case")]
enum Fact {
    Store {
        fact: FactDocument,
    },
    StoreBatch {
        facts: Vec<FactDocument>,
    },
    ReplaceLatest {
        fact: FactDocument,
        replaced_fact_ids: Vec<String>,
    },
    Delete {
        fact_id: String,
        deleted_at: String,
    },
    Supersede {
        fact_id: String,
        by_fact_id: String,
        superseded_at: String,
    },
    ClearSupersede {
        fact_id: String,
        cleared_at: String,
    },
    SetValidity {
        fact_id: String,
        #[serde(default)]
        valid_from: Option<Time>,
        #[serde(default)]
        valid_to: Option<Time>,
        set_at: String,
    },
    Consolidate {
        canonical: FactDocument,
        superseded_fact_ids: Vec<String>,
        consolidated_at: String,
    },
    ConsolidationProvenance {
        canonical_fact_id: String,
        source_fact_ids: Vec<String>,
        tenant_hash: String,
        recorded_at: String,
    },
    ConsolidateUndo {
        canonical_fact_id: String,
        restored_fact_ids: Vec<String>,
        undone_at: String,
    },
}

#[derive(Deserialize)]
#[serde(tag = "op", rename_all = "snake_case")]
enum Reuse {
    Reuse { case_id: String, times: u64, used_at: Time },
    Delete { case_id: String },
}

#[derive(Deserialize)]
#[serde(rename_all = "snake_case")]
enum Standing {
    Open,
    Accepted,
    Abandoned,
}

#[derive(Deserialize)]
#[serde(tag = "op", rename_all = "snake_case")]
enum Handoff {
    Handoff {
        content_hash: String,
        state: Standing,
        #[serde(default)]
        handoff_id: Option<String>,
        session_id: String,
        source_agent: String,
        #[serde(default)]
        receiver: Option<String>,
        #[serde(default)]
        signed_by: Option<String>,
        key_id: String,
        session: bool,
        fact_ids: Vec<String>,
        sessions_bytes: u64,
        facts_bytes: u64,
        #[serde(default)]
        session_before: Option<String>,
        heads_before: Vec<String>,
        times: u64,
        begun_at: Time,
        #[serde(default)]
        accepted_at: Option<Time>,
    },
}

#[derive(Deserialize)]
#[serde(tag = "op", rename_all = "snake_case")]
enum Trust {
    Store { public_key: String, agent: String, added_at: Time },
    Delete { public_key: String, removed_at: Time },
}

#[derive(Deserialize)]
#[serde(rename_all = "snake_case")]
enum TargetKind {
    Agent,
    Flow,
}

#[derive(Deserialize)]
#[serde(rename_all = "snake_case")]
enum Stage {
    Ready,
    Closing,
    Closed,
    Killed,
    Deleted,
}

/// A number that can be counted on.
#[derive(Deserialize)]
#[serde(try_from = "u64")]
struct Count;

impl TryFrom<u64> for Count {
    type Error = &'static str;

    fn try_from(number: u64) -> Result<Count, &'static str> {
        if number < 1 << 56 { Ok(Count) } else { Err("it is too great") }
    }
}

#[derive(Deserialize)]
struct ForkedFrom {
    session_id: String,
    cursor: Count,
    thread_revision: Count,
}

#[derive(Deserialize)]
#[serde(rename_all = "snake_case")]
enum Progress {
    Queued,
    Running,
    Blocked,
}

#[derive(Deserialize)]
struct Work {
    work_id: String,
    first: Count,
    last: Count,
    progress: Progress,
    fence: Count,
    claims: Count,
    failures: Count,
    prepared: bool,
    #[serde(default)]
    worker: Option<String>,
    #[serde(default)]
    until: Option<Time>,
    #[serde(default)]
    blocker: Option<String>,
    #[serde(default)]
    delivered_at: Option<Time>,
    #[serde(default)]
    checkpointed_at: Option<Time>,
}

#[derive(Deserialize)]
struct Statistics {
    accepted: Count,
    deduplicated: Count,
    delivered: Count,
    resumed: Count,
    dropped: Count,
    started: Count,
    completed: Count,
    failed: Count,
}

#[derive(Deserialize)]
struct Subscription {
    subscription_id: String,
    session_id: String,
    namespace: String,
    signal_id: String,
    match_key: String,
    created_at: Time,
}

#[derive(Deserialize)]
struct DurableDocument {
    session_id: String,
    namespace: String,
    target_id: String,
    target_kind: TargetKind,
    #[serde(default)]
    key: Option<String>,
    key_hash: String,
    thread_id: String,
    #[serde(default)]
    forked_from: Option<ForkedFrom>,
    state: Stage,
    accepted: Count,
    processed: Count,
    events: Count,
    fences: Count,
    #[serde(default)]
    work: Option<Work>,
    #[serde(default)]
    fenced_work_id: Option<String>,
    statistics: Statistics,
    updated_at: Time,
    created_at: Time,
}

#[derive(Deserialize)]
#[serde(rename_all = "snake_case")]
enum Source {
    Send,
    Signal,
}

#[derive(Deserialize)]
struct Input {
    input_id: String,
    cursor: Count,
    source: Source,
    accepted_at: Time,
    #[serde(default)]
    idempotency_key: Option<String>,
    #[serde(default)]
    signal_id: Option<String>,
    #[serde(default)]
    occurrence: Option<String>,
    #[serde(default)]
    subscription_id: Option<String>,
    #[serde(default)]
    payload: Option<Value>,
}

#[derive(Deserialize)]
#[serde(tag = "op", rename_all = "snake_case")]
enum Durable {
    Open {
        session: DurableDocument,
    },
    Fork {
        session: DurableDocument,
    },
    Accept {
        session: DurableDocument,
        inputs: Vec<Input>,
    },
    Repeat {
        session: DurableDocument,
        input_ids: Vec<String>,
    },
    Claim {
        session: DurableDocument,
    },
    Renew {
        session: DurableDocument,
    },
    Release {
        session: DurableDocument,
    },
    Checkpoint {
        session: DurableDocument,
        work_id: String,
        #[serde(default)]
        output: Option<Value>,
        #[serde(default)]
        erased: Option<bool>,
    },
    Complete {
        session: DurableDocument,
        work_id: String,
        first: Count,
        last: Count,
        #[serde(default)]
        output: Option<Value>,
        #[serde(default)]
        erased: Option<bool>,
    },
    Fail {
        session: DurableDocument,
        work_id: String,
        first: Count,
        last: Count,
        reason: String,
    },
    Block {
        session: DurableDocument,
    },
    Unblock {
        session: DurableDocument,
        #[serde(default)]
        blocked: Option<bool>,
    },
    Subscribe {
        session: DurableDocument,
        subscription: Subscription,
    },
    Unsubscribe {
        session: DurableDocument,
        subscription_id: String,
    },
    Close {
        session: DurableDocument,
    },
    Kill {
        session: DurableDocument,
    },
    Delete {
        session: DurableDocument,
    },
}

impl Durable {
    fn session(&self) -> &DurableDocument {
        match self {
            Durable::Open { session }
            | Durable::Fork { session }
            | Durable::Accept { session, .. }
            | Durable::Repeat { session, .. }
            | Durable::Claim { session }
            | Durable::Renew { session }
            | Durable::Release { session }
            | Durable::Checkpoint { session, .. }
            | Durable::Complete { session, .. }
            | Durable::Fail { session, .. }
            | Durable::Block { session }
            | Durable::Unblock { session, .. }
            | Durable::Subscribe { session, .. }
            | Durable::Unsubscribe { session, .. }
            | Durable::Close { session }
            | Durable::Kill { session }
            | Durable::Delete { session } => session,
        }
    }
}

/// What a line is.
#[derive(Debug)]
pub enum Line {
    Blank,
    Event(Option<(String, bool)>),
    /// An op that nobody knows: it is passed through.
    Foreign,
    Unreadable,
    /// Readers may differ: it is deeper than one of them reads, or has a number or an escape that one of them refuses.
    Doubtful,
}

/// What a line of a journal is, without its line end.
pub fn line(journal: &str, line: &[u8]) -> Line {
    let Ok(text) = std::str::from_utf8(line) else { return Line::Unreadable };
    // A byte order mark is read past.
    let text = text.trim_start_matches('\u{feff}').trim();
    if text.is_empty() {
        return Line::Blank;
    }
    if let Some(event) = event(journal, text.as_bytes()) {
        return Line::Event(event);
    }
    match serde_json::from_str::<Value>(text) {
        Ok(value) => {
            let op = value.get("op").or(value.get(0)).and_then(Value::as_str);
            let known = op.is_none_or(|op| ops(journal).contains(&op));
            if known { Line::Unreadable } else { Line::Foreign }
        }
        Err(_) if json(text.as_bytes()).is_ok() => Line::Doubtful,
        Err(_) => Line::Unreadable,
    }
}

/// What a journal's events are called.
fn ops(journal: &str) -> &'static [&'static str] {
    match journal {
        "sessions" | "trust" => &["store", "delete"],
        "cases" => &["record", "delete"],
        "reuse" => &["reuse", "delete"],
        "handoffs" => &["handoff"],
        "durable" => &[
            "open",
            "fork",
            "accept",
            "repeat",
            "claim",
            "renew",
            "release",
            "checkpoint",
            "complete",
            "fail",
            "block",
            "unblock",
            "subscribe",
            "unsubscribe",
            "close",
            "kill",
            "delete",
        ],
        _ => &[
            "store",
            "store_batch",
            "replace_latest",
            "delete",
            "supersede",
            "clear_supersede",
            "set_validity",
            "consolidate",
            "consolidation_provenance",
            "consolidate_undo",
        ],
    }
}
