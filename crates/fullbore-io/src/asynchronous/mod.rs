//! Asynchronous files for any async executor: futures that need no runtime. An io_uring (on Windows a completion port)
//! serves them where it helps, and threads elsewhere.
//!
//! ```
//! use fullbore_io::asynchronous::{AsyncFile, Driver};
//! # use futures_lite::future::block_on;
//! # let dir = tempfile::tempdir()?;
//! # let path = dir.path().join("greeting");
//! # std::fs::write(&path, "hello")?;
//! let bytes = block_on(async {
//!     let file = AsyncFile::open(&path).await?;
//!     let (count, bytes) = file.read_at(Vec::<u8>::with_capacity(64), 0).await;
//!     assert_eq!(count?, 5);
//!     Ok::<_, fullbore_io::Error>(bytes)
//! })?;
//! assert_eq!(bytes, b"hello");
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! A future owns its buffer and a clone of its file. Once the operation has started, the driver owns both until the
//! system no longer uses them. A future may therefore be dropped at any time: the operation is cancelled or continues
//! without the future, and buffer and file are freed when the operation has ended.
#![forbid(unsafe_code)]

#[cfg(any(feature = "tokio", feature = "futures"))]
mod adaptors;
mod calls;
mod dispatch;
mod driver;
mod file;
mod slots;
mod state;
#[cfg(any(feature = "tokio", feature = "futures", test))]
mod stream;
mod transfer;
mod workers;

pub use calls::{BlockingCall, copy};
pub use driver::{Backend, Driver, DriverConfig};
pub use file::AsyncFile;
#[cfg(any(feature = "tokio", feature = "futures", test))]
pub use stream::AsyncStream;
pub use transfer::Transfer;
