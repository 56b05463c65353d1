//! Every mode with every access, on a missing, an empty and a filled file: the state of the file afterwards, compared with a table.
//! A strict open that fails changes nothing: a file it created is removed, a file it found stays.

use super::*;
use std::result::Result;

const ACCESSES: [Option<Access>; 4] =
    [None, Some(Access::Read), Some(Access::Write), Some(Access::ReadWrite)];

/// A mode, the access without a choice, and the outcome of an open for writing: of a missing file, and of one with
/// content. `Err` is the kind of the error; the file is then as it was. `Ok(true)`: the content is kept.
type Row = (Mode, Access, Result<(), ErrorKind>, Result<bool, ErrorKind>);

const TABLE: [Row; 6] = [
    (Mode::Open, Access::Read, Err(ErrorKind::NotFound), Ok(true)),
    (Mode::OpenOrCreate, Access::ReadWrite, Ok(()), Ok(true)),
    (Mode::Append, Access::Write, Ok(()), Ok(true)),
    (Mode::CreateNew, Access::ReadWrite, Ok(()), Err(ErrorKind::AlreadyExists)),
    (Mode::Truncate, Access::ReadWrite, Err(ErrorKind::NotFound), Ok(false)),
    (Mode::CreateOrTruncate, Access::ReadWrite, Ok(()), Ok(false)),
];

/// Options beside mode and access, which move the truncation behind other steps.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Beside {
    Nothing,
    Lock,
    Strict,
    Reserve,
}

fn put(path: &Path, content: Option<&[u8]>) {
    match content {
        Some(content) => fs::write(path, content).unwrap(),
        None => drop(fs::remove_file(path)),
    }
}

#[test]
fn only_the_modes_that_say_so_empty_a_file() {
    everywhere(|directory| {
        let path = directory.join("file");
        for (mode, usual, missing, filled) in TABLE {
            for access in ACCESSES {
                for beside in [Beside::Nothing, Beside::Lock, Beside::Strict, Beside::Reserve] {
                    for before in [None, Some(b"".as_slice()), Some(b"old bytes")] {
                        let what = format!("{mode:?}, {access:?}, {beside:?}, {before:?}");
                        put(&path, before);
                        let mut options = OpenOptions::new();
                        options.mode(mode);
                        if let Some(access) = access {
                            options.access(access);
                        }
                        match beside {
                            Beside::Nothing => {}
                            Beside::Lock => _ = options.share(Share::READ | Share::WRITE),
                            Beside::Strict => _ = options.strict(true),
                            Beside::Reserve => _ = options.reserve(1 << 20),
                        }
                        let access = access.unwrap_or(usual);
                        let must_write = !matches!(mode, Mode::Open | Mode::OpenOrCreate);
                        let creates = matches!(mode, Mode::CreateNew | Mode::CreateOrTruncate);
                        let contradiction =
                            access == Access::Read && must_write || beside == Beside::Reserve && !creates;
                        let expected = match before {
                            _ if contradiction => Err(ErrorKind::Invalid),
                            None => missing.map(|()| b"".as_slice()),
                            Some(content) => filled.map(|keeps| if keeps { content } else { b"" }),
                        };
                        let opened = options.open(&path);
                        match (&opened, expected) {
                            (Ok(_), Ok(content)) => assert_eq!(fs::read(&path).unwrap(), content, "{what}"),
                            (Err(error), Err(kind)) => {
                                assert_eq!(error.kind(), kind, "{what}: {error}");
                                assert_eq!(fs::read(&path).ok().as_deref(), before, "{what}");
                            }
                            (opened, expected) => panic!("{what}: {opened:?}, not {expected:?}"),
                        }
                        let (Ok(file), Ok(content)) = (opened, expected) else { continue };
                        let written = file.write_all_at(b"X", 0);
                        let after = match (access, mode) {
                            (Access::Read, _) => content.to_vec(),
                            (_, Mode::Append) => [content, b"X"].concat(),
                            _ => [b"X", content.get(1..).unwrap_or_default()].concat(),
                        };
                        assert_eq!(written.is_ok(), access != Access::Read, "{what}");
                        drop(file);
                        assert_eq!(fs::read(&path).unwrap(), after, "{what}");
                    }
                }
            }
        }
    });
}

/// Returns options that are refused on every file system: sequential is overridden by random.
fn refused(mode: Mode) -> OpenOptions {
    let mut options = OpenOptions::new();
    options.mode(mode).strict(true).hint(Hint::Sequential).hint(Hint::Random);
    options
}

const MAKERS: [Mode; 4] = [Mode::CreateOrTruncate, Mode::CreateNew, Mode::OpenOrCreate, Mode::Append];

/// On Windows, the handle lacks the right to write anywhere but at the end.
#[test]
fn an_appending_file_can_be_resized() {
    everywhere(|directory| {
        let path = write_file(directory, "log", b"a line\n");
        let file = OpenOptions::new().mode(Mode::Append).open(&path).unwrap();
        file.set_len(2).unwrap();
        file.set_len(4).unwrap();
        file.write_all_at(b"end", 0).unwrap();
        assert_eq!(fs::read(&path).unwrap(), b"a \0\0end");
        match file.reserve(0..1 << 20) {
            Err(error) => assert_eq!(error.kind(), ErrorKind::Unsupported, "{error}"),
            Ok(()) => assert_eq!(file.len().unwrap(), 7),
        }
    });
}

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
                assert_eq!(
                    (error.kind(), error.advice()),
                    (ErrorKind::Unsupported, Some("name a file")),
                    "{error}"
                );
                assert!(error.raw_os_error().is_some(), "{error}");
            }
        }
        assert!(directory.exists());
    });
}

#[test]
fn create_truncates_and_the_file_can_be_read() {
    everywhere(|directory| {
        let path = directory.join("file");
        for before in [None, Some(b"old bytes".as_slice())] {
            put(&path, before);
            let file = File::create(&path).unwrap();
            assert_eq!(fs::read(&path).unwrap(), b"");
            file.write_all_at(b"new", 0).unwrap();
            let mut read = [0; 3];
            file.read_exact_at(&mut read, 0).unwrap();
            assert_eq!(&read, b"new");
        }
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
            assert_eq!(names(directory), [""; 0], "{round}");
        }
    });
}
