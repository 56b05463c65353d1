//! The data file that all comparisons read, in a directory that is removed at the end.

use std::path::{Path, PathBuf};
use std::process::Command;

use fullbore::file::File;
use fullbore::{probe, size};

use super::Attempt;
use super::directory::{Directory, start};

/// Free space must be this many times the size of the data.
const ROOM: u64 = 5;

/// The directory of a run.
pub(crate) struct DataDirectory {
    directory: Directory,
    /// Random bytes of the requested size, on the device.
    pub(crate) input: PathBuf,
    /// Their number.
    pub(crate) size: u64,
}

impl DataDirectory {
    /// Creates the directory in `parent` and the data file in it with `binary`.
    pub(crate) fn make(parent: &Path, bytes: u64, binary: &Path) -> Attempt<Self> {
        let needed = bytes.saturating_mul(ROOM);
        let directory = Directory::make(parent, ".fullbore-peers-", needed, "use a smaller --size")?;
        let input = directory.path().join("input");
        let place = Self { directory, input, size: bytes };
        eprintln!("making {} of random bytes in {}", size::human(bytes), place.directory.path().display());
        let mut generate = Command::new(binary);
        generate.args(["gen", &bytes.to_string()]).arg(&place.input).args([
            "--sync",
            "data",
            "--progress",
            "never",
        ]);
        if !start(&mut generate)?.wait()?.success() {
            return Err("the data file could not be created".into());
        }
        let file = File::open(&place.input)?;
        if let Some(objection) = probe::provenance(&file).ok().and_then(|provenance| provenance.objection()) {
            return Err(
                format!("{}: {objection}: measurements on it would be wrong", place.input.display()).into()
            );
        }
        Ok(place)
    }

    /// A path in the directory.
    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.directory.path().join(name)
    }
}
