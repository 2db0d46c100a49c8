//! `cruxctl journal map`: which parts of a journal's file are live, dead and damaged.

use clap::Args;

use super::{Name, pictures};
use crate::cmd::Context;
use crate::error::Result;
use crate::journal::finding::{Finding, Severity};
use crate::journal::survey::Survey;
use crate::render::{Format, Group, Value};

/// Arguments of `journal map`.
#[derive(Args, Debug)]
pub struct Map {
    /// Which journals [default: all, and those of our own that there are]
    #[arg(value_name = "JOURNAL", value_enum)]
    pub journals: Vec<Name>,
    /// In how many cells each is cut
    #[arg(long, value_name = "N", default_value_t = 64, value_parser = clap::value_parser!(u64).range(1..=4096))]
    pub cells: u64,
}

const CELLS: Group = Group {
    name: "cells",
    one: "cell",
    columns: &[
        "journal",
        "cell",
        "start_offset",
        "end_offset",
        "live_bytes",
        "dead_bytes",
        "damaged_bytes",
        "foreign_bytes",
        "other_bytes",
        "places",
    ],
    shown: &[],
    blocks: false,
};

const DAMAGED: Group = Group {
    name: "damage",
    one: "damage",
    columns: &["journal", "line", "offset", "length", "class", "look"],
    shown: &[],
    blocks: false,
};

/// What is drawn.
pub const DRAWN: &[Group] = &[CELLS, DAMAGED];

/// On a terminal the cells are a picture.
const FOR_THE_EYE: &[Group] = &[DAMAGED];

/// Runs the verb.
pub fn run(context: &mut Context, args: &Map) -> Result<()> {
    let surveys = pictures::take(context, &args.journals, args.cells)?;
    let table = context.printer.format() == Format::Table;
    context.printer.begin("cruxctl.journal.map.v1", if table { FOR_THE_EYE } else { DRAWN })?;
    for survey in &surveys.all {
        if table { draw(context, survey) } else { cells(context, survey) }?;
    }
    if table && surveys.all.iter().any(|survey| !survey.cells.is_empty()) {
        context.printer.key()?;
    }
    for survey in &surveys.all {
        damage(context, survey, if table { 0 } else { 1 })?;
    }
    surveys.end(context, None, &[])
}

fn draw(context: &mut Context, survey: &Survey) -> Result<()> {
    let summary = &survey.summary;
    let what = match (summary.exists, survey.cells.first()) {
        (false, _) => "does not exist".to_owned(),
        (true, None) => "is empty".to_owned(),
        (true, Some(cell)) => format!("each of {} characters is {} B", survey.cells.len(), cell.span.len),
    };
    context.printer.strip(&format!("{}.jsonl: {what}", summary.journal), &pictures::parts(&survey.cells))
}

fn cells(context: &mut Context, survey: &Survey) -> Result<()> {
    for (number, cell) in (0..).zip(&survey.cells) {
        let cells = [
            Value::text(survey.summary.journal),
            Value::Count(number),
            Value::Count(cell.span.offset),
            Value::Count(cell.span.end()),
            Value::Count(cell.live),
            Value::Count(cell.dead),
            Value::Count(cell.damaged),
            Value::Count(cell.foreign),
            Value::Count(cell.other),
            Value::Count(cell.places),
        ];
        context.printer.row(0, &[], &cells)?;
    }
    Ok(())
}

/// The damaged stretches, each with the command that prints it.
fn damage(context: &mut Context, survey: &Survey, group: usize) -> Result<()> {
    let damaged = survey.named.iter().filter(|finding| finding.class.severity() == Severity::Damage);
    let mut told = 0;
    for finding in damaged {
        told += 1;
        let cells = [
            Value::text(survey.summary.journal),
            Value::Count(finding.line),
            Value::Count(finding.span.offset),
            Value::Count(finding.span.len),
            Value::text(finding.class.name()),
            look(context, survey, finding).map_or(Value::Absent, Value::Command),
        ];
        context.printer.row(group, &[], &cells)?;
    }
    let more = survey.summary.seen.damage - told;
    if more > 0 {
        let journal = survey.summary.journal;
        let check = context.printer.carried.command(&format!("cruxctl journal check {journal}"));
        context.printer.note(&format!("{journal}: {more} more damaged places ({check})"));
    }
    Ok(())
}

/// The command that prints the line of a finding; none where the file ends before it.
pub(super) fn look(context: &Context, survey: &Survey, finding: &Finding) -> Option<String> {
    let Survey { summary, .. } = survey;
    let there = finding.span.offset < summary.seen.totals.bytes;
    let command = format!("cruxctl journal show {} --offset {}", summary.journal, finding.span.offset);
    there.then(|| context.printer.carried.command(&command))
}
