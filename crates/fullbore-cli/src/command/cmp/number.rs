//! Numbers in the syntax of GNU `cmp`: decimal, 0x… or 0…, with a multiplying suffix.

/// Parses a number with its suffix at the start of a text, and returns it with the rest. `None` if there is no number,
/// or if it is too large for a file.
pub(super) fn leading(text: &[u8]) -> Option<(u64, &[u8])> {
    let start = text.iter().position(|byte| !b" \t\n\x0b\x0c\r".contains(byte)).unwrap_or(text.len());
    let (sign, digits) = match &text[start..] {
        [b'+', rest @ ..] => (false, rest),
        [b'-', rest @ ..] => (true, rest),
        rest => (false, rest),
    };
    let (number, rest) = match digits_of(digits) {
        Some((number, rest)) => (number?, rest),
        // A suffix alone has the value of its factor.
        None if scale(text).is_some() => (1, text),
        None => return None,
    };
    let (factor, rest) = scale(rest).map_or((Some(1), rest), |(factor, len)| (factor, &rest[len..]));
    let number = match factor {
        Some(factor) => number.checked_mul(factor)?,
        None if number == 0 => 0,
        None => return None,
    };
    (number <= i64::MAX as u64 && !(sign && number > 0)).then_some((number, rest))
}

pub(super) fn whole(text: &[u8]) -> Option<u64> {
    leading(text).filter(|(_, rest)| rest.is_empty()).map(|(number, _)| number)
}

/// Returns the number at the start of a text, if it is not too large, and the rest after its digits.
fn digits_of(text: &[u8]) -> Option<(Option<u64>, &[u8])> {
    let (base, digits) = match text {
        [b'0', b'x' | b'X', digit, ..] if digit.is_ascii_hexdigit() => (16, &text[2..]),
        [b'0', ..] => (8, text),
        _ => (10, text),
    };
    let value = |byte: &u8| char::from(*byte).to_digit(base).map(u64::from);
    let len = digits.iter().take_while(|byte| value(byte).is_some()).count();
    let (digits, rest) = digits.split_at(len);
    let number = digits
        .iter()
        .filter_map(value)
        .try_fold(0u64, |sum, digit| sum.checked_mul(u64::from(base))?.checked_add(digit));
    (len > 0).then_some((number, rest))
}

/// Returns the factor of the suffix at the start of a text, if it is not too large, and the suffix's length.
fn scale(text: &[u8]) -> Option<(Option<u64>, usize)> {
    let power = match text.first()? {
        b'k' | b'K' => 1,
        b'M' => 2,
        b'G' => 3,
        b'T' => 4,
        b'P' => 5,
        b'E' => 6,
        b'Z' => 7,
        b'Y' => 8,
        _ => return None,
    };
    let (base, len) = match &text[1..] {
        [b'i', b'B', ..] => (1024u64, 3),
        [b'B' | b'D', ..] => (1000, 2),
        _ => (1024, 1),
    };
    Some((base.checked_pow(power), len))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_parse_as_in_the_peer() {
        for (text, number) in [
            ("0", Some(0)),
            ("12", Some(12)),
            (" \t+1", Some(1)),
            ("-0", Some(0)),
            ("-1", None),
            ("", None),
            ("x", None),
            ("010", Some(8)),
            ("08", None),
            ("0x1E", Some(30)),
            ("0x1K", Some(1024)),
            ("0x", None),
            ("K", Some(1024)),
            ("KB", Some(1000)),
            (" K", None),
            ("1kB", Some(1000)),
            ("1KiB", Some(1024)),
            ("1kD", Some(1000)),
            ("1Ki", None),
            ("1kBx", None),
            ("1m", None),
            ("1B", None),
            ("2M", Some(2 << 20)),
            ("7E", Some(7 << 60)),
            ("8E", None),
            ("1Z", None),
            ("0Y", Some(0)),
            ("9223372036854775807", Some(i64::MAX as u64)),
            ("9223372036854775808", None),
            ("99999999999999999999", None),
            ("1 ", None),
        ] {
            assert_eq!(whole(text.as_bytes()), number, "{text:?}");
        }
        assert_eq!(leading(b"1K:2"), Some((1024, &b":2"[..])));
    }
}
