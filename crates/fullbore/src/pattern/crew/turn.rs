//! Giving the results of one item.

use std::ops::{ControlFlow, Range};
use std::sync::atomic::Ordering;

use crate::error::Result;
use crate::pattern::window::Window;

/// A worker's right to give results for one item, which come out in the order of the items.
///
/// ```
/// use std::ops::ControlFlow;
/// use fullbore::pattern::{Crew, Monitor};
/// let (wish, monitor) = (Default::default(), Monitor::default());
/// let mut text = String::new();
/// Crew::new(&wish, &monitor).many(
///     0..3,
///     |number, turn, _, _| {
///         let _ = turn.give(format!("{number}:"), 2)?;
///         turn.give(format!("{} ", number * number), 2).map(drop)
///     },
///     |part: String| {
///         text.push_str(&part);
///         Ok(ControlFlow::Continue(()))
///     },
/// )?;
/// assert_eq!(text, "0:0 1:1 2:4 ");
/// # Ok::<(), fullbore::Error>(())
/// ```
pub struct Turn<'t, 'e, R> {
    pub(super) window: &'t Window<'e, R>,
    pub(super) worker: usize,
    /// The places of the items, this one and the quick ones before it.
    pub(super) places: Range<u64>,
    pub(super) allowance: usize,
}

impl<R> Turn<'_, '_, R> {
    /// Gives one result, which keeps `weight` bytes beside its own size. Before its turn a worker keeps a few; with
    /// more, it waits. `Break`: nobody wants any more.
    ///
    /// ```
    /// # use std::ops::ControlFlow;
    /// # use fullbore::pattern::{Crew, Monitor};
    /// # let (wish, monitor) = (Default::default(), Monitor::default());
    /// # let mut sum = 0;
    /// Crew::new(&wish, &monitor).many(
    ///     [1, 2, 3].into_iter(),
    ///     |number, turn, _, _| turn.give(number, 0).map(drop),
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
    pub fn give(&mut self, result: R, weight: usize) -> Result<ControlFlow<()>> {
        self.window.give(self.worker, self.places.start, result, weight, self.allowance)?;
        Ok(match self.window.enough().load(Ordering::Relaxed) {
            true => ControlFlow::Break(()),
            false => ControlFlow::Continue(()),
        })
    }

    pub(super) fn end(self) -> Result<()> {
        self.window.close(self.worker, self.places.start, self.places.end)
    }
}
