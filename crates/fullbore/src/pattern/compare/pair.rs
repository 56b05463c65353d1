//! The comparison of two inputs: by stripes if both have a length, else sequentially.

use std::ops::ControlFlow;
use std::sync::atomic::AtomicU64;

use fullbore_io::engine::CachePolicy;
#[cfg(doc)]
use fullbore_io::error::ErrorKind;
use fullbore_io::error::{Error, Result};
use fullbore_io::file::{FileKind, FileStamp};
use fullbore_io::sys;

use super::flow::{Flow, flow};
use super::result::{CompareOptions, Comparison, Difference, Differences, End, Side, Which};
use super::visit::{AllDifferences, FirstDifference, Lines, first_difference, newlines};
use super::walk::{ComparedFile, Walk};
use crate::pattern::order::Frontier;
use crate::pattern::progress::{Progress, Stats};
use crate::strategy::Strategy;

/// Compares two inputs and finds the first difference.
///
/// # Errors
/// The system's, with path and offset; [`ErrorKind::Changed`] if a file was truncated or modified during the run;
/// [`ErrorKind::Cancelled`] if it was cancelled.
pub fn compare(
    left: &Side<'_>,
    right: &Side<'_>,
    options: &CompareOptions,
    progress: &Progress,
) -> Result<(Stats, Comparison)> {
    progress.check()?;
    let pair = Pair::inspect(left, right, options.limit)?;
    let found = pair.compare(options, progress)?;
    pair.unchanged()?;
    Ok(found)
}

/// Finds every byte in which two inputs differ. On any worker, `find` receives runs that differ in their first
/// byte, with their offset; its results go to `emit` in the order of the files, one at a time. Each worker holds
/// one result while it waits for those before it, so a result should not be much larger than its run. `Break` ends
/// the comparison.
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
    progress.check()?;
    let pair = Pair::inspect(left, right, limit)?;
    let found = pair.differences(progress, find, emit)?;
    pair.unchanged()?;
    Ok(found)
}

/// Longest request where every difference is reported, in bytes: the result for a run can be many times as long.
const RUN: usize = 256 << 10;

/// Two sides with their state at the start.
pub(super) struct Pair<'a> {
    sides: [Side<'a>; 2],
    before: [Option<FileStamp>; 2],
    limit: Option<u64>,
    /// Lengths up to this are not trusted, in bytes: attributes in `/sys` report a page and hold less.
    pub(super) page: u64,
}

impl<'a> Pair<'a> {
    pub(super) fn inspect(left: &Side<'a>, right: &Side<'a>, limit: Option<u64>) -> Result<Self> {
        // A length of zero may be wrong (`/proc`), and has no meaning for inputs without offsets.
        let known = |side: &Side<'_>| match side.file.kind() {
            FileKind::Regular | FileKind::BlockDevice => {
                side.file.starting_stamp().map(|stamp| (stamp.len > 0).then_some(stamp))
            }
            FileKind::Directory => side.file.starting_stamp().map(Some),
            _ => Ok(None),
        };
        Ok(Self {
            sides: [*left, *right],
            before: [known(left)?, known(right)?],
            limit,
            page: sys::page_size().max(4096) as u64,
        })
    }

    /// The lengths of both sides, if both report one that can be trusted.
    fn lens(&self) -> Option<[u64; 2]> {
        let [Some(left), Some(right)] = self.before else { return None };
        let bases = self.sides.map(|side| side.base());
        let lens = [left.len.saturating_sub(bases[0]), right.len.saturating_sub(bases[1])];
        (left.len > self.page && right.len > self.page && self.common(lens) > self.page).then_some(lens)
    }

    /// The most bytes compared of sides of these lengths.
    fn common(&self, lens: [u64; 2]) -> u64 {
        lens[0].min(lens[1]).min(self.limit.unwrap_or(u64::MAX))
    }

    /// The side that ends within the comparison, before the other.
    fn shorter(&self, lens: [u64; 2]) -> Option<Which> {
        let ends = lens[0] != lens[1] && self.limit.is_none_or(|limit| limit > self.common(lens));
        ends.then_some(if lens[0] < lens[1] { Which::Left } else { Which::Right })
    }

    /// True if both are the same file from the same offset: then every byte equals itself. A pipe cannot be read twice.
    fn one_and_the_same(&self) -> bool {
        let identity = |side: &Side<'_>| {
            // Sockets have no numbers on some systems.
            side.file.starting_stamp().ok().map(|stamp| stamp.identity).filter(|(_, inode)| *inode != 0)
        };
        let [left, right] = &self.sides;
        left.base() == right.base() && identity(left).is_some_and(|one| Some(one) == identity(right))
    }

    fn files(&self) -> [ComparedFile<'a>; 2] {
        [0, 1].map(|index| ComparedFile {
            file: self.sides[index].file,
            choice: self.sides[index].choice,
            base: self.sides[index].base(),
            len: self.before[index].map_or(0, |before| before.len),
        })
    }

    pub(super) fn compare(
        &self,
        options: &CompareOptions,
        progress: &Progress,
    ) -> Result<(Stats, Comparison)> {
        if self.one_and_the_same() {
            return Ok((Stats::default(), Comparison::Equal));
        }
        let Some(lens) = self.lens() else { return self.compare_flow(options, progress) };
        let end = self.common(lens);
        let files = self.files();
        // Lines of uncached data, which is not read twice, are counted on the way; those of cached data afterwards.
        let leaves_cache = |strategy: &Strategy| {
            strategy.read.capabilities.passes_cache(strategy.read_cache)
                || strategy.read_cache != CachePolicy::Keep
        };
        let choice = self.sides[0].choice;
        let contenders = choice.adaptive.iter().flat_map(|adaptive| adaptive.contenders.all());
        let on_the_way = options.lines
            && contenders.map(|contender| &contender.strategy).chain([choice.first]).any(leaves_cache);
        let frontier = on_the_way.then(Frontier::default);
        let first = FirstDifference::new(frontier.as_ref());
        let walk = Walk { sides: &files, end, longest: usize::MAX >> 3, progress };
        let stats = walk.run(&first)?;
        let found = first.found();
        let until = match (found, self.shorter(lens)) {
            (Some(found), _) => found.offset,
            (None, Some(_)) => end,
            (None, None) => return Ok((stats, Comparison::Equal)),
        };
        let lines = match &frontier {
            _ if !options.lines || until == 0 => 0,
            Some(frontier) => frontier.reached().1,
            None => {
                let lines = Lines { count: AtomicU64::new(0), progress };
                // Counting is no trial of a comparison.
                let counted = ComparedFile { choice: choice.first.into(), ..files[0] };
                let walk = Walk {
                    sides: &[counted],
                    end: until,
                    longest: usize::MAX >> 3,
                    progress: &Progress::default(),
                };
                walk.run(&lines)?;
                lines.count.into_inner()
            }
        };
        let comparison = match (found, self.shorter(lens)) {
            (Some(at), _) => Comparison::Differ { at, lines },
            (None, Some(side)) => {
                Comparison::End(End { side, offset: until, lines, fresh: self.fresh(side, until)? })
            }
            (None, None) => Comparison::Equal,
        };
        Ok((stats, comparison))
    }

    /// True if the byte of a side before `offset` ends a line.
    fn fresh(&self, side: Which, offset: u64) -> Result<bool> {
        let mut last = [0];
        let Some(before) = offset.checked_sub(1) else { return Ok(false) };
        let side = &self.sides[side as usize];
        side.file.read_exact_at(&mut last, side.base() + before).map_err(Error::of_shortened)?;
        Ok(last == *b"\n")
    }

    fn flows(&self) -> ([Flow<'a>; 2], usize) {
        let flows = self.sides.map(|side| Flow::of(side.file, side.skip, self.limit));
        let short = self.before.iter().all(|before| before.is_some_and(|stamp| stamp.len <= self.page));
        let longest = if short { 2 * self.page as usize } else { RUN };
        let [left, right] = self.sides.map(|side| side.choice.first.request);
        (flows, left.max(right).clamp(1, longest))
    }

    fn compare_flow(&self, options: &CompareOptions, progress: &Progress) -> Result<(Stats, Comparison)> {
        let ([left, right], request) = self.flows();
        let (mut lines, mut fresh, mut found) = (0, false, None);
        let (stats, shorter) = flow(left, right, request, progress, |offset, left, right| {
            let place = first_difference(left, right);
            let same = &left[..place.unwrap_or(left.len())];
            if options.lines {
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
        let comparison = match (found, shorter) {
            (Some(at), _) => Comparison::Differ { at, lines },
            (None, Some(side)) => Comparison::End(End { side, offset: stats.bytes, lines, fresh }),
            (None, None) => Comparison::Equal,
        };
        Ok((stats, comparison))
    }

    pub(super) fn differences<R: Send>(
        &self,
        progress: &Progress,
        find: impl Fn(u64, &[u8], &[u8]) -> R + Sync,
        mut emit: impl FnMut(R) -> Result<ControlFlow<()>> + Send,
    ) -> Result<(Stats, Differences)> {
        if self.one_and_the_same() {
            return Ok((Stats::default(), Differences::default()));
        }
        let Some(lens) = self.lens() else {
            let ([left, right], request) = self.flows();
            let (mut differ, mut fresh) = (false, [false; 2]);
            let (stats, shorter) = flow(left, right, request, progress, |offset, left, right| {
                fresh = [left, right].map(|run| run.last() == Some(&b'\n'));
                let Some(place) = first_difference(left, right) else { return Ok(true) };
                differ = true;
                Ok(emit(find(offset + place as u64, &left[place..], &right[place..]))?.is_continue())
            })?;
            let end = |side: Which| End { side, offset: stats.bytes, lines: 0, fresh: fresh[side as usize] };
            return Ok((stats, Differences { differ, end: shorter.map(end) }));
        };
        let (end, files) = (self.common(lens), self.files());
        let all = AllDifferences::new(find, emit);
        let stats = Walk { sides: &files, end, longest: RUN, progress }.run(&all)?;
        let (differ, enough) = (all.differ.into_inner(), all.enough.into_inner());
        let end = match self.shorter(lens).filter(|_| !enough) {
            Some(side) => Some(End { side, offset: end, lines: 0, fresh: self.fresh(side, end)? }),
            None => None,
        };
        Ok((stats, Differences { differ, end }))
    }

    /// Fails if a file changed during the run: then its bytes did not all exist at one moment.
    pub(super) fn unchanged(&self) -> Result<()> {
        for (side, before) in self.sides.iter().zip(&self.before) {
            if let Some(before) = before {
                side.file.check_unchanged(before)?;
            }
        }
        Ok(())
    }
}
