//! Writes whose futures or streams are dropped: an output is not complete without their bytes.

use super::*;
use fullbore_io::fault::{Fault, Plan};
use fullbore_io::file::{Durability, Output};
use futures_lite::AsyncWriteExt as _;

fn wait_until_idle(driver: &Driver) {
    assert_eventually("load", (0, 0), || driver.load());
}

/// One write waits to start when it is dropped, the next ends short. A write of one byte is never short.
#[test]
fn an_output_is_not_complete_after_a_dropped_write_that_is_not_whole() {
    for (in_flight, len, is_whole) in [(1, 1, false), (4, 8000, false), (4, 1, true)] {
        let (driver, release, _blocked) = busy_driver(in_flight);
        let (_dir, path) = temporary_file(b"old");
        let plan = Plan::new(1).with(Fault::NoSpace { at: 5000 });
        let output = Output::replace(&path).unwrap().with_faults(&plan);
        let file = AsyncFile::new(output.file().clone(), &driver);
        let mut write = file.write_all_at(ground::bytes(len, 1), 0);
        if block_on(poll_once(&mut write)).is_some() {
            return println!("skipped: dropped writes: this file system's writes do not wait");
        }
        drop(write);
        drop(release);
        wait_until_idle(&driver);
        assert!(output.file().poisoned().is_none());
        match output.commit(Durability::None) {
            Ok(_) => assert!(is_whole && std::fs::read(&path).unwrap() == ground::bytes(len, 1)),
            Err(error) => {
                assert!(!is_whole && error.kind() == ErrorKind::Invalid, "{error}");
                assert_eq!(std::fs::read(&path).unwrap(), b"old");
            }
        }
    }
}

#[test]
fn the_accepted_writes_of_a_dropped_stream_are_written() {
    for (in_flight, early) in [(1, false), (1, true), (4, false), (4, true)] {
        let (driver, release, _blocked) = busy_driver(in_flight);
        let (_dir, path) = temporary_file(b"old");
        let output = Output::replace(&path).unwrap();
        let mut stream = stream(output.file().clone(), &driver);
        block_on(stream.write_all(b"accepted ")).unwrap();
        block_on(stream.write_all(b"bytes")).unwrap();
        let waits = driver.load() != (0, 1);
        drop(stream);
        if !early {
            drop(release);
            wait_until_idle(&driver);
            output.commit(Durability::None).unwrap();
            assert_eq!(std::fs::read(&path).unwrap(), b"accepted bytes");
        } else if waits {
            assert_eq!(output.commit(Durability::None).unwrap_err().kind(), ErrorKind::Invalid);
            assert_eq!(std::fs::read(&path).unwrap(), b"old");
        }
    }
}

#[test]
fn a_loss_of_a_dropped_stream_is_reported_and_poisons_the_file() {
    let (reports, reported) = channel();
    fullbore_io::stream::on_loss(move |error| drop(reports.send(error.to_string())));
    // The writes are in flight, wait, or have failed when the stream is dropped.
    for (in_flight, done) in [(4, false), (1, false), (4, true)] {
        let (driver, release, _blocked) = busy_driver(in_flight);
        let (_dir, path) = temporary_file(b"old");
        let plan = Plan::new(1).with(Fault::NoSpace { at: 1500 });
        let output = Output::replace(&path).unwrap().with_faults(&plan);
        let mut stream = stream(output.file().clone(), &driver);
        // A third write would find the fault at once and wait for these.
        for _ in 0..2 {
            if block_on(stream.write_all(&[7; 1000])).is_err() {
                return println!("skipped: losses: this file system's writes do not wait");
            }
        }
        let mut release = Some(release);
        if done {
            release = None;
            wait_until_idle(&driver);
        }
        drop(stream);
        drop(release);
        let name = path.display().to_string();
        let report = loop {
            let report: String = reported.recv_timeout(PATIENCE).expect("a loss is reported");
            if report.contains(&name) {
                break report;
            }
        };
        assert!(report.contains("500 pending bytes are lost"), "{report}");
        assert!(output.file().poisoned().is_some());
        assert!(output.file().write_all_at(b"more", 0).is_err());
        assert!(output.commit(Durability::None).is_err());
        assert_eq!(std::fs::read(&path).unwrap(), b"old");
    }
}

/// A pipe takes the bytes in several calls.
#[test]
fn a_dropped_stream_writes_its_bytes_to_a_pipe() {
    use std::io::Read as _;
    for driver in drivers(4) {
        let (mut reader, writer) = std::io::pipe().unwrap();
        let mut stream = stream(File::from_fd(writer.into(), "pipe").unwrap(), &driver);
        block_on(stream.write_all(&ground::bytes(1 << 20, 1))).unwrap();
        drop((stream, driver));
        let mut bytes = Vec::new();
        reader.read_to_end(&mut bytes).unwrap();
        assert!(bytes == ground::bytes(1 << 20, 1), "{}", bytes.len());
    }
}

/// The copy of a dropped future may never have started.
#[test]
fn an_output_is_not_committed_without_the_bytes_of_a_dropped_copy() {
    for driver in drivers(4) {
        let (dir, path) = temporary_file(ground::bytes(100_000, 1));
        let source = AsyncFile::new(File::open(&path).unwrap(), &driver);
        let output = Output::create(dir.path().join("copy")).unwrap();
        let target = AsyncFile::new(output.file().clone(), &driver);
        assert_eq!(block_on(source.copy_range(0..50_000, &target, 0)).unwrap().bytes(), 50_000);
        drop(source.copy_range(50_000..100_000, &target, 50_000));
        output.commit(Durability::None).unwrap_err();
        assert!(!dir.path().join("copy").exists());
    }
}

/// As in a race of a write and a timeout that has already passed.
#[test]
fn an_output_is_not_committed_without_the_bytes_of_a_write_that_never_started() {
    for driver in drivers(4) {
        let (_dir, path) = temporary_file(b"old");
        let output = Output::replace(&path).unwrap();
        drop(AsyncFile::new(output.file().clone(), &driver).write_all_at(b"new".to_vec(), 0));
        assert_eq!(output.commit(Durability::None).unwrap_err().kind(), ErrorKind::Invalid);
        assert_eq!(std::fs::read(&path).unwrap(), b"old");
    }
}

/// The error of a copy whose future is dropped reaches nobody; that of an awaited one is the caller's.
#[test]
fn an_output_is_not_committed_after_a_dropped_copy_that_failed() {
    use std::io::Write as _;
    for (driver, dropped) in
        drivers(4).into_iter().flat_map(|driver| [(driver.clone(), true), (driver, false)])
    {
        let (_dir, path) = temporary_file(b"old");
        let plan = Plan::new(1).with(Fault::NoSpace { at: 5000 });
        let output = Output::replace(&path).unwrap().with_faults(&plan);
        let target = AsyncFile::new(output.file().clone(), &driver);
        let (source, mut writer) = pipe(&driver);
        let mut copy = Box::pin(source.copy_range(0..u64::MAX, &target, 0));
        assert!(block_on(poll_once(copy.as_mut())).is_none());
        // A call that no thread has started would not be made.
        std::thread::sleep(Duration::from_millis(20));
        let awaited = (!dropped).then_some(copy);
        writer.write_all(&ground::bytes(10_000, 1)).unwrap();
        drop(writer);
        if let Some(copy) = awaited {
            assert_eq!(block_on(copy).unwrap_err().kind(), ErrorKind::NoSpace);
        }
        wait_until_idle(&driver);
        match output.commit(Durability::None) {
            Ok(_) => assert!(!dropped && std::fs::read(&path).unwrap() == ground::bytes(5000, 1)),
            Err(error) => {
                assert!(dropped && error.kind() == ErrorKind::Invalid, "{error}");
                assert_eq!(std::fs::read(&path).unwrap(), b"old");
            }
        }
    }
}
