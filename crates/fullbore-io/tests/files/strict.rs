//! A strict open that fails changes nothing: a file it created is removed, a file it found stays.

use std::fs;
use std::path::Path;

use fullbore_io::error::ErrorKind;
use fullbore_io::file::{Access, CachePolicy, Hint, Mode, OpenOptions};

use fullbore_testkit::ground::{everywhere, symlink};

/// Returns options that are refused on every file system: sequential is overridden by random.
fn refused(mode: Mode) -> OpenOptions {
    let mut options = OpenOptions::new();
    options.mode(mode).strict(true).hint(Hint::Sequential).hint(Hint::Random);
    options
}

const MAKERS: [Mode; 4] = [Mode::CreateOrTruncate, Mode::CreateNew, Mode::OpenOrCreate, Mode::Append];

#[test]
fn a_failed_strict_open_removes_only_what_it_created() {
    everywhere(|directory| {
        let (path, dangling) = (directory.join("file"), directory.join("dangling"));
        let names = if symlink(Path::new("file"), &dangling) { vec![&path, &dangling] } else { vec![&path] };
        for mode in MAKERS {
            for delete in [false, true] {
                for &name in &names {
                    let opened = refused(mode).delete_on_close(delete).open(name);
                    let kind = opened.unwrap_err().kind();
                    let exists = mode == Mode::CreateNew && *name == dangling;
                    assert_eq!(
                        kind,
                        if exists { ErrorKind::AlreadyExists } else { ErrorKind::Unsupported },
                        "{mode:?}"
                    );
                    assert!(!path.exists() && dangling.is_symlink() == (names.len() == 2), "{mode:?}");
                }
                fs::write(&path, "old").unwrap();
                for &name in &names {
                    refused(mode).delete_on_close(delete).open(name).unwrap_err();
                    assert_eq!(fs::read(&path).unwrap(), b"old", "{mode:?}");
                }
                fs::remove_file(&path).unwrap();
            }
        }
    });
}

#[test]
fn a_successful_strict_open_creates_opens_and_truncates_as_usual() {
    everywhere(|directory| {
        let (path, dangling) = (directory.join("file"), directory.join("dangling"));
        let names = if symlink(Path::new("file"), &dangling) { vec![&path, &dangling] } else { vec![&path] };
        for mode in [Mode::CreateOrTruncate, Mode::OpenOrCreate, Mode::Append] {
            for &name in &names {
                let options = || {
                    let mut options = OpenOptions::new();
                    options.mode(mode).strict(true);
                    options
                };
                options().open(name).unwrap().write_all_at(b"bytes", 0).unwrap();
                assert_eq!(fs::read(&path).unwrap(), b"bytes", "{mode:?}");
                options().open(name).unwrap();
                let left = if mode == Mode::CreateOrTruncate { b"".as_slice() } else { b"bytes" };
                assert_eq!(fs::read(&path).unwrap(), left, "{mode:?}");
                // Truncated at once, since nothing can fail in between: deleting on close alone does not delay it.
                fs::write(&path, "again").unwrap();
                let file = options().strict(false).delete_on_close(true).open(&path).unwrap();
                assert_eq!(
                    file.len().unwrap(),
                    if mode == Mode::CreateOrTruncate { 0 } else { 5 },
                    "{mode:?}"
                );
                drop(file);
                assert!(!path.exists());
            }
        }
    });
}

#[test]
fn a_refused_cache_policy_fails_before_any_change() {
    everywhere(|directory| {
        let path = directory.join("file");
        // Direct I/O and appending exclude each other on every file system; dropping is refused in memory.
        let appending =
            || OpenOptions::new().mode(Mode::Append).strict(true).cache(CachePolicy::Direct).open(&path);
        assert_eq!(appending().unwrap_err().kind(), ErrorKind::Unsupported);
        assert!(!path.exists());
        for mode in [Mode::CreateOrTruncate, Mode::Truncate] {
            fs::write(&path, "old").unwrap();
            for cache in [CachePolicy::DontCache, CachePolicy::Direct] {
                let opened = OpenOptions::new().mode(mode).strict(true).cache(cache).open(&path);
                let left = if opened.is_err() { b"old".as_slice() } else { b"" };
                assert_eq!(fs::read(&path).unwrap(), left, "{mode:?} {cache:?}");
                fs::write(&path, "old").unwrap();
            }
        }
    });
}

#[test]
fn a_directory_is_refused_by_every_combination_of_options() {
    everywhere(|directory| {
        for (strict, delete) in [(false, false), (true, false), (false, true), (true, true)] {
            for access in [Access::Read, Access::ReadWrite] {
                let mut options = OpenOptions::new();
                options.mode(Mode::OpenOrCreate).access(access).strict(strict).delete_on_close(delete);
                let error = options.open(directory).unwrap_err();
                assert!(error.to_string().contains("it is a directory"), "{error}");
            }
        }
        assert!(directory.exists());
    });
}

#[test]
fn concurrent_open_or_create_calls_all_succeed() {
    everywhere(|directory| {
        let path = directory.join("file");
        for round in 0..50 {
            std::thread::scope(|scope| {
                // One open fails and removes what it created; the others must succeed.
                scope.spawn(|| refused(Mode::OpenOrCreate).open(&path).unwrap_err());
                for _ in 0..3 {
                    scope.spawn(|| {
                        let file = OpenOptions::new().mode(Mode::OpenOrCreate).strict(true).open(&path);
                        file.unwrap().write_all_at(b"x", 0).unwrap();
                    });
                }
            });
            let _ = fs::remove_file(&path);
            assert!(
                fs::read_dir(directory).unwrap().all(|entry| entry.unwrap().file_name() == "lost+found"),
                "{round}"
            );
        }
    });
}
