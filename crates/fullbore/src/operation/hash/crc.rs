//! Cyclic redundancy checks of 32 bits. One multiplication joins the remainders of two parts.

use crc_fast::{CrcAlgorithm, Digest};

use super::{Algorithm, Hasher, Split};

/// CRC with Castagnoli's polynomial.
pub(super) const CRC32C: Algorithm = Algorithm {
    name: "crc32c",
    tag: "CRC32C",
    len: 4,
    summary: "detects damage, not tampering (iSCSI, ext4, btrfs, object stores); one file on all processors",
    split: Split::Any,
    begin: || begin(CrcAlgorithm::Crc32Iscsi, false),
};

/// The CRC of POSIX `cksum`: the length of the file follows its bytes.
pub(super) const CRC: Algorithm = Algorithm {
    name: "crc",
    tag: "CRC",
    len: 4,
    summary: "detects damage, not tampering; one file on all processors; in decimal, with the length, as cksum",
    split: Split::Any,
    begin: || begin(CrcAlgorithm::Crc32Cksum, true),
};

fn begin(algorithm: CrcAlgorithm, with_length: bool) -> Box<dyn Hasher> {
    Box::new(Remainder { digest: Digest::new(algorithm), with_length })
}

struct Remainder {
    digest: Digest,
    /// True if the length, without its leading zeros, counts as further bytes.
    with_length: bool,
}

impl Hasher for Remainder {
    fn update(&mut self, _offset: u64, bytes: &[u8]) {
        self.digest.update(bytes);
    }

    fn append(&mut self, right: Box<dyn Hasher>) {
        let right = super::same::<Self>(right);
        if self.digest.get_amount() == 0 {
            *self = *right;
        } else if right.digest.get_amount() > 0 {
            self.digest.combine(&right.digest);
        }
    }

    fn finish(mut self: Box<Self>) -> Vec<u8> {
        if self.with_length {
            let len = self.digest.get_amount();
            let octets = (u64::BITS - len.leading_zeros()).div_ceil(8) as usize;
            self.digest.update(&len.to_le_bytes()[..octets]);
        }
        // The remainder has 32 bits.
        (self.digest.finalize() as u32).to_be_bytes().to_vec()
    }
}
