//! crc32c: the polynomial of Castagnoli, whose remainders of two parts are joined by one multiplication.

use crc_fast::{CrcAlgorithm, Digest};

use super::{Algorithm, Split, Sum};

pub(super) const CRC32C: Algorithm = Algorithm {
    name: "crc32c",
    tag: "CRC32C",
    len: 4,
    summary: "finds damage, not malice (iSCSI, ext4, btrfs, object stores); one file on all processors",
    split: Split::Any,
    begin: || Box::new(Remainder(Digest::new(CrcAlgorithm::Crc32Iscsi))),
};

struct Remainder(Digest);

impl Sum for Remainder {
    fn update(&mut self, _offset: u64, bytes: &[u8]) {
        self.0.update(bytes);
    }

    fn append(&mut self, right: Box<dyn Sum>) {
        let right = super::same::<Self>(right);
        if self.0.get_amount() == 0 {
            *self = *right;
        } else if right.0.get_amount() > 0 {
            self.0.combine(&right.0);
        }
    }

    fn finish(self: Box<Self>) -> Vec<u8> {
        // The remainder has 32 bits.
        (self.0.finalize() as u32).to_be_bytes().to_vec()
    }
}
