//! `cruxctl fact delete`, `supersede` and `validity`: changes of a fact that is there.

use std::collections::HashSet;

use chrono::{DateTime, Utc};
use clap::Args;

use super::store::check_validity;
use super::view::{Eyes, current, find};
use crate::cmd::complete::Offers;
use crate::cmd::{Context, coming_moment, moment};
use crate::error::{Code, Error, Result};
use crate::journal::live::{IdKey, Row};
use crate::journal::lock::Lock;
use crate::journal::table::Table;
use crate::render::{Group, Value};
use crate::store::fact::current::Current;
use crate::store::fact::{JOURNAL, events, privacy, rules};

/// Which fact, through whose eyes.
#[derive(Args, Debug)]
pub struct One {
    /// The fact's id
    #[arg(add = Offers::Facts)]
    pub id: String,
    /// A private fact too, whoever it belongs to
    #[arg(long)]
    pub all_agents: bool,
    /// Say what would be done and do nothing
    #[arg(long)]
    pub dry_run: bool,
}

/// Arguments of `fact delete`.
#[derive(Args, Debug)]
pub struct Delete {
    /// Which fact.
    #[command(flatten)]
    pub one: One,
}

/// Arguments of `fact supersede`.
#[derive(Args, Debug)]
pub struct Supersede {
    /// Which fact.
    #[command(flatten)]
    pub one: One,
    /// What takes its place.
    #[command(flatten)]
    pub place: Place,
}

/// What takes a fact's place.
#[derive(Args, Debug)]
#[group(required = true, multiple = false)]
pub struct Place {
    /// The fact that takes its place
    #[arg(long, value_name = "ID", add = Offers::Facts)]
    pub by: Option<String>,
    /// None takes its place any more
    #[arg(long)]
    pub clear: bool,
}

/// Arguments of `fact validity`.
#[derive(Args, Debug)]
pub struct Validity {
    /// Which fact.
    #[command(flatten)]
    pub one: One,
    /// When it holds.
    #[command(flatten)]
    pub times: Times,
}

/// When a fact holds.
#[derive(Args, Debug)]
#[group(required = true, multiple = true)]
pub struct Times {
    /// Since when it holds: an RFC 3339 time, how long ago (2h), or none
    #[arg(long, value_name = "TIME")]
    pub from: Option<String>,
    /// Until when it holds: an RFC 3339 time, for how long from now (2h), or none
    #[arg(long, value_name = "TIME")]
    pub to: Option<String>,
    /// It holds at any time
    #[arg(long, conflicts_with_all = ["from", "to"])]
    pub clear: bool,
}

/// What is said of each change.
pub const CHANGED: &[Group] = &[Group {
    name: "changed",
    one: "changed",
    columns: &["action", "id", "entity", "key", "superseded_by", "valid_from", "valid_to", "offset", "dry_run"],
    shown: &["action", "id", "entity", "key", "superseded_by", "valid_from", "valid_to"],
    blocks: false,
}];

/// A fact that may be changed, behind the lock where it will be.
struct Changing {
    lock: Option<Lock>,
    table: Table,
    eyes: Eyes,
    row: Row,
    document: Vec<u8>,
}

impl Changing {
    fn open(context: &mut Context, one: &One) -> Result<Changing> {
        let eyes = Eyes::of(context, one.all_agents)?;
        let (lock, mut table) = context.for_change(&JOURNAL, one.dry_run)?;
        let found = find(&mut table, &eyes, &one.id);
        let (row, document) = found.inspect_err(|_| context.doubt_no(&table))?;
        Ok(Changing { lock, table, eyes, row, document })
    }

    /// The fact as it is now. What is deleted or the daemon's own is not changed.
    fn fact(&mut self) -> Result<Current<'_>> {
        let now = current(&mut self.table, self.row, &self.document)?;
        if now.fact.deleted {
            let message = format!("the fact {:?} is deleted", now.fact.id);
            return Err(Error::new(Code::NoFact, message).hint(format!("cruxctl fact show {}", now.fact.id)));
        }
        if let Some(prefix) = privacy::daemons_own(&now.fact.entity) {
            let message = format!("facts whose entity begins with {prefix} are the daemon's own");
            return Err(Error::new(Code::RefusedDaemonsOwn, message));
        }
        Ok(now)
    }
}

/// Refuses what the daemon would ignore: a change of a fact that an active consolidation stands for.
fn free(now: &Current<'_>) -> Result<()> {
    if !now.bound {
        return Ok(());
    }
    let by = now.fact.superseded_by.as_deref().unwrap_or_default();
    let message =
        format!("the fact {:?} is a source of the consolidation {by:?}: the daemon would ignore it", now.fact.id);
    Err(Error::new(Code::RefusedConsolidated, message).hint(format!("cruxctl fact show {by}")))
}

/// What a change has made of a fact.
struct Outcome {
    action: &'static str,
    superseded_by: Option<String>,
    valid: (Option<DateTime<Utc>>, Option<DateTime<Utc>>),
}

/// Appends the line, and says what was done.
fn finish(
    context: &mut Context,
    changing: Changing,
    one: &One,
    line: Vec<u8>,
    schema: &'static str,
    outcome: Outcome,
) -> Result<()> {
    let Changing { lock, mut table, eyes, row, document } = changing;
    let fact = current(&mut table, row, &document)?.fact;
    let mut offset = None;
    if let Some(lock) = lock {
        offset = context.append(&lock, table, &[line])?.spans.first().map(|span| span.offset);
    }
    let cells = [
        Value::text(outcome.action),
        Value::text(&*fact.id),
        Value::Text(eyes.see(&fact).unwrap_or_default()),
        Value::text(&*fact.key),
        Value::maybe(outcome.superseded_by),
        Value::time(outcome.valid.0),
        Value::time(outcome.valid.1),
        offset.map_or(Value::Absent, Value::Count),
        Value::Flag(one.dry_run),
    ];
    let printer = &mut context.printer;
    let told = printer
        .begin(schema, CHANGED)
        .and_then(|()| printer.row(0, &[&fact.id], &cells))
        .and_then(|()| printer.end());
    told.map_err(|error: Error| error.after(offset.is_some(), "the change is stored"))
}

/// Runs `delete`.
pub fn delete(context: &mut Context, args: &Delete) -> Result<()> {
    let mut changing = Changing::open(context, &args.one)?;
    let now = changing.fact()?;
    free(&now)?;
    let id = now.fact.id.into_owned();
    let outcome = Outcome {
        action: "delete",
        superseded_by: now.fact.superseded_by.map(|by| by.into_owned()),
        valid: (now.fact.valid_from, now.fact.valid_to),
    };
    if rules::consolidation(&mut changing.table.live, IdKey::of(&id)).is_some() {
        let message = format!("the fact {id:?} stands for others in a consolidation: the daemon would ignore it");
        return Err(Error::new(Code::RefusedConsolidated, message));
    }
    let line = events::delete_at(&id, context.env.now());
    finish(context, changing, &args.one, line, "cruxctl.fact.delete.v1", outcome)
}

/// Runs `supersede`.
pub fn supersede(context: &mut Context, args: &Supersede) -> Result<()> {
    let mut changing = Changing::open(context, &args.one)?;
    let now = changing.fact()?;
    free(&now)?;
    let (id, tenant) = (now.fact.id.into_owned(), now.fact.tenant.into_owned());
    let valid = (now.fact.valid_from, now.fact.valid_to);
    let was = now.fact.superseded_by.map(|by| by.into_owned());
    let at = context.env.now();
    let line = match &args.place.by {
        Some(by) => {
            let linked = link(&mut changing, &id, &tenant, by);
            linked.inspect_err(|error| {
                if error.code == Code::NoFact {
                    context.doubt_no(&changing.table);
                }
            })?;
            events::supersede(&id, by, at)
        }
        None if was.is_none() => {
            let message = format!("no fact supersedes {id:?}");
            return Err(Error::new(Code::NoFact, message).hint(format!("cruxctl fact show {id}")));
        }
        None => events::clear_supersede(&id, at),
    };
    let action = if args.place.by.is_some() { "supersede" } else { "clear" };
    let outcome = Outcome { action, superseded_by: args.place.by.clone(), valid };
    finish(context, changing, &args.one, line, "cruxctl.fact.supersede.v1", outcome)
}

/// Whether a fact may take the place of another: it is there, of the same tenant, and nothing leads from it back.
fn link(changing: &mut Changing, id: &str, tenant: &str, by: &str) -> Result<()> {
    let refused = |why: &str| {
        let message = format!("the fact {by:?} cannot take the place of {id:?}: {why}");
        Err(Error::new(Code::RefusedLink, message))
    };
    let (table, eyes) = (&mut changing.table, &changing.eyes);
    let (row, document) = find(table, eyes, by)?;
    let fact = current(table, row, &document)?.fact;
    if fact.deleted {
        return refused("it is deleted");
    }
    if fact.tenant != tenant {
        return refused(&format!("it is of the tenant {:?}, and that of {tenant:?}", fact.tenant));
    }
    let mut seen = HashSet::new();
    let mut next = Some(by.to_owned());
    while let Some(step) = next.take() {
        if step == id {
            return refused("that would be a circle, in which no fact is left");
        }
        if !seen.insert(step.clone()) {
            break;
        }
        if let Some((row, document)) = table.known(&step)? {
            next = current(table, row, &document)?.fact.superseded_by.map(|by| by.into_owned());
        }
    }
    Ok(())
}

/// Runs `validity`.
pub fn validity(context: &mut Context, args: &Validity) -> Result<()> {
    let mut changing = Changing::open(context, &args.one)?;
    let now = changing.fact()?;
    let at = context.env.now();
    let Times { from, to, clear } = &args.times;
    type Read = fn(&str, DateTime<Utc>) -> Result<DateTime<Utc>>;
    let time = |text: &Option<String>, is: Option<DateTime<Utc>>, read: Read| match text.as_deref() {
        None if *clear => Ok(None),
        None => Ok(is),
        Some("none") => Ok(None),
        Some(text) => read(text, at).map(Some),
    };
    let valid = (time(from, now.fact.valid_from, moment)?, time(to, now.fact.valid_to, coming_moment)?);
    check_validity(context, valid.0, valid.1)?;
    let line = events::set_validity(&now.fact.id, valid.0, valid.1, at);
    let superseded_by = now.fact.superseded_by.map(|by| by.into_owned());
    let outcome = Outcome { action: "validity", superseded_by, valid };
    finish(context, changing, &args.one, line, "cruxctl.fact.validity.v1", outcome)
}
