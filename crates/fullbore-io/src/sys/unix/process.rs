//! The process: its user, limits, resource use, forks, standard streams and the sizes of the system.

use std::io;
use std::mem::MaybeUninit;
use std::os::fd::AsFd;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{LazyLock, Once};

use rustix::fs::Mode;
use rustix::process::{Pid, Rlimit, Signal};

use super::open::BorrowedHandle;
use crate::sys::code::{Code, Result};
use crate::sys::types::{Disk, GroupLimits, Limit, ProcessUsage, Resource, Volume};

fn number_of(resource: Resource) -> rustix::process::Resource {
    match resource {
        Resource::OpenFiles => rustix::process::Resource::Nofile,
        Resource::LockedMemory => rustix::process::Resource::Memlock,
    }
}

/// CPU time of the calling thread so far, exact to the moment: `getrusage(2)` counts whole ticks.
pub fn thread_cpu_time() -> std::time::Duration {
    let time = rustix::time::clock_gettime(rustix::time::ClockId::ThreadCPUTime);
    std::time::Duration::new(time.tv_sec as u64, time.tv_nsec as u32)
}

/// Returns the number of times that the calling thread has waited so far, if the system counts it for threads.
pub fn thread_waits() -> Option<u64> {
    usage_of_thread().ok().map(|usage| usage.voluntary_switches)
}

/// Unsupported: the system has no thread pool.
pub fn call_on_pool(_: usize, _: &(dyn Fn() + Sync)) -> Result<()> {
    Err(Code::UNSUPPORTED)
}

pub fn limit(resource: Resource) -> Limit {
    let Rlimit { current, maximum } = rustix::process::getrlimit(number_of(resource));
    Limit { current, maximum }
}

pub fn set_limit(resource: Resource, Limit { current, maximum }: Limit) -> Result<()> {
    Ok(rustix::process::setrlimit(number_of(resource), Rlimit { current, maximum })?)
}

/// True if the signal with this number is ignored.
pub fn is_ignored(signal: i32) -> bool {
    let mut action = MaybeUninit::<libc::sigaction>::uninit();
    // SAFETY: the call writes the present action, and changes none.
    let known = unsafe { libc::sigaction(signal, std::ptr::null(), action.as_mut_ptr()) } == 0;
    // SAFETY: the call succeeded, so the action is written.
    known && unsafe { action.assume_init() }.sa_sigaction == libc::SIG_IGN
}

/// Returns the effective user; 0 is root.
pub fn effective_user() -> u32 {
    rustix::process::geteuid().as_raw()
}

/// True if the process may set the set-group-ID bit of a file with this group.
pub fn may_set_group_id(group: u32) -> bool {
    let group = rustix::process::Gid::from_raw(group);
    let groups = || rustix::process::getgroups().is_ok_and(|groups| groups.contains(&group));
    effective_user() == 0 || rustix::process::getegid() == group || groups()
}

/// Returns the umask, determined once. Reading it sets a strict umask for all threads for a moment, because the system
/// has no call that only returns it.
pub fn umask() -> u32 {
    static MASK: LazyLock<u32> = LazyLock::new(|| {
        let mask = rustix::process::umask(Mode::RWXG | Mode::RWXO);
        rustix::process::umask(mask);
        mask.bits() as _
    });
    *MASK
}

pub fn kill(process: u32) -> Result<()> {
    let process = i32::try_from(process).ok().and_then(Pid::from_raw).ok_or(Code::INVALID)?;
    Ok(rustix::process::kill_process(process, Signal::KILL)?)
}

pub fn stdin() -> BorrowedHandle<'static> {
    rustix::stdio::stdin()
}

pub fn stdout() -> BorrowedHandle<'static> {
    rustix::stdio::stdout()
}

pub fn stderr() -> BorrowedHandle<'static> {
    rustix::stdio::stderr()
}

pub fn terminal_columns(terminal: impl AsFd) -> Result<u16> {
    Ok(rustix::termios::tcgetwinsize(terminal)?.ws_col)
}

pub fn page_size() -> usize {
    rustix::param::page_size()
}

/// Returns the unit of times in the kernel's files: ticks per second.
pub fn clock_ticks_per_second() -> u64 {
    rustix::param::clock_ticks_per_second()
}

pub(crate) fn kernel_release() -> String {
    rustix::system::uname().release().to_string_lossy().into_owned()
}

pub(crate) fn memory_total() -> Option<u64> {
    // SAFETY: the call has no preconditions.
    let pages = unsafe { libc::sysconf(libc::_SC_PHYS_PAGES) };
    u64::try_from(pages).ok().filter(|pages| *pages > 0).map(|pages| pages * page_size() as u64)
}

/// Terminals take the bytes as they are.
pub fn use_utf8_console() {}

/// True if a terminal interprets control sequences.
pub fn interprets_sequences(_: impl AsFd) -> bool {
    true
}

/// Nothing was changed.
pub fn restore_console() {}

pub(crate) fn usage_of_process() -> io::Result<ProcessUsage> {
    usage_of(libc::RUSAGE_SELF)
}

/// Returns the use of the children that ended and were waited for, and of theirs.
pub(crate) fn usage_of_children() -> io::Result<ProcessUsage> {
    usage_of(libc::RUSAGE_CHILDREN)
}

pub(crate) fn usage_of_thread() -> io::Result<ProcessUsage> {
    #[cfg(not(target_os = "macos"))]
    return usage_of(libc::RUSAGE_THREAD);
    #[cfg(target_os = "macos")]
    return Err(io::ErrorKind::Unsupported.into());
}

fn usage_of(whom: libc::c_int) -> io::Result<ProcessUsage> {
    /// Linux counts units of 512 bytes for every device; others count requests of unknown lengths.
    const UNIT: u64 = if cfg!(target_os = "linux") { 512 } else { 0 };
    let mut usage = MaybeUninit::<libc::rusage>::zeroed();
    // SAFETY: the pointer is to a live struct of the right type, which the call fills.
    if unsafe { libc::getrusage(whom, usage.as_mut_ptr()) } != 0 {
        return Err(io::Error::last_os_error());
    }
    // SAFETY: the call succeeded and so filled the struct, which is also valid when all zero.
    let usage = unsafe { usage.assume_init() };
    let count = |value: libc::c_long| u64::try_from(value).unwrap_or(0);
    let seconds = |time: libc::timeval| time.tv_sec as f64 + time.tv_usec as f64 / 1e6;
    Ok(ProcessUsage {
        user: seconds(usage.ru_utime),
        system: seconds(usage.ru_stime),
        minor_faults: count(usage.ru_minflt),
        major_faults: count(usage.ru_majflt),
        read_bytes: count(usage.ru_inblock) * UNIT,
        written_bytes: count(usage.ru_oublock) * UNIT,
        voluntary_switches: count(usage.ru_nvcsw),
        involuntary_switches: count(usage.ru_nivcsw),
        max_resident: count(usage.ru_maxrss) * if cfg!(target_os = "macos") { 1 } else { 1024 },
    })
}

static FORKS: AtomicU32 = AtomicU32::new(0);

extern "C" fn forked() {
    FORKS.fetch_add(1, Ordering::Relaxed);
}

/// Returns a number that differs in a forked child, without a system call. Children of a bare `clone` are not detected.
pub(crate) fn forks() -> u32 {
    static WATCH: Once = Once::new();
    WATCH.call_once(|| {
        // SAFETY: the handler is async-signal-safe. If registering it fails (no memory), a misuse goes unreported.
        unsafe { libc::pthread_atfork(None, None, Some(forked)) };
    });
    FORKS.load(Ordering::Relaxed)
}

/// Returns the usual directory of configurations, if the environment has its place.
pub fn config_directory() -> Option<PathBuf> {
    Some(PathBuf::from(std::env::var_os("HOME")?).join(".config"))
}

/// Returns the number of processors to use, by affinity and the quota of control groups.
pub(crate) fn usable_processors() -> usize {
    std::thread::available_parallelism().map_or(1, std::num::NonZero::get)
}

/// The call that reports the alignment of direct transfers.
pub(crate) const ALIGNMENT_CALL: &str = "statx";

/// Unsupported: Linux has files about volumes, disks and limits, and no call reports them.
pub(crate) fn volume(_: &Path) -> Result<Volume> {
    Err(Code::UNSUPPORTED)
}

pub(crate) const REPORTS_DISKS: bool = false;

pub(crate) fn disks(_: &Path) -> Result<Vec<Disk>> {
    Err(Code::UNSUPPORTED)
}

pub(crate) fn group_limits() -> GroupLimits {
    GroupLimits::default()
}

/// Linux has it in a file.
pub(crate) fn online_processors() -> Option<u64> {
    None
}

pub(crate) fn processor_name() -> Option<String> {
    None
}

pub(crate) fn memory_available() -> Option<u64> {
    None
}
