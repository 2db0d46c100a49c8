//! `cruxctl journal`: the operator's verbs on the journals themselves.

use clap::{Args, Subcommand};

use super::Context;
use crate::env;
use crate::error::{Code, Error, Result};
use crate::journal::check::{self, Summary};
use crate::journal::finding::{Finding, Reaction, Severity};
use crate::journal::lock::Lock;
use crate::journal::quarantine::Held;
use crate::journal::repair::{self, Edit, Naming, Options, Plan};
use crate::journal::replay;
use crate::journal::scan::{Item, Stretch};
use crate::journal::split::event_id;
use crate::journal::{Journal, Span, compact};
use crate::render::{Format, Group, Value};
use crate::store::{self, JOURNALS, fact};

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
    /// Read everything, change nothing, name every finding
    ///
    /// Each finding has its journal, line, byte offset, length, class, severity and first bytes, and says what the
    /// daemon will do with it. Then comes a summary of each journal, a verdict, and the next command. The exit status
    /// is 3 where there is damage.
    Check(Check),
    /// Set aside what is damaged; show the plan unless --apply is given
    ///
    /// No byte is destroyed: what is taken out goes to the quarantine folder with a manifest that says where each
    /// stretch lay. Stop the daemon first.
    Repair(Repair),
    /// Print lines as they are in the file
    Show(Show),
    /// Drop records that are no longer live; live records are kept byte for byte
    ///
    /// Stop the daemon first. The history of a session or case ends here.
    Compact(Compact),
    /// Print the live records, one JSON document a line
    Export(Export),
}

/// A journal's name, checked.
fn journal_name(text: &str) -> std::result::Result<String, String> {
    let names: Vec<&str> = JOURNALS.iter().map(|j| j.name).collect();
    let stem = text.strip_suffix(".jsonl").unwrap_or(text);
    if names.contains(&stem) { Ok(stem.to_owned()) } else { Err(format!("the journals are {}", names.join(", "))) }
}

/// Arguments of `journal check`.
#[derive(Args, Debug)]
pub struct Check {
    /// Which journals [default: all]
    #[arg(value_name = "JOURNAL", value_parser = journal_name)]
    pub journals: Vec<String>,
    /// Count what only the daemon loses or stumbles over as well
    #[arg(long)]
    pub for_daemon: bool,
}

/// Arguments of `journal repair`.
#[derive(Args, Debug)]
pub struct Repair {
    /// Which journals [default: all]
    #[arg(value_name = "JOURNAL", value_parser = journal_name)]
    pub journals: Vec<String>,
    /// Carry the plan out
    #[arg(long)]
    pub apply: bool,
    /// Set aside what only the daemon cannot read as well
    #[arg(long)]
    pub for_daemon: bool,
    /// Refuse to set aside more than this many bytes of a journal; for unattended use
    #[arg(long, value_name = "N")]
    pub max_loss_bytes: Option<u64>,
    /// Take the possible record on this line as one; names one journal
    #[arg(long, value_name = "LINE")]
    pub take: Vec<u64>,
    /// Show the plan and change nothing, even with --apply
    #[arg(long)]
    pub dry_run: bool,
}

/// Arguments of `journal show`.
#[derive(Args, Debug)]
#[group(id = "place", required = true, multiple = false, args = ["line", "offset", "id"])]
pub struct Show {
    /// Which journal
    #[arg(value_name = "JOURNAL", value_parser = journal_name)]
    pub journal: String,
    /// The line with this number, from 1
    #[arg(long, value_name = "N")]
    pub line: Option<u64>,
    /// The line on which this byte lies, from 0
    #[arg(long, value_name = "BYTE")]
    pub offset: Option<u64>,
    /// Every line with a record about this id, as it is stored
    #[arg(long, value_name = "ID")]
    pub id: Option<String>,
}

/// Arguments of `journal compact`.
#[derive(Args, Debug)]
pub struct Compact {
    /// Which journal
    #[arg(value_name = "JOURNAL", value_parser = journal_name)]
    pub journal: String,
    /// Say what would be dropped and drop nothing
    #[arg(long)]
    pub dry_run: bool,
}

/// Arguments of `journal export`.
#[derive(Args, Debug)]
pub struct Export {
    /// Which journal
    #[arg(value_name = "JOURNAL", value_parser = journal_name)]
    pub journal: String,
}

/// Runs a verb.
pub fn run(context: &mut Context, args: JournalArgs) -> Result<()> {
    match args.verb {
        Verb::Check(args) => check(context, &args),
        Verb::Repair(args) => repair(context, &args),
        Verb::Show(args) => show(context, &args),
        Verb::Compact(args) => compact(context, &args),
        Verb::Export(args) => export(context, &args),
    }
}

fn chosen(names: &[String]) -> Vec<&'static Journal> {
    if names.is_empty() {
        return JOURNALS.to_vec();
    }
    JOURNALS.into_iter().filter(|journal| names.iter().any(|name| name == journal.name)).collect()
}

fn the_journal(name: &str) -> Result<&'static Journal> {
    store::journal(name).ok_or_else(|| Error::new(Code::UsageArguments, format!("there is no journal {name:?}")))
}

const CHECKED: &[Group] = &[
    Group {
        name: "findings",
        one: "finding",
        columns: &[
            "place", "journal", "line", "offset", "length", "class", "severity", "daemon", "ids", "what", "begins",
            "possible",
        ],
        blocks: true,
    },
    Group {
        name: "journals",
        one: "journal",
        columns: &[
            "journal",
            "exists",
            "bytes",
            "lines",
            "live",
            "dead_bytes",
            "damaged_bytes",
            "damage",
            "daemon",
            "foreign",
            "quarantined_bytes",
            "verdict",
        ],
        blocks: false,
    },
];

fn check(context: &mut Context, args: &Check) -> Result<()> {
    let journals = chosen(&args.journals);
    if !context.dir.root.exists() {
        let text = format!("there is no data directory {}", context.dir.root.display());
        context.printer.note(&text);
    }
    context.printer.begin("cruxctl.journal.check.v1", CHECKED)?;
    let now = context.env.now_text();
    let mut summaries = Vec::new();
    for journal in &journals {
        let mut progress = context.printer.progress(journal.file);
        let printer = &mut context.printer;
        let summary = check::check(
            &context.dir,
            journal,
            &now,
            &mut |finding| finding_row(printer, journal, finding),
            &mut |done, all| progress.at(done, all),
        )?;
        summaries.push(summary);
    }
    for summary in &summaries {
        summary_row(context, summary, args.for_daemon)?;
    }
    let carried = context.printer.carried.clone();
    let next: Vec<String> =
        next_commands(&summaries, args.for_daemon).iter().map(|command| carried.command(command)).collect();
    let verdict = verdict(&summaries);
    let daemon = daemon_verdict(&summaries);
    let texts = next.clone();
    let held = summaries.iter().any(|s| s.held.bytes > 0);
    let quarantine = held.then(|| context.dir.quarantine().display().to_string());
    context.printer.fields(
        None,
        &[
            ("verdict", Value::text(&*verdict)),
            ("for_the_daemon", Value::text(&*daemon)),
            ("quarantine", Value::maybe(quarantine)),
            ("next", Value::Texts(next)),
        ],
    )?;
    context.printer.end()?;
    if context.printer.format() == Format::Id {
        context.printer.note(&format!("{verdict}; {}", texts.join("; ")));
    }
    for summary in &summaries {
        for note in &summary.notes {
            context.printer.note(&format!("{}: {note}", summary.journal));
        }
        if let Some(mode) = summary.loose_mode {
            let path = summary.path.display();
            context.printer.note(&format!("{path} has the mode {mode:03o}: others than its owner may open it"));
        }
        if let Some(span) = summary.seen.in_progress {
            let text =
                format!("a write is in progress on {}: its last {} bytes are not judged", summary.journal, span.len);
            context.printer.note(&text);
        }
    }
    for name in check::strays(&context.dir, &JOURNALS) {
        let what = if name.contains(".jsonl.torn.") {
            "a tail that the daemon has moved aside"
        } else {
            "no journal: nothing reads it"
        };
        context.printer.note(&format!("{name} in the data directory is {what}"));
    }
    let damaged = summaries.iter().any(|s| s.bad(false));
    let bad = summaries.iter().any(|s| s.bad(args.for_daemon));
    if bad && !context.damaged_ok {
        let code = if damaged { Code::DamagedJournal } else { Code::DamagedForDaemon };
        context.mark(code.kind().status());
    }
    Ok(())
}

fn finding_row(printer: &mut crate::render::Printer, journal: &Journal, finding: &Finding) -> Result<()> {
    let severity = finding.class.severity();
    let place = format!(
        "{} line {}, byte {}, {} bytes: {} ({})",
        journal.file,
        finding.line,
        finding.span.offset,
        finding.span.len,
        finding.class.name(),
        severity.name()
    );
    let possible = finding.possible.as_ref().map(|p| {
        format!(
            "{} at byte {}: it may be a piece of the record in front; take it with --take {}",
            p.what, p.span.offset, finding.line
        )
    });
    // Machines get the stable name of what the daemon does, people a sentence.
    let daemon = match printer.format() {
        Format::Table => finding.reaction.sentence(),
        _ => finding.reaction.name(),
    };
    let ids: Vec<&str> = finding.ids.iter().map(String::as_str).collect();
    let named = if printer.format() == Format::Table { Value::Absent } else { Value::text(journal.name) };
    let hide = |value: Value<'static>, printer: &crate::render::Printer| {
        if printer.format() == Format::Table { Value::Absent } else { value }
    };
    let cells = [
        Value::text(place),
        named,
        hide(Value::Count(finding.line), printer),
        hide(Value::Count(finding.span.offset), printer),
        hide(Value::Count(finding.span.len), printer),
        hide(Value::text(finding.class.name()), printer),
        hide(Value::text(severity.name()), printer),
        Value::text(daemon),
        Value::Texts(finding.ids.clone()),
        Value::text(&*finding.why),
        Value::Bytes(&finding.head),
        Value::maybe(possible),
    ];
    printer.row(0, &ids, &cells)
}

fn summary_row(context: &mut Context, summary: &Summary, for_daemon: bool) -> Result<()> {
    let verdict = match (summary.exists, summary.severity()) {
        (false, _) => "absent",
        (_, None) => "clean",
        (_, Some(severity)) if severity == Severity::Damage || for_daemon => "damaged",
        (_, Some(_)) => "readable",
    };
    let Held { bytes, .. } = summary.held;
    let cells = [
        Value::text(summary.journal),
        Value::Flag(summary.exists),
        Value::Count(summary.seen.totals.bytes),
        Value::Count(summary.seen.totals.lines),
        Value::Count(summary.live),
        Value::Count(summary.dead_bytes),
        Value::Count(summary.damaged_bytes),
        Value::Count(summary.seen.damage),
        Value::Count(summary.seen.daemon),
        Value::Count(summary.seen.foreign),
        Value::Count(bytes),
        Value::text(verdict),
    ];
    context.printer.row(1, &[], &cells)
}

fn verdict(summaries: &[Summary]) -> String {
    let damage: u64 = summaries.iter().map(|s| s.seen.damage).sum();
    let live: u64 = summaries.iter().map(|s| s.live).sum();
    let lost: u64 = summaries.iter().map(|s| s.damaged_bytes).sum();
    match damage {
        0 => format!("clean: all {live} live records can be read"),
        1 => format!("damaged in 1 place: {live} live records can be read, {lost} bytes cannot"),
        _ => format!("damaged in {damage} places: {live} live records can be read, {lost} bytes cannot"),
    }
}

fn daemon_verdict(summaries: &[Summary]) -> String {
    let files = |wanted: fn(Reaction) -> bool| -> Vec<String> {
        summaries.iter().filter(|s| wanted(s.daemon)).map(|s| format!("{}.jsonl", s.journal)).collect()
    };
    let stops = files(|r| r == Reaction::DoesNotStart);
    if !stops.is_empty() {
        return format!("the daemon does not start, because of {}", stops.join(" and "));
    }
    let mut parts = Vec::new();
    let loses = files(|r| matches!(r, Reaction::LosesLine | Reaction::LosesLineAndNextAppend));
    if !loses.is_empty() {
        parts.push(format!("silently loses records of {}", loses.join(" and ")));
    }
    let welds = files(|r| matches!(r, Reaction::LosesNextAppend | Reaction::LosesLineAndNextAppend));
    if !welds.is_empty() {
        parts.push(format!("welds its next append to {} onto the last line and loses it", welds.join(" and ")));
    }
    let moves = files(|r| r == Reaction::MovesAside);
    if !moves.is_empty() {
        parts.push(format!("moves the unterminated tail of {} aside", moves.join(" and ")));
    }
    if parts.is_empty() {
        return "the daemon starts and reads everything".to_owned();
    }
    format!("the daemon starts, but {}", parts.join(", "))
}

fn next_commands(summaries: &[Summary], for_daemon: bool) -> Vec<String> {
    let mut next = Vec::new();
    for summary in summaries {
        let stops = summary.daemon == Reaction::DoesNotStart;
        if summary.seen.damage > 0 || stops {
            next.push(format!("cruxctl journal repair {}", summary.journal));
        } else if summary.seen.daemon > 0 && for_daemon {
            next.push(format!("cruxctl journal repair {} --for-daemon", summary.journal));
        } else if summary.seen.daemon > 0 {
            next.push(format!("cruxctl journal check {} --for-daemon", summary.journal));
        }
    }
    next
}

const PLANNED: &[Group] = &[
    Group {
        name: "edits",
        one: "edit",
        columns: &["journal", "edit", "line", "offset", "length", "class"],
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
        blocks: false,
    },
];

fn repair(context: &mut Context, args: &Repair) -> Result<()> {
    let journals = chosen(&args.journals);
    if !args.take.is_empty() && journals.len() != 1 {
        let message = "--take names a line of one journal: name the journal too";
        let hint = "cruxctl journal repair sessions --take LINE";
        return Err(Error::new(Code::UsageArguments, message).hint(hint));
    }
    let apply = args.apply && !args.dry_run;
    let options = Options { for_daemon: args.for_daemon, take: args.take.clone() };
    context.printer.begin("cruxctl.journal.repair.v1", PLANNED)?;
    let mut plans: Vec<(&Journal, Plan, Option<std::path::PathBuf>)> = Vec::new();
    let lock =
        if apply && context.dir.root.exists() { Some(Lock::take(&context.dir, context.lock_timeout)?) } else { None };
    for journal in &journals {
        let opened = match &lock {
            Some(lock) => replay::open_locked(&context.dir, journal, lock)?,
            None => replay::open(&context.dir, journal)?,
        };
        let printer = &mut context.printer;
        let plan = repair::plan(&opened, journal, &options, &mut |edit| edit_row(printer, journal, edit))?;
        if let Some(line) = plan.nothing_to_take.first() {
            let message = format!("line {line} of {} has no possible record to take", opened.path.display());
            return Err(Error::new(Code::NoRecord, message).hint(format!("cruxctl journal check {}", journal.name)));
        }
        plans.push((journal, plan, None));
    }
    if let Some(lock) = &lock {
        // Every journal is held against the limit before the first is changed.
        for (journal, plan, _) in &plans {
            repair::allow(journal, plan, args.max_loss_bytes)?;
        }
        for (journal, plan, manifest) in &mut plans {
            let naming =
                Naming { made_at: context.env.now_text(), stamp: context.env.stamp(), tag: env::random_tag()? };
            let repaired = repair::apply(&context.dir, journal, lock, &options, args.max_loss_bytes, &naming)?;
            if repaired.carried_over > 0 {
                let text = format!(
                    "another program appended {} bytes to {} meanwhile: they were carried over",
                    repaired.carried_over, journal.file
                );
                context.printer.note(&text);
            }
            *plan = repaired.plan;
            *manifest = repaired.manifest;
        }
    }
    let (mut edits, mut possible) = (0, 0);
    for (journal, plan, manifest) in &plans {
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
            Value::Flag(apply && plan.edits > 0),
            Value::maybe(manifest.as_ref().map(|path| path.display().to_string())),
        ];
        context.printer.row(1, &[], &cells)?;
    }
    context.printer.end()?;
    if possible > 0 && !apply {
        let text = format!(
            "{possible} places end in what may be a record or a piece of somebody's state; it is set aside unless you take it"
        );
        context.printer.warn(&text, &["cruxctl journal check".to_owned()]);
    }
    if edits == 0 {
        context.printer.note("there is nothing to repair");
    } else if !apply {
        let hint = format!("cruxctl journal repair {}--apply", flags(args));
        context.printer.warn("nothing was changed: this is the plan (stop the daemon before you apply it)", &[hint]);
    }
    Ok(())
}

/// The flags of a repair, to be typed again.
fn flags(args: &Repair) -> String {
    let mut flags: String = args.journals.iter().map(|name| format!("{name} ")).collect();
    if args.for_daemon {
        flags.push_str("--for-daemon ");
    }
    for line in &args.take {
        flags.push_str(&format!("--take {line} "));
    }
    flags
}

fn edit_row(printer: &mut crate::render::Printer, journal: &Journal, edit: &Edit) -> Result<()> {
    let (what, line, span, class) = match edit {
        Edit::Remove { span, line, class } => ("set-aside", *line, *span, class.name()),
        Edit::Insert { offset, line } => ("insert-line-end", *line, Span { offset: *offset, len: 1 }, ""),
    };
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

const SHOWN: &[Group] =
    &[Group { name: "lines", one: "line", columns: &["line", "offset", "length", "text"], blocks: false }];

fn show(context: &mut Context, args: &Show) -> Result<()> {
    let journal = the_journal(&args.journal)?;
    let opened = replay::open(&context.dir, journal)?;
    let mut lines: Vec<(u64, Span)> = Vec::new();
    let mut missing = "";
    if let Some(id) = &args.id {
        let mut last = 0;
        let stretch = Stretch { to: opened.len, ..Stretch::default() };
        let seen = opened.scan_items(journal, stretch, &mut |item| {
            let (line, span, found) = match item {
                Item::Record(record) => {
                    let named = event_id(record.event).is_some_and(|own| own == *id);
                    (record.line, record.span, named || names(record.event, id))
                }
                Item::Finding(finding, _) => (finding.line, finding.span, finding.ids.contains(id)),
                _ => return Ok(()),
            };
            if found && line != last {
                last = line;
                lines.push((line, span));
            }
            Ok(())
        })?;
        context.tell_damage(journal, &seen, true);
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
        let bytes = opened.read(whole)?;
        if raw {
            context.printer.raw(&bytes)?;
            context.printer.raw(b"\n")?;
            continue;
        }
        let id = line.to_string();
        let cells = [Value::Count(line), Value::Count(whole.offset), Value::Count(whole.len), Value::Bytes(&bytes)];
        context.printer.row(0, &[&id], &cells)?;
    }
    if raw { context.printer.flush() } else { context.printer.end() }
}

/// Whether any member of an event names an id.
fn names(event: &crate::journal::shape::Event<'_>, id: &str) -> bool {
    event.members.names.iter().any(|member| {
        (member.name.ends_with("_id") && event.members.id(member.name).is_some_and(|own| own == id))
            || (member.name.ends_with("_ids") && event.members.texts(member.name).iter().any(|own| own == id))
            || event.members.records(member.name).iter().any(|(_, r)| r.id("fact_id").is_some_and(|own| own == id))
    })
}

const COMPACTED: &[Group] = &[Group {
    name: "journals",
    one: "journal",
    columns: &["journal", "before_bytes", "after_bytes", "live", "foreign", "dropped", "dry_run"],
    blocks: false,
}];

fn compact(context: &mut Context, args: &Compact) -> Result<()> {
    let journal = the_journal(&args.journal)?;
    if std::ptr::eq(journal, &fact::JOURNAL) {
        let message = "facts.jsonl is not compacted: its deletes, holds and consolidations have rules of their own";
        return Err(Error::new(Code::RefusedJournal, message));
    }
    let done = if args.dry_run || !context.dir.root.exists() {
        compact::plan(&replay::open(&context.dir, journal)?, journal)?
    } else {
        let lock = Lock::take(&context.dir, context.lock_timeout)?;
        compact::apply(&context.dir, journal, &lock, &env::random_tag()?)?
    };
    context.printer.begin("cruxctl.journal.compact.v1", COMPACTED)?;
    let cells = [
        Value::text(journal.name),
        Value::Count(done.before_bytes),
        Value::Count(done.after_bytes),
        Value::Count(done.live),
        Value::Count(done.foreign),
        Value::Count(done.dropped),
        Value::Flag(args.dry_run),
    ];
    context.printer.row(0, &[journal.name], &cells)?;
    context.printer.end()?;
    if done.carried_over > 0 {
        let text = format!(
            "another program appended {} bytes to {} meanwhile: they were carried over",
            done.carried_over, journal.file
        );
        context.printer.note(&text);
    }
    Ok(())
}

const EXPORTED: &[Group] = &[Group { name: "records", one: "record", columns: &["id", "record"], blocks: false }];

fn export(context: &mut Context, args: &Export) -> Result<()> {
    let journal = the_journal(&args.journal)?;
    let opened = replay::open(&context.dir, journal)?;
    let mut replay = (journal.replay)();
    let seen = opened.scan(
        journal,
        &mut |record| {
            replay.record(record);
            Ok(())
        },
        &mut |_| Ok(()),
    )?;
    context.tell_damage(journal, &seen, true);
    let spans = replay.spans();
    drop(replay);
    // Documents, one a line, are what this verb is for, in a pipe and with --format jsonl.
    let raw = context.printer.wants_raw() || context.printer.format() == Format::Jsonl;
    if !raw {
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
        } else {
            context.printer.row(0, &[&id], &[Value::text(&*id), Value::Json(document)])?;
        }
    }
    if raw { context.printer.flush() } else { context.printer.end() }
}
