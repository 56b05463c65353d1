//! Asynchronous files on every backend, compared with std.

mod adaptors;
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
use std::pin::pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::{Context, Poll, Waker};
use std::time::{Duration, Instant};

use fullbore_io::asynchronous::{AsyncFile, Backend, Driver, DriverConfig};
use fullbore_io::buf::{Buffer, Segment};
use fullbore_io::error::ErrorKind;
use fullbore_io::file::File;
use futures_lite::future::{block_on, poll_once};

struct Counting;
thread_local!(static ALLOCATIONS: Cell<usize> = const { Cell::new(0) });

// SAFETY: delegates to the system's allocator.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        let _ = ALLOCATIONS.try_with(|count| count.set(count.get() + 1));
        // SAFETY: the caller's promise.
        unsafe { System.alloc(layout) }
    }
    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        // SAFETY: the caller's promise.
        unsafe { System.dealloc(pointer, layout) }
    }
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;

/// Returns one driver per available backend.
fn drivers(in_flight: usize) -> Vec<Driver> {
    let with = |backend| Driver::new(DriverConfig { backend, in_flight, threads: 4 });
    let mut drivers = vec![with(Backend::Threads).unwrap()];
    let auto = with(Backend::Auto).unwrap();
    assert_ne!(auto.backend(), Backend::Auto);
    assert_eq!(auto.load(), (0, 0));
    match auto {
        auto if auto.backend() == Backend::Threads => println!("skipped: {:?}", with(Backend::Uring).err()),
        auto => drivers.push(auto),
    }
    drivers
}

fn temporary_file(bytes: &[u8]) -> (tempfile::TempDir, std::path::PathBuf) {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("file");
    std::fs::write(&path, bytes).unwrap();
    (dir, path)
}

fn pattern(len: usize) -> Vec<u8> {
    (0..len as u64).map(|i| (i.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 56) as u8).collect()
}
