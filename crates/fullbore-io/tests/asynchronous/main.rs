//! Asynchronous files on every backend, compared with std.

mod adaptors;
#[path = "../drivers/mod.rs"]
mod drivers;
mod faults;
mod losses;
mod opens;
mod ownership;
mod pipes;
mod streams;
mod transfers;

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;
use std::future::Future;
use std::io::PipeWriter;
use std::path::Path;
use std::pin::pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::mpsc::{Sender, channel};
use std::task::{Context, Waker};
use std::time::{Duration, Instant};

use fullbore_io::asynchronous::{AsyncFile, AsyncStream, Backend, BlockingCall, Driver, DriverConfig};
use fullbore_io::buf::{Buffer, Segment};
use fullbore_io::error::ErrorKind;
use fullbore_io::file::File;
use fullbore_testkit::ground::temporary_file;
use fullbore_testkit::{PATIENCE, assert_eventually, ground, in_time};
use futures_lite::future::{block_on, poll_once};

use drivers::drivers;

struct Counting;
thread_local!(static ALLOCATIONS: Cell<usize> = const { Cell::new(0) });
/// Lists of so many segments that exist.
static LISTS: AtomicUsize = AtomicUsize::new(0);
const LISTED: usize = 16_384;

fn is_list(layout: Layout) -> bool {
    layout.size() == LISTED * size_of::<Segment>() && layout.align() == align_of::<Segment>()
}

// SAFETY: delegates to the system's allocator.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        let _ = ALLOCATIONS.try_with(|count| count.set(count.get() + 1));
        LISTS.fetch_add(usize::from(is_list(layout)), Ordering::Relaxed);
        // SAFETY: the caller's promise.
        unsafe { System.alloc(layout) }
    }
    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        LISTS.fetch_sub(usize::from(is_list(layout)), Ordering::Relaxed);
        // SAFETY: the caller's promise.
        unsafe { System.dealloc(pointer, layout) }
    }
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;

/// Starts a call that has a thread and a place of the driver until the sender is dropped.
fn blocking_call(driver: &Driver) -> (Sender<()>, BlockingCall<AsyncFile>) {
    let (release, released) = channel();
    let mut blocked = AsyncFile::open_with(driver, move || {
        let _ = released.recv();
        File::open("missing")
    });
    assert!(block_on(poll_once(&mut blocked)).is_none());
    (release, blocked)
}

/// Returns a driver of one thread, with a [`blocking_call`] on it.
fn busy_driver(in_flight: usize) -> (Driver, Sender<()>, BlockingCall<AsyncFile>) {
    let driver = Driver::new(DriverConfig { backend: Backend::Threads, in_flight, threads: 1 }).unwrap();
    let (release, blocked) = blocking_call(&driver);
    (driver, release, blocked)
}

fn stream(file: File, driver: &Driver) -> AsyncStream {
    AsyncStream::new(AsyncFile::new(file, driver))
}

/// Returns the reading end of a pipe, and the other end.
fn pipe(driver: &Driver) -> (AsyncFile, PipeWriter) {
    let (reader, writer) = std::io::pipe().unwrap();
    (AsyncFile::new(File::from_fd(reader.into(), "pipe").unwrap(), driver), writer)
}
