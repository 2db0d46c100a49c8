//! `cruxctl fact query`: facts by words, entity, key, tenant and time.

use std::cmp::Reverse;

use chrono::{DateTime, Utc};
use clap::Args;

use super::pick::{Filter, Hidden, Look, Next};
use super::view::{COLUMNS, Eyes, SHOWN, cells, current};
use crate::cmd::{Context, moment, plural};
use crate::error::{Code, Error, Result};
use crate::journal::live::{IdKey, Row};
use crate::journal::table::Table;
use crate::render::Group;
use crate::retrieve::Words;
use crate::store::fact::JOURNAL;
use crate::store::fact::document::Fact;

/// Arguments of `fact query`.
#[derive(Args, Debug)]
pub struct Query {
    /// Words of the entity, key or value
    #[arg(value_name = "WORD")]
    pub words: Vec<String>,
    /// Which facts.
    #[command(flatten)]
    pub filter: Filter,
    /// Superseded facts too
    #[arg(long, conflicts_with = "as_of")]
    pub all: bool,
    /// Every word must be there
    #[arg(long, requires = "words")]
    pub all_words: bool,
    /// Facts as they held at this RFC 3339 time, or this long ago (2h)
    #[arg(long, value_name = "TIME")]
    pub as_of: Option<String>,
    /// At most this many
    #[arg(long, value_name = "N", default_value_t = 20, value_parser = clap::value_parser!(u64).range(1..))]
    pub limit: u64,
}

/// What is said of each fact that was found.
pub const FOUND: &[Group] = &[Group { name: "facts", one: "fact", columns: COLUMNS, shown: SHOWN, blocks: false }];

/// Since when a fact counts.
fn since(fact: &Fact<'_>) -> DateTime<Utc> {
    fact.valid_from.unwrap_or(fact.stored_at)
}

/// Whether a fact counted at a time. Of one whose successor the journal does not have, nobody knows until when.
fn counted(table: &mut Table, fact: &Fact<'_>, at: DateTime<Utc>) -> Result<bool> {
    if at < since(fact) || fact.valid_to.is_some_and(|to| at >= to) {
        return Ok(false);
    }
    let Some(by) = &fact.superseded_by else { return Ok(true) };
    let Some((row, document)) = table.known(by)? else { return Ok(false) };
    Ok(at < since(&current(table, row, &document)?.fact))
}

/// Runs the verb.
pub fn run(context: &mut Context, args: &Query) -> Result<()> {
    let as_of = args.as_of.as_deref().map(|text| moment(text, context.env.now())).transpose()?;
    let text = args.words.join(" ");
    let words = Words::of(&text);
    if words.is_empty() && (!args.words.is_empty() || (args.filter.is_open() && as_of.is_none())) {
        let message = match args.words.is_empty() {
            true => "nothing is asked for: give words, --entity, --prefix, --key, --tenant or --as-of",
            false => "none of the words counts (two bytes or more)",
        };
        return Err(Error::new(Code::UsageArguments, message).hint("cruxctl fact list"));
    }
    let eyes = Eyes::of(context, args.filter.all_agents)?;
    let mut table = context.table(&JOURNAL, true)?;
    let mut rows = table.records()?;
    rows.reverse();
    let rows: Vec<(IdKey, Row)> = rows.into_iter().filter(|(_, row)| row.live).collect();
    let mut look = Look { eyes: &eyes, filter: &args.filter, hidden: Hidden::default() };
    // The rows of what is found, so that not all their documents are in memory.
    let mut found = Vec::new();
    let common = |fact: &Fact<'_>, entity: &str| {
        let text = format!("{entity} {} {}", fact.key, fact.value);
        let mut common = 0;
        words.each_common(&Words::of(&text), &mut |_| common += 1);
        common
    };
    let wanted = |fact: &Fact<'_>, entity: &str| {
        words.is_empty() || common(fact, entity) >= if args.all_words { words.len() } else { 1 }
    };
    look.each(context, &mut table, rows, &wanted, &mut |_, table, hidden, met| {
        let fact = met.fact;
        match as_of {
            Some(at) if !counted(table, fact, at)? => {}
            None if fact.superseded_by.is_some() && !args.all => hidden.superseded += 1,
            _ => found.push((common(fact, &met.entity), met.row)),
        }
        Ok(Next::More)
    })?;
    look.hidden.tell(context);
    if found.is_empty() {
        return Err(Error::new(Code::NoFactMatch, "no fact matches"));
    }
    // The order of the journal, last stored first, decides among equals.
    found.sort_by_key(|(common, _)| Reverse(*common));
    let most = usize::try_from(args.limit).unwrap_or(usize::MAX);
    let rest = found.len().saturating_sub(most);
    found.truncate(most);
    context.printer.begin("cruxctl.fact.query.v1", FOUND)?;
    for (_, row) in found {
        let document = table.opened.read(row.place.span())?;
        let now = current(&mut table, row, &document)?;
        let entity = eyes.see(&now.fact).unwrap_or_default();
        let private = eyes.is_private(&now.fact);
        context.printer.row(0, &[&now.fact.id], &cells(&now.fact, &entity, private))?;
    }
    context.printer.end()?;
    if rest > 0 {
        context.printer.note(&format!("{} not shown (--limit)", plural(rest as u64, "further fact")));
    }
    Ok(())
}
