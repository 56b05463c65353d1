//! Conversions from and to the types of std, and counterparts of the functions of std's `File` and `std::fs` that are not transfers.

use std::fs::{self, FileTimes, Metadata, Permissions, TryLockError};
use std::io::{self, Read};
use std::panic::{RefUnwindSafe, UnwindSafe};
use std::path::Path;
use std::sync::atomic::Ordering;

use super::direct::retried;
use super::inner::File;
use super::locks::until_taken;
use super::output::Output;
use super::types::Durability;
use crate::buf::reserve_exact;
use crate::error::{Error, ErrorKind, Result};
use crate::size;
use crate::stream::FileStream;
use crate::sys::{self, AsHandle, Handle};

/// Adopts an open file. Messages call it `/dev/fd/N` (on Windows `handle N`); [`File::from_fd`] gives it another name.
impl TryFrom<Handle> for File {
    type Error = Error;

    fn try_from(file: Handle) -> Result<Self> {
        let name = sys::handle_name(&file);
        Self::from_fd(file, name)
    }
}

/// Adopts the file's descriptor.
impl TryFrom<fs::File> for File {
    type Error = Error;

    fn try_from(file: fs::File) -> Result<Self> {
        Handle::from(file).try_into()
    }
}

/// Adopts the file's descriptor, as the conversion to [`File`] does.
impl TryFrom<fs::File> for Output {
    type Error = Error;

    fn try_from(file: fs::File) -> Result<Self> {
        File::try_from(file).map(Self::from)
    }
}

/// The descriptor, duplicated: clones of the handle stay usable. A lock of the file lasts until all descriptors are closed;
/// [`delete_on_close`](super::OpenOptions::delete_on_close) and [`reserve`](super::OpenOptions::reserve) act on close: when the
/// last [`File`] is dropped.
impl TryFrom<&File> for Handle {
    type Error = Error;

    fn try_from(file: &File) -> Result<Self> {
        let duplicate = file.as_handle().try_clone_to_owned();
        let duplicate = duplicate.map_err(|error| Error::io("duplicate", file.path(), error))?;
        file.inner.health.state().given_away.store(true, Ordering::Relaxed);
        if let Some(on_close) = &file.inner.on_close {
            on_close.duplicated.store(true, Ordering::Relaxed);
        }
        Ok(duplicate)
    }
}

/// The descriptor, duplicated: clones of the handle stay usable.
impl TryFrom<File> for Handle {
    type Error = Error;

    fn try_from(file: File) -> Result<Self> {
        Self::try_from(&file)
    }
}

/// std's file on a duplicate of the descriptor. The two share a position. This crate uses the position only of adopted files,
/// where streams and runs start at it.
impl TryFrom<&File> for fs::File {
    type Error = Error;

    fn try_from(file: &File) -> Result<Self> {
        Handle::try_from(file).map(Self::from)
    }
}

/// Converts as the conversion of a reference does.
impl TryFrom<File> for fs::File {
    type Error = Error;

    fn try_from(file: File) -> Result<Self> {
        Self::try_from(&file)
    }
}

// A panic leaves no file in an invalid state: what it shares is behind locks, or never changes.
impl UnwindSafe for File {}
impl RefUnwindSafe for File {}

impl File {
    /// Returns std's metadata of the open file.
    pub fn metadata(&self) -> Result<Metadata> {
        self.by_std("inspect", |file| file.metadata())
    }

    /// Sets the permissions of the open file.
    pub fn set_permissions(&self, permissions: Permissions) -> Result<()> {
        self.by_std("set its permissions", |file| file.set_permissions(permissions))
    }

    /// Sets the time of the last access or modification.
    pub fn set_times(&self, times: FileTimes) -> Result<()> {
        self.by_std("set its times", |file| file.set_times(times))
    }

    /// Takes the exclusive lock of the file (`flock`), and waits for it. The lock belongs to the open file: clones share it,
    /// a file that was opened again does not. Ranges have locks of their own: [`lock_range`](Self::lock_range).
    pub fn lock(&self) -> Result<()> {
        self.wait_for_lock(fs::File::lock, Self::try_lock)
    }

    /// As [`lock`](Self::lock), but the lock is shared: it excludes only exclusive locks.
    pub fn lock_shared(&self) -> Result<()> {
        self.wait_for_lock(fs::File::lock_shared, Self::try_lock_shared)
    }

    /// As [`lock`](Self::lock), but without waiting.
    ///
    /// # Errors
    /// [`ErrorKind::Locked`] if a conflicting lock is held.
    ///
    /// ```
    /// # let directory = tempfile::tempdir()?;
    /// use fullbore_io::file::File;
    /// let file = File::create_new(directory.path().join("file"))?;
    /// let other = File::open(file.path())?;
    /// file.try_lock()?;
    /// assert_eq!(other.try_lock_shared().unwrap_err().kind(), fullbore_io::ErrorKind::Locked);
    /// file.unlock()?;
    /// other.try_lock_shared()?;
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn try_lock(&self) -> Result<()> {
        self.taken(sys::by_std(self, fs::File::try_lock))
    }

    /// As [`try_lock`](Self::try_lock), for a shared lock.
    pub fn try_lock_shared(&self) -> Result<()> {
        self.taken(sys::by_std(self, fs::File::try_lock_shared))
    }

    /// Releases the lock. Closing the file releases it too.
    pub fn unlock(&self) -> Result<()> {
        self.by_std("unlock", |file| file.unlock())
    }

    fn by_std<T>(&self, doing: &'static str, call: impl FnOnce(&fs::File) -> io::Result<T>) -> Result<T> {
        sys::by_std(self, call).map_err(|error| Error::io(doing, self.path(), error))
    }

    /// Takes a lock by the call that waits, or repeats the other where a call that waits would keep all other calls through
    /// this handle waiting.
    fn wait_for_lock(
        &self,
        wait: fn(&fs::File) -> io::Result<()>,
        attempt: fn(&Self) -> Result<()>,
    ) -> Result<()> {
        match sys::HANDLES_SERIALIZE {
            true => until_taken(|| attempt(self)),
            false => self.by_std("lock", |file| retried(|| wait(file))),
        }
    }

    fn taken(&self, lock: std::result::Result<(), TryLockError>) -> Result<()> {
        lock.map_err(|error| match error {
            TryLockError::WouldBlock => self.locked_elsewhere(),
            TryLockError::Error(error) => Error::io("lock", self.path(), error),
        })
    }
}

/// Reads a whole file: a regular file by one request where the system allows it, any other to its end.
///
/// ```
/// let bytes = fullbore_io::file::read("Cargo.toml")?;
/// assert_eq!(bytes, std::fs::read("Cargo.toml").unwrap());
/// # Ok::<(), fullbore_io::Error>(())
/// ```
///
/// # Errors
/// Those of the system; [`ErrorKind::Memory`] if there is no memory for its bytes; [`ErrorKind::Changed`] if a regular file that
/// is not empty is truncated, extended or modified while it is read.
pub fn read(path: impl AsRef<Path>) -> Result<Vec<u8>> {
    let mut bytes = Vec::new();
    read_into(path, &mut bytes)?;
    Ok(bytes)
}

/// Reads a whole file into `bytes`, as [`read`] does, and returns the length. The earlier content of `bytes` is discarded.
pub fn read_into(path: impl AsRef<Path>, bytes: &mut Vec<u8>) -> Result<usize> {
    let path = path.as_ref();
    let file = File::open(path)?;
    bytes.clear();
    let (before, len) = file.measure()?;
    let Some(len) = len else {
        let mut input = FileStream::new(file.clone());
        return input.read_to_end(bytes).map_err(|error| {
            error.downcast::<Error>().unwrap_or_else(|error| Error::io("read", path, error))
        });
    };
    let reserved = usize::try_from(len).ok().filter(|len| reserve_exact(bytes, *len).is_ok());
    let Some(len) = reserved else {
        let what = format!("there is no memory for its {len} bytes");
        return Err(Error::new(ErrorKind::Memory, "read", path, what));
    };
    while bytes.len() < len {
        let (missing, at) = (len - bytes.len(), bytes.len() as u64);
        if file.read_to_vec_at(bytes, missing, at)? == 0 {
            return Err(file.ends_early(missing, at).of_shortened());
        }
    }
    file.check_unchanged(&before)?;
    Ok(len)
}

/// Writes `bytes` to a file, which is then either complete or as it was before: a temporary file is renamed
/// over `path`.
///
/// ```
/// # let directory = tempfile::tempdir()?;
/// let path = directory.path().join("file");
/// fullbore_io::file::write(&path, b"bytes")?;
/// assert_eq!(std::fs::read(&path)?, b"bytes");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// # Errors
/// As [`Output::create`] and those of the system.
pub fn write(path: impl AsRef<Path>, bytes: impl AsRef<[u8]>) -> Result<()> {
    let bytes = bytes.as_ref();
    let output = Output::create(path.as_ref())?;
    if output.seekable() {
        output.file().write_all_at(bytes, 0)?;
    } else {
        output.file().write_all_next(bytes)?;
    }
    output.commit_len(bytes.len() as u64, Durability::None).map(drop)
}

/// The limit for documents written by people, and for profiles, in bytes.
pub const DOCUMENT_LIMIT: u64 = 4 << 20;

/// Reads a document of at most `limit` bytes from a file, a pipe or a device. Reads at most one byte past the limit.
///
/// # Errors
/// If it is longer, is not UTF-8 text, or cannot be read.
pub fn read_text(from: impl Read, limit: u64) -> io::Result<String> {
    // Most documents need one read.
    let mut bytes = Vec::with_capacity(limit.min(32 << 10) as usize);
    from.take(limit.saturating_add(1)).read_to_end(&mut bytes)?;
    if bytes.len() as u64 > limit {
        let what = format!("longer than the limit of {}", size::exact(limit));
        return Err(io::Error::new(io::ErrorKind::FileTooLarge, what));
    }
    String::from_utf8(bytes).map_err(|_| io::Error::new(io::ErrorKind::InvalidData, "not UTF-8 text"))
}

#[cfg(test)]
mod tests {
    use std::time::{Duration, Instant, UNIX_EPOCH};

    use fullbore_testkit::meanwhile;

    use super::*;

    #[test]
    fn texts_are_limited() {
        assert_eq!(read_text(&b"text"[..], 4).unwrap(), "text");
        assert_eq!(read_text(&b"text"[..], u64::MAX).unwrap(), "text");
        let error = read_text(io::repeat(b'x'), 1 << 20).unwrap_err();
        assert_eq!(error.to_string(), "longer than the limit of 1M");
    }

    /// A file longer than any memory is an error, not an abort.
    #[test]
    fn whole_files_are_read_and_written() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("file");
        let bytes: Vec<u8> = (0..5_000_077u32).map(|n| (n * 7 / 3) as u8).collect();
        write(&path, &bytes).unwrap();
        assert!(read(&path).unwrap() == bytes);
        let mut memory = vec![1; 100];
        for _ in 0..2 {
            assert_eq!(read_into(&path, &mut memory).unwrap(), bytes.len());
            assert!(memory == bytes);
        }
        fs::write(&path, "").unwrap();
        assert_eq!((read_into(&path, &mut memory).unwrap(), memory.len()), (0, 0));
        assert_eq!(read(directory.path().join("missing")).unwrap_err().kind(), ErrorKind::NotFound);
        assert_eq!(read(directory.path()).unwrap_err().kind(), ErrorKind::Unsupported);
        write(if cfg!(windows) { "NUL" } else { "/dev/null" }, b"bytes").unwrap();
        assert_eq!(fs::read_dir(directory.path()).unwrap().count(), 1);
        #[cfg(target_os = "linux")]
        {
            assert_eq!(read("/proc/self/comm").unwrap(), fs::read("/proc/self/comm").unwrap());
            let endless = fs::File::from(sys::memory_file("endless").unwrap());
            endless.set_len(1 << 60).unwrap();
            let error = read(sys::handle_name(&endless)).unwrap_err();
            assert_eq!(error.kind(), ErrorKind::Memory, "{error}");
        }
    }

    #[test]
    fn a_file_that_is_truncated_while_it_is_read_has_changed() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("file");
        let writer = fs::File::create(&path).unwrap();
        let change = |_| [1 << 20, 0].into_iter().for_each(|len| writer.set_len(len).unwrap());
        let kinds = meanwhile(change, || {
            let end = Instant::now() + Duration::from_secs(10);
            let mut kinds = Vec::new();
            while kinds.len() < 100 && Instant::now() < end {
                kinds.extend(read(&path).err().map(|error| error.kind()));
            }
            kinds
        });
        if kinds.is_empty() {
            return println!("skipped: no read met a truncation");
        }
        assert!(kinds.iter().all(|kind| *kind == ErrorKind::Changed), "{kinds:?}");
    }

    #[test]
    fn attributes_are_those_that_std_sees() {
        let (_directory, path) = fullbore_testkit::ground::temporary_file("bytes");
        let file = File::try_from(fs::File::options().read(true).write(true).open(&path).unwrap()).unwrap();
        #[cfg(unix)]
        {
            use std::os::unix::fs::PermissionsExt;
            assert_eq!(
                file.path(),
                Path::new(&format!("/dev/fd/{}", std::os::fd::AsRawFd::as_raw_fd(&file)))
            );
            file.set_permissions(Permissions::from_mode(0o640)).unwrap();
            assert_eq!(file.metadata().unwrap().permissions().mode() & 0o777, 0o640);
        }
        file.set_times(FileTimes::new().set_modified(UNIX_EPOCH + Duration::from_secs(7))).unwrap();
        let (mine, std) = (file.metadata().unwrap(), fs::metadata(&path).unwrap());
        assert_eq!((mine.len(), mine.permissions()), (5, std.permissions()));
        assert_eq!(mine.modified().unwrap(), std.modified().unwrap());
        let descriptor = Handle::try_from(&file).unwrap();
        drop(file);
        assert_eq!(fs::File::from(descriptor).metadata().unwrap().len(), 5);
    }
}
