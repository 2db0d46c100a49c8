//! Values to JSON.

use super::{Value, rfc3339, safe};

/// Writes one object. `kind`, where given, becomes its first member.
pub(super) fn object(out: &mut String, kind: Option<&str>, names: &[&str], values: &[Value<'_>]) {
    out.push('{');
    let mut comma = "";
    if let Some(kind) = kind {
        out.push_str("\"kind\":");
        text(out, kind);
        comma = ",";
    }
    for (name, cell) in names.iter().zip(values) {
        out.push_str(comma);
        text(out, name);
        out.push(':');
        value(out, cell);
        comma = ",";
    }
    out.push('}');
}

/// Writes one value.
pub(super) fn value(out: &mut String, value: &Value<'_>) {
    match value {
        Value::Text(t) | Value::Long(t) => text(out, t),
        Value::Command(t) => text(out, t),
        Value::Count(n) => out.push_str(&n.to_string()),
        Value::Number(n) if n.ends_with("infinity") => text(out, n),
        Value::Number(n) => out.push_str(n),
        Value::Flag(flag) => out.push_str(if *flag { "true" } else { "false" }),
        Value::Time(time) => text(out, &rfc3339(*time)),
        Value::Json(bytes) => safe::json(out, &String::from_utf8_lossy(bytes)),
        Value::Texts(texts) | Value::Commands(texts) => {
            out.push('[');
            for (index, t) in texts.iter().enumerate() {
                if index > 0 {
                    out.push(',');
                }
                text(out, t);
            }
            out.push(']');
        }
        Value::Bytes(bytes) => text(out, &safe::bytes(bytes)),
        Value::Absent => out.push_str("null"),
    }
}

fn text(out: &mut String, text: &str) {
    // A string always has a JSON form.
    let quoted = serde_json::to_string(text).unwrap_or_default();
    safe::json(out, &quoted);
}
