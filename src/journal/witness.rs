//! The witness of a journal: evidence of what it had.
//!
//! A journal of lines cannot show that its last records are missing, or that a byte has changed into another valid
//! one. The witness keeps of every validated line its length, a 64-bit hash of its bytes, and the ids that it is about,
//! so that [`super::audit`] can tell later what is no longer there. It guards against accidents, not against somebody
//! who changes both files.
//!
//! It only grows. It is written behind the lock, after the journal; it is never synced where a command waits for it,
//! because one that is behind is still right. It is replaced where the journal is replaced by us, or when the operator
//! takes the present file as the new baseline; nothing else throws it away. It survives a reboot and the index.
//!
//! A header of 64 bytes says which file it is about. Then come blocks: a head of 48 bytes, entries, a tail of 8 bytes
//! by which the last block is found from the end. Each block has a checksum, and begins where the last one ended.

use std::fs::{self, File};
use std::hash::Hasher;
use std::io;
use std::os::unix::fs::{FileExt, MetadataExt};
use std::path::{Path, PathBuf};
use std::time::UNIX_EPOCH;

use twox_hash::XxHash3_64;

use super::Journal;
use super::files::{self, DataDir};
use super::finding::Span;
use super::index::{self, WORTH_IT};
use super::lock::Lock;
use super::replay::{self, Opened};
use super::scan::{Bytes, Item, Stretch};
use super::split::event_ids;
use super::stamp::Stamp;
use crate::error::{Error, Result};

const MAGIC: &[u8; 8] = b"CRUXWT01";
const HEADER: usize = 64;
/// Bytes of the header in front of its checksum.
const SUMMED: usize = HEADER - 8;
const BLOCK_HEAD: usize = 48;
const BLOCK_TAIL: usize = 8;
const BLOCK_MARK: u32 = 0x4B42_5743;
/// A block is closed when its entries are this long.
const BLOCK: usize = 1 << 16;
/// The longest entries of a block that are believed: one entry may be long.
const LONGEST_BLOCK: usize = 1 << 20;
/// Finished blocks beyond this go to a file.
const IN_MEMORY: usize = 1 << 20;
/// How many bytes of the journal before a block's end are held against it.
const TAIL: u64 = 4096;
/// How much of a line's ids is kept, in bytes.
const NAMES: usize = 1 << 16;
/// A command that only appends does not wait for the witness to catch up with more than this.
const BEHIND: u64 = 64 << 20;

const SIMPLE: u8 = 1;
const DELETES: u8 = 2;
const TIMED: u8 = 4;

/// The hash of a line's bytes: XXH3 with 64 bits, as its specification has it.
#[derive(Default)]
pub struct LineHash(Option<XxHash3_64>);

impl std::fmt::Debug for LineHash {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("LineHash")
    }
}

impl LineHash {
    /// Takes the next bytes.
    pub fn write(&mut self, bytes: &[u8]) {
        self.0.get_or_insert_with(XxHash3_64::new).write(bytes);
    }

    /// Takes the last bytes, and is done.
    #[must_use]
    pub fn finish(self, last: &[u8]) -> u64 {
        match self.0 {
            None => XxHash3_64::oneshot(last),
            Some(mut hash) => {
                hash.write(last);
                hash.finish()
            }
        }
    }
}

/// What is kept of one line.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Entry {
    /// The line's bytes, with its line end.
    pub span: Span,
    /// Its number, from 1.
    pub line: u64,
    /// Their hash.
    pub hash: u64,
    /// Whether it is one record and its line end, and nothing was found.
    pub simple: bool,
    /// Whether it is a record that ends an id.
    pub deletes: bool,
    /// The time of its record.
    pub time: Option<Stamp>,
    /// Where the ids are in the entries that this one was read from.
    names: (usize, usize),
}

/// Makes entries of what a scan with hashes meets.
#[derive(Debug, Default)]
pub struct Encoder {
    /// The entries of whole lines, one behind the other.
    pub out: Vec<u8>,
    names: Vec<u8>,
    count: u64,
    unnamed: bool,
    deletes: bool,
    time: Option<Stamp>,
}

impl Encoder {
    /// Takes the next item.
    pub fn item(&mut self, item: &Item<'_>) {
        match item {
            Item::Record(record) => {
                self.deletes = record.event.op.name == "delete";
                self.time = Stamp::of(record);
                event_ids(record.event, &mut |id| self.name(id));
            }
            // Of what cannot be read, the ids may still be told.
            Item::Finding(finding, Bytes::Unreadable) => finding.ids.iter().for_each(|id| self.name(id)),
            Item::LineEnd { span, terminated, simple, hash, .. } => {
                if *terminated {
                    self.entry(span.len, *simple && !self.unnamed, *hash);
                }
                self.names.clear();
                (self.count, self.unnamed, self.deletes, self.time) = (0, false, false, None);
            }
            Item::Finding(..) | Item::Foreign { .. } => {}
        }
    }

    fn name(&mut self, id: &str) {
        if self.names.len() + id.len() > NAMES {
            // The line is read again instead of being known by its names.
            self.unnamed = true;
            return;
        }
        varint(&mut self.names, id.len() as u64);
        self.names.extend_from_slice(id.as_bytes());
        self.count += 1;
    }

    fn entry(&mut self, len: u64, simple: bool, hash: u64) {
        let flag = |set: bool, bit: u8| if set { bit } else { 0 };
        let time = self.time.filter(|_| simple);
        let flags = flag(simple, SIMPLE) | flag(self.deletes, DELETES) | flag(time.is_some(), TIMED);
        self.out.push(flags);
        varint(&mut self.out, len);
        self.out.extend_from_slice(&hash.to_le_bytes());
        if let Some(time) = time {
            self.out.extend_from_slice(&time.to_bytes());
        }
        varint(&mut self.out, self.count);
        self.out.extend_from_slice(&self.names);
    }
}

fn varint(out: &mut Vec<u8>, mut number: u64) {
    while number >= 0x80 {
        out.push(number.to_le_bytes()[0] | 0x80);
        number >>= 7;
    }
    out.push(number.to_le_bytes()[0]);
}

/// Reads entries from bytes.
struct Decoder<'b> {
    bytes: &'b [u8],
    at: usize,
}

impl<'b> Decoder<'b> {
    fn take(&mut self, len: usize) -> Option<&'b [u8]> {
        let taken = self.bytes.get(self.at..self.at.checked_add(len)?)?;
        self.at += len;
        Some(taken)
    }

    fn varint(&mut self) -> Option<u64> {
        let mut number = 0u64;
        for shift in (0..64).step_by(7) {
            let byte = self.take(1)?[0];
            number |= u64::from(byte & 0x7F).checked_shl(shift)?;
            if byte < 0x80 {
                return Some(number);
            }
        }
        None
    }

    fn name(&mut self) -> Option<&'b str> {
        let len = usize::try_from(self.varint()?).ok()?;
        std::str::from_utf8(self.take(len)?).ok()
    }

    /// The next entry, of the line `line` that begins at `start`.
    fn entry(&mut self, start: u64, line: u64) -> Option<Entry> {
        let flags = self.take(1)?[0];
        let len = self.varint().filter(|len| *len > 0)?;
        let hash = u64::from_le_bytes(*self.take(8)?.first_chunk()?);
        let time = match flags & TIMED {
            0 => None,
            _ => Some(Stamp::from_bytes(*self.take(Stamp::BYTES)?.first_chunk()?)),
        };
        let names = self.at;
        for _ in 0..self.varint()? {
            self.name()?;
        }
        start.checked_add(len)?;
        Some(Entry {
            span: Span { offset: start, len },
            line,
            hash,
            simple: flags & SIMPLE != 0,
            deletes: flags & DELETES != 0,
            time,
            names: (names, self.at),
        })
    }
}

/// Hands out the entries in `bytes`, the first of which is about line `line` at `start`, each with its own bytes.
pub fn each(bytes: &[u8], start: u64, line: u64, take: &mut dyn FnMut(&Entry, &[u8])) -> (u64, u64) {
    let mut decoder = Decoder { bytes, at: 0 };
    let (mut start, mut line) = (start, line);
    while decoder.at < bytes.len() {
        let from = decoder.at;
        let Some(entry) = decoder.entry(start, line) else { break };
        take(&entry, &bytes[from..decoder.at]);
        (start, line) = (entry.span.end(), line + 1);
    }
    (start, line)
}

/// The ids of an entry, from the bytes that it was read from.
pub fn ids<'b>(bytes: &'b [u8], entry: &Entry) -> impl Iterator<Item = &'b str> + use<'b> {
    let mut decoder = Decoder { bytes: bytes.get(..entry.names.1).unwrap_or_default(), at: entry.names.0 };
    let count = decoder.varint().unwrap_or(0);
    (0..count).map_while(move |_| decoder.name())
}

/// Which file a journal is: one of the same name may be another.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Identity {
    dev: u64,
    ino: u64,
    /// When it was made, in nanoseconds; 0 where the file system does not say. Inode numbers come back.
    born: u64,
}

impl Identity {
    /// Which file this is.
    pub fn of(file: &File) -> io::Result<Identity> {
        let data = file.metadata()?;
        let born = data.created().ok().and_then(|at| at.duration_since(UNIX_EPOCH).ok());
        let born = born.map_or(0, |at| u64::try_from(at.as_nanos()).unwrap_or(0));
        Ok(Identity { dev: data.dev(), ino: data.ino(), born })
    }

    fn to_header(self) -> Vec<u8> {
        let mut bytes = MAGIC.to_vec();
        for word in [self.dev, self.ino, self.born] {
            bytes.extend_from_slice(&word.to_le_bytes());
        }
        bytes.resize(SUMMED, 0);
        bytes.extend_from_slice(&XxHash3_64::oneshot(&bytes).to_le_bytes());
        bytes
    }

    fn from_header(bytes: &[u8]) -> Option<Identity> {
        let (body, sum) = bytes.split_at_checked(SUMMED)?;
        let whole = body.starts_with(MAGIC) && XxHash3_64::oneshot(body).to_le_bytes()[..] == *sum;
        whole.then(|| Identity { dev: word(body, 8), ino: word(body, 16), born: word(body, 24) })
    }
}

fn word(bytes: &[u8], at: usize) -> u64 {
    bytes.get(at..).and_then(|rest| rest.first_chunk()).map_or(0, |b| u64::from_le_bytes(*b))
}

fn half(bytes: &[u8], at: usize) -> u32 {
    bytes.get(at..).and_then(|rest| rest.first_chunk()).map_or(0, |b| u32::from_le_bytes(*b))
}

/// The head of a block.
#[derive(Clone, Copy, Debug)]
struct Head {
    /// Bytes of entries.
    len: u32,
    /// Where its first line begins in the journal, and how many lines are before it.
    from: u64,
    lines: u64,
    /// Where its last line ends.
    to: u64,
    /// The hash of the last bytes of the journal before `to`; 0 where another block follows.
    tail: u64,
}

impl Head {
    fn to_bytes(self, entries: &[u8]) -> Vec<u8> {
        let mut bytes = Vec::with_capacity(BLOCK_HEAD + entries.len() + BLOCK_TAIL);
        bytes.extend_from_slice(&BLOCK_MARK.to_le_bytes());
        bytes.extend_from_slice(&self.len.to_le_bytes());
        for word in [self.from, self.lines, self.to, self.tail] {
            bytes.extend_from_slice(&word.to_le_bytes());
        }
        let sum = self.sum(&bytes, entries);
        bytes.extend_from_slice(&sum.to_le_bytes());
        bytes.extend_from_slice(entries);
        bytes.extend_from_slice(&self.len.to_le_bytes());
        bytes.extend_from_slice(&BLOCK_MARK.to_le_bytes());
        bytes
    }

    fn sum(self, head: &[u8], entries: &[u8]) -> u64 {
        let mut hash = XxHash3_64::new();
        hash.write(head);
        hash.write(entries);
        hash.finish()
    }

    /// Reads a whole block; `None` where it is none.
    fn from_bytes(bytes: &[u8]) -> Option<Head> {
        let head = Head {
            len: half(bytes, 4),
            from: word(bytes, 8),
            lines: word(bytes, 16),
            to: word(bytes, 24),
            tail: word(bytes, 32),
        };
        let entries = bytes.get(BLOCK_HEAD..bytes.len().checked_sub(BLOCK_TAIL)?)?;
        let whole = half(bytes, 0) == BLOCK_MARK
            && entries.len() as u64 == u64::from(head.len)
            && head.from < head.to
            && word(bytes, 40) == head.sum(&bytes[..40], entries);
        whole.then_some(head)
    }
}

/// How far a witness goes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct End {
    /// Bytes of the journal.
    pub to: u64,
    /// Its lines.
    pub lines: u64,
    tail: u64,
    /// Bytes of the witness.
    len: u64,
}

/// A witness that was opened.
#[derive(Debug)]
pub struct Witness {
    file: File,
    /// The file that it is about.
    pub identity: Identity,
    /// Its length when it was opened.
    len: u64,
}

/// What there is where a witness should be.
#[derive(Debug)]
pub enum Found {
    /// Nothing.
    Nothing,
    /// Something that cannot be read, and why.
    Unreadable(String),
    /// A witness.
    Witness(Witness),
}

/// Where the witness of a journal lies.
#[must_use]
pub fn path(dir: &DataDir, journal: &Journal) -> PathBuf {
    index::folder(dir).join(format!("{}.witness", journal.name))
}

/// Opens the witness of a journal.
#[must_use]
pub fn open(dir: &DataDir, journal: &Journal) -> Found {
    open_as(dir, journal, false)
}

fn open_as(dir: &DataDir, journal: &Journal, for_writing: bool) -> Found {
    let path = path(dir, journal);
    let file = match files::open_kept(&path, for_writing) {
        Ok(Some(file)) => file,
        Ok(None) => return Found::Nothing,
        Err(error) => return Found::Unreadable(crate::error::plain(&error)),
    };
    let read = || -> io::Result<(Vec<u8>, u64)> {
        let mut bytes = vec![0; HEADER];
        file.read_exact_at(&mut bytes, 0)?;
        Ok((bytes, file.metadata()?.len()))
    };
    match read() {
        Ok((bytes, len)) => match Identity::from_header(&bytes) {
            Some(identity) => Found::Witness(Witness { file, identity, len }),
            None => Found::Unreadable("its header is damaged, or another version's".to_owned()),
        },
        Err(error) => Found::Unreadable(crate::error::plain(&error)),
    }
}

/// Whether what was found is still what is there, as far as another may have replaced it or added to it.
#[must_use]
pub fn still(dir: &DataDir, journal: &Journal, found: &Found) -> bool {
    match (found, open(dir, journal)) {
        (Found::Nothing, Found::Nothing) => true,
        (Found::Witness(then), Found::Witness(now)) => {
            let same = Identity::of(&then.file).ok() == Identity::of(&now.file).ok();
            same && then.len == now.len
        }
        _ => false,
    }
}

impl Witness {
    /// Bytes behind its end that were never finished.
    #[must_use]
    pub fn unfinished(&self, end: End) -> u64 {
        self.len - end.len
    }

    /// The entries, from the first on.
    #[must_use]
    pub fn entries(&self) -> Entries<'_> {
        let start = Cursor { block: HEADER as u64, at: 0, start: 0, line: 1 };
        Entries { witness: self, cursor: start, bytes: Vec::new(), loaded: false, next: None, ended: false }
    }

    /// The entries from where a cursor stood.
    #[must_use]
    pub fn entries_from(&self, cursor: Cursor) -> Entries<'_> {
        Entries { cursor, ..self.entries() }
    }

    /// How far it goes; from its last block where that is whole, else from the last whole one.
    pub fn end(&self) -> io::Result<End> {
        if let Some(end) = self.last_block()? {
            return Ok(end);
        }
        let mut end = End { to: 0, lines: 0, tail: 0, len: HEADER as u64 };
        while let Some((head, bytes)) = self.block(end.len)?.filter(|(head, _)| head.from == end.to) {
            let lines = each(&bytes[BLOCK_HEAD..bytes.len() - BLOCK_TAIL], head.from, head.lines, &mut |_, _| ()).1;
            end = End { to: head.to, lines, tail: head.tail, len: end.len + bytes.len() as u64 };
        }
        Ok(end)
    }

    fn last_block(&self) -> io::Result<Option<End>> {
        let smallest = (HEADER + BLOCK_HEAD + BLOCK_TAIL) as u64;
        if self.len < smallest {
            return Ok(None);
        }
        let mut tail = [0; BLOCK_TAIL];
        self.file.read_exact_at(&mut tail, self.len - BLOCK_TAIL as u64)?;
        let whole = (BLOCK_HEAD + BLOCK_TAIL) as u64 + u64::from(half(&tail, 0));
        if half(&tail, 4) != BLOCK_MARK || whole > self.len - HEADER as u64 {
            return Ok(None);
        }
        let Some((head, bytes)) = self.block(self.len - whole)? else { return Ok(None) };
        let lines = each(&bytes[BLOCK_HEAD..bytes.len() - BLOCK_TAIL], head.from, head.lines, &mut |_, _| ()).1;
        Ok(Some(End { to: head.to, lines, tail: head.tail, len: self.len }))
    }

    /// The whole block at an offset; `None` where there is none.
    fn block(&self, at: u64) -> io::Result<Option<(Head, Vec<u8>)>> {
        let mut head = [0; BLOCK_HEAD];
        if at + (BLOCK_HEAD + BLOCK_TAIL) as u64 > self.len {
            return Ok(None);
        }
        self.file.read_exact_at(&mut head, at)?;
        let len = half(&head, 4) as usize;
        let whole = BLOCK_HEAD + len + BLOCK_TAIL;
        if half(&head, 0) != BLOCK_MARK || len > LONGEST_BLOCK || at + whole as u64 > self.len {
            return Ok(None);
        }
        let mut bytes = vec![0; whole];
        self.file.read_exact_at(&mut bytes, at)?;
        Ok(Head::from_bytes(&bytes).map(|head| (head, bytes)))
    }
}

/// Where a reader of entries stands.
#[derive(Clone, Copy, Debug)]
pub struct Cursor {
    /// Offset of the block.
    block: u64,
    /// Position among its entries.
    at: usize,
    /// Where the next entry's line begins.
    pub start: u64,
    /// Its number, from 1.
    pub line: u64,
}

/// Reads the entries of a witness, one after the other.
#[derive(Debug)]
pub struct Entries<'w> {
    witness: &'w Witness,
    cursor: Cursor,
    /// The block's entries.
    bytes: Vec<u8>,
    loaded: bool,
    /// The entry at the cursor, once it was looked at, and where the one behind it is.
    next: Option<(Entry, usize)>,
    ended: bool,
}

impl Entries<'_> {
    /// The entry at the cursor.
    pub fn peek(&mut self) -> io::Result<Option<&Entry>> {
        while self.next.is_none() && !self.ended {
            if !self.loaded {
                let block = self.witness.block(self.cursor.block)?;
                // A block that does not begin where the last one ended is not of this witness.
                match block.filter(|(head, _)| self.cursor.at > 0 || head.from == self.cursor.start) {
                    Some((_, bytes)) => self.bytes = bytes[BLOCK_HEAD..bytes.len() - BLOCK_TAIL].to_vec(),
                    None => self.ended = true,
                }
                self.loaded = true;
                continue;
            }
            if self.cursor.at < self.bytes.len() {
                let mut decoder = Decoder { bytes: &self.bytes, at: self.cursor.at };
                match decoder.entry(self.cursor.start, self.cursor.line) {
                    Some(entry) => self.next = Some((entry, decoder.at)),
                    None => self.ended = true,
                }
                continue;
            }
            self.cursor.block += (BLOCK_HEAD + self.bytes.len() + BLOCK_TAIL) as u64;
            self.cursor.at = 0;
            self.loaded = false;
        }
        Ok(self.next.as_ref().map(|(entry, _)| entry))
    }

    /// Goes on behind the entry that was looked at.
    pub fn advance(&mut self) {
        if let Some((entry, at)) = self.next.take() {
            self.cursor = Cursor { at, start: entry.span.end(), line: entry.line + 1, ..self.cursor };
        }
    }

    /// The bytes that the entry at the cursor was read from.
    #[must_use]
    pub fn bytes(&self) -> &[u8] {
        &self.bytes
    }

    /// Where the next entry is.
    #[must_use]
    pub fn cursor(&self) -> Cursor {
        self.cursor
    }
}

/// Entries that are to be kept: blocks, in memory or in a file of their own.
#[derive(Debug)]
pub struct Builder {
    head: Head,
    /// Where the first of its lines begins.
    begins: u64,
    entries: Vec<u8>,
    lines: u64,
    done: Vec<u8>,
    spill: Option<Spill>,
    broken: bool,
    place: PathBuf,
    dir: DataDir,
}

#[derive(Debug)]
struct Spill {
    path: PathBuf,
    file: File,
    len: u64,
}

impl Drop for Spill {
    fn drop(&mut self) {
        // It is gone already where it has become the witness.
        let _ = fs::remove_file(&self.path);
    }
}

impl Builder {
    /// Begins with the line behind the first `lines` lines, which end at `from`.
    #[must_use]
    pub fn new(dir: &DataDir, journal: &Journal, from: u64, lines: u64) -> Builder {
        Builder {
            head: Head { len: 0, from, lines, to: from, tail: 0 },
            begins: from,
            entries: Vec::new(),
            lines,
            done: Vec::new(),
            spill: None,
            broken: false,
            place: path(dir, journal),
            dir: dir.clone(),
        }
    }

    /// Where the next line begins.
    #[must_use]
    pub fn to(&self) -> u64 {
        self.head.to
    }

    /// Takes the next entries.
    pub fn take(&mut self, encoded: &[u8]) {
        let (start, line) = (self.head.to, self.lines + 1);
        each(encoded, start, line, &mut |entry, bytes| self.take_one(entry.span, bytes));
    }

    /// Takes the entry of the next line.
    pub fn take_one(&mut self, span: Span, encoded: &[u8]) {
        self.entries.extend_from_slice(encoded);
        self.head.to = span.end();
        self.lines += 1;
        if self.entries.len() >= BLOCK {
            self.close(0);
        }
    }

    /// Closes the block.
    fn close(&mut self, tail: u64) {
        if self.entries.is_empty() {
            return;
        }
        let len = u32::try_from(self.entries.len()).unwrap_or(u32::MAX);
        let block = Head { len, tail, ..self.head }.to_bytes(&self.entries);
        self.done.extend_from_slice(&block);
        self.entries.clear();
        self.head.from = self.head.to;
        self.head.lines = self.lines;
        if self.done.len() > IN_MEMORY && self.spill().is_err() {
            self.broken = true;
            self.done.clear();
        }
    }

    fn spill(&mut self) -> io::Result<()> {
        if self.spill.is_none() {
            let folder = self.place.parent().ok_or(io::ErrorKind::NotFound)?;
            self.dir.make(folder).map_err(|error| io::Error::other(error.message))?;
            let name = self.place.file_name().unwrap_or_default().to_string_lossy();
            let path = folder.join(format!(".{name}.{}.tmp", std::process::id()));
            // One that a killed process of the same number has left behind.
            let _ = fs::remove_file(&path);
            let file = self.dir.create_new(&path, false).map_err(|error| io::Error::other(error.message))?;
            self.spill = Some(Spill { path, file, len: HEADER as u64 });
        }
        let Some(spill) = &mut self.spill else { return Ok(()) };
        spill.file.write_all_at(&self.done, spill.len)?;
        spill.len += self.done.len() as u64;
        self.done.clear();
        Ok(())
    }

    /// Closes the last block over the journal that was read.
    fn finish(&mut self, journal: &File) -> io::Result<()> {
        let tail = tail(journal, self.head.to)?;
        self.close(tail);
        if self.broken { Err(io::Error::other("its entries could not be kept")) } else { Ok(()) }
    }

    /// Whether it has any entries.
    #[must_use]
    pub fn any(&self) -> bool {
        !self.broken && (self.spill.is_some() || !self.done.is_empty() || !self.entries.is_empty())
    }

    /// Becomes the witness of the journal that was read, in the place of whatever is there.
    pub fn replace(mut self, opened: &Opened, _lock: &Lock) -> Result<()> {
        let path = self.place.clone();
        let mut written = || -> io::Result<()> {
            let file = opened.file.as_ref().ok_or(io::ErrorKind::NotFound)?;
            self.finish(file)?;
            self.spill()?;
            let spill = self.spill.as_ref().ok_or(io::ErrorKind::NotFound)?;
            spill.file.write_all_at(&Identity::of(file)?.to_header(), 0)?;
            // It is evidence: what it replaces must not be gone before it is there.
            spill.file.sync_data()?;
            fs::rename(&spill.path, &self.place)
        };
        written().map_err(|e| Error::io("write", &path, &e))?;
        // A crash may bring the old one back, which says the same of another file.
        let _ = path.parent().map(files::sync_folder);
        Ok(())
    }

    /// Appends to the witness that ends where this begins; where there is no such one any more, nothing is done.
    pub fn extend(mut self, dir: &DataDir, journal: &Journal, opened: &Opened, _lock: &Lock) -> Result<()> {
        let path = self.place.clone();
        let mut written = || -> io::Result<()> {
            let Found::Witness(witness) = open_as(dir, journal, true) else { return Ok(()) };
            let end = witness.end()?;
            if end.to != self.begins || witness.standing(opened, end)? != Standing::For {
                return Ok(());
            }
            self.append(opened, &witness, end)
        };
        written().map_err(|e| Error::io("write", &path, &e))
    }

    /// Appends to a witness that was opened for writing and ends where this begins.
    fn append(&mut self, opened: &Opened, witness: &Witness, end: End) -> io::Result<()> {
        self.finish(opened.file.as_ref().ok_or(io::ErrorKind::NotFound)?)?;
        if end.len < witness.len {
            // What lies behind the last whole block was never finished by a process that is gone.
            witness.file.set_len(end.len)?;
        }
        let mut at = end.len;
        if let Some(spill) = &self.spill {
            let (mut from, mut block) = (HEADER as u64, vec![0; BLOCK]);
            while from < spill.len {
                let want = usize::try_from(spill.len - from).unwrap_or(usize::MAX).min(block.len());
                spill.file.read_exact_at(&mut block[..want], from)?;
                witness.file.write_all_at(&block[..want], at)?;
                at += want as u64;
                from += want as u64;
            }
        }
        witness.file.write_all_at(&self.done, at)
    }
}

/// The hash of the last bytes of a journal before `end`.
fn tail(journal: &File, end: u64) -> io::Result<u64> {
    let len = end.min(TAIL);
    let mut bytes = vec![0; usize::try_from(len).unwrap_or(0)];
    journal.read_exact_at(&mut bytes, end - len)?;
    Ok(XxHash3_64::oneshot(&bytes))
}

/// How a witness stands to a journal, as far as a look at their ends can tell.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Standing {
    /// It is about another file.
    Elsewhere,
    /// The journal is shorter, or other bytes are where it ended.
    Against,
    /// The journal goes on where it ends.
    For,
}

impl Witness {
    /// How it stands to a journal.
    pub fn standing(&self, opened: &Opened, end: End) -> io::Result<Standing> {
        let Some(file) = &opened.file else { return Ok(Standing::Elsewhere) };
        if Identity::of(file)? != self.identity {
            return Ok(Standing::Elsewhere);
        }
        // What was opened before the witness may be longer by now.
        let on = end.to <= file.metadata()?.len() && (end.to == 0 || tail(file, end.to)? == end.tail);
        Ok(if on { Standing::For } else { Standing::Against })
    }
}

/// Brings the witness of a journal up to date behind the lock, and begins one for a journal that is short enough to be
/// read in passing. Where it speaks against the journal it stays as it is.
pub fn catch_up(dir: &DataDir, journal: &Journal, opened: &Opened, lock: &Lock) {
    // Nothing depends on it: a witness that is behind is still right.
    let _ = try_catch_up(dir, journal, opened, lock);
}

fn try_catch_up(dir: &DataDir, journal: &Journal, opened: &Opened, lock: &Lock) -> Result<()> {
    let failed = |e: io::Error| Error::io("write", &path(dir, journal), &e);
    let (end, witness) = match open_as(dir, journal, true) {
        Found::Witness(witness) => {
            let end = witness.end().map_err(failed)?;
            if witness.standing(opened, end).map_err(failed)? != Standing::For {
                return Ok(());
            }
            (end, Some(witness))
        }
        Found::Nothing if opened.len <= WORTH_IT => (End::default(), None),
        Found::Nothing | Found::Unreadable(_) => return Ok(()),
    };
    if opened.len <= end.to || opened.len - end.to > BEHIND {
        return Ok(());
    }
    let mut builder = Builder::new(dir, journal, end.to, end.lines);
    scan(journal, opened, end, &mut builder)?;
    match witness {
        _ if !builder.any() => Ok(()),
        Some(witness) => builder.append(opened, &witness, end).map_err(failed),
        None => builder.replace(opened, lock),
    }
}

/// Begins a witness for a journal that was just replaced by us. Where that fails, the old one is about another file,
/// and the next check says so.
pub fn begin_anew(dir: &DataDir, journal: &Journal, lock: &Lock) {
    let _ = try_begin_anew(dir, journal, lock);
}

fn try_begin_anew(dir: &DataDir, journal: &Journal, lock: &Lock) -> Result<()> {
    let opened = replay::open_locked(dir, journal, lock)?;
    let mut builder = Builder::new(dir, journal, 0, 0);
    scan(journal, &opened, End::default(), &mut builder)?;
    if builder.any() { builder.replace(&opened, lock) } else { remove(dir, journal, lock) }
}

/// Copies the witness of a journal to a new file.
pub fn copy(dir: &DataDir, journal: &Journal, to: &Path) -> Result<()> {
    let path = path(dir, journal);
    let mut old = File::open(&path).map_err(|e| Error::io("open", &path, &e))?;
    let mut new = dir.create_new(to, false)?;
    let copied = io::copy(&mut old, &mut new).and_then(|_| new.sync_all());
    copied.map_err(|e| Error::io("write", to, &e))
}

/// Reads a journal from where a witness ends.
fn scan(journal: &Journal, opened: &Opened, end: End, builder: &mut Builder) -> Result<()> {
    let mut encoder = Encoder::default();
    let stretch = Stretch { from: end.to, lines_before: end.lines, hashes: true, ..Stretch::whole(opened.len) };
    opened.scan_items(journal, stretch, &mut |item| {
        encoder.item(item);
        if encoder.out.len() >= BLOCK {
            builder.take(&encoder.out);
            encoder.out.clear();
        }
        Ok(())
    })?;
    builder.take(&encoder.out);
    Ok(())
}

/// Removes the witness of a journal of which nothing is left to be known.
pub fn remove(dir: &DataDir, journal: &Journal, _lock: &Lock) -> Result<()> {
    let path = path(dir, journal);
    match fs::remove_file(&path) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(Error::io("remove", &path, &error)),
        _ => Ok(()),
    }
}
