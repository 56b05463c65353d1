//! The length and the blocks of an output before it is written.

use crate::strategy::{Allocation, Strategy};
use fullbore_io::error::{ErrorKind, Result};
use fullbore_io::file::{File, FileKind, Output};

/// Gives a new output the length `len`, in bytes, and its blocks as the strategy specifies.
/// # Errors
/// [`ErrorKind::NoSpace`] if there is no room for the blocks.
pub fn allocate(output: &Output, len: u64, strategy: &Strategy) -> Result<()> {
    extend(output, len, strategy).map(Extension::keep)
}

/// As [`allocate`]. An existing file that is extended has its old length again if the run fails.
pub(super) fn extend<'a>(output: &'a Output, len: u64, strategy: &Strategy) -> Result<Extension<'a>> {
    let none = Extension { before: None };
    if !output.seekable() || output.file().kind() != FileKind::Regular || len == 0 {
        return Ok(none);
    }
    let file = output.file();
    if output.overwrites() {
        // A mapping cannot extend its file.
        if !strategy.write.capabilities.mapped {
            return Ok(none);
        }
        let before = file.stamp()?.len;
        if before >= len {
            return Ok(none);
        }
        file.set_len(len)?;
        return Ok(Extension { before: Some((file, before)) });
    }
    match strategy.allocation {
        Allocation::Fallocate => match file.allocate_and_extend(len) {
            Err(error) if error.kind() == ErrorKind::Unsupported => file.set_len(len)?,
            allocated => allocated?,
        },
        Allocation::Size => file.set_len(len)?,
        Allocation::Extend if strategy.write.capabilities.mapped => file.set_len(len)?,
        Allocation::Extend => {}
    }
    Ok(none)
}

/// An existing file that was extended with zeros. Unless it is kept, it gets its old length back.
#[derive(Debug)]
pub(super) struct Extension<'a> {
    before: Option<(&'a File, u64)>,
}

impl Extension<'_> {
    pub(super) fn keep(mut self) {
        self.before = None;
    }
}

impl Drop for Extension<'_> {
    fn drop(&mut self) {
        if let Some((file, len)) = self.before {
            // The caller reports the error that ended the run.
            let _ = file.set_len(len);
        }
    }
}
