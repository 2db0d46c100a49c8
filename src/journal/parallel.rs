//! Reading a long journal on two threads.
//!
//! The file is cut into chunks. A worker reads the lines that begin in its chunk and keeps of each record only a
//! [`Digest`]; the caller gets everything in the order of the file. A worker never gets far ahead of the caller, so
//! memory stays bounded however slow one chunk is.

use std::collections::BTreeMap;
use std::fs::File;
use std::os::unix::fs::FileExt;
use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::channel;
use std::sync::{Condvar, Mutex};
use std::thread;

use super::Journal;
use super::finding::{Finding, Span};
use super::live::Digest;
use super::scan::{self, Bytes, Item, Stretch, Totals};
use super::stamp::Stamp;
use crate::error::{Error, Result};

/// How much of the file is one chunk.
pub const CHUNK: u64 = 4 << 20;

/// From this length on a second thread is worth its start.
const LONG: u64 = 4 * CHUNK;

/// How many chunks are read ahead of the caller.
const AHEAD: u64 = 8;

/// What a scan meets, as far as replay and check need it.
#[derive(Debug)]
pub enum Met {
    /// A record.
    Record {
        /// Its bytes.
        span: Span,
        /// What replay needs of it.
        digest: Option<Digest>,
        /// When it was written.
        time: Option<Stamp>,
    },
    /// A finding.
    Finding(Finding, Bytes),
}

/// A process that may not have this much address space reads on one thread: each thread's allocator sets some 64 MiB of
/// it aside.
const ROOM: u64 = 1 << 30;

/// Whether a journal of this length is read on two threads.
#[must_use]
pub fn worth_it(journal: &Journal, len: u64) -> bool {
    let limit = rustix::process::getrlimit(rustix::process::Resource::As).current;
    journal.last_wins && len >= LONG && limit.is_none_or(|limit| limit >= ROOM)
}

struct Turn {
    /// Chunks that the caller has taken.
    taken: u64,
    /// Nobody wants more.
    stop: bool,
}

/// Reads the first `len` bytes of a journal, in chunks of `size` bytes, and hands everything to `take`, in the order of
/// the file.
pub fn scan(
    path: &Path,
    file: &File,
    journal: &Journal,
    len: u64,
    size: u64,
    take: &mut dyn FnMut(Met) -> Result<()>,
) -> Result<Totals> {
    let chunks = len.div_ceil(size);
    let next = AtomicU64::new(0);
    let turn = (Mutex::new(Turn { taken: 0, stop: false }), Condvar::new());
    let workers = thread::available_parallelism().map_or(1, usize::from).min(2);
    thread::scope(|scope| {
        let (sender, receiver) = channel();
        for _ in 0..workers {
            let sender = sender.clone();
            let (next, turn) = (&next, &turn);
            scope.spawn(move || {
                loop {
                    let index = next.fetch_add(1, Ordering::Relaxed);
                    if index >= chunks || !wait(turn, index) {
                        return;
                    }
                    // Nobody listens any more when the caller has stopped.
                    if sender
                        .send((index, chunk(path, file, journal, index * size, (index + 1) * size, len)))
                        .is_err()
                    {
                        return;
                    }
                }
            });
        }
        drop(sender);
        let mut early = BTreeMap::new();
        let mut totals = Totals::default();
        let mut expected = 0;
        let mut result = Ok(());
        for (index, read) in receiver {
            early.insert(index, read);
            while let Some(read) = early.remove(&expected) {
                result = result.and_then(|()| give(read?, &mut totals, take));
                expected += 1;
                advance(&turn, expected, result.is_err());
            }
            if result.is_err() {
                break;
            }
        }
        advance(&turn, chunks, true);
        result.map(|()| Totals { bytes: len, ..totals })
    })
}

/// Waits until a chunk may be read; `false` when nobody wants it.
fn wait(turn: &(Mutex<Turn>, Condvar), index: u64) -> bool {
    let Ok(mut state) = turn.0.lock() else { return false };
    while !state.stop && index >= state.taken + AHEAD {
        match turn.1.wait(state) {
            Ok(again) => state = again,
            Err(_) => return false,
        }
    }
    !state.stop
}

fn advance(turn: &(Mutex<Turn>, Condvar), taken: u64, stop: bool) {
    if let Ok(mut state) = turn.0.lock() {
        state.taken = taken;
        state.stop |= stop;
    }
    turn.1.notify_all();
}

/// Hands out what a chunk has, with its lines counted from the start of the file.
fn give(read: (Vec<Met>, u64), totals: &mut Totals, take: &mut dyn FnMut(Met) -> Result<()>) -> Result<()> {
    let (met, lines) = read;
    for mut met in met {
        if let Met::Finding(finding, _) = &mut met {
            finding.line += totals.lines;
        }
        take(met)?;
    }
    totals.lines += lines;
    Ok(())
}

/// Reads the lines that begin in a chunk; says how many they are.
fn chunk(path: &Path, file: &File, journal: &Journal, from: u64, end: u64, len: u64) -> Result<(Vec<Met>, u64)> {
    let end = end.min(len);
    let Some(from) = first_line(path, file, from, end)? else { return Ok((Vec::new(), 0)) };
    let mut met = Vec::new();
    let stretch = Stretch { from, lines_before: 0, to: len, lines_until: end };
    let totals = scan::scan(path, file, journal.shape, stretch, &mut |item| {
        match item {
            Item::Record(record) => {
                let (digest, time) = (Digest::of(&record), Stamp::of(&record));
                met.push(Met::Record { span: record.span, digest, time });
            }
            Item::Finding(finding, bytes) => met.push(Met::Finding(finding, bytes)),
            Item::Foreign { .. } | Item::LineEnd { .. } => {}
        }
        Ok(())
    })?;
    Ok((met, totals.lines))
}

/// Where the first line begins at or behind `from` and before `end`.
fn first_line(path: &Path, file: &File, from: u64, end: u64) -> Result<Option<u64>> {
    if from == 0 {
        return Ok(Some(0));
    }
    let mut block = vec![0; 1 << 16];
    let mut at = from - 1;
    while at < end {
        let want = usize::try_from(end - at).unwrap_or(usize::MAX).min(block.len());
        let got = file.read_at(&mut block[..want], at).map_err(|e| Error::io("read", path, &e))?;
        if let Some(n) = memchr::memchr(b'\n', &block[..got]) {
            let start = at + n as u64 + 1;
            return Ok((start < end).then_some(start));
        }
        if got == 0 {
            break;
        }
        at += got as u64;
    }
    Ok(None)
}
