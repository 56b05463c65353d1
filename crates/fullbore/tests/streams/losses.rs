//! Errors at flush and close are never swallowed, nor those of a stream that is only dropped.

use std::env;
use std::io::{IoSlice, Seek, Write};
use std::process::Command;
use std::sync::{Mutex, mpsc};
use std::thread;
use std::time::Duration;

use fullbore::fault::{Fault, Plan};
use fullbore::file::File;
use fullbore::stream::{FileStream, on_loss};

static TOLD: Mutex<Vec<String>> = Mutex::new(Vec::new());

/// tokio#6325: what a flush or a close could not write was lost without a word.
#[test]
fn tokio_6325_errors_at_flush_and_close_are_told_and_a_drop_poisons() {
    on_loss(|error| TOLD.lock().unwrap().push(error.to_string()));
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("file");
    let file = File::create_new(&path).unwrap().with_faults(&Plan::new(1).with(Fault::NoSpace { at: 10 }));

    let mut stream = FileStream::new(file.clone());
    stream.write_all(b"123456789012345").unwrap();
    let error = stream.flush().unwrap_err();
    assert_eq!(error.kind(), std::io::ErrorKind::StorageFull);
    // What the system took is written, the rest still pending: nothing is written twice, and close tells again.
    assert_eq!(std::fs::read(&path).unwrap(), b"1234567890");
    assert_eq!(stream.len().unwrap(), 15);
    assert_eq!(stream.close().unwrap_err().kind(), fullbore::error::Kind::NoSpace);
    assert!(TOLD.lock().unwrap().is_empty(), "who closes is told by close");
    assert!(file.poisoned().is_none());

    let mut stream = FileStream::new(file.clone());
    stream.write_all(b"123456789012345").unwrap();
    drop(stream);
    let told = TOLD.lock().unwrap().clone();
    assert!(told.len() == 1 && told[0].contains("5 pending bytes are lost"), "{told:?}");
    assert_eq!(file.poisoned().unwrap().raw_os_error(), Some(28));
    // What failed is said, and no sync did.
    let said = file.write_at(b"x", 0).unwrap_err().to_string();
    assert!(said.contains("an earlier write of a stream that was dropped failed (No space left"), "{said}");
    assert!(!said.contains("sync"), "{said}");
}

#[test]
fn a_write_that_fails_is_not_held_and_what_was_held_before_is() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("file");
    let plan = Plan::new(1).with(Fault::IoErrorOn { call: 1 });
    let file = File::create_new(&path).unwrap().with_faults(&plan);
    let mut stream = FileStream::with_buffer(file, 8);
    stream.write_all(b"12345").unwrap();
    // The buffer overflows, and writing it fails: these four are not the stream's.
    assert!(stream.write_all(b"abcd").is_err());
    assert_eq!(stream.len().unwrap(), 5);
    stream.write_all(b"ABCD").unwrap();
    stream.close().unwrap();
    assert_eq!(std::fs::read(&path).unwrap(), b"12345ABCD");
}

#[test]
fn a_write_of_which_the_system_took_a_part_can_be_written_again() {
    for at in 5..8 {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("file");
        let full = Plan::new(1).with(Fault::NoSpace { at });
        let mut stream = FileStream::with_buffer(File::create_new(&path).unwrap().with_faults(&full), 8);
        stream.write_all(b"12345").unwrap();
        // The buffer overflows at three of four, of which the system takes none, one or two.
        assert!(stream.write_all(b"abcd").is_err());
        assert_eq!(stream.stream_position().unwrap(), 5, "room for {at}");
        assert!(stream.flush().is_ok(), "room for {at}: nothing is pending");
        assert!(stream.write_all(b"abcd").is_ok() && stream.stream_position().unwrap() == 9);
        assert!(stream.close().is_err(), "room for {at}");
        assert_eq!(std::fs::read(&path).unwrap(), b"12345abcd"[..at as usize]);
    }
}

#[test]
fn a_gathered_write_that_fails_in_the_middle_tells_what_it_took() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("file");
    let full = Plan::new(1).with(Fault::NoSpace { at: 2 });
    let mut stream = FileStream::with_buffer(File::create_new(&path).unwrap().with_faults(&full), 0);
    assert_eq!(stream.write_vectored(&[IoSlice::new(b"aa"), IoSlice::new(b"bb")]).unwrap(), 2);
    assert!(stream.write_vectored(&[IoSlice::new(b"bb")]).is_err());
    assert_eq!(stream.stream_position().unwrap(), 2);
    assert_eq!(std::fs::read(&path).unwrap(), b"aa");

    // In the middle of a buffer, too, and when it is known already that there are offsets.
    let path = directory.path().join("other");
    let full = Plan::new(1).with(Fault::NoSpace { at: 10 });
    let mut stream = FileStream::with_buffer(File::create_new(&path).unwrap().with_faults(&full), 0);
    stream.write_all(b"12345").unwrap();
    assert_eq!(stream.write_vectored(&[IoSlice::new(b"678"), IoSlice::new(b"90ab")]).unwrap(), 5);
    assert!(stream.write_vectored(&[IoSlice::new(b"ab")]).is_err());
    assert_eq!(stream.stream_position().unwrap(), 10);
    assert_eq!(std::fs::read(&path).unwrap(), b"1234567890");
}

fn lose() {
    let mut stream = FileStream::new(File::open_write("/dev/full").unwrap());
    stream.write_all(b"lost").unwrap();
}

/// Runs the test named `name` in a process of its own, where it finds `CHILD` set.
fn in_a_process(name: &str) -> Command {
    let mut command = Command::new(env::current_exe().unwrap());
    command.args([&format!("losses::{name}"), "--exact", "--nocapture"]).env("CHILD", "1");
    command
}

/// The hook is the whole process's, so this needs one of its own.
#[test]
fn a_hook_that_loses_something_itself_is_not_waited_for_by_itself() {
    let name = "a_hook_that_loses_something_itself_is_not_waited_for_by_itself";
    if env::var_os("CHILD").is_none() {
        let output = in_a_process(name).output().unwrap();
        assert!(output.status.success(), "{output:?}");
        // The hook's own loss is told where the hook cannot be.
        assert!(String::from_utf8_lossy(&output.stderr).contains("4 pending bytes are lost"));
        return;
    }
    let (send, receive) = mpsc::channel();
    let told = send.clone();
    on_loss(move |_| {
        lose();
        told.send("told").unwrap();
    });
    thread::spawn(move || {
        lose();
        send.send("done").unwrap();
    });
    assert_eq!(receive.recv_timeout(Duration::from_secs(20)), Ok("told"));
    assert_eq!(receive.recv_timeout(Duration::from_secs(20)), Ok("done"));
}

#[test]
fn a_loss_that_cannot_be_told_is_no_panic() {
    if env::var_os("CHILD").is_none() {
        let directory = tempfile::tempdir().unwrap();
        let mark = directory.path().join("mark");
        let full = std::fs::File::options().write(true).open("/dev/full").unwrap();
        let mut child = in_a_process("a_loss_that_cannot_be_told_is_no_panic");
        assert!(child.env("MARK", &mark).stderr(full).output().unwrap().status.success());
        assert!(mark.exists());
        return;
    }
    lose();
    std::fs::write(env::var_os("MARK").unwrap(), "still here").unwrap();
}
