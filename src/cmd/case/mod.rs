//! `cruxctl case`: what was done, how it turned out, and what worked before. One file a verb (`show` and `delete` share
//! one); `find` is what `retrieve` asks, `bank` and `keep` are the case index that it looks into.

mod bank;
mod find;
pub mod import;
mod keep;
pub mod list;
pub mod one;
pub mod record;
pub mod retrieve;
pub mod reuse;

use clap::{Args, Subcommand};

use super::{Context, moment};
use crate::error::Result;
use crate::journal::append::Appended;
use crate::journal::lock::Lock;
use crate::journal::table::Table;
use crate::retrieve::search::Conditions;
use crate::store::case::Case;

/// Arguments of `cruxctl case`.
#[derive(Args, Debug)]
pub struct CaseArgs {
    /// The verb.
    #[command(subcommand)]
    pub verb: Verb,
}

/// The verbs of `cruxctl case`.
#[derive(Debug, Subcommand)]
pub enum Verb {
    /// Record what was done and how it turned out; print the new id
    ///
    /// The case is given by flags, or as one JSON object on standard input with the members task, action, outcome, and
    /// perhaps context, success (true), reward (1.0), tags and source_receipt. The command succeeds only when the
    /// record is on disk and was read back. A reward outside 0 to 1 is moved to the nearer end, with a warning; infinity
    /// and NaN are refused.
    Record(record::Record),
    /// Record many cases at once, one JSON object a line
    ///
    /// Each line is a document as `case record` takes it. A line that is no case is named by its number, and keeps none
    /// of the others out; then the exit status is 2. Cases that were exported keep their case_id and created_at; an id
    /// that is there already is refused. The command succeeds only when all are on disk. Where it ends halfway, it prints
    /// the ids that are there, says from which line to go on, and ends with 8.
    Import(import::Import),
    /// Find the cases that are most like a task
    ///
    /// Cases are compared by their words, those of the task and of the tags, in the daemon's way: the score is the
    /// number of words in common by the number of all words, the better rewarded comes first among equals, then the
    /// newer, then the smaller id. Filters come before ranking. Where nothing has a word in common, nothing is printed,
    /// and the exit status is 1.
    ///
    /// With --rank weighted a word weighs the more, the fewer cases have it: this is for tasks that share boilerplate.
    /// English words are compared by their stems, Chinese, Japanese and Korean by pairs of characters, all after Unicode
    /// normalisation; a word that no case has counts for nothing. The score is the weight of what is in common by the
    /// weight of all.
    ///
    /// A journal above 1 MiB gets an index for the daemon's ranking, in DIR/cruxctl/index. The weighted ranking reads
    /// every case.
    Retrieve(retrieve::Retrieve),
    /// Show one case in full
    Show(one::One),
    /// List cases, the one recorded last first
    ///
    /// A reward that another program has written beyond a 32-bit float is infinite to the daemon, and is shown as
    /// infinity.
    List(list::List),
    /// Say that cases were used again; each time counts one
    ///
    /// Every id must be of a case, or nothing is counted; one that is given twice counts twice. The count is cruxctl's
    /// own: it is kept in DIR/cruxctl/reuse.jsonl, and the daemon's journal of cases stays as it is. `case show` and
    /// `case list` show it together with the daemon's own count. It has no part in how `case retrieve` ranks. Where the
    /// counts are damaged, the use is counted on top of what can be read, and the exit status is 3.
    Reuse(reuse::Reuse),
    /// Delete a case; this cannot be taken back
    ///
    /// How often it was used again stays counted: a case that is imported again keeps it.
    Delete(one::Delete),
}

/// Which cases are looked at.
#[derive(Args, Debug)]
pub struct Filter {
    /// Only cases with this tag; given more than once, with all of them
    #[arg(long = "tag", value_name = "TAG")]
    pub tags: Vec<String>,
    /// One of the tags is enough
    #[arg(long, requires = "tags")]
    pub any_tag: bool,
    /// Only cases recorded since this RFC 3339 time, or within this time span (2h)
    #[arg(long, value_name = "TIME")]
    pub since: Option<String>,
    /// Only cases that turned out well
    #[arg(long)]
    pub only_success: bool,
}

/// A filter whose time is known.
pub(super) struct Wanted<'f> {
    filter: &'f Filter,
    since: Option<chrono::DateTime<chrono::Utc>>,
}

impl Filter {
    pub(super) fn at(&self, context: &Context) -> Result<Wanted<'_>> {
        let since = self.since.as_deref().map(|text| moment(text, context.env.now())).transpose()?;
        Ok(Wanted { filter: self, since })
    }
}

impl Wanted<'_> {
    /// The same as conditions for the case index.
    pub(super) fn conditions(&self, min_score: f64) -> Conditions<'_> {
        let Filter { tags, any_tag, only_success, .. } = self.filter;
        Conditions { tags, any_tag: *any_tag, only_success: *only_success, since: self.since, min_score }
    }

    pub(super) fn has(&self, case: &Case<'_>) -> bool {
        let tagged = |tag: &String| case.tags.iter().any(|own| own == tag);
        let tags = match self.filter.any_tag {
            true => self.filter.tags.iter().any(tagged),
            false => self.filter.tags.iter().all(tagged),
        };
        tags && self.since.is_none_or(|since| case.created_at >= since) && (case.success || !self.filter.only_success)
    }
}

/// Appends records to the cases, and brings the case index up to date.
fn append(context: &mut Context, lock: &Lock, table: Table, lines: &[Vec<u8>]) -> Result<Appended> {
    let kept = keep::before_append(&context.dir, &table, lock);
    let appended = context.append(lock, table, lines)?;
    if let (Some(kept), Some(now)) = (kept, &appended.now) {
        keep::after_append(&context.dir, kept, now, lock);
    }
    Ok(appended)
}

/// Runs a verb.
pub fn run(context: &mut Context, args: CaseArgs) -> Result<()> {
    if context.typed_agent.is_some() {
        context.printer.note("cases belong to no agent: --agent changes nothing here");
    }
    match args.verb {
        Verb::Record(args) => record::run(context, args),
        Verb::Import(args) => import::run(context, &args),
        Verb::Retrieve(args) => retrieve::run(context, &args),
        Verb::Show(args) => one::show(context, &args),
        Verb::List(args) => list::run(context, &args),
        Verb::Reuse(args) => reuse::run(context, &args),
        Verb::Delete(args) => one::delete(context, &args),
    }
}
