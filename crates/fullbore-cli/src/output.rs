//! Standard output of a run: lines are printed in batches with a bounded delay.

use std::io::IsTerminal;
use std::sync::{Arc, LazyLock, MutexGuard, Weak};
use std::time::{Duration, Instant};

use fullbore::buf::Direction;
use fullbore::lock::Mutex;
use fullbore::quote::printable_bytes;
use fullbore::sys;

use crate::exit::Exit;
use crate::progress::ProgressLine;
use crate::signals::wake;

/// Bytes per write.
const BUFFER_BYTES: usize = 64 << 10;

/// The maximum delay of a line.
const FLUSH_DELAY: Duration = Duration::from_millis(100);

/// Bytes that a writable pipe accepts without blocking (`PIPE_BUF`).
const PIPE_WRITE: usize = 4096;

/// The run whose output is flushed regularly.
static CURRENT: Mutex<Weak<Output>> = Mutex::new(Weak::new());

/// Standard output, and the progress line that is cleared while something is printed.
#[derive(Debug)]
pub struct Output {
    held: Mutex<Buffered>,
    line: Mutex<Option<ProgressLine>>,
    terminal: LazyLock<bool>,
}

#[derive(Debug)]
struct Buffered {
    bytes: Vec<u8>,
    flushed: Instant,
    /// True if output is not held back, because no thread would flush it.
    at_once: bool,
    looked_after: bool,
    failed: Option<Exit>,
}

impl Output {
    pub(crate) fn new() -> Arc<Self> {
        let held = Buffered {
            bytes: Vec::new(),
            flushed: Instant::now(),
            at_once: false,
            looked_after: false,
            failed: None,
        };
        Arc::new(Self {
            held: Mutex::new(held),
            line: Mutex::default(),
            terminal: LazyLock::new(|| std::io::stdout().is_terminal()),
        })
    }

    pub(crate) fn line(&self) -> MutexGuard<'_, Option<ProgressLine>> {
        self.line.lock()
    }

    /// Runs `write` with the progress line cleared.
    pub fn without_progress_line<T>(&self, write: impl FnOnce() -> T) -> T {
        match &*self.line() {
            Some(line) => line.without_progress_line(write),
            None => write(),
        }
    }

    /// As [`print_raw`](Self::print_raw); control characters in names are escaped on a terminal.
    ///
    /// # Errors
    /// If the write fails.
    pub fn print(self: &Arc<Self>, text: impl AsRef<[u8]>) -> Result<(), Exit> {
        match *self.terminal {
            true => self.print_raw(printable_bytes(text.as_ref())),
            false => self.print_raw(text),
        }
    }

    /// Prints `text`, which may contain terminal control sequences: immediately to a terminal, with the progress line
    /// cleared, otherwise after a short delay.
    ///
    /// # Errors
    /// If the write fails.
    pub fn print_raw(self: &Arc<Self>, text: impl AsRef<[u8]>) -> Result<(), Exit> {
        let text = text.as_ref();
        let mut held = self.held.lock();
        held.bytes.extend_from_slice(text);
        held.at_once |= *self.terminal;
        if !held.looked_after && !held.at_once {
            *CURRENT.lock() = Arc::downgrade(self);
            held.looked_after = wake();
            held.at_once = !held.looked_after;
        }
        let soon = held.bytes.len() < BUFFER_BYTES && held.flushed.elapsed() < FLUSH_DELAY;
        if soon && !held.at_once { Ok(()) } else { self.write(&mut held) }
    }

    /// Writes to standard error after the held output, so that both are in order if they go to the same file. An error
    /// of standard output is returned by the next print.
    pub fn eprint(&self, text: &str) {
        let mut held = self.held.lock();
        held.failed = self.write(&mut held).err();
        self.without_progress_line(|| Exit::eprint(text));
    }

    /// Writes the held output. Nothing else flushes it, so an interrupted run has printed a part.
    ///
    /// # Errors
    /// If the write fails.
    pub fn flush(&self) -> Result<(), Exit> {
        self.write(&mut self.held.lock())
    }

    fn write(&self, held: &mut Buffered) -> Result<(), Exit> {
        if let Some(failed) = held.failed.take() {
            return Err(failed);
        }
        let result = self.without_progress_line(|| Exit::print_raw(&held.bytes));
        held.bytes.clear();
        held.flushed = Instant::now();
        result
    }
}

/// Writes overdue output of the current run as far as that does not block; `false`: there is no run.
pub(crate) fn flush_overdue() -> bool {
    let Some(output) = CURRENT.lock().upgrade() else { return false };
    // A thread that holds a lock may block in a write; otherwise it writes more soon.
    if let (Some(mut held), Some(line)) = (output.held.try_lock(), output.line.try_lock())
        && held.flushed.elapsed() >= FLUSH_DELAY
    {
        let mut write = || held.write_some();
        match &*line {
            Some(line) => line.without_progress_line(write),
            None => write(),
        }
    }
    true
}

impl Buffered {
    /// Writes while standard output accepts data without blocking.
    fn write_some(&mut self) {
        let stdout = sys::stdout();
        while !self.bytes.is_empty() && self.failed.is_none() {
            let ready = sys::wait_any(&[(stdout, Direction::Write)], Some(Duration::ZERO));
            if !ready.is_ok_and(|ready| ready[0]) {
                return;
            }
            let count = self.bytes.len().min(PIPE_WRITE);
            self.failed = Exit::print_raw(&self.bytes[..count]).err();
            self.bytes.drain(..count);
        }
    }
}
