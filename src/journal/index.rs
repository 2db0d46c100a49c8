//! The index of a journal: how far it was validated, with what findings, and what its records add up to: where the live
//! record of each id lies, and what the journal's rule keeps beside it.
//!
//! It is a cache. It may be deleted at any time, and it is not believed on any doubt: another boot, device, inode, a
//! shorter file, another time of change, other bytes before the validated end. A lookup reads the header, one or two
//! slots and the record itself, however long the journal is; what it finds is held against the id that was asked for.
//! Writers change it behind the lock: the journal first, then a mark in the header that says so, then the slots, then
//! the header, which ends the mark. Readers take no lock: slots may run ahead of the header that was read, and then show
//! a newer record, never a wrong one. What counts records looks at the header again ([`Index::is_still`]).
//!
//! A header of 4 KiB, then slots of 32 bytes: key, offset, length, and a word with the state and a check of the rest; of
//! 64 bytes where the journal's rule keeps words of its own. A free slot ends the search. The check of a slot, free or
//! not, covers where it lies and in how large a table: a slot that came from elsewhere, and zeros, are damage.

use std::fs::{self, File};
use std::io;
use std::ops::Range;
use std::os::unix::fs::FileExt;
use std::path::PathBuf;

use serde::{Deserialize, Serialize};
use twox_hash::XxHash3_64;

use super::Journal;
use super::anchor::Anchor;
use super::files::{self, DataDir, half, word};
use super::finding::{Class, Finding, Reaction, Span};
use super::live::{IdKey, Live, Place, Row};
use super::lock::Lock;
use super::replay::{Opened, Seen};
use super::scan::Stretch;

const MAGIC: &[u8; 8] = b"CRUXIX07";
/// Stands in the place of the magic while slots are changed. Where a process was killed then, it stays.
const CHANGING: &[u8; 8] = b"CRUXIX--";
const HEADER: usize = 4096;
/// Bytes of the header in front of its checksum.
const SUMMED: usize = HEADER - 32;
/// Where the first findings begin in the header.
const NOTES: usize = 168;
/// Numbers of the header.
const WORDS: usize = 16;
/// More than a journal can have of anything that is counted.
const MOST: u64 = 1 << 56;
const SLOT: usize = 32;
const WIDE: usize = 64;
/// How many slots are read at once: with a table that is half full, most searches end in the first read.
const SLOTS_AT_ONCE: usize = 8;
/// How many slots of a new table are in memory at once.
const SEGMENT: u64 = 1 << 17;
/// A shorter journal is read faster than its index is kept.
pub const WORTH_IT: u64 = 1 << 20;

const USED: u32 = 1;
const LIVE: u32 = 2;
const MARK: u32 = 4;
const GONE: u32 = 8;
const BESIDE: u32 = 16;

/// What a header says.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct Header {
    anchor: Anchor,
    lines: u64,
    slots: u64,
    used: u64,
    records: u64,
    damage: u64,
    daemon: u64,
    foreign: u64,
    live: u64,
    live_bytes: u64,
    skips: u64,
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
    /// The checksum of the header as it was read.
    sum: [u8; 32],
    boot: [u8; 16],
    wide: Wide,
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
        if opened.len < WORTH_IT {
            return None;
        }
        let file = files::open_kept(&path, for_writing).ok()??;
        let mut bytes = vec![0; HEADER];
        file.read_exact_at(&mut bytes, 0).ok()?;
        let header = Header::from_bytes(&bytes, &boot)?;
        let wide = Wide::of(journal);
        let long_enough = file.metadata().ok()?.len() >= wide.place_of(header.slots);
        let believed = long_enough && header.anchor.holds(journal_file).ok()?;
        let sum = *bytes.last_chunk()?;
        believed.then_some(Index { file, header, sum, boot, wide })
    }

    /// Whether a writer is at the index of a journal, or was when it was killed.
    #[must_use]
    pub fn is_changing(dir: &DataDir, journal: &Journal) -> bool {
        let mut magic = [0; 8];
        let file = files::open_kept(&path(dir, journal), false).ok().flatten();
        file.is_some_and(|file| file.read_exact_at(&mut magic, 0).is_ok() && magic == *CHANGING)
    }

    /// Whether nobody has changed it since it was opened.
    #[must_use]
    pub fn is_still(&self) -> bool {
        let mut bytes = vec![0; HEADER];
        self.file.read_exact_at(&mut bytes, 0).is_ok() && bytes.starts_with(MAGIC) && bytes.ends_with(&self.sum)
    }

    /// What it keeps under a key.
    pub fn get(&self, key: IdKey) -> io::Result<Option<Row>> {
        let mut found = None;
        self.probe(key, &mut |slot| match slot {
            None => true,
            Some(slot) if slot.key == key.words() => {
                found = slot.row;
                true
            }
            Some(_) => false,
        })?;
        Ok(found)
    }

    /// Walks the slots in which a key may be until `done` says so; says where that was.
    fn probe(&self, key: IdKey, done: &mut dyn FnMut(Option<Slot>) -> bool) -> io::Result<Option<u64>> {
        let (slots, size) = (self.header.slots, self.wide.size());
        let mut at = key.words()[0] & (slots - 1);
        let mut bytes = [0; WIDE * SLOTS_AT_ONCE];
        let mut walked = 0;
        while walked < slots {
            let here = (slots - at).min(SLOTS_AT_ONCE as u64);
            let part = &mut bytes[..size * usize::try_from(here).unwrap_or(SLOTS_AT_ONCE)];
            self.file.read_exact_at(part, self.wide.place_of(at))?;
            for (n, slot) in part.chunks_exact(size).enumerate() {
                let home = Home { at: at + n as u64, slots };
                if done(Slot::from_bytes(slot, home)?) {
                    return Ok(Some(home.at));
                }
            }
            walked += here;
            at = (at + here) & (slots - 1);
        }
        Ok(None)
    }

    /// Hands out every row. An error where slots are damaged, or where there are others than the header counts.
    pub fn each_row(&self, take: &mut dyn FnMut(IdKey, Row)) -> io::Result<()> {
        let (slots, size) = (self.header.slots, self.wide.size());
        let mut block = vec![0; 1 << 18];
        let (mut at, mut used, mut live) = (0, 0, 0);
        while at < slots {
            let here = (slots - at).min((block.len() / size) as u64);
            let part = &mut block[..size * slot_count(here)];
            self.file.read_exact_at(part, self.wide.place_of(at))?;
            for slot in part.chunks_exact(size) {
                let found = Slot::from_bytes(slot, Home { at, slots })?;
                at += 1;
                used += u64::from(found.is_some());
                if let Some(Slot { key, row: Some(row) }) = found {
                    live += u64::from(row.live);
                    take(IdKey::from_words(key), row);
                }
            }
        }
        // Where a writer is at it, slots run ahead of the header.
        if (used, live) != (self.header.used, self.header.live) && self.is_still() {
            return Err(io::Error::other("the index has other slots than it counts"));
        }
        Ok(())
    }

    /// Live ids, their bytes, and events that were skipped.
    #[must_use]
    pub fn sums(&self) -> (u64, u64, u64) {
        (self.header.live, self.header.live_bytes, self.header.skips)
    }

    /// About how many keys it says otherwise than a replay of the journal, as it was opened. An index that was brought
    /// further meanwhile says nothing about that.
    #[must_use]
    pub fn differs(&self, opened: &Opened, live: &mut Live) -> u64 {
        if self.header.anchor.end != opened.len {
            return 0;
        }
        let (mut rows, mut same) = (0, 0);
        let read = self.each_row(&mut |key, row| {
            rows += 1;
            same += u64::from(live.row(key) == Some(row));
        });
        if read.is_err() {
            return live.changed().max(1);
        }
        let sums = self.sums() != (live.live(), live.live_bytes(), live.skips());
        (live.changed().max(rows) - same).max(u64::from(sums))
    }

    /// Writes what is kept under a key from now on.
    fn put(&mut self, key: IdKey, row: Option<Row>) -> io::Result<()> {
        let mut fresh = false;
        let place = self.probe(key, &mut |slot| {
            fresh = slot.is_none();
            slot.is_none_or(|slot| slot.key == key.words())
        })?;
        if fresh && row.is_none() {
            return Ok(());
        }
        let Some(at) = place else { return Err(io::Error::other("the table is full")) };
        self.header.used += u64::from(fresh);
        let slot = Slot { key: key.words(), row };
        let bytes = Slot::to_bytes(Some(&slot), Home { at, slots: self.header.slots });
        self.file.write_all_at(&bytes[..self.wide.size()], self.wide.place_of(at))
    }

    /// What the validated part of the journal has, in numbers.
    #[must_use]
    pub fn seen(&self) -> Seen {
        let mut seen = Seen { records: self.header.records, ..Seen::default() };
        seen.totals.bytes = self.header.anchor.end;
        seen.totals.lines = self.header.lines;
        seen.damage = self.header.damage;
        seen.daemon = self.header.daemon;
        seen.foreign = self.header.foreign;
        seen.first = self.header.first.iter().filter_map(Told::finding).collect();
        seen
    }
}

impl Index {
    /// How many bytes lie behind the validated end.
    #[must_use]
    pub fn behind(&self, opened: &Opened) -> u64 {
        opened.len.saturating_sub(self.header.anchor.end)
    }

    /// What comes behind the validated end.
    #[must_use]
    pub fn rest(&self, opened: &Opened) -> Stretch {
        let header = &self.header;
        Stretch { from: header.anchor.end, lines_before: header.lines, ..Stretch::whole(opened.len) }
    }

    /// Whether it was brought further than a journal was long when it was opened.
    #[must_use]
    pub fn is_ahead(&self, opened: &Opened) -> bool {
        self.header.anchor.end > opened.len
    }
}

/// Throws an index away.
pub fn remove(dir: &DataDir, journal: &Journal, _lock: &Lock) {
    // One that cannot be removed is found out again by whoever opens it.
    let _ = fs::remove_file(path(dir, journal));
}

/// Brings the index of a journal up to date behind the lock, as far as its lines have line ends. An index that cannot
/// be kept is removed: nothing depends on it.
pub fn catch_up(dir: &DataDir, journal: &Journal, opened: &Opened, lock: &Lock) {
    let Some(index) = Index::open(dir, journal, opened, true) else { return };
    if fold(dir, journal, opened, index, lock).is_none() {
        remove(dir, journal, lock);
    }
}

fn fold(dir: &DataDir, journal: &Journal, opened: &Opened, index: Index, lock: &Lock) -> Option<()> {
    let file = opened.file.as_ref()?;
    if opened.len == index.header.anchor.end || index.is_ahead(opened) {
        return Some(());
    }
    // A tail without its line end may still change: it is left for the next time.
    if opened.ends_open().ok()? {
        return Some(());
    }
    let (rest, mut all) = (index.rest(opened), index.seen());
    let mut live = Live::over(journal, index);
    let seen = opened.add_to(journal, rest, &mut live).ok()?;
    live.check().ok()?;
    all.add(seen);
    let changes: Vec<(IdKey, Option<Row>)> = live.changes().collect();
    let sums = (live.live(), live.live_bytes(), live.skips());
    // Room for all of them, and the table never more than three quarters full.
    let base = live.base()?;
    if (base.header.used + live.changed()) * 4 > base.header.slots * 3 {
        build(dir, journal, opened, &live, &all, lock);
        return Some(());
    }
    let mut index = live.into_base()?;
    index.file.write_all_at(CHANGING, 0).ok()?;
    for (key, row) in changes {
        index.put(key, row).ok()?;
    }
    let header = Header::of(opened, file, (index.header.slots, index.header.used), sums, &all).ok()?;
    index.file.write_all_at(&header.to_bytes(&index.boot), 0).ok()
}

/// Writes the index of a journal afresh behind the lock, from what all of it adds up to. Says whether it is there.
pub fn build(dir: &DataDir, journal: &Journal, opened: &Opened, live: &Live, seen: &Seen, _lock: &Lock) -> bool {
    let built = || -> Option<()> {
        let (boot, file) = (dir.boot?, opened.file.as_ref()?);
        if opened.len < WORTH_IT || opened.ends_open().ok()? {
            return None;
        }
        let path = path(dir, journal);
        let folder = path.parent()?;
        dir.make(folder).ok()?;
        let temp = folder.join(format!(".{}.index.tmp", journal.name));
        let _ = fs::remove_file(&temp);
        let copy = dir.create_new(&temp, false).ok()?;
        let written = table(journal, live, &copy)
            .and_then(|sizes| Header::of(opened, file, sizes, (live.live(), live.live_bytes(), live.skips()), seen))
            .and_then(|header| copy.write_all_at(&header.to_bytes(&boot), 0))
            .and_then(|()| fs::rename(&temp, &path));
        if written.is_err() {
            let _ = fs::remove_file(&temp);
        }
        written.ok()
    };
    built().is_some()
}

/// Writes the table of all rows to a new file, a segment at a time. Says how many slots it has, and how many are used.
fn table(journal: &Journal, live: &Live, copy: &File) -> io::Result<(u64, u64)> {
    let merged = live.base().map(|_| live.rows()).transpose()?;
    let used = merged.as_ref().map_or(live.changed(), |rows| rows.len() as u64);
    let (wide, slots) = (Wide::of(journal), (used * 2).next_power_of_two().max(1024));
    let segment = slots.min(SEGMENT);
    let size = wide.size();
    // A row whose place is taken goes to the next, in the end to those of the first segment: that one is written last.
    let mut first = Vec::new();
    let mut over: Vec<(IdKey, Row)> = Vec::new();
    for from in (0..=slots).step_by(usize::try_from(segment).unwrap_or(usize::MAX)) {
        let again = from == slots;
        let from = from & (slots - 1);
        let mut bytes = if again { std::mem::take(&mut first) } else { free(wide, from..from + segment, slots) };
        let mut next = Vec::new();
        let mut place = |key: IdKey, row: Row, home: u64| {
            let mut rest = bytes.chunks_exact_mut(size).skip(slot_count(home)).zip(from + home..);
            match rest.find(|(slot, _)| Slot::is_free(slot)) {
                Some((bytes, at)) => {
                    let slot = Slot { key: key.words(), row: Some(row) };
                    bytes.copy_from_slice(&Slot::to_bytes(Some(&slot), Home { at, slots })[..size]);
                }
                None => next.push((key, row)),
            }
        };
        std::mem::take(&mut over).into_iter().for_each(|(key, row)| place(key, row, 0));
        if !again {
            let mut take = |key: IdKey, row: Row| {
                let home = key.words()[0] & (slots - 1);
                if (from..from + segment).contains(&home) {
                    place(key, row, home - from);
                }
            };
            match &merged {
                Some(rows) => rows.iter().for_each(|(key, row)| take(*key, *row)),
                None => live.changes().filter_map(|(key, row)| Some((key, row?))).for_each(|(k, row)| take(k, row)),
            }
        }
        over = next;
        if from == 0 && !again {
            first = bytes;
        } else {
            copy.write_all_at(&bytes, wide.place_of(from))?;
        }
    }
    // Half of the slots are free: a row always finds one.
    if over.is_empty() { Ok((slots, used)) } else { Err(io::Error::other("the table is full")) }
}

/// The bytes of free slots of a table.
fn free(wide: Wide, range: Range<u64>, slots: u64) -> Vec<u8> {
    let size = wide.size();
    let mut bytes = vec![0; size * slot_count(range.end - range.start)];
    for (slot, at) in bytes.chunks_exact_mut(size).zip(range) {
        slot.copy_from_slice(&Slot::to_bytes(None, Home { at, slots })[..size]);
    }
    bytes
}

fn slot_count(slots: u64) -> usize {
    usize::try_from(slots).unwrap_or(usize::MAX)
}

/// How much of a row its slots keep.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Wide {
    /// 32 bytes: the place.
    No,
    /// 64 bytes: the words of the journal's rule as well.
    Yes,
}

impl Wide {
    fn of(journal: &Journal) -> Wide {
        if journal.rule.last_wins() { Wide::No } else { Wide::Yes }
    }

    fn size(self) -> usize {
        match self {
            Wide::No => SLOT,
            Wide::Yes => WIDE,
        }
    }

    /// Where a slot lies in the file.
    fn place_of(self, slot: u64) -> u64 {
        HEADER as u64 + slot * self.size() as u64
    }
}

/// Where a slot lies: which one it is, of how many.
#[derive(Clone, Copy)]
struct Home {
    at: u64,
    slots: u64,
}

/// A slot that is in use.
struct Slot {
    key: [u64; 2],
    /// `None`: nothing is kept under the key any more.
    row: Option<Row>,
}

impl Slot {
    /// Reads a slot; `None` where it was never used.
    fn from_bytes(bytes: &[u8], home: Home) -> io::Result<Option<Slot>> {
        let state = half(bytes, 28) & 0xFF;
        let row = Row {
            place: Place::of(Span { offset: word(bytes, 16), len: u64::from(half(bytes, 24)) }),
            live: state & LIVE != 0,
            mark: state & MARK != 0,
            beside: state & BESIDE != 0,
            more: std::array::from_fn(|n| word(bytes, SLOT + 8 * n)),
        };
        let used = Slot { key: [word(bytes, 0), word(bytes, 8)], row: (state & GONE == 0).then_some(row) };
        let slot = (!Slot::is_free(bytes)).then_some(used);
        // A slot whose bytes were changed by anything but us must not hide an id.
        if Slot::to_bytes(slot.as_ref(), home)[..bytes.len()] != *bytes {
            return Err(io::Error::other("a slot of the index is damaged"));
        }
        Ok(slot)
    }

    fn is_free(bytes: &[u8]) -> bool {
        half(bytes, 28) & USED == 0
    }

    /// The bytes of a slot, or of a free one, in its place.
    fn to_bytes(slot: Option<&Slot>, home: Home) -> [u8; WIDE] {
        let key = slot.map(|slot| slot.key).unwrap_or_default();
        let row = slot.and_then(|slot| slot.row).unwrap_or_default();
        let flags = [
            (slot.is_some(), USED),
            (row.live, LIVE),
            (row.mark, MARK),
            (row.beside, BESIDE),
            (slot.is_some_and(|slot| slot.row.is_none()), GONE),
        ];
        let state: u32 = flags.into_iter().filter(|(set, _)| *set).map(|(_, bit)| bit).sum();
        // A place keeps lengths in 32 bits.
        let Span { offset, len } = row.place.span();
        let [a, b, c] = row.more;
        let words = [key[0], key[1], offset, len | u64::from(state) << 32, a, b, c];
        let mut bytes = [0; WIDE];
        for (part, word) in bytes.chunks_exact_mut(8).zip(words) {
            part.copy_from_slice(&word.to_le_bytes());
        }
        let sum = XxHash3_64::oneshot_with_seed(home.at ^ home.slots.rotate_left(32), &bytes);
        bytes[29..32].copy_from_slice(&sum.to_le_bytes()[..3]);
        bytes
    }
}

impl Header {
    /// The header of a journal that was read as far as it was long when it was opened.
    fn of(
        opened: &Opened,
        file: &File,
        (slots, used): (u64, u64),
        (live, live_bytes, skips): (u64, u64, u64),
        seen: &Seen,
    ) -> io::Result<Header> {
        Ok(Header {
            anchor: Anchor::of(opened, file)?,
            lines: seen.totals.lines,
            slots,
            used,
            live,
            live_bytes,
            skips,
            records: seen.records,
            damage: seen.damage,
            daemon: seen.daemon,
            foreign: seen.foreign,
            first: seen.first.iter().map(Told::of).collect(),
        })
    }

    /// Whether its numbers can be: with none of them does a place or a sum leave 64 bits.
    fn is_sound(&self) -> bool {
        let counts = self.words().into_iter().skip(Anchor::WORDS);
        self.slots.is_power_of_two() && self.used <= self.slots && counts.into_iter().all(|count| count < MOST)
    }

    fn words(&self) -> [u64; WORDS] {
        let [dev, ino, end, seconds, nanos, tail] = self.anchor.words();
        [
            dev,
            ino,
            end,
            seconds,
            nanos,
            tail,
            self.lines,
            self.slots,
            self.used,
            self.records,
            self.damage,
            self.daemon,
            self.foreign,
            self.live,
            self.live_bytes,
            self.skips,
        ]
    }

    fn to_bytes(&self, boot: &[u8; 16]) -> Vec<u8> {
        let mut bytes = Vec::with_capacity(HEADER);
        bytes.extend_from_slice(MAGIC);
        bytes.extend_from_slice(boot);
        self.words().iter().for_each(|word| bytes.extend_from_slice(&word.to_le_bytes()));
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
        let number = |n: usize| word(body, 24 + 8 * n);
        let header = Header {
            anchor: Anchor::from_words(std::array::from_fn(number)),
            lines: number(6),
            slots: number(7),
            used: number(8),
            records: number(9),
            damage: number(10),
            daemon: number(11),
            foreign: number(12),
            live: number(13),
            live_bytes: number(14),
            skips: number(15),
            first: serde_json::from_slice(&body[NOTES..]).ok()?,
        };
        header.is_sound().then_some(header)
    }
}

/// How many letters of a damage's words the header keeps.
const TOLD: usize = 200;

impl Told {
    fn of(finding: &Finding) -> Told {
        Told {
            line: finding.line,
            offset: finding.span.offset,
            len: finding.span.len,
            class: finding.class.name().to_owned(),
            why: finding.why.chars().take(TOLD).collect(),
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
