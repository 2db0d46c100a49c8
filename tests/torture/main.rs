//! Tries to break the tool, with everything that a machine can do to it, and counts what was lost. Nothing may be.
//!
//! ```text
//! cargo test --test torture                     the short form: some minutes
//! cargo test --test torture -- --long           all of it: about an hour
//!     --only NAME     one part alone; may be given more than once
//!     --seed N        other random choices
//!     --life N        of the random lives of --only model this one alone, told step by step
//! ```
//!
//! At its end stands a table: what was tried, how often, how it ended, what was lost. A story of each loss is told above
//! it, and the process ends with 1.

#![allow(clippy::unwrap_used, clippy::panic, reason = "what fails here must fail loudly")]
#![allow(clippy::print_stdout, clippy::print_stderr, reason = "the table is the answer")]
#![allow(missing_docs, unreachable_pub, dead_code, reason = "nobody outside reads a test binary")]

mod bits;
mod calls;
mod faults;
mod fixtures;
mod given;
mod journals;
mod kills;
mod machines;
mod model;
mod reader;
mod state;
#[path = "../support.rs"]
mod support;
mod tally;
mod typed;
mod verbs;

use std::path::Path;
use std::time::Instant;

use tally::{Plan, Tally};

/// A part: its name, and what it does.
type Part = (&'static str, fn(&Plan) -> Vec<Tally>);

/// All of them, in the order of the table.
const PARTS: &[Part] = &[
    ("calls", calls::run),
    ("kills", kills::run),
    ("model", model::run),
    ("bits", bits::run),
    ("fixtures", fixtures::run),
    ("machines", machines::run),
];

fn main() {
    let plan = match Plan::of(std::env::args().skip(1)) {
        Ok(plan) => plan,
        Err(why) => {
            eprintln!("{why}");
            std::process::exit(2);
        }
    };
    // Thousands of directories come and go: in memory that costs nothing, and no disk is worn out.
    let memory = Path::new("/dev/shm");
    if tempfile::tempdir_in(memory).is_ok() {
        let _ = tempfile::env::override_temp_dir(memory);
    }
    // What a part has lost is told at its end. A panic of this thread is a mistake in here.
    let loud = std::panic::take_hook();
    std::panic::set_hook(Box::new(move |info| {
        if std::thread::current().name() == Some("main") {
            loud(info);
        }
    }));
    let mut tallies = Vec::new();
    for (name, run) in PARTS {
        if plan.wants(name) {
            let since = Instant::now();
            let own = run(&plan);
            let tried: u64 = own.iter().map(Tally::tried).sum();
            eprintln!("{name}: {tried} tried in {} s", since.elapsed().as_secs());
            tallies.extend(own);
        }
    }
    faults::sweep();
    let losses: Vec<String> = tallies.iter().flat_map(Tally::losses).collect();
    for loss in losses.iter().take(40) {
        println!("LOST: {loss}\n");
    }
    println!("{}", tally::table(&tallies));
    println!(
        "seed {}, {} form: {}",
        plan.seed,
        if plan.long { "long" } else { "short" },
        match losses.len() {
            0 => "nothing was lost".to_owned(),
            n => format!("{n} losses"),
        }
    );
    std::process::exit(i32::from(!losses.is_empty()));
}
