//! The operations and their random selection: as in real use, most are small, and many start or end on boundaries.

use std::ops::Range;

use fullbore_io::file::{CachePolicy, Durability};

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

/// An operation and its main range.
#[derive(Debug, Clone)]
pub(crate) struct Step {
    pub(crate) span: Span,
    pub(crate) operation: Operation,
}

#[derive(Debug, Clone)]
pub(crate) enum Operation {
    Read {
        exact: bool,
    },
    ReadVectored {
        cuts: Vec<usize>,
        exact: bool,
    },
    Write {
        all: bool,
        source: usize,
    },
    WriteVectored {
        cuts: Vec<usize>,
        all: bool,
        source: usize,
    },
    SetLen,
    PunchHole,
    ZeroRange,
    Reserve,
    Allocate,
    Copy(Span),
    Clone(Span),
    MapRead,
    MapWrite {
        source: usize,
        flush: bool,
    },
    /// Creates a mapping that stays while other operations change its file.
    KeepWindow,
    ReadKept,
    WriteKept {
        place: usize,
        len: usize,
        source: usize,
        flush: bool,
    },
    Seek,
    Reopen,
    DropCache,
    Sync(Durability),
    Compare,
    /// Transfers at an offset near 2^63 or 2^64.
    Absurd(u64),
}

impl Step {
    /// Returns the name used in the counts.
    pub(crate) fn name(&self) -> &'static str {
        match self.operation {
            Operation::Read { .. } => "read",
            Operation::ReadVectored { .. } => "read vectored",
            Operation::Write { .. } => "write",
            Operation::WriteVectored { .. } => "write vectored",
            Operation::SetLen => "set_len",
            Operation::PunchHole => "punch_hole",
            Operation::ZeroRange => "zero_range",
            Operation::Reserve => "reserve",
            Operation::Allocate => "allocate",
            Operation::Copy(_) => "copy_range",
            Operation::Clone(_) if self.span.len == 0 => "clone_range of nothing",
            Operation::Clone(_) => "clone_range",
            Operation::MapRead => "map",
            Operation::MapWrite { .. } => "map_writable",
            Operation::KeepWindow => "keep a mapping",
            Operation::ReadKept => "read a kept mapping",
            Operation::WriteKept { .. } => "write a kept mapping",
            Operation::Seek => "seek_data, seek_hole",
            Operation::Reopen => "reopen",
            Operation::DropCache => "drop_cache",
            Operation::Sync(_) => "sync",
            Operation::Compare => "compare whole",
            Operation::Absurd(_) => "absurd offsets",
        }
    }
}

/// The handles in use until the files are reopened.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Mix {
    Only(CachePolicy),
    All,
}

/// A source of numbers below a bound, which is at least 1.
pub(crate) type Numbers = Box<dyn FnMut(usize) -> usize>;

/// A generator of operations. The same numbers give the same sequence, as long as the lengths of the files are the same.
pub(crate) struct Draw {
    numbers: Numbers,
    mix: Mix,
    /// True while operations that wait for the device are excluded, so that millions of others run.
    calm: bool,
}

impl Draw {
    pub(crate) fn new(numbers: Numbers) -> Self {
        let mut draw = Self { numbers, mix: Mix::All, calm: false };
        draw.mix = draw.mix();
        draw
    }

    fn below(&mut self, bound: usize) -> usize {
        (self.numbers)(bound.max(1))
    }

    fn one_in(&mut self, bound: usize) -> bool {
        self.below(bound) == 0
    }

    fn mix(&mut self) -> Mix {
        match self.below(8) {
            0..3 => Mix::Only(CachePolicy::Keep),
            3..5 => Mix::Only(CachePolicy::DontCache),
            5 => Mix::Only(CachePolicy::Direct),
            _ => Mix::All,
        }
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
    pub(crate) fn next(&mut self, lens: [usize; FILES]) -> Step {
        let step = self.any(lens);
        match step.operation {
            Operation::PunchHole
            | Operation::ZeroRange
            | Operation::Reserve
            | Operation::Allocate
            | Operation::Clone(_)
            | Operation::DropCache
            | Operation::Sync(_)
                if self.calm =>
            {
                Step { operation: Operation::Write { all: true, source: self.source() }, ..step }
            }
            _ => step,
        }
    }

    fn any(&mut self, lens: [usize; FILES]) -> Step {
        let choice = self.below(1000);
        let mut span = match choice {
            720..870 => self.within(lens),
            _ => self.span(lens),
        };
        let operation = match choice {
            0..200 => Operation::Read { exact: self.one_in(2) },
            200..300 => Operation::ReadVectored { cuts: self.cuts(&span), exact: self.one_in(2) },
            300..480 => Operation::Write { all: !self.one_in(4), source: self.source() },
            480..560 => Operation::WriteVectored {
                cuts: self.cuts(&span),
                all: !self.one_in(4),
                source: self.source(),
            },
            560..580 => {
                // Small files are compared quickly; writes extend them again.
                span.offset = if self.one_in(2) { self.below(40_000) } else { span.offset };
                Operation::SetLen
            }
            580..610 => Operation::PunchHole,
            610..645 => Operation::ZeroRange,
            645..665 => Operation::Reserve,
            665..668 => Operation::Allocate,
            668..720 => {
                let (from, to) = self.pair(lens, if choice < 710 { 2 } else { 5 });
                span = from;
                if choice < 710 { Operation::Copy(to) } else { Operation::Clone(to) }
            }
            720..790 => Operation::MapRead,
            790..865 => Operation::MapWrite { source: self.source(), flush: self.flush() },
            865..870 => Operation::KeepWindow,
            870..900 => Operation::ReadKept,
            900..925 => Operation::WriteKept {
                place: self.below(LONGEST),
                len: self.below(PAGE * 3),
                source: self.source(),
                flush: self.flush(),
            },
            987..990 => {
                let near = self.below(256) as u64;
                Operation::Absurd(if self.one_in(2) { (1 << 63) - 128 + near } else { u64::MAX - near / 2 })
            }
            990..993 => {
                self.calm = !self.one_in(6);
                self.mix = if self.calm { Mix::Only(CachePolicy::Keep) } else { self.mix() };
                Operation::Reopen
            }
            993 => Operation::DropCache,
            994 => Operation::Sync(if self.one_in(2) { Durability::Data } else { Durability::Full }),
            995..997 => Operation::Compare,
            _ => Operation::Seek,
        };
        Step { span, operation }
    }

    fn flush(&mut self) -> bool {
        !self.calm && self.one_in(40)
    }
}
