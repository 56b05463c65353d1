//! Counts this thread's read and write calls by the kernel's accounting.

use std::ops::RangeBounds;

/// A number of calls; unknown on Windows, which counts those of the whole process, and under Wine none.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Calls(Option<u64>);

impl Calls {
    /// True if the number is in the range, or unknown.
    pub(crate) fn are(self, range: impl RangeBounds<u64>) -> bool {
        self.0.is_none_or(|calls| range.contains(&calls))
    }
}

/// Returns the result of `work` and its numbers of read and write calls.
#[cfg(windows)]
pub(crate) fn counted<T>(work: impl FnOnce() -> T) -> (T, Calls, Calls) {
    (work(), Calls(None), Calls(None))
}

/// Returns the result of `work` and its numbers of read and write calls (`/proc/thread-self/io`).
#[cfg(unix)]
pub(crate) fn counted<T>(work: impl FnOnce() -> T) -> (T, Calls, Calls) {
    let (reads, writes) = calls();
    let result = work();
    let (reads_after, writes_after) = calls();
    // Reading the counters adds read calls of its own.
    let own = {
        let (first, _) = calls();
        let (second, _) = calls();
        second - first
    };
    (result, Calls(Some(reads_after - reads - own)), Calls(Some(writes_after - writes)))
}

#[cfg(unix)]
fn calls() -> (u64, u64) {
    let text = std::fs::read_to_string("/proc/thread-self/io").unwrap();
    let field = |name: &str| {
        text.lines().find_map(|line| line.strip_prefix(name)?.trim().parse::<u64>().ok()).unwrap()
    };
    (field("syscr:"), field("syscw:"))
}

#[cfg(unix)]
#[test]
fn calls_are_counted() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("file");
    let file = std::fs::File::create_new(&path).unwrap();
    let ((), reads, writes) = counted(|| {
        for offset in 0..7 {
            std::os::unix::fs::FileExt::write_all_at(&file, b"x", offset).unwrap();
        }
    });
    assert_eq!((reads.0, writes.0), (Some(0), Some(7)));
}
