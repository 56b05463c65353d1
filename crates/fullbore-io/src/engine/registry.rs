//! The registry of access methods. A new method is a file in this folder and a line here.

use std::sync::{PoisonError, RwLock};

use super::method::Method;
#[cfg(windows)]
use super::overlapped;
use super::{kernel_copy, mmap, queued, synchronous, vectored};

/// All access methods of this platform.
pub static METHODS: &[&Method] = &[
    &synchronous::BUFFERED,
    &synchronous::UNCACHED,
    &synchronous::DIRECT,
    &synchronous::THROUGH,
    &mmap::METHOD,
    &synchronous::STDIO,
    &queued::URING,
    &queued::AIO,
    &queued::POSIX_AIO,
    &vectored::METHOD,
    &kernel_copy::SPLICE,
    &kernel_copy::COPY_FILE_RANGE,
    #[cfg(windows)]
    &overlapped::PORT,
    #[cfg(windows)]
    &overlapped::EVENT,
    #[cfg(windows)]
    &overlapped::ROUTINE,
    #[cfg(windows)]
    &overlapped::IORING,
    #[cfg(windows)]
    &overlapped::SCATTER,
    &synchronous::NULL,
];

/// Methods that a test added. A name in [`METHODS`] is found without the lock.
static ADDED: RwLock<Vec<&'static Method>> = RwLock::new(Vec::new());

/// Adds a method to the registry of this process, for tests that show the needs of a new method. It is listed after the others.
#[doc(hidden)]
pub fn register(method: &'static Method) {
    ADDED.write().unwrap_or_else(PoisonError::into_inner).push(method);
}

pub fn methods() -> impl Iterator<Item = &'static Method> {
    METHODS.iter().copied().chain(added())
}

pub fn method(name: &str) -> Option<&'static Method> {
    let named = |method: &&Method| method.name == name;
    METHODS.iter().copied().find(named).or_else(|| added().into_iter().find(named))
}

fn added() -> Vec<&'static Method> {
    ADDED.read().unwrap_or_else(PoisonError::into_inner).clone()
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
}
