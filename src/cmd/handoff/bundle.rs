//! Which facts go along with a session.

use std::collections::BTreeSet;

use crate::cmd::fact::view::Eyes;
use crate::cmd::{Context, plural};
use crate::error::{Code, Error, Result};
use crate::handoff::build;
use crate::store::fact::JOURNAL;
use crate::store::fact::current;
use crate::store::fact::document::{Fact, confidence_text};

/// What the entity of a session's decisions begins with.
const DECISIONS: &str = "__decisions__::";

/// The facts that a state names by their ids, and those about the session and its decisions, each as its JSON text, in
/// the order in which they were stored. Private ones stay; how many is said. `most`: the bytes that they may have.
pub(super) fn facts(context: &mut Context, session: &str, state: Option<&str>, most: usize) -> Result<Vec<String>> {
    let eyes = Eyes::of(context, false)?;
    // A state that cannot be walked is refused when the package is built.
    let named = state.and_then(|state| build::fact_ids(state).ok()).unwrap_or_default();
    let about: BTreeSet<String> = [session.to_owned(), format!("{DECISIONS}{session}")].into();
    let mut table = context.table(&JOURNAL, true)?;
    let (mut facts, mut bytes, mut stay) = (Vec::new(), 0, 0u64);
    for (key, row) in table.records()?.into_iter().filter(|(_, row)| row.live) {
        let document = table.opened.read(row.place.span())?;
        let Some(fact) = Fact::read(&document) else {
            context.without_it(&JOURNAL, &mut table)?;
            continue;
        };
        let seen = eyes.see(&fact).is_some_and(|entity| about.contains(&*entity));
        if !seen && !named.contains(&*fact.id) {
            continue;
        }
        if eyes.is_private(&fact) {
            stay += 1;
            continue;
        }
        // What later events have made of it is looked up for those that go along.
        let Some(now) = current::brought_up(&table.opened, &mut table.live, (key, row), fact)? else {
            context.without_it(&JOURNAL, &mut table)?;
            continue;
        };
        let mut fact = now.fact;
        let confidence = confidence_text(fact.sureness()).filter(|_| fact.is_exact());
        let Some(confidence) = confidence else {
            let message = format!("the fact {:?} is not handed over: a receiver would not read it", fact.id);
            return Err(Error::new(Code::RefusedDaemonUnreadable, message)
                .hint(format!("cruxctl journal check {} --for-daemon", JOURNAL.name)));
        };
        // A package has the members that the daemon knows, and no others.
        (fact.confidence, fact.source) = (confidence.into(), b"");
        let text = String::from_utf8(fact.document()).unwrap_or_default();
        bytes += text.len();
        if bytes > most {
            return Err(super::create::too_large(bytes, most));
        }
        facts.push((fact.stored_at, fact.id.into_owned(), text));
    }
    if stay > 0 {
        let text = format!("{} about it not handed over: private facts never are", plural(stay, "private fact"));
        context.printer.note(&text);
    }
    facts.sort();
    Ok(facts.into_iter().map(|(.., text)| text).collect())
}
