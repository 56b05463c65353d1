//! Limits of the job object that this process is in, and the name of the processor.

use windows_sys::Win32::System::JobObjects as jobs;
use windows_sys::Win32::System::Registry as registry;
use windows_sys::Win32::System::Threading as threading;

use super::super::GroupLimits;
use super::code::check;

/// Facts of the job object of this process; fails outside of jobs.
fn query<T: Default>(class: jobs::JOBOBJECTINFOCLASS) -> Option<T> {
    let mut found = T::default();
    // SAFETY: the call writes at most the given number of bytes into the structure of this class.
    check(unsafe {
        jobs::QueryInformationJobObject(
            std::ptr::null_mut(),
            class,
            (&raw mut found).cast(),
            size_of::<T>() as u32,
            std::ptr::null_mut(),
        )
    })
    .ok()?;
    Some(found)
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
fn memory(flags: u32, job: usize, process: usize) -> Option<u64> {
    let set = |flag: u32, bytes: usize| (flags & flag != 0).then_some(bytes as u64);
    let limits =
        [set(jobs::JOB_OBJECT_LIMIT_JOB_MEMORY, job), set(jobs::JOB_OBJECT_LIMIT_PROCESS_MEMORY, process)];
    limits.into_iter().flatten().min()
}

/// The limits of this process' job, and the processors of its affinity.
pub(crate) fn group_limits() -> GroupLimits {
    let rates: Option<jobs::JOBOBJECT_CPU_RATE_CONTROL_INFORMATION> =
        query(jobs::JobObjectCpuRateControlInformation);
    let limits: Option<jobs::JOBOBJECT_EXTENDED_LIMIT_INFORMATION> =
        query(jobs::JobObjectExtendedLimitInformation);
    let (mut ours, mut all) = (0, 0);
    // SAFETY: the call writes the two numbers. They are zero for a process in several groups of processors.
    let affinity = check(unsafe {
        threading::GetProcessAffinityMask(threading::GetCurrentProcess(), &raw mut ours, &raw mut all)
    });
    GroupLimits {
        cpu_share: rates.and_then(|rates| {
            // SAFETY: both rates and the weight are numbers in the same place.
            cpu_share(rates.ControlFlags, unsafe { rates.Anonymous.CpuRate })
        }),
        processors: affinity.ok().map(|()| u64::from(ours.count_ones())).filter(|&count| count > 0),
        memory: limits.and_then(|limits| {
            let flags = limits.BasicLimitInformation.LimitFlags;
            memory(flags, limits.JobMemoryLimit, limits.ProcessMemoryLimit)
        }),
    }
}

/// The maker's name of the processor.
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

#[cfg(test)]
mod tests {
    use super::*;

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
        assert_eq!(memory(0, 5, 3), None);
        assert_eq!(memory(job, 5, 3), Some(5));
        assert_eq!(memory(job | process, 5, 3), Some(3));
    }

    #[test]
    fn this_process_runs_on_a_processor() {
        assert!(group_limits().processors.is_none_or(|count| count > 0));
    }
}
