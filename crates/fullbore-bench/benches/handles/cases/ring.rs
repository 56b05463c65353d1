//! Random direct reads at a depth of 32: futures against a ring that is filled by hand.
#![allow(unsafe_code)]

use std::fs;
use std::os::fd::{AsRawFd, OwnedFd};
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;
use std::time::Duration;

use compio::BufResult;
use compio::io::AsyncReadAt;
use fullbore::asynchronous::{AsyncFile, Driver};
use fullbore::buf::{Buf, Pool};
use fullbore::file::File;
use futures_lite::StreamExt;
use futures_util::stream::FuturesUnordered;
use io_uring::{IoUring, opcode, types};
use rustix::fs::OFlags;

use super::positional::Anywhere;
use crate::case::{Case, Demand, exactly, work};
use crate::files::LARGE;
use crate::harness::Attempt;

/// Reads in flight.
const DEPTH: usize = 32;
/// Bytes of a read.
const SIZE: usize = 4 << 10;

pub(crate) fn cases() -> Vec<Case> {
    let name = format!("async-random-direct-read-{}-depth-{DEPTH}", super::short(SIZE as u64));
    let case = Case::new(name, "a direct read at a random offset of 100 MiB, 32 in flight")
        .moving(SIZE as u64, 0)
        // 32 reads fill the ring, 32 empty it: they must be few of all.
        .turns_of(Duration::from_millis(20))
        .with("raw ring", |files| {
            let mut raw = Raw::new(IoUring::new(DEPTH as u32)?, &files.source(LARGE), 1)?;
            work(move |count, _| raw.read(count))
        })
        .with("raw, deferred", |files| {
            // The kernel's part of a completion runs in the thread that reaps it.
            let ring = IoUring::builder().setup_single_issuer().setup_defer_taskrun().build(DEPTH as u32)?;
            let mut raw = Raw::new(ring, &files.source(LARGE), 2)?;
            work(move |count, _| raw.read(count))
        })
        .with("fullbore async", |files| {
            let path = files.source(LARGE);
            let file = AsyncFile::new(File::from_fd(direct(&path)?, path)?, &Driver::shared()?);
            let mut buffers = aligned()?;
            let mut at = Anywhere::of(SIZE, 3);
            work(move |count, _| {
                futures_lite::future::block_on(async {
                    let mut left = count;
                    let mut flight = FuturesUnordered::new();
                    while let Some(buffer) = take(&mut buffers, &mut left) {
                        flight.push(file.read_at(buffer, at.next()));
                    }
                    while let Some((read, mut buffer)) = flight.next().await {
                        exactly(read?, SIZE)?;
                        if left > 0 {
                            left -= 1;
                            buffer.place(0, SIZE);
                            flight.push(file.read_at(buffer, at.next()));
                        } else {
                            buffers.push(buffer);
                        }
                    }
                    Ok(())
                })
            })
        })
        .with("compio", |files| {
            let runtime = compio::runtime::Runtime::new()?;
            let file = runtime.block_on(
                compio::fs::OpenOptions::new()
                    .read(true)
                    .custom_flags(OFlags::DIRECT.bits() as i32)
                    .open(files.source(LARGE)),
            )?;
            exactly(rustix::fs::fcntl_getfl(&file)?.contains(OFlags::DIRECT), true)?;
            let mut buffers: Vec<Aligned> = (0..DEPTH).map(|_| Aligned::new()).collect();
            let mut at = Anywhere::of(SIZE, 4);
            work(move |count, _| {
                runtime.block_on(async {
                    let mut left = count;
                    let mut flight = FuturesUnordered::new();
                    while let Some(buffer) = take(&mut buffers, &mut left) {
                        flight.push(file.read_at(buffer, at.next()));
                    }
                    while let Some(BufResult(read, buffer)) = flight.next().await {
                        exactly(read?, SIZE)?;
                        if left > 0 {
                            left -= 1;
                            flight.push(file.read_at(buffer, at.next()));
                        } else {
                            buffers.push(buffer);
                        }
                    }
                    Ok(())
                })
            })
        })
        .demand(Demand::AtMost("fullbore async", "raw ring", 1.05));
    vec![case]
}

/// Takes a buffer for one of the remaining reads.
fn take<B>(buffers: &mut Vec<B>, left: &mut u64) -> Option<B> {
    if *left == 0 {
        return None;
    }
    let buffer = buffers.pop()?;
    *left -= 1;
    Some(buffer)
}

/// Opens for direct I/O.
fn direct(path: &Path) -> std::io::Result<OwnedFd> {
    let mut options = fs::File::options();
    Ok(options.read(true).custom_flags(OFlags::DIRECT.bits() as i32).open(path)?.into())
}

/// Buffers of whole pages.
fn aligned() -> Attempt<Vec<Buf>> {
    let mut pool = Pool::new(DEPTH, SIZE)?;
    let mut buffers: Vec<Buf> = std::iter::from_fn(|| pool.take()).take(DEPTH).collect();
    buffers.iter_mut().for_each(|buffer| buffer.place(0, SIZE));
    Ok(buffers)
}

/// A page for compio, which requires its own buffer trait.
#[repr(C, align(4096))]
struct Page([u8; SIZE]);

struct Aligned(Box<Page>);

impl Aligned {
    fn new() -> Self {
        Self(Box::new(Page([0; SIZE])))
    }
}

impl compio::buf::IoBuf for Aligned {
    fn as_init(&self) -> &[u8] {
        &self.0.0
    }
}

impl compio::buf::SetLen for Aligned {
    // All of it is always initialised.
    unsafe fn set_len(&mut self, _: usize) {}
}

impl compio::buf::IoBufMut for Aligned {
    fn as_uninit(&mut self) -> &mut [std::mem::MaybeUninit<u8>] {
        let bytes = &mut self.0.0;
        // SAFETY: initialised bytes may be treated as uninitialised as long as nobody de-initialises them; compio passes
        // them to the system, which writes bytes.
        unsafe { &mut *(std::ptr::from_mut(bytes) as *mut [std::mem::MaybeUninit<u8>; SIZE]) }
    }
}

/// The ring alone.
struct Raw {
    ring: IoUring,
    file: OwnedFd,
    /// Never freed: closing a ring does not wait for what is in flight.
    pages: Vec<&'static mut Page>,
    at: Anywhere,
}

impl Raw {
    fn new(ring: IoUring, path: &Path, seed: u64) -> Attempt<Self> {
        let pages = (0..DEPTH).map(|_| Box::leak(Box::new(Page([0; SIZE])))).collect();
        Ok(Self { ring, file: direct(path)?, pages, at: Anywhere::of(SIZE, seed) })
    }

    /// Prepares a read into that page.
    fn push(&mut self, page: usize) -> Attempt<()> {
        let start = self.pages[page].0.as_mut_ptr();
        let read = opcode::Read::new(types::Fd(self.file.as_raw_fd()), start, SIZE as u32)
            .offset(self.at.next())
            .build()
            .user_data(page as u64);
        // SAFETY: the page is not in flight; only the system writes to it until its completion was reaped, and it is
        // never freed. The system keeps the file open itself.
        unsafe { self.ring.submission().push(&read)? };
        Ok(())
    }

    /// Makes `count` reads.
    fn read(&mut self, count: u64) -> Attempt<()> {
        let mut left = count;
        let mut flying = 0;
        let mut done = [0; DEPTH];
        for page in 0..DEPTH.min(count as usize) {
            self.push(page)?;
            left -= 1;
            flying += 1;
        }
        while flying > 0 {
            self.ring.submit_and_wait(1)?;
            let mut landed = 0;
            for entry in self.ring.completion() {
                exactly(entry.result(), SIZE as i32)?;
                done[landed] = entry.user_data() as usize;
                landed += 1;
            }
            for page in &done[..landed] {
                flying -= 1;
                if left > 0 {
                    left -= 1;
                    flying += 1;
                    self.push(*page)?;
                }
            }
        }
        Ok(())
    }
}
