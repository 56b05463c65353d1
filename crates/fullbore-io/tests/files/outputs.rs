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

#[cfg(target_os = "linux")]
#[test]
fn a_file_that_the_kernel_generates_is_written_directly() {
    let path = "/proc/thread-self/comm";
    let old = fs::read(path).unwrap();
    write(path, "another").unwrap();
    assert_eq!(fs::read(path).unwrap(), b"another\n");
    let output = Output::overwrite(path).unwrap();
    output.file().write_all_next(&old).unwrap();
    output.commit_len(old.len() as u64, Durability::Full).unwrap();
    assert_eq!(fs::read(path).unwrap(), old);
}

#[test]
fn a_missing_directory_is_not_found() {
    let directory = tempfile::tempdir().unwrap();
    let error = write(directory.path().join("missing/file"), "bytes").unwrap_err();
    assert_eq!(error.kind(), ErrorKind::NotFound, "{error}");
    assert_eq!(std::io::Error::from(error).kind(), std::io::ErrorKind::NotFound);
}

/// The members of the new group were others, who must not get the rights of the old one.
#[cfg(target_os = "linux")]
#[test]
fn a_replacement_in_another_group_permits_no_more() {
    use std::os::unix::fs::{MetadataExt, PermissionsExt, chown};
    const CHILD: &str = "FULLBORE_TEST_OF_NOBODY";
    const NOBODY: u32 = 65_534;
    if let Some(path) = std::env::var_os(CHILD) {
        // SAFETY: calls with numbers, which change the user and the groups of this process; it may open its own files by `/proc`.
        let refused = unsafe {
            libc::setgroups(0, std::ptr::null())
                | libc::setresgid(NOBODY, NOBODY, NOBODY)
                | libc::setresuid(NOBODY, NOBODY, NOBODY)
                | libc::prctl(libc::PR_SET_DUMPABLE, 1)
        };
        assert_eq!(refused, 0);
        return write(path, "new").unwrap();
    }
    let room = tempfile::tempdir().unwrap();
    let path = write_file(room.path(), "file", "old");
    for (mode, limited) in [(0o640, 0o600), (0o664, 0o644), (0o774, 0o744)] {
        let given =
            chown(room.path(), Some(NOBODY), None).and_then(|()| chown(&path, Some(NOBODY), Some(4242)));
        let Some(()) = fullbore_testkit::or_skip("files of other groups", given) else { return };
        fs::set_permissions(&path, fs::Permissions::from_mode(mode)).unwrap();
        let mut child = alone("outputs::a_replacement_in_another_group_permits_no_more");
        let output = child.env(CHILD, &path).output().unwrap();
        assert!(output.status.success(), "{output:?}");
        let found = fs::metadata(&path).unwrap();
        assert_eq!((found.gid(), found.mode() & 0o777), (NOBODY, limited), "{mode:o}");
    }
}

/// Somebody may plant a link after the name was found free, or its file removed.
#[cfg(unix)]
#[test]
fn a_resumed_output_follows_no_planted_link() {
    let directory = tempfile::tempdir().unwrap();
    let elsewhere = directory.path().join("elsewhere");
    std::os::unix::fs::symlink(&elsewhere, directory.path().join("name")).unwrap();
    let held = fullbore_io::file::HeldDir::open(directory.path()).unwrap();
    let begin = |is_new| {
        let output = Output::resumable_at(&held, "name".as_ref(), (is_new, false), |_, _| unreachable!());
        output.unwrap_err().kind()
    };
    assert_eq!((begin(true), begin(false)), (ErrorKind::AlreadyExists, ErrorKind::Unsupported));
    fs::write(&elsewhere, "").unwrap();
    assert_eq!(begin(true), ErrorKind::AlreadyExists);
}
