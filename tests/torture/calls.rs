//! Every system call of every verb that writes: made to fail, cut short, or made the last one, one after the other,
//! until the verb succeeds untouched.
//!
//! After each the directory must be in the state in which it was or in the one in which the verb leaves it, the status
//! must say which, and the same command typed again must do what is left.

use std::collections::BTreeMap;

use serde_json::Value;

use crate::faults::{self, Fault};
use crate::state::{self, State};
use crate::support::{Answer, World};
use crate::tally::{self, Plan, Tally, spread};
use crate::verbs::{self, Case, Half};

/// What happens, to which calls, and as what it is counted.
struct Way {
    what: &'static str,
    calls: &'static str,
    how: &'static str,
    on: bool,
    /// In the long form alone.
    long: bool,
}

impl Way {
    /// At which calls it happens: in the short form, of those of which there are very many, at some.
    fn calls(&self, plan: &Plan, case: usize) -> impl Iterator<Item = u32> {
        let many = matches!(self.calls, "read" | "open" | CHANGES);
        let step = if many && !plan.long { 16 } else { 1 };
        let first = u32::try_from((case as u64 + plan.seed) % step).unwrap_or_default() + 1;
        (first..10_000).step_by(usize::try_from(step).unwrap_or(1))
    }
}

const fn way(what: &'static str, calls: &'static str, how: &'static str, on: bool, long: bool) -> Way {
    Way { what, calls, how, on, long }
}

const WRITES: &str = "write,pwrite";
const CHANGES: &str = "open,write,pwrite,fdatasync,fsync,ftruncate,flock,rename,unlink,mkdir,fchmod";

const WAYS: &[Way] = &[
    way("write fails: no space", WRITES, "errno:28", false, false),
    way("write fails from then on: no space", WRITES, "errno:28", true, true),
    way("write fails: I/O", WRITES, "errno:5", false, true),
    way("write is cut short, the next fails: no space", WRITES, "short+errno:28", false, false),
    way("the same, and it cannot be undone", "write,pwrite,ftruncate", "short+errno:28", false, false),
    way("write is cut short", WRITES, "short", false, false),
    way("write is interrupted", WRITES, "errno:4", false, true),
    way("sync fails: I/O", "fdatasync,fsync", "errno:5", false, false),
    way("sync fails from then on: no space", "fdatasync,fsync", "errno:28", true, true),
    way("rename fails: I/O", "rename", "errno:5", false, false),
    way("rename fails: no space", "rename", "errno:28", false, true),
    way("open fails: too many open files", "open", "errno:24", false, false),
    way("open fails: permission", "open", "errno:13", false, true),
    way("truncate fails: I/O", "ftruncate", "errno:5", false, false),
    way("lock fails: no locks", "flock", "errno:37", true, false),
    way("mkdir fails: no space", "mkdir", "errno:28", false, false),
    way("remove fails: permission", "unlink", "errno:13", false, false),
    way("change of mode fails", "fchmod", "errno:1", false, true),
    way("read fails: I/O", "read", "errno:5", false, false),
    way("stat fails: I/O", "stat", "errno:5", false, true),
    way("killed in front of a call", CHANGES, "kill-before", false, true),
    way("killed halfway through a write", WRITES, "kill-half", false, false),
    way("killed behind a call", CHANGES, "kill-after", false, false),
];

/// What a verb does to a directory when nothing happens.
pub struct Untouched {
    pub case: Case,
    old: State,
    new: State,
    /// What the verb ends with, and what it ends with when it is typed again.
    pub statuses: [i32; 2],
    /// What the directory is like when it was typed once, and twice.
    shapes: [BTreeMap<String, Vec<String>>; 2],
    /// What the check says afterwards.
    checked: i32,
}

impl Untouched {
    pub fn of(case: &Case) -> Untouched {
        let world = case.world();
        let (old, _) = state::read(&world);
        let first = faults::run(faults::seeded(&world, &case.args(), 1), &case.input);
        let (new, _) = state::read(&world);
        let checked = world.run(&["journal", "check", "--quiet"]).status;
        let second = faults::run(faults::seeded(&world, &case.args(), 2), &case.input);
        let (twice, _) = state::read(&world);
        assert!(matches!(first.status, 0 | 3), "{}: {first:?}", case.name);
        let statuses = [first.status, second.status];
        Untouched { case: case.clone(), shapes: [new.shape(), twice.shape()], old, new, statuses, checked }
    }
}

/// Does all of it.
pub fn run(plan: &Plan) -> Vec<Tally> {
    let cases = verbs::cases();
    let mut untouched: Vec<Untouched> = cases.iter().map(Untouched::of).collect();
    untouched.sort_by(|a, b| a.case.name.cmp(&b.case.name));
    let ways: Vec<&Way> = WAYS.iter().filter(|way| plan.long || !way.long).collect();
    let tallies: Vec<Tally> = ways.iter().map(|way| Tally::new(way.what)).collect();
    // In the short form each verb has every other way, and the next verb the others; but all those that seldom happen.
    let seldom = |way: usize| matches!(ways[way].calls, "ftruncate" | "mkdir" | "unlink" | "rename");
    let wanted = |way: usize, case: usize| plan.long || seldom(way) || (way + case) as u64 % 2 == plan.seed % 2;
    let all = (0..untouched.len()).flat_map(|case| (0..ways.len()).map(move |way| (way, case)));
    let jobs: Vec<(usize, usize)> = all.filter(|(way, case)| wanted(*way, *case)).collect();
    spread(&jobs, |(way, case)| {
        each_call(ways[*way], ways[*way].calls(plan, *case), &untouched[*case], &tallies[*way])
    });
    for tally in &tallies {
        if tally.tried() == 0 {
            tally.lost("it has never happened: nothing was shown".to_owned());
        }
    }
    tallies
}

/// Makes it happen at one call after the other.
fn each_call(way: &Way, calls: impl Iterator<Item = u32>, untouched: &Untouched, tally: &Tally) {
    for nth in calls {
        let fault = Fault { calls: way.calls, how: way.how, nth, on: way.on };
        let case = &untouched.case;
        let mut happened = None;
        let story = |happened: &Option<String>| {
            format!(
                "cruxctl {}: at call {nth} ({})",
                case.name,
                happened.as_deref().unwrap_or("which was never made")
            )
        };
        let mut end = String::new();
        let fine = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
            let world = case.world();
            let (answer, at) = faults::hit(&world, &case.args(), &case.input, 1, &fault);
            happened = at;
            end = judged(untouched, &world, &answer, happened.is_some());
        }));
        match fine {
            Ok(()) if happened.is_none() => return,
            Ok(()) => tally.count(&end, 1),
            Err(panic) => {
                tally.lost(format!("{}: {}", story(&happened), tally::words(&*panic)));
                if happened.is_none() {
                    return;
                }
            }
        }
    }
}

/// Holds a directory to which something has happened against what it may be; says how the command ended.
pub fn judged(untouched: &Untouched, world: &World, answer: &Answer, happened: bool) -> String {
    let Untouched { case, old, new, statuses, shapes, checked } = untouched;
    let (now, fragments) = state::read(world);
    let (undone, done) = (now == *old, now == *new);
    // Where a verb changes nothing, it is both.
    let word = match (undone, done) {
        (_, true) => "new",
        (true, _) => "old",
        _ => "between",
    };
    let status = answer.status;
    let half = !undone && !done && is_half(case.half, &now, old, new);
    let right = match status {
        _ if !happened => done && status == statuses[0],
        // It has worked all the same, or around it.
        _ if status == statuses[0] => done,
        // A page is also made of what could be read.
        7 => {
            undone
                || (half && case.half == Half::Steps)
                || case.name == "journal report"
                || answer.code() == "environment.stdout"
        }
        // What cannot be said to be there or not may be either.
        8 | 137 => undone || done || half,
        _ => false,
    };
    assert!(right, "the status is {status}, and the state is the {word} one: {answer:?}");
    assert!(status != 7 || !case.replaces || copies(world).is_empty(), "copies are left: {:?}", copies(world));
    // What is left of a write of its own is told, and hides nothing.
    let torn = fragments.iter().any(|(_, bytes)| bytes.starts_with(b"{\"op\"")) && !case.damaged && !case.replaces;
    assert!(
        !torn || matches!(status, 8 | 137) || answer.stderr.contains("remain"),
        "{fragments:?} are left, unsaid: {answer:?}"
    );
    // The same command does what is left to do.
    let again = faults::run(faults::seeded(world, &case.args(), 2), &case.input);
    let (after, _) = state::read(world);
    let (want, may) = if done && !undone { (&shapes[1], statuses[1]) } else { (&shapes[0], statuses[0]) };
    let shape = after.shape();
    let right = match case.half {
        // What was half there is completed.
        Half::Steps => statuses.contains(&again.status) && shapes.contains(&shape),
        Half::Records if half => again.status == may && is_behind(&after, &now, old, new),
        // No key is written over.
        Half::Files if half => again.status == 5 && after == now,
        _ => again.status == may && shape == *want,
    };
    assert!(right, "{word}, {status}; typed again it ended with {again:?} and has {shape:#?}, not {want:#?}");
    // Nobody needs help, but for bytes of a write that was killed.
    let check = world.run(&["journal", "check"]);
    let clean = check.status == *checked || torn && check.status == 3;
    assert!(clean, "{word}, {status}; the check ends with {}: {check:?}", check.status);
    if torn {
        world.run(&["journal", "repair", "--apply", "--quiet"]).ends(0);
        world.run(&["journal", "check"]).ends(0);
        assert!(state::read(world).0.shape() == shape, "the repair has changed what was there");
    }
    format!("ended with {status}")
}

/// Whether this is what there may be between an old state and a new one.
fn is_half(half: Half, now: &State, old: &State, new: &State) -> bool {
    match half {
        Half::Never => false,
        Half::Steps => true,
        Half::Records => {
            now.files == new.files
                && each_file(now, old, new, |now, old, new| {
                    now.len() >= old.len() && now.len() <= new.len() && now == &new[..now.len()]
                })
        }
        Half::Files => {
            now.events == new.events && now.files.iter().all(|(file, bytes)| new.files.get(file) == Some(bytes))
        }
    }
}

/// Whether a state has all that was there, and then once more what a verb adds.
fn is_behind(after: &State, now: &State, old: &State, new: &State) -> bool {
    let adds: usize =
        new.events.values().map(Vec::len).sum::<usize>() - old.events.values().map(Vec::len).sum::<usize>();
    let count = |state: &State| state.events.values().map(Vec::len).sum::<usize>();
    count(after) == count(now) + adds && each_file(after, now, after, |after, now, _| after.starts_with(now))
}

fn each_file(a: &State, b: &State, c: &State, holds: impl Fn(&[Value], &[Value], &[Value]) -> bool) -> bool {
    let of = |state: &State, file: &str| state.events.get(file).cloned().unwrap_or_default();
    c.events.keys().all(|file| holds(&of(a, file), &of(b, file), &of(c, file)))
}

/// Copies that should have become a journal.
fn copies(world: &World) -> Vec<String> {
    let entries = std::fs::read_dir(world.dir()).into_iter().flatten().flatten();
    entries
        .map(|entry| entry.file_name().to_string_lossy().into_owned())
        .filter(|name| name.ends_with(".tmp"))
        .collect()
}
