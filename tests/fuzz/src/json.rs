//! JSON after RFC 8259, read in the plainest way, to hold the tool's readers against. It builds everything, keeps every
//! token as it is written, and knows no limits.

use std::ops::Range;

/// A value and where it stands.
#[derive(Clone, Debug)]
pub struct Value {
    /// Its place in the text.
    pub at: Range<usize>,
    /// What it is.
    pub what: What,
}

/// What a value is.
#[derive(Clone, Debug)]
pub enum What {
    /// `true`, `false` or `null`.
    Word(&'static str),
    /// A number, as it is written.
    Number(String),
    /// A string.
    Text(Text),
    /// An array.
    List(Vec<Value>),
    /// An object; a name may occur several times.
    Object(Vec<(Text, Value)>),
}

/// A string.
#[derive(Clone, Debug)]
pub struct Text {
    /// Between the quotes, as it is written.
    pub raw: Vec<u8>,
    /// Its UTF-16 units.
    units: Vec<u16>,
}

impl Text {
    /// Its characters; `None` where half of a surrogate pair is among them.
    #[must_use]
    pub fn chars(&self) -> Option<String> {
        String::from_utf16(&self.units).ok()
    }

    /// Whether these are its characters.
    #[must_use]
    pub fn is(&self, text: &str) -> bool {
        self.units.iter().copied().eq(text.encode_utf16())
    }
}

/// Two texts are the same where their characters are; one with half of a surrogate pair only where it is written the same.
impl PartialEq for Text {
    fn eq(&self, other: &Text) -> bool {
        match (self.chars(), other.chars()) {
            (Some(one), Some(two)) => one == two,
            (None, None) => self.raw == other.raw,
            _ => false,
        }
    }
}

/// Reads a text that is one value with white space around it; else says which byte cannot be there.
pub fn parse(text: &[u8]) -> Result<Value, usize> {
    let mut reader = Reader { text, pos: 0 };
    reader.space();
    let value = reader.value()?;
    reader.space();
    if reader.pos == text.len() { Ok(value) } else { Err(reader.pos) }
}

/// Whether two values say the same: numbers as they are written, members in any order, and where a name occurs several
/// times, the first like the first, and so on. From `levels` open containers on, only how they are written counts.
#[must_use]
pub fn same(one: (&[u8], &Value), two: (&[u8], &Value), levels: usize) -> bool {
    match (&one.1.what, &two.1.what) {
        (What::Word(a), What::Word(b)) => a == b,
        (What::Number(a), What::Number(b)) => a == b,
        (What::Text(a), What::Text(b)) => a == b,
        (What::List(_), What::List(_)) | (What::Object(_), What::Object(_)) if levels == 0 => {
            compact(one.0, one.1) == compact(two.0, two.1)
        }
        (What::List(a), What::List(b)) => {
            a.len() == b.len() && a.iter().zip(b).all(|(a, b)| same((one.0, a), (two.0, b), levels - 1))
        }
        (What::Object(a), What::Object(b)) => {
            let of = |all: &[(Text, Value)], name: &Text| -> Vec<Value> {
                all.iter().filter(|(own, _)| own == name).map(|(_, value)| value.clone()).collect()
            };
            a.len() == b.len()
                && a.iter().all(|(name, _)| {
                    let (a, b) = (of(a, name), of(b, name));
                    a.len() == b.len() && a.iter().zip(&b).all(|(a, b)| same((one.0, a), (two.0, b), levels - 1))
                })
        }
        _ => false,
    }
}

/// A value without the white space between its tokens.
#[must_use]
pub fn compact(text: &[u8], value: &Value) -> Vec<u8> {
    let mut out = Vec::new();
    write(text, value, &mut out);
    out
}

fn write(text: &[u8], value: &Value, out: &mut Vec<u8>) {
    let quoted = |text: &Text, out: &mut Vec<u8>| {
        out.push(b'"');
        out.extend_from_slice(&text.raw);
        out.push(b'"');
    };
    match &value.what {
        What::List(all) => {
            out.push(b'[');
            for (n, one) in all.iter().enumerate() {
                if n > 0 {
                    out.push(b',');
                }
                write(text, one, out);
            }
            out.push(b']');
        }
        What::Object(all) => {
            out.push(b'{');
            for (n, (name, one)) in all.iter().enumerate() {
                if n > 0 {
                    out.push(b',');
                }
                quoted(name, out);
                out.push(b':');
                write(text, one, out);
            }
            out.push(b'}');
        }
        _ => out.extend_from_slice(&text[value.at.clone()]),
    }
}

impl Value {
    /// The members of an object; none of anything else.
    #[must_use]
    pub fn members(&self) -> &[(Text, Value)] {
        if let What::Object(all) = &self.what { all } else { &[] }
    }

    /// A member of an object, the first of this name.
    #[must_use]
    pub fn get(&self, name: &str) -> Option<&Value> {
        self.members().iter().find(|(own, _)| own.is(name)).map(|(_, value)| value)
    }

    /// The characters of a string.
    #[must_use]
    pub fn text(&self) -> Option<String> {
        if let What::Text(text) = &self.what { text.chars() } else { None }
    }

    /// Whether any object in it has a name twice.
    #[must_use]
    pub fn repeats(&self) -> bool {
        match &self.what {
            What::List(all) => all.iter().any(Value::repeats),
            What::Object(all) => {
                let twice = |(n, (name, _)): (usize, &(Text, Value))| all[..n].iter().any(|(own, _)| own == name);
                all.iter().enumerate().any(twice) || all.iter().any(|(_, value)| value.repeats())
            }
            _ => false,
        }
    }

    /// Hands out the characters of every string that is a value, in order.
    pub fn each_text(&self, take: &mut dyn FnMut(String)) {
        match &self.what {
            What::Text(text) => text.chars().into_iter().for_each(take),
            What::List(all) => all.iter().for_each(|one| one.each_text(take)),
            What::Object(all) => all.iter().for_each(|(_, one)| one.each_text(take)),
            What::Word(_) | What::Number(_) => {}
        }
    }
}

struct Reader<'t> {
    text: &'t [u8],
    pos: usize,
}

impl Reader<'_> {
    fn peek(&self) -> Option<u8> {
        self.text.get(self.pos).copied()
    }

    fn space(&mut self) {
        while matches!(self.peek(), Some(b' ' | b'\t' | b'\n' | b'\r')) {
            self.pos += 1;
        }
    }

    fn expect(&mut self, byte: u8) -> Result<(), usize> {
        if self.peek() != Some(byte) {
            return Err(self.pos);
        }
        self.pos += 1;
        Ok(())
    }

    fn value(&mut self) -> Result<Value, usize> {
        let from = self.pos;
        let what = match self.peek() {
            Some(b'"') => What::Text(self.string()?),
            Some(b'{') => self.object()?,
            Some(b'[') => self.list()?,
            Some(b't') => self.word("true")?,
            Some(b'f') => self.word("false")?,
            Some(b'n') => self.word("null")?,
            _ => self.number()?,
        };
        Ok(Value { at: from..self.pos, what })
    }

    fn word(&mut self, word: &'static str) -> Result<What, usize> {
        word.bytes().try_for_each(|byte| self.expect(byte))?;
        Ok(What::Word(word))
    }

    fn digits(&mut self) -> Result<(), usize> {
        if !matches!(self.peek(), Some(b'0'..=b'9')) {
            return Err(self.pos);
        }
        while matches!(self.peek(), Some(b'0'..=b'9')) {
            self.pos += 1;
        }
        Ok(())
    }

    fn number(&mut self) -> Result<What, usize> {
        let from = self.pos;
        if self.peek() == Some(b'-') {
            self.pos += 1;
        }
        if self.peek() == Some(b'0') {
            self.pos += 1;
        } else {
            self.digits()?;
        }
        if self.peek() == Some(b'.') {
            self.pos += 1;
            self.digits()?;
        }
        if matches!(self.peek(), Some(b'e' | b'E')) {
            self.pos += 1;
            if matches!(self.peek(), Some(b'+' | b'-')) {
                self.pos += 1;
            }
            self.digits()?;
        }
        Ok(What::Number(String::from_utf8_lossy(&self.text[from..self.pos]).into_owned()))
    }

    fn list(&mut self) -> Result<What, usize> {
        self.pos += 1;
        self.space();
        let mut all = Vec::new();
        if self.peek() != Some(b']') {
            loop {
                all.push(self.value()?);
                self.space();
                if self.peek() != Some(b',') {
                    break;
                }
                self.pos += 1;
                self.space();
            }
        }
        self.expect(b']')?;
        Ok(What::List(all))
    }

    fn object(&mut self) -> Result<What, usize> {
        self.pos += 1;
        self.space();
        let mut all = Vec::new();
        if self.peek() != Some(b'}') {
            loop {
                let name = self.string()?;
                self.space();
                self.expect(b':')?;
                self.space();
                all.push((name, self.value()?));
                self.space();
                if self.peek() != Some(b',') {
                    break;
                }
                self.pos += 1;
                self.space();
            }
        }
        self.expect(b'}')?;
        Ok(What::Object(all))
    }

    fn string(&mut self) -> Result<Text, usize> {
        self.expect(b'"')?;
        let from = self.pos;
        let mut units = Vec::new();
        let mut plain = self.pos;
        loop {
            match self.peek() {
                Some(b'"') | Some(b'\\') => {
                    units.extend(String::from_utf8_lossy(&self.text[plain..self.pos]).encode_utf16());
                    if self.peek() == Some(b'"') {
                        break;
                    }
                    self.pos += 1;
                    units.push(self.escape()?);
                    plain = self.pos;
                }
                Some(0x20..) => self.pos += 1,
                _ => return Err(self.pos),
            }
        }
        let raw = self.text[from..self.pos].to_vec();
        self.pos += 1;
        Ok(Text { raw, units })
    }

    fn escape(&mut self) -> Result<u16, usize> {
        let unit = match self.peek() {
            Some(byte @ (b'"' | b'\\' | b'/')) => u16::from(byte),
            Some(b'b') => 8,
            Some(b'f') => 12,
            Some(b'n') => 10,
            Some(b'r') => 13,
            Some(b't') => 9,
            Some(b'u') => {
                let mut unit = 0;
                for _ in 0..4 {
                    self.pos += 1;
                    let digit = self.peek().and_then(|byte| char::from(byte).to_digit(16)).ok_or(self.pos)?;
                    unit = unit << 4 | digit as u16;
                }
                unit
            }
            _ => return Err(self.pos),
        };
        self.pos += 1;
        Ok(unit)
    }
}
