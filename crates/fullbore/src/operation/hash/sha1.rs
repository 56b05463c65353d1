//! sha1 (FIPS 180-4), which is broken: for what was summed with it long ago.

use sha1::{Digest, Sha1};

use super::sequential::{Crypto, Sequential};
use super::{Algorithm, Split};

pub(super) const SHA1: Algorithm = Algorithm {
    name: "sha1",
    tag: "SHA1",
    len: 20,
    summary: "broken: collisions are made on purpose; for old lists; as sha1sum",
    split: Split::Sequential,
    begin: || Sequential::begin(Crypto(Sha1::new())),
};
