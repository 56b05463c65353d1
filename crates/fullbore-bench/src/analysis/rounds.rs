//! Cells compared round by round: `auto` with the best strategy of the whole run, and fullbore's cells with
//! those of another program.

use std::collections::{BTreeMap, BTreeSet};

use crate::document::{AccessMethod, CacheState, Cell, Labels, Latency, PeerRatio, Regret, Sample, Summary};
use crate::stats::{
    Bootstrap, DEFAULT_MARGIN, Estimate, FEWEST_PAIRS, FEWEST_SAMPLES, RatioComparison, compare_paired,
    compare_rates, median,
};

/// Compares samples of the same round, so that common conditions (load, heat, credit) cancel out; all if few are common, or if
/// a round has several of one cell.
fn compare_in_rounds(first: &[&Sample], second: &[&Sample]) -> Option<RatioComparison> {
    let by_round = |samples: &[&Sample]| -> BTreeMap<u32, f64> {
        samples.iter().map(|sample| (sample.round, sample.rate())).collect()
    };
    let (firsts, seconds) = (by_round(first), by_round(second));
    let pairs: (Vec<f64>, Vec<f64>) =
        firsts.iter().filter_map(|(round, rate)| Some((*rate, *seconds.get(round)?))).unzip();
    // The map of rounds keeps one of several samples.
    let single = firsts.len() == first.len() && seconds.len() == second.len();
    if single && pairs.0.len() >= FEWEST_PAIRS {
        return compare_paired(&pairs.0, &pairs.1, DEFAULT_MARGIN, &Bootstrap::default());
    }
    let rates = |samples: &[&Sample]| samples.iter().map(|sample| sample.rate()).collect::<Vec<_>>();
    compare_rates(&rates(first), &rates(second), DEFAULT_MARGIN, &Bootstrap::default())
}

/// Compares every measured cell of `auto` with the fastest cell of its experiment that does the same work under a
/// strategy of its own, in the order of the cells.
pub fn regrets(cells: &[Cell]) -> Vec<Regret> {
    let measured = || cells.iter().filter(|cell| cell.labels.peer.is_none() && cell.summary.is_some());
    measured()
        .filter(|cell| is_auto(cell))
        .filter_map(|auto| {
            let work = work(&auto.labels);
            let same = |cell: &&Cell| {
                cell.experiment == auto.experiment
                    && cell.labels.strategy.is_some()
                    && self::work(&cell.labels) == work
            };
            let others: Vec<&Cell> = measured().filter(|cell| !is_auto(cell)).filter(same).collect();
            let rate = |cell: &Cell| cell.summary.as_ref().map_or(0.0, |summary| summary.rate.value);
            let best = others.iter().max_by(|a, b| rate(a).total_cmp(&rate(b)))?;
            // The ratio of the rates, best to auto, is that of the times, auto to best.
            let own: Vec<&Sample> = auto.counted().collect();
            // A round that the run did not finish may have samples of slow strategies alone.
            let mut theirs = best_elsewhere(best, &others);
            theirs.retain(|sample| own.iter().any(|own| own.round == sample.round));
            if theirs.is_empty() {
                theirs = best.counted().collect();
            }
            let comparison = compare_in_rounds(&theirs, &own)?;
            let Estimate { value, mut low, mut high } = comparison.ratio;
            if theirs.len().min(own.len()) < FEWEST_SAMPLES {
                // So few can differ by chance, whatever their spread.
                (low, high) = (low.min(1.0), high.max(1.0));
            }
            let job = others.iter().map(|cell| cell.labels.job.as_str()).find(|job| !job.is_empty());
            let job = job.unwrap_or(&auto.labels.operation);
            Some(Regret {
                job: job_name(job, auto.labels.cache),
                cell: auto.id.clone(),
                best: best.id.clone(),
                strategy: best.labels.strategy_text(),
                strategies: others.len(),
                regret: Estimate { value: value - 1.0, low: low - 1.0, high: high - 1.0 },
            })
        })
        .collect()
}

/// The kind of job with the cache state: `read, cold`.
pub(super) fn job_name(job: &str, cache: Option<CacheState>) -> String {
    cache.map_or_else(|| job.to_owned(), |cache| format!("{job}, {}", cache.word()))
}

/// For each round, the sample of the strategy that is best in the other rounds; with a single round, that of `best`.
fn best_elsewhere<'a>(best: &'a Cell, others: &[&'a Cell]) -> Vec<&'a Sample> {
    let samples: Vec<Vec<&Sample>> = others.iter().map(|cell| cell.counted().collect()).collect();
    let rounds: BTreeSet<u32> = samples.iter().flatten().map(|sample| sample.round).collect();
    let found = |&round: &u32| {
        let elsewhere = |samples: &[&Sample]| {
            let other = samples.iter().filter(|sample| sample.round != round);
            median(&other.map(|sample| sample.rate()).collect::<Vec<_>>()).unwrap_or(0.0)
        };
        let measured = samples.iter().filter(|samples| samples.iter().any(|sample| sample.round == round));
        let best = measured.max_by(|one, two| elsewhere(one).total_cmp(&elsewhere(two)))?;
        best.iter().copied().find(|sample| sample.round == round)
    };
    match rounds.len() {
        0 | 1 => best.counted().collect(),
        _ => rounds.iter().filter_map(found).collect(),
    }
}

fn is_auto(cell: &Cell) -> bool {
    cell.labels.strategy.as_deref() == Some("auto")
}

/// Returns the labels that do not depend on the strategy; `auto` competes for no job.
fn work(labels: &Labels) -> Labels {
    Labels {
        job: String::new(),
        method: AccessMethod::default(),
        request_bytes: None,
        depth: None,
        workers: None,
        model: None,
        allocation: None,
        cache_policy: None,
        strategy: None,
        ..labels.clone()
    }
}

/// Pairs every measured cell of a peer with our cell that otherwise has the same labels, in the order of the cells.
pub fn peers(cells: &[Cell]) -> Vec<PeerRatio> {
    let ours = || cells.iter().filter(|cell| cell.labels.peer.is_none() && cell.summary.is_some());
    cells
        .iter()
        .filter_map(|cell| {
            let peer = cell.labels.peer.clone()?;
            let known = without_peer(&cell.labels);
            let mine =
                ours().find(|own| own.experiment == cell.experiment && without_peer(&own.labels) == known)?;
            ratio(mine, cell, peer)
        })
        .collect()
}

/// Returns the labels that both share; a peer's cell does not compete for a job.
fn without_peer(labels: &Labels) -> Labels {
    Labels { peer: None, job: String::new(), ..labels.clone() }
}

fn ratio(ours: &Cell, theirs: &Cell, peer: String) -> Option<PeerRatio> {
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
        rate: compare_in_rounds(&ours.counted().collect::<Vec<_>>(), &theirs.counted().collect::<Vec<_>>())?,
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
    use crate::document::Sample;
    use crate::stats::Xoshiro256;

    fn strategy_cell(operation: &str, strategy: &str, cache: CacheState, seconds: &[f64]) -> Cell {
        let labels = Labels {
            job: if strategy == "auto" { String::new() } else { "scan".into() },
            cache: Some(cache),
            strategy: Some(strategy.into()),
            ..Labels::of(operation, "buffered")
        };
        let sample = |(round, &seconds): (usize, &f64)| Sample {
            round: round as u32,
            bytes: 1 << 30,
            seconds,
            ..Sample::default()
        };
        let id = format!("{operation}/{strategy}/{}", cache.word());
        Cell::measured(&id, labels, seconds.iter().enumerate().map(sample))
    }

    #[test]
    fn auto_is_compared_with_the_fastest_of_the_same_work() {
        let (warm, cold) = (CacheState::Warm, CacheState::Cold);
        let times = |seconds: f64| [1.0, 1.01, 0.99, 1.0, 1.02, 0.98, 1.0].map(|noise| noise * seconds);
        let cells = [
            strategy_cell("count lines", "auto", warm, &times(1.05)),
            strategy_cell("count lines", "method=buffered", warm, &times(1.4)),
            strategy_cell("count lines", "method=mmap", warm, &times(1.0)),
            strategy_cell("count lines", "method=uring", cold, &times(0.5)),
            strategy_cell("search", "method=mmap", warm, &times(0.2)),
            strategy_cell("search", "auto", cold, &times(0.2)),
        ];
        let [found] = regrets(&cells).try_into().unwrap();
        assert_eq!(
            (found.job.as_str(), found.strategy.as_str(), found.strategies),
            ("scan, warm", "method=mmap", 2)
        );
        assert_eq!((found.cell.as_str(), found.best.as_str()), (cells[0].id.as_str(), cells[2].id.as_str()));
        // The noise is that of the round, so it cancels.
        let Estimate { value, low, high } = found.regret;
        assert!([value, low, high].iter().all(|end| (end - 0.05).abs() < 1e-9), "{found:?}");
    }

    /// Several equal strategies with noise: the luckiest of each round would be 10% faster than `auto`.
    #[test]
    fn the_luckiest_of_equal_strategies_is_not_the_best() {
        let noise = |seed: u64| -> Vec<f64> {
            let mut random = Xoshiro256::seeded(seed);
            (0..200).map(|_| 0.9 + 0.2 * random.unit()).collect()
        };
        let mut cells: Vec<Cell> = (1..6)
            .map(|seed| {
                strategy_cell("count lines", &format!("request={seed}K"), CacheState::Warm, &noise(seed))
            })
            .collect();
        cells.push(strategy_cell("count lines", "auto", CacheState::Warm, &noise(0)));
        let [found] = regrets(&cells).try_into().unwrap();
        assert!(found.regret.value.abs() < 0.04, "{found:?}");
    }

    #[test]
    fn a_faster_auto_has_a_negative_regret() {
        let cells = [
            strategy_cell("count lines", "method=mmap", CacheState::Warm, &[1.0; 7]),
            strategy_cell("count lines", "auto", CacheState::Warm, &[0.8; 7]),
        ];
        let [found] = regrets(&cells).try_into().unwrap();
        assert!((found.regret.value + 0.2).abs() < 1e-9, "{found:?}");
        assert!(found.text().contains("20% less time"), "{}", found.text());
    }

    #[test]
    fn a_regret_of_few_samples_is_not_significant() {
        let cells = [
            strategy_cell("count lines", "method=mmap", CacheState::Warm, &[1.0; 3]),
            strategy_cell("count lines", "auto", CacheState::Warm, &[0.8; 3]),
        ];
        let [found] = regrets(&cells).try_into().unwrap();
        assert!(found.regret.low < 0.0 && found.regret.high == 0.0, "{found:?}");
    }

    #[test]
    fn rounds_with_several_samples_of_a_cell_are_not_paired() {
        let sample = |round: u32, bytes: u32| Sample {
            round,
            bytes: u64::from(bytes),
            seconds: 1.0,
            ..Sample::default()
        };
        let first: Vec<Sample> = (0..8).map(|i| sample(i, 1000 + 10 * i)).collect();
        // The rounds begin again with each set of samples.
        let second: Vec<Sample> = (0..16).map(|i| sample(i % 8, 500 + 10 * i)).collect();
        let [first, second] = [&first, &second].map(|samples| samples.iter().collect::<Vec<_>>());
        let rates = |samples: &[&Sample]| samples.iter().map(|sample| sample.rate()).collect::<Vec<_>>();
        let all = compare_rates(&rates(&first), &rates(&second), DEFAULT_MARGIN, &Bootstrap::default());
        assert_eq!(compare_in_rounds(&first, &second), all);
    }

    fn peer_cell(id: &str, labels: Labels, seconds: f64, latency: Option<f64>) -> Cell {
        let sample = |round: u32| Sample {
            round,
            bytes: 4096 * 1000,
            seconds: seconds * (1.0 + f64::from(round) / 1000.0),
            requests: 1000,
            user_s: seconds / 10.0,
            latency: latency.map(|p50_s| Latency { p50_s, p99_s: 2.0 * p50_s, ..Latency::default() }),
            ..Sample::default()
        };
        Cell::measured(id, labels, (0..7).map(sample))
    }

    fn labels(peer: Option<&str>, depth: u32) -> Labels {
        Labels { depth: Some(depth), peer: peer.map(str::to_owned), ..Labels::of("read", "buffered") }
    }

    #[test]
    fn cells_that_differ_only_in_the_program_are_paired() {
        let ours = Labels { job: "read".into(), ..labels(None, 1) };
        let cells = [
            peer_cell("ours", ours, 1.0, Some(0.001)),
            peer_cell("deeper", labels(None, 2), 1.0, None),
            peer_cell("fio", labels(Some("fio"), 1), 1.25, Some(0.002)),
            peer_cell("alone", labels(Some("fio"), 3), 1.0, None),
        ];
        let found = peers(&cells);
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
        let cells = [
            peer_cell("ours", labels(None, 1), 1.0, None),
            peer_cell("fio", labels(Some("fio"), 1), 1.0, Some(0.1)),
        ];
        let found = peers(&cells);
        assert_eq!((found[0].p50, found[0].p99), (None, None));
    }
}
