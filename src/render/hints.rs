//! Commands in hints, as they must be typed here.

use super::safe;

/// What the commands in hints must carry to mean the same here: flags that were typed, such as the data directory.
#[derive(Clone, Debug, Default)]
pub struct Carried(String);

impl Carried {
    /// Remembers a flag and its value.
    pub fn flag(&mut self, flag: &str, value: &str) {
        self.0.push_str(&format!(" {flag} {}", quoted(value)));
    }

    /// A command as it must be typed here. Other sentences stay as they are.
    #[must_use]
    pub fn command(&self, hint: &str) -> String {
        let Some(at) = hint.find("cruxctl ") else { return hint.to_owned() };
        // The flags go behind the noun and verb, in front of any `--`.
        let words = hint[at..].split_inclusive(' ').take(3).map(str::len).sum::<usize>();
        let (head, tail) = hint.split_at(at + words);
        let space = if tail.is_empty() { "" } else { " " };
        format!("{}{}{space}{tail}", head.trim_end(), self.0)
    }
}

/// A text as one word of a shell.
#[must_use]
pub fn quoted(text: &str) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || "-_.:/@%+=,".contains(c);
    if !text.is_empty() && text.chars().all(plain) {
        return text.to_owned();
    }
    if text.chars().any(safe::acts) {
        return safe::for_shell(text);
    }
    format!("'{}'", text.replace('\'', "'\\''"))
}
