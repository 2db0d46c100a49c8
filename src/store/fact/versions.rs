//! The next version of what is known: the chain of tenant, entity and key, and the lines that continue it.

use std::collections::HashMap;

use super::document::Fact;
use super::rules::{self, Known};
use super::{events, id_of, replaces_earlier};
use crate::error::Result;
use crate::journal::live::IdKey;
use crate::journal::table::Table;

/// The newest versions that have no line in the journal yet.
#[derive(Debug, Default)]
pub struct Versions {
    heads: HashMap<IdKey, (String, u64)>,
    /// The facts of the journal whose chains were continued.
    pub continued: Vec<String>,
}

impl Versions {
    /// The newest live fact of a fact's chain.
    ///
    /// Errors: 6 where the journal is not what its index says.
    pub fn head(&self, table: &mut Table, fact: &Fact<'_>) -> Result<Option<String>> {
        let chain = rules::chain_of(fact);
        match self.heads.get(&chain) {
            Some((id, _)) => Ok(Some(id.clone())),
            None => Ok(head(table, chain)?.map(|(id, _)| id)),
        }
    }

    /// Makes a fact the next version of its chain; the lines that store it, without their line ends.
    ///
    /// Errors: 6 where the journal is not what its index says.
    pub fn store(&mut self, table: &mut Table, fact: &mut Fact<'_>) -> Result<Vec<Vec<u8>>> {
        let chain = rules::chain_of(fact);
        let before = match self.heads.get(&chain) {
            Some(head) => Some(head.clone()),
            None => {
                let head = head(table, chain)?;
                self.continued.extend(head.iter().map(|(id, _)| id.clone()));
                head
            }
        };
        fact.version = before.as_ref().map_or(1, |(_, version)| version.saturating_add(1));
        self.heads.insert(chain, (fact.id.clone().into_owned(), fact.version));
        // Of these entities the daemon keeps the latest alone, unless they are shared: there is nothing to supersede.
        let before = before.filter(|_| !(fact.private && replaces_earlier(&fact.entity, &fact.key)));
        let Some((before, _)) = before else { return Ok(vec![events::store(fact)]) };
        fact.supersedes = Some(before.clone().into());
        let mut lines = vec![events::store(fact)];
        // A source of a consolidation stays superseded by what stands for it.
        if !table.live.row(IdKey::of(&before)).is_some_and(|row| Known::of(row).bound) {
            lines.push(events::supersede(&before, &fact.id, fact.stored_at));
        }
        Ok(lines)
    }
}

/// The live fact with the highest version of a chain, the last stored one among equals: its id and version.
pub fn head(table: &mut Table, chain: IdKey) -> Result<Option<(String, u64)>> {
    let Some((key, version)) = rules::newest(&mut table.live, chain) else { return Ok(None) };
    let is_live = table.live.row(key).filter(|row| row.live);
    if let Some(row) = is_live
        && let Some(id) = id_of(&table.opened.read(row.place.span())?)
    {
        return if IdKey::of(&id) == key { Ok(Some((id, version))) } else { Err(table.distrust()) };
    }
    // The newest was deleted: which one is the next is found among all.
    let mut head: Option<(String, u64)> = None;
    for (_, row) in table.records()? {
        if !row.live || Known::of(row).chain != chain.tag() {
            continue;
        }
        let document = table.opened.read(row.place.span())?;
        let Some(fact) = Fact::read(&document) else { return Err(table.distrust()) };
        // A tag is half of a chain's key.
        let is_it = rules::chain_of(&fact) == chain;
        if is_it && head.as_ref().is_none_or(|(_, version)| fact.version >= *version) {
            head = Some((fact.id.into_owned(), fact.version));
        }
    }
    Ok(head)
}
