//! What the lines of each journal mean. One file a journal; each knows its ops and its rules, and no files.

pub mod case;
pub mod diff;
pub mod durable;
pub mod event;
pub mod fact;
pub mod handoff;
pub mod observation;
pub mod reuse;
pub mod scope;
pub mod session;
pub mod stamped;
pub mod trust;

use std::borrow::Cow;

use chrono::{DateTime, SecondsFormat, Utc};
use serde::Deserialize;

use crate::journal::Journal;
use crate::journal::json;
use crate::journal::read::{self, Reading};
use crate::journal::shape::{self, Daemon, Event, Members};

/// Every journal, in the order in which verbs name them: the daemon's, then our own.
pub const JOURNALS: [&Journal; 7] = [
    &session::JOURNAL,
    &case::JOURNAL,
    &fact::JOURNAL,
    &reuse::JOURNAL,
    &handoff::JOURNAL,
    &trust::JOURNAL,
    &durable::JOURNAL,
];

/// A journal by its name on the command line.
#[must_use]
pub fn journal(name: &str) -> Option<&'static Journal> {
    JOURNALS.into_iter().find(|journal| journal.name == name)
}

/// The id and the document of a live record, from the bytes that a replay's spans name.
#[must_use]
pub fn document<'a>(journal: &Journal, bytes: &'a [u8]) -> (String, &'a [u8]) {
    if std::ptr::eq(journal, &fact::JOURNAL) {
        // A fact's span is the fact itself: many may share a line.
        return (fact::id_of(bytes).unwrap_or_default(), bytes);
    }
    if std::ptr::eq(journal, &durable::JOURNAL) {
        // A durable session's span is the session itself: what came with it is beside it on the line.
        return ((journal.id_of)(bytes).unwrap_or_default(), bytes);
    }
    let Reading::Event { event, .. } = read::read(journal.shape, bytes) else { return (String::new(), bytes) };
    let id = crate::journal::split::event_id(&event).unwrap_or_default().into_owned();
    let record = event.members.names.iter().find(|m| matches!(m.ty, shape::Type::Record(_)));
    (id, record.and_then(|m| event.members.raw(m.name)).unwrap_or(bytes))
}

/// Whether an event is about an id, or any member of it names it.
#[must_use]
pub fn names(event: &Event<'_>, id: &str) -> bool {
    let about = crate::journal::split::event_id(event).is_some_and(|own| own == id);
    about
        || event.members.names.iter().any(|member| {
            ((member.name.ends_with("_id") || member.name == event.op.id)
                && event.members.id(member.name).is_some_and(|own| own == id))
                || (member.name.ends_with("_ids") && event.members.texts(member.name).iter().any(|own| own == id))
                || event
                    .members
                    .records(member.name)
                    .iter()
                    .any(|(_, r)| r.id("fact_id").is_some_and(|own| own == id))
        })
}

/// How the daemon reads a journal that it keeps without syncs and without a limit: sessions and cases.
const LINE_BY_LINE: Daemon = Daemon {
    trims_unicode: true,
    stops_at_bad_utf8: true,
    moves_tail_aside: false,
    longest_line: None,
    skips_long: never,
};

/// No line of a journal without a length limit is too long.
fn never(_: &Event<'_>) -> bool {
    false
}

/// Whether a text member is absent or can be written again as it is.
fn is_exact(doc: &Members<'_>, name: &str) -> bool {
    doc.raw(name).is_none_or(|raw| json::whole(raw, 0).is_ok_and(|(_, quirks)| quirks.none()))
}

/// The members of an object document that no version before this one knows.
fn others(doc: &Members<'_>, object: &[u8]) -> String {
    let mut out = String::new();
    if object.first() != Some(&b'{') {
        return out;
    }
    let mut cursor = json::Cursor::new(object);
    cursor.open();
    cursor.space();
    while cursor.peek() == Some(b'"') {
        let start = cursor.pos;
        let Ok(name) = cursor.name() else { break };
        let known = json::unescape(&object[name.start..name.end]);
        if cursor.skip().is_err() {
            break;
        }
        if !doc.names.iter().any(|member| member.name == known) {
            out.push(',');
            out.push_str(&String::from_utf8_lossy(&object[start..cursor.pos]));
        }
        cursor.space();
        if cursor.peek() == Some(b',') {
            cursor.pos += 1;
            cursor.space();
        }
    }
    out
}

/// When a record of sessions or cases was deleted, as far as its `delete` says so: the daemon's does not.
#[must_use]
pub fn deleted_at(delete: &[u8]) -> Option<DateTime<Utc>> {
    #[derive(Deserialize)]
    struct Delete<'a> {
        #[serde(borrow)]
        deleted_at: Cow<'a, str>,
    }
    serde_json::from_slice::<Delete<'_>>(delete).ok()?.deleted_at.parse().ok()
}

/// A moment as the daemon writes it.
pub(crate) fn time_text(at: DateTime<Utc>) -> String {
    at.to_rfc3339_opts(SecondsFormat::AutoSi, true)
}
