//! What every benchmark here needs: data from dice, rows that are measured in turn, peers that may be missing.

use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

/// Rounds of commands that read everything.
pub(crate) const LONG_ROUNDS: usize = 3;

/// Words of the data, the commonest first.
pub(crate) const WORDS: [&str; 14] = [
    "alpha", "deploy", "rotate", "canary", "shard", "receipt", "audit", "leak", "tenant", "budget", "queue", "proxy",
    "retry", "kernel",
];

/// A small generator: the data are the same in every run.
pub(crate) struct Dice(pub(crate) u64);

impl Dice {
    /// A number below `sides`, which is at most 2^31.
    pub(crate) fn roll(&mut self, sides: u64) -> u64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % sides
    }
}

/// The number behind a flag of the command line. What another benchmark asks for is passed over.
pub(crate) fn flag(name: &str) -> Option<u64> {
    std::env::args().skip_while(|arg| arg != name).nth(1)?.parse().ok()
}

/// This program, which is its own peer under a flag.
#[allow(dead_code, reason = "not every benchmark is its own peer")]
pub(crate) fn itself() -> String {
    std::env::current_exe().expect("this program").display().to_string()
}

/// One thing that is measured.
pub(crate) struct Row {
    pub(crate) name: String,
    pub(crate) command: Vec<String>,
    /// What the command reads from its standard input.
    pub(crate) input: &'static str,
    /// In how many rounds it runs at most.
    pub(crate) most: usize,
    /// Run before each round, not measured.
    pub(crate) before: Option<Box<dyn Fn()>>,
    /// Whether the command itself runs before each round, not measured: so that no row suffers from the one before it.
    pub(crate) twice: bool,
    pub(crate) times: Vec<Duration>,
    pub(crate) kib: u64,
}

impl Row {
    pub(crate) fn new(name: &str, command: &[&str]) -> Row {
        let command = command.iter().map(|&word| word.to_owned()).collect();
        let (name, most) = (name.to_owned(), usize::MAX);
        Row { name, command, input: "", most, before: None, twice: false, times: Vec::new(), kib: 0 }
    }

    #[allow(dead_code, reason = "not every benchmark has something to do before")]
    pub(crate) fn before(mut self, before: impl Fn() + 'static) -> Row {
        self.before = Some(Box::new(before));
        self
    }

    pub(crate) fn round(&mut self) {
        self.before.iter().for_each(|before| before());
        if self.twice {
            self.run();
        }
        let time = self.run();
        self.times.push(time);
    }

    /// Runs the command, and says how long that took.
    fn run(&self) -> Duration {
        let mut command = Command::new(&self.command[0]);
        command.args(&self.command[1..]).stdout(Stdio::null()).stderr(Stdio::null()).stdin(Stdio::piped());
        let start = Instant::now();
        let mut child = command.spawn().expect("the command starts");
        // A command that reads nothing may be gone already.
        let _ = child.stdin.take().map(|mut stdin| stdin.write_all(self.input.as_bytes()));
        let status = child.wait().expect("the command ends");
        let time = start.elapsed();
        assert!(matches!(status.code(), Some(0 | 3)), "{:?} ended with {status}", self.command);
        time
    }

    /// The peak resident size of one more run, as GNU time tells it.
    pub(crate) fn memory(&mut self) {
        self.before.iter().for_each(|before| before());
        let output = Command::new("/usr/bin/time").args(["-f", "%M", "--"]).args(&self.command).output();
        let text = output.map(|output| String::from_utf8_lossy(&output.stderr).into_owned()).unwrap_or_default();
        self.kib = text.lines().last().and_then(|line| line.trim().parse().ok()).unwrap_or(0);
    }

    /// That peak for the table, in MiB.
    pub(crate) fn peak(&self) -> String {
        if self.kib == 0 { "–".to_owned() } else { format!("{:.1}", self.kib as f64 / 1024.0) }
    }

    /// The median of its times, in seconds.
    pub(crate) fn median(&self) -> f64 {
        let mut times: Vec<f64> = self.times.iter().map(Duration::as_secs_f64).collect();
        times.sort_by(f64::total_cmp);
        times[times.len() / 2]
    }
}

/// Measures the rows in turn, so that a noisy minute is everybody's.
pub(crate) fn rounds(rows: &mut [Row], rounds: usize) {
    for round in 0..rounds {
        rows.iter_mut().filter(|row| round < row.most).for_each(Row::round);
    }
}

/// Whether a peer is on this machine.
pub(crate) fn has(program: &str) -> bool {
    Command::new(program).arg("--version").stdout(Stdio::null()).stderr(Stdio::null()).status().is_ok()
}

/// A program that does nothing: what starting one costs.
pub(crate) const EMPTY: &str = "fn main() {}";

/// Builds a program of one line with the flags of a release build.
pub(crate) fn program(folder: &Path, name: &str, source: &str) -> Option<PathBuf> {
    let (file, binary) = (folder.join(format!("{name}.rs")), folder.join(name));
    fs::write(&file, source).ok()?;
    let flags = ["-O", "-C", "panic=abort", "-C", "lto=fat", "-C", "codegen-units=1", "-o"];
    let status = Command::new("rustc").args(flags).arg(&binary).arg(&file).status().ok()?;
    status.success().then_some(binary)
}
