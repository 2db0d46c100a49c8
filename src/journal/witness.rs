//! The witness of a journal: evidence of what it had.
//!
//! A journal of lines cannot show that its last records are missing, or that a byte has changed into another valid
//! one. The witness keeps of every validated line its length, a 64-bit hash of its bytes, and the ids that it is about,
//! so that [`super::audit`] can tell later what is no longer there. It guards against accidents, not against somebody
//! who changes both files.
//!
//! It only grows. It is written behind the lock, after the journal, and what is added to it is not synced, because one
//! that is behind is still right. It is replaced where the journal is replaced by us, where another file with the same
//! ids has taken the journal's place, and when the operator takes the present file as the new baseline; nothing else
//! throws it away. It survives a reboot and the index.
//!
//! A header of 64 bytes says which file it is about. Then come blocks: a head of 48 bytes, entries, a tail of 8 bytes
//! by which the last block is found from the end. Each block has a checksum, and begins where the last one ended; where
//! one is damaged, those behind it still count.

use std::fs::{self, File};
use std::hash::Hasher;
use std::io;
use std::os::unix::fs::{FileExt, MetadataExt};
use std::path::{Path, PathBuf};
use std::time::UNIX_EPOCH;

use twox_hash::XxHash3_64;

use super::Journal;
use super::anchor::tail;
use super::files::{self, DataDir, Window, half, word};
use super::finding::Span;
use super::index;
use super::lock::Lock;
use super::replay::{self, Opened};
use super::scan::{Bytes, Item, Stretch};
use super::shape::Event;
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
/// Finished blocks beyond this go to a file.
const IN_MEMORY: usize = 1 << 20;
/// More lines than a journal can have.
const LINES: u64 = 1 << 60;
/// A command that only appends does not wait for the witness to catch up with more than this.
const BEHIND: u64 = 64 << 20;

const SIMPLE: u8 = 1;
const TIMED: u8 = 2;
/// The whole entry of a line that is nothing but its line end.
const BLANK: u8 = 4;

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

/// What a line has to do with an id.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum About {
    /// A record about it.
    Record,
    /// A record that ends it.
    Delete,
    /// Bytes that cannot be read, in which it stands.
    Unreadable,
}

impl About {
    /// What an event has to do with its ids.
    #[must_use]
    pub fn of(event: &Event<'_>) -> About {
        if event.op.name == "delete" { About::Delete } else { About::Record }
    }
}

/// What is kept of one line.
#[derive(Clone, Copy, Debug)]
pub struct Entry<'b> {
    /// The line's bytes, with its line end.
    pub span: Span,
    /// Its number, from 1.
    pub line: u64,
    /// The hash of its bytes.
    pub hash: u64,
    /// Whether it is one record and its line end, and nothing was found.
    pub simple: bool,
    /// The time of its record, where it is simple.
    pub time: Option<Stamp>,
    /// The entry as it is kept.
    pub bytes: &'b [u8],
    /// Where the ids begin in it.
    names: usize,
}

impl<'b> Entry<'b> {
    /// The ids that it names.
    pub fn ids(self) -> impl Iterator<Item = (About, &'b str)> {
        let mut decoder = Decoder { bytes: self.bytes, at: self.names };
        let count = decoder.varint().unwrap_or(0);
        (0..count).map_while(move |_| decoder.name())
    }
}

/// Makes entries of what a scan with hashes meets.
#[derive(Debug, Default)]
pub struct Encoder {
    /// The entries of whole lines, one behind the other.
    pub out: Vec<u8>,
    names: Vec<u8>,
    count: u64,
    time: Option<Stamp>,
}

impl Encoder {
    /// Takes the next item.
    pub fn item(&mut self, item: &Item<'_>) {
        match item {
            Item::Record(record) => {
                self.time = Stamp::of(record);
                event_ids(record.event, &mut |id| self.name(About::of(record.event), id));
            }
            Item::Finding(finding, Bytes::Unreadable) => {
                finding.ids.iter().for_each(|id| self.name(About::Unreadable, id));
            }
            Item::LineEnd { span, terminated, simple, hash, .. } => {
                if *terminated {
                    self.entry(span.len, *simple, *hash);
                }
                self.names.clear();
                (self.count, self.time) = (0, None);
            }
            Item::Finding(..) | Item::Foreign { .. } => {}
        }
    }

    fn name(&mut self, about: About, id: &str) {
        self.names.push(match about {
            About::Record => 0,
            About::Delete => 1,
            About::Unreadable => 2,
        });
        varint(&mut self.names, id.len() as u64);
        self.names.extend_from_slice(id.as_bytes());
        self.count += 1;
    }

    fn entry(&mut self, len: u64, simple: bool, hash: u64) {
        if len == 1 && self.count == 0 {
            self.out.push(BLANK);
            return;
        }
        let flag = |set: bool, bit: u8| if set { bit } else { 0 };
        let time = self.time.filter(|_| simple);
        self.out.push(flag(simple, SIMPLE) | flag(time.is_some(), TIMED));
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

    fn name(&mut self) -> Option<(About, &'b str)> {
        let about = match self.take(1)?[0] {
            0 => About::Record,
            1 => About::Delete,
            _ => About::Unreadable,
        };
        let len = usize::try_from(self.varint()?).ok()?;
        Some((about, std::str::from_utf8(self.take(len)?).ok()?))
    }

    /// The next entry, of the line `line` that begins at `start`.
    fn entry(&mut self, start: u64, line: u64) -> Option<Entry<'b>> {
        let from = self.at;
        let flags = self.take(1)?[0];
        let mut entry = Entry {
            span: Span { offset: start, len: 1 },
            line,
            hash: 0,
            simple: flags & SIMPLE != 0,
            time: None,
            bytes: &[],
            names: 1,
        };
        if flags & BLANK != 0 {
            entry.hash = LineHash::default().finish(b"\n");
        } else {
            entry.span.len = self.varint().filter(|len| *len > 0)?;
            entry.hash = u64::from_le_bytes(*self.take(8)?.first_chunk()?);
            if flags & TIMED != 0 {
                entry.time = Some(Stamp::from_bytes(*self.take(Stamp::BYTES)?.first_chunk()?));
            }
            entry.names = self.at - from;
            for _ in 0..self.varint()? {
                self.name()?;
            }
        }
        entry.bytes = &self.bytes[from..self.at];
        start.checked_add(entry.span.len)?;
        Some(entry)
    }
}

/// Hands out the entries in `bytes`, the first of which is about line `line` at `start`. Says where the line behind the
/// last one begins, and its number.
pub fn each(bytes: &[u8], start: u64, line: u64, take: &mut dyn FnMut(Entry<'_>)) -> (u64, u64) {
    let mut decoder = Decoder { bytes, at: 0 };
    let (mut start, mut line) = (start, line);
    while decoder.at < bytes.len() {
        let Some(entry) = decoder.entry(start, line) else { break };
        take(entry);
        (start, line) = (entry.span.end(), line + 1);
    }
    (start, line)
}

/// Which file a journal is: one of the same name may be another.
#[derive(Clone, Copy, Debug, Eq)]
pub struct Identity {
    dev: u64,
    ino: u64,
    /// When it was made, in nanoseconds; 0 where the file system does not say. Inode numbers come back.
    born: u64,
}

impl PartialEq for Identity {
    fn eq(&self, other: &Identity) -> bool {
        // A device's number may be another after a reboot or a mount: it decides only where nothing better is known.
        let known = self.born != 0 && other.born != 0;
        self.ino == other.ino && if known { self.born == other.born } else { self.dev == other.dev }
    }
}

impl Identity {
    /// Which file this is.
    pub fn of(file: &File) -> io::Result<Identity> {
        let data = file.metadata()?;
        let born = data.created().ok().and_then(|at| at.duration_since(UNIX_EPOCH).ok());
        let born = born.map_or(0, |at| u64::try_from(at.as_nanos()).unwrap_or(0));
        Ok(Identity { dev: data.dev(), ino: data.ino(), born })
    }

    /// Which file this is, in numbers.
    #[must_use]
    pub fn words(self) -> [u64; 3] {
        [self.dev, self.ino, self.born]
    }

    /// The file of these numbers.
    #[must_use]
    pub fn from_words([dev, ino, born]: [u64; 3]) -> Identity {
        Identity { dev, ino, born }
    }

    fn to_header(self) -> Vec<u8> {
        let mut bytes = MAGIC.to_vec();
        for word in self.words() {
            bytes.extend_from_slice(&word.to_le_bytes());
        }
        bytes.resize(SUMMED, 0);
        bytes.extend_from_slice(&XxHash3_64::oneshot(&bytes).to_le_bytes());
        bytes
    }

    fn from_header(bytes: &[u8]) -> Option<Identity> {
        let (body, sum) = bytes.split_at_checked(SUMMED)?;
        let whole = body.starts_with(MAGIC) && XxHash3_64::oneshot(body).to_le_bytes()[..] == *sum;
        whole.then(|| Identity::from_words([word(body, 8), word(body, 16), word(body, 24)]))
    }
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
    /// The hash of the last bytes of the journal before `to`.
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
        let sum = sum_of(&bytes, entries);
        bytes.extend_from_slice(&sum.to_le_bytes());
        bytes.extend_from_slice(entries);
        bytes.extend_from_slice(&self.len.to_le_bytes());
        bytes.extend_from_slice(&BLOCK_MARK.to_le_bytes());
        bytes
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
            && head.lines < LINES
            && word(bytes, 40) == sum_of(&bytes[..40], entries);
        whole.then_some(head)
    }
}

fn sum_of(head: &[u8], entries: &[u8]) -> u64 {
    let mut hash = XxHash3_64::new();
    hash.write(head);
    hash.write(entries);
    hash.finish()
}

/// How far a witness goes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct End {
    /// Bytes of the journal.
    pub to: u64,
    /// Its lines.
    pub lines: u64,
    tail: u64,
    /// Where its last whole block ends in the witness.
    pub len: u64,
    /// Whether what lies behind that was a whole block once.
    damaged: bool,
}

impl End {
    /// Whether what lies behind its last whole block was a whole block once.
    #[must_use]
    pub fn is_damaged(self) -> bool {
        self.damaged
    }
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
    /// Something that cannot be read.
    Unreadable(Unread),
    /// A witness.
    Witness(Witness),
}

/// Why a witness cannot be read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Unread {
    /// In words.
    pub why: String,
    /// This user may not look at it; it may be as good as any.
    pub hidden: bool,
}

impl Unread {
    /// One that says this of itself.
    #[must_use]
    pub fn damaged(why: &str) -> Unread {
        Unread { why: why.to_owned(), hidden: false }
    }

    fn of(error: &io::Error) -> Unread {
        Unread { why: crate::error::plain(error), hidden: error.kind() == io::ErrorKind::PermissionDenied }
    }
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
        Err(error) => return Found::Unreadable(Unread::of(&error)),
    };
    let read = || -> io::Result<(Vec<u8>, u64)> {
        let mut bytes = vec![0; HEADER];
        file.read_exact_at(&mut bytes, 0)?;
        Ok((bytes, file.metadata()?.len()))
    };
    match read() {
        Ok((bytes, len)) => match Identity::from_header(&bytes) {
            Some(identity) => Found::Witness(Witness { file, identity, len }),
            None => Found::Unreadable(Unread::damaged("its header is damaged, or another version's")),
        },
        Err(error) => Found::Unreadable(Unread::of(&error)),
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
    /// The entries, from the first on.
    #[must_use]
    pub fn entries(&self) -> Entries<'_> {
        self.entries_from(Cursor { block: HEADER as u64, at: 0, start: 0, line: 1 })
    }

    /// The entries from where a cursor stood.
    #[must_use]
    pub fn entries_from(&self, cursor: Cursor) -> Entries<'_> {
        Entries {
            window: Window::new(&self.file, self.len),
            cursor,
            bytes: Vec::new(),
            loaded: false,
            next: None,
            ended: false,
            skipped: 0,
            failed: None,
        }
    }

    /// How far it goes; from its last block where that is whole, else from the last whole one.
    pub fn end(&self) -> io::Result<End> {
        if let Some(end) = self.last_block()? {
            return Ok(end);
        }
        let mut window = Window::new(&self.file, self.len);
        let mut end = End { len: HEADER as u64, ..End::default() };
        while let Some((at, head)) = next_block(&mut window, end.len)? {
            let whole = block_len(head.len);
            let bytes = window.exact(at, whole)?.unwrap_or_default();
            let entries = bytes.get(BLOCK_HEAD..whole - BLOCK_TAIL).unwrap_or_default();
            let lines = each(entries, head.from, head.lines, &mut |_| ()).1;
            end = End { to: head.to, lines, tail: head.tail, len: at + whole as u64, damaged: false };
        }
        // An append that was cut short does not end as a block ends.
        if end.len < self.len {
            let last = window.exact(self.len - 4, 4)?;
            end.damaged = last.is_none_or(|last| half(last, 0) == BLOCK_MARK);
        }
        Ok(end)
    }

    /// How far it goes, where its last block is whole: at the price of one look.
    pub fn last_block(&self) -> io::Result<Option<End>> {
        let mut tail = [0; BLOCK_TAIL];
        if self.len < (HEADER + BLOCK_HEAD + BLOCK_TAIL) as u64 {
            return Ok(None);
        }
        self.file.read_exact_at(&mut tail, self.len - BLOCK_TAIL as u64)?;
        let whole = block_len(half(&tail, 0));
        if half(&tail, 4) != BLOCK_MARK || whole as u64 > self.len - HEADER as u64 {
            return Ok(None);
        }
        let mut bytes = vec![0; whole];
        self.file.read_exact_at(&mut bytes, self.len - whole as u64)?;
        let Some(head) = Head::from_bytes(&bytes) else { return Ok(None) };
        let lines = each(&bytes[BLOCK_HEAD..whole - BLOCK_TAIL], head.from, head.lines, &mut |_| ()).1;
        Ok(Some(End { to: head.to, lines, tail: head.tail, len: self.len, damaged: false }))
    }

    /// Hands out the entries in front of an end, in their order; whether they are all: no block is damaged.
    pub fn each_before(&self, end: End, take: &mut dyn FnMut(Entry<'_>)) -> io::Result<bool> {
        let mut window = Window::new(&self.file, end.len);
        let (mut at, mut next) = (HEADER as u64, (0, 0));
        while at < end.len {
            let Some(head) = block_at(&mut window, at)?.filter(|head| (head.from, head.lines) == next) else {
                return Ok(false);
            };
            let whole = block_len(head.len);
            let bytes = window.exact(at, whole)?.unwrap_or_default();
            let entries = bytes.get(BLOCK_HEAD..whole - BLOCK_TAIL).unwrap_or_default();
            let (to, line) = each(entries, head.from, head.lines + 1, take);
            next = (to, line - 1);
            at += whole as u64;
        }
        Ok(next.0 == end.to)
    }

    /// Bytes behind its end that were never finished.
    #[must_use]
    pub fn unfinished(&self, end: End) -> u64 {
        self.len - end.len
    }
}

fn block_len(entries: u32) -> usize {
    BLOCK_HEAD + entries as usize + BLOCK_TAIL
}

/// The whole block at an offset; `None` where there is none.
fn block_at(window: &mut Window<'_>, at: u64) -> io::Result<Option<Head>> {
    let Some(head) = window.exact(at, BLOCK_HEAD)? else { return Ok(None) };
    if half(head, 0) != BLOCK_MARK {
        return Ok(None);
    }
    let whole = block_len(half(head, 4));
    Ok(window.exact(at, whole)?.and_then(Head::from_bytes))
}

/// The first whole block at an offset or behind it.
fn next_block(window: &mut Window<'_>, from: u64) -> io::Result<Option<(u64, Head)>> {
    let mut at = from;
    loop {
        if let Some(head) = block_at(window, at)? {
            return Ok(Some((at, head)));
        }
        let Some(found) = window.find(&BLOCK_MARK.to_le_bytes(), at + 1)? else { return Ok(None) };
        at = found;
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

/// Reads the entries of a witness, one after the other. A block that is damaged is left out.
#[derive(Debug)]
pub struct Entries<'w> {
    window: Window<'w>,
    cursor: Cursor,
    /// The block's entries.
    bytes: Vec<u8>,
    loaded: bool,
    /// Where the entry behind the one at the cursor is, once that was looked at.
    next: Option<usize>,
    ended: bool,
    /// Bytes of the journal about which damaged blocks were.
    skipped: u64,
    failed: Option<io::Error>,
}

impl Entries<'_> {
    /// The entry at the cursor. None where there are no more, or none that can be read.
    pub fn peek(&mut self) -> Option<Entry<'_>> {
        while self.next.is_none() && !self.ended {
            if !self.loaded {
                match self.load() {
                    Ok(true) => self.loaded = true,
                    Ok(false) => self.ended = true,
                    Err(error) => {
                        self.failed = Some(error);
                        self.ended = true;
                    }
                }
                continue;
            }
            if self.cursor.at < self.bytes.len() {
                let mut decoder = Decoder { bytes: &self.bytes, at: self.cursor.at };
                match decoder.entry(self.cursor.start, self.cursor.line) {
                    Some(_) => self.next = Some(decoder.at),
                    None => self.ended = true,
                }
                continue;
            }
            self.cursor.block += block_len(0) as u64 + self.bytes.len() as u64;
            self.cursor.at = 0;
            self.loaded = false;
        }
        self.next?;
        Decoder { bytes: &self.bytes, at: self.cursor.at }.entry(self.cursor.start, self.cursor.line)
    }

    /// Loads the block at the cursor, or the next whole one; whether there is one.
    fn load(&mut self) -> io::Result<bool> {
        let Some((at, head)) = next_block(&mut self.window, self.cursor.block)? else { return Ok(false) };
        if self.cursor.at == 0 {
            // A block that goes back is not of this witness.
            let Some(skipped) = head.from.checked_sub(self.cursor.start) else { return Ok(false) };
            self.skipped += skipped;
            self.cursor = Cursor { block: at, at: 0, start: head.from, line: head.lines + 1 };
        }
        let whole = block_len(head.len);
        let bytes = self.window.exact(at, whole)?.unwrap_or_default();
        self.bytes.clear();
        self.bytes.extend_from_slice(bytes.get(BLOCK_HEAD..whole - BLOCK_TAIL).unwrap_or_default());
        Ok(true)
    }

    /// Goes on behind the entry that was looked at.
    pub fn advance(&mut self) {
        if let Some(at) = self.next.take() {
            let mut decoder = Decoder { bytes: &self.bytes, at: self.cursor.at };
            if let Some(entry) = decoder.entry(self.cursor.start, self.cursor.line) {
                self.cursor = Cursor { at, start: entry.span.end(), line: entry.line + 1, ..self.cursor };
            }
        }
    }

    /// Where the next entry is.
    #[must_use]
    pub fn cursor(&self) -> Cursor {
        self.cursor
    }

    /// Why not all of them could be read, once they were read.
    pub fn trouble(&mut self) -> Option<String> {
        match self.failed.take() {
            Some(error) => Some(crate::error::plain(&error)),
            None if self.skipped > 0 => Some(format!("what it knew of {} bytes is damaged", self.skipped)),
            None => None,
        }
    }
}

/// Entries that are to be kept: blocks, in memory or in a file of their own.
#[derive(Debug)]
pub struct Builder {
    /// The journal.
    file: Option<File>,
    head: Head,
    /// Where the first of its lines begins.
    begins: u64,
    entries: Vec<u8>,
    lines: u64,
    done: Vec<u8>,
    spill: Option<Spill>,
    failed: Option<io::Error>,
    place: PathBuf,
    dir: DataDir,
}

/// A file of blocks that is not yet the witness. Its owner holds a lock on it, so that what a killed process has left
/// can be told from it.
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
    pub fn new(dir: &DataDir, journal: &Journal, opened: &Opened, (from, lines): (u64, u64)) -> Builder {
        Builder {
            // A journal that cannot be looked at again is not kept.
            file: opened.file.as_ref().and_then(|file| file.try_clone().ok()),
            head: Head { len: 0, from, lines, to: from, tail: 0 },
            begins: from,
            entries: Vec::new(),
            lines,
            done: Vec::new(),
            spill: None,
            failed: None,
            place: path(dir, journal),
            dir: dir.clone(),
        }
    }

    /// Where the next line begins.
    #[must_use]
    pub fn to(&self) -> u64 {
        self.head.to
    }

    /// Whether it has no entry, and none was lost.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.head.to == self.begins
    }

    /// Whether it is about the journal that is there now, as far as that goes.
    #[must_use]
    pub fn is_of(&self, now: Option<&File>) -> bool {
        match (&self.file, now) {
            (None, None) => true,
            (Some(then), Some(now)) => {
                let long_enough = now.metadata().is_ok_and(|data| data.len() >= self.head.to);
                long_enough && Identity::of(then).ok() == Identity::of(now).ok()
            }
            _ => false,
        }
    }

    /// Takes the next entries.
    pub fn push_all(&mut self, encoded: &[u8]) {
        each(encoded, self.head.to, self.lines + 1, &mut |entry| self.push(entry));
    }

    /// Takes the entry of the next line.
    pub fn push(&mut self, entry: Entry<'_>) {
        self.entries.extend_from_slice(entry.bytes);
        self.head.to = entry.span.end();
        self.lines += 1;
        if self.entries.len() >= BLOCK && self.failed.is_none() {
            self.failed = self.close().err();
        }
    }

    /// Closes the block.
    fn close(&mut self) -> io::Result<()> {
        if self.entries.is_empty() {
            return Ok(());
        }
        let journal = self.file.as_ref().ok_or(io::ErrorKind::NotFound)?;
        let len = u32::try_from(self.entries.len()).map_err(|_| io::ErrorKind::FileTooLarge)?;
        let block = Head { len, tail: tail(journal, self.head.to)?, ..self.head }.to_bytes(&self.entries);
        self.done.extend_from_slice(&block);
        self.entries.clear();
        self.head.from = self.head.to;
        self.head.lines = self.lines;
        if self.done.len() > IN_MEMORY { self.spill() } else { Ok(()) }
    }

    fn spill(&mut self) -> io::Result<()> {
        if self.spill.is_none() {
            let folder = self.place.parent().ok_or(io::ErrorKind::NotFound)?;
            self.dir.make(folder).map_err(|error| io::Error::other(error.message))?;
            self.spill = Some(self.new_spill(folder)?);
        }
        let Some(spill) = &mut self.spill else { return Ok(()) };
        spill.file.write_all_at(&self.done, spill.len)?;
        spill.len += self.done.len() as u64;
        self.done.clear();
        Ok(())
    }

    fn new_spill(&self, folder: &Path) -> io::Result<Spill> {
        let name = self.place.file_name().unwrap_or_default().to_string_lossy();
        // Another process may have the same number: in another container.
        for n in 0..1000 {
            let path = folder.join(format!(".{name}.{}-{n}.tmp", std::process::id()));
            match self.dir.create_new(&path, false) {
                Ok(file) => {
                    // Locks may not work here; then it is taken for left behind, and what was read is not kept.
                    let _ = file.try_lock();
                    return Ok(Spill { path, file, len: HEADER as u64 });
                }
                Err(_) if path.exists() => {}
                Err(error) => return Err(io::Error::other(error.message)),
            }
        }
        Err(io::ErrorKind::AlreadyExists.into())
    }

    /// Removes what killed processes have left in the folder.
    fn sweep(&self, folder: &Path) {
        let name = format!(".{}.", self.place.file_name().unwrap_or_default().to_string_lossy());
        for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
            let left = entry.file_name().to_string_lossy().starts_with(&name)
                && files::open_kept(&entry.path(), false)
                    .is_ok_and(|file| file.is_some_and(|f| f.try_lock().is_ok()));
            if left {
                // One that stays is in nobody's way.
                let _ = fs::remove_file(entry.path());
            }
        }
    }

    /// Becomes the witness of the journal that was read, in the place of whatever is there.
    pub fn replace(mut self, _lock: &Lock) -> Result<()> {
        let path = self.place.clone();
        let mut written = || -> io::Result<()> {
            let folder = path.parent().ok_or(io::ErrorKind::NotFound)?;
            self.failed.take().map_or(Ok(()), Err)?;
            self.close()?;
            self.spill()?;
            let (Some(spill), Some(file)) = (&self.spill, &self.file) else { return Ok(()) };
            spill.file.write_all_at(&Identity::of(file)?.to_header(), 0)?;
            // It is evidence: what it replaces must not be gone before it is there.
            spill.file.sync_data()?;
            fs::rename(&spill.path, &path)?;
            // A crash may bring the old one back, which says the same of another file.
            let _ = files::sync_folder(folder);
            self.sweep(folder);
            Ok(())
        };
        written().map_err(|e| Error::io("write the witness", &path, &e))
    }

    /// Appends to the witness that ends where this begins; where there is no such one any more, nothing is done.
    pub fn extend(self, dir: &DataDir, journal: &Journal, opened: &Opened, _lock: &Lock) -> Result<()> {
        let Found::Witness(witness) = open_as(dir, journal, true) else { return Ok(()) };
        let failed = |e: io::Error| Error::io("write the witness", &path(dir, journal), &e);
        let end = witness.end().map_err(failed)?;
        if end.to != self.begins || witness.standing(opened, end).map_err(failed)? != Standing::For {
            return Ok(());
        }
        self.append(&witness, end).map_err(failed)
    }

    /// Appends to a witness that was opened for writing and ends where this begins.
    fn append(mut self, witness: &Witness, end: End) -> io::Result<()> {
        self.failed.take().map_or(Ok(()), Err)?;
        self.close()?;
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

/// How a witness stands to a journal, as far as a look at their ends can tell.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Standing {
    /// It is about another file.
    Elsewhere,
    /// The journal is shorter, or other bytes are where it ended.
    Against,
    /// Its own end is damaged.
    Damaged,
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
        Ok(match self.ends_in(opened, end)? {
            _ if end.damaged => Standing::Damaged,
            true => Standing::For,
            false => Standing::Against,
        })
    }

    /// Whether a journal has the bytes with which it ends, in their place.
    fn ends_in(&self, opened: &Opened, end: End) -> io::Result<bool> {
        let Some(file) = &opened.file else { return Ok(false) };
        // What was opened before the witness may be longer by now.
        Ok(end.to == 0 || (end.to <= file.metadata()?.len() && tail(file, end.to)? == end.tail))
    }

    /// Makes it the witness of another file: what it knows is held against that from now on.
    fn adopt(&self, opened: &Opened) -> io::Result<()> {
        let Some(file) = &opened.file else { return Ok(()) };
        self.file.write_all_at(&Identity::of(file)?.to_header(), 0)
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
    if !opened.is_there() {
        return Ok(());
    }
    let (end, witness) = match open_as(dir, journal, true) {
        Found::Witness(witness) => {
            let end = witness.end().map_err(failed)?;
            match witness.standing(opened, end).map_err(failed)? {
                Standing::For => {}
                // A copy has taken the journal's place, and goes on where the other ended.
                Standing::Elsewhere
                    if end.to > 0 && !end.damaged && witness.ends_in(opened, end).map_err(failed)? =>
                {
                    witness.adopt(opened).map_err(failed)?;
                }
                _ => return Ok(()),
            }
            (end, Some(witness))
        }
        Found::Nothing if opened.len <= BEHIND => (End::default(), None),
        Found::Nothing | Found::Unreadable(_) => return Ok(()),
    };
    if opened.len <= end.to || opened.len - end.to > BEHIND {
        return Ok(());
    }
    let mut builder = Builder::new(dir, journal, opened, (end.to, end.lines));
    scan(journal, opened, end, &mut builder)?;
    match witness {
        _ if builder.is_empty() => Ok(()),
        Some(witness) => builder.append(&witness, end).map_err(failed),
        None => builder.replace(lock),
    }
}

/// Begins a witness for a journal that was just replaced by us. Where that fails, the old one is about another file,
/// and the next check says so.
pub fn begin_anew(dir: &DataDir, journal: &Journal, lock: &Lock) -> Result<()> {
    let opened = replay::open_locked(dir, journal, lock)?;
    let mut builder = Builder::new(dir, journal, &opened, (0, 0));
    scan(journal, &opened, End::default(), &mut builder)?;
    if builder.is_empty() { remove(dir, journal, lock) } else { builder.replace(lock) }
}

/// Moves whatever is in the witness's place to another.
pub fn set_aside(dir: &DataDir, journal: &Journal, to: &Path, _lock: &Lock) -> Result<()> {
    let path = path(dir, journal);
    let moved = fs::rename(&path, to).and_then(|()| files::sync_folder(to.parent().unwrap_or(Path::new("."))));
    moved.map_err(|e| Error::io("set aside", &path, &e))
}

/// Reads a journal from where a witness ends.
fn scan(journal: &Journal, opened: &Opened, end: End, builder: &mut Builder) -> Result<()> {
    let mut encoder = Encoder::default();
    let stretch = Stretch { from: end.to, lines_before: end.lines, hashes: true, ..Stretch::whole(opened.len) };
    opened.scan_items(journal, stretch, &mut |item| {
        encoder.item(item);
        if encoder.out.len() >= BLOCK {
            builder.push_all(&encoder.out);
            encoder.out.clear();
        }
        Ok(())
    })?;
    builder.push_all(&encoder.out);
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
