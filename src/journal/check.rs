//! Check: one pass over a journal that leaves nothing out and changes nothing in it. What it has read is kept beside it.

use std::collections::BTreeSet;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::time::Duration;

use super::Journal;
use super::audit::{self, Verdict};
use super::files::{self, DataDir};
use super::finding::{Finding, Reaction, Severity};
use super::index::{self, Index};
use super::live::Live;
use super::lock::Lock;
use super::parallel::Met;
use super::quarantine::{self, Held};
use super::replace;
use super::replay::{self, Opened, Seen};
use super::scan::Bytes;
use super::segments;
use super::stamp::Stamp;
use super::witness::{self, Found};
use crate::error::Result;

/// How many lines with possible records are named.
const POSSIBLE_LINES: usize = 64;

/// After how many bytes progress is told.
const PROGRESS: u64 = 16 << 20;

/// How long the lock is waited for to keep what was read.
const PATIENCE: Duration = Duration::from_secs(1);

/// How many ids that are gone a note names.
const GONE: usize = 20;

/// What a journal comes to.
#[derive(Debug)]
pub struct Summary {
    /// The journal's name.
    pub journal: &'static str,
    /// Whether the journal is our own: the daemon never reads it.
    pub ours: bool,
    /// Its path.
    pub path: std::path::PathBuf,
    /// Whether it exists.
    pub exists: bool,
    /// Numbers and the first findings.
    pub seen: Seen,
    /// Live ids, in every scope and state.
    pub live: u64,
    /// Bytes of live records.
    pub live_bytes: u64,
    /// Bytes of records that are no longer live.
    pub dead_bytes: u64,
    /// Bytes that are no record.
    pub damaged_bytes: u64,
    /// What the daemon does with the findings, each once.
    pub daemon: BTreeSet<Reaction>,
    /// The first lines with what may be records.
    pub possible: Vec<u64>,
    /// What lies in quarantine; `None` where it cannot be looked into.
    pub held: Option<Held>,
    /// The file's mode, where others than the owner may read or write it.
    pub loose_mode: Option<u32>,
    /// How it stands to its witness.
    pub witness: Witnessed,
    /// What is odd and harmless: what the daemon reads and then skips by a rule of its own, and clocks.
    pub notes: Vec<String>,
}

/// The times of records, which nothing depends on: the order of the file decides.
#[derive(Default)]
struct Clock {
    last: Option<Stamp>,
    back: u64,
    ahead: u64,
}

impl Clock {
    fn see(&mut self, time: Option<Stamp>, now: Option<Stamp>) {
        let Some(time) = time else { return };
        self.back += u64::from(Some(time) < self.last);
        self.ahead += u64::from(now.is_some_and(|now| time > now));
        self.last = Some(time);
    }

    fn notes(&self) -> Vec<String> {
        let mut notes = Vec::new();
        if self.back > 0 {
            notes.push(format!(
                "{} records are older than the one in front of them: a clock went back; the order of the file decides",
                self.back
            ));
        }
        if self.ahead > 0 {
            notes.push(format!("{} records lie in the future", self.ahead));
        }
        notes
    }
}

/// How a journal is checked.
#[derive(Clone, Copy, Debug)]
pub struct Options<'o> {
    /// Read every byte, also where the witness knows it.
    pub full: bool,
    /// Take the journal as it is as the new baseline.
    pub accept: bool,
    /// Keep what was read: witness and index.
    pub keep: bool,
    /// Now, as an RFC 3339 time in UTC.
    pub now: &'o str,
}

/// What one pass has left: what the journal comes to, and what its records add up to.
#[derive(Debug)]
pub struct Read {
    /// What the journal comes to.
    pub summary: Summary,
    /// What its records add up to.
    pub live: Live,
    /// The journal as it was read.
    pub opened: Opened,
}

/// Checks one journal. Every finding goes to `finding` as it is met; `progress` hears how many bytes are read.
pub fn check(
    dir: &DataDir,
    journal: &Journal,
    options: Options<'_>,
    finding: &mut dyn FnMut(&Finding) -> Result<()>,
    progress: &mut dyn FnMut(u64, u64),
) -> Result<Summary> {
    let mut take = |_: &Opened, met: &Met| match met {
        Met::Finding(found, _) => finding(found),
        Met::Record { .. } | Met::Lines(_) => Ok(()),
    };
    Ok(read(dir, journal, options, &mut take, progress)?.summary)
}

/// The same pass for whoever wants more of it: everything that is met goes to `take`, in the order in which it was met.
pub fn read(
    dir: &DataDir,
    journal: &Journal,
    options: Options<'_>,
    take: &mut dyn FnMut(&Opened, &Met) -> Result<()>,
    progress: &mut dyn FnMut(u64, u64),
) -> Result<Read> {
    // The witness first: a journal that is opened later has at least what it knows.
    let found = witness::open(dir, journal);
    let opened = replay::open(dir, journal)?;
    let mut live = Live::new(journal);
    let (mut record_bytes, mut damaged_bytes) = (0, 0);
    let mut possible = Vec::new();
    let mut daemon = BTreeSet::new();
    let mut clock = Clock::default();
    let now = Stamp::parse(options.now.as_bytes());
    let how = audit::Options { full: options.full, afresh: options.accept, keep: options.keep };
    let mut read = 0;
    let (mut seen, outcome) = audit::read(dir, journal, &opened, &found, how, &mut live, &mut |met| {
        match met {
            Met::Record { span, time, .. } => {
                record_bytes += span.len;
                clock.see(*time, now);
                if span.offset - read >= PROGRESS {
                    read = span.offset;
                    progress(read, opened.len);
                }
            }
            Met::Finding(found, bytes) => {
                if *bytes == Bytes::Unreadable {
                    damaged_bytes += found.span.len;
                }
                if !found.possible.is_empty() && possible.len() < POSSIBLE_LINES {
                    possible.push(found.line);
                }
                daemon.insert(found.reaction);
            }
            Met::Lines(_) => {}
        }
        take(&opened, met)
    })?;
    let mode = match &opened.file {
        Some(file) => Some(files::metadata(file, &opened.path)?.permissions().mode() & 0o777),
        None => None,
    };
    let mut notes = [live.notes(), clock.notes()].concat();
    let witness = Witnessed {
        known: outcome.known,
        against: outcome.told.damage,
        accepted: options.accept,
        verdict: outcome.verdict.clone(),
    };
    notes.extend(witness.note(&outcome, dir, journal));
    // An index never remembers what a witness has found: that may be mended.
    let told = outcome.told.clone();
    if options.keep {
        notes.extend(keep(dir, journal, &opened, &found, outcome, &mut live, &seen, options)?);
    }
    // What is accepted is told once more and counts no longer.
    if !options.accept {
        seen.add(Seen { in_progress: seen.in_progress, ..told });
    }
    let summary = Summary {
        journal: journal.name,
        ours: journal.is_ours(),
        exists: opened.file.is_some(),
        path: opened.path.clone(),
        seen,
        live: live.live(),
        live_bytes: live.live_bytes(),
        dead_bytes: record_bytes.saturating_sub(live.live_bytes()),
        damaged_bytes,
        daemon,
        possible,
        held: quarantine::held(dir, journal),
        loose_mode: mode.filter(|mode| mode & 0o077 != 0),
        witness,
        notes,
    };
    Ok(Read { summary, live, opened })
}

/// Keeps what was read for the next command: the witness, and the index of a long journal. What cannot be kept is
/// said, and is an error only where the operator asked for it.
#[expect(clippy::too_many_arguments, reason = "it takes apart what a check has put together")]
fn keep(
    dir: &DataDir,
    journal: &Journal,
    opened: &Opened,
    found: &Found,
    outcome: audit::Outcome,
    live: &mut Live,
    seen: &Seen,
    options: Options<'_>,
) -> Result<Vec<String>> {
    let long = opened.len >= index::WORTH_IT;
    let kept = Index::open(dir, journal, opened, false);
    let wrong = match &kept {
        Some(index) if options.full => index.differs(opened, live),
        _ => 0,
    };
    // One that was made of other bytes is not believed, whatever its own header says.
    let against = outcome.verdict == Verdict::Against;
    let doubtful = against && kept.is_some();
    let behind = kept.as_ref().is_some_and(|index| index.behind(opened) > 0);
    let wants_index = long && (kept.is_none() || wrong > 0 || doubtful);
    if !outcome.is_to_be_kept(options.accept) && !wants_index && !behind {
        return Ok(Vec::new());
    }
    let mut notes = Vec::new();
    if wrong > 0 {
        notes.push(format!("the index was wrong about {wrong} ids and is made anew"));
    }
    // Without a folder for it nothing is kept; a lock that others hold is not waited for long.
    if !options.accept && !dir.can_make(&index::folder(dir)) {
        notes.push("nothing can be kept here: every check reads every byte, and nothing vouches for them".to_owned());
        return Ok(notes);
    }
    let lock = match Lock::take(dir, PATIENCE) {
        Ok(lock) => lock,
        Err(error) if options.accept => return Err(error),
        Err(_) => return Ok(notes),
    };
    if !options.accept && opened.file.is_some() && !opened.is_there() {
        return Ok(notes);
    }
    match outcome.keep(dir, journal, opened, found, options.accept, &lock) {
        Err(error) if options.accept => return Err(error),
        Err(error) => notes.push(error.message),
        Ok(()) => {}
    }
    if wrong > 0 || against {
        segments::remove(dir, journal, &lock);
    }
    if wants_index {
        index::remove(dir, journal, &lock);
        index::build(dir, journal, opened, live, seen, &lock);
    } else if behind && let Ok(now) = replay::open_locked(dir, journal, &lock) {
        index::catch_up(dir, journal, &now, &lock);
    }
    Ok(notes)
}

/// How a journal stands to its witness.
#[derive(Debug)]
pub struct Witnessed {
    /// Bytes that were as the witness knows them.
    pub known: u64,
    /// Findings of the witness.
    pub against: u64,
    /// Whether the journal as it is was taken as the new baseline.
    pub accepted: bool,
    verdict: Verdict,
}

impl Witnessed {
    /// One word for it.
    #[must_use]
    pub fn word(&self) -> &'static str {
        match (&self.verdict, self.accepted) {
            (_, true) => "accepted",
            (Verdict::New, _) => "new",
            (Verdict::Unreadable(_), _) => "unreadable",
            (Verdict::Intact, _) => "intact",
            (Verdict::Against, _) => "against",
            (Verdict::Replaced { .. }, _) => "replaced",
        }
    }

    /// Whether the operator has to decide before the witness goes on.
    #[must_use]
    pub fn waits(&self) -> bool {
        self.verdict.waits() && !self.accepted
    }

    /// The first ids that are gone with a file that was replaced.
    #[must_use]
    pub fn gone(&self) -> &[String] {
        if let Verdict::Replaced { gone, .. } = &self.verdict { gone } else { &[] }
    }

    /// Whether anything is lost, as far as the witness knows.
    #[must_use]
    pub fn lost(&self) -> bool {
        self.waits() && !matches!(self.verdict, Verdict::Unreadable(_))
    }

    fn note(&self, outcome: &audit::Outcome, dir: &DataDir, journal: &Journal) -> Option<String> {
        let path = witness::path(dir, journal);
        match &self.verdict {
            // Where there is no journal, nobody misses one of its witness.
            Verdict::Unreadable(unread) if unread.is_hidden() && !dir.has(journal).unwrap_or(true) => None,
            Verdict::Unreadable(unread) => {
                Some(format!("the witness {} cannot be read: {}", path.display(), unread.why))
            }
            Verdict::Replaced { gone_ids: 0, .. } => Some(
                "the file was replaced since it was last checked, by a compaction or a copy; every id that was live is \
                 still there"
                    .to_owned(),
            ),
            Verdict::Replaced { gone, gone_ids, certain } => {
                let shown: Vec<String> = gone.iter().take(GONE).map(|id| format!("{id:?}")).collect();
                let more = gone_ids - shown.len() as u64;
                let more = if more > 0 { format!(" and {more} more") } else { String::new() };
                let what = match certain {
                    true => "deleted before a compaction, or lost with an older copy",
                    false => "deleted or replaced by the daemon before its compaction, or lost with an older copy",
                };
                Some(format!(
                    "the file was replaced since it was last checked, and {gone_ids} of the ids that it had are not in \
                     it any more ({what}): {}{more}",
                    shown.join(", ")
                ))
            }
            Verdict::Intact if outcome.unfinished > 0 && !Lock::held(dir) => Some(format!(
                "the last {} bytes of the witness {} were never finished: it vouches for the first {} bytes",
                outcome.unfinished,
                path.display(),
                outcome.known
            )),
            _ => None,
        }
    }
}

impl Summary {
    /// Whether anything is wrong that counts: damage, or under `for_daemon` whatever the daemon loses.
    #[must_use]
    pub fn bad(&self, for_daemon: bool) -> bool {
        self.seen.damage > 0 || (for_daemon && self.odd() > 0)
    }

    /// How many places are read or passed through here, and the daemon loses them or stumbles.
    #[must_use]
    pub fn odd(&self) -> u64 {
        if self.ours { 0 } else { self.seen.daemon + self.seen.foreign }
    }

    /// Findings that count and that only the witness has.
    #[must_use]
    pub fn against(&self) -> u64 {
        if self.witness.accepted { 0 } else { self.witness.against }
    }

    /// The severest kind of finding there is.
    #[must_use]
    pub fn severity(&self) -> Option<Severity> {
        match (self.seen.damage, self.seen.daemon, self.seen.foreign) {
            (1.., _, _) => Some(Severity::Damage),
            (_, 1.., _) => Some(Severity::Daemon),
            (_, _, 1..) => Some(Severity::Foreign),
            _ => None,
        }
    }
}

/// Files beside journals that look like journals and are none: copies that a sync program made, tails that the daemon
/// has moved aside, and copies of a replacement that was killed.
#[must_use]
pub fn strays(dir: &DataDir, journals: &[&Journal]) -> Vec<String> {
    let (ours, daemons): (Vec<&Journal>, Vec<&Journal>) = journals.iter().partition(|journal| journal.is_ours());
    let mut names = strays_in(&dir.root, &daemons);
    let own = dir.own();
    let folder = own.file_name().unwrap_or_default().to_string_lossy();
    names.extend(strays_in(&own, &ours).iter().map(|name| format!("{folder}/{name}")));
    names
}

/// The names of the files in one folder, that of these journals, that look like them and are none.
fn strays_in(folder: &Path, journals: &[&Journal]) -> Vec<String> {
    let Ok(entries) = fs::read_dir(folder) else { return Vec::new() };
    let files: Vec<&str> = journals.iter().map(|j| j.file.rsplit('/').next().unwrap_or_default()).collect();
    let mut names: Vec<String> = entries
        .flatten()
        .map(|entry| entry.file_name().to_string_lossy().into_owned())
        .filter(|name| {
            let left = files.iter().any(|file| replace::leftover(name, file));
            let journal = files.iter().any(|file| file == name);
            left || !journal && name.contains(".jsonl") && journals.iter().any(|j| name.contains(j.name))
        })
        .collect();
    names.sort();
    names
}
