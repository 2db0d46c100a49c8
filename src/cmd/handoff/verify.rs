//! `cruxctl handoff verify`: nothing comes out before everything holds, and then exactly the bytes that hold.

use clap::Args;

use super::take::Take;
use crate::cmd::Context;
use crate::error::Result;
use crate::handoff::verify::{Algorithm, By, Verified};
use crate::render::Value;
use crate::store::session;

/// Arguments of `handoff verify`.
#[derive(Args, Debug)]
pub struct Verify {
    /// Which envelope, and on which conditions.
    #[command(flatten)]
    pub take: Take,
    /// Exact bytes on a terminal too
    #[arg(long, conflicts_with_all = ["format", "json"])]
    pub raw: bool,
}

/// Runs the verb.
pub fn run(context: &mut Context, args: &Verify) -> Result<()> {
    let proven = args.take.prove(context)?;
    let verified = args.take.judge(context, &proven, context.env.now())?;
    if args.raw || context.printer.wants_raw() {
        context.printer.raw(verified.payload)?;
        return context.printer.flush();
    }
    let Verified { package, payload, by, key_id, content_hash, .. } = verified;
    let hash = content_hash.to_hex();
    let (algorithm, signed_by) = match by {
        By::Mac => (Algorithm::Mac, None),
        By::Agent(agent) => (Algorithm::Ed25519, Some(&**agent)),
    };
    let state = package.session_state.map(str::as_bytes);
    let fields = [
        ("session_id", Value::text(&*package.session_id)),
        ("source_agent", Value::text(&*package.source_agent)),
        ("target_agent", Value::maybe(package.target_agent.as_deref())),
        ("message", Value::maybe(package.message.as_deref())),
        ("created_at", Value::Time(package.created_at)),
        ("expires_at", Value::time(package.expires_at)),
        ("handoff_id", Value::maybe(package.handoff_id.as_deref())),
        ("algorithm", Value::text(algorithm.name())),
        ("key_id", Value::text(key_id)),
        ("signed_by", Value::maybe(signed_by)),
        ("content_hash", Value::text(hash.as_str())),
        ("payload_bytes", Value::Count(payload.len() as u64)),
        ("state_bytes", state.map_or(Value::Absent, |state| Value::Count(state.len() as u64))),
        ("state_tokens", state.map_or(Value::Absent, |state| Value::Count(session::tokens(state)))),
        ("facts", Value::Count(package.facts.len() as u64)),
        ("private_facts", Value::Count(package.private_facts() as u64)),
        ("work_ids", Value::Texts(package.work_ids)),
        ("task_record", package.task_record.map_or(Value::Absent, |task| Value::Json(task.as_bytes()))),
    ];
    let id = package.handoff_id.as_deref().unwrap_or(hash.as_str());
    context.printer.begin("cruxctl.handoff.verify.v1", &[])?;
    context.printer.fields(Some(id), &fields)?;
    context.printer.end()
}
