//! The directory of a run, and the watcher process, which removes the directory if this process could not.

use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::Arc;

use fullbore::Result;
use fullbore::error::{Error, ErrorKind};
use fullbore::file::{HeldDir, Temporary};
use fullbore::sys::{self, Handle, OpenFlags};

/// The directory of a run, held open: on Linux a name in it is a file of the run even if another user renames the directory, and on
/// Windows nobody can rename it.
#[derive(Debug)]
pub(super) struct OwnDirectory {
    // Closed first: Windows removes no directory that is open.
    _held: Handle,
    temporary: Temporary,
    /// The path for calls: by the descriptor, where the system has such paths.
    pub(super) path: PathBuf,
}

impl OwnDirectory {
    /// Creates the directory of a run within `parent`. In containers, runs have the same process number again and again: a
    /// directory that a killed run left has its name, and is left alone.
    pub(super) fn create(parent: &Path, seed: u64, notes: &mut Vec<String>) -> Result<Self> {
        let (temporary, (directory, name)) = create(parent, seed, notes)?;
        let failed = |error: sys::Code| Error::io("open", temporary.path(), error.into());
        let flags = OpenFlags::READ | OpenFlags::DIRECTORY | OpenFlags::NOFOLLOW | OpenFlags::DENY_DELETE;
        let held = sys::open_at(&directory, &name, flags, 0).map_err(failed)?;
        if !is_own(&held).map_err(failed)? {
            let what = "another user has replaced it";
            return Err(Error::new(ErrorKind::PermissionDenied, "use", temporary.path(), what));
        }
        let path = sys::shared_path(&held).unwrap_or_else(|| temporary.path().to_owned());
        Ok(Self { _held: held, temporary, path })
    }

    /// Returns the path under which it was created.
    pub(super) fn named(&self) -> &Path {
        self.temporary.path()
    }

    /// Replaces the path of an error by that under which the directory was created.
    pub(super) fn shown(&self, error: Error) -> Error {
        match error.path().strip_prefix(&self.path) {
            Ok(rest) => {
                let path = self.named().join(rest);
                error.naming(path)
            }
            Err(_) => error,
        }
    }
}

/// True if a directory has the owner of a file that this process creates there.
fn is_own(directory: &Handle) -> sys::Result<bool> {
    let name = OsStr::new("owner");
    let flags = OpenFlags::WRITE | OpenFlags::CREATE | OpenFlags::EXCLUSIVE | OpenFlags::NOFOLLOW;
    let file = sys::open_at(directory, name, flags, 0o600)?;
    let same = sys::status(&file)?.uid == sys::status(directory)?.uid;
    drop(file);
    sys::remove(directory, name, sys::AtFlags::empty())?;
    Ok(same)
}

/// Creates the directory; also returns the one that it is in, held open, and its name there.
fn create(parent: &Path, seed: u64, notes: &mut Vec<String>) -> Result<(Temporary, (Arc<Handle>, OsString))> {
    const ATTEMPTS: u32 = 16;
    let failed = |error: std::io::Error| Error::io("create test files there", parent, error);
    let directory = HeldDir::open(parent).and_then(|directory| directory.fd()).map_err(failed)?;
    let stem = format!(".fullbore-bench-{}-{seed:x}", std::process::id());
    let mut attempt = 0;
    loop {
        let name = OsString::from(if attempt == 0 { stem.clone() } else { format!("{stem}-{attempt}") });
        let path = parent.join(&name);
        let made = Temporary::make_tree(path.clone(), |_| {
            let made = sys::make_directory(&directory, &name, 0o700);
            made.map_err(|error| failed(error.into()))?;
            Ok((directory.clone(), name))
        });
        match made {
            Err(error) if error.kind() == ErrorKind::AlreadyExists && attempt < ATTEMPTS => {
                notes.push(format!("{} exists: remove it if no run uses it", path.display()));
                attempt += 1;
            }
            made => return made,
        }
    }
}

/// Watchdog of a directory: the only remedy after SIGKILL.
#[derive(Debug)]
pub(super) struct Watchdog {
    watcher: Child,
}

impl Watchdog {
    /// Starts the watchdog; `None` if there is no shell.
    pub(super) fn spawn(directory: &Path) -> Option<Self> {
        // Its input ends when this process ends, for any reason.
        let mut watcher = watcher(directory)?;
        watcher.stdin(Stdio::piped()).stdout(Stdio::null()).stderr(Stdio::null());
        Some(Self { watcher: watcher.spawn().ok()? })
    }
}

/// A shell that no signal ends: it removes the directory at the end of its input.
#[cfg(unix)]
fn watcher(directory: &Path) -> Option<Command> {
    use std::os::unix::process::CommandExt;
    let mut shell = Command::new("/bin/sh");
    shell
        .args(["-c", "trap '' INT TERM HUP; cat; rm -rf -- \"$1\"", "sh"])
        .arg(directory.canonicalize().ok()?);
    shell.process_group(0);
    Some(shell)
}

/// A shell that no console ends: it removes the directory at the end of its input.
#[cfg(windows)]
fn watcher(directory: &Path) -> Option<Command> {
    use std::os::windows::process::CommandExt;
    const DETACHED_PROCESS: u32 = 8;
    let mut shell = Command::new("cmd");
    shell.raw_arg(r#"/d /c set /p end= & rd /s /q "%FULLBORE_TEST_FILES%""#);
    shell.env("FULLBORE_TEST_FILES", std::path::absolute(directory).ok()?).creation_flags(DETACHED_PROCESS);
    Some(shell)
}

impl Drop for Watchdog {
    fn drop(&mut self) {
        drop(self.watcher.stdin.take());
        let _ = self.watcher.wait();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_directory_of_a_killed_run_is_left_alone() {
        let room = tempfile::tempdir().unwrap();
        let mut notes = Vec::new();
        let left = OwnDirectory::create(room.path(), 1, &mut notes).unwrap();
        assert!(notes.is_empty());
        std::fs::write(left.path.join("cold"), "theirs").unwrap();
        let own = OwnDirectory::create(room.path(), 1, &mut notes).unwrap();
        assert_ne!(own.named(), left.named());
        assert_eq!(std::fs::read(left.named().join("cold")).unwrap(), b"theirs");
        assert!(notes.len() == 1 && notes[0].contains(left.named().to_str().unwrap()), "{notes:?}");
    }

    #[test]
    fn other_errors_are_returned() {
        let error = OwnDirectory::create(Path::new("nowhere-at-all"), 1, &mut Vec::new()).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::NotFound);
    }

    #[test]
    #[cfg(target_os = "linux")]
    fn names_stay_in_a_directory_whose_own_name_another_takes() {
        let room = tempfile::tempdir().unwrap();
        let own = OwnDirectory::create(room.path(), 1, &mut Vec::new()).unwrap();
        let target = room.path().join("target");
        std::fs::write(&target, "stays").unwrap();
        std::fs::rename(own.named(), room.path().join("away")).unwrap();
        std::fs::create_dir(own.named()).unwrap();
        std::os::unix::fs::symlink(&target, own.named().join("output")).unwrap();
        std::fs::write(own.path.join("output"), "measured").unwrap();
        assert_eq!(std::fs::read(&target).unwrap(), b"stays");
        assert_eq!(std::fs::read(room.path().join("away/output")).unwrap(), b"measured");
        let error = own.shown(Error::cancelled().naming(own.path.join("output")));
        assert_eq!(error.path(), own.named().join("output"));
    }
}
