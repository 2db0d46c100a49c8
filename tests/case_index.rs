//! What the case index answers is what a comparison with each case answers, whatever has happened to either of them.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;

use proptest::prelude::*;
use proptest::test_runner::TestRunner;
use serde_json::{Value, json};

use crate::support::{Answer, Mount, World, strace_is_waived, words};

const JOURNAL: &str = "cases.jsonl";

/// A case as the test knows it.
#[derive(Clone, Debug, PartialEq)]
struct Known {
    task: String,
    tags: Vec<String>,
    reward: f64,
    success: bool,
    second: u32,
}

impl Known {
    /// One of many: some words are in all of them, some in few.
    fn of(n: u32) -> Known {
        Known {
            task: format!(
                "run the nightly job{} on host{} step{}",
                n % 7,
                n % 31,
                n.wrapping_mul(2_654_435_761) % 211
            ),
            tags: vec![format!("team-{}", n % 3)],
            reward: f64::from(n % 4) * 0.25,
            success: !n.is_multiple_of(5),
            second: n % 60,
        }
    }

    /// A document of some 4 KB.
    fn document(&self, id: &str) -> Value {
        let Known { task, tags, reward, success, second } = self;
        json!({
            "case_id": id, "task": task, "context": "x".repeat(4000), "action": "a", "outcome": "o", "success": success,
            "reward": reward, "tags": tags, "created_at": format!("2026-03-01T08:00:{second:02}Z"),
        })
    }

    fn line(&self, id: &str) -> String {
        json!({"op": "record", "case": self.document(id)}).to_string() + "\n"
    }
}

fn delete_line(id: &str) -> String {
    json!({"op": "delete", "case_id": id}).to_string() + "\n"
}

fn id(n: u32) -> String {
    format!("c{:04}", n * 7919 % 10_007)
}

/// A world with a bank that is long enough for an index.
fn bank(cases: u32) -> World {
    World::with(JOURNAL, (0..cases).map(|n| Known::of(n).line(&id(n))).collect::<String>())
}

fn file(world: &World) -> std::path::PathBuf {
    world.dir().join("cruxctl/index/cases.segments")
}

fn retrieve(world: &World, args: &[&str]) -> Answer {
    world.run(&[&["case", "retrieve", "--json"], args].concat())
}

/// A world in which nothing can be kept beside the journal, with the same cases: there each case is compared.
fn without_index(world: &World) -> World {
    let other = World::with(JOURNAL, world.read(JOURNAL)).damaged();
    fs::create_dir(other.dir().join("cruxctl")).unwrap();
    fs::write(other.dir().join("cruxctl/index"), "").unwrap();
    other
}

const QUESTIONS: &[&str] = &[
    "run the nightly job3 on host5 step200",
    "the",
    "job1 host30",
    "step7 nothing else",
    "nightly --only-success",
    "nightly job2 --tag team-1",
    "on host3 job6 --tag team-0 --tag team-2 --any-tag --min-score 0.4",
    "run nightly --min-score 0.5",
    "job4 on --since 2026-03-01T08:00:30Z --min-score 0.25",
    "host1 host2 host3 job1 job2 --only-success --tag team-2 --since 2026-03-01T08:00:10Z",
    "step1 the team 2 --explain",
    "run --tag team --min-score 0.1",
    "nightly job0 host6 --fold",
    "run on host30 --fold --explain",
    "run --fold --only-success --min-score 0.2",
];

/// Asks some of the questions with and without the index; the answers are the same, and so is what is said of them.
fn same(world: &World) {
    static TURN: AtomicUsize = AtomicUsize::new(0);
    let turn = TURN.fetch_add(1, Ordering::Relaxed);
    let some: Vec<&str> = QUESTIONS.iter().copied().skip(turn % 4).step_by(4).collect();
    same_for(world, &some, ["5", "1", "100"][turn % 3]);
}

fn same_for(world: &World, questions: &[&str], k: &str) {
    let other = without_index(world);
    for question in questions {
        let (text, flags) = question.split_once(" --").unwrap_or((question, ""));
        let flags = if flags.is_empty() { String::new() } else { format!("--{flags}") };
        let args = [&[text, "-k", k, "--damaged-ok"], &words(&flags)[..]].concat();
        let (with, without) = (retrieve(world, &args), retrieve(&other, &args));
        let said = |answer: &Answer| -> Vec<String> {
            let lines = answer.stderr.lines().filter(|line| line.contains("below") || line.contains("no case"));
            lines.map(str::to_owned).collect()
        };
        let told = |answer: &Answer| (answer.status, answer.text(), said(answer));
        assert_eq!(told(&with), told(&without), "{args:?}");
    }
}

#[test]
fn every_question_has_the_same_answer() {
    let world = bank(400);
    ["1", "5", "100"].iter().for_each(|k| same_for(&world, QUESTIONS, k));
    assert!(file(&world).is_file());
}

#[test]
fn the_first_question_makes_it_and_the_next_reads_little_of_the_journal() {
    let world = bank(400);
    retrieve(&world, &["nightly job3"]).ends(0);
    assert!(file(&world).is_file());
    same(&world);
    if strace_is_waived() {
        return;
    }
    let traced = world.traced(&["-e", "trace=pread64"], &["case", "retrieve", "host5 job3"], "");
    assert_eq!(traced.answer.status, 0);
    let bytes = |call: &String| call.rsplit("= ").next()?.trim().parse::<u64>().ok();
    let read: u64 = traced.calls.iter().filter(|call| call.contains("/cases.jsonl>")).filter_map(bytes).sum();
    assert!(read > 0 && read < 100_000, "{read} bytes");
}

#[test]
fn a_short_journal_has_none() {
    let world = bank(20);
    retrieve(&world, &["nightly"]).ends(0);
    assert!(!file(&world).exists());
}

#[test]
fn what_is_recorded_deleted_and_recorded_again_is_found_as_it_is_now() {
    let world = bank(400);
    retrieve(&world, &["nightly"]).ends(0);
    let made = fs::metadata(file(&world)).unwrap();
    let recorded =
        world.run(&words("case record --task nightly-special --action a --outcome o")).ends(0).lines().concat();
    same(&world);
    world.run(&["case", "delete", &id(7)]).ends(0);
    same(&world);
    // Another program records an id again.
    world.append(JOURNAL, Known { task: "something else".to_owned(), ..Known::of(8) }.line(&id(8)));
    same(&world);
    world.run(&["case", "delete", &recorded]).ends(0);
    retrieve(&world, &["special"]).ends(1);
    same(&world);
    // It was not made again for that.
    use std::os::unix::fs::MetadataExt;
    assert_eq!(fs::metadata(file(&world)).unwrap().ino(), made.ino());
}

#[test]
fn a_record_costs_the_same_however_long_the_journal_is() {
    let costs = |cases| {
        let world = bank(cases);
        retrieve(&world, &["nightly"]).ends(0);
        let before = fs::metadata(file(&world)).unwrap().len();
        let traced =
            world.traced(&["-e", "trace=file,desc"], &words("case record --task t1 --action a --outcome o"), "");
        assert_eq!(traced.answer.status, 0);
        (traced.calls.len(), fs::metadata(file(&world)).unwrap().len() - before)
    };
    if strace_is_waived() {
        return;
    }
    let (calls, grown) = costs(300);
    assert_eq!(costs(1500), (calls, grown));
    assert_eq!(grown, 0);
}

#[test]
fn small_segments_become_greater_ones() {
    let world = bank(300);
    retrieve(&world, &["nightly"]).ends(0);
    let line = |n: u32| {
        json!({"task": Known::of(n).task, "context": "y".repeat(4000), "action": "a", "outcome": "o"}).to_string()
            + "\n"
    };
    let mut lengths = Vec::new();
    for round in 0..30 {
        world
            .run_with(&words("case import --quiet"), (0..40).map(|n| line(round * 40 + n)).collect::<String>())
            .ends(0);
        lengths.push(fs::metadata(file(&world)).unwrap().len());
    }
    // Each of them has grown it.
    assert!(lengths.is_sorted_by(|a, b| a < b), "{lengths:?}");
    same(&world);
    // So many segments would be slow: most of them are one by now.
    let (count, _) = parts(&world);
    assert!((2..14).contains(&count), "{count} parts");
}

#[test]
fn a_changed_byte_is_noticed_or_changes_nothing() {
    let world = bank(300);
    let question = ["nightly job3 host5", "-k", "20", "--tag", "team-1", "--only-success", "--explain", "--quiet"];
    let right = retrieve(&world, &question).ends(0).text();
    let first = found(&retrieve(&world, &question))[0].0.clone();
    world.run(&["case", "delete", &first]).ends(0);
    let gone = retrieve(&world, &question).ends(0).text();
    assert_ne!(right, gone);
    retrieve(&world, &question).ends(0);
    let bytes = fs::read(file(&world)).unwrap();
    let step = bytes.len() / 150;
    for at in (0..256).step_by(8).chain((256..bytes.len()).step_by(step)).chain(bytes.len() - 120..bytes.len()) {
        // A bit, or two that change places.
        for flip in [|byte: u8| byte ^ 0x10, |byte: u8| byte.rotate_left(1)] {
            let mut other = bytes.clone();
            other[at] = flip(other[at]);
            fs::write(file(&world), &other).unwrap();
            assert_eq!(retrieve(&world, &question).ends(0).text(), gone, "byte {at}");
        }
    }
    for to in (0..bytes.len()).step_by(step) {
        fs::write(file(&world), &bytes[..to]).unwrap();
        assert_eq!(retrieve(&world, &question).ends(0).text(), gone, "cut at {to}");
    }
}

#[test]
fn what_others_change_in_place_is_never_shown_as_it_was() {
    let world = bank(300).damaged();
    let question = ["job3 host3 step12", "-k", "100"];
    retrieve(&world, &question).ends(0);
    let bytes = world.read(JOURNAL);
    let at = bytes.windows(4).position(|part| part == b"job3").unwrap();
    world.overwrite(JOURNAL, at, b"jobX");
    same_for(&world, &["jobX nightly", "job3 host3 step12"], "100");
    // And so that its time does not tell.
    let journal = fs::OpenOptions::new().write(true).open(world.dir().join(JOURNAL)).unwrap();
    let time = journal.metadata().unwrap().modified().unwrap();
    world.overwrite(JOURNAL, at, b"jobY");
    journal.set_modified(time).unwrap();
    same_for(&world, &["run the nightly", "job3 host3 step12"], "100");
}

#[test]
fn compaction_repair_and_a_stranger_in_its_place_leave_no_wrong_index() {
    let world = bank(400);
    retrieve(&world, &["nightly"]).ends(0);
    (0..60).for_each(|n| drop(world.run(&["case", "delete", &id(n)]).ends(0)));
    world.run(&words("journal compact cases")).ends(0);
    same(&world);
    world.append(JOURNAL, &Known::of(1).line("torn")[..300]);
    retrieve(&world, &["nightly"]).ends(3);
    world.run(&words("journal repair cases --apply")).ends(0);
    same(&world);
    // Something that is no file.
    fs::remove_file(file(&world)).unwrap();
    fs::create_dir(file(&world)).unwrap();
    same(&world);
    fs::remove_dir(file(&world)).unwrap();
    fs::write(world.beside("mine"), "mine").unwrap();
    std::os::unix::fs::symlink(world.beside("mine"), file(&world)).unwrap();
    same(&world);
    assert_eq!(fs::read(world.beside("mine")).unwrap(), b"mine");
}

#[test]
fn thirty_questions_at_once_are_all_answered() {
    let world = bank(1000);
    let right = retrieve(&without_index(&world), &["nightly job3"]).ends(0).text();
    thread::scope(|scope| {
        for _ in 0..30 {
            scope.spawn(|| assert_eq!(retrieve(&world, &["nightly job3"]).ends(0).text(), right));
        }
    });
    // None of them has left anything half made.
    let left: Vec<_> =
        fs::read_dir(world.dir().join("cruxctl/index")).unwrap().flatten().map(|e| e.file_name()).collect();
    assert_eq!(left.len(), 3, "{left:?}");
}

#[test]
fn writers_and_readers_at_once_leave_it_right() {
    let world = bank(300);
    retrieve(&world, &["nightly"]).ends(0);
    let ids: BTreeSet<String> = thread::scope(|scope| {
        let writers: Vec<_> = (0..6)
            .map(|writer| {
                let world = &world;
                scope.spawn(move || {
                    let record = |n: u32| {
                        let (task, pad) = (Known::of(writer * 1000 + n).task + " marked", "p".repeat(9000));
                        let args =
                            ["case", "record", "--task", &task, "--action", "a", "--outcome", "o", "--context", &pad];
                        world.run(&args).ends(0).lines().concat()
                    };
                    let own: Vec<String> = (0..20).map(record).collect();
                    world.run(&["case", "delete", &own[3]]).ends(0);
                    own.into_iter().enumerate().filter(|(n, _)| *n != 3).map(|(_, id)| id).collect::<Vec<_>>()
                })
            })
            .collect();
        for _ in 0..3 {
            scope.spawn(|| (0..40).for_each(|_| drop(retrieve(&world, &["nightly marked", "-k", "100"]).ends(0))));
        }
        writers.into_iter().flat_map(|writer| writer.join().unwrap()).collect()
    });
    assert!(file(&world).is_file());
    same(&world);
    let answer = world.run(&words("case retrieve marked -k 100 --format id")).ends(0);
    assert!(answer.lines().iter().all(|id| ids.contains(id)));
    assert_eq!(answer.lines().len(), 100);
}

#[test]
fn killed_writers_and_readers_leave_it_right() {
    // A write that is killed may leave a torn tail.
    let world = bank(300).damaged();
    retrieve(&world, &["nightly"]).ends(0);
    for round in 0..60u32 {
        let (task, pad) = (Known::of(round).task, "p".repeat(30_000));
        let args: Vec<&str> = match round % 3 {
            0 => vec!["case", "record", "--task", &task, "--action", "a", "--outcome", "o", "--context", &pad],
            1 => vec!["case", "retrieve", "nightly"],
            _ => {
                vec!["case", "record", "--task", "nightly one", "--action", "a", "--outcome", "o", "--context", &pad]
            }
        };
        let mut child = world.command(&args).spawn().unwrap();
        thread::sleep(std::time::Duration::from_micros(u64::from(round) * 97 % 4000));
        let _ = child.kill();
        child.wait().unwrap();
        if round % 20 == 19 {
            same(&world);
        }
        if round == 30 {
            fs::remove_file(file(&world)).unwrap();
        }
    }
    same(&world);
}

/// What happens to a bank.
#[derive(Clone, Debug)]
enum Event {
    /// Another program records cases, some of them under ids that are there.
    Foreign(Vec<u32>),
    /// Another program deletes cases.
    Gone(Vec<u32>),
    Import(u32),
    Record(u32),
    Delete(u32),
    Ask,
    Compact,
    Forget,
}

fn event() -> impl Strategy<Value = Event> {
    prop_oneof![
        4 => prop::collection::vec(0u32..500, 1..60).prop_map(Event::Foreign),
        2 => prop::collection::vec(0u32..500, 1..40).prop_map(Event::Gone),
        3 => (1u32..80).prop_map(Event::Import),
        2 => (0u32..1000).prop_map(Event::Record),
        2 => (0u32..500).prop_map(Event::Delete),
        4 => Just(Event::Ask),
        1 => Just(Event::Compact),
        1 => Just(Event::Forget),
    ]
}

/// The answer that a plain reading of the known cases gives.
fn plainly(bank: &BTreeMap<String, Known>, text: &str, k: usize) -> Vec<(String, f64)> {
    let set = |texts: &[&str]| -> BTreeSet<String> {
        let runs = texts.iter().flat_map(|text| text.split(|c: char| !c.is_alphanumeric()));
        runs.filter(|run| run.len() > 1).map(str::to_lowercase).collect()
    };
    let query = set(&[text]);
    let mut all: Vec<(f64, f64, u32, &String)> = Vec::new();
    for (id, case) in bank {
        let own = set(&std::iter::once(&*case.task).chain(case.tags.iter().map(String::as_str)).collect::<Vec<_>>());
        let common = u32::try_from(query.intersection(&own).count()).unwrap();
        let every = u32::try_from(query.union(&own).count()).unwrap();
        if common > 0 {
            all.push((f64::from(common) / f64::from(every), case.reward, case.second, id));
        }
    }
    all.sort_by(|a, b| b.0.total_cmp(&a.0).then(b.1.total_cmp(&a.1)).then(b.2.cmp(&a.2)).then(a.3.cmp(b.3)));
    all.into_iter().take(k).map(|(score, _, _, id)| (id.clone(), score)).collect()
}

fn found(answer: &Answer) -> Vec<(String, f64)> {
    let cases = answer.json()["cases"].as_array().unwrap().clone();
    cases.iter().map(|case| (case["id"].as_str().unwrap().to_owned(), case["score"].as_f64().unwrap())).collect()
}

#[test]
fn random_histories_are_the_same_indexed_scanned_and_plainly_read() {
    let config = ProptestConfig { cases: 10, failure_persistence: None, ..ProptestConfig::default() };
    TestRunner::new(config)
        .run(&prop::collection::vec(event(), 4..14), |events| {
            let world = bank(280);
            let mut known: BTreeMap<String, Known> = (0..280).map(|n| (id(n), Known::of(n))).collect();
            let mut serial = 10_000;
            for event in events {
                match event {
                    Event::Foreign(cases) => {
                        let mut lines = String::new();
                        for n in cases {
                            serial += 1;
                            let case = Known::of(serial);
                            lines.push_str(&case.line(&id(n)));
                            known.insert(id(n), case);
                        }
                        world.append(JOURNAL, lines);
                    }
                    Event::Gone(cases) => {
                        world.append(JOURNAL, cases.iter().map(|n| delete_line(&id(*n))).collect::<String>());
                        cases.iter().for_each(|n| drop(known.remove(&id(*n))));
                    }
                    Event::Import(count) => {
                        let mut lines = String::new();
                        for _ in 0..count {
                            serial += 1;
                            let case = Known::of(serial);
                            lines.push_str(&(case.document(&format!("i{serial}")).to_string() + "\n"));
                            known.insert(format!("i{serial}"), case);
                        }
                        world.run_with(&words("case import --quiet"), lines).ends(0);
                    }
                    Event::Record(n) => {
                        let Known { task, tags, .. } = Known::of(n);
                        let args =
                            ["case", "record", "--task", &task, "--tag", &tags[0], "--action", "a", "--outcome", "o"];
                        let id = world.run(&args).ends(0).lines().concat();
                        known.insert(id, Known { reward: 1.0, success: true, second: 99, ..Known::of(n) });
                    }
                    Event::Delete(n) => {
                        let was = known.remove(&id(n)).is_some();
                        world.run(&["case", "delete", &id(n)]).ends(i32::from(!was));
                    }
                    Event::Ask => same(&world),
                    Event::Compact => drop(world.run(&words("journal compact cases")).ends(0)),
                    Event::Forget => world.forget(),
                }
                for (text, k) in [("nightly job3 host5", 7), ("step12 the team 1", 100)] {
                    let answer = retrieve(&world, &[text, "-k", &k.to_string()]).ends(0);
                    prop_assert_eq!(found(&answer), plainly(&known, text, k));
                }
            }
            same(&world);
            Ok(())
        })
        .unwrap();
}

/// Runs a command with its `at`-th call of a kind struck by `what`; `None` where there are fewer.
fn struck(world: &World, call: &str, at: u32, what: &str, args: &[&str]) -> Option<(String, Answer)> {
    let inject = format!("inject={call}:{what}:when={at}");
    let traced = world.traced(&["-e", &format!("trace={call}"), "-e", &inject], args, "");
    let there = u32::try_from(traced.calls.iter().filter(|line| line.starts_with(call)).count()).unwrap();
    let last = traced.calls.iter().filter(|line| line.starts_with(call)).nth(usize::try_from(at - 1).unwrap());
    (there >= at).then(|| (last.unwrap().chars().take(120).collect(), traced.answer))
}

#[test]
fn whatever_fails_the_next_answer_is_right() {
    if strace_is_waived() {
        return;
    }
    let world = bank(300);
    let question = ["case", "retrieve", "nightly job3", "--format", "id", "-k", "9"];
    let right = world.run(&question).ends(0).text();
    let record = words("case record --task other --action a --outcome o --format id");
    let mut times = 0;
    for call in ["pwrite64", "rename", "ftruncate"] {
        for (args, forgets) in [(&question[..], true), (&record[..], false), (&question[..], false)] {
            for at in 1..200 {
                if forgets {
                    world.forget();
                }
                let Some((line, answer)) = struck(&world, call, at, "error=EIO", args) else { break };
                times += 1;
                assert_eq!(answer.status, 0, "{line}: {answer:?}");
                if args == question {
                    assert_eq!(answer.text(), right, "{line}");
                }
                assert_eq!(world.run(&question).ends(0).text(), right, "after {line}");
            }
        }
    }
    assert!(times > 20, "{times}");
    same(&world);
}

#[test]
fn wherever_a_process_is_killed_the_next_answer_is_right() {
    if strace_is_waived() {
        return;
    }
    let world = bank(300);
    retrieve(&world, &["nightly"]).ends(0);
    // With every third record a segment is closed.
    let pad = "p".repeat(50_000);
    let record = ["case", "record", "--task", "nightly job3", "--action", "a", "--outcome", "o", "--context", &pad];
    let (mut kills, mut next) = (0, 0);
    for at in 1..40 {
        let mut any = false;
        for deletes in [false, true, false, false] {
            let id = id(next);
            let args = if deletes { vec!["case", "delete", &*id] } else { record.to_vec() };
            next += u32::from(deletes);
            let Some((line, _)) = struck(&world, "pwrite64", at, "signal=KILL", &args) else { continue };
            (any, kills) = (true, kills + 1);
            same_for(&world, &["nightly job3", "host5 job1 --explain", "the --min-score 0.15"], "100");
            let told = world.run(&words("journal check cases --full --json")).ends(0).json();
            assert!(!told.to_string().contains("the index was wrong"), "{line}: {told}");
        }
        if !any {
            break;
        }
    }
    assert!(kills > 8, "{kills}");
    same(&world);
}

#[test]
fn what_is_changed_in_place_before_an_append_is_found_as_it_is_now() {
    let world = bank(300).damaged();
    retrieve(&world, &["nightly"]).ends(0);
    let bytes = world.read(JOURNAL);
    let at = bytes.windows(4).position(|part| part == b"job3").unwrap();
    world.overwrite(JOURNAL, at, b"jobX");
    world.run(&words("case record --task other --action a --outcome o")).ends(0);
    assert_eq!(found(&retrieve(&world, &["jobX", "--damaged-ok"]).ends(0)).len(), 1);
    same(&world);
}

#[test]
fn what_a_check_finds_changed_is_searched_anew() {
    let world = bank(300).damaged();
    retrieve(&world, &["nightly"]).ends(0);
    let bytes = world.read(JOURNAL);
    let at = bytes.windows(4).position(|part| part == b"job3").unwrap();
    world.overwrite(JOURNAL, at, b"jobX");
    // Behind another program's append nothing tells it but the witness.
    world.append(JOURNAL, Known::of(1).line("theirs"));
    retrieve(&world, &["nightly"]).ends(0);
    world.run(&words("journal check cases")).ends(3);
    assert_eq!(found(&retrieve(&world, &["jobX", "--damaged-ok"]).ends(0)).len(), 1);
    same(&world);
}

#[test]
fn a_record_that_was_broken_in_place_keeps_none_of_the_others_out() {
    for sort in ["", "--sort created"] {
        let world = bank(300).damaged();
        retrieve(&world, &["nightly"]).ends(0);
        let bytes = world.read(JOURNAL);
        let at = bytes.windows(8).position(|part| part == b"\"action\"").unwrap();
        world.append(JOURNAL, delete_line("never there"));
        world.overwrite(JOURNAL, at + 1, b"X");
        let list = world.run(&[&["case", "list", "--format", "id"], &words(sort)[..]].concat()).ends(3);
        assert_eq!(list.lines().len(), 299);
        assert!(list.stderr.contains("cruxctl journal check cases"), "{list:?}");
    }
    let world = bank(300).damaged();
    let bytes = world.read(JOURNAL);
    let broken = bytes.windows(5).position(|part| part == b"step1").unwrap();
    let line = bytes[..broken].iter().rposition(|byte| *byte == b'\n').map_or(0, |at| at + 1);
    for ranking in ["daemon", "weighted"] {
        world.write(JOURNAL, &bytes);
        world.forget();
        retrieve(&world, &["nightly"]).ends(0);
        world.append(JOURNAL, delete_line("never there"));
        world.overwrite(JOURNAL, line, b"X");
        let text = String::from_utf8_lossy(&bytes[broken..broken + 8]).into_owned();
        let text = text.split(|c: char| !c.is_alphanumeric()).next().unwrap().to_owned() + " nightly";
        retrieve(&world, &[&text, "--rank", ranking]).ends(3);
    }
}

/// How many parts the case index has, and how far they reach.
fn parts(world: &World) -> (u64, u64) {
    let bytes = fs::read(file(world)).unwrap();
    let word = |at: usize| u64::from_le_bytes(bytes[at..at + 8].try_into().unwrap());
    let (list, count) = (usize::try_from(word(88)).unwrap(), word(96));
    (count, word(list + usize::try_from(count - 1).unwrap() * 72 + 8))
}

#[test]
fn a_bank_of_many_stretches_is_taken_step_by_step() {
    let pad = "x".repeat(64_000);
    let line = |n: u32| Known::of(n).line(&format!("m{n}")).replace(&"x".repeat(4000), &pad);
    let lines = |range: std::ops::Range<u32>| range.map(line).collect::<String>();
    let questions = ["nightly job3 host5 --explain", "step7 team --tag team-1 --min-score 0.1"];
    // Two stretches of 32 MiB, and a part of a third.
    let world = World::with(JOURNAL, lines(0..1200));
    same_for(&world, &questions, "20");
    assert_eq!(parts(&world).0, 3);
    // Another program writes more than a stretch, and begins again with some ids.
    world.append(JOURNAL, lines(1200..1800));
    world.append(JOURNAL, lines(0..40));
    same_for(&world, &questions, "20");
    let (count, reach) = parts(&world);
    assert!(count >= 4 && world.read(JOURNAL).len() as u64 - reach < 33 << 20, "{count} {reach}");
    // Little is taken by each writer, and neighbours become one.
    for n in 0..20 {
        world.append(JOURNAL, lines(2000 + n * 30..2030 + n * 30));
        world.run(&["case", "delete", &format!("m{}", 100 + n)]).ends(0);
        if n % 5 == 0 {
            same_for(&world, &questions, "20");
        } else {
            retrieve(&world, &["nightly", "-k", "1"]).ends(0);
        }
    }
    same_for(&world, &questions, "20");
    let (count, _) = parts(&world);
    assert!(count < 10, "{count} parts");
}

#[test]
fn a_crowd_of_different_words_makes_more_segments() {
    // A quarter of a million different words fill one.
    let words: Vec<String> = (0..560_000).map(|n: u32| format!("{:x}", n.wrapping_mul(2_654_435_761) >> 4)).collect();
    let lines: Vec<String> = words
        .chunks(2000)
        .enumerate()
        .map(|(n, words)| {
            Known { task: words.join(" "), ..Known::of(u32::try_from(n).unwrap()) }.line(&format!("d{n}"))
        })
        .collect();
    let world = World::with(JOURNAL, lines.concat());
    let text = [&*words[1], &*words[300_000], &*words[559_999]].join(" ");
    let found = found(&retrieve(&world, &[&text]).ends(0));
    assert_eq!(found.len(), 3);
    assert_eq!(parts(&world).0, 3);
    same_for(&world, &[&text, "team --tag team-1"], "5");
}

#[test]
fn on_a_full_disk_the_answer_is_right() {
    let world = World::new();
    let Some(_mount) = Mount::memory(&world.dir(), "3m") else { return };
    world.write(JOURNAL, (0..300).map(|n| Known::of(n).line(&id(n))).collect::<String>());
    let question = ["nightly job3", "-k", "9"];
    let right = retrieve(&world, &question).ends(0).text();
    for free in [0, 1, 2, 5, 10, 20, 50] {
        world.forget();
        world.fill(free * 4096);
        assert_eq!(retrieve(&world, &question).ends(0).text(), right, "{free} pages");
        let status = world.run(&words("case record --task other --action a --outcome o")).status;
        assert!(status == 0 || free < 10, "{status} with {free} pages");
        assert_eq!(retrieve(&world, &question).ends(0).text(), right, "{free} pages");
    }
    fs::remove_file(world.dir().join("filler")).unwrap();
    world.forget();
    assert_eq!(retrieve(&world, &question).ends(0).text(), right);
    assert!(file(&world).is_file());
}
