//! What was validated and is no longer there is named: every changed byte, every record that is gone, whatever has
//! happened to the index or the machine in between. What a witness cannot know it does not say.

use std::collections::BTreeSet;
use std::fs;
use std::io::Write;
use std::os::unix::fs::FileExt;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;

use proptest::prelude::*;
use proptest::test_runner::TestRunner;
use serde_json::{Value, json};

use crate::support::{World, session_line, strace_is_waived, words};

const JOURNAL: &str = "sessions.jsonl";
const CASES: &str = "cases.jsonl";
const FACTS: &str = "facts.jsonl";

/// A journal of each kind, each line with the ids that it is about.
fn lines_of(file: &str) -> Vec<(String, Vec<&'static str>)> {
    let session = |id: &'static str, state: &str| (session_line(id, state), vec![id]);
    let case = |id: &'static str| {
        let line = format!(
            "{{\"op\":\"record\",\"case\":{{\"case_id\":\"{id}\",\"task\":\"t\",\"action\":\"a\",\"outcome\":\"o\",\
             \"success\":true,\"reward\":0.5,\"tags\":[],\"created_at\":\"2026-06-26T09:15:02Z\",\"times_reused\":0}}}}"
        );
        (line, vec![id])
    };
    let fact = |id: &str| {
        format!(
            "{{\"fact_id\":\"{id}\",\"tenant_hash\":\"default\",\"entity\":\"e\",\"key\":\"k\",\"value\":\"v\",\
             \"confidence\":0.5,\"stored_at\":\"2026-06-26T09:15:02Z\",\"tokens\":1,\"deleted\":false,\"version\":1,\
             \"private\":false}}"
        )
    };
    match file {
        JOURNAL => vec![
            session("a", "{\"k\":[1,2.5,null]}"),
            session("b", "\"text\""),
            session("a", "3"),
            ("{\"op\":\"delete\",\"session_id\":\"b\"}".to_owned(), vec!["b"]),
            session("c", "{}"),
        ],
        CASES => {
            vec![
                case("k1"),
                case("k2"),
                ("{\"op\":\"delete\",\"case_id\":\"k1\"}".to_owned(), vec!["k1"]),
                case("k3"),
            ]
        }
        _ => vec![
            (format!("{{\"op\":\"store\",\"fact\":{}}}", fact("f1")), vec!["f1"]),
            (format!("{{\"op\":\"store_batch\",\"facts\":[{},{}]}}", fact("f2"), fact("f3")), vec!["f2", "f3"]),
            ("{\"op\":\"delete\",\"fact_id\":\"f1\",\"deleted_at\":\"2026-06-26T09:15:03Z\"}".to_owned(), vec!["f1"]),
        ],
    }
}

fn text_of(lines: &[(String, Vec<&str>)]) -> String {
    lines.iter().map(|(line, _)| line.clone() + "\n").collect()
}

fn name(file: &str) -> &str {
    file.strip_suffix(".jsonl").unwrap()
}

/// A journal that was validated.
fn validated(file: &str, text: &str) -> World {
    let world = World::with(file, text).damaged();
    let (status, report) = world.check(&[name(file)]);
    assert_eq!((status, &report["journals"][0]["witness"]), (0, &"new".into()), "{report}");
    world
}

/// The findings of a class, with the ids of each.
fn found(report: &Value, class: &str) -> Vec<Vec<String>> {
    let of_class = report["findings"].as_array().unwrap().iter().filter(|f| f["class"] == class);
    let ids = |f: &Value| f["ids"].as_array().unwrap().iter().map(|id| id.as_str().unwrap().to_owned()).collect();
    of_class.map(ids).collect()
}

/// Writes bytes into the file as it is: the same file, changed in place.
fn patch(world: &World, file: &str, at: u64, bytes: &[u8]) {
    let file = fs::OpenOptions::new().write(true).open(world.dir().join(file)).unwrap();
    file.write_all_at(bytes, at).unwrap();
}

fn cut(world: &World, file: &str, len: u64) {
    fs::OpenOptions::new().write(true).open(world.dir().join(file)).unwrap().set_len(len).unwrap();
}

/// The whole text in place of what the file holds: the same file.
fn rewrite(world: &World, file: &str, text: &str) {
    cut(world, file, 0);
    patch(world, file, 0, text.as_bytes());
}

/// Runs `one` for every number below `count`, on a few threads, each in a world of its own.
fn each(count: usize, world: impl Fn() -> World + Sync, one: impl Fn(&World, usize) + Sync) {
    let next = AtomicUsize::new(0);
    thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| {
                let world = world();
                loop {
                    let n = next.fetch_add(1, Ordering::Relaxed);
                    if n >= count {
                        return;
                    }
                    one(&world, n);
                }
            });
        }
    });
}

#[test]
fn any_byte_that_is_changed_names_its_record() {
    for file in [JOURNAL, CASES, FACTS] {
        let lines = lines_of(file);
        let text = text_of(&lines);
        each(
            text.len(),
            || validated(file, &text),
            |world, at| {
                let (mut start, mut line) = (0, 0);
                while at > start + lines[line].0.len() {
                    start += lines[line].0.len() + 1;
                    line += 1;
                }
                let byte = text.as_bytes()[at];
                // Every bit somewhere; the lowest makes another digit of a digit.
                // Every bit somewhere; the lowest makes another digit of a digit. Read whole or not, the same is found.
                let bit = if at % 2 == 0 { 1 } else { 1u8 << (at / 2 % 8) };
                let how = if at % 4 == 3 { &[name(file), "--full"][..] } else { &[name(file)] };
                patch(world, file, at as u64, &[byte ^ bit]);
                let (status, report) = world.check(how);
                let changed = found(&report, "changed");
                assert_eq!((status, &changed), (3, &vec![owned(&lines[line].1)]), "{file} byte {at}: {report}");
                let place = report["findings"].as_array().unwrap().iter().find(|f| f["class"] == "changed");
                let place = place.map(|f| (f["line"].clone(), f["offset"].clone()));
                assert_eq!(place, Some(((line + 1).into(), start.into())), "{file} byte {at}: {report}");
                patch(world, file, at as u64, &[byte]);
                let (status, report) = world.check(&[name(file)]);
                assert_eq!((status, &report["journals"][0]["witness"]), (0, &"intact".into()), "{report}");
            },
        );
    }
}

fn owned(ids: &[&str]) -> Vec<String> {
    ids.iter().map(|id| (*id).to_owned()).collect()
}

#[test]
fn cut_anywhere_the_ids_that_are_gone_are_named() {
    for file in [JOURNAL, CASES, FACTS] {
        let lines = lines_of(file);
        let text = text_of(&lines);
        each(
            text.len(),
            || validated(file, &text),
            |world, at| {
                patch(world, file, 0, text.as_bytes());
                cut(world, file, at as u64);
                let (mut gone, mut end, mut boundary) = (BTreeSet::new(), 0, at == 0);
                for (line, ids) in &lines {
                    end += line.len() + 1;
                    boundary |= end == at;
                    // A line that lacks only its line end is there, and changed.
                    if end > at + 1 {
                        gone.extend(owned(ids));
                    }
                }
                for how in [&[name(file), "--full"][..], &[name(file)]].iter().skip(usize::from(!boundary)) {
                    let (status, report) = world.check(how);
                    let missing: BTreeSet<String> = found(&report, "records-missing").concat().into_iter().collect();
                    assert_eq!((status, &missing), (3, &gone), "{file} cut at {at}: {report}");
                    if boundary {
                        assert_eq!(report["findings"].as_array().unwrap().len(), 1, "{file} cut at {at}: {report}");
                    }
                }
            },
        );
    }
}

#[test]
fn a_line_end_that_is_gone_at_the_very_end_is_a_change() {
    let text = text_of(&lines_of(JOURNAL));
    let world = validated(JOURNAL, &text);
    cut(&world, JOURNAL, text.len() as u64 - 1);
    let (status, report) = world.check(&["sessions"]);
    assert_eq!((status, found(&report, "changed")), (3, vec![owned(&["c"])]), "{report}");
    assert!(found(&report, "records-missing").is_empty(), "{report}");
    // The next append gives it back.
    world.run_with(&["session", "put", "d"], "1").ends(0);
    assert_eq!(world.check(&["sessions"]).0, 0);
}

/// A journal that is long enough for an index.
fn long() -> String {
    let line = |n: usize| session_line(&format!("s{n}"), &format!("{{\"n\":{n},\"pad\":\"{}\"}}", "x".repeat(4000)));
    (0..300).map(|n| line(n) + "\n").collect()
}

#[test]
fn a_reboot_and_a_lost_index_take_nothing_from_it() {
    let text = long();
    let line = text.len() as u64 / 300;
    for lost in [&["index"][..], &[]] {
        let world = validated(JOURNAL, &text);
        let index = world.dir().join("cruxctl/index/sessions.index");
        if lost.is_empty() {
            // Another boot: the header begins with its number, behind eight bytes.
            let file = fs::OpenOptions::new().write(true).open(&index).unwrap();
            file.write_all_at(&[7; 16], 8).unwrap();
        } else {
            fs::remove_file(&index).unwrap();
        }
        let ends: Vec<u64> =
            text.bytes().enumerate().filter(|(_, b)| *b == b'\n').map(|(n, _)| n as u64 + 1).collect();
        cut(&world, JOURNAL, ends[296]);
        let (status, report) = world.check(&["sessions"]);
        let gone = vec![owned(&["s297", "s298", "s299"])];
        assert_eq!((status, found(&report, "records-missing")), (3, gone.clone()), "{report}");
        // A verb that reads says so as well, from the index that was made since.
        world.run(&words("session get s298")).ends(3);
        world.run(&words("session get s1")).ends(3);
        world.run(&words("session get s1 --damaged-ok")).ends(0);
        world.run(&words("session list")).ends(3);
        world.run(&words("journal export sessions")).ends(3);
        world.run_with(&words("session put s298"), "1").ends(0);
        let (status, report) = world.check(&["sessions", "--full"]);
        assert_eq!((status, found(&report, "records-missing")), (3, gone), "{report}");
        assert!(line > 4000);
        world.run(&words("journal check sessions --accept")).ends(0);
        world.run(&words("session get s1")).ends(0);
        world.run(&words("session get s297")).ends(1);
        assert_eq!(world.check(&["sessions"]).1["journals"][0]["witness"], "intact");
    }
}

#[test]
fn both_files_may_be_deleted_and_the_next_command_is_right() {
    let world = validated(JOURNAL, &long());
    let before = world.run(&words("session list --json")).ends(0).text();
    world.forget();
    assert_eq!(world.run(&words("session list --json")).ends(0).text(), before);
    world.forget();
    world.run_with(&words("session put s5"), "5").ends(0);
    let (status, report) = world.check(&["sessions", "--full"]);
    assert_eq!((status, &report["journals"][0]["live"]), (0, &300.into()), "{report}");
}

#[test]
fn what_is_put_in_moved_or_taken_out_in_the_middle_is_told() {
    let lines = lines_of(JOURNAL);
    let all = |order: &[usize]| text_of(&order.iter().map(|n| lines[*n].clone()).collect::<Vec<_>>());
    let one = session_line("new", "1") + "\n";
    let whole = all(&[0, 1, 2, 3, 4]);
    for (now, missing, changed) in [
        (all(&[0, 2, 3, 4]), vec![owned(&["b"])], vec![]),
        (all(&[2, 3, 4]), vec![owned(&["a", "b"])], vec![]),
        (all(&[0, 1, 3, 2, 4]), vec![], vec![owned(&["a"]), owned(&["b"])]),
        (one.clone() + &whole, vec![], vec![owned(&[])]),
        (all(&[0, 1]) + &one + &all(&[3, 4]), vec![owned(&["a"])], vec![]),
        (all(&[0, 1]) + &one + &one + &one + &one, vec![owned(&["a", "b", "c"])], vec![]),
        (one.clone(), vec![owned(&["a", "b", "c"])], vec![]),
        (String::new(), vec![owned(&["a", "b", "c"])], vec![]),
    ] {
        let world = validated(JOURNAL, &whole);
        rewrite(&world, JOURNAL, &now);
        for how in [&["sessions"][..], &["sessions", "--full"]] {
            let (status, report) = world.check(how);
            assert_eq!(status, 3, "{now}: {report}");
            assert_eq!(found(&report, "records-missing"), missing, "{now}: {report}");
            assert_eq!(found(&report, "changed"), changed, "{now}: {report}");
        }
    }
}

#[test]
fn a_page_of_zeros_names_every_record_that_lay_there() {
    let lines = lines_of(JOURNAL);
    let text = text_of(&lines);
    let world = validated(JOURNAL, &text);
    let from = lines[0].0.len() + 5;
    patch(&world, JOURNAL, from as u64, &vec![0; text.len() - from]);
    let (status, report) = world.check(&["sessions"]);
    let names: BTreeSet<String> =
        [found(&report, "changed"), found(&report, "records-missing")].concat().concat().into_iter().collect();
    assert_eq!((status, names), (3, BTreeSet::from(["a", "b", "c"].map(str::to_owned))), "{report}");
}

#[test]
fn a_journal_that_is_gone_is_all_of_it_missing() {
    let world = validated(FACTS, &text_of(&lines_of(FACTS)));
    let file = world.dir().join(FACTS);
    fs::rename(&file, world.beside("away")).unwrap();
    let (status, report) = world.check(&["facts"]);
    assert_eq!((status, found(&report, "records-missing")), (3, vec![owned(&["f1", "f2", "f3"])]), "{report}");
    fs::rename(world.beside("away"), &file).unwrap();
    assert_eq!(world.check(&["facts"]).0, 0);
    fs::remove_file(&file).unwrap();
    world.run(&words("journal check facts --accept")).ends(0);
    assert_eq!(world.check(&["facts"]).0, 0);
}

#[test]
fn another_file_in_its_place_is_noted_with_the_ids_that_are_gone() {
    let lines = lines_of(JOURNAL);
    let replace = |world: &World, text: &str| {
        world.write("copy", text);
        fs::rename(world.dir().join("copy"), world.dir().join(JOURNAL)).unwrap();
    };
    // The same bytes: a copy, a restored backup.
    let world = validated(JOURNAL, &text_of(&lines));
    replace(&world, &text_of(&lines));
    let answer = world.run(&words("journal check sessions")).ends(0);
    assert!(!answer.stderr.contains("replaced"), "{answer:?}");
    assert_eq!(world.check(&["sessions"]).1["journals"][0]["witness"], "intact");
    // What the daemon's own compaction leaves: live ids, written anew.
    replace(&world, &(session_line("c", "{ }") + "\n" + &session_line("a", "3.0") + "\n"));
    let answer = world.run(&words("journal check sessions")).ends(0);
    assert!(answer.stderr.contains("every id that was live is still there"), "{answer:?}");
    assert_eq!(world.check(&["sessions"]).1["journals"][0]["witness"], "intact");
    // An old backup: a live id is gone. That is said until it is accepted.
    replace(&world, &(session_line("c", "{}") + "\n"));
    for _ in 0..2 {
        let answer = world.run(&words("journal check sessions")).ends(0);
        assert!(answer.stderr.contains("1 of the ids that it had are not in it any more"), "{answer:?}");
        assert!(answer.stderr.contains("older copy): \"a\""), "{answer:?}");
        assert!(answer.text().contains("next\tcruxctl journal check sessions --accept"), "{answer:?}");
    }
    let refused = world.run(&words("journal compact sessions")).ends(5);
    assert!(refused.stderr.contains("refused.damage"), "{refused:?}");
    world.run(&words("journal check sessions --accept")).ends(0);
    let answer = world.run(&words("journal check sessions")).ends(0);
    assert!(answer.text().contains("\tintact\t") && !answer.stderr.contains("witness"), "{answer:?}");
}

#[test]
fn compaction_and_repair_take_it_along() {
    for (text, verb, left) in [
        (text_of(&lines_of(JOURNAL)), "journal compact sessions", "a"),
        (text_of(&lines_of(JOURNAL)).replacen("\"op\"", "\"oq\"", 1), "journal repair sessions --apply", "a"),
    ] {
        let world = World::with(JOURNAL, text).damaged();
        world.check(&["sessions"]);
        world.run(&words(verb)).ends(0);
        let answer = world.run(&words("journal check sessions")).ends(0);
        assert!(!answer.stderr.contains("replaced") && answer.text().contains("\tintact\t"), "{answer:?}");
        let now = String::from_utf8(world.read(JOURNAL)).unwrap();
        let at = now.find(&format!("\"{left}\"")).unwrap();
        patch(&world, JOURNAL, at as u64 + 1, b"z");
        let (status, report) = world.check(&["sessions"]);
        assert_eq!((status, found(&report, "changed")), (3, vec![owned(&[left])]), "{report}");
    }
}

#[test]
fn a_repair_keeps_the_witness_that_speaks_against_the_journal() {
    let text = text_of(&lines_of(JOURNAL));
    let world = validated(JOURNAL, &text);
    patch(&world, JOURNAL, 3, b"\0");
    let answer = world.run(&words("journal repair sessions --apply")).ends(0);
    assert!(answer.stderr.contains("the witness spoke against"), "{answer:?}");
    let kept = fs::read_dir(world.dir().join("cruxctl/quarantine")).unwrap().flatten();
    assert_eq!(kept.filter(|file| file.path().extension().is_some_and(|e| e == "witness")).count(), 1);
    assert_eq!(world.check(&["sessions"]).0, 0);
}

#[test]
fn a_compaction_of_what_is_not_what_it_was_is_refused() {
    let text = text_of(&lines_of(JOURNAL));
    let world = validated(JOURNAL, &text);
    cut(&world, JOURNAL, lines_of(JOURNAL)[0].0.len() as u64 + 1);
    let before = world.read(JOURNAL);
    for line in ["journal compact sessions", "journal compact sessions --dry-run"] {
        let answer = world.run(&words(line)).ends(5);
        assert!(answer.stderr.contains("records-missing"), "{answer:?}");
    }
    assert_eq!(world.read(JOURNAL), before);
}

#[test]
fn a_witness_with_any_byte_changed_or_cut_never_speaks_against_the_journal() {
    let world = validated(JOURNAL, &text_of(&lines_of(JOURNAL)));
    world.run_with(&words("session put d"), "1").ends(0);
    let path = world.dir().join("cruxctl/index/sessions.witness");
    let whole = fs::read(&path).unwrap();
    let check = |what: &str| {
        let (status, report) = world.check(&["sessions", "--dry-run"]);
        assert_eq!((status, report["findings"].as_array().unwrap().len()), (0, 0), "{what}: {report}");
    };
    for at in 0..whole.len() {
        let mut bytes = whole.clone();
        bytes[at] ^= 1 << (at % 8);
        fs::write(&path, &bytes).unwrap();
        check(&format!("byte {at}"));
        fs::write(&path, &whole[..at]).unwrap();
        check(&format!("cut at {at}"));
    }
    // What was never finished is written again.
    fs::write(&path, &whole[..whole.len() - 3]).unwrap();
    world.run_with(&words("session put e"), "1").ends(0);
    let (_, report) = world.check(&["sessions"]);
    assert_eq!(report["journals"][0]["known_bytes"], report["journals"][0]["bytes"], "{report}");
    fs::write(&path, "something else").unwrap();
    let answer = world.run(&words("journal check sessions")).ends(0);
    assert!(answer.stderr.contains("cannot be read") && answer.text().contains("--accept"), "{answer:?}");
    assert_eq!(fs::read(&path).unwrap(), b"something else");
    world.run(&words("journal check sessions --accept")).ends(0);
    let answer = world.run(&words("journal check sessions")).ends(0);
    assert!(answer.text().contains("\tintact\t") && !answer.stderr.contains("witness"), "{answer:?}");
}

/// Short sessions, in as many lines as make several blocks of entries.
fn many(from: usize, to: usize) -> String {
    (from..to).map(|n| session_line(&format!("id{n:06}"), &n.to_string()) + "\n").collect()
}

fn witness_of(world: &World) -> std::path::PathBuf {
    world.dir().join("cruxctl/index/sessions.witness")
}

/// Where each block of a witness begins, by their marks.
fn blocks(bytes: &[u8]) -> Vec<usize> {
    let (mut at, mut all) = (64, Vec::new());
    while at < bytes.len() {
        all.push(at);
        at += 56 + u32::from_le_bytes(*bytes[at + 4..].first_chunk().unwrap()) as usize;
    }
    all
}

#[test]
fn a_witness_that_was_cut_short_anywhere_goes_on_from_its_last_whole_block() {
    let world = validated(JOURNAL, &many(0, 8_000));
    let whole = fs::read(witness_of(&world)).unwrap();
    let blocks = blocks(&whole);
    assert!(blocks.len() > 3, "{blocks:?}");
    for cut in [blocks[1], blocks[1] + 10, blocks[2] + 60, whole.len() - 10, 64] {
        fs::write(witness_of(&world), &whole[..cut]).unwrap();
        world.run(&words("session get id000001")).ends(0);
        world.run(&words("session list --limit 1")).ends(0);
        world.run_with(&words("session put more"), "1").ends(0);
        let (status, report) = world.check(&["sessions"]);
        assert_eq!((status, &report["journals"][0]["known_bytes"]), (0, &report["journals"][0]["bytes"]), "{cut}");
    }
}

#[test]
fn a_journal_of_any_length_can_be_gone_on_with() {
    // Somewhere among these the last entry fills a block just so.
    let line = |n: usize| session_line(&format!("id{n:06}"), &n.to_string()) + "\n";
    let world = validated(JOURNAL, &many(0, 2_300));
    let whole = fs::read(witness_of(&world)).unwrap();
    let first = blocks(&whole)[1] - 64;
    let lines = (0..2_300).rev().find(|n| first > 56 + n * 28).unwrap_or(2_000);
    for count in lines.saturating_sub(3)..lines + 3 {
        let text: String = (0..count).map(line).collect();
        let world = validated(JOURNAL, &text);
        world.run(&words("session get id000001")).ends(0);
        world.run_with(&words("session put more"), "1").ends(0);
        cut(&world, JOURNAL, text.len() as u64);
        assert_eq!(found(&world.check(&["sessions"]).1, "records-missing"), [owned(&["more"])], "{count}");
    }
}

#[test]
fn a_damaged_block_hides_nothing_that_the_others_know_and_is_never_written_over() {
    let text = many(0, 8_000);
    let world = validated(JOURNAL, &text);
    let whole = fs::read(witness_of(&world)).unwrap();
    let blocks = blocks(&whole);
    let last = blocks[blocks.len() - 1];
    for at in [blocks[1] + 70, blocks[1] + 4, last + 70] {
        let mut bytes = whole.clone();
        bytes[at] ^= 0x55;
        fs::write(witness_of(&world), &bytes).unwrap();
        let answer = world.run(&words("journal check sessions")).ends(0);
        assert!(answer.stderr.contains("cannot be read") && answer.text().contains("\tunreadable\t"), "{answer:?}");
        world.run_with(&words("session put more"), "1").ends(0);
        let now = fs::read(witness_of(&world)).unwrap();
        assert!(now.starts_with(&bytes), "byte {at} of {}", whole.len());
        // What is lost behind the damage is still told, and so is what has changed there.
        if at < last {
            patch(&world, JOURNAL, 0, text.as_bytes());
            let lines = text.lines().count();
            let keep: usize = text.lines().take(lines - 2).map(|line| line.len() + 1).sum();
            cut(&world, JOURNAL, keep as u64);
            let (status, report) = world.check(&["sessions"]);
            let gone = found(&report, "records-missing");
            assert_eq!((status, gone[0][..2].to_vec()), (3, owned(&["id007998", "id007999"])), "byte {at}");
            world.run(&words("session get id007999")).ends(3);
        }
        rewrite(&world, JOURNAL, &text);
    }
}

#[test]
fn a_copy_in_its_place_is_held_against_it_as_the_file_itself() {
    let text = text_of(&lines_of(JOURNAL));
    let replace = |world: &World, text: &str| {
        world.write("copy", text);
        fs::rename(world.dir().join("copy"), world.dir().join(JOURNAL)).unwrap();
    };
    let world = validated(JOURNAL, &text);
    replace(&world, &text.replace("2.5", "2.6"));
    let (status, report) = world.check(&["sessions"]);
    assert_eq!((status, found(&report, "changed")), (3, vec![owned(&["a"])]), "{report}");
    // What is written after a copy is known as well, without a check in between.
    let world = validated(JOURNAL, &text);
    replace(&world, &text);
    world.run_with(&words("session put more"), "1").ends(0);
    cut(&world, JOURNAL, text.len() as u64);
    assert_eq!(found(&world.check(&["sessions"]).1, "records-missing"), [owned(&["more"])]);
}

#[test]
fn a_copy_does_not_cost_what_lies_behind_a_damaged_end() {
    let world = validated(JOURNAL, &many(0, 8_000));
    let mut bytes = fs::read(witness_of(&world)).unwrap();
    let last = *blocks(&bytes).last().unwrap();
    bytes[last + 70] ^= 0x55;
    fs::write(witness_of(&world), &bytes).unwrap();
    world.write("copy", world.read(JOURNAL));
    fs::rename(world.dir().join("copy"), world.dir().join(JOURNAL)).unwrap();
    world.run_with(&words("session put more"), "1").ends(0);
    assert_eq!(fs::read(witness_of(&world)).unwrap()[64..], bytes[64..]);
}

#[test]
fn a_file_that_has_nothing_of_what_was_there_is_no_compaction() {
    for text in [text_of(&lines_of(JOURNAL)), long()] {
        let world = validated(JOURNAL, &text);
        fs::remove_file(world.dir().join(JOURNAL)).unwrap();
        world.run_with(&words("session put z"), "1").ends(0);
        let (status, report) = world.check(&["sessions"]);
        assert_eq!((status, found(&report, "records-missing").len()), (3, 1), "{report}");
        world.run(&words("session get a")).ends(3);
        world.run(&words("session list")).ends(3);
        world.run(&words("journal check --accept")).ends(0);
        world.run(&words("session list")).ends(0);
    }
}

#[test]
fn a_tail_that_was_lost_and_is_back_is_no_longer_missing() {
    let text = long();
    let world = validated(JOURNAL, &text);
    let ends: Vec<usize> = text.bytes().enumerate().filter(|(_, b)| *b == b'\n').map(|(n, _)| n + 1).collect();
    cut(&world, JOURNAL, ends[290] as u64);
    world.run(&words("session get s1")).ends(3);
    assert_eq!(world.check(&["sessions"]).0, 3);
    patch(&world, JOURNAL, ends[290] as u64, &text.as_bytes()[ends[290]..]);
    world.run(&words("session get s1")).ends(0);
    assert_eq!(world.check(&["sessions"]).0, 0);
}

#[test]
fn what_the_index_has_not_seen_yet_is_missed_all_the_same() {
    let text = long();
    let world = validated(JOURNAL, &text);
    let path = world.dir().join(JOURNAL);
    let more: String = (0..10).map(|n| session_line(&format!("new{n}"), "1") + "\n").collect();
    fs::OpenOptions::new().append(true).open(&path).unwrap().write_all(more.as_bytes()).unwrap();
    assert_eq!(world.check(&["sessions"]).0, 0);
    cut(&world, JOURNAL, text.len() as u64);
    world.run(&words("session get new8")).ends(3);
    world.run(&words("session list")).ends(3);
}

#[test]
fn an_index_of_other_bytes_is_dropped_by_a_check() {
    let text = long();
    let world = validated(JOURNAL, &text);
    let at = text.find("\"s100\"").unwrap() as u64;
    patch(&world, JOURNAL, at, b"\"s101\"");
    let path = world.dir().join(JOURNAL);
    fs::OpenOptions::new()
        .append(true)
        .open(path)
        .unwrap()
        .write_all((session_line("d", "1") + "\n").as_bytes())
        .unwrap();
    let (status, report) = world.check(&["sessions"]);
    let count = world.run(&words("session list --all --all-agents --format id --damaged-ok")).lines().len();
    assert_eq!((status, &report["journals"][0]["live"]), (3, &count.into()), "{report}");
}

#[test]
fn what_was_read_of_a_file_that_is_replaced_meanwhile_is_not_kept() {
    use cruxctl::journal::files::DataDir;
    use cruxctl::journal::table::Table;
    use cruxctl::store::session::JOURNAL as SESSIONS;

    let last = session_line("gone", "1") + "\n{\"op\":\"delete\",\"session_id\":\"gone\"}\n";
    let world = World::with(JOURNAL, long() + &last);
    let dir = DataDir { root: world.dir(), boot: Some([1; 16]), clock: None };
    let mut reader = Table::open(&dir, &SESSIONS, true).unwrap();
    world.run(&words("journal compact sessions")).ends(0);
    reader.keep();
    drop(reader);
    world.run_with(&words("session put more"), format!("\"{}\"", "y".repeat(3_000))).ends(0);
    assert_eq!(world.check(&["sessions"]).1["journals"][0]["witness"], "intact");
    world.run(&words("journal compact sessions")).ends(0);
}

#[test]
fn a_repair_of_a_file_that_lacks_ids_keeps_the_witness() {
    let lines = lines_of(JOURNAL);
    let world = validated(JOURNAL, &text_of(&lines));
    world.write("copy", format!("{}\n{{\"op\":\"store\",\"sess\n", lines[4].0));
    fs::rename(world.dir().join("copy"), world.dir().join(JOURNAL)).unwrap();
    world.run(&words("journal repair sessions --apply")).ends(0);
    let kept = fs::read_dir(world.dir().join("cruxctl/quarantine")).unwrap().flatten();
    assert_eq!(kept.filter(|file| file.path().extension().is_some_and(|e| e == "witness")).count(), 1);
}

#[test]
fn whatever_is_in_the_place_of_the_witness_no_verb_waits_for_it() {
    for kind in ["fifo", "folder", "link"] {
        let world = World::with(JOURNAL, format!("{}\n{{\"op\":\"sto\n", session_line("a", "1"))).damaged();
        world.run(&words("journal check sessions")).ends(3);
        fs::remove_file(witness_of(&world)).unwrap();
        let path = witness_of(&world).display().to_string();
        match kind {
            "fifo" => drop(world.shell(&format!("mkfifo '{path}'")).ends(0)),
            "folder" => fs::create_dir(witness_of(&world)).unwrap(),
            _ => std::os::unix::fs::symlink("nowhere", witness_of(&world)).unwrap(),
        }
        world.run(&words("session get a")).ends(3);
        world.run_with(&words("session put b"), "1").ends(0);
        let answer = world.run(&words("journal check sessions")).ends(3);
        assert!(answer.stderr.contains("cannot be read"), "{kind}: {answer:?}");
        world.run(&words("journal compact sessions")).ends(5);
        world.run(&words("journal repair sessions --apply")).ends(0);
        assert_eq!(world.check(&["sessions"]).1["journals"][0]["witness"], "intact", "{kind}");
    }
}

#[test]
fn a_line_about_any_number_of_ids_names_them_all() {
    let facts: Vec<String> = (0..5_000)
        .map(|n| lines_of(FACTS)[0].0.replace("f1", &format!("fact-{n:030}")))
        .map(|line| line["{\"op\":\"store\",\"fact\":".len()..line.len() - 1].to_owned())
        .collect();
    let batch = format!("{{\"op\":\"store_batch\",\"facts\":[{}]}}\n", facts.join(","));
    let world = validated(FACTS, &(lines_of(FACTS)[0].0.clone() + "\n" + &batch));
    cut(&world, FACTS, lines_of(FACTS)[0].0.len() as u64 + 1);
    assert_eq!(found(&world.check(&["facts"]).1, "records-missing")[0].len(), 5_000);
    // The same facts in other lines are the same facts.
    let single: String = facts.iter().map(|fact| format!("{{\"op\":\"store\",\"fact\":{fact}}}\n")).collect();
    let world = validated(FACTS, &single);
    world.write("copy", &batch);
    fs::rename(world.dir().join("copy"), world.dir().join(FACTS)).unwrap();
    let answer = world.run(&words("journal check facts")).ends(0);
    assert!(answer.stderr.contains("every id that was live is still there"), "{answer:?}");
}

#[test]
fn only_what_was_live_can_be_gone() {
    let keep = session_line("keep", "1");
    let delete = |id: &str| format!("{{\"op\":\"delete\",\"session_id\":\"{id}\"}}");
    let text = format!(
        "{keep}{}\n{}\n{}{}\n{}\n",
        delete("gone"),
        session_line("gone2", "1"),
        delete("gone2"),
        session_line("keep2", "1"),
        &session_line("torn", "1")[..60]
    );
    let world = World::with(JOURNAL, text).damaged();
    world.check(&["sessions"]);
    world.write("copy", format!("{}\n", session_line("keep2", "1")));
    fs::rename(world.dir().join("copy"), world.dir().join(JOURNAL)).unwrap();
    let (_, report) = world.check(&["sessions"]);
    assert_eq!(report["journals"][0]["gone"], serde_json::json!(["keep"]), "{report}");
}

#[test]
fn lines_that_are_the_same_are_counted() {
    let delete = "{\"op\":\"delete\",\"session_id\":\"s\"}";
    let store = |n: usize| session_line("s", &n.to_string());
    let z = session_line("z", "1");
    let text = format!("{z}\n{}\n{delete}\n{}\n{delete}\n{z}\n", store(1), store(2));
    let world = validated(JOURNAL, &text);
    rewrite(&world, JOURNAL, &format!("{}\n{delete}\n{}\n{z}\n", store(1), store(2)));
    let (status, report) = world.check(&["sessions"]);
    let missing: BTreeSet<String> = found(&report, "records-missing").concat().into_iter().collect();
    assert_eq!((status, missing), (3, BTreeSet::from(["s".to_owned(), "z".to_owned()])), "{report}");
}

#[test]
fn what_a_killed_check_has_left_is_swept_away() {
    let world = World::with(JOURNAL, many(0, 30_000));
    let folder = world.dir().join("cruxctl/index");
    fs::create_dir_all(&folder).unwrap();
    fs::write(folder.join(".sessions.witness.7-0.tmp"), "left").unwrap();
    world.run(&words("journal check sessions")).ends(0);
    let left: Vec<_> = fs::read_dir(&folder).unwrap().flatten().map(|file| file.file_name()).collect();
    assert!(left.iter().all(|name| !name.to_string_lossy().ends_with(".tmp")), "{left:?}");
}

#[test]
fn damage_that_was_there_when_it_was_validated_is_found_again_and_nothing_else() {
    let lines = lines_of(JOURNAL);
    let text = format!(
        "{}\n{}{}\n\n{}\n\0\0\0{}\nnot json\n",
        lines[0].0,
        &lines[1].0[..40],
        lines[2].0,
        lines[3].0,
        lines[4].0
    );
    let world = World::with(JOURNAL, text).damaged();
    let plain = |report: &Value| (report["findings"].clone(), report["journals"][0]["live"].clone());
    let first = world.check(&["sessions"]);
    for how in [&["sessions"][..], &["sessions", "--full"], &["sessions"]] {
        let again = world.check(how);
        assert_eq!((again.0, plain(&again.1)), (3, plain(&first.1)));
        assert_eq!(again.1["journals"][0]["witness"], "intact");
    }
}

#[test]
fn a_check_may_keep_nothing() {
    let world = World::with(JOURNAL, text_of(&lines_of(JOURNAL)));
    world.run(&words("journal check --dry-run")).ends(0);
    world.run(&words("journal check --dry-run --accept")).ends(2);
    world.write(JOURNAL, long().repeat(20));
    world.run(&words("journal check --dry-run")).ends(0);
    world.run(&words("journal check --dry-run --full")).ends(0);
    world.run(&words("journal compact sessions --dry-run")).ends(0);
    world.run(&words("session delete s1 --dry-run")).ends(0);
    assert!(!world.dir().join("cruxctl").exists());
}

#[test]
fn eight_writers_and_two_readers_leave_a_clean_full_check_and_a_right_index() {
    let world = World::with(JOURNAL, long());
    world.run(&words("journal check sessions")).ends(0);
    let left = AtomicUsize::new(2_000);
    let next = || left.fetch_update(Ordering::Relaxed, Ordering::Relaxed, |n| n.checked_sub(1)).ok();
    thread::scope(|scope| {
        for writer in 0..8 {
            let world = &world;
            scope.spawn(move || {
                while let Some(n) = next() {
                    let id = format!("s{}", (n * 7 + writer) % 400);
                    match n % 5 {
                        0 => assert!(world.run(&["session", "delete", &id]).status < 2),
                        1 => assert!(world.run(&["session", "archive", &id]).status < 2),
                        _ => drop(world.run_with(&["session", "put", &id], format!("{n}")).ends(0)),
                    }
                }
            });
        }
        for _ in 0..2 {
            let (world, left) = (&world, &left);
            scope.spawn(move || {
                while left.load(Ordering::Relaxed) > 0 {
                    world.run(&words("journal check sessions")).ends(0);
                    world.run(&words("session list --all --limit 3")).ends(0);
                }
            });
        }
    });
    let answer = world.run(&words("journal check sessions --full --json")).ends(0);
    assert!(!answer.stderr.contains("index was wrong"), "{answer:?}");
    let report = answer.json();
    assert_eq!(report["journals"][0]["known_bytes"], report["journals"][0]["bytes"], "{report}");
    let list = || world.run(&words("session list --all --json")).ends(0).text();
    let with = list();
    assert!(world.dir().join("cruxctl/index/sessions.index").is_file());
    world.forget();
    assert_eq!(list(), with);
}

#[test]
fn whatever_has_happened_before_an_accident_is_named() {
    let mut runner =
        TestRunner::new(ProptestConfig { cases: 40, failure_persistence: None, ..ProptestConfig::default() });
    let steps = prop::collection::vec((0usize..7, 0usize..5), 1..16);
    let accident = (any::<bool>(), any::<prop::sample::Index>(), 0u8..8);
    runner
        .run(&(steps, accident), |(steps, (cuts, at, bit))| {
            let world = World::with(JOURNAL, session_line("s0", "0") + "\n").damaged();
            for (n, (step, id)) in steps.into_iter().enumerate() {
                let id = format!("s{id}");
                let append = |text: &str| {
                    let path = world.dir().join(JOURNAL);
                    let mut file = fs::OpenOptions::new().append(true).create(true).open(path).unwrap();
                    file.write_all(text.as_bytes()).unwrap();
                };
                match step {
                    0 | 1 => drop(world.run_with(&["session", "put", &id], format!("{n}")).ends(0)),
                    2 => assert!([0, 1, 3].contains(&world.run(&["session", "delete", &id]).status)),
                    // A daemon writes beside us, and sometimes not to the end.
                    3 => append(&(session_line(&id, &format!("[{n}]")) + "\n")),
                    4 => append(&session_line(&id, "{}")[..30]),
                    5 => drop(world.run(&["journal", "repair", "sessions", "--apply"]).ends(0)),
                    _ => assert!([0, 5].contains(&world.run(&["journal", "compact", "sessions"]).status)),
                }
            }
            world.check(&["sessions"]);
            let (_, report) = world.check(&["sessions"]);
            let known: usize = report["journals"][0]["known_bytes"].to_string().parse().unwrap();
            let text = world.read(JOURNAL);
            prop_assume!(known > 0);
            let at = at.index(known);
            let line = text[..at].iter().filter(|b| **b == b'\n').count() + 1;
            if cuts {
                cut(&world, JOURNAL, at as u64);
            } else {
                patch(&world, JOURNAL, at as u64, &[text[at] ^ (1 << bit)]);
            }
            let (status, report) = world.check(&["sessions"]);
            let hit = report["findings"].as_array().unwrap().iter().any(|finding| {
                let told = finding["class"] == "changed" || finding["class"] == "records-missing";
                told && finding["line"].to_string().parse::<usize>().unwrap() >= line
            });
            prop_assert!(status == 3 && hit, "byte {at} of {known}, line {line}: {report}");
            Ok(())
        })
        .unwrap();
}

#[test]
fn a_compaction_that_was_killed_before_its_witness_was_made_has_lost_nothing() {
    let large = format!("\"{}\"", "x".repeat(5_000));
    let lines: String = (0..8).map(|n| session_line(&format!("s{n}"), &large) + "\n").collect();
    let world = World::with("sessions.jsonl", lines);
    for id in ["a", "b"] {
        world.put(id, "1");
    }
    world.run(&["session", "delete", "a"]).ends(0);
    world.put("b", "2");
    world.run(&["journal", "check"]).ends(0);
    let witness = "cruxctl/index/sessions.witness";
    let before = world.read(witness);
    world.run(&["journal", "compact", "sessions"]).ends(0);
    // As it was when the compaction had renamed its copy, and no more.
    world.write(witness, &before);
    let (status, report) = world.check(&["sessions"]);
    assert_eq!((status, &report["journals"][0]["verdict"], &report["findings"]), (0, &json!("clean"), &json!([])));
    // From here on it is known again.
    assert_eq!(world.check(&["sessions"]).1["journals"][0]["witness"], "intact");
    // A copy by another's hand is still held against what it is a copy of.
    let text = String::from_utf8(world.read("sessions.jsonl")).unwrap();
    fs::remove_file(world.dir().join("sessions.jsonl")).unwrap();
    world.write("sessions.jsonl", text.replace("\"session_id\":\"b\"", "\"session_id\":\"c\""));
    assert_eq!(world.check(&["sessions"]).0, 3);
    world.check(&["sessions", "--accept"]);
}

#[test]
fn an_append_to_it_that_was_cut_short_anywhere_is_no_damage() {
    let world = World::new();
    world.put("a", "1");
    let witness = "cruxctl/index/sessions.witness";
    let before = world.read(witness).len();
    world.put("b", "2");
    world.run(&["session", "delete", "a"]).ends(0);
    let whole = world.read(witness);
    for len in before..=whole.len() {
        world.write(witness, &whole[..len]);
        world.run(&["journal", "compact", "sessions", "--dry-run"]).ends(0);
        let report = world.run(&["journal", "check", "sessions", "--dry-run", "--json"]).ends(0).json();
        assert_eq!(report["journals"][0]["witness"], "intact", "{len}: {report}");
    }
}

#[test]
fn it_is_on_disk_and_up_to_date_before_another_file_takes_the_journals_place() {
    if strace_is_waived() {
        return;
    }
    for args in [&["journal", "compact", "sessions"][..], &["journal", "repair", "sessions", "--apply"]] {
        let world = World::new();
        for id in ["a", "b"] {
            world.put(id, "1");
        }
        world.run(&["session", "delete", "a"]).ends(0);
        let witness = "cruxctl/index/sessions.witness";
        let (known, whole) = (world.read(witness).len() - 100, world.read(witness));
        // A reboot has taken the end of it.
        world.write(witness, &whole[..known]);
        world.append("sessions.jsonl", "torn\n");
        if args[1] == "compact" {
            world.run(&["journal", "repair", "sessions", "--apply"]).ends(0);
            world.run(&["session", "delete", "b"]).ends(0);
            world.write(witness, &world.read(witness)[..known]);
        }
        let options = ["-e", "trace=fdatasync,rename,renameat,renameat2,pwrite64"];
        let traced = world.traced(&options, args, "");
        assert_eq!(traced.answer.status, 0, "{traced:?}");
        let first = |name: &str, text: &str| *traced.places(name, text).first().unwrap_or(&usize::MAX);
        let replaced = first("rename", "/sessions.jsonl\"");
        let (grown, synced) = (first("pwrite64", "sessions.witness>"), first("fdatasync", "sessions.witness>"));
        assert!(grown < synced && synced < replaced && replaced < usize::MAX, "{:?}", traced.calls);
    }
}

#[test]
fn whether_a_journal_is_still_there_that_cannot_be_told_is_not_called_another_one() {
    if strace_is_waived() {
        return;
    }
    let world = World::new();
    world.put("a", "1");
    let mut seen = 0;
    for at in 1..80 {
        let inject = format!("inject=statx,fstat,newfstatat:error=EIO:when={at}");
        let traced = world.traced(&["-e", &inject], &["journal", "check", "sessions", "--accept"], "");
        if !traced.injected().is_some_and(|call| call.contains("sessions.jsonl")) {
            continue;
        }
        seen += 1;
        assert!(matches!(traced.answer.status, 0 | 7), "{:?}: {:?}", traced.injected(), traced.answer);
    }
    assert!(seen > 2, "{seen}");
}

#[test]
fn a_journal_is_not_replaced_where_nobody_could_tell_afterwards_that_it_was_us() {
    if strace_is_waived() {
        return;
    }
    let world = World::new();
    for id in ["a", "b", "c"] {
        world.put(id, "1");
    }
    world.put("b", "2");
    world.put("d", "1");
    world.run(&["journal", "check"]).ends(0);
    let before = world.read(JOURNAL);
    let note = world.dir().join("cruxctl/index/sessions.continued");
    // The first rename is that of the note.
    let inject = "inject=rename:error=ENOSPC:when=1";
    let traced = world.traced(&["-e", inject], &["journal", "compact", "sessions"], "");
    assert_eq!(traced.answer.status, 7, "{traced:?}");
    assert!(world.read(JOURNAL) == before && !note.exists());
    world.run(&["journal", "check"]).ends(0);
    world.run(&["journal", "compact", "sessions"]).ends(0);
    world.run(&["journal", "check"]).ends(0);
}
