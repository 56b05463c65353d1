//! A directory that is being copied: both sides open, so that what is in it is reached by its name alone.

use std::ffi::{CStr, OsStr};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};

use rustix::fs::{CWD, Stat};

use crate::file::Temporary;

/// A directory on its way. What is in it holds it; when nothing does any more it is finished.
pub(super) struct Directory {
    /// The directory it is in; none for what holds the sources themselves.
    pub(super) parent: Option<Arc<Directory>>,
    source: Option<OwnedFd>,
    target: Option<OwnedFd>,
    /// Its paths, if it is a source itself; else its name in its parent.
    names: (PathBuf, PathBuf),
    /// The name it has until all is in it.
    pub(super) hidden: Mutex<Option<Temporary>>,
    /// Whether nobody else knows it: it has, or is in one that has, a hidden name.
    pub(super) fresh: bool,
    /// What the source was like when it was opened.
    pub(super) stat: Option<Stat>,
    /// The target, to know it if it turns up among the sources.
    pub(super) made: Option<(u64, u64)>,
}

impl Directory {
    /// What holds the sources: their names are paths.
    pub(super) fn outermost() -> Arc<Self> {
        Arc::new(Self {
            parent: None,
            source: None,
            target: None,
            names: (PathBuf::new(), PathBuf::new()),
            hidden: Mutex::new(None),
            fresh: false,
            stat: None,
            made: None,
        })
    }

    #[allow(clippy::too_many_arguments, reason = "one caller, which has found them out one by one")]
    pub(super) fn new(
        parent: Arc<Self>,
        (source_name, target_name): (&CStr, &CStr),
        source: OwnedFd,
        target: OwnedFd,
        hidden: Option<Temporary>,
        stat: Stat,
        made: (u64, u64),
        alone: bool,
    ) -> Self {
        Self {
            fresh: alone && (hidden.is_some() || parent.fresh),
            names: (path(source_name).to_owned(), path(target_name).to_owned()),
            parent: Some(parent),
            source: Some(source),
            target: Some(target),
            hidden: Mutex::new(hidden),
            stat: Some(stat),
            made: Some(made),
        }
    }

    pub(super) fn source(&self) -> BorrowedFd<'_> {
        self.source.as_ref().map_or(CWD, AsFd::as_fd)
    }

    pub(super) fn target(&self) -> BorrowedFd<'_> {
        self.target.as_ref().map_or(CWD, AsFd::as_fd)
    }

    /// Whether it is what holds the sources.
    pub(super) fn is_outermost(&self) -> bool {
        self.parent.is_none()
    }

    /// The path of a name in the source.
    pub(super) fn source_path(&self, name: &CStr) -> PathBuf {
        self.along(&|directory| directory.names.0.clone()).join(path(name))
    }

    /// The path that a name in the target has in the end.
    pub(super) fn target_path(&self, name: &CStr) -> PathBuf {
        self.along(&|directory| directory.names.1.clone()).join(path(name))
    }

    /// The path that a name in the target has now.
    pub(super) fn present_path(&self, name: &CStr) -> PathBuf {
        self.along(&|directory| {
            let hidden = directory.hidden.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
            let Some(name) = hidden.as_ref().and_then(|hidden| hidden.path().file_name()) else {
                return directory.names.1.clone();
            };
            // Beside its place, which may be a path.
            match directory.names.1.components().collect::<PathBuf>().parent() {
                Some(parent) => parent.join(name),
                None => PathBuf::from(name),
            }
        })
        .join(path(name))
    }

    fn along(&self, name: &dyn Fn(&Self) -> PathBuf) -> PathBuf {
        match &self.parent {
            Some(parent) => parent.along(name).join(name(self)),
            None => PathBuf::new(),
        }
    }

    /// Its own paths.
    pub(super) fn own_paths(&self) -> (PathBuf, PathBuf) {
        (
            self.along(&|directory| directory.names.0.clone()),
            self.along(&|directory| directory.names.1.clone()),
        )
    }

    /// Whether a source directory is this one or one that it is in.
    pub(super) fn is_in(&self, identity: (u64, u64)) -> bool {
        let own = self.stat.as_ref().map(|stat| (stat.st_dev, stat.st_ino));
        own == Some(identity) || self.parent.as_ref().is_some_and(|parent| parent.is_in(identity))
    }

    /// Whether a directory is the target of this one or of one that it is in.
    pub(super) fn goes_to(&self, identity: (u64, u64)) -> bool {
        self.made == Some(identity) || self.parent.as_ref().is_some_and(|parent| parent.goes_to(identity))
    }
}

/// A name as a path.
pub(super) fn path(name: &CStr) -> &Path {
    Path::new(OsStr::from_bytes(name.to_bytes()))
}
