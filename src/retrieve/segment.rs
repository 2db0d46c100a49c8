//! A segment: some cases of a bank, laid out so that those with the most words in common with a text are found without
//! reading the others. Pure: it is made in memory, and read through a function that hands out its bytes.
//!
//! Its cases are numbered by how many words they have, then in the order of [`Rank`](super::Rank). So the similarity of
//! all that have the same number of words in common with a text falls with their numbers, and the first are the best.
//!
//! A head; the sizes, each with its first case; a row for each case; a bit for each case that turned out well; buckets,
//! into which the words are sorted by the first bits of their hashes; the words; and for each word the cases that have
//! it: a bit for each case, or, where they are few, the steps between their numbers. Every piece has a check, so that a
//! changed byte cannot hide a case.

use std::cmp::{Ordering, Reverse};
use std::collections::HashMap;
use std::hash::{BuildHasherDefault, Hasher};
use std::io;

use chrono::{DateTime, Utc};
use siphasher::sip::SipHasher13;
use twox_hash::XxHash3_64;

use super::{each_word, falling};

const MAGIC: u64 = u64::from_le_bytes(*b"CRUXSEG1");
const HEAD: usize = 96;
/// Head and sizes take at least so much, and so much is read at once.
const FRONT: usize = 512;
/// So many bytes are made room for without a look at whether they are there.
const ROOM: u64 = 1 << 16;
/// A segment takes no more once it has so many words, or so many different ones: that bounds the memory that it is made
/// in.
const MOST_TERMS: usize = 1 << 22;
const MOST_KNOWN: usize = 1 << 18;
const SIZE: usize = 8;
const ROW: usize = 32;
const BUCKET: usize = 8;
const TERM: usize = 32;
/// About how many words share a bucket.
const TERMS_A_BUCKET: usize = 8;
/// A word's cases are kept as bits where at least one case of this many has it.
const DENSE: usize = 32;

/// Hands out bytes of a segment from an offset on.
pub type Bytes<'a> = &'a dyn Fn(u64, &mut [u8]) -> io::Result<()>;

/// Turns words and tags into 64 bits. The key is random and secret, so that nobody can make two words that share them.
#[derive(Clone, Copy, Debug)]
pub struct TermHasher(SipHasher13);

impl TermHasher {
    /// A hasher with this key.
    #[must_use]
    pub fn new(key: &[u8; 16]) -> TermHasher {
        TermHasher(SipHasher13::new_with_key(key))
    }

    /// The hash of a word.
    #[must_use]
    pub fn word(&self, word: &str) -> u64 {
        self.0.hash(word.as_bytes())
    }

    /// The hash of a tag as a whole: of bytes that no word has.
    #[must_use]
    pub fn tag(&self, tag: &str) -> u64 {
        self.0.hash(&[b"\xFF", tag.as_bytes()].concat())
    }
}

/// Where a case's record lies in the journal.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct At {
    /// Offset of the record's first byte.
    pub offset: u64,
    /// The record's length in bytes.
    pub len: u32,
}

/// A case as a segment takes it.
#[derive(Clone, Copy, Debug)]
pub struct Entry<'a, T> {
    /// Where its record lies.
    pub at: At,
    /// The id.
    pub id: &'a str,
    /// The task.
    pub task: &'a str,
    /// The tags.
    pub tags: &'a [T],
    /// Whether it turned out well.
    pub success: bool,
    /// The reward.
    pub reward: f32,
    /// When it was recorded.
    pub created_at: DateTime<Utc>,
}

/// Takes a hash as it is: it is one already.
#[derive(Default)]
pub(super) struct AsItIs(u64);

impl Hasher for AsItIs {
    fn finish(&self) -> u64 {
        self.0
    }
    fn write(&mut self, _bytes: &[u8]) {}
    fn write_u64(&mut self, word: u64) {
        self.0 = word;
    }
}

/// Takes cases, and makes a segment of them.
#[derive(Debug)]
pub struct Builder {
    hasher: TermHasher,
    cases: Vec<Held>,
    ids: String,
    /// The numbers of each case's terms.
    terms: Vec<u32>,
    /// Each term's number, and how many cases have it, by its hash.
    known: HashMap<u64, (u32, u32), BuildHasherDefault<AsItIs>>,
    scratch: Vec<u64>,
}

/// What the builder holds of a case.
#[derive(Debug)]
struct Held {
    row: Row,
    success: bool,
    /// How many words it has.
    size: u32,
    /// Where its id begins.
    id: usize,
    /// Where its terms begin.
    terms: usize,
}

/// What the order of the cases depends on before their ids: how many words it has, its reward, its time.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Key(u32, Reverse<i32>, Reverse<(i64, u32)>);

impl Key {
    fn of(case: &Held) -> Key {
        let Row { reward, created_at, .. } = case.row;
        // The bits of a float are in the order of floats, but for the sign; there are two zeros, and they are equal.
        let bits = (reward + 0.0).to_bits().cast_signed();
        let reward = if bits < 0 { i32::MIN - bits - 1 } else { bits };
        Key(case.size, Reverse(reward), Reverse((created_at.timestamp(), created_at.timestamp_subsec_nanos())))
    }
}

impl Builder {
    /// Nothing yet.
    #[must_use]
    pub fn new(hasher: TermHasher) -> Builder {
        Builder {
            hasher,
            cases: Vec::new(),
            ids: String::new(),
            terms: Vec::new(),
            known: HashMap::default(),
            scratch: Vec::new(),
        }
    }

    /// Takes a case.
    pub fn push<T: AsRef<str>>(&mut self, entry: &Entry<'_, T>) {
        let (id, terms) = (self.ids.len(), self.terms.len());
        self.ids.push_str(entry.id);
        let mut hashes = std::mem::take(&mut self.scratch);
        hashes.clear();
        let texts = std::iter::once(entry.task).chain(entry.tags.iter().map(AsRef::as_ref));
        texts.for_each(|text| each_word(text, &mut |word| hashes.push(self.hasher.word(word))));
        hashes.sort_unstable();
        hashes.dedup();
        let size = hashes.len();
        hashes.extend(entry.tags.iter().map(|tag| self.hasher.tag(tag.as_ref())));
        hashes[size..].sort_unstable();
        let mut last = None;
        for (n, hash) in hashes.iter().enumerate() {
            // A tag given twice is one.
            if n > size && last == Some(hash) {
                continue;
            }
            last = Some(hash);
            let next = narrow(self.known.len());
            let (number, cases) = self.known.entry(*hash).or_insert((next, 0));
            *cases += 1;
            self.terms.push(*number);
        }
        self.scratch = hashes;
        let row = Row { at: entry.at, reward: entry.reward, created_at: entry.created_at };
        self.cases.push(Held { row, success: entry.success, size: narrow(size), id, terms });
    }

    /// How many cases it has.
    #[must_use]
    pub fn len(&self) -> usize {
        self.cases.len()
    }

    /// Whether it has none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.cases.is_empty()
    }

    /// Whether it is as large as a segment should become.
    #[must_use]
    pub fn is_full(&self) -> bool {
        self.terms.len() >= MOST_TERMS || self.known.len() >= MOST_KNOWN
    }

    fn id(&self, case: usize) -> &str {
        let end = self.cases.get(case + 1).map_or(self.ids.len(), |next| next.id);
        &self.ids[self.cases[case].id..end]
    }

    /// The segment's bytes, part for part. Then there is nothing in it again.
    #[must_use]
    pub fn finish(&mut self) -> Vec<Vec<u8>> {
        let count = self.cases.len();
        let mut keys: Vec<(Key, u32)> = self.cases.iter().map(Key::of).zip(0..).collect();
        keys.sort_unstable_by(|(one, a), (other, b)| {
            one.cmp(other).then_with(|| self.id(*a as usize).cmp(self.id(*b as usize)))
        });
        let order: Vec<u32> = keys.into_iter().map(|(_, case)| case).collect();
        let mut sizes = Vec::new();
        let mut rows = Vec::with_capacity(count * ROW);
        let mut good = vec![0u64; count.div_ceil(64)];
        let mut last = None;
        for (number, case) in order.iter().enumerate() {
            let case = &self.cases[*case as usize];
            if last != Some(case.size) {
                last = Some(case.size);
                sizes.extend_from_slice(&case.size.to_le_bytes());
                sizes.extend_from_slice(&narrow(number).to_le_bytes());
            }
            rows.extend_from_slice(&case.row.to_bytes());
            if case.success {
                good[number / 64] |= 1 << (number % 64);
            }
        }
        let good: Vec<u8> = good.iter().flat_map(|word| word.to_le_bytes()).collect();
        let (buckets, terms, postings) = self.terms_of(&order);
        let head = Head {
            cases: count as u64,
            sizes: (sizes.len() / SIZE) as u64,
            bits: u64::from(bucket_bits(self.known.len())),
            terms: self.known.len() as u64,
            sums: [sum(&sizes), sum(&good)],
        };
        let used = sizes.len().max(FRONT - HEAD);
        sizes.resize(used, 0);
        self.cases.clear();
        self.ids.clear();
        self.terms.clear();
        self.known.clear();
        vec![head.to_bytes(), sizes, rows, good, buckets, terms, postings]
    }

    /// Buckets, terms and postings, for cases in this order.
    fn terms_of(&self, order: &[u32]) -> (Vec<u8>, Vec<u8>, Vec<u8>) {
        let mut sorted: Vec<(u64, u32, u32)> =
            self.known.iter().map(|(hash, (number, cases))| (*hash, *number, *cases)).collect();
        sorted.sort_unstable_by_key(|(hash, ..)| *hash);
        let mut next = vec![0usize; sorted.len()];
        let mut total = 0;
        for (_, number, cases) in &sorted {
            next[*number as usize] = total;
            total += *cases as usize;
        }
        // The numbers of the cases that have a term, for one term after the other.
        let mut lists = vec![0u32; total];
        for (number, case) in order.iter().enumerate() {
            let case = *case as usize;
            let end = self.cases.get(case + 1).map_or(self.terms.len(), |next| next.terms);
            for term in &self.terms[self.cases[case].terms..end] {
                let place = &mut next[*term as usize];
                lists[*place] = narrow(number);
                *place += 1;
            }
        }
        let bits = bucket_bits(self.known.len());
        let (mut buckets, mut terms, mut postings) = (Vec::new(), Vec::new(), Vec::new());
        for (n, (hash, number, cases)) in sorted.iter().enumerate() {
            let (hash, number, cases) = (*hash, *number as usize, *cases);
            while buckets.len() / BUCKET <= bucket(hash, bits) {
                push_bucket(&mut buckets, n);
            }
            let list = &lists[next[number] - cases as usize..next[number]];
            let from = postings.len();
            let dense = list.len() * DENSE >= order.len();
            if dense {
                put_bits(list, order.len(), &mut postings);
            } else {
                put_steps(list, &mut postings);
            }
            let bytes = if dense { 0 } else { narrow(postings.len() - from) };
            let sum = sum(&postings[from..]);
            terms.extend_from_slice(&Term { hash, at: from as u64, cases, bytes, sum }.to_bytes());
        }
        while buckets.len() / BUCKET <= 1 << bits {
            push_bucket(&mut buckets, sorted.len());
        }
        (buckets, terms, postings)
    }
}

/// What is in one place is counted in 32 bits: a segment is made from far fewer bytes than they count.
fn narrow(count: usize) -> u32 {
    u32::try_from(count).unwrap_or(u32::MAX)
}

fn bucket_bits(terms: usize) -> u32 {
    (terms / TERMS_A_BUCKET).checked_ilog2().unwrap_or(0)
}

fn bucket(hash: u64, bits: u32) -> usize {
    usize::try_from(hash.checked_shr(64 - bits).unwrap_or(0)).unwrap_or(usize::MAX)
}

fn push_bucket(buckets: &mut Vec<u8>, first: usize) {
    let number = buckets.len() / BUCKET;
    let first = narrow(first).to_le_bytes();
    buckets.extend_from_slice(&first);
    buckets.extend_from_slice(&bucket_sum(number, first).to_le_bytes());
}

fn bucket_sum(number: usize, first: [u8; 4]) -> u32 {
    sum(&[&first[..], &(number as u64).to_le_bytes()].concat())
}

fn put_bits(list: &[u32], cases: usize, out: &mut Vec<u8>) {
    let mut bits = vec![0u64; cases.div_ceil(64)];
    list.iter().for_each(|case| bits[*case as usize / 64] |= 1 << (case % 64));
    bits.iter().for_each(|word| out.extend_from_slice(&word.to_le_bytes()));
}

fn put_steps(list: &[u32], out: &mut Vec<u8>) {
    let mut last = 0;
    for case in list {
        let mut step = case - last;
        last = *case;
        while step > 0x7F {
            out.push(0x80 | step.to_le_bytes()[0]);
            step >>= 7;
        }
        out.push(step.to_le_bytes()[0]);
    }
}

/// A check of some bytes.
fn sum(bytes: &[u8]) -> u32 {
    let [a, b, c, d, ..] = XxHash3_64::oneshot(bytes).to_le_bytes();
    u32::from_le_bytes([a, b, c, d])
}

fn word(bytes: &[u8], at: usize) -> u64 {
    bytes.get(at..).and_then(|b| b.first_chunk()).map_or(0, |b| u64::from_le_bytes(*b))
}

fn half(bytes: &[u8], at: usize) -> u32 {
    bytes.get(at..).and_then(|b| b.first_chunk()).map_or(0, |b| u32::from_le_bytes(*b))
}

fn damaged(what: &str) -> io::Error {
    io::Error::other(format!("{what} of the case index is damaged"))
}

/// Bytes with a check behind them.
fn sealed<const N: usize>(mut bytes: [u8; N]) -> [u8; N] {
    let check = sum(&bytes[..N - 4]);
    bytes[N - 4..].copy_from_slice(&check.to_le_bytes());
    bytes
}

/// Whether the check behind the bytes is theirs.
fn is_sealed(bytes: &[u8]) -> bool {
    bytes.split_last_chunk().is_some_and(|(rest, check)| sum(rest) == u32::from_le_bytes(*check))
}

/// What is kept of each case.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Row {
    /// Where its record lies.
    pub at: At,
    /// Its reward.
    pub reward: f32,
    /// When it was recorded.
    pub created_at: DateTime<Utc>,
}

impl Row {
    /// The better rewarded first, then the newer.
    pub(super) fn order(&self, other: &Row) -> Ordering {
        falling(self.reward.partial_cmp(&other.reward)).then(other.created_at.cmp(&self.created_at))
    }

    fn to_bytes(self) -> [u8; ROW] {
        let mut bytes = [0; ROW];
        bytes[..8].copy_from_slice(&self.at.offset.to_le_bytes());
        bytes[8..12].copy_from_slice(&self.at.len.to_le_bytes());
        bytes[12..16].copy_from_slice(&self.reward.to_le_bytes());
        bytes[16..24].copy_from_slice(&self.created_at.timestamp().to_le_bytes());
        bytes[24..28].copy_from_slice(&self.created_at.timestamp_subsec_nanos().to_le_bytes());
        sealed(bytes)
    }

    fn from_bytes(bytes: &[u8]) -> io::Result<Row> {
        if !is_sealed(bytes) {
            return Err(damaged("a row"));
        }
        let created_at = DateTime::from_timestamp(word(bytes, 16).cast_signed(), half(bytes, 24));
        Ok(Row {
            at: At { offset: word(bytes, 0), len: half(bytes, 8) },
            reward: f32::from_bits(half(bytes, 12)),
            created_at: created_at.ok_or_else(|| damaged("a row"))?,
        })
    }
}

/// A word or tag of a segment.
#[derive(Clone, Copy, Debug)]
pub(super) struct Term {
    hash: u64,
    /// Where its postings begin among all.
    at: u64,
    /// How many cases have it.
    pub(super) cases: u32,
    /// How long they are as steps; 0: they are bits.
    bytes: u32,
    sum: u32,
}

impl Term {
    fn to_bytes(self) -> [u8; TERM] {
        let mut bytes = [0; TERM];
        bytes[..8].copy_from_slice(&self.hash.to_le_bytes());
        bytes[8..16].copy_from_slice(&self.at.to_le_bytes());
        bytes[16..20].copy_from_slice(&self.cases.to_le_bytes());
        bytes[20..24].copy_from_slice(&self.bytes.to_le_bytes());
        bytes[24..28].copy_from_slice(&self.sum.to_le_bytes());
        sealed(bytes)
    }

    fn from_bytes(bytes: &[u8]) -> io::Result<Term> {
        if !is_sealed(bytes) {
            return Err(damaged("a word"));
        }
        Ok(Term {
            hash: word(bytes, 0),
            at: word(bytes, 8),
            cases: half(bytes, 16),
            bytes: half(bytes, 20),
            sum: half(bytes, 24),
        })
    }
}

/// The numbers at a segment's front.
#[derive(Clone, Copy, Debug)]
struct Head {
    cases: u64,
    sizes: u64,
    bits: u64,
    terms: u64,
    sums: [u32; 2],
}

impl Head {
    fn to_bytes(self) -> Vec<u8> {
        let mut bytes = [0; HEAD];
        for (n, word) in [MAGIC, self.cases, self.sizes, self.bits, self.terms].iter().enumerate() {
            bytes[n * 8..][..8].copy_from_slice(&word.to_le_bytes());
        }
        bytes[40..44].copy_from_slice(&self.sums[0].to_le_bytes());
        bytes[44..48].copy_from_slice(&self.sums[1].to_le_bytes());
        sealed(bytes).to_vec()
    }

    /// Where each part begins: sizes, rows, good ones, buckets, terms, postings.
    fn parts(&self) -> [u64; 6] {
        let sizes = self.sizes * SIZE as u64;
        let lengths = [
            HEAD as u64,
            sizes.max((FRONT - HEAD) as u64),
            self.cases * ROW as u64,
            self.cases.div_ceil(64) * 8,
            ((1 << self.bits) + 1) * BUCKET as u64,
            self.terms * TERM as u64,
        ];
        let mut end = 0;
        lengths.map(|length| {
            end += length;
            end
        })
    }
}

/// How a term's cases are kept.
pub(super) enum Postings {
    /// A bit for each case of the segment.
    Bits(Vec<u64>),
    /// Their numbers, in order.
    List(Vec<u32>),
}

impl Postings {
    /// As a bit for each of `cases` cases.
    pub(super) fn into_bits(self, cases: usize) -> Vec<u64> {
        match self {
            Postings::Bits(bits) => bits,
            Postings::List(list) => {
                let mut bits = vec![0; cases.div_ceil(64)];
                list.iter().for_each(|case| bits[*case as usize / 64] |= 1 << (case % 64));
                bits
            }
        }
    }
}

/// A segment that is read.
pub struct Segment<'a> {
    bytes: Bytes<'a>,
    head: Head,
    /// How many words cases have, each with the number of the first that has as many.
    pub(super) sizes: Vec<(u32, u32)>,
}

impl<'a> Segment<'a> {
    /// Opens a segment.
    ///
    /// Errors, here and in what reads on: a piece of it cannot be read, or is not what was written.
    pub fn open(bytes: Bytes<'a>) -> io::Result<Segment<'a>> {
        let mut front = [0; FRONT];
        bytes(0, &mut front)?;
        let (head, behind) = front.split_at(HEAD);
        if !is_sealed(head) || word(head, 0) != MAGIC {
            return Err(damaged("the head of a segment"));
        }
        let head = Head {
            cases: word(head, 8),
            sizes: word(head, 16),
            bits: word(head, 24),
            terms: word(head, 32),
            sums: [half(head, 40), half(head, 44)],
        };
        if head.bits > 32 || [head.cases, head.sizes, head.terms].iter().any(|count| *count > u64::from(u32::MAX)) {
            return Err(damaged("the head of a segment"));
        }
        let mut segment = Segment { bytes, head, sizes: Vec::new() };
        let [at, ..] = head.parts();
        let len = head.sizes * SIZE as u64;
        let sizes = match usize::try_from(len).ok().and_then(|len| behind.get(..len)) {
            Some(sizes) => sizes.to_vec(),
            None => segment.some(at, len)?,
        };
        if sum(&sizes) != head.sums[0] {
            return Err(damaged("a list of sizes"));
        }
        segment.sizes = sizes.chunks_exact(SIZE).map(|pair| (half(pair, 0), half(pair, 4))).collect();
        let rising = segment.sizes.is_sorted_by(|a, b| a.0 < b.0 && a.1 < b.1);
        let from_the_first = segment.sizes.first().is_none_or(|first| first.1 == 0);
        let inside = segment.sizes.last().is_none_or(|last| u64::from(last.1) < head.cases);
        if !(rising && from_the_first && inside) {
            return Err(damaged("a list of sizes"));
        }
        Ok(segment)
    }

    fn some(&self, at: u64, len: u64) -> io::Result<Vec<u8>> {
        let end = at.checked_add(len).ok_or(io::ErrorKind::UnexpectedEof)?;
        // Room is made for what is there, not for what the file says of itself.
        if len > ROOM {
            (self.bytes)(end - 1, &mut [0])?;
        }
        let mut bytes = vec![0; usize::try_from(len).map_err(io::Error::other)?];
        (self.bytes)(at, &mut bytes)?;
        Ok(bytes)
    }

    /// How many cases it has.
    #[must_use]
    pub fn cases(&self) -> usize {
        usize::try_from(self.head.cases).unwrap_or(usize::MAX)
    }

    /// The row of a case.
    pub(super) fn row(&self, case: u32) -> io::Result<Row> {
        let [_, rows, ..] = self.head.parts();
        let mut bytes = [0; ROW];
        (self.bytes)(rows + u64::from(case) * ROW as u64, &mut bytes)?;
        Row::from_bytes(&bytes)
    }

    /// Hands out the row of each case, in order.
    pub fn each_row(&self, take: &mut dyn FnMut(Row)) -> io::Result<()> {
        const AT_ONCE: usize = 4096;
        let [_, rows, ..] = self.head.parts();
        for from in (0..self.head.cases).step_by(AT_ONCE) {
            let here = (self.head.cases - from).min(AT_ONCE as u64);
            let bytes = self.some(rows + from * ROW as u64, here * ROW as u64)?;
            for row in bytes.chunks_exact(ROW) {
                take(Row::from_bytes(row)?);
            }
        }
        Ok(())
    }

    /// A bit for each case that turned out well.
    pub(super) fn good(&self) -> io::Result<Vec<u64>> {
        let [_, _, good, ..] = self.head.parts();
        let bytes = self.some(good, self.head.cases.div_ceil(64) * 8)?;
        if sum(&bytes) != self.head.sums[1] {
            return Err(damaged("a list of what turned out well"));
        }
        Ok(bytes.chunks_exact(8).map(|chunk| word(chunk, 0)).collect())
    }

    /// What it has under a hash.
    pub(super) fn term(&self, hash: u64) -> io::Result<Option<Term>> {
        let [_, _, _, buckets, terms, _] = self.head.parts();
        let bits = u32::try_from(self.head.bits).unwrap_or(0);
        let number = bucket(hash, bits);
        let mut pair = [0; 2 * BUCKET];
        (self.bytes)(buckets + (number * BUCKET) as u64, &mut pair)?;
        let border = |n: usize| {
            let bytes = &pair[n * BUCKET..][..BUCKET];
            let right = bytes.first_chunk().is_some_and(|first| bucket_sum(number + n, *first) == half(bytes, 4));
            right.then_some(half(bytes, 0)).ok_or_else(|| damaged("a bucket"))
        };
        let (from, to) = (u64::from(border(0)?), u64::from(border(1)?));
        for bytes in self.some(terms + from * TERM as u64, (to.max(from) - from) * TERM as u64)?.chunks_exact(TERM) {
            let term = Term::from_bytes(bytes)?;
            if term.hash == hash {
                return Ok(Some(term));
            }
        }
        Ok(None)
    }

    /// The cases that have a term.
    pub(super) fn postings(&self, term: &Term) -> io::Result<Postings> {
        let [.., postings] = self.head.parts();
        let len = if term.bytes == 0 { self.head.cases.div_ceil(64) * 8 } else { u64::from(term.bytes) };
        let bytes = self.some(postings.checked_add(term.at).ok_or_else(|| damaged("a word"))?, len)?;
        if sum(&bytes) != term.sum {
            return Err(damaged("a list of cases"));
        }
        if term.bytes == 0 {
            return Ok(Postings::Bits(bytes.chunks_exact(8).map(|chunk| word(chunk, 0)).collect()));
        }
        let mut list = Vec::with_capacity((term.cases as usize).min(bytes.len()));
        let (mut case, mut step, mut shift) = (0u32, 0u32, 0u32);
        for byte in bytes {
            step |= u32::from(byte & 0x7F) << shift.min(31);
            shift += 7;
            if byte & 0x80 == 0 {
                case = case.wrapping_add(step);
                if u64::from(case) >= self.head.cases {
                    return Err(damaged("a list of cases"));
                }
                list.push(case);
                (step, shift) = (0, 0);
            }
        }
        Ok(Postings::List(list))
    }
}
