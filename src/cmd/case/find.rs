//! Finds the cases that are most like a text: in the case index where it has them, else one by one.

use std::collections::HashMap;
use std::collections::hash_map::Entry;

use clap::ValueEnum;

use super::Wanted;
use super::bank::Bank;
use crate::env;
use crate::error::Result;
use crate::journal::Span;
use crate::journal::table::Table;
use crate::retrieve::search::{Candidate, Question};
use crate::retrieve::segment::TermHasher;
use crate::retrieve::weighted::{self, Weigher};
use crate::retrieve::{self, Best, Words};
use crate::store::case::Case;

/// How cases are compared with a text.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Ranking {
    /// As the daemon does it: all words count the same
    Daemon,
    /// Rare words weigh more; stems of words, and pairs of Chinese, Japanese and Korean characters, are compared
    Weighted,
}

/// What is asked.
pub(super) struct Asked<'a> {
    pub(super) text: &'a str,
    pub(super) wanted: Wanted<'a>,
    pub(super) ranking: Ranking,
    /// How many cases are looked for.
    pub(super) most: usize,
    pub(super) min_score: f64,
    /// Whether it is asked which words match.
    pub(super) explain: bool,
    /// Whether the same case recorded again counts as one.
    pub(super) fold: bool,
}

/// A case that was found.
pub(super) struct Hit {
    /// Its record.
    pub(super) span: Span,
    /// How often it was recorded, where that was asked.
    pub(super) times: u64,
}

/// What was found.
pub(super) struct Answer<'a> {
    /// The best, in order.
    pub(super) found: Vec<(retrieve::Rank, Hit)>,
    /// How many cases are less similar than was asked for.
    pub(super) below: u64,
    /// The best score of these.
    pub(super) best_below: f64,
    /// What they were compared by.
    pub(super) ranker: Ranker<'a>,
}

/// At most so many candidates are taken from the case index to find which of them are the same.
const MOST_CANDIDATES: usize = 1 << 16;

impl<'a> Asked<'a> {
    /// Finds them. `None` where a record is not what the journal's index says.
    pub(super) fn find(&self, bank: &mut Bank, table: &mut Table) -> Result<Option<Answer<'a>>> {
        if self.ranking == Ranking::Daemon && bank.is_indexed() {
            let mut candidates = if self.fold { self.most.max(16) * 4 } else { self.most };
            while candidates <= MOST_CANDIDATES {
                let Some(mut collected) = self.collect(bank, table)? else { return Ok(None) };
                match self.indexed(&mut collected, bank, table, candidates)? {
                    Met::All => return Ok(Some(self.answer(collected))),
                    // More of the same may come.
                    Met::Some => candidates *= 4,
                    Met::Doubt => {
                        bank.distrust(table);
                        break;
                    }
                }
            }
        }
        bank.scan(table)?;
        Ok(self.collect(bank, table)?.map(|collected| self.answer(collected)))
    }

    fn answer(&self, collected: Collected<'a>) -> Answer<'a> {
        let Collected { mut best, folded, below, best_below, ranker } = collected;
        folded.into_values().for_each(|(rank, hit)| best.take(rank, hit));
        Answer { found: best.sorted(), below, best_below, ranker }
    }

    /// Compares the records that the case index does not have, one by one.
    fn collect(&self, bank: &Bank, table: &Table) -> Result<Option<Collected<'a>>> {
        let Some(ranker) = self.ranker(bank, table)? else { return Ok(None) };
        let mut whole = true;
        let mut collected =
            Collected { best: Best::new(self.most), folded: HashMap::new(), below: 0, best_below: 0.0, ranker };
        table.opened.each(&bank.rest, &mut |span, line| {
            let Some(case) = Case::read(line) else {
                whole = false;
                return Ok(());
            };
            let Some(similarity) = collected.ranker.compare(&case) else { return Ok(()) };
            if !self.wanted.has(&case) {
                return Ok(());
            }
            if similarity < self.min_score {
                collected.below += 1;
                collected.best_below = collected.best_below.max(similarity);
                return Ok(());
            }
            collected.take(similarity, &case, span, self.fold);
            Ok(())
        })?;
        Ok(whole.then_some(collected))
    }

    fn ranker(&self, bank: &Bank, table: &Table) -> Result<Option<Ranker<'a>>> {
        if self.ranking == Ranking::Daemon {
            let query = Words::of(self.text);
            return Ok(Some(Ranker::Daemon { frequencies: vec![0; query.len()], query }));
        }
        let (mut weigher, mut whole) = (Weigher::new(&env::random()?), true);
        table.opened.each(&bank.rest, &mut |_, line| {
            match Case::read(line) {
                Some(case) => weigher.take(&case.task, &case.tags),
                None => whole = false,
            }
            Ok(())
        })?;
        Ok(whole.then(|| Ranker::Weighted { query: weigher.query(self.text), weigher: Box::new(weigher) }))
    }

    /// Adds what the case index has.
    fn indexed(&self, all: &mut Collected<'_>, bank: &Bank, table: &mut Table, candidates: usize) -> Result<Met> {
        let Ranker::Daemon { query, frequencies } = &mut all.ranker else { return Ok(Met::Doubt) };
        let conditions = self.wanted.conditions(self.min_score);
        let question = |hasher: &TermHasher| Question::new(hasher, query, conditions, candidates, self.explain);
        let Some(found) = bank.ask(&question) else { return Ok(Met::Doubt) };
        frequencies.iter_mut().zip(&found.frequencies).for_each(|(all, more)| *all += more);
        all.below += found.below;
        all.best_below = all.best_below.max(found.best_below);
        for candidate in &found.candidates {
            let span = Span { offset: candidate.row.at.offset, len: u64::from(candidate.row.at.len) };
            if span.offset.checked_add(span.len).is_none_or(|end| end > table.opened.len) {
                return Ok(Met::Doubt);
            }
            let Ok(line) = table.opened.read(span) else { return Ok(Met::Doubt) };
            // It is held against the record, and that against the live ones.
            let Some(case) = Case::read(&line) else { return Ok(Met::Doubt) };
            let is_live = table.live.get(&case.id).is_ok_and(|live| live == Some(span));
            if !is_live || !all.ranker.agrees(candidate, &case) || !self.wanted.has(&case) {
                return Ok(Met::Doubt);
            }
            all.take(candidate.similarity, &case, span, self.fold);
        }
        let last = found.candidates.last().filter(|_| self.fold && found.candidates.len() >= candidates);
        let whole = last.is_none_or(|last| all.more_similar(last.similarity) >= self.most);
        Ok(if whole { Met::All } else { Met::Some })
    }
}

/// What the case index has told.
enum Met {
    /// All that can be among the best.
    All,
    /// Not all: the same cases fill the places.
    Some,
    /// What cannot be believed.
    Doubt,
}

/// What is collected of an answer.
struct Collected<'a> {
    best: Best<Hit>,
    /// The best of those that are the same, with how many they are.
    folded: HashMap<[u8; 32], (retrieve::Rank, Hit)>,
    below: u64,
    best_below: f64,
    ranker: Ranker<'a>,
}

impl Collected<'_> {
    fn take(&mut self, similarity: f64, case: &Case<'_>, span: Span, fold: bool) {
        let id = case.id.clone().into_owned();
        let rank = retrieve::Rank { similarity, reward: case.reward, created_at: case.created_at, id };
        let hit = Hit { span, times: 1 };
        if !fold {
            self.best.take(rank, hit);
            return;
        }
        match self.folded.entry(sameness(case)) {
            Entry::Vacant(free) => drop(free.insert((rank, hit))),
            Entry::Occupied(mut known) => {
                let times = known.get().1.times + 1;
                if rank.order(&known.get().0).is_lt() {
                    known.insert((rank, hit));
                }
                known.get_mut().1.times = times;
            }
        }
    }

    /// How many cases that are not the same are more similar than this.
    fn more_similar(&self, similarity: f64) -> usize {
        self.folded.values().filter(|(rank, _)| rank.similarity > similarity).count()
    }
}

/// How cases are compared, and what is known of the words by that.
pub(super) enum Ranker<'a> {
    /// By their words.
    Daemon {
        /// The words of the text.
        query: Words<'a>,
        /// How many cases have each of them.
        frequencies: Vec<u64>,
    },
    /// By the weights of their terms.
    Weighted {
        /// The text.
        query: weighted::Query,
        /// The terms of all cases.
        weigher: Box<Weigher>,
    },
}

impl Ranker<'_> {
    /// How similar a case is to the text; `None` where they have nothing in common.
    fn compare(&mut self, case: &Case<'_>) -> Option<f64> {
        match self {
            Ranker::Daemon { query, frequencies } => {
                let words = Words::of_case(&case.task, &case.tags);
                let mut common = 0;
                query.each_common(&words, &mut |place| {
                    common += 1;
                    frequencies[place] += 1;
                });
                (common > 0).then(|| retrieve::score(common, query.len(), words.len()))
            }
            Ranker::Weighted { query, weigher } => weigher.similarity(query, &case.task, &case.tags),
        }
    }

    /// Whether a case is what the case index says of it.
    fn agrees(&self, candidate: &Candidate, case: &Case<'_>) -> bool {
        let Ranker::Daemon { query, .. } = self else { return false };
        let words = Words::of_case(&case.task, &case.tags);
        let told = (candidate.similarity, candidate.size, candidate.row.reward, candidate.row.created_at);
        told == (retrieve::similarity(query, &words), words.len(), case.reward, case.created_at)
    }

    /// The words of a case that match, each with how many cases have it.
    pub(super) fn matched(&mut self, case: &Case<'_>) -> Vec<(String, u64)> {
        match self {
            Ranker::Daemon { query, frequencies } => {
                let words = Words::of_case(&case.task, &case.tags);
                let all = query.iter().zip(frequencies);
                all.filter(|(word, _)| words.has(word)).map(|(word, cases)| (word.to_owned(), *cases)).collect()
            }
            Ranker::Weighted { query, weigher } => weigher.matched(query, &case.task, &case.tags),
        }
    }
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
