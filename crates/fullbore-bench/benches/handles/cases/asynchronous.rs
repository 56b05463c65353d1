//! Asynchronous operations: whole files, and transfers at offsets. Each contender runs on the run-time of its users; futures
//! of this project need no run-time and are driven by a bare `block_on`.

use std::io::SeekFrom;
use std::path::Path;

use compio::BufResult;
use compio::io::{AsyncReadAt, AsyncWriteAt, AsyncWriteAtExt};
use fullbore::asynchronous::{AsyncFile, Driver};
use fullbore::file::{Access, File, Mode, OpenOptions};
use futures_lite::future::block_on;
use tokio::io::{AsyncReadExt, AsyncSeekExt, AsyncWriteExt};

use super::passes::{PASSES, name};
use crate::case::{Case, Demand, exactly, work};
use crate::files::MIDDLE;
use crate::judging::Attempt;

/// Sizes of single transfers in bytes.
const SIZES: &[usize] = &[512, 4 << 10, 16 << 10, 64 << 10, 1 << 20];
/// Not slower than compio: equal within the difference of two runs of the same.
const NOT_SLOWER: f64 = 1.03;
/// Buffers of a vectored transfer.
const BUFFERS: usize = 4;

pub(crate) fn cases() -> Vec<Case> {
    let mut cases = vec![open()];
    cases.extend(SIZES.iter().map(|size| read_at(*size)));
    cases.extend([4 << 10, 16 << 10].map(write_at));
    cases.extend([4 << 10, 16 << 10].map(read_vectored));
    cases.extend(PASSES.iter().map(|(size, piece, buffer)| read(*size, *piece, *buffer)));
    cases.extend(PASSES.iter().map(|(size, piece, buffer)| write(*size, *piece, *buffer)));
    cases
}

/// A tokio run-time as `#[tokio::main]` sets it up.
fn tokio_runtime() -> std::io::Result<tokio::runtime::Runtime> {
    tokio::runtime::Builder::new_multi_thread().enable_all().build()
}

/// Bounds of sequential reads: at least as fast as compio, and at 4 KiB 3 times as fast as tokio.
fn demands(case: Case, piece: usize) -> Case {
    let case = case.demand(Demand::AtMost("fullbore async", "compio", NOT_SLOWER));
    if piece == 4 << 10 { case.demand(Demand::Faster("fullbore async", "tokio", 3.0)) } else { case }
}

fn open() -> Case {
    Case::new("async-open-close", "opening a file for reading and closing it, awaited")
        .with("fullbore async", |files| {
            let path = files.source(MIDDLE);
            work(move |count, _| {
                block_on(async {
                    for _ in 0..count {
                        AsyncFile::open(&path).await?.close().await?;
                    }
                    Ok(())
                })
            })
        })
        .with("tokio", |files| {
            let (path, runtime) = (files.source(MIDDLE), tokio_runtime()?);
            work(move |count, _| {
                runtime.block_on(async {
                    for _ in 0..count {
                        drop(tokio::fs::File::open(&path).await?);
                    }
                    Ok(())
                })
            })
        })
        .with("compio", |files| {
            let (path, runtime) = (files.source(MIDDLE), compio::runtime::Runtime::new()?);
            work(move |count, _| {
                runtime.block_on(async {
                    for _ in 0..count {
                        compio::fs::File::open(&path).await?.close().await?;
                    }
                    Ok(())
                })
            })
        })
}

/// The offset after `at` in steps of `size` through 1 MiB.
fn following(at: u64, size: usize) -> u64 {
    (at + size as u64) % MIDDLE
}

fn read_at(size: usize) -> Case {
    let case = Case::new(
        format!("async-read-at-{}", super::short(size as u64)),
        "an awaited read at the next offset of 1 MiB",
    )
    .moving(size as u64, 0)
    .with("fullbore async", move |files| {
        let file = AsyncFile::new(File::open(files.source(MIDDLE))?, &Driver::shared()?);
        let (mut buffer, mut at) = (vec![0; size], 0);
        work(move |count, _| {
            block_on(async {
                for _ in 0..count {
                    let (read, back) = file.read_at(std::mem::take(&mut buffer), at).await;
                    buffer = back;
                    exactly(read?, size)?;
                    at = following(at, size);
                }
                Ok(())
            })
        })
    })
    .with("tokio", move |files| {
        let runtime = tokio_runtime()?;
        let mut file = runtime.block_on(tokio::fs::File::open(files.source(MIDDLE)))?;
        let (mut buffer, mut at) = (vec![0; size], 0);
        work(move |count, _| {
            runtime.block_on(async {
                for _ in 0..count {
                    file.read_exact(&mut buffer).await?;
                    at = following(at, size);
                    // tokio has no offsets: it continues from its position.
                    if at == 0 {
                        file.seek(SeekFrom::Start(0)).await?;
                    }
                }
                Ok(())
            })
        })
    })
    .with("compio", move |files| {
        let runtime = compio::runtime::Runtime::new()?;
        let file = runtime.block_on(compio::fs::File::open(files.source(MIDDLE)))?;
        let (mut buffer, mut at) = (vec![0; size], 0);
        work(move |count, _| {
            runtime.block_on(async {
                for _ in 0..count {
                    let BufResult(read, back) = file.read_at(std::mem::take(&mut buffer), at).await;
                    buffer = back;
                    exactly(read?, size)?;
                    at = following(at, size);
                }
                Ok(())
            })
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
        let (mut buffer, mut at) = (vec![1; size], 0);
        work(move |count, _| {
            block_on(async {
                for _ in 0..count {
                    let (written, back) = file.write_at(std::mem::take(&mut buffer), at).await;
                    buffer = back;
                    exactly(written?, size)?;
                    at = following(at, size);
                }
                Ok(())
            })
        })
    })
    .with("tokio", move |files| {
        let runtime = tokio_runtime()?;
        let path = files.filled(MIDDLE)?;
        let mut file = runtime.block_on(tokio::fs::File::options().write(true).open(path))?;
        let (buffer, mut at) = (vec![1; size], 0);
        work(move |count, _| {
            runtime.block_on(async {
                for _ in 0..count {
                    file.write_all(&buffer).await?;
                    // Without the flush, tokio returns before the system call.
                    file.flush().await?;
                    at = following(at, size);
                    if at == 0 {
                        file.seek(SeekFrom::Start(0)).await?;
                    }
                }
                Ok(())
            })
        })
    })
    .with("compio", move |files| {
        let runtime = compio::runtime::Runtime::new()?;
        let path = files.filled(MIDDLE)?;
        let mut file = runtime.block_on(compio::fs::OpenOptions::new().write(true).open(path))?;
        let (mut buffer, mut at) = (vec![1; size], 0);
        work(move |count, _| {
            runtime.block_on(async {
                for _ in 0..count {
                    let BufResult(written, back) = file.write_at(std::mem::take(&mut buffer), at).await;
                    buffer = back;
                    exactly(written?, size)?;
                    at = following(at, size);
                }
                Ok(())
            })
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
            let (mut buffers, mut at) = (buffers(), 0);
            work(move |count, _| {
                block_on(async {
                    for _ in 0..count {
                        let (read, back) = file.read_at(std::mem::take(&mut buffers), at).await;
                        buffers = back;
                        exactly(read?, size)?;
                        at = following(at, size);
                    }
                    Ok(())
                })
            })
        })
        .with("compio", move |files| {
            let runtime = compio::runtime::Runtime::new()?;
            let file = runtime.block_on(compio::fs::File::open(files.source(MIDDLE)))?;
            let (mut buffers, mut at) = (buffers(), 0);
            work(move |count, _| {
                runtime.block_on(async {
                    for _ in 0..count {
                        let BufResult(read, back) =
                            file.read_vectored_at(std::mem::take(&mut buffers), at).await;
                        buffers = back;
                        exactly(read?, size)?;
                        at = following(at, size);
                    }
                    Ok(())
                })
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
        work(move |count, _| {
            for _ in 0..count {
                block_on(ours_reads(&path, &mut data, size))?;
            }
            Ok(())
        })
    })
    .with("tokio", move |files| {
        let (path, runtime, mut data) = (files.source(size), tokio_runtime()?, vec![0; piece]);
        work(move |count, _| {
            for _ in 0..count {
                runtime.block_on(async {
                    let mut file = tokio::fs::File::open(&path).await?;
                    let mut read = 0;
                    while read < size {
                        read += file.read(&mut data).await? as u64;
                    }
                    Ok::<_, std::io::Error>(())
                })?;
            }
            Ok(())
        })
    })
    .with("compio", move |files| {
        let runtime = compio::runtime::Runtime::new()?;
        let (path, mut data) = (files.source(size), vec![0; piece]);
        work(move |count, _| {
            for _ in 0..count {
                runtime.block_on(async {
                    let file = compio::fs::File::open(&path).await?;
                    let mut read = 0;
                    while read < size {
                        let BufResult(count, back) = file.read_at(std::mem::take(&mut data), read).await;
                        data = back;
                        read += count? as u64;
                    }
                    file.close().await
                })?;
            }
            Ok(())
        })
    });
    demands(case, piece)
}

async fn ours_reads(path: &Path, data: &mut Vec<u8>, size: u64) -> Attempt<()> {
    let file = AsyncFile::open(path).await?;
    let mut read = 0;
    while read < size {
        let (count, back) = file.read_at(std::mem::take(data), read).await;
        *data = back;
        read += count? as u64;
    }
    Ok(file.close().await?)
}

fn write(size: u64, piece: usize, buffer: usize) -> Case {
    Case::new(
        name("async-write", (size, piece, buffer)),
        "replacing a file, writing it from front to back, closing it, awaited",
    )
    .moving(size, 0)
    .with("fullbore async", move |files| {
        let (path, driver, mut data) = (files.target(), Driver::shared()?, vec![1; piece]);
        work(move |count, _| {
            for _ in 0..count {
                block_on(ours_writes(&path, &driver, &mut data, size))?;
            }
            Ok(())
        })
    })
    .with("tokio", move |files| {
        let (path, runtime, data) = (files.target(), tokio_runtime()?, vec![1; piece]);
        work(move |count, _| {
            for _ in 0..count {
                runtime.block_on(async {
                    let mut file = tokio::fs::File::create(&path).await?;
                    for _ in 0..size / piece as u64 {
                        file.write_all(&data).await?;
                    }
                    file.flush().await
                })?;
            }
            Ok(())
        })
    })
    .with("compio", move |files| {
        let runtime = compio::runtime::Runtime::new()?;
        let (path, mut data) = (files.target(), vec![1; piece]);
        work(move |count, _| {
            for _ in 0..count {
                runtime.block_on(async {
                    let mut file = compio::fs::File::create(&path).await?;
                    for index in 0..size / piece as u64 {
                        let at = index * piece as u64;
                        let BufResult(done, back) = file.write_all_at(std::mem::take(&mut data), at).await;
                        data = back;
                        done?;
                    }
                    file.close().await
                })?;
            }
            Ok(())
        })
    })
}

async fn ours_writes(path: &Path, driver: &Driver, data: &mut Vec<u8>, size: u64) -> Attempt<()> {
    let path = path.to_owned();
    let how = move || OpenOptions::new().mode(Mode::CreateOrTruncate).access(Access::Write).open(path);
    let file = AsyncFile::open_with(driver, how).await?;
    let piece = data.len() as u64;
    for index in 0..size / piece {
        let (done, back) = file.write_all_at(std::mem::take(data), index * piece).await;
        *data = back;
        done?;
    }
    Ok(file.close().await?)
}
