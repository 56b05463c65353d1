//! The output of GNU `cmp`, byte for byte.

use std::ffi::OsStr;
use std::io::Write;

use fullbore::pattern::{Difference, End};
use fullbore::sys::OsStrExt;

/// Settings of the message for the first difference.
pub(super) struct Words<'a> {
    /// The operands as given by the user.
    pub(super) names: [&'a OsStr; 2],
    pub(super) bytes: bool,
    /// True if POSIX prescribes the wording: "char" instead of "byte".
    pub(super) posix: bool,
}

impl Words<'_> {
    /// Returns the line on standard output for the first difference.
    pub(super) fn differ(&self, at: &Difference, lines: u64) -> Vec<u8> {
        let mut line = Vec::new();
        line.extend(self.names[0].as_bytes());
        line.push(b' ');
        line.extend(self.names[1].as_bytes());
        let byte = if self.posix && !self.bytes { "char" } else { "byte" };
        let mut text = format!(" differ: {byte} {}, line {}", at.offset + 1, lines + 1);
        if self.bytes {
            let (left, right) = (shown(at.left), shown(at.right));
            text.push_str(&format!(" is {:3o} {left} {:3o} {right}", at.left, at.right));
        }
        line.extend(text.as_bytes());
        line.push(b'\n');
        line
    }

    /// Returns the line on standard error for the end of the shorter file; with its last line number if lines were
    /// counted.
    pub(super) fn end(&self, end: &End, counted: bool) -> Vec<u8> {
        let mut line = b"cmp: EOF on ".to_vec();
        line.extend(self.names[end.side as usize].as_bytes());
        let text = match (end.offset, counted, end.fresh) {
            (0, _, _) => " which is empty\n".to_owned(),
            (bytes, false, _) => format!(" after byte {bytes}\n"),
            (bytes, true, true) => format!(" after byte {bytes}, line {}\n", end.lines),
            (bytes, true, false) => format!(" after byte {bytes}, in line {}\n", end.lines + 1),
        };
        line.extend(text.as_bytes());
        line
    }
}

/// Formats a byte as `cat -v` does.
fn shown(byte: u8) -> String {
    let mut text = String::new();
    let mut rest = byte;
    if rest >= 128 {
        text.push_str("M-");
        rest -= 128;
    }
    match rest {
        127 => text.push_str("^?"),
        0..32 => text.extend(['^', char::from(rest + 64)]),
        _ => text.push(char::from(rest)),
    }
    text
}

/// Formats the lines of all differences between two runs.
pub(super) struct List {
    width: usize,
    bytes: bool,
    /// Three octal digits for each byte.
    octal: [[u8; 3]; 256],
    /// Printed form of each byte.
    shown: Vec<String>,
}

impl List {
    /// Creates a list with byte numbers up to `most`; `bytes`: print the differing bytes too.
    pub(super) fn new(most: u64, bytes: bool) -> Self {
        let width = most.checked_ilog10().map_or(1, |log| log as usize + 1);
        let mut octal = [[b' '; 3]; 256];
        for (byte, digits) in (0..=255u8).zip(&mut octal) {
            // The slice of three is always long enough.
            let _ = write!(&mut digits[..], "{byte:3o}");
        }
        Self { width, bytes, octal, shown: (0..=255).map(shown).collect() }
    }

    /// Returns the lines of two runs at `offset`.
    pub(super) fn lines(&self, offset: u64, left: &[u8], right: &[u8]) -> Vec<u8> {
        let mut lines = Vec::with_capacity(4 << 10);
        for Difference { offset, left, right, .. } in Difference::between(offset, left, right) {
            self.number(offset + 1, &mut lines);
            lines.push(b' ');
            lines.extend(self.octal[usize::from(left)]);
            lines.push(b' ');
            if self.bytes {
                let shown = &self.shown[usize::from(left)];
                lines.extend(shown.as_bytes());
                lines.resize(lines.len() + 5 - shown.len().min(4), b' ');
            }
            lines.extend(self.octal[usize::from(right)]);
            if self.bytes {
                lines.push(b' ');
                lines.extend(self.shown[usize::from(right)].as_bytes());
            }
            lines.push(b'\n');
        }
        lines
    }

    fn number(&self, mut number: u64, lines: &mut Vec<u8>) {
        let mut digits = [b' '; 20];
        let mut first = digits.len();
        while number > 0 {
            first -= 1;
            digits[first] = b'0' + (number % 10) as u8;
            number /= 10;
        }
        lines.extend(&digits[first.min(digits.len() - self.width)..]);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_are_shown_as_by_cat_v() {
        let shown: Vec<_> = [0, b'\n', 31, b' ', b'~', 127, 128, 159, 160, 255].map(shown).to_vec();
        assert_eq!(shown, ["^@", "^J", "^_", " ", "~", "^?", "M-^@", "M-^_", "M- ", "M-^?"]);
    }

    #[test]
    fn a_list_is_as_printf_makes_it() {
        let list = List::new(1234, true);
        assert_eq!(list.lines(8, b"ab\0", b"aB\xff"), b"  10 142 b    102 B\n  11   0 ^@   377 M-^?\n");
        assert_eq!(List::new(0, false).lines(99, b"a", b"b"), b"100 141 142\n");
        assert_eq!(List::new(u64::MAX >> 1, false).lines(0, b"a", b"b"), b"                  1 141 142\n");
    }
}
