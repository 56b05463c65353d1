//! Warnings of a cell for the reader, and the reason why its measurement stopped. A document has the warnings' text.

use std::fmt;

use serde::{Deserialize, Serialize};

use super::regime::Regime;
use super::terms::word;
use crate::stats::{Drift, Level, Modes};
use crate::units;

/// Reason why the measurement of a cell stopped.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum StopReason {
    #[default]
    /// The interval of the median is narrow enough.
    Precise,
    /// The time of the cell was up.
    TimeUp,
    /// The run was interrupted.
    Interrupted,
    /// A later sample of the cell failed.
    Failed,
}

/// A warning about a cell's samples. Warnings with the same text are equal, those of a document, too.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(from = "String", into = "String")]
pub enum Warning {
    /// Samples left out because their proof contradicts their label, with the first reason.
    Contradicted {
        /// Number of samples.
        samples: usize,
        /// The first reason.
        reason: Option<String>,
    },
    /// Samples of the other regime were left out.
    OtherRegime {
        /// The other regime.
        regime: Regime,
        /// Throughput in the other regime in bytes per second.
        rate: f64,
    },
    /// Only samples on a device's credit were measured.
    BurstOnly,
    /// The transfer was too short to find bursts.
    ShortCourse,
    /// This number of samples at the front was left out as warm-up.
    WarmUp(usize),
    /// The rate changed lastingly.
    Changed {
        /// Change as a share of the level before.
        relative: f64,
        /// The first sample after the change; the document's first is 1.
        sample: usize,
    },
    /// The rate has several levels.
    Levels(Vec<Level>),
    /// The rate has two levels.
    Bimodal(Modes),
    /// The rate has a trend.
    Drifting(Drift),
    /// The meter itself takes this share of a request's time.
    ToolBound(f64),
    /// Fewer requests were in flight than requested.
    DepthNotReached {
        /// Requests in flight.
        reached: f64,
        /// Requests in flight as labelled.
        requested: u32,
    },
    /// Fewer requests were completed than arrived.
    LoadNotReached {
        /// Requests completed per second.
        reached: f64,
        /// Arriving requests per second.
        requested: u64,
    },
    /// The error of a sample; those before it count.
    Failed(String),
    /// Measuring stopped before the target precision.
    Unfinished {
        /// The reason.
        stop: StopReason,
        /// Number of samples.
        samples: usize,
        /// Half the interval's width as a share of the median; `None` with one sample.
        width: Option<f64>,
    },
    /// The text of a document.
    Recorded {
        /// The text.
        text: String,
        /// The reason, if it is that measuring stopped before the target precision.
        stop: Option<StopReason>,
    },
}

/// Beginnings of the texts of [`Warning::Unfinished`].
const UNFINISHED: [(StopReason, &str); 3] = [
    (StopReason::TimeUp, "time up"),
    (StopReason::Interrupted, "interrupted"),
    (StopReason::Failed, "ended by an error"),
];

impl Warning {
    /// Returns the reason if measuring stopped before the target precision.
    pub fn stop(&self) -> Option<StopReason> {
        match self {
            Self::Unfinished { stop, .. } => Some(*stop),
            Self::Recorded { stop, .. } => *stop,
            _ => None,
        }
    }
}

impl PartialEq for Warning {
    fn eq(&self, other: &Self) -> bool {
        self.to_string() == other.to_string()
    }
}

impl From<String> for Warning {
    fn from(text: String) -> Self {
        let stop = UNFINISHED.iter().find(|(_, head)| text.starts_with(head)).map(|(stop, _)| *stop);
        Self::Recorded { text, stop }
    }
}

impl From<Warning> for String {
    fn from(warning: Warning) -> Self {
        warning.to_string()
    }
}

impl fmt::Display for Warning {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let percent = |share: &f64| units::percent(share.abs());
        let samples = |count: &usize| units::count(*count, "sample");
        let level = |level: &Level| format!("{} ({})", units::rate(level.value), percent(&level.share));
        match self {
            Self::Contradicted { samples: count, reason } => {
                let reason = reason.as_deref().unwrap_or("no reason recorded");
                write!(f, "{} contradicted and left out: {reason}", samples(count))
            }
            Self::OtherRegime { regime, rate } => {
                write!(f, "{} samples are not counted; their median is {}", word(regime), units::rate(*rate))
            }
            Self::BurstOnly => f.write_str("burst only: the device's credit was not spent"),
            Self::ShortCourse => f.write_str("too short to find bursts; a longer --time shows them"),
            Self::WarmUp(count) => write!(f, "the first {} were warm-up and are left out", samples(count)),
            Self::Changed { relative, sample } => {
                let way = if *relative > 0.0 { "rose" } else { "fell" };
                write!(f, "changed: the rate {way} by {} at sample {sample}", percent(relative))
            }
            Self::Levels(levels) => {
                let text: Vec<String> = levels.iter().map(level).collect();
                write!(f, "on {} levels: {}", text.len(), text.join(", "))
            }
            Self::Bimodal(Modes { low, high, .. }) => {
                write!(f, "bimodal: {} and {}", level(low), level(high))
            }
            Self::Drifting(Drift { relative_change, p, .. }) => {
                let way = if *relative_change > 0.0 { "rises" } else { "falls" };
                let (change, p) = (percent(relative_change), units::significant(*p));
                write!(f, "drifting: {way} by {change} over the run (p = {p})")
            }
            Self::ToolBound(share) => {
                write!(f, "limited by the meter, which takes {} of a request's time", percent(share))
            }
            Self::DepthNotReached { reached, requested } => {
                write!(f, "depth {} reached of {requested} requested", units::significant(*reached))
            }
            Self::LoadNotReached { reached, requested } => {
                let reached = units::significant(*reached);
                write!(
                    f,
                    "{reached} of {requested} arriving requests per second completed: the others waited"
                )
            }
            Self::Failed(reason) => write!(f, "a later sample failed: {reason}"),
            Self::Unfinished { stop, samples: count, width } => {
                let reason =
                    UNFINISHED.iter().find(|(known, _)| known == stop).map_or("stopped", |one| one.1);
                match width {
                    Some(width) => write!(f, "{reason} at ±{} after {}", percent(width), samples(count)),
                    None => write!(f, "{reason} at one sample, no interval"),
                }
            }
            Self::Recorded { text, .. } => f.write_str(text),
        }
    }
}
