//! `cruxctl case retrieve`: precedents for a task.

use clap::Args;

use super::Filter;
use super::bank::Bank;
use super::find::{Asked, Ranking};
use crate::cmd::{Context, input};
use crate::error::{Code, Error, Result};
use crate::render::{Group, Value};
use crate::retrieve::Words;
use crate::store::case::{Case, JOURNAL};

/// The longest text that is looked for.
const LONGEST_TEXT: u64 = 1 << 20;

/// A word is rare when it is in no more than one case of this many.
const RARE: u64 = 100;

/// Arguments of `case retrieve`.
#[derive(Args, Debug)]
pub struct Retrieve {
    /// The task, in words; - reads it from standard input
    #[arg(value_name = "TEXT")]
    pub text: String,
    /// How many cases, from 1 to 100
    #[arg(short = 'k', long = "top", value_name = "N", default_value_t = 5, value_parser = clap::value_parser!(u64).range(1..=100))]
    pub top: u64,
    /// Which cases.
    #[command(flatten)]
    pub filter: Filter,
    /// Only cases with at least this score, from 0 to 1
    #[arg(long, value_name = "SCORE", default_value_t = 0.0)]
    pub min_score: f64,
    /// How cases are compared with the text
    #[arg(long, value_enum, value_name = "RANKING", default_value = "daemon")]
    pub rank: Ranking,
    /// Say which words match, and which of them are rare
    #[arg(long)]
    pub explain: bool,
    /// Count the same case recorded again as one
    #[arg(long)]
    pub fold: bool,
}

/// What is said of each case that was found.
pub const FOUND: &[Group] = &[Group {
    name: "cases",
    one: "case",
    columns: &[
        "score",
        "id",
        "success",
        "reward",
        "task",
        "action",
        "outcome",
        "tags",
        "context",
        "created_at",
        "times",
        "matched",
        "rare",
    ],
    shown: &["score", "id", "success", "reward", "task", "action", "outcome", "times", "matched", "rare"],
    blocks: true,
}];

/// Runs the verb.
pub fn run(context: &mut Context, args: &Retrieve) -> Result<()> {
    if !(0.0..=1.0).contains(&args.min_score) {
        let message = format!("--min-score is a number from 0 to 1, and {} is none", args.min_score);
        return Err(Error::new(Code::UsageArguments, message));
    }
    let wanted = args.filter.at(context)?;
    let text = match args.text.as_str() {
        "-" => {
            let hint = "name the task: cruxctl case retrieve \"deploy the canary\"";
            String::from_utf8_lossy(&input::document("the task", None, LONGEST_TEXT, hint)?).into_owned()
        }
        text => text.to_owned(),
    };
    let asked = Asked {
        text: &text,
        wanted,
        ranking: args.rank,
        most: usize::try_from(args.top).unwrap_or(usize::MAX),
        min_score: args.min_score,
        explain: args.explain,
        fold: args.fold,
    };
    let weighted = args.rank == Ranking::Weighted;
    let peeked = if weighted { None } else { Bank::peek(&context.dir) };
    let mut table = context.table(&JOURNAL, true)?;
    let mut bank = match weighted {
        false => Bank::open(&context.dir, &mut table, peeked)?,
        true => Bank::scanned(&context.dir, &mut table)?,
    };
    let mut answer = match asked.find(&mut bank, &mut table)? {
        Some(answer) => answer,
        None => {
            context.without_it(&JOURNAL, &mut table)?;
            bank = Bank::scanned(&context.dir, &mut table)?;
            asked.find(&mut bank, &mut table)?.ok_or_else(|| table.distrust())?
        }
    };
    if answer.below > 0 {
        let text = format!(
            "{} below --min-score {}; the best of them scores {}",
            if answer.below == 1 { "1 case lies".to_owned() } else { format!("{} cases lie", answer.below) },
            args.min_score,
            answer.best_below
        );
        context.printer.note(&text);
    }
    if answer.found.is_empty() {
        bank.keep(&table);
        return Err(nothing(args, &text, answer.below));
    }
    context.printer.begin("cruxctl.case.retrieve.v1", FOUND)?;
    for (rank, hit) in answer.found {
        let line = table.opened.read(hit.span)?;
        let case = Case::read(&line).ok_or_else(|| table.distrust())?;
        let (mut matched, mut rare) = (Value::Absent, Value::Absent);
        if args.explain {
            let words = answer.ranker.matched(&case);
            let is_rare = |(_, cases): &&(String, u64)| cases * RARE <= table.live.live();
            rare = Value::Texts(words.iter().filter(is_rare).map(|(word, _)| word.clone()).collect());
            matched = Value::Texts(words.into_iter().map(|(word, _)| word).collect());
        }
        let cells = [
            Value::double(rank.similarity),
            Value::text(&*case.id),
            Value::Flag(case.success),
            Value::single(case.reward),
            Value::text(&*case.task),
            Value::text(&*case.action),
            Value::text(&*case.outcome),
            Value::Texts(case.tag_texts()),
            Value::maybe(case.context.as_deref()),
            Value::Time(case.created_at),
            if args.fold { Value::Count(hit.times) } else { Value::Absent },
            matched,
            rare,
        ];
        context.printer.row(0, &[&case.id], &cells)?;
    }
    context.printer.end()?;
    // The answer does not wait for it.
    context.printer.flush()?;
    bank.keep(&table);
    Ok(())
}

/// Why nothing was found.
fn nothing(args: &Retrieve, text: &str, below: u64) -> Error {
    let filter = &args.filter;
    let filtered = filter.only_success || filter.since.is_some() || !filter.tags.is_empty();
    let and = if filtered { " and passes the filters" } else { "" };
    let message = match Words::of(text).len() {
        0 => "the text has no word that counts (two bytes or more)".to_owned(),
        _ if below > 0 => "no case reaches --min-score".to_owned(),
        _ if args.rank == Ranking::Weighted => format!("no case has a word in common with the text{and}"),
        1 => format!("no case has the word{and}"),
        words => format!("no case has any of the {words} words{and}"),
    };
    Error::new(Code::NoMatch, message)
}
