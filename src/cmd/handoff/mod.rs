//! `cruxctl handoff`: what one agent hands over to another, minted and verified. One file a verb; `source` is where an
//! envelope comes from, `keys` what it is held against, `take` both together; `bundle` is what goes along, `load` what is
//! made of it on the other side.

pub mod accept;
mod bundle;
pub mod create;
pub mod inspect;
pub mod keygen;
pub(super) mod keys;
pub mod ledger;
mod load;
mod observe;
mod source;
pub mod take;
pub mod trust;
pub mod verify;

use clap::{Args, Subcommand};

use super::Context;
use crate::error::Result;

/// Arguments of `cruxctl handoff`.
#[derive(Args, Debug)]
pub struct HandoffArgs {
    /// The verb.
    #[command(subcommand)]
    pub verb: Verb,
}

/// The verbs of `cruxctl handoff`.
#[derive(Debug, Subcommand)]
pub enum Verb {
    /// Mint an envelope of a session; print it on one line
    ///
    /// The package holds the session's state byte for byte, as the journal has it. The daemon accepts an envelope that
    /// was minted with its own secret; --sign-key mints one that only cruxctl verifies. A state that has a member twice
    /// is refused: readers differ in what it means.
    ///
    /// The secret comes from --key-file, where one line end behind it does not belong to it, or else from the variable
    /// CRUX_MCP_HANDOFF_SECRET, as it is. No flag takes a secret itself: others can read command lines.
    ///
    /// With --include-facts the facts go along that are not deleted, not private and visible to the agent, and that the
    /// state names by their ids (`f_…`), or that are about the session or `__decisions__::SESSION`. Never in a package:
    /// private facts, receipts, artefacts, and the graph of entities.
    ///
    /// In a pipe, set -o pipefail: whoever reads the envelope only sees that nothing came.
    Create(create::Create),
    /// Verify an envelope; print the payload that it vouches for, byte for byte
    ///
    /// Nothing is printed, and nothing of the payload is parsed, before a key vouches for its bytes. In a pipe, or with
    /// --raw, the payload's exact bytes are printed; with --format or on a terminal, what the package says.
    ///
    /// A MAC proves that somebody made the envelope who has the secret, and that nothing was changed since. It does not
    /// prove who that was: whoever can verify can also mint. An ed25519 signature does, as far as the keys of the agents
    /// are known: by --trusted, else from `handoff trust`. With --trusted only signed envelopes are taken, unless
    /// --key-file is given as well. Neither proves that an envelope was not taken before.
    ///
    /// Keys are read first; where there is none at all, the exit status is 7. Then come, each with a code of its own:
    /// the envelope's shape, its algorithm, base64, hash, MAC or signature, the payload, the agents, the expiry. An
    /// envelope that fails has the exit status 4. Clocks may differ by 60 s.
    Verify(verify::Verify),
    /// Accept an envelope: verify it, and load its session and facts; once
    ///
    /// The session is stored under the receiving agent's scope (--agent), in the place of one that is there, and does
    /// not expire. Each fact is stored anew, as the next version of what is known. Nothing is written before all of it
    /// is known to fit. What the format does not carry over is counted: the facts' tenants, actors, validity and
    /// horizons. A private fact moves to the receiver's own facts; one that was deleted is left out. A session id that
    /// `session put` would refuse is rejected, and so is a fact that only the daemon may write.
    ///
    /// The ledger DIR/cruxctl/handoffs.jsonl notes what will be loaded, then that it was: a handoff that was accepted in
    /// this data directory is refused (5) the next time, unless --again is given. Where the command was interrupted, type
    /// it again: it loads what is missing, nothing twice, and nothing that was written since is overwritten: a session that
    /// somebody else has written or deleted, and a fact of which somebody has stored a newer version, stay as they are.
    Accept(accept::Accept),
    /// List the handoffs that were accepted here
    List(ledger::List),
    /// Give up a handoff that is half accepted; what was loaded stays
    Abandon(ledger::Abandon),
    /// Look into an envelope without a key; nothing of it is proven
    Inspect(inspect::Inspect),
    /// Make a new secret, or a pair of ed25519 keys, in a file of its own
    ///
    /// The file can be read by its owner alone, and is never written over. A secret is 64 hex digits and fits the
    /// daemon: export CRUX_MCP_HANDOFF_SECRET="$(cat FILE)". With --ed25519 the private key goes to FILE, and the public
    /// one, which others need, to FILE.pub. The key itself is never printed.
    Keygen(keygen::Keygen),
    /// Which agents' signatures are trusted
    Trust(trust::TrustArgs),
}

/// Runs a verb.
pub fn run(context: &mut Context, args: HandoffArgs) -> Result<()> {
    match args.verb {
        Verb::Create(args) => create::run(context, &args),
        Verb::Verify(args) => verify::run(context, &args),
        Verb::Accept(args) => accept::run(context, &args),
        Verb::List(args) => ledger::list(context, &args),
        Verb::Abandon(args) => ledger::abandon(context, &args),
        Verb::Inspect(args) => inspect::run(context, &args),
        Verb::Keygen(args) => keygen::run(context, &args),
        Verb::Trust(args) => trust::run(context, args),
    }
}
