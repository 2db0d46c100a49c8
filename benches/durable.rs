//! `cargo bench --bench durable`: inputs that are accepted, one process's many and thirty processes' one each, and the whole
//! way from an input over a worker to its result, beside the same done with the `sqlite3` shell, in one run.
//!
//! `cargo bench --bench durable -- --inputs 100000 --rounds 20`. Both sides sync what they acknowledge.

#![allow(clippy::print_stdout, reason = "a benchmark prints its table")]
#![allow(clippy::cast_possible_truncation, clippy::cast_precision_loss, reason = "figures for the eye")]

use std::fmt::Write as _;
use std::fs;
use std::path::Path;

use measure::{Row, flag, has, rounds};

#[allow(dead_code, reason = "other benchmarks need more of it")]
mod measure;

/// How many processes send at once.
const SENDERS: u64 = 30;

fn main() {
    let folder = tempfile::TempDir::new().expect("a temporary folder");
    run(flag("--inputs").unwrap_or(100_000), flag("--rounds").map_or(20, |n| n as usize), folder.path());
}

/// The inputs as lines, and as one transaction of the peer.
fn inputs(folder: &Path, count: u64) {
    let (mut lines, mut sql) = (String::new(), String::from("PRAGMA synchronous=FULL;\nBEGIN;\n"));
    for n in 0..count {
        let _ = writeln!(lines, "{{\"order\":{n},\"text\":\"as it was sent\"}}");
        let _ = writeln!(sql, "INSERT INTO input(payload) VALUES('{{\"order\":{n},\"text\":\"as it was sent\"}}');");
    }
    sql.push_str("COMMIT;\n");
    fs::write(folder.join("inputs.jsonl"), lines).expect("the inputs");
    fs::write(folder.join("inputs.sql"), sql).expect("the inputs");
}

fn run(count: u64, times: usize, folder: &Path) {
    let ours = env!("CARGO_BIN_EXE_cruxctl");
    inputs(folder, count);
    let at = folder.display();
    let one = format!("{ours} durable --data-dir {at}/data --quiet");
    let which = "--target t --key k";
    let anew = format!("rm -rf {at}/data; {one} open --target t --kind flow --key k > /dev/null");
    let table = "CREATE TABLE input(cursor INTEGER PRIMARY KEY, payload TEXT, result TEXT)";
    let peer = format!("sqlite3 -cmd '.timeout 20000' -cmd 'PRAGMA synchronous=FULL' {at}/peer.db");
    let peer_anew = format!("rm -f {at}/peer.db*; {peer} 'PRAGMA journal_mode=WAL; {table};' > /dev/null");
    let sh = |name: &str, script: String, before: &str| {
        let before = before.to_owned();
        Row::new(name, &["sh", "-c", &script]).before(move || {
            let done = std::process::Command::new("sh").args(["-c", &before]).status().expect("a shell");
            assert!(done.success(), "{before}");
        })
    };
    let (insert, all) = ("INSERT INTO input(payload) VALUES('\\\"x\\\"') RETURNING cursor", "for i in $(seq 30); do");
    let mut many = vec![
        sh(
            "cruxctl durable send-many",
            format!("{one} send-many {which} --file {at}/inputs.jsonl > /dev/null"),
            &anew,
        ),
        sh("sqlite3, one transaction", format!("{peer} < {at}/inputs.sql > /dev/null"), &peer_anew),
    ];
    let mut parallel = vec![
        sh(
            "cruxctl durable send, 30 at once",
            format!("{all} echo 1 | {one} send {which} > /dev/null & done; wait"),
            &anew,
        ),
        sh("sqlite3, 30 at once", format!("{all} {peer} \"{insert}\" > /dev/null & done; wait"), &peer_anew),
    ];
    let mut round_trip = vec![
        sh(
            "cruxctl: send, work, result",
            format!(
                "id=$(echo '\"x\"' | {one} send {which} --format id); {one} work -- cat > /dev/null; \
                 test \"$({one} result --input $id)\" = '\"x\"'"
            ),
            &anew,
        ),
        sh(
            "sqlite3: insert, select, update, select",
            format!(
                "id=$({peer} \"{insert}\"); result=$({peer} \"SELECT payload FROM input WHERE cursor=$id\" | cat); \
                 {peer} \"UPDATE input SET result='$result' WHERE cursor=$id\"; \
                 test \"$({peer} \"SELECT result FROM input WHERE cursor=$id\")\" = '\"x\"'"
            ),
            &peer_anew,
        ),
    ];
    if !has("sqlite3") {
        println!("sqlite3 is missing: there is no peer");
        [&mut many, &mut parallel, &mut round_trip].into_iter().for_each(|rows| rows.truncate(1));
    }
    println!(
        "medians of {times} rounds\n\n| accepted, and on disk | inputs | ms | inputs a second | to cruxctl |\n|---|---|---|---|---|"
    );
    for (rows, inputs) in [(&mut many, count), (&mut parallel, SENDERS), (&mut round_trip, 1)] {
        rounds(rows, times);
        let base = rows[0].median();
        for row in rows.iter() {
            let seconds = row.median();
            let rate = inputs as f64 / seconds;
            println!("| {} | {inputs} | {:.2} | {rate:.0} | {:.2} × |", row.name, seconds * 1e3, seconds / base);
        }
    }
}
