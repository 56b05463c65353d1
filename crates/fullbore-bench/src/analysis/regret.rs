//! Regret: the time that `auto` takes beyond that of the best strategy, fixed for the whole run.
//!
//! In each round, the best strategy is the one with the highest rate in the other rounds. The fastest of several in the
//! same round would be the luckiest: with equal strategies, `auto` would always seem slower.

use super::rounds::compare_in_rounds;
use std::collections::BTreeSet;

use crate::document::{Cell, Labels, Regret, Sample};
use crate::stats::{Bootstrap, Estimate, median};

/// Compares every measured cell of `auto` with the fastest cell of its experiment that does the same work under a
/// strategy of its own, in the order of the cells.
pub fn regrets(cells: &[Cell], bootstrap: &Bootstrap) -> Vec<Regret> {
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
            let comparison = compare_in_rounds(&best_elsewhere(best, &others), auto, bootstrap)?;
            let Estimate { value, low, high } = comparison.ratio;
            let job = others.iter().map(|cell| &cell.labels.job).find(|job| !job.is_empty());
            let job = job.unwrap_or(&auto.labels.operation);
            Some(Regret {
                job: auto
                    .labels
                    .cache
                    .map_or_else(|| job.clone(), |cache| format!("{job}, {}", cache.word())),
                cell: auto.id.clone(),
                best: best.id.clone(),
                strategy: best.labels.strategy_text(),
                strategies: others.len(),
                regret: Estimate { value: value - 1.0, low: low - 1.0, high: high - 1.0 },
            })
        })
        .collect()
}

/// The cell `best` with the samples of the strategy that is best in the other rounds; its own where there is one round.
fn best_elsewhere(best: &Cell, others: &[&Cell]) -> Cell {
    let usable = |cell: &&Cell| -> Vec<Sample> {
        cell.samples.iter().filter(|sample| sample.usable()).cloned().collect()
    };
    let samples: Vec<Vec<Sample>> = others.iter().map(usable).collect();
    let rounds: BTreeSet<u32> = samples.iter().flatten().map(|sample| sample.round).collect();
    let found = |round: u32| {
        let elsewhere = |samples: &Vec<Sample>| {
            let other = samples.iter().filter(|sample| sample.round != round);
            median(&other.map(Sample::rate).collect::<Vec<_>>()).unwrap_or(0.0)
        };
        let measured = samples.iter().filter(|samples| samples.iter().any(|sample| sample.round == round));
        let best = measured.max_by(|one, two| elsewhere(one).total_cmp(&elsewhere(two)))?;
        best.iter().find(|sample| sample.round == round).cloned()
    };
    match rounds.len() {
        0 | 1 => best.clone(),
        _ => Cell { samples: rounds.into_iter().filter_map(found).collect(), ..best.clone() },
    }
}

fn is_auto(cell: &Cell) -> bool {
    cell.labels.strategy.as_deref() == Some("auto")
}

/// Returns the labels that do not depend on the strategy; `auto` competes for no job.
fn work(labels: &Labels) -> Labels {
    Labels {
        job: String::new(),
        method: String::new(),
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::document::{CacheState, Proof, SummaryOptions};
    use crate::stats::Xoshiro256;

    fn cell(operation: &str, strategy: &str, cache: CacheState, seconds: &[f64]) -> Cell {
        let labels = Labels {
            job: if strategy == "auto" { String::new() } else { "scan".into() },
            operation: operation.into(),
            method: "buffered".into(),
            cache: Some(cache),
            strategy: Some(strategy.into()),
            ..Labels::default()
        };
        let sample = |(round, &seconds): (usize, &f64)| Sample {
            round: round as u32,
            bytes: 1 << 30,
            seconds,
            proof: Proof::Confirmed,
            ..Sample::default()
        };
        let samples = seconds.iter().enumerate().map(sample).collect();
        let mut cell =
            Cell { samples, ..Cell::new(format!("{operation}/{strategy}/{}", cache.word()), "auto", labels) };
        cell.summarise(&SummaryOptions::default());
        cell
    }

    #[test]
    fn auto_is_compared_with_the_fastest_of_the_same_work() {
        let (warm, cold) = (CacheState::Warm, CacheState::Cold);
        let times = |seconds: f64| [1.0, 1.01, 0.99, 1.0, 1.02, 0.98, 1.0].map(|noise| noise * seconds);
        let cells = [
            cell("count lines", "auto", warm, &times(1.05)),
            cell("count lines", "method=buffered", warm, &times(1.4)),
            cell("count lines", "method=mmap", warm, &times(1.0)),
            cell("count lines", "method=uring", cold, &times(0.5)),
            cell("search", "method=mmap", warm, &times(0.2)),
            cell("search", "auto", cold, &times(0.2)),
        ];
        let [found] = regrets(&cells, &Bootstrap::default()).try_into().unwrap();
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
            .map(|seed| cell("count lines", &format!("request={seed}K"), CacheState::Warm, &noise(seed)))
            .collect();
        cells.push(cell("count lines", "auto", CacheState::Warm, &noise(0)));
        let [found] = regrets(&cells, &Bootstrap::default()).try_into().unwrap();
        assert!(found.regret.value.abs() < 0.04, "{found:?}");
    }

    #[test]
    fn a_faster_auto_has_a_negative_regret() {
        let cells = [
            cell("count lines", "method=mmap", CacheState::Warm, &[1.0; 7]),
            cell("count lines", "auto", CacheState::Warm, &[0.8; 7]),
        ];
        let [found] = regrets(&cells, &Bootstrap::default()).try_into().unwrap();
        assert!((found.regret.value + 0.2).abs() < 1e-9, "{found:?}");
        assert!(found.text().contains("20% faster"), "{}", found.text());
    }
}
