//! The decisions that a run is to make, and the cells that each still needs.

use std::collections::{BTreeMap, BTreeSet};

use crate::advice::is_common_default;
use crate::document::{Axis, Experiment, Headline, Labels};
use crate::grouping::distinct;
use crate::stats::{contenders, median};

/// Ratio to half of the peak within which a cell may be the half-power point.
const NEAR_HALF: f64 = 1.25;

/// Maximum number of cells of a group that share the time of its decision, besides the fastest: samples of all others would
/// be too few for any.
const CHALLENGERS: usize = 2;

/// Stage of a set: what the remaining time is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Stage {
    /// Finding the best of each group.
    Deciding,
    /// The figure of the best of each group.
    Leaders,
}

/// Cells among which the best is sought.
#[derive(Debug)]
struct Group {
    /// Indices of the cells, ascending along the axis or in the order of the experiment.
    cells: Vec<usize>,
    /// True if they differ along an axis that has a half-power point.
    half_power: bool,
}

/// The decisions of a set: the best position on each path's axis, its half-power point, and the best strategy for each
/// job.
#[derive(Debug)]
pub(super) struct Decisions {
    groups: Vec<Group>,
    /// Cells with the settings of usual programs, with which advice compares the best.
    defaults: Vec<usize>,
    /// Cells of each headline figure.
    headlines: BTreeMap<Headline, Vec<usize>>,
    /// Importance of each cell, 0 being the highest.
    ranks: Vec<usize>,
}

impl Decisions {
    pub(super) fn new(cells: &[(String, Labels)], experiments: &[Experiment]) -> Self {
        let axis =
            |name: &str| experiments.iter().find(|one| one.name == name).map_or(Axis::None, |one| one.axis);
        let mut paths: BTreeMap<String, Vec<usize>> = BTreeMap::new();
        let mut jobs: BTreeMap<String, Vec<usize>> = BTreeMap::new();
        let mut headlines: BTreeMap<Headline, Vec<usize>> = BTreeMap::new();
        let mut others: BTreeMap<(&String, Option<Headline>), Vec<usize>> = BTreeMap::new();
        // An experiment that compares with another program needs both in every round.
        let compared: BTreeSet<&String> = cells
            .iter()
            .filter(|(_, labels)| labels.peer.is_some())
            .map(|(experiment, _)| experiment)
            .collect();
        let decided = cells.iter().enumerate().filter(|(_, cell)| !compared.contains(&cell.0));
        for (index, (experiment, labels)) in decided {
            let headline = Headline::of(labels);
            if let Some(headline) = headline.filter(|_| labels.job.is_empty()) {
                headlines.entry(headline).or_default().push(index);
            }
            if axis(experiment).of(labels).is_some() {
                let shared = axis(experiment).shared(labels).describe();
                paths.entry(format!("{experiment}: {shared}")).or_default().push(index);
            } else if !labels.job.is_empty() {
                jobs.entry(format!("{experiment}: {}, {:?}", labels.job, labels.cache))
                    .or_default()
                    .push(index);
            } else if headline != Some(Headline::Roof) {
                others.entry((experiment, headline)).or_default().push(index);
            }
        }
        for (shown, replaced) in Headline::REPLACED {
            if headlines.contains_key(&shown) {
                headlines.remove(&replaced);
            }
        }
        let mut ranks = vec![0; cells.len()];
        // Cells without an axis and a job: all are needed, but the first of each experiment and headline figure the most.
        for cells in others.values() {
            cells.iter().enumerate().for_each(|(rank, &index)| ranks[index] = rank);
        }
        let mut groups = Vec::new();
        for mut path in paths.into_values() {
            let experiment = &cells[path[0]].0;
            path.sort_by_key(|&index| axis(experiment).of(&cells[index].1));
            for (rank, place) in coarse_to_fine(path.len()).into_iter().enumerate() {
                ranks[path[place]] = rank;
            }
            let half_power = matches!(axis(experiment), Axis::Request | Axis::Depth);
            groups.push(Group { cells: path, half_power });
        }
        for job in jobs.into_values() {
            job.iter().enumerate().for_each(|(rank, &index)| ranks[index] = rank);
            groups.push(Group { cells: job, half_power: false });
        }
        let defaults = (0..cells.len()).filter(|&index| is_common_default(&cells[index].1)).collect();
        Self { groups, defaults, headlines, ranks }
    }

    pub(super) fn rank(&self, cell: usize) -> usize {
        self.ranks[cell]
    }

    /// Returns the cells that an open decision needs, given the rates of all: those that may be the best of their group,
    /// those around the half-power point, and common defaults. Cells without a group are always needed. Later only the best
    /// of each group is: its figure is the result.
    pub(super) fn open(&self, rates: &[Vec<f64>], stage: Stage) -> Vec<bool> {
        let ending = stage == Stage::Leaders;
        let mut open = vec![true; rates.len()];
        self.groups.iter().flat_map(|group| &group.cells).for_each(|&index| open[index] = false);
        if !ending {
            self.defaults.iter().for_each(|&index| open[index] = true);
        }
        for group in &self.groups {
            let own: Vec<Vec<f64>> = group.cells.iter().map(|&index| rates[index].clone()).collect();
            let medians: Vec<f64> = own.iter().map(|rates| median(rates).unwrap_or(0.0)).collect();
            let peak = medians.iter().copied().fold(0.0, f64::max);
            let near = |median: f64| {
                !ending
                    && group.half_power
                    && (peak / 2.0 / NEAR_HALF..=peak / 2.0 * NEAR_HALF).contains(&median)
            };
            for (&index, &median) in group.cells.iter().zip(&medians) {
                open[index] |= median == peak || near(median);
            }
            if ending {
                continue;
            }
            // Those that may exceed the fastest by most, since they have few samples or vary.
            let mut challengers: Vec<(f64, usize)> = contenders(&own)
                .into_iter()
                .enumerate()
                .filter(|&(place, _)| medians[place] < peak)
                .filter_map(|(place, highest)| Some((highest?, group.cells[place])))
                .collect();
            challengers.sort_by(|a, b| b.0.total_cmp(&a.0));
            challengers.iter().take(CHALLENGERS).for_each(|&(_, index)| open[index] = true);
        }
        open
    }

    pub(super) fn headlines(&self) -> &BTreeMap<Headline, Vec<usize>> {
        &self.headlines
    }
}

/// Returns the places of `len` positions from coarse to fine: both ends, the middle, the middles of the halves …
fn coarse_to_fine(len: usize) -> Vec<usize> {
    let Some(last) = len.checked_sub(1) else { return Vec::new() };
    let parts = std::iter::successors(Some(2), |parts| Some(2 * parts)).take_while(|&parts| parts < 2 * len);
    let middles = parts.flat_map(|parts| (1..parts).step_by(2).map(move |part| part * last / parts));
    distinct([last, 0].into_iter().chain(middles))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn request(bytes: u64) -> Labels {
        Labels { request_bytes: Some(bytes), method: "direct".into(), ..Labels::default() }
    }

    #[test]
    fn places_go_from_coarse_to_fine() {
        assert_eq!(coarse_to_fine(5), [4, 0, 2, 1, 3]);
        for len in 0..40 {
            let mut all = coarse_to_fine(len);
            all.sort_unstable();
            assert_eq!(all, (0..len).collect::<Vec<_>>());
        }
    }

    #[test]
    fn open_cells_are_those_at_the_peak_and_around_the_half_power_point() {
        let sizes = [4u64 << 10, 16 << 10, 64 << 10, 256 << 10, 1 << 20, 4 << 20];
        let cells: Vec<(String, Labels)> = sizes.iter().map(|&size| ("read".into(), request(size))).collect();
        let decisions = Decisions::new(&cells, &[Experiment::named("read", Axis::Request)]);
        // In MB/s; half of the peak lies between 16K and 64K.
        let truth = [60.0, 220.0, 560.0, 850.0, 990.0, 1000.0];
        let jitter = [0.99, 1.0, 1.01, 1.0, 0.995, 1.005];
        let rates: Vec<Vec<f64>> =
            truth.iter().map(|rate| jitter.iter().map(|share| rate * share).collect()).collect();
        assert_eq!(decisions.open(&rates, Stage::Deciding), [false, false, true, false, false, true]);
        let noisy: Vec<Vec<f64>> =
            truth.iter().map(|rate| [0.9, 1.1, 1.0].iter().map(|share| rate * share).collect()).collect();
        assert_eq!(
            decisions.open(&noisy, Stage::Deciding),
            [false, false, true, true, true, true],
            "the peak is open"
        );
        assert_eq!(decisions.open(&noisy, Stage::Leaders), [false, false, false, false, false, true]);
        assert!(!decisions.open(&noisy, Stage::Deciding)[0]);
    }

    #[test]
    fn headline_figures_have_their_cells() {
        let read = |bytes, cache| {
            let labels = Labels {
                operation: "read".into(),
                method: "mmap".into(),
                cache: Some(cache),
                ..request(bytes)
            };
            ("read".to_owned(), labels)
        };
        use crate::document::CacheState::{Cold, Warm};
        let memory = Labels { method: "memory".into(), ..Labels::default() };
        let cells = [
            read(4 << 10, Warm),
            read(1 << 20, Warm),
            read(4 << 10, Cold),
            read(1 << 20, Cold),
            ("memory".into(), memory.clone()),
            ("memory".into(), memory),
        ];
        let decisions = Decisions::new(&cells, &[Experiment::named("read", Axis::Request)]);
        let figures: Vec<&Vec<usize>> = decisions.headlines().values().collect();
        assert_eq!(figures, [&vec![0, 1], &vec![2, 3], &vec![4, 5]]);
        let other = [request(4096), request(1 << 20)].map(|labels| ("read".to_owned(), labels));
        let decisions = Decisions::new(&other, &[Experiment::named("read", Axis::Request)]);
        assert!(decisions.headlines().is_empty());
    }

    #[test]
    fn a_common_default_remains_open_until_the_best_are_decided() {
        let read = |bytes| {
            let labels =
                Labels { operation: "read".into(), order: Some("sequential".into()), ..request(bytes) };
            ("read".to_owned(), Labels { method: "buffered".into(), workers: Some(1), ..labels })
        };
        let cells = [read(4 << 10), read(8 << 10), read(1 << 20)];
        let decisions = Decisions::new(&cells, &[Experiment::named("read", Axis::Request)]);
        let rates = [1e8, 2e8, 1e9].map(|rate| [0.99, 1.0, 1.01, 1.0].map(|share| rate * share).to_vec());
        assert_eq!(decisions.open(&rates, Stage::Deciding), [false, true, true], "8 KiB, as by databases");
        assert_eq!(decisions.open(&rates, Stage::Leaders), [false, false, true]);
    }

    #[test]
    fn cells_compared_with_a_peer_remain_open() {
        let peer = Labels { peer: Some("fio".into()), ..request(4096) };
        let cells =
            [("read".to_owned(), request(4096)), ("read".into(), request(1 << 20)), ("read".into(), peer)];
        let decisions = Decisions::new(&cells, &[Experiment::named("read", Axis::Request)]);
        assert_eq!(decisions.open(&[1.0, 9.0, 1.0].map(|rate| vec![rate; 5]), Stage::Leaders), [true; 3]);
        // Experiments without a peer have decisions nevertheless.
        let own = |bytes| ("write".to_owned(), request(bytes));
        let cells = [&cells[..], &[own(4096), own(1 << 20)]].concat();
        let experiments = ["read", "write"].map(|name| Experiment::named(name, Axis::Request));
        let rates = [1.0, 9.0, 1.0, 1.0, 9.0].map(|rate| vec![rate; 5]);
        let open = Decisions::new(&cells, &experiments).open(&rates, Stage::Leaders);
        assert_eq!(open, [true, true, true, false, true]);
    }

    #[test]
    fn strategies_of_a_job_compete_and_other_cells_remain_open() {
        let job = |cache| Labels { job: "scan".into(), cache, ..Labels::default() };
        use crate::document::CacheState::{Cold, Warm};
        let cells = [
            ("scan", job(Some(Warm))),
            ("scan", job(Some(Warm))),
            ("scan", job(Some(Cold))),
            ("memory", Labels::default()),
        ]
        .map(|(experiment, labels)| (experiment.to_owned(), labels));
        let decisions = Decisions::new(&cells, &[Experiment::named("scan", Axis::None)]);
        assert_eq!([0, 1, 2, 3].map(|cell| decisions.rank(cell)), [0, 1, 0, 0]);
        let rates = [1e9, 2e9, 3e8, 9e9].map(|rate| vec![rate, rate * 1.01, rate * 0.99, rate]);
        assert_eq!(decisions.open(&rates, Stage::Deciding), [false, true, true, true]);
    }
}
