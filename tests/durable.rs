//! Durable sessions: one conversation under a key, whose inputs are numbered in the order in which they came, worked off
//! once, and joined exactly; and nobody who looks in sees a payload.

use std::collections::BTreeSet;
use std::fs::{self, File};
use std::sync::LazyLock;
use std::thread;

use cruxctl::store::durable::identity;
use serde_json::{Value, json};

use crate::support::{Answer, World, words};
use crate::workers::{at_last, until, work};

/// The SHA-256 of a text, by another program.
fn sha256(text: &str) -> String {
    use std::io::Write;
    use std::process::{Command, Stdio};
    let mut sum = Command::new("sha256sum").stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
    sum.stdin.take().unwrap().write_all(text.as_bytes()).unwrap();
    let output = sum.wait_with_output().unwrap();
    String::from_utf8(output.stdout).unwrap()[..64].to_owned()
}

/// A session of the agent `support`, by its key.
pub struct One<'w> {
    pub world: &'w World,
    pub id: String,
}

pub fn open<'w>(world: &'w World, key: &str) -> One<'w> {
    let answer = world.run(&["durable", "open", "--target", "support", "--kind", "agent", "--key", key, "--json"]);
    let id = answer.ends(0).json()["sessions"][0]["id"].as_str().unwrap().to_owned();
    One { world, id }
}

/// A claim: the work and its fence.
#[derive(Clone, Debug, PartialEq)]
pub struct Claim {
    pub work: String,
    pub fence: String,
    pub inputs: Vec<Value>,
    pub prepared: bool,
}

impl One<'_> {
    pub fn verb(&self, verb: &str, more: &[&str]) -> Answer {
        self.world.run(&[&["durable", verb, "--session", &self.id][..], more].concat())
    }

    pub fn send(&self, input: &str) -> String {
        let args = ["durable", "send", "--session", &self.id, "--format", "id"];
        self.world.run_with(&args, input).ends(0).text().trim().to_owned()
    }

    pub fn status(&self) -> Value {
        self.verb("status", &["--json"]).ends(0).json()
    }

    /// State, accepted and processed cursor, pending inputs and work.
    pub fn stands(&self) -> Value {
        let status = self.status();
        ["state", "accepted_cursor", "processed_cursor", "pending_inputs", "pending_work"]
            .map(|n| status[n].clone())
            .into()
    }

    pub fn claim(&self) -> Claim {
        let claim = self.verb("claim", &["--json"]).ends(0).json();
        let work = &claim["works"][0];
        Claim {
            work: work["work_id"].as_str().unwrap().to_owned(),
            fence: work["fence"].to_string(),
            inputs: claim["inputs"].as_array().unwrap().clone(),
            prepared: work["prepared"] == true,
        }
    }

    /// Something that is done to claimed work, with input.
    pub fn step(&self, verb: &str, claim: &Claim, more: &[&str], input: &str) -> Answer {
        let args = ["durable", verb, "--work", &claim.work, "--fence", &claim.fence];
        self.world.run_with(&[&args[..], more].concat(), input)
    }

    pub fn result(&self, input: &str) -> Answer {
        self.world.run(&["durable", "result", "--input", input])
    }

    /// The events of its stream.
    pub fn stream(&self, more: &[&str]) -> Vec<Value> {
        let text = self.verb("stream", more).ends(0).text();
        text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
    }
}

/// A world with a session of the flow `t` under the key `k`, to which verbs were done.
pub fn durable(verbs: &str) -> World {
    let world = World::new();
    world.run(&words("durable open --target t --kind flow --key k")).ends(0);
    for verb in words(verbs) {
        let input = if matches!(verb, "send" | "complete" | "checkpoint") { "{\"n\":1}" } else { "" };
        let line = match verb {
            "send" | "claim" | "close" | "kill" => format!("durable {verb} --target t --key k"),
            "delete" => "durable delete --session SESSION".to_owned(),
            _ => format!("durable {verb} --work WORK --fence FENCE"),
        };
        world.run_in_durable(&line, input).ends(0);
    }
    world
}

impl World {
    /// Runs a line with the ids of the session of [`durable`], of its first input and of the work that begins with it.
    pub fn run_in_durable(&self, line: &str, input: &str) -> Answer {
        let line = with_ids(line);
        self.run_with(&words(&line), input)
    }
}

/// A journal of sessions in every state, in which every verb has something to say.
pub fn journal() -> String {
    static JOURNAL: LazyLock<String> = LazyLock::new(|| {
        let world = durable("send claim complete");
        for key in ["held", "blocked", "closed"] {
            world.run(&words(&format!("durable open --target t --kind flow --key {key}"))).ends(0);
            world.run_with(&words(&format!("durable send --target t --key {key}")), "{\"n\":1}").ends(0);
            world.run(&words(&format!("durable claim --target t --key {key} --lease 10000h"))).ends(0);
        }
        world.run_in_durable("durable block --work BLOCKED_WORK --fence FENCE", "").ends(0);
        world.run_in_durable("durable fail --work CLOSED_WORK --fence FENCE", "").ends(0);
        world.run(&words("durable close --target t --key closed")).ends(0);
        world.run(&words("durable fork --target t --key k")).ends(0);
        world.run(&words("durable subscribe --target t --key k --signal s --match {\"a\":1}")).ends(0);
        world.run_with(&words("durable send-many --target t --key k"), "[1]\n[2]\n").ends(0);
        String::from_utf8(world.read("cruxctl/durable.jsonl")).unwrap()
    });
    JOURNAL.clone()
}

/// A line with the ids that its words in capitals stand for.
pub fn with_ids(line: &str) -> String {
    let session = |key: &str| identity::Keyed::of("default", "t", key).session_id;
    let input = |key: &str| identity::input(&session(key), 1);
    let work = |key: &str| identity::work("default", &session(key), &input(key)).0;
    let subscription = identity::subscription("default", &session("k"), "s", "{\"a\":1}");
    line.replace("HELD_WORK", &work("held"))
        .replace("BLOCKED_WORK", &work("blocked"))
        .replace("CLOSED_WORK", &work("closed"))
        .replace("CLOSED_SESSION", &session("closed"))
        .replace("SUBSCRIPTION", &subscription)
        .replace("SESSION", &session("k"))
        .replace("INPUT", &input("k"))
        .replace("WORK", &work("k"))
        // The first claim at the time of a world.
        .replace("FENCE", "1782907200000")
}

#[test]
fn opened_twice_it_is_the_same_session_and_its_ids_can_be_found_out() {
    let world = World::new();
    let args = words("durable open --target support --kind agent --namespace app --json --key");
    let args = [&args[..], &["customer \"42\""]].concat();
    let first = world.run(&args).ends(0).json()["sessions"][0].clone();
    let again = world.run(&args).ends(0).json()["sessions"][0].clone();
    let hash = sha256(r#"["crux-session:v1","app","support","customer \"42\""]"#);
    assert_eq!(first["id"], format!("session_{hash}"));
    assert_eq!(first["thread_id"], format!("thread_{hash}"));
    assert_eq!((&first["created"], &again["created"]), (&json!(true), &json!(false)));
    assert_eq!((&first["id"], &first["thread_id"]), (&again["id"], &again["thread_id"]));
    // Nothing was run, and nothing waits.
    let get = words("durable get --target support --namespace app --json --key");
    let get = world.run(&[&get[..], &["customer \"42\""]].concat()).ends(0).json();
    assert_eq!((&get["id"], &get["state"]), (&first["id"], &json!("ready")));
    assert_eq!(get["key_hash"], sha256(r#"["crux-session:v1","app","customer \"42\""]"#));
    assert_eq!(world.read("cruxctl/durable.jsonl").iter().filter(|byte| **byte == b'\n').count(), 1);
}

#[test]
fn thirty_that_open_it_at_once_get_the_same_one() {
    let world = World::new();
    let ids: Vec<(String, bool)> = thread::scope(|scope| {
        let all: Vec<_> = (0..30)
            .map(|_| {
                scope.spawn(|| {
                    let args = words("durable open --target t --kind flow --key k --json");
                    let session = world.run(&args).ends(0).json()["sessions"][0].clone();
                    (session["id"].to_string(), session["created"] == true)
                })
            })
            .collect();
        all.into_iter().map(|one| one.join().unwrap()).collect()
    });
    assert_eq!(ids.iter().map(|(id, _)| id).collect::<BTreeSet<_>>().len(), 1);
    assert_eq!(ids.iter().filter(|(_, created)| *created).count(), 1);
}

#[test]
fn a_key_belongs_to_one_target() {
    let world = World::new();
    open(&world, "k");
    let before = world.read("cruxctl/durable.jsonl");
    for args in [
        "durable open --target other --kind agent --key k",
        "durable open --target support --kind flow --key k",
        "durable get --target other --key k",
        "durable status --target other --key k",
    ] {
        let answer = world.run(&words(args)).ends(5);
        assert_eq!(answer.code(), "refused.session_identity_conflict", "{args}");
    }
    assert!(world.read("cruxctl/durable.jsonl") == before);
    // Elsewhere it is another key.
    world.run(&words("durable open --target other --kind agent --key k --namespace elsewhere")).ends(0);
}

#[test]
fn asking_for_a_key_that_nobody_has_makes_nothing() {
    let world = World::new();
    for verb in ["get", "status", "inspect", "stats", "stream", "forks"] {
        let answer = world.run(&["durable", verb, "--target", "support", "--key", "nobody"]).ends(1);
        assert_eq!(answer.code(), "no.session_not_found", "{verb}");
        let answer = world.run(&["durable", verb, "--session", "session_00"]).ends(1);
        assert_eq!(answer.code(), "no.session_not_found", "{verb}");
    }
    for verb in ["send", "send-many"] {
        let answer = world.run_with(&["durable", verb, "--session", "session_00"], "1").ends(1);
        assert_eq!(answer.code(), "no.session_not_found", "{verb}");
    }
    assert!(!world.dir().exists());
}

#[test]
fn cursors_count_from_one_in_the_order_of_acceptance_whoever_sends() {
    let world = World::new();
    let one = open(&world, "k");
    assert_eq!(one.stands(), json!(["parked", null, null, 0, 0]));
    let mut cursors: Vec<(u64, String)> = thread::scope(|scope| {
        let senders: Vec<_> = (0..6)
            .map(|sender| {
                let one = &one;
                scope.spawn(move || {
                    let mut got = Vec::new();
                    for n in 0..5 {
                        let args = ["durable", "send", "--session", &one.id, "--json"];
                        let sent = one.world.run_with(&args, format!("[{sender},{n}]")).ends(0).json();
                        let cursor = sent["inputs"][0]["cursor"].as_str().unwrap().parse().unwrap();
                        got.push((cursor, format!("[{sender},{n}]")));
                    }
                    assert!(got.is_sorted());
                    got
                })
            })
            .collect();
        senders.into_iter().flat_map(|sender| sender.join().unwrap()).collect()
    });
    cursors.sort_unstable();
    assert_eq!(cursors.iter().map(|(cursor, _)| *cursor).collect::<Vec<_>>(), (1..=30).collect::<Vec<_>>());
    assert_eq!(one.stands(), json!(["running", "30", null, 30, 1]));
    let payloads: Vec<String> = one.claim().inputs.iter().map(|input| input["payload"].to_string()).collect();
    assert_eq!(payloads, cursors.into_iter().map(|(_, payload)| payload).collect::<Vec<_>>());
}

#[test]
fn many_are_accepted_together_or_not_at_all() {
    let world = World::new();
    let one = open(&world, "k");
    let args = ["durable", "send-many", "--session", &one.id, "--format", "id"];
    let accepted = world.run_with(&args, "1\n\n {\"a\" : [2]} \r\n\"three\"").ends(0).text();
    assert_eq!(accepted.lines().count(), 3);
    let before = world.read("cruxctl/durable.jsonl");
    for bad in ["4\n{\n5\n", "4\n5 6\n", "NaN\n", "4\n\u{FEFF}5\n", "4\n1e999\n"] {
        let answer = world.run_with(&args, bad).ends(2);
        assert_eq!((&*answer.code(), &*answer.text()), ("usage.session_input_invalid", ""), "{bad:?}");
    }
    assert_eq!(world.run_with(&args, "").ends(0).text(), "");
    assert_eq!(world.run_with(&args, "\n \n").ends(0).text(), "");
    assert!(world.read("cruxctl/durable.jsonl") == before, "a cursor was used");
    let payloads: Vec<String> = one.claim().inputs.iter().map(|input| input["payload"].to_string()).collect();
    assert_eq!(payloads, ["1", "{\"a\":[2]}", "\"three\""]);
}

#[test]
fn an_input_beyond_a_limit_uses_no_cursor() {
    let world = World::new();
    let one = open(&world, "k");
    let nested = |levels: usize| "[".repeat(levels) + &"]".repeat(levels);
    let long = |bytes: usize| format!("\"{}\"", "x".repeat(bytes - 2));
    let many = |count: usize| format!("[{}]", vec!["0"; count - 1].join(", "));
    let before = world.read("cruxctl/durable.jsonl");
    let wrong =
        [nested(65), long((1 << 20) + 1), many(100_001), "-Infinity".to_owned(), "1e400".to_owned(), String::new()];
    for wrong in wrong {
        let answer = world.run_with(&["durable", "send", "--session", &one.id], &wrong).ends(2);
        assert_eq!(answer.code(), "usage.session_input_invalid", "{}", &wrong[..wrong.len().min(20)]);
        assert!(answer.stderr.len() < 400, "{answer:?}");
    }
    assert!(world.read("cruxctl/durable.jsonl") == before);
    for (at, fine) in [nested(64), long(1 << 20), many(100_000), "1e308".to_owned()].iter().enumerate() {
        assert!(one.send(fine).ends_with(&format!("_{}", at + 1)));
    }
    assert_eq!(one.status()["accepted_cursor"], "4");
}

#[test]
fn what_waits_is_claimed_at_once_and_has_one_result() {
    let world = World::new();
    let one = open(&world, "k");
    let (a, b) = (one.send("1"), one.send("2"));
    assert_eq!(one.stands(), json!(["running", "2", null, 2, 1]));
    let claim = one.claim();
    let first = sha256(&format!(r#"["crux-session-turn:v1","default","{}","{a}"]"#, one.id));
    assert_eq!(claim.work, format!("work_{first}"));
    assert_eq!(claim.inputs.len(), 2);
    let late = one.send("3");
    // One at a time.
    assert_eq!(one.verb("claim", &[]).ends(1).code(), "no.session_work");
    for input in [&a, &b, &late] {
        assert_eq!(one.result(input).ends(1).code(), "no.session_result_pending");
    }
    one.step("complete", &claim, &[], "{\"reply\": \"both\"}\n").ends(0);
    for input in [&a, &b] {
        assert_eq!(one.result(input).ends(0).text(), "{\"reply\":\"both\"}\n");
    }
    assert_eq!(one.result(&late).ends(1).code(), "no.session_result_pending");
    let next = one.claim();
    assert!(next.work != claim.work && next.inputs.len() == 1, "{next:?}");
    // A second commit of the first is none.
    assert_eq!(one.step("complete", &claim, &[], "0").ends(5).code(), "refused.session_fenced");
    assert_eq!(one.result("input_00_1").ends(1).code(), "no.session_input");
    assert_eq!(one.result("nonsense").ends(2).code(), "usage.id");
}

#[test]
fn it_walks_from_parked_to_running_and_back_and_a_blocked_one_still_takes_inputs() {
    let world = World::new();
    let one = open(&world, "k");
    assert_eq!(one.stands(), json!(["parked", null, null, 0, 0]));
    let input = one.send("1");
    assert_eq!(one.stands(), json!(["running", "1", null, 1, 1]));
    let claim = one.claim();
    assert_eq!(one.stands(), json!(["running", "1", null, 1, 1]));
    one.step("complete", &claim, &[], "null").ends(0);
    assert_eq!(one.result(&input).ends(0).text(), "null\n");
    assert_eq!(one.stands(), json!(["parked", "1", "1", 0, 0]));
    let input = one.send("2");
    let claim = one.claim();
    one.step("block", &claim, &["--reason", "no key"], "").ends(0);
    assert_eq!(one.stands(), json!(["blocked", "2", "1", 1, 0]));
    let blocked = one.result(&input).ends(5);
    assert!(blocked.code() == "refused.session_result_blocked" && blocked.stderr.contains("no key"), "{blocked:?}");
    let later = one.send("3");
    assert_eq!(one.stands(), json!(["blocked", "3", "1", 2, 0]));
    assert_eq!(one.verb("claim", &[]).ends(1).code(), "no.session_work");
    assert_eq!(one.step("complete", &claim, &[], "0").ends(5).code(), "refused.session_fenced");
    one.verb("unblock", &[]).ends(0);
    assert_eq!(one.verb("unblock", &[]).ends(1).code(), "no.session_work");
    // What was claimed once stays together.
    let again = one.claim();
    assert_eq!((&again.work, again.inputs.len()), (&claim.work, 1));
    one.step("fail", &again, &["--reason", "out of paper"], "").ends(0);
    let failed = one.result(&input).ends(5);
    assert!(failed.code() == "refused.session_result_failed" && failed.stderr.contains("out of paper"), "{failed:?}");
    assert_eq!(one.stands(), json!(["running", "3", "2", 1, 1]));
    let last = one.claim();
    one.step("complete", &last, &[], "3").ends(0);
    assert_eq!(one.result(&later).ends(0).text(), "3\n");
    let stats = one.verb("stats", &["--json"]).ends(0).json();
    let total = json!({"started":3,"completed":2,"failed":1,"current":{"queued":0,"running":0,"blocked":0}});
    assert_eq!(stats["work"]["total"], total);
    let ingress = json!({"accepted":3,"deduplicated":0,"delivered":3,"resumed":1,"dropped":0});
    assert_eq!(stats["ingress"], ingress);
}

#[test]
fn the_newest_inputs_are_shown_and_no_payload_ever() {
    let world = World::new();
    let one = open(&world, "k");
    let args = ["durable", "send-many", "--session", &one.id];
    let inputs: String = (0..70).map(|n| format!("{{\"hunter2\":{n}}}\n")).collect();
    world.run_with(&args, inputs).ends(0);
    let total = |one: &One<'_>| one.verb("stats", &["--json"]).ends(0).json()["work"]["total"].clone();
    assert_eq!(total(&one)["current"], json!({"queued":1,"running":0,"blocked":0}));
    let seen = one.verb("inspect", &["--json"]).ends(0).json();
    let cursors: Vec<u64> =
        seen["inputs"].as_array().unwrap().iter().map(|i| i["cursor"].as_str().unwrap().parse().unwrap()).collect();
    assert_eq!(cursors, (7..=70).collect::<Vec<_>>());
    assert_eq!(seen["coverage"], json!({"inputs":"truncated","limit":64}));
    assert_eq!(seen["wake_pending"], true);
    let claim = one.claim();
    one.step("checkpoint", &claim, &[], "{\"hunter2\":1}").ends(0);
    let seen = one.verb("inspect", &["--json"]).ends(0).json();
    assert!(seen["inputs"].as_array().unwrap().iter().all(|input| input["state"] == "running"));
    assert_eq!(seen["checkpoint"]["work_id"], json!(claim.work));
    one.step("complete", &claim, &["--prepared"], "").ends(0);
    let stats = one.verb("stats", &["--json"]).ends(0).json();
    assert_eq!(
        total(&one),
        json!({"started":1,"completed":1,"failed":0,"current":{"queued":0,"running":0,"blocked":0}})
    );
    assert_eq!(stats["inputs"].as_array().unwrap().len(), 64);
    assert_eq!(one.verb("inspect", &["--json"]).ends(0).json()["inputs"][0]["state"], "completed");
}

#[test]
fn a_stream_begins_with_a_snapshot_goes_on_behind_a_cursor_and_ends_when_it_is_closed() {
    let world = World::new();
    let one = open(&world, "k");
    one.send("1");
    one.send("2");
    let claim = one.claim();
    one.step("complete", &claim, &[], "0").ends(0);
    let all = one.stream(&[]);
    let kinds: Vec<&str> = all.iter().map(|event| event["kind"].as_str().unwrap()).collect();
    let wanted = [
        "session.snapshot",
        "session.status",
        "ingress.accepted",
        "ingress.accepted",
        "ingress.delivered",
        "ingress.delivered",
        "turn.completed",
    ];
    assert_eq!(kinds, wanted);
    assert_eq!((&all[0]["reason"], &all[0]["status"]["processed_cursor"]), (&json!("initial"), &json!("2")));
    assert_eq!(all[1]["id"], format!("session.status:{}:ready", one.id));
    let cursors: Vec<&str> = all[1..].iter().map(|event| event["cursor"].as_str().unwrap()).collect();
    assert_eq!(cursors, ["1", "2", "3", "4", "5", "6"]);
    assert_eq!(all[4]["work_id"], json!(claim.work));
    assert_eq!((&all[6]["work_id"], &all[6]["input_cursor"]), (&json!(claim.work), &json!("2")));
    // Strictly behind a cursor, and nothing twice.
    for after in 0..=6usize {
        assert_eq!(one.stream(&["--after", &after.to_string()]), all[1 + after..], "{after}");
    }
    assert_eq!(one.stream(&["--after", "1", "--limit", "2"]), all[2..4]);
    for expired in ["7", "x", "-1", "99999999999999999999"] {
        let events = one.stream(&[&format!("--after={expired}")]);
        assert_eq!(events[0]["reason"], "cursor-expired", "{expired}");
        assert_eq!(events[1..], all[1..]);
    }
    one.verb("close", &[]).ends(0);
    one.verb("close", &[]).ends(0);
    let end = one.stream(&["--after", "6"]);
    assert_eq!(end.len(), 1);
    assert_eq!(
        (&end[0]["id"], &end[0]["status"]),
        (&json!(format!("session.status:{}:closed", one.id)), &json!({"state":"closed"}))
    );
    // A stream that is followed ends there by itself.
    assert_eq!(one.stream(&["--follow", "--after", "6"]), end);
    assert_eq!(one.stream(&["--follow", "--after", "7"]), [] as [Value; 0], "also behind its end");
}

#[test]
fn a_followed_stream_has_every_event_once_also_over_a_compaction() {
    let world = World::new();
    let one = open(&world, "k");
    let told = thread::scope(|scope| {
        let reader = scope.spawn(|| {
            let out = File::create(world.beside("told")).unwrap();
            let mut command = at_last(&world, &["durable", "stream", "--session", &one.id, "--follow"]);
            assert!(command.stdout(out).status().unwrap().success());
            let told = fs::read_to_string(world.beside("told")).unwrap();
            told.lines().map(|line| serde_json::from_str(line).unwrap()).collect::<Vec<Value>>()
        });
        // It is there before anything happens, and has to get over the compaction.
        until(|| fs::read_to_string(world.beside("told")).is_ok_and(|told| told.lines().count() == 2));
        for n in 0..10 {
            one.send(&n.to_string());
            if n == 5 {
                let claim = one.claim();
                one.step("complete", &claim, &[], "0").ends(0);
                world.run(&words("journal compact durable")).ends(0);
            }
        }
        one.verb("kill", &[]).ends(0);
        reader.join().unwrap()
    });
    // Where a compaction has dropped events before they were read, a snapshot stands for them; else none is missing.
    let (mut last, mut snapshot) = (0, false);
    for event in &told {
        if event["kind"] == "session.snapshot" {
            snapshot = true;
            continue;
        }
        let cursor: u64 = event["cursor"].as_str().unwrap().parse().unwrap();
        assert!(cursor == last + 1 || cursor > last && snapshot, "{told:?}");
        (last, snapshot) = (cursor, false);
    }
    assert_eq!(last, 19, "open, ten accepted, six delivered and completed, killed");
    assert_eq!(told.last().unwrap()["status"], json!({"state":"closed"}));
}

#[test]
fn a_signal_becomes_an_input_of_whoever_is_subscribed_and_an_occurrence_once() {
    let world = World::new();
    let (one, two) = (open(&world, "one"), open(&world, "two"));
    let subscribe = |one: &One<'_>, more: &[&str]| {
        one.verb("subscribe", &[&["--signal", "paid", "--json"][..], more].concat()).ends(0).json()["subscriptions"]
            [0]
        .clone()
    };
    let all = subscribe(&one, &[]);
    let some = subscribe(&two, &["--match", r#"{"kind":"order","to":{"a":1,"b":2}}"#]);
    let again = subscribe(&two, &["--match", r#"{ "to": {"b":2,"a":1}, "kind":"order" }"#]);
    assert_eq!((&some["id"], &some["created"], &again["created"]), (&again["id"], &json!(true), &json!(false)));
    let hash = sha256(&format!(r#"["crux-session:v1","default","{}","paid",""]"#, one.id));
    assert_eq!(all["id"], format!("subscription_{hash}"));
    let publish = |occurrence: &str, payload: &str| {
        let args = ["durable", "publish", "--signal", "paid", "--occurrence", occurrence, "--json"];
        let told = world.run_with(&args, payload).ends(0).json();
        let delivered: Vec<(String, String)> = told["delivered"]
            .as_array()
            .unwrap()
            .iter()
            .map(|d| (d["session_id"].as_str().unwrap().to_owned(), d["cursor"].as_str().unwrap().to_owned()))
            .collect();
        (delivered, told["deduplicated"].as_u64().unwrap())
    };
    let to = |one: &One<'_>, cursor: &str| (one.id.clone(), cursor.to_owned());
    assert_eq!(publish("o1", r#"{"kind":"other"}"#), (vec![to(&one, "1")], 0));
    let matching = r#"{"n":1,"to":{"b":2,"a":1},"kind":"order"}"#;
    assert_eq!(publish("o2", matching), (vec![to(&one, "2"), to(&two, "1")], 0));
    assert_eq!(publish("o2", matching), (vec![], 2));
    // Two subscriptions of a session hear an occurrence once.
    subscribe(&one, &["--match", r#"{"kind":"order"}"#]);
    assert_eq!(publish("o3", matching), (vec![to(&one, "3"), to(&two, "2")], 0));
    assert_eq!(one.claim().inputs[1]["payload"], serde_json::from_str::<Value>(matching).unwrap());
    let events = one.stream(&["--after", "1"]);
    assert_eq!((&events[0]["kind"], &events[0]["source"]), (&json!("ingress.accepted"), &json!("signal")));
    // From now on nothing more of it.
    let end = ["durable", "unsubscribe", "--sub", some["id"].as_str().unwrap(), "--json"];
    assert_eq!(world.run(&end).ends(0).json()["subscriptions"][0]["changed"], true);
    assert_eq!(world.run(&end).ends(0).json()["subscriptions"][0]["changed"], false);
    assert_eq!(publish("o4", matching), (vec![to(&one, "4")], 0));
    assert_eq!(two.status()["accepted_cursor"], "2");
    let listed =
        |world: &World| world.run(&words("durable subscriptions --format id")).ends(0).text().lines().count();
    assert_eq!(listed(&world), 2);
    // Subscribed again, it is the same subscription.
    assert_eq!(subscribe(&two, &["--match", r#"{"to":{"a":1,"b":2},"kind":"order"}"#])["id"], some["id"]);
    one.verb("kill", &[]).ends(0);
    assert_eq!(listed(&world), 1);
    assert_eq!(publish("o5", matching), (vec![to(&two, "3")], 0));
    let nobody = ["durable", "unsubscribe", "--sub", "subscription_00"];
    assert_eq!(world.run(&nobody).ends(1).code(), "no.session_subscription");
}

#[test]
fn what_is_sent_again_with_the_same_key_is_what_was_accepted_first() {
    let world = World::new();
    let one = open(&world, "k");
    let send = |key: &str, input: &str| {
        let args = ["durable", "send", "--session", &one.id, "--idempotency-key", key, "--json"];
        world.run_with(&args, input).ends(0).json()["inputs"][0].clone()
    };
    let first = send("a", "1");
    let again = send("a", "2");
    for member in ["id", "cursor", "accepted_at"] {
        assert_eq!(first[member], again[member]);
    }
    assert_eq!((&first["deduplicated"], &again["deduplicated"]), (&json!(false), &json!(true)));
    assert_eq!(send("b", "3")["cursor"], "2");
    let many = ["durable", "send-many", "--session", &one.id, "--idempotency-key", "m", "--format", "id"];
    let once = world.run_with(&many, "4\n5\n").ends(0).text();
    assert_eq!(
        world.run_with(&many, "4\n5\n6\n").ends(0).text().lines().take(2).collect::<Vec<_>>(),
        once.lines().collect::<Vec<_>>()
    );
    let claim = one.claim();
    let payloads: Vec<String> = claim.inputs.iter().map(|input| input["payload"].to_string()).collect();
    assert_eq!(payloads, ["1", "3", "4", "5", "6"]);
    let stats = one.verb("stats", &["--json"]).ends(0).json();
    assert_eq!((&stats["ingress"]["accepted"], &stats["ingress"]["deduplicated"]), (&json!(5), &json!(3)));
    assert_eq!(stats["inputs"][0]["deduplicated"], 1);
    // It holds when the input is long finished, and after a compaction.
    one.step("complete", &claim, &[], "0").ends(0);
    world.run(&words("journal compact durable")).ends(0);
    assert_eq!(send("a", "9")["id"], first["id"]);
}

#[test]
fn closing_takes_nothing_more_and_ends_when_the_last_input_is_finished() {
    let world = World::new();
    let one = open(&world, "k");
    let input = one.send("1");
    let closing = one.verb("close", &["--json"]).ends(0).json()["sessions"][0].clone();
    assert_eq!((&closing["state"], &closing["pending_inputs"]), (&json!("closing"), &json!(1)));
    assert_eq!(one.stands()[0], "closing");
    for args in ["durable send", "durable send-many"] {
        let refused = world.run_with(&[&words(args)[..], &["--session", &one.id]].concat(), "2").ends(5);
        assert_eq!(refused.code(), "refused.session_closed");
    }
    assert_eq!(one.verb("subscribe", &["--signal", "s"]).ends(5).code(), "refused.session_closed");
    assert_eq!(one.verb("fork", &[]).ends(5).code(), "refused.session_lifecycle");
    assert_eq!(one.verb("delete", &[]).ends(5).code(), "refused.session_not_closed");
    let claim = one.claim();
    one.step("complete", &claim, &[], "7").ends(0);
    assert_eq!(one.stands(), json!(["closed", "1", "1", 0, 0]));
    assert_eq!(one.result(&input).ends(0).text(), "7\n");
    let again = one.verb("close", &["--json"]).ends(0).json()["sessions"][0].clone();
    assert_eq!((&again["state"], &again["changed"]), (&json!("closed"), &json!(false)));
    // With nothing to do it is closed at once.
    let other = open(&world, "other");
    assert_eq!(other.verb("close", &["--json"]).ends(0).json()["sessions"][0]["state"], "closed");
}

#[test]
fn killed_it_lets_nobody_commit() {
    let world = World::new();
    let one = open(&world, "k");
    let (a, claim, b) = (one.send("1"), one.claim(), one.send("2"));
    one.verb("kill", &[]).ends(0);
    assert_eq!(one.stands()[0], "closed");
    for (verb, input) in
        [("complete", "1"), ("checkpoint", "1"), ("fail", ""), ("block", ""), ("renew", ""), ("release", "")]
    {
        assert_eq!(one.step(verb, &claim, &[], input).ends(5).code(), "refused.session_fenced", "{verb}");
    }
    assert_eq!(one.verb("claim", &[]).ends(1).code(), "no.session_work");
    for input in [&a, &b] {
        assert_eq!(one.result(input).ends(5).code(), "refused.session_result_dropped");
    }
    assert_eq!(one.verb("kill", &["--json"]).ends(0).json()["sessions"][0]["changed"], false);
    let seen = one.verb("inspect", &["--json"]).ends(0).json();
    assert_eq!(seen["fenced_work_id"], json!(claim.work));
    assert_eq!(one.verb("stats", &["--json"]).ends(0).json()["ingress"]["dropped"], 1);
}

#[test]
fn deleted_its_key_never_comes_back() {
    let world = World::new();
    let one = open(&world, "k");
    let input = one.send("\"hunter2\"");
    assert_eq!(one.verb("delete", &[]).ends(5).code(), "refused.session_not_closed");
    one.verb("kill", &[]).ends(0);
    one.verb("delete", &[]).ends(0);
    assert_eq!(one.verb("delete", &["--json"]).ends(0).json()["sessions"][0]["changed"], false);
    let check = |world: &World| {
        for verb in ["status", "inspect", "stats", "stream"] {
            assert_eq!(one.verb(verb, &[]).ends(1).code(), "no.session_not_found", "{verb}");
        }
        for args in [
            "durable open --target support --kind agent --key k",
            "durable open --target x --kind flow --key k",
            "durable get --target support --key k",
        ] {
            assert_eq!(world.run(&words(args)).ends(5).code(), "refused.session_tombstoned", "{args}");
        }
        // Who waits for it, waits in vain.
        assert_eq!(one.result(&input).ends(5).code(), "refused.session_deleted");
        assert_eq!(
            one.world.run(&words("durable status --target support --key k")).ends(1).code(),
            "no.session_not_found"
        );
        assert_eq!(world.run(&words("durable list --format id")).ends(0).text(), "");
    };
    check(&world);
    // A compaction leaves that it was there, and nothing of what it had.
    world.run(&words("journal compact durable")).ends(0);
    let left = String::from_utf8(world.read("cruxctl/durable.jsonl")).unwrap();
    assert!(left.lines().count() == 1 && !left.contains("hunter2") && !left.contains("\"k\""), "{left}");
    check(&world);
}

#[test]
fn forked_twice_at_one_place_there_is_one_child_with_cursors_of_its_own() {
    let world = World::new();
    let one = open(&world, "k");
    one.send("1");
    let claim = one.claim();
    one.step("complete", &claim, &[], "1").ends(0);
    let fork = |one: &One<'_>| one.verb("fork", &["--json"]).ends(0).json()["sessions"][0].clone();
    let (child, again) = (fork(&one), fork(&one));
    assert_eq!((&child["id"], &child["created"], &again["created"]), (&again["id"], &json!(true), &json!(false)));
    assert_eq!(child["forked_from"], json!({"session_id":one.id,"cursor":"1","thread_revision":"1"}));
    let hash = sha256(&format!(r#"["crux-session-fork:v1","default","{}","1","1"]"#, one.id));
    assert_eq!(child["id"], format!("session_fork_{hash}"));
    let parent = one.verb("get", &["--json"]).ends(0).json();
    assert_eq!(parent["thread_id"], child["thread_id"]);
    let child = One { world: &world, id: child["id"].as_str().unwrap().to_owned() };
    assert_eq!(child.stands(), json!(["parked", null, null, 0, 0]));
    assert!(child.send("\"own\"").ends_with("_1"));
    assert_eq!(one.status()["accepted_cursor"], "1");
    assert_eq!(one.verb("forks", &["--format", "id"]).ends(0).text().trim(), child.id);
    // Elsewhere it is another child.
    let later = one.send("2");
    assert_ne!(fork(&one)["id"], json!(child.id));
    let claim = one.claim();
    one.step("block", &claim, &[], "").ends(0);
    assert_eq!(one.verb("fork", &[]).ends(5).code(), "refused.session_lifecycle");
    one.verb("kill", &[]).ends(0);
    assert_eq!(one.result(&later).ends(5).code(), "refused.session_result_dropped");
    fork(&one);
    child.verb("kill", &[]).ends(0);
    child.verb("delete", &[]).ends(0);
    assert_eq!(one.verb("forks", &["--format", "id"]).ends(0).text().lines().count(), 1);
}

#[test]
fn a_parent_that_has_ended_can_be_forked_and_a_deleted_child_does_not_come_back() {
    let world = World::new();
    for end in ["close", "kill"] {
        let one = open(&world, end);
        one.send("1");
        let claim = one.claim();
        one.step("complete", &claim, &[], "1").ends(0);
        one.verb(end, &[]).ends(0);
        let child = one.verb("fork", &["--format", "id"]).ends(0).text().trim().to_owned();
        let child = One { world: &world, id: child };
        assert_eq!(child.stands(), json!(["parked", null, null, 0, 0]));
        child.verb("kill", &[]).ends(0);
        child.verb("delete", &[]).ends(0);
        let again = one.verb("fork", &[]).ends(5);
        assert!(again.code() == "refused.session_tombstoned" && again.stderr.contains(&child.id), "{again:?}");
        assert_eq!(one.verb("forks", &["--format", "id"]).ends(0).text(), "");
        one.verb("delete", &[]).ends(0);
        assert_eq!(one.verb("fork", &[]).ends(5).code(), "refused.session_deleted");
    }
}

#[test]
fn one_that_is_blocked_can_close_and_waits_until_it_is_unblocked() {
    let world = World::new();
    let one = open(&world, "k");
    one.send("1");
    let claim = one.claim();
    one.step("block", &claim, &["--reason", "line 1\nline 2"], "").ends(0);
    assert_eq!(one.verb("close", &["--json"]).ends(0).json()["sessions"][0]["state"], "closing");
    assert_eq!(one.verb("inspect", &["--json"]).ends(0).json()["blocker"], "line 1 line 2");
    let blocked = world.run(&words("durable list --status blocked --format id")).ends(0);
    assert_eq!(blocked.text().trim(), one.id);
    assert!(one.verb("delete", &[]).ends(5).stderr.contains("unblock"));
    assert_eq!(one.verb("claim", &[]).ends(1).code(), "no.session_work");
    one.verb("unblock", &[]).ends(0);
    assert_eq!(one.verb("unblock", &[]).ends(1).code(), "no.session_work", "there is nothing more to put right");
    let claim = one.claim();
    one.step("complete", &claim, &[], "1").ends(0);
    assert_eq!(one.stands()[0], "closed");
    let changed: Vec<Value> = one
        .stream(&[])
        .into_iter()
        .filter(|event| event["kind"] == "work.changed")
        .map(|e| e["status"].clone())
        .collect();
    assert_eq!(changed, [json!({"state":"blocked"}), json!({"state":"queued"})]);
}

#[test]
fn what_is_put_off_can_be_claimed_at_once_again() {
    let world = World::new();
    let one = open(&world, "k");
    one.send("1");
    let claim = one.claim();
    one.step("release", &claim, &["--delay", "1000h"], "").ends(0);
    assert_eq!(one.verb("claim", &[]).ends(1).code(), "no.session_work");
    one.verb("unblock", &[]).ends(0);
    let again = one.claim();
    assert_eq!((&again.work, &again.inputs), (&claim.work, &claim.inputs));
    // And no event was made of it: nothing was blocked.
    assert!(one.stream(&[]).iter().all(|event| event["kind"] != "work.changed"));
}

#[test]
fn a_claim_takes_no_more_inputs_than_it_is_told_to() {
    let world = World::new();
    let one = open(&world, "k");
    let inputs: Vec<String> = (1..=5).map(|n| one.send(&n.to_string())).collect();
    for (n, cursors) in [(0, ["1", "2"]), (2, ["3", "4"]), (4, ["5", "5"])] {
        let claimed = one.verb("claim", &["--batch", "2", "--json"]).ends(0).json();
        let work = &claimed["works"][0];
        assert_eq!([&work["first_cursor"], &work["last_cursor"]], [cursors[0], cursors[1]]);
        let fence = work["fence"].to_string();
        let args = ["durable", "complete", "--work", work["work_id"].as_str().unwrap(), "--fence", &fence];
        world.run_with(&args, n.to_string()).ends(0);
    }
    let results: Vec<String> = inputs.iter().map(|input| one.result(input).ends(0).text()).collect();
    assert_eq!(results, ["0\n", "0\n", "2\n", "2\n", "4\n"]);
    one.verb("claim", &["--batch", "0"]).ends(2);
    assert_eq!(one.verb("claim", &["--lease", "0s"]).ends(2).code(), "usage.arguments");
}

#[test]
fn an_idempotency_key_is_one_and_another_payload_under_it_is_told() {
    let world = World::new();
    let one = open(&world, "k");
    let send = |key: &str, input: &str| {
        let args = ["durable", "send", "--session", &one.id, "--format", "id", "--idempotency-key", key];
        world.run_with(&args, input)
    };
    // A variable that is not set, and what no terminal should be shown.
    for key in ["", "a\u{1b}b", &"x".repeat(2000)] {
        assert_eq!(send(key, "1").ends(2).code(), "usage.id", "{key:?}");
    }
    let first = send("a", "{\"n\": 1}").ends(0);
    for same in ["{ \"n\":1 }", "{\"n\":1.0}"] {
        assert_eq!(send("a", same).ends(0).stderr, "");
    }
    let other = send("a", "{\"n\":2,\"secret\":true}").ends(0);
    assert_eq!(other.text(), first.text());
    assert!(other.stderr.contains("another payload") && !other.stderr.contains("secret"), "{other:?}");
    // What was accepted is told again, also when nothing is accepted any more.
    one.verb("close", &[]).ends(0);
    assert_eq!(send("a", "{\"n\":1}").ends(0).text(), first.text());
    assert_eq!(send("b", "{\"n\":1}").ends(5).code(), "refused.session_closed");
    let empty = world.run_with(&["durable", "send-many", "--session", &open(&world, "new").id], "\n").ends(0);
    assert!(empty.stderr.contains("no input"), "{empty:?}");
}

#[test]
fn a_signal_is_heard_from_the_subscription_on_and_not_by_one_that_is_closing() {
    let world = World::new();
    let (one, two) = (open(&world, "one"), open(&world, "two"));
    let publish = |occurrence: &str| {
        let args = ["durable", "publish", "--signal", "s", "--occurrence", occurrence, "--format", "id"];
        world.run_with(&args, "{\"a\":1}").ends(0).text().lines().count()
    };
    assert_eq!(publish("o1"), 0);
    one.verb("subscribe", &["--signal", "s"]).ends(0);
    two.verb("subscribe", &["--signal", "s"]).ends(0);
    // What has happened before is no occurrence of theirs.
    assert_eq!(one.stands()[1], json!(null));
    assert_eq!(publish("o2"), 2);
    two.verb("close", &[]).ends(0);
    assert_eq!(two.stands()[0], "closing");
    assert_eq!(publish("o3"), 1);
    // What is subscribed by one that takes nothing more is not kept.
    world.run(&words("journal compact durable")).ends(0);
    let left = String::from_utf8(world.read("cruxctl/durable.jsonl")).unwrap();
    assert_eq!(left.matches("\"op\":\"subscribe\"").count(), 1);
    assert_eq!(publish("o4"), 1);
    // An id of something else is no subscription.
    let input = one.verb("inspect", &["--json"]).ends(0).json()["inputs"][0]["id"].as_str().unwrap().to_owned();
    for id in [&input, &one.id] {
        let answer = world.run(&["durable", "unsubscribe", "--sub", id]).ends(1);
        assert_eq!(answer.code(), "no.session_subscription", "{id}");
    }
}

#[test]
fn a_payload_is_json_in_a_field_of_a_line_as_well() {
    let world = World::new();
    let one = open(&world, "k");
    let payload = "{\"e\":\"\u{1f468}\u{200d}\u{1f469}\",\"q\":\"a\\\"\\\\b\",\"t\":\"\\t\"}";
    let input = one.send(payload);
    let claim = one.verb("claim", &["--format", "plain"]).ends(0).text();
    let field = claim.lines().last().unwrap().split('\t').nth(5).unwrap().to_owned();
    assert!(!field.contains('\u{200d}'), "{field}");
    let value = |text: &str| serde_json::from_str::<Value>(text).unwrap();
    assert_eq!(value(&field), value(payload));
    let work = claim.lines().next().unwrap().split('\t').collect::<Vec<_>>();
    world.run_with(&["durable", "complete", "--work", work[1], "--fence", work[2]], payload).ends(0);
    let plain = world.run(&["durable", "result", "--input", &input, "--format", "plain"]).ends(0).text();
    assert_eq!(value(&plain), value(payload));
    assert_eq!(one.result(&input).ends(0).text(), format!("{payload}\n"));
}

#[test]
fn a_result_that_was_prepared_before_a_crash_is_committed_and_not_made_again() {
    let mut world = World::new();
    let id = open(&world, "k").id;
    let input = One { world: &world, id: id.clone() }.send("1");
    let claim = {
        let one = One { world: &world, id: id.clone() };
        let claim = one.claim();
        one.step("checkpoint", &claim, &[], "{\"made\":\"once\"}").ends(0);
        assert_eq!(one.step("checkpoint", &claim, &[], "2").ends(5).code(), "refused.exists");
        assert_eq!(one.result(&input).ends(1).code(), "no.session_result_pending");
        claim
    };
    // Its worker is gone, and its lease as well.
    world.at("2026-07-01T12:05:00Z");
    let one = One { world: &world, id };
    assert_eq!(one.step("complete", &claim, &["--prepared"], "").ends(5).code(), "refused.session_fenced");
    let worked = world.run(&words("durable work -- touch ran")).ends(0);
    assert!(!world.beside("ran").exists(), "{worked:?}");
    assert_eq!(one.result(&input).ends(0).text(), "{\"made\":\"once\"}\n");
    assert_eq!(one.stands()[0], "parked");
}

#[test]
fn a_worker_whose_lease_has_ended_can_commit_no_more() {
    let mut world = World::new();
    let id = open(&world, "k").id;
    let first = {
        let one = One { world: &world, id: id.clone() };
        one.send("1");
        one.claim()
    };
    world.at("2026-07-01T12:04:59Z");
    One { world: &world, id: id.clone() }.step("renew", &first, &["--lease", "2m"], "").ends(0);
    world.at("2026-07-01T12:06:58Z");
    assert_eq!(One { world: &world, id: id.clone() }.verb("claim", &[]).ends(1).code(), "no.session_work");
    world.at("2026-07-01T12:06:59Z");
    let one = One { world: &world, id };
    assert_eq!(one.step("complete", &first, &[], "1").ends(5).code(), "refused.session_fenced");
    let second = one.claim();
    assert_eq!((&second.work, second.inputs.len()), (&first.work, 1));
    assert_ne!(second.fence, first.fence);
    assert_eq!(one.step("complete", &first, &[], "1").ends(5).code(), "refused.session_fenced");
    one.step("release", &second, &[], "").ends(0);
    assert_eq!(one.step("complete", &second, &[], "1").ends(5).code(), "refused.session_fenced");
    let third = one.claim();
    one.step("complete", &third, &[], "1").ends(0);
    assert_eq!(one.verb("stats", &["--json"]).ends(0).json()["ingress"]["resumed"], 2);
}

#[test]
fn nobody_who_looks_in_sees_a_payload() {
    let world = World::new().damaged();
    let one = open(&world, "k");
    let secret = "hunter2";
    one.send(&format!("{{\"{secret}\":\"{secret}\"}}"));
    let refused = [
        format!("{{\"{secret}\":"),
        format!("[\"{secret}\",1e999]"),
        format!("{}\"{secret}\"{}", "[".repeat(65), "]".repeat(65)),
    ];
    let mut seen = String::new();
    let mut look = |answer: Answer| {
        seen.push_str(&answer.stderr);
        seen.push_str(&answer.text());
    };
    for refused in &refused {
        look(world.run_with(&["durable", "send", "--session", &one.id], refused));
        look(world.run_with(&["durable", "send-many", "--session", &one.id, "--json"], refused));
    }
    one.verb("subscribe", &["--signal", "s"]).ends(0);
    look(world.run_with(&words("durable publish --signal s --occurrence o"), format!("\"{secret}\"")));
    let claim = one.claim();
    look(one.step("checkpoint", &claim, &[], &format!("[\"{secret}\"]")));
    look(one.step("complete", &claim, &[], &format!("\"{secret}\" 2")));
    look(one.step("complete", &claim, &["--prepared"], ""));
    one.send(&format!("\"{secret}\""));
    let told = work(&world, "--max-attempts 1", &format!("cat >/dev/null; echo {secret}; exit 0"));
    look(told);
    one.send(&format!("\"{secret}\""));
    look(work(&world, "", "cat"));
    for line in ["status", "inspect", "stats", "stream", "get", "forks"] {
        for format in ["table", "plain", "json", "jsonl", "id"] {
            look(one.verb(line, &["--format", format]));
        }
    }
    for line in [
        "durable list",
        "durable subscriptions",
        "journal check durable --full",
        "journal log durable",
        "journal stat durable",
        "journal map durable",
        "journal compact durable --dry-run",
        "doctor",
    ] {
        for format in ["table", "plain", "json"] {
            look(world.run(&[&words(line)[..], &["--format", format]].concat()));
        }
    }
    world.run(&words("journal report --html page.html")).ends(0);
    seen.push_str(&fs::read_to_string(world.beside("page.html")).unwrap());
    // A journal that is damaged in the middle of a payload.
    let whole = world.read("cruxctl/durable.jsonl");
    let at = whole.windows(secret.len()).position(|bytes| bytes == secret.as_bytes()).unwrap();
    let mut torn = whole.clone();
    torn[at - 2] = 0;
    for bytes in [&torn[..], &whole[..whole.len() - 9]] {
        world.write("cruxctl/durable.jsonl", bytes);
        for line in [
            "journal check durable",
            "journal check durable --json",
            "journal repair durable",
            "journal repair durable --json",
            "durable list",
            "doctor",
        ] {
            let answer = world.run(&words(line));
            seen.push_str(&answer.stderr);
            seen.push_str(&answer.text());
        }
        let refused = world.run_with(&["durable", "send", "--session", &one.id], "1");
        assert!([0, 5].contains(&refused.status), "{refused:?}");
        seen.push_str(&refused.stderr);
    }
    assert!(seen.len() > 10_000);
    let line = seen.lines().find(|line| line.contains(secret));
    assert_eq!(line, None);
}
