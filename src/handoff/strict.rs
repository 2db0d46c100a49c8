//! JSON as the daemon reads it, and no member twice. A member that occurs twice means one thing to one reader and
//! another thing to the next, so nobody vouches for such a text.
//!
//! Depth is limited by the reader itself, at the daemon's limit of 127 open arrays and objects.

use std::borrow::Cow;
use std::collections::HashSet;
use std::fmt;

use serde::de::{self, Deserialize, DeserializeSeed, Deserializer, MapAccess, SeqAccess, Visitor};
use serde_json::value::RawValue;

/// Why a text is not taken.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fault {
    /// What is wrong, with its place.
    pub why: String,
    /// Whether it is a member that occurs twice.
    pub duplicate: bool,
}

/// Walks a whole text; `each` is told every string value, but no member's name.
pub fn walk(text: &str, each: &mut dyn FnMut(&str)) -> Result<(), Fault> {
    let mut duplicate = false;
    let mut reader = serde_json::Deserializer::from_str(text);
    let walked = Walk { each, duplicate: &mut duplicate }.deserialize(&mut reader).and_then(|()| reader.end());
    walked.map_err(|error| Fault { why: error.to_string(), duplicate })
}

/// The members of an object as they are written, by their decoded names. The text must have been walked.
#[must_use]
pub fn members(text: &str) -> Option<Vec<(Cow<'_, str>, &RawValue)>> {
    struct Members;
    impl<'de> Visitor<'de> for Members {
        type Value = Vec<(Cow<'de, str>, &'de RawValue)>;
        fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            f.write_str("an object")
        }
        fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
            let mut members = Vec::new();
            while let Some((Name(name), value)) = map.next_entry()? {
                members.push((name, value));
            }
            Ok(members)
        }
    }
    serde_json::Deserializer::from_str(text).deserialize_map(Members).ok()
}

/// The characters of a JSON string; `None` for any other value.
#[must_use]
pub fn text(raw: &RawValue) -> Option<Cow<'_, str>> {
    let inside = raw.get().strip_prefix('"')?.strip_suffix('"')?;
    match inside.contains('\\') {
        true => serde_json::from_str(raw.get()).ok().map(Cow::Owned),
        false => Some(Cow::Borrowed(inside)),
    }
}

/// One value that is walked.
struct Walk<'w> {
    each: &'w mut dyn FnMut(&str),
    duplicate: &'w mut bool,
}

impl<'de> DeserializeSeed<'de> for Walk<'_> {
    type Value = ();
    fn deserialize<D: Deserializer<'de>>(self, reader: D) -> Result<(), D::Error> {
        reader.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for Walk<'_> {
    type Value = ();
    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a value")
    }
    fn visit_unit<E>(self) -> Result<(), E> {
        Ok(())
    }
    fn visit_bool<E>(self, _: bool) -> Result<(), E> {
        Ok(())
    }
    fn visit_i64<E>(self, _: i64) -> Result<(), E> {
        Ok(())
    }
    fn visit_u64<E>(self, _: u64) -> Result<(), E> {
        Ok(())
    }
    fn visit_f64<E>(self, _: f64) -> Result<(), E> {
        Ok(())
    }
    fn visit_str<E>(self, text: &str) -> Result<(), E> {
        (self.each)(text);
        Ok(())
    }
    fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<(), A::Error> {
        while list.next_element_seed(Walk { each: self.each, duplicate: self.duplicate })?.is_some() {}
        Ok(())
    }
    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<(), A::Error> {
        let mut names = HashSet::new();
        while let Some(Name(name)) = map.next_key()? {
            if let Some(name) = names.replace(name) {
                *self.duplicate = true;
                return Err(de::Error::custom(format!("the member {} occurs twice", super::shown(&name))));
            }
            map.next_value_seed(Walk { each: self.each, duplicate: self.duplicate })?;
        }
        Ok(())
    }
}

/// A member's name, decoded; borrowed where it has no escapes.
#[derive(PartialEq, Eq, Hash)]
struct Name<'de>(Cow<'de, str>);

impl<'de> Deserialize<'de> for Name<'de> {
    fn deserialize<D: Deserializer<'de>>(reader: D) -> Result<Self, D::Error> {
        struct Names;
        impl<'de> Visitor<'de> for Names {
            type Value = Name<'de>;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a member name")
            }
            fn visit_borrowed_str<E>(self, name: &'de str) -> Result<Name<'de>, E> {
                Ok(Name(Cow::Borrowed(name)))
            }
            fn visit_str<E>(self, name: &str) -> Result<Name<'de>, E> {
                Ok(Name(Cow::Owned(name.to_owned())))
            }
        }
        reader.deserialize_str(Names)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn walked(text: &str) -> Result<Vec<String>, Fault> {
        let mut texts = Vec::new();
        walk(text, &mut |text| texts.push(text.to_owned())).map(|()| texts)
    }

    #[test]
    fn string_values_are_told_and_names_are_not() {
        let texts = walked(r#"{"n":"a","b":["c\u0021",{"d":{"e":"f"}},1,-2,0.5,true,null]}"#).unwrap();
        assert_eq!(texts, ["a", "c!", "f"]);
    }

    #[test]
    fn a_member_twice_is_refused_at_every_depth_and_however_it_is_written() {
        for text in [
            r#"{"a":1,"a":1}"#,
            r#"[[{"x":{"a":1,"b":2,"\u0061":3}}]]"#,
            r#"{"":0,"":0}"#,
            r#"{"é":1,"\u00e9":2}"#,
            r#"{"\n":1,"\u000a":2}"#,
        ] {
            assert!(walked(text).unwrap_err().duplicate, "{text}");
        }
        for text in [r#"{"a":{"a":{"a":1}}}"#, r#"[{"a":1},{"a":1}]"#, r#"{"a":1,"A":1,"é":1,"e\u0301":1}"#] {
            walked(text).unwrap();
        }
    }

    #[test]
    fn depth_numbers_and_surrogates_are_limited_as_they_are_for_the_daemon() {
        let nested = |levels: usize| "[".repeat(levels) + &"]".repeat(levels);
        walked(&nested(127)).unwrap();
        for text in
            [&*nested(128), &"[".repeat(1 << 20), &"{\"a\":".repeat(1 << 18), "1e400", r#""\ud800""#, "1 1", ""]
        {
            assert!(!walked(text).unwrap_err().duplicate);
        }
    }

    #[test]
    fn members_come_as_they_are_written() {
        let got = members(r#" {"a" : [1, 2.50] ,"\u0062":"x\ty"} "#.replace("\\t", "\\u0009").leak()).unwrap();
        assert_eq!((&*got[0].0, got[0].1.get()), ("a", "[1, 2.50]"));
        assert_eq!((&*got[1].0, text(got[1].1).unwrap()), ("b", Cow::Borrowed("x\ty")));
        assert!(members("[1]").is_none() && text(got[0].1).is_none());
    }
}
