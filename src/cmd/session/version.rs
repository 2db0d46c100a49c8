//! One version of a session out of its history: which one is meant, and what it was.

use chrono::{DateTime, Utc};
use clap::Args;

use super::view::{absent, command};
use crate::cmd::complete::Offers;
use crate::cmd::{Context, moment, plural};
use crate::error::{Code, Error, Result};
use crate::journal::history::{self, History, Revision};
use crate::journal::replay::{self, Opened};
use crate::journal::stamp::Stamp;
use crate::journal::table::rewritten;
use crate::journal::{Finding, audit};
use crate::render::{Printer, rfc3339};
use crate::store::scope::Scope;
use crate::store::session::{JOURNAL, Session, Version};

/// Which version is meant; the live one unless one is named.
#[derive(Args, Clone, Debug, Default)]
#[group(skip)]
pub struct When {
    /// The version with this number, as `session history` counts them
    #[arg(long, value_name = "N", conflicts_with = "at", add = Offers::Revisions)]
    pub rev: Option<u64>,
    /// The version that was there at this RFC 3339 time, or this time span ago (2h)
    #[arg(long, value_name = "TIME")]
    pub at: Option<String>,
}

impl When {
    /// Whether a version is named.
    #[must_use]
    pub fn is_named(&self) -> bool {
        self.rev.is_some() || self.at.is_some()
    }
}

/// A version that was found.
#[derive(Debug)]
pub(super) struct Found {
    /// Its record.
    pub(super) bytes: Vec<u8>,
    pub(super) revision: Revision,
    /// The journal that it was read from.
    pub(super) opened: Opened,
}

impl Found {
    /// The session that it was.
    pub(super) fn session(&self) -> Result<Session<'_>> {
        Session::read(&self.bytes).ok_or_else(|| rewritten(&JOURNAL))
    }
}

/// The time at which a record was written, as far as it can be told.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Written {
    At(DateTime<Utc>),
    /// At the earliest, and at the latest.
    Between(Option<DateTime<Utc>>, Option<DateTime<Utc>>),
}

impl Written {
    pub(super) fn of(version: &Version<'_>, revision: &Revision, opened: &Opened) -> Written {
        let time = |stamp: Option<Stamp>| stamp.and_then(Stamp::time);
        match version {
            Version::Stored(session) => Written::At(session.updated_at),
            Version::Deleted(Some(at)) => Written::At(*at),
            Version::Deleted(None) => {
                // What nothing was written behind was written when the file was changed last, or before.
                let changed = u32::try_from(opened.mtime.1).ok();
                let changed = changed.and_then(|nanos| DateTime::from_timestamp(opened.mtime.0, nanos));
                Written::Between(time(revision.not_before), time(revision.not_after).or(changed))
            }
        }
    }

    /// In words, to be read after "deleted".
    fn sentence(self) -> String {
        match self {
            Written::At(at) => format!("at {}", rfc3339(at)),
            Written::Between(Some(from), Some(to)) => format!("between {} and {}", rfc3339(from), rfc3339(to)),
            Written::Between(Some(from), None) => format!("after {}", rfc3339(from)),
            Written::Between(None, Some(to)) => format!("before {}", rfc3339(to)),
            Written::Between(None, None) => "nobody knows when".to_owned(),
        }
    }
}

/// Takes the next version: the journal, the place, the record.
type Take<'t> = dyn FnMut(&mut Printer, &Opened, &Revision, &[u8]) -> Result<()> + 't;

/// What a history was read from, and what was met.
pub(super) struct Walk {
    pub(super) opened: Opened,
    pub(super) history: History,
    /// What the witness has to say.
    against: Option<Finding>,
}

impl Walk {
    /// Tells of damage that the answer has met.
    fn tell_damage(&self, context: &mut Context) {
        context.tell_damage(&JOURNAL, &self.history.seen, self.against.as_ref(), true);
    }
}

/// Reads the history of a session that this scope sees, and tells of damage of the journal.
pub(super) fn walk(context: &mut Context, scope: &Scope, id: &str, take: &mut Take<'_>) -> Result<Walk> {
    let walk = walk_quietly(context, scope, id, take)?;
    walk.tell_damage(context);
    Ok(walk)
}

fn walk_quietly(context: &mut Context, scope: &Scope, id: &str, take: &mut Take<'_>) -> Result<Walk> {
    let opened = replay::open(&context.dir, &JOURNAL)?;
    let stored = scope.stored(id);
    if scope.visible(&stored).is_none() {
        return Err(never(context, scope, id)?);
    }
    let printer = &mut context.printer;
    let history =
        history::each(&opened, &JOURNAL, &stored, &mut |revision, bytes| take(printer, &opened, revision, bytes))?;
    let against = audit::glance(&context.dir, &JOURNAL, &opened, None);
    Ok(Walk { opened, history, against })
}

/// "There is no such session", and no trace of one.
pub(super) fn never(context: &mut Context, scope: &Scope, id: &str) -> Result<Error> {
    let mut table = context.table(&JOURNAL, false)?;
    let mut error = absent(context, &mut table, scope, id)?;
    error.message.push_str(", and the journal has no record of one");
    Ok(error)
}

/// Finds the version that is meant, for a verb that answers with it.
pub(super) fn find(context: &mut Context, scope: &Scope, id: &str, when: &When) -> Result<Found> {
    let (walk, search) = sought(context, scope, id, when)?;
    walk.tell_damage(context);
    chosen(context, scope, id, (when, walk, search))
}

/// The same for a verb that writes it again: damage counts only where it may hide the version.
pub(super) fn find_to_write(context: &mut Context, scope: &Scope, id: &str, when: &When) -> Result<Found> {
    let (walk, search) = sought(context, scope, id, when)?;
    if search.best.as_ref().is_none_or(|(revision, _)| revision.deletes) {
        walk.tell_damage(context);
    }
    chosen(context, scope, id, (when, walk, search))
}

/// Looks for the version that is meant.
fn sought(context: &mut Context, scope: &Scope, id: &str, when: &When) -> Result<(Walk, Search)> {
    let at = when.at.as_deref().map(|text| moment(text, context.env.now())).transpose()?;
    let mut search = Search { at, ..Search::default() };
    let mut stored = None;
    let walk = walk_quietly(context, scope, id, &mut |_, opened, revision, bytes| {
        let is_it = match (when.rev, at) {
            (Some(number), _) => number == revision.number,
            (None, Some(at)) => {
                let written = match revision.time.and_then(Stamp::time) {
                    Some(time) => Written::At(time),
                    None => {
                        let version = Version::read(bytes).ok_or_else(|| rewritten(&JOURNAL))?;
                        Written::of(&version, revision, opened)
                    }
                };
                search.was_there(revision, written, at)
            }
            (None, None) => true,
        };
        if is_it {
            search.best = Some((*revision, bytes.to_vec()));
            search.stored_before = stored;
        }
        if !revision.deletes {
            stored = Some(revision.number);
        }
        Ok(())
    })?;
    Ok((walk, search))
}

/// The version that was found, or why there is none.
fn chosen(
    context: &mut Context,
    scope: &Scope,
    id: &str,
    (when, walk, search): (&When, Walk, Search),
) -> Result<Found> {
    let Walk { opened, history, .. } = walk;
    if history.revisions == 0 {
        return Err(never(context, scope, id)?);
    }
    let shown: String = id.chars().take(200).collect();
    let no = |message: String| Error::new(Code::NoRevision, message);
    let hint = command(context, "history", scope, id);
    let Some((revision, bytes)) = search.best else {
        return Err(no(match (when.rev, search.at, search.first) {
            (Some(number), ..) => {
                format!("session {shown:?} has {}; there is no {number}", plural(history.revisions, "version"))
            }
            (_, Some(at), Some(first)) => {
                format!(
                    "session {shown:?} was not there at {}: it was first written {}",
                    rfc3339(at),
                    first.sentence()
                )
            }
            _ => format!("no version of session {shown:?} can be read"),
        })
        .hint(hint));
    };
    if revision.deletes {
        let written = Version::read(&bytes).map(|version| Written::of(&version, &revision, &opened));
        let when = written.map(Written::sentence).unwrap_or_default();
        let mut error = no(format!("session {shown:?} was deleted, {when}; that is its version {}", revision.number));
        if let Some(number) = search.stored_before {
            for verb in ["get", "restore"] {
                error = error.hint(command(context, &format!("{verb} --rev {number}"), scope, id));
            }
        }
        return Err(error.hint(hint));
    }
    if let Some((number, written)) = search.doubt {
        let text = format!(
            "version {number} deletes session {shown:?}, {}: whether it was there at that time cannot be told; this is \
             what it was before",
            written.sentence()
        );
        context.printer.note(&text);
    }
    Ok(Found { bytes, revision, opened })
}

/// What is known of a search so far.
#[derive(Default)]
struct Search {
    /// The time that is asked for.
    at: Option<DateTime<Utc>>,
    /// When the first version was written.
    first: Option<Written>,
    /// What is meant, as far as the journal was read.
    best: Option<(Revision, Vec<u8>)>,
    /// The last version in front of that which has a state.
    stored_before: Option<u64>,
    /// A deletion of which nobody knows whether it came before the time that is asked for.
    doubt: Option<(u64, Written)>,
}

impl Search {
    /// Whether this version was written by that time: then it is what was there, in the place of those in front of it.
    /// The order of the file decides, whatever the clocks said.
    fn was_there(&mut self, revision: &Revision, written: Written, at: DateTime<Utc>) -> bool {
        self.first.get_or_insert(written);
        let is_it = match written {
            Written::At(time) => time <= at,
            Written::Between(_, Some(latest)) if latest <= at => true,
            Written::Between(earliest, _) => {
                if earliest.is_none_or(|earliest| earliest <= at) && self.best.is_some() {
                    self.doubt = Some((revision.number, written));
                }
                false
            }
        };
        if is_it {
            self.doubt = None;
        }
        is_it
    }
}
