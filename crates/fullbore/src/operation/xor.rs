//! `xor:HEX`: combines the file with a key, repeated from the first byte to the last.

use std::fmt;

use super::kernel::{Kernel, Pass, element_done};
use super::maps::Built;
use super::traits::{Split, Transform};

/// Minimum length in bytes of a repeated short key: the loop then runs over long vectors before the key starts again,
/// and the key stays in the nearest cache.
const LAID_OUT: usize = 4096;

/// Exclusive-or with `key`, repeated over the file; it is its own inverse. An empty key changes nothing.
pub fn xor(key: &[u8]) -> impl Transform {
    Xor::new(if key.is_empty() { &[0] } else { key }, Kernel::Simd)
}

pub(super) fn parse(hex: &str, kernel: Kernel) -> Built {
    if hex.is_empty() {
        return Err("the key is empty; give at least one byte, such as 5a".to_owned());
    }
    if let Some(bad) = hex.chars().find(|c| !c.is_ascii_hexdigit()) {
        return Err(format!("{bad:?} is not a hexadecimal digit (0-9, a-f)"));
    }
    if !hex.len().is_multiple_of(2) {
        return Err(format!(
            "{} hexadecimal digits are not whole bytes; give two digits per byte",
            hex.len()
        ));
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
