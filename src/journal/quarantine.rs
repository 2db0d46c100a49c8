//! What repair takes out of a journal, and where each byte of it lay.
//!
//! A repair makes two files in `cruxctl/quarantine/`: the bytes themselves, one after the other, and a manifest in
//! JSON Lines that says for each stretch where it was in the old journal and where it is in the bytes. With both, the
//! old journal can be put together again to the byte. Runs of NUL bytes are kept as holes.

use std::fs::{self, File};
use std::io::{BufRead, BufReader, BufWriter, Seek, SeekFrom, Write};
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use super::Journal;
use super::files::{self, DataDir};
use super::finding::{HEAD, Span};
use super::scan::{self, Item, Stretch};
use super::split;
use crate::error::{Error, Result};

/// The manifest's schema.
const SCHEMA: &str = "cruxctl.quarantine.v1";

const BLOCK: u64 = 1 << 18;

/// One line of a manifest.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Entry {
    /// The first line: what this is.
    Quarantine {
        /// `cruxctl.quarantine.v1`.
        schema: String,
        /// The journal's name.
        journal: String,
        /// The journal's path when it was repaired.
        path: String,
        /// When, in RFC 3339.
        made_at: String,
        /// The file with the bytes, beside the manifest.
        bytes_file: String,
    },
    /// A stretch that was taken out.
    Removed {
        /// Where it was in the old journal.
        offset: u64,
        /// Its length.
        length: u64,
        /// The line that it was on.
        line: u64,
        /// The finding's class.
        class: String,
        /// Where it is in the bytes file.
        at: u64,
    },
    /// Bytes that were put in.
    Inserted {
        /// Where in the old journal they were put.
        offset: u64,
        /// The line that they ended.
        line: u64,
        /// The bytes, always a line end.
        text: String,
    },
    /// The last line: the sums.
    Total {
        /// Length of the old journal.
        before_bytes: u64,
        /// Length of the new one.
        after_bytes: u64,
        /// Bytes taken out.
        removed_bytes: u64,
        /// Bytes put in.
        inserted_bytes: u64,
    },
}

/// A quarantine that is being written.
#[derive(Debug)]
pub struct Quarantine {
    /// The manifest's path.
    pub manifest_path: PathBuf,
    /// The path of the bytes.
    pub bytes_path: PathBuf,
    bytes: File,
    manifest: BufWriter<File>,
    at: u64,
    inserted: u64,
    kept: bool,
}

impl Quarantine {
    /// Makes the two files. `stamp` and `tag` make their names their own.
    pub fn begin(dir: &DataDir, journal: &Journal, made_at: &str, stamp: &str, tag: &str) -> Result<Quarantine> {
        let folder = dir.quarantine();
        dir.make(&folder)?;
        let stem = format!("{}-{stamp}-{tag}", journal.name);
        let bytes_file = format!("{stem}.bytes");
        let manifest_path = folder.join(format!("{stem}.manifest.jsonl"));
        let bytes_path = folder.join(&bytes_file);
        let bytes = dir.create_new(&bytes_path, false)?;
        let manifest = match dir.create_new(&manifest_path, false) {
            Ok(file) => BufWriter::new(file),
            Err(error) => {
                let _ = fs::remove_file(&bytes_path);
                return Err(error);
            }
        };
        let mut quarantine =
            Quarantine { manifest_path, bytes_path, bytes, manifest, at: 0, inserted: 0, kept: false };
        quarantine.entry(&Entry::Quarantine {
            schema: SCHEMA.to_owned(),
            journal: journal.name.to_owned(),
            path: dir.journal(journal).to_string_lossy().into_owned(),
            made_at: made_at.to_owned(),
            bytes_file,
        })?;
        Ok(quarantine)
    }

    fn entry(&mut self, entry: &Entry) -> Result<()> {
        let line = serde_json::to_vec(entry).map_err(|e| Error::io("write", &self.manifest_path, &e.into()));
        let mut line = line?;
        line.push(b'\n');
        self.manifest.write_all(&line).map_err(|e| Error::io("write", &self.manifest_path, &e))
    }

    /// Takes in a stretch of the old journal.
    pub fn remove(&mut self, old: &File, old_path: &Path, span: Span, line: u64, class: &str) -> Result<()> {
        let removed =
            Entry::Removed { offset: span.offset, length: span.len, line, class: class.to_owned(), at: self.at };
        self.entry(&removed)?;
        let mut block = vec![0; usize::try_from(span.len.min(BLOCK)).unwrap_or(0)];
        let mut from = span.offset;
        while from < span.end() {
            let want = usize::try_from((span.end() - from).min(BLOCK)).unwrap_or(0);
            old.read_exact_at(&mut block[..want], from).map_err(|e| Error::io("read", old_path, &e))?;
            let written = if block[..want].iter().all(|b| *b == 0) {
                self.bytes.seek(SeekFrom::Current(i64::try_from(want).unwrap_or(0))).map(|_| ())
            } else {
                self.bytes.write_all(&block[..want])
            };
            written.map_err(|e| Error::io("write", &self.bytes_path, &e))?;
            from += want as u64;
            self.at += want as u64;
        }
        Ok(())
    }

    /// Notes a line end that was put in.
    pub fn insert(&mut self, offset: u64, line: u64) -> Result<()> {
        self.inserted += 1;
        self.entry(&Entry::Inserted { offset, line, text: "\n".to_owned() })
    }

    /// Writes the sums, checks them, and makes both files durable.
    pub fn finish(&mut self, before_bytes: u64, after_bytes: u64) -> Result<()> {
        self.entry(&Entry::Total {
            before_bytes,
            after_bytes,
            removed_bytes: self.at,
            inserted_bytes: self.inserted,
        })?;
        self.manifest.flush().map_err(|e| Error::io("write", &self.manifest_path, &e))?;
        let bytes = self.bytes.set_len(self.at).and_then(|()| self.bytes.sync_all());
        bytes.map_err(|e| Error::io("sync", &self.bytes_path, &e))?;
        self.manifest.get_ref().sync_all().map_err(|e| Error::io("sync", &self.manifest_path, &e))?;
        let folder = self.bytes_path.parent().unwrap_or(Path::new("."));
        files::sync_folder(folder).map_err(|e| Error::io("sync", folder, &e))
    }

    /// The bytes are no longer in the journal: from now on they are here.
    pub fn keep(&mut self) {
        self.kept = true;
    }
}

impl Drop for Quarantine {
    fn drop(&mut self) {
        if !self.kept {
            // The repair failed and the journal still has every byte: an unfinished quarantine only confuses.
            let _ = fs::remove_file(&self.manifest_path);
            let _ = fs::remove_file(&self.bytes_path);
        }
    }
}

/// Reads a manifest entry by entry.
pub fn entries(manifest: &Path, take: &mut dyn FnMut(Entry) -> Result<()>) -> Result<()> {
    // Whatever else has this name is not waited for.
    let Some(file) = files::open_read(manifest)? else { return Ok(()) };
    for line in BufReader::new(file).lines() {
        let line = line.map_err(|e| Error::io("read", manifest, &e))?;
        if let Ok(entry) = serde_json::from_str(&line) {
            take(entry)?;
        }
    }
    Ok(())
}

/// The manifests of a journal's repairs, in the order of their names, which begin with their times; an error where the
/// folder cannot be looked into.
fn manifests(dir: &DataDir, journal: &Journal) -> std::io::Result<Vec<PathBuf>> {
    let folder = match fs::read_dir(dir.quarantine()) {
        Ok(folder) => folder,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(Vec::new()),
        Err(error) => return Err(error),
    };
    let is_one = |name: &str| {
        name.strip_prefix(journal.name).is_some_and(|n| n.starts_with('-') && n.ends_with(".manifest.jsonl"))
    };
    let mut all: Vec<PathBuf> =
        folder.flatten().filter(|e| is_one(&e.file_name().to_string_lossy())).map(|e| e.path()).collect();
    all.sort();
    Ok(all)
}

/// A stretch that a repair has set aside.
#[derive(Clone, Debug)]
pub struct SetAside {
    /// When, in RFC 3339.
    pub made_at: String,
    /// Where it was in the journal.
    pub offset: u64,
    /// The line that it was on.
    pub line: u64,
    /// The finding's class.
    pub class: String,
    /// The file with its bytes.
    pub path: PathBuf,
    /// Where they are in it.
    pub span: Span,
    /// The first of them.
    pub head: Vec<u8>,
}

/// The first stretches of a journal that were set aside and name an id, and how many more there are. A manifest or file
/// that cannot be read says nothing here.
#[must_use]
pub fn about(dir: &DataDir, journal: &Journal, id: &str, most: usize) -> (Vec<SetAside>, u64) {
    let (mut found, mut more) = (Vec::new(), 0);
    for manifest in manifests(dir, journal).unwrap_or_default() {
        let (mut at_time, mut path, mut bytes) = (String::new(), PathBuf::new(), None);
        let _ = entries(&manifest, &mut |entry| {
            match entry {
                Entry::Quarantine { made_at, bytes_file, .. } => {
                    at_time = made_at;
                    // A file of this folder, whatever the manifest says.
                    path = manifest.with_file_name(Path::new(&bytes_file).file_name().unwrap_or_default());
                    bytes = files::open_read(&path)?;
                }
                Entry::Removed { offset, length, line, class, at } => {
                    let (Some(bytes), span) = (&bytes, Span { offset: at, len: length }) else { return Ok(()) };
                    if let Some(head) = names(bytes, &path, journal, span, id)? {
                        let (made_at, path) = (at_time.clone(), path.clone());
                        match found.len() < most {
                            true => found.push(SetAside { made_at, offset, line, class, path, span, head }),
                            false => more += 1,
                        }
                    }
                }
                _ => {}
            }
            Ok(())
        });
    }
    (found, more)
}

/// The first bytes of a stretch that was set aside, if anything in it names an id.
fn names(bytes: &File, path: &Path, journal: &Journal, span: Span, id: &str) -> Result<Option<Vec<u8>>> {
    let mut named = false;
    let stretch = Stretch { from: span.offset, ..Stretch::whole(span.end()) };
    scan::scan(path, bytes, journal.shape, stretch, &mut |item| {
        match item {
            Item::Finding(finding, _) => named |= finding.ids.iter().any(|own| own == id),
            Item::Record(record) => split::event_ids(record.event, &mut |own| named |= own == id),
            Item::Foreign { .. } | Item::LineEnd { .. } => {}
        }
        Ok(())
    })?;
    if !named {
        return Ok(None);
    }
    files::read_span(bytes, path, Span { len: span.len.min(HEAD as u64), ..span }).map(Some)
}

/// What lies in quarantine for a journal.
#[derive(Clone, Debug, Default, Serialize)]
pub struct Held {
    /// How many repairs have put something there.
    pub repairs: u64,
    /// How many bytes.
    pub bytes: u64,
}

/// Adds up what lies in quarantine for a journal; `None` where it cannot be looked into.
#[must_use]
pub fn held(dir: &DataDir, journal: &Journal) -> Option<Held> {
    let mut held = Held::default();
    for manifest in manifests(dir, journal).ok()? {
        entries(&manifest, &mut |entry| {
            if let Entry::Total { removed_bytes, .. } = entry {
                held.repairs += 1;
                held.bytes += removed_bytes;
            }
            Ok(())
        })
        .ok()?;
    }
    Some(held)
}
