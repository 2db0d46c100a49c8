//! A line as it was typed: its words, without the shell's quotes. Nothing is expanded and nothing is
//! run; what a shell would expand stays as it is, and is marked where no quote keeps the shell from it.

use std::ops::Range;

/// How a shell quotes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Quoting {
    /// As bash and zsh do.
    Posix,
    /// As fish does: a backslash also works between single quotes.
    Fish,
}

/// What joins a line with the next.
const CONTINUED: &str = "\\\n";

/// A word, as far as the cursor where it stands in it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Word {
    /// What it is so far.
    pub text: String,
    /// The quote that is open at the cursor.
    pub quote: Option<char>,
    /// How much of the text stands in front of what the shell takes for the word: bash breaks words at `:` and `=`, and
    /// where a quote was opened.
    pub kept: usize,
    /// Whether it begins with a `~` that the shell takes for the home directory.
    pub tilde: bool,
    /// What the shell puts values in the place of.
    pub variables: Vec<Variable>,
    /// Whether the shell runs a part of it, and takes what that writes: what it is nobody knows.
    pub runs: bool,
}

/// A variable in a word.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Variable {
    /// Its name.
    pub name: String,
    /// Where it stands in the word's text, with its `$` and braces.
    pub place: Range<usize>,
    /// Whether its value stays one word, whatever is in it.
    pub quoted: bool,
}

/// A line and its cursor.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Line {
    /// The words in front of the one at the cursor, the command's own name first.
    pub before: Vec<Word>,
    /// The word at the cursor, as far as the cursor.
    pub word: Word,
    /// The words behind it.
    pub after: Vec<Word>,
}

impl Line {
    /// Splits a line of bash's: what is in front of the cursor and what is behind it. `breaks`: the characters at which
    /// bash breaks words, `$COMP_WORDBREAKS`.
    #[must_use]
    pub fn split(text: &str, behind: &str, breaks: &str) -> Line {
        let (before, word) = words(text, Quoting::Posix, breaks);
        // The word at the cursor goes on, in its quote.
        let behind = word.quote.into_iter().chain(behind.chars()).collect::<String>();
        let (_, len) = read(&behind, Quoting::Posix, breaks, true);
        let (mut after, last) = words(&behind[len..], Quoting::Posix, breaks);
        after.extend((!last.text.is_empty()).then_some(last));
        Line { before, word, after }
    }

    /// Splits a line of fish's, as far as the cursor.
    #[must_use]
    pub fn of_fish(text: &str) -> Line {
        let (before, word) = words(text, Quoting::Fish, "");
        Line { before, word, after: Vec::new() }
    }
}

/// The words of a text, and the one with which it ends, which is empty behind a blank.
fn words(text: &str, quoting: Quoting, breaks: &str) -> (Vec<Word>, Word) {
    let mut before = Vec::new();
    let (mut rest, mut dropped) = (text, false);
    loop {
        rest = rest.trim_start_matches([' ', '\t', '\n']);
        if let Some(next_line) = rest.strip_prefix(CONTINUED) {
            rest = next_line;
            continue;
        }
        // What a redirection names is none of the command's words.
        let begun = rest.trim_start_matches(|c: char| c.is_ascii_digit());
        if begun.starts_with(['<', '>']) {
            rest = begun.trim_start_matches(['<', '>', '&', '|']);
            dropped = true;
            continue;
        }
        let (word, len) = read(rest, quoting, breaks, true);
        if len == rest.len() {
            return (before, word);
        }
        if !std::mem::take(&mut dropped) {
            before.push(word);
        }
        rest = &rest[len..];
    }
}

/// A word of zsh's, with its quotes.
#[must_use]
pub fn word(typed: &str) -> Word {
    read(typed, Quoting::Posix, "", false).0
}

/// Reads a word, and says how long it is as it is typed. `ends`: a blank or a redirection ends it.
fn read(typed: &str, quoting: Quoting, breaks: &str, ends: bool) -> (Word, usize) {
    let home = |rest: &str| rest.is_empty() || rest.starts_with(['/', ' ', '\t', '\n']);
    let mut word = Word { tilde: typed.strip_prefix('~').is_some_and(home), ..Word::default() };
    let mut chars = typed.char_indices();
    while let Some((at, c)) = chars.next() {
        match (word.quote, c) {
            (None, ' ' | '\t' | '\n' | '<' | '>') if ends => return (word, at),
            (None, '\'' | '"') => {
                word.quote = Some(c);
                // Where the quote stays open, the shell's word begins behind it.
                let closes = closes(&typed[at + 1..], c, quoting);
                word.kept = if closes { word.kept } else { word.text.len() };
            }
            (Some(quote), _) if c == quote => word.quote = None,
            (quote, '\\') if quote != Some('\'') || quoting == Quoting::Fish => {
                let Some((_, next)) = chars.next() else { break };
                if next == '\n' && quote != Some('\'') {
                    continue;
                }
                let literal = match quote {
                    Some('\'') => !matches!(next, '\\' | '\''),
                    Some(_) => !matches!(next, '\\' | '"' | '$' | '`'),
                    None => false,
                };
                if literal {
                    word.text.push('\\');
                }
                word.text.push(next);
            }
            (quote, _) => {
                let rest = &typed[at + c.len_utf8()..];
                word.runs |= quote != Some('\'') && (c == '`' || c == '$' && rest.starts_with('('));
                if c == '$' && quote != Some('\'') {
                    let at_text = word.text.len();
                    word.variables.extend(variable(rest).map(|(name, len)| Variable {
                        name: name.to_owned(),
                        place: at_text..at_text + 1 + len,
                        quoted: quote.is_some(),
                    }));
                }
                word.text.push(c);
                if quote.is_none() && breaks.contains(c) {
                    word.kept = word.text.len();
                }
            }
        }
    }
    (word, typed.len())
}

/// The name behind a `$`, and how long it is with its braces.
fn variable(rest: &str) -> Option<(&str, usize)> {
    let braced = rest.strip_prefix('{');
    let inside = braced.unwrap_or(rest);
    let end = inside.find(|c: char| !c.is_ascii_alphanumeric() && c != '_').unwrap_or(inside.len());
    let (name, behind) = inside.split_at(end);
    let closed = braced.is_none() || behind.starts_with('}');
    (closed && !name.is_empty()).then_some((name, if braced.is_some() { end + 2 } else { end }))
}

/// Whether a quote is closed in what follows it.
fn closes(rest: &str, quote: char, quoting: Quoting) -> bool {
    let mut escaped = false;
    for c in rest.chars() {
        match c {
            _ if escaped => escaped = false,
            '\\' => escaped = quote == '"' || quoting == Quoting::Fish,
            c if c == quote => return true,
            _ => {}
        }
    }
    false
}

#[cfg(test)]
mod tests {
    use super::*;

    const BREAKS: &str = " \t\n\"'@><=;|&(:";

    fn texts(words: Vec<Word>) -> Vec<String> {
        words.into_iter().map(|word| word.text).collect()
    }

    fn words(text: &str) -> (Vec<String>, Word) {
        let line = Line::split(text, "", BREAKS);
        (texts(line.before), line.word)
    }

    #[test]
    fn words_are_what_the_shell_would_hand_over() {
        let (before, word) = words("cruxctl --data-dir 'a b' session\tget \"x \\\"y\\n\"\\ z ");
        assert_eq!(before, ["cruxctl", "--data-dir", "a b", "session", "get", "x \"y\\n z"]);
        assert_eq!(word, Word::default());
        assert_eq!(words("cruxctl get '' a").0, ["cruxctl", "get", ""]);
        assert_eq!(words("cruxctl \\\n get a\\\nb c").0, ["cruxctl", "get", "ab"]);
    }

    #[test]
    fn bash_breaks_words_where_no_quote_keeps_it_from_it() {
        let kept = |text: &str| {
            let word = words(text).1;
            (word.text, word.kept, word.quote)
        };
        assert_eq!(kept("c repo:a"), ("repo:a".to_owned(), 5, None));
        assert_eq!(kept("c 'repo:a"), ("repo:a".to_owned(), 0, Some('\'')));
        assert_eq!(kept("c repo\\:a"), ("repo:a".to_owned(), 0, None));
        assert_eq!(kept("c \"a b\":c"), ("a b:c".to_owned(), 4, None));
        assert_eq!(kept("c x:y'b c"), ("x:yb c".to_owned(), 3, Some('\'')));
        assert_eq!(kept("c --agent=al"), ("--agent=al".to_owned(), 8, None));
        assert_eq!(kept("c a\\"), ("a".to_owned(), 0, None));
    }

    #[test]
    fn words_behind_the_cursor_are_known_as_well() {
        let after = |text, behind| texts(Line::split(text, behind, BREAKS).after);
        assert_eq!(after("c get ", " --agent 'a b'"), ["--agent", "a b"]);
        assert_eq!(after("c get b", "u --agent alice "), ["--agent", "alice"]);
        assert_eq!(after("c get 'b", "u x' y"), ["y"]);
        assert_eq!(after("c get 'b", ""), [""; 0]);
    }

    #[test]
    fn a_redirection_is_no_word() {
        assert_eq!(words("c put 2> log <state x y").0, ["c", "put", "x"]);
        assert_eq!(words("c put x>out y").0, ["c", "put", "x"]);
    }

    #[test]
    fn fish_has_its_own_single_quotes() {
        assert_eq!(Line::of_fish("c 'it\\'s").word.text, "it's");
        assert_eq!(word("'it\\'s").text, "it\\s");
    }

    #[test]
    fn what_the_shell_would_expand_is_marked() {
        let marked = |typed: &str| {
            let word = word(typed);
            let variables = word.variables.iter().map(|v| (&word.text[v.place.clone()], &*v.name, v.quoted));
            (word.tilde, variables.map(|(at, name, quoted)| format!("{at} {name} {quoted}")).collect::<Vec<_>>())
        };
        assert!(marked("~/a").0);
        assert!(marked("~").0);
        for typed in ["\"~/a\"", "'~/a'", "\\~/a", "~\"/a\"", "~other/a", "--data-dir=~/a"] {
            assert!(!marked(typed).0, "{typed}");
        }
        assert_eq!(
            marked("a${B}c\"x$D_1-\"'$E'\\$F\"\\$G\"$HO'ME'").1,
            ["${B} B false", "$D_1 D_1 true", "$HO HO false"]
        );
        assert!(marked("$(x) ${Y:-z} ${ $").1.is_empty());
        for (typed, runs) in
            [("a$(b", true), ("\"`b", true), ("'$(b'", false), ("\\$(b", false), ("\"\\`", false), ("$b(", false)]
        {
            assert_eq!(word(typed).runs, runs, "{typed}");
        }
    }
}
