//! Reads and writes a file through the interfaces of std, of this library and of asynchronous runtimes.
//!
//! The actions `read` and `write` measure engines; this action measures the calls of a programmer. Each kind of
//! interface has one file, and one line in the registry.

#[cfg(feature = "peers")]
mod compio;
mod cursor;
mod in_flight;
mod open;
mod pass;
mod positional;
mod registry;
mod settings;
#[cfg(test)]
mod tests;
#[cfg(feature = "peers")]
mod tokio;
mod workload;

pub(super) use workload::parse;
