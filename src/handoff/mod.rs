//! Handoffs: packages that one agent mints and another one accepts, in the daemon's envelope. Pure: no files, no clock,
//! no randomness.
//!
//! In reading order: [`strict`] reads JSON as the daemon does and takes no member twice; [`envelope`] is the outer
//! document, with bytes and what vouches for them; [`keys`] are secrets and the daemon's MAC, [`signature`] is ed25519,
//! which tells one agent from another; [`mod@verify`] holds an envelope against keys, and only then [`package`] and
//! [`fact`] say what the bytes mean; [`build`] makes such bytes; [`task`] is the record of a task that goes along.

pub mod build;
pub mod envelope;
pub mod fact;
pub mod keys;
pub mod package;
pub mod signature;
pub mod strict;
pub mod task;
pub mod verify;

use crate::error::Error;

/// Where verifying is stricter than the daemon, in the words of the manual: what is refused, and why.
pub const STRICTER: &[(&str, &str)] = &[
    ("a member twice, in the envelope or anywhere in the payload", "readers differ in which of the two they take"),
    ("an envelope, package or fact written as a JSON array", "nobody mints one"),
    ("a created_at that is no RFC 3339 time", "the daemon never looks at it; here --max-age needs it"),
    ("an expires_at that has passed, or is no RFC 3339 time", "the daemon knows no expiry"),
    ("a handoff_id or key_id that is no text", "the daemon ignores these members"),
    ("a fact whose confidence no 32-bit float holds", "the daemon would store it, and lose it at its next start"),
    ("an input above --max-bytes", "the daemon reads whatever comes"),
    ("a secret that is empty or only white space", "it would be no secret"),
    ("an agent that has no right to its name (ed25519)", "the daemon knows only the secret that everybody shares"),
];

/// Whoever looks for the word that says that all is well must not find it in a failure, in an envelope's own words.
fn without_the_word(mut error: Error) -> Error {
    while let Some(at) = error.message.to_ascii_lowercase().find("verified") {
        error.message.replace_range(at..at + "verified".len(), "v…");
    }
    error
}

/// A text of others as it stands in a message: quoted, and not longer than what can be read at a glance.
#[must_use]
pub fn shown(text: &str) -> String {
    let short: String = text.chars().take(80).collect();
    let more = if short.len() < text.len() { "…" } else { "" };
    format!("{short:?}{more}")
}
