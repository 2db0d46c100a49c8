//! What a data directory holds, read with nothing but a JSON parser.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use serde_json::Value;

use crate::support::World;

/// What a world holds that somebody could miss.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct State {
    /// The events of each journal, in order.
    pub events: BTreeMap<String, Vec<Value>>,
    /// Other files that a command was asked for: keys and pages.
    pub files: BTreeMap<String, Vec<u8>>,
}

/// What lies in the journals and is no event: file, and bytes.
pub type Fragments = Vec<(String, Vec<u8>)>;

/// Reads a world.
pub fn read(world: &World) -> (State, Fragments) {
    let (mut state, mut fragments) = (State::default(), Vec::new());
    for (prefix, folder) in [("", world.dir()), ("cruxctl/", world.dir().join("cruxctl"))] {
        for name in names(&folder) {
            if !name.ends_with(".jsonl") || name.starts_with("observations") {
                continue;
            }
            let bytes = fs::read(folder.join(&name)).unwrap();
            let events = state.events.entry(format!("{prefix}{name}")).or_default();
            for line in bytes.split(|byte| *byte == b'\n').filter(|line| !line.trim_ascii().is_empty()) {
                // A record whose line end was never written is one all the same.
                let end = line.iter().rposition(|byte| *byte != 0).map_or(0, |last| last + 1);
                match serde_json::from_slice::<Value>(&line[..end]) {
                    Ok(event) if event.is_object() || event.is_array() => events.push(event),
                    _ => fragments.push((format!("{prefix}{name}"), line.to_vec())),
                }
            }
        }
    }
    // A journal with nothing in it is as good as none.
    state.events.retain(|_, events| !events.is_empty());
    for name in names(&world.beside("")) {
        if [".key", ".pub", ".html"].iter().any(|end| name.ends_with(end)) {
            let mut bytes = fs::read(world.beside(&name)).unwrap();
            // A whole page is as good as any other: it names the folder, and what it could not read.
            if name.ends_with(".html") && bytes.ends_with(b"</html>\n") {
                bytes = b"whole".to_vec();
            }
            state.files.insert(name.clone(), bytes);
        }
    }
    (state, fragments)
}

fn names(folder: &Path) -> Vec<String> {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    let files = entries.filter(|entry| entry.file_type().is_ok_and(|kind| kind.is_file()));
    let mut names: Vec<String> = files.map(|entry| entry.file_name().to_string_lossy().into_owned()).collect();
    names.sort();
    names
}

impl State {
    /// The same without what is random: long runs of hexadecimal digits are one like the other.
    pub fn shape(&self) -> BTreeMap<String, Vec<String>> {
        let plain = |events: &Vec<Value>| events.iter().map(|event| without_hex(&event.to_string())).collect();
        let mut shape: BTreeMap<String, Vec<String>> =
            self.events.iter().map(|(file, events)| (file.clone(), plain(events))).collect();
        shape.extend(
            self.files.iter().map(|(file, bytes)| (file.clone(), vec![without_hex(&String::from_utf8_lossy(bytes))])),
        );
        shape
    }
}

fn without_hex(text: &str) -> String {
    let (mut out, mut run) = (String::new(), String::new());
    let end = |run: &mut String, out: &mut String| {
        out.push_str(if run.len() >= 16 { "#" } else { run });
        run.clear();
    };
    for c in text.chars() {
        if c.is_ascii_hexdigit() || c == '-' && !run.is_empty() {
            run.push(c);
        } else {
            end(&mut run, &mut out);
            out.push(c);
        }
    }
    end(&mut run, &mut out);
    out
}
