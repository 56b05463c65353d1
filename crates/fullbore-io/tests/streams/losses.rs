//! Errors at flush and close are returned, and those of a dropped stream are reported.

use super::*;

use std::env;
use std::path::PathBuf;
use std::sync::{Mutex, mpsc};

use fullbore_io::file::Mode;
use fullbore_io::stream::on_loss;
use fullbore_testkit::{PATIENCE, numbers};

static LOSSES: Mutex<Vec<String>> = Mutex::new(Vec::new());

/// tokio#6325: a failed write at flush or close was lost without an error.
#[test]
fn tokio_6325_errors_at_flush_and_close_are_returned_and_a_drop_poisons() {
    on_loss(|error| LOSSES.lock().unwrap().push(error.to_string()));
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("file");
    let file = File::create_new(&path).unwrap().with_faults(&Plan::new(1).with(Fault::NoSpace { at: 10 }));

    let mut stream = FileStream::new(file.clone());
    stream.write_all(b"123456789012345").unwrap();
    let error = stream.flush().unwrap_err();
    assert_eq!(error.kind(), std::io::ErrorKind::StorageFull);
    // The accepted bytes are written and the rest is pending: nothing is written twice, and close fails again.
    assert_eq!(std::fs::read(&path).unwrap(), b"1234567890");
    assert_eq!(stream.len().unwrap(), 15);
    assert_eq!(stream.close().unwrap_err().kind(), fullbore_io::error::ErrorKind::NoSpace);
    assert!(LOSSES.lock().unwrap().is_empty(), "close returns the error itself");
    assert!(file.poisoned().is_none());

    let mut stream = FileStream::new(file.clone());
    stream.write_all(b"123456789012345").unwrap();
    drop(stream);
    let losses = LOSSES.lock().unwrap().clone();
    assert!(losses.len() == 1 && losses[0].contains("5 pending bytes are lost"), "{losses:?}");
    assert_eq!(file.poisoned().unwrap().raw_os_error(), Some(numbers::NO_SPACE));
    // The message names the failed operation, which was not a sync.
    let message = file.write_at(b"x", 0).unwrap_err().to_string();
    // Windows has the words of its language.
    let cause = if cfg!(windows) { "" } else { "No space left" };
    let expected = format!("an earlier write of a stream that was dropped failed ({cause}");
    assert!(message.contains(&expected), "{message}");
    assert!(!message.contains("sync"), "{message}");
}

/// A stream over a new file with a fault, and the path of the file.
fn faulty(fault: Fault, buffer: usize) -> (tempfile::TempDir, PathBuf, FileStream) {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("file");
    let file = File::create_new(&path).unwrap().with_faults(&Plan::new(1).with(fault));
    (directory, path, FileStream::with_buffer(file, buffer))
}

#[test]
fn a_failed_write_is_not_buffered_and_earlier_bytes_stay() {
    let (_directory, path, mut stream) = faulty(Fault::IoErrorOn { call: 1 }, 8);
    stream.write_all(b"12345").unwrap();
    // Writing the full buffer fails, so these four bytes are not accepted.
    assert!(stream.write_all(b"abcd").is_err());
    assert_eq!(stream.len().unwrap(), 5);
    stream.write_all(b"ABCD").unwrap();
    stream.close().unwrap();
    assert_eq!(std::fs::read(&path).unwrap(), b"12345ABCD");
}

/// The bytes that a failed flush wrote leave room for as many others, and not for more.
#[test]
fn the_buffer_is_bounded_after_a_partial_flush() {
    let (_directory, path, mut stream) = faulty(Fault::NoSpace { at: 40 }, 64);
    stream.write_all(&[1; 60]).unwrap();
    stream.flush().unwrap_err();
    let accepted = (0..20).take_while(|_| stream.write(&[2; 10]).is_ok()).count();
    assert!(accepted <= 4, "{accepted} writes");
    assert_eq!(std::fs::read(&path).unwrap(), [1; 40]);
    assert_eq!(stream.len().unwrap(), 60 + 10 * accepted as u64);
    stream.close().unwrap_err();
}

#[test]
fn a_partial_write_can_be_repeated() {
    for at in 5..8 {
        let (_directory, path, mut stream) = faulty(Fault::NoSpace { at }, 8);
        stream.write_all(b"12345").unwrap();
        // The buffer is full after three of four bytes, of which the system accepts none, one or two.
        assert!(stream.write_all(b"abcd").is_err());
        assert_eq!(stream.stream_position().unwrap(), 5, "room for {at}");
        assert!(stream.flush().is_ok(), "room for {at}: nothing is pending");
        assert!(stream.write_all(b"abcd").is_ok() && stream.stream_position().unwrap() == 9);
        assert!(stream.close().is_err(), "room for {at}");
        assert_eq!(std::fs::read(&path).unwrap(), b"12345abcd"[..at as usize]);
    }
}

/// Repeated bytes would be in the file twice.
#[test]
fn a_failed_write_has_appended_none_of_its_bytes() {
    for seed in 0..32 {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("file");
        let plan = Plan::new(seed).with(Fault::Short { one_in: 1 }).with(Fault::IoErrorOn { call: 2 });
        let file = OpenOptions::new().mode(Mode::Append).open(&path).unwrap().with_faults(&plan);
        let mut stream = FileStream::with_buffer(file, 8);
        stream.write_all(b"12345").unwrap();
        if stream.write(b"abcd").is_err() {
            stream.write_all(b"abcd").unwrap();
        }
        let _ = stream.flush();
        stream.close().unwrap();
        assert_eq!(std::fs::read(&path).unwrap(), b"12345abcd", "seed {seed}");
    }
}

#[test]
fn a_large_write_that_fails_in_the_middle_returns_its_bytes() {
    let (_directory, _, mut stream) = faulty(Fault::NoSpace { at: 3 }, 0);
    assert_eq!(stream.write(b"12345").unwrap(), 3);
    assert!(stream.write(b"45").is_err());
    assert_eq!(stream.stream_position().unwrap(), 3);
}

#[test]
fn a_gathered_write_that_fails_in_the_middle_returns_its_bytes() {
    let (_directory, path, mut stream) = faulty(Fault::NoSpace { at: 2 }, 0);
    assert_eq!(stream.write_vectored(&[IoSlice::new(b"aa"), IoSlice::new(b"bb")]).unwrap(), 2);
    assert!(stream.write_vectored(&[IoSlice::new(b"bb")]).is_err());
    assert_eq!(stream.stream_position().unwrap(), 2);
    assert_eq!(std::fs::read(&path).unwrap(), b"aa");

    // The same in the middle of a buffer, with the file already known to have offsets.
    let (_directory, path, mut stream) = faulty(Fault::NoSpace { at: 10 }, 0);
    stream.write_all(b"12345").unwrap();
    assert_eq!(stream.write_vectored(&[IoSlice::new(b"678"), IoSlice::new(b"90ab")]).unwrap(), 5);
    assert!(stream.write_vectored(&[IoSlice::new(b"ab")]).is_err());
    assert_eq!(stream.stream_position().unwrap(), 10);
    assert_eq!(std::fs::read(&path).unwrap(), b"1234567890");
}

fn lose() {
    let (_directory, _, mut stream) = faulty(Fault::NoSpace { at: 0 }, 4096);
    stream.write_all(b"lost").unwrap();
}

/// The hook is global to the process, so the test runs in a process of its own.
#[test]
fn a_hook_that_loses_bytes_itself_does_not_deadlock() {
    if env::var_os("CHILD").is_none() {
        let mut child = alone("losses::a_hook_that_loses_bytes_itself_does_not_deadlock");
        let output = child.env("CHILD", "1").output().unwrap();
        assert!(output.status.success(), "{output:?}");
        // The hook's own loss is reported on standard error.
        assert!(String::from_utf8_lossy(&output.stderr).contains("4 pending bytes are lost"));
        return;
    }
    let (send, receive) = mpsc::channel();
    let hook = send.clone();
    on_loss(move |_| {
        lose();
        hook.send("hook").unwrap();
    });
    thread::spawn(move || {
        lose();
        send.send("done").unwrap();
    });
    assert_eq!(receive.recv_timeout(PATIENCE), Ok("hook"));
    assert_eq!(receive.recv_timeout(PATIENCE), Ok("done"));
}

// macOS has no /dev/full.
#[cfg(not(target_os = "macos"))]
#[test]
fn a_loss_that_cannot_be_reported_does_not_panic() {
    if env::var_os("CHILD").is_none() {
        let directory = tempfile::tempdir().unwrap();
        let mark = directory.path().join("mark");
        // Standard error takes nothing: on Windows because the handle may not write.
        #[cfg(windows)]
        let full = std::fs::File::open(env::current_exe().unwrap()).unwrap();
        #[cfg(unix)]
        let full = std::fs::File::options().write(true).open("/dev/full").unwrap();
        let mut child = alone("losses::a_loss_that_cannot_be_reported_does_not_panic");
        child.env("CHILD", "1").env("MARK", &mark).stderr(full);
        assert!(child.output().unwrap().status.success());
        assert!(mark.exists());
        return;
    }
    lose();
    std::fs::write(env::var_os("MARK").unwrap(), "alive").unwrap();
}
