//! `splice`: copies from file to file through a pipe in the kernel, without mapping the bytes into the process.

use std::io;

use super::method::{Capabilities, Engine, EngineConfig, Method, SYNCHRONOUS};
use crate::file::File;
use crate::sys::{self, Code, Handle};

pub(super) static METHOD: Method = Method {
    name: "splice",
    summary: "file to file through a pipe in the kernel",
    capabilities: Capabilities { transfers: false, copies_in_kernel: true, ..SYNCHRONOUS },
    open,
};

/// Requested capacity of the pipe, in bytes: the most that needs no privilege (`/proc/sys/fs/pipe-max-size`).
const PIPE: usize = 1 << 20;

fn open(config: &EngineConfig<'_>) -> io::Result<Box<dyn Engine>> {
    let from = config.from.ok_or(io::ErrorKind::Unsupported)?.clone();
    let (exit, entry) = sys::pipe()?;
    // A smaller pipe only moves less per call.
    let _ = sys::set_pipe_capacity(&entry, PIPE);
    Ok(Box::new(Splice { from, to: config.file.clone(), entry, exit }))
}

struct Splice {
    from: File,
    to: File,
    entry: Handle,
    exit: Handle,
}

impl Engine for Splice {
    fn copy_in_kernel(&mut self, mut offset: u64, mut target: u64, len: usize) -> io::Result<usize> {
        let moved = sys::splice(&self.from, Some(&mut offset), &self.entry, None, len, sys::Splice::Move)?;
        // The pipe must be empty before the next call, which would read leftover bytes first.
        let mut left = moved;
        while left > 0 {
            match sys::splice(&self.exit, None, &self.to, Some(&mut target), left, sys::Splice::Move) {
                Ok(0) => return Err(io::ErrorKind::WriteZero.into()),
                Ok(count) => left -= count,
                Err(Code::INTERRUPTED) => {}
                Err(error) => return Err(error.into()),
            }
        }
        Ok(moved)
    }
}
