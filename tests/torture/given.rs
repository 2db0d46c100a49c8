//! What lies in `tests/data`, as directories, and what is in them.

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde_json::Value;

use crate::journals::KINDS;
use crate::reader::{self, Line};
use crate::support::{World, tree};
use crate::tally::{Dice, Plan};

pub const JOURNALS: [&str; 7] = ["sessions", "cases", "facts", "reuse", "handoffs", "trust", "durable"];

/// A data directory.
pub struct Fixture {
    pub name: String,
    /// Its files, by path.
    pub files: BTreeMap<String, Vec<u8>>,
    /// What the daemon makes of it, where somebody has asked it.
    pub manifest: Value,
}

/// What a journal has, by the model.
#[derive(Debug, Default)]
pub struct Told {
    pub unreadable: u64,
    pub doubtful: u64,
    /// How many ids are live, where the last record of an id wins.
    pub live: Option<u64>,
    /// The ids that are there.
    pub ids: Vec<String>,
}

/// Whose ids are typed.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Who {
    /// Those of nobody.
    pub nobody: bool,
    pub session: Option<String>,
    pub case: Option<String>,
    pub fact: Option<String>,
    pub handoff: Option<String>,
    pub key: Option<String>,
    pub durable: Option<String>,
}

/// Every file below `tests/data`, by its path there.
pub fn files() -> Vec<PathBuf> {
    fn below(folder: &Path, found: &mut Vec<PathBuf>) {
        for entry in fs::read_dir(folder).unwrap().flatten() {
            let path = entry.path();
            // What somebody has kept there who tried the tool in the tree is not part of it.
            if path.is_dir() && !path.ends_with("cruxctl") {
                below(&path, found);
            } else if path.is_file() {
                found.push(path.strip_prefix(tree("tests/data")).unwrap().to_owned());
            }
        }
    }
    let mut found = Vec::new();
    below(&tree("tests/data"), &mut found);
    found.sort();
    assert!(found.len() > 60, "fixtures are missing: {}", found.len());
    found
}

fn json(path: &Path) -> Value {
    serde_json::from_slice(&fs::read(tree("tests/data").join(path)).unwrap()).unwrap()
}

impl Fixture {
    /// All of them. In the short form the directories of one line are left to the long one but for a few.
    pub fn all(plan: &Plan) -> Vec<Fixture> {
        let mut folders: BTreeMap<PathBuf, BTreeMap<String, Vec<u8>>> = BTreeMap::new();
        let mut lines = Vec::new();
        let mut manifests = BTreeMap::new();
        for file in files() {
            let folder = file.parent().unwrap().to_owned();
            let name = file.file_name().unwrap().to_string_lossy().into_owned();
            if name.ends_with(".jsonl") {
                let bytes = fs::read(tree("tests/data").join(&file)).unwrap();
                folders.entry(folder).or_default().insert(name, bytes);
            } else if name == "manifest.json" {
                // A directory without a journal is an empty one.
                folders.entry(folder.join("data")).or_default();
                manifests.insert(folder.join("data"), json(&file));
            } else if let Some(journal) = name.strip_suffix("_lines.json") {
                for line in json(&file)["lines"].as_array().unwrap() {
                    // One of 65 MiB is not stored.
                    let Some(bytes) = line["file_b64"].as_str() else { continue };
                    let bytes = STANDARD.decode(bytes).unwrap();
                    let files = BTreeMap::from([(format!("{journal}.jsonl"), bytes)]);
                    let name = format!("{}: {}", file.display(), line["name"].as_str().unwrap());
                    lines.push(Fixture { name, files, manifest: Value::Null });
                }
            }
        }
        let mut all: Vec<Fixture> = folders
            .into_iter()
            .map(|(folder, files)| {
                let manifest = manifests.remove(&folder).unwrap_or_default();
                Fixture { name: folder.display().to_string(), files, manifest }
            })
            .collect();
        let own = KINDS.iter().map(|kind| (kind.journal.file.to_owned(), kind.lines().concat()));
        let own: BTreeMap<String, Vec<u8>> = own.collect();
        let mut torn = own.clone();
        torn.values_mut().for_each(|bytes| bytes.truncate(bytes.len() - 20));
        for (name, files) in [("every journal with odd records", own), ("the same with torn tails", torn)] {
            all.push(Fixture { name: name.to_owned(), files, manifest: Value::Null });
        }
        let mut dice = Dice::new(plan.seed);
        while !plan.long && lines.len() > 6 {
            let at = usize::try_from(dice.below(lines.len() as u64)).unwrap();
            lines.swap_remove(at);
        }
        all.extend(lines);
        all
    }

    /// A world of its own.
    pub fn world(&self) -> World {
        let world = World::new().damaged();
        fs::create_dir_all(world.dir()).unwrap();
        for (path, bytes) in &self.files {
            let path = world.dir().join(path);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, bytes).unwrap();
        }
        beside(&world);
        world
    }

    /// What the daemon counts in it.
    pub fn daemon_counts(&self, journal: &str) -> Option<u64> {
        let replay = &self.manifest["replay"][journal];
        // Where it loses something, or does not start, it counts fewer.
        let whole = replay["error"].is_null() && self.told(journal).unreadable == 0;
        replay["count"].as_u64().filter(|_| whole && !self.name.contains("/bom/"))
    }

    /// What a journal of it has.
    pub fn told(&self, journal: &str) -> Told {
        let bytes = self.files.iter().find(|(path, _)| path.ends_with(&format!("{journal}.jsonl")));
        let mut told = Told::default();
        let mut live = BTreeMap::new();
        for (n, line) in bytes.map_or(&[][..], |(_, bytes)| bytes).split(|byte| *byte == b'\n').enumerate() {
            match reader::line(journal, line) {
                Line::Event(Some((id, true))) => drop(live.insert(id, n)),
                Line::Event(Some((id, false))) => drop(live.remove(&id)),
                Line::Event(None) => {
                    let line: Value = serde_json::from_slice(line).unwrap_or_default();
                    // Those of the daemon's own entities replace each other.
                    let own = line["fact"]["entity"].as_str().is_some_and(|entity| entity.starts_with("__"));
                    let id = line["fact"]["fact_id"].as_str().filter(|_| !own && line["op"] == "store");
                    live.extend(id.map(|id| (id.to_owned(), n)));
                    let replaced = line["replaced_fact_ids"].as_array().into_iter().flatten();
                    for gone in replaced.chain([&line["fact_id"]].into_iter().filter(|_| line["op"] == "delete")) {
                        live.remove(gone.as_str().unwrap_or_default());
                    }
                }
                Line::Unreadable => told.unreadable += 1,
                Line::Doubtful => told.doubtful += 1,
                Line::Blank | Line::Foreign => {}
            }
        }
        told.live = (journal != "facts").then_some(live.len() as u64);
        // A command line has no NUL byte.
        told.ids = live.into_keys().filter(|id| !id.contains('\0')).collect();
        told
    }

    /// Whose ids are typed: of nobody, and of some that are there.
    pub fn whos(&self, plan: &Plan, told: &[Told; 7]) -> Vec<Who> {
        let mut dice = Dice::new(plan.seed);
        let mut whos = vec![Who { nobody: true, ..Who::default() }];
        for _ in 0..if plan.long { 4 } else { 1 } {
            let mut one = |told: &Told| (!told.ids.is_empty()).then(|| dice.of(&told.ids).clone());
            let [session, case, fact, _, handoff, key, durable] = told;
            whos.push(Who {
                nobody: false,
                session: one(session),
                case: one(case),
                fact: one(fact),
                handoff: one(handoff),
                key: one(key),
                durable: one(durable),
            });
        }
        whos.dedup();
        whos
    }
}

/// Puts the files beside a data directory that verbs are given: keys, an envelope, cases and a state.
pub fn beside(world: &World) {
    let keys = json(Path::new("envelopes/ed25519.json"));
    let envelope = fs::read(tree("tests/data/envelopes/02_valid_with_facts.json")).unwrap();
    let cases = fs::read(tree("tests/data/after-crash/cases.jsonl")).unwrap();
    let case = cases.split(|byte| *byte == b'\n').next().unwrap();
    let case: Value = serde_json::from_slice(case).unwrap();
    for (name, bytes) in [
        ("secret", b"golden-secret".to_vec()),
        ("sign.key", keys["private_file"].as_str().unwrap().as_bytes().to_vec()),
        ("bob.pub", keys["public_file"].as_str().unwrap().as_bytes().to_vec()),
        ("envelope", envelope),
        ("cases", format!("{}\n", case["case"]).into_bytes()),
    ] {
        fs::write(world.beside(name), bytes).unwrap();
        fs::set_permissions(world.beside(name), fs::Permissions::from_mode(0o600)).unwrap();
    }
}
