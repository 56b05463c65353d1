//! Computations on the bytes. An operation does not depend on the strategy: it receives a run of bytes and its offset.
#![forbid(unsafe_code)]

mod count;
#[doc(hidden)]
pub mod duplicates;
#[cfg(test)]
#[path = "hash/tests/folded.rs"]
pub(crate) mod folded;
pub mod generate;
pub mod hash;
mod kernel;
#[cfg(test)]
mod laws;
pub(crate) mod maps;
mod registry;
mod traits;

#[doc(hidden)]
pub use fullbore_io::buf::BlockMemory;

pub use count::{Count, CountState, Counts, Encoding};
#[doc(hidden)]
pub use kernel::Kernel;
#[doc(hidden)]
pub use registry::{Operation, ParseOperationError, parse, registry};
pub use traits::{Fold, Generate, Part, Search, Split, Transform};
