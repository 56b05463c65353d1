//! The files of a run: sources of random bytes in the page cache, and a target that the contenders write to in turn.

use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};

use fullbore::file::Temporary;
use fullbore::operation::Generate;
use fullbore::operation::generate::Random;

use super::case::Case;
use super::harness::Attempt;
use super::harness::directory::{create, sync};

pub(crate) const SMALL: u64 = 1 << 10;
pub(crate) const MIDDLE: u64 = 1 << 20;
pub(crate) const LARGE: u64 = 100 << 20;

/// Bytes that must be free: the sources, a target and a copy, and removed files whose space is not yet free.
const NEEDED: u64 = 6 * LARGE;

pub(crate) struct BenchFiles {
    path: PathBuf,
    /// Removes the directory; `None` in a process started to count system calls, which uses its parent's.
    _directory: Option<Temporary>,
}

impl BenchFiles {
    pub(crate) fn make(parent: &Path) -> Attempt<Self> {
        let directory = create(parent, "handles", NEEDED, "use another --dir")?;
        // The cost of opening a short path must not depend on the spelling of the directory.
        let path = fs::canonicalize(directory.path())?;
        let files = Self { path, _directory: Some(directory) };
        let random = Random::new(1);
        for size in [SMALL, MIDDLE, LARGE] {
            let mut file = fs::File::create(files.source(size))?;
            let mut block = vec![0; size.min(MIDDLE) as usize];
            for at in (0..size).step_by(block.len()) {
                random.fill(at, &mut block);
                file.write_all(&block)?;
            }
            file.sync_all()?;
        }
        Ok(files)
    }

    pub(crate) fn existing(path: &Path) -> Self {
        Self { path: path.to_owned(), _directory: None }
    }

    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    pub(crate) fn source(&self, size: u64) -> PathBuf {
        self.path.join(format!("source-{size}"))
    }

    /// Syncs data written by earlier cases, so that later ones are not slowed down.
    pub(crate) fn settle(&self) -> Attempt<()> {
        let _ = fs::remove_file(self.target());
        sync(&self.path)
    }

    /// Empties the target if a turn of the case begins so; not measured.
    pub(crate) fn prepare(&self, case: &Case) -> Attempt<()> {
        if case.from_empty {
            fs::File::create(self.target())?;
        }
        Ok(())
    }

    /// The file to write to; its contents are undefined.
    pub(crate) fn target(&self) -> PathBuf {
        self.path.join("target")
    }

    /// The target as a copy of the source of `size` bytes.
    pub(crate) fn filled(&self, size: u64) -> Attempt<PathBuf> {
        let target = self.target();
        fs::write(&target, fs::read(self.source(size))?)?;
        Ok(target)
    }
}
