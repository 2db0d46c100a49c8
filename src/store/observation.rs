//! `cruxctl/observations.jsonl`: what is noted of handoffs for whoever collects it. It is only ever appended to: its lines
//! are events of another kind, and no verb reads them.

use crate::journal::Journal;
use crate::journal::live::Rule;
use crate::journal::shape::Shape;

static SHAPE: Shape = Shape { ops: &[], daemon: None };

/// The file of observations.
pub static JOURNAL: Journal = Journal {
    name: "observations",
    file: "cruxctl/observations.jsonl",
    shape: &SHAPE,
    rule: Rule::LastWins,
    id_of: |_| None,
    compacts: None,
    has_payloads: false,
};
