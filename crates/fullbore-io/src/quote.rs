//! Names and texts in messages, free of sequences that act on a terminal.
//!
//! Names are quoted as by the GNU tools: unchanged where possible, else so that a shell reads them back.
#![forbid(unsafe_code)]

use std::borrow::Cow;
use std::fmt;
use std::path::Path;

use crate::sys::OsStrExt;

/// Quotes a name as the GNU tools do: if `always`, or if it contains a character that is special to a shell or unclear
/// to a reader; `prints` is true for the characters that the reader can see.
pub fn quoted(name: &Path, prints: impl Fn(char) -> bool, always: bool) -> String {
    // The remaining bytes are printable, hence text.
    String::from_utf8_lossy(&quoted_bytes(name.as_os_str().as_bytes(), &prints, always)).into_owned()
}

/// True if a character is printable by the tables of the standard library.
pub fn prints(character: char) -> bool {
    // After a letter, a combining mark is not escaped.
    matches!(character, '\'' | '"' | '\\') || format!("a{character}").escape_debug().count() == 2
}

/// A path, [`quoted`] if it is empty or has an unprintable character, such as a terminal's escape sequence.
#[derive(Debug, Clone, Copy)]
pub struct Shown<'a>(pub &'a Path);

impl fmt::Display for Shown<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let bytes = self.0.as_os_str().as_bytes();
        let plain = |text: &&str| !text.is_empty() && text.chars().all(prints);
        match std::str::from_utf8(bytes).ok().filter(plain) {
            Some(text) => f.write_str(text),
            None => f.write_str(&quoted(self.0, prints, true)),
        }
    }
}

/// Replaces control characters by escapes (`\u001b`), except newlines and tabs.
///
/// ```
/// use fullbore_io::quote::printable;
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

/// As [`printable`], for bytes; bytes 0x80 to 0x9f outside characters are escaped too, because some terminals obey
/// them.
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

/// Clips the lines of a message that quotes a document to 160 characters each.
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

fn quoted_bytes(bytes: &[u8], prints: &impl Fn(char) -> bool, always: bool) -> Vec<u8> {
    let pieces = pieces(bytes, prints);
    let plain =
        !always && !bytes.is_empty() && pieces.iter().enumerate().all(|(at, piece)| piece.plain(at, bytes));
    if plain {
        return bytes.to_vec();
    }
    if bytes.contains(&b'\'') && pieces.iter().enumerate().all(|(at, piece)| piece.fits_double_quotes(at)) {
        return [b"\"", bytes, b"\""].concat();
    }
    let (text, escaping) = between_quotes(&pieces, false);
    // The GNU tools scan a name with a quote twice; the second scan begins in the state at the end of the first.
    if bytes.contains(&b'\'') { between_quotes(&pieces, escaping).0 } else { text }
}

/// The name between single quotes, and true if it ends in escapes; `escaping`: escapes come before it.
fn between_quotes(pieces: &[Piece<'_>], mut escaping: bool) -> (Vec<u8>, bool) {
    let mut text = vec![b'\''];
    for &piece in pieces {
        match piece {
            Piece::Character(b"'") => {
                // The quote ends the escapes.
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

/// A part of a name: a printable character, or a byte that is not printable.
#[derive(Debug, Clone, Copy)]
enum Piece<'a> {
    Character(&'a [u8]),
    Unprintable(u8),
}

impl Piece<'_> {
    /// True if it needs no quotes as character number `at`.
    fn plain(self, at: usize, whole: &[u8]) -> bool {
        match self {
            Self::Unprintable(_) => false,
            Self::Character([byte @ (b'#' | b'~')]) => at > 0 || !b"#~".contains(byte),
            Self::Character([b'{' | b'}']) => whole.len() > 1,
            Self::Character([byte]) => !b" !\"$&()*;<=>[^`|'\\?:".contains(byte),
            Self::Character(_) => true,
        }
    }

    /// True if it stands for itself between double quotes as character number `at`.
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

fn pieces<'a>(bytes: &'a [u8], prints: &impl Fn(char) -> bool) -> Vec<Piece<'a>> {
    let mut pieces = Vec::new();
    for chunk in bytes.utf8_chunks() {
        let mut at = 0;
        for character in chunk.valid().chars() {
            let spelt = &chunk.valid().as_bytes()[at..at + character.len_utf8()];
            at += character.len_utf8();
            match prints(character) {
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
    fn names_are_quoted_as_by_the_gnu_tools() {
        for (name, wanted) in [
            (&b"plain-name_1.txt"[..], &b"plain-name_1.txt"[..]),
            (b"two words", b"'two words'"),
            (b"", b"''"),
            (b"it's", b"\"it's\""),
            (b"it's $5", b"'it'\\''s $5'"),
            (b"nl\nx", b"'nl'$'\\n''x'"),
            (b"\x01\x02'a", b"''$'\\001\\002'\\''a'"),
            // As the GNU tools print them, unexpected as they are.
            (b"it's\n", b"'''it'\\''s'$'\\n'"),
            (b"\x01'\n", b"'\\001'\\'''$'\\n'"),
            (b"caf\xc3\xa9", b"caf\xc3\xa9"),
            #[cfg(unix)]
            (b"bad\xff", b"'bad'$'\\377'"),
            (b"a:b", b"'a:b'"),
            (b"#a#", b"'#a#'"),
            (b"a#", b"a#"),
        ] {
            let quoted = quoted(OsStr::from_bytes(name).as_ref(), prints, false);
            assert_eq!(quoted, String::from_utf8_lossy(wanted));
        }
        let ascii = |character: char| (' '..='~').contains(&character);
        assert_eq!(quoted("x".as_ref(), ascii, true), "'x'");
        assert_eq!(quoted("é".as_ref(), ascii, false), "''$'\\303\\251'");
    }

    #[test]
    fn paths_and_texts_have_no_control_characters() {
        assert_eq!(Shown("two words".as_ref()).to_string(), "two words");
        assert_eq!(Shown("red\x1b[31m".as_ref()).to_string(), "'red'$'\\033''[31m'");
        assert_eq!(*printable_bytes(b"\x1b[31m\x9b\xff"), *b"\\u001b[31m\\u009b\xff");
    }

    #[test]
    fn long_lines_are_clipped() {
        assert_eq!(clipped("short\nlines"), "short\nlines");
        assert_eq!(clipped(&"x".repeat(1000)).chars().count(), 161);
    }
}
