//! `cruxctl journal report`: figures and pictures as a page.

use std::path::{Path, PathBuf};

use clap::Args;

use super::map::look;
use super::pictures::{self, Surveys};
use super::{Name, stat};
use crate::cmd::Context;
use crate::env;
use crate::error::{Code, Error, Result};
use crate::journal::files;
use crate::journal::finding::{Finding, Severity};
use crate::journal::survey::Survey;
use crate::render::Value;
use crate::render::page::{Mood, Page, Place, Row, Section};
use crate::store::{self, JOURNALS};

/// Arguments of `journal report`.
#[derive(Args, Debug)]
pub struct Report {
    /// Which journals [default: all, and those of our own that there are]
    #[arg(value_name = "JOURNAL", value_enum)]
    pub journals: Vec<Name>,
    /// The page's file; - is standard output
    #[arg(long, value_name = "FILE", required = true, value_hint = clap::ValueHint::FilePath)]
    pub html: PathBuf,
}

/// In how many columns a page draws a file.
const COLUMNS: u64 = 120;

/// Runs the verb.
pub fn run(context: &mut Context, args: &Report) -> Result<()> {
    let to_stdout = args.html.as_os_str() == "-";
    if !to_stdout {
        none_of_ours(context, &args.html)?;
    }
    let surveys = pictures::take(context, &args.journals, COLUMNS)?;
    let html = page(context, &surveys).html();
    if to_stdout {
        context.printer.raw(html.as_bytes())?;
        context.printer.flush()?;
        return surveys.conclude(context);
    }
    files::put(&args.html, html.as_bytes(), &env::random_tag()?)?;
    let path = args.html.to_string_lossy();
    let own = [("path", Value::text(&*path)), ("bytes", Value::Count(html.len() as u64))];
    let told = context.printer.begin("cruxctl.journal.report.v1", &[]);
    let told = told.and_then(|()| surveys.end(context, Some(&path), &own));
    told.map_err(|error| {
        let unsaid = error.code == Code::EnvironmentStdout;
        error.after(unsaid, &format!("the page is in {path}"))
    })
}

/// Refuses to put a page in the place of a journal or of what is kept beside it.
fn none_of_ours(context: &Context, path: &Path) -> Result<()> {
    let dir = &context.dir;
    let journals: Vec<PathBuf> = JOURNALS.iter().map(|journal| dir.journal(journal)).collect();
    let named = |journal: &PathBuf| files::real_path(journal).is_ok_and(|real| real == path) || journal == path;
    let folder = files::real_path(path.parent().filter(|p| !p.as_os_str().is_empty()).unwrap_or(Path::new(".")))?;
    let inside = files::real_path(&dir.own()).is_ok_and(|own| folder.starts_with(own));
    let becomes = |journal: &PathBuf| path.file_name().is_some_and(|name| folder.join(name) == *journal);
    if inside || files::is_one_of(path, &journals) || journals.iter().any(|j| named(j) || becomes(j)) {
        let message = format!(
            "{} is a journal, or lies among what is kept beside journals: a page is written elsewhere",
            path.display()
        );
        return Err(Error::new(Code::UsageArguments, message).hint("cruxctl journal report --html report.html"));
    }
    Ok(())
}

fn page<'s>(context: &Context, surveys: &'s Surveys) -> Page<'s> {
    let sections: Vec<Section<'_>> = surveys.all.iter().map(|survey| section(context, survey)).collect();
    let unread = (!surveys.failed.is_empty()).then_some(Mood::Bad);
    let mood = sections.iter().map(|section| section.mood).chain(unread).max().unwrap_or_default();
    Page {
        dir: context.dir.root.display().to_string(),
        made_at: context.env.now_text(),
        made_by: concat!("cruxctl ", env!("CARGO_PKG_VERSION")),
        verdict: surveys.verdict(),
        daemon: surveys.for_the_daemon(),
        mood,
        next: surveys.next(context),
        unread: surveys
            .failed
            .iter()
            .map(|(journal, error)| (journal.file.to_owned(), error.message.clone()))
            .collect(),
        sections,
    }
}

fn section<'s>(context: &Context, survey: &'s Survey) -> Section<'s> {
    let [journals, classes, stretches, ids] = stat::COUNTED else { return Section::default() };
    let named = |group: &crate::render::Group, cells: Vec<Value<'s>>| -> Row<'s> {
        group.columns.iter().copied().zip(cells).collect()
    };
    let summary = &survey.summary;
    Section {
        name: summary.journal,
        path: summary.path.display().to_string(),
        mood: match summary.severity() {
            Some(Severity::Damage) => Mood::Bad,
            Some(Severity::Daemon | Severity::Foreign) => Mood::Odd,
            None if summary.exists => Mood::Good,
            None => Mood::Empty,
        },
        figures: named(journals, stat::journal(survey)),
        parts: pictures::parts(&survey.cells),
        growth: stat::growth(survey, &survey.growth).into_iter().map(|cells| named(stretches, cells)).collect(),
        width: survey.growth.width(),
        biggest: stat::biggest(survey).into_iter().map(|cells| named(ids, cells)).collect(),
        classes: stat::findings(survey).into_iter().map(|cells| named(classes, cells)).collect(),
        places: survey.named.iter().map(|finding| place(context, survey, finding)).collect(),
        found: survey.classes.iter().map(|of| of.places).sum(),
    }
}

fn place(context: &Context, survey: &Survey, finding: &Finding) -> Place {
    let journal = store::journal(survey.summary.journal);
    Place {
        line: finding.line,
        offset: finding.span.offset,
        length: finding.span.len,
        class: finding.class.name(),
        severity: finding.class.severity().name(),
        daemon: finding.reaction.sentence(),
        what: finding.why.clone(),
        ids: finding.ids.clone(),
        begins: journal.map_or(&[][..], |journal| journal.head_of(finding)).to_vec(),
        look: look(context, survey, finding),
    }
}
