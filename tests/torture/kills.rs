//! Writers of all kinds, eight at once, killed at random moments, over and over.
//!
//! Whatever was acknowledged is there at the end; a death leaves one torn line at most; and nobody who comes later is
//! kept from his work.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::os::unix::process::ExitStatusExt;
use std::process::{Child, Stdio};
use std::thread;
use std::time::Duration;

use serde_json::Value;

use crate::state;
use crate::support::{Answer, World, session_line};
use crate::tally::{Dice, Plan, Tally, spread};

/// How many writers there are at once.
const WRITERS: usize = 8;

/// How many rounds one directory lives.
const ROUNDS: u64 = 50;

/// What a writer was told to do.
#[derive(Clone, Debug)]
enum Task {
    Put(String),
    Delete(String),
    Record(String),
    Store(String),
    Accept(String),
    Reuse(String),
    Send(String),
    Work,
    Compact(&'static str),
    Repair,
    Check,
}

impl Task {
    fn name(&self) -> &'static str {
        match self {
            Task::Put(_) => "session put",
            Task::Delete(_) => "session delete",
            Task::Record(_) => "case record",
            Task::Store(_) => "fact store",
            Task::Accept(_) => "handoff accept",
            Task::Reuse(_) => "case reuse",
            Task::Send(_) => "durable send",
            Task::Work => "durable work",
            Task::Compact(_) => "journal compact",
            Task::Repair => "journal repair",
            Task::Check => "journal check",
        }
    }

    fn args(&self) -> Vec<String> {
        let line = match self {
            Task::Put(id) => format!("session put {id} --file state"),
            Task::Delete(id) => format!("session delete {id}"),
            Task::Record(task) => format!("case record --task {task} --action a --outcome o"),
            Task::Store(key) => format!("fact store --entity e --key {key} --value v"),
            Task::Accept(file) => format!("handoff accept {file} --agent bob --key-file mac.key"),
            Task::Reuse(case) => format!("case reuse {case}"),
            Task::Send(key) => format!("durable send --target t --key k --file state --idempotency-key {key}"),
            // What comes out is what went in.
            Task::Work => {
                "durable work --max-attempts 1000 --retry-delay 1ms -- sh -c paste\u{a0}-sd,|sed\u{a0}'s/.*/[&]/'"
                    .to_owned()
            }
            Task::Compact(journal) => format!("journal compact {journal}"),
            Task::Repair => "journal repair --apply".to_owned(),
            Task::Check => "journal check --accept".to_owned(),
        };
        line.split(' ').map(|word| word.replace('\u{a0}', " ")).collect()
    }

    /// The statuses with which it may end by itself. A journal with a torn line is compacted after a repair; what is half
    /// accepted is completed first.
    fn may_end(&self) -> &'static [i32] {
        match self {
            Task::Compact(_) => &[0, 5],
            Task::Repair => &[0, 5],
            // Somebody was compacting at that moment.
            Task::Check => &[0, 3, 6],
            // A torn line of the journal may hide what is looked for.
            Task::Delete(_) => &[0, 1, 3],
            Task::Reuse(_) => &[0, 3],
            _ => &[0],
        }
    }
}

/// What was acknowledged in a directory.
#[derive(Default)]
struct Acknowledged {
    there: BTreeMap<&'static str, BTreeSet<String>>,
    deleted: BTreeSet<String>,
    maybe_deleted: BTreeSet<String>,
    reused: u64,
    maybe_reused: u64,
    deaths: usize,
}

/// Does all of it.
pub fn run(plan: &Plan) -> Vec<Tally> {
    let tally = Tally::new("8 writers of all kinds killed at once, rounds");
    let writers = Tally::new("their commands");
    let rounds = if plan.long { 2_400 } else { 150 };
    let batches: Vec<u64> = (0..rounds / ROUNDS).collect();
    spread(&batches, |batch| {
        let mut dice = Dice::new(plan.seed * 1_000 + batch);
        let story = || format!("directory {batch} of seed {}", plan.seed);
        tally.try_it(story, || {
            live(&mut dice, &tally, &writers);
            "directories proved at their end".to_owned()
        });
    });
    vec![tally, writers]
}

/// The life of one directory.
fn live(dice: &mut Dice, tally: &Tally, writers: &Tally) {
    let world = World::new().damaged();
    let case = begin(&world);
    let mut known = Acknowledged::default();
    let mut victims: Vec<String> = (0..20).map(|n| format!("victim{n}")).collect();
    for round in 0..ROUNDS {
        let tasks: Vec<Task> = (0..WRITERS).map(|n| task(dice, round, n, &case, &mut victims)).collect();
        let children: Vec<Child> = tasks.iter().map(|task| start(&world, task)).collect();
        thread::sleep(Duration::from_micros(dice.below(14_000)));
        for (task, ended) in tasks.iter().zip(kill(children)) {
            match ended {
                Some(answer) => {
                    assert!(task.may_end().contains(&answer.status), "round {round}: {task:?}: {answer:?}");
                    writers.count(if answer.status == 0 { "acknowledged" } else { "ended otherwise" }, 1);
                    acknowledge(&mut known, task, &answer);
                }
                None => {
                    known.deaths += 1;
                    writers.count("killed", 1);
                    match task {
                        Task::Delete(id) => {
                            known.maybe_deleted.insert(id.clone());
                        }
                        Task::Reuse(_) => known.maybe_reused += 1,
                        _ => {}
                    }
                }
            }
        }
        // Nobody needs help.
        let id = format!("after{round}");
        world.run(&["session", "put", &id, "--file", "state"]).ends(0);
        known.there.entry("sessions").or_default().insert(id);
        tally.count("rounds", 1);
    }
    prove(&world, &known, &case);
}

/// A directory with an index and something to compact, and as many envelopes beside it as there will be rounds and
/// writers. The id of a case.
fn begin(world: &World) -> String {
    fs::create_dir_all(world.dir()).unwrap();
    fs::write(world.beside("state"), "{\"n\": 1}").unwrap();
    let text: String = (0..370)
        .map(|n| session_line(&format!("s{}", n % 360), &format!("\"{}\"", "x".repeat(3_000))) + "\n")
        .collect();
    world.write("sessions.jsonl", text);
    for n in 0..20 {
        world.run(&["session", "put", &format!("victim{n}"), "--file", "state"]).ends(0);
    }
    world.run(&["durable", "open", "--target", "t", "--kind", "flow", "--key", "k"]).ends(0);
    world.run(&["handoff", "keygen", "mac.key"]).ends(0);
    for round in 0..ROUNDS {
        let answer =
            world.run(&["handoff", "create", "s1", "--key-file", "mac.key", "--message", &round.to_string()]);
        fs::write(world.beside(&format!("envelope{round}")), answer.ends(0).stdout).unwrap();
    }
    let answer =
        world.run(&["case", "record", "--task", "first", "--action", "a", "--outcome", "o", "--format", "id"]);
    answer.ends(0).text().trim().to_owned()
}

fn task(dice: &mut Dice, round: u64, n: usize, case: &str, victims: &mut Vec<String>) -> Task {
    let name = format!("r{round}w{n}");
    match dice.below(20) {
        0..5 => Task::Put(name),
        5..8 => Task::Record(name),
        8..11 => Task::Store(name),
        // Each envelope has one taker: of two, one would be refused.
        11..14 if n == 0 => Task::Accept(format!("envelope{round}")),
        17 => Task::Send(name),
        18 if n % 2 == 0 => Task::Work,
        14 => victims.pop().map_or(Task::Put(name), Task::Delete),
        15 => Task::Reuse(case.to_owned()),
        16 => Task::Compact(*dice.of::<&'static str>(&["sessions", "cases", "facts", "durable"])),
        18 => Task::Repair,
        19 => Task::Check,
        _ => Task::Put(name),
    }
}

fn start(world: &World, task: &Task) -> Child {
    let args = task.args();
    let args: Vec<&str> = args.iter().map(String::as_str).collect();
    world.command(&[&args[..], &["--format", "id"]].concat()).stdin(Stdio::null()).spawn().unwrap()
}

/// Kills all of them; of those that had ended by themselves, with what answer.
fn kill(mut children: Vec<Child>) -> Vec<Option<Answer>> {
    children.iter_mut().for_each(|child| drop(child.kill()));
    let ended = |child: Child| {
        let output = child.wait_with_output().unwrap();
        (output.status.signal() != Some(9)).then(|| Answer::from(output))
    };
    children.into_iter().map(ended).collect()
}

fn acknowledge(known: &mut Acknowledged, task: &Task, answer: &Answer) {
    let mut there = |journal: &'static str, id: &str| {
        known.there.entry(journal).or_default().insert(id.to_owned());
    };
    let text = answer.text();
    match task {
        Task::Put(id) => there("sessions", id),
        Task::Record(_) => there("cases", text.trim()),
        Task::Store(_) => there("facts", text.trim()),
        Task::Accept(file) => there("accepted", file),
        Task::Delete(id) if answer.status == 0 => {
            known.deleted.insert(id.clone());
        }
        Task::Reuse(_) => known.reused += 1,
        Task::Send(_) => there("inputs", text.trim()),
        _ => {}
    }
}

/// What is there at the end, read with nothing but a JSON parser.
fn prove(world: &World, known: &Acknowledged, case: &str) {
    let (_, fragments) = state::read(world);
    assert!(
        fragments.len() <= known.deaths,
        "{} torn lines of {} deaths: {fragments:?}",
        fragments.len(),
        known.deaths
    );
    world.run(&["journal", "repair", "--apply", "--quiet"]).ends(0);
    world.run(&["journal", "check"]).ends(0);
    let (state, fragments) = state::read(world);
    assert!(fragments.is_empty(), "the repair has left {fragments:?}");
    let mut there: BTreeMap<&str, BTreeSet<String>> = BTreeMap::new();
    let of = |journal: &str| state.events.get(journal).cloned().unwrap_or_default();
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    for (journal, file, document, id) in [
        ("sessions", "sessions.jsonl", "session", "session_id"),
        ("cases", "cases.jsonl", "case", "case_id"),
        ("facts", "facts.jsonl", "fact", "fact_id"),
    ] {
        let ids = there.entry(journal).or_default();
        for event in of(file) {
            if event["op"] == "delete" {
                ids.remove(&text(&event[id]));
            } else if event[document].is_object() {
                ids.insert(text(&event[document][id]));
            }
        }
    }
    for (journal, ids) in known.there.iter().filter(|(journal, _)| !["accepted", "inputs"].contains(journal)) {
        let missing: Vec<&String> = ids.difference(&there[journal]).collect();
        assert!(missing.is_empty(), "{journal}: acknowledged and lost: {missing:?}");
    }
    let back: Vec<&String> = known.deleted.intersection(&there["sessions"]).collect();
    assert!(back.is_empty(), "deleted, acknowledged, and there again: {back:?}");
    let untouched = (0..20)
        .map(|n| format!("victim{n}"))
        .filter(|id| !known.deleted.contains(id) && !known.maybe_deleted.contains(id));
    untouched.for_each(|id| assert!(there["sessions"].contains(&id), "{id} is gone, and nobody has deleted it"));
    (0..360).for_each(|n| assert!(there["sessions"].contains(&format!("s{n}")), "s{n} is gone"));
    // What was accepted is not accepted twice, and what was half accepted can be completed.
    for round in 0..ROUNDS {
        let file = format!("envelope{round}");
        let answer = world.run(&["handoff", "accept", &file, "--agent", "bob", "--key-file", "mac.key"]);
        let known = known.there.get("accepted").is_some_and(|files| files.contains(&file));
        match answer.status {
            5 if answer.code() == "refused.replayed" => {}
            0 if !known => {}
            _ => panic!("{file} was {}accepted, and is now: {answer:?}", if known { "" } else { "not " }),
        }
    }
    let uses = of("cruxctl/reuse.jsonl").last().map_or(0, |event| event["times"].as_u64().unwrap());
    let most = known.reused + known.maybe_reused;
    assert!(
        (known.reused..=most).contains(&uses),
        "{case} was used {} to {most} times, and counts {uses}",
        known.reused
    );
    // Every number of an input was given once, and what was acknowledged has a result.
    let accepted = of("cruxctl/durable.jsonl").into_iter().filter(|event| event["op"] == "accept");
    let cursors: Vec<u64> = accepted
        .flat_map(|event| event["inputs"].as_array().unwrap().clone())
        .map(|input| input["cursor"].as_u64().unwrap())
        .collect();
    assert_eq!(cursors, (1..=cursors.len() as u64).collect::<Vec<_>>());
    let args = Task::Work.args();
    world.run(&args.iter().map(String::as_str).collect::<Vec<_>>()).ends(0);
    for input in known.there.get("inputs").into_iter().flatten() {
        world.run(&["durable", "result", "--input", input]).ends(0);
    }
    for journal in ["sessions", "cases", "facts", "durable"] {
        world.run(&["journal", "compact", journal]).ends(0);
    }
    world.run(&["journal", "check", "--full"]).ends(0);
}
