//! Counts this thread's read and write calls by the kernel's accounting.

use std::fs;

/// Returns the result of `work` and its numbers of read and write calls (`/proc/thread-self/io`).
pub(crate) fn counted<T>(work: impl FnOnce() -> T) -> (T, u64, u64) {
    let (reads, writes) = calls();
    let result = work();
    let (reads_after, writes_after) = calls();
    // Reading the counters adds read calls of its own.
    let own = {
        let (first, _) = calls();
        let (second, _) = calls();
        second - first
    };
    (result, reads_after - reads - own, writes_after - writes)
}

fn calls() -> (u64, u64) {
    let text = fs::read_to_string("/proc/thread-self/io").unwrap();
    let field = |name: &str| {
        text.lines().find_map(|line| line.strip_prefix(name)?.trim().parse::<u64>().ok()).unwrap()
    };
    (field("syscr:"), field("syscw:"))
}

#[test]
fn calls_are_counted() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("file");
    let file = fs::File::create_new(&path).unwrap();
    let ((), reads, writes) = counted(|| {
        for offset in 0..7 {
            std::os::unix::fs::FileExt::write_all_at(&file, b"x", offset).unwrap();
        }
    });
    assert_eq!((reads, writes), (0, 7));
}
