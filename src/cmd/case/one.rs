//! `cruxctl case show` and `delete`: one case, by its id.

use clap::Args;

use super::reuse::Counts;
use crate::cmd::Context;
use crate::cmd::complete::Offers;
use crate::error::{Code, Error, Result};
use crate::journal::Span;
use crate::journal::table::Table;
use crate::render::{Group, Value, quoted};
use crate::store::case::{self, Case, JOURNAL};

/// Which case.
#[derive(Args, Debug)]
pub struct One {
    /// The case's id
    #[arg(add = Offers::Cases)]
    pub id: String,
}

/// Arguments of `case delete`.
#[derive(Args, Debug)]
pub struct Delete {
    /// Which case.
    #[command(flatten)]
    pub one: One,
    /// Say what would be done and do nothing
    #[arg(long)]
    pub dry_run: bool,
}

/// What is said of each change.
pub const CHANGED: &[Group] = &[Group {
    name: "changed",
    one: "changed",
    columns: &["action", "id", "task", "offset", "dry_run"],
    shown: &["action", "id", "task"],
    blocks: false,
}];

/// The record of a case, and its place.
pub(super) fn find(table: &mut Table, id: &str) -> Result<(Vec<u8>, Span)> {
    table.get(id)?.ok_or_else(|| {
        let shown: String = id.chars().take(200).collect();
        Error::new(Code::NoCase, format!("there is no case {shown:?}")).hint("cruxctl case list")
    })
}

/// Runs `show`.
pub fn show(context: &mut Context, args: &One) -> Result<()> {
    let mut table = context.table(&JOURNAL, true)?;
    let (line, span) = find(&mut table, &args.id)?;
    let case = Case::read(&line).ok_or_else(|| table.distrust())?;
    let line_number = table.opened.line_of(span.offset)?;
    let times_reused = Counts::open(context).of(&case)?;
    let fields = [
        ("id", Value::text(&*case.id)),
        ("task", Value::text(&*case.task)),
        ("context", Value::maybe(case.context.as_deref())),
        ("action", Value::text(&*case.action)),
        ("outcome", Value::text(&*case.outcome)),
        ("success", Value::Flag(case.success)),
        ("reward", Value::single(case.reward)),
        ("tags", Value::Texts(case.tag_texts())),
        ("source_receipt", Value::maybe(case.source_receipt.as_deref())),
        ("created_at", Value::Time(case.created_at)),
        ("times_reused", Value::Count(times_reused)),
        ("journal", Value::text(table.opened.path.display().to_string())),
        ("line", Value::Count(line_number)),
        ("offset", Value::Count(span.offset)),
        ("length", Value::Count(span.len)),
    ];
    context.printer.begin("cruxctl.case.show.v1", &[])?;
    context.printer.fields(Some(&args.id), &fields)?;
    context.printer.end()
}

/// Runs `delete`.
pub fn delete(context: &mut Context, args: &Delete) -> Result<()> {
    let id = &args.one.id;
    let (lock, mut table) = context.for_change(&JOURNAL, args.dry_run)?;
    let (line, _) = match find(&mut table, id) {
        Ok(found) => found,
        Err(error) => {
            context.doubt_no(&table);
            return Err(error);
        }
    };
    let task = Case::read(&line).ok_or_else(|| table.distrust())?.task.into_owned();
    let mut offset = None;
    if let Some(lock) = lock {
        let deletion = case::delete_line(id, context.env.now());
        let done = super::append(context, &lock, table, &[deletion])?;
        offset = done.spans.first().map(|span| span.offset);
    }
    let cells = [
        Value::text("delete"),
        Value::text(&**id),
        Value::text(task),
        offset.map_or(Value::Absent, Value::Count),
        Value::Flag(args.dry_run),
    ];
    let printer = &mut context.printer;
    let told = printer
        .begin("cruxctl.case.delete.v1", CHANGED)
        .and_then(|()| printer.row(0, &[id], &cells))
        .and_then(|()| printer.end());
    told.map_err(|error: Error| error.after(offset.is_some(), &format!("the case {} is deleted", quoted(id))))
}
