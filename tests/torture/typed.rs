//! Every verb as it is typed, held against the tree of all verbs.

use crate::support::leaves;

use crate::given::Who;
use crate::tally::Tally;
use Does::{Appends, Compacts, Finds, Looks, Makes, PrintsText, Reads, Repairs};

/// An id that nobody has.
pub const NOBODY: &str = "nobody";

/// What a verb does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Does {
    /// Reads journals as a whole: 0, 1 where what was asked for is not there, 3 where anything cannot be read.
    Reads,
    /// The same; what it looks for may also not be there where the ids are.
    Finds,
    /// Reads, and the answer hangs on more than what the journals are like.
    Looks,
    /// Prints a text whatever the format.
    PrintsText,
    /// Writes behind what is there.
    Appends,
    /// Sets aside what cannot be read.
    Repairs,
    /// Leaves out what is no longer live.
    Compacts(&'static str),
    /// Writes beside the journals.
    Makes,
}

/// A verb, as it is typed. `S`, `C`, `F`, `H`, `K` and `D` stand for ids.
#[derive(Debug)]
pub struct Verb {
    pub line: &'static str,
    pub input: &'static str,
    /// The journals that it reads as a whole.
    pub journals: &'static [&'static str],
    pub does: Does,
}

const fn verb(line: &'static str, journals: &'static [&'static str], does: Does) -> Verb {
    Verb { line, input: "", journals, does }
}

const fn with(line: &'static str, input: &'static str) -> Verb {
    Verb { line, input, journals: &[], does: Appends }
}

const SESSIONS: &[&str] = &["sessions"];
const CASES: &[&str] = &["cases", "reuse"];
const FACTS: &[&str] = &["facts"];
const DURABLE: &[&str] = &["durable"];
const ALL: &[&str] = &crate::given::JOURNALS;

pub const VERBS: &[Verb] = &[
    verb("session list --all-agents --all", SESSIONS, Reads),
    verb("session list", SESSIONS, Reads),
    verb("session get S --all-agents --expired", SESSIONS, Reads),
    verb("session show S --all-agents", SESSIONS, Reads),
    verb("session history S --all-agents", SESSIONS, Reads),
    verb("session diff S --all-agents", SESSIONS, Looks),
    verb("case list", CASES, Reads),
    verb("case show C", CASES, Reads),
    verb("case retrieve words", CASES, Finds),
    verb("case retrieve deploy --rank weighted --explain --fold", CASES, Finds),
    verb("fact list --all --deleted --all-agents", FACTS, Reads),
    verb("fact show F --all-agents", FACTS, Reads),
    verb("fact history F --all-agents", FACTS, Finds),
    verb("fact query summary --all-agents", FACTS, Finds),
    verb("handoff verify envelope --key-file secret --agent bob", &[], Looks),
    verb("handoff inspect envelope", &[], Looks),
    verb("handoff list", &["handoffs"], Reads),
    verb("handoff trust list", &["trust"], Reads),
    verb("journal check", ALL, Reads),
    verb("journal check --for-daemon --full", ALL, Looks),
    verb("journal stat", ALL, Reads),
    verb("journal map", ALL, Reads),
    verb("journal log", ALL, Reads),
    verb("journal report --html out.html", ALL, Reads),
    verb("journal export sessions", SESSIONS, Reads),
    verb("journal export cases", &["cases"], Reads),
    verb("journal export facts", FACTS, Reads),
    verb("journal export reuse", &["reuse"], Reads),
    verb("journal export handoffs", &["handoffs"], Reads),
    verb("journal export trust", &["trust"], Reads),
    verb("journal show sessions --id S", SESSIONS, Looks),
    verb("journal show cases --line 2", &[], Looks),
    verb("journal show facts --offset 1000", &[], Looks),
    verb("doctor", ALL, Reads),
    verb("completions bash", &[], PrintsText),
    verb("man out", &[], PrintsText),
    with("session put new", "{\"n\":1}"),
    with("session put S --all-agents --ttl 1h", "[]"),
    verb("session restore S --rev 1 --all-agents", SESSIONS, Appends),
    verb("session delete S --all-agents", SESSIONS, Appends),
    verb("session archive S --all-agents", SESSIONS, Appends),
    verb("session unarchive S --all-agents", SESSIONS, Appends),
    verb("session reap --all-agents", SESSIONS, Appends),
    verb("case record --task t --action a --outcome o", &[], Appends),
    verb("case import cases", &[], Appends),
    verb("case reuse C", CASES, Appends),
    verb("case delete C", CASES, Appends),
    verb("fact store --entity e --key k --value v", FACTS, Appends),
    verb("fact delete F --all-agents", FACTS, Appends),
    verb("fact supersede F --clear --all-agents", FACTS, Appends),
    verb("fact validity F --to 2027-01-01T00:00:00Z --all-agents", FACTS, Appends),
    verb("handoff create S --include-facts --key-file secret", SESSIONS, Makes),
    verb("handoff accept envelope --key-file secret --agent bob", &[], Appends),
    verb("handoff abandon H", &["handoffs"], Appends),
    verb("handoff keygen --ed25519 out.key", &[], Makes),
    verb("handoff trust add bob bob.pub", &["trust"], Appends),
    verb("handoff trust remove K", &["trust"], Appends),
    verb("durable list --deleted", DURABLE, Reads),
    verb("durable get --session D", DURABLE, Finds),
    verb("durable status --session D", DURABLE, Finds),
    verb("durable inspect --session D", DURABLE, Finds),
    verb("durable stats --session D", DURABLE, Finds),
    verb("durable stream --session D", DURABLE, Finds),
    verb("durable forks --session D", DURABLE, Finds),
    verb("durable result --input input_ab_1", DURABLE, Looks),
    verb("durable subscriptions", DURABLE, Reads),
    verb("durable open --target new --kind agent --key new", DURABLE, Appends),
    verb("durable fork --session D", DURABLE, Appends),
    with("durable send --session D", "1"),
    with("durable send-many --session D", "1\n2\n"),
    verb("durable claim --session D", DURABLE, Appends),
    verb("durable renew --work work_ab --fence 1", DURABLE, Appends),
    verb("durable release --work work_ab --fence 1", DURABLE, Appends),
    with("durable checkpoint --work work_ab --fence 1", "1"),
    with("durable complete --work work_ab --fence 1", "1"),
    verb("durable fail --work work_ab --fence 1", DURABLE, Appends),
    verb("durable block --work work_ab --fence 1", DURABLE, Appends),
    verb("durable unblock --session D", DURABLE, Appends),
    verb("durable subscribe --session D --signal s", DURABLE, Appends),
    verb("durable unsubscribe --sub subscription_ab", DURABLE, Appends),
    with("durable publish --signal s --occurrence o", "1"),
    verb("durable close --session D", DURABLE, Appends),
    verb("durable kill --session D", DURABLE, Appends),
    verb("durable delete --session D", DURABLE, Appends),
    verb("journal export durable", DURABLE, Reads),
    verb("journal repair --apply", ALL, Repairs),
    verb("journal compact sessions", SESSIONS, Compacts("sessions")),
    verb("journal compact cases", &["cases"], Compacts("cases")),
    verb("journal compact facts", FACTS, Compacts("facts")),
    verb("journal compact reuse", &["reuse"], Compacts("reuse")),
    verb("journal compact handoffs", &["handoffs"], Compacts("handoffs")),
    verb("journal compact trust", &["trust"], Compacts("trust")),
    verb("journal compact durable", DURABLE, Compacts("durable")),
];

/// Verbs that take a file, which lies beside the directory.
pub const TAKES: &[&str] = &[
    "session put new --file given --dry-run",
    "case import given --dry-run",
    "case import given --atomic --dry-run",
    "handoff inspect given",
    "handoff inspect given --from-mcp",
    "handoff verify given --key-file secret --agent bob",
    "handoff verify given --key-file secret --from-mcp",
    "handoff accept given --key-file secret --agent bob --dry-run",
    "handoff verify envelope --key-file given",
    "handoff trust add bob given --dry-run",
];

impl Does {
    pub fn only_reads(self) -> bool {
        matches!(self, Reads | Finds | Looks | PrintsText)
    }
}

impl Verb {
    /// Whether it says what it would do.
    pub fn has_dry_run(&self) -> bool {
        !self.does.only_reads()
    }

    /// The words that are typed, with these ids; `None` where there is no such id.
    pub fn typed<'v>(&'v self, who: &Who) -> Option<(&'v Verb, Vec<String>)> {
        let mut words = Vec::new();
        let mut asks = false;
        for word in self.line.split(' ') {
            let id = match word {
                "S" => &who.session,
                "C" => &who.case,
                "F" => &who.fact,
                "H" => &who.handoff,
                "K" => &who.key,
                "D" => &who.durable,
                _ => {
                    words.push(word.to_owned());
                    continue;
                }
            };
            asks = true;
            words.push(if who.nobody { NOBODY.to_owned() } else { id.clone()? });
        }
        // What asks for no id is typed once.
        (asks || !who.nobody).then_some((self, words))
    }
}

/// Tells of verbs that nobody has listed here.
pub fn hold(tally: &Tally) {
    for leaf in leaves() {
        let listed = |verb: &Verb| format!("{} ", verb.line).starts_with(&format!("{leaf} "));
        // A worker runs a command: it is tried where writers are killed.
        if !VERBS.iter().any(listed) && leaf != "durable work" {
            tally.lost(format!("cruxctl {leaf} is never tried"));
        }
    }
}
