//! The live records of a journal in which the last record of an id wins, as one verb sees them: looked up in the index
//! where there is one to believe, else replayed from the whole journal.

use std::io;
use std::time::Duration;

use super::append::{self, Appended};
use super::files::DataDir;
use super::index::{self, Indexed};
use super::live::LastWins;
use super::lock::Lock;
use super::parallel::Met;
use super::read::{self, Reading};
use super::replay::{self, Opened, Seen};
use super::scan::{Item, Stretch};
use super::split::event_id;
use super::witness::{self, Builder, Found};
use super::{Journal, Replay, Span};
use crate::error::{Code, Error, Result};

/// The live records of a journal.
#[derive(Debug)]
pub struct Table {
    journal: &'static Journal,
    dir: DataDir,
    /// The journal.
    pub opened: Opened,
    /// What was met in it.
    pub seen: Seen,
    live: Live,
    /// The beginnings of a witness, where there is none.
    witness: Option<Builder>,
}

/// Where live records are known from.
#[derive(Debug)]
enum Live {
    Replayed(LastWins),
    Indexed(Box<Indexed>),
}

impl Table {
    /// Opens a journal for a reader, who holds no lock.
    pub fn open(dir: &DataDir, journal: &'static Journal) -> Result<Table> {
        Table::from(dir, journal, replay::open(dir, journal)?)
    }

    /// Takes the lock and opens a journal for a verb that decides by what is there. The long reading is done before the
    /// lock is taken, so that behind it only what others have written meanwhile is left to read.
    pub fn lock(dir: &DataDir, journal: &'static Journal, timeout: Duration) -> Result<(Lock, Table)> {
        let before = Table::open(dir, journal)?;
        let lock = Lock::take(dir, timeout)?;
        let opened = replay::open_locked(dir, journal, &lock)?;
        let stretch = match &before.live {
            Live::Indexed(_) => None,
            Live::Replayed(_) => opened.grown_from(&before.opened)?,
        };
        let table = match stretch {
            Some(stretch) => before.grown(opened, stretch)?,
            None => Table::from(dir, journal, opened)?,
        };
        Ok((lock, table))
    }

    fn from(dir: &DataDir, journal: &'static Journal, opened: Opened) -> Result<Table> {
        let dir = dir.clone();
        if let Some((indexed, seen)) = Indexed::open(&dir, journal, &opened)? {
            return Ok(Table { journal, dir, opened, seen, live: Live::Indexed(Box::new(indexed)), witness: None });
        }
        let found = witness::open(&dir, journal);
        // In passing, a long journal that nothing vouches for gets a witness.
        let begins = matches!(found, Found::Nothing) && opened.len >= index::WORTH_IT;
        let mut witness = begins.then(|| Builder::new(&dir, journal, 0, 0));
        let mut live = LastWins::default();
        let mut seen = opened.replay(journal, &mut live, begins, &mut |met| {
            if let (Met::Lines(lines), Some(witness)) = (met, &mut witness) {
                witness.take(lines);
            }
            Ok(())
        })?;
        seen.glance(&dir, journal, &opened)?;
        Ok(Table { journal, dir, opened, seen, live: Live::Replayed(live), witness })
    }

    /// What was replayed, and what has come since.
    fn grown(mut self, opened: Opened, mut stretch: Stretch) -> Result<Table> {
        stretch.lines_before = self.seen.totals.lines;
        if let Live::Replayed(live) = &mut self.live {
            let more = opened.scan_items(self.journal, stretch, &mut |item| {
                if let Item::Record(record) = item {
                    live.record(record);
                }
                Ok(())
            })?;
            self.seen.add(more);
        }
        Ok(Table { opened, ..self })
    }

    /// Keeps what was read for the next command, if the lock is free: nothing depends on it. Says so where it cannot.
    pub fn keep(&mut self) -> Option<&'static str> {
        let worth_it = match &self.live {
            Live::Replayed(_) => self.opened.len >= index::WORTH_IT,
            Live::Indexed(indexed) => indexed.behind(&self.opened) >= index::WORTH_IT,
        };
        if !worth_it {
            return None;
        }
        let Some(lock) = Lock::try_take(&self.dir) else {
            let folder = index::folder(&self.dir);
            return (!self.dir.can_make(&folder))
                .then_some("no index can be kept here, so every command reads the whole journal");
        };
        match &self.live {
            Live::Replayed(live) => {
                index::build(&self.dir, self.journal, &self.opened, live, &self.seen, &lock);
            }
            Live::Indexed(_) => index::catch_up(&self.dir, self.journal, &self.opened, &lock),
        }
        self.keep_witness(&lock);
        witness::catch_up(&self.dir, self.journal, &self.opened, &lock);
        None
    }

    /// Keeps the beginnings of a witness. One that cannot be kept is no worse than none.
    fn keep_witness(&mut self, lock: &Lock) {
        if let Some(builder) = self.witness.take().filter(Builder::any)
            && witness::still(&self.dir, self.journal, &Found::Nothing)
        {
            let _ = builder.replace(&self.opened, lock);
        }
    }

    /// The record of a live id, and its place.
    pub fn get(&mut self, id: &str) -> Result<Option<(Vec<u8>, Span)>> {
        if let Live::Indexed(indexed) = &self.live {
            // What an index says is held against the journal.
            match indexed.get(id) {
                Ok(None) => return Ok(None),
                Ok(Some(span)) => {
                    if let Ok(line) = self.opened.read(span)
                        && self.is_of(&line, id)
                    {
                        return Ok(Some((line, span)));
                    }
                }
                Err(_) => {}
            }
            self.fall_back()?;
        }
        let Live::Replayed(live) = &self.live else { return Ok(None) };
        let Some(span) = live.get(id) else { return Ok(None) };
        Ok(Some((self.opened.read(span)?, span)))
    }

    /// Whether a line is a record that makes an id live.
    fn is_of(&self, line: &[u8], id: &str) -> bool {
        let Reading::Event { event, .. } = read::read(self.journal.shape, line) else { return false };
        event.op.name != "delete" && event_id(&event).is_some_and(|own| own == id)
    }

    /// The live records' places, in the order of the file.
    pub fn spans(&mut self) -> Result<Vec<Span>> {
        if let Ok(spans) = self.try_spans() {
            return Ok(spans);
        }
        self.fall_back()?;
        Ok(self.try_spans().unwrap_or_default())
    }

    fn try_spans(&self) -> io::Result<Vec<Span>> {
        match &self.live {
            Live::Replayed(live) => Ok(live.spans()),
            Live::Indexed(live) => live.spans(),
        }
    }

    /// How many live records there are at the most.
    #[must_use]
    pub fn at_most(&self) -> u64 {
        match &self.live {
            Live::Replayed(live) => live.live(),
            Live::Indexed(live) => live.at_most(),
        }
    }

    /// The index was wrong: it is thrown away, and the journal is read whole.
    fn fall_back(&mut self) -> Result<()> {
        self.drop_index();
        let mut live = LastWins::default();
        self.seen = self.opened.replay(self.journal, &mut live, false, &mut |_| Ok(()))?;
        self.live = Live::Replayed(live);
        Ok(())
    }

    fn drop_index(&self) {
        if let (Live::Indexed(_), Some(lock)) = (&self.live, Lock::try_take(&self.dir)) {
            index::remove(&self.dir, self.journal, &lock);
        }
    }

    /// A record is not what it was a moment ago: an index that says otherwise is thrown away.
    #[must_use]
    pub fn distrust(&self) -> Error {
        self.drop_index();
        let message = format!("{} was rewritten while it was read; run the command again", self.journal.file);
        Error::new(Code::BusyChanging, message)
    }

    /// Appends, and brings index and witness up to date. What happens to these does not concern the records.
    pub fn append(mut self, lock: &Lock, lines: &[Vec<u8>], sync: bool) -> Result<Appended> {
        let (dir, journal) = (self.dir.clone(), self.journal);
        let appended = append::append(&dir, journal, lock, lines, sync)?;
        self.keep_witness(lock);
        let Ok(opened) = replay::open_locked(&dir, journal, lock) else { return Ok(appended) };
        witness::catch_up(&dir, journal, &opened, lock);
        match &self.live {
            Live::Indexed(_) => index::catch_up(&dir, journal, &opened, lock),
            Live::Replayed(_) if opened.len >= index::WORTH_IT => {
                if let Ok(Some(stretch)) = opened.grown_from(&self.opened)
                    && let Ok(Table { opened, seen, live: Live::Replayed(live), .. }) = self.grown(opened, stretch)
                {
                    index::build(&dir, journal, &opened, &live, &seen, lock);
                }
            }
            Live::Replayed(_) => {}
        }
        Ok(appended)
    }
}
