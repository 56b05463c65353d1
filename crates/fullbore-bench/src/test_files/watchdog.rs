//! A process that slightly outlives this one and removes the test directory if this one could not.

use std::path::Path;
use std::process::Child;

/// Watchdog of a directory: the only remedy after SIGKILL.
#[derive(Debug)]
pub(super) struct Watchdog {
    watcher: Child,
}

impl Watchdog {
    /// Windows has no shell that waits for the end of a process.
    #[cfg(windows)]
    pub(super) fn spawn(_: &Path) -> Option<Self> {
        None
    }

    /// Starts the watchdog; `None` if there is no shell.
    #[cfg(unix)]
    pub(super) fn spawn(directory: &Path) -> Option<Self> {
        use std::os::unix::process::CommandExt;
        use std::process::{Command, Stdio};
        let directory = directory.canonicalize().ok()?;
        // Its input ends when this process ends, for any reason.
        let watcher = Command::new("/bin/sh")
            .args(["-c", "trap '' INT TERM HUP; cat; rm -rf -- \"$1\"", "sh"])
            .arg(directory)
            .stdin(Stdio::piped())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .process_group(0)
            .spawn()
            .ok()?;
        Some(Self { watcher })
    }
}

impl Drop for Watchdog {
    fn drop(&mut self) {
        drop(self.watcher.stdin.take());
        let _ = self.watcher.wait();
    }
}
