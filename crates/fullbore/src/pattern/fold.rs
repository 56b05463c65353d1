//! Folds a file: each worker folds a run of blocks at a time, and the states are merged in file order. Carry-over turns folds that
//! need whole records, or overlapping runs, into folds that may be cut anywhere.

use super::checked::CheckedInput;
use super::order::{Order, Scope};
use super::progress::{Progress, Stats};
use super::run::Run;
use super::search::{LONGEST, RECORD, record_too_long};
use super::transfer_loop::{Sink, Transfer, Work};
use crate::operation::{Fold, Split};
use crate::strategy::RunStrategy;
use fullbore_io::buf::BlockMemory;
use fullbore_io::error::Result;
use fullbore_io::file::File;
use fullbore_io::lock::Mutex;

/// Folds `operation` over all of `input`: a file on the strategy's workers, a pipe or device on the next free worker.
///
/// # Errors
/// The system's, with path and offset; [`ErrorKind::Changed`](crate::error::ErrorKind::Changed) if the input was truncated or
/// modified during the run; [`ErrorKind::Cancelled`](crate::error::ErrorKind::Cancelled) if it was cancelled;
/// [`ErrorKind::Memory`](crate::error::ErrorKind::Memory) for a record longer than a quarter of the strategy's budget.
pub fn fold<'c, F: Fold>(
    operation: &F,
    input: &File,
    choice: impl Into<RunStrategy<'c>>,
    progress: &Progress,
) -> Result<(Stats, F::State)> {
    let choice = choice.into();
    let held = |_: &_| 0;
    match operation.split() {
        // The stripes of a file are whole requests, and those are whole units.
        split @ (Split::Any | Split::Aligned(_)) => {
            anywhere(operation, split, held, input, choice, Parts::AnyOrder, progress)
        }
        Split::Delimiter(delimiter) => {
            let (records, held) = (Records { fold: operation, delimiter }, CarryOver::longest);
            let (stats, state) =
                anywhere(&records, Split::Any, held, input, choice, Parts::FileOrder, progress)?;
            Ok((stats, records.finish(state)))
        }
        Split::Overlap(shared) => {
            let (overlapping, held) = (Overlapping { fold: operation, shared }, |_: &_| 0);
            let (stats, state) =
                anywhere(&overlapping, Split::Any, held, input, choice, Parts::AnyOrder, progress)?;
            Ok((stats, overlapping.finish(state)))
        }
        Split::Sequential => anywhere(operation, Split::Any, held, input, choice, Parts::OneWorker, progress),
    }
}

/// The division of a file into the parts that workers fold.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Parts {
    /// Parts in any order, for states that do not grow with the number of parts.
    AnyOrder,
    /// Parts from front to back: each part that has no neighbour yet holds the records that its ends cut.
    FileOrder,
    /// The whole file: one worker reads it from front to back.
    OneWorker,
}

/// A worker's contiguous run of the file.
struct Piece<S> {
    start: u64,
    end: u64,
    state: S,
}

/// The completed runs, adjacent ones merged: as many as gaps plus one. If the parts go in order, these are few more than workers.
type Runs<S> = Mutex<Vec<Piece<S>>>;

fn add<F: Fold>(fold: &F, done: &Runs<F::State>, mut run: Piece<F::State>) {
    loop {
        let mut runs = done.lock();
        let adjacent = runs.iter().position(|other| other.end == run.start || other.start == run.end);
        let Some(place) = adjacent else { return runs.push(run) };
        let other = runs.swap_remove(place);
        // Merging may take long: the lock is not held.
        drop(runs);
        let (mut left, right) = if other.end == run.start { (other, run) } else { (run, other) };
        fold.merge(&mut left.state, right.state);
        run = Piece { end: right.end, ..left };
    }
}

/// Folds the parts of an input. `held` returns the bytes of the longest record that a state holds.
fn anywhere<F: Fold>(
    operation: &F,
    split: Split,
    held: fn(&F::State) -> usize,
    input: &File,
    choice: RunStrategy<'_>,
    parts: Parts,
    progress: &Progress,
) -> Result<(Stats, F::State)> {
    let checked = CheckedInput::of(input)?;
    let done = Runs::default();
    let transfer = Transfer {
        source: &checked.source(true),
        work: &Work { split, ..Work::none(operation.memory()) },
        sink: &Sink::Visitor { failed: &|| () },
        order: Order::Sequential,
        in_order: true,
        progress,
    };
    let scope = Scope::whole(checked.len.unwrap_or(0));
    let most = if parts == Parts::OneWorker { 1 } else { usize::MAX };
    let run = Run { most, any_order: parts == Parts::AnyOrder, ..Run::new(transfer, &scope, choice) };
    let begin = |offset: u64| Piece { start: offset, end: offset, state: operation.identity() };
    let budget = choice.budget;
    let check = |held: usize| match held as u64 > budget / LONGEST {
        true => Err(record_too_long("fold", RECORD, input.path(), held as u64, budget)),
        false => Ok(()),
    };
    let (stats, pieces) = run.visit(&|| None, &|piece: &mut Option<Piece<F::State>>, offset, bytes| {
        if piece.as_ref().is_some_and(|piece| piece.end != offset)
            && let Some(whole) = piece.take()
        {
            add(operation, &done, whole);
            check(done.lock().iter().map(|piece| held(&piece.state)).max().unwrap_or(0))?;
        }
        let piece = piece.get_or_insert_with(|| begin(offset));
        operation.block(&mut piece.state, offset, bytes);
        piece.end += bytes.len() as u64;
        check(held(&piece.state))
    })?;
    checked.was_whole(&stats)?;
    checked.is_unchanged()?;
    pieces.into_iter().flatten().for_each(|piece| add(operation, &done, piece));
    let mut runs = done.into_inner();
    let state = runs.pop().map_or_else(|| operation.identity(), |piece| piece.state);
    check(held(&state))?;
    debug_assert!(runs.is_empty(), "a gap in {}", input.path().display());
    Ok((stats, state))
}

/// Folds bytes in memory.
pub fn fold_bytes<F: Fold>(operation: &F, bytes: &[u8]) -> F::State {
    // The whole is a part that every split allows.
    let mut state = operation.identity();
    if !bytes.is_empty() {
        operation.block(&mut state, 0, bytes);
    }
    state
}

/// A fold that passes whole records to `fold`; records cut at the ends of a part are carried until the neighbouring part is
/// merged.
pub(super) struct Records<'f, F> {
    pub(super) fold: &'f F,
    pub(super) delimiter: u8,
}

/// Bytes that are not folded yet, and their offset.
#[derive(Default)]
struct Carried {
    start: u64,
    bytes: Vec<u8>,
}

impl Carried {
    fn add(&mut self, offset: u64, bytes: &[u8]) {
        if self.bytes.is_empty() {
            self.start = offset;
        }
        self.bytes.extend_from_slice(bytes);
    }
}

/// The state of a part: its bytes up to the first delimiter, the state of the records after that, and the
/// beginning of one more record.
pub(super) struct CarryOver<S> {
    head: Carried,
    /// State of the records after the head; `None`: the part has no delimiter and is all head.
    records: Option<S>,
    tail: Carried,
    /// Length of the longest record that was joined from blocks, in bytes.
    joined: usize,
}

impl<S> CarryOver<S> {
    /// Length of the longest record that no block holds whole, in bytes.
    fn longest(&self) -> usize {
        self.joined.max(self.head.bytes.len()).max(self.tail.bytes.len())
    }
}

impl<F: Fold> Records<'_, F> {
    pub(super) fn finish(&self, carry_over: CarryOver<F::State>) -> F::State {
        let mut state = self.fold.identity();
        self.fold_in(&mut state, &carry_over.head);
        if let Some(records) = carry_over.records {
            self.fold.merge(&mut state, records);
        }
        self.fold_in(&mut state, &carry_over.tail);
        state
    }

    fn fold_in(&self, state: &mut F::State, carried: &Carried) {
        if !carried.bytes.is_empty() {
            self.fold.block(state, carried.start, &carried.bytes);
        }
    }
}

impl<F: Fold> Fold for Records<'_, F> {
    type State = CarryOver<F::State>;

    fn memory(&self) -> BlockMemory {
        self.fold.memory()
    }

    fn identity(&self) -> Self::State {
        CarryOver { head: Carried::default(), records: None, tail: Carried::default(), joined: 0 }
    }

    fn block(&self, carry_over: &mut Self::State, offset: u64, bytes: &[u8]) {
        let CarryOver { head, records, tail, joined: longest } = carry_over;
        let Some(last) = memchr::memrchr(self.delimiter, bytes) else {
            return if records.is_none() { head } else { tail }.add(offset, bytes);
        };
        // Bytes up to here are joined with bytes carried from before.
        let mut joined = 0;
        let first = memchr::memchr(self.delimiter, bytes).map_or(0, |place| place + 1);
        let records = match records {
            None => {
                head.add(offset, &bytes[..first]);
                joined = first;
                records.insert(self.fold.identity())
            }
            Some(records) => {
                if !tail.bytes.is_empty() {
                    tail.add(offset, &bytes[..first]);
                    joined = first;
                    *longest = (*longest).max(tail.bytes.len());
                    self.fold_in(records, tail);
                    tail.bytes.clear();
                }
                records
            }
        };
        if joined <= last {
            self.fold.block(records, offset + joined as u64, &bytes[joined..=last]);
        }
        tail.add(offset + last as u64 + 1, &bytes[last + 1..]);
    }

    fn merge(&self, left: &mut Self::State, right: Self::State) {
        left.joined = left.joined.max(right.joined);
        let Some(records) = &mut left.records else {
            left.head.add(right.head.start, &right.head.bytes);
            (left.records, left.tail) = (right.records, right.tail);
            return;
        };
        left.tail.add(right.head.start, &right.head.bytes);
        if let Some(more) = right.records {
            left.joined = left.joined.max(left.tail.bytes.len());
            self.fold_in(records, &left.tail);
            self.fold.merge(records, more);
            left.tail = right.tail;
        }
    }
}

/// Passes parts whose neighbours share `shared` bytes: every run of `shared + 1` bytes is seen exactly once.
pub(super) struct Overlapping<'f, F> {
    pub(super) fold: &'f F,
    pub(super) shared: usize,
}

/// The state of a part: its first and last bytes, as many as neighbours share, and the state of its runs.
pub(super) struct Edges<S> {
    state: S,
    start: u64,
    len: u64,
    head: Vec<u8>,
    tail: Vec<u8>,
}

impl<F: Fold> Overlapping<'_, F> {
    /// The final state, after the last part. Input too short for one run is passed as one block.
    pub(super) fn finish(&self, mut edges: Edges<F::State>) -> F::State {
        if edges.len > 0 && edges.len <= self.shared as u64 {
            self.fold.block(&mut edges.state, edges.start, &edges.head);
        }
        edges.state
    }
}

impl<F: Fold> Fold for Overlapping<'_, F> {
    type State = Edges<F::State>;

    fn memory(&self) -> BlockMemory {
        self.fold.memory()
    }

    fn identity(&self) -> Self::State {
        Edges { state: self.fold.identity(), start: 0, len: 0, head: Vec::new(), tail: Vec::new() }
    }

    fn block(&self, edges: &mut Self::State, offset: u64, bytes: &[u8]) {
        if bytes.is_empty() {
            return;
        }
        let shared = self.shared.min(bytes.len());
        let mut state = self.fold.identity();
        if bytes.len() > self.shared {
            self.fold.block(&mut state, offset, bytes);
        }
        let right = Edges {
            state,
            start: offset,
            len: bytes.len() as u64,
            head: bytes[..shared].to_vec(),
            tail: bytes[bytes.len() - shared..].to_vec(),
        };
        self.merge(edges, right);
    }

    fn merge(&self, left: &mut Self::State, right: Self::State) {
        if right.len == 0 {
            return;
        }
        if left.len == 0 {
            *left = right;
            return;
        }
        // Every run that begins in the end of `left` and ends in the start of `right`.
        let mut boundary = std::mem::take(&mut left.tail);
        let boundary_start = left.start + left.len - boundary.len() as u64;
        boundary.extend_from_slice(&right.head);
        if boundary.len() > self.shared {
            self.fold.block(&mut left.state, boundary_start, &boundary);
        }
        self.fold.merge(&mut left.state, right.state);
        if left.head.len() < self.shared {
            let more = self.shared - left.head.len();
            left.head.extend_from_slice(&right.head[..more.min(right.head.len())]);
        }
        left.tail = if right.tail.len() < self.shared {
            // All of `right` belongs to its tail.
            boundary.split_off(boundary.len().saturating_sub(self.shared))
        } else {
            right.tail
        };
        left.len += right.len;
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::operation::folded::folded;

    struct Shown;

    impl Fold for Shown {
        type State = Vec<(u64, Vec<u8>)>;

        fn identity(&self) -> Self::State {
            Vec::new()
        }

        fn block(&self, state: &mut Self::State, offset: u64, bytes: &[u8]) {
            state.push((offset, bytes.to_vec()));
        }

        fn merge(&self, left: &mut Self::State, right: Self::State) {
            left.extend(right);
        }
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(2000))]
        #[test]
        fn records_are_passed_whole_in_order_and_once(
            text in "[ab\n]{0,40}", cuts in proptest::collection::vec(any::<usize>(), 0..12),
            order in proptest::collection::vec(any::<usize>(), 1..6),
        ) {
            let text = text.as_bytes();
            let records = Records { fold: &Shown, delimiter: b'\n' };
            let shown = records.finish(folded(&records, text, 1, &cuts, &order));
            let mut at = 0;
            for (offset, bytes) in shown {
                prop_assert_eq!(offset, at as u64);
                prop_assert_eq!(&bytes[..], &text[at..at + bytes.len()]);
                at += bytes.len();
                prop_assert!(at == text.len() || text[at - 1] == b'\n');
            }
            prop_assert_eq!(at, text.len());
        }

        #[test]
        fn every_run_is_passed_once(
            text in "[ab]{0,40}", cuts in proptest::collection::vec(any::<usize>(), 0..12),
            order in proptest::collection::vec(any::<usize>(), 1..6), shared in 0usize..6,
        ) {
            let text = text.as_bytes();
            let overlapping = Overlapping { fold: &Shown, shared };
            let shown = overlapping.finish(folded(&overlapping, text, 1, &cuts, &order));
            let mut runs: Vec<u64> = Vec::new();
            for (offset, bytes) in shown {
                prop_assert_eq!(&bytes[..], &text[offset as usize..offset as usize + bytes.len()]);
                let count = (bytes.len() as u64).saturating_sub(shared as u64);
                runs.extend(offset..offset + count);
                if count == 0 {
                    prop_assert_eq!(bytes.len(), text.len(), "only a whole text is shorter than a run");
                }
            }
            runs.sort_unstable();
            prop_assert_eq!(runs, (0..(text.len() as u64).saturating_sub(shared as u64)).collect::<Vec<_>>());
        }
    }
}
