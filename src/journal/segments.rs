//! What a store keeps of a journal's records beside it, a segment for each stretch of the journal. What is in a segment
//! is the store's own business.
//!
//! It is a cache like the index: it may be deleted at any time, and is not believed on any doubt. A file that only grows:
//! segments and the lists of them are written behind what is there, and then the header, so that readers need no lock.
//! What newer lists name no more stays until the file is made afresh.

use std::fs::{self, File, TryLockError};
use std::io;
use std::os::unix::fs::{FileExt, MetadataExt};
use std::path::{Path, PathBuf};
use std::thread;
use std::time::Duration;

use twox_hash::XxHash3_64;

use super::Journal;
use super::anchor::Anchor;
use super::files::{self, DataDir, word};
use super::index;
use super::lock::Lock;
use super::replay::Opened;

const MAGIC: &[u8; 8] = b"CRUXSG02";
const HEADER: usize = 256;
/// Bytes of the header in front of its checksum.
const SUMMED: usize = HEADER - 32;
/// Where the numbers begin in the header.
const NUMBERS: usize = 40;
/// How many numbers a part is kept in.
const PART: usize = 9;

/// How often a header is read again: a writer may be at it.
const LOOKS: u32 = 3;
const LOOK_AGAIN: Duration = Duration::from_millis(1);

/// One stretch of the journal and its segment.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Part {
    /// Where the stretch begins in the journal.
    pub from: u64,
    /// Where it ends.
    pub to: u64,
    /// How many records the segment has.
    pub records: u64,
    /// How many of them are known to be no more.
    pub dead: u64,
    /// Whether the segment takes no more, however short the stretch is.
    pub full: bool,
    /// Where the segment lies in the file, and how long it is.
    at: [u64; 2],
    /// Where the bits of the dead ones lie, and their checksum.
    bits: [u64; 2],
}

/// Segments that were believed when they were opened.
#[derive(Debug)]
pub struct Segments {
    file: File,
    boot: [u8; 16],
    /// Random bytes of this file.
    pub salt: [u8; 16],
    anchor: Anchor,
    /// The parts, in the order of the journal.
    pub parts: Vec<Part>,
    /// The list of the parts that was written last, and where it lies.
    listed: (u64, Vec<u8>),
    /// Where the next bytes go.
    end: u64,
}

/// Where the segments of a journal lie.
#[must_use]
pub fn path(dir: &DataDir, journal: &Journal) -> PathBuf {
    index::folder(dir).join(format!("{}.segments", journal.name))
}

impl Segments {
    /// Opens the segments of a journal. Whether they are to be believed is seen once the journal is open: the segments
    /// come first, so that the journal is read at least as far as they reach.
    #[must_use]
    pub fn open(dir: &DataDir, journal: &Journal, for_writing: bool) -> Option<Segments> {
        let boot = dir.boot?;
        let file = files::open_kept(&path(dir, journal), for_writing).ok()??;
        for look in 0..LOOKS {
            if look > 0 {
                thread::sleep(LOOK_AGAIN);
            }
            if let Some((salt, anchor, parts, listed)) = read_header(&file, boot) {
                let end = listed.0 + listed.1.len() as u64;
                return Some(Segments { file, boot, salt, anchor, parts, listed, end });
            }
        }
        None
    }

    /// Whether they were made of this journal.
    #[must_use]
    pub fn are_of(&self, opened: &Opened) -> bool {
        let holds = |journal| self.anchor.holds(journal).unwrap_or(false);
        self.anchor.end <= opened.len && opened.file.as_ref().is_some_and(holds)
    }

    /// How far into the journal the parts reach.
    #[must_use]
    pub fn reach(&self) -> u64 {
        self.parts.last().map_or(0, |part| part.to)
    }

    /// How many bytes the parts' segments take.
    #[must_use]
    pub fn size(&self) -> u64 {
        self.parts.iter().map(|part| part.at[1]).sum()
    }

    /// How many bytes of the file are no part's segment.
    #[must_use]
    pub fn waste(&self) -> u64 {
        self.end.saturating_sub(self.size())
    }

    /// Reads bytes of a part's segment.
    pub fn read(&self, part: &Part, at: u64, into: &mut [u8]) -> io::Result<()> {
        if at.checked_add(into.len() as u64).is_none_or(|end| end > part.at[1]) {
            return Err(io::Error::from(io::ErrorKind::UnexpectedEof));
        }
        self.file.read_exact_at(into, part.at[0] + at)
    }

    /// A bit for each record of a part that is no more, where any are known.
    pub fn dead(&self, part: &Part) -> io::Result<Vec<u64>> {
        let words = usize::try_from(part.records.div_ceil(64)).map_err(io::Error::other)?;
        let mut bytes = vec![0; words * 8];
        self.file.read_exact_at(&mut bytes, part.bits[0])?;
        if XxHash3_64::oneshot(&bytes) != part.bits[1] {
            return Err(io::Error::other("a list of dead records is damaged"));
        }
        Ok(bytes.chunks_exact(8).map(|chunk| word(chunk, 0)).collect())
    }

    /// Writes a segment for a stretch of the journal, piece by piece. It belongs to the others once
    /// [`Segments::parts`] has it. `full`: it takes no more.
    pub fn write(
        &mut self,
        stretch: (u64, u64),
        (records, full): (u64, bool),
        pieces: &[Vec<u8>],
    ) -> io::Result<Part> {
        let at = self.end;
        for piece in pieces {
            self.put(piece)?;
        }
        Ok(Part { records, full, at: [at, self.end - at], ..Part::of(stretch) })
    }

    /// Writes which records of a part are no more.
    pub fn write_dead(&mut self, part: &Part, dead: &[u64]) -> io::Result<Part> {
        let bytes: Vec<u8> = dead.iter().flat_map(|word| word.to_le_bytes()).collect();
        let ones = dead.iter().map(|word| u64::from(word.count_ones())).sum();
        Ok(Part { dead: ones, bits: [self.put(&bytes)?, XxHash3_64::oneshot(&bytes)], ..*part })
    }

    fn put(&mut self, bytes: &[u8]) -> io::Result<u64> {
        let at = self.end;
        self.file.write_all_at(bytes, at)?;
        self.end += bytes.len() as u64;
        Ok(at)
    }

    /// Makes the parts as they are now known to all, for a journal as it was opened behind the lock.
    pub fn commit(&mut self, opened: &Opened, _lock: &Lock) -> io::Result<()> {
        let Some(journal) = &opened.file else { return Err(io::Error::from(io::ErrorKind::NotFound)) };
        self.anchor = Anchor::of(opened, journal)?;
        let list: Vec<u8> = self.parts.iter().copied().flat_map(Part::to_bytes).collect();
        if list != self.listed.1 {
            self.listed = (self.put(&list)?, list);
        }
        self.write_header()
    }

    fn write_header(&self) -> io::Result<()> {
        let (at, list) = &self.listed;
        let mut header = Vec::with_capacity(HEADER);
        header.extend_from_slice(MAGIC);
        header.extend_from_slice(&self.boot);
        header.extend_from_slice(&self.salt);
        let listed = [*at, self.parts.len() as u64, XxHash3_64::oneshot(list)];
        self.anchor.words().iter().chain(&listed).for_each(|word| header.extend_from_slice(&word.to_le_bytes()));
        header.resize(SUMMED, 0);
        let sum = blake3::hash(&header);
        header.extend_from_slice(sum.as_bytes());
        self.file.write_all_at(&header, 0)
    }
}

impl Part {
    /// A stretch of the journal, of which nothing is kept yet.
    #[must_use]
    pub fn of((from, to): (u64, u64)) -> Part {
        Part { from, to, ..Part::default() }
    }

    /// Whether it can be what it says, in a file and a journal of these lengths, behind a part that ends at `before`.
    fn is_sound(&self, before: u64, file: u64, journal: u64) -> bool {
        let inside = |at: u64, len: u64| at.checked_add(len).is_some_and(|end| end <= file);
        self.from == before
            && self.from < self.to
            && self.to <= journal
            && self.records <= self.to - self.from
            && self.dead <= self.records
            && inside(self.at[0], self.at[1])
            && (self.dead == 0 || inside(self.bits[0], self.records.div_ceil(64) * 8))
    }

    fn to_bytes(self) -> Vec<u8> {
        let Part { from, to, records, dead, full, at: [at, len], bits: [bits, sum] } = self;
        let words = [from, to, records, dead, u64::from(full), at, len, bits, sum];
        words.iter().flat_map(|word| word.to_le_bytes()).collect()
    }

    fn from_bytes(bytes: &[u8]) -> Part {
        let [from, to, records, dead, full, at, len, bits, sum] = std::array::from_fn(|n| word(bytes, n * 8));
        Part { from, to, records, dead, full: full == 1, at: [at, len], bits: [bits, sum] }
    }
}

/// Salt, anchor, parts, and their list with its place.
type Header = ([u8; 16], Anchor, Vec<Part>, (u64, Vec<u8>));

/// What a header says, with the list of the parts as it is written; `None` where it cannot be believed.
fn read_header(file: &File, boot: [u8; 16]) -> Option<Header> {
    let mut header = [0; HEADER];
    file.read_exact_at(&mut header, 0).ok()?;
    let (body, sum) = header.split_at(SUMMED);
    if !body.starts_with(MAGIC) || body[8..24] != boot || blake3::hash(body).as_bytes()[..] != *sum {
        return None;
    }
    let number = |n: usize| word(body, NUMBERS + 8 * n);
    let anchor = Anchor::from_words(std::array::from_fn(number));
    let [at, count, listed] = std::array::from_fn(|n| number(Anchor::WORDS + n));
    let (len, long) = (count.checked_mul(PART as u64 * 8)?, file.metadata().ok()?.len());
    if at.checked_add(len)? > long {
        return None;
    }
    let mut list = vec![0; usize::try_from(len).ok()?];
    file.read_exact_at(&mut list, at).ok()?;
    let parts: Vec<Part> = list.chunks_exact(PART * 8).map(Part::from_bytes).collect();
    let mut reach = 0;
    for part in &parts {
        if !part.is_sound(reach, long, anchor.end) {
            return None;
        }
        reach = part.to;
    }
    let salt = *body[24..].first_chunk()?;
    let whole = XxHash3_64::oneshot(&list) == listed && !parts.is_empty();
    whole.then_some((salt, anchor, parts, (at, list)))
}

/// Throws the segments of a journal away.
pub fn remove(dir: &DataDir, journal: &Journal, _lock: &Lock) {
    // What cannot be removed is found out again by whoever opens it.
    let _ = fs::remove_file(path(dir, journal));
}

/// Segments that are made afresh, in a file that is not yet theirs. One process at a time makes them.
#[derive(Debug)]
pub struct Draft {
    temp: PathBuf,
    /// What is there so far.
    pub segments: Segments,
}

/// Why no draft was begun.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NoDraft {
    /// Another process is making one.
    Busy,
    /// It cannot be written.
    Unable,
}

impl Draft {
    /// Begins segments for a journal, with random bytes for their file.
    pub fn begin(dir: &DataDir, journal: &Journal, salt: [u8; 16]) -> Result<Draft, NoDraft> {
        let boot = dir.boot.ok_or(NoDraft::Unable)?;
        let folder = index::folder(dir);
        dir.make(&folder).map_err(|_| NoDraft::Unable)?;
        let temp = folder.join(format!(".{}.segments.tmp", journal.name));
        let taken_over = || {
            let file = files::open_kept(&temp, true).ok().flatten()?;
            // Another name of somebody's file would be emptied.
            file.metadata().is_ok_and(|data| data.nlink() == 1).then_some(file)
        };
        let file = dir.create_new(&temp, false).ok().or_else(taken_over).ok_or(NoDraft::Unable)?;
        // Whoever holds this lock makes them; what a killed process has left is taken over.
        file.try_lock().map_err(|error| match error {
            TryLockError::WouldBlock => NoDraft::Busy,
            TryLockError::Error(_) => NoDraft::Unable,
        })?;
        if !is_at(&file, &temp) {
            return Err(NoDraft::Busy);
        }
        file.set_len(0).map_err(|_| NoDraft::Unable)?;
        let (anchor, parts, listed, end) = (Anchor::default(), Vec::new(), (0, Vec::new()), HEADER as u64);
        Ok(Draft { temp, segments: Segments { file, boot, salt, anchor, parts, listed, end } })
    }

    /// Puts the segments in the place of those that were there, for a journal that is still the one that was read. Where
    /// that cannot be done, they are for this process alone; `None` where they are of no use.
    pub fn publish(mut self, dir: &DataDir, journal: &Journal, opened: &Opened, lock: &Lock) -> Option<Segments> {
        if self.segments.commit(opened, lock).is_err() {
            self.discard();
            return None;
        }
        match fs::rename(&self.temp, path(dir, journal)) {
            Ok(()) => Some(self.segments),
            Err(_) => Some(self.keep_to_oneself()),
        }
    }

    /// Leaves nothing of it.
    pub fn discard(self) {
        let _ = fs::remove_file(&self.temp);
    }

    /// What was made, for this process alone.
    #[must_use]
    pub fn keep_to_oneself(self) -> Segments {
        let _ = fs::remove_file(&self.temp);
        self.segments
    }
}

/// Whether a file still has its name.
fn is_at(file: &File, path: &Path) -> bool {
    let there = fs::symlink_metadata(path).ok().map(|data| (data.dev(), data.ino()));
    file.metadata().is_ok_and(|data| there == Some((data.dev(), data.ino())))
}
