//! `compio`: a run-time on io_uring whose calls own their buffers.

use std::cell::Cell;
use std::io;
use std::rc::Rc;

use ::compio::BufResult;
use ::compio::buf::{IoBuf, Slice};
use ::compio::fs::{File, OpenOptions};
use ::compio::io::{AsyncReadAtExt, AsyncWriteAtExt};
use ::compio::runtime::Runtime;
use fullbore::Result;
use fullbore::buf::{ALIGNMENT, Pool};
use fullbore::error::Error;
use rustix::fs::OFlags;

use super::in_flight::{self, Job, Memory};
use super::pass::Pass;
use super::{Completion, Interface, Opening};

/// A file of a run-time, with the memory of its calls.
struct Compio {
    // Dropped before its run-time.
    file: File,
    runtime: Runtime,
    memory: Vec<Slice<Vec<u8>>>,
    opening: Opening,
}

/// `compio::fs::File` on a run-time of its own.
pub(super) fn open(opening: &Opening, _pool: &mut Pool) -> Result<Box<dyn Interface>> {
    let failed = |error| Error::io("open", &opening.path, error);
    let runtime = Runtime::new().map_err(failed)?;
    let mut options = OpenOptions::new();
    match opening.bytes.writes() {
        true => options.write(true),
        false => options.read(true),
    };
    if opening.direct {
        options.custom_flags(OFlags::DIRECT.bits() as i32);
    }
    let file = runtime.block_on(options.open(&opening.path)).map_err(failed)?;
    let memory = (0..opening.depth).map(|_| aligned(opening)).collect();
    Ok(Box::new(Compio { file, runtime, memory, opening: opening.clone() }))
}

/// A vector's part that starts at a page and is primed.
fn aligned(opening: &Opening) -> Slice<Vec<u8>> {
    let bytes = vec![0; opening.record + ALIGNMENT];
    let start = bytes.as_ptr().align_offset(ALIGNMENT);
    let mut memory = bytes.slice(start..start + opening.record);
    opening.bytes.prime(&mut memory);
    memory
}

impl Memory for Slice<Vec<u8>> {
    fn place(&mut self, len: usize, _each: usize) {
        self.set_end(self.begin() + len);
    }

    fn parts(&mut self, mut part: impl FnMut(u64, &mut [u8])) {
        part(0, self);
    }
}

/// Moves a record.
async fn call(
    mut file: &File,
    opening: &Opening,
    memory: Slice<Vec<u8>>,
    offset: u64,
) -> (Result<()>, Slice<Vec<u8>>) {
    let (BufResult(done, memory), doing) = if opening.bytes.writes() {
        (file.write_all_at(memory, offset).await, "write")
    } else {
        (file.read_exact_at(memory, offset).await, "read")
    };
    (done.map_err(|error| Error::io(doing, &opening.path, error).at(offset)), memory)
}

impl Compio {
    /// A task each that takes the next record that nobody has.
    fn tasks(&mut self, pass: &Pass) -> Result<()> {
        let shared = Rc::new((Cell::new(0), self.opening.clone(), pass.clone()));
        let lanes: Vec<_> = self
            .memory
            .drain(..)
            .map(|mut memory| {
                let (file, shared) = (self.file.clone(), shared.clone());
                self.runtime.spawn(async move {
                    let (next, opening, pass) = &*shared;
                    let job = Job { pass, bytes: &opening.bytes, each: opening.memory().1 };
                    while next.get() < pass.count() {
                        let record = pass.record(next.replace(next.get() + 1));
                        job.ready(&mut memory, record);
                        let (done, mut back) = call(&file, opening, memory, record.0).await;
                        done?;
                        job.came(&mut back, record.0);
                        memory = back;
                    }
                    Ok::<_, Error>(memory)
                })
            })
            .collect();
        for lane in lanes {
            let ended = self.runtime.block_on(lane);
            let memory = ended.map_err(|error| {
                Error::io("measure", &self.opening.path, io::Error::other(format!("{error:?}")))
            })??;
            self.memory.push(memory);
        }
        Ok(())
    }
}

impl Interface for Compio {
    fn pass(&mut self, pass: &Pass) -> Result<()> {
        if self.opening.completion == Completion::Tasks {
            return self.tasks(pass);
        }
        let Self { file, runtime, memory, opening } = self;
        let job = Job { pass, bytes: &opening.bytes, each: opening.memory().1 };
        let call = |memory, offset| call(file, opening, memory, offset);
        runtime.block_on(in_flight::run(job, opening.completion, memory, call))
    }

    fn flush(&mut self) -> Result<()> {
        let synced = self.runtime.block_on(self.file.sync_data());
        synced.map_err(|error| Error::io("flush", &self.opening.path, error))
    }
}
