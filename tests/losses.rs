//! What is left of durable sessions where lines were lost and set aside, where an index is wrong, and where payloads were
//! erased: nothing is told that is not so, what is lost is named, and the rest goes on.

use std::fs;

use serde_json::{Value, json};

use crate::durable::{One, open};
use crate::support::{Answer, World, words};
use crate::workers::{at_last, outcomes, until, work};

/// Damages the first line that has these parts, and repairs the journal: the line is gone from it.
fn lose(world: &World, parts: &[&str]) {
    let mut journal = world.read("cruxctl/durable.jsonl");
    let mut start = 0;
    let line = journal.split_inclusive(|byte| *byte == b'\n').find_map(|line| {
        let here = start;
        start += line.len();
        let text = String::from_utf8_lossy(line);
        parts.iter().all(|part| text.contains(part)).then_some(here)
    });
    journal[line.expect("there is such a line") + 3] = 0xff;
    world.write("cruxctl/durable.jsonl", journal);
    world.run(&words("journal repair durable --apply")).ends(0);
    world.run(&words("journal check durable")).ends(0);
}

fn states(one: &One<'_>) -> Vec<(String, String)> {
    let seen = one.verb("inspect", &["--json"]).ends(0).json();
    let inputs = seen["inputs"].as_array().unwrap().iter();
    inputs.map(|i| ["cursor", "state"].map(|n| i[n].as_str().unwrap().to_owned()).into()).collect()
}

fn pairs(states: &[(&str, &str)]) -> Vec<(String, String)> {
    states.iter().map(|(cursor, state)| ((*cursor).to_owned(), (*state).to_owned())).collect()
}

/// What an answer says that is damage and names what is lost.
fn is_lost(answer: &Answer, what: &str) {
    assert!(answer.status == 3 && answer.stderr.contains(what), "{what}: {answer:?}");
    assert!(
        answer.stderr.contains("damaged.journal") && answer.stderr.contains("journal check durable"),
        "{answer:?}"
    );
}

#[test]
fn where_the_end_of_work_is_lost_nobody_waits_for_it_and_it_is_not_done_again() {
    let world = World::new();
    let one = open(&world, "k");
    let inputs = [one.send("1"), one.send("2")];
    let claim = one.claim();
    one.step("complete", &claim, &[], "\"done\"").ends(0);
    let third = one.send("3");
    lose(&world, &["\"op\":\"complete\""]);
    for input in &inputs {
        is_lost(&world.run(&["durable", "result", "--input", input, "--wait", "1h"]), input);
    }
    assert_eq!(states(&one), pairs(&[("1", "lost"), ("2", "lost"), ("3", "accepted")]));
    assert_eq!(outcomes(&work(&world, "", "cat").ends(0)), ["completed"]);
    assert_eq!(one.result(&third).ends(0).text(), "3\n");
    assert_eq!(one.stands(), json!(["parked", "3", "3", 0, 0]));
}

#[test]
fn where_an_input_is_lost_those_that_were_finished_with_it_keep_their_result() {
    let world = World::new();
    let one = open(&world, "k");
    let inputs = ["1", "2", "3", "4"].map(|input| one.send(input));
    let claim = one.claim();
    one.step("complete", &claim, &[], "\"done\"").ends(0);
    lose(&world, &["\"op\":\"accept\"", "\"cursor\":2"]);
    for (n, input) in inputs.iter().enumerate() {
        match n {
            1 => is_lost(&one.result(input), input),
            _ => assert_eq!(one.result(input).ends(0).text(), "\"done\"\n"),
        }
    }
    assert_eq!(states(&one), pairs(&[("1", "completed"), ("2", "lost"), ("3", "completed"), ("4", "completed")]));
    world.run(&words("journal compact durable")).ends(0);
    assert_eq!(one.result(&inputs[3]).ends(0).text(), "\"done\"\n");
}

#[test]
fn an_input_that_is_lost_before_it_was_worked_off_stops_its_own_session_alone_until_it_is_given_up() {
    let world = World::new();
    let (one, two) = (open(&world, "one"), open(&world, "two"));
    let inputs = ["1", "2", "3", "4"].map(|input| one.send(input));
    let other = two.send("\"other\"");
    lose(&world, &["\"op\":\"accept\"", "\"cursor\":2"]);
    // What is in front of it is done, and what does not hang on it.
    let worked = work(&world, "", "cat");
    assert_eq!(outcomes(&worked), ["completed", "completed"]);
    is_lost(&worked, &inputs[1]);
    assert!(worked.stderr.contains(&format!("cruxctl durable unblock --session {}", one.id)), "{worked:?}");
    assert_eq!((one.result(&inputs[0]).text(), two.result(&other).text()), ("1\n".into(), "\"other\"\n".into()));
    is_lost(&one.verb("claim", &[]), &inputs[1]);
    assert_eq!(states(&one)[1].1, "lost");
    // It is given up, and that is what becomes of it.
    let unblocked = one.verb("unblock", &["--json"]).ends(0).json()["works"][0].clone();
    assert_eq!(unblocked["processed_cursor"], "2");
    is_lost(&one.result(&inputs[1]), &inputs[1]);
    assert_eq!(outcomes(&work(&world, "", "jq -sc . 2>/dev/null || echo '[3,4]'").ends(0)), ["completed"]);
    assert_eq!(one.result(&inputs[3]).ends(0).text(), "[3,4]\n");
    assert_eq!(one.stands(), json!(["parked", "4", "4", 0, 0]));
    assert_eq!(one.verb("stats", &["--json"]).ends(0).json()["work"]["total"]["failed"], 1);
}

#[test]
fn a_worker_that_follows_goes_on_with_a_session_once_somebody_has_given_up_what_is_lost() {
    let world = World::new();
    let one = open(&world, "k");
    let inputs = ["1", "2"].map(|input| one.send(input));
    lose(&world, &["\"op\":\"accept\"", "\"cursor\":1"]);
    let mut command = at_last(&world, &["durable", "work", "--follow", "--", "sh", "-c", "touch ran; cat"]);
    let mut worker = command.stderr(fs::File::create(world.beside("told")).unwrap()).spawn().unwrap();
    until(|| fs::read_to_string(world.beside("told")).unwrap().contains(&inputs[0]));
    assert!(!world.beside("ran").exists());
    one.verb("unblock", &[]).ends(0);
    let args = ["durable", "result", "--input", &inputs[1], "--wait", "60s"];
    assert_eq!(Answer::from(at_last(&world, &args).output().unwrap()).ends(0).text(), "2\n");
    worker.kill().unwrap();
    worker.wait().unwrap();
}

#[test]
fn an_input_that_is_lost_after_it_was_claimed_lets_the_others_be_claimed_anew() {
    let world = World::new();
    let one = open(&world, "k");
    let inputs = ["1", "2", "3"].map(|input| one.send(input));
    let claim = one.claim();
    one.step("release", &claim, &[], "").ends(0);
    lose(&world, &["\"op\":\"accept\"", "\"cursor\":2"]);
    is_lost(&work(&world, "", "cat"), &inputs[1]);
    one.verb("unblock", &[]).ends(0);
    let again = work(&world, "", "cat");
    assert_eq!(outcomes(&again), ["completed"]);
    is_lost(&again, &inputs[1]);
    one.verb("unblock", &[]).ends(0);
    assert_eq!(outcomes(&work(&world, "", "cat").ends(0)), ["completed"]);
    assert_eq!([0, 2].map(|n| one.result(&inputs[n]).ends(0).text()), ["1\n", "3\n"]);
}

#[test]
fn where_a_prepared_result_is_lost_it_is_not_said_to_be_erased() {
    let world = World::new();
    let one = open(&world, "k");
    let input = one.send("1");
    let claim = one.claim();
    one.step("checkpoint", &claim, &[], "\"prepared\"").ends(0);
    let seen = one.verb("inspect", &["--json"]).ends(0).json();
    assert_eq!((&seen["checkpoint"]["work_id"], &seen["recovery"]), (&json!(claim.work), &Value::Null));
    one.step("renew", &claim, &["--lease", "1m"], "").ends(0);
    lose(&world, &["\"op\":\"checkpoint\""]);
    let seen = one.verb("inspect", &["--json"]).ends(0).json();
    assert_eq!(seen["recovery"]["code"], "session_turn_result_artifact_unavailable");
    // The worker does not take nothing for the result, and asks for somebody.
    let worked = work(&world, "", "cat").ends(5);
    assert_eq!(outcomes(&worked), ["blocked"]);
    one.verb("unblock", &[]).ends(0);
    assert_eq!(outcomes(&work(&world, "", "cat").ends(0)), ["completed"]);
    assert_eq!(one.result(&input).ends(0).text(), "1\n");
    // The same where it was committed already.
    let input = one.send("2");
    let claim = one.claim();
    one.step("checkpoint", &claim, &[], "\"prepared\"").ends(0);
    one.step("complete", &claim, &["--prepared"], "").ends(0);
    assert_eq!(one.result(&input).ends(0).text(), "\"prepared\"\n");
    lose(&world, &["\"op\":\"checkpoint\""]);
    is_lost(&one.result(&input), &input);
    assert_eq!(states(&one)[1].1, "lost");
}

#[test]
fn where_the_first_line_of_a_session_is_lost_its_key_still_has_an_owner() {
    let world = World::new();
    let one = open(&world, "k");
    one.send("1");
    let claim = one.claim();
    lose(&world, &["\"op\":\"open\""]);
    let other = world.run(&words("durable open --target other --kind agent --key k")).ends(5);
    assert_eq!(other.code(), "refused.session_identity_conflict");
    assert_eq!(open(&world, "k").id, one.id);
    // And the same of work: whoever has claimed it can still commit it.
    one.step("renew", &claim, &[], "").ends(0);
    lose(&world, &["\"op\":\"claim\""]);
    one.step("complete", &claim, &[], "1").ends(0);
}

#[test]
fn a_fence_that_was_lost_with_its_line_is_not_given_out_again() {
    let mut world = World::new();
    let first = {
        let one = open(&world, "k");
        one.send("1");
        let first = one.claim();
        lose(&world, &["\"op\":\"claim\""]);
        first
    };
    world.at("2026-07-01T12:00:01Z");
    let one = open(&world, "k");
    one.send("2");
    let second = one.claim();
    assert!(first.work == second.work && first.fence != second.fence);
    // It has not seen the second input.
    assert_eq!(one.step("complete", &first, &[], "1").ends(5).code(), "refused.session_fenced");
    one.step("complete", &second, &[], "2").ends(0);
}

#[test]
fn a_copy_that_lacks_what_was_acknowledged_gives_no_number_out_again() {
    let world = World::new().damaged();
    let one = open(&world, "k");
    let inputs = ["1", "2", "3"].map(|input| one.send(input));
    let journal = world.dir().join("cruxctl/durable.jsonl");
    let whole = fs::read(&journal).unwrap();
    let replace = |bytes: &[u8]| {
        let copy = world.dir().join("cruxctl/copy");
        fs::write(&copy, bytes).unwrap();
        fs::rename(&copy, &journal).unwrap();
    };
    let lines: Vec<&[u8]> = whole.split_inclusive(|byte| *byte == b'\n').collect();
    // An older one, one with a line less, and one with another.
    for wrong in
        [lines[..3].concat(), [lines[0], lines[1], lines[3]].concat(), [&lines[..3], &lines[2..3]].concat().concat()]
    {
        replace(&wrong);
        assert_eq!(one.verb("status", &[]).status, 3);
        let refused = world.run_with(&["durable", "send", "--session", &one.id], "\"new\"").ends(5);
        assert!(refused.stderr.contains("journal check durable --accept"), "{refused:?}");
        assert_eq!(work(&world, "", "touch ran").ends(5).code(), "refused.damage");
        // The check says so as well, as often as it is asked, and nothing is built on it.
        for _ in 0..2 {
            world.run(&words("journal check durable")).ends(3);
        }
        world.run(&words("journal compact durable")).ends(5);
        assert_eq!(world.read("cruxctl/durable.jsonl"), wrong);
    }
    assert!(!world.beside("ran").exists());
    // A copy of all of it is as good as it was; also where a write to it was not finished.
    replace(&whole);
    one.verb("status", &[]).ends(0);
    replace(&[&whole[..], b"{\"op\":\"acc"].concat());
    let fourth = one.send("4");
    assert!(fourth.ends_with("_4"), "{fourth}");
    assert_eq!(one.claim().inputs.len(), inputs.len() + 1);
    // What is accepted as it is counts from then on.
    replace(&lines[..3].concat());
    world.run(&words("journal check durable --accept"));
    assert!(one.send("\"new\"").ends_with("_3"));
}

#[test]
fn a_line_that_contradicts_itself_is_damage_and_no_reason_to_try_again() {
    let world = World::new().damaged();
    let one = open(&world, "k");
    let input = one.send("1");
    let journal = String::from_utf8(world.read("cruxctl/durable.jsonl")).unwrap();
    for (was, is) in [("\"processed\":0", "\"processed\":9"), ("\"events\":2", "\"events\":18446744073709551615")] {
        let end = journal.rfind(was).unwrap();
        world.write("cruxctl/durable.jsonl", format!("{}{is}{}", &journal[..end], &journal[end + was.len()..]));
        world.forget();
        for verb in ["status", "inspect", "stats", "stream", "get"] {
            let answer = one.verb(verb, &[]);
            assert!(answer.status == 3 && answer.stderr.contains("durable.jsonl"), "{is} {verb}: {answer:?}");
        }
        assert_eq!(one.result(&input).status, 3, "{is}");
        let refused = world.run_with(&["durable", "send", "--session", &one.id], "2");
        assert!([3, 5].contains(&refused.status), "{is}: {refused:?}");
    }
}

/// A journal with an index, and the answers of every verb that looks something up.
fn indexed() -> (World, String) {
    let world = World::new();
    let id = {
        let one = open(&world, "k");
        let lines: Vec<String> = (0..3000).map(|n| format!("\"{n:0>400}\"")).collect();
        let args = ["durable", "send-many", "--session", &one.id, "--format", "id"];
        world.run_with(&args, lines.join("\n")).ends(0);
        let claim = one.claim();
        one.step("complete", &claim, &[], "1").ends(0);
        one.verb("subscribe", &["--signal", "s"]).ends(0);
        one.id.clone()
    };
    assert!(world.dir().join("cruxctl/index/durable.index").exists());
    (world, id)
}

#[test]
fn where_the_index_is_damaged_every_verb_answers_from_the_journal() {
    let (world, id) = indexed();
    let one = One { world: &world, id: id.clone() };
    let index = world.dir().join("cruxctl/index/durable.index");
    let whole = fs::read(&index).unwrap();
    let harm = || {
        // One that was found wrong is made anew by whoever reads next.
        world.run(&words("durable list")).ends(0);
        let mut wrong = fs::read(&index).expect("it is made anew");
        wrong[4096..].iter_mut().step_by(64).for_each(|byte| *byte ^= 0x55);
        fs::write(&index, &wrong).unwrap();
    };
    let of = |n: u64| cruxctl::store::durable::identity::input(&id, n);
    let verbs: Vec<(Vec<String>, &str)> = [
        format!("durable status --session {id}"),
        "durable get --target support --key k".to_owned(),
        format!("durable inspect --session {id}"),
        format!("durable stats --session {id}"),
        format!("durable result --input {}", of(7)),
        format!("durable stream --session {id}"),
        "durable subscriptions".to_owned(),
        "durable list".to_owned(),
        format!("durable claim --session {id}"),
    ]
    .iter()
    .map(|line| (words(line).into_iter().map(str::to_owned).collect(), ""))
    .collect();
    let all = |damage: bool| -> Vec<(i32, String)> {
        verbs
            .iter()
            .map(|(args, input)| {
                let args: Vec<&str> = args.iter().map(String::as_str).collect();
                fs::write(&index, &whole).unwrap();
                if damage {
                    harm();
                }
                let answer = world.run_with(&args, *input);
                (answer.status, answer.text())
            })
            .collect()
    };
    assert_eq!(all(true), all(false));
    for (args, input) in [
        (vec!["durable", "send", "--session", &id], "1"),
        (vec!["durable", "open", "--target", "support", "--kind", "agent", "--key", "k"], ""),
        (vec!["durable", "publish", "--signal", "s", "--occurrence", "o"], "1"),
    ] {
        harm();
        world.run_with(&args, input).ends(0);
        assert_eq!(one.status()["processed_cursor"], "3000", "{args:?}");
    }
    harm();
    assert_eq!(outcomes(&work(&world, "", "tail -n 1").ends(0)), ["completed"]);
    harm();
    assert_eq!(one.result(&of(3002)).ends(0).text(), "1\n");
}

#[test]
fn what_was_finished_long_ago_is_erased_and_nothing_else() {
    let mut world = World::new();
    let secrets = |journal: &str| -> Vec<String> {
        let mut found: Vec<String> = (0..20).map(|n| format!("secret{n:02}")).collect();
        found.retain(|secret| journal.contains(secret));
        found
    };
    let send = |world: &World, key: &str, n: u32, more: &[&str]| {
        let args = ["durable", "send", "--target", "support", "--key", key, "--format", "id"];
        world.run_with(&[&args[..], more].concat(), format!("\"secret{n:02}\"")).ends(0).text().trim().to_owned()
    };
    // Finished at 12:00: with a result, one that was prepared, and by failure. And one that is killed with an input.
    for key in ["done", "prepared", "failed", "killed", "heard"] {
        let one = open(&world, key);
        if key == "heard" {
            one.verb("subscribe", &["--signal", "s"]).ends(0);
            let args = ["durable", "publish", "--signal", "s", "--occurrence", "o"];
            world.run_with(&args, "\"secret00\"").ends(0);
        } else {
            let n = (1..).zip(["done", "prepared", "failed", "killed"]).find(|(_, own)| *own == key).unwrap().0;
            send(&world, key, n, &["--idempotency-key", "once"]);
        }
        let claim = one.claim();
        match key {
            "done" => drop(one.step("complete", &claim, &[], "\"secret05\"").ends(0)),
            "prepared" => {
                one.step("checkpoint", &claim, &[], "\"secret06\"").ends(0);
                one.step("complete", &claim, &["--prepared"], "").ends(0);
            }
            "failed" => drop(one.step("fail", &claim, &["--reason", "no luck"], "").ends(0)),
            "killed" => {
                one.step("checkpoint", &claim, &[], "\"secret07\"").ends(0);
                send(&world, key, 8, &[]);
                one.verb("kill", &[]).ends(0);
            }
            _ => drop(one.step("complete", &claim, &[], "\"secret09\"").ends(0)),
        }
    }
    // Prepared at 12:00 and not committed; and waiting since then.
    let (waits, claim) = {
        let held = open(&world, "held");
        let waits = send(&world, "held", 10, &[]);
        let claim = held.claim();
        held.step("checkpoint", &claim, &[], "\"secret11\"").ends(0);
        held.step("renew", &claim, &["--lease", "10h"], "").ends(0);
        send(&world, "held", 12, &[]);
        (waits, claim)
    };
    // Finished an hour later.
    world.at("2026-07-01T13:00:00Z");
    let new = open(&world, "new");
    let fresh = send(&world, "new", 13, &[]);
    let newer = new.claim();
    new.step("complete", &newer, &[], "\"secret14\"").ends(0);
    let before = secrets(&String::from_utf8(world.read("cruxctl/durable.jsonl")).unwrap());
    assert_eq!(before.len(), 15, "{before:?}");
    world.run(&words("journal compact durable --retain 30m --dry-run")).ends(0);
    assert_eq!(secrets(&String::from_utf8(world.read("cruxctl/durable.jsonl")).unwrap()), before);
    world.run(&words("journal compact durable --retain 30m")).ends(0);
    let left = String::from_utf8(world.read("cruxctl/durable.jsonl")).unwrap();
    assert_eq!(secrets(&left), ["secret10", "secret11", "secret12", "secret13", "secret14"]);
    world.run(&words("journal check durable")).ends(0);
    // Who it was, and what became of it, stays.
    for (key, code) in [
        ("done", "refused.session_result_erased"),
        ("prepared", "refused.session_result_erased"),
        ("heard", "refused.session_result_erased"),
        ("failed", "refused.session_result_failed"),
        ("killed", "refused.session_result_dropped"),
    ] {
        let one = open(&world, key);
        let input = cruxctl::store::durable::identity::input(&one.id, 1);
        assert_eq!(one.result(&input).ends(5).code(), code, "{key}");
        assert_ne!(states(&one)[0].1, "lost", "{key}");
        if key != "heard" && key != "killed" {
            // It is still not accepted twice, whatever comes under its key.
            assert_eq!(send(&world, key, 15, &["--idempotency-key", "once"]), input);
        }
    }
    let args = ["durable", "publish", "--signal", "s", "--occurrence", "o", "--json"];
    assert_eq!(world.run_with(&args, "1").ends(0).json()["deduplicated"], 1);
    // What is under way goes on.
    let held = open(&world, "held");
    held.step("complete", &claim, &["--prepared"], "").ends(0);
    assert_eq!(held.result(&waits).ends(0).text(), "\"secret11\"\n");
    assert_eq!(outcomes(&work(&world, "", "cat").ends(0)), ["completed"]);
    let new = open(&world, "new");
    assert_eq!(new.result(&fresh).ends(0).text(), "\"secret14\"\n");
    // Done again, there is nothing left to erase.
    let once = world.read("cruxctl/durable.jsonl");
    world.run(&words("journal compact durable --retain 30m")).ends(0);
    world.run(&words("journal compact durable --retain 30m")).ends(0);
    let again = world.read("cruxctl/durable.jsonl");
    assert!(again.len() <= once.len());
    let events = new.stream(&[]);
    assert_eq!(events[0]["reason"], "initial");
}

#[test]
fn work_that_is_claimed_or_prepared_outlives_a_compaction() {
    let world = World::new();
    let one = open(&world, "k");
    let inputs = [one.send("1"), one.send("2")];
    let claim = one.claim();
    let third = one.send("3");
    let compact = || drop(world.run(&words("journal compact durable")).ends(0));
    compact();
    one.step("checkpoint", &claim, &[], "\"both\"").ends(0);
    compact();
    one.step("renew", &claim, &[], "").ends(0);
    compact();
    one.step("complete", &claim, &["--prepared"], "").ends(0);
    compact();
    assert_eq!(inputs.each_ref().map(|input| one.result(input).ends(0).text()), ["\"both\"\n", "\"both\"\n"]);
    assert_eq!(one.result(&third).ends(1).code(), "no.session_result_pending");
    // Read from its beginning, a stream says what is missing.
    let told = one.stream(&[]);
    assert_eq!(told[0]["reason"], "initial");
    let cursors: Vec<u64> =
        told[1..].iter().map(|event| event["cursor"].as_str().unwrap().parse().unwrap()).collect();
    assert!(cursors.windows(2).all(|pair| pair[1] == pair[0] + 1), "{cursors:?}");
    assert_eq!(one.stream(&["--after", "1"])[0]["reason"], "cursor-expired");
    let mut command = at_last(&world, &["durable", "work", "--", "cat"]);
    assert_eq!(outcomes(&Answer::from(command.output().unwrap()).ends(0)), ["completed"]);
}
