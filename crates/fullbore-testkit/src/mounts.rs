//! Loop devices and mounts, which need root and Linux.

use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// Runs a program of the system and returns its output, without the last line break.
pub fn command<I: AsRef<OsStr>>(
    program: &str,
    arguments: impl IntoIterator<Item = I>,
) -> Result<String, String> {
    let output = Command::new(program)
        .args(arguments)
        .env("PATH", "/usr/sbin:/sbin:/usr/bin:/bin")
        .stdin(Stdio::null())
        .output()
        .map_err(|error| format!("{program}: {error}"))?;
    if output.status.success() {
        return Ok(String::from_utf8_lossy(&output.stdout).trim().to_owned());
    }
    Err(format!("{program}: {}", String::from_utf8_lossy(&output.stderr).trim()))
}

/// A loop device, detached when it is dropped; if it is mounted then, at the unmount.
#[derive(Debug)]
pub struct LoopDevice(PathBuf);

impl LoopDevice {
    /// Creates a device on the file `image`; `option` is one of `losetup`.
    pub fn new(image: &Path, option: &str) -> Result<Self, String> {
        let words = ["--find".as_ref(), "--show".as_ref(), option.as_ref(), image.as_os_str()];
        Ok(Self(command("losetup", words)?.into()))
    }

    /// The path of the device.
    pub fn path(&self) -> &Path {
        &self.0
    }
}

impl Drop for LoopDevice {
    fn drop(&mut self) {
        let _ = command("losetup", ["-d".as_ref(), self.0.as_os_str()]);
    }
}

/// A mount until it is dropped.
#[derive(Debug)]
pub struct Mount(PathBuf);

impl Mount {
    /// Mounts at `place`, which is created if it does not exist, with the arguments of `mount(8)`.
    pub fn new(words: &[&str], place: &Path) -> Result<Self, String> {
        std::fs::create_dir_all(place).expect("a new directory");
        command("mount", words.iter().map(OsStr::new).chain([place.as_os_str()]))?;
        Ok(Self(place.to_owned()))
    }

    /// Mounts a file system in memory, with options.
    pub fn in_memory(options: &str, place: &Path) -> Result<Self, String> {
        Self::new(&["-t", "tmpfs", "-o", options, "tmpfs"], place)
    }
}

impl Drop for Mount {
    fn drop(&mut self) {
        if command("umount", [&self.0]).is_err() {
            let _ = command("umount", ["-l".as_ref(), self.0.as_os_str()]);
        }
    }
}
