//! From the file system of a path to the devices that hold it.

use std::path::{Path, PathBuf};

use super::device::{self, Device, DeviceNumber};
use super::file_system::{is_in_memory, is_network};
use super::kernel_files::{KernelFiles, names};
use super::mounts::{self, Mount};
use crate::sys;

/// Maximum depth of nested overlays to follow.
const DEEPEST: usize = 8;

pub(crate) struct Storage<'a> {
    pub(crate) kernel: &'a KernelFiles,
    pub(crate) mounts: &'a [Mount],
}

impl Storage<'_> {
    /// Returns the devices under a mount, or the reason for their absence. `own` is the device number of the path itself.
    pub(crate) fn under(
        &self,
        mount: &Mount,
        own: DeviceNumber,
        level: usize,
    ) -> Result<Vec<Device>, String> {
        if level > DEEPEST {
            return Err(format!("more than {DEEPEST} levels of nested file systems"));
        }
        match mount.kind.as_str() {
            "btrfs" => return self.of_btrfs(mount, level),
            "overlay" => return self.of_layers(mount, level),
            _ => {}
        }
        if let Some(number) = [own, mount.device].into_iter().find(|number| number.major != 0) {
            return Ok(vec![self.device(number, level)?]);
        }
        if mount.source.starts_with("/dev/") {
            // Several devices are separated by colons.
            return mount.source.split(':').map(|name| self.device(special(name)?, level)).collect();
        }
        Err(why_none(mount))
    }

    pub(crate) fn device(&self, number: DeviceNumber, level: usize) -> Result<Device, String> {
        device::of_number(self.kernel, number, &|file, level| self.under_path(file, level), level)
    }

    fn under_path(&self, path: &Path, level: usize) -> Result<Vec<Device>, String> {
        let status = sys::extended_stat(path)
            .map_err(|error| format!("{} is not accessible: {error}", path.display()))?;
        let own = status.device.into();
        let mount = mounts::holding(self.mounts, status.mount, own, path)
            .ok_or_else(|| format!("{} is in no mount of this process", path.display()))?;
        self.under(mount, own, level)
    }

    /// A btrfs has no device number of its own: `/sys/fs/btrfs/<uuid>/devices` lists the members, of which the mount table names
    /// one.
    fn of_btrfs(&self, mount: &Mount, level: usize) -> Result<Vec<Device>, String> {
        let folder = self.kernel.sys.join("fs/btrfs");
        let source = Path::new(&mount.source);
        let real = self.kernel.rooted(source).canonicalize();
        let name = real.as_deref().unwrap_or(source).file_name().unwrap_or_default().to_owned();
        for uuid in names(&folder) {
            let members = folder.join(uuid).join("devices");
            let listed = names(&members);
            if listed.contains(&name) {
                return listed
                    .iter()
                    .map(|member| {
                        let file = members.join(member).join("dev");
                        let number = super::kernel_files::text(&file)
                            .ok_or_else(|| format!("{} cannot be read", file.display()))?;
                        self.device(number.parse()?, level)
                    })
                    .collect();
            }
        }
        Err(format!("no btrfs in {} lists the device {}", folder.display(), mount.source))
    }

    /// The bytes of an overlay are in its layers: new and changed files in the upper one.
    fn of_layers(&self, mount: &Mount, level: usize) -> Result<Vec<Device>, String> {
        let mut devices: Vec<Device> = Vec::new();
        let mut reason = None;
        for layer in layers(&mount.super_options) {
            // The mount table keeps the arguments of the mount command, but not its working directory.
            let found = if layer.is_absolute() {
                self.under_path(&layer, level + 1)
            } else {
                Err(format!("{} is relative to an unknown directory", layer.display()))
            };
            match found {
                Ok(found) => {
                    for device in found {
                        if !devices.iter().any(|known| {
                            (known.number, &known.partition) == (device.number, &device.partition)
                        }) {
                            devices.push(device);
                        }
                    }
                }
                Err(why) => reason = Some(why),
            }
        }
        if devices.is_empty() {
            let why = reason.unwrap_or_else(|| "the mount table names none".to_owned());
            return Err(format!("an overlay is stored in its layers: {why}"));
        }
        Ok(devices)
    }
}

/// Returns the directories of an overlay, the writable one first.
fn layers(options: &[String]) -> Vec<PathBuf> {
    let value = |name: &str| {
        options
            .iter()
            .filter_map(move |option| option.strip_prefix(name)?.strip_prefix('=').map(str::to_owned))
            .collect::<Vec<_>>()
    };
    let mut folders = value("upperdir");
    for name in ["lowerdir", "lowerdir+", "datadir+"] {
        for list in value(name) {
            folders.extend(split_colons(&list));
        }
    }
    folders.into_iter().map(PathBuf::from).collect()
}

/// Splits at colons that are not escaped by a backslash; two in a row only mark data layers.
fn split_colons(list: &str) -> Vec<String> {
    let mut parts = Vec::new();
    let mut part = String::new();
    let mut characters = list.chars();
    while let Some(character) = characters.next() {
        match character {
            '\\' => part.extend(characters.next()),
            ':' => parts.push(std::mem::take(&mut part)),
            other => part.push(other),
        }
    }
    parts.push(part);
    parts.retain(|part| !part.is_empty());
    parts
}

fn special(name: &str) -> Result<DeviceNumber, String> {
    let status =
        sys::extended_stat(Path::new(name)).map_err(|error| format!("{name}: cannot stat: {error}"))?;
    Ok(status.special.into())
}

fn why_none(mount: &Mount) -> String {
    let kind = &mount.kind;
    if matches!(kind.as_str(), "tmpfs" | "ramfs" | "hugetlbfs" | "devtmpfs" | "rootfs") {
        format!("{kind} keeps its files in memory, on no device")
    } else if is_in_memory(kind) {
        format!("the kernel generates the files of {kind} when they are read; they are on no device")
    } else if is_network(kind) == Some(true) {
        format!("{kind} reads its files over a network from {}", mount.source)
    } else if kind.starts_with("fuse") {
        format!("the files of {kind} come from a program; their storage is unknown")
    } else if matches!(kind.as_str(), "9p" | "virtiofs") {
        format!("{kind} reads its files from the host of this virtual machine")
    } else {
        format!("{kind} does not report its devices (source {:?})", mount.source)
    }
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use super::*;
    use std::fs;
    use std::os::unix::fs::symlink;

    #[test]
    fn layers_are_cut_at_bare_colons_upper_first() {
        let options: Vec<String> =
            ["rw", "lowerdir=/a:/b\\:c::/d", "upperdir=/u", "workdir=/w", "lowerdir+=/e"]
                .map(str::to_owned)
                .into();
        let folders: Vec<_> = layers(&options).iter().map(|path| path.display().to_string()).collect();
        assert_eq!(folders, ["/u", "/a", "/b:c", "/d", "/e"]);
    }

    #[test]
    fn relative_layers_of_an_overlay_are_not_guessed() {
        let mounts = mounts::parse(b"1 0 0:51 / /m rw - overlay overlay rw,lowerdir=src:.,upperdir=src\n");
        let kernel = KernelFiles::running();
        let storage = Storage { kernel: &kernel, mounts: &mounts };
        let reason = storage.under(&mounts[0], mounts[0].device, 0).unwrap_err();
        assert!(reason.contains("relative"), "{reason}");
    }

    #[test]
    fn a_btrfs_lists_all_its_members() {
        let (root, kernel) = KernelFiles::tree(&[]);
        let at = root.path();
        for (name, number) in [("sda", "8:0"), ("sdb", "8:16"), ("sdc", "8:32")] {
            let folder = at.join("sys/devices/block").join(name);
            fs::create_dir_all(&folder).unwrap();
            fs::write(folder.join("dev"), format!("{number}\n")).unwrap();
            fs::create_dir_all(at.join("sys/dev/block")).unwrap();
            symlink(&folder, at.join("sys/dev/block").join(number)).unwrap();
        }
        for (uuid, members) in [("1111", &["sda"][..]), ("2222", &["sdb", "sdc"])] {
            let folder = at.join("sys/fs/btrfs").join(uuid).join("devices");
            fs::create_dir_all(&folder).unwrap();
            for member in members {
                symlink(at.join("sys/devices/block").join(member), folder.join(member)).unwrap();
            }
        }
        fs::create_dir_all(at.join("sys/fs/btrfs/features")).unwrap();
        // A device-mapper name leads to the member through its link.
        fs::create_dir_all(at.join("dev/mapper")).unwrap();
        fs::write(at.join("dev/sdb"), "").unwrap();
        symlink(at.join("dev/sdb"), at.join("dev/mapper/pool")).unwrap();

        let mounts = mounts::parse(
            b"1 0 0:40 /home /home rw - btrfs /dev/mapper/pool rw\n2 0 0:41 / /x rw - btrfs /dev/sdz rw\n",
        );
        let storage = Storage { kernel: &kernel, mounts: &mounts };
        let devices = storage.under(&mounts[0], (0, 77).into(), 0).unwrap();
        let found: Vec<_> = devices.iter().map(|device| device.name.as_str()).collect();
        assert_eq!(found, ["sdb", "sdc"]);
        let reason = storage.under(&mounts[1], (0, 78).into(), 0).unwrap_err();
        assert!(reason.contains("/dev/sdz"), "{reason}");
    }

    #[test]
    fn no_device_has_a_reason() {
        let mounts = mounts::parse(
            b"1 0 0:40 / /shm rw - tmpfs tmpfs rw\n2 0 0:41 / /n rw - nfs4 server:/x rw\n3 0 0:42 / /p rw - proc proc rw\n",
        );
        let kernel = KernelFiles::running();
        let storage = Storage { kernel: &kernel, mounts: &mounts };
        let reason = |index: usize| storage.under(&mounts[index], mounts[index].device, 0).unwrap_err();
        assert!(reason(0).contains("memory"));
        assert!(reason(1).contains("server:/x"));
        assert!(reason(2).contains("kernel"));
    }
}
