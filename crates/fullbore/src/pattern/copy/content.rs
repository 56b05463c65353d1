//! The bytes of one file: shared, if the file system can; else its data moved, by whatever is fastest, and its holes left
//! out.

use std::ops::Range;
use std::sync::Mutex;

use rustix::fs::Stat;

use super::account::CopyAccount;
use super::attributes::{self, Place};
use super::hashed::{Hashed, STRIPE};
use super::journal::Journal;
use super::options::{CopyEvent, CopyOptions, Reflink, Sparse};
use super::segments::Segments;
use crate::error::{Error, Kind, Result};
use crate::file::{File, FileKind, Output, Snapshot, clones, umask};
use crate::operation::{Kernel, Split};
use crate::pattern::{Monitor, Scope, lane, order, run};
use crate::strategy::{Allocation, BUDGET, Strategy, plan};
use crate::{operation, pattern, probe};

/// Below this length a thread, a plan and an allocation cost more than they bring, in bytes.
pub(super) const LARGE: u64 = 2 << 20;

/// How many stripes are on their way at once when they are read back from the device: enough that it has always something
/// to do, whatever the processors are.
const WAITERS: usize = 4;

/// A copy of one file.
pub(super) struct Content<'a> {
    pub(super) input: &'a File,
    pub(super) options: &'a CopyOptions,
    pub(super) monitor: &'a Monitor,
    pub(super) tell: &'a (dyn Fn(CopyEvent) + Sync),
    /// Large files are copied one after the other, each with all workers.
    pub(super) turn: &'a Mutex<()>,
}

impl Content<'_> {
    /// Copies the file to `output`, which has its name when this returns.
    pub(super) fn copy(&self, output: Output, journal: Option<Journal>) -> Result<CopyAccount> {
        let input = self.input;
        let stat =
            rustix::fs::fstat(input).map_err(|error| Error::io("inspect", input.path(), error.into()))?;
        let before = input.snapshot()?;
        let regular = input.kind() == FileKind::Regular;
        if output.seekable() && output.file().snapshot()?.identity == before.identity {
            let what = "input and output are the same file";
            return Err(Error::new(Kind::SameFile, "copy", input.path(), what));
        }
        let mut account = CopyAccount { files: 1, ..CopyAccount::default() };
        let known = if lengthless(input, &stat) { None } else { input.seekable_len()? };
        let len = match known {
            Some(len) if output.seekable() => {
                self.file(&output, journal.as_ref(), &stat, &before, len, &mut account)?;
                if account.bytes() != len {
                    return Err(changed(input, "the file became shorter while it was read"));
                }
                len
            }
            len => {
                account.copied = self.stream(&output, len)?;
                account.copied
            }
        };
        if regular && input.snapshot()? != before {
            return Err(changed(input, "the file was modified while it was read"));
        }
        if let Some(level) = journal.as_ref().and(self.options.durability.sync()) {
            // A run that is killed meanwhile can only be gone on with as long as the part is private.
            output.file().sync(level)?;
        }
        if output.seekable() {
            self.attributes(&output, &stat)?;
        }
        let output = if output.inherits() { output } else { output.inheriting_nothing() };
        output.commit_len(len, self.options.durability)?;
        if let Some(journal) = journal {
            journal.finish()?;
        }
        Ok(account)
    }

    /// From or to what is read or written from front to back.
    fn stream(&self, output: &Output, len: Option<u64>) -> Result<u64> {
        if self.options.reflink == Reflink::Always {
            let what = "a pipe, device or file of the system shares no blocks";
            return Err(Error::new(Kind::Unsupported, "clone", self.input.path(), what));
        }
        let options = self.options;
        let plan = plan(
            Some(self.input),
            len,
            Some(output),
            &options.wish,
            options.asked.as_deref(),
            options.profile.as_ref(),
        )?;
        self.run(output, &Scope::whole(len.unwrap_or(0)), len, &plan.strategy)
    }

    fn file(
        &self,
        output: &Output,
        journal: Option<&Journal>,
        stat: &Stat,
        before: &Snapshot,
        len: u64,
        account: &mut CopyAccount,
    ) -> Result<()> {
        let options = self.options;
        let regular = self.input.kind() == FileKind::Regular;
        if journal.is_some_and(Journal::fresh) {
            output.file().set_len(0)?;
        }
        if self.cloned(output, before, len)? {
            account.cloned = len;
            self.monitor.add(len);
            return Ok(());
        }
        // As the system tells without a look at the file: fewer blocks than bytes.
        let sparse =
            options.sparse != Sparse::Never && regular && (stat.st_blocks as u64).saturating_mul(512) < len;
        if options.verify || journal.is_some() {
            let plan = self.plan(output, len, true)?;
            if sparse || !regular {
                output.file().set_len(len)?;
            } else {
                pattern::allocate(output, len, &plan)?;
            }
            let budget = options.wish.budget.unwrap_or(BUDGET);
            // Each has a stripe, and one that is read back.
            let most = (budget / (2 * STRIPE)).max(1) as usize;
            let workers = if options.verify { plan.workers.max(WAITERS).min(most) } else { plan.workers };
            let hashed = Hashed {
                input: self.input,
                output: output.file(),
                len,
                sparse,
                verify: options.verify,
                journal,
                read_cache: plan.read_cache,
                write_cache: plan.write_cache,
                workers,
                monitor: self.monitor,
            };
            let done = {
                let _turn = (len > STRIPE).then(|| self.turn());
                hashed.run()?
            };
            account.copied = done.copied.into_inner();
            account.resumed = done.resumed.into_inner();
            account.verified = done.verified.into_inner();
            account.holes = len - account.copied - account.resumed;
            return Ok(());
        }
        if options.sparse == Sparse::Always {
            output.file().set_len(len)?;
            let mut segments = Segments::new(self.input, len, sparse);
            while let Some(range) = segments.next(u64::MAX)? {
                account.copied += self.without_zeros(output, range)?;
            }
            account.holes = len - account.copied;
            return Ok(());
        }
        let auto = options.asked.is_none() && options.simple();
        if auto && len < LARGE {
            return self.simply(output, len, sparse, account);
        }
        if auto && options.reflink == Reflink::Auto && served(self.input) {
            let copied = self.input.copy_range(0..len, output.file(), 0)?;
            self.monitor.add(copied.bytes());
            (account.cloned, account.copied) = (copied.cloned, copied.bytes() - copied.cloned);
            return Ok(());
        }
        let strategy = self.plan(output, len, false)?;
        let _turn = self.turn();
        if !sparse {
            pattern::allocate(output, len, &strategy)?;
            account.copied = self.run(output, &Scope::whole(len), Some(len), &strategy)?;
            return pattern::taken_by_device(output, &strategy);
        }
        output.file().set_len(len)?;
        let mut segments = Segments::new(self.input, len, true);
        while let Some(range) = segments.next(u64::MAX)? {
            let bytes = range.end - range.start;
            if auto && bytes < LARGE {
                account.copied += self.by_memory(output, range)?;
                continue;
            }
            if strategy.allocation == Allocation::Preallocate {
                match output.file().allocate(range.clone()) {
                    Err(error) if error.kind() != Kind::Unsupported => return Err(error),
                    _ => {}
                }
            }
            let scope = Scope { range, ..Scope::whole(len) };
            account.copied += self.run(output, &scope, Some(len), &strategy)?;
        }
        account.holes = len - account.copied;
        pattern::taken_by_device(output, &strategy)
    }

    /// Whether all blocks are shared now.
    fn cloned(&self, output: &Output, before: &Snapshot, len: u64) -> Result<bool> {
        let always = self.options.reflink == Reflink::Always;
        if self.options.reflink == Reflink::Never || self.options.sparse != Sparse::Auto || len == 0 {
            return Ok(false);
        }
        let devices = (before.identity.0, output.file().snapshot()?.identity.0);
        if self.input.kind() != FileKind::Regular || !(always || clones(devices)) {
            if always {
                let what = format!("a {} shares no blocks", self.input.kind());
                return Err(Error::new(Kind::Unsupported, "clone", self.input.path(), what));
            }
            return Ok(false);
        }
        if always {
            self.input.clone_range(0..len, output.file(), 0)?;
            return Ok(true);
        }
        Ok(crate::file::share_all(self.input, output.file(), devices))
    }

    /// In one loop, for what is small.
    fn simply(&self, output: &Output, len: u64, sparse: bool, account: &mut CopyAccount) -> Result<()> {
        if sparse {
            output.file().set_len(len)?;
        }
        let mut segments = Segments::new(self.input, len, sparse);
        while let Some(range) = segments.next(u64::MAX)? {
            account.copied += self.by_memory(output, range)?;
        }
        if sparse {
            account.holes = len - account.copied;
        }
        Ok(())
    }

    /// Reads and writes a run of data. Not by `copy_file_range`, which may share blocks where that is not wanted, and is no
    /// faster.
    fn by_memory(&self, output: &Output, range: Range<u64>) -> Result<u64> {
        let len = range.end - range.start;
        self.pieces(range, |piece, at| output.file().write_all_at(piece, at))?;
        Ok(len)
    }

    /// As [`by_memory`](Self::by_memory), but leaves blocks of zeros out; how many bytes were written.
    fn without_zeros(&self, output: &Output, range: Range<u64>) -> Result<u64> {
        /// File systems have blocks of this size, in bytes.
        const BLOCK: usize = 4 << 10;
        let mut written = 0;
        self.pieces(range, |piece, at| {
            let blocks: Vec<_> = piece.chunks(BLOCK).collect();
            let mut start = 0;
            for run in blocks.chunk_by(|one, two| zeros(one) == zeros(two)) {
                let end = start + run.iter().map(|block| block.len()).sum::<usize>();
                if !zeros(run[0]) {
                    output.file().write_all_at(&piece[start..end], at + start as u64)?;
                    written += (end - start) as u64;
                }
                start = end;
            }
            Ok(())
        })?;
        Ok(written)
    }

    /// Reads a run of data piece by piece, whole blocks at a time.
    fn pieces(&self, range: Range<u64>, mut each: impl FnMut(&[u8], u64) -> Result<()>) -> Result<()> {
        const REQUEST: u64 = 256 << 10;
        let mut memory = vec![0; (range.end - range.start).min(REQUEST) as usize];
        let mut at = range.start;
        while at < range.end {
            let len = (range.end - at).min(REQUEST) as usize;
            let read = self.input.read_at(&mut memory[..len], at)?;
            if read == 0 {
                return Err(changed(self.input, "the file became shorter while it was read"));
            }
            each(&memory[..read], at)?;
            at += read as u64;
            self.monitor.add(read as u64);
        }
        Ok(())
    }

    /// How the file is copied; `striped`: by [`Hashed`].
    fn plan(&self, output: &Output, len: u64, striped: bool) -> Result<Strategy> {
        let options = self.options;
        let mut plan = plan(
            Some(self.input),
            Some(len),
            Some(output),
            &options.wish,
            options.asked.as_deref(),
            options.profile.as_ref(),
        )?;
        if striped {
            plan.by_stripes(STRIPE);
        }
        let strategy = plan.strategy.clone();
        if options.tell_plans {
            let source = self.input.path().to_owned();
            (self.tell)(CopyEvent::Planned { source, plan: Box::new(plan) });
        }
        Ok(strategy)
    }

    /// Moves a part of the file, by the loop that all patterns run; how many bytes that were.
    fn run(&self, output: &Output, scope: &Scope, len: Option<u64>, strategy: &Strategy) -> Result<u64> {
        let none = operation::parse("none", Kernel::Simd)
            .map_err(|error| Error::new(Kind::Invalid, "copy", self.input.path(), error.to_string()))?;
        let feed = match len {
            Some(len) => lane::Feed::File { file: self.input, len },
            None => {
                lane::Feed::Stream(super::super::front::Front::new(self.input.clone(), output.seekable()))
            }
        };
        let drain = match output.seekable() {
            true => lane::Drain::File(output.file()),
            false => lane::Drain::Stream(order::InOrder::new(output.file().clone())),
        };
        let work = lane::Work { operation: Some(&*none), in_place: false, split: Split::Any };
        Ok(run::run(&feed, &work, &drain, scope, strategy, self.monitor)?.bytes)
    }

    fn attributes(&self, output: &Output, stat: &Stat) -> Result<()> {
        use std::os::fd::AsFd;
        let (options, file) = (self.options, output.file());
        if !options.preserve.mode && !output.inherits() {
            let mode = rustix::fs::Mode::from_raw_mode(attributes::usual(&options.preserve, stat) & !umask());
            let now = rustix::fs::fstat(file).map_or(0, |now| now.st_mode & 0o7777);
            if now != mode.as_raw_mode() {
                rustix::fs::fchmod(file, mode)
                    .map_err(|error| Error::io("set the mode of", file.path(), error.into()))?;
            }
        }
        let (source, target) = (Place::Open(self.input.as_fd()), Place::Open(file.as_fd()));
        attributes::keep(&options.preserve, source, stat, target, &|| file.path().to_owned(), false)
    }

    fn turn(&self) -> std::sync::MutexGuard<'_, ()> {
        self.turn.lock().unwrap_or_else(std::sync::PoisonError::into_inner)
    }
}

fn changed(input: &File, what: &str) -> Error {
    Error::new(Kind::Changed, "trust", input.path(), what)
}

fn zeros(block: &[u8]) -> bool {
    block.iter().all(|&byte| byte == 0)
}

/// Whether a regular file has a length that means nothing: the system makes its bytes when it is read, and says that it has
/// a page of them (sysfs) or more.
pub(super) fn lengthless(file: impl std::os::fd::AsFd, stat: &Stat) -> bool {
    /// sysfs, debugfs, tracefs, securityfs, configfs, both versions of cgroup, efivarfs (`man 2 statfs`).
    const MADE: [u32; 8] = [
        0x6265_6572,
        0x6462_6720,
        0x7472_6163,
        0x7363_6673,
        0x6265_6570,
        0x0027_e0eb,
        0x6367_7270,
        0xde5e_81e4,
    ];
    stat.st_size > 0
        && stat.st_blocks == 0
        && rustix::fs::fstatfs(file).is_ok_and(|system| MADE.contains(&(system.f_type as u32)))
}

/// Whether the file lies on a server that can copy by itself, if it is asked to (`copy_file_range`).
fn served(file: &File) -> bool {
    /// NFS, SMB 2 and later, CIFS, Ceph (`man 2 statfs`).
    const SERVED: [u32; 4] = [0x6969, 0xfe53_4d42, 0xff53_4d42, 0x00c3_6400];
    rustix::fs::fstatfs(file).is_ok_and(|system| SERVED.contains(&(system.f_type as u32)))
}

/// How many files are copied at once.
pub(super) fn workers(options: &CopyOptions) -> usize {
    /// More gain nothing: the file system's own locks decide.
    const CROWD: usize = 8;
    options.workers.unwrap_or_else(|| probe::processors().min(CROWD)).max(1)
}
