//! What a witness keeps of one line, and how that is written.

use std::hash::Hasher;

use twox_hash::XxHash3_64;

use crate::journal::finding::Span;
use crate::journal::scan::{Bytes, Item};
use crate::journal::shape::Event;
use crate::journal::split::event_ids;
use crate::journal::stamp::Stamp;

const SIMPLE: u8 = 1;
const TIMED: u8 = 2;
/// The whole entry of a line that is nothing but its line end.
const BLANK: u8 = 4;

/// The hash of a line's bytes: XXH3 with 64 bits, as its specification has it.
#[derive(Default)]
pub struct LineHash(Option<XxHash3_64>);

impl std::fmt::Debug for LineHash {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("LineHash")
    }
}

impl LineHash {
    /// Takes the next bytes.
    pub fn write(&mut self, bytes: &[u8]) {
        self.0.get_or_insert_with(XxHash3_64::new).write(bytes);
    }

    /// Takes the last bytes, and is done.
    #[must_use]
    pub fn finish(self, last: &[u8]) -> u64 {
        match self.0 {
            None => XxHash3_64::oneshot(last),
            Some(mut hash) => {
                hash.write(last);
                hash.finish()
            }
        }
    }
}

/// What a line has to do with an id.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum About {
    /// A record about it.
    Record,
    /// A record that ends it.
    Delete,
    /// Bytes that cannot be read, in which it stands.
    Unreadable,
}

impl About {
    /// What an event has to do with its ids.
    #[must_use]
    pub fn of(event: &Event<'_>) -> About {
        if event.op.name == "delete" { About::Delete } else { About::Record }
    }
}

/// What is kept of one line.
#[derive(Clone, Copy, Debug)]
pub struct Entry<'b> {
    /// The line's bytes, with its line end.
    pub span: Span,
    /// Its number, from 1.
    pub line: u64,
    /// The hash of its bytes.
    pub hash: u64,
    /// Whether it is one record and its line end, and nothing was found.
    pub simple: bool,
    /// The time of its record, where it is simple.
    pub time: Option<Stamp>,
    /// The entry as it is kept.
    pub bytes: &'b [u8],
    /// Where the ids begin in it.
    names: usize,
}

impl<'b> Entry<'b> {
    /// The ids that it names.
    pub fn ids(self) -> impl Iterator<Item = (About, &'b str)> {
        let mut decoder = Decoder { bytes: self.bytes, at: self.names };
        let count = decoder.varint().unwrap_or(0);
        (0..count).map_while(move |_| decoder.name())
    }
}

/// Makes entries of what a scan with hashes meets.
#[derive(Debug, Default)]
pub struct Encoder {
    /// The entries of whole lines, one behind the other.
    pub out: Vec<u8>,
    names: Vec<u8>,
    count: u64,
    time: Option<Stamp>,
}

impl Encoder {
    /// Takes the next item.
    pub fn item(&mut self, item: &Item<'_>) {
        match item {
            Item::Record(record) => {
                self.time = Stamp::of(record);
                event_ids(record.event, &mut |id| self.name(About::of(record.event), id));
            }
            Item::Finding(finding, Bytes::Unreadable) => {
                finding.ids.iter().for_each(|id| self.name(About::Unreadable, id));
            }
            Item::LineEnd { span, terminated, simple, hash, .. } => {
                if *terminated {
                    self.entry(span.len, *simple, *hash);
                }
                self.names.clear();
                (self.count, self.time) = (0, None);
            }
            Item::Finding(..) | Item::Foreign { .. } => {}
        }
    }

    fn name(&mut self, about: About, id: &str) {
        self.names.push(match about {
            About::Record => 0,
            About::Delete => 1,
            About::Unreadable => 2,
        });
        varint(&mut self.names, id.len() as u64);
        self.names.extend_from_slice(id.as_bytes());
        self.count += 1;
    }

    fn entry(&mut self, len: u64, simple: bool, hash: u64) {
        if len == 1 && self.count == 0 {
            self.out.push(BLANK);
            return;
        }
        let flag = |set: bool, bit: u8| if set { bit } else { 0 };
        let time = self.time.filter(|_| simple);
        self.out.push(flag(simple, SIMPLE) | flag(time.is_some(), TIMED));
        varint(&mut self.out, len);
        self.out.extend_from_slice(&hash.to_le_bytes());
        if let Some(time) = time {
            self.out.extend_from_slice(&time.to_bytes());
        }
        varint(&mut self.out, self.count);
        self.out.extend_from_slice(&self.names);
    }
}

fn varint(out: &mut Vec<u8>, mut number: u64) {
    while number >= 0x80 {
        out.push(number.to_le_bytes()[0] | 0x80);
        number >>= 7;
    }
    out.push(number.to_le_bytes()[0]);
}

/// Reads entries from bytes.
pub(super) struct Decoder<'b> {
    pub(super) bytes: &'b [u8],
    pub(super) at: usize,
}

impl<'b> Decoder<'b> {
    fn take(&mut self, len: usize) -> Option<&'b [u8]> {
        let taken = self.bytes.get(self.at..self.at.checked_add(len)?)?;
        self.at += len;
        Some(taken)
    }

    fn varint(&mut self) -> Option<u64> {
        let mut number = 0u64;
        for shift in (0..64).step_by(7) {
            let byte = self.take(1)?[0];
            number |= u64::from(byte & 0x7F).checked_shl(shift)?;
            if byte < 0x80 {
                return Some(number);
            }
        }
        None
    }

    fn name(&mut self) -> Option<(About, &'b str)> {
        let about = match self.take(1)?[0] {
            0 => About::Record,
            1 => About::Delete,
            _ => About::Unreadable,
        };
        let len = usize::try_from(self.varint()?).ok()?;
        Some((about, std::str::from_utf8(self.take(len)?).ok()?))
    }

    /// The next entry, of the line `line` that begins at `start`.
    pub(super) fn entry(&mut self, start: u64, line: u64) -> Option<Entry<'b>> {
        let from = self.at;
        let flags = self.take(1)?[0];
        let mut entry = Entry {
            span: Span { offset: start, len: 1 },
            line,
            hash: 0,
            simple: flags & SIMPLE != 0,
            time: None,
            bytes: &[],
            names: 1,
        };
        if flags & BLANK != 0 {
            entry.hash = LineHash::default().finish(b"\n");
        } else {
            entry.span.len = self.varint().filter(|len| *len > 0)?;
            entry.hash = u64::from_le_bytes(*self.take(8)?.first_chunk()?);
            if flags & TIMED != 0 {
                entry.time = Some(Stamp::from_bytes(*self.take(Stamp::BYTES)?.first_chunk()?));
            }
            entry.names = self.at - from;
            for _ in 0..self.varint()? {
                self.name()?;
            }
        }
        entry.bytes = &self.bytes[from..self.at];
        start.checked_add(entry.span.len)?;
        Some(entry)
    }
}

/// Hands out the entries in `bytes`, the first of which is about line `line` at `start`. Says where the line behind the
/// last one begins, and its number.
pub fn each(bytes: &[u8], start: u64, line: u64, take: &mut dyn FnMut(Entry<'_>)) -> (u64, u64) {
    let mut decoder = Decoder { bytes, at: 0 };
    let (mut start, mut line) = (start, line);
    while decoder.at < bytes.len() {
        let Some(entry) = decoder.entry(start, line) else { break };
        take(entry);
        (start, line) = (entry.span.end(), line + 1);
    }
    (start, line)
}
