//! What `stat`, `map` and `report` share: the surveys of the chosen journals, and how the answer ends.

use super::check::{count_damage, daemon_verdict, first_error, next_commands, tell_progress, verdict_without};
use super::compact::is_guarded;
use super::{Name, chosen};
use crate::cmd::Context;
use crate::cmd::handoff::ledger;
use crate::error::{Error, Result};
use crate::journal::Journal;
use crate::journal::check::Summary;
use crate::journal::survey::cells::Cell;
use crate::journal::survey::{self, Survey};
use crate::render::{Format, Part, Value};

/// The surveys of journals.
pub(super) struct Surveys {
    /// Those that could be read.
    pub(super) all: Vec<Survey>,
    /// Those that could not.
    pub(super) failed: Vec<(&'static Journal, Error)>,
}

/// Surveys the journals that were named, or all.
pub(super) fn take(context: &mut Context, names: &[Name], cells: u64) -> Result<Surveys> {
    let journals = chosen(context, names);
    context.note_missing_dir();
    // What keeps sessions and facts from being compacted, as compact itself asks it.
    let open = journals.iter().any(|journal| is_guarded(journal)) && ledger::none_open(context, None).is_err();
    let now = context.env.now_text();
    let mut surveys = Surveys { all: Vec::new(), failed: Vec::new() };
    for journal in journals {
        let mut progress = context.printer.progress(journal.file);
        let survey =
            survey::survey(&context.dir, journal, (cells, &now), open && is_guarded(journal), &mut |done, all| {
                progress.at(done, all);
            });
        match survey {
            Ok(survey) => surveys.all.push(survey),
            // One journal that cannot be read says nothing about the others.
            Err(error) => surveys.failed.push((journal, error)),
        }
    }
    Ok(surveys)
}

impl Surveys {
    fn summaries(&self) -> Vec<&Summary> {
        self.all.iter().map(|survey| &survey.summary).collect()
    }

    /// What it all comes to, as a check says it.
    pub(super) fn verdict(&self) -> String {
        let unread: Vec<&str> = self.failed.iter().map(|(journal, _)| journal.file).collect();
        verdict_without(&self.summaries(), &unread)
    }

    /// What the daemon does.
    pub(super) fn for_the_daemon(&self) -> String {
        daemon_verdict(&self.summaries())
    }

    /// What to type next.
    pub(super) fn next(&self, context: &Context) -> Vec<String> {
        let next = next_commands(&self.summaries(), false);
        next.iter().map(|command| context.printer.carried.command(command)).collect()
    }

    /// Ends the answer: its own fields, the verdict, and what to type next. Damage decides the exit status.
    pub(super) fn end(
        self,
        context: &mut Context,
        id: Option<&str>,
        own: &[(&'static str, Value<'_>)],
    ) -> Result<()> {
        let (verdict, daemon, next) = (self.verdict(), self.for_the_daemon(), self.next(context));
        let told = [
            ("verdict", Value::text(&*verdict)),
            ("for_the_daemon", Value::text(&*daemon)),
            ("next", Value::Commands(next.clone())),
        ];
        context.printer.fields(id, &[own, &told].concat())?;
        context.printer.end()?;
        if context.printer.format() == Format::Id {
            context.printer.note(&[vec![verdict.clone()], next].concat().join("; "));
        }
        self.conclude(context)
    }

    /// Ends the command without an answer of its own.
    pub(super) fn conclude(self, context: &mut Context) -> Result<()> {
        let (verdict, daemon) = (self.verdict(), self.for_the_daemon());
        self.all.iter().for_each(|survey| tell_progress(context, &survey.summary));
        count_damage(context, &self.summaries(), false, (verdict, daemon));
        first_error(context, self.failed.into_iter().map(|(_, error)| error))
    }
}

/// The cells of a bar, as they are drawn.
pub(super) fn parts(cells: &[Cell]) -> Vec<Part> {
    let part = |cell: &Cell| Part {
        start: cell.span.offset,
        end: cell.span.end(),
        live: cell.live,
        dead: cell.dead,
        damaged: cell.damaged,
        foreign: cell.foreign,
        other: cell.other,
        places: cell.places,
    };
    cells.iter().map(part).collect()
}
