//! Zeros: the best case for storage, file systems and links that compress or skip holes.

use crate::operation::Generate;
use std::fmt;

/// Zero bytes, written out.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Zeros;

impl fmt::Display for Zeros {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str("zeros")
    }
}

impl Generate for Zeros {
    fn fill(&self, _offset: u64, target: &mut [u8]) {
        target.fill(0);
    }
}

#[cfg(test)]
mod tests {
    use super::super::laws::run;
    use super::*;

    #[test]
    fn all_are_zero() {
        assert_eq!(run(&Zeros, 77, 100_000), vec![0; 100_000]);
    }
}
