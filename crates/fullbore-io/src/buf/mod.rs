//! Page-aligned buffers and their pool.
//!
//! A buffer is a slot of one anonymous mapping. Direct I/O can therefore use it, an io_uring can register the whole
//! pool at once, and the memory of a run is known before the run starts. `docs/files.md` shows direct I/O with such buffers.
#![allow(unsafe_code)]

mod block_memory;
mod huge_pages;
mod loan;
mod owned;
mod pool;

#[doc(hidden)]
pub use block_memory::BlockMemory;
#[doc(hidden)]
pub use huge_pages::HUGE_PAGE;
pub(crate) use huge_pages::reserve_exact;
pub(crate) use loan::Loan;
pub use owned::{Buffer, Segment};
pub use pool::{ALIGNMENT, Buf, Pool};
#[doc(hidden)]
pub use pool::{Completion, Direction, Request};
