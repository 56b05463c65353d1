//! Searches a file: each worker searches the whole records of its blocks. The records that a block boundary cuts, and those within
//! reach of them, are searched separately. The results come in file order.

use std::ops::{ControlFlow, Range};
use std::path::Path;

use super::checked::CheckedInput;
use super::order::{Order, Scope};
use super::progress::{Progress, Stats};
use super::reorder_buffer::ReorderBuffer;
use super::run::Run;
use super::threads::holding;
use super::transfer_loop::{Sink, Transfer, Work};
use crate::operation::{Part, Search};
use crate::strategy::RunStrategy;
use fullbore_io::error::{Error, ErrorKind, Result};
use fullbore_io::file::File;
use fullbore_io::size;

/// Runs `operation` over all of `input` and passes its results to `emit` in file order, one at a time, each as soon as
/// those before it are delivered. If `emit` returns `Break`, the rest is not searched. Results that wait for earlier
/// ones take at most half of the strategy's budget.
///
/// # Errors
/// As [`Job::fold`](crate::Job::fold), and those of `emit`; [`ErrorKind::Memory`] for a record longer than a quarter of the strategy's
/// budget. Results emitted before an error may come from a file that changed.
pub fn search<'c, S: Search>(
    operation: &S,
    input: &File,
    choice: impl Into<RunStrategy<'c>>,
    progress: &Progress,
    emit: impl FnMut(S::Found) -> Result<ControlFlow<()>> + Send,
) -> Result<Stats> {
    let (checked, choice) = (CheckedInput::of(input)?, choice.into());
    let mut ordered = Ordered {
        operation,
        boundary: BoundaryBuffer::new(0, operation.delimiter(), operation.reach()),
        emit,
        path: input.path(),
        budget: choice.budget,
        end: 0,
    };
    let (stats, enough) = ordered.run(&checked, choice, progress)?;
    if enough {
        return Ok(stats);
    }
    checked.was_whole(&stats)?;
    checked.is_unchanged()?;
    ordered.finish()?;
    Ok(stats)
}

/// Searches bytes in memory, as [`search`] searches a file.
/// # Errors
/// Those of `emit`.
pub fn search_bytes<S: Search>(
    operation: &S,
    bytes: &[u8],
    mut emit: impl FnMut(S::Found) -> Result<ControlFlow<()>>,
) -> Result<()> {
    if !bytes.is_empty() {
        let _ = emit(operation.search(&Part { bytes, own: 0..bytes.len(), offset: 0 }))?;
    }
    Ok(())
}

/// A record may take this fraction of the memory: it is copied to be searched, and again to be printed.
pub(super) const LONGEST: u64 = 4;

/// The beginning of the message about a single record that is longer.
pub(super) const RECORD: &str = "a record is";

/// Returns the error for a record of which `held` bytes are in memory.
pub(super) fn record_too_long(
    operation: &'static str,
    records: &str,
    path: &Path,
    held: u64,
    budget: u64,
) -> Error {
    let what = format!("{records} longer than {}, and must fit in memory", size::human(budget / LONGEST));
    let more = (LONGEST * held).max(2 * budget).next_power_of_two() >> 20;
    Error::new(ErrorKind::Memory, operation, path, what)
        .advise(format!("grant at least {more} MiB of memory"))
}

/// The state that is used in file order.
struct Ordered<'s, S, E> {
    operation: &'s S,
    boundary: BoundaryBuffer,
    emit: E,
    path: &'s Path,
    budget: u64,
    /// The end of the last block whose results were emitted.
    end: u64,
}

impl<S: Search, E: FnMut(S::Found) -> Result<ControlFlow<()>> + Send> Ordered<'_, S, E> {
    /// Searches the blocks; true if `emit` returned `Break` before the end.
    fn run(
        &mut self,
        checked: &CheckedInput,
        choice: RunStrategy<'_>,
        progress: &Progress,
    ) -> Result<(Stats, bool)> {
        let operation = self.operation;
        let (delimiter, reach) = (operation.delimiter(), operation.reach());
        let reorder_buffer =
            ReorderBuffer::new(0, (choice.first.budget / 2) as usize, Box::new(|block| self.next(block)));
        let (source, sink) = (checked.source(false), Sink::Visitor { failed: &|| reorder_buffer.cancel() });
        let transfer = Transfer::untouched(&source, &sink, Order::Sequential, progress);
        // A worker must insert its results in the order of its blocks, or it could wait for itself.
        let transfer = Transfer { work: &Work::none(operation.memory()), in_order: true, ..transfer };
        let scope = Scope::whole(checked.len.unwrap_or(0));
        let run = Run { enough: reorder_buffer.enough(), ..Run::new(transfer, &scope, choice) };
        let result = run.visit(&|| (), &|(), offset, bytes| {
            let (part, ends) = cut(bytes, offset, delimiter, reach);
            let found = part.map(|part| operation.search(&part));
            let weight = ends.weight() + found.as_ref().map_or(0, |found| operation.weight(found));
            let end = offset + bytes.len() as u64;
            holding(|| reorder_buffer.insert(offset, end, weight, vec![Block { ends, end, found }]))
        });
        let (enough, finished) = (reorder_buffer.had_enough(), reorder_buffer.finish());
        // A change concerns the bytes before, too.
        let is_needed = |error: &Error| {
            !enough || error.kind() == ErrorKind::Changed || error.offset().is_none_or(|at| at < self.end)
        };
        match result {
            Err(error) if is_needed(&error) => Err(error),
            result => {
                finished.map(|()| (result.map_or_else(|_| Stats::default(), |(stats, _)| stats), enough))
            }
        }
    }

    /// Emits the results of the boundary before a block, then those of the block.
    fn next(&mut self, block: Block<S::Found>) -> Result<ControlFlow<()>> {
        let operation = self.operation;
        self.end = block.end;
        let more = block.ends.extension(operation.delimiter(), operation.reach()) as u64;
        let is_too_long = |held: usize| held as u64 + more > self.budget / LONGEST;
        if is_too_long(self.boundary.bytes.len())
            && let Some(found) = self.boundary.cut(|part| operation.search(part))
            && (self.emit)(found)?.is_break()
        {
            return Ok(ControlFlow::Break(()));
        }
        if is_too_long(self.boundary.bytes.len()) {
            let held = self.boundary.bytes.len() as u64 + more;
            let records =
                if operation.reach() == 0 { RECORD } else { "the records within reach of one another are" };
            return Err(
                record_too_long("search", records, self.path, held, self.budget).at(self.boundary.offset)
            );
        }
        let boundary = self.boundary.join(block.ends, block.end, |part| operation.search(part));
        for found in boundary.into_iter().chain(block.found) {
            if (self.emit)(found)?.is_break() {
                return Ok(ControlFlow::Break(()));
            }
        }
        Ok(ControlFlow::Continue(()))
    }

    fn finish(&mut self) -> Result<()> {
        if let Some(part) = self.boundary.rest() {
            let _ = (self.emit)(self.operation.search(&part))?;
        }
        Ok(())
    }
}

struct Block<R> {
    ends: Ends,
    end: u64,
    found: Option<R>,
}

/// The parts of a block that are searched together with the neighbouring blocks.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Ends {
    All(Vec<u8>),
    Some {
        /// The first bytes, which the preceding boundary needs.
        head: Vec<u8>,
        /// Bytes of the head that the preceding boundary reports on.
        head_own: usize,
        /// The last bytes, which the following boundary needs.
        tail: Vec<u8>,
        /// Start of the bytes in the tail that the following boundary reports on.
        tail_own: usize,
    },
}

impl Ends {
    /// The number of bytes by which the block extends the records in progress before it.
    fn extension(&self, delimiter: u8, reach: usize) -> usize {
        match self {
            Self::Some { head, .. } => head.len(),
            Self::All(bytes) if reach == 0 => {
                memchr::memchr(delimiter, bytes).map_or(bytes.len(), |end| end + 1)
            }
            Self::All(bytes) => bytes.len(),
        }
    }

    /// Memory held, in bytes.
    pub(super) fn weight(&self) -> usize {
        match self {
            Self::All(bytes) => bytes.capacity(),
            Self::Some { head, tail, .. } => head.capacity() + tail.capacity(),
        }
    }
}

/// Cuts the block at `offset` into the part that can be searched without its neighbours, if any, and the ends for its
/// boundaries.
pub(super) fn cut(block: &[u8], offset: u64, delimiter: u8, reach: usize) -> (Option<Part<'_>>, Ends) {
    let Some(middle) = middle(block, offset == 0, delimiter, reach) else {
        return (None, Ends::All(block.to_vec()));
    };
    let Middle { whole, own, head, tail } = middle;
    let part = Part {
        bytes: &block[whole.clone()],
        own: own.start - whole.start..own.end - whole.start,
        offset: offset + whole.start as u64,
    };
    let ends = Ends::Some {
        head: block[..head].to_vec(),
        head_own: own.start,
        tail: block[tail..].to_vec(),
        tail_own: own.end - tail,
    };
    (Some(part), ends)
}

struct Middle {
    /// Range of the whole records of the block.
    whole: Range<usize>,
    /// Range of the records out of reach of the bytes outside the block.
    own: Range<usize>,
    /// End of the bytes that the preceding boundary needs.
    head: usize,
    /// Start of the bytes that the following boundary needs.
    tail: usize,
}

/// The last whole records of a block.
struct Ending {
    /// End of the last whole record.
    end: usize,
    /// End of the records out of reach of the bytes after `end`.
    own_end: usize,
    /// Start of the records within reach of `own_end`.
    tail: usize,
}

impl Ending {
    /// Finds the last records of a block; `None` if it has too few.
    fn of(block: &[u8], delimiter: u8, reach: usize) -> Option<Self> {
        let mut ends = memchr::memrchr_iter(delimiter, block).map(|place| place + 1);
        let end = ends.next()?;
        let own_end = if reach == 0 { end } else { ends.nth(reach - 1)? };
        let tail = if reach == 0 { own_end } else { ends.nth(reach - 1).unwrap_or(0) };
        Some(Self { end, own_end, tail })
    }
}

/// Finds the middle of a block; `None` if the block is too short.
fn middle(block: &[u8], first: bool, delimiter: u8, reach: usize) -> Option<Middle> {
    // Ends of the records that begin in the block.
    let mut ends = memchr::memchr_iter(delimiter, block).map(|place| place + 1);
    let start = if first { 0 } else { ends.next()? };
    let own_start = if first || reach == 0 { start } else { ends.nth(reach - 1)? };
    let head = if first {
        0
    } else if reach == 0 {
        own_start
    } else {
        ends.nth(reach - 1)?
    };
    let Ending { end, own_end, tail } = Ending::of(block, delimiter, reach)?;
    // The records within reach of the end must not begin before those within reach of the start.
    (own_start < own_end && tail >= start && head <= end).then_some(Middle {
        whole: start..end,
        own: own_start..own_end,
        head,
        tail,
    })
}

/// Length of a boundary from which on its first records are passed on before a block ends it, in bytes.
const LONG: usize = if cfg!(test) { 8 } else { 256 << 10 };

/// The boundary between two blocks; it grows until a block ends it.
#[derive(Debug)]
pub(super) struct BoundaryBuffer {
    pub(super) bytes: Vec<u8>,
    own: usize,
    /// Offset of `bytes` in the file.
    pub(super) offset: u64,
    delimiter: u8,
    reach: usize,
    /// Length at which it is cut.
    due: usize,
}

impl BoundaryBuffer {
    pub(super) fn new(offset: u64, delimiter: u8, reach: usize) -> Self {
        Self { bytes: Vec::new(), own: 0, offset, delimiter, reach, due: LONG }
    }

    /// Appends the ends of the next block, which ends at `end`; passes a boundary that it completes to `look`.
    pub(super) fn join<R>(&mut self, ends: Ends, end: u64, look: impl FnOnce(&Part<'_>) -> R) -> Option<R> {
        match ends {
            Ends::All(bytes) => {
                self.bytes.extend_from_slice(&bytes);
                if self.bytes.len() < self.due { None } else { self.cut(look) }
            }
            Ends::Some { head, head_own, tail, tail_own } => {
                let own = self.own..self.bytes.len() + head_own;
                self.bytes.extend_from_slice(&head);
                let seen =
                    (!own.is_empty()).then(|| look(&Part { bytes: &self.bytes, own, offset: self.offset }));
                self.offset = end - tail.len() as u64;
                self.bytes.clear();
                // Long records are rare: their memory is not kept for the next boundary.
                self.bytes.shrink_to(1 << 20);
                self.bytes.extend_from_slice(&tail);
                self.own = tail_own;
                self.due = LONG.max(2 * tail.len());
                seen
            }
        }
    }

    /// Passes to `look` the records out of reach of the bytes that follow, and keeps the others; `None` if there are none.
    fn cut<R>(&mut self, look: impl FnOnce(&Part<'_>) -> R) -> Option<R> {
        // The search for records in a buffer that has too few is repeated at twice the length.
        self.due = 2 * self.bytes.len();
        let Ending { end, own_end, tail } = Ending::of(&self.bytes, self.delimiter, self.reach)?;
        if own_end <= self.own {
            return None;
        }
        let seen = look(&Part { bytes: &self.bytes[..end], own: self.own..own_end, offset: self.offset });
        self.bytes.drain(..tail);
        self.own = own_end - tail;
        self.offset += tail as u64;
        self.due = LONG.max(2 * self.bytes.len());
        Some(seen)
    }

    pub(super) fn rest(&self) -> Option<Part<'_>> {
        let own = self.own..self.bytes.len();
        (!own.is_empty()).then_some(Part { bytes: &self.bytes, own, offset: self.offset })
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// The parts of `text`, cut into blocks that end at `cuts`, that a search receives.
    fn parts(text: &[u8], cuts: &[usize], reach: usize) -> Vec<(Vec<u8>, Range<usize>, u64)> {
        let mut places: Vec<usize> = cuts.iter().map(|cut| cut % (text.len() + 1)).collect();
        places.extend([0, text.len()]);
        places.sort_unstable();
        places.dedup();
        let mut shown = Vec::new();
        let mut keep = |part: &Part<'_>| shown.push((part.bytes.to_vec(), part.own.clone(), part.offset));
        let mut boundary = BoundaryBuffer::new(0, b'\n', reach);
        for pair in places.windows(2) {
            let (part, ends) = cut(&text[pair[0]..pair[1]], pair[0] as u64, b'\n', reach);
            boundary.join(ends, pair[1] as u64, &mut keep);
            part.as_ref().map(&mut keep);
        }
        boundary.rest().as_ref().map(&mut keep);
        shown
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(2000))]
        #[test]
        fn parts_cover_the_file_in_whole_records_with_their_reach(
            text in "[ab\n]{0,60}", cuts in proptest::collection::vec(any::<usize>(), 0..20), reach in 0usize..4,
        ) {
            let text = text.as_bytes();
            let mut at = 0;
            for (bytes, own, offset) in parts(text, &cuts, reach) {
                let start = offset as usize;
                prop_assert_eq!(&bytes[..], &text[start..start + bytes.len()]);
                prop_assert_eq!(start + own.start, at, "in order, with no gap and nothing twice");
                prop_assert!(!own.is_empty());
                at = start + own.end;
                let at_record = |place: usize| place == 0 || place == text.len() || text[place - 1] == b'\n';
                prop_assert!(at_record(start) && at_record(start + bytes.len()));
                prop_assert!(at_record(start + own.start) && at_record(start + own.end));
                let records = |range: &[u8]| range.split_inclusive(|&byte| byte == b'\n').count();
                prop_assert!(start == 0 || records(&bytes[..own.start]) >= reach);
                prop_assert!(start + bytes.len() == text.len() || records(&bytes[own.end..]) >= reach);
            }
            prop_assert_eq!(at, text.len());
        }
    }
}
