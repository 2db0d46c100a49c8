//! argv and the real streams in, the exit status out.

use std::process::ExitCode;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// Whether standard output was closed when the process began.
static STDOUT_CLOSED: AtomicBool = AtomicBool::new(false);

// Before `main`, Rust opens /dev/null in place of a closed stream, and an answer written there would be lost with
// status 0. So the look is taken before that. The word in the attribute belongs to its crate: it says that such code
// runs before the standard library is set up, and a single system call may.
#[ctor::ctor(unsafe)]
fn look_at_stdout() {
    let closed = rustix::io::fcntl_getfd(rustix::stdio::stdout()).is_err();
    STDOUT_CLOSED.store(closed, Ordering::Relaxed);
}

fn main() -> ExitCode {
    // A file size limit then fails the write, which can be undone and told, instead of killing the process in its
    // middle. Where the handler cannot be set, the limit kills as it would any program.
    let _ = signal_hook::flag::register(signal_hook::consts::SIGXFSZ, Arc::new(AtomicBool::new(false)));
    let argv = std::env::args_os().collect();
    ExitCode::from(cruxctl::run(argv, STDOUT_CLOSED.load(Ordering::Relaxed)))
}
