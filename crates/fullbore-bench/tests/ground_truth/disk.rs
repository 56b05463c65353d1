//! Loop disks: an image, a loop device, a file system, a mount; removed when dropped, and when the test is killed.

use std::fs;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use fullbore_testkit::mounts::{LoopDevice, command};

/// A mounted loop disk. Unmounting releases the device, and the device the space of its image.
pub(crate) struct Disk {
    pub(crate) place: PathBuf,
    number: String,
    // Dropped after the unmount.
    _heir: CleanupProcess,
}

/// A process that cleans up if this one is killed: it waits for the end of a pipe whose other end only this process
/// holds.
pub(crate) struct CleanupProcess(Child);

impl CleanupProcess {
    /// Runs `script` with `arguments` when this process has ended.
    pub(crate) fn of(script: &str, arguments: &[&str]) -> Result<Self, String> {
        Command::new("sh")
            .args(["-c", &format!("cat >/dev/null; {script}"), "sh"])
            .args(arguments)
            .stdin(Stdio::piped())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            // Signals to the test's process group do not reach it.
            .process_group(0)
            .spawn()
            .map(Self)
            .map_err(|error| format!("sh: {error}"))
    }
}

impl Drop for CleanupProcess {
    fn drop(&mut self) {
        // Cleanup is done: a later run would hit the next user of the same names.
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// A disk's image and its file system.
pub(crate) struct DiskImage<'a> {
    /// Its length in bytes; the image is sparse.
    pub(crate) len: u64,
    /// The command that makes the file system, without the device.
    pub(crate) mkfs: &'a [&'a str],
    pub(crate) options: &'a str,
    /// True if the loop device bypasses the page cache of the file system that holds the image.
    pub(crate) past_cache: bool,
}

/// ext4 without deferred initialisation, which would write later.
pub(crate) const EXT4: &[&str] = &["mkfs.ext4", "-q", "-E", "lazy_itable_init=0,lazy_journal_init=0"];

impl Disk {
    /// Makes `name.img` in `within` and mounts it at `at`, which is created.
    pub(crate) fn new(within: &Path, name: &str, at: PathBuf, made: &DiskImage<'_>) -> Result<Self, String> {
        let image = within.join(format!("{name}.img"));
        let fail = |error: std::io::Error| format!("{}: {error}", image.display());
        fs::File::create(&image).and_then(|file| file.set_len(made.len)).map_err(fail)?;
        let disk = Self::of(&image, at, made);
        // Its space is freed with the device.
        fs::remove_file(&image).map_err(fail)?;
        disk
    }

    /// Makes a file system on an existing image and mounts it at `at`, which is created.
    pub(crate) fn of(image: &Path, at: PathBuf, made: &DiskImage<'_>) -> Result<Self, String> {
        let place = at.to_string_lossy().into_owned();
        fs::create_dir(&at).map_err(|error| format!("{place}: {error}"))?;
        let past = if made.past_cache { "--direct-io=on" } else { "--direct-io=off" };
        let attached = LoopDevice::new(image, past)?;
        let device = &*attached.path().to_string_lossy();
        let name = device.trim_start_matches("/dev/");
        let number = fs::read_to_string(format!("/sys/block/{name}/dev"))
            .map_err(|error| format!("{name}: {error}"))?;
        command(made.mkfs[0], made.mkfs[1..].iter().chain([&device]))?;
        let options = if made.options.is_empty() { "defaults" } else { made.options };
        let heir = CleanupProcess::of("umount --lazy \"$1\"; rmdir \"$1\"", &[&place])?;
        command("mount", ["-o", options, device, &place])?;
        Ok(Self { place: at, number: number.trim().to_owned(), _heir: heir })
    }

    #[allow(dead_code, reason = "only limited disks are named to the system")]
    pub(crate) fn number(&self) -> &str {
        &self.number
    }
}

impl Drop for Disk {
    fn drop(&mut self) {
        let place = self.place.to_string_lossy();
        // Busy for a moment while the programs that ran there are cleaned up.
        if !eventually(|| command("umount", [&*place]).is_ok()) {
            let _ = command("umount", ["--lazy", &place]);
        }
        let _ = fs::remove_dir(&self.place);
    }
}

/// Retries for ten seconds.
pub(crate) fn eventually(mut done: impl FnMut() -> bool) -> bool {
    (0..100).any(|_| {
        let done = done();
        if !done {
            std::thread::sleep(Duration::from_millis(100));
        }
        done
    })
}
