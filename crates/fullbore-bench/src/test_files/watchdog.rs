//! A process that slightly outlives this one and removes the test directory if this one could not.

use std::os::unix::process::CommandExt;
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
