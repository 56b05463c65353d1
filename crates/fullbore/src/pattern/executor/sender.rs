//! Giving the results of one item.

use std::ops::{ControlFlow, Range};
use std::sync::atomic::Ordering;

use crate::error::Result;
use crate::pattern::reorder_buffer::ReorderBuffer;

/// A worker's right to give results for one item, which come out in the order of the items.
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
    /// The places of the items, this one and the quick ones before it.
    pub(super) places: Range<u64>,
    pub(super) allowance: usize,
}

impl<R> OrderedSender<'_, '_, R> {
    /// Gives one result, which keeps `weight` bytes beside its own size. Before its turn a worker keeps a few; with
    /// more, it waits. `Break`: nobody wants any more.
    ///
    /// ```
    /// # use std::ops::ControlFlow;
    /// # use fullbore::pattern::{Executor, Progress};
    /// # let (spec, progress) = (Default::default(), Progress::default());
    /// # let mut sum = 0;
    /// Executor::new(&spec, &progress).map_ordered(
    ///     [1, 2, 3].into_iter(),
    ///     |number, sender, _, _| sender.send(number, 0).map(drop),
    ///     |number| {
    ///         sum += number;
    ///         Ok(if number == 2 { ControlFlow::Break(()) } else { ControlFlow::Continue(()) })
    ///     },
    /// )?;
    /// assert_eq!(sum, 1 + 2);
    /// # Ok::<(), fullbore::Error>(())
    /// ```
    ///
    /// # Errors
    /// Those of whoever takes the results.
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
