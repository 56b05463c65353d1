//! Files with `delete_on_close`: close, drop and cleanup.

use super::*;

use fullbore_testkit::ground::replaces_open_files;

fn deleted_on_close(path: &Path, mode: Mode) -> File {
    OpenOptions::new().mode(mode).delete_on_close(true).open(path).unwrap()
}

const CLOSINGS: [fn(File) -> Result<()>; 2] = [File::close, |file| {
    drop(file);
    Ok(())
}];

/// The directory, in the process that abandons files, and a variable that is set if it drops them after the cleanup.
const CHILD: &str = "FULLBORE_TEST_ABANDONING";
const DROPPING: &str = "FULLBORE_TEST_DROPPING";

/// Cleanup acts on a list that is global to the process and closes it, so the test runs in a process of its own.
#[test]
fn cleanup_removes_files_with_delete_on_close() {
    if let Some(directory) = std::env::var_os(CHILD) {
        let at = |name: &str| Path::new(&directory).join(name);
        let mut files = vec![
            deleted_on_close(&at("old"), Mode::Open),
            deleted_on_close(&at("emptied"), Mode::CreateOrTruncate),
            deleted_on_close(&at("new"), Mode::CreateOrTruncate),
            deleted_on_close(&at("newer"), Mode::CreateNew),
            deleted_on_close(&at("log"), Mode::Append),
            deleted_on_close(&at("replaced"), Mode::Open),
        ];
        files.push(files[2].reopen(true));
        deleted_on_close(&at("closed"), Mode::CreateNew).close().unwrap();
        fs::write(at("closed"), "another").unwrap();
        if replaces_open_files(Path::new(&directory)) {
            fs::rename(at("other"), at("replaced")).unwrap();
        }
        assert!(fullbore_io::file::cleanup().is_empty());
        if std::env::var_os(DROPPING).is_some() {
            drop(files);
            let refused = OpenOptions::new().mode(Mode::CreateNew).delete_on_close(true).open(at("late"));
            assert!(refused.is_err());
            assert!(fullbore_io::file::cleanup().is_empty());
        }
        // As in the signal handler's thread: nothing is dropped.
        std::process::exit(77);
    }
    everywhere(|directory| {
        for dropping in [false, true] {
            abandon(directory, dropping);
        }
    });
}

/// Runs the test in a process of its own, with or without drops after the cleanup.
fn abandon(directory: &Path, dropping: bool) {
    for name in ["old", "emptied", "replaced", "other"] {
        fs::write(directory.join(name), name).unwrap();
    }
    let mut child = alone("closing::cleanup_removes_files_with_delete_on_close");
    if dropping {
        child.env(DROPPING, "1");
    }
    let output = child.env(CHILD, directory).output().unwrap();
    assert_eq!(output.status.code(), Some(77), "{output:?}");
    let left = names(directory);
    // A name that no longer belongs to the open file is not removed.
    let other = if replaces_open_files(directory) { "replaced" } else { "other" };
    assert_eq!(left, ["closed", other]);
    assert_eq!(fs::read(directory.join("closed")).unwrap(), b"another");
    assert_eq!(fs::read(directory.join(other)).unwrap(), b"other");
    for name in left {
        fs::remove_file(directory.join(name)).unwrap();
    }
}

/// A file that cannot be removed until this is dropped: on Windows because somebody has it open and shares no deletion,
/// elsewhere because its directory is immutable.
#[cfg(windows)]
struct Fixed {
    _open: fs::File,
}

#[cfg(windows)]
impl Fixed {
    fn new(path: &Path) -> Option<Self> {
        use std::os::windows::fs::OpenOptionsExt;
        const READ_AND_WRITE: u32 = 3;
        let open = fs::File::options().read(true).share_mode(READ_AND_WRITE).open(path);
        Some(Self { _open: open.unwrap() })
    }
}

/// As above.
#[cfg(unix)]
struct Fixed<'a>(&'a Path);

#[cfg(unix)]
impl<'a> Fixed<'a> {
    fn new(path: &'a Path) -> Option<Self> {
        use std::os::unix::fs::PermissionsExt;
        let directory = path.parent().unwrap();
        let fixed = Self(directory);
        if !rustix::process::geteuid().is_root() {
            fs::set_permissions(directory, fs::Permissions::from_mode(0o555)).unwrap();
            return Some(fixed);
        }
        // Root ignores the mode, but not the immutable flag.
        match fixed.immutable(true) {
            Ok(()) => Some(fixed),
            Err(error) => {
                println!("skipped: {}: the immutable flag is unavailable: {error}", directory.display());
                None
            }
        }
    }

    #[cfg(not(target_os = "linux"))]
    fn immutable(&self, _: bool) -> rustix::io::Result<()> {
        Err(rustix::io::Errno::NOSYS)
    }

    #[cfg(target_os = "linux")]
    fn immutable(&self, on: bool) -> rustix::io::Result<()> {
        let directory = fs::File::open(self.0).unwrap();
        let mut flags = rustix::fs::ioctl_getflags(&directory)?;
        flags.set(rustix::fs::IFlags::IMMUTABLE, on);
        rustix::fs::ioctl_setflags(&directory, flags)
    }
}

#[cfg(unix)]
impl Drop for Fixed<'_> {
    fn drop(&mut self) {
        use std::os::unix::fs::PermissionsExt;
        if rustix::process::geteuid().is_root() {
            let _ = self.immutable(false);
        } else {
            let _ = fs::set_permissions(self.0, fs::Permissions::from_mode(0o755));
        }
    }
}

#[test]
fn a_name_that_cannot_be_removed_fails_close_but_not_drop() {
    everywhere(|directory| {
        let inner = directory.join("inner");
        fs::create_dir(&inner).unwrap();
        let path = write_file(inner, "file", "");
        let (file, dropped) = (deleted_on_close(&path, Mode::Open), deleted_on_close(&path, Mode::Open));
        let clone = file.clone();
        let again = file.reopen(true);
        {
            let Some(_fixed) = Fixed::new(&path) else { return };
            clone.close().unwrap();
            again.close().unwrap();
            let error = file.close().unwrap_err().to_string();
            let advice = if cfg!(windows) { "open without sharing" } else { "remains" };
            assert!(error.contains("file: cannot remove: ") && error.contains(advice), "{error}");
            drop(dropped);
        }
        assert!(path.exists());
        // The list no longer contains the file, so the name can be used again.
        deleted_on_close(&path, Mode::Open).close().unwrap();
        assert!(!path.exists());
    });
}

#[test]
fn delete_on_close_checks_the_inode_again_so_a_replacement_stays() {
    everywhere(|directory| {
        if !replaces_open_files(directory) {
            return;
        }
        let path = directory.join("file");
        for (round, close) in CLOSINGS.into_iter().enumerate() {
            let file = deleted_on_close(&path, Mode::CreateOrTruncate);
            fs::write(directory.join("other"), "other").unwrap();
            fs::rename(directory.join("other"), &path).unwrap();
            close(file).unwrap();
            assert_eq!(fs::read(&path).unwrap(), b"other", "{round}");
            // A missing name is not an error.
            let file = deleted_on_close(&path, Mode::Open);
            fs::remove_file(&path).unwrap();
            close(file).unwrap();
        }
    });
}

/// A share mode without deletion binds the file's own removal on Windows, which then is its handle's.
#[test]
fn a_file_that_shares_nothing_is_deleted_on_close() {
    everywhere(|directory| {
        let path = directory.join("file");
        for mode in [Mode::CreateNew, Mode::Open] {
            for close in CLOSINGS {
                if mode == Mode::Open {
                    fs::write(&path, "bytes").unwrap();
                }
                let mut options = OpenOptions::new();
                let file = options.mode(mode).share(Share::NONE).delete_on_close(true).open(&path).unwrap();
                close(file).unwrap();
                assert!(!path.exists(), "{mode:?}");
            }
        }
        // The hint is unsupported on every system.
        let mut options = OpenOptions::new();
        options.mode(Mode::CreateNew).share(Share::NONE).hint(Hint::Sequential).hint(Hint::Random);
        for delete in [false, true] {
            options.strict(true).delete_on_close(delete).open(&path).unwrap_err();
            assert!(!path.exists(), "{delete}");
        }
    });
}

/// On Windows the system removes the file, but not one that has another name by then.
#[test]
fn a_killed_process_leaves_a_new_file_only_where_deletion_is_emulated() {
    const CHILD: &str = "FULLBORE_TEST_KILLED_DIRECTORY";
    if let Some(directory) = std::env::var_os(CHILD) {
        let _file = deleted_on_close(&Path::new(&directory).join("file"), Mode::CreateNew);
        std::process::abort();
    }
    everywhere(|directory| {
        let path = directory.join("file");
        let mut child = alone("closing::a_killed_process_leaves_a_new_file_only_where_deletion_is_emulated");
        assert!(!child.env(CHILD, directory).output().unwrap().status.success());
        assert_eq!(path.exists(), cfg!(unix));
        let _ = fs::remove_file(&path);
        let file = deleted_on_close(&path, Mode::CreateNew);
        assert_eq!(file.option_report()[0].support == Support::Native, cfg!(windows));
        let kept = directory.join("kept");
        fs::rename(&path, &kept).unwrap();
        file.write_all_at(b"bytes", 0).unwrap();
        file.close().unwrap();
        assert_eq!(fs::read(kept).unwrap(), b"bytes");
        assert!(!path.exists());
    });
}

/// A child has no part in what its parent has locked or will remove.
#[cfg(target_os = "linux")]
#[test]
fn a_forked_child_leaves_names_and_locks_to_its_parent() {
    use fullbore_io::file::{RangeLock, Temporary};
    everywhere(|directory| {
        let (path, other) = (directory.join("file"), directory.join("temporary"));
        let mut options = OpenOptions::new();
        options.mode(Mode::CreateNew).share(Share::NONE).delete_on_close(true);
        let file = options.open(&path).unwrap();
        let guard = file.lock_range(0..1, RangeLock::Exclusive).unwrap();
        let made = Temporary::make(other.clone(), |path| fs::write(path, "").map_err(|_| unreachable!()));
        // SAFETY: the child only drops these, and ends without running the handlers of this process.
        let child = unsafe { libc::fork() };
        if child == 0 {
            drop((guard, file, made));
            // SAFETY: ends the child.
            unsafe { libc::_exit(0) };
        }
        let mut status = 0;
        // SAFETY: waits for the child of this test.
        assert_eq!((unsafe { libc::waitpid(child, &raw mut status, 0) }, status), (child, 0));
        let another = File::open_write(&path).unwrap();
        assert_eq!(another.try_lock().unwrap_err().kind(), ErrorKind::Locked);
        let refused = another.try_lock_range(0..1, RangeLock::Shared).unwrap_err();
        assert_eq!(refused.kind(), ErrorKind::Locked);
        assert!(other.exists());
        drop((guard, made));
        file.close().unwrap();
        another.try_lock().unwrap();
        assert_eq!(names(directory), [""; 0]);
    });
}

// Only Linux has strace.
#[cfg(target_os = "linux")]
#[test]
fn delete_on_close_unlinks_before_it_unlocks() {
    if let Some(directory) = std::env::var_os(traced::CHILD) {
        let mut options = OpenOptions::new();
        options.mode(Mode::CreateOrTruncate).share(Share::NONE).delete_on_close(true);
        let open = |name: &str| options.open(Path::new(&directory).join(name)).unwrap();
        let (closed, dropped) = (open("closed"), open("dropped"));
        traced::mark(|| {
            closed.close().unwrap();
            drop(dropped);
        });
        return;
    }
    everywhere(|directory| {
        let Some(calls) = traced::calls("closing::delete_on_close_unlinks_before_it_unlocks", directory)
        else {
            return;
        };
        // For each file: its name, its lock, its descriptor.
        let mut left = calls.iter();
        for name in ["\"closed\"", "\"dropped\""] {
            let mut next =
                |of: &str, what: &str| left.find(|call| call.starts_with(of) && call.contains(what)).cloned();
            assert!(next("unlink", name).is_some(), "{calls:?}");
            let unlocked = next("flock(", "LOCK_UN").unwrap_or_else(|| panic!("{calls:?}"));
            let descriptor = unlocked.trim_start_matches("flock(").split(',').next().unwrap();
            assert!(next("close(", &format!("({descriptor})")).is_some(), "{calls:?}");
        }
    });
}
