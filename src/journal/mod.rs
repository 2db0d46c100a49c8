//! The journal engine: bytes, lines and spans. It knows no store.
//!
//! In reading order: [`json`] reads JSON strictly; [`shape`] describes a journal's format and
//! [`mod@read`] holds a line against it; [`split`] tells
//! records from wreckage in a line that is not simply one record; [`scan`] streams a file through both; [`finding`]
//! names what can be wrong. [`files`] knows where things lie and whose they are; [`lock`] keeps writers apart;
//! [`mod@append`] writes; [`mod@replay`] reads a journal for a verb, on
//! two threads ([`parallel`]) where it is long; [`index`] keeps where live records lie, [`witness`] what the journal had,
//! and [`audit`] holds the journal against it; [`table`] is a journal's live records as a verb sees them; [`check`], [`repair`] and [`compact`] are the operator's;
//! [`replace`] and [`quarantine`] see to it that no byte is destroyed.

pub mod append;
pub mod audit;
pub mod check;
pub mod compact;
pub mod files;
pub mod finding;
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
pub mod shape;
pub mod split;
pub mod stamp;
pub mod table;
pub mod witness;

pub use finding::{Class, Finding, Reaction, Severity, Span};

use live::Digest;
use scan::Record;
use shape::Shape;

/// One journal: its names, its format, and how its records add up to live ones.
#[derive(Debug)]
pub struct Journal {
    /// The name on the command line.
    pub name: &'static str,
    /// The file's name in the data directory.
    pub file: &'static str,
    /// The format of its lines.
    pub shape: &'static Shape,
    /// An empty replay.
    pub replay: fn() -> Box<dyn Replay>,
    /// Whether [`live::Digest`]s are all that its replay needs, so that several threads can read it.
    pub last_wins: bool,
}

/// What a journal's records add up to. It sees them in the order of the file.
pub trait Replay {
    /// Takes the next record.
    fn record(&mut self, record: &Record<'_>);
    /// Takes the digest of the next record, where the journal says that this is enough.
    fn fold(&mut self, _digest: &Digest) {}
    /// How many ids are live.
    fn live(&self) -> u64;
    /// How many bytes the live records take.
    fn live_bytes(&self) -> u64;
    /// The live ids and their places, where the last record of each wins.
    fn last_wins(&self) -> Option<&live::LastWins> {
        None
    }
    /// The live records' places, in the order of the file.
    fn spans(&self) -> Vec<Span>;
    /// What the daemon reads and then skips by a rule of its own, in words.
    fn notes(&self) -> Vec<String> {
        Vec::new()
    }
}
