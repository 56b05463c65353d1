//! Counts the read and write calls that this thread makes: what the kernel says of it.

use std::fs;

/// How many calls `work` reads with and how many it writes with (`/proc/thread-self/io`).
pub(crate) fn counted<T>(work: impl FnOnce() -> T) -> (T, u64, u64) {
    let (reads, writes) = calls();
    let result = work();
    let (reads_after, writes_after) = calls();
    // Looking at the counters reads them: once more than before.
    let looking = {
        let (first, _) = calls();
        let (second, _) = calls();
        second - first
    };
    (result, reads_after - reads - looking, writes_after - writes)
}

fn calls() -> (u64, u64) {
    let text = fs::read_to_string("/proc/thread-self/io").unwrap();
    let field = |name: &str| {
        text.lines().find_map(|line| line.strip_prefix(name)?.trim().parse::<u64>().ok()).unwrap()
    };
    (field("syscr:"), field("syscw:"))
}

#[test]
fn the_counters_count() {
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
