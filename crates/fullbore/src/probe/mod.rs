//! Facts of a path.
#![forbid(unsafe_code)]
