//! An event as a log shows it: what it is about, where it lies, and when it happened.

use chrono::{DateTime, Utc};

use super::deleted_at;
use crate::journal::Span;
use crate::journal::scan::Record;
use crate::journal::shape::{Members, Need, Type};
use crate::journal::split::event_id;

/// Takes what an event is about: its id, its place and its time.
pub type Take<'t> = dyn FnMut(Option<&str>, Span, Option<DateTime<Utc>>) + 't;

/// Hands out what an event is about: the event itself, or each of the records that it lists.
pub fn each(record: &Record<'_>, take: &mut Take<'_>) {
    let event = record.event;
    if let Some(id) = event_id(event) {
        return take(Some(&id), record.span, time_of(record));
    }
    let mut listed = false;
    for member in event.op.members.iter().filter(|member| matches!(member.ty, Type::Records(_))) {
        for (range, inside) in event.members.records(member.name) {
            listed = true;
            let span = Span { offset: record.span.offset + range.start as u64, len: range.len() as u64 };
            take(inside.id(event.op.id).as_deref(), span, own_time(&inside));
        }
    }
    if !listed {
        take(None, record.span, time_of(record));
    }
}

/// When an event happened, as far as it says so: its own time, else that of its record.
fn time_of(record: &Record<'_>) -> Option<DateTime<Utc>> {
    let event = record.event;
    let stamps = event.op.members.iter().rev().filter(|member| member.name.ends_with("_at"));
    let own = stamps.filter_map(|member| event.members.time(member.name)).map(|time| time.to_utc()).next();
    // The text may go on behind the event.
    let len = usize::try_from(record.span.len).unwrap_or(usize::MAX);
    own.or_else(|| own_time(&event.record)).or_else(|| deleted_at(event.members.text.get(..len)?))
}

/// When a record was written.
fn own_time(record: &Members<'_>) -> Option<DateTime<Utc>> {
    let member = record.names.iter().find(|member| member.ty == Type::Time && member.need == Need::Required)?;
    record.time(member.name).map(|time| time.to_utc())
}
