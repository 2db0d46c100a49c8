//! Holds a line against its journal's [`Shape`].
//!
//! A line is walked once: the JSON and the types are checked on the way, and the places of the values are kept. The
//! rules are those of the daemon's derived readers: an event and a record may be written as arrays in member order,
//! unknown members are ignored, a known member twice is an error, an absent optional member equals `null`, and a member
//! with a default may be absent but not `null`.

use std::borrow::Cow;

use chrono::{DateTime, FixedOffset};

use super::finding::Class;
use super::json::{self, Cursor, Fail, Quirks, Text};
use super::shape::{Event, Member, Members, Need, Shape, Slots, Type};

/// What a text turned out to be, read from its start.
#[derive(Debug)]
pub enum Reading<'a> {
    /// An event; `end` is the offset behind it.
    Event {
        /// The event.
        event: Box<Event<'a>>,
        /// The offset behind it.
        end: usize,
        /// What the daemon would stumble over in it.
        quirks: Quirks,
    },
    /// An event whose op the journal does not know.
    Foreign {
        /// Its tag.
        op: String,
        /// The offset behind it.
        end: usize,
    },
    /// A whole JSON value that is no event.
    NoEvent {
        /// Which rule it breaks.
        class: Class,
        /// Where it breaks it.
        at: usize,
        /// What is wrong there.
        why: String,
        /// The offset behind the value.
        end: usize,
        /// The ids that it names as its own, as far as they could still be told.
        ids: Vec<String>,
    },
    /// Not JSON.
    Broken {
        /// Where it stops being JSON.
        fail: Fail,
        /// The first value before that place which no event could have there.
        wrong_at: Option<usize>,
        /// The ids that it names as its own, as far as they could still be told, each with the offset behind it.
        ids: Vec<(String, usize)>,
    },
}

/// A rule that a whole JSON value breaks.
#[derive(Debug)]
struct Wrong {
    class: Class,
    at: usize,
    why: String,
}

struct Reader<'a> {
    cursor: Cursor<'a>,
    wrong: Option<Wrong>,
    /// The member that names what the event is about.
    id_member: &'static str,
    /// What it says, each time that it is seen, and the offset behind it.
    ids: Vec<(String, usize)>,
}

/// How many ids of something that is no event are kept: a text may name one after the other.
const IDS: usize = 64;

/// Reads one event from the start of `text`, which begins with neither white space nor a byte order mark.
#[must_use]
pub fn read<'a>(shape: &Shape, text: &'a [u8]) -> Reading<'a> {
    if !matches!(text.first(), Some(b'{' | b'[')) {
        let mut cursor = Cursor::new(text);
        return match cursor.skip() {
            Ok(()) => Reading::NoEvent {
                class: Class::NotAnObject,
                at: 0,
                why: "an event must be an object".to_owned(),
                end: cursor.pos,
                ids: Vec::new(),
            },
            Err(fail) => Reading::Broken { fail, wrong_at: None, ids: Vec::new() },
        };
    }
    let tag = match find_tag(text) {
        Ok(tag) => tag,
        Err(Untagged::Broken(fail)) => return Reading::Broken { fail, wrong_at: None, ids: Vec::new() },
        Err(Untagged::NoEvent { class, at, why, end }) => {
            // The tag may be of a wrong type and the JSON broken further on: the two places are both told.
            return match end {
                Ok(end) => Reading::NoEvent { class, at, why, end, ids: Vec::new() },
                Err(fail) => Reading::Broken { fail, wrong_at: Some(at), ids: Vec::new() },
            };
        }
    };
    let Some(op) = shape.ops.iter().find(|op| op.name == tag) else {
        let mut cursor = Cursor::new(text);
        return match cursor.skip() {
            Ok(()) => Reading::Foreign { op: tag.into_owned(), end: cursor.pos },
            Err(fail) => Reading::Broken { fail, wrong_at: None, ids: Vec::new() },
        };
    };
    let mut reader = Reader { cursor: Cursor::new(text), wrong: None, id_member: op.id, ids: Vec::new() };
    let mut slots = Slots::EMPTY;
    let mut record = Members { text, names: &[], slots: Slots::EMPTY };
    let read = reader.members(op.members, &mut slots, Some(&mut record), true);
    let Reader { cursor, wrong, ids, .. } = reader;
    match (read, wrong) {
        (Ok(()), None) => Reading::Event {
            event: Box::new(Event { op, members: Members { text, names: op.members, slots }, record }),
            end: cursor.pos,
            quirks: cursor.quirks,
        },
        (Ok(()), Some(Wrong { class, at, why })) => {
            Reading::NoEvent { class, at, why, end: cursor.pos, ids: ids.into_iter().map(|(id, _)| id).collect() }
        }
        (Err(fail), wrong) => {
            let wrong_at = wrong.filter(|w| w.class == Class::WrongType).map(|w| w.at);
            Reading::Broken { fail, wrong_at, ids }
        }
    }
}

/// The id of an event that makes it live; `None` where the text is none, or ends it.
#[must_use]
pub fn live_id(shape: &Shape, text: &[u8]) -> Option<String> {
    let Reading::Event { event, .. } = read(shape, text) else { return None };
    let id = super::split::event_id(&event)?;
    (event.op.name != "delete").then(|| id.into_owned())
}

/// Reads a record by itself; `None` where it is none.
#[must_use]
pub fn read_record<'a>(names: &'static [Member], text: &'a [u8]) -> Option<Members<'a>> {
    if !matches!(text.first(), Some(b'{' | b'[')) {
        return None;
    }
    let mut reader = Reader { cursor: Cursor::new(text), wrong: None, id_member: "", ids: Vec::new() };
    let mut slots = Slots::EMPTY;
    reader.record(names, &mut slots).ok()?;
    Some(Members { text, names, slots })
}

/// Takes a record at the cursor; `None` where it is none, and the cursor is then where reading failed.
pub(super) fn record_here(names: &'static [Member], cursor: &mut Cursor<'_>) -> Option<Slots> {
    let mut reader = Reader { cursor: cursor.clone(), wrong: None, id_member: "", ids: Vec::new() };
    let mut slots = Slots::EMPTY;
    let read = reader.record(names, &mut slots);
    *cursor = reader.cursor;
    read.is_ok().then_some(slots)
}

enum Untagged {
    Broken(Fail),
    NoEvent { class: Class, at: usize, why: String, end: Result<usize, Fail> },
}

/// Finds the event's tag: the member `op` of an object, or the first element of an array. In what the daemon writes
/// it comes first, so the rest is read only once.
fn find_tag(text: &[u8]) -> Result<Cow<'_, str>, Untagged> {
    let mut cursor = Cursor::new(text);
    let object = cursor.peek() == Some(b'{');
    cursor.open();
    cursor.space();
    let close = if object { b'}' } else { b']' };
    if cursor.peek() == Some(close) {
        cursor.close();
        let (class, why) = if object {
            (Class::MissingMember, "the member `op` is missing")
        } else {
            (Class::NotAnObject, "an array without a tag is no event")
        };
        return Err(Untagged::NoEvent { class, at: 0, why: why.to_owned(), end: Ok(cursor.pos) });
    }
    loop {
        if object {
            let name = cursor.name().map_err(Untagged::Broken)?;
            if !same(text, name, "op") {
                cursor.skip().map_err(Untagged::Broken)?;
                cursor.space();
                match cursor.peek() {
                    Some(b',') => {
                        cursor.pos += 1;
                        cursor.space();
                        continue;
                    }
                    Some(b'}') => {
                        cursor.close();
                        let why = "the member `op` is missing".to_owned();
                        let class = Class::MissingMember;
                        return Err(Untagged::NoEvent { class, at: 0, why, end: Ok(cursor.pos) });
                    }
                    _ => return Err(Untagged::Broken(cursor.fail("neither a comma nor the end of the object"))),
                }
            }
        }
        let at = cursor.pos;
        return match cursor.peek() {
            Some(b'"') => {
                let tag = cursor.string().map_err(Untagged::Broken)?;
                Ok(json::unescape(&text[tag.start..tag.end]))
            }
            _ => {
                let mut whole = Cursor::new(text);
                let end = whole.skip().map(|()| whole.pos);
                let (class, why) = if object {
                    (Class::WrongType, "the member `op` is not a string")
                } else {
                    (Class::NotAnObject, "an array without a tag is no event")
                };
                Err(Untagged::NoEvent { class, at, why: why.to_owned(), end })
            }
        };
    }
}

fn same(text: &[u8], token: Text, name: &str) -> bool {
    let inside = &text[token.start..token.end];
    if token.escaped { json::unescape(inside) == name } else { inside == name.as_bytes() }
}

impl<'a> Reader<'a> {
    fn wrong(&mut self, class: Class, at: usize, why: impl FnOnce() -> String) {
        if self.wrong.is_none() {
            self.wrong = Some(Wrong { class, at, why: why() });
        }
    }

    fn record(&mut self, names: &'static [Member], slots: &mut Slots) -> Result<(), Fail> {
        self.members(names, slots, None, false)
    }

    /// Takes an object or array of `names`. `tagged`: it is an event, whose tag was found before.
    fn members(
        &mut self,
        names: &'static [Member],
        slots: &mut Slots,
        mut record: Option<&mut Members<'a>>,
        tagged: bool,
    ) -> Result<(), Fail> {
        let start = self.cursor.pos;
        let object = self.cursor.peek() == Some(b'{');
        let close = if object { b'}' } else { b']' };
        self.cursor.open();
        self.cursor.space();
        let mut tags = 0;
        let mut element = 0;
        if self.cursor.peek() == Some(close) {
            self.cursor.close();
        } else {
            loop {
                let (index, name_at) = if object {
                    let name_at = self.cursor.pos;
                    let name = self.cursor.name()?;
                    let text = self.cursor.text();
                    let index = names.iter().position(|m| same(text, name, m.name));
                    if tagged && index.is_none() && same(text, name, "op") {
                        tags += 1;
                    }
                    (index, name_at)
                } else {
                    let index = if tagged { element - 1 } else { element };
                    if tagged && element == 0 {
                        tags = 1;
                    } else if names.get(usize::try_from(index).unwrap_or(usize::MAX)).is_none() {
                        let at = self.cursor.pos;
                        self.wrong(Class::WrongType, at, || "more elements than the record has members".to_owned());
                    }
                    element += 1;
                    (usize::try_from(index).ok().filter(|i| *i < names.len()), self.cursor.pos)
                };
                match index {
                    Some(index) if slots.has(index) => {
                        let name = names[index].name;
                        self.wrong(Class::DuplicateMember, name_at, || format!("the member `{name}` occurs twice"));
                        // Nobody knows which of the two is meant.
                        let start = self.cursor.pos;
                        let right = self.value(names[index].ty, None)?;
                        self.keep_id(&names[index], right, start);
                    }
                    Some(index) => self.member(&names[index], index, slots, record.as_deref_mut())?,
                    None => {
                        if tags > 1 {
                            let why = || "the member `op` occurs twice".to_owned();
                            self.wrong(Class::DuplicateMember, name_at, why);
                        }
                        self.cursor.skip()?;
                    }
                }
                self.cursor.space();
                match self.cursor.peek() {
                    Some(b',') => {
                        self.cursor.pos += 1;
                        self.cursor.space();
                    }
                    Some(b) if b == close => {
                        self.cursor.close();
                        break;
                    }
                    _ if object => return Err(self.cursor.fail("neither a comma nor the end of the object")),
                    _ => return Err(self.cursor.fail("neither a comma nor the end of the array")),
                }
            }
        }
        for (index, member) in names.iter().enumerate() {
            if member.need == Need::Required && !slots.has(index) {
                let why = || format!("the member `{}` is missing", member.name);
                self.wrong(Class::MissingMember, start, why);
                break;
            }
        }
        Ok(())
    }

    fn member(
        &mut self,
        member: &'static Member,
        index: usize,
        slots: &mut Slots,
        record: Option<&mut Members<'a>>,
    ) -> Result<(), Fail> {
        let start = self.cursor.pos;
        let right = if member.need == Need::Optional && self.cursor.peek() == Some(b'n') {
            self.cursor.skip()?;
            true
        } else {
            self.value(member.ty, record)?
        };
        slots.set(index, start..self.cursor.pos);
        if !right {
            self.wrong(Class::WrongType, start, || {
                format!("the member `{}` is not {}", member.name, member.ty.wanted())
            });
        }
        self.keep_id(member, right, start);
        Ok(())
    }

    /// Keeps the value in front of the cursor, where it is a `right` one and says what the event is about.
    fn keep_id(&mut self, member: &Member, right: bool, start: usize) {
        let is_id = right && member.name == self.id_member && self.cursor.text().get(start) == Some(&b'"');
        if is_id && self.ids.len() < IDS {
            let id = json::unescape(&self.cursor.text()[start + 1..self.cursor.pos - 1]);
            if self.ids.iter().all(|(own, _)| *own != id) {
                self.ids.push((id.into_owned(), self.cursor.pos));
            }
        }
    }

    /// Takes one value; `false` when it is not of this type.
    fn value(&mut self, ty: Type, record: Option<&mut Members<'a>>) -> Result<bool, Fail> {
        let first = self.cursor.peek();
        let right = match (ty, first) {
            (Type::Any, _) => true,
            (Type::Text, Some(b'"')) => {
                self.cursor.string()?;
                return Ok(true);
            }
            (Type::Bool, Some(b't' | b'f')) => true,
            (Type::Number, Some(b'-' | b'0'..=b'9')) => true,
            (Type::Natural(most), Some(b'-' | b'0'..=b'9')) => {
                let number = self.cursor.number()?;
                let digits = std::str::from_utf8(&self.cursor.text()[number.start..number.end]).unwrap_or_default();
                return Ok(number.natural && digits.parse::<u64>().is_ok_and(|n| n <= most));
            }
            (Type::Time, Some(b'"')) => {
                let text = self.cursor.string()?;
                return Ok(is_time(&self.cursor.text()[text.start..text.end]));
            }
            (Type::Choice(words), Some(b'"')) => {
                let token = self.cursor.string()?;
                let text = self.cursor.text();
                return Ok(words.iter().any(|word| same(text, token, word)));
            }
            (Type::Texts, Some(b'[')) => return self.list(|reader| reader.value(Type::Text, None)),
            (Type::Records(names), Some(b'[')) => {
                return self.list(|reader| match reader.cursor.peek() {
                    Some(b'{' | b'[') => reader.record(names, &mut Slots::EMPTY.clone()).map(|()| true),
                    _ => reader.cursor.skip().map(|()| false),
                });
            }
            (Type::Record(names), Some(b'{' | b'[')) => {
                let mut slots = Slots::EMPTY;
                self.record(names, &mut slots)?;
                if let Some(record) = record {
                    record.names = names;
                    record.slots = slots;
                }
                return Ok(true);
            }
            _ => false,
        };
        self.cursor.skip()?;
        Ok(right)
    }

    fn list(&mut self, mut element: impl FnMut(&mut Self) -> Result<bool, Fail>) -> Result<bool, Fail> {
        let mut right = true;
        self.cursor.open();
        self.cursor.space();
        if self.cursor.peek() == Some(b']') {
            self.cursor.close();
            return Ok(right);
        }
        loop {
            right &= element(self)?;
            self.cursor.space();
            match self.cursor.peek() {
                Some(b',') => {
                    self.cursor.pos += 1;
                    self.cursor.space();
                }
                Some(b']') => {
                    self.cursor.close();
                    return Ok(right);
                }
                _ => return Err(self.cursor.fail("neither a comma nor the end of the array")),
            }
        }
    }
}

/// Whether the daemon's reader (chrono's, which takes more than RFC 3339) takes this text as a time.
fn is_time(inside: &[u8]) -> bool {
    plain_time(inside) || json::unescape(inside).parse::<DateTime<FixedOffset>>().is_ok()
}

/// Whether it is certainly a time: the form that the daemon writes, with a day that every month has.
fn plain_time(text: &[u8]) -> bool {
    let [y1, y2, y3, y4, b'-', m1, m2, b'-', d1, d2, b'T', h1, h2, b':', n1, n2, b':', s1, s2, fraction @ .., b'Z'] =
        text
    else {
        return false;
    };
    let two = |a: u8, b: u8| (a.is_ascii_digit() && b.is_ascii_digit()).then(|| (a - b'0') * 10 + (b - b'0'));
    let within = |n: Option<u8>, low: u8, high: u8| n.is_some_and(|n| (low..=high).contains(&n));
    let fraction = match fraction {
        [] => true,
        [b'.', digits @ ..] => (1..=9).contains(&digits.len()) && digits.iter().all(u8::is_ascii_digit),
        _ => false,
    };
    fraction
        && [y1, y2, y3, y4].iter().all(|d| d.is_ascii_digit())
        && within(two(*m1, *m2), 1, 12)
        && within(two(*d1, *d2), 1, 28)
        && within(two(*h1, *h2), 0, 23)
        && within(two(*n1, *n2), 0, 59)
        && within(two(*s1, *s2), 0, 59)
}
