//! Ids to places: what a journal's records add up to.
//!
//! It keeps 32 bytes an id: a 128-bit hash instead of the id, and the place of its record. Rules that need more keep
//! three words beside it. It begins with nothing, or on top of an index, of which it reads only what is asked for.

use std::collections::HashMap;
use std::hash::{BuildHasherDefault, Hasher};
use std::io;

use super::Journal;
use super::finding::Span;
use super::index::Index;
use super::scan::Record;
use super::split::event_id;

/// The first 128 bits of an id's BLAKE3 hash. Two ids that share them would be taken for one; nobody can make two.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct IdKey([u64; 2]);

impl IdKey {
    /// The key of an id.
    #[must_use]
    pub fn of(id: &str) -> IdKey {
        Self::of_parts(&[id])
    }

    /// The key's bits.
    #[must_use]
    pub fn words(self) -> [u64; 2] {
        self.0
    }

    /// The key of these bits.
    #[must_use]
    pub fn from_words(words: [u64; 2]) -> IdKey {
        IdKey(words)
    }

    /// The key of something else that is kept of what this is the key of.
    #[must_use]
    pub fn beside(self, what: u64) -> IdKey {
        IdKey([self.0[0] ^ what.rotate_left(32), self.0[1] ^ what])
    }

    /// Half of the key, for what is only compared; never 0.
    #[must_use]
    pub fn tag(self) -> u64 {
        self.0[0].max(1)
    }

    /// The key of several texts together; their borders count.
    #[must_use]
    pub fn of_parts(parts: &[&str]) -> IdKey {
        let mut hasher = blake3::Hasher::new();
        for part in parts {
            if parts.len() > 1 {
                hasher.update(&(part.len() as u64).to_le_bytes());
            }
            hasher.update(part.as_bytes());
        }
        let hash = hasher.finalize();
        let word = |at: usize| hash.as_bytes()[at..].first_chunk().map_or(0, |b| u64::from_le_bytes(*b));
        IdKey([word(0), word(8)])
    }
}

/// Takes a key's own bits as its hash: they are one already.
#[derive(Default)]
pub struct KeyHasher(u64);

impl Hasher for KeyHasher {
    fn finish(&self) -> u64 {
        self.0
    }
    fn write(&mut self, bytes: &[u8]) {
        for chunk in bytes.chunks(8) {
            let mut word = [0; 8];
            word[..chunk.len()].copy_from_slice(chunk);
            self.write_u64(u64::from_le_bytes(word));
        }
    }
    fn write_u64(&mut self, word: u64) {
        self.0 ^= word;
    }
    fn write_usize(&mut self, _len: usize) {}
}

/// A map by [`IdKey`].
pub type KeyMap<V> = HashMap<IdKey, V, BuildHasherDefault<KeyHasher>>;

/// A place in 12 bytes: no record is longer than 4 GiB.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Place {
    offset: [u32; 2],
    len: u32,
}

impl Place {
    /// The place of a span.
    #[must_use]
    pub fn of(span: Span) -> Place {
        let half = |n: u64| u32::try_from(n & 0xFFFF_FFFF).unwrap_or(u32::MAX);
        Place {
            offset: [half(span.offset), half(span.offset >> 32)],
            len: u32::try_from(span.len).unwrap_or(u32::MAX),
        }
    }

    /// The span of a place.
    #[must_use]
    pub fn span(self) -> Span {
        Span { offset: u64::from(self.offset[0]) | u64::from(self.offset[1]) << 32, len: u64::from(self.len) }
    }
}

/// What replay needs to know of a record in a journal in which the last one wins. It stands for itself, so that one
/// thread can read records and another replay them.
#[derive(Clone, Copy, Debug)]
pub struct Digest {
    /// The id's key.
    pub key: IdKey,
    /// Whether the record ends the id.
    pub deletes: bool,
    /// The record's place.
    pub span: Span,
}

impl Digest {
    /// The digest of a record; `None` where it is about no id.
    #[must_use]
    pub fn of(record: &Record<'_>) -> Option<Digest> {
        let id = event_id(record.event)?;
        Some(Digest { key: IdKey::of(&id), deletes: record.event.op.name == "delete", span: record.span })
    }
}

/// How the records of a journal add up.
#[derive(Clone, Copy, Debug)]
pub enum Rule {
    /// The last record of an id wins, and the op `delete` ends an id: [`Digest`]s are all that is needed, so that several
    /// threads can read the journal.
    LastWins,
    /// A rule of the journal's own. It sees every record, in the order of the file.
    Own(fn(&mut Live, &Record<'_>)),
}

impl Rule {
    /// Whether digests are all that is needed.
    #[must_use]
    pub fn last_wins(self) -> bool {
        matches!(self, Rule::LastWins)
    }
}

/// What is kept under a key.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Row {
    /// Where its record lies.
    pub place: Place,
    /// Whether it is live.
    pub live: bool,
    /// A mark of the journal's rule.
    pub mark: bool,
    /// Whether it is kept beside a record's row, and stands for none of its own.
    pub beside: bool,
    /// Words of the journal's rule.
    pub more: [u64; 3],
}

/// A row without its words: 16 bytes.
#[derive(Clone, Copy, Debug)]
struct Slim {
    place: Place,
    state: State,
}

/// What is known of a key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    Row {
        live: bool,
        mark: bool,
        beside: bool,
    },
    /// The index has it, and a later record has removed it.
    Removed,
}

/// How many events that the daemon skips are told one by one.
const TOLD: usize = 20;

/// What a journal's records add up to, by key: from its first record on, or on top of its index.
#[derive(Debug)]
pub struct Live {
    rule: Rule,
    base: Option<Index>,
    rows: KeyMap<Slim>,
    /// The words of the rows that have any.
    more: KeyMap<[u64; 3]>,
    live: u64,
    bytes: u64,
    skipped: Vec<String>,
    skips: u64,
    /// Why the index could not be read, once that has happened.
    failed: Option<io::Error>,
}

impl Live {
    /// Nothing yet.
    #[must_use]
    pub fn new(journal: &Journal) -> Live {
        Live {
            rule: journal.rule,
            base: None,
            rows: KeyMap::default(),
            more: KeyMap::default(),
            live: 0,
            bytes: 0,
            skipped: Vec::new(),
            skips: 0,
            failed: None,
        }
    }

    /// What the index has.
    #[must_use]
    pub fn over(journal: &Journal, index: Index) -> Live {
        let (live, bytes, skips) = index.sums();
        Live { base: Some(index), live, bytes, skips, ..Live::new(journal) }
    }

    /// The index that this is on top of.
    #[must_use]
    pub fn base(&self) -> Option<&Index> {
        self.base.as_ref()
    }

    /// The index that this was on top of.
    #[must_use]
    pub fn into_base(self) -> Option<Index> {
        self.base
    }

    /// Takes the next record, and hands back its digest where digests are all that is needed.
    pub fn record(&mut self, record: &Record<'_>) -> Option<Digest> {
        match self.rule {
            Rule::LastWins => {
                let digest = Digest::of(record);
                digest.iter().for_each(|digest| self.fold(digest));
                digest
            }
            Rule::Own(rule) => {
                rule(self, record);
                None
            }
        }
    }

    /// Takes the digest of the next record, where the last one wins.
    pub fn fold(&mut self, digest: &Digest) {
        if digest.deletes {
            self.remove(digest.key);
        } else {
            self.set(digest.key, Row { place: Place::of(digest.span), live: true, ..Row::default() });
        }
    }

    /// What is kept under a key.
    pub fn row(&mut self, key: IdKey) -> Option<Row> {
        let Some(slim) = self.rows.get(&key) else { return self.base_row(key) };
        match slim.state {
            State::Row { live, mark, beside } => {
                let more = self.more.get(&key).copied().unwrap_or_default();
                Some(Row { place: slim.place, live, mark, beside, more })
            }
            State::Removed => None,
        }
    }

    fn base_row(&mut self, key: IdKey) -> Option<Row> {
        match self.base.as_ref()?.get(key) {
            Ok(row) => row,
            Err(error) => {
                self.failed = Some(error);
                None
            }
        }
    }

    /// Keeps a row under a key, in the place of what is there.
    pub fn set(&mut self, key: IdKey, row: Row) {
        let slim =
            Slim { place: row.place, state: State::Row { live: row.live, mark: row.mark, beside: row.beside } };
        let before = self.rows.insert(key, slim);
        self.forget(key, before);
        if row.more != [0; 3] {
            self.more.insert(key, row.more);
        } else if !self.more.is_empty() {
            self.more.remove(&key);
        }
        if row.live {
            self.live += 1;
            self.bytes += row.place.span().len;
        }
    }

    /// Keeps nothing more under a key.
    pub fn remove(&mut self, key: IdKey) {
        let removed = Slim { place: Place::default(), state: State::Removed };
        let before = if self.base.is_some() { self.rows.insert(key, removed) } else { self.rows.remove(&key) };
        self.forget(key, before);
        if !self.more.is_empty() {
            self.more.remove(&key);
        }
    }

    /// Takes what was there before out of the sums.
    fn forget(&mut self, key: IdKey, before: Option<Slim>) {
        let (place, live) = match before {
            Some(Slim { place, state: State::Row { live, .. } }) => (place, live),
            Some(Slim { state: State::Removed, .. }) => return,
            None => match self.base_row(key) {
                Some(row) => (row.place, row.live),
                None => return,
            },
        };
        if live {
            match (self.live.checked_sub(1), self.bytes.checked_sub(place.span().len)) {
                (Some(live), Some(bytes)) => (self.live, self.bytes) = (live, bytes),
                _ => self.failed = Some(io::Error::other("the index counts fewer records than it has")),
            }
        }
    }

    /// Remembers an event that the daemon reads and then skips by a rule of its own.
    pub fn skip(&mut self, line: u64, what: &str, id: &str) {
        self.skips += 1;
        if self.skipped.len() < TOLD {
            self.skipped.push(format!("line {line}: {what} ({id}): the daemon reads and ignores it"));
        }
    }

    /// How many ids are live.
    #[must_use]
    pub fn live(&self) -> u64 {
        self.live
    }

    /// How many bytes the live records take.
    #[must_use]
    pub fn live_bytes(&self) -> u64 {
        self.bytes
    }

    /// How many events were skipped.
    #[must_use]
    pub fn skips(&self) -> u64 {
        self.skips
    }

    /// What was skipped, in words.
    #[must_use]
    pub fn notes(&self) -> Vec<String> {
        let mut notes = self.skipped.clone();
        let rest = self.skips - self.skipped.len() as u64;
        if rest > 0 {
            notes.push(format!("{rest} more events that the daemon reads and ignores"));
        }
        notes
    }

    /// The place of a live id; an error where the index cannot be read.
    pub fn get(&mut self, id: &str) -> io::Result<Option<Span>> {
        let row = self.row(IdKey::of(id));
        self.check()?;
        Ok(row.filter(|row| row.live).map(|row| row.place.span()))
    }

    /// An error where the index could not be read.
    pub fn check(&mut self) -> io::Result<()> {
        self.failed.take().map_or(Ok(()), Err)
    }

    /// Hands out every row; an error where the index cannot be read.
    pub fn each_row(&self, take: &mut dyn FnMut(IdKey, Row)) -> io::Result<()> {
        if let Some(index) = &self.base {
            index.each_row(&mut |key, row| {
                if !self.rows.contains_key(&key) {
                    take(key, row);
                }
            })?;
        }
        for (key, row) in self.changes() {
            if let Some(row) = row {
                take(key, row);
            }
        }
        Ok(())
    }

    /// Every row; an error where the index cannot be read.
    pub fn rows(&self) -> io::Result<Vec<(IdKey, Row)>> {
        let mut rows = Vec::with_capacity(self.rows.len());
        self.each_row(&mut |key, row| rows.push((key, row)))?;
        Ok(rows)
    }

    /// What has changed since the index was made: rows, and keys under which nothing is kept any more.
    pub fn changes(&self) -> impl Iterator<Item = (IdKey, Option<Row>)> + '_ {
        self.rows.iter().map(|(key, slim)| match slim.state {
            State::Removed => (*key, None),
            State::Row { live, mark, beside } => {
                let more = self.more.get(key).copied().unwrap_or_default();
                (*key, Some(Row { place: slim.place, live, mark, beside, more }))
            }
        })
    }

    /// How many keys have changed since the index was made.
    #[must_use]
    pub fn changed(&self) -> u64 {
        self.rows.len() as u64
    }

    /// The live records' places, in the order of the file; an error where the index cannot be read.
    pub fn spans(&self) -> io::Result<Vec<Span>> {
        let mut spans: Vec<Span> = match &self.base {
            None => self.rows.values().filter(|slim| slim.is_live()).map(|slim| slim.place.span()).collect(),
            Some(index) => {
                let newer = self.changes().filter_map(|(_, row)| row.filter(|row| row.live));
                let mut spans: Vec<Span> = newer.map(|row| row.place.span()).collect();
                index.each_row(&mut |key, row| {
                    if row.live && !self.rows.contains_key(&key) {
                        spans.push(row.place.span());
                    }
                })?;
                spans
            }
        };
        spans.sort_unstable_by_key(|span| span.offset);
        Ok(spans)
    }
}

impl Slim {
    fn is_live(self) -> bool {
        matches!(self.state, State::Row { live: true, .. })
    }
}
