//! The index of a journal in which the last record wins: how far the journal was validated, with what findings, and
//! where the live record of each id lies.
//!
//! It is a cache. It may be deleted at any time, and it is not believed on any doubt: another boot, device, inode, a
//! shorter file, another time of change, other bytes before the validated end. A lookup reads the header, one or two
//! slots and the record itself, however long the journal is; what it finds is held against the id that was asked for.
//! Writers change it behind the lock: the journal first, then the slots, then the header. Readers take no lock: slots
//! may run ahead of the header, and then show a newer record, never a wrong one.
//!
//! A header of 4 KiB, then slots of 32 bytes: key, offset, length, and a word with the state and a check of the rest.
//! A free slot is all zero, and ends the search.

use std::fs::{self, File, OpenOptions};
use std::io;
use std::os::unix::fs::{FileExt, MetadataExt};
use std::path::PathBuf;

use serde::{Deserialize, Serialize};

use super::files::DataDir;
use super::finding::{Class, Finding, Reaction, Span};
use super::live::{Digest, IdKey, KeyMap, LastWins, Place};
use super::lock::Lock;
use super::replay::{Opened, Seen};
use super::scan::{Item, Stretch};
use super::{Journal, Replay};
use crate::error::Result;

const MAGIC: &[u8; 8] = b"CRUXIX01";
const HEADER: usize = 4096;
/// Bytes of the header in front of its checksum.
const SUMMED: usize = HEADER - 32;
/// Where the first findings begin in the header.
const NOTES: usize = 168;
const SLOT: usize = 32;
/// How many slots are read at once: with a table that is half full, most searches end in the first read.
const SLOTS_AT_ONCE: usize = 8;
/// How many bytes before the validated end are held against the header.
const TAIL: u64 = 4096;
/// A shorter journal is read faster than its index is kept.
pub const WORTH_IT: u64 = 1 << 20;

const LIVE: u32 = 1;
const DELETED: u32 = 2;

/// What a header says.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct Header {
    dev: u64,
    ino: u64,
    validated: u64,
    lines: u64,
    mtime: (i64, i64),
    tail: [u8; 16],
    slots: u64,
    used: u64,
    records: u64,
    damage: u64,
    daemon: u64,
    foreign: u64,
    first: Vec<Told>,
}

/// A damage as the header keeps it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
struct Told {
    line: u64,
    offset: u64,
    len: u64,
    class: String,
    why: String,
}

/// An index that was believed when it was opened.
#[derive(Debug)]
pub struct Index {
    file: File,
    header: Header,
    boot: [u8; 16],
}

/// Where indexes lie.
#[must_use]
pub fn folder(dir: &DataDir) -> PathBuf {
    dir.own().join("index")
}

/// Where the index of a journal lies.
#[must_use]
pub fn path(dir: &DataDir, journal: &Journal) -> PathBuf {
    folder(dir).join(format!("{}.index", journal.name))
}

impl Index {
    /// Opens the index of a journal if it can be believed.
    #[must_use]
    pub fn open(dir: &DataDir, journal: &Journal, opened: &Opened, for_writing: bool) -> Option<Index> {
        let (boot, journal_file) = (dir.boot?, opened.file.as_ref()?);
        let path = path(dir, journal);
        if opened.len < WORTH_IT || !path.is_file() {
            return None;
        }
        let file = OpenOptions::new().read(true).write(for_writing).open(&path).ok()?;
        let mut bytes = vec![0; HEADER];
        file.read_exact_at(&mut bytes, 0).ok()?;
        let header = Header::from_bytes(&bytes, &boot)?;
        let data = journal_file.metadata().ok()?;
        let long_enough = file.metadata().ok()?.len() >= HEADER as u64 + header.slots * SLOT as u64;
        let same = (data.dev(), data.ino()) == (header.dev, header.ino);
        // A journal that has not grown must not have changed; one that has must still have the same end there.
        let unchanged = data.len() != header.validated || (data.mtime(), data.mtime_nsec()) == header.mtime;
        let believed = long_enough && same && unchanged && data.len() >= header.validated;
        (believed && tail(journal_file, header.validated).ok()? == header.tail).then_some(Index {
            file,
            header,
            boot,
        })
    }

    /// The live record of an id.
    fn get(&self, key: IdKey) -> io::Result<Option<Place>> {
        let mut found = None;
        self.probe(key, &mut |slot| {
            if slot.key == key.words() {
                found = (slot.state == LIVE).then_some(slot.place);
                return true;
            }
            slot.state == 0
        })?;
        Ok(found)
    }

    /// Walks the slots in which a key may be until `done` says so; says where that was.
    fn probe(&self, key: IdKey, done: &mut dyn FnMut(&Slot) -> bool) -> io::Result<Option<u64>> {
        let slots = self.header.slots;
        let mut at = key.words()[0] & (slots - 1);
        let mut bytes = [0; SLOT * SLOTS_AT_ONCE];
        let mut walked = 0;
        while walked < slots {
            let here = (slots - at).min(SLOTS_AT_ONCE as u64);
            let part = &mut bytes[..SLOT * usize::try_from(here).unwrap_or(SLOTS_AT_ONCE)];
            self.file.read_exact_at(part, place_of(at))?;
            for (n, slot) in part.chunks_exact(SLOT).enumerate() {
                if done(&Slot::from_bytes(slot)?) {
                    return Ok(Some(at + n as u64));
                }
            }
            walked += here;
            at = (at + here) & (slots - 1);
        }
        Ok(None)
    }

    /// Every live record's place, in the order of the table.
    fn places(&self) -> io::Result<Vec<(IdKey, Place)>> {
        let mut live = Vec::new();
        let mut block = vec![0; 1 << 18];
        let (mut at, end) = (HEADER as u64, HEADER as u64 + self.header.slots * SLOT as u64);
        while at < end {
            let want = usize::try_from(end - at).unwrap_or(usize::MAX).min(block.len());
            self.file.read_exact_at(&mut block[..want], at)?;
            for slot in block[..want].chunks_exact(SLOT).map(Slot::from_bytes) {
                let slot = slot?;
                if slot.state == LIVE {
                    live.push((IdKey::from_words(slot.key), slot.place));
                }
            }
            at += want as u64;
        }
        Ok(live)
    }

    /// About how many ids it says otherwise than a replay of the journal, as it was opened. An index that was brought
    /// further meanwhile says nothing about that.
    #[must_use]
    pub fn differs(&self, opened: &Opened, live: &LastWins) -> u64 {
        if self.header.validated != opened.len {
            return 0;
        }
        let Ok(places) = self.places() else { return live.live().max(1) };
        let same = places.iter().filter(|(key, place)| live.at(*key).is_some_and(|at| at == place.span())).count();
        (live.live().max(places.len() as u64)) - same as u64
    }

    /// Writes what a record has changed.
    fn put(&mut self, digest: &Digest) -> io::Result<()> {
        let mut fresh = false;
        let place = self.probe(digest.key, &mut |slot| {
            fresh = slot.state == 0;
            fresh || slot.key == digest.key.words()
        })?;
        if fresh && digest.deletes {
            return Ok(());
        }
        let Some(at) = place else { return Err(io::Error::other("the table is full")) };
        self.header.used += u64::from(fresh);
        let state = if digest.deletes { DELETED } else { LIVE };
        let slot = Slot { key: digest.key.words(), place: Place::of(digest.span), state };
        self.file.write_all_at(&slot.to_bytes(), place_of(at))
    }

    /// What the validated part of the journal has, in numbers.
    fn seen(&self) -> Seen {
        let mut seen = Seen { records: self.header.records, ..Seen::default() };
        seen.totals.bytes = self.header.validated;
        seen.totals.lines = self.header.lines;
        seen.damage = self.header.damage;
        seen.daemon = self.header.daemon;
        seen.foreign = self.header.foreign;
        seen.first = self.header.first.iter().filter_map(Told::finding).collect();
        seen
    }
}

/// The live records of a journal as its index has them, and what came behind the validated end.
#[derive(Debug)]
pub struct Indexed {
    index: Index,
    /// Ids that records behind the validated end are about; `None`: deleted.
    newer: KeyMap<Option<Place>>,
}

impl Indexed {
    /// Opens the index of a journal and reads what is behind its validated end. `None` where there is none to believe.
    pub fn open(dir: &DataDir, journal: &Journal, opened: &Opened) -> Result<Option<(Indexed, Seen)>> {
        let Some(index) = Index::open(dir, journal, opened, false) else { return Ok(None) };
        let mut newer = KeyMap::default();
        let mut seen = index.seen();
        let more = opened.scan_items(journal, index.rest(opened), &mut |item| {
            if let Item::Record(record) = item
                && let Some(digest) = Digest::of(record)
            {
                newer.insert(digest.key, (!digest.deletes).then(|| Place::of(digest.span)));
            }
            Ok(())
        })?;
        seen.add(more);
        Ok(Some((Indexed { index, newer }, seen)))
    }

    /// The place of a live id; an error where the index cannot be read.
    pub fn get(&self, id: &str) -> io::Result<Option<Span>> {
        let key = IdKey::of(id);
        let place = match self.newer.get(&key) {
            Some(place) => *place,
            None => self.index.get(key)?,
        };
        Ok(place.map(Place::span))
    }

    /// The live records' places, in the order of the file; an error where the index cannot be read.
    pub fn spans(&self) -> io::Result<Vec<Span>> {
        let old =
            self.index.places()?.into_iter().filter(|(key, _)| !self.newer.contains_key(key)).map(|(_, place)| place);
        let mut spans: Vec<Span> = old.chain(self.newer.values().flatten().copied()).map(Place::span).collect();
        spans.sort_unstable_by_key(|span| span.offset);
        Ok(spans)
    }

    /// How many live ids there are at the most.
    #[must_use]
    pub fn at_most(&self) -> u64 {
        self.index.header.used + self.newer.len() as u64
    }

    /// How many bytes lie behind the validated end.
    #[must_use]
    pub fn behind(&self, opened: &Opened) -> u64 {
        opened.len.saturating_sub(self.index.header.validated)
    }
}

impl Index {
    fn rest(&self, opened: &Opened) -> Stretch {
        let header = &self.header;
        // A writer may have brought it further than this reader looked.
        let to = opened.len.max(header.validated);
        Stretch { from: header.validated, lines_before: header.lines, ..Stretch::whole(to) }
    }
}

/// Throws an index away.
pub fn remove(dir: &DataDir, journal: &Journal, _lock: &Lock) {
    // One that cannot be removed is as wrong as before, and as little believed.
    let _ = fs::remove_file(path(dir, journal));
}

/// Brings the index of a journal up to date behind the lock, as far as its lines have line ends. An index that cannot
/// be kept is removed: nothing depends on it.
pub fn catch_up(dir: &DataDir, journal: &Journal, opened: &Opened, lock: &Lock) {
    let Some(mut index) = Index::open(dir, journal, opened, true) else { return };
    if fold(dir, journal, opened, &mut index, lock).is_none() {
        remove(dir, journal, lock);
    }
}

fn fold(dir: &DataDir, journal: &Journal, opened: &Opened, index: &mut Index, lock: &Lock) -> Option<()> {
    let file = opened.file.as_ref()?;
    if opened.len == index.header.validated {
        return Some(());
    }
    // A tail without its line end may still change: it is left for the next time.
    if opened.ends_open().ok()? {
        return Some(());
    }
    let mut digests = Vec::new();
    let rest = index.rest(opened);
    let seen = opened
        .scan_items(journal, rest, &mut |item| {
            if let Item::Record(record) = item {
                digests.extend(Digest::of(record));
            }
            Ok(())
        })
        .ok()?;
    // Room for all of them, and the table never more than three quarters full.
    if (index.header.used + digests.len() as u64) * 4 > index.header.slots * 3 {
        let mut live = LastWins::default();
        for (key, place) in index.places().ok()? {
            live.fold(&Digest { key, deletes: false, span: place.span() });
        }
        digests.iter().for_each(|digest| live.fold(digest));
        let mut all = index.seen();
        all.add(seen);
        build(dir, journal, opened, &live, &all, lock);
        return Some(());
    }
    for digest in &digests {
        index.put(digest).ok()?;
    }
    let mut all = index.seen();
    all.add(seen);
    let used = index.header.used;
    let header = Header::of(opened, file, index.header.slots, used, &all).ok()?;
    index.file.write_all_at(&header.to_bytes(&index.boot), 0).ok()
}

/// Writes the index of a journal afresh behind the lock, from a replay of all of it. Says whether it is there.
pub fn build(dir: &DataDir, journal: &Journal, opened: &Opened, live: &LastWins, seen: &Seen, _lock: &Lock) -> bool {
    let built = || -> Option<()> {
        let (boot, file) = (dir.boot?, opened.file.as_ref()?);
        if opened.len < WORTH_IT || opened.ends_open().ok()? {
            return None;
        }
        let path = path(dir, journal);
        let folder = path.parent()?;
        dir.make(folder).ok()?;
        let slots = (live.live() * 2).next_power_of_two().max(1024);
        let header = Header::of(opened, file, slots, live.live(), seen).ok()?;
        let mut table = vec![0; SLOT * usize::try_from(slots).ok()?];
        for (key, place) in live.places() {
            let mut at = key.words()[0] & (slots - 1);
            loop {
                let from = SLOT * usize::try_from(at).ok()?;
                let slot = table.get_mut(from..from + SLOT)?;
                if slot[28..] == [0; 4] {
                    slot.copy_from_slice(&Slot { key: key.words(), place, state: LIVE }.to_bytes());
                    break;
                }
                at = (at + 1) & (slots - 1);
            }
        }
        let temp = folder.join(format!(".{}.index.tmp", journal.name));
        let _ = fs::remove_file(&temp);
        let copy = dir.create_new(&temp, false).ok()?;
        let written = copy
            .write_all_at(&header.to_bytes(&boot), 0)
            .and_then(|()| copy.write_all_at(&table, HEADER as u64))
            .and_then(|()| fs::rename(&temp, &path));
        if written.is_err() {
            let _ = fs::remove_file(&temp);
        }
        written.ok()
    };
    built().is_some()
}

/// The hash of the last bytes before `end`.
fn tail(file: &File, end: u64) -> io::Result<[u8; 16]> {
    let len = end.min(TAIL);
    let mut bytes = vec![0; usize::try_from(len).unwrap_or(0)];
    file.read_exact_at(&mut bytes, end - len)?;
    let mut hash = [0; 16];
    hash.copy_from_slice(&blake3::hash(&bytes).as_bytes()[..16]);
    Ok(hash)
}

/// Where a slot lies in the file.
fn place_of(slot: u64) -> u64 {
    HEADER as u64 + slot * SLOT as u64
}

struct Slot {
    key: [u64; 2],
    place: Place,
    state: u32,
}

impl Slot {
    fn from_bytes(bytes: &[u8]) -> io::Result<Slot> {
        let word = |at: usize| bytes[at..].first_chunk().map_or(0, |b| u64::from_le_bytes(*b));
        let half = |at: usize| bytes[at..].first_chunk().map_or(0, |b| u32::from_le_bytes(*b));
        let place = Place::of(Span { offset: word(16), len: u64::from(half(24)) });
        let slot = Slot { key: [word(0), word(8)], place, state: half(28) & 0xFF };
        // A slot whose bytes were changed by anything but us must not hide an id.
        if slot.to_bytes()[..] != *bytes {
            return Err(io::Error::other("a slot of the index is damaged"));
        }
        Ok(slot)
    }

    fn to_bytes(&self) -> [u8; SLOT] {
        let mut bytes = [0; SLOT];
        if self.state == 0 {
            return bytes;
        }
        let span = self.place.span();
        bytes[..8].copy_from_slice(&self.key[0].to_le_bytes());
        bytes[8..16].copy_from_slice(&self.key[1].to_le_bytes());
        bytes[16..24].copy_from_slice(&span.offset.to_le_bytes());
        // A place keeps lengths in 32 bits.
        bytes[24..28].copy_from_slice(&span.len.to_le_bytes()[..4]);
        let mixed = [self.key[0], self.key[1], span.offset, span.len, u64::from(self.state)]
            .iter()
            .fold(0u64, |sum, word| (sum ^ word).wrapping_mul(0x9E37_79B9_7F4A_7C15).rotate_left(29));
        let [.., a, b, c] = mixed.to_le_bytes();
        let state = self.state.to_le_bytes()[0];
        bytes[28..].copy_from_slice(&[state, a, b, c]);
        bytes
    }
}

impl Header {
    /// The header of a journal that was read as far as it was long when it was opened.
    fn of(opened: &Opened, file: &File, slots: u64, used: u64, seen: &Seen) -> io::Result<Header> {
        let data = file.metadata()?;
        let validated = opened.len;
        if data.len() == validated && (data.mtime(), data.mtime_nsec()) != opened.mtime {
            return Err(io::Error::other("the journal was changed in place while it was read"));
        }
        Ok(Header {
            dev: data.dev(),
            ino: data.ino(),
            validated,
            lines: seen.totals.lines,
            mtime: (data.mtime(), data.mtime_nsec()),
            tail: tail(file, validated)?,
            slots,
            used,
            records: seen.records,
            damage: seen.damage,
            daemon: seen.daemon,
            foreign: seen.foreign,
            first: seen.first.iter().map(Told::of).collect(),
        })
    }

    fn words(&self) -> [u64; 13] {
        let (seconds, nanos) = self.mtime;
        [
            self.dev,
            self.ino,
            self.validated,
            self.lines,
            seconds.cast_unsigned(),
            nanos.cast_unsigned(),
            self.slots,
            self.used,
            self.records,
            self.damage,
            self.daemon,
            self.foreign,
            0,
        ]
    }

    fn to_bytes(&self, boot: &[u8; 16]) -> Vec<u8> {
        let mut bytes = Vec::with_capacity(HEADER);
        bytes.extend_from_slice(MAGIC);
        bytes.extend_from_slice(boot);
        self.words().iter().for_each(|word| bytes.extend_from_slice(&word.to_le_bytes()));
        bytes.extend_from_slice(&self.tail);
        bytes.resize(NOTES, 0);
        let notes = serde_json::to_vec(&self.first).unwrap_or_default();
        bytes.extend_from_slice(&notes);
        bytes.resize(SUMMED, b' ');
        let sum = blake3::hash(&bytes);
        bytes.extend_from_slice(sum.as_bytes());
        bytes
    }

    fn from_bytes(bytes: &[u8], boot: &[u8; 16]) -> Option<Header> {
        let (body, sum) = bytes.split_at_checked(SUMMED)?;
        let whole = body.starts_with(MAGIC) && body[8..24] == *boot && blake3::hash(body).as_bytes()[..] == *sum;
        if !whole {
            return None;
        }
        let word = |n: usize| body[24 + 8 * n..].first_chunk().map_or(0, |b| u64::from_le_bytes(*b));
        let header = Header {
            dev: word(0),
            ino: word(1),
            validated: word(2),
            lines: word(3),
            mtime: (word(4).cast_signed(), word(5).cast_signed()),
            slots: word(6),
            used: word(7),
            records: word(8),
            damage: word(9),
            daemon: word(10),
            foreign: word(11),
            tail: *body[128..].first_chunk()?,
            first: serde_json::from_slice(&body[NOTES..]).ok()?,
        };
        header.slots.is_power_of_two().then_some(header)
    }
}

/// How much of a damage's words the header keeps.
const WORDS: usize = 200;

impl Told {
    fn of(finding: &Finding) -> Told {
        Told {
            line: finding.line,
            offset: finding.span.offset,
            len: finding.span.len,
            class: finding.class.name().to_owned(),
            why: finding.why.chars().take(WORDS).collect(),
        }
    }

    fn finding(&self) -> Option<Finding> {
        let class = Class::ALL.into_iter().find(|class| class.name() == self.class)?;
        Some(Finding {
            line: self.line,
            line_start: self.offset,
            span: Span { offset: self.offset, len: self.len },
            class,
            why: self.why.clone(),
            reaction: Reaction::LosesLine,
            ids: Vec::new(),
            head: Vec::new(),
            possible: Vec::new(),
        })
    }
}
