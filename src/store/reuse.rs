//! `cruxctl/reuse.jsonl`: how often cases were used again. It is ours alone: the daemon counts in its own journal, and
//! never reads this one.
//!
//! Each record has the whole count of its case, so that the last one of an id wins, as in other journals, and nothing
//! is lost when the older ones go.

use chrono::{DateTime, Utc};
use serde::Serialize;

use super::time_text;
use crate::journal::Journal;
use crate::journal::live::Rule;
use crate::journal::read::{self, Reading};
use crate::journal::shape::{Member, Op, Shape, Type};

/// The highest count: what 64 bits hold.
const MOST: u64 = u64::MAX;

static SHAPE: Shape = Shape {
    ops: &[
        Op {
            id: "case_id",
            name: "reuse",
            members: &[
                Member::required("case_id", Type::Text),
                Member::required("times", Type::Natural(MOST)),
                Member::required("used_at", Type::Time),
            ],
        },
        Op { id: "case_id", name: "delete", members: &[Member::required("case_id", Type::Text)] },
    ],
    daemon: None,
};

/// The journal of counts.
pub static JOURNAL: Journal = Journal {
    name: "reuse",
    file: "cruxctl/reuse.jsonl",
    shape: &SHAPE,
    rule: Rule::LastWins,
    id_of: |bytes| read::live_id(&SHAPE, bytes),
    compacts: None,
    has_payloads: false,
};

/// The count in a `reuse` line; `None` where it is none.
#[must_use]
pub fn times(line: &[u8]) -> Option<u64> {
    let Reading::Event { event, .. } = read::read(&SHAPE, line) else { return None };
    event.members.natural("times")
}

/// The count after one more use; the highest one stays.
#[must_use]
pub fn once_more(times: u64) -> u64 {
    times.saturating_add(1)
}

/// The `reuse` line of a case that was used again, without its line end. `times`: with this use.
#[must_use]
pub fn line(id: &str, times: u64, used_at: DateTime<Utc>) -> Vec<u8> {
    #[derive(Serialize)]
    struct Reuse<'a> {
        op: &'static str,
        case_id: &'a str,
        times: u64,
        used_at: String,
    }
    let used_at = time_text(used_at);
    // It cannot fail: a struct of texts and a number.
    serde_json::to_vec(&Reuse { op: "reuse", case_id: id, times, used_at }).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_written_is_read_again() {
        let at = "2026-03-01T08:00:01.5Z".parse().unwrap();
        for count in [0, 1, 1 << 53, MOST] {
            let text = line("c \u{2028}\"\n", count, at);
            assert_eq!(times(&text), Some(count));
            assert_eq!((JOURNAL.id_of)(&text).as_deref(), Some("c \u{2028}\"\n"));
        }
        let text = String::from_utf8(line("c", 7, at)).unwrap();
        assert_eq!(text, "{\"op\":\"reuse\",\"case_id\":\"c\",\"times\":7,\"used_at\":\"2026-03-01T08:00:01.500Z\"}");
    }

    #[test]
    fn the_highest_count_stays() {
        assert_eq!([once_more(0), once_more(MOST - 1), once_more(MOST)], [1, MOST, MOST]);
    }
}
