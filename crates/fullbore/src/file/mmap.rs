//! Mappings: a range of the file in memory, which answers with an error where a bare mapping would kill the process.
//!
//! A mapped page can vanish, because the file was cut short or its device failed. Every access here asks
//! afterwards whether that happened, and whether the file still reaches as far as the mapping: the last page
//! of a file that was cut short within it stays and reads as zeros.

use std::ops::Range;
use std::os::fd::AsFd;

use super::{File, FileKind};
use crate::buf::Direction;
use crate::error::{Error, Kind, Result};
use crate::sys::map::Map;

/// A range of a file mapped into memory for reading.
///
/// ```
/// # let directory = tempfile::tempdir()?;
/// let file = fullbore::file::File::create_new(directory.path().join("file"))?;
/// file.write_all_at(b"some bytes", 0)?;
/// let mmap = file.map(5..10)?;
/// let mut copy = [0; 5];
/// mmap.read_at(&mut copy, 0)?;
/// assert_eq!(&copy, b"bytes");
/// assert_eq!(mmap.with(|bytes| bytes.iter().filter(|&&byte| byte == b'e').count())?, 1);
///
/// file.set_len(0)?;
/// assert!(mmap.read_at(&mut copy, 0).is_err());
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
pub struct Mmap {
    file: File,
    /// Of the file, in bytes.
    range: Range<u64>,
    /// From the page on that the range starts in; none for an empty range.
    map: Option<Map>,
    /// Where the range starts in the map.
    place: usize,
}

impl Mmap {
    fn new(file: &File, range: Range<u64>, writable: bool) -> Result<Self> {
        let refuse = |kind, what: String| Error::new(kind, "map", file.path(), what).at(range.start);
        if range.end < range.start {
            return Err(refuse(Kind::Invalid, format!("the range ends before it starts, at {}", range.end)));
        }
        match file.kind() {
            FileKind::Regular | FileKind::BlockDevice => {}
            kind => return Err(refuse(Kind::Unsupported, format!("a {kind} cannot be mapped"))),
        }
        let len = file.stamp()?.len;
        if range.end > len {
            let what = format!("the file has {len} bytes and the window ends at {}", range.end);
            return Err(refuse(Kind::Invalid, what));
        }
        let start = range.start - range.start % rustix::param::page_size() as u64;
        let place = (range.start - start) as usize;
        let map = if range.is_empty() {
            None
        } else {
            let length = usize::try_from(range.end - start)
                .map_err(|_| refuse(Kind::Unsupported, "larger than the address space".to_owned()))?;
            let map = Map::new(file.as_fd(), start, length, writable).map_err(|error| {
                match error.raw_os_error().map(rustix::io::Errno::from_raw_os_error) {
                    Some(rustix::io::Errno::NODEV) => {
                        refuse(Kind::Unsupported, "its file system maps no files".to_owned())
                    }
                    _ => Error::io("map", file.path(), error).at(range.start),
                }
            })?;
            Some(map)
        };
        Ok(Self { file: file.clone(), range, map, place })
    }

    /// How many bytes it has.
    ///
    /// ```
    /// # let directory = tempfile::tempdir()?;
    /// let file = fullbore::file::File::create_new(directory.path().join("file"))?;
    /// file.set_len(10)?;
    /// assert_eq!(file.map(2..9)?.len(), 7);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn len(&self) -> usize {
        // It is mapped, so it fits in memory.
        (self.range.end - self.range.start) as usize
    }

    /// Whether it has none.
    ///
    /// ```
    /// # let directory = tempfile::tempdir()?;
    /// let file = fullbore::file::File::create_new(directory.path().join("file"))?;
    /// assert!(file.map(0..0)?.is_empty());
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn is_empty(&self) -> bool {
        self.range.is_empty()
    }

    /// Copies the bytes from `offset` of the mapping on into `data`, all of it. What was copied counts only if
    /// this succeeds: after an error `data` holds anything. Asking for the file's length afterwards costs one
    /// system call; [`with`](Self::with) costs it once for any number of bytes.
    ///
    /// ```
    /// # let directory = tempfile::tempdir()?;
    /// let file = fullbore::file::File::create_new(directory.path().join("file"))?;
    /// file.write_all_at(b"some bytes", 0)?;
    /// let mut copy = [0; 4];
    /// file.map(0..10)?.read_at(&mut copy, 0)?;
    /// assert_eq!(&copy, b"some");
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// [`Kind::Changed`] if the file was cut short or could not be read, [`Kind::Invalid`] if `data` reaches past
    /// the mapping.
    pub fn read_at(&self, data: &mut [u8], offset: usize) -> Result<()> {
        self.within("read", offset, data.len())?;
        self.preflight(Direction::Read, offset, data.len())?;
        if let Some(map) = &self.map {
            map.copy_out(self.place + offset, data);
        }
        self.check("read")
    }

    /// What `look` makes of the bytes in place, without a copy. Another process may change them while they are
    /// looked at, so that a byte looked at twice may be two; `look` must be right for any bytes.
    ///
    /// ```
    /// # let directory = tempfile::tempdir()?;
    /// let file = fullbore::file::File::create_new(directory.path().join("file"))?;
    /// file.write_all_at(b"some bytes", 0)?;
    /// assert!(file.map(0..10)?.with(|bytes| bytes.ends_with(b"bytes"))?);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// [`Kind::Changed`] if the file was cut short or could not be read meanwhile; then what `look` made of it is
    /// dropped.
    pub fn with<T>(&self, look: impl FnOnce(&[u8]) -> T) -> Result<T> {
        self.preflight(Direction::Read, 0, self.len())?;
        let bytes = self.map.as_ref().map_or(&[][..], |map| &map.bytes()[self.place..]);
        let made = look(bytes);
        self.check("read")?;
        Ok(made)
    }

    /// Whether the file lets this part of the mapping be read or changed.
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
        let what = format!("{len} bytes at {offset} do not lie in a window of {}", self.len());
        Err(Error::new(Kind::Invalid, doing, self.file.path(), what).at(self.range.start))
    }

    /// Whether all bytes so far were the file's.
    fn check(&self, doing: &'static str) -> Result<()> {
        let gone = self.map.as_ref().is_some_and(|map| !map.check());
        let what = if gone {
            "a mapped page is gone: the file was cut short, could not be read, or has no room"
        } else if self.file.kind() == FileKind::Regular && self.file.stamp()?.len < self.range.end {
            "the file was cut short"
        } else {
            return Ok(());
        };
        Err(Error::new(Kind::Changed, doing, self.file.path(), what)
            .at(self.range.start)
            .advise("map it again"))
    }
}

/// A range of a file mapped into memory for reading and writing.
///
/// ```
/// # let directory = tempfile::tempdir()?;
/// let path = directory.path().join("file");
/// let file = fullbore::file::File::create_new(&path)?;
/// file.set_len(10)?;
/// let mut mmap = file.map_writable(2..10)?;
/// mmap.write_at(b"bytes", 1)?;
/// mmap.flush()?;
/// assert_eq!(std::fs::read(&path)?, b"\0\0\0bytes\0\0");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
pub struct MmapMut {
    mmap: Mmap,
}

impl MmapMut {
    /// Copies all of `data` to `offset` of the mapping. Others see it at once; the device gets it by and by or
    /// with [`flush`](Self::flush).
    ///
    /// ```
    /// # let directory = tempfile::tempdir()?;
    /// let file = fullbore::file::File::create_new(directory.path().join("file"))?;
    /// file.set_len(10)?;
    /// let mut mmap = file.map_writable(0..10)?;
    /// assert!(mmap.write_at(b"too far", 5).is_err());
    /// mmap.write_at(b"bytes", 5)?;
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// [`Kind::Changed`] if the file was cut short or there was no room for a page that was a hole; then a part
    /// may be written. [`Kind::Invalid`] if `data` reaches past the mapping.
    pub fn write_at(&mut self, data: &[u8], offset: usize) -> Result<()> {
        self.mmap.within("write", offset, data.len())?;
        self.before(offset, data.len())?;
        if let Some(map) = &mut self.mmap.map {
            map.copy_in(self.mmap.place + offset, data);
        }
        self.mmap.check("write")
    }

    /// Asked before the bytes are changed. What is written behind the end of a file, in its last page, shows on tmpfs
    /// when the file grows again: so whether it was cut short is not only asked afterwards.
    fn before(&self, offset: usize, len: usize) -> Result<()> {
        self.mmap.preflight(Direction::Write, offset, len)?;
        self.mmap.check("write")
    }

    /// As [`Mmap::read_at`].
    ///
    /// ```
    /// # let directory = tempfile::tempdir()?;
    /// let file = fullbore::file::File::create_new(directory.path().join("file"))?;
    /// file.set_len(4)?;
    /// let mut mmap = file.map_writable(0..4)?;
    /// mmap.write_at(b"byte", 0)?;
    /// let mut copy = [0; 4];
    /// mmap.read_at(&mut copy, 0)?;
    /// assert_eq!(&copy, b"byte");
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// As [`Mmap::read_at`].
    pub fn read_at(&self, data: &mut [u8], offset: usize) -> Result<()> {
        self.mmap.read_at(data, offset)
    }

    /// What `change` makes of the bytes in place, which it may change; as [`Mmap::with`].
    ///
    /// ```
    /// # let directory = tempfile::tempdir()?;
    /// let path = directory.path().join("file");
    /// let file = fullbore::file::File::create_new(&path)?;
    /// file.write_all_at(b"bytes", 0)?;
    /// file.map_writable(0..5)?.with(|bytes| bytes.make_ascii_uppercase())?;
    /// assert_eq!(std::fs::read(&path)?, b"BYTES");
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// As [`write_at`](Self::write_at).
    pub fn with<T>(&mut self, change: impl FnOnce(&mut [u8]) -> T) -> Result<T> {
        self.before(0, self.mmap.len())?;
        let place = self.mmap.place;
        let bytes = self.mmap.map.as_mut().map_or(&mut [][..], |map| &mut map.bytes_mut()[place..]);
        let made = change(bytes);
        self.mmap.check("write")?;
        Ok(made)
    }

    /// Waits until what was written is on the device (`msync`). A failure poisons the file, as that of
    /// [`File::sync`] does.
    ///
    /// ```
    /// # let directory = tempfile::tempdir()?;
    /// let file = fullbore::file::File::create_new(directory.path().join("file"))?;
    /// file.set_len(4)?;
    /// let mut mmap = file.map_writable(0..4)?;
    /// mmap.write_at(b"byte", 0)?;
    /// mmap.flush()?;
    /// let mut bytes = [0; 4];
    /// file.read_exact_at(&mut bytes, 0)?;
    /// assert_eq!(&bytes, b"byte");
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// The system's, and [`Kind::Changed`] if a page was gone.
    pub fn flush(&mut self) -> Result<()> {
        if let Mmap { file, range, map: Some(map), .. } = &self.mmap {
            file.in_turn(|| {
                file.before_sync_range(range)?;
                map.flush()
            })
            .map_err(|error| Error::io("sync", file.path(), error).at(range.start))?;
        }
        self.mmap.check("sync")
    }

    /// How many bytes it has.
    ///
    /// ```
    /// # let directory = tempfile::tempdir()?;
    /// let file = fullbore::file::File::create_new(directory.path().join("file"))?;
    /// file.set_len(4)?;
    /// assert_eq!(file.map_writable(1..4)?.len(), 3);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn len(&self) -> usize {
        self.mmap.len()
    }

    /// Whether it has none.
    ///
    /// ```
    /// # let directory = tempfile::tempdir()?;
    /// let file = fullbore::file::File::create_new(directory.path().join("file"))?;
    /// assert!(file.map_writable(0..0)?.is_empty());
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn is_empty(&self) -> bool {
        self.mmap.is_empty()
    }
}

impl File {
    /// Maps a range of the file, in bytes, for reading. It starts anywhere and ends within the file.
    ///
    /// ```
    /// # let directory = tempfile::tempdir()?;
    /// let file = fullbore::file::File::create_new(directory.path().join("file"))?;
    /// file.write_all_at(b"some bytes", 0)?;
    /// assert_eq!(file.map(0..10)?.len(), 10);
    /// assert!(file.map(0..11).is_err());
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// [`Kind::Invalid`] if the range is none or reaches past the end, [`Kind::Unsupported`] for what cannot be
    /// mapped, and the system's errors; 2048 windows can be there at a time.
    pub fn map(&self, range: Range<u64>) -> Result<Mmap> {
        Mmap::new(self, range, false)
    }

    /// Maps a range of the file, in bytes, for reading and writing. A mapping cannot grow its file.
    ///
    /// ```
    /// # let directory = tempfile::tempdir()?;
    /// let file = fullbore::file::File::create_new(directory.path().join("file"))?;
    /// file.set_len(4)?;
    /// file.map_writable(0..4)?.write_at(b"byte", 0)?;
    /// assert!(file.map_writable(0..5).is_err());
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// As [`map`](Self::map), and if the file is not open for writing too.
    pub fn map_writable(&self, range: Range<u64>) -> Result<MmapMut> {
        Ok(MmapMut { mmap: Mmap::new(self, range, true)? })
    }
}
