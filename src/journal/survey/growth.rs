//! A journal's records over time, in a few stretches of one width, however long it has lived and whatever its clocks said.

use std::collections::BTreeMap;

use chrono::{DateTime, Utc};

use crate::journal::stamp::Stamp;

/// How many stretches with records there are at most.
const STRETCHES: usize = 24;

const DAY: i64 = 86_400;

/// How wide a stretch can be, in seconds. Each is a multiple of the one before it, so that stretches that are put
/// together hold just what one of that width would have. The last is wider than all years of four digits.
const WIDTHS: [i64; 17] = [
    1,
    5,
    15,
    60,
    300,
    900,
    3_600,
    10_800,
    43_200,
    DAY,
    7 * DAY,
    28 * DAY,
    84 * DAY,
    336 * DAY,
    3_360 * DAY,
    33_600 * DAY,
    3_696_000 * DAY,
];

/// The first second of the year 0: no text has an earlier time.
const YEAR_0: i64 = -62_167_219_200;

/// Records, counted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Sum {
    /// How many.
    pub records: u64,
    /// Their bytes.
    pub bytes: u64,
}

impl Sum {
    fn add(&mut self, more: Sum) {
        self.records += more.records;
        self.bytes += more.bytes;
    }
}

/// Records over time. It begins with stretches of a second, and takes wider ones as soon as there are too many.
#[derive(Clone, Debug, Default)]
pub struct Growth {
    rung: usize,
    stretches: BTreeMap<i64, Sum>,
    /// The stretch of the record before, and what came to it since it was last looked up.
    at: Option<i64>,
    since: Sum,
    /// The digits of the last day that was met, and its first second: most records are of the day of the one before.
    day: Option<(u64, i64)>,
    /// Records in front of the first that has a time.
    undated: Sum,
    first: Option<Stamp>,
    last: Option<Stamp>,
}

/// One stretch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Stretch {
    /// When it begins; `None`: no record of the journal has a time.
    pub from: Option<DateTime<Utc>>,
    /// Its records. One without a time of its own counts with the one before it.
    pub sum: Sum,
}

impl Growth {
    /// Takes the next record.
    pub fn see(&mut self, bytes: u64, time: Option<Stamp>) {
        let sum = Sum { records: 1, bytes };
        let dated = time.and_then(|stamp| Some((stamp, self.second(stamp)?)));
        if let Some((stamp, second)) = dated {
            self.first = Some(self.first.map_or(stamp, |first| first.min(stamp)));
            self.last = self.last.max(Some(stamp));
            if self.at != Some(start(second, WIDTHS[self.rung])) {
                self.put();
                // Stretches may be wider by now.
                self.at = Some(start(second, WIDTHS[self.rung]));
            }
        }
        if self.at.is_some() { self.since.add(sum) } else { self.undated.add(sum) }
    }

    /// The second of a time, from the epoch.
    fn second(&mut self, stamp: Stamp) -> Option<i64> {
        let second = stamp.second()?;
        let first = match self.day {
            Some((day, first)) if day == stamp.day() => first,
            _ => {
                let first = stamp.time()?.timestamp() - second;
                self.day = Some((stamp.day(), first));
                first
            }
        };
        Some(first + second)
    }

    /// Puts what came since into its stretch.
    fn put(&mut self) {
        let Some(at) = self.at.filter(|_| self.since.records > 0) else { return };
        let since = std::mem::take(&mut self.since);
        self.stretches.entry(at).or_default().add(since);
        self.widen(STRETCHES);
    }

    /// What was counted, once everything was met.
    #[must_use]
    pub fn ended(mut self) -> Growth {
        self.put();
        self
    }

    /// The same in at most so many stretches.
    #[must_use]
    pub fn within(&self, most: usize) -> Growth {
        let mut growth = self.clone();
        growth.widen(most);
        growth
    }

    fn widen(&mut self, most: usize) {
        while self.stretches.len() > most && self.rung + 1 < WIDTHS.len() {
            self.rung += 1;
            let width = WIDTHS[self.rung];
            let mut wider: BTreeMap<i64, Sum> = BTreeMap::new();
            for (at, sum) in &self.stretches {
                wider.entry(start(*at, width)).or_default().add(*sum);
            }
            self.stretches = wider;
            self.at = self.at.map(|at| start(at, width));
        }
    }

    /// How wide a stretch is, in seconds.
    #[must_use]
    pub fn width(&self) -> u64 {
        WIDTHS[self.rung].unsigned_abs()
    }

    /// The earliest time of a record.
    #[must_use]
    pub fn first(&self) -> Option<DateTime<Utc>> {
        self.first.and_then(Stamp::time)
    }

    /// The latest time of a record.
    #[must_use]
    pub fn last(&self) -> Option<DateTime<Utc>> {
        self.last.and_then(Stamp::time)
    }

    /// The stretches that have records, in the order of time.
    #[must_use]
    pub fn stretches(&self) -> Vec<Stretch> {
        let mut undated = Some(self.undated).filter(|sum| sum.records > 0);
        let mut stretches = Vec::new();
        for (at, sum) in &self.stretches {
            stretches.push(Stretch { from: DateTime::from_timestamp((*at).max(YEAR_0), 0), sum: *sum });
        }
        // What is in front of the first time in the file counts with that.
        match (stretches.first_mut(), undated.take()) {
            (None, Some(sum)) => stretches.push(Stretch { from: None, sum }),
            (Some(first), Some(sum)) => first.sum.add(sum),
            (_, None) => {}
        }
        stretches
    }
}

/// Where the stretch begins that has this second.
fn start(second: i64, width: i64) -> i64 {
    second.div_euclid(width) * width
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(times: &[&str]) -> Growth {
        let mut growth = Growth::default();
        times.iter().for_each(|time| growth.see(10, Stamp::parse(time.as_bytes())));
        growth.ended()
    }

    #[test]
    fn each_width_is_a_multiple_of_the_one_before() {
        assert!(WIDTHS.windows(2).all(|pair| pair[1] > pair[0] && pair[1] % pair[0] == 0));
    }

    #[test]
    fn memory_is_constant_whatever_the_clocks_say() {
        let years: Vec<String> = (0..10_000).map(|year| format!("{year:04}-07-01T00:00:00Z")).collect();
        let growth = of(&years.iter().map(String::as_str).collect::<Vec<_>>());
        let stretches = growth.stretches();
        assert!(stretches.len() <= STRETCHES);
        assert_eq!(stretches.iter().map(|s| s.sum.records).sum::<u64>(), 10_000);
        assert_eq!(stretches.iter().map(|s| s.sum.bytes).sum::<u64>(), 100_000);
    }

    #[test]
    fn a_record_without_a_time_counts_with_the_one_before_and_the_first_ones_with_the_first() {
        let growth = of(&["", "2026-01-01T00:00:00Z", "", "2026-01-01T00:00:09Z", ""]);
        let records: Vec<u64> = growth.stretches().iter().map(|s| s.sum.records).collect();
        assert_eq!((growth.width(), records), (1, vec![3, 2]));
        let growth = of(&["", ""]);
        assert_eq!(growth.stretches(), [Stretch { from: None, sum: Sum { records: 2, bytes: 20 } }]);
    }
}
