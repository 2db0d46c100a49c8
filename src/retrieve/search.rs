//! Finds in segments the cases that are most like a text: exactly those that a comparison with each case would find, in
//! the same order.
//!
//! For every word of the text, the cases that have it are counted, 64 at a time. Then the cases with the most words in
//! common come first, and for each such number the cases in their own order, until no further one can be among the best.

use std::cmp::Ordering;
use std::io;

use chrono::{DateTime, Utc};

use super::segment::{Postings, Row, Segment, TermHasher};
use super::{Words, falling, score};

/// What is looked for.
#[derive(Clone, Debug)]
pub struct Question {
    /// The hashes of the text's words.
    words: Vec<u64>,
    /// The hashes of the tags that a case must have.
    tags: Vec<u64>,
    /// Whether one of the tags is enough.
    any_tag: bool,
    /// Whether only cases that turned out well are looked for.
    only_success: bool,
    /// Only cases that were recorded then or later.
    since: Option<DateTime<Utc>>,
    /// How many are looked for.
    most: usize,
    /// The least similarity.
    min_score: f64,
    /// Whether it is asked how many cases have each word.
    frequencies: bool,
}

/// Which cases a question is about.
#[derive(Clone, Copy, Debug)]
pub struct Conditions<'a> {
    /// The tags that a case must have.
    pub tags: &'a [String],
    /// Whether one of the tags is enough.
    pub any_tag: bool,
    /// Whether only cases that turned out well are looked for.
    pub only_success: bool,
    /// Only cases that were recorded then or later.
    pub since: Option<DateTime<Utc>>,
    /// The least similarity.
    pub min_score: f64,
}

impl Question {
    /// The best `most` cases for these words under these conditions. `frequencies`: how many cases have each word is
    /// asked as well. `None` where two of the words or tags cannot be told apart.
    #[must_use]
    pub fn new(
        hasher: &TermHasher,
        words: &Words<'_>,
        conditions: Conditions<'_>,
        most: usize,
        frequencies: bool,
    ) -> Option<Question> {
        let hashes: Vec<u64> = words.iter().map(|word| hasher.word(word)).collect();
        let mut distinct = hashes.clone();
        distinct.sort_unstable();
        distinct.dedup();
        let Conditions { tags, any_tag, only_success, since, min_score } = conditions;
        let tags = tags.iter().map(|tag| hasher.tag(tag)).collect();
        (distinct.len() == hashes.len()).then_some(Question {
            words: hashes,
            tags,
            any_tag,
            only_success,
            since,
            most,
            min_score,
            frequencies,
        })
    }
}

/// A case that may be among the best.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Candidate {
    /// How many words it has in common with the text.
    pub common: usize,
    /// How many words it has.
    pub size: usize,
    /// How similar it is.
    pub similarity: f64,
    /// What is kept of it.
    pub row: Row,
}

impl Candidate {
    fn order(&self, other: &Candidate) -> Ordering {
        falling(self.similarity.partial_cmp(&other.similarity)).then(self.row.order(&other.row))
    }
}

/// What was found in the segments so far.
#[derive(Clone, Debug, Default)]
pub struct Found {
    /// The best, in order, and all that are equal to the last of them: only their ids decide between those.
    pub candidates: Vec<Candidate>,
    /// How many cases have a word in common and are below the least similarity.
    pub below: u64,
    /// The best similarity below it.
    pub best_below: f64,
    /// How many cases have each word of the text, in the order of its words.
    pub frequencies: Vec<u64>,
}

impl Found {
    /// Looks through one more segment. `dead`: a bit for each of its cases that is no more, where there are any.
    ///
    /// Errors: the segment cannot be read, or is not what was written.
    pub fn add(&mut self, question: &Question, segment: &Segment<'_>, dead: Option<&[u64]>) -> io::Result<()> {
        self.frequencies.resize(question.words.len(), 0);
        let mut counts = Counts::new(segment.cases());
        for (hash, frequency) in question.words.iter().zip(&mut self.frequencies) {
            let Some(term) = segment.term(*hash)? else { continue };
            let postings = segment.postings(&term)?;
            if question.frequencies {
                *frequency += match dead {
                    None => u64::from(term.cases),
                    Some(dead) => postings.alive(dead),
                };
            }
            counts.add(postings);
        }
        if counts.added == 0 {
            return Ok(());
        }
        let Some(mask) = mask(question, segment, dead)? else { return Ok(()) };
        if question.min_score > 0.0 {
            self.count_below(question, segment, &counts, &mask);
        }
        self.pick(question, segment, &counts, &mask)
    }

    /// Counts what has a word in common and is not similar enough.
    fn count_below(&mut self, question: &Question, segment: &Segment<'_>, counts: &Counts, mask: &Mask) {
        for common in 1..=counts.added {
            for (size, from, to) in stretches(segment) {
                if size < common {
                    continue;
                }
                let similarity = score(common, question.words.len(), size);
                if similarity >= question.min_score {
                    continue;
                }
                let cases: u64 =
                    words_of(from, to).map(|(at, part)| ones(counts.equal(common, at) & mask.at(at) & part)).sum();
                if cases > 0 {
                    self.below += cases;
                    self.best_below = self.best_below.max(similarity);
                }
            }
        }
    }

    /// Takes the cases that may be among the best.
    fn pick(&mut self, question: &Question, segment: &Segment<'_>, counts: &Counts, mask: &Mask) -> io::Result<()> {
        for common in (1..=counts.added).rev() {
            let mut taken = Vec::new();
            'sizes: for (size, from, to) in stretches(segment) {
                if size < common {
                    continue;
                }
                let similarity = score(common, question.words.len(), size);
                // The similarity falls from here on.
                if similarity < self.least(question) {
                    break;
                }
                for (at, part) in words_of(from, to) {
                    let mut bits = counts.equal(common, at) & mask.at(at) & part;
                    while bits != 0 {
                        let case = at * 64 + bits.trailing_zeros() as usize;
                        bits &= bits - 1;
                        let row = segment.row(u32::try_from(case).unwrap_or(u32::MAX))?;
                        taken.push(Candidate { common, size, similarity, row });
                        if taken.len() == question.most {
                            break 'sizes;
                        }
                    }
                }
            }
            self.keep(taken, question.most);
        }
        Ok(())
    }

    /// A case that is less similar than this is not among the best.
    fn least(&self, question: &Question) -> f64 {
        let last = self.candidates.get(question.most - 1).map_or(0.0, |last| last.similarity);
        last.max(question.min_score)
    }

    /// Keeps the best, and what is equal to the last of them.
    fn keep(&mut self, more: Vec<Candidate>, most: usize) {
        if more.is_empty() {
            return;
        }
        self.candidates.extend(more);
        self.candidates.sort_by(Candidate::order);
        if let Some(last) = self.candidates.get(most - 1).copied() {
            let equal = self.candidates[most..].partition_point(|other| last.order(other).is_eq());
            self.candidates.truncate(most + equal);
        }
    }
}

impl Postings {
    /// How many of them are not dead.
    fn alive(&self, dead: &[u64]) -> u64 {
        let is_dead = |case: &&u32| dead.get(**case as usize / 64).is_some_and(|word| word >> (**case % 64) & 1 == 1);
        match self {
            Postings::Bits(bits) => bits.iter().zip(dead).map(|(word, dead)| ones(word & !dead)).sum(),
            Postings::List(list) => (list.len() - list.iter().filter(is_dead).count()) as u64,
        }
    }
}

fn ones(word: u64) -> u64 {
    u64::from(word.count_ones())
}

/// The sizes that a segment's cases have, each with its first case and the one behind its last.
fn stretches<'s>(segment: &'s Segment<'_>) -> impl Iterator<Item = (usize, usize, usize)> + 's {
    let ends = segment.sizes.iter().skip(1).map(|(_, first)| *first as usize).chain([segment.cases()]);
    segment.sizes.iter().zip(ends).map(|((size, from), to)| (*size as usize, *from as usize, to))
}

/// The words of 64 cases that a stretch of cases touches, each with the bits of it that lie in the stretch.
fn words_of(from: usize, to: usize) -> impl Iterator<Item = (usize, u64)> {
    (from / 64..to.div_ceil(64)).map(move |at| {
        let low = if at * 64 < from { u64::MAX << (from - at * 64) } else { u64::MAX };
        let high = if at * 64 + 64 > to { u64::MAX >> (at * 64 + 64 - to) } else { u64::MAX };
        (at, low & high)
    })
}

/// Which cases are looked at: a bit for each, or all of them.
struct Mask(Option<Vec<u64>>);

impl Mask {
    fn at(&self, at: usize) -> u64 {
        self.0.as_ref().map_or(u64::MAX, |bits| bits[at])
    }
}

/// The cases of a segment that meet the conditions; `None` where there is none.
fn mask(question: &Question, segment: &Segment<'_>, dead: Option<&[u64]>) -> io::Result<Option<Mask>> {
    let words = segment.cases().div_ceil(64);
    let mut parts: Vec<Vec<u64>> = dead.iter().map(|dead| dead.iter().map(|word| !word).collect()).collect();
    if question.only_success {
        parts.push(segment.good()?);
    }
    let mut any = vec![0; if question.any_tag { words } else { 0 }];
    for tag in &question.tags {
        let bits = match segment.term(*tag)? {
            Some(term) => segment.postings(&term)?.into_bits(segment.cases()),
            None => vec![0; words],
        };
        if question.any_tag {
            any.iter_mut().zip(bits).for_each(|(any, bits)| *any |= bits);
        } else {
            parts.push(bits);
        }
    }
    if question.any_tag {
        parts.push(any);
    }
    if let Some(since) = question.since {
        let (mut bits, mut case) = (vec![0u64; words], 0);
        segment.each_row(&mut |row| {
            bits[case / 64] |= u64::from(row.created_at >= since) << (case % 64);
            case += 1;
        })?;
        parts.push(bits);
    }
    let Some((first, rest)) = parts.split_first_mut() else { return Ok(Some(Mask(None))) };
    for part in rest {
        first.iter_mut().zip(part).for_each(|(all, bits)| *all &= *bits);
    }
    let mask = std::mem::take(first);
    Ok(mask.iter().any(|word| *word != 0).then_some(Mask(Some(mask))))
}

/// For each case of a segment, how many words it has in common with the text: the numbers' first bits, then their
/// second, and so on.
struct Counts {
    words: usize,
    planes: Vec<Vec<u64>>,
    added: usize,
}

impl Counts {
    fn new(cases: usize) -> Counts {
        Counts { words: cases.div_ceil(64), planes: Vec::new(), added: 0 }
    }

    /// Counts one more word's cases.
    fn add(&mut self, postings: Postings) {
        self.added += 1;
        if self.added.is_power_of_two() {
            self.planes.push(vec![0; self.words]);
        }
        match postings {
            Postings::Bits(mut carry) => {
                for plane in &mut self.planes {
                    for (bits, carry) in plane.iter_mut().zip(&mut carry) {
                        let both = *bits & *carry;
                        *bits ^= *carry;
                        *carry = both;
                    }
                }
            }
            Postings::List(list) => {
                for case in list {
                    let (at, bit) = (case as usize / 64, 1 << (case % 64));
                    for plane in &mut self.planes {
                        plane[at] ^= bit;
                        if plane[at] & bit != 0 {
                            break;
                        }
                    }
                }
            }
        }
    }

    /// A bit for each of 64 cases that have exactly so many words in common.
    fn equal(&self, common: usize, at: usize) -> u64 {
        let bit = |(n, plane): (usize, &Vec<u64>)| if common >> n & 1 == 1 { plane[at] } else { !plane[at] };
        self.planes.iter().enumerate().map(bit).fold(u64::MAX, |all, bits| all & bits)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::super::segment::{At, Builder, Entry};
    use super::super::{Best, Rank, similarity};
    use super::*;

    #[derive(Clone, Debug)]
    struct Plain {
        id: String,
        task: String,
        tags: Vec<String>,
        success: bool,
        reward: f32,
        created_at: DateTime<Utc>,
        dead: bool,
    }

    #[derive(Clone, Debug)]
    struct Asked {
        text: String,
        tags: Vec<String>,
        any_tag: bool,
        only_success: bool,
        since: Option<DateTime<Utc>>,
        min_score: f64,
        most: usize,
    }

    /// Words of which some are in nearly all texts and some in nearly none.
    fn text(words: std::ops::Range<usize>) -> impl Strategy<Value = String> {
        let word = (0u32..1000).prop_map(|roll| format!("w{}", (1000 / (roll + 1)).min(60)));
        prop::collection::vec(word, words).prop_map(|words| words.join(" "))
    }

    fn tags() -> impl Strategy<Value = Vec<String>> {
        prop::collection::vec(
            prop::sample::select(vec!["a-tag", "tag", "!", "w1", "Ä"]).prop_map(str::to_owned),
            0..3,
        )
    }

    fn time() -> impl Strategy<Value = DateTime<Utc>> {
        (0i64..3, 0u32..2).prop_map(|(seconds, nanos)| DateTime::from_timestamp(seconds, nanos).unwrap())
    }

    fn bank() -> impl Strategy<Value = Vec<Plain>> {
        let reward = prop::sample::select(vec![0.0, -0.0, 0.5, 1.0, -0.25, -1.5, f32::INFINITY, f32::NEG_INFINITY]);
        let case = (text(0..9), tags(), any::<bool>(), reward, time(), prop::bool::weighted(0.1));
        prop::collection::vec(case, 0..400).prop_map(|cases| {
            let plain = |(n, (task, tags, success, reward, created_at, dead))| {
                // Ids in no order.
                let id = format!("c{}", (n * 7919) % 1009);
                Plain { id, task, tags, success, reward, created_at, dead }
            };
            cases.into_iter().enumerate().map(plain).collect()
        })
    }

    fn asked() -> impl Strategy<Value = Asked> {
        let score = prop::sample::select(vec![0.0, 0.0, 0.2, 0.25, 0.5, 1.0]);
        let since = prop::option::weighted(0.2, time());
        let tags = prop_oneof![3 => Just(Vec::new()), 1 => tags()];
        (text(0..40), tags, any::<bool>(), prop::bool::weighted(0.3), since, score, 1usize..12).prop_map(
            |(text, tags, any, only_success, since, min_score, most)| {
                let any_tag = any && !tags.is_empty();
                Asked { text, tags, any_tag, only_success, since, min_score, most }
            },
        )
    }

    /// The answer of a comparison with each case: ids and similarities, how many lie below, the best of them, and how
    /// many cases have each word.
    fn plainly(bank: &[Plain], asked: &Asked) -> (Vec<(String, f64)>, u64, f64, Vec<u64>) {
        let query = Words::of(&asked.text);
        let mut best = Best::new(asked.most);
        let (mut below, mut best_below, mut frequencies) = (0, 0.0f64, vec![0; query.len()]);
        for case in bank.iter().filter(|case| !case.dead) {
            let words = Words::of_case(&case.task, &case.tags);
            query.iter().zip(&mut frequencies).for_each(|(word, n)| *n += u64::from(words.has(word)));
            let has = |tag: &String| case.tags.contains(tag);
            let tagged = if asked.any_tag { asked.tags.iter().any(has) } else { asked.tags.iter().all(has) };
            let right = tagged
                && (case.success || !asked.only_success)
                && asked.since.is_none_or(|since| case.created_at >= since);
            if !right || !query.iter().any(|word| words.has(word)) {
                continue;
            }
            let similarity = similarity(&query, &words);
            if similarity < asked.min_score {
                below += 1;
                best_below = best_below.max(similarity);
                continue;
            }
            let rank = Rank { similarity, reward: case.reward, created_at: case.created_at, id: case.id.clone() };
            best.take(rank, ());
        }
        let found = best.sorted().into_iter().map(|(rank, ())| (rank.id, rank.similarity)).collect();
        (found, below, best_below, frequencies)
    }

    type Told = (Vec<(String, f64)>, u64, f64, Vec<u64>);

    /// The same answer from segments of so many cases.
    fn indexed(bank: &[Plain], asked: &Asked, each: usize) -> Told {
        read_back(bank, asked, each, &|_| {}).unwrap()
    }

    /// The same from segments whose bytes something happens to.
    fn read_back(bank: &[Plain], asked: &Asked, each: usize, mangle: &dyn Fn(&mut Vec<u8>)) -> io::Result<Told> {
        let hasher = TermHasher::new(b"sixteen bytes...");
        let query = Words::of(&asked.text);
        let Asked { tags, any_tag, only_success, since, min_score, .. } = asked;
        let conditions =
            Conditions { tags, any_tag: *any_tag, only_success: *only_success, since: *since, min_score: *min_score };
        let question = Question::new(&hasher, &query, conditions, asked.most, true).unwrap();
        let mut found = Found { frequencies: vec![0; query.len()], ..Found::default() };
        for (n, part) in bank.chunks(each).enumerate() {
            let mut builder = Builder::new(hasher);
            for (offset, case) in part.iter().enumerate() {
                let at = At { offset: (n * each + offset) as u64, len: 1 };
                let Plain { id, task, tags, success, reward, created_at, .. } = case;
                let entry = Entry { at, id, task, tags, success: *success, reward: *reward, created_at: *created_at };
                builder.push(&entry);
            }
            let mut bytes = builder.finish().concat();
            mangle(&mut bytes);
            let read = |at: u64, into: &mut [u8]| {
                let at = usize::try_from(at).unwrap();
                into.copy_from_slice(bytes.get(at..at + into.len()).ok_or(io::ErrorKind::UnexpectedEof)?);
                Ok(())
            };
            let segment = Segment::open(&read)?;
            let (mut dead, mut case) = (vec![0u64; part.len().div_ceil(64)], 0);
            let mut any_dead = false;
            segment.each_row(&mut |row| {
                let is_dead = bank[usize::try_from(row.at.offset).unwrap()].dead;
                dead[case / 64] |= u64::from(is_dead) << (case % 64);
                any_dead |= is_dead;
                case += 1;
            })?;
            found.add(&question, &segment, Some(&*dead).filter(|_| any_dead))?;
        }
        let mut best = Best::new(asked.most);
        for Candidate { similarity, row, .. } in found.candidates {
            let id = bank[usize::try_from(row.at.offset).unwrap()].id.clone();
            best.take(Rank { similarity, reward: row.reward, created_at: row.created_at, id }, ());
        }
        let best = best.sorted().into_iter().map(|(rank, ())| (rank.id, rank.similarity)).collect();
        Ok((best, found.below, found.best_below, found.frequencies))
    }

    #[test]
    fn a_changed_byte_is_noticed_or_changes_nothing() {
        let plain = |n: u32| Plain {
            id: format!("c{n}"),
            task: format!("the w{} w{}", n % 3, n % 17),
            tags: vec![format!("tag{}", n % 2)],
            success: !n.is_multiple_of(3),
            reward: 0.5,
            created_at: DateTime::from_timestamp(i64::from(n % 5), 0).unwrap(),
            dead: false,
        };
        let bank: Vec<Plain> = (0..90).map(plain).collect();
        let asked = Asked {
            text: "the w1 w16".to_owned(),
            tags: vec!["tag1".to_owned()],
            any_tag: false,
            only_success: true,
            since: DateTime::from_timestamp(2, 0),
            min_score: 0.4,
            most: 3,
        };
        let right = plainly(&bank, &asked);
        let len = std::cell::Cell::new(0);
        assert_eq!(read_back(&bank, &asked, 90, &|bytes| len.set(bytes.len())).unwrap(), right);
        let mut noticed = 0;
        for at in 0..len.get() {
            match read_back(&bank, &asked, 90, &|bytes| bytes[at] ^= 1 << (at % 8)) {
                Ok(told) => assert_eq!(told, right, "byte {at}"),
                Err(_) => noticed += 1,
            }
        }
        for to in 0..len.get() {
            if let Ok(told) = read_back(&bank, &asked, 90, &|bytes| bytes.truncate(to)) {
                assert_eq!(told, right, "cut at {to}");
            }
        }
        assert!(noticed * 2 > len.get(), "{noticed} of {}", len.get());
    }

    proptest! {
        #![proptest_config(ProptestConfig { cases: 400, failure_persistence: None, ..ProptestConfig::default() })]

        #[test]
        fn segments_answer_as_a_comparison_with_each_case_does(bank in bank(), asked in asked(), each in 1usize..500) {
            prop_assert_eq!(indexed(&bank, &asked, each), plainly(&bank, &asked));
        }
    }
}
