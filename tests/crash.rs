//! Crashes: whatever moment a process is killed at, whatever system call fails, a journal is in its old state or in
//! its new one, what was acknowledged is there, and the next run needs no help.

use std::fs;
use std::os::unix::process::ExitStatusExt;
use std::process::Child;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;
use std::time::Duration;

use serde_json::Value;

use crate::support::{Answer, Mount, World, session_line, strace_is_waived};

const JOURNAL: &str = "sessions.jsonl";

// ---------------------------------------------------------------------------------------------------------------------
// Cut anywhere

/// Twelve short records whose states hold what a cut can be mistaken for: brackets and records inside strings,
/// numbers that go on, characters of several bytes.
fn twelve() -> Vec<(String, String)> {
    let states = [
        "1",
        "12345",
        "-1.5e3",
        "[]",
        "{}",
        "\"}}\"",
        "\"é日🚀\"",
        "\"\\\"}\\\\\"",
        "{\"a\":[1,{\"b\":null}]}",
        "\"{\\\"op\\\":\\\"delete\\\",\\\"session_id\\\":\\\"a\\\"}\"",
        "{\"op\":\"delete\",\"session_id\":\"b\"}",
        "[\"delete\",\"c\"]",
    ];
    // Most in the array form, which the daemon takes as well, because it is short.
    let line = |(n, (id, state)): (usize, (char, &&str))| {
        let line = if n % 3 == 1 {
            format!(
                "{{\"op\":\"store\",\"session\":{{\"session_id\":\"{id}\",\"state\":{state},\
                 \"updated_at\":\"2026-01-01T00:00:00Z\",\"total_tokens\":1}}}}"
            )
        } else {
            format!("[\"store\",[\"{id}\",{state},\"2026-01-01T00:00:00Z\",1]]")
        };
        (id.to_string(), line)
    };
    ('a'..='l').zip(&states).enumerate().map(line).collect()
}

fn cut_at(world: &World, records: &[(String, String)], whole: &[u8], cut: usize) {
    let before = &whole[..cut];
    world.write(JOURNAL, before);
    world.forget();
    let (mut ids, mut end, mut torn) = (Vec::new(), 0, false);
    for (id, line) in records {
        let start = end;
        end += line.len() + 1;
        // A record that lacks nothing but its line end is whole.
        if cut + 1 >= end {
            ids.push(id.clone());
        } else {
            torn |= cut > start;
        }
    }
    let (status, report) = world.check(&["sessions"]);
    let findings = report["findings"].as_array().unwrap();
    assert!(findings.len() <= 1, "cut at {cut}: {findings:?}");
    assert_eq!(status, if torn { 3 } else { 0 }, "cut at {cut}: {report}");
    assert_eq!(report["journals"][0]["live"], ids.len(), "cut at {cut}: {report}");

    let answer = world.run_with(&["session", "put", "z"], "{\"after\":true}");
    assert_eq!(answer.status, 0, "cut at {cut}: {answer:?}");
    ids.push("z".to_owned());
    assert_eq!(world.session_ids(), ids, "cut at {cut}");
    // Nothing of what was there is touched, and an open line is ended before the new one begins.
    let now = world.read(JOURNAL);
    let added = now.strip_prefix(before).unwrap_or_else(|| panic!("cut at {cut}: what was there was touched"));
    let open = before.last().is_some_and(|last| *last != b'\n');
    let line_ends = added.iter().filter(|byte| **byte == b'\n').count();
    assert_eq!((added.starts_with(b"\n"), line_ends), (open, 1 + usize::from(open)), "cut at {cut}");
}

#[test]
fn cut_at_any_byte_every_whole_record_is_listed_and_the_next_append_keeps_them_all() {
    let records = twelve();
    let whole: Vec<u8> = records.iter().flat_map(|(_, line)| format!("{line}\n").into_bytes()).collect();
    let next = AtomicUsize::new(0);
    thread::scope(|scope| {
        for _ in 0..12 {
            scope.spawn(|| {
                let world = World::with(JOURNAL, "").damaged();
                loop {
                    let cut = next.fetch_add(1, Ordering::Relaxed);
                    if cut > whole.len() {
                        break;
                    }
                    cut_at(&world, &records, &whole, cut);
                }
            });
        }
    });
}

// ---------------------------------------------------------------------------------------------------------------------
// Killed at any moment

/// Kills a process after a while and says whether it had ended by itself; then with what answer.
fn kill_after(moment: Duration, children: Vec<Child>) -> Vec<Option<Answer>> {
    let mut children = children;
    // Not to wait for anything: the moment is what is tried out.
    thread::sleep(moment);
    for child in &mut children {
        let _ = child.kill();
    }
    let ended = |child: Child| {
        let output = child.wait_with_output().unwrap();
        (output.status.signal() != Some(9)).then(|| Answer::from(output))
    };
    children.into_iter().map(ended).collect()
}

#[test]
fn what_killed_writers_had_acknowledged_is_there_and_the_next_writer_needs_no_help() {
    let large = format!("\"{}\"", "x".repeat(300_000));
    let (mut killed, mut acknowledged) = (0, 0);
    for batch in 0..3u64 {
        let world = World::new().damaged();
        fs::write(world.beside("0"), "{\"small\":true}").unwrap();
        fs::write(world.beside("1"), &large).unwrap();
        let mut kept = Vec::new();
        for round in 0..20u64 {
            let ids: Vec<String> = (0..4).map(|writer| format!("r{round}w{writer}")).collect();
            let start = |(writer, id): (usize, &String)| {
                let file = if writer == 3 { "1" } else { "0" };
                world.command(&["session", "put", id, "--file", file]).spawn().unwrap()
            };
            let children = ids.iter().enumerate().map(start).collect();
            let moment = Duration::from_micros((batch * 20 + round) * 400);
            for (id, ended) in ids.into_iter().zip(kill_after(moment, children)) {
                match ended {
                    Some(answer) => kept.push((answer.ends(0), id).1),
                    None => killed += 1,
                }
            }
            let id = format!("after{round}");
            world.put(&id, "{\"small\":true}");
            kept.push(id);
        }
        acknowledged += kept.len() - 20;
        let exported = world.run(&["journal", "export", "sessions", "--damaged-ok", "--quiet"]).ends(0);
        let found: Vec<(String, usize)> = exported
            .lines()
            .iter()
            .map(|line| serde_json::from_str(line).unwrap())
            .map(|doc: Value| (doc["session_id"].as_str().unwrap().to_owned(), doc["state"].to_string().len()))
            .collect();
        for id in kept {
            let len = if id.ends_with("w3") { large.len() } else { "{\"small\":true}".len() };
            assert!(found.contains(&(id.clone(), len)), "{id} was acknowledged and is lost");
        }
    }
    assert!(killed > 0, "no writer was killed in time: the test has shown nothing");
    assert!(acknowledged > 0, "every writer was killed too early: the test has shown nothing");
}

/// A verb that puts a new file in a journal's place, and what it makes of one journal.
struct Replacing {
    args: &'static [&'static str],
    old: Vec<u8>,
    new: Vec<u8>,
    ids: Vec<String>,
}

const REPAIR: &[&str] = &["journal", "repair", "sessions", "--apply"];
const COMPACT: &[&str] = &["journal", "compact", "sessions"];

impl Replacing {
    /// The damage lies in front of good records: a torn tail would be waited for, in case somebody is writing it.
    fn repair(records: usize, state: &str) -> Replacing {
        let mut old = String::new();
        for n in 0..records {
            if n % 50 == 0 {
                old.push_str("{\"op\":\"store\",\"sess\n");
            }
            old.push_str(&session_line(&format!("s{n}"), state));
            old.push('\n');
        }
        Replacing::of(REPAIR, old)
    }

    fn compact() -> Replacing {
        let line = |n: usize| session_line(&format!("s{}", n % 4), &n.to_string()) + "\n";
        Replacing::of(COMPACT, (0..12).map(line).collect())
    }

    fn of(args: &'static [&'static str], old: String) -> Replacing {
        let world = World::with(JOURNAL, &old);
        let ids = world.session_ids();
        world.run(args).ends(0);
        let new = world.read(JOURNAL);
        assert_ne!(old.as_bytes(), new);
        Replacing { args, old: old.into_bytes(), new, ids }
    }

    fn world(&self) -> World {
        World::with(JOURNAL, &self.old).damaged()
    }

    /// Whether the journal is in its new state; one in between is neither.
    fn done(&self, world: &World, story: &str) -> bool {
        let now = world.read(JOURNAL);
        assert!(now == self.old || now == self.new, "{story}: the journal is neither the old nor the new one");
        assert_eq!(world.session_ids(), self.ids, "{story}");
        now == self.new
    }

    /// The same command once more does what is left to do.
    fn again(&self, world: &World, story: &str) {
        let answer = world.run(self.args);
        assert_eq!(answer.status, 0, "{story}: {answer:?}");
        assert_eq!(world.read(JOURNAL), self.new, "{story}");
        assert_eq!(leftovers(world), [""; 0], "{story}");
        world.put("z", "1");
    }
}

/// Copies in the data directory that should have become a journal.
fn leftovers(world: &World) -> Vec<String> {
    let entries = fs::read_dir(world.dir()).unwrap().flatten();
    entries.map(|entry| entry.file_name().into_string().unwrap()).filter(|name| name.ends_with(".tmp")).collect()
}

#[test]
fn a_repair_killed_at_any_moment_leaves_the_old_journal_or_the_new_one() {
    let repair = Replacing::repair(300, &format!("\"{}\"", "x".repeat(1000)));
    let (mut old, mut new) = (0, 0);
    for round in 0..40 {
        let world = repair.world();
        // The last one is left alone, so that both ends are seen.
        let moment = Duration::from_micros(round * 500);
        let child = world.command(repair.args).spawn().unwrap();
        if round == 39 {
            Answer::from(child.wait_with_output().unwrap()).ends(0);
        } else {
            kill_after(moment, vec![child]);
        }
        let story = format!("killed after {moment:?}");
        if repair.done(&world, &story) {
            new += 1
        } else {
            old += 1
        }
        repair.again(&world, &story);
    }
    assert!(old > 0 && new > 0, "{old} were killed in time, {new} were not: the test has shown nothing");
}

#[test]
fn killed_at_any_system_call_a_replacement_leaves_the_old_journal_or_the_new_one() {
    if strace_is_waived() {
        return;
    }
    let calls = "openat,write,fsync,ftruncate,rename,mkdir,unlink,fchmod";
    for replacing in [Replacing::repair(3, "1"), Replacing::compact()] {
        let mut seen = [false; 2];
        for nth in 1.. {
            let world = replacing.world();
            let (trace, inject) = (format!("trace={calls}"), format!("inject={calls}:signal=KILL:when={nth}"));
            let traced = world.traced(&["-e", &trace, "-e", &inject], replacing.args, "");
            let story = format!("{:?} killed at call {nth}", replacing.args);
            let done = replacing.done(&world, &story);
            seen[usize::from(done)] = true;
            replacing.again(&world, &story);
            if traced.answer.status != 137 {
                traced.answer.ends(0);
                break;
            }
        }
        assert_eq!(seen, [true; 2]);
    }
}

#[test]
fn killed_at_any_system_call_a_put_has_stored_all_of_its_record_or_none() {
    if strace_is_waived() {
        return;
    }
    for world in starts() {
        let mut seen = [false; 2];
        for nth in 1.. {
            let id = format!("n{nth}");
            let before = world.session_ids();
            let paths = own_paths(&world);
            let inject = format!("inject=openat,flock,mkdir,write,pread64,fdatasync,fsync:signal=KILL:when={nth}");
            let options: Vec<&str> = paths.iter().flat_map(|p| ["-P", p]).chain(["-e", &inject]).collect();
            let traced = world.traced(&options, &["session", "put", &id], "{\"n\":1}");
            let after = world.session_ids();
            seen[usize::from(after.contains(&id))] = true;
            assert!(before.iter().all(|id| after.contains(id)), "call {nth}: {before:?} became {after:?}");
            assert_eq!(world.check(&[]).0, 0, "call {nth}");
            if traced.answer.status != 137 {
                traced.answer.ends(0);
                assert!(after.contains(&id));
                break;
            }
        }
        assert_eq!(seen, [true; 2]);
    }
}

#[test]
fn copies_that_a_killed_process_left_disturb_nobody_and_are_removed_by_the_next_repair() {
    let repair = Replacing::repair(3, "1");
    let world = repair.world();
    let left = ".sessions.jsonl.cruxctl-0a1b2c3d.tmp";
    world.write(left, &repair.new[..9]);
    assert_eq!(world.session_ids(), repair.ids);
    let (status, report) = world.check(&[]);
    assert_eq!((status, &report["journals"][0]["live"]), (3, &Value::from(3)));
    world.put("z", "1");
    assert_eq!(leftovers(&world), [left]);
    world.run(REPAIR).ends(0);
    assert_eq!(leftovers(&world), [""; 0]);
}

// ---------------------------------------------------------------------------------------------------------------------
// System calls that fail

/// A data directory with three sessions, and none at all.
fn starts() -> [World; 2] {
    let lines: String = ["a", "b", "c"].map(|id| session_line(id, "1") + "\n").concat();
    [World::with(JOURNAL, lines), World::new()]
}

/// What a put touches. Calls on these paths alone are counted and made to fail; those of the loader are not.
fn own_paths(world: &World) -> Vec<String> {
    let dir = world.dir();
    let paths = [dir.clone(), dir.join(JOURNAL), dir.join("cruxctl"), dir.join("cruxctl/lock")];
    paths.iter().map(|path| path.to_str().unwrap().to_owned()).collect()
}

/// Makes the calls of a put fail one after the other, and holds each time: acknowledged is present, and what was not
/// acknowledged is not there, but for status 8, which says that nobody knows. `from_then_on`: every later call fails
/// as well. Returns the statuses.
fn put_while_failing(call: &str, error: &str, from_then_on: bool) -> Vec<i32> {
    let mut statuses = Vec::new();
    for world in starts() {
        for nth in 1.. {
            let id = format!("n{nth}");
            let story = format!("{call} number {nth} fails with {error}");
            let before = (world.read(JOURNAL), world.session_ids());
            let paths = own_paths(&world);
            let plus = if from_then_on { "+" } else { "" };
            let (trace, inject) = (format!("trace={call}"), format!("inject={call}:error={error}:when={nth}{plus}"));
            let options: Vec<&str> =
                paths.iter().flat_map(|path| ["-P", path]).chain(["-e", &trace, "-e", &inject]).collect();
            let traced = world.traced(&options, &["session", "put", &id, "--json"], "{\"n\":1}");
            let answer = &traced.answer;
            let ids = world.session_ids();
            let present = ids.contains(&id);
            match answer.status {
                0 => assert!(present, "{story}: acknowledged and not there: {answer:?}"),
                7 => assert!(world.read(JOURNAL) == before.0, "{story}: it has failed and written: {answer:?}"),
                8 => assert_eq!(answer.code(), "unknown.write", "{story}"),
                _ => panic!("{story}: {answer:?}"),
            }
            assert!(before.1.iter().all(|id| ids.contains(id)), "{story}: {:?} became {ids:?}", before.1);
            assert_eq!(answer.stdout.is_empty(), answer.status != 0, "{story}: {answer:?}");
            assert_eq!(world.check(&[]).0, 0, "{story}: {answer:?}");
            if traced.injected().is_none() {
                assert!(nth > 1, "{call} is never called: the test shows nothing");
                assert_eq!(answer.status, 0, "{answer:?}");
                break;
            }
            statuses.push(answer.status);
            // The next run needs no help.
            world.put(&format!("after{nth}"), "1");
        }
    }
    statuses
}

#[test]
fn a_put_whose_write_fails_has_written_nothing() {
    if strace_is_waived() {
        return;
    }
    for error in ["ENOSPC", "EIO", "EDQUOT", "EFBIG"] {
        for from_then_on in [false, true] {
            assert_eq!(put_while_failing("write", error, from_then_on), [7, 7], "{error}");
        }
    }
    // An interrupted write is simply made again.
    assert_eq!(put_while_failing("write", "EINTR", false), [0, 0]);
}

#[test]
fn a_put_whose_sync_fails_says_that_nobody_knows() {
    if strace_is_waived() {
        return;
    }
    for error in ["EIO", "ENOSPC"] {
        assert_eq!(put_while_failing("fdatasync", error, true), [8, 8], "{error}");
    }
    // The directory's sync belongs to a journal that is new, and to no other.
    assert!(put_while_failing("fsync", "EIO", true).contains(&8));
}

#[test]
fn a_failed_sync_is_never_tried_again() {
    if strace_is_waived() {
        return;
    }
    let [world, _] = starts();
    let inject = ["-e", "trace=fdatasync,fsync,sync,syncfs,write", "-e", "inject=fdatasync:error=EIO:when=1+"];
    let traced = world.traced(&inject, &["session", "put", "x"], "1");
    assert_eq!((traced.answer.status, &*traced.answer.code()), (8, "unknown.write"), "{traced:?}");
    let [write] = traced.places("write", "/sessions.jsonl>")[..] else { panic!("{traced:?}") };
    let syncs = ["fdatasync", "fsync", "sync", "syncfs"].map(|name| traced.places(name, ""));
    assert_eq!(syncs.concat().iter().filter(|place| **place > write).count(), 1, "{traced:?}");
}

#[test]
fn a_put_that_cannot_open_or_make_something_has_written_nothing() {
    if strace_is_waived() {
        return;
    }
    for (call, error) in [("openat", "EACCES"), ("openat", "EMFILE"), ("mkdir", "ENOSPC")] {
        let [made, _] = starts();
        // Where everything is there already no folder is made.
        if call == "mkdir" {
            made.put("d", "1");
        }
        let statuses = put_while_failing(call, error, false);
        assert!(statuses.contains(&7) && !statuses.contains(&8), "{call} {error}: {statuses:?}");
    }
}

#[test]
fn a_put_whose_look_at_the_journal_fails_tells_what_it_knows() {
    if strace_is_waived() {
        return;
    }
    for call in ["statx", "pread64"] {
        let statuses = put_while_failing(call, "EIO", false);
        assert!(statuses.contains(&7), "{call}: {statuses:?}");
    }
}

#[test]
fn a_put_whose_position_cannot_be_told_never_calls_a_stored_record_a_failure() {
    if strace_is_waived() {
        return;
    }
    put_while_failing("lseek", "EIO", false);
}

#[test]
fn where_locks_do_not_work_nothing_is_written_and_the_mount_is_named() {
    if strace_is_waived() {
        return;
    }
    for error in ["ENOLCK", "EBADF", "EOPNOTSUPP"] {
        assert_eq!(put_while_failing("flock", error, true), [7, 7], "{error}");
        let [world, _] = starts();
        let before = world.read(JOURNAL);
        let inject = format!("inject=flock:error={error}");
        for args in [&["session", "put", "x", "--json"][..], &["session", "delete", "a", "--json"]] {
            let traced = world.traced(&["-e", "trace=flock", "-e", &inject], args, "1");
            assert_eq!((traced.answer.status, &*traced.answer.code()), (7, "environment.lock"), "{traced:?}");
            let stderr = &traced.answer.stderr;
            let dir = world.dir().display().to_string();
            assert!(stderr.contains("mount") && stderr.contains(&dir) && stderr.contains("nothing was written"));
            assert!(world.read(JOURNAL) == before);
        }
        // Readers take no lock.
        let traced = world.traced(&["-e", "trace=flock", "-e", &inject], &["session", "get", "a"], "");
        assert_eq!((traced.answer.status, &*traced.answer.stdout), (0, &b"1\n"[..]), "{traced:?}");
    }
}

/// Makes the calls of a replacement fail one after the other, and holds each time: 0 is the new journal, 7 is the old
/// one with nothing left lying about, 8 is either. Returns the statuses.
fn replace_while_failing(replacing: &Replacing, call: &str, error: &str) -> Vec<i32> {
    let mut statuses = Vec::new();
    for nth in 1.. {
        let world = replacing.world();
        let (trace, inject) = (format!("trace={call}"), format!("inject={call}:error={error}:when={nth}"));
        let traced = world.traced(&["-e", &trace, "-e", &inject], replacing.args, "");
        let answer = &traced.answer;
        let Some(injected) = traced.injected() else {
            assert_eq!(answer.status, 0, "{answer:?}");
            assert!(replacing.done(&world, "nothing fails") && nth > 1);
            return statuses;
        };
        let story = format!("{:?}: {injected}: {answer:?}", replacing.args);
        let done = replacing.done(&world, &story);
        // Where it is only the answer that could not be written, the work is done.
        let told = !injected.contains("/out>");
        match answer.status {
            0 | 8 if answer.status == 8 || done => {}
            7 if !told => assert_eq!(answer.code(), "environment.stdout", "{story}"),
            // 127: the loader could not load the program.
            7 | 127 if !done => {
                assert_eq!(leftovers(&world), [""; 0], "{story}");
                let (_, report) = world.check(&["sessions"]);
                // Nothing was taken out, so nothing may look as if it had been.
                assert_eq!(report["journals"][0]["quarantined_bytes"], 0, "{story}");
            }
            _ => panic!("{story}: and the journal is the {} one", if done { "new" } else { "old" }),
        }
        replacing.again(&world, &story);
        statuses.push(answer.status);
    }
    statuses
}

/// A repair and a compaction whose calls fail; the statuses of both.
fn both_while_failing(call: &str, error: &str) -> Vec<i32> {
    let mut statuses = replace_while_failing(&Replacing::repair(3, "1"), call, error);
    statuses.extend(replace_while_failing(&Replacing::compact(), call, error));
    statuses
}

#[test]
fn a_replacement_whose_write_fails_leaves_the_old_journal() {
    if strace_is_waived() {
        return;
    }
    for error in ["ENOSPC", "EIO"] {
        assert!(both_while_failing("write", error).contains(&7), "{error}");
    }
}

#[test]
fn a_replacement_whose_rename_fails_leaves_the_old_journal_and_nothing_in_quarantine() {
    if strace_is_waived() {
        return;
    }
    for error in ["EIO", "ENOSPC"] {
        // The first rename of each puts a note for followers in its place, and the third its new witness: nothing
        // depends on them.
        assert_eq!(both_while_failing("rename", error), [0, 7, 0, 0, 7, 0], "{error}");
    }
}

#[test]
fn a_replacement_whose_sync_fails_leaves_the_old_journal_or_says_that_nobody_knows() {
    if strace_is_waived() {
        return;
    }
    assert!(both_while_failing("fsync", "EIO").contains(&7));
}

#[test]
fn a_replacement_that_cannot_open_or_make_something_leaves_the_old_journal() {
    if strace_is_waived() {
        return;
    }
    for (call, error) in [("openat", "EACCES"), ("mkdir", "ENOSPC"), ("fchmod", "EPERM"), ("ftruncate", "EIO")] {
        assert!(replace_while_failing(&Replacing::repair(3, "1"), call, error).contains(&7), "{call} {error}");
    }
}

#[test]
fn a_replacement_whose_look_at_a_file_fails_leaves_the_old_journal_or_says_that_nobody_knows() {
    if strace_is_waived() {
        return;
    }
    for call in ["statx", "pread64"] {
        assert!(both_while_failing(call, "EIO").contains(&7), "{call}");
    }
}

// ---------------------------------------------------------------------------------------------------------------------
// The order of the calls

#[test]
fn a_put_is_one_write_with_its_line_end_then_one_sync_and_then_the_answer() {
    if strace_is_waived() {
        return;
    }
    for (world, new) in starts().into_iter().zip([false, true]) {
        let calls = "trace=flock,write,pwrite64,writev,fdatasync,fsync,close";
        let traced = world.traced(&["-e", calls], &["session", "put", "x"], "{\"n\":\"1\"}");
        assert_eq!(traced.answer.status, 0, "{traced:?}");
        let one = |name: &str, text: &str| match traced.places(name, text)[..] {
            [place] => place,
            ref places => panic!("{name} of {text} at {places:?}: {traced:?}"),
        };
        let (lock, write) = (one("flock", "/cruxctl/lock>"), one("write", "/sessions.jsonl>"));
        let (sync, unlock) = (one("fdatasync", "/sessions.jsonl>"), one("close", "/cruxctl/lock>"));
        let answer = one("write", "/out>");
        assert!(lock < write && write < sync && sync < unlock && sync < answer, "{traced:?}");
        let written = &traced.calls[write];
        assert!(written.contains("}}\\n\", ") && written.matches("\\n").count() == 1, "{written}");
        let (_, returned) = written.rsplit_once("= ").unwrap();
        assert_eq!(returned.parse(), Ok(session_record_len(&world, "x")), "{written}");
        let folder = traced.places("fsync", "/data>");
        assert_eq!(folder.iter().any(|place| sync < *place && *place < answer), new, "{traced:?}");
    }
}

/// The length of an id's record with its line end.
fn session_record_len(world: &World, id: &str) -> u64 {
    world.run(&["session", "show", id, "--json"]).ends(0).json()["length"].as_u64().unwrap() + 1
}

#[test]
fn a_replacement_is_synced_then_renamed_and_then_its_folder_is_synced() {
    if strace_is_waived() {
        return;
    }
    for replacing in [Replacing::repair(3, "1"), Replacing::compact()] {
        let world = replacing.world();
        let traced =
            world.traced(&["-e", "trace=write,ftruncate,fsync,rename,renameat,renameat2"], replacing.args, "");
        assert_eq!(traced.answer.status, 0, "{traced:?}");
        let renames = [traced.places("rename", ""), traced.places("renameat", ""), traced.places("renameat2", "")];
        let of_journal = |place: &usize| traced.calls[*place].contains("/sessions.jsonl\")");
        let [rename] = renames.concat().into_iter().filter(of_journal).collect::<Vec<_>>()[..] else {
            panic!("{traced:?}")
        };
        let ends_with_journal = traced.calls[rename].contains("/sessions.jsonl\")");
        assert!(traced.calls[rename].contains(".tmp\"") && ends_with_journal, "{traced:?}");
        let last_before = |name: &str, text: &str| traced.places(name, text).into_iter().rfind(|p| *p < rename);
        let (synced, written) = (last_before("fsync", "/.sessions.jsonl"), last_before("write", "/.sessions.jsonl"));
        assert!(written.is_some() && synced > written, "{traced:?}");
        assert!(traced.places("fsync", "/data>").iter().any(|place| *place > rename), "{traced:?}");
        // What is set aside is on disk before it is missing in the journal: bytes, manifest and their names.
        if replacing.args == REPAIR {
            for (file, write) in [(".bytes>", "write"), (".manifest.jsonl>", "write"), ("/quarantine>", "fsync")] {
                let synced = last_before("fsync", file);
                assert!(synced.is_some() && synced >= last_before(write, file), "{file}: {traced:?}");
                assert!(traced.places(write, file).iter().all(|place| *place < rename), "{file}: {traced:?}");
            }
        }
    }
}

// ---------------------------------------------------------------------------------------------------------------------
// A full disk

/// A state of 40 kB.
fn forty() -> String {
    format!("\"{}\"", "x".repeat(40_000))
}

/// Asserts that a command was refused for want of space.
fn no_space(answer: &Answer) {
    assert_eq!((answer.status, &*answer.code()), (7, "environment.space"), "{answer:?}");
    assert!(answer.stderr.contains("no space"), "{answer:?}");
}

#[test]
fn on_a_full_disk_a_put_is_told_so_undone_and_works_again_once_there_is_space() {
    let world = World::new();
    let Some(_mount) = Mount::memory(&world.dir(), "128k") else {
        // Without a file system of its own the write is made to fail by hand; half a write cannot be had that way.
        if strace_is_waived() {
            return;
        }
        assert_eq!(put_while_failing("write", "ENOSPC", true), [7, 7]);
        return;
    };
    world.write("filler", vec![b'x'; 40_000]);
    let mut kept = Vec::new();
    loop {
        let id = format!("s{}", kept.len());
        let before = world.read(JOURNAL);
        let answer = world.run_with(&["session", "put", &id], forty());
        if answer.status != 0 {
            no_space(&answer);
            assert!(answer.stdout.is_empty(), "{answer:?}");
            assert!(world.read(JOURNAL) == before, "the journal is not as it was");
            break;
        }
        kept.push(id);
        assert!(kept.len() < 4, "128 kB hold no four records of 40 kB");
    }
    assert!(!kept.is_empty());
    assert_eq!(world.session_ids(), kept);
    world.run(&["journal", "check"]).ends(0);
    fs::remove_file(world.dir().join("filler")).unwrap();
    world.put("t", &forty());
    kept.push("t".to_owned());
    assert_eq!(world.session_ids(), kept);
    world.run(&["journal", "check"]).ends(0);
}

#[test]
fn without_space_for_its_copy_a_repair_leaves_everything_as_it_was() {
    let broken = format!("{}\n{{\"op\":\"sto\n{}\n", session_line("a", &forty()), session_line("b", "1"));
    let world = World::new().damaged();
    let Some(_mount) = Mount::memory(&world.dir(), "128k") else {
        if strace_is_waived() {
            return;
        }
        assert!(replace_while_failing(&Replacing::repair(3, "1"), "write", "ENOSPC").contains(&7));
        return;
    };
    world.write(JOURNAL, &broken);
    // The lock file and its folder are there; then from no page at all to all but a few.
    world.run_with(&["session", "put", "c"], "1").ends(0);
    let broken = world.read(JOURNAL);
    fs::create_dir_all(world.dir().join("cruxctl/quarantine")).unwrap();
    for free in [0, 1, 2, 4, 8] {
        world.fill(free * 4096);
        no_space(&world.run(REPAIR));
        assert!(world.read(JOURNAL) == broken, "{free} pages: the journal is not as it was");
        assert_eq!(leftovers(&world), [""; 0], "{free} pages");
        assert_eq!(fs::read_dir(world.dir().join("cruxctl/quarantine")).unwrap().count(), 0, "{free} pages");
        assert_eq!(world.session_ids(), ["a", "b", "c"], "{free} pages");
    }
    fs::remove_file(world.dir().join("filler")).unwrap();
    world.run(REPAIR).ends(0);
    world.run(&["journal", "check"]).ends(0);
    assert_eq!(world.session_ids(), ["a", "b", "c"]);
}

#[test]
fn a_file_size_limit_is_told_as_no_space_and_leaves_no_half_record() {
    let world = World::new();
    world.put("a", &format!("\"{}\"", "x".repeat(3000)));
    let before = world.read(JOURNAL);
    // In blocks of 1024 bytes: the second record would end behind it. Output goes through a pipe, which has no limit.
    fs::write(world.beside("in"), format!("\"{}\"", "y".repeat(3000))).unwrap();
    let answer = world.shell("ulimit -f 4; cruxctl session put b < in 2>&1 | cat; exit ${PIPESTATUS[0]}");
    assert_eq!(answer.status, 7, "{answer:?}");
    assert!(answer.text().contains("environment.space"), "{answer:?}");
    assert!(world.read(JOURNAL) == before, "the journal is not as it was");
}
