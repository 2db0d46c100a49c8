//! The bank of cases as retrieval sees it: what the case index has, and where the other live records lie.
//!
//! The case index is a segment ([`crate::retrieve::segment`]) for each stretch of the journal. A writer closes a new one
//! whenever enough has come; small ones are made into greater ones, so that each case is read again only a few times,
//! however long the journal grows. Nothing depends on it: on any doubt the records themselves are read.

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
            let usable = |segments: &Segments| segments.are_of(&table.opened) && !is_old(segments);
            let mut kept = peeked.filter(usable);
            // Where much has come, most of it is taken before the question.
            let border = last_border(&table.opened)?;
            while let Some(segments) = kept.take_if(|segments| border.saturating_sub(segments.reach()) > LONGEST) {
                let one_more = step(dir, &table.opened, &segments).is_some();
                kept = if one_more { Bank::peek(dir).filter(usable) } else { None };
            }
            let segments = match kept {
                Some(segments) => Some(segments),
                None => build(dir, table)?,
            };
            if let Some(segments) = segments {
                match Bank::with(dir, table, segments)? {
                    Some(bank) => return Ok(bank),
                    None => throw_away(dir, table, Wrong::Either),
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

    /// Brings the case index one step further after it was asked.
    pub(super) fn keep(self, table: &Table) {
        let Some(index) = self.index else { return };
        if index.more_dead {
            // Where the lock is not free, the next one does it.
            let _ = mark_dead(&self.dir, &table.opened, &index);
        } else {
            let _ = step(&self.dir, &table.opened, &index.segments);
        }
    }

    /// Throws the case index away: it has said what is not so.
    pub(super) fn distrust(&self, table: &Table) {
        throw_away(&self.dir, table, Wrong::CaseIndex);
    }
}

/// What is found to be wrong.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Wrong {
    /// The case index.
    CaseIndex,
    /// The case index or the journal's own.
    Either,
}

/// Throws away what cannot be believed, unless somebody changes the journal meanwhile.
fn throw_away(dir: &DataDir, table: &Table, wrong: Wrong) {
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
fn step(dir: &DataDir, opened: &Opened, segments: &Segments) -> Option<()> {
    let stretch = next_stretch(segments, opened, STEPS.len()).ok()??;
    let made = made_of(opened, stretch, segments)?;
    change(dir, opened, segments, |own| put(own, stretch, &made))
}

/// Marks what is no more.
fn mark_dead(dir: &DataDir, opened: &Opened, index: &Index) -> Option<()> {
    change(dir, opened, &index.segments, |own| {
        for (known, dead) in index.segments.parts.iter().zip(&index.dead) {
            let ones: u64 = dead.iter().map(|word| u64::from(word.count_ones())).sum();
            if let Some(at) = own.parts.iter().position(|part| part == known).filter(|_| ones > known.dead) {
                own.parts[at] = own.write_dead(known, dead).ok()?;
            }
        }
        Some(())
    })
}

/// Changes the case index that was read, if it is still the one that is there and the lock is had soon.
fn change(
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
fn live_in(opened: &Opened, (from, to): (u64, u64)) -> Result<Vec<Span>> {
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
fn last_border(opened: &Opened) -> Result<u64> {
    if opened.len == 0 || !opened.ends_open()? {
        return Ok(opened.len);
    }
    Ok(opened.whole_line(opened.len - 1)?.offset)
}

/// Whether a case index is better made afresh.
fn is_old(segments: &Segments) -> bool {
    let records: u64 = segments.parts.iter().map(|part| part.records).sum();
    let dead: u64 = segments.parts.iter().map(|part| part.dead).sum();
    segments.waste() > segments.size() + WASTE || dead > records / MOST_DEAD
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
fn within(spans: &[Span], (from, to): (u64, u64)) -> &[Span] {
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
        let live = within(&spans, (part.from, part.to));
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
    // Places of another moment are told by another count.
    Ok((found == expected && table.is_still()).then_some(masks))
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
