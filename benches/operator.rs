//! `cargo bench --bench operator`: what an operator asks of a long journal, and what a shell asks at a press of Tab, beside
//! their peers, in one run, on data that it makes itself.
//!
//! `cargo bench --bench operator -- --records 1000000 --ids 100000 --rounds 20`.

#![allow(clippy::print_stdout, reason = "a benchmark prints its table")]
#![allow(
    clippy::cast_possible_truncation,
    clippy::cast_precision_loss,
    reason = "figures for the eye, on machines of 64 bits"
)]

use std::fs::{self, File};
use std::io::{BufWriter, Write};
use std::path::Path;
use std::process::Command;

use measure::{Dice, EMPTY, LONG_ROUNDS, Row, WORDS, flag, has, program, rounds};

mod measure;

fn main() {
    let folder = tempfile::TempDir::new().expect("a temporary folder");
    let (records, ids) = (flag("--records").unwrap_or(250_000), flag("--ids").unwrap_or(100_000));
    run(records, ids, flag("--rounds").map_or(20, |n| n as usize), folder.path());
}

/// Writes a journal of records of some 1 KB each; every fiftieth is a deletion.
fn journal(path: &Path, records: u64, ids: u64) {
    let mut dice = Dice(1);
    let mut out = BufWriter::new(File::create(path).expect("the journal"));
    let texts: Vec<String> =
        (0..200).map(|_| (0..130).map(|_| WORDS[dice.roll(14) as usize]).collect::<Vec<_>>().join(" ")).collect();
    for n in 0..records {
        // At first each id once.
        let id = if n < ids { n } else { dice.roll(ids) };
        let line = match n % 50 {
            49 => format!("{{\"op\":\"delete\",\"session_id\":\"job-{id}\"}}\n"),
            _ => format!(
                "{{\"op\":\"store\",\"session\":{{\"session_id\":\"job-{id}\",\"state\":{{\"step\":{n},\"text\":\"{}\"}},\
                 \"updated_at\":\"2026-06-{:02}T{:02}:{:02}:{:02}.5Z\",\"total_tokens\":250,\"archived\":false}}}}\n",
                texts[(n % 200) as usize],
                1 + n * 28 / records,
                n / 3_600 % 24,
                n / 60 % 60,
                n % 60
            ),
        };
        out.write_all(line.as_bytes()).expect("the journal");
    }
    out.flush().expect("the journal");
}

fn run(records: u64, ids: u64, times: usize, folder: &Path) {
    let ours = env!("CARGO_BIN_EXE_cruxctl");
    let dir = folder.join("data");
    fs::create_dir(&dir).expect("a data directory");
    let path = dir.join("sessions.jsonl");
    journal(&path, records, ids);
    let bytes = fs::metadata(&path).expect("the journal").len() as f64;
    let (dir, file) = (dir.display().to_string(), path.display().to_string());
    println!(
        "{records} records of {ids} sessions, {:.0} MiB; medians of {LONG_ROUNDS} and {times} rounds\n",
        bytes / 1048576.0
    );
    let page = folder.join("page.html").display().to_string();
    let ask = |name: &str, words: &[&str]| Row::new(name, &[&[ours], words, &["--data-dir", &dir]].concat());
    // Begins witness and index.
    ask("", &["journal", "check"]).round();
    let mut long = vec![
        ask("journal check, all known to the witness", &["journal", "check", "--dry-run"]),
        ask("session history", &["session", "history", "job-77"]),
        ask("session get --at", &["session", "get", "job-77", "--at", "2026-06-10T00:00:00Z"]),
        ask("journal log", &["journal", "log"]),
        ask("journal log --id", &["journal", "log", "--id", "job-77"]),
        ask("journal stat", &["journal", "stat"]),
        ask("journal report", &["journal", "report", "--html", &page]),
        ask("doctor", &["doctor"]),
        Row::new("wc -l", &["wc", "-l", &file]),
    ];
    if has("jq") {
        long.push(Row::new(
            "jq, one id",
            &["jq", "-c", "select((.session.session_id // .session_id) == \"job-77\")", &file],
        ));
    }
    rounds(&mut long, LONG_ROUNDS);
    long.iter_mut().for_each(Row::memory);
    println!("| whole journal | seconds | GB/s | peak MiB | to journal check |\n|---|---|---|---|---|");
    let base = long[0].median();
    for row in &long {
        let (seconds, peak) = (row.median(), row.peak());
        println!("| {} | {seconds:.3} | {:.2} | {peak} | {:.2} × |", row.name, bytes / 1e9 / seconds, seconds / base);
    }
    let Some(empty) = program(folder, "empty", EMPTY) else {
        println!("\nrustc cannot build the empty program: no ratios of short commands");
        return;
    };
    // As fish asks, which hands over the line as it was typed.
    let tab = |name: &str, word: &str| {
        let line = format!("cruxctl session get --data-dir {dir} {word}");
        let command = ["env", "_CRUXCTL_COMPLETE=fish", ours, "--", &line];
        let output = Command::new(command[0]).args(&command[1..]).output().expect("the command runs");
        assert!(!output.stdout.is_empty(), "nothing was offered");
        Row::new(name, &command)
    };
    let mut short = vec![
        Row::new("empty program", &["env", &empty.display().to_string()]),
        Row::new("cruxctl --version", &["env", ours, "--version"]),
        tab(&format!("Tab behind job-77, {ids} sessions"), "job-77"),
        tab(&format!("Tab behind nothing, {ids} sessions"), ""),
    ];
    rounds(&mut short, times);
    println!("\n| at the prompt | ms | to an empty program |\n|---|---|---|");
    let base = short[0].median();
    for row in &short {
        println!("| {} | {:.2} | {:.1} × |", row.name, row.median() * 1e3, row.median() / base);
    }
}
