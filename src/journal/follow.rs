//! Following a journal while others write it: every line once, also where a compaction or a repair puts another file in
//! its place, or somebody moves it away.
//!
//! The old file is held open, so that its rest is read even when it has no name any more. Where the new one goes on from
//! it is what the replacement has noted; where there is no such note, the beginning of the new file is held against the
//! old one, line by line.

use std::fs::File;
use std::io;

use super::Journal;
use super::files::{self, DataDir, Window};
use super::finding::Span;
use super::replace::Continued;
use super::replay::{Opened, Seen};
use super::scan::{Item, Stretch};
use super::witness::{Identity, LineHash};
use crate::error::{Error, Result};

/// How much is looked at in one piece for the last line end.
const BLOCK: u64 = 1 << 16;

/// What has become of the journal itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Change {
    /// A compaction or repair has replaced it, and said where it goes on.
    Replaced,
    /// Something else has put another file in its place. The first so many bytes of it were in the old one.
    Exchanged(u64),
    /// It is shorter than what was read of it: from so many bytes to so many.
    Cut(u64, u64),
}

/// What one look has met beside the items.
#[derive(Debug, Default)]
pub struct Look {
    /// What was read.
    pub seen: Seen,
    /// What has become of the journal, if anything.
    pub change: Option<Change>,
}

/// Takes the next item.
pub type Take<'t> = dyn FnMut(&Item<'_>) -> Result<()> + 't;

/// A journal that is followed.
#[derive(Debug)]
pub struct Follower {
    dir: DataDir,
    journal: &'static Journal,
    file: Option<File>,
    /// Where the next line begins.
    at: u64,
    /// Lines before it.
    lines: u64,
    /// How far it was looked for that line's end.
    looked: u64,
    /// What the file begins with.
    head: Vec<u8>,
}

/// How many bytes of its beginning a file is known again by.
const HEAD: u64 = 4096;

impl Follower {
    /// Follows a journal from where it was read to. `lines`: how many lines end before `at`.
    #[must_use]
    pub fn new(dir: &DataDir, journal: &'static Journal, opened: Opened, (at, lines): (u64, u64)) -> Follower {
        let head = Span { offset: 0, len: opened.len.min(HEAD) };
        // What cannot be read now is told at the first look.
        let head = opened.file.as_ref().and_then(|file| files::read_span(file, &opened.path, head).ok());
        let head = head.unwrap_or_default();
        Follower { dir: dir.clone(), journal, file: opened.file, at, lines, looked: at, head }
    }

    /// The end of the last whole line of a journal, and how many lines end before it.
    pub fn whole_lines(opened: &Opened) -> Result<u64> {
        match &opened.file {
            Some(file) => {
                let end = last_end(file, 0, opened.len).map_err(|e| Error::io("read", &opened.path, &e))?;
                Ok(end.unwrap_or(0))
            }
            None => Ok(0),
        }
    }

    /// Hands out what was written since the last look.
    pub fn look(&mut self, take: &mut Take<'_>) -> Result<Look> {
        let path = self.dir.journal(self.journal);
        let failed = |e: io::Error| Error::io("read", &path, &e);
        // The name first: what is read of the old file afterwards was written before it lost its name, or is not ours.
        let now = files::open_read(&path)?;
        let Some(old) = self.file.take() else {
            let Some(new) = now else { return Ok(Look::default()) };
            (self.at, self.lines, self.looked) = (0, 0, 0);
            self.file = Some(new);
            return self.lines_so_far(take);
        };
        let old_is = Identity::of(&old).map_err(failed)?;
        let new_is = now.as_ref().map(Identity::of).transpose().map_err(failed)?;
        let Some((new, new_is)) = now.zip(new_is).filter(|(_, new)| *new != old_is) else {
            self.file = Some(old);
            return self.lines_so_far(take);
        };
        let noted =
            Continued::read(&self.dir, self.journal).filter(|note| (note.old.0, note.new.0) == (old_is, new_is));
        let len = files::metadata(&old, &path)?.len();
        self.file = Some(old);
        let mut look = Look::default();
        let to = noted.map_or(len, |note| note.old.1);
        if to > self.at {
            look.seen = self.read(to, take)?;
        }
        let (from, change) = match noted {
            // What has come to the old file behind that was carried over.
            Some(note) => (note.new.1 + self.at.saturating_sub(note.old.1), Change::Replaced),
            None => {
                let known = self.file.as_ref().map_or(Ok(0), |old| shared(old, &new)).map_err(failed)?;
                (known, Change::Exchanged(known))
            }
        };
        look.change = Some(change);
        (self.at, self.looked, self.lines) = (from, from, lines_before(&new, from).map_err(failed)?);
        (self.file, self.head) = (Some(new), Vec::new());
        look.seen.add(self.lines_so_far(take)?.seen);
        Ok(look)
    }

    /// Hands out the whole lines that the file has more than before.
    fn lines_so_far(&mut self, take: &mut Take<'_>) -> Result<Look> {
        let path = self.dir.journal(self.journal);
        let Some(file) = &self.file else { return Ok(Look::default()) };
        let len = files::metadata(file, &path)?.len();
        let mut look = Look::default();
        let failed = |e: io::Error| Error::io("read", &path, &e);
        let head = || files::read_span(file, &path, Span { offset: 0, len: len.min(HEAD) });
        if len < self.at {
            look.change = Some(Change::Cut(self.at, len));
            // What it begins with now was either there before, or has taken its place.
            let kept = self.head.starts_with(&head()?);
            self.at = if kept { last_end(file, 0, len).map_err(failed)?.unwrap_or(0) } else { 0 };
            self.lines = lines_before(file, self.at).map_err(failed)?;
            self.looked = self.at;
            self.head = head()?;
        } else if (self.head.len() as u64) < len.min(HEAD) {
            self.head = head()?;
        }
        if len < self.looked {
            self.looked = self.at;
        }
        if let Some(end) = last_end(file, self.looked, len).map_err(failed)? {
            look.seen = self.read(end, take)?;
        }
        // What was looked through and has no line end is not looked through again.
        self.looked = len;
        Ok(look)
    }

    /// Hands out everything up to `to`.
    fn read(&mut self, to: u64, take: &mut Take<'_>) -> Result<Seen> {
        let file = self.file.take();
        let opened =
            Opened { path: self.dir.journal(self.journal), file, len: to, mtime: (0, 0), being_written: None };
        let stretch = Stretch { from: self.at, lines_before: self.lines, ..Stretch::whole(to) };
        let seen = opened.scan_items(self.journal, stretch, take);
        self.file = opened.file;
        let seen = seen?;
        self.at = to;
        self.lines += seen.totals.lines;
        Ok(seen)
    }
}

/// Where the last line ends that ends between two offsets.
fn last_end(file: &File, from: u64, to: u64) -> io::Result<Option<u64>> {
    let mut window = Window::new(file, to);
    let mut end = to;
    while end > from {
        let start = end.saturating_sub(BLOCK).max(from);
        let len = usize::try_from(end - start).unwrap_or(0);
        let block = window.exact(start, len)?.unwrap_or_default();
        if let Some(at) = memchr::memrchr(b'\n', block) {
            return Ok(Some(start + at as u64 + 1));
        }
        end = start;
    }
    Ok(None)
}

/// How many lines end before an offset.
fn lines_before(file: &File, to: u64) -> io::Result<u64> {
    let mut window = Window::new(file, to);
    let (mut at, mut lines) = (0, 0);
    while at < to {
        let block = window.some(at, usize::MAX)?;
        if block.is_empty() {
            break;
        }
        lines += memchr::memchr_iter(b'\n', block).count() as u64;
        at += block.len() as u64;
    }
    Ok(lines)
}

/// How many bytes a file begins with whose lines are in another one as well, in the same order.
fn shared(old: &File, new: &File) -> io::Result<u64> {
    let (mut old, mut new) = (Lines::of(old)?, Lines::of(new)?);
    let mut known = 0;
    'lines: while let Some((line, end)) = new.next()? {
        while let Some((was, _)) = old.next()? {
            if was == line {
                known = end;
                continue 'lines;
            }
        }
        break;
    }
    Ok(known)
}

/// The whole lines of a file, each with its hash and where it ends.
struct Lines<'f> {
    window: Window<'f>,
    at: u64,
    len: u64,
}

impl Lines<'_> {
    fn of(file: &File) -> io::Result<Lines<'_>> {
        let len = file.metadata()?.len();
        Ok(Lines { window: Window::new(file, len), at: 0, len })
    }

    fn next(&mut self) -> io::Result<Option<(u64, u64)>> {
        let mut hash = LineHash::default();
        let mut at = self.at;
        while at < self.len {
            let block = self.window.some(at, usize::MAX)?;
            if block.is_empty() {
                break;
            }
            if let Some(end) = memchr::memchr(b'\n', block) {
                self.at = at + end as u64 + 1;
                return Ok(Some((hash.finish(&block[..end]), self.at)));
            }
            hash.write(block);
            at += block.len() as u64;
        }
        Ok(None)
    }
}
