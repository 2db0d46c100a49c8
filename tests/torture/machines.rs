//! Small, full, locked-down and odd machines, and neighbours that know no lock.

use std::fs;
use std::io::Write;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;
use std::time::Duration;

use crate::calls::{Untouched, judged};
use crate::faults;
use crate::state;
use crate::support::{Mount, World, session_line};
use crate::tally::{Dice, Plan, Tally, spread};
use crate::verbs;

/// Does all of it.
pub fn run(plan: &Plan) -> Vec<Tally> {
    let full = Tally::new("a full disk, from no page free to eight");
    let locked = Tally::new("a read-only mount");
    let beside = Tally::new("a daemon that appends in two writes beside four writers");
    let clocks = Tally::new("clocks that jump between any two commands");
    let mut tallies = vec![full, locked, beside, clocks];
    let cases = verbs::cases();
    let untouched: Vec<Untouched> = cases.iter().map(Untouched::of).collect();
    // One after the other: mounts are the machine's.
    for case in &untouched {
        for pages in [0, 1, 2, 4, 8] {
            let story = || format!("cruxctl {} with {pages} pages free", case.case.name);
            tallies[0].try_it(story, || full_disk(case, pages));
        }
        tallies[1].try_it(|| format!("cruxctl {}", case.case.name), || read_only(case));
    }
    let lives: Vec<u64> = (0..if plan.long { 100 } else { 6 }).collect();
    spread(&lives, |life| {
        tallies[2].try_it(|| format!("life {life} of seed {}", plan.seed), || two_writes(plan.seed << 32 | *life));
        tallies[3].try_it(|| format!("life {life} of seed {}", plan.seed), || jumps(plan.seed << 32 | *life));
    });
    if plan.long {
        let large = Tally::new("1 GiB of journals and a line of 64 MiB in 200 MB of address space");
        large.try_it(|| "some verb".to_owned(), || larger_than_memory(&large));
        tallies.push(large);
    }
    tallies
}

const NOT_PERMITTED: &str = "may not mount here";

/// Space for what is there, and for so many pages more.
fn full_disk(untouched: &Untouched, pages: u64) -> String {
    let case = &untouched.case;
    let world = case.world_in(|dir| Mount::memory(dir, "3m"));
    let Some((world, _mount)) = world else { return NOT_PERMITTED.to_owned() };
    world.fill(pages * 4096);
    let answer = faults::run(faults::seeded(&world, &case.args(), 1), &case.input);
    let happened = answer.status != untouched.statuses[0];
    fs::remove_file(world.dir().join("filler")).unwrap();
    judged(untouched, &world, &answer, happened)
}

fn read_only(untouched: &Untouched) -> String {
    let case = &untouched.case;
    let world = case.world();
    fs::create_dir_all(world.dir()).unwrap();
    let before = state::read(&world);
    let Some(mount) = Mount::read_only(&world.dir()) else { return NOT_PERMITTED.to_owned() };
    let answer = faults::run(faults::seeded(&world, &case.args(), 1), &case.input);
    drop(mount);
    // What lies elsewhere, and what is only looked at, can be had.
    let elsewhere = case.name.starts_with("handoff keygen") || case.name.starts_with("journal report");
    assert!(elsewhere || state::read(&world) == before, "it has been written to: {answer:?}");
    let looks = elsewhere || case.name.starts_with("journal check");
    assert!(answer.status == 7 || looks && matches!(answer.status, 0 | 3), "{answer:?}");
    format!("ended with {}", answer.status)
}

/// Somebody appends whole lines in two writes, the line end later, as the daemon does.
fn two_writes(seed: u64) -> String {
    let world = World::new();
    fs::create_dir_all(world.dir()).unwrap();
    let (daemon, ours) = (AtomicU64::new(0), AtomicU64::new(0));
    fs::write(world.beside("state"), "1").unwrap();
    thread::scope(|scope| {
        scope.spawn(|| {
            let mut dice = Dice::new(seed);
            let path = world.dir().join("sessions.jsonl");
            let mut file = fs::OpenOptions::new().append(true).create(true).open(path).unwrap();
            for n in 0..60 {
                file.write_all(session_line(&format!("daemon{n}"), "1").as_bytes()).unwrap();
                thread::sleep(Duration::from_micros(dice.below(2_000)));
                file.write_all(b"\n").unwrap();
                daemon.fetch_add(1, Ordering::Relaxed);
                thread::sleep(Duration::from_micros(dice.below(3_000)));
            }
        });
        for writer in 0..4 {
            let (world, ours) = (&world, &ours);
            scope.spawn(move || {
                for n in 0..15 {
                    world.run(&["session", "put", &format!("own{writer}-{n}"), "--file", "state"]).ends(0);
                    ours.fetch_add(1, Ordering::Relaxed);
                }
            });
        }
    });
    let want = daemon.into_inner() + ours.into_inner();
    // Read twice, a record means the same.
    assert_eq!(world.session_ids().len() as u64, want);
    let word = match world.run(&["journal", "check"]).status {
        0 => "all of both are there",
        // Nobody can keep a line together that another writes in two pieces; a repair puts it right, and loses none.
        3 => {
            world.run(&["journal", "repair", "--apply", "--quiet"]).ends(0);
            assert_eq!(world.session_ids().len() as u64, want);
            world.run(&["journal", "check"]).ends(0);
            "all of both are there, some on one line"
        }
        status => panic!("the check ends with {status}"),
    };
    word.to_owned()
}

/// The order of the file decides, whatever the clocks say.
fn jumps(seed: u64) -> String {
    let mut world = World::new();
    let mut dice = Dice::new(seed);
    for n in 0..30 {
        let year = dice.of(&["0001", "1969", "1970", "2026", "2038", "9999"]);
        world.at(&format!("{year}-{:02}-28T23:59:{:02}Z", dice.below(12) + 1, dice.below(60)));
        world.run_with(&["session", "put", &format!("s{}", n % 3)], n.to_string()).ends(0);
        let args = ["case", "record", "--task", "t", "--action", "a", "--outcome", "o"];
        world.run(&args).ends(0);
        let got = world.run(&["session", "get", &format!("s{}", n % 3)]).ends(0);
        assert_eq!(got.text().trim(), n.to_string());
    }
    assert_eq!(world.live_ids("cases").len(), 30);
    "the last one written is the one that is there".to_owned()
}

/// What reads much needs memory for the longest line, and no more.
fn larger_than_memory(tally: &Tally) -> String {
    let world = World::new().damaged();
    fs::create_dir_all(world.dir()).unwrap();
    let folder = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
    std::os::unix::fs::symlink(folder.path().join("sessions.jsonl"), world.dir().join("sessions.jsonl")).unwrap();
    let mut file = std::io::BufWriter::new(fs::File::create(folder.path().join("sessions.jsonl")).unwrap());
    let state = format!("\"{}\"", "x".repeat(4_000));
    for n in 0..250_000 {
        writeln!(file, "{}", session_line(&format!("s{n}"), &state)).unwrap();
    }
    writeln!(file, "{}", session_line("long", &format!("\"{}\"", "y".repeat(64 << 20)))).unwrap();
    drop(file);
    fs::write(world.beside("state"), "1").unwrap();
    for verb in [
        "session get s249999",
        "session list --limit 3",
        "session put new --file state",
        "session history s1",
        "session delete s2",
        "journal check",
        "journal check --full",
        "journal log --last 3",
        "journal stat",
        "journal map",
        "journal export sessions",
        "journal repair",
        "journal compact sessions --dry-run",
        "journal compact sessions",
        "session get long",
        "doctor",
    ] {
        let answer = world.shell(&format!("ulimit -v 200000; cruxctl {verb} > out"));
        assert_eq!(answer.status, 0, "cruxctl {verb}: {answer:?}");
        tally.count("verbs ended with 0", 1);
    }
    "directory".to_owned()
}
