//! Facilities of other systems that this one lacks: the types have no values, and each function fails.

use std::convert::Infallible;
use std::io;

use super::code::Code;
use super::types::{CachedPages, RequestQueue};
#[cfg(unix)]
use super::unix::BorrowedHandle;
#[cfg(windows)]
use super::windows::BorrowedHandle;
use crate::buf::{Completion, Request};

fn absent<T>(system: &str, what: &str) -> io::Result<T> {
    Err(io::Error::new(io::ErrorKind::Unsupported, format!("only {system} has {what}")))
}

/// A queue that this system lacks.
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
    use crate::sys::absent::{Absent, absent};

    pub(crate) fn open<F>(_: F, _: usize) -> std::io::Result<Absent> {
        absent("Linux", "io_submit")
    }
}

pub(crate) mod uring {
    use crate::buf::Pool;
    use crate::sys::absent::{Absent, absent};
    use crate::sys::types::RingPages;

    pub(crate) fn open<F>(_: F, _: usize, _: Option<&Pool>, _: RingPages) -> std::io::Result<Absent> {
        absent("Linux", "io_uring")
    }
}

#[cfg(windows)]
pub(crate) mod posix_aio {
    use crate::sys::absent::{Absent, absent};

    pub(crate) fn open<F>(_: F, _: usize) -> std::io::Result<Absent> {
        absent("Unix", "aio_read")
    }
}

#[cfg(unix)]
pub(crate) mod shared_ring {
    use std::convert::Infallible;
    use std::io;
    use std::marker::PhantomData;

    use crate::buf::Loan;
    use crate::sys::absent::absent;
    use crate::sys::code::Result;
    use crate::sys::types::{Completed, TransferFlags};
    use crate::sys::unix::{AsHandle, Handle, OpenFlags};

    pub(crate) const COMPLETION_PORT: bool = false;

    #[derive(Debug, Clone, Copy, PartialEq, Eq)]
    pub(crate) struct Ticket(Infallible);

    pub(crate) struct SharedRing<F>(Infallible, PhantomData<F>);

    #[derive(Clone)]
    pub(crate) struct RingWaiter(Infallible);

    impl<F> SharedRing<F> {
        pub(crate) fn new(_: usize) -> io::Result<Self> {
            absent("Linux", "io_uring")
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

        pub(crate) fn queued_for_waiter(&mut self) -> usize {
            match self.0 {}
        }

        pub(crate) fn is_broken(&self) -> bool {
            match self.0 {}
        }

        pub(crate) fn waits_for_a_time(&self) -> bool {
            match self.0 {}
        }

        pub(crate) fn completed(&mut self) -> Option<Completed<F>> {
            match self.0 {}
        }
    }

    impl RingWaiter {
        pub(crate) fn attach(&self, _: &impl AsHandle, _: OpenFlags) -> Result<Option<Handle>> {
            match self.0 {}
        }

        pub(crate) fn submit_and_wait(&self, _: usize, _: Option<std::time::Duration>) {
            match self.0 {}
        }
    }
}

pub(crate) fn cachestat(_: BorrowedHandle<'_>, _: u64, _: u64) -> io::Result<CachedPages> {
    Err(Code::NOT_IMPLEMENTED.into())
}
