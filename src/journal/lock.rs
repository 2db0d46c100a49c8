//! The lock that keeps writers apart. The daemon takes none: it is known, and [`super::append`] allows for it.

use std::fs::{File, TryLockError};
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::thread;
use std::time::{Duration, Instant};

use super::files::{self, DataDir};
use crate::error::{Code, Error, Result, plain};

/// How often the lock is asked for where nobody can wait for it.
const POLL: Duration = Duration::from_millis(5);

/// The exclusive lock on a data directory; given back when dropped.
#[derive(Debug)]
pub struct Lock {
    _file: File,
}

impl Lock {
    /// Waits for the lock as long as `timeout` says.
    ///
    /// The wait is the kernel's own queue, so that thirty waiters are served in turn; a waiting thread that comes too
    /// late is left behind and ends with the process.
    pub fn take(dir: &DataDir, timeout: Duration) -> Result<Lock> {
        dir.make(&dir.own())?;
        let path = dir.lock();
        let (file, _) = dir.open_append(&path)?;
        match file.try_lock() {
            Ok(()) => return Ok(Lock { _file: file }),
            Err(TryLockError::WouldBlock) => {}
            Err(TryLockError::Error(error)) => return Err(unsupported(dir, &error)),
        }
        let (sender, receiver) = channel();
        let waiter = file.try_clone().map_err(|e| Error::io("open", &path, &e))?;
        let spawned = thread::Builder::new().spawn(move || {
            let result = waiter.lock().map(|()| waiter);
            // Nobody listens any more when the wait was given up.
            let _ = sender.send(result);
        });
        if spawned.is_err() {
            // There may be no thread: then the lock is asked for again and again.
            let end = Instant::now() + timeout;
            while Instant::now() < end {
                thread::sleep(POLL);
                if file.try_lock().is_ok() {
                    return Ok(Lock { _file: file });
                }
            }
        }
        match receiver.recv_timeout(timeout) {
            Ok(Ok(file)) => Ok(Lock { _file: file }),
            Ok(Err(error)) => Err(unsupported(dir, &error)),
            Err(RecvTimeoutError::Timeout | RecvTimeoutError::Disconnected) => {
                let message = format!(
                    "another process holds the lock {} (waited {} ms); nothing was written",
                    path.display(),
                    timeout.as_millis()
                );
                Err(Error::new(Code::BusyLock, message)
                    .hint("run the same command again, or wait longer: --lock-timeout 60s"))
            }
        }
    }

    /// Takes the lock if it is free now, for work that nothing depends on.
    #[must_use]
    pub fn try_take(dir: &DataDir) -> Option<Lock> {
        dir.make(&dir.own()).ok()?;
        let (file, _) = dir.open_append(&dir.lock()).ok()?;
        file.try_lock().ok()?;
        Some(Lock { _file: file })
    }

    /// Whether a writer holds the lock now. Without a lock file, or where locks do not work, nobody does.
    #[must_use]
    pub fn held(dir: &DataDir) -> bool {
        Lock::probe(dir) == Some(true)
    }

    /// The same; `None` where it cannot be told.
    #[must_use]
    pub fn probe(dir: &DataDir) -> Option<bool> {
        let Some(file) = files::open_read(&dir.lock()).ok()? else { return Some(false) };
        match file.try_lock_shared() {
            Ok(()) => Some(false),
            Err(TryLockError::WouldBlock) => Some(true),
            Err(TryLockError::Error(_)) => None,
        }
    }
}

fn unsupported(dir: &DataDir, error: &std::io::Error) -> Error {
    let message = format!(
        "file locks do not work on the mount of {}: {}; nothing was written",
        dir.root.display(),
        plain(error)
    );
    Error::new(Code::EnvironmentLock, message).hint("put the data directory on a local file system")
}
