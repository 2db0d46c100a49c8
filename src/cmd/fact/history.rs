//! `cruxctl fact history`: every version of what is known, and what became of it.

use std::borrow::Cow;

use clap::Args;

use super::view::{Eyes, current, find};
use crate::cmd::Context;
use crate::cmd::complete::Offers;
use crate::error::{Code, Error, Result};
use crate::journal::live::IdKey;
use crate::journal::table::Table;
use crate::render::{Group, Value, quoted};
use crate::store::fact::current::stamps;
use crate::store::fact::document::Fact;
use crate::store::fact::rules::{self, Known};
use crate::store::fact::{DEFAULT_TENANT, JOURNAL, privacy, tenant_named};
use crate::store::scope::Scope;

/// Arguments of `fact history`.
#[derive(Args, Debug)]
pub struct History {
    /// The entity; or the id of one of the versions
    #[arg(value_name = "ENTITY|ID", add = Offers::EntitiesAndFacts)]
    pub what: String,
    /// The key, with an entity
    #[arg(value_name = "KEY", add = Offers::Keys)]
    pub key: Option<String>,
    /// The tenant, with an entity
    #[arg(long, value_name = "TENANT", requires = "key", default_value = DEFAULT_TENANT)]
    pub tenant: String,
    /// Private facts too, whoever they belong to, under their stored entities
    #[arg(long)]
    pub all_agents: bool,
}

/// What is said of each version.
pub const VERSIONS: &[Group] = &[Group {
    name: "versions",
    one: "version",
    columns: &[
        "version",
        "id",
        "value",
        "confidence",
        "stored_at",
        "actor",
        "valid_from",
        "valid_to",
        "superseded_by",
        "superseded_at",
        "deleted",
        "deleted_at",
        "offset",
        "line",
        "length",
        "bytes",
        "hash",
        "change",
    ],
    shown: &["version", "id", "value", "confidence", "stored_at", "superseded_at", "deleted_at"],
    blocks: false,
}];

/// The chains that these eyes may mean.
fn chains(table: &mut Table, eyes: &Eyes, args: &History) -> Result<Vec<IdKey>> {
    let Some(key) = &args.key else {
        let (row, document) = find(table, eyes, &args.what)
            .map_err(|error| error.hint(format!("name the key as well, if {} is an entity", quoted(&args.what))))?;
        let fact = current(table, row, &document)?.fact;
        return Ok(vec![rules::chain_of(&fact)]);
    };
    let tenant = tenant_named(&args.tenant);
    let mut chains = vec![rules::chain(tenant, &args.what, key)];
    // An agent calls its private entities by the names of others.
    if let Scope::Agent(agent) = &eyes.scope {
        chains.push(rules::chain(tenant, &privacy::private_entity(agent, &args.what), key));
    }
    Ok(chains)
}

/// Runs the verb.
pub fn run(context: &mut Context, args: &History) -> Result<()> {
    let eyes = Eyes::of(context, args.all_agents)?;
    let mut table = context.table(&JOURNAL, true)?;
    let chains = chains(&mut table, &eyes, args)?;
    let tags: Vec<u64> = chains.iter().map(|chain| chain.tag()).collect();
    let mut rows = table.records()?;
    rows.retain(|(_, row)| tags.contains(&Known::of(*row).chain));
    let mut versions = Vec::new();
    for (key, row) in rows {
        let document = table.opened.read(row.place.span())?;
        let Some(fact) = Fact::read(&document).filter(|fact| IdKey::of(&fact.id) == key) else {
            context.without_it(&JOURNAL, &mut table)?;
            continue;
        };
        // A tag is half of a chain's key.
        if chains.contains(&rules::chain_of(&fact)) && eyes.see(&fact).is_some() {
            versions.push((fact.version, row));
        }
    }
    if versions.is_empty() {
        let what = args.key.as_ref().map_or(String::new(), |key| format!(" with the key {key:?}"));
        let message = format!("there is no fact about {:?}{what} in the tenant {:?}", args.what, args.tenant);
        return Err(Error::new(Code::NoFact, message).hint("cruxctl fact list --all --deleted"));
    }
    let offsets: Vec<u64> = versions.iter().map(|(_, row)| row.place.span().offset).collect();
    let lines = table.opened.lines_of(&offsets)?;
    // Among equals the order of the journal.
    versions.sort_by_key(|(version, _)| *version);
    context.printer.begin("cruxctl.fact.history.v1", VERSIONS)?;
    for (_, row) in versions {
        if context.printer.gone() {
            return Ok(());
        }
        let document = table.opened.read(row.place.span())?;
        let now = current(&mut table, row, &document)?;
        let fact = &now.fact;
        let [superseded_at, deleted_at] = stamps(&table.opened, &now.events)?;
        let span = row.place.span();
        let line = lines.binary_search_by_key(&span.offset, |(offset, _)| *offset).ok().map(|at| lines[at].1);
        let cells = [
            Value::Count(fact.version),
            Value::text(&*fact.id),
            Value::Long(Cow::Borrowed(&*fact.value)),
            Value::single(fact.sureness()),
            Value::Time(fact.stored_at),
            Value::maybe(fact.actor.as_deref()),
            Value::time(fact.valid_from),
            Value::time(fact.valid_to),
            Value::maybe(fact.superseded_by.as_deref()),
            Value::time(superseded_at.filter(|_| fact.superseded_by.is_some())),
            Value::Flag(fact.deleted),
            Value::time(deleted_at.filter(|_| fact.deleted)),
            Value::Count(span.offset),
            line.map_or(Value::Absent, Value::Count),
            Value::Count(span.len),
            Value::Count(fact.value.len() as u64),
            Value::text(blake3::hash(fact.value.as_bytes()).to_hex().to_string()),
            Value::text(became(fact)),
        ];
        context.printer.row(0, &[&fact.id], &cells)?;
    }
    context.printer.end()
}

/// What has become of a version, in a word.
fn became(fact: &Fact<'_>) -> &'static str {
    match (fact.deleted, &fact.superseded_by) {
        (true, _) => "deleted",
        (false, Some(_)) => "superseded",
        (false, None) => "stored",
    }
}
