//! Maps of single bytes and of pairs: `shift`, `caesar`, `rot13`, `upper`, `lower`, `swab`, `none`.

use std::fmt;

use super::groupwise::{GroupMap, Groupwise};
use super::integer::Integer;
use super::kernel::Kernel;
use super::traits::{Split, Transform};

/// An operation, or the error in its argument.
pub(super) type Built = Result<Box<dyn Transform>, String>;

pub(super) fn built<M: GroupMap<N> + 'static, const N: usize>(
    spec: impl Into<String>,
    kernel: Kernel,
    map: M,
) -> Built {
    Ok(Box::new(Groupwise { spec: spec.into(), kernel, map }))
}

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

pub(super) fn parse_shift(argument: &str, kernel: Kernel) -> Built {
    let number = Integer::parse(argument)?;
    built(format!("shift:{number}"), kernel, Shift(number.modulo(256)))
}

#[derive(Clone, Copy)]
struct Shift(u8);

impl GroupMap<1> for Shift {
    #[inline(always)]
    fn map(&self, [byte]: [u8; 1]) -> [u8; 1] {
        [byte.wrapping_add(self.0)]
    }
}

/// Moves a-z, A-Z and 0-9 by `by`, each class within itself.
pub fn caesar(by: i64) -> impl Transform {
    let map = Rotate { letters: by.rem_euclid(26) as u8, digits: by.rem_euclid(10) as u8 };
    Groupwise { spec: format!("caesar:{by}"), kernel: Kernel::Simd, map }
}

pub(super) fn parse_caesar(argument: &str, kernel: Kernel) -> Built {
    let number = Integer::parse(argument)?;
    let map = Rotate { letters: number.modulo(26), digits: number.modulo(10) };
    map.built(format!("caesar:{number}"), kernel)
}

/// Moves letters by 13 of 26; it is its own inverse.
pub fn rot13() -> impl Transform {
    Groupwise { spec: "rot13".to_owned(), kernel: Kernel::Simd, map: Rotate::HALF }
}

#[derive(Clone, Copy)]
pub(super) struct Rotate {
    /// 0 to 25.
    letters: u8,
    /// 0 to 9.
    digits: u8,
}

impl Rotate {
    pub(super) const HALF: Self = Self { letters: 13, digits: 0 };

    pub(super) fn built(self, spec: String, kernel: Kernel) -> Built {
        match kernel {
            Kernel::Simd => built(spec, kernel, self),
            Kernel::Scalar => built(spec, kernel, Table(std::array::from_fn(|byte| self.map([byte as u8])))),
        }
    }
}

impl GroupMap<1> for Rotate {
    #[inline(always)]
    fn map(&self, [byte]: [u8; 1]) -> [u8; 1] {
        let step = step(byte, b'a', 26, self.letters)
            | step(byte, b'A', 26, self.letters)
            | step(byte, b'0', 10, self.digits);
        [byte.wrapping_add(step)]
    }
}

/// Returns the amount that moves `byte` by `by` within the class of `size` bytes from `first`: 0 outside it.
#[inline(always)]
fn step(byte: u8, first: u8, size: u8, by: u8) -> u8 {
    let place = byte.wrapping_sub(first);
    let wrap = if place >= size - by { size } else { 0 };
    if place < size { by.wrapping_sub(wrap) } else { 0 }
}

/// The result for each byte value. For one byte at a time it is ten times as fast as determining the class, because the
/// classes of the bytes of text are hard to predict.
#[derive(Clone, Copy)]
struct Table([[u8; 1]; 256]);

impl GroupMap<1> for Table {
    #[inline(always)]
    fn map(&self, [byte]: [u8; 1]) -> [u8; 1] {
        self.0[usize::from(byte)]
    }
}

/// Converts a-z to upper case.
pub fn upper() -> impl Transform {
    Groupwise { spec: "upper".to_owned(), kernel: Kernel::Simd, map: to_upper }
}

#[inline(always)]
pub(super) fn to_upper([byte]: [u8; 1]) -> [u8; 1] {
    [byte.to_ascii_uppercase()]
}

/// Converts A-Z to lower case.
pub fn lower() -> impl Transform {
    Groupwise { spec: "lower".to_owned(), kernel: Kernel::Simd, map: to_lower }
}

#[inline(always)]
pub(super) fn to_lower([byte]: [u8; 1]) -> [u8; 1] {
    [byte.to_ascii_lowercase()]
}

/// Swaps the two bytes of each pair.
pub fn swab() -> impl Transform {
    Groupwise { spec: "swab".to_owned(), kernel: Kernel::Simd, map: swapped }
}

#[inline(always)]
pub(super) fn swapped(pair: [u8; 2]) -> [u8; 2] {
    u16::from_ne_bytes(pair).swap_bytes().to_ne_bytes()
}

pub(super) fn none(_: &str, kernel: Kernel) -> Built {
    #[inline(always)]
    fn same(byte: [u8; 1]) -> [u8; 1] {
        byte
    }
    match kernel {
        Kernel::Simd => Ok(Box::new(Copied)),
        Kernel::Scalar => built("none", kernel, same),
    }
}

/// The platform's memory copy, which is better tuned to the processor than a loop.
struct Copied;

impl fmt::Display for Copied {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str("none")
    }
}

impl Transform for Copied {
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
