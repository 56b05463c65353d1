//! Operations over files, in parallel and with the access method that is fastest on this machine.
//!
//! A [`Job`] runs an operation over files on all workers, with the access method that suits the files:
//!
//! ```
//! use fullbore::{Job, fold_fn, op};
//! # let directory = tempfile::tempdir()?;
//! # let (log, shifted, copy) = (directory.path().join("log"), directory.path().join("shifted"), directory.path().join("copy"));
//! # std::fs::write(&log, "one\ntwo\n")?;
//! let lines = fold_fn(
//!     || 0u64,
//!     |n, bytes| *n += bytes.iter().filter(|&&byte| byte == b'\n').count() as u64,
//!     |left, right| *left += right,
//! );
//! assert_eq!(fullbore::fold(&lines, &log)?, 2); // files of any size, pipes, bytes
//! Job::new().transform(&op::shift(10), &log, &shifted)?; // whole or absent
//! Job::new().strategy("request=1M")?.workers(2).copy(&log, &copy)?;
//! # assert_eq!(std::fs::read(&copy)?, b"one\ntwo\n");
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! [`mod@file`] has files with every option of the platform, [`stream`] adds a position and a buffer to them, and [`asynchronous`]
//! makes their transfers futures. A [`pattern`] is the shape of an [`operation`] (transform, fold, search, compare, copy). A
//! [`strategy`] is everything that affects speed and nothing that affects the result. `docs/architecture.md` describes the layers.
//!
//! # Features
//!
//! `tokio` and `futures` implement the traits of `tokio::io` and `futures::io` for `AsyncStream`; `fault` injects faults in tests. None is on
//! by default.
//!
//! # Effects on the process
//!
//! The first mapping of a file installs a SIGBUS handler on Unix; faults in other mappings go to the previous handler. Large
//! cached files are mapped. A stream that is dropped with bytes that it cannot write reports the loss on standard error, unless
//! [`stream::on_loss`] is set. `FULLBORE_NO_LOCKS` in the environment, unless empty or `0`, turns share locks off.
#![deny(unsafe_code)]
#![cfg_attr(docsrs, feature(doc_cfg))]

mod input;
mod job;
pub mod op;
pub mod operation;
pub mod pattern;
mod planned_pair;
pub mod strategy;

pub use error::{Error, ErrorKind, Result};
#[cfg(feature = "fault")]
pub use fullbore_io::fault;
pub use fullbore_io::{asynchronous, buf, error, file, stream};
#[doc(hidden)]
pub use fullbore_io::{engine, lock, probe, quote, size, sys};
pub use input::Input;
pub use job::{Job, compare, copy, fold, search, transform};
pub use op::fold_fn;
pub use planned_pair::PlannedPair;
