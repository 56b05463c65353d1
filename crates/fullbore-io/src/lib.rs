//! Files with every option of the platform, at the full speed of the machine.
//!
//! [`mod@file`] opens any kind of path and transfers at offsets, [`stream`] adds a position and a buffer, [`asynchronous`] makes
//! the same transfers futures, and [`mod@buf`] has the aligned memory that direct I/O needs. The crate `fullbore` builds on this
//! crate: it runs operations over whole files on all workers, with the access method that suits the files.
//!
//! A function that returns a [`Result`] fails with the error of its system call. If it has other errors, its section *Errors* lists
//! them.
//!
//! ```
//! use fullbore_io::file::File;
//! # let directory = tempfile::tempdir()?;
//! # let path = directory.path().join("log");
//! # std::fs::write(&path, "one\ntwo\n")?;
//! let file = File::open(&path)?;
//! let mut bytes = [0; 4];
//! file.read_exact_at(&mut bytes, 4)?;
//! assert_eq!(&bytes, b"two\n");
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! # Features
//!
//! `tokio` and `futures` implement the traits of `tokio::io` and `futures::io` for `AsyncStream`; `serde`
//! implements `Serialize` and `Deserialize` for `CachePolicy` and `FileKind`; `fault` injects faults in tests. None is on
//! by default.
//!
//! # Effects on the process
//!
//! The first mapping of a file installs a SIGBUS handler on Unix; faults in other mappings go to the previous handler. A stream
//! that is dropped with bytes that it cannot write reports the loss on standard error, unless [`stream::on_loss`] is set.
//! `FULLBORE_NO_LOCKS` in the environment, unless empty or `0`, turns share locks off.
#![deny(unsafe_code)]
#![cfg_attr(docsrs, feature(doc_cfg))]

pub mod asynchronous;
pub mod buf;
#[doc(hidden)]
pub mod engine;
pub mod error;
#[cfg(feature = "fault")]
pub mod fault;
pub mod file;
#[doc(hidden)]
pub mod lock;
mod names;
#[doc(hidden)]
pub mod probe;
#[doc(hidden)]
pub mod quote;
#[doc(hidden)]
pub mod size;
pub mod stream;
#[doc(hidden)]
pub mod sys;

pub use error::{Error, ErrorKind, Result};
