//! Too many to be shown: what they begin with, so that typing on narrows them down.
//!
//! No arbitrary part of them is ever shown: a shell takes what all candidates begin with for what was meant.

use std::collections::BTreeMap;

/// The most candidates that are shown one by one.
const MOST: usize = 200;

/// The most beginnings that are shown instead, unless the very next character has more.
const BEGINNINGS: usize = 100;

/// Something to go on with.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Shown {
    /// A whole text.
    Whole(String),
    /// What this many texts begin with.
    Beginning(String, usize),
}

/// The texts themselves, where they are few, else what they begin with; sorted. The texts are distinct.
#[must_use]
pub fn shown(mut texts: Vec<&str>) -> Vec<Shown> {
    if texts.len() <= MOST {
        texts.sort_unstable();
        return texts.into_iter().map(|text| Shown::Whole(text.to_owned())).collect();
    }
    let mut groups = vec![Group::of(texts)];
    // The largest is split, as long as there is room for what it falls into.
    while let Some(at) = (0..groups.len()).max_by_key(|at| groups[*at].texts.len()) {
        if groups[at].texts.len() < 2 {
            break;
        }
        let parts = groups[at].split();
        if groups.len() > 1 && groups.len() - 1 + parts.len() > BEGINNINGS {
            break;
        }
        groups.swap_remove(at);
        groups.extend(parts);
    }
    groups.sort_unstable_by_key(|group| group.begins);
    groups.iter().map(Group::shown).collect()
}

/// Texts with the same beginning.
struct Group<'t> {
    begins: &'t str,
    texts: Vec<&'t str>,
}

impl<'t> Group<'t> {
    fn of(texts: Vec<&'t str>) -> Group<'t> {
        let mut begins = texts.first().copied().unwrap_or_default();
        for text in &texts {
            let mut same = begins.bytes().zip(text.bytes()).take_while(|(a, b)| a == b).count();
            while !begins.is_char_boundary(same) {
                same -= 1;
            }
            begins = &begins[..same];
        }
        Group { begins, texts }
    }

    /// By the character behind the beginning.
    fn split(&self) -> Vec<Group<'t>> {
        let mut parts: BTreeMap<Option<char>, Vec<&'t str>> = BTreeMap::new();
        for text in &self.texts {
            parts.entry(text[self.begins.len()..].chars().next()).or_default().push(text);
        }
        parts.into_values().map(Group::of).collect()
    }

    fn shown(&self) -> Shown {
        match self.texts.len() {
            1 => Shown::Whole(self.begins.to_owned()),
            many => Shown::Beginning(self.begins.to_owned(), many),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(texts: impl IntoIterator<Item = String>) -> Vec<Shown> {
        let texts: Vec<String> = texts.into_iter().collect();
        shown(texts.iter().map(String::as_str).collect())
    }

    #[test]
    fn a_few_are_shown_as_they_are() {
        let all = of((0..200).rev().map(|n| format!("job-{n:03}")));
        assert_eq!(all.len(), 200);
        assert_eq!(all[7], Shown::Whole("job-007".to_owned()));
    }

    #[test]
    fn many_are_shown_by_what_they_begin_with_and_none_is_left_out() {
        let texts: Vec<String> = (0..5000).map(|n| format!("job-{n}")).chain(["other".to_owned()]).collect();
        let all = of(texts.clone());
        assert!(all.len() <= BEGINNINGS && all.len() > 50, "{all:?}");
        for text in &texts {
            let leads = |shown: &Shown| match shown {
                Shown::Whole(whole) => whole == text,
                Shown::Beginning(begins, _) => text.starts_with(&**begins),
            };
            assert_eq!(all.iter().filter(|shown| leads(shown)).count(), 1, "{text}");
        }
        assert!(all.contains(&Shown::Whole("other".to_owned())));
    }

    #[test]
    fn there_is_never_only_one_beginning() {
        let all = of((0..100_000).map(|n| format!("x{n:05}")));
        assert!(all.len() >= 2, "{all:?}");
        let chars = (0..300).map(|n| char::from_u32(0x4E00 + n).unwrap().to_string());
        assert_eq!(of(chars).len(), 300);
    }
}
