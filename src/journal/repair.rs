//! Repair: what is damaged is set aside, what is good stands alone on its line, and no byte is destroyed.
//!
//! A plan is a walk over the journal that yields edits in the order of the file; nothing is kept in memory. To apply
//! it, the walk is done again behind the lock, into a copy, and the copy is checked before it takes the journal's
//! place.

use std::path::{Path, PathBuf};

use super::Journal;
use super::audit;
use super::files::DataDir;
use super::finding::{Class, Finding, Reaction, Severity, Span};
use super::live::Live;
use super::lock::Lock;
use super::quarantine::Quarantine;
use super::replace::{self, Replacement};
use super::replay::{self, Opened, Seen};
use super::scan::{self, Bytes, Item, Stretch};
use super::witness;
use crate::error::{Code, Error, Result};

/// What a repair is allowed to do.
#[derive(Clone, Debug, Default)]
pub struct Options {
    /// Set aside what only the daemon cannot read, too.
    pub for_daemon: bool,
    /// Lines whose possible record is taken as one.
    pub take: Vec<u64>,
}

/// One change to a journal.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Edit {
    /// Bytes that are set aside.
    Remove {
        /// Where they lie.
        span: Span,
        /// On which line.
        line: u64,
        /// Why.
        class: Class,
    },
    /// A line end that is put in.
    Insert {
        /// In front of which byte.
        offset: u64,
        /// On which line.
        line: u64,
    },
}

/// What a plan comes to.
#[derive(Clone, Debug, Default)]
pub struct Plan {
    /// Edits.
    pub edits: u64,
    /// Bytes that are set aside.
    pub removed_bytes: u64,
    /// Line ends that are put in.
    pub inserted_bytes: u64,
    /// Length of the journal before.
    pub before_bytes: u64,
    /// Live records afterwards.
    pub live: u64,
    /// Places with a possible record that nobody has told to take.
    pub possible: u64,
    /// Possible records that are taken; they are not among the live ones yet.
    pub taken: u64,
    /// Lines that the plan was told to take, and where nothing is to take.
    pub nothing_to_take: Vec<u64>,
    /// What the scan saw.
    pub seen: Seen,
}

impl Plan {
    /// Length of the journal afterwards.
    #[must_use]
    pub fn after_bytes(&self) -> u64 {
        self.before_bytes - self.removed_bytes + self.inserted_bytes
    }
}

/// Walks the journal and yields the edits of a repair, in order.
pub fn plan(
    opened: &Opened,
    journal: &Journal,
    options: &Options,
    edit: &mut dyn FnMut(&Edit) -> Result<()>,
) -> Result<Plan> {
    let mut live = Live::new(journal);
    let mut walk = Walk {
        options,
        pending: None,
        kept: false,
        line: 0,
        removed: None,
        unended: false,
        dropped: None,
        plan: Plan { before_bytes: opened.len, ..Plan::default() },
        taken: Vec::new(),
        edit,
    };
    let stretch = Stretch::whole(opened.len);
    let seen = opened.scan_items(journal, stretch, &mut |item| walk.item(item, &mut live))?;
    if let Some(last) = walk.pending.take() {
        walk.emit(&last)?;
    }
    let mut plan = walk.plan;
    plan.taken = walk.taken.len() as u64;
    plan.nothing_to_take = options.take.iter().copied().filter(|line| !walk.taken.contains(line)).collect();
    plan.live = live.live();
    plan.seen = seen;
    Ok(plan)
}

struct Walk<'w> {
    options: &'w Options,
    /// The last removal, which the next may make longer.
    pending: Option<Edit>,
    /// Whether a record stays on this line.
    kept: bool,
    /// The line that the walk is on.
    line: u64,
    /// Where the last removal from this line ends, and why it was made.
    removed: Option<(u64, Class)>,
    /// The line lacks its line end, and that matters.
    unended: bool,
    /// Why the next record is set aside, and where its line begins.
    dropped: Option<(Class, u64)>,
    plan: Plan,
    taken: Vec<u64>,
    edit: &'w mut dyn FnMut(&Edit) -> Result<()>,
}

impl Walk<'_> {
    /// Forgets the last line when the next begins. Only lines that are not simply one record say where they end.
    fn on_line(&mut self, line: u64) {
        if line != self.line {
            self.line = line;
            self.kept = false;
            self.removed = None;
            self.unended = false;
        }
    }

    fn item(&mut self, item: &Item<'_>, live: &mut Live) -> Result<()> {
        match item {
            Item::Finding(Finding { line, .. }, _) | Item::Foreign { line, .. } | Item::LineEnd { line, .. } => {
                self.on_line(*line);
            }
            Item::Record(record) => self.on_line(record.line),
        }
        match item {
            Item::Finding(finding, Bytes::Unreadable) => self.unreadable(finding),
            Item::Finding(finding, bytes) => self.readable(finding, *bytes),
            Item::Record(record) => {
                if let Some((class, line_start)) = self.dropped.take() {
                    return self.remove(self.with_space(record.span, line_start), record.line, class);
                }
                live.record(record);
                self.keep(record.span.offset, record.line)
            }
            Item::Foreign { line, span, .. } => match self.dropped.take() {
                Some((class, line_start)) => self.remove(self.with_space(*span, line_start), *line, class),
                None => self.keep(span.offset, *line),
            },
            Item::LineEnd { line, span, terminated, .. } => self.line_end(*line, span.end(), *terminated),
        }
    }

    fn line_end(&mut self, line: u64, end: u64, terminated: bool) -> Result<()> {
        match self.removed {
            // Nothing stays: the line goes as a whole, with its line end.
            Some((removed_to, class)) if !self.kept => {
                let rest = Span { offset: removed_to, len: end - removed_to };
                self.remove(rest, line, class)
            }
            _ if !terminated && (self.kept || self.unended) => self.emit_next(Edit::Insert { offset: end, line }),
            _ => Ok(()),
        }
    }

    /// What goes, with the white space between it and the line's start, or what went before it: alone it would stand in
    /// front of the next record.
    fn with_space(&self, span: Span, line_start: u64) -> Span {
        let from = match self.removed {
            _ if self.kept => span.offset,
            Some((removed_to, _)) => removed_to,
            None => line_start,
        };
        Span { offset: from, len: span.end() - from }
    }

    fn unreadable(&mut self, finding: &Finding) -> Result<()> {
        let span = self.with_space(finding.span, finding.line_start);
        let taken = !finding.possible.is_empty() && self.options.take.contains(&finding.line);
        if !taken {
            self.plan.possible += finding.possible.len() as u64;
            return self.remove(span, finding.line, finding.class);
        }
        self.taken.push(finding.line);
        let mut at = span.offset;
        for possible in &finding.possible {
            self.remove(Span { offset: at, len: possible.span.offset - at }, finding.line, finding.class)?;
            self.keep(possible.span.offset, finding.line)?;
            at = possible.span.end();
        }
        self.remove(Span { offset: at, len: finding.span.end() - at }, finding.line, finding.class)
    }

    fn readable(&mut self, finding: &Finding, bytes: Bytes) -> Result<()> {
        self.unended |= finding.class == Class::NoFinalNewline;
        let only_daemon = finding.class.severity() == Severity::Daemon && finding.class != Class::NoFinalNewline;
        if !only_daemon || !(self.options.for_daemon || finding.reaction == Reaction::DoesNotStart) {
            return Ok(());
        }
        if bytes == Bytes::Around {
            return self.remove(finding.span, finding.line, finding.class);
        }
        self.dropped = self.dropped.or(Some((finding.class, finding.line_start)));
        Ok(())
    }

    /// A record stays: one that stands behind another gets a line of its own.
    fn keep(&mut self, offset: u64, line: u64) -> Result<()> {
        if self.kept {
            self.emit_next(Edit::Insert { offset, line })?;
        }
        self.kept = true;
        Ok(())
    }

    fn remove(&mut self, span: Span, line: u64, class: Class) -> Result<()> {
        if span.len == 0 {
            return Ok(());
        }
        self.removed = Some((span.end(), class));
        if let Some(Edit::Remove { span: last, line: last_line, class: last_class }) = &mut self.pending
            && last.end() == span.offset
            && (*last_line, *last_class) == (line, class)
        {
            last.len += span.len;
            return Ok(());
        }
        self.emit_next(Edit::Remove { span, line, class })
    }

    fn emit_next(&mut self, edit: Edit) -> Result<()> {
        match self.pending.replace(edit) {
            Some(last) => self.emit(&last),
            None => Ok(()),
        }
    }

    fn emit(&mut self, edit: &Edit) -> Result<()> {
        self.plan.edits += 1;
        match edit {
            Edit::Remove { span, .. } => self.plan.removed_bytes += span.len,
            Edit::Insert { .. } => self.plan.inserted_bytes += 1,
        }
        (self.edit)(edit)
    }
}

/// Names that make a repair's files their own.
#[derive(Clone, Debug)]
pub struct Naming {
    /// Now, in RFC 3339.
    pub made_at: String,
    /// Now, in a form for file names.
    pub stamp: String,
    /// A few random characters.
    pub tag: String,
}

/// What a repair did.
#[derive(Debug, Default)]
pub struct Repaired {
    /// The plan that was carried out.
    pub plan: Plan,
    /// The quarantine's manifest; `None` where nothing had to be done.
    pub manifest: Option<PathBuf>,
    /// Bytes that a daemon wrote meanwhile and that were carried over.
    pub carried_over: u64,
    /// What went wrong when the repaired copy was already in the journal's place.
    pub unsettled: Option<Error>,
    /// Where the witness of before is kept, because it spoke against the journal.
    pub witness: Option<PathBuf>,
    /// Why the journal has no new witness.
    pub unkept: Option<Error>,
}

/// Refuses a plan that was told to take a record where none is to take.
pub fn check_takes(journal: &Journal, plan: &Plan) -> Result<()> {
    let Some(line) = plan.nothing_to_take.first() else { return Ok(()) };
    let message = format!("line {line} of {} has no possible record to take", journal.file);
    Err(Error::new(Code::NoRecord, message).hint(format!("cruxctl journal check {}", journal.name)))
}

/// Refuses a plan that sets more than `most` bytes aside.
pub fn allow(journal: &Journal, plan: &Plan, most: Option<u64>) -> Result<()> {
    let Some(most) = most.filter(|most| plan.removed_bytes > *most) else { return Ok(()) };
    let message = format!(
        "repair would set {} bytes of {} aside, and --max-loss-bytes allows {most}; nothing was changed",
        plan.removed_bytes, journal.file
    );
    Err(Error::new(Code::RefusedLoss, message).hint(format!("cruxctl journal repair {}", journal.name)))
}

/// Carries out a repair behind the lock. Whether it may is decided before, by [`check_takes`] and [`allow`].
pub fn apply(dir: &DataDir, journal: &Journal, lock: &Lock, options: &Options, naming: &Naming) -> Result<Repaired> {
    let opened = replay::open_locked(dir, journal, lock)?;
    replace::remove_leftovers(&opened.path, lock)?;
    let mut planned = plan(&opened, journal, options, &mut |_| Ok(()))?;
    let Some(old) = opened.file.as_ref().filter(|_| planned.edits > 0) else {
        return Ok(Repaired { plan: planned, ..Repaired::default() });
    };
    let (verdict, _) = audit::verdict(dir, journal, &opened)?;
    witness::settle(dir, journal, &opened, lock);
    let mut quarantine = Quarantine::begin(dir, journal, &naming.made_at, &naming.stamp, &naming.tag)?;
    let manifest = quarantine.manifest_path.clone();
    let mut copy = Replacement::begin(dir, journal, old, opened.len, &naming.tag)?;
    let mut at = 0;
    plan(&opened, journal, options, &mut |edit| {
        match edit {
            Edit::Remove { span, line, class } => {
                copy.copy(Span { offset: at, len: span.offset - at })?;
                quarantine.remove(old, &opened.path, *span, *line, class.name())?;
                at = span.end();
            }
            Edit::Insert { offset, line } => {
                copy.copy(Span { offset: at, len: offset - at })?;
                copy.write(b"\n")?;
                quarantine.insert(*offset, *line)?;
                at = *offset;
            }
        }
        Ok(())
    })?;
    copy.copy(Span { offset: at, len: opened.len - at })?;
    // With what was taken, which the plan could not count.
    planned.live = prove(journal, &mut copy, &planned)?;
    quarantine.finish(planned.before_bytes, planned.after_bytes())?;
    // Until the copy is in the journal's place, the bytes are still there, and are not in quarantine.
    let (carried_over, unsettled) = match copy.commit(&mut || quarantine.keep()) {
        Ok(carried_over) => (carried_over, None),
        Err(error) if error.code == Code::UnknownWrite => (0, Some(error)),
        Err(error) => return Err(error),
    };
    // What speaks against the journal as it was is kept with what was taken out of it.
    let (mut witness, mut unkept) = (None, None);
    if verdict.waits() {
        let kept = witness_path(&manifest);
        match witness::set_aside(dir, journal, &kept, lock) {
            Ok(()) => witness = Some(kept),
            Err(error) => unkept = Some(error),
        }
    }
    if unkept.is_none() {
        unkept = witness::begin_anew(dir, journal, lock).err();
    }
    Ok(Repaired { plan: planned, manifest: Some(manifest), carried_over, unsettled, witness, unkept })
}

/// Where a witness is kept beside what a repair takes out.
fn witness_path(manifest: &Path) -> PathBuf {
    // Both parts of the manifest's own ending.
    manifest.with_extension("").with_extension("witness")
}

/// Reads the copy before it takes the journal's place: clean, of the planned length, with the planned live records.
fn prove(journal: &Journal, copy: &mut Replacement<'_>, planned: &Plan) -> Result<u64> {
    let (file, path, len) = copy.finish()?;
    let mut live = Live::new(journal);
    let mut damage = 0;
    scan::scan(path, file, journal.shape, Stretch::whole(len), &mut |item| {
        match item {
            Item::Record(record) => drop(live.record(&record)),
            Item::Finding(finding, _) if finding.class.severity() == Severity::Damage => damage += 1,
            _ => {}
        }
        Ok(())
    })?;
    let live_as_planned = live.live() == planned.live || planned.taken > 0;
    if damage > 0 || len != planned.after_bytes() || !live_as_planned {
        let message = format!("the repaired copy of {} is not clean; nothing was changed", journal.file);
        return Err(Error::new(Code::RefusedDamage, message).hint(format!("cruxctl journal check {}", journal.name)));
    }
    Ok(live.live())
}
