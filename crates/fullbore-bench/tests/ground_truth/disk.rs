//! Loop disks: an image, a loop device, a file system, a mount; gone when dropped, and when the test is killed.

use std::fs;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

/// A mounted loop disk. Its device goes with its mount, its image's room with its device.
pub(crate) struct Disk {
    /// Where it is mounted.
    pub(crate) place: PathBuf,
    number: String,
    // Dropped after the mount is gone.
    _heir: CleanupProcess,
}

/// A process that clears away after this one, should it be killed before it can: it waits for the end of a pipe that
/// nobody else holds.
pub(crate) struct CleanupProcess(Child);

impl CleanupProcess {
    /// Runs `script` with `arguments` when this process is gone.
    pub(crate) fn of(script: &str, arguments: &[&str]) -> Result<Self, String> {
        Command::new("sh")
            .args(["-c", &format!("cat >/dev/null; {script}"), "sh"])
            .args(arguments)
            .stdin(Stdio::piped())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            // A signal to the group of the test is not for it.
            .process_group(0)
            .spawn()
            .map(Self)
            .map_err(|error| format!("sh: {error}"))
    }
}

impl Drop for CleanupProcess {
    fn drop(&mut self) {
        // All is cleared away: it would do the same to whoever has the name next.
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// A loop device that is released unless it gets mounted.
struct LoopDevice(String);

impl Drop for LoopDevice {
    fn drop(&mut self) {
        // Of a device that is mounted: when that ends.
        let _ = command("losetup", &["-d", &self.0]);
    }
}

/// A disk's image and its file system.
pub(crate) struct DiskImage<'a> {
    /// Its length in bytes; the image is sparse.
    pub(crate) len: u64,
    /// The command that makes the file system, without the device.
    pub(crate) mkfs: &'a [&'a str],
    /// Mount options, or nothing.
    pub(crate) options: &'a str,
    /// Whether the loop device passes the page cache of the file system that has the image by.
    pub(crate) past_cache: bool,
}

/// ext4 that writes nothing by itself later.
pub(crate) const EXT4: &[&str] = &["mkfs.ext4", "-q", "-E", "lazy_itable_init=0,lazy_journal_init=0"];

/// Runs a command; what it says, or what is wrong.
pub(crate) fn command(program: &str, arguments: &[&str]) -> Result<String, String> {
    let output = Command::new(program)
        .args(arguments)
        .stdin(Stdio::null())
        .output()
        .map_err(|error| format!("{program}: {error}"))?;
    if output.status.success() {
        return Ok(String::from_utf8_lossy(&output.stdout).trim().to_owned());
    }
    Err(format!("{program}: {}", String::from_utf8_lossy(&output.stderr).trim()))
}

impl Disk {
    /// Makes `name.img` in `within` and mounts it at `at`, which is made.
    pub(crate) fn new(within: &Path, name: &str, at: PathBuf, made: &DiskImage<'_>) -> Result<Self, String> {
        let image = within.join(format!("{name}.img"));
        let fail = |error: std::io::Error| format!("{}: {error}", image.display());
        fs::File::create(&image).and_then(|file| file.set_len(made.len)).map_err(fail)?;
        let disk = Self::of(&image, at, made);
        // Its room is free when the device is.
        fs::remove_file(&image).map_err(fail)?;
        disk
    }

    /// Makes a file system on an image that is there and mounts it at `at`, which is made.
    pub(crate) fn of(image: &Path, at: PathBuf, made: &DiskImage<'_>) -> Result<Self, String> {
        let (path, place) = (image.to_string_lossy(), at.to_string_lossy().into_owned());
        fs::create_dir(&at).map_err(|error| format!("{place}: {error}"))?;
        let past = if made.past_cache { "--direct-io=on" } else { "--direct-io=off" };
        let attached = command("losetup", &["-f", "--show", past, &path]).map(LoopDevice)?;
        let device = attached.0.as_str();
        let name = device.trim_start_matches("/dev/");
        let number = fs::read_to_string(format!("/sys/block/{name}/dev"))
            .map_err(|error| format!("{name}: {error}"))?;
        command(made.mkfs[0], &[&made.mkfs[1..], &[device]].concat())?;
        let options = if made.options.is_empty() { "defaults" } else { made.options };
        let heir = CleanupProcess::of("umount --lazy \"$1\"; rmdir \"$1\"", &[&place])?;
        command("mount", &["-o", options, device, &place])?;
        Ok(Self { place: at, number: number.trim().to_owned(), _heir: heir })
    }

    /// Major and minor number.
    #[allow(dead_code, reason = "only limited disks are named to the system")]
    pub(crate) fn number(&self) -> &str {
        &self.number
    }
}

impl Drop for Disk {
    fn drop(&mut self) {
        let place = self.place.to_string_lossy();
        // Busy for a moment while what ran there is cleared away.
        if !eventually(|| command("umount", &[&place]).is_ok()) {
            let _ = command("umount", &["--lazy", &place]);
        }
        let _ = fs::remove_dir(&self.place);
    }
}

/// Tries for two seconds.
pub(crate) fn eventually(mut done: impl FnMut() -> bool) -> bool {
    (0..100).any(|_| {
        let done = done();
        if !done {
            std::thread::sleep(Duration::from_millis(100));
        }
        done
    })
}
