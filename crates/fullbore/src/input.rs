//! Inputs of a job.

use std::borrow::Cow;
use std::ffi::{OsStr, OsString};
use std::fs;
use std::io::{self, PipeReader, Stdin};
use std::path::{Path, PathBuf};
use std::process::ChildStdout;

use fullbore_io::error::{Error, Result};
use fullbore_io::file::File;
use fullbore_io::sys::{self, Handle};

/// The input of a [`Job`](crate::Job): a path (also as `&str`), an open file, an `OwnedFd` (`OwnedHandle` on Windows), a
/// pipe, standard input, or bytes in memory.
///
/// A [`std::fs::File`], standard input, and a [`File`] that adopted a descriptor are read from their present position. The
/// position afterwards is unspecified, because runs read at offsets where they can. Bytes that [`Stdin`] has buffered, after a
/// `read_line`, are not read. A [`File`] that this library opened is read from its beginning.
#[derive(Debug)]
pub struct Input<'a>(Repr<'a>);

#[derive(Debug)]
enum Repr<'a> {
    Path(PathBuf),
    File(File),
    System(fs::File),
    Stdin,
    Bytes(&'a [u8]),
    Owned(Vec<u8>),
}

pub(crate) enum Opened<'a> {
    File(File),
    Bytes(&'a [u8]),
}

impl Input<'_> {
    pub(crate) fn open(&self) -> Result<Opened<'_>> {
        Ok(Opened::File(match &self.0 {
            Repr::Bytes(bytes) => return Ok(Opened::Bytes(bytes)),
            Repr::Owned(bytes) => return Ok(Opened::Bytes(bytes)),
            Repr::Path(path) => File::open(path)?,
            Repr::File(file) => file.clone(),
            Repr::System(file) => {
                let name = || sys::handle_name(&file);
                let file = file.try_clone().map_err(|error| Error::io("duplicate", name(), error))?;
                File::try_from(file)?
            }
            Repr::Stdin => File::stdin()?,
        }))
    }

    /// True for bytes in memory.
    pub(crate) fn is_bytes(&self) -> bool {
        matches!(self.0, Repr::Bytes(_) | Repr::Owned(_))
    }

    /// Opens the input as a file; bytes are copied to a file in memory.
    pub(crate) fn open_file(&self) -> Result<File> {
        match self.open()? {
            Opened::File(file) => Ok(file),
            Opened::Bytes(bytes) => in_memory(bytes),
        }
    }
}

fn in_memory(bytes: &[u8]) -> Result<File> {
    const NAME: &str = "bytes in memory";
    let fd =
        sys::memory_file("fullbore").map_err(|error| Error::io("create", NAME, io::Error::from(error)))?;
    let file = File::from_fd(fd, NAME)?;
    file.write_all_at(bytes, 0)?;
    Ok(file)
}

macro_rules! from_path {
    ($($type:ty),*) => {
        $(impl From<$type> for Input<'_> {
            fn from(path: $type) -> Self {
                Self(Repr::Path(path.into()))
            }
        })*
    };
}

from_path!(
    &str,
    String,
    &String,
    &Path,
    PathBuf,
    &PathBuf,
    Box<Path>,
    Cow<'_, Path>,
    &OsStr,
    OsString,
    &OsString
);

impl From<File> for Input<'_> {
    fn from(file: File) -> Self {
        Self(Repr::File(file))
    }
}

impl From<&File> for Input<'_> {
    fn from(file: &File) -> Self {
        Self(Repr::File(file.clone()))
    }
}

impl From<fs::File> for Input<'_> {
    fn from(file: fs::File) -> Self {
        Self(Repr::System(file))
    }
}

/// The descriptor is duplicated when the job opens the input.
impl From<Handle> for Input<'_> {
    fn from(file: Handle) -> Self {
        fs::File::from(file).into()
    }
}

impl From<PipeReader> for Input<'_> {
    fn from(pipe: PipeReader) -> Self {
        Handle::from(pipe).into()
    }
}

impl From<ChildStdout> for Input<'_> {
    fn from(pipe: ChildStdout) -> Self {
        Handle::from(pipe).into()
    }
}

impl From<Stdin> for Input<'_> {
    fn from(_: Stdin) -> Self {
        Self(Repr::Stdin)
    }
}

impl<'a> From<&'a [u8]> for Input<'a> {
    fn from(bytes: &'a [u8]) -> Self {
        Self(Repr::Bytes(bytes))
    }
}

impl<'a, const N: usize> From<&'a [u8; N]> for Input<'a> {
    fn from(bytes: &'a [u8; N]) -> Self {
        Self(Repr::Bytes(bytes))
    }
}

impl<'a> From<&'a Vec<u8>> for Input<'a> {
    fn from(bytes: &'a Vec<u8>) -> Self {
        Self(Repr::Bytes(bytes))
    }
}

impl From<Vec<u8>> for Input<'_> {
    fn from(bytes: Vec<u8>) -> Self {
        Self(Repr::Owned(bytes))
    }
}

impl From<Box<[u8]>> for Input<'_> {
    fn from(bytes: Box<[u8]>) -> Self {
        Self(Repr::Owned(bytes.into()))
    }
}
