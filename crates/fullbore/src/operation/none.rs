//! `none`: copies through memory, the lower bound of the cost of every other operation.

use super::groupwise::{GroupMap, Groupwise};
use super::{Kernel, Operation, Split, Transform};
use std::fmt;

pub(super) const NONE: Operation = Operation {
    name: "none",
    usage: "none",
    summary: "copy every byte unchanged, through memory",
    build: |_, kernel| {
        Ok(match kernel {
            Kernel::Simd => Box::new(Copy),
            Kernel::Scalar => Box::new(Groupwise { spec: "none".to_owned(), kernel, map: Same }),
        })
    },
};

/// The platform's memory copy, which is better tuned to the processor than a loop.
struct Copy;

impl fmt::Display for Copy {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str("none")
    }
}

impl Transform for Copy {
    fn split(&self) -> Split {
        Split::Any
    }

    fn apply(&self, _offset: u64, source: &[u8], target: &mut [u8]) {
        target.copy_from_slice(source);
    }

    fn apply_in_place(&self, _offset: u64, _data: &mut [u8]) {}

    fn changes_nothing(&self) -> bool {
        true
    }
}

#[derive(Clone, std::marker::Copy)]
struct Same;

impl GroupMap<1> for Same {
    #[inline(always)]
    fn map(&self, byte: [u8; 1]) -> [u8; 1] {
        byte
    }
}
