//! `copy_file_range`: from file to file in the kernel, shared or server-side where the file system can; the
//! bytes are never seen.

use std::io;

use super::{Capabilities, Engine, Method, Opening, SYNCHRONOUS};
use crate::file::File;

pub(super) static METHOD: Method = Method {
    name: "copy_file_range",
    summary: "from file to file in the kernel, shared where the file system can (bytes unseen)",
    capabilities: Capabilities { transfers: false, relays: true, ..SYNCHRONOUS },
    open,
};

fn open(opening: &Opening<'_>) -> io::Result<Box<dyn Engine>> {
    let from = opening.from.ok_or(io::ErrorKind::Unsupported)?.clone();
    Ok(Box::new(CopyFileRange { from, to: opening.file.clone() }))
}

struct CopyFileRange {
    from: File,
    to: File,
}

impl Engine for CopyFileRange {
    fn relay(&mut self, mut offset: u64, mut target: u64, len: usize) -> io::Result<usize> {
        Ok(rustix::fs::copy_file_range(&self.from, Some(&mut offset), &self.to, Some(&mut target), len)?)
    }
}
