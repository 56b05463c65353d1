//! Names in messages, as the GNU tools write them: as they are, or quoted so that a shell reads them back.

use std::os::unix::ffi::OsStrExt;
use std::path::Path;

use fullbore::operation::Encoding;

/// A name for a message. `quote` it always, or only if it has something that a shell or a reader would stumble over.
pub(crate) fn quoted(name: &Path, encoding: Encoding, always: bool) -> Vec<u8> {
    let bytes = name.as_os_str().as_bytes();
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
            assert_eq!(quoted.escape_ascii().to_string(), wanted.escape_ascii().to_string());
        }
        assert_eq!(quoted("x".as_ref(), Encoding::Bytes, true), b"'x'");
        assert_eq!(quoted("é".as_ref(), Encoding::Bytes, false), b"''$'\\303\\251'");
    }
}
