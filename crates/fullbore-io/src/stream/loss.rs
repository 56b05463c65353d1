//! Bytes that a dropped stream could not write: no caller receives the error, so a hook does.

use std::cell::Cell;
use std::io::{self, Write};
use std::sync::{Arc, Mutex, PoisonError};

use crate::error::Error;
use crate::file::inner::File;

type Hook = Arc<dyn Fn(&Error) + Send + Sync>;

static HOOK: Mutex<Option<Hook>> = Mutex::new(None);

thread_local!(static IN_HOOK: Cell<bool> = const { Cell::new(false) });

/// Sets the function that receives the error when a dropped stream cannot write its pending bytes, for the whole
/// process. By default the error is a line on standard error, as is the error of bytes that the hook itself loses while
/// it runs.
///
/// ```
/// use std::sync::atomic::{AtomicBool, Ordering};
///
/// static REPORTED: AtomicBool = AtomicBool::new(false);
/// fullbore_io::stream::on_loss(|_error| REPORTED.store(true, Ordering::Relaxed));
/// let full = fullbore_io::file::File::open_write("/dev/full")?;
/// let mut stream = fullbore_io::stream::FileStream::new(full);
/// std::io::Write::write_all(&mut stream, b"bytes")?;
/// drop(stream);
/// assert!(REPORTED.load(Ordering::Relaxed));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn on_loss(hook: impl Fn(&Error) + Send + Sync + 'static) {
    let hook: Hook = Arc::new(hook);
    let before = HOOK.lock().unwrap_or_else(PoisonError::into_inner).replace(hook);
    // Dropped without the lock: it may own a stream whose loss is reported too.
    drop(before);
}

/// Reports `bytes` bytes of `file` that were not written, and poisons the file so that no clone of it continues.
pub(super) fn report(file: &File, bytes: usize, error: Error) {
    let kind = error.kind();
    let what = format!("{bytes} pending bytes are lost ({error})");
    file.lose(&match error.raw_os_error() {
        Some(code) => io::Error::from_raw_os_error(code),
        None => io::Error::other(error),
    });
    let error = Error::new(kind, "write", file.path(), what)
        .advise("close the stream and check the error before dropping it");
    // Called without the lock: a hook that writes a log to the same full device loses bytes too.
    let hook = HOOK.lock().unwrap_or_else(PoisonError::into_inner).clone();
    match hook {
        Some(hook) if !IN_HOOK.replace(true) => {
            let _returned = HookReturned;
            hook(&error);
        }
        // Not `eprintln`, which panics if standard error cannot be written: a drop must not panic.
        _ => drop(writeln!(io::stderr(), "fullbore: {error}")),
    }
}

/// Marks the end of the hook, whether it returns or panics.
struct HookReturned;

impl Drop for HookReturned {
    fn drop(&mut self) {
        IN_HOOK.set(false);
    }
}
