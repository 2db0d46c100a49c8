//! The live records of a journal as one verb sees them: looked up in the index where there is one to believe, else
//! replayed from the whole journal.

use std::thread::sleep;
use std::time::Duration;

use super::append::{self, Appended};
use super::audit;
use super::files::DataDir;
use super::index::{self, Index};
use super::live::{IdKey, Live, Row};
use super::lock::Lock;
use super::parallel::Met;
use super::replay::{self, Opened, Seen};
use super::scan::Stretch;
use super::witness::{self, Builder, Found, Standing};
use super::{Finding, Journal, Span};
use crate::error::{Code, Error, Result};

/// How often and how long a reader looks again at an index that a writer is at.
const LOOKS: u32 = 20;
const LOOK_AGAIN: Duration = Duration::from_millis(1);

/// The live records of a journal.
#[derive(Debug)]
pub struct Table {
    journal: &'static Journal,
    dir: DataDir,
    /// The journal.
    pub opened: Opened,
    /// What was met in it.
    pub seen: Seen,
    /// What its witness has to say at a glance.
    pub against: Option<Finding>,
    /// What its records add up to.
    pub live: Live,
    /// The beginnings of a witness, where there is none: the entries of all lines.
    witness: Option<Builder>,
    /// Whether it was read again because the index was wrong.
    reread: bool,
}

impl Table {
    /// Opens a journal for a reader, who holds no lock. `keeps`: what is read is kept afterwards, by [`Table::keep`].
    pub fn open(dir: &DataDir, journal: &'static Journal, keeps: bool) -> Result<Table> {
        Table::from(dir, journal, replay::open(dir, journal)?, keeps, None)
    }

    /// Takes the lock and opens a journal for a verb that decides by what is there. The long reading is done before the
    /// lock is taken, so that behind it only what others have written meanwhile is left to read.
    pub fn lock(dir: &DataDir, journal: &'static Journal, timeout: Duration) -> Result<(Lock, Table)> {
        let before = Table::open(dir, journal, true)?;
        let lock = Lock::take(dir, timeout)?;
        if before.opened.is_unchanged() {
            return Ok((lock, before));
        }
        let opened = replay::open_locked(dir, journal, &lock)?;
        let stretch = match before.live.base() {
            Some(_) => None,
            None => opened.grown_from(&before.opened)?,
        };
        let table = match stretch {
            Some(stretch) => before.grown(opened, stretch)?,
            None => Table::from(dir, journal, opened, true, Some(&lock))?,
        };
        Ok((lock, table))
    }

    /// Opens one more journal for the holder of the lock.
    pub fn behind(dir: &DataDir, journal: &'static Journal, lock: &Lock) -> Result<Table> {
        Table::from(dir, journal, replay::open_locked(dir, journal, lock)?, true, Some(lock))
    }

    fn from(
        dir: &DataDir,
        journal: &'static Journal,
        mut opened: Opened,
        keeps: bool,
        lock: Option<&Lock>,
    ) -> Result<Table> {
        let mut dir = dir.clone();
        for _ in 0..LOOKS {
            match Index::open(&dir, journal, &opened, false) {
                // A writer has brought it further than this reader looked.
                Some(index) if index.is_ahead(&opened) => opened = replay::open(&dir, journal)?,
                Some(index) => {
                    let (rest, seen) = (index.rest(&opened), index.seen());
                    let is_whole = rest.from >= rest.to;
                    let live = Live::over(journal, index);
                    let mut table =
                        Table { journal, dir, opened, seen, against: None, live, witness: None, reread: false };
                    table.take(rest)?;
                    if table.live.check().is_err() {
                        table.fall_back()?;
                    }
                    // What was added up on top of it holds only if it is still the same.
                    if is_whole || table.is_still() {
                        table.against = audit::glance(&table.dir, journal, &table.opened, Some(&mut table.live));
                        return Ok(table);
                    }
                    (dir, opened) = (table.dir, table.opened);
                }
                None if lock.is_none() && Index::is_changing(&dir, journal) && Lock::held(&dir) => sleep(LOOK_AGAIN),
                None => break,
            }
        }
        // In passing, a long journal that nothing vouches for gets a witness.
        let begins = keeps && opened.len >= index::WORTH_IT && witness::still(&dir, journal, &Found::Nothing);
        let mut witness = begins.then(|| Builder::new(&dir, journal, &opened, (0, 0)));
        let mut live = Live::new(journal);
        let seen = opened.replay(journal, &mut live, begins, &mut |met| {
            if let (Met::Lines(lines), Some(witness)) = (met, &mut witness) {
                witness.push_all(lines);
            }
            Ok(())
        })?;
        let against = audit::glance(&dir, journal, &opened, Some(&mut live));
        Ok(Table { journal, dir, opened, seen, against, live, witness, reread: false })
    }

    /// What was replayed, and what has come since.
    fn grown(mut self, opened: Opened, mut stretch: Stretch) -> Result<Table> {
        stretch.lines_before = self.seen.totals.lines;
        self.opened = opened;
        self.take(stretch)?;
        Ok(self)
    }

    /// Takes a further stretch of the journal.
    fn take(&mut self, stretch: Stretch) -> Result<()> {
        let more = self.opened.add_to(self.journal, stretch, &mut self.live)?;
        self.seen.add(more);
        Ok(())
    }

    /// Whether the index that it looks into is still as it was: then what it counts is true of one moment.
    #[must_use]
    pub fn is_still(&self) -> bool {
        self.live.base().is_none_or(Index::is_still)
    }

    /// Keeps what was read for the next command, if the lock is free: nothing depends on it. Says so where it cannot.
    pub fn keep(&mut self) -> Option<&'static str> {
        let unkept = match self.live.base() {
            None => self.opened.len,
            Some(index) => index.behind(&self.opened),
        };
        if unkept < index::WORTH_IT {
            return None;
        }
        let Some(lock) = Lock::try_take(&self.dir) else {
            let folder = index::folder(&self.dir);
            return (!self.dir.can_make(&folder))
                .then_some("no index can be kept here, so every command reads the whole journal");
        };
        if !self.opened.is_there() {
            return None;
        }
        match self.live.base() {
            None => drop(index::build(&self.dir, self.journal, &self.opened, &self.live, &self.seen, &lock)),
            Some(_) => index::catch_up(&self.dir, self.journal, &self.opened, &lock),
        }
        self.keep_witness(&lock, false);
        witness::catch_up(&self.dir, self.journal, &self.opened, &lock, false);
        None
    }

    /// Keeps the beginnings of a witness. One that cannot be kept is no worse than none. `synced`: the journal is on disk.
    fn keep_witness(&mut self, lock: &Lock, synced: bool) {
        if let Some(builder) = self.witness.take().filter(|builder| !builder.is_empty())
            && witness::still(&self.dir, self.journal, &Found::Nothing)
        {
            let _ = if synced { Ok(()) } else { builder.settle() }.and_then(|()| builder.replace(lock));
        }
    }

    /// The record of a live id, and its place.
    pub fn get(&mut self, id: &str) -> Result<Option<(Vec<u8>, Span)>> {
        let known = self.known(id)?;
        Ok(known.filter(|(row, _)| row.live).map(|(row, bytes)| (bytes, row.place.span())))
    }

    /// What is kept of an id, live or not, and its record.
    pub fn known(&mut self, id: &str) -> Result<Option<(Row, Vec<u8>)>> {
        let key = IdKey::of(id);
        if self.live.base().is_some() {
            // What an index says is held against the journal.
            let row = self.live.row(key);
            match (row, self.live.check()) {
                (None, Ok(())) => return Ok(None),
                (Some(row), Ok(())) => {
                    if let Ok(bytes) = self.opened.read(row.place.span())
                        && (self.journal.id_of)(&bytes).is_some_and(|own| own == id)
                    {
                        return Ok(Some((row, bytes)));
                    }
                }
                (_, Err(_)) => {}
            }
            self.fall_back()?;
        }
        let Some(row) = self.live.row(key) else { return Ok(None) };
        Ok(Some((row, self.opened.read(row.place.span())?)))
    }

    /// What is looked up in the rows; where the index cannot be read, the whole journal is, and it is looked up again.
    pub fn look<T>(&mut self, look: impl Fn(&mut Live) -> T) -> Result<T> {
        let found = look(&mut self.live);
        if self.live.check().is_ok() {
            return Ok(found);
        }
        self.fall_back()?;
        Ok(look(&mut self.live))
    }

    /// What `pick` makes of the rows, in no order.
    pub fn pick<T>(&mut self, pick: impl Fn(IdKey, Row) -> Option<T>) -> Result<Vec<T>> {
        let mut picked = Vec::new();
        let each = |live: &Live, picked: &mut Vec<T>| {
            picked.clear();
            live.each_row(&mut |key, row| picked.extend(pick(key, row)))
        };
        if each(&self.live, &mut picked).is_err() {
            self.fall_back()?;
            let _ = each(&self.live, &mut picked);
        }
        Ok(picked)
    }

    /// Every row that stands for a record, live or not, in the order of the file.
    pub fn records(&mut self) -> Result<Vec<(IdKey, Row)>> {
        let mut rows = self.pick(|key, row| (!row.beside).then_some((key, row)))?;
        rows.sort_unstable_by_key(|(_, row)| row.place.span().offset);
        Ok(rows)
    }

    /// The live records' places, in the order of the file.
    pub fn spans(&mut self) -> Result<Vec<Span>> {
        if let Ok(spans) = self.live.spans() {
            return Ok(spans);
        }
        self.fall_back()?;
        Ok(self.live.spans().unwrap_or_default())
    }

    /// The index was wrong: it is thrown away, and the journal is read whole.
    fn fall_back(&mut self) -> Result<()> {
        self.drop_index();
        let mut live = Live::new(self.journal);
        self.seen = self.opened.replay(self.journal, &mut live, false, &mut |_| Ok(()))?;
        self.live = live;
        Ok(())
    }

    /// Goes on without an index that says what is not so; `false`: there was none, and the journal itself says so.
    pub fn without_index(&mut self) -> Result<bool> {
        let had = self.live.base().is_some();
        if had {
            self.fall_back()?;
        }
        Ok(had)
    }

    /// Throws the index away: it was found to be wrong.
    pub fn drop_index(&self) {
        if let (Some(_), Some(lock)) = (self.live.base(), Lock::try_take(&self.dir)) {
            index::remove(&self.dir, self.journal, &lock);
        }
    }

    /// Reads the whole journal, once, because a record was not what the index said. Says whether it did so now. An error
    /// where that explains nothing: then somebody changes the journal at this moment.
    pub fn reread(&mut self) -> Result<bool> {
        let now = !self.reread && self.live.base().is_some();
        if now {
            self.fall_back()?;
            self.reread = true;
        }
        if self.reread && self.seen.damage > 0 { Ok(now) } else { Err(self.distrust()) }
    }

    /// Whether anything was met that may hide a record: then a "no" may be wrong.
    #[must_use]
    pub fn is_damaged(&self) -> bool {
        self.seen.damage > 0 || self.against.is_some()
    }

    /// The last line of a journal of our own, where it is a write that was never finished: it has no end, nothing is wrong
    /// in front of it, and nothing speaks for it having been whole. Nobody was told that it is there.
    #[must_use]
    pub fn unfinished(&self) -> Option<Span> {
        let start = self.seen.first.first()?.line_start;
        // A crash may have left NUL bytes in it as well.
        let is_all = self.seen.damage == self.seen.first.len() as u64;
        let is_tail = is_all && self.seen.first.iter().all(|finding| finding.line_start == start);
        let is_open = is_tail && self.opened.ends_open().unwrap_or(false);
        if !self.journal.is_ours() || !is_open || self.against.is_some() {
            return None;
        }
        let goes_on = match witness::open(&self.dir, self.journal) {
            Found::Nothing => start == 0,
            Found::Unreadable(_) => false,
            // A record that was cut is one that it knows. What was begun and no more, it does not know, or as that.
            Found::Witness(witness) => witness.end().is_ok_and(|end| {
                let standing = audit::standing(&self.dir, self.journal, &self.opened, (&witness, end));
                standing.is_ok_and(|standing| standing == Standing::For)
            }),
        };
        goes_on.then_some(Span { offset: start, len: self.opened.len - start })
    }

    /// A record is not what it was a moment ago: an index that says otherwise is thrown away.
    #[must_use]
    pub fn distrust(&self) -> Error {
        self.drop_index();
        rewritten(self.journal)
    }

    /// Appends, and brings index and witness up to date. What happens to these does not concern the records.
    pub fn append(mut self, lock: &Lock, lines: &[Vec<u8>], sync: bool) -> Result<Appended> {
        let (dir, journal) = (self.dir.clone(), self.journal);
        if journal.is_ours() {
            // What a killed writer has not kept: it tells a write that is not finished from a record that was cut.
            witness::catch_up(&dir, journal, &self.opened, lock, false);
        }
        let mut appended = append::append(&dir, journal, lock, lines, sync)?;
        self.keep_witness(lock, true);
        let Ok(mut opened) = self.opened.again(&dir, journal, lock) else { return Ok(appended) };
        // Who does not wait for the disk does not wait for it here either.
        witness::catch_up(&dir, journal, &opened, lock, true);
        if self.live.base().is_some() {
            index::catch_up(&dir, journal, &opened, lock);
        } else if opened.len >= index::WORTH_IT
            && let Ok(Some(stretch)) = opened.grown_from(&self.opened)
        {
            let Ok(grown) = self.grown(opened, stretch) else { return Ok(appended) };
            index::build(&dir, journal, &grown.opened, &grown.live, &grown.seen, lock);
            opened = grown.opened;
        }
        appended.now = Some(opened);
        Ok(appended)
    }
}

/// A record is not what it was a moment ago.
#[must_use]
pub fn rewritten(journal: &Journal) -> Error {
    let message = format!("{} was rewritten while it was read; run the command again", journal.file);
    Error::new(Code::BusyChanging, message)
}
