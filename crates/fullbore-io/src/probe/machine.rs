//! The machine: kernel, processors and memory, and the share that this process may use.

use super::cgroup;
use super::kernel_files::{KernelFiles, names, text};
use super::mounts;
use crate::sys::{self, GroupLimits};

/// Facts that affect a run besides the storage. The machine's name is omitted on purpose. `None` means that the system
/// does not report the fact.
///
/// ```
/// let machine = fullbore_io::probe::machine();
/// assert!(machine.processors > 0.0);
/// assert!(machine.allowed_processors.is_none_or(|allowed| machine.processors <= allowed as f64));
/// ```
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
    // Without the kernel's files, calls know some of the facts.
    let found = Machine {
        kernel: found.kernel.or_else(|| Some(sys::kernel_release())),
        processor: found.processor.or_else(sys::processor_name),
        logical_processors: found.logical_processors.or(allowed),
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
    let limits = cgroup::limits(kernel, &mounts::parse(&table));
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

#[cfg(test)]
mod tests {
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
    }

    #[test]
    fn limits_of_a_job_apply() {
        let (_root, kernel) = KernelFiles::tree(&[]);
        let machine = of(&kernel, Some(8));
        let machine = Machine { logical_processors: Some(8), ..machine };
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
}
