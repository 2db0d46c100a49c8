//! What can be wrong with a place in a journal, how much it matters, and what the daemon does there.

/// The kind of a finding. The names are stable.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Class {
    /// The file ends inside a record.
    TornTail,
    /// More than one record, or a fragment and a record, on one line.
    Welded,
    /// A run of NUL bytes.
    NulGap,
    /// Bytes that are not UTF-8.
    InvalidUtf8,
    /// A line that is not JSON.
    NotJson,
    /// JSON that is neither an object nor the array form of an event.
    NotAnObject,
    /// Something behind a whole record.
    TrailingBytes,
    /// A member that the op needs is absent.
    MissingMember,
    /// A member is of a type that the op does not take.
    WrongType,
    /// A member of the event or record occurs twice.
    DuplicateMember,
    /// Records that were validated are no longer there.
    RecordsMissing,
    /// Bytes that were validated are others now.
    Changed,
    /// The last record has no line end.
    NoFinalNewline,
    /// A UTF-8 byte order mark.
    Bom,
    /// More open arrays and objects than the daemon reads.
    TooDeep,
    /// A number that no 64-bit float holds.
    NumberOutOfRange,
    /// Half of a surrogate pair in an escape.
    LoneSurrogate,
    /// A line longer than the daemon takes.
    TooLong,
    /// White space around a record that the daemon does not trim.
    ForeignSpace,
    /// An op that this version does not know.
    UnknownOp,
}

/// How much a finding matters.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Severity {
    /// It cannot all be read: status 3.
    Damage,
    /// It is read here, but the daemon loses it or stumbles: status 3 under `--for-daemon`.
    Daemon,
    /// Another version's record, passed through: status 3 under `--for-daemon`.
    Foreign,
}

impl Class {
    /// Every class, in the order of the manual.
    pub const ALL: [Class; 20] = [
        Class::TornTail,
        Class::Welded,
        Class::NulGap,
        Class::InvalidUtf8,
        Class::NotJson,
        Class::NotAnObject,
        Class::TrailingBytes,
        Class::MissingMember,
        Class::WrongType,
        Class::DuplicateMember,
        Class::RecordsMissing,
        Class::Changed,
        Class::NoFinalNewline,
        Class::Bom,
        Class::TooDeep,
        Class::NumberOutOfRange,
        Class::LoneSurrogate,
        Class::TooLong,
        Class::ForeignSpace,
        Class::UnknownOp,
    ];

    /// The stable name.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Class::TornTail => "torn-tail",
            Class::Welded => "welded",
            Class::NulGap => "nul-gap",
            Class::InvalidUtf8 => "invalid-utf8",
            Class::NotJson => "not-json",
            Class::NotAnObject => "not-an-object",
            Class::TrailingBytes => "trailing-bytes",
            Class::MissingMember => "missing-member",
            Class::WrongType => "wrong-type",
            Class::DuplicateMember => "duplicate-member",
            Class::RecordsMissing => "records-missing",
            Class::Changed => "changed",
            Class::NoFinalNewline => "no-final-newline",
            Class::Bom => "bom",
            Class::TooDeep => "too-deep",
            Class::NumberOutOfRange => "number-out-of-range",
            Class::LoneSurrogate => "lone-surrogate",
            Class::TooLong => "too-long",
            Class::ForeignSpace => "foreign-space",
            Class::UnknownOp => "unknown-op",
        }
    }

    /// Whether it is about a whole record that is read here and not by the daemon.
    #[must_use]
    pub fn is_of_record(self) -> bool {
        matches!(self, Class::TooDeep | Class::NumberOutOfRange | Class::LoneSurrogate | Class::TooLong)
    }

    /// Whether it is about what was there before: only a witness can tell.
    #[must_use]
    pub fn is_of_witness(self) -> bool {
        matches!(self, Class::RecordsMissing | Class::Changed)
    }

    /// What it is, in the words of the manual.
    #[must_use]
    pub fn what(self) -> &'static str {
        match self {
            Class::TornTail => "the file ends inside a record",
            Class::Welded => "more than one record, or a fragment and a record, on one line",
            Class::NulGap => "a run of NUL bytes",
            Class::InvalidUtf8 => "bytes that are not UTF-8",
            Class::NotJson => "a line that is not JSON",
            Class::NotAnObject => "JSON that is no event",
            Class::TrailingBytes => "something behind a whole record",
            Class::MissingMember => "a member that the op needs is absent",
            Class::WrongType => "a member is of a type that the op does not take",
            Class::DuplicateMember => "a member of the event or record occurs twice",
            Class::RecordsMissing => "records that were validated are no longer there",
            Class::Changed => "bytes that were validated are others now",
            Class::NoFinalNewline => "the last line has no line end",
            Class::Bom => "a UTF-8 byte order mark",
            Class::TooDeep => "more than 127 open arrays and objects",
            Class::NumberOutOfRange => "a number that no 64-bit float holds",
            Class::LoneSurrogate => "half of a surrogate pair in an escape",
            Class::TooLong => "a line of facts above 64 MiB",
            Class::ForeignSpace => "white space that the daemon does not trim",
            Class::UnknownOp => "a record of another version; everything passes it through",
        }
    }

    /// How much it matters.
    #[must_use]
    pub fn severity(self) -> Severity {
        match self {
            Class::TornTail
            | Class::Welded
            | Class::NulGap
            | Class::InvalidUtf8
            | Class::NotJson
            | Class::NotAnObject
            | Class::TrailingBytes
            | Class::MissingMember
            | Class::WrongType
            | Class::DuplicateMember
            | Class::RecordsMissing
            | Class::Changed => Severity::Damage,
            Class::NoFinalNewline
            | Class::Bom
            | Class::TooDeep
            | Class::NumberOutOfRange
            | Class::LoneSurrogate
            | Class::TooLong
            | Class::ForeignSpace => Severity::Daemon,
            Class::UnknownOp => Severity::Foreign,
        }
    }
}

impl Severity {
    /// The stable name.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Severity::Damage => "damage",
            Severity::Daemon => "daemon",
            Severity::Foreign => "foreign",
        }
    }
}

/// What the daemon does with a place when it next starts or appends.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Reaction {
    /// Reads past it and loses nothing.
    Keeps,
    /// Reads what is there, and does not know what was.
    DoesNotNotice,
    /// Moves the unterminated tail to a file of its own.
    MovesAside,
    /// Skips the line and whatever lies on it.
    LosesLine,
    /// Keeps the record until its next append is welded on; then both are lost.
    LosesNextAppend,
    /// Skips the line; its next append is welded on and lost as well.
    LosesLineAndNextAppend,
    /// Does not start.
    DoesNotStart,
    /// Nothing: the journal is our own, and it never reads it.
    NeverReads,
}

impl Reaction {
    /// The stable name, for machines.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Reaction::Keeps => "keeps",
            Reaction::MovesAside => "moves-aside",
            Reaction::LosesLine => "loses-line",
            Reaction::DoesNotNotice => "does-not-notice",
            Reaction::LosesNextAppend => "loses-next-append",
            Reaction::LosesLineAndNextAppend => "loses-line-and-next-append",
            Reaction::DoesNotStart => "does-not-start",
            Reaction::NeverReads => "never-reads",
        }
    }

    /// What happens, to be read after "the daemon".
    #[must_use]
    pub fn sentence(self) -> &'static str {
        match self {
            Reaction::Keeps => "keeps it",
            Reaction::MovesAside => "moves the unterminated tail aside when it starts",
            Reaction::LosesLine => "loses the line",
            Reaction::DoesNotNotice => "does not notice",
            Reaction::LosesNextAppend => "keeps it, but welds its next append on, and then loses both",
            Reaction::LosesLineAndNextAppend => "loses the line, and its next append, which it welds on",
            Reaction::DoesNotStart => "does not start",
            Reaction::NeverReads => "never reads it",
        }
    }
}

/// A stretch of a journal's bytes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Span {
    /// Offset of the first byte.
    pub offset: u64,
    /// Number of bytes.
    pub len: u64,
}

impl Span {
    /// Offset behind the last byte.
    #[must_use]
    pub fn end(self) -> u64 {
        self.offset + self.len
    }
}

/// One finding.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Finding {
    /// Line, from 1.
    pub line: u64,
    /// Offset of the line's first byte.
    pub line_start: u64,
    /// The bytes concerned.
    pub span: Span,
    /// What is wrong.
    pub class: Class,
    /// What is wrong, in words, with the place of the first impossible byte where there is one.
    pub why: String,
    /// What the daemon does.
    pub reaction: Reaction,
    /// Ids of the records concerned, where they can be told.
    pub ids: Vec<String>,
    /// The first bytes of the place.
    pub head: Vec<u8>,
    /// Records that may lie in a fragment, but could also be pieces of somebody's state: shown, never applied without
    /// being told to.
    pub possible: Vec<Possible>,
}

/// A record that the bytes allow but do not prove.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Possible {
    /// Where it would lie.
    pub span: Span,
    /// What it would be: the op and the id.
    pub what: String,
}

/// How many bytes of a place a finding keeps.
pub const HEAD: usize = 64;
