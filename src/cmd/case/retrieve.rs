//! `cruxctl case retrieve`: precedents for a task.

use std::collections::HashMap;

use clap::Args;

use super::Filter;
use crate::cmd::{Context, input};
use crate::error::{Code, Error, Result};
use crate::journal::Span;
use crate::render::{Group, Value};
use crate::retrieve::{self, Best, Rank, Words};
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

/// A case that was found.
struct Hit {
    span: Span,
    times: u64,
    matched: Vec<String>,
}

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
            String::from_utf8_lossy(&input::document("the task", LONGEST_TEXT, hint)?).into_owned()
        }
        text => text.to_owned(),
    };
    let query = Words::of(&text);
    let mut table = context.table(&JOURNAL, true)?;
    let most = usize::try_from(args.top).unwrap_or(usize::MAX);
    let mut best: Best<Hit> = Best::new(most);
    let mut folded: HashMap<[u8; 32], (Rank, Hit)> = HashMap::new();
    let (mut below, mut best_below) = (0u64, 0.0f64);
    let (mut cases, mut frequency) = (0u64, HashMap::<&str, u64>::new());
    let spans = table.spans()?;
    table.opened.each(&spans, &mut |span, line| {
        let Some(case) = Case::read(line) else { return Err(table.distrust()) };
        let words = Words::of_case(&case.task, &case.tags);
        let matched: Vec<&str> = query.iter().filter(|word| words.has(word)).collect();
        cases += 1;
        if args.explain {
            matched.iter().for_each(|word| *frequency.entry(word).or_default() += 1);
        }
        if matched.is_empty() || !wanted.has(&case) {
            return Ok(());
        }
        let similarity = retrieve::similarity(&query, &words);
        if similarity < args.min_score {
            below += 1;
            best_below = best_below.max(similarity);
            return Ok(());
        }
        let matched = matched.into_iter().map(str::to_owned).collect();
        let rank =
            Rank { similarity, reward: case.reward, created_at: case.created_at, id: case.id.clone().into_owned() };
        let hit = Hit { span, times: 1, matched };
        if !args.fold {
            best.take(rank, hit);
            return Ok(());
        }
        match folded.entry(sameness(&case)) {
            std::collections::hash_map::Entry::Vacant(free) => drop(free.insert((rank, hit))),
            std::collections::hash_map::Entry::Occupied(mut known) => {
                let times = known.get().1.times + 1;
                if rank.order(&known.get().0).is_lt() {
                    known.insert((rank, hit));
                }
                known.get_mut().1.times = times;
            }
        }
        Ok(())
    })?;
    folded.into_values().for_each(|(rank, hit)| best.take(rank, hit));
    let found = best.sorted();
    if below > 0 {
        let text = format!(
            "{} below --min-score {}; the best of them scores {best_below}",
            if below == 1 { "1 case lies".to_owned() } else { format!("{below} cases lie") },
            args.min_score
        );
        context.printer.note(&text);
    }
    if found.is_empty() {
        let filter = &args.filter;
        let filtered = filter.only_success || filter.since.is_some() || !filter.tags.is_empty();
        let and = if filtered { " and passes the filters" } else { "" };
        let message = match query.len() {
            0 => "the text has no word that counts (two bytes or more)".to_owned(),
            _ if below > 0 => "no case reaches --min-score".to_owned(),
            1 => format!("no case has the word{and}"),
            words => format!("no case has any of the {words} words{and}"),
        };
        return Err(Error::new(Code::NoMatch, message));
    }
    context.printer.begin("cruxctl.case.retrieve.v1", FOUND)?;
    for (rank, hit) in found {
        let line = table.opened.read(hit.span)?;
        let case = Case::read(&line).ok_or_else(|| table.distrust())?;
        let is_rare = |word: &&String| frequency.get(word.as_str()).is_some_and(|n| n * RARE <= cases);
        let rare = hit.matched.iter().filter(is_rare).cloned().collect();
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
            if args.explain { Value::Texts(hit.matched) } else { Value::Absent },
            if args.explain { Value::Texts(rare) } else { Value::Absent },
        ];
        context.printer.row(0, &[&case.id], &cells)?;
    }
    context.printer.end()
}

/// What is the same in a case that is recorded again.
fn sameness(case: &Case<'_>) -> [u8; 32] {
    let mut hasher = blake3::Hasher::new();
    let texts = [&*case.task, case.context.as_deref().unwrap_or_default(), &case.action, &case.outcome];
    for text in texts.into_iter().chain(case.tags.iter().map(|tag| &**tag)) {
        hasher.update(&(text.len() as u64).to_le_bytes());
        hasher.update(text.as_bytes());
    }
    hasher.update(&[u8::from(case.success)]);
    *hasher.finalize().as_bytes()
}
