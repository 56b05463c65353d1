//! Random direct reads at a depth of 32: futures against a ring that is filled by hand.
#![allow(unsafe_code)]

use super::*;

use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;
use std::time::Duration;

use compio::buf::{IoBuf, Slice};
use fullbore::buf::{Buf, Pool};
use futures_lite::StreamExt;
use futures_util::stream::FuturesUnordered;
use io_uring::{IoUring, opcode, types};

use super::positional::anywhere;

const DEPTH: usize = 32;
const SIZE: usize = 4 << 10;

pub(crate) fn cases() -> Vec<Case> {
    let name = format!("async-random-direct-read-{}-depth-{DEPTH}", super::short(SIZE as u64));
    let case = Case::new(name, "a direct read at a random offset of 100 MiB, 32 in flight")
        .moving(SIZE as u64, 0)
        .with("raw ring", |files| raw(IoUring::new(DEPTH as u32)?, files, anywhere(SIZE, 1)))
        .with("raw, deferred", |files| {
            // The kernel's part of a completion runs in the thread that reaps it.
            let ring = IoUring::builder().setup_single_issuer().setup_defer_taskrun().build(DEPTH as u32)?;
            raw(ring, files, anywhere(SIZE, 2))
        })
        .with("fullbore async", |files| {
            let path = files.source(LARGE);
            let file = AsyncFile::new(File::from_fd(direct(&path)?, path)?, &Driver::shared()?);
            let mut buffers = aligned()?;
            let mut at = anywhere(SIZE, 3);
            Ok(Box::new(move |count, _| {
                let read = |mut buffer: Buf| {
                    buffer.place(0, SIZE);
                    file.read_at(buffer, at())
                };
                let split =
                    |(read, buffer): (fullbore::Result<usize>, Buf)| (read.map_err(Into::into), buffer);
                futures_lite::future::block_on(keep_in_flight(count, &mut buffers, read, split))
            }))
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
            let mut buffers: Vec<_> = (0..DEPTH).map(|_| page()).collect();
            let mut at = anywhere(SIZE, 4);
            Ok(Box::new(move |count, _| {
                let read = |buffer| file.read_at(buffer, at());
                let split = |BufResult(read, buffer)| (read, buffer);
                runtime.block_on(keep_in_flight(count, &mut buffers, read, split))
            }))
        })
        .demand(Demand::AtMost("fullbore async", "raw ring", 1.05));
    // 32 reads fill the ring, 32 empty it: they must be few of all.
    vec![Case { turn: Duration::from_millis(20), ..case }]
}

/// Makes `count` reads, as many in flight as there are buffers; `split` has the result of a read and its buffer.
async fn keep_in_flight<B, F: Future>(
    count: u64,
    buffers: &mut Vec<B>,
    mut read: impl FnMut(B) -> F,
    split: impl Fn(F::Output) -> (std::io::Result<usize>, B),
) -> Attempt<()> {
    let mut left = count;
    let mut flight = FuturesUnordered::new();
    while left > 0
        && let Some(buffer) = buffers.pop()
    {
        left -= 1;
        flight.push(read(buffer));
    }
    while let Some(done) = flight.next().await {
        let (count, buffer) = split(done);
        exactly(count?, SIZE)?;
        if left > 0 {
            left -= 1;
            flight.push(read(buffer));
        } else {
            buffers.push(buffer);
        }
    }
    Ok(())
}

fn direct(path: &Path) -> std::io::Result<OwnedFd> {
    let mut options = fs::File::options();
    Ok(options.read(true).custom_flags(OFlags::DIRECT.bits() as i32).open(path)?.into())
}

fn aligned() -> Attempt<Vec<Buf>> {
    let mut pool = Pool::new(DEPTH, SIZE)?;
    let mut buffers: Vec<Buf> = std::iter::from_fn(|| pool.take()).take(DEPTH).collect();
    buffers.iter_mut().for_each(|buffer| buffer.place(0, SIZE));
    Ok(buffers)
}

/// A page for the ring alone.
#[repr(C, align(4096))]
struct Page([u8; SIZE]);

/// Returns the page-aligned part of a vector.
fn page() -> Slice<Vec<u8>> {
    let bytes = vec![0; 2 * SIZE];
    let start = bytes.as_ptr().align_offset(SIZE);
    bytes.slice(start..start + SIZE)
}

fn raw(ring: IoUring, files: &BenchFiles, at: impl FnMut() -> u64 + 'static) -> Attempt<Contender> {
    let pages = (0..DEPTH).map(|_| Box::leak(Box::new(Page([0; SIZE])))).collect();
    let mut raw = Raw { ring, file: direct(&files.source(LARGE))?, pages, at };
    Ok(Box::new(move |count, _| raw.read(count)))
}

struct Raw<A> {
    ring: IoUring,
    file: OwnedFd,
    /// Never freed: closing a ring does not wait for what is in flight.
    pages: Vec<&'static mut Page>,
    at: A,
}

impl<A: FnMut() -> u64> Raw<A> {
    fn push(&mut self, page: usize) -> Attempt<()> {
        let start = self.pages[page].0.as_mut_ptr();
        let read = opcode::Read::new(types::Fd(self.file.as_raw_fd()), start, SIZE as u32)
            .offset((self.at)())
            .build()
            .user_data(page as u64);
        // SAFETY: the page is not in flight; only the system writes to it until its completion was reaped, and it is
        // never freed. The system keeps the file open itself.
        unsafe { self.ring.submission().push(&read)? };
        Ok(())
    }

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
