//! `cruxctl session history`: every version that the journal still has, and what of it cannot be read.

use chrono::{DateTime, Utc};

use super::Ever;
use super::version::{Walk, Written, never, walk};
use crate::cmd::Context;
use crate::error::Result;
use crate::journal::finding::Finding;
use crate::journal::history::Revision;
use crate::journal::quarantine::{self, SetAside};
use crate::journal::table::rewritten;
use crate::render::{Format, Group, Printer, Value, quoted, rfc3339};
use crate::store::session::{JOURNAL, Session, Version};

/// What a history says.
pub const VERSIONS: &[Group] = &[
    Group {
        name: "versions",
        one: "version",
        columns: &[
            "rev",
            "time",
            "change",
            "bytes",
            "hash",
            "line",
            "offset",
            "length",
            "tokens",
            "expires_at",
            "archived",
            "actor",
            "not_before",
            "not_after",
        ],
        shown: &["rev", "time", "change", "bytes", "hash", "line", "offset", "actor"],
        blocks: false,
    },
    Group {
        name: "unreadable",
        one: "unreadable",
        columns: &["where", "class", "line", "offset", "length", "set_aside_at", "what", "begins", "look"],
        shown: &["where", "class", "line", "offset", "length", "look"],
        blocks: false,
    },
];

/// How many stretches that were set aside are told.
const ASIDE: usize = 100;

/// What of a version the next one is compared with.
struct Before {
    hash: String,
    archived: bool,
    expires_at: Option<DateTime<Utc>>,
    reason: Option<String>,
    actor: Option<String>,
}

impl Before {
    fn of(session: &Session<'_>) -> Before {
        let owned = |text: &Option<std::borrow::Cow<'_, str>>| text.as_deref().map(str::to_owned);
        Before {
            hash: session.hash(),
            archived: session.archived,
            expires_at: session.expires_at,
            reason: owned(&session.archive_reason),
            actor: owned(&session.actor),
        }
    }

    /// What has become of it, in a word for each thing.
    fn changes(&self, now: &Before) -> String {
        let words = [
            (self.hash != now.hash).then_some("changed"),
            match (self.archived, now.archived) {
                (false, true) => Some("archived"),
                (true, false) => Some("unarchived"),
                (true, true) if self.reason != now.reason => Some("reason"),
                _ => None,
            },
            (self.expires_at != now.expires_at).then_some("expiry"),
            (self.actor != now.actor).then_some("actor"),
        ];
        let words: Vec<&str> = words.into_iter().flatten().collect();
        if words.is_empty() { "written again".to_owned() } else { words.join(", ") }
    }
}

/// Runs the verb.
pub fn run(context: &mut Context, args: &Ever) -> Result<()> {
    let scope = context.scope(args.all_agents)?;
    let mut before: Option<Before> = None;
    let mut begun = false;
    let begin = |printer: &mut Printer, begun: &mut bool| match std::mem::replace(begun, true) {
        true => Ok(()),
        false => printer.begin("cruxctl.session.history.v1", VERSIONS),
    };
    let Walk { history, .. } = walk(context, &scope, &args.id, &mut |printer, opened, revision, bytes| {
        begin(printer, &mut begun)?;
        let version = Version::read(bytes).ok_or_else(|| rewritten(&JOURNAL))?;
        let written = Written::of(&version, revision, opened);
        match &version {
            Version::Stored(session) => {
                let now = Before::of(session);
                let change = match &before {
                    Some(before) => before.changes(&now),
                    None if revision.number > 1 => "created again".to_owned(),
                    None => "created".to_owned(),
                };
                row(printer, revision, written, &change, Some((session, &now.hash)))?;
                before = Some(now);
            }
            Version::Deleted(_) => {
                row(printer, revision, written, "deleted", None)?;
                before = None;
            }
        }
        Ok(())
    })?;
    let (aside, more_aside) = quarantine::about(&context.dir, &JOURNAL, &scope.stored(&args.id), ASIDE);
    if history.revisions == 0 && history.unreadable.is_empty() && aside.is_empty() {
        return Err(never(context, &scope, &args.id)?);
    }
    begin(&mut context.printer, &mut begun)?;
    history.unreadable.iter().try_for_each(|finding| damaged(&mut context.printer, finding))?;
    aside.iter().try_for_each(|aside| set_aside(&mut context.printer, aside))?;
    context.printer.end()?;
    let more = history.more_unreadable + more_aside;
    if more > 0 {
        context.printer.warn(&format!("{more} more that cannot be read are not shown"), &[]);
    }
    Ok(())
}

fn row(
    printer: &mut Printer,
    revision: &Revision,
    written: Written,
    change: &str,
    session: Option<(&Session<'_>, &str)>,
) -> Result<()> {
    let table = printer.format() == Format::Table;
    let (time, not_before, not_after) = match written {
        Written::At(time) => (Value::Time(time), Value::Absent, Value::Absent),
        Written::Between(from, to) => {
            let time = from.filter(|_| table).map(|from| format!("after {}", rfc3339(from)));
            (Value::maybe(time), Value::time(from), Value::time(to))
        }
    };
    let of =
        |take: &dyn Fn(&Session<'_>) -> Value<'static>| session.map_or(Value::Absent, |(session, _)| take(session));
    let cells = [
        Value::Count(revision.number),
        time,
        Value::text(change),
        of(&|session| Value::Count(session.state.len() as u64)),
        Value::maybe(session.map(|(_, hash)| hash)),
        Value::Count(revision.line),
        Value::Count(revision.span.offset),
        Value::Count(revision.span.len),
        of(&|session| Value::Count(session.total_tokens)),
        of(&|session| Value::time(session.expires_at)),
        of(&|session| Value::Flag(session.archived)),
        of(&|session| Value::maybe(session.actor.as_deref().map(str::to_owned))),
        not_before,
        not_after,
    ];
    printer.row(0, &[&revision.number.to_string()], &cells)
}

/// A stretch of the journal that cannot be read and names the session.
fn damaged(printer: &mut Printer, finding: &Finding) -> Result<()> {
    let look = format!("cruxctl journal show {} --offset {}", JOURNAL.name, finding.span.offset);
    let look = printer.carried.command(&look);
    let cells = [
        Value::text("journal"),
        Value::text(finding.class.name()),
        Value::Count(finding.line),
        Value::Count(finding.span.offset),
        Value::Count(finding.span.len),
        Value::Absent,
        Value::text(&*finding.why),
        Value::Bytes(&finding.head),
        Value::Command(look),
    ];
    printer.row(1, &[], &cells)
}

/// A stretch that a repair has taken out of the journal and that names the session.
fn set_aside(printer: &mut Printer, aside: &SetAside) -> Result<()> {
    let path = aside.path.to_string_lossy();
    let look = format!("tail -c +{} {} | head -c {}", aside.span.offset + 1, quoted(&path), aside.span.len);
    let cells = [
        Value::text("quarantine"),
        Value::text(&*aside.class),
        Value::Count(aside.line),
        Value::Count(aside.offset),
        Value::Count(aside.span.len),
        Value::text(&*aside.made_at),
        Value::text("a repair has set it aside"),
        Value::Bytes(&aside.head),
        Value::Command(look),
    ];
    printer.row(1, &[], &cells)
}
