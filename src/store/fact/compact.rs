//! What a compaction leaves of `facts.jsonl`: each live fact once, as it is now; which fact took which one's place, and
//! what consolidations stand for; of deleted facts only that they were deleted.

use std::borrow::Cow;
use std::ops::Range;

use super::current;
use super::document::Fact;
use super::rules::{self, Events, Known};
use super::{events, privacy, replaces_earlier};
use crate::error::{Code, Error, Result};
use crate::journal::compact::{Left, Piece};
use crate::journal::finding::Span;
use crate::journal::live::{IdKey, Live, Place};
use crate::journal::replay::Opened;
use crate::journal::scan::Record;

/// Hands out what is left of the next record.
///
/// Errors: 6 where the journal is not what was replayed of it.
pub fn rewrite(live: &mut Live, opened: &Opened, record: &Record<'_>, left: &mut Left<'_>) -> Result<()> {
    let event = record.event;
    let line = Place::of(record.span);
    let id = event.members.id("fact_id").or_else(|| event.members.id("canonical_fact_id"));
    let key = id.as_ref().map(|id| IdKey::of(id));
    let single = |member| event.members.range(member).into_iter();
    match event.op.name {
        "store" => single("fact").try_for_each(|range| fact(live, opened, record, range, left)),
        "replace_latest" => single("fact").try_for_each(|range| fact(live, opened, record, range, left)),
        "store_batch" => {
            let mut facts = event.members.records("facts").into_iter();
            facts.try_for_each(|(range, _)| fact(live, opened, record, range, left))
        }
        "consolidate" => {
            single("canonical").try_for_each(|range| fact(live, opened, record, range, left))?;
            let Some(canonical) = event.record.id("fact_id") else { return Ok(()) };
            let sources = event.members.texts("superseded_fact_ids");
            if !lasts(live, IdKey::of(&canonical), &sources, record.span) {
                return Ok(());
            }
            let at = event.members.text("consolidated_at").unwrap_or_default();
            let tenant = super::tenant_of(&event.record);
            (left.keep)(Piece::New(&events::provenance(&canonical, &sources, &tenant, &at)))
        }
        "consolidation_provenance" => {
            let sources = event.members.texts("source_fact_ids");
            let lasts = key.is_some_and(|canonical| lasts(live, canonical, &sources, record.span));
            if lasts { (left.keep)(Piece::Kept(record.span)) } else { Ok(()) }
        }
        "supersede" => {
            let by = event.members.id("by_fact_id").map(|by| IdKey::of(&by));
            let mut known = |key: Option<IdKey>| key.and_then(|key| left_before(live, key, record.span));
            let holds = known(key).is_some_and(|fact| fact.superseded_by != 0) && known(by).is_some();
            let is_it = key.is_some_and(|key| Events::of(live, key).supersession == line);
            if holds && is_it { (left.keep)(Piece::Kept(record.span)) } else { Ok(()) }
        }
        "delete" => {
            // What was erased before stays deleted.
            let erased = key.is_none_or(|key| live.row(key).is_none());
            let is_it = key.is_some_and(|key| Events::of(live, key).deletion == line);
            if erased || is_it { (left.keep)(Piece::Kept(record.span)) } else { Ok(()) }
        }
        "consolidate_undo" if key.is_some_and(|key| Events::of(live, key).deletion == line) => {
            let at = event.members.text("undone_at").unwrap_or_default();
            (left.keep)(Piece::New(&events::delete(&id.unwrap_or_default(), &at)))
        }
        _ => Ok(()),
    }
}

/// A fact that is left, and whose record is in front of the end of another.
fn left_before(live: &mut Live, key: IdKey, record: Span) -> Option<Known> {
    live.row(key).map(Known::of).filter(|fact| fact.live && fact.place.span().offset < record.end())
}

/// Whether a consolidation that was recorded at `place` is active and still holds without what is erased: then a replay
/// of what is left takes it again.
fn lasts(live: &mut Live, canonical: IdKey, sources: &[Cow<'_, str>], place: Span) -> bool {
    if rules::consolidation(live, canonical) != Some(place) {
        return false;
    }
    let Some(stands) = left_before(live, canonical, place) else { return false };
    sources.iter().all(|source| {
        left_before(live, IdKey::of(source), place)
            .is_some_and(|fact| fact.superseded_by == canonical.tag() && fact.tenant == stands.tenant)
    })
}

/// Hands out what is left of a fact that a later one of its chain has removed: nothing, as a rule. Where an operator shares
/// such entities, the daemon keeps the earlier ones, and they are not ours to erase; a later one that is left removes it
/// again for everybody else.
fn removed(live: &mut Live, fact: &Fact<'_>, place: Span, document: &[u8], left: &mut Left<'_>) -> Result<()> {
    let newest = rules::newest(live, rules::chain_of(fact)).and_then(|(newest, _)| live.row(newest));
    let again = newest.is_some_and(|newest| newest.live && newest.place.span().offset > place.offset);
    match !fact.private && !fact.deleted && replaces_earlier(&fact.entity, &fact.key) && again {
        true => (left.keep)(Piece::New(&events::store_document(document))),
        false => Ok(()),
    }
}

/// Hands out what is left of a fact that lies at `range` in a record.
fn fact(
    live: &mut Live,
    opened: &Opened,
    record: &Record<'_>,
    range: Range<usize>,
    left: &mut Left<'_>,
) -> Result<()> {
    let changed = || {
        let message = format!("{} was changed while it was read; run the command again", opened.path.display());
        Error::new(Code::BusyChanging, message)
    };
    let document = record.event.members.text.get(range.clone()).unwrap_or_default();
    let place = Span { offset: record.span.offset + range.start as u64, len: range.len() as u64 };
    let Some(read) = Fact::read(document) else { return Err(changed()) };
    let key = IdKey::of(&read.id);
    // A second record of an id does not count, nor one that a later one has removed.
    let Some(row) = live.row(key).filter(|row| row.place == Place::of(place)) else {
        return match live.row(key) {
            None => removed(live, &read, place, document, left),
            Some(_) => Ok(()),
        };
    };
    let Some(now) = current::brought_up(opened, live, (key, row), read)? else { return Err(changed()) };
    let Fact { id, entity, deleted, .. } = &now.fact;
    if *deleted {
        *left.erased += 1;
        // One that came as deleted has no event that says so.
        return match now.events.deletion.span().len {
            0 => (left.keep)(Piece::New(&events::delete_at(id, now.fact.stored_at))),
            _ => Ok(()),
        };
    }
    if entity.starts_with(privacy::LEGAL_HOLD) && now.fact.superseded_by.is_none() {
        left.holds.push(id.clone().into_owned());
    }
    match (now.unchanged, record.event.op.name) {
        (true, "store") => (left.keep)(Piece::Kept(record.span)),
        (true, _) => (left.keep)(Piece::New(&events::store_document(document))),
        (false, _) => (left.keep)(Piece::New(&events::store(&now.fact))),
    }
}
