//! Folds a file: each worker a run of blocks at a time, the runs merged in file order.

use std::collections::BTreeMap;
use std::sync::atomic::AtomicBool;
use std::sync::{Mutex, PoisonError};

use super::carry_over::{Overlapping, Records};
use super::checked::CheckedInput;
use super::order::{Order, Scope};
use super::progress::{Progress, Stats};
use super::run::Run;
use super::transfer_loop::{Sink, Transfer, Work};
use crate::operation::{Fold, Split};
use crate::strategy::Choice;
use fullbore_io::error::Result;
use fullbore_io::file::File;

/// Folds `operation` over all of `input`: a file on the strategy's workers, a pipe or device on the next free worker.
///
/// # Errors
/// The system's, with path and offset; [`ErrorKind::Changed`](crate::error::ErrorKind::Changed) if the input was truncated or
/// modified meanwhile; [`ErrorKind::Cancelled`](crate::error::ErrorKind::Cancelled) if it was cancelled.
pub fn fold<'c, F: Fold>(
    operation: &F,
    input: &File,
    choice: impl Into<Choice<'c>>,
    progress: &Progress,
) -> Result<(Stats, F::State)> {
    let choice = choice.into();
    match operation.split() {
        // The stripes of a file are whole requests, and those are whole units.
        split @ (Split::Any | Split::Aligned(_)) => {
            anywhere(operation, split, input, choice, usize::MAX, progress)
        }
        Split::Delimiter(delimiter) => {
            let records = Records { fold: operation, delimiter };
            let (stats, state) = anywhere(&records, Split::Any, input, choice, usize::MAX, progress)?;
            Ok((stats, records.finish(state)))
        }
        Split::Overlap(shared) => {
            let overlapping = Overlapping { fold: operation, shared };
            let (stats, state) = anywhere(&overlapping, Split::Any, input, choice, usize::MAX, progress)?;
            Ok((stats, overlapping.finish(state)))
        }
        Split::Sequential => anywhere(operation, Split::Any, input, choice, 1, progress),
    }
}

/// A worker's contiguous run of the file.
struct Piece<S> {
    start: u64,
    end: u64,
    state: S,
}

/// The completed runs, adjacent ones merged: there are as many as gaps plus one, so few more than workers.
struct Runs<S> {
    runs: Mutex<BTreeMap<u64, (u64, S)>>,
}

impl<S> Runs<S> {
    fn add<F: Fold<State = S>>(&self, fold: &F, run: Piece<S>) {
        let mut run = run;
        loop {
            let mut runs = self.runs.lock().unwrap_or_else(PoisonError::into_inner);
            let before = runs.range(..run.start).next_back().filter(|(_, (end, _))| *end == run.start);
            let before = before.map(|(&start, _)| start);
            // Merging may take long: the lock is not held.
            if let Some((start, (_, mut left))) = before.and_then(|start| runs.remove_entry(&start)) {
                drop(runs);
                fold.merge(&mut left, run.state);
                run = Piece { start, end: run.end, state: left };
            } else if let Some((end, right)) = runs.remove(&run.end) {
                drop(runs);
                fold.merge(&mut run.state, right);
                run.end = end;
            } else {
                runs.insert(run.start, (run.end, run.state));
                return;
            }
        }
    }
}

fn anywhere<F: Fold>(
    operation: &F,
    split: Split,
    input: &File,
    choice: Choice<'_>,
    most: usize,
    progress: &Progress,
) -> Result<(Stats, F::State)> {
    let checked = CheckedInput::of(input)?;
    let done = Runs { runs: Mutex::new(BTreeMap::new()) };
    let run = Run {
        transfer: Transfer {
            source: &checked.source(true),
            work: &Work { operation: None, in_place: false, split },
            sink: &Sink::Visitor { failed: &|| () },
            order: Order::Sequential,
            in_order: true,
            progress,
        },
        scope: &Scope::whole(checked.len.unwrap_or(0)),
        choice,
        most,
        any_order: most > 1,
        enough: &AtomicBool::new(false),
    };
    let begin = |offset: u64| Piece { start: offset, end: offset, state: operation.identity() };
    let (stats, pieces) = run.visit(&|| None, &|piece: &mut Option<Piece<F::State>>, offset, bytes| {
        if piece.as_ref().is_some_and(|piece| piece.end != offset)
            && let Some(whole) = piece.take()
        {
            done.add(operation, whole);
        }
        let piece = piece.get_or_insert_with(|| begin(offset));
        operation.block(&mut piece.state, offset, bytes);
        piece.end += bytes.len() as u64;
        Ok(())
    })?;
    checked.was_whole(&stats)?;
    checked.is_unchanged()?;
    pieces.into_iter().flatten().for_each(|piece| done.add(operation, piece));
    let mut runs = done.runs.into_inner().unwrap_or_else(PoisonError::into_inner).into_values();
    let state = runs.next().map_or_else(|| operation.identity(), |(_, state)| state);
    debug_assert!(runs.next().is_none(), "a gap in {}", input.path().display());
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
