//! What the machine says of files and of who is at them: owners and modes, room, locks, processes.

use std::fs;
use std::io;
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::{Path, PathBuf};

use rustix::fs::{Access, StatVfsMountFlags};

/// Whose a file or folder is, and who may do what to it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Rights {
    /// The owner.
    pub uid: u32,
    /// The group.
    pub gid: u32,
    /// The mode's permission bits.
    pub mode: u32,
    /// Whether this process may write it.
    pub writable: bool,
}

impl Rights {
    /// Of a path; `None` where there is nothing.
    pub fn of(path: &Path) -> io::Result<Option<Rights>> {
        let data = match fs::metadata(path) {
            Ok(data) => data,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            Err(error) => return Err(error),
        };
        let writable = rustix::fs::access(path, Access::WRITE_OK).is_ok();
        let mode = data.permissions().mode() & 0o7777;
        Ok(Some(Rights { uid: data.uid(), gid: data.gid(), mode, writable }))
    }

    /// Whether this user may change its mode.
    #[must_use]
    pub fn is_ours(&self) -> bool {
        let user = rustix::process::geteuid();
        user.is_root() || user.as_raw() == self.uid
    }

    /// Whether others than the owner may read or write it.
    #[must_use]
    pub fn is_loose(&self) -> bool {
        self.mode & 0o077 != 0
    }
}

/// The file system that a folder lies on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Room {
    /// Bytes that this process may still write.
    pub free: u64,
    /// Bytes in all.
    pub all: u64,
    /// Whether nothing can be written.
    pub read_only: bool,
    /// Its type, where the machine says it.
    pub kind: Option<String>,
}

/// The file system that a path lies on, or would if it were made.
pub fn room(path: &Path) -> io::Result<Room> {
    let there = nearest(path);
    let data = rustix::fs::statvfs(there)?;
    Ok(Room {
        free: data.f_bavail.saturating_mul(data.f_frsize),
        all: data.f_blocks.saturating_mul(data.f_frsize),
        read_only: data.f_flag.contains(StatVfsMountFlags::RDONLY),
        kind: kind_of(there),
    })
}

/// The type of the file system, as the list of mounts has it.
fn kind_of(path: &Path) -> Option<String> {
    let device = fs::metadata(path).ok()?.dev();
    let device = format!("{}:{}", rustix::fs::major(device), rustix::fs::minor(device));
    let mounts = fs::read_to_string("/proc/self/mountinfo").ok()?;
    // 36 35 98:0 /root /mount options - type source …
    let line = mounts.lines().find(|line| line.split(' ').nth(2) == Some(&device))?;
    Some(line.split(" - ").nth(1)?.split(' ').next()?.to_owned())
}

/// A process.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Process {
    /// Its number.
    pub pid: u32,
    /// Its program's name, as far as it may be seen.
    pub name: String,
}

impl Process {
    fn of(pid: u32) -> Process {
        let name = fs::read_to_string(format!("/proc/{pid}/comm")).unwrap_or_default();
        Process { pid, name: name.trim_end().to_owned() }
    }
}

/// The processes that hold a lock on a file, as far as the machine tells of them: it hides those of other containers.
#[must_use]
pub fn holders(path: &Path) -> Vec<Process> {
    let Ok(data) = fs::metadata(path) else { return Vec::new() };
    let locks = fs::read_to_string("/proc/locks").unwrap_or_default();
    // 1: FLOCK  ADVISORY  WRITE 1234 fe:01:5678 0 EOF; one who waits has an arrow behind the number.
    let (major, minor) = (rustix::fs::major(data.dev()), rustix::fs::minor(data.dev()));
    let place = format!("{major:02x}:{minor:02x}:{}", data.ino());
    let holds = |line: &str| {
        let words: Vec<&str> = line.split_whitespace().collect();
        let [_, "FLOCK", _, "WRITE", pid, at, ..] = words[..] else { return None };
        (at == place).then(|| pid.parse().ok()).flatten().map(Process::of)
    };
    locks.lines().filter_map(holds).collect()
}

/// The nearest folder above a path that there is, or the path itself.
#[must_use]
pub fn nearest(path: &Path) -> &Path {
    let there = path.ancestors().find(|path| path.exists()).unwrap_or(Path::new("."));
    if there.as_os_str().is_empty() { Path::new(".") } else { there }
}

/// Whether two paths lead to the same.
#[must_use]
pub fn is_same(one: &Path, other: &Path) -> bool {
    let which = |path: &Path| fs::metadata(path).ok().map(|data| (data.dev(), data.ino()));
    which(one).is_some_and(|one| Some(one) == which(other))
}

/// Who has files open.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct AtFiles {
    /// The processes other than this one, each with the files.
    pub processes: Vec<(Process, Vec<PathBuf>)>,
    /// How many processes may not be looked at.
    pub unseen: u64,
}

/// The processes that have one of these files open.
#[must_use]
pub fn at_files(files: &[PathBuf]) -> AtFiles {
    let own = std::process::id();
    let mut at = AtFiles::default();
    for entry in fs::read_dir("/proc").into_iter().flatten().flatten() {
        let Some(pid) = entry.file_name().to_str().and_then(|name| name.parse().ok()).filter(|pid| *pid != own)
        else {
            continue;
        };
        let open = match fs::read_dir(entry.path().join("fd")) {
            Ok(open) => open,
            Err(error) => {
                // One that has ended meanwhile has nothing open.
                at.unseen += u64::from(error.kind() == io::ErrorKind::PermissionDenied);
                continue;
            }
        };
        let paths = open.flatten().filter_map(|fd| fs::read_link(fd.path()).ok());
        let mut open: Vec<PathBuf> = paths.filter(|path| files.contains(path)).collect();
        open.sort();
        open.dedup();
        if !open.is_empty() {
            at.processes.push((Process::of(pid), open));
        }
    }
    at.processes.sort();
    at
}
