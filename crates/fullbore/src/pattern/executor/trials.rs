//! Trials on files: of many files of some MiB, each is too short to try several strategies, so each is read with one, and
//! the later ones with the fastest.

use crate::pattern::adaptive::{Spent, Trials};
use crate::strategy::{Contender, Target, alike};

/// Each file is opened for itself, so a change of the contender takes no time of its own.
const CHANGE: f64 = 0.0;

/// The trials on the files of a run: of those in the page cache, and of the others.
#[derive(Debug, Default)]
pub(super) struct FileTrials([Trials; 2]);

impl FileTrials {
    /// The contender for a file of `len` bytes; `None` without a choice.
    pub(super) fn pick(&mut self, list: &[Contender], uncached: bool, len: u64) -> Option<usize> {
        if list.len() < 2 {
            return None;
        }
        let trials = &mut self.0[usize::from(uncached)];
        // The stripes may differ from file to file.
        let same = |(one, two): (&Contender, &Contender)| {
            alike(&one.strategy, &two.strategy, Target::Nowhere) && one.strategy.window == two.strategy.window
        };
        if trials.contenders.len() != list.len() || !trials.contenders.iter().zip(list).all(same) {
            *trials = Trials::new(list.to_vec(), trials.bytes);
        }
        Some(trials.next(len, CHANGE).0)
    }

    /// Records the time of a file that was read with the contender at a place.
    pub(super) fn record(&mut self, uncached: bool, place: usize, len: u64, seconds: f64) {
        // Other files run at the same time, so the CPU time of one is unknown.
        self.0[usize::from(uncached)].record(place, len, Spent { seconds, cpu: 0.0 });
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::strategy::Strategy;
    use fullbore_io::engine::method;

    const LEN: u64 = 10 << 20;

    /// The number of files that each of three contenders gets if `rate` gives theirs.
    fn files(rates: [f64; 3]) -> [usize; 3] {
        let contender = |name| Contender {
            strategy: Strategy { read: method(name).unwrap(), ..Strategy::plain() },
            expected: 0.0,
            deviation: 0.2,
        };
        let list = ["buffered", "mmap", "stdio"].map(contender);
        let (mut trials, mut counts) = (FileTrials::default(), [0; 3]);
        for file in 0..1000 {
            let place = trials.pick(&list, false, LEN).unwrap();
            let noise = 1.0 + 0.1 * (f64::from(file * 7919 % 13) / 6.0 - 1.0);
            trials.record(false, place, LEN, LEN as f64 / rates[place] * noise);
            counts[place] += 1;
        }
        assert_eq!(trials.pick(&list[..1], false, LEN), None);
        counts
    }

    #[test]
    fn most_files_are_read_with_the_fastest_strategy() {
        assert!(files([1e9, 2e9, 1.5e9])[1] > 950);
        assert!(files([2e9, 1e9, 1.5e9])[0] > 950);
        assert!(files([1e9, 1.5e9, 2e9])[2] > 950);
    }
}
