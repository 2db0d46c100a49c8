//! The durable append: all journals are written here and nowhere else.
//!
//! The whole record with its line end goes out in one write, behind the lock, and is acknowledged only when it was
//! synced and read back. Nothing is ever cut off, but for the bytes of our own failed write, and those only where
//! nobody has written behind them: a running daemon takes no lock.

use std::fs::File;
use std::io::{Seek, Write};
use std::os::unix::fs::FileExt;
use std::path::Path;

use super::Journal;
use super::files::{self, DataDir};
use super::finding::Span;
use super::lock::Lock;
use super::replay::Opened;
use crate::error::{Code, Error, Result, plain};

/// The longest record that is written, with its line end: what the daemon takes in its facts journal.
pub const LONGEST_RECORD: u64 = 64 << 20;

/// How often a record is written again because the daemon's unfinished line got in front of it.
const TRIES: u32 = 3;

/// What an append did.
#[derive(Debug, Default)]
pub struct Appended {
    /// Where the records lie, without their line ends.
    pub spans: Vec<Span>,
    /// What happened on the way that the caller should say.
    pub notes: Vec<String>,
    /// The journal as it is now, where it could be looked at.
    pub now: Option<Opened>,
}

/// Refuses records that are too long to be written.
pub fn check_length(journal: &Journal, line: &[u8]) -> Result<()> {
    let len = line.len() as u64 + 1;
    if len > LONGEST_RECORD {
        let message = format!(
            "the record for {} would be {len} bytes long; the most that is written is {LONGEST_RECORD}",
            journal.file
        );
        return Err(Error::new(Code::RefusedTooLarge, message));
    }
    Ok(())
}

/// Appends records, each a whole line without its line end, with one write and one sync. Without any record, what was
/// appended before is made whole and durable: its last line gets its line end, and file and folder are synced.
///
/// Errors: 5 a record is too long; 7 nothing was written; 8 it was written, but not proven to be on disk.
pub fn append(dir: &DataDir, journal: &Journal, _lock: &Lock, lines: &[Vec<u8>], sync: bool) -> Result<Appended> {
    for line in lines {
        check_length(journal, line)?;
    }
    let path = dir.journal(journal);
    let (mut file, new) = dir.open_append(&path)?;
    let mut done = Appended::default();
    if lines.is_empty() {
        if files::ends_open(&file, &path)? {
            write(&mut file, &path, b"\n")?;
        }
        if sync {
            make_durable(&file, &path, true)?;
        }
        return Ok(done);
    }
    let mut tries = 0;
    let start = loop {
        // After the first round a whole copy is in the file, whatever fails now.
        let known = |error: Error| if tries > 0 { unknown(error.message) } else { error };
        let mut bytes = Vec::new();
        if files::ends_open(&file, &path).map_err(known)? {
            bytes.push(b'\n');
            if done.notes.is_empty() {
                let note = format!(
                    "the last line of {} had no line end: it got one, so that nothing is welded",
                    path.display()
                );
                done.notes.push(note);
            }
        }
        let lead = bytes.len();
        for line in lines {
            bytes.extend_from_slice(line);
            bytes.push(b'\n');
        }
        let start = write(&mut file, &path, &bytes).map_err(known)?;
        if !reads_back(&file, start, &bytes) {
            let message = format!("{} does not read back what was written at byte {start}", path.display());
            return Err(unknown(message));
        }
        let mut before = [b'\n'];
        if start > 0 && lead == 0 {
            file.read_exact_at(&mut before, start - 1).map_err(|e| unproven(&path, "read", &e))?;
        }
        if before == [b'\n'] {
            break start + lead as u64;
        }
        // A daemon's line came in between and its line end is still to come: write once more, on a line of its own.
        // Every record may be read twice and means the same.
        tries += 1;
        if tries >= TRIES {
            let message = format!("{} keeps changing: another program writes to it", path.display());
            return Err(unknown(message));
        }
        done.notes.push(
            "another program was writing at the same moment: the record was written again on a line of its own"
                .to_owned(),
        );
    };
    if sync {
        make_durable(&file, &path, new)?;
    }
    let mut offset = start;
    for line in lines {
        done.spans.push(Span { offset, len: line.len() as u64 });
        offset += line.len() as u64 + 1;
    }
    Ok(done)
}

/// Whether these bytes stand at an offset.
fn reads_back(file: &File, start: u64, bytes: &[u8]) -> bool {
    let mut block = [0; 1 << 14];
    let mut at = start;
    bytes.chunks(block.len()).all(|piece| {
        let back = &mut block[..piece.len()];
        let same = file.read_exact_at(back, at).is_ok() && back == piece;
        at += piece.len() as u64;
        same
    })
}

/// Syncs the file; `new`: its folder as well.
fn make_durable(file: &File, path: &Path, new: bool) -> Result<()> {
    file.sync_data().map_err(|e| unproven(path, "sync", &e))?;
    if new {
        let real = files::real_path(path)?;
        let folder = real.parent().unwrap_or(Path::new("."));
        files::sync_folder(folder).map_err(|e| unproven(folder, "sync", &e))?;
    }
    Ok(())
}

/// Writes `bytes` at the end of the file and says where they lie. On failure the file is as it was.
fn write(file: &mut File, path: &Path, bytes: &[u8]) -> Result<u64> {
    let mut written = 0;
    let mut end = 0;
    // Where the first byte went. Bytes of others may come between two pieces of a short write.
    let mut start = 0;
    let error = loop {
        match file.write(&bytes[written..]) {
            Ok(0) => break std::io::Error::from(std::io::ErrorKind::WriteZero),
            Ok(n) => {
                end = file.stream_position().map_err(|e| unproven(path, "find the end of", &e))?;
                if written == 0 {
                    start = end - n as u64;
                }
                written += n;
                if written == bytes.len() {
                    return Ok(start);
                }
            }
            Err(e) if e.kind() == std::io::ErrorKind::Interrupted => {}
            Err(e) => break e,
        }
    };
    let mut failed = Error::io("write", path, &error);
    if written > 0 {
        let now = file.metadata().map(|data| data.len()).ok();
        if now == Some(end) && end == start + written as u64 && file.set_len(start).is_ok() {
            failed.message.push_str("; the journal is as it was before");
        } else if written + 1 >= bytes.len() || bytes[1..written.max(1)].contains(&b'\n') {
            // A whole record is in the file: one without its line end is read as well.
            return Err(unknown(failed.message));
        } else {
            failed.message.push_str(&format!(
                "; {written} bytes of the failed write remain at byte {start}, the next append starts a new line"
            ));
            failed.hints.push("cruxctl journal check".to_owned());
        }
    } else {
        failed.message.push_str("; nothing was written");
    }
    Err(failed)
}

fn unproven(path: &Path, what: &str, error: &std::io::Error) -> Error {
    unknown(format!(
        "the record was written, and then it was not possible to {what} {}: {}",
        path.display(),
        plain(error)
    ))
}

fn unknown(message: String) -> Error {
    Error::new(Code::UnknownWrite, format!("{message}; it may or may not survive"))
        .hint("look whether it is there before trying again: cruxctl journal check")
}
