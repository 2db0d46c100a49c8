//! Time travel: every version of a session is there, by number and by time, and can be brought back.

use std::fs;

use cruxctl::error::Code;
use proptest::prelude::*;
use serde_json::{Value, json};

use crate::support::{Answer, World, session_line, words};

/// A moment of these stories, in seconds after noon.
fn time(second: u32) -> String {
    format!("2026-07-01T12:{:02}:{:02}Z", second / 60, second % 60)
}

fn run_at(world: &mut World, second: u32, line: &str, input: &str) -> Answer {
    world.at(&time(second));
    world.run_with(&words(line), input)
}

/// What these stories ask of an answer.
trait Told: Sized {
    fn no(self, code: Code) -> Self;
    fn says(self, text: &str) -> Self;
    fn tries(self, hints: &[&str]) -> Self;
}

impl Told for Answer {
    fn no(self, code: Code) -> Answer {
        assert_eq!(self.status, i32::from(code.kind().status()), "{self:?}");
        assert!(self.stderr.contains(code.text()) || code == Code::UsageArguments, "{self:?}");
        assert!(self.stdout.is_empty(), "{self:?}");
        self
    }
    fn says(self, text: &str) -> Answer {
        assert!(self.stderr.contains(text), "{self:?}");
        self
    }
    fn tries(self, hints: &[&str]) -> Answer {
        assert_eq!(self.hints(), hints, "{self:?}");
        self
    }
}

/// A member of each version.
fn each(world: &World, line: &str, member: &str) -> Vec<Value> {
    let told = world.run(&[words(line), vec!["--json"]].concat()).json();
    told["versions"].as_array().unwrap().iter().map(|version| version[member].clone()).collect()
}

/// A session with a life: written, changed, archived, deleted, and another one beside it.
fn life() -> World {
    let mut world = World::new();
    run_at(&mut world, 0, "session put plan", "{\"step\": 1, \"cost\": 1.10}").ends(0);
    run_at(&mut world, 10, "session put other", "1").ends(0);
    run_at(&mut world, 20, "session put plan --ttl 90m --actor me", "{\"step\": 2, \"cost\": 1.1}").ends(0);
    run_at(&mut world, 30, "session archive plan --reason done", "").ends(0);
    run_at(&mut world, 40, "session delete plan", "").ends(0);
    run_at(&mut world, 50, "session put plan", "[]").ends(0);
    world.at(&time(60));
    world
}

#[test]
fn a_history_has_every_version_with_its_place_and_what_changed() {
    let world = life();
    let told = world.run(&words("session history plan --json")).ends(0).json();
    assert_eq!(each(&world, "session history plan", "rev"), [1, 2, 3, 4, 5]);
    assert_eq!(
        each(&world, "session history plan", "change"),
        ["created", "changed, expiry, actor", "archived", "deleted", "created again"]
    );
    assert_eq!(each(&world, "session history plan", "time"), [0, 20, 30, 40, 50].map(time));
    assert_eq!(each(&world, "session history plan", "line"), [1, 3, 4, 5, 6]);
    let journal = world.read("sessions.jsonl");
    for version in told["versions"].as_array().unwrap() {
        let place = |name: &str| usize::try_from(version[name].as_u64().unwrap()).unwrap();
        let record = &journal[place("offset")..place("offset") + place("length")];
        let record: Value = serde_json::from_slice(record).unwrap();
        let state = record["session"]["state"].to_string();
        match version["change"].as_str().unwrap() {
            "deleted" => assert!(record["op"] == "delete" && version["hash"].is_null()),
            "created again" => {
                assert_eq!(version["hash"], blake3::hash(state.as_bytes()).to_hex().as_str());
                assert_eq!(version["bytes"], state.len());
            }
            _ => assert_eq!(record["op"], "store"),
        }
    }
    // What a script reads line by line is the same.
    let plain = world.run(&words("session history plan")).ends(0).text();
    assert_eq!(plain.lines().count(), 5);
    assert!(plain.starts_with("version\t1\t2026-07-01T12:00:00Z\tcreated\t"), "{plain}");
}

#[test]
fn a_version_comes_back_byte_for_byte_by_number_and_by_time() {
    let world = life();
    let first = b"{\"step\": 1, \"cost\": 1.10}\n";
    let second = b"{\"step\": 2, \"cost\": 1.1}\n";
    assert_eq!(world.run(&words("session get plan --rev 1")).ends(0).stdout, first);
    assert_eq!(world.run(&words("session get plan --rev 3")).ends(0).stdout, second);
    assert_eq!(world.run(&words("session get plan --rev 5")).ends(0).stdout, b"[]\n");
    let at = |second: u32| world.run(&["session", "get", "plan", "--at", &time(second)]);
    assert_eq!(at(19).ends(0).stdout, first);
    assert_eq!(at(20).ends(0).stdout, second);
    assert_eq!(at(50).ends(0).stdout, b"[]\n");
    assert_eq!(world.run(&words("session get plan --at 35s")).ends(0).stdout, second);
    for second in [40, 49] {
        at(second).no(Code::NoRevision).tries(&[
            "cruxctl session get --rev 3 plan",
            "cruxctl session restore --rev 3 plan",
            "cruxctl session history plan",
        ]);
    }
    assert!(world.run(&words("session get plan --rev 4")).no(Code::NoRevision).stdout.is_empty());
    assert!(
        world.run(&["session", "get", "plan", "--at", "2026-07-01T11:00:00Z"]).no(Code::NoRevision).stdout.is_empty()
    );
    for rev in ["0", "6", "18446744073709551615"] {
        world.run(&["session", "get", "plan", "--rev", rev]).no(Code::NoRevision);
    }
    world.run(&words("session get nothing --rev 1")).no(Code::NoSession);
    world.run(&words("session get plan --rev 1 --at 1h")).no(Code::UsageArguments);
    world.run(&words("session get plan --at yesterday")).no(Code::UsageArguments);
    let shown = world.run(&words("session show plan --rev 3 --json")).ends(0).json();
    assert!(shown["archived"] == true && shown["rev"] == 3 && shown["line"] == 4, "{shown}");
    // The live one is found as ever, and not counted.
    assert!(world.run(&words("session show plan --json")).ends(0).json()["rev"].is_null());
}

#[test]
fn what_had_expired_at_that_time_is_refused_as_it_was_then() {
    let mut world = World::new();
    run_at(&mut world, 0, "session put s --ttl 30s", "1").ends(0);
    run_at(&mut world, 120, "session put s", "2").ends(0);
    let at = |second: u32| ["session".to_owned(), "get".into(), "s".into(), "--at".into(), time(second)];
    let get = |second: u32, flag: &[&str]| {
        world.run(&[&at(second).iter().map(String::as_str).collect::<Vec<_>>()[..], flag].concat())
    };
    assert_eq!(get(29, &[]).ends(0).stdout, b"1\n");
    get(30, &[]).no(Code::RefusedExpired).tries(&["cruxctl session get --expired --at 2026-07-01T12:00:30Z s"]);
    assert_eq!(get(30, &["--expired"]).ends(0).stdout, b"1\n");
    assert_eq!(get(120, &[]).ends(0).stdout, b"2\n");
    // By its number a version is what it was.
    assert_eq!(world.run(&words("session get s --rev 1")).ends(0).stdout, b"1\n");
}

#[test]
fn a_version_is_brought_back_as_it_was_and_what_was_live_stays_in_the_history() {
    let mut world = life();
    let told = world.run(&words("session restore plan --rev 3 --json --actor op")).ends(0).json();
    assert_eq!(told["changed"][0]["action"], "restore");
    assert_eq!(world.run(&words("session get plan")).ends(0).stdout, b"{\"step\": 2, \"cost\": 1.1}\n");
    let shown = world.run(&words("session show plan --json")).ends(0).json();
    assert!(shown["archived"] == true && shown["archive_reason"] == "done" && shown["actor"] == "op", "{shown}");
    assert_eq!(shown["expires_at"], "2026-07-01T13:30:20Z");
    assert_eq!(shown["updated_at"], time(60));
    assert_eq!(each(&world, "session history plan", "rev"), [1, 2, 3, 4, 5, 6]);
    // Once more, it is what it is.
    let before = world.read("sessions.jsonl");
    world.run(&words("session restore plan --rev 6")).ends(0).says("version 6 is the live one: nothing was written");
    assert_eq!(world.read("sessions.jsonl"), before);
    // An expiry that is past is left out, and said.
    world.at("2026-07-01T14:00:00Z");
    world.run(&words("session restore plan --rev 2")).ends(0).says("that version expired at 2026-07-01T13:30:20Z");
    assert!(world.run(&words("session show plan --json")).ends(0).json()["expires_at"].is_null());
    world.run(&words("session restore plan --rev 2 --ttl 1h")).ends(0);
    assert_eq!(world.run(&words("session show plan --json")).json()["expires_at"], "2026-07-01T15:00:00Z");
}

#[test]
fn a_deleted_session_has_a_history_and_comes_back() {
    let mut world = life();
    run_at(&mut world, 70, "session delete plan", "").ends(0);
    world.run(&words("session get plan")).no(Code::NoSession);
    assert_eq!(each(&world, "session history plan", "change").last().unwrap(), "deleted");
    world.run(&words("session restore plan --rev 6")).no(Code::NoRevision);
    world.run(&words("session restore plan")).no(Code::UsageArguments);
    run_at(&mut world, 80, "session restore plan --at 20s", "").ends(0);
    assert_eq!(world.run(&words("session get plan")).ends(0).stdout, b"[]\n");
}

#[test]
fn what_is_live_and_has_expired_is_brought_back_as_well() {
    let mut world = World::new();
    run_at(&mut world, 0, "session put s --ttl 1s", "1").ends(0);
    run_at(&mut world, 60, "session restore s --rev 1", "").ends(0).says("it does not expire");
    assert_eq!(world.run(&words("session get s")).ends(0).stdout, b"1\n");
    run_at(&mut world, 61, "session restore s --rev 2 --actor op", "").ends(0);
    assert_eq!(world.run(&words("session show s --json")).json()["actor"], "op");
}

#[test]
fn a_write_beside_old_damage_succeeds_and_a_no_is_doubted() {
    let text = [session_line("s", "1"), "{\"op\":\"sto".to_owned(), session_line("s", "2")].join("\n") + "\n";
    let world = World::with("sessions.jsonl", text).damaged();
    let restored = world.run(&words("session restore s --rev 1")).ends(0);
    assert_eq!(restored.stderr.matches("is damaged in 1 place").count(), 1, "{restored:?}");
    assert_eq!(world.run(&words("session restore s --rev 1 --dry-run")).status, 0);
    let no = world.run(&words("session restore s --rev 9"));
    assert!(no.status == 3 && no.stderr.contains("no.revision"), "{no:?}");
    assert_eq!(world.run(&words("session get s --rev 1")).status, 3);
}

#[test]
fn a_line_that_names_several_ids_is_told_in_the_history_of_each() {
    let two_names =
        session_line("b", "1").replace("\"session_id\":\"b\"", "\"session_id\":\"b\",\"session_id\":\"a\"");
    let two_sessions = session_line("b", "1")
        .replace("\"archived\":false}}", "\"archived\":false},\"session\":{\"session_id\":\"a\"}}");
    for line in [two_names, two_sessions] {
        let world = World::with("sessions.jsonl", line.clone() + "\n").damaged();
        for id in ["a", "b"] {
            let history = world.run(&["session", "history", id, "--json"]);
            assert_eq!(
                (history.status, history.json()["unreadable"][0]["class"].as_str()),
                (3, Some("duplicate-member")),
                "{id}: {line}"
            );
        }
    }
}

#[test]
fn many_deletes_without_a_time_take_no_memory() {
    let delete = "{\"op\":\"delete\",\"session_id\":\"s\"}\n";
    let world = World::with("sessions.jsonl", session_line("s", "1") + "\n" + &delete.repeat(30_000));
    assert_eq!(world.run(&words("session history s")).ends(0).text().lines().count(), 30_001);
    let line = "ulimit -v 200000; cruxctl session history s | tail -n 1 | cut -f 2";
    assert_eq!(world.shell(line).ends(0).text(), "30001\n");
}

#[test]
fn nothing_is_brought_back_that_put_would_not_write() {
    let lines = [
        session_line("s", "1e999"),
        session_line("s", &format!("\"{}\"", "x".repeat(100))),
        session_line("s", "1").replace("\"archived\":false", "\"archived\":false,\"actor\":\"\\ud83d\""),
        session_line("s", "2"),
    ];
    let world = World::with("sessions.jsonl", lines.join("\n") + "\n");
    world.run(&words("session restore s --rev 1")).no(Code::RefusedDaemonUnreadable);
    world.run(&words("session restore s --rev 2 --max-state-bytes 50")).no(Code::RefusedTooLarge);
    world.run(&words("session restore s --rev 3")).no(Code::RefusedDaemonUnreadable);
    world.run(&words("session restore s --rev 1 --allow-daemon-unreadable")).ends(0);
    assert_eq!(world.run(&words("session get s")).ends(0).stdout, b"1e999\n");
    world.run(&words("session restore s --rev 2")).ends(0);
}

#[test]
fn unknown_members_of_a_version_come_back_with_it() {
    let line = session_line("s", "1").replace("\"archived\":false", "\"archived\":false,\"color\":{\"a\":1.10}");
    let world = World::with("sessions.jsonl", line + "\n" + &session_line("s", "2") + "\n");
    world.run(&words("session restore s --rev 1")).ends(0);
    assert!(
        String::from_utf8(world.read("sessions.jsonl")).unwrap().trim_end().ends_with(",\"color\":{\"a\":1.10}}}")
    );
}

#[test]
fn the_daemons_deletes_have_no_time_and_that_is_said() {
    let at = |id: &str, state: &str, time: &str| session_line(id, state).replace("2026-01-01T00:00:00Z", time);
    let delete = "{\"op\":\"delete\",\"session_id\":\"s\"}";
    let lines = [at("s", "1", &time(0)), at("o", "1", &time(60)), delete.to_owned(), at("o", "2", &time(120))];
    let mut world = World::with("sessions.jsonl", lines.join("\n") + "\n");
    world.at(&time(600));
    let told = world.run(&words("session history s --json")).ends(0).json();
    let deleted = &told["versions"][1];
    assert!(deleted["time"].is_null(), "{told}");
    assert_eq!((&deleted["not_before"], &deleted["not_after"]), (&json!(time(60)), &json!(time(120))));
    let get = |second: u32| world.run(&["session", "get", "s", "--at", &time(second)]);
    assert!(get(59).ends(0).stderr.is_empty());
    let doubtful = get(60).ends(0);
    assert_eq!(doubtful.stdout, b"1\n");
    doubtful.says("between 2026-07-01T12:01:00Z and 2026-07-01T12:02:00Z");
    get(120).no(Code::NoRevision);
}

#[test]
fn whose_session_it_is_decides_whose_history_it_is() {
    let mut world = World::new();
    run_at(&mut world, 0, "session put s --agent alice", "1").ends(0);
    run_at(&mut world, 1, "session put s", "2").ends(0);
    assert_eq!(each(&world, "session history s --agent alice", "rev"), [1]);
    assert_eq!(world.run(&words("session get s --rev 1 --agent alice")).ends(0).stdout, b"1\n");
    world.run(&words("session history s --agent bob")).no(Code::NoSession);
    world.run(&words("session history __agent_session::alice::s")).no(Code::NoSession);
    assert_eq!(each(&world, "session history __agent_session::alice::s --all-agents", "rev"), [1]);
    run_at(&mut world, 2, "session delete s --agent alice", "").ends(0);
    run_at(&mut world, 3, "session restore s --rev 1 --agent alice", "").ends(0);
    assert_eq!(world.run(&words("session get s --agent alice")).ends(0).stdout, b"1\n");
}

#[test]
fn what_cannot_be_read_and_names_the_session_stands_in_its_history() {
    let torn = session_line("s", "{\"step\":3}");
    let text = [session_line("s", "1"), session_line("o", "1"), session_line("s", "2")].join("\n") + "\n";
    let world = World::with("sessions.jsonl", text.clone() + &torn[..torn.len() - 30]).damaged();
    let told = world.run(&words("session history s --json"));
    assert_eq!(told.status, 3);
    let place = &told.json()["unreadable"][0];
    assert!(place["where"] == "journal" && place["class"] == "torn-tail" && place["offset"] == text.len(), "{place}");
    let look = place["look"].as_str().unwrap().to_owned();
    assert_eq!(look, format!("cruxctl journal show sessions --offset {}", text.len()));
    assert_eq!(world.shell(&look).stdout, [&torn.as_bytes()[..torn.len() - 30], b"\n"].concat());
    assert!(world.run(&words("session history o --json")).json()["unreadable"].as_array().unwrap().is_empty());
    // What a repair sets aside is still told, and where it lies.
    world.run(&words("journal repair sessions --apply")).ends(0);
    let told = world.run(&words("session history s --json")).ends(0).json();
    let place = &told["unreadable"][0];
    assert!(place["where"] == "quarantine" && place["class"] == "torn-tail", "{place}");
    assert_eq!(world.shell(place["look"].as_str().unwrap()).stdout, torn.as_bytes()[..torn.len() - 30]);
    // Nothing but a set aside write is a history as well.
    let only = World::with("sessions.jsonl", session_line("o", "1") + "\n" + &torn[..torn.len() - 30]).damaged();
    only.run(&words("journal repair sessions --apply")).ends(0);
    let told = only.run(&words("session history s --json")).ends(0).json();
    assert_eq!(told["versions"], json!([]));
    assert_eq!(told["unreadable"][0]["set_aside_at"], crate::support::NOW);
}

#[test]
fn wreckage_on_the_line_of_a_version_is_the_history_of_whom_it_was() {
    let torn = session_line("lost", "{\"step\":3}");
    let text = format!("{}{}\n{}rubbish\n", &torn[..60], session_line("s", "1"), session_line("o", "1"));
    let world = World::with("sessions.jsonl", text).damaged();
    let unreadable = |id: &str| {
        let told = world.run(&["session", "history", id, "--json"]).json();
        (told["versions"].as_array().unwrap().len(), told["unreadable"].as_array().unwrap().len())
    };
    assert_eq!((unreadable("s"), unreadable("o"), unreadable("lost")), ((1, 0), (1, 0), (0, 1)));
}

#[test]
fn a_history_of_a_long_journal_is_the_same_on_two_threads() {
    let pad = "x".repeat(2_000);
    let mut text = String::new();
    for n in 0..12_000 {
        let line = session_line(&format!("s{}", n % 1_000), &format!("[{n},\"{pad}\"]"));
        text.push_str(&line);
        text.push('\n');
    }
    assert!(text.len() > 20 << 20);
    let world = World::with("sessions.jsonl", &text);
    let lines = each(&world, "session history s7", "line");
    assert_eq!(lines, (0..12).map(|n| json!(n * 1_000 + 8)).collect::<Vec<_>>());
    let state = world.run(&words("session get s7 --rev 5")).ends(0).text();
    assert!(state.starts_with("[4007,"), "{}", &state[..40]);
}

#[test]
fn a_diff_shows_numbers_as_they_are_written() {
    let world = life();
    let told = world.run(&words("session diff plan 1 2 --format plain")).ends(0).text();
    assert_eq!(
        told,
        "state\t.step\tchanged\t1\t2\nstate\t.cost\tchanged\t1.10\t1.1\n\
         session\t.expires_at\tchanged\tnull\t\"2026-07-01T13:30:20Z\"\nsession\t.actor\tchanged\tnull\t\"me\"\n\
         before_rev\t1\nafter_rev\t2\n"
    );
    // The last two, and one against the last.
    let last = world.run(&words("session diff plan --json")).ends(0);
    assert_eq!(
        last.json()["differences"],
        json!([{"of":"state","path":".","change":"added","before":null,"after":[]}])
    );
    let text = world.run(&words("session diff plan 1 --json")).ends(0).text();
    assert!(text.contains("\"before\":{\"step\": 1, \"cost\": 1.10},\"after\":[]"), "{text}");
    let deleted = world.run(&words("session diff plan 3 4 --json")).ends(0).json();
    assert_eq!(deleted["differences"][0]["change"], "removed");
    world.run(&words("session diff plan 2 2")).ends(0).says("versions 2 and 2 say the same");
    world.run(&words("session diff plan 2 6")).no(Code::NoRevision);
    world.run(&words("session diff plan 0")).no(Code::NoRevision);
    world.run(&words("session diff nothing")).no(Code::NoSession);
    world.run(&words("session diff other")).ends(0);
}

#[test]
fn a_compaction_ends_the_history() {
    let world = life();
    world.run(&words("journal compact sessions")).ends(0);
    assert_eq!(each(&world, "session history plan", "rev"), [1]);
    assert_eq!(world.run(&words("session get plan --rev 1")).ends(0).stdout, b"[]\n");
}

#[test]
fn a_restore_reads_the_history_before_it_takes_the_lock() {
    let world = life();
    if crate::support::strace_is_waived() {
        return;
    }
    let traced = world.traced(&["-e", "trace=flock,openat"], &words("session restore plan --rev 1"), "");
    traced.answer.ends(0);
    let calls: Vec<&str> = traced.calls.iter().map(String::as_str).collect();
    let lock = calls.iter().position(|call| call.contains("flock") && call.contains("LOCK_EX")).unwrap();
    // Behind the lock the journal is opened to append, and not read from its start once more.
    let opens =
        calls[lock..].iter().filter(|call| call.contains("openat") && call.contains("/sessions.jsonl")).count();
    assert!(opens <= 1, "{calls:?}");
}

/// One step of a random history.
#[derive(Clone, Debug)]
enum Step {
    Put(u8, Option<u8>),
    Delete,
    Archive,
    Unarchive,
    Restore(prop::sample::Index),
    Other,
    Foreign,
}

fn step() -> impl Strategy<Value = (u32, Step)> {
    let step = prop_oneof![
        4 => (any::<u8>(), prop::option::of(0..90u8)).prop_map(|(state, ttl)| Step::Put(state, ttl)),
        2 => Just(Step::Delete),
        1 => Just(Step::Archive),
        1 => Just(Step::Unarchive),
        2 => any::<prop::sample::Index>().prop_map(Step::Restore),
        1 => Just(Step::Other),
        1 => Just(Step::Foreign),
    ];
    (0..20u32, step)
}

/// What a version was: when, and the state, its expiry and whether it was archived; `None`: deleted.
type Kept = (u32, Option<(String, Option<u32>, bool)>);

fn travels(steps: &[(u32, Step)]) -> Result<(), TestCaseError> {
    let mut world = World::new();
    fs::create_dir_all(world.dir()).unwrap();
    let mut list: Vec<Kept> = Vec::new();
    let mut now = 0;
    for (pause, step) in steps {
        now += pause;
        let live = list.last().and_then(|(_, session)| session.clone());
        match step {
            Step::Put(state, ttl) => {
                let state = format!("{{\"n\":{state}.0}}");
                let ttl_flag = ttl.map_or(String::new(), |ttl| format!(" --ttl {ttl}s"));
                run_at(&mut world, now, &format!("session put s{ttl_flag}"), &state).ends(0);
                list.push((now, Some((state, ttl.map(|ttl| now + u32::from(ttl)), false))));
            }
            Step::Delete => {
                run_at(&mut world, now, "session delete s", "").ends(i32::from(live.is_none()));
                if live.is_some() {
                    list.push((now, None));
                }
            }
            Step::Archive | Step::Unarchive => {
                let archive = matches!(step, Step::Archive);
                let line = if archive { "session archive s" } else { "session unarchive s" };
                run_at(&mut world, now, line, "").ends(i32::from(live.is_none()));
                if let Some((state, expires, _)) = live {
                    list.push((now, Some((state, expires, archive))));
                }
            }
            Step::Restore(index) if !list.is_empty() => {
                let at = index.index(list.len());
                let answer = run_at(&mut world, now, &format!("session restore s --rev {}", at + 1), "");
                match list[at].1.clone() {
                    None => drop(answer.no(Code::NoRevision)),
                    // Once more, it is what it is, unless it has expired.
                    Some((_, expires, _)) if at + 1 == list.len() && expires.is_none_or(|at| at > now) => {
                        drop(answer.ends(0))
                    }
                    Some((state, expires, archived)) => {
                        answer.ends(0);
                        list.push((now, Some((state, expires.filter(|at| *at > now), archived))));
                    }
                }
            }
            Step::Restore(_) => drop(run_at(&mut world, now, "session restore s --rev 1", "").ends(1)),
            Step::Other => drop(run_at(&mut world, now, "session put other", "1").ends(0)),
            Step::Foreign => world.append("sessions.jsonl", "{\"op\":\"rename\",\"session_id\":\"s\"}\n"),
        }
    }
    world.at(&time(now));
    if list.is_empty() {
        return Ok(());
    }
    let revisions = each(&world, "session history s", "rev");
    prop_assert_eq!(revisions.len(), list.len());
    for (index, (_, session)) in list.iter().enumerate() {
        let answer = world.run(&["session", "get", "s", "--rev", &(index + 1).to_string()]);
        match session {
            Some((state, ..)) => prop_assert_eq!(answer.ends(0).text(), format!("{state}\n")),
            None => drop(answer.no(Code::NoRevision)),
        }
    }
    for second in 0..=now + 1 {
        let there = list.iter().rev().find(|(at, _)| *at <= second).and_then(|(_, session)| session.clone());
        let answer = world.run(&["session", "show", "s", "--at", &time(second), "--json"]);
        match there {
            None => drop(answer.no(Code::NoRevision)),
            Some((state, expires, archived)) => {
                let told = answer.ends(0).json();
                let hash = blake3::hash(state.as_bytes()).to_hex().to_string();
                prop_assert_eq!(&told["hash"], &hash);
                prop_assert_eq!(&told["archived"], archived);
                prop_assert_eq!(&told["expires_at"], &expires.map_or(Value::Null, |at| json!(time(at))));
            }
        }
    }
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 12, ..ProptestConfig::default() })]
    #[test]
    fn every_version_by_number_and_time_is_what_a_plain_list_has(steps in prop::collection::vec(step(), 1..20)) {
        travels(&steps)?;
    }
}

#[test]
fn years_of_five_digits_and_before_the_first_can_be_asked_for() {
    let dated = |state: &str, time: &str| session_line("s", state).replace("2026-01-01T00:00:00Z", time) + "\n";
    let world =
        World::with("sessions.jsonl", dated("1", "-0044-03-15T00:00:00Z") + &dated("2", "+12026-06-01T00:00:00Z"));
    assert_eq!(each(&world, "session history s", "time"), ["-0044-03-15T00:00:00Z", "+12026-06-01T00:00:00Z"]);
    let at = |time: &str| world.run(&["session", "get", "s", &format!("--at={time}")]);
    at("-0044-03-14T00:00:00Z").no(Code::NoRevision);
    assert_eq!(at("-0044-03-15T00:00:00Z").ends(0).text(), "1\n");
    assert_eq!(at("+12026-06-01T00:00:00Z").ends(0).text(), "2\n");
}
