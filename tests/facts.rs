//! Facts are what the daemon makes of its journal, whatever happened to them; what is stored is stored as the daemon
//! stores it; and nobody sees what is not theirs.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::thread;

use cruxctl::error::Code;
use proptest::prelude::*;
use proptest::sample::{select, subsequence};
use serde_json::{Value, json};

use crate::support::{Answer, World, is_root, strace_is_waived, words};

const JOURNAL: &str = "facts.jsonl";
const NOW: &str = "2026-07-01T12:00:00Z";

/// A fact's document.
fn document(id: &str, tenant: &str, entity: &str, key: &str) -> Value {
    json!({
        "fact_id": id, "tenant_hash": tenant, "entity": entity, "key": key, "value": format!("value of {id}"),
        "source_receipt": null, "confidence": 0.5, "stored_at": "2026-01-01T00:00:00Z", "tokens": 3, "deleted": false,
        "version": 1, "private": false, "horizon_class": "none",
    })
}

fn store_line(document: &Value) -> String {
    json!({"op": "store", "fact": document}).to_string() + "\n"
}

fn simple(id: &str) -> String {
    store_line(&document(id, "default", "e", id))
}

fn fact(world: &World, line: &str) -> Answer {
    world.run(&[vec!["fact"], words(line)].concat())
}

/// Stores a fact; its id.
fn stored(world: &World, line: &str) -> String {
    fact(world, &format!("store {line}")).ends(0).text().trim_end().to_owned()
}

/// The rows of an answer in JSON.
fn rows(answer: &Answer, name: &str) -> Vec<Value> {
    answer.json()[name].as_array().unwrap().clone()
}

/// The ids of a list, in its order.
fn ids(world: &World, line: &str) -> Vec<String> {
    fact(world, &format!("{line} --format id")).lines()
}

fn events(world: &World) -> Vec<Value> {
    String::from_utf8(world.read(JOURNAL)).unwrap().lines().map(|l| serde_json::from_str(l).unwrap()).collect()
}

/// What a list with everything says of each fact, under the daemon's names.
fn all(world: &World) -> BTreeMap<String, Value> {
    let answer = fact(world, "list --all --deleted --all-agents --json").ends(0);
    let mut facts = BTreeMap::new();
    for mut row in rows(&answer, "facts") {
        let members = row.as_object_mut().unwrap();
        for (ours, theirs) in [("id", "fact_id"), ("tenant", "tenant_hash"), ("horizon", "horizon_class")] {
            let value = members.remove(ours).unwrap();
            members.insert(theirs.to_owned(), value);
        }
        members.retain(|name, value| !(value.is_null() || name == "access_count" && value == 0));
        facts.insert(row["fact_id"].as_str().unwrap().to_owned(), row);
    }
    facts
}

// ---- What the journal adds up to ----

#[test]
fn facts_are_what_the_daemon_makes_of_its_own_journals() {
    for name in ["small", "legacy"] {
        let world = World::copy_of(&format!("tests/data/daemon/{name}/data"));
        let text =
            fs::read_to_string(crate::support::tree(&format!("tests/data/daemon/{name}/expected.json"))).unwrap();
        let expected: Value = serde_json::from_str(&text).unwrap();
        let mut theirs: BTreeMap<String, Value> = serde_json::from_value(expected["facts"].clone()).unwrap();
        let mut ours = all(&world);
        for fact in theirs.values_mut().chain(ours.values_mut()) {
            let members = fact.as_object_mut().unwrap();
            members.retain(|_, value| !value.is_null());
            // The daemon holds it in 32 bits; there it is the same to the last of them.
            #[expect(clippy::cast_possible_truncation, reason = "as the daemon does")]
            let single = members["confidence"].as_f64().unwrap() as f32;
            members.insert("confidence".to_owned(), json!(single.to_bits()));
        }
        assert!(ours.len() >= 8 && ours == theirs, "{name}: {ours:#?} {theirs:#?}");
    }
}

/// The daemon's rules over whole documents, step by step and without an eye on cost.
#[derive(Default)]
struct Plain {
    facts: Vec<Value>,
    /// Ids whose facts later ones have removed.
    removed: BTreeSet<String>,
    /// Such an id was stored again, or a consolidation was recorded again with fewer sources. No writer does either: ids
    /// are new each time, and a consolidation is recorded once, with all of its sources.
    again: bool,
    consolidations: BTreeMap<String, Vec<String>>,
}

fn text<'v>(value: &'v Value, name: &str) -> &'v str {
    value[name].as_str().unwrap_or_default()
}

fn tenant(fact: &Value) -> &str {
    let tenant = text(fact, "tenant_hash");
    if tenant.trim().is_empty() { "default" } else { tenant }
}

fn chain(fact: &Value) -> (&str, &str, &str) {
    (tenant(fact), text(fact, "entity"), text(fact, "key"))
}

fn texts(value: &Value) -> Vec<String> {
    value.as_array().unwrap().iter().map(|id| id.as_str().unwrap().to_owned()).collect()
}

impl Plain {
    fn get(&mut self, id: &str) -> Option<&mut Value> {
        self.facts.iter_mut().find(|fact| fact["fact_id"] == id)
    }

    fn is_source(&self, id: &str) -> bool {
        self.consolidations.values().flatten().any(|source| source == id)
    }

    fn store(&mut self, fact: &Value) {
        if self.get(text(fact, "fact_id")).is_some() {
            return;
        }
        if text(fact, "entity").starts_with("__repo_scan__::") && fact["key"] == "content" {
            self.remove(&|before| chain(before) == chain(fact));
        }
        self.again |= self.removed.contains(text(fact, "fact_id"));
        self.facts.push(fact.clone());
    }

    fn remove(&mut self, which: &dyn Fn(&Value) -> bool) {
        let removed = self.facts.extract_if(.., |fact| which(fact));
        self.removed.extend(removed.map(|fact| text(&fact, "fact_id").to_owned()));
    }

    fn set(&mut self, id: &str, member: &str, value: Value) {
        if let Some(fact) = self.get(id) {
            fact[member] = value;
        }
    }

    fn take(&mut self, event: &Value) {
        let id = text(event, "fact_id").to_owned();
        match text(event, "op") {
            "store" => self.store(&event["fact"]),
            "store_batch" => event["facts"].as_array().unwrap().iter().for_each(|fact| self.store(fact)),
            "replace_latest" => {
                let replaced = texts(&event["replaced_fact_ids"]);
                let new = &event["fact"];
                self.remove(&|f| chain(f) == chain(new) && replaced.contains(&text(f, "fact_id").to_owned()));
                self.store(new);
            }
            "delete" if !self.is_source(&id) && !self.consolidations.contains_key(&id) => {
                self.set(&id, "deleted", json!(true));
            }
            "supersede" if !self.is_source(&id) => {
                let by = text(event, "by_fact_id");
                let owner = self.get(by).map(|fact| tenant(fact).to_owned());
                if owner.is_some() && self.get(&id).map(|fact| tenant(fact).to_owned()) == owner {
                    self.set(&id, "superseded_by", json!(by));
                }
            }
            "clear_supersede" if !self.is_source(&id) => self.set(&id, "superseded_by", Value::Null),
            "set_validity" => {
                self.set(&id, "valid_from", event["valid_from"].clone());
                self.set(&id, "valid_to", event["valid_to"].clone());
            }
            "consolidate" => {
                let (canonical, sources) = (&event["canonical"], texts(&event["superseded_fact_ids"]));
                let mut distinct = sources.clone();
                distinct.sort();
                distinct.dedup();
                let eligible = |fact: &Value| {
                    fact["deleted"] == false && fact["superseded_by"].is_null() && tenant(fact) == tenant(canonical)
                };
                let right = !sources.is_empty()
                    && distinct.len() == sources.len()
                    && sources.iter().all(|source| self.get(source).is_some_and(|fact| eligible(fact)))
                    && (canonical["supersedes"].is_null() || sources.contains(&text(canonical, "supersedes").into()))
                    && canonical["deleted"] == false
                    && self.get(text(canonical, "fact_id")).is_none();
                if right {
                    self.store(canonical);
                    self.bind(text(canonical, "fact_id"), sources);
                }
            }
            "consolidation_provenance" => {
                let (canonical, sources) = (text(event, "canonical_fact_id"), texts(&event["source_fact_ids"]));
                let edges = |fact: &mut Value| fact["superseded_by"] == canonical;
                if !sources.is_empty()
                    && sources.iter().all(|source| self.get(source).is_some_and(edges))
                    && self.get(canonical).is_some()
                {
                    self.bind(canonical, sources);
                }
            }
            "consolidate_undo" => {
                let (canonical, mut restored) =
                    (text(event, "canonical_fact_id"), texts(&event["restored_fact_ids"]));
                restored.sort();
                restored.dedup();
                if self.consolidations.get(canonical) == Some(&restored) {
                    self.consolidations.remove(canonical);
                    restored.iter().for_each(|source| self.set(source, "superseded_by", Value::Null));
                    self.set(canonical, "deleted", json!(true));
                }
            }
            _ => {}
        }
    }

    fn bind(&mut self, canonical: &str, mut sources: Vec<String>) {
        sources.iter().for_each(|source| self.set(source, "superseded_by", json!(canonical)));
        sources.sort();
        sources.dedup();
        let before = self.consolidations.insert(canonical.to_owned(), sources.clone());
        self.again |= before.is_some_and(|before| before.iter().any(|source| !sources.contains(source)));
    }

    /// The facts as the daemon has them after a replay.
    fn facts(&self) -> BTreeMap<String, Value> {
        let of = |id: &Value| self.facts.iter().find(|fact| fact["fact_id"] == *id);
        let mut facts = BTreeMap::new();
        for fact in &self.facts {
            let mut now = fact.clone();
            if of(&fact["superseded_by"]).is_some_and(|by| tenant(by) != tenant(fact)) {
                now["superseded_by"] = Value::Null;
            }
            if of(&fact["supersedes"]).is_some_and(|before| chain(before) != chain(fact)) {
                now["supersedes"] = Value::Null;
            }
            now["tenant_hash"] = json!(tenant(fact));
            now["private"] = json!(fact["private"] == true || text(fact, "entity").starts_with("__"));
            now.as_object_mut().unwrap().retain(|_, value| !value.is_null());
            facts.insert(text(fact, "fact_id").to_owned(), now);
        }
        facts
    }
}

const TENANTS: [&str; 3] = ["default", "t2", " "];

fn an_id() -> impl Strategy<Value = String> {
    (0..10).prop_map(|n| format!("f_{n}"))
}

fn maybe(of: impl Strategy<Value = String>) -> impl Strategy<Value = Value> {
    proptest::option::of(of).prop_map(|text| json!(text))
}

prop_compose! {
    fn a_fact()(
        id in an_id(),
        tenant in select(&TENANTS[..]),
        entity in select(&["e", "e2", "__repo_scan__::r", "__agent::alice::n"][..]),
        key in select(&["k", "content"][..]),
        supersedes in maybe(an_id()),
        superseded_by in proptest::option::weighted(0.1, an_id()),
        rest in (1..4u64, any::<bool>(), 0..20u8),
    ) -> Value {
        let mut fact = document(&id, tenant, entity, key);
        let (version, private, odds) = rest;
        fact["version"] = json!(version);
        fact["private"] = json!(private);
        fact["deleted"] = json!(odds == 0);
        fact["supersedes"] = supersedes;
        fact["superseded_by"] = json!(superseded_by);
        fact
    }
}

fn an_event() -> impl Strategy<Value = Value> {
    let list = || subsequence((0..10).map(|n| format!("f_{n}")).collect::<Vec<_>>(), 1..4);
    let at = "2026-02-01T00:00:00+00:00";
    let one = |op: &'static str, stamp: &'static str| {
        an_id().prop_map(move |id| json!({"op": op, "fact_id": id, stamp: at}))
    };
    prop_oneof![
        5 => a_fact().prop_map(|fact| json!({"op": "store", "fact": fact})),
        1 => proptest::collection::vec(a_fact(), 0..3).prop_map(|facts| json!({"op": "store_batch", "facts": facts})),
        1 => (a_fact(), list()).prop_map(|(fact, ids)| json!({"op": "replace_latest", "fact": fact, "replaced_fact_ids": ids})),
        2 => one("delete", "deleted_at"),
        1 => one("clear_supersede", "cleared_at"),
        3 => (an_id(), an_id()).prop_map(move |(id, by)| json!({"op": "supersede", "fact_id": id, "by_fact_id": by, "superseded_at": at})),
        1 => (an_id(), any::<bool>()).prop_map(move |(id, from)| {
            let mut event = json!({"op": "set_validity", "fact_id": id, "valid_to": "2026-09-01T00:00:00Z", "set_at": at});
            if from {
                event["valid_from"] = json!("2026-08-01T00:00:00Z");
            }
            event
        }),
        4 => (a_fact(), list()).prop_map(move |(mut fact, ids)| {
            fact["supersedes"] = Value::Null;
            fact["tenant_hash"] = json!("default");
            json!({"op": "consolidate", "canonical": fact, "superseded_fact_ids": ids, "consolidated_at": at})
        }),
        2 => (an_id(), list()).prop_map(move |(id, ids)| json!({
            "op": "consolidation_provenance", "canonical_fact_id": id, "source_fact_ids": ids, "tenant_hash": "default", "recorded_at": at,
        })),
        2 => (an_id(), list()).prop_map(move |(id, ids)| json!({
            "op": "consolidate_undo", "canonical_fact_id": id, "restored_fact_ids": ids, "undone_at": at,
        })),
    ]
}

/// Undoes a consolidation of the history with its own sources, which chance would not find.
fn with_undo(mut history: Vec<Value>) -> Vec<Value> {
    let sources = history.iter().rev().find(|event| event["op"] == "consolidate").cloned();
    if let Some(event) = sources.filter(|_| history.len().is_multiple_of(2)) {
        history.push(json!({
            "op": "consolidate_undo", "canonical_fact_id": event["canonical"]["fact_id"],
            "restored_fact_ids": event["superseded_fact_ids"], "undone_at": "2026-03-01T00:00:00+00:00",
        }));
    }
    history
}

fn lines(events: &[Value]) -> String {
    events.iter().map(|event| event.to_string() + "\n").collect()
}

fn plainly(text: &[u8]) -> BTreeMap<String, Value> {
    let mut plain = Plain::default();
    for line in std::str::from_utf8(text).unwrap().lines() {
        plain.take(&serde_json::from_str(line).unwrap());
    }
    plain.facts()
}

/// The same facts without the deleted ones, and without links that lead to what is not there.
fn lasting(mut facts: BTreeMap<String, Value>) -> BTreeMap<String, Value> {
    facts.retain(|_, fact| fact["deleted"] == false);
    facts
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(150))]

    #[test]
    fn any_history_of_facts_adds_up_as_the_daemons_rules_say_and_a_compaction_keeps_it(
        history in proptest::collection::vec(an_event(), 1..60).prop_map(with_undo),
    ) {
        let mut plain = Plain::default();
        history.iter().for_each(|event| plain.take(event));
        if plain.again {
            return Ok(());
        }
        let world = World::with(JOURNAL, lines(&history));
        let facts = plain.facts();
        prop_assert_eq!(all(&world), facts.clone());
        let told = world.run(&words("journal compact facts --json")).ends(0).json();
        let compacted = world.read(JOURNAL);
        let left = lasting(facts);
        prop_assert_eq!(all(&world), left.clone());
        // As another program reads what is left.
        prop_assert_eq!(plainly(&compacted), left.clone());
        prop_assert_eq!(told["journals"][0]["live"].as_u64().unwrap(), left.len() as u64);
        prop_assert_eq!(told["journals"][0]["after_bytes"].as_u64().unwrap(), compacted.len() as u64);
        for value in history.iter().map(|event| text(&event["fact"], "value")).filter(|value| !value.is_empty()) {
            let lives = left.values().any(|fact| fact["value"] == value);
            let there = String::from_utf8_lossy(&compacted).contains(value);
            // What an operator may share is not erased, though it is not seen here.
            prop_assert!(there == lives || (there && value_is_of_a_scan(&history, value)), "{}", value);
        }
        world.run(&words("journal compact facts")).ends(0);
        prop_assert!(world.read(JOURNAL) == compacted, "a second compaction has changed something");
        // Consolidations last as well, those of facts that are erased excepted: their sources cannot be deleted.
        plain.consolidations.retain(|canonical, sources| {
            let tenant_of = |id: &String| left.get(id).map(tenant);
            let edge = |id: &String| left.get(id).is_some_and(|fact| fact["superseded_by"] == canonical.as_str());
            sources.iter().all(|id| edge(id) && tenant_of(id) == tenant_of(canonical)) && left.contains_key(canonical)
        });
        for (id, fact) in plain.facts() {
            if fact["deleted"] == false {
                let status = fact_delete(&world, &id);
                let bound = plain.is_source(&id) || plain.consolidations.contains_key(&id);
                prop_assert_eq!(status, if bound { 5 } else { 0 }, "{}", id);
            }
        }
    }
}

/// Whether a fact with this value is of an entity of which the latest alone is kept, and says that it is not private.
fn value_is_of_a_scan(history: &[Value], value: &str) -> bool {
    let is = |fact: &Value| {
        fact["value"] == value && text(fact, "entity").starts_with("__repo_scan__") && fact["private"] == false
    };
    let all = |event: &Value| {
        let batch = event["facts"].as_array().cloned().unwrap_or_default();
        batch.into_iter().chain([event["fact"].clone(), event["canonical"].clone()]).collect::<Vec<_>>()
    };
    history.iter().flat_map(all).any(|fact| is(&fact))
}

/// What a trial of a delete ends with.
fn fact_delete(world: &World, id: &str) -> i32 {
    fact(world, &format!("delete {id} --all-agents --dry-run")).status
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(6))]

    #[test]
    fn an_index_answers_as_the_whole_journal_does_while_others_append(
        history in proptest::collection::vec(an_event(), 90..150).prop_map(with_undo),
    ) {
        let mut plain = Plain::default();
        history.iter().for_each(|event| plain.take(event));
        if plain.again {
            return Ok(());
        }
        let padding = "x".repeat(40_000);
        let padded: Vec<Value> = history.into_iter().map(|mut event| {
            event["padding"] = json!(padding);
            event
        }).collect();
        let world = World::new();
        fs::create_dir(world.dir()).unwrap();
        for part in padded.chunks(30) {
            world.append(JOURNAL, lines(part));
            prop_assert_eq!(all(&world), plainly(&world.read(JOURNAL)));
            let one = stored(&world, "--entity e --key k --value indexed");
            let facts = plainly(&world.read(JOURNAL));
            prop_assert_eq!(facts[&one]["value"].as_str(), Some("indexed"));
            prop_assert_eq!(all(&world), facts);
        }
        prop_assert!(world.dir().join("cruxctl/index/facts.index").exists());
        world.forget();
        prop_assert_eq!(all(&world), plainly(&world.read(JOURNAL)));
    }
}

// ---- Storing ----

#[test]
fn a_fact_is_stored_with_the_daemons_members_in_its_order_and_forms() {
    let world = World::new();
    let id =
        stored(&world, "--entity project:x --key status --value é --confidence 0.3 --source-receipt r --actor me");
    assert!(id.len() == 34 && id.starts_with("f_") && &id[14..15] == "4", "{id}");
    let line = String::from_utf8(world.read(JOURNAL)).unwrap();
    let want = format!(
        "{{\"op\":\"store\",\"fact\":{{\"fact_id\":\"{id}\",\"tenant_hash\":\"default\",\"entity\":\"project:x\",\
         \"key\":\"status\",\"value\":\"é\",\"source_receipt\":\"r\",\"confidence\":0.3,\"stored_at\":\"{NOW}\",\
         \"tokens\":1,\"deleted\":false,\"version\":1,\"private\":false,\"horizon_class\":\"none\",\"actor\":\"me\"}}}}\n"
    );
    assert_eq!(line, want);
    let next = stored(&world, "--entity project:x --key status --value green --valid-from 2026-01-01T00:00:00Z");
    let want = format!(
        "{{\"op\":\"store\",\"fact\":{{\"fact_id\":\"{next}\",\"tenant_hash\":\"default\",\"entity\":\"project:x\",\
         \"key\":\"status\",\"value\":\"green\",\"source_receipt\":null,\"confidence\":1.0,\"stored_at\":\"{NOW}\",\
         \"tokens\":2,\"deleted\":false,\"version\":2,\"supersedes\":\"{id}\",\"private\":false,\
         \"horizon_class\":\"none\",\"valid_from\":\"2026-01-01T00:00:00Z\"}}}}\n\
         {{\"op\":\"supersede\",\"fact_id\":\"{id}\",\"by_fact_id\":\"{next}\",\"superseded_at\":\"2026-07-01T12:00:00+00:00\"}}\n"
    );
    assert_eq!(String::from_utf8(world.read(JOURNAL)).unwrap(), line + &want);
}

#[test]
fn a_document_says_what_flags_say() {
    let flags = World::new();
    let line = "--tenant t --entity e --key k --value v --confidence 0.25 --horizon stable --actor a --source-receipt r \
                --valid-from 2026-01-01T00:00:00Z --valid-to 2026-02-01T00:00:00Z --private --agent alice";
    stored(&flags, line);
    let document = |tenant: &str, horizon: &str| {
        json!({
            tenant: "t", "entity": "e", "key": "k", "value": "v", "confidence": 0.25, horizon: "stable", "actor": "a",
            "source_receipt": "r", "valid_from": "2026-01-01T00:00:00Z", "valid_to": "2026-02-01T00:00:00Z", "private": true,
        })
        .to_string()
    };
    let same = |world: &World| {
        let mut event = events(world).remove(0);
        event["fact"]["fact_id"] = json!("");
        event
    };
    for text in [document("tenant", "horizon"), document("tenant_hash", "horizon_class")] {
        let piped = World::new();
        piped.run_with(&words("fact store --agent alice"), text).ends(0);
        assert_eq!(same(&piped), same(&flags));
    }
    let file = flags.beside("value");
    fs::write(&file, "two\nlines\n").unwrap();
    let id = stored(&flags, &format!("--entity f --key k --value-file {}", file.display()));
    assert_eq!(fact(&flags, &format!("show {id} --json")).json()["value"], "two\nlines\n");
    let answer = flags.run_with(&words("fact store --entity g --key k --value-file - --json"), "piped").ends(0);
    assert_eq!(rows(&answer, "stored")[0]["version"], 1);
    assert_eq!(events(&flags).last().unwrap()["fact"]["value"], "piped");
}

#[test]
fn what_is_no_fact_is_refused_and_nothing_is_stored() {
    let world = World::new();
    let piped = |text: &str| world.run_with(&words("fact store --json"), text);
    for (text, code) in [
        ("", Code::UsageNotJson),
        ("{", Code::UsageNotJson),
        ("[]", Code::UsageDocument),
        ("{\"entity\":\"e\",\"key\":\"k\"}", Code::UsageDocument),
        ("{\"entity\":\"e\",\"key\":\"k\",\"value\":1}", Code::UsageDocument),
        ("{\"entity\":\"e\",\"key\":\"k\",\"value\":\"v\",\"fact_id\":\"f_1\"}", Code::UsageDocument),
        ("{\"entity\":\"e\",\"key\":\"k\",\"value\":\"v\",\"horizon\":\"weekly\"}", Code::UsageDocument),
        ("{\"entity\":\"e\",\"key\":\"k\",\"value\":\"v\",\"confidence\":1e39}", Code::UsageDocument),
        (
            "{\"entity\":\"e\",\"key\":\"k\",\"value\":\"v\",\"confidence\":null,\"valid_to\":\"soon\"}",
            Code::UsageArguments,
        ),
        ("{\"entity\":\"e\",\"key\":\"k\",\"value\":\"v\",\"value\":\"w\"}", Code::UsageDocument),
        ("{\"entity\":\"\",\"key\":\"k\",\"value\":\"v\"}", Code::UsageId),
        ("{\"entity\":\"e\",\"key\":\"a\\u0000\",\"value\":\"v\"}", Code::UsageId),
        ("{\"entity\":\"e\",\"key\":\"k\",\"value\":\"v\",\"private\":true}", Code::UsageArguments),
        ("{\"entity\":\"__agent::bob::x\",\"key\":\"k\",\"value\":\"v\"}", Code::UsageId),
        ("{\"entity\":\"__legal_hold__::x\",\"key\":\"k\",\"value\":\"v\"}", Code::RefusedDaemonsOwn),
        ("{\"entity\":\"__legal_hold_receipt__::x\",\"key\":\"k\",\"value\":\"v\"}", Code::RefusedDaemonsOwn),
        ("{\"entity\":\"__incident__::x\",\"key\":\"k\",\"value\":\"v\"}", Code::RefusedDaemonsOwn),
    ] {
        let answer = piped(text);
        answer.fails(code);
        assert!(answer.stdout.is_empty(), "{text}");
    }
    for (line, code) in [
        ("--entity e --key k", Code::UsageArguments),
        ("--entity e --value v", Code::UsageArguments),
        ("--entity e --key k --value v --value-file f", Code::UsageArguments),
        ("--entity e --key k --value v --confidence inf", Code::UsageDocument),
        ("--entity e --key k --value v --confidence NaN", Code::UsageDocument),
        ("--entity e --key k --value v --horizon weekly", Code::UsageArguments),
        ("--entity e --key k --value-file /nowhere", Code::EnvironmentIo),
        (
            "--entity e --key k --value v --valid-from 2026-02-01T00:00:00Z --valid-to 2026-02-01T00:00:00Z",
            Code::UsageArguments,
        ),
        ("--entity __incident__::x --key k --value v --all-agents", Code::RefusedDaemonsOwn),
    ] {
        fact(&world, &format!("store --json {line}")).fails(code);
    }
    assert!(!world.dir().exists());
}

#[test]
fn the_horizon_is_the_entitys_unless_it_is_given() {
    let world = World::new();
    for (entity, horizon) in [
        ("__ops::host", "volatile"),
        ("bench:x", "stable"),
        ("__bootstrap__::x", "stable"),
        ("execplan:x", "medium"),
        ("incident:x", "medium"),
        ("__candidate_fact__::x", "medium"),
        ("project:x", "none"),
    ] {
        let id = stored(&world, &format!("--entity {entity} --key k --value v"));
        assert_eq!(all(&world)[&id]["horizon_class"], horizon, "{entity}");
        let id = stored(&world, &format!("--entity {entity} --key l --value v --horizon volatile"));
        assert_eq!(all(&world)[&id]["horizon_class"], "volatile", "{entity}");
    }
}

#[test]
fn after_the_newest_version_is_deleted_the_next_goes_on_from_the_one_before() {
    let world = World::new();
    let line = "--entity e --key k --value v";
    let versions: Vec<String> = (0..3).map(|_| stored(&world, line)).collect();
    fact(&world, &format!("delete {}", versions[2])).ends(0);
    let next = stored(&world, line);
    let facts = all(&world);
    assert_eq!((&facts[&next]["version"], &facts[&next]["supersedes"]), (&json!(3), &json!(versions[1])));
    assert_eq!(facts[&versions[1]]["superseded_by"], json!(next));
    for id in [&versions[0], &versions[1], &next] {
        fact(&world, &format!("delete {id}")).ends(0);
    }
    let first = stored(&world, line);
    let facts = all(&world);
    assert_eq!((&facts[&first]["version"], &facts[&first]["supersedes"]), (&json!(1), &Value::Null));
    // Another tenant's fact of the same name is another chain.
    let other = stored(&world, &format!("{line} --tenant t2"));
    assert_eq!(all(&world)[&other]["version"], 1);
}

#[test]
fn a_source_of_a_consolidation_stays_what_it_is() {
    let lines = [
        simple("f_1"),
        simple("f_2"),
        json!({"op": "consolidate", "canonical": document("f_c", "default", "c", "k"),
               "superseded_fact_ids": ["f_1", "f_2"], "consolidated_at": "2026-02-01T00:00:00+00:00"})
        .to_string()
            + "\n",
    ];
    let world = World::with(JOURNAL, lines.concat());
    let before = world.read(JOURNAL);
    for line in ["delete f_1", "supersede f_1 --by f_c", "supersede f_2 --clear", "delete f_c"] {
        fact(&world, &format!("{line} --json")).fails(Code::RefusedConsolidated);
    }
    assert_eq!(world.read(JOURNAL), before);
    // A new version of a source names it, and leaves its link alone.
    let new = stored(&world, "--entity e --key f_1 --value v");
    let facts = all(&world);
    assert_eq!((&facts[&new]["supersedes"], &facts["f_1"]["superseded_by"]), (&json!("f_1"), &json!("f_c")));
    assert_eq!(events(&world).len(), 4);
    assert_eq!(fact(&world, "show f_1 --json").json()["consolidated"], true);
}

#[test]
fn of_scans_the_latest_alone_is_kept() {
    let world = World::new();
    let line = "--entity __repo_scan__::r --key content --value v";
    let first = stored(&world, line);
    let second = stored(&world, line);
    let facts = all(&world);
    assert!(!facts.contains_key(&first));
    assert_eq!((&facts[&second]["version"], &facts[&second]["supersedes"]), (&json!(2), &Value::Null));
    assert_eq!(events(&world).len(), 2);
}

#[test]
fn thirty_at_once_are_thirty_versions() {
    let world = World::new();
    thread::scope(|scope| {
        for n in 0..30 {
            let world = &world;
            scope.spawn(move || stored(world, &format!("--entity e --key k --value v{n}")));
        }
    });
    let answer = fact(&world, "history e k --json").ends(0);
    let versions: Vec<u64> = rows(&answer, "versions").iter().map(|v| v["version"].as_u64().unwrap()).collect();
    assert_eq!(versions, (1..=30).collect::<Vec<_>>());
    assert_eq!(ids(&world, "list").len(), 1);
}

// ---- Who sees what ----

#[test]
fn private_facts_are_seen_by_their_agent_under_their_own_name() {
    let world = World::new();
    let alices = stored(&world, "--entity notes --key k --value hers --private --agent alice");
    let shared = stored(&world, "--entity notes --key k --value everybodys");
    let ops = stored(&world, "--entity __ops::host --key k --value nobodys");
    assert_eq!(events(&world)[0]["fact"]["entity"], "__agent::alice::notes");
    let seen = |flags: &str| {
        let mut seen = ids(&world, &format!("list {flags}"));
        seen.sort();
        seen
    };
    let sorted = |ids: &[&String]| {
        let mut ids: Vec<String> = ids.iter().map(|id| (*id).clone()).collect();
        ids.sort();
        ids
    };
    assert_eq!(seen(""), sorted(&[&shared]));
    assert_eq!(seen("--agent alice"), sorted(&[&alices, &shared]));
    assert_eq!(seen("--agent bob"), sorted(&[&shared]));
    assert_eq!(seen("--all-agents"), sorted(&[&alices, &shared, &ops]));
    assert_eq!(seen("--agent alice --entity notes"), sorted(&[&alices, &shared]));
    assert_eq!(seen("--all-agents --prefix __agent::"), sorted(&[&alices]));
    let hers = rows(&fact(&world, "list --agent alice --json"), "facts");
    assert!(hers.iter().all(|fact| fact["entity"] == "notes"), "{hers:?}");
    let notes = fact(&world, "list --agent bob --json").talk();
    assert_eq!(notes[0]["message"], "2 private facts not shown (--all-agents)", "{notes:?}");
    // By its id it is no more to be seen than in a list, nor to be changed.
    for verb in ["show", "delete", "history", "validity --clear", "supersede --clear"] {
        for flags in ["", "--agent bob"] {
            fact(&world, &format!("{verb} {alices} {flags} --json")).fails(Code::NoFact);
        }
    }
    assert_eq!(fact(&world, &format!("show {alices} --agent alice --json")).json()["entity"], "notes");
    let all = fact(&world, &format!("show {alices} --all-agents --json")).json();
    assert_eq!(all["entity"], "__agent::alice::notes");
    assert_eq!(rows(&fact(&world, "history notes k --agent alice --json"), "versions").len(), 2);
    fact(&world, &format!("delete {alices} --agent alice")).ends(0);
}

#[test]
fn the_variables_say_which_entities_are_born_private() {
    let world = World::new();
    stored(&world, "--entity github::x --key k --value v");
    stored(&world, "--entity project:x --key k --value v");
    let with = |variables: &[(&str, &str)], line: &str| {
        let mut command = world.command(&words(line));
        command.envs(variables.iter().copied());
        let output = command.output().unwrap();
        String::from_utf8(output.stdout).unwrap().lines().count()
    };
    let list = "fact list --format id";
    let (always, share) = ("CORECRUXD_ALWAYS_PRIVATE_PREFIXES", "CORECRUXD_SHARE_PREFIXES_OVERRIDE");
    assert_eq!(with(&[], list), 1);
    assert_eq!(with(&[(share, "github::")], list), 1, "its document says that it is private");
    assert_eq!(with(&[(always, "x:, project:")], list), 0);
    assert_eq!(with(&[(always, "project:"), (share, "project:")], list), 1);
    assert_eq!(with(&[(share, " github:: ")], "fact store --entity github::y --key k --value v"), 1);
    assert_eq!(events(&world)[2]["fact"]["private"], false);
    assert_eq!(with(&[(share, "github::")], list), 2);
}

// ---- Lists and questions ----

/// A world with a fact in two versions, one that is deleted, and one of another tenant.
fn some() -> (World, [String; 4]) {
    let mut world = World::new();
    world.at("2026-01-01T00:00:00Z");
    let old = stored(&world, "--entity deploy:canary --key status --value red");
    world.at("2026-02-01T00:00:00Z");
    let new = stored(&world, "--entity deploy:canary --key status --value green");
    let gone = stored(&world, "--entity deploy:blue --key status --value gone");
    let other = stored(&world, "--entity deploy:canary --key owner --value team-red --tenant t2");
    fact(&world, &format!("delete {gone}")).ends(0);
    world.at("2026-03-01T00:00:00Z");
    (world, [old, new, gone, other])
}

#[test]
fn a_list_hides_what_is_superseded_or_deleted_and_says_how_much() {
    let (world, [old, new, gone, other]) = some();
    assert_eq!(ids(&world, "list"), [&other, &new].map(String::clone));
    assert_eq!(ids(&world, "list --all"), [&other, &new, &old].map(String::clone));
    assert_eq!(ids(&world, "list --deleted"), [&other, &gone, &new, &old].map(String::clone));
    assert_eq!(ids(&world, "list --deleted --reverse --limit 2"), [&old, &new].map(String::clone));
    assert_eq!(ids(&world, "list --tenant t2"), [other.as_str()]);
    assert_eq!(ids(&world, "list --all --sort entity"), [&old, &new, &other].map(String::clone));
    let notes: Vec<Value> = fact(&world, "list --json").talk();
    let texts: Vec<&str> = notes.iter().map(|note| note["message"].as_str().unwrap()).collect();
    assert_eq!(texts, ["1 superseded fact not shown (--all)", "1 deleted fact not shown (--deleted)"]);
    let mut live = world.live_ids("facts");
    live.sort();
    let mut all = ids(&world, "list --all --all-agents");
    all.sort();
    assert_eq!(live, all);
}

#[test]
fn a_question_is_answered_by_words_and_filters() {
    let (world, [old, new, _, other]) = some();
    let asked = |line: &str| ids(&world, &format!("query {line}"));
    assert_eq!(asked("red"), [other.as_str()]);
    assert_eq!(asked("RED canary"), [&other, &new].map(String::clone));
    assert_eq!(asked("green canary"), [&new, &other].map(String::clone));
    assert_eq!(asked("green canary --all-words"), [new.as_str()]);
    assert_eq!(asked("red --all"), [&other, &old].map(String::clone));
    assert_eq!(asked("--entity deploy:canary --key status"), [new.as_str()]);
    assert_eq!(asked("--prefix deploy: --limit 1"), [other.as_str()]);
    assert_eq!(asked("--tenant default"), [new]);
    for line in ["query nothing --json", "query gone --json", "query red --entity e --json"] {
        let answer = fact(&world, line);
        answer.fails(Code::NoFactMatch);
        assert!(answer.stdout.is_empty());
    }
    for line in ["query --json", "query x --json", "query --all-words --entity e --json"] {
        fact(&world, line).fails(Code::UsageArguments);
    }
}

#[test]
fn as_of_a_time_facts_are_as_they_held_then() {
    let (world, [old, new, _, other]) = some();
    let asked = |at: &str| ids(&world, &format!("query --prefix deploy: --as-of {at}"));
    assert_eq!(asked("2025-12-31T23:59:59Z"), [""; 0]);
    assert_eq!(asked("2026-01-01T00:00:00Z"), [old.as_str()]);
    assert_eq!(asked("2026-01-31T23:59:59.999999999Z"), [old.as_str()]);
    assert_eq!(asked("2026-02-01T00:00:00Z"), [&other, &new].map(String::clone));
    assert_eq!(asked("1h"), [&other, &new].map(String::clone));
    // Said to hold since the middle of January, the new one takes over then.
    fact(&world, &format!("validity {new} --from 2026-01-15T00:00:00Z --to 2026-02-10T00:00:00Z")).ends(0);
    assert_eq!(asked("2026-01-14T00:00:00Z"), [old]);
    assert_eq!(asked("2026-01-15T00:00:00Z"), [new.as_str()]);
    assert_eq!(asked("2026-02-09T00:00:00Z"), [&other, &new].map(String::clone));
    assert_eq!(asked("2026-02-10T00:00:00Z"), [other]);
}

#[test]
fn a_history_has_every_version_and_what_became_of_it() {
    let (world, [old, new, gone, _]) = some();
    let versions = rows(&fact(&world, "history deploy:canary status --json").ends(0), "versions");
    let want = [(1, &old, json!("2026-02-01T00:00:00Z")), (2, &new, Value::Null)];
    assert_eq!(versions.len(), 2);
    for (version, (number, id, superseded_at)) in versions.iter().zip(want) {
        assert_eq!(version["version"], number);
        assert_eq!(version["id"], json!(id));
        assert_eq!(version["superseded_at"], superseded_at);
    }
    assert_eq!(fact(&world, &format!("history {old} --json")).json()["versions"], json!(versions));
    let gone = rows(&fact(&world, &format!("history {gone} --json")), "versions");
    assert_eq!((&gone[0]["deleted"], &gone[0]["deleted_at"]), (&json!(true), &json!("2026-02-01T00:00:00Z")));
    fact(&world, "history deploy:canary status --tenant t2 --json").fails(Code::NoFact);
    fact(&world, "history nope --json").fails(Code::NoFact);
}

// ---- Changes ----

#[test]
fn a_supersession_is_made_and_taken_back_as_the_daemon_does_it() {
    let world = World::with(JOURNAL, [simple("f_1"), simple("f_2"), simple("f_3")].concat());
    fact(&world, "supersede f_1 --by f_2").ends(0);
    fact(&world, "supersede f_2 --by f_3").ends(0);
    let want = "{\"op\":\"supersede\",\"fact_id\":\"f_1\",\"by_fact_id\":\"f_2\",\"superseded_at\":\"2026-07-01T12:00:00+00:00\"}";
    assert_eq!(String::from_utf8(world.read(JOURNAL)).unwrap().lines().nth(3), Some(want));
    // A circle would leave none.
    for line in ["supersede f_3 --by f_1", "supersede f_2 --by f_1", "supersede f_3 --by f_3"] {
        fact(&world, &format!("{line} --json")).fails(Code::RefusedLink);
    }
    world.append(JOURNAL, store_line(&document("f_t", "t2", "e", "k")));
    fact(&world, "supersede f_3 --by f_t --json").fails(Code::RefusedLink);
    fact(&world, "supersede f_3 --by f_none --json").fails(Code::NoFact);
    fact(&world, "supersede f_3 --clear --json").fails(Code::NoFact);
    fact(&world, "supersede f_1 --clear").ends(0);
    assert!(all(&world)["f_1"].get("superseded_by").is_none());
    fact(&world, "delete f_3").ends(0);
    fact(&world, "supersede f_1 --by f_3 --json").fails(Code::RefusedLink);
    for line in ["delete f_3", "supersede f_3 --by f_1", "validity f_3 --clear"] {
        fact(&world, &format!("{line} --json")).fails(Code::NoFact);
    }
}

#[test]
fn validity_is_set_end_by_end() {
    let world = World::with(JOURNAL, simple("f_1"));
    let valid = |world: &World| {
        let fact = &all(world)["f_1"];
        [fact["valid_from"].clone(), fact["valid_to"].clone()]
    };
    fact(&world, "validity f_1 --from 2026-01-01T00:00:00+01:00").ends(0);
    assert_eq!(valid(&world), [json!("2025-12-31T23:00:00Z"), Value::Null]);
    fact(&world, "validity f_1 --to 2026-02-01T00:00:00Z").ends(0);
    assert_eq!(valid(&world), [json!("2025-12-31T23:00:00Z"), json!("2026-02-01T00:00:00Z")]);
    let line = String::from_utf8(world.read(JOURNAL)).unwrap();
    let want = "{\"op\":\"set_validity\",\"fact_id\":\"f_1\",\"valid_from\":\"2025-12-31T23:00:00Z\",\
                \"valid_to\":\"2026-02-01T00:00:00Z\",\"set_at\":\"2026-07-01T12:00:00+00:00\"}";
    assert_eq!(line.lines().last(), Some(want));
    fact(&world, "validity f_1 --from none").ends(0);
    assert_eq!(valid(&world), [Value::Null, json!("2026-02-01T00:00:00Z")]);
    fact(&world, "validity f_1 --clear").ends(0);
    assert_eq!(valid(&world), [Value::Null, Value::Null]);
    for line in ["--from soon", "", "--from 2h --clear", "--from 2026-02-01T00:00:00Z --to 2026-01-01T00:00:00Z"] {
        fact(&world, &format!("validity f_1 --json {line}")).fails(Code::UsageArguments);
    }
}

#[test]
fn the_daemons_own_facts_are_not_changed() {
    let world = World::with(JOURNAL, store_line(&document("f_h", "default", "__legal_hold__::case", "k")));
    for line in ["delete f_h", "supersede f_h --by f_h", "validity f_h --clear"] {
        fact(&world, &format!("{line} --all-agents --json")).fails(Code::RefusedDaemonsOwn);
    }
}

// ---- Compaction ----

#[test]
fn a_compaction_erases_what_was_deleted_and_keeps_what_others_wrote() {
    let odd = "{\"op\":\"store\",\"fact\":{\"fact_id\":\"f_odd\",\"entity\":\"e\",\"key\":\"odd\",\"value\":\"v\",\"confidence\":1,\
               \"stored_at\":\"2026-01-01T00:00:00Z\",\"tokens\":1,\"deleted\":false,\"later\":{\"a\":1.50}},\"more\":[1]}\n";
    let unknown = "{\"op\":\"annotate\",\"fact_id\":\"f_1\",\"text\":\"x\"}\n";
    let world = World::with(JOURNAL, [&simple("f_1"), odd, unknown, &simple("f_2")].concat()).damaged();
    fact(&world, "delete f_1").ends(0);
    fact(&world, "supersede f_odd --by f_2").ends(0);
    let trial = world.run(&words("journal compact facts --dry-run --json")).ends(0).json();
    let told = world.run(&words("journal compact facts --json")).ends(0).json();
    assert_eq!(trial["journals"][0]["after_bytes"], told["journals"][0]["after_bytes"]);
    let text = String::from_utf8(world.read(JOURNAL)).unwrap();
    let lines: Vec<&str> = text.lines().collect();
    assert!(
        !text.contains("value of f_1") && text.contains("{\"op\":\"delete\",\"fact_id\":\"f_1\",\"deleted_at\":")
    );
    assert!(lines[0].contains("\"fact_id\":\"f_odd\"") && lines[0].contains("\"later\":{\"a\":1.50}"), "{text}");
    assert!(lines[0].contains("\"superseded_by\":\"f_2\"") && lines[0].contains("\"confidence\":1,"), "{text}");
    assert_eq!(lines[1], unknown.trim_end());
    assert_eq!(lines[2], simple("f_2").trim_end());
    assert!(lines[4].contains("supersede") && lines.len() == 5, "{text}");
}

#[test]
fn what_is_deleted_is_erased_whatever_the_lengths() {
    // A batch becomes lines of their own, so that a compaction may make a journal longer.
    let facts: Vec<Value> = (0..40).map(|n| document(&format!("f_{n}"), "default", "e", &n.to_string())).collect();
    let batch = json!({"op": "store_batch", "facts": facts}).to_string() + "\n";
    let grown = |filler: usize| {
        let unread = format!(
            "{{\"op\":\"clear_supersede\",\"fact_id\":\"none\",\"cleared_at\":\"{}\"}}\n",
            "x".repeat(filler)
        );
        let delete = "{\"op\":\"delete\",\"fact_id\":\"f_7\",\"deleted_at\":\"x\"}\n".to_owned();
        World::with(JOURNAL, [batch.clone(), delete, unread].concat())
    };
    let told = grown(0).run(&words("journal compact facts --dry-run --json")).ends(0).json();
    let length = |name: &str| usize::try_from(told["journals"][0][name].as_u64().unwrap()).unwrap();
    let filler = length("after_bytes") - length("before_bytes");
    let world = grown(filler);
    let before = world.read(JOURNAL).len();
    world.run(&words("journal compact facts")).ends(0);
    let after = String::from_utf8(world.read(JOURNAL)).unwrap();
    assert!(after.len() == before && !after.contains("value of f_7\""), "{before} {}", after.len());
}

#[test]
fn a_legal_hold_keeps_deleted_facts_from_being_erased() {
    let hold = store_line(&document("f_h", "t2", "__legal_hold__::case", "k"));
    let world = World::with(JOURNAL, [simple("f_1"), simple("f_2"), hold].concat());
    world.run(&words("journal compact facts")).ends(0);
    fact(&world, "delete f_1").ends(0);
    let before = world.read(JOURNAL);
    for flags in ["", "--dry-run"] {
        let error = world.run(&words(&format!("journal compact facts --json {flags}"))).fails(Code::RefusedHold);
        assert!(error["message"].as_str().unwrap().contains("f_h"), "{error}");
    }
    assert_eq!(world.read(JOURNAL), before);
    // Once the daemon has lifted it, nothing is in the way.
    world.append(JOURNAL, "{\"op\":\"delete\",\"fact_id\":\"f_h\",\"deleted_at\":\"x\"}\n");
    world.run(&words("journal compact facts")).ends(0);
    let text = String::from_utf8(world.read(JOURNAL)).unwrap();
    assert!(
        text.contains("value of f_2") && !text.contains("value of f_1") && !text.contains("value of f_h"),
        "{text}"
    );
}

#[test]
fn facts_that_the_daemon_cannot_read_are_not_compacted() {
    let deep = format!(
        "{{\"op\":\"store\",\"fact\":{},\"x\":{}1{}}}\n",
        document("f_1", "default", "e", "k"),
        "[".repeat(200),
        "]".repeat(200)
    );
    let world = World::with(JOURNAL, [deep, simple("f_2")].concat()).damaged();
    fact(&world, "delete f_2").ends(0);
    let before = world.read(JOURNAL);
    world.run(&words("journal compact facts --json")).fails(Code::RefusedDamage);
    assert_eq!(world.read(JOURNAL), before);
}

#[test]
fn what_an_operator_shares_is_not_erased_as_if_the_latest_alone_counted() {
    let world = World::new();
    for value in ["first", "second"] {
        let mut command = world.command(&words("fact store --entity __repo_scan__::r --key content --value"));
        command.arg(value).env("CORECRUXD_SHARE_PREFIXES_OVERRIDE", "__repo_scan__::");
        assert!(command.output().unwrap().status.success());
    }
    assert_eq!(events(&world)[1]["fact"]["supersedes"], events(&world)[0]["fact"]["fact_id"]);
    assert_eq!(events(&world)[2]["op"], "supersede");
    world.run(&words("journal compact facts")).ends(0);
    let left = String::from_utf8(world.read(JOURNAL)).unwrap();
    assert!(left.contains("\"first\"") && left.contains("\"second\""), "{left}");
    // Private ones are the daemon's scans: the latest alone is kept.
    let world = World::new();
    let scan = "--entity __repo_scan__::r --key content --value";
    stored(&world, &format!("{scan} first"));
    stored(&world, &format!("{scan} second"));
    world.run(&words("journal compact facts")).ends(0);
    assert!(!String::from_utf8(world.read(JOURNAL)).unwrap().contains("\"first\""));
}

#[test]
fn a_consolidation_of_many_is_read_in_one_go() {
    if strace_is_waived() {
        return;
    }
    let ids: Vec<String> = (0..2_000).map(|n| format!("f_{n}")).collect();
    let consolidate = json!({
        "op": "consolidate", "canonical": document("f_c", "default", "c", "k"), "superseded_fact_ids": ids,
        "consolidated_at": "2026-02-01T00:00:00+00:00",
    });
    let world =
        World::with(JOURNAL, ids.iter().map(|id| simple(id)).collect::<String>() + &consolidate.to_string() + "\n");
    let long = consolidate.to_string().len();
    let traced = world.traced(&["-e", "trace=pread64"], &words("fact list --all --json"), "");
    let facts = serde_json::from_slice::<Value>(&traced.answer.stdout).unwrap()["facts"].as_array().unwrap().len();
    assert_eq!(facts, 2_001);
    // The long line of the event is not read for each of its sources.
    let read: usize = traced.calls.iter().filter_map(|call| call.rsplit(" = ").next()?.parse::<usize>().ok()).sum();
    assert!(read < long * 200, "{read} bytes for a line of {long}");
    let shown = fact(&world, "show f_7 --json").json();
    assert_eq!((&shown["superseded_by"], &shown["consolidated"]), (&json!("f_c"), &json!(true)));
}

#[test]
fn a_span_of_time_goes_back_to_the_beginning_and_on_to_the_end() {
    let world = World::new();
    let id = stored(&world, "--entity e --key k --value v --valid-from 2h --valid-to 3h");
    let valid = |id: &str| {
        let fact = fact(&world, &format!("show {id} --json")).json();
        [fact["valid_from"].clone(), fact["valid_to"].clone()]
    };
    assert_eq!(valid(&id), [json!("2026-07-01T10:00:00Z"), json!("2026-07-01T15:00:00Z")]);
    fact(&world, &format!("validity {id} --from 1h --to 1h")).ends(0);
    assert_eq!(valid(&id), [json!("2026-07-01T11:00:00Z"), json!("2026-07-01T13:00:00Z")]);
    let past = fact(&world, "store --entity e2 --key k --value v --valid-to 2026-06-01T00:00:00Z").ends(0);
    assert!(past.stderr.contains("holds no longer"), "{past:?}");
    for line in ["--from 2027years", "--to 9999years"] {
        fact(&world, &format!("validity {id} --json {line}")).fails(Code::UsageArguments);
    }
}

#[test]
fn many_at_once_are_stamped_in_the_order_of_the_journal() {
    let mut world = World::new();
    // The machine's own clock.
    world.at("");
    thread::scope(|scope| {
        for n in 0..20 {
            let world = &world;
            scope.spawn(move || stored(world, &format!("--entity e{n} --key k --value v")));
        }
    });
    let times: Vec<String> =
        events(&world).iter().map(|event| text(&event["fact"], "stored_at").to_owned()).collect();
    assert!(times.len() == 20 && times.is_sorted(), "{times:?}");
}

#[test]
fn a_long_value_is_cut_in_a_table_and_nowhere_else() {
    let world = World::new();
    let long = "x".repeat(300);
    let id = stored(&world, &format!("--entity e --key k --value {long}"));
    let table = fact(&world, "list --format table").text();
    assert!(table.contains(&format!("{}…", "x".repeat(60))) && !table.contains(&"x".repeat(61)), "{table}");
    for line in ["list", "list --format jsonl", "history e k", &format!("show {id} --format table")] {
        assert!(fact(&world, line).text().contains(&long), "{line}");
    }
}

// ---- Damage ----

#[test]
fn damage_among_facts_hides_no_other_and_is_told() {
    let world =
        World::with(JOURNAL, [&simple("f_1"), "{\"op\":\"store\",\"fact\":{\n", &simple("f_2")].concat()).damaged();
    assert_eq!(fact(&world, "list").status, 3);
    assert_eq!(ids(&world, "list"), ["f_2", "f_1"]);
    assert_eq!(fact(&world, "show f_1").status, 3);
    assert_eq!(fact(&world, "show f_none").status, 3, "it may lie in the damage");
    assert_eq!(fact(&world, "query value").status, 3);
    assert_eq!(fact(&world, "delete f_none").status, 3);
    assert_eq!(fact(&world, "delete f_1").status, 0, "beside old damage");
    assert_eq!(fact(&world, "list --damaged-ok").status, 0);
}

#[test]
fn a_broken_tail_is_not_welded_to_the_next_fact() {
    let world = World::with(JOURNAL, [&simple("f_1"), "{\"op\":"].concat()).damaged();
    let id = stored(&world, "--entity e --key k --value v");
    assert_eq!(ids(&world, "list"), [id, "f_1".to_owned()]);
}

#[test]
fn facts_are_read_where_nothing_can_be_written() {
    use std::os::unix::fs::PermissionsExt;
    if is_root() {
        return;
    }
    let world = World::with(JOURNAL, simple("f_1"));
    fs::set_permissions(world.dir(), fs::Permissions::from_mode(0o500)).unwrap();
    assert_eq!(ids(&world, "list"), ["f_1"]);
    fact(&world, "delete f_1 --json").fails(Code::EnvironmentPermission);
    fs::set_permissions(world.dir(), fs::Permissions::from_mode(0o700)).unwrap();
}
