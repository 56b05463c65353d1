//! sha256 and sha512 (FIPS 180-4).

use sha2::{Digest, Sha256, Sha512};

use super::sequential::{Crypto, Sequential};
use super::{Algorithm, Split};

pub(super) const SHA256: Algorithm = Algorithm {
    name: "sha256",
    tag: "SHA256",
    len: 32,
    summary: "cryptographic, by the processor's SHA instructions where it has them; as sha256sum",
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
