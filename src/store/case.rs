//! `cases.jsonl`: what an agent did and how it turned out. The last record of an id wins.

use crate::journal::Journal;
use crate::journal::live::Rule;
use crate::journal::read;
use crate::journal::shape::{Member, Need, Op, Shape, Type};

/// The members of a case, in the daemon's order.
pub const CASE: &[Member] = &[
    Member { name: "case_id", ty: Type::Text, need: Need::Required },
    Member { name: "task", ty: Type::Text, need: Need::Required },
    Member { name: "context", ty: Type::Text, need: Need::Optional },
    Member { name: "action", ty: Type::Text, need: Need::Required },
    Member { name: "outcome", ty: Type::Text, need: Need::Required },
    Member { name: "success", ty: Type::Bool, need: Need::Required },
    Member { name: "reward", ty: Type::Number, need: Need::Required },
    Member { name: "tags", ty: Type::Texts, need: Need::Default },
    Member { name: "source_receipt", ty: Type::Text, need: Need::Optional },
    Member { name: "created_at", ty: Type::Time, need: Need::Required },
    Member { name: "times_reused", ty: Type::Natural(u32::MAX as u64), need: Need::Default },
];

static SHAPE: Shape = Shape {
    ops: &[
        Op {
            id: "case_id",
            name: "record",
            members: &[Member { name: "case", ty: Type::Record(CASE), need: Need::Required }],
        },
        Op {
            id: "case_id",
            name: "delete",
            members: &[Member { name: "case_id", ty: Type::Text, need: Need::Required }],
        },
    ],
    daemon: super::LINE_BY_LINE,
};

/// The journal of cases.
pub static JOURNAL: Journal = Journal {
    name: "cases",
    file: "cases.jsonl",
    shape: &SHAPE,
    rule: Rule::LastWins,
    id_of: |bytes| read::live_id(&SHAPE, bytes),
};
