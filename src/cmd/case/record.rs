//! `cruxctl case record`: a case goes in, whole and on disk, and its id comes out.

use std::borrow::Cow;

use chrono::{DateTime, Utc};
use clap::Args;
use serde::Deserialize;

use crate::cmd::{Context, input};
use crate::env;
use crate::error::{Code, Error, Result};
use crate::journal::append;
use crate::render::{Format, Group, Value};
use crate::retrieve::Words;
use crate::store::case::{Case, JOURNAL};

/// Arguments of `case record`.
#[derive(Args, Debug)]
pub struct Record {
    /// What was to be done
    #[arg(long, value_name = "TEXT", requires_all = ["action", "outcome"], allow_hyphen_values = true)]
    pub task: Option<String>,
    /// What was done
    #[arg(long, value_name = "TEXT", requires = "task", allow_hyphen_values = true)]
    pub action: Option<String>,
    /// How it turned out
    #[arg(long, value_name = "TEXT", requires = "task", allow_hyphen_values = true)]
    pub outcome: Option<String>,
    /// Under which circumstances
    #[arg(long, value_name = "TEXT", requires = "task", allow_hyphen_values = true)]
    pub context: Option<String>,
    /// It did not turn out well
    #[arg(long, requires = "task")]
    pub failed: bool,
    /// How well it turned out, from 0 to 1 [default: 1]
    #[arg(long, value_name = "N", requires = "task", allow_hyphen_values = true)]
    pub reward: Option<f64>,
    /// A tag; may be given more than once
    #[arg(long = "tag", value_name = "TAG", requires = "task", allow_hyphen_values = true)]
    pub tags: Vec<String>,
    /// The receipt of the run
    #[arg(long, value_name = "TEXT", requires = "task", allow_hyphen_values = true)]
    pub source_receipt: Option<String>,
    /// Say what would be done and do nothing
    #[arg(long)]
    pub dry_run: bool,
}

/// What is said of a case that was recorded.
pub const RECORDED: &[Group] =
    &[Group { name: "recorded", one: "case", columns: &["id", "offset", "dry_run"], shown: &[], blocks: false }];

/// A case as it is given.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Document {
    task: String,
    action: String,
    outcome: String,
    context: Option<String>,
    #[serde(default = "yes")]
    success: bool,
    #[serde(default = "best")]
    reward: f64,
    #[serde(default)]
    tags: Vec<String>,
    source_receipt: Option<String>,
    /// The id, where the case has one already; only an import keeps it.
    pub(super) case_id: Option<String>,
    /// The time, where the case has one already; only an import keeps it.
    pub(super) created_at: Option<String>,
    /// How often it was used again, as a case that was exported says; it is not kept.
    #[serde(rename = "times_reused")]
    _times_reused: Option<serde::de::IgnoredAny>,
}

fn yes() -> bool {
    true
}

fn best() -> f64 {
    1.0
}

impl Document {
    /// Reads a document; `name` is where it comes from.
    pub(super) fn read(text: &[u8], name: &str) -> Result<Document> {
        input::parsed(text, name, "case")
    }
}

/// The case that a document describes, recorded at `created_at`.
pub(super) fn case<'a>(
    context: &mut Context,
    document: Document,
    id: Cow<'a, str>,
    created_at: DateTime<Utc>,
) -> Result<Case<'a>> {
    if !document.reward.is_finite() {
        let message = format!("a reward is a number from 0 to 1, and {} is none", document.reward);
        return Err(Error::new(Code::UsageDocument, message));
    }
    // What is added makes a zero of a negative zero.
    let clamped = document.reward.clamp(0.0, 1.0) + 0.0;
    if clamped != document.reward {
        context
            .printer
            .warn(&format!("the reward {} is outside 0 to 1: {clamped} is recorded", document.reward), &[]);
    }
    if Words::of_case(&document.task, &document.tags).is_empty() {
        let text =
            "neither the task nor the tags have a word that counts (two bytes or more): nothing finds this case";
        context.printer.warn(text, &[]);
    }
    Ok(Case {
        id,
        task: document.task.into(),
        context: document.context.map(Cow::Owned),
        action: document.action.into(),
        outcome: document.outcome.into(),
        success: document.success,
        #[expect(clippy::cast_possible_truncation, reason = "a reward is kept in 32 bits")]
        reward: clamped as f32,
        tags: document.tags.into_iter().map(Cow::Owned).collect(),
        source_receipt: document.source_receipt.map(Cow::Owned),
        created_at,
        times_reused: 0,
    })
}

/// Runs the verb.
pub fn run(context: &mut Context, args: Record) -> Result<()> {
    let document = match args.task {
        Some(task) => Document {
            task,
            action: args.action.unwrap_or_default(),
            outcome: args.outcome.unwrap_or_default(),
            context: args.context,
            success: !args.failed,
            reward: args.reward.unwrap_or_else(best),
            tags: args.tags,
            source_receipt: args.source_receipt,
            ..Document::default()
        },
        None => {
            let hint = "give the case by flags: cruxctl case record --task T --action A --outcome O";
            let text = input::document("the case", None, append::LONGEST_RECORD, hint)?;
            let document = Document::read(&text, "standard input").map_err(|error| error.hint(hint))?;
            if document.case_id.is_some() || document.created_at.is_some() {
                let message = "a new case gets an id and a time of its own; standard input has case_id or created_at";
                return Err(Error::new(Code::UsageDocument, message).hint("cruxctl case import"));
            }
            document
        }
    };
    let id = env::new_id("c_")?;
    let now = context.env.now();
    let mut new = case(context, document, Cow::Borrowed(&id), now)?;
    append::check_length(&JOURNAL, &new.line())?;
    let mut offset = None;
    if args.dry_run {
        context.table(&JOURNAL, false)?;
    } else {
        let (lock, table) = context.locked(&JOURNAL)?;
        new.created_at = context.env.now();
        offset = super::append(context, &lock, table, &[new.line()])?.spans.first().map(|span| span.offset);
    }
    let printer = &mut context.printer;
    let told = if matches!(printer.format(), Format::Table | Format::Plain) {
        printer.raw(format!("{id}\n").as_bytes()).and_then(|()| printer.flush())
    } else {
        let cells = [Value::text(&*id), offset.map_or(Value::Absent, Value::Count), Value::Flag(args.dry_run)];
        printer
            .begin("cruxctl.case.record.v1", RECORDED)
            .and_then(|()| printer.row(0, &[&id], &cells))
            .and_then(|()| printer.end())
    };
    told.map_err(|error| error.after(offset.is_some(), &format!("the case {id} is recorded")))
}
