//! Writes in flight behind a stream: their order, their failures, and what waits for them.

use super::*;
use fullbore_io::fault::{Fault, Plan};
use fullbore_io::file::{Mode, OpenOptions};
use futures_lite::{AsyncReadExt as _, AsyncWriteExt as _};
#[cfg(unix)]
use std::io::Write as _;
use std::io::{Read as _, SeekFrom};

#[test]
fn long_slices_are_written_and_read_in_few_calls() {
    for driver in drivers(4) {
        let (_dir, path) = temporary_file(b"");
        let data = ground::bytes(5 << 20, 1);
        let mut stream = stream(File::open_write(&path).unwrap(), &driver);
        block_on(async {
            let (mut sent, mut longest) = (0, 0);
            while sent < data.len() {
                let count = stream.write(&data[sent..]).await.unwrap();
                assert!(count <= 2 << 20);
                (sent, longest) = (sent + count, longest.max(count));
            }
            // A call in memory may be short, others are not.
            assert!(longest > 1 << 20, "{longest}");
            stream.flush().await.unwrap();
            assert!(std::fs::read(&path).unwrap() == data);
            futures_lite::AsyncSeekExt::seek(&mut stream, SeekFrom::Start(1)).await.unwrap();
            let mut back = vec![0; data.len() - 1];
            stream.read_exact(&mut back).await.unwrap();
            assert!(back == data[1..]);
            assert_eq!(stream.read(&mut back).await.unwrap(), 0);
        });
    }
}

#[test]
fn a_stream_over_a_descriptor_begins_at_its_position() {
    use std::io::Seek as _;

    for driver in drivers(1) {
        let (_dir, path) = temporary_file(b"0123456");
        let mut descriptor = std::fs::File::open(&path).unwrap();
        descriptor.seek(SeekFrom::Start(3)).unwrap();
        let mut stream = stream(File::try_from(descriptor).unwrap(), &driver);
        let mut rest = Vec::new();
        block_on(stream.read_to_end(&mut rest)).unwrap();
        assert_eq!(rest, b"3456");
    }
}

/// Several writes fail; the first in the file counts.
#[test]
fn the_position_after_a_failure_is_that_of_the_last_byte_before_it() {
    for driver in drivers(16) {
        let plan = Plan::new(1).with(Fault::NoSpace { at: 5500 });
        let (_dir, path) = temporary_file(b"");
        let mut stream = stream(File::open_write(&path).unwrap().with_faults(&plan), &driver);
        let failed = block_on(async {
            for number in 0..20u8 {
                stream.write(&[number; 1000]).await?;
            }
            stream.flush().await
        });
        assert!(failed.is_err());
        assert_eq!(stream.position(), 5500, "{:?}", driver.backend());
        block_on(stream.flush()).unwrap();
        let want: Vec<u8> = (0..6u8).flat_map(|number| [number; 1000]).take(5500).collect();
        assert!(std::fs::read(&path).unwrap() == want);
    }
}

#[test]
fn a_seek_waits_for_writes_on_tokio() {
    for driver in drivers(4) {
        let (_dir, path) = temporary_file(b"");
        let data = ground::bytes(300_000, 1);
        let mut stream = stream(File::open_write(&path).unwrap(), &driver);
        tokio::runtime::Builder::new_current_thread().build().unwrap().block_on(async {
            tokio::io::AsyncWriteExt::write_all(&mut stream, &data).await.unwrap();
            tokio::io::AsyncSeekExt::seek(&mut stream, SeekFrom::Current(-200_000)).await.unwrap();
            let mut back = Vec::new();
            tokio::io::AsyncReadExt::read_to_end(&mut stream, &mut back).await.unwrap();
            assert!(back == data[100_000..]);
            let before_the_start = SeekFrom::End(-300_001);
            assert!(tokio::io::AsyncSeekExt::seek(&mut stream, before_the_start).await.is_err());
        });
    }
}

/// Without offsets, only the order of the writes decides where their bytes go.
#[test]
fn appended_and_piped_bytes_keep_their_order() {
    for driver in drivers(16) {
        let data = ground::bytes(200_000, 1);
        let (_dir, path) = temporary_file(b"");
        let log = OpenOptions::new().mode(Mode::Append).open(&path).unwrap();
        let (mut reader, writer) = std::io::pipe().unwrap();
        let received = std::thread::spawn(move || {
            let mut received = Vec::new();
            reader.read_to_end(&mut received).unwrap();
            received
        });
        for file in [log, File::from_fd(writer.into(), "pipe").unwrap()] {
            let mut stream = stream(file, &driver);
            block_on(async {
                for piece in data.chunks(3000) {
                    stream.write_all(piece).await.unwrap();
                }
                stream.flush().await.unwrap();
            });
        }
        assert!(std::fs::read(&path).unwrap() == data, "{:?}", driver.backend());
        assert!(received.join().unwrap() == data, "{:?}", driver.backend());
    }
}

#[test]
fn appending_moves_the_position_to_the_end() {
    for driver in drivers(4) {
        let (_dir, path) = temporary_file(b"0123456789");
        let log = std::fs::File::options().read(true).append(true).open(&path).unwrap();
        let mut stream = stream(File::try_from(log).unwrap(), &driver);
        block_on(async {
            let mut bytes = [0; 4];
            stream.read_exact(&mut bytes).await.unwrap();
            assert_eq!(&bytes, b"0123");
            stream.write_all(b"abc").await.unwrap();
            stream.flush().await.unwrap();
            assert_eq!(stream.position(), 13, "{:?}", driver.backend());
            let end = futures_lite::AsyncSeekExt::seek(&mut stream, SeekFrom::Current(-3)).await.unwrap();
            stream.read_exact(&mut bytes[..3]).await.unwrap();
            assert_eq!((end, &bytes[..3]), (10, &b"abc"[..]));
        });
    }
}

/// Bytes of a socket that were read ahead stay, and a pending read delays no write.
// std has no pairs of sockets on Windows, where sockets are no files.
#[cfg(unix)]
#[test]
fn a_socket_is_written_while_a_read_is_pending() {
    for driver in drivers(4) {
        let (here, mut there) = std::os::unix::net::UnixStream::pair().unwrap();
        let mut stream = stream(File::from_fd(here.into(), "socket").unwrap(), &driver);
        let mut bytes = [0; 3];
        block_on(async {
            assert!(poll_once(stream.read(&mut bytes)).await.is_none());
            stream.write_all(b"question").await.unwrap();
            stream.flush().await.unwrap();
            there.read_exact(&mut [0; 8]).unwrap();
            there.write_all(b"answers").unwrap();
            stream.read_exact(&mut bytes).await.unwrap();
            assert_eq!(&bytes, b"ans");
            stream.write_all(b"more").await.unwrap();
            stream.read_exact(&mut bytes).await.unwrap();
            assert_eq!(&bytes, b"wer");
            stream.close().await.unwrap();
            let mut rest = Vec::new();
            there.read_to_end(&mut rest).unwrap();
            assert_eq!(rest, b"more");
        });
    }
}

#[test]
fn a_stream_over_a_pipe_does_not_seek_and_loses_nothing() {
    for driver in drivers(4) {
        let (reader, mut writer) = std::io::pipe().unwrap();
        let mut stream = stream(File::from_fd(reader.into(), "pipe").unwrap(), &driver);
        std::io::Write::write_all(&mut writer, b"hello world").unwrap();
        drop(writer);
        block_on(async {
            stream.read_exact(&mut [0; 5]).await.unwrap();
            for to in [SeekFrom::Current(0), SeekFrom::Start(5), SeekFrom::End(0)] {
                let refused = futures_lite::AsyncSeekExt::seek(&mut stream, to).await.unwrap_err();
                assert_eq!(refused.kind(), std::io::ErrorKind::Unsupported, "{refused}");
            }
            let mut rest = Vec::new();
            stream.read_to_end(&mut rest).await.unwrap();
            assert_eq!(rest, b" world");
        });
    }
}

/// Another reader of the pipe gets the rest. A dropped read leaves its bytes to the next one.
#[test]
fn a_stream_reads_no_byte_of_a_pipe_ahead() {
    for driver in drivers(4) {
        let (reader, mut writer) = std::io::pipe().unwrap();
        let mut other = reader.try_clone().unwrap();
        let mut stream = stream(File::from_fd(reader.into(), "pipe").unwrap(), &driver);
        block_on(async {
            let mut bytes = [0; 100];
            assert!(poll_once(stream.read(&mut bytes[..5])).await.is_none());
            std::io::Write::write_all(&mut writer, &ground::bytes(300, 1)).unwrap();
            std::thread::sleep(Duration::from_millis(50));
            stream.read_exact(&mut bytes[..100]).await.unwrap();
            assert_eq!(bytes, ground::bytes(300, 1)[..100]);
            stream.read_exact(&mut bytes[..10]).await.unwrap();
            drop(writer);
            let mut rest = [0; 190];
            other.read_exact(&mut rest).unwrap();
            assert_eq!(rest, ground::bytes(300, 1)[110..], "{:?}", driver.backend());
        });
    }
}

#[test]
fn a_query_of_the_position_keeps_the_bytes_read_ahead() {
    for driver in drivers(4) {
        let plan = Plan::new(1);
        let (_dir, path) = temporary_file(b"0123456");
        let mut stream = stream(File::open(&path).unwrap().with_faults(&plan), &driver);
        let mut read = [0; 2];
        block_on(stream.read_exact(&mut read)).unwrap();
        let transfers = plan.counts().transfers;
        let position = block_on(futures_lite::AsyncSeekExt::seek(&mut stream, SeekFrom::Current(0))).unwrap();
        block_on(stream.read_exact(&mut read)).unwrap();
        assert_eq!((position, &read), (2, b"23"));
        assert_eq!(plan.counts().transfers, transfers);
    }
}

#[test]
fn a_seek_out_of_range_names_the_file() {
    for driver in drivers(1) {
        let (_dir, path) = temporary_file(b"012345678");
        let mut stream = stream(File::open(&path).unwrap(), &driver);
        let seek = futures_lite::AsyncSeekExt::seek(&mut stream, SeekFrom::End(-100));
        let error = block_on(seek).unwrap_err();
        assert_eq!(error.kind(), std::io::ErrorKind::InvalidInput);
        assert!(error.to_string().starts_with(path.to_str().unwrap()), "{error}");
        assert_eq!(stream.position(), 0);
    }
}
