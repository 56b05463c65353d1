//! Outputs that must not be completed, or must not begin.

use super::*;

use fullbore_io::file::write;

#[test]
fn bytes_that_a_stream_holds_prevent_the_commit() {
    everywhere(|directory| {
        let path = write_file(directory, "file", "old");
        let output = Output::replace(&path).unwrap();
        let mut stream = FileStream::new(output.file().clone());
        stream.write_all(b"new").unwrap();
        let error = output.commit(Durability::None).unwrap_err();
        assert_eq!((error.kind(), error.path()), (ErrorKind::Invalid, path.as_path()), "{error}");
        drop(stream);
        assert_eq!(fs::read(&path).unwrap(), b"old");
        // Flushed, dropped and closed streams hold no bytes.
        type End = fn(&mut Option<FileStream>);
        let ends: [End; 3] = [
            |stream| stream.as_mut().unwrap().flush().unwrap(),
            |stream| drop(stream.take()),
            |stream| stream.take().unwrap().close().unwrap(),
        ];
        for (number, end) in ends.into_iter().enumerate() {
            let output = Output::replace(&path).unwrap();
            let mut stream = Some(FileStream::with_buffer(output.file().clone(), 64));
            let line = format!("{number}\n");
            for _ in 0..100 {
                stream.as_mut().unwrap().write_all(line.as_bytes()).unwrap();
            }
            end(&mut stream);
            output.commit(Durability::None).unwrap();
            assert_eq!(fs::read_to_string(&path).unwrap(), line.repeat(100));
        }
    });
}

#[test]
fn bytes_of_a_stream_over_the_file_of_an_output_prevent_the_commit() {
    let directory = tempfile::tempdir().unwrap();
    let file = File::create_new(directory.path().join("file")).unwrap();
    let output = Output::from(file.clone());
    let mut stream = FileStream::new(file);
    stream.write_all(b"pending").unwrap();
    assert_eq!(output.commit(Durability::None).unwrap_err().kind(), ErrorKind::Invalid);
    stream.close().unwrap();
}

#[test]
fn a_path_that_only_a_directory_can_have_is_no_output() {
    everywhere(|directory| {
        let place = directory.to_str().unwrap();
        fs::write(directory.join("file"), "old").unwrap();
        for end in ["file/", "file/.", "file//", "new/", "new/."] {
            let path = format!("{place}/{end}");
            assert!(write(&path, "new").is_err(), "{end}");
            for placement in [Placement::Replace, Placement::Overwrite] {
                assert!(Output::create_with(&path, placement, None).is_err(), "{end}");
            }
            assert!(Output::create_entry(&path).is_err(), "{end}");
        }
        assert_eq!(fs::read(directory.join("file")).unwrap(), b"old");
        assert!(!directory.join("new").exists());
    });
}

#[test]
fn a_missing_directory_is_not_found() {
    let directory = tempfile::tempdir().unwrap();
    let error = write(directory.path().join("missing/file"), "bytes").unwrap_err();
    assert_eq!(error.kind(), ErrorKind::NotFound, "{error}");
    assert_eq!(std::io::Error::from(error).kind(), std::io::ErrorKind::NotFound);
}
