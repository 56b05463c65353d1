//! The arithmetic of transfers: cutting a range at alignment, buffer and block boundaries. Pure functions on numbers,
//! so that they can be compared with brute force.

use std::ops::{Bound, Range, RangeBounds};

/// The constraints of a file's transfers in bytes; all are powers of two except `bounce`, a multiple of `unit`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Rule {
    pub(super) unit: usize,
    pub(super) memory: usize,
    /// The maximum length of a transfer through a bounce buffer.
    pub(super) bounce: usize,
}

/// The next piece of an unaligned transfer: its length and its route.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Piece {
    /// This many bytes are transferred directly to or from the caller's memory.
    Straight(usize),
    /// This many bytes go through a buffer that holds the whole blocks around them.
    Bounced(usize),
}

impl Piece {
    /// The first piece of `len` bytes (at least 1) at `offset`, in memory at `address`. A short transfer is bounced whole, because
    /// a request costs more than a copy; of a long one only the edges are, if its middle is aligned in memory.
    pub(super) fn first(offset: u64, len: usize, address: usize, rule: Rule) -> Self {
        let Rule { unit, memory, bounce } = rule;
        let misfit = (offset % unit as u64) as usize;
        let whole = len - len % unit;
        if misfit == 0 && address.is_multiple_of(memory) && whole > 0 && (whole == len || len > bounce) {
            Self::Straight(whole)
        } else if misfit + len <= bounce {
            Self::Bounced(len)
        } else if misfit > 0 && address.wrapping_add(unit - misfit).is_multiple_of(memory) {
            Self::Bounced(unit - misfit)
        } else {
            Self::Bounced(bounce - misfit)
        }
    }
}

/// True if buffers with these addresses and lengths can all be transferred directly, starting at `offset`.
pub(super) fn all_straight(
    rule: Rule,
    offset: u64,
    places: impl IntoIterator<Item = (usize, usize)>,
) -> bool {
    offset.is_multiple_of(rule.unit as u64)
        && places
            .into_iter()
            .all(|(address, len)| address.is_multiple_of(rule.memory) && len.is_multiple_of(rule.unit))
}

/// The range of whole blocks of `unit` bytes that contains `len` bytes at `offset`; `None` on overflow.
pub(super) fn widened(offset: u64, len: usize, unit: usize) -> Option<Range<u64>> {
    let unit = unit as u64;
    let end = offset.checked_add(len as u64)?.checked_next_multiple_of(unit)?;
    Some(offset - offset % unit..end)
}

/// The first byte of a range, and the byte after its last; `None` if it has no end.
pub(super) fn ends(range: &impl RangeBounds<u64>) -> (u64, Option<u64>) {
    let start = match range.start_bound() {
        Bound::Included(&start) => start,
        Bound::Excluded(&before) => before.saturating_add(1),
        Bound::Unbounded => 0,
    };
    let end = match range.end_bound() {
        Bound::Included(&last) => Some(last.saturating_add(1)),
        Bound::Excluded(&end) => Some(end),
        Bound::Unbounded => None,
    };
    (start, end)
}

/// The range, which ends at the largest offset if it has no end.
pub(crate) fn bounded(range: &impl RangeBounds<u64>) -> Range<u64> {
    let (start, end) = ends(range);
    start..end.unwrap_or(u64::MAX)
}

/// The index of the buffer, and the offset in it, at which a transfer of `count` bytes over buffers of these lengths stopped; full
/// and empty ones are skipped.
#[inline]
pub(crate) fn landed(lens: impl IntoIterator<Item = usize>, count: usize) -> (usize, usize) {
    let (mut index, mut left) = (0, count);
    for len in lens {
        if left < len {
            return (index, left);
        }
        left -= len;
        index += 1;
    }
    (index, 0)
}

/// The part of a copy of `source` to `target` for which whole blocks can be shared: the bytes before it and its length. `end` is
/// the source's length. The last block may be incomplete if it is the last of both files (`target_end`, `man 2
/// ioctl_ficlonerange`).
pub(super) fn clonable(
    source: &Range<u64>,
    target: u64,
    block: u64,
    end: u64,
    target_end: u64,
) -> Option<(u64, u64)> {
    if source.start % block != target % block {
        return None;
    }
    let start = source.start.checked_next_multiple_of(block)?;
    let head = start - source.start;
    let stop = source.end.min(end);
    let whole = if stop == end && target.checked_add(stop.checked_sub(source.start)?)? >= target_end {
        stop
    } else {
        stop - stop % block
    };
    let len = whole.checked_sub(start)?;
    (len > 0).then_some((head, len))
}

#[cfg(test)]
mod tests {
    use std::ops::RangeFull;

    use proptest::prelude::*;

    use super::*;

    #[test]
    fn every_form_of_a_range_has_its_ends() {
        assert_eq!((ends(&(2..5)), ends(&(2..=4)), ends(&(..5))), ((2, Some(5)), (2, Some(5)), (0, Some(5))));
        assert_eq!((ends(&(2..)), ends(&RangeFull)), ((2, None), (0, None)));
        assert_eq!((ends(&(..=u64::MAX)), bounded(&(3..))), ((0, Some(u64::MAX)), 3..u64::MAX));
        assert_eq!(ends(&(Bound::Excluded(1), Bound::Unbounded)), (2, None));
    }

    proptest! {
        #[test]
        fn pieces_cover_the_range_once_and_satisfy_the_rule(
            offset in 0u64..100_000,
            len in 1usize..100_000,
            address in 0usize..20_000,
            (unit, memory) in prop::sample::select(vec![(512, 512), (512, 4), (4096, 512), (4096, 4096)]),
            blocks in 1usize..5,
        ) {
            let rule = Rule { unit, memory, bounce: 4096 * blocks };
            let mut done = 0;
            let mut requests = 0;
            while done < len {
                let (at, place) = (offset + done as u64, address + done);
                match Piece::first(at, len - done, place, rule) {
                    Piece::Straight(count) => {
                        prop_assert!(count > 0 && count <= len - done);
                        prop_assert!(at.is_multiple_of(unit as u64) && count.is_multiple_of(unit));
                        prop_assert!(place.is_multiple_of(memory));
                        done += count;
                    }
                    Piece::Bounced(count) => {
                        prop_assert!(count > 0 && count <= len - done);
                        let around = widened(at, count, unit).unwrap();
                        prop_assert!(around.end - around.start <= rule.bounce as u64);
                        done += count;
                    }
                }
                requests += 1;
            }
            prop_assert!(requests <= len.div_ceil(rule.bounce) + 2, "{requests} requests");
        }

        #[test]
        fn transfers_land_where_counted_bytes_do(lens in prop::collection::vec(0usize..5, 0..8), count in 0usize..40) {
            let bytes: Vec<(usize, usize)> = lens
                .iter()
                .enumerate()
                .flat_map(|(index, &len)| (0..len).map(move |place| (index, place)))
                .collect();
            let expected = bytes.get(count).copied().unwrap_or((lens.len(), 0));
            prop_assert_eq!(landed(lens.iter().copied(), count), expected);
        }

        #[test]
        fn clones_are_whole_blocks_or_end_with_both_files(
            start in 0u64..40, len in 0u64..40, target in 0u64..40, end in 0u64..60, target_end in 0u64..60,
        ) {
            let source = start..start + len;
            // Brute force: the longest run of blocks in the range that are aligned alike in both files.
            let stop = source.end.min(end);
            let alike = start % 8 == target % 8;
            let blocks: Vec<u64> = (0..60)
                .filter(|at| at % 8 == 0 && *at >= start)
                .filter(|at| {
                    let last = stop == end && target + stop.saturating_sub(start) >= target_end;
                    at + 8 <= stop || (last && *at < stop)
                })
                .collect();
            let expected = (alike && !blocks.is_empty()).then(|| {
                let bytes = (blocks[blocks.len() - 1] + 8).min(stop) - blocks[0];
                (blocks[0] - start, bytes)
            });
            prop_assert_eq!(clonable(&source, target, 8, end, target_end), expected);
        }
    }
}
