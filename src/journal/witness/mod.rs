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

mod entry;
mod keep;

use std::fs::File;
use std::hash::Hasher;
use std::io;
use std::os::unix::fs::{FileExt, MetadataExt};
use std::path::PathBuf;
use std::time::UNIX_EPOCH;

use twox_hash::XxHash3_64;

use super::Journal;
use super::anchor::tail;
use super::files::{self, DataDir, Window, half, word};
use super::index;
use super::replay::Opened;

use crate::error::{Code, Error};
use entry::Decoder;
pub use entry::{About, Encoder, Entry, LineHash, each};
pub use keep::{Builder, begin_anew, catch_up, remove, set_aside, settle};

const MAGIC: &[u8; 8] = b"CRUXWT01";
const HEADER: usize = 64;
/// Bytes of the header in front of its checksum.
const SUMMED: usize = HEADER - 8;
const BLOCK_HEAD: usize = 48;
const BLOCK_TAIL: usize = 8;
const BLOCK_MARK: u32 = 0x4B42_5743;
/// More lines than a journal can have.
const LINES: u64 = 1 << 60;

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
    /// What kept it from being looked at; it may be as good as any. `None`: it was looked at, and is damaged.
    pub failed: Option<Code>,
}

impl Unread {
    /// One that says this of itself.
    #[must_use]
    pub fn damaged(why: &str) -> Unread {
        Unread { why: why.to_owned(), failed: None }
    }

    fn of(error: &io::Error) -> Unread {
        // A link in its place is not followed: that is no failure, but as good as damage.
        let link = rustix::io::Errno::LOOP.raw_os_error();
        let failed = error.raw_os_error().filter(|number| *number != link).map(|_| Error::from_io("", error).code);
        Unread { why: crate::error::plain(error), failed }
    }

    /// Whether this user may not look at it.
    #[must_use]
    pub fn is_hidden(&self) -> bool {
        self.failed == Some(Code::EnvironmentPermission)
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
        // An append that was cut short does not end as a block ends; its first bytes alone do, and are shorter than any.
        if self.len - end.len >= block_len(0) as u64 {
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
    pub fn trouble(&mut self) -> Option<Unread> {
        match self.failed.take() {
            Some(error) => Some(Unread::of(&error)),
            None if self.skipped > 0 => {
                Some(Unread::damaged(&format!("what it knew of {} bytes is damaged", self.skipped)))
            }
            None => None,
        }
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
        self.standing_to_copy(opened, end)
    }

    /// How it stands to a file that must have all that it knows, whichever file that is.
    pub fn standing_to_copy(&self, opened: &Opened, end: End) -> io::Result<Standing> {
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
