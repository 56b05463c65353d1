//! Bytes that a dropped stream could not write: nobody is there to get the error, and nobody shall miss it.

use std::sync::{Mutex, PoisonError};

use crate::error::{Error, Kind};
use crate::file::File;

/// Who is told.
type Hook = Box<dyn Fn(&Error) + Send>;

static HOOK: Mutex<Option<Hook>> = Mutex::new(None);

/// Sets who is told when a stream that is dropped cannot write what is pending, for the whole process. Until then it is
/// a line on standard error.
///
/// ```
/// use std::sync::atomic::{AtomicBool, Ordering};
/// static TOLD: AtomicBool = AtomicBool::new(false);
/// fullbore::stream::on_loss(|_error| TOLD.store(true, Ordering::Relaxed));
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let full = fullbore::file::File::open_write("/dev/full")?;
/// let mut stream = fullbore::stream::FileStream::new(full);
/// std::io::Write::write_all(&mut stream, b"bytes")?;
/// drop(stream);
/// assert!(TOLD.load(Ordering::Relaxed));
/// # Ok(()) }
/// ```
pub fn on_loss(hook: impl Fn(&Error) + Send + 'static) {
    *HOOK.lock().unwrap_or_else(PoisonError::into_inner) = Some(Box::new(hook));
}

/// Tells of `bytes` bytes of `file` that were not written, and makes sure that no clone goes on as if they were.
pub(super) fn report(file: &File, bytes: usize, error: Error) {
    let kind = error.kind();
    let what = format!("{bytes} bytes that were pending are lost ({error})");
    let _ = file.poison(std::io::Error::other(error));
    let error = Error::new(if kind == Kind::Io { Kind::Io } else { kind }, "write", file.path(), what)
        .advise("close the stream and look at the error before dropping it");
    match &*HOOK.lock().unwrap_or_else(PoisonError::into_inner) {
        Some(hook) => hook(&error),
        None => eprintln!("fullbore: {error}"),
    }
}
