//! Reads a pipe or device sequentially, one worker at a time.

use std::sync::{Mutex, PoisonError};

use fullbore_io::buf::Buf;
use fullbore_io::error::Result;
use fullbore_io::file::{File, FileKind};
use fullbore_io::sys;

/// Capacity that any user may give a pipe (`/proc/sys/fs/pipe-max-size`), in bytes.
const PIPE: usize = 1 << 20;

/// A source without offsets.
#[derive(Debug)]
pub(super) struct StreamReader {
    file: File,
    patient: bool,
    state: Mutex<StreamPosition>,
}

#[derive(Debug)]
struct StreamPosition {
    offset: u64,
    ended: bool,
}

impl StreamReader {
    /// Reads `file` from its current position. A `patient` reader waits for whole requests; another returns the bytes
    /// available, so that slow input is passed on at once.
    pub(super) fn new(file: File, patient: bool) -> Self {
        // A larger pipe is filled and emptied in fewer switches; without one everything still works.
        if file.kind() == FileKind::Fifo && sys::pipe_capacity(&file).is_ok_and(|size| size < PIPE) {
            let _ = sys::set_pipe_capacity(&file, PIPE);
        }
        Self { file, patient, state: Mutex::new(StreamPosition { offset: 0, ended: false }) }
    }

    /// Reads the next block into `buf`: `request` bytes, or those available in multiples of `unit` bytes. Returns its
    /// offset; `None` at the end.
    pub(super) fn next(&self, buf: &mut Buf, request: usize, unit: usize) -> Result<Option<u64>> {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        let offset = state.offset;
        buf.place(offset, request);
        let mut held = 0;
        while !state.ended && held < request && (self.patient || held == 0 || held % unit != 0) {
            let at = offset + held as u64;
            match self.file.read_next(&mut buf.data_mut()[held..]).map_err(|error| error.at(at))? {
                0 => state.ended = true,
                count => held += count,
            }
        }
        buf.truncate(held);
        state.offset += held as u64;
        Ok((held > 0).then_some(offset))
    }
}
