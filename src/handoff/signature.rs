//! Envelopes that one agent signs and everybody else can only check: ed25519.
//!
//! The daemon does not know this algorithm. What is signed is not the payload alone, so that no signature over other
//! data of the same key can be taken for one over a handoff.

use std::fmt;

use ed25519_dalek::{Signature, Signer, SigningKey, VerifyingKey};
use zeroize::Zeroizing;

use super::keys::{hex, unhex, without_line_end};
use crate::error::{Code, Error, Result};

/// The algorithm's name in an envelope.
pub const ED25519: &str = "ed25519-v1";

/// What stands in front of the payload in the text that is signed.
const CONTEXT: &[u8] = b"cruxctl-handoff-ed25519-v1\0";

const PRIVATE: &str = "cruxctl-ed25519-private-v1:";
const PUBLIC: &str = "cruxctl-ed25519-public-v1:";

/// The text that is signed for a payload.
#[must_use]
pub fn message(payload: &[u8]) -> Vec<u8> {
    [CONTEXT, payload].concat()
}

/// A key that signs.
pub struct PrivateKey(SigningKey);

impl fmt::Debug for PrivateKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "PrivateKey({})", self.public().key_id())
    }
}

impl PrivateKey {
    /// The key of 32 random bytes.
    #[must_use]
    pub fn new(seed: &[u8; 32]) -> PrivateKey {
        PrivateKey(SigningKey::from_bytes(seed))
    }

    /// Reads a key file's bytes; `name` is where they come from.
    pub fn read(bytes: &[u8], name: &str) -> Result<PrivateKey> {
        let bytes = without_line_end(bytes);
        if bytes.starts_with(PUBLIC.as_bytes()) {
            let message = format!("{name} has a public ed25519 key, and only the private one can sign");
            return Err(Error::new(Code::UsageKey, message).hint("name the file without .pub: --sign-key KEY"));
        }
        let seed = bytes.strip_prefix(PRIVATE.as_bytes()).and_then(unhex).map(Zeroizing::new);
        let seed = seed.ok_or_else(|| no_key(name, "private", PRIVATE))?;
        Ok(PrivateKey::new(&seed))
    }

    /// The text of its key file.
    #[must_use]
    pub fn file(&self) -> Zeroizing<String> {
        let digits = Zeroizing::new(hex(self.0.as_bytes()));
        let mut text = Zeroizing::new(String::with_capacity(PRIVATE.len() + digits.len() + 1));
        for part in [PRIVATE, digits.as_str(), "\n"] {
            text.push_str(part);
        }
        text
    }

    /// The key that checks what this one signs.
    #[must_use]
    pub fn public(&self) -> PublicKey {
        PublicKey(self.0.verifying_key())
    }

    /// Signs a payload.
    #[must_use]
    pub fn sign(&self, payload: &[u8]) -> [u8; 64] {
        self.0.sign(&message(payload)).to_bytes()
    }
}

/// A key that checks signatures.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PublicKey(VerifyingKey);

impl PublicKey {
    /// Reads a key file's bytes; `name` is where they come from.
    pub fn read(bytes: &[u8], name: &str) -> Result<PublicKey> {
        let bytes = without_line_end(bytes);
        if bytes.starts_with(PRIVATE.as_bytes()) {
            let message = format!("{name} has a private ed25519 key; the public one beside it is what others need");
            return Err(Error::new(Code::UsageKey, message).hint("name the file that ends with .pub"));
        }
        let digits = bytes.strip_prefix(PUBLIC.as_bytes());
        let key = digits.and_then(|digits| PublicKey::from_hex(std::str::from_utf8(digits).ok()?));
        key.ok_or_else(|| no_key(name, "public", PUBLIC))
    }

    /// A key from its 64 hex digits; `None` for what is no point of the curve, or one that vouches for anything.
    #[must_use]
    pub fn from_hex(digits: &str) -> Option<PublicKey> {
        let key = VerifyingKey::from_bytes(&unhex(digits.as_bytes())?).ok()?;
        (!key.is_weak()).then_some(PublicKey(key))
    }

    /// Its 64 hex digits.
    #[must_use]
    pub fn to_hex(&self) -> String {
        hex(self.0.as_bytes())
    }

    /// The text of its key file.
    #[must_use]
    pub fn file(&self) -> String {
        format!("{PUBLIC}{}\n", self.to_hex())
    }

    /// A short name for the key.
    #[must_use]
    pub fn key_id(&self) -> String {
        hex(&blake3::hash(self.0.as_bytes()).as_bytes()[..8])
    }

    /// Whether a signature over a [`message`] is this key's.
    #[must_use]
    pub fn signed(&self, message: &[u8], signature: &[u8; 64]) -> bool {
        self.0.verify_strict(message, &Signature::from_bytes(signature)).is_ok()
    }
}

fn no_key(name: &str, kind: &str, prefix: &str) -> Error {
    let message = format!("{name} is no {kind} ed25519 key: {prefix} and 64 hex digits of a usable key");
    Error::new(Code::UsageKey, message).hint("cruxctl handoff keygen --ed25519 agent.key")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn key_files_come_back_and_a_private_key_is_never_shown() {
        let key = PrivateKey::new(&[7; 32]);
        let again = PrivateKey::read(key.file().as_bytes(), "k").unwrap();
        assert_eq!(again.sign(b"x"), key.sign(b"x"));
        assert_eq!(PublicKey::read(key.public().file().as_bytes(), "k").unwrap(), key.public());
        assert!(!format!("{key:?}").contains("0707"));
        for text in
            ["", "x", PRIVATE, &format!("{PRIVATE}{}", "A".repeat(64)), &format!("{PRIVATE}{}0", "0".repeat(64))]
        {
            assert_eq!(PrivateKey::read(text.as_bytes(), "k").unwrap_err().code, Code::UsageKey, "{text}");
        }
        assert_eq!(PrivateKey::read(key.public().file().as_bytes(), "k").unwrap_err().code, Code::UsageKey);
        assert_eq!(PublicKey::read(key.file().as_bytes(), "k").unwrap_err().code, Code::UsageKey);
    }

    #[test]
    fn weak_and_impossible_public_keys_are_refused() {
        // The neutral point, a point of order 2 and two of order 8, the second not written as short as it can be; and
        // what is no point at all.
        let zeros = "0".repeat(62);
        for digits in [
            format!("01{zeros}"),
            format!("ec{}7f", "ff".repeat(30)),
            "26e8958fc2b227b045c3f489f2ef98f0d5dfac05d3c63339b13802886d53fc05".to_owned(),
            format!("ee{}7f", "ff".repeat(30)),
            format!("02{zeros}"),
        ] {
            assert!(PublicKey::from_hex(&digits).is_none(), "{digits}");
        }
    }

    #[test]
    fn a_signature_is_over_more_than_the_payload() {
        let key = PrivateKey::new(&[1; 32]);
        let signature = key.sign(b"payload");
        assert!(key.public().signed(&message(b"payload"), &signature));
        assert!(!key.public().signed(b"payload", &signature));
        assert!(!key.public().signed(&message(b"payloae"), &signature));
    }
}
