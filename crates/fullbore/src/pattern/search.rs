//! Searching a file: each worker the whole records of its blocks, the boundaries by whoever's turn it is, all in order.

use std::ops::ControlFlow;
use std::path::Path;

use super::boundary_buffer::{BoundaryBuffer, Ends, cut};
use super::checked_input::CheckedInput;
use super::reorder_buffer::ReorderBuffer;
use super::run::Run;
use super::{Progress, Scope, Stats, transfer_loop};
use crate::error::{Error, Kind, Result};
use crate::file::File;
use crate::operation::{Part, Search, Split};
use crate::size;
use crate::strategy::{Completion, Strategy};

/// Runs `operation` over all of `input` and gives its results to `emit` in the order of the file, one thread at a time, each as
/// soon as those before it are done. When `emit` says `Break`, the rest is not searched. Results that wait for their
/// turn keep no more than half of the strategy's budget.
///
/// ```
/// use std::ops::ControlFlow;
///
/// use fullbore::file::File;
/// use fullbore::operation::{Part, Search};
/// use fullbore::pattern::{Progress, search};
/// use fullbore::strategy::Strategy;
///
/// /// Whether a line mentions a license.
/// struct License;
/// impl Search for License {
///     type Found = bool;
///     fn search(&self, part: &Part<'_>) -> bool {
///         part.own().windows(7).any(|bytes| bytes == b"license")
///     }
/// }
///
/// let (file, mut found) = (File::open("Cargo.toml")?, false);
/// search(&License, &file, &Strategy::plain(), &Progress::default(), |here| {
///     found |= here;
///     Ok(if found { ControlFlow::Break(()) } else { ControlFlow::Continue(()) })
/// })?;
/// assert!(found);
/// # Ok::<(), fullbore::Error>(())
/// ```
///
/// # Errors
/// As [`fold`](super::fold), and those of `emit`; [`Kind::Memory`] for a record longer than a quarter of the strategy's budget. What was emitted before an error may be of a file that changed.
pub fn search<S: Search>(
    operation: &S,
    input: &File,
    strategy: &Strategy,
    progress: &Progress,
    emit: impl FnMut(S::Found) -> Result<ControlFlow<()>> + Send,
) -> Result<Stats> {
    let checked = CheckedInput::of(input)?;
    let mut ordered = Ordered {
        operation,
        boundary: BoundaryBuffer::new(0),
        emit,
        path: input.path(),
        budget: strategy.budget,
    };
    let stats = ordered.run(&checked, strategy, progress)?;
    let Some(stats) = stats else { return Ok(Stats::default()) };
    checked.was_whole(&stats)?;
    checked.is_unchanged()?;
    ordered.finish()?;
    Ok(stats)
}

/// Searches bytes that are in memory already: as [`search`] a file of them.
///
/// ```
/// use std::ops::ControlFlow;
///
/// use fullbore::operation::{Part, Search};
///
/// struct Lines;
/// impl Search for Lines {
///     type Found = usize;
///     fn search(&self, part: &Part<'_>) -> usize {
///         part.own().iter().filter(|&&byte| byte == b'\n').count()
///     }
/// }
/// let mut lines = 0;
/// fullbore::pattern::search_bytes(&Lines, b"one\ntwo\n", |count| {
///     lines += count;
///     Ok(ControlFlow::Continue(()))
/// })?;
/// assert_eq!(lines, 2);
/// # Ok::<(), fullbore::Error>(())
/// ```
///
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

/// A record may be as long as this part of the memory: it is copied to be searched, and again to be printed.
const LONGEST: u64 = 4;

/// What is done in the order of the file.
struct Ordered<'s, S, E> {
    operation: &'s S,
    boundary: BoundaryBuffer,
    emit: E,
    path: &'s Path,
    /// What the run may take, in bytes.
    budget: u64,
}

impl<S: Search, E: FnMut(S::Found) -> Result<ControlFlow<()>> + Send> Ordered<'_, S, E> {
    /// `None`: `emit` has seen enough before the end.
    fn run(
        &mut self,
        checked: &CheckedInput<'_>,
        strategy: &Strategy,
        progress: &Progress,
    ) -> Result<Option<Stats>> {
        let operation = self.operation;
        let (delimiter, reach) = (operation.delimiter(), operation.reach());
        let reorder_buffer =
            ReorderBuffer::new(0, (strategy.budget / 2) as usize, Box::new(|block| self.next(block)));
        // A worker's results come in the order of its blocks, or it could wait for itself.
        let strategy = Strategy { completion: Completion::Ordered, ..strategy.clone() };
        let run = Run {
            source: &checked.source(false),
            work: &transfer_loop::Work { operation: None, in_place: false, split: Split::Any },
            sink: &transfer_loop::Sink::Visitor { failed: &|| reorder_buffer.cancel() },
            scope: &Scope::whole(checked.len.unwrap_or(0)),
            strategy: &strategy,
            progress,
            enough: reorder_buffer.enough(),
        };
        let result = run.visit(&|| (), &|(), offset, bytes| {
            let (part, ends) = cut(bytes, offset, offset == 0, delimiter, reach);
            let found = part.map(|part| operation.search(&part));
            let weight = ends.weight() + found.as_ref().map_or(0, |found| operation.weight(found));
            let end = offset + bytes.len() as u64;
            reorder_buffer.insert(offset, end, weight, vec![Block { ends, end, found }])
        });
        let enough = reorder_buffer.had_enough();
        let (stats, _) = result?;
        reorder_buffer.finish()?;
        Ok((!enough).then_some(stats))
    }

    /// The results of the boundary before a block come before the block's.
    fn next(&mut self, block: Block<S::Found>) -> Result<ControlFlow<()>> {
        let operation = self.operation;
        let held = self.boundary.len() as u64 + block.ends.weight() as u64;
        if held > self.budget / LONGEST {
            let longest = size::human(self.budget / LONGEST);
            let what = format!("a record is longer than {longest}, and must be in memory as a whole");
            let more = (LONGEST * held).max(2 * self.budget).next_power_of_two() >> 20;
            return Err(Error::new(Kind::Memory, "search", self.path, what)
                .at(self.boundary.offset())
                .advise(format!("grant more memory, such as --memory {more}M")));
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

/// What one block gave.
struct Block<R> {
    ends: Ends,
    end: u64,
    found: Option<R>,
}
