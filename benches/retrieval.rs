//! `cargo bench --bench retrieval`: precedents out of a bank of cases, beside what else could find them.
//!
//! Every figure is a median of interleaved rounds, and every row says how it stands to this tool: machines differ and
//! are noisy, ratios less so. Sizes are set by flags: `cargo bench -- --cases 1000000 --rounds 30`. What this tool
//! answers is compared with a plain scan first: nothing is measured that is wrong.

#![allow(clippy::print_stdout, reason = "a benchmark prints its table")]
#![allow(
    clippy::cast_possible_truncation,
    clippy::cast_precision_loss,
    clippy::cast_sign_loss,
    reason = "figures for the eye, on machines of 64 bits"
)]

use std::collections::{BTreeSet, HashSet};
use std::fs::{self, File};
use std::io::{BufRead, BufReader, BufWriter, Write};
use std::path::{Path, PathBuf};
use std::process::Command;

use chrono::{DateTime, SecondsFormat};
use serde::Deserialize;
use tantivy::collector::TopDocs;
use tantivy::query::QueryParser;
use tantivy::schema::{IndexRecordOption, STORED, Schema, TextFieldIndexing, TextOptions, Value};
use tantivy::{Index, IndexWriter, ReloadPolicy, TantivyDocument};

use measure::{Dice, EMPTY, LONG_ROUNDS, Row, WORDS, flag, has, itself, program, rounds};

mod measure;

/// How many precedents are asked for.
const TOP: usize = 5;

fn main() {
    // As a peer, this program is the plain scan, or what builds an index of tantivy and asks it.
    let args: Vec<String> = std::env::args().skip(1).collect();
    let args: Vec<&str> = args.iter().map(String::as_str).collect();
    match args[..] {
        ["--plain-scan", path, text] => return plain_scan(Path::new(path), text),
        ["--tantivy-build", path, folder] => {
            return tantivy_build(Path::new(path), Path::new(folder)).expect("an index of tantivy");
        }
        ["--tantivy-find", folder, text] => {
            return tantivy_find(Path::new(folder), text).expect("an answer of tantivy");
        }
        _ => {}
    }
    let folder = tempfile::TempDir::new().expect("a temporary folder");
    let rounds = flag("--rounds").map_or(40, |n| n as usize).max(1);
    // Fewer might hold none of the rare words.
    run(flag("--cases").unwrap_or(200_000).max(100), rounds, folder.path());
}

/// A line of the bank as the daemon reads it. The bank here records every case once and deletes none.
#[derive(Deserialize)]
struct Event {
    case: Case,
}

#[derive(Deserialize)]
struct Case {
    case_id: String,
    task: String,
    action: String,
    outcome: String,
    #[expect(dead_code, reason = "it is read all the same")]
    success: bool,
    reward: f32,
    #[serde(default)]
    tags: Vec<String>,
    created_at: String,
}

fn cases(path: &Path) -> impl Iterator<Item = Case> {
    BufReader::new(File::open(path).expect("the bank")).lines().map(|line| {
        let event: Event = serde_json::from_str(&line.expect("the bank is text")).expect("a record");
        event.case
    })
}

/// What the daemon does: the words of every case beside those of the text, all that have one in common sorted.
fn plain_scan(path: &Path, text: &str) {
    fn words<'a>(texts: impl Iterator<Item = &'a str>) -> HashSet<String> {
        let runs = texts.flat_map(|text| text.split(|c: char| !c.is_alphanumeric())).filter(|run| run.len() >= 2);
        runs.map(str::to_lowercase).collect()
    }
    let query = words([text].into_iter());
    let mut found = Vec::new();
    for case in cases(path) {
        let own = words([&case.task].into_iter().chain(&case.tags).map(String::as_str));
        let common = own.intersection(&query).count();
        if common > 0 {
            found.push((common as f64 / own.union(&query).count() as f64, case));
        }
    }
    // All times here are written with the same number of digits.
    found.sort_by(|(a_score, a), (b_score, b)| {
        b_score
            .total_cmp(a_score)
            .then(b.reward.total_cmp(&a.reward))
            .then_with(|| b.created_at.cmp(&a.created_at))
            .then_with(|| a.case_id.cmp(&b.case_id))
    });
    for (score, case) in found.iter().take(TOP) {
        println!("{}\t{score}\t{}\t{}\t{}", case.case_id, case.task, case.action, case.outcome);
    }
}

/// An index of the cases' tasks and tags, with the texts that an answer shows.
fn tantivy_build(path: &Path, folder: &Path) -> tantivy::Result<()> {
    // A query of single words needs no positions.
    let indexing = TextFieldIndexing::default().set_tokenizer("default");
    let words = TextOptions::default().set_indexing_options(indexing.set_index_option(IndexRecordOption::WithFreqs));
    let mut schema = Schema::builder();
    let task = schema.add_text_field("task", words.clone() | STORED);
    let tags = schema.add_text_field("tags", words);
    let [id, action, outcome] = ["id", "action", "outcome"].map(|name| schema.add_text_field(name, STORED));
    let index = Index::create_in_dir(folder, schema.build())?;
    let mut writer: IndexWriter = index.writer(200_000_000)?;
    for case in cases(path) {
        let mut document = TantivyDocument::default();
        document.add_text(id, &case.case_id);
        document.add_text(task, &case.task);
        document.add_text(action, &case.action);
        document.add_text(outcome, &case.outcome);
        case.tags.iter().for_each(|tag| document.add_text(tags, tag));
        writer.add_document(document)?;
    }
    writer.commit()?;
    writer.wait_merging_threads()
}

/// The best by BM25 of what has any of the words.
fn tantivy_find(folder: &Path, text: &str) -> tantivy::Result<()> {
    let index = Index::open_in_dir(folder)?;
    let schema = index.schema();
    let (task, tags) = (schema.get_field("task")?, schema.get_field("tags")?);
    let shown = [schema.get_field("id")?, task, schema.get_field("action")?, schema.get_field("outcome")?];
    let query = QueryParser::for_index(&index, vec![task, tags]).parse_query(text)?;
    let reader = index.reader_builder().reload_policy(ReloadPolicy::Manual).try_into()?;
    let searcher = reader.searcher();
    for (score, address) in searcher.search(&query, &TopDocs::with_limit(TOP).order_by_score())? {
        let document: TantivyDocument = searcher.doc(address)?;
        let texts = shown.map(|field| document.get_first(field).and_then(|value| value.as_str()).unwrap_or_default());
        println!("{score}\t{}", texts.join("\t"));
    }
    Ok(())
}

/// How many words tasks are made of.
const VOCABULARY: usize = 20_000;

/// The word of a rank: no two ranks have the same.
fn word(rank: usize) -> String {
    if let Some(&word) = WORDS.get(rank) {
        return word.to_owned();
    }
    // Syllables, those of the lowest digit first: neighbours in rank do not share their beginning.
    let (mut rest, mut word) = (rank, String::new());
    while rest > 0 || word.len() < 4 {
        let (consonant, vowel) = (rest % 14, rest / 14 % 5);
        word.push(char::from(b"bdfgklmnprstvz"[consonant]));
        word.push(char::from(b"aeiou"[vowel]));
        rest /= 70;
    }
    word
}

/// A bank of cases, and what is known of its words.
struct Bank {
    /// In how many cases the word of each rank is.
    having: Vec<u64>,
    /// A ticket that a task names.
    ticket: String,
}

/// Writes the journal of a bank: words as common as in texts (the n-th a share of 1/n), in every fourth task a ticket,
/// which two cases have on average.
fn bank(path: &Path, cases: u64) -> Bank {
    const ACTIONS: [&str; 6] = ["canary", "rolled back", "raised it", "drained it", "pinned", "restarted"];
    const OUTCOMES: [&str; 5] = ["green", "red again", "flaky", "no change", "p99 40 ms"];
    let mut dice = Dice(1);
    let mut up_to: Vec<u64> = Vec::with_capacity(VOCABULARY);
    for rank in 0..VOCABULARY as u64 {
        up_to.push(up_to.last().unwrap_or(&0) + 100_000_000 / (rank + 1));
    }
    let all = up_to[VOCABULARY - 1];
    let words: Vec<String> = (0..VOCABULARY).map(word).collect();
    let mut bank = Bank { having: vec![0; VOCABULARY], ticket: String::new() };
    let mut out = BufWriter::new(File::create(path).expect("the bank"));
    for n in 0..cases {
        let id = (0..4).fold(0u128, |id, _| (id << 31) | u128::from(dice.roll(1 << 31)));
        let task: Vec<usize> = (0..8 + dice.roll(7))
            .map(|_| {
                let at = dice.roll(all);
                up_to.partition_point(|&up_to| up_to <= at)
            })
            .collect();
        let tags: Vec<usize> = (0..1 + dice.roll(3) / 2).map(|_| dice.roll(40) as usize).collect();
        task.iter().chain(&tags).collect::<BTreeSet<_>>().into_iter().for_each(|&rank| bank.having[rank] += 1);
        let mut task: Vec<&str> = task.iter().map(|&rank| words[rank].as_str()).collect();
        let ticket = (dice.roll(4) == 0).then(|| format!("inc{:05}", dice.roll(cases / 8 + 1)));
        if let Some(ticket) = &ticket {
            task.push(ticket);
            if n >= cases / 2 && bank.ticket.is_empty() {
                bank.ticket.clone_from(ticket);
            }
        }
        let tags: Vec<String> = tags.iter().map(|&rank| format!("\"{}\"", words[rank])).collect();
        // Two cases at a time: only their ids decide where all else is equal.
        let time =
            DateTime::from_timestamp(1_772_352_000 + n as i64 / 2, (n / 2 * 984_062_823 % 1_000_000_000) as u32);
        let time = time.expect("a time").to_rfc3339_opts(SecondsFormat::Nanos, true);
        let line = format!(
            "{{\"op\":\"record\",\"case\":{{\"case_id\":\"c_{id:032x}\",\"task\":\"{}\",\"action\":\"{}\",\
             \"outcome\":\"{}\",\"success\":{},\"reward\":0.{},\"tags\":[{}],\"created_at\":\"{time}\"}}}}\n",
            task.join(" "),
            ACTIONS[dice.roll(6) as usize],
            OUTCOMES[dice.roll(5) as usize],
            dice.roll(5) > 0,
            dice.roll(10),
            tags.join(",")
        );
        out.write_all(line.as_bytes()).expect("the bank");
    }
    out.flush().expect("the bank");
    bank
}

/// The length of a file, or of all files in a folder, in MiB.
fn mib(path: &Path) -> f64 {
    fn bytes(path: &Path) -> u64 {
        let Ok(entries) = fs::read_dir(path) else { return path.metadata().map_or(0, |meta| meta.len()) };
        entries.flatten().map(|entry| bytes(&entry.path())).sum()
    }
    bytes(path) as f64 / f64::from(1 << 20)
}

/// What is looked for.
struct Query {
    name: &'static str,
    text: String,
}

/// Three texts, and a line for each that says how common its words are.
fn queries(bank: &Bank, cases: u64) -> Vec<Query> {
    let share = |rank: usize| bank.having[rank] as f64 / cases as f64;
    let query = |name, ranks: &[usize], ticket: bool| {
        let mut words: Vec<String> = ranks.iter().map(|&rank| word(rank)).collect();
        let said: Vec<String> = ranks.iter().map(|&rank| format!("{:.3}", share(rank) * 100.0)).collect();
        words.extend(ticket.then(|| bank.ticket.clone()).filter(|ticket| !ticket.is_empty()));
        let text = words.join(" ");
        let also = if ticket { " %, and a ticket" } else { " %" };
        println!("- {name}: `{text}`, in {}{also}", said.join(", "));
        Query { name, text }
    };
    let (common, rare) = ([0, 1, 2, 3, 4], [16_000, 18_000, 19_999]);
    // A small bank may lack any of the rare words.
    if cases >= 100_000 {
        assert!(common.iter().all(|&rank| share(rank) > 0.1), "these words are common");
        assert!(rare.iter().all(|&rank| share(rank) < 0.0001), "these words are rare");
    }
    vec![
        query("common words", &common, false),
        query("mixed", &[0, 2, 40, 300, 3_000, 17_000], true),
        query("rare words", &rare, true),
    ]
}

/// Where everything lies.
struct Places {
    /// The data directory, and its journal.
    dir: String,
    journal: String,
    /// What this tool keeps beside it, and what the peers build.
    kept: PathBuf,
    sqlite: PathBuf,
    tantivy: PathBuf,
}

fn text(path: &Path) -> String {
    path.display().to_string()
}

/// Forgets what this tool keeps.
fn forget(kept: &Path) {
    drop(fs::remove_dir_all(kept));
}

fn retrieve(places: &Places, query: &Query, name: &str) -> Row {
    Row::new(name, &[env!("CARGO_BIN_EXE_cruxctl"), "case", "retrieve", &query.text, "--data-dir", &places.dir])
}

fn scan(places: &Places, query: &Query, name: &str) -> Row {
    Row { most: LONG_ROUNDS, ..Row::new(name, &[&itself(), "--plain-scan", &places.journal, &query.text]) }
}

/// The lines that a command answers with.
fn answer(row: &Row) -> Vec<String> {
    let output = Command::new(&row.command[0]).args(&row.command[1..]).output().expect("the command starts");
    assert!(output.status.success(), "{:?}: {}", row.command, String::from_utf8_lossy(&output.stderr));
    String::from_utf8_lossy(&output.stdout).lines().map(str::to_owned).collect()
}

/// Both must name the same cases in the same order, whether this tool has kept something or not.
fn compare(places: &Places, query: &Query) {
    let scanned = answer(&scan(places, query, ""));
    let scanned: Vec<&str> = scanned.iter().filter_map(|line| line.split('\t').next()).collect();
    assert!(!scanned.is_empty(), "{} find nothing", query.name);
    let mut ours = retrieve(places, query, "");
    ours.command.extend(["--format", "id"].map(str::to_owned));
    forget(&places.kept);
    for index in ["nothing kept", "what was kept"] {
        assert_eq!(answer(&ours), scanned, "{}, with {index}: cruxctl, and then the plain scan", query.name);
    }
}

/// How the shell of SQLite loads the bank and indexes its tasks and tags.
fn sqlite_build(places: &Places) -> Row {
    let member = |name: &str| format!("json_extract(line, '$.case.{name}')");
    let members = ["case_id", "task", "tags", "action", "outcome"].map(member).join(", ");
    let command = [
        "sqlite3",
        &text(&places.sqlite),
        ".mode ascii",
        ".separator \"\\037\" \"\\n\"",
        "create temp table bank(line text);",
        &format!(".import --schema temp '{}' bank", places.journal),
        "create virtual table cases using fts5(case_id unindexed, task, tags, action unindexed, outcome unindexed);",
        &format!("insert into cases select {members} from temp.bank;"),
    ];
    let base = places.sqlite.clone();
    Row::new("SQLite FTS5, loaded and indexed", &command).before(move || drop(fs::remove_file(&base)))
}

fn sqlite_find(places: &Places, query: &Query, name: &str) -> Row {
    let any: Vec<String> = query.text.split(' ').map(|word| format!("\"{word}\"")).collect();
    let select = format!(
        "select case_id, task, action, outcome from cases where cases match '{}' order by rank limit {TOP}",
        any.join(" OR ")
    );
    Row::new(name, &["sqlite3", &text(&places.sqlite), &select])
}

/// Counts the records whose task has any of the words.
fn jq_count(places: &Places, query: &Query, name: &str) -> Row {
    let filter = format!(
        r#"reduce (inputs.case.task | select(test("\\b({})\\b"))) as $_ (0; . + 1)"#,
        query.text.replace(' ', "|")
    );
    Row { most: 1, ..Row::new(name, &["jq", "-n", &filter, &places.journal]) }
}

/// Measures what it costs to have an index; what was built stays.
fn build(places: &Places, query: &Query, most: usize) {
    let kept = places.kept.clone();
    let first = retrieve(places, query, "cruxctl, the first case retrieve").before(move || forget(&kept));
    let (kept, segments) = (places.kept.clone(), places.kept.join("cases.segments"));
    let one = segments.clone();
    let alone = retrieve(places, query, "cruxctl, of that the case index").before(move || {
        // The journal's own index and witness are there.
        assert!(kept.join("cases.index").exists(), "what the first case retrieve has kept");
        drop(fs::remove_file(&one));
    });
    let mut rows = vec![first, alone];
    let mut built = vec![&places.kept, &segments];
    if has("sqlite3") {
        rows.push(sqlite_build(places));
        built.push(&places.sqlite);
    }
    let command = [&itself(), "--tantivy-build", &places.journal, &text(&places.tantivy)];
    let folder = places.tantivy.clone();
    rows.push(Row::new("tantivy, indexed and committed", &command).before(move || {
        drop(fs::remove_dir_all(&folder));
        fs::create_dir(&folder).expect("a folder for tantivy");
    }));
    built.push(&places.tantivy);
    rows.iter_mut().for_each(Row::memory);
    rounds(&mut rows, most);
    println!(
        "From the journal to the first answer (cruxctl) or a committed index (the others, which keep a copy of the \
         texts in theirs, uncompressed; tantivy with a thread for each core); {most} rounds\n\n\
         | index built | seconds | peak MiB | index MiB | to cruxctl |\n|---|---|---|---|---|"
    );
    for (row, built) in rows.iter().zip(built) {
        let (seconds, ratio) = (row.median(), row.median() / rows[0].median());
        println!("| {} | {seconds:.3} | {} | {:.1} | {ratio:.2} × |", row.name, row.peak(), mib(built));
    }
}

/// Measures the queries.
fn ask(places: &Places, queries: &[Query], most: usize, folder: &Path) {
    let (sqlite, jq) = (has("sqlite3"), has("jq"));
    let mut rows = Vec::new();
    for query in queries {
        let name = |peer: &str| format!("{peer}, {}", query.name);
        rows.push(retrieve(places, query, &name("cruxctl case retrieve")));
        if sqlite {
            rows.push(sqlite_find(places, query, &name("SQLite FTS5")));
        }
        let find = [&itself(), "--tantivy-find", &text(&places.tantivy), query.text.as_str()];
        rows.push(Row::new(&name("tantivy"), &find));
        rows.push(scan(places, query, &name("plain scan")));
        if jq {
            rows.push(jq_count(places, query, &name("jq, count only")));
        }
    }
    for row in rows.iter().filter(|row| row.most > LONG_ROUNDS) {
        assert!(!answer(row).is_empty(), "{} finds nothing", row.name);
    }
    rows.extend(program(folder, "empty", EMPTY).map(|empty| Row::new("empty program", &[&text(&empty)])));
    rows.iter_mut().for_each(|row| row.twice = row.most > LONG_ROUNDS);
    rounds(&mut rows, most);
    rows.iter_mut().filter(|row| row.most > 1).for_each(Row::memory);
    println!(
        "\nThe best {TOP} from a new process each time, right after one that was not measured. cruxctl and the plain scan order \
         by the words in common, SQLite and tantivy by BM25; {most} rounds, {} of the plain scan, 1 of jq\n\n\
         | precedents | ms | peak MiB | to cruxctl |\n|---|---|---|---|",
        LONG_ROUNDS.min(most)
    );
    let mut ours = 1.0;
    for row in &rows {
        if row.name.starts_with("cruxctl") {
            ours = row.median();
        }
        let ratio = row.median() / ours;
        let digits = if ratio < 0.1 { 4 } else { 2 };
        println!("| {} | {:.2} | {} | {ratio:.digits$} × |", row.name, row.median() * 1e3, row.peak());
    }
}

fn run(cases: u64, most: usize, folder: &Path) {
    let dir = folder.join("bank");
    fs::create_dir(&dir).expect("a data directory");
    let places = Places {
        dir: text(&dir),
        journal: text(&dir.join("cases.jsonl")),
        kept: dir.join("cruxctl/index"),
        sqlite: folder.join("cases.db"),
        tantivy: folder.join("tantivy"),
    };
    let bank = bank(Path::new(&places.journal), cases);
    let size = mib(Path::new(&places.journal));
    println!(
        "\n{cases} cases, {size:.0} MiB, {:.0} bytes a line; what is asked for:\n",
        size * f64::from(1 << 20) / cases as f64
    );
    let queries = queries(&bank, cases);
    queries.iter().for_each(|query| compare(&places, query));
    println!("\nEach time cruxctl answers as the plain scan does, with and without what it keeps.\n");
    // The rare words: next to all of the time is the index's.
    build(&places, &queries[2], LONG_ROUNDS.min(most));
    ask(&places, &queries, most, folder);
}
