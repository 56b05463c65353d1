//! The bytes of one file: blocks are shared if the file system permits it, otherwise the data is copied by the fastest method.

use std::ops::Range;

use fullbore_io::error::{Error, ErrorKind, Result};
use fullbore_io::file::{Durability, File, FileKind, Output, clones, share_all, umask};
use fullbore_io::lock::RwLock;
use fullbore_io::sys::{self, AsHandle, FileSystemKind, Status};

use super::attributes::{self, AttributeTarget};
use super::hashed::Hashed;
use super::journal::{Journal, STRIPE};
use super::options::{CopyEvent, CopyOptions, CopySettings, CopyStats, Reflink, Sparse};
use super::tree_copy::Written;
use crate::pattern::checked::extend;
use crate::pattern::holes::StripeQueue;
use crate::pattern::order::Scope;
use crate::pattern::progress::Progress;
use crate::pattern::run::Run;
use crate::pattern::stream_reader::StreamReader;
use crate::pattern::transfer_loop::{Sink, Source, Transfer};
use crate::pattern::transform::{copy_whole, taken_by_device};
use crate::strategy::{Allocation, Plan, Planner, Purpose, RunStrategy, SMALL, Units};

/// Size of plain reads, in bytes: whole blocks.
pub(super) const REQUEST: u64 = 256 << 10;

pub(super) struct Content<'a> {
    pub(super) input: &'a File,
    pub(super) options: &'a CopyOptions,
    pub(super) settings: &'a CopySettings<'a>,
    pub(super) progress: &'a Progress,
    pub(super) report: &'a (dyn Fn(CopyEvent) + Sync),
    /// Large files are copied one at a time, each with all workers; shorter ones that are verified or resumed share the lock.
    pub(super) turn: &'a RwLock<()>,
    /// The process's mask, if it is known: reading it takes as long as copying a small file.
    pub(super) umask: Option<u32>,
}

/// Copies an open file to `output`, which is complete and has its name on return. Only options on one file's bytes and
/// attributes apply; resuming needs paths.
///
/// # Errors
/// The system's, with path and offset; [`ErrorKind::Changed`] if the input was modified during the copy; [`ErrorKind::SameFile`]
/// if the output is the input; [`ErrorKind::Unsupported`] if blocks must be shared and cannot be, and if an output that is
/// written sequentially must be verified. The old output is unchanged then.
pub fn copy_file(
    input: &File,
    output: Output,
    (options, planner): (&CopyOptions, Planner<'_>),
    progress: &Progress,
) -> Result<CopyStats> {
    let stat = sys::status(input).map_err(|error| Error::io("inspect", input.path(), error.into()))?;
    let input = &input.stamped_as(&stat)?;
    let settings = &CopySettings { planner, durability: Durability::None };
    let turn = &RwLock::default();
    let content = Content { input, options, settings, progress, report: &|_| (), turn, umask: None };
    content.copy(&stat, output, None).map(|(stats, _)| stats)
}

impl Content<'_> {
    /// Copies the file, which is stamped with its status, to `output`, which has its name on return.
    pub(super) fn copy(
        &self,
        stat: &Status,
        mut output: Output,
        journal: Option<Journal>,
    ) -> Result<Written<CopyStats>> {
        let input = self.input;
        let before = input.starting_stamp()?;
        let mut made =
            output.seekable().then(|| output.file().stamp()).transpose()?.map(|stamp| stamp.identity);
        if made == Some(before.identity) {
            let what = "input and output are the same file";
            return Err(Error::new(ErrorKind::SameFile, "copy", input.path(), what));
        }
        Journal::used(journal.as_ref(), self.check_options(&output))?;
        let mut stats = CopyStats { files: 1, ..CopyStats::default() };
        let known = if lengthless(input, stat) { None } else { input.seekable_len()? };
        let len = match known.zip(made) {
            Some((len, at)) => {
                let devices = (before.identity.0, at.0);
                let written = self.file(&mut output, journal.as_ref(), stat, devices, len, &mut stats);
                Journal::used(journal.as_ref(), written)?;
                if stats.bytes() != len {
                    return Err(Error::changed(input.path(), "truncated while being read"));
                }
                if stats.cloned > 0 {
                    // A clone may have replaced the file.
                    made = Some(output.file().stamp()?.identity);
                }
                len
            }
            None => {
                self.stream(&output, known, &mut stats)?;
                stats.bytes()
            }
        };
        input.check_unchanged(&before)?;
        if self.options.resume && output.file().kind() == FileKind::Regular {
            // The next run skips a target with this length and time. If this run is killed, the next can resume only while the
            // part is private.
            output.file().sync(self.settings.resumable())?;
        }
        let part = journal.is_some().then(|| output.file().clone());
        let published = self.publish(output, stat, made.map(|_| len));
        if let (Err(_), Some(journal), Some(part)) = (&published, &journal, &part) {
            journal.protect(part);
        }
        published?;
        if let Some(journal) = journal {
            journal.finish()?;
        }
        Ok((stats, made))
    }

    /// Gives a complete output its length, if it has one, its attributes and its name.
    fn publish(&self, output: Output, stat: &Status, len: Option<u64>) -> Result<()> {
        if let Some(len) = len {
            output.fit_len(len)?;
            self.attributes(&output, stat)?;
        }
        let preserve = &self.options.preserve;
        let inherits = output.inherits() && !preserve.mode && !preserve.owner;
        output.inherit_metadata(inherits).commit(self.settings.durability).map(drop)
    }

    /// Fails if the options exclude each other, or cannot be applied to this output.
    fn check_options(&self, output: &Output) -> Result<()> {
        let options = self.options;
        if options.sparse == Sparse::Always && (!self.settings.auto(options) || options.resume) {
            let what = "blocks of zeros become holes by plain reads and writes only";
            return Err(Error::new(ErrorKind::Unsupported, "copy", self.input.path(), what)
                .advise("set no strategy, cache policy, shared blocks, verification or resumption"));
        }
        if options.sparse != Sparse::Auto && options.reflink == Reflink::Always {
            let what = "holes are made or filled by writing the bytes";
            return Err(Error::new(ErrorKind::Invalid, "copy", self.input.path(), what)
                .advise("require shared blocks, or set the treatment of holes"));
        }
        if options.verify && !output.seekable() {
            let what = "it is written sequentially and cannot be read back";
            return Err(Error::new(ErrorKind::Unsupported, "verify", output.file().path(), what));
        }
        Ok(())
    }

    /// Copies from or to a file that is read or written sequentially.
    fn stream(&self, output: &Output, len: Option<u64>, stats: &mut CopyStats) -> Result<()> {
        if self.options.reflink == Reflink::Always {
            if self.input.kind() == FileKind::Regular && self.input.read_at(&mut [0], 0)? == 0 {
                // Empty, and not a file made by the kernel, whose reported length is 0 too.
                return Ok(());
            }
            let what = "pipes, devices and files made by the kernel cannot share blocks";
            return Err(Error::new(ErrorKind::Unsupported, "clone", self.input.path(), what));
        }
        if self.options.verify {
            return self.sequential_verified(output, stats);
        }
        if self.options.sparse == Sparse::Always && output.seekable() && !output.overwrites() {
            return self.sequential_without_zeros(output, stats);
        }
        let plan = self.plan(output, len, false)?;
        stats.copied = self.run(output, &Scope::whole(len.unwrap_or(0)), len, (&plan).into())?;
        Ok(())
    }

    fn file(
        &self,
        output: &mut Output,
        journal: Option<&Journal>,
        stat: &Status,
        devices: (u64, u64),
        len: u64,
        stats: &mut CopyStats,
    ) -> Result<()> {
        let options = self.options;
        let regular = self.input.kind() == FileKind::Regular;
        let auto = self.settings.auto(options);
        if journal.is_some_and(Journal::fresh) {
            output.file().set_len(0)?;
        }
        if self.cloned(output, devices, len)? {
            stats.cloned = len;
            self.progress.add(len);
            return Ok(());
        }
        // In an overwritten file, holes would show the old bytes.
        let holes = options.sparse != Sparse::Never && !output.overwrites();
        let sparse = holes && regular && stat.sparse;
        if options.verify || journal.is_some() {
            let plan = self.plan(output, Some(len), true)?.strategy;
            if sparse || !regular {
                hollow(output, len)?;
            } else {
                extend(output, len, &plan)?.keep();
            }
            let hashed = Hashed {
                input: self.input,
                output: output.file(),
                len,
                sparse,
                verify: options.verify,
                journal,
                read_cache: plan.read_cache,
                write_cache: plan.write_cache,
                workers: plan.workers,
                progress: self.progress,
            };
            // Shorter files are copied at the same time if the memory suffices for all workers of the tree, but not beside
            // a file that takes all of it.
            let units = Units { len, read_back: options.verify };
            let in_turn = len > STRIPE || units.memory() * self.settings.workers() as u64 > plan.budget;
            let _turn = in_turn.then(|| self.turn.write());
            let _beside = (!in_turn).then(|| self.turn.read());
            stats.add(&hashed.run()?);
            stats.holes = len - stats.copied - stats.resumed;
            return Ok(());
        }
        if options.sparse == Sparse::Always && holes {
            return self.runs(output, len, sparse, stats, |range| self.without_zeros(output, range));
        }
        if auto && len < SMALL && sparse {
            return self.runs(output, len, sparse, stats, |range| self.by_memory(output, range));
        }
        if auto && len < SMALL {
            stats.copied = self.by_memory(output, 0..len)?;
            return Ok(());
        }
        if auto && options.reflink == Reflink::Auto && served(self.input) {
            let copied = self.input.copy_range(0..len, output.file(), 0)?;
            self.progress.add(copied.bytes());
            (stats.cloned, stats.copied) = (copied.cloned, copied.bytes() - copied.cloned);
            return Ok(());
        }
        let plan = self.plan(output, Some(len), false)?;
        let strategy = &plan.strategy;
        let _turn = self.turn.write();
        if strategy.write.capabilities.copies_whole {
            let may_share = options.reflink != Reflink::Never;
            stats.copied = copy_whole(self.input, output, may_share, self.progress)?.bytes;
            return Ok(());
        }
        if !sparse {
            let extension = extend(output, len, strategy)?;
            stats.copied = self.run(output, &Scope::whole(len), Some(len), (&plan).into())?;
            taken_by_device(output, strategy)?;
            extension.keep();
            return Ok(());
        }
        self.runs(output, len, true, stats, |range| {
            if auto && range.end - range.start < SMALL {
                return self.by_memory(output, range);
            }
            if strategy.allocation == Allocation::Fallocate {
                match output.file().reserve(range.clone()) {
                    Err(error) if error.kind() != ErrorKind::Unsupported => return Err(error),
                    _ => {}
                }
            }
            self.run(output, &Scope { range, ..Scope::whole(len) }, Some(len), (&plan).into())
        })?;
        taken_by_device(output, strategy)
    }

    /// Copies each run of data by `copy`, which returns the bytes written; the rest of the output are holes.
    fn runs(
        &self,
        output: &Output,
        len: u64,
        sparse: bool,
        stats: &mut CopyStats,
        mut copy: impl FnMut(Range<u64>) -> Result<u64>,
    ) -> Result<()> {
        hollow(output, len)?;
        let mut runs = StripeQueue::of_data(self.input, len, u64::MAX, sparse);
        while let Some(range) = runs.next_stripe(|hole| self.progress.add(hole.end - hole.start)) {
            stats.copied += copy(range)?;
        }
        stats.holes = len - stats.copied;
        Ok(())
    }

    /// True if all blocks are shared now.
    fn cloned(&self, output: &mut Output, devices: (u64, u64), len: u64) -> Result<bool> {
        let always = self.options.reflink == Reflink::Always;
        if self.options.reflink == Reflink::Never || self.options.sparse != Sparse::Auto || len == 0 {
            return Ok(false);
        }
        if self.input.kind() != FileKind::Regular || !(always || clones(devices)) {
            if always {
                let what = format!("a {} cannot share blocks", self.input.kind());
                return Err(Error::new(ErrorKind::Unsupported, "clone", self.input.path(), what));
            }
            return Ok(false);
        }
        if output.become_clone(self.input)? {
            return Ok(true);
        }
        if always {
            self.input.clone_range(0..len, output.file(), 0)?;
            return Ok(true);
        }
        Ok(share_all(self.input, output.file(), devices))
    }

    /// Reads and writes a run of data. `copy_file_range` is no faster here, and may share blocks against the options.
    fn by_memory(&self, output: &Output, range: Range<u64>) -> Result<u64> {
        let len = range.end - range.start;
        self.pieces(range, |piece, at| output.file().write_all_at(piece, at))?;
        Ok(len)
    }

    /// As [`by_memory`](Self::by_memory), without blocks of zeros; returns the bytes written.
    fn without_zeros(&self, output: &Output, range: Range<u64>) -> Result<u64> {
        let mut written = 0;
        self.pieces(range, |piece, at| {
            written += write_without_zeros(output.file(), piece, at)?;
            Ok(())
        })?;
        Ok(written)
    }

    /// Reads a run of data in pieces of whole blocks.
    fn pieces(&self, range: Range<u64>, mut each: impl FnMut(&[u8], u64) -> Result<()>) -> Result<()> {
        let mut memory = vec![0; (range.end - range.start).min(REQUEST) as usize];
        let mut at = range.start;
        while at < range.end {
            self.progress.check()?;
            let len = (range.end - at).min(REQUEST) as usize;
            let read = self.input.read_at(&mut memory[..len], at)?;
            if read == 0 {
                return Err(Error::changed(self.input.path(), "truncated while being read"));
            }
            each(&memory[..read], at)?;
            at += read as u64;
            self.progress.add(read as u64);
        }
        Ok(())
    }

    /// Plans the copy. With `striped` the plan is for [`Hashed`], in units of a stripe.
    pub(super) fn plan(&self, output: &Output, len: Option<u64>, striped: bool) -> Result<Plan> {
        let units = Units { len: STRIPE, read_back: self.options.verify };
        let planner = if striped { self.settings.planner.in_units(units) } else { self.settings.planner };
        let mut plan = planner.plan(Purpose::Copy, Some(self.input), len, Some(output))?;
        let shares = |plan: &Plan| {
            self.options.reflink == Reflink::Never && plan.strategy.write.name == "copy_file_range"
        };
        if shares(&plan) && !planner.is_named() {
            // It was the fastest in the profile.
            plan = planner.with_profile(None).plan(Purpose::Copy, Some(self.input), len, Some(output))?;
        }
        if shares(&plan) {
            let what = "the system may share blocks under method copy_file_range";
            return Err(Error::new(ErrorKind::Unsupported, "copy", self.input.path(), what)
                .advise("name another method, or let blocks be shared"));
        }
        if self.options.report_plans {
            let source = self.input.path().to_owned();
            (self.report)(CopyEvent::Planned { source, plan: Box::new(plan.clone()) });
        }
        Ok(plan)
    }

    /// Copies a range of the file by the transfer loop; returns the bytes moved.
    fn run(&self, output: &Output, scope: &Scope, len: Option<u64>, choice: RunStrategy<'_>) -> Result<u64> {
        let source = match len {
            Some(len) => Source::File { file: self.input, len },
            None => Source::Stream(Box::new(StreamReader::new(self.input.clone(), output.seekable()))),
        };
        let sink = Sink::to(output);
        let transfer = Transfer::untouched(&source, &sink, scope.order, self.progress);
        Ok(Run::new(transfer, scope, choice).finish()?.bytes)
    }

    fn attributes(&self, output: &Output, stat: &Status) -> Result<()> {
        let (preserve, file) = (&self.options.preserve, output.file());
        // Before the attributes: a change of owner clears capabilities.
        if !preserve.owner {
            output.inherit_owner()?;
        }
        if preserve.mode && attributes::is_unlisted(self.input) {
            output.inherit_mode(true)?;
        }
        let (source, target) =
            (AttributeTarget::Open(self.input.as_handle()), AttributeTarget::Open(file.as_handle()));
        let is_usual = !preserve.mode && !output.inherits();
        let mode = || output.usual_mode(attributes::usual(preserve, stat), self.umask.unwrap_or_else(umask));
        let mode = is_usual.then(mode).transpose()?;
        attributes::keep(preserve, source, stat, target, mode, &|| file.path().to_owned())?;
        if preserve.owner && !preserve.mode { output.inherit_mode(false) } else { Ok(()) }
    }
}

/// Gives a copy its length; what is not written stays a hole.
fn hollow(output: &Output, len: u64) -> Result<()> {
    // On a file system without holes they are blocks of zeros.
    let _ = sys::make_sparse(output.file());
    output.file().set_len(len)
}

/// Writes the blocks that are not all zeros; returns their length.
pub(super) fn write_without_zeros(output: &File, piece: &[u8], at: u64) -> Result<u64> {
    /// Block size of file systems, in bytes.
    const BLOCK: usize = 4 << 10;
    let blocks: Vec<_> = piece.chunks(BLOCK).collect();
    let (mut start, mut written) = (0, 0);
    for run in blocks.chunk_by(|one, two| zeros(one) == zeros(two)) {
        let end = start + run.iter().map(|block| block.len()).sum::<usize>();
        if !zeros(run[0]) {
            output.write_all_at(&piece[start..end], at + start as u64)?;
            written += (end - start) as u64;
        }
        start = end;
    }
    Ok(written)
}

fn zeros(block: &[u8]) -> bool {
    block.iter().all(|&byte| byte == 0)
}

/// True for a regular file whose length has no meaning: the kernel generates the bytes on read (sysfs and others).
pub(super) fn lengthless(file: impl AsHandle, stat: &Status) -> bool {
    let nominal = || sys::file_system_kind(file).is_ok_and(FileSystemKind::has_nominal_lengths);
    stat.size > 0 && stat.blocks == 0 && nominal()
}

/// True if the file is on a server that copies files locally on request (`copy_file_range`).
fn served(file: &File) -> bool {
    sys::file_system_kind(file).is_ok_and(FileSystemKind::copies_on_server)
}
