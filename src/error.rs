//! The one error type, and the one table of exit statuses and codes.
//!
//! Every failure of the tool is an [`Error`]: a stable [`Code`], a sentence that names the thing and the place, and
//! hints that can be pasted into a shell. The kind of a code decides the exit status. Nothing else in the program
//! knows a status number.

use std::fmt;
use std::io;
use std::path::Path;

/// A result whose error is ours.
pub type Result<T> = std::result::Result<T, Error>;

/// What kind of answer an exit status stands for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// The answer is no.
    No,
    /// The command line or an input document is wrong.
    Usage,
    /// A journal has damage.
    Damaged,
    /// An envelope failed verification.
    Rejected,
    /// A rule says no.
    Refused,
    /// The lock was not had in time.
    Busy,
    /// The machine said no: I/O, permission, space, key.
    Environment,
    /// A write may or may not be on disk.
    Unknown,
}

impl Kind {
    /// Every kind, in the order of its exit status.
    pub const ALL: [Kind; 8] = [
        Kind::No,
        Kind::Usage,
        Kind::Damaged,
        Kind::Rejected,
        Kind::Refused,
        Kind::Busy,
        Kind::Environment,
        Kind::Unknown,
    ];

    /// The exit status of this kind.
    #[must_use]
    pub fn status(self) -> u8 {
        match self {
            Kind::No => 1,
            Kind::Usage => 2,
            Kind::Damaged => 3,
            Kind::Rejected => 4,
            Kind::Refused => 5,
            Kind::Busy => 6,
            Kind::Environment => 7,
            Kind::Unknown => 8,
        }
    }

    /// The kind's name, as it stands before the dot in a code.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Kind::No => "no",
            Kind::Usage => "usage",
            Kind::Damaged => "damaged",
            Kind::Rejected => "rejected",
            Kind::Refused => "refused",
            Kind::Busy => "busy",
            Kind::Environment => "environment",
            Kind::Unknown => "unknown",
        }
    }

    /// When this kind is the answer, in the words of the manual.
    #[must_use]
    pub fn when(self) -> &'static str {
        match self {
            Kind::No => "the answer is no: not found, nothing matched",
            Kind::Usage => "the command line or the input document is wrong",
            Kind::Damaged => {
                "a journal has damage: journal check found it, or a reading verb answered with what is readable"
            }
            Kind::Rejected => "an envelope failed verification",
            Kind::Refused => "a rule says no: a limit, a compare-and-set, an expired session",
            Kind::Busy => "the lock was not had in time: retry",
            Kind::Environment => "I/O, permission, disk full, no key, lock not supported",
            Kind::Unknown => "a write may or may not be on disk",
        }
    }
}

/// What [`Kind`] stands for status 0, in the words of the manual.
pub const WHEN_ZERO: &str = "done, nothing wrong; also when the reader of standard output went away";

macro_rules! codes {
    ($($(#[doc = $doc:literal])+ $name:ident = $kind:ident, $text:literal;)+) => {
        /// A stable name for one way to fail. Codes are only ever added.
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub enum Code { $($(#[doc = $doc])+ $name,)+ }

        impl Code {
            /// Every code, grouped by status.
            pub const ALL: &'static [Code] = &[$(Code::$name,)+];

            /// The text that scripts match on.
            #[must_use]
            pub fn text(self) -> &'static str { match self { $(Code::$name => $text,)+ } }

            /// The kind, and with it the exit status.
            #[must_use]
            pub fn kind(self) -> Kind { match self { $(Code::$name => Kind::$kind,)+ } }

            /// When this code is given, in one line.
            #[must_use]
            pub fn when(self) -> &'static str { match self { $(Code::$name => concat!($($doc),+).trim_ascii(),)+ } }
        }
    };
}

codes! {
    /// no session of that id in this scope
    NoSession = No, "no.session";
    /// no version of a session with that number or of that time
    NoRevision = No, "no.revision";
    /// no case of that id
    NoCase = No, "no.case";
    /// no case is like that text, or none that passes the filters
    NoMatch = No, "no.match";
    /// no fact of that id, or none that these eyes see
    NoFact = No, "no.fact";
    /// no fact matches
    NoFactMatch = No, "no.fact_match";
    /// no handoff of that hash or id in the ledger
    NoHandoff = No, "no.handoff";
    /// no record at that line, offset or id
    NoRecord = No, "no.record";
    /// no trusted key of that id or agent
    NoKey = No, "no.key";
    /// no durable session of that id or key, or one that was deleted
    NoSessionNotFound = No, "no.session_not_found";
    /// no input of that id
    NoSessionInput = No, "no.session_input";
    /// no such work, or none that can be claimed now
    NoSessionWork = No, "no.session_work";
    /// no subscription of that id
    NoSessionSubscription = No, "no.session_subscription";
    /// no result of that input yet
    NoSessionResultPending = No, "no.session_result_pending";
    /// the command line is wrong
    UsageArguments = Usage, "usage.arguments";
    /// the input is not one JSON value
    UsageNotJson = Usage, "usage.not_json";
    /// a document with a member missing, unknown, or of another kind
    UsageDocument = Usage, "usage.document";
    /// an id or agent that may not be created
    UsageId = Usage, "usage.id";
    /// a key of another kind than is wanted, or no key at all
    UsageKey = Usage, "usage.key";
    /// an input that is no JSON, too deep, too large, or has too many values
    UsageSessionInputInvalid = Usage, "usage.session_input_invalid";
    /// a journal has damage; what is readable was used
    DamagedJournal = Damaged, "damaged.journal";
    /// under --for-daemon: the daemon would lose a record or stumble
    DamagedForDaemon = Damaged, "damaged.for_daemon";
    /// the envelope is no envelope
    RejectedMalformed = Rejected, "rejected.malformed";
    /// nobody vouches for the document
    RejectedUnsigned = Rejected, "rejected.unsigned";
    /// the envelope's algorithm is not one that is taken
    RejectedAlgorithm = Rejected, "rejected.algorithm";
    /// the payload has another hash
    RejectedHash = Rejected, "rejected.hash";
    /// no key vouches for the payload
    RejectedMac = Rejected, "rejected.mac";
    /// the payload is no handoff package
    RejectedPayload = Rejected, "rejected.payload";
    /// the package says to come from another agent than the one that signed it
    RejectedSource = Rejected, "rejected.source";
    /// the package is for another agent
    RejectedTarget = Rejected, "rejected.target";
    /// the package has private facts, and no agent takes it
    RejectedReceiver = Rejected, "rejected.receiver";
    /// the package has expired, or is too old
    RejectedExpired = Rejected, "rejected.expired";
    /// the record or state is above the size limit
    RefusedTooLarge = Refused, "refused.too_large";
    /// the daemon would lose this record
    RefusedDaemonUnreadable = Refused, "refused.daemon_unreadable";
    /// what would be made is there already
    RefusedExists = Refused, "refused.exists";
    /// --if-match, and the current state has another hash
    RefusedChanged = Refused, "refused.changed";
    /// the session has expired
    RefusedExpired = Refused, "refused.expired";
    /// repair would set aside more than --max-loss-bytes
    RefusedLoss = Refused, "refused.loss";
    /// the journal must be repaired before this
    RefusedDamage = Refused, "refused.damage";
    /// only the daemon writes facts of this entity
    RefusedDaemonsOwn = Refused, "refused.daemons_own";
    /// a consolidation stands for the fact, or the fact for others
    RefusedConsolidated = Refused, "refused.consolidated";
    /// facts of different tenants, a deleted one, or a circle of them
    RefusedLink = Refused, "refused.link";
    /// a legal hold may cover what a compaction would erase
    RefusedHold = Refused, "refused.hold";
    /// a state has a member twice, so that readers differ in what it means
    RefusedDuplicate = Refused, "refused.duplicate_member";
    /// longer than a handoff may be valid
    RefusedTtl = Refused, "refused.ttl";
    /// the handoff was accepted before
    RefusedReplayed = Refused, "refused.replayed";
    /// a handoff is half accepted, and this would be in its way
    RefusedOpen = Refused, "refused.open";
    /// the key belongs to another agent
    RefusedKey = Refused, "refused.key";
    /// the key belongs to a session of another target
    RefusedSessionIdentityConflict = Refused, "refused.session_identity_conflict";
    /// the key belongs to a session that was deleted
    RefusedSessionTombstoned = Refused, "refused.session_tombstoned";
    /// the session takes nothing any more: it is closing, closed or killed
    RefusedSessionClosed = Refused, "refused.session_closed";
    /// the session was deleted
    RefusedSessionDeleted = Refused, "refused.session_deleted";
    /// only a session that is closed or killed can be deleted
    RefusedSessionNotClosed = Refused, "refused.session_not_closed";
    /// a session that is closing or blocked cannot be forked
    RefusedSessionLifecycle = Refused, "refused.session_lifecycle";
    /// work of this worker has failed for good, or is blocked
    RefusedSessionWorkFailed = Refused, "refused.session_work_failed";
    /// somebody else has the work by now, or its lease or session has ended
    RefusedSessionFenced = Refused, "refused.session_fenced";
    /// the work of that input is blocked
    RefusedSessionResultBlocked = Refused, "refused.session_result_blocked";
    /// the work of that input has failed
    RefusedSessionResultFailed = Refused, "refused.session_result_failed";
    /// the session was killed before that input was finished
    RefusedSessionResultDropped = Refused, "refused.session_result_dropped";
    /// the result of that input was erased
    RefusedSessionResultErased = Refused, "refused.session_result_erased";
    /// the prepared result is not in the journal any more
    RefusedSessionTurnResultArtifactUnavailable = Refused, "refused.session_turn_result_artifact_unavailable";
    /// another process holds the lock
    BusyLock = Busy, "busy.lock";
    /// the journal kept changing under the operation
    BusyChanging = Busy, "busy.changing";
    /// reading or writing a file failed
    EnvironmentIo = Environment, "environment.io";
    /// no permission
    EnvironmentPermission = Environment, "environment.permission";
    /// no space left, a quota or a file size limit
    EnvironmentSpace = Environment, "environment.space";
    /// a journal or folder is something else than a file or folder
    EnvironmentFileKind = Environment, "environment.file_kind";
    /// file locks do not work here
    EnvironmentLock = Environment, "environment.lock";
    /// a record needs more memory than there is
    EnvironmentMemory = Environment, "environment.memory";
    /// no key to mint or verify with
    EnvironmentNoKey = Environment, "environment.no_key";
    /// the secret is empty
    EnvironmentKeyEmpty = Environment, "environment.key_empty";
    /// standard output could not be written
    EnvironmentStdout = Environment, "environment.stdout";
    /// standard input could not be read
    EnvironmentStdin = Environment, "environment.stdin";
    /// the write was made, but the sync or the read-back failed
    UnknownWrite = Unknown, "unknown.write";
}

/// One failure: its code, a sentence, and what to type next.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Error {
    /// The stable code; its kind is the exit status.
    pub code: Code,
    /// Lower case, no full stop; names the thing and the path.
    pub message: String,
    /// Each a command that can be pasted, or one short sentence.
    pub hints: Vec<String>,
}

impl Error {
    /// The same error, which has not undone what was done before it.
    #[must_use]
    pub fn after(mut self, done: bool, what: &str) -> Error {
        if done {
            self.message.push_str("; ");
            self.message.push_str(what);
        }
        self
    }

    /// An error without hints.
    pub fn new(code: Code, message: impl Into<String>) -> Error {
        Error { code, message: message.into(), hints: Vec::new() }
    }

    /// The same error with one more hint.
    #[must_use]
    pub fn hint(mut self, hint: impl Into<String>) -> Error {
        self.hints.push(hint.into());
        self
    }

    /// An I/O failure while doing `what` to `path`.
    #[must_use]
    pub fn io(what: &str, path: &Path, error: &io::Error) -> Error {
        Error::from_io(&format!("cannot {what} {}", path.display()), error)
    }

    /// An I/O failure, with what failed in words.
    #[must_use]
    pub fn from_io(what: &str, error: &io::Error) -> Error {
        let code = match error.kind() {
            io::ErrorKind::PermissionDenied | io::ErrorKind::ReadOnlyFilesystem => Code::EnvironmentPermission,
            io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded | io::ErrorKind::FileTooLarge => {
                Code::EnvironmentSpace
            }
            io::ErrorKind::OutOfMemory => Code::EnvironmentMemory,
            _ => Code::EnvironmentIo,
        };
        Error::new(code, format!("{what}: {}", plain(error)))
    }

    /// The exit status.
    #[must_use]
    pub fn status(&self) -> u8 {
        self.code.kind().status()
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

impl std::error::Error for Error {}

/// The system's sentence for an I/O error, without Rust's `(os error N)`, in lower case.
#[must_use]
pub fn plain(error: &io::Error) -> String {
    let text = error.to_string();
    let text = text.split(" (os error").next().unwrap_or_default();
    let mut chars = text.chars();
    match chars.next() {
        Some(first) if !text.starts_with("I/O") => first.to_lowercase().chain(chars).collect(),
        _ => text.to_owned(),
    }
}

/// Of two exit statuses that both apply, the one to end with: 8, 7, 6, 5, 4, 2, 3, 1, 0.
#[must_use]
pub fn worse(a: u8, b: u8) -> u8 {
    let rank = |status: u8| [0, 1, 3, 2, 4, 5, 6, 7, 8].iter().position(|s| *s == status);
    if rank(a) >= rank(b) { a } else { b }
}
