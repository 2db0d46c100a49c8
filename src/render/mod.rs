//! Views to bytes: the only writer of standard output and standard error.
//!
//! A verb hands its answer over as groups of rows and as fields; a [`Printer`] turns them into the format that was
//! asked for. Standard output is data, standard error is talk. Text of others is made safe for terminals everywhere
//! but where exact bytes are the contract.

mod hints;
mod json;
pub mod page;
mod plot;
mod progress;
mod safe;
mod value;

use std::fs::File;
use std::io::{self, BufWriter, IsTerminal, Write};
use std::os::fd::AsFd;
use std::time::Duration;

use chrono::SecondsFormat;
use comfy_table::{ColumnConstraint, ContentArrangement, Table, Width, presets};
use rustix::event::{PollFd, PollFlags};

use crate::error::{Code, Error, Result, plain};
pub use hints::{Carried, quoted};
pub use plot::Part;
pub use progress::Progress;
pub use safe::{for_plain, for_terminal, is_plain, json_text};
pub use value::{Value, rfc3339};

/// How an answer is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub enum Format {
    /// Aligned columns for the eye (on a terminal)
    Table,
    /// Tab-separated, full ids, exact times (in a pipe)
    Plain,
    /// One JSON object
    Json,
    /// One JSON object a line
    Jsonl,
    /// Ids only
    Id,
}

/// Rows of one kind.
#[derive(Clone, Copy, Debug)]
pub struct Group {
    /// The member that holds the rows in JSON.
    pub name: &'static str,
    /// What one row is.
    pub one: &'static str,
    /// The members of a row.
    pub columns: &'static [&'static str],
    /// Which of them a table shows; empty: all.
    pub shown: &'static [&'static str],
    /// Whether a row is shown on a terminal as lines under a headline, the first column; else as a table's row.
    pub blocks: bool,
}

/// The settings of a printer.
#[derive(Clone, Copy, Debug, Default)]
pub struct Settings {
    /// The format that was asked for.
    pub format: Option<Format>,
    /// Separate ids by NUL.
    pub null: bool,
    /// No notes and warnings.
    pub quiet: bool,
    /// Colours: yes, no, or as the terminal has it.
    pub color: Option<bool>,
    /// Pictures in ASCII: the terminal knows nothing else.
    pub ascii: bool,
    /// Whether standard output was closed when the process began.
    pub stdout_closed: bool,
}

/// How many rows a table holds before it is written; wider rows further down get a table of their own.
const TABLE_ROWS: usize = 500;

/// How many characters a table shows of a long text.
const LONG: usize = 60;

/// The one printer of a process.
pub struct Printer {
    out: Option<BufWriter<File>>,
    out_terminal: bool,
    err_terminal: bool,
    settings: Settings,
    /// The reader of standard output went away.
    gone: bool,
    /// Groups that this view has.
    groups: &'static [Group],
    schema: &'static str,
    current: Option<usize>,
    rows: u64,
    table: Option<Table>,
    /// How wide the columns of the tables so far were, where the answer goes on under one headline.
    widths: Vec<u16>,
    /// An answer is begun and not ended.
    open: bool,
    /// What hints carry.
    pub carried: Carried,
}

impl Printer {
    /// A printer on the process's own streams.
    #[must_use]
    pub fn new(settings: Settings) -> Printer {
        let stdout = io::stdout();
        // The standard library calls writing to a closed stream a success; a file of our own does not.
        let out =
            stdout.as_fd().try_clone_to_owned().ok().map(|fd| BufWriter::with_capacity(1 << 16, File::from(fd)));
        Printer {
            out,
            out_terminal: stdout.is_terminal(),
            err_terminal: io::stderr().is_terminal(),
            settings,
            gone: false,
            groups: &[],
            schema: "",
            current: None,
            rows: 0,
            table: None,
            widths: Vec::new(),
            open: false,
            carried: Carried::default(),
        }
    }

    /// The format of this answer.
    #[must_use]
    pub fn format(&self) -> Format {
        self.settings.format.unwrap_or(if self.out_terminal { Format::Table } else { Format::Plain })
    }

    /// The format of this answer where none was asked for.
    pub fn prefer(&mut self, format: Format) {
        self.settings.format.get_or_insert(format);
    }

    /// Whether exact bytes are wanted where a verb can give them: in a pipe, unless a format was named.
    #[must_use]
    pub fn wants_raw(&self) -> bool {
        self.settings.format.is_none() && !self.out_terminal
    }

    /// Whether nobody reads any more.
    #[must_use]
    pub fn gone(&self) -> bool {
        self.gone
    }

    fn is_json(&self) -> bool {
        matches!(self.format(), Format::Json | Format::Jsonl)
    }

    /// Writes bytes as they are.
    pub fn raw(&mut self, bytes: &[u8]) -> Result<()> {
        if self.gone || bytes.is_empty() {
            return Ok(());
        }
        let written = match &mut self.out {
            _ if self.settings.stdout_closed => Err(closed()),
            None => Err(closed()),
            Some(out) => out.write_all(bytes),
        };
        self.settle(written)
    }

    fn settle(&mut self, written: io::Result<()>) -> Result<()> {
        match written {
            Err(error) if error.kind() == io::ErrorKind::BrokenPipe => {
                self.gone = true;
                Ok(())
            }
            Err(error) => {
                self.gone = true;
                let message = format!("cannot write to standard output: {}", plain(&error));
                Err(Error::new(Code::EnvironmentStdout, message))
            }
            Ok(()) => Ok(()),
        }
    }

    /// Begins an answer. Its groups' rows must come in the order of the groups.
    pub fn begin(&mut self, schema: &'static str, groups: &'static [Group]) -> Result<()> {
        self.schema = schema;
        self.groups = groups;
        self.current = None;
        self.rows = 0;
        self.widths.clear();
        self.open = true;
        if self.format() == Format::Json {
            self.raw(format!("{{\"schema\":\"{schema}\"").as_bytes())?;
        }
        Ok(())
    }

    fn open_group(&mut self, index: usize) -> Result<()> {
        while self.current != Some(index) {
            self.close_group()?;
            let next = self.current.map_or(0, |i| i + 1);
            self.current = Some(next);
            self.rows = 0;
            if self.format() == Format::Json {
                self.raw(format!(",\"{}\":[", self.groups[next].name).as_bytes())?;
            }
        }
        Ok(())
    }

    fn close_group(&mut self) -> Result<()> {
        let Some(current) = self.current else { return Ok(()) };
        self.flush_table()?;
        if self.format() == Format::Json && current < self.groups.len() {
            self.raw(if self.rows > 0 { b"\n]" } else { b"]" })?;
        }
        Ok(())
    }

    /// Writes a row of the group at `index`. `id` is what the format `id` writes; empty: no row there.
    pub fn row(&mut self, index: usize, ids: &[&str], cells: &[Value<'_>]) -> Result<()> {
        if self.gone {
            return Ok(());
        }
        self.open_group(index)?;
        let group = self.groups[index];
        let first = self.rows == 0;
        self.rows += 1;
        match self.format() {
            Format::Json => {
                let mut line = if first { String::from("\n") } else { String::from(",\n") };
                json::object(&mut line, None, group.columns, cells);
                self.raw(line.as_bytes())
            }
            Format::Jsonl => {
                let mut line = String::new();
                let kind = (self.groups.len() > 1).then_some(group.one);
                json::object(&mut line, kind, group.columns, cells);
                line.push('\n');
                self.raw(line.as_bytes())
            }
            Format::Plain => {
                let mut line = String::new();
                if self.groups.len() > 1 {
                    line.push_str(group.one);
                    line.push('\t');
                }
                let cells: Vec<String> = cells.iter().map(|cell| cell.plain(&cell.raw())).collect();
                line.push_str(&cells.join("\t"));
                line.push('\n');
                self.raw(line.as_bytes())
            }
            Format::Id => ids.iter().try_for_each(|id| self.id(id)),
            Format::Table if group.blocks => self.block(group, cells),
            Format::Table => self.table_row(group, cells),
        }
    }

    /// A bar beside a number, full where it is `most`.
    #[must_use]
    pub fn bar(&self, value: u64, most: u64) -> String {
        plot::bar(value, most, self.settings.ascii)
    }

    /// Writes a file as a strip under a headline.
    pub fn strip(&mut self, headline: &str, parts: &[Part]) -> Result<()> {
        let strip = plot::strip(parts, self.settings.ascii, self.colored());
        let headline = self.bold(&for_terminal(headline));
        self.raw(format!("{headline}\n{strip}").as_bytes())
    }

    /// Writes what the characters of strips stand for.
    pub fn key(&mut self) -> Result<()> {
        let key = plot::key(self.settings.ascii, self.colored());
        self.raw(format!("{key}\n").as_bytes())
    }

    /// Writes an id: exactly in a pipe, safely on a terminal.
    fn id(&mut self, id: &str) -> Result<()> {
        if self.out_terminal {
            self.raw(for_terminal(id).as_bytes())?;
        } else {
            self.raw(id.as_bytes())?;
        }
        self.raw(if self.settings.null { b"\0" } else { b"\n" })
    }

    /// Writes a JSON document of others on a line of its own. It means the same, and is safe for terminals.
    pub fn document(&mut self, document: &[u8]) -> Result<()> {
        let mut line = String::new();
        json::value(&mut line, &Value::Json(document));
        line.push('\n');
        self.raw(line.as_bytes())
    }

    fn block(&mut self, group: Group, cells: &[Value<'_>]) -> Result<()> {
        let mut text = String::new();
        let widest = group.columns.iter().skip(1).map(|c| c.len()).max().unwrap_or(0);
        for (index, (name, cell)) in group.columns.iter().zip(cells).enumerate() {
            let value = for_terminal(&cell.raw());
            if index == 0 {
                text.push_str(&self.bold(&value));
            } else if value.is_empty() {
                continue;
            } else {
                text.push_str(&format!("    {:widest$}  {value}", name.replace('_', " ")));
            }
            text.push('\n');
        }
        self.raw(text.as_bytes())
    }

    fn bold(&self, text: &str) -> String {
        if self.colored() { format!("\u{1b}[1m{text}\u{1b}[0m") } else { text.to_owned() }
    }

    fn colored(&self) -> bool {
        self.settings.color.unwrap_or(self.out_terminal)
    }

    fn table_row(&mut self, group: Group, cells: &[Value<'_>]) -> Result<()> {
        let shows = |name: &&&str| group.shown.is_empty() || group.shown.contains(*name);
        let table = self.table.get_or_insert_with(|| {
            let mut table = Table::new();
            // A wide row runs over the edge of the terminal, so that an id can always be copied whole.
            table.load_style(presets::NOTHING).set_content_arrangement(ContentArrangement::Disabled);
            if self.widths.is_empty() {
                table.set_header(group.columns.iter().filter(shows).map(|name| name.replace('_', " ")));
            }
            table
        });
        let row = group.columns.iter().zip(cells).filter(|(name, _)| shows(name));
        table.add_row(row.map(|(_, cell)| match cell {
            Value::Time(time) => time.to_rfc3339_opts(SecondsFormat::Secs, true),
            Value::Long(text) => match text.char_indices().nth(LONG) {
                Some((end, _)) => for_terminal(&text[..end]) + "…",
                None => for_terminal(text),
            },
            cell => for_terminal(&cell.raw()),
        }));
        if table.row_count() >= TABLE_ROWS {
            self.flush_table()?;
        }
        Ok(())
    }

    fn flush_table(&mut self) -> Result<()> {
        let Some(table) = self.table.take() else { return Ok(()) };
        let mut text = table.trim_fmt();
        text.push('\n');
        self.raw(text.as_bytes())
    }

    /// Writes the rows so far, because the next ones may be long in coming. A table goes on under the same headline.
    pub fn pause(&mut self) -> Result<()> {
        if let Some(table) = &mut self.table {
            let now = table.column_max_content_widths();
            let widest =
                now.iter().enumerate().map(|(at, now)| self.widths.get(at).map_or(*now, |was| *now.max(was)));
            self.widths = widest.collect();
            for (column, width) in table.column_iter_mut().zip(&self.widths) {
                column.set_constraint(ColumnConstraint::LowerBoundary(Width::Fixed(*width)));
            }
        }
        self.flush_table()?;
        self.flush()
    }

    /// Waits as long as `time` says; not so long where the reader of standard output goes away.
    pub fn wait(&mut self, time: Duration) {
        let seconds = i64::try_from(time.as_secs()).unwrap_or(i64::MAX);
        let limit = rustix::event::Timespec { tv_sec: seconds, tv_nsec: i64::from(time.subsec_nanos()) };
        let waited = self.out.as_ref().map(|out| {
            let mut fds = [PollFd::new(out.get_ref(), PollFlags::empty())];
            rustix::event::poll(&mut fds, Some(&limit)).map(|_| fds[0].revents())
        });
        match waited {
            Some(Ok(events)) if events.intersects(PollFlags::ERR | PollFlags::HUP) => self.gone = true,
            Some(Ok(_)) => {}
            // A signal, or nothing to wait for.
            _ => std::thread::sleep(time),
        }
    }

    /// Ends the rows of an answer and writes its fields.
    pub fn fields(&mut self, id: Option<&str>, fields: &[(&'static str, Value<'_>)]) -> Result<()> {
        if self.gone {
            return Ok(());
        }
        if !self.groups.is_empty() {
            self.open_group(self.groups.len() - 1)?;
            self.close_group()?;
            self.current = Some(self.groups.len());
        }
        let widest = fields.iter().map(|(name, _)| name.len()).max().unwrap_or(0);
        match self.format() {
            Format::Json => {
                for (name, value) in fields {
                    let mut text = format!(",\n\"{name}\":");
                    json::value(&mut text, value);
                    self.raw(text.as_bytes())?;
                }
            }
            Format::Jsonl => {
                let (names, values): (Vec<_>, Vec<_>) = fields.iter().cloned().unzip();
                let mut line = String::new();
                let kind = if self.groups.is_empty() { None } else { Some("summary") };
                json::object(&mut line, kind, &names, &values);
                line.push('\n');
                self.raw(line.as_bytes())?;
            }
            Format::Plain => {
                for (name, value) in fields {
                    for text in value.lines() {
                        self.raw(format!("{name}\t{}\n", value.plain(&text)).as_bytes())?;
                    }
                }
            }
            Format::Table => {
                for (name, value) in fields {
                    for text in value.lines().iter().filter(|text| !text.is_empty()) {
                        let text = for_terminal(text);
                        self.raw(format!("{:widest$}  {text}\n", name.replace('_', " ")).as_bytes())?;
                    }
                }
            }
            Format::Id => {
                if let Some(id) = id {
                    self.id(id)?;
                }
            }
        }
        Ok(())
    }

    /// Ends an answer and makes sure that it is written.
    pub fn end(&mut self) -> Result<()> {
        if self.current.is_none_or(|current| current < self.groups.len()) && !self.groups.is_empty() {
            self.open_group(self.groups.len() - 1)?;
            self.close_group()?;
            self.current = Some(self.groups.len());
        }
        if self.format() == Format::Json {
            self.raw(b"}\n")?;
        }
        self.open = false;
        self.flush()
    }

    /// Makes sure that what was written so far is out.
    pub fn flush(&mut self) -> Result<()> {
        if self.gone {
            return Ok(());
        }
        let flushed = self.out.as_mut().map_or(Ok(()), Write::flush);
        self.settle(flushed)
    }

    /// Tells something that is worth knowing.
    pub fn note(&mut self, text: &str) {
        self.talk("note", None, text, &[]);
    }

    /// Tells something that is wrong, but not the answer; each hint is a command.
    pub fn warn(&mut self, text: &str, hints: &[String]) {
        self.talk("warning", None, text, hints);
    }

    /// Tells of an error that did not keep the command from answering.
    pub fn warn_of(&mut self, error: &Error) {
        self.talk("warning", Some(error.code), &error.message, &error.hints);
    }

    /// The same, however quiet the rest is.
    pub fn warn_loudly(&mut self, error: &Error) {
        let quiet = std::mem::take(&mut self.settings.quiet);
        self.warn_of(error);
        self.settings.quiet = quiet;
    }

    fn talk(&mut self, level: &'static str, code: Option<Code>, text: &str, hints: &[String]) {
        if self.settings.quiet {
            return;
        }
        let hints: Vec<String> = hints.iter().map(|hint| self.carried.command(hint)).collect();
        let lines = if self.is_json() {
            let mut line = String::new();
            let names = ["schema", "level", "code", "message", "hints"];
            let values = [
                Value::text("cruxctl.note.v1"),
                Value::text(level),
                Value::maybe(code.map(Code::text)),
                Value::text(text),
                Value::Texts(hints),
            ];
            json::object(&mut line, None, &names, &values);
            line.push('\n');
            line
        } else {
            self.prose(level, code, text, &hints)
        };
        self.to_stderr(&lines);
    }

    /// Tells why the command ends with `status`. In the JSON formats it is one object.
    pub fn error(&mut self, error: &Error, status: u8) {
        self.close_broken(error);
        // What is still in the buffer belongs before the error.
        let _ = self.flush();
        let hints: Vec<String> = error.hints.iter().map(|hint| self.carried.command(hint)).collect();
        let text = if self.is_json() {
            let mut line = String::new();
            let names = ["schema", "kind", "code", "status", "message", "hints"];
            let kind = error.code.kind();
            let values = [
                Value::text("cruxctl.error.v1"),
                Value::text(kind.name()),
                Value::text(error.code.text()),
                Value::Count(u64::from(status)),
                Value::text(&*error.message),
                Value::Texts(hints),
            ];
            json::object(&mut line, None, &names, &values);
            line.push('\n');
            line
        } else {
            self.prose("error", Some(error.code), &error.message, &hints)
        };
        self.to_stderr(&text);
    }

    /// Ends a JSON object that an error broke off, so that it is one: its last member says so.
    fn close_broken(&mut self, error: &Error) {
        if !std::mem::take(&mut self.open) || self.format() != Format::Json {
            return;
        }
        let mut text = String::from(",\n\"error\":");
        json::value(&mut text, &Value::text(error.code.text()));
        text.push_str("}\n");
        let inside = self.current.is_some_and(|current| current < self.groups.len());
        // Where standard output is what failed, there is nothing to end.
        let _ = if inside { self.close_group() } else { Ok(()) }.and_then(|()| self.raw(text.as_bytes()));
    }

    fn prose(&self, level: &str, code: Option<Code>, text: &str, hints: &[String]) -> String {
        let color = self.settings.color.unwrap_or(self.err_terminal);
        let level = match level {
            "error" if color => "\u{1b}[1;31merror\u{1b}[0m",
            "warning" if color => "\u{1b}[1;33mwarning\u{1b}[0m",
            other => other,
        };
        let code = code.map(|code| format!(" [{}]", code.text())).unwrap_or_default();
        let mut lines = format!("{level}: {}{code}\n", for_terminal(text));
        for hint in hints {
            let word = if hint.starts_with("cruxctl ") { "try" } else { "hint" };
            lines.push_str(&format!("  {word}: {}\n", for_terminal(hint)));
        }
        lines
    }

    /// Writes talk. Where nobody listens there is nobody to tell.
    pub fn to_stderr(&self, text: &str) {
        let _ = io::stderr().write_all(text.as_bytes());
    }

    /// A bar for a long reading, shown only where a terminal waits longer than 300 ms.
    #[must_use]
    pub fn progress(&self, what: &str) -> Progress {
        let shown = self.err_terminal && !self.settings.quiet;
        Progress::new(what, shown)
    }
}

fn closed() -> io::Error {
    io::Error::other("it is closed")
}
