//! Loop disks: an image, a loop device, a file system, a mount; gone when dropped.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Duration;

/// A mounted loop disk.
pub(crate) struct Disk {
    /// Where it is mounted.
    pub(crate) place: PathBuf,
    image: PathBuf,
    device: Option<String>,
    mounted: bool,
}

/// A disk's image and its file system.
pub(crate) struct Made<'a> {
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
    pub(crate) fn new(within: &Path, name: &str, at: PathBuf, made: &Made<'_>) -> Result<Self, String> {
        let image = within.join(format!("{name}.img"));
        fs::create_dir(&at).map_err(|error| format!("{}: {error}", at.display()))?;
        fs::File::create(&image)
            .and_then(|file| file.set_len(made.len))
            .map_err(|error| format!("{}: {error}", image.display()))?;
        let mut disk = Self { place: at, image, device: None, mounted: false };
        let path = disk.image.to_string_lossy().into_owned();
        let past = if made.past_cache { "--direct-io=on" } else { "--direct-io=off" };
        let device = command("losetup", &["-f", "--show", past, &path])?;
        disk.device = Some(device.clone());
        command(made.mkfs[0], &[&made.mkfs[1..], &[&device]].concat())?;
        let options = if made.options.is_empty() { "defaults" } else { made.options };
        command("mount", &["-o", options, &device, &disk.place.to_string_lossy()])?;
        disk.mounted = true;
        Ok(disk)
    }

    /// Major and minor number.
    #[allow(dead_code, reason = "only limited disks are named to the system")]
    pub(crate) fn number(&self) -> Result<String, String> {
        let name = self.device.as_deref().unwrap_or_default().trim_start_matches("/dev/");
        fs::read_to_string(format!("/sys/block/{name}/dev"))
            .map(|number| number.trim().to_owned())
            .map_err(|error| format!("{name}: {error}"))
    }
}

impl Drop for Disk {
    fn drop(&mut self) {
        let place = self.place.to_string_lossy();
        // Busy for a moment while what ran there is cleared away.
        if self.mounted && !eventually(|| command("umount", &[&place]).is_ok()) {
            let _ = command("umount", &["--lazy", &place]);
        }
        if let Some(device) = &self.device {
            let _ = command("losetup", &["-d", device]);
        }
        let _ = fs::remove_file(&self.image);
        let _ = fs::remove_dir(&self.place);
    }
}

/// Tries for two seconds.
pub(crate) fn eventually(mut done: impl FnMut() -> bool) -> bool {
    (0..20).any(|_| {
        let done = done();
        if !done {
            std::thread::sleep(Duration::from_millis(100));
        }
        done
    })
}
