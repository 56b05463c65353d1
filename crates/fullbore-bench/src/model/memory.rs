//! Memory as a stage that processors share.

use std::collections::BTreeMap;

/// Seconds in which each of `n` processors moves a byte: `own + n · shared`.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Memory {
    own: f64,
    shared: f64,
}

impl Memory {
    /// Fits the highest rate, in bytes per second, at each number of processors; `None` without any. With one number of
    /// processors, they share nothing.
    pub(super) fn fit(rates: impl IntoIterator<Item = (u32, f64)>) -> Option<Self> {
        let mut fastest: BTreeMap<u32, f64> = BTreeMap::new();
        for (processors, rate) in rates {
            let known = fastest.entry(processors).or_default();
            *known = known.max(rate);
        }
        let points: Vec<(f64, f64)> = fastest
            .into_iter()
            .filter(|(_, rate)| *rate > 0.0)
            .map(|(processors, rate)| (f64::from(processors), f64::from(processors) / rate))
            .collect();
        let mean = |of: fn(&(f64, f64)) -> f64| points.iter().map(of).sum::<f64>() / points.len() as f64;
        let (number, time) = (mean(|point| point.0), mean(|point| point.1));
        let spread: f64 = points.iter().map(|point| (point.0 - number).powi(2)).sum();
        let slope = points.iter().map(|point| (point.0 - number) * (point.1 - time)).sum::<f64>() / spread;
        let shared = if spread > 0.0 { slope.clamp(0.0, time / number) } else { 0.0 };
        (!points.is_empty()).then_some(Self { own: time - number * shared, shared })
    }

    /// Returns the bytes per second of `processors` together.
    pub(super) fn bandwidth(&self, processors: f64) -> f64 {
        processors / (self.own + processors * self.shared)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn more_processors_approach_the_bandwidth_of_memory() {
        // 10 GB/s a processor, 40 GB/s in all: 1 ÷ (1/10 + n/40 − 1/40) each.
        let each = |n: f64| 1.0 / (0.1 + (n - 1.0) / 40.0);
        let memory = Memory::fit([(1, 10e9), (2, 2e9 * each(2.0)), (2, 9e9)]).unwrap();
        for n in [1.0, 2.0, 8.0] {
            assert!((memory.bandwidth(n) / (n * 1e9 * each(n)) - 1.0).abs() < 1e-9, "{n}: {memory:?}");
        }
        assert!(memory.bandwidth(1e6) < 40e9);
    }

    #[test]
    fn unknown_sharing_is_none() {
        assert_eq!(Memory::fit([(1, 10e9)]).unwrap().bandwidth(8.0), 80e9);
        // The second processor cannot speed up the first.
        assert!((Memory::fit([(1, 10e9), (2, 22e9)]).unwrap().bandwidth(8.0) / 84e9 - 1.0).abs() < 0.01);
        // The second processor adds nothing.
        assert!((Memory::fit([(1, 10e9), (2, 10e9)]).unwrap().bandwidth(8.0) / 10e9 - 1.0).abs() < 1e-9);
        assert_eq!(Memory::fit([]), None);
    }
}
