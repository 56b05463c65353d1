//! Mappings of a range of a file, whose accesses return an error where those of a plain mapping would kill the process.
//!
//! A mapped page can vanish because the file was truncated or its device failed. Every access checks afterwards for a
//! vanished page and for a file that ends before the mapping does: if the file is truncated within the last page, the
//! page remains and reads as zeros.

use std::ops::{Range, RangeBounds};

use super::inner::File;
use super::spans::ends;
use super::types::Call;
use crate::buf::Direction;
use crate::error::{Error, ErrorKind, Result};
use crate::sys::map::Map;
use crate::sys::{self, AsHandle, Code, FileKind};

/// A range of a file mapped into memory for reading.
///
/// ```
/// # let directory = tempfile::tempdir()?;
/// let file = fullbore_io::file::File::create_new(directory.path().join("file"))?;
/// file.write_all_at(b"some bytes", 0)?;
/// let mmap = file.map(5..)?;
/// let mut copy = [0; 5];
/// mmap.read_exact_at(&mut copy, 0)?;
/// assert_eq!(&copy, b"bytes");
/// // SAFETY: no other program uses the file.
/// assert_eq!(unsafe { mmap.with(|bytes| bytes.iter().filter(|&&byte| byte == b'e').count()) }?, 1);
///
/// file.set_len(0)?;
/// assert!(mmap.read_exact_at(&mut copy, 0).is_err());
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
pub struct Mmap {
    file: File,
    /// The mapped bytes, as offsets in the file.
    range: Range<u64>,
    /// The mapping, from the page that contains the start of the range; `None` for an empty range.
    map: Option<Map>,
    /// The offset of the range in the mapping.
    place: usize,
    #[cfg(feature = "fault")]
    _mapped: Option<crate::fault::rules::MappedUnder>,
}

impl Mmap {
    fn new(file: &File, (start, end): (u64, Option<u64>), writable: bool) -> Result<Self> {
        let refuse = |kind, what: String| Error::new(kind, "map", file.path(), what).at(start);
        match file.kind() {
            FileKind::Regular | FileKind::BlockDevice => {}
            kind => return Err(refuse(ErrorKind::Unsupported, format!("a {kind} cannot be mapped"))),
        }
        let len = file.stamp()?.len;
        let range = start..end.unwrap_or(len);
        if range.end < range.start {
            return Err(refuse(
                ErrorKind::Invalid,
                format!("the range ends before it starts, at {}", range.end),
            ));
        }
        if range.end > len {
            let what = format!("the file has {len} bytes and the range ends at {}", range.end);
            return Err(refuse(ErrorKind::Invalid, what));
        }
        let start = range.start - range.start % sys::page_size() as u64;
        let place = (range.start - start) as usize;
        let map = if range.is_empty() {
            None
        } else {
            let length = usize::try_from(range.end - start)
                .map_err(|_| refuse(ErrorKind::Unsupported, "larger than the address space".to_owned()))?;
            let map =
                Map::new(file.as_handle(), start, length, writable).map_err(|error| {
                    match Code::of(&error) {
                        Some(Code::NO_DEVICE) => refuse(
                            ErrorKind::Unsupported,
                            "its file system does not support mappings".to_owned(),
                        ),
                        _ => Error::io("map", file.path(), error).at(range.start),
                    }
                })?;
            Some(map)
        };
        Ok(Self {
            file: file.clone(),
            range,
            map,
            place,
            #[cfg(feature = "fault")]
            _mapped: file.plan().and_then(|plan| plan.mappings().add(file)),
        })
    }

    /// Returns the length in bytes.
    pub fn len(&self) -> usize {
        // Fits: the range is mapped into the address space.
        (self.range.end - self.range.start) as usize
    }

    /// True if the range is empty.
    pub fn is_empty(&self) -> bool {
        self.range.is_empty()
    }

    /// Fills `data` with the bytes at `offset` of the mapping. After an error the content of `data` is undefined. The
    /// check afterwards costs one system call; [`with`](Self::with) makes one check for any number of bytes.
    ///
    /// # Errors
    /// [`ErrorKind::Changed`] if the file was truncated or could not be read, [`ErrorKind::Invalid`] if `data` extends past the
    /// mapping.
    pub fn read_exact_at(&self, data: &mut [u8], offset: usize) -> Result<()> {
        self.within("read", offset, data.len())?;
        self.preflight(Direction::Read, offset, data.len())?;
        if let Some(map) = &self.map {
            map.copy_out(self.place + offset, data);
        }
        self.check("read")
    }

    /// Calls `look` on the bytes in place, without a copy, and returns its result.
    ///
    /// # Safety
    /// No other thread and no other process changes the bytes during the call; or `look` is sound for bytes that change while it
    /// reads them: it creates no `str` from them, and no bounds follow from a byte that is loaded again.
    ///
    /// # Errors
    /// [`ErrorKind::Changed`] if the file was truncated or could not be read meanwhile; the result of `look` is dropped
    /// then.
    #[expect(unsafe_code, reason = "a duty of the caller; the body is safe")]
    pub unsafe fn with<T>(&self, look: impl FnOnce(&[u8]) -> T) -> Result<T> {
        self.in_place(look)
    }

    /// As [`with`](Self::with), for the code of these crates, which was reviewed for bytes that change.
    ///
    /// # Errors
    /// As [`with`](Self::with).
    #[doc(hidden)]
    pub fn in_place<T>(&self, look: impl FnOnce(&[u8]) -> T) -> Result<T> {
        self.preflight(Direction::Read, 0, self.len())?;
        let bytes = self.map.as_ref().map_or(&[][..], |map| &map.bytes()[self.place..]);
        let made = look(bytes);
        self.check("read")?;
        Ok(made)
    }

    fn preflight(&self, direction: Direction, offset: usize, len: usize) -> Result<()> {
        let (doing, at) = match direction {
            Direction::Read => ("read", self.range.start + offset as u64),
            Direction::Write => ("write", self.range.start + offset as u64),
        };
        self.file
            .before_whole(direction, at, len)
            .map_err(|error| Error::io(doing, self.file.path(), error).at(at))
    }

    fn within(&self, doing: &'static str, offset: usize, len: usize) -> Result<()> {
        if offset.checked_add(len).is_some_and(|end| end <= self.len()) {
            return Ok(());
        }
        let what = format!("{len} bytes at {offset} extend past the mapping of {} bytes", self.len());
        Err(Error::new(ErrorKind::Invalid, doing, self.file.path(), what).at(self.range.start))
    }

    fn check(&self, doing: &'static str) -> Result<()> {
        let gone = self.map.as_ref().is_some_and(|map| !map.check());
        let what = if gone {
            "a mapped page vanished: the file was truncated, could not be read, or could not be allocated"
        } else if self.file.kind() == FileKind::Regular && self.file.stamp()?.len < self.range.end {
            "the file was truncated"
        } else {
            return Ok(());
        };
        Err(Error::new(ErrorKind::Changed, doing, self.file.path(), what)
            .at(self.range.start)
            .advise("map it again"))
    }
}

/// A range of a file mapped into memory for reading and writing.
///
/// ```
/// # let directory = tempfile::tempdir()?;
/// let path = directory.path().join("file");
/// let file = fullbore_io::file::File::create_new(&path)?;
/// file.set_len(10)?;
/// let mut mmap = file.map_writable(2..)?;
/// mmap.write_all_at(b"bytes", 1)?;
/// mmap.flush()?;
/// assert_eq!(std::fs::read(&path)?, b"\0\0\0bytes\0\0");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
pub struct MmapMut {
    mmap: Mmap,
}

impl MmapMut {
    /// Copies all of `data` to `offset` of the mapping. Other readers see it at once; the device receives it at some
    /// later time, or with [`flush`](Self::flush).
    ///
    /// # Errors
    /// [`ErrorKind::Changed`] if the file was truncated, or a hole could not be allocated; a part may have been written
    /// then. [`ErrorKind::Invalid`] if `data` extends past the mapping.
    pub fn write_all_at(&mut self, data: &[u8], offset: usize) -> Result<()> {
        self.mmap.within("write", offset, data.len())?;
        self.before(offset, data.len())?;
        if let Some(map) = &mut self.mmap.map {
            map.copy_in(self.mmap.place + offset, data);
        }
        self.mmap.check("write")
    }

    /// Checks before the bytes are changed: on tmpfs, bytes written past the end in the last page appear when the file grows again.
    fn before(&self, offset: usize, len: usize) -> Result<()> {
        self.mmap.preflight(Direction::Write, offset, len)?;
        self.mmap.check("write")
    }

    /// As [`Mmap::read_exact_at`].
    pub fn read_exact_at(&self, data: &mut [u8], offset: usize) -> Result<()> {
        self.mmap.read_exact_at(data, offset)
    }

    /// Calls `change` on the bytes in place and returns its result.
    ///
    /// # Safety
    /// No other thread, no other process and no other mapping reads or changes the bytes during the call.
    ///
    /// # Errors
    /// As [`Mmap::with`] and [`write_all_at`](Self::write_all_at).
    #[expect(unsafe_code, reason = "a duty of the caller; the body is safe")]
    pub unsafe fn with<T>(&mut self, change: impl FnOnce(&mut [u8]) -> T) -> Result<T> {
        self.before(0, self.mmap.len())?;
        let place = self.mmap.place;
        let bytes = self.mmap.map.as_mut().map_or(&mut [][..], |map| &mut map.bytes_mut()[place..]);
        let made = change(bytes);
        self.mmap.check("write")?;
        Ok(made)
    }

    /// Waits until the written bytes are on the device (`msync`), or fails with [`ErrorKind::Changed`] if a page vanished. A
    /// failure poisons the file, as one of [`File::sync`] does.
    pub fn flush(&mut self) -> Result<()> {
        if let Mmap { file, range, map: Some(map), .. } = &self.mmap {
            file.in_turn(|| {
                let len = range.end - range.start;
                file.judge(Call::SyncRange { offset: range.start, len })?;
                sys::uninterrupted(|| map.flush())?;
                if !sys::VIEWS_FLUSH_DEVICES {
                    sys::uninterrupted(|| sys::sync_all(file))?;
                }
                Ok(())
            })
            .map_err(|error| Error::io("sync", file.path(), error).at(range.start))?;
        }
        self.mmap.check("sync")
    }

    /// Returns the length in bytes.
    pub fn len(&self) -> usize {
        self.mmap.len()
    }

    /// True if the range is empty.
    pub fn is_empty(&self) -> bool {
        self.mmap.is_empty()
    }
}

impl File {
    /// Maps a range of the file, in bytes, for reading. The range may start at any byte and must end within the file; one without
    /// an end, such as `..`, ends at the present length. On Unix, the first mapping installs a SIGBUS handler; faults in other
    /// mappings go to the previous handler.
    ///
    /// # Errors
    /// [`ErrorKind::Invalid`] if the range ends before it starts or past the end of the file, [`ErrorKind::Unsupported`] for
    /// files that cannot be mapped, and the error of the system call. At most 2048 mappings can exist at a time.
    pub fn map(&self, range: impl RangeBounds<u64>) -> Result<Mmap> {
        Mmap::new(self, ends(&range), false)
    }

    /// Maps a range of the file, in bytes, for reading and writing. A mapping cannot extend its file.
    ///
    /// # Errors
    /// As [`map`](Self::map), and if the file is not open for reading and writing.
    pub fn map_writable(&self, range: impl RangeBounds<u64>) -> Result<MmapMut> {
        Ok(MmapMut { mmap: Mmap::new(self, ends(&range), true)? })
    }
}
