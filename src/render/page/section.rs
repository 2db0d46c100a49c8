//! What a page says of one journal.

use super::{Place, Row, Section, breakable, count, data, figure, grouped, human, shown, span, svg, text};
use crate::render::{Value, safe};

/// How many characters of an id a page shows.
const LONG: usize = 120;

/// The figures that stand in front, and what they are called.
const CARDS: [(&str, &str); 6] = [
    ("bytes", "Size"),
    ("live", "Live ids"),
    ("records", "Records"),
    ("dead_share", "Dead"),
    ("damaged_bytes", "Damaged"),
    ("saved_bytes", "Compaction saves"),
];

/// The kinds of bytes, in the order of the key: class, the figure, and what it is called.
const KINDS: [(&str, &str, &str); 5] = [
    ("live", "live_bytes", "live"),
    ("dead", "dead_bytes", "dead"),
    ("damaged", "damaged_bytes", "damaged"),
    ("foreign", "foreign_bytes", "of other versions"),
    ("other", "other_bytes", "line ends and space"),
];

impl Section<'_> {
    pub(super) fn html(&self, out: &mut String) {
        let (class, sign) = self.mood.shown();
        let verdict =
            self.value("verdict").map_or_else(String::new, |value| data(&self.id("verdict"), value, &shown(value)));
        out.push_str(&format!(
            "<section class=\"journal\" id=\"{name}\" aria-labelledby=\"{name}.name\">\n<div class=\"title\"><h2 \
             id=\"{name}.name\">{name}</h2><span class=\"badge {class}\"><span aria-hidden=\"true\">{sign}</span> {verdict}\
             </span></div>\n<p class=\"path\">{}</p>\n",
            breakable(&self.path),
            name = self.name
        ));
        self.cards(out);
        self.map(out);
        self.growth(out);
        self.biggest(out);
        self.findings(out);
        self.rest(out);
        out.push_str("</section>\n");
    }

    fn id(&self, figure: &str) -> String {
        format!("{}.{figure}", self.name)
    }

    fn value(&self, name: &str) -> Option<&Value<'_>> {
        figure(&self.figures, name).map(|(_, value)| value)
    }

    fn count(&self, name: &str) -> u64 {
        self.value(name).map_or(0, count)
    }

    fn cards(&self, out: &mut String) {
        out.push_str("<dl class=\"cards\">\n");
        for (name, label) in CARDS {
            let Some(value) = self.value(name) else { continue };
            let (big, sub) = match (name, value) {
                ("bytes" | "damaged_bytes", Value::Count(bytes)) => {
                    (human(*bytes), format!("{} bytes", grouped(*bytes)))
                }
                ("saved_bytes", Value::Number(bytes)) => match bytes.parse() {
                    Ok(bytes) => (human(bytes), format!("{} bytes", grouped(bytes))),
                    Err(_) => (shown(value), "bytes".to_owned()),
                },
                ("saved_bytes", _) => {
                    ("–".to_owned(), format!("refused: {}", self.value("refused").map_or_else(String::new, shown)))
                }
                ("dead_share", Value::Number(share)) => (percent(share), "of the records’ bytes".to_owned()),
                ("live", _) => (shown(value), format!("{} in live records", human(self.count("live_bytes")))),
                ("records", _) => (shown(value), format!("in {} lines", grouped(self.count("lines")))),
                _ => (shown(value), String::new()),
            };
            let hot = if name == "damaged_bytes" && self.count("damage") > 0 { " class=\"hot\"" } else { "" };
            out.push_str(&format!(
                "<div><dt>{label}</dt><dd{hot}>{}<span class=\"sub\">{sub}</span></dd></div>\n",
                data(&self.id(name), value, &big)
            ));
        }
        out.push_str("</dl>\n");
    }

    fn map(&self, out: &mut String) {
        if self.parts.is_empty() {
            return;
        }
        let each = self.parts.first().map_or(0, |part| part.end - part.start);
        out.push_str("<h3>Map of the file</h3>\n<figure>\n");
        out.push_str(&svg::map(self.name, &self.parts));
        out.push_str("<ul class=\"key\">\n");
        for (class, name, label) in KINDS {
            let Some(value) = self.value(name) else { continue };
            let bytes = human(count(value));
            // What stands in front already has its element there.
            let shown = if is_card(name) { bytes } else { data(&self.id(name), value, &bytes) };
            out.push_str(&format!("<li>{}{label} {shown}</li>\n", svg::sign(class)));
        }
        out.push_str(&format!(
            "</ul>\n<figcaption>Each column is {} of the file{}</figcaption>\n</figure>\n",
            human(each),
            if self.count("damage") > 0 { "; a mark above it: damage." } else { "." }
        ));
    }

    fn growth(&self, out: &mut String) {
        if self.growth.is_empty() {
            return;
        }
        let what = match (self.value("first_at"), self.value("last_at")) {
            (Some(first @ Value::Time(_)), Some(last @ Value::Time(_))) => format!(
                "{} records from {} to {}, in stretches of {}",
                self.count("records"),
                first.raw(),
                last.raw(),
                span(self.width)
            ),
            _ => format!("{} records, none with a time", self.count("records")),
        };
        out.push_str("<h3>Growth</h3>\n<figure>\n");
        out.push_str(&svg::growth(self.name, &self.growth, self.width, &what));
        out.push_str(&format!(
            "<figcaption>Each column is {}; a dotted line: nothing was written for longer than \
             that.</figcaption>\n</figure>\n",
            span(self.width)
        ));
        out.push_str("<details><summary>The same in numbers</summary><div class=\"wide\">\n");
        let columns = [("at", "From"), ("seconds", "Seconds"), ("records", "Records"), ("bytes", "Bytes")];
        self.table(
            out,
            "growth",
            "Records and their bytes, by the time at which they were written",
            &columns,
            &self.growth,
        );
        out.push_str("</div></details>\n");
    }

    /// A table of rows, all of whose cells are figures.
    fn table(&self, out: &mut String, of: &str, caption: &str, columns: &[(&str, &str)], rows: &[Row<'_>]) {
        out.push_str(&format!("<table><caption>{caption}</caption><thead><tr>"));
        for (name, label) in columns {
            let number = rows.iter().any(|row| matches!(figure(row, name), Some((_, Value::Count(_)))));
            out.push_str(&format!("<th scope=\"col\"{}>{label}</th>", if number { " class=\"n\"" } else { "" }));
        }
        out.push_str("</tr></thead><tbody>\n");
        for (at, row) in rows.iter().enumerate() {
            out.push_str("<tr>");
            for (index, (name, _)) in columns.iter().enumerate() {
                let Some((_, value)) = figure(row, name) else { continue };
                let cell = data(&self.id(&format!("{of}.{at}.{name}")), value, &shown(value));
                match (index, value) {
                    (0, _) => out.push_str(&format!("<th scope=\"row\">{cell}</th>")),
                    (_, Value::Count(_)) => out.push_str(&format!("<td class=\"n\">{cell}</td>")),
                    _ => out.push_str(&format!("<td>{cell}</td>")),
                }
            }
            out.push_str("</tr>\n");
        }
        out.push_str("</tbody></table>\n");
    }

    fn biggest(&self, out: &mut String) {
        if self.biggest.is_empty() {
            return;
        }
        let of = |row: &Row<'_>, name: &str| figure(row, name).map_or(0, |(_, value)| count(value));
        let most = self.biggest.iter().map(|row| of(row, "bytes")).max().unwrap_or(0);
        out.push_str(
            "<h3>What takes the most</h3>\n<div class=\"wide\"><table><caption>Ids by the bytes of all of their records; \
             strong: the live one</caption><thead><tr><th scope=\"col\">Id</th><th scope=\"col\" class=\"bar\"><span \
             aria-hidden=\"true\"></span></th><th scope=\"col\" class=\"n\">Bytes</th><th scope=\"col\" class=\"n\">Live \
             bytes</th><th scope=\"col\" class=\"n\">Records</th><th scope=\"col\">Live</th></tr></thead><tbody>\n",
        );
        for (at, row) in self.biggest.iter().enumerate() {
            let cell = |name: &str, shorten: bool| {
                figure(row, name).map_or_else(String::new, |(_, value)| {
                    let shown = if shorten { text(&short(&value.raw())) } else { shown(value) };
                    data(&self.id(&format!("biggest.{at}.{name}")), value, &shown)
                })
            };
            out.push_str(&format!(
                "<tr><th scope=\"row\" class=\"id\">{}</th><td class=\"bar\">{}</td><td class=\"n\">{}</td><td \
                 class=\"n\">{}</td><td class=\"n\">{}</td><td>{}</td></tr>\n",
                cell("id", true),
                svg::bar(of(row, "live_bytes"), of(row, "bytes"), most),
                cell("bytes", false),
                cell("live_bytes", false),
                cell("records", false),
                cell("live", false)
            ));
        }
        out.push_str("</tbody></table></div>\n");
    }

    fn findings(&self, out: &mut String) {
        if self.classes.is_empty() {
            return;
        }
        out.push_str("<h3>Findings</h3>\n<div class=\"wide\">\n");
        let columns = [("class", "Class"), ("severity", "Severity"), ("places", "Places"), ("bytes", "Bytes")];
        self.table(out, "findings", "What was found, by class", &columns, &self.classes);
        out.push_str("</div>\n<ol class=\"places\">\n");
        self.places.iter().for_each(|one| place(out, one));
        out.push_str("</ol>\n");
        let more = self.found.saturating_sub(self.places.len() as u64);
        if more > 0 {
            out.push_str(&format!("<p class=\"note\">{} more are not named here.</p>\n", grouped(more)));
        }
    }

    /// The figures that stand nowhere else.
    fn rest(&self, out: &mut String) {
        let told = |name: &str| {
            name == "verdict"
                || is_card(name)
                || (!self.parts.is_empty() && KINDS.iter().any(|(_, kind, _)| *kind == name))
        };
        out.push_str(
            "<details><summary>All figures</summary><div class=\"wide\"><table><caption>As journal stat names \
             them</caption><thead><tr><th scope=\"col\">Figure</th><th scope=\"col\" \
             class=\"n\">Value</th></tr></thead><tbody>\n",
        );
        for (name, value) in &self.figures {
            // What has its element elsewhere is only repeated.
            let cell = if told(name) { shown(value) } else { data(&self.id(name), value, &shown(value)) };
            let label = name.replace('_', " ");
            out.push_str(&format!("<tr><th scope=\"row\">{label}</th><td class=\"n\">{cell}</td></tr>\n"));
        }
        out.push_str("</tbody></table></div></details>\n");
        if !self.parts.is_empty() {
            self.parts_table(out);
        }
    }

    fn parts_table(&self, out: &mut String) {
        out.push_str("<details><summary>The map in numbers</summary><div class=\"wide\">\n");
        let mut rows: Vec<Row<'_>> = Vec::new();
        for part in &self.parts {
            let figures = [
                ("start_offset", part.start),
                ("end_offset", part.end),
                ("live_bytes", part.live),
                ("dead_bytes", part.dead),
                ("damaged_bytes", part.damaged),
                ("foreign_bytes", part.foreign),
                ("other_bytes", part.other),
                ("places", part.places),
            ];
            rows.push(figures.map(|(name, count)| (name, Value::Count(count))).to_vec());
        }
        let columns = [
            ("start_offset", "From byte"),
            ("end_offset", "To"),
            ("live_bytes", "Live"),
            ("dead_bytes", "Dead"),
            ("damaged_bytes", "Damaged"),
            ("foreign_bytes", "Foreign"),
            ("other_bytes", "Neither"),
            ("places", "Damaged places"),
        ];
        self.table(out, "map", "Bytes of each column of the map, by kind", &columns, &rows);
        out.push_str("</div></details>\n");
    }
}

fn place(out: &mut String, place: &Place) {
    let mood = if place.severity == "damage" { "bad" } else { "odd" };
    out.push_str(&format!(
        "<li><p><span class=\"class {mood}\">{}</span> line <data class=\"line\" value=\"{}\">{}</data>, byte <data \
         class=\"offset\" value=\"{}\">{}</data>, <data class=\"length\" value=\"{}\">{}</data> bytes</p>\n<p>{}</p>\n<p \
         class=\"dim\">The daemon {}.</p>\n",
        text(place.class),
        place.line,
        grouped(place.line),
        place.offset,
        grouped(place.offset),
        place.length,
        grouped(place.length),
        text(&place.what),
        text(place.daemon)
    ));
    if !place.ids.is_empty() {
        let ids: Vec<String> = place.ids.iter().map(|id| format!("<code>{}</code>", text(&short(id)))).collect();
        out.push_str(&format!("<p>Ids: {}</p>\n", ids.join(" ")));
    }
    if !place.begins.is_empty() {
        out.push_str(&format!("<p>Begins <code>{}</code></p>\n", text(&safe::bytes(&place.begins))));
    }
    if let Some(look) = &place.look {
        out.push_str(&format!("<p>Look at it: <code>{}</code></p>\n", text(look)));
    }
    out.push_str("</li>\n");
}

fn is_card(name: &str) -> bool {
    CARDS.iter().any(|(card, _)| *card == name)
}

/// The beginning of a long text.
fn short(text: &str) -> String {
    match text.char_indices().nth(LONG) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text.to_owned(),
    }
}

/// A share of one, in per cent.
fn percent(share: &str) -> String {
    share.parse::<f64>().map_or_else(|_| share.to_owned(), |share| format!("{:.1} %", share * 100.0))
}
