//! Random operations of all nouns, with failing calls, deaths, reboots and torn writes between them, against plain maps.
//!
//! What was acknowledged is in the maps. What was not may be there or not, and whichever it is, it stays so. A reboot loses
//! what was never synced: the tails that killed writers have left, and whatever is only kept to be faster.

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::PathBuf;

use cruxctl::store::durable::identity;
use serde_json::{Value, json};

use crate::faults::{self, Fault};
use crate::state;
use crate::support::{Answer, World, split_ids};
use crate::tally::{Dice, Plan, Tally, spread};

/// How many operations one directory lives.
const STEPS: u64 = 60;

/// What a directory adds up to: of each journal, ids and what is kept of them.
type Maps = BTreeMap<&'static str, BTreeMap<String, Value>>;

/// Does all of it.
pub fn run(plan: &Plan) -> Vec<Tally> {
    let tally = Tally::new("random operations, faults and reboots against plain maps");
    let lives = plan.life.map_or(0..if plan.long { 1_500 } else { 40 }, |life| life..life + 1);
    let lives: Vec<u64> = lives.collect();
    spread(&lives, |life| {
        let story = || format!("--only model --seed {} --life {life}", plan.seed);
        tally.try_it(story, || {
            let tells = plan.life.is_some();
            Life { tells, ..Life::new(Dice::new(plan.seed << 32 | *life), life % 2 == 1) }.run(&tally);
            "directories proved".to_owned()
        });
    });
    vec![tally]
}

/// One directory.
struct Life {
    world: World,
    dice: Dice,
    maps: Maps,
    seed: u64,
    /// How long each file is on disk, by its number.
    synced: BTreeMap<u64, u64>,
    /// Whether a reboot may leave NUL bytes where something was never synced; else it is only cut.
    zeros: bool,
    /// Whether each step is told.
    tells: bool,
    /// Journals whose names are not on disk yet: each with another name of the file that it was before.
    replaced: BTreeMap<PathBuf, PathBuf>,
}

impl Life {
    fn new(dice: Dice, zeros: bool) -> Life {
        let world = World::new().damaged();
        fs::write(world.beside("boot"), "00000000-0000-0000-0000-000000000000\n").unwrap();
        // Envelopes of another directory.
        let other = World::new().damaged();
        other.put("s1", "{\"from\":\"elsewhere\"}");
        other.run(&["handoff", "keygen", "mac.key"]).ends(0);
        fs::copy(other.beside("mac.key"), world.beside("mac.key")).unwrap();
        for n in 0..4 {
            let answer =
                other.run(&["handoff", "create", "s1", "--key-file", "mac.key", "--message", &n.to_string()]);
            fs::write(world.beside(&format!("envelope{n}")), answer.ends(0).stdout).unwrap();
        }
        let maps = observed(&world);
        Life { world, dice, maps, seed: 0, synced: BTreeMap::new(), zeros, tells: false, replaced: BTreeMap::new() }
    }

    fn run(mut self, tally: &Tally) {
        for _ in 0..STEPS {
            let word = self.step();
            tally.count(word, 1);
            if self.dice.below(8) == 0 {
                self.reboot();
                tally.count("reboots", 1);
            }
        }
        // In the end nothing but torn lines is wrong, and no map is another one afterwards.
        self.world.run(&["journal", "repair", "--apply", "--quiet"]).ends(0);
        self.holds("after the last repair");
        self.world.run(&["journal", "check", "--full"]).ends(0);
        for journal in ["sessions", "cases", "facts", "durable"] {
            let mut answer = self.world.run(&["journal", "compact", journal]);
            if answer.code() == "refused.damage" && self.zeros {
                // The witness itself was damaged: nobody but the operator can say that the journal is right.
                self.world.run(&["journal", "check", journal, "--accept"]).ends(0);
                answer = self.world.run(&["journal", "compact", journal]);
            }
            // A handoff that is half accepted comes first.
            assert!(answer.status == 0 || answer.code() == "refused.open", "{answer:?}");
        }
        self.holds("after the last compaction");
        self.world.run(&["journal", "check", "--full"]).ends(0);
    }

    /// One operation; how it went, in a word.
    fn step(&mut self) -> &'static str {
        let (args, input) = self.operation();
        let args: Vec<&str> = args.split(' ').collect();
        self.seed += 1;
        let fault = match self.dice.below(10) {
            0 | 1 => Some(Fault {
                calls: "open,write,pwrite,fdatasync,fsync,ftruncate,flock,rename,unlink,mkdir",
                how: *self.dice.of::<&'static str>(&["kill-before", "kill-half", "kill-after"]),
                nth: u32::try_from(self.dice.below(40)).unwrap() + 1,
                on: false,
            }),
            2 => Some(Fault {
                calls: *self.dice.of::<&'static str>(&[
                    "write,pwrite",
                    "fdatasync,fsync",
                    "rename",
                    "open",
                    "read",
                    "stat",
                ]),
                how: *self.dice.of::<&'static str>(&["errno:5", "errno:28", "short", "short+errno:28"]),
                nth: u32::try_from(self.dice.below(12)).unwrap() + 1,
                on: self.dice.below(3) == 0,
            }),
            _ => None,
        };
        let before: Vec<(PathBuf, PathBuf)> = journals(&self.world)
            .into_iter()
            .map(|(path, _)| {
                let name = path.file_name().unwrap().to_str().unwrap();
                let other = self.world.beside(&format!("before-{}-{name}", self.seed));
                fs::hard_link(&path, &other).unwrap();
                (path, other)
            })
            .collect();
        let (answer, happened) = match &fault {
            Some(fault) => faults::hit(&self.world, &args, input.as_bytes(), self.seed, fault),
            None => (faults::run(faults::seeded(&self.world, &args, self.seed), input.as_bytes()), None),
        };
        let story = format!("{args:?} with {fault:?} (at {happened:?}): {answer:?}");
        if self.tells {
            eprintln!("{}: {story}", self.seed);
        }
        let now = observed(&self.world);
        let after = self.after(&args, &input, &answer, &now);
        let (old, new) = (now == self.maps, after.as_ref().is_none_or(|after| now == *after));
        match answer.status {
            0 => assert!(new, "{story}\nis {now:#?}, not {after:#?}"),
            1..=6 => assert!(old, "{story}\nis {now:#?}, and was {:#?}", self.maps),
            // A handoff may be half loaded, and is completed later.
            _ => assert!(old || new || args[1] == "accept", "{story}\nis {now:#?}, and was {:#?}", self.maps),
        }
        assert!(fault.is_some() || matches!(answer.status, 0 | 1 | 3 | 5), "{story}");
        self.learn(&before);
        self.maps = now;
        self.one_count();
        match answer.status {
            0 => "done",
            137 => "killed",
            _ => "refused or failed",
        }
    }

    fn operation(&mut self) -> (String, String) {
        let id = format!("s{}", self.dice.below(6));
        let n = self.dice.below(1_000);
        let one = |maps: &Maps, dice: &mut Dice, journal: &str| {
            let ids: Vec<String> = maps[journal].keys().cloned().collect();
            if ids.is_empty() { "nothing".to_owned() } else { dice.of(&ids).clone() }
        };
        let (case, fact) = (one(&self.maps, &mut self.dice, "cases"), one(&self.maps, &mut self.dice, "facts"));
        let none = String::new();
        match self.dice.below(26) {
            0..5 => {
                (format!("session put {id}"), format!("{{\"n\":{n},\"s\":\"}}{{\\n{}\"}}", "é".repeat(n as usize)))
            }
            5 | 6 => (format!("session delete {id}"), none),
            7 => (format!("session archive {id}"), none),
            8 => (format!("session unarchive {id}"), none),
            9 | 10 => (format!("case record --task t{n} --action a --outcome o --format id"), none),
            11 => (format!("case delete {case}"), none),
            12 => (format!("case reuse {case}"), none),
            13 | 14 => (format!("fact store --entity e --key k{} --value v{n} --format id", n % 4), none),
            15 => (format!("fact delete {fact}"), none),
            16 => (format!("handoff accept envelope{} --key-file mac.key --agent bob", n % 4), none),
            17 | 18 => {
                let journals = ["sessions", "cases", "facts", "durable"];
                (format!("journal compact {}", self.dice.of::<&str>(&journals)), none)
            }
            21 => (format!("durable open --key k{} --target t --kind flow", n % 4), none),
            22..25 => (format!("durable send --key k{} --target t", n % 4), format!("{{\"n\":{n}}}")),
            25 => (format!("durable kill --key k{} --target t", n % 4), none),
            19 => ("journal repair --apply".to_owned(), none),
            20 => ("journal check".to_owned(), none),
            _ => ("journal check --accept".to_owned(), none),
        }
    }

    /// The maps after an operation that was done; `None` where they are what the directory says.
    fn after(&self, args: &[&str], input: &str, answer: &Answer, now: &Maps) -> Option<Maps> {
        let mut maps = self.maps.clone();
        let text = answer.text();
        match args[..2] {
            ["session", "put"] => {
                let state: Value = serde_json::from_str(input).unwrap();
                of(&mut maps, "sessions").insert(args[2].to_owned(), json!([state, false]));
            }
            ["session", "delete"] => drop(of(&mut maps, "sessions").remove(args[2])),
            ["session", verb @ ("archive" | "unarchive")] => {
                if let Some(session) = of(&mut maps, "sessions").get_mut(args[2]) {
                    session[1] = json!(verb == "archive");
                }
            }
            ["case", "record"] => {
                // Who was killed has said no id.
                let id = match text.trim() {
                    "" => now["cases"].keys().find(|id| !self.maps["cases"].contains_key(*id))?.clone(),
                    id => id.to_owned(),
                };
                of(&mut maps, "cases").insert(id, json!(args[3]));
            }
            ["case", "delete"] => drop(of(&mut maps, "cases").remove(args[2])),
            ["case", "reuse"] => {
                let times = of(&mut maps, "reuse").get(args[2]).and_then(Value::as_u64).unwrap_or_default();
                of(&mut maps, "reuse").insert(args[2].to_owned(), json!(times + 1));
            }
            ["fact", "store"] => {
                let id = match text.trim() {
                    "" => now["facts"].keys().find(|id| !self.maps["facts"].contains_key(*id))?.clone(),
                    id => id.to_owned(),
                };
                of(&mut maps, "facts").insert(id, json!([args[5], args[7]]));
            }
            ["fact", "delete"] => drop(of(&mut maps, "facts").remove(args[2])),
            ["durable", verb] => {
                let id = identity::Keyed::of("default", "t", args[3]).session_id;
                let durable = of(&mut maps, "durable");
                match (verb, durable.get_mut(&id)) {
                    ("open", None) => drop(durable.insert(id, json!([0, "ready"]))),
                    ("send", Some(session)) => session[0] = json!(session[0].as_u64().unwrap() + 1),
                    ("kill", Some(session)) => session[1] = json!("killed"),
                    _ => {}
                }
            }
            ["handoff", "accept"] => {
                let count = self.maps["handoffs"].values().filter(|state| *state == "accepted").count();
                of(&mut maps, "sessions")
                    .insert("__agent_session::bob::s1".to_owned(), json!([{"from": "elsewhere"}, false]));
                let own = now["handoffs"].values().filter(|state| *state == "accepted").count();
                assert!(answer.status != 0 || own == count + 1, "{answer:?}");
                maps.insert("handoffs", now["handoffs"].clone());
            }
            _ => {}
        }
        Some(maps)
    }

    /// The machine goes down and comes up again.
    fn reboot(&mut self) {
        let lens = |life: &Life| {
            let journals = journals(&life.world).into_iter().map(|(path, bytes)| (path, bytes.len() as u64, 0));
            journals
                .chain(life.kept_now())
                .map(|(path, len, _)| (path.file_name().unwrap().to_owned(), len))
                .collect::<Vec<_>>()
        };
        let before = lens(self);
        let boot = format!("{:08x}-0000-4000-8000-{:012x}\n", self.dice.below(1 << 32), self.dice.below(1 << 48));
        fs::write(self.world.beside("boot"), boot).unwrap();
        // A name that was not yet on disk is the old one again.
        for (path, other) in std::mem::take(&mut self.replaced) {
            if self.dice.below(2) == 0 {
                fs::rename(other, path).unwrap();
            }
        }
        for (path, bytes) in journals(&self.world) {
            let file = fs::metadata(&path).unwrap().ino();
            let synced = self.synced.get(&file).copied().unwrap_or_default();
            let synced = usize::try_from(synced).unwrap().min(bytes.len());
            let tail = bytes.len() - synced;
            if tail == 0 {
                continue;
            }
            let mut torn = bytes.clone();
            let at = synced + usize::try_from(self.dice.below(tail as u64 + 1)).unwrap();
            match self.dice.below(3) {
                0 => torn.truncate(at),
                // Its length was written, and its bytes were not.
                1 => torn[at..].fill(0),
                _ => {}
            }
            let file = fs::OpenOptions::new().write(true).open(&path).unwrap();
            std::os::unix::fs::FileExt::write_all_at(&file, &torn, 0).unwrap();
            file.set_len(torn.len() as u64).unwrap();
        }
        for (path, len, file) in self.kept_now() {
            let synced = self.synced.get(&file).copied().unwrap_or_default().min(len);
            let at = synced + self.dice.below(len - synced + 1);
            let file = fs::OpenOptions::new().write(true).open(&path).unwrap();
            match self.dice.below(4) {
                0 => file.set_len(at).unwrap(),
                1 if self.zeros => {
                    let zeros = vec![0; usize::try_from((len - at).min(512)).unwrap()];
                    std::os::unix::fs::FileExt::write_all_at(&file, &zeros, at).unwrap();
                }
                _ => {}
            }
        }
        if self.tells {
            eprintln!("reboot: {:?}\n     -> {:?}", before, lens(self));
        }
        // What was never acknowledged may have gone with it.
        self.maps = observed(&self.world);
        self.one_count();
    }

    /// Takes note of what the last command has put on disk. `before`: the journals, each with another name of its file.
    fn learn(&mut self, before: &[(PathBuf, PathBuf)]) {
        let log = self.world.beside("syncs");
        for line in fs::read_to_string(&log).unwrap_or_default().lines() {
            let [what, len, file, path] = line.splitn(4, ' ').collect::<Vec<_>>()[..] else { panic!("{line}") };
            let path = PathBuf::from(path);
            match what {
                "rename" => {
                    if let Some((_, other)) = before.iter().find(|(journal, _)| *journal == path) {
                        self.replaced.entry(path).or_insert_with(|| other.clone());
                    }
                }
                _ if path.is_dir() => self.replaced.retain(|journal, _| journal.parent() != Some(path.as_path())),
                _ => drop(self.synced.insert(file.parse().unwrap(), len.parse().unwrap())),
            }
        }
        let _ = fs::remove_file(log);
    }

    /// The files that are only kept to be faster: path, length, and which file it is.
    fn kept_now(&self) -> Vec<(PathBuf, u64, u64)> {
        let entries = fs::read_dir(self.world.dir().join("cruxctl/index")).into_iter().flatten().flatten();
        let all = entries.filter_map(|entry| {
            let data = entry.metadata().ok()?;
            Some((entry.path(), data.len(), data.ino()))
        });
        all.collect()
    }

    /// Whether the directory adds up to the maps.
    fn holds(&self, when: &str) {
        let now = observed(&self.world);
        assert!(now == self.maps, "{when} it is {now:#?}, and was {:#?}", self.maps);
    }

    /// What the tool says is there is what is there.
    fn one_count(&mut self) {
        // One of them each time: over many steps it is all of them.
        let (journal, args): (&str, &[&str]) = match self.dice.below(4) {
            0 => ("sessions", &["session", "list", "--all", "--all-agents", "--format", "id", "-0", "--damaged-ok"]),
            1 => ("sessions", &["journal", "export", "sessions", "--format", "id", "-0", "--damaged-ok"]),
            2 => ("cases", &["case", "list", "--format", "id", "-0", "--damaged-ok"]),
            _ => ("cases", &["journal", "export", "cases", "--format", "id", "-0", "--damaged-ok"]),
        };
        let answer = faults::run(faults::seeded(&self.world, args, 0), b"");
        let ids: Vec<String> = self.maps[journal].keys().cloned().collect();
        assert_eq!(split_ids(&answer.stdout), ids, "{args:?}: {answer:?}");
    }
}

fn of<'m>(maps: &'m mut Maps, journal: &str) -> &'m mut BTreeMap<String, Value> {
    maps.get_mut(journal).unwrap()
}

/// Every journal with its bytes.
fn journals(world: &World) -> Vec<(PathBuf, Vec<u8>)> {
    let folders = [world.dir(), world.dir().join("cruxctl")];
    let entries = folders.iter().flat_map(|folder| fs::read_dir(folder).into_iter().flatten().flatten());
    let paths = entries.map(|entry| entry.path()).filter(|path| path.extension().is_some_and(|end| end == "jsonl"));
    paths.map(|path| (path.clone(), fs::read(&path).unwrap())).collect()
}

/// What a directory adds up to, read with nothing but a JSON parser.
fn observed(world: &World) -> Maps {
    let (state, _) = state::read(world);
    let mut maps = Maps::new();
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let mut each = |name: &'static str, file: &str, fold: &dyn Fn(&mut BTreeMap<String, Value>, &Value)| {
        let map = maps.entry(name).or_default();
        state.events.get(file).into_iter().flatten().for_each(|event| fold(map, event));
    };
    each("sessions", "sessions.jsonl", &|map, event| match text(&event["op"]).as_str() {
        "delete" => drop(map.remove(&text(&event["session_id"]))),
        _ => {
            let session = &event["session"];
            map.insert(text(&session["session_id"]), json!([session["state"], session["archived"]]));
        }
    });
    each("cases", "cases.jsonl", &|map, event| match text(&event["op"]).as_str() {
        "delete" => drop(map.remove(&text(&event["case_id"]))),
        _ => drop(map.insert(text(&event["case"]["case_id"]), event["case"]["task"].clone())),
    });
    each("facts", "facts.jsonl", &|map, event| match text(&event["op"]).as_str() {
        "delete" => drop(map.remove(&text(&event["fact_id"]))),
        "store" if event["fact"]["deleted"] == false => {
            let fact = &event["fact"];
            map.insert(text(&fact["fact_id"]), json!([fact["key"], fact["value"]]));
        }
        _ => {}
    });
    each("reuse", "cruxctl/reuse.jsonl", &|map, event| {
        drop(map.insert(text(&event["case_id"]), event["times"].clone()))
    });
    each("durable", "cruxctl/durable.jsonl", &|map, event| {
        let session = &event["session"];
        drop(map.insert(text(&session["session_id"]), json!([session["accepted"], session["state"]])));
    });
    each("handoffs", "cruxctl/handoffs.jsonl", &|map, event| {
        drop(map.insert(text(&event["content_hash"]), event["state"].clone()));
    });
    maps
}
