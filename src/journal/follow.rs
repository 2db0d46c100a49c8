//! Following a journal while others write it: every line once, also where a compaction or a repair puts another file in
//! its place, or somebody moves it away.
//!
//! The old file is held open, so that its rest is read even when it has no name any more. Where the new one goes on from
//! it is what the replacement has noted; where there is no such note, the beginning of the new file is held against the
//! old one, line by line.

use std::fs::File;
use std::io;
use std::os::unix::fs::{FileExt, MetadataExt};
use std::path::Path;

use super::Journal;
use super::files::{self, DataDir, Window};
use super::replace::Continued;
use super::replay::{Opened, Seen};
use super::scan::{Item, Stretch};
use super::witness::{Identity, LineHash};
use crate::error::{Code, Error, Result};

/// How much is looked at in one piece for the last line end.
const BLOCK: u64 = 1 << 16;

/// What has become of the journal itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Change {
    /// A compaction or repair has replaced it, and said where it goes on.
    Replaced,
    /// Another file has taken its place, and nothing says where it goes on. The first so many bytes of it were in the
    /// old one.
    Exchanged(u64),
    /// It is shorter than what was read of it: from so many bytes to so many.
    Cut(u64, u64),
    /// What was read of it is not what it has there now: it is read from its beginning.
    Rewritten,
}

/// What one look has met beside the items.
#[derive(Debug, Default)]
pub struct Look {
    /// What was read.
    pub seen: Seen,
    /// What has become of the journal, if anything.
    pub changes: Vec<Change>,
}

/// Takes the next item.
pub type Take<'t> = dyn FnMut(&Item<'_>) -> Result<()> + 't;

/// A file's length and when it was changed.
type State = (u64, i64, i64);

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
    /// By what the part that was read is known again.
    known: Known,
    /// How the file was when all of its whole lines had been read.
    state: Option<State>,
    /// Lines that were handed out of an old file, and are carried over to this one: their hashes, and for how many looks
    /// they are still waited for.
    owed: (Vec<u64>, u32),
}

/// For how many looks a line is waited for that must be carried over.
const PATIENCE: u32 = 250;

/// How many bytes at either end of what was read are kept.
const ENDS: u64 = 4096;

/// What the beginning and the end of a part of a file are.
#[derive(Debug, Default, PartialEq, Eq)]
struct Known {
    head: Vec<u8>,
    tail: Vec<u8>,
}

impl Known {
    /// Of the first `at` bytes of a file.
    fn of(file: &File, at: u64) -> io::Result<Known> {
        let part = |offset: u64, len: u64| -> io::Result<Vec<u8>> {
            let mut bytes = vec![0; usize::try_from(len).unwrap_or(0)];
            file.read_exact_at(&mut bytes, offset)?;
            Ok(bytes)
        };
        let len = at.min(ENDS);
        Ok(Known { head: part(0, len)?, tail: part(at - len, len)? })
    }

    /// Whether a file begins with the part that these are the ends of.
    fn holds(&self, file: &File, at: u64) -> io::Result<bool> {
        Ok(*self == Known::of(file, at)?)
    }
}

fn state_of(file: &File) -> io::Result<State> {
    let data = file.metadata()?;
    Ok((data.len(), data.mtime(), data.mtime_nsec()))
}

impl Follower {
    /// Follows a journal from where it was read to. `lines`: how many lines end before `at`.
    #[must_use]
    pub fn new(dir: &DataDir, journal: &'static Journal, opened: Opened, (at, lines): (u64, u64)) -> Follower {
        // What cannot be read now is told at the first look.
        let known = opened.file.as_ref().and_then(|file| Known::of(file, at).ok()).unwrap_or_default();
        let (dir, file, looked, owed) = (dir.clone(), opened.file, at, (Vec::new(), 0));
        Follower { dir, journal, file, at, lines, looked, known, state: None, owed }
    }

    /// The end of the last whole line of a journal.
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
        let mut look = Look::default();
        // The name first: what is read of the old file afterwards was written before it lost its name, or is carried over.
        let now = match files::open_read(&path) {
            // A link's target may be moved away for a moment, as a file may.
            Err(error) if error.code == Code::EnvironmentFileKind && self.file.is_some() => None,
            now => now?,
        };
        match (self.file.take(), now) {
            (None, None) => return Ok(look),
            (None, Some(new)) => self.begin(new, 0, &path)?,
            (Some(old), None) => self.file = Some(old),
            (Some(old), Some(new)) => {
                let (old_is, new_is) = (Identity::of(&old).map_err(failed)?, Identity::of(&new).map_err(failed)?);
                self.file = Some(old);
                if old_is != new_is {
                    self.change(new, (old_is, new_is), &mut look, take)?;
                }
            }
        }
        self.lines_so_far(&mut look, take)?;
        Ok(look)
    }

    /// Begins with a file, behind its first `at` bytes.
    fn begin(&mut self, file: File, at: u64, path: &Path) -> Result<()> {
        let failed = |e: io::Error| Error::io("read", path, &e);
        // What was to be carried over may not be there yet.
        let at = at.min(files::metadata(&file, path)?.len());
        (self.at, self.looked) = (at, at);
        self.lines = files::count_lines(&file, 0, at).map_err(failed)?;
        self.known = Known::of(&file, at).map_err(failed)?;
        (self.file, self.state) = (Some(file), None);
        Ok(())
    }

    /// Reads the old file to its end, and goes on with the one that has taken its place.
    fn change(
        &mut self,
        new: File,
        (old_is, new_is): (Identity, Identity),
        look: &mut Look,
        take: &mut Take<'_>,
    ) -> Result<()> {
        let path = self.dir.journal(self.journal);
        let failed = |e: io::Error| Error::io("read", &path, &e);
        let note = Continued::read(&self.dir, self.journal).filter(|note| note.new == new_is);
        let before = note.and_then(|note| note.from.into_iter().find(|before| before.file == old_is));
        let Some(old) = &self.file else { return Ok(()) };
        let to = before.map_or(files::metadata(old, &path)?.len(), |before| before.bytes);
        let from = match before {
            Some(before) => {
                look.changes.push(Change::Replaced);
                // What a daemon wrote to the old file behind that, and was handed out already, is carried over.
                self.owed = (hashes(old, before.bytes, self.at).map_err(failed)?, PATIENCE);
                before.at
            }
            None => {
                let known = shared(old, &new).map_err(failed)?;
                look.changes.push(Change::Exchanged(known));
                known
            }
        };
        if to > self.at {
            look.seen.add(self.read(to, take)?);
        }
        self.begin(new, from, &path)
    }

    /// Hands out the whole lines that the file has more than before.
    fn lines_so_far(&mut self, look: &mut Look, take: &mut Take<'_>) -> Result<()> {
        let path = self.dir.journal(self.journal);
        let failed = |e: io::Error| Error::io("read", &path, &e);
        let Some(file) = &self.file else { return Ok(()) };
        let state = state_of(file).map_err(failed)?;
        if Some(state) == self.state {
            return Ok(());
        }
        let len = state.0;
        let is_short = len < self.at;
        let holds = match self.known.holds(file, self.at) {
            // It has just become shorter, which the next look sees.
            Err(error) if error.kind() == io::ErrorKind::UnexpectedEof && !is_short => return Ok(()),
            Err(_) if is_short => false,
            holds => holds.map_err(failed)?,
        };
        if is_short || !holds {
            // What it begins with now was either there before, or has taken its place.
            let head = Known::of(file, len.min(ENDS).min(self.at)).map_err(failed)?.head;
            let kept = is_short && len > 0 && self.known.head.starts_with(&head);
            look.changes.push(if is_short { Change::Cut(self.at, len) } else { Change::Rewritten });
            self.at = if kept { last_end(file, 0, len).map_err(failed)?.unwrap_or(0) } else { 0 };
            self.lines = files::count_lines(file, 0, self.at).map_err(failed)?;
            self.looked = self.at;
        }
        // A last line without its end may have been cut off again.
        self.looked = if len < self.looked { self.at } else { self.looked };
        if let Some(end) = last_end(file, self.looked, len).map_err(failed)? {
            look.seen.add(self.read(end, take)?);
        }
        // What was looked through and has no line end is not looked through again.
        self.looked = len;
        self.state = Some(state);
        if let Some(file) = &self.file {
            self.known = Known::of(file, self.at).map_err(failed)?;
        }
        self.owed.1 = self.owed.1.saturating_sub(1);
        if self.owed.1 == 0 {
            self.owed.0.clear();
        }
        Ok(())
    }

    /// Hands out everything up to `to`, but for lines that were handed out before.
    fn read(&mut self, to: u64, take: &mut Take<'_>) -> Result<Seen> {
        let mut seen = Seen::default();
        while !self.owed.0.is_empty() && self.at < to {
            let path = self.dir.journal(self.journal);
            let Some(file) = &self.file else { break };
            let mut lines = Lines { window: Window::new(file, to), at: self.at, len: to };
            let Some((hash, end)) = lines.next().map_err(|e| Error::io("read", &path, &e))? else { break };
            match self.owed.0.iter().position(|owed| *owed == hash) {
                Some(place) => {
                    self.owed.0.swap_remove(place);
                    (self.at, self.lines) = (end, self.lines + 1);
                }
                None => seen.add(self.read_all(end, take)?),
            }
        }
        seen.add(self.read_all(to, take)?);
        Ok(seen)
    }

    fn read_all(&mut self, to: u64, take: &mut Take<'_>) -> Result<Seen> {
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

/// The hashes of the whole lines between two offsets.
fn hashes(file: &File, from: u64, to: u64) -> io::Result<Vec<u64>> {
    let mut lines = Lines { window: Window::new(file, to), at: from, len: to };
    let mut all = Vec::new();
    while let Some((hash, _)) = lines.next()? {
        all.push(hash);
    }
    Ok(all)
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
