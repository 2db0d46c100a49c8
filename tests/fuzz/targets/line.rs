//! Any bytes as a journal of any shape: what a scan tells covers the file, is what other readers see, and is the same
//! however the file is cut for two threads.

#![no_main]

use std::fs::{self, File};
use std::path::PathBuf;
use std::sync::LazyLock;

use cruxctl::journal::finding::{Class, Finding, Span};
use cruxctl::journal::parallel::{self, Met};
use cruxctl::journal::read::{self, Reading};
use cruxctl::journal::scan::{self, Bytes, Item, Stretch};
use cruxctl::journal::witness::{self, Encoder};
use cruxctl::journal::{Journal, json as ours};
use cruxctl_fuzz::event::{Kind, kind};
use cruxctl_fuzz::{journal, json, world};
use libfuzzer_sys::fuzz_target;

static FILE: LazyLock<PathBuf> = LazyLock::new(|| world::folder("line").join("journal.jsonl"));

/// What is kept of what a scan has told.
#[derive(Debug, PartialEq)]
enum Told {
    Record(u64, Span),
    Foreign(u64, Span),
    Finding(Finding, Bytes),
}

impl Told {
    /// The place that belongs to it and to nothing else.
    fn place(&self) -> Option<Span> {
        match self {
            Told::Record(_, span) | Told::Foreign(_, span) => Some(*span),
            Told::Finding(finding, Bytes::Unreadable | Bytes::Around) => Some(finding.span),
            Told::Finding(_, Bytes::Readable) => None,
        }
    }
}

fuzz_target!(|data: &[u8]| {
    let [shape, chunk, text @ ..] = data else { return };
    let journal = journal(*shape);
    fs::write(&*FILE, text).expect("memory can be written");
    let file = File::open(&*FILE).expect("it was written");
    let (told, lines, entries) = alone(journal, &file, text);
    covers(journal, text, &told, &lines);
    for one in &told {
        match one {
            Told::Record(_, span) => is_event(journal, slice(text, *span), Kind::Event, &told, *span),
            Told::Foreign(_, span) => is_event(journal, slice(text, *span), Kind::Foreign, &told, *span),
            Told::Finding(finding, _) => is_inside(journal, text, finding),
        }
    }
    nothing_lost(journal, text, &told, &lines);
    witnessed(text, &lines, &entries);
    if journal.rule.last_wins() {
        // Each chunk has a buffer and a thread: a few of them show as much as many do.
        let size = (1 + u64::from(*chunk) * 3).max(text.len() as u64 / 12);
        assert_eq!(
            together(journal, &file, text, size),
            (without_foreign(told), entries),
            "in chunks of {size} bytes"
        );
    }
});

fn slice(text: &[u8], span: Span) -> &[u8] {
    &text[span.offset as usize..span.end() as usize]
}

/// Scans on one thread.
fn alone(journal: &Journal, file: &File, text: &[u8]) -> (Vec<Told>, Vec<Span>, Vec<u8>) {
    let (mut told, mut lines, mut encoder) = (Vec::new(), Vec::<Span>::new(), Encoder::default());
    let stretch = Stretch { hashes: true, ..Stretch::whole(text.len() as u64) };
    let totals = scan::scan(&FILE, file, journal.shape, stretch, &mut |item| {
        encoder.item(&item);
        match item {
            Item::Record(record) => told.push(Told::Record(record.line, record.span)),
            Item::Foreign { line, span, text: own, .. } => {
                assert_eq!(own, slice(text, span));
                told.push(Told::Foreign(line, span));
            }
            Item::Finding(finding, bytes) => told.push(Told::Finding(finding, bytes)),
            Item::LineEnd { line, span, terminated, simple, .. } => {
                assert_eq!(line, lines.len() as u64 + 1);
                assert_eq!(terminated, slice(text, span).ends_with(b"\n"));
                if simple {
                    let whole = Span { offset: span.offset, len: span.len - 1 };
                    assert_eq!(
                        told.last(),
                        Some(&Told::Record(line, whole)),
                        "a line is simple that is not one record"
                    );
                }
                lines.push(span);
            }
        }
        Ok(())
    });
    let totals = totals.expect("a file in memory can be read");
    assert_eq!((totals.bytes, totals.lines), (text.len() as u64, lines.len() as u64));
    (told, lines, encoder.out)
}

/// Lines cover the file; records and what is unreadable cover what is not white space, in order, and never the same.
fn covers(journal: &Journal, text: &[u8], told: &[Told], lines: &[Span]) {
    let mut at = 0;
    for line in lines {
        assert_eq!(line.offset, at);
        at = line.end();
        let inside = slice(text, *line);
        assert_eq!(inside.iter().position(|byte| *byte == b'\n').unwrap_or(inside.len() - 1), inside.len() - 1);
    }
    assert_eq!(at, text.len() as u64);
    let mut rest = text.to_vec();
    let mut at = 0;
    for one in told {
        let number = match one {
            Told::Record(line, _) | Told::Foreign(line, _) => *line,
            Told::Finding(finding, _) => finding.line,
        };
        let line = lines[number as usize - 1];
        let Some(span) = one.place() else { continue };
        assert!(span.offset >= at && span.len > 0, "what is told overlaps: {told:?}");
        at = span.end();
        assert!(span.offset >= line.offset && span.end() <= line.end(), "it is not in its line");
        rest[span.offset as usize..span.end() as usize].fill(b' ');
    }
    for line in lines {
        let left = slice(&rest, *line);
        let left = if journal.is_ours() { left.strip_prefix(b"\xEF\xBB\xBF").unwrap_or(left) } else { left };
        let blank = std::str::from_utf8(left).is_ok_and(|left| left.trim().is_empty());
        assert!(blank, "nothing is said of {:?} in {told:?}", left.escape_ascii().to_string());
    }
}

/// What is told to be an event is one to everybody.
fn is_event(journal: &Journal, text: &[u8], what: Kind, told: &[Told], span: Span) {
    assert!(std::str::from_utf8(text).is_ok());
    let value = json::parse(text).expect("a record is JSON");
    assert_eq!(value.at, 0..text.len());
    assert_eq!(kind(journal.shape, &value), what);
    let (range, quirks) = ours::whole(text, 0).expect("a record is JSON");
    assert_eq!(range, 0..text.len());
    let generic = serde_json::from_slice::<serde_json::Value>(text).is_ok();
    assert_eq!(generic, quirks.none(), "the daemon's reader thinks otherwise");
    let odd = |one: &Told| {
        let Told::Finding(finding, Bytes::Readable) = one else { return false };
        let odd = matches!(finding.class, Class::TooDeep | Class::NumberOutOfRange | Class::LoneSurrogate);
        odd && finding.span == span
    };
    if !journal.is_ours() && what == Kind::Event {
        assert_eq!(told.iter().any(odd), !quirks.none());
    }
    assert!(quirks.too_deep.is_some() || serde_json::from_slice::<serde::de::IgnoredAny>(text).is_ok());
}

/// What a finding says lies where it says.
fn is_inside(journal: &Journal, text: &[u8], finding: &Finding) {
    let own = slice(text, finding.span);
    assert!(own.starts_with(&finding.head));
    let mut at = finding.span.offset;
    for possible in &finding.possible {
        assert!(possible.span.offset >= at && possible.span.end() <= finding.span.end());
        at = possible.span.end();
        let bytes = slice(text, possible.span);
        assert!(matches!(read::read(journal.shape, bytes), Reading::Event { end, .. } if end == bytes.len()));
    }
}

/// A line that everybody takes for one whole event is told as just that.
fn nothing_lost(journal: &Journal, text: &[u8], told: &[Told], lines: &[Span]) {
    for line in lines {
        let bytes = slice(text, *line);
        let start = if bytes.starts_with(b"\xEF\xBB\xBF") { 3 } else { 0 };
        let Ok(own) = std::str::from_utf8(&bytes[start..]) else { continue };
        let trimmed = own.trim();
        let Ok(value) = json::parse(trimmed.as_bytes()) else { continue };
        let offset = line.offset + (start + own.len() - own.trim_start().len()) as u64;
        let span = Span { offset, len: trimmed.len() as u64 };
        let number = 1 + lines.iter().take_while(|other| other.offset < line.offset).count() as u64;
        match kind(journal.shape, &value) {
            Kind::Event => assert!(told.contains(&Told::Record(number, span)), "an event is lost: {trimmed}"),
            Kind::Foreign => assert!(told.contains(&Told::Foreign(number, span)), "an event is lost: {trimmed}"),
            Kind::None => {}
        }
    }
}

fn without_foreign(told: Vec<Told>) -> Vec<Told> {
    told.into_iter().filter(|one| !matches!(one, Told::Foreign(..))).collect()
}

/// Scans in chunks.
fn together(journal: &Journal, file: &File, text: &[u8], size: u64) -> (Vec<Told>, Vec<u8>) {
    let (mut told, mut entries) = (Vec::new(), Vec::new());
    let scanned = parallel::scan(&FILE, file, journal, text.len() as u64, (size, true), &mut |met| {
        match met {
            Met::Record { line, span, .. } => told.push(Told::Record(line, span)),
            Met::Finding(finding, bytes) => told.push(Told::Finding(*finding, bytes)),
            Met::Lines(more) => entries.extend(more),
        }
        Ok(())
    });
    assert_eq!(scanned.expect("a file in memory can be read").bytes, text.len() as u64);
    (told, entries)
}

/// The entries of a witness name the lines that have line ends, one by one.
fn witnessed(text: &[u8], lines: &[Span], entries: &[u8]) {
    let mut spans = lines.iter().filter(|line| slice(text, **line).ends_with(b"\n"));
    witness::each(entries, 0, 1, &mut |entry| assert_eq!(spans.next(), Some(&entry.span)));
    assert_eq!(spans.next(), None, "the witness does not know a line");
}
