//! The directory of a run, and the watcher process, which removes the directory if this process could not.

use std::path::Path;
use std::process::{Child, Command, Stdio};

use fullbore::Result;
use fullbore::error::{Error, ErrorKind};
use fullbore::file::Temporary;

/// Creates the directory of a run within `parent`. In containers, runs have the same process number again and again: a directory
/// that a killed run left has its name, and is left alone.
pub(super) fn own_directory(parent: &Path, seed: u64, notes: &mut Vec<String>) -> Result<Temporary> {
    const ATTEMPTS: u32 = 16;
    let stem = format!(".fullbore-bench-{}-{seed:x}", std::process::id());
    let mut attempt = 0;
    loop {
        let name = if attempt == 0 { stem.clone() } else { format!("{stem}-{attempt}") };
        let path = parent.join(name);
        let made = Temporary::make_tree(path.clone(), |path| {
            std::fs::create_dir(path).map_err(|error| Error::io("create", path, error))
        });
        match made {
            Err(error) if error.kind() == ErrorKind::AlreadyExists && attempt < ATTEMPTS => {
                notes.push(format!("{} exists: remove it if no run uses it", path.display()));
                attempt += 1;
            }
            made => return Ok(made?.0),
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
        let left = own_directory(room.path(), 1, &mut notes).unwrap();
        assert!(notes.is_empty());
        std::fs::write(left.path().join("cold"), "theirs").unwrap();
        let own = own_directory(room.path(), 1, &mut notes).unwrap();
        assert_ne!(own.path(), left.path());
        assert_eq!(std::fs::read(left.path().join("cold")).unwrap(), b"theirs");
        assert!(notes.len() == 1 && notes[0].contains(left.path().to_str().unwrap()), "{notes:?}");
    }

    #[test]
    fn other_errors_are_returned() {
        let error = own_directory(Path::new("nowhere-at-all"), 1, &mut Vec::new()).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::NotFound);
    }
}
