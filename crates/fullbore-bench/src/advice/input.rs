//! Selection of the cells that advice may rest on, and their grouping.

use fullbore::strategy::{InputState, ProfileJob};

use crate::document::{
    Allocation, CacheState, Cell, FileState, Findings, Labels, Operation, Summary, is_ordinary,
};
use crate::grouping::{self, distinct};
use crate::stats::Estimate;

/// Fewest usable samples for a confident result.
const FEW: usize = 4;

/// A measured cell that advice may rest on.
#[derive(Debug, Clone, Copy)]
pub(super) struct EligibleCell<'a> {
    pub(super) cell: &'a Cell,
    pub(super) labels: &'a Labels,
    pub(super) summary: &'a Summary,
}

impl<'a> EligibleCell<'a> {
    /// Examines a cell; `None` without usable samples, if the meter limits it, or if proof contradicts half of the samples or
    /// more.
    pub(super) fn of(cell: &'a Cell) -> Option<Self> {
        let summary = cell.summary.as_ref()?;
        // Those that do not count beside longer ones, or of the other regime, too.
        let usable = cell.samples.iter().filter(|sample| sample.usable()).count();
        let sound = !summary.tool_bound
            && summary.contradicted < usable.max(1)
            && summary.rate.value.is_finite()
            && summary.rate.value > 0.0
            && cell.labels.cache != Some(CacheState::Mixed);
        sound.then_some(Self { cell, labels: &cell.labels, summary })
    }

    /// Bytes per second.
    pub(super) fn rate(&self) -> f64 {
        self.summary.rate.value
    }

    /// Charged CPU seconds per megabyte.
    pub(super) fn cost(&self) -> Estimate {
        self.summary.cpu_per_mb.charged
    }

    pub(super) fn is_thin(&self) -> bool {
        self.summary.n < FEW
    }

    pub(super) fn is_same_cell(&self, other: &Self) -> bool {
        self.cell.id == other.cell.id
    }
}

pub(super) struct AdviceInput<'a> {
    /// Every eligible cell, peers and special conditions included.
    pub(super) eligible_cells: Vec<EligibleCell<'a>>,
    pub(super) findings: &'a Findings,
}

impl<'a> AdviceInput<'a> {
    pub(super) fn new(cells: &'a [Cell], findings: &'a Findings) -> Self {
        let eligible_cells =
            cells.iter().filter_map(EligibleCell::of).filter(|w| w.labels.method.uses_storage());
        Self { eligible_cells: eligible_cells.collect(), findings }
    }

    /// Every eligible cell but those of peers.
    pub(super) fn ours(&self) -> Vec<EligibleCell<'a>> {
        self.eligible_cells.iter().copied().filter(|w| w.labels.peer.is_none()).collect()
    }

    /// Fullbore's own cells: one stream to one disk, at full speed, without a memory limit.
    pub(super) fn own(&self) -> Vec<EligibleCell<'a>> {
        let choosable = |labels: &Labels| is_usual(labels) && !labels.tests_device();
        self.eligible_cells.iter().copied().filter(|w| choosable(w.labels)).collect()
    }

    /// Own cells without a variant, determined by strategy alone.
    pub(super) fn plain(&self) -> Vec<EligibleCell<'a>> {
        self.own().into_iter().filter(|w| w.labels.variant.is_none()).collect()
    }

    pub(super) fn find(&self, id: &str) -> Option<EligibleCell<'a>> {
        self.eligible_cells.iter().copied().find(|w| w.cell.id == id)
    }
}

pub(super) fn ids<'a: 'b, 'b>(cells: impl IntoIterator<Item = &'b EligibleCell<'a>>) -> Vec<String> {
    distinct(cells.into_iter().map(|eligible| eligible.cell.id.clone()))
}

/// True for fullbore's own cells: one stream to one disk, at full speed, without a memory limit.
pub(super) fn is_usual(labels: &Labels) -> bool {
    is_ordinary(labels) && labels.streams.is_none() && labels.targets.is_none()
}

/// Source of the bytes that a cell reads, or destination of those it writes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum End {
    Cache,
    Device,
    /// The labels specify neither.
    Unknown,
}

/// Source of the bytes (reads, operations) or their destination (writes).
pub(super) fn end(labels: &Labels) -> End {
    match (&labels.operation, labels.cache) {
        (Operation::Write | Operation::Append, _)
            if labels.bypasses_cache() || labels.flush == Some(true) =>
        {
            End::Device
        }
        (Operation::Write, _) | (_, Some(CacheState::Warm)) => End::Cache,
        (_, Some(CacheState::Cold)) => End::Device,
        (Operation::Read, _) if labels.bypasses_cache() => End::Device,
        _ => End::Unknown,
    }
}

/// The way in which the blocks of an output are allocated.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Growth {
    Over,
    /// Existing blocks were freed when the file was opened.
    Truncated,
    /// Blocks were allocated in advance.
    Preallocated,
    /// Only the length was set in advance.
    Sized,
    Extended,
}

/// The way in which a cell's output grows; `None` if it has no output, or the labels do not specify it.
pub(super) fn growth(labels: &Labels) -> Option<Growth> {
    use Allocation::{Extend, Fallocate, Reserve, Size};
    use FileState::{Existing, Extended, New, Overwritten, Preallocated, Truncated};
    Some(match (&labels.file_state, &labels.allocation) {
        (Some(Overwritten | Existing), _) => Growth::Over,
        (Some(Truncated), _) => Growth::Truncated,
        (Some(Preallocated), _) => Growth::Preallocated,
        (Some(Extended | New) | None, Some(Fallocate | Reserve)) => Growth::Preallocated,
        (Some(Extended | New) | None, Some(Size)) => Growth::Sized,
        (Some(Extended | New), None | Some(Extend)) | (None, Some(Extend)) => Growth::Extended,
        _ => return None,
    })
}

/// The task of a cell, independent of the method; cells of one task may be compared.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct TaskKey<'a> {
    pub(super) experiment: &'a str,
    pub(super) job: &'a str,
    pub(super) operation: &'a str,
    /// `sequential`, or another order.
    pub(super) order: &'a str,
    pub(super) end: End,
    pub(super) over: bool,
    pub(super) flush: Option<bool>,
    pub(super) file_bytes: Option<u64>,
    /// Set for random requests: those of different sizes are different tasks.
    pub(super) request: Option<u64>,
    pub(super) variant: Option<&'a str>,
}

impl<'a> TaskKey<'a> {
    pub(super) fn of(cell: &'a Cell) -> Self {
        let labels = &cell.labels;
        Self {
            experiment: &cell.experiment,
            job: &labels.job,
            operation: &labels.operation,
            order: labels.order.as_deref().unwrap_or("sequential"),
            end: end(labels),
            over: matches!(growth(labels), None | Some(Growth::Over)),
            flush: labels.flush,
            file_bytes: labels.file_bytes,
            request: labels.request_bytes.filter(|_| !labels.is_sequential()),
            variant: labels.variant.as_deref(),
        }
    }
}

pub(super) fn is_single(labels: &Labels) -> bool {
    labels.depth.is_none_or(|depth| depth == 1) && labels.workers.is_none_or(|workers| workers == 1)
}

pub(super) fn by_task<'a>(cells: &[EligibleCell<'a>]) -> Vec<Vec<EligibleCell<'a>>> {
    grouped(cells, |w| TaskKey::of(w.cell))
}

/// Groups cells by a key, in the order of first appearance.
pub(super) fn grouped<'a, K: PartialEq>(
    cells: &[EligibleCell<'a>],
    key: impl Fn(&EligibleCell<'a>) -> K,
) -> Vec<Vec<EligibleCell<'a>>> {
    let groups = grouping::grouped(cells.iter().map(|eligible| (key(eligible), *eligible)));
    groups.into_iter().map(|(_, group)| group).collect()
}

pub(super) fn only<'a>(
    cells: Vec<EligibleCell<'a>>,
    suits: impl Fn(&Labels) -> bool,
) -> Vec<EligibleCell<'a>> {
    cells.into_iter().filter(|w| suits(w.labels)).collect()
}

pub(super) fn fastest<'a>(cells: impl IntoIterator<Item = EligibleCell<'a>>) -> Option<EligibleCell<'a>> {
    cells.into_iter().max_by(|a, b| a.rate().total_cmp(&b.rate()))
}

pub(super) fn slowest(cells: Vec<EligibleCell<'_>>) -> Option<EligibleCell<'_>> {
    cells.into_iter().min_by(|a, b| a.rate().total_cmp(&b.rate()))
}

/// Cells without a job that did exactly the work of the job “read”, by cache state: whole requests from front to back
/// into memory. They are used if no cell was tried under the job's name. Nothing is inferred from one cache state, size
/// or method to another.
pub(crate) fn reads_without_trial(cells: &[Cell]) -> Vec<(ProfileJob, Vec<&Cell>)> {
    let reads = |l: &Labels| {
        is_usual(l)
            && l.variant.is_none()
            && l.operation == Operation::Read
            && l.job.is_empty()
            && l.is_sequential()
            && l.file_bytes.is_none()
            && l.strategy.is_some()
    };
    let end_of = |cell: &Cell| EligibleCell::of(cell).filter(|w| reads(w.labels)).map(|w| end(w.labels));
    [(InputState::Warm, End::Cache), (InputState::Cold, End::Device)]
        .into_iter()
        .map(|(cache, wanted)| {
            let here: Vec<&Cell> = cells.iter().filter(|cell| end_of(cell) == Some(wanted)).collect();
            (ProfileJob::Read(cache), here)
        })
        .filter(|(_, cells)| !cells.is_empty())
        .collect()
}
