//! Outputs that the system fills by one call: clones, and copies of whole files.

use std::ffi::OsStr;
use std::sync::atomic::Ordering;

use super::cleanup::{Temporary, ending_signal};
use super::inner::File;
use super::naming::exchanged;
use super::output::Output;
use super::publish::{OutputState, make_private, protect};
use crate::buf::Direction;
use crate::error::{Error, ErrorKind, Result};
use crate::sys::{self, AsHandle, AtFlags, BorrowedHandle, Code, Handle, OpenFlags};

impl Output {
    /// Makes the output a clone of `source` with the attributes of a new file, on systems that create clones only under new
    /// names. Returns `false`, and changes nothing, if the system, the file system or the file does not permit it.
    #[doc(hidden)]
    pub fn become_clone(&mut self, source: &File) -> Result<bool> {
        self.replace_by(|directory, name| sys::clone_to_name(source.as_handle(), directory, name))
    }

    /// Continues with another file, which `make` creates under a temporary name.
    fn replace_by(
        &mut self,
        make: impl FnMut(BorrowedHandle<'_>, &OsStr) -> sys::Result<Handle>,
    ) -> Result<bool> {
        let OutputState::Named { place, .. } = &self.state else { return Ok(false) };
        match Temporary::create(&place.directory, &place.name, false, make) {
            Ok((made, fd)) => self.continue_with(made, fd).map(|()| true),
            Err(_) => Ok(false),
        }
    }

    /// Continues with the open file of another temporary name.
    fn continue_with(&mut self, made: Temporary, fd: Handle) -> Result<()> {
        if let OutputState::Named { place, finish, temporary } = &mut self.state {
            protect(&fd, *finish, place)?;
            self.file = File::from_fd(fd, place.path())?;
            self.file.inner.health.state();
            *temporary = made;
        }
        Ok(())
    }

    /// True if the output can [become a copy](Self::become_copy) that the system creates: it is new, or replaces a file.
    #[doc(hidden)]
    pub fn is_replaceable(&self) -> bool {
        matches!(self.state, OutputState::Named { .. })
    }

    /// Makes the output a copy of `source` with the attributes of a new file, by a call of the system that copies whole files to
    /// new names (`CopyFile2` of Windows). Returns the length. `go_on` gets the number of bytes copied so far, and cancels the
    /// copy by returning `false`; a system may call it rarely, or never. The copy may share blocks with the source only
    /// if `may_share` is set.
    ///
    /// # Errors
    /// [`ErrorKind::Unsupported`] if the output is not [replaceable](Self::is_replaceable), on systems without such a call, and if
    /// the file system may share blocks against `may_share`; the error of the system. The output is unchanged then.
    #[doc(hidden)]
    pub fn become_copy(
        &mut self,
        source: &File,
        may_share: bool,
        go_on: &mut dyn FnMut(u64) -> bool,
    ) -> Result<u64> {
        /// The name of the copy in its private directory.
        const COPY: &str = "copy";
        let OutputState::Named { place, temporary, .. } = &self.state else {
            let what = "the system copies whole files to new files only";
            return Err(Error::new(ErrorKind::Unsupported, "copy", self.file.path(), what));
        };
        let fail = |error: Code| Error::io("copy", place.path(), error.into());
        let len = usize::try_from(source.starting_stamp()?.len).unwrap_or(usize::MAX);
        for (file, direction, doing) in
            [(source, Direction::Read, "read"), (&self.file, Direction::Write, "write")]
        {
            file.before(direction, 0, len, 0).map_err(|error| Error::io(doing, file.path(), error).at(0))?;
        }
        // The call takes paths. In a directory of its own nobody exchanges their names, or opens the copy before it is complete.
        let make = |directory: BorrowedHandle<'_>, name: &OsStr| {
            sys::make_directory(directory, name, 0o700)?;
            let flags = OpenFlags::READ | OpenFlags::DIRECTORY | OpenFlags::NOFOLLOW | OpenFlags::DENY_DELETE;
            sys::open_at(directory, name, flags, 0).inspect_err(|_| {
                let _ = sys::remove(directory, name, AtFlags::REMOVE_DIRECTORY);
            })
        };
        let (_room, private) = Temporary::create(&place.directory, &place.name, true, make)
            .map_err(|error| Error::io("create", place.path(), error))?;
        make_private(&private, place)?;
        let mut go_on = |bytes| ending_signal().load(Ordering::Relaxed) == 0 && go_on(bytes);
        let (from, to) = (source.as_handle(), private.as_handle());
        let made = sys::copy_to_name(from, to, OsStr::new(COPY), may_share, &mut go_on)
            .map_err(|error| if error == Code::CANCELLED { Error::cancelled() } else { fail(error) })?;
        // The empty file with the temporary name has the attributes of a new file.
        let directory = place.directory.fd().map_err(|error| Error::io("copy", place.path(), error))?;
        let give = || {
            sys::set_times(&made, &sys::status(&self.file)?)?;
            sys::inherit(&directory, temporary.name(), &made, true)?;
            sys::status(&made)
        };
        let given = give().map_err(fail)?;
        // Wine opens no file again whose name was changed by another handle.
        drop(made);
        let make = |directory: BorrowedHandle<'_>, name: &OsStr| {
            sys::rename_new(&private, COPY, directory, name)?;
            sys::open_at(directory, name, OpenFlags::READ_WRITE | OpenFlags::NOFOLLOW, 0)
        };
        let (made, fd) = Temporary::create(&place.directory, &place.name, false, make)
            .map_err(|error| Error::io("copy", place.path(), error))?;
        if sys::status(&fd).map_err(fail)?.identity() != given.identity() {
            return Err(exchanged("copy", place));
        }
        self.continue_with(made, fd)?;
        Ok(given.size)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::file::Durability;
    use crate::file::naming::TargetName;
    use crate::file::publish::{Finish, begin_named};

    /// As clones on macOS: the file is made by the system, under another temporary name.
    #[test]
    fn an_output_continues_with_another_file() {
        let directory = tempfile::tempdir().unwrap();
        let names = || std::fs::read_dir(directory.path()).unwrap().count();
        let path = directory.path().join("file");
        let begin = || {
            let (file, state) = begin_named(TargetName::of(&path).unwrap(), Finish::Usual).unwrap();
            file.write_all_at(b"first", 0).unwrap();
            Output::of(file, state)
        };
        let make = |directory: BorrowedHandle<'_>, name: &OsStr| {
            let flags = OpenFlags::READ_WRITE | OpenFlags::CREATE | OpenFlags::EXCLUSIVE;
            let file = sys::open_at(directory, name, flags, 0o600)?;
            sys::write_at(&file, b"second", 0)?;
            Ok(file)
        };

        let mut output = begin();
        assert!(!output.replace_by(|_, _| Err(Code::UNSUPPORTED)).unwrap());
        assert_eq!(names(), 1);
        assert!(output.replace_by(make).unwrap());
        assert_eq!(names(), 1, "the first file is removed");
        output.commit(Durability::Full).unwrap();
        assert_eq!((names(), std::fs::read(&path).unwrap()), (1, b"second".to_vec()));

        let mut output = begin();
        assert!(output.replace_by(make).unwrap());
        drop(output);
        assert_eq!((names(), std::fs::read(&path).unwrap()), (1, b"second".to_vec()));
    }

    /// Only where the system has such a call.
    #[test]
    fn an_output_becomes_a_copy_or_stays() {
        let directory = tempfile::tempdir().unwrap();
        let names = || std::fs::read_dir(directory.path()).unwrap().count();
        let [source, path] = ["source", "file"].map(|name| directory.path().join(name));
        let content: Vec<u8> = (0..3_000_001u32).map(|at| (at % 251) as u8).collect();
        std::fs::write(&source, &content).unwrap();
        for old in [None, Some("old")] {
            old.into_iter().for_each(|old| std::fs::write(&path, old).unwrap());
            let mut output = Output::replace(&path).unwrap();
            let became = output.become_copy(&File::open(&source).unwrap(), true, &mut |_| true);
            if cfg!(windows) {
                assert_eq!(became.unwrap(), content.len() as u64);
                assert_eq!(names(), 2 + usize::from(old.is_some()), "the private directory is removed");
                output.commit(Durability::Full).unwrap();
                assert!(std::fs::read(&path).unwrap() == content);
                assert_eq!(names(), 2);
                std::fs::remove_file(&path).unwrap();
                let mut output = Output::replace(&path).unwrap();
                output.become_copy(&File::open(&source).unwrap(), true, &mut |_| true).unwrap();
                drop(output);
                assert_eq!(names(), 1, "an output that is dropped leaves nothing");
            } else {
                assert_eq!(became.unwrap_err().kind(), ErrorKind::Unsupported);
                drop(output);
                assert_eq!(names(), 1 + usize::from(old.is_some()));
            }
        }
    }
}
