//! Where things lie in a data directory, and how files are opened and made there.
//!
//! Folders are made 0700 and files 0600. What root makes is given to the owner of the data directory, so that a
//! check under sudo never locks the owner out.

use std::fs::{self, DirBuilder, File, Metadata, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::{DirBuilderExt, FileExt, MetadataExt, OpenOptionsExt, PermissionsExt, fchown};
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use rustix::fs::OFlags;

use super::Journal;
use super::finding::Span;
use crate::error::{Code, Error, Result, plain};

/// The data directory.
#[derive(Clone, Debug)]
pub struct DataDir {
    /// Its path.
    pub root: PathBuf,
    /// Which boot of the machine this is, where that is known: what a machine has not written before it went down,
    /// only its own boot can believe.
    pub boot: Option<[u8; 16]>,
    /// The machine's clock when the command began.
    pub clock: Option<SystemTime>,
}

impl DataDir {
    /// The file of a journal.
    #[must_use]
    pub fn journal(&self, journal: &Journal) -> PathBuf {
        self.root.join(journal.file)
    }

    /// Whether there is a file of a journal, at the price of one look; an error where that cannot be seen.
    pub fn has(&self, journal: &Journal) -> io::Result<bool> {
        match fs::symlink_metadata(self.journal(journal)) {
            Ok(_) => Ok(true),
            Err(error) if matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory) => Ok(false),
            Err(error) => Err(error),
        }
    }

    /// The folder of our own files, which the daemon never reads.
    #[must_use]
    pub fn own(&self) -> PathBuf {
        self.root.join("cruxctl")
    }

    /// The file that writers lock. It is never renamed or removed.
    #[must_use]
    pub fn lock(&self) -> PathBuf {
        self.own().join("lock")
    }

    /// Where repair puts what it takes out.
    #[must_use]
    pub fn quarantine(&self) -> PathBuf {
        self.own().join("quarantine")
    }

    /// Makes the data directory and `folder` inside it, as far as they are missing.
    pub fn make(&self, folder: &Path) -> Result<()> {
        make_folder(&self.root)?;
        for folder in [&*self.own(), folder] {
            let made = make_folder(folder)?;
            let opened = open_own_folder(folder)?;
            if made {
                self.give(&opened, folder)?;
            }
        }
        Ok(())
    }

    /// Whether a folder of ours is there or can be made.
    #[must_use]
    pub fn can_make(&self, folder: &Path) -> bool {
        self.make(folder).is_ok()
    }

    /// Gives what root has just made to the owner of the data directory.
    fn give(&self, made: &File, path: &Path) -> Result<()> {
        let owner = fs::metadata(&self.root).map_err(|e| Error::io("look at", &self.root, &e))?;
        if metadata(made, path)?.uid() == 0 && owner.uid() != 0 {
            fchown(made, Some(owner.uid()), Some(owner.gid())).map_err(|e| Error::io("give away", path, &e))?;
        }
        Ok(())
    }

    /// Refuses, for root, to write to a file that a link in somebody else's directory leads to, unless it is theirs. It
    /// is decided by the file that was opened: a path may be another one by now.
    pub fn check_trust(&self, path: &Path, file: &File) -> Result<()> {
        if !rustix::process::geteuid().is_root() {
            return Ok(());
        }
        let owner = fs::metadata(&self.root).map_err(|e| Error::io("look at", &self.root, &e))?.uid();
        let opened = metadata(file, path)?;
        let is_the_path = |data: Metadata| (data.dev(), data.ino()) == (opened.dev(), opened.ino());
        if owner == 0 || owner == opened.uid() || fs::symlink_metadata(path).is_ok_and(is_the_path) {
            return Ok(());
        }
        let message = format!(
            "{} is a link to a file that does not belong to the owner of the data directory; root does not write to it",
            path.display()
        );
        Err(Error::new(Code::EnvironmentPermission, message))
    }

    /// Opens a file of ours or a journal for reading and appending; makes it where it is missing. The flag says
    /// whether it is new.
    pub fn open_append(&self, path: &Path) -> Result<(File, bool)> {
        loop {
            check_kind(path)?;
            let mut options = OpenOptions::new();
            options.read(true).append(true).mode(0o600).custom_flags(raw(OFlags::NONBLOCK));
            match options.open(path) {
                Ok(file) => {
                    self.check_trust(path, &file)?;
                    return Ok((file, false));
                }
                Err(error) if error.kind() == io::ErrorKind::NotFound => {}
                Err(error) => return Err(Error::io("open", path, &error)),
            }
            match options.create_new(true).open(path) {
                Ok(file) => {
                    self.give(&file, path)?;
                    return Ok((file, true));
                }
                // Another process was faster. A link that leads nowhere is never followed, because what root makes
                // behind it would be given to the owner of this directory; it is refused at the next look.
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
                Err(error) => return Err(Error::io("create", path, &error)),
            }
        }
    }

    /// Makes a new file for writing; one of that name may not exist. Nothing is left of it if that fails. `append`: what
    /// is written goes behind whatever others have written to it.
    pub fn create_new(&self, path: &Path, append: bool) -> Result<File> {
        let mut options = OpenOptions::new();
        options.read(true).append(append).write(true).create_new(true).mode(0o600);
        let file = options.open(path).map_err(|e| Error::io("create", path, &e))?;
        if let Err(error) = self.give(&file, path) {
            let _ = fs::remove_file(path);
            return Err(error);
        }
        Ok(file)
    }
}

/// Makes new files that only their owner may read, whatever the umask, with these bytes, and on disk: all of them or
/// none, and each whole or not at all. What is there already is neither written over nor followed. `tag` makes the
/// copies' names their own.
pub fn create_private(files: &[(&Path, &[u8])], tag: &str) -> Result<()> {
    for (made, (path, bytes)) in files.iter().enumerate() {
        let mut created = false;
        if let Err(error) = create_whole(path, bytes, tag, &mut created) {
            let ours = files[..made].iter().map(|(path, _)| path).chain(created.then_some(path));
            ours.for_each(|path| drop(fs::remove_file(path)));
            return Err(if error.kind() == io::ErrorKind::AlreadyExists && !created {
                let message = format!("{} is there already, and no key is written over", path.display());
                Error::new(Code::RefusedExists, message)
            } else {
                Error::io("create", path, &error)
            });
        }
    }
    Ok(())
}

/// Makes a new file that gets its name when it is whole.
fn create_whole(path: &Path, bytes: &[u8], tag: &str, created: &mut bool) -> io::Result<()> {
    if path.symlink_metadata().is_ok() {
        return Err(io::ErrorKind::AlreadyExists.into());
    }
    let folder = path.parent().unwrap_or(Path::new(""));
    let temp = folder.join(format!(".cruxctl-{tag}.tmp"));
    let mut copied = false;
    let made = write_new(&temp, bytes, &mut copied).and_then(|()| {
        let flags = rustix::fs::RenameFlags::NOREPLACE;
        Ok(rustix::fs::renameat_with(rustix::fs::CWD, &temp, rustix::fs::CWD, path, flags)?)
    });
    match made {
        Ok(()) => {
            *created = true;
            sync_folder(folder)
        }
        Err(error) => {
            if copied {
                let _ = fs::remove_file(&temp);
            }
            // Some file systems cannot rename without replacing.
            match error.kind() {
                io::ErrorKind::InvalidInput | io::ErrorKind::Unsupported => create_one(path, bytes, created),
                _ => Err(error),
            }
        }
    }
}

/// Makes a new file with these bytes, and with its name on disk.
fn create_one(path: &Path, bytes: &[u8], created: &mut bool) -> io::Result<()> {
    write_new(path, bytes, created)?;
    sync_folder(path.parent().unwrap_or(Path::new("")))
}

/// Makes a new file with these bytes on disk, whatever becomes of its name.
fn write_new(path: &Path, bytes: &[u8], created: &mut bool) -> io::Result<()> {
    let mut options = OpenOptions::new();
    options.write(true).create_new(true).mode(0o600).custom_flags(raw(OFlags::NOFOLLOW));
    let mut file = options.open(path)?;
    *created = true;
    file.set_permissions(fs::Permissions::from_mode(0o600))?;
    file.write_all(bytes)?;
    file.sync_all()
}

/// Puts a file with these bytes in a place, for its owner's eyes only, and on disk: all of it or nothing. A file that is
/// there is replaced; a link, a folder and whatever else is no file is refused. `tag` makes the copy's name its own.
///
/// Errors: 7 nothing was changed; 8 the file is in its place, but not proven to be on disk.
pub fn put(path: &Path, bytes: &[u8], tag: &str) -> Result<()> {
    let what = match fs::symlink_metadata(path) {
        Ok(data) if data.is_file() => None,
        Ok(data) if data.is_dir() => Some("a folder"),
        Ok(data) if data.is_symlink() => Some("a link"),
        Ok(_) => Some("no regular file (a pipe, socket or device)"),
        Err(error) if error.kind() == io::ErrorKind::NotFound => None,
        Err(error) => return Err(Error::io("look at", path, &error)),
    };
    // A name that ends with a slash, or with a step upwards, is no file's.
    let what = what.or(if path.file_name().is_none() { Some("a folder") } else { None });
    if let Some(what) = what {
        let message = format!("{} is {what}, and only a file is replaced", path.display());
        return Err(Error::new(Code::EnvironmentFileKind, message));
    }
    let folder = path.parent().unwrap_or(Path::new(""));
    let temp = folder.join(format!(".cruxctl-{tag}.tmp"));
    let mut created = false;
    let put = write_new(&temp, bytes, &mut created).and_then(|()| fs::rename(&temp, path));
    if let Err(error) = put {
        if created {
            let _ = fs::remove_file(&temp);
        }
        return Err(Error::io("write", path, &error));
    }
    sync_folder(folder).map_err(|error| {
        let message =
            format!("{} was written, and then its folder could not be synced: {}", path.display(), plain(&error));
        Error::new(Code::UnknownWrite, message)
    })
}

/// Whether a path leads to one of these files, by whatever name.
#[must_use]
pub fn is_one_of(path: &Path, files: &[PathBuf]) -> bool {
    let Ok(there) = fs::metadata(path) else { return false };
    let same =
        |file: &PathBuf| fs::metadata(file).is_ok_and(|data| (data.dev(), data.ino()) == (there.dev(), there.ino()));
    files.iter().any(same)
}

/// Reads a file through a block that moves along it.
#[derive(Debug)]
pub struct Window<'f> {
    file: &'f File,
    /// Bytes of the file that are read.
    len: u64,
    /// How much is read at once.
    step: usize,
    block: Vec<u8>,
    from: u64,
}

impl<'f> Window<'f> {
    /// A window on the first `len` bytes of a file, of which most are read.
    #[must_use]
    pub fn new(file: &'f File, len: u64) -> Window<'f> {
        Window { file, len, step: 1 << 20, block: Vec::new(), from: 0 }
    }

    /// The same where it may be few that are read, each far from the next.
    #[must_use]
    pub fn narrow(file: &'f File, len: u64) -> Window<'f> {
        Window { step: 1 << 15, ..Window::new(file, len) }
    }

    /// At most `most` bytes from an offset on, and at least one, where the file has any.
    pub fn some(&mut self, at: u64, most: usize) -> io::Result<&[u8]> {
        let inside = usize::try_from(at.wrapping_sub(self.from)).ok().filter(|have| *have < self.block.len());
        let inside = match inside {
            Some(inside) => inside,
            None => {
                self.fill(at, 1)?;
                0
            }
        };
        let rest = self.block.get(inside..).unwrap_or_default();
        Ok(&rest[..rest.len().min(most)])
    }

    /// Exactly `len` bytes from an offset on; `None` where the file ends before.
    pub fn exact(&mut self, at: u64, len: usize) -> io::Result<Option<&[u8]>> {
        if at.checked_add(len as u64).is_none_or(|end| end > self.len) {
            return Ok(None);
        }
        let inside = usize::try_from(at.wrapping_sub(self.from)).unwrap_or(usize::MAX);
        let have = inside.checked_add(len).is_some_and(|end| end <= self.block.len());
        let inside = if have { inside } else { 0 };
        if !have {
            self.fill(at, len)?;
        }
        Ok(self.block.get(inside..inside + len))
    }

    /// Where `what` is found at an offset or behind it.
    pub fn find(&mut self, what: &[u8], from: u64) -> io::Result<Option<u64>> {
        let mut at = from;
        while at < self.len {
            let block = self.some(at, usize::MAX)?;
            if block.is_empty() {
                break;
            }
            if let Some(n) = memchr::memmem::find(block, what) {
                return Ok(Some(at + n as u64));
            }
            // It may lie across the end of the block.
            let step = block.len().saturating_sub(what.len() - 1).max(1);
            let last = at + block.len() as u64 >= self.len;
            at += step as u64;
            if !last {
                self.fill(at, what.len())?;
            }
        }
        Ok(None)
    }

    /// Moves the block, so that it begins at `at` and has `least` bytes, where the file does.
    fn fill(&mut self, at: u64, least: usize) -> io::Result<()> {
        let left = usize::try_from(self.len.saturating_sub(at)).unwrap_or(usize::MAX);
        self.from = at;
        lengthen(&mut self.block, least.max(self.step).min(left)).inspect_err(|_| self.block.clear())?;
        let mut got = 0;
        while got < self.block.len() {
            match self.file.read_at(&mut self.block[got..], at + got as u64) {
                // It became shorter since it was opened.
                Ok(0) => break,
                Ok(n) => got += n,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => {
                    self.block.clear();
                    return Err(error);
                }
            }
        }
        self.block.truncate(got);
        Ok(())
    }
}

/// Opens a folder of ours. A link in its place is not followed: root would make files wherever it leads.
fn open_own_folder(path: &Path) -> Result<File> {
    let flags = OFlags::NOFOLLOW | OFlags::DIRECTORY;
    OpenOptions::new().read(true).custom_flags(raw(flags)).open(path).map_err(|error| {
        if path.is_symlink() {
            let message = format!("{} is a link, and a folder of cruxctl's own may not be one", path.display());
            return Error::new(Code::EnvironmentFileKind, message);
        }
        Error::io("open", path, &error)
    })
}

/// Opens a file that is kept beside a journal; `None` where there is none. Nothing but a file is opened, and no link is
/// followed: root would read and write wherever it leads.
pub fn open_kept(path: &Path, for_writing: bool) -> io::Result<Option<File>> {
    let flags = raw(OFlags::NOFOLLOW | OFlags::NONBLOCK);
    match OpenOptions::new().read(true).write(for_writing).custom_flags(flags).open(path) {
        Ok(file) if file.metadata()?.is_file() => Ok(Some(file)),
        Ok(_) => Err(io::Error::other("it is no regular file")),
        Err(error) if matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory) => Ok(None),
        Err(error) => Err(error),
    }
}

/// Removes a file that nothing depends on: where it cannot be removed, it stays.
pub fn remove_kept(path: &Path) {
    let _ = fs::remove_file(path);
}

/// Whether a file's last line lacks its line end.
pub fn ends_open(file: &File, path: &Path) -> Result<bool> {
    let len = metadata(file, path)?.len();
    ends_open_at(file, path, len)
}

/// The same of the first `len` bytes.
pub fn ends_open_at(file: &File, path: &Path, len: u64) -> Result<bool> {
    let mut last = [b'\n'];
    if len > 0 {
        file.read_exact_at(&mut last, len - 1).map_err(|e| Error::io("read", path, &e))?;
    }
    Ok(last != [b'\n'])
}

/// The mode of a file that others than its owner may write.
#[must_use]
pub fn writable_by_others(path: &Path) -> Option<u32> {
    let mode = fs::metadata(path).ok()?.permissions().mode() & 0o777;
    (mode & 0o022 != 0).then_some(mode)
}

/// Opens a journal for reading; `None` where there is none.
pub fn open_read(path: &Path) -> Result<Option<File>> {
    if !check_kind(path)? {
        return Ok(None);
    }
    match OpenOptions::new().read(true).custom_flags(raw(OFlags::NONBLOCK)).open(path) {
        Ok(file) => Ok(Some(file)),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(Error::io("open", path, &error)),
    }
}

/// Whether there is a file; an error where something else has its name. Opening a FIFO would wait for ever.
fn check_kind(path: &Path) -> Result<bool> {
    let what = match fs::metadata(path) {
        Ok(data) if data.is_file() => return Ok(true),
        Ok(data) if data.is_dir() => "a folder",
        Ok(_) => "no regular file (a pipe, socket or device)",
        Err(error) if error.kind() == io::ErrorKind::NotFound && path.is_symlink() => {
            let message = format!("{} is a link that leads nowhere", path.display());
            return Err(Error::new(Code::EnvironmentFileKind, message));
        }
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(false),
        Err(error) => return Err(Error::io("look at", path, &error)),
    };
    let message = format!("{} is {what} where a journal should be", path.display());
    Err(Error::new(Code::EnvironmentFileKind, message))
}

fn raw(flags: OFlags) -> i32 {
    i32::try_from(flags.bits()).unwrap_or(0)
}

/// Makes a folder where it is missing; whether it was.
fn make_folder(path: &Path) -> Result<bool> {
    match fs::metadata(path) {
        Ok(data) if data.is_dir() => return Ok(false),
        Ok(_) => {
            let message = format!("{} is no folder", path.display());
            return Err(Error::new(Code::EnvironmentFileKind, message));
        }
        Err(error) if error.kind() == io::ErrorKind::NotFound => {}
        Err(error) => return Err(Error::io("look at", path, &error)),
    }
    // A new folder's name lives in its parent, which may be new as well.
    let parent = path.parent().filter(|parent| !parent.as_os_str().is_empty());
    if let Some(parent) = parent {
        make_folder(parent)?;
    }
    match DirBuilder::new().mode(0o700).create(path) {
        Ok(()) => {}
        // Another process was faster; a link that leads nowhere stays one.
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists && path.is_dir() => return Ok(false),
        Err(error) => return Err(Error::io("create the folder", path, &error)),
    }
    // A parent that may be written but not read cannot be synced; the record's own sync still decides.
    let _ = sync_folder(parent.unwrap_or(Path::new(".")));
    Ok(true)
}

/// How many lines end between two offsets of a file, as far as it reaches.
pub fn count_lines(file: &File, from: u64, to: u64) -> io::Result<u64> {
    let mut block = vec![0; 1 << 18];
    let (mut at, mut lines) = (from, 0);
    while at < to {
        let want = usize::try_from(to - at).unwrap_or(usize::MAX).min(block.len());
        match file.read_at(&mut block[..want], at) {
            Ok(0) => break,
            Ok(got) => {
                lines += memchr::memchr_iter(b'\n', &block[..got]).count() as u64;
                at += got as u64;
            }
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    Ok(lines)
}

/// Makes names in a folder durable.
pub fn sync_folder(path: &Path) -> io::Result<()> {
    let path = if path.as_os_str().is_empty() { Path::new(".") } else { path };
    File::open(path)?.sync_all()
}

/// The path that a symlinked journal really has; the path itself where it is no link.
pub fn real_path(path: &Path) -> Result<PathBuf> {
    match fs::canonicalize(path) {
        Ok(real) => Ok(real),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(path.to_owned()),
        Err(error) => Err(Error::io("look at", path, &error)),
    }
}

/// A file's length and whatever else its metadata says.
pub fn metadata(file: &File, path: &Path) -> Result<Metadata> {
    file.metadata().map_err(|e| Error::io("look at", path, &e))
}

/// The bytes of a span.
pub fn read_span(file: &File, path: &Path, span: Span) -> Result<Vec<u8>> {
    let mut bytes = Vec::new();
    lengthen(&mut bytes, usize::try_from(span.len).unwrap_or(usize::MAX))
        .and_then(|()| file.read_exact_at(&mut bytes, span.offset))
        .map_err(|e| Error::io("read", path, &e))?;
    Ok(bytes)
}

/// Gives a buffer this length: what is new in it is 0. A record may be longer than the memory that there is; then it is
/// left as it was.
pub fn lengthen(buffer: &mut Vec<u8>, len: usize) -> io::Result<()> {
    if buffer.try_reserve_exact(len.saturating_sub(buffer.len())).is_err() {
        let message = format!("there is no memory for {len} bytes at once");
        return Err(io::Error::new(io::ErrorKind::OutOfMemory, message));
    }
    buffer.resize(len, 0);
    Ok(())
}

/// The offset behind the next line end at `from` or further on; `None` where there is none before `to`.
pub fn behind_line_end(file: &File, from: u64, to: u64) -> io::Result<Option<u64>> {
    let mut block = vec![0; 1 << 16];
    let mut at = from;
    while at < to {
        let want = usize::try_from(to - at).unwrap_or(usize::MAX).min(block.len());
        match file.read_at(&mut block[..want], at) {
            Ok(0) => break,
            Ok(got) => {
                if let Some(n) = memchr::memchr(b'\n', &block[..got]) {
                    return Ok(Some(at + n as u64 + 1));
                }
                at += got as u64;
            }
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    Ok(None)
}

/// The number in eight bytes of a file of ours; 0 where it ends before.
pub(super) fn word(bytes: &[u8], at: usize) -> u64 {
    bytes.get(at..).and_then(|rest| rest.first_chunk()).map_or(0, |b| u64::from_le_bytes(*b))
}

/// The number in four bytes of a file of ours; 0 where it ends before.
pub(super) fn half(bytes: &[u8], at: usize) -> u32 {
    bytes.get(at..).and_then(|rest| rest.first_chunk()).map_or(0, |b| u32::from_le_bytes(*b))
}
