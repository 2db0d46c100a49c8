//! What an index answers is what a whole reading of the journal answers, whatever has happened to either of them.

use std::fs;
use std::io::Write;
use std::os::unix::fs::FileExt;

use proptest::prelude::*;
use proptest::test_runner::TestRunner;

use crate::support::{Answer, World, session_line};

/// A line of some 4 KB.
fn large(id: &str, n: usize) -> String {
    session_line(id, &format!("{{\"n\":{n},\"pad\":\"{}\"}}", "x".repeat(4000))) + "\n"
}

/// A world with a journal that is long enough for an index: 300 sessions, the last 50 of them written twice.
fn long() -> World {
    let ids = (0..300).chain(250..300);
    World::with("sessions.jsonl", ids.map(|n| large(&format!("s{n}"), n)).collect::<String>())
}

fn index_of(world: &World) -> std::path::PathBuf {
    world.dir().join("cruxctl/index/sessions.index")
}

fn get(world: &World, id: &str) -> Answer {
    world.run(&["session", "get", id])
}

fn everything(world: &World) -> String {
    world.run(&["session", "list", "--all-agents", "--all", "--json", "--damaged-ok", "--quiet"]).ends(0).text()
}

/// Holds the index against a whole reading, and says that there was one.
fn same(world: &World) -> bool {
    let with = everything(world);
    let there = index_of(world).is_file();
    let _ = fs::remove_file(index_of(world));
    let without = everything(world);
    assert_eq!(with, without);
    there
}

#[test]
fn the_first_reading_keeps_an_index_and_the_next_uses_it() {
    let world = long();
    let first = get(&world, "s270").ends(0);
    assert!(index_of(&world).is_file());
    assert_eq!(get(&world, "s270").ends(0).stdout, first.stdout);
    assert_eq!(get(&world, "s300").ends(1).stdout, b"");
    assert!(same(&world));
}

#[test]
fn a_short_journal_and_a_dry_run_keep_none() {
    let world = World::with("sessions.jsonl", session_line("a", "1") + "\n");
    get(&world, "a").ends(0);
    world.run_with(&["session", "put", "b"], "1").ends(0);
    assert!(!index_of(&world).exists());
    let world = long();
    world.run(&["session", "delete", "s1", "--dry-run"]).ends(0);
    assert!(!world.dir().join("cruxctl").exists());
}

#[test]
fn every_write_keeps_it_right() {
    let world = long();
    world.run_with(&["session", "put", "s1"], "\"new\"").ends(0);
    assert!(index_of(&world).is_file());
    world.run_with(&["session", "put", "new", "--ttl", "0s"], "2").ends(0);
    world.run(&["session", "archive", "s2"]).ends(0);
    world.run(&["session", "delete", "s3"]).ends(0);
    world.run(&["session", "reap"]).ends(0);
    assert_eq!(get(&world, "s1").ends(0).text(), "\"new\"\n");
    get(&world, "s3").ends(1);
    get(&world, "new").ends(1);
    world.run_with(&["session", "put", "s3"], "3").ends(0);
    assert_eq!(get(&world, "s3").ends(0).text(), "3\n");
    assert!(same(&world));
}

#[test]
fn it_grows_with_the_ids() {
    let world = long();
    get(&world, "s1").ends(0);
    let before = fs::metadata(index_of(&world)).unwrap().len();
    let more: String = (0..900).map(|n| session_line(&format!("more{n}"), "1") + "\n").collect();
    append(&world, &more);
    world.run_with(&["session", "put", "last"], "1").ends(0);
    assert!(fs::metadata(index_of(&world)).unwrap().len() > before);
    get(&world, "more899").ends(0);
    get(&world, "s299").ends(0);
    assert!(same(&world));
}

fn append(world: &World, text: &str) {
    let mut file = fs::OpenOptions::new().append(true).open(world.dir().join("sessions.jsonl")).unwrap();
    file.write_all(text.as_bytes()).unwrap();
}

#[test]
fn what_others_append_is_seen_at_once() {
    let world = long();
    get(&world, "s1").ends(0);
    append(&world, &(session_line("foreign", "7") + "\n{\"op\":\"delete\",\"session_id\":\"s1\"}\n"));
    assert_eq!(get(&world, "foreign").ends(0).text(), "7\n");
    get(&world, "s1").ends(1);
    // A record without its line end is one, and is not yet kept.
    append(&world, &session_line("s2", "\"open\""));
    assert_eq!(get(&world, "s2").ends(0).text(), "\"open\"\n");
    world.run_with(&["session", "put", "s4"], "4").ends(0);
    assert_eq!(get(&world, "s2").ends(0).text(), "\"open\"\n");
    assert!(same(&world));
}

#[test]
fn what_others_change_in_place_is_seen() {
    let world = long().damaged();
    get(&world, "s1").ends(0);
    let text = world.read("sessions.jsonl");
    let at = text.windows(4).position(|w| w == b"\"s7\"").unwrap() as u64;
    let file = fs::OpenOptions::new().write(true).open(world.dir().join("sessions.jsonl")).unwrap();
    file.write_all_at(b"\"t7\"", at).unwrap();
    get(&world, "s7").ends(1);
    get(&world, "t7").ends(0);
    assert!(same(&world));
    let (status, report) = world.check(&["sessions"]);
    assert_eq!((status, &report["findings"][0]["class"]), (3, &"changed".into()), "{report}");
}

#[test]
fn a_journal_that_is_cut_emptied_or_replaced_is_read_afresh() {
    let world = long().damaged();
    get(&world, "s299").ends(0);
    let text = world.read("sessions.jsonl");
    let cut = text.len() - large("s299", 299).len() * 60;
    let start = text[..cut].iter().rposition(|b| *b == b'\n').unwrap() + 1;
    let file = fs::OpenOptions::new().write(true).open(world.dir().join("sessions.jsonl")).unwrap();
    file.set_len(start as u64).unwrap();
    // It was there, and may have been lost with the end of the file.
    get(&world, "s299").ends(3);
    get(&world, "s1").ends(3);
    assert!(same(&world));
    // The same length, other contents, another file.
    let other = String::from_utf8(text).unwrap().replace("\"s1", "\"r1");
    world.write("other", &other);
    fs::rename(world.dir().join("other"), world.dir().join("sessions.jsonl")).unwrap();
    get(&world, "s1").ends(1);
    get(&world, "r1").ends(0);
    assert!(same(&world));
    file.set_len(0).unwrap();
    world.write("sessions.jsonl", "");
    get(&world, "r1").ends(3);
    world.run(&["journal", "check", "--accept"]).ends(0);
    get(&world, "r1").ends(1);
    assert_eq!(world.session_ids(), [""; 0]);
}

#[test]
fn an_index_of_another_boot_or_with_any_byte_changed_answers_nothing_wrong() {
    let world = long();
    get(&world, "s1").ends(0);
    let right = everything(&world);
    let whole = fs::read(index_of(&world)).unwrap();
    // The boot's number, the header's counts and notes, its sum; slots all over the table; and cuts.
    let places = [0, 8, 23, 24, 40, 56, 72, 80, 130, 170, 4000, 4064, 4095].into_iter();
    for at in places.chain((4096..whole.len()).step_by(whole.len() / 40)) {
        let mut harmed = whole.clone();
        harmed[at] ^= 0x11;
        fs::write(index_of(&world), &harmed).unwrap();
        assert_eq!(everything(&world), right, "byte {at}");
        fs::write(index_of(&world), &harmed).unwrap();
        for id in ["s0", "s150", "s299"] {
            let state = get(&world, id).ends(0).text();
            assert!(state.starts_with(&format!("{{\"n\":{},", &id[1..])), "{at}");
        }
    }
    for len in [0, 1, 100, 4095, 4096, 5000, whole.len() - 1] {
        fs::write(index_of(&world), &whole[..len]).unwrap();
        assert_eq!(everything(&world), right, "cut to {len}");
    }
}

#[test]
fn a_slot_that_lies_elsewhere_or_is_zero_answers_nothing_wrong() {
    let world = long();
    get(&world, "s1").ends(0);
    let right = everything(&world);
    let whole = fs::read(index_of(&world)).unwrap();
    let is_used = |at: &usize| whole[at + 28] & 1 == 1;
    let slots: Vec<usize> = (4096..whole.len()).step_by(32).collect();
    let (used, free): (Vec<usize>, Vec<usize>) = slots.iter().partition(|at| is_used(at));
    assert_eq!((used.len(), slots.len()), (300, 1024));
    for n in (0..used.len()).step_by(20) {
        let mut copied = whole.clone();
        copied.copy_within(used[n]..used[n] + 32, free[n]);
        let mut freed = whole.clone();
        freed.copy_within(free[n]..free[n] + 32, used[n]);
        let mut zeroed = whole.clone();
        zeroed[used[n]..used[n] + 32].fill(0);
        for harmed in [copied, freed, zeroed] {
            fs::write(index_of(&world), &harmed).unwrap();
            assert_eq!(everything(&world), right, "slot {n}");
            for id in ["s0", "s150", "s299"] {
                fs::write(index_of(&world), &harmed).unwrap();
                get(&world, id).ends(0);
            }
        }
    }
}

#[test]
fn a_header_that_counts_other_slots_than_there_are_answers_nothing_wrong() {
    let world = long();
    get(&world, "s1").ends(0);
    let (right, good) = (everything(&world), fs::read(index_of(&world)).unwrap());
    // How many are used, and how many live.
    for number in [88, 128] {
        let mut bytes = good.clone();
        assert_eq!(bytes[number..number + 8], u64::to_le_bytes(300));
        bytes[number] -= 1;
        let sum = blake3::hash(&bytes[..4064]);
        bytes[4064..4096].copy_from_slice(sum.as_bytes());
        fs::write(index_of(&world), bytes).unwrap();
        assert_eq!(everything(&world), right);
        assert!(!index_of(&world).exists(), "it was believed: {number}");
        get(&world, "s1").ends(0);
        assert!(fs::read(index_of(&world)).unwrap() == good, "it is made anew: {number}");
    }
}

#[test]
fn a_header_with_a_right_sum_and_numbers_that_cannot_be_answers_nothing_wrong() {
    let world = long();
    let first = get(&world, "s270").ends(0);
    let good = fs::read(index_of(&world)).unwrap();
    // Behind the anchor: lines, slots, used slots, and what is counted.
    for number in (72..152).step_by(8) {
        for wrong in [1 << 56, 1 << 59, 1 << 63, u64::MAX] {
            let mut bytes = good.clone();
            bytes[number..number + 8].copy_from_slice(&u64::to_le_bytes(wrong));
            let sum = blake3::hash(&bytes[..4064]);
            bytes[4064..4096].copy_from_slice(sum.as_bytes());
            fs::write(index_of(&world), bytes).unwrap();
            assert_eq!(get(&world, "s270").ends(0).stdout, first.stdout, "{number} {wrong}");
            world.run_with(&["session", "put", "s270", "--dry-run"], "1").ends(0);
            assert!(fs::read(index_of(&world)).unwrap() == good, "it is made anew: {number} {wrong}");
        }
    }
}

#[test]
fn damage_is_told_by_every_reading_verb_with_and_without_an_index() {
    let world = long().damaged();
    let text = String::from_utf8(world.read("sessions.jsonl")).unwrap();
    let lines: Vec<&str> = text.lines().collect();
    let torn = &lines[10][..100];
    world.write("sessions.jsonl", [&lines[..100].join("\n"), torn, &lines[100..].join("\n"), ""].join("\n"));
    let first = get(&world, "s200").ends(3);
    assert!(first.stderr.contains("line 101") && index_of(&world).is_file(), "{first:?}");
    for args in [&["session", "get", "s200"][..], &["session", "show", "s1"], &["session", "list"]] {
        let again = world.run(args).ends(3);
        assert_eq!(again.stderr, first.stderr, "{args:?}");
    }
    world.run(&["session", "get", "absent"]).ends(3);
    let put = world.run_with(&["session", "put", "s1"], "1").ends(0);
    assert!(put.stderr.contains("line 101"), "{put:?}");
    get(&world, "s1").ends(3);
}

#[test]
fn repair_and_compaction_leave_no_wrong_index() {
    let world = long();
    get(&world, "s1").ends(0);
    append(&world, "wreck\n");
    world.run(&["journal", "repair", "sessions", "--apply"]).ends(0);
    get(&world, "s299").ends(0);
    world.run(&["journal", "compact", "sessions"]).ends(0);
    get(&world, "s0").ends(0);
    get(&world, "s299").ends(0);
    assert!(same(&world));
}

#[test]
fn writers_and_readers_at_once_leave_it_right() {
    let world = long();
    get(&world, "s1").ends(0);
    std::thread::scope(|scope| {
        for writer in 0..8 {
            let world = &world;
            scope.spawn(move || {
                for n in 0..12 {
                    let id = format!("w{}", (writer * 5 + n) % 20);
                    if n % 5 == 4 {
                        let status = world.run(&["session", "delete", &id]).status;
                        assert!(status < 2, "{status}");
                    } else {
                        world.run_with(&["session", "put", &id], format!("[{writer},{n}]")).ends(0);
                    }
                }
            });
        }
        for _ in 0..2 {
            scope.spawn(|| {
                for n in 0..20 {
                    let answer = get(&world, &format!("s{n}")).ends(0);
                    assert!(answer.text().starts_with(&format!("{{\"n\":{n},")), "{answer:?}");
                }
            });
        }
    });
    assert!(index_of(&world).is_file() && same(&world));
}

#[test]
fn killed_writers_leave_it_right() {
    let world = long();
    get(&world, "s1").ends(0);
    for round in 0..25u64 {
        let mut children: Vec<_> = (0..3)
            .map(|n| {
                let mut command = world.command(&["session", "put", &format!("k{n}"), "--file", "state"]);
                fs::write(world.beside("state"), format!("{round}")).unwrap();
                command.spawn().unwrap()
            })
            .collect();
        std::thread::sleep(std::time::Duration::from_micros(300 * (round % 12)));
        for child in &mut children {
            child.kill().unwrap();
            child.wait().unwrap();
        }
        let with = everything(&world);
        let kept = fs::read(index_of(&world)).ok();
        let _ = fs::remove_file(index_of(&world));
        assert_eq!(with, everything(&world), "round {round}");
        if let Some(kept) = kept {
            fs::write(index_of(&world), kept).unwrap();
        }
    }
}

#[test]
fn random_histories_are_the_same_with_and_without_it() {
    let mut runner =
        TestRunner::new(ProptestConfig { cases: 6, failure_persistence: None, ..ProptestConfig::default() });
    let steps = prop::collection::vec((0usize..6, 0usize..8), 1..14);
    runner
        .run(&steps, |steps| {
            let world = long();
            for (n, (step, id)) in steps.into_iter().enumerate() {
                let id = format!("s{}", id * 40);
                match step {
                    0 => drop(world.run_with(&["session", "put", &id], format!("{n}")).ends(0)),
                    1 => assert!(world.run(&["session", "delete", &id]).status < 2),
                    2 => append(&world, &(session_line(&id, &format!("[{n}]")) + "\n")),
                    3 => append(&world, &format!("{{\"op\":\"delete\",\"session_id\":\"{id}\"}}\n")),
                    4 => drop(everything(&world)),
                    _ => drop(world.run(&["journal", "compact", "sessions"]).ends(0)),
                }
            }
            same(&world);
            Ok(())
        })
        .unwrap();
}

/// A fact as the daemon writes it.
fn fact(id: &str, entity: &str, supersedes: Option<&str>) -> String {
    let supersedes = supersedes.map(|id| format!(",\"supersedes\":\"{id}\"")).unwrap_or_default();
    format!(
        "{{\"fact_id\":\"{id}\",\"tenant_hash\":\"default\",\"entity\":\"{entity}\",\"key\":\"content\",\"value\":\"v\",\
         \"confidence\":0.5,\"stored_at\":\"2026-06-26T09:15:02Z\",\"tokens\":1,\"deleted\":false,\"version\":1{supersedes},\
         \"private\":true}}"
    )
}

/// An event of one of the ten ops, about a few facts.
fn fact_event(op: usize, a: usize, b: usize) -> String {
    let (id, other) = (format!("f{a}"), format!("f{b}"));
    let entity = if a.is_multiple_of(3) { "__repo_scan__::r".to_owned() } else { format!("e{}", b % 2) };
    let at = "2026-06-26T09:15:03Z";
    let one = fact(&id, &entity, None);
    match op {
        0 | 1 => format!("{{\"op\":\"store\",\"fact\":{one}}}"),
        2 => format!("{{\"op\":\"store_batch\",\"facts\":[{one},{}]}}", fact(&other, "e0", None)),
        3 => format!("{{\"op\":\"replace_latest\",\"fact\":{one},\"replaced_fact_ids\":[\"{other}\"]}}"),
        4 => format!("{{\"op\":\"delete\",\"fact_id\":\"{id}\",\"deleted_at\":\"{at}\"}}"),
        5 => format!(
            "{{\"op\":\"supersede\",\"fact_id\":\"{id}\",\"by_fact_id\":\"{other}\",\"superseded_at\":\"{at}\"}}"
        ),
        6 => format!("{{\"op\":\"clear_supersede\",\"fact_id\":\"{id}\",\"cleared_at\":\"{at}\"}}"),
        7 => format!(
            "{{\"op\":\"consolidate\",\"canonical\":{},\"superseded_fact_ids\":[\"{other}\"],\"consolidated_at\":\"{at}\"}}",
            fact(&format!("c{a}"), "e0", Some(&other))
        ),
        8 => format!(
            "{{\"op\":\"consolidation_provenance\",\"canonical_fact_id\":\"c{a}\",\"source_fact_ids\":[\"{other}\"],\
             \"tenant_hash\":\"default\",\"recorded_at\":\"{at}\"}}"
        ),
        _ => format!(
            "{{\"op\":\"consolidate_undo\",\"canonical_fact_id\":\"c{a}\",\"restored_fact_ids\":[\"{other}\"],\
             \"undone_at\":\"{at}\"}}"
        ),
    }
}

/// What a journal of facts comes to, with what there is of an index, and how many bytes the index has seen.
fn facts(world: &World) -> (String, Option<u64>) {
    let header = fs::read(world.dir().join("cruxctl/index/facts.index")).ok();
    let seen = header.map(|bytes| u64::from_le_bytes(*bytes[40..].first_chunk().unwrap()));
    (world.run(&["journal", "export", "facts", "--json", "--quiet"]).ends(0).text(), seen)
}

/// Holds what the index of facts says against a reading of the whole journal.
fn same_facts(world: &World) -> Option<u64> {
    let (with, seen) = facts(world);
    let kept = fs::read(world.dir().join("cruxctl/index/facts.index")).ok();
    let _ = fs::remove_file(world.dir().join("cruxctl/index/facts.index"));
    let (without, _) = facts(world);
    assert_eq!(with, without);
    if let Some(kept) = kept {
        fs::write(world.dir().join("cruxctl/index/facts.index"), kept).unwrap();
    }
    seen
}

#[test]
fn random_histories_of_facts_are_the_same_with_and_without_it() {
    let mut runner =
        TestRunner::new(ProptestConfig { cases: 24, failure_persistence: None, ..ProptestConfig::default() });
    let event = (0usize..10, 0usize..6, 0usize..6).prop_map(|(op, a, b)| fact_event(op, a, b) + "\n");
    let events = || prop::collection::vec(event.clone(), 1..60).prop_map(|lines| lines.concat());
    runner
        .run(&(events(), events(), events()), |(first, second, third)| {
            let filler = |id: &str| {
                let long = fact(id, "filler", None).replace("\"v\"", &format!("\"{}\"", "x".repeat(1 << 20)));
                format!("{{\"op\":\"store\",\"fact\":{long}}}\n")
            };
            let world = World::with("facts.jsonl", filler("filler1") + &first);
            let append = |text: &str| {
                let path = world.dir().join("facts.jsonl");
                fs::OpenOptions::new().append(true).open(path).unwrap().write_all(text.as_bytes()).unwrap();
            };
            let len = world.read("facts.jsonl").len() as u64;
            facts(&world);
            assert_eq!(same_facts(&world), Some(len));
            // Looked up in the index, and read behind it.
            append(&second);
            assert_eq!(same_facts(&world), Some(len));
            // Far enough behind to be brought up to date in place.
            append(&(filler("filler2") + &third));
            facts(&world);
            assert_eq!(same_facts(&world), Some(world.read("facts.jsonl").len() as u64));
            let full = world.run(&["journal", "check", "facts", "--full"]).ends(0);
            assert!(!full.stderr.contains("index was wrong"), "{full:?}");
            Ok(())
        })
        .unwrap();
}
