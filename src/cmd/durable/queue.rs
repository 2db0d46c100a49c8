//! What waits for a worker, in the order in which it was sent. A worker keeps it in memory from one claim to the next, and
//! reads of the journal what has come since.

use std::collections::{BTreeSet, HashMap};

use super::session_at;
use crate::error::Result;
use crate::journal::live::IdKey;
use crate::journal::replay::Opened;
use crate::journal::scan::Item;
use crate::journal::table::Table;
use crate::store::durable::JOURNAL;
use crate::store::durable::rules::{self, Known};

/// The sessions whose work can be claimed: some hundred bytes for each of them, and nothing for any other.
#[derive(Debug, Default)]
pub(super) struct Queue {
    /// The one session that counts, if it is one.
    session: Option<IdKey>,
    /// The target whose sessions count, if it is one.
    target: Option<String>,
    /// The journal, as far as it was read.
    read: Option<Opened>,
    waiting: HashMap<IdKey, Known>,
    /// The same, by where the first input lies that waits.
    order: BTreeSet<(u64, IdKey)>,
}

impl Queue {
    /// Nothing yet; of one session, or of the sessions of one target, where it is given.
    pub(super) fn new(session: Option<&str>, target: Option<&str>) -> Queue {
        Queue { session: session.map(IdKey::of), target: target.map(str::to_owned), ..Queue::default() }
    }

    /// Takes what has come since it was last looked. Says which sessions it was about.
    pub(super) fn follow(&mut self, table: &mut Table) -> Result<BTreeSet<IdKey>> {
        let stretch = match &self.read {
            Some(before) => table.opened.grown_from(before)?,
            None => None,
        };
        let mut changed = BTreeSet::new();
        if let Some(stretch) = stretch {
            table.opened.scan_items(&JOURNAL, stretch, &mut |item| {
                if let Item::Record(record) = item
                    && let Some(id) = record.event.record.text("session_id")
                {
                    changed.insert(IdKey::of(&id));
                }
                Ok(())
            })?;
            changed.retain(|key| self.session.is_none_or(|session| session == *key));
        } else {
            // The first time, or in a journal that was compacted.
            (self.waiting, self.order) = (HashMap::new(), BTreeSet::new());
            match self.session {
                Some(session) => changed.extend([session]),
                None => {
                    changed.extend(table.pick(|key, row| Known::of(row).filter(|known| known.due > 0).map(|_| key))?)
                }
            }
        }
        for &key in &changed {
            let known = table.look(|live| rules::by_index_key(live, key))?;
            self.enter(table, key, known)?;
        }
        self.read = Some(table.opened.try_clone()?);
        Ok(changed)
    }

    fn enter(&mut self, table: &mut Table, key: IdKey, known: Option<Known>) -> Result<()> {
        if let Some(before) = self.waiting.remove(&key) {
            self.order.remove(&(before.since, key));
        }
        let Some(known) = known.filter(|known| known.due > 0) else { return Ok(()) };
        if let Some(target) = &self.target
            && session_at(table, key)?.is_none_or(|session| session.target_id != *target)
        {
            return Ok(());
        }
        self.waiting.insert(key, known);
        self.order.insert((known.since, key));
        Ok(())
    }

    /// What waits, the input first that was sent first.
    pub(super) fn in_order(&self) -> impl Iterator<Item = (IdKey, Known)> + '_ {
        self.order.iter().filter_map(|(_, key)| Some((*key, *self.waiting.get(key)?)))
    }
}
