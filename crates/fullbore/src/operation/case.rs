//! `upper` and `lower`: the case of ASCII letters.

use super::groupwise::{GroupMap, Groupwise};
use super::{Kernel, Operation, Transform};

pub(super) const UPPER: Operation = Operation {
    name: "upper",
    usage: "upper",
    summary: "make a-z upper case; every other byte stays",
    build: |_, kernel| Ok(Box::new(Groupwise { spec: "upper".to_owned(), kernel, map: Upper })),
};

pub(super) const LOWER: Operation = Operation {
    name: "lower",
    usage: "lower",
    summary: "make A-Z lower case; every other byte stays",
    build: |_, kernel| Ok(Box::new(Groupwise { spec: "lower".to_owned(), kernel, map: Lower })),
};

/// Converts a-z to upper case.
pub fn upper() -> impl Transform {
    Groupwise { spec: "upper".to_owned(), kernel: Kernel::Simd, map: Upper }
}

/// Converts A-Z to lower case.
pub fn lower() -> impl Transform {
    Groupwise { spec: "lower".to_owned(), kernel: Kernel::Simd, map: Lower }
}

#[derive(Clone, Copy)]
struct Upper;

impl GroupMap<1> for Upper {
    #[inline(always)]
    fn map(&self, [byte]: [u8; 1]) -> [u8; 1] {
        [byte.to_ascii_uppercase()]
    }
}

#[derive(Clone, Copy)]
struct Lower;

impl GroupMap<1> for Lower {
    #[inline(always)]
    fn map(&self, [byte]: [u8; 1]) -> [u8; 1] {
        [byte.to_ascii_lowercase()]
    }
}
