//! Check: one pass over a journal that changes nothing and leaves nothing out.

use std::collections::BTreeSet;
use std::fs;
use std::os::unix::fs::PermissionsExt;

use super::Journal;
use super::files::{self, DataDir};
use super::finding::{Finding, Reaction, Severity};
use super::parallel::Met;
use super::quarantine::{self, Held};
use super::replace;
use super::replay::{self, Seen};
use super::scan::Bytes;
use super::stamp::Stamp;
use crate::error::Result;

/// How many lines with possible records are named.
const POSSIBLE_LINES: usize = 64;

/// What a journal comes to.
#[derive(Debug)]
pub struct Summary {
    /// The journal's name.
    pub journal: &'static str,
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

/// Checks one journal at `now`, an RFC 3339 time in UTC. Every finding goes to `finding` as it is met; `progress` hears
/// how many bytes are read.
pub fn check(
    dir: &DataDir,
    journal: &Journal,
    now: &str,
    finding: &mut dyn FnMut(&Finding) -> Result<()>,
    progress: &mut dyn FnMut(u64, u64),
) -> Result<Summary> {
    let opened = replay::open(dir, journal)?;
    let mut replay = (journal.replay)();
    let (mut record_bytes, mut damaged_bytes) = (0, 0);
    let mut possible = Vec::new();
    let mut daemon = BTreeSet::new();
    let mut records = 0u64;
    let mut clock = Clock::default();
    let now = Stamp::parse(now.as_bytes());
    let seen = opened.replay(journal, replay.as_mut(), &mut |met| {
        match met {
            Met::Record { span, time, .. } => {
                record_bytes += span.len;
                clock.see(*time, now);
                records += 1;
                if records.is_multiple_of(4096) {
                    progress(span.offset, opened.len);
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
                finding(found)?;
            }
        }
        Ok(())
    })?;
    let mode = match &opened.file {
        Some(file) => Some(files::metadata(file, &opened.path)?.permissions().mode() & 0o777),
        None => None,
    };
    Ok(Summary {
        journal: journal.name,
        exists: opened.file.is_some(),
        path: opened.path,
        seen,
        live: replay.live(),
        live_bytes: replay.live_bytes(),
        dead_bytes: record_bytes.saturating_sub(replay.live_bytes()),
        damaged_bytes,
        daemon,
        possible,
        held: quarantine::held(dir, journal),
        loose_mode: mode.filter(|mode| mode & 0o077 != 0),
        notes: [replay.notes(), clock.notes()].concat(),
    })
}

impl Summary {
    /// Whether anything is wrong that counts: damage, or under `for_daemon` whatever the daemon loses.
    #[must_use]
    pub fn bad(&self, for_daemon: bool) -> bool {
        self.seen.damage > 0 || (for_daemon && self.seen.daemon + self.seen.foreign > 0)
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

/// Files in the data directory that look like journals and are none: copies that a sync program made, tails that the
/// daemon has moved aside, and copies of a replacement that was killed.
#[must_use]
pub fn strays(dir: &DataDir, journals: &[&Journal]) -> Vec<String> {
    let Ok(entries) = fs::read_dir(&dir.root) else { return Vec::new() };
    let mut names: Vec<String> = entries
        .flatten()
        .map(|entry| entry.file_name().to_string_lossy().into_owned())
        .filter(|name| {
            let left = journals.iter().any(|j| replace::leftover(name, j.file));
            let ours = journals.iter().any(|j| j.file == name);
            left || !ours && name.contains(".jsonl") && journals.iter().any(|j| name.contains(j.name))
        })
        .collect();
    names.sort();
    names
}
