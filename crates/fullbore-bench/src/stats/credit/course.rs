//! The course of a continuous transfer: bytes in equal slices of time, with idle periods between.

use serde::{Deserialize, Serialize};

use super::super::quantile::mean;

/// Most slices of a course; adjacent ones are joined beyond.
const MOST_SLICES: usize = 8192;

/// Bytes of a continuous transfer in equal slices, after an idle period.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Stretch {
    /// Seconds without requests before its first request; 0 for the first stretch, which no recorded time precedes.
    pub idle_s: f64,
    /// Bytes completed in each slice.
    pub bytes: Vec<u64>,
}

/// Stretches of continuous transfer, separated by idle periods.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Course {
    /// Length of a slice in seconds.
    pub slice_s: f64,
    /// Length of a round of the test for a steady state, in seconds.
    pub round_s: f64,
    /// The stretches, in order. The first spends the credit that the device had; the others spend what it regained.
    pub stretches: Vec<Stretch>,
}

/// Fewest slices of the first stretch.
const FEWEST: usize = 20;

impl Course {
    /// True if the first stretch is too short for a model of bursts.
    pub fn is_short(&self) -> bool {
        self.stretches.first().is_none_or(|stretch| stretch.bytes.len() < FEWEST)
    }

    /// Returns the course with slices joined in pairs until it has at most 8192.
    pub fn coarsened(mut self) -> Self {
        let slices = |course: &Self| course.stretches.iter().map(|one| one.bytes.len()).sum::<usize>();
        while slices(&self) > MOST_SLICES {
            self.slice_s *= 2.0;
            for stretch in &mut self.stretches {
                stretch.bytes = stretch.bytes.chunks_exact(2).map(|pair| pair[0] + pair[1]).collect();
            }
        }
        self
    }

    /// Returns the seconds from the first request to the start of a stretch.
    pub fn start_s(&self, stretch: usize) -> f64 {
        let before = self.stretches.iter().take(stretch);
        let busy: usize = before.map(|one| one.bytes.len()).sum();
        let idle: f64 = self.stretches.iter().take(stretch + 1).map(|one| one.idle_s).sum();
        busy as f64 * self.slice_s + idle
    }
}

/// True if the last five rounds are steady, as the performance test specification of the SNIA defines it: their range
/// is at most 20% of their mean, and the line through them rises or falls by at most 10% of it.
pub fn steady_state(rounds: &[f64]) -> bool {
    const WINDOW: usize = 5;
    const RANGE: f64 = 0.2;
    const SLOPE: f64 = 0.1;
    let Some(last) = rounds.len().checked_sub(WINDOW).map(|start| &rounds[start..]) else { return false };
    let mean = mean(last);
    let (low, high) =
        last.iter().fold((f64::INFINITY, f64::NEG_INFINITY), |(l, h), v| (l.min(*v), h.max(*v)));
    let middle = (WINDOW - 1) as f64 / 2.0;
    let (product, square) = last.iter().enumerate().fold((0.0, 0.0), |(product, square), (i, value)| {
        let at = i as f64 - middle;
        (product + at * value, square + at * at)
    });
    let excursion = (product / square * (WINDOW - 1) as f64).abs();
    mean > 0.0 && high - low <= RANGE * mean && excursion <= SLOPE * mean
}

/// Distributes the growth of a counter over equal slices, by straight lines between its readings.
#[derive(Debug)]
pub(crate) struct Slicer {
    slice_s: f64,
    /// Time and value of the last reading.
    last: (f64, f64),
    /// Value of the counter at the end of the last slice.
    sum: u64,
    slices: Vec<u64>,
}

impl Slicer {
    pub(crate) fn new(slice_s: f64) -> Self {
        Self { slice_s, last: (0.0, 0.0), sum: 0, slices: Vec::new() }
    }

    /// Adds a reading: the time in seconds, and the counter; neither is below the one before.
    pub(crate) fn add(&mut self, seconds: f64, counter: u64) {
        let (before, value) = self.last;
        let (after, end) = (seconds.max(before), (counter as f64).max(value));
        loop {
            let edge = (self.slices.len() + 1) as f64 * self.slice_s;
            if edge > after {
                break;
            }
            let share = if after > before { (edge - before) / (after - before) } else { 1.0 };
            let sum = (value + share * (end - value)).round() as u64;
            self.slices.push(sum - self.sum);
            self.sum = sum;
        }
        self.last = (after, end);
    }

    pub(crate) fn slices(&self) -> &[u64] {
        &self.slices
    }

    pub(crate) fn into_slices(self) -> Vec<u64> {
        self.slices
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn steady_rounds_have_a_small_range_and_slope() {
        assert!(steady_state(&[300.0, 100.0, 101.0, 99.0, 100.0, 100.0]));
        assert!(!steady_state(&[100.0; 4]));
        // A range of 30%; and a slope of 12% within a range of 12%.
        assert!(!steady_state(&[85.0, 115.0, 100.0, 100.0, 100.0]));
        assert!(!steady_state(&[106.0, 103.0, 100.0, 97.0, 94.0]));
        assert!(steady_state(&[104.0, 102.0, 100.0, 98.0, 96.0]));
        assert!(!steady_state(&[0.0; 5]));
    }

    #[test]
    fn long_courses_are_coarser_and_keep_their_bytes() {
        let stretches = vec![
            Stretch { idle_s: 0.0, bytes: vec![3; 20_000] },
            Stretch { idle_s: 2.0, bytes: vec![5; 2000] },
        ];
        let course = Course { slice_s: 0.05, round_s: 1.0, stretches };
        let bytes = |course: &Course| course.stretches.iter().flat_map(|one| &one.bytes).sum::<u64>();
        let coarse = course.clone().coarsened();
        assert_eq!((coarse.slice_s, bytes(&coarse)), (0.2, bytes(&course)));
        assert_eq!(coarse.stretches[0].bytes.len(), 5000);
        assert_eq!((course.start_s(0), course.start_s(1), coarse.start_s(1)), (0.0, 1002.0, 1002.0));
    }

    #[test]
    fn late_readings_are_distributed_evenly() {
        let mut slicer = Slicer::new(0.5);
        for (seconds, counter) in [(0.25, 10), (0.75, 30), (2.25, 90), (2.25, 90), (2.4, 90)] {
            slicer.add(seconds, counter);
        }
        assert_eq!(slicer.slices(), [20, 20, 20, 20]);
        slicer.add(3.0, 150);
        assert_eq!(slicer.into_slices(), [20, 20, 20, 20, 20, 50]);
    }
}
