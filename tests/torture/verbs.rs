//! Every verb that writes, with a directory in which it has something to do.

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use crate::faults;
use crate::support::{Mount, World, session_line};

/// What lies in a world's folder, by path.
pub type Files = BTreeMap<PathBuf, Vec<u8>>;

/// What of a verb's work may be there without the rest.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Half {
    /// Nothing: it is one record, one file.
    Never,
    /// It writes to several journals, one after the other: typed again, it does what is left.
    Steps,
    /// Several records in one write: the first of them.
    Records,
    /// Several files: the first of them, each whole.
    Files,
}

/// A verb with its directory.
#[derive(Clone, Debug)]
pub struct Case {
    pub name: String,
    pub args: Vec<String>,
    pub input: Vec<u8>,
    pub files: Arc<Files>,
    /// What there may be where a kill has come between the old state and the new one.
    pub half: Half,
    /// It puts another file in a journal's place.
    pub replaces: bool,
    /// The journals are damaged before, and the verb does not mend that.
    pub damaged: bool,
}

impl Case {
    pub fn args(&self) -> Vec<&str> {
        self.args.iter().map(String::as_str).collect()
    }

    /// A world of its own. What is known of the journals there is what a check has just seen.
    pub fn world(&self) -> World {
        let world = World::new().damaged();
        self.fill(&world);
        world
    }

    /// The same in a data directory that is mounted before anything is in it; `None` where that cannot be.
    pub fn world_in(&self, mount: impl FnOnce(&Path) -> Option<Mount>) -> Option<(World, Mount)> {
        let world = World::new().damaged();
        fs::create_dir_all(world.dir()).unwrap();
        let mount = mount(&world.dir())?;
        self.fill(&world);
        Some((world, mount))
    }

    fn fill(&self, world: &World) {
        for (path, bytes) in self.files.iter() {
            let path = world.beside("").join(path);
            let folder = path.parent().unwrap();
            if !folder.is_dir() {
                fs::create_dir_all(folder).unwrap();
            }
            fs::write(&path, bytes).unwrap();
            fs::set_permissions(&path, fs::Permissions::from_mode(0o600)).unwrap();
        }
        for folder in [world.dir(), world.dir().join("cruxctl")] {
            if folder.is_dir() {
                fs::set_permissions(&folder, fs::Permissions::from_mode(0o700)).unwrap();
            }
        }
        if world.dir().is_dir() {
            world.run(&["journal", "check", "--quiet"]);
        }
    }
}

/// What a world's folder has, but for what is only kept to be faster, and what a check knows.
fn files_of(world: &World) -> Files {
    fn into(root: &Path, folder: &Path, files: &mut Files) {
        for entry in fs::read_dir(folder).unwrap().flatten() {
            let path = entry.path();
            let inside = path.strip_prefix(root).unwrap().to_owned();
            if path.is_dir() {
                if !inside.ends_with("cruxctl/index") {
                    into(root, &path, files);
                }
            } else {
                files.insert(inside, fs::read(&path).unwrap());
            }
        }
    }
    let mut files = Files::new();
    into(&world.beside(""), &world.beside(""), &mut files);
    files
}

/// A directory with something of everything; the ids of a case and of two facts of it, and the envelopes beside it.
struct Lived {
    world: World,
    case: String,
    facts: Vec<String>,
}

fn lived() -> Lived {
    let mut world = World::new().damaged();
    let mut seed = 100;
    let mut run = |world: &World, line: &str, input: &str| {
        seed += 1;
        let args: Vec<&str> = line.split(' ').collect();
        let answer = faults::run(faults::seeded(world, &args, seed), input.as_bytes()).ends(0);
        answer.text().split(['\t', '\n']).next().unwrap_or_default().to_owned()
    };
    world.at("2026-07-01T11:00:00Z");
    for id in ["a", "b", "c", "expired"] {
        let ttl = if id == "expired" { " --ttl 1s" } else { "" };
        run(&world, &format!("session put {id}{ttl}"), "{\"n\": 1.10, \"s\": \"}\\\"{\"}");
    }
    world.at("2026-07-01T11:30:00Z");
    run(&world, "session put a", "{\"n\":2}");
    run(&world, "session put a --agent alice", "{\"of\":\"alice\"}");
    run(&world, "session archive c", "");
    let mut case = String::new();
    for n in 0..4 {
        let line = format!("case record --task rotate-{n} --action restart --outcome fine --tag t{n} --format id");
        case = run(&world, &line, "");
    }
    run(&world, &format!("case reuse {case}"), "");
    let mut facts = Vec::new();
    for n in 0..4 {
        let line = format!("fact store --entity a --key k{} --value v{n} --format id", n % 3);
        facts.push(run(&world, &line, ""));
    }
    run(&world, "handoff keygen mac.key", "");
    run(&world, "handoff keygen --ed25519 sign.key", "");
    run(&world, "handoff keygen --ed25519 other.key", "");
    run(&world, "handoff trust add alice sign.key.pub", "");
    for (name, key) in [("first", "--key-file mac.key"), ("second", "--sign-key sign.key --agent alice")] {
        let args = format!("handoff create a --include-facts {key}");
        let args: Vec<&str> = args.split(' ').collect();
        let answer = faults::run(faults::seeded(&world, &args, 500), b"").ends(0);
        fs::write(world.beside(name), &answer.stdout).unwrap();
    }
    for key in ["k", "held", "blocked", "done"] {
        run(&world, &format!("durable open --target t --kind flow --key {key}"), "");
        run(&world, &format!("durable send --target t --key {key}"), "{\"n\":1}");
        run(&world, &format!("durable subscribe --target t --key {key} --signal s"), "");
    }
    for key in ["held", "blocked", "done"] {
        run(&world, &format!("durable claim --target t --key {key} --lease 10000h"), "");
    }
    run(&world, &format!("durable block {}", held(&world, "blocked")), "");
    run(&world, &format!("durable complete {}", held(&world, "done")), "[1]");
    run(&world, "durable close --target t --key done", "");
    let accept = fs::read_to_string(world.beside("first")).unwrap();
    run(&world, "handoff accept --key-file mac.key --agent bob", &accept);
    // The second has not been accepted yet.
    Lived { world, case, facts }
}

/// The work that is under way in a durable session, by its key, and the fence of its last claim.
fn held(world: &World, key: &str) -> String {
    let seen = world.run(&["durable", "inspect", "--target", "t", "--key", key, "--json"]).ends(0).json();
    format!("--fence {} --work {}", seen["fence"], seen["work_id"].as_str().unwrap())
}

/// Damage of several kinds between good records.
fn damaged() -> Files {
    let line = |id: &str| session_line(id, "{\"n\":1}");
    let sessions = [
        line("a"),
        "{\"op\":\"store\",\"sess".to_owned() + &line("b"),
        "\0\0\0\0".to_owned() + &line("c"),
        "not json at all".to_owned(),
        line("d"),
    ];
    let mut files = Files::new();
    files.insert("data/sessions.jsonl".into(), (sessions.join("\n") + "\n").into_bytes());
    files
}

/// Every verb that writes, in the directories in which it matters.
pub fn cases() -> Vec<Case> {
    let Lived { world, case, facts } = lived();
    let full = Arc::new(files_of(&world));
    let second = full[Path::new("second")].clone();
    let mut with_torn_tail = (*full).clone();
    for (file, tail) in
        [("sessions", "{\"op\":\"store\",\"sess"), ("cases", "{\"op\":\"reco"), ("facts", "{\"op\":\"store\"")]
    {
        with_torn_tail.get_mut(Path::new(&format!("data/{file}.jsonl"))).unwrap().extend_from_slice(tail.as_bytes());
    }
    let with_torn_tail = Arc::new(with_torn_tail);
    let mut without_end = (*full).clone();
    without_end.get_mut(Path::new("data/sessions.jsonl")).unwrap().pop();
    let without_end = Arc::new(without_end);
    // Long enough to have an index.
    let mut long = (*full).clone();
    let text: String =
        (0..400).map(|n| session_line(&format!("s{n}"), &format!("\"{}\"", "x".repeat(3_000))) + "\n").collect();
    long.get_mut(Path::new("data/sessions.jsonl")).unwrap().extend_from_slice(text.as_bytes());
    let long = Arc::new(long);
    let nothing = Arc::new(Files::new());
    let damaged = Arc::new(damaged());

    let mut cases = Vec::new();
    let mut add = |name: &str, line: String, input: &[u8], files: &Arc<Files>| {
        let place = [(&nothing, " (nothing there)"), (&with_torn_tail, " (torn tail)"), (&long, " (with an index)")];
        let place = place.iter().find(|(own, _)| Arc::ptr_eq(own, files)).map_or("", |(_, place)| place);
        cases.push(Case {
            name: format!("{name}{place}"),
            args: line.split(' ').map(str::to_owned).collect(),
            input: input.to_vec(),
            files: Arc::clone(files),
            half: match name {
                "handoff accept" | "journal repair all" => Half::Steps,
                "case import" | "case import --atomic" | "durable publish" => Half::Records,
                "handoff keygen" => Half::Files,
                _ => Half::Never,
            },
            replaces: name.starts_with("journal repair") || name.starts_with("journal compact"),
            damaged: Arc::ptr_eq(files, &with_torn_tail) && !name.starts_with("journal repair"),
        });
    };
    // Longer than what is left in a page of a file.
    let state = format!("{{\"n\":3,\"s\":\"{}\"}}", "x".repeat(9_000));
    let state = state.as_bytes();
    for files in [&nothing, &full, &with_torn_tail, &without_end, &long] {
        add("session put", "session put new".into(), state, files);
    }
    for files in [&full, &long] {
        add("session put over", "session put a --ttl 1h".into(), state, files);
        add("session delete", "session delete a".into(), b"", files);
    }
    add("session archive", "session archive a".into(), b"", &full);
    add("session unarchive", "session unarchive c".into(), b"", &full);
    add("session reap", "session reap".into(), b"", &full);
    add("session restore", "session restore a --rev 1".into(), b"", &full);
    let task = "--task roll-back --action revert --outcome well";
    for files in [&nothing, &full, &with_torn_tail] {
        add("case record", format!("case record {task}"), b"", files);
    }
    add("case delete", format!("case delete {case}"), b"", &full);
    add("case reuse", format!("case reuse {case}"), b"", &full);
    let import: String = (0..3)
        .map(|n| format!("{{\"task\":\"t{n}\",\"action\":\"a\",\"outcome\":\"o\",\"success\":true}}\n"))
        .collect();
    add("case import", "case import".into(), import.as_bytes(), &full);
    add("case import --atomic", "case import --atomic".into(), import.as_bytes(), &full);
    for files in [&nothing, &full, &with_torn_tail] {
        add("fact store", "fact store --entity e --key k --value v".into(), b"", files);
    }
    add("fact delete", format!("fact delete {}", facts[1]), b"", &full);
    add("fact supersede", format!("fact supersede {} --by {}", facts[1], facts[2]), b"", &full);
    add("fact validity", format!("fact validity {} --to 2027-01-01T00:00:00Z", facts[1]), b"", &full);
    add("handoff keygen", "handoff keygen --ed25519 new.key".into(), b"", &full);
    add("handoff trust add", "handoff trust add bob other.key.pub".into(), b"", &full);
    add("handoff trust remove", "handoff trust remove alice".into(), b"", &full);
    add("handoff accept", "handoff accept --agent carol".into(), &second, &full);
    for files in [&nothing, &full] {
        add("durable open", "durable open --target t --kind flow --key new".into(), b"", files);
    }
    add("durable fork", "durable fork --target t --key k".into(), b"", &full);
    add("durable send", "durable send --target t --key k".into(), state, &full);
    add("durable send again", "durable send --target t --key k --idempotency-key i".into(), b"2", &full);
    add("durable send-many", "durable send-many --target t --key k".into(), b"[1]\n[2]\n[3]\n", &full);
    add("durable claim", "durable claim --target t --key k".into(), b"", &full);
    let held = held(&world, "held");
    add("durable renew", format!("durable renew --lease 1h {held}"), b"", &full);
    add("durable checkpoint", format!("durable checkpoint {held}"), b"[1]", &full);
    add("durable complete", format!("durable complete {held}"), b"[1]", &full);
    add("durable fail", format!("durable fail {held}"), b"", &full);
    add("durable block", format!("durable block {held}"), b"", &full);
    add("durable unblock", "durable unblock --target t --key blocked".into(), b"", &full);
    add("durable publish", "durable publish --signal s --occurrence o".into(), b"[1]", &full);
    add("durable close", "durable close --target t --key k".into(), b"", &full);
    add("durable kill", "durable kill --target t --key held".into(), b"", &full);
    add("durable delete", "durable delete --target t --key done".into(), b"", &full);
    add("journal compact durable", "journal compact durable".into(), b"", &full);
    add("journal compact sessions", "journal compact sessions".into(), b"", &full);
    add("journal compact sessions", "journal compact sessions".into(), b"", &long);
    add("journal compact cases", "journal compact cases".into(), b"", &full);
    add("journal compact facts", "journal compact facts".into(), b"", &full);
    add("journal repair", "journal repair sessions --apply".into(), b"", &damaged);
    add("journal repair all", "journal repair --apply".into(), b"", &with_torn_tail);
    add("journal check", "journal check".into(), b"", &long);
    add("journal check --accept", "journal check --accept".into(), b"", &full);
    add("journal report", "journal report --html page.html".into(), b"", &full);
    cases
}
