//! Outputs: whole or not there.
//!
//! A new output is written to a file without a name (`O_TMPFILE`) or with a temporary one, beside its
//! destination, and takes the destination's name when it is whole. Until then the old file is as it was.

use std::path::{Path, PathBuf};

use rustix::fs::{Access, AtFlags, CWD, Mode, OFlags};

use super::abandon::{self, Temporary, Unfinished};
use super::naming::{directory_of, link, linkable, rename, rename_to, sync_directory, temporary_name};
use super::{Durability, File, FileKind, Receipt, Step, look};
use crate::error::{Error, Kind, Result};

/// Where an output's bytes go while it is written.
///
/// ```
/// # let directory = tempfile::tempdir()?;
/// use fullbore::file::{Durability, Output, Placement};
/// let path = directory.path().join("file");
/// # std::fs::write(&path, "old")?;
/// let output = Output::create(&path, Placement::Overwrite, None)?;
/// assert!(output.overwrites());
/// output.commit(Durability::Process)?;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Placement {
    /// Beside the destination, and renamed over it when whole.
    #[default]
    Replace,
    /// Over the blocks of the existing file, which saves allocating; stopped, it is part old, part new.
    Overwrite,
}

/// An output being written.
///
/// ```
/// # let directory = tempfile::tempdir()?;
/// use fullbore::file::{Durability, Output, Placement};
/// let path = directory.path().join("file");
/// let output = Output::create(&path, Placement::Replace, None)?;
/// output.file().write_all_at(b"whole", 0)?;
/// assert!(!path.exists());
/// output.commit(Durability::Process)?;
/// assert_eq!(std::fs::read(&path)?, b"whole");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
pub struct Output {
    file: File,
    state: State,
}

#[derive(Debug)]
enum State {
    /// Without a name until it is whole.
    Unnamed { target: PathBuf, old: Option<Attributes> },
    /// Under a temporary name until it is whole.
    Named { target: PathBuf, old: Option<Attributes>, temporary: Temporary },
    /// Under a name that stays, whole or not, until it is whole.
    Kept { target: PathBuf, old: Option<Attributes>, part: PathBuf },
    /// The destination itself.
    Existing(Unfinished),
    /// A pipe or device: what is written is gone.
    Stream,
}

/// What a new file takes over from the one it replaces.
#[derive(Debug, Clone, Copy)]
struct Attributes {
    mode: Mode,
    owner: (u32, u32),
}

impl Output {
    /// Opens the output `path` of what is read from `input`. A pipe or device is written to as it is.
    ///
    /// ```
    /// # let directory = tempfile::tempdir()?;
    /// use fullbore::file::{File, Output, Placement};
    /// # let path = directory.path().join("file");
    /// # std::fs::write(&path, "bytes")?;
    /// // What is read is not written over by accident.
    /// let input = File::open(&path)?;
    /// assert!(Output::create(&path, Placement::Replace, Some(&input)).is_err());
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// If it is `input` itself, is a directory, may not be written, is a block device that `placement` does not overwrite, or the
    /// system refuses.
    pub fn create(path: &Path, placement: Placement, input: Option<&File>) -> Result<Self> {
        let there = look(path)?;
        if let (Some(input), Some((FileKind::Regular | FileKind::BlockDevice, found))) = (input, &there)
            && input.snapshot()?.identity == found.identity
        {
            return Err(Error::new(Kind::SameFile, "write", path, "input and output are the same file")
                .advise("name another output, or change the file with --in-place"));
        }
        match there {
            Some((FileKind::Directory, _)) => {
                Err(Error::new(Kind::Unsupported, "write", path, "it is a directory")
                    .advise("name a file in it"))
            }
            Some((FileKind::Regular, _)) if placement == Placement::Overwrite => Self::existing(path),
            Some((FileKind::Regular, _)) => Self::replacing(path),
            Some((FileKind::BlockDevice, _)) if placement == Placement::Overwrite => Self::existing(path),
            Some((FileKind::BlockDevice, _)) => {
                Err(Error::new(Kind::Unsupported, "replace", path, "it is a block device")
                    .advise("add --overwrite if everything on it may be lost"))
            }
            Some(_) => Self::stream(path),
            None => Self::fresh(path),
        }
    }

    /// A file that will replace `path`, or be new there, when it is [committed](Self::commit); dropped before, it was
    /// never there. It inherits the old file's mode and, where that is allowed, its owner.
    ///
    /// ```
    /// # fn main() -> fullbore::Result<()> {
    /// # let directory = tempfile::tempdir().unwrap();
    /// use fullbore::file::{Durability, Output};
    ///
    /// let path = directory.path().join("settings");
    /// let output = Output::replace(&path)?;
    /// output.file().write_all_at(b"colour = blue\n", 0)?;
    /// output.commit(Durability::Data)?;
    /// assert_eq!(std::fs::read(&path).unwrap(), b"colour = blue\n");
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// As [`create`](Self::create), and [`Kind::Unsupported`] for what is no regular file: it cannot be replaced.
    pub fn replace(path: impl AsRef<Path>) -> Result<Self> {
        let path = path.as_ref();
        match look(path)? {
            Some((FileKind::Regular, _)) => Self::replacing(path),
            None => Self::fresh(path),
            Some((kind, _)) => Err(Error::new(Kind::Unsupported, "replace", path, format!("it is a {kind}"))
                .advise("name a regular file")),
        }
    }

    /// As [`replace`](Self::replace), but what was written stays at `part` when the run ends early, and is there again
    /// when the same output is opened again: for runs that are resumed. `part` lies beside `path`.
    ///
    /// ```
    /// # let directory = tempfile::tempdir()?;
    /// use fullbore::file::{Durability, Output};
    /// let (path, part) = (directory.path().join("file"), directory.path().join(".file.part"));
    /// let output = Output::resumable(&path, &part)?;
    /// output.file().write_all_at(b"half", 0)?;
    /// drop(output);
    /// let again = Output::resumable(&path, &part)?;
    /// assert_eq!(again.file().len()?, 4);
    /// again.commit(Durability::Process)?;
    /// assert!(path.exists() && !part.exists());
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// As [`replace`](Self::replace).
    pub fn resumable(path: impl AsRef<Path>, part: impl Into<PathBuf>) -> Result<Self> {
        let (path, part) = (path.as_ref(), part.into());
        let (target, old) = match look(path)? {
            Some((FileKind::Regular, _)) => Self::replaced(path).map(|(target, old)| (target, Some(old)))?,
            None => (path.to_owned(), None),
            Some((kind, _)) => {
                return Err(Error::new(Kind::Unsupported, "replace", path, format!("it is a {kind}"))
                    .advise("name a regular file"));
            }
        };
        let flags = OFlags::RDWR | OFlags::CREATE | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let fd = rustix::fs::open(&part, flags, Mode::from_raw_mode(0o666))
            .map_err(|error| Error::io("create", &part, error.into()))?;
        Ok(Self { file: File::from_fd(fd, &target)?, state: State::Kept { target, old, part } })
    }

    /// A file that will have the name `path` when it is [committed](Self::commit), whatever has it then but a directory: a
    /// link there is replaced and not followed, nothing of what was there is inherited, and nobody is asked whether it may
    /// be written.
    ///
    /// ```
    /// # let directory = tempfile::tempdir()?;
    /// use fullbore::file::{Durability, Output};
    /// let (path, link) = (directory.path().join("file"), directory.path().join("link"));
    /// std::fs::write(&path, "stays")?;
    /// std::os::unix::fs::symlink(&path, &link)?;
    /// Output::anew(&link)?.commit(Durability::Process)?;
    /// assert_eq!((std::fs::read(&link)?.len(), std::fs::read(&path)?.len()), (0, 5));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// If `path` names no file, and if the system refuses.
    pub fn anew(path: impl AsRef<Path>) -> Result<Self> {
        let path = path.as_ref();
        if path.file_name().is_none() {
            return Err(Error::new(Kind::Invalid, "write", path, "it names no file"));
        }
        Self::beside(path.to_owned(), None)
    }

    /// The same output, which inherits nothing of the file it replaces: for writers that set mode and owner themselves.
    ///
    /// ```
    /// # let directory = tempfile::tempdir()?;
    /// use std::os::unix::fs::PermissionsExt;
    /// use fullbore::file::{Durability, Output};
    /// let path = directory.path().join("file");
    /// std::fs::write(&path, "old")?;
    /// std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o600))?;
    /// let output = Output::replace(&path)?.inheriting_nothing();
    /// rustix::fs::fchmod(output.file(), rustix::fs::Mode::from_raw_mode(0o640))?;
    /// output.commit(Durability::Process)?;
    /// assert_eq!(std::fs::metadata(&path)?.permissions().mode() & 0o777, 0o640);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    pub fn inheriting_nothing(mut self) -> Self {
        match &mut self.state {
            State::Unnamed { old, .. } | State::Named { old, .. } | State::Kept { old, .. } => *old = None,
            State::Existing(_) | State::Stream => {}
        }
        self
    }

    /// Whether it takes the place of a file that it has inherited, or will, mode and owner of.
    pub(crate) fn inherits(&self) -> bool {
        match &self.state {
            State::Unnamed { old, .. } | State::Named { old, .. } | State::Kept { old, .. } => old.is_some(),
            State::Existing(_) => true,
            State::Stream => false,
        }
    }

    /// An output that is the process's standard output.
    ///
    /// ```
    /// let output = fullbore::file::Output::stdout()?;
    /// assert!(!output.overwrites());
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// If it is closed.
    pub fn stdout() -> Result<Self> {
        Ok(Self { file: File::stdout()?, state: State::Stream })
    }

    /// The output that is the input itself, changed where it stands.
    ///
    /// ```
    /// # let directory = tempfile::tempdir()?;
    /// use fullbore::file::{Durability, Output};
    /// # let path = directory.path().join("file");
    /// std::fs::write(&path, "bytes")?;
    /// let output = Output::in_place(&path)?;
    /// output.file().write_all_at(b"B", 0)?;
    /// output.commit(Durability::Process)?;
    /// assert_eq!(std::fs::read(&path)?, b"Bytes");
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// If it is no regular file or block device, or may not be written.
    pub fn in_place(path: &Path) -> Result<Self> {
        match look(path)? {
            Some((FileKind::Regular | FileKind::BlockDevice, _)) => Self::existing(path),
            Some((kind, _)) => {
                Err(Error::new(Kind::Unsupported, "change in place", path, format!("it is a {kind}")))
            }
            None => Err(Error::io("open", path, rustix::io::Errno::NOENT.into())),
        }
    }

    fn existing(path: &Path) -> Result<Self> {
        let file = File::open_write(path)?;
        Ok(Self { file, state: State::Existing(abandon::unfinished(path)) })
    }

    fn stream(path: &Path) -> Result<Self> {
        Ok(Self { file: File::open_with(path, OFlags::WRONLY)?, state: State::Stream })
    }

    fn replacing(path: &Path) -> Result<Self> {
        let (target, old) = Self::replaced(path)?;
        Self::beside(target, Some(old))
    }

    /// The file that is replaced when `path` is, and what the new one inherits of it.
    fn replaced(path: &Path) -> Result<(PathBuf, Attributes)> {
        // A rename asks for no permission to the file it replaces, but whoever forbade writing meant it.
        rustix::fs::accessat(CWD, path, Access::WRITE_OK, AtFlags::EACCESS)
            .map_err(|error| Error::io("write", path, error.into()))?;
        // The file behind a symbolic link is replaced, not the link.
        let target = path.canonicalize().map_err(|error| Error::io("resolve", path, error))?;
        let stat = rustix::fs::stat(&target).map_err(|error| Error::io("inspect", &target, error.into()))?;
        let old = Attributes {
            mode: Mode::from_raw_mode(stat.st_mode & 0o7777),
            owner: (stat.st_uid, stat.st_gid),
        };
        Ok((target, old))
    }

    fn fresh(path: &Path) -> Result<Self> {
        if path.symlink_metadata().is_ok() {
            return Err(Error::new(
                Kind::Unsupported,
                "write",
                path,
                "it is a symbolic link that leads nowhere",
            )
            .advise("remove the link or make what it names"));
        }
        if path.file_name().is_none() {
            return Err(Error::new(Kind::Invalid, "write", path, "it names no file"));
        }
        Self::beside(path.to_owned(), None)
    }

    /// A file beside `target` that will take its name.
    fn beside(target: PathBuf, old: Option<Attributes>) -> Result<Self> {
        let flags = OFlags::TMPFILE | OFlags::RDWR | OFlags::CLOEXEC;
        if linkable()
            && let Ok(fd) = rustix::fs::open(directory_of(&target), flags, Mode::from_raw_mode(0o666))
        {
            let file = File::from_fd(fd, &target)?;
            return Ok(Self { file, state: State::Unnamed { target, old } });
        }
        // No /proc or a file system without O_TMPFILE.
        Self::under_own_name(target, old)
    }

    /// A file under a temporary name beside `target`.
    fn under_own_name(target: PathBuf, old: Option<Attributes>) -> Result<Self> {
        let (temporary, file) = Temporary::make(temporary_name(&target), |path| {
            let flags = OFlags::RDWR | OFlags::CREATE | OFlags::EXCL | OFlags::CLOEXEC;
            match rustix::fs::open(path, flags, Mode::from_raw_mode(0o666)) {
                Ok(fd) => File::from_fd(fd, &target),
                Err(rustix::io::Errno::NOENT) => {
                    let missing = format!("there is no directory {}", directory_of(&target).display());
                    Err(Error::new(Kind::Io, "create", &target, missing))
                }
                Err(error) => Err(Error::io("create", &target, error.into())),
            }
        })?;
        Ok(Self { file, state: State::Named { target, old, temporary } })
    }

    /// The file to write to.
    ///
    /// ```
    /// # let directory = tempfile::tempdir()?;
    /// use fullbore::file::{Output, Placement};
    /// let output = Output::create(&directory.path().join("file"), Placement::Replace, None)?;
    /// assert_eq!(output.file().len()?, 0);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn file(&self) -> &File {
        &self.file
    }

    /// Whether it can be written at any offset.
    ///
    /// ```
    /// # let directory = tempfile::tempdir()?;
    /// use fullbore::file::{Output, Placement};
    /// let output = Output::create(&directory.path().join("file"), Placement::Replace, None)?;
    /// assert!(output.seekable());
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn seekable(&self) -> bool {
        !matches!(self.state, State::Stream)
    }

    /// Whether its bytes are written to blocks that stand already.
    ///
    /// ```
    /// # let directory = tempfile::tempdir()?;
    /// use fullbore::file::{Output, Placement};
    /// let output = Output::create(&directory.path().join("file"), Placement::Replace, None)?;
    /// assert!(!output.overwrites());
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn overwrites(&self) -> bool {
        matches!(self.state, State::Existing(_))
    }

    /// The same output, written through another handle.
    #[cfg(feature = "fault")]
    pub(crate) fn on(self, file: File) -> Self {
        Self { file, ..self }
    }

    /// Ends the output at the length it has: it is as durable as asked, and then it has its name. ([`Receipt`] and
    /// [`replace`](Self::replace) show it.)
    ///
    /// ```
    /// # let directory = tempfile::tempdir()?;
    /// use fullbore::file::{Durability, Output, Placement};
    /// let path = directory.path().join("file");
    /// let output = Output::create(&path, Placement::Replace, None)?;
    /// let receipt = output.commit(Durability::Full)?;
    /// assert!(receipt.directory() && path.exists());
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// If the system refuses; then the old file, unless it was overwritten, is as it was. Only if the very last step fails, the
    /// sync of the directory, the new file is there all the same, and nobody knows whether a power failure would leave it.
    pub fn commit(self, durability: Durability) -> Result<Receipt> {
        let Self { file, state } = self;
        let mut receipt = Receipt::default();
        match state {
            State::Stream => {}
            State::Existing(_unfinished) => sync(&file, durability, &mut receipt)?,
            State::Unnamed { target, old } => {
                inherit(&file, old);
                sync(&file, durability, &mut receipt)?;
                // Straight to its name if nothing is there; else by a name of our own and a rename.
                let linked = old.is_none() && link(&file, &target)?;
                receipt.note(Step::Linked);
                if !linked {
                    let (temporary, ()) = Temporary::make(temporary_name(&target), |path| {
                        if link(&file, path)? {
                            Ok(())
                        } else {
                            Err(Error::new(Kind::Io, "create", path, "the temporary name is taken"))
                        }
                    })?;
                    rename(&file, temporary, &target, &mut receipt)?;
                }
                sync_directory(&file, &target, durability, &mut receipt)?;
            }
            State::Named { target, old, temporary } => {
                inherit(&file, old);
                sync(&file, durability, &mut receipt)?;
                rename(&file, temporary, &target, &mut receipt)?;
                sync_directory(&file, &target, durability, &mut receipt)?;
            }
            State::Kept { target, old, part } => {
                inherit(&file, old);
                sync(&file, durability, &mut receipt)?;
                rename_to(&file, &part, &target, &mut receipt)?;
                sync_directory(&file, &target, durability, &mut receipt)?;
            }
        }
        Ok(receipt)
    }

    /// As [`commit`](Self::commit), at `len` bytes: for writers that wrote beyond the end, as direct I/O does, and for
    /// files that were longer before.
    ///
    /// ```
    /// # fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// # let directory = tempfile::tempdir()?;
    /// use fullbore::file::{Durability, Output, Placement};
    ///
    /// let path = directory.path().join("file");
    /// std::fs::write(&path, "longer than what comes")?;
    /// let output = Output::create(&path, Placement::Overwrite, None)?;
    /// output.file().write_all_at(b"shorter", 0)?;
    /// output.commit_len(7, Durability::Process)?;
    /// assert_eq!(std::fs::read(&path)?, b"shorter");
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// As [`commit`](Self::commit).
    pub fn commit_len(self, len: u64, durability: Durability) -> Result<Receipt> {
        if self.file.kind() == FileKind::Regular && self.seekable() && self.file.snapshot()?.len != len {
            self.file.set_len(len)?;
        }
        self.commit(durability)
    }
}

/// Gives the new file the old one's mode and, where that is allowed, its owner.
fn inherit(file: &File, old: Option<Attributes>) {
    let Some(old) = old else { return };
    let (uid, gid) = old.owner;
    // Only root may give files away; for others the new file is theirs, as with any editor that renames.
    let _ =
        rustix::fs::fchown(file, Some(rustix::fs::Uid::from_raw(uid)), Some(rustix::fs::Gid::from_raw(gid)));
    let _ = rustix::fs::fchmod(file, old.mode);
}

fn sync(file: &File, durability: Durability, receipt: &mut Receipt) -> Result<()> {
    // Process level too: a file whose sync failed is not worth its name.
    file.sound().map_err(|error| Error::io("finish", file.path(), error))?;
    if let Some(level) = durability.sync() {
        file.sync(level)?;
        receipt.note(Step::Synced(level));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What file systems without `O_TMPFILE` get, on one that has it.
    #[test]
    fn under_a_name_of_its_own_it_keeps_the_same_promises() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("file");
        let names = || std::fs::read_dir(directory.path()).unwrap().count();
        for (durability, syncs) in [(Durability::Process, 0), (Durability::Data, 1), (Durability::Full, 2)] {
            std::fs::write(&path, "old").unwrap();
            let output = Output::under_own_name(path.clone(), None).unwrap();
            output.file().write_all_at(b"new", 0).unwrap();
            assert_eq!((names(), std::fs::read(&path).unwrap()), (2, b"old".to_vec()));
            let receipt = output.commit(durability).unwrap();
            assert_eq!((names(), std::fs::read(&path).unwrap()), (1, b"new".to_vec()));
            assert_eq!(receipt.steps().len(), syncs + 1, "{receipt}");
            assert_eq!(receipt.directory(), durability == Durability::Full);
        }
        drop(Output::under_own_name(path.clone(), None).unwrap());
        assert_eq!((names(), std::fs::read(&path).unwrap()), (1, b"new".to_vec()));
    }
}
