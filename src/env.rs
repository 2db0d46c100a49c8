//! The only reader of environment, clock and randomness.

use std::env;
use std::ffi::OsString;
use std::os::unix::ffi::OsStringExt;
use std::path::PathBuf;

use chrono::{DateTime, SecondsFormat, Utc};
use rand::TryRng;
use rand::rngs::SysRng;

use crate::error::{Code, Error, Result, plain};

/// The variables that the tool reads, with what they mean, in the words of the manual.
pub const VARIABLES: &[(&str, &str)] = &[
    ("CRUXCTL_DATA_DIR", "the data directory, where --data-dir is not given"),
    ("CORECRUXD_DATA_DIR", "the daemon's name for it; used where CRUXCTL_DATA_DIR is not set"),
    ("XDG_DATA_HOME", "the data directory is crux in it, where neither is set; $HOME/.local/share unless set"),
    ("CRUXCTL_AGENT", "the agent, where --agent is not given"),
    ("CRUXCTL_FORMAT", "the output format, where --format is not given"),
    ("CRUXCTL_DAMAGED_OK", "if 1, true, yes or on, as --damaged-ok"),
    ("CRUXCTL_MAX_STATE_BYTES", "the largest state that is written, where --max-state-bytes is not given"),
    (
        "CORECRUXD_ALWAYS_PRIVATE_PREFIXES",
        "further prefixes of entities whose facts are private, separated by commas",
    ),
    ("CORECRUXD_SHARE_PREFIXES_OVERRIDE", "prefixes of entities whose facts are not private, though they would be"),
    ("CRUX_MCP_HANDOFF_SECRET", "the secret of handoffs, as it is, where --key-file is not given; the daemon's name"),
    (
        "CORECRUXD_HANDOFF_OBSERVATIONS",
        "unless empty, 0, false, off or no: handoffs are noted in cruxctl/observations.jsonl",
    ),
    ("CRUXCTL_NOW", "an RFC 3339 time that is taken for the present; for tests"),
    ("NO_COLOR", "if set and not empty, no colours"),
    (COMPLETES, "set by the completion scripts alone: the shell for which a line is completed"),
    ("LC_ALL", "pictures are in ASCII where the first of LC_ALL, LC_CTYPE and LANG that is set names no UTF-8"),
    ("LC_CTYPE", "see LC_ALL"),
    ("LANG", "see LC_ALL"),
];

/// Whether a variable's value is shown to nobody: what is said of it says that it is a secret.
#[must_use]
pub fn is_secret(name: &str) -> bool {
    let said = VARIABLES.iter().find(|(own, _)| *own == name).map_or("", |(_, what)| what);
    said.contains("secret") || name.contains("SECRET")
}

/// By which a completion script asks what a line may go on with. The name that others use, COMPLETE, may stand in
/// somebody's environment for another reason.
const COMPLETES: &str = "_CRUXCTL_COMPLETE";

/// The process's surroundings, read once.
#[derive(Clone, Debug)]
pub struct Env {
    now: DateTime<Utc>,
}

impl Env {
    /// Reads the clock.
    pub fn read() -> Result<Env> {
        let now = match var("CRUXCTL_NOW") {
            None => Utc::now(),
            Some(text) => match DateTime::parse_from_rfc3339(&text) {
                Ok(time) => time.to_utc(),
                Err(_) => {
                    let message = format!("CRUXCTL_NOW is {text:?}, which is no RFC 3339 time");
                    return Err(Error::new(Code::UsageArguments, message));
                }
            },
        };
        Ok(Env { now })
    }

    /// The time at which the command began.
    #[must_use]
    pub fn now(&self) -> DateTime<Utc> {
        self.now
    }

    /// Now, as it stands in file names.
    #[must_use]
    pub fn stamp(&self) -> String {
        self.now.format("%Y%m%dT%H%M%SZ").to_string()
    }

    /// Now, in RFC 3339.
    #[must_use]
    pub fn now_text(&self) -> String {
        self.now.to_rfc3339_opts(SecondsFormat::AutoSi, true)
    }
}

/// A variable; an empty one counts as unset.
#[must_use]
pub fn var(name: &str) -> Option<String> {
    env::var_os(name).map(|value| value.to_string_lossy().into_owned()).filter(|value| !value.is_empty())
}

/// The shell whose script asks what a line may go on with, if one does.
#[must_use]
pub fn completes() -> Option<String> {
    var(COMPLETES)
}

/// A variable's bytes as they are; an empty one is there, and empty.
#[must_use]
pub fn bytes(name: &str) -> Option<Vec<u8>> {
    env::var_os(name).map(OsString::into_vec)
}

/// A variable that holds a path.
#[must_use]
pub fn path(name: &str) -> Option<PathBuf> {
    env::var_os(name).filter(|value| !value.is_empty()).map(PathBuf::from)
}

/// Whether the terminal's locale has characters of its own and not those of Unicode. Where nothing says so it has them.
#[must_use]
pub fn is_ascii() -> bool {
    let locale = ["LC_ALL", "LC_CTYPE", "LANG"].into_iter().find_map(var);
    locale.is_some_and(|locale| {
        let locale = locale.to_lowercase();
        !locale.contains("utf-8") && !locale.contains("utf8")
    })
}

/// Whether a variable says yes.
#[must_use]
pub fn truthy(name: &str) -> bool {
    var(name).is_some_and(|value| matches!(value.to_lowercase().as_str(), "1" | "true" | "yes" | "on"))
}

/// Whether a switch of the daemon's is on: anything but nothing, 0, false, off and no, as the daemon has it.
#[must_use]
pub fn is_on(name: &str) -> bool {
    var(name).is_some_and(|value| !matches!(value.trim().to_lowercase().as_str(), "" | "0" | "false" | "off" | "no"))
}

/// The data directory where no flag names one, and the variable that says so.
#[must_use]
pub fn data_dir() -> Option<(PathBuf, &'static str)> {
    let from = |name: &'static str| path(name).map(|path| (path, name));
    let home = || {
        from("XDG_DATA_HOME")
            .filter(|(path, _)| path.is_absolute())
            .or_else(|| from("HOME").map(|(home, name)| (home.join(".local/share"), name)))
    };
    let crux = || home().map(|(home, name)| (home.join("crux"), name));
    from("CRUXCTL_DATA_DIR").or_else(|| from("CORECRUXD_DATA_DIR")).or_else(crux)
}

/// The user that this process acts as.
#[must_use]
pub fn user() -> u32 {
    uzers::get_effective_uid()
}

/// A user's name and number.
#[must_use]
pub fn user_name(uid: u32) -> String {
    match uzers::get_user_by_uid(uid) {
        Some(user) => format!("{} ({uid})", user.name().to_string_lossy()),
        None => uid.to_string(),
    }
}

/// The machine's own clock, whatever `CRUXCTL_NOW` says: for comparing with the times of files.
#[must_use]
pub fn wall_clock() -> std::time::SystemTime {
    std::time::SystemTime::now()
}

/// Which boot of the machine this is.
#[must_use]
pub fn boot_id() -> Option<[u8; 16]> {
    let text = std::fs::read_to_string("/proc/sys/kernel/random/boot_id").ok()?;
    let hex: String = text.chars().filter(char::is_ascii_hexdigit).collect();
    u128::from_str_radix(&hex, 16).ok().map(u128::to_be_bytes)
}

/// A new id: a prefix and a version 4 UUID in 32 hex digits.
pub fn new_id(prefix: &str) -> Result<String> {
    Ok(uuid(prefix, random()?))
}

fn uuid(prefix: &str, random: [u8; 16]) -> String {
    let bits = (u128::from_be_bytes(random) & !(0xF << 76) & !(0x3 << 62)) | (0x4 << 76) | (0x2 << 62);
    format!("{prefix}{bits:032x}")
}

/// Sixteen random bytes.
pub fn random() -> Result<[u8; 16]> {
    let mut bytes = [0; 16];
    fill_random(&mut bytes)?;
    Ok(bytes)
}

/// Fills a place with random bytes of the operating system: whoever keeps a secret there knows where it is.
pub fn fill_random(bytes: &mut [u8]) -> Result<()> {
    SysRng.try_fill_bytes(bytes).map_err(no_random)
}

fn no_random(error: impl std::error::Error + Send + Sync + 'static) -> Error {
    let message = format!("the system gives no random bytes: {}", plain(&std::io::Error::other(error)));
    Error::new(Code::EnvironmentIo, message)
}

/// Eight random hex digits, for names of files that must not meet.
pub fn random_tag() -> Result<String> {
    let word = SysRng.try_next_u32().map_err(no_random)?;
    Ok(format!("{word:08x}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn new_ids_are_version_4() {
        assert_eq!(uuid("c_", [0xFF; 16]), "c_ffffffffffff4fffbfffffffffffffff");
        assert_eq!(uuid("f_", [0; 16]), "f_00000000000040008000000000000000");
    }
}
