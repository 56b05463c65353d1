//! md5 (RFC 1321), which is broken: for what was summed with it long ago.

use md5::{Digest, Md5};

use super::sequential::{Crypto, Sequential};
use super::{Algorithm, Split};

pub(super) const MD5: Algorithm = Algorithm {
    name: "md5",
    tag: "MD5",
    len: 16,
    summary: "broken: collisions are made on purpose; for old lists; as md5sum",
    split: Split::Sequential,
    begin: || Sequential::begin(Crypto(Md5::new())),
};
