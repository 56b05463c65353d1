//! The progress line of long runs, on a terminal only.

use std::io::IsTerminal;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use clap::ValueEnum;
use fullbore::lock::Mutex;
use fullbore::pattern::Progress;
use fullbore::quote::printable;
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};

use crate::exit::Exit;

/// The condition under which the progress line is shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum When {
    /// On a terminal, if the run takes longer than 0.3 s
    Auto,
    /// Always, even in a pipe
    Always,
    /// Never
    Never,
}

/// The duration of a run before a line appears.
const MOMENT: Duration = Duration::from_millis(300);

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
            std::thread::Builder::new().spawn(move || draw(when, &what, len, &progress, &over, &bar))
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

fn draw(
    when: When,
    what: &str,
    len: Option<u64>,
    progress: &Progress,
    over: &AtomicBool,
    shown: &Mutex<Option<ProgressBar>>,
) {
    let start = Instant::now();
    while when == When::Auto && start.elapsed() < MOMENT {
        if over.load(Ordering::Relaxed) {
            return;
        }
        std::thread::park_timeout(MOMENT);
    }
    if !std::io::stderr().is_terminal() {
        return lines(what, len, progress, over);
    }
    let (bar, template) = match len {
        Some(len) => (
            ProgressBar::new(len),
            "{msg} {wide_bar} {decimal_bytes}/{decimal_total_bytes} {decimal_bytes_per_sec} {eta}",
        ),
        None => {
            (ProgressBar::no_length(), "{msg} {spinner} {decimal_bytes} {decimal_bytes_per_sec} {elapsed}")
        }
    };
    bar.set_draw_target(ProgressDrawTarget::stderr_with_hz(10));
    if let Ok(style) = ProgressStyle::with_template(template) {
        bar.set_style(style);
    }
    bar.set_message(printable(what).into_owned());
    *shown.lock() = Some(bar.clone());
    while !over.load(Ordering::Relaxed) {
        bar.set_position(progress.bytes_done());
        std::thread::park_timeout(Duration::from_millis(100));
    }
    bar.finish_and_clear();
}

/// Without a terminal: prints one line per second, and one at the end.
fn lines(what: &str, len: Option<u64>, progress: &Progress, over: &AtomicBool) {
    let start = Instant::now();
    let total = len.map_or_else(String::new, |len| format!(" of {}", fullbore::size::human(len)));
    loop {
        let last = over.load(Ordering::Relaxed);
        let done = progress.bytes_done();
        let rate = done as f64 / start.elapsed().as_secs_f64();
        let (done, rate) = (fullbore::size::human(done), fullbore::size::rate(rate));
        Exit::eprint(&format!("{what}: {done}{total}, {rate}\n"));
        if last {
            return;
        }
        let tick = Instant::now();
        while tick.elapsed() < Duration::from_secs(1) && !over.load(Ordering::Relaxed) {
            std::thread::park_timeout(Duration::from_secs(1));
        }
    }
}
