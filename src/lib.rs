//! `cruxctl`: a command-line toolkit on a data directory of append-only JSONL journals.
//!
//! The modules in reading order. [`error`] has the one error type and the table of exit statuses. [`journal`] is the
//! engine: bytes, lines and spans; it knows no store. [`store`] says what the lines of each journal mean. [`retrieve`]
//! knows which cases are like a text, [`handoff`] what one agent hands over to another and who vouches for it. [`env`] is
//! the only reader of environment, clock and randomness, and [`machine`] says who is at a file; [`render`] is the only writer of standard output and
//! standard error. [`cmd`] turns a command line into one verb.
//!
//! A verb goes one straight road: arguments, what they mean here and now, the store's decision, one append, a view,
//! bytes, an exit status. Who may name whom is held by a test.

#![forbid(unsafe_code)]

pub mod cmd;
pub mod env;
pub mod error;
pub mod handoff;
pub mod journal;
pub mod machine;
pub mod render;
pub mod retrieve;
pub mod store;

use std::ffi::OsString;

/// Runs a command line and returns the exit status. `stdout_closed`: standard output was closed when the process
/// began.
#[must_use]
pub fn run(argv: Vec<OsString>, stdout_closed: bool) -> u8 {
    cmd::run(argv, stdout_closed)
}
