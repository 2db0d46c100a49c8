//! What ties a file that is kept beside a journal to that journal: which file it was made from, how far, and what its
//! last bytes there were.

use std::fs::File;
use std::io;
use std::os::unix::fs::{FileExt, MetadataExt};

use twox_hash::XxHash3_64;

use super::replay::Opened;

/// How many bytes before an end are hashed.
const TAIL: u64 = 4096;

/// A place in a journal by which it is known again.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Anchor {
    /// The device.
    pub dev: u64,
    /// The inode.
    pub ino: u64,
    /// How far the journal was read.
    pub end: u64,
    /// When it was changed last, in seconds and nanoseconds.
    pub mtime: (i64, i64),
    /// The hash of the bytes before the end.
    pub tail: u64,
}

impl Anchor {
    /// How many numbers an anchor is kept in.
    pub const WORDS: usize = 6;

    /// The anchor of a journal that was read as far as it was long when it was opened. An error where it was changed in
    /// place meanwhile.
    pub fn of(opened: &Opened, file: &File) -> io::Result<Anchor> {
        let data = file.metadata()?;
        if data.len() == opened.len && (data.mtime(), data.mtime_nsec()) != opened.mtime {
            return Err(io::Error::other("the journal was changed in place while it was read"));
        }
        Ok(Anchor {
            dev: data.dev(),
            ino: data.ino(),
            end: opened.len,
            mtime: (data.mtime(), data.mtime_nsec()),
            tail: tail(file, opened.len)?,
        })
    }

    /// Whether a journal is still the one that was read: the same file, not shorter, with the same end there. One that
    /// has not grown must not have been touched.
    pub fn holds(&self, journal: &File) -> io::Result<bool> {
        let data = journal.metadata()?;
        let same = (data.dev(), data.ino()) == (self.dev, self.ino);
        let unchanged = data.len() != self.end || (data.mtime(), data.mtime_nsec()) == self.mtime;
        Ok(same && unchanged && data.len() >= self.end && tail(journal, self.end)? == self.tail)
    }

    /// The anchor in numbers.
    #[must_use]
    pub fn words(&self) -> [u64; Anchor::WORDS] {
        [self.dev, self.ino, self.end, self.mtime.0.cast_unsigned(), self.mtime.1.cast_unsigned(), self.tail]
    }

    /// The anchor of these numbers.
    #[must_use]
    pub fn from_words(words: [u64; Anchor::WORDS]) -> Anchor {
        let [dev, ino, end, seconds, nanos, tail] = words;
        Anchor { dev, ino, end, mtime: (seconds.cast_signed(), nanos.cast_signed()), tail }
    }
}

/// The hash of the last bytes of a journal before `end`.
pub fn tail(journal: &File, end: u64) -> io::Result<u64> {
    let len = end.min(TAIL);
    let mut bytes = vec![0; usize::try_from(len).unwrap_or(0)];
    journal.read_exact_at(&mut bytes, end - len)?;
    Ok(XxHash3_64::oneshot(&bytes))
}
