//! `durable work`: any program works off inputs, once, in order, whatever becomes of it and of its worker.

use std::collections::HashSet;
use std::fs::{self, File};
use std::process::{Child, Command};
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use cruxctl::store::durable::identity;
use serde_json::{Value, json};

use crate::durable::{One, open};
use crate::support::{Answer, World, words};

/// A verb at the real time: leases and delays end.
pub fn at_last(world: &World, args: &[&str]) -> Command {
    let mut command = world.command(args);
    command.env_remove("CRUXCTL_NOW");
    command
}

/// Runs a worker.
pub fn work(world: &World, options: &str, script: &str) -> Answer {
    let args = [&words("durable work")[..], &words(options), &["--", "sh", "-c", script]].concat();
    Answer::from(at_last(world, &args).output().unwrap())
}

pub fn outcomes(answer: &Answer) -> Vec<String> {
    let cells = |line: &str| line.split('\t').nth(4).unwrap_or_default().to_owned();
    answer.text().lines().map(cells).collect()
}

#[test]
fn any_program_is_a_worker() {
    let world = World::new();
    let one = open(&world, "order \u{e9}");
    let inputs: Vec<String> = ["{\"n\": 1}", "[ 2 ]", "\"three\""].map(|input| one.send(input)).into();
    let script = "cat > seen; env | grep ^CRUXCTL_WORK_ | sort > env; echo ' {\"done\" : [1, 2]} '";
    let worked = work(&world, "", script).ends(0);
    assert_eq!(outcomes(&worked), ["completed"]);
    assert_eq!(fs::read_to_string(world.beside("seen")).unwrap(), "{\"n\":1}\n[2]\n\"three\"\n");
    for input in &inputs {
        assert_eq!(one.result(input).ends(0).text(), "{\"done\":[1,2]}\n");
    }
    let env = fs::read_to_string(world.beside("env")).unwrap();
    let (work_id, effect) = identity::work("default", &one.id, &inputs[0]);
    let wanted = [
        "CRUXCTL_WORK_ATTEMPT=1".to_owned(),
        "CRUXCTL_WORK_CLAIMS=1".to_owned(),
        format!("CRUXCTL_WORK_EFFECT={effect}"),
        "CRUXCTL_WORK_FIRST=1".to_owned(),
        format!("CRUXCTL_WORK_ID={work_id}"),
        "CRUXCTL_WORK_KEY=order \u{e9}".to_owned(),
        "CRUXCTL_WORK_LAST=3".to_owned(),
        "CRUXCTL_WORK_NAMESPACE=default".to_owned(),
        format!("CRUXCTL_WORK_SESSION={}", one.id),
        "CRUXCTL_WORK_TARGET=support".to_owned(),
        format!("CRUXCTL_WORK_THREAD={}", one.id.replace("session", "thread")),
    ];
    assert_eq!(env.lines().collect::<Vec<_>>(), wanted);
    // Nothing waits any more.
    assert_eq!(work(&world, "", "touch again").ends(0).text(), "");
    assert_eq!(work(&world, "--once", "touch again").ends(1).code(), "no.session_work");
    assert!(!world.beside("again").exists());
    // Nobody who worked has left anything behind.
    assert_eq!(fs::read_dir(world.dir().join("cruxctl/workers")).unwrap().count(), 0);
}

#[test]
fn a_command_that_fails_is_tried_again_with_the_same_inputs_and_then_has_failed() {
    let world = World::new();
    let one = open(&world, "k");
    let first = one.send("1");
    let script = format!(
        "cat >> seen; echo {{}} | \"{}\" durable send --session {} >/dev/null; exit 3",
        assert_cmd::cargo::cargo_bin!("cruxctl").display(),
        one.id
    );
    let worked = work(&world, "--retry-delay 1ms --max-attempts 3 --target support --once", &script).ends(0);
    assert_eq!(outcomes(&worked), ["retried"]);
    let worked = work(&world, "--retry-delay 1ms --max-attempts 3", "cat >> seen; exit 3").ends(5);
    assert_eq!(worked.code(), "refused.session_work_failed");
    // What was sent meanwhile has work of its own.
    assert_eq!(outcomes(&worked), ["retried", "failed", "retried", "retried", "failed"]);
    assert_eq!(fs::read_to_string(world.beside("seen")).unwrap(), "1\n1\n1\n{}\n{}\n{}\n");
    let failed = one.result(&first).ends(5);
    assert!(failed.code() == "refused.session_result_failed" && failed.stderr.contains("ended with 3"), "{failed:?}");
    assert_eq!(one.stands(), json!(["parked", "2", "2", 0, 0]));
}

#[test]
fn an_output_that_is_no_json_a_signal_and_a_timeout_are_failures() {
    let world = World::new();
    let one = open(&world, "k");
    for (options, script, why) in [
        ("", "true", "not one JSON value"),
        ("", "echo 1 2", "not one JSON value"),
        ("", "echo {", "not one JSON value"),
        ("", "kill -9 $$", "signal 9"),
        ("--timeout 50ms", "sleep 600 & sleep 600", "longer than 50ms"),
    ] {
        let input = one.send("1");
        let worked = work(&world, &format!("--max-attempts 1 {options}"), script).ends(5);
        assert_eq!(outcomes(&worked), ["failed"], "{script}");
        let failed = one.result(&input).ends(5);
        assert!(failed.stderr.contains(why), "{script}: {failed:?}");
    }
    // A command that does not read its inputs may still answer.
    let input = one.send(&format!("\"{}\"", "x".repeat((1 << 20) - 2)));
    assert_eq!(outcomes(&work(&world, "", "echo 7").ends(0)), ["completed"]);
    assert_eq!(one.result(&input).ends(0).text(), "7\n");
    // A command that cannot be run is nobody's fault: the inputs wait for another worker.
    let input = one.send("1");
    let args = words("durable work --max-attempts 1 -- nothing-of-this-name");
    let missing = Answer::from(at_last(&world, &args).output().unwrap()).ends(7);
    assert!(missing.stderr.contains("nothing-of-this-name"), "{missing:?}");
    assert_eq!(one.result(&input).ends(1).code(), "no.session_result_pending");
    assert_eq!(outcomes(&work(&world, "", "echo 8").ends(0)), ["completed"]);
}

#[test]
fn a_command_can_block_its_session() {
    let world = World::new();
    let (one, two) = (open(&world, "one"), open(&world, "two"));
    let (input, other) = (one.send("\"one\""), two.send("\"two\""));
    let worked = work(&world, "", "if grep -q one; then exit 78; fi; echo 2").ends(5);
    assert!(worked.stderr.contains("1 work blocked"), "{worked:?}");
    assert_eq!(outcomes(&worked), ["blocked", "completed"]);
    assert_eq!(one.result(&input).ends(5).code(), "refused.session_result_blocked");
    assert_eq!(two.result(&other).ends(0).text(), "2\n");
    let listed = world.run(&words("durable list --status blocked --format id")).ends(0).text();
    assert_eq!(listed.trim(), one.id);
    one.verb("unblock", &[]).ends(0);
    assert_eq!(outcomes(&work(&world, "", "echo 1").ends(0)), ["completed"]);
    assert_eq!(one.result(&input).ends(0).text(), "1\n");
}

/// Waits until something is so.
pub fn until(so: impl Fn() -> bool) {
    for _ in 0..2_000 {
        if so() {
            return;
        }
        thread::sleep(Duration::from_millis(5));
    }
    panic!("it was waited for too long");
}

/// A worker whose command has begun.
fn begun(world: &World, options: &str, script: &str) -> Child {
    let script = format!("touch begun; {script}");
    let args = [&words("durable work")[..], &words(options), &["--", "sh", "-c", &script]].concat();
    let child = at_last(world, &args).spawn().unwrap();
    until(|| world.beside("begun").exists());
    fs::remove_file(world.beside("begun")).unwrap();
    child
}

fn signal(child: &Child, signal: &str) {
    let done = Command::new("kill").args(["-s", signal, &child.id().to_string()]).status().unwrap();
    assert!(done.success());
}

#[test]
fn where_a_worker_and_its_command_are_gone_the_next_one_goes_on_at_once() {
    let world = World::new();
    let one = open(&world, "k");
    let input = one.send("1");
    let mut worker = begun(&world, "--lease 10h", "echo $$ > pid; exec sleep 600");
    until(|| fs::read_to_string(world.beside("pid")).is_ok_and(|pid| pid.ends_with('\n')));
    // Somebody has it: nobody else gets it.
    assert_eq!(work(&world, "", "touch twice; echo 2").ends(0).text(), "");
    signal(&worker, "KILL");
    worker.wait().unwrap();
    // The command has survived its worker: it still works.
    assert_eq!(work(&world, "", "touch twice; echo 2").ends(0).text(), "");
    assert!(!world.beside("twice").exists());
    let pid = fs::read_to_string(world.beside("pid")).unwrap();
    Command::new("kill").args(["-9", pid.trim()]).status().unwrap();
    until(|| outcomes(&work(&world, "", "echo 3").ends(0)) == ["completed"]);
    assert_eq!(one.result(&input).ends(0).text(), "3\n");
    assert_eq!(one.verb("stats", &["--json"]).ends(0).json()["ingress"]["resumed"], 1);
}

#[test]
fn a_worker_that_is_told_to_end_gives_its_work_back() {
    let world = World::new();
    let one = open(&world, "k");
    let input = one.send("1");
    for name in ["TERM", "INT"] {
        let worker = begun(&world, "--follow", "sleep 600");
        signal(&worker, name);
        let ended = Answer::from(worker.wait_with_output().unwrap()).ends(0);
        assert_eq!(outcomes(&ended), ["released"], "{name}");
    }
    // One that ends in time has done its work.
    let script = "trap 'echo 5; exit 0' TERM; touch ready; while true; do sleep 0.01; done";
    let worker = begun(&world, "--follow", script);
    until(|| world.beside("ready").exists());
    signal(&worker, "TERM");
    assert_eq!(outcomes(&Answer::from(worker.wait_with_output().unwrap()).ends(0)), ["completed"]);
    assert_eq!(one.result(&input).ends(0).text(), "5\n");
}

#[test]
fn the_command_of_a_session_that_is_killed_is_ended() {
    let world = World::new();
    let one = open(&world, "k");
    one.send("1");
    let worker = begun(&world, "", "sleep 600");
    one.verb("kill", &[]).ends(0);
    let ended = Answer::from(worker.wait_with_output().unwrap()).ends(0);
    assert_eq!(outcomes(&ended), ["lost"]);
}

#[test]
fn a_claim_is_renewed_as_long_as_its_command_runs() {
    let world = World::new();
    let one = open(&world, "k");
    let input = one.send("1");
    let worked = work(&world, "--lease 1s", "sleep 3; echo 1").ends(0);
    assert_eq!(outcomes(&worked), ["completed"]);
    assert_eq!(one.result(&input).ends(0).text(), "1\n");
    let renewed = String::from_utf8(world.read("cruxctl/durable.jsonl")).unwrap().matches("\"op\":\"renew\"").count();
    assert!(renewed >= 3, "{renewed}");
}

#[test]
fn a_result_is_waited_for() {
    let world = World::new();
    let one = open(&world, "k");
    let input = one.send("1");
    let wait = |time: &str| {
        let args = ["durable", "result", "--input", &input, "--wait", time];
        Answer::from(at_last(&world, &args).output().unwrap())
    };
    assert_eq!(wait("50ms").ends(1).code(), "no.session_result_pending");
    thread::scope(|scope| {
        let waiting = scope.spawn(|| wait("60s"));
        thread::sleep(Duration::from_millis(50));
        let claim = one.claim();
        one.step("block", &claim, &[], "").ends(0);
        one.verb("unblock", &[]).ends(0);
        let claim = one.claim();
        one.step("complete", &claim, &[], "{\"at\":\"last\"}").ends(0);
        assert_eq!(waiting.join().unwrap().ends(0).text(), "{\"at\":\"last\"}\n");
    });
}

#[test]
fn the_input_that_has_waited_longest_is_worked_off_first_whatever_happens_meanwhile() {
    let world = World::new();
    let keys = ["k0", "k1", "k2", "k3"].map(|key| open(&world, key));
    for (key, input) in [(2, "1"), (0, "2"), (1, "3"), (0, "4"), (3, "5")] {
        keys[key].send(input);
    }
    let tool = format!("\"{}\" durable", assert_cmd::cargo::cargo_bin!("cruxctl").display());
    let journal = tool.replace(" durable", " journal");
    // While the first one is worked off, it is sent another; one is killed; and the journal is compacted.
    let script = format!(
        "cat | tee -a seen; [ $CRUXCTL_WORK_KEY = k2 ] && [ $CRUXCTL_WORK_FIRST = 1 ] || exit 0
         {{ echo 6 | {tool} send --session {} --format id && {tool} kill --session {} &&
         {journal} compact durable && echo 7 | {tool} send --session {} --format id; }} >/dev/null",
        keys[2].id, keys[1].id, keys[0].id
    );
    // The fourth has failed once, and waits until it is the last.
    let script = script.replace(
        "cat | tee -a seen",
        "[ $CRUXCTL_WORK_KEY$CRUXCTL_WORK_ATTEMPT = k31 ] && exit 3; cat | tee -a seen | tail -n 1",
    );
    work(&world, &format!("--session {} --once --retry-delay 1h", keys[3].id), "exit 1").ends(0);
    keys[3].verb("unblock", &[]).ends(0);
    let worked = work(&world, "--target support", &script).ends(0);
    assert_eq!(outcomes(&worked), ["completed"; 4]);
    assert_eq!(fs::read_to_string(world.beside("seen")).unwrap(), "1\n2\n4\n7\n5\n6\n");
    let one = |option: &str| outcomes(&work(&world, option, "cat").ends(0)).len();
    keys[0].send("8");
    keys[3].send("9");
    assert_eq!(one("--target nobody"), 0);
    assert_eq!(one(&format!("--session {}", keys[3].id)), 1);
    assert_eq!(one("--once"), 1);
    assert_eq!(keys.each_ref().map(|key| key.stands()[0].clone()), ["parked", "closed", "parked", "parked"]);
}

#[test]
fn a_worker_that_follows_gets_what_is_sent_later() {
    let world = World::new();
    let one = open(&world, "k");
    let args = [
        &words("durable work --follow")[..],
        &["--", "sh", "-c", "jq -sc . 2>/dev/null || tr '\\n' ' ' | sed 's/.*/\"&\"/'"],
    ]
    .concat();
    let mut worker = at_last(&world, &args).spawn().unwrap();
    for n in 0..3 {
        let input = one.send(&n.to_string());
        let args = ["durable", "result", "--input", &input, "--wait", "60s"];
        Answer::from(at_last(&world, &args).output().unwrap()).ends(0);
    }
    signal(&worker, "TERM");
    assert!(worker.wait().unwrap().success());
}

#[test]
fn a_thousand_inputs_of_fifty_keys_are_joined_once_and_in_order_however_workers_die() {
    let world = World::new();
    let keys: Vec<One<'_>> = (0..50).map(|n| open(&world, &format!("key{n}"))).collect();
    let sent: Mutex<Vec<(usize, String)>> = Mutex::default();
    let done = AtomicBool::new(false);
    // The result of work is what it was given; which attempt it was lies beside.
    let script =
        "read first; rest=$(cat); sleep 0.0$(( $$ % 3 )); echo \"[$first$(for n in $rest; do printf ,%s $n; done)]\"";
    thread::scope(|scope| {
        for worker in 0..8u64 {
            let (world, done) = (&world, &done);
            scope.spawn(move || {
                let mut seed = worker * 7919 + 1;
                while !done.load(Ordering::Relaxed) {
                    let args = [
                        &words("durable work --follow --max-attempts 1000 --retry-delay 1ms")[..],
                        &["--", "sh", "-c", script],
                    ]
                    .concat();
                    let mut child = at_last(world, &args).spawn().unwrap();
                    seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
                    let life = Duration::from_millis(20 + (seed >> 33) % 400);
                    let begun = Instant::now();
                    while begun.elapsed() < life && !done.load(Ordering::Relaxed) {
                        thread::sleep(Duration::from_millis(5));
                    }
                    if seed % 3 == 0 {
                        signal(&child, "TERM")
                    } else {
                        child.kill().unwrap()
                    }
                    child.wait().unwrap();
                }
            });
        }
        for sender in 0..4 {
            let (world, keys, sent) = (&world, &keys, &sent);
            scope.spawn(move || {
                for n in 0..250usize {
                    let number = sender * 250 + n;
                    let one = &keys[number % 50];
                    let args = [
                        "durable",
                        "send",
                        "--session",
                        &one.id,
                        "--format",
                        "id",
                        "--idempotency-key",
                        &number.to_string(),
                    ];
                    let input = world.run_with(&args, number.to_string()).ends(0).text().trim().to_owned();
                    sent.lock().unwrap().push((number, input));
                }
            });
        }
        let begun = Instant::now();
        let parked = || {
            let all = sent.lock().unwrap().len() == 1_000;
            all && world.run(&words("durable list --status parked --format id")).ends(0).text().lines().count() == 50
        };
        while !parked() {
            assert!(begun.elapsed() < Duration::from_secs(400), "it does not end");
            thread::sleep(Duration::from_millis(200));
        }
        done.store(true, Ordering::Relaxed);
    });
    let sent = sent.into_inner().unwrap();
    // Cursors: every number once for each key.
    for (number, one) in keys.iter().enumerate() {
        let mut cursors: Vec<u64> = sent
            .iter()
            .filter(|(sent, _)| sent % 50 == number)
            .map(|(_, input)| identity::input_parts(input).unwrap().1)
            .collect();
        cursors.sort_unstable();
        assert_eq!(cursors, (1..=20).collect::<Vec<_>>());
        assert_eq!(one.stands(), json!(["parked", "20", "20", 0, 0]));
        // The results of a key, in its order, are what was sent to it, each once.
        let mut joined: Vec<u64> = Vec::new();
        let mut cursor = 1;
        while cursor <= 20 {
            let result = one.result(&identity::input(&one.id, cursor)).ends(0).json();
            let batch: Vec<u64> = result.as_array().unwrap().iter().map(|n| n.as_u64().unwrap()).collect();
            cursor += batch.len() as u64;
            joined.extend(batch);
        }
        let mut wanted: Vec<(u64, u64)> = sent
            .iter()
            .filter(|(sent, _)| sent % 50 == number)
            .map(|(sent, input)| (identity::input_parts(input).unwrap().1, *sent as u64))
            .collect();
        wanted.sort_unstable();
        assert_eq!(joined, wanted.into_iter().map(|(_, sent)| sent).collect::<Vec<_>>(), "key {number}");
    }
    // Work that a worker had when it died, and that another one took over: it was given back by nobody.
    let (mut running, mut taken_over) = (HashSet::new(), 0);
    for line in String::from_utf8(world.read("cruxctl/durable.jsonl")).unwrap().lines() {
        let Ok(line) = serde_json::from_str::<Value>(line) else { continue };
        let session = &line["session"];
        let id = session["session_id"].as_str().unwrap().to_owned();
        let was_running = running.remove(&id);
        taken_over += u32::from(was_running && line["op"] == "claim");
        if session["work"]["progress"] == "running" {
            running.insert(id);
        }
    }
    assert!(taken_over > 0, "nobody has died at work");
    world.run(&words("journal repair durable --apply --quiet")).ends(0);
    world.run(&words("journal check durable --full")).ends(0);
}

#[test]
fn what_a_command_has_started_ends_with_it_and_nobody_waits_for_it_for_ever() {
    let world = World::new();
    let one = open(&world, "k");
    // It has its own output, and does not end by itself.
    for script in ["sleep 600 >/dev/null & echo $! > left; echo 1", "sleep 600 >/dev/null & echo $! > left; exit 3"] {
        let input = one.send("1");
        let worked = work(&world, "--max-attempts 1", script);
        let left = fs::read_to_string(world.beside("left")).unwrap();
        until(|| !fs::exists(format!("/proc/{}", left.trim())).unwrap());
        assert_eq!((worked.status, one.result(&input).status), if script.ends_with('3') { (5, 5) } else { (0, 0) });
    }
    // What holds the output is waited for a while, and no longer; also where it has left the group, and is not ended.
    let (input, begun) = (one.send("1"), Instant::now());
    fs::write(world.beside("left"), "").unwrap();
    let script = "sleep 600 & setsid sh -c 'echo $$ > left; exec sleep 600' 2>/dev/null &
        while ! [ -s left ]; do sleep 0.01; done; echo 3";
    assert_eq!(outcomes(&work(&world, "", script).ends(0)), ["completed"]);
    assert!(begun.elapsed() < Duration::from_secs(60));
    assert_eq!(one.result(&input).ends(0).text(), "3\n");
    let left = fs::read_to_string(world.beside("left")).unwrap();
    assert!(Command::new("kill").arg(left.trim()).status().unwrap().success());
    // And one that writes without end is stopped at what a result may have.
    one.send("1");
    let endless = work(&world, "--max-attempts 1", "yes").ends(5);
    assert!(endless.text().contains("more than"), "{endless:?}");
}

#[test]
fn a_worker_ends_with_its_terminal_but_not_where_that_was_asked_for() {
    let world = World::new();
    let one = open(&world, "k");
    let input = one.send("1");
    let worker = begun(&world, "", "sleep 600");
    signal(&worker, "HUP");
    // Who would go on behind it is told that it was not done.
    let ended = worker.wait_with_output().unwrap();
    assert_eq!(std::os::unix::process::ExitStatusExt::signal(&ended.status), Some(1));
    assert!(String::from_utf8(ended.stdout).unwrap().contains("\treleased\t"));
    assert_eq!(fs::read_dir(world.dir().join("cruxctl/workers")).unwrap().count(), 0);
    let script = "touch begun; sleep 1; echo 1";
    let mut command = Command::new("nohup");
    command.arg(assert_cmd::cargo::cargo_bin!("cruxctl")).args(words("durable work -- sh -c")).arg(script);
    let like = at_last(&world, &[]);
    command.current_dir(like.get_current_dir().unwrap());
    command.envs(like.get_envs().filter_map(|(name, value)| Some((name, value?)))).env_remove("CRUXCTL_NOW");
    let worker = command.stdout(std::process::Stdio::piped()).spawn().unwrap();
    until(|| world.beside("begun").exists());
    signal(&worker, "HUP");
    assert!(worker.wait_with_output().unwrap().status.success());
    assert_eq!(one.result(&input).ends(0).text(), "1\n");
}

#[test]
fn a_lock_that_is_held_for_long_costs_no_result() {
    let world = World::new();
    let one = open(&world, "k");
    let input = one.send("1");
    let worker = begun(&world, "--lock-timeout 100ms --lease 3s", "sleep 2; echo 7");
    let lock = File::options().write(true).open(world.dir().join("cruxctl/lock")).unwrap();
    lock.lock().unwrap();
    // Longer than the command runs, and than half of its lease.
    thread::sleep(Duration::from_millis(2500));
    drop(lock);
    let ended = Answer::from(worker.wait_with_output().unwrap()).ends(0);
    assert_eq!(outcomes(&ended), ["completed"], "{ended:?}");
    assert_eq!(one.result(&input).ends(0).text(), "7\n");
}

#[test]
fn a_worker_waits_for_what_it_has_put_off_itself_and_for_nothing_else() {
    let world = World::new();
    let (one, two) = (open(&world, "one"), open(&world, "two"));
    one.send("1");
    two.send("2");
    work(&world, &format!("--session {} --once --retry-delay 10h", one.id), "exit 3").ends(0);
    let begun = Instant::now();
    assert_eq!(outcomes(&work(&world, "--target other", "cat").ends(0)), [] as [&str; 0]);
    let script = "[ $CRUXCTL_WORK_ATTEMPT = 2 ] && exec cat; exit 3";
    assert_eq!(outcomes(&work(&world, "--retry-delay 300ms", script).ends(0)), ["retried", "completed"]);
    assert!(begun.elapsed() < Duration::from_secs(600));
}

#[test]
fn what_a_worker_is_told_is_looked_at_before_anything_is_claimed() {
    let world = World::new();
    let one = open(&world, "k");
    one.send("1");
    work(&world, "--batch 0", "touch ran").ends(2);
    for options in ["--lease 0s", "--lease 999ms", "--timeout 0s", "--lease 9999999years"] {
        assert_eq!(work(&world, options, "touch ran").ends(2).code(), "usage.arguments", "{options}");
    }
    let missing = work(&world, "--session session_ab", "touch ran").ends(1);
    assert_eq!(missing.code(), "no.session_not_found");
    assert!(!world.beside("ran").exists());
    assert_eq!(one.verb("inspect", &["--json"]).ends(0).json()["work_state"], json!(null));
    // Nothing is made where there is nothing.
    let other = world.beside("other");
    let args = ["durable", "work", "--data-dir", other.to_str().unwrap(), "--", "cat"];
    let nothing = Answer::from(at_last(&world, &args).output().unwrap()).ends(0);
    assert!(nothing.stderr.contains("no data directory") && !other.exists(), "{nothing:?}");
}

#[test]
fn what_a_command_sends_goes_to_the_same_directory() {
    let world = World::new();
    let one = open(&world, "k");
    one.send("1");
    let script = format!(
        "echo 2 | \"{}\" durable send --session $CRUXCTL_WORK_SESSION --format id > sent; cat",
        assert_cmd::cargo::cargo_bin!("cruxctl").display()
    );
    let relative = world.dir().strip_prefix(world.beside("")).unwrap().to_owned();
    let args =
        ["durable", "work", "--batch", "1", "--data-dir", relative.to_str().unwrap(), "--once", "--", "sh", "-c"];
    let args = [&args[..], &[&script]].concat();
    let mut command = at_last(&world, &args);
    let worked = Answer::from(command.env_remove("CRUXCTL_DATA_DIR").output().unwrap()).ends(0);
    assert_eq!(outcomes(&worked), ["completed"]);
    assert_eq!(one.stands(), json!(["running", "2", "1", 1, 1]));
}
