//! The registry of access methods. A new method is a file in this folder and a line here.

use super::{
    Method, aio, buffered, copy_file_range, direct, mmap, null, splice, stdio, uncached, uring, vectored,
};

/// All access methods of this platform.
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

/// Returns the access method of that name.
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
