//! Outputs that are whole or absent.
//!
//! A new output is written to a nameless file (`O_TMPFILE`) or under a temporary name beside its destination, and takes
//! the destination's name when it is complete. Until then the old file is unchanged.

use std::ffi::{OsStr, OsString};
use std::path::Path;

use super::cleanup;
use super::held::HeldDir;
use super::inner::File;
use super::naming::{TargetName, directory, exchanged, only_regular, open, regular};
use super::publish::{
    Attributes, Finish, OutputState, begin, dangling, give, inherit_mode, permitted_mode, protect, publish,
};
use super::types::{CommitReport, Durability};
use crate::error::{Error, ErrorKind, Result};
use crate::sys::{self, AtFlags, Code, FileKind, FileSystemKind, Handle, OpenFlags, Status};

/// The location of an output's bytes while it is written.
#[doc(hidden)]
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[non_exhaustive]
pub enum Placement {
    /// Beside the destination; renamed over it when complete.
    #[default]
    Replace,
    /// In the blocks of the existing file, which saves allocation; an interrupted output is part old, part new.
    Overwrite,
}

/// An output that is being written. Every function may fail with an error of the system, with the path.
///
/// ```
/// # let directory = tempfile::tempdir()?;
/// use fullbore_io::file::{Durability, Output};
/// let path = directory.path().join("file");
/// let output = Output::create(&path)?;
/// output.file().write_all_at(b"whole", 0)?;
/// assert!(!path.exists());
/// output.commit(Durability::None)?;
/// assert_eq!(std::fs::read(&path)?, b"whole");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
#[must_use = "an output must be committed to be complete"]
pub struct Output {
    pub(super) file: File,
    pub(super) state: OutputState,
    /// True if the file must not replace another one.
    only_new: bool,
}

/// Writes to an open file: in place to a regular file or block device that is at its beginning, which
/// [`commit_len`](Self::commit_len) cuts at the end of the output; in order to anything else, to files made by the kernel, and to
/// files that append or were adopted at a later position.
impl From<File> for Output {
    fn from(file: File) -> Self {
        let has_places = matches!(file.kind(), FileKind::Regular | FileKind::BlockDevice);
        let generated = || sys::file_system_kind(&file).is_ok_and(FileSystemKind::is_generated);
        let in_place = has_places && !file.appends() && file.start() == 0 && !generated();
        let state = match in_place {
            true => OutputState::Existing(cleanup::unfinished(file.path())),
            false => OutputState::Stream,
        };
        Self::of(file, state)
    }
}

impl Output {
    pub(super) fn of(file: File, state: OutputState) -> Self {
        // Streams and transfers count their unwritten bytes there.
        file.inner.health.state();
        Self { file, state, only_new: false }
    }

    /// Starts an output that takes the name `path` when it is [committed](Self::commit), replacing any old file there. If it is
    /// dropped before, nothing is left, and the old file is unchanged. The new file inherits the old file's mode and, where
    /// permitted, its owner. Pipes, character devices and files that the kernel generates are written directly.
    ///
    /// # Errors
    /// If `path` is a directory, a block device, a dangling symbolic link or not writable, and if a system call fails.
    pub fn create(path: impl AsRef<Path>) -> Result<Self> {
        Self::create_with(path, Placement::Replace, None)
    }

    /// As [`create`](Self::create), but an old file or block device is written in place, which saves the allocation of blocks and
    /// loses the old bytes: an interrupted output is part old, part new. The length stays until
    /// [`commit_len`](Self::commit_len) sets it: [`commit`](Self::commit) keeps the old bytes past those written.
    ///
    /// # Errors
    /// If `path` is a directory, a dangling symbolic link or not writable, and if a system call fails.
    pub fn overwrite(path: impl AsRef<Path>) -> Result<Self> {
        Self::create_with(path, Placement::Overwrite, None)
    }

    /// Opens `path` as the output of a run that reads `input`, which it must not be.
    #[doc(hidden)]
    pub fn create_with(path: impl AsRef<Path>, placement: Placement, input: Option<&File>) -> Result<Self> {
        Self::create_in(TargetName::of(path.as_ref())?, placement, input)
    }

    /// As [`create_with`](Self::create_with), for a name in a held directory.
    #[doc(hidden)]
    pub fn create_at(
        directory: &HeldDir,
        name: &OsStr,
        placement: Placement,
        input: Option<&File>,
    ) -> Result<Self> {
        Self::create_in(TargetName { directory: directory.clone(), name: name.to_owned() }, placement, input)
    }

    fn create_in(place: TargetName, placement: Placement, input: Option<&File>) -> Result<Self> {
        place.reject_stream()?;
        let Some(there) = place.stat(AtFlags::empty())? else { return Self::fresh(place) };
        let kind = there.kind();
        if let (Some(input), FileKind::Regular | FileKind::BlockDevice) = (input, kind)
            && input.starting_stamp()?.identity == there.identity()
        {
            let what = "input and output are the same file";
            return Err(Error::new(ErrorKind::SameFile, "write", place.path(), what)
                .advise("name another output, or transform the file in place"));
        }
        match kind {
            FileKind::Directory => Err(directory(&place.path())),
            // Such a file has no blocks, so that most others need no further call.
            FileKind::Regular if there.blocks == 0 && place.is_generated() => Self::streaming(&place, &there),
            FileKind::Regular | FileKind::BlockDevice if placement == Placement::Overwrite => {
                Self::existing(&place, &there)
            }
            FileKind::Regular => Self::replacing(place, &there),
            FileKind::BlockDevice => {
                Err(Error::new(ErrorKind::Unsupported, "replace", place.path(), "it is a block device")
                    .advise("overwrite it if its content may be lost"))
            }
            _ => Self::streaming(&place, &there),
        }
    }

    fn streaming(place: &TargetName, there: &Status) -> Result<Self> {
        Ok(Self::of(open(place, there, OpenFlags::WRITE)?, OutputState::Stream))
    }

    /// As [`create`](Self::create), for regular files only.
    ///
    /// # Errors
    /// [`ErrorKind::Unsupported`] if `path` is not a regular file, and if a system call fails.
    pub fn replace(path: impl AsRef<Path>) -> Result<Self> {
        let (place, there) = regular(path.as_ref())?;
        match there {
            Some(there) => Self::replacing(place, &there),
            None => Self::fresh(place),
        }
    }

    /// As [`replace`](Self::replace), for runs that are resumed: the bytes written remain if the run ends early. `open` returns the
    /// file with the bytes so far, and its name in the same directory. `is_new`: the name must be free. `follow`: if it is a
    /// dangling link, the output takes the name that the link refers to.
    #[doc(hidden)]
    pub fn resumable_at(
        directory: &HeldDir,
        name: &OsStr,
        (is_new, follow): (bool, bool),
        open: impl FnOnce(&HeldDir, &OsStr) -> Result<(Handle, OsString)>,
    ) -> Result<Self> {
        let place = TargetName { directory: directory.clone(), name: name.to_owned() };
        place.reject_stream()?;
        let (place, finish) = match only_regular(&place)? {
            Some(there) if !is_new => replaced(place, &there)?,
            None if follow => (place.resolved()?.0, Finish::Usual),
            _ if place.stat(AtFlags::NOFOLLOW)?.is_none() => (place, Finish::Usual),
            _ if is_new => return Err(Error::io("create", place.path(), Code::EXISTS.into())),
            _ => return Err(dangling(&place)),
        };
        let (fd, part) = open(&place.directory, &place.name)?;
        protect(&fd, finish, &place)?;
        Ok(Self::of(File::from_fd(fd, place.path())?, OutputState::Kept { place, finish, part }))
    }

    /// Starts a file that takes the name `path` when it is [committed](Self::commit), in place of anything but a
    /// directory: a link is replaced and not followed, no metadata is inherited, and write permission to the old file
    /// is not required.
    ///
    /// ```
    /// # let directory = tempfile::tempdir()?;
    /// use fullbore_io::file::{Durability, Output};
    /// let (path, link) = (directory.path().join("file"), directory.path().join("link"));
    /// std::fs::write(&path, "stays")?;
    /// std::os::unix::fs::symlink(&path, &link)?;
    /// Output::create_entry(&link)?.commit(Durability::None)?;
    /// assert_eq!((std::fs::read(&link)?.len(), std::fs::read(&path)?.len()), (0, 5));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// If `path` has no file name or is a directory, and if a system call fails.
    pub fn create_entry(path: impl AsRef<Path>) -> Result<Self> {
        let place = TargetName::of(path.as_ref())?;
        match place.stat(AtFlags::NOFOLLOW)? {
            Some(there) if there.kind() == FileKind::Directory => {
                Err(Error::io("replace", place.path(), Code::IS_DIRECTORY.into()))
            }
            _ => Self::beside(place, Finish::Usual),
        }
    }

    /// As [`create_entry`](Self::create_entry), for a name in a held directory.
    #[doc(hidden)]
    pub fn create_entry_at(directory: &HeldDir, name: &OsStr) -> Result<Self> {
        Self::beside(TargetName { directory: directory.clone(), name: name.to_owned() }, Finish::Usual)
    }

    /// Makes the commit fail if the name exists by then.
    #[doc(hidden)]
    pub fn only_new(self) -> Self {
        Self { only_new: true, ..self }
    }

    /// As [`create_entry_at`](Self::create_entry_at), but a symbolic link is followed.
    #[doc(hidden)]
    pub fn create_entry_through(directory: &HeldDir, name: &OsStr) -> Result<Self> {
        let (place, _) = TargetName { directory: directory.clone(), name: name.to_owned() }.resolved()?;
        Self::beside(place, Finish::Usual)
    }

    /// If `false`, the output inherits nothing from the replaced file: for writers that set mode and owner
    /// themselves.
    ///
    /// ```
    /// # let directory = tempfile::tempdir()?;
    /// use std::os::unix::fs::PermissionsExt;
    /// use fullbore_io::file::{Durability, Output};
    /// let path = directory.path().join("file");
    /// std::fs::write(&path, "old")?;
    /// std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o600))?;
    /// let output = Output::replace(&path)?.inherit_metadata(false);
    /// output.file().set_permissions(std::fs::Permissions::from_mode(0o640))?;
    /// output.commit(Durability::None)?;
    /// assert_eq!(std::fs::metadata(&path)?.permissions().mode() & 0o777, 0o640);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn inherit_metadata(mut self, inherit: bool) -> Self {
        if inherit {
            return self;
        }
        match &mut self.state {
            OutputState::Unnamed { finish, .. }
            | OutputState::Named { finish, .. }
            | OutputState::Kept { finish, .. } => {
                *finish = Finish::Set;
            }
            OutputState::Existing(_) | OutputState::Stream => {}
        }
        self
    }

    /// True if the output replaces a file and inherits its mode and owner.
    #[doc(hidden)]
    pub fn inherits(&self) -> bool {
        let replaces = matches!(self.state.place(), Some((_, Finish::Inherit(_))));
        replaces || matches!(self.state, OutputState::Existing(_))
    }

    /// Gives the output the owner of the file that it replaces, where permitted: for writers that set only the mode themselves.
    #[doc(hidden)]
    pub fn inherit_owner(&self) -> Result<()> {
        match self.state.place() {
            Some((place, Finish::Inherit(old))) => give(&self.file, old.owner, place).map(drop),
            _ => Ok(()),
        }
    }

    /// Gives the output the mode and the access list of the file that it replaces. On Windows, `owner` also gives it the owner of
    /// that file, unless the writer has set one.
    #[doc(hidden)]
    pub fn inherit_mode(&self, owner: bool) -> Result<()> {
        match self.state.place() {
            Some((place, Finish::Inherit(old))) => {
                inherit_mode(&self.file, permitted_mode(old.mode, false), owner, place)
            }
            _ => Ok(()),
        }
    }

    /// Returns the mode of a new file in the directory of this output that is created with `mode`: by the directory's
    /// default access control list, or by `umask`.
    #[doc(hidden)]
    pub fn usual_mode(&self, mode: u32, umask: u32) -> Result<u32> {
        self.state.place().map_or_else(|| Ok(mode & !umask), |(place, _)| place.usual_mode(mode, umask))
    }

    /// Opens the process's standard output.
    pub fn stdout() -> Result<Self> {
        Ok(Self::of(File::stdout()?, OutputState::Stream))
    }

    /// Creates an output that modifies the input file, regular or a block device, in place. The length stays, unless
    /// [`commit_len`](Self::commit_len) changes it.
    pub fn in_place(path: impl AsRef<Path>) -> Result<Self> {
        let path = path.as_ref();
        let place = TargetName::of(path)?;
        let Some(there) = place.stat(AtFlags::empty())? else {
            return Err(Error::io("open", path, Code::NOT_FOUND.into()));
        };
        match there.kind() {
            FileKind::Regular | FileKind::BlockDevice => Self::existing(&place, &there),
            kind => {
                Err(Error::new(ErrorKind::Unsupported, "change in place", path, format!("it is a {kind}")))
            }
        }
    }

    fn existing(place: &TargetName, there: &Status) -> Result<Self> {
        let file = open(place, there, OpenFlags::READ_WRITE)?;
        Ok(Self::of(file, OutputState::Existing(cleanup::unfinished(&place.path()))))
    }

    fn replacing(place: TargetName, there: &Status) -> Result<Self> {
        let (place, finish) = replaced(place, there)?;
        Self::beside(place, finish)
    }

    fn fresh(place: TargetName) -> Result<Self> {
        if place.stat(AtFlags::NOFOLLOW)?.is_some() {
            return Err(dangling(&place));
        }
        Self::beside(place, Finish::Usual)
    }

    fn beside(place: TargetName, finish: Finish) -> Result<Self> {
        place.reject_stream()?;
        let (file, state) = begin(place, finish)?;
        Ok(Self::of(file, state))
    }

    /// Returns the file to write to. Bytes that a stream over it holds must be flushed before the output is committed.
    pub fn file(&self) -> &File {
        &self.file
    }

    /// True if the output can be written at any offset.
    pub fn seekable(&self) -> bool {
        !matches!(self.state, OutputState::Stream)
    }

    /// True if the output is written to existing blocks.
    #[doc(hidden)]
    pub fn overwrites(&self) -> bool {
        matches!(self.state, OutputState::Existing(_))
    }

    /// Attaches a fault plan to the output. The plan covers its transfers, syncs and names but not the calls that
    /// opened it.
    ///
    /// ```
    /// # let directory = tempfile::tempdir().unwrap();
    /// use fullbore_io::fault::{Event, Plan};
    /// use fullbore_io::file::{Durability, Output};
    ///
    /// let plan = Plan::new(1);
    /// let output = Output::replace(directory.path().join("file"))?.with_faults(&plan);
    /// output.file().write_all_at(b"new", 0)?;
    /// output.commit(Durability::Full)?;
    /// assert!(matches!(plan.events().last(), Some(Event::SyncedDirectory(_))));
    /// # Ok::<(), fullbore_io::Error>(())
    /// ```
    #[cfg(feature = "fault")]
    pub fn with_faults(self, plan: &crate::fault::plan::Plan) -> Self {
        Self { file: self.file.with_faults(plan), ..self }
    }

    /// Completes the output at its current length: frees blocks [reserved](File::reserve) past the end, syncs the file
    /// to the given level, then gives it its name.
    ///
    /// # Errors
    /// [`ErrorKind::Invalid`] if a stream over [`file`](Self::file) holds bytes that it has not written or an asynchronous write
    /// was dropped and is not whole, and if a system call fails; the old file is then unchanged, unless it was overwritten. If
    /// only the last step fails, the sync of the directory, the new file has its name but may not survive a power failure.
    pub fn commit(self, durability: Durability) -> Result<CommitReport> {
        let Self { file, state, only_new } = self;
        if let Some((what, advice)) = file.inner.health.unfinished() {
            return Err(Error::new(ErrorKind::Invalid, "complete", file.path(), what).advise(advice));
        }
        file.release_reserved()?;
        publish(&file, state, only_new, durability)
    }

    /// As [`commit`](Self::commit), at `len` bytes: for writers that wrote past the end, as direct I/O does, and for
    /// files that were longer before.
    ///
    /// ```
    /// # let directory = tempfile::tempdir()?;
    /// use fullbore_io::file::{Durability, Output};
    ///
    /// let path = directory.path().join("file");
    /// std::fs::write(&path, "longer than what comes")?;
    /// let output = Output::overwrite(&path)?;
    /// output.file().write_all_at(b"shorter", 0)?;
    /// output.commit_len(7, Durability::None)?;
    /// assert_eq!(std::fs::read(&path)?, b"shorter");
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn commit_len(self, len: u64, durability: Durability) -> Result<CommitReport> {
        self.fit_len(len)?;
        self.commit(durability)
    }

    /// Sets the final length, for writers that set times themselves, which a later change of the length would replace.
    #[doc(hidden)]
    pub fn fit_len(&self, len: u64) -> Result<()> {
        match self.file.kind() == FileKind::Regular && self.seekable() && self.file.stamp()?.len != len {
            true => self.file.set_len(len),
            false => Ok(()),
        }
    }
}

/// The place of the file that is replaced if `place` refers to `there`, with links followed, and the attributes to inherit.
fn replaced(place: TargetName, there: &Status) -> Result<(TargetName, Finish)> {
    let (place, stat) = place.resolved()?;
    let Some(stat) = stat.filter(|stat| stat.identity() == there.identity()) else {
        return Err(exchanged("replace", &place));
    };
    // A rename needs no permission to the file that it replaces, but a file protected against writing must not be
    // replaced.
    place
        .directory
        .fd()
        .and_then(|directory| Ok(sys::writable_at(directory, &place.name)?))
        .map_err(|error| Error::io("write", place.path(), error))?;
    let mode = stat.permissions();
    Ok((place, Finish::Inherit(Attributes { mode, owner: (stat.uid, stat.gid) })))
}

#[cfg(all(test, windows))]
mod tests {
    use super::*;

    #[test]
    fn streams_are_no_outputs() {
        let directory = tempfile::tempdir().unwrap();
        for placement in [Placement::Replace, Placement::Overwrite] {
            let path = directory.path().join("file:stream");
            assert_eq!(Output::create_with(&path, placement, None).unwrap_err().kind(), ErrorKind::Invalid);
        }
        assert_eq!(std::fs::read_dir(directory.path()).unwrap().count(), 0);
    }
}
