//! Hashes of files: what is known by its sum, from blake3 to crc32c, behind one [`Fold`].
//!
//! A sum whose parts can be joined (blake3's tree, the polynomial of a CRC) says so by its [`Split`], and one file is
//! then spread over all workers; the others are read from front to back. [`PipelinedHashes`] feeds several at once from one pass
//! over the file, and lets those that cannot be cut be computed while the next bytes are read.
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

pub use self::blake3::{Blake3Mode, derive_context};
pub use multi_hash::MultiHash;
pub use pipelined::PipelinedHashes;

use super::{Fold, Split};

/// Every algorithm, in the order in which help lists them. A new one is its file (with its `mod`) and its line here.
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
///
/// ```
/// use fullbore::operation::hash::algorithms;
/// let sha256 = algorithms().iter().find(|algorithm| algorithm.name == "sha256").unwrap();
/// assert_eq!((sha256.tag, sha256.len), ("SHA256", 32));
/// ```
#[derive(Debug)]
pub struct Algorithm {
    /// What it is called: `sha256`.
    pub name: &'static str,
    /// What stands before the name of a file in BSD-style lines: `SHA256`.
    pub tag: &'static str,
    /// How long its sum is, in bytes, if nothing else is asked.
    pub len: usize,
    /// What it is and what it is for, in one line.
    pub summary: &'static str,
    /// How a file may be cut: whether one file can be spread over workers.
    pub split: Split,
    /// Begins a sum of no bytes.
    begin: fn() -> Box<dyn Hasher>,
}

impl PartialEq for Algorithm {
    fn eq(&self, other: &Self) -> bool {
        self.name == other.name
    }
}

impl Eq for Algorithm {}

/// Every shipped algorithm.
///
/// ```
/// let names: Vec<_> = fullbore::operation::hash::algorithms().iter().map(|algorithm| algorithm.name).collect();
/// assert_eq!(names[..7], ["blake3", "sha256", "sha512", "sha1", "md5", "xxh3", "crc32c"]);
/// ```
#[must_use]
pub fn algorithms() -> &'static [Algorithm] {
    ALGORITHMS
}

/// A sum in the making: of a run of bytes, from the first it was [given](Self::update) on.
///
/// ```
/// use fullbore::operation::Fold;
/// use fullbore::operation::hash::{Hash, hex};
/// let mut sum = Hash::named("crc32c")?.identity();
/// sum.update(0, b"1234");
/// sum.update(4, b"56789");
/// assert_eq!(hex(&sum.finish()), "e3069283");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub trait Hasher: Any + Send {
    /// Goes on with the bytes at `offset`, in bytes, right behind those before.
    ///
    /// ```
    /// use fullbore::operation::Fold;
    /// use fullbore::operation::hash::{Hash, hex};
    /// let mut sum = Hash::named("md5")?.identity();
    /// sum.update(0, b"abc");
    /// assert_eq!(hex(&sum.finish()), "900150983cd24fb0d6963f7d28e17f72");
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    fn update(&mut self, offset: u64, bytes: &[u8]);

    /// Takes over the sum of the bytes right behind, which is of the same algorithm.
    ///
    /// ```
    /// use fullbore::operation::Fold;
    /// use fullbore::operation::hash::{Hash, hex};
    /// let crc = Hash::named("crc32c")?;
    /// let (mut left, mut right) = (crc.identity(), crc.identity());
    /// left.update(0, b"1234");
    /// right.update(4, b"56789");
    /// left.append(right);
    /// assert_eq!(hex(&left.finish()), "e3069283");
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Panics
    /// If `right` is of another algorithm, or of one that is [`Split::Sequential`] and both have seen bytes.
    fn append(&mut self, right: Box<dyn Hasher>);

    /// The sum, in the order in which it is written.
    ///
    /// ```
    /// use fullbore::operation::Fold;
    /// use fullbore::operation::hash::{Hash, hex};
    /// assert_eq!(hex(&Hash::named("md5")?.identity().finish()), "d41d8cd98f00b204e9800998ecf8427e");
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    fn finish(self: Box<Self>) -> Vec<u8>;
}

/// `right` as what it is, which is what `append` was called on.
fn same<S: Hasher>(right: Box<dyn Hasher>) -> Box<S> {
    match (right as Box<dyn Any>).downcast() {
        Ok(same) => same,
        Err(_) => panic!("sums of two algorithms were merged"),
    }
}

/// An algorithm with what it is asked for: the operation.
///
/// ```
/// use fullbore::operation::hash::{Hash, hex};
/// assert_eq!(hex(&Hash::default().of(b"abc"))[..16], *"6437b3ac38465133");
/// assert_eq!(hex(&Hash::named("sha1")?.of(b"abc")), "a9993e364706816aba3e25717850c26c9cd0d89d");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone)]
pub struct Hash {
    algorithm: &'static Algorithm,
    begin: Arc<dyn Fn() -> Box<dyn Hasher> + Send + Sync>,
}

impl Hash {
    /// The algorithm of that name.
    ///
    /// ```
    /// use fullbore::operation::hash::Hash;
    /// assert_eq!(Hash::named("xxh3")?.algorithm().len, 8);
    /// assert!(Hash::named("sha0").unwrap_err().to_string().contains("blake3, sha256"));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// If there is none, with those there are.
    pub fn named(name: &str) -> Result<Self, UnknownAlgorithm> {
        let known = ALGORITHMS.iter().find(|known| known.name == name);
        known.map(Self::from).ok_or_else(|| UnknownAlgorithm { name: name.to_owned() })
    }

    /// blake3 in one of its modes, and `len` bytes of its output from byte `seek` on.
    ///
    /// ```
    /// use fullbore::operation::hash::{Blake3Mode, Hash, hex};
    /// let longer = Hash::blake3(Blake3Mode::Plain, 3, 64);
    /// assert_eq!(longer.of(b"abc")[..29], Hash::default().of(b"abc")[3..]);
    /// ```
    #[must_use]
    pub fn blake3(mode: Blake3Mode, seek: u64, len: usize) -> Self {
        Self { algorithm: &ALGORITHMS[0], begin: Arc::new(move || blake3::begin(mode, seek, len)) }
    }

    /// blake2b with a sum of `len` bytes, 1 to 64.
    ///
    /// ```
    /// use fullbore::operation::hash::{Hash, hex};
    /// assert_eq!(hex(&Hash::blake2b(4).of(b"abc")), "63906248");
    /// ```
    #[must_use]
    pub fn blake2b(len: usize) -> Self {
        Self { algorithm: &blake2b::BLAKE2B, begin: Arc::new(move || blake2b::begin(len)) }
    }

    /// Which algorithm it is.
    ///
    /// ```
    /// assert_eq!(fullbore::operation::hash::Hash::default().algorithm().name, "blake3");
    /// ```
    #[must_use]
    pub fn algorithm(&self) -> &'static Algorithm {
        self.algorithm
    }

    /// The sum of bytes that are in memory.
    ///
    /// ```
    /// use fullbore::operation::hash::{Hash, hex};
    /// assert_eq!(hex(&Hash::named("xxh3")?.of(b"")), "2d06800538d394c2");
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    pub fn of(&self, bytes: &[u8]) -> Vec<u8> {
        let mut sum = self.identity();
        sum.update(0, bytes);
        sum.finish()
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

/// A sum as it is written: two lower-case hexadecimal digits a byte.
///
/// ```
/// assert_eq!(fullbore::operation::hash::hex(&[0x0a, 0xff]), "0aff");
/// ```
#[must_use]
pub fn hex(sum: &[u8]) -> String {
    let digit = |value: u8| char::from(b"0123456789abcdef"[usize::from(value)]);
    sum.iter().flat_map(|byte| [digit(byte >> 4), digit(byte & 15)]).collect()
}

/// There is no algorithm of that name.
///
/// ```
/// let error = fullbore::operation::hash::Hash::named("crc8").unwrap_err();
/// assert!(error.to_string().starts_with("there is no algorithm \"crc8\"; there are blake3, "));
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UnknownAlgorithm {
    name: String,
}

impl fmt::Display for UnknownAlgorithm {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let names: Vec<_> = ALGORITHMS.iter().map(|algorithm| algorithm.name).collect();
        write!(f, "there is no algorithm {:?}; there are {}", self.name, names.join(", "))
    }
}

impl std::error::Error for UnknownAlgorithm {}
