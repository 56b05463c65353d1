//! Creation of test files on the device.

use super::directory::OwnDirectory;
use fullbore::buf::ALIGNMENT;
use fullbore::engine::CachePolicy;
use fullbore::error::{Error, ErrorKind};
use fullbore::file::{Durability, File, Output, Temporary};
use fullbore::operation::Generate;
use fullbore::operation::generate::Random;
use fullbore::pattern::{self, Progress, Scope};
use fullbore::strategy::{Planner, Purpose, StrategySpec};
use fullbore::{Result, probe};

/// Refuses a file with bytes that no device stores as such: holes, unwritten blocks, compressed data. Throughput
/// measured on it would be meaningless.
pub(super) fn check_backed_by_device(file: &File) -> Result<()> {
    match probe::provenance(file).ok().and_then(|provenance| provenance.measurement_problem()) {
        Some(objection) => Err(Error::new(ErrorKind::Unsupported, "measure with", file.path(), objection)),
        None => Ok(()),
    }
}

pub(super) struct FileCreator<'a> {
    pub(super) directory: &'a OwnDirectory,
    pub(super) seed: u64,
    pub(super) temporaries: Vec<Temporary>,
    pub(super) progress: &'a Progress,
}

impl FileCreator<'_> {
    /// Creates a file of `len` random bytes on the device, or fewer if `enough`, called with the bytes written so far,
    /// returns true.
    pub(super) fn file(&mut self, name: &str, len: u64, enough: impl Fn(u64) -> bool) -> Result<File> {
        self.seed = self.seed.wrapping_add(1);
        self.fill(name, &Random::new(self.seed), len, enough)
    }

    /// Creates a file of `len` bytes from any generator, likewise.
    pub(super) fn fill(
        &mut self,
        name: &str,
        content: &dyn Generate,
        len: u64,
        enough: impl Fn(u64) -> bool,
    ) -> Result<File> {
        const STEP: u64 = 16 << 20;
        let mut fill = || {
            let (temporary, file) =
                Temporary::make(self.directory.path.join(name), |path| File::create_new(path))?;
            self.temporaries.push(temporary);
            let output = Output::overwrite(file.path())?;
            let spec = StrategySpec { read_cache: Some(CachePolicy::Keep), ..StrategySpec::default() };
            let planned = Planner::new(&spec).plan(Purpose::Generate, None, Some(len), Some(&output))?;
            let mut done = 0;
            while done < len && !enough(done) {
                let range = done..(done + STEP).min(len);
                done = range.end;
                let scope = Scope { range, order: pattern::Order::Sequential };
                pattern::fill(content, &scope, &output, &planned.strategy, self.progress, &false.into())?;
                file.sync_data()?;
            }
            output.commit_len(done, Durability::Data)?;
            debug_assert!(done.is_multiple_of(ALIGNMENT as u64) || done == len);
            check_backed_by_device(&file)?;
            Ok(file)
        };
        fill().map_err(|error| self.directory.shown(error))
    }
}

#[cfg(all(test, unix))]
mod tests {
    use super::*;

    #[test]
    fn files_not_stored_on_a_device_are_refused() {
        let directory = tempfile::tempdir().unwrap();
        let file = |name: &str| File::create_new(directory.path().join(name)).unwrap();
        let (whole, sparse, reserved) = (file("whole"), file("sparse"), file("reserved"));
        whole.write_all_at(&[7; 1 << 20], 0).unwrap();
        whole.sync_data().unwrap();
        check_backed_by_device(&whole).unwrap();
        sparse.write_all_at(&[7; 4096], 0).unwrap();
        sparse.set_len(1 << 20).unwrap();
        sparse.sync_data().unwrap();
        let refused = check_backed_by_device(&sparse).unwrap_err();
        assert!(
            refused.kind() == ErrorKind::Unsupported && refused.to_string().contains("holes"),
            "{refused}"
        );
        if let Err(error) = reserved.allocate_and_extend(1 << 20) {
            return println!("skipped: blocks never written: {error}");
        }
        reserved.set_len(1 << 20).unwrap();
        match check_backed_by_device(&reserved) {
            Err(refused) => assert!(refused.to_string().contains("never written"), "{refused}"),
            // A file system in memory does not report them.
            Ok(()) => assert_eq!(probe::provenance(&reserved).unwrap().unwritten, None),
        }
    }
}
