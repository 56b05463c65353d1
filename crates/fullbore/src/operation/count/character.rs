//! Effect of a character on words and columns: UTF-8 decoded as by glibc, and a table of wc's own results.

use super::table::RUNS;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Class {
    /// Ignored by words: it neither begins nor ends one.
    Unseen,
    Word,
    Space,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Character {
    pub(super) class: Class,
    pub(super) width: u64,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Decoded {
    /// A character. Its length is that announced by its first byte.
    Whole(u32),
    /// The start of a character, valid if the right bytes follow.
    Cut,
    /// The first byte is not part of a character.
    Broken,
}

/// Maximum length of a character in bytes: glibc still accepts the lengths that Unicode abolished.
pub(super) const LONGEST: usize = 6;

/// Returns the length in bytes of a character with this first byte.
#[inline(always)]
pub(super) fn length(first: u8) -> usize {
    (first.leading_ones() as usize).max(1)
}

/// True for a byte that cannot begin a character.
#[inline(always)]
pub(super) fn continues(byte: u8) -> bool {
    byte & 0xc0 == 0x80
}

/// Decodes the first character of `bytes`, which begin with a byte of 0xc0 or more.
#[inline(always)]
pub(super) fn decode(bytes: &[u8]) -> Decoded {
    let Some((&first, rest)) = bytes.split_first() else { return Decoded::Cut };
    let length = length(first);
    if length > LONGEST {
        return Decoded::Broken;
    }
    let mut code = u32::from(first) & (0x7f >> length);
    for place in 0..length - 1 {
        match rest.get(place) {
            None => return Decoded::Cut,
            Some(&byte) if continues(byte) => code = code << 6 | u32::from(byte & 0x3f),
            Some(_) => return Decoded::Broken,
        }
    }
    // The smallest code of this length: overlong forms are not characters.
    let least = if length == 2 { 0x80 } else { 1 << (5 * length - 4) };
    match code {
        0xd800..=0xdfff => Decoded::Broken,
        _ if code < least => Decoded::Broken,
        _ => Decoded::Whole(code),
    }
}

const PAGE: usize = 256;
const PAGES: usize = 0x11_0000 / PAGE;

/// Number of kinds of characters, and so of the pages whose characters are all of one kind.
const PURE: usize = 7;

/// Returns the last run that begins at `code` or before, searching from `run` on.
const fn run_of(code: u32, mut run: usize) -> usize {
    while run + 1 < RUNS.len() && RUNS[run + 1] >> 3 <= code {
        run += 1;
    }
    run
}

/// True if the page at `start`, whose first character is in `run`, has characters of several kinds.
const fn mixed(start: usize, run: usize) -> bool {
    run + 1 < RUNS.len() && ((RUNS[run + 1] >> 3) as usize) < start + PAGE
}

/// Number of stored pages: pages of one kind are shared.
const TABLES: usize = {
    let (mut tables, mut number, mut run) = (PURE, 0, 0);
    while number < PAGES {
        run = run_of((number * PAGE) as u32, run);
        tables += mixed(number * PAGE, run) as usize;
        number += 1;
    }
    tables
};

/// The table of all characters, and a summary by first byte for the kernel.
pub(super) struct Characters {
    /// Page index in `kinds` for each page of characters.
    pages: [u16; PAGES],
    kinds: [u8; TABLES * PAGE],
    /// Set of first bytes whose characters are all part of words, so that no lookup is needed: indexed by the low half
    /// of the byte, bit 0 for 0xc., bit 1 for 0xd., bit 2 for 0xe.
    pub(super) known: [u8; 16],
}

impl std::fmt::Debug for Characters {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        out.debug_struct("Characters").field("known", &self.known).finish_non_exhaustive()
    }
}

// Built by the compiler: at the start of a program it would take longer than everything else.
static PARTING: Characters = Characters::new(true);
static JOINING: Characters = Characters::new(false);

impl Characters {
    /// Returns the table in which no-break spaces separate words, or are letters as POSIX requires.
    pub(super) fn of(no_break_parts: bool) -> &'static Self {
        if no_break_parts { &PARTING } else { &JOINING }
    }

    const fn new(no_break_parts: bool) -> Self {
        let mut made = Self { pages: [0; PAGES], kinds: [0; TABLES * PAGE], known: [0; 16] };
        let mut place = 0;
        while place < PURE * PAGE {
            made.kinds[place] = (place / PAGE) as u8;
            place += 1;
        }
        let (mut number, mut run) = (0, 0);
        while number < PAGES {
            run = run_of((number * PAGE) as u32, run);
            if mixed(number * PAGE, run) {
                made.pages[number] = (place / PAGE) as u16;
                let (end, mut here) = (place + PAGE, run);
                while place < end {
                    here = run_of((number * PAGE + place % PAGE) as u32, here);
                    made.kinds[place] = (RUNS[here] & 7) as u8;
                    place += 1;
                }
            } else {
                made.pages[number] = (RUNS[run] & 7) as u16;
            }
            number += 1;
        }
        if !no_break_parts {
            let mut spaces: &[u32] = &[0xa0, 0x2007, 0x202f, 0x2060];
            while let [space, rest @ ..] = spaces {
                let place = made.place(*space);
                made.kinds[place] -= 3;
                spaces = rest;
            }
        }
        let mut first = 0xc2;
        while first <= 0xef {
            // Some sequences after these first bytes are not characters.
            let picky = first == 0xe0 || first == 0xed;
            let (start, end) = if first < 0xe0 {
                ((first & 0x1f) << 6, ((first & 0x1f) + 1) << 6)
            } else {
                ((first & 0xf) << 12, ((first & 0xf) + 1) << 12)
            };
            if !picky && made.all_in_words(start, end) {
                made.known[first as usize & 0xf] |= 1 << ((first >> 4) - 0xc);
            }
            first += 1;
        }
        made
    }

    /// True if all characters from `start` up to `end` are part of words.
    const fn all_in_words(&self, start: u32, end: u32) -> bool {
        let mut code = start;
        while code < end {
            if WORD >> self.kind(code) & 1 == 0 {
                return false;
            }
            code += 1;
        }
        true
    }

    #[inline(always)]
    const fn place(&self, code: u32) -> usize {
        self.pages[code as usize / PAGE] as usize * PAGE + code as usize % PAGE
    }

    /// Returns the kind of a character, in the code of the table.
    #[inline(always)]
    pub(super) const fn kind(&self, code: u32) -> u8 {
        if code < 0x11_0000 { self.kinds[self.place(code)] } else { 0 }
    }

    pub(super) fn lookup(&self, code: u32) -> Character {
        let kind = self.kind(code);
        let class = match kind {
            0 => Class::Unseen,
            1..=3 => Class::Word,
            _ => Class::Space,
        };
        Character { class, width: (ONE_COLUMN >> kind & 1) + (TWO_COLUMNS >> kind & 1) }
    }
}

/// Kinds that are part of words, one bit each.
pub(super) const WORD: u64 = 0b000_1110;
pub(super) const SPACE: u64 = 0b111_0000;
/// Kinds that take one or two columns.
pub(super) const ONE_COLUMN: u64 = 0b110_1100;
/// Kinds that take two columns.
pub(super) const TWO_COLUMNS: u64 = 0b100_1000;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_table_is_sorted_and_every_page_agrees_with_its_runs() {
        assert!(RUNS.is_sorted_by(|one, next| one >> 3 < next >> 3));
        let characters = Characters::of(true);
        for (number, run) in RUNS.iter().enumerate() {
            let end = RUNS.get(number + 1).map_or(0x11_0000, |next| next >> 3);
            for code in run >> 3..end {
                assert_eq!(characters.kinds[characters.place(code)], (run & 7) as u8, "{code:x}");
            }
        }
    }

    #[test]
    fn decoding_agrees_with_the_standard_library_on_common_sequences() {
        for code in 0x80..0x11_0000 {
            let Some(character) = char::from_u32(code) else { continue };
            let mut bytes = [0; 4];
            let bytes = character.encode_utf8(&mut bytes).as_bytes();
            assert_eq!(decode(bytes), Decoded::Whole(code));
            assert_eq!(length(bytes[0]), bytes.len());
            for end in 1..bytes.len() {
                assert_eq!(decode(&bytes[..end]), Decoded::Cut);
            }
        }
        for first in 0xc0..=0xffu8 {
            for second in 0..=255u8 {
                for third in [0x00, 0x7f, 0x80, 0x8f, 0x90, 0x9f, 0xa0, 0xbf, 0xc0, 0xff] {
                    let bytes = [first, second, third, 0x80];
                    let end = length(first).min(4);
                    if first < 0xf4 {
                        let taken = std::str::from_utf8(&bytes[..end]).is_ok();
                        assert_eq!(matches!(decode(&bytes), Decoded::Whole(_)), taken, "{bytes:x?}");
                    }
                }
            }
        }
    }

    #[test]
    fn obsolete_utf_8_is_still_a_character_that_words_ignore() {
        for (bytes, code) in [
            (&b"\xf4\x90\x80\x80"[..], 0x11_0000),
            (b"\xf7\xbf\xbf\xbf", 0x1f_ffff),
            (b"\xf8\x88\x80\x80\x80", 0x20_0000),
            (b"\xfb\xbf\xbf\xbf\xbf", 0x3ff_ffff),
            (b"\xfc\x84\x80\x80\x80\x80", 0x400_0000),
            (b"\xfd\xbf\xbf\xbf\xbf\xbf", 0x7fff_ffff),
        ] {
            assert_eq!(decode(bytes), Decoded::Whole(code));
            assert_eq!(Characters::of(true).lookup(code), Character { class: Class::Unseen, width: 0 });
        }
        for bytes in [
            &b"\xfe\x80\x80\x80\x80\x80\x80"[..],
            b"\xff",
            b"\xc1\xbf",
            b"\xe0\x9f\xbf",
            b"\xf0\x8f\xbf\xbf",
            b"\xf8\x87\xbf\xbf\xbf",
            b"\xfc\x83\xbf\xbf\xbf\xbf",
            b"\xed\xa0\x80",
        ] {
            assert_eq!(decode(bytes), Decoded::Broken, "{bytes:x?}");
        }
    }
}
