//! Parses sizes (`640MB`, `256K`, `1.5GiB`) and formats sizes and rates.
#![forbid(unsafe_code)]

use std::fmt;

/// The unit letters, smallest first: letter `i` stands for 1024^(i+1) or 1000^(i+1) bytes.
const LETTERS: &str = "KMGTPE";

/// Digits beyond these cannot change a whole number of bytes; these fit the arithmetic.
const MAX_FRACTION_DIGITS: usize = 20;

/// A text that is not a size.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ParseSizeError {
    text: String,
    problem: Problem,
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum Problem {
    Empty,
    Negative,
    NoNumber,
    MisplacedSeparator,
    PartOfAByte,
    LongFraction,
    UnknownUnit(String),
    TooLarge,
}

impl fmt::Display for ParseSizeError {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "invalid size {:?}: ", self.text)?;
        match &self.problem {
            Problem::Empty => write!(out, "it is empty")?,
            Problem::Negative => write!(out, "a size cannot be negative")?,
            Problem::NoNumber => write!(out, "it must begin with a number")?,
            Problem::MisplacedSeparator => write!(out, "`_` is allowed only between two digits")?,
            Problem::PartOfAByte => write!(out, "a fraction needs a unit larger than the byte")?,
            Problem::LongFraction => {
                write!(out, "more than {MAX_FRACTION_DIGITS} digits after the point")?;
            }
            Problem::UnknownUnit(unit) => write!(out, "unknown unit {unit:?}")?,
            Problem::TooLarge => write!(out, "more than {} bytes", u64::MAX)?,
        }
        write!(out, "; write bytes (4096), powers of 1024 (256K, 1.5GiB) or powers of 1000 (640MB)")
    }
}

impl std::error::Error for ParseSizeError {}

/// Parses a size in bytes.
///
/// `K M G T P E` and `KiB` … `EiB` are powers of 1024, `KB` … `EB` powers of 1000, `B` or no unit means bytes; in upper
/// or lower case, with or without a space before the unit. `_` may separate digits. A fraction of a unit is rounded
/// down to whole bytes.
pub fn parse(text: &str) -> Result<u64, ParseSizeError> {
    bytes(text.trim()).map_err(|problem| ParseSizeError { text: text.to_owned(), problem })
}

fn bytes(text: &str) -> Result<u64, Problem> {
    if text.is_empty() {
        return Err(Problem::Empty);
    }
    if text.starts_with('-') {
        return Err(Problem::Negative);
    }
    if text.starts_with(char::is_alphabetic) {
        return Err(Problem::NoNumber);
    }
    let is_number = |c: char| c.is_ascii_digit() || c == '_' || c == '.';
    let (number, unit) = text.split_at(text.find(|c| !is_number(c)).unwrap_or(text.len()));
    let unit_bytes = unit_bytes(unit.trim_start())?;
    let (whole, fraction) = match number.split_once('.') {
        Some((whole, fraction)) => (whole, Some(fraction)),
        None => (number, None),
    };
    let mut total = digits(whole)?.checked_mul(unit_bytes).ok_or(Problem::TooLarge)?;
    if let Some(fraction) = fraction {
        if unit_bytes == 1 {
            return Err(Problem::PartOfAByte);
        }
        let places = fraction.bytes().filter(u8::is_ascii_digit).count();
        if places > MAX_FRACTION_DIGITS {
            return Err(Problem::LongFraction);
        }
        let part =
            digits(fraction)?.checked_mul(unit_bytes).ok_or(Problem::TooLarge)? / 10u128.pow(places as u32);
        total = total.checked_add(part).ok_or(Problem::TooLarge)?;
    }
    u64::try_from(total).map_err(|_| Problem::TooLarge)
}

/// Parses decimal digits that `_` may separate.
fn digits(text: &str) -> Result<u128, Problem> {
    if text.is_empty() || text.contains('.') {
        return Err(Problem::NoNumber);
    }
    if text.starts_with('_') || text.ends_with('_') || text.contains("__") {
        return Err(Problem::MisplacedSeparator);
    }
    text.bytes().filter(u8::is_ascii_digit).try_fold(0u128, |value, digit| {
        let value = value.checked_mul(10).ok_or(Problem::TooLarge)?;
        value.checked_add(u128::from(digit - b'0')).ok_or(Problem::TooLarge)
    })
}

fn unit_bytes(unit: &str) -> Result<u128, Problem> {
    let upper = unit.to_ascii_uppercase();
    if upper.is_empty() || upper == "B" {
        return Ok(1);
    }
    let unknown = || Problem::UnknownUnit(unit.to_owned());
    let mut letters = upper.chars();
    let power = letters.next().and_then(|letter| LETTERS.find(letter)).ok_or_else(unknown)? as u32 + 1;
    match letters.as_str() {
        "" | "IB" => Ok(1024u128.pow(power)),
        "B" => Ok(1000u128.pow(power)),
        _ => Err(unknown()),
    }
}

/// Formats exactly `bytes` as the shortest whole number with a power of 1024: `256K`, `4K`, `1000`. [`parse`] reads it
/// back.
#[must_use]
pub fn exact(bytes: u64) -> String {
    let mut number = bytes;
    let mut unit = None;
    let mut letters = LETTERS.chars();
    while number != 0 && number.is_multiple_of(1024) {
        number /= 1024;
        unit = letters.next();
    }
    unit.map_or_else(|| number.to_string(), |letter| format!("{number}{letter}"))
}

/// Formats the size of a request or file: binary units if exact (`64 KiB`), powers of 1000 otherwise (`1.50 GB`).
#[must_use]
pub fn binary(bytes: u64) -> String {
    let exact = |shift: u32| bytes.trailing_zeros() >= shift && (1..1024).contains(&(bytes >> shift));
    match [(40, "TiB"), (30, "GiB"), (20, "MiB"), (10, "KiB")].into_iter().find(|(shift, _)| exact(*shift)) {
        Some((shift, unit)) => format!("{} {unit}", bytes >> shift),
        None => human(bytes),
    }
}

/// Formats a size with three digits and powers of 1000: `640 MB`, `1.07 GB`, `12 B`.
#[must_use]
pub fn human(bytes: u64) -> String {
    if bytes < 1000 { format!("{bytes} B") } else { three_digits(bytes as f64) }
}

/// Formats a rate with three digits and powers of 1000: `10.4 GB/s`. A rate that is not finite or is negative (no bytes
/// moved, or no time passed) is `n/a`.
#[must_use]
pub fn rate(bytes_per_second: f64) -> String {
    if bytes_per_second.is_finite() && bytes_per_second >= 0.0 {
        three_digits(bytes_per_second) + "/s"
    } else {
        "n/a".to_owned()
    }
}

fn three_digits(bytes: f64) -> String {
    let mut value = bytes;
    let mut unit = String::from("B");
    for letter in LETTERS.chars() {
        // 999.5 and more would be printed as 1000.
        if value < 999.5 {
            break;
        }
        value /= 1000.0;
        unit = format!("{}B", if letter == 'K' { 'k' } else { letter });
    }
    let places = match value {
        v if v >= 99.95 || v == 0.0 => 0,
        v if v >= 9.995 => 1,
        _ => 2,
    };
    format!("{value:.places$} {unit}")
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn parses_every_form() {
        for (text, bytes) in [
            ("0", 0),
            ("4096", 4096),
            ("4096B", 4096),
            ("12b", 12),
            ("640MB", 640_000_000),
            ("640 MB", 640_000_000),
            (" 640mb ", 640_000_000),
            ("1GiB", 1 << 30),
            ("1gib", 1 << 30),
            ("1.5GiB", 3 << 29),
            ("0.1K", 102),
            ("0.000_001MB", 1),
            ("256K", 256 << 10),
            ("256k", 256 << 10),
            ("1kB", 1000),
            ("1KB", 1000),
            ("1KiB", 1024),
            ("3T", 3 << 40),
            ("3TB", 3_000_000_000_000),
            ("2P", 2 << 50),
            ("1E", 1 << 60),
            ("1_000_000", 1_000_000),
            ("18446744073709551615", u64::MAX),
            ("15.99999999999999999999E", u64::MAX),
        ] {
            assert_eq!(parse(text), Ok(bytes), "{text}");
        }
    }

    #[test]
    fn errors_name_the_reason_the_text_and_the_forms() {
        for (text, reason) in [
            ("", "it is empty"),
            ("  ", "it is empty"),
            ("-1", "cannot be negative"),
            ("-1K", "cannot be negative"),
            ("K", "must begin with a number"),
            (".5K", "must begin with a number"),
            ("5.K", "must begin with a number"),
            ("1.2.3K", "must begin with a number"),
            ("1__0", "`_` is allowed only"),
            ("_1", "`_` is allowed only"),
            ("1_K", "`_` is allowed only"),
            ("1.5", "a fraction needs a unit"),
            ("1.5B", "a fraction needs a unit"),
            ("1.000000000000000000001K", "more than 20 digits"),
            ("1X", "unknown unit \"X\""),
            ("1KK", "unknown unit \"KK\""),
            ("1,000", "unknown unit \",000\""),
            ("1K5", "unknown unit \"K5\""),
            ("1µB", "unknown unit \"µB\""),
            ("1iB", "unknown unit \"iB\""),
            ("16E", "more than 18446744073709551615 bytes"),
            ("18446744073709551616", "more than 18446744073709551615 bytes"),
            ("99999999999999999999999999999999999999999999K", "more than 18446744073709551615 bytes"),
        ] {
            let message = parse(text).expect_err(text).to_string();
            assert!(message.contains(reason), "{text}: {message}");
            assert!(message.contains(&format!("{text:?}")), "{text}: {message}");
            assert!(message.contains("256K, 1.5GiB"), "{text}: {message}");
        }
    }

    #[test]
    fn exact_is_shortest() {
        for (bytes, text) in [
            (0, "0"),
            (1, "1"),
            (1000, "1000"),
            (1024, "1K"),
            (1536, "1536"),
            (4096, "4K"),
            (262_144, "256K"),
            (3 << 30, "3G"),
            (1 << 60, "1E"),
            (u64::MAX, "18446744073709551615"),
        ] {
            assert_eq!(exact(bytes), text);
        }
    }

    #[test]
    fn three_digits_are_shown() {
        for (bytes, text) in [
            (0, "0 B"),
            (999, "999 B"),
            (1000, "1.00 kB"),
            (1024, "1.02 kB"),
            (9_994, "9.99 kB"),
            (9_996, "10.0 kB"),
            (99_960, "100 kB"),
            (999_499, "999 kB"),
            (999_500, "1.00 MB"),
            (640_000_000, "640 MB"),
            (1 << 30, "1.07 GB"),
            (u64::MAX, "18.4 EB"),
        ] {
            assert_eq!(human(bytes), text, "{bytes}");
        }
        for (bytes_per_second, text) in [
            (10.44e9, "10.4 GB/s"),
            (640e6, "640 MB/s"),
            (0.0, "0 B/s"),
            (0.5, "0.50 B/s"),
            (f64::NAN, "n/a"),
            (f64::INFINITY, "n/a"),
            (-1.0, "n/a"),
        ] {
            assert_eq!(rate(bytes_per_second), text);
        }
    }

    proptest! {
        #[test]
        fn exact_sizes_parse_back(number: u64, shift in 0u32..64) {
            let bytes = number >> shift << (shift / 2);
            prop_assert_eq!(parse(&exact(bytes)), Ok(bytes));
        }

        #[test]
        fn human_is_within_half_a_percent(bytes: u64) {
            // The largest sizes may round up beyond `u64`.
            prop_assume!(bytes < u64::MAX / 100 * 99);
            let read = parse(&human(bytes)).unwrap() as f64;
            prop_assert!((read - bytes as f64).abs() <= bytes as f64 * 0.00501, "{read}");
        }

        #[test]
        fn any_text_parses_or_is_an_invalid_size(text: String) {
            if let Err(error) = parse(&text) {
                prop_assert!(error.to_string().contains("invalid size"));
            }
        }

        #[test]
        fn units_multiply(number in 0u64..1_000_000, power in 0usize..4) {
            let letter = LETTERS.as_bytes()[power] as char;
            let power = power as u32 + 1;
            prop_assert_eq!(parse(&format!("{number}{letter}")), Ok(number * 1024u64.pow(power)));
            prop_assert_eq!(parse(&format!("{number}{letter}iB")), Ok(number * 1024u64.pow(power)));
            prop_assert_eq!(parse(&format!("{number}{letter}B")), Ok(number * 1000u64.pow(power)));
        }
    }
}
