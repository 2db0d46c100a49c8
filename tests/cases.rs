//! Cases: what is recorded is what the daemon reads, and what is found is what the daemon finds, in its order.

use std::collections::BTreeSet;
use std::thread;

use cruxctl::retrieve::Words;
use proptest::prelude::*;
use serde_json::{Value, json};

use crate::support::{Answer, NOW, World, strace_is_waived, tree, words};

const JOURNAL: &str = "cases.jsonl";

fn bank() -> World {
    World::with(JOURNAL, std::fs::read(tree("tests/data/retrieve/cases.jsonl")).unwrap())
}

fn document(name: &str) -> Value {
    serde_json::from_slice(&std::fs::read(tree("tests/data/retrieve").join(name)).unwrap()).unwrap()
}

/// A `record` line.
fn line(id: &str, task: &str, reward: f64, tags: &[&str], second: u32) -> String {
    let case = json!({
        "case_id": id, "task": task, "action": "a", "outcome": "o", "success": reward > 0.5, "reward": reward,
        "tags": tags, "created_at": format!("2026-03-01T08:00:{second:02}Z"),
    });
    format!("{}\n", json!({"op": "record", "case": case}))
}

fn retrieve(world: &World, args: &[&str]) -> Answer {
    world.run(&[&["case", "retrieve", "--json"], args].concat())
}

/// The ids that were found, in order, with their scores.
fn found(answer: &Answer) -> Vec<(String, f64)> {
    let report = answer.json();
    let cases = report["cases"].as_array().unwrap().iter();
    cases.map(|case| (case["id"].as_str().unwrap().to_owned(), case["score"].as_f64().unwrap())).collect()
}

#[test]
fn words_are_the_daemons() {
    for text in document("tokenize.json")["texts"].as_array().unwrap() {
        let want: BTreeSet<String> =
            text["tokens"].as_array().unwrap().iter().map(|t| t.as_str().unwrap().to_owned()).collect();
        let words = Words::of(text["text"].as_str().unwrap());
        assert_eq!(words.iter().map(str::to_owned).collect::<BTreeSet<_>>(), want, "{text}");
        assert_eq!(words.len(), want.len());
    }
}

#[test]
fn what_is_found_is_what_the_daemon_finds_in_its_order_to_the_last_bit() {
    let world = bank();
    as_the_daemon_finds(&world);
    assert!(!world.dir().join("cruxctl/index/cases.segments").exists());
    // The same cases in a journal that is long enough for an index.
    let line = |n: u32| format!("{{\"op\":\"delete\",\"case_id\":\"never there {n}, {}\"}}\n", "x".repeat(900));
    world.write(JOURNAL, (0..1000).map(line).collect::<String>() + &String::from_utf8(world.read(JOURNAL)).unwrap());
    world.forget();
    as_the_daemon_finds(&world);
    assert!(world.dir().join("cruxctl/index/cases.segments").exists());
}

fn as_the_daemon_finds(world: &World) {
    let mut asked = 0;
    for query in document("queries.json")["queries"].as_array().unwrap() {
        let (task, k) = (query["task"].as_str().unwrap(), query["k"].as_u64().unwrap());
        if k == 0 {
            continue;
        }
        let k = k.min(100);
        let most = usize::try_from(k).unwrap();
        let mut args = vec![task.to_owned(), "-k".to_owned(), k.to_string()];
        args.extend((query["only_success"] == true).then(|| "--only-success".to_owned()));
        let answer = retrieve(world, &args.iter().map(String::as_str).collect::<Vec<_>>());
        let ids: Vec<&str> =
            query["case_ids"].as_array().unwrap().iter().take(most).map(|id| id.as_str().unwrap()).collect();
        if ids.is_empty() {
            assert_eq!((answer.status, &*answer.stdout, &*answer.code()), (1, &b""[..], "no.match"), "{query}");
            continue;
        }
        let scores = query["similarity"].as_array().unwrap().iter().map(|score| score.as_f64().unwrap());
        let want: Vec<(String, f64)> = ids.into_iter().map(str::to_owned).zip(scores).collect();
        assert_eq!(found(&answer), want, "{task}");
        asked += 1;
    }
    assert!(asked > 8);
}

#[test]
fn the_list_has_every_member_as_the_daemon_has_it() {
    let world = World::copy_of("tests/data/daemon/small/data");
    let expected: Value =
        serde_json::from_slice(&std::fs::read(tree("tests/data/daemon/small/expected.json")).unwrap()).unwrap();
    let expected = expected["cases"].as_object().unwrap();
    let listed = world.run(&words("case list --json")).ends(0).json();
    let listed = listed["cases"].as_array().unwrap();
    assert_eq!(listed.len(), expected.len());
    for case in listed {
        let want = &expected[case["id"].as_str().unwrap()];
        for member in ["task", "action", "outcome", "success", "context", "source_receipt", "created_at"] {
            assert_eq!(case[member], want[member], "{member} of {case}");
        }
        assert_eq!(case["tags"], *want.get("tags").unwrap_or(&json!([])), "{case}");
        // What is beyond a 32-bit float is infinite to the daemon, and its own JSON has no word for that.
        let reward = if want["reward"].is_null() { json!("infinity") } else { want["reward"].clone() };
        assert_eq!(case["reward"], reward, "{case}");
        let shown = world.run(&["case", "show", case["id"].as_str().unwrap(), "--json"]).ends(0).json();
        assert_eq!((&shown["task"], &shown["reward"]), (&case["task"], &case["reward"]));
    }
}

#[test]
fn what_is_recorded_has_the_daemons_members_order_and_forms() {
    let world = World::new();
    let args = [
        "case",
        "record",
        "--task",
        "rotate \"keys\"\n",
        "--action",
        "a",
        "--outcome",
        "o",
        "--context",
        "",
        "--failed",
        "--reward",
        "0.9",
        "--tag",
        "x y",
        "--tag",
        "é",
        "--source-receipt",
        "r",
    ];
    let id = world.run(&args).ends(0).lines().concat();
    let whole = id.strip_prefix("c_").unwrap();
    assert!(whole.len() == 32 && whole.bytes().all(|b| b.is_ascii_digit() || (b'a'..=b'f').contains(&b)), "{id}");
    assert!(&whole[12..13] == "4" && "89ab".contains(&whole[16..17]), "{id} is of version 4");
    let text = String::from_utf8(world.read(JOURNAL)).unwrap();
    let start = format!(
        "{{\"op\":\"record\",\"case\":{{\"case_id\":\"{id}\",\"task\":\"rotate \\\"keys\\\"\\n\",\"context\":\"\",\"action\":\"a\",\
         \"outcome\":\"o\",\"success\":false,\"reward\":0.9,\"tags\":[\"x y\",\"é\"],\"source_receipt\":\"r\",\"created_at\":\"2"
    );
    assert!(text.starts_with(&start) && text.ends_with("Z\"}}\n"), "{text}");
    // Nothing but what is needed, by a document.
    let world = World::new();
    world.run_with(&words("case record"), "{\"outcome\":\"o\",\"task\":\"t1\",\"action\":\"a\"}").ends(0);
    let text = String::from_utf8(world.read(JOURNAL)).unwrap();
    assert!(text.contains("\"outcome\":\"o\",\"success\":true,\"reward\":1.0,\"created_at\":"), "{text}");
}

#[test]
fn documents_are_taken_whole_or_not_at_all() {
    let world = World::new();
    let whole = "{\"task\":\"t1\",\"action\":\"a\",\"outcome\":\"o\",\"success\":false,\"reward\":0.25,\"tags\":[\"x\"],\"context\":null}";
    world.run_with(&words("case record"), whole).ends(0);
    for (text, code) in [
        ("", "usage.not_json"),
        ("{", "usage.not_json"),
        ("[1]", "usage.document"),
        ("[\"deploy it\",\"a\",\"o\",null,true,1.0,[],null]", "usage.document"),
        ("{\"task\":\"tt\",\"action\":\"a\",\"outcome\":\"o\",\"reward\":1e400}", "usage.document"),
        ("{\"task\":\"t\",\"action\":\"a\"}", "usage.document"),
        ("{\"task\":1,\"action\":\"a\",\"outcome\":\"o\"}", "usage.document"),
        ("{\"task\":\"t\",\"action\":\"a\",\"outcome\":\"o\",\"rewards\":1}", "usage.document"),
        ("{\"task\":\"t\",\"task\":\"u\",\"action\":\"a\",\"outcome\":\"o\"}", "usage.document"),
        ("{\"task\":\"t\",\"action\":\"a\",\"outcome\":\"o\"} x", "usage.not_json"),
    ] {
        let answer = world.run_with(&words("case record --json"), text);
        assert_eq!((answer.status, &*answer.code(), &*answer.stdout), (2, code, &b""[..]), "{text}: {answer:?}");
    }
    assert_eq!(world.run(&words("case list --format id")).ends(0).lines().len(), 1);
}

#[test]
fn a_reward_is_between_0_and_1_or_moved_there_or_refused() {
    let world = World::new();
    let record = |reward: &str| {
        world.run(&["case", "record", "--task", "t1", "--action", "a", "--outcome", "o", "--reward", reward])
    };
    for (given, kept) in [("1.5", "1.0"), ("-3", "0.0"), ("-.5", "0.0"), ("1e39", "1.0"), ("0.30000001", "0.3")] {
        let answer = record(given).ends(0);
        let id = answer.lines().concat();
        let shown = world.run(&["case", "show", &id, "--format", "plain"]).ends(0).text();
        assert!(shown.contains(&format!("reward\t{kept}\n")), "{given}: {shown}");
        assert_eq!(answer.stderr.contains("outside 0 to 1"), !given.starts_with("0."), "{answer:?}");
    }
    for given in ["nan", "inf", "-inf", "much"] {
        assert_eq!(record(given).status, 2, "{given}");
    }
    assert_eq!(world.run(&words("case list --format id")).ends(0).lines().len(), 5);
    let id = record("-0").ends(0).lines().concat();
    assert!(String::from_utf8(world.read(JOURNAL)).unwrap().contains(&format!(
        "{id}\",\"task\":\"t1\",\"action\":\"a\",\"outcome\":\"o\",\"success\":true,\"reward\":0.0,"
    )));
}

#[test]
fn the_id_that_record_prints_works_in_every_verb() {
    let world = World::new();
    let id = world.run(&words("case record --task deploy --action a --outcome o")).ends(0).lines().concat();
    assert_eq!(world.run(&["case", "show", &id, "--json"]).ends(0).json()["id"], *id);
    assert_eq!(found(&retrieve(&world, &["deploy"]).ends(0)), [(id.clone(), 1.0)]);
    assert_eq!(world.run(&words("case list --format id")).ends(0).lines(), std::slice::from_ref(&id));
    let other = world.run(&words("case record --task deploy --action a --outcome o --json")).ends(0).json();
    assert!(other["recorded"][0]["id"].as_str().unwrap().starts_with("c_"), "{other}");
    world.run(&["case", "delete", &id]).ends(0);
    for verb in ["show", "delete"] {
        let answer = world.run(&["case", verb, &id, "--json"]).ends(1);
        assert_eq!(answer.code(), "no.case");
    }
    assert!(
        String::from_utf8(world.read(JOURNAL))
            .unwrap()
            .ends_with(&format!("{{\"op\":\"delete\",\"case_id\":\"{id}\",\"deleted_at\":\"{NOW}\"}}\n"))
    );
}

#[test]
fn how_many_is_from_1_to_100() {
    let text: String = (0..150).map(|n| line(&format!("c{n:03}"), "same words", 1.0, &[], n % 60)).collect();
    let world = World::with(JOURNAL, text);
    for (k, count) in [("1", 1), ("5", 5), ("100", 100)] {
        assert_eq!(found(&retrieve(&world, &["words", "-k", k]).ends(0)).len(), count);
    }
    assert_eq!(found(&retrieve(&world, &["words"]).ends(0)).len(), 5);
    for k in ["0", "101", "-1", "x"] {
        retrieve(&world, &["words", "-k", k]).ends(2);
    }
}

#[test]
fn what_lies_just_below_the_threshold_is_told() {
    let text = line("c1", "deploy canary", 1.0, &[], 1) + &line("c2", "deploy blue green", 1.0, &[], 2);
    let world = World::with(JOURNAL, text);
    let answer = retrieve(&world, &["deploy", "--min-score", "0.4"]).ends(0);
    assert_eq!(found(&answer), [("c1".to_owned(), 0.5)]);
    assert!(answer.stderr.contains("1 case lies below --min-score 0.4"), "{answer:?}");
    let answer = retrieve(&world, &["deploy", "--min-score", "0.9"]).ends(1);
    assert!(answer.stdout.is_empty() && answer.stderr.contains("2 cases lie below"), "{answer:?}");
    assert!(answer.stderr.contains("the best of them scores 0.5"), "{answer:?}");
    for score in ["1.1", "-0.1", "nan"] {
        retrieve(&world, &["deploy", "--min-score", score]).ends(2);
    }
}

#[test]
fn filters_come_before_ranking() {
    let many: String = (0..2_000).map(|n| line(&format!("c{n:05}"), "deploy", 1.0, &[], n % 60)).collect();
    let few: String = (0..3)
        .map(|n| line(&format!("t{n}"), "deploy in the long way with other words", 0.0, &["rare", "x"], n))
        .collect();
    let world = World::with(JOURNAL, many + &few);
    let ids =
        |args: &[&str]| found(&retrieve(&world, args).ends(0)).into_iter().map(|(id, _)| id).collect::<Vec<_>>();
    assert_eq!(ids(&["deploy", "--tag", "rare"]), ["t2", "t1", "t0"]);
    assert_eq!(ids(&["deploy", "--tag", "rare", "--tag", "nope", "--any-tag"]), ["t2", "t1", "t0"]);
    retrieve(&world, &["deploy", "--tag", "rare", "--tag", "nope"]).ends(1);
    retrieve(&world, &["deploy", "--tag", "rare", "--only-success"]).ends(1);
    retrieve(&world, &["deploy", "--since", "2026-03-02T00:00:00Z"]).ends(1);
    assert_eq!(ids(&["deploy", "--tag", "rare", "--since", "2026-03-01T08:00:01Z"]), ["t2", "t1"]);
}

#[test]
fn the_same_case_recorded_again_counts_as_one_under_folding() {
    let text =
        line("c1", "deploy", 1.0, &[], 1) + &line("c2", "deploy", 1.0, &[], 2) + &line("c3", "deploy", 1.0, &[], 3);
    let world = World::with(JOURNAL, text + &line("c4", "deploy again", 1.0, &[], 4));
    let answer = retrieve(&world, &["deploy", "--fold"]).ends(0).json();
    let hits: Vec<(&str, u64)> = answer["cases"]
        .as_array()
        .unwrap()
        .iter()
        .map(|case| (case["id"].as_str().unwrap(), case["times"].as_u64().unwrap()))
        .collect();
    assert_eq!(hits, [("c3", 3), ("c4", 1)]);
    assert_eq!(found(&retrieve(&world, &["deploy"]).ends(0)).len(), 4);
}

/// A bank in which every task begins with the same twenty words.
fn boilerplate() -> World {
    let same = "this is one of our many runs of the nightly pipeline and here is what the job had to do today";
    let tasks = [
        "rotate the kraken",
        "rotate the certificates",
        "restart everything",
        "restarting a database quickly",
        "東京都庁のサーバー",
        "京都のサーバー",
        "Caf\u{e9} \u{fb01}les",
    ];
    let lines =
        tasks.iter().zip(0..).map(|(task, n)| line(&format!("c{n}"), &format!("{same}: {task}"), 0.5, &["x-y"], n));
    World::with(JOURNAL, lines.collect::<String>())
}

#[test]
fn under_the_weighted_ranking_the_rare_word_decides() {
    let world = boilerplate();
    let ask = |text: &str| found(&retrieve(&world, &[text, "--rank", "weighted"]).ends(0));
    let same = "this is one of our many runs of the nightly pipeline and here is what the job had to do today";
    // The daemon's ranking takes the shortest, whatever it is about.
    let plain = found(&retrieve(&world, &[&format!("{same} kraken certificates certificates"), "-k", "1"]).ends(0));
    assert_ne!(plain[0].0, "c0");
    for text in ["kraken", &format!("{same} kraken"), &format!("{same} rotate unheard-of kraken nobody knows")] {
        assert_eq!(ask(text)[0].0, "c0", "{text}");
    }
    // Words that nobody has are harmless.
    assert_eq!(ask("kraken"), ask("kraken frobnicate \u{4e2d}"));
    assert!(ask(same).iter().all(|(_, score)| (0.0..=1.0).contains(score)));
    retrieve(&world, &["frobnicate", "--rank", "weighted"]).ends(1);
    retrieve(&world, &["kraken", "--rank", "weighted", "--min-score", "0.99"]).ends(1);
}

#[test]
fn under_the_weighted_ranking_a_case_is_most_like_itself() {
    let world = boilerplate();
    for n in 0..7 {
        let case = world.run(&["case", "show", &format!("c{n}"), "--json"]).ends(0).json();
        let text = case["task"].as_str().unwrap().to_owned() + " x-y";
        let hits = found(&retrieve(&world, &[&text, "--rank", "weighted"]).ends(0));
        assert_eq!(hits[0], (format!("c{n}"), 1.0));
        assert!(hits[1].1 < 1.0);
    }
    let one = World::with(JOURNAL, line("only", "deploy it", 0.5, &[], 1));
    assert_eq!(found(&retrieve(&one, &["DEPLOYS it", "--rank", "weighted"]).ends(0)), [("only".to_owned(), 1.0)]);
}

#[test]
fn under_the_weighted_ranking_forms_of_a_word_are_one() {
    let world = boilerplate();
    let best = |text: &str| found(&retrieve(&world, &[text, "--rank", "weighted", "-k", "1"]).ends(0))[0].0.clone();
    assert_eq!(best("restarted databases"), "c3");
    assert_eq!(best("krakens"), "c0");
    // Pairs of characters; composed and decomposed letters.
    assert_eq!(best("東京"), "c4");
    assert_eq!(best("CAFE\u{301}"), "c6");
    assert_eq!(best("file"), "c6");
    let answer = retrieve(&world, &["restarts the databases", "--rank", "weighted", "-k", "1", "--explain"]).ends(0);
    let case = &answer.json()["cases"][0];
    assert_eq!(case["matched"], json!(["database", "restarting", "the"]));
    // The same question has the same answer to the last bit.
    let again = retrieve(&world, &["restarts the databases", "--rank", "weighted", "-k", "1", "--explain"]).ends(0);
    assert_eq!(answer.stdout, again.stdout);
    let folded = retrieve(&world, &["rotate", "--rank", "weighted", "--fold"]).ends(0).json();
    assert_eq!(folded["cases"][0]["times"], 1);
}

#[test]
fn the_words_that_match_are_in_the_hit() {
    let many: String = (0..200).map(|n| line(&format!("c{n:05}"), "deploy the service", 1.0, &[], n % 60)).collect();
    let world = World::with(JOURNAL, many + &line("k", "deploy the Kraken", 1.0, &["db"], 1));
    let answer = retrieve(&world, &["kraken deploy db nothing", "--explain", "-k", "1"]).ends(0).json();
    let hit = &answer["cases"][0];
    assert_eq!(hit["matched"], json!(["db", "deploy", "kraken"]));
    assert_eq!(hit["rare"], json!(["db", "kraken"]));
    assert!(retrieve(&world, &["deploy"]).ends(0).json()["cases"][0]["matched"].is_null());
}

#[test]
fn a_text_may_come_through_a_pipe_and_may_look_like_a_flag() {
    let world = World::with(JOURNAL, line("c1", "--tag deploy", 1.0, &[], 1));
    assert_eq!(found(&world.run_with(&words("case retrieve - --json"), "deploy\n").ends(0)).len(), 1);
    assert_eq!(found(&retrieve(&world, &["--", "--tag"]).ends(0)).len(), 1);
    retrieve(&world, &["--frobnicate"]).ends(2);
    world.run(&words("case record --task -x1 --action --a --outcome -o --tag -t2")).ends(0);
    assert_eq!(found(&retrieve(&world, &["--", "-x1"]).ends(0)).len(), 1);
    for text in ["", "a b c", "!? -"] {
        let answer = world.run_with(&words("case retrieve - --json"), text).ends(1);
        assert!(answer.stdout.is_empty() && answer.stderr.contains("no word that counts"), "{answer:?}");
    }
}

#[test]
fn a_damaged_bank_is_searched_as_far_as_it_can_be_read() {
    let good: String = (0..6).map(|n| line(&format!("c{n}"), "deploy", 1.0, &[], n)).collect();
    let torn = line("torn", "deploy", 1.0, &[], 1);
    let world = World::with(JOURNAL, good + &torn[..40] + "\n").damaged();
    let answer = retrieve(&world, &["deploy", "-k", "100"]).ends(3);
    assert_eq!(found(&answer).len(), 6);
    retrieve(&world, &["nothing"]).ends(3);
    world.run(&words("case show c1")).ends(3);
    world.run(&words("case delete nope")).ends(3);
    world.run(&words("case record --task t1 --action a --outcome o")).ends(0);
    assert_eq!(world.run(&words("case list --format id --damaged-ok")).ends(0).lines().len(), 7);
}

#[test]
fn thirty_at_once_are_all_there() {
    let world = World::new();
    let ids: Vec<String> = thread::scope(|scope| {
        let all: Vec<_> = (0..30)
            .map(|n| {
                let (world, n) = (&world, n.to_string());
                scope.spawn(move || {
                    world
                        .run(&["case", "record", "--task", "flaky job", "--action", &n, "--outcome", "o"])
                        .ends(0)
                        .lines()
                        .concat()
                })
            })
            .collect();
        all.into_iter().map(|one| one.join().unwrap()).collect()
    });
    let listed: BTreeSet<String> = world.run(&words("case list --format id")).ends(0).lines().into_iter().collect();
    assert_eq!(listed, ids.into_iter().collect());
    assert_eq!(listed.len(), 30);
}

const GOOD: &str = "{\"task\":\"deploy it\",\"action\":\"a\",\"outcome\":\"o\"}\n";

#[test]
fn an_import_names_each_bad_line_and_loses_none_of_the_others() {
    let text = [GOOD, "\n", "{\n", GOOD, "{\"task\":1}\n", "  \r\n", GOOD.trim_end()].concat();
    let world = World::new();
    let answer = world.run_with(&words("case import --format plain"), &text).ends(2);
    let numbers: Vec<String> =
        answer.lines().iter().map(|line| line.split('\t').next().unwrap().to_owned()).collect();
    assert_eq!(numbers, ["1", "4", "7"]);
    assert!(
        answer.stderr.contains("line 3 is not imported") && answer.stderr.contains("line 5 is not"),
        "{answer:?}"
    );
    let ids = world.run(&words("case list --format id")).ends(0).lines();
    assert_eq!(ids.len(), 3);
    // All or none.
    let answer = world.run_with(&words("case import --atomic"), &text).ends(2);
    assert!(
        answer.stdout.is_empty() && answer.stderr.contains("2 lines cannot be imported, so nothing was"),
        "{answer:?}"
    );
    assert_eq!(world.run(&words("case list --format id")).ends(0).lines(), ids);
    world.run_with(&words("case import --atomic"), GOOD.repeat(5)).ends(0);
    world.run_with(&words("case import"), "").ends(0);
    world.run_with(&words("case import nowhere.jsonl"), "").ends(7);
    assert_eq!(world.run(&words("case list --format id")).ends(0).lines().len(), 8);
}

#[test]
fn what_was_exported_is_imported_as_it_was_and_once() {
    let old = bank();
    let exported = old.run(&words("journal export cases")).ends(0).text();
    let world = World::new();
    world.run_with(&words("case import"), &exported).ends(0);
    assert_eq!(world.run(&words("journal export cases")).ends(0).text(), exported);
    let answer = world.run_with(&words("case import --format id"), &exported).ends(2);
    assert!(answer.stdout.is_empty() && answer.stderr.contains("there is a case"), "{answer:?}");
    assert_eq!(world.run(&words("journal export cases")).ends(0).text(), exported);
    let twice = GOOD.replace("{", "{\"case_id\":\"mine\",").repeat(2);
    let answer = world.run_with(&words("case import --format id"), &twice).ends(2);
    assert_eq!(answer.lines(), ["mine"]);
    world.run_with(&words("case import --atomic"), twice.replace("mine", "other")).ends(2);
    world.run(&words("case show other")).ends(1);
    let record = GOOD.replace("{", "{\"case_id\":\"mine\",");
    world.run_with(&words("case record"), record).ends(2);
}

#[test]
fn an_import_of_which_every_line_is_refused_leaves_the_journal_as_it_is() {
    let there = line("c_1", "deploy", 0.9, &[], 1);
    let document: Value = serde_json::from_str(&there).unwrap();
    // A torn tail, and a last record without its line end: either would get a line end by an append.
    for tail in ["{\"op\":\"record\",\"ca", line("c_2", "test", 0.9, &[], 2).trim_end()] {
        let before = format!("{there}{tail}");
        let world = World::with(JOURNAL, &before).damaged();
        let input = format!("{}\n", document["case"]);
        let answer = world.run_with(&words("case import"), &input).ends(2);
        assert!(answer.stderr.contains("refused.exists"), "{answer:?}");
        assert_eq!(String::from_utf8(world.read(JOURNAL)).unwrap(), before);
    }
}

#[test]
fn a_long_import_is_written_in_pieces_and_synced_once_at_the_end() {
    let long = GOOD.replace("\"o\"", &format!("\"{}\"", "x".repeat(100_000)));
    let world = World::new();
    let traced =
        world.traced(&["-e", "trace=write,fdatasync"], &["case", "import", "--format", "id"], &long.repeat(100));
    assert_eq!(traced.answer.status, 0, "{traced:?}");
    let (writes, syncs) = (traced.places("write", "/cases.jsonl>"), traced.places("fdatasync", "/cases.jsonl>"));
    assert!(writes.len() > 1 && syncs.len() == 1 && syncs[0] > writes[writes.len() - 1], "{writes:?} {syncs:?}");
    assert_eq!(world.run(&words("case list --format id")).ends(0).lines().len(), 100);
}

/// Documents of 1 KB with ids of their own.
fn documents(ids: std::ops::Range<u32>) -> String {
    let pad = "x".repeat(900);
    let document = |n| {
        format!("{{\"case_id\":\"i{n}\",\"task\":\"t1\",\"action\":\"a\",\"outcome\":\"o\",\"context\":\"{pad}\"}}\n")
    };
    ids.map(document).collect()
}

#[test]
fn an_import_that_ends_halfway_says_what_is_there_and_how_to_go_on() {
    if strace_is_waived() {
        return;
    }
    let (world, input) = (World::new(), documents(0..10_000));
    // The second of three pieces finds no space.
    let fails = "inject=write:error=ENOSPC:when=2";
    let journal = world.dir().join(JOURNAL).display().to_string();
    let traced = world.traced(
        &["-e", "trace=write", "-P", &journal, "-e", fails],
        &["case", "import", "--format", "id"],
        &input,
    );
    let answer = traced.answer;
    let there = world.run(&words("case list --format id")).ends(0).lines();
    assert_eq!((answer.status, &*answer.code()), (8, "unknown.write"), "{answer:?}");
    assert!(there.len() > 1000 && there.len() < 9000, "{}", there.len());
    assert_eq!(answer.lines().into_iter().collect::<BTreeSet<_>>(), there.iter().cloned().collect());
    let rest = format!("tail -n +{}", there.len() + 1);
    assert!(answer.stderr.contains(&rest) && !answer.stderr.contains("nothing was written"), "{answer:?}");
    world
        .run_with(&words("case import --quiet"), input.lines().skip(there.len()).collect::<Vec<_>>().join("\n"))
        .ends(0);
    assert_eq!(world.run(&words("case list --format id")).ends(0).lines().len(), 10_000);
}

#[test]
fn a_dry_run_of_an_import_ends_as_the_import_does() {
    let (world, input) = (World::new(), documents(0..5_000) + &documents(0..1_000));
    let dry = world.run_with(&words("case import --format id --dry-run"), &input).ends(2);
    let real = world.run_with(&words("case import --format id"), &input).ends(2);
    assert_eq!((dry.lines(), dry.lines().len()), (real.lines(), 5_000));
    let refused = |answer: &Answer| answer.stderr.matches("is not imported").count();
    assert_eq!((refused(&dry), refused(&real)), (1_000, 1_000));
}

#[test]
fn a_text_of_very_many_words_costs_no_more_than_its_words() {
    let lines: String = (0..3_000).map(|n| line(&format!("c{n}"), &format!("fix w{n}"), 1.0, &[], n % 60)).collect();
    let world = World::with(JOURNAL, lines);
    let text: String = (0..150_000).map(|n| format!("{n:05x} ")).collect::<String>() + "fix w77";
    let limit = ["-c", "ulimit -t 20; exec \"$@\"", "sh"];
    let mut command = world.surround(std::process::Command::new("bash"));
    command.args(limit).arg(assert_cmd::cargo::cargo_bin!("cruxctl")).args(words("case retrieve - --format id -k 1"));
    std::fs::write(world.beside("text"), text).unwrap();
    let answer = Answer::from(command.stdin(std::fs::File::open(world.beside("text")).unwrap()).output().unwrap());
    assert_eq!(answer.ends(0).lines(), ["c77"]);
}

/// The daemon's way, written down plainly: every case against the query, all sorted.
fn plainly(cases: &[(String, String, f64, Vec<String>, u32)], query: &str, k: usize) -> Vec<(String, f64)> {
    let set = |texts: &[&str]| -> BTreeSet<String> {
        let runs = texts.iter().flat_map(|text| text.split(|c: char| !c.is_alphanumeric()));
        runs.filter(|run| run.len() > 1).map(str::to_lowercase).collect()
    };
    let query = set(&[query]);
    let mut all: Vec<(f64, f64, u32, String)> = Vec::new();
    for (id, task, reward, tags, second) in cases {
        let texts: Vec<&str> = std::iter::once(task.as_str()).chain(tags.iter().map(String::as_str)).collect();
        let own = set(&texts);
        let common = query.intersection(&own).count();
        if common > 0 {
            let all_words = query.union(&own).count();
            let score = f64::from(u32::try_from(common).unwrap()) / f64::from(u32::try_from(all_words).unwrap());
            all.push((score, *reward, *second, id.clone()));
        }
    }
    all.sort_by(|a, b| b.0.total_cmp(&a.0).then(b.1.total_cmp(&a.1)).then(b.2.cmp(&a.2)).then(a.3.cmp(&b.3)));
    all.into_iter().take(k).map(|(score, _, _, id)| (id, score)).collect()
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 40, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn any_bank_is_searched_as_a_plain_reading_of_it_is(
        cases in prop::collection::vec(
            (prop::collection::vec("[a-d]{1,2}|deploy|Größe|中文", 0..6), 0u8..4, prop::collection::vec("[a-d]{2}", 0..3), 0u32..60),
            1..40,
        ),
        query in prop::collection::vec("[a-d]{1,2}|DEPLOY|größe|中文", 0..5),
        k in 1usize..12,
    ) {
        let cases: Vec<(String, String, f64, Vec<String>, u32)> = cases
            .into_iter()
            .enumerate()
            .map(|(n, (task, reward, tags, second))| (format!("c{n:03}"), task.join(" "), f64::from(reward) * 0.25, tags, second))
            .collect();
        let text: String = cases
            .iter()
            .map(|(id, task, reward, tags, second)| {
                let tags: Vec<&str> = tags.iter().map(String::as_str).collect();
                line(id, task, *reward, &tags, *second)
            })
            .collect();
        let world = World::with(JOURNAL, text);
        let query = query.join("-");
        let answer = world.run_with(&["case", "retrieve", "-", "--json", "-k", &k.to_string()], &query);
        let want = plainly(&cases, &query, k);
        if want.is_empty() {
            prop_assert_eq!(answer.status, 1);
        } else {
            prop_assert_eq!(found(&answer.ends(0)), want);
        }
    }
}
