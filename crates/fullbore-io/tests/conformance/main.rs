//! One suite for all interfaces to a file: synchronous under each cache policy, asynchronous over threads and over a ring. A
//! new interface is added to [`subject::each`] and nowhere else.

mod errors;
mod lengths;
mod subject;
