//! Commands to which something happens at one of their system calls.

use std::fs;
use std::path::PathBuf;
use std::process::Command;
use std::sync::OnceLock;

use crate::support::{Answer, World};

/// What is to happen, and at which call.
#[derive(Clone, Debug)]
pub struct Fault {
    /// The calls that count, with commas between.
    pub calls: &'static str,
    /// What happens: see `faults.c`.
    pub how: &'static str,
    /// At which of them, from 1.
    pub nth: u32,
    /// At every later one as well.
    pub on: bool,
}

/// The library that makes it happen. It is compiled once, by the compiler with which Rust links.
fn library() -> &'static PathBuf {
    static LIBRARY: OnceLock<PathBuf> = OnceLock::new();
    LIBRARY.get_or_init(|| {
        let source = crate::support::tree("tests/torture/faults.c");
        let library =
            std::path::Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("faults-{}.so", std::process::id()));
        let cc = std::env::var("CC").unwrap_or_else(|_| "cc".to_owned());
        let built = Command::new(cc).args(["-O1", "-shared", "-fPIC", "-o"]).arg(&library).arg(&source).output();
        assert!(built.as_ref().is_ok_and(|output| output.status.success()), "cannot build {source:?}: {built:?}");
        library
    })
}

/// Removes what was compiled.
pub fn sweep() {
    let _ = fs::remove_file(library());
}

/// A command whose random bytes are made of a number.
pub fn seeded(world: &World, args: &[&str], seed: u64) -> Command {
    let mut command = world.command(args);
    command.env("LD_PRELOAD", library()).env("FAULT_RANDOM", seed.to_string());
    let (boot, folder) = (world.beside("boot"), world.beside(""));
    if boot.exists() {
        // A world that is rebooted: what was synced counts.
        command.env("FAULT_BOOT", boot).env("FAULT_SYNCS", world.beside("syncs"));
        command.env("FAULT_DIR", folder.to_str().unwrap().trim_end_matches('/'));
    }
    command
}

/// Runs a command, with input.
pub fn run(mut command: Command, input: &[u8]) -> Answer {
    use std::io::Write;
    let mut child = command.stdin(std::process::Stdio::piped()).spawn().unwrap();
    // A command that refuses before it reads closes the pipe: that is its right.
    let _ = child.stdin.take().unwrap().write_all(input);
    Answer::from(child.wait_with_output().unwrap())
}

/// Runs a command to which this happens; where it has happened, at which call of which file.
pub fn hit(world: &World, args: &[&str], input: &[u8], seed: u64, fault: &Fault) -> (Answer, Option<String>) {
    let log = world.beside("fault-log");
    let _ = fs::remove_file(&log);
    let mut command = seeded(world, args, seed);
    let folder = world.beside("");
    let folder = folder.to_str().unwrap().trim_end_matches('/');
    command.env("FAULT_DIR", folder).env("FAULT_CALLS", fault.calls).env("FAULT_HOW", fault.how);
    command.env("FAULT_NTH", fault.nth.to_string()).env("FAULT_LOG", &log);
    if fault.on {
        command.env("FAULT_ON", "1");
    }
    let answer = run(command, input);
    let happened = fs::read_to_string(&log).ok().map(|text| text.trim().to_owned());
    (answer, happened)
}
