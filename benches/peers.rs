//! `cargo bench`: this tool beside its peers, in one run, on data that it makes itself.
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
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use serde::Deserialize;

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
    let flag = |name: &str| {
        let at = args.iter().position(|arg| arg == name)?;
        args.get(at + 1)?.parse().ok()
    };
    let sizes = Sizes { mib: flag("--mib").unwrap_or(256), rounds: flag("--rounds").map_or(40, |n: u64| n as usize) };
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

/// A small generator: the data are the same in every run.
struct Dice(u64);

impl Dice {
    fn roll(&mut self, sides: u64) -> u64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % sides
    }
}

const WORDS: [&str; 14] = [
    "alpha", "deploy", "rotate", "canary", "shard", "receipt", "audit", "leak", "tenant", "budget", "queue", "proxy",
    "retry", "kernel",
];

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

/// One thing that is measured.
struct Row {
    name: String,
    command: Vec<String>,
    input: &'static str,
    /// Run before each round, not measured.
    before: Option<Box<dyn Fn()>>,
    times: Vec<Duration>,
    kib: u64,
}

impl Row {
    fn new(name: &str, command: &[&str]) -> Row {
        let command = command.iter().map(|&word| word.to_owned()).collect();
        Row { name: name.to_owned(), command, input: "", before: None, times: Vec::new(), kib: 0 }
    }

    fn input(mut self, input: &'static str) -> Row {
        self.input = input;
        self
    }

    fn before(mut self, before: impl Fn() + 'static) -> Row {
        self.before = Some(Box::new(before));
        self
    }

    fn round(&mut self) {
        self.before.iter().for_each(|before| before());
        let mut command = Command::new(&self.command[0]);
        command.args(&self.command[1..]).stdout(Stdio::null()).stderr(Stdio::null()).stdin(Stdio::piped());
        let start = Instant::now();
        let mut child = command.spawn().expect("the command starts");
        // A command that reads nothing may be gone already.
        let _ = child.stdin.take().map(|mut stdin| stdin.write_all(self.input.as_bytes()));
        // The peak is read while the process can still be asked.
        let status = child.wait().expect("the command ends");
        self.times.push(start.elapsed());
        assert!(matches!(status.code(), Some(0 | 3)), "{:?} ended with {status}", self.command);
    }

    /// The peak resident size of one more run, as GNU time tells it.
    fn memory(&mut self) {
        self.before.iter().for_each(|before| before());
        let output = Command::new("/usr/bin/time").args(["-f", "%M", "--"]).args(&self.command).output();
        let text = output.map(|output| String::from_utf8_lossy(&output.stderr).into_owned()).unwrap_or_default();
        self.kib = text.lines().last().and_then(|line| line.trim().parse().ok()).unwrap_or(0);
    }

    fn median(&self) -> f64 {
        let mut times: Vec<f64> = self.times.iter().map(Duration::as_secs_f64).collect();
        times.sort_by(f64::total_cmp);
        times[times.len() / 2]
    }
}

/// The id of a journal's first record.
fn first_id(journal: &Path) -> String {
    let text = fs::read(journal).expect("the journal");
    let text = String::from_utf8_lossy(&text[..200]).into_owned();
    text.split('"').find(|word| word.starts_with("sess_")).expect("an id").to_owned()
}

/// Whether a peer is on this machine.
fn has(program: &str) -> bool {
    Command::new(program).arg("--version").stdout(Stdio::null()).stderr(Stdio::null()).status().is_ok()
}

/// Builds a program of one line with the flags of a release build.
fn program(folder: &Path, name: &str, source: &str) -> Option<PathBuf> {
    let (file, binary) = (folder.join(format!("{name}.rs")), folder.join(name));
    fs::write(&file, source).ok()?;
    let flags = ["-O", "-C", "panic=abort", "-C", "lto=fat", "-C", "codegen-units=1", "-o"];
    let status = Command::new("rustc").args(flags).arg(&binary).arg(&file).status().ok()?;
    status.success().then_some(binary)
}

/// Rounds of commands that read a whole journal.
const LONG_ROUNDS: usize = 3;

const EMPTY: &str = "fn main() {}";

/// A program that does what a put must do at the least: one append, one fdatasync.
const APPEND: &str = "use std::io::Write; fn main() { let path = std::env::args().nth(1).unwrap(); \
    let mut f = std::fs::OpenOptions::new().append(true).create(true).open(path).unwrap(); \
    f.write_all(&[b'x'; 150]).unwrap(); f.sync_data().unwrap(); }";

fn run(sizes: &Sizes, folder: &Path) {
    let ours = env!("CARGO_BIN_EXE_cruxctl");
    let itself = std::env::current_exe().expect("this program").display().to_string();
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
        Row::new("plain replay into a typed enum", &[&itself, "--plain-replay", &file]),
    ];
    if has("jq") {
        long.push(Row::new("jq empty", &["jq", "empty", &file]));
    }
    if has("redis-check-aof") {
        let aof = folder.join("journal.aof");
        append_only_file(&large.join("sessions.jsonl"), &aof);
        long.push(Row::new("redis-check-aof, the same as SET", &["redis-check-aof", &text(&aof)]));
    }
    for _ in 0..LONG_ROUNDS {
        long.iter_mut().for_each(Row::round);
    }
    long.iter_mut().for_each(Row::memory);
    let gigabytes = (sizes.mib << 20) as f64 / 1e9;
    println!("| whole journal | seconds | GB/s | peak MiB | to journal check |\n|---|---|---|---|---|");
    let base = long[0].median();
    for row in &long {
        let seconds = row.median();
        let (rate, ratio) = (gigabytes / seconds, seconds / base);
        let peak = if row.kib == 0 { "–".to_owned() } else { format!("{:.1}", row.kib as f64 / 1024.0) };
        println!("| {} | {seconds:.3} | {rate:.2} | {peak} | {ratio:.2} × |", row.name);
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
    let put = |dir: &str| Row::new("", &[ours, "session", "put", "bench", "--data-dir", dir]).input("{\"step\":1}");
    let mut short = vec![
        Row::new("empty program", &[&text(&empty)]),
        Row::new("cruxctl --version", &[ours, "--version"]),
        Row::new(
            &format!("session get, {} MiB", sizes.mib),
            &[ours, "session", "get", &large_id, "--data-dir", &large_dir],
        ),
        Row::new("session get, 1 MiB", &[ours, "session", "get", &small_id, "--data-dir", &small_dir]),
        Row::new("empty + append + fdatasync", &[&text(&append), &scratch]),
        Row { name: format!("session put, {} MiB", sizes.mib), ..put(&large_dir) },
        Row { name: "session put, 1 MiB".to_owned(), ..put(&small_dir) },
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
    for _ in 0..sizes.rounds {
        short.iter_mut().for_each(Row::round);
    }
    println!("\n| short command | ms | to its base |\n|---|---|---|");
    let mut base = 1.0;
    for row in &short {
        if row.name.starts_with("empty") {
            base = row.median();
        }
        println!("| {} | {:.3} | {:.2} × |", row.name, row.median() * 1e3, row.median() / base);
    }
}
