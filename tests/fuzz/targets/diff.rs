//! Two JSON texts: there is no difference exactly where they say the same, and what is told is a piece of them.

#![no_main]

use std::convert::Infallible;

use cruxctl::journal::json as ours;
use cruxctl::store::diff::{Change, diff};
use cruxctl_fuzz::json::{self, Value};
use libfuzzer_sys::fuzz_target;

/// From so many open containers on, only how a value is written counts.
const LEVELS: usize = 32;

fuzz_target!(|data: &[u8]| {
    // No byte of UTF-8.
    let Some(cut) = data.iter().position(|byte| *byte == 0xFF) else { return };
    let (Some((before, was)), Some((after, is))) = (whole(&data[..cut]), whole(&data[cut + 1..])) else { return };
    let changes = changes(before, after);
    let same = json::same((before, &was), (after, &is), LEVELS);
    assert_eq!(changes.is_empty(), same, "{changes:?}");
    assert_eq!(self::changes(after, before).is_empty(), same, "the other way round it is otherwise");
    assert!(self::changes(before, before).is_empty());
    // Each difference takes a byte at least.
    assert!(changes.len() <= before.len() + after.len());
    for (path, change) in &changes {
        is_piece(change.before, before, path);
        is_piece(change.after, after, path);
        let (Some(old), Some(new)) = (change.before, change.after) else { continue };
        let (Ok(was), Ok(is)) = (json::parse(old), json::parse(new)) else { panic!("{path}: it is no value") };
        assert!(!json::same((old, &was), (new, &is), LEVELS) || deep(path), "{path}: it did not change");
    }
});

/// Whether a path is so long that how a value is written counts.
fn deep(path: &str) -> bool {
    path.matches(['.', '[']).count() >= LEVELS
}

/// A text that both readers take for one value, without the white space around it.
fn whole(text: &[u8]) -> Option<(&[u8], Value)> {
    std::str::from_utf8(text).ok()?;
    let (mine, own) = (json::parse(text), ours::whole(text, 0));
    assert_eq!(mine.as_ref().err(), own.as_ref().err().map(|fail| &fail.at), "they differ in what is JSON");
    let text = &text[own.ok()?.0];
    Some((text, json::parse(text).ok()?))
}

fn changes<'a>(before: &'a [u8], after: &'a [u8]) -> Vec<(String, Change<'a>)> {
    let mut all = Vec::new();
    let told: Result<(), Infallible> = diff(before, after, &mut |path, change| {
        all.push((path.to_owned(), change));
        Ok(())
    });
    told.expect("nothing fails here");
    all
}

/// What is told lies in the text that it is told of.
fn is_piece(piece: Option<&[u8]>, text: &[u8], path: &str) {
    let Some(piece) = piece else { return };
    let (piece, text) = (piece.as_ptr_range(), text.as_ptr_range());
    assert!(text.start <= piece.start && piece.end <= text.end, "{path}: it is from nowhere");
}
