//! Counts a run of bytes, one block at a time. Each property of the bytes of a block is a mask of one bit per byte, so
//! counting words and lines takes a few instructions for the whole block.
//!
//! A word begins at a word character if the nearest preceding character that is not ignored is a separator. Without
//! ignored bytes the test is a shift. With them, the bit after a separator must move across runs of ignored bytes. An
//! addition does this: adding one to the first bit of a run of ones carries to the bit after the run.

use fullbore_io::sys::prefetch;

use super::character::{
    Characters, Class, Decoded, ONE_COLUMN, SPACE, TWO_COLUMNS, WORD, continues, decode, length,
};
use super::lanes::{BLOCK, Lanes, Pass, Text};
use super::state::{Advance, Columns, CountState, Few, head};

/// Blocks of text that are tested at once.
const GROUP: usize = 4;

/// Distance in blocks from a text's block to the one that is prefetched with it. The processor prefetches on its own, but not
/// across the end of a page, and counting words leaves it few instructions ahead: on a Zen 3, 53 instead of 68 ms/GB.
const AHEAD: usize = 32;

/// Counts newlines only.
pub(super) struct Lines<'a>(pub(super) &'a [u8]);

impl Pass for Lines<'_> {
    type Output = CountState;

    #[inline(always)]
    fn run<L: Lanes>(self, lanes: L) -> CountState {
        let (blocks, rest) = self.0.as_chunks::<BLOCK>();
        let mut lines = 0;
        for block in blocks {
            lines += lanes.count(lanes.load(block), b'\n');
        }
        lines += rest.iter().filter(|&&byte| byte == b'\n').count() as u64;
        CountState { bytes: self.0.len() as u64, lines, ..CountState::default() }
    }
}

/// Counts lines, words, characters if the bytes are UTF-8, and columns on request.
pub(super) struct All<'a, const UTF8: bool, const COLUMNS: bool> {
    pub(super) bytes: &'a [u8],
    pub(super) characters: &'static Characters,
}

impl<const UTF8: bool, const COLUMNS: bool> Pass for All<'_, UTF8, COLUMNS> {
    type Output = CountState;

    #[inline(always)]
    fn run<L: Lanes>(self, lanes: L) -> CountState {
        let bytes = self.bytes;
        let mut sweep = Sweep::<UTF8, COLUMNS>::new(self.characters);
        let mut at = 0;
        // Other bytes occur in clusters: each early end of the fast path doubles the wait before the next attempt.
        let (mut wait, mut patience) = (1, 0);
        while let Some(block) = bytes[at..].first_chunk() {
            if !COLUMNS && patience == 0 && sweep.first.is_some() {
                let taken = sweep.printed(lanes, &bytes[at..]);
                at += taken;
                wait = if taken < 4 * BLOCK { (wait * 2).min(256) } else { 1 };
                patience = wait;
                continue;
            }
            at += sweep.block(lanes, block, BLOCK);
            patience = patience.max(1) - 1;
        }
        loop {
            let rest = &bytes[at..];
            let mut block = [0; BLOCK];
            block[..rest.len()].copy_from_slice(rest);
            let taken = if rest.is_empty() { 0 } else { sweep.block(lanes, &block, rest.len()) };
            at += taken;
            if taken == 0 || at == bytes.len() {
                break;
            }
        }
        let mut state = sweep.end();
        state.bytes = bytes.len() as u64;
        if UTF8 {
            (state.head, state.tail) = (head(bytes), Few::of(&bytes[at..]));
        }
        state
    }
}

struct Sweep<const UTF8: bool, const COLUMNS: bool> {
    characters: &'static Characters,
    lines: u64,
    words: u64,
    count: u64,
    /// Class of the first character that words do not ignore.
    first: Option<Class>,
    /// One if no word is open, else zero.
    outside: u64,
    /// Movement since the last return to the first column.
    advance: Advance,
    /// Movement before the first return.
    before: Option<Advance>,
    longest: u64,
}

/// Characters of a block that were looked up, one bit each.
#[derive(Default)]
struct Seen {
    count: u64,
    words: u64,
    spaces: u64,
    one: u64,
    two: u64,
}

impl Seen {
    #[inline(always)]
    fn add(&mut self, place: usize, kind: u8) {
        self.count += 1;
        self.words |= (WORD >> kind & 1) << place;
        self.spaces |= (SPACE >> kind & 1) << place;
        self.one |= (ONE_COLUMN >> kind & 1) << place;
        self.two |= (TWO_COLUMNS >> kind & 1) << place;
    }
}

/// Returns a mask of the bits below a place.
#[inline(always)]
fn until(place: usize) -> u64 {
    if place < BLOCK { (1 << place) - 1 } else { u64::MAX }
}

/// Returns the places of the bits of a mask, the lowest first.
#[inline(always)]
fn places(mut mask: u64) -> impl Iterator<Item = usize> {
    std::iter::from_fn(move || {
        let place = (mask != 0).then(|| mask.trailing_zeros() as usize);
        mask &= mask.wrapping_sub(1);
        place
    })
}

impl<const UTF8: bool, const COLUMNS: bool> Sweep<UTF8, COLUMNS> {
    fn new(characters: &'static Characters) -> Self {
        let advance = Advance::default();
        Self {
            characters,
            lines: 0,
            words: 0,
            count: 0,
            first: None,
            outside: 1,
            advance,
            before: None,
            longest: 0,
        }
    }

    /// Counts blocks that have only printable ASCII and white space, and returns their length in bytes.
    #[inline(always)]
    fn printed<L: Lanes>(&mut self, lanes: L, bytes: &[u8]) -> usize {
        let mut text = Text { lines: 0, words: 0, outside: self.outside };
        let mut rest = bytes.as_chunks::<BLOCK>().0;
        while let Some(blocks) = rest.first_chunk::<GROUP>() {
            let Some(next) = lanes.text(blocks, text) else { break };
            for block in rest.iter().skip(AHEAD).take(GROUP) {
                prefetch(&block[0]);
            }
            (text, rest) = (next, &rest[GROUP..]);
        }
        while let Some(block) = rest.first_chunk::<1>() {
            let Some(next) = lanes.text(block, text) else { break };
            (text, rest) = (next, &rest[1..]);
        }
        let taken = bytes.len() / BLOCK * BLOCK - rest.len() * BLOCK;
        self.lines += text.lines;
        self.words += text.words;
        self.outside = text.outside;
        if UTF8 {
            self.count += taken as u64;
        }
        taken
    }

    /// Counts the first `len` bytes of a block, except a character that is cut at their end; returns the number of bytes counted.
    #[inline(always)]
    fn block<L: Lanes>(&mut self, lanes: L, bytes: &[u8; BLOCK], len: usize) -> usize {
        let block = lanes.load(bytes);
        // The bytes after the end are zeros, which only the masks for characters match.
        let newlines = lanes.equal(block, b'\n');
        let mut spaces = lanes.within(block, b'\t', 5) | lanes.equal(block, b' ');
        let mut words = lanes.within(block, b'!', b'~' - b'!' + 1);
        let (mut one, mut two) = (0, 0);
        if COLUMNS {
            one = words | lanes.equal(block, b' ');
        }
        let mut taken = len;
        if UTF8 {
            let high = lanes.below(block, 0);
            if high == 0 {
                self.count += len as u64;
            } else {
                let continued = lanes.below(block, -0x40);
                taken = whole(bytes, continued & until(len), high, len);
                let valid = until(taken);
                self.count += u64::from((valid & !high).count_ones());
                let two_bytes = lanes.within(block, 0xc2, 0x1e) & continued >> 1 & valid;
                let three_bytes = lanes.within(block, 0xe0, 0x10) & continued >> 1 & continued >> 2 & valid;
                let mut good = 0;
                if !COLUMNS {
                    good = lanes.known(block, &self.characters.known) & (two_bytes | three_bytes);
                    self.count += u64::from(good.count_ones());
                    words |= good;
                }
                let bits = |place: usize, mask: u8| u32::from(bytes[place % BLOCK] & mask);
                let mut seen = Seen::default();
                for place in places(two_bytes & !good) {
                    seen.add(place, self.characters.kind(bits(place, 0x1f) << 6 | bits(place + 1, 0x3f)));
                }
                for place in places(three_bytes & !good) {
                    let code = bits(place, 0xf) << 12 | bits(place + 1, 0x3f) << 6 | bits(place + 2, 0x3f);
                    // Overlong forms and surrogates are not characters.
                    if code >= 0x800 && code >> 11 != 0xd800 >> 11 {
                        seen.add(place, self.characters.kind(code));
                    }
                }
                for place in places(lanes.within(block, 0xf0, 0x10) & valid) {
                    if let Decoded::Whole(code) = decode(&bytes[place..]) {
                        seen.add(place, self.characters.kind(code));
                    }
                }
                self.count += seen.count;
                words |= seen.words;
                spaces |= seen.spaces;
                one |= seen.one;
                two |= seen.two;
                // All other bytes that words do not ignore are below 0x80; bytes of a cut character are not.
            }
        }
        self.lines += u64::from(newlines.count_ones());
        self.words(spaces, words);
        if COLUMNS {
            let tabs = lanes.equal(block, b'\t');
            let back = newlines | lanes.within(block, 0x0c, 2);
            self.columns(one, two, tabs, back);
        }
        taken
    }

    #[inline(always)]
    fn words(&mut self, spaces: u64, words: u64) {
        let seen = spaces | words;
        if self.first.is_none() {
            self.first = first(seen, words);
        }
        let after_space = spaces << 1 | self.outside;
        let unseen = !seen;
        if unseen == 0 {
            self.words += u64::from((after_space & words).count_ones());
            self.outside = spaces >> 63;
        } else {
            let past = unseen.wrapping_add(after_space & unseen);
            self.words += u64::from(((after_space | past & seen) & words).count_ones());
            if seen != 0 {
                self.outside = spaces >> (63 - seen.leading_zeros()) & 1;
            }
        }
    }

    #[inline(always)]
    fn columns(&mut self, one: u64, two: u64, tabs: u64, back: u64) {
        let mut from = 0;
        for place in places(tabs | back) {
            let between = until(place) & !until(from);
            self.advance.columns(((one & between).count_ones() + (two & between).count_ones()).into());
            if tabs >> place & 1 == 1 {
                self.advance.tab();
            } else {
                self.lead_back();
            }
            from = place + 1;
        }
        let behind = !until(from);
        self.advance.columns(((one & behind).count_ones() + (two & behind).count_ones()).into());
    }

    #[inline(always)]
    fn lead_back(&mut self) {
        let advance = std::mem::take(&mut self.advance);
        match self.before {
            None => self.before = Some(advance),
            Some(_) => self.longest = self.longest.max(advance.from(0)),
        }
    }

    fn end(self) -> CountState {
        let last = if self.outside == 1 { Class::Space } else { Class::Word };
        let columns = match self.before {
            None => Columns { head: self.advance, back: None },
            Some(head) => Columns { head, back: Some((self.longest, self.advance.from(0))) },
        };
        CountState {
            lines: self.lines,
            words: self.words,
            characters: self.count,
            ends: self.first.map(|first| (first, last)),
            columns,
            ..CountState::default()
        }
    }
}

/// Returns the class of the first character that words do not ignore. It runs once a run, off the common path.
#[cold]
#[inline(never)]
fn first(seen: u64, words: u64) -> Option<Class> {
    let lowest = seen & seen.wrapping_neg();
    (seen != 0).then_some(if words & lowest == 0 { Class::Space } else { Class::Word })
}

/// Returns how many of the first `len` bytes of a block precede a character cut at their end.
#[inline(always)]
fn whole(bytes: &[u8; BLOCK], continued: u64, high: u64, len: usize) -> usize {
    let firsts = !continued & until(len);
    if firsts == 0 {
        return len;
    }
    let last = BLOCK - 1 - firsts.leading_zeros() as usize;
    debug_assert!(!continues(bytes[last]));
    let length = length(bytes[last]);
    let cut = high >> last & 1 == 1 && length <= super::character::LONGEST && last + length > len;
    if cut { last } else { len }
}
