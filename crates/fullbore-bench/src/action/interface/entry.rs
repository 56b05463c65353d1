//! An interface, its capabilities, and the trait that each one implements.

use fullbore::Result;
use fullbore::buf::Pool;

use super::open::{Completion, OpenConfig};
use super::pass::Pass;

/// An open file under an interface.
pub(super) trait Interface {
    /// Transfers every record of the pass; written bytes are passed to the system before it returns.
    ///
    /// # Errors
    /// The system's. A record that cannot be read whole is an error.
    fn pass(&mut self, pass: &Pass) -> Result<()>;

    /// Flushes written bytes to the device.
    fn flush(&mut self) -> Result<()>;
}

pub(super) struct InterfaceEntry {
    pub(super) name: &'static str,
    /// Settings that it takes besides the common ones.
    pub(super) takes: &'static [OptionalSetting],
    /// Supported ways to wait for concurrent calls.
    pub(super) completions: &'static [Completion],
    /// Opens a file, with buffers from a pool.
    pub(super) open: fn(&OpenConfig, &mut Pool) -> Result<Box<dyn Interface>>,
}

/// A setting that only some interfaces take.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum OptionalSetting {
    /// `buffer`: the interface has a buffer of its own.
    Buffer,
    /// `direct`: it can bypass the page cache.
    Direct,
    /// `hint`: it can pass hints to the system.
    Hints,
    /// `file = "new"`: it can create a file and state its future length.
    New,
    /// `allocation` other than `extend` and `size`.
    Preallocation,
    /// `vectors`: several buffers per call.
    Vectors,
}
