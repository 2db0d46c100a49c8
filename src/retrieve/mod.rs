//! Which cases are like a text: words, similarity, order. Pure; it knows neither files nor journals.
//!
//! Here is what is compared and how; [`segment`] is the case index's format, and [`search`] finds the best in it;
//! [`weighted`] compares in another way.

pub mod search;
pub mod segment;
pub mod weighted;

use std::borrow::Cow;
use std::cmp::Ordering;

use chrono::{DateTime, Utc};

/// The words of a text, each once, in order.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Words<'t>(Vec<Cow<'t, str>>);

impl<'t> Words<'t> {
    /// The words of a text as the daemon sees them: runs of alphanumeric characters of at least two bytes, in lower case.
    #[must_use]
    pub fn of(text: &'t str) -> Words<'t> {
        Words::of_all(std::iter::once(text))
    }

    /// The words that a case is found by: those of its task and of each tag.
    #[must_use]
    pub fn of_case<T: AsRef<str>>(task: &'t str, tags: &'t [T]) -> Words<'t> {
        Words::of_all(std::iter::once(task).chain(tags.iter().map(AsRef::as_ref)))
    }

    fn of_all(texts: impl Iterator<Item = &'t str>) -> Words<'t> {
        let mut words = Vec::new();
        texts.for_each(|text| each_run(text, &mut |run| words.push(lower(run))));
        words.sort_unstable();
        words.dedup();
        Words(words)
    }

    /// How many there are.
    #[must_use]
    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// Whether there are none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The words, in order.
    pub fn iter(&self) -> impl Iterator<Item = &str> {
        self.0.iter().map(|word| &**word)
    }

    /// Hands out the place of each word that others have as well. That takes the time of the shorter of the two, by the
    /// logarithm of the longer.
    pub fn each_common(&self, others: &Words<'_>, take: &mut dyn FnMut(usize)) {
        if self.len() <= others.len() {
            (0..self.len()).filter(|place| others.has(&self.0[*place])).for_each(take);
        } else {
            others.iter().filter_map(|word| self.place(word)).for_each(take);
        }
    }

    fn place(&self, word: &str) -> Option<usize> {
        self.0.binary_search_by(|own| (**own).cmp(word)).ok()
    }

    /// Whether a word is among them.
    #[must_use]
    pub fn has(&self, word: &str) -> bool {
        self.place(word).is_some()
    }
}

/// Hands out each word of a text, as often as it has it.
fn each_word(text: &str, take: &mut dyn FnMut(&str)) {
    each_run(text, &mut |run| take(&lower(run)));
}

/// Hands out the runs of alphanumeric characters of at least two bytes.
fn each_run<'t>(text: &'t str, take: &mut dyn FnMut(&'t str)) {
    if !text.is_ascii() {
        text.split(|c: char| !c.is_alphanumeric()).filter(|run| run.len() >= 2).for_each(take);
        return;
    }
    let bytes = text.as_bytes();
    let mut from = 0;
    while from < bytes.len() {
        let rest = &bytes[from..];
        let len = rest.iter().position(|byte| !byte.is_ascii_alphanumeric()).unwrap_or(rest.len());
        if len >= 2 {
            take(&text[from..from + len]);
        }
        from += len + 1;
    }
}

fn lower(run: &str) -> Cow<'_, str> {
    let is_lower = run.bytes().all(|byte| byte.is_ascii_lowercase() || byte.is_ascii_digit());
    if is_lower { Cow::Borrowed(run) } else { Cow::Owned(run.to_lowercase()) }
}

/// How much two texts have in common, from 0 to 1: the Jaccard index of their words.
#[must_use]
pub fn similarity(query: &Words<'_>, case: &Words<'_>) -> f64 {
    let mut common = 0;
    query.each_common(case, &mut |_| common += 1);
    score(common, query.len(), case.len())
}

/// The similarity of a text and a case with this many words, of which so many are the same.
#[must_use]
pub fn score(common: usize, query: usize, case: usize) -> f64 {
    let all = query + case - common;
    if all == 0 { 0.0 } else { ratio(common as u64, all as u64) }
}

#[expect(clippy::cast_precision_loss, reason = "greater numbers than 2^53 are rounded, and that is enough")]
fn ratio(part: u64, whole: u64) -> f64 {
    part as f64 / whole as f64
}

/// What decides the place of a case among those that were found.
#[derive(Clone, Debug, PartialEq)]
pub struct Rank {
    /// How similar it is.
    pub similarity: f64,
    /// Its reward.
    pub reward: f32,
    /// When it was recorded.
    pub created_at: DateTime<Utc>,
    /// Its id.
    pub id: String,
}

impl Rank {
    /// The daemon's order: the more similar first, then the better rewarded, then the newer. What is equal in all of
    /// these has no order there; here the id decides, so that the same question has the same answer.
    #[must_use]
    pub fn order(&self, other: &Rank) -> Ordering {
        falling(self.similarity.partial_cmp(&other.similarity))
            .then(falling(self.reward.partial_cmp(&other.reward)))
            .then(self.created_at.cmp(&other.created_at).reverse())
            .then_with(|| self.id.cmp(&other.id))
    }
}

/// The greater first. What cannot be compared is equal, as it is to the daemon.
fn falling(order: Option<Ordering>) -> Ordering {
    order.unwrap_or(Ordering::Equal).reverse()
}

/// Keeps the best `most` of what it is given.
#[derive(Debug)]
pub struct Best<T> {
    most: usize,
    kept: Vec<(Rank, T)>,
}

impl<T> Best<T> {
    /// Nothing yet.
    #[must_use]
    pub fn new(most: usize) -> Best<T> {
        Best { most, kept: Vec::new() }
    }

    /// Takes one more.
    pub fn take(&mut self, rank: Rank, what: T) {
        self.kept.push((rank, what));
        // Sorting now and then costs less than keeping the order each time.
        if self.kept.len() >= 2 * self.most.max(64) {
            self.trim();
        }
    }

    fn trim(&mut self) {
        self.kept.sort_by(|a, b| a.0.order(&b.0));
        self.kept.truncate(self.most);
    }

    /// The best, in order.
    #[must_use]
    pub fn sorted(mut self) -> Vec<(Rank, T)> {
        self.trim();
        self.kept
    }
}
