//! The bank of cases as retrieval sees it: what the case index has, and where the other live records lie.
//!
//! The case index is a segment ([`crate::retrieve::segment`]) for each stretch of the journal. A writer closes a new one
//! whenever enough has come; small ones are made into greater ones, so that each case is read again only a few times,
//! however long the journal grows. Nothing depends on it: on any doubt the records themselves are read.

use std::io;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;
use std::time::Duration;

use crate::env;
use crate::error::{Error, Result};
use crate::journal::Span;
use crate::journal::files::DataDir;
use crate::journal::index::WORTH_IT;
use crate::journal::live::Live;
use crate::journal::lock::Lock;
use crate::journal::replay::Opened;
use crate::journal::scan::Stretch;
use crate::journal::segments::{self, Draft, NoDraft, Part, Segments};
use crate::journal::table::Table;
use crate::retrieve::search::{Found, Question};
use crate::retrieve::segment::{At, Builder, Entry, Segment, TermHasher};
use crate::store::case::{Case, JOURNAL};

/// The longest stretch that becomes one segment.
const LONGEST: u64 = 32 << 20;
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

/// The bank of cases.
#[derive(Debug)]
pub(super) struct Bank {
    dir: DataDir,
    index: Option<Index>,
    /// The live records that the case index does not have.
    pub(super) rest: Vec<Span>,
}

#[derive(Debug)]
struct Index {
    segments: Segments,
    /// For each part, a bit for each of its cases that is no more; empty where there is none.
    dead: Vec<Vec<u64>>,
    /// Whether more is dead than the case index says.
    more_dead: bool,
}

impl Bank {
    /// The case index, as it was before the journal is opened.
    pub(super) fn peek(dir: &DataDir) -> Option<Segments> {
        Segments::open(dir, &JOURNAL, false)
    }

    /// The bank of a journal. A long one gets a case index, if it has none.
    pub(super) fn open(dir: &DataDir, table: &mut Table, peeked: Option<Segments>) -> Result<Bank> {
        if table.opened.len >= WORTH_IT {
            let believed =
                peeked.filter(|segments| segments.are_of(&table.opened) && !is_old(segments, &table.opened));
            let segments = match believed {
                Some(segments) => Some(segments),
                None => build(dir, table)?,
            };
            if let Some(segments) = segments {
                match Bank::with(dir, table, segments)? {
                    Some(bank) => return Ok(bank),
                    None => throw_away(dir, table),
                }
            }
        }
        Bank::scanned(dir, table)
    }

    /// The bank without a case index.
    pub(super) fn scanned(dir: &DataDir, table: &mut Table) -> Result<Bank> {
        Ok(Bank { dir: dir.clone(), index: None, rest: table.spans()? })
    }

    /// Does without the case index from now on.
    pub(super) fn scan(&mut self, table: &mut Table) -> Result<()> {
        if self.index.take().is_some() {
            self.rest = table.spans()?;
        }
        Ok(())
    }

    /// Whether there is a case index.
    pub(super) fn is_indexed(&self) -> bool {
        self.index.is_some()
    }

    /// The bank with a case index; `None` where the two do not fit together.
    fn with(dir: &DataDir, table: &mut Table, segments: Segments) -> Result<Option<Bank>> {
        let rest = live_in(&table.opened, (segments.reach(), table.opened.len))?;
        let Some(known) = table.live.live().checked_sub(rest.len() as u64) else { return Ok(None) };
        let records: u64 = segments.parts.iter().map(|part| part.records).sum();
        let Some(dead) = records.checked_sub(known) else { return Ok(None) };
        let marked: u64 = segments.parts.iter().map(|part| part.dead).sum();
        // What is no more stays so: where as many are marked as there are, they are the same.
        let more_dead = marked != dead;
        let masks = if more_dead { find_dead(table, &segments, dead)? } else { read_dead(&segments) };
        Ok(masks.map(|dead| Bank { dir: dir.clone(), index: Some(Index { segments, dead, more_dead }), rest }))
    }

    /// Asks the case index. `None` where there is none, or none that can be believed.
    pub(super) fn ask(&self, question: &dyn Fn(&TermHasher) -> Option<Question>) -> Option<Found> {
        let Index { segments, dead, .. } = self.index.as_ref()?;
        let question = question(&TermHasher::new(&segments.salt))?;
        let mut found = Found::default();
        for (part, dead) in segments.parts.iter().zip(dead) {
            let read = |at: u64, into: &mut [u8]| segments.read(part, at, into);
            let segment = Segment::open(&read).ok().filter(|segment| segment.cases() as u64 == part.records)?;
            found.add(&question, &segment, Some(&**dead).filter(|dead| !dead.is_empty())).ok()?;
        }
        Some(found)
    }

    /// Brings the case index up to date after it was asked, if the lock is free.
    pub(super) fn keep(self, table: &Table) {
        let (Some(index), dir) = (self.index, &self.dir) else { return };
        let behind = table.opened.len - index.segments.reach();
        if !index.more_dead && behind < SHORTEST && merges(&index.segments.parts, STEPS.len()).is_none() {
            return;
        }
        let Some(lock) = Lock::try_take(dir) else { return };
        let Ok(now) = table.opened.again(dir, &JOURNAL, &lock) else { return };
        let Some(mut segments) = Segments::open(dir, &JOURNAL, true).filter(|own| own.are_of(&now)) else { return };
        let mark = |segments: &mut Segments| -> io::Result<()> {
            for (known, dead) in index.segments.parts.iter().zip(&index.dead) {
                if let Some(at) = segments.parts.iter().position(|part| part == known).filter(|_| !dead.is_empty()) {
                    segments.parts[at] = segments.write_dead(known, dead)?;
                }
            }
            Ok(())
        };
        if mark(&mut segments).is_err() || extend(&mut segments, &now, STEPS.len(), &lock).is_none() {
            segments::remove(dir, &JOURNAL, &lock);
        }
    }

    /// Throws the case index away: it has said what is not so.
    pub(super) fn distrust(&self, table: &Table) {
        throw_away(&self.dir, table);
    }
}

/// Throws away a case index that cannot be believed, unless somebody changes the journal meanwhile.
fn throw_away(dir: &DataDir, table: &Table) {
    if let Some(lock) = Lock::try_take(dir)
        && table.opened.is_unchanged()
    {
        segments::remove(dir, &JOURNAL, &lock);
    }
}

/// Brings the case index up to date behind the lock, with the journal as it is after an append. This takes the same time
/// however long the journal is.
pub(super) fn keep_up(dir: &DataDir, now: &Opened, lock: &Lock) {
    let Some(mut segments) = Segments::open(dir, &JOURNAL, true) else { return };
    // The next question makes it afresh.
    if !segments.are_of(now) || is_wasteful(&segments) || extend(&mut segments, now, 1, lock).is_none() {
        segments::remove(dir, &JOURNAL, lock);
    }
}

/// Takes what has come to the journal, and makes small segments into greater ones, as far as the first `steps` go.
fn extend(segments: &mut Segments, now: &Opened, steps: usize, lock: &Lock) -> Option<()> {
    let to = last_border(now).ok()?;
    let behind = to.saturating_sub(segments.reach());
    // What is longer than a writer may be kept is left to the next who asks.
    let most = if steps == STEPS.len() { LONGEST } else { STEPS[steps - 1] };
    if (SHORTEST..=most).contains(&behind) {
        let part = segment_of(segments, now, (segments.reach(), to))?;
        segments.parts.push(part);
    }
    while let Some((first, last)) = merges(&segments.parts, steps) {
        let stretch = (segments.parts[first].from, segments.parts[last].to);
        let part = segment_of(segments, now, stretch)?;
        segments.parts.splice(first..=last, [part]);
    }
    segments.commit(now, lock).ok()
}

/// The first and the last of the parts that become one.
fn merges(parts: &[Part], steps: usize) -> Option<(usize, usize)> {
    let len = |part: &Part| part.to - part.from;
    STEPS[..steps].iter().find_map(|step| {
        let mut first = 0;
        for (at, part) in parts.iter().enumerate() {
            if len(part) >= *step {
                first = at + 1;
            } else if first < at && part.to - parts[first].from >= *step {
                return Some((first, at));
            }
        }
        None
    })
}

/// The segment of a stretch, from what is live in it.
fn segment_of(segments: &mut Segments, now: &Opened, stretch: (u64, u64)) -> Option<Part> {
    let spans = live_in(now, stretch).ok()?;
    let pieces = segment(now, &spans, &mut Builder::new(TermHasher::new(&segments.salt)))?;
    segments.write(stretch, spans.len() as u64, &pieces).ok()
}

/// The live records of a stretch, as far as the stretch itself can tell.
fn live_in(opened: &Opened, (from, to): (u64, u64)) -> Result<Vec<Span>> {
    let mut live = Live::new(&JOURNAL);
    opened.add_to(&JOURNAL, Stretch { from, ..Stretch::whole(to) }, &mut live)?;
    live.spans().map_err(|e| Error::io("read", &opened.path, &e))
}

/// A segment's bytes, in pieces; `None` where a record is not what it was.
fn segment(opened: &Opened, spans: &[Span], builder: &mut Builder) -> Option<Vec<Vec<u8>>> {
    let mut whole = true;
    let read = opened.each(spans, &mut |span, line| {
        match Case::read(line) {
            Some(case) => builder.push(&Entry {
                at: At { offset: span.offset, len: u32::try_from(span.len).unwrap_or(u32::MAX) },
                id: &case.id,
                task: &case.task,
                tags: &case.tags,
                success: case.success,
                reward: case.reward,
                created_at: case.created_at,
            }),
            None => whole = false,
        }
        Ok(())
    });
    (read.is_ok() && whole).then(|| builder.finish())
}

/// Where the last line that has its line end ends.
fn last_border(opened: &Opened) -> Result<u64> {
    if opened.len == 0 || !opened.ends_open()? {
        return Ok(opened.len);
    }
    Ok(opened.whole_line(opened.len - 1)?.offset)
}

/// Whether a case index is better made afresh.
fn is_old(segments: &Segments, opened: &Opened) -> bool {
    let records: u64 = segments.parts.iter().map(|part| part.records).sum();
    let dead: u64 = segments.parts.iter().map(|part| part.dead).sum();
    is_wasteful(segments) || opened.len - segments.reach() > LONGEST || dead * MOST_DEAD > records
}

fn is_wasteful(segments: &Segments) -> bool {
    segments.waste() > segments.size() + WASTE
}

/// Makes the case index of a journal, or waits for the process that does. `None` where it cannot be made.
fn build(dir: &DataDir, table: &mut Table) -> Result<Option<Segments>> {
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
    let opened = &table.opened;
    let stretches = stretches(opened)?;
    let salt = draft.segments.salt;
    let (next, draft) = (AtomicUsize::new(0), Mutex::new((draft, true)));
    let work = || {
        let mut builder = Builder::new(TermHasher::new(&salt));
        while let Some(stretch) = stretches.get(next.fetch_add(1, Ordering::Relaxed)) {
            let (from, to) = *stretch;
            let own =
                spans.partition_point(|span| span.offset < from)..spans.partition_point(|span| span.offset < to);
            let pieces = segment(opened, &spans[own.clone()], &mut builder);
            let Ok(mut draft) = draft.lock() else { return };
            let part = pieces.and_then(|pieces| draft.0.segments.write((from, to), own.len() as u64, &pieces).ok());
            match part {
                Some(part) => draft.0.segments.parts.push(part),
                None => draft.1 = false,
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
    let published = match Lock::take(dir, PUBLISH) {
        Ok(lock) if opened.is_there() => draft.publish(dir, &JOURNAL, opened, &lock).ok(),
        _ => Some(draft.keep_to_oneself()),
    };
    Ok(published)
}

/// The stretches into which a journal is cut, as far as its lines have line ends.
fn stretches(opened: &Opened) -> Result<Vec<(u64, u64)>> {
    let end = last_border(opened)?;
    let (mut stretches, mut from) = (Vec::new(), 0);
    while from < end {
        // Each is at least so long, or it would soon become one with the next.
        let mut to = end;
        if end - from > LONGEST {
            to = (opened.whole_line(from + LONGEST)?.end() + 1).min(end);
        }
        stretches.push((from, to));
        from = to;
    }
    Ok(stretches)
}

/// What the case index says is dead; `None` where it cannot be read.
fn read_dead(segments: &Segments) -> Option<Vec<Vec<u64>>> {
    let read = |part: &Part| if part.dead == 0 { Some(Vec::new()) } else { segments.dead(part).ok() };
    segments.parts.iter().map(read).collect()
}

/// Finds the cases of the segments that are no more; `None` where they are not as many as there should be.
fn find_dead(table: &mut Table, segments: &Segments, expected: u64) -> Result<Option<Vec<Vec<u64>>>> {
    let spans = table.spans()?;
    let (mut masks, mut found) = (Vec::new(), 0);
    for part in &segments.parts {
        let own = spans.partition_point(|span| span.offset < part.from)
            ..spans.partition_point(|span| span.offset < part.to);
        let live = &spans[own];
        if live.len() as u64 == part.records {
            masks.push(Vec::new());
            continue;
        }
        let read = |at: u64, into: &mut [u8]| segments.read(part, at, into);
        let Ok(segment) = Segment::open(&read) else { return Ok(None) };
        let (mut mask, mut case) = (vec![0u64; segment.cases().div_ceil(64)], 0);
        let rows = segment.each_row(&mut |row| {
            let is_dead = live.binary_search_by_key(&row.at.offset, |span| span.offset).is_err();
            mask[case / 64] |= u64::from(is_dead) << (case % 64);
            found += u64::from(is_dead);
            case += 1;
        });
        if rows.is_err() {
            return Ok(None);
        }
        masks.push(mask);
    }
    Ok((found == expected).then_some(masks))
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
