//! A control group with a memory limit, to simulate a machine with little memory (Hart's figure 4).

use std::fs;
use std::path::{Path, PathBuf};

use fullbore::error::{Error, ErrorKind, Result};
use fullbore::file::Temporary;
use fullbore::sys;

/// A group with a limit, which the process enters temporarily. Removed when dropped.
#[derive(Debug)]
pub(crate) struct MemoryCgroup {
    group: PathBuf,
    own_cgroup: PathBuf,
    // Removes the group; dropped last, when the group is empty.
    _temporary: Temporary,
}

/// The process is in the group until this is dropped.
#[derive(Debug)]
pub(crate) struct CgroupGuard<'a>(&'a MemoryCgroup);

impl MemoryCgroup {
    pub(crate) fn with_memory_limit(bytes: u64) -> Result<Self> {
        let root = Path::new(sys::SYS).join("fs/cgroup");
        let refuse = |what: String| {
            Error::new(ErrorKind::Unsupported, "limit memory with", &root, what)
                .advise("run as root on a system with the memory controller of control groups")
        };
        let (own_cgroup, file) =
            own_cgroup().ok_or_else(|| refuse("no memory controller is mounted".into()))?;
        // In version 2, a group cannot have both processes and limited child groups, so the new group is a sibling of
        // our own.
        let parent =
            if file == "memory.max" { own_cgroup.parent().unwrap_or(&own_cgroup) } else { &own_cgroup };
        static COUNT: std::sync::atomic::AtomicU32 = std::sync::atomic::AtomicU32::new(0);
        let number = COUNT.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
        let group = parent.join(format!("fullbore-{}-{number}", std::process::id()));
        remove_stale(parent);
        let (temporary, ()) = Temporary::make(group.clone(), |path| {
            fs::create_dir(path).map_err(|error| refuse(format!("{}: {error}", path.display())))
        })?;
        fs::write(group.join(file), bytes.to_string())
            .map_err(|error| refuse(format!("{}: {error}", group.join(file).display())))?;
        Ok(Self { group, own_cgroup, _temporary: temporary })
    }

    pub(crate) fn enter(&self) -> Result<CgroupGuard<'_>> {
        join(&self.group, &std::process::id().to_string())?;
        Ok(CgroupGuard(self))
    }
}

impl Drop for MemoryCgroup {
    fn drop(&mut self) {
        // Children started while the process was in the group still are, and a group with members cannot be removed.
        let members = self.group.join("cgroup.procs");
        for _ in 0..10 {
            let here = fs::read_to_string(&members).unwrap_or_default();
            if here.is_empty() {
                return;
            }
            for member in here.lines() {
                // A child that has ended cannot be moved and need not be.
                let _ = join(&self.own_cgroup, member);
            }
        }
    }
}

impl Drop for CgroupGuard<'_> {
    fn drop(&mut self) {
        // If the system refuses, the process stays limited; the figures remain correct.
        let _ = join(&self.0.own_cgroup, &std::process::id().to_string());
    }
}

/// Removes the groups of runs that a signal ended inside: nobody is in them, or only processes that have ended.
fn remove_stale(parent: &Path) {
    let Ok(groups) = fs::read_dir(parent) else { return };
    for group in groups.flatten() {
        let name = group.file_name();
        let process = name.to_str().and_then(|name| name.strip_prefix("fullbore-")?.split_once('-'));
        // The system refuses to remove a group with members.
        if process.is_some_and(|(process, _)| !Path::new(sys::PROC).join(process).exists()) {
            let _ = fs::remove_dir(group.path());
        }
    }
}

fn join(group: &Path, process: &str) -> Result<()> {
    let path = group.join("cgroup.procs");
    fs::write(&path, process).map_err(|error| Error::io("enter", &path, error))
}

/// Returns the group of this process that can limit memory, and the name of the file that sets the limit.
fn own_cgroup() -> Option<(PathBuf, &'static str)> {
    let memberships = fs::read_to_string(Path::new(sys::PROC).join("self/cgroup")).ok()?;
    let mounts = fs::read_to_string(Path::new(sys::PROC).join("self/mounts")).ok()?;
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
    use fullbore_testkit::or_skip;

    use super::*;

    #[test]
    fn group_is_entered_left_and_removed() {
        let limit = MemoryCgroup::with_memory_limit(256 << 20);
        let Some(limit) = or_skip("a memory limit", limit) else { return };
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
        assert!(!group.exists(), "the group was not removed");
    }
}
