//! `xor:HEX`: combines the file with a key, repeated from the first byte to the last.

use super::kernel::{Kernel, Pass, element_done};
use super::{Operation, Split, Transform};
use std::fmt;

pub(super) const XOR: Operation = Operation {
    name: "xor",
    usage: "xor:HEX",
    summary: "exclusive-or with the key HEX (two digits per byte), repeated over the file; its own inverse",
    build: |argument, kernel| Ok(Box::new(Xor { key: Key::parse(argument)?, kernel })),
};

/// Minimum length in bytes of a repeated short key: the loop then runs over long vectors before the key starts again,
/// and the key stays in the nearest cache.
const LAID_OUT: usize = 4096;

/// Exclusive-or with `key`, repeated over the file; it is its own inverse. An empty key changes nothing.
pub fn xor(key: &[u8]) -> impl Transform {
    let key = if key.is_empty() { &[0] } else { key };
    Xor { key: Key::of(key), kernel: Kernel::Simd }
}

struct Xor {
    key: Key,
    kernel: Kernel,
}

struct Key {
    /// Bytes until the key repeats; never 0.
    period: usize,
    /// The key, repeated a whole number of times.
    repeated: Vec<u8>,
}

impl Key {
    fn of(key: &[u8]) -> Self {
        let period = key.len();
        Self { period, repeated: key.repeat(LAID_OUT.div_ceil(period)) }
    }

    fn parse(hex: &str) -> Result<Self, String> {
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
        let digit = |c: u8| if c.is_ascii_digit() { c - b'0' } else { (c | 0x20) - b'a' + 10 };
        let key: Vec<u8> =
            hex.as_bytes().as_chunks().0.iter().map(|&[high, low]| digit(high) << 4 | digit(low)).collect();
        Ok(Self::of(&key))
    }

    /// Returns the key's bytes for an offset of the file, up to the end of the repeated key.
    fn from(&self, offset: u64) -> &[u8] {
        &self.repeated[(offset % self.period as u64) as usize..]
    }
}

impl fmt::Display for Xor {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str("xor:")?;
        self.key.repeated[..self.key.period].iter().try_for_each(|byte| write!(out, "{byte:02x}"))
    }
}

impl Transform for Xor {
    fn split(&self) -> Split {
        Split::Any
    }

    fn apply(&self, mut offset: u64, mut source: &[u8], mut target: &mut [u8]) {
        while !target.is_empty() {
            let key = self.key.from(offset);
            let length = key.len().min(target.len());
            let (from, from_rest) = source.split_at(length);
            let (to, to_rest) = target.split_at_mut(length);
            self.kernel.run(Across { key: &key[..length], source: from, target: to });
            (source, target, offset) = (from_rest, to_rest, offset.wrapping_add(length as u64));
        }
    }

    fn apply_in_place(&self, mut offset: u64, mut data: &mut [u8]) {
        while !data.is_empty() {
            let key = self.key.from(offset);
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
