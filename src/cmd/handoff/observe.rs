//! What is noted of handoffs where the daemon's variable asks for it: a line in a file of our own, and nothing on any
//! network.

use serde::Serialize;

use crate::cmd::Context;
use crate::env;
use crate::journal::lock::Lock;
use crate::store::observation::JOURNAL;

/// The variable that asks for it.
const VARIABLE: &str = "CORECRUXD_HANDOFF_OBSERVATIONS";

/// A handoff that was minted or accepted.
pub(super) struct Observed<'o> {
    /// `create` or `accept`.
    pub(super) action: &'static str,
    /// The session's id as agents know it.
    pub(super) session_id: &'o str,
    /// Who minted it.
    pub(super) source_agent: &'o str,
    /// Whom it is for.
    pub(super) target_agent: Option<&'o str>,
    /// The payload's hash.
    pub(super) content_hash: blake3::Hash,
}

#[derive(Serialize)]
struct Line<'o> {
    kind: &'static str,
    provider: &'static str,
    payload: Payload<'o>,
}

#[derive(Serialize)]
struct Payload<'o> {
    schema: &'static str,
    action: &'static str,
    surface: &'static str,
    session_id: &'o str,
    source_agent: Option<String>,
    target_agent: Option<String>,
    source_passport: Option<&'static str>,
    target_passport: Option<&'static str>,
    cross_vendor: Option<bool>,
    handoff_payload_hash: String,
    handoff_content_hash: String,
}

/// An agent's name as observations have it.
fn agent(name: &str) -> Option<String> {
    let name = name.trim().to_lowercase();
    (!name.is_empty()).then_some(name)
}

/// Notes a handoff. What keeps it from being noted is told, and changes nothing else.
pub(super) fn observe(context: &mut Context, lock: Option<&Lock>, observed: &Observed<'_>) {
    if !env::is_on(VARIABLE) {
        return;
    }
    let hash = observed.content_hash.to_hex().to_string();
    let line = Line {
        kind: "handoff",
        provider: "crux-handoff",
        payload: Payload {
            schema: "crux.s1.handoff_observation.v1",
            action: observed.action,
            surface: "cruxctl",
            session_id: observed.session_id,
            source_agent: agent(observed.source_agent),
            target_agent: observed.target_agent.and_then(agent),
            source_passport: None,
            target_passport: None,
            cross_vendor: None,
            handoff_payload_hash: format!("blake3:{hash}"),
            handoff_content_hash: hash,
        },
    };
    // It cannot fail: a struct of texts.
    let line = serde_json::to_vec(&line).unwrap_or_default();
    let noted = match lock {
        Some(lock) => append(context, lock, line),
        None => Lock::take(&context.dir, context.lock_timeout).and_then(|lock| append(context, &lock, line)),
    };
    if let Err(error) = noted {
        context.printer.note(&format!("the handoff is not observed: {}", error.message));
    }
}

fn append(context: &Context, lock: &Lock, line: Vec<u8>) -> crate::error::Result<()> {
    crate::journal::append::append(&context.dir, &JOURNAL, lock, &[line], context.sync).map(drop)
}
