//! `shift:N`: add N to each byte, modulo 256.

use super::groupwise::{GroupMap, Groupwise};
use super::integer::Integer;
use super::{Kernel, Operation, Transform};

pub(super) const SHIFT: Operation = Operation {
    name: "shift",
    usage: "shift:N",
    summary: "add the whole number N to each byte, modulo 256; shift:-N reverses shift:N",
    build: |argument, kernel| {
        let number = Integer::parse(argument)?;
        let map = Shift(number.modulo(256));
        Ok(Box::new(Groupwise { spec: format!("shift:{number}"), kernel, map }))
    },
};

/// Adds `by` to each byte, modulo 256.
///
/// ```
/// use fullbore::{Job, op};
/// # let directory = tempfile::tempdir()?;
/// # let (input, output) = (directory.path().join("input"), directory.path().join("output"));
/// std::fs::write(&input, "HAL")?;
/// Job::new().transform(&op::shift(1), &input, &output)?;
/// assert_eq!(std::fs::read(&output)?, b"IBM");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn shift(by: i64) -> impl Transform {
    Groupwise { spec: format!("shift:{by}"), kernel: Kernel::Simd, map: Shift(by.rem_euclid(256) as u8) }
}

#[derive(Clone, Copy)]
struct Shift(u8);

impl GroupMap<1> for Shift {
    #[inline(always)]
    fn map(&self, [byte]: [u8; 1]) -> [u8; 1] {
        [byte.wrapping_add(self.0)]
    }
}
