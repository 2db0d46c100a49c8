//! The time of a record, as far as it can be compared without being parsed.

use chrono::{DateTime, NaiveDate, Utc};

use super::scan::Record;
use super::shape::{Need, Type};

/// A time in the daemon's own form: its digits to the second, and nanoseconds. Nothing depends on it: the order of the
/// file decides.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Stamp(u64, u32);

impl Stamp {
    /// The time of a record's document; `None` where it has none or writes it in another form.
    #[must_use]
    pub fn of(record: &Record<'_>) -> Option<Stamp> {
        let doc = &record.event.record;
        let member = doc.names.iter().find(|m| m.ty == Type::Time && m.need == Need::Required)?;
        let text = doc.raw(member.name)?.strip_prefix(b"\"")?.strip_suffix(b"\"")?;
        Stamp::parse(text)
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
        let time = date.and_hms_nano_opt(part(10_000, 100)?, part(100, 100)?, part(1, 100)?, self.1)?;
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
        Some(part(10_000, 24)? * 3_600 + part(100, 60)? * 60 + part(1, 60)?)
    }

    /// Reads `2026-06-26T09:15:02.123456789Z`, with or without a fraction.
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
    use super::Stamp;

    #[test]
    fn the_moment_is_the_one_that_is_written() {
        for text in [
            "2026-06-26T09:15:02Z",
            "2024-02-29T23:59:59.120Z",
            "0000-01-01T00:00:00.000000001Z",
            "9999-12-31T00:00:00Z",
        ] {
            assert_eq!(Stamp::parse(text.as_bytes()).unwrap().time(), Some(text.parse().unwrap()), "{text}");
        }
        for text in ["2026-02-29T00:00:00Z", "2026-13-01T00:00:00Z", "2026-01-01T24:00:00Z", "2026-01-01T00:00:60Z"] {
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
