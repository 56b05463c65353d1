//! Facilities of Linux that this platform lacks: the types have no values, and each function fails.

use std::io;

/// The error of each function here.
fn absent<T>(what: &str) -> io::Result<T> {
    Err(io::Error::new(io::ErrorKind::Unsupported, format!("only Linux has {what}")))
}

pub(crate) mod aio {
    use std::convert::Infallible;
    use std::io;
    use std::marker::PhantomData;

    use crate::buf::{Completion, Request};

    #[derive(Debug)]
    pub(crate) struct Context<F>(Infallible, PhantomData<F>);

    impl<F> Context<F> {
        pub(crate) fn new(_: F, _: usize) -> io::Result<Self> {
            super::absent("io_submit")
        }

        pub(crate) fn queue(&mut self, _: Request) -> Result<(), Request> {
            match self.0 {}
        }

        pub(crate) fn submit(&mut self, _: &mut Vec<Completion>) -> io::Result<()> {
            match self.0 {}
        }

        pub(crate) fn reap(&mut self, _: usize, _: &mut Vec<Completion>) -> io::Result<()> {
            match self.0 {}
        }
    }
}

pub(crate) mod uring {
    use std::convert::Infallible;
    use std::io;
    use std::marker::PhantomData;

    use crate::buf::{Completion, Pool, Request};
    use crate::sys::RingPages;

    #[derive(Debug)]
    pub(crate) struct Ring<F>(Infallible, PhantomData<F>);

    impl<F> Ring<F> {
        pub(crate) fn new(_: F, _: usize, _: Option<&Pool>, _: RingPages) -> io::Result<Self> {
            super::absent("io_uring")
        }

        pub(crate) fn queue(&mut self, _: Request) -> Result<(), Request> {
            match self.0 {}
        }

        pub(crate) fn submit(&mut self) -> io::Result<()> {
            match self.0 {}
        }

        pub(crate) fn reap(&mut self, _: usize, _: &mut Vec<Completion>) -> io::Result<()> {
            match self.0 {}
        }
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
            super::absent("io_uring")
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
