//! Text files in which the kernel reports facts, under roots that a test can replace.

use std::ffi::OsString;
use std::fs::File;
use std::io::{self, Read};
use std::path::{Path, PathBuf};

use crate::sys;

/// Locations of `/proc` and `/sys`.
#[derive(Debug, Clone)]
pub(crate) struct KernelFiles {
    pub(crate) proc: PathBuf,
    pub(crate) sys: PathBuf,
    /// Prefix of the mount points of control groups; empty on a running system.
    pub(crate) root: PathBuf,
}

impl KernelFiles {
    pub(crate) fn running() -> Self {
        Self { proc: sys::PROC.into(), sys: sys::SYS.into(), root: PathBuf::new() }
    }

    /// A tree of test files and links, and its locations.
    #[cfg(test)]
    pub(crate) fn tree(files: &[(&str, &str)]) -> (tempfile::TempDir, Self) {
        let root = tempfile::tempdir().unwrap();
        files.iter().for_each(|(path, text)| put(root.path(), path, text));
        let at = root.path();
        let kernel = Self { proc: at.join("proc"), sys: at.join("sys"), root: at.to_owned() };
        (root, kernel)
    }

    pub(crate) fn rooted(&self, path: &Path) -> PathBuf {
        match path.strip_prefix("/") {
            Ok(rest) if !self.root.as_os_str().is_empty() => self.root.join(rest),
            _ => path.to_owned(),
        }
    }
}

/// Writes a file of a test tree, or makes a symbolic link (`-> TARGET`; an absolute target is in the tree).
#[cfg(test)]
pub(crate) fn put(root: &Path, path: &str, text: &str) {
    let place = root.join(path);
    std::fs::create_dir_all(place.parent().unwrap()).unwrap();
    match text.strip_prefix("-> ") {
        Some(target) => {
            let target = target.strip_prefix('/').map_or(target.into(), |target| root.join(target));
            assert!(fullbore_testkit::ground::symlink(&target, &place));
        }
        None => std::fs::write(place, text).unwrap(),
    }
}

/// Returns the folders on the way up from a disk's device, within the tree of the system.
pub(crate) fn folders_above(disk: &Path, sys: &Path) -> Vec<PathBuf> {
    let sys = sys.canonicalize().unwrap_or_else(|_| sys.to_owned());
    let device = disk.join("device").canonicalize().unwrap_or_else(|_| disk.to_owned());
    device.ancestors().take_while(|folder| folder.starts_with(&sys)).map(Path::to_owned).collect()
}

/// Returns the text of a file without surrounding white space; `None` if it cannot be read or is empty.
pub(crate) fn text(path: &Path) -> Option<String> {
    let bytes = std::fs::read(path).ok()?;
    let text = String::from_utf8_lossy(&bytes);
    let text = text.trim_matches(|c: char| c.is_whitespace() || c == '\0');
    (!text.is_empty()).then(|| text.to_owned())
}

/// Returns the whole text of a file, or an error that contains its path.
pub(crate) fn whole(path: &Path) -> io::Result<String> {
    // Room for most files: a file that reports length 0 is otherwise read a few bytes at a time.
    let mut text = String::with_capacity(4096);
    File::open(path)
        .and_then(|mut file| file.read_to_string(&mut text))
        .map_err(|error| io::Error::new(error.kind(), format!("{}: {error}", path.display())))?;
    Ok(text)
}

/// Returns the names in a directory, sorted; none if it cannot be read.
pub(crate) fn names(folder: &Path) -> Vec<OsString> {
    let mut names: Vec<_> = std::fs::read_dir(folder)
        .into_iter()
        .flatten()
        .filter_map(|entry| entry.ok().map(|entry| entry.file_name()))
        .collect();
    names.sort();
    names
}
