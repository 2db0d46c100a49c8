//! Drawings: the bar of a file, columns over time, and small bars in a table. No drawing refers to anything, so that
//! hatches are lines of their own.

use super::{Row, count, figure, grouped, human, text};
use crate::render::plot::Part;
use crate::render::{Value, rfc3339};

/// How wide a drawing is, in units of its own.
const WIDTH: u32 = 960;

/// The bar of a file: a column for each part, in which what is live stands at the bottom.
pub(super) fn map(name: &str, parts: &[Part]) -> String {
    let (high, top) = (64, 12);
    let count = u32::try_from(parts.len()).unwrap_or(u32::MAX).max(1);
    let edge = |at: u32| f64::from(at) * f64::from(WIDTH) / f64::from(count);
    let end = parts.last().map_or(0, |part| part.end);
    let mut body = String::new();
    for (at, part) in (0..).zip(parts) {
        let (x, width) = (edge(at), edge(at + 1) - edge(at));
        let marked = part.places > 0;
        let mut column = String::new();
        for (class, y, height) in layers(part, high) {
            column.push_str(&rectangle(class, (x, f64::from(top) + y), (width, height)));
        }
        if marked {
            // Above the bar, so that it is seen however little it is.
            let middle = x + width / 2.0;
            let (left, right) = (middle - 4.0, middle + 4.0);
            column.push_str(&format!("<path class=\"mark\" d=\"M{left:.1} 1H{right:.1}L{middle:.1} 9Z\"/>"));
        }
        body.push_str(&format!("<g><title>{}</title>{column}</g>\n", described(part)));
    }
    format!(
        "<svg class=\"map\" viewBox=\"0 0 {WIDTH} {}\" preserveAspectRatio=\"none\" role=\"img\" \
         aria-labelledby=\"{name}.map.title {name}.map.desc\">\n<title id=\"{name}.map.title\">{name}.jsonl from its first \
         byte to its last</title>\n<desc id=\"{name}.map.desc\">{}</desc>\n{body}</svg>\n<p class=\"ends\"><span>byte \
         0</span><span>{}</span></p>\n",
        top + high,
        summed(parts),
        grouped(end)
    )
}

/// The kinds of bytes of a part, from the bottom to the top.
fn kinds(part: &Part) -> [(&'static str, u64); 5] {
    let Part { live, dead, damaged, foreign, other, .. } = *part;
    [("live", live), ("dead", dead), ("foreign", foreign), ("other", other), ("damaged", damaged)]
}

/// Where each kind of bytes of a part is drawn: its class, its place from the top, and its height.
fn layers(part: &Part, high: u32) -> Vec<(&'static str, f64, f64)> {
    let all = (part.end - part.start).max(1);
    let (mut done, mut layers) = (0, Vec::new());
    for (class, bytes) in kinds(part).into_iter().filter(|(_, bytes)| *bytes > 0) {
        let from = share(done, all) * f64::from(high);
        done += bytes;
        let to = share(done, all) * f64::from(high);
        layers.push((class, f64::from(high) - to, to - from));
    }
    layers
}

/// A share of a whole, to a millionth.
fn share(part: u64, all: u64) -> f64 {
    let millionths = u128::from(part) * 1_000_000 / u128::from(all.max(1));
    f64::from(u32::try_from(millionths).unwrap_or(1_000_000)) / 1_000_000.0
}

fn rectangle(class: &str, (x, y): (f64, f64), (width, height): (f64, f64)) -> String {
    // Columns overlap a little, so that no seam shines through.
    let mut out = format!(
        "<rect class=\"{class}\" x=\"{x:.2}\" y=\"{y:.2}\" width=\"{:.2}\" height=\"{height:.2}\"/>",
        width + 0.3
    );
    if class == "damaged" {
        out.push_str(&hatch((x, y), (width, height)));
    }
    out
}

/// Lines at a slant through a rectangle.
fn hatch((x, y): (f64, f64), (width, height): (f64, f64)) -> String {
    let (mut path, mut at) = (String::new(), 3.0);
    while at < width + height {
        let (from, to) = ((at.min(width), (at - width).max(0.0)), ((at - height).max(0.0), at.min(height)));
        path.push_str(&format!("M{:.1} {:.1}L{:.1} {:.1}", x + from.0, y + from.1, x + to.0, y + to.1));
        at += 5.0;
    }
    if path.is_empty() { path } else { format!("<path class=\"hatch\" d=\"{path}\"/>") }
}

fn described(part: &Part) -> String {
    let kinds = kinds(part).into_iter().filter(|(_, bytes)| *bytes > 0);
    let kinds: Vec<String> = kinds.map(|(kind, bytes)| format!("{kind} {}", human(bytes))).collect();
    let places = match part.places {
        0 => String::new(),
        1 => "; 1 damaged place".to_owned(),
        places => format!("; {places} damaged places"),
    };
    format!("bytes {} to {}: {}{places}", grouped(part.start), grouped(part.end), kinds.join(", "))
}

fn summed(parts: &[Part]) -> String {
    let sum = |of: fn(&Part) -> u64| human(parts.iter().map(of).sum());
    format!(
        "{} live, {} dead, {} damaged, {} foreign, {} neither; {} of {} parts have damage",
        sum(|part| part.live),
        sum(|part| part.dead),
        sum(|part| part.damaged),
        sum(|part| part.foreign),
        sum(|part| part.other),
        parts.iter().filter(|part| part.places > 0).count(),
        parts.len()
    )
}

/// A small sign of a kind of bytes.
pub(super) fn sign(class: &str) -> String {
    let rectangle = rectangle(class, (0.0, 0.0), (15.7, 16.0));
    format!("<svg viewBox=\"0 0 16 16\" aria-hidden=\"true\">{rectangle}</svg>")
}

/// Columns over time, as high as their bytes. Where nothing was written in between, a line says so.
pub(super) fn growth(name: &str, rows: &[Row<'_>], width: u64, what: &str) -> String {
    let (left, right, top, high) = (84u32, 10u32, 12u32, 150u32);
    let bottom = top + high;
    let bytes = |row: &Row<'_>| figure(row, "bytes").map_or(0, |(_, value)| count(value));
    let most = rows.iter().map(bytes).max().unwrap_or(0);
    let at = |row: &Row<'_>| match figure(row, "at") {
        Some((_, Value::Time(time))) => Some(*time),
        _ => None,
    };
    let slots = u32::try_from(rows.len()).unwrap_or(u32::MAX).max(12);
    let slot = f64::from(WIDTH - left - right) / f64::from(slots);
    let (mut body, mut before) = (String::new(), None);
    for (index, row) in (0u32..).zip(rows) {
        let x = f64::from(left) + slot * f64::from(index);
        let height = (share(bytes(row), most) * f64::from(high)).max(1.5);
        let records = figure(row, "records").map_or(0, |(_, value)| count(value));
        let time = at(row);
        let label = time.map_or_else(|| "no time".to_owned(), rfc3339);
        body.push_str(&format!("<g><title>{label}: {} records, {}</title>", grouped(records), human(bytes(row))));
        body.push_str(&rectangle("live", (x + slot * 0.1, f64::from(bottom) - height), (slot * 0.8 - 0.3, height)));
        body.push_str("</g>\n");
        let follows =
            |then: i64| time.is_some_and(|time| time.timestamp() - then == i64::try_from(width).unwrap_or(0));
        if let Some(then) = before
            && !follows(then)
        {
            body.push_str(&format!(
                "<path class=\"gap\" d=\"M{x:.1} {top}V{}\"><title>nothing was written in between</title></path>\n",
                bottom + 6
            ));
        }
        before = time.map(|time| time.timestamp());
    }
    let mut labels = String::new();
    for (y, value) in [(top + 5, human(most)), (top + high / 2 + 5, human(most / 2)), (bottom + 5, "0".to_owned())] {
        labels.push_str(&format!("<text x=\"{}\" y=\"{y}\" text-anchor=\"end\">{value}</text>", left - 8));
    }
    for y in [top, top + high / 2, bottom] {
        labels.push_str(&format!("<path class=\"axis\" d=\"M{left} {y}H{}\"/>", WIDTH - right));
    }
    let mut foot = bottom + 8;
    let ends = [(0, "start"), (rows.len().saturating_sub(1), "end")];
    for (index, anchor) in ends.into_iter().take(rows.len().min(2)) {
        let Some(time) = rows.get(index).and_then(at) else { continue };
        let middle = u32::try_from(index).map_or(0.0, |index| f64::from(left) + slot * (f64::from(index) + 1.0));
        let (x, anchor) = match anchor {
            "start" => (f64::from(left), anchor),
            // Where there are few columns the last label begins under its own.
            _ if middle < f64::from(WIDTH) * 0.7 => (middle - slot, "start"),
            _ => (middle, anchor),
        };
        // Two labels that would meet: the second stands lower.
        let y = if index > 0 && middle < f64::from(WIDTH) * 0.4 { bottom + 46 } else { bottom + 24 };
        foot = foot.max(y + 6);
        labels.push_str(&format!("<text x=\"{x:.1}\" y=\"{y}\" text-anchor=\"{anchor}\">{}</text>", rfc3339(time)));
    }
    format!(
        "<svg viewBox=\"0 0 {WIDTH} {}\" role=\"img\" aria-labelledby=\"{name}.growth.title {name}.growth.desc\">\n<title \
         id=\"{name}.growth.title\">Bytes of records, over time</title>\n<desc id=\"{name}.growth.desc\">{}</desc>\n\
         {labels}\n{body}</svg>\n",
        foot,
        text(what)
    )
}

/// A bar in a table: what is live of it, and the rest. `most` fills it.
pub(super) fn bar(live: u64, bytes: u64, most: u64) -> String {
    let (live, all) = (share(live.min(bytes), most) * 200.0, share(bytes, most) * 200.0);
    format!(
        "<svg viewBox=\"0 0 200 16\" preserveAspectRatio=\"none\" aria-hidden=\"true\"><rect class=\"dead\" x=\"0\" y=\"0\" \
         width=\"{all:.2}\" height=\"16\"/><rect class=\"live\" x=\"0\" y=\"0\" width=\"{live:.2}\" height=\"16\"/></svg>"
    )
}
