//! One suite for every way to read and write a file: synchronous under each cache policy, asynchronous over threads
//! and over a ring. Whoever adds a way adds it to [`subject::each`] and nothing else.

#[path = "../ground/mod.rs"]
mod ground;

mod concurrent;
mod errors;
mod lengths;
mod subject;
mod vectors;
