//! Blocks of 64 bytes: masks of one bit per byte, in the processor's widest vectors.

use std::sync::LazyLock;

/// Bytes of a block: a mask of one bit per byte fits in a register.
pub(super) const BLOCK: usize = 64;

/// The masks that the kernel computes for a block. Bit 0 is for the first byte.
pub(super) trait Lanes: Copy {
    type Block: Copy;
    fn load(self, bytes: &[u8; BLOCK]) -> Self::Block;
    fn equal(self, block: Self::Block, byte: u8) -> u64;
    /// Returns the mask of the bytes that are among the `count` values from `first`.
    fn within(self, block: Self::Block, first: u8, count: u8) -> u64;
    /// Returns the mask of the bytes that are below a limit, as signed numbers.
    fn below(self, block: Self::Block, limit: i8) -> u64;
    /// Returns the mask of the first bytes in this [set](super::character::Characters::known).
    fn known(self, block: Self::Block, set: &[u8; 16]) -> u64;

    /// Number of the bytes that are equal to one.
    #[inline(always)]
    fn count(self, block: Self::Block, byte: u8) -> u64 {
        u64::from(self.equal(block, byte).count_ones())
    }

    /// Adds the next blocks of a text to its counts; `None` if they have bytes other than printable ASCII and white space.
    #[inline(always)]
    fn text<const N: usize>(self, blocks: &[[u8; BLOCK]; N], mut text: Text) -> Option<Text> {
        let mut printed = u64::MAX;
        for bytes in blocks {
            let block = self.load(bytes);
            let spaces = self.within(block, b'\t', 5) | self.equal(block, b' ');
            printed &= spaces | self.within(block, b'!', b'~' - b'!' + 1);
            text.lines += self.count(block, b'\n');
            text.add(spaces);
        }
        (printed == u64::MAX).then_some(text)
    }
}

/// Counts of blocks that have only printable ASCII and white space.
#[derive(Clone, Copy)]
pub(super) struct Text {
    pub(super) lines: u64,
    pub(super) words: u64,
    /// One if the last byte is white space, else zero.
    pub(super) outside: u64,
}

impl Text {
    /// Counts the words of a block whose white space has these bits.
    #[inline(always)]
    fn add(&mut self, spaces: u64) {
        self.words += u64::from(((spaces << 1 | self.outside) & !spaces).count_ones());
        self.outside = spaces >> (BLOCK - 1);
    }
}

/// The portable version: byte by byte, or vectorised by the compiler.
#[derive(Debug, Clone, Copy)]
pub(super) struct Plain;

impl Plain {
    #[inline(always)]
    fn mask(block: [u8; BLOCK], answer: impl Fn(u8) -> bool) -> u64 {
        let bit = |mask, (place, &byte): (usize, &u8)| mask | u64::from(answer(byte)) << place;
        block.iter().enumerate().fold(0, bit)
    }
}

impl Lanes for Plain {
    type Block = [u8; BLOCK];

    #[inline(always)]
    fn load(self, bytes: &[u8; BLOCK]) -> [u8; BLOCK] {
        *bytes
    }

    #[inline(always)]
    fn equal(self, block: [u8; BLOCK], byte: u8) -> u64 {
        Self::mask(block, |it| it == byte)
    }

    #[inline(always)]
    fn within(self, block: [u8; BLOCK], first: u8, count: u8) -> u64 {
        Self::mask(block, |it| it.wrapping_sub(first) < count)
    }

    #[inline(always)]
    fn below(self, block: [u8; BLOCK], limit: i8) -> u64 {
        Self::mask(block, |it| it.cast_signed() < limit)
    }

    #[inline(always)]
    fn known(self, block: [u8; BLOCK], set: &[u8; 16]) -> u64 {
        Self::mask(block, |it| set[usize::from(it & 0xf)] & HIGH_HALVES[usize::from(it >> 4)] != 0)
    }
}

/// The bit of a set for each high half of a byte.
const HIGH_HALVES: [u8; 16] = [0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1, 2, 4, 0];

#[cfg(target_arch = "x86_64")]
mod x86 {
    use std::arch::x86_64::{__m256i, __m512i};
    use std::hint::black_box;

    use pulp::cast;
    use pulp::x86::{V3, V4};

    use crate::operation::count::lanes::{BLOCK, HIGH_HALVES, Lanes, Text};

    /// The mask of a block from those of its halves. Its origin in vectors is hidden from the compiler: LLVM 22 replaces the
    /// shifts of such a mask by moving the bytes of the vectors one after the other, which takes several times as long as the rest
    /// of the loop.
    #[inline(always)]
    fn joined(low: i32, high: i32) -> u64 {
        black_box(u64::from(low.cast_unsigned()) | u64::from(high.cast_unsigned()) << 32)
    }

    /// The mask of a block from that of each half. No closure and no `array::map`: the compiler leaves those of a large pass as
    /// calls, and with them each instruction, because they are not compiled for AVX2.
    macro_rules! of_halves {
        ($block:expr, $half:ident => $mask:expr) => {{
            let [$half, high] = $block;
            let low = $mask;
            let $half = high;
            joined(low, $mask)
        }};
    }

    #[inline(always)]
    fn twice(half: &[u8; 16]) -> [u8; 32] {
        cast([*half; 2])
    }

    impl Lanes for V3 {
        type Block = [__m256i; 2];

        #[inline(always)]
        fn load(self, bytes: &[u8; BLOCK]) -> Self::Block {
            cast(*bytes)
        }

        #[inline(always)]
        fn equal(self, block: Self::Block, byte: u8) -> u64 {
            let wanted = cast([byte; 32]);
            of_halves!(block, half => self.avx2._mm256_movemask_epi8(self.avx2._mm256_cmpeq_epi8(half, wanted)))
        }

        #[inline(always)]
        fn within(self, block: Self::Block, first: u8, count: u8) -> u64 {
            let (first, last) = (cast([first; 32]), cast([count - 1; 32]));
            of_halves!(block, half => {
                let place = self.avx2._mm256_sub_epi8(half, first);
                let within = self.avx2._mm256_cmpeq_epi8(self.avx2._mm256_min_epu8(place, last), place);
                self.avx2._mm256_movemask_epi8(within)
            })
        }

        #[inline(always)]
        fn below(self, block: Self::Block, limit: i8) -> u64 {
            let limit = cast([limit; 32]);
            of_halves!(block, half => self.avx2._mm256_movemask_epi8(self.avx2._mm256_cmpgt_epi8(limit, half)))
        }

        #[inline(always)]
        fn known(self, block: Self::Block, set: &[u8; 16]) -> u64 {
            let (set, halves) = (cast(twice(set)), cast(twice(&HIGH_HALVES)));
            let (four, none) = (cast([0xf_u8; 32]), cast([0_u8; 32]));
            !of_halves!(block, half => {
                let lows = self.avx2._mm256_and_si256(half, four);
                let highs = self.avx2._mm256_and_si256(self.avx2._mm256_srli_epi16::<4>(half), four);
                let (of_low, of_high) =
                    (self.avx2._mm256_shuffle_epi8(set, lows), self.avx2._mm256_shuffle_epi8(halves, highs));
                let not = self.avx2._mm256_cmpeq_epi8(self.avx2._mm256_and_si256(of_low, of_high), none);
                self.avx2._mm256_movemask_epi8(not)
            })
        }

        #[inline(always)]
        fn count(self, [low, high]: Self::Block, byte: u8) -> u64 {
            let wanted = cast([byte; 32]);
            let low = self.avx2._mm256_movemask_epi8(self.avx2._mm256_cmpeq_epi8(low, wanted));
            let high = self.avx2._mm256_movemask_epi8(self.avx2._mm256_cmpeq_epi8(high, wanted));
            u64::from(low.count_ones()) + u64::from(high.count_ones())
        }

        /// Tests all blocks at once. In them, white space is all that is not above a space.
        #[inline(always)]
        fn text<const N: usize>(self, blocks: &[[u8; BLOCK]; N], mut text: Text) -> Option<Text> {
            let (tab, four) = (cast([b'\t'; 32]), cast([4_u8; 32]));
            let (one, space, printed) = (cast([1_u8; 32]), cast([b' '; 32]), cast([b'!'; 32]));
            let mut all = cast([u8::MAX; 32]);
            for bytes in blocks {
                let block = self.load(bytes);
                text.lines += self.count(block, b'\n');
                text.add(of_halves!(block, half => {
                    let place = self.avx2._mm256_sub_epi8(half, tab);
                    let control = self.avx2._mm256_cmpeq_epi8(self.avx2._mm256_min_epu8(place, four), place);
                    // One more than the last printable byte is negative, and so are the bytes after it.
                    let other = self.avx2._mm256_cmpgt_epi8(self.avx2._mm256_add_epi8(half, one), space);
                    all = self.avx2._mm256_and_si256(all, self.avx2._mm256_or_si256(control, other));
                    self.avx2._mm256_movemask_epi8(self.avx2._mm256_cmpgt_epi8(printed, half))
                }));
            }
            (self.avx2._mm256_movemask_epi8(all) == -1).then_some(text)
        }
    }

    impl Lanes for V4 {
        type Block = __m512i;

        #[inline(always)]
        fn load(self, bytes: &[u8; BLOCK]) -> __m512i {
            cast(*bytes)
        }

        #[inline(always)]
        fn equal(self, block: __m512i, byte: u8) -> u64 {
            self.avx512bw._mm512_cmpeq_epi8_mask(block, cast([byte; 64]))
        }

        #[inline(always)]
        fn within(self, block: __m512i, first: u8, count: u8) -> u64 {
            let place = self.avx512bw._mm512_sub_epi8(block, cast([first; 64]));
            self.avx512bw._mm512_cmplt_epu8_mask(place, cast([count; 64]))
        }

        #[inline(always)]
        fn below(self, block: __m512i, limit: i8) -> u64 {
            self.avx512bw._mm512_cmplt_epi8_mask(block, cast([limit; 64]))
        }

        #[inline(always)]
        fn known(self, block: __m512i, set: &[u8; 16]) -> u64 {
            let four = cast([0xf_u8; 64]);
            let lows = self.avx512f._mm512_and_si512(block, four);
            let shifted = self.avx512bw._mm512_srli_epi16::<4>(block);
            let highs = self.avx512f._mm512_and_si512(shifted, four);
            self.avx512bw._mm512_test_epi8_mask(
                self.avx512bw._mm512_shuffle_epi8(cast([*set; 4]), lows),
                self.avx512bw._mm512_shuffle_epi8(cast([HIGH_HALVES; 4]), highs),
            )
        }
    }
}

/// Code written once for all lanes. Must be `#[inline(always)]`, so that it is compiled for the instructions of each.
pub(super) trait Pass {
    type Output;
    fn run<L: Lanes>(self, lanes: L) -> Self::Output;
}

/// Lanes that a processor may support.
#[derive(Debug, Clone, Copy)]
pub(super) enum Processor {
    Plain,
    /// A processor with 256-bit integer vectors (AVX2).
    #[cfg(target_arch = "x86_64")]
    V3(pulp::x86::V3),
    /// A processor with 512-bit byte vectors and their masks (AVX-512).
    #[cfg(target_arch = "x86_64")]
    V4(pulp::x86::V4),
}

impl Processor {
    /// Returns all lanes that run here, the best last.
    pub(super) fn all() -> &'static [Self] {
        static ALL: LazyLock<Vec<Processor>> = LazyLock::new(|| {
            #[cfg_attr(not(target_arch = "x86_64"), expect(unused_mut))]
            let mut all = vec![Processor::Plain];
            #[cfg(target_arch = "x86_64")]
            {
                all.extend(pulp::x86::V3::try_new().map(Processor::V3));
                all.extend(pulp::x86::V4::try_new().map(Processor::V4));
            }
            all
        });
        &ALL
    }

    pub(super) fn here() -> Self {
        *Self::all().last().unwrap_or(&Self::Plain)
    }

    pub(super) fn run<P: Pass>(self, pass: P) -> P::Output {
        match self {
            Self::Plain => pass.run(Plain),
            #[cfg(target_arch = "x86_64")]
            Self::V3(lanes) => lanes.vectorize(On(pass, lanes)),
            #[cfg(target_arch = "x86_64")]
            Self::V4(lanes) => lanes.vectorize(On(pass, lanes)),
        }
    }
}

#[cfg(target_arch = "x86_64")]
struct On<P, L>(P, L);

#[cfg(target_arch = "x86_64")]
impl<P: Pass, L: Lanes> pulp::NullaryFnOnce for On<P, L> {
    type Output = P::Output;

    #[inline(always)]
    fn call(self) -> P::Output {
        self.0.run(self.1)
    }
}
