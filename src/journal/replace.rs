//! Putting a new file in a journal's place: all of it or nothing.
//!
//! A copy in the same folder is written and synced, then renamed over the journal, and the folder is synced. What a
//! daemon appended to the old file meanwhile is carried over. A symlinked journal is replaced at its target. A note says
//! where the copy goes on from the old file, for whoever follows the journal.

use std::fs::{self, File};
use std::io::{BufWriter, Read, Write};
use std::os::unix::fs::{FileExt, MetadataExt, fchown};
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use super::Journal;
use super::files::{self, DataDir};
use super::finding::Span;
use super::index;
use super::lock::Lock;
use super::witness::{self, Found, Identity};
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
    /// Bytes written so far.
    written: u64,
    /// Where what came behind earlier files begins, in the old file and, once it is known, in the copy.
    marks: Vec<(Before, Option<u64>)>,
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
        let marks = Continued::into(dir, journal, old).into_iter().map(|before| (before, None)).collect();
        let (dir, out, written, committed) = (dir.clone(), BufWriter::new(file), 0, false);
        let replacement = Replacement { dir, journal, old, old_len, target, temp, out, written, marks, committed };
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

    /// What is written next stands for what the old file has at this offset.
    pub fn at(&mut self, old: u64) {
        for (_, new) in self.marks.iter_mut().filter(|(before, new)| new.is_none() && before.at <= old) {
            *new = Some(self.written);
        }
    }

    /// Copies a span of the old file.
    pub fn copy(&mut self, span: Span) -> Result<()> {
        for (before, new) in self.marks.iter_mut().filter(|(before, new)| new.is_none() && before.at < span.end()) {
            *new = Some(self.written + before.at.saturating_sub(span.offset));
        }
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
        self.written += bytes.len() as u64;
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
        // Whoever follows the journal without it compares the two. A check would take the copy for one that has lost lines,
        // where nobody makes a new witness behind it.
        let noted = self.note();
        if !matches!(witness::open(&self.dir, self.journal), Found::Nothing) {
            noted?;
        }
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

    /// Notes where the copy goes on from the old file, and from those before that.
    fn note(&mut self) -> Result<()> {
        let (old, old_len) = (self.old, self.old_len);
        let (copy, path, len) = self.finish()?;
        let identity = |file: &File| Identity::of(file).map_err(|e| Error::io("look at", path, &e));
        let (new, old) = (identity(copy)?, identity(old)?);
        let marks = self.marks.iter().map(|(before, new)| Before { at: new.unwrap_or(len), ..*before });
        let mut from: Vec<Before> = marks.chain([Before { file: old, bytes: old_len, at: len }]).collect();
        from.drain(..from.len().saturating_sub(CHAIN));
        Continued { new, from }.note(&self.dir, self.journal)
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

/// How many earlier files a note names.
const CHAIN: usize = 16;

/// A file that a journal was once.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Before {
    /// Which file.
    pub file: Identity,
    /// How much of it there was when it was replaced.
    pub bytes: u64,
    /// Where in the journal's present file that begins which came behind those.
    pub at: u64,
}

/// Where a journal that was replaced goes on from the files that it was before, the last one last.
#[derive(Clone, Debug, PartialEq)]
pub struct Continued {
    /// Its present file.
    pub new: Identity,
    /// Those before.
    pub from: Vec<Before>,
}

#[derive(Serialize, Deserialize)]
struct Note {
    schema: String,
    file: [u64; 3],
    /// Each an earlier file, its length, and the offset in this one.
    before: Vec<([u64; 3], u64, u64)>,
}

/// The note's schema.
const SCHEMA: &str = "cruxctl.continued.v1";

impl Continued {
    fn path(dir: &DataDir, journal: &Journal) -> PathBuf {
        index::folder(dir).join(format!("{}.continued", journal.name))
    }

    /// What goes on in this file from others.
    pub(super) fn into(dir: &DataDir, journal: &Journal, file: &File) -> Vec<Before> {
        let note = Continued::read(dir, journal).filter(|note| Identity::of(file).is_ok_and(|file| file == note.new));
        note.map_or_else(Vec::new, |note| note.from)
    }

    /// Leaves the note.
    fn note(&self, dir: &DataDir, journal: &Journal) -> Result<()> {
        let before = self.from.iter().map(|before| (before.file.words(), before.bytes, before.at)).collect();
        let note = Note { schema: SCHEMA.to_owned(), file: self.new.words(), before };
        let path = Continued::path(dir, journal);
        dir.make(&index::folder(dir))?;
        // It is read while it is written: a reader sees the last one or this one.
        let temp = path.with_extension("continued.tmp");
        let _ = fs::remove_file(&temp);
        let mut file = dir.create_new(&temp, false)?;
        let bytes = serde_json::to_vec(&note).map_err(|e| Error::io("write", &temp, &e.into()))?;
        file.write_all(&bytes).map_err(|e| Error::io("write", &temp, &e))?;
        file.sync_data().map_err(|e| Error::io("sync", &temp, &e))?;
        fs::rename(&temp, &path).map_err(|e| Error::io("replace", &path, &e))?;
        files::sync_folder(&index::folder(dir)).map_err(|e| Error::io("sync", &path, &e))
    }

    /// What the last replacement of a journal has left; `None` where nothing says it.
    #[must_use]
    pub fn read(dir: &DataDir, journal: &Journal) -> Option<Continued> {
        let file = files::open_kept(&Continued::path(dir, journal), false).ok()??;
        let note: Note = serde_json::from_reader(file.take(NOTE)).ok()?;
        let before = |(file, bytes, at)| Before { file: Identity::from_words(file), bytes, at };
        let from = note.before.into_iter().map(before).collect();
        (note.schema == SCHEMA).then_some(Continued { new: Identity::from_words(note.file), from })
    }
}

/// A note is not longer.
const NOTE: u64 = 1 << 14;

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
