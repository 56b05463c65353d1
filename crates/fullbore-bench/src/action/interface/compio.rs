//! `compio`: a runtime on io_uring whose calls own their buffers.

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

use super::in_flight::{self, OwnedBuffer, PassIo};
use super::open::{Completion, Interface, OpenConfig, Pass};

/// Bypasses the page cache, with the number that Windows gives it.
#[cfg(windows)]
const FILE_FLAG_NO_BUFFERING: u32 = 0x2000_0000;

struct CompioFile {
    // Dropped before its runtime.
    file: File,
    runtime: Runtime,
    memory: Vec<Slice<Vec<u8>>>,
    config: OpenConfig,
}

/// Opens a `compio::fs::File` on a runtime of its own.
pub(super) fn open(config: &OpenConfig, _pool: &mut Pool) -> Result<Box<dyn Interface>> {
    let failed = |error| Error::io("open", &config.path, error);
    let runtime = Runtime::new().map_err(failed)?;
    let mut options = OpenOptions::new();
    options.read(!config.bytes.writes()).write(config.bytes.writes());
    if config.direct {
        #[cfg(target_os = "linux")]
        options.custom_flags(fullbore::sys::OpenFlags::DIRECT.bits() as i32);
        #[cfg(windows)]
        options.custom_flags(FILE_FLAG_NO_BUFFERING);
        #[cfg(not(any(target_os = "linux", windows)))]
        return Err(failed(std::io::ErrorKind::Unsupported.into()));
    }
    let file = runtime.block_on(options.open(&config.path)).map_err(failed)?;
    let memory = (0..config.depth).map(|_| aligned(config)).collect();
    Ok(Box::new(CompioFile { file, runtime, memory, config: config.clone() }))
}

/// Returns the page-aligned part of a vector, primed.
fn aligned(config: &OpenConfig) -> Slice<Vec<u8>> {
    let bytes = vec![0; config.record + ALIGNMENT];
    let start = bytes.as_ptr().align_offset(ALIGNMENT);
    let mut memory = bytes.slice(start..start + config.record);
    config.bytes.prime(&mut memory);
    memory
}

impl OwnedBuffer for Slice<Vec<u8>> {
    fn resize(&mut self, len: usize, _each: usize) {
        self.set_end(self.begin() + len);
    }

    fn parts(&mut self, mut part: impl FnMut(u64, &mut [u8])) {
        part(0, self);
    }
}

async fn call(
    mut file: &File,
    config: &OpenConfig,
    memory: Slice<Vec<u8>>,
    offset: u64,
) -> (Result<()>, Slice<Vec<u8>>) {
    let (BufResult(done, memory), doing) = if config.bytes.writes() {
        (file.write_all_at(memory, offset).await, "write")
    } else {
        (file.read_exact_at(memory, offset).await, "read")
    };
    (done.map_err(|error| Error::io(doing, &config.path, error).at(offset)), memory)
}

impl CompioFile {
    fn tasks(&mut self, pass: &Pass) -> Result<()> {
        let shared = Rc::new((Cell::new(0), self.config.clone(), pass.clone()));
        let lanes: Vec<_> = self
            .memory
            .drain(..)
            .map(|mut memory| {
                let (file, shared) = (self.file.clone(), shared.clone());
                self.runtime.spawn(async move {
                    let (next, config, pass) = &*shared;
                    let job = PassIo { pass, bytes: &config.bytes, each: config.memory().1 };
                    while next.get() < pass.count() {
                        let record = pass.record(next.replace(next.get() + 1));
                        job.prepare(&mut memory, record);
                        let (done, mut back) = call(&file, config, memory, record.0).await;
                        done?;
                        job.complete(&mut back, record.0);
                        memory = back;
                    }
                    Ok::<_, Error>(memory)
                })
            })
            .collect();
        for lane in lanes {
            let ended = self.runtime.block_on(lane);
            let memory = ended.map_err(|error| {
                Error::io("measure", &self.config.path, io::Error::other(format!("{error:?}")))
            })??;
            self.memory.push(memory);
        }
        Ok(())
    }
}

impl Interface for CompioFile {
    fn pass(&mut self, pass: &Pass) -> Result<()> {
        if self.config.completion == Completion::Tasks {
            return self.tasks(pass);
        }
        let Self { file, runtime, memory, config } = self;
        let job = PassIo { pass, bytes: &config.bytes, each: config.memory().1 };
        let call = |memory, offset| call(file, config, memory, offset);
        runtime.block_on(in_flight::run(job, config.completion, memory, call))
    }

    fn flush(&mut self) -> Result<()> {
        let synced = self.runtime.block_on(self.file.sync_data());
        synced.map_err(|error| Error::io("flush", &self.config.path, error))
    }
}
