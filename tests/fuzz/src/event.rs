//! Which JSON is an event of a journal, said once more by other code than the tool's, from the same description.

use chrono::{DateTime, FixedOffset};
use cruxctl::journal::shape::{Member, Need, Shape, Type};

use crate::json::{Value, What};

/// What a whole JSON value is to a journal.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// An event.
    Event,
    /// An event whose op is not known.
    Foreign,
    /// No event.
    None,
}

/// What a value is to a journal of this shape.
#[must_use]
pub fn kind(shape: &Shape, value: &Value) -> Kind {
    let tag = match &value.what {
        What::Object(_) => value.get("op"),
        What::List(all) => all.first(),
        _ => None,
    };
    let Some(Value { what: What::Text(tag), .. }) = tag else { return Kind::None };
    let Some(op) = shape.ops.iter().find(|op| tag.is(op.name)) else { return Kind::Foreign };
    if holds(op.members, value, true) { Kind::Event } else { Kind::None }
}

/// Whether an object or array has these members, each once and of its type.
fn holds(names: &[Member], value: &Value, tagged: bool) -> bool {
    let mut found: Vec<Option<&Value>> = vec![None; names.len()];
    match &value.what {
        What::Object(all) => {
            let mut tags = 0;
            for (name, value) in all {
                match names.iter().position(|member| name.is(member.name)) {
                    Some(index) if found[index].is_some() => return false,
                    Some(index) => found[index] = Some(value),
                    None => tags += usize::from(tagged && name.is("op")),
                }
            }
            if tags > 1 {
                return false;
            }
        }
        What::List(all) => {
            let all = &all[usize::from(tagged)..];
            if all.len() > names.len() {
                return false;
            }
            found.iter_mut().zip(all).for_each(|(place, value)| *place = Some(value));
        }
        _ => return false,
    }
    names.iter().zip(found).all(|(member, value)| match value {
        None => member.need != Need::Required,
        Some(Value { what: What::Word("null"), .. }) if member.need == Need::Optional => true,
        Some(value) => fits(member.ty, value),
    })
}

fn fits(ty: Type, value: &Value) -> bool {
    match (ty, &value.what) {
        (Type::Any, _) => true,
        (Type::Text, What::Text(_)) => true,
        (Type::Bool, What::Word(word)) => *word != "null",
        (Type::Number, What::Number(_)) => true,
        (Type::Natural(most), What::Number(number)) => {
            number.bytes().all(|byte| byte.is_ascii_digit()) && number.parse::<u64>().is_ok_and(|n| n <= most)
        }
        (Type::Time, What::Text(text)) => {
            text.chars().is_some_and(|text| text.parse::<DateTime<FixedOffset>>().is_ok())
        }
        (Type::Choice(words), What::Text(text)) => words.iter().any(|word| text.is(word)),
        (Type::Texts, What::List(all)) => all.iter().all(|one| matches!(one.what, What::Text(_))),
        (Type::Record(names), What::Object(_) | What::List(_)) => holds(names, value, false),
        (Type::Records(names), What::List(all)) => all.iter().all(|one| holds(names, one, false)),
        _ => false,
    }
}
