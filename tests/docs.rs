//! The manual, the completions and the README say what the program does.

use std::fs;

use clap::CommandFactory;

use crate::support::{World, tree};

fn readme() -> String {
    fs::read_to_string(tree("README.md")).unwrap()
}

/// The commands of the README's console blocks, each with the output that it shows. A command goes on in lines that begin
/// with `> `.
fn tour() -> Vec<(String, String)> {
    let mut steps: Vec<(String, String)> = Vec::new();
    let mut inside = false;
    for line in readme().lines() {
        match line {
            "```console" => inside = true,
            "```" => inside = false,
            _ if !inside => {}
            _ => match (line.strip_prefix("$ "), steps.last_mut()) {
                (Some(command), _) => steps.push((command.to_owned(), String::new())),
                (None, Some((command, output))) => match line.strip_prefix("> ").filter(|_| output.is_empty()) {
                    Some(more) => *command += &format!("\n{more}"),
                    None => *output += &format!("{line}\n"),
                },
                (None, None) => panic!("output follows a command"),
            },
        }
    }
    steps
}

#[test]
fn the_tour_of_the_readme_runs_and_prints_what_it_shows() {
    let world = World::new();
    std::os::unix::fs::symlink(tree("tests"), world.beside("tests")).unwrap();
    let steps = tour();
    assert!(steps.len() > 10, "the tour is there");
    let mut script = String::from("export CRUXCTL_FORMAT=table\n");
    for (command, _) in &steps {
        script.push_str(&format!("{{ {command}\n}} 2>&1; printf '\\001\\n'\n"));
    }
    let answer = world.shell(&script).ends(0);
    let text = answer.text();
    let outputs: Vec<&str> = text.split("\u{1}\n").collect();
    let shown: Vec<String> =
        steps.iter().zip(&outputs).map(|((command, _), out)| format!("$ {command}\n{out}")).collect();
    for ((command, expected), got) in steps.iter().zip(&outputs) {
        // Paths differ from machine to machine.
        let got = got.replace(&*world.beside("").to_string_lossy(), "");
        assert_eq!(&got, expected, "$ {command}\nthe whole tour:\n{}", shown.concat());
    }
}

#[test]
fn the_manual_in_the_tree_is_what_the_binary_writes() {
    let pages = cruxctl::cmd::docs::pages();
    for (name, page) in &pages {
        let there = fs::read(tree("man").join(name)).unwrap_or_default();
        assert!(there == *page, "man/{name} is out of date: cruxctl man man");
    }
    let there = fs::read_dir(tree("man")).unwrap().count();
    assert_eq!(there, pages.len(), "man/ has a page of no command");
}

#[test]
fn the_completions_in_the_tree_are_what_the_binary_prints() {
    let world = World::new();
    for (shell, file) in [("bash", "cruxctl.bash"), ("zsh", "_cruxctl"), ("fish", "cruxctl.fish")] {
        let script = world.run(&["completions", shell]).ends(0).stdout;
        let there = fs::read(tree("completions").join(file)).unwrap_or_default();
        assert!(there == script, "completions/{file} is out of date: cruxctl completions {shell}");
    }
}

#[test]
fn every_page_has_its_sections_and_an_example() {
    for (name, page) in cruxctl::cmd::docs::pages() {
        let page = String::from_utf8(page).unwrap();
        for section in ["EXIT STATUS", "ENVIRONMENT", "FILES", "EXAMPLES"] {
            assert!(
                page.contains(&format!(".SH \"{section}\"")) || page.contains(&format!(".SH {section}")),
                "{name} has no {section}"
            );
        }
        // A verb of two words keeps its hyphen.
        let path = name.trim_end_matches(".1").replace('-', " ").replace("send many", "send-many");
        assert!(!cruxctl::cmd::examples::of(&path).is_empty(), "{path} has no example");
    }
}

#[test]
fn the_readme_lists_every_class_and_every_variable_is_in_the_manual() {
    let readme = readme();
    for class in cruxctl::journal::Class::ALL {
        let row = format!("| `{}` | {} | {} |", class.name(), class.severity().name(), class.what());
        assert!(readme.contains(&row), "the README lacks {row}");
    }
    let page = fs::read_to_string(tree("man/cruxctl.1")).unwrap();
    for (name, _) in cruxctl::env::VARIABLES {
        assert!(page.contains(name), "{name} is not in the manual");
    }
}

#[test]
fn every_example_names_a_verb_that_exists() {
    for (path, examples) in cruxctl::cmd::examples::EXAMPLES {
        let mut command = cruxctl::cmd::Cli::command();
        for word in path.split(' ').skip(1) {
            command = command.find_subcommand(word).unwrap_or_else(|| panic!("{path}")).clone();
        }
        assert!(!examples.is_empty(), "{path}");
    }
}

#[test]
fn an_example_of_the_help_is_pasted_as_it_stands() {
    for (path, examples) in cruxctl::cmd::examples::EXAMPLES {
        let world = World::new();
        let args = [crate::support::words(path)[1..].to_vec(), vec!["--help"]].concat();
        let help = world.run(&args).ends(0).text();
        assert!(help.lines().all(|line| line.chars().count() <= 100), "{path}: {help}");
        for (_, line) in *examples {
            // What the shell makes of a broken line is the line.
            let joined = help.replace("\\\n          ", "");
            assert!(joined.contains(line), "{path}: {line}\n{help}");
        }
    }
}
