//! What a line must look like to be an event, as data, and what is kept of one that was read.
//!
//! A store describes its journal with a [`Shape`]: the ops, their members, the members of the records inside. Of an
//! event only the places of its values are kept; [`Members`] reads them when they are asked for.

use std::borrow::Cow;
use std::ops::Range;

use chrono::{DateTime, FixedOffset};

use super::json::{self, Cursor};
use super::stamp::Stamp;

/// What an id begins with that cannot be written as text.
pub const RAW_ID: char = char::REPLACEMENT_CHARACTER;

/// The most members that one op or record has in any journal.
const MEMBERS: usize = 24;

/// A journal's format.
#[derive(Debug)]
pub struct Shape {
    /// Every op that the journal knows.
    pub ops: &'static [Op],
    /// What the daemon does with odd lines of this journal. `None`: the journal is our own, and the daemon never reads
    /// it. Then what only the daemon would stumble over is no finding, because nobody stumbles.
    pub daemon: Option<Daemon>,
}

impl Shape {
    /// The longest line that the daemon takes, in bytes without the line end.
    #[must_use]
    pub fn longest_line(&self) -> Option<u64> {
        self.daemon.as_ref()?.longest_line
    }

    /// Whether the daemon reads the journal and this is so of it.
    #[must_use]
    pub fn daemon_is(&self, so: impl FnOnce(&Daemon) -> bool) -> bool {
        self.daemon.as_ref().is_some_and(so)
    }
}

/// How the daemon reads one journal, where that differs between journals.
#[derive(Debug)]
pub struct Daemon {
    /// Trims any Unicode white space around a record; else only space, tab, LF, FF and CR.
    pub trims_unicode: bool,
    /// Does not start when any byte of the file is not UTF-8; else loses that line alone.
    pub stops_at_bad_utf8: bool,
    /// Moves an unterminated tail aside before it reads or appends; else its next append is welded on.
    pub moves_tail_aside: bool,
    /// Does not start on a longer line (bytes without the line end), unless [`Daemon::skips_long`] says so.
    pub longest_line: Option<u64>,
    /// Whether a line above the limit is one that the daemon skips.
    pub skips_long: fn(&Event<'_>) -> bool,
}

/// One op: its tag and its members in the order in which the daemon writes them.
#[derive(Debug, PartialEq, Eq)]
pub struct Op {
    /// The tag.
    pub name: &'static str,
    /// The members beside the tag.
    pub members: &'static [Member],
    /// The member, of the op or of its record, that names what it is about.
    pub id: &'static str,
}

/// One member of an op or record.
#[derive(Debug, PartialEq, Eq)]
pub struct Member {
    /// Its name.
    pub name: &'static str,
    /// What its value must be.
    pub ty: Type,
    /// Whether it must be there.
    pub need: Need,
}

impl Member {
    /// A member that must be there.
    #[must_use]
    pub const fn required(name: &'static str, ty: Type) -> Member {
        Member { name, ty, need: Need::Required }
    }

    /// A member that may be absent or `null`.
    #[must_use]
    pub const fn optional(name: &'static str, ty: Type) -> Member {
        Member { name, ty, need: Need::Optional }
    }

    /// A member that may be absent, but not `null`.
    #[must_use]
    pub const fn default(name: &'static str, ty: Type) -> Member {
        Member { name, ty, need: Need::Default }
    }
}

/// Whether a member must be there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Need {
    /// Must be there.
    Required,
    /// May be absent or `null`.
    Optional,
    /// May be absent, but not `null`.
    Default,
}

/// What a member's value must be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Type {
    /// Any JSON value.
    Any,
    /// A string.
    Text,
    /// `true` or `false`.
    Bool,
    /// A whole number up to this, without sign, fraction or exponent.
    Natural(u64),
    /// Any number.
    Number,
    /// A string with a time as chrono reads RFC 3339 (which is more than RFC 3339).
    Time,
    /// One of these strings.
    Choice(&'static [&'static str]),
    /// A list of strings.
    Texts,
    /// A record.
    Record(&'static [Member]),
    /// A list of records.
    Records(&'static [Member]),
}

impl Type {
    pub(super) fn wanted(self) -> &'static str {
        match self {
            Type::Any => "a value",
            Type::Text => "a string",
            Type::Bool => "true or false",
            Type::Natural(_) => "a whole number that fits",
            Type::Number => "a number",
            Type::Time => "a time",
            Type::Choice(_) => "one of the known words",
            Type::Texts => "a list of strings",
            Type::Record(_) => "a record",
            Type::Records(_) => "a list of records",
        }
    }
}

/// Where the values of an op's or record's members lie in the text, by the member's position in its list.
#[derive(Clone, Copy, Debug)]
pub struct Slots([(u32, u32); MEMBERS]);

impl Slots {
    pub(super) const EMPTY: Slots = Slots([(0, 0); MEMBERS]);

    /// The value's range, if the member was there.
    #[must_use]
    pub fn range(&self, index: usize) -> Option<Range<usize>> {
        let (start, end) = *self.0.get(index)?;
        (end > 0).then_some(start as usize..end as usize)
    }

    pub(super) fn has(&self, index: usize) -> bool {
        self.0[index].1 > 0
    }

    pub(super) fn set(&mut self, index: usize, range: Range<usize>) {
        // A piece is at most 4 GiB - 1 long: the scanner sees to it.
        let narrow = |n: usize| u32::try_from(n).unwrap_or(u32::MAX);
        self.0[index] = (narrow(range.start), narrow(range.end));
    }
}

/// The members of one op or record that was read, with the text they lie in.
#[derive(Clone, Copy, Debug)]
pub struct Members<'a> {
    /// The text that the ranges index.
    pub text: &'a [u8],
    /// What the positions stand for.
    pub names: &'static [Member],
    /// Where the values lie.
    pub slots: Slots,
}

impl<'a> Members<'a> {
    /// The value's range in the text.
    #[must_use]
    pub fn range(&self, name: &str) -> Option<Range<usize>> {
        let index = self.names.iter().position(|m| m.name == name)?;
        self.slots.range(index)
    }

    /// The value as it is written.
    #[must_use]
    pub fn raw(&self, name: &str) -> Option<&'a [u8]> {
        self.text.get(self.range(name)?)
    }

    /// The characters of a string; `None` for an absent or `null` member.
    #[must_use]
    pub fn text(&self, name: &str) -> Option<Cow<'a, str>> {
        let raw = self.raw(name)?;
        Some(json::unescape(raw.strip_prefix(b"\"")?.strip_suffix(b"\"")?))
    }

    /// An id: a string's characters. Half of a surrogate pair is none; such an id stands for itself as it is written,
    /// behind the character that marks what cannot be shown ([`RAW_ID`]).
    #[must_use]
    pub fn id(&self, name: &str) -> Option<Cow<'a, str>> {
        let raw = self.raw(name)?;
        let inside = raw.strip_prefix(b"\"")?.strip_suffix(b"\"")?;
        let mut cursor = Cursor::new(raw);
        let lone = memchr::memchr(b'\\', inside).is_some()
            && cursor.string().is_ok()
            && cursor.quirks.lone_surrogate.is_some();
        Some(match lone {
            true => format!("{RAW_ID}{}", String::from_utf8_lossy(inside)).into(),
            false => json::unescape(inside),
        })
    }

    /// A whole number.
    #[must_use]
    pub fn natural(&self, name: &str) -> Option<u64> {
        std::str::from_utf8(self.raw(name)?).ok()?.parse().ok()
    }

    /// A number as a 64-bit float.
    #[must_use]
    pub fn number(&self, name: &str) -> Option<f64> {
        std::str::from_utf8(self.raw(name)?).ok()?.parse().ok()
    }

    /// `true` or `false`.
    #[must_use]
    pub fn flag(&self, name: &str) -> Option<bool> {
        match self.raw(name)? {
            b"true" => Some(true),
            b"false" => Some(false),
            _ => None,
        }
    }

    /// A time, with the offset that it was written with.
    #[must_use]
    pub fn time(&self, name: &str) -> Option<DateTime<FixedOffset>> {
        let inside = self.raw(name)?.strip_prefix(b"\"")?.strip_suffix(b"\"")?;
        // The daemon's own form is read faster than any other.
        match Stamp::parse(inside).and_then(Stamp::time) {
            Some(time) => Some(time.fixed_offset()),
            None => json::unescape(inside).parse().ok(),
        }
    }

    /// The strings of a list.
    pub fn texts(&self, name: &str) -> Vec<Cow<'a, str>> {
        let mut out = Vec::new();
        each(self.text, self.range(name), |cursor| {
            if let Ok(text) = cursor.string() {
                out.push(json::unescape(&cursor.text()[text.start..text.end]));
            }
        });
        out
    }

    /// The records of a list, each with its own range.
    pub fn records(&self, name: &str) -> Vec<(Range<usize>, Members<'a>)> {
        let mut out = Vec::new();
        let Some(Type::Records(names)) = self.names.iter().find(|m| m.name == name).map(|m| m.ty) else {
            return out;
        };
        let text = self.text;
        each(text, self.range(name), |cursor| {
            let start = cursor.pos;
            if let Some(slots) = super::read::record_here(names, cursor) {
                out.push((start..cursor.pos, Members { text, names, slots }));
            }
        });
        out
    }
}

/// Calls `take` on each element of the array at `range`; `take` must consume it.
fn each<'a>(text: &'a [u8], range: Option<Range<usize>>, mut take: impl FnMut(&mut Cursor<'a>)) {
    let Some(range) = range else { return };
    let mut cursor = Cursor::new(text);
    cursor.pos = range.start;
    if cursor.peek() != Some(b'[') {
        return;
    }
    cursor.open();
    loop {
        cursor.space();
        if cursor.pos >= range.end || cursor.peek() == Some(b']') {
            return;
        }
        let before = cursor.pos;
        take(&mut cursor);
        cursor.space();
        if cursor.peek() == Some(b',') {
            cursor.pos += 1;
        }
        if cursor.pos == before {
            return;
        }
    }
}

/// A line that is an event of its journal.
#[derive(Clone, Copy, Debug)]
pub struct Event<'a> {
    /// The op.
    pub op: &'static Op,
    /// The members beside the tag.
    pub members: Members<'a>,
    /// The members of the op's record (`session`, `case`, `fact`, `canonical`); empty where it has none.
    pub record: Members<'a>,
}
