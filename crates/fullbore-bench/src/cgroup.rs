//! A control group of the meter's own: what a machine with little memory would do (Hart's figure 4).

use std::fs;
use std::path::{Path, PathBuf};

use fullbore::error::{Error, Kind, Result};
use fullbore::file::Temporary;

/// A group with a limit, which the process enters for a while. Removed when dropped.
#[derive(Debug)]
pub(crate) struct MemoryCgroup {
    group: PathBuf,
    own_cgroup: PathBuf,
    // Removes the group; last, when nobody is in it.
    _temporary: Temporary,
}

/// The process is in the group until this is dropped.
#[derive(Debug)]
pub(crate) struct CgroupGuard<'a>(&'a MemoryCgroup);

impl MemoryCgroup {
    /// Makes a group whose members and their page cache may have `bytes` of memory.
    ///
    /// # Errors
    /// [`Kind::Unsupported`] where there is no memory controller or this process may not make groups.
    pub(crate) fn with_memory_limit(bytes: u64) -> Result<Self> {
        let refuse = |what: String| {
            Error::new(Kind::Unsupported, "limit memory with", "/sys/fs/cgroup", what)
                .advise("run as root where the memory controller of control groups can be used")
        };
        let (own_cgroup, file) =
            own_cgroup().ok_or_else(|| refuse("no memory controller is mounted".into()))?;
        // No group of version 2 has both processes and groups with limits: beside our own, not within.
        let parent =
            if file == "memory.max" { own_cgroup.parent().unwrap_or(&own_cgroup) } else { &own_cgroup };
        static COUNT: std::sync::atomic::AtomicU32 = std::sync::atomic::AtomicU32::new(0);
        let number = COUNT.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
        let group = parent.join(format!("fullbore-{}-{number}", std::process::id()));
        let (temporary, ()) = Temporary::make(group.clone(), |path| {
            fs::create_dir(path).map_err(|error| refuse(format!("{}: {error}", path.display())))
        })?;
        fs::write(group.join(file), bytes.to_string())
            .map_err(|error| refuse(format!("{}: {error}", group.join(file).display())))?;
        Ok(Self { group, own_cgroup, _temporary: temporary })
    }

    /// Enters the group.
    ///
    /// # Errors
    /// If the system refuses.
    pub(crate) fn enter(&self) -> Result<CgroupGuard<'_>> {
        join(&self.group, &std::process::id().to_string())?;
        Ok(CgroupGuard(self))
    }
}

impl Drop for MemoryCgroup {
    fn drop(&mut self) {
        // Who was started while the process was in it still is, and no group with members can be removed.
        let members = self.group.join("cgroup.procs");
        for _ in 0..10 {
            let here = fs::read_to_string(&members).unwrap_or_default();
            if here.is_empty() {
                return;
            }
            for member in here.lines() {
                // One that has ended meanwhile cannot be moved and need not be.
                let _ = join(&self.own_cgroup, member);
            }
        }
    }
}

impl Drop for CgroupGuard<'_> {
    fn drop(&mut self) {
        // It was there before; if the system refuses now, the process stays limited and no figure is wrong.
        let _ = join(&self.0.own_cgroup, &std::process::id().to_string());
    }
}

/// Puts a process into a group, out of the one that it is in.
fn join(group: &Path, process: &str) -> Result<()> {
    let path = group.join("cgroup.procs");
    fs::write(&path, process).map_err(|error| Error::io("enter", &path, error))
}

/// The group of this process that can limit memory, and the file that sets the limit.
fn own_cgroup() -> Option<(PathBuf, &'static str)> {
    let memberships = fs::read_to_string("/proc/self/cgroup").ok()?;
    let mounts = fs::read_to_string("/proc/self/mounts").ok()?;
    let mount = |kind: &str, option: &str| {
        mounts.lines().find_map(|line| {
            let mut fields = line.split(' ').skip(1);
            let (place, found, options) = (fields.next()?, fields.next()?, fields.next()?);
            let has = option.is_empty() || options.split(',').any(|one| one == option);
            (found == kind && has).then(|| PathBuf::from(place))
        })
    };
    for line in memberships.lines() {
        let mut fields = line.splitn(3, ':').skip(1);
        let (controllers, path) = (fields.next()?, fields.next()?);
        let within = |place: PathBuf| place.join(path.trim_start_matches('/'));
        if controllers.split(',').any(|one| one == "memory") {
            let group = within(mount("cgroup", "memory")?);
            return group.join("memory.limit_in_bytes").exists().then_some((group, "memory.limit_in_bytes"));
        }
        if controllers.is_empty() {
            let Some(place) = mount("cgroup2", "") else { continue };
            let group = within(place);
            if group.join("memory.max").exists() {
                return Some((group, "memory.max"));
            }
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_group_is_entered_left_and_removed() {
        let limit = match MemoryCgroup::with_memory_limit(256 << 20) {
            Ok(limit) => limit,
            Err(error) => return println!("skipped: a memory limit: {error}"),
        };
        let name = limit.group.file_name().unwrap().to_str().unwrap().to_owned();
        let member = || fs::read_to_string("/proc/self/cgroup").unwrap().contains(&name);
        assert!(!member());
        let inside = limit.enter().unwrap();
        assert!(member());
        let mut stray = std::process::Command::new("sleep").arg("60").spawn().unwrap();
        drop(inside);
        assert!(!member());
        let group = limit.group.clone();
        drop(limit);
        let _ = stray.kill().and_then(|()| stray.wait());
        assert!(!group.exists(), "it was removed although a child was in it");
    }
}
