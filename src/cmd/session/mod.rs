//! `cruxctl session`: opaque JSON states by id, scoped by agent. One file a verb; what changes a session without a new
//! state shares one.

pub mod change;
pub mod get;
pub mod list;
pub mod put;
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
    Get(get::Get),
    /// Show a session's document: scope, sizes, times, hash, place in the journal
    Show(One),
    /// List sessions, the one written last first
    ///
    /// Archived sessions are hidden unless --archived or --all is given. Expired ones are shown and marked.
    List(list::List),
    /// Delete a session; this cannot be taken back
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
        Verb::List(args) => list::run(context, &args),
        Verb::Delete(args) => change::delete(context, &args),
        Verb::Archive(args) => change::archive(context, &args.change, Some(args.reason.as_deref())),
        Verb::Unarchive(args) => change::archive(context, &args, None),
        Verb::Reap(args) => change::reap(context, &args),
    }
}
