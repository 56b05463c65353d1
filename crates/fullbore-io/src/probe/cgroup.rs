//! Limits set by control groups of either version for this process: its group and all above it.

use std::path::{Component, Path, PathBuf};

use super::kernel_files::{KernelFiles, text};
use super::mounts::Mount;

/// A line of `/proc/self/cgroup`.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Membership {
    /// The controllers of the hierarchy; none for version 2.
    controllers: Vec<String>,
    path: PathBuf,
}

#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Limit<T> {
    pub(crate) value: T,
    pub(crate) file: PathBuf,
}

/// Limits in force; `None` means no limit.
#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct Limits {
    pub(crate) processors: Option<Limit<f64>>,
    pub(crate) memory: Option<Limit<u64>>,
}

/// Returns the tightest limits from this process' groups up to the topmost visible one.
pub(crate) fn limits(kernel: &KernelFiles, mounts: &[Mount]) -> Limits {
    let memberships = parse(&text(&kernel.proc.join("self/cgroup")).unwrap_or_default());
    let mut limits = Limits::default();
    for membership in &memberships {
        let has = |name: &str| membership.controllers.iter().any(|controller| controller == name);
        let second = membership.controllers.is_empty();
        let (processors, memory) = (second || has("cpu"), second || has("memory"));
        if !processors && !memory {
            continue;
        }
        let Some(mount) = hierarchy(mounts, membership) else { continue };
        for group in groups(kernel, mount, membership) {
            if processors {
                limits.processors = tighter(limits.processors, processors_of(&group, second));
            }
            if memory {
                limits.memory = tighter(limits.memory, memory_of(&group, second));
            }
        }
    }
    limits
}

fn parse(table: &str) -> Vec<Membership> {
    table
        .lines()
        .filter_map(|line| {
            let mut fields = line.splitn(3, ':');
            let (_, controllers, path) = (fields.next()?, fields.next()?, fields.next()?);
            Some(Membership {
                controllers: controllers
                    .split(',')
                    .filter(|name| !name.is_empty())
                    .map(str::to_owned)
                    .collect(),
                path: path.into(),
            })
        })
        .collect()
}

fn hierarchy<'a>(mounts: &'a [Mount], membership: &Membership) -> Option<&'a Mount> {
    mounts.iter().find(|mount| match membership.controllers.first() {
        None => mount.kind == "cgroup2",
        Some(first) => mount.kind == "cgroup" && mount.super_options.contains(first),
    })
}

/// Returns the directories of the process' group and the groups above it, as far as the mount shows them.
fn groups(kernel: &KernelFiles, mount: &Mount, membership: &Membership) -> Vec<PathBuf> {
    let top = kernel.rooted(&mount.point);
    // In a container the mount shows a part of the tree, and the path may be relative to a directory above that part; a
    // path with `..` is of a group outside it.
    let inside = membership
        .path
        .strip_prefix(&mount.root)
        .or_else(|_| membership.path.strip_prefix("/"))
        .unwrap_or(Path::new(""));
    let plain = inside.components().all(|part| matches!(part, Component::Normal(_)));
    let leaf = if plain && top.join(inside).is_dir() { top.join(inside) } else { top.clone() };
    leaf.ancestors().take_while(|folder| folder.starts_with(&top)).map(Path::to_owned).collect()
}

fn processors_of(group: &Path, second: bool) -> Option<Limit<f64>> {
    let (file, quota, period) = if second {
        let file = group.join("cpu.max");
        let line = text(&file)?;
        let (quota, period) = line.split_once(' ')?;
        (file, quota.to_owned(), period.to_owned())
    } else {
        let file = group.join("cpu.cfs_quota_us");
        (file.clone(), text(&file)?, text(&group.join("cpu.cfs_period_us"))?)
    };
    Some(Limit { value: processors(&quota, &period)?, file })
}

/// Converts a quota of CPU time in a period, both in microseconds, to processors. `None`: no limit (`max`, -1).
fn processors(quota: &str, period: &str) -> Option<f64> {
    let quota: u64 = quota.trim().parse().ok()?;
    let period: u64 = period.trim().parse().ok()?;
    (quota > 0 && period > 0).then(|| quota as f64 / period as f64)
}

fn memory_of(group: &Path, second: bool) -> Option<Limit<u64>> {
    let names: &[&str] = if second { &["memory.max", "memory.high"] } else { &["memory.limit_in_bytes"] };
    names.iter().fold(None, |found, name| {
        let file = group.join(name);
        let limit = text(&file).and_then(|value| bytes(&value)).map(|value| Limit { value, file });
        tighter(found, limit)
    })
}

/// Parses a memory limit in bytes. `None` means no limit (`max`, or version 1's number near the maximum).
fn bytes(value: &str) -> Option<u64> {
    let value: u64 = value.trim().parse().ok()?;
    (value < i64::MAX as u64 - (1 << 20)).then_some(value)
}

fn tighter<T: PartialOrd>(a: Option<Limit<T>>, b: Option<Limit<T>>) -> Option<Limit<T>> {
    match (a, b) {
        (Some(a), Some(b)) => Some(if b.value < a.value { b } else { a }),
        (a, b) => a.or(b),
    }
}

#[cfg(test)]
mod tests {
    use super::super::mounts;
    use super::*;

    fn found(files: &[(&str, &str)], table: &str) -> Limits {
        let (_root, kernel) = KernelFiles::tree(files);
        limits(&kernel, &mounts::parse(table.as_bytes()))
    }

    #[test]
    fn version_2_uses_the_tightest_limit_up_the_tree() {
        let files = [
            ("proc/self/cgroup", "0::/user.slice/job/step\n"),
            ("sys/fs/cgroup/user.slice/job/step/cpu.max", "max 100000\n"),
            ("sys/fs/cgroup/user.slice/job/step/memory.max", "max\n"),
            ("sys/fs/cgroup/user.slice/job/cpu.max", "150000 100000\n"),
            ("sys/fs/cgroup/user.slice/job/memory.high", "536870912\n"),
            ("sys/fs/cgroup/user.slice/cpu.max", "400000 100000\n"),
            ("sys/fs/cgroup/user.slice/memory.max", "1073741824\n"),
        ];
        let table = "1 0 0:30 / /sys/fs/cgroup rw - cgroup2 cgroup2 rw\n";
        let limits = found(&files, table);
        let processors = limits.processors.unwrap();
        assert_eq!(processors.value, 1.5);
        assert!(processors.file.ends_with("user.slice/job/cpu.max"));
        assert_eq!(limits.memory.unwrap().value, 512 << 20);
    }

    #[test]
    fn version_1_has_one_hierarchy_per_controller() {
        let files = [
            ("proc/self/cgroup", "5:memory:/m\n4:cpu,cpuacct:/a/b\n1:name=systemd:/x\n0::/\n"),
            ("sys/fs/cgroup/cpu/a/b/cpu.cfs_quota_us", "-1\n"),
            ("sys/fs/cgroup/cpu/a/b/cpu.cfs_period_us", "100000\n"),
            ("sys/fs/cgroup/cpu/a/cpu.cfs_quota_us", "50000\n"),
            ("sys/fs/cgroup/cpu/a/cpu.cfs_period_us", "100000\n"),
            ("sys/fs/cgroup/memory/m/memory.limit_in_bytes", "9223372036854771712\n"),
            ("sys/fs/cgroup/memory/memory.limit_in_bytes", "9223372036854771712\n"),
        ];
        let table = "1 0 0:30 / /sys/fs/cgroup/cpu rw - cgroup cgroup rw,cpu,cpuacct\n\
                     2 0 0:31 / /sys/fs/cgroup/memory rw - cgroup cgroup rw,memory\n";
        let limits = found(&files, table);
        assert_eq!(limits.processors.unwrap().value, 0.5);
        assert_eq!(limits.memory, None);
    }

    #[test]
    fn in_a_container_the_mount_shows_a_part_of_the_tree() {
        let files = [
            ("proc/self/cgroup", "4:cpu:/docker/abc\n0::/../other\n"),
            ("sys/fs/cgroup/cpu/cpu.cfs_quota_us", "250000\n"),
            ("sys/fs/cgroup/cpu/cpu.cfs_period_us", "100000\n"),
            ("sys/fs/cgroup/unified/memory.max", "1000000\n"),
        ];
        let table = "1 0 0:30 /docker/abc /sys/fs/cgroup/cpu ro - cgroup cgroup rw,cpu\n\
                     2 0 0:31 / /sys/fs/cgroup/unified ro - cgroup2 cgroup rw\n";
        let limits = found(&files, table);
        assert_eq!(limits.processors.unwrap().value, 2.5);
        assert_eq!(limits.memory.unwrap().value, 1_000_000);
    }

    #[test]
    fn missing_files_mean_no_limit() {
        assert_eq!(found(&[], ""), Limits::default());
        assert_eq!(processors("0", "100000"), None);
        assert_eq!(bytes("max"), None);
    }
}
