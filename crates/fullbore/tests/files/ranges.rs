//! Locks on ranges of bytes, between handles and between processes.

use std::process::Command;

use fullbore::error::Kind;
use fullbore::file::{File, RangeLock};

use crate::ground::everywhere;

#[test]
fn exclusive_keeps_all_out_shared_lets_shared_in_and_only_where_they_meet() {
    everywhere(|directory| {
        let path = directory.join("file");
        let one = File::create_new(&path).unwrap();
        let two = File::open_write(&path).unwrap();
        let can = |range: std::ops::Range<u64>, lock| two.try_lock_range(range, lock).unwrap().is_some();
        {
            let _shared = one.lock_range(100..200, RangeLock::Shared).unwrap();
            for (start, end, meets) in [(0, 100, false), (0, 101, true), (199, 200, true), (200, 300, false)]
            {
                assert!(can(start..end, RangeLock::Shared), "{start}..{end}");
                assert_eq!(can(start..end, RangeLock::Exclusive), !meets, "{start}..{end}");
            }
            // A second lock of the same owner changes the first.
            let _exclusive = one.lock_range(150..160, RangeLock::Exclusive).unwrap();
            assert!(!can(155..156, RangeLock::Shared) && can(140..150, RangeLock::Shared));
        }
        assert!(can(0..u64::MAX, RangeLock::Exclusive), "dropped guards give up their ranges");
        let _all = one.lock_range(1000..u64::MAX, RangeLock::Exclusive).unwrap();
        assert!(!can((1 << 62)..(1 << 62) + 1, RangeLock::Shared), "however far the file grows");
    });
}

#[test]
fn ranges_and_rights_that_cannot_be_are_errors() {
    everywhere(|directory| {
        let path = directory.join("file");
        let file = File::create_new(&path).unwrap();
        for range in [5..5, u64::MAX - 1..u64::MAX] {
            assert_eq!(file.lock_range(range, RangeLock::Shared).unwrap_err().kind(), Kind::Invalid);
        }
        #[allow(clippy::reversed_empty_ranges, reason = "it is what is refused")]
        let backwards = 6..5;
        assert_eq!(file.lock_range(backwards, RangeLock::Shared).unwrap_err().kind(), Kind::Invalid);
        let reader = File::open(&path).unwrap();
        let error = reader.lock_range(0..1, RangeLock::Exclusive).unwrap_err().to_string();
        assert!(error.contains("file: cannot lock at offset 0"), "{error}");
    });
}

#[test]
fn another_process_is_kept_out_and_closing_another_handle_gives_nothing_up() {
    const CHILD: &str = "FULLBORE_TEST_RANGE_FILE";
    if let Some(path) = std::env::var_os(CHILD) {
        let taken = File::open_write(path).unwrap().try_lock_range(0..10, RangeLock::Exclusive).unwrap();
        std::process::exit(if taken.is_some() { 10 } else { 11 });
    }
    everywhere(|directory| {
        let path = directory.join("file");
        let file = File::create_new(&path).unwrap();
        let child = || {
            let mut command = Command::new(std::env::current_exe().unwrap());
            command.args([
                "--exact",
                "ranges::another_process_is_kept_out_and_closing_another_handle_gives_nothing_up",
            ]);
            command.env(CHILD, &path).output().unwrap().status.code()
        };
        let guard = file.lock_range(0..10, RangeLock::Shared).unwrap();
        // POSIX record locks would be lost here.
        drop(File::open(&path).unwrap());
        assert_eq!(child(), Some(11));
        drop(guard);
        assert_eq!(child(), Some(10));
    });
}
