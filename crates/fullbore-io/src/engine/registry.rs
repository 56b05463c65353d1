//! All access methods, and tests of whether they work on a file. Each method is tested by using it, because the kernel version does
//! not show which calls a container permits. A new method is a static in this folder and a line here; the position of the line is its
//! rank in the advice.

use std::io;

use super::io_queue::{IoQueue, check_alignment};
use super::method::{EngineConfig, Method};
#[cfg(windows)]
use super::overlapped;
use super::{mmap, queued, synchronous};
use crate::buf::Pool;
use crate::error::{Error, Result, reason};
use crate::file::{CachePolicy, File, FileKind};
use crate::lock::Mutex;
use crate::probe::{FileSystemId, Learned, NoDirect};
use crate::sys::Code;

/// All access methods of this platform, the simplest first: of equally fast ones, the first is advised.
pub static METHODS: &[&Method] = &[
    &synchronous::BUFFERED,
    &synchronous::STDIO,
    &mmap::MMAP,
    &synchronous::UNCACHED,
    &synchronous::VECTORED,
    &synchronous::DIRECT,
    &synchronous::THROUGH,
    &queued::POSIX_AIO,
    &queued::AIO,
    &queued::URING,
    #[cfg(windows)]
    &overlapped::EVENT,
    #[cfg(windows)]
    &overlapped::ROUTINE,
    #[cfg(windows)]
    &overlapped::PORT,
    #[cfg(windows)]
    &overlapped::SCATTER,
    #[cfg(windows)]
    &overlapped::IORING,
    &mmap::SPLICE,
    &mmap::COPY_FILE_RANGE,
    #[cfg(windows)]
    &mmap::COPY_FILE,
    &synchronous::NULL,
];

/// Methods that a test added. A name in [`METHODS`] is found without the lock.
static ADDED: Mutex<Vec<&'static Method>> = Mutex::new(Vec::new());

/// Adds a method to the registry of this process, for tests that show the needs of a new method. It is listed after the others.
pub fn register(method: &'static Method) {
    ADDED.lock().push(method);
}

pub fn methods() -> impl Iterator<Item = &'static Method> {
    METHODS.iter().copied().chain(added())
}

pub fn method(name: &str) -> Option<&'static Method> {
    let named = |method: &&Method| method.name == name;
    METHODS.iter().copied().find(named).or_else(|| added().into_iter().find(named))
}

/// Returns the method with which one worker keeps many requests in flight on this system, through the page cache or bypassing it:
/// io_uring on Linux, a completion port on Windows, POSIX asynchronous I/O elsewhere.
pub fn deep_method() -> &'static Method {
    #[cfg(windows)]
    let deep = &overlapped::PORT;
    #[cfg(not(windows))]
    let deep = if cfg!(target_os = "linux") { &queued::URING } else { &queued::POSIX_AIO };
    deep
}

fn added() -> Vec<&'static Method> {
    ADDED.lock().clone()
}

/// Tests if `method` works on `file` under the policy `cache`: by one small read, or, for a method that copies in the
/// kernel, by a copy of no bytes of `from`. With `write` the engine is opened for writing too; nothing is written. The error
/// is the reason why the method does not work.
pub fn probe(
    method: &'static Method,
    file: &File,
    from: Option<&File>,
    write: bool,
    cache: CachePolicy,
) -> std::result::Result<(), String> {
    try_out(method, file, from, write, cache).map_err(|failure| failure.reason)
}

struct Failure {
    reason: String,
    /// True if the reason is temporary: another process uses the file.
    in_use: bool,
    /// True if the reason holds for the other files of the file system, too.
    general: bool,
}

fn try_out(
    method: &'static Method,
    file: &File,
    from: Option<&File>,
    write: bool,
    cache: CachePolicy,
) -> std::result::Result<(), Failure> {
    let refuse = |reason: String| Failure { reason, in_use: false, general: false };
    if method.capabilities.copies_in_kernel {
        let Some(from) = from else { return Err(refuse("needs a file to copy from".into())) };
        return kernel_copy_works(method, file, from, cache).map_err(|error| refuse(explain_error(&error)));
    }
    if method.capabilities.passes_cache(cache)
        && let Err(NoDirect::Refused(reason)) = crate::probe::direct_alignment(file)
    {
        return Err(refuse(reason));
    }
    let attempt = || -> Result<()> {
        let name = |error| Error::io("use", file.path(), error);
        let mut pool = Pool::new(1, crate::buf::ALIGNMENT).map_err(name)?;
        let config = EngineConfig { write, cache, pool: Some(&pool), ..EngineConfig::reading(file) };
        let mut queue = IoQueue::open(method, &config, None).map_err(name)?;
        if method.capabilities.mapped {
            // A read by copy would succeed too, but views are the purpose of the method.
            let len = file.starting_stamp()?.len.min(1) as usize;
            queue.view(0, len)?;
            return queue.check("read", 0);
        }
        if let Some(buf) = pool.take() {
            queue.read(0, 0, crate::buf::ALIGNMENT, buf)?;
            queue.next()?;
        }
        Ok(())
    };
    attempt().map_err(|error| {
        let code = error.code();
        let failure = match std::error::Error::source(&error).and_then(|source| source.downcast_ref()) {
            Some(source) => refuse(explain_error(source)),
            None => refuse(error.to_string()),
        };
        let in_use = code.and_then(Code::in_use).is_some();
        Failure { in_use, general: code.is_some_and(is_general), ..failure }
    })
}

/// True for the errors of a missing or forbidden facility. Others may be those of the file or of the moment.
fn is_general(code: Code) -> bool {
    matches!(
        code,
        Code::UNSUPPORTED | Code::INVALID | Code::NOT_IMPLEMENTED | Code::NOT_PERMITTED | Code::NO_DEVICE
    )
}

/// As [`probe`] of a method that transfers, once per process and file system for regular files; a failure that may be that of the
/// file alone is not kept. If others have locked the file, the method still counts as working, and the run's first transfer
/// reports the lock. If the file itself was opened with a share mode, the method does not count as working, because the mode may
/// deny the handles that the method needs.
pub fn probe_once(
    method: &'static Method,
    file: &File,
    write: bool,
    cache: CachePolicy,
) -> std::result::Result<(), String> {
    // The alignment may differ from file to file.
    if method.capabilities.passes_cache(cache)
        && let Some(alignment) = file.reported_alignment(write)
    {
        check_alignment(alignment)?;
    }
    type Key = (FileSystemId, &'static str, bool, u8);
    static LEARNED: Learned<Key, std::result::Result<(), String>> = Learned::new();
    let learn = || match try_out(method, file, None, write, cache) {
        Err(Failure { in_use: true, .. }) if !file.denies_handles() => (Ok(()), false),
        Err(Failure { reason, general, .. }) => (Err(reason), general),
        Ok(()) => (Ok(()), true),
    };
    match file.file_system() {
        Ok(id) if file.kind() == FileKind::Regular && !file.denies_handles() => {
            LEARNED.get_if((id, method.name, write, cache as u8), learn)
        }
        _ => learn().0,
    }
}

/// Copies at an offset beyond the end of `from`, which tests everything except the file systems' support for the pair.
fn kernel_copy_works(method: &Method, file: &File, from: &File, cache: CachePolicy) -> io::Result<()> {
    let config = EngineConfig { from: Some(from), write: true, cache, ..EngineConfig::reading(file) };
    (method.open)(&config)?.copy_in_kernel(u64::from(u32::MAX) << 16, 0, 1).map(drop)
}

fn explain_error(error: &io::Error) -> String {
    let meaning = match Code::of(error) {
        Some(Code::UNSUPPORTED) => "the file system does not support it",
        Some(Code::INVALID) => "the file system or the kernel does not support it here",
        Some(Code::NOT_PERMITTED | Code::ACCESS_DENIED) => "forbidden here (seccomp, sysctl or permissions)",
        Some(Code::NOT_IMPLEMENTED) => "missing from the kernel, or forbidden here",
        Some(Code::NO_DEVICE) => "files of this kind cannot be mapped",
        Some(Code::CROSSES_DEVICES) => "not between two file systems",
        Some(Code::OUT_OF_MEMORY) => "a memory limit prevents it (RLIMIT_MEMLOCK)",
        _ => return reason(error),
    };
    format!("{meaning} ({})", reason(error))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_unique() {
        for known in METHODS {
            assert_eq!(METHODS.iter().filter(|other| other.name == known.name).count(), 1);
        }
    }

    #[test]
    fn a_method_that_copies_in_the_kernel_needs_a_source() {
        let file = File::open("Cargo.toml").unwrap();
        let refused = probe(method("splice").unwrap(), &file, None, true, CachePolicy::Keep).unwrap_err();
        assert_eq!(refused, "needs a file to copy from");
    }
}
