//! All integration tests, one binary. Each file is named for what it promises.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a test that fails must fail loudly")]
#![allow(missing_docs, unreachable_pub, reason = "nobody outside reads a test binary")]

mod case_index;
mod cases;
mod compat;
mod concurrency;
mod crash;
mod damage;
mod docs;
mod envelopes;
mod errors;
mod facts;
mod handoff_keys;
mod handoffs;
mod index;
mod journal_verbs;
mod law;
mod output;
mod parallel;
mod pictures;
mod pipes;
mod reuse;
mod sessions;
mod storage;
mod support;
mod witness;
