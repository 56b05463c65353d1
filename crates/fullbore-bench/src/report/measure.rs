//! The measures that a chart can show of a cell, with their units and captions.

use crate::document::{Axis, Figure, Summary};
use crate::stats::Estimate;
use crate::units;

/// A measure of a cell that a chart can show.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Measure {
    Rate,
    Requests,
    CpuPerMb,
    CpuPerRequest,
    Processors,
}

impl Measure {
    /// The measure of a figure with one value per cell; `None` for the others.
    pub(super) fn shown_by(figure: Figure) -> Option<Self> {
        match figure {
            Figure::Rate => Some(Self::Rate),
            Figure::Requests => Some(Self::Requests),
            Figure::CpuPerMb => Some(Self::CpuPerMb),
            Figure::CpuPerRequest => Some(Self::CpuPerRequest),
            Figure::Processors => Some(Self::Processors),
            Figure::Latency
            | Figure::Phases
            | Figure::Pipeline
            | Figure::Fairness
            | Figure::Regret
            | Figure::Course => None,
        }
    }

    pub(super) fn is_cost(self) -> bool {
        matches!(self, Self::CpuPerMb | Self::CpuPerRequest | Self::Processors)
    }

    /// True for CPU time per unit of work, where less is better.
    pub(super) fn per_work(self) -> bool {
        matches!(self, Self::CpuPerMb | Self::CpuPerRequest)
    }

    /// The value in base units: bytes or requests per second, seconds.
    pub(super) fn of(self, summary: &Summary) -> Option<Estimate> {
        match self {
            Self::Rate => Some(summary.rate),
            // Requests have one size within a cell, so the interval of the rate carries over.
            Self::Requests => {
                let requests = summary.requests_per_s?;
                (summary.rate.value > 0.0).then(|| summary.rate.scaled(requests / summary.rate.value))
            }
            Self::CpuPerMb => Some(summary.cpu_per_mb.charged),
            Self::CpuPerRequest => summary.cpu_per_request.map(|c| c.charged),
            Self::Processors => summary.processors,
        }
    }

    /// Unit for a chart whose largest value is `highest`, with the factor that converts to it.
    pub(super) fn unit(self, highest: f64) -> (f64, &'static str) {
        match self {
            Self::Rate if highest >= 1e9 => (1e-9, "GB/s"),
            Self::Rate => (1e-6, "MB/s"),
            Self::Requests if highest >= 2e3 => (1e-3, "1000 requests/s"),
            Self::Requests => (1.0, "requests/s"),
            Self::CpuPerMb => (1e3, "CPU time, ms/MB"),
            Self::CpuPerRequest => (1e6, "CPU time, µs/request"),
            Self::Processors => (1.0, "processors busy"),
        }
    }

    /// A value with its unit: `3.12 GB/s`.
    pub(super) fn text(self, value: f64) -> String {
        match self {
            Self::Rate => units::rate(value),
            Self::Requests => units::requests_rate(value),
            Self::CpuPerMb => format!("{} ms/MB", units::ms_per_mb(value)),
            Self::CpuPerRequest => format!("{} per request", units::seconds(value)),
            Self::Processors => format!("{} busy", units::significant(value)),
        }
    }

    /// Start of a chart's caption.
    pub(super) fn caption(self) -> &'static str {
        match self {
            Self::Rate => "Rate",
            Self::Requests => "Requests per second",
            Self::CpuPerMb => "CPU time per megabyte",
            Self::CpuPerRequest => "CPU time per request",
            Self::Processors => "Processors busy",
        }
    }

    /// Part of a file name.
    pub(super) fn stem(self) -> &'static str {
        match self {
            Self::Rate => "rate",
            Self::Requests => "requests",
            Self::CpuPerMb => "cpu-per-mb",
            Self::CpuPerRequest => "cpu-per-request",
            Self::Processors => "processors",
        }
    }
}

/// The title of the x axis.
pub(super) fn axis_title(axis: Axis) -> &'static str {
    match axis {
        Axis::Request => "request size",
        Axis::Depth => "depth: requests in flight",
        Axis::File => "length of the file",
        Axis::Streams => "concurrent streams",
        Axis::Targets => "concurrent disks",
        Axis::Offset => "offset from a multiple of the request size",
        Axis::Load => "offered load, requests per second",
        Axis::None => "",
    }
}

/// The axis as part of a caption: ` by request size`.
pub(super) fn by_axis(axis: Axis) -> &'static str {
    match axis {
        Axis::Request => " by request size",
        Axis::Depth => " by depth",
        Axis::File => " by length of the file",
        Axis::Streams => " by number of streams",
        Axis::Targets => " by number of disks",
        Axis::Offset => " by alignment",
        Axis::Load => " by load",
        Axis::None => "",
    }
}

/// The heading of the axis in a table.
pub(super) fn axis_heading(axis: Axis) -> &'static str {
    match axis {
        Axis::Request => "request",
        Axis::Depth => "depth",
        Axis::File => "file",
        Axis::Streams => "streams",
        Axis::Targets => "disks",
        Axis::Offset => "offset",
        Axis::Load => "load",
        Axis::None => "",
    }
}

/// A position as a tick: `64K`, `1M`, `2k/s`.
pub(super) fn tick(axis: Axis, at: u64) -> String {
    match axis {
        Axis::Offset if at == 0 => "aligned".into(),
        Axis::Request | Axis::File | Axis::Offset => {
            let size = units::size(at);
            ["KiB", "MiB", "GiB", "TiB", "B"]
                .iter()
                .find_map(|unit| Some(size.strip_suffix(unit)?.trim_end().to_owned() + &unit[..1]))
                .unwrap_or(size)
        }
        Axis::Load if at >= 1000 => {
            units::significant(at as f64 / 1e3).trim_end_matches('0').trim_end_matches('.').to_owned() + "k"
        }
        _ => at.to_string(),
    }
}

/// A position between measured ones: `11.3 KiB`, `4.6`.
pub(super) fn between(axis: Axis, at: f64) -> String {
    if axis == Axis::Request { units::about_size(at) } else { units::significant(at) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ticks_are_short() {
        for (axis, at, text) in [
            (Axis::Request, 65536, "64K"),
            (Axis::Request, 512, "512B"),
            (Axis::File, 640_000_000, "640 MB"),
            (Axis::Offset, 0, "aligned"),
            (Axis::Load, 2500, "2.5k"),
            (Axis::Load, 20_000, "20k"),
            (Axis::Load, 500, "500"),
            (Axis::Depth, 32, "32"),
        ] {
            assert_eq!(tick(axis, at), text);
        }
    }
}
