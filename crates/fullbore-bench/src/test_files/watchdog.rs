//! A process that outlives this one by a moment, and removes the directory if this one could not.

use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Child, Command, Stdio};

/// The watch over a directory: nothing else helps against SIGKILL.
#[derive(Debug)]
pub(super) struct Watchdog {
    watcher: Child,
}

impl Watchdog {
    /// Begins to watch; `None` where there is no shell.
    pub(super) fn spawn(directory: &Path) -> Option<Self> {
        let directory = directory.canonicalize().ok()?;
        // Its input ends when this process does, however that comes about.
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
