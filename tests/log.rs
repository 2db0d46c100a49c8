//! The log: every event once and in order, also while others write, compact and move the journals.

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use cruxctl::error::Code;
use serde_json::{Value, json};

use crate::support::{World, session_line, words};

/// The events that a log prints as JSON Lines.
fn events(text: &str) -> Vec<Value> {
    text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

fn logged(world: &World, line: &str) -> Vec<Value> {
    let answer = world.run(&[&["journal", "log"], &words(line)[..], &["--format", "jsonl"]].concat());
    events(&answer.ends(0).text())
}

fn member(events: &[Value], name: &str) -> Vec<String> {
    events.iter().map(|event| event[name].as_str().unwrap_or("-").to_owned()).collect()
}

/// A `store` line of a session that was written at this second.
fn written(id: &str, second: u32) -> String {
    session_line(id, "1").replace("2026-01-01T00:00:00Z", &format!("2026-01-01T00:00:{second:02}Z")) + "\n"
}

fn fact(id: &str, second: u32) -> Value {
    json!({"fact_id": id, "entity": "e", "key": "k", "value": "v", "confidence": 1,
           "stored_at": format!("2026-01-01T00:00:{second:02}Z"), "tokens": 1, "deleted": false})
}

/// Three journals with events of each kind, one after the other and across.
fn three() -> World {
    let world = World::new();
    fs::create_dir_all(world.dir()).unwrap();
    let delete = "{\"op\":\"delete\",\"session_id\":\"a\"}\n".to_owned();
    let dated = "{\"op\":\"delete\",\"session_id\":\"b\",\"deleted_at\":\"2026-01-01T00:00:33Z\"}\n".to_owned();
    world.write("sessions.jsonl", [written("a", 10), delete, written("b", 30), dated, written("c", 20)].concat());
    let batch = json!({"op": "store_batch", "facts": [fact("f_2", 15), fact("f_3", 16)]});
    let facts = [
        json!({"op": "store", "fact": fact("f_1", 5)}),
        batch,
        json!({"op": "supersede", "fact_id": "f_1", "by_fact_id": "f_2", "superseded_at": "2026-01-01T00:00:17+00:00"}),
        json!({"op": "delete", "fact_id": "f_3", "deleted_at": "2026-01-01T00:00:40+00:00"}),
    ];
    world.write("facts.jsonl", facts.map(|fact| format!("{fact}\n")).concat());
    world
}

#[test]
fn events_of_all_journals_come_in_the_order_of_their_times() {
    let world = three();
    let all = logged(&world, "");
    let told: Vec<String> =
        all.iter().map(|e| format!("{} {}", e["op"].as_str().unwrap(), e["id"].as_str().unwrap())).collect();
    assert_eq!(
        told,
        [
            "store f_1",
            "store a",
            "delete a",
            "store_batch f_2",
            "store_batch f_3",
            "supersede f_1",
            "store b",
            "delete b",
            "store c",
            "delete f_3"
        ]
    );
    assert!(all[2]["time"].is_null() && all[7]["time"] == "2026-01-01T00:00:33Z", "{all:?}");
    assert_eq!(all[8]["time"], "2026-01-01T00:00:20Z");
    // Each lies where it says.
    for event in &all {
        let journal = world.read(&format!("{}.jsonl", event["journal"].as_str().unwrap()));
        let number = |name: &str| usize::try_from(event[name].as_u64().unwrap()).unwrap();
        let text = &journal[number("offset")..number("offset") + number("bytes")];
        let record: Value = serde_json::from_slice(text).unwrap();
        assert!(record.to_string().contains(event["id"].as_str().unwrap()), "{event}");
        assert_eq!(number("line"), 1 + journal[..number("offset")].iter().filter(|b| **b == b'\n').count());
    }
    let one = logged(&world, "sessions");
    assert_eq!(member(&one, "id"), ["a", "a", "b", "b", "c"]);
}

#[test]
fn a_log_is_narrowed_by_id_op_and_time() {
    let world = three();
    assert_eq!(member(&logged(&world, "--id f_1"), "op"), ["store", "supersede"]);
    // What names it elsewhere counts, and of a list only its own record.
    assert_eq!(member(&logged(&world, "--id f_2"), "op"), ["store_batch", "supersede"]);
    assert_eq!(member(&logged(&world, "--op delete"), "id"), ["a", "b", "f_3"]);
    assert_eq!(member(&logged(&world, "--op supersede,store_batch"), "id"), ["f_2", "f_3", "f_1"]);
    assert_eq!(member(&logged(&world, "--since 2026-01-01T00:00:33Z"), "id"), ["b", "f_3"]);
    assert_eq!(member(&logged(&world, "--until 2026-01-01T00:00:10Z"), "id"), ["f_1", "a", "a"]);
    assert_eq!(member(&logged(&world, "--last 2"), "id"), ["c", "f_3"]);
    assert!(logged(&world, "--last 0").is_empty() && logged(&world, "--id nobody").is_empty());
    let odd = world.run(&words("journal log --op stored"));
    assert!(odd.status == 0 && odd.stderr.contains("no op of these journals is called \"stored\""), "{odd:?}");
    world.run(&words("journal log --since tomorrow --json")).fails(Code::UsageArguments);
    world.run(&words("journal log --follow --json")).fails(Code::UsageArguments);
    world.run(&words("journal log --follow --until 1h --format jsonl")).fails(Code::UsageArguments);
}

#[test]
fn the_last_of_very_many_events_are_the_same_as_those_behind_the_others() {
    let lines: String = (0..150_000).map(|n| written(&format!("s{n}"), n % 60)).collect();
    let world = World::with("sessions.jsonl", lines);
    for (last, from) in [("3", "149998"), ("120000", "30001"), ("200000", "1")] {
        let line =
            format!("cmp <(cruxctl journal log --last {last}) <(cruxctl journal log | tail -n +{from}) && echo same");
        assert_eq!(world.shell(&line).ends(0).text(), "same\n", "{last}");
    }
}

#[test]
fn a_damaged_journal_is_logged_as_far_as_it_can_be_read() {
    let text = written("a", 1) + "{\"op\":\"sto\n" + "{\"op\":\"rename\",\"session_id\":\"a\"}\n" + &written("b", 2);
    let world = World::with("sessions.jsonl", text).damaged();
    let answer = world.run(&words("journal log --format jsonl"));
    assert_eq!(answer.status, 3);
    assert_eq!(member(&events(&answer.text()), "op"), ["store", "rename", "store"]);
    assert!(answer.stderr.contains("line 2"), "{answer:?}");
    let nothing = World::new();
    assert!(nothing.run(&words("journal log")).ends(0).stdout.is_empty() && !nothing.dir().exists());
}

#[test]
fn a_long_log_is_cut_short_quietly() {
    let lines: String = (0..20_000).map(|n| written(&format!("s{n}"), n % 60)).collect();
    let world = World::with("sessions.jsonl", lines);
    let answer = world.shell("cruxctl journal log | head -n 1; echo ${PIPESTATUS[0]}");
    assert!(answer.text().ends_with("\n0\n") && answer.stderr.is_empty(), "{answer:?}");
    assert_eq!(world.shell("cruxctl journal log | wc -l").text().trim(), "20000");
    // Nobody reads any more, and nothing comes: a follower does not wait for ever.
    let followed = world.shell("cruxctl journal log --follow --last 1 | head -n 1; echo done");
    assert!(followed.text().ends_with("done\n"), "{followed:?}");
}

/// A log that is followed into a file.
struct Followed {
    child: Child,
    world: World,
}

impl Followed {
    fn begin(world: World, line: &str) -> Followed {
        let args = [&["journal", "log", "--follow", "--format", "jsonl"], &words(line)[..]].concat();
        let mut command = world.command(&args);
        command
            .stdout(File::create(world.beside("log")).unwrap())
            .stderr(File::create(world.beside("talk")).unwrap());
        Followed { child: command.stdin(Stdio::null()).spawn().unwrap(), world }
    }

    fn so_far(&self) -> Vec<Value> {
        let text = fs::read_to_string(self.world.beside("log")).unwrap();
        // The last line may be half written.
        events(&text[..text.rfind('\n').map_or(0, |end| end + 1)])
    }

    /// Waits until an event about this id was shown.
    fn shows(&self, id: &str) {
        let since = Instant::now();
        while !self.so_far().iter().any(|event| event["id"] == id) {
            assert!(since.elapsed() < Duration::from_secs(60), "{id} was never shown: {:?}", self.so_far().last());
            thread::sleep(Duration::from_millis(5));
        }
    }

    fn put(&self, id: &str, state: &str) {
        self.world.run_with(&["session", "put", id, "--lock-timeout", "60s"], state).ends(0);
    }

    /// Ends it, and hands out what it has shown and said.
    fn end(mut self) -> (Vec<Value>, String, World) {
        self.put("the end", "0");
        self.shows("the end");
        self.child.kill().unwrap();
        self.child.wait().unwrap();
        let (events, talk) = (self.so_far(), fs::read_to_string(self.world.beside("talk")).unwrap());
        (events, talk, self.world)
    }
}

#[test]
fn a_followed_log_shows_every_event_once_beside_eight_writers_and_compactions() {
    let world = World::new();
    world.run_with(&words("session put before"), "0").ends(0);
    let log = Followed::begin(world, "sessions");
    log.shows("before");
    thread::scope(|scope| {
        let log = &log;
        for writer in 0..8 {
            scope.spawn(move || {
                for n in 0..25 {
                    // Each is told apart by its length, and most are dead soon.
                    log.put(&format!("w{writer}-{}", n % 3), &format!("\"{}\"", "x".repeat(n)));
                }
            });
        }
        for n in 0..4 {
            log.world.run(&words("journal compact sessions --lock-timeout 60s")).ends(0);
            // The next file comes when this one was seen.
            log.put(&format!("marker-{n}"), "0");
            log.shows(&format!("marker-{n}"));
        }
    });
    let (events, talk, _) = log.end();
    let mut times: BTreeMap<(String, u64), u32> = BTreeMap::new();
    for event in &events {
        *times.entry((event["id"].as_str().unwrap().to_owned(), event["bytes"].as_u64().unwrap())).or_default() += 1;
    }
    assert_eq!(events.len(), 1 + 8 * 25 + 4 + 1, "{talk}");
    assert!(times.values().all(|times| *times == 1), "{times:?}");
    assert!(talk.contains("was compacted or repaired"), "{talk}");
    assert!(!talk.contains("another file"), "{talk}");
}

#[test]
fn a_followed_log_goes_on_behind_a_file_that_was_moved_away() {
    let world = World::with("sessions.jsonl", written("a", 1) + &written("b", 2)).damaged();
    let log = Followed::begin(world, "sessions --last 1");
    log.shows("b");
    let path = log.world.dir().join("sessions.jsonl");
    fs::rename(&path, log.world.beside("sessions.1")).unwrap();
    // The daemon still writes to the old one.
    fs::OpenOptions::new()
        .append(true)
        .open(log.world.beside("sessions.1"))
        .map(|mut old| {
            std::io::Write::write_all(&mut old, written("late", 3).as_bytes()).unwrap();
        })
        .unwrap();
    log.shows("late");
    log.put("new", "1");
    log.shows("new");
    // A copy without some of its lines takes the place of the file: what was seen is not shown again.
    let kept = written("c", 4) + &written("d", 5);
    log.world.append("sessions.jsonl", &kept);
    log.shows("d");
    fs::write(log.world.beside("copy"), kept + &written("e", 6)).unwrap();
    fs::rename(log.world.beside("copy"), &path).unwrap();
    log.shows("e");
    // Emptied and written anew.
    fs::write(&path, "").unwrap();
    log.world.append("sessions.jsonl", written("f", 7));
    log.shows("f");
    let (events, talk, _) = log.end();
    assert_eq!(member(&events, "id"), ["b", "late", "new", "c", "d", "e", "f", "the end"], "{talk}");
    assert!(talk.contains("another file has taken the place"), "{talk}");
}

impl Followed {
    /// Stops it, or lets it go on.
    fn signal(&self, signal: &str) {
        let pid = self.child.id().to_string();
        assert!(Command::new("kill").args([signal, &pid]).status().unwrap().success());
    }
}

#[test]
fn a_followed_log_goes_on_behind_several_compactions_that_it_did_not_see() {
    let world = World::new();
    world.run_with(&words("session put a"), "0").ends(0);
    world.run(&words("fact store --entity e --key k --value v")).ends(0);
    let log = Followed::begin(world, "sessions facts");
    log.shows("a");
    log.signal("-STOP");
    log.put("a", "1");
    for round in 0..3 {
        log.world.run(&words("journal compact sessions")).ends(0);
        log.put(&format!("b{round}"), "1");
        log.put(&format!("b{round}"), "22");
        log.world.run(&["fact", "store", "--entity", "e", "--key", "k", "--value", &format!("v{round}")]).ends(0);
        let oldest = log.world.run(&words("fact list --all --format id")).lines()[0].clone();
        log.world.run(&["fact", "delete", &oldest]).ends(0);
        log.world.run(&words("journal compact facts")).ends(0);
    }
    log.signal("-CONT");
    let (events, talk, world) = log.end();
    let sessions: Vec<&Value> = events.iter().filter(|event| event["journal"] == "sessions").collect();
    let ids: Vec<&str> = sessions.iter().map(|event| event["id"].as_str().unwrap()).collect();
    // What a compaction drops before it was seen is gone; nothing is shown twice.
    assert_eq!(ids, ["a", "a", "b0", "b1", "b2", "b2", "the end"], "{talk}");
    let live = world.run(&words("fact list --all --format id")).lines();
    for id in &live {
        let times = events.iter().filter(|event| event["id"] == id.as_str() && event["op"] == "store").count();
        assert_eq!(times, 1, "{id}: {events:?}");
    }
    assert!(!talk.contains("another file"), "{talk}");
}

#[test]
fn a_followed_log_notices_that_a_journal_is_written_over_in_place() {
    let world = World::with("sessions.jsonl", written("a", 1) + &written("b", 2)).damaged();
    let log = Followed::begin(world, "sessions");
    log.shows("b");
    let longer: String = (0..5).map(|n| written(&format!("n{n}"), n)).collect();
    fs::write(log.world.beside("backup"), longer).unwrap();
    log.world.shell("cp backup data/sessions.jsonl").ends(0);
    log.shows("n4");
    let (events, talk, _) = log.end();
    assert_eq!(member(&events, "id"), ["a", "b", "n0", "n1", "n2", "n3", "n4", "the end"], "{talk}");
    assert!(talk.contains("written over in place") && !talk.contains("not-json"), "{talk}");
}

#[test]
fn a_followed_log_waits_where_the_target_of_a_link_is_moved_away() {
    let world = World::new().damaged();
    fs::create_dir_all(world.dir()).unwrap();
    fs::write(world.beside("real"), written("a", 1)).unwrap();
    std::os::unix::fs::symlink(world.beside("real"), world.dir().join("sessions.jsonl")).unwrap();
    let log = Followed::begin(world, "sessions");
    log.shows("a");
    log.world.append("sessions.jsonl", written("b", 2));
    fs::rename(log.world.beside("real"), log.world.beside("old")).unwrap();
    log.shows("b");
    thread::sleep(Duration::from_millis(60));
    fs::write(log.world.beside("real"), written("c", 3)).unwrap();
    log.shows("c");
    let (events, talk, _) = log.end();
    assert_eq!(member(&events, "id"), ["a", "b", "c", "the end"], "{talk}");
}

#[test]
fn what_a_daemon_writes_to_the_old_file_while_it_is_replaced_is_shown_once() {
    if crate::support::strace_is_waived() {
        return;
    }
    let world = World::with("sessions.jsonl", written("a", 1) + &written("b", 2) + &written("a", 3)).damaged();
    let log = Followed::begin(world, "sessions");
    log.shows("b");
    // The second rename puts the copy in the journal's place; a daemon's write comes in front of it and is seen.
    let slow = ["-e", "trace=rename", "-e", "inject=rename:delay_enter=600000:delay_exit=600000:when=2"];
    let mut compaction = log.world.strace(&slow, &words("journal compact sessions")).spawn().unwrap();
    let temp = || {
        fs::read_dir(log.world.dir()).unwrap().flatten().any(|e| e.file_name().to_string_lossy().ends_with(".tmp"))
    };
    while !temp() {
        thread::sleep(Duration::from_millis(1));
    }
    thread::sleep(Duration::from_millis(200));
    log.world.append("sessions.jsonl", written("late", 4));
    log.shows("late");
    assert!(compaction.wait().unwrap().success());
    let (events, talk, _) = log.end();
    assert_eq!(member(&events, "id"), ["a", "b", "a", "late", "the end"], "{talk}");
}

#[test]
fn a_followed_log_waits_for_the_end_of_a_line_and_tells_of_damage() {
    let world = World::with("sessions.jsonl", written("a", 1)).damaged();
    let log = Followed::begin(world, "sessions");
    log.shows("a");
    let line = written("b", 2);
    log.world.append("sessions.jsonl", &line[..40]);
    thread::sleep(Duration::from_millis(60));
    log.world.append("sessions.jsonl", &line[40..]);
    log.shows("b");
    log.world.append("sessions.jsonl", "{\"op\":\"st");
    let (events, talk, _) = log.end();
    assert_eq!(member(&events, "id"), ["a", "b", "the end"]);
    assert!(talk.contains("line 3"), "{talk}");
}

#[test]
fn a_followed_log_begins_before_its_journals_do() {
    let world = World::new();
    let log = Followed::begin(world, "sessions cases");
    thread::sleep(Duration::from_millis(50));
    log.put("first", "1");
    log.world.run(&words("case record --task t --action a --outcome o")).ends(0);
    let (events, talk, _) = log.end();
    let mut journals = member(&events, "journal");
    journals.sort();
    assert_eq!(journals, ["cases", "sessions", "sessions"], "{talk}");
}
