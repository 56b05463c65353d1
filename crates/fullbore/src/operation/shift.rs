//! `shift:N`: add N to each byte, modulo 256.

use super::Operation;
use super::groupwise::{GroupMap, Groupwise};
use super::integer::Integer;

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

#[derive(Clone, Copy)]
struct Shift(u8);

impl GroupMap<1> for Shift {
    #[inline(always)]
    fn map(&self, [byte]: [u8; 1]) -> [u8; 1] {
        [byte.wrapping_add(self.0)]
    }
}
