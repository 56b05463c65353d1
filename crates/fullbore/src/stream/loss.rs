//! Bytes that a dropped stream could not write: nobody is there to get the error, and nobody shall miss it.

use std::cell::Cell;
use std::io::{self, Write};
use std::sync::{Arc, Mutex, PoisonError};

use crate::error::Error;
use crate::file::File;

/// Who is told.
type Hook = Arc<dyn Fn(&Error) + Send + Sync>;

static HOOK: Mutex<Option<Hook>> = Mutex::new(None);

thread_local!(static IN_HOOK: Cell<bool> = const { Cell::new(false) });

/// Sets who is told when a stream that is dropped cannot write what is pending, for the whole process. Until then it is
/// a line on standard error, as it is for what is lost while the hook runs, by the hook itself.
///
/// ```
/// use std::sync::atomic::{AtomicBool, Ordering};
///
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// static TOLD: AtomicBool = AtomicBool::new(false);
/// fullbore::stream::on_loss(|_error| TOLD.store(true, Ordering::Relaxed));
/// let full = fullbore::file::File::open_write("/dev/full")?;
/// let mut stream = fullbore::stream::FileStream::new(full);
/// std::io::Write::write_all(&mut stream, b"bytes")?;
/// drop(stream);
/// assert!(TOLD.load(Ordering::Relaxed));
/// # Ok(()) }
/// ```
pub fn on_loss(hook: impl Fn(&Error) + Send + Sync + 'static) {
    let hook: Hook = Arc::new(hook);
    let before = HOOK.lock().unwrap_or_else(PoisonError::into_inner).replace(hook);
    // What it owns may be a stream that loses something: not under the lock.
    drop(before);
}

/// Tells of `bytes` bytes of `file` that were not written, and makes sure that no clone goes on as if they were.
pub(super) fn report(file: &File, bytes: usize, error: Error) {
    let kind = error.kind();
    let what = format!("{bytes} bytes that were pending are lost ({error})");
    file.lose(&match error.raw_os_error() {
        Some(code) => io::Error::from_raw_os_error(code),
        None => io::Error::other(error),
    });
    let error = Error::new(kind, "write", file.path(), what)
        .advise("close the stream and look at the error before dropping it");
    // Called without the lock: a hook that writes a log to the same full device loses something too.
    let hook = HOOK.lock().unwrap_or_else(PoisonError::into_inner).clone();
    match hook {
        Some(hook) if !IN_HOOK.replace(true) => {
            let _returned = HookReturned;
            hook(&error);
        }
        // Not `eprintln`, which panics if that cannot be written: a drop must not.
        _ => drop(writeln!(io::stderr(), "fullbore: {error}")),
    }
}

/// The hook has returned, or panicked.
struct HookReturned;

impl Drop for HookReturned {
    fn drop(&mut self) {
        IN_HOOK.set(false);
    }
}
