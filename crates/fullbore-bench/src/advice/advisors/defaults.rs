//! Common defaults: the settings of usual programs, compared with the best for the same job.

use super::super::candidate::{Candidate, NamedRatio};
use super::super::input::{AdviceInput, EligibleCell, End};
use super::super::jobs::{best, cells, counts_requests, describe, place, typed};
use crate::document::{JobKind, Labels};
use crate::units;

/// A default of usual programs.
struct CommonDefault {
    /// The programs, as the beginning of a sentence.
    who: &'static str,
    job: JobKind,
    /// True for the cells with its settings.
    is: fn(&Labels) -> bool,
}

const COMMON: &[CommonDefault] = &[
    CommonDefault {
        who: "Large reads, as by `cat`, `cp` and Python's `read()`",
        job: JobKind::BulkRead,
        is: |labels| buffered(labels, 128 << 10..=256 << 10),
    },
    CommonDefault {
        who: "Reads of 8 KiB, as by PostgreSQL and Java's streams",
        job: JobKind::BulkRead,
        is: |labels| buffered(labels, 8 << 10..=8 << 10),
    },
    CommonDefault {
        who: "`dd` without `bs`",
        job: JobKind::BulkRead,
        is: |labels| buffered(labels, 512..=512),
    },
    CommonDefault {
        who: "Writes of 4 KiB, as by C's `stdio`",
        job: JobKind::BulkWrite,
        is: |labels| buffered(labels, 4 << 10..=4 << 10),
    },
    CommonDefault {
        who: "`dd bs=1M conv=fdatasync`",
        job: JobKind::BulkWrite,
        is: |labels| buffered(labels, 1 << 20..=1 << 20) && labels.flush == Some(true),
    },
    CommonDefault { who: "`cp`", job: JobKind::Copy, is: |labels| labels.peer.is_some() },
    CommonDefault {
        who: "A database that reads its pages one at a time",
        job: JobKind::RandomReads,
        is: |labels| labels.method == "buffered" && one(labels),
    },
    CommonDefault {
        who: "`cat`, `tar` and `cp -r`, which open one small file after another",
        job: JobKind::SmallFiles,
        is: |labels| labels.workers == Some(1),
    },
    CommonDefault {
        who: "A log that grows, with `fdatasync` after each record",
        job: JobKind::Append,
        is: |labels| labels.file_state.as_deref() == Some("extended") && labels.variant.is_none(),
    },
];

fn one(labels: &Labels) -> bool {
    labels.workers.unwrap_or(1) == 1 && labels.depth.unwrap_or(1) == 1
}

fn buffered(labels: &Labels, request: std::ops::RangeInclusive<u64>) -> bool {
    labels.method == "buffered"
        && one(labels)
        && labels.operation != "count lines"
        && labels.request_bytes.is_some_and(|bytes| request.contains(&bytes))
}

pub(super) fn advise(input: &AdviceInput<'_>) -> Vec<Candidate> {
    let ends = [End::Device, End::Cache];
    COMMON.iter().flat_map(|common| ends.iter().filter_map(|&end| of_default(common, end, input))).collect()
}

fn of_default<'a>(common: &CommonDefault, end: End, input: &AdviceInput<'a>) -> Option<Candidate> {
    let CommonDefault { who, job, is } = *common;
    let usual = cells(job, end, input).into_iter().find(|w| is(w.labels))?;
    let best = best(job, end, input)?.chosen;
    let (new, old) = (describe(job, best.labels), describe(job, usual.labels));
    let ratio = NamedRatio::faster((new.as_str(), best), (old.as_str(), usual), input)?;
    let per_second = |w: EligibleCell<'_>| match w.summary.requests_per_s {
        Some(requests) if counts_requests(job) => units::requests_rate(requests),
        _ => units::rate(w.rate()),
    };
    let text = format!(
        "{who}, {}: use {new}, {} instead of {}, {} as fast{}.",
        place(job, end),
        per_second(best),
        per_second(usual),
        ratio.times(),
        ratio.at_cost()
    );
    let mut candidate = ratio.candidate([], format!("default|{who}|{end:?}"), text);
    candidate.advice.setting = typed(job, best.labels);
    Some(candidate)
}
