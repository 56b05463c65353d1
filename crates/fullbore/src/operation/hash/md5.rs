//! md5 (RFC 1321), which is broken: only for existing checksums.

use md5::{Digest, Md5};

use super::sequential::{Crypto, Sequential};
use super::{Algorithm, Split};

pub(super) const MD5: Algorithm = Algorithm {
    name: "md5",
    tag: "MD5",
    len: 16,
    summary: "broken: collisions can be constructed; for old checksum lists; as md5sum",
    split: Split::Sequential,
    begin: || Sequential::begin(Crypto(Md5::new())),
};
