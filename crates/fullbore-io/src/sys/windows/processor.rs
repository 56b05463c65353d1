//! Processors that this process may run on.

use std::io;

/// Returns the number of processors.
pub(crate) fn allowed() -> io::Result<usize> {
    std::thread::available_parallelism().map(std::num::NonZeroUsize::get)
}
