//! Making text of others safe to show.

use std::fmt::Write;

/// Whether a terminal may act on a character, or show something else than what is there.
pub(super) fn acts(c: char) -> bool {
    c.is_control()
        || matches!(c,
            '\u{061C}' | '\u{180E}' | '\u{200B}'..='\u{200F}' | '\u{2028}'..='\u{202E}' | '\u{2060}'..='\u{206F}'
            | '\u{FEFF}' | '\u{FFF9}'..='\u{FFFB}' | '\u{E0000}'..='\u{E007F}')
}

/// Whether a text is what it looks like: it has nothing in it that a terminal would act on.
#[must_use]
pub fn is_plain(text: &str) -> bool {
    // Most texts are ASCII, and told at once.
    text.bytes().all(|byte| (b' '..=b'~').contains(&byte)) || !text.chars().any(acts)
}

fn escape(out: &mut String, c: char) {
    match c {
        '\n' => out.push_str("\\n"),
        '\r' => out.push_str("\\r"),
        '\t' => out.push_str("\\t"),
        c => {
            let _ = write!(out, "\\u{{{:x}}}", u32::from(c));
        }
    }
}

/// Text for the eye: whatever a terminal would act on is written as an escape.
#[must_use]
pub fn for_terminal(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        if acts(c) { escape(&mut out, c) } else { out.push(c) }
    }
    out
}

/// Text for a field of a line: as for the eye, and backslashes are doubled, so that it can be read back.
#[must_use]
pub fn for_plain(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '\\' => out.push_str("\\\\"),
            c if acts(c) => escape(&mut out, c),
            c => out.push(c),
        }
    }
    out
}

/// Text as one word of a shell that knows `$'…'`, with nothing in it that a terminal would act on.
pub(super) fn for_shell(text: &str) -> String {
    let mut out = String::from("$'");
    for c in text.chars() {
        match c {
            '\'' | '\\' => {
                out.push('\\');
                out.push(c);
            }
            c if acts(c) => {
                let _ = write!(out, "\\U{:08x}", u32::from(c));
            }
            c => out.push(c),
        }
    }
    out.push('\'');
    out
}

/// Bytes that need not be UTF-8: those that are not are written as `\xNN`.
pub(super) fn bytes(bytes: &[u8]) -> String {
    let mut out = String::new();
    for chunk in bytes.utf8_chunks() {
        out.push_str(chunk.valid());
        for byte in chunk.invalid() {
            let _ = write!(out, "\\x{byte:02x}");
        }
    }
    out
}

/// JSON in one line, in which whatever a terminal would act on is written as an escape of JSON. It means the same.
#[must_use]
pub fn json_text(bytes: &[u8]) -> String {
    let mut out = String::with_capacity(bytes.len());
    json(&mut out, &String::from_utf8_lossy(bytes));
    out
}

/// JSON text in which whatever a terminal would act on is written as an escape of JSON. It means the same.
pub(super) fn json(out: &mut String, text: &str) {
    for c in text.chars() {
        if matches!(c, '\n' | '\r') {
            // Raw, it can only stand between tokens.
            out.push(' ');
        } else if acts(c) && c != '\t' {
            for unit in c.encode_utf16(&mut [0; 2]) {
                let _ = write!(out, "\\u{unit:04x}");
            }
        } else {
            out.push(c);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_that_a_terminal_acts_on_gets_through() {
        let text = "a\u{1b}]52;c;x\u{7}\u{9b}2J\u{202e}b\u{200b}\tc\rd\ne\u{7f}";
        let shown = for_terminal(text);
        assert_eq!(shown, "a\\u{1b}]52;c;x\\u{7}\\u{9b}2J\\u{202e}b\\u{200b}\\tc\\rd\\ne\\u{7f}");
        assert_eq!(for_plain("a\\b\tc"), "a\\\\b\\tc");
        assert_eq!(for_terminal("é 日本 🚀"), "é 日本 🚀");
    }

    #[test]
    fn json_keeps_its_meaning() {
        let text = serde_json::to_string("a\u{202e}\u{9b}\u{e0041}é\n").unwrap();
        let mut out = String::new();
        json(&mut out, &text);
        assert!(!out.contains('\u{202e}') && !out.contains('\u{9b}'));
        assert_eq!(serde_json::from_str::<String>(&out).unwrap(), "a\u{202e}\u{9b}\u{e0041}é\n");
    }

    #[test]
    fn bytes_that_are_no_text_are_shown_as_hex() {
        assert_eq!(bytes(b"a\xff\xc3b"), "a\\xff\\xc3b");
    }
}
