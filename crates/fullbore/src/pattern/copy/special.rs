//! Entries copied as such: symbolic links, pipes, sockets and devices.

use std::ffi::{CStr, CString};

use super::attributes::{self, Place};
use super::directory::path;
use super::entry::Entry;
use super::existing::Found;
use super::failure::Copied;
use super::tree::{Job, Worker};
use fullbore_io::error::Error;
use fullbore_io::file::Temporary;
use fullbore_io::sys::{self, AsHandle, Code, FileKind, OsStrExt, Status};

impl Job<'_> {
    pub(super) fn special(&self, worker: &mut Worker, entry: &Entry<'_>) -> Copied<()> {
        self.over_existing(worker, entry, false, |worker, found| self.special_over(worker, entry, found))
    }

    fn special_over(&self, worker: &mut Worker, entry: &Entry<'_>, found: &Found) -> Copied<()> {
        let stat = entry.stat()?;
        let several = self.has_names(entry, &stat);
        if several && !self.linked(worker, entry, &stat)? {
            return Ok(());
        }
        let result = self.made(entry, &stat, found);
        if several { self.first(entry, &stat, result) } else { result }?;
        worker.stats.others += 1;
        self.created(entry, stat.kind() == FileKind::Symlink);
        self.told(entry, Some(found), None);
        Ok(())
    }

    fn made(&self, entry: &Entry<'_>, stat: &Status, found: &Found) -> Result<(), Error> {
        let Entry { directory, source, target, .. } = *entry;
        let kind = stat.kind();
        let link = kind == FileKind::Symlink;
        let doing = match kind {
            FileKind::Symlink => "create symbolic link",
            FileKind::Fifo => "create fifo",
            _ => "create special file",
        };
        let failed = |error: Code| Error::io(doing, directory.target_path(target), error.into());
        let mode = attributes::creation_mode(&self.options.preserve, stat);
        let base = directory.source()?;
        let leads = if link {
            sys::read_link(base.as_handle(), source).map_err(|error| {
                Error::io("read symbolic link", directory.source_path(source), error.into())
            })?
        } else {
            CString::default()
        };
        let within = directory.target()?;
        let make = |name: &CStr| {
            if link {
                sys::copy_link(base.as_handle(), source, &leads, &within, name)?;
            } else {
                sys::make_special(&within, name, kind, mode, stat.rdev)?;
            }
            Ok(())
        };
        match found {
            Found::Replaced(_) => self.over(entry, make)?,
            Found::There if link && self.options.force => self.over(entry, make)?,
            _ => make(target).map_err(failed)?,
        }
        let from = Place::Name(base.as_handle(), source);
        let to = Place::Name(within.as_handle(), target);
        if !link {
            attributes::widen(&self.options.preserve, stat, &within, to)
                .map_err(|error| Error::io("set the mode of", entry.target_path(), error.into()))?;
        }
        attributes::keep(&self.options.preserve, from, stat, to, &|| directory.target_path(target), link)
    }

    /// Creates an entry under a temporary name and renames it over `target`.
    pub(super) fn over(
        &self,
        entry: &Entry<'_>,
        make: impl Fn(&CStr) -> sys::Result<()>,
    ) -> Result<(), Error> {
        let Entry { directory, target, .. } = *entry;
        let failed = |error: std::io::Error| Error::io("replace", directory.target_path(target), error);
        let made = Temporary::create(&directory.target, path(target).as_os_str(), false, |_, name| {
            make(&CString::new(name.as_bytes()).map_err(|_| Code::INVALID)?)
        });
        let (temporary, ()) = made.map_err(failed)?;
        let within = directory.target()?;
        // Renaming one name of a file over another of its names keeps both; the temporary one is removed in any case.
        sys::rename(&within, temporary.name(), &within, target).map_err(|error| failed(error.into()))
    }
}
