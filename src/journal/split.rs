//! Tells records from wreckage inside one line that is not simply one record.
//!
//! A piece is a stretch of a line without NUL bytes. It is read from its start. What cannot be read ends where a
//! record begins that the text before it *cannot go on with*: reading from the start first fails within that
//! record's first bytes. Where the text could go on, because it was cut at a value, or where it has lost its own
//! beginning, the record behind it may just as well be part of somebody's state; it is then reported as possible and
//! not taken.

use std::borrow::Cow;
use std::ops::Range;

use super::finding::Class;
use super::json::Quirks;
use super::read::{self, Reading};
use super::shape::{self, Event, Shape, Type};

/// How far behind a record's first byte the reading of a fragment in front of it can get: a fragment cut inside a
/// string reads `{"` as its end and fails at the letter behind, one later where the record has a space there.
const REACH: usize = 4;

/// How many possible records are told of one stretch.
const POSSIBLES: usize = 64;

/// How often the bytes of one piece may be read in search of possible records.
const SEARCHES: usize = 8;

/// One part of a piece. Parts come in order and leave out only white space.
#[derive(Debug)]
pub enum Part<'a> {
    /// A record of the journal.
    Event {
        /// Its place in the piece.
        range: Range<usize>,
        /// The record.
        event: Box<Event<'a>>,
        /// What the daemon would stumble over in it.
        quirks: Quirks,
    },
    /// A record whose op the journal does not know.
    Foreign {
        /// Its place in the piece.
        range: Range<usize>,
        /// Its tag.
        op: String,
    },
    /// Bytes that are no record.
    Bad(Bad),
}

/// Bytes of a piece that are no record.
#[derive(Debug)]
pub struct Bad {
    /// Their place in the piece.
    pub range: Range<usize>,
    /// What is wrong with them.
    pub class: Class,
    /// Where reading failed, in the piece.
    pub at: usize,
    /// What is wrong there.
    pub why: String,
    /// The ids that it names as its own, as far as they could still be told.
    pub ids: Vec<String>,
    /// Records in them that may be some, in order, each with its op and id.
    pub possible: Vec<(Range<usize>, String)>,
}

/// Where a text is not UTF-8, found once for each stretch.
struct Utf8<'a> {
    text: &'a [u8],
    from: usize,
    bad: Option<usize>,
}

impl<'a> Utf8<'a> {
    fn new(text: &'a [u8]) -> Utf8<'a> {
        let mut utf8 = Utf8 { text, from: 0, bad: None };
        utf8.look(0);
        utf8
    }

    fn look(&mut self, from: usize) {
        self.from = from;
        self.bad = simdutf8::compat::from_utf8(&self.text[from..]).err().map(|error| {
            // A character that lacks its rest fails at the byte that should have been the rest; any other at itself.
            let at = from + error.valid_up_to();
            let lead = (0xC2..=0xF4).contains(&self.text[at]);
            at + if lead { error.error_len().unwrap_or(self.text.len() - at) } else { 0 }
        });
    }

    /// The first place at or behind `from` that is not UTF-8.
    fn bad(&mut self, from: usize) -> Option<usize> {
        if from < self.from || self.bad.is_some_and(|bad| bad <= from) {
            self.look(from);
        }
        self.bad
    }
}

/// What stands around a piece.
#[derive(Clone, Copy, Debug)]
pub struct Around {
    /// NUL bytes stand where its beginning was: what it begins with may be a piece of what they have wiped out.
    pub behind_nul: bool,
    /// The line ends with it.
    pub ends_line: bool,
}

/// Splits a piece, whose white space at both ends is cut off, into its parts.
pub fn split<'a>(shape: &Shape, text: &'a [u8], around: Around, take: &mut dyn FnMut(Part<'a>)) {
    let behind_nul = around.behind_nul;
    let mut utf8 = Utf8::new(text);
    let mut from = 0;
    loop {
        while text.get(from).is_some_and(u8::is_ascii_whitespace) {
            from += 1;
        }
        if from >= text.len() {
            return;
        }
        let bad_at = utf8.bad(from);
        let mut bad = match read_at(shape, text, from, bad_at) {
            // Behind NUL bytes a record must reach the line's end or the next record.
            Ok((_, end)) if behind_nul && from == 0 && !reaches(text, end, around) => {
                let why = "a record between NUL bytes and something else".to_owned();
                let (ids, possible) = (Vec::new(), Vec::new());
                let bad = Bad { range: 0..0, class: Class::NotJson, at: end, why, ids, possible };
                Box::new(Unread { bad, wrong_at: None, end: None, id_ends: Vec::new() })
            }
            Ok((part, end)) => {
                take(part);
                from = end;
                continue;
            }
            Err(bad) => bad,
        };
        // Only a text with its own beginning can be said not to go on with what follows.
        let whole_head = matches!(text[from], b'{' | b'[') && !(behind_nul && from == 0);
        let next = if whole_head { follower(shape, text, from, &bad, &mut utf8) } else { None };
        let next = next.or(bad.end.filter(|end| whole_head && !text[*end..].trim_ascii().is_empty()));
        let end = next.unwrap_or(text.len());
        bad.bad.range = from..end;
        // An id that was cut goes on in what stands behind it, and is none.
        let whole = bad.id_ends.iter().take_while(|id_end| **id_end <= end).count();
        if !bad.id_ends.is_empty() {
            bad.bad.ids.truncate(whole);
        }
        if next.is_none() {
            bad.bad.possible = possible(shape, text, from, &mut utf8);
        }
        take(Part::Bad(bad.bad));
        from = end;
    }
}

/// A reading that is no record; `end` is set where it is a whole JSON value.
struct Unread {
    bad: Bad,
    wrong_at: Option<usize>,
    end: Option<usize>,
    /// Offsets behind the ids that were told, where they may be cut.
    id_ends: Vec<usize>,
}

fn read_at<'a>(
    shape: &Shape,
    text: &'a [u8],
    from: usize,
    not_utf8: Option<usize>,
) -> Result<(Part<'a>, usize), Box<Unread>> {
    let bad =
        |class, at, why: String, ids| Bad { range: from..from, class, at: from + at, why, ids, possible: Vec::new() };
    let (mut unread, end) = match read::read(shape, &text[from..]) {
        Reading::Event { event, end, quirks } => {
            let end = from + end;
            if not_utf8.is_none_or(|at| at >= end) {
                return Ok((Part::Event { range: from..end, event, quirks }, end));
            }
            let ids = event_id(&event).map(Cow::into_owned).into_iter().collect();
            let bad = bad(Class::InvalidUtf8, 0, String::new(), ids);
            (Unread { bad, wrong_at: None, end: Some(end), id_ends: Vec::new() }, end)
        }
        Reading::Foreign { op, end } => {
            let end = from + end;
            if not_utf8.is_none_or(|at| at >= end) {
                return Ok((Part::Foreign { range: from..end, op }, end));
            }
            let bad = bad(Class::InvalidUtf8, 0, String::new(), Vec::new());
            (Unread { bad, wrong_at: None, end: Some(end), id_ends: Vec::new() }, end)
        }
        Reading::NoEvent { class, at, why, end, ids } => {
            let end = from + end;
            (Unread { bad: bad(class, at, why, ids), wrong_at: None, end: Some(end), id_ends: Vec::new() }, end)
        }
        Reading::Broken { fail, wrong_at, ids } => {
            let (ids, id_ends): (Vec<String>, Vec<usize>) = ids.into_iter().map(|(id, end)| (id, from + end)).unzip();
            let unread = Unread {
                bad: bad(Class::NotJson, fail.at, fail.why.to_owned(), ids),
                wrong_at: wrong_at.map(|at| from + at),
                end: None,
                id_ends,
            };
            let end = unread.bad.at + 1;
            (unread, end)
        }
    };
    if let Some(at) = not_utf8.filter(|at| *at < end) {
        unread.bad.class = Class::InvalidUtf8;
        unread.bad.at = at;
        unread.bad.why = "not UTF-8".to_owned();
    }
    Err(Box::new(unread))
}

/// Where the first record behind a fragment begins, if the fragment cannot go on with it.
fn follower(shape: &Shape, text: &[u8], from: usize, unread: &Unread, utf8: &mut Utf8<'_>) -> Option<usize> {
    // Behind a whole value nothing can go on; else the text ends where reading failed, or where no event goes on.
    let at = unread.end.unwrap_or(unread.bad.at);
    let mut places: Vec<usize> = (at.saturating_sub(REACH)..=at).chain(unread.wrong_at).collect();
    if unread.end.is_some() {
        places.push(at + text[at..].iter().take_while(|b| b.is_ascii_whitespace()).count());
    }
    places.sort_unstable();
    places
        .into_iter()
        .filter(|p| *p > from && matches!(text.get(*p), Some(b'{' | b'[')))
        .find(|p| accepts(shape, text, *p, utf8))
}

/// Whether a record begins at `place`: a whole one with the end of the piece or another beginning behind it, or the
/// beginning of one exactly as the daemon writes it.
fn accepts(shape: &Shape, text: &[u8], place: usize, utf8: &mut Utf8<'_>) -> bool {
    let not_utf8 = utf8.bad(place);
    match read_at(shape, text, place, not_utf8) {
        Ok((_, end)) => stands_alone(text, end),
        Err(_) => {
            let rest = &text[place..];
            let head = |op: &shape::Op| {
                let tail = rest.strip_prefix(b"{\"op\":\"").and_then(|r| r.strip_prefix(op.name.as_bytes()));
                tail.is_some_and(|r| r.starts_with(b"\","))
            };
            shape.ops.iter().any(head)
        }
    }
}

/// Whether behind a record that ends at `end` the line ends, or another record may begin.
fn reaches(text: &[u8], end: usize, around: Around) -> bool {
    stands_alone(text, end) && (around.ends_line || !text[end..].trim_ascii().is_empty())
}

/// Whether behind a record that ends at `end` the piece ends, or another record may begin.
fn stands_alone(text: &[u8], end: usize) -> bool {
    matches!(text[end..].trim_ascii_start().first(), None | Some(b'{' | b'['))
}

/// The records in a stretch that may be some: whole ones, each with the end of the piece or another beginning behind it.
fn possible(shape: &Shape, text: &[u8], from: usize, utf8: &mut Utf8<'_>) -> Vec<(Range<usize>, String)> {
    let mut found: Vec<(Range<usize>, String)> = Vec::new();
    let mut budget = (text.len() - from).saturating_mul(SEARCHES);
    for quote in memchr::memchr_iter(b'"', &text[from..]) {
        let inside = found.last().is_some_and(|(range, _)| from + quote < range.end);
        let Some(bracket) = bracket_of(shape, &text[from + quote + 1..]).filter(|_| !inside) else { continue };
        let before = text[from..from + quote].trim_ascii_end();
        if before.last() != Some(&bracket) {
            continue;
        }
        let place = from + before.len() - 1;
        let not_utf8 = utf8.bad(place);
        let read = match read_at(shape, text, place, not_utf8) {
            Ok((Part::Event { range, event, .. }, end)) => {
                if stands_alone(text, end) {
                    let id = event_id(&event).map(|id| format!(" {id}")).unwrap_or_default();
                    found.push((range, format!("{}{id}", event.op.name)));
                }
                end - place
            }
            Ok((_, end)) => end - place,
            Err(unread) => unread.end.unwrap_or(unread.bad.at).saturating_sub(place),
        };
        // What was read is never read more than a few times over, however many beginnings there are.
        let Some(left) = budget.checked_sub(read) else { break };
        budget = left;
        if found.len() == POSSIBLES {
            break;
        }
    }
    found
}

/// The bracket that stands in front of a first string, if the string may be how an event begins: `op` in an object, the
/// name of an op in an array.
fn bracket_of(shape: &Shape, string: &[u8]) -> Option<u8> {
    let is = |name: &str| string.strip_prefix(name.as_bytes()).is_some_and(|rest| rest.first() == Some(&b'"'));
    if is("op") {
        return Some(b'{');
    }
    shape.ops.iter().any(|op| is(op.name)).then_some(b'[')
}

/// The id of what an event is about; `None` where it is about several.
#[must_use]
pub fn event_id<'a>(event: &Event<'a>) -> Option<Cow<'a, str>> {
    event.record.id(event.op.id).or_else(|| event.members.id(event.op.id))
}

/// Every id that an event is about: its own, or those of the records that it lists.
pub fn event_ids(event: &Event<'_>, take: &mut dyn FnMut(&str)) {
    if let Some(id) = event_id(event) {
        return take(&id);
    }
    for member in event.op.members.iter().filter(|member| matches!(member.ty, Type::Records(_))) {
        for (_, record) in event.members.records(member.name) {
            record.id(event.op.id).iter().for_each(|id| take(id));
        }
    }
}
