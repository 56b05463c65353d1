//! Rules of .NET that show only in the system calls: the calls, their order, and the file after a failure or a race between
//! them.

use super::*;

use std::os::fd::AsFd;
use std::os::unix::fs::MetadataExt;

use crate::traced::{CHILD, calls, calls_on_a_file, calls_with, mark, plainly};

/// Returns the name of a system call in a line of `strace`. `open` and `openat` are one: the machine decides between them.
fn name(call: &str) -> &str {
    match call.split('(').next().unwrap() {
        "openat" => "open",
        name => name,
    }
}

#[test]
fn opening_is_one_system_call() {
    let work = |path: &Path| {
        mark(|| {
            drop(File::open(path).unwrap());
            drop(OpenOptions::new().open(path).unwrap());
            drop(OpenOptions::new().mode(Mode::CreateOrTruncate).open(path).unwrap());
            drop(OpenOptions::new().mode(Mode::OpenOrCreate).open(path).unwrap());
        });
    };
    calls_on_a_file("rules::opening_is_one_system_call", &[], work, |calls| {
        let calls = plainly(calls);
        let names: Vec<_> = calls.iter().map(|call| name(call)).collect();
        assert_eq!(names, ["open", "close"].repeat(4), "{calls:#?}");
    });
}

#[test]
fn inspecting_a_handle_makes_no_system_call() {
    let work = |path: &Path| {
        let mut options = OpenOptions::new();
        options.mode(Mode::OpenOrCreate).share(Share::READ).hint(Hint::Random).cache(CachePolicy::DontCache);
        let (plain, full) = (File::open(path).unwrap(), options.open(path).unwrap());
        let stream = FileStream::new(plain.clone());
        // The kind is determined by one call and then remembered.
        for file in [&plain, &full] {
            file.kind();
        }
        mark(|| {
            for file in [&plain, &full, stream.file()] {
                let clone = file.clone();
                assert_eq!(clone.path(), path);
                assert!(
                    clone.option_report().len() < 4 && clone.poisoned().is_none() && clone.plan().is_none()
                );
                assert!(format!("{clone:?} {:?} {:?}", clone.as_fd(), clone.cache_policy()).len() > 10);
                clone.kind();
            }
        });
    };
    let name = "rules::inspecting_a_handle_makes_no_system_call";
    calls_on_a_file(name, &[], work, |calls| assert_eq!(plainly(calls), [""; 0]));
}

#[test]
fn share_only_would_block_fails_the_open() {
    let work = |path: &Path| {
        let mut options = OpenOptions::new();
        options.share(Share::NONE);
        mark(|| {
            let file = options.open(path).unwrap();
            let [support] = file.option_report() else { panic!("{:?}", file.option_report()) };
            assert!(
                matches!(&support.support, Support::Unsupported(why) if why.contains("No locks available")),
                "{support}"
            );
        });
        assert!(options.strict(true).open(path).is_err());
    };
    let name = "rules::share_only_would_block_fails_the_open";
    calls_on_a_file(name, &["flock:error=ENOLCK"], work, |calls| {
        let place = |of: &str| calls.iter().position(|call| call.contains(of)).expect(of);
        // Locked after opening, without waiting.
        assert!(place("/file\"") < place("LOCK_EX|LOCK_NB"), "{calls:#?}");
        assert!(!calls.iter().any(|call| call.contains("LOCK_UN")), "no lock to release: {calls:#?}");
    });
}

#[test]
fn share_truncates_after_the_lock_and_unlocks_before_the_close() {
    let work = |path: &Path| {
        let mut options = OpenOptions::new();
        options.mode(Mode::CreateOrTruncate).share(Share::READ);
        mark(|| options.open(path).unwrap().close()).unwrap();
    };
    let name = "rules::share_truncates_after_the_lock_and_unlocks_before_the_close";
    calls_on_a_file(name, &[], work, |calls| {
        let mut left = calls.iter();
        for of in ["/file\"", "LOCK_SH|LOCK_NB", "ftruncate(", "LOCK_UN", "close("] {
            assert!(left.any(|call| call.contains(of)), "{of}: {calls:#?}");
        }
        assert!(!calls.iter().any(|call| call.contains("O_TRUNC")), "{calls:#?}");
    });
}

/// Waits until the trace shows that a call has returned; the line appears earlier, when the call starts.
fn returned(trace: &Path, what: &str) {
    let is_it = |text: String| text.split_once(what).is_some_and(|(_, rest)| rest.contains(") = "));
    fullbore_testkit::assert_eventually(what, true, || fs::read_to_string(trace).is_ok_and(is_it));
}

#[test]
fn delete_on_close_checks_the_inode_again_after_locking() {
    if let Some(directory) = std::env::var_os(CHILD) {
        let path = Path::new(&directory).join("raced");
        let mut options = OpenOptions::new();
        options.share(Share::NONE).delete_on_close(true);
        let file = mark(|| options.open(&path)).unwrap();
        // The file found after the lock, not the one opened first, which has no name any more.
        assert_eq!(file.stamp().unwrap().identity.1, fs::metadata(&path).unwrap().ino());
        assert_eq!(file.len().unwrap(), 5);
        file.close().unwrap();
        assert!(!path.exists());
        return;
    }
    everywhere(|directory| {
        let (path, other) = (directory.join("raced"), directory.join("other"));
        fs::write(&path, "").unwrap();
        fs::write(&other, "other").unwrap();
        let name = "rules::delete_on_close_checks_the_inode_again_after_locking";
        // The first lock takes three seconds, and meanwhile the file is replaced.
        let replace = |trace: &Path| {
            returned(trace, "raced\", O_RDONLY");
            fs::rename(&other, &path).unwrap();
        };
        let slow = ["flock:delay_enter=3000000:when=1"];
        let Some(calls) = calls_with(name, directory, &slow, replace) else { return };
        let opened = calls.iter().filter(|call| call.contains("raced\", O_RDONLY")).count();
        assert_eq!(opened, 2, "{calls:#?}");
    });
}

#[test]
fn reserve_keeps_the_size_and_precedes_the_truncation() {
    if let Some(directory) = std::env::var_os(CHILD) {
        let path = Path::new(&directory).join("file");
        mark(|| OpenOptions::new().mode(Mode::CreateOrTruncate).reserve(1 << 20).open(&path)).unwrap();
        return;
    }
    everywhere(|directory| {
        let path = write_file(directory, "file", "bytes");
        let name = "rules::reserve_keeps_the_size_and_precedes_the_truncation";
        let Some(calls) = calls(name, directory) else { return };
        let of = ["fallocate", "ftruncate"];
        let order: Vec<_> =
            calls.iter().map(|call| self::name(call)).filter(|call| of.contains(call)).collect();
        assert_eq!(order, ["fallocate", "ftruncate", "fallocate"], "{calls:#?}");
        let mut allocating = calls.iter().filter(|call| self::name(call) == "fallocate");
        assert!(allocating.all(|call| call.contains("FALLOC_FL_KEEP_SIZE")), "{calls:#?}");
        // A new file has nothing to lose.
        fs::remove_file(&path).unwrap();
        let Some(calls) = traced::calls(name, directory) else { return };
        assert_eq!(calls.iter().filter(|call| call.starts_with("fallocate(")).count(), 1, "{calls:#?}");
    });
}

/// Returns the copy methods among the calls, each once, in the order of their first use.
fn methods(calls: &[String]) -> Vec<&'static str> {
    let method = |call: &String| match name(call) {
        "ioctl" if call.contains("FICLONE") => Some("clone"),
        "copy_file_range" => Some("copy_file_range"),
        "sendfile" | "splice" => Some("splice"),
        "pread64" | "preadv2" | "read" => Some("loop"),
        _ => None,
    };
    let mut order = Vec::new();
    for found in calls.iter().filter_map(method) {
        if !order.contains(&found) {
            order.push(found);
        }
    }
    order
}

#[test]
fn copies_try_clone_then_copy_file_range_then_splice_then_a_loop() {
    const BLOCKS: usize = 4 << 20;
    if let Some(directory) = std::env::var_os(CHILD) {
        let at = |name: &str| Path::new(&directory).join(name);
        let source = if at("source").exists() { at("source") } else { "/proc/self/status".into() };
        let source = File::open(source).unwrap();
        let target = File::create_new(at("target")).unwrap();
        let report = mark(|| source.copy_range(0..u64::MAX, &target, 0)).unwrap();
        assert!(report.through_memory > 0, "{report:?}");
        return;
    }
    let name = "rules::copies_try_clone_then_copy_file_range_then_splice_then_a_loop";
    let directory = &directories()[0];
    let (source, target) = (directory.path().join("source"), directory.path().join("target"));
    let data = bytes(BLOCKS, 6);
    fs::write(&source, &data).unwrap();
    // Each method is made to fail, so that the next one is tried.
    let broken = ["ioctl:error=EOPNOTSUPP", "copy_file_range:error=EXDEV", "splice:error=EINVAL"];
    let Some(calls) = calls_with(name, directory.path(), &broken, |_| ()) else { return };
    assert_eq!(methods(&calls), ["clone", "copy_file_range", "splice", "loop"], "{calls:#?}");
    assert!(fs::read(&target).unwrap() == data);
    // A file that reports length 0 is copied by the loop at once.
    fs::remove_file(&source).unwrap();
    fs::remove_file(&target).unwrap();
    let Some(calls) = traced::calls(name, directory.path()) else { return };
    assert_eq!(methods(&calls), ["loop"], "{calls:#?}");
    assert!(fs::metadata(&target).unwrap().len() > 0);
}
