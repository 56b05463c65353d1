//! Measures how fast this machine moves a file's bytes, and moves them at that speed.
//!
//! Layers, from the system up: `sys` (system calls) → [`mod@file`] (handles, safe outputs), with [`stream`] (position
//! and buffer) and [`asynchronous`] (futures) on top → [`buf`] and [`engine`] (one open file under one access method) →
//! [`pattern`] (transform, fold, search, compare, copy over many workers) with [`operation`] (computation on the bytes)
//! and [`strategy`] (everything that decides speed). [`probe`] determines the facts of a path. See
//! `docs/architecture.md`.
#![deny(unsafe_code)]

pub mod asynchronous;
pub mod buf;
pub mod engine;
pub mod error;
#[cfg(feature = "fault")]
pub mod fault;
pub mod file;
mod job;
pub mod op;
pub mod operation;
pub mod pattern;
pub mod probe;
pub mod quote;
pub mod size;
pub mod strategy;
pub mod stream;
mod sys;

pub use error::{Error, ErrorKind, Result};
pub use job::{Input, Job, compare, copy, fold, search, transform};
pub use op::fold_fn;
