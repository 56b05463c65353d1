//! What is copied as such: symbolic links, pipes, sockets and devices.

use std::ffi::{CStr, CString};
use std::os::unix::ffi::OsStrExt;
use std::sync::Arc;

use rustix::fs::{AtFlags, FileType, Mode, Stat};
use rustix::io::Errno;

use super::attributes::{self, Place};
use super::directory::{Directory, path};
use super::tree::{Job, Worker};
use crate::error::{Error, Result};
use crate::file::temporary_name;

impl Job<'_> {
    /// Copies a symbolic link, pipe, socket or device as such.
    pub(super) fn special(
        &self,
        worker: &mut Worker,
        directory: &Arc<Directory>,
        source: &CStr,
        target: &CStr,
    ) -> Result<()> {
        let stat = rustix::fs::statat(directory.source(), source, AtFlags::SYMLINK_NOFOLLOW)
            .map_err(|error| Error::io("stat", directory.source_path(source), error.into()))?;
        let mut there = false;
        if !directory.fresh
            && let Ok(found) = rustix::fs::statat(directory.target(), target, AtFlags::SYMLINK_NOFOLLOW)
        {
            if self.stays(worker, directory, (source, target), &stat, &found)? {
                return Ok(());
            }
            there = true;
        }
        let several = self.has_names(&stat);
        if several && !self.linked(worker, directory, (source, target), &stat)? {
            return Ok(());
        }
        let result = self.made(directory, source, target, &stat, there);
        if several { self.first(directory, target, &stat, result) } else { result }?;
        worker.account.others += 1;
        self.told(directory, (source, target));
        Ok(())
    }

    fn made(
        &self,
        directory: &Directory,
        source: &CStr,
        target: &CStr,
        stat: &Stat,
        there: bool,
    ) -> Result<()> {
        let failed = |error: Errno| Error::io("create", directory.target_path(target), error.into());
        let kind = FileType::from_raw_mode(stat.st_mode);
        let link = kind == FileType::Symlink;
        let kept = self.options.preserve.mode || self.options.preserve.owner;
        let mode = Mode::from_raw_mode(stat.st_mode & if kept { 0o700 } else { 0o777 });
        let leads = if link {
            rustix::fs::readlinkat(directory.source(), source, Vec::new())
                .map_err(|error| Error::io("read", directory.source_path(source), error.into()))?
        } else {
            CString::default()
        };
        let make = |name: &CStr| {
            if link {
                rustix::fs::symlinkat(&leads, directory.target(), name)?;
            } else {
                rustix::fs::mknodat(directory.target(), name, kind, mode, stat.st_rdev)?;
            }
            Ok(())
        };
        if there {
            self.over(directory, target, make).map_err(failed)?;
        } else {
            make(target).map_err(failed)?;
        }
        let from = Place::Name(directory.source(), source);
        let to = Place::Name(directory.target(), target);
        attributes::keep(&self.options.preserve, from, stat, to, &|| directory.target_path(target), link)
    }

    /// Makes something under a name of our own and then over whatever has `target`.
    pub(super) fn over(
        &self,
        directory: &Directory,
        target: &CStr,
        make: impl Fn(&CStr) -> rustix::io::Result<()>,
    ) -> rustix::io::Result<()> {
        let beside = temporary_name(path(target));
        let name = CString::new(beside.as_os_str().as_bytes()).map_err(|_| Errno::INVAL)?;
        make(&name)?;
        let renamed = rustix::fs::renameat(directory.target(), &name, directory.target(), target);
        // After a rename of one name of a file over another both are there.
        match rustix::fs::unlinkat(directory.target(), &name, AtFlags::empty()) {
            _ if renamed.is_err() => renamed,
            Ok(()) | Err(Errno::NOENT) => Ok(()),
            Err(error) => Err(error),
        }
    }
}
