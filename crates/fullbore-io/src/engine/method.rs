//! The trait of access methods and its types.

use std::io;

use crate::buf::{Completion, Pool, Request};
#[cfg(doc)]
use crate::file::Output;
use crate::file::{CachePolicy, File};

/// The capabilities of an access method.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Capabilities {
    /// True if the method reads and writes by requests with buffers.
    pub transfers: bool,
    /// True if the method moves bytes between memory and a file; false if its requests succeed without a transfer.
    pub storage: bool,
    /// Maximum number of requests in flight, or per call if it is [`batched`](Self::batched).
    pub depth: usize,
    /// True if several queued requests become one system call, so that they are best queued together.
    pub batched: bool,
    /// True if threads execute its queued requests by synchronous calls, so that each request costs more than
    /// a call.
    pub by_threads: bool,
    /// True if the method gives access to the file's bytes in place ([`Engine::view`]).
    pub mapped: bool,
    /// True if the method copies between two files inside the kernel ([`Engine::copy_in_kernel`]).
    pub copies_in_kernel: bool,
    /// True if such a method copies whole files only, to names that the system creates ([`Output::become_copy`]). It has no engine.
    pub copies_whole: bool,
    /// Size in bytes of the method's own buffer, through which requests up to that size pass; 0 if it has
    /// none.
    pub buffer: usize,
    /// Availability of transfers that bypass the page cache.
    pub direct: Availability,
    /// Availability of dropping the pages that the method reads into the page cache.
    pub drops: Availability,
}

impl Capabilities {
    /// The capabilities of a method that makes a call for each request and waits for it.
    pub const SYNCHRONOUS: Self = Self {
        transfers: true,
        storage: true,
        depth: 1,
        batched: false,
        by_threads: false,
        mapped: false,
        copies_in_kernel: false,
        copies_whole: false,
        buffer: 0,
        direct: Availability::Never,
        drops: Availability::Never,
    };

    /// True if the method bypasses the page cache under the policy `cache`.
    pub fn passes_cache(&self, cache: CachePolicy) -> bool {
        matches!(
            (self.direct, cache),
            (Availability::Always, _) | (Availability::ByPolicy, CachePolicy::Direct)
        )
    }
}

/// Availability of a behaviour in an access method.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Availability {
    Never,
    /// The method has the behaviour if the cache policy requires it.
    ByPolicy,
    Always,
}

/// An access method: name, capabilities and constructor.
#[derive(Debug)]
pub struct Method {
    /// The name in `--strategy method=`.
    pub name: &'static str,
    /// Description in one line.
    pub summary: &'static str,
    pub capabilities: Capabilities,
    pub open: fn(&EngineConfig<'_>) -> io::Result<Box<dyn Engine>>,
}

impl PartialEq for Method {
    fn eq(&self, other: &Self) -> bool {
        self.name == other.name
    }
}

/// The parameters of an engine.
#[derive(Debug)]
pub struct EngineConfig<'a> {
    /// The file. An engine that needs other flags opens it again.
    pub file: &'a File,
    /// The source, for methods that copy between two files.
    pub from: Option<&'a File>,
    /// True if the file will be written; it is then open for reading too.
    pub write: bool,
    pub cache: CachePolicy,
    /// Maximum number of requests in flight, at least 1.
    pub depth: usize,
    /// The buffers of the requests, for registration with the kernel.
    pub pool: Option<&'a Pool>,
    /// Length of the mapped part, in bytes; `None` maps the whole file.
    pub window: Option<usize>,
    /// True if the requests come in random order instead of front to back.
    pub random: bool,
}

impl<'a> EngineConfig<'a> {
    /// Returns the parameters for reading `file` sequentially through the page cache, one request at a time.
    pub fn reading(file: &'a File) -> Self {
        Self {
            file,
            from: None,
            write: false,
            cache: CachePolicy::Keep,
            depth: 1,
            pool: None,
            window: None,
            random: false,
        }
    }
}

/// One open file under one access method.
///
/// A method that transfers takes requests ([`queue`](Self::queue), [`commit`](Self::commit), [`reap`](Self::reap)). A
/// method that only [copies in the kernel](Self::copy_in_kernel) refuses them.
pub trait Engine {
    /// Queues a request, or returns it if the queue is full; a method that takes no requests always returns it.
    fn queue(&mut self, request: Request) -> std::result::Result<(), Request> {
        Err(request)
    }

    /// Submits the queued requests; fails if the system accepts none. Errors of single requests are in their completions.
    fn commit(&mut self) -> io::Result<()> {
        Ok(())
    }

    /// [Commits](Self::commit) the queued requests, waits for `least` completions (0 does not wait) and appends the available ones
    /// to `done`.
    fn reap(&mut self, least: usize, done: &mut Vec<Completion>) -> io::Result<()> {
        let _ = (least, done);
        Ok(())
    }

    /// Lends `len` bytes at `offset` in place. They are valid only if [`check`](Self::check) succeeds afterwards.
    fn view(&mut self, offset: u64, len: usize) -> io::Result<&[u8]> {
        let _ = (offset, len);
        Err(io::ErrorKind::Unsupported.into())
    }

    /// Lends `len` bytes at `offset` for writing, as [`view`](Self::view).
    fn view_mut(&mut self, offset: u64, len: usize) -> io::Result<&mut [u8]> {
        let _ = (offset, len);
        Err(io::ErrorKind::Unsupported.into())
    }

    /// Checks that every byte lent so far was one of the file: `UnexpectedEof` for a missing page (truncated, unreadable, no
    /// space).
    fn check(&self) -> io::Result<()> {
        Ok(())
    }

    /// Copies up to `len` bytes from `offset` of the source to `target`, both in bytes; returns the number. The caller continues.
    fn copy_in_kernel(&mut self, offset: u64, target: u64, len: usize) -> io::Result<usize> {
        let _ = (offset, target, len);
        Err(io::ErrorKind::Unsupported.into())
    }

    /// Writes out the bytes that the method buffers itself, and returns the errors that the file system reports at closing.
    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::buf::Direction;

    struct KernelCopy;
    impl Engine for KernelCopy {}

    #[test]
    fn requests_and_views_are_refused_by_default() {
        let buf = Pool::new(1, 4096).unwrap().take().unwrap();
        let request =
            Request { token: 1, direction: Direction::Read, offset: 0, buf, from: 0, most: usize::MAX };
        assert_eq!(KernelCopy.queue(request).unwrap_err().token, 1);
        assert_eq!(KernelCopy.view(0, 1).unwrap_err().kind(), io::ErrorKind::Unsupported);
        assert_eq!(KernelCopy.view_mut(0, 1).unwrap_err().kind(), io::ErrorKind::Unsupported);
    }
}
