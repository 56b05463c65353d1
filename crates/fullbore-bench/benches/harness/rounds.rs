//! Rounds: contenders run one after another in random order, repeatedly, so that drift affects all alike; and the CPU time
//! of other processes meanwhile.

use std::time::Instant;

use fullbore::probe::{ProcessUsage, SystemUsage, processors};
use fullbore_bench::stats::{Xoshiro256, median};

use super::Attempt;

/// The results of one contender, in the order of the rounds.
#[derive(Debug, Clone)]
pub(crate) struct Series<T> {
    pub(crate) label: String,
    pub(crate) runs: Vec<T>,
}

impl<T> Series<T> {
    pub(crate) fn median(&self, of: impl Fn(&T) -> f64) -> f64 {
        median(&self.runs.iter().map(of).collect::<Vec<_>>()).unwrap_or(f64::NAN)
    }

    /// The median over the rounds of this one's value ÷ the other's.
    pub(crate) fn paired(&self, other: &Self, of: impl Fn(&T) -> f64) -> f64 {
        let ratios: Vec<f64> = self.runs.iter().zip(&other.runs).map(|(a, b)| of(a) / of(b)).collect();
        median(&ratios).unwrap_or(f64::NAN)
    }
}

/// Runs `once` for each contender in each of `rounds` rounds.
pub(crate) fn interleave<C, T>(
    contenders: &mut [(String, C)],
    rounds: usize,
    random: &mut Xoshiro256,
    mut once: impl FnMut(&mut C) -> Attempt<T>,
) -> Attempt<Vec<Series<T>>> {
    let empty = |(label, _): &(String, C)| Series { label: label.clone(), runs: Vec::with_capacity(rounds) };
    let mut series: Vec<Series<T>> = contenders.iter().map(empty).collect();
    let mut order: Vec<usize> = (0..contenders.len()).collect();
    for _ in 0..rounds {
        random.shuffle(&mut order);
        for &index in &order {
            series[index].runs.push(once(&mut contenders[index].1)?);
        }
    }
    Ok(series)
}

/// A larger share of all processors is reported. Write-back of written data takes some.
const TOLERATED: f64 = 0.05;

/// The counters at the start of a comparison.
///
/// A peer with one worker is not affected by a busy second processor, but two workers are, so a machine with other work
/// reverses a comparison.
pub(crate) struct Watch {
    machine: SystemUsage,
    itself: ProcessUsage,
    commands: ProcessUsage,
    begin: Instant,
}

impl Watch {
    pub(crate) fn start() -> Attempt<Self> {
        Ok(Self {
            machine: SystemUsage::now()?,
            itself: ProcessUsage::now()?,
            commands: ProcessUsage::of_children()?,
            begin: Instant::now(),
        })
    }

    pub(crate) fn measurement_problem(&self) -> Option<String> {
        let machine = SystemUsage::now().ok()?.since(&self.machine);
        let itself = ProcessUsage::now().ok()?.since(&self.itself).processor();
        let commands = ProcessUsage::of_children().ok()?.since(&self.commands).processor();
        let all = self.begin.elapsed().as_secs_f64() * processors() as f64;
        let others = (machine.busy() - itself - commands).max(0.0) / all;
        let stolen = machine.steal / all;
        (others + stolen > TOLERATED).then(|| {
            format!(
                "the kernel's own threads and other programs took {:.0}% of the processors meanwhile, the hypervisor \
                 {:.0}%: with several workers the figures are worse than this machine can do",
                others * 100.0,
                stolen * 100.0
            )
        })
    }
}
