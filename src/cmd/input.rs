//! Documents and ids that come from outside, checked before anything is done with them.

use std::fs::File;
use std::io::{self, IsTerminal, Read};
use std::path::Path;

use serde::de::DeserializeOwned;

use crate::env;
use crate::error::{Code, Error, Result, plain};
use crate::journal::json::{self, Squeeze};
use crate::store::{scope, session};

/// How much is read at once.
const BLOCK: usize = 1 << 16;

/// The largest state that is written unless a flag or variable raises it.
const MAX_STATE_BYTES: u64 = 16 << 20;

/// The largest state that is written.
pub fn most_state_bytes(flag: Option<u64>) -> Result<u64> {
    match (flag, env::var("CRUXCTL_MAX_STATE_BYTES")) {
        (Some(bytes), _) => Ok(bytes),
        (None, Some(text)) => text.parse().map_err(|_| {
            let message = format!("CRUXCTL_MAX_STATE_BYTES is {text:?}, which is no number of bytes");
            Error::new(Code::UsageArguments, message)
        }),
        (None, None) => Ok(MAX_STATE_BYTES),
    }
}

/// A state that may be stored.
#[derive(Debug)]
pub struct State {
    /// Its text: one line.
    pub text: Vec<u8>,
    /// Why the daemon would lose it, with the place, if it would.
    pub daemon_loses: Option<String>,
}

/// Reads a state from a file, or from standard input. One line is kept byte for byte; a text with raw line breaks
/// loses the white space between tokens and nothing else. At most `most` bytes are kept.
pub fn state(file: Option<&Path>, most: u64) -> Result<State> {
    let hint = "pipe it in: echo '{\"step\":1}' | cruxctl session put ID, or name a file: --file STATE.json";
    let (mut from, name) = open(file, "the state is", hint)?;
    let mut intake = Intake { most, ..Intake::default() };
    let mut block = vec![0; BLOCK];
    loop {
        match from.read(&mut block) {
            Ok(0) => break,
            Ok(got) => intake.take(&block[..got])?,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(unreadable(&name, &error)),
        }
    }
    let (trimmed, lead, true_places) = (intake.trimmed(), intake.lead, intake.squeeze.is_none());
    if trimmed.is_empty() {
        let message = format!("{name} is empty; a state is one JSON value");
        return Err(Error::new(Code::UsageNotJson, message));
    }
    let place = |at: usize| {
        let left_out = if true_places { "" } else { " (white space between tokens left out)" };
        format!("at byte {}{left_out}", at as u64 + lead)
    };
    let not_json = |at: usize, why: &str| {
        Error::new(Code::UsageNotJson, format!("{name} is not one JSON value: {why}, {}", place(at)))
    };
    if trimmed.starts_with(b"\xEF\xBB\xBF") {
        return Err(not_json(0, "a byte order mark in front of it"));
    }
    if let Err(error) = std::str::from_utf8(trimmed) {
        return Err(not_json(error.valid_up_to(), "not UTF-8"));
    }
    let (_, quirks) =
        json::whole(trimmed, session::DEPTH_AROUND_STATE).map_err(|fail| not_json(fail.at, fail.why))?;
    let mut text = Vec::new();
    if intake.lines && true_places {
        Squeeze::default().squeeze(trimmed, &mut text);
    } else {
        text.extend_from_slice(trimmed);
    }
    if text.len() as u64 > most {
        return Err(too_large(&text.len().to_string(), most));
    }
    let daemon_loses = loses(&quirks).map(|(at, why)| format!("{why}, {}", place(at)));
    Ok(State { text, daemon_loses })
}

/// Why the daemon would lose a state, and where the first such place is.
pub fn loses(quirks: &json::Quirks) -> Option<(usize, &'static str)> {
    let loses = [
        (quirks.too_deep, "it is nested deeper than 125 levels"),
        (quirks.number_out_of_range, "a number is beyond a 64-bit float"),
        (quirks.lone_surrogate, "an escape is half of a surrogate pair"),
    ];
    loses.into_iter().filter_map(|(at, why)| at.map(|at| (at, why))).min()
}

/// Standard input, which may not be a terminal: nobody there knows that they are waited for. `what` is read, with its
/// verb.
pub fn piped(what: &str, hint: &str) -> Result<io::Stdin> {
    let stdin = io::stdin();
    if stdin.is_terminal() {
        let message = format!("{what} read from standard input, and that is a terminal");
        return Err(Error::new(Code::UsageArguments, message).hint(hint));
    }
    Ok(stdin)
}

/// What stands for standard input in messages.
const STDIN: &str = "standard input";

/// An input that cannot be read.
fn unreadable(name: &str, error: &io::Error) -> Error {
    match name {
        STDIN => Error::new(Code::EnvironmentStdin, format!("cannot read {name}: {}", plain(error))),
        path => Error::io("read", Path::new(path), error),
    }
}

/// Opens a file, or standard input where none is named or it is named `-`; with its name.
fn open(file: Option<&Path>, what: &str, hint: &str) -> Result<(Box<dyn Read>, String)> {
    match file {
        Some(path) if path != Path::new("-") => {
            let file = File::open(path).map_err(|e| Error::io("open", path, &e))?;
            Ok((Box::new(file), path.display().to_string()))
        }
        _ => Ok((Box::new(piped(what, hint)?), STDIN.to_owned())),
    }
}

/// Reads a file or standard input, with its name; no bytes where there are more than `most`. `what` it is, with its
/// verb, and a `hint` are told where it would come from a terminal.
pub fn bytes(file: Option<&Path>, most: u64, what: &str, hint: &str) -> Result<(Option<Vec<u8>>, String)> {
    let (from, name) = open(file, what, hint)?;
    let mut text = Vec::new();
    from.take(most.saturating_add(1)).read_to_end(&mut text).map_err(|error| unreadable(&name, &error))?;
    Ok(((text.len() as u64 <= most).then_some(text), name))
}

/// Reads all of a file or standard input, at most `most` bytes. `what` it is and a `hint` are told where it would come
/// from a terminal.
pub fn document(what: &str, file: Option<&Path>, most: u64, hint: &str) -> Result<Vec<u8>> {
    let (text, _) = bytes(file, most, &format!("{what} is"), hint)?;
    text.ok_or_else(|| Error::new(Code::RefusedTooLarge, format!("{what} has more than {most} bytes")))
}

/// A JSON object as what it is to be. `name`: where it comes from; `what` it is to be.
pub fn parsed<T: DeserializeOwned>(text: &[u8], name: &str, what: &str) -> Result<T> {
    let value = json::whole(text, 0);
    if value.is_ok() && !text.trim_ascii_start().starts_with(b"{") {
        return Err(Error::new(Code::UsageDocument, format!("{name} is no JSON object")));
    }
    serde_json::from_slice(text).map_err(|error| match value {
        Ok(_) => Error::new(Code::UsageDocument, format!("{name} is no {what}: {error}")),
        Err(_) => Error::new(Code::UsageNotJson, format!("{name} is not one JSON value: {error}")),
    })
}

/// A text as it comes in: bounded, whatever white space there is around and between its tokens.
#[derive(Default)]
struct Intake {
    most: u64,
    text: Vec<u8>,
    /// White space in front of the text, which is not kept.
    lead: u64,
    /// A line break was met behind the last token.
    break_behind: bool,
    /// Line breaks stand between tokens, so that white space there does not count.
    lines: bool,
    /// White space behind the last token was dropped, because there was too much of it.
    dropped: bool,
    /// Set once the text was too long to be kept as it came.
    squeeze: Option<Squeeze>,
}

impl Intake {
    fn take(&mut self, block: &[u8]) -> Result<()> {
        let mut block = block;
        if self.text.is_empty() {
            let spaces = block.iter().take_while(|b| json::is_space(**b)).count();
            self.lead += spaces as u64;
            block = &block[spaces..];
        }
        for byte in block {
            if json::is_space(*byte) {
                self.break_behind |= matches!(byte, b'\n' | b'\r');
                continue;
            }
            self.lines |= self.break_behind;
            if self.dropped && !self.lines {
                return Err(too_large("too many", self.most));
            }
        }
        if self.dropped && self.lines {
            self.begin_squeeze();
        }
        match &mut self.squeeze {
            Some(squeeze) => squeeze.squeeze(block, &mut self.text),
            None => self.text.extend_from_slice(block),
        }
        // As long as it is no more than twice the limit it is kept as it came, so that places can be told.
        if self.text.len() as u64 <= self.most.saturating_mul(2).max(BLOCK as u64) {
            return Ok(());
        }
        if self.lines {
            self.begin_squeeze();
        } else {
            let kept = self.trimmed().len();
            self.text.truncate(kept);
            self.dropped = true;
        }
        if self.text.len() as u64 > self.most {
            return Err(too_large(&format!("more than {}", self.most), self.most));
        }
        Ok(())
    }

    fn begin_squeeze(&mut self) {
        if self.squeeze.is_none() {
            let mut squeeze = Squeeze::default();
            let whole = std::mem::take(&mut self.text);
            squeeze.squeeze(&whole, &mut self.text);
            if self.dropped {
                squeeze.squeeze(b" ", &mut self.text);
            }
            self.squeeze = Some(squeeze);
        }
        self.dropped = false;
    }

    fn trimmed(&self) -> &[u8] {
        let end = self.text.iter().rposition(|b| !json::is_space(*b)).map_or(0, |last| last + 1);
        &self.text[..end]
    }
}

/// Refuses a state that is too large.
pub fn too_large(bytes: &str, most: u64) -> Error {
    let message = format!("the state has {bytes} bytes; the most that is written is {most}");
    Error::new(Code::RefusedTooLarge, message).hint("raise the limit: --max-state-bytes 33554432")
}

/// Refuses a state that the daemon would lose, and why.
pub fn unreadable_for_daemon(why: &str) -> Error {
    let message = format!("the daemon would lose this session: {why}");
    Error::new(Code::RefusedDaemonUnreadable, message).hint("store it all the same: --allow-daemon-unreadable")
}

/// Refuses an agent that no stored id could be told apart by.
pub fn check_agent(agent: &str) -> Result<()> {
    let why = if agent.is_empty() {
        "it is empty"
    } else if agent.contains("::") || agent.ends_with(':') {
        "it holds `::` or ends in `:`, and `::` separates agent and id in stored ids"
    } else if agent.chars().any(char::is_control) {
        "it holds a control character"
    } else {
        return Ok(());
    };
    Err(Error::new(Code::UsageId, format!("{agent:?} is no agent: {why}")))
}

/// Refuses an id that may not be created. Ids that a journal holds are never refused.
pub fn check_new_id(id: &str, all_agents: bool) -> Result<()> {
    let theirs = id.starts_with(scope::PREFIX) && !all_agents;
    let belongs = format!("ids that begin with {} belong to agents: name the agent with --agent", scope::PREFIX);
    check_new("id", id, theirs.then_some(belongs))
}

/// Refuses a text that may not name anything new. `what` it names; `why_else` it may not.
pub fn check_new(what: &str, text: &str, why_else: Option<String>) -> Result<()> {
    let why = if text.is_empty() {
        "it is empty".to_owned()
    } else if text.len() > session::LONGEST_ID {
        format!("it has {} bytes, and at most {} are allowed", text.len(), session::LONGEST_ID)
    } else if text.chars().any(char::is_control) {
        "it holds a control character".to_owned()
    } else if let Some(why) = why_else {
        why
    } else {
        return Ok(());
    };
    let shown: String = text.chars().take(80).collect();
    Err(Error::new(Code::UsageId, format!("{shown:?} cannot be a new {what}: {why}")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_and_agents_that_may_not_be_created() {
        for id in ["", "a\nb", "a\0", &"x".repeat(1025), "__agent_session::a::b"] {
            assert_eq!(check_new_id(id, false).unwrap_err().code, Code::UsageId, "{id:?}");
        }
        for id in ["../../x", "a/b", ".", "-", &"x".repeat(1024), "日本"] {
            assert!(check_new_id(id, false).is_ok(), "{id:?}");
        }
        assert!(check_new_id("__agent_session::a::b", true).is_ok());
        assert!(
            check_agent("a::b").is_err()
                && check_agent("a:").is_err()
                && check_agent("").is_err()
                && check_agent("a:b").is_ok()
        );
    }
}
