//! The ids that take the most of a file, by the bytes of all of their records.
//!
//! Where the last record wins, every record has a digest, and each id's bytes are summed up. Facts have none: there it is
//! the live ones, each by its own bytes.

use crate::error::Result;
use crate::journal::Journal;
use crate::journal::finding::Span;
use crate::journal::live::{Digest, IdKey, KeyMap, Live};
use crate::journal::read::{self, Reading};
use crate::journal::replay::Opened;
use crate::journal::split::event_id;

/// How many ids are named.
const NAMED: usize = 10;

/// An id that takes much.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Big {
    /// The id.
    pub id: String,
    /// Bytes of all of its records.
    pub bytes: u64,
    /// How many they are.
    pub records: u64,
    /// Whether it is live.
    pub live: bool,
    /// Bytes of its live record.
    pub live_bytes: u64,
}

/// An id that takes the most so far.
#[derive(Clone, Copy, Debug)]
struct Top {
    key: IdKey,
    bytes: u64,
    records: u64,
    last: Span,
}

/// Each id's sums, and who leads.
#[derive(Debug, Default)]
pub struct Biggest {
    sums: KeyMap<(u64, u64)>,
    /// In their order: more bytes first, then whose last record comes earlier. An id has all of its bytes when its last
    /// record is met, and whoever is in front of it then stays there: what falls out never belongs in again.
    top: Vec<Top>,
}

impl Biggest {
    /// Takes the next record.
    pub fn see(&mut self, digest: &Digest) {
        let (bytes, records) = self.sums.entry(digest.key).or_default();
        *bytes += digest.span.len;
        *records += 1;
        let now = Top { key: digest.key, bytes: *bytes, records: *records, last: digest.span };
        self.lead(now);
    }

    fn lead(&mut self, now: Top) {
        if self.top.len() == NAMED && self.top.last().is_some_and(|last| now.bytes <= last.bytes) {
            return;
        }
        self.top.retain(|top| top.key != now.key);
        let place = self.top.partition_point(|top| top.bytes >= now.bytes);
        self.top.insert(place, now);
        self.top.truncate(NAMED);
    }

    /// The ids by their names, which are read where their last record lies.
    pub fn read(mut self, journal: &Journal, opened: &Opened, live: &mut Live) -> Result<Vec<Big>> {
        self.sums = KeyMap::default();
        if !journal.rule.last_wins() {
            self.facts(live);
        }
        let mut all = Vec::new();
        for top in self.top {
            let bytes = opened.read(top.last)?;
            let id = match read::read(journal.shape, &bytes) {
                Reading::Event { event, .. } if journal.rule.last_wins() => {
                    event_id(&event).map(|id| id.into_owned())
                }
                _ => (journal.id_of)(&bytes),
            };
            let row = live.row(top.key).filter(|row| row.live);
            all.push(Big {
                id: id.unwrap_or_default(),
                bytes: top.bytes,
                records: top.records,
                live: row.is_some(),
                live_bytes: row.map_or(0, |row| row.place.span().len),
            });
        }
        Ok(all)
    }

    /// Takes the live rows, which come in no order: of two that are as long the one that comes earlier leads.
    fn facts(&mut self, live: &Live) {
        for (key, row) in live.changes() {
            let Some(last) = row.filter(|row| row.live).map(|row| row.place.span()) else { continue };
            let now = Top { key, bytes: last.len, records: 1, last };
            let order = |top: &Top| (std::cmp::Reverse(top.bytes), top.last.offset);
            let place = self.top.partition_point(|top| order(top) < order(&now));
            self.top.insert(place, now);
            self.top.truncate(NAMED);
        }
    }
}
