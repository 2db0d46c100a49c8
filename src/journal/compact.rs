//! Compaction: a journal of nothing but its live records and the records of other versions.

use super::Journal;
use super::files::DataDir;
use super::finding::Span;
use super::lock::Lock;
use super::replace::{self, Replacement};
use super::replay::{self, Opened};
use super::scan::{Item, Stretch};
use crate::error::{Code, Error, Result};

/// What a compaction comes to.
#[derive(Clone, Copy, Debug, Default)]
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
    /// Bytes that a daemon wrote meanwhile and that were carried over.
    pub carried_over: u64,
}

/// What a compaction would do. A damaged journal is refused: repair first.
pub fn plan(opened: &Opened, journal: &Journal) -> Result<Compaction> {
    walk(opened, journal, &mut |_| Ok(()))
}

/// Carries a compaction out behind the lock.
pub fn apply(dir: &DataDir, journal: &Journal, lock: &Lock, tag: &str) -> Result<Compaction> {
    let opened = replay::open_locked(dir, journal, lock)?;
    replace::remove_leftovers(&opened.path, lock)?;
    let mut compaction = plan(&opened, journal)?;
    let Some(old) = opened.file.as_ref().filter(|_| compaction.before_bytes != compaction.after_bytes) else {
        return Ok(compaction);
    };
    let mut copy = Replacement::begin(dir, &opened.path, old, opened.len, tag)?;
    walk(&opened, journal, &mut |span| {
        copy.copy(span)?;
        copy.write(b"\n")
    })?;
    compaction.carried_over = copy.commit()?;
    Ok(compaction)
}

/// Yields the spans that stay, in order.
fn walk(opened: &Opened, journal: &Journal, keep: &mut dyn FnMut(Span) -> Result<()>) -> Result<Compaction> {
    let mut replay = (journal.replay)();
    let seen = opened.scan(
        journal,
        &mut |record| {
            replay.record(record);
            Ok(())
        },
        &mut |_| Ok(()),
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
    let mut compaction = Compaction { before_bytes: opened.len, live: replay.live(), ..Compaction::default() };
    let spans = replay.spans();
    drop(replay);
    let mut live = spans.iter().peekable();
    let mut keep = |span: Span, compaction: &mut Compaction| {
        compaction.after_bytes += span.len + 1;
        keep(span)
    };
    opened.scan_items(journal, Stretch { to: opened.len, ..Stretch::default() }, &mut |item| match item {
        Item::Record(record) if live.peek() == Some(&&record.span) => {
            live.next();
            keep(record.span, &mut compaction)
        }
        Item::Record(_) => {
            compaction.dropped += 1;
            Ok(())
        }
        Item::Foreign { span, .. } => {
            compaction.foreign += 1;
            keep(*span, &mut compaction)
        }
        Item::Finding(..) | Item::LineEnd { .. } => Ok(()),
    })?;
    Ok(compaction)
}
