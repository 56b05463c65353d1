//! The machine: kernel, processors and memory, and the share that this process may use, as its control groups limit it.

use std::ffi::OsString;
use std::path::{Component, Path, PathBuf};

use super::kernel_files::{KernelFiles, names, text};
use super::mounts::{self, Mount};
use crate::sys::{self, GroupLimits};

/// Facts that affect a run besides the storage. The machine's name is omitted on purpose. `None` means that the system
/// does not report the fact.
#[derive(Debug, Clone, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct Machine {
    /// The kernel's release, such as `6.18.4`.
    pub kernel: Option<String>,
    /// The instruction set, in Rust's notation.
    pub architecture: String,
    /// The maker's name of the processor.
    pub processor: Option<String>,
    /// Processors online, counting each hardware thread.
    pub logical_processors: Option<u64>,
    /// Processors that this process may run on.
    pub allowed_processors: Option<u64>,
    /// CPU time granted by control groups, in processors; `None` means no limit.
    pub quota: Option<f64>,
    /// The file that sets the quota.
    pub quota_source: Option<String>,
    /// Processors available to this process: the minimum of the three above.
    pub processors: f64,
    /// Governor of the processors' clock.
    pub governor: Option<String>,
    /// Total memory in bytes.
    pub memory_total: Option<u64>,
    /// Memory available to programs without swapping, in bytes.
    pub memory_available: Option<u64>,
    /// Memory granted by control groups, including the page cache, in bytes; `None` means no limit.
    pub memory_limit: Option<u64>,
    /// The file that sets the memory limit.
    pub memory_limit_source: Option<String>,
    /// Memory that the process may lock, in bytes; `None` means no limit.
    pub lockable: Option<u64>,
    /// Size of a page in bytes.
    pub page_size: u64,
    /// Hypervisor or container of the machine, as far as detectable.
    pub virtualisation: Option<String>,
    /// True if the host of the virtual machine takes back free memory (free page reporting): it provides a page again at the
    /// next use, which takes several times as long as filling it.
    pub returns_free_memory: bool,
}

impl Machine {
    /// Returns the memory available to this process at most, in bytes: the minimum of the total and the limit.
    pub fn memory(&self) -> Option<u64> {
        [self.memory_total, self.memory_limit].into_iter().flatten().min()
    }
}

pub fn machine() -> Machine {
    let allowed = sys::allowed_processors().ok().map(|count| count as u64);
    let found = of(&KernelFiles::running(), allowed);
    // Without the kernel's files, calls return some of the facts.
    let found = Machine {
        kernel: found.kernel.or_else(|| Some(sys::kernel_release())),
        processor: found.processor.or_else(sys::processor_name),
        logical_processors: found.logical_processors.or_else(sys::online_processors).or(allowed),
        memory_total: found.memory_total.or_else(sys::memory_total),
        memory_available: found.memory_available.or_else(sys::memory_available),
        ..found
    };
    limited(found, &sys::group_limits())
}

fn limited(machine: Machine, limits: &GroupLimits) -> Machine {
    /// The source of such a limit.
    const JOB: &str = "the job object of this process";
    let (mut processors, mut quota) = (machine.processors, machine.quota);
    let allowed = match (machine.allowed_processors, limits.processors) {
        (Some(all), Some(ours)) => Some(all.min(ours)),
        (all, ours) => all.or(ours),
    };
    if let Some(ours) = limits.processors {
        processors = processors.min(ours as f64);
    }
    if let (Some(share), Some(all)) = (limits.cpu_share, machine.logical_processors) {
        let granted = share * all as f64;
        quota = Some(granted);
        processors = processors.min(granted);
    }
    Machine {
        allowed_processors: allowed,
        processors,
        quota,
        quota_source: limits.cpu_share.map(|_| JOB.to_owned()).or(machine.quota_source),
        memory_limit: limits.memory.or(machine.memory_limit),
        memory_limit_source: limits.memory.map(|_| JOB.to_owned()).or(machine.memory_limit_source),
        ..machine
    }
}

fn of(kernel: &KernelFiles, allowed: Option<u64>) -> Machine {
    let cpuinfo = text(&kernel.proc.join("cpuinfo")).unwrap_or_default();
    let meminfo = text(&kernel.proc.join("meminfo")).unwrap_or_default();
    let table = std::fs::read(kernel.proc.join("self/mountinfo")).unwrap_or_default();
    let limits = group_limits(kernel, &mounts::parse(&table));
    let online = text(&kernel.sys.join("devices/system/cpu/online")).and_then(|list| counted(&list));
    let quota = limits.processors.as_ref().map(|limit| limit.value);
    let whole = [online, allowed].into_iter().flatten().min().unwrap_or(1) as f64;
    Machine {
        kernel: text(&kernel.proc.join("sys/kernel/osrelease")),
        architecture: std::env::consts::ARCH.to_owned(),
        processor: processor_name(&cpuinfo)
            .or_else(|| text(&kernel.sys.join("firmware/devicetree/base/model"))),
        logical_processors: online,
        allowed_processors: allowed,
        quota,
        quota_source: limits.processors.map(|limit| limit.file.display().to_string()),
        processors: quota.map_or(whole, |quota| quota.min(whole)),
        governor: text(&kernel.sys.join("devices/system/cpu/cpu0/cpufreq/scaling_governor")),
        memory_total: memory_line(&meminfo, "MemTotal"),
        memory_available: memory_line(&meminfo, "MemAvailable"),
        memory_limit: limits.memory.as_ref().map(|limit| limit.value),
        memory_limit_source: limits.memory.map(|limit| limit.file.display().to_string()),
        lockable: sys::limit(sys::Resource::LockedMemory).current,
        page_size: sys::page_size() as u64,
        virtualisation: virtualisation(kernel, &cpuinfo),
        returns_free_memory: returns_free_memory(kernel),
    }
}

/// Returns the number of elements of a list such as `0-3,8`.
fn counted(list: &str) -> Option<u64> {
    list.trim().split(',').try_fold(0u64, |count, part| {
        let (first, last) = part.split_once('-').unwrap_or((part, part));
        let (first, last): (u64, u64) = (first.parse().ok()?, last.parse().ok()?);
        Some(count + last.checked_sub(first)? + 1)
    })
}

/// The field has a different name on each architecture.
fn processor_name(cpuinfo: &str) -> Option<String> {
    ["model name", "Processor", "cpu model", "Model", "cpu", "uarch", "Hardware", "CPU part"]
        .iter()
        .find_map(|wanted| field(cpuinfo, wanted))
}

fn field(table: &str, wanted: &str) -> Option<String> {
    table.lines().find_map(|line| {
        let (name, value) = line.split_once(':')?;
        let value = value.trim();
        (name.trim() == wanted && !value.is_empty()).then(|| value.to_owned())
    })
}

fn memory_line(meminfo: &str, wanted: &str) -> Option<u64> {
    let value = field(meminfo, wanted)?;
    value.strip_suffix("kB")?.trim().parse::<u64>().ok()?.checked_mul(1024)
}

fn virtualisation(kernel: &KernelFiles, cpuinfo: &str) -> Option<String> {
    let mut hints = Vec::new();
    let flag = field(cpuinfo, "flags").is_some_and(|flags| flags.split(' ').any(|flag| flag == "hypervisor"));
    let maker = text(&kernel.sys.join("class/dmi/id/sys_vendor"));
    let product = text(&kernel.sys.join("class/dmi/id/product_name"));
    let named = text(&kernel.sys.join("hypervisor/type"));
    if flag || named.is_some() {
        let name: Vec<_> = [named, maker, product].into_iter().flatten().collect();
        let virtio = names(&kernel.sys.join("bus/virtio/devices")).len();
        hints.push(match (name.is_empty(), virtio) {
            (false, _) => format!("virtual machine ({})", name.join(" ")),
            (true, 0) => "virtual machine".to_owned(),
            (true, _) => "virtual machine (virtio devices)".to_owned(),
        });
    }
    let containers = [("/.dockerenv", "container (docker)"), ("/run/.containerenv", "container (podman)")];
    hints.extend(
        containers
            .iter()
            .filter(|(file, _)| kernel.rooted(file.as_ref()).exists())
            .map(|(_, name)| (*name).to_owned()),
    );
    (!hints.is_empty()).then(|| hints.join(", "))
}

/// True if a virtio balloon has agreed on `VIRTIO_BALLOON_F_REPORTING`.
fn returns_free_memory(kernel: &KernelFiles) -> bool {
    const REPORTING: usize = 5;
    let driver = kernel.sys.join("bus/virtio/drivers/virtio_balloon");
    let features = |device: &OsString| text(&driver.join(device).join("features"));
    names(&driver).iter().filter_map(features).any(|bits| bits.as_bytes().get(REPORTING) == Some(&b'1'))
}

/// A line of `/proc/self/cgroup`.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Membership {
    /// The controllers of the hierarchy; none for version 2.
    controllers: Vec<String>,
    path: PathBuf,
}

#[derive(Debug, Clone, PartialEq)]
struct Limit<T> {
    value: T,
    file: PathBuf,
}

/// Limits in force; `None` means no limit.
#[derive(Debug, Clone, Default, PartialEq)]
struct Limits {
    processors: Option<Limit<f64>>,
    memory: Option<Limit<u64>>,
}

/// Returns the tightest limits from this process' groups up to the topmost visible one.
fn group_limits(kernel: &KernelFiles, mounts: &[Mount]) -> Limits {
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

    #[test]
    fn processors_are_the_minimum_of_all_limits() {
        let (_root, kernel) = KernelFiles::tree(&[
            ("proc/cpuinfo", "processor\t: 0\nmodel name\t: Big Chip 9\nflags\t\t: fpu hypervisor sse\n"),
            ("proc/meminfo", "MemTotal:       1000 kB\nMemAvailable:    600 kB\n"),
            ("proc/sys/kernel/osrelease", "6.1.2-test\n"),
            ("proc/self/mountinfo", "1 0 0:30 / /sys/fs/cgroup rw - cgroup2 cgroup2 rw\n"),
            ("proc/self/cgroup", "0::/job\n"),
            ("sys/fs/cgroup/job/cpu.max", "250000 100000\n"),
            ("sys/fs/cgroup/job/memory.max", "512000\n"),
            ("sys/devices/system/cpu/online", "0-3,8,10-11\n"),
            ("sys/class/dmi/id/sys_vendor", "Maker\n"),
            ("sys/bus/virtio/drivers/virtio_balloon/virtio0/features", "0110010100\n"),
        ]);
        let machine = of(&kernel, Some(4));
        assert_eq!(machine.logical_processors, Some(7));
        assert_eq!((machine.quota, machine.processors), (Some(2.5), 2.5));
        assert!(std::path::Path::new(machine.quota_source.as_ref().unwrap()).ends_with("job/cpu.max"));
        assert_eq!(of(&kernel, Some(2)).processors, 2.0);
        assert_eq!(machine.processor.as_deref(), Some("Big Chip 9"));
        assert_eq!(machine.kernel.as_deref(), Some("6.1.2-test"));
        assert_eq!((machine.memory_total, machine.memory_available), (Some(1_024_000), Some(614_400)));
        assert_eq!((machine.memory_limit, machine.memory()), (Some(512_000), Some(512_000)));
        assert_eq!(machine.virtualisation.as_deref(), Some("virtual machine (Maker)"));
        assert_eq!(machine.governor, None);
        assert!(machine.returns_free_memory);
    }

    #[test]
    fn limits_of_a_job_apply() {
        let (_root, kernel) = KernelFiles::tree(&[]);
        let machine = of(&kernel, Some(8));
        let machine = Machine { logical_processors: Some(8), ..machine };
        assert!(!machine.returns_free_memory);
        assert_eq!(limited(machine.clone(), &GroupLimits::default()), machine);
        let limits = GroupLimits { cpu_share: Some(0.25), processors: Some(4), memory: Some(1 << 30) };
        let found = limited(machine.clone(), &limits);
        assert_eq!((found.allowed_processors, found.quota, found.processors), (Some(4), Some(2.0), 2.0));
        assert_eq!((found.memory_limit, found.memory()), (Some(1 << 30), Some(1 << 30)));
        assert!(found.quota_source.unwrap().contains("job") && found.memory_limit_source.is_some());
        let few = limited(machine, &GroupLimits { processors: Some(1), ..GroupLimits::default() });
        assert_eq!((few.processors, few.quota), (1.0, None));
    }

    #[test]
    fn lists_of_processors() {
        assert_eq!(counted("0"), Some(1));
        assert_eq!(counted("0-1,4-7,9\n"), Some(7));
        assert_eq!(counted("3-1"), None);
        assert_eq!(counted("x"), None);
    }

    #[test]
    fn this_machine_has_a_processor_and_memory() {
        let machine = machine();
        assert!(machine.processors > 0.0);
        assert!(machine.processors <= machine.logical_processors.unwrap() as f64);
        #[cfg(target_os = "linux")]
        assert!(machine.memory_available.unwrap() <= machine.memory_total.unwrap());
        assert!(machine.memory_total.is_some());
        assert!(machine.kernel.unwrap().contains('.'));
        let json = serde_json::to_string(&super::machine()).unwrap();
        assert!(serde_json::from_str::<Machine>(&json).is_ok());
    }

    fn found(files: &[(&str, &str)], table: &str) -> Limits {
        let (_root, kernel) = KernelFiles::tree(files);
        group_limits(&kernel, &mounts::parse(table.as_bytes()))
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
