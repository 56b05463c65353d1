//! .NET's rules for opening, sharing, appending, reserving space and deleting, and options with effects of their own: cache policy,
//! temporary files, conflicting locks, hints in memory, environment switches.

use super::*;

use fullbore_io::sys::{OpenFlags, stat};

#[cfg(target_os = "linux")]
use fullbore_testkit::mounts::Mount;

#[test]
fn share_none_excludes_all_others_and_truncation_follows_the_lock() {
    everywhere(|directory| {
        let (path, old) = filled(directory, 5000, 1);
        let held = OpenOptions::new().share(Share::NONE).open(&path).unwrap();
        assert_eq!(held.option_report()[0].option, "share=none");
        for mode in [Mode::Open, Mode::Truncate, Mode::CreateOrTruncate] {
            for share in [Share::NONE, Share::READ | Share::WRITE] {
                let error = OpenOptions::new().mode(mode).share(share).open(&path).unwrap_err();
                assert_eq!(error.kind(), ErrorKind::Locked, "{mode:?}: {error}");
                // A share mode of Windows binds everybody.
                assert!(cfg!(windows) || fs::read(&path).unwrap() == old);
            }
        }
        let unlocked = OpenOptions::new().share(Share::NONE).locking(false).open(&path);
        assert_eq!(unlocked.is_err(), cfg!(windows));
        drop((held, unlocked));
        assert!(fs::read(&path).unwrap() == old);
        let unlocked = OpenOptions::new().share(Share::NONE).locking(false).open(&path).unwrap();
        assert!(matches!(unlocked.option_report()[0].support, Support::Unsupported(_)));
        drop(unlocked);
        let emptied = OpenOptions::new().mode(Mode::CreateOrTruncate).share(Share::READ).open(&path).unwrap();
        assert_eq!(fs::read(&path).unwrap(), b"");
        let shared = OpenOptions::new().share(Share::READ | Share::WRITE).open(&path).unwrap();
        assert_eq!(shared.option_report()[0].option, "share=read|write");
        drop(shared);
        OpenOptions::new().share(Share::NONE).open(&path).unwrap_err();
        drop(emptied);
        OpenOptions::new().share(Share::NONE).open(&path).unwrap();
    });
}

/// As while a child is being started, which has the descriptor for a moment.
#[cfg(unix)]
#[test]
fn share_none_ends_with_the_handle_even_if_a_child_has_the_descriptor() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("file");
    let open = |mode| OpenOptions::new().mode(mode).share(Share::NONE).open(&path);
    let file = open(Mode::CreateNew).unwrap();
    let of_child = std::os::fd::AsFd::as_fd(&file).try_clone_to_owned().unwrap();
    // These use a duplicate, too.
    file.metadata().unwrap();
    file.set_times(fs::FileTimes::new()).unwrap();
    drop(file);
    open(Mode::Open).expect("the lock has ended");
    drop(of_child);
}

// Wine finds the end and writes in two steps.
#[cfg(unix)]
#[test]
fn append_is_atomic_so_appenders_do_not_overwrite_each_other() {
    everywhere(|directory| {
        let path = directory.join("log");
        std::thread::scope(|scope| {
            for letter in [b'a', b'b', b'c'] {
                let path = &path;
                scope.spawn(move || {
                    let file = OpenOptions::new().mode(Mode::Append).open(path).unwrap();
                    (0..500).for_each(|_| file.write_all_at(&[letter], 0).unwrap());
                });
            }
        });
        let written = fs::read(&path).unwrap();
        for letter in [b'a', b'b', b'c'] {
            assert_eq!(written.iter().filter(|&&found| found == letter).count(), 500);
        }
    });
}

#[test]
fn reserve_keeps_the_length_and_a_failure_removes_only_new_files() {
    everywhere(|directory| {
        let (new, old) = (directory.join("new"), directory.join("old"));
        let file = OpenOptions::new().mode(Mode::CreateNew).reserve(1 << 20).open(&new).unwrap();
        let found = stat(&new).unwrap();
        assert_eq!(found.size, 0);
        let native = file.option_report()[0].support == Support::Native;
        if native {
            assert!(found.allocated() >= 1 << 20);
        }
        drop(file);
        fs::remove_file(&new).unwrap();
        fs::write(&old, "old").unwrap();
        // Wine reserves nothing.
        for path in [&new, &old].into_iter().filter(|_| native || cfg!(unix)) {
            let error = OpenOptions::new()
                .mode(Mode::CreateOrTruncate)
                .reserve(i64::MAX as u64)
                .open(path)
                .unwrap_err();
            assert_eq!(error.kind(), ErrorKind::NoSpace, "{error}");
            let message = error.to_string();
            assert!(
                message.contains("9223372036854775807") && message.contains(path.to_str().unwrap()),
                "{message}"
            );
        }
        assert!(!new.exists());
        assert_eq!(fs::read(&old).unwrap(), b"old", "truncated before the space was reserved");
        for (mode, room) in
            [Mode::Open, Mode::Truncate, Mode::OpenOrCreate, Mode::Append].map(|mode| (mode, 1))
        {
            let error = OpenOptions::new().mode(mode).reserve(room).open(&old).unwrap_err();
            assert_eq!(error.kind(), ErrorKind::Invalid);
            assert!(
                error.to_string().contains("; open with the mode CreateOrTruncate or CreateNew"),
                "{error}"
            );
        }
        let negative =
            OpenOptions::new().mode(Mode::CreateOrTruncate).reserve(1 << 63).open(&old).unwrap_err();
        assert_eq!(negative.kind(), ErrorKind::Invalid);
        assert_eq!(fs::read(&old).unwrap(), b"old");
    });
}

#[test]
fn reserve_with_create_or_truncate_empties_a_file_and_reserves_the_space() {
    everywhere(|directory| {
        let path = directory.join("file");
        for len in [0, 10_000, 3 << 20] {
            fs::write(&path, bytes(len, 3)).unwrap();
            let file = OpenOptions::new().mode(Mode::CreateOrTruncate).reserve(1 << 20).open(&path).unwrap();
            let found = stat(&path).unwrap();
            assert_eq!(found.size, 0);
            if file.option_report()[0].support == Support::Native {
                let room = found.allocated();
                assert!(((1 << 20)..(2 << 20)).contains(&room), "{room}");
            }
        }
    });
}

// Only Linux mounts a file system of this size.
#[cfg(target_os = "linux")]
#[test]
fn reserve_without_space_leaves_an_existing_file_unchanged() {
    let small = tempfile::tempdir().unwrap();
    let mount = Mount::in_memory("size=1m", small.path());
    let Some(_mount) = fullbore_testkit::or_skip("a small file system", mount) else { return };
    let (old, new) = (small.path().join("old"), small.path().join("new"));
    let content = bytes(300_000, 4);
    fs::write(&old, &content).unwrap();
    let create = |path, room| OpenOptions::new().mode(Mode::CreateOrTruncate).reserve(room).open(path);
    for (path, room) in [(&old, 2 << 20), (&new, 900_000)] {
        let error = create(path, room).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::NoSpace);
        let message = error.to_string();
        let (path, room) = (path.to_str().unwrap(), room.to_string());
        assert!(message.contains(path) && message.contains(&room), "{message}");
    }
    assert!(!new.exists());
    assert!(fs::read(&old).unwrap() == content);
    assert!(stat(&old).unwrap().allocated() < 400_000, "reserved blocks are released on failure");
    // A file system may keep the blocks that it reserved before there were no more.
    let output = fullbore_io::file::Output::create(small.path().join("output")).unwrap();
    assert_eq!(output.file().reserve(0..2 << 20).unwrap_err().kind(), ErrorKind::NoSpace);
    output.file().write_all_at(b"bytes", 0).unwrap();
    output.commit_len(5, fullbore_io::file::Durability::None).unwrap();
    assert!(stat(small.path().join("output")).unwrap().allocated() <= 4096);
    // The space suffices once the old bytes are released.
    create(&old, 900_000).unwrap();
    assert_eq!(fs::metadata(&old).unwrap().len(), 0);
}

#[test]
fn delete_on_close_removes_a_file_with_its_last_handle() {
    everywhere(|directory| {
        let path = directory.join("file");
        let file = OpenOptions::new().mode(Mode::CreateOrTruncate).delete_on_close(true).open(&path).unwrap();
        let again = file.reopen(true);
        drop(file);
        assert!(path.exists());
        drop(again);
        assert!(!path.exists());
    });
}

#[test]
fn random_overrides_sequential_and_strict_makes_that_an_error() {
    everywhere(|directory| {
        let path = write_file(directory, "file", "x");
        let mut options = OpenOptions::new();
        options.hint(Hint::Sequential).hint(Hint::Random);
        let file = options.open(&path).unwrap();
        assert!(file.option_report()[0].to_string().starts_with("hint=sequential unsupported: hint=random"));
        // In memory there is no read-ahead, as the report states.
        let in_memory = fullbore_io::probe::in_memory(&file);
        assert_eq!(file.option_report()[1].support == Support::Native, !in_memory);
        assert_eq!(options.strict(true).open(&path).unwrap_err().kind(), ErrorKind::Unsupported);
        // Found by fuzzing: the file was truncated before the open failed.
        for mode in [Mode::Truncate, Mode::CreateOrTruncate] {
            assert_eq!(options.mode(mode).open(&path).unwrap_err().kind(), ErrorKind::Unsupported);
            assert_eq!(fs::read(&path).unwrap(), b"x", "{mode:?}");
        }
    });
}

#[test]
fn links_are_followed_and_directories_opened_unless_used() {
    everywhere(|directory| {
        let (path, link) = (directory.join("file"), directory.join("link"));
        fs::write(&path, "").unwrap();
        if symlink(&path, &link) {
            OpenOptions::new().open(&link).unwrap();
            let refused = OpenOptions::new().follow_symlinks(false).open(&link).unwrap_err();
            assert!(refused.to_string().contains("symbolic link"), "{refused}");
        }
        let file = OpenOptions::new().open(directory).unwrap();
        assert_eq!(file.read_at(&mut [0], 0).unwrap_err().kind(), ErrorKind::Unsupported);
        assert!(File::open(directory).and_then(|file| file.stamp()).is_err());
    });
}

#[test]
fn seekability_is_detected_and_a_duplicate_keeps_the_lock() {
    let (reader, _writer) = std::io::pipe().unwrap();
    assert!(!File::from_fd(reader.into(), "pipe").unwrap().seekable());
    assert!(!cfg!(target_os = "linux") || File::open("/proc/self/status").unwrap().seekable());
    everywhere(|directory| {
        let path = directory.join("file");
        let file = OpenOptions::new().mode(Mode::CreateOrTruncate).share(Share::NONE).open(&path).unwrap();
        assert!(file.seekable());
        let duplicate = file.try_clone().unwrap();
        drop(file);
        OpenOptions::new().share(Share::NONE).open(&path).unwrap_err();
        let given_away = fs::File::try_from(duplicate).unwrap();
        OpenOptions::new().share(Share::NONE).open(&path).unwrap_err();
        drop(given_away);
        OpenOptions::new().share(Share::NONE).open(&path).unwrap();
    });
}

#[test]
fn a_cache_policy_is_applied_at_opening_and_reported() {
    everywhere(|directory| {
        let path = write_file(directory, "file", vec![7; 100_000]);
        for (cache, option) in [(CachePolicy::DontCache, "cache=drop"), (CachePolicy::Direct, "cache=direct")]
        {
            let file = OpenOptions::new().cache(cache).open(&path).unwrap();
            let explained = file.option_report().to_vec();
            assert_eq!(explained[0].option, option);
            // The same support as for a handle made later.
            assert_eq!(explained[0].support, File::open(&path).unwrap().with_cache(cache).1);
            let mut data = vec![0; 99_000];
            file.read_exact_at(&mut data, 501).unwrap();
            assert!(data.iter().all(|&byte| byte == 7));
            let strict = OpenOptions::new().cache(cache).strict(true).open(&path);
            let refused = matches!(explained[0].support, Support::Unsupported(_));
            assert_eq!(strict.is_err(), refused, "{strict:?}");
            supported_or_skip(directory, true, option, strict);
        }
    });
}

#[test]
fn a_temporary_file_has_no_name_until_it_is_linked() {
    everywhere(|directory| {
        let file = OpenOptions::new().temporary(true).open(directory).unwrap();
        assert_eq!(file.option_report()[0].option, "temporary");
        // On Windows it is a removed file, whose name Wine shows until it is closed.
        if cfg!(unix) {
            assert_eq!(names(directory), [""; 0]);
        }
        file.write_all_at(b"bytes", 0).unwrap();
        let mut data = [0; 5];
        file.read_exact_at(&mut data, 0).unwrap();
        assert_eq!(&data, b"bytes");
        let name = directory.join("name");
        if cfg!(windows) {
            assert!(matches!(file.option_report()[0].support, Support::Emulated(_)));
            drop(file);
            assert_eq!(names(directory), [""; 0]);
        } else {
            file.link_to(&name).unwrap();
            assert_eq!(std::fs::read(&name).unwrap(), b"bytes");
            assert!(file.link_to(&name).unwrap_err().to_string().contains("name: cannot create"));
        }
        for contradiction in [
            OpenOptions::new().temporary(true).mode(Mode::CreateOrTruncate),
            OpenOptions::new().temporary(true).follow_symlinks(false),
        ] {
            assert_eq!(contradiction.open(directory).unwrap_err().kind(), ErrorKind::Invalid);
        }
    });
}

#[test]
fn the_environment_switches_locks_off() {
    const CHILD: &str = "FULLBORE_TEST_LOCKED_FILE";
    if let Some(path) = std::env::var_os(CHILD) {
        let opened = OpenOptions::new().share(Share::NONE).open(path);
        std::process::exit(match opened {
            Ok(file) => i32::from(matches!(file.option_report()[0].support, Support::Unsupported(_))) + 20,
            Err(error) => i32::from(error.kind() == ErrorKind::Locked) + 10,
        });
    }
    everywhere(|directory| {
        let path = write_file(directory, "file", "bytes");
        let _holder = OpenOptions::new().share(Share::NONE).open(&path).unwrap();
        // On Windows the holder's share mode binds all processes.
        let unlocked = if cfg!(windows) { 11 } else { 21 };
        for (value, code) in [("", 11), ("0", 11), ("1", unlocked)] {
            let mut child = alone("opening::the_environment_switches_locks_off");
            let status = child.env(CHILD, &path).env("FULLBORE_NO_LOCKS", value).output().unwrap().status;
            assert_eq!(status.code(), Some(code), "FULLBORE_NO_LOCKS={value}");
        }
    });
}

// Only Linux takes hints on an open file, and has `/proc`.
#[cfg(target_os = "linux")]
#[test]
fn hints_without_read_ahead_are_refused() {
    let file = OpenOptions::new().hint(Hint::Sequential).open("/proc/version").unwrap();
    assert!(
        matches!(file.option_report()[0].support, Support::Unsupported(_)),
        "{}",
        file.option_report()[0]
    );
    assert!(matches!(file.advise(0..10, Hint::WillNeed), Support::Unsupported(_)));
    let here = File::open(std::env::current_exe().unwrap()).unwrap();
    assert_eq!(here.advise(0..4096, Hint::WillNeed), Support::Native);
    assert_eq!(here.advise(.., Hint::WillNeed), Support::Native);
    assert!(matches!(here.advise(7..7, Hint::WillNeed), Support::Unsupported(_)));
}

#[test]
fn write_through_sets_the_open_flag() {
    everywhere(|directory| {
        // Windows has one flag for both.
        let data = if cfg!(windows) { OpenFlags::SYNC } else { OpenFlags::DATA_SYNC };
        for (through, flags) in [
            (Durability::None, OpenFlags::empty()),
            (Durability::Data, data),
            (Durability::Full, OpenFlags::SYNC),
        ] {
            let file = OpenOptions::new()
                .mode(Mode::CreateOrTruncate)
                .write_through(through)
                .open(directory.join("file"))
                .unwrap();
            assert_eq!(fullbore_io::sys::status_flags(&file).unwrap() & OpenFlags::SYNC, flags);
        }
    });
}

/// Looking for holes moves the position of a descriptor, which decides whether an adopted file was read in part.
#[test]
fn holes_are_found_beside_readers_of_an_adopted_file() {
    everywhere(|directory| {
        let sparse = std::fs::File::create_new(directory.join("file")).unwrap();
        sparse.set_len(1 << 20).unwrap();
        let adopted =
            File::from_fd(std::fs::File::open(directory.join("file")).unwrap().into(), "file").unwrap();
        std::thread::scope(|scope| {
            let other = adopted.clone();
            let looking =
                scope.spawn(move || (0..2000).try_for_each(|at| other.seek_hole(at * 7).map(|_| ())));
            while !looking.is_finished() {
                assert_eq!(adopted.seekable_len().unwrap(), Some(1 << 20));
            }
            looking.join().unwrap().unwrap();
        });
    });
}

#[test]
fn a_stream_over_an_adopted_descriptor_starts_at_its_position() {
    use std::io::{Read, Seek, SeekFrom, Write};
    everywhere(|directory| {
        let path = directory.join("file");
        let mut before =
            std::fs::File::options().read(true).write(true).create_new(true).open(&path).unwrap();
        before.write_all(b"head\n").unwrap();
        let adopted = File::from_fd(before.try_clone().unwrap().into(), &path).unwrap();
        let mut stream = fullbore_io::stream::FileStream::new(adopted);
        stream.write_all(b"X\n").unwrap();
        stream.close().unwrap();
        assert_eq!(std::fs::read(&path).unwrap(), b"head\nX\n");
        before.seek(SeekFrom::Start(2)).unwrap();
        let adopted = File::from_fd(before.into(), &path).unwrap();
        let mut rest = String::new();
        fullbore_io::stream::FileStream::new(adopted).read_to_string(&mut rest).unwrap();
        assert_eq!(rest, "ad\nX\n");
    });
}
