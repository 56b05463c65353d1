//! `tokio::fs`: calls made by threads of the runtime, awaited by its tasks.

use std::io;
use std::sync::atomic::AtomicU64;
use std::sync::{Arc, OnceLock};

use ::tokio::fs::File;
use ::tokio::io::{AsyncReadExt, AsyncSeekExt, AsyncWriteExt};
use ::tokio::runtime::{Builder, Runtime};
use fullbore::Result;
use fullbore::buf::Pool;
use fullbore::error::Error;

use super::open::{Interface, OpenConfig, Pass, Payload};

struct TokioFile {
    tasks: Vec<TokioTask>,
    config: OpenConfig,
}

struct TokioTask {
    file: File,
    data: Vec<u8>,
    bytes: Payload,
}

/// Returns the runtime, configured as by `#[tokio::main]`; a process has one.
fn runtime() -> io::Result<&'static Runtime> {
    static RUNTIME: OnceLock<Runtime> = OnceLock::new();
    if let Some(runtime) = RUNTIME.get() {
        return Ok(runtime);
    }
    let made = Builder::new_multi_thread().enable_all().build()?;
    Ok(RUNTIME.get_or_init(|| made))
}

/// Opens a `tokio::fs::File` with its defaults: calls of at most 2 MiB, through its own buffer.
pub(super) fn open(config: &OpenConfig, _pool: &mut Pool) -> Result<Box<dyn Interface>> {
    let failed = |error| Error::io("open", &config.path, error);
    let runtime = runtime().map_err(failed)?;
    let writes = config.bytes.writes();
    let task = || {
        let options = File::options().read(!writes).write(writes).clone();
        let file = runtime.block_on(options.open(&config.path)).map_err(failed)?;
        let mut data = vec![0; config.record];
        config.bytes.prime(&mut data);
        Ok(TokioTask { file, data, bytes: config.bytes.clone() })
    };
    let tasks = (0..config.depth).map(|_| task()).collect::<Result<_>>()?;
    Ok(Box::new(TokioFile { tasks, config: config.clone() }))
}

impl TokioTask {
    /// Transfers these records of a pass.
    async fn records(&mut self, pass: &Pass, records: impl Iterator<Item = (u64, usize)>) -> io::Result<()> {
        let Self { file, data, bytes } = self;
        let mut here = None;
        for (offset, len) in records {
            if here != Some(offset) {
                file.seek(pass.seek(offset)).await?;
            }
            if bytes.writes() {
                bytes.make(offset, &mut data[..len]);
                file.write_all(&data[..len]).await?;
            } else {
                file.read_exact(&mut data[..len]).await?;
                bytes.observe(offset, &data[..len]);
            }
            here = Some(offset + len as u64);
        }
        // tokio reports bytes as written before the system call.
        file.flush().await
    }
}

impl Interface for TokioFile {
    fn pass(&mut self, pass: &Pass) -> Result<()> {
        let failed = |error| {
            let doing = if self.config.bytes.writes() { "write" } else { "read" };
            Error::io(doing, &self.config.path, error)
        };
        let runtime = runtime().map_err(failed)?;
        if let [task] = &mut self.tasks[..] {
            return runtime.block_on(task.records(pass, pass.records())).map_err(failed);
        }
        // Each task takes the next record not yet taken.
        let next = Arc::new(AtomicU64::new(0));
        let tasks: Vec<_> = std::mem::take(&mut self.tasks)
            .into_iter()
            .map(|mut task| {
                let (next, pass) = (next.clone(), pass.clone());
                runtime.spawn(async move {
                    let done = task.records(&pass, pass.untaken(&next)).await;
                    (done, task)
                })
            })
            .collect();
        for task in tasks {
            let (done, task) = runtime.block_on(task).map_err(|error| failed(error.into()))?;
            done.map_err(failed)?;
            self.tasks.push(task);
        }
        Ok(())
    }

    fn flush(&mut self) -> Result<()> {
        let Some(task) = self.tasks.first() else { return Ok(()) };
        let failed = |error| Error::io("flush", &self.config.path, error);
        runtime().and_then(|runtime| runtime.block_on(task.file.sync_data())).map_err(failed)
    }
}
