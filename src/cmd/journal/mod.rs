//! `cruxctl journal`: the operator's verbs on the journals themselves. One file a verb.
//!
//! They see whole journals, whatever agent a record belongs to.

pub mod check;
pub mod compact;
pub mod export;
pub mod log;
pub mod map;
mod pictures;
pub mod repair;
pub mod report;
pub mod show;
pub mod stat;

use clap::{Args, Subcommand, ValueEnum};

use super::Context;
use crate::error::Result;
use crate::journal::Journal;
use crate::journal::witness;
use crate::store::{JOURNALS, case, durable, fact, handoff, reuse, session, trust};

/// Arguments of `cruxctl journal`.
#[derive(Args, Debug)]
pub struct JournalArgs {
    /// The verb.
    #[command(subcommand)]
    pub verb: Verb,
}

/// The verbs of `cruxctl journal`.
#[derive(Debug, Subcommand)]
pub enum Verb {
    /// Read everything, change no journal, name every finding
    ///
    /// Each finding has its journal, line, byte offset, length, class, severity and first bytes, and says what the
    /// daemon will do with it. Then comes a summary of each journal, a verdict, and the next command. The exit status
    /// is 3 where there is damage.
    ///
    /// A check keeps a witness beside each journal: of every line its length, a 64-bit hash of its bytes, and its ids.
    /// The next check compares. It names the lines whose bytes have changed and the ids of records that are gone, which
    /// the journal alone cannot show; lines that are as they were need not be read again, unless --full is given. A
    /// check begins the witness, and every command that writes takes it along. What it finds stays damage until the
    /// journal is restored, or until --accept takes it as it is.
    ///
    /// What a witness proves: that a line which was validated is still there, byte for byte, up to an accident of one in
    /// 2^64. What it cannot: anything about bytes that came after the last command that validated, or about a last line
    /// without its line end; that nobody has changed the journal and the witness both. A copy in the journal's place is
    /// held against it like the file itself. Of any other file in its place, such as the daemon's own compaction leaves,
    /// it only tells which ids are gone, in a note; a file that has none of them is damage.
    ///
    /// The journals reuse, handoffs and trust are cruxctl's own. Without a name they are checked where they are, and what only
    /// the daemon would stumble over is no finding in them: the daemon never reads them.
    Check(check::Check),
    /// Set aside what is damaged; show the plan unless --apply is given
    ///
    /// No byte is destroyed: what is taken out goes to the quarantine folder with a manifest that says where each
    /// stretch lay. Stop the daemon first.
    Repair(repair::Repair),
    /// Print lines as they are in the file
    Show(show::Show),
    /// Print what happened, in order, and go on with what happens
    ///
    /// One line an event: when, in which journal, what was done to which id, how many bytes, and where it lies. The events
    /// of one journal come in the order of its file, whatever the clocks said; those of several are merged by their times.
    /// What has no time, such as the daemon's deletes, comes behind what stands in front of it in its file. Ids are shown
    /// as they are stored.
    ///
    /// With --follow it goes on until its reader goes away: every event once, also where a compaction or repair puts
    /// another file in the journal's place, or the file is moved away. A last line that has no line end yet is shown when
    /// it has one. Events that a compaction drops before they were shown are gone.
    Log(log::Log),
    /// Drop records that are no longer live; live records are kept byte for byte
    ///
    /// Of facts each that is not deleted is kept once, with the members that later events have changed as they are now;
    /// so are supersessions and the sources of consolidations. Of a deleted fact only that it was deleted is kept: its
    /// value is erased. As long as a legal hold is in force (a live fact whose entity begins with `__legal_hold__::`), a
    /// compaction that would erase a deleted fact is refused.
    ///
    /// Stop the daemon first, but for reuse, handoffs and trust, which it never reads. The history of a session or case
    /// ends here; no count is lost. While a handoff is half accepted, sessions and facts are not compacted.
    Compact(compact::Compact),
    /// Print the live records, one JSON document a line
    Export(export::Export),
    /// Count what is in a journal: bytes by kind, findings, growth, the ids that take the most
    ///
    /// The figures are those of journal check, counted in the same pass, and what a compaction would save is what
    /// journal compact --dry-run says. Where it would be refused, a word says why: damage, witness (the journal is not
    /// what was validated), handoff (one is half accepted), hold (a legal hold may cover what would be erased), or unread
    /// (the daemon cannot read the newest version of an id).
    ///
    /// Growth is told in stretches of one width, at most 24 that have records; the width is the smallest that does. A
    /// record without a time counts with the one before it. Of sessions and cases an id's bytes are those of all of its
    /// records; of facts they are those of the fact, where it is live.
    ///
    /// Nothing is kept and nothing is written. The exit status is 3 where there is damage.
    Stat(stat::Stat),
    /// Draw a journal as a bar: which parts of the file are live, dead and damaged
    ///
    /// Each cell of the bar is as long as every other. A cell with any damage shows it, however little it is. Below the
    /// bar are the damaged stretches, each with the command that prints it. The exit status is 3 where there is damage.
    Map(map::Map),
    /// Write a page of figures and pictures that a browser opens
    ///
    /// The page stands alone: it has no script and loads nothing. Its figures are those of journal stat. It is written as
    /// a whole or not at all, for its owner's eyes only, in the place of a file of that name. The exit status is 3 where
    /// there is damage; the page is written all the same.
    Report(report::Report),
}

/// A journal, by its name.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Name {
    /// What agents are doing
    #[value(alias = "sessions.jsonl")]
    Sessions,
    /// How it turned out
    #[value(alias = "cases.jsonl")]
    Cases,
    /// What agents know
    #[value(alias = "facts.jsonl")]
    Facts,
    /// How often cases were used again
    #[value(alias = "reuse.jsonl")]
    Reuse,
    /// Which handoffs were accepted
    #[value(alias = "handoffs.jsonl")]
    Handoffs,
    /// Whose signatures are trusted
    #[value(alias = "trust.jsonl")]
    Trust,
    /// Conversations under a key
    #[value(alias = "durable.jsonl")]
    Durable,
}

impl Name {
    /// The journal of this name.
    #[must_use]
    pub fn journal(self) -> &'static Journal {
        match self {
            Name::Sessions => &session::JOURNAL,
            Name::Cases => &case::JOURNAL,
            Name::Facts => &fact::JOURNAL,
            Name::Reuse => &reuse::JOURNAL,
            Name::Handoffs => &handoff::JOURNAL,
            Name::Trust => &trust::JOURNAL,
            Name::Durable => &durable::JOURNAL,
        }
    }
}

/// Runs a verb.
pub fn run(context: &mut Context, args: JournalArgs) -> Result<()> {
    match args.verb {
        Verb::Check(args) => check::run(context, &args),
        Verb::Repair(args) => repair::run(context, &args),
        Verb::Show(args) => show::run(context, &args),
        Verb::Compact(args) => compact::run(context, &args),
        Verb::Export(args) => export::run(context, &args),
        Verb::Log(args) => log::run(context, &args),
        Verb::Stat(args) => stat::run(context, &args),
        Verb::Map(args) => map::run(context, &args),
        Verb::Report(args) => report::run(context, &args),
    }
}

/// The journals that were named. Where none was, all of the daemon's, and of our own those that there are, or that were
/// there when they were validated.
pub(super) fn chosen(context: &mut Context, names: &[Name]) -> Vec<&'static Journal> {
    let dir = &context.dir;
    let hidden = JOURNALS.iter().filter(|journal| journal.is_ours() && dir.has(journal).is_err());
    let hidden: Vec<&str> = hidden.map(|journal| journal.file).collect();
    if names.is_empty() && !hidden.is_empty() {
        let text = format!("{} cannot be looked at, and are left out", hidden.join(", "));
        context.printer.note(&text);
    }
    let dir = &context.dir;
    let named = |journal: &Journal| names.iter().any(|name| std::ptr::eq(name.journal(), journal));
    let by_itself = |journal: &Journal| {
        !journal.is_ours() || dir.has(journal).unwrap_or(false) || witness::path(dir, journal).exists()
    };
    let wanted = |journal: &&Journal| if names.is_empty() { by_itself(journal) } else { named(journal) };
    JOURNALS.into_iter().filter(wanted).collect()
}

fn tell_carried_over(context: &mut Context, journal: &Journal, bytes: u64) {
    if bytes > 0 {
        let text =
            format!("another program appended {bytes} bytes to {} meanwhile: they were carried over", journal.file);
        context.printer.note(&text);
    }
}
