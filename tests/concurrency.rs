//! Many at once: writers wait for each other and nobody's record is lost, halved or stored twice over; readers wait
//! for nobody; a daemon that takes no lock disturbs nothing; and whoever dies with the lock leaves it free.

use std::collections::BTreeMap;
use std::fs::{self, File, OpenOptions};
use std::io::{BufRead, BufReader};
use std::os::unix::fs::MetadataExt;
use std::process::{Child, Command, Stdio};
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;
use std::time::Duration;

use serde_json::{Value, json};

use crate::support::{Answer, READERS, WRITERS, World, session_line, strace_is_waived};

const JOURNAL: &str = "sessions.jsonl";
const HALF: &str = "{\"op\":\"store\",\"session\":{\"session_id\":\"half\",\"state\":[1,2";

/// A world with two sessions and everything that a writer makes.
fn world() -> World {
    let world = World::new();
    world.put("a", "1");
    world.put("b", "2");
    world
}

/// The lock of a world's writers, held by this process until it is unlocked.
fn locked(world: &World) -> File {
    let file = OpenOptions::new().append(true).open(world.dir().join("cruxctl/lock")).unwrap();
    file.lock().unwrap();
    file
}

/// Waits until something is so; a generous guard keeps a broken program from hanging the tests.
fn guarded(what: &str, mut is_so: impl FnMut() -> bool) {
    for _ in 0..3000 {
        if is_so() {
            return;
        }
        thread::sleep(Duration::from_millis(10));
    }
    panic!("never seen: {what}");
}

/// Runs commands that all wait for the lock before the first of them gets it.
fn race(world: &World, commands: &[Vec<&str>]) -> Vec<Answer> {
    let lock = locked(world);
    let start = |args: &Vec<&str>| world.command(args).spawn().unwrap();
    let children: Vec<Child> = commands.iter().map(start).collect();
    let waiter = format!(":{} ", fs::metadata(world.dir().join("cruxctl/lock")).unwrap().ino());
    guarded("all commands wait for the lock", || {
        let locks = fs::read_to_string("/proc/locks").unwrap();
        locks.lines().filter(|line| line.contains("->") && line.contains(&waiter)).count() == commands.len()
    });
    lock.unlock().unwrap();
    children.into_iter().map(|child| Answer::from(child.wait_with_output().unwrap())).collect()
}

fn statuses(answers: &[Answer]) -> Vec<i32> {
    let mut statuses: Vec<i32> = answers.iter().map(|answer| answer.status).collect();
    statuses.sort_unstable();
    statuses
}

/// Each line of the sessions journal as JSON; one that is none fails the test.
fn whole_lines(world: &World) -> Vec<Value> {
    let bytes = world.read(JOURNAL);
    assert_eq!(bytes.last(), Some(&b'\n'));
    bytes[..bytes.len() - 1].split(|b| *b == b'\n').map(|line| serde_json::from_slice(line).unwrap()).collect()
}

#[test]
fn thirty_puts_started_by_a_shell_at_once_are_thirty_sessions() {
    let world = World::new();
    let answer = world.shell("for i in $(seq 30); do cruxctl session put s$i <<< '{}' & done; wait").ends(0);
    assert_eq!((answer.lines().len(), &*answer.stderr), (30, ""), "{answer:?}");
    let mut ids: Vec<String> = (1..=30).map(|i| format!("s{i}")).collect();
    ids.sort();
    assert_eq!(world.session_ids(), ids);
    assert_eq!(whole_lines(&world).len(), 30);
}

#[test]
fn records_of_every_size_written_at_once_are_whole() {
    let world = World::new();
    let sizes = [600, 70_000, 2_000_000];
    for size in sizes {
        fs::write(world.beside(&size.to_string()), json!("x".repeat(size)).to_string()).unwrap();
    }
    for round in 0..2 {
        // Of the large ones fewer: each writer reads what is there.
        let size = |n: usize| if n < 26 { sizes[n % 2] } else { sizes[2] };
        let start = |n: usize| {
            let (id, file) = (format!("r{round}n{n}"), size(n).to_string());
            world.command(&["session", "put", &id, "--file", &file]).spawn().unwrap()
        };
        let children: Vec<Child> = (0..30).map(start).collect();
        for child in children {
            Answer::from(child.wait_with_output().unwrap()).ends(0);
        }
    }
    let lines = whole_lines(&world);
    let mut lengths: Vec<usize> = lines.iter().map(|l| l["session"]["state"].as_str().unwrap().len()).collect();
    lengths.sort_unstable();
    let expected = [vec![sizes[0]; 26], vec![sizes[1]; 26], vec![sizes[2]; 8]].concat();
    assert_eq!(lengths, expected);
    assert_eq!(world.session_ids().len(), 60);
}

#[test]
fn appenders_beside_repairs_and_compactions_lose_nothing_and_readers_see_all_that_was_acknowledged() {
    let world = World::new();
    world.put("first", "0");
    let acknowledged: Mutex<BTreeMap<String, String>> = Mutex::new(BTreeMap::new());
    let writing = AtomicUsize::new(4);
    thread::scope(|scope| {
        for writer in 0..4 {
            let (world, acknowledged, writing) = (&world, &acknowledged, &writing);
            scope.spawn(move || {
                for n in 0..25 {
                    // Every fifth is written over the one before, so that compaction has something to drop.
                    let id = if n % 5 == 0 { format!("w{writer}") } else { format!("w{writer}n{n}") };
                    let answer = world.run_with(&["session", "put", &id], n.to_string());
                    if answer.status == 0 {
                        acknowledged.lock().unwrap().insert(id, n.to_string());
                    } else {
                        writing.store(0, Ordering::Release);
                        panic!("{answer:?}");
                    }
                }
                writing.fetch_sub(1, Ordering::Release);
            });
        }
        scope.spawn(|| {
            while writing.load(Ordering::Acquire) > 0 {
                // As a program leaves it that dies while it writes.
                world.append(JOURNAL, "{\"op\":\"store\",\"sess");
                world.run(&["journal", "repair", "sessions", "--apply"]).ends(0);
                world.run(&["journal", "compact", "sessions"]).ends(0);
            }
        });
        scope.spawn(|| {
            while writing.load(Ordering::Acquire) > 0 {
                let before: Vec<String> = acknowledged.lock().unwrap().keys().cloned().collect();
                let ids = world.session_ids();
                assert!(before.iter().all(|id| ids.contains(id)), "{before:?} were acknowledged, {ids:?} are seen");
            }
        });
    });
    world.run(&["journal", "repair", "sessions", "--apply"]).ends(0);
    world.run(&["journal", "compact", "sessions"]).ends(0);
    let mut expected = acknowledged.into_inner().unwrap();
    expected.insert("first".to_owned(), "0".to_owned());
    assert_eq!(expected.len(), 85);
    let lines = whole_lines(&world);
    assert_eq!(lines.len(), 85, "each id once");
    let found: BTreeMap<String, String> = lines
        .iter()
        .map(|line| &line["session"])
        .map(|doc| (doc["session_id"].as_str().unwrap().to_owned(), doc["state"].to_string()))
        .collect();
    assert_eq!(found, expected);
}

#[test]
fn of_two_writers_who_saw_the_same_state_one_wins_and_the_other_is_told_the_new_one() {
    let world = world();
    let hash = || world.run(&["session", "show", "a", "--json"]).ends(0).json()["hash"].as_str().unwrap().to_owned();
    for round in 0..5 {
        for side in ["x", "y"] {
            fs::write(world.beside(side), json!([round, side]).to_string()).unwrap();
        }
        let seen = hash();
        let put = |side| vec!["session", "put", "a", "--if-match", &seen, "--file", side, "--json"];
        let answers = race(&world, &[put("x"), put("y")]);
        assert_eq!(statuses(&answers), [0, 5], "{answers:?}");
        let loser = answers.iter().find(|answer| answer.status == 5).unwrap();
        assert_eq!(loser.code(), "refused.changed");
        assert!(loser.stderr.contains(&hash()) && hash() != seen, "{loser:?}");
        assert!(loser.stdout.is_empty(), "{loser:?}");
        let winner = if answers[0].status == 0 { "x" } else { "y" };
        let state = world.run(&["session", "get", "a"]).ends(0).json();
        assert_eq!(state, json!([round, winner]));
    }
}

#[test]
fn of_eight_who_want_to_be_the_first_one_is() {
    let world = world();
    for n in 0..8 {
        fs::write(world.beside(&n.to_string()), n.to_string()).unwrap();
    }
    for id in ["p", "q"] {
        let files: Vec<String> = (0..8).map(|n| n.to_string()).collect();
        let put = |file| vec!["session", "put", id, "--if-absent", "--file", file, "--json"];
        let answers = race(&world, &files.iter().map(|file| put(file)).collect::<Vec<_>>());
        assert_eq!(statuses(&answers), [0, 5, 5, 5, 5, 5, 5, 5], "{answers:?}");
        for (n, answer) in answers.iter().enumerate() {
            if answer.status == 0 {
                assert_eq!(world.run(&["session", "get", id]).ends(0).json(), n);
            } else {
                assert_eq!(answer.code(), "refused.exists");
            }
        }
    }
}

#[test]
fn who_does_not_get_the_lock_in_time_writes_nothing_and_readers_need_none() {
    let world = world();
    fs::write(world.beside("state"), "3").unwrap();
    let lock = locked(&world);
    let before = world.read(JOURNAL);
    for args in WRITERS {
        let answer = world.run(&[args, &["--lock-timeout", "100ms", "--json"]].concat());
        assert_eq!((answer.status, &*answer.code()), (6, "busy.lock"), "{args:?}: {answer:?}");
        assert!(world.read(JOURNAL) == before, "{args:?} has written");
    }
    for args in READERS {
        world.run(args).ends(0);
    }
    lock.unlock().unwrap();
    world.put("c", "3");
}

#[test]
fn what_a_lock_holder_is_still_writing_is_never_called_damage() {
    let record = session_line("hälf", "[1,2]") + "\n";
    let inside_character = record.find('ä').unwrap() + 1;
    for half in [1, 30, inside_character, record.len() - 10, record.len() - 2] {
        let world = world();
        fs::write(world.beside("state"), "3").unwrap();
        let lock = locked(&world);
        world.append(JOURNAL, &record.as_bytes()[..half]);
        for (n, args) in READERS.iter().enumerate() {
            let answer = world.run(args).ends(0);
            // What nobody can judge yet is simply no part of a plan.
            assert!(
                n >= READERS.len() - 3 || answer.stderr.contains("a write is in progress"),
                "{args:?}: {answer:?}"
            );
            let said = answer.text() + &answer.stderr;
            assert!(!said.contains("damage") && !said.contains("torn"), "{args:?}: {answer:?}");
        }
        let (status, report) = world.check(&[]);
        assert_eq!((status, &report["findings"], &report["journals"][0]["live"]), (0, &json!([]), &json!(2)));
        world.append(JOURNAL, &record.as_bytes()[half..]);
        lock.unlock().unwrap();
        assert_eq!(world.session_ids(), ["a", "b", "hälf"]);
    }
}

#[test]
fn a_lock_holder_that_is_killed_in_the_middle_of_a_line_leaves_the_lock_free() {
    let world = world().damaged();
    let script = format!(
        "exec 9>>{dir}/cruxctl/lock; flock 9; printf %s '{HALF}' >> {dir}/{JOURNAL}; echo ready; read line",
        dir = world.dir().display()
    );
    let mut holder =
        Command::new("bash").arg("-c").arg(script).stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
    let mut line = String::new();
    BufReader::new(holder.stdout.as_mut().unwrap()).read_line(&mut line).unwrap();
    assert_eq!(line, "ready\n");
    let answer = world.run(&["session", "list"]).ends(0);
    assert!(answer.stderr.contains("a write is in progress"), "{answer:?}");
    world.run_with(&["session", "put", "c", "--lock-timeout", "50ms"], "3").ends(6);

    holder.kill().unwrap();
    holder.wait().unwrap();
    let answer = world.run(&["session", "list"]).ends(3);
    assert!(answer.stderr.contains("torn-tail") && !answer.stderr.contains("in progress"), "{answer:?}");
    world.run_with(&["session", "put", "c", "--lock-timeout", "0s"], "3").ends(0);
    assert_eq!(world.session_ids(), ["a", "b", "c"]);
}

#[test]
fn a_lock_file_that_was_left_over_means_nothing() {
    for left in ["", "4711\n", "held by nobody"] {
        let world = World::new();
        fs::create_dir_all(world.dir().join("cruxctl")).unwrap();
        world.write("cruxctl/lock", left);
        world.run_with(&["session", "put", "a", "--lock-timeout", "0s"], "1").ends(0);
        assert_eq!(world.session_ids(), ["a"]);
        assert_eq!(world.read("cruxctl/lock"), left.as_bytes(), "it is never written to");
    }
}

#[test]
fn beside_a_daemon_that_takes_no_lock_and_writes_its_line_ends_apart_everything_is_readable() {
    // Where a daemon's record and ours met on one line, both are read, and check says that the daemon reads neither.
    let world = World::new().damaged();
    fs::create_dir_all(world.dir()).unwrap();
    let writing = AtomicUsize::new(4);
    let mut by_daemon = 0;
    thread::scope(|scope| {
        for writer in 0..4 {
            let (world, writing) = (&world, &writing);
            scope.spawn(move || {
                for n in 0..20 {
                    let answer = world.run_with(&["session", "put", &format!("w{writer}n{n}")], n.to_string());
                    if answer.status != 0 {
                        writing.store(0, Ordering::Release);
                        panic!("{answer:?}");
                    }
                }
                writing.fetch_sub(1, Ordering::Release);
            });
        }
        while writing.load(Ordering::Acquire) > 0 {
            world.append(JOURNAL, session_line(&format!("d{by_daemon}"), "1"));
            thread::yield_now();
            world.append(JOURNAL, "\n");
            by_daemon += 1;
            // Thousands of lines in the end would only make the test slow.
            thread::sleep(Duration::from_millis(2));
        }
    });
    let mut ids: Vec<String> = (0..4).flat_map(|w| (0..20).map(move |n| format!("w{w}n{n}"))).collect();
    ids.extend((0..by_daemon).map(|n| format!("d{n}")));
    ids.sort();
    assert_eq!(world.session_ids(), ids);
    world.run(&["journal", "repair", "--apply"]).ends(0);
    assert_eq!(world.check(&[]).0, 0);
    assert_eq!(world.session_ids(), ids);
}

/// Stops a put behind its last look at the journal and in front of its write.
fn stopped_before_its_write(world: &World) -> (Child, String) {
    let journal = world.dir().join(JOURNAL);
    let path = ["-P", journal.to_str().unwrap(), "-e", "trace=pread64,write"];
    let args = ["session", "put", "ours", "--file", "state"];
    // How often it looks is counted on a world like this one.
    let copy = self::world();
    fs::write(copy.beside("state"), "3").unwrap();
    let other = copy.dir().join(JOURNAL);
    let traced = copy.traced(&["-P", other.to_str().unwrap(), path[2], path[3]], &args, "");
    let write = traced.places("write", "")[0];
    let looks = traced.places("pread64", "").iter().filter(|place| **place < write).count();

    fs::write(world.beside("state"), "3").unwrap();
    let stop = format!("inject=pread64:signal=STOP:when={looks}");
    let child = world.strace(&[&path[..], &["-e", &stop]].concat(), &args).spawn().unwrap();
    let trace = world.beside("trace");
    guarded("the put is stopped", || fs::read_to_string(&trace).is_ok_and(|t| t.contains("stopped by SIGSTOP")));
    let pid = fs::read_to_string(&trace).unwrap().split(' ').next().unwrap().to_owned();
    (child, pid)
}

#[test]
fn a_record_that_a_daemons_line_got_in_front_of_is_written_again_on_a_line_of_its_own() {
    if strace_is_waived() {
        return;
    }
    for line_end in ["", "\n"] {
        let world = world().damaged();
        let (child, pid) = stopped_before_its_write(&world);
        world.append(JOURNAL, session_line("theirs", "1") + line_end);
        assert!(Command::new("kill").args(["-CONT", &pid]).status().unwrap().success());
        let traced = world.trace_of(child.wait_with_output().unwrap());
        assert_eq!(traced.answer.status, 0, "{traced:?}");
        assert_eq!(traced.places("write", "").len(), if line_end.is_empty() { 2 } else { 1 }, "{traced:?}");
        assert_eq!(traced.answer.stderr.contains("written again"), line_end.is_empty(), "{traced:?}");
        if line_end.is_empty() {
            world.append(JOURNAL, "\n");
        }
        assert_eq!(world.session_ids(), ["a", "b", "ours", "theirs"]);
        assert_eq!(world.run(&["session", "get", "ours", "--damaged-ok"]).ends(0).text(), "3\n");
        // The daemon, too, has our record: the last copy of it stands alone on its line.
        let lines = String::from_utf8(world.read(JOURNAL)).unwrap();
        assert!(
            lines.lines().any(|line| line.starts_with("{\"op\"")
                && line.matches("\"op\"").count() == 1
                && line.contains("\"ours\"")),
            "{lines}"
        );
        world.run(&["journal", "repair", "--apply"]).ends(0);
        assert_eq!(world.session_ids(), ["a", "b", "ours", "theirs"]);
        assert_eq!(world.check(&["--for-daemon"]).0, 0);
    }
}
