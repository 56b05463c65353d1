//! crc: the remainder that `cksum` of POSIX prints, whose last bytes are the length of the file.

use crc_fast::{CrcAlgorithm, Digest};

use super::{Algorithm, Split, Sum};

pub(super) const CRC: Algorithm = Algorithm {
    name: "crc",
    tag: "CRC",
    len: 4,
    summary: "finds damage, not malice; one file on all processors; in decimal, with the length, as cksum",
    split: Split::Any,
    begin: || Box::new(Remainder(Digest::new(CrcAlgorithm::Crc32Cksum))),
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

    fn finish(mut self: Box<Self>) -> Vec<u8> {
        let len = self.0.get_amount();
        let octets = (u64::BITS - len.leading_zeros()).div_ceil(8) as usize;
        self.0.update(&len.to_le_bytes()[..octets]);
        // The remainder has 32 bits.
        (self.0.finalize() as u32).to_be_bytes().to_vec()
    }
}
