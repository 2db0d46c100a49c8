//! Reading a long journal on two threads.
//!
//! The file is cut into chunks. A worker reads the lines that begin in its chunk and keeps of each record only a
//! [`Digest`]; the caller gets everything in the order of the file. A worker never gets far ahead of the caller, so
//! memory stays bounded however slow one chunk is.

use std::collections::BTreeMap;
use std::fs::File;
use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{SyncSender, sync_channel};
use std::sync::{Condvar, Mutex};
use std::thread;

use super::Journal;
use super::files;
use super::finding::{Finding, Span};
use super::live::Digest;
use super::scan::{self, Bytes, Item, Stretch, Totals};
use super::stamp::Stamp;
use super::witness::Encoder;
use crate::error::{Code, Error, Result};

/// How much of the file is one chunk.
pub const CHUNK: u64 = 4 << 20;

/// From this length on a second thread is worth its start.
const LONG: u64 = 4 * CHUNK;

/// How many chunks are read ahead of the caller.
const AHEAD: u64 = 4;

/// How much a worker keeps of one chunk before it waits for its turn; a record weighs 1.
const WEIGHT: usize = 40_000;

/// How many bytes of entries a worker keeps before it waits for its turn.
const ENTRIES: usize = 1 << 20;

/// What a finding weighs: its words are many.
const FINDING: usize = 8;

/// What a scan meets, as far as replay and check need it.
#[derive(Debug)]
pub enum Met {
    /// A record.
    Record {
        /// Line, from 1.
        line: u64,
        /// Its bytes.
        span: Span,
        /// What replay needs of it, where the last record of an id wins.
        digest: Option<Digest>,
        /// When it was written.
        time: Option<Stamp>,
    },
    /// A finding.
    Finding(Box<Finding>, Bytes),
    /// The entries for the witness of the lines since the last, where they are wanted. They come behind what those
    /// lines hold.
    Lines(Vec<u8>),
}

/// A process that may not have this much address space reads on one thread: each thread's allocator sets some 64 MiB of
/// it aside.
const ROOM: u64 = 1 << 30;

/// Whether there is room for more threads.
#[must_use]
pub fn has_room() -> bool {
    rustix::process::getrlimit(rustix::process::Resource::As).current.is_none_or(|limit| limit >= ROOM)
}

/// Whether a journal of this length is read on two threads.
#[must_use]
pub fn worth_it(journal: &Journal, len: u64) -> bool {
    journal.rule.last_wins() && len >= LONG && has_room()
}

/// Whose turn it is.
struct Turn {
    state: Mutex<State>,
    changed: Condvar,
}

struct State {
    /// Chunks that the caller has taken.
    taken: u64,
    /// Nobody wants more.
    stop: bool,
}

impl Turn {
    /// Waits until the caller has taken all but `ahead` of the chunks before `index`; `false` when nobody wants it.
    fn wait(&self, index: u64, ahead: u64) -> bool {
        let Ok(mut state) = self.state.lock() else { return false };
        while !state.stop && index >= state.taken + ahead {
            match self.changed.wait(state) {
                Ok(again) => state = again,
                Err(_) => return false,
            }
        }
        !state.stop
    }

    fn advance(&self, taken: u64, stop: bool) {
        if let Ok(mut state) = self.state.lock() {
            state.taken = taken;
            state.stop |= stop;
        }
        self.changed.notify_all();
    }
}

/// A part of what a chunk has.
struct Part {
    chunk: u64,
    met: Vec<Met>,
    /// Set in its last part: the lines that begin in it.
    lines: Option<u64>,
}

/// The journal that is read.
#[derive(Clone, Copy)]
struct Source<'s> {
    path: &'s Path,
    file: &'s File,
    journal: &'s Journal,
    len: u64,
    size: u64,
    lines: bool,
}

/// Reads the first `len` bytes of a journal, in chunks of `size` bytes, and hands everything to `take`, in the order of
/// the file. `lines`: the lines' entries as well.
pub fn scan(
    path: &Path,
    file: &File,
    journal: &Journal,
    len: u64,
    (size, lines): (u64, bool),
    take: &mut dyn FnMut(Met) -> Result<()>,
) -> Result<Totals> {
    let source = Source { path, file, journal, len, size, lines };
    let chunks = len.div_ceil(size);
    let next = AtomicU64::new(0);
    let turn = Turn { state: Mutex::new(State { taken: 0, stop: false }), changed: Condvar::new() };
    let mut totals = Totals::default();
    thread::scope(|scope| {
        // The channel is short: who sends faster than the caller takes has to wait.
        let (sender, receiver) = sync_channel::<Result<Part>>(2);
        let wanted = thread::available_parallelism().map_or(1, usize::from).min(2);
        let spawned = (0..wanted).filter(|_| {
            let (sender, next, turn) = (sender.clone(), &next, &turn);
            thread::Builder::new().spawn_scoped(scope, move || work(source, chunks, next, turn, &sender)).is_ok()
        });
        let spawned = spawned.count();
        drop(sender);
        if spawned == 0 {
            return alone(source, chunks, &mut totals, take);
        }
        let mut early: BTreeMap<u64, Vec<Part>> = BTreeMap::new();
        let mut expected = 0;
        let mut result = Ok(());
        for part in receiver {
            result = part.and_then(|part| {
                early.entry(part.chunk).or_default().push(part);
                while let Some(parts) = early.remove(&expected) {
                    let last = parts.last().is_some_and(|part| part.lines.is_some());
                    parts.into_iter().try_for_each(|part| give(part, &mut totals, take))?;
                    if !last {
                        break;
                    }
                    expected += 1;
                    turn.advance(expected, false);
                }
                Ok(())
            });
            if result.is_err() {
                break;
            }
        }
        turn.advance(chunks, true);
        result
    })?;
    Ok(Totals { bytes: len, ..totals })
}

/// What one worker does.
fn work(source: Source<'_>, chunks: u64, next: &AtomicU64, turn: &Turn, sender: &SyncSender<Result<Part>>) {
    loop {
        let index = next.fetch_add(1, Ordering::Relaxed);
        if index >= chunks || !turn.wait(index, AHEAD) {
            return;
        }
        let mut unwanted = false;
        let read = chunk(source, index, &mut |met| {
            // Too much to be kept: what was met goes out as soon as it is this chunk's turn.
            unwanted = !turn.wait(index, 1) || sender.send(Ok(Part { chunk: index, met, lines: None })).is_err();
            if unwanted { Err(Error::new(Code::EnvironmentIo, "nobody wants more")) } else { Ok(()) }
        });
        // Nobody listens any more when the caller has stopped.
        if unwanted || sender.send(read).is_err() {
            return;
        }
    }
}

/// Reads everything on the caller's own thread: there may be no other.
fn alone(
    source: Source<'_>,
    chunks: u64,
    totals: &mut Totals,
    take: &mut dyn FnMut(Met) -> Result<()>,
) -> Result<()> {
    for index in 0..chunks {
        let mut sums = *totals;
        let last = chunk(source, index, &mut |met| give(Part { chunk: index, met, lines: None }, &mut sums, take))?;
        give(last, totals, take)?;
    }
    Ok(())
}

/// Hands out a part of a chunk, with its lines counted from the start of the file.
fn give(part: Part, totals: &mut Totals, take: &mut dyn FnMut(Met) -> Result<()>) -> Result<()> {
    for mut met in part.met {
        match &mut met {
            Met::Record { line, .. } => *line += totals.lines,
            Met::Finding(finding, _) => finding.line += totals.lines,
            Met::Lines(_) => {}
        }
        take(met)?;
    }
    totals.lines += part.lines.unwrap_or(0);
    Ok(())
}

/// Reads the lines that begin in a chunk. What is too much to be kept goes to `full`; the last part is the answer.
fn chunk(source: Source<'_>, index: u64, full: &mut dyn FnMut(Vec<Met>) -> Result<()>) -> Result<Part> {
    let Source { path, file, journal, len, size, lines } = source;
    let end = ((index + 1) * size).min(len);
    let Some(from) = first_line(path, file, index * size, end)? else {
        return Ok(Part { chunk: index, met: Vec::new(), lines: Some(0) });
    };
    let (mut met, mut weight) = (Vec::new(), 0);
    let stretch = Stretch { from, lines_before: 0, to: len, lines_until: end, hashes: lines };
    let mut encoder = Encoder::default();
    let totals = scan::scan(path, file, journal.shape, stretch, &mut |item| {
        if lines {
            encoder.item(&item);
        }
        match item {
            Item::Record(record) => {
                let (digest, time) = (Digest::of(&record), Stamp::of(&record));
                met.push(Met::Record { line: record.line, span: record.span, digest, time });
                weight += 1;
            }
            Item::Finding(finding, bytes) => {
                met.push(Met::Finding(Box::new(finding), bytes));
                weight += FINDING;
            }
            Item::Foreign { .. } | Item::LineEnd { .. } => {}
        }
        if weight >= WEIGHT || encoder.out.len() >= ENTRIES {
            weight = 0;
            if !encoder.out.is_empty() {
                met.push(Met::Lines(std::mem::take(&mut encoder.out)));
            }
            full(std::mem::take(&mut met))?;
        }
        Ok(())
    })?;
    if !encoder.out.is_empty() {
        met.push(Met::Lines(encoder.out));
    }
    Ok(Part { chunk: index, met, lines: Some(totals.lines) })
}

/// Where the first line begins at or behind `from` and before `end`.
fn first_line(path: &Path, file: &File, from: u64, end: u64) -> Result<Option<u64>> {
    if from == 0 {
        return Ok(Some(0));
    }
    let start = files::behind_line_end(file, from - 1, end).map_err(|e| Error::io("read", path, &e))?;
    Ok(start.filter(|start| *start < end))
}
