//! Access methods: one file for each kind, behind one trait, in one registry.
//!
//! An engine is one open file under one access method, used by one worker. Requests are queued, committed and reaped; a
//! synchronous engine completes a request when it is queued or reaped, so one loop serves synchronous and asynchronous engines
//! (an idea of fio's `ioengine_ops`). Engines never retry, reorder or interpret: [`IoQueue`] handles short transfers, `EINTR`
//! and alignment once, above all of them.
#![forbid(unsafe_code)]

mod completion;
mod io_queue;
mod latencies;
mod method;
mod mmap;
#[cfg(windows)]
mod overlapped;
mod queued;
mod registry;
mod synchronous;

pub use io_queue::{Done, IoQueue, IoStats};
pub use latencies::Latencies;
pub use method::{Availability, Capabilities, Engine, EngineConfig, Method};
pub use mmap::PIPE_CAPACITY;
pub use registry::{METHODS, deep_method, method, methods, probe, probe_once, register};
pub use synchronous::drop_emulated;

pub use crate::file::CachePolicy;
