//! Two threads read a journal as one does: the same records and findings, in the same order, on the same lines.

use std::fs::File;

use cruxctl::journal::live::Digest;
use cruxctl::journal::parallel::{self, Met};
use cruxctl::journal::scan::{self, Item, Stretch};
use cruxctl::journal::stamp::Stamp;
use cruxctl::journal::witness::Encoder;
use cruxctl::store::session::JOURNAL;
use proptest::prelude::*;

use crate::support::{World, session_line};

/// What was met, in words, the entries that a witness keeps of the lines, and what was passed over.
type Everything = (Vec<String>, Vec<u8>, scan::Totals);

/// What one thread meets.
fn alone(world: &World) -> Everything {
    let path = world.dir().join("sessions.jsonl");
    let file = File::open(&path).unwrap();
    let len = file.metadata().unwrap().len();
    let mut met = Vec::new();
    let mut lines = Encoder::default();
    let stretch = Stretch { hashes: true, ..Stretch::whole(len) };
    let totals = scan::scan(&path, &file, JOURNAL.shape, stretch, &mut |item| {
        lines.item(&item);
        match item {
            Item::Record(r) => met.push(format!(
                "{:?}",
                Met::Record { line: r.line, span: r.span, digest: Digest::of(&r), time: Stamp::of(&r) }
            )),
            Item::Finding(f, bytes) => met.push(format!("{:?}", Met::Finding(Box::new(f), bytes))),
            Item::Foreign { .. } | Item::LineEnd { .. } => {}
        }
        Ok(())
    });
    (met, lines.out, totals.unwrap())
}

/// What two threads meet, the file being cut into chunks of this length.
fn together(world: &World, chunk: u64) -> Everything {
    let path = world.dir().join("sessions.jsonl");
    let file = File::open(&path).unwrap();
    let len = file.metadata().unwrap().len();
    let (mut met, mut lines) = (Vec::new(), Vec::new());
    let totals = parallel::scan(&path, &file, &JOURNAL, len, (chunk, true), &mut |m| {
        match m {
            Met::Lines(entries) => lines.extend(entries),
            m => met.push(format!("{m:?}")),
        }
        Ok(())
    });
    (met, lines, totals.unwrap())
}

fn same(text: &[u8]) {
    let world = World::with("sessions.jsonl", text).damaged();
    let one = alone(&world);
    for chunk in [1, 7, 64, 200, 1 << 20] {
        assert_eq!(together(&world, chunk), one, "in chunks of {chunk} bytes: {:?}", String::from_utf8_lossy(text));
    }
}

#[test]
fn chunks_of_any_length_give_what_one_reading_gives() {
    let line = session_line("a", "{\"n\":1}");
    for text in [
        String::new(),
        "\n".to_owned(),
        "\n\n\n".to_owned(),
        line.clone(),
        format!("{line}\n{line}"),
        format!("{line}\n\n{line}\r\n  {line}\n"),
        format!("{line}{line}\n{}\n{line}", &line[..40]),
        format!("{line}\n{}\n{line}\n{}", "\0".repeat(300), &line[..90]),
        format!("{}\n{line}\n", session_line("long", &format!("\"{}\"", "x".repeat(5000)))),
    ] {
        same(text.as_bytes());
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(40))]

    #[test]
    fn damage_anywhere_gives_what_one_reading_gives(
        ids in prop::collection::vec("[a-d]", 1..12),
        harm in prop::collection::vec((any::<prop::sample::Index>(), 0usize..4, any::<u8>()), 0..6),
    ) {
        let mut text: Vec<u8> = ids.iter().flat_map(|id| (session_line(id, "{\"k\":[1,2]}") + "\n").into_bytes()).collect();
        for (at, kind, byte) in harm {
            let at = at.index(text.len());
            match kind {
                0 => text[at] = byte,
                1 => { text.remove(at); if text.is_empty() { text.push(b'\n') } }
                2 => text.insert(at, b'\n'),
                _ => { text.splice(at..at, [0u8; 5]); }
            }
        }
        same(&text);
    }
}

#[test]
fn an_error_of_the_caller_ends_the_reading() {
    let world = World::with("sessions.jsonl", (session_line("a", "1") + "\n").repeat(5000));
    let path = world.dir().join("sessions.jsonl");
    let file = File::open(&path).unwrap();
    let len = file.metadata().unwrap().len();
    let mut taken = 0;
    let result = parallel::scan(&path, &file, &JOURNAL, len, (1000, false), &mut |_| {
        taken += 1;
        if taken < 10 {
            Ok(())
        } else {
            Err(cruxctl::error::Error::new(cruxctl::error::Code::EnvironmentIo, "enough"))
        }
    });
    assert_eq!((result.unwrap_err().message.as_str(), taken), ("enough", 10));
}
