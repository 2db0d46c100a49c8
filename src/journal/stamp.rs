//! The time of a record, as far as it can be compared without being parsed.

use chrono::{DateTime, Datelike, NaiveDate, Timelike, Utc};

use super::scan::Record;
use super::shape::{Need, Type};

/// A time in UTC: its digits to the second, and nanoseconds. Nothing depends on it: the order of the file decides.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Stamp(u64, u32);

impl Stamp {
    /// The time of a record's document; `None` where it has none, or one that is not in the years 0 to 9999.
    #[must_use]
    pub fn of(record: &Record<'_>) -> Option<Stamp> {
        let doc = &record.event.record;
        let member = doc.names.iter().find(|m| m.ty == Type::Time && m.need == Need::Required)?;
        let text = doc.raw(member.name)?.strip_prefix(b"\"")?.strip_suffix(b"\"")?;
        // The daemon's own form is read faster than any other.
        Stamp::parse(text).or_else(|| Stamp::at(doc.time(member.name)?.to_utc()))
    }

    /// The stamp of a moment; `None` outside of the years 0 to 9999.
    #[must_use]
    pub fn at(time: DateTime<Utc>) -> Option<Stamp> {
        let year = u64::try_from(time.year()).ok().filter(|year| *year <= 9999)?;
        let parts = [time.month(), time.day(), time.hour(), time.minute(), time.second()];
        let digits = parts.iter().fold(year, |digits, part| digits * 100 + u64::from(*part));
        // A leap second has its nanoseconds counted on.
        let (leap, nanos) = (time.nanosecond() / 1_000_000_000, time.nanosecond() % 1_000_000_000);
        Some(Stamp(digits + u64::from(leap), nanos))
    }

    /// How many bytes a stamp is kept in.
    pub const BYTES: usize = 10;

    /// The stamp in bytes.
    #[must_use]
    pub fn to_bytes(self) -> [u8; Stamp::BYTES] {
        let mut bytes = [0; Stamp::BYTES];
        // Fourteen digits fit in six bytes.
        bytes[..6].copy_from_slice(&self.0.to_le_bytes()[..6]);
        bytes[6..].copy_from_slice(&self.1.to_le_bytes());
        bytes
    }

    /// The stamp that these bytes keep.
    #[must_use]
    pub fn from_bytes(bytes: [u8; Stamp::BYTES]) -> Stamp {
        let [a, b, c, d, e, f, nanos @ ..] = bytes;
        Stamp(u64::from_le_bytes([a, b, c, d, e, f, 0, 0]), u32::from_le_bytes(nanos))
    }

    /// The moment that it stands for; `None` where no calendar has it.
    #[must_use]
    pub fn time(self) -> Option<DateTime<Utc>> {
        let part = |by: u64, to: u64| u32::try_from(self.0 / by % to).ok();
        let year = i32::try_from(self.0 / 10_000_000_000).ok()?;
        let date = NaiveDate::from_ymd_opt(year, part(100_000_000, 100)?, part(1_000_000, 100)?)?;
        let (second, nanos) = match part(1, 100)? {
            60 => (59, self.1 + 1_000_000_000),
            second => (second, self.1),
        };
        let time = date.and_hms_nano_opt(part(10_000, 100)?, part(100, 100)?, second, nanos)?;
        Some(time.and_utc())
    }

    /// The digits of its day. Times of one day have the same.
    #[must_use]
    pub fn day(self) -> u64 {
        self.0 / 1_000_000
    }

    /// The second of its day; `None` where no day has it.
    #[must_use]
    pub fn second(self) -> Option<i64> {
        let part = |by: u64, to: i64| i64::try_from(self.0 / by % 100).ok().filter(|part| *part < to);
        // A leap second counts with the one in front of it.
        Some(part(10_000, 24)? * 3_600 + part(100, 60)? * 60 + part(1, 61)?.min(59))
    }

    /// Reads the daemon's own form, `2026-06-26T09:15:02.123456789Z`, with or without a fraction.
    #[must_use]
    pub fn parse(text: &[u8]) -> Option<Stamp> {
        let text = text.strip_suffix(b"Z")?;
        let (seconds, fraction) = text.split_at_checked(19)?;
        let mut digits = 0u64;
        for (at, byte) in seconds.iter().enumerate() {
            match (at, byte) {
                (4 | 7, b'-') | (10, b'T') | (13 | 16, b':') => {}
                (4 | 7 | 10 | 13 | 16, _) => return None,
                (_, b'0'..=b'9') => digits = digits * 10 + u64::from(byte - b'0'),
                _ => return None,
            }
        }
        let fraction = match fraction {
            [] => &[][..],
            [b'.', fraction @ ..] => fraction,
            _ => return None,
        };
        let mut nanos = 0u32;
        for at in 0..9 {
            let digit = match fraction.get(at) {
                None => 0,
                Some(byte @ b'0'..=b'9') => byte - b'0',
                Some(_) => return None,
            };
            nanos = nanos * 10 + u32::from(digit);
        }
        Some(Stamp(digits, nanos))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_moment_is_the_one_that_is_written() {
        for text in [
            "2026-06-26T09:15:02Z",
            "2024-02-29T23:59:59.120Z",
            "0000-01-01T00:00:00.000000001Z",
            "9999-12-31T00:00:00Z",
        ] {
            let (stamp, time) = (Stamp::parse(text.as_bytes()).unwrap(), text.parse().unwrap());
            assert_eq!((stamp.time(), Stamp::at(time)), (Some(time), Some(stamp)), "{text}");
        }
        let leap: DateTime<Utc> = "2016-12-31T23:59:60.5Z".parse().unwrap();
        let stamp = Stamp::parse(b"2016-12-31T23:59:60.5Z").unwrap();
        assert_eq!((stamp.time(), Stamp::at(leap)), (Some(leap), Some(stamp)));
        assert_eq!(stamp.second(), Some(86_399));
        assert_eq!(Stamp::at("+10000-01-01T00:00:00Z".parse().unwrap()), None);
        assert_eq!(Stamp::at("-0001-12-31T00:00:00Z".parse().unwrap()), None);
        for text in ["2026-02-29T00:00:00Z", "2026-13-01T00:00:00Z", "2026-01-01T24:00:00Z", "2026-01-01T00:00:61Z"] {
            assert_eq!(Stamp::parse(text.as_bytes()).unwrap().time(), None, "{text}");
        }
    }

    #[test]
    fn times_in_the_daemons_form_are_in_their_order() {
        let times =
            ["2026-06-26T09:15:02Z", "2026-06-26T09:15:02.120Z", "2026-06-26T09:15:02.5Z", "2026-06-26T09:15:03Z"];
        let stamps: Vec<Stamp> = times.iter().map(|t| Stamp::parse(t.as_bytes()).unwrap()).collect();
        assert!(stamps.is_sorted());
        for other in ["2026-06-26 09:15:02Z", "2026-06-26T09:15:02+00:00", "2026-6-26T09:15:02Z", ""] {
            assert!(Stamp::parse(other.as_bytes()).is_none(), "{other}");
        }
    }
}
