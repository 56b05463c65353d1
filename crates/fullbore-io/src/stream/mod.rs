//! A file as a stream: a position in memory, an optional buffer, `Read`, `Write`, `Seek` and `BufRead`.
//!
//! The layers are those of .NET's `FileStream` (Sitnik, "File IO improvements in .NET 6"): positional calls of a
//! [`File`](crate::file::File), a position that is kept here and never in the kernel (`ends`), a buffer, and this facade.
#![forbid(unsafe_code)]

mod buffer;
mod ends;
mod file_stream;

pub use ends::on_loss;
#[cfg(any(feature = "tokio", feature = "futures", test))]
pub(crate) use ends::{no_position, offset_from, report_loss};
pub use file_stream::FileStream;
