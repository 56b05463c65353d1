//! Trials on whole files. A file of a few MiB is too short to try several strategies on it. So among many such files, the first
//! ones are each read with one contender, and the later ones with the fastest.

use crate::pattern::adaptive::{Spent, Trials};
use crate::strategy::{Contender, Strategy, reads_alike};

/// Each file is opened separately, so a change of the contender takes no additional time.
const CHANGE: f64 = 0.0;

/// The kinds of files whose rates can be compared.
#[derive(Debug, Clone, Copy)]
pub(super) struct TrialKind {
    /// True for files that are not in the page cache.
    pub(super) uncached: bool,
    /// True for files with one worker.
    pub(super) serial: bool,
}

impl TrialKind {
    fn index(self) -> usize {
        2 * usize::from(self.uncached) + usize::from(self.serial)
    }
}

/// The trials on the files of a run, by their kind.
#[derive(Debug, Default)]
pub(super) struct FileTrials([Trials; 4]);

impl FileTrials {
    /// The contender for a file of `len` bytes; `None` without a choice.
    pub(super) fn pick<'c>(
        &mut self,
        list: &'c [Contender],
        kind: TrialKind,
        len: u64,
    ) -> Option<&'c Strategy> {
        if list.len() < 2 {
            return None;
        }
        let trials = &mut self.0[kind.index()];
        let known = trials.contenders.iter().zip(list);
        if trials.contenders.len() != list.len()
            || !known.into_iter().all(|(one, two)| reads_alike(&one.strategy, &two.strategy))
        {
            *trials = Trials::new(list.to_vec(), trials.bytes);
        }
        Some(&list[trials.next(len, CHANGE).0].strategy)
    }

    /// Records the time of a file that was read with a strategy.
    pub(super) fn record(&mut self, kind: TrialKind, strategy: &Strategy, len: u64, seconds: f64) {
        let trials = &mut self.0[kind.index()];
        // The contenders may be others by now.
        if let Some(place) = trials.contenders.iter().position(|known| reads_alike(&known.strategy, strategy))
        {
            // Other files run at the same time, so the CPU time of one is unknown.
            trials.record(place, Spent { bytes: len, seconds, cpu: 0.0 });
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use fullbore_io::engine::method;

    const LEN: u64 = 10 << 20;
    const KIND: TrialKind = TrialKind { uncached: false, serial: false };

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
            let strategy = trials.pick(&list, KIND, LEN).unwrap();
            let place = list.iter().position(|known| known.strategy == *strategy).unwrap();
            let noise = 1.0 + 0.1 * (f64::from(file * 7919 % 13) / 6.0 - 1.0);
            trials.record(KIND, strategy, LEN, LEN as f64 / rates[place] * noise);
            counts[place] += 1;
            // Files with one worker have other contenders, and are measured on their own.
            let serial = TrialKind { serial: true, ..KIND };
            let others = trials.pick(&list[1..], serial, LEN).unwrap();
            trials.record(serial, others, LEN, 1.0);
        }
        assert_eq!(trials.pick(&list[..1], KIND, LEN), None);
        counts
    }

    #[test]
    fn most_files_are_read_with_the_fastest_strategy() {
        assert!(files([1e9, 2e9, 1.5e9])[1] > 950);
        assert!(files([2e9, 1e9, 1.5e9])[0] > 950);
        assert!(files([1e9, 1.5e9, 2e9])[2] > 950);
    }
}
