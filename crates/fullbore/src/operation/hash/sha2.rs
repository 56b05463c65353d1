//! sha224, sha256, sha384 and sha512 (FIPS 180-4).

use sha2::{Digest, Sha224, Sha256, Sha384, Sha512};

use super::sequential::{Crypto, Sequential};
use super::{Algorithm, Split};

pub(super) const SHA256: Algorithm = Algorithm {
    name: "sha256",
    tag: "SHA256",
    len: 32,
    summary: "cryptographic, uses the processor's SHA instructions if available; as sha256sum",
    split: Split::Sequential,
    begin: || Sequential::begin(Crypto(Sha256::new())),
};

pub(super) const SHA512: Algorithm = Algorithm {
    name: "sha512",
    tag: "SHA512",
    len: 64,
    summary: "cryptographic; as sha512sum",
    split: Split::Sequential,
    begin: || Sequential::begin(Crypto(Sha512::new())),
};

pub(super) const SHA224: Algorithm = Algorithm {
    name: "sha224",
    tag: "SHA224",
    len: 28,
    summary: "cryptographic, truncated sha256; as sha224sum",
    split: Split::Sequential,
    begin: || Sequential::begin(Crypto(Sha224::new())),
};

pub(super) const SHA384: Algorithm = Algorithm {
    name: "sha384",
    tag: "SHA384",
    len: 48,
    summary: "cryptographic, truncated sha512; as sha384sum",
    split: Split::Sequential,
    begin: || Sequential::begin(Crypto(Sha384::new())),
};
