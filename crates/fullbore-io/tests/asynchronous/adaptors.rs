//! `AsyncStream` through the traits of tokio and futures, as their users call it.

use super::*;
use fullbore_io::file::{Access, OpenOptions};
use tokio::io::{AsyncReadExt as _, AsyncSeekExt as _, AsyncWriteExt as _};

fn runtime() -> tokio::runtime::Runtime {
    tokio::runtime::Builder::new_current_thread().build().unwrap()
}

#[test]
fn tokio_copies_a_file_and_reads_it_back() {
    for driver in drivers(4) {
        let want = ground::bytes(500_001, 1);
        let (dir, path) = temporary_file(&want);
        let copy = dir.path().join("copy");
        let (from, to) = (File::open(&path).unwrap(), File::create_new(&copy).unwrap());
        runtime().block_on(async {
            let (mut from, mut to) = (stream(from, &driver), stream(to, &driver));
            assert_eq!(tokio::io::copy(&mut from, &mut to).await.unwrap(), 500_001);
            tokio::io::AsyncWriteExt::flush(&mut to).await.unwrap();
            assert!(std::fs::read(&copy).unwrap() == want);
            assert_eq!(
                tokio::io::AsyncSeekExt::seek(&mut to, std::io::SeekFrom::End(-3)).await.unwrap(),
                499_998
            );
            let mut tail = Vec::new();
            tokio::io::AsyncReadExt::read_to_end(&mut to, &mut tail).await.unwrap();
            assert_eq!(tail, want[499_998..]);
            to.rewind().await.unwrap();
            tokio::io::AsyncWriteExt::write_all(&mut to, b"new").await.unwrap();
            to.shutdown().await.unwrap();
            assert_eq!(from.read_u8().await.unwrap_err().kind(), std::io::ErrorKind::UnexpectedEof);
        });
        assert_eq!(&std::fs::read(&copy).unwrap()[..4], &[b"new", &want[3..4]].concat()[..]);
    }
}

/// A read waits for the writes before it: both halves wait for the same write.
#[test]
fn halves_of_a_stream_wake_one_another() {
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(3).build().unwrap();
    for driver in drivers(4) {
        let (_dir, path) = temporary_file(ground::bytes(1 << 20, 1));
        let file = OpenOptions::new().access(Access::ReadWrite).open(&path).unwrap();
        let (mut reader, mut writer) = tokio::io::split(stream(file, &driver));
        runtime.block_on(async {
            let reads = tokio::spawn(async move {
                let mut read = vec![0; 4096];
                for _ in 0..300 {
                    let _ = reader.read(&mut read).await.unwrap();
                }
            });
            let writes = tokio::spawn(async move {
                let data = vec![2; 200_000];
                for _ in 0..300 {
                    writer.write_all(&data).await.unwrap();
                    writer.flush().await.unwrap();
                }
            });
            reads.await.unwrap();
            writes.await.unwrap();
        });
    }
}

#[test]
fn futures_copies_a_file_and_reads_it_back() {
    for driver in drivers(4) {
        let want = ground::bytes(500_001, 1);
        let (dir, path) = temporary_file(&want);
        let copy = dir.path().join("copy");
        let (from, to) = (File::open(&path).unwrap(), File::create_new(&copy).unwrap());
        block_on(async {
            let (from, mut to) = (stream(from, &driver), stream(to, &driver));
            assert_eq!(futures_lite::io::copy(from, &mut to).await.unwrap(), 500_001);
            futures_lite::AsyncWriteExt::flush(&mut to).await.unwrap();
            assert!(std::fs::read(&copy).unwrap() == want);
            futures_lite::AsyncSeekExt::seek(&mut to, std::io::SeekFrom::Start(7)).await.unwrap();
            let mut tail = Vec::new();
            futures_lite::AsyncReadExt::read_to_end(&mut to, &mut tail).await.unwrap();
            assert!(tail == want[7..]);
            futures_lite::AsyncWriteExt::close(&mut to).await.unwrap();
        });
    }
}

/// tokio#6325, tokio's `File`: an error that followed a successful `write` was lost.
#[test]
fn errors_of_started_writes_are_returned_by_flush_and_shutdown() {
    use fullbore_io::fault::{Fault, Plan};
    for driver in drivers(4) {
        let broken = || {
            let dir = tempfile::tempdir().unwrap();
            let plan = Plan::new(1).with(Fault::NoSpace { at: 0 });
            (File::create_new(dir.path().join("f")).unwrap().with_faults(&plan), dir)
        };
        runtime().block_on(async {
            let (file, _dir) = broken();
            let mut tokio = stream(file, &driver);
            let begun = tokio::io::AsyncWriteExt::write(&mut tokio, b"bytes").await;
            let ended = tokio.shutdown().await;
            assert!(begun.is_err() || ended.is_err());
            let (file, _dir) = broken();
            let mut futures = stream(file, &driver);
            let begun = futures_lite::AsyncWriteExt::write(&mut futures, b"bytes").await;
            let flushed = futures_lite::AsyncWriteExt::flush(&mut futures).await;
            assert!(begun.is_err() || flushed.is_err());
        });
    }
}

#[test]
fn lines_need_no_other_buffer() {
    use tokio::io::AsyncBufReadExt as _;
    for driver in drivers(4) {
        let (_dir, path) = temporary_file(b"one\ntwo\nthree");
        runtime().block_on(async {
            let mut stream = stream(File::open_write(&path).unwrap(), &driver);
            let mut line = String::new();
            assert_eq!(stream.read_line(&mut line).await.unwrap(), 4);
            assert_eq!(stream.position(), 4);
            // The bytes read ahead are discarded, and the write goes to the position.
            assert_eq!(stream.fill_buf().await.unwrap().len(), 9);
            stream.write_all(b"TWO").await.unwrap();
            tokio::io::AsyncBufReadExt::consume(&mut stream, 9);
            assert_eq!(stream.position(), 7);
            assert_eq!(stream.read_line(&mut line).await.unwrap(), 1);
            assert_eq!(line, "one\n\n");
            let mut lines = stream.lines();
            assert_eq!(lines.next_line().await.unwrap().as_deref(), Some("three"));
            assert_eq!(lines.next_line().await.unwrap(), None);
            let (reader, mut writer) = pipe(&driver);
            std::io::Write::write_all(&mut writer, b"a\nb").unwrap();
            drop(writer);
            let (mut piped, mut line) = (AsyncStream::new(reader), String::new());
            for expected in ["a\n", "b"] {
                line.clear();
                futures_lite::AsyncBufReadExt::read_line(&mut piped, &mut line).await.unwrap();
                assert_eq!(line, expected);
            }
        });
        assert_eq!(std::fs::read(&path).unwrap(), b"one\nTWO\nthree");
    }
}
