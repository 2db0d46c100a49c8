//! Compaction: a journal of nothing but its live records and the records of other versions. A journal whose records
//! depend on each other says itself what is left of them.

use std::cell::Cell;
use std::collections::HashSet;

use chrono::{DateTime, Utc};

use super::Journal;
use super::audit::{self, Verdict};
use super::files::DataDir;
use super::finding::Span;
use super::live::{IdKey, Live};
use super::lock::Lock;
use super::replace::{self, Replacement};
use super::replay::{self, Opened};
use super::scan::{Item, Record, Stretch};
use super::split::event_id;
use super::witness::{self, Unread};
use crate::error::{Code, Error, Result};

/// What a compaction comes to.
#[derive(Clone, Debug, Default)]
pub struct Compaction {
    /// Length before.
    pub before_bytes: u64,
    /// Length afterwards.
    pub after_bytes: u64,
    /// Live records, which stay.
    pub live: u64,
    /// Records of unknown ops, which stay.
    pub foreign: u64,
    /// Records that go.
    pub dropped: u64,
    /// Whether the journal would be another one.
    pub changes: bool,
    /// Bytes that a daemon wrote meanwhile and that were carried over.
    pub carried_over: u64,
    /// Why the journal has no new witness.
    pub unkept: Option<Error>,
}

/// What a compaction writes.
#[derive(Clone, Copy, Debug)]
pub enum Piece<'a> {
    /// A record of the journal, as it is.
    Kept(Span),
    /// A record in the place of others, without its line end.
    New(&'a [u8]),
}

/// Takes the next piece that is left of a record.
pub type Keep<'k> = dyn FnMut(Piece<'_>) -> Result<()> + 'k;

/// Takes the next piece that is left, with where the record lies that it is left of.
type Leave<'k> = dyn FnMut(u64, Piece<'_>) -> Result<()> + 'k;

/// How a journal whose records depend on each other is compacted: hands out what is left of the next record, once all of
/// them were replayed. Records of unknown ops are kept without it.
pub type Rewrite = fn(&mut Live, &Opened, &Record<'_>, &mut Left<'_>) -> Result<()>;

/// What is left of a journal, and what keeps it from being compacted.
pub struct Left<'a> {
    /// Takes the next record that is left.
    pub keep: &'a mut Keep<'a>,
    /// How many records are erased that were not live.
    pub erased: &'a mut u64,
    /// Records that forbid erasing any: their ids.
    pub holds: &'a mut Vec<String>,
    /// What was finished before this moment may lose what it was about, where the journal has such a thing.
    pub erase_before: Option<DateTime<Utc>>,
}

/// Refuses to compact a journal that is not what it was when it was validated: what is missing could not be told from
/// what was dropped.
fn vouched_for(dir: &DataDir, opened: &Opened, journal: &Journal) -> Result<()> {
    let (verdict, told) = audit::verdict(dir, journal, opened)?;
    let what = match (&verdict, told.first.first()) {
        (Verdict::Against, Some(finding)) => {
            format!("line {}, byte {}: {}", finding.line, finding.span.offset, finding.class.name())
        }
        (Verdict::Replaced { .. }, _) if verdict.waits() => "it was replaced, and ids are gone".to_owned(),
        (Verdict::Unreadable(Unread { why, failed: Some(code) }), _) => {
            let path = witness::path(dir, journal);
            let message = format!("cannot read the witness {}: {why}; nothing was changed", path.display());
            return Err(Error::new(*code, message));
        }
        (Verdict::Unreadable(unread), _) => format!("nobody knows: its witness cannot be read: {}", unread.why),
        _ => return Ok(()),
    };
    let message = format!(
        "{} is not what it was when it was validated ({what}); compaction would make that final, so nothing was changed",
        opened.path.display()
    );
    let hint = format!("cruxctl journal check {}", journal.name);
    Err(Error::new(Code::RefusedDamage, message).hint(hint))
}

/// What a compaction would do. A damaged journal is refused: repair first. `erase_before`: see [`Left::erase_before`].
pub fn plan(
    dir: &DataDir,
    opened: &Opened,
    journal: &Journal,
    erase_before: Option<DateTime<Utc>>,
) -> Result<Compaction> {
    vouched_for(dir, opened, journal)?;
    walk(opened, journal, erase_before, &mut |_, _| Ok(()))
}

/// Carries a compaction out behind the lock.
pub fn apply(
    dir: &DataDir,
    journal: &Journal,
    lock: &Lock,
    tag: &str,
    erase_before: Option<DateTime<Utc>>,
) -> Result<Compaction> {
    let opened = replay::open_locked(dir, journal, lock)?;
    replace::remove_leftovers(&opened.path, lock)?;
    let mut compaction = plan(dir, &opened, journal, erase_before)?;
    let Some(old) = opened.file.as_ref().filter(|_| compaction.changes) else {
        return Ok(compaction);
    };
    witness::settle(dir, journal, &opened, lock);
    let mut copy = Replacement::begin(dir, journal, old, opened.len, tag)?;
    walk(&opened, journal, erase_before, &mut |place, piece| {
        copy.at(place);
        match piece {
            Piece::Kept(span) => copy.copy(span)?,
            Piece::New(line) => copy.write(line)?,
        }
        copy.write(b"\n")
    })?;
    compaction.carried_over = copy.commit(&mut || ())?;
    compaction.unkept = witness::begin_anew(dir, journal, lock).err();
    Ok(compaction)
}

/// What a compaction would leave of a journal in which no damage was found, from what its records add up to. `unread`:
/// where the records lie that are read here and not by the daemon.
pub fn measure(opened: &Opened, journal: &Journal, live: Live, unread: &HashSet<u64>) -> Result<Compaction> {
    left(opened, journal, (live, None), unread, &mut |_, _| Ok(()))
}

/// Hands out what is left, in order.
fn walk(
    opened: &Opened,
    journal: &Journal,
    erase_before: Option<DateTime<Utc>>,
    keep: &mut Leave<'_>,
) -> Result<Compaction> {
    let mut live = Live::new(journal);
    // Offsets of records that are read here and not by the daemon.
    let mut unread: HashSet<u64> = HashSet::new();
    let seen = opened.scan(
        journal,
        &mut |record| {
            live.record(record);
            Ok(())
        },
        &mut |finding| {
            if finding.class.is_of_record() {
                unread.insert(finding.span.offset);
            }
            Ok(())
        },
    )?;
    if seen.damage > 0 {
        let message = format!(
            "{} is damaged ({} places): compaction would drop what repair can still save; nothing was changed",
            opened.path.display(),
            seen.damage
        );
        let hint = format!("cruxctl journal repair {}", journal.name);
        return Err(Error::new(Code::RefusedDamage, message).hint(hint));
    }
    left(opened, journal, (live, erase_before), &unread, keep)
}

/// Hands out what is left of a journal that was replayed, in order.
fn left(
    opened: &Opened,
    journal: &Journal,
    (mut live, erase_before): (Live, Option<DateTime<Utc>>),
    unread: &HashSet<u64>,
    keep: &mut Leave<'_>,
) -> Result<Compaction> {
    let mut compaction = Compaction { before_bytes: opened.len, live: live.live(), ..Compaction::default() };
    let (after, new) = (Cell::new(0), Cell::new(false));
    let mut keep = |place: u64, piece: Piece<'_>| {
        let len = match piece {
            Piece::Kept(span) => span.len,
            Piece::New(line) => {
                new.set(true);
                line.len() as u64
            }
        };
        after.set(after.get() + len + 1);
        keep(place, piece)
    };
    match journal.compacts {
        None => {
            let spans = live.spans().map_err(|e| Error::io("read", &opened.path, &e))?;
            drop(live);
            if !unread.is_empty() {
                keeps_the_daemons_version(opened, journal, unread, &spans)?;
            }
            let mut spans = spans.iter().peekable();
            each_left(opened, journal, &mut compaction, &mut keep, &mut |record, keep| match spans
                .next_if_eq(&&record.span)
            {
                Some(_) => keep(Piece::Kept(record.span)),
                None => Ok(()),
            })?;
        }
        Some(_) if !unread.is_empty() => {
            let message = format!(
                "the daemon cannot read {} records of {}, on which others may depend; nothing was changed",
                unread.len(),
                opened.path.display()
            );
            let hint = format!("cruxctl journal check {} --for-daemon", journal.name);
            return Err(Error::new(Code::RefusedDamage, message).hint(hint));
        }
        Some(rewrite) => {
            let (mut erased, mut holds) = (0, Vec::new());
            each_left(opened, journal, &mut compaction, &mut keep, &mut |record, keep| {
                rewrite(
                    &mut live,
                    opened,
                    record,
                    &mut Left { keep, erased: &mut erased, holds: &mut holds, erase_before },
                )
            })?;
            held(opened, journal, erased, &holds)?;
        }
    }
    compaction.after_bytes = after.get();
    // What goes and what is new may be of one length.
    compaction.changes = new.get() || compaction.dropped > 0 || compaction.after_bytes != compaction.before_bytes;
    Ok(compaction)
}

/// Hands out what is left of a journal's records, and those of unknown ops as they are. `take` hands out what is left of
/// the next record.
fn each_left(
    opened: &Opened,
    journal: &Journal,
    compaction: &mut Compaction,
    keep: &mut Leave<'_>,
    take: &mut dyn FnMut(&Record<'_>, &mut Keep<'_>) -> Result<()>,
) -> Result<()> {
    opened.scan_items(journal, Stretch::whole(opened.len), &mut |item| match item {
        Item::Record(record) => {
            let mut is_left = false;
            take(record, &mut |piece| {
                is_left = true;
                keep(record.span.offset, piece)
            })?;
            compaction.dropped += u64::from(!is_left);
            Ok(())
        }
        Item::Foreign { span, .. } => {
            compaction.foreign += 1;
            keep(span.offset, Piece::Kept(*span))
        }
        Item::Finding(..) | Item::LineEnd { .. } => Ok(()),
    })?;
    Ok(())
}

/// Refuses to erase what a hold may cover.
fn held(opened: &Opened, journal: &Journal, erased: u64, holds: &[String]) -> Result<()> {
    let [hold, others @ ..] = holds else { return Ok(()) };
    if erased == 0 {
        return Ok(());
    }
    let message = format!(
        "a hold is in force in {} ({hold}{}), and compaction would erase deleted records that it may cover ({erased}); \
         nothing was changed",
        opened.path.display(),
        if others.is_empty() { String::new() } else { format!(", and {} more", others.len()) }
    );
    Err(Error::new(Code::RefusedHold, message).hint(format!("cruxctl journal show {} --id {hold}", journal.name)))
}

/// Refuses to drop an older version that is the newest one the daemon can read. `unread`: where records lie that it
/// cannot; `live`: where the live ones lie.
fn keeps_the_daemons_version(opened: &Opened, journal: &Journal, unread: &HashSet<u64>, live: &[Span]) -> Result<()> {
    // Which ids have a version that the daemon reads, as far as the file was read.
    let mut read: HashSet<IdKey> = HashSet::new();
    let mut lost: Option<String> = None;
    opened.scan(
        journal,
        &mut |record| {
            let Some(id) = event_id(record.event) else { return Ok(()) };
            if !unread.contains(&record.span.offset) {
                read.insert(IdKey::of(&id));
            } else if live.binary_search_by_key(&record.span.offset, |span| span.offset).is_ok()
                && read.contains(&IdKey::of(&id))
            {
                lost.get_or_insert_with(|| id.into_owned());
            }
            Ok(())
        },
        &mut |_| Ok(()),
    )?;
    let Some(id) = lost else { return Ok(()) };
    let message = format!(
        "the daemon cannot read the newest version of {id:?} in {}, and compaction would drop the one that it has; \
         nothing was changed",
        opened.path.display()
    );
    let hint = format!("cruxctl journal check {} --for-daemon", journal.name);
    Err(Error::new(Code::RefusedDamage, message).hint(hint))
}
