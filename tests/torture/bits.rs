//! Every cut and every bit: each journal cut at every byte, with every bit of every byte flipped, and in the long form
//! with every byte wiped out or left out, and its lines changed around.
//!
//! A line means what its own bytes say. So a line whose bytes are as they were must be read as it was, whatever happens
//! around it; one that is an event to the daemon's own kind of reader ([`crate::reader`]) must be read as a whole; in any
//! other, a record may begin only where one began before, and what is not read must be named by a finding.

use std::collections::{BTreeSet, HashMap, HashSet};
use std::fs::{File, OpenOptions};
use std::ops::Range;
use std::os::unix::fs::FileExt;
use std::time::SystemTime;

use cruxctl::journal::audit::{self, Options};
use cruxctl::journal::check;
use cruxctl::journal::files::DataDir;
use cruxctl::journal::live::Live;
use cruxctl::journal::parallel::Met;
use cruxctl::journal::replay;
use cruxctl::journal::scan::Bytes;
use cruxctl::journal::witness::{self, Found};
use cruxctl::journal::{Finding, Journal, Span};
use tempfile::TempDir;

use crate::journals::KINDS;
use crate::reader;
use crate::support::NOW;
use crate::tally::{Dice, Plan, Tally, spread};

/// How many cases one job has.
const JOB: usize = 2_000;

/// Of how many cases one is also put to the check as a whole, which waits for a writer of a last line without its end.
const CHECKED: usize = 499;

/// What is done to a journal.
#[derive(Clone, Copy, Debug)]
enum Way {
    Cut(usize),
    Flip(usize, u8),
    Nul(usize),
    Lost(usize),
    Swap(usize),
    Drop(usize),
    Double(usize),
}

/// A journal as it was.
struct Original {
    journal: &'static Journal,
    lines: Vec<Vec<u8>>,
    bytes: Vec<u8>,
    /// Its lines without their line ends.
    known: HashSet<Vec<u8>>,
    /// What its records say.
    events: HashMap<Vec<u8>, Event>,
    /// Where its records lie.
    records: Vec<Range<usize>>,
}

/// The id of an event, where that is asked for, and whether it makes it live.
type Event = Option<(String, bool)>;

/// What one reading has met.
#[derive(Debug, PartialEq)]
struct Reading {
    records: Vec<Range<usize>>,
    findings: Vec<(Finding, Bytes)>,
    damage: u64,
    live: u64,
}

/// Does all of it.
pub fn run(plan: &Plan) -> Vec<Tally> {
    let originals: Vec<Original> = KINDS.iter().map(|kind| Original::of(kind.journal, kind.lines())).collect();
    let mut tallies = Vec::new();
    let mut jobs: Vec<(usize, &Original, Vec<Way>)> = Vec::new();
    for (number, original) in (0..).zip(&originals) {
        for (what, ways) in original.ways(plan, number) {
            let what = format!("{}: {what}", original.journal.name);
            jobs.extend(ways.chunks(JOB).map(|chunk| (tallies.len(), original, chunk.to_vec())));
            tallies.push(Tally::new(what));
        }
    }
    spread(&jobs, |(tally, original, ways)| original.all(ways, &tallies[*tally]));
    tallies
}

impl Way {
    /// The journal after it.
    fn done_to(self, original: &Original) -> Vec<u8> {
        let mut bytes = original.bytes.clone();
        match self {
            Way::Cut(at) => bytes.truncate(at),
            Way::Flip(at, bit) => bytes[at] ^= 1 << bit,
            Way::Nul(at) => bytes[at] = 0,
            Way::Lost(at) => drop(bytes.remove(at)),
            Way::Swap(n) | Way::Drop(n) | Way::Double(n) => {
                let mut lines = original.lines.clone();
                match self {
                    Way::Swap(_) => lines.swap(n, n + 1),
                    Way::Drop(_) => drop(lines.remove(n)),
                    _ => lines.insert(n, lines[n].clone()),
                }
                bytes = lines.concat();
            }
        }
        bytes
    }

    /// Where a byte of the journal lies after it.
    fn moved(self, place: usize) -> usize {
        if let Way::Lost(at) = self { place - usize::from(place > at) } else { place }
    }

    /// What was done, so that somebody can do it again.
    fn story(self, original: &Original) -> String {
        let name = original.journal.name;
        match self {
            Way::Cut(at) | Way::Flip(at, _) | Way::Nul(at) | Way::Lost(at) => {
                let mut from = 0;
                let number = original.lines.iter().take_while(|line| {
                    from += line.len();
                    from <= at
                });
                let number = number.count();
                let line = original.lines.get(number).map(|line| String::from_utf8_lossy(line));
                format!("{name}: {self:?}, in line {}: {:?}", number + 1, line.unwrap_or_default())
            }
            Way::Swap(line) | Way::Drop(line) | Way::Double(line) => {
                format!("{name}: {self:?}, counted from 0: {:?}", String::from_utf8_lossy(&original.lines[line]))
            }
        }
    }
}

impl Original {
    fn of(journal: &'static Journal, lines: Vec<Vec<u8>>) -> Original {
        let mut at = 0;
        let (mut records, mut events) = (Vec::new(), HashMap::new());
        for line in &lines {
            let inside = trimmed(line);
            if !inside.is_empty() {
                let event = reader::event(journal.name, line);
                let event = event.unwrap_or_else(|| panic!("no event: {}", String::from_utf8_lossy(line)));
                events.insert(line[inside.clone()].to_vec(), event);
                records.push(at + inside.start..at + inside.end);
            }
            at += line.len();
        }
        assert!(records.len() >= 25, "{} has {} records", journal.name, records.len());
        let known = lines.iter().map(|line| line[..line.len() - 1].to_vec()).collect();
        Original { journal, bytes: lines.concat(), lines, known, events, records }
    }

    /// What is done to it. In the short form one bit of every third byte is flipped.
    fn ways(&self, plan: &Plan, number: u64) -> Vec<(&'static str, Vec<Way>)> {
        let len = self.bytes.len();
        let mut dice = Dice::new(plan.seed.wrapping_mul(1_000).wrapping_add(number));
        let every = |way: fn(usize) -> Way, end: usize| (0..end).map(way).collect::<Vec<Way>>();
        let flips = |at| (0..8).map(move |bit| Way::Flip(at, bit));
        if !plan.long {
            let first = usize::try_from(plan.seed % 3).unwrap();
            let places = || (first..len).step_by(3);
            let one = places().map(|at| Way::Flip(at, u8::try_from(dice.below(8)).unwrap())).collect();
            let cuts = places().map(Way::Cut).collect();
            return vec![("cut at every third byte", cuts), ("a bit of every third byte flipped", one)];
        }
        let mut ways = vec![("cut at every byte", every(Way::Cut, len))];
        ways.push(("every bit flipped", (0..len).flat_map(flips).collect()));
        ways.push(("every byte made NUL", every(Way::Nul, len)));
        ways.push(("every byte left out", every(Way::Lost, len)));
        let lines = self.lines.len();
        let different = |way: &Way| way.done_to(self) != self.bytes;
        let swaps = every(Way::Swap, lines - 1).into_iter().filter(different).collect();
        ways.push(("every two lines swapped", swaps));
        ways.push(("every line left out", every(Way::Drop, lines)));
        ways.push(("every line doubled", every(Way::Double, lines)));
        ways
    }

    /// Does some of them, one after the other, to one file.
    fn all(&self, ways: &[Way], tally: &Tally) {
        let place = Place::new(self);
        for (n, way) in ways.iter().enumerate() {
            tally.try_it(|| way.story(self), || self.one(&place, *way, n % CHECKED == 0));
        }
    }

    fn one(&self, place: &Place, way: Way, checked: bool) -> String {
        let now = way.done_to(self);
        place.set(&now);
        let bare = place.read(&Found::Nothing, false);
        self.judge(way, &now, &bare);
        let found = witness::open(&place.dir, self.journal);
        assert!(matches!(found, Found::Witness(_)), "there is no witness");
        let held = place.read(&found, false);
        assert_eq!(held.records, bare.records, "a witness changes what is read");
        let noticed = self.noticed(way, &now, &held);
        if checked {
            assert_eq!(place.read(&found, true), held, "what is read in full is another");
            place.check(&held);
        }
        match (bare.findings.is_empty(), noticed) {
            (false, _) => "noticed without a witness".to_owned(),
            (true, true) => "noticed by a witness alone".to_owned(),
            (true, false) => "an append like any other".to_owned(),
        }
    }

    /// Whether somebody who has a witness is told, and of the right place. Everything must be told but what was appended:
    /// that a journal grows is no news, and a last line that is there twice is as good as one that was appended. That
    /// the bytes mean the same as before (a blank for another, a line end that the last line lacks) makes no difference:
    /// they are not those that were validated.
    fn noticed(&self, way: Way, now: &[u8], held: &Reading) -> bool {
        if now.starts_with(&self.bytes) {
            return false;
        }
        assert!(held.damage > 0, "nothing is told: {:?}", held.findings);
        // Of a changed byte its own line is told; of a byte or line that is not there at least the place behind it.
        let (Way::Flip(at, _) | Way::Nul(at)) = way else { return true };
        let covers = |span: Span| span.offset <= at as u64 && (at as u64) < span.end();
        let witness = held.findings.iter().any(|(finding, _)| {
            finding.class.is_of_witness()
                && (covers(finding.span) || finding.span.len == 0 && finding.span.offset <= at as u64)
        });
        assert!(witness, "the witness does not name the place: {:?}", held.findings);
        true
    }

    /// Holds what was read against what must be.
    fn judge(&self, way: Way, now: &[u8], bare: &Reading) {
        let mut start = 0;
        for line in now.split_inclusive(|byte| *byte == b'\n') {
            let range = start..start + line.len();
            start = range.end;
            let inside = trimmed(line);
            let inside = range.start + inside.start..range.start + inside.end;
            let here: Vec<Range<usize>> =
                bare.records.iter().filter(|record| range.contains(&record.start)).cloned().collect();
            let body = line.strip_suffix(b"\n").unwrap_or(line);
            if inside.is_empty() {
                assert!(here.is_empty(), "a blank line has {here:?}");
            } else if self.known.contains(body) || reader::event(self.journal.name, line).is_some() {
                assert_eq!(here, [inside.clone()], "a whole line: {:?}", String::from_utf8_lossy(line));
            } else {
                self.judge_wreck(way, now, &range, &here, bare);
            }
        }
        self.judge_cover(now, bare);
        if self.journal.rule.last_wins() {
            let mut live = BTreeSet::new();
            for record in &bare.records {
                let bytes = &now[record.clone()];
                let event = self.events.get(bytes).cloned().or_else(|| reader::event(self.journal.name, bytes));
                match event.flatten() {
                    Some((id, true)) => drop(live.insert(id)),
                    Some((id, false)) => drop(live.remove(&id)),
                    // Read here and by no other reader: nobody else knows its id.
                    None => return,
                }
            }
            assert_eq!(bare.live, live.len() as u64, "other ids are live: {live:?}");
        }
    }

    /// Holds a line that was touched and is no event against what it may be.
    fn judge_wreck(&self, way: Way, now: &[u8], line: &Range<usize>, here: &[Range<usize>], bare: &Reading) {
        let text = || String::from_utf8_lossy(&now[line.clone()]).into_owned();
        // Where the records that this line has of old lie now.
        let old: Vec<(Range<usize>, &[u8])> = self
            .records
            .iter()
            .map(|record| (way.moved(record.start)..way.moved(record.end), &self.bytes[record.clone()]))
            .filter(|(place, _)| line.contains(&place.start))
            .collect();
        for record in here {
            let began = old.iter().any(|(place, _)| place.start == record.start);
            assert!(began, "a record is made of the inside of another: {record:?} in {:?}", text());
            let quirk = |(finding, _): &(Finding, Bytes)| {
                finding.class.is_of_record() && finding.span.offset == record.start as u64
            };
            let bytes = &now[record.clone()];
            let event = self.events.contains_key(bytes) || reader::event(self.journal.name, bytes).is_some();
            // What is read here and the daemon stumbles over is told. It never sees our own journals.
            let told = bare.findings.iter().any(quirk) || self.journal.is_ours() && reader::json(bytes).is_ok();
            assert!(event || told, "{record:?} is no event: {:?}", text());
        }
        // A whole record that begins the line is read, whatever stands behind it. One that stands behind something else is
        // read, or shown as one that may be some: it could be a piece of somebody's state.
        let whole = old.iter().filter(|(place, bytes)| now.get(place.clone()) == Some(*bytes));
        for (place, bytes) in whole {
            let first = now[line.start..place.start].trim_ascii().is_empty();
            let shown = bare.findings.iter().flat_map(|(finding, _)| &finding.possible);
            let shown = || shown.clone().any(|possible| place_of(possible.span) == *place);
            // Nobody writes events whose op is not the first that they say: those are not looked for.
            let odd = !bytes.starts_with(b"{\"op\"") && !bytes.starts_with(b"[\"");
            let right = here.contains(place) || !first && (shown() || odd);
            assert!(right, "a whole record at {place:?} is not read: {:?}", bare.findings);
        }
    }

    /// What is no record is named by a finding, and no finding says of a record that it cannot be read.
    fn judge_cover(&self, now: &[u8], bare: &Reading) {
        let mut covered = vec![0u8; now.len()];
        for record in &bare.records {
            covered[record.clone()].iter_mut().for_each(|cover| *cover += 1);
        }
        assert!(covered.iter().all(|cover| *cover < 2), "records lie in one another: {:?}", bare.records);
        for (finding, bytes) in &bare.findings {
            for cover in &mut covered[place_of(finding.span)] {
                assert!(*cover != 1 || *bytes != Bytes::Unreadable, "a record is said to be unreadable: {finding:?}");
                *cover = (*cover).max(2);
            }
        }
        // White space belongs to nobody, be it that a fragment was cut behind it: a repair takes it along.
        let mut at = 0;
        for run in covered.chunk_by(|one, next| (*one == 0) == (*next == 0)) {
            let text = String::from_utf8_lossy(&now[at..at + run.len()]);
            at += run.len();
            let named = run[0] > 0 || text.trim().is_empty();
            assert!(named, "nobody names {text:?} in front of {at}: {:?}", bare.findings);
        }
    }
}

/// A data directory with one journal, of which a witness knows how it was.
struct Place {
    _folder: TempDir,
    dir: DataDir,
    journal: &'static Journal,
    file: File,
}

impl Place {
    fn new(original: &Original) -> Place {
        let folder = TempDir::new().unwrap();
        let journal = original.journal;
        let dir = DataDir { root: folder.path().to_owned(), boot: None, clock: Some(SystemTime::UNIX_EPOCH) };
        dir.make(&dir.own()).unwrap();
        let file = OpenOptions::new().create_new(true).write(true).open(dir.journal(journal)).unwrap();
        let place = Place { _folder: folder, dir, journal, file };
        place.set(&original.bytes);
        let options = check::Options { full: false, accept: false, keep: true, now: NOW };
        let summary = check::check(&place.dir, journal, options, &mut |_| Ok(()), &mut |_, _| ()).unwrap();
        assert!(!summary.bad(true), "{} is not clean: {summary:?}", journal.name);
        assert_eq!(place.read(&Found::Nothing, false).records, original.records);
        place
    }

    /// Puts other bytes into the same file.
    fn set(&self, bytes: &[u8]) {
        self.file.write_all_at(bytes, 0).unwrap();
        self.file.set_len(bytes.len() as u64).unwrap();
    }

    /// Reads it as a check does that keeps nothing and waits for nobody.
    fn read(&self, found: &Found, full: bool) -> Reading {
        let opened = replay::open_at_once(&self.dir, self.journal).unwrap();
        let mut live = Live::new(self.journal);
        let (mut records, mut findings) = (Vec::new(), Vec::new());
        let mut take = |met: &Met| {
            match met {
                Met::Record { span, .. } => records.push(place_of(*span)),
                Met::Finding(finding, bytes) => findings.push(((**finding).clone(), *bytes)),
                Met::Lines(_) => {}
            }
            Ok(())
        };
        let options = Options { full, ..Options::default() };
        let read = audit::read(&self.dir, self.journal, &opened, found, options, &mut live, &mut take);
        let (seen, outcome) = read.unwrap();
        assert_eq!(seen.records, records.len() as u64);
        Reading { records, findings, damage: seen.damage + outcome.told.damage, live: live.live() }
    }

    /// Puts it to the check that an operator runs, which must count the same.
    fn check(&self, held: &Reading) {
        let options = check::Options { full: false, accept: false, keep: false, now: NOW };
        let mut findings = 0;
        let mut count = |_: &Finding| {
            findings += 1;
            Ok(())
        };
        let summary = check::check(&self.dir, self.journal, options, &mut count, &mut |_, _| ()).unwrap();
        let counted = (summary.seen.damage, summary.live, findings);
        assert_eq!(counted, (held.damage, held.live, held.findings.len()), "{summary:?}");
    }
}

fn place_of(span: Span) -> Range<usize> {
    let number = |n: u64| usize::try_from(n).unwrap();
    number(span.offset)..number(span.end())
}

/// White space of one byte. The journals have no other around their records.
fn is_blank(byte: u8) -> bool {
    byte.is_ascii_whitespace() || byte == 0x0b
}

fn trimmed(line: &[u8]) -> Range<usize> {
    let start = line.iter().position(|byte| !is_blank(*byte)).unwrap_or(line.len());
    let end = line.iter().rposition(|byte| !is_blank(*byte)).map_or(start, |last| last + 1);
    start..end
}
