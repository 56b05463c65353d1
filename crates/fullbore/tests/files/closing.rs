//! What is done when a file that is to be deleted is closed, dropped or abandoned.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::Command;

use fullbore::file::{File, Mode, OpenOptions, Share};

use crate::ground::everywhere;
use crate::traced;

fn doomed(path: &Path, mode: Mode) -> File {
    OpenOptions::new().mode(mode).delete_on_close(true).open(path).unwrap()
}

/// The list of what is to be removed is the process's, and is closed when it is abandoned: a process of its own.
#[test]
fn a_file_to_be_deleted_goes_when_the_run_is_abandoned() {
    const CHILD: &str = "FULLBORE_TEST_ABANDONING";
    if let Some(directory) = std::env::var_os(CHILD) {
        let at = |name: &str| Path::new(&directory).join(name);
        let mut files = vec![
            doomed(&at("old"), Mode::Open),
            doomed(&at("emptied"), Mode::CreateOrTruncate),
            doomed(&at("new"), Mode::CreateOrTruncate),
            doomed(&at("newer"), Mode::CreateNew),
            doomed(&at("log"), Mode::Append),
            doomed(&at("replaced"), Mode::Open),
        ];
        files.push(files[2].reopen(true));
        doomed(&at("closed"), Mode::CreateNew).close().unwrap();
        fs::write(at("closed"), "another").unwrap();
        fs::rename(at("other"), at("replaced")).unwrap();
        assert!(fullbore::file::cleanup().is_empty());
        // As a signal's thread would: nothing is dropped any more.
        std::process::exit(77);
    }
    everywhere(|directory| {
        for name in ["old", "emptied", "replaced", "other"] {
            fs::write(directory.join(name), name).unwrap();
        }
        let mut child = Command::new(std::env::current_exe().unwrap());
        child.args(["--exact", "closing::a_file_to_be_deleted_goes_when_the_run_is_abandoned"]);
        let output = child.env(CHILD, directory).output().unwrap();
        assert_eq!(output.status.code(), Some(77), "{output:?}");
        let entries = fs::read_dir(directory).unwrap().map(|entry| entry.unwrap().file_name());
        let mut left: Vec<_> = entries.filter(|name| name != "lost+found").collect();
        left.sort();
        // What is not the open file's any more is not removed.
        assert_eq!(left, ["closed", "replaced"]);
        assert_eq!(fs::read(directory.join("closed")).unwrap(), b"another");
        assert_eq!(fs::read(directory.join("replaced")).unwrap(), b"other");
    });
}

/// A directory out of which nothing can be removed, until this is dropped.
struct Fixed<'a>(&'a Path);

impl<'a> Fixed<'a> {
    fn new(directory: &'a Path) -> Option<Self> {
        let fixed = Self(directory);
        if !rustix::process::geteuid().is_root() {
            fs::set_permissions(directory, fs::Permissions::from_mode(0o555)).unwrap();
            return Some(fixed);
        }
        // Root may do what the bits forbid, but not this.
        match fixed.immutable(true) {
            Ok(()) => Some(fixed),
            Err(error) => {
                println!("skipped: {}: nothing can be made immutable: {error}", directory.display());
                None
            }
        }
    }

    fn immutable(&self, on: bool) -> rustix::io::Result<()> {
        let directory = fs::File::open(self.0).unwrap();
        let mut flags = rustix::fs::ioctl_getflags(&directory)?;
        flags.set(rustix::fs::IFlags::IMMUTABLE, on);
        rustix::fs::ioctl_setflags(&directory, flags)
    }
}

impl Drop for Fixed<'_> {
    fn drop(&mut self) {
        if rustix::process::geteuid().is_root() {
            let _ = self.immutable(false);
        } else {
            let _ = fs::set_permissions(self.0, fs::Permissions::from_mode(0o755));
        }
    }
}

#[test]
fn a_name_that_cannot_be_removed_is_an_error_of_close_and_none_of_drop() {
    everywhere(|directory| {
        let inner = directory.join("inner");
        fs::create_dir(&inner).unwrap();
        let path = inner.join("file");
        let (file, dropped) = (doomed(&path, Mode::CreateNew), doomed(&path, Mode::Open));
        let clone = file.clone();
        let again = file.reopen(true);
        {
            let Some(_fixed) = Fixed::new(&inner) else { return };
            clone.close().unwrap();
            again.close().unwrap();
            let error = file.close().unwrap_err().to_string();
            assert!(error.contains("file: cannot remove: ") && error.contains("stays"), "{error}");
            drop(dropped);
        }
        assert!(path.exists());
        // Nobody comes back to it: the list has no such file any more, and the name is free for another.
        doomed(&path, Mode::Open).close().unwrap();
        assert!(!path.exists());
    });
}

#[test]
fn delete_on_close_looks_at_the_inode_again_so_a_replacement_stays() {
    everywhere(|directory| {
        let path = directory.join("file");
        for (round, close) in [File::close, |file| {
            drop(file);
            Ok(())
        }]
        .into_iter()
        .enumerate()
        {
            let file = doomed(&path, Mode::CreateOrTruncate);
            fs::write(directory.join("other"), "other").unwrap();
            fs::rename(directory.join("other"), &path).unwrap();
            close(file).unwrap();
            assert_eq!(fs::read(&path).unwrap(), b"other", "{round}");
            // A name that is gone is no error.
            let file = doomed(&path, Mode::Open);
            fs::remove_file(&path).unwrap();
            close(file).unwrap();
        }
    });
}

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
        // Of each file in turn: its name, its lock, its descriptor.
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
