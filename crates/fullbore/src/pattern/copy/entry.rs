//! A name to copy: a named source, or an entry of a directory.

use std::ffi::CStr;
use std::path::PathBuf;
use std::sync::Arc;

use super::directory::Directory;
use fullbore_io::error::{Error, Result};
use fullbore_io::sys::{self, AtFlags, Handle, Status, is_separator};

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

    /// The directory of the target.
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
        let stat = if self.directory.is_outermost() {
            let path = super::directory::path(self.source);
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
