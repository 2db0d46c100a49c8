//! What differs between two JSON texts, member by member, with every value as it is written.
//!
//! Nothing is parsed into numbers or maps: values stay stretches of their text. Members are paired by name, whatever
//! their order; the elements of arrays are aligned as lines are by a diff. White space between tokens, the order of
//! members and the escapes of a string make no difference; how a number is written does.

use std::borrow::Cow;
use std::collections::HashMap;
use std::ops::Range;

use imara_diff::{Algorithm, Diff, InternedInput};

use crate::journal::json::{self, Cursor, Squeeze};

/// One difference.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Change<'a> {
    /// The value before, as it is written; `None`: there was none.
    pub before: Option<&'a [u8]>,
    /// The value afterwards.
    pub after: Option<&'a [u8]>,
}

impl Change<'_> {
    /// The stable name of its kind.
    #[must_use]
    pub fn name(&self) -> &'static str {
        match (self.before, self.after) {
            (None, _) => "added",
            (_, None) => "removed",
            _ => "changed",
        }
    }
}

/// How many open arrays and objects are looked into; what lies deeper is compared as a whole.
const DEEPEST: usize = 32;

/// Takes one difference and its path, as `jq` writes it. Of an element that went, the path counts in the array before;
/// else in the one afterwards.
pub type Take<'t, 'a, E> = dyn FnMut(&str, Change<'a>) -> Result<(), E> + 't;

/// Hands out the differences between two JSON texts, each a whole value.
pub fn diff<'a, E>(before: &'a [u8], after: &'a [u8], take: &mut Take<'_, 'a, E>) -> Result<(), E> {
    value(before, after, &mut Path::default(), take)
}

/// The steps from the whole text to a value.
#[derive(Default)]
struct Path {
    text: String,
    depth: usize,
}

impl Path {
    /// Calls `inside` with one more step.
    fn step<T>(&mut self, step: &str, inside: impl FnOnce(&mut Path) -> T) -> T {
        let len = self.text.len();
        // `jq` wants a dot in front of the first bracket.
        if len == 0 && step.starts_with('[') {
            self.text.push('.');
        }
        self.text.push_str(step);
        self.depth += 1;
        let result = inside(self);
        self.depth -= 1;
        self.text.truncate(len);
        result
    }

    fn shown(&self) -> &str {
        if self.text.is_empty() { "." } else { &self.text }
    }
}

/// A member's name as a step of a path.
fn member_step(Text { text: name, .. }: &Text<'_>) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || c == '_';
    if !name.is_empty() && !name.starts_with(|c: char| c.is_ascii_digit()) && name.chars().all(plain) {
        return format!(".{name}");
    }
    // A string always has a JSON form.
    format!("[{}]", serde_json::to_string(name).unwrap_or_default())
}

fn value<'a, E>(before: &'a [u8], after: &'a [u8], path: &mut Path, take: &mut Take<'_, 'a, E>) -> Result<(), E> {
    if before == after {
        return Ok(());
    }
    match (before.first(), after.first()) {
        (Some(b'{'), Some(b'{')) if path.depth < DEEPEST => objects(before, after, path, take),
        (Some(b'['), Some(b'[')) if path.depth < DEEPEST => arrays(before, after, path, take),
        _ if canonical_at(before, path.depth) == canonical_at(after, path.depth) => Ok(()),
        _ => take(path.shown(), Change { before: Some(before), after: Some(after) }),
    }
}

fn objects<'a, E>(before: &'a [u8], after: &'a [u8], path: &mut Path, take: &mut Take<'_, 'a, E>) -> Result<(), E> {
    let (old, new) = (members(before), members(after));
    // A name may stand there several times: the first is paired with the first, and so on.
    let mut places: HashMap<(&Text<'_>, usize), usize> = HashMap::with_capacity(new.len());
    let mut times: HashMap<&Text<'_>, usize> = HashMap::new();
    for (index, (name, _)) in new.iter().enumerate() {
        let time = times.entry(name).or_default();
        places.insert((name, *time), index);
        *time += 1;
    }
    let mut paired = vec![false; new.len()];
    times.clear();
    for (name, was) in &old {
        let time = times.entry(name).or_default();
        let partner = places.get(&(name, *time));
        *time += 1;
        path.step(&member_step(name), |path| match partner {
            Some(index) => {
                paired[*index] = true;
                value(was, new[*index].1, path, take)
            }
            None => take(path.shown(), Change { before: Some(was), after: None }),
        })?;
    }
    for ((name, is), _) in new.iter().zip(paired).filter(|(_, paired)| !paired) {
        path.step(&member_step(name), |path| take(path.shown(), Change { before: None, after: Some(is) }))?;
    }
    Ok(())
}

fn arrays<'a, E>(before: &'a [u8], after: &'a [u8], path: &mut Path, take: &mut Take<'_, 'a, E>) -> Result<(), E> {
    let (old, new) = (elements(before), elements(after));
    for (before, after) in hunks(&old, &new, path.depth) {
        // What stands in the same place is taken for the same thing, changed.
        let pairs = before.len().min(after.len());
        for (was, is) in before.clone().zip(after.clone()) {
            path.step(&format!("[{is}]"), |path| value(old[was], new[is], path, take))?;
        }
        for was in before.skip(pairs) {
            let change = Change { before: Some(old[was]), after: None };
            path.step(&format!("[{was}]"), |path| take(path.shown(), change))?;
        }
        for is in after.skip(pairs) {
            let change = Change { before: None, after: Some(new[is]) };
            path.step(&format!("[{is}]"), |path| take(path.shown(), change))?;
        }
    }
    Ok(())
}

/// How many pairs of like elements two arrays may have to be aligned.
const PAIRS: u64 = 1 << 22;

/// Where two lists of values differ.
fn hunks(old: &[&[u8]], new: &[&[u8]], depth: usize) -> Vec<(Range<usize>, Range<usize>)> {
    let ahead = old.iter().zip(new).take_while(|(was, is)| was == is).count();
    let behind = old[ahead..].iter().rev().zip(new[ahead..].iter().rev()).take_while(|(was, is)| was == is).count();
    let (before, after) = (ahead..old.len() - behind, ahead..new.len() - behind);
    // Where one is left, or nothing, there is nothing to align.
    if before.len().min(after.len()) == 0 || (before.len(), after.len()) == (1, 1) {
        return vec![(before, after)];
    }
    let mut input: InternedInput<Vec<u8>> = InternedInput::default();
    input.update_before(old[before].iter().map(|text| canonical_at(text, depth + 1)));
    input.update_after(new[after].iter().map(|text| canonical_at(text, depth + 1)));
    let mut times = vec![(0u64, 0u64); input.interner.num_tokens() as usize];
    input.before.iter().for_each(|token| times[token.0 as usize].0 += 1);
    input.after.iter().for_each(|token| times[token.0 as usize].1 += 1);
    // The time that aligning takes grows with them: among many that are alike, each stays in its place.
    if times.iter().map(|(before, after)| before * after).sum::<u64>() > PAIRS {
        return vec![(ahead..old.len() - behind, ahead..new.len() - behind)];
    }
    let moved = |range: Range<u32>| ahead + range.start as usize..ahead + range.end as usize;
    let diff = Diff::compute(Algorithm::Myers, &input);
    diff.hunks().map(|hunk| (moved(hunk.before), moved(hunk.after))).collect()
}

/// The members of an object: names, and values as they are written.
fn members(object: &[u8]) -> Vec<(Text<'_>, &[u8])> {
    let mut all = Vec::new();
    each(&mut Cursor::new(object), |cursor| {
        let name = cursor.name().ok()?;
        all.push((text(&object[name.start..name.end]), skipped(cursor)?));
        Some(())
    });
    all
}

/// The elements of an array, as they are written.
fn elements(array: &[u8]) -> Vec<&[u8]> {
    let mut all = Vec::new();
    each(&mut Cursor::new(array), |cursor| {
        all.push(skipped(cursor)?);
        Some(())
    });
    all
}

/// The value at the cursor, which is moved behind it.
fn skipped<'a>(cursor: &mut Cursor<'a>) -> Option<&'a [u8]> {
    let start = cursor.pos;
    cursor.skip().ok()?;
    Some(&cursor.text()[start..cursor.pos])
}

/// Calls `take` at everything that stands between the brackets of the container at the cursor; it must consume it. The
/// cursor ends up behind the container.
fn each<'a>(cursor: &mut Cursor<'a>, mut take: impl FnMut(&mut Cursor<'a>) -> Option<()>) {
    cursor.open();
    loop {
        cursor.space();
        if matches!(cursor.peek(), None | Some(b'}' | b']')) {
            return cursor.close();
        }
        if take(cursor).is_none() {
            return;
        }
        cursor.space();
        if cursor.peek() == Some(b',') {
            cursor.pos += 1;
        }
    }
}

/// A string's characters.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
struct Text<'a> {
    /// Whether it is as it is written: half of a surrogate pair is no character.
    raw: bool,
    text: Cow<'a, str>,
}

/// The characters between the quotes of a string.
fn text(inside: &[u8]) -> Text<'_> {
    let text = json::unescape(inside);
    let is_odd = || {
        let quoted = [b"\"", inside, b"\""].concat();
        json::whole(&quoted, 0).is_ok_and(|(_, quirks)| quirks.lone_surrogate.is_some())
    };
    // In the place of such a half stands the same character, whichever it is.
    match text.contains(char::REPLACEMENT_CHARACTER) && is_odd() {
        true => Text { raw: true, text: String::from_utf8_lossy(inside) },
        false => Text { raw: false, text },
    }
}

/// A text that two values at this depth share exactly where they say the same.
fn canonical_at(value: &[u8], depth: usize) -> Vec<u8> {
    let mut out = Vec::with_capacity(value.len());
    write_canonical(&mut Cursor::new(value), depth, &mut out);
    out
}

/// Writes that of the value at the cursor, which is moved behind it: each byte is looked at once, however deep it lies.
fn write_canonical(cursor: &mut Cursor<'_>, depth: usize, out: &mut Vec<u8>) -> Option<()> {
    match cursor.peek() {
        Some(b'{') if depth < DEEPEST => {
            let (whole, from) = (cursor.text(), out.len());
            let mut all = Vec::new();
            each(cursor, |cursor| {
                let name = cursor.name().ok()?;
                let start = out.len() - from;
                write_canonical(cursor, depth + 1, out)?;
                all.push((text(&whole[name.start..name.end]), start..out.len() - from));
                Some(())
            });
            all.sort_by(|a, b| a.0.cmp(&b.0));
            let values = out.split_off(from);
            out.push(b'{');
            for (name, value) in all {
                write_text(&name, out);
                out.extend_from_slice(&values[value]);
            }
            out.push(b'}');
        }
        Some(b'[') if depth < DEEPEST => {
            out.push(b'[');
            each(cursor, |cursor| {
                write_canonical(cursor, depth + 1, out)?;
                out.push(b',');
                Some(())
            });
            out.push(b']');
        }
        _ => match skipped(cursor)? {
            [b'"', inside @ .., b'"'] => write_text(&text(inside), out),
            value => Squeeze::default().squeeze(value, out),
        },
    }
    Some(())
}

/// A string with its kind and length in front, so that no two are run together.
fn write_text(Text { raw, text }: &Text<'_>, out: &mut Vec<u8>) {
    let kind = if *raw { 'r' } else { 't' };
    out.extend_from_slice(format!("{kind}{}:", text.len()).as_bytes());
    out.extend_from_slice(text.as_bytes());
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn told(before: &str, after: &str) -> Vec<String> {
        let mut all = Vec::new();
        let show =
            |text: Option<&[u8]>| text.map_or("-".to_owned(), |text| String::from_utf8_lossy(text).into_owned());
        diff::<()>(before.as_bytes(), after.as_bytes(), &mut |path, change| {
            all.push(format!("{path} {} {} {}", change.name(), show(change.before), show(change.after)));
            Ok(())
        })
        .unwrap();
        all
    }

    #[test]
    fn every_value_is_shown_as_it_is_written() {
        let before = r#"{"a": 1.10, "b": [1, 2, 3], "gone": {"x":1e2}, "same": [ 1 ]}"#;
        let after = r#"{"same":[1], "b": [1, 3, 4], "a": 1.1, "a b": 12345678901234567890123}"#;
        assert_eq!(
            told(before, after),
            [
                ".a changed 1.10 1.1",
                ".b[1] removed 2 -",
                ".b[2] added - 4",
                ".gone removed {\"x\":1e2} -",
                ".[\"a b\"] added - 12345678901234567890123",
            ]
        );
    }

    #[test]
    fn order_of_members_white_space_and_escapes_make_no_difference() {
        assert!(told(r#"{"a":1,"b":["x"]}"#, "{ \"b\" : [ \"\\u0078\" ] , \"a\" : 1 }").is_empty());
        assert_eq!(told("1", "1.0"), [". changed 1 1.0"]);
        assert_eq!(told("[]", "{}"), [". changed [] {}"]);
        // Half of a surrogate pair is neither the other half nor its escape, and what is escaped is what it means.
        assert_eq!(told(r#""\ud800""#, r#""\\ud800""#).len(), 1);
        assert_eq!(told(r#"{"\ud800":1}"#, r#"{"\\ud800":1}"#).len(), 2);
        assert!(told(r#""\ufffd""#, "\"\u{fffd}\"").is_empty());
        assert_eq!(told(r#""\ud800""#, r#""\ud801""#), [r#". changed "\ud800" "\ud801""#]);
    }

    #[test]
    fn members_that_stand_there_twice_are_paired_in_order() {
        assert_eq!(told(r#"{"a":1,"a":2}"#, r#"{"a":1,"a":3}"#), [".a changed 2 3"]);
        assert_eq!(told(r#"{"a":1,"a":2}"#, r#"{"a":1}"#), [".a removed 2 -"]);
    }

    #[test]
    fn what_is_nested_without_end_is_compared_as_a_whole() {
        let deep = |inside: &str| format!("{}{inside}{}", "[".repeat(200_000), "]".repeat(200_000));
        assert!(told(&deep("1"), &deep(" 1 ")).is_empty());
        assert_eq!(told(&deep("1"), &deep("2")).len(), 1);
    }

    #[test]
    fn deep_and_wide_texts_take_no_longer_than_their_length() {
        let deep = |last: &str| format!("{}1{}", "[".repeat(200_000), format!(",{last}]").repeat(200_000));
        let changes = told(&deep("1"), &deep("2"));
        // An element at each level that is looked into, and the rest as a whole.
        assert_eq!(changes.len(), DEEPEST + 1);
        assert!(changes.iter().skip(1).all(|change| change.ends_with("[1] changed 1 2")), "{:?}", &changes[1..]);
        let wide = |changed: u32| {
            let all: Vec<String> = (0..90_000)
                .map(|n| format!("{{\"n\":{n},\"x\":{}}}", if n % 3 == 0 { changed } else { 0 }))
                .collect();
            format!("[{}]", all.join(","))
        };
        assert_eq!(told(&wide(1), &wide(2)).len(), 30_000);
    }

    #[test]
    fn many_elements_that_are_alike_are_compared_in_their_places() {
        let digits = |n: usize, step: usize| {
            let all: Vec<String> = (0..n).map(|i| (i * i / step % 10).to_string()).collect();
            format!("[{}]", all.join(","))
        };
        let changes = told(&digits(200_000, 3), &digits(200_000, 7));
        assert!(changes.iter().all(|change| change.contains(" changed ")) && changes.len() < 200_000);
        assert_eq!(told(&digits(1_000, 3), &digits(1_000, 3).replacen('[', "[0,", 1)).len(), 1);
    }

    #[test]
    fn elements_are_aligned() {
        assert_eq!(told("[1,2,3,4]", "[0,1,2,4]"), [".[0] added - 0", ".[2] removed 3 -"]);
        assert_eq!(
            told(r#"[{"n":1,"t":"a"}]"#, r#"[{"n":1,"t":"b"},5]"#),
            [".[0].t changed \"a\" \"b\"", ".[1] added - 5"]
        );
    }

    fn json() -> impl Strategy<Value = serde_json::Value> {
        let leaf = prop_oneof![
            Just(serde_json::Value::Null),
            any::<bool>().prop_map(Into::into),
            (0..4u8).prop_map(Into::into),
            "[ab]{0,2}".prop_map(Into::into),
        ];
        leaf.prop_recursive(4, 24, 4, |inner| {
            prop_oneof![
                prop::collection::vec(inner.clone(), 0..4).prop_map(Into::into),
                prop::collection::btree_map("[abc]", inner, 0..4)
                    .prop_map(|map| serde_json::Value::Object(map.into_iter().collect())),
            ]
        })
    }

    proptest! {
        #[test]
        fn there_is_a_difference_exactly_where_two_values_differ(before in json(), after in json()) {
            let (was, is) = (before.to_string(), serde_json::to_string_pretty(&after).unwrap());
            prop_assert_eq!(told(&was, &is).is_empty(), before == after);
            prop_assert!(told(&was, &serde_json::to_string_pretty(&before).unwrap()).is_empty());
        }
    }
}
