//! A folder in memory, and the tool run in this process with its three streams caught.

use std::ffi::OsString;
use std::fs::{self, File};
use std::io::{Read, Seek, SeekFrom};
use std::os::fd::OwnedFd;
use std::path::PathBuf;
use std::sync::{Mutex, Once};

use rustix::fs::MemfdFlags;
use rustix::stdio;

/// The moment at which the tool runs.
pub const NOW: &str = "2026-07-01T12:00:00Z";

/// A folder of this process, in memory where the machine has that. What an earlier process of the same number has left
/// is gone.
#[must_use]
pub fn folder(name: &str) -> PathBuf {
    prepare();
    let shm = PathBuf::from("/dev/shm");
    let base = if shm.is_dir() { shm } else { std::env::temp_dir() };
    let path = base.join(format!("cruxctl-fuzz-{name}-{}", std::process::id()));
    let _ = fs::remove_dir_all(&path);
    fs::create_dir_all(&path).expect("a folder can be made");
    FOLDERS.lock().expect("no other thread").push(path.clone());
    path
}

/// Every folder that was made.
static FOLDERS: Mutex<Vec<PathBuf>> = Mutex::new(Vec::new());

/// What stands for this process's own standard error while the tool has another.
static STDERR: Mutex<Option<OwnedFd>> = Mutex::new(None);

unsafe extern "C" {
    fn atexit(function: extern "C" fn()) -> i32;
}

extern "C" fn tidy() {
    for folder in FOLDERS.lock().into_iter().flat_map(|folders| folders.clone()) {
        let _ = fs::remove_dir_all(folder);
    }
}

/// Cleans the environment, and sees to it that a panic is told where somebody sees it and that folders go in the end.
fn prepare() {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        // SAFETY: it is called first, by the only thread.
        unsafe {
            for (name, _) in std::env::vars_os() {
                let text = name.to_string_lossy();
                if ["CRUX", "CORECRUXD", "_CRUXCTL"].iter().any(|start| text.starts_with(start)) {
                    std::env::remove_var(&name);
                }
            }
            std::env::set_var("CRUXCTL_NOW", NOW);
            atexit(tidy);
        }
        let tell = std::panic::take_hook();
        std::panic::set_hook(Box::new(move |info| {
            if let Some(stderr) = STDERR.lock().ok().and_then(|mut stderr| stderr.take()) {
                let _ = stdio::dup2_stderr(&stderr);
            }
            tell(info);
        }));
    });
}

/// What the tool has answered.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Answer {
    /// The exit status.
    pub status: u8,
    /// Standard output.
    pub stdout: Vec<u8>,
    /// Standard error.
    pub stderr: Vec<u8>,
}

/// Runs the tool on these arguments, with `input` as its standard input.
#[must_use]
pub fn run(args: &[&str], input: &[u8]) -> Answer {
    prepare();
    let memory = || File::from(rustix::fs::memfd_create("stream", MemfdFlags::CLOEXEC).expect("memory for a stream"));
    let (stdin, out, err) = (memory(), memory(), memory());
    rustix::io::write(&stdin, input).expect("a short input");
    (&stdin).seek(SeekFrom::Start(0)).expect("memory has places");
    let keep = |fd| rustix::io::fcntl_dupfd_cloexec(fd, 10).expect("a number for a stream");
    let (old_in, old_out) = (keep(stdio::stdin()), keep(stdio::stdout()));
    *STDERR.lock().expect("no other thread") = Some(keep(stdio::stderr()));
    stdio::dup2_stdin(&stdin).expect("a stream can be set");
    stdio::dup2_stdout(&out).expect("a stream can be set");
    stdio::dup2_stderr(&err).expect("a stream can be set");
    let argv: Vec<OsString> = std::iter::once("cruxctl").chain(args.iter().copied()).map(OsString::from).collect();
    let status = cruxctl::run(argv, false);
    stdio::dup2_stdin(&old_in).expect("a stream can be set");
    stdio::dup2_stdout(&old_out).expect("a stream can be set");
    if let Some(stderr) = STDERR.lock().expect("no other thread").take() {
        stdio::dup2_stderr(&stderr).expect("a stream can be set");
    }
    let bytes = |mut file: File| {
        let mut bytes = Vec::new();
        file.seek(SeekFrom::Start(0)).expect("memory has places");
        file.read_to_end(&mut bytes).expect("memory can be read");
        bytes
    };
    Answer { status, stdout: bytes(out), stderr: bytes(err) }
}
