//! What a compaction leaves of `cruxctl/durable.jsonl`: of each session how it is now, each input and each result, and
//! what must be known so that nothing comes twice. Of a deleted session it leaves that it was there. Where payloads are
//! to be erased of what was finished before a moment, ids, cursors and outcomes stay.

use super::lines::{Input, Subscription};
use super::rules::{self, Outcome};
use super::session::{Session, State};
use crate::error::{Code, Error, Result};
use crate::journal::compact::{Left, Piece};
use crate::journal::live::{Live, Place};
use crate::journal::replay::Opened;
use crate::journal::scan::Record;

/// So many inputs of a session are told one by one how often they came again.
pub const ATTRIBUTED: u64 = 64;

/// Hands out what is left of the next record.
///
/// Errors: 6 where the journal is not what was replayed of it.
pub fn rewrite(live: &mut Live, opened: &Opened, record: &Record<'_>, left: &mut Left<'_>) -> Result<()> {
    let event = record.event;
    let changed = || {
        let message = format!("{} was changed while it was read; run the command again", opened.path.display());
        Error::new(Code::BusyChanging, message)
    };
    let range = event.members.range("session").ok_or_else(changed)?;
    let bytes = event.members.text.get(range.clone()).unwrap_or_default();
    let session = Session::read(bytes).ok_or_else(changed)?;
    let known = rules::session(live, &session.session_id).ok_or_else(changed)?;
    let now = Session::read(&opened.read(known.place)?).ok_or_else(changed)?;
    let kept = match event.op.name {
        // The last line of a session says all that it is.
        _ if known.place.offset == record.span.offset + range.start as u64 => true,
        _ if now.state == State::Deleted => false,
        "open" | "fork" | "accept" | "complete" | "fail" => true,
        // Whoever has it must be able to commit it.
        "claim" => session.work.as_ref().is_some_and(|work| work.first > now.processed),
        "checkpoint" => is_result(live, record),
        "repeat" => event
            .members
            .texts("input_ids")
            .iter()
            .any(|id| super::identity::input_parts(id).is_some_and(|(_, cursor)| cursor <= ATTRIBUTED)),
        // One that takes nothing more hears nothing more.
        "subscribe" => now.state == State::Ready && is_subscribed(live, record),
        _ => false,
    };
    if kept { whole_or_erased(live, record, (&session, &now), left) } else { Ok(()) }
}

/// Whether the result of its work lies in this record.
fn is_result(live: &mut Live, record: &Record<'_>) -> bool {
    let Some(work_id) = record.event.members.text("work_id") else { return false };
    let result = rules::work(live, &work_id).map(|work| work.result);
    result.is_some_and(|result| result.offset >= record.span.offset && result.end() <= record.span.end())
}

/// Whether the subscription that this record begins is active.
fn is_subscribed(live: &mut Live, record: &Record<'_>) -> bool {
    let Some(raw) = record.event.members.raw("subscription") else { return false };
    let Some(subscription) = Subscription::read(raw) else { return false };
    let Some((place, active)) = rules::subscription(live, &subscription.subscription_id) else { return false };
    active && Place::of(place) == place_of(record, "subscription")
}

fn place_of(record: &Record<'_>, member: &str) -> Place {
    let range = record.event.members.range(member).unwrap_or_default();
    let offset = record.span.offset + range.start as u64;
    Place::of(crate::journal::Span { offset, len: range.len() as u64 })
}

/// Hands out a record as it is, or without the payloads that are to be erased. `session`: as the record has it, and as it
/// is now.
fn whole_or_erased(
    live: &mut Live,
    record: &Record<'_>,
    (session, now): (&Session, &Session),
    left: &mut Left<'_>,
) -> Result<()> {
    let Some(before) = left.erase_before else { return (left.keep)(Piece::Kept(record.span)) };
    let event = record.event;
    let moment = u64::try_from(before.timestamp()).unwrap_or_default();
    // Nobody will ever be given what a killed session has left.
    let killed = now.state == State::Killed && now.updated_at < before;
    let mut is_over = |input_id: &str| {
        let known = rules::input(live, input_id);
        known.is_some_and(|known| killed || known.outcome != Outcome::None && known.finished < moment)
    };
    let work_id = || event.members.text("work_id").unwrap_or_default();
    let has_output = event.members.range("output").is_some();
    let erased = match event.op.name {
        "accept" => {
            let mut any = false;
            let mut inputs = Vec::new();
            for (range, _) in event.members.records("inputs") {
                let Some(mut input) = Input::read(&event.members.text[range]) else {
                    return (left.keep)(Piece::Kept(record.span));
                };
                let over = is_over(&input.input_id);
                any |= over && input.payload.is_some();
                if over {
                    input.payload = None;
                }
                inputs.push(input);
            }
            any.then(|| session.accept_line(&inputs))
        }
        "complete" if has_output && session.updated_at < before => {
            let number = |name| event.members.natural(name).unwrap_or_default();
            Some(session.erased_line("complete", &work_id(), Some((number("first"), number("last")))))
        }
        "checkpoint" if has_output => {
            let first = session.work.as_ref().map_or(0, |work| work.first);
            let over = is_over(&super::identity::input(&session.session_id, first));
            over.then(|| session.erased_line("checkpoint", &work_id(), None))
        }
        _ => None,
    };
    match erased {
        Some(line) => (left.keep)(Piece::New(&line)),
        None => (left.keep)(Piece::Kept(record.span)),
    }
}
