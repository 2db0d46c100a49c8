//! Damaged index, witness and case index beside journals that stand still: whatever they say, nothing panics, no verb
//! answers otherwise than without them, and the journals stay as they are.
//!
//! Checksums stop almost every damage. So that what lies behind them is reached, some are made right again after it; then a
//! file says what was never so, and only what is held against the journal must still hold.

#![no_main]

use std::collections::BTreeMap;
use std::fs;
use std::hash::Hasher;
use std::os::unix::fs::MetadataExt;
use std::path::PathBuf;
use std::sync::LazyLock;

use arbitrary::Arbitrary;
use cruxctl::env;
use cruxctl::journal::files::DataDir;
use cruxctl::journal::table::Table;
use cruxctl::journal::{Journal, Span, check};
use cruxctl::store::{case, session};
use cruxctl_fuzz::world::{self, Answer};
use libfuzzer_sys::fuzz_target;
use twox_hash::XxHash3_64;

/// What is kept beside the two journals.
const FILES: [&str; 5] = ["sessions.index", "sessions.witness", "cases.index", "cases.witness", "cases.segments"];

/// What is asked, and whether what comes out must be the same.
const ASKED: [(&[&str], bool); 13] = [
    (&["session", "list", "--format", "id", "--all"], true),
    (&["session", "get", "s7"], true),
    (&["session", "get", "nobody"], true),
    (&["session", "history", "s3", "--format", "id"], false),
    (&["case", "retrieve", "a common word7 word19", "--json", "--explain"], true),
    (&["case", "retrieve", "word3", "--format", "id", "--tag", "t1", "-k", "20", "--fold"], true),
    (&["case", "list", "--format", "id"], true),
    (&["case", "show", "c5", "--json"], true),
    (&["journal", "check", "--json"], false),
    (&["journal", "check", "--full", "--json"], false),
    (&["journal", "check", "--dry-run"], false),
    (&["journal", "stat", "--json"], false),
    (&["journal", "export", "cases", "--format", "id"], true),
];

/// What is damaged, and how.
#[derive(Arbitrary, Debug)]
struct Damage {
    file: u8,
    changes: Vec<Change>,
    /// Whether the checksums are made right.
    summed: bool,
    asked: u8,
    other: u8,
}

#[derive(Arbitrary, Debug)]
enum Change {
    Set(u16, u8),
    Flip(u16, u8),
    Word(u16, u64),
    /// A power of two.
    Power(u16, u8),
    Insert(u16, [u8; 4]),
    Remove(u16, u8),
    Cut(u16),
    Copy(u16, u16, u8),
    Append(Vec<u8>),
    All(Vec<u8>),
}

/// What a table answers.
#[derive(Debug, PartialEq)]
struct Answers {
    records: Vec<Option<(Vec<u8>, Span)>>,
    spans: Vec<Span>,
}

struct Still {
    dir: DataDir,
    kept: BTreeMap<&'static str, Vec<u8>>,
    tables: [Answers; 2],
    answers: Vec<Answer>,
    journals: Vec<(PathBuf, Vec<u8>, (u64, u64, i64, i64))>,
}

const IDS: [&str; 4] = ["s7", "c5", "s39", "nobody"];

static STILL: LazyLock<Still> = LazyLock::new(|| {
    let root = world::folder("kept").join("data");
    fs::create_dir_all(&root).expect("a folder can be made");
    fs::write(root.join(session::JOURNAL.file), sessions()).expect("memory can be written");
    fs::write(root.join(case::JOURNAL.file), cases()).expect("memory can be written");
    let dir = DataDir { root, boot: env::boot_id(), clock: Some(env::wall_clock()) };
    // Before there is anything beside them.
    let answers = ASKED.iter().map(|(args, _)| ask(&dir, &[args, &["--no-sync"][..]].concat())).collect();
    let _ = fs::remove_dir_all(dir.own());
    let tables = [table(&dir, &session::JOURNAL), table(&dir, &case::JOURNAL)];
    for args in [&["journal", "check", "--no-sync"][..], &["case", "retrieve", "common", "--no-sync"]] {
        let _ = ask(&dir, args);
    }
    let base = Table::open(&dir, &session::JOURNAL, false).expect("the journal can be read");
    assert!(base.live.base().is_some(), "there is no index to damage");
    let kept = FILES.map(|name| (name, fs::read(place(&dir, name)).expect("it is kept")));
    let journals = [&session::JOURNAL, &case::JOURNAL].map(|journal| {
        let path = dir.journal(journal);
        (path.clone(), fs::read(&path).expect("it is there"), stamp(&path))
    });
    Still { dir, kept: kept.into(), tables, answers, journals: journals.into() }
});

fuzz_target!(|damage: Damage| {
    let still = &*STILL;
    let name = FILES[usize::from(damage.file) % FILES.len()];
    let mut bytes = still.kept[name].clone();
    damage.changes.iter().take(12).for_each(|change| change.make(&mut bytes));
    if damage.summed {
        sum(name, &mut bytes);
    }
    let journal = if name.starts_with("sessions") { &session::JOURNAL } else { &case::JOURNAL };
    let before = &still.tables[usize::from(!name.starts_with("sessions"))];
    put(still, name, &bytes);
    let now = table(&still.dir, journal);
    if damage.summed {
        // An id is answered with its own record or with none, whatever an index says.
        for (id, got) in IDS.iter().zip(&now.records) {
            assert!(got.as_ref().is_none_or(|(bytes, _)| (journal.id_of)(bytes).as_deref() == Some(*id)));
        }
    } else {
        assert_eq!(now.spans, before.spans);
        assert!(now == *before, "the answer is another");
    }
    for (full, keep) in [(false, false), (true, false), (false, true)] {
        put(still, name, &bytes);
        let options = check::Options { full, accept: false, keep, now: world::NOW };
        let mut places = Vec::new();
        let summary = check::check(
            &still.dir,
            journal,
            options,
            &mut |finding| {
                places.push(finding.span);
                Ok(())
            },
            &mut |_, _| {},
        );
        let summary = summary.expect("the journal can be read");
        if !damage.summed {
            assert_eq!(summary.live as usize, before.spans.len());
            assert_eq!(summary.against(), 0, "a journal that stood still is said to have changed");
        }
    }
    for asked in [damage.asked, damage.other] {
        put(still, name, &bytes);
        let asked = usize::from(asked) % ASKED.len();
        let (args, same) = ASKED[asked];
        let answer = ask(&still.dir, &[args, &["--no-sync"][..]].concat());
        if same && !damage.summed {
            assert_eq!(answer.stdout, still.answers[asked].stdout, "{args:?} answers otherwise: {answer:?}");
        }
        assert!(answer.status < 100, "{answer:?}");
    }
    for (path, text, then) in &still.journals {
        assert!(stamp(path) == *then || fs::read(path).ok().as_ref() == Some(text), "a journal was changed");
    }
});

/// Puts what was kept back in its place, and the damaged file.
fn put(still: &Still, name: &str, bytes: &[u8]) {
    for (own, good) in &still.kept {
        let bytes = if *own == name { bytes } else { good };
        let _ = fs::create_dir_all(still.dir.own().join("index"));
        fs::write(place(&still.dir, own), bytes).expect("memory can be written");
    }
}

fn place(dir: &DataDir, name: &str) -> PathBuf {
    dir.own().join("index").join(name)
}

fn stamp(path: &PathBuf) -> (u64, u64, i64, i64) {
    let data = fs::metadata(path).expect("it is there");
    (data.ino(), data.len(), data.ctime(), data.ctime_nsec())
}

fn table(dir: &DataDir, journal: &'static Journal) -> Answers {
    let mut table = Table::open(dir, journal, true).expect("the journal can be read");
    let records = IDS.iter().map(|id| table.get(id).expect("the journal can be read")).collect();
    Answers { records, spans: table.spans().expect("the journal can be read") }
}

fn ask(dir: &DataDir, args: &[&str]) -> Answer {
    let root = dir.root.to_str().expect("a path of ours");
    world::run(&[args, &["--data-dir", root][..]].concat(), b"")
}

fn sessions() -> String {
    let mut text = String::new();
    for n in 0..60 {
        let (id, fill) = (n % 40, "state ".repeat(3_200));
        let line = format!(
            "{{\"op\":\"store\",\"session\":{{\"session_id\":\"s{id}\",\"state\":{{\"n\":{n},\"fill\":\"{fill}\"}},\
             \"updated_at\":\"2026-06-01T00:00:{n:02}Z\",\"total_tokens\":1,\"archived\":false}}}}\n"
        );
        text.push_str(&line);
        match n {
            30 => text.push_str("{\"op\":\"delete\",\"session_id\":\"s30\"}\n"),
            33 => text.push_str("{\"op\":\"store\",\"session\":{\"session_id\":\"torn\n"),
            _ => {}
        }
    }
    text
}

fn cases() -> String {
    let mut text = String::new();
    for n in 0..90 {
        let fill = "outcome ".repeat(1_600);
        let line = format!(
            "{{\"op\":\"record\",\"case\":{{\"case_id\":\"c{}\",\"task\":\"a common task with word{} and word{n}\",\
             \"action\":\"a\",\"outcome\":\"{fill}\",\"success\":true,\"reward\":0.{},\"tags\":[\"t{}\"],\
             \"created_at\":\"2026-06-01T00:{:02}:00Z\"}}}}\n",
            n % 80,
            n % 7,
            n % 10,
            n % 3,
            n % 60,
        );
        text.push_str(&line);
    }
    text
}

impl Change {
    fn make(&self, bytes: &mut Vec<u8>) {
        let len = bytes.len();
        // Half of the places lie where the numbers are that others depend on.
        let place = |at: u16| usize::from(if at % 2 == 0 { at } else { at >> 1 & 0xFF }) % len.max(1);
        match self {
            Change::All(all) => *bytes = all.clone(),
            Change::Append(more) => bytes.extend_from_slice(more),
            _ if bytes.is_empty() => {}
            Change::Set(at, byte) => bytes[place(*at)] = *byte,
            Change::Flip(at, bit) => bytes[place(*at)] ^= 1 << (bit % 8),
            Change::Word(at, word) => set(bytes, place(*at) & !7, *word),
            Change::Power(at, power) => set(bytes, place(*at) & !7, 1 << (power % 64)),
            Change::Insert(at, more) => drop(bytes.splice(place(*at)..place(*at), *more)),
            Change::Remove(at, count) => {
                let at = place(*at);
                bytes.drain(at..(at + usize::from(*count)).min(len));
            }
            Change::Cut(at) => bytes.truncate(place(*at)),
            Change::Copy(from, to, count) => {
                let (from, to) = (place(*from), place(*to));
                let count = usize::from(*count).min(len - from).min(len - to);
                bytes.copy_within(from..from + count, to);
            }
        }
    }
}

fn set(bytes: &mut [u8], at: usize, word: u64) {
    bytes.iter_mut().skip(at).zip(word.to_le_bytes()).for_each(|(own, byte)| *own = byte);
}

/// Makes the checksums of a file right.
fn sum(name: &str, bytes: &mut [u8]) {
    if name.ends_with("index") {
        sealed(bytes, 4064);
    } else if name.ends_with("witness") {
        if let Some(header) = bytes.get_mut(..64) {
            let sum = XxHash3_64::oneshot(&header[..56]).to_le_bytes();
            header[56..].copy_from_slice(&sum);
        }
        let mut at = 64;
        while let Some(head) = bytes.get(at..at + 48) {
            let len = u32::from_le_bytes(head[4..8].try_into().expect("four bytes")) as usize;
            let Some(entries) = bytes.get(at + 48..at + 48 + len) else { break };
            let mut hash = XxHash3_64::new();
            hash.write(&head[..40]);
            hash.write(entries);
            let sum = hash.finish().to_le_bytes();
            bytes[at + 40..at + 48].copy_from_slice(&sum);
            at += 48 + len + 8;
        }
    } else {
        let number = |bytes: &[u8], n: usize| {
            let at = 40 + 8 * n;
            bytes.get(at..at + 8).map(|word| u64::from_le_bytes(word.try_into().expect("eight bytes")) as usize)
        };
        let (at, count) = (number(bytes, 6).unwrap_or(0), number(bytes, 7).unwrap_or(0));
        let end = count.checked_mul(72).and_then(|len| at.checked_add(len));
        if let Some(list) = end.and_then(|end| bytes.get(at..end)) {
            let sum = XxHash3_64::oneshot(list).to_le_bytes();
            if let Some(own) = bytes.get_mut(104..112) {
                own.copy_from_slice(&sum);
            }
        }
        sealed(bytes, 224);
    }
}

/// Puts the hash of a header behind it.
fn sealed(bytes: &mut [u8], len: usize) {
    if bytes.len() >= len + 32 {
        let sum = blake3::hash(&bytes[..len]);
        bytes[len..len + 32].copy_from_slice(sum.as_bytes());
    }
}
