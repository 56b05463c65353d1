//! What cannot be, and how it is said: the sort of error, and the path.

use std::fs;

use fullbore::error::{Error, Kind};

use crate::subject::each;

/// The system's number, if the error is the system's.
fn number(error: &Error) -> Option<i32> {
    std::error::Error::source(error)?.downcast_ref::<std::io::Error>()?.raw_os_error()
}

#[test]
fn a_file_is_only_used_as_it_was_opened() {
    each(|directory, way| {
        let path = directory.join("file");
        fs::write(&path, b"bytes").unwrap();
        let reader = way.open(&path).unwrap();
        for error in [
            reader.write_at(b"no", 0).unwrap_err(),
            reader.write_all_at(b"no", 0).unwrap_err(),
            reader.write_all_vectored_at(&[b"n".to_vec(), b"o".to_vec()], 0).unwrap_err(),
        ] {
            assert_eq!((error.kind(), error.path()), (Kind::Io, &*path), "{}: {error}", way.name());
            assert_eq!(number(&error), Some(9), "{}: {error}", way.name());
        }
        let writer = fs::OpenOptions::new().write(true).open(&path).unwrap();
        let writer = way.take(writer, &path).unwrap();
        for error in [
            writer.read_at(&mut [0; 4], 0).unwrap_err(),
            writer.read_exact_at(&mut [0; 4], 0).unwrap_err(),
            writer.read_exact_vectored_at(&mut [vec![0; 2], vec![0; 2]], 0).unwrap_err(),
        ] {
            assert_eq!((error.kind(), error.path()), (Kind::Io, &*path), "{}: {error}", way.name());
            assert_eq!(number(&error), Some(9), "{}: {error}", way.name());
        }
        writer.write_all_at(b"BYTES", 0).unwrap();
        assert_eq!(fs::read(&path).unwrap(), b"BYTES");
    });
}

#[test]
fn what_is_no_file_or_not_there_is_refused() {
    each(|directory, way| {
        // The system opens a directory for reading; then the first look at it says what it is.
        let opened = way.open(directory).and_then(|file| {
            let error = file.len().unwrap_err();
            assert_eq!((error.kind(), error.path()), (Kind::Unsupported, directory), "{}", way.name());
            file.read_at(&mut [0; 4], 0)
        });
        for result in [opened.map(drop), way.open_write(directory).map(drop)] {
            let error = result.expect_err("a directory was used");
            assert_eq!((error.kind(), error.path()), (Kind::Unsupported, directory), "{}", way.name());
        }
        let missing = directory.join("missing");
        for result in [way.open(&missing), way.open_write(&missing)] {
            let error = result.err().expect("what is not there was opened");
            assert_eq!((error.kind(), number(&error)), (Kind::Io, Some(2)), "{}", way.name());
        }
        assert!(!missing.exists());
    });
}

/// The largest number once meant "at the file's position" to handles that drop the cache (`preadv2`, `pwritev2`): five
/// bytes were read there, and one was written.
#[test]
fn offsets_that_no_file_has_are_errors() {
    each(|directory, way| {
        let path = directory.join("file");
        fs::write(&path, b"bytes").unwrap();
        let file = way.open_write(&path).unwrap();
        for offset in [u64::MAX, u64::MAX - 1, 1 << 63] {
            assert_eq!(file.read_at(&mut [0; 8], offset).unwrap_err().kind(), Kind::Io, "{}", way.name());
            assert!(file.read_exact_at(&mut [0; 8], offset).is_err(), "{}", way.name());
            assert!(file.write_at(b"x", offset).is_err(), "{}", way.name());
            assert!(file.write_all_at(b"x", offset).is_err(), "{}", way.name());
            let mut parts = [vec![0; 2], vec![0; 2]];
            assert!(file.read_vectored_at(&mut parts, offset).is_err(), "{}", way.name());
            assert!(file.write_all_vectored_at(&[vec![1], vec![2]], offset).is_err(), "{}", way.name());
        }
        // The largest offset that there is, and nothing there.
        assert_eq!(file.read_at(&mut [0; 8], (1 << 62) - 1).unwrap(), 0, "{}", way.name());
        assert_eq!(fs::read(&path).unwrap(), b"bytes");
    });
}

#[test]
fn a_clone_stays_open_when_another_is_closed() {
    each(|directory, way| {
        let path = directory.join("file");
        fs::write(&path, b"bytes").unwrap();
        let file = way.open_write(&path).unwrap();
        let clone = file.close_one().unwrap();
        drop(file);
        clone.write_all_at(b"B", 0).unwrap();
        clone.sync_all().unwrap();
        let mut read = [0; 5];
        clone.read_exact_at(&mut read, 0).unwrap();
        assert_eq!(&read, b"Bytes", "{}", way.name());
        // Who has no name left still has the bytes.
        fs::remove_file(&path).unwrap();
        clone.read_exact_at(&mut read, 0).unwrap();
        assert_eq!(&read, b"Bytes", "{}", way.name());
    });
}
