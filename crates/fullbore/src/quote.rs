//! Names and texts in messages: nothing in them acts on a terminal.
//!
//! Names are quoted as by the GNU tools: left as they are, or so that a shell reads them back.
#![forbid(unsafe_code)]

use std::borrow::Cow;
use std::fmt;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

use crate::operation::Encoding;

/// A name for a message, as the GNU tools write it: `always` in quotes, or only if it has something that a shell or a reader would
/// stumble over.
///
/// ```
/// use fullbore::operation::Encoding;
/// use fullbore::quote::quoted;
/// assert_eq!(quoted("name".as_ref(), Encoding::Utf8, false), "name");
/// assert_eq!(quoted("name".as_ref(), Encoding::Utf8, true), "'name'");
/// assert_eq!(quoted("two\nlines".as_ref(), Encoding::Utf8, false), "'two'$'\\n''lines'");
/// ```
pub fn quoted(name: &Path, encoding: Encoding, always: bool) -> String {
    // What stays is printable, and so it is text.
    String::from_utf8_lossy(&quoted_bytes(name.as_os_str().as_bytes(), encoding, always)).into_owned()
}

/// A path as it is, or [`quoted`] if it has a character that cannot be printed, such as an escape sequence for a terminal.
///
/// ```
/// use fullbore::quote::Shown;
/// assert_eq!(Shown("two words".as_ref()).to_string(), "two words");
/// assert_eq!(Shown("red\x1b[31m".as_ref()).to_string(), "'red'$'\\033''[31m'");
/// ```
#[derive(Debug, Clone, Copy)]
pub struct Shown<'a>(pub &'a Path);

impl fmt::Display for Shown<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let bytes = self.0.as_os_str().as_bytes();
        let plain = |text: &&str| text.chars().all(|character| Encoding::Utf8.prints(character));
        match std::str::from_utf8(bytes).ok().filter(plain) {
            Some(text) => f.write_str(text),
            None => f.write_str(&quoted(self.0, Encoding::Utf8, true)),
        }
    }
}

/// A text whose control characters are escapes (`\u001b`), line ends and tabs apart.
///
/// ```
/// use fullbore::quote::printable;
/// assert_eq!(printable("a\tb\n"), "a\tb\n");
/// assert_eq!(printable("\x1b[31mred \u{9b}2J"), "\\u001b[31mred \\u009b2J");
/// ```
pub fn printable(text: &str) -> Cow<'_, str> {
    if !text.contains(is_control) {
        return text.into();
    }
    let mut safe = String::with_capacity(text.len() + 16);
    for character in text.chars() {
        match is_control(character) {
            true => safe.push_str(&format!("\\u{:04x}", u32::from(character))),
            false => safe.push(character),
        }
    }
    safe.into()
}

/// As [`printable`], of bytes; those of 0x80 to 0x9f that are in no character are escaped too: some terminals obey them.
///
/// ```
/// use fullbore::quote::printable_bytes;
/// assert_eq!(*printable_bytes(b"\x1b[31m\x9b\xff"), *b"\\u001b[31m\\u009b\xff");
/// ```
pub fn printable_bytes(text: &[u8]) -> Cow<'_, [u8]> {
    let harmless = |byte: &u8| matches!(byte, b' '..=b'~' | b'\n' | b'\t');
    if text.iter().all(harmless) {
        return text.into();
    }
    let mut safe = Vec::with_capacity(text.len() + 16);
    for chunk in text.utf8_chunks() {
        safe.extend_from_slice(printable(chunk.valid()).as_bytes());
        for &byte in chunk.invalid() {
            match byte {
                0x80..=0x9f => safe.extend_from_slice(format!("\\u{byte:04x}").as_bytes()),
                _ => safe.push(byte),
            }
        }
    }
    safe.into()
}

/// A message that quotes a document: of lines of more than 160 characters the beginning only.
///
/// ```
/// use fullbore::quote::clipped;
/// assert_eq!(clipped("short\nlines"), "short\nlines");
/// assert_eq!(clipped(&"x".repeat(1000)).chars().count(), 161);
/// ```
pub fn clipped(message: &str) -> Cow<'_, str> {
    const LONGEST: usize = 160;
    if message.lines().all(|line| line.len() <= LONGEST) {
        return message.into();
    }
    let lines = message.lines().map(|line| match line.char_indices().nth(LONGEST) {
        Some((end, _)) => format!("{}…", &line[..end]),
        None => line.to_owned(),
    });
    lines.collect::<Vec<_>>().join("\n").into()
}

fn is_control(character: char) -> bool {
    character.is_control() && character != '\n' && character != '\t'
}

fn quoted_bytes(bytes: &[u8], encoding: Encoding, always: bool) -> Vec<u8> {
    let pieces = pieces(bytes, encoding);
    let plain =
        !always && !bytes.is_empty() && pieces.iter().enumerate().all(|(at, piece)| piece.plain(at, bytes));
    if plain {
        return bytes.to_vec();
    }
    if bytes.contains(&b'\'') && pieces.iter().enumerate().all(|(at, piece)| piece.fits_double_quotes(at)) {
        return [b"\"", bytes, b"\""].concat();
    }
    let (text, escaping) = between_quotes(&pieces, false);
    // The GNU tools look at a name with a quote twice, and begin the second time in the state in which the first one ended.
    if bytes.contains(&b'\'') { between_quotes(&pieces, escaping).0 } else { text }
}

/// The name between single quotes, and whether it ends in escapes; what comes first may go on with some.
fn between_quotes(pieces: &[Piece<'_>], mut escaping: bool) -> (Vec<u8>, bool) {
    let mut text = vec![b'\''];
    for &piece in pieces {
        match piece {
            Piece::Character(b"'") => {
                // What is escaped ends with a quote by itself.
                text.extend(b"'\\''");
                escaping = false;
            }
            Piece::Character(character) => {
                if std::mem::take(&mut escaping) {
                    text.extend(b"''");
                }
                text.extend(character);
            }
            Piece::Unprintable(byte) => {
                if !std::mem::replace(&mut escaping, true) {
                    text.extend(b"'$'");
                }
                text.extend(escaped(byte));
            }
        }
    }
    text.push(b'\'');
    (text, escaping)
}

/// A part of a name: a character that can be printed, or a byte that cannot.
#[derive(Debug, Clone, Copy)]
enum Piece<'a> {
    Character(&'a [u8]),
    Unprintable(u8),
}

impl Piece<'_> {
    /// Whether it needs no quotes, as the character `at`.
    fn plain(self, at: usize, whole: &[u8]) -> bool {
        match self {
            Self::Unprintable(_) => false,
            Self::Character([byte @ (b'#' | b'~')]) => at > 0 || !b"#~".contains(byte),
            Self::Character([b'{' | b'}']) => whole.len() > 1,
            Self::Character([byte]) => !b" !\"$&()*;<=>[^`|'\\?:".contains(byte),
            Self::Character(_) => true,
        }
    }

    /// Whether it means itself between double quotes, as the character `at`.
    fn fits_double_quotes(self, at: usize) -> bool {
        match self {
            Self::Unprintable(_) => false,
            Self::Character([b'#' | b'~']) => at == 0,
            Self::Character([b'{' | b'}']) => false,
            Self::Character([byte]) => !b"!\"$&()*;<=>[^`|\\?".contains(byte),
            Self::Character(_) => true,
        }
    }
}

fn pieces(bytes: &[u8], encoding: Encoding) -> Vec<Piece<'_>> {
    let mut pieces = Vec::new();
    for chunk in bytes.utf8_chunks() {
        let mut at = 0;
        for character in chunk.valid().chars() {
            let spelt = &chunk.valid().as_bytes()[at..at + character.len_utf8()];
            at += character.len_utf8();
            match encoding.prints(character) {
                true => pieces.push(Piece::Character(spelt)),
                false => pieces.extend(spelt.iter().copied().map(Piece::Unprintable)),
            }
        }
        pieces.extend(chunk.invalid().iter().copied().map(Piece::Unprintable));
    }
    pieces
}

fn escaped(byte: u8) -> Vec<u8> {
    let letter = match byte {
        0x07 => b'a',
        0x08 => b'b',
        0x0b => b'v',
        0x0c => b'f',
        b'\n' => b'n',
        b'\r' => b'r',
        b'\t' => b't',
        _ => return format!("\\{byte:03o}").into_bytes(),
    };
    vec![b'\\', letter]
}

#[cfg(test)]
mod tests {
    use std::ffi::OsStr;

    use super::*;

    #[test]
    fn names_are_quoted_where_a_reader_would_stumble() {
        for (name, wanted) in [
            (&b"plain-name_1.txt"[..], &b"plain-name_1.txt"[..]),
            (b"two words", b"'two words'"),
            (b"", b"''"),
            (b"it's", b"\"it's\""),
            (b"it's $5", b"'it'\\''s $5'"),
            (b"nl\nx", b"'nl'$'\\n''x'"),
            (b"\x01\x02'a", b"''$'\\001\\002'\\''a'"),
            // As they are: not what one would expect, but the same.
            (b"it's\n", b"'''it'\\''s'$'\\n'"),
            (b"\x01'\n", b"'\\001'\\'''$'\\n'"),
            (b"caf\xc3\xa9", b"caf\xc3\xa9"),
            (b"bad\xff", b"'bad'$'\\377'"),
            (b"a:b", b"'a:b'"),
            (b"#a#", b"'#a#'"),
            (b"a#", b"a#"),
        ] {
            let quoted = quoted(OsStr::from_bytes(name).as_ref(), Encoding::Utf8, false);
            assert_eq!(quoted, String::from_utf8_lossy(wanted));
        }
        assert_eq!(quoted("x".as_ref(), Encoding::Bytes, true), "'x'");
        assert_eq!(quoted("é".as_ref(), Encoding::Bytes, false), "''$'\\303\\251'");
    }
}
