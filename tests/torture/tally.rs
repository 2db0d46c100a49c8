//! What is to be tried, and the count of it.

use std::any::Any;
use std::collections::BTreeMap;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;

/// What is to be tried.
#[derive(Clone, Debug)]
pub struct Plan {
    /// Everything, however long it takes.
    pub long: bool,
    /// What random choices are made of.
    pub seed: u64,
    /// Of random lives this one alone, told step by step.
    pub life: Option<u64>,
    only: Vec<String>,
}

impl Plan {
    /// The plan of these arguments; why there is none.
    pub fn of(mut args: impl Iterator<Item = String>) -> Result<Plan, String> {
        let mut plan = Plan { long: false, seed: 1, life: None, only: Vec::new() };
        while let Some(arg) = args.next() {
            let mut value = || args.next().ok_or(format!("{arg} needs a value"));
            match arg.as_str() {
                "--long" => plan.long = true,
                "--seed" => plan.seed = value()?.parse().map_err(|_| "--seed needs a number".to_owned())?,
                "--life" => plan.life = Some(value()?.parse().map_err(|_| "--life needs a number".to_owned())?),
                "--only" => plan.only.push(value()?),
                // Cargo's own.
                "--nocapture" | "--quiet" => {}
                other => return Err(format!("there is no argument {other}")),
            }
        }
        Ok(plan)
    }

    /// Whether a part is to be done.
    pub fn wants(&self, name: &str) -> bool {
        self.only.is_empty() || self.only.iter().any(|only| only == name)
    }
}

/// How often one thing was tried, and how it ended.
#[derive(Debug)]
pub struct Tally {
    what: String,
    counts: Mutex<BTreeMap<String, u64>>,
    losses: Mutex<Vec<String>>,
}

impl Tally {
    pub fn new(what: impl Into<String>) -> Tally {
        Tally { what: what.into(), counts: Mutex::default(), losses: Mutex::default() }
    }

    /// Tries something once; `story` is told where it panics, which is how a loss is found. What it hands back is how it
    /// ended, in a word or two.
    pub fn try_it(&self, story: impl Fn() -> String, attempt: impl FnOnce() -> String) -> bool {
        match catch_unwind(AssertUnwindSafe(attempt)) {
            Ok(outcome) => {
                self.count(&outcome, 1);
                true
            }
            Err(panic) => {
                self.lost(format!("{}: {}", story(), words(&*panic)));
                false
            }
        }
    }

    /// Counts what has ended well.
    pub fn count(&self, outcome: &str, times: u64) {
        *self.counts.lock().unwrap().entry(outcome.to_owned()).or_default() += times;
    }

    /// Tells of a loss.
    pub fn lost(&self, story: String) {
        self.count("LOST", 1);
        self.losses.lock().unwrap().push(format!("{}: {story}", self.what));
    }

    pub fn tried(&self) -> u64 {
        self.counts.lock().unwrap().values().sum()
    }

    pub fn losses(&self) -> Vec<String> {
        self.losses.lock().unwrap().clone()
    }
}

/// What a panic has said.
pub fn words(panic: &(dyn Any + Send)) -> String {
    let text = panic.downcast_ref::<String>().cloned();
    text.or_else(|| panic.downcast_ref::<&str>().map(|text| (*text).to_owned())).unwrap_or_default()
}

/// Does jobs on as many threads as there are cores, and a few more: most of the time a job waits for a process.
pub fn spread<T: Sync>(jobs: &[T], work: impl Fn(&T) + Sync) {
    let next = AtomicUsize::new(0);
    let threads = thread::available_parallelism().map_or(2, usize::from) + 2;
    thread::scope(|scope| {
        for _ in 0..threads.min(jobs.len()) {
            scope.spawn(|| {
                while let Some(job) = jobs.get(next.fetch_add(1, Ordering::Relaxed)) {
                    work(job);
                }
            });
        }
    });
}

/// The table, as Markdown has it.
pub fn table(tallies: &[Tally]) -> String {
    let mut rows = vec![["what was tried".to_owned(), "times".into(), "how it ended".into(), "lost".into()]];
    for tally in tallies {
        let counts = tally.counts.lock().unwrap();
        let ended: Vec<String> = counts
            .iter()
            .filter(|(outcome, _)| *outcome != "LOST")
            .map(|(outcome, times)| format!("{times} {outcome}"))
            .collect();
        let (tried, lost): (u64, usize) = (counts.values().sum(), tally.losses.lock().unwrap().len());
        rows.push([tally.what.clone(), tried.to_string(), ended.join(", "), lost.to_string()]);
    }
    let width = |column: usize| rows.iter().map(|row| row[column].chars().count()).max().unwrap_or(0);
    let widths: Vec<usize> = (0..4).map(width).collect();
    let mut out = String::new();
    for (number, row) in rows.iter().enumerate() {
        let cells: Vec<String> = row.iter().zip(&widths).map(|(cell, width)| format!("{cell:width$}")).collect();
        out.push_str(&format!("| {} |\n", cells.join(" | ")));
        if number == 0 {
            let rules: Vec<String> = widths.iter().map(|width| "-".repeat(*width)).collect();
            out.push_str(&format!("| {} |\n", rules.join(" | ")));
        }
    }
    out
}

/// A small generator of numbers that look random: SplitMix64.
#[derive(Clone, Debug)]
pub struct Dice(u64);

impl Dice {
    pub fn new(seed: u64) -> Dice {
        Dice(seed)
    }

    pub fn roll(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut x = self.0;
        x = (x ^ (x >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        x = (x ^ (x >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        x ^ (x >> 31)
    }

    /// A number below `end`.
    pub fn below(&mut self, end: u64) -> u64 {
        self.roll() % end.max(1)
    }

    /// One of these.
    pub fn of<'t, T>(&mut self, all: &'t [T]) -> &'t T {
        &all[usize::try_from(self.below(all.len() as u64)).unwrap()]
    }
}
