//! Copying stripe by stripe: what verifying and resuming stand on.
//!
//! To verify, a worker writes a stripe past the page cache and reads it back past it: what comes is what the device has, and is
//! compared with what was written. While some workers wait for the device the others copy, so all of it is one pass. Where a
//! file cannot be used past the cache, stripes are hashed on the way; everything is synced and dropped from the cache in the
//! end, and read back then. To resume, stripes are hashed and noted, too.
//!
//! A source whose pages were dirty can be changed through a mapping without a new time of modification. So a verified copy reads
//! the source a second time when all of it was copied: where each stripe has its hash still, no stripe changed between the
//! last read of the first pass and the first read of the second, and the copy is the source at that moment.
//!
//! Of a strategy a copy by stripes keeps the workers and the cache policies. A policy of `direct` is kept to the letter: a
//! device that refuses a write fails the copy, also where the write went through the cache (the end of the file).

use std::ops::Range;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};

use xxhash_rust::xxh3::xxh3_128;

use super::journal::{Hash, Journal};
use super::segments::Segments;
use crate::buf::{ALIGNMENT, Buf, Pool};
use crate::error::{Error, Kind, Result};
use crate::file::{Answer, Cache, File, Sync};
use crate::pattern::Monitor;
use crate::pattern::threads::FirstError;

/// What is hashed and noted as one, in bytes.
pub(super) const STRIPE: u64 = 4 << 20;

/// What is read and hashed at a time: it is still in the processor's cache when it is hashed, in bytes.
const PIECE: usize = 256 << 10;

/// A copy by stripes.
pub(super) struct Hashed<'a> {
    pub(super) input: &'a File,
    pub(super) output: &'a File,
    pub(super) len: u64,
    pub(super) sparse: bool,
    pub(super) verify: bool,
    pub(super) journal: Option<&'a Journal>,
    /// Cache policy of the input.
    pub(super) read_cache: Cache,
    /// Cache policy of the output; `verify` tries to pass the cache by whatever this says.
    pub(super) write_cache: Cache,
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
        // What is to be read back in the end, and what the source is to be compared with then.
        let later: Mutex<Vec<(Range<u64>, Hash)>> = Mutex::default();
        let seen: Mutex<Vec<(Range<u64>, u128)>> = Mutex::default();
        let past_cache = match self.verify.then(|| self.output.with_cache(Cache::Direct)) {
            Some((file, Answer::Honoured)) => Some(file),
            _ => None,
        };
        let input = self.input.with_cache(self.read_cache).0;
        let output = match &past_cache {
            Some(file) => file.clone(),
            None => under(self.output, self.write_cache)?,
        };
        self.on_threads(&|goes_on| {
            let name = |error| Error::io("copy", self.input.path(), error);
            let size = (self.len.min(STRIPE) as usize).next_multiple_of(ALIGNMENT);
            let mut pool = Pool::new(1 + usize::from(past_cache.is_some()), size).map_err(name)?;
            let Some(mut buf) = pool.take() else { return Ok(()) };
            // What is read back while the stripe is at hand, and from where.
            let mut back = past_cache.as_ref().zip(pool.take());
            while goes_on() {
                let next = segments.lock().unwrap_or_else(PoisonError::into_inner).next(STRIPE)?;
                let Some(range) = next else { break };
                let hashes = self.journal.is_some() || back.is_none();
                let stripe = self.stripe((&input, &output), &range, &mut buf, hashes, &done)?;
                if !self.verify {
                    continue;
                }
                let print = xxh3_128(buf.data());
                seen.lock().unwrap_or_else(PoisonError::into_inner).push((range.clone(), print));
                match (&mut back, stripe) {
                    (Some((device, back)), Stripe::Written(_)) => {
                        self.compare(device, &range, buf.data(), back, &done)?;
                    }
                    (Some((device, _)), Stripe::Known(hash)) => {
                        self.compare_hash(device, &range, &hash, &mut buf, &done)?;
                    }
                    (None, Stripe::Known(hash) | Stripe::Written(Some(hash))) => {
                        later.lock().unwrap_or_else(PoisonError::into_inner).push((range, hash));
                    }
                    // It was to be hashed, and nothing is verified by being passed over.
                    (None, Stripe::Written(None)) => self.judge(false, &range, &done)?,
                }
            }
            Ok(())
        })?;
        self.source_stayed(&input, seen.into_inner().unwrap_or_else(PoisonError::into_inner))?;
        if self.write_cache == Cache::Direct {
            self.output.write_back()?;
        }
        let later = later.into_inner().unwrap_or_else(PoisonError::into_inner);
        if !later.is_empty() {
            self.output.sync(Sync::Data)?;
            self.output.drop_cache()?;
            let name = |error| Error::io("verify", self.output.path(), error);
            let mut pool = Pool::new(1, STRIPE as usize).map_err(name)?;
            if let Some(mut buf) = pool.take() {
                for (range, hash) in later {
                    self.compare_hash(self.output, &range, &hash, &mut buf, &done)?;
                }
            }
        }
        Ok(done)
    }

    /// Runs `work` on as many threads as there are workers and stripes. It asks whether to go on: not when another failed.
    fn on_threads(&self, work: &(dyn Fn(&dyn Fn() -> bool) -> Result<()> + std::marker::Sync)) -> Result<()> {
        let (failed, first) = (AtomicBool::new(false), FirstError::default());
        let one = || {
            if let Err(error) = work(&|| !failed.load(Ordering::Relaxed) && !self.monitor.stopped()) {
                first.put(error);
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
        first.result()?;
        if self.monitor.stopped() {
            return Err(Error::new(Kind::Interrupted, "finish", self.output.path(), "it was told to stop"));
        }
        Ok(())
    }

    /// Reads the source again and compares its stripes, by their hashes, with those of the first reading, all of which is over.
    fn source_stayed(&self, input: &File, seen: Vec<(Range<u64>, u128)>) -> Result<()> {
        let stripes = Mutex::new(seen.into_iter());
        self.on_threads(&|goes_on| {
            let name = |error| Error::io("verify", self.input.path(), error);
            let size = (self.len.min(STRIPE) as usize).next_multiple_of(ALIGNMENT);
            let mut pool = Pool::new(1, size).map_err(name)?;
            let Some(mut buf) = pool.take() else { return Ok(()) };
            while goes_on() {
                let next = stripes.lock().unwrap_or_else(PoisonError::into_inner).next();
                let Some((range, wanted)) = next else { break };
                if !read_back(input, &range, &mut buf)? || xxh3_128(buf.data()) != wanted {
                    let what = "the file was modified while it was read";
                    return Err(Error::new(Kind::Changed, "trust", self.input.path(), what).at(range.start));
                }
            }
            Ok(())
        })
    }

    /// Copies a stripe unless the output has it already, with its hash, if that is wanted. It is in `buf` then.
    fn stripe(
        &self,
        (input, output): (&File, &File),
        range: &Range<u64>,
        buf: &mut Buf,
        hashes: bool,
        done: &Done,
    ) -> Result<Stripe> {
        let len = range.end - range.start;
        // What cannot be read is damaged: it is copied again.
        if let Some(known) = self.journal.and_then(|journal| journal.known(range.start, len))
            && hash(output, range, buf).ok().flatten().as_ref() == Some(known)
        {
            done.resumed.fetch_add(len, Ordering::Relaxed);
            self.monitor.add(len);
            return Ok(Stripe::Known(*known));
        }
        let mut hasher = hashes.then(blake3::Hasher::new);
        buf.place(range.start, len as usize);
        let mut rest = buf.data_mut();
        while !rest.is_empty() {
            let at = range.end - rest.len() as u64;
            // Past the cache nobody reads ahead.
            let most = if self.read_cache == Cache::Direct { rest.len() } else { PIECE };
            let piece = rest.len().min(most);
            let read = input.read_at(&mut rest[..piece], at)?;
            if read == 0 {
                let what = "the file became shorter while it was read";
                return Err(Error::new(Kind::Changed, "read", self.input.path(), what).at(at));
            }
            let (done, left) = rest.split_at_mut(read);
            if let Some(hasher) = &mut hasher {
                hasher.update(done);
            }
            rest = left;
        }
        output.write_all_at(buf.data(), range.start)?;
        self.monitor.add(len);
        let hash = hasher.map(|hasher| *hasher.finalize().as_bytes());
        if let (Some(journal), Some(hash)) = (self.journal, &hash) {
            journal.note(range.start, len, hash)?;
        }
        done.copied.fetch_add(len, Ordering::Relaxed);
        Ok(Stripe::Written(hash))
    }

    /// Reads a stripe back and compares it with what was written.
    fn compare(
        &self,
        file: &File,
        range: &Range<u64>,
        written: &[u8],
        back: &mut Buf,
        done: &Done,
    ) -> Result<()> {
        let same = read_back(file, range, back)? && back.data() == written;
        self.judge(same, range, done)
    }

    /// Reads a stripe back and compares its hash.
    fn compare_hash(
        &self,
        file: &File,
        range: &Range<u64>,
        wanted: &Hash,
        buf: &mut Buf,
        done: &Done,
    ) -> Result<()> {
        let same = hash(file, range, buf)?.as_ref() == Some(wanted);
        self.judge(same, range, done)
    }

    fn judge(&self, same: bool, range: &Range<u64>, done: &Done) -> Result<()> {
        if !same {
            let what = "what reads back from the device is not what was written";
            return Err(Error::new(Kind::Io, "verify", self.output.path(), what)
                .at(range.start)
                .advise("the copy was thrown away; check the device"));
        }
        done.verified.fetch_add(range.end - range.start, Ordering::Relaxed);
        Ok(())
    }
}

/// The file under a cache policy. An error if `direct` is not available: it is never given up silently.
fn under(file: &File, cache: Cache) -> Result<File> {
    match (cache, file.with_cache(cache)) {
        (Cache::Keep, _) => Ok(file.clone()),
        (Cache::Direct, (_, Answer::Refused(reason))) => {
            Err(Error::new(Kind::Unsupported, "pass the page cache by with", file.path(), reason)
                .advise("leave the choice to --strategy auto"))
        }
        (_, (file, _)) => Ok(file),
    }
}

/// What became of a stripe.
enum Stripe {
    /// It was copied, and has this hash if it was hashed.
    Written(Option<Hash>),
    /// The output had it already.
    Known(Hash),
}

/// Reads a range of at most a stripe; `false` if the file ends before.
fn read_back(file: &File, range: &Range<u64>, buf: &mut Buf) -> Result<bool> {
    buf.place(range.start, (range.end - range.start) as usize);
    match file.read_exact_at(buf.data_mut(), range.start) {
        Ok(()) => Ok(true),
        Err(error) if error.kind() == Kind::Changed => Ok(false),
        Err(error) => Err(error),
    }
}

/// The hash of what stands in a range of at most a stripe; nothing if the file ends before.
fn hash(file: &File, range: &Range<u64>, buf: &mut Buf) -> Result<Option<Hash>> {
    Ok(read_back(file, range, buf)?.then(|| *blake3::hash(buf.data()).as_bytes()))
}

#[cfg(all(test, feature = "fault"))]
mod tests {
    use super::*;
    use crate::fault::{Fault, Plan};

    /// Verifies a copy whose device flips a bit at each of `rotten`.
    fn copied(rotten: &[u64], workers: usize) -> (Result<Done>, bool) {
        let directory = tempfile::tempdir().unwrap();
        let (from, to) = (directory.path().join("from"), directory.path().join("to"));
        let bytes: Vec<u8> = (0..2 * STRIPE + 12_345).map(|place| (place % 251) as u8).collect();
        std::fs::write(&from, &bytes).unwrap();
        let plan = rotten.iter().fold(Plan::new(1), |plan, &offset| plan.with(Fault::BitRot { offset }));
        let (input, output) = (File::open(&from).unwrap(), File::create_new(&to).unwrap().with_faults(&plan));
        let len = bytes.len() as u64;
        output.set_len(len).unwrap();
        let monitor = Monitor::default();
        let copy = Hashed {
            input: &input,
            output: &output,
            len,
            sparse: false,
            verify: true,
            journal: None,
            read_cache: Cache::Keep,
            write_cache: Cache::Keep,
            workers,
            monitor: &monitor,
        };
        let result = copy.run();
        assert_eq!(plan.counts().rotted > 0, !rotten.is_empty(), "did not strike");
        (result, std::fs::read(&to).unwrap() == bytes)
    }

    #[test]
    fn every_byte_is_read_back() {
        for workers in [1, 3] {
            let (done, whole) = copied(&[], workers);
            assert_eq!(done.unwrap().verified.into_inner(), 2 * STRIPE + 12_345);
            assert!(whole);
        }
    }

    #[test]
    fn one_bit_that_the_device_did_not_keep_is_an_error_that_tells_where() {
        for at in [0, 4096, STRIPE - 1, STRIPE + 777, 2 * STRIPE + 12_344] {
            for workers in [1, 3] {
                let (done, _) = copied(&[at], workers);
                let error = done.expect_err("it was not what was written");
                assert_eq!(error.kind(), Kind::Io);
                let told = format!("cannot verify at offset {}: what reads back", at / STRIPE * STRIPE);
                assert!(error.to_string().contains(&told), "{error}");
            }
        }
    }
}
