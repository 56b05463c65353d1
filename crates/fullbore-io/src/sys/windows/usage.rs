//! Resource use of this process and its threads so far.

use std::io;
use std::sync::OnceLock;

use windows_sys::Win32::Foundation::FILETIME;
use windows_sys::Win32::System::JobObjects as jobs;
use windows_sys::Win32::System::ProcessStatus::{K32GetProcessMemoryInfo, PROCESS_MEMORY_COUNTERS};
use windows_sys::Win32::System::Threading as threading;

use super::super::Usage;
use super::code::check;
use super::process::{thread_times, units};
use super::{Code, Result};

/// Returns the use of the whole process, including its threads.
pub(crate) fn of_process() -> io::Result<Usage> {
    let [mut created, mut ended, mut kernel, mut user] = [FILETIME::default(); 4];
    let mut memory = PROCESS_MEMORY_COUNTERS::default();
    let mut moved = threading::IO_COUNTERS::default();
    // SAFETY: the calls write the times and the structures, which live through them.
    unsafe {
        let process = threading::GetCurrentProcess();
        check(threading::GetProcessTimes(
            process,
            &raw mut created,
            &raw mut ended,
            &raw mut kernel,
            &raw mut user,
        ))?;
        check(K32GetProcessMemoryInfo(
            process,
            &raw mut memory,
            size_of::<PROCESS_MEMORY_COUNTERS>() as u32,
        ))?;
        check(threading::GetProcessIoCounters(process, &raw mut moved))?;
    }
    Ok(Usage {
        minor_faults: memory.PageFaultCount.into(),
        read_bytes: moved.ReadTransferCount,
        written_bytes: moved.WriteTransferCount,
        max_resident: memory.PeakWorkingSetSize as u64,
        ..times(kernel, user)
    })
}

/// Returns the CPU time of all processes that this one started since the first call: they are in a job with it, which the
/// system accounts for.
pub(crate) fn of_children() -> io::Result<Usage> {
    /// A handle that is never closed, as a number.
    static JOB: OnceLock<Result<usize>> = OnceLock::new();
    let job = (*JOB.get_or_init(|| {
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
    let mut found = jobs::JOBOBJECT_BASIC_ACCOUNTING_INFORMATION::default();
    // SAFETY: the call writes at most the given number of bytes into the structure.
    check(unsafe {
        jobs::QueryInformationJobObject(
            job as _,
            jobs::JobObjectBasicAccountingInformation,
            (&raw mut found).cast(),
            size_of::<jobs::JOBOBJECT_BASIC_ACCOUNTING_INFORMATION>() as u32,
            std::ptr::null_mut(),
        )
    })?;
    let own = of_process()?;
    let seconds = |time: i64| time as f64 / 1e7;
    Ok(Usage {
        user: (seconds(found.TotalUserTime) - own.user).max(0.0),
        system: (seconds(found.TotalKernelTime) - own.system).max(0.0),
        minor_faults: u64::from(found.TotalPageFaultCount).saturating_sub(own.minor_faults),
        ..times(FILETIME::default(), FILETIME::default())
    })
}

/// Returns the CPU time of the calling thread; the system counts nothing else of threads.
pub(crate) fn of_thread() -> io::Result<Usage> {
    let (kernel, user) = thread_times()?;
    Ok(times(kernel, user))
}

fn times(kernel: FILETIME, user: FILETIME) -> Usage {
    let seconds = |time| units(time) as f64 / 1e7;
    Usage {
        user: seconds(user),
        system: seconds(kernel),
        minor_faults: 0,
        major_faults: 0,
        read_bytes: 0,
        written_bytes: 0,
        voluntary_switches: 0,
        involuntary_switches: 0,
        max_resident: 0,
    }
}
