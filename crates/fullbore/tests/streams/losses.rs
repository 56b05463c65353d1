//! Errors at flush and close are never swallowed, nor those of a stream that is only dropped.

use std::io::Write;
use std::sync::Mutex;

use fullbore::fault::{Fault, Plan};
use fullbore::file::File;
use fullbore::stream::{FileStream, on_loss};

static TOLD: Mutex<Vec<String>> = Mutex::new(Vec::new());

#[test]
fn errors_at_flush_and_close_are_told_and_a_drop_poisons() {
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
    assert!(told.len() == 1 && told[0].contains("5 bytes that were pending are lost"), "{told:?}");
    assert!(file.poisoned().is_some() && file.write_at(b"x", 0).is_err());
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
