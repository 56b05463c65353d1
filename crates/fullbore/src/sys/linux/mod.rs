//! Linux.

pub(crate) mod aio;
pub(crate) mod map;
pub(crate) mod stdio;
pub(crate) mod uring;
