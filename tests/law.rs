//! The house: which module may name which, who may read the environment, who may print, and no file left out.

use std::fs;
use std::path::{Path, PathBuf};

use crate::support::tree;

/// For each module, the modules of ours that it may name. `cmd` may name all.
const MAY_NAME: &[(&str, &[&str])] = &[
    ("error", &[]),
    ("env", &["error"]),
    ("journal", &["error"]),
    ("store", &["journal", "error"]),
    ("render", &["error"]),
    ("retrieve", &["error"]),
    ("handoff", &["error"]),
    ("machine", &[]),
];

fn sources(folder: &Path, files: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(folder).unwrap().flatten() {
        if entry.path().is_dir() {
            sources(&entry.path(), files);
        } else if entry.path().extension().is_some_and(|e| e == "rs") {
            files.push(entry.path());
        }
    }
}

/// Every source file with its module and its text.
fn modules() -> Vec<(String, PathBuf, String)> {
    let mut files = Vec::new();
    sources(&tree("src"), &mut files);
    files
        .into_iter()
        .map(|path| {
            let inside = path.strip_prefix(tree("src")).unwrap().to_path_buf();
            let first = inside.components().next().unwrap().as_os_str().to_string_lossy().into_owned();
            let text = fs::read_to_string(&path).unwrap();
            (first.trim_end_matches(".rs").to_owned(), inside, text)
        })
        .collect()
}

#[test]
fn modules_name_only_what_the_law_allows() {
    for (module, path, text) in modules() {
        let Some((_, allowed)) = MAY_NAME.iter().find(|(name, _)| *name == module) else {
            assert!(["cmd", "lib", "main"].contains(&module.as_str()), "{path:?} is in no module that the law knows");
            continue;
        };
        for (at, _) in text.match_indices("crate::") {
            let named: String = text[at + 7..].chars().take_while(|c| c.is_alphanumeric() || *c == '_').collect();
            let right = named == module || allowed.contains(&named.as_str());
            assert!(right, "{path:?} names {named}, and {module} may not");
        }
    }
}

#[test]
fn only_env_reads_the_surroundings_and_only_render_prints() {
    let rules: [(&str, &[&str]); 4] = [
        ("machine", &["\"/proc\"", "/proc/locks", "/proc/self/mountinfo"]),
        ("env", &["std::env", "Utc::now", "SystemTime::now", "SysRng"]),
        ("render", &["println!", "print!(", "io::stdout", "io::stderr"]),
        ("journal", &["OpenOptions", "File::create", "fs::rename", "fs::remove", "set_len"]),
    ];
    for (module, path, text) in modules() {
        // The bin hands argv over; it is the process's edge.
        if module == "main" {
            continue;
        }
        for (owner, words) in rules {
            for word in words.iter().filter(|_| module != owner) {
                assert!(!text.contains(word), "{path:?} has {word}, which belongs to {owner}");
            }
        }
    }
}

#[test]
fn what_is_pure_touches_no_file_and_starts_nothing() {
    for (module, path, text) in modules().into_iter().filter(|(module, ..)| module == "handoff") {
        for word in ["std::fs", "std::io", "std::process", "std::thread", "std::time"] {
            assert!(!text.contains(word), "{path:?} has {word}, and {module} is pure");
        }
    }
}

#[test]
fn every_test_file_is_listed() {
    let list = fs::read_to_string(tree("tests/all.rs")).unwrap();
    for entry in fs::read_dir(tree("tests")).unwrap().flatten() {
        let name = entry.file_name().into_string().unwrap();
        if let Some(module) = name.strip_suffix(".rs").filter(|m| *m != "all") {
            assert!(list.contains(&format!("mod {module};")), "tests/{name} is not in tests/all.rs");
        }
    }
}
