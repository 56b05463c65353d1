//! Facilities of other systems that this one lacks: the types have no values, and each function fails.

use std::convert::Infallible;
use std::io;

use super::super::RequestQueue;
use crate::buf::{Completion, Request};

/// The error of each function here.
fn absent<T>(system: &str, what: &str) -> io::Result<T> {
    Err(io::Error::new(io::ErrorKind::Unsupported, format!("only {system} has {what}")))
}

/// A queue that nobody has.
#[derive(Debug)]
pub(crate) struct Absent(Infallible);

impl RequestQueue for Absent {
    fn queue(&mut self, _: Request) -> Result<(), Request> {
        match self.0 {}
    }

    fn submit(&mut self) -> io::Result<()> {
        match self.0 {}
    }

    fn reap(&mut self, _: usize, _: &mut Vec<Completion>) -> io::Result<()> {
        match self.0 {}
    }
}

pub(crate) mod aio {
    pub(crate) fn open<F>(_: F, _: usize) -> std::io::Result<super::Absent> {
        super::absent("Linux", "io_submit")
    }
}

pub(crate) mod uring {
    use crate::buf::Pool;
    use crate::sys::RingPages;

    pub(crate) fn open<F>(_: F, _: usize, _: Option<&Pool>, _: RingPages) -> std::io::Result<super::Absent> {
        super::absent("Linux", "io_uring")
    }
}

#[cfg(windows)]
pub(crate) mod posix_aio {
    pub(crate) fn open<F>(_: F, _: usize) -> std::io::Result<super::Absent> {
        super::absent("Unix", "aio_read")
    }
}

#[cfg(unix)]
pub(crate) mod shared_ring {
    use std::convert::Infallible;
    use std::io;
    use std::marker::PhantomData;

    use crate::buf::Loan;
    use crate::sys::{AsHandle, Completed, Handle, Result, TransferFlags};

    pub(crate) const COMPLETION_PORT: bool = false;

    #[derive(Debug, Clone, Copy, PartialEq, Eq)]
    pub(crate) struct Ticket(Infallible);

    #[derive(Debug)]
    pub(crate) struct SharedRing<F>(Infallible, PhantomData<F>);

    #[derive(Debug, Clone)]
    pub(crate) struct RingWaiter(Infallible);

    impl<F> SharedRing<F> {
        pub(crate) fn new(_: usize) -> io::Result<Self> {
            super::absent("Linux", "io_uring")
        }

        pub(crate) fn waiter(&self) -> RingWaiter {
            match self.0 {}
        }

        pub(crate) fn transfer(&mut self, _: u64, _: F, _: Loan, _: Option<u64>, _: TransferFlags) -> Ticket {
            match self.0 {}
        }

        pub(crate) fn cancel(&mut self, _: Ticket) {
            match self.0 {}
        }

        pub(crate) fn nudge(&mut self) {
            match self.0 {}
        }

        pub(crate) fn submit(&mut self) {
            match self.0 {}
        }

        pub(crate) fn queued(&self) -> usize {
            match self.0 {}
        }

        pub(crate) fn completed(&mut self) -> Option<Completed<F>> {
            match self.0 {}
        }
    }

    impl RingWaiter {
        pub(crate) fn attach(&self, _: &impl AsHandle) -> Result<Option<Handle>> {
            match self.0 {}
        }

        pub(crate) fn submit_and_wait(&self, _: usize) {
            match self.0 {}
        }
    }
}

pub(crate) mod cachestat {
    use std::io;

    use crate::sys::{BorrowedHandle, CachedPages, Code};

    pub(crate) fn cachestat(_: BorrowedHandle<'_>, _: u64, _: u64) -> io::Result<CachedPages> {
        Err(Code::NOT_IMPLEMENTED.into())
    }
}
