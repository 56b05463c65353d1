//! Opening and reading many small files with few system calls.

use std::ffi::OsStr;
use std::io;
use std::path::Path;

use super::handle::refused;
use super::held::HeldDir;
use super::inner::{File, Inner};
use crate::error::{Error, Result};
use crate::sys::{
    self, AsHandle, Code, FileKind, FileSystemKind, Handle, OpenFlags, OsStrExt, PathArg, Status, Time,
    TransferFlags,
};

/// An opener of files for reading. A file in the same directory as the previous one is opened by its name there, so
/// that the system resolves the path of a directory once, not once per file. For small files eight directories deep
/// that was 1 % of the CPU time of `fullbore sum` and 9 % of that of `fullbore grep`.
///
/// If a directory is replaced meanwhile, the old one stays in use until a file of another directory is
/// opened.
#[derive(Debug, Default)]
pub struct DirOpener {
    /// The path of the previous file's directory, with its slash.
    parent: Vec<u8>,
    /// The directory, opened for the second file in it.
    directory: Option<Handle>,
}

impl DirOpener {
    /// Opens a file for reading, as [`File::open`].
    pub fn open(&mut self, path: impl AsRef<Path>) -> Result<File> {
        let path = path.as_ref();
        match self.beside(path, OpenFlags::empty()) {
            Some(fd) => Ok(File::opened(fd, path, OpenFlags::READ)),
            // Also after a failure: the full path gives the proper error.
            None => File::open(path),
        }
    }

    /// Opens a file in the directory of the previous one, with `more` flags; `None` if the directory differs or opening fails.
    pub fn beside(&mut self, path: impl AsRef<Path>, more: OpenFlags) -> Option<Handle> {
        let path = path.as_ref().as_os_str().as_bytes();
        let slash = path.iter().rposition(|&byte| sys::is_separator(byte))?;
        let (parent, name) = path.split_at(slash + 1);
        if parent != self.parent {
            self.parent.clear();
            self.parent.extend_from_slice(parent);
            self.directory = None;
            return None;
        }
        if self.directory.is_none() {
            let flags = OpenFlags::PATH | OpenFlags::DIRECTORY;
            self.directory = sys::open(parent, flags, 0).ok();
        }
        let flags = OpenFlags::READ | OpenFlags::NOCTTY | more;
        sys::open_at(self.directory.as_ref()?, OsStr::from_bytes(name), flags, 0).ok()
    }
}

impl HeldDir {
    /// Opens a file for reading that a listing of this directory reported as regular: the last name of `path`, which is for
    /// messages. If something else has its name by now, the first [`stamp`](File::stamp) or run fails, and neither waits for
    /// the writer of a pipe.
    pub fn open_file(&self, path: &Path, follow: bool) -> Result<File> {
        let fail = |error| Error::io("open", path, error);
        let name = path.file_name().ok_or_else(|| fail(Code::INVALID.into()))?;
        let directory = self.fd().map_err(fail)?;
        let links = if follow { OpenFlags::empty() } else { OpenFlags::NOFOLLOW };
        let flags = OpenFlags::READ | OpenFlags::NOCTTY | links;
        let fd = open_regular(directory, name, flags).map_err(|error| refused(path, error))?;
        Ok(File::of(Inner { listed: true, ..Inner::plain(fd, path.to_owned(), flags) }))
    }
}

/// Opens a name in a directory that is known as a regular file. If the name was replaced by a pipe without a writer, a
/// blocking open would wait for a writer. So the handle has the flag `NONBLOCK`, and the caller checks its kind.
pub fn open_regular(
    directory: impl AsHandle,
    name: impl PathArg + Copy,
    flags: OpenFlags,
) -> sys::Result<Handle> {
    let directory = directory.as_handle();
    match sys::open_at(directory, name, flags | OpenFlags::NONBLOCK, 0) {
        // Another process holds a lease (fcntl(2)): this open waits until it is released, but only for a regular file.
        Err(Code::WOULD_BLOCK) => {
            let follow = flags & OpenFlags::NOFOLLOW;
            let found = sys::open_at(directory, name, OpenFlags::PATH | follow, 0)?;
            match sys::status(&found)?.kind() {
                FileKind::Regular => sys::reopen(&found, flags & !OpenFlags::NOFOLLOW),
                _ => Err(Code::WOULD_BLOCK),
            }
        }
        other => other,
    }
}

/// Margin in nanoseconds: two ticks of the clock that stamps changes. A stamp in whole seconds may be from a file system
/// without finer stamps (ext4 with inodes of 128 bytes).
const MARGIN: i128 = 20_000_000;
const MARGIN_OF_WHOLE_SECONDS: i128 = 2_000_000_000;

/// The length of the first read, in bytes. If it does not reach the end of the file, an `fstat` distinguishes a small file, whose
/// rest is read, from a long one, which is read by other means.
const FIRST: usize = 64 << 10;

/// A reader of small files that are cached and were last changed before the read began.
///
/// The usual proof that a file did not change while it was read is one `fstat` before and one after. The time of the
/// last change (`ctime`) is set from the system's clock by every write and cannot be set by a program, so one `fstat`
/// after the read suffices if that time is before the read. With `RWF_NOWAIT` the read itself can be the first call:
/// devices and pipes reject it and lose no byte.
#[derive(Debug, Default)]
pub struct UnchangedReader {
    /// The device of the last file, and `true` if its timestamps are those of this machine's clock.
    device: Option<(u64, bool)>,
}

impl UnchangedReader {
    /// Reads a whole file into `bytes`, which must be longer than the file, by calls of `read` at offsets; returns the file's
    /// length. Returns `None` if the file needs a separate check because it is longer, not cached, not regular or recently
    /// changed.
    pub fn read(
        &mut self,
        file: impl AsHandle,
        bytes: &mut [u8],
        mut read: impl FnMut(u64, &mut [u8], TransferFlags) -> io::Result<usize>,
    ) -> Option<usize> {
        let room = bytes.len();
        let first = room.min(FIRST);
        let began = sys::coarse_time();
        let mut count = read(0, &mut bytes[..first], TransferFlags::NO_WAIT).ok()?;
        if count == first {
            sys::status(&file).ok().filter(|stat| stat.size < room as u64)?;
            count += read(count as u64, &mut bytes[count..], TransferFlags::NO_WAIT).ok()?;
        }
        let stat = sys::status(&file).ok()?;
        let whole = stat.size == count as u64 && stat.kind() == FileKind::Regular;
        (whole && changed_before(&stat, began) && self.local(&file, &stat)).then_some(count)
    }

    fn local(&mut self, file: impl AsHandle, stat: &Status) -> bool {
        match self.device {
            Some((device, local)) if device == stat.dev => local,
            _ => {
                let local = sys::file_system_kind(file).is_ok_and(FileSystemKind::has_local_clock);
                self.device = Some((stat.dev, local));
                local
            }
        }
    }
}

/// True if the last change was made before that time, whatever the granularity of the stamp.
fn changed_before(stat: &Status, time: Time) -> bool {
    let nanoseconds = |seconds: i64, rest: i64| i128::from(seconds) * 1_000_000_000 + i128::from(rest);
    let changed = nanoseconds(stat.ctime, stat.ctime_nsec);
    let margin = if stat.ctime_nsec == 0 { MARGIN_OF_WHOLE_SECONDS } else { MARGIN };
    changed < nanoseconds(time.0, time.1) - margin
}

#[cfg(test)]
mod tests {
    use super::*;
    use fullbore_testkit::ground::known_file_system;
    use std::fs;
    use std::io::IoSliceMut;

    fn text(dir_opener: &mut DirOpener, path: &Path) -> String {
        let file = dir_opener.open(path).unwrap();
        let mut bytes = vec![0; 16];
        let len = file.read_at(&mut bytes, 0).unwrap();
        String::from_utf8(bytes[..len].to_vec()).unwrap()
    }

    #[test]
    fn each_path_gives_its_own_file() {
        let room = tempfile::tempdir().unwrap();
        let at = |name: &str| room.path().join(name);
        let names = ["one/a", "one/b", "one/c", "two/a", "one/a", "b"];
        for directory in ["one", "two"] {
            fs::create_dir(at(directory)).unwrap();
        }
        names.iter().for_each(|name| fs::write(at(name), name).unwrap());
        let mut dir_opener = DirOpener::default();
        for name in names {
            assert_eq!(text(&mut dir_opener, &at(name)), name);
        }
        // Without a slash, and with `.` and `..`.
        assert_eq!(text(&mut dir_opener, &at("one/./a")), "one/a");
        assert_eq!(text(&mut dir_opener, &at("one/./../two/a")), "two/a");
        assert_eq!(text(&mut dir_opener, &at("one/./../two/../one/b")), "one/b");
        assert!(dir_opener.open("siblings-missing").is_err());
    }

    #[test]
    fn an_error_has_the_path_of_its_file() {
        let room = tempfile::tempdir().unwrap();
        let at = |name: &str| room.path().join(name);
        fs::write(at("there"), "there").unwrap();
        let mut dir_opener = DirOpener::default();
        for _ in 0..3 {
            let error = dir_opener.open(at("missing")).unwrap_err();
            assert_eq!(error.path(), at("missing"));
        }
        assert_eq!(text(&mut dir_opener, &at("there")), "there");
        // A directory that was removed, and one that took its name. Wine keeps the name of one that is held open.
        if cfg!(windows) {
            return;
        }
        let inner = at("inner");
        for content in ["first", "second"] {
            fs::create_dir(&inner).unwrap();
            fs::write(inner.join("file"), content).unwrap();
            for _ in 0..2 {
                assert_eq!(text(&mut dir_opener, &inner.join("file")), content);
            }
            fs::remove_dir_all(&inner).unwrap();
            assert!(dir_opener.open(inner.join("file")).is_err());
        }
    }

    fn read(path: &str) -> Option<Vec<u8>> {
        let file = std::fs::File::open(path).unwrap();
        let mut bytes = vec![0; 1 << 20];
        let count = UnchangedReader::default().read(&file, &mut bytes, |offset, bytes, flags| {
            Ok(sys::read_vectored_flagged(&file, &mut [IoSliceMut::new(bytes)], offset, flags)?)
        })?;
        Some(bytes[..count].to_vec())
    }

    #[test]
    fn a_file_changed_a_moment_ago_is_not_read_whatever_its_modification_time() {
        let file = tempfile::NamedTempFile::new().unwrap();
        // A busy machine may take longer than the margin from the change to the read.
        let refused = (0..100).any(|_| {
            std::fs::write(&file, "bytes").unwrap();
            file.as_file().set_modified(std::time::UNIX_EPOCH).unwrap();
            read(file.path().to_str().unwrap()).is_none()
        });
        assert!(refused);
    }

    #[test]
    fn files_shorter_than_the_buffer_are_read_whole() {
        let room = tempfile::tempdir().unwrap();
        let path = |len: usize| room.path().join(len.to_string());
        let most = 1 << 20;
        let lens = [0, 1, FIRST - 1, FIRST, FIRST + 1, 2 * FIRST, most - 1, most, most + 1, 3 * most];
        let content = |len: usize| (0..len).map(|at| (at * 7 / 3) as u8).collect::<Vec<_>>();
        lens.iter().for_each(|&len| fs::write(path(len), content(len)).unwrap());
        std::thread::sleep(std::time::Duration::from_millis(100));
        let read = |len: usize| read(path(len).to_str().unwrap());
        if read(1).is_none() {
            return eprintln!("skipped: the file system does not read without waiting, or has another clock");
        }
        for len in lens {
            assert_eq!(read(len), (len < most).then(|| content(len)), "{len}");
        }
    }

    #[test]
    fn whole_seconds_need_a_wider_margin() {
        let file = tempfile::NamedTempFile::new().unwrap();
        let mut stat = sys::status(&file).unwrap();
        (stat.ctime, stat.ctime_nsec) = (100, 1);
        assert!(changed_before(&stat, (100, 20_000_002)) && !changed_before(&stat, (100, 20_000_001)));
        stat.ctime_nsec = 0;
        assert!(changed_before(&stat, (102, 1)) && !changed_before(&stat, (102, 0)));
    }

    #[test]
    fn an_unchanged_file_is_read_on_local_file_systems() {
        let manifest = concat!(env!("CARGO_MANIFEST_DIR"), "/Cargo.toml");
        let file = std::fs::File::open(manifest).unwrap();
        let kind = sys::file_system_kind(&file).unwrap();
        // Also brings the file into the cache.
        let content = std::fs::read(manifest).unwrap();
        let found = read(manifest);
        assert!(found.is_none() || (kind.has_local_clock() && found.as_ref() == Some(&content)));
        let directory = Path::new(env!("CARGO_MANIFEST_DIR"));
        let reads = matches!(known_file_system(directory), Some("btrfs" | "ext4" | "xfs"));
        assert!(found.is_some() || !reads, "a cached file of {kind:?} is not read without waiting");
        for odd in
            ["/proc/self/status", "/dev/zero", "/dev/null", "/sys/kernel/mm/transparent_hugepage/enabled"]
        {
            if std::path::Path::new(odd).exists() {
                assert_eq!(read(odd), None, "{odd}");
            }
        }
    }
}
