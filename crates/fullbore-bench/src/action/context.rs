//! The environment of a run's trials.

use std::path::Path;

use fullbore::error::{Error, ErrorKind};
use fullbore::pattern::Progress;
use fullbore::probe::DeviceNumber;

use crate::clock::Clock;
use crate::test_files::TestFiles;

#[derive(Debug)]
pub(crate) struct RunContext<'a> {
    /// The test files, a set per directory; at least one.
    pub(crate) file_sets: &'a [TestFiles],
    /// The devices under them, as far as known.
    pub(crate) devices: &'a [DeviceNumber],
    pub(crate) progress: &'a Progress,
    pub(crate) clock: Clock,
    /// Seed of data and orders.
    pub(crate) seed: u64,
    /// Path of the program `fullbore` itself, if known.
    pub(crate) program: Option<&'a Path>,
}

impl RunContext<'_> {
    /// Returns the test files of the first directory.
    pub(crate) fn test_files(&self) -> &TestFiles {
        &self.file_sets[0]
    }

    /// Returns the error for a trial of the device if there is no device.
    pub(crate) fn no_device(&self) -> Error {
        let what = "the file system keeps its files in memory: it has no device and no cold files";
        Error::new(ErrorKind::Unsupported, "measure", self.test_files().directory(), what)
    }
}
