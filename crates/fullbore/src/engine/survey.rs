//! Which access methods work on a file, found by using them: versions say nothing in a container.

use std::collections::BTreeMap;
use std::fmt;
use std::io;
use std::sync::{Mutex, PoisonError};

use super::{CachePolicy, EngineConfig, IoQueue, METHODS, Method};
use crate::buf::Pool;
use crate::error::{Error, Result, message};
use crate::file::{File, FileKind};
use crate::probe::{FileSystemId, NoDirect};

/// Why an access method cannot be used here.
///
/// ```
/// use fullbore::engine::Unsupported;
/// let unsupported = Unsupported { method: "uring", reason: "forbidden here".into() };
/// assert_eq!(unsupported.to_string(), "uring: forbidden here");
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Unsupported {
    /// The method's name.
    pub method: &'static str,
    /// The reason.
    pub reason: String,
}

impl fmt::Display for Unsupported {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.method, self.reason)
    }
}

/// Finds out whether `method` works on `file` under the policy `cache`: by one small read, or, if it moves bytes from file
/// to file, by moving none of `from`. `write`: the engine is opened for writing too; nothing is written.
///
/// ```
/// use fullbore::engine::{CachePolicy, method, probe};
/// let file = fullbore::file::File::open("Cargo.toml")?;
/// assert!(probe(method("buffered").unwrap(), &file, None, false, CachePolicy::Keep).is_ok());
/// let unsupported = probe(method("splice").unwrap(), &file, None, true, CachePolicy::Keep).unwrap_err();
/// assert_eq!(unsupported.reason, "needs a source to move bytes from");
/// # Ok::<(), fullbore::Error>(())
/// ```
///
/// # Errors
/// The reason, if it does not work.
pub fn probe(
    method: &'static Method,
    file: &File,
    from: Option<&File>,
    write: bool,
    cache: CachePolicy,
) -> std::result::Result<(), Unsupported> {
    let refuse = |reason: String| Unsupported { method: method.name, reason };
    if method.capabilities.copies_in_kernel {
        let Some(from) = from else { return Err(refuse("needs a source to move bytes from".into())) };
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
        let config = EngineConfig {
            file,
            from: None,
            write,
            cache,
            depth: 1,
            pool: Some(&pool),
            window: None,
            random: false,
        };
        let mut queue = IoQueue::open(method, &config, None).map_err(name)?;
        if method.capabilities.mapped {
            // Reading by copy would do, but views are what the method is for.
            let len = file.stamp()?.len.min(1) as usize;
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
        match std::error::Error::source(&error).and_then(|source| source.downcast_ref()) {
            Some(source) => refuse(explain_error(source)),
            None => refuse(error.to_string()),
        }
    })
}

/// As [`probe`] for a method that transfers, learned once a process for the regular files of a file system: an io_uring is made and
/// thrown away to find out.
///
/// # Errors
/// As [`probe`].
pub(crate) fn probe_once(
    method: &'static Method,
    file: &File,
    write: bool,
    cache: CachePolicy,
) -> std::result::Result<(), Unsupported> {
    type Known = BTreeMap<(FileSystemId, &'static str, bool, u8), std::result::Result<(), Unsupported>>;
    static LEARNED: Mutex<Known> = Mutex::new(BTreeMap::new());
    if file.kind() != FileKind::Regular {
        return probe(method, file, None, write, cache);
    }
    let Ok(id) = FileSystemId::of(file) else { return probe(method, file, None, write, cache) };
    let key = (id, method.name, write, cache as u8);
    let learned = || LEARNED.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some(found) = learned().get(&key) {
        return found.clone();
    }
    let found = probe(method, file, None, write, cache);
    learned().insert(key, found.clone());
    found
}

/// Opens a method that copies in the kernel and moves nothing: that asks the system all but the file systems' consent.
fn kernel_copy_works(method: &Method, file: &File, from: &File, cache: CachePolicy) -> io::Result<()> {
    let config = EngineConfig {
        file,
        from: Some(from),
        write: true,
        cache,
        depth: 1,
        pool: None,
        window: None,
        random: false,
    };
    (method.open)(&config)?.copy_in_kernel(u64::from(u32::MAX) << 16, 0, 1).map(drop)
}

/// What an error of the system means for an access method.
fn explain_error(error: &io::Error) -> String {
    use rustix::io::Errno;
    let meaning = match error.raw_os_error().map(Errno::from_raw_os_error) {
        Some(Errno::OPNOTSUPP) => "the file system does not support it",
        Some(Errno::INVAL) => "the file system or the kernel does not support it here",
        Some(Errno::PERM | Errno::ACCESS) => "forbidden here (seccomp, sysctl or permissions)",
        Some(Errno::NOSYS) => "the kernel does not have it, or it is forbidden here",
        Some(Errno::NODEV) => "files of this kind cannot be mapped",
        Some(Errno::XDEV) => "not from one file system to another",
        Some(Errno::NOMEM) => "a memory limit forbids it (RLIMIT_MEMLOCK)",
        _ => return message(error),
    };
    format!("{meaning} ({})", message(error))
}

/// What every access method that transfers says to `file`.
pub fn survey(file: &File) -> Vec<(&'static Method, std::result::Result<(), Unsupported>)> {
    METHODS
        .iter()
        .filter(|method| method.capabilities.transfers)
        .map(|&method| (method, probe(method, file, None, false, CachePolicy::Keep)))
        .collect()
}
