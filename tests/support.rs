//! The harness: a world with a data directory of its own, an environment with nothing in it, and a clock that stands.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

use serde_json::Value;
use tempfile::TempDir;

/// The moment at which every command runs unless a test says otherwise.
pub const NOW: &str = "2026-07-01T12:00:00Z";

/// The files of a data directory, by name.
pub type Files = BTreeMap<String, Vec<u8>>;

/// A place in the source tree.
pub fn tree(path: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join(path)
}

/// A temporary folder with a data directory in it. When it goes out of scope, the journals must be clean unless the
/// test has said that they are not.
pub struct World {
    folder: TempDir,
    damaged: bool,
    now: String,
}

/// What a command has answered.
pub struct Answer {
    pub status: i32,
    pub stdout: Vec<u8>,
    pub stderr: String,
}

impl std::fmt::Debug for Answer {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let start = &self.stdout[..self.stdout.len().min(2_000)];
        let text = String::from_utf8_lossy(start);
        f.debug_struct("Answer")
            .field("status", &self.status)
            .field("stdout", &text)
            .field("stderr", &self.stderr)
            .finish()
    }
}

impl World {
    /// A world whose data directory does not exist yet.
    pub fn new() -> World {
        World { folder: TempDir::new().unwrap(), damaged: false, now: NOW.to_owned() }
    }

    /// A world with a copy of a data directory of the source tree; a missing one is an empty directory.
    pub fn copy_of(path: &str) -> World {
        let world = World::new();
        fs::create_dir_all(world.dir()).unwrap();
        if let Ok(entries) = fs::read_dir(tree(path)) {
            for entry in entries {
                let entry = entry.unwrap();
                // What somebody has kept there who tried the tool in the tree is not part of it.
                if entry.path().is_dir() {
                    continue;
                }
                fs::write(world.dir().join(entry.file_name()), fs::read(entry.path()).unwrap()).unwrap();
            }
        }
        world
    }

    /// A world with these bytes as a journal.
    pub fn with(file: &str, bytes: impl AsRef<[u8]>) -> World {
        let world = World::new();
        fs::create_dir_all(world.dir()).unwrap();
        world.write(file, bytes);
        world
    }

    /// The same world, whose journals may be damaged at the end.
    pub fn damaged(mut self) -> World {
        self.damaged = true;
        self
    }

    /// Sets the clock.
    pub fn at(&mut self, now: &str) {
        self.now = now.to_owned();
    }

    /// The data directory.
    pub fn dir(&self) -> PathBuf {
        self.folder.path().join("data")
    }

    /// A path beside the data directory.
    pub fn beside(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    /// Writes a file of the data directory.
    pub fn write(&self, file: &str, bytes: impl AsRef<[u8]>) {
        fs::write(self.dir().join(file), bytes).unwrap();
    }

    /// Lets go of what is known of the journals as they were: the next command sees them for the first time.
    pub fn forget(&self) {
        let _ = fs::remove_dir_all(self.dir().join("cruxctl/index"));
    }

    /// The bytes of a file of the data directory; none where it is missing.
    pub fn read(&self, file: &str) -> Vec<u8> {
        fs::read(self.dir().join(file)).unwrap_or_default()
    }

    /// Every journal of the data directory.
    pub fn journals(&self) -> Files {
        let mut files = Files::new();
        for entry in fs::read_dir(self.dir()).into_iter().flatten().flatten() {
            let name = entry.file_name().into_string().unwrap();
            if name.ends_with(".jsonl") {
                files.insert(name, fs::read(entry.path()).unwrap());
            }
        }
        files
    }

    /// A command of this world, not yet run.
    pub fn command(&self, args: &[&str]) -> Command {
        let mut command = Command::new(assert_cmd::cargo::cargo_bin!("cruxctl"));
        command.args(args).env_clear().current_dir(self.folder.path());
        command.env("CRUXCTL_DATA_DIR", self.dir()).env("CRUXCTL_NOW", &self.now).env("HOME", self.folder.path());
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
        command
    }

    /// Runs a command without input.
    pub fn run(&self, args: &[&str]) -> Answer {
        Answer::from(self.command(args).output().unwrap())
    }

    /// Runs a command with input.
    pub fn run_with(&self, args: &[&str], input: impl AsRef<[u8]>) -> Answer {
        let mut command = self.command(args);
        let mut child = command.stdin(Stdio::piped()).spawn().unwrap();
        // A command that refuses before it reads closes the pipe: that is its right.
        let _ = child.stdin.take().unwrap().write_all(input.as_ref());
        Answer::from(child.wait_with_output().unwrap())
    }

    /// Runs a line of a shell with `cruxctl` on its path.
    pub fn shell(&self, line: &str) -> Answer {
        let binary = assert_cmd::cargo::cargo_bin!("cruxctl");
        let path = format!("{}:/usr/local/bin:/usr/bin:/bin:/usr/sbin:/sbin", binary.parent().unwrap().display());
        let mut command = self.command(&[]);
        let mut shell = Command::new("bash");
        shell.arg("-c").arg(line).env_clear().current_dir(self.folder.path());
        for (name, value) in command.env("PATH", path).get_envs() {
            shell.env(name, value.unwrap());
        }
        Answer::from(shell.stdin(Stdio::null()).output().unwrap())
    }

    /// The stored ids of every session.
    pub fn session_ids(&self) -> Vec<String> {
        let answer = self.run(&["session", "list", "--all-agents", "--all", "--format", "id", "-0", "--damaged-ok"]);
        assert_eq!(answer.status, 0, "{answer:?}");
        split_ids(&answer.stdout)
    }

    /// The ids of a journal's live records.
    pub fn live_ids(&self, journal: &str) -> Vec<String> {
        let answer = self.run(&["journal", "export", journal, "--format", "id", "-0", "--damaged-ok"]);
        assert_eq!(answer.status, 0, "{answer:?}");
        split_ids(&answer.stdout)
    }

    /// What `journal check` says, as JSON, whatever it ends with.
    pub fn check(&self, args: &[&str]) -> (i32, Value) {
        let answer = self.run(&[&["journal", "check", "--json"], args].concat());
        (answer.status, serde_json::from_slice(&answer.stdout).unwrap_or_else(|e| panic!("{e}: {answer:?}")))
    }

    /// The classes of a journal's findings, in order.
    pub fn classes(&self, journal: &str) -> Vec<String> {
        let (_, report) = self.check(&[journal]);
        let findings = report["findings"].as_array().unwrap();
        findings.iter().map(|f| f["class"].as_str().unwrap().to_owned()).collect()
    }
}

/// Ids that end with a NUL byte each, sorted.
pub fn split_ids(bytes: &[u8]) -> Vec<String> {
    let text = String::from_utf8(bytes.to_vec()).unwrap();
    let mut ids: Vec<String> = text.split_terminator('\0').map(str::to_owned).collect();
    ids.sort();
    ids
}

impl From<Output> for Answer {
    fn from(output: Output) -> Answer {
        use std::os::unix::process::ExitStatusExt;
        let status = output.status.code().unwrap_or_else(|| 128 + output.status.signal().unwrap_or_default());
        Answer { status, stdout: output.stdout, stderr: String::from_utf8_lossy(&output.stderr).into_owned() }
    }
}

impl Answer {
    /// The answer, which must have ended with this status.
    pub fn ends(self, status: i32) -> Answer {
        assert_eq!(self.status, status, "{self:?}");
        self
    }

    /// Standard output as text.
    pub fn text(&self) -> String {
        String::from_utf8(self.stdout.clone()).unwrap()
    }

    /// Standard output as one JSON document.
    pub fn json(&self) -> Value {
        serde_json::from_slice(&self.stdout).unwrap_or_else(|e| panic!("{e}: {self:?}"))
    }

    /// The lines of standard output.
    pub fn lines(&self) -> Vec<String> {
        self.text().lines().map(str::to_owned).collect()
    }
}

impl Drop for World {
    fn drop(&mut self) {
        if self.damaged || std::thread::panicking() || !self.dir().is_dir() {
            return;
        }
        let answer = self.run(&["journal", "check"]);
        assert_eq!(answer.status, 0, "the journals must be clean at the end of a story: {answer:?}");
    }
}

/// A `store` line of the sessions journal, without its line end.
pub fn session_line(id: &str, state: &str) -> String {
    let id = serde_json::to_string(id).unwrap();
    format!(
        "{{\"op\":\"store\",\"session\":{{\"session_id\":{id},\"state\":{state},\"updated_at\":\"2026-01-01T00:00:00Z\",\
         \"total_tokens\":1,\"archived\":false}}}}"
    )
}

/// A journal as it was before its only repair, put together from what the repair left and what it set aside. A journal
/// that was not repaired is as it is.
pub fn before_repair(world: &World, journal: &str) -> Vec<u8> {
    let now = world.read(cruxctl::store::journal(journal).unwrap().file);
    let folder = world.dir().join("cruxctl/quarantine");
    let names = fs::read_dir(&folder).into_iter().flatten().flatten().map(|entry| entry.file_name());
    let mine = |name: &String| name.starts_with(&format!("{journal}-")) && name.ends_with(".manifest.jsonl");
    let manifests: Vec<String> = names.map(|name| name.into_string().unwrap()).filter(mine).collect();
    let [manifest] = &manifests[..] else {
        assert!(manifests.is_empty(), "more than one repair of {journal}");
        return now;
    };
    let (mut before, mut at, mut removed, mut inserted) = (Vec::new(), 0, 0, 0);
    let mut bytes = Vec::new();
    let mut total = Value::Null;
    for line in fs::read_to_string(folder.join(manifest)).unwrap().lines() {
        assert!(total.is_null(), "a line behind the sums: {line}");
        let entry: Value = serde_json::from_str(line).unwrap();
        let (kind, entry) = entry.as_object().unwrap().iter().next().unwrap();
        let number = |name: &str| usize::try_from(entry[name].as_u64().unwrap()).unwrap();
        if matches!(&**kind, "removed" | "inserted") {
            let kept = number("offset") - before.len();
            before.extend_from_slice(&now[at..at + kept]);
            at += kept;
        }
        match &**kind {
            "quarantine" => bytes = fs::read(folder.join(entry["bytes_file"].as_str().unwrap())).unwrap(),
            "removed" => {
                assert_eq!(number("at"), removed, "a hole in the bytes set aside");
                before.extend_from_slice(&bytes[removed..removed + number("length")]);
                removed += number("length");
            }
            "inserted" => {
                assert!(entry["text"] == "\n" && now[at] == b'\n', "something else than a line end was put in");
                inserted += 1;
                at += 1;
            }
            "total" => total = entry.clone(),
            _ => panic!("a line of another kind: {line}"),
        }
    }
    before.extend_from_slice(&now[at..]);
    assert_eq!(bytes.len(), removed);
    let sums = serde_json::json!({
        "before_bytes": before.len(), "after_bytes": now.len(), "removed_bytes": removed, "inserted_bytes": inserted,
    });
    assert_eq!(total, sums);
    before
}

/// A command line without quotes as its words.
pub fn words(line: &str) -> Vec<&str> {
    line.split_whitespace().collect()
}

/// Every file below a folder with its bytes, and every folder, by path.
pub fn everything(folder: &Path) -> BTreeMap<PathBuf, Option<Vec<u8>>> {
    let mut found = BTreeMap::new();
    for entry in fs::read_dir(folder).into_iter().flatten() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            found.extend(everything(&path));
            found.insert(path, None);
        } else {
            found.insert(path.clone(), fs::read(&path).ok());
        }
    }
    found
}

impl Answer {
    /// The objects on standard error of a command that was asked for JSON: each line is one.
    pub fn talk(&self) -> Vec<Value> {
        let object = |line: &str| serde_json::from_str(line).unwrap_or_else(|e| panic!("{e}: {line:?} in {self:?}"));
        self.stderr.lines().map(object).collect()
    }

    /// The one error object of a command that was asked for JSON and has failed with this code.
    pub fn fails(&self, code: cruxctl::error::Code) -> Value {
        let errors: Vec<Value> = self.talk().into_iter().filter(|o| o["schema"] == "cruxctl.error.v1").collect();
        assert_eq!(errors.len(), 1, "{self:?}");
        assert_eq!(errors[0]["code"], code.text(), "{self:?}");
        assert_eq!(self.status, i32::from(code.kind().status()), "{self:?}");
        errors[0].clone()
    }

    /// The commands that the talk of a command without JSON recommends.
    pub fn hints(&self) -> Vec<String> {
        self.stderr.lines().filter_map(|line| line.strip_prefix("  try: ")).map(str::to_owned).collect()
    }
}

/// Whether the tests run as root, who may mount and give files away, and whom no mode keeps out.
pub fn is_root() -> bool {
    use std::os::unix::fs::MetadataExt;
    let probe = TempDir::new().unwrap();
    fs::metadata(probe.path()).unwrap().uid() == 0
}

/// A file system over a folder; it is taken away again when dropped.
pub struct Mount(PathBuf);

impl Mount {
    fn works(args: &[&str], over: &Path) -> bool {
        Command::new("mount").args(args).arg(over).stderr(Stdio::null()).status().is_ok_and(|status| status.success())
    }

    /// A file system in memory of this size; `None` where mounting is not permitted.
    pub fn memory(over: &Path, size: &str) -> Option<Mount> {
        fs::create_dir_all(over).unwrap();
        let options = format!("size={size},mode=0700");
        Mount::works(&["-t", "tmpfs", "-o", &options, "tmpfs"], over).then(|| Mount(over.to_owned()))
    }

    /// A folder over itself, read-only; `None` where mounting is not permitted.
    pub fn read_only(over: &Path) -> Option<Mount> {
        let bound = Mount::works(&["--bind", over.to_str().unwrap()], over).then(|| Mount(over.to_owned()))?;
        Mount::works(&["-o", "remount,bind,ro"], over).then_some(bound)
    }
}

impl Drop for Mount {
    fn drop(&mut self) {
        // Lazily: a command that a failed test has left behind may still be in it.
        let _ = Command::new("umount").arg("-l").arg(&self.0).status();
    }
}

/// What a command did under `strace`.
#[derive(Debug)]
pub struct Traced {
    pub answer: Answer,
    /// The calls in their order, each as strace writes it, without the process id.
    pub calls: Vec<String>,
}

impl Traced {
    /// The places of the calls that begin with `name(` and hold `text`.
    pub fn places(&self, name: &str, text: &str) -> Vec<usize> {
        let begin = format!("{name}(");
        let fits = |call: &str| call.starts_with(&begin) && call.contains(text);
        self.calls.iter().enumerate().filter(|(_, call)| fits(call)).map(|(place, _)| place).collect()
    }

    /// The call that was made to fail, if it came to that.
    pub fn injected(&self) -> Option<&str> {
        self.calls.iter().find(|call| call.ends_with("(INJECTED)")).map(String::as_str)
    }
}

/// Whether tests that need `strace` are left out: only where somebody has said so. Where it is missing and nobody has,
/// they fail, so that a machine without it never looks like one on which they pass.
pub fn strace_is_waived() -> bool {
    if std::env::var_os("CRUXCTL_TEST_WITHOUT_STRACE").is_some_and(|value| value == "1") {
        return true;
    }
    let works = Command::new("strace").args(["-f", "-qq", "-e", "trace=none", "true"]).output();
    assert!(
        works.as_ref().is_ok_and(|output| output.status.success()),
        "this test makes system calls fail with strace, which is missing or not permitted here: install strace, \
         or set CRUXCTL_TEST_WITHOUT_STRACE=1 to leave such tests out ({works:?})"
    );
    false
}

impl World {
    /// A command of this world under `strace` with these options, not yet run. Its calls go to `trace` beside the data
    /// directory, its standard output to `out` there: so its writes can be told by their path.
    pub fn strace(&self, options: &[&str], args: &[&str]) -> Command {
        let mut command = self.surround(Command::new("strace"));
        command.args(["-f", "-qq", "-y", "-s", "65536", "-o"]).arg(self.beside("trace")).args(options);
        command.arg("--").arg(assert_cmd::cargo::cargo_bin!("cruxctl")).args(args);
        command.stdout(fs::File::create(self.beside("out")).unwrap());
        command
    }

    /// Runs a command under `strace`, with input.
    pub fn traced(&self, options: &[&str], args: &[&str], input: &str) -> Traced {
        fs::write(self.beside("in"), input).unwrap();
        let mut command = self.strace(options, args);
        command.stdin(fs::File::open(self.beside("in")).unwrap());
        self.trace_of(command.output().unwrap())
    }

    /// What a command under `strace` that has ended did.
    pub fn trace_of(&self, output: Output) -> Traced {
        let mut answer = Answer::from(output);
        answer.stdout = fs::read(self.beside("out")).unwrap();
        let trace = String::from_utf8_lossy(&fs::read(self.beside("trace")).unwrap()).into_owned();
        let call = |line: &str| line.trim_start_matches(|c: char| c.is_ascii_digit() || c == ' ').to_owned();
        Traced { answer, calls: trace.lines().map(call).collect() }
    }

    /// Writes over bytes of a file of the data directory, in place, as an editor of bytes does it.
    pub fn overwrite(&self, file: &str, at: usize, bytes: &[u8]) {
        let file = fs::OpenOptions::new().write(true).open(self.dir().join(file)).unwrap();
        std::os::unix::fs::FileExt::write_all_at(&file, bytes, at as u64).unwrap();
    }

    /// Fills the world's own file system until this much is free.
    pub fn fill(&self, free: u64) {
        let filler = self.dir().join("filler");
        let _ = fs::remove_file(&filler);
        let mut bytes = vec![b'x'; 4 << 20];
        // The write that does not fit has filled everything.
        fs::write(&filler, &bytes).unwrap_err();
        let room = fs::metadata(&filler).unwrap().len();
        bytes.truncate(usize::try_from(room.saturating_sub(free)).unwrap());
        fs::write(&filler, &bytes).unwrap();
    }

    /// Gives another program, which will run `cruxctl`, the surroundings that a command of this world has.
    pub fn surround(&self, mut other: Command) -> Command {
        let own = self.command(&[]);
        other.env_clear().envs(own.get_envs().filter_map(|(name, value)| Some((name, value?))));
        other.current_dir(self.folder.path()).stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
        other
    }

    /// Appends bytes to a file of the data directory, as somebody does who takes no lock.
    pub fn append(&self, file: &str, bytes: impl AsRef<[u8]>) {
        let file = fs::OpenOptions::new().append(true).create(true).open(self.dir().join(file));
        file.unwrap().write_all(bytes.as_ref()).unwrap();
    }

    /// Stores a session, which must work.
    pub fn put(&self, id: &str, state: &str) -> Answer {
        self.run_with(&["session", "put", id], state).ends(0)
    }
}

impl Answer {
    /// The code of the error on standard error: the last JSON object there, or what stands in the last brackets.
    pub fn code(&self) -> String {
        let json = self.stderr.lines().rev().find_map(|line| serde_json::from_str::<Value>(line).ok());
        if let Some(code) = json.as_ref().and_then(|error| error["code"].as_str()) {
            return code.to_owned();
        }
        let line = self.stderr.lines().find(|line| line.starts_with("error: ")).unwrap_or_default();
        line.rsplit_once('[').and_then(|(_, code)| code.strip_suffix(']')).unwrap_or_default().to_owned()
    }
}

/// Verbs that only read, for a world with a session `a` and with a state in the file `state` beside the directory. What
/// the last three say does not hang on the journal's end.
pub const READERS: [&[&str]; 15] = [
    &["session", "list"],
    &["session", "list", "--all", "--all-agents", "--json"],
    &["session", "get", "a"],
    &["session", "show", "a"],
    &["session", "put", "new", "--file", "state", "--dry-run"],
    &["session", "delete", "a", "--dry-run"],
    &["session", "reap", "--dry-run"],
    &["journal", "check", "--dry-run"],
    &["journal", "stat"],
    &["journal", "map", "--cells", "3"],
    &["journal", "export", "sessions"],
    &["journal", "show", "sessions", "--id", "a"],
    &["journal", "show", "sessions", "--line", "1"],
    &["journal", "repair"],
    &["journal", "compact", "sessions", "--dry-run"],
];

/// Verbs that write, for the same worlds. Each asks for the lock, whether there is something to do or not.
pub const WRITERS: [&[&str]; 7] = [
    &["session", "put", "new", "--file", "state"],
    &["session", "delete", "a"],
    &["session", "archive", "a"],
    &["session", "unarchive", "a"],
    &["session", "reap"],
    &["journal", "repair", "--apply"],
    &["journal", "compact", "sessions"],
];

/// A `store` line of a session that has expired, without its line end.
pub fn expired_line(id: &str) -> String {
    session_line(id, "1").replace("\"archived\"", "\"expires_at\":\"2026-01-02T00:00:00Z\",\"archived\"")
}

/// Every verb, as it is typed.
pub fn leaves() -> BTreeSet<String> {
    fn collect(command: &clap::Command, path: &str, leaves: &mut BTreeSet<String>) {
        for verb in command.get_subcommands() {
            collect(verb, format!("{path} {}", verb.get_name()).trim_start(), leaves);
        }
        if !command.has_subcommands() {
            leaves.insert(path.to_owned());
        }
    }
    let mut leaves = BTreeSet::new();
    collect(&cruxctl::cmd::docs::tree(), "", &mut leaves);
    leaves
}
