//! `cruxctl handoff inspect`: what an envelope says, to somebody who cannot or need not hold it against a key. Every line
//! says that nothing of it is proven.

use clap::Args;

use super::source::Source;
use crate::cmd::{Context, plural};
use crate::error::{Code, Error, Result};
use crate::handoff::envelope::Envelope;
use crate::handoff::package::Package;
use crate::render::{Format, Group, Value, rfc3339};
use crate::store::session;

/// Arguments of `handoff inspect`.
#[derive(Args, Debug)]
pub struct Inspect {
    /// Which envelope.
    #[command(flatten)]
    pub source: Source,
}

/// What is said of each part.
pub const INSPECTED: &[Group] = &[Group {
    name: "parts",
    one: "part",
    columns: &["mark", "verified", "part", "value"],
    shown: &["mark", "part", "value"],
    blocks: false,
}];

/// Runs the verb.
pub fn run(context: &mut Context, args: &Inspect) -> Result<()> {
    let text = args.source.read()?;
    let envelope = Envelope::read(&text)?;
    let (payload, said) = (envelope.payload()?, envelope.hash()?);
    context.printer.begin("cruxctl.handoff.inspect.v1", INSPECTED)?;
    let fits = if said == blake3::hash(&payload) { "yes" } else { "no: the payload or the hash was changed" };
    part(context, "algorithm", Value::text(&*envelope.signature_alg))?;
    part(context, "content_hash", Value::text(said.to_hex().to_string()))?;
    part(context, "hash_fits", Value::text(fits))?;
    part(context, "payload_bytes", Value::Count(payload.len() as u64))?;
    for name in &envelope.others {
        part(context, "unknown_member", Value::text(&**name))?;
    }
    let package = Package::read(&payload);
    match &package {
        Ok(package) => parts(context, package)?,
        Err(fault) => part(context, "no_package", Value::text(&*fault.why))?,
    }
    if matches!(context.printer.format(), Format::Json | Format::Jsonl) {
        context.printer.fields(None, &[("verified", Value::Flag(false))])?;
    }
    context.printer.end()?;
    match package {
        Ok(_) => Ok(()),
        Err(fault) => {
            Err(Error::new(Code::RejectedPayload, format!("the payload is no handoff package: {}", fault.why)))
        }
    }
}

fn parts(context: &mut Context, package: &Package<'_>) -> Result<()> {
    let texts = [
        ("session_id", Some(&package.session_id)),
        ("source_agent", Some(&package.source_agent)),
        ("target_agent", package.target_agent.as_ref()),
        ("message", package.message.as_ref()),
        ("handoff_id", package.handoff_id.as_ref()),
        ("key_id", package.key_id.as_ref()),
    ];
    for (name, text) in texts {
        if let Some(text) = text {
            part(context, name, Value::text(&**text))?;
        }
    }
    part(context, "created_at", Value::text(rfc3339(package.created_at)))?;
    if let Some(at) = package.expires_at {
        part(context, "expires_at", Value::text(rfc3339(at)))?;
    }
    let state = match package.session_state.map(str::as_bytes) {
        Some(state) => format!("{}, {}", plural(state.len() as u64, "byte"), plural(session::tokens(state), "token")),
        None => "none".to_owned(),
    };
    part(context, "session_state", Value::text(state))?;
    part(context, "facts", Value::Count(package.facts.len() as u64))?;
    part(context, "private_facts", Value::Count(package.private_facts() as u64))?;
    for id in &package.work_ids {
        part(context, "work_id", Value::text(&**id))?;
    }
    match package.task_record {
        Some(task) => part(context, "task_record", Value::text(task)),
        None => Ok(()),
    }
}

fn part(context: &mut Context, name: &str, value: Value<'_>) -> Result<()> {
    context.printer.row(0, &[], &[Value::text("unverified"), Value::Flag(false), Value::text(name), value])
}
