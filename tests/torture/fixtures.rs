//! Every fixture through every verb: each directory and each file of `tests/data`, what reads it and what writes to it.
//!
//! Reading changes nothing. Every status is one of the table, damage is never passed over, and whoever counts says the
//! same number. What a verb writes comes behind what was there, which stays byte for byte.

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::{Path, PathBuf};

use cruxctl::error::Kind;
use serde_json::Value;

use crate::given::{Fixture, JOURNALS, Told};
use crate::reader;
use crate::support::{Answer, World, before_repair, split_ids, tree};
use crate::tally::{Plan, Tally, spread};
use crate::typed::{Does, NOBODY, VERBS, Verb};

/// In which an answer is asked for.
const FORMATS: [&str; 3] = ["plain", "json", "jsonl"];

/// A piece of work: verbs as they are typed, or a journal to be counted.
enum Job<'j> {
    Read(Vec<(&'j Verb, Vec<String>)>, &'j Tally),
    Write(Vec<(&'j Verb, Vec<String>)>),
    Count(usize),
}

/// Does all of it.
pub fn run(plan: &Plan) -> Vec<Tally> {
    let fixtures = Fixture::all(plan);
    let names = [
        "reading, of what is there",
        "reading, of what is not there",
        "writing, with --dry-run",
        "writing",
        "counting",
        "a file as input, and as each journal",
    ];
    let [there, nobody, dry, writes, counts, input] = names.map(|name| Tally::new(format!("every fixture: {name}")));
    crate::typed::hold(&dry);
    let told: Vec<[Told; 7]> = fixtures.iter().map(|fixture| JOURNALS.map(|journal| fixture.told(journal))).collect();
    let mut jobs = Vec::new();
    for (fixture, told) in fixtures.iter().zip(&told) {
        for who in fixture.whos(plan, told) {
            let typed: Vec<(&Verb, Vec<String>)> = VERBS.iter().filter_map(|verb| verb.typed(&who)).collect();
            let (reading, writing): (Vec<_>, Vec<_>) =
                typed.into_iter().partition(|(verb, _)| verb.does.only_reads());
            // Those of a damaged journal wait for a writer that there is none: few of them at a time.
            let pieces =
                |typed: Vec<(&'static Verb, Vec<String>)>| typed.chunks(4).map(<[_]>::to_vec).collect::<Vec<_>>();
            let tally = if who.nobody { &nobody } else { &there };
            jobs.extend(pieces(reading).into_iter().map(|typed| (fixture, told, Job::Read(typed, tally))));
            jobs.extend(pieces(writing.clone()).into_iter().map(|typed| (fixture, told, Job::Read(typed, &dry))));
            jobs.extend(pieces(writing).into_iter().map(|typed| (fixture, told, Job::Write(typed))));
        }
        jobs.extend((0..JOURNALS.len()).map(|number| (fixture, told, Job::Count(number))));
    }
    spread(&jobs, |(fixture, told, job)| match job {
        Job::Read(typed, tally) => read(fixture, told, typed, plan, tally),
        Job::Write(typed) => {
            for (verb, args) in typed {
                writes.try_it(|| story(fixture, args), || write(fixture, verb, args));
            }
        }
        Job::Count(number) => {
            let journal = JOURNALS[*number];
            let story = || format!("{}: the counts of {journal}", fixture.name);
            counts.try_it(story, || count(fixture, journal, &told[*number]));
        }
    });
    let files = crate::given::files();
    spread(&files, |file| as_input(file, plan, &input));
    vec![there, nobody, dry, writes, counts, input]
}

fn story(fixture: &Fixture, args: &[String]) -> String {
    format!("{}: cruxctl {args:?}", fixture.name)
}

/// Everything below a folder but what a check may keep: bytes, mode and time of the last change of each file.
fn snapshot(folder: &Path) -> BTreeMap<PathBuf, (Vec<u8>, u32, i64, i64)> {
    let mut found = BTreeMap::new();
    for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
        let (path, data) = (entry.path(), entry.metadata().unwrap());
        // What a command was asked to write lies beside the directory.
        if path.ends_with("cruxctl/index")
            || path.ends_with("cruxctl/lock")
            || entry.file_name().to_string_lossy().starts_with("out")
        {
            continue;
        }
        if data.is_dir() {
            found.extend(snapshot(&path));
        } else {
            found.insert(path.clone(), (fs::read(&path).unwrap(), data.mode(), data.mtime(), data.mtime_nsec()));
        }
    }
    found
}

/// Runs verbs that change nothing, one after the other, in every format.
fn read(fixture: &Fixture, told: &[Told; 7], typed: &[(&Verb, Vec<String>)], plan: &Plan, tally: &Tally) {
    let world = fixture.world();
    let before = snapshot(&world.beside(""));
    for (n, (verb, args)) in typed.iter().enumerate() {
        // In the short form one verb has these formats, and the next one those.
        let (first, step) = if plan.long { (0, 1) } else { (n % 4, 4) };
        let mut args = args.clone();
        if verb.has_dry_run() {
            args.push("--dry-run".to_owned());
        }
        for format in FORMATS.into_iter().skip(first).step_by(step) {
            let mut args: Vec<&str> = args.iter().map(String::as_str).collect();
            args.splice(1..1, ["--format", format]);
            let story = || format!("{}: cruxctl {args:?}", fixture.name);
            tally.try_it(story, || {
                let answer = world.run_with(&args, verb.input);
                formed(&answer, verb, format);
                judge(&answer, verb, told, &args);
                assert!(snapshot(&world.beside("")) == before, "it has changed something: {answer:?}");
                let kept = world.dir().join("cruxctl").exists()
                    && !before.keys().any(|p| p.starts_with(world.dir().join("cruxctl")));
                assert!(!kept || verb.line.starts_with("journal check"), "it has made a folder: {answer:?}");
                if kept {
                    fs::remove_dir_all(world.dir().join("cruxctl")).unwrap();
                }
                format!("ended with {}", answer.status)
            });
        }
    }
}

/// Holds the form of an answer against what machines read.
fn formed(answer: &Answer, verb: &Verb, format: &str) {
    let statuses: Vec<i32> = Kind::ALL.iter().map(|kind| i32::from(kind.status())).collect();
    assert!(answer.status == 0 || statuses.contains(&answer.status), "no status of the table: {answer:?}");
    if format == "plain" {
        return;
    }
    answer.talk();
    let text = String::from_utf8(answer.stdout.clone()).unwrap_or_else(|_| panic!("no UTF-8: {answer:?}"));
    let objects: Vec<&str> = match format {
        _ if verb.does == Does::PrintsText => return,
        "json" => Some(&*text).filter(|text| !text.is_empty()).into_iter().collect(),
        _ => text.lines().collect(),
    };
    for object in objects {
        let right = reader::json(object.as_bytes());
        assert!(right.is_ok(), "no JSON: {right:?}: {answer:?}");
    }
    // What would be minted is not printed.
    let minted = verb.line.starts_with("handoff create");
    assert!(format != "json" || answer.status != 0 || minted || !text.is_empty(), "nothing is said: {answer:?}");
}

/// Holds a status against what is known of the journals.
fn judge(answer: &Answer, verb: &Verb, told: &[Told; 7], args: &[&str]) {
    let all: Vec<&Told> =
        JOURNALS.iter().zip(told).filter(|(name, _)| verb.journals.contains(name)).map(|(_, told)| told).collect();
    let damaged = all.iter().any(|told| told.unreadable > 0);
    let doubtful = all.iter().any(|told| told.doubtful > 0);
    let missing = args.contains(&NOBODY);
    let right = match verb.does {
        Does::Reads if damaged => answer.status == 3,
        Does::Reads if doubtful => [0, 1, 3].contains(&answer.status),
        Does::Reads if missing => answer.status == 1,
        Does::Reads => answer.status == 0,
        // A query or a text may have no match.
        Does::Finds if damaged => answer.status == 3,
        Does::Finds => [0, 1].contains(&answer.status),
        _ => true,
    };
    assert!(right, "the status is wrong: damaged {damaged}, doubtful {doubtful}, missing {missing}: {answer:?}");
}

/// Runs a verb that writes; what was there must still be there.
fn write(fixture: &Fixture, verb: &Verb, args: &[String]) -> String {
    let world = fixture.world();
    let before = files(&world);
    let checked = world.run(&["journal", "check", "--dry-run", "--quiet"]).status;
    let ids: Vec<Vec<String>> = JOURNALS.iter().map(|journal| world.live_ids(journal)).collect();
    let args: Vec<&str> = args.iter().map(String::as_str).collect();
    let dry = world.run_with(&[&args[..], &["--dry-run"]].concat(), verb.input).status;
    let answer = world.run_with(&args, verb.input);
    formed(&answer, verb, "plain");
    let status = answer.status;
    assert!(dry == status, "it ended with {dry} when it was only asked what it would do: {answer:?}");
    let now = files(&world);
    for (path, bytes) in &before {
        let name = path.file_stem().unwrap_or_default().to_string_lossy().into_owned();
        let there = now.get(path).unwrap_or_else(|| panic!("{path:?} is gone: {answer:?}"));
        let right = match verb.does {
            Does::Repairs if path.extension().is_some_and(|end| end == "jsonl") => {
                before_repair(&world, &name) == *bytes
            }
            Does::Compacts(journal) if journal == name && answer.status == 0 => {
                let number = JOURNALS.iter().position(|own| *own == name).unwrap();
                world.live_ids(journal) == ids[number]
            }
            Does::Appends => there.starts_with(bytes),
            _ => there == bytes,
        };
        assert!(right, "{path:?} is not what it was: {answer:?}");
    }
    if !matches!(answer.status, 0 | 3) {
        let right = now == before;
        assert!(right, "it has failed and written: {answer:?}");
    }
    let check = world.run(&["journal", "check", "--quiet"]);
    let mended = verb.does == Does::Repairs && answer.status == 0;
    let want = if mended { 0 } else { checked };
    assert!(
        check.status == want,
        "the check ended with {checked} before and with {}: {answer:?} {check:?}",
        check.status
    );
    format!("ended with {}", answer.status)
}

/// The bytes of every file of a world but those that are only kept to be faster, and the lock.
fn files(world: &World) -> BTreeMap<PathBuf, Vec<u8>> {
    let root = world.beside("");
    let inside = |path: PathBuf| path.strip_prefix(&root).unwrap().to_owned();
    snapshot(&root).into_iter().map(|(path, (bytes, ..))| (inside(path), bytes)).collect()
}

/// Asks everybody who counts how many live records a journal has.
fn count(fixture: &Fixture, journal: &str, told: &Told) -> String {
    let world = fixture.world();
    let ask = |line: &str| {
        let args: Vec<&str> = line.split(' ').collect();
        let answer = world.run(&args);
        assert!(matches!(answer.status, 0 | 3), "{answer:?}");
        answer
    };
    let mut counts: Vec<(&str, u64)> = Vec::new();
    for verb in ["check --dry-run", "stat", "check", "check --full"] {
        let report = ask(&format!("journal {verb} {journal} --json")).json();
        counts.push((verb, report["journals"][0]["live"].as_u64().unwrap()));
    }
    let mut ids = |who, line: &str| {
        let ids = split_ids(&ask(&format!("{line} --format id -0")).stdout);
        counts.push((who, ids.len() as u64));
        ids
    };
    let exported = ids("export", &format!("journal export {journal}"));
    let listed = match journal {
        "sessions" => ids("list", "session list --all --all-agents"),
        "cases" => ids("list", "case list"),
        "facts" => ids("list", "fact list --all --all-agents"),
        "handoffs" => ids("list", "handoff list"),
        "durable" => ids("list", "durable list --deleted"),
        _ => exported.clone(),
    };
    assert!(listed == exported || journal == "handoffs", "other ids are listed: {listed:?}, {exported:?}");
    // Of facts more is to be known, and a durable session stays when it is deleted.
    if !["facts", "durable"].contains(&journal) {
        let log = ask(&format!("journal log {journal} --json")).json();
        let mut live = std::collections::BTreeSet::new();
        for event in log["events"].as_array().unwrap() {
            // What is foreign has no id.
            let Some(id) = event["id"].as_str() else { continue };
            match event["op"].as_str().unwrap() {
                "delete" => drop(live.remove(id)),
                _ => drop(live.insert(id.to_owned())),
            }
        }
        counts.push(("log", live.len() as u64));
    }
    if told.unreadable + told.doubtful == 0
        && let Some(live) = told.live
    {
        counts.push(("the model", live));
    }
    if let Some(live) = fixture.daemon_counts(journal) {
        counts.push(("the daemon", live));
    }
    assert!(counts.iter().all(|(_, count)| *count == counts[0].1), "{counts:?}");
    let who = if counts.len() > 7 { "with the model's count" } else { "all alike" };
    who.to_owned()
}

/// Gives a file to every verb that takes one, and puts it in the place of every journal.
fn as_input(file: &Path, plan: &Plan, tally: &Tally) {
    let world = World::copy_of("tests/data/daemon/small/data").damaged();
    crate::given::beside(&world);
    let given = world.beside("given");
    fs::copy(tree("tests/data").join(file), &given).unwrap();
    fs::set_permissions(&given, fs::Permissions::from_mode(0o600)).unwrap();
    let before = snapshot(&world.beside(""));
    for line in crate::typed::TAKES {
        for format in FORMATS.into_iter().filter(|format| plan.long || *format == "json") {
            let args: Vec<&str> = line.split(' ').chain(["--format", format]).collect();
            tally.try_it(
                || format!("{file:?}: cruxctl {args:?}"),
                || {
                    let answer = world.run(&args);
                    formed(&answer, &VERBS[0], format);
                    assert!(snapshot(&world.beside("")) == before, "it has changed something: {answer:?}");
                    format!("ended with {}", answer.status)
                },
            );
        }
    }
    let bytes = fs::read(&given).unwrap();
    for journal in JOURNALS.into_iter().take(if plan.long { 7 } else { 3 }) {
        let place = if JOURNALS[..3].contains(&journal) { "" } else { "cruxctl/" };
        let files = BTreeMap::from([(format!("{place}{journal}.jsonl"), bytes.clone())]);
        let fixture = Fixture { name: format!("{} as {journal}", file.display()), files, manifest: Value::Null };
        let told = fixture.told(journal);
        tally.try_it(|| fixture.name.clone(), || count(&fixture, journal, &told));
        let world = fixture.world();
        tally.try_it(
            || fixture.name.clone(),
            || {
                let answer = world.run(&["journal", "check", journal, "--json"]);
                formed(&answer, &VERBS[0], "json");
                let want = i32::from(told.unreadable > 0) * 3;
                assert!(answer.status == want || told.doubtful > 0, "{told:?}: {answer:?}");
                format!("ended with {}", answer.status)
            },
        );
    }
}
