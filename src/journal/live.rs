//! Ids to places: what is left when the last record of each id wins.
//!
//! It keeps 32 bytes an id: a 128-bit hash instead of the id, and the place of its record.

use std::collections::HashMap;
use std::hash::{BuildHasherDefault, Hasher};

use super::Replay;
use super::finding::Span;
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
#[derive(Clone, Copy, Debug)]
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

/// The live ids of a journal in which the last record wins: its op `delete` ends an id, every other begins it anew.
#[derive(Debug, Default)]
pub struct LastWins {
    map: KeyMap<Place>,
    bytes: u64,
}

impl LastWins {
    /// Every live id's key and place.
    pub fn places(&self) -> impl Iterator<Item = (IdKey, Place)> {
        self.map.iter().map(|(key, place)| (*key, *place))
    }

    /// The place of a live id.
    #[must_use]
    pub fn get(&self, id: &str) -> Option<Span> {
        self.at(IdKey::of(id))
    }

    /// The place of the live id with this key.
    #[must_use]
    pub fn at(&self, key: IdKey) -> Option<Span> {
        self.map.get(&key).map(|place| place.span())
    }
}

impl Replay for LastWins {
    fn record(&mut self, record: &Record<'_>) {
        if let Some(digest) = Digest::of(record) {
            self.fold(&digest);
        }
    }

    fn fold(&mut self, digest: &Digest) {
        let before = if digest.deletes {
            self.map.remove(&digest.key)
        } else {
            self.bytes += digest.span.len;
            self.map.insert(digest.key, Place::of(digest.span))
        };
        if let Some(before) = before {
            self.bytes -= before.span().len;
        }
    }

    fn live(&self) -> u64 {
        self.map.len() as u64
    }

    fn last_wins(&self) -> Option<&LastWins> {
        Some(self)
    }

    fn live_bytes(&self) -> u64 {
        self.bytes
    }

    fn spans(&self) -> Vec<Span> {
        let mut spans: Vec<Span> = self.map.values().map(|place| place.span()).collect();
        spans.sort_unstable_by_key(|span| span.offset);
        spans
    }
}
