//! How each shell asks, and how it is answered. The other halves are the scripts in `completions/`.

use std::fmt::Write;

use super::Candidate;
use super::line::{self, Line};

/// A shell that has a script of ours.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Shell {
    /// bash hands over the line in front of the cursor and behind it, and where it breaks words, and takes what it puts
    /// in place of the last of these, quoted.
    Bash,
    /// zsh hands over the word at the cursor, how many words are in front of it, these and those behind it, all quoted,
    /// and takes plain words.
    Zsh,
    /// fish hands over the line in front of the cursor, and takes plain words. It does not tell a completion what is
    /// behind the cursor.
    Fish,
}

impl Shell {
    /// The shell of this name.
    #[must_use]
    pub fn named(name: &str) -> Option<Shell> {
        match name {
            "bash" => Some(Shell::Bash),
            "zsh" => Some(Shell::Zsh),
            "fish" => Some(Shell::Fish),
            _ => None,
        }
    }

    /// Its script.
    #[must_use]
    pub fn script(self) -> &'static str {
        match self {
            Shell::Bash => include_str!("../../../completions/cruxctl.bash"),
            Shell::Zsh => include_str!("../../../completions/_cruxctl"),
            Shell::Fish => include_str!("../../../completions/cruxctl.fish"),
        }
    }

    /// The line that its script has handed over; `None` where that is not what the script hands over.
    #[must_use]
    pub fn line(self, typed: &[String]) -> Option<Line> {
        let line = match (self, typed) {
            (Shell::Bash, [text, behind, breaks]) => Line::split(text, behind, breaks),
            (Shell::Zsh, [word, count, words @ ..]) => {
                let (before, after) = words.split_at_checked(count.parse().ok()?)?;
                let all = |words: &[String]| words.iter().map(|word| line::word(word)).collect();
                Line { before: all(before), word: line::word(word), after: all(after) }
            }
            (Shell::Fish, [text]) => Line::of_fish(text),
            _ => return None,
        };
        Some(line).filter(|line| !line.before.is_empty() && !line.word.runs)
    }

    /// The answer: a candidate a line. Texts hold neither tabs nor line ends.
    #[must_use]
    pub fn answer(self, line: &Line, candidates: &[Candidate]) -> String {
        let mut out = String::new();
        for Candidate { text, help, open } in candidates {
            let mark = if *open { '+' } else { '=' };
            let help = help.as_ref().map(|help| format!("\t{help}")).unwrap_or_default();
            let _ = match self {
                Shell::Bash => match for_bash(line, text) {
                    Some(text) => writeln!(out, "{mark}{text}"),
                    None => Ok(()),
                },
                Shell::Zsh => writeln!(out, "{mark}{text}{help}"),
                Shell::Fish => writeln!(out, "{text}{help}"),
            };
        }
        out
    }
}

/// A candidate as bash puts it in place of its last word; `None` where no quoting in that place keeps its characters
/// what they are.
fn for_bash(line: &Line, text: &str) -> Option<String> {
    let word = &line.word;
    let rest = text.get(word.kept..).filter(|_| text.starts_with(&word.text))?;
    match word.quote {
        Some('\'') => Some(rest.replace('\'', "'\\''")),
        // Between these, a history expansion cannot be kept from it.
        Some(_) if rest.contains('!') => None,
        Some(_) => Some(escaped(rest, |c| matches!(c, '\\' | '"' | '$' | '`'))),
        None if word.tilde && word.kept == 0 && rest.starts_with("~/") => {
            Some(format!("~/{}", escaped(&rest[2..], is_special)))
        }
        None => Some(escaped(rest, is_special)),
    }
}

fn is_special(c: char) -> bool {
    !(c.is_alphanumeric() || matches!(c, '_' | '-' | '.' | '/' | ':' | '=' | '@' | '%' | '+' | ','))
}

fn escaped(text: &str, special: impl Fn(char) -> bool) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        if special(c) {
            out.push('\\');
        }
        out.push(c);
    }
    out
}
