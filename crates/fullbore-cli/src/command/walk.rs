//! The files of a tree in path order, compared as bytes.

use std::cmp::Ordering;
use std::ffi::{OsStr, OsString};
use std::fs;
use std::path::{Path, PathBuf};

use fullbore::error::{Error, ErrorKind};
use fullbore::file::HeldDir;
use fullbore::sys::{self, AtFlags, Code, FileKind, OsStrExt};
use fullbore_cli::values::is_stdio;

/// Rules for following links and including hidden names.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Rules {
    /// True to follow symbolic links. Links to directories that the user named are always followed.
    pub(crate) follow: bool,
    /// True to include names that begin with a dot. Such names that the user gave are always included.
    pub(crate) hidden: bool,
    /// True if the path `-` means standard input.
    pub(crate) stdin: bool,
}

/// The regular files below the user's paths, and errors.
///
/// A directory's names are sorted as bytes, a directory as if its name ended with a slash, so the paths are in the
/// order of `sort` in the C locale. A path that the user named is returned whatever its kind, unless it is a directory.
pub(crate) struct Walk<N> {
    named: N,
    rules: Rules,
    /// The open directories from the top down, each with its remaining entries, the next one last.
    open: Vec<OpenDir>,
}

struct OpenDir {
    path: PathBuf,
    held: HeldDir,
    left: Vec<(OsString, FileKind)>,
}

impl<N: Iterator<Item = PathBuf>> Walk<N> {
    pub(crate) fn new(named: N, rules: Rules) -> Self {
        Self { named, rules, open: Vec::new() }
    }

    /// Enters a directory: one that the user named, or an entry of the last one entered. The directory is held open, so
    /// its entries stay those found in it, even if the path changes.
    fn enter(&mut self, path: PathBuf, named: bool) -> Result<(), Error> {
        let fail = |error: std::io::Error| Error::io("read directory", &path, error);
        let system = |error: Code| fail(error.into());
        let held = match (self.open.last(), path.file_name()) {
            (Some(above), Some(name)) if !named => above.held.child(name, self.rules.follow),
            _ => HeldDir::open(&path),
        }
        .map_err(fail)?;
        if self.open.iter().any(|above| above.held.identity() == held.identity()) {
            let what = "the symbolic link leads back to a parent directory";
            return Err(Error::new(ErrorKind::Invalid, "read directory", &path, what));
        }
        let mut left = Vec::new();
        let fd = held.fd().map_err(fail)?;
        let entries = sys::Directory::read_from(&fd).map_err(system)?;
        for entry in entries {
            let entry = entry.map_err(system)?;
            let name = entry.file_name().to_bytes();
            if matches!(name, b"." | b"..") || !self.rules.hidden && name.starts_with(b".") {
                continue;
            }
            let name = OsStr::from_bytes(name).to_owned();
            let stat = |follow: bool| {
                let flags = if follow { AtFlags::empty() } else { AtFlags::NOFOLLOW };
                sys::stat_at(&fd, &name, flags).map(|stat| stat.kind())
            };
            let kind = match entry.kind() {
                FileKind::Other => stat(self.rules.follow),
                FileKind::Symlink if self.rules.follow => stat(true),
                kind => Ok(kind),
            };
            // Opening a file without a known kind will report its error.
            let kind = kind.unwrap_or(FileKind::Regular);
            // Only regular files have content.
            if matches!(kind, FileKind::Directory | FileKind::Regular) {
                left.push((name, kind));
            }
        }
        left.sort_unstable_by(|a, b| path_order(b, a));
        self.open.push(OpenDir { path, held, left });
        Ok(())
    }
}

impl<N: Iterator<Item = PathBuf>> Iterator for Walk<N> {
    /// A path, and the directory that contains it if that was entered.
    type Item = (PathBuf, Result<Option<HeldDir>, Error>);

    fn next(&mut self) -> Option<Self::Item> {
        loop {
            let (path, named) = match self.open.last_mut() {
                None => {
                    let path = self.named.next()?;
                    let stdin = self.rules.stdin && is_stdio(&path);
                    if stdin || !fs::metadata(&path).is_ok_and(|it| it.is_dir()) {
                        return Some((path, Ok(None)));
                    }
                    (path, true)
                }
                Some(open) => match open.left.pop() {
                    None => {
                        self.open.pop();
                        continue;
                    }
                    Some((name, kind)) => {
                        let path = joined(&open.path, &name);
                        if kind == FileKind::Regular {
                            return Some((path, Ok(Some(open.held.clone()))));
                        }
                        (path, false)
                    }
                },
            };
            if let Err(error) = self.enter(path.clone(), named) {
                return Some((path, Err(error)));
            }
        }
    }
}

/// Joins a name to a path, with one allocation; `Path::join` makes two.
fn joined(path: &Path, name: &OsStr) -> PathBuf {
    let mut joined = PathBuf::with_capacity(path.as_os_str().len() + 1 + name.len());
    joined.push(path);
    joined.push(name);
    joined
}

/// Compares the names as bytes, as if that of a directory ended with a slash.
fn path_order((a, a_kind): &(OsString, FileKind), (b, b_kind): &(OsString, FileKind)) -> Ordering {
    let (a, b) = (a.as_bytes(), b.as_bytes());
    let common = a.len().min(b.len());
    let next = |name: &[u8], kind: FileKind| {
        name.get(common).copied().or((kind == FileKind::Directory).then_some(b'/'))
    };
    a[..common].cmp(&b[..common]).then_with(|| next(a, *a_kind).cmp(&next(b, *b_kind)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_are_in_path_order() {
        let room = tempfile::tempdir().unwrap();
        let at = |name: &str| room.path().join(name);
        for directory in ["a", "a/deep", "a-b", "b", ".hidden"] {
            fs::create_dir(at(directory)).unwrap();
        }
        let files = ["a/z", "a/deep/er", "a-b/x", "a.txt", "a0", "b/.dot", ".hidden/in", "z"];
        files.iter().for_each(|file| fs::write(at(file), file).unwrap());
        #[cfg(unix)]
        for (target, link) in [("..", "b/up"), ("z", "link"), ("nowhere", "dangling")] {
            std::os::unix::fs::symlink(target, at(link)).unwrap();
        }
        let walk = |rules| Walk::new(std::iter::once(room.path().to_owned()), rules);
        let mut wanted: Vec<PathBuf> = files.iter().map(|file| at(file)).collect();
        wanted.sort_by(|a, b| a.as_os_str().as_bytes().cmp(b.as_os_str().as_bytes()));
        let found: Vec<_> =
            walk(Rules { follow: false, hidden: true, stdin: false }).map(|(path, _)| path).collect();
        assert_eq!(found, wanted);
        let plain: Vec<_> =
            walk(Rules { follow: false, hidden: false, stdin: false }).map(|(path, _)| path).collect();
        wanted.retain(|path| !path.strip_prefix(room.path()).unwrap().to_string_lossy().contains("/."));
        wanted.retain(|path| !path.strip_prefix(room.path()).unwrap().starts_with(".hidden"));
        assert_eq!(plain, wanted);
        #[cfg(unix)]
        {
            let followed: Vec<_> = walk(Rules { follow: true, hidden: true, stdin: false }).collect();
            let errors: Vec<_> =
                followed.iter().filter(|(_, result)| result.is_err()).map(|(path, _)| path).collect();
            assert_eq!(errors, [&at("b/up")], "a loop is reported once");
            assert!(followed.iter().any(|(path, _)| *path == at("link")));
            assert!(followed.iter().any(|(path, _)| *path == at("dangling")), "opening it reports the error");
        }
    }
}
