//! Files under a filter of system calls, which binds the calls of one thread.

use std::collections::BTreeMap;

use seccompiler::{
    BpfProgram, SeccompAction, SeccompCmpArgLen, SeccompCmpOp, SeccompCondition, SeccompFilter, SeccompRule,
    apply_filter,
};

use fullbore_io::buf::Pool;
use fullbore_io::engine::{EngineConfig, IoQueue};

use super::*;

/// Runs `work` in a thread in which a system call fails with an error: always, or if the argument of this number, from 0, has
/// these bits.
fn failing<T: Send>(call: i64, bits: Option<(u8, i32)>, error: i32, work: impl FnOnce() -> T + Send) -> T {
    let rule = |(number, bits): (u8, i32)| {
        let has = SeccompCmpOp::MaskedEq(bits as u64);
        let condition = SeccompCondition::new(number, SeccompCmpArgLen::Dword, has, bits as u64).unwrap();
        SeccompRule::new(vec![condition]).unwrap()
    };
    let calls = BTreeMap::from([(call, bits.into_iter().map(rule).collect())]);
    let (allow, fail) = (SeccompAction::Allow, SeccompAction::Errno(error as u32));
    let filter = SeccompFilter::new(calls, allow, fail, std::env::consts::ARCH.try_into().unwrap());
    let program: BpfProgram = filter.unwrap().try_into().unwrap();
    std::thread::scope(|scope| {
        let filtered = scope.spawn(move || {
            apply_filter(&program).unwrap();
            work()
        });
        filtered.join().unwrap()
    })
}

/// Closing a duplicate would take the error of a failed write from the file.
#[test]
fn attributes_and_locks_need_no_duplicate() {
    everywhere(|directory| {
        let file = File::open_write(filled(directory, 10, 1).0).unwrap();
        failing(libc::SYS_fcntl, Some((1, libc::F_DUPFD_CLOEXEC)), libc::EMFILE, || {
            let permissions = file.metadata().unwrap().permissions();
            file.set_permissions(permissions).unwrap();
            file.set_times(fs::FileTimes::new().set_modified(std::time::UNIX_EPOCH)).unwrap();
            file.lock().unwrap();
            file.lock_shared().unwrap();
            file.try_lock().unwrap();
            file.try_lock_shared().unwrap();
            file.unlock().unwrap();
        });
    });
}

/// A server may report a full disk only at closing, and to the handle that is closed first.
#[test]
fn bytes_lost_at_the_close_of_any_handle_prevent_the_commit() {
    let write = |name: &str, file: &File| {
        let method = engine::method(name).unwrap();
        let config = EngineConfig { write: true, cache: CachePolicy::Direct, ..EngineConfig::reading(file) };
        let mut queue = IoQueue::open(method, &config, None).unwrap();
        let mut buf = Pool::new(1, 4096).unwrap().take().unwrap();
        buf.place(0, 4096);
        queue.write(0, 0, buf)?;
        queue.next()?;
        queue.flush()
    };
    everywhere(|directory| {
        let path = write_file(directory, "file", "old");
        for name in ["stdio", "direct", "through", "aio", "uring", "handle"] {
            let output = Output::replace(&path).unwrap();
            let (direct, support) = output.file().with_cache(CachePolicy::Direct);
            let direct = (name == "handle").then_some(direct);
            let works = match support {
                Support::Native if direct.is_some() => Ok(()),
                Support::Native => {
                    let method = engine::method(name).unwrap();
                    engine::probe(method, output.file(), None, true, CachePolicy::Direct)
                }
                support => Err(support.to_string()),
            };
            let what = format!("{name} in {}", path.display());
            let Some(()) = fullbore_testkit::or_skip(&what, works) else { continue };
            let written = failing(libc::SYS_close, None, libc::ENOSPC, || match direct {
                Some(direct) => {
                    drop(direct);
                    Ok(())
                }
                None => write(name, output.file()),
            });
            let error = written.and_then(|()| output.commit(Durability::None)).unwrap_err();
            assert!(error.to_string().contains("No space left"), "{name}: {error}");
            assert_eq!(fs::read(&path).unwrap(), b"old", "{name}");
        }
    });
}

#[test]
fn a_temporary_file_that_had_a_name_is_private() {
    use std::os::unix::fs::PermissionsExt;
    everywhere(|directory| {
        let file = failing(libc::SYS_openat, Some((2, libc::O_TMPFILE)), libc::EOPNOTSUPP, || {
            OpenOptions::new().temporary(true).open(directory).unwrap()
        });
        assert!(matches!(file.option_report()[0].support, Support::Emulated(_)));
        assert_eq!(file.metadata().unwrap().permissions().mode() & 0o077, 0);
    });
}

/// The kernel without `RWF_DONTCACHE`: the offsets of appended bytes are not those of the calls.
#[test]
fn appended_pages_are_dropped_where_the_system_put_them() {
    everywhere(|directory| {
        let path = directory.join("log");
        let (log, support) = failing(libc::SYS_preadv2, None, libc::EOPNOTSUPP, || {
            OpenOptions::new().mode(Mode::Append).open(&path).unwrap().with_cache(CachePolicy::DontCache)
        });
        if let Support::Unsupported(reason) = support {
            return println!("skipped: {}: {reason}", path.display());
        }
        assert!(matches!(support, Support::Emulated(_)), "{support}");
        let piece = bytes(1 << 20, 1);
        for _ in 0..40 {
            log.write_all_at(&piece, 0).unwrap();
        }
        drop(log);
        let left = drops::cached(&File::open(&path).unwrap(), 40 << 20).unwrap();
        assert!(left <= 4 << 20, "{}: {left} bytes are cached", path.display());
    });
}

#[test]
fn dirty_pages_are_written_by_a_sync_where_the_call_is_forbidden() {
    everywhere(|directory| {
        for error in [libc::ENOSYS, libc::EPERM] {
            let file = File::open_write(filled(directory, 10, 1).0).unwrap();
            failing(libc::SYS_sync_file_range, None, error, || file.write_back().unwrap());
            assert!(file.poisoned().is_none());
        }
    });
}

/// As on tmpfs under a periodic signal, before Linux 6.10.
#[test]
fn an_allocation_that_is_always_interrupted_ends() {
    everywhere(|directory| {
        let file = File::open_write(filled(directory, 10, 1).0).unwrap();
        failing(libc::SYS_fallocate, None, libc::EINTR, || {
            file.reserve(0..100).unwrap_err();
            let mut options = OpenOptions::new();
            options.mode(Mode::CreateNew).reserve(100).open(directory.join("new")).unwrap_err();
        });
        assert!(!directory.join("new").exists());
    });
}
