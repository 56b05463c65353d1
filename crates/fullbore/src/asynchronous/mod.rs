//! Asynchronous files on any executor: futures that need no run-time, an io_uring where it helps and a bounded number of
//! threads where it does not.
//!
//! ```
//! use fullbore::asynchronous::{AsyncFile, Driver};
//! # use futures_lite::future::block_on;
//! # let dir = tempfile::tempdir()?;
//! # let path = dir.path().join("greeting");
//! # std::fs::write(&path, "hello")?;
//! let bytes = block_on(async {
//!     let file = AsyncFile::open(&path).await?;
//!     let (count, bytes) = file.read_at(Vec::<u8>::with_capacity(64), 0).await;
//!     assert_eq!(count?, 5);
//!     Ok::<_, fullbore::Error>(bytes)
//! })?;
//! assert_eq!(bytes, b"hello");
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! A future owns its buffer and a clone of its file; once started, the driver owns them until the system is done
//! with them. So a future may be dropped at any time: the operation goes on alone, or is cancelled, and what it
//! owned is freed after its end and not before.

mod blocking_call;
mod dispatch;
mod driver;
mod file;
mod operation;
mod slots;
#[cfg(any(feature = "tokio", feature = "futures", test))]
mod stream;
mod transfer;

pub use blocking_call::BlockingCall;
pub use driver::{Backend, Driver, DriverConfig};
pub use file::AsyncFile;
#[cfg(any(feature = "tokio", feature = "futures", test))]
pub use stream::AsyncStream;
pub use transfer::Transfer;
