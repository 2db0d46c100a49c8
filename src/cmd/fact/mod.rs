//! `cruxctl fact`: what agents know. One file a verb; what changes a fact that is there shares one. `view` is what the
//! verbs share, `pick` which facts a verb looks at.

pub mod change;
pub mod history;
pub mod list;
mod pick;
pub mod query;
pub mod show;
pub mod store;
pub(in crate::cmd) mod view;

use clap::{Args, Subcommand};

use super::Context;
use crate::error::Result;

/// Arguments of `cruxctl fact`.
#[derive(Args, Debug)]
pub struct FactArgs {
    /// The verb.
    #[command(subcommand)]
    pub verb: Verb,
}

/// The verbs of `cruxctl fact`.
#[derive(Debug, Subcommand)]
pub enum Verb {
    /// Store a fact; print its id
    ///
    /// The fact is given by flags, or as one JSON object on standard input with the members entity, key, value, and
    /// perhaps tenant, confidence, horizon, private, actor, source_receipt, valid_from and valid_to. Where tenant, entity
    /// and key have a live fact already, the new one is its next version and takes its place. The command succeeds only
    /// when the record is on disk and was read back.
    ///
    /// A private fact belongs to the agent that stores it, and no other agent sees it. Facts of some entities are private
    /// whoever stores them (such as `__ops::` and `github::`): nobody sees these but with --all-agents. The variables
    /// CORECRUXD_ALWAYS_PRIVATE_PREFIXES and CORECRUXD_SHARE_PREFIXES_OVERRIDE add prefixes and take some away, as they do
    /// for the daemon.
    ///
    /// Store facts while the daemon is stopped: one that runs does not know them, and drops them when it compacts its
    /// journal.
    Store(store::Store),
    /// Show one fact in full, as it is now
    Show(show::Show),
    /// List facts, the one stored last first
    ///
    /// Facts that are deleted, superseded, or private to others are hidden; how many is said on standard error.
    List(list::List),
    /// Find facts by words, entity, key, tenant and time
    ///
    /// A fact is found when its entity, key or value has one of the words (two bytes or more, in any case). The one that
    /// has most of them comes first, then the one stored last. Where nothing is found, nothing is printed, and the exit
    /// status is 1.
    ///
    /// With --as-of a fact counts from its valid_from, or else from when it was stored, until its valid_to or until the
    /// fact that superseded it counts, whichever is earlier. So facts that are superseded by now are found where they
    /// held.
    Query(query::Query),
    /// Every version of a fact, the oldest first, with what became of it
    History(history::History),
    /// Delete a fact
    ///
    /// It is hidden, and stays in the journal until `cruxctl journal compact facts`. A source of an active consolidation
    /// cannot be deleted, nor a fact that stands for others: the daemon would ignore it.
    Delete(change::Delete),
    /// Let another fact take a fact's place, or none any more
    Supersede(change::Supersede),
    /// Say when a fact holds
    Validity(change::Validity),
}

/// Runs a verb.
pub fn run(context: &mut Context, args: FactArgs) -> Result<()> {
    match args.verb {
        Verb::Store(args) => store::run(context, args),
        Verb::Show(args) => show::run(context, &args),
        Verb::List(args) => list::run(context, &args),
        Verb::Query(args) => query::run(context, &args),
        Verb::History(args) => history::run(context, &args),
        Verb::Delete(args) => change::delete(context, &args),
        Verb::Supersede(args) => change::supersede(context, &args),
        Verb::Validity(args) => change::validity(context, &args),
    }
}
