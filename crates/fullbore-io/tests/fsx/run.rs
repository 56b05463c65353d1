//! Two files, their models, and the operations on both.

use std::collections::VecDeque;
use std::fs;
use std::io::{IoSlice, IoSliceMut};
use std::path::{Path, PathBuf};
use std::sync::LazyLock;

use fullbore_io::error::{ErrorKind, Result};
use fullbore_io::fault::Plan;
use fullbore_io::file::{CachePolicy, File, MmapMut};

use crate::absurd;
use crate::counts::OperationCounts;
use crate::operation::{Draw, FILES, LONGEST, Numbers, Operation, Span, Step};
use fullbore_testkit::ground::bytes;

/// Number of operations that a failure prints.
const LISTED: usize = 40;

/// The bytes to write, used from random offsets.
static SOURCE: LazyLock<Vec<u8>> = LazyLock::new(|| bytes(2 * LONGEST + 8192, 1));

/// A file's handles, one per cache policy.
struct Handles {
    keep: File,
    drop: File,
    direct: File,
}

impl Handles {
    fn open(path: &Path, plan: Option<&Plan>) -> Self {
        let file = File::open_write(path).unwrap();
        let keep = plan.map_or(file.clone(), |plan| file.with_faults(plan));
        Self {
            drop: keep.with_cache(CachePolicy::DontCache).0,
            direct: keep.with_cache(CachePolicy::Direct).0,
            keep,
        }
    }

    fn of(&self, cache: CachePolicy) -> &File {
        match cache {
            CachePolicy::DontCache => &self.drop,
            CachePolicy::Direct => &self.direct,
            _ => &self.keep,
        }
    }
}

/// A mapping and its range.
struct Kept {
    file: usize,
    start: usize,
    mmap: MmapMut,
}

pub(crate) struct Run {
    draw: Draw,
    pub(crate) paths: [PathBuf; FILES],
    files: [Handles; FILES],
    pub(crate) models: [Vec<u8>; FILES],
    /// The synced content.
    pub(crate) durable: [Vec<u8>; FILES],
    pub(crate) plan: Option<Plan>,
    kept: Option<Kept>,
    /// Destination of reads.
    memory: Vec<u8>,
    last: VecDeque<(u64, Step)>,
    pub(crate) counts: OperationCounts,
}

impl Run {
    pub(crate) fn new(directory: &Path, numbers: Numbers, plan: Option<Plan>) -> Self {
        let paths = ["one", "two"].map(|name| directory.join(name));
        for path in &paths {
            fs::write(path, b"").unwrap();
        }
        Self {
            draw: Draw::new(numbers),
            files: [Handles::open(&paths[0], plan.as_ref()), Handles::open(&paths[1], plan.as_ref())],
            paths,
            models: Default::default(),
            durable: Default::default(),
            plan,
            kept: None,
            memory: vec![0; LONGEST + 8192],
            last: VecDeque::new(),
            counts: OperationCounts::default(),
        }
    }

    /// Draws an operation and executes it.
    pub(crate) fn step(&mut self) {
        let lens = [self.models[0].len(), self.models[1].len()];
        let step = self.draw.next(lens);
        if self.last.len() == LISTED {
            self.last.pop_front();
        }
        self.last.push_back((self.counts.total(), step.clone()));
        let name = step.name();
        match self.apply(step) {
            Ok(()) => self.counts.done(name),
            Err(error) if error.kind() == ErrorKind::Unsupported => self.counts.refused(name),
            Err(error) => panic!("{name}: {error}"),
        }
    }

    fn apply(&mut self, Step { span, operation }: Step) -> Result<()> {
        let file = self.files[span.file].of(span.cache);
        let model = &mut self.models[span.file];
        let offset = span.offset as u64;
        match operation {
            Operation::Read { exact } => return self.read(&span, exact),
            Operation::ReadVectored { cuts, exact } => return self.read_vectored(&span, &cuts, exact),
            Operation::Write { all, source } => {
                let data = taken(source, &span);
                let written = if all {
                    file.write_all_at(data, offset)?;
                    data.len()
                } else {
                    file.write_at(data, offset)?
                };
                write_model(model, span.offset, data, written);
            }
            Operation::WriteVectored { cuts, all, source } => {
                let data = taken(source, &span);
                let parts: Vec<IoSlice<'_>> =
                    pieces(&cuts).map(|(start, end)| IoSlice::new(&data[start..end])).collect();
                let written = if all {
                    file.write_all_vectored_at(&parts, offset)?;
                    data.len()
                } else {
                    file.write_vectored_at(&parts, offset)?
                };
                write_model(model, span.offset, data, written);
            }
            Operation::SetLen => {
                self.permit_truncation(&span);
                self.files[span.file].of(span.cache).set_len(offset)?;
                self.models[span.file].resize(span.offset, 0);
            }
            Operation::PunchHole => {
                file.punch_hole(span.range())?;
                zeroed(model, &span);
            }
            Operation::ZeroRange => {
                file.zero_range(span.range())?;
                zeroed(model, &span);
            }
            Operation::Reserve => file.reserve(span.range())?,
            Operation::Allocate => {
                file.allocate_and_extend(offset)?;
                model.resize(model.len().max(span.offset), 0);
            }
            Operation::Copy(to) => return self.copy(&span, &to),
            Operation::Clone(to) => return self.clone_blocks(&span, &to),
            Operation::MapRead => {
                let mmap = file.map(span.range())?;
                let model = &model[span.offset..span.end()];
                mmap.in_place(|bytes| assert!(bytes == model, "{}", differ(bytes, model)))?;
                assert!(mmap.read_exact_at(&mut [0], span.len).is_err());
                assert!(mmap.read_exact_at(&mut [0], usize::MAX).is_err());
            }
            Operation::MapWrite { source, flush } => {
                let data = taken(source, &span);
                let mut mmap = file.map_writable(span.range())?;
                mmap.write_all_at(data, 0)?;
                assert!(mmap.write_all_at(&[0], usize::MAX).is_err());
                model[span.offset..span.end()].copy_from_slice(data);
                if flush && !data.is_empty() {
                    mmap.flush()?;
                    mark_durable(&mut self.durable[span.file], model, span.offset, span.len);
                }
            }
            Operation::KeepWindow => {
                let mmap = file.map_writable(span.range())?;
                self.kept = Some(Kept { file: span.file, start: span.offset, mmap });
            }
            Operation::ReadKept => return self.read_kept(),
            Operation::WriteKept { place, len, source, flush } => {
                return self.write_kept(place, len, source, flush);
            }
            Operation::Seek => return self.seek(&span),
            Operation::Reopen => {
                let plan = self.plan.as_ref();
                self.files = [Handles::open(&self.paths[0], plan), Handles::open(&self.paths[1], plan)];
                self.compare(0);
                self.compare(1);
            }
            Operation::DropCache => {
                let _ = file.drop_cache();
                return self.read(&span, false);
            }
            Operation::Sync(level) => {
                file.sync(level)?;
                self.durable[span.file].clone_from(model);
            }
            Operation::Compare => self.compare(span.file),
            Operation::Absurd(at) => return self.absurd(&span, at),
        }
        Ok(())
    }

    fn read(&mut self, span: &Span, exact: bool) -> Result<()> {
        let place = self.memory.as_ptr().align_offset(4096) + span.shift;
        let into = &mut self.memory[place..place + span.len];
        into.fill(0xa5);
        let file = self.files[span.file].of(span.cache);
        let model = rest(&self.models[span.file], span);
        if exact {
            let result = file.read_exact_at(into, span.offset as u64);
            return judge_exact(result, into, model);
        }
        let count = file.read_at(into, span.offset as u64)?;
        judge_once(count, into, model);
        Ok(())
    }

    fn read_vectored(&mut self, span: &Span, cuts: &[usize], exact: bool) -> Result<()> {
        let place = self.memory.as_ptr().align_offset(4096) + span.shift;
        let into = &mut self.memory[place..place + span.len];
        into.fill(0xa5);
        let mut parts = Vec::with_capacity(cuts.len());
        let mut left = &mut *into;
        for (start, end) in pieces(cuts) {
            let (part, after) = left.split_at_mut(end - start);
            left = after;
            parts.push(IoSliceMut::new(part));
        }
        let file = self.files[span.file].of(span.cache);
        let model = rest(&self.models[span.file], span);
        if exact {
            let result = file.read_exact_vectored_at(&mut parts, span.offset as u64);
            return judge_exact(result, into, model);
        }
        let count = file.read_vectored_at(&mut parts, span.offset as u64)?;
        judge_once(count, into, model);
        Ok(())
    }

    fn copy(&mut self, from: &Span, to: &Span) -> Result<()> {
        let (source, target) = (self.files[from.file].of(from.cache), self.files[to.file].of(to.cache));
        let data = rest(&self.models[from.file], from).to_vec();
        let result = source.copy_range(from.range(), target, to.offset as u64);
        let (start, end) = (from.offset, from.offset + data.len());
        if from.file == to.file && start < to.offset + data.len() && to.offset < end {
            assert_eq!(result.unwrap_err().kind(), ErrorKind::SameFile);
            return Ok(());
        }
        let report = result?;
        assert_eq!(report.bytes(), data.len() as u64, "{report:?}");
        write_model(&mut self.models[to.file], to.offset, &data, data.len());
        Ok(())
    }

    fn clone_blocks(&mut self, from: &Span, to: &Span) -> Result<()> {
        let (source, target) = (self.files[from.file].of(from.cache), self.files[to.file].of(to.cache));
        source.clone_range(from.range(), target, to.offset as u64)?;
        let data = rest(&self.models[from.file], from).to_vec();
        assert_eq!(data.len(), from.len, "blocks beyond the end were shared");
        write_model(&mut self.models[to.file], to.offset, &data, data.len());
        Ok(())
    }

    /// Passes an offset or length near the largest to every call.
    fn absurd(&mut self, span: &Span, at: u64) -> Result<()> {
        let other = 1 - span.file;
        let files = [span.file, other].map(|file| self.files[file].of(span.cache));
        let into = &mut self.memory[..span.len];
        absurd::calls_are_refused(
            files,
            self.models[span.file].len() as u64,
            span,
            at,
            taken(0, span),
            into,
        )?;
        // Ranges that only start in the file. Copied to an offset, the other file could become too long.
        let tail = Span { len: at as usize - span.offset, ..*span };
        for file in [span.file, other] {
            self.copy(&tail, &Span { file, offset: 0, ..*span })?;
        }
        if self.files[span.file].of(span.cache).punch_hole(tail.range()).is_ok() {
            zeroed(&mut self.models[span.file], &tail);
        }
        self.compare(span.file);
        self.compare(other);
        Ok(())
    }

    pub(crate) fn unmap(&mut self) {
        self.kept = None;
    }

    /// On Windows, checks that a mapping is not truncated, and closes it.
    fn permit_truncation(&mut self, span: &Span) {
        let Some(Kept { start, mmap, .. }) = self.kept.as_ref().filter(|kept| kept.file == span.file) else {
            return;
        };
        if cfg!(windows) {
            if !mmap.is_empty() && span.offset < start + mmap.len() {
                let file = self.files[span.file].of(span.cache).without_faults();
                assert_eq!(file.set_len(span.offset as u64).unwrap_err().kind(), ErrorKind::Io);
            }
            self.unmap();
        }
    }

    /// Reads the kept mapping: it returns the bytes of the file, or `Changed` if the file was truncated.
    fn read_kept(&mut self) -> Result<()> {
        let Some(Kept { file, start, mmap }) = &self.kept else { return Ok(()) };
        let model = &self.models[*file];
        let into = &mut self.memory[..mmap.len()];
        let result = mmap.read_exact_at(into, 0);
        if *start + mmap.len() > model.len() {
            assert_eq!(result.unwrap_err().kind(), ErrorKind::Changed);
            // Its zero pages are permanent.
            self.kept = None;
            return Ok(());
        }
        result?;
        let model = &model[*start..*start + mmap.len()];
        assert!(*into == *model, "{}", differ(into, model));
        Ok(())
    }

    fn write_kept(&mut self, place: usize, len: usize, source: usize, flush: bool) -> Result<()> {
        let Some(Kept { file, start, mmap }) = &mut self.kept else { return Ok(()) };
        let model = &mut self.models[*file];
        let place = place % (mmap.len() + 1);
        let data = &SOURCE[source..][..len.min(mmap.len() - place)];
        let result = mmap.write_all_at(data, place);
        if *start + mmap.len() > model.len() {
            assert_eq!(result.unwrap_err().kind(), ErrorKind::Changed);
            self.kept = None;
            return Ok(());
        }
        result?;
        model[*start + place..][..data.len()].copy_from_slice(data);
        if flush && !mmap.is_empty() {
            mmap.flush()?;
            mark_durable(&mut self.durable[*file], model, *start, mmap.len());
        }
        Ok(())
    }

    /// Checks `seek_data` and `seek_hole`: only zeros may be in holes, and an offset is in data or in a hole, not both.
    fn seek(&self, span: &Span) -> Result<()> {
        let (file, model) = (self.files[span.file].of(span.cache), &self.models[span.file]);
        let start = span.offset;
        let ask = || -> Result<_> {
            let data = file.seek_data(start as u64)?.map(|found| found as usize);
            Ok((data, file.seek_hole(start as u64)?.map(|found| found as usize)))
        };
        let (mut data, mut hole) = ask()?;
        // A cached page of zeros in a reserved range is data. It may be dropped between the two calls (`RWF_DONTCACHE`), and
        // is in a hole then.
        if data == Some(start) && hole == Some(start) {
            (data, hole) = ask()?;
        }
        let from = start.min(model.len());
        let stop = data.unwrap_or(model.len());
        assert!(stop <= model.len() && data.is_none_or(|data| data >= start), "data at {data:?}");
        assert!(model[from..stop].iter().all(|&byte| byte == 0), "data skipped: {start}..{stop}");
        assert_eq!(hole.is_none(), start >= model.len(), "hole at {hole:?}");
        if let Some(hole) = hole {
            assert!(start <= hole && hole <= model.len(), "hole at {hole}");
            // An offset is in data or in a hole. One exception: for a last stretch of zeros btrfs reports both that no data
            // follows and that the hole begins at the end (seen on Linux 6.18).
            let last_zeros = data.is_none() && hole == model.len();
            assert!(
                last_zeros || (data == Some(start)) != (hole == start),
                "from {start}: data at {data:?}, hole at {hole}"
            );
        }
        assert_eq!(file.seekable_len()?, (!model.is_empty()).then_some(model.len() as u64));
        Ok(())
    }

    /// Compares the whole file with the model, read by std and by a handle.
    pub(crate) fn compare(&mut self, file: usize) {
        let (model, memory) = (&self.models[file], &mut self.memory);
        let found = fs::read(&self.paths[file]).unwrap();
        assert!(found == *model, "file {file}: {}", differ(&found, model));
        assert_eq!(self.files[file].keep.stamp().unwrap().len, model.len() as u64);
        let into = &mut memory[..model.len()];
        self.files[file].keep.read_exact_at(into, 0).unwrap();
        assert!(*into == **model, "file {file}: {}", differ(into, model));
    }

    /// Syncs the first file.
    pub(crate) fn sync_one(&mut self) {
        self.files[0].keep.sync_data().unwrap();
        self.durable[0].clone_from(&self.models[0]);
    }

    /// Compares all files with their models, from the cache and from the device.
    pub(crate) fn compare_all(&mut self) {
        for file in 0..FILES {
            self.compare(file);
            self.files[file].keep.sync_all().unwrap();
            let _ = self.files[file].keep.drop_cache();
            self.compare(file);
        }
    }
}

impl Drop for Run {
    fn drop(&mut self) {
        if std::thread::panicking() {
            let lens = [self.models[0].len(), self.models[1].len()];
            let path = self.paths[0].display();
            eprintln!(
                "{path}: the models have {lens:?} bytes; the last operations, ending with the failed one:"
            );
            for (number, operation) in &self.last {
                eprintln!("  {number}: {operation:?}");
            }
        }
    }
}

/// Returns the bytes to write, at the span's distance from the start of a page of memory.
fn taken(start: usize, span: &Span) -> &'static [u8] {
    let place = SOURCE.as_ptr().align_offset(4096) + start / 4096 * 4096 + span.shift;
    &SOURCE[place..place + span.len]
}

fn write_model(model: &mut Vec<u8>, offset: usize, data: &[u8], count: usize) {
    assert!(count > 0 || data.is_empty(), "nothing was written");
    if count > 0 {
        model.resize(model.len().max(offset + count), 0);
        model[offset..offset + count].copy_from_slice(&data[..count]);
    }
}

/// Applies the sync of a range to the durable content: its bytes and the file's length.
fn mark_durable(durable: &mut Vec<u8>, model: &[u8], offset: usize, len: usize) {
    durable.resize(model.len(), 0);
    durable[offset..offset + len].copy_from_slice(&model[offset..offset + len]);
}

fn zeroed(model: &mut [u8], span: &Span) {
    let len = model.len();
    model[span.offset.min(len)..span.end().min(len)].fill(0);
}

/// Returns the model's bytes in a span.
fn rest<'a>(model: &'a [u8], span: &Span) -> &'a [u8] {
    &model[span.offset.min(model.len())..span.end().min(model.len())]
}

/// Returns the ranges between cuts.
fn pieces(cuts: &[usize]) -> impl Iterator<Item = (usize, usize)> {
    cuts.iter().enumerate().map(|(index, &end)| (if index == 0 { 0 } else { cuts[index - 1] }, end))
}

fn judge_exact(result: Result<()>, into: &[u8], model: &[u8]) -> Result<()> {
    if model.len() < into.len() {
        assert_eq!(result.unwrap_err().kind(), ErrorKind::UnexpectedEof);
        return Ok(());
    }
    result?;
    assert!(into == model, "{}", differ(into, model));
    Ok(())
}

/// Checks a read that may be short, but returns 0 only at the end.
fn judge_once(count: usize, into: &[u8], model: &[u8]) {
    assert!(count <= model.len() && (count > 0 || model.is_empty()), "{count} of {}", model.len());
    assert!(into[..count] == model[..count], "{}", differ(&into[..count], &model[..count]));
}

/// Describes the first and last difference.
fn differ(found: &[u8], model: &[u8]) -> String {
    let differs = |index: &usize| found[*index] != model[*index];
    let both = found.len().min(model.len());
    let (first, last) = ((0..both).find(differs), (0..both).rev().find(differs));
    format!("{} bytes instead of {}; differences from {first:?} to {last:?}", found.len(), model.len())
}
