//! `swab`: exchanges the two bytes of each pair, for tapes exchanged between machines of different byte order.

use super::groupwise::{GroupMap, Groupwise};
use super::{Kernel, Operation, Transform};

pub(super) const SWAB: Operation = Operation {
    name: "swab",
    usage: "swab",
    summary: "swap the two bytes of each pair; an odd last byte stays",
    build: |_, kernel| Ok(Box::new(Groupwise { spec: "swab".to_owned(), kernel, map: Swab })),
};

/// Swaps the two bytes of each pair.
pub fn swab() -> impl Transform {
    Groupwise { spec: "swab".to_owned(), kernel: Kernel::Simd, map: Swab }
}

#[derive(Clone, Copy)]
struct Swab;

impl GroupMap<2> for Swab {
    #[inline(always)]
    fn map(&self, pair: [u8; 2]) -> [u8; 2] {
        u16::from_ne_bytes(pair).swap_bytes().to_ne_bytes()
    }
}
