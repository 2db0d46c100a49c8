//! `cruxctl journal check`: every finding, a summary of each journal, a verdict, and what to type next.

use clap::Args;

use super::{Name, chosen};
use crate::cmd::{Context, plural};
use crate::error::{Code, Error, Result};
use crate::journal::Journal;
use crate::journal::check::{self, Options, Summary};
use crate::journal::finding::{Finding, Reaction, Severity};
use crate::render::{Format, Group, Printer, Value};
use crate::store::JOURNALS;

/// Arguments of `journal check`.
#[derive(Args, Debug)]
pub struct Check {
    /// Which journals [default: all, and those of our own that there are]
    #[arg(value_name = "JOURNAL", value_enum)]
    pub journals: Vec<Name>,
    /// Count what only the daemon loses or stumbles over as well
    #[arg(long)]
    pub for_daemon: bool,
    /// Read every byte again, also what the witness knows, and hold the index against it
    #[arg(long)]
    pub full: bool,
    /// Take the journals as they are as what the next check compares with
    #[arg(long)]
    pub accept: bool,
    /// Keep nothing for the next check: no witness, no index
    #[arg(long, conflicts_with = "accept")]
    pub dry_run: bool,
}

/// What a check says.
pub const CHECKED: &[Group] = &[
    Group {
        name: "findings",
        one: "finding",
        columns: &[
            "place", "journal", "line", "offset", "length", "class", "severity", "daemon", "ids", "what", "begins",
            "possible",
        ],
        shown: &[],
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
            "in_progress_bytes",
            "quarantined_bytes",
            "verdict",
            "witness",
            "known_bytes",
            "gone",
        ],
        shown: &["journal", "bytes", "lines", "live", "damage", "daemon", "foreign", "verdict"],
        blocks: false,
    },
];

/// Runs the verb.
pub fn run(context: &mut Context, args: &Check) -> Result<()> {
    let journals = chosen(context, &args.journals);
    context.note_missing_dir();
    context.printer.begin("cruxctl.journal.check.v1", CHECKED)?;
    let now = context.env.now_text();
    let options = Options { full: args.full, accept: args.accept, keep: !args.dry_run, now: &now };
    let mut summaries = Vec::new();
    // One journal that cannot be read says nothing about the others.
    let mut failed: Vec<(&Journal, Error)> = Vec::new();
    for journal in &journals {
        let mut progress = context.printer.progress(journal.file);
        let printer = &mut context.printer;
        let summary = check::check(
            &context.dir,
            journal,
            options,
            &mut |finding| finding_row(printer, journal, finding),
            &mut |done, all| progress.at(done, all),
        );
        match summary {
            Ok(summary) => summaries.push(summary),
            Err(error) if error.code == Code::EnvironmentStdout => return Err(error),
            Err(error) => failed.push((journal, error)),
        }
    }
    for summary in &summaries {
        summary_row(context, summary)?;
    }
    for (journal, _) in &failed {
        let mut cells = vec![Value::Absent; CHECKED[1].columns.len()];
        cells[0] = Value::text(journal.name);
        let verdict = CHECKED[1].columns.iter().position(|column| *column == "verdict");
        cells[verdict.unwrap_or_default()] = Value::text("unreadable");
        context.printer.row(1, &[], &cells)?;
    }
    let carried = context.printer.carried.clone();
    let all: Vec<&Summary> = summaries.iter().collect();
    let next: Vec<String> =
        next_commands(&all, args.for_daemon).iter().map(|command| carried.command(command)).collect();
    let unread: Vec<&str> = failed.iter().map(|(journal, _)| journal.file).collect();
    let verdict = verdict_without(&all, &unread);
    let daemon = daemon_verdict(&all);
    let texts = next.clone();
    let held = summaries.iter().any(|s| s.held.as_ref().is_some_and(|held| held.bytes > 0));
    let quarantine = held.then(|| context.dir.quarantine().display().to_string());
    context.printer.fields(
        None,
        &[
            ("verdict", Value::text(&*verdict)),
            ("for_the_daemon", Value::text(&*daemon)),
            ("quarantine", Value::maybe(quarantine)),
            ("next", Value::Commands(next)),
        ],
    )?;
    context.printer.end()?;
    if context.printer.format() == Format::Id {
        context.printer.note(&[vec![verdict.clone()], texts].concat().join("; "));
    }
    for summary in &summaries {
        for note in &summary.notes {
            context.printer.note(&format!("{}: {note}", summary.journal));
        }
        if summary.witness.accepted && summary.witness.against > 0 {
            let text = format!("{}: what was found is accepted: the next check compares with this", summary.journal);
            context.printer.note(&text);
        }
        if summary.witness.lost() {
            let text = format!(
                "{}: what is gone can only come from a backup; look for one before the file is accepted as it is",
                summary.journal
            );
            context.printer.note(&text);
        }
        if let Some(mode) = summary.loose_mode {
            let path = summary.path.display();
            let text = format!("{path} has the mode {mode:03o}: others than its owner may open it (chmod 600)");
            context.printer.note(&text);
        }
        tell_progress(context, summary);
    }
    if summaries.iter().any(|summary| summary.held.is_none()) {
        let path = context.dir.quarantine();
        context.printer.note(&format!("{} cannot be looked into", path.display()));
    }
    for name in check::strays(&context.dir, &JOURNALS) {
        let what = if name.contains(".cruxctl-") {
            "a copy that a killed repair or compaction has left; the next one removes it"
        } else if name.contains(".jsonl.torn.") {
            "a tail that the daemon has moved aside"
        } else {
            "no journal: nothing reads it"
        };
        context.printer.note(&format!("{name} in the data directory is {what}"));
    }
    if args.for_daemon && summaries.iter().any(|s| s.seen.foreign > 0 && !s.ours) {
        context.printer.note("records of unknown ops are kept by everything: another version may know them");
    }
    count_damage(context, &all, args.for_daemon, (verdict, daemon));
    first_error(context, failed.into_iter().map(|(_, error)| error))
}

/// Says of a write that others are at that what it has written so far is not judged.
pub(super) fn tell_progress(context: &mut Context, summary: &Summary) {
    let Some(span) = summary.seen.in_progress else { return };
    let text = format!("a write is in progress on {}: its last {} bytes are not judged", summary.journal, span.len);
    context.printer.note(&text);
}

/// Lets damage decide the exit status. The answer itself says so already; whoever reads JSON also gets it where errors
/// are.
pub(in crate::cmd) fn count_damage(
    context: &mut Context,
    summaries: &[&Summary],
    for_daemon: bool,
    (verdict, daemon): (String, String),
) {
    let damaged = summaries.iter().any(|s| s.bad(false));
    let error = match damaged {
        true => Error::new(Code::DamagedJournal, verdict),
        false if summaries.iter().any(|s| s.bad(for_daemon)) => Error::new(Code::DamagedForDaemon, daemon),
        false => return,
    };
    context.told_damage(error);
}

/// The error of the first journal that could not be read; those of others are told.
pub(in crate::cmd) fn first_error(context: &mut Context, failed: impl IntoIterator<Item = Error>) -> Result<()> {
    let mut failed = failed.into_iter();
    let first = failed.next();
    failed.for_each(|error| context.printer.warn_of(&error));
    first.map_or(Ok(()), Err)
}

/// How many ids of one finding are shown on a terminal.
const IDS: usize = 20;

fn finding_row(printer: &mut Printer, journal: &Journal, finding: &Finding) -> Result<()> {
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
    let possible = (!finding.possible.is_empty()).then(|| {
        let which: Vec<String> =
            finding.possible.iter().map(|p| format!("{} at byte {}", p.what, p.span.offset)).collect();
        format!(
            "{}: a record, or a piece of what stands in front of it; it is taken as a record by: {}",
            which.join(", "),
            printer
                .carried
                .command(&format!("cruxctl journal repair {} --take {} --apply", journal.name, finding.line))
        )
    });
    // Machines get the stable name of what the daemon does, people a sentence.
    let daemon = match printer.format() {
        Format::Table => finding.reaction.sentence(),
        _ => finding.reaction.name(),
    };
    let ids: Vec<&str> = finding.ids.iter().map(String::as_str).collect();
    // A person is told the first; a machine gets them all.
    let mut shown = finding.ids.clone();
    if printer.format() == Format::Table && shown.len() > IDS {
        shown.truncate(IDS);
        shown.push(format!("and {} more (--format plain)", ids.len() - IDS));
    }
    let named = if printer.format() == Format::Table { Value::Absent } else { Value::text(journal.name) };
    let hide = |value: Value<'static>, printer: &Printer| {
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
        Value::Texts(shown),
        Value::text(&*finding.why),
        Value::Bytes(journal.head_of(finding)),
        Value::maybe(possible),
    ];
    printer.row(0, &ids, &cells)
}

/// One word for what a journal comes to.
pub(in crate::cmd) fn word(summary: &Summary) -> &'static str {
    match (summary.exists, summary.severity()) {
        (false, None) => "absent",
        (_, None) if summary.seen.in_progress.is_some() => "in progress",
        (_, None) => "clean",
        (_, Some(Severity::Damage)) => "damaged",
        (_, Some(Severity::Daemon | Severity::Foreign)) => "readable",
    }
}

fn summary_row(context: &mut Context, summary: &Summary) -> Result<()> {
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
        Value::Count(summary.seen.in_progress.map_or(0, |span| span.len)),
        summary.held.as_ref().map_or(Value::Absent, |held| Value::Count(held.bytes)),
        Value::text(word(summary)),
        if summary.exists { Value::text(summary.witness.word()) } else { Value::Absent },
        Value::Count(summary.witness.known),
        Value::Texts(summary.witness.gone().to_vec()),
    ];
    context.printer.row(1, &[], &cells)
}

/// The verdict where some files could not be read.
pub(super) fn verdict_without(summaries: &[&Summary], unread: &[&str]) -> String {
    match unread {
        [] => verdict(summaries),
        _ => format!("{} cannot be read; the rest: {}", unread.join(" and "), verdict(summaries)),
    }
}

pub(in crate::cmd) fn verdict(summaries: &[&Summary]) -> String {
    let against: u64 = summaries.iter().map(|s| s.against()).sum();
    let damage = summaries.iter().map(|s| s.seen.damage).sum::<u64>() - against;
    let live: u64 = summaries.iter().map(|s| s.live).sum();
    let lost: u64 = summaries.iter().map(|s| s.damaged_bytes).sum();
    let writing: Vec<&str> = summaries.iter().filter(|s| s.seen.in_progress.is_some()).map(|s| s.journal).collect();
    if damage == 0 && against == 0 && !writing.is_empty() {
        return format!("a write is in progress on {}: check again", writing.join(" and "));
    }
    let odd: u64 = summaries.iter().map(|s| s.odd()).sum();
    let elsewhere = match against {
        0 => String::new(),
        _ => format!("not what was validated, in {}", plural(against, "place")),
    };
    match (damage, odd) {
        (0, _) if against > 0 => format!("{elsewhere}: {} can be read", plural(live, "live record")),
        (0, 0) if !summaries.iter().any(|s| s.exists) => "there is nothing to check: no journal exists".to_owned(),
        (0, 0) => format!("clean: all {} can be read", plural(live, "live record")),
        (0, _) => format!(
            "readable: all {} can be read; {} for the daemon to stumble over",
            plural(live, "live record"),
            plural(odd, "place")
        ),
        _ => format!(
            "damaged in {}: {} can be read, {} cannot{}{elsewhere}",
            plural(damage, "place"),
            plural(live, "live record"),
            plural(lost, "byte"),
            if against > 0 { "; " } else { "" }
        ),
    }
}

pub(in crate::cmd) fn daemon_verdict(summaries: &[&Summary]) -> String {
    if !summaries.is_empty() && summaries.iter().all(|s| s.ours) {
        return "the daemon never reads this journal".to_owned();
    }
    let files = |wanted: fn(Reaction) -> bool| -> Vec<String> {
        summaries
            .iter()
            .filter(|s| s.daemon.iter().any(|r| wanted(*r)))
            .map(|s| format!("{}.jsonl", s.journal))
            .collect()
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

pub(in crate::cmd) fn next_commands(summaries: &[&Summary], for_daemon: bool) -> Vec<String> {
    let mut next = Vec::new();
    for summary in summaries {
        let stops = summary.daemon.contains(&Reaction::DoesNotStart);
        if summary.seen.damage > summary.against() || stops {
            let takes: String = summary.possible.iter().map(|line| format!(" --take {line}")).collect();
            next.push(format!("cruxctl journal repair {}{takes}", summary.journal));
        } else if summary.witness.waits() {
            next.push(format!("cruxctl journal check {} --accept", summary.journal));
        } else if summary.seen.daemon > 0 && for_daemon {
            next.push(format!("cruxctl journal repair {} --for-daemon", summary.journal));
        } else if summary.seen.daemon > 0 {
            next.push(format!("cruxctl journal check {} --for-daemon", summary.journal));
        }
    }
    next
}
