//! What a shell offers while somebody types: asked through the shells' own engines, and as their scripts ask.

use std::fs;
use std::io::Write;
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use crate::support::{Answer, World, session_line, split_ids, tree, words};

/// Where bash breaks words, unless somebody changes it.
const BREAKS: &str = " \t\n\"'@><=;|&(:";

/// Ids that a shell could take for something else; `touched` must never come to be.
const ODD: [&str; 15] = [
    "repo:a",
    "__agent_session::broken",
    "with space",
    "it's",
    "say \"so\"",
    "$(touch touched)",
    "`touch touched`",
    "a;touch touched",
    "c&&touch touched|x>touched",
    "!!",
    "back\\slash",
    "{x,y}*?[z]",
    "~/home",
    "#5=6@7%",
    "é 日本:🚀",
];

impl World {
    /// What is offered for a line, as fish asks: plain texts, without their help.
    fn offered(&self, line: &[&str]) -> Vec<String> {
        let answer = self.ask("fish", line).ends(0);
        assert_eq!(answer.stderr, "");
        answer.lines().iter().map(|line| line.split('\t').next().unwrap().to_owned()).collect()
    }

    fn ask(&self, shell: &str, line: &[&str]) -> Answer {
        let (word, before) = line.split_last().unwrap();
        let count = line.len().to_string();
        let text = format!("cruxctl {}", line.join(" "));
        let args = match shell {
            "bash" => vec!["--", word, "", BREAKS],
            "zsh" => [&["--", word, &count, "cruxctl"], before].concat(),
            _ => vec!["--", &text],
        };
        Answer::from(self.command(&args).env("_CRUXCTL_COMPLETE", shell).output().unwrap())
    }

    /// A program in this world's surroundings that finds `cruxctl` on its path.
    fn on_path(&self, program: &str) -> Command {
        let mut command = self.surround(Command::new(program));
        let binary = assert_cmd::cargo::cargo_bin!("cruxctl");
        let path = format!("{}:/usr/local/bin:/usr/bin:/bin:/usr/sbin:/sbin", binary.parent().unwrap().display());
        command.env("PATH", path).env("TERM", "xterm").env("LC_ALL", "C.UTF-8");
        command
    }

    /// What fish offers for a line, as it would put it on the line.
    fn fish(&self, line: &str) -> Vec<String> {
        let script = "cruxctl completions fish | source; complete --escape -C $argv[1]";
        let mut command = self.on_path("fish");
        let answer = Answer::from(command.args(["--no-config", "-c", script, "--", line]).output().unwrap()).ends(0);
        assert_eq!(answer.stderr, "");
        answer.lines().iter().map(|line| line.split('\t').next().unwrap().to_owned()).collect()
    }

    /// Every file of the data directory, and how it is.
    fn everything(&self) -> Vec<String> {
        let answer =
            self.shell("find data -printf '%p %y %m %s %T@ %l\\n' | sort; find data -type f | sort | xargs md5sum");
        answer.lines()
    }
}

/// A shell at a terminal, at which keys are typed.
struct Typist<'w> {
    world: &'w World,
    child: Child,
    out: PathBuf,
    told: usize,
}

impl Typist<'_> {
    /// A shell that has the completions. At ^X p it tells its line, and what that comes to when it is run.
    fn at<'w>(world: &'w World, shell: &str) -> Typist<'w> {
        let out = world.beside(&format!("{shell}.out"));
        let tell = |line: &str| {
            format!(
                "tell() {{ eval \"words=(${line})\"; {{ printf '%s' \"${line}\"; printf '\\037%s' \"${{words[@]}}\"; \
                 printf '\\036'; }} >> '{}'; {line}=; }}",
                out.display()
            )
        };
        let (rc, line) = match shell {
            "bash" => (
                format!(
                    "source <(cruxctl completions bash)\n{}\nbind -x '\"\\C-xp\": tell'\nbind 'set bell-style none'\n\
                     bind 'set completion-query-items 0'\nbind 'set page-completions off'\n",
                    tell("READLINE_LINE")
                ),
                format!("bash --noprofile --rcfile '{}' -i", world.beside("bashrc").display()),
            ),
            _ => (
                format!(
                    "autoload -Uz compinit; compinit -u -D\nsource <(cruxctl completions zsh)\nLISTMAX=100000\n{}\n\
                     zle -N tell; bindkey '^Xp' tell\n",
                    tell("BUFFER")
                ),
                "zsh -d -i".to_owned(),
            ),
        };
        fs::write(world.beside(if shell == "bash" { "bashrc" } else { ".zshrc" }), rc).unwrap();
        fs::write(&out, "").unwrap();
        let mut command = world.on_path("script");
        command.args(["-qec", &line, "/dev/null"]).env("ZDOTDIR", world.beside(""));
        let screen = fs::File::create(world.beside("screen")).unwrap();
        command.stdin(Stdio::piped()).stdout(screen.try_clone().unwrap()).stderr(screen);
        Typist { world, child: command.spawn().unwrap(), out, told: 0 }
    }

    /// What the line is after a word was begun and Tab was pressed, and the words that a command would be given.
    fn tab(&mut self, line: &str) -> (String, Vec<String>) {
        self.keys(&format!("{line}\t"))
    }

    fn keys(&mut self, keys: &str) -> (String, Vec<String>) {
        let keys = format!("{keys}\u{18}p");
        self.child.stdin.as_mut().unwrap().write_all(keys.as_bytes()).unwrap();
        let begun = Instant::now();
        loop {
            let out = fs::read_to_string(&self.out).unwrap();
            let told: Vec<&str> = out.split_terminator('\u{1e}').collect();
            if out.ends_with('\u{1e}') && told.len() > self.told {
                self.told = told.len();
                let mut parts = told.last().unwrap().split('\u{1f}').map(str::to_owned);
                return (parts.next().unwrap(), parts.collect());
            }
            let screen = || fs::read_to_string(self.world.beside("screen"));
            assert!(begun.elapsed() < Duration::from_secs(60), "{keys:?} is not answered: {:?}", screen());
            std::thread::sleep(Duration::from_millis(5));
        }
    }
}

impl Drop for Typist<'_> {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn journal(ids: impl IntoIterator<Item = String>) -> String {
    ids.into_iter().map(|id| session_line(&id, "1") + "\n").collect()
}

/// The ids of an answer, but for those that no line can hold.
fn typable(answer: &Answer) -> Vec<String> {
    let mut ids = split_ids(&answer.stdout);
    ids.retain(|id| !id.is_empty() && !id.chars().any(char::is_control));
    ids
}

fn with_sessions(ids: &[&str]) -> World {
    World::with("sessions.jsonl", journal(ids.iter().map(|id| (*id).to_owned())))
}

#[test]
fn bash_and_zsh_complete_an_id_that_is_begun() {
    let world = with_sessions(&["build-42", "build-43", "other", "repo:a"]);
    for shell in ["bash", "zsh"] {
        let mut typist = Typist::at(&world, shell);
        assert_eq!(typist.tab("cruxctl session get o").0, "cruxctl session get other ", "{shell}");
        assert_eq!(typist.tab("cruxctl session get b").0, "cruxctl session get build-4", "{shell}");
        assert_eq!(typist.tab("cruxctl session show repo:").0, "cruxctl session show repo:a ", "{shell}");
        assert_eq!(typist.tab("cruxctl session get x").0, "cruxctl session get x", "{shell}");
        assert_eq!(typist.tab("cruxctl sess").0, "cruxctl session ", "{shell}");
        assert_eq!(typist.tab("true; cruxctl session delete o").0, "true; cruxctl session delete other ", "{shell}");
        assert_eq!(typist.tab("cruxctl session get --format=js").0, "cruxctl session get --format=json", "{shell}");
    }
    assert_eq!(world.fish("cruxctl session get b"), ["build-42", "build-43"]);
    assert_eq!(world.fish("cruxctl session get --format=t"), ["--format=table"]);
}

#[test]
fn an_odd_id_reaches_the_command_as_it_is_and_runs_nothing() {
    let world = with_sessions(&ODD);
    for shell in ["bash", "zsh"] {
        let mut typist = Typist::at(&world, shell);
        for id in ODD {
            let begun: String = id.chars().take(1).collect();
            for quote in ["", "'", "\""] {
                // What a shell itself would act on is begun as it has to be.
                let special = !begun.chars().all(char::is_alphanumeric);
                let typed = match quote {
                    _ if begun == "'" => continue,
                    "" if special => format!("\\{begun}"),
                    "\"" if special && begun != "_" => continue,
                    _ => format!("{quote}{begun}"),
                };
                let (line, words) = typist.tab(&format!("cruxctl session get --all-agents {typed}"));
                assert_eq!(words[4..], [id], "{shell}: {typed} became {line}");
            }
        }
    }
    for id in ODD {
        let begun: String = id.chars().take(1).collect();
        let escaped = world.fish(&format!("cruxctl session get --all-agents '{begun}"));
        let script = "for word in $argv; eval \"printf %s\\n $word\"; end";
        let mut command = world.on_path("fish");
        command.args(["--no-config", "-c", script, "--"]).args(&escaped);
        let answer = Answer::from(command.output().unwrap()).ends(0);
        assert!(answer.lines().iter().any(|line| line == id), "{id}: {escaped:?} {answer:?}");
    }
    assert!(!world.beside("touched").exists() && !world.dir().join("touched").exists());
}

#[test]
fn what_is_typed_on_the_line_decides_whose_ids_are_offered() {
    let world = with_sessions(&["mine", "__agent_session::alice::hers", "__agent_session::bob::his"]);
    let other = World::with("sessions.jsonl", journal(["elsewhere".to_owned()]));
    let there = other.dir().to_string_lossy().into_owned();
    assert_eq!(world.offered(&["session", "get", ""]), ["mine"]);
    assert_eq!(world.offered(&["session", "get", "--agent", "alice", ""]), ["hers"]);
    assert_eq!(world.offered(&["--agent=bob", "session", "archive", "h"]), ["his"]);
    let stored = ["__agent_session::alice::hers", "__agent_session::bob::his", "mine"];
    assert_eq!(world.offered(&["session", "get", "--all-agents", ""]), stored);
    assert_eq!(world.offered(&["session", "get", "--data-dir", &there, ""]), ["elsewhere"]);
    assert_eq!(world.offered(&[&format!("--data-dir={there}"), "handoff", "create", ""]), ["elsewhere"]);
    assert_eq!(world.offered(&["session", "get", "--agent", ""]), ["alice", "bob"]);
    assert_eq!(world.offered(&["--agent", "case", "session", "get", "--agent", "alice", ""]), ["hers"]);
    assert_eq!(world.offered(&["handoff", "create", "x", "--target", "b"]), ["bob"]);
    // Neither an agent that is none nor a contradiction sees anything.
    assert!(world.offered(&["session", "get", "--agent", "a::b", "m"]).is_empty());
    assert!(world.offered(&["session", "get", "--agent", "alice", "--all-agents", "m"]).is_empty());
    let of = |name, value: &str| {
        let mut command = world.command(&["--", "cruxctl session get "]);
        let answer = command.env("_CRUXCTL_COMPLETE", "fish").env(name, value).output().unwrap();
        Answer::from(answer).ends(0).text()
    };
    assert_eq!(of("CRUXCTL_AGENT", "alice"), "hers\n");
    assert_eq!(of("CRUXCTL_DATA_DIR", &there), "elsewhere\n");
    let bash = |line: &str| {
        let mut command = world.command(&["--", line, "", BREAKS]);
        Answer::from(command.env("_CRUXCTL_COMPLETE", "bash").env("THERE", &there).output().unwrap()).ends(0).text()
    };
    for shell in ["bash", "zsh"] {
        let mut typist = Typist::at(&world, shell);
        // Back to the word, over what is behind it.
        let back = format!("\u{1}{}", "\u{6}".repeat("cruxctl session get h".len()));
        let line = typist.keys(&format!("cruxctl session get h --agent alice{back}\t")).0;
        assert_eq!(line.replace("  ", " "), "cruxctl session get hers --agent alice", "{shell}");
    }
    assert_eq!(bash("cruxctl --data-dir \"$THERE\" session get "), "=elsewhere\n");
    assert_eq!(bash("cruxctl --data-dir ${THERE} session get else"), "=elsewhere\n");
    assert_eq!(bash("cruxctl --data-dir ~/data session get m"), "=mine\n");
    assert_eq!(
        bash("cruxctl session get < mine > out --all-agents __agent_session::b"),
        "=bob\\:\\:his\n".replace('\\', "")
    );
}

#[test]
fn only_what_a_shell_would_expand_is_expanded() {
    let world = with_sessions(&["home"]);
    for (folder, id) in [("~/data", "tilde"), ("$THERE", "dollar")] {
        fs::create_dir_all(world.beside(folder)).unwrap();
        fs::write(world.beside(folder).join("sessions.jsonl"), journal([id.to_owned()])).unwrap();
    }
    let offered = |shell: &str, typed: &str| {
        let option = typed.split_whitespace().count().to_string();
        let line = format!("cruxctl {typed} session get ");
        let args = match shell {
            "bash" => vec!["--", &line, "", BREAKS],
            "zsh" => {
                let count = if option == "1" { "4" } else { "5" };
                [
                    &["--", "", count, "cruxctl"],
                    &typed.split_whitespace().collect::<Vec<_>>()[..],
                    &["session", "get"],
                ]
                .concat()
            }
            _ => vec!["--", &line],
        };
        let mut command = world.command(&args);
        command.env("_CRUXCTL_COMPLETE", shell).env("THERE", world.dir()).env("BLANK", "a b");
        Answer::from(command.output().unwrap()).ends(0).text().trim().trim_start_matches('=').to_owned()
    };
    for shell in ["bash", "zsh", "fish"] {
        for (typed, id) in [
            ("--data-dir ~/data", "home"),
            ("--data-dir $THERE", "home"),
            ("--data-dir \"$THERE\"", "home"),
            ("--data-dir=$THERE", "home"),
            ("--data-dir '~/data'", "tilde"),
            ("--data-dir \"~/data\"", "tilde"),
            ("--data-dir \\~/data", "tilde"),
            ("--data-dir=~/data", "tilde"),
            ("--data-dir '$THERE'", "dollar"),
            ("--data-dir \\$THERE", "dollar"),
            ("--data-dir \"\\$THERE\"", "dollar"),
            ("--data-dir $NOWHERE", ""),
            ("--data-dir $BLANK", ""),
        ] {
            assert_eq!(offered(shell, typed), id, "{shell}: {typed}");
        }
    }
    assert_eq!(world.fish("cruxctl --data-dir ~/data session get h"), ["home"]);
    assert_eq!(world.fish("cruxctl --data-dir '~/data' session get t"), ["tilde"]);
    for shell in ["bash", "zsh"] {
        let mut typist = Typist::at(&world, shell);
        for (typed, id) in [("~/data", "home"), ("'~/data'", "tilde"), ("'$THERE'", "dollar")] {
            let begun = format!("cruxctl --data-dir {typed} session get ");
            assert_eq!(typist.tab(&begun).0, format!("{begun}{id} "), "{shell}");
        }
    }
}

#[test]
fn only_what_is_live_is_offered_with_a_witness_and_without() {
    let world = World::new();
    for id in ["a1", "a2", "a3", "a4"] {
        world.put(id, "1");
    }
    world.run(&["session", "delete", "a2"]).ends(0);
    world.run(&["session", "archive", "a3"]).ends(0);
    world.run(&["session", "delete", "a4"]).ends(0);
    world.put("a4", "2");
    let witness = world.dir().join("cruxctl/index/sessions.witness");
    assert!(witness.exists());
    assert_eq!(world.offered(&["session", "get", ""]), ["a1", "a3", "a4"]);
    // What came after the last command, from somebody else.
    world.append("sessions.jsonl", "{\"op\":\"delete\",\"session_id\":\"a1\"}\n");
    world.append("sessions.jsonl", session_line("a5", "1") + "\n");
    assert_eq!(world.offered(&["session", "get", ""]), ["a3", "a4", "a5"]);
    // A witness that is damaged, is another file's, or is gone.
    let bytes = fs::read(&witness).unwrap();
    for damaged in [&bytes[..bytes.len() - 3], &bytes[..70], &[][..], &vec![0xFF; bytes.len()][..]] {
        fs::write(&witness, damaged).unwrap();
        assert_eq!(world.offered(&["session", "get", ""]), ["a3", "a4", "a5"]);
    }
    fs::write(&witness, &bytes).unwrap();
    let other = journal(["new".to_owned()]);
    fs::rename(world.dir().join("sessions.jsonl"), world.beside("old")).unwrap();
    world.write("sessions.jsonl", other);
    assert_eq!(world.offered(&["session", "get", ""]), ["new"]);
    fs::remove_file(&witness).unwrap();
    assert_eq!(world.offered(&["session", "get", ""]), ["new"]);
    assert_eq!(world.offered(&["journal", "show", "sessions", "--id", ""]), ["new"]);
}

#[test]
fn the_versions_of_the_session_on_the_line_are_offered_with_a_witness_and_without() {
    let mut world = World::new();
    for (second, line) in ["put s", "put s --agent alice", "put s", "delete s", "put s"].iter().enumerate() {
        world.at(&format!("2026-07-01T12:00:0{second}Z"));
        world.run_with(&words(&format!("session {line}")), "1").ends(0);
    }
    for checked in [false, true] {
        if checked {
            world.run(&words("journal check")).ends(0);
        } else {
            world.forget();
        }
        // What deletes it cannot be had.
        assert_eq!(world.offered(&["session", "get", "s", "--rev", ""]), ["1", "2", "4"]);
        assert_eq!(world.offered(&["session", "restore", "s", "--agent", "alice", "--rev", ""]), ["1"]);
        assert_eq!(world.offered(&["session", "diff", "s", "1", ""]), ["1", "2", "4"]);
        assert_eq!(world.offered(&["session", "diff", "s", "4"]), ["4"]);
        assert!(world.offered(&["session", "get", "t", "--rev", ""]).is_empty());
        assert!(world.offered(&["session", "get", "--rev", ""]).is_empty());
        assert_eq!(world.offered(&["journal", "log", "sessions", "--id", "s"]), ["s"]);
    }
    assert_eq!(world.fish("cruxctl session get s --rev "), ["1", "2", "4"]);
}

#[test]
fn nothing_is_offered_where_not_all_ids_can_be_known() {
    let filler = |id: &str| session_line(id, &format!("\"{}\"", "x".repeat(1 << 20))) + "\n";
    let filled = |before: &str, behind: &str| {
        journal([before.to_owned()]) + &filler("filler").repeat(17) + &journal([behind.to_owned()])
    };
    let world = World::with("sessions.jsonl", filled("deploy-old", "deploy-new"));
    let lines: [&[&str]; 4] = [
        &["session", "delete", "dep"],
        &["session", "get", "filler", "--rev", ""],
        &["journal", "log", "--id", "dep"],
        &["session", "get", "--agent", ""],
    ];
    for line in lines {
        assert!(world.offered(line).is_empty(), "{line:?}");
    }
    world.run(&["journal", "check"]).ends(0);
    assert_eq!(world.offered(lines[0]), ["deploy-new", "deploy-old"]);
    assert_eq!(world.offered(lines[1]).len(), 17);
    assert_eq!(world.offered(lines[2]), ["deploy-new", "deploy-old"]);
    // What lies behind the witness counts as well, and a witness with damage says nothing.
    world.append("sessions.jsonl", journal(["deploy-third".to_owned()]));
    assert_eq!(world.offered(lines[0]), ["deploy-new", "deploy-old", "deploy-third"]);
    world.run(&["journal", "check"]).ends(0);
    let witness = world.dir().join("cruxctl/index/sessions.witness");
    let bytes = fs::read(&witness).unwrap();
    for at in [64, 120, bytes.len() / 2, bytes.len() - 1] {
        let mut damaged = bytes.clone();
        damaged[at] ^= 1;
        fs::write(&witness, damaged).unwrap();
        assert!(world.offered(lines[0]).is_empty(), "{at}");
    }
    fs::write(&witness, &bytes).unwrap();
    assert_eq!(world.offered(lines[0]).len(), 3);
    world.append("sessions.jsonl", filled("deploy-4", "deploy-5"));
    assert!(world.offered(lines[0]).is_empty());

    // A witness that is too long itself.
    let long: String = (0..65).map(|n| journal([format!("{n}{}", "x".repeat(1 << 20))])).collect();
    let world = World::with("sessions.jsonl", journal(["deploy-old".to_owned()]) + &long[..long.len() / 2]);
    world.run(&["journal", "check"]);
    let world = world.damaged();
    assert_eq!(world.offered(lines[0]), ["deploy-old"]);
    world.write("sessions.jsonl", journal(["deploy-old".to_owned()]) + &long);
    world.forget();
    world.run(&["journal", "check"]).ends(0);
    assert!(world.offered(lines[0]).is_empty());
}

#[test]
fn a_witness_with_any_byte_damaged_offers_no_id_that_was_deleted() {
    let world = World::new();
    world.put("a1", "1");
    world.run(&["session", "delete", "a1"]).ends(0);
    world.put("a2", "1");
    let witness = world.dir().join("cruxctl/index/sessions.witness");
    let bytes = fs::read(&witness).unwrap();
    for at in 0..bytes.len() {
        let mut damaged = bytes.clone();
        damaged[at] ^= 0x41;
        fs::write(&witness, damaged).unwrap();
        assert_eq!(world.offered(&["session", "get", ""]), ["a2"], "byte {at}");
    }
    fs::write(&witness, &bytes).unwrap();
}

#[test]
fn an_id_that_is_written_with_escapes_is_the_same_id() {
    let store = |id: &str| session_line("@", "1").replace('@', id) + "\n";
    let delete = |id: &str| format!("{{\"op\":\"delete\",\"session_id\":\"{id}\"}}\n");
    let text = store("d\\u0065ploy-1")
        + &store("deploy-2")
        + &store("other")
        + &store("say \\\"so\\\"")
        + &store("\\u00e9t\u{e9}")
        + &delete("deploy\\u002d2");
    let world = World::with("sessions.jsonl", text);
    for checked in [false, true] {
        if checked {
            world.run(&["journal", "check"]).ends(0);
        }
        assert_eq!(world.offered(&["session", "get", "dep"]), ["deploy-1"]);
        assert_eq!(world.offered(&["session", "restore", "dep"]), ["deploy-1", "deploy-2"]);
        assert_eq!(world.offered(&["session", "get", "\u{e9}"]), ["\u{e9}t\u{e9}"]);
        assert_eq!(world.offered(&["session", "get", "deploy-1", "--rev", ""]), ["1"]);
        assert_eq!(world.offered(&["session", "get", "'say \"'"]), ["say \"so\""]);
    }
}

#[test]
fn ids_of_all_journals_are_offered_where_none_is_typed() {
    let world = World::with("sessions.jsonl", journal(["both".to_owned(), "boat".to_owned()]));
    let fact = "{\"op\":\"store\",\"fact\":{\"fact_id\":\"both\",\"entity\":\"e\",\"key\":\"k\",\"value\":\"v\",\
                \"confidence\":1.0,\"stored_at\":\"2026-01-01T00:00:00Z\",\"tokens\":1,\"deleted\":false}}\n";
    world.write("facts.jsonl", fact.to_owned() + &fact.replace("both", "bone"));
    for verb in ["log", "show"] {
        assert_eq!(world.offered(&["journal", verb, "--id", "bo"]), ["boat", "bone", "both"]);
        assert_eq!(world.offered(&["journal", verb, "facts", "--id", "bo"]), ["bone", "both"]);
    }
    assert_eq!(world.offered(&["journal", "log", "facts", "cases", "--id", "bo"]), ["bone", "both"]);
    let mut command = world.command(&["--", "cruxctl journal log --id bo", " sessions", BREAKS]);
    let behind = Answer::from(command.env("_CRUXCTL_COMPLETE", "bash").output().unwrap()).ends(0).text();
    assert_eq!(behind, "=boat\n=both\n");
    // One that cannot be read may have any.
    fs::create_dir(world.dir().join("cases.jsonl")).unwrap();
    assert!(world.offered(&["journal", "log", "--id", "bo"]).is_empty());
    fs::remove_dir(world.dir().join("cases.jsonl")).unwrap();
}

#[test]
fn facts_are_offered_with_an_index_as_without() {
    let line = |n: u32| {
        format!(
            "{{\"op\":\"store\",\"fact\":{{\"fact_id\":\"f_{n:05}\",\"entity\":\"e{}\",\"key\":\"k\",\"value\":\"{}\",\
             \"confidence\":1.0,\"stored_at\":\"2026-01-01T00:00:00Z\",\"tokens\":1,\"deleted\":false}}}}\n",
            n % 7,
            "v".repeat(200)
        )
    };
    let deleted =
        |n| format!("{{\"op\":\"delete\",\"fact_id\":\"f_{n:05}\",\"deleted_at\":\"2026-01-01T00:00:00Z\"}}\n");
    let mut text: String = (0..5000).map(line).collect();
    text.extend((0..5000).step_by(3).map(deleted));
    let world = World::with("facts.jsonl", &text);
    for index in [false, true] {
        assert_eq!(world.dir().join("cruxctl/index/facts.index").exists(), index);
        assert_eq!(
            world.offered(&["fact", "show", "f_0123"]),
            ["f_01231", "f_01232", "f_01234", "f_01235", "f_01237", "f_01238"]
        );
        assert_eq!(world.offered(&["fact", "history", "e"]).len(), 7);
        world.run(&["fact", "list", "--limit", "1"]).ends(0);
    }
    world.append("facts.jsonl", deleted(1231) + &deleted(1237));
    assert_eq!(world.offered(&["fact", "show", "f_0123"]), ["f_01232", "f_01234", "f_01235", "f_01238"]);
    // Too long to be read in passing, and nothing says what is live: then nothing is.
    fs::remove_dir_all(world.dir().join("cruxctl")).unwrap();
    world.append("facts.jsonl", (5000..10_000).map(line).collect::<String>());
    assert!(world.offered(&["fact", "show", "f_0123"]).is_empty());
}

#[test]
fn too_many_ids_are_shown_by_what_they_begin_with_until_typing_has_narrowed_them() {
    let world = World::with("sessions.jsonl", journal((0..100_000).map(|n| format!("job-{n}"))));
    for witness in [false, true] {
        if witness {
            world.run(&["journal", "check", "sessions"]).ends(0);
        }
        let all = world.offered(&["session", "get", ""]);
        assert!((2..=100).contains(&all.len()), "{all:?}");
        // None is left out: each id is one of them, or goes on with one of them.
        for n in (0..100_000).step_by(7) {
            let id = format!("job-{n}");
            assert!(all.iter().any(|begins| id.starts_with(&**begins)), "{id}: {all:?}");
        }
        assert_eq!(world.offered(&["session", "get", "job-9999"]).len(), 11);
        assert_eq!(world.offered(&["session", "get", "job-99999"]), ["job-99999"]);
        assert!(world.offered(&["session", "get", "x"]).is_empty());
    }
    for shell in ["bash", "zsh"] {
        let mut typist = Typist::at(&world, shell);
        assert_eq!(typist.tab("cruxctl session get j").0, "cruxctl session get job-", "{shell}");
        assert_eq!(typist.tab("cruxctl session get job-1234").0, "cruxctl session get job-1234", "{shell}");
        assert_eq!(typist.tab("cruxctl session get job-99998").0, "cruxctl session get job-99998 ", "{shell}");
    }
    // A beginning is no id: no space is put behind it. The mark says so.
    let answer = world.ask("zsh", &["session", "get", "job-1"]).ends(0).lines();
    assert!(answer.iter().any(|line| line.starts_with("+job-1")), "{answer:?}");
}

#[test]
fn ids_that_no_line_can_hold_are_left_out() {
    let world =
        with_sessions(&["ok", "-x", "--all-agents", "new\nline", "tab\t", "esc\u{1b}]0;x\u{7}", "\u{202e}rtl", ""]);
    assert_eq!(world.offered(&["session", "get", ""]), ["ok"]);
    for begun in ["n", "t", "e", "\u{202e}"] {
        assert!(world.offered(&["session", "get", begun]).is_empty(), "{begun:?}");
    }
    // Behind two dashes nothing is an option any more.
    assert_eq!(world.offered(&["session", "get", "--", ""]), ["--all-agents", "-x", "ok"]);
    let typed = ["!", "wow!", "\"wow"].map(|typed| {
        let world = with_sessions(&["wow!"]);
        let line = format!("cruxctl session get {typed}");
        let mut command = world.command(&["--", &line, "", BREAKS]);
        Answer::from(command.env("_CRUXCTL_COMPLETE", "bash").output().unwrap()).ends(0).text()
    });
    // Between double quotes bash would make something else of it.
    assert_eq!(typed, ["", "=wow\\!\n", ""]);
}

#[test]
fn options_are_offered_to_who_has_typed_a_dash() {
    let world = with_sessions(&["a"]);
    assert_eq!(world.offered(&["session", "get", ""]), ["a"]);
    let options = world.offered(&["session", "get", "--"]);
    assert!(options.iter().any(|option| option == "--expired"), "{options:?}");
    assert!(world.offered(&["session", "get", "--agent", "nobody", ""]).is_empty(), "an id belongs there");
    assert!(world.offered(&["session", "list", ""]).iter().any(|option| option == "--archived"));
    assert_eq!(world.offered(&["journal", "compact", "s"]), ["sessions"]);
    assert_eq!(world.offered(&["--data-dir", "da"]), ["data/"]);
}

#[test]
fn cases_facts_agents_handoffs_and_keys_are_offered() {
    let world = World::new();
    let case = |task: &str| {
        world.run(&["case", "record", "--task", task, "--action", "a", "--outcome", "o"]).ends(0).lines()[0].clone()
    };
    let mut cases = vec![case("one"), case("two"), case("three")];
    world.run(&["case", "delete", &cases.remove(1)]).ends(0);
    cases.sort();
    assert_eq!(world.offered(&["case", "show", "c_"]), cases);
    assert_eq!(world.offered(&["case", "reuse", &cases[0], "c_"]), cases[1..]);

    let store =
        |args: &[&str]| world.run(&[&["fact", "store", "--format", "id"], args].concat()).ends(0).lines()[0].clone();
    let open = store(&["--entity", "deploy:canary", "--key", "status", "--value", "red"]);
    let gone = store(&["--entity", "gone", "--key", "k", "--value", "v"]);
    let own = store(&["--entity", "notes", "--key", "api", "--value", "v", "--private", "--agent", "carol"]);
    world.run(&["fact", "delete", &gone]).ends(0);
    assert_eq!(world.offered(&["fact", "show", "f_"]), std::slice::from_ref(&open));
    let both = world.offered(&["fact", "show", "--agent", "carol", "f_"]);
    assert!(both.len() == 2 && both.contains(&own), "{both:?}");
    assert_eq!(world.offered(&["fact", "supersede", &own, "--by", "f_"]), std::slice::from_ref(&open));
    assert_eq!(world.offered(&["fact", "history", ""]), ["deploy:canary"]);
    assert_eq!(world.offered(&["fact", "history", "f_"]), [open]);
    assert_eq!(world.offered(&["fact", "history", "deploy:canary", ""]), ["status"]);
    assert_eq!(world.offered(&["fact", "list", "--agent", "carol", "--entity", "n"]), ["notes"]);
    assert_eq!(world.offered(&["fact", "list", "--agent", "carol", "--entity", "notes", "--key", ""]), ["api"]);
    assert_eq!(world.offered(&["fact", "list", "--agent", ""]), ["carol"]);

    let keygen = ["handoff", "keygen", "--ed25519", "dave.key"];
    world.run(&keygen).ends(0);
    world.run(&["handoff", "trust", "add", "dave", "dave.key.pub"]).ends(0);
    assert_eq!(world.offered(&["session", "list", "--agent", ""]), ["carol", "dave"]);
    let key = world.run(&["handoff", "trust", "list", "--format", "id"]).ends(0).lines()[0].clone();
    let mut offered = world.offered(&["handoff", "trust", "remove", ""]);
    offered.sort();
    let mut both = vec!["dave".to_owned(), key];
    both.sort();
    assert_eq!(offered, both);
    let entry = |hash: &str, state: &str, own: &str| {
        format!(
            "{{\"op\":\"handoff\",\"content_hash\":\"{hash}\",\"state\":\"{state}\",\"handoff_id\":\"{own}\",\
             \"session_id\":\"s\",\"source_agent\":\"alice\",\"key_id\":\"k\",\"session\":true,\"fact_ids\":[],\
             \"sessions_bytes\":0,\"facts_bytes\":0,\"heads_before\":[],\"times\":1,\
             \"begun_at\":\"2026-01-01T00:00:00Z\"}}\n"
        )
    };
    world.append("cruxctl/handoffs.jsonl", entry("aa11", "open", "h_1") + &entry("bb22", "abandoned", "h_2"));
    assert_eq!(world.offered(&["handoff", "abandon", ""]), ["h_1"]);
    assert_eq!(world.offered(&["handoff", "abandon", "a"]), ["aa11"]);
}

#[test]
fn what_there_is_of_durable_sessions_is_offered() {
    let world = World::new();
    for (target, key) in [("photos", "album-7"), ("photos", "album-8"), ("support", "customer-42"), ("gone", "gone")]
    {
        world.run(&["durable", "open", "--target", target, "--kind", "flow", "--key", key]).ends(0);
    }
    let ids = |args: &str| world.run(&[words(args), vec!["--format", "id"]].concat()).ends(0).lines();
    let of = |verb: &str| ids(&format!("durable {verb} --target photos --key album-7"));
    world.run(&words("durable kill --target gone --key gone")).ends(0);
    world.run(&words("durable delete --target gone --key gone")).ends(0);
    let mut sessions = ids("durable list");
    sessions.sort();
    assert_eq!(sessions.len(), 3);
    assert_eq!(world.offered(&["durable", "status", "--session", ""]), sessions);
    assert_eq!(world.offered(&["durable", "work", "--session", "s"]), sessions);
    assert_eq!(world.offered(&["durable", "status", "--target", ""]), ["photos", "support"]);
    assert_eq!(world.offered(&["durable", "send", "--target", "photos", "--key", ""]), ["album-7", "album-8"]);
    assert_eq!(world.offered(&["durable", "send", "--target", "support", "--key", "c"]), ["customer-42"]);
    assert_eq!(world.offered(&["durable", "open", "--namespace", ""]), ["default"]);
    let args = ["durable", "send", "--target", "photos", "--key", "album-7", "--format", "id"];
    let inputs = [world.run_with(&args, "1").ends(0).lines(), world.run_with(&args, "2").ends(0).lines()].concat();
    assert_eq!(world.offered(&["durable", "result", "--input", "in"]), inputs);
    assert_eq!(world.offered(&["durable", "complete", "--work", ""]), [] as [&str; 0]);
    let work = of("claim");
    assert_eq!(world.offered(&["durable", "complete", "--work", ""]), work[..1]);
    let subscription = ids("durable subscribe --target photos --key album-7 --signal paid");
    assert_eq!(world.offered(&["durable", "unsubscribe", "--sub", ""]), subscription);
    assert_eq!(world.offered(&["durable", "publish", "--signal", ""]), ["paid"]);
}

#[test]
fn nothing_is_said_written_or_waited_for_whatever_is_wrong() {
    let lines: [&[&str]; 8] = [
        &["session", "get", ""],
        &["case", "show", ""],
        &["fact", "show", ""],
        &["fact", "history", ""],
        &["session", "get", "--agent", ""],
        &["handoff", "abandon", ""],
        &["handoff", "trust", "remove", ""],
        &["journal", "show", "facts", "--id", ""],
    ];
    let silent = |world: &World, what: &str| {
        let before = world.everything();
        for line in lines {
            for shell in ["bash", "zsh", "fish", "csh"] {
                let answer = world.ask(shell, line).ends(0);
                assert_eq!(answer.stderr, "", "{what}: {line:?}");
            }
        }
        assert_eq!(world.everything(), before, "{what}");
    };
    let world = World::new();
    silent(&world, "no directory");
    assert!(!world.dir().exists());
    for name in ["tests/data/after-crash", "tests/data/daemon", "tests/data/daemon/legacy"] {
        let world = World::copy_of(name).damaged();
        silent(&world, name);
        for flags in [&["--all-agents"][..], &["--agent", "alice"], &[]] {
            let offered = world.offered(&[&["session", "get"], flags, &[""]].concat());
            let list = [&["session", "list", "--all", "--format", "id", "-0", "--damaged-ok"], flags].concat();
            assert_eq!(offered, typable(&world.run(&list).ends(0)), "{name} {flags:?}");
        }
        let facts = world.offered(&["fact", "show", "--all-agents", ""]);
        let list = ["fact", "list", "--all", "--all-agents", "--format", "id", "-0", "--damaged-ok"];
        assert_eq!(facts, typable(&world.run(&list).ends(0)), "{name}");
        let cases = world.offered(&["case", "show", ""]);
        assert_eq!(cases, world.live_ids("cases"), "{name}");
    }

    let world = World::new().damaged();
    fs::create_dir_all(world.dir().join("facts.jsonl")).unwrap();
    std::os::unix::fs::symlink("nowhere", world.dir().join("cases.jsonl")).unwrap();
    world.shell("mkfifo data/sessions.jsonl").ends(0);
    silent(&world, "no files");

    let world = World::new();
    world.put("held", "1");
    let lock = fs::File::open(world.dir().join("cruxctl/lock")).unwrap();
    lock.lock().unwrap();
    world.append("sessions.jsonl", "{\"op\":\"store\",\"session\":{\"session_id\":\"torn");
    silent(&world, "the lock is held, and a write has begun");
    assert_eq!(world.offered(&["session", "get", ""]), ["held"]);
    drop(lock);
    let world = world.damaged();
    world.shell("chmod -R a-w data").ends(0);
    silent(&world, "read-only");
    world.shell("chmod -R u+w data").ends(0);

    // Nobody to hear it, and nothing that a script hands over.
    let world = with_sessions(&["a"]);
    for line in ["> /dev/full", ">&-", "| true"] {
        let answer = world.shell(&format!("_CRUXCTL_COMPLETE=fish cruxctl -- 'cruxctl session get ' {line}")).ends(0);
        assert_eq!(answer.stderr, "", "{line}");
    }
    for args in [&["--"][..], &["--", ""], &["--", "", ""], &["--", "", "9", ""], &["--", "\u{1b}", "1", "--"]] {
        for shell in ["bash", "zsh", "fish"] {
            let answer = Answer::from(world.command(args).env("_CRUXCTL_COMPLETE", shell).output().unwrap()).ends(0);
            assert_eq!(answer.stderr, "", "{shell} {args:?}");
        }
    }
}

#[test]
fn only_a_script_asks() {
    let world = with_sessions(&["a"]);
    let plain = world.run(&["session", "list"]).ends(0).text();
    for (name, value) in [("COMPLETE", "bash"), ("_CRUXCTL_COMPLETE", "bash"), ("COMPLETE", "x")] {
        let answer = Answer::from(world.command(&["session", "list"]).env(name, value).output().unwrap()).ends(0);
        assert_eq!(answer.text(), plain, "{name}");
    }
}

#[test]
fn every_shell_has_a_script_that_finds_the_program_by_its_name() {
    let world = World::new();
    for shell in ["bash", "zsh", "fish", "elvish", "powershell"] {
        let script = world.run(&["completions", shell]).ends(0).text();
        assert!(script.contains("cruxctl") && !script.contains("target/"), "{shell}");
    }
    for (shell, script) in [("bash", "cruxctl.bash"), ("zsh", "_cruxctl"), ("fish", "cruxctl.fish")] {
        let mut command = world.on_path(shell);
        let checked = Answer::from(command.arg("-n").arg(tree("completions").join(script)).output().unwrap()).ends(0);
        assert_eq!(checked.stderr, "", "{shell}");
    }
}
