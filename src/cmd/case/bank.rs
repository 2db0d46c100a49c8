//! The bank of cases as retrieval sees it: what the case index has, what of that is no more, and where the other live
//! records lie.

use super::keep::{LONGEST, Wrong, build, change, is_old, last_border, live_in, step, throw_away, within};
use crate::error::Result;
use crate::journal::Span;
use crate::journal::files::DataDir;
use crate::journal::index::WORTH_IT;
use crate::journal::replay::Opened;
use crate::journal::segments::{Part, Segments};
use crate::journal::table::Table;
use crate::retrieve::search::{Found, Question};
use crate::retrieve::segment::{Segment, TermHasher};
use crate::store::case::JOURNAL;

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
