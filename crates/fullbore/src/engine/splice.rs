//! `splice`: from file to file through a pipe in the kernel; the bytes are never seen.

use std::io;
use std::os::fd::OwnedFd;

use rustix::pipe::{PipeFlags, SpliceFlags, fcntl_setpipe_size, pipe_with, splice};

use super::{Capabilities, Engine, EngineConfig, Method, SYNCHRONOUS};
use crate::file::File;

pub(super) static METHOD: Method = Method {
    name: "splice",
    summary: "from file to file through a pipe in the kernel (bytes unseen)",
    capabilities: Capabilities { transfers: false, copies_in_kernel: true, ..SYNCHRONOUS },
    open,
};

/// The pipe's size asked for, in bytes: the most that needs no privilege (`/proc/sys/fs/pipe-max-size`).
const PIPE: usize = 1 << 20;

fn open(config: &EngineConfig<'_>) -> io::Result<Box<dyn Engine>> {
    let from = config.from.ok_or(io::ErrorKind::Unsupported)?.clone();
    let (exit, entry) = pipe_with(PipeFlags::CLOEXEC)?;
    // A smaller pipe moves less a call and is right all the same.
    let _ = fcntl_setpipe_size(&entry, PIPE);
    Ok(Box::new(Splice { from, to: config.file.clone(), entry, exit }))
}

struct Splice {
    from: File,
    to: File,
    entry: OwnedFd,
    exit: OwnedFd,
}

impl Engine for Splice {
    fn copy_in_kernel(&mut self, mut offset: u64, mut target: u64, len: usize) -> io::Result<usize> {
        let moved = splice(&self.from, Some(&mut offset), &self.entry, None, len, SpliceFlags::MOVE)?;
        // What is in the pipe must leave it, or the next call would find it there.
        let mut left = moved;
        while left > 0 {
            match splice(&self.exit, None, &self.to, Some(&mut target), left, SpliceFlags::MOVE) {
                Ok(0) => return Err(io::ErrorKind::WriteZero.into()),
                Ok(count) => left -= count,
                Err(rustix::io::Errno::INTR) => {}
                Err(error) => return Err(error.into()),
            }
        }
        Ok(moved)
    }
}
