//! The calls under test, and the interfaces that implement them.

use std::io::{IoSlice, IoSliceMut};
use std::path::Path;

use fullbore_io::asynchronous::{AsyncFile, Driver};
use fullbore_io::error::Result;
use fullbore_io::file::{CachePolicy, File};
use futures_lite::future::block_on;

use crate::drivers::drivers;
use fullbore_testkit::ground::everywhere;

/// An open file, accessed through one interface.
pub(crate) trait Subject: Sync {
    /// Reads once, possibly short; returns the number of bytes.
    fn read_at(&self, data: &mut [u8], offset: u64) -> Result<usize>;
    fn read_exact_at(&self, data: &mut [u8], offset: u64) -> Result<()>;
    /// Writes once, possibly short; returns the number of bytes.
    fn write_at(&self, data: &[u8], offset: u64) -> Result<usize>;
    fn write_all_at(&self, data: &[u8], offset: u64) -> Result<()>;
    fn read_exact_vectored_at(&self, parts: &mut [Vec<u8>], offset: u64) -> Result<()>;
    /// Makes one scattered read, possibly short.
    fn read_vectored_at(&self, parts: &mut [Vec<u8>], offset: u64) -> Result<usize>;
    fn write_all_vectored_at(&self, parts: &[Vec<u8>], offset: u64) -> Result<()>;
    fn sync_data(&self) -> Result<()>;
    fn sync_all(&self) -> Result<()>;
    fn len(&self) -> Result<u64>;
    /// Closes one clone of this handle and returns another.
    fn close_one(&self) -> Result<Box<dyn Subject>>;
}

#[derive(Clone)]
pub(crate) struct Interface {
    cache: CachePolicy,
    /// The driver of futures; `None` if calls are synchronous.
    driver: Option<Driver>,
}

impl Interface {
    pub(crate) fn name(&self) -> String {
        let calls = self.driver.as_ref().map(|driver| format!("asynchronous {:?}", driver.backend()));
        format!("{} cache={}", calls.as_deref().unwrap_or("synchronous"), self.cache)
    }

    fn over(&self, how: impl FnOnce() -> Result<File> + Send + 'static) -> Result<Box<dyn Subject>> {
        let cache = self.cache;
        let how = move || how().map(|file| file.with_cache(cache).0);
        Ok(match &self.driver {
            None => Box::new(how()?),
            Some(driver) => Box::new(block_on(AsyncFile::open_with(driver, how))?),
        })
    }

    pub(crate) fn open(&self, path: &Path) -> Result<Box<dyn Subject>> {
        let path = path.to_owned();
        self.over(move || File::open(path))
    }

    pub(crate) fn open_write(&self, path: &Path) -> Result<Box<dyn Subject>> {
        let path = path.to_owned();
        self.over(move || File::open_write(path))
    }

    pub(crate) fn take(&self, file: std::fs::File, path: &Path) -> Result<Box<dyn Subject>> {
        let path = path.to_owned();
        self.over(move || File::from_fd(file.into(), path))
    }
}

/// Runs a case with every interface on every available file system.
pub(crate) fn each(case: impl Fn(&Path, &Interface) + Sync) {
    everywhere(|directory| {
        let policies = [CachePolicy::Keep, CachePolicy::DontCache, CachePolicy::Direct];
        let drivers = std::iter::once(None).chain(drivers(8).into_iter().map(Some));
        let interfaces =
            drivers.flat_map(|driver| policies.map(|cache| Interface { cache, driver: driver.clone() }));
        for (index, interface) in interfaces.enumerate() {
            let directory = directory.join(index.to_string());
            std::fs::create_dir(&directory).unwrap();
            case(&directory, &interface);
        }
    });
}

impl Subject for File {
    fn read_at(&self, data: &mut [u8], offset: u64) -> Result<usize> {
        Self::read_at(self, data, offset)
    }

    fn read_exact_at(&self, data: &mut [u8], offset: u64) -> Result<()> {
        Self::read_exact_at(self, data, offset)
    }

    fn write_at(&self, data: &[u8], offset: u64) -> Result<usize> {
        Self::write_at(self, data, offset)
    }

    fn write_all_at(&self, data: &[u8], offset: u64) -> Result<()> {
        Self::write_all_at(self, data, offset)
    }

    fn read_exact_vectored_at(&self, parts: &mut [Vec<u8>], offset: u64) -> Result<()> {
        let mut parts: Vec<_> = parts.iter_mut().map(|part| IoSliceMut::new(part)).collect();
        Self::read_exact_vectored_at(self, &mut parts, offset)
    }

    fn read_vectored_at(&self, parts: &mut [Vec<u8>], offset: u64) -> Result<usize> {
        let mut parts: Vec<_> = parts.iter_mut().map(|part| IoSliceMut::new(part)).collect();
        Self::read_vectored_at(self, &mut parts, offset)
    }

    fn write_all_vectored_at(&self, parts: &[Vec<u8>], offset: u64) -> Result<()> {
        let parts: Vec<_> = parts.iter().map(|part| IoSlice::new(part)).collect();
        Self::write_all_vectored_at(self, &parts, offset)
    }

    fn sync_data(&self) -> Result<()> {
        Self::sync_data(self)
    }

    fn sync_all(&self) -> Result<()> {
        Self::sync_all(self)
    }

    fn len(&self) -> Result<u64> {
        Ok(self.stamp()?.len)
    }

    fn close_one(&self) -> Result<Box<dyn Subject>> {
        self.clone().close()?;
        Ok(Box::new(self.clone()))
    }
}

fn boxes(parts: &[Vec<u8>]) -> Vec<Box<[u8]>> {
    parts.iter().map(|part| part.clone().into_boxed_slice()).collect()
}

fn unboxed(boxes: Vec<Box<[u8]>>, parts: &mut [Vec<u8>]) {
    assert_eq!(boxes.len(), parts.len());
    for (part, back) in parts.iter_mut().zip(boxes) {
        *part = back.into_vec();
    }
}

impl Subject for AsyncFile {
    /// Reads into uninitialised memory.
    fn read_at(&self, data: &mut [u8], offset: u64) -> Result<usize> {
        let (result, buffer) = block_on(Self::read_at(self, Vec::<u8>::with_capacity(data.len()), offset));
        let count = result?;
        assert_eq!(buffer.len(), count, "the buffer is returned with the bytes read");
        data[..count].copy_from_slice(&buffer);
        Ok(count)
    }

    fn read_exact_at(&self, data: &mut [u8], offset: u64) -> Result<()> {
        let (result, buffer) = block_on(Self::read_exact_at(self, Box::<[u8]>::from(&*data), offset));
        assert_eq!(buffer.len(), data.len(), "the buffer is returned with its length");
        assert_eq!(result?, data.len());
        data.copy_from_slice(&buffer);
        Ok(())
    }

    fn write_at(&self, data: &[u8], offset: u64) -> Result<usize> {
        let (result, buffer) = block_on(Self::write_at(self, data.to_vec(), offset));
        assert_eq!(buffer, data);
        result
    }

    fn write_all_at(&self, data: &[u8], offset: u64) -> Result<()> {
        let (result, buffer) = block_on(Self::write_all_at(self, data.to_vec(), offset));
        assert_eq!(buffer, data);
        assert_eq!(result?, data.len());
        Ok(())
    }

    fn read_exact_vectored_at(&self, parts: &mut [Vec<u8>], offset: u64) -> Result<()> {
        let (result, back) = block_on(Self::read_exact_at(self, boxes(parts), offset));
        unboxed(back, parts);
        result.map(drop)
    }

    fn read_vectored_at(&self, parts: &mut [Vec<u8>], offset: u64) -> Result<usize> {
        let (result, back) = block_on(Self::read_at(self, boxes(parts), offset));
        unboxed(back, parts);
        result
    }

    fn write_all_vectored_at(&self, parts: &[Vec<u8>], offset: u64) -> Result<()> {
        let (result, back) = block_on(Self::write_all_at(self, parts.to_vec(), offset));
        assert_eq!(back, parts);
        result.map(drop)
    }

    fn sync_data(&self) -> Result<()> {
        block_on(Self::sync_data(self))
    }

    fn sync_all(&self) -> Result<()> {
        block_on(Self::sync_all(self))
    }

    fn len(&self) -> Result<u64> {
        Ok(self.file().stamp()?.len)
    }

    fn close_one(&self) -> Result<Box<dyn Subject>> {
        block_on(self.clone().close())?;
        Ok(Box::new(self.clone()))
    }
}
