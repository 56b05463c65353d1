//! What the statistics promise, held against samples whose answer is known and against other implementations.
//!
//! Each simulation prints the rates it found (`--nocapture`); `docs/statistics.md` shows them. Seeds are fixed, so they
//! come out the same everywhere.

mod changes;
mod crossings;
mod intervals;
mod laws;
mod levels;
mod reference;
mod stopping;
mod verdicts;
mod warm;
