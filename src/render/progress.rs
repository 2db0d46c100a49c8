//! A progress bar on standard error.

use std::time::{Duration, Instant};

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};

/// A bar that appears when it is needed.
pub struct Progress {
    what: String,
    since: Instant,
    shown: bool,
    bar: Option<ProgressBar>,
}

impl Progress {
    pub(super) fn new(what: &str, shown: bool) -> Progress {
        Progress { what: what.to_owned(), since: Instant::now(), shown, bar: None }
    }

    /// `done` of `all` bytes are read.
    pub fn at(&mut self, done: u64, all: u64) {
        if !self.shown || self.since.elapsed() < Duration::from_millis(300) {
            return;
        }
        let bar = self.bar.get_or_insert_with(|| {
            let bar = ProgressBar::with_draw_target(Some(all), ProgressDrawTarget::stderr());
            if let Ok(style) = ProgressStyle::with_template("{msg} {wide_bar} {bytes}/{total_bytes} {eta}") {
                bar.set_style(style);
            }
            bar.set_message(self.what.clone());
            bar
        });
        bar.set_position(done);
    }
}

impl Drop for Progress {
    fn drop(&mut self) {
        if let Some(bar) = &self.bar {
            bar.finish_and_clear();
        }
    }
}
