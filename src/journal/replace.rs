//! Putting a new file in a journal's place: all of it or nothing.
//!
//! A copy in the same folder is written and synced, then renamed over the journal, and the folder is synced. What a
//! daemon appended to the old file meanwhile is carried over. A symlinked journal is replaced at its target. A note says
//! where the copy goes on from the old file, for whoever follows the journal.

use std::fs::{self, File};
use std::io::{self, BufWriter, Read, Write};
use std::os::unix::fs::{FileExt, MetadataExt, fchown};
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use super::Journal;
use super::files::{self, DataDir};
use super::finding::Span;
use super::index;
use super::lock::Lock;
use super::witness::Identity;
use crate::error::{Code, Error, Result};

/// How much is copied at once.
const BLOCK: u64 = 1 << 18;

/// A copy that is being made. Dropped before [`Replacement::commit`], it leaves nothing behind.
#[derive(Debug)]
pub struct Replacement<'f> {
    dir: DataDir,
    journal: &'f Journal,
    old: &'f File,
    old_len: u64,
    target: PathBuf,
    temp: PathBuf,
    out: BufWriter<File>,
    committed: bool,
}

impl<'f> Replacement<'f> {
    /// Begins a copy of a journal, whose file is `old` and of which `old_len` bytes are known. `tag` makes the copy's name
    /// its own.
    pub fn begin(dir: &DataDir, journal: &'f Journal, old: &'f File, old_len: u64, tag: &str) -> Result<Self> {
        let path = dir.journal(journal);
        dir.check_trust(&path, old)?;
        let target = files::real_path(&path)?;
        let folder = target.parent().unwrap_or(Path::new("."));
        let name = target.file_name().unwrap_or_default().to_string_lossy().into_owned();
        let temp = folder.join(format!(".{name}.cruxctl-{tag}.tmp"));
        let file = dir.create_new(&temp, true)?;
        let (dir, out) = (dir.clone(), BufWriter::new(file));
        let replacement = Replacement { dir, journal, old, old_len, target, temp, out, committed: false };
        replacement.dress()?;
        Ok(replacement)
    }

    /// Gives the copy the mode and the owner of the original.
    fn dress(&self) -> Result<()> {
        let data = files::metadata(self.old, &self.target)?;
        let copy = self.out.get_ref();
        let own = files::metadata(copy, &self.temp)?;
        if (own.uid(), own.gid()) != (data.uid(), data.gid()) {
            fchown(copy, Some(data.uid()), Some(data.gid()))
                .map_err(|e| Error::io("keep the owner while replacing", &self.target, &e))?;
        }
        copy.set_permissions(data.permissions()).map_err(|e| Error::io("set the mode of", &self.temp, &e))
    }

    /// Copies a span of the old file.
    pub fn copy(&mut self, span: Span) -> Result<()> {
        let mut at = span.offset;
        let mut block = vec![0; usize::try_from(span.len.min(BLOCK)).unwrap_or(0)];
        while at < span.end() {
            let want = usize::try_from((span.end() - at).min(BLOCK)).unwrap_or(0);
            self.old.read_exact_at(&mut block[..want], at).map_err(|e| Error::io("read", &self.target, &e))?;
            self.write(&block[..want])?;
            at += want as u64;
        }
        Ok(())
    }

    /// Writes bytes that the old file does not have.
    pub fn write(&mut self, bytes: &[u8]) -> Result<()> {
        self.out.write_all(bytes).map_err(|e| Error::io("write", &self.temp, &e))
    }

    /// Syncs the copy and hands it out to be looked at. Its length comes with it.
    pub fn finish(&mut self) -> Result<(&File, &Path, u64)> {
        self.out.flush().map_err(|e| Error::io("write", &self.temp, &e))?;
        let file = self.out.get_ref();
        file.sync_all().map_err(|e| Error::io("sync", &self.temp, &e))?;
        let len = files::metadata(file, &self.temp)?.len();
        Ok((file, &self.temp, len))
    }

    /// Puts the copy in the journal's place and calls `replaced` as soon as it is there. Says how many bytes of a
    /// daemon were carried over.
    ///
    /// Errors: 7 nothing was changed; 8 the copy is in place, but not proven to be on disk.
    pub fn commit(mut self, replaced: &mut dyn FnMut()) -> Result<u64> {
        self.finish()?;
        let known = self.old_len;
        self.carry_over()?;
        let old = (self.old, self.old_len);
        let (copy, _, len) = self.finish()?;
        // Nothing depends on it: whoever follows the journal without it compares the two.
        let continued = Continued::of(old, (copy, len));
        let _ = continued.map(|continued| continued.note(&self.dir, self.journal));
        fs::rename(&self.temp, &self.target).map_err(|e| Error::io("replace", &self.target, &e))?;
        self.committed = true;
        replaced();
        self.settle().map_err(|error| {
            let message = format!(
                "{} was replaced, and then: {}; a crash may bring the old one back",
                self.target.display(),
                error.message
            );
            Error::new(Code::UnknownWrite, message).hint("cruxctl journal check")
        })?;
        Ok(self.old_len - known)
    }

    /// What is left to do when the copy is in place. A daemon that opened the old file just before may have written to
    /// it since.
    fn settle(&mut self) -> Result<()> {
        // Meanwhile others may have begun to write to the new file: what is carried over goes behind that, on a line of
        // its own.
        let file = self.out.get_ref();
        let (now, end) = (files::metadata(self.old, &self.target)?.len(), files::metadata(file, &self.target)?.len());
        let mut last = [b'\n'];
        if now > self.old_len && end > 0 {
            file.read_exact_at(&mut last, end - 1).map_err(|e| Error::io("read", &self.target, &e))?;
        }
        if last != [b'\n'] {
            self.write(b"\n")?;
        }
        self.carry_over()?;
        self.finish()?;
        let folder = self.target.parent().unwrap_or(Path::new("."));
        files::sync_folder(folder).map_err(|e| Error::io("sync", folder, &e))
    }

    fn carry_over(&mut self) -> Result<()> {
        let now = files::metadata(self.old, &self.target)?.len();
        if now > self.old_len {
            let span = Span { offset: self.old_len, len: now - self.old_len };
            self.copy(span)?;
            self.old_len = now;
        }
        Ok(())
    }
}

impl Drop for Replacement<'_> {
    fn drop(&mut self) {
        if !self.committed {
            // Whatever failed before is what the caller hears of; a copy that stays is removed by the next replacement.
            let _ = fs::remove_file(&self.temp);
        }
    }
}

/// Where a journal that was replaced goes on: what stands in the new file behind `new` is what came to the old one behind
/// `old`, or to the new one.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Continued {
    /// The old file, and how far it was read.
    pub old: (Identity, u64),
    /// The new file, and how long it was when it took the old one's place.
    pub new: (Identity, u64),
}

#[derive(Serialize, Deserialize)]
struct Note {
    schema: String,
    old: [u64; 3],
    old_bytes: u64,
    new: [u64; 3],
    new_bytes: u64,
}

/// The note's schema.
const SCHEMA: &str = "cruxctl.continued.v1";

impl Continued {
    fn of((old, old_len): (&File, u64), (new, new_len): (&File, u64)) -> io::Result<Continued> {
        Ok(Continued { old: (Identity::of(old)?, old_len), new: (Identity::of(new)?, new_len) })
    }

    fn path(dir: &DataDir, journal: &Journal) -> PathBuf {
        index::folder(dir).join(format!("{}.continued", journal.name))
    }

    /// Leaves the note.
    fn note(&self, dir: &DataDir, journal: &Journal) -> Result<()> {
        let note = Note {
            schema: SCHEMA.to_owned(),
            old: self.old.0.words(),
            old_bytes: self.old.1,
            new: self.new.0.words(),
            new_bytes: self.new.1,
        };
        let path = Continued::path(dir, journal);
        dir.make(&index::folder(dir))?;
        // It is read while it is written: a reader sees the last one or this one.
        let temp = path.with_extension("continued.tmp");
        let _ = fs::remove_file(&temp);
        let mut file = dir.create_new(&temp, false)?;
        let bytes = serde_json::to_vec(&note).map_err(|e| Error::io("write", &temp, &e.into()))?;
        file.write_all(&bytes).map_err(|e| Error::io("write", &temp, &e))?;
        fs::rename(&temp, &path).map_err(|e| Error::io("replace", &path, &e))
    }

    /// What the last replacement of a journal has left; `None` where nothing says it.
    #[must_use]
    pub fn read(dir: &DataDir, journal: &Journal) -> Option<Continued> {
        let file = files::open_kept(&Continued::path(dir, journal), false).ok()??;
        let note: Note = serde_json::from_reader(file.take(NOTE)).ok()?;
        let (old, new) = (Identity::from_words(note.old), Identity::from_words(note.new));
        (note.schema == SCHEMA).then_some(Continued { old: (old, note.old_bytes), new: (new, note.new_bytes) })
    }
}

/// A note is not longer.
const NOTE: u64 = 4096;

/// Removes copies of a journal that a killed process left behind. The lock is held: nobody is making one.
pub fn remove_leftovers(path: &Path, _lock: &Lock) -> Result<()> {
    let target = files::real_path(path)?;
    let folder = target.parent().unwrap_or(Path::new("."));
    let name = target.file_name().unwrap_or_default().to_string_lossy().into_owned();
    for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
        if leftover(&entry.file_name().to_string_lossy(), &name) {
            // One that stays is in nobody's way.
            let _ = fs::remove_file(entry.path());
        }
    }
    Ok(())
}

/// Whether a file is a copy of a journal that a killed process left behind, by its name.
#[must_use]
pub fn leftover(name: &str, journal: &str) -> bool {
    let rest = name.strip_prefix('.').and_then(|name| name.strip_prefix(journal));
    rest.is_some_and(|rest| rest.starts_with(".cruxctl-") && rest.ends_with(".tmp"))
}
