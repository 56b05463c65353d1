//! Facts of a path.
#![forbid(unsafe_code)]

mod room;

pub use room::{ProcessUsage, available_memory, file_system_key, in_memory, processors, residency, rotational};
