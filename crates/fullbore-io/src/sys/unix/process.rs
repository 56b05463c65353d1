//! The process: its user, limits, standard streams and the sizes of the system.

use std::os::fd::{AsFd, BorrowedFd};

use rustix::fs::Mode;
use rustix::process::{Pid, Rlimit, Signal};

use super::super::{Code, Limit, Resource, Result};

impl Resource {
    fn to_system(self) -> rustix::process::Resource {
        match self {
            Self::OpenFiles => rustix::process::Resource::Nofile,
            Self::LockedMemory => rustix::process::Resource::Memlock,
        }
    }
}

/// CPU time of the calling thread so far, exact to the moment: `getrusage(2)` counts whole ticks.
pub fn thread_cpu_time() -> std::time::Duration {
    let time = rustix::time::clock_gettime(rustix::time::ClockId::ThreadCPUTime);
    std::time::Duration::new(time.tv_sec as u64, time.tv_nsec as u32)
}

/// The number of times that the calling thread has waited so far, if the system counts it for threads.
pub fn thread_waits() -> Option<u64> {
    super::usage::of_thread().ok().map(|usage| usage.voluntary_switches)
}

/// The system has no pool of threads: nothing is called.
pub fn call_on_pool(_: usize, _: &(dyn Fn() + Sync)) -> Result<()> {
    Err(Code::UNSUPPORTED)
}

/// The limit of a resource.
pub fn limit(resource: Resource) -> Limit {
    let Rlimit { current, maximum } = rustix::process::getrlimit(resource.to_system());
    Limit { current, maximum }
}

/// Sets the limit of a resource.
pub fn set_limit(resource: Resource, Limit { current, maximum }: Limit) -> Result<()> {
    Ok(rustix::process::setrlimit(resource.to_system(), Rlimit { current, maximum })?)
}

/// The effective user; 0 is root.
pub fn effective_user() -> u32 {
    rustix::process::geteuid().as_raw()
}

/// The permission bits that new files lack. For a moment it is strict for every thread: the system has no call to look.
pub fn umask() -> u32 {
    let mask = rustix::process::umask(Mode::RWXG | Mode::RWXO);
    rustix::process::umask(mask);
    mask.bits() as _
}

/// Ends a process at once.
pub fn kill(process: u32) -> Result<()> {
    let process = i32::try_from(process).ok().and_then(Pid::from_raw).ok_or(super::super::Code::INVALID)?;
    Ok(rustix::process::kill_process(process, Signal::KILL)?)
}

/// The standard input.
pub fn stdin() -> BorrowedFd<'static> {
    rustix::stdio::stdin()
}

/// The standard output.
pub fn stdout() -> BorrowedFd<'static> {
    rustix::stdio::stdout()
}

/// The width of a terminal in characters.
pub fn terminal_columns(terminal: impl AsFd) -> Result<u16> {
    Ok(rustix::termios::tcgetwinsize(terminal)?.ws_col)
}

/// The size of a page of memory, in bytes.
pub fn page_size() -> usize {
    rustix::param::page_size()
}

/// The unit of times in the kernel's files: ticks per second.
pub fn clock_ticks_per_second() -> u64 {
    rustix::param::clock_ticks_per_second()
}

/// The release of the kernel.
pub(crate) fn kernel_release() -> String {
    rustix::system::uname().release().to_string_lossy().into_owned()
}

/// The memory of the machine, in bytes.
pub(crate) fn memory_total() -> Option<u64> {
    // SAFETY: the call has no preconditions.
    let pages = unsafe { libc::sysconf(libc::_SC_PHYS_PAGES) };
    u64::try_from(pages).ok().filter(|pages| *pages > 0).map(|pages| pages * page_size() as u64)
}

/// Terminals take the bytes as they are.
pub fn use_utf8_console() {}

/// Nothing was changed.
pub fn restore_console() {}
