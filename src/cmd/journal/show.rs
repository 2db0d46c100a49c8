//! `cruxctl journal show`: lines as they are in the file.

use clap::{ArgGroup, Args};

use super::Name;
use crate::cmd::Context;
use crate::cmd::complete::Offers;
use crate::error::{Code, Error, Result};
use crate::journal::audit;
use crate::journal::scan::{Item, Stretch};
use crate::journal::{Span, replay};
use crate::render::{Group, Value};
use crate::store;

/// Arguments of `journal show`.
#[derive(Args, Debug)]
#[group(skip)]
#[command(group = ArgGroup::new("place").required(true).multiple(false).args(["line", "offset", "id"]))]
pub struct Show {
    /// Which journal
    #[arg(value_name = "JOURNAL", value_enum)]
    pub journal: Name,
    /// The line with this number, from 1
    #[arg(long, value_name = "N")]
    pub line: Option<u64>,
    /// The line on which this byte lies, from 0
    #[arg(long, value_name = "BYTE")]
    pub offset: Option<u64>,
    /// Every line with a record about this id, as it is stored
    #[arg(long, value_name = "ID", add = Offers::Recorded)]
    pub id: Option<String>,
}

/// What is said of a line.
pub const SHOWN: &[Group] = &[Group {
    name: "lines",
    one: "line",
    columns: &["line", "offset", "length", "text"],
    shown: &[],
    blocks: false,
}];

/// Runs the verb.
pub fn run(context: &mut Context, args: &Show) -> Result<()> {
    let journal = args.journal.journal();
    let opened = replay::open(&context.dir, journal)?;
    let mut lines: Vec<(u64, Span)> = Vec::new();
    let mut missing = "";
    if let Some(id) = &args.id {
        let mut last = 0;
        let stretch = Stretch::whole(opened.len);
        let seen = opened.scan_items(journal, stretch, &mut |item| {
            let (line, span, found) = match item {
                Item::Record(record) => (record.line, record.span, store::names(record.event, id)),
                Item::Finding(finding, _) => (finding.line, finding.span, finding.ids.contains(id)),
                _ => return Ok(()),
            };
            if found && line != last {
                last = line;
                lines.push((line, span));
            }
            Ok(())
        })?;
        let against = audit::glance(&context.dir, journal, &opened, None);
        context.tell_damage(journal, &seen, against.as_ref(), true);
        missing = "no line has a record about that id";
    } else {
        let found = match (args.line, args.offset) {
            (Some(line), _) => opened.find_line(line)?.map(|offset| (line, offset)),
            (_, Some(offset)) if offset < opened.len => Some((opened.line_of(offset)?, offset)),
            _ => None,
        };
        match found {
            Some((line, offset)) => lines.push((line, Span { offset, len: 0 })),
            None => missing = "the journal ends before that place",
        }
    }
    if lines.is_empty() {
        let message = format!("{missing}, in {}", opened.path.display());
        return Err(Error::new(Code::NoRecord, message).hint(format!("cruxctl journal check {}", journal.name)));
    }
    let raw = context.printer.wants_raw();
    if !raw {
        context.printer.begin("cruxctl.journal.show.v1", SHOWN)?;
    }
    for (line, span) in lines {
        let whole = opened.whole_line(span.offset)?;
        if raw {
            opened.pieces(whole, &mut |piece| context.printer.raw(piece))?;
            context.printer.raw(b"\n")?;
            continue;
        }
        let bytes = opened.read(whole)?;
        let id = line.to_string();
        let cells = [Value::Count(line), Value::Count(whole.offset), Value::Count(whole.len), Value::Bytes(&bytes)];
        context.printer.row(0, &[&id], &cells)?;
    }
    if raw { context.printer.flush() } else { context.printer.end() }
}
