//! Runs of the meter in new directories.
#![allow(dead_code, unreachable_pub)]

use std::path::Path;
use std::time::Duration;

use fullbore::pattern::Progress;
use fullbore_bench::document::{Cell, Document};
use fullbore_bench::{Measured, Options, run};

/// Options of a run in `directory` with the experiments of `toml`, files of `mib` MiB and intervals of any width.
pub fn options(directory: &Path, toml: impl Into<String>, mib: u64, seconds: u64) -> Options {
    Options {
        directories: vec![directory.to_owned()],
        size: Some(mib << 20),
        time: Duration::from_secs(seconds),
        precision: 0.5,
        sets: vec![("test".into(), toml.into())],
        ..Options::default()
    }
}

pub fn measured(options: &Options) -> Measured {
    run(options, &Progress::default(), |_| ()).unwrap()
}

pub fn document(options: &Options) -> Document {
    measured(options).document
}

/// Measures with more and more seconds until the result is `enough`: a busy machine takes longer for a sample.
pub fn until<T>(seconds: [u64; 3], run: impl FnMut(u64) -> T, enough: impl FnMut(&T) -> bool) -> T {
    seconds.into_iter().map(run).find(enough).expect("enough samples in the last time")
}

/// True if every cell has at least so many samples, or was skipped.
pub fn sampled(document: &Document, least: usize) -> bool {
    document.cells.iter().all(|cell| cell.skipped.is_some() || cell.samples.len() >= least)
}

/// True if a cell was measured; false if it was skipped, for a reason that the test accepts.
pub fn was_measured(cell: &Cell, accepts: impl Fn(&str) -> bool) -> bool {
    if let Some(reason) = &cell.skipped {
        println!("skipped: {}: {reason}", cell.id);
        assert!(accepts(reason), "{}: {reason}", cell.id);
        return false;
    }
    assert!(!cell.samples.is_empty(), "{}", cell.id);
    true
}

/// A directory on a disk, not in memory.
pub fn on_disk() -> tempfile::TempDir {
    tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap()
}

/// An experiment of one grid or several, each after the heading `[[experiment.grid]]`.
pub fn experiment(grids: &str) -> String {
    format!("[[experiment]]\nname = 'test'\ntitle = 'Test'\nquestion = 'Which?'\naxis = 'none'\n{grids}")
}
