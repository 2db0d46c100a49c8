//! `cruxctl journal stat`: what is in a journal, in figures.

use clap::Args;

use super::check::word;
use super::{Name, pictures};
use crate::cmd::Context;
use crate::error::Result;
use crate::journal::survey::biggest::Big;
use crate::journal::survey::growth::{Growth, Stretch};
use crate::journal::survey::{Of, Survey};
use crate::render::{Format, Group, Printer, Value};

/// Arguments of `journal stat`.
#[derive(Args, Debug)]
pub struct Stat {
    /// Which journals [default: all, and those of our own that there are]
    #[arg(value_name = "JOURNAL", value_enum)]
    pub journals: Vec<Name>,
}

const JOURNALS: Group = Group {
    name: "journals",
    one: "journal",
    columns: &[
        "journal",
        "exists",
        "bytes",
        "lines",
        "records",
        "live",
        "live_bytes",
        "dead_bytes",
        "dead_share",
        "damaged_bytes",
        "foreign_bytes",
        "other_bytes",
        "damage",
        "daemon",
        "foreign",
        "first_at",
        "last_at",
        "compacted_bytes",
        "saved_bytes",
        "refused",
        "verdict",
    ],
    shown: &[
        "journal",
        "bytes",
        "records",
        "live",
        "dead_share",
        "damaged_bytes",
        "damage",
        "daemon",
        "foreign",
        "saved_bytes",
        "refused",
        "verdict",
    ],
    blocks: false,
};

const FINDINGS: Group = Group {
    name: "findings",
    one: "class",
    columns: &["journal", "class", "severity", "places", "bytes"],
    shown: &[],
    blocks: false,
};

const GROWTH: Group = Group {
    name: "growth",
    one: "stretch",
    columns: &["journal", "at", "seconds", "records", "bytes"],
    shown: &["journal", "at", "records", "bytes"],
    blocks: false,
};

/// On a terminal a bar stands beside the numbers.
const PLOTTED: Group = Group {
    columns: &["journal", "at", "seconds", "records", "bytes", "bar"],
    shown: &["journal", "at", "records", "bytes", "bar"],
    ..GROWTH
};

const BIGGEST: Group = Group {
    name: "biggest",
    one: "id",
    columns: &["journal", "id", "bytes", "records", "live", "live_bytes"],
    shown: &["journal", "id", "bytes", "records", "live"],
    blocks: false,
};

/// What is counted.
pub const COUNTED: &[Group] = &[JOURNALS, FINDINGS, GROWTH, BIGGEST];

const FOR_THE_EYE: &[Group] = &[JOURNALS, FINDINGS, PLOTTED, BIGGEST];

/// How many stretches of time a table has, so that a journal fits on a screen.
const SHOWN: usize = 12;

/// Runs the verb.
pub fn run(context: &mut Context, args: &Stat) -> Result<()> {
    let surveys = pictures::take(context, &args.journals, 0)?;
    let printer = &mut context.printer;
    let plotted = printer.format() == Format::Table;
    printer.begin("cruxctl.journal.stat.v1", if plotted { FOR_THE_EYE } else { COUNTED })?;
    for survey in &surveys.all {
        printer.row(0, &[], &journal(survey))?;
    }
    for (unread, _) in &surveys.failed {
        let mut cells = vec![Value::Absent; JOURNALS.columns.len()];
        cells[0] = Value::text(unread.name);
        let verdict = cells.len() - 1;
        cells[verdict] = Value::text("unreadable");
        printer.row(0, &[], &cells)?;
    }
    for survey in &surveys.all {
        findings(survey).iter().try_for_each(|cells| printer.row(1, &[], cells))?;
    }
    for survey in &surveys.all {
        let stretches = if plotted { &survey.growth.within(SHOWN) } else { &survey.growth };
        let bars = if plotted { bars(printer, stretches) } else { Vec::new() };
        for (at, mut cells) in growth(survey, stretches).into_iter().enumerate() {
            cells.extend(bars.get(at).cloned());
            printer.row(2, &[], &cells)?;
        }
    }
    for survey in &surveys.all {
        for (big, cells) in survey.biggest.iter().zip(biggest(survey)) {
            printer.row(3, &[&big.id], &cells)?;
        }
    }
    surveys.end(context, None, &[])
}

fn bars(printer: &Printer, growth: &Growth) -> Vec<Value<'static>> {
    let stretches = growth.stretches();
    let most = stretches.iter().map(|stretch| stretch.sum.bytes).max().unwrap_or(0);
    stretches.iter().map(|stretch| Value::text(printer.bar(stretch.sum.bytes, most))).collect()
}

/// The figures of a journal.
pub(super) fn journal(survey: &Survey) -> Vec<Value<'static>> {
    let summary = &survey.summary;
    vec![
        Value::text(summary.journal),
        Value::Flag(summary.exists),
        Value::Count(summary.seen.totals.bytes),
        Value::Count(summary.seen.totals.lines),
        Value::Count(summary.seen.records),
        Value::Count(summary.live),
        Value::Count(summary.live_bytes),
        Value::Count(summary.dead_bytes),
        survey.dead_share().map_or(Value::Absent, Value::double),
        Value::Count(summary.damaged_bytes),
        Value::Count(survey.foreign_bytes),
        Value::Count(survey.other_bytes()),
        Value::Count(summary.seen.damage),
        Value::Count(summary.seen.daemon),
        Value::Count(summary.seen.foreign),
        Value::time(survey.growth.first()),
        Value::time(survey.growth.last()),
        survey.compacted.map_or(Value::Absent, Value::Count),
        survey.saved().map_or(Value::Absent, |saved| Value::Number(saved.to_string())),
        Value::maybe(survey.compacted.err().map(|why| why.word())),
        Value::text(word(summary)),
    ]
}

/// What was found, by class.
pub(super) fn findings(survey: &Survey) -> Vec<Vec<Value<'static>>> {
    let row = |of: &Of| {
        vec![
            Value::text(survey.summary.journal),
            Value::text(of.class.name()),
            Value::text(of.class.severity().name()),
            Value::Count(of.places),
            Value::Count(of.bytes),
        ]
    };
    survey.classes.iter().map(row).collect()
}

/// Records over time.
pub(super) fn growth(survey: &Survey, growth: &Growth) -> Vec<Vec<Value<'static>>> {
    let stretches = growth.stretches();
    let row = |stretch: &Stretch| {
        vec![
            Value::text(survey.summary.journal),
            Value::time(stretch.from),
            Value::Count(growth.width()),
            Value::Count(stretch.sum.records),
            Value::Count(stretch.sum.bytes),
        ]
    };
    stretches.iter().map(row).collect()
}

/// The ids that take the most.
pub(super) fn biggest(survey: &Survey) -> Vec<Vec<Value<'_>>> {
    let mut rows = Vec::new();
    for Big { id, bytes, records, live, live_bytes } in &survey.biggest {
        rows.push(vec![
            Value::text(survey.summary.journal),
            Value::text(id),
            Value::Count(*bytes),
            Value::Count(*records),
            Value::Flag(*live),
            Value::Count(*live_bytes),
        ]);
    }
    rows
}
