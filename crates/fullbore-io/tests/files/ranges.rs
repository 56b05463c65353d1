//! Locks on ranges of bytes, between handles and between processes.

use super::*;

use fullbore_io::file::RangeLock;

#[test]
fn exclusive_excludes_all_and_shared_admits_shared_where_ranges_overlap() {
    everywhere(|directory| {
        let path = directory.join("file");
        let one = File::create_new(&path).unwrap();
        let two = File::open_write(&path).unwrap();
        let can = |range: std::ops::Range<u64>, lock| match two.try_lock_range(range, lock) {
            Ok(_) => true,
            Err(error) => {
                assert_eq!(error.kind(), ErrorKind::Locked, "{error}");
                false
            }
        };
        {
            let _shared = one.lock_range(100..200, RangeLock::Shared).unwrap();
            for (start, end, meets) in [(0, 100, false), (0, 101, true), (199, 200, true), (200, 300, false)]
            {
                assert!(can(start..end, RangeLock::Shared), "{start}..{end}");
                assert_eq!(can(start..end, RangeLock::Exclusive), !meets, "{start}..{end}");
            }
            // A second lock of the same owner replaces the first, but on Windows it conflicts with it.
            let exclusive = one.try_lock_range(150..160, RangeLock::Exclusive);
            assert_eq!(exclusive.is_ok(), cfg!(unix));
            assert_eq!(can(155..156, RangeLock::Shared), cfg!(windows));
            assert!(can(140..150, RangeLock::Shared));
        }
        assert!(can(0..u64::MAX, RangeLock::Exclusive), "dropped guards release their ranges");
        let _all = one.lock_range(1000..u64::MAX, RangeLock::Exclusive).unwrap();
        assert!(!can((1 << 62)..(1 << 62) + 1, RangeLock::Shared), "the lock has no end");
    });
}

#[test]
fn invalid_ranges_and_missing_access_are_errors() {
    everywhere(|directory| {
        let path = directory.join("file");
        let file = File::create_new(&path).unwrap();
        for range in [5..5, u64::MAX - 1..u64::MAX] {
            assert_eq!(file.lock_range(range, RangeLock::Shared).unwrap_err().kind(), ErrorKind::Invalid);
        }
        #[allow(clippy::reversed_empty_ranges, reason = "it must be refused")]
        let backwards = 6..5;
        assert_eq!(file.lock_range(backwards, RangeLock::Shared).unwrap_err().kind(), ErrorKind::Invalid);
        let reader = File::open(&path).unwrap();
        let error = reader.lock_range(0..1, RangeLock::Exclusive).unwrap_err().to_string();
        assert!(error.contains("file: cannot lock at offset 0"), "{error}");
    });
}

#[test]
fn another_process_is_excluded_and_closing_another_handle_keeps_the_lock() {
    const CHILD: &str = "FULLBORE_TEST_RANGE_FILE";
    if let Some(path) = std::env::var_os(CHILD) {
        let taken = File::open_write(path).unwrap().try_lock_range(0..10, RangeLock::Exclusive);
        std::process::exit(if taken.is_ok() { 10 } else { 11 });
    }
    everywhere(|directory| {
        let path = directory.join("file");
        let file = File::create_new(&path).unwrap();
        let child = || {
            let test = "ranges::another_process_is_excluded_and_closing_another_handle_keeps_the_lock";
            alone(test).env(CHILD, &path).output().unwrap().status.code()
        };
        let guard = file.lock_range(0..10, RangeLock::Shared).unwrap();
        // POSIX record locks would be lost here.
        drop(File::open(&path).unwrap());
        assert_eq!(child(), Some(11));
        drop(guard);
        assert_eq!(child(), Some(10));
    });
}
