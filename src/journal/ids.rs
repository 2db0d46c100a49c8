//! The ids in a journal, for somebody who is typing one: at once or not at all.
//!
//! Nothing is written, no lock is taken, nobody is waited for. What is read is bounded: a witness, and of the journal
//! what no witness stands for. Where there is more, or not all of it can be read, there is no answer: a shell takes the
//! only candidate for what was meant, and another may lie where nobody looked.

use std::collections::HashMap;
use std::hash::BuildHasherDefault;
use std::ops::Range;

use twox_hash::XxHash3_64;

use super::Journal;
use super::files::DataDir;
use super::index::Index;
use super::live::{KeyHasher, Live, Row};
use super::replay::{self, Opened};
use super::scan::{self, Item, Stretch};
use super::split::event_ids;
use super::stamp::Stamp;
use super::witness::{self, About, End, Entry, Found, Standing, Witness};

/// The most that is read of a witness.
const WITNESS: u64 = 40 << 20;

/// The most that is read of a journal.
const MOST: u64 = 16 << 20;

/// The most that is replayed where no index says what is live.
const WITHOUT_INDEX: u64 = 2 << 20;

/// Which ids are wanted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Which {
    /// Those whose last record does not end them. It is true of journals in which the last record wins.
    Live,
    /// Those of live records and of records that ended them.
    Mentioned,
}

/// The ids that pass `wanted`; `None` where not all of them can be told. `with`: what stands in each of them.
#[must_use]
pub fn ids(dir: &DataDir, journal: &Journal, which: Which, with: &str, wanted: &dyn Fn(&str) -> bool) -> Option<Ids> {
    each_mention(dir, journal, with, &|ids: &mut Ids, about, id, _| {
        if about != About::Unreadable && wanted(id) {
            ids.take(about == About::Delete && which == Which::Live, id);
        }
    })
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

    fn take(&mut self, ended: bool, id: &str) {
        let hash = XxHash3_64::oneshot(id.as_bytes());
        let Ids { texts, places, by_hash } = self;
        if ended {
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

/// The versions of an id, counted as [`super::history`] counts them.
#[derive(Debug, Default)]
struct Versions {
    number: u64,
    stored: Vec<(u64, Option<Stamp>)>,
}

/// The numbers of the versions of an id that it was stored with, each with its time. None where not all can be told.
#[must_use]
pub fn revisions(dir: &DataDir, journal: &Journal, id: &str) -> Vec<(u64, Option<Stamp>)> {
    let versions = each_mention(dir, journal, id, &|versions: &mut Versions, about, own, time| {
        if about != About::Unreadable && own == id {
            versions.number += 1;
            if about == About::Record {
                versions.stored.push((versions.number, time));
            }
        }
    });
    versions.unwrap_or_default().stored
}

/// Takes the next mention of an id: what for, and when.
type Mention<'t, T> = dyn Fn(&mut T, About, &str, Option<Stamp>) + 't;

/// What comes of every mention of an id in a journal in which `with` stands; others may be left out. `None` where they
/// are too many to be read in passing, or cannot all be read.
fn each_mention<T: Default>(dir: &DataDir, journal: &Journal, with: &str, take: &Mention<'_, T>) -> Option<T> {
    let opened = replay::open_at_once(dir, journal).ok()?;
    let by_witness = || {
        let (witness, end) = standing(dir, journal, &opened)?;
        let mut all = T::default();
        let entry = &mut |entry: Entry<'_>| entry.ids().for_each(|(about, id)| take(&mut all, about, id, entry.time));
        let whole = witness.each_before(end, entry).ok()?;
        each_behind(&opened, journal, end.to, with, &mut all, take).filter(|()| whole)?;
        Some(all)
    };
    // What a damaged witness has lost may have ended any of them.
    by_witness().or_else(|| {
        let mut all = T::default();
        each_behind(&opened, journal, 0, with, &mut all, take)?;
        Some(all)
    })
}

/// Takes the mentions in a journal from an offset on.
fn each_behind<T>(
    opened: &Opened,
    journal: &Journal,
    from: u64,
    with: &str,
    all: &mut T,
    take: &Mention<'_, T>,
) -> Option<()> {
    let Some(file) = &opened.file else { return Some(()) };
    if opened.len.checked_sub(from)? > MOST {
        return None;
    }
    let stretch = Stretch { from, ..Stretch::whole(opened.len) };
    let read = scan::scan_some(&opened.path, file, journal.shape, stretch, &may_have(with), &mut |item| {
        if let Item::Record(record) = item {
            event_ids(record.event, &mut |id| take(all, About::of(record.event), id, Stamp::of(&record)));
        }
        Ok(())
    });
    read.ok().map(drop)
}

/// Whether a text can stand in a line. An escape may stand for anything.
fn may_have(text: &str) -> impl Fn(&[u8]) -> bool {
    let finder = memchr::memmem::Finder::new(text).into_owned();
    move |line| finder.needle().is_empty() || finder.find(line).is_some() || memchr::memchr(b'\\', line).is_some()
}

/// The witness that stands for a journal, and how far it goes, where it is not too long to be read in passing.
fn standing(dir: &DataDir, journal: &Journal, opened: &Opened) -> Option<(Witness, End)> {
    let Found::Witness(witness) = witness::open(dir, journal) else { return None };
    let end = witness.last_block().ok()??;
    let stands = witness.standing(opened, end).ok()? == Standing::For;
    (stands && end.len <= WITNESS).then_some((witness, end))
}

/// Hands out every live record of a journal that is short enough to be read in passing, in the order of the file; `None`
/// where these are not all. An index that can be believed says which they are; without one, only a short journal is
/// replayed. `with`: those in whose texts this cannot stand are left out.
pub fn each_live(dir: &DataDir, journal: &Journal, with: &str, take: &mut dyn FnMut(&[u8])) -> Option<()> {
    each_of(dir, journal, with, &|row| row.live, take)
}

/// The same of what lies where the rows say that are `wanted`.
pub fn each_of(
    dir: &DataDir,
    journal: &Journal,
    with: &str,
    wanted: &dyn Fn(&Row) -> bool,
    take: &mut dyn FnMut(&[u8]),
) -> Option<()> {
    let may_have = may_have(with);
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
    let mut spans = Vec::new();
    live.each_row(&mut |_, row| spans.extend(wanted(&row).then(|| row.place.span()))).ok()?;
    spans.sort_unstable_by_key(|span| span.offset);
    let handed = opened.each(&spans, &mut |_, bytes| {
        if may_have(bytes) {
            take(bytes);
        }
        Ok(())
    });
    handed.ok()
}
