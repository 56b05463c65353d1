//! The access methods there are. A new one is a file beside this and a line here.

use super::{
    Method, aio, buffered, copy_file_range, direct, mmap, null, splice, stdio, uncached, uring, vectored,
};

/// Every access method of this platform.
///
/// ```
/// let names: Vec<_> = fullbore::engine::METHODS.iter().map(|method| method.name).collect();
/// assert!(names.contains(&"buffered") && names.contains(&"uring"));
/// ```
pub static METHODS: &[&Method] = &[
    &buffered::METHOD,
    &uncached::METHOD,
    &direct::METHOD,
    &mmap::METHOD,
    &stdio::METHOD,
    &uring::METHOD,
    &aio::METHOD,
    &vectored::METHOD,
    &splice::METHOD,
    &copy_file_range::METHOD,
    &null::METHOD,
];

/// The access method of that name.
///
/// ```
/// use fullbore::engine::method;
/// assert_eq!(method("mmap").map(|method| method.name), Some("mmap"));
/// assert_eq!(method("floppy"), None);
/// ```
pub fn method(name: &str) -> Option<&'static Method> {
    METHODS.iter().copied().find(|method| method.name == name)
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
