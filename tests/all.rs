//! All integration tests, one binary. Each file is named for what it promises.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a test that fails must fail loudly")]
#![allow(missing_docs, unreachable_pub, reason = "nobody outside reads a test binary")]

mod case_index;
mod cases;
mod compat;
mod completion;
mod concurrency;
mod crash;
mod damage;
mod docs;
mod doctor;
mod durable;
mod envelopes;
mod errors;
mod facts;
mod handoff_keys;
mod handoffs;
mod history;
mod index;
mod journal_verbs;
mod law;
mod log;
mod losses;
mod output;
mod parallel;
mod pictures;
mod pipes;
mod reuse;
mod sessions;
mod storage;
mod support;
mod witness;
mod workers;
