//! Maps of single bytes and of pairs: `shift`, `caesar`, `rot13`, `upper`, `lower`, `swab`, `none`; and `xor`, which combines the
//! file with a key, repeated from the first byte to the last.

use std::fmt;

use super::kernel::{GroupMap, Groupwise, Kernel, Pass, element_done};
use super::traits::{Split, Transform};
use fullbore_io::buf::BlockMemory;

/// An operation, or the error in its argument.
pub(super) type Built = Result<Box<dyn Transform>, String>;

pub(super) fn built<M: GroupMap<N> + 'static, const N: usize>(spec: &str, kernel: Kernel, map: M) -> Built {
    Ok(Box::new(Groupwise { spec: spec.to_owned(), kernel, map }))
}

/// An operation on bytes or small groups of bytes: the type of [`op::shift`](crate::op::shift) and others.
pub struct Map(Box<dyn Transform>);

impl Map {
    fn of<M: GroupMap<N> + 'static, const N: usize>(spec: impl Into<String>, map: M) -> Self {
        Self(Box::new(Groupwise { spec: spec.into(), kernel: Kernel::Simd, map }))
    }
}

impl fmt::Display for Map {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(out)
    }
}

impl fmt::Debug for Map {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "Map({})", self.0)
    }
}

impl Transform for Map {
    fn memory(&self) -> BlockMemory {
        BlockMemory::REVIEWED
    }

    fn split(&self) -> Split {
        self.0.split()
    }

    fn apply(&self, offset: u64, source: &[u8], target: &mut [u8]) {
        self.0.apply(offset, source, target);
    }

    fn apply_in_place(&self, offset: u64, data: &mut [u8]) {
        self.0.apply_in_place(offset, data);
    }
}

/// Replaces each byte by `map(byte)`, which is called once for each of the 256 values.
///
/// ```
/// use fullbore::op;
/// # let directory = tempfile::tempdir()?;
/// # let (input, output) = (directory.path().join("input"), directory.path().join("output"));
/// std::fs::write(&input, "1,5")?;
/// fullbore::transform(&op::map_fn(|byte| if byte == b',' { b'.' } else { byte }), &input, &output)?;
/// assert_eq!(std::fs::read(&output)?, b"1.5");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn map_fn(map: impl Fn(u8) -> u8) -> Map {
    Map::of("map", Table(std::array::from_fn(|byte| [map(byte as u8)])))
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
pub fn shift(by: i64) -> Map {
    Map::of(format!("shift:{by}"), Shift(by.rem_euclid(256) as u8))
}

pub(super) fn parse_shift(argument: &str, kernel: Kernel) -> Built {
    let number = Integer::parse(argument)?;
    built(&format!("shift:{number}"), kernel, Shift(number.modulo(256)))
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
pub fn caesar(by: i64) -> Map {
    let map = Rotate { letters: by.rem_euclid(26) as u8, digits: by.rem_euclid(10) as u8 };
    Map::of(format!("caesar:{by}"), map)
}

pub(super) fn parse_caesar(argument: &str, kernel: Kernel) -> Built {
    let number = Integer::parse(argument)?;
    let map = Rotate { letters: number.modulo(26), digits: number.modulo(10) };
    map.built(&format!("caesar:{number}"), kernel)
}

/// Moves letters by 13 of 26; it is its own inverse.
pub fn rot13() -> Map {
    Map::of("rot13", Rotate::HALF)
}

#[derive(Clone, Copy)]
pub(super) struct Rotate {
    /// Distance of letters, 0 to 25.
    letters: u8,
    /// Distance of digits, 0 to 9.
    digits: u8,
}

impl Rotate {
    pub(super) const HALF: Self = Self { letters: 13, digits: 0 };

    pub(super) fn built(self, spec: &str, kernel: Kernel) -> Built {
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
pub fn upper() -> Map {
    Map::of("upper", to_upper)
}

#[inline(always)]
pub(super) fn to_upper([byte]: [u8; 1]) -> [u8; 1] {
    [byte.to_ascii_uppercase()]
}

/// Converts A-Z to lower case.
pub fn lower() -> Map {
    Map::of("lower", to_lower)
}

#[inline(always)]
pub(super) fn to_lower([byte]: [u8; 1]) -> [u8; 1] {
    [byte.to_ascii_lowercase()]
}

/// Swaps the two bytes of each pair.
pub fn swab() -> Map {
    Map::of("swab", swapped)
}

#[inline(always)]
pub(super) fn swapped(pair: [u8; 2]) -> [u8; 2] {
    u16::from_ne_bytes(pair).swap_bytes().to_ne_bytes()
}

pub(super) fn none(_: &str, _: Kernel) -> Built {
    Ok(Box::new(Copied))
}

/// The platform's memory copy, which is better tuned to the processor than a loop.
struct Copied;

impl fmt::Display for Copied {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str("none")
    }
}

impl Transform for Copied {
    fn memory(&self) -> BlockMemory {
        BlockMemory::REVIEWED
    }

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

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Integer {
    negative: bool,
    /// Decimal digits without leading zeros; empty means zero.
    digits: String,
}

impl Integer {
    /// Parses an optional sign and decimal digits; the error describes the problem.
    pub(super) fn parse(text: &str) -> Result<Self, String> {
        let unsigned = text.strip_prefix(['-', '+']).unwrap_or(text);
        if unsigned.is_empty() || !unsigned.bytes().all(|byte| byte.is_ascii_digit()) {
            return Err(format!("{text:?} is not a whole number"));
        }
        let digits = unsigned.trim_start_matches('0').to_owned();
        Ok(Self { negative: text.starts_with('-') && !digits.is_empty(), digits })
    }

    /// Returns the remainder from 0 to `modulus` − 1 that is congruent to the number. `modulus` is 1 to 256.
    pub(super) fn modulo(&self, modulus: u32) -> u8 {
        let remainder =
            self.digits.bytes().fold(0, |value, digit| (value * 10 + u32::from(digit - b'0')) % modulus);
        let remainder = if self.negative { (modulus - remainder) % modulus } else { remainder };
        remainder as u8
    }
}

impl fmt::Display for Integer {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let digits = if self.digits.is_empty() { "0" } else { &self.digits };
        write!(out, "{}{digits}", if self.negative { "-" } else { "" })
    }
}

/// Minimum length of a repeated short key, in bytes: long vectors fit, and the key stays in the nearest cache.
const LAID_OUT: usize = 4096;

/// Combines the bytes with `key`, repeated over the file, by exclusive-or; it is its own inverse. An empty key changes nothing.
pub fn xor(key: &[u8]) -> Map {
    Map(Box::new(Xor::new(if key.is_empty() { &[0] } else { key }, Kernel::Simd)))
}

pub(super) fn parse_xor(hex: &str, kernel: Kernel) -> Built {
    if hex.is_empty() {
        return Err("the key is empty; give at least one byte, such as 5a".to_owned());
    }
    if let Some(bad) = hex.chars().find(|c| !c.is_ascii_hexdigit()) {
        return Err(format!("{bad:?} is not a hexadecimal digit (0-9, a-f)"));
    }
    if !hex.len().is_multiple_of(2) {
        return Err(format!("an odd number of hexadecimal digits ({}); give two digits per byte", hex.len()));
    }
    let byte = |at| u8::from_str_radix(&hex[at..at + 2], 16).unwrap_or_default();
    let key: Vec<u8> = (0..hex.len()).step_by(2).map(byte).collect();
    Ok(Box::new(Xor::new(&key, kernel)))
}

struct Xor {
    /// Bytes until the key repeats; never 0.
    period: usize,
    /// The key, repeated a whole number of times.
    repeated: Vec<u8>,
    kernel: Kernel,
}

impl Xor {
    fn new(key: &[u8], kernel: Kernel) -> Self {
        let period = key.len();
        Self { period, repeated: key.repeat(LAID_OUT.div_ceil(period)), kernel }
    }

    /// Returns the key's bytes for an offset of the file, up to the end of the repeated key.
    fn key(&self, offset: u64) -> &[u8] {
        &self.repeated[(offset % self.period as u64) as usize..]
    }
}

impl fmt::Display for Xor {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str("xor:")?;
        self.repeated[..self.period].iter().try_for_each(|byte| write!(out, "{byte:02x}"))
    }
}

impl Transform for Xor {
    fn memory(&self) -> BlockMemory {
        BlockMemory::REVIEWED
    }

    fn split(&self) -> Split {
        Split::Any
    }

    fn apply(&self, mut offset: u64, mut source: &[u8], mut target: &mut [u8]) {
        while !target.is_empty() {
            let key = self.key(offset);
            let length = key.len().min(target.len());
            let (from, from_rest) = source.split_at(length);
            let (to, to_rest) = target.split_at_mut(length);
            self.kernel.run(Across { key: &key[..length], source: from, target: to });
            (source, target, offset) = (from_rest, to_rest, offset.wrapping_add(length as u64));
        }
    }

    fn apply_in_place(&self, mut offset: u64, mut data: &mut [u8]) {
        while !data.is_empty() {
            let key = self.key(offset);
            let length = key.len().min(data.len());
            let (run, rest) = data.split_at_mut(length);
            self.kernel.run(InPlace { key: &key[..length], data: run });
            (data, offset) = (rest, offset.wrapping_add(length as u64));
        }
    }
}

struct Across<'a> {
    key: &'a [u8],
    source: &'a [u8],
    target: &'a mut [u8],
}

impl Pass for Across<'_> {
    #[inline(always)]
    fn run<const SIMD: bool>(self) {
        for ((to, from), key) in self.target.iter_mut().zip(self.source).zip(self.key) {
            *to = *from ^ *key;
            element_done::<SIMD>();
        }
    }
}

struct InPlace<'a> {
    key: &'a [u8],
    data: &'a mut [u8],
}

impl Pass for InPlace<'_> {
    #[inline(always)]
    fn run<const SIMD: bool>(self) {
        for (byte, key) in self.data.iter_mut().zip(self.key) {
            *byte ^= *key;
            element_done::<SIMD>();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn huge_numbers_have_remainders() {
        // 10^40 = 2^40 · 5^40 is a multiple of 256 and of 10; 10^40 mod 26: 10^6 ≡ 1 (mod 13), 10^4 ≡ 3, and even.
        let huge = Integer::parse(&format!("1{}", "0".repeat(40))).unwrap();
        assert_eq!((huge.modulo(256), huge.modulo(10), huge.modulo(26)), (0, 0, 16));
        let negative = Integer::parse(&format!("-1{}", "0".repeat(40))).unwrap();
        assert_eq!((negative.modulo(256), negative.modulo(26)), (0, 10));
    }

    #[test]
    fn text_that_is_not_an_integer_is_an_error() {
        for text in ["", "-", "+", "1.5", "1e3", " 1", "--1", "0x10", "１"] {
            assert!(Integer::parse(text).unwrap_err().contains("not a whole number"), "{text}");
        }
    }

    proptest! {
        #[test]
        fn agrees_with_the_machine(number: i64, modulus in 1u32..=256) {
            let integer = Integer::parse(&number.to_string()).unwrap();
            prop_assert_eq!(i64::from(integer.modulo(modulus)), number.rem_euclid(i64::from(modulus)));
            prop_assert_eq!(integer.to_string(), number.to_string());
            let padded = format!("{}000{}", if number < 0 { '-' } else { '+' }, number.unsigned_abs());
            prop_assert_eq!(Integer::parse(&padded).unwrap(), integer);
        }
    }
}
