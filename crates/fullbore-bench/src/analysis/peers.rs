//! Ratios of our cells to the same cells of another program: throughput, latency, CPU time.

use super::rounds::compare_in_rounds;
use crate::document::{Cell, Labels, Latency, PeerRatio, Summary};
use crate::stats::Bootstrap;

/// Pairs every measured cell of a peer with our cell that otherwise has the same labels, in the order of the cells.
pub fn peers(cells: &[Cell], bootstrap: &Bootstrap) -> Vec<PeerRatio> {
    let ours = || cells.iter().filter(|cell| cell.labels.peer.is_none() && cell.summary.is_some());
    cells
        .iter()
        .filter_map(|cell| {
            let peer = cell.labels.peer.clone()?;
            let known = without_peer(&cell.labels);
            let mine =
                ours().find(|own| own.experiment == cell.experiment && without_peer(&own.labels) == known)?;
            ratio(mine, cell, peer, bootstrap)
        })
        .collect()
}

/// Returns the labels that both share; a peer's cell does not compete for a job.
fn without_peer(labels: &Labels) -> Labels {
    Labels { peer: None, job: String::new(), ..labels.clone() }
}

fn ratio(ours: &Cell, theirs: &Cell, peer: String, bootstrap: &Bootstrap) -> Option<PeerRatio> {
    let (mine, other) = (ours.summary.as_ref()?, theirs.summary.as_ref()?);
    let over = |mine: Option<f64>, other: Option<f64>| match (mine, other) {
        (Some(mine), Some(other)) if mine > 0.0 && other > 0.0 => Some(mine / other),
        _ => None,
    };
    let latency =
        |of: fn(&Latency) -> f64| over(mine.latency.as_ref().map(of), other.latency.as_ref().map(of));
    let a_request = |summary: &Summary| summary.cpu_per_request.map(|cost| cost.charged.value);
    Some(PeerRatio {
        cell: ours.id.clone(),
        peer_cell: theirs.id.clone(),
        rate: compare_in_rounds(ours, theirs, bootstrap)?,
        p50: latency(|times| times.p50_s),
        p99: latency(|times| times.p99_s),
        cpu_per_request: over(a_request(mine), a_request(other)),
        cpu_per_mb: over(Some(mine.cpu_per_mb.charged.value), Some(other.cpu_per_mb.charged.value)),
        note: if peer == "fio" { crate::fio::caveat(&theirs.labels) } else { None },
        peer,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::document::{Proof, Sample, SummaryOptions};

    fn cell(id: &str, labels: Labels, seconds: f64, latency: Option<f64>) -> Cell {
        let sample = |round: u32| Sample {
            round,
            bytes: 4096 * 1000,
            seconds: seconds * (1.0 + f64::from(round) / 1000.0),
            requests: 1000,
            user_s: seconds / 10.0,
            latency: latency.map(|p50_s| Latency { p50_s, p99_s: 2.0 * p50_s, ..Latency::default() }),
            proof: Proof::Confirmed,
            ..Sample::default()
        };
        let mut cell = Cell { samples: (0..7).map(sample).collect(), ..Cell::new(id, "read", labels) };
        cell.summarise(&SummaryOptions::default());
        cell
    }

    fn labels(peer: Option<&str>, depth: u32) -> Labels {
        Labels {
            operation: "read".into(),
            method: "buffered".into(),
            depth: Some(depth),
            peer: peer.map(str::to_owned),
            ..Labels::default()
        }
    }

    #[test]
    fn cells_that_differ_only_in_the_program_are_paired() {
        let ours = Labels { job: "read".into(), ..labels(None, 1) };
        let cells = [
            cell("ours", ours, 1.0, Some(0.001)),
            cell("deeper", labels(None, 2), 1.0, None),
            cell("fio", labels(Some("fio"), 1), 1.25, Some(0.002)),
            cell("alone", labels(Some("fio"), 3), 1.0, None),
        ];
        let found = peers(&cells, &Bootstrap::default());
        assert_eq!(found.len(), 1, "{found:?}");
        let one = &found[0];
        assert_eq!((one.cell.as_str(), one.peer_cell.as_str(), one.peer.as_str()), ("ours", "fio", "fio"));
        assert!((one.rate.ratio.value - 1.25).abs() < 1e-9);
        assert_eq!((one.p50, one.p99), (Some(0.5), Some(0.5)));
        assert!((one.cpu_per_request.unwrap() - 0.8).abs() < 1e-9);
        let described = one.text();
        assert!(
            described.starts_with("rate 1.25 (")
                && described.ends_with(", p50 0.50, p99 0.50, CPU time 0.80"),
            "{described}"
        );
    }

    #[test]
    fn percentiles_are_compared_only_if_both_have_them() {
        let cells =
            [cell("ours", labels(None, 1), 1.0, None), cell("fio", labels(Some("fio"), 1), 1.0, Some(0.1))];
        let found = peers(&cells, &Bootstrap::default());
        assert_eq!((found[0].p50, found[0].p99), (None, None));
    }
}
