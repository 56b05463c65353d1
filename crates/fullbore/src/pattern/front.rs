//! The front window: a pipe or device is read by one worker at a time, from front to back.

use std::sync::{Mutex, PoisonError};

use crate::buf::Buf;
use crate::error::Result;
use crate::file::File;

/// A source without offsets.
#[derive(Debug)]
pub(super) struct Front {
    file: File,
    state: Mutex<State>,
}

#[derive(Debug)]
struct State {
    offset: u64,
    ended: bool,
}

impl Front {
    /// Reads `file` from where it stands.
    pub(super) fn new(file: File) -> Self {
        Self { file, state: Mutex::new(State { offset: 0, ended: false }) }
    }

    /// Reads the next block into `buf` and returns its offset; `None` at the end. A `patient` reader waits for
    /// `request` bytes; another takes what there is, in multiples of `unit` bytes, so that what comes slowly
    /// goes on at once.
    pub(super) fn next(
        &self,
        buf: &mut Buf,
        request: usize,
        unit: usize,
        patient: bool,
    ) -> Result<Option<u64>> {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        let offset = state.offset;
        buf.place(offset, request);
        let mut held = 0;
        while !state.ended && held < request && (patient || held == 0 || held % unit != 0) {
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
