//! Sources that are read sequentially (pipes, files made by the kernel), with options that the transfer loop does not have: blocks
//! of zeros become holes, and copies are verified.

use xxhash_rust::xxh3::xxh3_128;

use super::content::{Content, REQUEST, write_without_zeros};
use super::hashed::{not_kept, on_device, past_cache, read_back, under};
use super::journal::STRIPE;
use super::options::CopyStats;
use crate::pattern::stream_reader::StreamReader;
use fullbore_io::buf::{Buf, Pool};
use fullbore_io::error::{Error, Result};
use fullbore_io::file::{CachePolicy, Output};
use fullbore_io::sys;

impl Content<'_> {
    /// Copies to an empty output, without blocks of zeros.
    pub(super) fn sequential_without_zeros(&self, output: &Output, stats: &mut CopyStats) -> Result<()> {
        // On a file system without holes they are blocks of zeros.
        let _ = sys::make_sparse(output.file());
        let mut written = 0;
        let len = self.in_order(&mut self.buffer(REQUEST)?, REQUEST, |piece, at| {
            written += write_without_zeros(output.file(), piece, at)?;
            Ok(())
        })?;
        (stats.copied, stats.holes) = (written, len - written);
        Ok(())
    }

    /// Copies in stripes that bypass the page cache, then reads each back and compares its hash, because the source cannot be
    /// read again.
    pub(super) fn sequential_verified(&self, output: &Output, stats: &mut CopyStats) -> Result<()> {
        let write_cache = self.plan(output, None, true)?.strategy.write_cache;
        let output = output.file();
        let past_cache = past_cache(output);
        let written = match &past_cache {
            Some(file) => file.clone(),
            None => under(output, write_cache)?,
        };
        let mut buf = self.buffer(STRIPE)?;
        let mut hashes = Vec::new();
        let len = self.in_order(&mut buf, STRIPE, |stripe, at| {
            hashes.push(xxh3_128(stripe));
            written.write_all_at(stripe, at)
        })?;
        if write_cache == CachePolicy::Direct {
            output.write_back()?;
        }
        let device = on_device(output, past_cache)?;
        for (at, hash) in (0..).step_by(STRIPE as usize).zip(hashes) {
            self.progress.check()?;
            if !read_back(&device, &(at..len.min(at + STRIPE)), &mut buf)? || xxh3_128(buf.data()) != hash {
                return Err(not_kept(output, at));
            }
        }
        (stats.copied, stats.verified) = (len, len);
        Ok(())
    }

    fn buffer(&self, size: u64) -> Result<Buf> {
        let pool = Pool::new(1, size as usize).map(|mut pool| pool.take());
        let buf = pool.map_err(|error| Error::io("copy", self.input.path(), error))?;
        buf.ok_or_else(|| Error::io("copy", self.input.path(), std::io::ErrorKind::OutOfMemory.into()))
    }

    /// Passes the input to `each`, in pieces of `size` bytes; returns its length.
    fn in_order(
        &self,
        buf: &mut Buf,
        size: u64,
        mut each: impl FnMut(&[u8], u64) -> Result<()>,
    ) -> Result<u64> {
        let reader = StreamReader::new(self.input.clone(), true);
        let mut len = 0;
        while let Some(at) = reader.next(0, buf, size as usize, 1, &|| !self.progress.is_cancelled())? {
            each(buf.data(), at)?;
            let count = buf.data().len() as u64;
            self.progress.add(count);
            len += count;
        }
        self.progress.check()?;
        Ok(len)
    }
}
