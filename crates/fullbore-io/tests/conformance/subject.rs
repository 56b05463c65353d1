//! The calls under test, and the interfaces that implement them.

use std::io::{IoSlice, IoSliceMut};
use std::path::Path;

use fullbore_io::asynchronous::{AsyncFile, Backend, Driver, DriverConfig};
use fullbore_io::error::Result;
use fullbore_io::file::{CachePolicy, File};
use futures_lite::future::block_on;

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
pub(crate) enum Interface {
    Synchronous(CachePolicy),
    Asynchronous(Driver),
}

impl Interface {
    pub(crate) fn name(&self) -> String {
        match self {
            Self::Synchronous(cache) => format!("synchronous cache={cache}"),
            Self::Asynchronous(driver) => format!("asynchronous {:?}", driver.backend()),
        }
    }

    fn over(&self, how: impl FnOnce() -> Result<File> + Send + 'static) -> Result<Box<dyn Subject>> {
        Ok(match self {
            Self::Synchronous(cache) => Box::new(how()?.with_cache(*cache).0),
            Self::Asynchronous(driver) => Box::new(block_on(AsyncFile::open_with(driver, how))?),
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
        let mut interfaces = [CachePolicy::Keep, CachePolicy::DontCache, CachePolicy::Direct]
            .map(Interface::Synchronous)
            .to_vec();
        let driver = |backend| Driver::new(DriverConfig { backend, in_flight: 8, threads: 4 });
        interfaces.push(Interface::Asynchronous(driver(Backend::Threads).unwrap()));
        match driver(Backend::Auto).unwrap() {
            auto if auto.backend() == Backend::Threads => {
                println!("skipped: {:?}", driver(Backend::Uring).err());
            }
            auto => interfaces.push(Interface::Asynchronous(auto)),
        }
        for (index, interface) in interfaces.iter().enumerate() {
            let directory = directory.join(index.to_string());
            std::fs::create_dir(&directory).unwrap();
            case(&directory, interface);
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

/// Copies the bytes read from the returned buffer to `data`.
fn returned(result: Result<usize>, buffer: &[u8], data: &mut [u8]) -> Result<usize> {
    assert_eq!(buffer.len(), data.len(), "the buffer is returned with its length");
    let count = result?;
    data[..count].copy_from_slice(&buffer[..count]);
    Ok(count)
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
    fn read_at(&self, data: &mut [u8], offset: u64) -> Result<usize> {
        let (result, buffer) = block_on(Self::read_at(self, Box::<[u8]>::from(&*data), offset));
        returned(result, &buffer, data)
    }

    fn read_exact_at(&self, data: &mut [u8], offset: u64) -> Result<()> {
        let (result, buffer) = block_on(Self::read_exact_at(self, Box::<[u8]>::from(&*data), offset));
        let count = returned(result, &buffer, data)?;
        assert_eq!(count, data.len());
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
