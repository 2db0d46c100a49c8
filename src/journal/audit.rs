//! The audit: a journal held against its witness.
//!
//! Lines that the witness knows, and whose bytes are still the same, are not read again. From the first line that is
//! not, everything is read as if for the first time, and the two are compared line by line: what was changed in place,
//! what is missing, and where they go on together.

use std::collections::HashSet;
use std::io;

use super::Journal;
use super::files::DataDir;
use super::finding::{Class, Finding, HEAD, Reaction, Span};
use super::live::{Digest, IdKey, KeyMap, Live};
use super::lock::Lock;
use super::parallel::Met;
use super::replay::{Opened, Seen, meet};
use super::scan::{Bytes, Item, Stretch};
use super::witness::{
    self, Builder, Cursor, Encoder, End, Entries, Entry, Found, Identity, LineHash, Standing, Witness,
};
use crate::error::{Error, Result};

/// How many ids of missing records are named.
const NAMED: usize = 10_000;

/// How much of the journal is read at once.
const BLOCK: usize = 1 << 20;

/// How a journal stands to its witness.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// There was no witness.
    New,
    /// The witness cannot be read, and why.
    Unreadable(String),
    /// Everything that it knows is as it was.
    Intact,
    /// It speaks against the journal.
    Against,
    /// It is about another file of this name, which the present one has replaced.
    Replaced {
        /// Whether every byte that it knows is there nevertheless.
        same: bool,
        /// The first ids that were live there and are not in the journal.
        gone: Vec<String>,
        /// How many there are.
        gone_ids: u64,
    },
}

/// What an audit has shown.
#[derive(Debug)]
pub struct Outcome {
    /// How the journal stands to its witness.
    pub verdict: Verdict,
    /// What the comparison has found; not among what the reading has.
    pub told: Seen,
    /// Bytes of the journal that the witness had vouched for.
    pub known: u64,
    /// Bytes of the witness that cannot be read.
    pub unread: u64,
    /// What is to be kept.
    keeps: Builder,
}

/// A journal and its witness while they are compared.
struct Audit<'a> {
    opened: &'a Opened,
    /// The witness, and how far it goes.
    old: Option<(&'a Witness, End)>,
    /// What it knows, from the next line on; `None`: nothing more is compared.
    entries: Option<Entries<'a>>,
    /// Where the next line of the journal begins, and its number.
    at: (u64, u64),
    /// Where the two do not go on together.
    region: Option<Region>,
    /// The ids of the journal, where it is another file than the witness is about.
    present: Option<KeyMap<()>>,
    /// Whether anything is not as it was.
    differs: bool,
    keeps: Builder,
}

/// A stretch in which the journal is not what the witness knows.
struct Region {
    /// The first entry that has no like.
    old: Cursor,
    /// The journal's line there.
    line: u64,
    /// The hashes of the journal's lines since.
    hashes: HashSet<u64>,
    /// How many of them end where the witness does or before.
    lines: u64,
    /// Whether one ends just where the witness does.
    ends_together: bool,
}

/// Where everything goes that is met, and what the comparison itself has found.
struct Report<'t> {
    take: &'t mut dyn FnMut(&Met) -> Result<()>,
    told: Seen,
}

impl Report<'_> {
    fn finding(&mut self, finding: Finding) -> Result<()> {
        self.told.count(&finding);
        (self.take)(&Met::Finding(Box::new(finding), Bytes::Readable))
    }
}

/// How a journal is audited.
#[derive(Clone, Copy, Debug, Default)]
pub struct Options {
    /// Every line is read, also where the witness knows it.
    pub full: bool,
    /// What is kept begins with the first line.
    pub afresh: bool,
}

/// Reads a journal, holds it against its witness, and hands out everything that is met.
pub fn read(
    dir: &DataDir,
    journal: &Journal,
    opened: &Opened,
    found: &Found,
    options: Options,
    live: &mut Live,
    take: &mut dyn FnMut(&Met) -> Result<()>,
) -> Result<(Seen, Outcome)> {
    let failed = |e: io::Error| Error::io("read", &witness::path(dir, journal), &e);
    let old = match found {
        Found::Witness(witness) => Some((witness, witness.end().map_err(failed)?)),
        _ => None,
    };
    let end = old.map(|(_, end)| end).unwrap_or_default();
    let replaced = match (old, &opened.file) {
        (Some((witness, _)), Some(file)) => {
            Identity::of(file).map_err(|e| Error::io("look at", &opened.path, &e))? != witness.identity
        }
        _ => false,
    };
    let begins = if options.afresh || replaced { End::default() } else { end };
    let mut audit = Audit {
        opened,
        old,
        entries: old.map(|(witness, _)| witness.entries()),
        at: (0, 1),
        region: None,
        present: replaced.then(KeyMap::default),
        differs: false,
        keeps: Builder::new(dir, journal, begins.to, begins.lines),
    };
    let mut report = Report { take, told: Seen::default() };
    let from_witness = journal.rule.last_wins() && !options.full && !options.afresh && !replaced && old.is_some();
    let seen = if from_witness {
        let mut seen = audit.known(journal, live, &mut report)?;
        seen.add(audit.rest(journal, live, &mut report)?);
        seen
    } else {
        opened.replay(journal, live, true, &mut |met| match met {
            Met::Lines(lines) => audit.lines(lines, &mut report),
            _ => (report.take)(met),
        })?
    };
    let verdict = match found {
        Found::Nothing => Verdict::New,
        Found::Unreadable(why) => Verdict::Unreadable(why.clone()),
        Found::Witness(witness) if replaced => audit.replaced(witness),
        Found::Witness(_) => {
            audit.compare_ends(&mut report)?;
            match audit.broken(end) {
                _ if audit.differs => Verdict::Against,
                Some(known) => Verdict::Unreadable(format!(
                    "a block of it is damaged; it vouches for the first {known} bytes of {}",
                    journal.file
                )),
                None => Verdict::Intact,
            }
        }
    };
    let unread = match found {
        Found::Witness(witness) => witness.unfinished(end),
        _ => 0,
    };
    let told = report.told;
    let known = if verdict == Verdict::Intact { end.to } else { 0 };
    Ok((seen, Outcome { verdict, told, known, unread, keeps: audit.keeps }))
}

/// Holds only the ends of a journal and its witness against each other, for a verb that asks something else. A journal
/// that is replaced, or goes on where the witness ends, says nothing.
pub fn glance(dir: &DataDir, journal: &Journal, opened: &Opened, found: &Found) -> Result<Option<Finding>> {
    let Found::Witness(witness) = found else { return Ok(None) };
    let failed = |e: io::Error| Error::io("read", &witness::path(dir, journal), &e);
    let end = witness.end().map_err(failed)?;
    let gone = opened.file.is_none() && end.to > 0;
    if !gone && witness.standing(opened, end).map_err(failed)? != Standing::Against {
        return Ok(None);
    }
    if opened.len >= end.to {
        let why = "what was validated does not end here any more".to_owned();
        let at = (opened.line_of(end.to)?, end.to);
        let span = Span { offset: end.to, len: 0 };
        return Ok(Some(finding(Class::Changed, at, span, why, Vec::new(), Vec::new())));
    }
    let mut audit = Audit {
        opened,
        old: Some((witness, end)),
        entries: None,
        at: (0, 1),
        region: None,
        present: None,
        differs: false,
        keeps: Builder::new(dir, journal, 0, 0),
    };
    let mut entries = witness.entries();
    while entries.peek().ok().flatten().is_some_and(|entry| entry.span.end() <= opened.len) {
        entries.advance();
    }
    let (cursor, mut found) = (entries.cursor(), None);
    let mut take = |met: &Met| {
        if let Met::Finding(finding, _) = met {
            found = Some((**finding).clone());
        }
        Ok(())
    };
    audit.missing(cursor, cursor.line, None, &mut Report { take: &mut take, told: Seen::default() })?;
    Ok(found)
}

impl Audit<'_> {
    /// Goes through the lines that the witness knows, as long as their bytes are the same.
    fn known(&mut self, journal: &Journal, live: &mut Live, report: &mut Report<'_>) -> Result<Seen> {
        let opened = self.opened;
        let mut window = Window { opened, block: Vec::new(), from: 0 };
        let mut seen = Seen::default();
        let Some(entries) = &mut self.entries else { return Ok(seen) };
        while let Some(entry) = entries.peek().ok().flatten() {
            if entry.span.end() > opened.len || window.hash(entry.span)? != entry.hash {
                break;
            }
            let entry = entry.clone();
            let id = if entry.simple { witness::ids(entries.bytes(), &entry).next() } else { None };
            if let Some(id) = id {
                let span = Span { len: entry.span.len - 1, ..entry.span };
                let digest = Digest { key: IdKey::of(id), deletes: entry.deletes, span };
                live.fold(&digest);
                seen.records += 1;
                seen.totals.bytes += entry.span.len;
                seen.totals.lines += 1;
                (report.take)(&Met::Record { span, digest: Some(digest), time: entry.time })?;
            } else {
                let to = entry.span.end();
                let line = Stretch { from: entry.span.offset, lines_before: entry.line - 1, ..Stretch::whole(to) };
                seen.add(opened.scan_items(journal, line, &mut |item| meet(item, live, report.take))?);
            }
            entries.advance();
        }
        let at = entries.cursor();
        self.at = (at.start, at.line);
        Ok(seen)
    }

    /// Reads what comes behind the lines that are known.
    fn rest(&mut self, journal: &Journal, live: &mut Live, report: &mut Report<'_>) -> Result<Seen> {
        let (from, line) = self.at;
        let stretch = Stretch { from, lines_before: line - 1, hashes: true, ..Stretch::whole(self.opened.len) };
        let mut encoder = Encoder::default();
        self.opened.scan_items(journal, stretch, &mut |item| {
            encoder.item(item);
            meet(item, live, report.take)?;
            if let Item::LineEnd { .. } = item {
                self.lines(&encoder.out, report)?;
                encoder.out.clear();
            }
            Ok(())
        })
    }

    /// Takes the next lines of the journal, as entries.
    fn lines(&mut self, encoded: &[u8], report: &mut Report<'_>) -> Result<()> {
        let mut result = Ok(());
        let (start, line) = self.at;
        self.at = witness::each(encoded, start, line, &mut |entry, bytes| {
            if self.keeps.to() == entry.span.offset {
                self.keeps.take_one(entry.span, bytes);
            }
            if let Some(present) = &mut self.present {
                present.extend(witness::ids(encoded, entry).map(|id| (IdKey::of(id), ())));
            }
            if result.is_ok() {
                result = self.line(entry, report);
            }
        });
        result
    }

    /// Holds the next line of the journal against what the witness knows.
    fn line(&mut self, line: &Entry, report: &mut Report<'_>) -> Result<()> {
        let Some(entries) = &mut self.entries else { return Ok(()) };
        while let Some(old) = entries.peek().ok().flatten() {
            if (old.span, old.hash) == (line.span, line.hash) {
                entries.advance();
                return match self.region.take() {
                    Some(region) => self.in_place(region.old, region.line, line.span.offset, report),
                    None => Ok(()),
                };
            }
            if self.present.is_some() {
                // The file is another one: where it begins to differ is enough.
                self.differs = true;
                self.entries = None;
                return Ok(());
            }
            let covered = old.span.end() <= line.span.end();
            let old = entries.cursor();
            self.region.get_or_insert_with(|| Region {
                old,
                line: line.line,
                hashes: HashSet::new(),
                lines: 0,
                ends_together: false,
            });
            if !covered {
                break;
            }
            entries.advance();
        }
        if let (Some(region), Some((_, end))) = (&mut self.region, self.old) {
            region.hashes.insert(line.hash);
            region.lines += u64::from(line.span.end() <= end.to);
            region.ends_together |= line.span.end() == end.to;
        }
        Ok(())
    }

    /// Compares what is left of the two when the journal was read to its end.
    fn compare_ends(&mut self, report: &mut Report<'_>) -> Result<()> {
        let Some(entries) = &mut self.entries else { return Ok(()) };
        let Some(region) = self.region.take() else {
            if entries.peek().ok().flatten().is_none() {
                return Ok(());
            }
            // No whole line is left: what the witness knows is in a last line without its line end, or not there.
            let (at, line) = (entries.cursor(), self.at.1);
            self.in_place(at, line, self.opened.len, report)?;
            return self.missing(at, line, None, report);
        };
        let Some((witness, end)) = self.old else { return Ok(()) };
        // The same number of lines in the same place, or lines that are still in their place: others were changed. Lines
        // that are in another place, or nowhere: something was put in or taken out.
        let (mut lines, mut moved, mut in_place) = (0, false, false);
        let mut entries = witness.entries_from(region.old);
        while let Some(entry) = entries.peek().ok().flatten() {
            lines += 1;
            moved |= region.hashes.contains(&entry.hash);
            in_place |= region.ends_together && self.hash_of(entry.span)? == Some(entry.hash);
            entries.advance();
        }
        if region.ends_together && (lines == region.lines || in_place) && !moved {
            return self.in_place(region.old, region.line, end.to, report);
        }
        self.missing(region.old, region.line, Some(&region.hashes), report)
    }

    /// The hash of what lies in a place now; `None` where the journal does not reach so far.
    fn hash_of(&self, span: Span) -> Result<Option<u64>> {
        let mut hash = LineHash::default();
        if span.end() > self.opened.len {
            return Ok(None);
        }
        self.opened.pieces(span, &mut |bytes| {
            hash.write(bytes);
            Ok(())
        })?;
        Ok(Some(hash.finish(b"")))
    }

    /// Names the lines whose bytes are not what they were, from an entry on as far as `until`. `line` is the number of
    /// the journal's line at the first.
    fn in_place(&mut self, from: Cursor, line: u64, until: u64, report: &mut Report<'_>) -> Result<()> {
        let Some((witness, _)) = self.old else { return Ok(()) };
        let mut entries = witness.entries_from(from);
        let mut line = line;
        while let Some(entry) = entries.peek().ok().flatten() {
            let entry = entry.clone();
            // A line end that is missing at the very end of the file is a change of the line.
            let unended = entry.span.end() == self.opened.len + 1;
            if entry.span.end() > until && !(unended && until == self.opened.len) {
                return Ok(());
            }
            let (mut hash, mut line_ends) = (LineHash::default(), 0);
            let mut head = Vec::new();
            let here = Span { len: entry.span.len - u64::from(unended), ..entry.span };
            self.opened.pieces(here, &mut |bytes| {
                head.extend(bytes.iter().take(HEAD - head.len()));
                line_ends += memchr::memchr_iter(b'\n', bytes).count() as u64;
                hash.write(bytes);
                Ok(())
            })?;
            let hash = hash.finish(if unended { b"\n" } else { b"" });
            if hash != entry.hash || unended {
                self.differs = true;
                let why = match hash == entry.hash {
                    true => "its line end is missing".to_owned(),
                    false => format!(
                        "its bytes are not those that were validated: hash {:016x} then, {hash:016x} now",
                        entry.hash
                    ),
                };
                let ids = witness::ids(entries.bytes(), &entry).map(str::to_owned).collect();
                let at = (line, entry.span.offset);
                report.finding(finding(Class::Changed, at, here, why, ids, head))?;
            }
            line += line_ends;
            entries.advance();
        }
        Ok(())
    }

    /// Names what the witness knows from an entry on and the journal no longer has. `hashes`: those of the journal's
    /// lines from there on; without them, it is what lies behind the journal's end.
    fn missing(
        &mut self,
        from: Cursor,
        line: u64,
        hashes: Option<&HashSet<u64>>,
        report: &mut Report<'_>,
    ) -> Result<()> {
        let Some((witness, end)) = self.old else { return Ok(()) };
        let len = self.opened.len;
        let mut entries = witness.entries_from(from);
        let mut ids = Vec::new();
        let mut named: KeyMap<()> = KeyMap::default();
        let (mut lines, mut bytes) = (0u64, 0u64);
        while let Some(entry) = entries.peek().ok().flatten() {
            let there = match hashes {
                Some(hashes) => hashes.contains(&entry.hash),
                // A line without its line end was told as changed.
                None => entry.span.end() <= len + 1,
            };
            if !there {
                lines += 1;
                bytes += entry.span.len;
                let entry = entry.clone();
                for id in witness::ids(entries.bytes(), &entry) {
                    if ids.len() < NAMED && named.insert(IdKey::of(id), ()).is_none() {
                        ids.push(id.to_owned());
                    }
                }
            }
            entries.advance();
        }
        let Some(hashes) = hashes else {
            if lines == 0 {
                return Ok(());
            }
            self.differs = true;
            let why = format!(
                "{} at the end, {bytes} bytes: {} bytes were validated, and the file has {len}",
                plural(lines, "line is missing", "lines are missing"),
                end.to
            );
            let line = line + u64::from(self.opened.ends_open()?);
            return report.finding(finding(
                Class::RecordsMissing,
                (line, len),
                Span { offset: len, len: 0 },
                why,
                ids,
                Vec::new(),
            ));
        };
        self.differs = true;
        let at = Span { offset: from.start.min(len), len: 0 };
        let (class, why) = match lines {
            0 => (Class::Changed, "lines were put in or moved here; all that were validated are there".to_owned()),
            _ => (
                Class::RecordsMissing,
                format!(
                    "from here on, {} that were validated ({bytes} bytes); {} other lines are in their place",
                    plural(lines, "line is missing", "lines are missing"),
                    hashes.len()
                ),
            ),
        };
        report.finding(finding(class, (line, at.offset), at, why, ids, Vec::new()))
    }

    /// How far the witness can be read, where that is not to its end.
    fn broken(&mut self, end: End) -> Option<u64> {
        let entries = self.entries.as_mut()?;
        let at = entries.cursor().start;
        (entries.peek().ok().flatten().is_none() && at < end.to).then_some(at)
    }

    /// What has become of the ids of the file that this one has replaced.
    fn replaced(&mut self, witness: &Witness) -> Verdict {
        let mut live: KeyMap<()> = KeyMap::default();
        let mut entries = witness.entries();
        while let Some(entry) = entries.peek().ok().flatten() {
            let entry = entry.clone();
            for id in witness::ids(entries.bytes(), &entry) {
                let key = IdKey::of(id);
                if entry.deletes {
                    live.remove(&key)
                } else {
                    live.insert(key, ())
                };
            }
            entries.advance();
        }
        let present = self.present.take().unwrap_or_default();
        live.retain(|key, ()| !present.contains_key(key));
        let gone_ids = live.len() as u64;
        let mut gone = Vec::new();
        let mut entries = witness.entries();
        while let Some(entry) = entries.peek().ok().flatten().filter(|_| gone.len() < NAMED && !live.is_empty()) {
            let entry = entry.clone();
            for id in witness::ids(entries.bytes(), &entry) {
                if live.remove(&IdKey::of(id)).is_some() {
                    gone.push(id.to_owned());
                }
            }
            entries.advance();
        }
        let all_compared = self.entries.as_mut().is_some_and(|entries| entries.peek().ok().flatten().is_none());
        Verdict::Replaced { same: !self.differs && all_compared, gone, gone_ids }
    }
}

fn plural(count: u64, one: &str, many: &str) -> String {
    format!("{count} {}", if count == 1 { one } else { many })
}

fn finding(
    class: Class,
    (line, line_start): (u64, u64),
    span: Span,
    why: String,
    ids: Vec<String>,
    head: Vec<u8>,
) -> Finding {
    let reaction = Reaction::DoesNotNotice;
    Finding { line, line_start, span, class, why, reaction, ids, head, possible: Vec::new() }
}

/// The journal's bytes, a block at a time.
struct Window<'o> {
    opened: &'o Opened,
    block: Vec<u8>,
    from: u64,
}

impl Window<'_> {
    /// The hash of a line's bytes. Lines are asked for in their order.
    fn hash(&mut self, span: Span) -> Result<u64> {
        let mut hash = LineHash::default();
        let mut at = span.offset;
        loop {
            let have = usize::try_from(at.wrapping_sub(self.from)).unwrap_or(usize::MAX);
            let rest = self.block.get(have..).unwrap_or_default();
            let wanted = usize::try_from(span.end() - at).unwrap_or(usize::MAX);
            if rest.len() >= wanted {
                return Ok(hash.finish(&rest[..wanted]));
            }
            if !rest.is_empty() {
                hash.write(rest);
                at += rest.len() as u64;
            }
            self.from = at;
            let len = usize::try_from(self.opened.len - at).unwrap_or(usize::MAX).min(BLOCK);
            self.block.resize(len, 0);
            self.opened.read_into(at, &mut self.block)?;
        }
    }
}

/// How a journal stands to its witness, for a verb that is about to replace it.
pub fn verdict(dir: &DataDir, journal: &Journal, opened: &Opened) -> Result<(Verdict, Seen)> {
    let found = witness::open(dir, journal);
    let mut live = Live::new(journal);
    let (_, outcome) = read(dir, journal, opened, &found, Options::default(), &mut live, &mut |_| Ok(()))?;
    Ok((outcome.verdict, outcome.told))
}

impl Outcome {
    /// Whether there is anything to keep.
    #[must_use]
    pub fn keeps(&self, accept: bool) -> bool {
        let takes_it = match &self.verdict {
            Verdict::New | Verdict::Intact => true,
            Verdict::Replaced { gone_ids, .. } => *gone_ids == 0,
            Verdict::Against | Verdict::Unreadable(_) => false,
        };
        (takes_it && self.keeps.any()) || accept
    }

    /// Keeps what was read behind the lock: a new witness, or what came behind the old one. `found` is what was there
    /// when the journal was read; where it is something else by now, that stays.
    pub fn keep(
        self,
        dir: &DataDir,
        journal: &Journal,
        opened: &Opened,
        found: &Found,
        accept: bool,
        lock: &Lock,
    ) -> Result<()> {
        if !self.keeps(accept) || (!accept && !witness::still(dir, journal, found)) {
            return Ok(());
        }
        if accept && !self.keeps.any() {
            return witness::remove(dir, journal, lock);
        }
        match &self.verdict {
            Verdict::Intact if !accept => self.keeps.extend(dir, journal, opened, lock),
            _ => self.keeps.replace(opened, lock),
        }
    }
}
