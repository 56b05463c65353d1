//! The terminal display of a run in progress: progress, time, current cell, its samples.

use std::io::IsTerminal;
use std::time::Duration;

use crate::exit::Exit;
use fullbore::quote::printable;
use fullbore::size;
use fullbore_bench::RunProgress;
use fullbore_bench::stats::Bootstrap;
use fullbore_cli::progress::note_shown;
use indicatif::{HumanDuration, ProgressBar, ProgressDrawTarget, ProgressStyle};

/// The display of a run: two lines on the terminal, none without a terminal.
pub(super) struct LiveDisplay {
    bar: Option<ProgressBar>,
    time: Duration,
}

impl LiveDisplay {
    pub(super) fn new(time: Duration) -> Self {
        let bar = std::io::stderr().is_terminal().then(|| {
            let bar = ProgressBar::new(1000);
            bar.set_draw_target(ProgressDrawTarget::stderr_with_hz(10));
            if let Ok(style) = ProgressStyle::with_template("{bar:30} {percent:>3}%  {prefix}\n{wide_msg}") {
                bar.set_style(style);
            }
            note_shown(2);
            bar
        });
        Self { bar, time }
    }

    pub(super) fn show(&self, progress: &RunProgress<'_>) {
        let Some(bar) = &self.bar else { return };
        let left = self.time.mul_f64(1.0 - progress.share);
        bar.set_position((progress.share * 1000.0) as u64);
        bar.set_prefix(format!("{} left", HumanDuration(left)));
        bar.set_message(format!("{}{}", samples(progress.rates), printable(progress.now)));
    }

    /// Prints a message that stays, on standard error.
    pub(super) fn announce(&self, text: &str) {
        let print = || Exit::eprint(&format!("fullbore: {}\n", printable(text)));
        match &self.bar {
            Some(bar) => bar.suspend(print),
            None => print(),
        }
    }

    pub(super) fn end(&self) {
        if let Some(bar) = &self.bar {
            bar.finish_and_clear();
            note_shown(0);
        }
    }
}

/// Formats the rates measured so far: `n=5 3.12 GB/s ±2.1%  `; empty without any.
fn samples(rates: &[f64]) -> String {
    // Few resamples, to keep the cost negligible; the run computes the final interval with more.
    let quick = Bootstrap { resamples: 100, ..Bootstrap::default() };
    match quick.median(rates) {
        Some(median) if rates.len() > 1 => format!(
            "n={} {} ±{:.0}%  ",
            rates.len(),
            size::rate(median.value),
            median.relative_half_width() * 100.0
        ),
        Some(median) => format!("n=1 {}  ", size::rate(median.value)),
        None => String::new(),
    }
}
