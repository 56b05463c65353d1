//! What a worker keeps from one small file to the next.

use std::path::Path;

use crate::error::Result;
use crate::file::{File, Neighbours};

/// What a worker has for small files and uses again and again: memory, and the directory that it is in.
///
/// ```
/// use fullbore::pattern::{Crew, Monitor, Scratch};
/// # use fullbore::operation::Fold;
/// # struct Bytes;
/// # impl Fold for Bytes {
/// #     type State = u64;
/// #     fn identity(&self) -> u64 { 0 }
/// #     fn block(&self, count: &mut u64, _offset: u64, bytes: &[u8]) { *count += bytes.len() as u64 }
/// #     fn merge(&self, left: &mut u64, right: u64) { *left += right }
/// # }
/// let (wish, monitor) = (Default::default(), Monitor::default());
/// let (crew, mut scratch) = (Crew::new(&wish, &monitor), Scratch::default());
/// for path in ["Cargo.toml", "src/lib.rs"] {
///     let file = scratch.open(path)?;
///     assert!(crew.fold(&Bytes, &file, &mut scratch)?.1 > 0);
/// }
/// # Ok::<(), fullbore::Error>(())
/// ```
#[derive(Debug, Default)]
pub struct Scratch {
    pub(super) bytes: Vec<u8>,
    pub(super) place: u64,
    neighbours: Neighbours,
}

impl Scratch {
    /// Opens a file for reading: by its name, if it stands in the directory of the one before.
    ///
    /// ```
    /// let mut scratch = fullbore::pattern::Scratch::default();
    /// assert_eq!(scratch.open("src/lib.rs")?.path().to_str(), Some("src/lib.rs"));
    /// # Ok::<(), fullbore::Error>(())
    /// ```
    ///
    /// # Errors
    /// As [`File::open`].
    pub fn open(&mut self, path: impl AsRef<Path>) -> Result<File> {
        self.neighbours.open(path)
    }
}
