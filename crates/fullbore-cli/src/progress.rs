//! The progress line of long runs, on a terminal only.

use std::io::IsTerminal;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use clap::ValueEnum;
use fullbore::file::ending_signal;
use fullbore::lock::Mutex;
use fullbore::pattern::Progress;
use fullbore::quote::printable;
use fullbore::size;
use indicatif::{HumanDuration, ProgressBar, ProgressDrawTarget, ProgressState, ProgressStyle};

use crate::exit::Exit;
pub use crate::signals::{note_end, note_shown};

/// The condition under which the progress line is shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum When {
    /// On a terminal, if the run takes longer than 0.3 s and does not read from a terminal
    Auto,
    /// Always, even in a pipe
    Always,
    /// Never
    Never,
}

/// The time after which a run shows a progress line.
const DELAY: Duration = Duration::from_millis(300);

/// True once standard input is read and a terminal: a progress line would overwrite what is typed.
static TYPED: AtomicBool = AtomicBool::new(false);

/// Prepares for reading standard input: while text is typed, no progress line appears unless the user requests it.
pub fn before_standard_input() {
    if std::io::stdin().is_terminal() {
        TYPED.store(true, Ordering::Relaxed);
    }
}

/// A progress line that is updated until it is dropped.
#[derive(Debug)]
pub struct ProgressLine {
    over: Arc<AtomicBool>,
    bar: Arc<Mutex<Option<ProgressBar>>>,
    follower: Option<JoinHandle<()>>,
}

impl ProgressLine {
    /// Displays `progress` up to `len` bytes, if that is known.
    pub fn follow(when: When, what: &str, len: Option<u64>, progress: &Arc<Progress>) -> Self {
        let over = Arc::new(AtomicBool::new(false));
        let bar = Arc::new(Mutex::new(None));
        let wanted = match when {
            When::Auto => std::io::stderr().is_terminal(),
            When::Always => true,
            When::Never => false,
        };
        let follower = wanted.then(|| {
            let (over, bar, progress, what) =
                (over.clone(), bar.clone(), progress.clone(), printable(what).into_owned());
            let run = Run { what, len, start: Instant::now(), progress };
            std::thread::Builder::new().spawn(move || draw(when, &run, &over, &bar))
        });
        // If no thread can be started, the run continues without a line.
        let follower = follower.and_then(Result::ok);
        Self { over, bar, follower }
    }

    /// Runs `print` with the line cleared.
    pub fn without_progress_line<T>(&self, print: impl FnOnce() -> T) -> T {
        match &*self.bar.lock() {
            Some(bar) => bar.suspend(print),
            None => print(),
        }
    }
}

impl Drop for ProgressLine {
    fn drop(&mut self) {
        self.over.store(true, Ordering::Relaxed);
        if let Some(follower) = self.follower.take() {
            follower.thread().unpark();
            // The thread only draws; its failure does not affect the run.
            let _ = follower.join();
        }
    }
}

/// The run that is shown.
struct Run {
    what: String,
    len: Option<u64>,
    start: Instant,
    progress: Arc<Progress>,
}

/// The mean rate of a run since its start, in bytes per second.
fn mean_rate(done: u64, elapsed: Duration) -> f64 {
    done as f64 / elapsed.as_secs_f64().max(1e-3)
}

fn draw(when: When, run: &Run, over: &AtomicBool, shown: &Mutex<Option<ProgressBar>>) {
    while when == When::Auto && run.start.elapsed() < DELAY {
        if over.load(Ordering::Relaxed) {
            return;
        }
        std::thread::park_timeout(DELAY);
    }
    if !std::io::stderr().is_terminal() {
        return lines(run, over);
    }
    let hidden = || when == When::Auto && TYPED.load(Ordering::Relaxed);
    if hidden() {
        return;
    }
    let (bar, template) = match run.len {
        Some(len) => {
            (ProgressBar::new(len), "{msg} {wide_bar} {decimal_bytes}/{decimal_total_bytes} {rate} {left}")
        }
        None => (ProgressBar::no_length(), "{msg} {spinner} {decimal_bytes} {rate} {elapsed} elapsed"),
    };
    bar.set_draw_target(ProgressDrawTarget::stderr_with_hz(10));
    if let Ok(style) = ProgressStyle::with_template(template) {
        let rate = |state: &ProgressState| mean_rate(state.pos(), state.elapsed());
        bar.set_style(
            style
                .with_key("rate", move |state: &ProgressState, text: &mut dyn std::fmt::Write| {
                    let _ = text.write_str(&size::rate(rate(state)));
                })
                .with_key("left", move |state: &ProgressState, text: &mut dyn std::fmt::Write| {
                    let left = state.len().unwrap_or(0).saturating_sub(state.pos());
                    if let Ok(left) = Duration::try_from_secs_f64(left as f64 / rate(state)) {
                        let _ = write!(text, "{:#}", HumanDuration(left));
                    }
                }),
        );
    }
    let bar = bar.with_elapsed(run.start.elapsed());
    bar.set_message(run.what.clone());
    *shown.lock() = Some(bar.clone());
    note_shown(1);
    // After a signal, the signal thread clears the line.
    while !over.load(Ordering::Relaxed) && !hidden() && ending_signal().load(Ordering::Relaxed) == 0 {
        bar.set_position(run.progress.bytes_done());
        std::thread::park_timeout(Duration::from_millis(100));
    }
    bar.finish_and_clear();
    note_shown(0);
}

/// Prints one line per second, and one at the end, if there is no terminal.
fn lines(run: &Run, over: &AtomicBool) {
    let total = run.len.map_or_else(String::new, |len| format!(" of {}", size::human(len)));
    loop {
        let last = over.load(Ordering::Relaxed);
        let done = run.progress.bytes_done();
        let (rate, done) = (size::rate(mean_rate(done, run.start.elapsed())), size::human(done));
        Exit::eprint(&format!("{}: {done}{total}, {rate}\n", run.what));
        if last {
            return;
        }
        let tick = Instant::now();
        while tick.elapsed() < Duration::from_secs(1) && !over.load(Ordering::Relaxed) {
            std::thread::park_timeout(Duration::from_secs(1));
        }
    }
}
