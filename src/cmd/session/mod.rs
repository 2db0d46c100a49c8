//! `cruxctl session`: opaque JSON states by id, scoped by agent. One file a verb; what changes a session without a new
//! state shares one.

pub mod change;
pub mod diff;
pub mod get;
pub mod history;
pub mod list;
pub mod put;
pub mod restore;
pub mod version;
pub mod view;

use clap::{Args, Subcommand};

use super::Context;
use super::complete::Offers;
use crate::error::Result;

/// Arguments of `cruxctl session`.
#[derive(Args, Debug)]
pub struct SessionArgs {
    /// The verb.
    #[command(subcommand)]
    pub verb: Verb,
}

/// The verbs of `cruxctl session`.
#[derive(Debug, Subcommand)]
pub enum Verb {
    /// Store a state under an id
    ///
    /// The state is one JSON value, read from standard input or a file. One line is kept byte for byte; a text with
    /// raw line breaks loses the white space between tokens and nothing else. A put replaces the whole session: over
    /// an archived one it un-archives it, and without --ttl the session no longer expires. The command succeeds only
    /// when the record is on disk and was read back.
    Put(put::Put),
    /// Print a session's state: its bytes and one line end
    ///
    /// With --rev or --at an earlier version is printed, out of the journal, which is read whole.
    Get(get::Get),
    /// Show a session's document: scope, sizes, times, hash, place in the journal
    Show(get::Show),
    /// List every version of a session, a deleted one too
    ///
    /// Versions are counted from 1, in the order of the journal; a deletion is one. A journal compaction ends the
    /// history: what is left is counted anew. The daemon writes no time when it deletes: then the times of the records
    /// around it are shown. Stretches that cannot be read and name the session follow, and those that a repair has set
    /// aside, each with the command that shows it.
    History(Ever),
    /// Say what differs between two versions, with every value as it is written
    ///
    /// Paths are written as jq reads them: of an element that went, they count in the version before; else in the one
    /// afterwards. White space between tokens, the order of members and escapes make no difference; what is nested
    /// deeper than 32 levels is compared as it is written, and long arrays of many like elements place by place. Without
    /// numbers the last two versions are compared.
    Diff(diff::DiffArgs),
    /// Make an earlier version the live one again, as a new version
    ///
    /// State, archive and expiry are as they were; an expiry that is past is left out. The session may be deleted. What is
    /// live now stays in the history.
    Restore(restore::Restore),
    /// List sessions, the one written last first
    ///
    /// Archived sessions are hidden unless --archived or --all is given. Expired ones are shown and marked.
    List(list::List),
    /// Delete a session; until a compaction, restore brings it back
    Delete(Change),
    /// Hide a session from lists; it is kept in full
    Archive(change::Archive),
    /// Show an archived session in lists again
    Unarchive(Change),
    /// Delete the sessions that have expired
    Reap(change::Reap),
}

/// Which session, through whose eyes.
#[derive(Args, Debug)]
pub struct One {
    /// The session's id
    #[arg(add = Offers::Sessions)]
    pub id: String,
    /// Take the id as it is stored, whatever agent it belongs to
    #[arg(long)]
    pub all_agents: bool,
}

/// Which session, and it may be one that was deleted.
#[derive(Args, Debug)]
pub struct Ever {
    /// The session's id; it may be deleted
    #[arg(add = Offers::SessionsEver)]
    pub id: String,
    /// Take the id as it is stored, whatever agent it belongs to
    #[arg(long)]
    pub all_agents: bool,
}

/// A change of one session.
#[derive(Args, Debug)]
pub struct Change {
    /// Which session.
    #[command(flatten)]
    pub one: One,
    /// Say what would be done and do nothing
    #[arg(long)]
    pub dry_run: bool,
}

/// Runs a verb.
pub fn run(context: &mut Context, args: SessionArgs) -> Result<()> {
    match args.verb {
        Verb::Put(args) => put::run(context, args),
        Verb::Get(args) => get::run(context, &args),
        Verb::Show(args) => get::show(context, &args),
        Verb::History(args) => history::run(context, &args),
        Verb::Diff(args) => diff::run(context, &args),
        Verb::Restore(args) => restore::run(context, &args),
        Verb::List(args) => list::run(context, &args),
        Verb::Delete(args) => change::delete(context, &args),
        Verb::Archive(args) => change::archive(context, &args.change, Some(args.reason.as_deref())),
        Verb::Unarchive(args) => change::archive(context, &args, None),
        Verb::Reap(args) => change::reap(context, &args),
    }
}
