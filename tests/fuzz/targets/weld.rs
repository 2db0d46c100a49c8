//! Whole records and a fragment on one line: what stands whole behind what cannot go on is found, what could be part of the
//! fragment is told as possible and not taken, and nothing inside a string or a state becomes an event.

#![no_main]

use std::fs::{self, File};
use std::ops::Range;
use std::path::PathBuf;
use std::sync::LazyLock;

use arbitrary::Arbitrary;
use cruxctl::journal::Journal;
use cruxctl::journal::finding::{Finding, Span};
use cruxctl::journal::scan::{self, Bytes, Item, Stretch};
use cruxctl_fuzz::{journal, json, world};
use libfuzzer_sys::fuzz_target;

static FILE: LazyLock<PathBuf> = LazyLock::new(|| world::folder("weld").join("journal.jsonl"));

/// How many records may be inside each other.
const LEVELS: usize = 3;

/// One line.
#[derive(Arbitrary, Debug)]
struct Line {
    journal: u8,
    /// A whole record in front, if any.
    first: Option<Content>,
    /// What is between.
    between: Between,
    /// A whole record behind.
    last: Content,
    line_end: bool,
}

#[derive(Arbitrary, Debug)]
enum Between {
    /// Nothing.
    Weld,
    /// White space.
    Space(u8),
    /// The beginning of a record.
    Head(Content, u16),
    /// NUL bytes.
    Nul(u8),
    /// NUL bytes where a record was, and its end.
    NulTail(u8, Content, u16),
}

/// What is in a record.
#[derive(Arbitrary, Debug)]
struct Content {
    id: String,
    text: Inside,
    more: Option<Inside>,
}

/// What is in a string or a state.
#[derive(Arbitrary, Debug)]
enum Inside {
    Text(String),
    Number(i16),
    Deep(u8),
    /// A record of the same journal.
    Record(Box<Content>),
    /// Records one behind the other, as a text.
    Records(Vec<Content>),
}

impl Inside {
    /// As the characters of a string.
    fn text(&self, journal: &Journal, levels: usize) -> String {
        match self {
            // Each level doubles the backslashes.
            Inside::Record(_) | Inside::Records(_) if levels == 0 => String::new(),
            Inside::Text(text) => text.clone(),
            Inside::Number(number) => number.to_string(),
            Inside::Deep(deep) => "[".repeat(usize::from(deep % 9)),
            Inside::Record(content) => content.record(journal, levels - 1),
            Inside::Records(all) => {
                all.iter().take(3).map(|one| one.record(journal, levels - 1)).collect::<Vec<_>>().join("\n")
            }
        }
    }

    /// As any JSON value.
    fn value(&self, journal: &Journal, levels: usize) -> String {
        match self {
            Inside::Record(content) if levels > 0 => format!("[{},1]", content.record(journal, levels - 1)),
            Inside::Text(_) | Inside::Record(_) | Inside::Records(_) => quoted(&self.text(journal, levels)),
            Inside::Number(number) => number.to_string(),
            Inside::Deep(deep) => {
                let deep = usize::from(deep % 9);
                "{\"a\":[".repeat(deep) + "1" + &"]}".repeat(deep)
            }
        }
    }
}

fn quoted(text: &str) -> String {
    serde_json::to_string(text).expect("a text is JSON")
}

impl Content {
    /// A whole record, without a line end.
    fn record(&self, journal: &Journal, levels: usize) -> String {
        let (id, text) = (quoted(&self.id), quoted(&self.text.text(journal, levels)));
        let more = self.more.as_ref();
        let time = "\"2026-01-01T00:00:00Z\"";
        match journal.name {
            "sessions" => format!(
                "{{\"op\":\"store\",\"session\":{{\"session_id\":{id},\"state\":{},\"updated_at\":{time},\
                 \"total_tokens\":1,\"archived\":false}}}}",
                more.unwrap_or(&self.text).value(journal, levels)
            ),
            "cases" => {
                let context = more
                    .map_or(String::new(), |more| format!(",\"context\":{}", quoted(&more.text(journal, levels))));
                format!(
                    "{{\"op\":\"record\",\"case\":{{\"case_id\":{id},\"task\":{text}{context},\"action\":\"a\",\
                     \"outcome\":\"o\",\"success\":true,\"reward\":1.0,\"created_at\":{time}}}}}"
                )
            }
            "facts" => format!(
                "{{\"op\":\"store\",\"fact\":{{\"fact_id\":{id},\"tenant_hash\":\"default\",\"entity\":\"e\",\
                 \"key\":\"k\",\"value\":{text},\"source_receipt\":null,\"confidence\":1.0,\"stored_at\":{time},\
                 \"tokens\":1,\"deleted\":false,\"version\":1,\"private\":false,\"horizon_class\":\"none\"}}}}"
            ),
            "reuse" => format!("{{\"op\":\"reuse\",\"case_id\":{id},\"times\":1,\"used_at\":{time},\"x\":{text}}}"),
            "handoffs" => format!(
                "{{\"op\":\"handoff\",\"content_hash\":{id},\"state\":\"open\",\"session_id\":{text},\
                 \"source_agent\":\"a\",\"key_id\":\"k\",\"session\":true,\"fact_ids\":[\"f\"],\"sessions_bytes\":1,\
                 \"facts_bytes\":1,\"heads_before\":[],\"times\":1,\"begun_at\":{time}}}"
            ),
            _ => format!("{{\"op\":\"store\",\"public_key\":{id},\"agent\":{text},\"added_at\":{time}}}"),
        }
    }
}

/// What a scan has told.
#[derive(Debug, Default)]
struct Told {
    records: Vec<Range<usize>>,
    findings: Vec<Finding>,
    unreadable: usize,
}

impl Told {
    fn possible(&self, place: &Range<usize>) -> bool {
        self.findings.iter().flat_map(|finding| &finding.possible).any(|possible| range(possible.span) == *place)
    }
}

fn range(span: Span) -> Range<usize> {
    span.offset as usize..span.end() as usize
}

fuzz_target!(|line: Line| {
    let journal = journal(line.journal);
    let mut text = line.first.as_ref().map(|first| first.record(journal, LEVELS)).unwrap_or_default().into_bytes();
    let first = 0..text.len();
    match &line.between {
        Between::Weld => {}
        Between::Space(spaces) => text.extend(vec![b' '; usize::from(spaces % 4)]),
        Between::Head(content, cut) => {
            let whole = content.record(journal, LEVELS).into_bytes();
            text.extend_from_slice(&whole[..1 + usize::from(*cut) % (whole.len() - 1)]);
        }
        Between::Nul(count) => text.extend(vec![0; 1 + usize::from(count % 9)]),
        Between::NulTail(count, content, cut) => {
            text.extend(vec![0; 1 + usize::from(count % 9)]);
            let whole = content.record(journal, LEVELS).into_bytes();
            text.extend_from_slice(&whole[1 + usize::from(*cut) % (whole.len() - 1)..]);
        }
    }
    let from = text.len();
    text.extend(line.last.record(journal, LEVELS).into_bytes());
    let last = from..text.len();
    if text.len() > 1 << 16 {
        return;
    }
    let piece = text.clone();
    if line.line_end {
        text.push(b'\n');
    }
    let told = scanned(journal, &text);
    // What was cut in the middle of a character is not UTF-8, and says nothing of what could go on.
    let only = |place: &Range<usize>| *place == first || *place == last;
    assert!(told.records.iter().all(only), "a piece of something is taken: {told:?}");
    if line.first.is_some() {
        assert!(told.records.contains(&first), "the first record is lost: {told:?}");
    }
    let found = told.records.contains(&last);
    assert!(found || told.possible(&last), "the last record is hidden: {told:?}");
    match line.between {
        Between::Weld | Between::Space(_) | Between::Nul(_) => {
            assert!(found, "a whole record is lost: {told:?}");
            assert_eq!(told.unreadable, usize::from(matches!(line.between, Between::Nul(_))));
        }
        Between::NulTail(..) => {}
        Between::Head(..) => {
            let head = if line.first.is_some() { first.end } else { 0 };
            let fails = json::parse(&piece[head..]).err().map_or(last.end, |at| head + at);
            if fails < last.start + 3 && fails >= last.start {
                assert!(found, "a record behind what cannot go on is not taken: {told:?}");
            } else if journal.name == "sessions" && fails >= last.end && in_state(&piece[head..from]) {
                assert!(!found, "a piece of a state is taken: {told:?}");
            }
        }
    }
});

/// Whether a beginning of a session ends where a value of its state may come.
fn in_state(head: &[u8]) -> bool {
    let id_ends = head.windows(9).position(|bytes| bytes == b",\"state\":");
    let state_ends = |from: usize| head[from..].windows(14).any(|bytes| bytes == b",\"updated_at\":");
    id_ends.is_some_and(|at| !state_ends(at)) && matches!(head.last(), Some(b':' | b'[' | b','))
}

fn scanned(journal: &Journal, text: &[u8]) -> Told {
    fs::write(&*FILE, text).expect("memory can be written");
    let file = File::open(&*FILE).expect("it was written");
    let mut told = Told::default();
    let stretch = Stretch::whole(text.len() as u64);
    let scanned = scan::scan(&FILE, &file, journal.shape, stretch, &mut |item| {
        match item {
            Item::Record(record) => told.records.push(range(record.span)),
            Item::Finding(finding, bytes) => {
                told.unreadable += usize::from(bytes == Bytes::Unreadable);
                told.findings.push(finding);
            }
            Item::Foreign { .. } => panic!("nothing here is of another version"),
            Item::LineEnd { .. } => {}
        }
        Ok(())
    });
    scanned.expect("a file in memory can be read");
    told
}
