//! Small pictures in characters: a bar beside a number, and a file as a strip.

/// How wide a bar is, in characters.
const WIDTH: usize = 24;

/// How many characters of a strip stand on one line.
const LINE: usize = 64;

/// A part of a file: which of its bytes are what.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Part {
    /// Offset of its first byte.
    pub start: u64,
    /// Offset behind its last byte.
    pub end: u64,
    /// Bytes of live records.
    pub live: u64,
    /// Bytes of records that are no longer live.
    pub dead: u64,
    /// Bytes that are no record.
    pub damaged: u64,
    /// Bytes of other versions' records.
    pub foreign: u64,
    /// The rest.
    pub other: u64,
    /// Places with damage.
    pub places: u64,
}

/// What a part is shown as.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Look {
    Live,
    MostlyLive,
    MostlyDead,
    Dead,
    Damaged,
    Foreign,
    Other,
}

impl Look {
    /// Damage is always seen; else what most of the bytes are.
    fn of(part: &Part) -> Look {
        let records = part.live + part.dead;
        if part.places > 0 || part.damaged > 0 {
            return Look::Damaged;
        }
        if part.foreign > records {
            return Look::Foreign;
        }
        // Eighths of the records that are live.
        match u128::from(part.live) * 8 / u128::from(records.max(1)) {
            _ if records == 0 => Look::Other,
            7.. => Look::Live,
            4..7 => Look::MostlyLive,
            1..4 => Look::MostlyDead,
            0 => Look::Dead,
        }
    }

    fn character(self, ascii: bool) -> char {
        let (unicode, plain) = match self {
            Look::Live => ('█', '#'),
            Look::MostlyLive => ('▓', '+'),
            Look::MostlyDead => ('▒', '-'),
            Look::Dead => ('░', '.'),
            Look::Damaged => ('×', 'x'),
            Look::Foreign => ('?', '?'),
            Look::Other => ('·', '_'),
        };
        if ascii { plain } else { unicode }
    }

    /// How a terminal is told its colour.
    fn colour(self) -> &'static str {
        match self {
            Look::Live | Look::MostlyLive => "34",
            Look::MostlyDead | Look::Dead => "36",
            Look::Damaged => "1;31",
            Look::Foreign => "35",
            Look::Other => "2",
        }
    }
}

fn painted(look: Look, text: &str, colored: bool) -> String {
    if colored { format!("\u{1b}[{}m{text}\u{1b}[0m", look.colour()) } else { text.to_owned() }
}

/// A bar that is full where `value` is `most`. What is more than nothing is seen.
pub(super) fn bar(value: u64, most: u64, ascii: bool) -> String {
    let eighths = u128::from(value) * WIDTH as u128 * 8 / u128::from(most.max(1));
    let eighths = usize::try_from(eighths).unwrap_or(0).min(WIDTH * 8).max(usize::from(value > 0));
    if ascii {
        return "#".repeat(eighths.div_ceil(8));
    }
    let rest = ["", "▏", "▎", "▍", "▌", "▋", "▊", "▉"][eighths % 8];
    "█".repeat(eighths / 8) + rest
}

/// A file as a strip, with the offsets at both ends of each line.
pub(super) fn strip(parts: &[Part], ascii: bool, colored: bool) -> String {
    let mut text = String::new();
    for line in parts.chunks(LINE) {
        text.push_str("  ");
        for run in line.chunk_by(|a, b| Look::of(a) == Look::of(b)) {
            let look = Look::of(&run[0]);
            let characters: String = run.iter().map(|_| look.character(ascii)).collect();
            text.push_str(&painted(look, &characters, colored));
        }
        let (start, end) = (line[0].start, line[line.len() - 1].end);
        let room = line.len().saturating_sub(start.to_string().len()).max(1 + end.to_string().len());
        text.push_str(&format!("\n  {start}{end:>room$}\n"));
    }
    text
}

/// What the characters of a strip stand for.
pub(super) fn key(ascii: bool, colored: bool) -> String {
    let one = |look: Look| painted(look, &look.character(ascii).to_string(), colored);
    format!(
        "{} live  {} {} some of each  {} dead  {} damaged  {} foreign  {} neither",
        one(Look::Live),
        one(Look::MostlyLive),
        one(Look::MostlyDead),
        one(Look::Dead),
        one(Look::Damaged),
        one(Look::Foreign),
        one(Look::Other)
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_bar_is_as_long_as_its_share_and_never_longer_than_full() {
        assert_eq!([bar(0, 10, true), bar(1, 1_000_000, true), bar(5, 10, true)], ["", "#", "############"]);
        for (value, most) in [(10, 10), (u64::MAX, u64::MAX), (3, 0)] {
            assert_eq!(bar(value, most, false), "█".repeat(WIDTH));
        }
        assert_eq!(bar(1, 1_000_000, false), "▏");
    }

    #[test]
    fn damage_is_seen_however_little_of_a_part_it_is() {
        let live = Part { end: 1_000_000, live: 999_999, ..Part::default() };
        assert_eq!(Look::of(&live), Look::Live);
        assert_eq!(Look::of(&Part { damaged: 1, ..live }), Look::Damaged);
        assert_eq!(Look::of(&Part { places: 1, ..live }), Look::Damaged);
        let shares = [(8, 0), (4, 4), (1, 7), (0, 8)].map(|(live, dead)| Part { live, dead, ..Part::default() });
        assert_eq!(shares.map(|part| Look::of(&part).character(true)), ['#', '+', '-', '.']);
    }
}
