//! The journal engine: bytes, lines and spans. It knows no store.
//!
//! In reading order: [`json`] reads JSON strictly; [`shape`] describes a journal's format and [`mod@read`] holds a line
//! against it; [`split`] tells records from wreckage in a line that is not simply one record; [`scan`] streams a file
//! through both; [`finding`] names what can be wrong. [`files`] knows where things lie and whose they are, and [`anchor`]
//! ties a file that is kept beside a journal to it; [`lock`] keeps writers apart; [`mod@append`] writes; [`mod@replay`]
//! reads a journal for a verb, on two threads ([`parallel`]) where it is long, and [`history`] what it has about one id;
//! [`index`] keeps where live records lie, [`segments`] what a store makes of them, [`witness`] what the journal had, and
//! [`audit`] holds the journal against it; [`table`] is a journal's live records as a verb sees them, and [`ids`] their
//! ids for somebody who is typing one; [`check`], [`repair`] and [`compact`] are the operator's, and [`survey`] counts what
//! a check reads; [`replace`] and [`quarantine`] see to it that no byte is destroyed. [`follow`] goes along with a journal
//! that others write.

pub mod anchor;
pub mod append;
pub mod audit;
pub mod check;
pub mod compact;
pub mod files;
pub mod finding;
pub mod follow;
pub mod history;
pub mod ids;
pub mod index;
pub mod json;
pub mod live;
pub mod lock;
pub mod parallel;
pub mod quarantine;
pub mod read;
pub mod repair;
pub mod replace;
pub mod replay;
pub mod scan;
pub mod segments;
pub mod shape;
pub mod split;
pub mod stamp;
pub mod survey;
pub mod table;
pub mod witness;

pub use finding::{Class, Finding, Reaction, Severity, Span};

use live::Rule;
use shape::Shape;

/// One journal: its names, its format, and how its records add up to live ones.
#[derive(Debug)]
pub struct Journal {
    /// The name on the command line.
    pub name: &'static str,
    /// The file's name in the data directory; what is our own lies in our folder there.
    pub file: &'static str,
    /// The format of its lines.
    pub shape: &'static Shape,
    /// How its records add up to live ones.
    pub rule: Rule,
    /// The id of a live record, from the bytes at its place.
    pub id_of: fn(&[u8]) -> Option<String>,
    /// What a compaction leaves, where that is not just the live records as they are.
    pub compacts: Option<compact::Rewrite>,
    /// Whether its records hold what is shown to nobody but who asks for just that: no finding shows how its line begins.
    pub has_payloads: bool,
}

impl Journal {
    /// Whether it is our own: its shape says nothing of the daemon, which neither reads nor writes it.
    #[must_use]
    pub fn is_ours(&self) -> bool {
        self.shape.daemon.is_none()
    }

    /// How a finding's bytes begin, where that may be shown.
    #[must_use]
    pub fn head_of<'f>(&self, finding: &'f Finding) -> &'f [u8] {
        if self.has_payloads { &[] } else { &finding.head }
    }
}
