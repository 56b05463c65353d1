//! Reads and writes a file through the interfaces of std, of this library and of asynchronous runtimes.
//!
//! The actions `read` and `write` measure engines; this action measures the calls of a programmer. Each kind of
//! interface has one file, and one line in the registry.

mod blocking;
#[cfg(feature = "peers")]
mod compio;
mod in_flight;
mod open;
mod settings;
#[cfg(test)]
mod tests;
#[cfg(feature = "peers")]
mod tokio;
mod workload;

pub(super) use workload::parse;
