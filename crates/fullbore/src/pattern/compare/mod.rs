//! Comparison of two inputs: equality, the first difference, or every difference in order.
//!
//! Two files are striped over the workers from the front; the least differing offset wins, and workers abandon
//! everything after it. Holes common to both are not read. Inputs without offsets (pipes, devices) are read
//! sequentially, by one reader per side.

mod flow;
mod frontier;
mod holes;
#[cfg(test)]
mod tests;
mod visit;
mod walk;

use std::ops::ControlFlow;

use flow::{Ended, Flow};
use frontier::Frontier;
use visit::{Every, Least, Lines, first_difference, newlines};
use walk::{Place, Walk};

use super::{Progress, Stats};
use crate::strategy::Choice;
use fullbore_io::engine::CachePolicy;
#[cfg(doc)]
use fullbore_io::error::ErrorKind;
use fullbore_io::error::Result;
use fullbore_io::file::{File, FileKind, FileStamp};

/// One of two inputs to compare.
#[derive(Debug, Clone, Copy)]
pub struct Side<'a> {
    /// The file, pipe or device. A descriptor that was passed in is read from its position.
    pub file: &'a File,
    /// Access to the bytes. Both sides use the longer request, the shorter stripe and the fewer workers of the two;
    /// method, depth and cache policy are per side.
    pub choice: Choice<'a>,
    /// Bytes to skip at its start.
    pub skip: u64,
}

impl<'a> Side<'a> {
    /// A whole file.
    pub fn new(file: &'a File, choice: impl Into<Choice<'a>>) -> Self {
        Self { file, choice: choice.into(), skip: 0 }
    }

    /// Offset in the file of the first byte compared.
    fn base(&self) -> u64 {
        self.file.start().saturating_add(self.skip)
    }
}

/// One of the two inputs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Which {
    /// The first.
    Left = 0,
    /// The second.
    Right = 1,
}

/// The extent of a comparison.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Extent {
    /// The most bytes to compare.
    pub limit: Option<u64>,
    /// True to count the lines before the difference.
    pub lines: bool,
}

/// A byte that differs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct Difference {
    /// Its offset from the first byte compared.
    pub offset: u64,
    /// The byte of the left input.
    pub left: u8,
    /// The byte of the right input.
    pub right: u8,
}

impl Difference {
    /// Every difference between two runs at `offset`, up to the end of the shorter.
    pub fn between<'a>(offset: u64, left: &'a [u8], right: &'a [u8]) -> impl Iterator<Item = Self> + 'a {
        // Short, so that a run with one difference takes little longer than a run without.
        const RUN: usize = 256;
        let runs = left.chunks(RUN).zip(right.chunks(RUN)).enumerate();
        let differ = runs.filter(|(_, (left, right))| left != right);
        differ.flat_map(move |(run, (left, right))| {
            let at = offset + (run * RUN) as u64;
            let bytes = left.iter().zip(right).enumerate().filter(|(_, (left, right))| left != right);
            bytes.map(move |(place, (&left, &right))| Self { offset: at + place as u64, left, right })
        })
    }
}

/// The end of the shorter of two inputs, if it equals the beginning of the other.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct End {
    /// The shorter input.
    pub side: Which,
    /// Its length from the first byte compared, in bytes.
    pub offset: u64,
    /// Lines that ended before, if requested, else 0.
    pub lines: u64,
    /// True if its last byte ended a line.
    pub fresh: bool,
}

/// The result of a comparison.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Comparison {
    /// No difference within the extent.
    Equal,
    /// The inputs differ.
    Differ {
        /// The first byte that differs.
        at: Difference,
        /// Lines that ended before, if requested, else 0.
        lines: u64,
    },
    /// One input is the beginning of the other.
    End(End),
}

/// Compares two inputs and finds the first difference.
///
/// ```
/// use fullbore::file::File;
/// use fullbore::pattern::{Comparison, Extent, Progress, Side, compare};
/// use fullbore::strategy::Strategy;
/// # let directory = tempfile::tempdir()?;
/// # let (one, two) = (directory.path().join("one"), directory.path().join("two"));
/// std::fs::write(&one, "some\nbytes")?;
/// std::fs::write(&two, "some\nbites")?;
/// let (left, right, strategy) = (File::open(&one)?, File::open(&two)?, Strategy::plain());
/// let wanted = Extent { lines: true, ..Extent::default() };
/// let (_, found) =
///     compare(&Side::new(&left, &strategy), &Side::new(&right, &strategy), &wanted, &Progress::default())?;
/// let Comparison::Differ { at, lines } = found else { panic!("{found:?}") };
/// assert_eq!((at.offset, at.left, at.right, lines), (6, b'y', b'i', 1));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// # Errors
/// The system's, with path and offset; [`ErrorKind::Changed`] if a file was truncated or modified during the run;
/// [`ErrorKind::Cancelled`] if it was cancelled.
pub fn compare(
    left: &Side<'_>,
    right: &Side<'_>,
    extent: &Extent,
    progress: &Progress,
) -> Result<(Stats, Comparison)> {
    let pair = Pair::inspect(left, right, extent.limit)?;
    let found = pair.compare(extent, progress, PAGE)?;
    pair.unchanged()?;
    Ok(found)
}

/// The summary of a comparison of every byte.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[non_exhaustive]
pub struct Differences {
    /// True if any byte differed that both inputs have.
    pub differ: bool,
    /// The end of the shorter input. Unknown after `emit` returned `Break`.
    pub end: Option<End>,
}

/// Finds every byte in which two inputs differ. `find` receives runs that differ in their first byte, with their
/// offset, on any worker; its results go to `emit` in the order of the files, one at a time. Each worker holds one
/// result while it waits for those before it, so a result should not be much larger than its run. `Break` ends the
/// comparison.
///
/// ```
/// use std::ops::ControlFlow;
///
/// use fullbore::file::File;
/// use fullbore::pattern::{Difference, Progress, Side, differences};
/// use fullbore::strategy::Strategy;
/// # let directory = tempfile::tempdir()?;
/// # let (one, two) = (directory.path().join("one"), directory.path().join("two"));
/// std::fs::write(&one, "some bytes")?;
/// std::fs::write(&two, "sane bites, more of them")?;
/// let (left, right, strategy) = (File::open(&one)?, File::open(&two)?, Strategy::plain());
/// let mut places = Vec::new();
/// let (_, seen) = differences(
///     &Side::new(&left, &strategy),
///     &Side::new(&right, &strategy),
///     None,
///     &Progress::default(),
///     |offset, left, right| Difference::between(offset, left, right).collect::<Vec<_>>(),
///     |found| {
///         places.extend(found.iter().map(|found| found.offset));
///         Ok(ControlFlow::Continue(()))
///     },
/// )?;
/// assert_eq!(places, [1, 2, 6]);
/// assert_eq!(seen.end.map(|end| end.offset), Some(10));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// # Errors
/// As [`compare`], and those of `emit`.
pub fn differences<R: Send>(
    left: &Side<'_>,
    right: &Side<'_>,
    limit: Option<u64>,
    progress: &Progress,
    find: impl Fn(u64, &[u8], &[u8]) -> R + Sync,
    emit: impl FnMut(R) -> Result<ControlFlow<()>> + Send,
) -> Result<(Stats, Differences)> {
    let pair = Pair::inspect(left, right, limit)?;
    let found = pair.differences(progress, find, emit, PAGE)?;
    pair.unchanged()?;
    Ok(found)
}

/// Lengths up to this are not trusted, in bytes: attributes in `/sys` report a page and hold less.
const PAGE: u64 = 4096;
/// Longest request where every difference is reported, in bytes: the result for a run can be many times as long.
const RUN: usize = 256 << 10;

/// Two sides with their state at the start.
struct Pair<'a> {
    left: Side<'a>,
    right: Side<'a>,
    before: [Option<FileStamp>; 2],
    limit: Option<u64>,
}

impl<'a> Pair<'a> {
    fn inspect(left: &Side<'a>, right: &Side<'a>, limit: Option<u64>) -> Result<Self> {
        // A length of zero may be wrong (`/proc`), and has no meaning for inputs without offsets.
        let known = |side: &Side<'_>| match side.file.kind() {
            FileKind::Regular | FileKind::BlockDevice => {
                side.file.starting_stamp().map(|stamp| (stamp.len > 0).then_some(stamp))
            }
            FileKind::Directory => side.file.starting_stamp().map(Some),
            _ => Ok(None),
        };
        Ok(Self { left: *left, right: *right, before: [known(left)?, known(right)?], limit })
    }

    /// The lengths of both sides, if both report one that can be trusted.
    fn lens(&self, page: u64) -> Option<[u64; 2]> {
        let [Some(left), Some(right)] = self.before else { return None };
        let lens = [left.len.saturating_sub(self.left.base()), right.len.saturating_sub(self.right.base())];
        (left.len > page && right.len > page && self.common(lens) > page).then_some(lens)
    }

    /// The most bytes compared of sides of these lengths.
    fn common(&self, lens: [u64; 2]) -> u64 {
        lens[0].min(lens[1]).min(self.limit.unwrap_or(u64::MAX))
    }

    /// True if both are the same file from the same offset: then every byte equals itself.
    fn one_and_the_same(&self) -> bool {
        let [Some(left), Some(right)] = self.before else { return false };
        left.identity == right.identity && self.left.base() == self.right.base()
    }

    fn places(&self) -> [Place<'a>; 2] {
        let place = |side: &Side<'a>, before: &Option<FileStamp>| Place {
            file: side.file,
            choice: side.choice,
            base: side.base(),
            len: before.map_or(0, |before| before.len),
        };
        [place(&self.left, &self.before[0]), place(&self.right, &self.before[1])]
    }

    fn compare(&self, extent: &Extent, progress: &Progress, page: u64) -> Result<(Stats, Comparison)> {
        if self.one_and_the_same() {
            return Ok((Stats::default(), Comparison::Equal));
        }
        let Some(lens) = self.lens(page) else { return self.compare_flow(extent, progress) };
        let end = self.common(lens);
        let places = self.places();
        // Uncached data is not read twice: its lines are counted during the comparison. Cached data is counted
        // afterwards, and only if there is a difference.
        let strategy = self.left.choice.first;
        let passes = strategy.read.capabilities.passes_cache(strategy.read_cache);
        let on_the_way = extent.lines && (passes || strategy.read_cache != CachePolicy::Keep);
        let frontier = on_the_way.then(Frontier::default);
        let least = Least::new(frontier.as_ref());
        let walk = Walk { sides: &places, end, longest: usize::MAX >> 3, progress };
        let stats = walk.run(&least)?;
        let found = least.found();
        let shorter = if lens[0] < lens[1] { Which::Left } else { Which::Right };
        let until = match found {
            Some(found) => found.offset,
            None if lens[0] != lens[1] && self.limit.is_none_or(|limit| limit > end) => end,
            None => return Ok((stats, Comparison::Equal)),
        };
        let lines = match &frontier {
            _ if !extent.lines || until == 0 => 0,
            Some(frontier) => frontier.reached().1,
            None => {
                let lines = Lines::default();
                let walk = Walk {
                    sides: &places[..1],
                    end: until,
                    longest: usize::MAX >> 3,
                    progress: &Progress::default(),
                };
                walk.run(&lines)?;
                lines.count()
            }
        };
        let comparison = match found {
            Some(at) => Comparison::Differ { at, lines },
            None => Comparison::End(End { side: shorter, offset: until, lines, fresh: self.fresh(until)? }),
        };
        Ok((stats, comparison))
    }

    /// True if the byte before `offset` ends a line.
    fn fresh(&self, offset: u64) -> Result<bool> {
        let mut last = [0];
        let Some(before) = offset.checked_sub(1) else { return Ok(false) };
        self.left.file.read_exact_at(&mut last, self.left.base() + before)?;
        Ok(last == *b"\n")
    }

    fn flows(&self) -> (Flow<'a>, Flow<'a>, usize) {
        let flow = |side: &Side<'a>| Flow::of(side.file, side.file.start(), side.skip, self.limit);
        let request = self.left.choice.first.request.max(self.right.choice.first.request).clamp(1, RUN);
        (flow(&self.left), flow(&self.right), request)
    }

    fn compare_flow(&self, extent: &Extent, progress: &Progress) -> Result<(Stats, Comparison)> {
        let (left, right, request) = self.flows();
        let (mut lines, mut fresh, mut found) = (0, false, None);
        let (stats, ended) = flow::flow(left, right, request, progress, |offset, left, right| {
            let place = first_difference(left, right);
            let same = &left[..place.unwrap_or(left.len())];
            if extent.lines {
                lines += newlines(same);
            }
            fresh = same.last().map_or(fresh, |&last| last == b'\n');
            found = place.map(|place| Difference {
                offset: offset + place as u64,
                left: left[place],
                right: right[place],
            });
            Ok(place.is_none())
        })?;
        let comparison = match (found, ended.shorter()) {
            (Some(at), _) => Comparison::Differ { at, lines },
            (None, Some(side)) => Comparison::End(End { side, offset: stats.bytes, lines, fresh }),
            (None, None) => Comparison::Equal,
        };
        Ok((stats, comparison))
    }

    fn differences<R: Send>(
        &self,
        progress: &Progress,
        find: impl Fn(u64, &[u8], &[u8]) -> R + Sync,
        mut emit: impl FnMut(R) -> Result<ControlFlow<()>> + Send,
        page: u64,
    ) -> Result<(Stats, Differences)> {
        if self.one_and_the_same() {
            return Ok((Stats::default(), Differences::default()));
        }
        let Some(lens) = self.lens(page) else {
            let (left, right, request) = self.flows();
            let (mut differ, mut fresh) = (false, false);
            let (stats, ended) = flow::flow(left, right, request, progress, |offset, left, right| {
                fresh = left.last().map_or(fresh, |&last| last == b'\n');
                let Some(place) = first_difference(left, right) else { return Ok(true) };
                differ = true;
                Ok(emit(find(offset + place as u64, &left[place..], &right[place..]))?.is_continue())
            })?;
            let end = |side| End { side, offset: stats.bytes, lines: 0, fresh };
            return Ok((stats, Differences { differ, end: ended.shorter().map(end) }));
        };
        let (end, places) = (self.common(lens), self.places());
        let every = Every::new(find, emit);
        let stats = Walk { sides: &places, end, longest: RUN, progress }.run(&every)?;
        let (differ, enough) = every.seen();
        let ends = !enough && lens[0] != lens[1] && self.limit.is_none_or(|limit| limit > end);
        let side = if lens[0] < lens[1] { Which::Left } else { Which::Right };
        let end =
            if ends { Some(End { side, offset: end, lines: 0, fresh: self.fresh(end)? }) } else { None };
        Ok((stats, Differences { differ, end }))
    }

    /// Fails if a file changed during the run: then its bytes did not all exist at one moment.
    fn unchanged(&self) -> Result<()> {
        for (side, before) in [&self.left, &self.right].into_iter().zip(&self.before) {
            if let Some(before) = before {
                side.file.check_unchanged(before)?;
            }
        }
        Ok(())
    }
}

impl Ended {
    fn shorter(self) -> Option<Which> {
        match self {
            Self::Left => Some(Which::Left),
            Self::Right => Some(Which::Right),
            Self::Both | Self::Enough => None,
        }
    }
}
