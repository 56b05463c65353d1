//! Results of runs of commands: medians in a table, and ratios with a bound.

use super::finding::{Bound, Finding, Findings};
use super::rounds::Series;

/// Prints every contender's median.
pub(crate) fn table(findings: &mut Findings, series: &[Series], bytes: u64) {
    let mut sorted: Vec<&Series> = series.iter().collect();
    sorted.sort_by(|a, b| a.wall().total_cmp(&b.wall()));
    for one in sorted {
        let rate = fullbore::size::rate(bytes as f64 / one.wall());
        findings.note(format!(
            "{:>9.1} ms {rate:>11}  processor {:>7.1} ms  {}",
            one.wall() * 1e3,
            one.processor() * 1e3,
            one.label
        ));
    }
}

/// A ratio of wall times with a bound: fullbore's to the peer's.
pub(crate) fn wall_ratio(what: impl Into<String>, ours: &Series, peer: &Series, bound: Bound) -> Finding {
    Finding {
        what: what.into(),
        ours: format!("{} {:.1} ms", ours.label, ours.wall() * 1e3),
        peer: format!("{} {:.1} ms", peer.label, peer.wall() * 1e3),
        figure: ours.wall() / peer.wall(),
        unit: "",
        paired: Some(ours.paired(peer)),
        bound,
    }
}

/// A ratio of throughputs with a bound: fullbore's to the peer's.
pub(crate) fn rate_ratio(what: impl Into<String>, ours: &Series, peer: &Series, bound: Bound) -> Finding {
    let walls = wall_ratio(what, ours, peer, bound);
    Finding { figure: 1.0 / walls.figure, paired: walls.paired.map(|paired| 1.0 / paired), ..walls }
}
