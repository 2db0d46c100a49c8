//! `cruxctl durable subscribe`, `unsubscribe`, `subscriptions` and `publish`: signals become inputs.

use std::collections::{BTreeMap, HashMap, HashSet};

use clap::Args;
use serde_json::Value as Json;

use super::ingress::{one_input, warn_of_another};
use super::open::tell;
use super::{Which, cursor, find_to_change, for_change, read_found, session, write};
use crate::cmd::complete::{Durable, Offers};
use crate::cmd::{Context, input, plural};
use crate::error::{Code, Error, Result};
use crate::handoff::strict;
use crate::journal::live::Live;
use crate::journal::table::Table;
use crate::render::{Group, Value};
use crate::store::durable::{Input, JOURNAL, Source, State, Subscription, identity, limits, rules};

/// Arguments of `durable subscribe`.
#[derive(Args, Debug)]
pub struct Subscribe {
    /// Which session.
    #[command(flatten)]
    pub which: Which,
    /// The signal's id
    #[arg(long, value_name = "SIGNAL", add = Offers::Durable(Durable::Signals))]
    pub signal: String,
    /// Only payloads with these members, as a JSON object
    #[arg(long, value_name = "JSON")]
    pub r#match: Option<String>,
    /// Say what would be done and do nothing
    #[arg(long)]
    pub dry_run: bool,
}

/// Arguments of `durable unsubscribe`.
#[derive(Args, Debug)]
pub struct Unsubscribe {
    /// The subscription's id
    #[arg(long = "sub", value_name = "SUBSCRIPTION", add = Offers::Durable(Durable::Subscriptions))]
    pub subscription: String,
    /// Say what would be done and do nothing
    #[arg(long)]
    pub dry_run: bool,
}

/// Arguments of `durable subscriptions`.
#[derive(Args, Debug)]
pub struct Subscriptions {
    /// Only those of this session
    #[arg(long, value_name = "ID", add = Offers::Durable(Durable::Sessions))]
    pub session: Option<String>,
    /// Only those to this signal
    #[arg(long, value_name = "SIGNAL", add = Offers::Durable(Durable::Signals))]
    pub signal: Option<String>,
}

/// Arguments of `durable publish`.
#[derive(Args, Debug)]
pub struct Publish {
    /// The signal's id
    #[arg(long, value_name = "SIGNAL", add = Offers::Durable(Durable::Signals))]
    pub signal: String,
    /// By what the occurrence is known again: published twice, it is delivered once
    #[arg(long, value_name = "ID")]
    pub occurrence: String,
    /// Where the signal counts
    #[arg(long, value_name = "NAMESPACE", default_value = super::NAMESPACE, add = Offers::Durable(Durable::Namespaces))]
    pub namespace: String,
    /// Read the payload from this file instead of standard input
    #[arg(long, value_name = "FILE", value_hint = clap::ValueHint::FilePath)]
    pub file: Option<std::path::PathBuf>,
    /// Say what would be done and do nothing
    #[arg(long)]
    pub dry_run: bool,
}

/// How many bytes of lines are written at once.
const AT_ONCE: usize = 16 << 20;

/// What is said of a subscription that was made.
pub const SUBSCRIBED: &[Group] = &[Group {
    name: "subscriptions",
    one: "subscription",
    columns: &["id", "session_id", "signal_id", "match", "created", "dry_run"],
    shown: &["id", "signal_id", "match", "created"],
    blocks: false,
}];

/// What is said of a subscription that was ended.
pub const UNSUBSCRIBED: &[Group] = &[Group {
    name: "subscriptions",
    one: "subscription",
    columns: &["id", "session_id", "signal_id", "changed", "dry_run"],
    shown: &["id", "signal_id", "changed"],
    blocks: false,
}];

/// What a list says of each subscription.
pub const LISTED: &[Group] = &[Group {
    name: "subscriptions",
    one: "subscription",
    columns: &["id", "session_id", "namespace", "signal_id", "match", "created_at"],
    shown: &["id", "session_id", "signal_id", "match"],
    blocks: false,
}];

/// What is said of each delivery.
pub const DELIVERED: &[Group] = &[Group {
    name: "delivered",
    one: "delivery",
    columns: &["session_id", "input_id", "cursor", "dry_run"],
    shown: &["session_id", "cursor", "input_id"],
    blocks: false,
}];

/// What must be in a payload, in its one form: members sorted by name, at every level, and no white space. Empty: anything.
///
/// Errors: it is no JSON object, or has a member twice.
fn match_key(text: Option<&str>) -> Result<String> {
    let Some(text) = text else { return Ok(String::new()) };
    let invalid = |why: String| Error::new(Code::UsageSessionInputInvalid, format!("--match {why}"));
    limits::check(text.as_bytes(), "--match")?;
    strict::walk(text, &mut |_| {}).map_err(|fault| invalid(format!("cannot be told in one way: {}", fault.why)))?;
    match serde_json::from_str::<Json>(text) {
        Ok(object @ Json::Object(_)) => Ok(canonical(&object)),
        Ok(_) => Err(invalid("is no JSON object".to_owned())),
        Err(error) => Err(invalid(format!("is not one JSON value: {error}"))),
    }
}

/// A JSON value in its one form.
pub(super) fn canonical(value: &Json) -> String {
    match value {
        Json::Object(members) => {
            let sorted: BTreeMap<&String, String> =
                members.iter().map(|(name, value)| (name, canonical(value))).collect();
            let members: Vec<String> =
                sorted.iter().map(|(name, value)| format!("{}:{value}", Json::from(name.as_str()))).collect();
            format!("{{{}}}", members.join(","))
        }
        Json::Array(values) => {
            let values: Vec<String> = values.iter().map(canonical).collect();
            format!("[{}]", values.join(","))
        }
        Json::Number(number) => one_number(number),
        other => other.to_string(),
    }
}

/// A number in its one form: what is whole and exact in a 64-bit float has no fraction and no exponent.
fn one_number(number: &serde_json::Number) -> String {
    const EXACT: f64 = 9_007_199_254_740_992.0;
    let float = number.as_f64().filter(|float| number.is_f64() && float.fract() == 0.0 && float.abs() < EXACT);
    float.map_or_else(|| number.to_string(), |float| format!("{:.0}", float + 0.0))
}

/// What a payload has: the one form of each of its members, by name, and none where it is no object.
fn members(payload: &Json) -> HashMap<&str, String> {
    let members = payload.as_object().into_iter().flatten();
    members.map(|(name, value)| (name.as_str(), canonical(value))).collect()
}

/// Whether a payload has each member of a match, with the same value.
fn matches(match_key: &str, payload: &HashMap<&str, String>) -> bool {
    if match_key.is_empty() {
        return true;
    }
    let Ok(Json::Object(wanted)) = serde_json::from_str::<Json>(match_key) else { return false };
    wanted.iter().all(|(name, value)| payload.get(name.as_str()).is_some_and(|own| *own == canonical(value)))
}

/// A match as it is shown.
fn shown(match_key: &str) -> Value<'_> {
    if match_key.is_empty() { Value::Absent } else { Value::Json(match_key.as_bytes()) }
}

/// Runs `durable subscribe`.
pub fn subscribe(context: &mut Context, args: &Subscribe) -> Result<()> {
    input::check_new("signal", &args.signal, None)?;
    let match_key = match_key(args.r#match.as_deref())?;
    let (lock, mut table) = for_change(context, args.dry_run)?;
    let mut found = find_to_change(&mut table, &args.which)?;
    found.takes_ingress()?;
    let now = context.env.now();
    let id = identity::subscription(&found.namespace, &found.session_id, &args.signal, &match_key);
    let created = !table.look(|live| rules::subscription(live, &id))?.is_some_and(|(_, active)| active);
    let subscription = Subscription {
        subscription_id: id.clone(),
        session_id: found.session_id.clone(),
        namespace: found.namespace.clone(),
        signal_id: args.signal.clone(),
        match_key,
        created_at: now,
    };
    if created {
        found.updated_at = now;
        write(context, lock, table, found.subscribe_line(&subscription))?;
    }
    let cells = [
        Value::text(&*id),
        Value::text(&*found.session_id),
        Value::text(&*args.signal),
        shown(&subscription.match_key),
        Value::Flag(created),
        Value::Flag(args.dry_run),
    ];
    let told = tell(context, "cruxctl.durable.subscribe.v1", SUBSCRIBED, &id, &cells);
    told.map_err(|error| error.after(created && !args.dry_run, "the session is subscribed"))
}

/// A subscription by its id, and whether it is active.
fn subscription(table: &mut Table, id: &str) -> Result<Option<(Subscription, bool)>> {
    // An id of another kind has a row as well.
    if !id.starts_with(identity::SUBSCRIPTION_PREFIX) {
        return Ok(None);
    }
    let place = |live: &mut Live| rules::subscription(live, id).map(|(place, _)| place);
    let found =
        read_found(table, place, |bytes| Subscription::read(bytes).filter(|found| found.subscription_id == id))?;
    let active = table.look(|live| rules::subscription(live, id))?.is_some_and(|(_, active)| active);
    Ok(found.map(|found| (found, active)))
}

/// Runs `durable unsubscribe`.
pub fn unsubscribe(context: &mut Context, args: &Unsubscribe) -> Result<()> {
    let (lock, mut table) = for_change(context, args.dry_run)?;
    let found = subscription(&mut table, &args.subscription)?;
    let Some((subscription, active)) = found else {
        let message = format!("there is no subscription {:?}", args.subscription);
        return Err(Error::new(Code::NoSessionSubscription, message).hint("cruxctl durable subscriptions"));
    };
    // Where every line of its session is lost, it is as good as gone.
    let Some(mut owner) = session(&mut table, &subscription.session_id)? else {
        return Err(super::gone(&subscription.session_id, "is not there"));
    };
    let changed = active && owner.state == State::Ready;
    if changed {
        owner.updated_at = context.env.now();
        write(context, lock, table, owner.unsubscribe_line(&args.subscription))?;
    }
    let cells = [
        Value::text(&*args.subscription),
        Value::text(&*subscription.session_id),
        Value::text(&*subscription.signal_id),
        Value::Flag(changed),
        Value::Flag(args.dry_run),
    ];
    let told = tell(context, "cruxctl.durable.unsubscribe.v1", UNSUBSCRIBED, &args.subscription, &cells);
    told.map_err(|error| error.after(changed && !args.dry_run, "the subscription is ended"))
}

/// Runs `durable subscriptions`.
pub fn subscriptions(context: &mut Context, args: &Subscriptions) -> Result<()> {
    let mut table = context.table(&JOURNAL, true)?;
    let mut spans = table.pick(|_, row| rules::is_active_subscription(&row).then(|| row.place.span()))?;
    spans.sort_unstable_by_key(|span| span.offset);
    context.printer.begin("cruxctl.durable.subscriptions.v1", LISTED)?;
    for span in spans {
        let Some(found) = Subscription::read(&table.opened.read(span)?) else {
            context.without_it(&JOURNAL, &mut table)?;
            continue;
        };
        let wanted = args.session.as_ref().is_none_or(|session| *session == found.session_id)
            && args.signal.as_ref().is_none_or(|signal| *signal == found.signal_id);
        // A session that has ended hears nothing any more.
        let hears =
            wanted && session(&mut table, &found.session_id)?.is_some_and(|session| session.state == State::Ready);
        if !hears {
            continue;
        }
        let cells = [
            Value::text(&*found.subscription_id),
            Value::text(&*found.session_id),
            Value::text(&*found.namespace),
            Value::text(&*found.signal_id),
            shown(&found.match_key),
            Value::Time(found.created_at),
        ];
        context.printer.row(0, &[&found.subscription_id], &cells)?;
    }
    context.printer.end()
}

/// Runs `durable publish`.
pub fn publish(context: &mut Context, args: &Publish) -> Result<()> {
    input::check_new("signal", &args.signal, None)?;
    input::check_new("occurrence", &args.occurrence, None)?;
    let hint = "pipe it in: echo '{\"order\":42}' | cruxctl durable publish --signal SIGNAL --occurrence ID";
    let payload = one_input(args.file.as_deref(), "the payload", hint)?;
    let value: Json = serde_json::from_str(payload.get())
        .map_err(|error| Error::new(Code::UsageSessionInputInvalid, format!("the payload is no JSON: {error}")))?;
    let (lock, mut table) = for_change(context, args.dry_run)?;
    let now = context.env.now();
    let payload_has = members(&value);
    let (mut delivered, mut deduplicated) = (Vec::new(), 0u64);
    let (mut lines, mut bytes, mut written) = (Vec::new(), 0, false);
    let mut seen: HashSet<String> = HashSet::new();
    for place in table.look(|live| rules::subscribers(live, &args.namespace, &args.signal))? {
        let Some(subscription) = Subscription::read(&table.opened.read(place)?) else {
            return Err(table.distrust());
        };
        // One occurrence is one input of a session, however many of its subscriptions match.
        if !matches(&subscription.match_key, &payload_has) || seen.contains(&subscription.session_id) {
            continue;
        }
        let owner = session(&mut table, &subscription.session_id)?.filter(|owner| owner.state == State::Ready);
        let Some(mut owner) = owner else { continue };
        seen.insert(owner.session_id.clone());
        let heard = |live: &mut Live| rules::heard_before(live, &owner.session_id, &args.signal, &args.occurrence);
        if let Some(heard) = read_found(&mut table, heard, Input::read)? {
            warn_of_another(context, &heard, &payload, &args.occurrence);
            deduplicated += 1;
            owner.repeat(1, now);
            lines.push(owner.repeat_line(&[heard.input_id]));
        } else {
            let cursor = owner.accept(1, now)?;
            let input_id = identity::input(&owner.session_id, cursor);
            let input = Input {
                input_id: input_id.clone(),
                cursor,
                source: Source::Signal,
                accepted_at: now,
                idempotency_key: None,
                signal_id: Some(args.signal.clone()),
                occurrence: Some(args.occurrence.clone()),
                subscription_id: Some(subscription.subscription_id),
                payload: Some(payload.clone()),
            };
            lines.push(owner.accept_line(&[input]));
            delivered.push((owner.session_id, input_id, cursor));
        }
        bytes += lines.last().map_or(0, Vec::len);
        // Sessions do not depend on each other, and whoever publishes it again does so for the rest alone.
        if bytes >= AT_ONCE
            && let Some(lock) = &lock
        {
            table = context
                .append_and_go_on(lock, table, &JOURNAL, &lines)
                .map_err(|error| error.after(written, "some deliveries are made; publish it again for the rest"))?;
            lines.clear();
            (bytes, written) = (0, true);
        }
        if lock.is_none() {
            lines.clear();
        }
    }
    if let Some(lock) = lock.filter(|_| !lines.is_empty()) {
        context
            .append(&lock, table, &lines)
            .map_err(|error| error.after(written, "some deliveries are made; publish it again for the rest"))?;
    }
    let told = tell_deliveries(context, args, &delivered, deduplicated);
    let done = !args.dry_run && !delivered.is_empty();
    told.map_err(|error| error.after(done, &format!("{} made", plural(delivered.len() as u64, "delivery"))))
}

fn tell_deliveries(
    context: &mut Context,
    args: &Publish,
    delivered: &[(String, String, u64)],
    deduplicated: u64,
) -> Result<()> {
    context.printer.begin("cruxctl.durable.publish.v1", DELIVERED)?;
    for (session_id, input_id, number) in delivered {
        let cells =
            [Value::text(&**session_id), Value::text(&**input_id), cursor(*number), Value::Flag(args.dry_run)];
        context.printer.row(0, &[input_id], &cells)?;
    }
    context.printer.fields(None, &[("deduplicated", Value::Count(deduplicated))])?;
    context.printer.end()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_match_has_one_form_whatever_the_order_of_its_members() {
        let one = match_key(Some(r#"{"b": [1, {"y":2,"x":null}], "a":"é"}"#)).unwrap();
        assert_eq!(one, r#"{"a":"é","b":[1,{"x":null,"y":2}]}"#);
        assert_eq!(match_key(Some(r#"{"a":"\u00e9","b":[1,{"x":null,"y":2}]}"#)).unwrap(), one);
        assert_eq!(
            match_key(Some(r#"{"a":1.0,"b":-0.0,"c":1e3,"d":0.5}"#)).unwrap(),
            r#"{"a":1,"b":0,"c":1000,"d":0.5}"#
        );
        assert_eq!(match_key(None).unwrap(), "");
        assert_eq!(match_key(Some("{}")).unwrap(), "{}");
        for wrong in ["[]", "1", "", "{", r#"{"a":1,"a":2}"#, r#"{"a":{"b":1,"b":1}}"#] {
            assert_eq!(match_key(Some(wrong)).unwrap_err().code, Code::UsageSessionInputInvalid, "{wrong}");
        }
    }

    #[test]
    fn a_payload_matches_where_it_has_every_member() {
        let payload: Json = serde_json::from_str(r#"{"kind":"paid","order":{"id":1,"to":"x"},"n":2}"#).unwrap();
        for (wanted, is) in [
            ("", true),
            ("{}", true),
            (r#"{"kind":"paid"}"#, true),
            (r#"{"kind":"paid","n":2}"#, true),
            (r#"{"order":{"id":1,"to":"x"}}"#, true),
            (r#"{"order":{"id":1}}"#, false),
            (r#"{"kind":"open"}"#, false),
            (r#"{"other":null}"#, false),
        ] {
            assert_eq!(matches(wanted, &members(&payload)), is, "{wanted}");
        }
        let one = Json::from(1);
        let none = members(&one);
        assert!(!matches(r#"{"a":1}"#, &none) && matches("{}", &none) && matches("", &none));
    }
}
