//! What the lines of `cruxctl/durable.jsonl` add up to: a row for each session, and beside it rows for its inputs, its
//! work, its key, its subscriptions, and for what must not come twice.

use super::identity;
use super::lines::{Source, Subscription};
use super::session::{Claimable, Session};
use crate::journal::finding::Span;
use crate::journal::live::{IdKey, Live, Place, Row};
use crate::journal::scan::Record;

/// What the index knows of a session without reading it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Known {
    /// Where the session lies in its last line.
    pub place: Span,
    /// The cursor of its last finished input.
    pub processed: u64,
    /// The moment from which its work can be claimed, in milliseconds of the Unix clock; 0: there is none to claim.
    pub due: u64,
    /// Whether a worker has it until then.
    pub held: bool,
    /// Where its first input lies that is not finished; 0: there is none.
    pub since: u64,
}

impl Known {
    /// What a session's row says; `None` where the row is of something else.
    #[must_use]
    pub fn of(row: Row) -> Option<Known> {
        let [processed, due, since] = row.more;
        row.live.then_some(Known { place: row.place.span(), processed, due, held: row.mark, since })
    }
}

/// What has become of an input.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Outcome {
    /// Nothing yet.
    #[default]
    None,
    /// It was completed.
    Completed,
    /// It has failed.
    Failed,
}

/// What the index knows of an input.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct KnownInput {
    /// Where it lies.
    pub place: Span,
    /// What has become of it.
    pub outcome: Outcome,
    /// The cursor of the first input of the work that finished it; 0: it is not finished.
    pub first: u64,
    /// How often it came again.
    pub repeats: u64,
    /// When it was finished, in seconds of the Unix clock; 0: it is not.
    pub finished: u64,
    /// Where it came from.
    pub source: Source,
}

impl KnownInput {
    fn of(row: Row) -> KnownInput {
        let [first, outcome, repeats] = row.more;
        let finished = outcome >> 8;
        let outcome = match outcome & 0xFF {
            COMPLETED => Outcome::Completed,
            FAILED => Outcome::Failed,
            _ => Outcome::None,
        };
        let source = if row.mark { Source::Signal } else { Source::Send };
        KnownInput { place: row.place.span(), outcome, first, repeats, finished, source }
    }
}

/// What the index knows of work.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct KnownWork {
    /// Where its result lies, or why it has failed; empty: there is none.
    pub result: Span,
    /// Whether there was one, which a compaction has erased.
    pub erased: bool,
    /// Whose it is.
    pub session: IdKey,
}

/// A session.
pub fn session(live: &mut Live, id: &str) -> Option<Known> {
    live.row(IdKey::of(id)).and_then(Known::of)
}

/// An input, by its id.
pub fn input(live: &mut Live, id: &str) -> Option<KnownInput> {
    live.row(IdKey::of(id)).filter(|row| row.beside).map(KnownInput::of)
}

/// Work, by its id.
pub fn work(live: &mut Live, id: &str) -> Option<KnownWork> {
    let row = live.row(IdKey::of(id)).filter(|row| row.beside)?;
    let [a, b, erased] = row.more;
    Some(KnownWork { result: row.place.span(), erased: erased == ERASED, session: IdKey::from_words([a, b]) })
}

/// Where the session lies that a key belongs to, whatever its target.
pub fn by_key(live: &mut Live, key_hash: &str) -> Option<Known> {
    let [a, b, _] = live.row(key_row(key_hash))?.more;
    live.row(IdKey::from_words([a, b])).and_then(Known::of)
}

/// Where the session lies that has this key in the index.
pub fn by_index_key(live: &mut Live, key: IdKey) -> Option<Known> {
    live.row(key).and_then(Known::of)
}

/// Where the input lies that came with an idempotency key.
pub fn sent_before(live: &mut Live, session: &str, idempotency_key: &str) -> Option<Span> {
    live.row(sent_row(session, idempotency_key)).map(|row| row.place.span())
}

/// Where the input lies as which an occurrence of a signal was accepted.
pub fn heard_before(live: &mut Live, session: &str, signal: &str, occurrence: &str) -> Option<Span> {
    live.row(heard_row(session, signal, occurrence)).map(|row| row.place.span())
}

/// Where a subscription lies, and whether it is active.
pub fn subscription(live: &mut Live, id: &str) -> Option<(Span, bool)> {
    live.row(IdKey::of(id)).filter(|row| row.beside).map(|row| (row.place.span(), row.mark))
}

/// Where the active subscriptions of a signal lie, in the order in which they began.
pub fn subscribers(live: &mut Live, namespace: &str, signal: &str) -> Vec<Span> {
    let mut found = Vec::new();
    let mut next = live.row(signal_row(namespace, signal)).map(|row| IdKey::from_words([row.more[0], row.more[1]]));
    while let Some(row) = next.and_then(|key| live.row(key)) {
        if row.mark {
            found.push(row.place.span());
        }
        let [a, b, has_next] = row.more;
        next = (has_next == MORE).then(|| IdKey::from_words([a, b]));
    }
    found.sort_unstable_by_key(|span| span.offset);
    found
}

const COMPLETED: u64 = 1;
const FAILED: u64 = 2;

/// In the row of work: its result was erased.
const ERASED: u64 = 1;

/// So many inputs that are not there may stand in a row before the rest is not looked for: they were lost with one line.
const LOST: u64 = 1 << 12;

/// In the row of a subscription: there is an older one of the same signal.
const MORE: u64 = 1 << 63;
/// In the row of a subscription: it is the first one of its signal.
const FIRST: u64 = MORE + 1;

/// Whether a row is one of an active subscription.
#[must_use]
pub fn is_active_subscription(row: &Row) -> bool {
    row.beside && row.mark && matches!(row.more[2], MORE | FIRST)
}

fn key_row(key_hash: &str) -> IdKey {
    IdKey::of_parts(&["key", key_hash])
}

fn sent_row(session: &str, idempotency_key: &str) -> IdKey {
    IdKey::of_parts(&["sent", session, idempotency_key])
}

fn heard_row(session: &str, signal: &str, occurrence: &str) -> IdKey {
    IdKey::of_parts(&["heard", session, signal, occurrence])
}

fn signal_row(namespace: &str, signal: &str) -> IdKey {
    IdKey::of_parts(&["signal", namespace, signal])
}

fn beside(place: Span, more: [u64; 3]) -> Row {
    Row { place: Place::of(place), beside: true, more, ..Row::default() }
}

/// Takes the next record.
pub fn fold(live: &mut Live, record: &Record<'_>) {
    let event = record.event;
    let at = |range: std::ops::Range<usize>| Span {
        offset: record.span.offset + range.start as u64,
        len: range.len() as u64,
    };
    let (Some(range), Some(id)) = (event.members.range("session"), event.record.text("session_id")) else { return };
    let Some(bytes) = event.members.text.get(range.clone()) else { return };
    let nowhere = Span { offset: record.span.offset, len: 0 };
    // What is said of work decides what may be claimed; where it cannot be read, nothing may.
    let session = Session::read(bytes);
    let key = IdKey::of(&id);
    let [own, other] = key.words();
    let known = live.row(key).and_then(Known::of);
    let (before, since) = known.map_or((0, 0), |known| (known.processed, known.since));
    let (due, held) = due(session.as_ref());
    let processed = event.record.natural("processed").unwrap_or_default();
    let inputs = if event.op.name == "accept" { event.members.records("inputs") } else { Vec::new() };
    let since = match (event.op.name, inputs.first()) {
        ("accept", Some((range, _))) if since == 0 => at(range.clone()).offset,
        ("complete" | "fail", _) => {
            let next = identity::input(&id, processed.saturating_add(1));
            input(live, &next).map_or(0, |next| next.place.offset)
        }
        _ => since,
    };
    live.set(
        key,
        Row { place: Place::of(at(range)), live: true, mark: held, beside: false, more: [processed, due, since] },
    );
    // The line that says so first may be lost, and of a deleted session its end alone may be left.
    if (known.is_none() || event.op.name == "delete")
        && let Some(key_hash) = event.record.text("key_hash")
    {
        live.set(key_row(&key_hash), beside(record.span, [own, other, 0]));
    }
    if let Some(work) = session.and_then(|session| session.work) {
        let key = IdKey::of(&work.work_id);
        if live.row(key).is_none() {
            live.set(key, beside(nowhere, [own, other, 0]));
        }
    }
    match event.op.name {
        "accept" => {
            for (range, input) in inputs {
                let place = at(range);
                let Some(input_id) = input.text("input_id") else { continue };
                let mark = input.text("source").is_some_and(|source| source == Source::Signal.name());
                live.set(IdKey::of(&input_id), Row { mark, ..beside(place, [0; 3]) });
                if let Some(sent) = input.text("idempotency_key") {
                    live.set(sent_row(&id, &sent), beside(place, [0; 3]));
                }
                if let (Some(signal), Some(occurrence)) = (input.text("signal_id"), input.text("occurrence")) {
                    live.set(heard_row(&id, &signal, &occurrence), beside(place, [0; 3]));
                }
            }
        }
        "repeat" => {
            for input_id in event.members.texts("input_ids") {
                let key = IdKey::of(&input_id);
                if let Some(mut row) = live.row(key).filter(|row| row.beside) {
                    row.more[2] += 1;
                    live.set(key, row);
                }
            }
        }
        "checkpoint" | "complete" | "fail" => {
            let Some(work_id) = event.members.text("work_id") else { return };
            let result = event.members.range("output").or_else(|| event.members.range("reason"));
            let key = IdKey::of(&work_id);
            // One that was prepared keeps its place.
            let (place, erased) = match (result, live.row(key)) {
                (Some(range), _) => (at(range), 0),
                (None, _) if event.members.raw("erased") == Some(b"true") => (nowhere, ERASED),
                (None, Some(row)) => (row.place.span(), row.more[2]),
                (None, None) => (nowhere, 0),
            };
            live.set(key, beside(place, [own, other, erased]));
            let outcome = match event.op.name {
                "complete" => COMPLETED,
                "fail" => FAILED,
                _ => return,
            };
            let number = |name| event.members.natural(name).unwrap_or_default();
            let (first, last) = (number("first"), number("last"));
            // What it has finished is what its session says from then on.
            if last != processed {
                return;
            }
            let at = event.record.time("updated_at").and_then(|at| u64::try_from(at.timestamp()).ok());
            let outcome = outcome | at.unwrap_or_default() << 8;
            // Every input is finished once. Some may be lost, with the line with which they were accepted.
            let mut lost = 0;
            for cursor in first.max(before.saturating_add(1))..=last {
                let key = IdKey::of(&identity::input(&id, cursor));
                let Some(mut row) = live.row(key).filter(|row| row.beside) else {
                    lost += 1;
                    if lost > LOST {
                        break;
                    }
                    continue;
                };
                lost = 0;
                row.more = [first, outcome, row.more[2]];
                live.set(key, row);
            }
        }
        "subscribe" => {
            let Some(range) = event.members.range("subscription") else { return };
            let bytes = event.members.text.get(range.clone()).unwrap_or_default();
            let Some(subscription) = Subscription::read(bytes) else { return };
            let key = IdKey::of(&subscription.subscription_id);
            let place = Place::of(at(range));
            if let Some(row) = live.row(key).filter(|row| row.beside) {
                live.set(key, Row { place, mark: true, ..row });
                return;
            }
            let signal = signal_row(&subscription.namespace, &subscription.signal_id);
            let [a, b, more] = live.row(signal).map_or([0, 0, FIRST], |row| [row.more[0], row.more[1], MORE]);
            live.set(key, Row { place, mark: true, beside: true, live: false, more: [a, b, more] });
            let [a, b] = key.words();
            live.set(signal, beside(at(0..0), [a, b, 0]));
        }
        "unsubscribe" => {
            let Some(id) = event.members.text("subscription_id") else { return };
            let key = IdKey::of(&id);
            if let Some(row) = live.row(key).filter(|row| row.beside) {
                live.set(key, Row { mark: false, ..row });
            }
        }
        _ => {}
    }
}

/// From when on a session's work can be claimed, and whether a worker has it until then.
fn due(session: Option<&Session>) -> (u64, bool) {
    // At once is 1: 0 is never.
    let millis = |at: Option<chrono::DateTime<chrono::Utc>>| {
        at.and_then(|at| u64::try_from(at.timestamp_millis()).ok()).unwrap_or_default().max(1)
    };
    match session.map_or(Claimable::Nothing, Session::claimable) {
        Claimable::Nothing | Claimable::Blocked => (0, false),
        Claimable::From(at) => (millis(at), false),
        Claimable::Held(until) => (millis(until), true),
    }
}
