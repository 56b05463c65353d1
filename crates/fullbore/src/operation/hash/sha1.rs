//! sha1 (FIPS 180-4), which is broken: only for existing checksums.

use sha1::{Digest, Sha1};

use super::sequential::{Crypto, Sequential};
use super::{Algorithm, Split};

pub(super) const SHA1: Algorithm = Algorithm {
    name: "sha1",
    tag: "SHA1",
    len: 20,
    summary: "broken: collisions can be constructed; for old checksum lists; as sha1sum",
    split: Split::Sequential,
    begin: || Sequential::begin(Crypto(Sha1::new())),
};
