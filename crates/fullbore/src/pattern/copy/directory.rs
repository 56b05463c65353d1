//! A directory that is being copied, and its entries: both sides are held open, so that entries are reached by name alone.

use std::ffi::{CStr, CString, OsStr};
use std::path::{Component, Path, PathBuf};
use std::sync::Arc;

use fullbore_io::error::{Error, ErrorKind, Result};
use fullbore_io::file::{HeldDir, Temporary};
use fullbore_io::lock::Mutex;
use fullbore_io::sys::{self, AtFlags, Handle, OsStrExt, Status, is_separator};

/// A directory in progress. Its entries hold it; it is finished when the last of them releases it.
pub(super) struct Directory {
    /// The parent; none for the directory of the named sources.
    pub(super) parent: Option<Arc<Directory>>,
    /// The source; none for the directory of the named sources, whose names are paths.
    source: Option<HeldDir>,
    /// The target. It is held open during the copy, so changes to its path have no effect.
    pub(super) target: HeldDir,
    /// The temporary name until the content is complete.
    pub(super) hidden: Mutex<Option<Temporary>>,
    /// True if its path is known to no other process: it, or a directory above it, has a hidden name.
    pub(super) fresh: bool,
    /// True if this copy created it, or an earlier run that this one continues.
    pub(super) new: bool,
    /// The source's attributes when it was opened.
    pub(super) stat: Option<Status>,
    /// The target's device and inode, to recognise it among the sources.
    pub(super) made: Option<(u64, u64)>,
    /// True if its entries are the named sources.
    pub(super) outermost: bool,
}

/// The base for looking up names.
pub(super) enum Base {
    /// The working directory; the name may be absolute.
    Working,
    Open(Arc<Handle>),
}

fullbore_io::as_handle!(Base, this => match this {
    Base::Working => sys::CURRENT_DIRECTORY,
    Base::Open(handle) => sys::AsHandle::as_handle(handle),
});

impl Directory {
    /// The directory of the named sources, whose names are paths, with the directory of their targets.
    pub(super) fn outermost(target: HeldDir) -> Arc<Self> {
        Arc::new(Self {
            parent: None,
            source: None,
            target,
            hidden: Mutex::new(None),
            fresh: false,
            new: false,
            stat: None,
            made: None,
            outermost: true,
        })
    }

    /// As [`outermost`](Self::outermost), for a source named with this directory in its path.
    pub(super) fn into_outermost(self) -> Self {
        Self { outermost: true, ..self }
    }

    pub(super) fn new(
        parent: Arc<Self>,
        (source, target): (HeldDir, HeldDir),
        hidden: Option<Temporary>,
        stat: Status,
        new: bool,
        alone: bool,
    ) -> Self {
        Self {
            fresh: alone && (hidden.is_some() || parent.fresh),
            new,
            parent: Some(parent),
            made: Some(target.identity()),
            source: Some(source),
            target,
            hidden: Mutex::new(hidden),
            stat: Some(stat),
            outermost: false,
        }
    }

    pub(super) fn source(&self) -> Result<Base> {
        match &self.source {
            None => Ok(Base::Working),
            Some(held) => match held.fd() {
                Ok(fd) => Ok(Base::Open(fd)),
                Err(error) => Err(Error::io("open", held.path(), error)),
            },
        }
    }

    pub(super) fn source_child(
        &self,
        fd: Handle,
        name: &CStr,
        follow: bool,
        identity: (u64, u64),
    ) -> Result<HeldDir> {
        let shown = path(name).as_os_str();
        match &self.source {
            Some(held) => Ok(held.with(fd, (shown, shown), follow, identity)),
            None => Ok(HeldDir::opened(fd, path(name))),
        }
    }

    pub(super) fn target(&self) -> Result<Arc<Handle>> {
        self.target.fd().map_err(|error| Error::io("open", self.target.path(), error))
    }

    pub(super) fn source_path(&self, name: &CStr) -> PathBuf {
        self.source.as_ref().map(HeldDir::path).unwrap_or_default().join(path(name))
    }

    /// The final path of a name in the target.
    pub(super) fn target_path(&self, name: &CStr) -> PathBuf {
        self.target.path().join(path(name))
    }

    pub(super) fn own_paths(&self) -> (PathBuf, PathBuf) {
        (self.source.as_ref().map(HeldDir::path).unwrap_or_default(), self.target.path())
    }

    /// True if a source directory is this one or one above it.
    pub(super) fn is_in(&self, identity: (u64, u64)) -> bool {
        self.upward().any(|directory| directory.stat.as_ref().is_some_and(|stat| stat.identity() == identity))
    }

    /// True if a directory is the target of this one or of one above it.
    pub(super) fn goes_to(&self, identity: (u64, u64)) -> bool {
        self.upward().any(|directory| directory.made == Some(identity))
    }

    /// This directory and those above it.
    fn upward(&self) -> impl Iterator<Item = &Self> {
        std::iter::successors(Some(self), |directory| directory.parent.as_deref())
    }
}

pub(super) fn c_name(name: &OsStr) -> Result<CString> {
    CString::new(name.as_bytes())
        .map_err(|_| Error::new(ErrorKind::Invalid, "copy", name, "a path has no NUL bytes"))
}

pub(super) fn path(name: &CStr) -> &Path {
    Path::new(OsStr::from_bytes(name.to_bytes()))
}

/// A name in a directory, and the name of its copy.
#[derive(Clone, Copy)]
pub(super) struct Entry<'a> {
    pub(super) directory: &'a Arc<Directory>,
    pub(super) source: &'a CStr,
    pub(super) target: &'a CStr,
    /// True if a symbolic link is followed.
    pub(super) follow: bool,
}

impl Entry<'_> {
    pub(super) fn source_path(&self) -> PathBuf {
        self.directory.source_path(self.source)
    }

    pub(super) fn target_path(&self) -> PathBuf {
        self.directory.target_path(self.target)
    }

    pub(super) fn within(&self) -> Result<Arc<Handle>> {
        self.directory.target()
    }

    /// Attributes of the source; follows a link if the entry does.
    pub(super) fn stat(&self) -> Result<Status> {
        let flags = if self.follow { AtFlags::empty() } else { AtFlags::NOFOLLOW };
        sys::stat_at(self.directory.source()?, self.source, flags)
            .map_err(|error| Error::io("stat", self.source_path(), error.into()))
    }

    /// Attributes of the source itself; a link is not followed.
    pub(super) fn stat_itself(&self) -> Result<Status> {
        Self { follow: false, ..*self }.stat()
    }

    /// The names of source and target, without trailing slashes.
    pub(super) fn names(&self) -> (&[u8], &[u8]) {
        let last = |name: &'_ CStr| -> usize {
            let bytes = name.to_bytes();
            bytes.iter().rposition(|&byte| !is_separator(byte)).map_or(bytes.len(), |last| last + 1)
        };
        let source = &self.source.to_bytes()[..last(self.source)];
        let start = source.iter().rposition(|&byte| is_separator(byte)).map_or(0, |slash| slash + 1);
        (&source[start..], &self.target.to_bytes()[..last(self.target)])
    }

    /// True if source and target are the same name in the same directory.
    pub(super) fn is_one_name(&self) -> bool {
        let (source, target) = self.names();
        source == target && self.source_directory() == Some(self.directory.target.identity())
    }

    /// Device and inode of the directory of the source's last name.
    pub(super) fn source_directory(&self) -> Option<(u64, u64)> {
        let stat = if self.directory.outermost {
            let path = path(self.source);
            let above = match path.parent() {
                Some(above) if !above.as_os_str().is_empty() => above,
                _ => ".".as_ref(),
            };
            sys::stat_at(self.directory.source().ok()?, above, AtFlags::empty())
        } else {
            sys::status(self.directory.source().ok()?)
        };
        stat.ok().map(|stat| stat.identity())
    }
}

/// Splits a path into directory and name, as written, a slash at the end included; the name is `.` without a last one.
pub(super) fn split(target: &Path) -> (&Path, &OsStr) {
    let bytes = target.as_os_str().as_bytes();
    if target.file_name().is_none() {
        return (target, OsStr::new("."));
    }
    let drive = match target.components().next() {
        Some(Component::Prefix(drive)) => drive.as_os_str().len(),
        _ => 0,
    };
    let name = bytes.iter().rposition(|&byte| !is_separator(byte)).unwrap_or(0);
    let start = bytes[..name].iter().rposition(|&byte| is_separator(byte)).map_or(drive, |slash| slash + 1);
    (Path::new(OsStr::from_bytes(&bytes[..start])), OsStr::from_bytes(&bytes[start..]))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_splits_into_directory_and_name() {
        for (whole, directory, name) in [
            ("file", "", "file"),
            ("/file", "/", "file"),
            ("a/b/", "a/", "b/"),
            ("a//b", "a//", "b"),
            ("..", "..", "."),
            ("a/..", "a/..", "."),
            (".", ".", "."),
            ("/", "/", "."),
        ] {
            assert_eq!(split(Path::new(whole)), (Path::new(directory), OsStr::new(name)), "{whole}");
        }
        #[cfg(windows)]
        for (whole, directory, name) in [
            (r"a\b/c\", r"a\b/", r"c\"),
            (r"C:\file", r"C:\", "file"),
            ("C:file", "C:", "file"),
            (r"C:\a\b", r"C:\a\", "b"),
            (r"C:\a/b\", r"C:\a/", r"b\"),
            (r"C:b", "C:", "b"),
            (r"\\?\C:\b", r"\\?\C:\", "b"),
            (r"\\server\share\b", r"\\server\share\", "b"),
            (r"C:\", r"C:\", "."),
        ] {
            assert_eq!(split(Path::new(whole)), (Path::new(directory), OsStr::new(name)), "{whole}");
        }
    }
}
