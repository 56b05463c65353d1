//! Copying in stripes, for verification and resuming.
//!
//! To verify a copy, all stripes are first written with a bypass of the page cache. Each stripe is then read back with a
//! bypass and compared with a second read of the source. The source is usually cached, so the second pass takes as long as
//! the device takes to read the copy. A file that cannot bypass the cache is synced and dropped from the cache between the
//! passes.
//!
//! A source with dirty pages can be changed through a mapping without a new modification time. The second read detects
//! that: if each stripe equals its copy, no stripe changed between the last read of the first pass and the first read
//! of the second, and the copy is the source at that moment. A hash of the first read distinguishes a changed source
//! from a faulty device.
//!
//! A copy in stripes keeps the workers and cache policies of its strategy. `direct` is strict: if the device refuses a
//! write, the copy fails, even where the write went through the cache (the end of the file).

use std::ops::Range;
use std::sync::atomic::{AtomicBool, Ordering};

use xxhash_rust::xxh3::xxh3_128;

use super::journal::{Hash, Journal, STRIPE};
use super::options::CopyStats;
use crate::pattern::holes::{Holes, StripeQueue};
use crate::pattern::progress::Progress;
use crate::pattern::threads::{FirstError, Started, on_threads};
use fullbore_io::buf::{ALIGNMENT, Buf, Pool};
use fullbore_io::error::{Error, ErrorKind, Result};
use fullbore_io::file::{CachePolicy, File, Support};
use fullbore_io::lock::Mutex;

/// A stripe that was copied, and its hash.
type Stripe = (Range<u64>, u128);

/// Bytes read and hashed at a time: still in the processor's cache when they are hashed.
const PIECE: usize = 256 << 10;

pub(super) struct Hashed<'a> {
    pub(super) input: &'a File,
    pub(super) output: &'a File,
    pub(super) len: u64,
    pub(super) sparse: bool,
    pub(super) verify: bool,
    pub(super) journal: Option<&'a Journal>,
    pub(super) read_cache: CachePolicy,
    /// Cache policy of the output; `verify` tries to bypass the cache in any case.
    pub(super) write_cache: CachePolicy,
    pub(super) workers: usize,
    pub(super) progress: &'a Progress,
}

impl Hashed<'_> {
    /// Copies all data to an output of full length; returns the bytes copied, resumed and verified.
    pub(super) fn run(&self) -> Result<CopyStats> {
        let done = Mutex::default();
        let stripes = Mutex::new(StripeQueue::of_data(self.input, self.len, STRIPE, self.sparse));
        let copied: Mutex<Vec<Stripe>> = Mutex::default();
        let holes: Mutex<Vec<Range<u64>>> = Mutex::default();
        let past_cache = if self.verify { past_cache(self.output) } else { None };
        let input = self.input.with_cache(self.read_cache).0;
        let output = match &past_cache {
            Some(file) => file.clone(),
            None => under(self.output, self.write_cache)?,
        };
        self.on_threads(1, &|goes_on, buffers| {
            let [buf] = buffers else { return Ok(()) };
            while goes_on() {
                let mut passed = Vec::new();
                let next = stripes.lock().next_stripe(|hole| passed.push(hole));
                for hole in &passed {
                    self.clear(hole, buf)?;
                    self.progress.add(hole.end - hole.start);
                }
                holes.lock().append(&mut passed);
                let Some(range) = next else { break };
                self.stripe((&input, &output), &range, buf, &done)?;
                if self.verify {
                    let hash = xxh3_128(buf.data());
                    copied.lock().push((range, hash));
                }
            }
            Ok(())
        })?;
        if self.write_cache == CachePolicy::Direct {
            self.output.write_back()?;
        }
        if self.verify {
            let device = on_device(self.output, past_cache)?;
            let mut copied = copied.into_inner();
            for hole in holes.into_inner() {
                copied.append(&mut self.data_in(&hole));
            }
            self.compare(&input, &device, copied, &done)?;
        }
        Ok(done.into_inner())
    }

    /// Makes the part of an earlier run read as zeros in a hole of the source. Another part has a hole there.
    fn clear(&self, hole: &Range<u64>, buf: &mut Buf) -> Result<()> {
        if self.journal.is_none_or(Journal::fresh) {
            return Ok(());
        }
        match self.output.punch_hole(hole.clone()) {
            Err(error) if error.kind() == ErrorKind::Unsupported => {}
            punched => return punched,
        }
        let mut at = hole.start;
        while at < hole.end {
            buf.place(at, (hole.end - at).min(STRIPE) as usize);
            buf.data_mut().fill(0);
            self.output.write_all_at(buf.data(), at)?;
            at += buf.data().len() as u64;
        }
        Ok(())
    }

    /// The data of the output in a hole of the source: stripes of zeros.
    fn data_in(&self, hole: &Range<u64>) -> Vec<Stripe> {
        let (base, len) = (hole.start, hole.end - hole.start);
        let mut data = StripeQueue::new(len, STRIPE, vec![Holes::of(self.output, base, len, true)]);
        std::iter::from_fn(|| data.next_stripe(|_| ()))
            .map(|range| {
                let zeros = xxh3_128(&vec![0; (range.end - range.start) as usize]);
                (base + range.start..base + range.end, zeros)
            })
            .collect()
    }

    /// Compares the device's content with a second read of the source. The first read is complete.
    fn compare(&self, input: &File, device: &File, all: Vec<Stripe>, done: &Mutex<CopyStats>) -> Result<()> {
        let stripes = Mutex::new(all.into_iter());
        self.on_threads(2, &|goes_on, buffers| {
            let [back, again] = buffers else { return Ok(()) };
            while goes_on() {
                let next = stripes.lock().next();
                let Some((range, hash)) = next else { break };
                let kept = read_back(device, &range, back)?;
                if !read_back(input, &range, again)? || !kept || back.data() != again.data() {
                    return Err(self.differs(&range, xxh3_128(again.data()) != hash));
                }
                done.lock().verified += range.end - range.start;
            }
            Ok(())
        })
    }

    /// The error for a stripe that differs from its source: a changed source, or a faulty device.
    fn differs(&self, range: &Range<u64>, source_changed: bool) -> Error {
        // The journal lists the bytes that were found to be wrong: a later run would fail at them again.
        if let Some(journal) = self.journal {
            journal.cleanup();
        }
        if source_changed {
            return Error::changed(self.input.path(), "modified while being read").at(range.start);
        }
        not_kept(self.output, range.start)
    }

    /// Runs `work` with `buffers` buffers of a stripe on as many threads as there are workers and stripes. Its first
    /// argument returns false after another thread failed.
    fn on_threads(
        &self,
        buffers: usize,
        work: &(impl Fn(&dyn Fn() -> bool, &mut [Buf]) -> Result<()> + Sync),
    ) -> Result<()> {
        let (failed, first) = (AtomicBool::new(false), FirstError::default());
        let size = (self.len.min(STRIPE) as usize).next_multiple_of(ALIGNMENT);
        let (short, ran) = (FirstError::default(), AtomicBool::new(false));
        let run = || {
            let mut pool = match Pool::new(buffers, size) {
                Ok(pool) => pool,
                // The other threads do its work.
                Err(error) => {
                    short.put(Error::io("copy", self.input.path(), error));
                    return Ok(());
                }
            };
            ran.store(true, Ordering::Relaxed);
            let mut buffers: Vec<Buf> = std::iter::from_fn(|| pool.take()).collect();
            work(&|| !failed.load(Ordering::Relaxed) && !self.progress.is_cancelled(), &mut buffers)
        };
        let one = || {
            if let Err(error) = run() {
                first.put(error);
                failed.store(true, Ordering::Relaxed);
            }
        };
        let workers = self.workers.min(self.len.div_ceil(STRIPE) as usize);
        on_threads(workers, &|_, _: &Started| one(), &|| failed.store(true, Ordering::Relaxed));
        first.result()?;
        if !ran.into_inner() {
            short.result()?;
        }
        if self.progress.is_cancelled() {
            return Err(Error::new(ErrorKind::Cancelled, "finish", self.output.path(), "interrupted"));
        }
        Ok(())
    }

    /// Copies a stripe, unless the journal lists it and the output's bytes match. The stripe is in `buf` then.
    fn stripe(
        &self,
        (input, output): (&File, &File),
        range: &Range<u64>,
        buf: &mut Buf,
        done: &Mutex<CopyStats>,
    ) -> Result<()> {
        let len = range.end - range.start;
        // A stripe that cannot be read is damaged: it is copied again.
        if let Some(known) = self.journal.and_then(|journal| journal.known(range.start, len))
            && hash(output, range, buf).ok().flatten().as_ref() == Some(known)
        {
            done.lock().resumed += len;
            self.progress.add(len);
            return Ok(());
        }
        let mut hasher = self.journal.map(|_| blake3::Hasher::new());
        buf.place(range.start, len as usize);
        let mut rest = buf.data_mut();
        while !rest.is_empty() {
            let at = range.end - rest.len() as u64;
            // Without the cache there is no read-ahead.
            let most = if self.read_cache == CachePolicy::Direct { rest.len() } else { PIECE };
            let piece = rest.len().min(most);
            let read = input.read_at(&mut rest[..piece], at)?;
            if read == 0 {
                return Err(Error::changed(self.input.path(), "truncated while being read").at(at));
            }
            let (filled, left) = rest.split_at_mut(read);
            if let Some(hasher) = &mut hasher {
                hasher.update(filled);
            }
            rest = left;
        }
        output.write_all_at(buf.data(), range.start)?;
        self.progress.add(len);
        let hash = hasher.map(|hasher| *hasher.finalize().as_bytes());
        if let (Some(journal), Some(hash)) = (self.journal, &hash) {
            journal.note(range.start, len, hash)?;
        }
        done.lock().copied += len;
        Ok(())
    }
}

/// The file under a bypass of the page cache, if that is available.
pub(super) fn past_cache(file: &File) -> Option<File> {
    match file.with_cache(CachePolicy::Direct) {
        (file, Support::Native) => Some(file),
        _ => None,
    }
}

/// A written file to be read from the device. `past_cache`: the handle that the writes used, if they bypassed the cache.
pub(super) fn on_device(output: &File, past_cache: Option<File>) -> Result<File> {
    // A write that the system refused to make directly went through the cache.
    let direct = |file: &File| file.cache_policy().1 == Support::Native;
    match past_cache.filter(direct) {
        Some(file) => Ok(file),
        None => {
            output.sync_data()?;
            output.drop_cache()?;
            Ok(output.clone())
        }
    }
}

/// The error for a stripe that the device returns with other bytes.
pub(super) fn not_kept(output: &File, offset: u64) -> Error {
    let what = "the device returned other bytes than were written";
    Error::new(ErrorKind::Io, "verify", output.path(), what)
        .at(offset)
        .advise("the copy was discarded; check the device")
}

/// The file under a cache policy. An error if `direct` is not available: it is never dropped silently.
pub(super) fn under(file: &File, cache: CachePolicy) -> Result<File> {
    match (cache, file.with_cache(cache)) {
        (CachePolicy::Keep, _) => Ok(file.clone()),
        (CachePolicy::Direct, (_, Support::Unsupported(reason))) => {
            Err(Error::new(ErrorKind::Unsupported, "bypass the page cache for", file.path(), reason)
                .advise("leave the choice to the planner"))
        }
        (_, (file, _)) => Ok(file),
    }
}

/// Reads a range of at most a stripe; false if the file ends before.
pub(super) fn read_back(file: &File, range: &Range<u64>, buf: &mut Buf) -> Result<bool> {
    buf.place(range.start, (range.end - range.start) as usize);
    match file.read_exact_at(buf.data_mut(), range.start) {
        Ok(()) => Ok(true),
        Err(error) if error.kind() == ErrorKind::UnexpectedEof => Ok(false),
        Err(error) => Err(error),
    }
}

/// The hash of a range of at most a stripe; `None` if the file ends before.
fn hash(file: &File, range: &Range<u64>, buf: &mut Buf) -> Result<Option<Hash>> {
    Ok(read_back(file, range, buf)?.then(|| *blake3::hash(buf.data()).as_bytes()))
}

#[cfg(all(test, feature = "fault"))]
mod tests {
    use std::ffi::OsStr;

    use super::*;
    use fullbore_io::fault::{Fault, Plan};
    use fullbore_io::file::HeldDir;
    use fullbore_io::sys;

    fn hashed<'a>(input: &'a File, output: &'a File, len: u64, progress: &'a Progress) -> Hashed<'a> {
        Hashed {
            input,
            output,
            len,
            sparse: false,
            verify: true,
            journal: None,
            read_cache: CachePolicy::Keep,
            write_cache: CachePolicy::Keep,
            workers: 1,
            progress,
        }
    }

    /// Verifies a copy whose device flips a bit at each of `rotten`.
    fn copied(rotten: &[u64], workers: usize) -> (Result<CopyStats>, bool) {
        let directory = tempfile::tempdir().unwrap();
        let (from, to) = (directory.path().join("from"), directory.path().join("to"));
        let bytes: Vec<u8> = (0..2 * STRIPE + 12_345).map(|place| (place % 251) as u8).collect();
        std::fs::write(&from, &bytes).unwrap();
        let plan = rotten.iter().fold(Plan::new(1), |plan, &offset| plan.with(Fault::BitRot { offset }));
        let (input, output) = (File::open(&from).unwrap(), File::create_new(&to).unwrap().with_faults(&plan));
        let len = bytes.len() as u64;
        output.set_len(len).unwrap();
        let progress = Progress::default();
        let copy = Hashed { workers, ..hashed(&input, &output, len, &progress) };
        let result = copy.run();
        assert_eq!(plan.counts().rotted > 0, !rotten.is_empty(), "the fault did not occur");
        (result, std::fs::read(&to).unwrap() == bytes)
    }

    #[test]
    fn every_byte_is_read_back() {
        for workers in [1, 3] {
            let (done, whole) = copied(&[], workers);
            assert_eq!(done.unwrap().verified, 2 * STRIPE + 12_345);
            assert!(whole);
        }
    }

    #[test]
    fn one_bit_that_the_device_changed_is_an_error_with_its_offset() {
        for at in [0, 4096, STRIPE - 1, STRIPE + 777, 2 * STRIPE + 12_344] {
            for workers in [1, 3] {
                let (done, _) = copied(&[at], workers);
                let error = done.expect_err("the bytes differ");
                assert_eq!(error.kind(), ErrorKind::Io);
                let text = format!("cannot verify at offset {}: the device", at / STRIPE * STRIPE);
                assert!(error.to_string().contains(&text), "{error}");
            }
        }
    }

    /// A copy of a journal's part, whose device flips a bit.
    #[test]
    fn a_difference_removes_journal_and_part() {
        let (directory, from) = fullbore_testkit::ground::temporary_file(vec![7; 3 * STRIPE as usize]);
        let input = File::open(&from).unwrap();
        let held = HeldDir::open(directory.path()).unwrap();
        let copy = |plan: &Plan| {
            let (journal, (part, name)) =
                Journal::open(&held, OsStr::new("to"), &sys::stat(&from).unwrap()).unwrap();
            let output = File::from_fd(part, directory.path().join(name)).unwrap().with_faults(plan);
            let fresh = journal.fresh();
            output.set_len(3 * STRIPE).unwrap();
            let progress = Progress::default();
            let copy = Hashed { journal: Some(&journal), ..hashed(&input, &output, 3 * STRIPE, &progress) };
            (fresh, copy.run())
        };
        let names = || std::fs::read_dir(directory.path()).unwrap().count();
        let (_, failed) = copy(&Plan::new(1).with(Fault::BitRot { offset: STRIPE + 5 }));
        assert_eq!(failed.unwrap_err().kind(), ErrorKind::Io);
        assert_eq!(names(), 1, "the copy is discarded");
        let (fresh, done) = copy(&Plan::new(1));
        assert_eq!((fresh, done.unwrap().verified, names()), (true, 3 * STRIPE, 3));
    }

    #[test]
    fn bytes_in_holes_of_the_source_are_found() {
        let directory = tempfile::tempdir_in(fullbore_testkit::ground::build_directory()).unwrap();
        let [input, output] = ["from", "to"].map(|name| {
            let file = File::create_new(directory.path().join(name)).unwrap();
            file.set_len(3 * STRIPE).unwrap();
            file.write_all_at(&[7; 9], 0).unwrap();
            file
        });
        if input.seek_data(STRIPE).unwrap().is_some() {
            println!("skipped: this file system has no holes");
            return;
        }
        let progress = Progress::default();
        let run = || Hashed { sparse: true, ..hashed(&input, &output, 3 * STRIPE, &progress) }.run();
        assert!(run().unwrap().verified < STRIPE);
        output.write_all_at(b"damage", 2 * STRIPE + 9).unwrap();
        let error = run().unwrap_err().to_string();
        assert!(error.contains(&format!("verify at offset {}", 2 * STRIPE)), "{error}");
    }
}
