//! One pass over one file for all that is asked of it.

use std::path::Path;
use std::sync::atomic::{AtomicUsize, Ordering};

use fullbore::error::{Error, Result};
use fullbore::file::{File, FileKind};
use fullbore::operation::Split;
use fullbore::operation::hash::{Hash, Relay, Together};
use fullbore::pattern::{Crew, Scratch};
use fullbore_cli::each;

/// Files shorter than this are hashed by whoever reads them: threads cost more than they bring, in bytes.
const SMALL: u64 = 2 << 20;

/// How many files are hashed from front to back now, each of which may have helpers.
#[derive(Debug, Default)]
pub(super) struct Passes(AtomicUsize);

impl Passes {
    /// The sums of what is named, in the order of `hashes`, and how many bytes it has.
    pub(super) fn sums(
        &self,
        hashes: &[Hash],
        name: &Path,
        crew: &Crew<'_>,
        scratch: &mut Scratch,
    ) -> Result<(u64, Vec<Vec<u8>>)> {
        let file = each::open(name, scratch)?;
        self.of(hashes, &file, crew, scratch).map_err(|error| match file.kind() {
            // The peers say what the system says when a directory is read. Asked first, it would cost every file a call.
            FileKind::Directory => Error::io("read", name, rustix::io::Errno::ISDIR.into()),
            _ => error,
        })
    }

    fn of(
        &self,
        hashes: &[Hash],
        file: &File,
        crew: &Crew<'_>,
        scratch: &mut Scratch,
    ) -> Result<(u64, Vec<Vec<u8>>)> {
        if let [hash] = hashes
            && hash.algorithm().split != Split::Sequential
        {
            let (outcome, sum) = crew.fold(hash, file, scratch)?;
            return Ok((outcome.bytes, vec![sum.finish()]));
        }
        let together = Together::new(hashes);
        if together.may_be_cut() || file.snapshot()?.len < SMALL && file.seekable() {
            let (outcome, sums) = crew.fold(&together, file, scratch)?;
            return Ok((outcome.bytes, sums.into_iter().map(|sum| sum.finish()).collect()));
        }
        let others = self.0.fetch_add(1, Ordering::Relaxed);
        let result = match crew.workers().saturating_sub(others) {
            0 | 1 => crew.fold(&together, file, scratch).map(|(outcome, sums)| {
                (outcome, sums.into_iter().map(|sum| sum.finish()).collect::<Vec<_>>())
            }),
            free => Relay::run(hashes, free, |relay| crew.fold(relay, file, scratch)),
        };
        self.0.fetch_sub(1, Ordering::Relaxed);
        let (outcome, sums) = result?;
        Ok((outcome.bytes, sums))
    }
}
