//! sha3 (FIPS 202), in its four lengths.

use sha3::{Digest, Sha3_224, Sha3_256, Sha3_384, Sha3_512};

use super::sequential::{Crypto, Sequential};
use super::{Algorithm, Split};

pub(super) const SHA3_224: Algorithm = Algorithm {
    name: "sha3-224",
    tag: "SHA3-224",
    len: 28,
    summary: "cryptographic; as cksum -a sha3 -l 224 and openssl sha3-224",
    split: Split::Sequential,
    begin: || Sequential::begin(Crypto(Sha3_224::new())),
};

pub(super) const SHA3_256: Algorithm = Algorithm {
    name: "sha3-256",
    tag: "SHA3-256",
    len: 32,
    summary: "cryptographic; as cksum -a sha3 -l 256 and openssl sha3-256",
    split: Split::Sequential,
    begin: || Sequential::begin(Crypto(Sha3_256::new())),
};

pub(super) const SHA3_384: Algorithm = Algorithm {
    name: "sha3-384",
    tag: "SHA3-384",
    len: 48,
    summary: "cryptographic; as cksum -a sha3 -l 384 and openssl sha3-384",
    split: Split::Sequential,
    begin: || Sequential::begin(Crypto(Sha3_384::new())),
};

pub(super) const SHA3_512: Algorithm = Algorithm {
    name: "sha3-512",
    tag: "SHA3-512",
    len: 64,
    summary: "cryptographic; as cksum -a sha3 -l 512 and openssl sha3-512",
    split: Split::Sequential,
    begin: || Sequential::begin(Crypto(Sha3_512::new())),
};
