//! Hashes of files, from blake3 to crc32c, behind one [`Fold`].
//!
//! If the sums of parts can be joined (blake3's tree, the polynomial of a CRC), [`Split`] allows cuts, and all workers
//! can hash one file; the other hashes read it from front to back. [`PipelinedHashes`] computes several hashes in one
//! pass over the file, those that cannot be cut while the next bytes are read.
//!
//! ```
//! use fullbore::file::File;
//! use fullbore::operation::hash::{Hash, hex};
//! use fullbore::pattern::{Progress, fold};
//! use fullbore::strategy::Strategy;
//!
//! # let directory = tempfile::tempdir()?;
//! # let path = directory.path().join("file");
//! std::fs::write(&path, "abc")?;
//! let sha256 = Hash::named("sha256")?;
//! let (_, sum) = fold(&sha256, &File::open(&path)?, &Strategy::plain(), &Progress::default())?;
//! assert!(hex(&sum.finish()).starts_with("ba7816bf8f01cfea"));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
#![forbid(unsafe_code)]

mod additive;
mod blake2b;
mod blake3;
#[cfg(test)]
mod blake3_vectors;
mod crc;
mod md5;
mod multi_hash;
mod pipelined;
mod sequential;
mod sha1;
mod sha2;
mod sha3;
mod sm3;
#[cfg(test)]
mod vectors;
mod xxh3;

use std::any::Any;
use std::fmt;
use std::sync::Arc;

pub use self::blake3::Blake3Mode;
#[doc(hidden)]
pub use self::blake3::derive_context;
#[doc(hidden)]
pub use multi_hash::MultiHash;
#[doc(hidden)]
pub use pipelined::PipelinedHashes;

use super::{Fold, Split};

/// All algorithms, in the order of the help. A new one needs its file (with its `mod`) and its line here.
const ALGORITHMS: &[Algorithm] = &[
    blake3::BLAKE3,
    sha2::SHA256,
    sha2::SHA512,
    sha1::SHA1,
    md5::MD5,
    xxh3::XXH3,
    crc::CRC32C,
    sha2::SHA224,
    sha2::SHA384,
    blake2b::BLAKE2B,
    sha3::SHA3_224,
    sha3::SHA3_256,
    sha3::SHA3_384,
    sha3::SHA3_512,
    sm3::SM3,
    crc::CRC,
    additive::BSD,
    additive::SYSV,
];

/// A shipped algorithm.
#[derive(Debug)]
pub struct Algorithm {
    /// Its name: `sha256`.
    pub name: &'static str,
    /// Tag before the name of a file in BSD-style lines: `SHA256`.
    pub tag: &'static str,
    /// Default length of its sum in bytes.
    pub len: usize,
    /// Its description in one line.
    pub summary: &'static str,
    /// Rule for cutting a file: decides whether several workers can hash one file.
    pub split: Split,
    /// Creates the state of no bytes.
    begin: fn() -> Box<dyn Hasher>,
}

impl PartialEq for Algorithm {
    fn eq(&self, other: &Self) -> bool {
        self.name == other.name
    }
}

impl Eq for Algorithm {}

/// Returns all shipped algorithms.
#[must_use]
pub fn algorithms() -> &'static [Algorithm] {
    ALGORITHMS
}

/// State of a hash: of a run of bytes that starts with the first [update](Self::update).
pub trait Hasher: Any + Send {
    /// Adds the bytes at `offset`, in bytes, which follow those before.
    fn update(&mut self, offset: u64, bytes: &[u8]);

    /// Adds the state of the bytes that follow, of the same algorithm.
    ///
    /// # Panics
    /// If `right` is of another algorithm, or if the algorithm is [`Split::Sequential`] and both have seen bytes.
    fn append(&mut self, right: Box<dyn Hasher>);

    /// Returns the sum, in its written order.
    fn finish(self: Box<Self>) -> Vec<u8>;
}

/// Downcasts `right` to the type of the state that `append` was called on.
fn same<S: Hasher>(right: Box<dyn Hasher>) -> Box<S> {
    match (right as Box<dyn Any>).downcast() {
        Ok(same) => same,
        Err(_) => panic!("states of two algorithms were merged"),
    }
}

/// An algorithm with its parameters: the operation.
#[derive(Clone)]
pub struct Hash {
    algorithm: &'static Algorithm,
    begin: Arc<dyn Fn() -> Box<dyn Hasher> + Send + Sync>,
}

impl Hash {
    /// Returns the algorithm of that name.
    ///
    /// # Errors
    /// If there is none; the error lists all names.
    pub fn named(name: &str) -> Result<Self, UnknownAlgorithm> {
        let known = ALGORITHMS.iter().find(|known| known.name == name);
        known.map(Self::from).ok_or_else(|| UnknownAlgorithm { name: name.to_owned() })
    }

    /// Returns blake3 in one of its modes, with `len` bytes of its output from byte `seek` on.
    #[must_use]
    pub fn blake3(mode: Blake3Mode, seek: u64, len: usize) -> Self {
        Self { algorithm: &ALGORITHMS[0], begin: Arc::new(move || blake3::begin(mode, seek, len)) }
    }

    /// Returns blake2b with a sum of `len` bytes, 1 to 64.
    #[must_use]
    pub fn blake2b(len: usize) -> Self {
        Self { algorithm: &blake2b::BLAKE2B, begin: Arc::new(move || blake2b::begin(len)) }
    }

    /// The algorithm.
    #[must_use]
    pub fn algorithm(&self) -> &'static Algorithm {
        self.algorithm
    }

    /// Returns the sum of bytes in memory.
    #[must_use]
    pub fn of(&self, bytes: &[u8]) -> Vec<u8> {
        let mut sum = self.identity();
        sum.update(0, bytes);
        sum.finish()
    }
}

/// Hashes that programs name most, without a look-up.
impl Hash {
    pub(crate) fn sha256() -> Self {
        Self::from(&sha2::SHA256)
    }

    pub(crate) fn xxh3() -> Self {
        Self::from(&xxh3::XXH3)
    }
}

impl Default for Hash {
    /// Plain blake3.
    fn default() -> Self {
        Self::from(&ALGORITHMS[0])
    }
}

impl From<&'static Algorithm> for Hash {
    fn from(algorithm: &'static Algorithm) -> Self {
        Self { algorithm, begin: Arc::new(algorithm.begin) }
    }
}

impl fmt::Debug for Hash {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Hash").field(&self.algorithm.name).finish()
    }
}

impl fmt::Display for Hash {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.algorithm.name)
    }
}

impl Fold for Hash {
    type State = Box<dyn Hasher>;

    fn is_hash(&self) -> bool {
        true
    }

    fn split(&self) -> Split {
        self.algorithm.split
    }

    fn identity(&self) -> Self::State {
        (self.begin)()
    }

    fn block(&self, sum: &mut Self::State, offset: u64, bytes: &[u8]) {
        sum.update(offset, bytes);
    }

    fn merge(&self, left: &mut Self::State, right: Self::State) {
        left.append(right);
    }
}

/// Formats a sum: two lower-case hexadecimal digits per byte.
#[must_use]
pub fn hex(sum: &[u8]) -> String {
    let digit = |value: u8| char::from(b"0123456789abcdef"[usize::from(value)]);
    sum.iter().flat_map(|byte| [digit(byte >> 4), digit(byte & 15)]).collect()
}

/// Error of an unknown name of an algorithm.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UnknownAlgorithm {
    name: String,
}

impl fmt::Display for UnknownAlgorithm {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let names: Vec<_> = ALGORITHMS.iter().map(|algorithm| algorithm.name).collect();
        write!(f, "unknown algorithm {:?}; available are {}", self.name, names.join(", "))
    }
}

impl std::error::Error for UnknownAlgorithm {}
