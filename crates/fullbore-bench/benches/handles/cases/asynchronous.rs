//! Asynchronous operations: whole files, and transfers at offsets. Each contender runs on the run-time of its users; futures
//! of this project need no run-time and are driven by a bare `block_on`.

use super::*;

use compio::io::{AsyncWriteAt, AsyncWriteAtExt};
use fullbore::asynchronous::AsyncStream;
use futures_lite::future::block_on;
use tokio::io::{AsyncRead, AsyncReadExt, AsyncSeekExt, AsyncWrite, AsyncWriteExt, BufReader, copy_buf};

use super::passes::{PASSES, name};
use super::positional::{BUFFERS, forward};

/// Not slower than compio: equal within the difference of two runs of the same.
const NOT_SLOWER: f64 = 1.03;
pub(crate) fn cases() -> Vec<Case> {
    let mut cases = vec![open()];
    cases.extend([512, 4 << 10, 16 << 10, 64 << 10, 1 << 20].map(read_at));
    cases.extend([4 << 10, 16 << 10].map(write_at));
    cases.extend([4 << 10, 16 << 10].map(read_vectored));
    cases.extend(PASSES.iter().map(|(size, piece, buffer)| read(*size, *piece, *buffer)));
    cases.extend(PASSES.iter().map(|(size, piece, buffer)| write(*size, *piece, *buffer)));
    cases.extend([16 << 10, 256 << 10].map(copy));
    cases
}

enum Runtime {
    /// The bare `block_on`, for futures that need no run-time.
    None,
    Tokio(tokio::runtime::Runtime),
    Compio(compio::runtime::Runtime),
}

impl Runtime {
    /// A tokio run-time as `#[tokio::main]` sets it up.
    fn tokio() -> std::io::Result<Self> {
        tokio::runtime::Builder::new_multi_thread().enable_all().build().map(Self::Tokio)
    }

    fn compio() -> std::io::Result<Self> {
        compio::runtime::Runtime::new().map(Self::Compio)
    }

    fn run<T>(&self, future: impl Future<Output = T>) -> T {
        match self {
            Self::None => block_on(future),
            Self::Tokio(runtime) => runtime.block_on(future),
            Self::Compio(runtime) => runtime.block_on(future),
        }
    }
}

/// Bounds of sequential reads: at least as fast as compio, and at 4 KiB 3 times as fast as tokio.
fn demands(case: Case, piece: usize) -> Case {
    let case = case.demand(Demand::AtMost("fullbore async", "compio", NOT_SLOWER));
    if piece == 4 << 10 { case.demand(Demand::Faster("fullbore async", "tokio", 3.0)) } else { case }
}

fn awaited(runtime: Runtime, mut once: impl AsyncFnMut() -> Attempt<()> + 'static) -> Attempt<Contender> {
    Ok(Box::new(move |count, _| {
        runtime.run(async {
            for _ in 0..count {
                once().await?;
            }
            Ok(())
        })
    }))
}

fn open() -> Case {
    Case::new("async-open-close", "opening a file for reading and closing it, awaited")
        .with("fullbore async", |files| {
            let path = files.source(MIDDLE);
            awaited(Runtime::None, async move || Ok(AsyncFile::open(&path).await?.close().await?))
        })
        .with("tokio", |files| {
            let path = files.source(MIDDLE);
            awaited(Runtime::tokio()?, async move || closed(tokio::fs::File::open(&path).await?))
        })
        .with("compio", |files| {
            let path = files.source(MIDDLE);
            let runtime = Runtime::compio()?;
            awaited(runtime, async move || Ok(compio::fs::File::open(&path).await?.close().await?))
        })
}

fn read_at(size: usize) -> Case {
    let case = Case::new(
        format!("async-read-at-{}", super::short(size as u64)),
        "an awaited read at the next offset of 1 MiB",
    )
    .moving(size as u64, 0)
    .with("fullbore async", move |files| {
        let file = AsyncFile::new(File::open(files.source(MIDDLE))?, &Driver::shared()?);
        let (mut buffer, mut at) = (vec![0; size], forward(size));
        awaited(Runtime::None, async move || {
            let (read, back) = file.read_at(std::mem::take(&mut buffer), at()).await;
            buffer = back;
            exactly(read?, size)
        })
    })
    .with("tokio", move |files| {
        let runtime = Runtime::tokio()?;
        let mut file = runtime.run(tokio::fs::File::open(files.source(MIDDLE)))?;
        let (mut buffer, mut at) = (vec![0; size], forward(size));
        awaited(runtime, async move || {
            // tokio has no offsets: it continues from its position.
            if at() == 0 {
                file.seek(SeekFrom::Start(0)).await?;
            }
            file.read_exact(&mut buffer).await?;
            Ok(())
        })
    })
    .with("compio", move |files| {
        let runtime = Runtime::compio()?;
        let file = runtime.run(compio::fs::File::open(files.source(MIDDLE)))?;
        let (mut buffer, mut at) = (vec![0; size], forward(size));
        awaited(runtime, async move || {
            let BufResult(read, back) = file.read_at(std::mem::take(&mut buffer), at()).await;
            buffer = back;
            exactly(read?, size)
        })
    });
    demands(case, size).demand(Demand::AllocatesNothing("fullbore async"))
}

fn write_at(size: usize) -> Case {
    let case = Case::new(
        format!("async-write-at-{}", super::short(size as u64)),
        "an awaited write at the next offset of 1 MiB",
    )
    .moving(size as u64, 0)
    .with("fullbore async", move |files| {
        let file = AsyncFile::new(File::open_write(files.filled(MIDDLE)?)?, &Driver::shared()?);
        let (mut buffer, mut at) = (vec![1; size], forward(size));
        awaited(Runtime::None, async move || {
            let (written, back) = file.write_at(std::mem::take(&mut buffer), at()).await;
            buffer = back;
            exactly(written?, size)
        })
    })
    .with("tokio", move |files| {
        let runtime = Runtime::tokio()?;
        let path = files.filled(MIDDLE)?;
        let mut file = runtime.run(tokio::fs::File::options().write(true).open(path))?;
        let (buffer, mut at) = (vec![1; size], forward(size));
        awaited(runtime, async move || {
            if at() == 0 {
                file.seek(SeekFrom::Start(0)).await?;
            }
            file.write_all(&buffer).await?;
            // Without the flush, tokio returns before the system call.
            Ok(file.flush().await?)
        })
    })
    .with("compio", move |files| {
        let runtime = Runtime::compio()?;
        let path = files.filled(MIDDLE)?;
        let mut file = runtime.run(compio::fs::OpenOptions::new().write(true).open(path))?;
        let (mut buffer, mut at) = (vec![1; size], forward(size));
        awaited(runtime, async move || {
            let BufResult(written, back) = file.write_at(std::mem::take(&mut buffer), at()).await;
            buffer = back;
            exactly(written?, size)
        })
    });
    case.demand(Demand::AllocatesNothing("fullbore async"))
}

fn read_vectored(each_size: usize) -> Case {
    let size = BUFFERS * each_size;
    let name = format!("async-read-vectored-at-{BUFFERS}x{}", super::short(each_size as u64));
    let buffers = move || vec![vec![0_u8; each_size]; BUFFERS];
    Case::new(name, "an awaited read into four buffers at the next offset of 1 MiB")
        .moving(size as u64, 0)
        .with("fullbore async", move |files| {
            let file = AsyncFile::new(File::open(files.source(MIDDLE))?, &Driver::shared()?);
            let (mut buffers, mut at) = (buffers(), forward(size));
            awaited(Runtime::None, async move || {
                let (read, back) = file.read_at(std::mem::take(&mut buffers), at()).await;
                buffers = back;
                exactly(read?, size)
            })
        })
        .with("compio", move |files| {
            let runtime = Runtime::compio()?;
            let file = runtime.run(compio::fs::File::open(files.source(MIDDLE)))?;
            let (mut buffers, mut at) = (buffers(), forward(size));
            awaited(runtime, async move || {
                let BufResult(read, back) = file.read_vectored_at(std::mem::take(&mut buffers), at()).await;
                buffers = back;
                exactly(read?, size)
            })
        })
        .demand(Demand::AtMost("fullbore async", "compio", NOT_SLOWER))
        .demand(Demand::AllocatesNothing("fullbore async"))
}

fn read(size: u64, piece: usize, buffer: usize) -> Case {
    let case = Case::new(
        name("async-read", (size, piece, buffer)),
        "opening a file, reading it from front to back, closing it, awaited",
    )
    .moving(size, 0)
    .with("fullbore async", move |files| {
        let (path, mut data) = (files.source(size), vec![0; piece]);
        awaited(Runtime::None, async move || {
            let file = AsyncFile::open(&path).await?;
            let mut read = 0;
            while read < size {
                let (count, back) = file.read_at(std::mem::take(&mut data), read).await;
                data = back;
                read += count? as u64;
            }
            Ok(file.close().await?)
        })
    })
    .with("tokio", move |files| {
        let (path, mut data) = (files.source(size), vec![0; piece]);
        awaited(Runtime::tokio()?, async move || {
            let mut file = tokio::fs::File::open(&path).await?;
            let mut read = 0;
            while read < size {
                read += file.read(&mut data).await? as u64;
            }
            Ok(())
        })
    })
    .with("compio", move |files| {
        let (path, mut data) = (files.source(size), vec![0; piece]);
        awaited(Runtime::compio()?, async move || {
            let file = compio::fs::File::open(&path).await?;
            let mut read = 0;
            while read < size {
                let BufResult(count, back) = file.read_at(std::mem::take(&mut data), read).await;
                data = back;
                read += count? as u64;
            }
            Ok(file.close().await?)
        })
    });
    demands(case, piece)
}

fn write(size: u64, piece: usize, buffer: usize) -> Case {
    let starts = move || (0..size).step_by(piece);
    Case::new(
        name("async-write", (size, piece, buffer)),
        "replacing a file, writing it from front to back, closing it, awaited",
    )
    .moving(size, 0)
    .with("fullbore async", move |files| {
        let (path, driver, mut data) = (files.target(), Driver::shared()?, vec![1; piece]);
        awaited(Runtime::None, async move || {
            let path = path.clone();
            let how =
                move || OpenOptions::new().mode(Mode::CreateOrTruncate).access(Access::Write).open(path);
            let file = AsyncFile::open_with(&driver, how).await?;
            for at in starts() {
                let (done, back) = file.write_all_at(std::mem::take(&mut data), at).await;
                data = back;
                done?;
            }
            Ok(file.close().await?)
        })
    })
    .with("tokio", move |files| {
        let (path, data) = (files.target(), vec![1; piece]);
        awaited(Runtime::tokio()?, async move || {
            let mut file = tokio::fs::File::create(&path).await?;
            for _ in starts() {
                file.write_all(&data).await?;
            }
            Ok(file.flush().await?)
        })
    })
    .with("compio", move |files| {
        let (path, mut data) = (files.target(), vec![1; piece]);
        awaited(Runtime::compio()?, async move || {
            let mut file = compio::fs::File::create(&path).await?;
            for at in starts() {
                let BufResult(done, back) = file.write_all_at(std::mem::take(&mut data), at).await;
                data = back;
                done?;
            }
            Ok(file.close().await?)
        })
    })
}

/// Copies by the traits of tokio, through a buffer of `piece` bytes.
async fn copied(from: impl AsyncRead + Unpin, mut to: impl AsyncWrite + Unpin, piece: usize) -> Attempt<()> {
    copy_buf(&mut BufReader::with_capacity(piece, from), &mut to).await?;
    Ok(to.shutdown().await?)
}

fn copy(piece: usize) -> Case {
    Case::new(
        name("async-copy", (LARGE, piece, piece)),
        "copying a file over another by the traits of tokio, awaited",
    )
    .moving(LARGE, 0)
    .with("fullbore async", move |files| {
        let (source, target) = (files.source(LARGE), files.target());
        awaited(Runtime::None, async move || {
            let from = AsyncStream::new(AsyncFile::open(&source).await?);
            copied(from, AsyncStream::new(AsyncFile::create(&target).await?), piece).await
        })
    })
    .with("tokio", move |files| {
        let (source, target) = (files.source(LARGE), files.target());
        awaited(Runtime::tokio()?, async move || {
            let from = tokio::fs::File::open(&source).await?;
            copied(from, tokio::fs::File::create(&target).await?, piece).await
        })
    })
    .demand(Demand::AtMost("fullbore async", "tokio", 1.05))
}
