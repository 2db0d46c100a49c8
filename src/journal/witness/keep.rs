//! Making, growing and replacing witnesses. Everything here happens behind the lock.

use std::fs::{self, File};
use std::io;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};

use super::{Encoder, End, Entry, Found, HEADER, Head, Identity, Standing, Witness, each, open_as, path};
use crate::error::{Error, Result};
use crate::journal::Journal;
use crate::journal::anchor::tail;
use crate::journal::files::{self, DataDir};
use crate::journal::lock::Lock;
use crate::journal::replay::{self, Opened};
use crate::journal::scan::Stretch;

/// A block is closed when its entries are this long.
const BLOCK: usize = 1 << 16;
/// Finished blocks beyond this go to a file.
const IN_MEMORY: usize = 1 << 20;
/// A command that only appends does not wait for the witness to catch up with more than this.
const BEHIND: u64 = 64 << 20;

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
    pub fn is_of(&self, now: Option<&File>) -> io::Result<bool> {
        Ok(match (&self.file, now) {
            (None, None) => true,
            (Some(then), Some(now)) => {
                now.metadata()?.len() >= self.head.to && Identity::of(then)? == Identity::of(now)?
            }
            _ => false,
        })
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

    /// Sees to it that what is vouched for is on disk: what a killed writer has left may not be, and a crash would take it
    /// back, and not what is said of it.
    pub fn settle(&self) -> Result<()> {
        let synced = self.file.as_ref().map_or(Ok(()), File::sync_data);
        synced.map_err(|e| Error::io("sync what is vouched for in", &self.place, &e))
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

/// Brings the witness of a journal up to date behind the lock, and begins one for a journal that is short enough to be
/// read in passing. Where it speaks against the journal it stays as it is. `synced`: all of the journal is on disk.
pub fn catch_up(dir: &DataDir, journal: &Journal, opened: &Opened, lock: &Lock, synced: bool) {
    // Nothing depends on it: a witness that is behind is still right.
    let _ = try_catch_up(dir, journal, opened, lock, (synced, BEHIND));
}

/// Brings the witness of a journal that is about to be replaced up to date, and on disk. Were it behind after a crash, it
/// would miss in the new file what was deleted since.
pub fn settle(dir: &DataDir, journal: &Journal, opened: &Opened, lock: &Lock) {
    // Where there is none, the new file is held against nothing.
    let Found::Witness(witness) = open_as(dir, journal, false) else { return };
    // A replacement that cannot be vouched for is better than none: the disk may be full.
    let _ = try_catch_up(dir, journal, opened, lock, (false, u64::MAX));
    let _ = witness.file.sync_data();
}

/// `most`: how far it may be behind to be brought up to date.
fn try_catch_up(
    dir: &DataDir,
    journal: &Journal,
    opened: &Opened,
    lock: &Lock,
    (synced, most): (bool, u64),
) -> Result<()> {
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
    if opened.len <= end.to || opened.len - end.to > most {
        return Ok(());
    }
    let mut builder = Builder::new(dir, journal, opened, (end.to, end.lines));
    scan(journal, opened, end, &mut builder)?;
    if !synced && !builder.is_empty() {
        builder.settle()?;
    }
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
