//! The history of one id: every record about it that the journal still has, in the order of the file.

use std::collections::VecDeque;

use super::files::Window;
use super::finding::{Finding, Severity, Span};
use super::live::IdKey;
use super::parallel::Met;
use super::replay::{Opened, Seen};
use super::stamp::Stamp;
use super::table::rewritten;
use super::{Journal, scan::Bytes};
use crate::error::{Error, Result};

/// How many records without a time wait for the next that has one. Where there are more, the first of them are told without
/// it.
const WAITING: usize = 10_000;

/// How many findings that name an id are kept.
const FINDINGS: usize = 100;

/// One record about an id.
#[derive(Clone, Copy, Debug)]
pub struct Revision {
    /// Its number, from 1.
    pub number: u64,
    /// Line, from 1.
    pub line: u64,
    /// Its bytes.
    pub span: Span,
    /// Whether it ends the id.
    pub deletes: bool,
    /// Its own time, where it has one.
    pub time: Option<Stamp>,
    /// The time of the last record in front of it that has one, of whatever id.
    pub not_before: Option<Stamp>,
    /// The time of the first record behind it that has one; of a record with a time of its own, that.
    pub not_after: Option<Stamp>,
}

/// What reading a history has met beside the records.
#[derive(Debug)]
pub struct History {
    /// What was met in the whole journal.
    pub seen: Seen,
    /// How many records are about the id.
    pub revisions: u64,
    /// The first stretches that cannot be read and name the id.
    pub unreadable: Vec<Finding>,
    /// How many more there are.
    pub more_unreadable: u64,
}

/// Hands out every record about an id of a journal in which the last record of an id wins, each with its bytes. The whole
/// journal is read.
pub fn each(
    opened: &Opened,
    journal: &Journal,
    id: &str,
    take: &mut dyn FnMut(&Revision, &[u8]) -> Result<()>,
) -> Result<History> {
    let mut window = opened.file.as_ref().map(|file| Window::narrow(file, opened.len));
    each_place(opened, journal, id, &mut |revision| {
        let Some(window) = &mut window else { return Ok(()) };
        let len = usize::try_from(revision.span.len).unwrap_or(usize::MAX);
        let bytes = window.exact(revision.span.offset, len).map_err(|e| Error::io("read", &opened.path, &e))?;
        take(revision, bytes.ok_or_else(|| rewritten(journal))?)
    })
}

/// The same without the bytes.
fn each_place(
    opened: &Opened,
    journal: &Journal,
    id: &str,
    take: &mut dyn FnMut(&Revision) -> Result<()>,
) -> Result<History> {
    let key = IdKey::of(id);
    let (mut revisions, mut last, mut behind, mut more_unreadable) = (0, None, 0, 0);
    // With each, how often it names the id.
    let mut unreadable: Vec<(Finding, usize)> = Vec::new();
    // Records without a time wait for the next that has one.
    let mut waiting: VecDeque<Revision> = VecDeque::new();
    let seen = opened.look(journal, &mut |met| {
        match met {
            Met::Record { line, span, digest, time } => {
                if let Some(digest) = digest.filter(|digest| digest.key == key) {
                    revisions += 1;
                    behind = span.end();
                    // A record that is read behind wreckage is named with it.
                    let named = unreadable.last_mut().filter(|(finding, _)| finding.span.end() == span.offset);
                    if let Some((_, times)) = named {
                        *times -= 1;
                    }
                    unreadable.retain(|(_, times)| *times > 0);
                    if waiting.len() == WAITING
                        && let Some(first) = waiting.pop_front()
                    {
                        take(&first)?;
                    }
                    waiting.push_back(Revision {
                        number: revisions,
                        line: *line,
                        span: *span,
                        deletes: digest.deletes,
                        time: *time,
                        not_before: last,
                        not_after: None,
                    });
                }
                if time.is_some() {
                    last = *time;
                    for revision in waiting.drain(..) {
                        take(&Revision { not_after: *time, ..revision })?;
                    }
                }
            }
            Met::Finding(finding, Bytes::Unreadable) if finding.class.severity() == Severity::Damage => {
                let times = finding.ids.iter().filter(|own| *own == id).count();
                // So is one that is read in front of it.
                let times = times.saturating_sub(usize::from(behind > 0 && behind == finding.span.offset));
                match times {
                    0 => {}
                    _ if unreadable.len() < FINDINGS => unreadable.push(((**finding).clone(), times)),
                    _ => more_unreadable += 1,
                }
            }
            Met::Finding(..) | Met::Lines(_) => {}
        }
        Ok(())
    })?;
    waiting.iter().try_for_each(take)?;
    let unreadable = unreadable.into_iter().map(|(finding, _)| finding).collect();
    Ok(History { seen, revisions, unreadable, more_unreadable })
}
