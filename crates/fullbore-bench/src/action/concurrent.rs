//! Concurrent transfers. All start together and all end when the first has finished, so that each is measured only
//! while all others run.

use std::ops::Range;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::{self, ScopedJoinHandle};
use std::time::{Duration, Instant};

use fullbore::Result;
use fullbore::error::Error;
use fullbore::file::File;
use fullbore::operation::generate::Stamped;
use fullbore::pattern::{Order, Progress, Scope, Stats};
use fullbore::strategy::Strategy;

use super::one_way::{OneWayIo, Precondition, read_or_overwrite};
use super::workload::{ExpectedState, RunResult, repeat_until};

/// One of the transfers: a run of a file, read or written sequentially.
#[derive(Debug, Clone)]
pub(super) struct FileRange {
    /// The file; for writes, its blocks exist.
    pub(super) file: File,
    pub(super) range: Range<u64>,
}

/// Establishes the state of the parts. That of reads is proved by the ranges, that of writes by the device only.
pub(super) fn prepare(parts: &[FileRange], precondition: Precondition) -> Result<ExpectedState> {
    parts.iter().try_for_each(|part| precondition.establish(&part.file, &part.range))?;
    let ranges = parts.iter().filter(|_| !precondition.writes);
    Ok(ExpectedState {
        ranges: ranges.map(|part| (part.file.clone(), part.range.clone())).collect(),
        cache: precondition.cache,
        device: precondition.device(),
        fills_page_cache: false,
    })
}

/// Returns the length of a part of a sample: the wanted bytes, but at least `least`, in whole requests within `room`.
pub(super) fn span(wanted: u64, least: u64, request: u64, room: u64) -> u64 {
    (wanted.max(least).min(room) / request * request).max(request.min(room))
}

/// The data of writes, and true if their time includes flushing to the device; `None` for reads.
pub(super) type Written<'a> = Option<(&'a Stamped, bool)>;

#[derive(Debug)]
pub(super) struct Transfers<'a> {
    pub(super) written: Written<'a>,
    pub(super) strategy: Strategy,
    pub(super) progress: &'a Progress,
}

impl<'a> Transfers<'a> {
    /// Returns the transfers of a planned trial; writes are flushed if `flush`.
    pub(super) fn of(io: &'a OneWayIo, flush: bool, progress: &'a Progress) -> Self {
        Self { written: io.data().map(|data| (data, flush)), strategy: io.strategy(), progress }
    }

    /// Transfers the end of each part, which a sample reaches last, again and again until `enough` is set.
    pub(super) fn ramp_up(&self, parts: &[FileRange], enough: &AtomicBool) -> Result<()> {
        let mut ends = parts.to_vec();
        for part in &mut ends {
            part.range.start += (part.range.end - part.range.start) / 2 / 4096 * 4096;
        }
        repeat_until(enough, || self.run(&ends, Some(enough)).map(drop))
    }

    /// Runs all parts until the first has finished or failed, or until `enough` is set. The total throughput is over the
    /// time from the first request to the last of all parts; each part's is over its own.
    pub(super) fn run(&self, parts: &[FileRange], enough: Option<&AtomicBool>) -> Result<RunResult> {
        let (go, stop) = (AtomicBool::new(false), AtomicBool::new(false));
        let one = |part: &FileRange| {
            // No thread starts before all are ready.
            while !go.load(Ordering::Acquire) {
                thread::park();
            }
            let result = self.transfer(part, &stop);
            stop.store(true, Ordering::Relaxed);
            result
        };
        let results = thread::scope(|scope| {
            let mut threads: Vec<ScopedJoinHandle<'_, Result<Transferred>>> = Vec::with_capacity(parts.len());
            let mut refused = None;
            for part in parts {
                match thread::Builder::new().spawn_scoped(scope, || one(part)) {
                    Ok(thread) => threads.push(thread),
                    Err(error) => refused = Some(Error::io("start a thread for", part.file.path(), error)),
                }
            }
            stop.store(refused.is_some(), Ordering::Relaxed);
            go.store(true, Ordering::Release);
            threads.iter().for_each(|thread| thread.thread().unpark());
            if let Some(enough) = enough {
                while !threads.iter().all(ScopedJoinHandle::is_finished) && !enough.load(Ordering::Relaxed) {
                    thread::sleep(Duration::from_millis(1));
                }
                stop.store(true, Ordering::Relaxed);
            }
            let transferred = threads
                .into_iter()
                .map(|thread| thread.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic)));
            let transferred = transferred.collect::<Result<Vec<Transferred>>>();
            refused.map_or(transferred, Err)
        })?;
        Ok(combine(&results, self.written.is_some()))
    }

    fn transfer(&self, part: &FileRange, stop: &AtomicBool) -> Result<Transferred> {
        let Self { strategy, progress, .. } = self;
        let scope = Scope { range: part.range.clone(), order: Order::Sequential };
        let data = self.written.map(|(data, _)| data);
        let mut stats = read_or_overwrite(&part.file, &scope, strategy, data, stop, progress)?;
        // The first part that finishes stops the others, before it flushes to the device.
        stop.store(true, Ordering::Relaxed);
        if self.written.is_some_and(|(_, flush)| flush) {
            let clock = Instant::now();
            part.file.sync_data()?;
            stats.elapsed += clock.elapsed();
        }
        Ok(Transferred { stats, end: Instant::now() })
    }
}

#[derive(Debug, Clone, Copy)]
struct Transferred {
    stats: Stats,
    end: Instant,
}

fn combine(transferred: &[Transferred], writes: bool) -> RunResult {
    let mut done = RunResult::default();
    let mut io_stats = fullbore::engine::IoStats::default();
    for Transferred { stats, .. } in transferred {
        done.bytes += stats.bytes;
        done.setup_cpu.0 += stats.setup_user;
        done.setup_cpu.1 += stats.setup_system;
        io_stats.add(if writes { &stats.writes } else { &stats.reads });
        let seconds = stats.elapsed.as_secs_f64();
        done.streams.push(if seconds > 0.0 { stats.bytes as f64 / seconds } else { 0.0 });
    }
    done.requests = io_stats.requests;
    done.depth = Some(io_stats.depth());
    // Opening does not count, so the start of a part is its end minus its measured time.
    let first = transferred.iter().map(|one| one.end - one.stats.elapsed).min();
    let last = transferred.iter().map(|one| one.end).max();
    done.seconds = first.zip(last).map(|(first, last)| (last - first).as_secs_f64());
    done
}

#[cfg(test)]
mod tests {
    use fullbore::operation::Generate;
    use fullbore_testkit::ground::write_file;

    use super::*;

    fn run(parts: &[FileRange], written: Written<'_>, enough: Option<&AtomicBool>) -> Result<RunResult> {
        let strategy = Strategy { request: 4096, ..Strategy::plain() };
        Transfers { written, strategy, progress: &Progress::default() }.run(parts, enough)
    }

    fn files(directory: &std::path::Path, lens: &[u64]) -> Vec<FileRange> {
        lens.iter()
            .enumerate()
            .map(|(index, &len)| {
                let path = write_file(directory, &index.to_string(), vec![0; len as usize]);
                FileRange { file: File::open_write(&path).unwrap(), range: 0..len }
            })
            .collect()
    }

    #[test]
    fn first_finished_transfer_stops_the_others() {
        let directory = tempfile::tempdir().unwrap();
        let parts = files(directory.path(), &[4096, 256 << 20]);
        let done = run(&parts, None, None).unwrap();
        assert_eq!(done.streams.len(), 2);
        assert!(done.bytes >= 4096 && done.bytes < 4096 + (256 << 20), "{done:?}");
        assert!(done.requests >= 1 && done.seconds.unwrap() > 0.0);
    }

    #[test]
    fn flag_stops_all_transfers() {
        let directory = tempfile::tempdir().unwrap();
        let parts = files(directory.path(), &[64 << 20]);
        let enough = AtomicBool::new(true);
        let done = run(&parts, None, Some(&enough)).unwrap();
        assert!(done.bytes < 64 << 20, "{done:?}");
    }

    #[test]
    fn each_transfer_writes_its_own_range() {
        let directory = tempfile::tempdir().unwrap();
        let [file] = files(directory.path(), &[64 << 10]).try_into().unwrap();
        let parts = [0..32 << 10, 32 << 10..64 << 10].map(|range| FileRange { range, ..file.clone() });
        let data = Stamped::new(3, 4096);
        let done = run(&parts, Some((&data, true)), None).unwrap();
        // The first part may have stopped the second; the first is whole.
        assert!((32 << 10..=64 << 10).contains(&done.bytes), "{done:?}");
        let mut expected = vec![0; 4096];
        let mut written = 0;
        for (index, block) in std::fs::read(file.file.path()).unwrap().chunks(4096).enumerate() {
            data.fill(4096 * index as u64, &mut expected);
            assert!(block == expected || block.iter().all(|&byte| byte == 0), "block {index}");
            written += if block == expected { 4096 } else { 0 };
        }
        assert_eq!(written, done.bytes);
    }

    #[test]
    fn one_failure_stops_every_transfer() {
        let directory = tempfile::tempdir().unwrap();
        let mut parts = files(directory.path(), &[4096, 4096]);
        parts[1].range = 0..1 << 30;
        let error = run(&parts, None, None).unwrap_err();
        assert!(error.to_string().contains("4096"), "{error}");
    }
}
