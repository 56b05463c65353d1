//! Hashes of files, from blake3 to crc32c, behind one [`Fold`](super::Fold).
//!
//! If the sums of parts can be joined (blake3's tree, the polynomial of a CRC), `Split` allows cuts, and all workers
//! can hash one file; the other hashes read it from front to back. [`PipelinedHashes`] computes several hashes in one
//! pass over the file; it computes those that cannot be cut while the next bytes are read.
#![forbid(unsafe_code)]

mod algorithm;
mod blake3;
mod hasher;
mod pipelined;
#[cfg(test)]
mod vectors;

pub use self::blake3::Blake3Mode;
#[doc(hidden)]
pub use self::blake3::derive_context;
pub use algorithm::{Algorithm, Hash, UnknownAlgorithm, algorithms};
#[doc(hidden)]
pub use algorithm::{MultiHash, hex};
#[doc(hidden)]
pub use hasher::Hasher;
#[doc(hidden)]
pub use pipelined::PipelinedHashes;
