//! Slices of equal length from readings of a counter at irregular times.

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
    /// Starts with a counter of 0 at time 0.
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
