//! `cruxctl journal export`: the live records as JSON Lines.

use clap::Args;

use super::Name;
use crate::cmd::Context;
use crate::error::Result;
use crate::render::{Format, Group, Value};
use crate::store;

/// Arguments of `journal export`.
#[derive(Args, Debug)]
pub struct Export {
    /// Which journal
    #[arg(value_name = "JOURNAL", value_enum)]
    pub journal: Name,
}

/// What an export says, but as JSON Lines.
pub const EXPORTED: &[Group] =
    &[Group { name: "records", one: "record", columns: &["id", "record"], shown: &[], blocks: false }];

/// Runs the verb.
pub fn run(context: &mut Context, args: &Export) -> Result<()> {
    let journal = args.journal.journal();
    let mut table = context.table(journal, true)?;
    let spans = table.spans()?;
    let opened = table.opened;
    // Documents, one a line, are what this verb is for: exact bytes in a pipe.
    let raw = context.printer.wants_raw();
    let lines = raw || context.printer.format() == Format::Jsonl;
    if !lines {
        context.printer.begin("cruxctl.journal.export.v1", EXPORTED)?;
    }
    for span in spans {
        if context.printer.gone() {
            return Ok(());
        }
        let bytes = opened.read(span)?;
        let (id, document) = store::document(journal, &bytes);
        if raw {
            context.printer.raw(document)?;
            context.printer.raw(b"\n")?;
        } else if lines {
            context.printer.document(document)?;
        } else {
            context.printer.row(0, &[&id], &[Value::text(&*id), Value::Json(document)])?;
        }
    }
    if lines { context.printer.flush() } else { context.printer.end() }
}
