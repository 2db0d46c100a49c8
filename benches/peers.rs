//! `cargo bench --bench peers`: journals and sessions beside their peers, in one run, on data that it makes itself.
//!
//! Every figure is a median of interleaved rounds, and every row says how it stands to its peer: machines differ and
//! are noisy, ratios less so. Sizes are set by flags: `cargo bench -- --mib 1024 --rounds 30`.

#![allow(clippy::print_stdout, reason = "a benchmark prints its table")]
#![allow(
    clippy::cast_possible_truncation,
    clippy::cast_precision_loss,
    clippy::cast_sign_loss,
    reason = "figures for the eye, on machines of 64 bits"
)]

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io::{BufRead, BufReader, BufWriter, Write};
use std::path::Path;
use std::process::{Command, Stdio};

use serde::Deserialize;

use measure::{Dice, EMPTY, LONG_ROUNDS, Row, WORDS, flag, has, itself, program, rounds};

mod measure;

/// What a run is asked for.
struct Sizes {
    /// The journal's length.
    mib: u64,
    /// Rounds of the short commands.
    rounds: usize,
}

fn main() {
    // As a peer, this program is the plain replay that is measured.
    let args: Vec<String> = std::env::args().skip(1).collect();
    if let [flag, path] = &args[..]
        && flag == "--plain-replay"
    {
        println!("{}", plain_replay(Path::new(path)));
        return;
    }
    let sizes = Sizes { mib: flag("--mib").unwrap_or(256), rounds: flag("--rounds").map_or(40, |n| n as usize) };
    let folder = tempfile::TempDir::new().expect("a temporary folder");
    run(&sizes, folder.path());
}

/// What the daemon does: each line into a tagged enum with a generic value, the last of each id kept.
fn plain_replay(path: &Path) -> usize {
    #[derive(Deserialize)]
    #[serde(tag = "op", rename_all = "snake_case")]
    enum Event {
        Store { session: Session },
        Delete { session_id: String },
    }
    #[derive(Deserialize)]
    struct Session {
        session_id: String,
        state: serde_json::Value,
    }
    let mut live = BTreeMap::new();
    for line in BufReader::new(File::open(path).expect("the journal")).lines() {
        let line = line.expect("the journal is text");
        match serde_json::from_str(line.trim()) {
            Ok(Event::Store { session }) => drop(live.insert(session.session_id, session.state)),
            Ok(Event::Delete { session_id }) => drop(live.remove(&session_id)),
            Err(_) => {}
        }
    }
    live.len()
}

/// Dense states: some 4.5 KB each, of short strings and numbers.
fn dense(dice: &mut Dice) -> Vec<String> {
    (0..400)
        .map(|step| {
            let items: Vec<String> = (0..36)
                .map(|_| {
                    let args: Vec<String> =
                        (0..6).map(|_| format!("\"{}\"", WORDS[dice.roll(14) as usize])).collect();
                    format!(
                        "{{\"tool\":\"{}\",\"ms\":{},\"args\":[{}],\"x\":0.{}}}",
                        WORDS[dice.roll(14) as usize],
                        dice.roll(100_000),
                        args.join(","),
                        dice.roll(1_000_000_000)
                    )
                })
                .collect();
            format!("{{\"step\":{step},\"ok\":true,\"items\":[{}]}}", items.join(","))
        })
        .collect()
}

/// States like messages: some 4 KB each, of three long texts.
fn messages(dice: &mut Dice) -> Vec<String> {
    (0..400)
        .map(|_| {
            let texts: Vec<String> = (0..3)
                .map(|_| {
                    let words: Vec<&str> = (0..200).map(|_| WORDS[dice.roll(14) as usize]).collect();
                    format!("{{\"role\":\"user\",\"content\":\"{}\"}}", words.join(" "))
                })
                .collect();
            format!("{{\"messages\":[{}]}}", texts.join(","))
        })
        .collect()
}

/// Writes a journal of session records with these states.
fn journal(path: &Path, bytes: u64, states: &dyn Fn(&mut Dice) -> Vec<String>) {
    let mut dice = Dice(1);
    let states = states(&mut dice);
    let mut out = BufWriter::new(File::create(path).expect("the journal"));
    let (mut written, mut n) = (0, 0usize);
    while written < bytes {
        let id = dice.roll(17_000);
        let line = format!(
            "{{\"op\":\"store\",\"session\":{{\"session_id\":\"sess_{id:05}\",\"state\":{},\"updated_at\":\
             \"2026-06-26T09:15:02.{:09}Z\",\"total_tokens\":1100,\"archived\":false}}}}\n",
            states[n % states.len()],
            n % 1_000_000_000
        );
        out.write_all(line.as_bytes()).expect("the journal");
        written += line.len() as u64;
        n += 1;
    }
    out.flush().expect("the journal");
}

/// Writes the lines of a journal as an append-only file of Redis: a `SET` of each record under its id.
fn append_only_file(journal: &Path, path: &Path) {
    let mut out = BufWriter::new(File::create(path).expect("the append-only file"));
    for line in BufReader::new(File::open(journal).expect("the journal")).lines() {
        let line = line.expect("the journal is text");
        let id = line.split('"').find(|word| word.starts_with("sess_")).expect("an id");
        write!(out, "*3\r\n$3\r\nSET\r\n${}\r\n{id}\r\n${}\r\n{line}\r\n", id.len(), line.len())
            .expect("the append-only file");
    }
    out.flush().expect("the append-only file");
}

/// The id of a journal's first record.
fn first_id(journal: &Path) -> String {
    let text = fs::read(journal).expect("the journal");
    let text = String::from_utf8_lossy(&text[..200]).into_owned();
    text.split('"').find(|word| word.starts_with("sess_")).expect("an id").to_owned()
}

/// A program that does what a put must do at the least: one append, one fdatasync.
const APPEND: &str = "use std::io::Write; fn main() { let path = std::env::args().nth(1).unwrap(); \
    let mut f = std::fs::OpenOptions::new().append(true).create(true).open(path).unwrap(); \
    f.write_all(&[b'x'; 150]).unwrap(); f.sync_data().unwrap(); }";

fn run(sizes: &Sizes, folder: &Path) {
    let ours = env!("CARGO_BIN_EXE_cruxctl");
    let dir = |name: &str, bytes: u64, states: &dyn Fn(&mut Dice) -> Vec<String>| {
        let dir = folder.join(name);
        fs::create_dir(&dir).expect("a data directory");
        journal(&dir.join("sessions.jsonl"), bytes, states);
        dir
    };
    let large = dir("large", sizes.mib << 20, &dense);
    let (small, texts) = (dir("small", 1 << 20, &dense), dir("texts", sizes.mib << 20, &messages));
    let text = |path: &Path| path.display().to_string();
    let (large_dir, small_dir) = (text(&large), text(&small));
    let file = text(&large.join("sessions.jsonl"));
    let (large_id, small_id) = (first_id(&large.join("sessions.jsonl")), first_id(&small.join("sessions.jsonl")));
    let without = |dir: &Path| {
        let kept = dir.join("cruxctl/index");
        move || drop(fs::remove_dir_all(&kept))
    };
    println!(
        "{} MiB of dense session records, and as much of records like messages; medians; {} rounds of short commands, \
         {LONG_ROUNDS} of long ones\n",
        sizes.mib, sizes.rounds
    );

    let check = [ours, "journal", "check", "sessions", "--data-dir"];
    let mut long = vec![
        Row::new("journal check, index and witness built", &[&check[..], &[&large_dir]].concat())
            .before(without(&large)),
        Row::new("the same, records like messages", &[&check[..], &[&text(&texts)]].concat()).before(without(&texts)),
        Row::new("journal check, all known to the witness", &[&check[..], &[&large_dir]].concat()).before({
            let command: Vec<String> = check.iter().map(|&word| word.to_owned()).chain([large_dir.clone()]).collect();
            move || {
                drop(
                    Command::new(&command[0])
                        .args(&command[1..])
                        .stdout(Stdio::null())
                        .stderr(Stdio::null())
                        .status(),
                )
            }
        }),
        Row::new("session get, nothing kept", &[ours, "session", "get", &large_id, "--data-dir", &large_dir])
            .before(without(&large)),
        Row::new("wc -l", &["wc", "-l", &file]),
        Row::new("plain replay into a typed enum", &[&itself(), "--plain-replay", &file]),
    ];
    if has("jq") {
        long.push(Row::new("jq empty", &["jq", "empty", &file]));
    }
    if has("redis-check-aof") {
        let aof = folder.join("journal.aof");
        append_only_file(&large.join("sessions.jsonl"), &aof);
        long.push(Row::new("redis-check-aof, the same as SET", &["redis-check-aof", &text(&aof)]));
    }
    rounds(&mut long, LONG_ROUNDS);
    long.iter_mut().for_each(Row::memory);
    let gigabytes = (sizes.mib << 20) as f64 / 1e9;
    println!("| whole journal | seconds | GB/s | peak MiB | to journal check |\n|---|---|---|---|---|");
    let base = long[0].median();
    for row in &long {
        let seconds = row.median();
        let (rate, ratio) = (gigabytes / seconds, seconds / base);
        println!("| {} | {seconds:.3} | {rate:.2} | {} | {ratio:.2} × |", row.name, row.peak());
    }

    let (Some(empty), Some(append)) = (program(folder, "empty", EMPTY), program(folder, "append", APPEND)) else {
        println!("\nrustc cannot build the empty program: no ratios of short commands");
        return;
    };
    let scratch = text(&large.join("scratch"));
    // Both indexes are warm.
    for (id, dir) in [(&large_id, &large_dir), (&small_id, &small_dir)] {
        Row::new("", &[ours, "session", "get", id, "--data-dir", dir]).round();
    }
    let put = |name: &str, dir: &str| Row {
        input: "{\"step\":1}",
        ..Row::new(name, &[ours, "session", "put", "bench", "--data-dir", dir])
    };
    let mut short = vec![
        Row::new("empty program", &[&text(&empty)]),
        Row::new("cruxctl --version", &[ours, "--version"]),
        Row::new(
            &format!("session get, {} MiB", sizes.mib),
            &[ours, "session", "get", &large_id, "--data-dir", &large_dir],
        ),
        Row::new("session get, 1 MiB", &[ours, "session", "get", &small_id, "--data-dir", &small_dir]),
        Row::new("empty + append + fdatasync", &[&text(&append), &scratch]),
        put(&format!("session put, {} MiB", sizes.mib), &large_dir),
        put("session put, 1 MiB", &small_dir),
    ];
    if has("sqlite3") {
        let base = text(&folder.join("peer.db"));
        let make = "create table s(id text primary key, state text); insert into s select value, value from \
                    generate_series(1, 17000);";
        Row::new("", &["sqlite3", &base, make]).round();
        short.insert(
            4,
            Row::new("sqlite3, one row by its key", &["sqlite3", &base, "select state from s where id='1'"]),
        );
        let change = "insert or replace into s values('bench','1')";
        short.push(Row::new("sqlite3, one row replaced", &["sqlite3", &base, change]));
    }
    rounds(&mut short, sizes.rounds);
    println!("\n| short command | ms | to its base |\n|---|---|---|");
    let mut base = 1.0;
    for row in &short {
        if row.name.starts_with("empty") {
            base = row.median();
        }
        println!("| {} | {:.3} | {:.2} × |", row.name, row.median() * 1e3, row.median() / base);
    }
}
