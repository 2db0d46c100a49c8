//! The ids in a journal, for somebody who is typing one: at once or not at all.
//!
//! Nothing is written, no lock is taken, nobody is waited for, and an error is an answer without ids. What is read is
//! bounded: the end of the witness, or of the journal where no witness stands for it. There the last record of an id
//! wins as it does in the whole file; an id whose records all lie before that is left out.

use std::collections::HashMap;
use std::hash::BuildHasherDefault;
use std::ops::Range;
use std::os::unix::fs::FileExt;

use twox_hash::XxHash3_64;

use super::Journal;
use super::files::DataDir;
use super::index::Index;
use super::live::{KeyHasher, Live};
use super::replay::{self, Opened};
use super::scan::{Item, Stretch};
use super::split::event_ids;
use super::stamp::Stamp;
use super::witness::{self, About, End, Entry, Found, Standing, Witness};

/// The most that is read of a journal, and of a witness.
const MOST: u64 = 16 << 20;

/// The most that is replayed where no index says what is live.
const WITHOUT_INDEX: u64 = 2 << 20;

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

/// The ids that are wanted and pass `wanted`.
#[must_use]
pub fn ids(dir: &DataDir, journal: &Journal, which: Which, wanted: &dyn Fn(&str) -> bool) -> Ids {
    let mut reader = Reader { which, wanted, ids: Ids::default() };
    // What cannot be read to its end may have ended any of them.
    let read = each_mention(dir, journal, false, &mut |about, id, _| reader.take(about, id));
    read.map_or_else(Ids::default, |()| reader.ids)
}

/// Ids, each once.
#[derive(Debug, Default)]
pub struct Ids {
    /// All of them, one behind the other: there may be a hundred thousand, and each is looked at for a moment.
    texts: String,
    /// Where they lie in it; nowhere, where one has ended.
    places: Vec<Range<usize>>,
    /// Which place is whose, by hashes of ids. Two ids that share one are taken for one, and nothing depends on it.
    by_hash: HashMap<u64, usize, BuildHasherDefault<KeyHasher>>,
}

impl Ids {
    /// They, in the order in which they came up.
    pub fn iter(&self) -> impl Iterator<Item = &str> {
        self.places.iter().filter(|place| !place.is_empty()).filter_map(|place| self.texts.get(place.clone()))
    }
}

/// The numbers of the versions of an id that it was stored with, each with its time, as [`super::history`] counts them. None
/// where the journal is too long to be read from its beginning in passing.
#[must_use]
pub fn revisions(dir: &DataDir, journal: &Journal, id: &str) -> Vec<(u64, Option<Stamp>)> {
    let (mut number, mut stored) = (0, Vec::new());
    let read = each_mention(dir, journal, true, &mut |about, own, time| {
        if about != About::Unreadable && own == id {
            number += 1;
            if about == About::Record {
                stored.push((number, time));
            }
        }
    });
    read.map_or_else(Vec::new, |()| stored)
}

/// Takes the next mention of an id: what for, and when.
type Mention<'t> = dyn FnMut(About, &str, Option<Stamp>) + 't;

/// Hands out every mention of an id in a journal, or where that is too long and need not be `whole`, those at its end.
fn each_mention(dir: &DataDir, journal: &Journal, whole: bool, take: &mut Mention<'_>) -> Option<()> {
    let opened = replay::open_at_once(dir, journal).ok()?;
    let mut from = 0;
    if let Some((witness, end)) = standing(dir, journal, &opened).filter(|(_, end)| !whole || end.len <= MOST) {
        let entry = &mut |entry: Entry<'_>| entry.ids().for_each(|(about, id)| take(about, id, entry.time));
        witness.each_of_last(end, MOST, entry).ok()?;
        from = end.to;
    } else if opened.len > MOST {
        from = line_behind(&opened, opened.len - MOST).filter(|_| !whole)?;
    }
    let stretch = Stretch { from, ..Stretch::whole(opened.len) };
    let item = &mut |item: &Item<'_>| {
        if let Item::Record(record) = item {
            event_ids(record.event, &mut |id| take(About::of(record.event), id, Stamp::of(record)));
        }
        Ok(())
    };
    opened.scan_items(journal, stretch, item).ok().map(drop)
}

struct Reader<'w> {
    which: Which,
    wanted: &'w dyn Fn(&str) -> bool,
    ids: Ids,
}

impl Reader<'_> {
    fn take(&mut self, about: About, id: &str) {
        if about == About::Unreadable || !(self.wanted)(id) {
            return;
        }
        let hash = XxHash3_64::oneshot(id.as_bytes());
        let Ids { texts, places, by_hash } = &mut self.ids;
        if about == About::Delete && self.which == Which::Live {
            by_hash.remove(&hash).and_then(|at| places.get_mut(at)).into_iter().for_each(|place| *place = 0..0);
        } else {
            by_hash.entry(hash).or_insert_with(|| {
                texts.push_str(id);
                places.push(texts.len() - id.len()..texts.len());
                places.len() - 1
            });
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

/// Hands out every live record of a journal that is short enough to be read in passing, in the order of the file. An
/// index that can be believed says which these are; without one, only a short journal is replayed. `with`: those in whose
/// texts this cannot stand are left out.
pub fn each_live(dir: &DataDir, journal: &Journal, with: &str, take: &mut dyn FnMut(&[u8])) {
    let with = memchr::memmem::Finder::new(with);
    // An escape may stand for anything.
    let may_have = |bytes: &[u8]| with.find(bytes).is_some() || memchr::memchr(b'\\', bytes).is_some();
    // What cannot be read is not offered.
    let _ = try_each_live(dir, journal, &mut |bytes| {
        if may_have(bytes) {
            take(bytes);
        }
    });
}

fn try_each_live(dir: &DataDir, journal: &Journal, take: &mut dyn FnMut(&[u8])) -> Option<()> {
    let opened = replay::open_at_once(dir, journal).ok().filter(|opened| opened.len <= MOST)?;
    let mut live = match Index::open(dir, journal, &opened, false) {
        Some(index) => {
            let rest = index.rest(&opened);
            let mut live = Live::over(journal, index);
            opened.add_to(journal, rest, &mut live).ok()?;
            live
        }
        None if opened.len > WITHOUT_INDEX => return None,
        None => {
            let mut live = Live::new(journal);
            opened.replay(journal, &mut live, false, &mut |_| Ok(())).ok()?;
            live
        }
    };
    live.check().ok()?;
    let handed = opened.each(&live.spans().ok()?, &mut |_, bytes| {
        take(bytes);
        Ok(())
    });
    handed.ok()
}
