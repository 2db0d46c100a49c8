//! The streaming reader of a journal: bytes in, records and findings out, in the order of the file.
//!
//! Memory is bounded by the longest line, and a run of NUL bytes counts for nothing. Each line is read once. A line
//! that is exactly one record takes the short way; everything else goes through [`super::split`].

use std::borrow::Cow;
use std::fs::File;
use std::ops::Range;
use std::os::unix::fs::FileExt;
use std::path::Path;

use super::files;
use super::finding::{Class, Finding, HEAD, Possible, Reaction, Severity, Span};
use super::json::Quirks;
use super::read::{self, Reading};
use super::shape::{Event, Shape};
use super::split::{self, Around, Bad, Part};
use super::witness::LineHash;
use crate::error::{Code, Error, Result};

/// How much is read at once.
const BLOCK: usize = 1 << 20;

/// How much is read at once to find the end of a line.
const TAIL_BLOCK: usize = 1 << 16;

/// The longest piece of a line that is read: places inside it are kept in 32 bits.
const LONGEST_PIECE: usize = u32::MAX as usize - 1;

/// How many adjoining stretches of one line are told one by one: a text in UTF-16 would give one for each letter.
const WRECKS: u32 = 4;

/// How many ids a stretch that was put together of several names.
const MERGED_IDS: usize = 256;

/// How many NUL bytes of a run are shown.
const NULS: usize = 4;

/// What a scan meets, in the order of the file.
#[derive(Debug)]
pub enum Item<'a> {
    /// A record.
    Record(Record<'a>),
    /// A record whose op is not known; it is passed through by everything.
    Foreign {
        /// Line, from 1.
        line: u64,
        /// Its place.
        span: Span,
        /// Its op.
        op: &'a str,
        /// Its bytes.
        text: &'a [u8],
    },
    /// Something wrong with a place. A finding about bytes that are read comes before their record.
    Finding(Finding, Bytes),
    /// The end of a line.
    LineEnd {
        /// Line, from 1.
        line: u64,
        /// All of its bytes, with the line end.
        span: Span,
        /// Whether the line end is there; only the last line can lack it.
        terminated: bool,
        /// Whether it is one record and its line end, with nothing around them and nothing found.
        simple: bool,
        /// The hash of its bytes ([`super::witness`]), where the scan was asked for it; else 0.
        hash: u64,
    },
}

/// What a finding says about its bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Bytes {
    /// They are no record.
    Unreadable,
    /// They are, or are part of, a record that is read.
    Readable,
    /// They stand around a record and belong to none.
    Around,
}

/// One record of the journal.
#[derive(Clone, Copy, Debug)]
pub struct Record<'a> {
    /// Line, from 1.
    pub line: u64,
    /// Its bytes, without white space around them.
    pub span: Span,
    /// What it says.
    pub event: &'a Event<'a>,
}

/// What a scan has passed over.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Totals {
    /// Bytes read.
    pub bytes: u64,
    /// Lines, the unterminated last one included.
    pub lines: u64,
}

/// Where a scan begins and ends.
#[derive(Clone, Copy, Debug)]
pub struct Stretch {
    /// Offset of the first byte; the start of a line.
    pub from: u64,
    /// Lines before it.
    pub lines_before: u64,
    /// Offset behind the last byte.
    pub to: u64,
    /// No line that begins here or further on is read; the last one is read to its end.
    pub lines_until: u64,
    /// Whether each line's bytes are hashed.
    pub hashes: bool,
}

impl Stretch {
    /// The first `len` bytes of a journal.
    #[must_use]
    pub fn whole(len: u64) -> Stretch {
        Stretch { from: 0, lines_before: 0, to: len, lines_until: u64::MAX, hashes: false }
    }
}

/// Reads a stretch of a journal and hands every record and finding to `take`.
pub fn scan(
    path: &Path,
    file: &File,
    shape: &Shape,
    stretch: Stretch,
    take: &mut dyn FnMut(Item<'_>) -> Result<()>,
) -> Result<Totals> {
    scan_some(path, file, shape, stretch, &|_| true, take)
}

/// Reads a stretch of a journal as [`scan`] does, but for the whole lines that are not `wanted`: of these nothing is told.
pub fn scan_some(
    path: &Path,
    file: &File,
    shape: &Shape,
    stretch: Stretch,
    wanted: &dyn Fn(&[u8]) -> bool,
    take: &mut dyn FnMut(Item<'_>) -> Result<()>,
) -> Result<Totals> {
    if stretch.from >= stretch.lines_until.min(stretch.to) {
        return Ok(Totals::default());
    }
    let mut buffer: Vec<u8> = vec![0; BLOCK];
    let mut line = Line::new(shape, stretch.from, stretch.lines_before + 1, stretch.hashes);
    // buffer[lo..hi] is read and not yet used; its first byte lies at `at` in the file.
    let (mut lo, mut hi, mut at) = (0, 0, stretch.from);
    let mut seen = 0;
    loop {
        if let Some(n) = memchr::memchr(b'\n', &buffer[lo + seen..hi]) {
            let end = lo + seen + n;
            // Of a long line, pieces may have been told.
            let told = at != line.start || wanted(&buffer[lo..end]);
            if told {
                line.end(&buffer[lo..end], at, true, take)?;
            }
            at += (end + 1 - lo) as u64;
            if told {
                line.tell_end(&buffer[lo..=end], at, true, take)?;
            }
            lo = end + 1;
            seen = 0;
            line = Line::new(shape, at, line.number + 1, stretch.hashes);
            if at >= stretch.lines_until {
                return Ok(Totals { bytes: at - stretch.from, lines: line.number - 1 - stretch.lines_before });
            }
            continue;
        }
        seen = hi - lo;
        let left = stretch.to.saturating_sub(at + seen as u64);
        if left == 0 {
            break;
        }
        if lo > 0 {
            buffer.copy_within(lo..hi, 0);
            (lo, hi) = (0, seen);
        }
        if hi == buffer.len() {
            // A line longer than the buffer. NUL bytes end a piece: what lies before the last of them need not be kept.
            let mut from = 0;
            while let Some(zero) = memchr::memchr(0, &buffer[from..hi]) {
                line.piece(&buffer[from..from + zero], at + from as u64, None, take)?;
                let zeros = buffer[from + zero..hi].iter().take_while(|b| **b == 0).count();
                line.zeros(at + (from + zero) as u64, zeros as u64, take)?;
                from += zero + zeros;
            }
            if from > 0 {
                line.hash.iter_mut().for_each(|hash| hash.write(&buffer[..from]));
                lo = from;
                at += from as u64;
                seen = hi - from;
                continue;
            }
            if buffer.len() > LONGEST_PIECE {
                let message = format!(
                    "line {} of {} is longer than 4 GiB, which no version reads",
                    line.number,
                    path.display()
                );
                return Err(Error::new(Code::RefusedTooLarge, message));
            }
            let longer = (buffer.len() * 2).min(LONGEST_PIECE + 1);
            if files::lengthen(&mut buffer, longer).is_err() {
                // Where there is no memory for that, there may be for what the line needs.
                let end = files::behind_line_end(file, at + seen as u64, stretch.to);
                let end = end.map_err(|e| Error::io("read", path, &e))?.unwrap_or(stretch.to);
                let need = usize::try_from(end - at).unwrap_or(usize::MAX).min(LONGEST_PIECE + 1);
                files::lengthen(&mut buffer, need).map_err(|e| {
                    let what = format!("cannot read line {} of {}", line.number, path.display());
                    Error::from_io(&what, &e)
                })?;
            }
        }
        // Behind the last line's beginning only its end is wanted.
        let wanted = match stretch.lines_until.saturating_sub(at + seen as u64) {
            0 => TAIL_BLOCK,
            more => usize::try_from(more).unwrap_or(usize::MAX),
        };
        let room = usize::try_from(left).unwrap_or(usize::MAX).min(buffer.len() - hi).min(wanted);
        let got = match file.read_at(&mut buffer[hi..hi + room], at + seen as u64) {
            Ok(0) => break,
            Ok(got) => got,
            Err(error) if error.kind() == std::io::ErrorKind::Interrupted => 0,
            Err(error) => return Err(Error::io("read", path, &error)),
        };
        hi += got;
    }
    let mut lines = line.number - 1;
    if line.start < at + (hi - lo) as u64 {
        line.end(&buffer[lo..hi], at, false, take)?;
        line.tell_end(&buffer[lo..hi], at + (hi - lo) as u64, false, take)?;
        lines += 1;
    }
    Ok(Totals { bytes: at + (hi - lo) as u64 - stretch.from, lines: lines - stretch.lines_before })
}

/// What stands before the next part of a line and may still change with it.
enum Before {
    Nothing,
    /// A record, with its id and place.
    Kept(Option<String>, Span),
    /// Bytes that are no record.
    Wreck(Finding),
}

struct Line<'s> {
    shape: &'s Shape,
    start: u64,
    number: u64,
    before: Before,
    /// Whether anything but one record was met.
    dirty: bool,
    /// Stretches of it that are no record.
    wrecks: u32,
    /// NUL bytes stand in front of what comes, with nothing but white space between.
    behind_nul: bool,
    /// Whether it is one record and nothing else.
    simple: bool,
    /// The hash of those of its bytes that are no longer kept, where hashes are wanted.
    hash: Option<LineHash>,
}

impl<'s> Line<'s> {
    fn new(shape: &'s Shape, start: u64, number: u64, hashes: bool) -> Line<'s> {
        let before = Before::Nothing;
        let hash = hashes.then(LineHash::default);
        Line { shape, start, number, before, dirty: false, wrecks: 0, behind_nul: false, simple: false, hash }
    }

    /// Tells that the line ends at `end`. `text`: its bytes, as far as they are not hashed yet.
    fn tell_end(
        &mut self,
        text: &[u8],
        end: u64,
        terminated: bool,
        take: &mut dyn FnMut(Item<'_>) -> Result<()>,
    ) -> Result<()> {
        let hash = self.hash.take().map_or(0, |hash| hash.finish(text));
        let span = Span { offset: self.start, len: end - self.start };
        let simple = self.simple && !self.dirty;
        take(Item::LineEnd { line: self.number, span, terminated, simple, hash })
    }

    /// The rest of the line, which begins at `at`.
    fn end(
        &mut self,
        text: &[u8],
        at: u64,
        terminated: bool,
        take: &mut dyn FnMut(Item<'_>) -> Result<()>,
    ) -> Result<()> {
        if at == self.start && self.short_way(text, at, terminated, take)? {
            return Ok(());
        }
        let mut from = 0;
        while let Some(zero) = memchr::memchr(0, &text[from..]) {
            self.piece(&text[from..from + zero], at + from as u64, None, take)?;
            let zeros = text[from + zero..].iter().take_while(|b| **b == 0).count();
            self.zeros(at + (from + zero) as u64, zeros as u64, take)?;
            from += zero + zeros;
        }
        self.piece(&text[from..], at + from as u64, Some(terminated), take)?;
        if let Before::Wreck(mut finding) = std::mem::replace(&mut self.before, Before::Nothing) {
            if self.too_long(at + text.len() as u64 - self.start) {
                finding.reaction = Reaction::DoesNotStart;
            }
            if !terminated {
                if matches!(finding.class, Class::NotJson | Class::TrailingBytes) {
                    finding.class = Class::TornTail;
                }
                finding.reaction = finding.reaction.max(self.open_reaction());
                if self.shape.daemon_is(|daemon| daemon.moves_tail_aside) {
                    finding.reaction = Reaction::MovesAside;
                }
            }
            self.tell(finding, Bytes::Unreadable, take)?;
        }
        Ok(())
    }

    /// Takes a line that is one record and nothing else; `false` when it is not.
    fn short_way(
        &mut self,
        text: &[u8],
        at: u64,
        terminated: bool,
        take: &mut dyn FnMut(Item<'_>) -> Result<()>,
    ) -> Result<bool> {
        let Some(inside) = trim_plain(text) else { return Ok(false) };
        if inside.is_empty() {
            // Blank: nothing, unless it is an unterminated tail.
            return Ok(terminated || text.is_empty());
        }
        let body = &text[inside.clone()];
        if !terminated || simdutf8::basic::from_utf8(body).is_err() {
            return Ok(false);
        }
        match read::read(self.shape, body) {
            Reading::Event { event, end, quirks } if end == body.len() => {
                self.simple = inside.len() == text.len();
                self.record(&event, at + inside.start as u64, body, quirks, take)?;
                Ok(true)
            }
            _ => Ok(false),
        }
    }

    /// Hands out a record, with findings about it first.
    fn record(
        &mut self,
        event: &Event<'_>,
        at: u64,
        body: &[u8],
        quirks: Quirks,
        take: &mut dyn FnMut(Item<'_>) -> Result<()>,
    ) -> Result<()> {
        let span = Span { offset: at, len: body.len() as u64 };
        let limit = self.shape.longest_line();
        if !quirks.none() || limit.is_some_and(|limit| span.len > limit) {
            self.dirty = true;
            for (class, place, why) in [
                (Class::TooDeep, quirks.too_deep, "more than 127 open arrays and objects"),
                (Class::NumberOutOfRange, quirks.number_out_of_range, "a number that no 64-bit float holds"),
                (Class::LoneSurrogate, quirks.lone_surrogate, "an escape that is half of a surrogate pair"),
            ] {
                let Some(place) = place else { continue };
                let why = format!("{why}, at byte {}", at + place as u64);
                let finding = self.finding(span, class, why, body, split::event_id(event));
                self.tell(finding, Bytes::Readable, take)?;
            }
            if let Some(limit) = limit.filter(|limit| span.len > *limit) {
                let why = format!("longer than {limit} bytes");
                let mut finding = self.finding(span, Class::TooLong, why, body, split::event_id(event));
                if !self.shape.daemon_is(|daemon| (daemon.skips_long)(event)) {
                    finding.reaction = Reaction::DoesNotStart;
                }
                self.tell(finding, Bytes::Readable, take)?;
            }
        }
        take(Item::Record(Record { line: self.number, span, event }))
    }

    fn finding(&self, span: Span, class: Class, why: String, text: &[u8], id: Option<Cow<'_, str>>) -> Finding {
        let head = text[..text.len().min(HEAD)].to_vec();
        let reaction = Reaction::LosesLine;
        Finding {
            line: self.number,
            line_start: self.start,
            span,
            class,
            why,
            reaction,
            ids: id.into_iter().map(Cow::into_owned).collect(),
            head,
            possible: Vec::new(),
        }
    }

    /// Hands out a finding. In a journal of our own there is none that only the daemon would stumble over.
    fn tell(&self, mut finding: Finding, bytes: Bytes, take: &mut dyn FnMut(Item<'_>) -> Result<()>) -> Result<()> {
        if self.shape.daemon.is_none() {
            if finding.class.severity() == Severity::Daemon {
                return Ok(());
            }
            finding.reaction = Reaction::NeverReads;
        }
        take(Item::Finding(finding, bytes))
    }

    fn too_long(&self, len: u64) -> bool {
        self.shape.longest_line().is_some_and(|limit| len > limit)
    }

    /// What the daemon does with an unterminated line that it cannot read.
    fn open_reaction(&self) -> Reaction {
        if self.shape.daemon_is(|daemon| daemon.moves_tail_aside) {
            Reaction::MovesAside
        } else {
            Reaction::LosesLineAndNextAppend
        }
    }

    /// Keeps bytes that are no record until it is known what stands behind them.
    fn wreck(&mut self, mut finding: Finding, take: &mut dyn FnMut(Item<'_>) -> Result<()>) -> Result<()> {
        self.dirty = true;
        if self.wrecks >= WRECKS
            && let Before::Wreck(before) = &mut self.before
            && before.span.end() == finding.span.offset
            && finding.possible.is_empty()
        {
            before.span.len += finding.span.len;
            before.reaction = before.reaction.max(finding.reaction);
            before.class = Class::NotJson;
            before.why = "more of the same".to_owned();
            let more = finding.ids.into_iter().filter(|id| !before.ids.contains(id));
            before.ids.extend(more.take(MERGED_IDS.saturating_sub(before.ids.len())).collect::<Vec<_>>());
            return Ok(());
        }
        self.wrecks += 1;
        match std::mem::replace(&mut self.before, Before::Nothing) {
            Before::Wreck(before) => self.tell(before, Bytes::Unreadable, take)?,
            Before::Kept(id, _) => {
                if finding.class == Class::NotJson {
                    finding.class = Class::TrailingBytes;
                }
                finding.why.push_str("; the record in front of it is read");
                finding.ids.extend(id);
            }
            Before::Nothing => {}
        }
        self.before = Before::Wreck(finding);
        Ok(())
    }

    /// A run of NUL bytes; one that goes on where the last ended makes that one longer.
    fn zeros(&mut self, at: u64, len: u64, take: &mut dyn FnMut(Item<'_>) -> Result<()>) -> Result<()> {
        self.behind_nul = true;
        if let Before::Wreck(before) = &mut self.before
            && before.class == Class::NulGap
            && before.span.end() == at
        {
            before.span.len += len;
            before.why = nul_gap(before.span.len);
            if self.shape.longest_line().is_some_and(|limit| before.span.len > limit) {
                before.reaction = Reaction::DoesNotStart;
            }
            return Ok(());
        }
        // A few stand for all.
        let head = vec![0; usize::try_from(len).unwrap_or(NULS).min(NULS)];
        let finding = self.finding(Span { offset: at, len }, Class::NulGap, nul_gap(len), &head, None);
        self.wreck(finding, take)
    }

    /// A piece of the line between NUL bytes. `last`: it ends the line, which has its line end or not.
    fn piece(
        &mut self,
        text: &[u8],
        at: u64,
        last: Option<bool>,
        take: &mut dyn FnMut(Item<'_>) -> Result<()>,
    ) -> Result<()> {
        let shape = self.shape;
        let mut start = 0;
        let bom = text.starts_with(b"\xEF\xBB\xBF") && at == self.start;
        if bom {
            start = 3;
        }
        let inside = trim(&text[start..]);
        let inside = start + inside.start..start + inside.end;
        let body = &text[inside.clone()];
        if bom {
            let why = "a UTF-8 byte order mark in front of the line".to_owned();
            let finding = self.finding(Span { offset: at, len: 3 }, Class::Bom, why, &text[..3], self.first_id(body));
            self.dirty = true;
            self.tell(finding, Bytes::Around, take)?;
        }
        if shape.daemon_is(|daemon| !daemon.trims_unicode) {
            self.foreign_space(text, at, start..inside.start, body, take)?;
        }
        let base = at + inside.start as u64;
        let mut result = Ok(());
        let behind_nul = self.behind_nul;
        self.behind_nul &= body.is_empty();
        split::split(shape, body, Around { behind_nul, ends_line: last.is_some() }, &mut |part| {
            if result.is_ok() {
                result = self.part(part, body, base, take);
            }
        });
        result?;
        if shape.daemon_is(|daemon| !daemon.trims_unicode) && !body.is_empty() {
            self.foreign_space(text, at, inside.end..text.len(), body, take)?;
        }
        if last == Some(false) {
            self.dirty = true;
            let spaces = body.is_empty() && matches!(self.before, Before::Nothing) && start == 0;
            let tail = match &self.before {
                Before::Kept(id, span) => Some((*span, id.clone())),
                _ if spaces && shape.daemon_is(|daemon| daemon.moves_tail_aside) => {
                    Some((Span { offset: at, len: text.len() as u64 }, None))
                }
                _ => None,
            };
            if let Some((span, id)) = tail {
                let why = "the last line has no line end".to_owned();
                let from = usize::try_from(span.offset - at).unwrap_or(0);
                let mut finding = self.finding(span, Class::NoFinalNewline, why, &text[from..], id.map(Cow::Owned));
                finding.reaction = if shape.daemon_is(|daemon| daemon.moves_tail_aside) {
                    Reaction::MovesAside
                } else {
                    Reaction::LosesNextAppend
                };
                self.tell(finding, Bytes::Readable, take)?;
            }
        }
        Ok(())
    }

    /// The id of the record that a text begins with.
    fn first_id<'a>(&self, text: &'a [u8]) -> Option<Cow<'a, str>> {
        match read::read(self.shape, text) {
            Reading::Event { event, .. } => split::event_id(&event),
            _ => None,
        }
    }

    /// White space that only other journals' readers trim.
    fn foreign_space(
        &mut self,
        text: &[u8],
        at: u64,
        range: Range<usize>,
        body: &[u8],
        take: &mut dyn FnMut(Item<'_>) -> Result<()>,
    ) -> Result<()> {
        let space = &text[range.clone()];
        if space.iter().all(|b| matches!(b, b' ' | b'\t' | b'\x0c' | b'\r')) {
            return Ok(());
        }
        self.dirty = true;
        let span = Span { offset: at + range.start as u64, len: space.len() as u64 };
        // Behind wreckage it is part of that: it would stand in front of the next record when that is gone.
        if let Before::Wreck(before) = &mut self.before
            && before.span.end() == span.offset
        {
            before.span.len += span.len;
            return Ok(());
        }
        let blank = space.len() == text.len();
        let why = if blank {
            "a blank line that the daemon takes for a broken record"
        } else {
            "white space around the record that the daemon does not trim here"
        };
        let mut finding = self.finding(span, Class::ForeignSpace, why.to_owned(), space, self.first_id(body));
        if blank {
            finding.reaction = Reaction::Keeps;
        }
        self.tell(finding, Bytes::Around, take)
    }

    fn part(
        &mut self,
        part: Part<'_>,
        body: &[u8],
        base: u64,
        take: &mut dyn FnMut(Item<'_>) -> Result<()>,
    ) -> Result<()> {
        let place = |range: &Range<usize>| Span { offset: base + range.start as u64, len: range.len() as u64 };
        let (range, id) = match &part {
            Part::Bad(bad) => {
                let finding = self.bad(bad, body, base);
                return self.wreck(finding, take);
            }
            Part::Event { range, event, .. } => (range.clone(), split::event_id(event).map(Cow::into_owned)),
            Part::Foreign { range, .. } => (range.clone(), None),
        };
        match std::mem::replace(&mut self.before, Before::Nothing) {
            Before::Wreck(mut finding) => {
                if matches!(finding.class, Class::NotJson | Class::TrailingBytes) {
                    finding.class = Class::Welded;
                }
                finding.why.push_str("; the record behind it is read");
                finding.ids.extend(id.clone());
                self.tell(finding, Bytes::Unreadable, take)?;
            }
            Before::Kept(before, _) => {
                self.dirty = true;
                let why = "a second record on the same line; both are read".to_owned();
                let mut finding =
                    self.finding(place(&range), Class::Welded, why, &body[range.clone()], before.map(Cow::Owned));
                finding.ids.extend(id.clone());
                self.tell(finding, Bytes::Readable, take)?;
            }
            Before::Nothing => {}
        }
        match part {
            Part::Event { event, quirks, .. } => {
                self.record(&event, base + range.start as u64, &body[range.clone()], quirks, take)?;
            }
            Part::Foreign { op, .. } => {
                let why = format!("the op {op:?} is not one that this version knows");
                let finding = self.finding(place(&range), Class::UnknownOp, why, &body[range.clone()], None);
                self.tell(finding, Bytes::Readable, take)?;
                if self.too_long(range.len() as u64) {
                    let why = "a line that is too long".to_owned();
                    let mut finding = self.finding(place(&range), Class::TooLong, why, &body[range.clone()], None);
                    finding.reaction = Reaction::DoesNotStart;
                    self.tell(finding, Bytes::Readable, take)?;
                }
                let (line, span, text) = (self.number, place(&range), &body[range.clone()]);
                take(Item::Foreign { line, span, op: &op, text })?;
            }
            Part::Bad(_) => {}
        }
        self.before = Before::Kept(id, place(&range));
        Ok(())
    }

    fn bad(&self, bad: &Bad, body: &[u8], base: u64) -> Finding {
        let text = &body[bad.range.clone()];
        let span = Span { offset: base + bad.range.start as u64, len: text.len() as u64 };
        let why = format!("{}, at byte {}", bad.why, base + bad.at as u64);
        let mut finding = self.finding(span, bad.class, why, text, None);
        finding.ids.clone_from(&bad.ids);
        let stops =
            self.shape.daemon_is(|daemon| daemon.stops_at_bad_utf8) && simdutf8::basic::from_utf8(text).is_err();
        if stops || self.too_long(span.len) {
            finding.reaction = Reaction::DoesNotStart;
        }
        let span = |range: &Range<usize>| Span { offset: base + range.start as u64, len: range.len() as u64 };
        let possible = bad.possible.iter();
        finding.possible = possible.map(|(range, what)| Possible { span: span(range), what: what.clone() }).collect();
        finding
    }
}

fn nul_gap(len: u64) -> String {
    if len == 1 { "1 NUL byte".to_owned() } else { format!("{len} NUL bytes") }
}

/// The range of a line without the white space that every reader trims; `None` when its ends need a closer look.
fn trim_plain(text: &[u8]) -> Option<Range<usize>> {
    let plain = |b: &u8| matches!(b, b' ' | b'\t' | b'\r' | b'\x0c');
    let Some(start) = text.iter().position(|b| !plain(b)) else { return Some(0..0) };
    let end = text.iter().rposition(|b| !plain(b)).map_or(0, |last| last + 1);
    (matches!(text[start], b'{' | b'[') && matches!(text[end - 1], b'}' | b']')).then_some(start..end)
}

/// The range of a line without the Unicode white space around it.
fn trim(text: &[u8]) -> Range<usize> {
    let mut start = 0;
    for chunk in text.utf8_chunks() {
        let rest = chunk.valid().trim_start();
        start += chunk.valid().len() - rest.len();
        if !rest.is_empty() || !chunk.invalid().is_empty() {
            break;
        }
    }
    // Only the last few bytes can be white space in most lines; a valid suffix is looked for from there.
    let mut end = text.len();
    while end > start {
        let tail = (1..=4.min(end - start)).find_map(|n| {
            let text = std::str::from_utf8(&text[end - n..end]).ok()?;
            Some((n, text.trim_end().is_empty()))
        });
        match tail {
            Some((n, true)) => end -= n,
            _ => break,
        }
    }
    start..end
}
