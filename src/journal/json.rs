//! A strict JSON reader over bytes: RFC 8259, with the place of the first failure.
//!
//! It builds nothing. It walks one text, says where values begin and end, and notes three things that are valid JSON
//! but that the daemon's reader refuses: deep nesting, numbers beyond a 64-bit float, and lone surrogate escapes.
//! Nesting is kept in bits on the heap, so no depth can overflow the stack. UTF-8 is checked elsewhere: bytes of
//! 0x80 and above pass here inside strings.

use std::borrow::Cow;

/// The daemon's reader takes this many open arrays and objects at once, and no more (serde_json's limit of 128).
pub const DAEMON_DEPTH: usize = 127;

/// Fewer digits than these cannot leave the range of a 64-bit float.
const LONG_NUMBER: usize = 300;

/// Why and where a text stops being JSON.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Fail {
    /// Offset of the first byte that cannot be there; the text's length where it ended too early.
    pub at: usize,
    /// What is wrong there, to be read after "at byte N".
    pub why: &'static str,
}

/// Offsets of the first place where valid JSON is more than the daemon reads.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Quirks {
    /// The bracket that opens level [`DAEMON_DEPTH`] + 1.
    pub too_deep: Option<usize>,
    /// A number that no 64-bit float holds.
    pub number_out_of_range: Option<usize>,
    /// An escape that is half of a surrogate pair.
    pub lone_surrogate: Option<usize>,
}

impl Quirks {
    /// Whether the daemon reads all of it.
    #[must_use]
    pub fn none(&self) -> bool {
        *self == Quirks::default()
    }
}

/// A string token: the range between its quotes, and whether it has escapes.
#[derive(Clone, Copy, Debug)]
pub struct Text {
    /// Offset behind the opening quote.
    pub start: usize,
    /// Offset of the closing quote.
    pub end: usize,
    /// Whether a backslash occurs in it.
    pub escaped: bool,
}

/// A number token.
#[derive(Clone, Copy, Debug)]
pub struct Number {
    /// Offset of its first byte.
    pub start: usize,
    /// Offset behind its last byte.
    pub end: usize,
    /// Whether it is written without sign, fraction and exponent.
    pub natural: bool,
}

/// A place in a text, and what was seen on the way there.
#[derive(Clone, Debug)]
pub struct Cursor<'a> {
    text: &'a [u8],
    /// Offset of the next byte.
    pub pos: usize,
    /// Arrays and objects open here.
    pub depth: usize,
    /// What the daemon would stumble over so far.
    pub quirks: Quirks,
}

type Step<T> = Result<T, Fail>;

/// Which of the open containers are objects; one bit a level.
#[derive(Default)]
struct Nest {
    bits: Vec<u64>,
    top: u64,
    used: u32,
}

impl Nest {
    fn push(&mut self, object: bool) {
        if self.used == 64 {
            self.bits.push(self.top);
            self.used = 0;
        }
        self.top = (self.top << 1) | u64::from(object);
        self.used += 1;
    }
    fn pop(&mut self) {
        self.top >>= 1;
        self.used -= 1;
        if self.used == 0
            && let Some(bits) = self.bits.pop()
        {
            self.top = bits;
            self.used = 64;
        }
    }
    fn is_empty(&self) -> bool {
        self.used == 0
    }
    fn in_object(&self) -> bool {
        self.top & 1 == 1
    }
}

impl<'a> Cursor<'a> {
    /// A cursor at the start of `text`.
    #[must_use]
    pub fn new(text: &'a [u8]) -> Cursor<'a> {
        Cursor { text, pos: 0, depth: 0, quirks: Quirks::default() }
    }

    /// The text that is read.
    #[must_use]
    pub fn text(&self) -> &'a [u8] {
        self.text
    }

    /// The next byte, without taking it.
    #[must_use]
    #[inline]
    pub fn peek(&self) -> Option<u8> {
        self.text.get(self.pos).copied()
    }

    /// Skips JSON white space.
    #[inline]
    pub fn space(&mut self) {
        self.pos = past_space(self.text, self.pos);
    }

    /// A failure at the next byte.
    #[must_use]
    pub fn fail(&self, why: &'static str) -> Fail {
        let ended = self.pos >= self.text.len();
        Fail { at: self.pos, why: if ended { "the text ends too early" } else { why } }
    }

    /// Takes `byte`, or fails with `why`.
    #[inline]
    pub fn expect(&mut self, byte: u8, why: &'static str) -> Step<()> {
        if self.peek() == Some(byte) {
            self.pos += 1;
            return Ok(());
        }
        Err(self.fail(why))
    }

    /// Takes an opening bracket that [`Cursor::peek`] has seen.
    #[inline]
    pub fn open(&mut self) {
        if self.depth == DAEMON_DEPTH && self.quirks.too_deep.is_none() {
            self.quirks.too_deep = Some(self.pos);
        }
        self.depth += 1;
        self.pos += 1;
    }

    /// Takes a closing bracket that [`Cursor::peek`] has seen.
    #[inline]
    pub fn close(&mut self) {
        self.depth -= 1;
        self.pos += 1;
    }

    /// Takes a string, the cursor being on its opening quote.
    #[inline]
    pub fn string(&mut self) -> Step<Text> {
        let start = self.pos + 1;
        let mut escaped = false;
        self.pos = start;
        loop {
            self.pos = past_plain(self.text, self.pos);
            match self.peek() {
                Some(b'"') => {
                    let end = self.pos;
                    self.pos += 1;
                    return Ok(Text { start, end, escaped });
                }
                Some(b'\\') => {
                    escaped = true;
                    self.escape()?;
                }
                _ => return Err(self.fail("a raw control character in a string")),
            }
        }
    }

    /// Takes one escape, noting a lone surrogate.
    fn escape(&mut self) -> Step<()> {
        let at = self.pos;
        self.pos += 1;
        match self.peek() {
            Some(b'"' | b'\\' | b'/' | b'b' | b'f' | b'n' | b'r' | b't') => self.pos += 1,
            Some(b'u') => {
                self.pos += 1;
                let unit = self.hex4()?;
                let lone = match unit {
                    0xD800..=0xDBFF if self.text.get(self.pos..self.pos + 2) == Some(b"\\u") => {
                        let back = self.pos;
                        self.pos += 2;
                        let low = self.hex4()?;
                        let pair = (0xDC00..=0xDFFF).contains(&low);
                        if !pair {
                            self.pos = back;
                        }
                        !pair
                    }
                    0xD800..=0xDFFF => true,
                    _ => false,
                };
                if lone && self.quirks.lone_surrogate.is_none() {
                    self.quirks.lone_surrogate = Some(at);
                }
            }
            _ => return Err(self.fail("an escape that JSON does not have")),
        }
        Ok(())
    }

    fn hex4(&mut self) -> Step<u16> {
        let mut unit = 0u16;
        for _ in 0..4 {
            let digit = match self.peek() {
                Some(b @ b'0'..=b'9') => b - b'0',
                Some(b @ b'a'..=b'f') => b - b'a' + 10,
                Some(b @ b'A'..=b'F') => b - b'A' + 10,
                _ => return Err(self.fail("an escape without four hex digits")),
            };
            unit = (unit << 4) | u16::from(digit);
            self.pos += 1;
        }
        Ok(unit)
    }

    #[inline]
    fn digits(&mut self) {
        self.pos = past_digits(self.text, self.pos);
    }

    /// Takes a number, the cursor being on its first byte.
    #[inline]
    pub fn number(&mut self) -> Step<Number> {
        let start = self.pos;
        let mut natural = true;
        if self.peek() == Some(b'-') {
            natural = false;
            self.pos += 1;
        }
        match self.peek() {
            Some(b'0') => self.pos += 1,
            Some(b'1'..=b'9') => self.digits(),
            _ => return Err(self.fail("no digit where a number must have one")),
        }
        if natural && self.pos - start == 1 && self.text[start] == b'0' && matches!(self.peek(), Some(b'0'..=b'9')) {
            return Err(self.fail("a number with a leading zero"));
        }
        let mut exponent = false;
        if self.peek() == Some(b'.') {
            natural = false;
            self.pos += 1;
            if !matches!(self.peek(), Some(b'0'..=b'9')) {
                return Err(self.fail("no digit behind the decimal point"));
            }
            self.digits();
        }
        if let Some(b'e' | b'E') = self.peek() {
            natural = false;
            exponent = true;
            self.pos += 1;
            if let Some(b'+' | b'-') = self.peek() {
                self.pos += 1;
            }
            if !matches!(self.peek(), Some(b'0'..=b'9')) {
                return Err(self.fail("no digit in the exponent"));
            }
            self.digits();
        }
        // Only an exponent or some 300 digits can leave the range; the daemon's own reader then decides.
        if (exponent || self.pos - start > LONG_NUMBER)
            && self.quirks.number_out_of_range.is_none()
            && serde_json::from_slice::<serde_json::Number>(&self.text[start..self.pos]).is_err()
        {
            self.quirks.number_out_of_range = Some(start);
        }
        Ok(Number { start, end: self.pos, natural })
    }

    #[inline]
    fn word(&mut self, word: &'static [u8]) -> Step<()> {
        let rest = &self.text[self.pos..];
        if rest.starts_with(word) {
            self.pos += word.len();
            return Ok(());
        }
        self.pos += rest.iter().zip(word).take_while(|(a, b)| a == b).count();
        Err(self.fail("a word that is not true, false or null"))
    }

    /// Takes a string, number, true, false or null; `false` when the next byte opens a container instead.
    #[inline]
    fn scalar(&mut self) -> Step<bool> {
        match self.peek() {
            Some(b'"') => self.string().map(|_| true),
            Some(b'{' | b'[') => Ok(false),
            Some(b'-' | b'0'..=b'9') => self.number().map(|_| true),
            Some(b't') => self.word(b"true").map(|()| true),
            Some(b'f') => self.word(b"false").map(|()| true),
            Some(b'n') => self.word(b"null").map(|()| true),
            _ => Err(self.fail("no value where one must be")),
        }
    }

    /// Takes a member's name and its colon, and the white space behind it.
    #[inline]
    pub fn name(&mut self) -> Step<Text> {
        if self.peek() != Some(b'"') {
            return Err(self.fail("no member name where one must be"));
        }
        let name = self.string()?;
        self.space();
        self.expect(b':', "no colon behind a member name")?;
        self.space();
        Ok(name)
    }

    /// Takes one whole value, however deep, without building it.
    ///
    /// What most journals are made of, strings without escapes and numbers without exponents, is passed over with the
    /// place kept in a register; whatever else comes goes through the methods above, which also name the failures.
    pub fn skip(&mut self) -> Step<()> {
        let text = self.text;
        let mut nest = Nest::default();
        let mut pos = self.pos;
        loop {
            // A value begins here.
            let fast = match text.get(pos) {
                Some(b'"') => plain_string(text, pos),
                Some(b'-' | b'0'..=b'9') => plain_number(text, pos),
                _ => None,
            };
            if let Some(end) = fast {
                pos = end;
            } else {
                self.pos = pos;
                if !self.scalar()? {
                    let object = self.peek() == Some(b'{');
                    self.open();
                    self.space();
                    if self.peek() == Some(if object { b'}' } else { b']' }) {
                        self.close();
                    } else {
                        nest.push(object);
                        if object {
                            self.name()?;
                        }
                        pos = self.pos;
                        continue;
                    }
                }
                pos = self.pos;
            }
            // A value has ended here.
            loop {
                if nest.is_empty() {
                    self.pos = pos;
                    return Ok(());
                }
                pos = past_space(text, pos);
                let object = nest.in_object();
                match text.get(pos) {
                    Some(b',') => {
                        pos = past_space(text, pos + 1);
                        if object {
                            pos = match plain_name(text, pos) {
                                Some(end) => end,
                                None => {
                                    self.pos = pos;
                                    self.name()?;
                                    self.pos
                                }
                            };
                        }
                        break;
                    }
                    Some(b'}') if object => {}
                    Some(b']') if !object => {}
                    _ => {
                        self.pos = pos;
                        return Err(self.fail(match object {
                            true => "neither a comma nor the end of the object",
                            false => "neither a comma nor the end of the array",
                        }));
                    }
                }
                self.depth -= 1;
                pos += 1;
                nest.pop();
            }
        }
    }
}

/// Offset of the first byte from `pos` on that is no JSON white space.
#[inline(always)]
fn past_space(text: &[u8], mut pos: usize) -> usize {
    while let Some(b' ' | b'\t' | b'\n' | b'\r') = text.get(pos) {
        pos += 1;
    }
    pos
}

/// Offset of the first byte from `pos` on that does not stand for itself in a string: a quote, a backslash, a control
/// character, or the end.
#[inline(always)]
fn past_plain(text: &[u8], mut pos: usize) -> usize {
    // Most strings are short.
    for _ in 0..2 {
        let Some(chunk) = text.get(pos..).and_then(<[u8]>::first_chunk::<8>) else { break };
        let hit = special(u64::from_le_bytes(*chunk));
        if hit != 0 {
            return pos + (hit.trailing_zeros() / 8) as usize;
        }
        pos += 8;
    }
    past_long_plain(text, pos)
}

#[inline(never)]
fn past_long_plain(text: &[u8], mut pos: usize) -> usize {
    // This is what a compiler turns into vector instructions.
    let plain = |byte: &u8| (*byte != b'"') & (*byte != b'\\') & (*byte >= 0x20);
    while let Some(chunk) = text.get(pos..).and_then(<[u8]>::first_chunk::<64>)
        && chunk.iter().fold(true, |all, byte| all & plain(byte))
    {
        pos += 64;
    }
    while let Some(chunk) = text.get(pos..).and_then(<[u8]>::first_chunk::<8>) {
        let hit = special(u64::from_le_bytes(*chunk));
        if hit != 0 {
            return pos + (hit.trailing_zeros() / 8) as usize;
        }
        pos += 8;
    }
    while text.get(pos).is_some_and(plain) {
        pos += 1;
    }
    pos
}

/// Offset of the first byte from `pos` on that is no digit.
#[inline(always)]
fn past_digits(text: &[u8], mut pos: usize) -> usize {
    while let Some(chunk) = text.get(pos..).and_then(<[u8]>::first_chunk::<8>) {
        let hit = no_digit(u64::from_le_bytes(*chunk));
        if hit != 0 {
            return pos + (hit.trailing_zeros() / 8) as usize;
        }
        pos += 8;
    }
    while let Some(b'0'..=b'9') = text.get(pos) {
        pos += 1;
    }
    pos
}

/// Offset behind a string without escapes that begins at `pos`.
#[inline(always)]
fn plain_string(text: &[u8], pos: usize) -> Option<usize> {
    let end = past_plain(text, pos + 1);
    (text.get(end) == Some(&b'"')).then_some(end + 1)
}

/// Offset of the value behind a member's name without escapes that begins at `pos`.
#[inline(always)]
fn plain_name(text: &[u8], pos: usize) -> Option<usize> {
    if text.get(pos) != Some(&b'"') {
        return None;
    }
    let end = plain_string(text, pos)?;
    (text.get(end) == Some(&b':')).then(|| past_space(text, end + 1))
}

/// Offset behind a number without an exponent that begins at `pos`, and that every reader holds.
#[inline(always)]
fn plain_number(text: &[u8], pos: usize) -> Option<usize> {
    let first = pos + usize::from(text.get(pos) == Some(&b'-'));
    let mut end = past_digits(text, first);
    let zero = text.get(first) == Some(&b'0');
    if end == first || (zero && end > first + 1) {
        return None;
    }
    if text.get(end) == Some(&b'.') {
        let point = end;
        end = past_digits(text, point + 1);
        if end == point + 1 {
            return None;
        }
    }
    let goes_on = matches!(text.get(end), Some(b'e' | b'E'));
    (!goes_on && end - pos <= LONG_NUMBER).then_some(end)
}

/// Marks, in a word of eight bytes, the first that is a quote, a backslash or a control character.
///
/// Marks above the first may be false (a borrow travels upwards), so only the lowest one counts.
#[inline]
fn special(word: u64) -> u64 {
    const ONES: u64 = 0x0101_0101_0101_0101;
    const HIGH: u64 = 0x8080_8080_8080_8080;
    let zero = |w: u64| w.wrapping_sub(ONES) & !w & HIGH;
    let control = word.wrapping_sub(ONES * 0x20) & !word & HIGH;
    zero(word ^ (ONES * b'"' as u64)) | zero(word ^ (ONES * b'\\' as u64)) | control
}

/// Marks, in a word of eight bytes, those that are no digits.
#[inline]
fn no_digit(word: u64) -> u64 {
    const ONES: u64 = 0x0101_0101_0101_0101;
    let value = word ^ (ONES * b'0' as u64);
    // Above nine, the seven low bits carry into the eighth, which is set already where the byte is not ASCII.
    (((value & (ONES * 0x7F)) + ONES * (0x80 - 10)) | value) & (ONES * 0x80)
}

/// Checks that `text` is exactly one JSON value with nothing but white space around it.
///
/// Returns the value's own range and what the daemon would stumble over when `depth` levels are open around it.
pub fn whole(text: &[u8], depth: usize) -> Result<(std::ops::Range<usize>, Quirks), Fail> {
    let mut cursor = Cursor::new(text);
    cursor.depth = depth;
    cursor.space();
    let start = cursor.pos;
    cursor.skip()?;
    let end = cursor.pos;
    cursor.space();
    if cursor.pos < text.len() {
        return Err(cursor.fail("something behind the JSON value"));
    }
    Ok((start..end, cursor.quirks))
}

/// The characters of a string token's inside. A lone surrogate becomes U+FFFD: such text is for the eye, and to tell
/// ids apart it must be compared as it is written.
#[must_use]
pub fn unescape(inside: &[u8]) -> Cow<'_, str> {
    if memchr::memchr(b'\\', inside).is_none() {
        return match std::str::from_utf8(inside) {
            Ok(text) => Cow::Borrowed(text),
            Err(_) => String::from_utf8_lossy(inside),
        };
    }
    let mut out = Vec::with_capacity(inside.len());
    let mut units: Vec<u16> = Vec::new();
    let mut rest = inside;
    while let Some(at) = memchr::memchr(b'\\', rest) {
        if at > 0 {
            flush(&mut units, &mut out);
        }
        out.extend_from_slice(&rest[..at]);
        let (unit, used) = match rest.get(at + 1) {
            Some(b'u') => {
                let hex = rest.get(at + 2..at + 6).and_then(|h| std::str::from_utf8(h).ok());
                (hex.and_then(|h| u16::from_str_radix(h, 16).ok()).unwrap_or(0xFFFD), 6)
            }
            Some(b'b') => (8, 2),
            Some(b'f') => (12, 2),
            Some(b'n') => (10, 2),
            Some(b'r') => (13, 2),
            Some(b't') => (9, 2),
            Some(other) => (u16::from(*other), 2),
            None => (0xFFFD, 1),
        };
        units.push(unit);
        rest = rest.get(at + used..).unwrap_or_default();
    }
    flush(&mut units, &mut out);
    out.extend_from_slice(rest);
    Cow::Owned(String::from_utf8(out).unwrap_or_else(|e| String::from_utf8_lossy(e.as_bytes()).into_owned()))
}

fn flush(units: &mut Vec<u16>, out: &mut Vec<u8>) {
    for c in char::decode_utf16(units.drain(..)) {
        let c = c.unwrap_or(char::REPLACEMENT_CHARACTER);
        out.extend_from_slice(c.encode_utf8(&mut [0; 4]).as_bytes());
    }
}

/// Whether a byte is white space of JSON.
#[must_use]
pub fn is_space(byte: u8) -> bool {
    matches!(byte, b' ' | b'\t' | b'\n' | b'\r')
}

/// A streaming remover of the white space between tokens. Nothing else changes: numbers, member order, escapes and
/// duplicate members stay as written. Where the white space is all that keeps two words apart, one space stays: such
/// a text is no JSON, and must not become any.
#[derive(Clone, Copy, Debug, Default)]
pub struct Squeeze {
    in_string: bool,
    after_backslash: bool,
    /// White space was left out since the last byte.
    gap: bool,
    /// The last byte is part of a number or word.
    word: bool,
}

impl Squeeze {
    /// Appends the next stretch of a text to `out`, without the white space between its tokens.
    pub fn squeeze(&mut self, text: &[u8], out: &mut Vec<u8>) {
        for byte in text {
            if !self.keep(*byte) {
                self.gap = true;
                continue;
            }
            let word = !self.in_string && (byte.is_ascii_alphanumeric() || matches!(byte, b'+' | b'-' | b'.'));
            if self.gap && self.word && word {
                out.push(b' ');
            }
            (self.gap, self.word) = (false, word);
            out.push(*byte);
        }
    }

    /// How many bytes of a JSON text are not white space between tokens.
    #[must_use]
    pub fn compact_len(text: &[u8]) -> u64 {
        let mut squeeze = Squeeze::default();
        text.iter().filter(|b| squeeze.keep(**b)).count() as u64
    }

    fn keep(&mut self, byte: u8) -> bool {
        if self.in_string {
            if self.after_backslash {
                self.after_backslash = false;
            } else if byte == b'\\' {
                self.after_backslash = true;
            } else if byte == b'"' {
                self.in_string = false;
            }
            return true;
        }
        self.in_string = byte == b'"';
        !is_space(byte)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn fail_at(text: &str) -> usize {
        whole(text.as_bytes(), 0).unwrap_err().at
    }

    #[test]
    fn grammar_of_numbers() {
        for good in ["0", "-0", "1", "10", "1.5", "-1.5e+7", "1E-7", "12345678901234567890123", "0e1"] {
            assert!(whole(good.as_bytes(), 0).is_ok(), "{good}");
        }
        for (bad, at) in [("01", 1), ("-", 1), ("1.", 2), ("1.e1", 2), ("1e", 2), ("+1", 0), (".5", 0), ("-01", 2)] {
            assert_eq!(fail_at(bad), at, "{bad}");
        }
    }

    #[test]
    fn failures_name_the_first_impossible_byte() {
        for (bad, at) in [
            ("{\"a\":tru{", 8),
            ("{\"a\":1", 6),
            ("\"\\x\"", 2),
            ("\"\\u12g4\"", 5),
            ("[1,]", 3),
            ("{,}", 1),
            ("{\"a\" 1}", 5),
            ("[1}", 2),
            ("\"a\nb\"", 2),
            ("nul", 3),
            ("{} x", 3),
            ("", 0),
        ] {
            assert_eq!(fail_at(bad), at, "{bad}");
        }
    }

    #[test]
    fn quirks_are_noted_and_not_refused() {
        let quirks = |text: &str| whole(text.as_bytes(), 0).unwrap().1;
        assert_eq!(quirks("[1e400]").number_out_of_range, Some(1));
        assert!(quirks("[1e308,0e999,1e-999]").none());
        assert_eq!(quirks(&format!("[{}]", "9".repeat(400))).number_out_of_range, Some(1));
        assert_eq!(quirks("[\"\\ud83d\"]").lone_surrogate, Some(2));
        assert_eq!(quirks("\"\\ud83d\\ud83d\\ude80\"").lone_surrogate, Some(1));
        assert_eq!(quirks("\"\\udc00\\ud800\"").lone_surrogate, Some(1));
        assert!(quirks("\"\\ud83d\\ude80\"").none());
        let deep = format!("{}{}", "[".repeat(128), "]".repeat(128));
        assert_eq!(quirks(&deep).too_deep, Some(127));
        assert!(quirks(&deep[1..255]).none());
    }

    #[test]
    fn a_million_levels_overflow_nothing() {
        let deep = "[".repeat(1_000_000) + &"]".repeat(1_000_000);
        assert!(whole(deep.as_bytes(), 0).is_ok());
        let deep = "{\"a\":".repeat(300) + "1" + &"}".repeat(299) + "]";
        assert_eq!(fail_at(&deep), deep.len() - 1);
    }

    #[test]
    fn unescape_joins_pairs_and_marks_halves() {
        assert_eq!(unescape(br"a\u0041\ud83d\ude80\n\/"), "aA\u{1F680}\n/");
        assert_eq!(unescape(br"\ud83dx"), "\u{FFFD}x");
        assert_eq!(unescape("é".as_bytes()), "é");
    }

    #[test]
    fn squeeze_touches_only_space_between_tokens() {
        let text = b"{ \"a \\\" b\" :\n [1.10 ,\t-0 ] }\r\n";
        let want = b"{\"a \\\" b\":[1.10,-0]}";
        assert_eq!(Squeeze::compact_len(text), want.len() as u64);
        for cut in 0..text.len() {
            let (mut squeeze, mut out) = (Squeeze::default(), Vec::new());
            squeeze.squeeze(&text[..cut], &mut out);
            squeeze.squeeze(&text[cut..], &mut out);
            assert_eq!(out, want);
        }
    }

    #[test]
    fn squeeze_never_makes_json_of_what_is_none() {
        for text in ["1\n2", "[1\n2]", "tr\nue", "-\n1", "[1 .5]"] {
            let mut out = Vec::new();
            Squeeze::default().squeeze(text.as_bytes(), &mut out);
            assert!(whole(&out, 0).is_err(), "{text:?}");
        }
    }

    /// serde_json's generic reader is the daemon's: whatever it takes must be clean here, and the other way round.
    fn agrees(text: &str) {
        let ours = whole(text.as_bytes(), 0).is_ok_and(|(_, quirks)| quirks.none());
        let daemon = serde_json::from_str::<serde_json::Value>(text).is_ok();
        assert_eq!(ours, daemon, "{text:?}");
    }

    proptest::proptest! {
        #[test]
        fn the_daemon_agrees_on_random_texts(text in "[\\[\\]{}:,\"\\\\a\\-0-9.eEu truefalsn\\x01é]{0,24}") {
            agrees(&text);
        }

        #[test]
        fn the_daemon_agrees_on_damaged_json(cut in 0usize..100, byte in 0u8..128, keep in proptest::bool::ANY) {
            let mut text = br#"{"a":[1,-2.5e3,"x\u00e9\ud83d\ude80\n",true,false,null,{"":{}}],"b":"\\\""}"#.to_vec();
            let cut = cut % text.len();
            if keep { text[cut] = byte } else { text.truncate(cut) }
            if let Ok(text) = std::str::from_utf8(&text) { agrees(text) }
        }
    }
}
