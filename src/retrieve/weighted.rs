//! The weighted ranking: words that few cases have count more than words that many have.
//!
//! Texts are compared by terms: after Unicode normalisation (NFKC) and in lower case, a word's English stem, and of
//! Chinese, Japanese and Korean, which are written without spaces, each pair of neighbouring characters. A term weighs
//! `ln((N + 1) / (n + 1/2))`, where `n` of `N` cases have it; a term that no case has weighs nothing. The score is the
//! weight of the terms in common by the weight of all.

use std::borrow::Cow;
use std::collections::HashMap;
use std::hash::BuildHasherDefault;
use std::ops::Range;

use frostem::{Algorithm, Stemmer};
use unicode_normalization::{IsNormalized, UnicodeNormalization, is_nfkc_quick};

use super::each_run;
use super::segment::{AsItIs, TermHasher};

/// Weights are whole numbers of this part: so that their sums do not depend on the order in which they are added.
const UNIT: f64 = 4_294_967_296.0;

/// What is known of the terms of a bank.
pub struct Weigher {
    hasher: TermHasher,
    stemmer: Stemmer,
    /// Where the terms of a word lie in `terms`, by the word's hash.
    words: HashMap<u64, Range<usize>, BuildHasherDefault<AsItIs>>,
    terms: Vec<u64>,
    /// How many cases have each term.
    cases_with: HashMap<u64, u64, BuildHasherDefault<AsItIs>>,
    cases: u64,
    scratch: Vec<u64>,
}

/// A text that cases are compared with: its terms that some case has.
#[derive(Clone, Debug)]
pub struct Query {
    /// In order, each with its weight.
    terms: Vec<(u64, u64)>,
    weight: u64,
}

impl Weigher {
    /// Nothing yet. The key is random.
    #[must_use]
    pub fn new(key: &[u8; 16]) -> Weigher {
        Weigher {
            hasher: TermHasher::new(key),
            stemmer: Stemmer::new(Algorithm::English),
            words: HashMap::default(),
            terms: Vec::new(),
            cases_with: HashMap::default(),
            cases: 0,
            scratch: Vec::new(),
        }
    }

    /// Takes a case of the bank. All are to be taken before the first is compared.
    pub fn take<T: AsRef<str>>(&mut self, task: &str, tags: &[T]) {
        let terms = self.terms_of(texts(task, tags));
        terms.iter().for_each(|term| *self.cases_with.entry(*term).or_default() += 1);
        self.cases += 1;
        self.scratch = terms;
    }

    /// A text as it is compared.
    pub fn query(&mut self, text: &str) -> Query {
        let terms = self.terms_of(std::iter::once(text));
        let known = terms.iter().filter(|term| self.cases_with.contains_key(term));
        let terms: Vec<(u64, u64)> = known.map(|term| (*term, self.weight(*term))).collect();
        Query { weight: terms.iter().map(|(_, weight)| weight).sum(), terms }
    }

    /// How much a text and a case have in common, from 0 to 1; `None` where that is nothing.
    pub fn similarity<T: AsRef<str>>(&mut self, query: &Query, task: &str, tags: &[T]) -> Option<f64> {
        let terms = self.terms_of(texts(task, tags));
        let (mut common, mut own, mut any) = (0, 0, false);
        for term in &terms {
            let weight = self.weight(*term);
            own += weight;
            if query.has(*term) {
                any = true;
                common += weight;
            }
        }
        self.scratch = terms;
        let all = query.weight + own - common;
        any.then(|| if all == 0 { 0.0 } else { super::ratio(common, all) })
    }

    /// The words of a case of which a term is one of the text's, each with how many cases have the rarest of these.
    pub fn matched<T: AsRef<str>>(&mut self, query: &Query, task: &str, tags: &[T]) -> Vec<(String, u64)> {
        let mut matched = Vec::new();
        for text in texts(task, tags) {
            let text = normal(text);
            each_run(&text, &mut |run| {
                let own = self.terms_of(std::iter::once(run));
                let common = own.iter().filter(|term| query.has(**term));
                if let Some(cases) = common.map(|term| self.cases_with.get(term).copied().unwrap_or(0)).min() {
                    matched.push((run.to_lowercase(), cases));
                }
            });
        }
        matched.sort_unstable();
        matched.dedup();
        matched
    }

    fn weight(&self, term: u64) -> u64 {
        let cases = self.cases_with.get(&term).copied().unwrap_or(0);
        weight(cases, self.cases)
    }

    /// The terms of some texts, each once, in order.
    fn terms_of<'t>(&mut self, texts: impl Iterator<Item = &'t str>) -> Vec<u64> {
        let mut all = std::mem::take(&mut self.scratch);
        all.clear();
        for text in texts {
            each_run(&normal(text), &mut |run| {
                let key = self.hasher.word(run);
                let own = match self.words.get(&key) {
                    Some(own) => own.clone(),
                    None => {
                        let from = self.terms.len();
                        each_term(&self.stemmer, run, &mut |term| self.terms.push(self.hasher.word(term)));
                        self.words.insert(key, from..self.terms.len());
                        from..self.terms.len()
                    }
                };
                all.extend_from_slice(&self.terms[own]);
            });
        }
        all.sort_unstable();
        all.dedup();
        all
    }
}

impl Query {
    fn has(&self, term: u64) -> bool {
        self.terms.binary_search_by_key(&term, |(own, _)| *own).is_ok()
    }
}

fn texts<'t, T: AsRef<str>>(task: &'t str, tags: &'t [T]) -> impl Iterator<Item = &'t str> {
    std::iter::once(task).chain(tags.iter().map(AsRef::as_ref))
}

/// What a term weighs that so many of all cases have, in parts of 2^32.
#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "between 0 and some 50 * 2^32")]
#[expect(clippy::cast_precision_loss, reason = "no bank has 2^53 cases")]
fn weight(cases: u64, all: u64) -> u64 {
    let ratio = (all as f64 + 1.0) / (cases as f64 + 0.5);
    (ratio.ln() * UNIT).round() as u64
}

fn normal(text: &str) -> Cow<'_, str> {
    if text.is_ascii() || is_nfkc_quick(text.chars()) == IsNormalized::Yes {
        return Cow::Borrowed(text);
    }
    Cow::Owned(text.nfkc().collect())
}

/// Hands out the terms of a run of alphanumeric characters.
fn each_term(stemmer: &Stemmer, run: &str, take: &mut dyn FnMut(&str)) {
    let lower = run.to_lowercase();
    let mut rest = &*lower;
    while let Some(first) = rest.chars().next() {
        let without_spaces = is_without_spaces(first);
        let end = rest.find(|c| is_without_spaces(c) != without_spaces).unwrap_or(rest.len());
        let (part, behind) = rest.split_at(end);
        rest = behind;
        if !without_spaces {
            take(&stemmer.stem(part));
            continue;
        }
        let starts: Vec<usize> = part.char_indices().map(|(at, _)| at).chain([part.len()]).collect();
        if let [from, to] = starts[..] {
            take(&part[from..to]);
        }
        starts.windows(3).for_each(|pair| take(&part[pair[0]..pair[2]]));
    }
}

/// Whether a character is of a script that is written without spaces between words: Han, Hiragana, Katakana and Hangul
/// syllables (which have spaces, but long words).
fn is_without_spaces(c: char) -> bool {
    matches!(u32::from(c),
        0x3005..=0x3007 | 0x3041..=0x30FF | 0x31F0..=0x31FF | 0x3400..=0x4DBF | 0x4E00..=0x9FFF | 0xAC00..=0xD7A3
        | 0xF900..=0xFAFF | 0x20000..=0x323AF)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn terms(text: &str) -> Vec<String> {
        let mut all = Vec::new();
        let stemmer = Stemmer::new(Algorithm::English);
        each_run(&normal(text), &mut |run| each_term(&stemmer, run, &mut |term| all.push(term.to_owned())));
        all
    }

    #[test]
    fn terms_are_stems_and_pairs() {
        assert_eq!(terms("Deploying the CANARIES"), ["deploy", "the", "canari"]);
        assert_eq!(terms("東京都庁 x86を 中"), ["東京", "京都", "都庁", "x86", "を", "中"]);
        // Composed and decomposed, full width, ligature.
        assert_eq!(terms("caf\u{e9}"), terms("cafe\u{301}"));
        assert_eq!(terms("ｄｅｐｌｏｙ ﬁle"), terms("deploy file"));
        assert_eq!(terms("a - !"), Vec::<String>::new());
    }

    #[test]
    fn weights_fall_with_the_number_of_cases_and_are_never_nothing() {
        for all in [1u64, 2, 1000, 1 << 40] {
            assert!(weight(all, all) > 0 || all > 1000, "{all}");
            assert!(weight(1, all) >= weight(2, all.max(2)) || all == 1);
        }
        assert!(weight(1, 1000) > weight(10, 1000) && weight(10, 1000) > weight(1000, 1000));
    }
}
