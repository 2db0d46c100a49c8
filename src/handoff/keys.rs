//! Secrets and the keys that are made of them. A secret is wiped when it is dropped, and nothing here prints one.

use std::fmt;

use zeroize::Zeroizing;

use crate::error::{Code, Error, Result};

/// The algorithm of the daemon's envelopes: a BLAKE3 hash with a key that both sides have.
pub const MAC: &str = "blake3-mac-v1";

/// A shorter secret can be guessed by trying.
const SHORT: usize = 16;

/// A secret that several share.
pub struct Secret(Zeroizing<Vec<u8>>);

impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Secret(…)")
    }
}

impl Secret {
    /// The secret in a key file's bytes; one line end behind it belongs to the file and not to the secret. `name` is
    /// where the bytes come from.
    pub fn from_file(bytes: Zeroizing<Vec<u8>>, name: &str) -> Result<Secret> {
        let len = without_line_end(&bytes).len();
        let mut bytes = bytes;
        bytes.truncate(len);
        Secret::from_variable(bytes, name)
    }

    /// The secret in a variable, as it is.
    pub fn from_variable(bytes: Zeroizing<Vec<u8>>, name: &str) -> Result<Secret> {
        if String::from_utf8_lossy(&bytes).trim().is_empty() {
            let what = if bytes.is_empty() { "is empty" } else { "has only white space" };
            return Err(Error::new(Code::EnvironmentKeyEmpty, format!("{name} {what}, which is no secret")));
        }
        if bytes.starts_with(b"cruxctl-ed25519-") {
            let message = format!("{name} has an ed25519 key, and a secret that both sides share is wanted");
            return Err(Error::new(Code::UsageKey, message)
                .hint("to sign: cruxctl handoff create SESSION --sign-key KEY")
                .hint("to verify what was signed: cruxctl handoff verify --trusted AGENT=KEY.pub"));
        }
        Ok(Secret(bytes))
    }

    /// Whether it is short enough to be guessed.
    #[must_use]
    pub fn is_short(&self) -> bool {
        self.0.len() < SHORT
    }

    /// The daemon's key from this secret.
    #[must_use]
    pub fn mac_key(&self) -> MacKey {
        MacKey(Zeroizing::new(*blake3::hash(&self.0).as_bytes()))
    }
}

/// The key of a MAC.
pub struct MacKey(Zeroizing<[u8; 32]>);

impl fmt::Debug for MacKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "MacKey({})", self.key_id())
    }
}

impl MacKey {
    /// The MAC of a payload. Two of them are compared in constant time.
    #[must_use]
    pub fn mac(&self, payload: &[u8]) -> blake3::Hash {
        blake3::keyed_hash(&self.0, payload)
    }

    /// A name for the key that does not give it away.
    #[must_use]
    pub fn key_id(&self) -> String {
        hex(&blake3::derive_key("cruxctl handoff key id v1", &*self.0)[..8])
    }
}

/// The bytes without the one line end that an editor or `echo` has put behind them.
#[must_use]
pub fn without_line_end(bytes: &[u8]) -> &[u8] {
    bytes.strip_suffix(b"\r\n").or_else(|| bytes.strip_suffix(b"\n")).unwrap_or(bytes)
}

/// Bytes as lower-case hex digits.
#[must_use]
pub fn hex(bytes: &[u8]) -> String {
    // The place is known beforehand: a secret leaves no copies behind.
    let mut text = String::with_capacity(2 * bytes.len());
    for byte in bytes {
        for digit in [byte >> 4, byte & 15] {
            text.push(char::from(if digit < 10 { b'0' + digit } else { b'a' + digit - 10 }));
        }
    }
    text
}

/// Thirty-two bytes from lower-case hex digits.
#[must_use]
pub fn unhex(text: &[u8]) -> Option<[u8; 32]> {
    let digit = |digit: u8| match digit {
        b'0'..=b'9' => Some(digit - b'0'),
        b'a'..=b'f' => Some(digit - b'a' + 10),
        _ => None,
    };
    let mut bytes = [0; 32];
    if text.len() != 64 {
        return None;
    }
    for (byte, pair) in bytes.iter_mut().zip(text.chunks_exact(2)) {
        *byte = digit(pair[0])? << 4 | digit(pair[1])?;
    }
    Some(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn file(bytes: &[u8]) -> Result<Secret> {
        Secret::from_file(Zeroizing::new(bytes.to_vec()), "k")
    }

    #[test]
    fn one_line_end_is_trimmed_in_files_and_none_in_a_variable() {
        let key = |bytes: &[u8]| file(bytes).unwrap().mac_key().key_id();
        assert!(
            key(b"shared-secret") == key(b"shared-secret\n") && key(b"shared-secret") == key(b"shared-secret\r\n")
        );
        let others = [&b"shared-secret\n\n"[..], b"shared-secret\r", b" shared-secret", b"shared-secret\n\r"];
        assert!(others.iter().all(|other| key(other) != key(b"shared-secret")));
        let variable = Secret::from_variable(Zeroizing::new(b"shared-secret\n".to_vec()), "v").unwrap();
        assert_ne!(variable.mac_key().key_id(), key(b"shared-secret\n"));
        key(b"\xff\xfe no text");
    }

    #[test]
    fn no_secret_is_empty_or_blank_or_an_ed25519_key() {
        for bytes in [&b""[..], b"\n", b"\r\n", b" \t\n", "\u{2003}\u{a0}".as_bytes()] {
            assert_eq!(file(bytes).unwrap_err().code, Code::EnvironmentKeyEmpty, "{bytes:?}");
        }
        assert_eq!(file(b"cruxctl-ed25519-private-v1:00").unwrap_err().code, Code::UsageKey);
        assert!(file(b"short").unwrap().is_short() && !file(b"sixteen bytes...").unwrap().is_short());
    }

    #[test]
    fn nothing_prints_a_secret() {
        let secret = file(b"shared-secret").unwrap();
        let shown = format!("{secret:?} {:?}", secret.mac_key());
        assert!(!shown.contains("shared"), "{shown}");
        assert!(!shown.contains(&hex(&*secret.mac_key().0)[..8]), "{shown}");
    }

    #[test]
    fn hex_comes_back() {
        assert_eq!(unhex(hex(&[0xA5; 32]).as_bytes()), Some([0xA5; 32]));
        for bad in ["", "A5", &"A".repeat(64), &"g0".repeat(32), &"0".repeat(65)] {
            assert_eq!(unhex(bad.as_bytes()), None);
        }
    }
}
