//! The ids in a journal, for somebody who is typing one: at once or not at all.
//!
//! Nothing is written, no lock is taken, nobody is waited for, and an error is an answer without ids. What is read is
//! bounded: the end of the witness, or of the journal where no witness stands for it. There the last record of an id
//! wins as it does in the whole file; an id whose records all lie before that is left out.

use std::collections::HashMap;
use std::hash::BuildHasherDefault;
use std::os::unix::fs::FileExt;

use twox_hash::XxHash3_64;

use super::Journal;
use super::files::DataDir;
use super::live::{KeyHasher, Live};
use super::replay::{self, Opened};
use super::scan::{Item, Stretch};
use super::split::event_ids;
use super::witness::{self, About, End, Found, Standing, Witness};

/// The most that is read of a journal, and of a witness.
const MOST: u64 = 16 << 20;

/// How much is read at once to find the end of a line.
const BLOCK: usize = 1 << 16;

/// Which ids are wanted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Which {
    /// Those whose last record does not end them. It is true of journals in which the last record wins.
    Live,
    /// Those of live records and of records that ended them.
    Mentioned,
}

/// The ids that are wanted and pass `wanted`, in no order.
#[must_use]
pub fn ids(dir: &DataDir, journal: &Journal, which: Which, wanted: &dyn Fn(&str) -> bool) -> Vec<String> {
    let mut ids = Ids { which, wanted, known: HashMap::default() };
    // What cannot be read to its end may have ended any of them.
    ids.read(dir, journal).map_or_else(Vec::new, |()| ids.known.into_values().collect())
}

struct Ids<'w> {
    which: Which,
    wanted: &'w dyn Fn(&str) -> bool,
    /// By their hashes. Two ids that share one are taken for one, and nothing depends on it.
    known: HashMap<u64, String, BuildHasherDefault<KeyHasher>>,
}

impl Ids<'_> {
    fn read(&mut self, dir: &DataDir, journal: &Journal) -> Option<()> {
        let opened = replay::open_at_once(dir, journal).ok()?;
        let mut from = 0;
        if let Some((witness, end)) = standing(dir, journal, &opened) {
            witness
                .each_of_last(end, MOST, &mut |entry| entry.ids().for_each(|(about, id)| self.take(about, id)))
                .ok()?;
            from = end.to;
        } else if opened.len > MOST {
            from = line_behind(&opened, opened.len - MOST)?;
        }
        let stretch = Stretch { from, ..Stretch::whole(opened.len) };
        let take = &mut |item: &Item<'_>| {
            if let Item::Record(record) = item {
                event_ids(record.event, &mut |id| self.take(About::of(record.event), id));
            }
            Ok(())
        };
        opened.scan_items(journal, stretch, take).ok().map(drop)
    }

    fn take(&mut self, about: About, id: &str) {
        if about == About::Unreadable || !(self.wanted)(id) {
            return;
        }
        let hash = XxHash3_64::oneshot(id.as_bytes());
        if about == About::Delete && self.which == Which::Live {
            self.known.remove(&hash);
        } else {
            self.known.entry(hash).or_insert_with(|| id.to_owned());
        }
    }
}

/// The witness that stands for a journal, and how far it goes, where little has come since.
fn standing(dir: &DataDir, journal: &Journal, opened: &Opened) -> Option<(Witness, End)> {
    let Found::Witness(witness) = witness::open(dir, journal) else { return None };
    let end = witness.last_block().ok()??;
    let stands = witness.standing(opened, end).ok()? == Standing::For;
    (stands && opened.len.checked_sub(end.to)? <= MOST).then_some((witness, end))
}

/// Where the first line behind an offset begins.
fn line_behind(opened: &Opened, mut at: u64) -> Option<u64> {
    let mut block = vec![0; BLOCK];
    while at < opened.len {
        let got = opened.file.as_ref()?.read_at(&mut block, at).ok().filter(|got| *got > 0)?;
        if let Some(n) = memchr::memchr(b'\n', &block[..got]) {
            return Some(at + n as u64 + 1);
        }
        at += got as u64;
    }
    None
}

/// Hands out every live record of a journal that is short enough to be read in passing, in the order of the file.
pub fn each_live(dir: &DataDir, journal: &Journal, take: &mut dyn FnMut(&[u8])) {
    // What cannot be read is not offered.
    let _ = try_each_live(dir, journal, take);
}

fn try_each_live(dir: &DataDir, journal: &Journal, take: &mut dyn FnMut(&[u8])) -> Option<()> {
    let opened = replay::open_at_once(dir, journal).ok().filter(|opened| opened.len <= MOST)?;
    let mut live = Live::new(journal);
    opened.replay(journal, &mut live, false, &mut |_| Ok(())).ok()?;
    let handed = opened.each(&live.spans().ok()?, &mut |_, bytes| {
        take(bytes);
        Ok(())
    });
    handed.ok()
}
