//! Makes and keeps the case index.
//!
//! It is a segment ([`crate::retrieve::segment`]) for each stretch of the journal. A writer closes a new one whenever
//! enough has come; small ones are made into greater ones, so that each case is read again only a few times, however long
//! the journal grows. Nothing depends on it: it is made afresh on any doubt.

use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;
use std::time::Duration;

use crate::env;
use crate::error::{Error, Result};
use crate::journal::Span;
use crate::journal::files::DataDir;
use crate::journal::live::Live;
use crate::journal::lock::Lock;
use crate::journal::replay::Opened;
use crate::journal::scan::Stretch;
use crate::journal::segments::{self, Draft, NoDraft, Part, Segments};
use crate::journal::table::Table;
use crate::retrieve::segment::{At, Builder, Entry, TermHasher};
use crate::store::case::{Case, JOURNAL};

/// The longest stretch that becomes one segment.
pub(super) const LONGEST: u64 = 32 << 20;
/// A stretch of this length becomes a segment; a shorter one is read record by record.
const SHORTEST: u64 = 1 << 17;
/// Segments that are shorter than one of these and together as long become one.
const STEPS: [u64; 3] = [1 << 20, 8 << 20, LONGEST];
/// The file may have this much more than it needs twice over before it is made afresh.
const WASTE: u64 = 4 << 20;
/// The share of records that are no more at which it is made afresh.
const MOST_DEAD: u64 = 4;

/// How often another process that makes the case index is waited for, before the cases are read one by one.
const WAITS: u32 = 300;
const WAIT: Duration = Duration::from_millis(10);
/// How long a new case index waits for the lock.
const PUBLISH: Duration = Duration::from_secs(1);

/// What is found to be wrong.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Wrong {
    /// The case index.
    CaseIndex,
    /// The case index or the journal's own.
    Either,
}

/// Throws away what cannot be believed, unless somebody changes the journal meanwhile.
pub(super) fn throw_away(dir: &DataDir, table: &Table, wrong: Wrong) {
    match Lock::try_take(dir) {
        Some(lock) if table.opened.is_unchanged() => segments::remove(dir, &JOURNAL, &lock),
        _ => return,
    }
    if wrong == Wrong::Either {
        table.drop_index();
    }
}

/// The case index as a writer has it before its append: what the journal was then is seen now.
pub(super) fn before_append(dir: &DataDir, table: &Table, lock: &Lock) -> Option<Segments> {
    let segments = Segments::open(dir, &JOURNAL, true)?;
    // The next question makes it afresh.
    if !segments.are_of(&table.opened) || is_old(&segments) {
        segments::remove(dir, &JOURNAL, lock);
        return None;
    }
    Some(segments)
}

/// Brings the case index up to date behind the lock, with the journal as it is after an append. This takes the same time
/// however long the journal is.
pub(super) fn after_append(dir: &DataDir, mut segments: Segments, now: &Opened, lock: &Lock) {
    let taken = take_a_little(&mut segments, now).and_then(|()| segments.commit(now, lock).ok());
    if taken.is_none() {
        segments::remove(dir, &JOURNAL, lock);
    }
}

/// The next step, where it is short. What is longer than a writer may be kept is left to the next who asks.
fn take_a_little(segments: &mut Segments, now: &Opened) -> Option<()> {
    match next_stretch(segments, now, 1).ok()? {
        Some((from, to)) if to - from <= STEPS[0] + SHORTEST => {
            let made = made_of(now, (from, to), segments)?;
            put(segments, (from, to), &made)
        }
        _ => Some(()),
    }
}

/// The stretch that becomes one part next: of what has come, or of small parts, as far as the first `steps` go.
fn next_stretch(segments: &Segments, now: &Opened, steps: usize) -> Result<Option<(u64, u64)>> {
    let (reach, border) = (segments.reach(), last_border(now)?);
    if border.saturating_sub(reach) >= SHORTEST {
        return Ok(Some((reach, cut(now, reach, border)?)));
    }
    let merged = merges(&segments.parts, steps);
    Ok(merged.map(|(first, last)| (segments.parts[first].from, segments.parts[last].to)))
}

/// Puts what was made of a stretch in the place of the parts that are there, or behind all. `None` where the parts are
/// others by now, or it cannot be written.
fn put(segments: &mut Segments, (from, to): (u64, u64), made: &[Made]) -> Option<()> {
    let first = segments.parts.partition_point(|part| part.from < from);
    let behind = segments.parts.partition_point(|part| part.from < to);
    let begins = segments.parts.get(first).map_or(segments.reach(), |part| part.from) == from;
    let ends = first == segments.parts.len() || behind > first && segments.parts[behind - 1].to == to;
    if !(begins && ends) {
        return None;
    }
    let mut parts = Vec::new();
    for one in made {
        parts.push(one.write(segments)?);
    }
    segments.parts.splice(first..behind, parts);
    Some(())
}

/// Does the next step for a journal that was opened without the lock; the long reading is done without it. `None` where
/// there is none to do, or it could not be done.
pub(super) fn step(dir: &DataDir, opened: &Opened, segments: &Segments) -> Option<()> {
    let stretch = next_stretch(segments, opened, STEPS.len()).ok()??;
    let made = made_of(opened, stretch, segments)?;
    change(dir, opened, segments, |own| put(own, stretch, &made))
}

/// Changes the case index that was read, if it is still the one that is there and the lock is had soon.
pub(super) fn change(
    dir: &DataDir,
    opened: &Opened,
    read: &Segments,
    change: impl FnOnce(&mut Segments) -> Option<()>,
) -> Option<()> {
    let lock = Lock::take(dir, PUBLISH).ok()?;
    let is_it = |own: &Segments| own.salt == read.salt && own.are_of(opened) && opened.is_there();
    let mut own = Segments::open(dir, &JOURNAL, true).filter(is_it)?;
    change(&mut own)?;
    // The header is written last: nothing names what comes to no end.
    own.commit(opened, &lock).ok()
}

/// The first and the last of the parts that become one.
fn merges(parts: &[Part], steps: usize) -> Option<(usize, usize)> {
    STEPS[..steps].iter().find_map(|step| {
        let mut first = 0;
        for (at, part) in parts.iter().enumerate() {
            if part.full || part.to - part.from >= *step {
                first = at + 1;
            } else if first < at && part.to - parts[first].from >= *step {
                return Some((first, at));
            }
        }
        None
    })
}

/// The live records of a stretch, as far as the stretch itself can tell.
pub(super) fn live_in(opened: &Opened, (from, to): (u64, u64)) -> Result<Vec<Span>> {
    let mut live = Live::new(&JOURNAL);
    opened.add_to(&JOURNAL, Stretch { from, ..Stretch::whole(to) }, &mut live)?;
    live.spans().map_err(|e| Error::io("read", &opened.path, &e))
}

/// A segment that was made.
struct Made {
    stretch: (u64, u64),
    records: u64,
    full: bool,
    pieces: Vec<Vec<u8>>,
}

impl Made {
    fn write(&self, segments: &mut Segments) -> Option<Part> {
        segments.write(self.stretch, (self.records, self.full), &self.pieces).ok()
    }
}

/// Makes the segments of a stretch, nearly always one, and hands them out. `None` where a record is not what it was, or
/// `take` says so.
fn make_each(
    opened: &Opened,
    spans: &[Span],
    stretch: (u64, u64),
    builder: &mut Builder,
    take: &mut dyn FnMut(Made) -> Option<()>,
) -> Option<()> {
    let (mut from, mut whole) = (stretch.0, true);
    let mut close = |to: u64, full: bool, builder: &mut Builder| {
        let made = Made { stretch: (from, to), records: builder.len() as u64, full, pieces: builder.finish() };
        from = to;
        take(made).is_some()
    };
    let read = opened.each(spans, &mut |span, line| {
        if whole && builder.is_full() && starts_line(opened, span)? {
            whole &= close(span.offset, true, builder);
        }
        match Case::read(line) {
            Some(case) if whole => builder.push(&Entry {
                at: At { offset: span.offset, len: u32::try_from(span.len).unwrap_or(u32::MAX) },
                id: &case.id,
                task: &case.task,
                tags: &case.tags,
                success: case.success,
                reward: case.reward,
                created_at: case.created_at,
            }),
            _ => whole = false,
        }
        Ok(())
    });
    whole &= close(stretch.1, builder.is_full(), builder);
    (read.is_ok() && whole).then_some(())
}

/// The segments of what is live in a stretch.
fn made_of(opened: &Opened, stretch: (u64, u64), segments: &Segments) -> Option<Vec<Made>> {
    let (spans, mut made) = (live_in(opened, stretch).ok()?, Vec::new());
    let mut builder = Builder::new(TermHasher::new(&segments.salt));
    make_each(opened, &spans, stretch, &mut builder, &mut |one| {
        made.push(one);
        Some(())
    })?;
    Some(made)
}

/// Whether a record is the first on its line: there a stretch may begin.
fn starts_line(opened: &Opened, span: Span) -> Result<bool> {
    Ok(span.offset == 0 || opened.read(Span { offset: span.offset - 1, len: 1 })? == b"\n")
}

/// Where the last line that has its line end ends.
pub(super) fn last_border(opened: &Opened) -> Result<u64> {
    if opened.len == 0 || !opened.ends_open()? {
        return Ok(opened.len);
    }
    Ok(opened.whole_line(opened.len - 1)?.offset)
}

/// Whether a case index is better made afresh.
pub(super) fn is_old(segments: &Segments) -> bool {
    let records: u64 = segments.parts.iter().map(|part| part.records).sum();
    let dead: u64 = segments.parts.iter().map(|part| part.dead).sum();
    segments.waste() > segments.size() + WASTE || dead > records / MOST_DEAD
}

/// Makes the case index of a journal, or waits for the process that does. `None` where it cannot be made.
pub(super) fn build(dir: &DataDir, table: &mut Table) -> Result<Option<Segments>> {
    for _ in 0..WAITS {
        match Draft::begin(dir, &JOURNAL, env::random()?) {
            Ok(draft) => return make(dir, table, draft),
            Err(NoDraft::Unable) => return Ok(None),
            Err(NoDraft::Busy) => thread::sleep(WAIT),
        }
        if let Some(segments) = Segments::open(dir, &JOURNAL, false).filter(|made| made.are_of(&table.opened)) {
            return Ok(Some(segments));
        }
    }
    Ok(None)
}

fn make(dir: &DataDir, table: &mut Table, draft: Draft) -> Result<Option<Segments>> {
    let spans = table.spans()?;
    let end = spans.last().map_or(0, |last| last.end());
    if spans.len() as u64 != table.live.live() || end > table.opened.len {
        // A writer is at the journal's index: these are the places of another moment.
        draft.discard();
        throw_away(dir, table, Wrong::Either);
        return Ok(None);
    }
    let opened = &table.opened;
    let stretches = stretches(opened)?;
    let salt = draft.segments.salt;
    let (next, draft) = (AtomicUsize::new(0), Mutex::new((draft, true)));
    let work = || {
        let mut builder = Builder::new(TermHasher::new(&salt));
        while let Some(stretch) = stretches.get(next.fetch_add(1, Ordering::Relaxed)) {
            let made = make_each(opened, within(&spans, *stretch), *stretch, &mut builder, &mut |one| {
                let mut draft = draft.lock().ok()?;
                let part = one.write(&mut draft.0.segments)?;
                draft.0.segments.parts.push(part);
                draft.1.then_some(())
            });
            if made.is_none() {
                // The other thread stops as well.
                draft.lock().into_iter().for_each(|mut draft| draft.1 = false);
                return;
            }
        }
    };
    thread::scope(|scope| {
        let more = thread::available_parallelism().map_or(1, usize::from) > 1 && stretches.len() > 1;
        let other = more.then(|| thread::Builder::new().spawn_scoped(scope, work));
        work();
        drop(other);
    });
    let Ok((mut draft, whole)) = draft.into_inner() else { return Ok(None) };
    if !whole {
        draft.discard();
        return Ok(None);
    }
    draft.segments.parts.sort_by_key(|part| part.from);
    Ok(match Lock::take(dir, PUBLISH) {
        Ok(lock) if opened.is_there() => draft.publish(dir, &JOURNAL, opened, &lock),
        _ => Some(draft.keep_to_oneself()),
    })
}

/// Of spans in the order of the file, those that begin in a stretch.
pub(super) fn within(spans: &[Span], (from, to): (u64, u64)) -> &[Span] {
    let before = |offset: u64| spans.partition_point(|span| span.offset < offset);
    &spans[before(from)..before(to)]
}

/// The stretches into which a journal is cut, as far as its lines have line ends.
fn stretches(opened: &Opened) -> Result<Vec<(u64, u64)>> {
    let end = last_border(opened)?;
    let (mut stretches, mut from) = (Vec::new(), 0);
    while from < end {
        let to = cut(opened, from, end)?;
        stretches.push((from, to));
        from = to;
    }
    Ok(stretches)
}

/// Where a stretch that begins at `from` ends: at a line end, and so far that it is never too short to stay as it is.
fn cut(opened: &Opened, from: u64, end: u64) -> Result<u64> {
    if end - from <= LONGEST {
        return Ok(end);
    }
    Ok((opened.whole_line(from + LONGEST)?.end() + 1).min(end))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parts(lengths: &[u64]) -> Vec<Part> {
        let mut from = 0;
        let part = |len: &u64| {
            from += len;
            Part::of((from - len, from))
        };
        lengths.iter().map(part).collect()
    }

    #[test]
    fn small_neighbours_become_one_and_great_ones_stay() {
        let (all, kib, mib) = (STEPS.len(), 1u64 << 10, 1u64 << 20);
        assert_eq!(merges(&parts(&[]), all), None);
        assert_eq!(merges(&parts(&[LONGEST, LONGEST, 5 * mib, 128 * kib]), all), None);
        assert_eq!(merges(&parts(&[LONGEST + 1, LONGEST]), all), None);
        // Eight of the shortest make one.
        assert_eq!(merges(&parts(&[LONGEST, 128 * kib, 896 * kib]), all), Some((1, 2)));
        assert_eq!(merges(&parts(&[LONGEST, 5 * mib, 128 * kib, 895 * kib]), all), None);
        assert_eq!(merges(&parts(&[LONGEST, 5 * mib, 3 * mib]), 1), None);
        assert_eq!(merges(&parts(&[LONGEST, 5 * mib, 3 * mib]), all), Some((1, 2)));
        // Of many that a writer has left, not too many at once.
        assert_eq!(merges(&parts(&[mib; 300]), all), Some((0, 7)));
        assert_eq!(merges(&parts(&[20 * mib, 20 * mib, 20 * mib]), all), Some((0, 1)));
        // However they come, there are few of them in the end.
        let mut list = parts(&[128 * kib; 4096]);
        while let Some((first, last)) = merges(&list, all) {
            let one = Part::of((list[first].from, list[last].to));
            list.splice(first..=last, [one]);
        }
        assert_eq!((list.len(), list[15].to), (16, 512 * mib));
    }
}
