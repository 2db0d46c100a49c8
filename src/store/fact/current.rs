//! A fact with what later events have made of it.

use chrono::{DateTime, Utc};

use super::SHAPE;
use super::document::Fact;
use super::rules::{Events, Known};
use crate::error::Result;
use crate::journal::live::{IdKey, Live, Place, Row};
use crate::journal::read::{self, Reading};
use crate::journal::replay::Opened;
use crate::journal::shape::Event;

/// A fact as it is now.
#[derive(Clone, Debug)]
pub struct Current<'d> {
    /// Its document, with the members that events change as they are now.
    pub fact: Fact<'d>,
    /// Whether an active consolidation stands for it.
    pub bound: bool,
    /// The events that have changed it.
    pub events: Events,
    /// Whether its document still says all of it.
    pub unchanged: bool,
}

/// A fact as its document has it, brought up to what it is now by its row; `None` where the journal does not have what
/// the row says.
pub fn brought_up<'d>(
    opened: &Opened,
    live: &mut Live,
    (key, row): (IdKey, Row),
    mut fact: Fact<'d>,
) -> Result<Option<Current<'d>>> {
    let (known, events) = (Known::of(row), Events::of(live, key));
    if IdKey::of(&fact.id) != key {
        return Ok(None);
    }
    let says = (fact.supersedes.clone(), fact.superseded_by.clone(), fact.valid_from, fact.valid_to, fact.deleted);
    fact.deleted = !known.live;
    let own = fact.superseded_by.take();
    fact.superseded_by = match known.superseded_by {
        0 => None,
        tag if own.as_ref().is_some_and(|id| IdKey::of(id).tag() == tag) => own,
        tag => {
            let by = superseding(opened, events.supersession)?.map(|(by, _)| by);
            let Some(by) = by.filter(|by| IdKey::of(by).tag() == tag) else { return Ok(None) };
            Some(by.into())
        }
    };
    if events.validity.span().len > 0 {
        let times = with_event(opened, events.validity, |event| {
            let time = |name| event.members.time(name).map(|time| time.to_utc());
            (event.op.name == "set_validity").then(|| (time("valid_from"), time("valid_to")))
        })?;
        let Some((from, to)) = times else { return Ok(None) };
        (fact.valid_from, fact.valid_to) = (from, to);
    }
    // Links from one tenant to another do not count, nor versions of something else.
    let mut row_of = |id: &str| live.row(IdKey::of(id)).map(Known::of);
    if let Some(by) = &fact.superseded_by
        && row_of(by).is_some_and(|by| by.tenant != known.tenant)
    {
        fact.superseded_by = None;
    }
    if let Some(before) = &fact.supersedes
        && row_of(before).is_some_and(|before| before.chain != known.chain)
    {
        fact.supersedes = None;
    }
    if live.check().is_err() {
        return Ok(None);
    }
    let is = (fact.supersedes.clone(), fact.superseded_by.clone(), fact.valid_from, fact.valid_to, fact.deleted);
    Ok(Some(Current { fact, bound: known.bound, events, unchanged: says == is }))
}

/// Reads the event at a place, if one is there.
fn with_event<T>(opened: &Opened, place: Place, take: impl FnOnce(&Event<'_>) -> Option<T>) -> Result<Option<T>> {
    let line = opened.read(place.span())?;
    let Reading::Event { event, .. } = read::read(&SHAPE, &line) else { return Ok(None) };
    Ok(take(&event))
}

/// The fact that takes the place of another, and since when: from the event that says so, or its own document.
fn superseding(opened: &Opened, place: Place) -> Result<Option<(String, Option<DateTime<Utc>>)>> {
    let text = opened.read(place.span())?;
    if let Some(fact) = Fact::read(&text) {
        return Ok(Some((fact.id.into_owned(), Some(fact.stored_at))));
    }
    with_event(opened, place, |event| {
        let at = event.members.time("superseded_at").map(|at| at.to_utc());
        event.members.id("by_fact_id").map(|by| (by.into_owned(), at))
    })
}

/// When a fact was superseded and when it was deleted, as far as events say so.
pub fn stamps(opened: &Opened, events: &Events) -> Result<[Option<DateTime<Utc>>; 2]> {
    let deleted = with_event(opened, events.deletion, |event| {
        let at = event.members.time("deleted_at").or_else(|| event.members.time("undone_at"));
        at.map(|at| at.to_utc())
    });
    Ok([superseding(opened, events.supersession)?.and_then(|(_, at)| at), deleted?])
}
