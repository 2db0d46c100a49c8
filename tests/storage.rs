//! Files and folders: whose they are and who may open them, directories that cannot be written, links, things that
//! are no files, copies that a sync program left, and journals larger than memory.

use std::collections::BTreeMap;
use std::fs;
use std::io::Write;
use std::os::unix::fs::{MetadataExt, PermissionsExt, symlink};
use std::os::unix::net::UnixListener;
use std::path::Path;
use std::process::Command;
use std::thread;

use cruxctl::error::Code;

use crate::support::{Answer, Mount, READERS, WRITERS, World, expired_line, is_root, session_line};

const JOURNAL: &str = "sessions.jsonl";
const FRAGMENT: &str = "{\"op\":\"store\",\"sess\n";

/// Somebody who is not root.
const NOBODY: u32 = 65534;

/// A world with four sessions, one of them expired, and a state to put.
fn world() -> World {
    let text: String = ["a", "b", "c"].map(|id| session_line(id, "1") + "\n").concat();
    let world = World::with(JOURNAL, text + &expired_line("e") + "\n");
    fs::write(world.beside("state"), "3").unwrap();
    world
}

/// Everything in a data directory: its path in there, and whose it is with what mode. Links are not followed.
fn everything(dir: &Path) -> BTreeMap<String, (u32, u32, u32)> {
    let mut all = BTreeMap::new();
    let mut folders = vec![dir.to_owned()];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(folder).unwrap().flatten() {
            let data = entry.metadata().unwrap();
            if data.is_dir() {
                folders.push(entry.path());
            }
            let inside = entry.path().strip_prefix(dir).unwrap().to_str().unwrap().to_owned();
            all.insert(inside, (data.mode() & 0o7777, data.uid(), data.gid()));
        }
    }
    all
}

fn mode(path: &Path) -> u32 {
    fs::metadata(path).unwrap().mode() & 0o7777
}

fn set_mode(path: &Path, mode: u32) {
    fs::set_permissions(path, fs::Permissions::from_mode(mode)).unwrap();
}

#[test]
fn whatever_the_umask_files_are_their_owners_alone() {
    for umask in ["000", "002", "022", "077"] {
        let world = World::new();
        let run = |line: &str| world.shell(&format!("umask {umask}; {line}")).ends(0);
        run("cruxctl session put a <<< 1; cruxctl session put a <<< 2");
        world.append(JOURNAL, FRAGMENT);
        run("cruxctl journal repair --apply");
        run("cruxctl journal compact sessions");
        assert_eq!(mode(&world.dir()), 0o700, "umask {umask}");
        let all = everything(&world.dir());
        for (path, (mode, ..)) in &all {
            let expected = if world.dir().join(path).is_dir() { 0o700 } else { 0o600 };
            assert_eq!(*mode, expected, "umask {umask}: {path}");
        }
        for part in [JOURNAL, "cruxctl", "cruxctl/lock", "cruxctl/quarantine", ".bytes", ".manifest.jsonl"] {
            assert!(all.keys().any(|path| path.ends_with(part)), "{part} is not among {all:?}");
        }
    }
}

#[test]
fn a_journal_keeps_the_mode_that_it_has_and_a_loose_one_is_named_once() {
    for umask in ["000", "077"] {
        for given in [0o600, 0o640, 0o644, 0o666, 0o400] {
            let world = world();
            let journal = world.dir().join(JOURNAL);
            world.append(JOURNAL, FRAGMENT);
            set_mode(&journal, given);
            for verb in
                ["session archive a", "session archive a", "journal repair --apply", "journal compact sessions"]
            {
                // Root writes to a file of any mode; nobody else writes to one that is read-only.
                if given & 0o200 == 0 && verb.starts_with("session") && !is_root() {
                    continue;
                }
                world.shell(&format!("umask {umask}; cruxctl {verb}")).ends(0);
                assert_eq!(mode(&journal), given, "umask {umask}: {verb}");
            }
            for (path, (mode, ..)) in everything(&world.dir().join("cruxctl")) {
                assert!([0o600, 0o700].contains(&mode), "{path} has {mode:o}");
            }
            let answer = world.run(&["journal", "check"]).ends(0);
            let named = answer.stderr.matches(&format!("mode {given:03o}")).count();
            assert_eq!(named, usize::from(given & 0o077 != 0), "{answer:?}");
        }
    }
}

// ---------------------------------------------------------------------------------------------------------------------
// Directories that cannot be written

/// Holds that in a directory that cannot be written everything can be read as before and nothing written. `run` is how
/// a command is run there.
fn only_reads(world: &World, answers: &[Answer], run: &dyn Fn(&[&str]) -> Answer) {
    let before = (everything(&world.dir()), world.read(JOURNAL));
    for (args, expected) in READERS.iter().zip(answers) {
        let answer = run(args);
        assert_eq!((answer.status, &answer.stderr), (0, &expected.stderr), "{args:?}");
        assert_eq!(answer.text(), expected.text(), "{args:?}");
    }
    // A check that cannot keep what it has read says so, and is as good as before.
    let check = run(&["journal", "check"]).ends(0);
    assert!(check.stderr.contains("nothing can be kept here"), "{check:?}");
    for args in WRITERS {
        let answer = run(&[args, &["--json"]].concat());
        assert_eq!((answer.status, &*answer.code()), (7, "environment.permission"), "{args:?}: {answer:?}");
    }
    assert_eq!(everything(&world.dir()), before.0);
    assert!(world.read(JOURNAL) == before.1);
}

/// What every reader answers where it may do as it likes.
fn answers(world: &World) -> Vec<Answer> {
    READERS.iter().map(|args| world.run(args).ends(0)).collect()
}

/// A command run as somebody who is not root, in a world that this somebody may look into.
pub fn as_nobody(world: &World, args: &[&str]) -> Answer {
    let binary = world.beside("cruxctl");
    if !binary.exists() {
        // By a process of its own: a file that this one has open for writing, and with it whatever another test is just
        // about to start, cannot be run.
        let copied = Command::new("cp").arg(assert_cmd::cargo::cargo_bin!("cruxctl")).arg(&binary).status().unwrap();
        assert!(copied.success());
        set_mode(binary.parent().unwrap(), 0o755);
    }
    let mut command = world.surround(Command::new("setpriv"));
    let id = NOBODY.to_string();
    command.args(["--reuid", &id, "--regid", &id, "--clear-groups", "--"]).arg(binary).args(args);
    Answer::from(command.output().unwrap())
}

#[test]
fn in_a_directory_that_only_others_may_write_reading_works_in_full_and_writing_is_refused() {
    // With a lock file that was made by who may, and without any.
    for locked in [true, false] {
        let world = world();
        if locked {
            world.run(&["journal", "repair", "--apply"]).ends(0);
            set_mode(&world.dir().join("cruxctl/lock"), 0o444);
            set_mode(&world.dir().join("cruxctl"), 0o555);
        }
        set_mode(&world.dir().join(JOURNAL), 0o444);
        let answers = answers(&world);
        set_mode(&world.dir(), 0o555);
        // No mode keeps root out.
        only_reads(&world, &answers, &|args| if is_root() { as_nobody(&world, args) } else { world.run(args) });
        if locked {
            set_mode(&world.dir().join("cruxctl"), 0o755);
        }
        set_mode(&world.dir(), 0o755);
    }
}

#[test]
fn who_may_read_the_journals_and_not_what_is_kept_beside_them_gets_an_answer_that_says_so() {
    let world = world();
    world.run(&["journal", "check"]).ends(0);
    let own = world.dir().join("cruxctl");
    set_mode(&world.dir().join(JOURNAL), 0o444);
    set_mode(&own, 0);
    for line in ["journal check", "journal stat", "journal map", "journal log", "doctor"] {
        let mut args: Vec<&str> = line.split(' ').collect();
        args.push("--json");
        let answer = if is_root() { as_nobody(&world, &args) } else { world.run(&args) }.ends(0);
        assert!(answer.stderr.contains("cruxctl/durable.jsonl cannot be looked at, and are left out"), "{answer:?}");
        // What could not be looked at is nothing to be accepted.
        assert!(!answer.text().contains("--accept"), "{answer:?}");
    }
    let named = ["journal", "check", "trust", "--json"];
    let answer = if is_root() { as_nobody(&world, &named) } else { world.run(&named) };
    answer.fails(Code::EnvironmentPermission);
    set_mode(&own, 0o700);
}

#[test]
fn on_a_read_only_mount_reading_works_in_full_and_writing_is_refused() {
    for locked in [true, false] {
        let world = world();
        if locked {
            world.run(&["journal", "repair", "--apply"]).ends(0);
        }
        let answers = answers(&world);
        // Where nothing may be mounted, the test above has the same with a directory of others.
        let Some(_mount) = Mount::read_only(&world.dir()) else { return };
        only_reads(&world, &answers, &|args| world.run(args));
    }
}

#[test]
fn a_journal_that_may_not_be_read_is_told_as_such_and_never_as_empty() {
    let world = world();
    set_mode(&world.dir(), 0o755);
    set_mode(&world.dir().join(JOURNAL), 0o000);
    let run = |args: &[&str]| if is_root() { as_nobody(&world, args) } else { world.run(args) };
    for args in READERS.iter().chain(&WRITERS) {
        let answer = run(args);
        assert_eq!((answer.status, &*answer.code()), (7, "environment.permission"), "{args:?}: {answer:?}");
    }
    set_mode(&world.dir().join(JOURNAL), 0o600);
    // The same where the directory itself is closed.
    set_mode(&world.dir(), 0o000);
    for args in READERS.iter().chain(&WRITERS) {
        let answer = run(args);
        assert_eq!((answer.status, &*answer.code()), (7, "environment.permission"), "{args:?}: {answer:?}");
    }
    set_mode(&world.dir(), 0o700);
}

#[test]
fn what_root_makes_in_the_directory_of_another_belongs_to_the_other() {
    // Only root can give files away, so only root can get it wrong.
    if !is_root() {
        return;
    }
    for existing in [true, false] {
        let world = if existing { world() } else { World::with("state", "") };
        fs::write(world.beside("state"), "3").unwrap();
        let _ = fs::remove_file(world.dir().join("state"));
        std::os::unix::fs::chown(world.dir(), Some(NOBODY), Some(NOBODY)).unwrap();
        if existing {
            std::os::unix::fs::chown(world.dir().join(JOURNAL), Some(NOBODY), Some(NOBODY)).unwrap();
        }
        world.run(&["journal", "check"]).ends(0);
        world.run(&["session", "put", "new", "--file", "state"]).ends(0);
        world.append(JOURNAL, FRAGMENT);
        world.run(&["journal", "repair", "--apply"]).ends(0);
        world.run(&["session", "archive", "new"]).ends(0);
        world.run(&["journal", "compact", "sessions"]).ends(0);
        let all = everything(&world.dir());
        assert!(all.len() >= 6, "{all:?}");
        for (path, (_, uid, gid)) in &all {
            assert_eq!((*uid, *gid), (NOBODY, NOBODY), "{path}");
        }
        // And the owner goes on as if nothing had been.
        as_nobody(&world, &["session", "put", "f", "--file", "state"]).ends(0);
        as_nobody(&world, &["session", "delete", "new"]).ends(0);
        world.append(JOURNAL, FRAGMENT);
        as_nobody(&world, &["journal", "repair", "--apply"]).ends(0);
        as_nobody(&world, &["journal", "check"]).ends(0);
    }
}

// ---------------------------------------------------------------------------------------------------------------------
// Links

#[test]
fn a_journal_that_is_a_link_is_written_and_replaced_where_it_leads() {
    let world = world();
    let (link, folder) = (world.dir().join(JOURNAL), world.beside("elsewhere"));
    let target = folder.join("the journal");
    fs::create_dir(&folder).unwrap();
    fs::rename(&link, &target).unwrap();
    symlink(&target, &link).unwrap();
    // Both through a link to a link.
    let far = world.beside("far");
    symlink(world.dir(), &far).unwrap();
    for dir in [world.dir(), far] {
        let dir = dir.to_str().unwrap();
        let run = |args: &[&str]| {
            world.run(&[args, &["--data-dir", dir]].concat()).ends(0);
            assert_eq!(fs::read_link(&link).unwrap(), target, "{args:?}");
            assert!(fs::symlink_metadata(&target).unwrap().is_file(), "{args:?}");
            assert_eq!(fs::read_dir(&folder).unwrap().count(), 1, "{args:?}: something was left beside the target");
        };
        run(&["session", "put", "new", "--file", "state"]);
        assert!(fs::read_to_string(&target).unwrap().contains("\"new\""));
        fs::write(&target, [&fs::read(&target).unwrap(), FRAGMENT.as_bytes()].concat()).unwrap();
        set_mode(&target, 0o640);
        run(&["journal", "repair", "--apply"]);
        assert!(!fs::read_to_string(&target).unwrap().contains(FRAGMENT));
        run(&["session", "archive", "new"]);
        run(&["journal", "compact", "sessions"]);
        assert_eq!(mode(&target), 0o640);
        assert_eq!(world.session_ids(), ["a", "b", "c", "e", "new"]);
    }
}

#[test]
fn a_data_directory_that_is_a_link_is_as_good_as_the_directory() {
    let world = world();
    let link = world.beside("link");
    symlink(world.dir(), &link).unwrap();
    let through = |args: &[&str]| world.run(&[args, &["--data-dir", "link"]].concat()).ends(0);
    through(&["session", "put", "new", "--file", "state"]);
    world.append(JOURNAL, FRAGMENT);
    through(&["journal", "repair", "--apply"]);
    through(&["journal", "check"]);
    assert_eq!(fs::read_link(&link).unwrap(), world.dir());
    assert_eq!(world.session_ids(), ["a", "b", "c", "e", "new"]);
    assert!(world.dir().join("cruxctl/quarantine").is_dir());
}

#[test]
fn a_link_that_leads_nowhere_or_round_in_a_circle_is_no_journal_to_write() {
    for target in ["nowhere", "../nowhere/at/all", JOURNAL] {
        let world = World::with("state", "3");
        fs::rename(world.dir().join("state"), world.beside("state")).unwrap();
        symlink(target, world.dir().join(JOURNAL)).unwrap();
        let answer = world.shell("timeout 20 cruxctl session put new --file state").ends(7);
        assert!(answer.stdout.is_empty() && !answer.stderr.is_empty(), "{answer:?}");
        assert_eq!(fs::read_link(world.dir().join(JOURNAL)).unwrap(), Path::new(target));
        assert!(!world.dir().join("nowhere").exists());
        fs::remove_file(world.dir().join(JOURNAL)).unwrap();
    }
}

// ---------------------------------------------------------------------------------------------------------------------
// What is no file

#[test]
fn what_is_no_file_in_a_journals_place_is_told_at_once_and_nobody_waits_for_it() {
    for kind in ["pipe", "folder", "socket", "device", "link to a pipe"] {
        let world = world();
        let place = world.dir().join(JOURNAL);
        fs::remove_file(&place).unwrap();
        let mkfifo = |path: &Path| assert!(Command::new("mkfifo").arg(path).status().unwrap().success());
        let mut socket = None;
        match kind {
            "pipe" => mkfifo(&place),
            "folder" => fs::create_dir(&place).unwrap(),
            "socket" => socket = Some(UnixListener::bind(&place).unwrap()),
            "device" => symlink("/dev/zero", &place).unwrap(),
            _ => {
                mkfifo(&world.beside("pipe"));
                symlink(world.beside("pipe"), &place).unwrap();
            }
        }
        for args in READERS.iter().chain(&WRITERS) {
            let answer = world.shell(&format!("timeout 20 cruxctl {}", args.join(" ")));
            assert_eq!(
                (answer.status, &*answer.code()),
                (7, "environment.file_kind"),
                "{kind}: {args:?}: {answer:?}"
            );
            assert!(answer.stderr.contains(JOURNAL), "{kind}: {args:?}: {answer:?}");
        }
        drop(socket);
        if kind == "folder" { fs::remove_dir(&place).unwrap() } else { fs::remove_file(&place).unwrap() }
    }
}

#[test]
fn what_is_no_file_in_the_place_of_our_own_is_told_at_once() {
    type Make = fn(&Path);
    let file: Make = |path| fs::write(path, "").unwrap();
    let folder: Make = |path| fs::create_dir_all(path).unwrap();
    let pipe: Make = |path| assert!(Command::new("mkfifo").arg(path).status().unwrap().success());
    let cases = [("cruxctl", file), ("cruxctl", pipe), ("cruxctl/lock", folder), ("cruxctl/lock", pipe)];
    for (place, make) in cases {
        let world = world();
        let before = world.read(JOURNAL);
        if place != "cruxctl" {
            fs::create_dir(world.dir().join("cruxctl")).unwrap();
        }
        make(&world.dir().join(place));
        for args in WRITERS {
            let answer = world.shell(&format!("timeout 20 cruxctl {}", args.join(" ")));
            assert_eq!(
                (answer.status, &*answer.code()),
                (7, "environment.file_kind"),
                "{place}: {args:?}: {answer:?}"
            );
            assert!(world.read(JOURNAL) == before, "{place}: {args:?}");
        }
        for args in READERS {
            world.shell(&format!("timeout 20 cruxctl {}", args.join(" "))).ends(0);
        }
    }
}

#[test]
fn a_copy_that_a_sync_program_left_is_never_read_and_check_mentions_it() {
    let world = world();
    let copies = ["sessions (conflicted copy).jsonl", "sessions.jsonl.bak", "sessions.sync-conflict-20260101.jsonl"];
    for name in copies {
        world.write(name, session_line("stray", "1") + "\n" + FRAGMENT);
    }
    let before = world.session_ids();
    assert_eq!(before, ["a", "b", "c", "e"]);
    let answer = world.run(&["journal", "check"]).ends(0);
    for name in copies {
        let notes = answer.stderr.lines().filter(|line| line.starts_with("note: ") && line.contains(name));
        assert_eq!(notes.count(), 1, "{name}: {answer:?}");
    }
    for args in READERS.iter().chain(&[WRITERS[0], WRITERS[5], WRITERS[6]]) {
        world.run(args).ends(0);
    }
    for name in copies {
        assert_eq!(world.read(name), (session_line("stray", "1") + "\n" + FRAGMENT).into_bytes(), "{name}");
    }
    assert!(!world.session_ids().contains(&"stray".to_owned()));
}

// ---------------------------------------------------------------------------------------------------------------------
// Larger than memory

/// Runs verbs with some 195 MiB of memory to have, side by side, and hands out how many bytes each has printed.
fn in_little_memory(world: &World, verbs: &[&str]) -> Vec<usize> {
    let run = |verb: &&str| {
        // The count goes through a file of its own: four answers at once would be larger than they need to be.
        let answer = world.shell(&format!("set -o pipefail; (ulimit -v 200000; cruxctl {verb}) | wc -c")).ends(0);
        answer.text().trim().parse::<usize>().unwrap()
    };
    thread::scope(|scope| {
        let handles: Vec<_> = verbs.iter().map(|verb| scope.spawn(move || run(verb))).collect();
        handles.into_iter().map(|handle| handle.join().unwrap()).collect()
    })
}

#[test]
fn a_line_of_64_mib_needs_little_memory() {
    let state = format!("\"{}\"", "x".repeat(64 << 20));
    let world =
        World::with(JOURNAL, [session_line("large", &state), session_line("a", "1"), String::new()].join("\n"));
    let verbs = ["session get large", "journal check", "session list", "session show large"];
    let printed = in_little_memory(&world, &verbs);
    assert_eq!(printed[0], state.len() + 1);
    assert!(printed[1..].iter().all(|bytes| *bytes > 0), "{printed:?}");
    let verbs = ["journal log", "session history a", "journal stat", "doctor"];
    assert!(in_little_memory(&world, &verbs).iter().all(|bytes| *bytes > 0));
}

#[test]
fn a_journal_larger_than_memory_is_read_all_the_same() {
    let world = World::with(JOURNAL, "").damaged();
    let mut file = fs::File::create(world.dir().join(JOURNAL)).unwrap();
    let state = format!("\"{}\"", "x".repeat(1 << 20));
    // Enough that no more than a part of it can be had at once; more would only take longer.
    for n in 0..210 {
        file.write_all((session_line(&format!("s{n}"), &state) + "\n").as_bytes()).unwrap();
    }
    drop(file);
    let verbs = ["session get s209", "journal check", "session list", "session show s0"];
    let printed = in_little_memory(&world, &verbs);
    assert_eq!(printed[0], state.len() + 1);
    assert!(printed[1] > 0 && printed[2] > 210 * 40 && printed[3] > 0, "{printed:?}");
    fs::remove_file(world.dir().join(JOURNAL)).unwrap();
}
