//! sm3 (GB/T 32905-2016).

use sm3::{Digest, Sm3};

use super::sequential::{Crypto, Sequential};
use super::{Algorithm, Split};

pub(super) const SM3: Algorithm = Algorithm {
    name: "sm3",
    tag: "SM3",
    len: 32,
    summary: "cryptographic, a Chinese standard; as cksum -a sm3",
    split: Split::Sequential,
    begin: || Sequential::begin(Crypto(Sm3::new())),
};
