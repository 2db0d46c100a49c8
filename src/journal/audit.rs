//! The audit: a journal held against its witness.
//!
//! Lines that the witness knows, and whose bytes are still the same, are not read again. From the first line that is
//! not, everything is read as if for the first time, and the two are compared line by line: what was changed in place,
//! what is missing, and where they go on together.

use std::collections::HashMap;
use std::io;

use super::Journal;
use super::files::{self, DataDir, Window};
use super::finding::{Class, Finding, HEAD, Reaction, Span};
use super::live::{Digest, IdKey, KeyMap, Live};
use super::lock::Lock;
use super::parallel::Met;
use super::replace::Continued;
use super::replay::{Opened, Seen, meet};
use super::scan::{Bytes, Item, Stretch};
use super::witness::{
    self, About, Builder, Cursor, Encoder, End, Entries, Entry, Found, Identity, LineHash, Standing, Unread, Witness,
};
use crate::error::{Code, Error, Result};

/// How many ids of missing records are named.
const NAMED: usize = 10_000;

/// How many lines are compared at once where lines have moved.
const AT_ONCE: u64 = 1 << 20;

/// How many entries a glance looks at.
const GLANCE: usize = 100_000;

/// How a journal stands to its witness.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// There was no witness.
    New,
    /// The witness, or a part of it, cannot be read. What could be read does not speak against the journal.
    Unreadable(Unread),
    /// Everything that it knows is as it was.
    Intact,
    /// It speaks against the journal.
    Against,
    /// It is about another file of this name, which the present one has replaced.
    Replaced {
        /// The first ids that were live there and are not in the journal.
        gone: Vec<String>,
        /// How many there are.
        gone_ids: u64,
        /// Whether they were live for certain: some journals' rules end an id without naming it.
        certain: bool,
    },
}

impl Verdict {
    /// Whether the operator has to decide before the witness goes on.
    #[must_use]
    pub fn waits(&self) -> bool {
        match self {
            Verdict::Against => true,
            Verdict::Unreadable(unread) => unread.failed.is_none(),
            Verdict::Replaced { gone_ids, certain, .. } => *certain && *gone_ids > 0,
            Verdict::New | Verdict::Intact => false,
        }
    }
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
    /// Bytes of the witness that were never finished.
    pub unfinished: u64,
    /// Whether the witness is about a file of which this one is a copy.
    copy: bool,
    /// What is to be kept.
    entries: Option<Builder>,
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
    keeps: Option<Builder>,
}

/// A stretch in which the journal is not what the witness knows.
#[derive(Clone, Copy)]
struct Region {
    /// The first entry that has no like.
    old: Cursor,
    /// The journal's line there.
    line: u64,
    /// How many of the journal's lines since end where the witness does or before.
    lines: u64,
    /// Whether one ends just where the witness does.
    ends_together: bool,
}

/// Where everything goes that is met, and what the comparison itself has found.
struct Report<'t> {
    take: &'t mut dyn FnMut(&Met) -> Result<()>,
    told: Seen,
    /// Whether the journal is our own.
    ours: bool,
}

impl Report<'_> {
    fn finding(&mut self, mut finding: Finding) -> Result<()> {
        if self.ours {
            finding.reaction = Reaction::NeverReads;
        }
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
    /// Something is kept at all.
    pub keep: bool,
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
    let other_file = match (old, &opened.file) {
        (Some((witness, _)), Some(file)) => {
            Identity::of(file).map_err(|e| Error::io("look at", &opened.path, &e))? != witness.identity
        }
        _ => false,
    };
    // A copy is compared as the file that it is a copy of: what has changed in it has changed. What a repair or a
    // compaction has left, which was killed before it had made a new witness, is none.
    let copy = other_file
        && old.is_some_and(|(witness, end)| {
            // One of our own nobody else replaces.
            !follows(dir, journal, opened, witness.identity) && (journal.is_ours() || is_copy(opened, witness, end))
        });
    let replaced = other_file && !copy;
    let begins = if options.afresh || other_file { (0, 0) } else { (end.to, end.lines) };
    let mut audit = Audit {
        opened,
        old,
        entries: old.map(|(witness, _)| witness.entries()),
        at: (0, 1),
        region: None,
        present: replaced.then(KeyMap::default),
        differs: false,
        keeps: options.keep.then(|| Builder::new(dir, journal, opened, begins)),
    };
    let mut report = Report { take, told: Seen::default(), ours: journal.is_ours() };
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
        Found::Witness(witness) if replaced => audit.replaced(journal, witness, &mut report)?,
        Found::Witness(_) => {
            audit.compare_ends(&mut report)?;
            let trouble = audit.entries.as_mut().and_then(Entries::trouble);
            match trouble {
                _ if audit.differs => Verdict::Against,
                Some(unread) => Verdict::Unreadable(unread),
                None if end.is_damaged() => Verdict::Unreadable(Unread::damaged("its last block is damaged")),
                None => Verdict::Intact,
            }
        }
    };
    let unfinished = match old {
        Some((witness, end)) if !end.is_damaged() => witness.unfinished(end),
        _ => 0,
    };
    let known = if verdict == Verdict::Intact { end.to } else { 0 };
    Ok((seen, Outcome { verdict, told: report.told, known, unfinished, copy, entries: audit.keeps }))
}

/// Whether a replacement of ours has noted that it has put this file in the place of that one.
fn follows(dir: &DataDir, journal: &Journal, opened: &Opened, before: Identity) -> bool {
    let noted = opened.file.as_ref().map_or_else(Vec::new, |file| Continued::into(dir, journal, file));
    noted.iter().any(|noted| noted.file == before)
}

/// Whether most of what the witness of another file knows lies in this one in the same place.
fn is_copy(opened: &Opened, witness: &Witness, end: End) -> bool {
    let Some(mut window) = opened.window() else { return false };
    let (mut entries, mut same) = (witness.entries(), 0);
    while let Some(entry) = entries.peek().filter(|entry| entry.span.end() <= opened.len) {
        let (span, hash) = (entry.span, entry.hash);
        if hash_of(&mut window, span).is_ok_and(|now| now == hash) {
            same += span.len;
        }
        entries.advance();
    }
    same * 2 > end.to
}

/// How a witness stands to a journal. One of our own nobody else replaces: where another file is in its place, and it was
/// not put there by a repair or a compaction, it is a copy, and goes on where the witness ends or has lost something.
pub fn standing(
    dir: &DataDir,
    journal: &Journal,
    opened: &Opened,
    (witness, end): (&Witness, End),
) -> io::Result<Standing> {
    let standing = witness.standing(opened, end)?;
    // Who has opened it before it was replaced knows nothing of the file that there is now.
    let is_copy = standing == Standing::Elsewhere
        && journal.is_ours()
        && opened.is_there()
        && !follows(dir, journal, opened, witness.identity);
    if is_copy { witness.standing_to_copy(opened, end) } else { Ok(standing) }
}

/// Holds only the ends of a journal and its witness against each other, for a verb that asks something else. `live` is
/// what the journal adds up to, where that is known. A witness that cannot be read says nothing here: it is for the check to tell.
pub fn glance(dir: &DataDir, journal: &Journal, opened: &Opened, live: Option<&mut Live>) -> Option<Finding> {
    let Found::Witness(witness) = witness::open(dir, journal) else { return None };
    let end = witness.end().ok()?;
    if opened.file.is_none() {
        // It may have come since.
        return (end.to > 0 && !opened.path.exists()).then(|| missing_at_end(opened, &witness, end)).flatten();
    }
    match standing(dir, journal, opened, (&witness, end)).ok()? {
        Standing::Against if opened.len >= end.to => {
            let why = "what was validated does not end here any more".to_owned();
            let at = (opened.line_of(end.to).ok()?, end.to);
            let span = Span { offset: end.to, len: 0 };
            Some(finding(Class::Changed, at, span, why, Vec::new(), Vec::new()))
        }
        Standing::Against => missing_at_end(opened, &witness, end),
        Standing::Elsewhere => {
            let live = live?;
            let (mut entries, mut known) = (witness.entries(), KeyMap::default());
            for _ in 0..GLANCE {
                let Some(entry) = entries.peek() else {
                    return (!known.is_empty()).then(|| none_left(known.len() as u64, Vec::new()));
                };
                for (about, id) in entry.ids() {
                    let key = IdKey::of(id);
                    match about {
                        About::Record => known.insert(key, ()),
                        About::Delete | About::Unreadable => known.remove(&key),
                    };
                    // One that is there is enough: a compaction keeps what is live.
                    if about == About::Record && live.row(key).is_some() {
                        return None;
                    }
                }
                entries.advance();
            }
            None
        }
        Standing::For | Standing::Damaged => None,
    }
}

fn missing_at_end(opened: &Opened, witness: &Witness, end: End) -> Option<Finding> {
    let mut entries = witness.entries();
    while entries.peek().is_some_and(|entry| entry.span.end() <= opened.len) {
        entries.advance();
    }
    let (from, mut found) = (entries.cursor(), None);
    let mut take = |met: &Met| {
        if let Met::Finding(finding, _) = met {
            found = Some((**finding).clone());
        }
        Ok(())
    };
    let mut report = Report { take: &mut take, told: Seen::default(), ours: false };
    let told = missing_behind(opened, (witness, end), from, from.line, &mut report);
    told.ok().and(found)
}

/// What is said of a file that has taken the journal's place and has nothing of it.
fn none_left(ids: u64, gone: Vec<String>) -> Finding {
    let why = format!("the file is another one, and has none of the {} that were live", plural(ids, "id", "ids"));
    finding(Class::RecordsMissing, (1, 0), Span::default(), why, gone, Vec::new())
}

impl Audit<'_> {
    /// Goes through the lines that the witness knows, as long as their bytes are the same.
    fn known(&mut self, journal: &Journal, live: &mut Live, report: &mut Report<'_>) -> Result<Seen> {
        let opened = self.opened;
        let mut seen = Seen::default();
        let (Some(entries), Some(mut window)) = (&mut self.entries, opened.window()) else { return Ok(seen) };
        let failed = |e: io::Error| Error::io("read", &opened.path, &e);
        // Lines that are not simple are read again, many at once.
        let mut again: Option<Stretch> = None;
        loop {
            let entry = match entries.peek() {
                Some(entry) if entry.span.offset == self.at.0 && entry.span.end() <= opened.len => entry,
                _ => break,
            };
            if hash_of(&mut window, entry.span).map_err(failed)? != entry.hash {
                break;
            }
            let id = if entry.simple { entry.ids().next() } else { None };
            match (id, &mut again) {
                (Some((about, id)), _) => {
                    if let Some(stretch) = again.take() {
                        seen.add(opened.scan_items(journal, stretch, &mut |item| meet(item, live, report.take))?);
                    }
                    let span = Span { len: entry.span.len - 1, ..entry.span };
                    let digest = Digest { key: IdKey::of(id), deletes: about == About::Delete, span };
                    live.fold(&digest);
                    seen.records += 1;
                    seen.totals.bytes += entry.span.len;
                    seen.totals.lines += 1;
                    let (line, time) = (entry.line, entry.time);
                    (report.take)(&Met::Record { line, span, digest: Some(digest), time })?;
                }
                (None, Some(stretch)) => stretch.to = entry.span.end(),
                (None, None) => {
                    let to = entry.span.end();
                    again =
                        Some(Stretch { from: entry.span.offset, lines_before: entry.line - 1, ..Stretch::whole(to) });
                }
            }
            if let Some(keeps) = self.keeps.as_mut().filter(|keeps| keeps.to() == entry.span.offset) {
                keeps.push(entry);
            }
            self.at = (entry.span.end(), entry.line + 1);
            entries.advance();
        }
        if let Some(stretch) = again {
            seen.add(opened.scan_items(journal, stretch, &mut |item| meet(item, live, report.take))?);
        }
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
        self.at = witness::each(encoded, start, line, &mut |entry| {
            if let Some(keeps) = self.keeps.as_mut().filter(|keeps| keeps.to() == entry.span.offset) {
                keeps.push(entry);
            }
            if let Some(present) = &mut self.present {
                let known = entry.ids().filter(|(about, _)| *about != About::Unreadable);
                present.extend(known.map(|(_, id)| (IdKey::of(id), ())));
            }
            if result.is_ok() {
                result = self.line(entry, report);
            }
        });
        result
    }

    /// Holds the next line of the journal against what the witness knows.
    fn line(&mut self, line: Entry<'_>, report: &mut Report<'_>) -> Result<()> {
        // A file that has taken the journal's place is not compared line by line.
        let Some(entries) = self.entries.as_mut().filter(|_| self.present.is_none()) else { return Ok(()) };
        while let Some(old) = entries.peek() {
            if self.region.is_none() && old.span.offset >= line.span.end() {
                // What it knew of this line is damaged.
                return Ok(());
            }
            if (old.span, old.hash) == (line.span, line.hash) {
                entries.advance();
                return match self.region.take() {
                    Some(region) => self.in_place(region.old, region.line, line.span.offset, report),
                    None => Ok(()),
                };
            }
            let covered = old.span.end() <= line.span.end();
            let old = entries.cursor();
            self.region.get_or_insert(Region { old, line: line.line, lines: 0, ends_together: false });
            if !covered {
                break;
            }
            entries.advance();
        }
        if let (Some(region), Some((_, end))) = (&mut self.region, self.old) {
            region.lines += u64::from(line.span.end() <= end.to);
            region.ends_together |= line.span.end() == end.to;
        }
        Ok(())
    }

    /// Compares what is left of the two when the journal was read to its end.
    fn compare_ends(&mut self, report: &mut Report<'_>) -> Result<()> {
        let (Some(entries), Some(old)) = (&mut self.entries, self.old) else { return Ok(()) };
        let Some(region) = self.region.take() else {
            if entries.peek().is_none() {
                return Ok(());
            }
            // No whole line is left: what the witness knows is in a last line without its line end, or not there.
            let (from, line) = (entries.cursor(), self.at.1);
            self.in_place(from, line, self.opened.len, report)?;
            let line = line + u64::from(self.opened.ends_open()?);
            self.differs |= missing_behind(self.opened, old, from, line, report)?;
            return Ok(());
        };
        // The same number of lines in the same place, or lines that are still in their place: others were changed. Else
        // something was put in or taken out.
        if region.ends_together
            && (self.entries_from(region.old) == region.lines || self.some_in_place(region.old)?)
        {
            return self.in_place(region.old, region.line, old.1.to, report);
        }
        self.differs = true;
        self.missing_among(region, report)
    }

    /// How many entries come from a cursor on.
    fn entries_from(&self, from: Cursor) -> u64 {
        let Some((witness, _)) = self.old else { return 0 };
        let (mut entries, mut count) = (witness.entries_from(from), 0);
        while entries.peek().is_some() {
            count += 1;
            entries.advance();
        }
        count
    }

    /// Whether any line that the witness knows from a cursor on is still in its place.
    fn some_in_place(&self, from: Cursor) -> Result<bool> {
        let (Some((witness, _)), Some(mut window)) = (self.old, self.opened.window()) else { return Ok(false) };
        let mut entries = witness.entries_from(from);
        while let Some(entry) = entries.peek().filter(|entry| entry.span.end() <= self.opened.len) {
            let (span, hash) = (entry.span, entry.hash);
            let now = hash_of(&mut window, span).map_err(|e| Error::io("read", &self.opened.path, &e))?;
            // A line end alone is in many places.
            if now == hash && span.len > 1 {
                return Ok(true);
            }
            entries.advance();
        }
        Ok(false)
    }

    /// Names the lines whose bytes are not what they were, from an entry on as far as `until`. `line` is the number of
    /// the journal's line at the first.
    fn in_place(&mut self, from: Cursor, line: u64, until: u64, report: &mut Report<'_>) -> Result<()> {
        let (Some((witness, _)), Some(mut window)) = (self.old, self.opened.window()) else { return Ok(()) };
        let mut entries = witness.entries_from(from);
        let mut line = line;
        while let Some(entry) = entries.peek() {
            // A line end that is missing at the very end of the file is a change of the line.
            let unended = entry.span.end() == self.opened.len + 1;
            if entry.span.end() > until && !(unended && until == self.opened.len) {
                return Ok(());
            }
            let here = Span { len: entry.span.len - u64::from(unended), ..entry.span };
            let (mut hash, mut line_ends, mut head) = (LineHash::default(), 0, Vec::new());
            let looked = pieces(&mut window, here, &mut |bytes| {
                head.extend(bytes.iter().take(HEAD - head.len()));
                line_ends += memchr::memchr_iter(b'\n', bytes).count() as u64;
                hash.write(bytes);
            });
            looked.map_err(|e| Error::io("read", &self.opened.path, &e))?;
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
                let at = (line, entry.span.offset);
                report.finding(finding(Class::Changed, at, here, why, named(entry), head))?;
            }
            line += line_ends;
            entries.advance();
        }
        Ok(())
    }

    /// Names what the witness knows from a region on and the journal has nowhere from there on.
    fn missing_among(&mut self, region: Region, report: &mut Report<'_>) -> Result<()> {
        let (Some((witness, _)), Some(mut window)) = (self.old, self.opened.window()) else { return Ok(()) };
        let failed = |e: io::Error| Error::io("read", &self.opened.path, &e);
        let (from, len) = (region.old.start.min(self.opened.len), self.opened.len);
        let mut lines = 0u64;
        each_line(&mut window, from, len, &mut |_| lines += 1).map_err(failed)?;
        let mut missing = Missing::default();
        // What has the same hash is compared at once, so that memory does not grow with the lines.
        let passes = lines.max(self.entries_from(region.old)) / AT_ONCE + 1;
        for pass in 0..passes {
            let mut there: HashMap<u64, u64> = HashMap::new();
            each_line(&mut window, from, len, &mut |hash| {
                if hash % passes == pass {
                    *there.entry(hash).or_default() += 1;
                }
            })
            .map_err(failed)?;
            let mut entries = witness.entries_from(region.old);
            while let Some(entry) = entries.peek() {
                if entry.hash % passes == pass {
                    match there.get_mut(&entry.hash).filter(|left| **left > 0) {
                        Some(left) => *left -= 1,
                        None => missing.take(entry),
                    }
                }
                entries.advance();
            }
        }
        let at = Span { offset: from, len: 0 };
        let class = if missing.lines == 0 { Class::Changed } else { Class::RecordsMissing };
        let why = match missing.lines {
            0 => "lines were put in or moved here; all that were validated are there".to_owned(),
            _ => format!(
                "from here on, {} ({} bytes){}",
                plural(missing.lines, "line that was validated is missing", "lines that were validated are missing"),
                missing.bytes,
                missing.more()
            ),
        };
        report.finding(finding(class, (region.line, at.offset), at, why, missing.ids, Vec::new()))
    }

    /// What has become of the ids of the file that this one has replaced.
    fn replaced(&mut self, journal: &Journal, witness: &Witness, report: &mut Report<'_>) -> Result<Verdict> {
        let mut live: KeyMap<()> = KeyMap::default();
        let mut entries = witness.entries();
        while let Some(entry) = entries.peek() {
            for (about, id) in entry.ids() {
                match about {
                    About::Record => live.insert(IdKey::of(id), ()),
                    About::Delete => live.remove(&IdKey::of(id)),
                    About::Unreadable => None,
                };
            }
            entries.advance();
        }
        let were_live = live.len() as u64;
        let present = self.present.take().unwrap_or_default();
        live.retain(|key, ()| !present.contains_key(key));
        let gone_ids = live.len() as u64;
        let mut gone = Vec::new();
        let mut entries = witness.entries();
        while let Some(entry) = entries.peek().filter(|_| gone.len() < NAMED && !live.is_empty()) {
            for (_, id) in entry.ids() {
                if live.remove(&IdKey::of(id)).is_some() {
                    gone.push(id.to_owned());
                }
            }
            entries.advance();
        }
        if were_live > 0 && gone_ids == were_live {
            self.differs = true;
            report.finding(none_left(were_live, gone))?;
            return Ok(Verdict::Against);
        }
        Ok(Verdict::Replaced { gone, gone_ids, certain: journal.rule.last_wins() })
    }
}

/// Lines that are missing, in numbers, with their ids.
#[derive(Default)]
struct Missing {
    lines: u64,
    bytes: u64,
    ids: Vec<String>,
    all: KeyMap<()>,
}

impl Missing {
    fn take(&mut self, entry: Entry<'_>) {
        self.lines += 1;
        self.bytes += entry.span.len;
        for (_, id) in entry.ids() {
            if self.all.insert(IdKey::of(id), ()).is_none() && self.ids.len() < NAMED {
                self.ids.push(id.to_owned());
            }
        }
    }

    /// What is to be said where not all ids are named.
    fn more(&self) -> String {
        let more = self.all.len() - self.ids.len();
        if more > 0 { format!("; {more} more ids are not named") } else { String::new() }
    }
}

/// Names what the witness knows from an entry on and lies behind the journal's end. Whether there is any.
fn missing_behind(
    opened: &Opened,
    (witness, end): (&Witness, End),
    from: Cursor,
    line: u64,
    report: &mut Report<'_>,
) -> Result<bool> {
    let mut missing = Missing::default();
    let mut entries = witness.entries_from(from);
    while let Some(entry) = entries.peek() {
        // A line that lacks only its line end was told as changed.
        if entry.span.end() > opened.len + 1 || opened.file.is_none() {
            missing.take(entry);
        }
        entries.advance();
    }
    if missing.lines == 0 {
        return Ok(false);
    }
    let why = format!(
        "{} at the end, {} bytes: {} bytes were validated, and the file has {}{}",
        plural(missing.lines, "line is missing", "lines are missing"),
        missing.bytes,
        end.to,
        opened.len,
        missing.more()
    );
    let at = Span { offset: opened.len, len: 0 };
    report.finding(finding(Class::RecordsMissing, (line, at.offset), at, why, missing.ids, Vec::new()))?;
    Ok(true)
}

fn named(entry: Entry<'_>) -> Vec<String> {
    entry.ids().map(|(_, id)| id.to_owned()).collect()
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

/// Hands out the bytes of a span piece by piece.
fn pieces(window: &mut Window<'_>, span: Span, take: &mut dyn FnMut(&[u8])) -> io::Result<()> {
    let mut at = span.offset;
    while at < span.end() {
        let bytes = window.some(at, usize::try_from(span.end() - at).unwrap_or(usize::MAX))?;
        if bytes.is_empty() {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        take(bytes);
        at += bytes.len() as u64;
    }
    Ok(())
}

/// The hash of what lies in a place.
fn hash_of(window: &mut Window<'_>, span: Span) -> io::Result<u64> {
    let mut hash = LineHash::default();
    let len = usize::try_from(span.len).unwrap_or(usize::MAX);
    let bytes = window.some(span.offset, len)?;
    if bytes.len() == len {
        return Ok(hash.finish(bytes));
    }
    pieces(window, span, &mut |bytes| hash.write(bytes))?;
    Ok(hash.finish(b""))
}

/// Hands out the hash of each whole line from an offset on.
fn each_line(window: &mut Window<'_>, from: u64, len: u64, take: &mut dyn FnMut(u64)) -> io::Result<()> {
    let (mut at, mut hash) = (from, LineHash::default());
    while at < len {
        let bytes = window.some(at, usize::try_from(len - at).unwrap_or(usize::MAX))?;
        if bytes.is_empty() {
            break;
        }
        let mut start = 0;
        for n in memchr::memchr_iter(b'\n', bytes) {
            take(std::mem::take(&mut hash).finish(&bytes[start..=n]));
            start = n + 1;
        }
        if start < bytes.len() {
            hash.write(&bytes[start..]);
        }
        at += bytes.len() as u64;
    }
    Ok(())
}

/// How a journal stands to its witness, for a verb that is about to replace it.
pub fn verdict(dir: &DataDir, journal: &Journal, opened: &Opened) -> Result<(Verdict, Seen)> {
    let found = witness::open(dir, journal);
    let mut live = Live::new(journal);
    let (_, outcome) = read(dir, journal, opened, &found, Options::default(), &mut live, &mut |_| Ok(()))?;
    Ok((outcome.verdict, outcome.told))
}

impl Outcome {
    /// Whether there is anything that a check keeps.
    #[must_use]
    pub fn is_to_be_kept(&self, accept: bool) -> bool {
        let news = self.copy || self.entries.as_ref().is_some_and(|entries| !entries.is_empty());
        accept || (news && !self.verdict.waits() && !matches!(self.verdict, Verdict::Unreadable(_)))
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
        let wanted = self.is_to_be_kept(accept);
        let Some(entries) = self.entries.filter(|_| wanted) else { return Ok(()) };
        entries.settle()?;
        if accept {
            // The file that was read must still be the journal.
            let path = dir.journal(journal);
            let now = files::open_read(&path)?;
            if !entries.is_of(now.as_ref()).map_err(|e| Error::io("look at", &path, &e))? {
                let message = format!("{} was replaced while it was read; run the command again", journal.file);
                return Err(Error::new(Code::BusyChanging, message));
            }
            return if entries.is_empty() { witness::remove(dir, journal, lock) } else { entries.replace(lock) };
        }
        if !witness::still(dir, journal, found) {
            return Ok(());
        }
        match self.verdict {
            Verdict::Intact if !self.copy => entries.extend(dir, journal, opened, lock),
            _ => entries.replace(lock),
        }
    }
}
