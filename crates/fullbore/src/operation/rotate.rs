//! `caesar:N` and `rot13`: rotate letters and digits within their class.

use super::groupwise::{GroupMap, Groupwise};
use super::integer::Integer;
use super::{Kernel, Operation, Transform};

pub(super) const CAESAR: Operation = Operation {
    name: "caesar",
    usage: "caesar:N",
    summary: "rotate a-z, A-Z and 0-9 by the whole number N, each class within itself; caesar:-N reverses it",
    build: |argument, kernel| {
        let number = Integer::parse(argument)?;
        let map = Rotate { letters: number.modulo(26), digits: number.modulo(10) };
        Ok(map.transform(format!("caesar:{number}"), kernel))
    },
};

pub(super) const ROT13: Operation = Operation {
    name: "rot13",
    usage: "rot13",
    summary: "rotate letters by 13 of 26; rot13 reverses itself",
    build: |_, kernel| {
        let map = Rotate { letters: 13, digits: 0 };
        Ok(map.transform("rot13".to_owned(), kernel))
    },
};

/// Moves a-z, A-Z and 0-9 by `by`, each class within itself.
pub fn caesar(by: i64) -> impl Transform {
    let map = Rotate { letters: by.rem_euclid(26) as u8, digits: by.rem_euclid(10) as u8 };
    Groupwise { spec: format!("caesar:{by}"), kernel: Kernel::Simd, map }
}

/// Moves letters by 13 of 26; it is its own inverse.
pub fn rot13() -> impl Transform {
    Groupwise { spec: "rot13".to_owned(), kernel: Kernel::Simd, map: Rotate { letters: 13, digits: 0 } }
}

#[derive(Clone, Copy)]
struct Rotate {
    /// 0 to 25.
    letters: u8,
    /// 0 to 9.
    digits: u8,
}

impl Rotate {
    fn transform(self, spec: String, kernel: Kernel) -> Box<dyn Transform> {
        match kernel {
            Kernel::Simd => Box::new(Groupwise { spec, kernel, map: self }),
            Kernel::Scalar => Box::new(Groupwise { spec, kernel, map: Table::of(self) }),
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
struct Table([u8; 256]);

impl Table {
    fn of(map: Rotate) -> Self {
        Self(std::array::from_fn(|byte| map.map([byte as u8])[0]))
    }
}

impl GroupMap<1> for Table {
    #[inline(always)]
    fn map(&self, [byte]: [u8; 1]) -> [u8; 1] {
        [self.0[usize::from(byte)]]
    }
}
