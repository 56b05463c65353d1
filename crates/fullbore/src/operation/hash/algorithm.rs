//! The hash algorithms, and the operation that computes one or several of them.

use std::fmt;
use std::num::NonZeroUsize;
use std::sync::Arc;

use crc_fast::CrcAlgorithm;
use md5::Md5;
use sha1::Sha1;
use sha2::digest::typenum::Unsigned;
use sha2::{Sha224, Sha256, Sha384, Sha512};
use sha3::{Sha3_224, Sha3_256, Sha3_384, Sha3_512};
use sm3::Sm3;
use xxhash_rust::xxh3::Xxh3;

use super::blake3::{self, Blake3Mode};
use super::digest::Digest;
use super::hasher::{Crypto, HashState, Hasher, Remainder, Rotated, Sequential, Total};
use crate::operation::traits::{Fold, Split};
use fullbore_io::buf::BlockMemory;
use fullbore_io::error::ParseError;

/// All algorithms, in the order of the help.
const ALGORITHMS: &[Algorithm] = &[
    Algorithm {
        name: "blake3",
        tag: "BLAKE3",
        len: ::blake3::OUT_LEN,
        summary: "the default: cryptographic, one file on all processors, several GB/s; as b3sum",
        split: Split::Aligned(NonZeroUsize::new(::blake3::CHUNK_LEN).expect("a chunk has bytes")),
        begin: || blake3::begin(Blake3Mode::Plain, 0, ::blake3::OUT_LEN),
    },
    crypto::<Sha256>(
        "sha256",
        "SHA256",
        "cryptographic, uses the processor's SHA instructions if available; as sha256sum",
    ),
    crypto::<Sha512>("sha512", "SHA512", "cryptographic; as sha512sum"),
    crypto::<Sha1>(
        "sha1",
        "SHA1",
        "broken: collisions can be constructed; for old checksum lists; as sha1sum",
    ),
    crypto::<Md5>("md5", "MD5", "broken: collisions can be constructed; for old checksum lists; as md5sum"),
    Algorithm {
        name: "xxh3",
        tag: "XXH3",
        len: 8,
        summary: "64 bits: detects damage, not tampering, at memory speed; as xxhsum -H3",
        split: Split::Sequential,
        begin: || Sequential::begin(Xxh3::new()),
    },
    Algorithm {
        name: "crc32c",
        tag: "CRC32C",
        len: 4,
        summary: "detects damage, not tampering (iSCSI, ext4, btrfs, object stores); one file on all processors",
        split: Split::Any,
        begin: || crc(CrcAlgorithm::Crc32Iscsi, false),
    },
    crypto::<Sha224>("sha224", "SHA224", "cryptographic, truncated sha256; as sha224sum"),
    crypto::<Sha384>("sha384", "SHA384", "cryptographic, truncated sha512; as sha384sum"),
    Algorithm {
        name: "blake2b",
        tag: "BLAKE2b",
        len: blake2b_simd::OUTBYTES,
        summary: "cryptographic, fast without special instructions; as b2sum",
        split: Split::Sequential,
        begin: || blake2b(blake2b_simd::OUTBYTES),
    },
    crypto::<Sha3_224>("sha3-224", "SHA3-224", "cryptographic; as cksum -a sha3 -l 224 and openssl sha3-224"),
    crypto::<Sha3_256>("sha3-256", "SHA3-256", "cryptographic; as cksum -a sha3 -l 256 and openssl sha3-256"),
    crypto::<Sha3_384>("sha3-384", "SHA3-384", "cryptographic; as cksum -a sha3 -l 384 and openssl sha3-384"),
    crypto::<Sha3_512>("sha3-512", "SHA3-512", "cryptographic; as cksum -a sha3 -l 512 and openssl sha3-512"),
    crypto::<Sm3>("sm3", "SM3", "cryptographic, a Chinese standard; as cksum -a sm3"),
    Algorithm {
        name: "crc",
        tag: "CRC",
        len: 4,
        summary: "detects damage, not tampering; one file on all processors; in decimal, with the length, as cksum",
        split: Split::Any,
        begin: || crc(CrcAlgorithm::Crc32Cksum, true),
    },
    Algorithm {
        name: "bsd",
        tag: "BSD",
        len: 2,
        summary: "16 bits; in decimal, with blocks of 1024, as sum -r",
        split: Split::Sequential,
        begin: || Sequential::begin(Rotated(0)),
    },
    Algorithm {
        name: "sysv",
        tag: "SYSV",
        len: 2,
        summary: "16 bits; in decimal, with blocks of 512, as sum -s",
        split: Split::Any,
        begin: || Box::new(Total(0)),
    },
];

/// A hash of the RustCrypto crates.
const fn crypto<D: sha2::Digest + Send + 'static>(
    name: &'static str,
    tag: &'static str,
    summary: &'static str,
) -> Algorithm {
    let begin: fn() -> Box<dyn Hasher> = || Sequential::begin(Crypto(D::new()));
    Algorithm { name, tag, len: D::OutputSize::USIZE, summary, split: Split::Sequential, begin }
}

fn crc(algorithm: CrcAlgorithm, with_length: bool) -> Box<dyn Hasher> {
    Box::new(Remainder { digest: crc_fast::Digest::new(algorithm), with_length })
}

/// Begins a sum of `len` bytes, 1 to 64 (RFC 7693).
fn blake2b(len: usize) -> Box<dyn Hasher> {
    Sequential::begin(blake2b_simd::Params::new().hash_length(len).to_state())
}

/// A shipped algorithm.
#[derive(Debug)]
#[non_exhaustive]
pub struct Algorithm {
    /// Name of the algorithm: `sha256`.
    pub name: &'static str,
    /// Tag before the name of a file in BSD-style lines: `SHA256`.
    pub tag: &'static str,
    /// Default length of a sum in bytes.
    pub len: usize,
    /// Description in one line.
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
pub fn algorithms() -> &'static [Algorithm] {
    ALGORITHMS
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
    pub fn named(name: &str) -> Result<Self, ParseError> {
        let known = ALGORITHMS.iter().find(|known| known.name == name);
        known.map(Self::from).ok_or_else(|| {
            let names: Vec<_> = ALGORITHMS.iter().map(|algorithm| algorithm.name).collect();
            ParseError::new(format!("unknown algorithm {name:?}; available are {}", names.join(", ")))
        })
    }

    /// Returns a shipped algorithm that programs name without a look-up.
    pub(crate) fn shipped(name: &'static str) -> Self {
        Self::named(name).expect("it is in the table")
    }

    /// Returns blake3 in one of its modes, with `len` bytes of its output from byte `seek` on.
    pub fn blake3(mode: Blake3Mode, seek: u64, len: usize) -> Self {
        Self { begin: Arc::new(move || blake3::begin(mode, seek, len)), ..Self::default() }
    }

    /// Returns blake2b with a digest of `len` bytes.
    ///
    /// # Errors
    /// If `len` is not 1 to 64.
    pub fn blake2b(len: usize) -> Result<Self, ParseError> {
        if !(1..=blake2b_simd::OUTBYTES).contains(&len) {
            return Err(ParseError::new(format!("a digest of blake2b has 1 to 64 bytes, not {len}")));
        }
        Ok(Self { begin: Arc::new(move || blake2b(len)), ..Self::shipped("blake2b") })
    }

    /// Returns the algorithm.
    pub fn algorithm(&self) -> &'static Algorithm {
        self.algorithm
    }

    /// Returns the digest of bytes in memory.
    pub fn of(&self, bytes: &[u8]) -> Digest {
        let mut state = self.identity();
        state.update(0, bytes);
        state.digest()
    }
}

impl Default for Hash {
    /// Plain blake3.
    fn default() -> Self {
        Self::shipped("blake3")
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
    type State = HashState;

    fn memory(&self) -> BlockMemory {
        BlockMemory::REVIEWED
    }

    fn is_hash(&self) -> bool {
        true
    }

    fn split(&self) -> Split {
        self.algorithm.split
    }

    fn identity(&self) -> Self::State {
        HashState((self.begin)())
    }

    fn block(&self, sum: &mut Self::State, offset: u64, bytes: &[u8]) {
        sum.update(offset, bytes);
    }

    fn merge(&self, left: &mut Self::State, right: Self::State) {
        left.append(right);
    }
}

/// Bytes that all hashes process before the next ones: a multiple of every unit of the shipped algorithms.
const RUN: usize = 64 << 10;

/// Several hashes as one operation.
///
/// It can be cut if all of them can; otherwise a [`PipelinedHashes`](super::PipelinedHashes) is faster.
#[derive(Debug, Clone, Copy)]
pub struct MultiHash<'h> {
    hashes: &'h [Hash],
}

impl<'h> MultiHash<'h> {
    /// Combines `hashes`.
    pub fn new(hashes: &'h [Hash]) -> Self {
        Self { hashes }
    }

    /// True if several workers can hash one file.
    pub fn may_be_cut(self) -> bool {
        self.split() != Split::Sequential
    }
}

impl Fold for MultiHash<'_> {
    type State = Vec<HashState>;

    fn memory(&self) -> BlockMemory {
        BlockMemory::REVIEWED
    }

    fn is_hash(&self) -> bool {
        true
    }

    fn split(&self) -> Split {
        let both = |left, right| match (left, right) {
            (Split::Any, other) | (other, Split::Any) => other,
            (left, right) if left == right => left,
            _ => Split::Sequential,
        };
        self.hashes.iter().map(|hash| hash.algorithm().split).fold(Split::Any, both)
    }

    fn identity(&self) -> Self::State {
        self.hashes.iter().map(Hash::identity).collect()
    }

    fn block(&self, sums: &mut Self::State, offset: u64, bytes: &[u8]) {
        // One run at a time, so that it is still in the processor's cache for the last hash.
        let mut at = offset;
        for part in bytes.chunks(RUN) {
            sums.iter_mut().for_each(|sum| sum.update(at, part));
            at += part.len() as u64;
        }
    }

    fn merge(&self, left: &mut Self::State, right: Self::State) {
        left.iter_mut().zip(right).for_each(|(left, right)| left.append(right));
    }
}
