//! The data of a file, without its holes.

use std::ops::Range;

use fullbore_io::error::Result;
use fullbore_io::file::File;

/// The rest of a pass over a file's data, from front to back.
pub(super) struct Segments<'a> {
    file: &'a File,
    len: u64,
    next: u64,
    /// The end of the data that contains `next`; not beyond `next` once that data is used up.
    end: u64,
    /// True to skip holes.
    sparse: bool,
}

impl<'a> Segments<'a> {
    pub(super) fn new(file: &'a File, len: u64, sparse: bool) -> Self {
        Self { file, len, next: 0, end: 0, sparse }
    }

    /// The next run of data, at most to the next multiple of `stripe` bytes.
    pub(super) fn next(&mut self, stripe: u64) -> Result<Option<Range<u64>>> {
        if self.next >= self.end {
            if self.next >= self.len {
                return Ok(None);
            }
            self.end = self.len;
            if self.sparse {
                let Some(data) = self.file.seek_data(self.next)?.filter(|data| *data < self.len) else {
                    self.next = self.len;
                    return Ok(None);
                };
                self.next = data.max(self.next);
                self.end = self.file.seek_hole(data)?.unwrap_or(self.len).clamp(self.next, self.len);
                if self.end == self.next {
                    // The hole was punched between the two calls: it reads as zeros.
                    self.end = (self.next + 1).min(self.len);
                }
            }
        }
        let start = self.next;
        let boundary = (start / stripe).saturating_add(1).saturating_mul(stripe);
        self.next = boundary.min(self.end);
        Ok(Some(start..self.next))
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        /// Every written byte is covered once, in order, and no byte twice.
        #[test]
        fn a_walk_covers_all_data_in_order(
            writes in prop::collection::vec((0u64..1 << 20, 1usize..20_000), 0..8),
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
                let mut segments = Segments::new(&file, len, sparse);
                let mut reached = 0;
                while let Some(range) = segments.next(stripe).unwrap() {
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
}
