//! One pass over one file for all requested hashes.

use std::path::Path;
use std::sync::atomic::{AtomicUsize, Ordering};

use fullbore::error::Result;
use fullbore::file::File;
use fullbore::operation::Split;
use fullbore::operation::hash::{Digest, Hash, MultiHash, PipelinedHashes};
use fullbore::pattern::{Executor, Worker};
use fullbore::strategy::SMALL;
use fullbore_cli::for_each;
use fullbore_cli::values::is_stdio;

/// Number of files being hashed sequentially, each of which may have helper threads.
#[derive(Debug, Default)]
pub(super) struct Passes(AtomicUsize);

impl Passes {
    /// Returns the sums of the file that `open` opens, in the order of `hashes`, and its length in bytes.
    pub(super) fn sums(
        &self,
        hashes: &[Hash],
        name: &Path,
        open: impl FnOnce(&mut Worker) -> Result<File>,
        executor: &Executor<'_>,
        worker: &mut Worker,
    ) -> Result<(u64, Vec<Digest>)> {
        let turn = is_stdio(name).then(|| for_each::STANDARD_INPUT.lock());
        let file = open(worker)?;
        let seekable = turn.is_some() && file.seekable_len().is_ok_and(|len| len.is_some());
        let found = self.of(hashes, &file, executor, worker);
        if let (true, Ok((len, _))) = (seekable, &found) {
            for_each::seek_standard_input(*len);
        }
        found
    }

    fn of(
        &self,
        hashes: &[Hash],
        file: &File,
        executor: &Executor<'_>,
        worker: &mut Worker,
    ) -> Result<(u64, Vec<Digest>)> {
        if let [hash] = hashes
            && hash.algorithm().split != Split::Sequential
        {
            let (sum, stats) = executor.fold(hash, file, worker)?;
            return Ok((stats.bytes, vec![sum.digest()]));
        }
        let multi_hash = MultiHash::new(hashes);
        let file = &if multi_hash.may_be_cut() { file.clone() } else { file.stamped()? };
        let alone = |worker: &mut Worker| {
            let (sums, stats) = executor.fold(&multi_hash, file, worker)?;
            Ok((sums.into_iter().map(|sum| sum.digest()).collect::<Vec<_>>(), stats))
        };
        // Helper threads cost more than they save in a small file.
        if multi_hash.may_be_cut() || file.starting_stamp()?.len < SMALL && file.seekable() {
            return alone(worker).map(|(sums, stats)| (stats.bytes, sums));
        }
        let others = self.0.fetch_add(1, Ordering::Relaxed);
        let result = match executor.workers().saturating_sub(others) {
            0 | 1 => alone(worker),
            free => PipelinedHashes::run(hashes, free, |pipeline| executor.fold(pipeline, file, worker)),
        };
        self.0.fetch_sub(1, Ordering::Relaxed);
        let (sums, stats) = result?;
        Ok((stats.bytes, sums))
    }
}
