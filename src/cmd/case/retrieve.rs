//! `cruxctl case retrieve`: precedents for a task.

use std::collections::HashMap;
use std::collections::hash_map::Entry;

use clap::Args;

use super::bank::Bank;
use super::{Filter, Wanted};
use crate::cmd::{Context, input};
use crate::error::{Code, Error, Result};
use crate::journal::Span;
use crate::journal::table::Table;
use crate::render::{Group, Value};
use crate::retrieve::search::{Found, Question};
use crate::retrieve::segment::{Row, TermHasher};
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
}

/// What is asked.
struct Asked<'a> {
    query: Words<'a>,
    wanted: Wanted<'a>,
    args: &'a Retrieve,
    most: usize,
}

/// What was found.
struct Answer {
    best: Best<Hit>,
    /// How many cases lie below the least score.
    below: u64,
    best_below: f64,
    /// How many cases have each word.
    frequencies: Vec<u64>,
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
    let asked =
        Asked { query: Words::of(&text), wanted, args, most: usize::try_from(args.top).unwrap_or(usize::MAX) };
    let peeked = Bank::peek(&context.dir);
    let mut table = context.table(&JOURNAL, true)?;
    let mut bank = if args.fold { Bank::scanned(&mut table)? } else { Bank::open(&context.dir, &mut table, peeked)? };
    let answer = match asked.indexed(&bank, &table)? {
        Some(answer) => answer,
        None => {
            if bank.distrust(&context.dir, &table) {
                bank = Bank::scanned(&mut table)?;
            }
            asked.scanned(&bank, &table)?
        }
    };
    let found = answer.best.sorted();
    if answer.below > 0 {
        let text = format!(
            "{} below --min-score {}; the best of them scores {}",
            if answer.below == 1 { "1 case lies".to_owned() } else { format!("{} cases lie", answer.below) },
            args.min_score,
            answer.best_below
        );
        context.printer.note(&text);
    }
    if found.is_empty() {
        bank.keep(&context.dir, &table);
        return Err(asked.nothing(answer.below));
    }
    context.printer.begin("cruxctl.case.retrieve.v1", FOUND)?;
    for (rank, hit) in found {
        let line = table.opened.read(hit.span)?;
        let case = Case::read(&line).ok_or_else(|| table.distrust())?;
        let words = Words::of_case(&case.task, &case.tags);
        let (mut matched, mut rare) = (Vec::new(), Vec::new());
        for (word, cases) in asked.query.iter().zip(&answer.frequencies).filter(|(word, _)| words.has(word)) {
            matched.push(word.to_owned());
            if cases * RARE <= table.live.live() {
                rare.push(word.to_owned());
            }
        }
        let explained = |words| if args.explain { Value::Texts(words) } else { Value::Absent };
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
            explained(matched),
            explained(rare),
        ];
        context.printer.row(0, &[&case.id], &cells)?;
    }
    context.printer.end()?;
    bank.keep(&context.dir, &table);
    Ok(())
}

impl Asked<'_> {
    /// The answer of the case index, with what it does not have yet; `None` where it cannot be believed.
    fn indexed(&self, bank: &Bank, table: &Table) -> Result<Option<Answer>> {
        let conditions = self.wanted.conditions(self.args.min_score);
        let question =
            |hasher: &TermHasher| Question::new(hasher, &self.query, conditions, self.most, self.args.explain);
        let Some(indexed) = bank.ask(&question) else { return Ok(None) };
        let mut answer = self.scanned(bank, table)?;
        for (candidate, span) in indexed.records {
            let line = table.opened.read(span)?;
            // It is held against the record.
            let Some(case) = Case::read(&line) else { return Ok(None) };
            let words = Words::of_case(&case.task, &case.tags);
            let similarity = retrieve::similarity(&self.query, &words);
            let Row { reward, created_at, .. } = candidate.row;
            let told = (candidate.similarity, candidate.size, reward, created_at);
            if told != (similarity, words.len(), case.reward, case.created_at) || !self.wanted.has(&case) {
                return Ok(None);
            }
            answer.best.take(rank(similarity, &case), Hit { span, times: 1 });
        }
        let Found { below, best_below, frequencies, .. } = indexed.found;
        answer.below += below;
        answer.best_below = answer.best_below.max(best_below);
        answer.frequencies.iter_mut().zip(frequencies).for_each(|(all, more)| *all += more);
        Ok(Some(answer))
    }

    /// The answer of the records that the case index does not have, one by one.
    fn scanned(&self, bank: &Bank, table: &Table) -> Result<Answer> {
        let mut answer =
            Answer { best: Best::new(self.most), below: 0, best_below: 0.0, frequencies: vec![0; self.query.len()] };
        let mut folded: HashMap<[u8; 32], (Rank, Hit)> = HashMap::new();
        table.opened.each(&bank.rest, &mut |span, line| {
            let Some(case) = Case::read(line) else { return Err(table.distrust()) };
            let words = Words::of_case(&case.task, &case.tags);
            let mut common = 0;
            for (word, cases) in self.query.iter().zip(&mut answer.frequencies) {
                let has = words.has(word);
                common += usize::from(has);
                *cases += u64::from(has);
            }
            if common == 0 || !self.wanted.has(&case) {
                return Ok(());
            }
            let similarity = retrieve::score(common, self.query.len(), words.len());
            if similarity < self.args.min_score {
                answer.below += 1;
                answer.best_below = answer.best_below.max(similarity);
                return Ok(());
            }
            let (rank, hit) = (rank(similarity, &case), Hit { span, times: 1 });
            if !self.args.fold {
                answer.best.take(rank, hit);
                return Ok(());
            }
            match folded.entry(sameness(&case)) {
                Entry::Vacant(free) => drop(free.insert((rank, hit))),
                Entry::Occupied(mut known) => {
                    let times = known.get().1.times + 1;
                    if rank.order(&known.get().0).is_lt() {
                        known.insert((rank, hit));
                    }
                    known.get_mut().1.times = times;
                }
            }
            Ok(())
        })?;
        folded.into_values().for_each(|(rank, hit)| answer.best.take(rank, hit));
        Ok(answer)
    }

    /// Why nothing was found.
    fn nothing(&self, below: u64) -> Error {
        let filter = &self.args.filter;
        let filtered = filter.only_success || filter.since.is_some() || !filter.tags.is_empty();
        let and = if filtered { " and passes the filters" } else { "" };
        let message = match self.query.len() {
            0 => "the text has no word that counts (two bytes or more)".to_owned(),
            _ if below > 0 => "no case reaches --min-score".to_owned(),
            1 => format!("no case has the word{and}"),
            words => format!("no case has any of the {words} words{and}"),
        };
        Error::new(Code::NoMatch, message)
    }
}

fn rank(similarity: f64, case: &Case<'_>) -> Rank {
    Rank { similarity, reward: case.reward, created_at: case.created_at, id: case.id.clone().into_owned() }
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
