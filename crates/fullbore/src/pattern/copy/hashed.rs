//! Copying with a hash of each stripe: what verifying and resuming stand on.
//!
//! A worker copies a stripe and hashes it on the way. To verify, it writes the stripe past the page cache and reads it back
//! past it: what comes is what the device has. While some workers wait for the device the others copy, so all of it is one
//! pass. Where a file cannot be used past the cache, everything is synced and dropped from it in the end, and read back
//! then.

use std::ops::Range;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};

use super::journal::{Hash, Journal};
use super::segments::Segments;
use crate::buf::{Buf, Pool};
use crate::error::{Error, Kind, Result};
use crate::file::{Answer, Cache, File, Sync};
use crate::pattern::Monitor;

/// What is hashed and noted as one, in bytes.
pub(super) const STRIPE: u64 = 4 << 20;

/// What is read and hashed at a time: it is still in the processor's cache when it is hashed, in bytes.
const PIECE: usize = 256 << 10;

/// A copy with hashes.
pub(super) struct Hashed<'a> {
    pub(super) input: &'a File,
    pub(super) output: &'a File,
    pub(super) len: u64,
    pub(super) sparse: bool,
    pub(super) verify: bool,
    pub(super) journal: Option<&'a Journal>,
    pub(super) workers: usize,
    pub(super) monitor: &'a Monitor,
}

/// What was done, in bytes.
#[derive(Debug, Default)]
pub(super) struct Done {
    pub(super) copied: AtomicU64,
    pub(super) resumed: AtomicU64,
    pub(super) verified: AtomicU64,
}

impl Hashed<'_> {
    /// Copies all data to an output that has its length already.
    pub(super) fn run(&self) -> Result<Done> {
        let done = Done::default();
        let segments = Mutex::new(Segments::new(self.input, self.len, self.sparse));
        let (failed, first) = (AtomicBool::new(false), Mutex::new(None));
        // What is to be read back in the end.
        let later: Mutex<Vec<(Range<u64>, Hash)>> = Mutex::default();
        let past_cache = match self.verify.then(|| self.output.with_cache(Cache::Direct)) {
            Some((file, Answer::Honoured)) => Some(file),
            _ => None,
        };
        let work = || -> Result<()> {
            let name = |error| Error::io("copy", self.input.path(), error);
            let mut pool = Pool::new(1, STRIPE as usize).map_err(name)?;
            let Some(mut buf) = pool.take() else { return Ok(()) };
            while !failed.load(Ordering::Relaxed) && !self.monitor.stopped() {
                let next = segments.lock().unwrap_or_else(PoisonError::into_inner).next(STRIPE)?;
                let Some(range) = next else { break };
                let output = past_cache.as_ref().unwrap_or(self.output);
                let hash = self.stripe(output, &range, &mut buf, &done)?;
                match (&past_cache, self.verify) {
                    (_, false) => {}
                    (Some(past_cache), true) => self.compare(past_cache, &range, &hash, &mut buf, &done)?,
                    (None, true) => {
                        later.lock().unwrap_or_else(PoisonError::into_inner).push((range, hash));
                    }
                }
            }
            Ok(())
        };
        let one = || {
            if let Err(error) = work() {
                first.lock().unwrap_or_else(PoisonError::into_inner).get_or_insert(error);
                failed.store(true, Ordering::Relaxed);
            }
        };
        std::thread::scope(|scope| {
            for _ in 1..self.workers.min(self.len.div_ceil(STRIPE) as usize) {
                // Where no thread is to be had the others do its share.
                if std::thread::Builder::new().spawn_scoped(scope, one).is_err() {
                    break;
                }
            }
            one();
        });
        if let Some(error) = first.into_inner().unwrap_or_else(PoisonError::into_inner) {
            return Err(error);
        }
        if self.monitor.stopped() {
            return Err(Error::new(Kind::Interrupted, "finish", self.output.path(), "it was told to stop"));
        }
        let later = later.into_inner().unwrap_or_else(PoisonError::into_inner);
        if !later.is_empty() {
            self.output.sync(Sync::Data)?;
            self.output.drop_cache()?;
            let name = |error| Error::io("verify", self.output.path(), error);
            let mut pool = Pool::new(1, STRIPE as usize).map_err(name)?;
            if let Some(mut buf) = pool.take() {
                for (range, hash) in later {
                    self.compare(self.output, &range, &hash, &mut buf, &done)?;
                }
            }
        }
        Ok(done)
    }

    /// Copies a stripe, unless the output has it already, and returns its hash.
    fn stripe(&self, output: &File, range: &Range<u64>, buf: &mut Buf, done: &Done) -> Result<Hash> {
        let len = range.end - range.start;
        if let Some(known) = self.journal.and_then(|journal| journal.known(range.start, len))
            && hash(self.output, range, buf)?.as_ref() == Some(known)
        {
            done.resumed.fetch_add(len, Ordering::Relaxed);
            self.monitor.add(len);
            return Ok(*known);
        }
        let mut hasher = blake3::Hasher::new();
        buf.place(range.start, len as usize);
        let mut rest = buf.data_mut();
        while !rest.is_empty() {
            let at = range.end - rest.len() as u64;
            let piece = rest.len().min(PIECE);
            let read = self.input.read_at(&mut rest[..piece], at)?;
            if read == 0 {
                let what = "the file became shorter while it was read";
                return Err(Error::new(Kind::Changed, "read", self.input.path(), what).at(at));
            }
            let (done, left) = rest.split_at_mut(read);
            hasher.update(done);
            rest = left;
        }
        output.write_all_at(buf.data(), range.start)?;
        self.monitor.add(len);
        let hash = *hasher.finalize().as_bytes();
        if let Some(journal) = self.journal {
            journal.note(range.start, len, &hash)?;
        }
        done.copied.fetch_add(len, Ordering::Relaxed);
        Ok(hash)
    }

    /// Reads a stripe back and compares.
    fn compare(
        &self,
        file: &File,
        range: &Range<u64>,
        wanted: &Hash,
        buf: &mut Buf,
        done: &Done,
    ) -> Result<()> {
        if hash(file, range, buf)?.as_ref() != Some(wanted) {
            let what = "what reads back from the device is not what was written";
            return Err(Error::new(Kind::Io, "verify", self.output.path(), what)
                .at(range.start)
                .advise("the copy was thrown away; check the device"));
        }
        done.verified.fetch_add(range.end - range.start, Ordering::Relaxed);
        Ok(())
    }
}

/// The hash of what stands in a range of at most a stripe; nothing if the file ends before.
fn hash(file: &File, range: &Range<u64>, buf: &mut Buf) -> Result<Option<Hash>> {
    let len = range.end - range.start;
    buf.place(range.start, len as usize);
    match file.read_exact_at(buf.data_mut(), range.start) {
        Ok(()) => Ok(Some(*blake3::hash(buf.data()).as_bytes())),
        Err(error) if error.kind() == Kind::Changed => Ok(None),
        Err(error) => Err(error),
    }
}
