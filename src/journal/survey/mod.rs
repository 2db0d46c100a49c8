//! Survey: what a check reads, counted for the eye. One pass, one set of figures; nothing is kept and nothing written.
//!
//! It goes through [`check::read`], so that its figures are those of a check. Memory: some 50 bytes for each distinct id
//! beside what replay keeps, the places of records that the daemon cannot read, and constants. [`cells`] is the file as a
//! bar, [`growth`] its records over time, [`biggest`] the ids that take the most.

pub mod biggest;
pub mod cells;
pub mod growth;

use std::collections::HashSet;

use super::Journal;
use super::check::{self, Options, Read, Summary};
use super::compact;
use super::files::DataDir;
use super::finding::{Class, Finding, Severity};
use super::live::Live;
use super::parallel::Met;
use super::replay::Opened;
use super::scan::Bytes;
use crate::error::{Code, Error, Result};
use biggest::{Big, Biggest};
use cells::{Cell, Cells};
use growth::Growth;

/// How many findings of damage are kept to be named, and how many of each other severity.
const NAMED: usize = 100;
const NAMED_OTHERS: usize = 20;

/// How many ids of a finding are kept.
const IDS: usize = 20;

/// What a journal comes to, in numbers and pictures.
#[derive(Debug)]
pub struct Survey {
    /// What a check says of it.
    pub summary: Summary,
    /// Bytes of other versions' records.
    pub foreign_bytes: u64,
    /// What was found, by class, in the order of the manual.
    pub classes: Vec<Of>,
    /// The first findings: damage before the rest, each in the order in which it was met.
    pub named: Vec<Finding>,
    /// Records over time.
    pub growth: Growth,
    /// The file as a bar.
    pub cells: Vec<Cell>,
    /// The ids that take the most.
    pub biggest: Vec<Big>,
    /// How long the journal would be after a compaction, or what a compaction would be refused for.
    pub compacted: std::result::Result<u64, Why>,
}

/// Findings of one class.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Of {
    /// The class.
    pub class: Class,
    /// How many.
    pub places: u64,
    /// Their bytes.
    pub bytes: u64,
}

/// Why a compaction would be refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Why {
    /// The journal is damaged.
    Damage,
    /// It is not what was validated, or its witness cannot be read.
    Witness,
    /// A handoff is half accepted, or the ledger does not say.
    Handoff,
    /// A legal hold may cover what would be erased.
    Hold,
    /// The daemon cannot read the newest version of an id.
    Unread,
}

impl Why {
    /// One word for it.
    #[must_use]
    pub fn word(self) -> &'static str {
        match self {
            Why::Damage => "damage",
            Why::Witness => "witness",
            Why::Handoff => "handoff",
            Why::Hold => "hold",
            Why::Unread => "unread",
        }
    }
}

impl Survey {
    /// Bytes of records, live or not.
    #[must_use]
    pub fn record_bytes(&self) -> u64 {
        self.summary.live_bytes + self.summary.dead_bytes
    }

    /// Bytes that are in no record and no damage: line ends, white space, and what is being written.
    #[must_use]
    pub fn other_bytes(&self) -> u64 {
        let told = self.record_bytes() + self.summary.damaged_bytes + self.foreign_bytes;
        self.summary.seen.totals.bytes.saturating_sub(told)
    }

    /// How much of its records is dead, in ten thousandths; `None` where it has none.
    #[must_use]
    pub fn dead_share(&self) -> Option<f64> {
        let all = self.record_bytes();
        let parts = (u128::from(self.summary.dead_bytes) * 10_000).checked_div(u128::from(all))?;
        u32::try_from(parts).ok().map(|parts| f64::from(parts) / 10_000.0)
    }

    /// How many bytes a compaction would save; fewer than none where it would end a last line.
    #[must_use]
    pub fn saved(&self) -> Option<i128> {
        let after = self.compacted.ok()?;
        Some(i128::from(self.summary.seen.totals.bytes) - i128::from(after))
    }
}

/// What is counted while a journal is read.
struct Counts {
    classes: [(u64, u64); Class::ALL.len()],
    damage: Vec<Finding>,
    others: Vec<Finding>,
    growth: Growth,
    cells: Option<Cells>,
    biggest: Biggest,
    /// Where the records lie that are read here and not by the daemon.
    unread: HashSet<u64>,
}

impl Counts {
    fn finding(&mut self, finding: &Finding, bytes: Bytes) {
        let index = Class::ALL.iter().position(|class| *class == finding.class).unwrap_or_default();
        self.classes[index].0 += 1;
        self.classes[index].1 += finding.span.len;
        if finding.class.is_of_record() {
            self.unread.insert(finding.span.offset);
        }
        let damage = finding.class.severity() == Severity::Damage;
        if let Some(cells) = &mut self.cells {
            match (finding.class, bytes) {
                (Class::UnknownOp, _) => cells.foreign(finding.span),
                (_, Bytes::Unreadable) => cells.damaged(finding.span),
                _ => {}
            }
            if damage {
                cells.mark(finding.span);
            }
        }
        let same = |other: &&Finding| other.class.severity() == finding.class.severity();
        let room = match damage {
            true => self.damage.len() < NAMED,
            false => self.others.iter().filter(same).count() < NAMED_OTHERS,
        };
        if room {
            let ids = finding.ids.iter().take(IDS).cloned().collect();
            let kept = Finding { ids, possible: Vec::new(), ..finding.clone() };
            if damage { self.damage.push(kept) } else { self.others.push(kept) }
        }
    }
}

/// Surveys one journal. `cells`: in how many cells its bar is cut. `handoff`: a handoff keeps it from being compacted.
/// `progress` hears how many bytes are read.
pub fn survey(
    dir: &DataDir,
    journal: &Journal,
    (cells, now): (u64, &str),
    handoff: bool,
    progress: &mut dyn FnMut(u64, u64),
) -> Result<Survey> {
    let mut counts = Counts {
        classes: [(0, 0); Class::ALL.len()],
        damage: Vec::new(),
        others: Vec::new(),
        growth: Growth::default(),
        cells: None,
        biggest: Biggest::default(),
        unread: HashSet::new(),
    };
    let options = Options { full: false, accept: false, keep: false, now };
    let mut take = |opened: &Opened, met: &Met| {
        let bar = counts.cells.get_or_insert_with(|| Cells::new(opened.len, cells));
        match met {
            Met::Record { span, digest, time, .. } => {
                bar.record(*span);
                counts.growth.see(span.len, *time);
                digest.iter().for_each(|digest| counts.biggest.see(digest));
            }
            Met::Finding(finding, bytes) => counts.finding(finding, *bytes),
            Met::Lines(_) => {}
        }
        Ok(())
    };
    let Read { summary, mut live, opened } = check::read(dir, journal, options, &mut take, progress)?;
    let Counts { classes, damage, others, growth, cells: bar, biggest, unread } = counts;
    let mut bar = bar.unwrap_or_else(|| Cells::new(opened.len, cells));
    for (_, row) in live.changes() {
        row.filter(|row| row.live).iter().for_each(|row| bar.live(row.place.span()));
    }
    let biggest = biggest.read(journal, &opened, &mut live)?;
    let classes: Vec<Of> = Class::ALL
        .into_iter()
        .zip(classes)
        .filter(|(_, (places, _))| *places > 0)
        .map(|(class, (places, bytes))| Of { class, places, bytes })
        .collect();
    let foreign = classes.iter().find(|of| of.class == Class::UnknownOp).map_or((0, 0), |of| (of.places, of.bytes));
    let compacted = match handoff {
        true => Err(Why::Handoff),
        false => compacted(journal, &opened, &summary, live, foreign, &unread)?,
    };
    let named = [damage, others].concat();
    let (foreign_bytes, cells) = (foreign.1, bar.cells());
    let growth = growth.ended();
    Ok(Survey { summary, foreign_bytes, classes, named, growth, cells, biggest, compacted })
}

/// How long the journal would be after a compaction. Where the last record wins, the pass has shown it; else what is
/// left is looked at once more. `foreign`: how many records of other versions there are, and their bytes.
fn compacted(
    journal: &Journal,
    opened: &Opened,
    summary: &Summary,
    live: Live,
    foreign: (u64, u64),
    unread: &HashSet<u64>,
) -> Result<std::result::Result<u64, Why>> {
    if summary.witness.waits() {
        return Ok(Err(Why::Witness));
    }
    if summary.seen.damage > 0 {
        return Ok(Err(Why::Damage));
    }
    if journal.compacts.is_none() && unread.is_empty() {
        // Each record that is left has a line end.
        return Ok(Ok(summary.live_bytes + summary.live + foreign.1 + foreign.0));
    }
    match compact::measure(opened, journal, live, unread) {
        Ok(compaction) => Ok(Ok(compaction.after_bytes)),
        Err(Error { code: Code::RefusedHold, .. }) => Ok(Err(Why::Hold)),
        Err(Error { code: Code::RefusedDamage, .. }) => Ok(Err(Why::Unread)),
        Err(error) => Err(error),
    }
}
