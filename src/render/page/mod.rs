//! A page of figures and pictures: HTML that stands alone. It is built from rows and parts, and touches nothing.
//!
//! Every figure stands in a `<data>` element whose id says which one it is and whose `value` is what JSON has. Nothing
//! is loaded and nothing is run: no script, no address, no reference, not even one of a drawing to a pattern of its own.
//! Text of others is made visible as on a terminal, and then written as text.

mod section;
mod style;
mod svg;

use super::plot::Part;
use super::{Value, safe};

/// A row: each figure's name, and the figure.
pub type Row<'a> = Vec<(&'static str, Value<'a>)>;

/// A page.
#[derive(Debug, Default)]
pub struct Page<'a> {
    /// Where the journals lie.
    pub dir: String,
    /// When the page was made, in RFC 3339.
    pub made_at: String,
    /// The program that made it, with its version.
    pub made_by: &'static str,
    /// What it all comes to.
    pub verdict: String,
    /// What the daemon does.
    pub daemon: String,
    /// How bad it is.
    pub mood: Mood,
    /// What to type next.
    pub next: Vec<String>,
    /// Journals that could not be read, and why.
    pub unread: Vec<(String, String)>,
    /// The journals.
    pub sections: Vec<Section<'a>>,
}

/// How bad it is; what is worse comes later.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub enum Mood {
    /// There is nothing.
    #[default]
    Empty,
    /// Nothing is wrong.
    Good,
    /// All can be read here, but not by everybody.
    Odd,
    /// There is damage.
    Bad,
}

/// What a page says of one journal.
#[derive(Debug, Default)]
pub struct Section<'a> {
    /// The journal's name; what the ids of its figures begin with.
    pub name: &'static str,
    /// Its path.
    pub path: String,
    /// How bad it is.
    pub mood: Mood,
    /// Its figures.
    pub figures: Row<'a>,
    /// The file as a bar.
    pub parts: Vec<Part>,
    /// Records over time; each row has `at`, `records` and `bytes`.
    pub growth: Vec<Row<'a>>,
    /// How wide a stretch of time is, in seconds.
    pub width: u64,
    /// The ids that take the most; each row has `id`, `bytes`, `records`, `live` and `live_bytes`.
    pub biggest: Vec<Row<'a>>,
    /// What was found, by class.
    pub classes: Vec<Row<'a>>,
    /// The first findings, as they are to be shown.
    pub places: Vec<Place>,
    /// How many there are.
    pub found: u64,
}

/// One finding.
#[derive(Debug, Default)]
pub struct Place {
    /// Its line.
    pub line: u64,
    /// Offset of its first byte.
    pub offset: u64,
    /// Its bytes.
    pub length: u64,
    /// Its class.
    pub class: &'static str,
    /// Its severity.
    pub severity: &'static str,
    /// What the daemon does.
    pub daemon: &'static str,
    /// What is wrong, in words.
    pub what: String,
    /// The ids concerned.
    pub ids: Vec<String>,
    /// The first bytes.
    pub begins: Vec<u8>,
    /// The command that prints it.
    pub look: Option<String>,
}

impl Mood {
    /// The class of what is shown of it, and a sign for those who see no colours.
    fn shown(self) -> (&'static str, &'static str) {
        match self {
            Mood::Empty => ("none", "○"),
            Mood::Good => ("good", "✓"),
            Mood::Odd => ("odd", "!"),
            Mood::Bad => ("bad", "✕"),
        }
    }
}

impl Page<'_> {
    /// The page as HTML.
    #[must_use]
    pub fn html(&self) -> String {
        let mut out = String::from("<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n");
        out.push_str(
            "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src 'unsafe-inline'\">\n\
             <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n\
             <meta name=\"referrer\" content=\"no-referrer\">\n<meta name=\"color-scheme\" content=\"light dark\">\n",
        );
        out.push_str(&format!("<title>Journals of {}</title>\n", text(&self.dir)));
        out.push_str(&format!("<style>{}</style>\n</head>\n<body>\n", style::STYLE));
        self.head(&mut out);
        out.push_str("<main>\n");
        for section in &self.sections {
            section.html(&mut out);
        }
        out.push_str("</main>\n");
        out.push_str(&format!(
            "<footer>Made by {} at <time datetime=\"{at}\">{at}</time>. Nothing was changed, and this page loads \
             nothing.</footer>\n</body>\n</html>\n",
            text(self.made_by),
            at = text(&self.made_at)
        ));
        out
    }

    fn head(&self, out: &mut String) {
        let (class, sign) = self.mood.shown();
        out.push_str(&format!(
            "<header>\n<p class=\"over\">Journals of</p>\n<h1>{}</h1>\n<div class=\"verdict {class}\" role=\"status\">\n\
             <p><span class=\"sign\" aria-hidden=\"true\">{sign}</span><strong id=\"verdict\">{}</strong></p>\n\
             <p id=\"for_the_daemon\">{}</p>\n",
            breakable(&self.dir),
            text(&self.verdict),
            text(&self.daemon)
        ));
        for (name, why) in &self.unread {
            out.push_str(&format!("<p class=\"unread\"><strong>{}</strong>: {}</p>\n", text(name), text(why)));
        }
        out.push_str("</div>\n");
        if !self.next.is_empty() {
            out.push_str(
                "<section class=\"next\" aria-label=\"What to type next\">\n<h2>What to type next</h2>\n<ol>\n",
            );
            for command in &self.next {
                out.push_str(&format!("<li><code>{}</code></li>\n", text(command)));
            }
            out.push_str("</ol>\n</section>\n");
        }
        if self.sections.len() > 1 {
            out.push_str("<nav aria-label=\"Journals\">\n");
            for section in &self.sections {
                let (class, sign) = section.mood.shown();
                out.push_str(&format!(
                    "<a class=\"{class}\" href=\"#{name}\"><span aria-hidden=\"true\">{sign}</span> {name} <span \
                     class=\"dim\">{}</span></a>\n",
                    figure(&section.figures, "bytes").map_or_else(String::new, |(_, value)| human(count(value))),
                    name = section.name,
                ));
            }
            out.push_str("</nav>\n");
        }
        out.push_str("</header>\n");
    }
}

/// A figure of a row, by its name.
fn figure<'r, 'a>(row: &'r [(&'static str, Value<'a>)], name: &str) -> Option<&'r (&'static str, Value<'a>)> {
    row.iter().find(|(own, _)| *own == name)
}

/// The count that a value is; 0 where it is none.
fn count(value: &Value<'_>) -> u64 {
    if let Value::Count(count) = value { *count } else { 0 }
}

/// A figure as an element that can be found by its id.
fn data(id: &str, value: &Value<'_>, shown: &str) -> String {
    format!("<data id=\"{}\" value=\"{}\">{shown}</data>", text(id), attribute(&value.raw()))
}

/// A value as it is shown to people.
fn shown(value: &Value<'_>) -> String {
    match value {
        Value::Count(n) => grouped(*n),
        Value::Number(n) => match n.parse::<i64>() {
            Ok(n) if n < 0 => format!("−{}", grouped(n.unsigned_abs())),
            Ok(n) => grouped(n.unsigned_abs()),
            Err(_) => text(n),
        },
        Value::Flag(true) => "yes".to_owned(),
        Value::Flag(false) => "no".to_owned(),
        Value::Absent => "–".to_owned(),
        other => text(&other.raw()),
    }
}

/// A number with a narrow space between groups of three digits.
fn grouped(number: u64) -> String {
    let digits = number.to_string();
    let mut out = String::new();
    for (at, digit) in digits.chars().enumerate() {
        if at > 0 && (digits.len() - at).is_multiple_of(3) {
            out.push('\u{202f}');
        }
        out.push(digit);
    }
    out
}

/// A number of bytes, in the unit that has up to four digits in front of the point.
fn human(bytes: u64) -> String {
    const UNITS: [&str; 6] = ["KiB", "MiB", "GiB", "TiB", "PiB", "EiB"];
    if bytes < 1024 {
        return format!("{bytes} B");
    }
    let (mut tenths, mut unit) = (u128::from(bytes) * 10 / 1024, 0);
    while tenths >= 10_240 && unit + 1 < UNITS.len() {
        tenths /= 1024;
        unit += 1;
    }
    format!("{}.{} {}", tenths / 10, tenths % 10, UNITS[unit])
}

/// How long a stretch of time is, in words.
fn span(seconds: u64) -> String {
    for (unit, name) in [(86_400, "day"), (3_600, "hour"), (60, "minute"), (1, "second")] {
        if seconds >= unit && seconds.is_multiple_of(unit) {
            let count = seconds / unit;
            return if count == 1 { format!("1 {name}") } else { format!("{} {name}s", grouped(count)) };
        }
    }
    "no time".to_owned()
}

/// Text of others as text of a page: what would act is made visible, and what is markup is none.
fn text(text: &str) -> String {
    escaped(&safe::for_terminal(text))
}

/// The same where a page may break the line behind a slash.
fn breakable(path: &str) -> String {
    text(path).replace('/', "/<wbr>")
}

/// A value that is to come back as it is. White space and what would act is written by its number.
fn attribute(value: &str) -> String {
    let mut out = String::with_capacity(value.len());
    for c in value.chars() {
        match c {
            // A page cannot have it.
            '\0' => out.push('\u{fffd}'),
            c if safe::acts(c) => out.push_str(&format!("&#{};", u32::from(c))),
            c => out.push_str(&escaped(c.encode_utf8(&mut [0; 4]))),
        }
    }
    out
}

fn escaped(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '"' => out.push_str("&quot;"),
            '\'' => out.push_str("&#39;"),
            c => out.push(c),
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_shown_as_people_read_them() {
        assert_eq!([0, 999, 1_000, 1_234_567].map(grouped), ["0", "999", "1\u{202f}000", "1\u{202f}234\u{202f}567"]);
        let sizes = [0, 1023, 1024, 1536, 1 << 20, (1 << 30) + (1 << 29), u64::MAX];
        assert_eq!(sizes.map(human), ["0 B", "1023 B", "1.0 KiB", "1.5 KiB", "1.0 MiB", "1.5 GiB", "15.9 EiB"]);
        assert_eq!(
            [1, 5, 900, 3_600, 7 * 86_400].map(span),
            ["1 second", "5 seconds", "15 minutes", "1 hour", "7 days"]
        );
    }

    #[test]
    fn text_of_others_is_text() {
        assert_eq!(text("</data><script>'\"&\u{202e}\n"), "&lt;/data&gt;&lt;script&gt;&#39;&quot;&amp;\\u{202e}\\n");
        assert_eq!(attribute("\"\u{202e}\n"), "&quot;&#8238;&#10;");
    }
}
