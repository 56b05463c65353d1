//! Find how fast this machine can move a file's bytes, then move them that fast.
//!
//! The rooms, from the system up: `sys` (system calls) → [`mod@file`] (handles, safe outputs), with [`stream`] and
//! [`asynchronous`] on top for programs that want a position or futures → [`buf`] and
//! [`engine`] (one file an access method) → [`pattern`] (transform, fold, generate over many workers) with
//! [`operation`] (what is done to the bytes) and [`strategy`] (how they move). [`probe`] tells the facts of a
//! path. `docs/architecture.md` has the picture.
#![deny(unsafe_code)]

pub mod asynchronous;
pub mod buf;
pub mod engine;
pub mod error;
#[cfg(feature = "fault")]
pub mod fault;
pub mod file;
pub mod operation;
pub mod pattern;
pub mod probe;
pub mod quote;
pub mod size;
pub mod strategy;
pub mod stream;
mod sys;

pub use error::{Error, Result};

/// The examples of `docs/files.md`, which so stay true.
#[cfg(doctest)]
#[doc = include_str!("../../../docs/files.md")]
mod files_page {}
