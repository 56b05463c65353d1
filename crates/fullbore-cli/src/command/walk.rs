//! The files of a tree, in the order of their bytes-wise sorted paths.

use std::ffi::OsString;
use std::fs::{self, FileType};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use fullbore::error::{Error, Kind};

/// What a walk goes into and what it leaves out.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Rules {
    /// Symbolic links are what they lead to. Those that the user named always are.
    pub(crate) follow: bool,
    /// Names that begin with a dot too. Those that the user named always are.
    pub(crate) hidden: bool,
}

/// The regular files below what the user named, and what could not be looked at.
///
/// A directory's names are sorted as bytes, a directory as if its name ended with a slash: so the paths come as `sort` would
/// put them in the C locale. What is named itself comes whatever it is, if it is no directory.
pub(crate) struct Walk<N> {
    named: N,
    rules: Rules,
    /// The directories that are gone through, from the top, each with what is left of it, the first last.
    open: Vec<Open>,
}

struct Open {
    path: PathBuf,
    identity: (u64, u64),
    left: Vec<(OsString, Sort)>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Sort {
    File,
    Directory,
}

impl<N: Iterator<Item = PathBuf>> Walk<N> {
    pub(crate) fn new(named: N, rules: Rules) -> Self {
        Self { named, rules, open: Vec::new() }
    }

    /// Goes into a directory.
    fn enter(&mut self, path: PathBuf) -> Result<(), Error> {
        let fail = |error| Error::io("read directory", &path, error);
        let metadata = fs::metadata(&path).map_err(fail)?;
        let identity = (metadata.dev(), metadata.ino());
        if self.open.iter().any(|above| above.identity == identity) {
            let what = "it leads back to a directory that it is in";
            return Err(Error::new(Kind::Invalid, "read directory", &path, what));
        }
        let mut left = Vec::new();
        for entry in fs::read_dir(&path).map_err(fail)? {
            let entry = entry.map_err(fail)?;
            let name = entry.file_name();
            if !self.rules.hidden && name.as_bytes().starts_with(b".") {
                continue;
            }
            match self.sort(entry.file_type().map_err(fail)?, || path.join(&name)) {
                Ok(Some(sort)) => left.push((name, sort)),
                // What is no regular file has no content to speak of.
                Ok(None) => {}
                // It will say what is wrong with it when it is opened.
                Err(_) => left.push((name, Sort::File)),
            }
        }
        let key = |(name, sort): &(OsString, Sort)| {
            let mut key = name.as_bytes().to_vec();
            if *sort == Sort::Directory {
                key.push(b'/');
            }
            std::cmp::Reverse(key)
        };
        left.sort_by_cached_key(key);
        self.open.push(Open { path, identity, left });
        Ok(())
    }

    /// What to do with an entry; `None`: nothing.
    fn sort(&self, kind: FileType, path: impl Fn() -> PathBuf) -> std::io::Result<Option<Sort>> {
        let kind =
            if kind.is_symlink() && self.rules.follow { fs::metadata(path())?.file_type() } else { kind };
        Ok(if kind.is_dir() {
            Some(Sort::Directory)
        } else if kind.is_file() {
            Some(Sort::File)
        } else {
            None
        })
    }
}

impl<N: Iterator<Item = PathBuf>> Iterator for Walk<N> {
    type Item = (PathBuf, Result<(), Error>);

    fn next(&mut self) -> Option<Self::Item> {
        loop {
            let path = match self.open.last_mut() {
                None => {
                    let path = self.named.next()?;
                    if path == Path::new("-") || !fs::metadata(&path).is_ok_and(|it| it.is_dir()) {
                        return Some((path, Ok(())));
                    }
                    path
                }
                Some(open) => match open.left.pop() {
                    None => {
                        self.open.pop();
                        continue;
                    }
                    Some((name, Sort::File)) => return Some((open.path.join(name), Ok(()))),
                    Some((name, Sort::Directory)) => open.path.join(name),
                },
            };
            if let Err(error) = self.enter(path.clone()) {
                return Some((path, Err(error)));
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_come_as_their_paths_sort() {
        let room = tempfile::tempdir().unwrap();
        let at = |name: &str| room.path().join(name);
        for directory in ["a", "a/deep", "a-b", "b", ".hidden"] {
            fs::create_dir(at(directory)).unwrap();
        }
        let files = ["a/z", "a/deep/er", "a-b/x", "a.txt", "a0", "b/.dot", ".hidden/in", "z"];
        files.iter().for_each(|file| fs::write(at(file), file).unwrap());
        std::os::unix::fs::symlink("..", at("b/up")).unwrap();
        std::os::unix::fs::symlink("z", at("link")).unwrap();
        std::os::unix::fs::symlink("nowhere", at("dangling")).unwrap();
        let walk = |rules| Walk::new(std::iter::once(room.path().to_owned()), rules);
        let mut wanted: Vec<PathBuf> = files.iter().map(|file| at(file)).collect();
        wanted.sort_by(|a, b| a.as_os_str().as_bytes().cmp(b.as_os_str().as_bytes()));
        let found: Vec<_> = walk(Rules { follow: false, hidden: true }).map(|(path, _)| path).collect();
        assert_eq!(found, wanted);
        let plain: Vec<_> = walk(Rules { follow: false, hidden: false }).map(|(path, _)| path).collect();
        wanted.retain(|path| !path.strip_prefix(room.path()).unwrap().to_string_lossy().contains("/."));
        wanted.retain(|path| !path.strip_prefix(room.path()).unwrap().starts_with(".hidden"));
        assert_eq!(plain, wanted);
        let followed: Vec<_> = walk(Rules { follow: true, hidden: true }).collect();
        let errors: Vec<_> =
            followed.iter().filter(|(_, result)| result.is_err()).map(|(path, _)| path).collect();
        assert_eq!(errors, [&at("b/up")], "a loop is said and not gone round");
        assert!(followed.iter().any(|(path, _)| *path == at("link")));
        assert!(followed.iter().any(|(path, _)| *path == at("dangling")), "it is for the reader to say");
    }
}
