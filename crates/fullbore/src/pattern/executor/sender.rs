//! The sender of one item's results.

use std::ops::{ControlFlow, Range};
use std::sync::atomic::Ordering;

use crate::pattern::reorder_buffer::ReorderBuffer;
use fullbore_io::error::Result;

/// Sends a worker's results for one item; they come out in item order.
///
/// ```
/// use std::ops::ControlFlow;
/// use fullbore::pattern::{Executor, Progress};
/// let (spec, progress) = (Default::default(), Progress::default());
/// let mut text = String::new();
/// Executor::new(&spec, &progress).map_ordered(
///     0..3,
///     |number, sender, _, _| {
///         let _ = sender.send(format!("{number}:"), 2)?;
///         sender.send(format!("{} ", number * number), 2).map(drop)
///     },
///     |part: String| {
///         text.push_str(&part);
///         Ok(ControlFlow::Continue(()))
///     },
/// )?;
/// assert_eq!(text, "0:0 1:1 2:4 ");
/// # Ok::<(), fullbore::Error>(())
/// ```
pub struct OrderedSender<'t, 'e, R> {
    pub(super) reorder_buffer: &'t ReorderBuffer<'e, R>,
    pub(super) index: usize,
    /// The places of this item and of the quick ones before it in the batch.
    pub(super) places: Range<u64>,
    pub(super) allowance: usize,
}

impl<R> OrderedSender<'_, '_, R> {
    /// Sends one result, which takes `weight` bytes besides its own size. Until its items are next, a worker may hold a
    /// few results; with more, it blocks. `Break`: no more results are needed.
    ///
    /// # Errors
    /// Those of `emit`.
    pub fn send(&mut self, result: R, weight: usize) -> Result<ControlFlow<()>> {
        self.reorder_buffer.push(self.index, self.places.start, result, weight, self.allowance)?;
        Ok(match self.reorder_buffer.enough().load(Ordering::Relaxed) {
            true => ControlFlow::Break(()),
            false => ControlFlow::Continue(()),
        })
    }

    pub(super) fn end(self) -> Result<()> {
        self.reorder_buffer.close(self.index, self.places.start, self.places.end)
    }
}
