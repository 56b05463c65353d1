//! Data and holes of one file or two: data is distributed to the workers; holes common to all are not read.

use std::ops::Range;

use fullbore_io::file::File;

/// The hole and the data found last in one file. Offsets count from `base`.
pub(super) struct Holes<'a> {
    file: &'a File,
    base: u64,
    end: u64,
    hole: Range<u64>,
    data: Range<u64>,
}

impl<'a> Holes<'a> {
    /// Examines `end` bytes of `file` from `base`.
    pub(super) fn of(file: &'a File, base: u64, end: u64, sparse: bool) -> Self {
        let data = if sparse { 0..0 } else { 0..u64::MAX };
        Self { file, base, end, hole: 0..0, data }
    }

    /// Offset of the next data at or after `offset`; the end if there is none.
    fn data_from(&mut self, offset: u64) -> u64 {
        if self.data.contains(&offset) {
            return offset;
        }
        if !self.hole.contains(&offset) {
            self.locate(offset);
        }
        if self.hole.contains(&offset) { self.hole.end } else { offset }
    }

    fn locate(&mut self, offset: u64) {
        let last = self.base + self.end;
        let found = self.file.seek_data(self.base + offset).and_then(|data| {
            let data = data.map_or(last, |data| data.min(last));
            let hole = if data < last { self.file.seek_hole(data)? } else { None };
            Ok((data, hole.unwrap_or(last)))
        });
        match found {
            Ok((data, hole)) => {
                self.hole = offset..data - self.base;
                self.data = data - self.base..(hole - self.base).max(data - self.base);
            }
            // Without `SEEK_DATA` everything is data.
            Err(_) => self.data = 0..u64::MAX,
        }
    }
}

/// A queue of stripes, from front to back.
pub(super) struct StripeQueue<'a> {
    next: u64,
    end: u64,
    stripe: u64,
    /// Distance of the first offset from the start of a stripe, so that stripes end at block boundaries of the file.
    shift: u64,
    sides: Vec<Holes<'a>>,
}

impl<'a> StripeQueue<'a> {
    pub(super) fn new(end: u64, stripe: u64, sides: Vec<Holes<'a>>) -> Self {
        let stripe = stripe.max(1);
        let shift = sides.first().map_or(0, |side| side.base % stripe);
        Self { next: 0, end, stripe, shift, sides }
    }

    /// Distributes the data of one file, without its holes if it is sparse.
    pub(super) fn of_data(file: &'a File, end: u64, stripe: u64, sparse: bool) -> Self {
        Self::new(end, stripe, vec![Holes::of(file, 0, end, sparse)])
    }

    /// The next stripe in which some side has data, in a single file at most up to its next hole; passes the holes
    /// before it to `hole`.
    pub(super) fn next_stripe(&mut self, mut hole: impl FnMut(Range<u64>)) -> Option<Range<u64>> {
        while self.next < self.end {
            let at = self.next;
            let data = self.sides.iter_mut().map(|side| side.data_from(at)).min().unwrap_or(at).min(self.end);
            if data > at {
                self.next = data;
                hole(at..data);
                continue;
            }
            let stop = ((at + self.shift) / self.stripe + 1).saturating_mul(self.stripe) - self.shift;
            let run = match self.sides.as_slice() {
                // A hole punched since then is read as zeros.
                [one] => one.data.end.max(at + 1),
                _ => u64::MAX,
            };
            self.next = stop.min(run).min(self.end);
            return Some(at..self.next);
        }
        None
    }
}

#[cfg(test)]
mod tests {
    use fullbore_testkit::ground::build_directory;
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn every_byte_is_distributed_or_skipped_once(
            base in 0u64..100, end in 0u64..1000, stripe in 0u64..100,
        ) {
            let file = File::open("Cargo.toml").unwrap();
            let mut stripes = StripeQueue::new(end, stripe, vec![
                Holes::of(&file, base, end, false),
                Holes::of(&file, 0, end, false),
            ]);
            let mut next = 0;
            while let Some(range) = stripes.next_stripe(|_| panic!("there is no hole")) {
                prop_assert_eq!(range.start, next);
                prop_assert!(range.end > range.start && range.end - range.start <= stripe.max(1));
                prop_assert!(range.end == end || (range.end + base).is_multiple_of(stripe.max(1)));
                next = range.end;
            }
            prop_assert_eq!(next, end);
        }

        /// Every written byte is covered once, in order, and no byte twice.
        #[test]
        fn a_walk_covers_all_data_in_order(
            writes in proptest::collection::vec((0u64..1 << 20, 1usize..20_000), 0..8),
            len in 0u64..1 << 21,
            stripe in 1u64..1 << 20,
        ) {
            let directory = tempfile::tempdir().unwrap();
            let file = File::create_new(directory.path().join("file")).unwrap();
            for (offset, len) in &writes {
                file.write_all_at(&vec![1; *len], *offset).unwrap();
            }
            file.set_len(len).unwrap();
            let mut model = vec![0u8; len as usize];
            file.read_exact_at(&mut model, 0).unwrap();
            for sparse in [false, true] {
                let mut stripes = StripeQueue::of_data(&file, len, stripe, sparse);
                let mut reached = 0;
                while let Some(range) = stripes.next_stripe(|_| ()) {
                    prop_assert!(range.start >= reached && range.end > range.start && range.end <= len);
                    prop_assert!(range.start / stripe == (range.end - 1) / stripe);
                    prop_assert!(model[reached as usize..range.start as usize].iter().all(|&byte| byte == 0));
                    prop_assert!(sparse || range.start == reached);
                    reached = range.end;
                }
                prop_assert!(model[reached as usize..].iter().all(|&byte| byte == 0));
            }
        }
    }

    #[test]
    fn common_holes_are_skipped() {
        let directory = tempfile::tempdir_in(build_directory()).unwrap();
        let sparse = |name: &str, data: &[(u64, usize)]| {
            let file = File::create_new(directory.path().join(name)).unwrap();
            for &(offset, len) in data {
                file.write_all_at(&vec![1; len], offset).unwrap();
            }
            file.set_len(64 << 20).unwrap();
            file
        };
        let (left, right) =
            (sparse("left", &[(1 << 20, 10), (9 << 20, 10)]), sparse("right", &[(20 << 20, 10)]));
        if left.seek_data(0).unwrap() == Some(0) {
            println!("skipped: this file system has no holes");
            return;
        }
        let end = 64 << 20;
        let mut runs = StripeQueue::of_data(&left, end, u64::MAX, true);
        let runs: Vec<_> = std::iter::from_fn(|| runs.next_stripe(|_| ())).collect();
        assert_eq!(runs.len(), 2, "{runs:?}");
        assert!(runs.iter().all(|run| run.end - run.start <= 1 << 20), "{runs:?}");
        for base in [0, 5] {
            let sides = [&left, &right].map(|file| Holes::of(file, base, end - base, true)).into();
            let mut stripes = StripeQueue::new(end - base, 64 << 10, sides);
            let (mut passed, mut dealt, mut next) = (0, Vec::new(), 0);
            loop {
                let mut skipped = Vec::new();
                let range = stripes.next_stripe(|hole| skipped.push(hole));
                for hole in skipped {
                    assert_eq!(hole.start, next);
                    next = hole.end;
                    passed += hole.end - hole.start;
                }
                let Some(range) = range else { break };
                assert_eq!(range.start, next);
                next = range.end;
                dealt.push(range);
            }
            assert_eq!(next, end - base);
            assert!(passed > 60 << 20, "{passed}");
            for data in [1 << 20, 9 << 20, 20 << 20] {
                assert!(dealt.iter().any(|range| range.contains(&(data - base))), "{data} in {dealt:?}");
            }
        }
    }
}
