//! Integers of any size, for operations that need only their remainders.

use std::fmt;

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
