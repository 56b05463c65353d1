//! A blocking call as a future: opening, syncing, closing.
use std::fmt;
use std::future::Future;
use std::pin::Pin;
use std::sync::{Arc, Mutex, PoisonError};
use std::task::{Context, Poll};

use super::driver::Driver;
use super::slots::Key;
use super::state::Operation;
use crate::error::{Error, Result};

type Work<T> = Box<dyn FnOnce() -> Result<T> + Send>;

/// A call that starts at the first poll of the future. If the future is dropped before a thread has started the call, the
/// call never runs; if later, its result (an open file) is closed.
pub struct BlockingCall<T> {
    driver: Driver,
    doing: &'static str,
    work: Option<Work<T>>,
    place: Arc<Mutex<Option<Result<T>>>>,
    key: Option<Key>,
}

impl<T> fmt::Debug for BlockingCall<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("BlockingCall").field("doing", &self.doing).finish_non_exhaustive()
    }
}

impl<T> Unpin for BlockingCall<T> {}

impl<T: Send + 'static> BlockingCall<T> {
    pub(super) fn new(
        driver: Driver,
        doing: &'static str,
        work: impl FnOnce() -> Result<T> + Send + 'static,
    ) -> Self {
        Self { driver, doing, work: Some(Box::new(work)), place: Arc::default(), key: None }
    }

    pub(super) fn ready(driver: Driver, doing: &'static str, result: Result<T>) -> Self {
        Self { driver, doing, work: None, place: Arc::new(Mutex::new(Some(result))), key: None }
    }

    fn failed(&self, error: std::io::Error) -> Poll<Result<T>> {
        Poll::Ready(Err(Error::io(self.doing, "asynchronous file", error)))
    }
}

impl<T: Send + 'static> Future for BlockingCall<T> {
    type Output = Result<T>;

    /// # Panics
    /// If it is polled after completion.
    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        let this = &mut *self;
        let dispatch = this.driver.dispatch().clone();
        if let Some(work) = this.work.take() {
            let place = this.place.clone();
            let task = move || {
                let result = work();
                *place.lock().unwrap_or_else(PoisonError::into_inner) = Some(result);
                Ok(0)
            };
            return match dispatch.submit(Operation::Blocking(Some(Box::new(task))), context.waker()) {
                Ok(key) => {
                    this.key = Some(key);
                    Poll::Pending
                }
                Err((_, error)) => this.failed(error),
            };
        }
        if let Some(key) = this.key {
            let Poll::Ready((_, outcome)) = dispatch.poll(key, context.waker()) else { return Poll::Pending };
            this.key = None;
            if let Err(error) = outcome {
                return this.failed(error);
            }
        }
        let result = this.place.lock().unwrap_or_else(PoisonError::into_inner).take();
        Poll::Ready(result.expect("polled after completion"))
    }
}

impl<T> Drop for BlockingCall<T> {
    fn drop(&mut self) {
        if let Some(key) = self.key.take() {
            // A call that still waits for a thread is removed.
            self.driver.dispatch().cancel(key);
            self.driver.dispatch().detach(key);
        }
    }
}
