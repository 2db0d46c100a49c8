//! The file as a bar: which bytes of it are what, a cell for each part.

use crate::journal::finding::Span;

/// One part of the file.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Cell {
    /// Its bytes.
    pub span: Span,
    /// Bytes of live records.
    pub live: u64,
    /// Bytes of records that are no longer live.
    pub dead: u64,
    /// Bytes that are no record.
    pub damaged: u64,
    /// Bytes of other versions' records.
    pub foreign: u64,
    /// The rest: line ends, white space, and what is being written.
    pub other: u64,
    /// How many places with damage lie in it or reach into it, with bytes or without.
    pub places: u64,
}

/// The bar while it is filled. What is dead is known only at the end: until then `dead` counts all records.
#[derive(Debug)]
pub struct Cells {
    len: u64,
    cells: Vec<Cell>,
    /// The cell that was last met: what comes next mostly lies in it.
    last: usize,
}

impl Cells {
    /// A bar of a file of `len` bytes in `count` cells; no cell is empty, so that a short file has fewer.
    #[must_use]
    pub fn new(len: u64, count: u64) -> Cells {
        let count = count.min(len);
        // It is at most `len`, because `n` is at most `count`.
        let border = |n: u64| {
            let border = u128::from(n) * u128::from(len) / u128::from(count.max(1));
            u64::try_from(border).unwrap_or(len)
        };
        let cell = |n| Cell { span: Span { offset: border(n), len: border(n + 1) - border(n) }, ..Cell::default() };
        Cells { len, cells: (0..count).map(cell).collect(), last: 0 }
    }

    /// A record, live or not.
    pub fn record(&mut self, span: Span) {
        self.add(span, |cell, len| cell.dead += len);
    }

    /// The live part of records that were met.
    pub fn live(&mut self, span: Span) {
        self.add(span, |cell, len| cell.live += len);
    }

    /// Bytes that are no record.
    pub fn damaged(&mut self, span: Span) {
        self.add(span, |cell, len| cell.damaged += len);
    }

    /// A record of another version.
    pub fn foreign(&mut self, span: Span) {
        self.add(span, |cell, len| cell.foreign += len);
    }

    /// A place with damage. One without bytes is marked where it lies.
    pub fn mark(&mut self, span: Span) {
        let offset = span.offset.min(self.len.saturating_sub(1));
        self.add(Span { offset, len: span.len.max(1) }, |cell, _| cell.places += 1);
    }

    /// Hands each cell that a span reaches into, and how many of its bytes.
    fn add(&mut self, span: Span, add: impl Fn(&mut Cell, u64)) {
        let (mut at, end) = (span.offset, span.end().min(self.len));
        if at >= end {
            return;
        }
        let inside = |cell: &Cell| cell.span.offset <= at && at < cell.span.end();
        if !self.cells.get(self.last).is_some_and(inside) {
            self.last = self.cells.partition_point(|cell| cell.span.end() <= at);
        }
        while at < end
            && let Some(cell) = self.cells.get_mut(self.last)
        {
            let until = end.min(cell.span.end());
            add(cell, until - at);
            at = until;
            self.last += usize::from(at < end);
        }
    }

    /// The cells, once everything was met.
    #[must_use]
    pub fn cells(mut self) -> Vec<Cell> {
        for cell in &mut self.cells {
            let records = cell.dead;
            cell.dead = records.saturating_sub(cell.live);
            cell.other = cell.span.len.saturating_sub(records + cell.damaged + cell.foreign);
        }
        self.cells
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cells_lie_end_to_end_and_share_out_every_byte() {
        for (len, count) in [(0, 4), (1, 4), (3, 64), (64, 64), (1000, 7), (u64::MAX, 4096)] {
            let mut cells = Cells::new(len, count);
            cells.record(Span { offset: 0, len });
            let cells = cells.cells();
            assert_eq!(cells.len() as u64, count.min(len));
            let mut at = 0;
            for cell in &cells {
                assert_eq!((cell.span.offset, cell.dead), (at, cell.span.len));
                assert!(cell.span.len >= len / count && cell.span.len <= len / count + 1);
                at = cell.span.end();
            }
            assert_eq!(at, len);
        }
    }

    #[test]
    fn a_place_without_bytes_is_marked_where_it_lies_or_in_the_last_cell() {
        for (offset, marked) in [(0, 0), (9, 0), (10, 1), (99, 9), (100, 9), (500, 9)] {
            let mut cells = Cells::new(100, 10);
            cells.mark(Span { offset, len: 0 });
            let places: Vec<u64> = cells.cells().iter().map(|cell| cell.places).collect();
            assert_eq!((places.iter().sum::<u64>(), places[marked]), (1, 1), "{offset}");
        }
    }
}
