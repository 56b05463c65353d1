//! A process that slightly outlives this one and removes the test directory if this one could not.

use std::path::Path;
use std::process::{Child, Command, Stdio};

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
