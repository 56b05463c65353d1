//! The operations and their random selection: as in real use, most are small, and many start or end on boundaries.

use std::ops::Range;

use fullbore_io::file::{CachePolicy, Durability};
use rand_xoshiro::SplitMix64;
use rand_xoshiro::rand_core::{Rng, SeedableRng};

/// Maximum length of a file, in bytes: several of the pieces that long transfers are divided into.
pub(crate) const LONGEST: usize = 1 << 20;

/// Number of files; copies go within and between them.
pub(crate) const FILES: usize = 2;

const PAGE: usize = 4096;

/// A range of a file, the handle to use, and the alignment of the memory.
#[derive(Debug, Clone)]
pub(crate) struct Span {
    pub(crate) file: usize,
    pub(crate) cache: CachePolicy,
    pub(crate) offset: usize,
    pub(crate) len: usize,
    /// Distance of the memory from the start of a page.
    pub(crate) shift: usize,
}

impl Span {
    pub(crate) fn end(&self) -> usize {
        self.offset + self.len
    }

    pub(crate) fn range(&self) -> Range<u64> {
        self.offset as u64..self.end() as u64
    }
}

/// An operation with its parameters.
#[derive(Debug, Clone)]
pub(crate) enum Operation {
    Read {
        span: Span,
        exact: bool,
    },
    ReadVectored {
        span: Span,
        cuts: Vec<usize>,
        exact: bool,
    },
    Write {
        span: Span,
        all: bool,
        source: usize,
    },
    WriteVectored {
        span: Span,
        cuts: Vec<usize>,
        all: bool,
        source: usize,
    },
    SetLen {
        span: Span,
    },
    PunchHole {
        span: Span,
    },
    ZeroRange {
        span: Span,
    },
    Reserve {
        span: Span,
    },
    Allocate {
        span: Span,
    },
    Copy {
        from: Span,
        to: Span,
    },
    Clone {
        from: Span,
        to: Span,
    },
    MapRead {
        span: Span,
    },
    MapWrite {
        span: Span,
        source: usize,
        flush: bool,
    },
    /// Creates a mapping that stays while other operations change its file.
    KeepWindow {
        span: Span,
    },
    ReadKept,
    WriteKept {
        place: usize,
        len: usize,
        source: usize,
        flush: bool,
    },
    Seek {
        span: Span,
    },
    Reopen,
    DropCache {
        span: Span,
    },
    Sync {
        span: Span,
        level: Durability,
    },
    Compare {
        span: Span,
    },
}

impl Operation {
    /// Returns the name used in the counts.
    pub(crate) fn name(&self) -> &'static str {
        match self {
            Self::Read { .. } => "read",
            Self::ReadVectored { .. } => "read vectored",
            Self::Write { .. } => "write",
            Self::WriteVectored { .. } => "write vectored",
            Self::SetLen { .. } => "set_len",
            Self::PunchHole { .. } => "punch_hole",
            Self::ZeroRange { .. } => "zero_range",
            Self::Reserve { .. } => "reserve",
            Self::Allocate { .. } => "allocate",
            Self::Copy { .. } => "copy_range",
            Self::Clone { from, .. } if from.len == 0 => "clone_range of nothing",
            Self::Clone { .. } => "clone_range",
            Self::MapRead { .. } => "map",
            Self::MapWrite { .. } => "map_writable",
            Self::KeepWindow { .. } => "keep a mapping",
            Self::ReadKept => "read a kept mapping",
            Self::WriteKept { .. } => "write a kept mapping",
            Self::Seek { .. } => "seek_data, seek_hole",
            Self::Reopen => "reopen",
            Self::DropCache { .. } => "drop_cache",
            Self::Sync { .. } => "sync",
            Self::Compare { .. } => "compare whole",
        }
    }
}

/// The handles in use until the files are reopened.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Mix {
    Only(CachePolicy),
    All,
}

/// A generator of operations. A seed always gives the same sequence, as long as the lengths of the files are the same.
#[derive(Debug)]
pub(crate) struct Draw {
    random: SplitMix64,
    mix: Mix,
    /// True while operations that wait for the device are excluded, so that millions of others run.
    calm: bool,
}

impl Draw {
    pub(crate) fn new(seed: u64) -> Self {
        Self { random: SplitMix64::seed_from_u64(seed), mix: Mix::Only(CachePolicy::Keep), calm: false }
    }

    pub(crate) fn below(&mut self, bound: usize) -> usize {
        (self.random.next_u64() % bound.max(1) as u64) as usize
    }

    fn one_in(&mut self, bound: usize) -> bool {
        self.below(bound) == 0
    }

    fn cache(&mut self) -> CachePolicy {
        match self.mix {
            Mix::Only(cache) => cache,
            Mix::All => [CachePolicy::Keep, CachePolicy::DontCache, CachePolicy::Direct][self.below(3)],
        }
    }

    /// Returns a range within [`LONGEST`], for files of these lengths.
    fn span(&mut self, lens: [usize; FILES]) -> Span {
        let (file, cache) = (self.below(FILES), self.cache());
        let size = lens[file];
        let page = |random: &mut Self| random.below(size / PAGE + 2) * PAGE;
        let mut offset = match self.below(8) {
            0..=2 => self.below(size + 1),
            3 => size,
            4 => size + self.below(10_000),
            5 => page(self),
            6 => (page(self) + self.below(3)).saturating_sub(1),
            _ => self.below(64),
        };
        let mut len = match self.below(64) {
            0 => self.below(600_000),
            1..4 => 0,
            _ => {
                let bits = self.below(17);
                1 + self.below(1 << bits)
            }
        };
        let mut shift = self.below(PAGE);
        if self.one_in(3) {
            shift = 0;
            offset = offset / PAGE * PAGE;
            len = len.next_multiple_of([512, PAGE][self.below(2)]);
        }
        let offset = offset.min(LONGEST);
        Span { file, cache, offset, len: len.min(LONGEST - offset), shift }
    }

    /// Returns a range within a file.
    fn within(&mut self, lens: [usize; FILES]) -> Span {
        let mut span = self.span(lens);
        span.offset = span.offset.min(lens[span.file]);
        span.len = span.len.min(lens[span.file] - span.offset);
        span
    }

    /// Returns the cuts of a vector: ends of buffers, some of them empty.
    fn cuts(&mut self, span: &Span) -> Vec<usize> {
        let count = if self.one_in(200) { 1500 } else { 1 + self.below(12) };
        let unit = if span.shift == 0 { 512 } else { 1 };
        let mut cuts: Vec<usize> = (0..count).map(|_| self.below(span.len / unit + 1) * unit).collect();
        cuts.push(span.len);
        cuts.sort_unstable();
        cuts
    }

    /// Returns the start of the bytes to write.
    fn source(&mut self) -> usize {
        self.below(LONGEST)
    }

    /// Returns a range to copy and its destination: one in `seldom` at any offsets, the others where blocks can be shared.
    fn pair(&mut self, lens: [usize; FILES], seldom: usize) -> (Span, Span) {
        let (mut from, mut to) = (self.span(lens), self.span(lens));
        if !self.one_in(seldom) {
            from.offset = from.offset / PAGE * PAGE;
            to.offset = to.offset / PAGE * PAGE;
            from.len = if self.one_in(2) {
                lens[from.file].saturating_sub(from.offset)
            } else {
                from.len.next_multiple_of(PAGE).min(lens[from.file].saturating_sub(from.offset) / PAGE * PAGE)
            };
        }
        from.len = from.len.min(LONGEST - from.offset).min(LONGEST - to.offset);
        to.len = from.len;
        (from, to)
    }

    /// Returns the next operation on files of these lengths.
    pub(crate) fn next(&mut self, lens: [usize; FILES]) -> Operation {
        match self.any(lens) {
            Operation::PunchHole { span }
            | Operation::ZeroRange { span }
            | Operation::Reserve { span }
            | Operation::Allocate { span }
            | Operation::Clone { to: span, .. }
            | Operation::DropCache { span }
            | Operation::Sync { span, .. }
                if self.calm =>
            {
                Operation::Write { span, all: true, source: self.source() }
            }
            Operation::MapWrite { span, source, flush: true } if self.calm => {
                Operation::MapWrite { span, source, flush: false }
            }
            Operation::WriteKept { place, len, source, flush: true } if self.calm => {
                Operation::WriteKept { place, len, source, flush: false }
            }
            operation => operation,
        }
    }

    fn any(&mut self, lens: [usize; FILES]) -> Operation {
        match self.below(1000) {
            0..200 => Operation::Read { span: self.span(lens), exact: self.one_in(2) },
            200..300 => {
                let span = self.span(lens);
                Operation::ReadVectored { cuts: self.cuts(&span), span, exact: self.one_in(2) }
            }
            300..480 => {
                Operation::Write { span: self.span(lens), all: !self.one_in(4), source: self.source() }
            }
            480..560 => {
                let (span, source) = (self.span(lens), self.source());
                Operation::WriteVectored { cuts: self.cuts(&span), span, all: !self.one_in(4), source }
            }
            560..580 => {
                let mut span = self.span(lens);
                // Small files are compared quickly; writes extend them again.
                span.offset = if self.one_in(2) { self.below(40_000) } else { span.offset };
                Operation::SetLen { span }
            }
            580..610 => Operation::PunchHole { span: self.span(lens) },
            610..645 => Operation::ZeroRange { span: self.span(lens) },
            645..665 => Operation::Reserve { span: self.span(lens) },
            665..668 => Operation::Allocate { span: self.span(lens) },
            668..710 => {
                let (from, to) = self.pair(lens, 2);
                Operation::Copy { from, to }
            }
            710..720 => {
                let (from, to) = self.pair(lens, 5);
                Operation::Clone { from, to }
            }
            720..790 => Operation::MapRead { span: self.within(lens) },
            790..865 => {
                Operation::MapWrite { span: self.within(lens), source: self.source(), flush: self.one_in(40) }
            }
            865..870 => Operation::KeepWindow { span: self.within(lens) },
            870..900 => Operation::ReadKept,
            900..925 => Operation::WriteKept {
                place: self.below(LONGEST),
                len: self.below(PAGE * 3),
                source: self.source(),
                flush: self.one_in(40),
            },
            925..990 => Operation::Seek { span: self.span(lens) },
            990..993 => {
                self.calm = !self.one_in(6);
                self.mix = match self.below(8) {
                    _ if self.calm => Mix::Only(CachePolicy::Keep),
                    0..3 => Mix::Only(CachePolicy::Keep),
                    3..5 => Mix::Only(CachePolicy::DontCache),
                    5 => Mix::Only(CachePolicy::Direct),
                    _ => Mix::All,
                };
                Operation::Reopen
            }
            993 => Operation::DropCache { span: self.span(lens) },
            994 => Operation::Sync {
                span: self.span(lens),
                level: if self.one_in(2) { Durability::Data } else { Durability::Full },
            },
            995..997 => Operation::Compare { span: self.span(lens) },
            _ => Operation::Seek { span: self.span(lens) },
        }
    }
}
