//! The promises of the statistics, tested on samples with known answers and against other implementations.
//!
//! Each simulation prints its rates (`--nocapture`); `docs/statistics.md` lists them. Seeds are fixed, so the rates are
//! the same everywhere.

mod changes;
mod credit;
mod intervals;
mod laws;
mod reference;
mod stopping;
mod verdicts;
