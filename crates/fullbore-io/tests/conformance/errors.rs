//! Errors: kind and path.

use std::fs;
use std::path::Path;

use fullbore_io::error::{Error, ErrorKind};

use crate::subject::{Interface, each};
use fullbore_testkit::ground::write_file;
use fullbore_testkit::numbers;

/// The kind of the error of a transfer for which the file was not opened.
const NOT_OPENED_FOR: ErrorKind = if cfg!(windows) { ErrorKind::PermissionDenied } else { ErrorKind::Io };

fn assert_refused(error: &Error, kind: ErrorKind, path: &Path, interface: &Interface) {
    assert_eq!((error.kind(), error.path()), (kind, path), "{}: {error}", interface.name());
}

#[test]
fn calls_must_match_the_open_mode() {
    each(|directory, interface| {
        let path = write_file(directory, "file", b"bytes");
        let reader = interface.open(&path).unwrap();
        for error in [
            reader.write_at(b"no", 0).unwrap_err(),
            reader.write_all_at(b"no", 0).unwrap_err(),
            reader.write_all_vectored_at(&[b"n".to_vec(), b"o".to_vec()], 0).unwrap_err(),
        ] {
            assert_refused(&error, NOT_OPENED_FOR, &path, interface);
            assert_eq!(error.raw_os_error(), Some(numbers::NOT_OPENED_FOR), "{}: {error}", interface.name());
        }
        let writer = fs::OpenOptions::new().write(true).open(&path).unwrap();
        let writer = interface.take(writer, &path).unwrap();
        for error in [
            writer.read_at(&mut [0; 4], 0).unwrap_err(),
            writer.read_exact_at(&mut [0; 4], 0).unwrap_err(),
            writer.read_exact_vectored_at(&mut [vec![0; 2], vec![0; 2]], 0).unwrap_err(),
        ] {
            assert_refused(&error, NOT_OPENED_FOR, &path, interface);
            assert_eq!(error.raw_os_error(), Some(numbers::NOT_OPENED_FOR), "{}: {error}", interface.name());
        }
        writer.write_all_at(b"BYTES", 0).unwrap();
        assert_eq!(fs::read(&path).unwrap(), b"BYTES");
    });
}

#[test]
fn directories_and_missing_files_are_refused() {
    each(|directory, interface| {
        // open(2) accepts a directory for reading; the first use of it fails.
        let opened = interface.open(directory).and_then(|file| {
            let error = file.len().unwrap_err();
            assert_refused(&error, ErrorKind::Unsupported, directory, interface);
            file.read_at(&mut [0; 4], 0)
        });
        for result in [opened.map(drop), interface.open_write(directory).map(drop)] {
            let error = result.expect_err("a directory was accepted");
            assert_refused(&error, ErrorKind::Unsupported, directory, interface);
        }
        let missing = directory.join("missing");
        for result in [interface.open(&missing), interface.open_write(&missing)] {
            let error = result.err().expect("a missing file was opened");
            assert_refused(&error, ErrorKind::NotFound, &missing, interface);
            assert_eq!(error.raw_os_error(), Some(2), "{}", interface.name());
        }
        assert!(!missing.exists());
    });
}

/// Regression: handles that drop the cache passed the largest offset to `preadv2` and `pwritev2`, where it means "at the
/// file's position": five bytes were read there, and one was written.
#[test]
fn offsets_that_no_file_can_have_are_errors() {
    each(|directory, interface| {
        let path = write_file(directory, "file", b"bytes");
        let file = interface.open_write(&path).unwrap();
        for offset in [u64::MAX, u64::MAX - 1, 1 << 63] {
            let error = file.read_at(&mut [0; 8], offset).unwrap_err();
            assert_refused(&error, ErrorKind::Invalid, &path, interface);
            assert!(file.read_exact_at(&mut [0; 8], offset).is_err(), "{}", interface.name());
            assert!(file.write_at(b"x", offset).is_err(), "{}", interface.name());
            assert!(file.write_all_at(b"x", offset).is_err(), "{}", interface.name());
            let mut parts = [vec![0; 2], vec![0; 2]];
            assert!(file.read_vectored_at(&mut parts, offset).is_err(), "{}", interface.name());
            let error = file.read_exact_vectored_at(&mut parts, offset).unwrap_err();
            assert_refused(&error, ErrorKind::Invalid, &path, interface);
            assert!(file.write_all_vectored_at(&[vec![1], vec![2]], offset).is_err(), "{}", interface.name());
        }
        // A large valid offset beyond the end.
        assert_eq!(file.read_at(&mut [0; 8], (1 << 62) - 1).unwrap(), 0, "{}", interface.name());
        assert_eq!(fs::read(&path).unwrap(), b"bytes");
    });
}

#[test]
fn a_clone_stays_open_after_another_is_closed() {
    each(|directory, interface| {
        let path = write_file(directory, "file", b"bytes");
        let file = interface.open_write(&path).unwrap();
        let clone = file.close_one().unwrap();
        drop(file);
        clone.write_all_at(b"B", 0).unwrap();
        clone.sync_all().unwrap();
        let mut read = [0; 5];
        clone.read_exact_at(&mut read, 0).unwrap();
        assert_eq!((&read, clone.len().unwrap()), (b"Bytes", 5), "{}", interface.name());
        // The bytes remain after the name is removed.
        fs::remove_file(&path).unwrap();
        clone.read_exact_at(&mut read, 0).unwrap();
        assert_eq!(&read, b"Bytes", "{}", interface.name());
    });
}
