//! What is copied as such: symbolic links, pipes, sockets and devices.

use std::ffi::{CStr, CString};
use std::os::fd::AsFd;
use std::os::unix::ffi::OsStrExt;
use std::sync::Arc;

use rustix::fs::{AtFlags, FileType, Mode, Stat};
use rustix::io::Errno;

use super::attributes::{self, Place};
use super::directory::{Directory, path};
use super::tree::{Job, Worker};
use crate::error::{Error, Result};
use crate::file::Temporary;

impl Job<'_> {
    /// Copies a symbolic link, pipe, socket or device as such.
    pub(super) fn special(
        &self,
        worker: &mut Worker,
        directory: &Arc<Directory>,
        source: &CStr,
        target: &CStr,
    ) -> Result<()> {
        let stat = rustix::fs::statat(directory.source()?, source, AtFlags::SYMLINK_NOFOLLOW)
            .map_err(|error| Error::io("stat", directory.source_path(source), error.into()))?;
        let mut there = false;
        if !directory.fresh
            && let Ok(found) = rustix::fs::statat(directory.target()?, target, AtFlags::SYMLINK_NOFOLLOW)
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
            rustix::fs::readlinkat(directory.source()?, source, Vec::new())
                .map_err(|error| Error::io("read", directory.source_path(source), error.into()))?
        } else {
            CString::default()
        };
        let within = directory.target()?;
        let make = |name: &CStr| {
            if link {
                rustix::fs::symlinkat(&leads, &within, name)?;
            } else {
                rustix::fs::mknodat(&within, name, kind, mode, stat.st_rdev)?;
            }
            Ok(())
        };
        if there {
            self.over(directory, target, make)?;
        } else {
            make(target).map_err(failed)?;
        }
        let base = directory.source()?;
        let from = Place::Name(base.as_fd(), source);
        let to = Place::Name(within.as_fd(), target);
        attributes::keep(&self.options.preserve, from, stat, to, &|| directory.target_path(target), link)
    }

    /// Makes something under a name of our own and then over whatever has `target`.
    pub(super) fn over(
        &self,
        directory: &Directory,
        target: &CStr,
        make: impl Fn(&CStr) -> rustix::io::Result<()>,
    ) -> Result<()> {
        let failed = |error: std::io::Error| Error::io("replace", directory.target_path(target), error);
        let made = Temporary::create(&directory.target, path(target).as_os_str(), false, |_, name| {
            make(&CString::new(name.as_bytes()).map_err(|_| Errno::INVAL)?)
        });
        let (temporary, ()) = made.map_err(failed)?;
        let within = directory.target()?;
        // After a rename of one name of a file over another both are there; the temporary one goes either way.
        rustix::fs::renameat(&within, temporary.name(), &within, target).map_err(|error| failed(error.into()))
    }
}
