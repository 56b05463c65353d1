//! The process: its user, limits, job, resource use, processors, standard streams, the thread pool and the sizes of the system.

use std::ffi::c_void;
use std::io;
use std::mem::MaybeUninit;
use std::path::PathBuf;
use std::sync::OnceLock;
use std::time::Duration;

use windows_sys::Win32::Foundation::{CloseHandle, FILETIME, HANDLE};
use windows_sys::Win32::System::ProcessStatus::{K32GetProcessMemoryInfo, PROCESS_MEMORY_COUNTERS};
use windows_sys::Win32::System::Threading::{
    CallbackMayRunLong, CloseThreadpoolWork, CreateThreadpoolWork, PTP_CALLBACK_INSTANCE, PTP_WORK,
    SubmitThreadpoolWork, WaitForThreadpoolWorkCallbacks,
};
use windows_sys::Win32::System::{
    Console as console, JobObjects as jobs, Registry as registry, SystemInformation as system,
    Threading as threading,
};
use windows_sys::core::BOOL;

use super::code::check;
use super::handle::BorrowedHandle;
use crate::sys::code::{Code, Result};
use crate::sys::types::{GroupLimits, Limit, ProcessUsage, Resource};

/// A length of time in units of 100 ns.
fn units(time: FILETIME) -> u64 {
    u64::from(time.dwHighDateTime) << 32 | u64::from(time.dwLowDateTime)
}

/// A call that writes the times of a thread or of a process: creation, end, and CPU time in the kernel and in the program.
type TimesOf =
    unsafe extern "system" fn(HANDLE, *mut FILETIME, *mut FILETIME, *mut FILETIME, *mut FILETIME) -> BOOL;

/// CPU time so far, in the kernel and in the program.
fn cpu_times(call: TimesOf, of: HANDLE) -> Result<(FILETIME, FILETIME)> {
    let [mut created, mut ended, mut kernel, mut user] = [FILETIME::default(); 4];
    // SAFETY: the call writes the four times.
    check(unsafe { call(of, &raw mut created, &raw mut ended, &raw mut kernel, &raw mut user) })?;
    Ok((kernel, user))
}

/// CPU time of the calling thread so far.
fn thread_times() -> Result<(FILETIME, FILETIME)> {
    // SAFETY: a call without memory.
    cpu_times(threading::GetThreadTimes, unsafe { threading::GetCurrentThread() })
}

pub fn thread_cpu_time() -> Duration {
    thread_times()
        .map_or(Duration::ZERO, |(kernel, user)| Duration::from_nanos((units(kernel) + units(user)) * 100))
}

pub fn thread_waits() -> Option<u64> {
    None
}

pub fn limit(_: Resource) -> Limit {
    Limit { current: None, maximum: None }
}

pub fn set_limit(_: Resource, _: Limit) -> Result<()> {
    Ok(())
}

/// Returns the user: all files count as theirs, since owners are not numbers here.
pub fn effective_user() -> u32 {
    1
}

/// Files have no such bit.
pub fn may_set_group_id(_: u32) -> bool {
    true
}

pub fn umask() -> u32 {
    0
}

pub fn kill(process: u32) -> Result<()> {
    // SAFETY: calls with numbers, and with a handle that is open.
    unsafe {
        let process = threading::OpenProcess(threading::PROCESS_TERMINATE, 0, process);
        if process.is_null() {
            return Err(Code::last());
        }
        let ended = check(threading::TerminateProcess(process, 137));
        CloseHandle(process);
        ended
    }
}

fn standard(stream: console::STD_HANDLE) -> BorrowedHandle<'static> {
    // SAFETY: the handles of the standard streams stay open; one that is missing is null, and calls with it fail.
    unsafe { BorrowedHandle::borrow_raw(console::GetStdHandle(stream)) }
}

pub fn stdin() -> BorrowedHandle<'static> {
    standard(console::STD_INPUT_HANDLE)
}

pub fn stdout() -> BorrowedHandle<'static> {
    standard(console::STD_OUTPUT_HANDLE)
}

pub fn page_size() -> usize {
    information().dwPageSize as usize
}

/// The unit of offsets of mappings, in bytes.
pub(super) fn mapping_unit() -> u64 {
    information().dwAllocationGranularity.into()
}

fn information() -> system::SYSTEM_INFO {
    let mut found = MaybeUninit::<system::SYSTEM_INFO>::zeroed();
    // SAFETY: the call fills the structure.
    unsafe {
        system::GetSystemInfo(found.as_mut_ptr());
        found.assume_init()
    }
}

pub fn clock_ticks_per_second() -> u64 {
    100
}

pub(crate) fn kernel_release() -> String {
    let mut found = system::OSVERSIONINFOW {
        dwOSVersionInfoSize: size_of::<system::OSVERSIONINFOW>() as u32,
        ..Default::default()
    };
    // SAFETY: the call writes the structure, whose size it is given.
    unsafe { windows_sys::Wdk::System::SystemServices::RtlGetVersion(&raw mut found) };
    format!("{}.{}.{}", found.dwMajorVersion, found.dwMinorVersion, found.dwBuildNumber)
}

pub(crate) fn memory_total() -> Option<u64> {
    memory_status().map(|found| found.ullTotalPhys)
}

pub(crate) fn memory_available() -> Option<u64> {
    memory_status().map(|found| found.ullAvailPhys)
}

fn memory_status() -> Option<system::MEMORYSTATUSEX> {
    let mut found =
        system::MEMORYSTATUSEX { dwLength: size_of::<system::MEMORYSTATUSEX>() as u32, ..Default::default() };
    // SAFETY: the call writes the structure, whose size it is given.
    check(unsafe { system::GlobalMemoryStatusEx(&raw mut found) }).ok()?;
    Some(found)
}

pub(crate) fn usage_of_process() -> io::Result<ProcessUsage> {
    let mut memory = PROCESS_MEMORY_COUNTERS::default();
    let mut moved = threading::IO_COUNTERS::default();
    // SAFETY: a call without memory.
    let process = unsafe { threading::GetCurrentProcess() };
    let (kernel, user) = cpu_times(threading::GetProcessTimes, process)?;
    // SAFETY: the calls write the structures, which live through them.
    unsafe {
        check(K32GetProcessMemoryInfo(
            process,
            &raw mut memory,
            size_of::<PROCESS_MEMORY_COUNTERS>() as u32,
        ))?;
        check(threading::GetProcessIoCounters(process, &raw mut moved))?;
    }
    Ok(ProcessUsage {
        minor_faults: memory.PageFaultCount.into(),
        read_bytes: moved.ReadTransferCount,
        written_bytes: moved.WriteTransferCount,
        max_resident: memory.PeakWorkingSetSize as u64,
        ..times(kernel, user)
    })
}

/// Returns the CPU time of all processes started since the first call: they are in a job with this one.
pub(crate) fn usage_of_children() -> io::Result<ProcessUsage> {
    /// A handle that is never closed, as a number.
    static JOB: OnceLock<Result<usize>> = OnceLock::new();
    let job = (*JOB.get_or_init(|| {
        OUTER.get_or_init(job_limits);
        // SAFETY: calls without memory, on a new handle and on this process.
        unsafe {
            let job = jobs::CreateJobObjectW(std::ptr::null(), std::ptr::null());
            if job.is_null() {
                return Err(Code::last());
            }
            check(jobs::AssignProcessToJobObject(job, threading::GetCurrentProcess()))?;
            Ok(job as usize)
        }
    }))?;
    let found: jobs::JOBOBJECT_BASIC_ACCOUNTING_INFORMATION =
        query_job(job as _, jobs::JobObjectBasicAccountingInformation)?;
    let own = usage_of_process()?;
    let seconds = |time: i64| time as f64 / 1e7;
    Ok(ProcessUsage {
        user: (seconds(found.TotalUserTime) - own.user).max(0.0),
        system: (seconds(found.TotalKernelTime) - own.system).max(0.0),
        minor_faults: u64::from(found.TotalPageFaultCount).saturating_sub(own.minor_faults),
        ..times(FILETIME::default(), FILETIME::default())
    })
}

/// Returns the CPU time of the calling thread; the system counts nothing else of threads.
pub(crate) fn usage_of_thread() -> io::Result<ProcessUsage> {
    let (kernel, user) = thread_times()?;
    Ok(times(kernel, user))
}

fn times(kernel: FILETIME, user: FILETIME) -> ProcessUsage {
    let seconds = |time| units(time) as f64 / 1e7;
    ProcessUsage { user: seconds(user), system: seconds(kernel), ..ProcessUsage::default() }
}

pub(crate) fn forks() -> u32 {
    0
}

/// Facts of a job object: with a null handle of that of this process, which fails outside of jobs.
fn query_job<T: Default>(job: HANDLE, class: jobs::JOBOBJECTINFOCLASS) -> Result<T> {
    let mut found = T::default();
    let size = size_of::<T>() as u32;
    // SAFETY: the call writes at most the given number of bytes into the structure of this class.
    check(unsafe {
        jobs::QueryInformationJobObject(job, class, (&raw mut found).cast(), size, std::ptr::null_mut())
    })?;
    Ok(found)
}

/// The share of CPU time that a job's flags and rates, in hundredths of a percent, permit.
fn cpu_share(flags: u32, rate: u32) -> Option<f64> {
    let rate = match flags {
        _ if flags & jobs::JOB_OBJECT_CPU_RATE_CONTROL_ENABLE == 0 => return None,
        _ if flags & jobs::JOB_OBJECT_CPU_RATE_CONTROL_MIN_MAX_RATE != 0 => rate >> 16,
        _ if flags & jobs::JOB_OBJECT_CPU_RATE_CONTROL_HARD_CAP != 0
            && flags & jobs::JOB_OBJECT_CPU_RATE_CONTROL_WEIGHT_BASED == 0 =>
        {
            rate
        }
        // A weight, or a rate that may be exceeded while processors are idle.
        _ => return None,
    };
    (1..10_000).contains(&rate).then(|| f64::from(rate) / 10_000.0)
}

/// The memory in bytes that a job's flags permit to the job and to each process.
fn memory_limit(flags: u32, job: usize, process: usize) -> Option<u64> {
    let set = |flag: u32, bytes: usize| (flags & flag != 0).then_some(bytes as u64);
    let limits =
        [set(jobs::JOB_OBJECT_LIMIT_JOB_MEMORY, job), set(jobs::JOB_OBJECT_LIMIT_PROCESS_MEMORY, process)];
    limits.into_iter().flatten().min()
}

/// The share of CPU time and the memory in bytes that this process's job permits.
type JobLimits = (Option<f64>, Option<u64>);

/// The limits that the process had before it got a job of its own, which has none.
static OUTER: OnceLock<JobLimits> = OnceLock::new();

fn job_limits() -> JobLimits {
    let own = std::ptr::null_mut();
    let rates: Result<jobs::JOBOBJECT_CPU_RATE_CONTROL_INFORMATION> =
        query_job(own, jobs::JobObjectCpuRateControlInformation);
    let limits: Result<jobs::JOBOBJECT_EXTENDED_LIMIT_INFORMATION> =
        query_job(own, jobs::JobObjectExtendedLimitInformation);
    let share = rates.ok().and_then(|rates| {
        // SAFETY: both rates and the weight are numbers in the same place.
        cpu_share(rates.ControlFlags, unsafe { rates.Anonymous.CpuRate })
    });
    let memory = limits.ok().and_then(|limits| {
        let flags = limits.BasicLimitInformation.LimitFlags;
        memory_limit(flags, limits.JobMemoryLimit, limits.ProcessMemoryLimit)
    });
    (share, memory)
}

/// The limits of this process's job, and the processors of its affinity.
pub(crate) fn group_limits() -> GroupLimits {
    let (cpu_share, memory) = OUTER.get().copied().unwrap_or_else(job_limits);
    let (mut ours, mut all) = (0, 0);
    // SAFETY: the call writes the two numbers.
    let affinity = check(unsafe {
        threading::GetProcessAffinityMask(threading::GetCurrentProcess(), &raw mut ours, &raw mut all)
    });
    let processors = affinity.ok().map(|()| u64::from(ours.count_ones())).filter(|&count| count > 0);
    // In several groups of processors, the mask is zero or, since Windows 11, that of one group.
    let is_whole = processor_groups().len() <= 1;
    GroupLimits { cpu_share, processors: processors.filter(|_| is_whole), memory }
}

/// The processors of the machine, in all groups.
pub(crate) fn online_processors() -> Option<u64> {
    // SAFETY: a call with a number.
    let count = unsafe { threading::GetActiveProcessorCount(ALL_PROCESSOR_GROUPS) };
    (count > 0).then_some(count.into())
}

const ALL_PROCESSOR_GROUPS: u16 = 0xffff;

/// The groups of processors of this process; none if the system does not report them (Wine has one group).
fn processor_groups() -> Vec<u16> {
    let mut groups = vec![0u16; 64];
    let mut count = groups.len() as u16;
    // SAFETY: the call writes at most the given number of groups, and their number.
    let found = check(unsafe {
        let process = threading::GetCurrentProcess();
        threading::GetProcessGroupAffinity(process, &raw mut count, groups.as_mut_ptr())
    });
    groups.truncate(found.map_or(0, |()| usize::from(count)));
    groups
}

/// The processors that the threads of this process run on: those of its groups, which have up to 64 each and are all groups from
/// Windows 11 on, and of its affinity in a single group.
pub(crate) fn allowed_processors() -> io::Result<usize> {
    // SAFETY: calls with numbers.
    let count = |group: &u16| unsafe { threading::GetActiveProcessorCount(*group) as usize };
    let in_groups = match processor_groups() {
        groups if groups.is_empty() => information().dwNumberOfProcessors as usize,
        groups => groups.iter().map(count).sum(),
    };
    let affinity = group_limits().processors.map_or(usize::MAX, |count| count as usize);
    Ok(in_groups.min(affinity).max(1))
}

/// Returns the usual directory of configurations, if the environment has its place.
pub fn config_directory() -> Option<PathBuf> {
    std::env::var_os("APPDATA").map(PathBuf::from)
}

/// Returns the number of processors to use; that of std has the processors of one group only.
pub(crate) fn usable_processors() -> usize {
    allowed_processors().unwrap_or(1)
}

pub(crate) fn processor_name() -> Option<String> {
    let wide = |text: &str| text.encode_utf16().chain([0]).collect::<Vec<u16>>();
    let (key, value) = (wide(r"HARDWARE\DESCRIPTION\System\CentralProcessor\0"), wide("ProcessorNameString"));
    let mut name = [0u16; 128];
    let mut bytes = size_of_val(&name) as u32;
    // SAFETY: both names end with a zero; the call writes at most the given number of bytes, and their number.
    let failed = unsafe {
        registry::RegGetValueW(
            registry::HKEY_LOCAL_MACHINE,
            key.as_ptr(),
            value.as_ptr(),
            registry::RRF_RT_REG_SZ,
            std::ptr::null_mut(),
            name.as_mut_ptr().cast(),
            &raw mut bytes,
        )
    };
    let end = name.iter().position(|&unit| unit == 0)?;
    let name = String::from_utf16_lossy(&name[..end]).trim().to_owned();
    (failed == 0 && !name.is_empty()).then_some(name)
}

/// Calls `work` once on this thread and up to `more` times on threads of the pool; those not begun when the caller's own ends are
/// left out. Returns when all have ended. `work` must not panic.
pub fn call_on_pool(more: usize, work: &(dyn Fn() + Sync)) -> Result<()> {
    /// Ends the work even if the caller's own call panics: the others refer to its memory.
    struct Work(PTP_WORK);
    impl Drop for Work {
        fn drop(&mut self) {
            // SAFETY: the work is open; nothing uses it after the wait.
            unsafe {
                WaitForThreadpoolWorkCallbacks(self.0, 1);
                CloseThreadpoolWork(self.0);
            }
        }
    }
    unsafe extern "system" fn call(instance: PTP_CALLBACK_INSTANCE, work: *mut c_void, _: PTP_WORK) {
        // SAFETY: `call_on_pool` passes this pointer and waits for the calls.
        let work = unsafe { *work.cast::<&(dyn Fn() + Sync)>() };
        // The pool starts another thread for other work.
        // SAFETY: the instance is that of this call.
        unsafe { CallbackMayRunLong(instance) };
        work();
    }
    // SAFETY: the pointer is valid until the work is dropped, which waits for its calls.
    let pooled =
        unsafe { CreateThreadpoolWork(Some(call), (&raw const work).cast_mut().cast(), std::ptr::null()) };
    if pooled == 0 {
        return Err(Code::last());
    }
    let pooled = Work(pooled);
    for _ in 0..more {
        // SAFETY: the work is open.
        unsafe { SubmitThreadpoolWork(pooled.0) };
    }
    work();
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::atomic::{AtomicUsize, Ordering};
    use std::sync::{Barrier, Mutex};

    #[test]
    fn rates_are_hundredths_of_a_percent_and_weights_are_no_limit() {
        let cap = jobs::JOB_OBJECT_CPU_RATE_CONTROL_ENABLE | jobs::JOB_OBJECT_CPU_RATE_CONTROL_HARD_CAP;
        assert_eq!(cpu_share(cap, 2500), Some(0.25));
        assert_eq!(cpu_share(cap, 10_000), None);
        assert_eq!(cpu_share(cap & !jobs::JOB_OBJECT_CPU_RATE_CONTROL_ENABLE, 2500), None);
        assert_eq!(cpu_share(jobs::JOB_OBJECT_CPU_RATE_CONTROL_ENABLE, 2500), None, "exceeded when idle");
        let weight =
            jobs::JOB_OBJECT_CPU_RATE_CONTROL_ENABLE | jobs::JOB_OBJECT_CPU_RATE_CONTROL_WEIGHT_BASED;
        assert_eq!(cpu_share(weight, 5), None);
        let rates = jobs::JOB_OBJECT_CPU_RATE_CONTROL_ENABLE | jobs::JOB_OBJECT_CPU_RATE_CONTROL_MIN_MAX_RATE;
        assert_eq!(cpu_share(rates, 5000 << 16 | 1000), Some(0.5));
    }

    #[test]
    fn memory_is_the_least_that_is_set() {
        let (job, process) = (jobs::JOB_OBJECT_LIMIT_JOB_MEMORY, jobs::JOB_OBJECT_LIMIT_PROCESS_MEMORY);
        assert_eq!(memory_limit(0, 5, 3), None);
        assert_eq!(memory_limit(job, 5, 3), Some(5));
        assert_eq!(memory_limit(job | process, 5, 3), Some(3));
    }

    #[test]
    fn a_job_for_the_children_hides_no_limit() {
        let before = group_limits();
        let _ = usage_of_children();
        let after = group_limits();
        assert_eq!((after.cpu_share, after.memory), (before.cpu_share, before.memory));
        assert!(OUTER.get().is_some());
    }

    #[test]
    fn this_process_runs_on_processors_of_the_machine() {
        let (allowed, online) = (allowed_processors().unwrap() as u64, online_processors().unwrap());
        assert!(allowed <= online, "{allowed} of {online}");
        // std counts those of one group.
        let in_group = std::thread::available_parallelism().unwrap().get() as u64;
        assert!(in_group == online || online > 64 && in_group < online, "{in_group} of {online}");
    }

    #[test]
    fn calls_run_at_once_on_different_threads() {
        let (barrier, threads) = (Barrier::new(4), Mutex::new(std::collections::HashSet::new()));
        call_on_pool(3, &|| {
            threads.lock().unwrap().insert(std::thread::current().id());
            barrier.wait();
        })
        .unwrap();
        assert_eq!(threads.into_inner().unwrap().len(), 4);
    }

    #[test]
    fn calls_that_have_begun_are_waited_for() {
        let (begun, ended) = (AtomicUsize::new(0), AtomicUsize::new(0));
        for _ in 0..200 {
            call_on_pool(8, &|| {
                begun.fetch_add(1, Ordering::SeqCst);
                std::thread::yield_now();
                ended.fetch_add(1, Ordering::SeqCst);
            })
            .unwrap();
            assert_eq!(begun.load(Ordering::SeqCst), ended.load(Ordering::SeqCst));
        }
        assert!(begun.into_inner() >= 200);
    }
}
