//! Copies from file to file in the kernel, without mapping the bytes into the process.

use std::io;

use super::method::{Capabilities, Engine, EngineConfig, Method, SYNCHRONOUS};
use crate::file::File;
use crate::sys::{self, Code, Handle};

const COPYING: Capabilities = Capabilities { transfers: false, copies_in_kernel: true, ..SYNCHRONOUS };

pub(super) static SPLICE: Method = Method {
    name: "splice",
    summary: "file to file through a pipe in the kernel",
    capabilities: COPYING,
    open: open_splice,
};

pub(super) static COPY_FILE_RANGE: Method = Method {
    name: "copy_file_range",
    summary: "file to file in the kernel, by shared blocks where the file system can",
    capabilities: COPYING,
    open: |config| {
        let from = config.from.ok_or(io::ErrorKind::Unsupported)?.clone();
        Ok(Box::new(CopyFileRange { from, to: config.file.clone() }))
    },
};

/// Requested capacity of the pipe, in bytes: the most that needs no privilege (`/proc/sys/fs/pipe-max-size`).
const PIPE: usize = 1 << 20;

fn open_splice(config: &EngineConfig<'_>) -> io::Result<Box<dyn Engine>> {
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

struct CopyFileRange {
    from: File,
    to: File,
}

impl Engine for CopyFileRange {
    fn copy_in_kernel(&mut self, mut offset: u64, mut target: u64, len: usize) -> io::Result<usize> {
        Ok(sys::copy_range(&self.from, &mut offset, &self.to, &mut target, len)?)
    }
}
