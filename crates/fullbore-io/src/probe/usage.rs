//! Counters of the process, the machine and a device, and their differences between two moments.

use std::io;

use super::device::DeviceNumber;
use super::kernel_files::{KernelFiles, whole};
use crate::sys;
pub use crate::sys::ProcessUsage;

/// A counter of which differences are taken, at least 0.
trait Difference {
    fn less(self, earlier: Self) -> Self;
}

impl Difference for u64 {
    fn less(self, earlier: Self) -> Self {
        self.saturating_sub(earlier)
    }
}

impl Difference for f64 {
    // Idle and iowait can decrease slightly when a processor sleeps.
    fn less(self, earlier: Self) -> Self {
        (self - earlier).max(0.0)
    }
}

macro_rules! subtract {
    ($since:ident, $earlier:ident: $($field:ident),+) => {
        $($since.$field = $since.$field.less($earlier.$field);)+
    };
}

impl ProcessUsage {
    /// Returns the use so far: `getrusage(2)`.
    pub fn now() -> io::Result<Self> {
        sys::usage_of_process()
    }

    /// Returns the use so far of children that ended and were waited for.
    pub fn of_children() -> io::Result<Self> {
        sys::usage_of_children()
    }

    /// Returns the use so far of the calling thread only.
    pub fn of_thread() -> io::Result<Self> {
        sys::usage_of_thread()
    }

    pub fn since(&self, earlier: &Self) -> Self {
        let mut since = *self;
        subtract!(since, earlier: user, system, minor_faults, major_faults, read_bytes, written_bytes);
        subtract!(since, earlier: voluntary_switches, involuntary_switches);
        since
    }

    /// CPU time of both kinds, in seconds.
    pub fn processor(&self) -> f64 {
        self.user + self.system
    }
}

/// Returns the maximum resident memory since the start of the program, in bytes: `VmHWM` of `/proc/self/status`, which the start
/// resets, or else that of [`ProcessUsage`].
pub fn peak_memory() -> Option<u64> {
    let Some(status) = process_status("VmHWM") else {
        return ProcessUsage::now().ok().map(|usage| usage.max_resident);
    };
    Some(status.strip_suffix("kB")?.trim().parse::<u64>().ok()? * 1024)
}

/// Returns the value of a field of `/proc/self/status`, without surrounding spaces. `None` if there is no such field.
pub(crate) fn process_status(name: &str) -> Option<String> {
    let status = whole(&KernelFiles::running().proc.join("self/status")).ok()?;
    let value = status.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(':'))?;
    Some(value.trim().to_owned())
}

/// Time spent by all processors together, in seconds, since the machine started, counted in ticks, usually of 10 ms.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct SystemUsage {
    /// Time in programs, including guests of a hypervisor.
    pub user: f64,
    /// Time in programs of lowered priority.
    pub nice: f64,
    /// Time in the kernel.
    pub system: f64,
    pub idle: f64,
    /// Time in which the processor was idle while a program waited for a device.
    pub iowait: f64,
    /// Time in interrupts.
    pub interrupts: f64,
    /// Time in deferred interrupts.
    pub soft_interrupts: f64,
    /// Time that the hypervisor used for other guests.
    pub steal: f64,
}

impl SystemUsage {
    /// Returns the times so far: `/proc/stat`.
    pub fn now() -> io::Result<Self> {
        Self::from(&KernelFiles::running())
    }

    fn from(kernel: &KernelFiles) -> io::Result<Self> {
        let file = kernel.proc.join("stat");
        Self::parse(&whole(&file)?, sys::clock_ticks_per_second())
            .ok_or_else(|| unreadable(&file, "the line \"cpu\" is missing or short"))
    }

    /// Parses the line of all processors, in ticks, with the given number of ticks per second.
    fn parse(stat: &str, ticks_per_second: u64) -> Option<Self> {
        let line = stat.lines().find_map(|line| line.strip_prefix("cpu "))?;
        let ticks: Vec<u64> = line.split_whitespace().map_while(|word| word.parse().ok()).collect();
        let seconds =
            |index: usize| ticks.get(index).map(|ticks| *ticks as f64 / ticks_per_second.max(1) as f64);
        Some(Self {
            user: seconds(0)?,
            nice: seconds(1)?,
            system: seconds(2)?,
            idle: seconds(3)?,
            // Very old kernels end here.
            iowait: seconds(4).unwrap_or(0.0),
            interrupts: seconds(5).unwrap_or(0.0),
            soft_interrupts: seconds(6).unwrap_or(0.0),
            steal: seconds(7).unwrap_or(0.0),
        })
    }

    pub fn since(&self, earlier: &Self) -> Self {
        let mut since = *self;
        subtract!(since, earlier: user, nice, system, idle, iowait, interrupts, soft_interrupts, steal);
        since
    }

    /// CPU time that did work of this machine, in seconds: not idle, not waiting, not stolen.
    pub fn busy(&self) -> f64 {
        self.user + self.nice + self.system + self.interrupts + self.soft_interrupts
    }
}

/// Counters of a device or a partition since it was attached.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct DeviceCounters {
    pub reads: Transfers,
    pub writes: Transfers,
}

/// Counters of one kind of request.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct Transfers {
    pub requests: u64,
    /// Requests merged into another before they reached the device.
    pub merged: u64,
    /// Bytes moved.
    pub bytes: u64,
    /// Sum of the requests' times in flight, in milliseconds.
    pub ms: u64,
}

impl Transfers {
    /// Returns the transfers since an earlier reading.
    pub fn since(self, earlier: Self) -> Self {
        let mut since = self;
        subtract!(since, earlier: requests, merged, bytes);
        // Linux counts 32 bits of milliseconds.
        since.ms = (self.ms as u32).wrapping_sub(earlier.ms as u32).into();
        since
    }
}

impl DeviceCounters {
    /// Returns the counters so far: `/sys/dev/block/<number>/stat`.
    ///
    /// # Errors
    /// `NotFound` if there is no such device; `InvalidData` if its counters do not have the known form.
    pub fn now(device: DeviceNumber) -> io::Result<Self> {
        Self::from(&KernelFiles::running(), device)
    }

    fn from(kernel: &KernelFiles, device: DeviceNumber) -> io::Result<Self> {
        let file = kernel.sys.join("dev/block").join(device.to_string()).join("stat");
        Self::parse(&whole(&file)?).ok_or_else(|| unreadable(&file, "fewer than 8 counters"))
    }

    fn parse(stat: &str) -> Option<Self> {
        let counters: Vec<u64> = stat.split_whitespace().map_while(|word| word.parse().ok()).collect();
        let transfers = |first: usize| {
            Some(Transfers {
                requests: *counters.get(first)?,
                merged: *counters.get(first + 1)?,
                bytes: counters.get(first + 2)?.saturating_mul(512),
                ms: *counters.get(first + 3)?,
            })
        };
        Some(Self { reads: transfers(0)?, writes: transfers(4)? })
    }
}

fn unreadable(file: &std::path::Path, what: &str) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, format!("{}: {what}", file.display()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;

    #[test]
    fn ticks_become_seconds() {
        let stat = "cpu  18672 5 3341 234379 647 1 85 26 0 0\ncpu0 1 1 1 1 1 1 1 1 0 0\nctxt 5\n";
        let usage = SystemUsage::parse(stat, 100).unwrap();
        assert_eq!((usage.user, usage.idle, usage.steal), (186.72, 2343.79, 0.26));
        assert!((usage.busy() - (186.72 + 0.05 + 33.41 + 0.01 + 0.85)).abs() < 1e-9);
        let later = SystemUsage::parse("cpu 18772 5 3341 234300 647 1 85 26", 100).unwrap();
        let between = later.since(&usage);
        assert_eq!((between.user, between.idle), (1.0, 0.0));
        assert_eq!(SystemUsage::parse("cpu0 1 2 3 4\n", 100), None);
        assert_eq!(SystemUsage::parse("cpu 1 2 3\n", 100), None);
    }

    #[test]
    fn the_counters_of_reads_and_writes_have_their_places() {
        let counters = DeviceCounters::parse(" 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17\n").unwrap();
        assert_eq!(counters.reads, Transfers { requests: 1, merged: 2, bytes: 3 * 512, ms: 4 });
        assert_eq!(counters.writes, Transfers { requests: 5, merged: 6, bytes: 7 * 512, ms: 8 });
        assert_eq!(DeviceCounters::parse("1 2 3"), None);
        let later = Transfers { requests: 4, merged: 2, bytes: 9 * 512, ms: 3 };
        let wrapped = Transfers { requests: 3, merged: 0, bytes: 6 * 512, ms: u64::from(u32::MAX) };
        assert_eq!(later.since(counters.reads), wrapped);
    }

    #[test]
    fn counters_are_read_by_number_and_errors_contain_the_file() {
        let (root, kernel) = KernelFiles::tree(&[]);
        let folder = root.path().join("sys/dev/block/8:0");
        fs::create_dir_all(&folder).unwrap();
        fs::write(folder.join("stat"), "1 0 8 0 0 0 0 0 0 0 0\n").unwrap();
        assert_eq!(DeviceCounters::from(&kernel, (8, 0).into()).unwrap().reads.bytes, 4096);
        let error = DeviceCounters::from(&kernel, (8, 1).into()).unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::NotFound);
        assert!(error.to_string().contains("8:1"), "{error}");
        fs::write(folder.join("stat"), "odd\n").unwrap();
        let error = DeviceCounters::from(&kernel, (8, 0).into()).unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::InvalidData);
    }

    #[test]
    fn differences_keep_the_peak_of_memory() {
        let before = ProcessUsage { user: 1.0, max_resident: 8192, ..ProcessUsage::default() };
        let after = ProcessUsage { user: 1.5, system: 0.5, max_resident: 8192, ..ProcessUsage::default() };
        let between = after.since(&before);
        assert_eq!((between.user, between.processor(), between.max_resident), (0.5, 1.0, 8192));
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn process_and_machine_count_work() {
        let (process, machine) = (ProcessUsage::now().unwrap(), SystemUsage::now().unwrap());
        fullbore_testkit::assert_eventually("work is counted", (true, true), || {
            let _: u64 = (0..1_000_000).map(std::hint::black_box).sum();
            let used = ProcessUsage::now().unwrap().since(&process);
            assert!(used.max_resident > 100_000);
            let worked = SystemUsage::now().unwrap().since(&machine);
            (used.processor() > 0.02, worked.busy() + worked.steal > 0.02)
        });
    }
}
