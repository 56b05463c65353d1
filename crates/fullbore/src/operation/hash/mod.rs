//! Hashes of files, from blake3 to crc32c, behind one [`Fold`](super::Fold).
//!
//! If the sums of parts can be joined (blake3's tree, the polynomial of a CRC), `Split` allows cuts, and all workers
//! can hash one file; the other hashes read it from front to back.
#![forbid(unsafe_code)]

mod algorithm;
mod blake3;
mod digest;
mod hasher;
mod pipelined;
#[cfg(test)]
mod vectors;

pub use self::blake3::Blake3Mode;
#[doc(hidden)]
pub use algorithm::MultiHash;
pub use algorithm::{Algorithm, Hash, algorithms};
pub use digest::Digest;
#[doc(hidden)]
pub use digest::hex;
pub use hasher::HashState;
#[doc(hidden)]
pub use pipelined::PipelinedHashes;
