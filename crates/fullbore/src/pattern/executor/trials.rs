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

/// The most lists of contenders for one kind of files: they depend on the length of a file and on the memory for it.
const LISTS: usize = 8;

/// The list of contenders for a file: the kind of the file, and the place of the list.
#[derive(Debug, Clone, Copy)]
pub(super) struct TrialList(TrialKind, usize);

/// The trials on the files of a run, by their kind and their contenders.
#[derive(Debug, Default)]
pub(super) struct FileTrials([Vec<Trials>; 4]);

impl FileTrials {
    /// The contender for a file of `len` bytes, and its list; `None` without a choice.
    pub(super) fn pick(
        &mut self,
        list: &[Contender],
        kind: TrialKind,
        len: u64,
    ) -> Option<(Strategy, TrialList)> {
        if list.len() < 2 {
            return None;
        }
        let lists = &mut self.0[kind.index()];
        let same = |trials: &Trials| {
            let mut pairs = trials.contenders.iter().zip(list);
            trials.contenders.len() == list.len()
                && pairs.all(|(one, two)| reads_alike(&one.strategy, &two.strategy))
        };
        let place = match lists.iter().position(same) {
            Some(place) => place,
            None => {
                let bytes = lists.last().map_or(0, |trials| trials.bytes);
                if lists.len() == LISTS {
                    // The lists that are still in use are measured again.
                    lists.clear();
                }
                lists.push(Trials::new(list.to_vec(), bytes));
                lists.len() - 1
            }
        };
        let strategy = list[lists[place].next(len, CHANGE).0].strategy.clone();
        Some((strategy, TrialList(kind, place)))
    }

    /// Records the time of a file that was read with a strategy of a list.
    pub(super) fn record(&mut self, list: TrialList, strategy: &Strategy, len: u64, seconds: f64) {
        let TrialList(kind, place) = list;
        // The list may be another one by now.
        let Some(trials) = self.0[kind.index()].get_mut(place) else { return };
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

    fn contender(name: &str) -> Contender {
        Contender {
            strategy: Strategy { read: method(name).unwrap(), ..Strategy::plain() },
            expected: 0.0,
            deviation: 0.2,
        }
    }

    /// The number of files that each of three contenders gets if `rate` gives theirs.
    fn files(rates: [f64; 3]) -> [usize; 3] {
        let list = ["buffered", "mmap", "stdio"].map(contender);
        let (mut trials, mut counts) = (FileTrials::default(), [0; 3]);
        for file in 0..1000 {
            let (strategy, picked) = trials.pick(&list, KIND, LEN).unwrap();
            let place = list.iter().position(|known| known.strategy == strategy).unwrap();
            let noise = 1.0 + 0.1 * (f64::from(file * 7919 % 13) / 6.0 - 1.0);
            trials.record(picked, &strategy, LEN, LEN as f64 / rates[place] * noise);
            counts[place] += 1;
            // Files with one worker have other contenders, and are measured on their own.
            let serial = TrialKind { serial: true, ..KIND };
            let (other, picked) = trials.pick(&list[1..], serial, LEN).unwrap();
            trials.record(picked, &other, LEN, 1.0);
        }
        assert!(trials.pick(&list[..1], KIND, LEN).is_none());
        counts
    }

    #[test]
    fn most_files_are_read_with_the_fastest_strategy() {
        assert!(files([1e9, 2e9, 1.5e9])[1] > 950);
        assert!(files([2e9, 1e9, 1.5e9])[0] > 950);
        assert!(files([1e9, 1.5e9, 2e9])[2] > 950);
    }

    #[test]
    fn files_with_other_contenders_have_trials_of_their_own() {
        let short = ["buffered", "mmap", "stdio"].map(contender);
        let long = short
            .clone()
            .map(|known| Contender { strategy: Strategy { request: 1 << 20, ..known.strategy }, ..known });
        let lists = [(short, LEN), (long, 10 * LEN)];
        let (mut trials, mut counts) = (FileTrials::default(), [0; 2]);
        for _ in 0..1000 {
            for ((list, len), count) in lists.iter().zip(&mut counts) {
                let (strategy, picked) = trials.pick(list, KIND, *len).unwrap();
                let place = list.iter().position(|known| known.strategy == strategy).unwrap();
                trials.record(picked, &strategy, *len, *len as f64 / [1e9, 2e9, 1.5e9][place]);
                *count += usize::from(place == 1);
            }
        }
        assert!(counts.iter().all(|&count| count > 900), "{counts:?}");
        // Their number is limited.
        for request in 1..=2 * LISTS {
            let list = lists[0].0.clone().map(|known| Contender {
                strategy: Strategy { request: request << 12, ..known.strategy },
                ..known
            });
            assert!(trials.pick(&list, KIND, LEN).is_some());
        }
        assert!(trials.0.iter().all(|lists| lists.len() <= LISTS));
    }
}
