//! Reads a pipe or device sequentially, one worker at a time.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use super::adaptive::{Spent, Trials};
use crate::strategy::{Contender, Selection, Strategy, text};
use fullbore_io::buf::{Buf, Direction};
use fullbore_io::engine::PIPE_CAPACITY;
use fullbore_io::error::Result;
use fullbore_io::file::{File, FileKind};
use fullbore_io::lock::{Condvar, Mutex};
use fullbore_io::probe::ProcessUsage;
use fullbore_io::sys::{self, AsHandle, Code};

/// Time after which a reader that waits for bytes checks if the run was cancelled.
pub(super) const PATIENCE: Duration = Duration::from_millis(50);

/// Bytes that are read before further workers start: shorter streams need none.
const BEFORE: u64 = 2 * MEASURED;

/// Bytes of a measurement, after `SETTLE` bytes that still show the contender before it. The time for a change is that of
/// waking a worker, in seconds.
const MEASURED: u64 = if cfg!(test) { 64 << 10 } else { 8 << 20 };
const SETTLE: u64 = MEASURED / 4;
const CHANGE: f64 = 0.1e-3;

/// Gives a pipe more room, so that it is filled and emptied in fewer switches. A failure is ignored.
pub(super) fn enlarge_pipe(file: &File) {
    if file.kind() == FileKind::Fifo && sys::pipe_capacity(file).is_ok_and(|size| size < PIPE_CAPACITY) {
        let _ = sys::set_pipe_capacity(file, PIPE_CAPACITY);
    }
}

/// Waits until a read of `file` returns bytes, its end or an error without waiting; false once `go_on` returns false.
pub(super) fn wait_readable(file: &File, go_on: &dyn Fn() -> bool) -> bool {
    while go_on() {
        match sys::wait_any(&[(file.as_handle(), Direction::Read)], Some(PATIENCE)) {
            Ok(ready) if ready == [false] => {}
            Err(Code::INTERRUPTED) => {}
            _ => return true,
        }
    }
    false
}

/// A source without offsets.
#[derive(Debug)]
pub(super) struct StreamReader {
    file: File,
    patient: bool,
    readers: AtomicUsize,
    state: Mutex<StreamPosition>,
    /// Notified when more workers may read, and at the end.
    changed: Condvar,
}

#[derive(Debug)]
struct StreamPosition {
    offset: u64,
    ended: bool,
    /// Contenders to try after `BEFORE` bytes, at which the readers end until then.
    next: Vec<Contender>,
    trials: Option<StreamTrials>,
}

/// Trials of request sizes and numbers of workers.
#[derive(Debug)]
struct StreamTrials {
    trials: Trials,
    current: usize,
    /// Offset at which the next measurement starts or ends.
    due: u64,
    since: Option<(Instant, f64)>,
    /// The last choice, and the offset at which it was made.
    chosen: Option<(usize, u64)>,
}

impl StreamTrials {
    fn current(&self) -> &Strategy {
        &self.trials.contenders[self.current].strategy
    }

    /// Ends a measurement at `offset` and begins another, if one is due.
    fn advance(&mut self, offset: u64) {
        if offset < self.due {
            return;
        }
        let cpu = || ProcessUsage::now().map_or(0.0, |usage| usage.user + usage.system);
        let now = (Instant::now(), cpu());
        let Some((start, before)) = self.since.replace(now) else {
            self.due = offset + MEASURED;
            return;
        };
        let bytes = MEASURED + (offset - self.due);
        let spent = Spent { bytes, seconds: (now.0 - start).as_secs_f64(), cpu: now.1 - before };
        self.trials.record(self.current, spent);
        let (next, chosen) = self.trials.next(MEASURED + SETTLE, CHANGE);
        if chosen && self.chosen.is_none_or(|(last, _)| last != next) {
            self.chosen = Some((next, offset));
        }
        self.due = offset + MEASURED;
        if next != self.current {
            (self.current, self.since, self.due) = (next, None, offset + SETTLE);
        }
    }
}

impl StreamReader {
    /// Reads `file` from its current position. A `patient` reader waits for whole requests; another returns the bytes
    /// available, so that slow input is passed on at once.
    pub(super) fn new(file: File, patient: bool) -> Self {
        enlarge_pipe(&file);
        let state = StreamPosition { offset: 0, ended: false, next: Vec::new(), trials: None };
        Self {
            file,
            patient,
            readers: AtomicUsize::new(0),
            state: Mutex::new(state),
            changed: Condvar::new(),
        }
    }

    /// Ends the reading after `BEFORE` bytes: [`try_contenders`](Self::try_contenders) then continues it.
    pub(super) fn will_try(&self, contenders: Vec<Contender>) {
        self.state.lock().next = contenders;
    }

    /// Continues with new readers, which try request sizes and numbers of workers on the bytes as they come; false at the end.
    pub(super) fn try_contenders(&self) -> bool {
        let mut state = self.state.lock();
        let (due, contenders) = (state.offset + SETTLE, std::mem::take(&mut state.next));
        if state.ended || contenders.is_empty() {
            return false;
        }
        let trials = Trials::new(contenders, state.offset);
        state.trials = Some(StreamTrials { trials, current: 0, due, since: None, chosen: None });
        self.readers.store(0, Ordering::Relaxed);
        true
    }

    /// The contenders tried, and the last choice; `None` without a choice between several.
    pub(super) fn selection(&self) -> Option<Selection> {
        let state = self.state.lock();
        let StreamTrials { trials, chosen, .. } = state.trials.as_ref()?;
        let ((place, after), tried) = ((*chosen)?, trials.tried());
        let chosen = text(&trials.contenders[place].strategy);
        (tried.len() > 1).then_some(Selection { after, cached: true, tried, chosen })
    }

    /// Returns the number of a worker that will read.
    pub(super) fn join(&self) -> usize {
        self.readers.fetch_add(1, Ordering::Relaxed)
    }

    /// Releases the workers that wait to read: they read nothing.
    pub(super) fn stop(&self) {
        self.state.lock().ended = true;
        self.changed.notify_all();
    }

    /// Reads the next block into `buf`: at most `request` bytes, or those available in multiples of `unit` bytes. Returns
    /// its offset; `None` at the end, and once `go_on` returns false. Waits while fewer workers are tried than the number of
    /// the `reader`.
    pub(super) fn next(
        &self,
        reader: usize,
        buf: &mut Buf,
        request: usize,
        unit: usize,
        go_on: &dyn Fn() -> bool,
    ) -> Result<Option<u64>> {
        let mut state = self.state.lock();
        while !state.ended && state.trials.as_ref().is_some_and(|trials| reader >= trials.current().workers) {
            state = self.changed.wait(state);
        }
        if !state.next.is_empty() && state.offset >= BEFORE {
            return Ok(None);
        }
        let request = state.trials.as_ref().map_or(request, |trials| {
            let tried = trials.current().request.min(request);
            (tried / unit).max(1) * unit
        });
        let offset = state.offset;
        buf.place(offset, request);
        let mut held = 0;
        while !state.ended && held < request && (self.patient || held == 0 || held % unit != 0) {
            let at = offset + held as u64;
            if !wait_readable(&self.file, go_on) {
                state.ended = true;
                return Ok(None);
            }
            match self.file.read_next(&mut buf.data_mut()[held..]) {
                Ok(0) => state.ended = true,
                Ok(count) => held += count,
                Err(error) => {
                    // The bytes held are lost: those after them have no place.
                    state.ended = true;
                    return Err(error.at(at));
                }
            }
        }
        buf.truncate(held);
        state.offset += held as u64;
        let end = state.offset;
        if let Some(trials) = &mut state.trials {
            let workers = trials.current().workers;
            trials.advance(end);
            if trials.current().workers > workers {
                self.changed.notify_all();
            }
        }
        if state.ended {
            self.changed.notify_all();
        }
        Ok((held > 0).then_some(offset))
    }
}
