//! Reading a journal for a verb: open it, scan it, keep what the store asks for, and count what is wrong.

use std::fs::{File, Metadata};
use std::os::unix::fs::{FileExt, MetadataExt};
use std::path::PathBuf;
use std::time::Duration;

use super::Journal;
use super::files::{self, DataDir, Window};
use super::finding::{Class, Finding, Severity, Span};
use super::live::{Digest, Live};
use super::lock::Lock;
use super::parallel::{self, Met};
use super::scan::{self, Bytes, Item, Record, Stretch, Totals};
use super::stamp::Stamp;
use super::witness::Encoder;
use crate::error::{Error, Result};

/// How many findings a verb that only reads keeps to name them.
const NAMED: usize = 3;

/// How often and how long a tail without its line end is looked at again: the daemon writes the two separately, and a
/// writer that holds the lock is done in a moment.
const LOOKS: u32 = 3;
const LOOKS_AT_A_WRITER: u32 = 25;
const LOOK_AGAIN: Duration = Duration::from_millis(10);

/// How many bytes of entries are handed out at once.
const ENTRIES: usize = 1 << 16;

/// A writer's unfinished record is not older than this.
const FRESH: Duration = Duration::from_secs(60);

/// A journal that was opened for reading.
#[derive(Debug)]
pub struct Opened {
    /// Its path.
    pub path: PathBuf,
    /// The file; `None` where there is none.
    pub file: Option<File>,
    /// Bytes that a scan reads: the length seen when it was opened.
    pub len: u64,
    /// When the file was last changed, as it was when it was opened.
    pub mtime: (i64, i64),
    /// Where the last line begins, if it has no line end and a writer is at it.
    pub being_written: Option<u64>,
}

/// What a scan found, in numbers, with the first findings.
#[derive(Clone, Debug, Default)]
pub struct Seen {
    /// Bytes and lines.
    pub totals: Totals,
    /// Records read.
    pub records: u64,
    /// Findings of severity damage.
    pub damage: u64,
    /// Findings that only the daemon stumbles over.
    pub daemon: u64,
    /// Records of ops that are not known.
    pub foreign: u64,
    /// The first damages.
    pub first: Vec<Finding>,
    /// Bytes at the end that a lock holder is still writing.
    pub in_progress: Option<Span>,
}

impl Seen {
    /// Counts a finding.
    pub fn count(&mut self, finding: &Finding) {
        match finding.class.severity() {
            Severity::Damage => {
                self.damage += 1;
                if self.first.len() < NAMED {
                    self.first.push(finding.clone());
                }
            }
            Severity::Daemon => self.daemon += 1,
            Severity::Foreign => self.foreign += 1,
        }
    }

    /// Adds what a later stretch has shown.
    pub fn add(&mut self, more: Seen) {
        self.totals.bytes += more.totals.bytes;
        self.totals.lines += more.totals.lines;
        self.records += more.records;
        self.damage += more.damage;
        self.daemon += more.daemon;
        self.foreign += more.foreign;
        let room = NAMED.saturating_sub(self.first.len());
        self.first.extend(more.first.into_iter().take(room));
        self.in_progress = more.in_progress;
    }
}

/// Opens a journal for a reader, who holds no lock, and fixes how far it is read.
pub fn open(dir: &DataDir, journal: &Journal) -> Result<Opened> {
    open_as(dir, journal, false)
}

/// Opens a journal for the holder of the lock: nobody but the daemon writes meanwhile.
pub fn open_locked(dir: &DataDir, journal: &Journal, _lock: &Lock) -> Result<Opened> {
    open_as(dir, journal, true)
}

/// Opens a journal as it is at this moment, whoever writes to it: nobody is waited for.
pub fn open_at_once(dir: &DataDir, journal: &Journal) -> Result<Opened> {
    let path = dir.journal(journal);
    let Some(file) = files::open_read(&path)? else {
        return Ok(Opened { path, file: None, len: 0, mtime: (0, 0), being_written: None });
    };
    let data = files::metadata(&file, &path)?;
    let mtime = (data.mtime(), data.mtime_nsec());
    Ok(Opened { path, file: Some(file), len: data.len(), mtime, being_written: None })
}

fn open_as(dir: &DataDir, journal: &Journal, holding: bool) -> Result<Opened> {
    let opened = open_at_once(dir, journal)?;
    let Opened { path, file: Some(file), mut len, mut mtime, .. } = opened else { return Ok(opened) };
    let look = || -> Result<(u64, (i64, i64))> {
        let data = files::metadata(&file, &path)?;
        Ok((data.len(), (data.mtime(), data.mtime_nsec())))
    };
    let mut being_written = false;
    for looks in 0..LOOKS_AT_A_WRITER {
        if !files::ends_open_at(&file, &path, len)? {
            being_written = false;
            break;
        }
        being_written = !holding && Lock::held(dir);
        if !being_written && looks >= LOOKS {
            break;
        }
        std::thread::sleep(LOOK_AGAIN);
        (len, mtime) = look()?;
    }
    // A tail that has lain there for long is nobody's, whoever holds the lock now.
    let fresh = || {
        let changed = files::metadata(&file, &path).ok()?.modified().ok()?;
        Some(dir.clock?.duration_since(changed).unwrap_or_default() < FRESH)
    };
    let being_written = being_written && fresh().unwrap_or(false);
    let mut opened = Opened { path, file: Some(file), len, mtime, being_written: None };
    if being_written {
        opened.being_written = Some(opened.whole_line(len - 1)?.offset);
    }
    Ok(opened)
}

/// Replays an item, and hands it out as what two threads would have met.
pub fn meet(item: &Item<'_>, live: &mut Live, take: &mut dyn FnMut(&Met) -> Result<()>) -> Result<()> {
    met(item, &mut |record| live.record(record)).map_or(Ok(()), |met| take(&met))
}

/// An item as what two threads would have met.
fn met(item: &Item<'_>, digest: &mut dyn FnMut(&Record<'_>) -> Option<Digest>) -> Option<Met> {
    match item {
        Item::Record(record) => {
            let (digest, time) = (digest(record), Stamp::of(record));
            Some(Met::Record { line: record.line, span: record.span, digest, time })
        }
        Item::Finding(finding, bytes) => Some(Met::Finding(Box::new(finding.clone()), *bytes)),
        Item::Foreign { .. } | Item::LineEnd { .. } => None,
    }
}

impl Opened {
    /// Scans the journal, hands every record to `record` and every finding to `finding`, and counts.
    pub fn scan(
        &self,
        journal: &Journal,
        record: &mut dyn FnMut(&Record<'_>) -> Result<()>,
        finding: &mut dyn FnMut(&Finding) -> Result<()>,
    ) -> Result<Seen> {
        self.scan_items(journal, Stretch::whole(self.len), &mut |item| match item {
            Item::Record(r) => record(r),
            Item::Finding(f, _) => finding(f),
            Item::Foreign { .. } | Item::LineEnd { .. } => Ok(()),
        })
    }

    /// Scans a stretch of the journal item by item, and counts. What a lock holder is still writing is left out.
    pub fn scan_items(
        &self,
        journal: &Journal,
        stretch: Stretch,
        take: &mut dyn FnMut(&Item<'_>) -> Result<()>,
    ) -> Result<Seen> {
        let mut seen = Seen::default();
        let Some(file) = &self.file else { return Ok(seen) };
        let totals = scan::scan(&self.path, file, journal.shape, stretch, &mut |item| {
            match &item {
                Item::Record(_) => seen.records += 1,
                Item::Finding(finding, bytes) if self.is_written(finding, *bytes) => {
                    seen.in_progress = Some(finding.span);
                    return Ok(());
                }
                Item::Finding(finding, _) => seen.count(finding),
                Item::Foreign { .. } | Item::LineEnd { .. } => {}
            }
            take(&item)
        })?;
        seen.totals = totals;
        Ok(seen)
    }

    /// Adds what the records of a stretch come to.
    pub fn add_to(&self, journal: &Journal, stretch: Stretch, live: &mut Live) -> Result<Seen> {
        self.scan_items(journal, stretch, &mut |item| {
            if let Item::Record(record) = item {
                live.record(record);
            }
            Ok(())
        })
    }

    /// Replays the journal, and hands out what it met. Long journals are read on two threads. `lines`: the entries that
    /// a witness keeps of the lines as well.
    pub fn replay(
        &self,
        journal: &Journal,
        live: &mut Live,
        lines: bool,
        take: &mut dyn FnMut(&Met) -> Result<()>,
    ) -> Result<Seen> {
        match &self.file {
            Some(file) if parallel::worth_it(journal, self.len) => {
                self.on_two_threads(file, journal, lines, &mut |met| {
                    if let Met::Record { digest: Some(digest), .. } = met {
                        live.fold(digest);
                    }
                    take(met)
                })
            }
            _ => {
                let mut encoder = Encoder::default();
                let stretch = Stretch { hashes: lines, ..Stretch::whole(self.len) };
                let seen = self.scan_items(journal, stretch, &mut |item| {
                    meet(item, live, take)?;
                    if lines {
                        encoder.item(item);
                    }
                    if encoder.out.len() >= ENTRIES {
                        take(&Met::Lines(std::mem::take(&mut encoder.out)))?;
                    }
                    Ok(())
                })?;
                if !encoder.out.is_empty() {
                    take(&Met::Lines(encoder.out))?;
                }
                Ok(seen)
            }
        }
    }

    /// Hands out what is met in the journal, in order, and adds nothing up. Long journals are read on two threads. Where
    /// the last record of an id wins, each record comes with its digest.
    pub fn look(&self, journal: &Journal, take: &mut dyn FnMut(&Met) -> Result<()>) -> Result<Seen> {
        match &self.file {
            Some(file) if parallel::worth_it(journal, self.len) => self.on_two_threads(file, journal, false, take),
            _ => self.scan_items(journal, Stretch::whole(self.len), &mut |item| {
                let digest = |record: &Record<'_>| journal.rule.last_wins().then(|| Digest::of(record)).flatten();
                met(item, &mut { digest }).map_or(Ok(()), |met| take(&met))
            }),
        }
    }

    /// Reads the journal on two threads, and counts.
    fn on_two_threads(
        &self,
        file: &File,
        journal: &Journal,
        lines: bool,
        take: &mut dyn FnMut(&Met) -> Result<()>,
    ) -> Result<Seen> {
        let mut seen = Seen::default();
        let how = (parallel::CHUNK, lines);
        let totals = parallel::scan(&self.path, file, journal, self.len, how, &mut |met| {
            match &met {
                Met::Record { .. } => seen.records += 1,
                Met::Finding(finding, bytes) if self.is_written(finding, *bytes) => {
                    seen.in_progress = Some(finding.span);
                    return Ok(());
                }
                Met::Finding(finding, _) => seen.count(finding),
                Met::Lines(_) => {}
            }
            take(&met)
        })?;
        seen.totals = totals;
        Ok(seen)
    }

    /// Whether a finding is about what a lock holder is still writing.
    fn is_written(&self, finding: &Finding, bytes: Bytes) -> bool {
        self.being_written.is_some_and(|line| finding.line_start == line)
            && (bytes == Bytes::Unreadable || finding.class == Class::NoFinalNewline)
    }

    /// Whether nothing has happened to the journal since it was opened: it is the same file, as long as it was, changed
    /// when it was, and it ends with a whole line.
    #[must_use]
    pub fn is_unchanged(&self) -> bool {
        let same = |now: &Metadata| (now.len(), (now.mtime(), now.mtime_nsec())) == (self.len, self.mtime);
        self.there().is_some_and(|now| same(&now))
            && self.being_written.is_none()
            && self.ends_open().is_ok_and(|open| !open)
    }

    /// Whether the file that was opened is still the journal. A compaction puts another in its place: what was read of
    /// the old one says nothing about that.
    #[must_use]
    pub fn is_there(&self) -> bool {
        self.there().is_some()
    }

    /// What is to be said of the journal now, where it is still the file that was opened.
    fn there(&self) -> Option<Metadata> {
        let (opened, there) = (self.file.as_ref()?.metadata().ok()?, std::fs::metadata(&self.path).ok()?);
        ((opened.dev(), opened.ino()) == (there.dev(), there.ino())).then_some(there)
    }

    /// The same file as it was when it was opened.
    pub fn try_clone(&self) -> Result<Opened> {
        let file = self.file.as_ref().map(File::try_clone).transpose();
        let file = file.map_err(|e| Error::io("open", &self.path, &e))?;
        Ok(Opened { path: self.path.clone(), file, ..*self })
    }

    /// The same file as it is now, for the holder of the lock.
    pub fn again(&self, dir: &DataDir, journal: &Journal, lock: &Lock) -> Result<Opened> {
        let Some(file) = &self.file else { return open_locked(dir, journal, lock) };
        let file = file.try_clone().map_err(|e| Error::io("open", &self.path, &e))?;
        let data = files::metadata(&file, &self.path)?;
        let mtime = (data.mtime(), data.mtime_nsec());
        Ok(Opened { path: self.path.clone(), file: Some(file), len: data.len(), mtime, being_written: None })
    }

    /// The stretch that came to this journal since `before` was opened and read to its end; `None` where that cannot
    /// be told: another file, a shorter one, or one that did not end with a line end.
    pub fn grown_from(&self, before: &Opened) -> Result<Option<Stretch>> {
        let (Some(now), Some(then)) = (&self.file, &before.file) else { return Ok(None) };
        let (now, then_data) = (files::metadata(now, &self.path)?, files::metadata(then, &self.path)?);
        let same = (now.dev(), now.ino()) == (then_data.dev(), then_data.ino());
        let grown = same && self.len >= before.len && !before.ends_open()?;
        Ok(grown.then_some(Stretch { from: before.len, ..Stretch::whole(self.len) }))
    }

    /// Whether the last line lacks its line end.
    pub fn ends_open(&self) -> Result<bool> {
        self.file.as_ref().map_or(Ok(false), |file| files::ends_open_at(file, &self.path, self.len))
    }

    /// The bytes of a span.
    pub fn read(&self, span: Span) -> Result<Vec<u8>> {
        match &self.file {
            Some(file) => files::read_span(file, &self.path, span),
            None => Ok(Vec::new()),
        }
    }

    /// Hands out the bytes of spans that are in the order of the file.
    pub fn each(&self, spans: &[Span], take: &mut dyn FnMut(Span, &[u8]) -> Result<()>) -> Result<()> {
        let Some(file) = &self.file else { return Ok(()) };
        // The index may have been brought further since, and then says where newer records lie.
        let end = spans.last().map_or(0, |last| last.end());
        let mut window = Window::new(file, self.len.max(end));
        for span in spans {
            let len = usize::try_from(span.len).unwrap_or(usize::MAX);
            let bytes = window.exact(span.offset, len).map_err(|e| Error::io("read", &self.path, &e))?;
            take(*span, bytes.unwrap_or_default())?;
        }
        Ok(())
    }

    /// A window on what is read of it.
    #[must_use]
    pub fn window(&self) -> Option<Window<'_>> {
        self.file.as_ref().map(|file| Window::new(file, self.len))
    }

    /// Hands out the bytes of a span piece by piece.
    pub fn pieces(&self, span: Span, take: &mut dyn FnMut(&[u8]) -> Result<()>) -> Result<()> {
        let Some(file) = &self.file else { return Ok(()) };
        let mut block = vec![0; 1 << 16];
        let mut at = span.offset;
        while at < span.end() {
            let want = usize::try_from(span.end() - at).unwrap_or(usize::MAX).min(block.len());
            file.read_exact_at(&mut block[..want], at).map_err(|e| Error::io("read", &self.path, &e))?;
            take(&block[..want])?;
            at += want as u64;
        }
        Ok(())
    }

    /// The line, from 1, on which an offset lies.
    pub fn line_of(&self, offset: u64) -> Result<u64> {
        Ok(self.lines_of(&[offset])?.first().map_or(1, |(_, line)| *line))
    }

    /// The lines, from 1, on which offsets lie, in the order of the file, each with its offset.
    pub fn lines_of(&self, offsets: &[u64]) -> Result<Vec<(u64, u64)>> {
        let mut offsets = offsets.to_vec();
        offsets.sort_unstable();
        let Some(file) = &self.file else { return Ok(offsets.into_iter().map(|offset| (offset, 1)).collect()) };
        let (mut at, mut line, mut lines) = (0, 1, Vec::with_capacity(offsets.len()));
        for offset in offsets {
            line += files::count_lines(file, at, offset).map_err(|e| Error::io("read", &self.path, &e))?;
            at = offset;
            lines.push((offset, line));
        }
        Ok(lines)
    }

    /// The offset of a line's first byte; `None` where the journal has fewer lines.
    pub fn find_line(&self, line: u64) -> Result<Option<u64>> {
        let Some(file) = &self.file else { return Ok(None) };
        let mut block = vec![0; 1 << 18];
        let (mut at, mut before) = (0u64, 1u64);
        if line <= 1 {
            return Ok((line == 1 && self.len > 0).then_some(0));
        }
        while at < self.len {
            let want = usize::try_from(self.len - at).unwrap_or(usize::MAX).min(block.len());
            let got = file.read_at(&mut block[..want], at).map_err(|e| Error::io("read", &self.path, &e))?;
            if got == 0 {
                break;
            }
            for n in memchr::memchr_iter(b'\n', &block[..got]) {
                before += 1;
                if before == line {
                    let start = at + n as u64 + 1;
                    return Ok((start < self.len).then_some(start));
                }
            }
            at += got as u64;
        }
        Ok(None)
    }

    /// The line on which an offset lies, without its line end.
    pub fn whole_line(&self, offset: u64) -> Result<Span> {
        let Some(file) = &self.file else { return Ok(Span::default()) };
        let mut block = vec![0; 1 << 16];
        let mut start = offset;
        while start > 0 {
            let len = start.min(block.len() as u64);
            let part = &mut block[..usize::try_from(len).unwrap_or(0)];
            file.read_exact_at(part, start - len).map_err(|e| Error::io("read", &self.path, &e))?;
            if let Some(n) = memchr::memrchr(b'\n', part) {
                start = start - len + n as u64 + 1;
                break;
            }
            start -= len;
        }
        let end = files::behind_line_end(file, offset, self.len).map_err(|e| Error::io("read", &self.path, &e))?;
        let end = end.map_or(self.len, |end| end - 1);
        Ok(Span { offset: start, len: end - start })
    }
}
