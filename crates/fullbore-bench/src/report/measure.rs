//! The measures that a chart can show of a cell, with their units and captions.

use super::scale::trimmed;
use crate::document::{Axis, Figure, Summary};
use crate::stats::Estimate;
use crate::units;

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
            _ => None,
        }
    }

    pub(super) fn is_cost(self) -> bool {
        matches!(self, Self::CpuPerMb | Self::CpuPerRequest | Self::Processors)
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

    /// Start of a chart's caption, and part of its file's name.
    pub(super) fn names(self) -> (&'static str, &'static str) {
        match self {
            Self::Rate => ("Rate", "rate"),
            Self::Requests => ("Requests per second", "requests"),
            Self::CpuPerMb => ("CPU time per megabyte", "cpu-per-mb"),
            Self::CpuPerRequest => ("CPU time per request", "cpu-per-request"),
            Self::Processors => ("Processors busy", "processors"),
        }
    }
}

pub(super) struct AxisWords {
    pub(super) title: &'static str,
    /// Part of a caption: ` by request size`.
    pub(super) by: &'static str,
    pub(super) heading: &'static str,
}

pub(super) fn axis_words(axis: Axis) -> AxisWords {
    let (title, by, heading) = match axis {
        Axis::Request => ("request size", " by request size", "request"),
        Axis::Depth => ("depth: requests in flight", " by depth", "depth"),
        Axis::File => ("length of the file", " by length of the file", "file"),
        Axis::Streams => ("concurrent streams", " by number of streams", "streams"),
        Axis::Targets => ("concurrent disks", " by number of disks", "disks"),
        Axis::Offset => ("offset from a multiple of the request size", " by alignment", "offset"),
        Axis::Load => ("offered load, requests per second", " by load", "load"),
        Axis::None => ("", "", ""),
    };
    AxisWords { title, by, heading }
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
        Axis::Load if at >= 1000 => trimmed(&units::significant(at as f64 / 1e3)).to_owned() + "k",
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
            (Axis::Load, 100_000, "100k"),
            (Axis::Load, 1500, "1.5k"),
            (Axis::Load, 500, "500"),
            (Axis::Depth, 32, "32"),
        ] {
            assert_eq!(tick(axis, at), text);
        }
    }
}
