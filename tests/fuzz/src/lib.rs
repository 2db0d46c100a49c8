//! What the fuzz targets share: [`json`] is JSON once more, read by other code than the tool's; [`event`] says once more
//! which JSON is an event; [`world`] is a data directory in memory and the tool run in it. Nothing here is part of the tool,
//! and the tool knows nothing of it.

pub mod event;
pub mod json;
pub mod world;

use cruxctl::journal::Journal;
use cruxctl::store::JOURNALS;

/// A journal by any byte.
#[must_use]
pub fn journal(byte: u8) -> &'static Journal {
    JOURNALS[usize::from(byte) % JOURNALS.len()]
}
