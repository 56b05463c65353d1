//! Resource use of this process and its threads so far.

use std::io;

use windows_sys::Win32::Foundation::FILETIME;
use windows_sys::Win32::System::ProcessStatus::{K32GetProcessMemoryInfo, PROCESS_MEMORY_COUNTERS};
use windows_sys::Win32::System::Threading as threading;

use super::super::Usage;
use super::code::check;
use super::process::units;

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

/// The use of children is known of each child alone.
pub(crate) fn of_children() -> io::Result<Usage> {
    Err(io::ErrorKind::Unsupported.into())
}

/// Returns the CPU time of the calling thread; the system counts nothing else of threads.
pub(crate) fn of_thread() -> io::Result<Usage> {
    let [mut created, mut ended, mut kernel, mut user] = [FILETIME::default(); 4];
    // SAFETY: the call writes the four times.
    check(unsafe {
        threading::GetThreadTimes(
            threading::GetCurrentThread(),
            &raw mut created,
            &raw mut ended,
            &raw mut kernel,
            &raw mut user,
        )
    })?;
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
