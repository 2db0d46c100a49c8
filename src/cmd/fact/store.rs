//! `cruxctl fact store`: a fact goes in, whole and on disk, and its id comes out.

use std::borrow::Cow;
use std::path::PathBuf;

use chrono::{DateTime, Utc};
use clap::Args;
use serde::Deserialize;

use super::view::Eyes;
use crate::cmd::complete::Offers;
use crate::cmd::{Context, coming_moment, input, moment};
use crate::env;
use crate::error::{Code, Error, Result};
use crate::journal::append;
use crate::render::{Format, Group, Value, rfc3339};
use crate::store::fact::document::{Fact, confidence_text, tokens};
use crate::store::fact::privacy::{self, AGENT_PREFIX};
use crate::store::fact::versions::Versions;
use crate::store::fact::{DEFAULT_TENANT, HORIZONS, JOURNAL, events, tenant_named};
use crate::store::scope::Scope;

/// Arguments of `fact store`.
#[derive(Args, Debug)]
pub struct Store {
    /// What it is about
    #[arg(long, value_name = "TEXT", requires = "key", allow_hyphen_values = true, add = Offers::Entities)]
    pub entity: Option<String>,
    /// Which of the entity's facts
    #[arg(long, value_name = "TEXT", requires = "entity", allow_hyphen_values = true, add = Offers::Keys)]
    pub key: Option<String>,
    /// What is known
    #[arg(long, value_name = "TEXT", requires = "entity", allow_hyphen_values = true)]
    pub value: Option<String>,
    /// Read the value from this file, its last line end included; - reads standard input
    #[arg(long, value_name = "FILE", requires = "entity", conflicts_with = "value", value_hint = clap::ValueHint::FilePath)]
    pub value_file: Option<PathBuf>,
    /// Whose it is [default: default]
    #[arg(long, value_name = "TENANT", requires = "entity", allow_hyphen_values = true)]
    pub tenant: Option<String>,
    /// How sure it is: any number of 32 bits [default: 1]
    #[arg(long, value_name = "N", requires = "entity", allow_hyphen_values = true)]
    pub confidence: Option<f64>,
    /// How long it is expected to hold [default: by the entity]
    #[arg(long, value_name = "HORIZON", requires = "entity", value_parser = HORIZONS)]
    pub horizon: Option<String>,
    /// For the agent alone
    #[arg(long, requires = "entity")]
    pub private: bool,
    /// Who stores it [default: the agent]
    #[arg(long, value_name = "NAME", requires = "entity", allow_hyphen_values = true)]
    pub actor: Option<String>,
    /// The receipt of the run it comes from
    #[arg(long, value_name = "TEXT", requires = "entity", allow_hyphen_values = true)]
    pub source_receipt: Option<String>,
    /// Since when it holds: an RFC 3339 time, or how long ago (2h)
    #[arg(long, value_name = "TIME", requires = "entity")]
    pub valid_from: Option<String>,
    /// Until when it holds: an RFC 3339 time, or for how long from now (2h)
    #[arg(long, value_name = "TIME", requires = "entity")]
    pub valid_to: Option<String>,
    /// Take the entity as it is stored, whatever agent it belongs to
    #[arg(long)]
    pub all_agents: bool,
    /// Say what would be done and do nothing
    #[arg(long)]
    pub dry_run: bool,
}

/// What is said of a fact that was stored.
pub const STORED: &[Group] = &[Group {
    name: "stored",
    one: "fact",
    columns: &["id", "version", "supersedes", "offset", "dry_run"],
    shown: &[],
    blocks: false,
}];

/// A fact as it is given.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
struct Document {
    #[serde(alias = "tenant_hash")]
    tenant: Option<String>,
    entity: String,
    key: String,
    value: String,
    confidence: Option<f64>,
    #[serde(alias = "horizon_class")]
    horizon: Option<String>,
    private: Option<bool>,
    actor: Option<String>,
    source_receipt: Option<String>,
    valid_from: Option<String>,
    valid_to: Option<String>,
}

const HINT: &str = "give the fact by flags: cruxctl fact store --entity E --key K --value V";

/// The fact that was typed or piped in.
fn given(args: Store) -> Result<Document> {
    let Some(entity) = args.entity else {
        let text = input::document("the fact", None, append::LONGEST_RECORD, HINT)?;
        return input::parsed(&text, "standard input", "fact").map_err(|error| error.hint(HINT));
    };
    let value = match (args.value, &args.value_file) {
        (Some(value), _) => value,
        (None, Some(file)) => {
            let bytes = input::document("the value", Some(file), append::LONGEST_RECORD, HINT)?;
            String::from_utf8(bytes).map_err(|error| {
                let at = error.utf8_error().valid_up_to();
                Error::new(Code::UsageDocument, format!("the value is not UTF-8, at byte {at}"))
            })?
        }
        (None, None) => {
            let message = "the fact has no value: --value or --value-file is missing";
            return Err(Error::new(Code::UsageArguments, message).hint(HINT));
        }
    };
    Ok(Document {
        tenant: args.tenant,
        entity,
        key: args.key.unwrap_or_default(),
        value,
        confidence: args.confidence,
        horizon: args.horizon,
        private: Some(args.private),
        actor: args.actor,
        source_receipt: args.source_receipt,
        valid_from: args.valid_from,
        valid_to: args.valid_to,
    })
}

/// How sure a fact is, as the number is written.
fn confidence(number: f64) -> Result<String> {
    #[expect(clippy::cast_possible_truncation, reason = "a confidence is kept in 32 bits")]
    confidence_text(number as f32).ok_or_else(|| {
        let message = format!("the confidence {number} is no 32-bit float: the daemon would lose the fact");
        Error::new(Code::UsageDocument, message)
    })
}

/// The entity as it is stored, and whether the fact is private.
fn placed(context: &mut Context, eyes: &Eyes, document: &Document) -> Result<(String, bool)> {
    let stored_as_it_is = eyes.scope == Scope::All;
    let theirs = document.entity.starts_with(AGENT_PREFIX) && !stored_as_it_is;
    let belongs = format!("entities that begin with {AGENT_PREFIX} belong to agents: use --private and --agent");
    input::check_new("entity", &document.entity, theirs.then_some(belongs))?;
    input::check_new("key", &document.key, None)?;
    if let Some(tenant) = document.tenant.as_deref().filter(|tenant| !tenant.trim().is_empty()) {
        input::check_new("tenant", tenant, None)?;
    }
    let asked = document.private == Some(true);
    if let Some(prefix) = privacy::daemons_own(&document.entity) {
        let message = format!("facts whose entity begins with {prefix} are the daemon's own: nothing was stored");
        return Err(Error::new(Code::RefusedDaemonsOwn, message));
    }
    let entity = match (&eyes.scope, asked) {
        (Scope::Agent(agent), true) => privacy::private_entity(agent, &document.entity),
        (Scope::Unscoped, true) => {
            let message = "a private fact belongs to an agent, and there is none: nobody would see it";
            return Err(Error::new(Code::UsageArguments, message)
                .hint("name the agent: --agent alice, or store it for nobody: --all-agents"));
        }
        _ => document.entity.clone(),
    };
    let private = eyes.privacy.is_private(&entity, asked);
    if let Some(prefix) = eyes.privacy.born_private(&entity).filter(|_| !asked && !stored_as_it_is) {
        let text = format!("facts about {prefix}… are private: this one is seen with --all-agents only");
        context.printer.note(&text);
    }
    Ok((entity, private))
}

/// Runs the verb.
pub fn run(context: &mut Context, args: Store) -> Result<()> {
    let (eyes, dry_run) = (Eyes::of(context, args.all_agents)?, args.dry_run);
    let document = given(args)?;
    let (entity, private) = placed(context, &eyes, &document)?;
    let now = context.env.now();
    let valid_from = document.valid_from.as_deref().map(|text| moment(text, now)).transpose()?;
    let valid_to = document.valid_to.as_deref().map(|text| coming_moment(text, now)).transpose()?;
    check_validity(context, valid_from, valid_to)?;
    if let Some(horizon) = document.horizon.as_deref().filter(|horizon| !HORIZONS.contains(horizon)) {
        let message = format!("the horizon {horizon:?} is none of {}", HORIZONS.join(", "));
        return Err(Error::new(Code::UsageDocument, message));
    }
    let tenant = document.tenant.filter(|name| tenant_named(name) == name);
    let mut fact = Fact {
        id: env::new_id("f_")?.into(),
        tenant: tenant.map_or(DEFAULT_TENANT.into(), Cow::Owned),
        horizon: document.horizon.map_or(privacy::horizon(&entity).into(), Cow::Owned),
        entity: entity.into(),
        key: document.key.into(),
        tokens: tokens(&document.value),
        value: document.value.into(),
        source_receipt: document.source_receipt.map(Cow::Owned),
        confidence: confidence(document.confidence.unwrap_or(1.0))?.into(),
        stored_at: now,
        deleted: false,
        version: 1,
        supersedes: None,
        private,
        reverified_at: None,
        superseded_by: None,
        actor: document.actor.or_else(|| context.agent.clone()).map(Cow::Owned),
        valid_from,
        valid_to,
        access_count: 0,
        last_accessed_at: None,
        source: b"",
    };
    append::check_length(&JOURNAL, &events::store(&fact))?;
    let (lock, mut table) = context.for_new(&JOURNAL, dry_run)?;
    fact.stored_at = context.env.now();
    let lines = Versions::default().store(&mut table, &mut fact)?;
    let mut offset = None;
    if let Some(lock) = lock {
        offset = context.append(&lock, table, &lines)?.spans.first().map(|span| span.offset);
    }
    tell(context, &fact, offset, dry_run)
}

/// Refuses a time span that ends before it begins.
pub(super) fn check_validity(
    context: &mut Context,
    from: Option<DateTime<Utc>>,
    to: Option<DateTime<Utc>>,
) -> Result<()> {
    if let Some(to) = to.filter(|to| *to <= context.env.now()) {
        context.printer.note(&format!("the fact holds no longer: its end was at {}", rfc3339(to)));
    }
    match (from, to) {
        (Some(from), Some(to)) if to <= from => {
            let message = format!(
                "the fact would hold until {}, which is not after {}: it would never hold",
                rfc3339(to),
                rfc3339(from)
            );
            Err(Error::new(Code::UsageArguments, message))
        }
        _ => Ok(()),
    }
}

fn tell(context: &mut Context, fact: &Fact<'_>, offset: Option<u64>, dry_run: bool) -> Result<()> {
    let printer = &mut context.printer;
    let told = if matches!(printer.format(), Format::Table | Format::Plain) {
        printer.raw(format!("{}\n", fact.id).as_bytes()).and_then(|()| printer.flush())
    } else {
        let cells = [
            Value::text(&*fact.id),
            Value::Count(fact.version),
            Value::maybe(fact.supersedes.as_deref()),
            offset.map_or(Value::Absent, Value::Count),
            Value::Flag(dry_run),
        ];
        printer
            .begin("cruxctl.fact.store.v1", STORED)
            .and_then(|()| printer.row(0, &[&fact.id], &cells))
            .and_then(|()| printer.end())
    };
    told.map_err(|error| error.after(offset.is_some(), &format!("the fact {} is stored", fact.id)))
}
