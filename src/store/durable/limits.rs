//! What an input may be.

use crate::error::{Code, Error, Result};
use crate::journal::json;

/// How many arrays and objects may be open at once in an input.
pub const DEPTH: usize = 64;

/// How many values an input may have, those in others included.
pub const VALUES: u64 = 100_000;

/// How many bytes an input may have, without the white space between its tokens.
pub const BYTES: u64 = 1 << 20;

/// Refuses what is no input. `name`: what is told.
///
/// Errors: 2 it is no JSON, too deep, has too many values or bytes, or a number beyond a 64-bit float.
pub fn check(text: &[u8], name: &str) -> Result<()> {
    let invalid = |why: String| Error::new(Code::UsageSessionInputInvalid, format!("{name} {why}"));
    if std::str::from_utf8(text).is_err() {
        return Err(invalid("is not UTF-8".to_owned()));
    }
    let (counts, quirks) = match json::whole(text, 0) {
        Ok((_, quirks)) => (Counts::of(text), quirks),
        Err(fail) => return Err(invalid(format!("is not one JSON value: {}, at byte {}", fail.why, fail.at))),
    };
    if let Some(at) = quirks.number_out_of_range {
        return Err(invalid(format!("has a number beyond a 64-bit float, at byte {at}")));
    }
    if counts.depth > DEPTH {
        return Err(invalid(format!("is nested {} levels deep; the most is {DEPTH}", counts.depth)));
    }
    if counts.values > VALUES {
        return Err(invalid(format!("has {} values; the most is {VALUES}", counts.values)));
    }
    if text.len() as u64 > BYTES {
        return Err(invalid(format!("has {} bytes; the most is {BYTES}", text.len())));
    }
    Ok(())
}

/// How deep a JSON text is, and how many values it has.
struct Counts {
    depth: usize,
    values: u64,
}

impl Counts {
    /// Of a text that is JSON.
    fn of(text: &[u8]) -> Counts {
        let (mut depth, mut most, mut values) = (0usize, 0, 0);
        // Whether the next token begins a value: it does not behind one, and a name is none.
        let mut names: Vec<bool> = Vec::new();
        let (mut at, mut name) = (0, false);
        while let Some(byte) = text.get(at) {
            at += 1;
            match byte {
                b'{' | b'[' => {
                    values += 1;
                    depth += 1;
                    most = most.max(depth);
                    names.push(*byte == b'{');
                    name = *byte == b'{';
                }
                b'}' | b']' => {
                    depth -= 1;
                    names.pop();
                    name = false;
                }
                b',' => name = names.last() == Some(&true),
                b':' => name = false,
                b'"' => {
                    values += u64::from(!name);
                    while let Some(inside) = text.get(at) {
                        at += if *inside == b'\\' { 2 } else { 1 };
                        if *inside == b'"' {
                            break;
                        }
                    }
                }
                byte if json::is_space(*byte) => {}
                _ => {
                    values += 1;
                    let more = |byte: &u8| byte.is_ascii_alphanumeric() || matches!(byte, b'+' | b'-' | b'.');
                    at += text[at..].iter().take_while(|byte| more(byte)).count();
                }
            }
        }
        Counts { depth: most, values }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_and_levels_are_counted() {
        let cases: [(&str, usize, u64); 9] = [
            ("1", 0, 1),
            ("\"a,[{\\\"\"", 0, 1),
            ("[]", 1, 1),
            ("{}", 1, 1),
            ("[1,2,-3.5e+7,true,null]", 1, 6),
            (r#"{"a":1,"b":[2,"c"]}"#, 2, 5),
            (r#"[{"a\"]":{"b":[[]]}}]"#, 5, 5),
            (r#"{"a":{"b":1},"c":{"d":"e","f":[]}}"#, 3, 6),
            ("[\"\\\\\",\"\\\\\\\"\"]", 1, 3),
        ];
        for (text, depth, values) in cases {
            let counts = Counts::of(text.as_bytes());
            assert_eq!((counts.depth, counts.values), (depth, values), "{text}");
        }
    }

    #[test]
    fn what_is_at_a_limit_is_taken_and_what_is_above_it_is_not() {
        let nested = |levels: usize| "[".repeat(levels) + &"]".repeat(levels);
        let many = |count: usize| format!("[{}]", vec!["0"; count - 1].join(","));
        let long = |bytes: usize| format!("\"{}\"", "x".repeat(bytes - 2));
        for (fine, wrong) in [
            (nested(64), nested(65)),
            (many(100_000), many(100_001)),
            (long(1 << 20), long((1 << 20) + 1)),
            ("1e308".to_owned(), "1e309".to_owned()),
            ("0".to_owned(), "NaN".to_owned()),
            ("-0.5".to_owned(), "-Infinity".to_owned()),
            ("null".to_owned(), String::new()),
        ] {
            assert!(check(fine.as_bytes(), "it").is_ok(), "{}", &fine[..fine.len().min(40)]);
            let error = check(wrong.as_bytes(), "it").unwrap_err();
            assert_eq!(error.code, Code::UsageSessionInputInvalid);
        }
    }
}
