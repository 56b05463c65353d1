//! Searches a file: each worker the whole records of its blocks, boundaries in file order; results in file order.

use std::ops::ControlFlow;
use std::path::Path;

use super::boundary_buffer::{BoundaryBuffer, Ends, cut};
use super::checked::CheckedInput;
use super::order::{Order, Scope};
use super::progress::{Progress, Stats};
use super::reorder_buffer::ReorderBuffer;
use super::run::Run;
use super::transfer_loop::{Sink, Transfer};
use crate::operation::{Part, Search};
use crate::strategy::Choice;
use fullbore_io::error::{Error, ErrorKind, Result};
use fullbore_io::file::File;
use fullbore_io::size;

/// Runs `operation` over all of `input` and passes its results to `emit` in file order, one at a time, each as soon as
/// those before it are delivered. If `emit` returns `Break`, the rest is not searched. Pending results take at most
/// half of the strategy's budget.
///
/// # Errors
/// As [`Job::fold`](crate::Job::fold), and those of `emit`; [`ErrorKind::Memory`] for a record longer than a quarter of the strategy's
/// budget. Results emitted before an error may come from a file that changed.
pub fn search<'c, S: Search>(
    operation: &S,
    input: &File,
    choice: impl Into<Choice<'c>>,
    progress: &Progress,
    emit: impl FnMut(S::Found) -> Result<ControlFlow<()>> + Send,
) -> Result<Stats> {
    let (checked, choice) = (CheckedInput::of(input)?, choice.into());
    let mut ordered = Ordered {
        operation,
        boundary: BoundaryBuffer::new(0),
        emit,
        path: input.path(),
        budget: choice.first.budget,
    };
    let stats = ordered.run(&checked, choice, progress)?;
    let Some(stats) = stats else { return Ok(Stats::default()) };
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
const LONGEST: u64 = 4;

/// The state that is used in file order.
struct Ordered<'s, S, E> {
    operation: &'s S,
    boundary: BoundaryBuffer,
    emit: E,
    path: &'s Path,
    budget: u64,
}

impl<S: Search, E: FnMut(S::Found) -> Result<ControlFlow<()>> + Send> Ordered<'_, S, E> {
    /// Searches the blocks; `None` if `emit` returned `Break` before the end.
    fn run(
        &mut self,
        checked: &CheckedInput,
        choice: Choice<'_>,
        progress: &Progress,
    ) -> Result<Option<Stats>> {
        let operation = self.operation;
        let (delimiter, reach) = (operation.delimiter(), operation.reach());
        let reorder_buffer =
            ReorderBuffer::new(0, (self.budget / 2) as usize, Box::new(|block| self.next(block)));
        let (source, sink) = (checked.source(false), Sink::Visitor { failed: &|| reorder_buffer.cancel() });
        let transfer = Transfer::untouched(&source, &sink, Order::Sequential, progress);
        let run = Run {
            // A worker must insert its results in the order of its blocks, or it could wait for itself.
            transfer: Transfer { in_order: true, ..transfer },
            scope: &Scope::whole(checked.len.unwrap_or(0)),
            choice,
            most: usize::MAX,
            any_order: false,
            enough: reorder_buffer.enough(),
        };
        let result = run.visit(&|| (), &|(), offset, bytes| {
            let (part, ends) = cut(bytes, offset, delimiter, reach);
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

    /// Emits the results of the boundary before a block, then those of the block.
    fn next(&mut self, block: Block<S::Found>) -> Result<ControlFlow<()>> {
        let operation = self.operation;
        let held = self.boundary.bytes.len() as u64 + block.ends.weight() as u64;
        if held > self.budget / LONGEST {
            let longest = size::human(self.budget / LONGEST);
            let what = format!("a record is longer than {longest}, and must fit in memory");
            let more = (LONGEST * held).max(2 * self.budget).next_power_of_two() >> 20;
            return Err(Error::new(ErrorKind::Memory, "search", self.path, what)
                .at(self.boundary.offset)
                .advise(format!("grant more memory: {more} MiB suffice")));
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
