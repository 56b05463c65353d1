//! Shared by the systems other than Linux: facilities of Linux that they lack, and calls in simple forms.

mod absent;
mod calls;
mod wake;

#[cfg(windows)]
pub(crate) use absent::posix_aio;
#[cfg(unix)]
pub(crate) use absent::shared_ring;
pub(crate) use absent::{aio, cachestat, uring};
pub(crate) use calls::processor;
pub use calls::{
    mount_trace_files, open_beneath, open_cached, pipe_capacity, read_vectored_flagged, set_pipe_capacity,
    set_timer_slack, splice, tee, write_vectored_flagged,
};
pub(crate) use wake::Wake;
