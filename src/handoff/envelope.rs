//! The envelope: a payload's bytes in base64, their hash, and what vouches for them. It says nothing of what the bytes
//! mean.

use std::borrow::Cow;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde::Serialize;
use serde_json::value::RawValue;

use super::{shown, strict, without_the_word};
use crate::error::{Code, Error, Result};

/// The members of an envelope, in the daemon's order.
const MEMBERS: [&str; 4] = ["payload_b64", "content_hash", "signature_b64", "signature_alg"];

/// An envelope as it came in. Nothing of it is believed.
#[derive(Debug)]
pub struct Envelope<'t> {
    /// The payload in base64.
    pub payload_b64: Cow<'t, str>,
    /// The hash that the payload is said to have.
    pub content_hash: Cow<'t, str>,
    /// The MAC or signature in base64.
    pub signature_b64: Cow<'t, str>,
    /// Which of them it is.
    pub signature_alg: Cow<'t, str>,
    /// The names of members that an envelope does not have. The daemon tolerates them; they are never passed on.
    pub others: Vec<String>,
}

/// An envelope that is no envelope.
pub(super) fn malformed(why: impl std::fmt::Display) -> Error {
    Error::new(Code::RejectedMalformed, format!("this is no envelope: {why}"))
}

/// The one JSON object in some bytes: its text and its members.
fn object(text: &[u8]) -> Result<Vec<(Cow<'_, str>, &RawValue)>> {
    let text = std::str::from_utf8(text)
        .map_err(|error| malformed(format!("not UTF-8, at byte {}", error.valid_up_to())))?;
    if text.trim_ascii().is_empty() {
        return Err(malformed("empty input")
            .hint("in a script: set -o pipefail, so that the minting command's own error counts"));
    }
    strict::walk(text, &mut |_| {}).map_err(|fault| malformed(fault.why))?;
    strict::members(text).ok_or_else(|| malformed("it is JSON, but no object"))
}

fn member<'t>(members: &[(Cow<'t, str>, &'t RawValue)], name: &str) -> Option<&'t RawValue> {
    members.iter().find(|(own, _)| own == name).map(|(_, value)| *value)
}

impl<'t> Envelope<'t> {
    /// Reads an envelope: one JSON object, and nothing behind it.
    pub fn read(text: &'t [u8]) -> Result<Envelope<'t>> {
        let members = object(text)?;
        let has = |name: &str| member(&members, name).is_some();
        let answers = has("jsonrpc") || member(&members, "content").is_some_and(|list| list.get().starts_with('['));
        if answers && !MEMBERS.into_iter().any(has) {
            return Err(
                malformed("it looks like the answer of an MCP tool").hint("take the envelope out of it: --from-mcp")
            );
        }
        if !has("signature_b64") && !has("signature_alg") {
            let message = "there is neither a signature nor an algorithm: nobody vouches for this document";
            return Err(Error::new(Code::RejectedUnsigned, message).hint(
                "what a workbench hands over proves nothing; let an agent mint it: cruxctl handoff create SESSION",
            ));
        }
        let text = |name: &str| match member(&members, name) {
            None => Err(malformed(format!("the member {name} is missing"))),
            Some(value) => strict::text(value).ok_or_else(|| malformed(format!("{name} is no text"))),
        };
        Ok(Envelope {
            payload_b64: text("payload_b64")?,
            content_hash: text("content_hash")?,
            signature_b64: text("signature_b64")?,
            signature_alg: text("signature_alg")?,
            others: members
                .iter()
                .filter(|(name, _)| !MEMBERS.contains(&&**name))
                .map(|(name, _)| name.clone().into_owned())
                .collect(),
        })
    }

    /// The payload's bytes.
    pub fn payload(&self) -> Result<Vec<u8>> {
        STANDARD.decode(&*self.payload_b64).map_err(|error| not_base64("payload_b64", error))
    }

    /// The hash that the payload is said to have.
    pub fn hash(&self) -> Result<blake3::Hash> {
        let lower = !self.content_hash.bytes().any(|byte| byte.is_ascii_uppercase());
        let hash = blake3::Hash::from_hex(&*self.content_hash).ok().filter(|_| lower);
        hash.ok_or_else(|| malformed("content_hash is not 64 hex digits in lower case"))
    }

    /// The MAC's or signature's bytes, which must be `N`.
    pub fn signature<const N: usize>(&self) -> Result<[u8; N]> {
        let bytes = STANDARD.decode(&*self.signature_b64).map_err(|error| not_base64("signature_b64", error))?;
        let len = bytes.len();
        bytes.try_into().map_err(|_| {
            let alg = shown(&self.signature_alg);
            malformed(format!("signature_b64 has {len} bytes, and {alg} makes {N}"))
        })
    }
}

fn not_base64(name: &str, error: base64::DecodeError) -> Error {
    let why = error.to_string().to_lowercase();
    malformed(format!("{name} is not canonical base64 with padding: {}", why.trim_end_matches('.')))
}

/// The envelope of a payload, as one line without its line end.
#[must_use]
pub fn mint(payload: &[u8], signature: &[u8], algorithm: &str) -> String {
    #[derive(Serialize)]
    struct Minted<'a> {
        payload_b64: String,
        content_hash: &'a str,
        signature_b64: String,
        signature_alg: &'a str,
    }
    let minted = Minted {
        payload_b64: STANDARD.encode(payload),
        content_hash: &blake3::hash(payload).to_hex(),
        signature_b64: STANDARD.encode(signature),
        signature_alg: algorithm,
    };
    // It cannot fail: a struct of texts.
    serde_json::to_string(&minted).unwrap_or_default()
}

/// The text of an MCP tool's answer, `{"content":[{"type":"text","text":"…"}]}`, perhaps inside a JSON-RPC response.
pub fn from_mcp(answer: &[u8]) -> Result<String> {
    unwrapped(answer).map_err(without_the_word)
}

fn unwrapped(answer: &[u8]) -> Result<String> {
    let mut members = object(answer)?;
    if let Some(result) = member(&members, "result") {
        members = strict::members(result.get()).ok_or_else(|| malformed("the result is no object"))?;
    }
    if member(&members, "error").is_some() || member(&members, "isError").is_some_and(|flag| flag.get() == "true") {
        return Err(malformed("the MCP tool answered with an error"));
    }
    let content =
        member(&members, "content").ok_or_else(|| malformed("no content, as an MCP tool's answer has it"))?;
    let blocks: Vec<&RawValue> =
        serde_json::from_str(content.get()).map_err(|_| malformed("the content is no list of blocks"))?;
    let mut texts = Vec::new();
    for block in blocks {
        let members = strict::members(block.get()).ok_or_else(|| malformed("a content block is no object"))?;
        if member(&members, "type").and_then(strict::text).is_some_and(|kind| kind == "text") {
            let text = member(&members, "text").and_then(strict::text);
            texts.push(text.ok_or_else(|| malformed("a content block has no text"))?.into_owned());
        }
    }
    match <[String; 1]>::try_from(texts) {
        Ok([text]) => Ok(text),
        Err(texts) => Err(malformed(format!("the answer has {} blocks of text, and one is expected", texts.len()))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_minted_is_four_members_in_order_and_is_read_again() {
        let text = mint(b"{}", &[7; 32], "blake3-mac-v1");
        let want = format!(
            "{{\"payload_b64\":\"e30=\",\"content_hash\":\"{}\",\"signature_b64\":\"BwcHBwcHBwcHBwcHBwcHBwcHBwcHBwcHBwcHBwcHBwc=\",\
             \"signature_alg\":\"blake3-mac-v1\"}}",
            blake3::hash(b"{}")
        );
        assert_eq!(text, want);
        let read = Envelope::read(text.as_bytes()).unwrap();
        assert_eq!((read.payload().unwrap(), read.hash().unwrap()), (b"{}".to_vec(), blake3::hash(b"{}")));
        assert_eq!(read.signature::<32>().unwrap(), [7; 32]);
        assert!(read.signature::<64>().is_err() && read.others.is_empty());
    }

    #[test]
    fn names_are_compared_as_they_are_decoded() {
        let text = r#"{"payload\u005fb64":"e30=","content_hash":"","signature_b64":"","signature_alg":"","x":{},"\u0079":1}"#;
        assert_eq!(Envelope::read(text.as_bytes()).unwrap().others, ["x", "y"]);
        let twice = text.replace("\"x\"", "\"payload_b64\"");
        assert_eq!(Envelope::read(twice.as_bytes()).unwrap_err().code, Code::RejectedMalformed);
    }
}
