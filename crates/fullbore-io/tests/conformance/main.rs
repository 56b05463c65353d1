//! One suite for all interfaces to a file: synchronous, asynchronous over threads and over a ring, each under each cache
//! policy. A new interface is added to [`subject::each`] and nowhere else.

#[path = "../drivers/mod.rs"]
mod drivers;
mod errors;
mod lengths;
mod subject;
