//! The kinds of job that most programs do: the cells that measure each, and the settings to type.

use fullbore::size::exact;

use super::input::{AdviceInput, EligibleCell, End, end, is_usual};
use super::words::way;
use crate::document::{
    AccessMethod, Cell, FileState, JobKind, Labels, Operation, RateUnit, Recommendation, page_size,
};
use crate::simplicity::choose;

/// Random requests of up to this many bytes are pages.
const PAGE: u64 = 16 << 10;

/// The program whose copies compete with ours.
const CP: &str = "cp";

/// The recommendation for each kind of job that was measured; from the device rather than from the page cache.
pub(super) fn recommendations(input: &AdviceInput<'_>) -> Vec<Recommendation> {
    let first = |kind| {
        [End::Device, End::Cache]
            .into_iter()
            .find_map(|end| Some((kind, end, best(&cells(kind, end, input))?)))
    };
    JobKind::ALL
        .into_iter()
        .filter_map(first)
        .map(|(kind, end, (chosen, fastest))| recommendation(kind, end, chosen, fastest))
        .collect()
}

/// The best cell of a job, the simplest of those within 5% of the fastest; and the fastest.
pub(super) fn best<'a>(cells: &[EligibleCell<'a>]) -> Option<(EligibleCell<'a>, EligibleCell<'a>)> {
    let (chosen, fastest) = choose(&cells.iter().map(|w| w.cell).collect::<Vec<&Cell>>())?;
    let of = |cell: &Cell| cells.iter().copied().find(|w| w.cell.id == cell.id);
    Some((of(chosen)?, of(fastest)?))
}

pub(super) fn cells<'a>(kind: JobKind, wanted: End, input: &AdviceInput<'a>) -> Vec<EligibleCell<'a>> {
    let fits = |w: &&EligibleCell<'a>| is_of(kind, w.labels) && end(w.labels) == wanted;
    let found: Vec<EligibleCell<'a>> = input.eligible_cells.iter().filter(fits).copied().collect();
    // Requests of one size only: the rate of pages is one of requests, not of bytes.
    let request = page_size(found.iter().filter_map(|w| w.labels.request_bytes));
    let pages = matches!(kind, JobKind::RandomReads | JobKind::Append);
    // A write without a flush may end in the device's cache: it is not compared with one that is flushed.
    let flushed = kind == JobKind::BulkWrite && found.iter().any(|w| w.labels.flush == Some(true));
    let comparable = |w: &EligibleCell<'_>| {
        (!pages || w.labels.request_bytes == request) && (!flushed || w.labels.flush == Some(true))
    };
    found.into_iter().filter(comparable).collect()
}

pub(super) fn is_of(kind: JobKind, labels: &Labels) -> bool {
    let operation = &labels.operation;
    let usual = is_usual(labels);
    let plain = usual && labels.variant.is_none() && labels.file_bytes.is_none();
    let over = labels.file_state.as_ref().is_none_or(|state| *state == FileState::Overwritten);
    match kind {
        // Counting lines reads every byte; the rate of reading alone is at least as high.
        JobKind::BulkRead => {
            plain
                && labels.is_sequential()
                && matches!(operation, Operation::Read | Operation::CountLines)
                && labels.method != AccessMethod::Command
        }
        JobKind::BulkWrite => plain && labels.is_sequential() && *operation == Operation::Write && over,
        JobKind::Copy => {
            let cp = Labels { peer: None, ..labels.clone() };
            *operation == Operation::Copy
                && (plain || labels.peer.as_deref() == Some(CP) && is_usual(&cp))
                && labels.file_state != Some(FileState::Existing)
        }
        JobKind::RandomReads => {
            plain
                && labels.is_random_over_file()
                && *operation == Operation::Read
                && labels.request_bytes.is_some_and(|bytes| bytes <= PAGE)
        }
        JobKind::SmallFiles => usual && *operation == Operation::SmallFiles,
        JobKind::Append => usual && *operation == Operation::Append,
    }
}

fn recommendation(
    kind: JobKind,
    end: End,
    chosen: EligibleCell<'_>,
    fastest: EligibleCell<'_>,
) -> Recommendation {
    let (labels, summary) = (chosen.labels, chosen.summary);
    let (rate, unit) = match summary.requests_per_s.filter(|_| counts_requests(kind)) {
        Some(requests) => (summary.rate.scaled(requests / summary.rate.value), RateUnit::Requests),
        None => (summary.rate, RateUnit::Bytes),
    };
    let same = fastest.is_same_cell(&chosen);
    let reads = !matches!(kind, JobKind::BulkWrite | JobKind::Append);
    let doubt = if reads && summary.unproved > 0 { ", cache state unproved" } else { "" };
    Recommendation {
        job: kind,
        place: format!("{}{doubt}", place(kind, end)),
        method: describe(kind, labels),
        command: command(kind, labels),
        plain: plain(kind, labels),
        cell: chosen.cell.id.clone(),
        rate,
        unit,
        no_difference_from: (!same).then(|| describe(kind, fastest.labels)),
    }
}

pub(super) fn counts_requests(kind: JobKind) -> bool {
    matches!(kind, JobKind::RandomReads | JobKind::SmallFiles | JobKind::Append)
}

/// Source or destination of the bytes of a job, in words.
pub(super) fn place(kind: JobKind, end: End) -> &'static str {
    match (kind, end) {
        (JobKind::Append, _) | (JobKind::BulkWrite, End::Device) => "to the device",
        (JobKind::BulkWrite, _) => "to the page cache",
        (_, End::Device) => "from the device",
        (..) => "from the page cache",
    }
}

pub(super) fn describe(kind: JobKind, labels: &Labels) -> String {
    let workers = labels.workers.unwrap_or(1);
    match kind {
        JobKind::Copy if labels.peer.is_some() => labels.peer.clone().unwrap_or_default(),
        JobKind::Copy if labels.method == AccessMethod::Command => "fullbore copy".into(),
        JobKind::SmallFiles if labels.workers.is_none() => "workers added while files wait".into(),
        JobKind::SmallFiles if workers == 1 => "one file after another".into(),
        JobKind::SmallFiles => format!("{workers} files at a time"),
        JobKind::Append => {
            let sync = if labels.variant.is_some() { "O_DSYNC" } else { "fdatasync" };
            let file = match labels.file_state {
                Some(FileState::Preallocated) => "blocks allocated in advance",
                Some(FileState::Overwritten) => "blocks written in advance",
                _ => "the file grows",
            };
            format!("{sync}, {file}")
        }
        _ => way(labels),
    }
}

/// The command, or the calls, with the strategy of a cell: fullbore's if there is one.
pub(super) fn typed(kind: JobKind, labels: &Labels) -> Option<String> {
    command(kind, labels).or_else(|| plain(kind, labels))
}

/// The command of fullbore with the strategy of a cell.
fn command(kind: JobKind, labels: &Labels) -> Option<String> {
    // A programming interface is chosen when a program is written: it has no strategy.
    let is_interface = labels.strategy.is_none() && labels.method.registered().is_none();
    let flag = match labels.strategy.as_deref() {
        None | Some("" | "auto") => String::new(),
        Some(strategy) => format!(" --strategy {strategy}"),
    };
    match kind {
        JobKind::BulkRead | JobKind::BulkWrite if is_interface => None,
        JobKind::BulkRead => Some(format!("fullbore sum{flag} FILE")),
        JobKind::BulkWrite => {
            let sync = if labels.flush == Some(true) { " --sync data" } else { "" };
            Some(format!("fullbore gen{flag}{sync} --overwrite SIZE FILE"))
        }
        JobKind::Copy => labels.peer.is_none().then(|| format!("fullbore copy{flag} FROM TO")),
        JobKind::SmallFiles => {
            let workers = labels.workers.map_or(String::new(), |workers| format!(" --workers {workers}"));
            Some(format!("fullbore wc{workers} FILES"))
        }
        JobKind::RandomReads | JobKind::Append => None,
    }
}

/// The usual command or calls with the strategy of a cell.
fn plain(kind: JobKind, labels: &Labels) -> Option<String> {
    let one = labels.workers.unwrap_or(1) == 1 && labels.depth.unwrap_or(1) == 1;
    let request = labels.request_bytes.map(exact);
    // The mechanisms of the library's asynchronous files: the document may be of another system.
    let queues = ["uring", "port"].contains(&&*labels.method);
    let flush = if labels.flush == Some(true) { ",fdatasync" } else { "" };
    match (kind, &labels.method, request) {
        // Direct transfers of `dd` are slower on some devices: its memory is not on huge pages.
        (JobKind::BulkRead, AccessMethod::Buffered, Some(request)) if one => {
            Some(format!("dd if=FILE of=/dev/null bs={request}"))
        }
        (JobKind::BulkWrite, AccessMethod::Buffered, Some(request)) if one => {
            Some(format!("dd of=FILE bs={request} conv=notrunc{flush}"))
        }
        (JobKind::Copy, AccessMethod::Command, _) => {
            labels.peer.as_ref().map(|peer| format!("{peer} FROM TO"))
        }
        (JobKind::Copy, AccessMethod::Buffered, Some(request)) if one => {
            Some(format!("dd if=FROM of=TO bs={request}"))
        }
        (JobKind::RandomReads, method @ (AccessMethod::Buffered | AccessMethod::Direct), Some(request)) => {
            let flag = if *method == AccessMethod::Direct { "O_DIRECT, " } else { "" };
            let threads = labels.workers.unwrap_or(1);
            let by = if one { ", one at a time".into() } else { format!(" by {threads} threads") };
            Some(format!("{flag}pread of {request}{by}"))
        }
        (JobKind::RandomReads, _, Some(request)) if queues => {
            let policy = if labels.has_direct_policy() { " with CachePolicy::Direct" } else { "" };
            let flying = labels.workers.unwrap_or(1) * labels.depth.unwrap_or(1);
            Some(format!("AsyncFile::read_at{policy}, {flying} reads of {request} in flight"))
        }
        (JobKind::SmallFiles, AccessMethod::Buffered, _) => match labels.workers {
            None | Some(0 | 1) => Some("cat FILES".into()),
            Some(workers) => Some(format!("xargs -P {workers} -n 16 cat")),
        },
        (JobKind::Append, _, Some(request)) if labels.variant.is_some() => {
            // Blocks that exist are overwritten from the start of the log.
            let append = if labels.file_state == Some(FileState::Extended) { "append," } else { "" };
            Some(format!("dd of=LOG bs={request} oflag={append}dsync conv=notrunc"))
        }
        (JobKind::Append, ..) => Some("write, fdatasync".into()),
        _ => None,
    }
}
