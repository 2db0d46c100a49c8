//! `cruxctl journal repair`: the plan, and with `--apply` the deed.

use std::path::PathBuf;

use clap::Args;

use super::{Name, chosen, tell_carried_over};
use crate::cmd::{Context, plural};
use crate::error::{Code, Error, Result};
use crate::journal::lock::Lock;
use crate::journal::quarantine::{self, Entry};
use crate::journal::repair::{self, Edit, Options, Plan};
use crate::journal::{Journal, Span, replay};
use crate::render::{Group, Printer, Value};
use crate::store::{handoff, trust};

/// Arguments of `journal repair`.
#[derive(Args, Debug)]
pub struct Repair {
    /// Which journals [default: all, and those of our own that there are]
    #[arg(value_name = "JOURNAL", value_enum)]
    pub journals: Vec<Name>,
    /// Carry the plan out
    #[arg(long)]
    pub apply: bool,
    /// Set aside what only the daemon cannot read as well
    #[arg(long)]
    pub for_daemon: bool,
    /// Refuse if more than this many bytes of one journal would be set aside, line ends included; then nothing is
    /// changed in any. For unattended use
    #[arg(long, value_name = "N")]
    pub max_loss_bytes: Option<u64>,
    /// Take what check shows as possible records on this line as records; needs exactly one JOURNAL, and may be given
    /// more than once
    #[arg(long, value_name = "LINE")]
    pub take: Vec<u64>,
    /// Show the plan and change nothing, even with --apply
    #[arg(long)]
    pub dry_run: bool,
}

/// What a plan or a repair says.
pub const PLANNED: &[Group] = &[
    Group {
        name: "edits",
        one: "edit",
        columns: &["journal", "edit", "line", "offset", "length", "class"],
        shown: &[],
        blocks: false,
    },
    Group {
        name: "journals",
        one: "journal",
        columns: &[
            "journal",
            "before_bytes",
            "after_bytes",
            "set_aside_bytes",
            "inserted_bytes",
            "live",
            "possible",
            "applied",
            "quarantine",
        ],
        shown: &["journal", "before_bytes", "after_bytes", "set_aside_bytes", "live", "applied"],
        blocks: false,
    },
];

/// Runs the verb.
pub fn run(context: &mut Context, args: &Repair) -> Result<()> {
    let journals = chosen(context, &args.journals);
    if !args.take.is_empty() && journals.len() != 1 {
        let message = "--take names a line of one journal: name the journal too";
        let hint = "cruxctl journal repair sessions --take LINE";
        return Err(Error::new(Code::UsageArguments, message).hint(hint));
    }
    let apply = args.apply && !args.dry_run;
    let options = Options { for_daemon: args.for_daemon, take: args.take.clone() };
    let lock = if apply && context.has_dir()? { Some(Lock::take(&context.dir, context.lock_timeout)?) } else { None };
    // Everything is decided before the first word is printed, and before the first journal is changed.
    let mut plans: Vec<(&Journal, Plan, Option<PathBuf>)> = Vec::new();
    for journal in &journals {
        let opened = match &lock {
            Some(lock) => replay::open_locked(&context.dir, journal, lock)?,
            None => replay::open(&context.dir, journal)?,
        };
        let plan = repair::plan(&opened, journal, &options, &mut |_| Ok(()))?;
        repair::check_takes(journal, &plan)?;
        repair::allow(journal, &plan, args.max_loss_bytes)?;
        plans.push((journal, plan, None));
    }
    let mut failed = None;
    for (journal, plan, manifest) in &mut plans {
        let Some(lock) = &lock else { continue };
        let naming = context.naming()?;
        match repair::apply(&context.dir, journal, lock, &options, &naming) {
            Ok(repaired) => {
                tell_carried_over(context, journal, repaired.carried_over);
                if let Some(error) = repaired.unkept {
                    context.printer.note(&error.message);
                }
                if let Some(path) = repaired.witness {
                    let text = format!(
                        "the witness spoke against {} as it was before: it is kept as {}",
                        journal.file,
                        path.display()
                    );
                    context.printer.note(&text);
                }
                *plan = repaired.plan;
                *manifest = repaired.manifest;
                failed = repaired.unsettled;
                if failed.is_some() {
                    break;
                }
            }
            Err(error) => {
                failed = Some(error);
                break;
            }
        }
    }
    let repaired: Vec<&str> = plans.iter().filter(|(.., m)| m.is_some()).map(|(j, ..)| j.file).collect();
    let done = repaired.join(" and ");
    let told = tell(context, &options, &plans, args, apply);
    let told = told.map_err(|error| error.after(!done.is_empty(), &format!("{done} is repaired")));
    failed.map_or(told, Err)
}

/// Journals of which a record that is set aside may have forbidden something: what is to be looked at then.
const FORGETS: [(&str, &str, &str); 2] = [
    (
        trust::JOURNAL.name,
        "what is set aside of the trusted keys may say that one was removed: look whether each is still to be trusted",
        "trust",
    ),
    (
        handoff::JOURNAL.name,
        "what is set aside of the ledger may say that a handoff was accepted: it could be accepted once more",
        "",
    ),
];

/// Says what the plan is, or what was done.
fn tell(
    context: &mut Context,
    options: &Options,
    plans: &[(&Journal, Plan, Option<PathBuf>)],
    args: &Repair,
    apply: bool,
) -> Result<()> {
    context.printer.begin("cruxctl.journal.repair.v1", PLANNED)?;
    for (journal, plan, manifest) in plans {
        let printer = &mut context.printer;
        match manifest {
            // What was done stands in the manifest, and stays done where that cannot be read.
            Some(manifest) => match quarantine::entries(manifest, &mut |entry| entry_row(printer, journal, &entry)) {
                Err(error) if error.code != Code::EnvironmentStdout => printer.note(&error.message),
                told => told?,
            },
            None if plan.edits > 0 => {
                let opened = replay::open(&context.dir, journal)?;
                repair::plan(&opened, journal, options, &mut |edit| edit_row(printer, journal, edit))?;
            }
            None => {}
        }
    }
    let (mut edits, mut possible) = (0, 0);
    for (journal, plan, manifest) in plans {
        edits += plan.edits;
        possible += plan.possible;
        let cells = [
            Value::text(journal.name),
            Value::Count(plan.before_bytes),
            Value::Count(plan.after_bytes()),
            Value::Count(plan.removed_bytes),
            Value::Count(plan.inserted_bytes),
            Value::Count(plan.live),
            Value::Count(plan.possible),
            Value::Flag(manifest.is_some()),
            Value::maybe(manifest.as_ref().map(|path| path.display().to_string())),
        ];
        context.printer.row(1, &[], &cells)?;
    }
    context.printer.end()?;
    if possible > 0 {
        let text = format!(
            "{} with what may be a record or a piece of somebody's state: it is set aside unless it is taken",
            plural(possible, "place")
        );
        context.printer.warn(&text, &["cruxctl journal check".to_owned()]);
    }
    for (name, says, verb) in FORGETS {
        if plans.iter().any(|(journal, plan, _)| journal.name == name && plan.removed_bytes > 0) {
            context.printer.warn(says, &[format!("cruxctl handoff {verb} list").replace("  ", " ")]);
        }
    }
    if edits == 0 {
        context.printer.note("there is nothing to repair");
    } else if !apply {
        let hint = format!("cruxctl journal repair {}--apply", flags(args, plans));
        let stop = if plans.iter().all(|(journal, ..)| journal.is_ours()) {
            ""
        } else {
            " (stop the daemon before you apply it)"
        };
        context.printer.warn(&format!("nothing was changed: this is the plan{stop}"), &[hint]);
    }
    Ok(())
}

/// The flags of a repair, to be typed again.
fn flags(args: &Repair, plans: &[(&Journal, Plan, Option<PathBuf>)]) -> String {
    let mut flags = String::new();
    if !args.journals.is_empty() {
        plans.iter().for_each(|(journal, ..)| flags.push_str(&format!("{} ", journal.name)));
    }
    if args.for_daemon {
        flags.push_str("--for-daemon ");
    }
    for line in &args.take {
        flags.push_str(&format!("--take {line} "));
    }
    if let Some(most) = args.max_loss_bytes {
        flags.push_str(&format!("--max-loss-bytes {most} "));
    }
    flags
}

fn edit_row(printer: &mut Printer, journal: &Journal, edit: &Edit) -> Result<()> {
    let (what, line, span, class) = match edit {
        Edit::Remove { span, line, class } => ("set-aside", *line, *span, class.name()),
        Edit::Insert { offset, line } => ("insert-line-end", *line, Span { offset: *offset, len: 1 }, ""),
    };
    change_row(printer, journal, what, line, span, class)
}

fn entry_row(printer: &mut Printer, journal: &Journal, entry: &Entry) -> Result<()> {
    match entry {
        Entry::Removed { offset, length, line, class, .. } => {
            change_row(printer, journal, "set-aside", *line, Span { offset: *offset, len: *length }, class)
        }
        Entry::Inserted { offset, line, .. } => {
            change_row(printer, journal, "insert-line-end", *line, Span { offset: *offset, len: 1 }, "")
        }
        Entry::Quarantine { .. } | Entry::Total { .. } => Ok(()),
    }
}

fn change_row(
    printer: &mut Printer,
    journal: &Journal,
    what: &str,
    line: u64,
    span: Span,
    class: &str,
) -> Result<()> {
    let cells = [
        Value::text(journal.name),
        Value::text(what),
        Value::Count(line),
        Value::Count(span.offset),
        Value::Count(span.len),
        Value::text(class),
    ];
    printer.row(0, &[], &cells)
}
