//! Open options with effects of their own: cache policy, temporary files, conflicting locks, hints in memory, environment
//! switches.

use fullbore_io::error::ErrorKind;
#[cfg(target_os = "linux")]
use fullbore_io::file::Hint;
use fullbore_io::file::{CachePolicy, Durability, File, Mode, OpenOptions, Share, Support};
use fullbore_io::sys::OpenFlags;

use fullbore_testkit::ground::everywhere;

#[test]
fn a_cache_policy_is_applied_at_opening_and_reported() {
    everywhere(|directory| {
        let path = directory.join("file");
        std::fs::write(&path, vec![7; 100_000]).unwrap();
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
            assert_eq!(
                strict.is_err(),
                matches!(explained[0].support, Support::Unsupported(_)),
                "{strict:?}"
            );
        }
    });
}

#[test]
fn a_temporary_file_has_no_name_until_it_is_linked() {
    everywhere(|directory| {
        let file = OpenOptions::new().temporary(true).open(directory).unwrap();
        assert_eq!(file.option_report()[0].option, "temporary");
        let names = || {
            std::fs::read_dir(directory)
                .unwrap()
                .filter(|entry| entry.as_ref().is_ok_and(|entry| entry.file_name() != "lost+found"))
                .count()
        };
        // On Windows it is a removed file, whose name Wine shows until it is closed.
        if cfg!(unix) {
            assert_eq!(names(), 0);
        }
        file.write_all_at(b"bytes", 0).unwrap();
        let mut data = [0; 5];
        file.read_exact_at(&mut data, 0).unwrap();
        assert_eq!(&data, b"bytes");
        let name = directory.join("name");
        if cfg!(windows) {
            assert!(matches!(file.option_report()[0].support, Support::Emulated(_)));
            drop(file);
            assert_eq!(names(), 0);
        } else {
            file.link_to(&name).unwrap();
            assert_eq!(std::fs::read(&name).unwrap(), b"bytes");
            assert!(file.link_to(&name).unwrap_err().to_string().contains("name: cannot create"));
        }
        let contradiction = OpenOptions::new().temporary(true).mode(Mode::CreateOrTruncate).open(directory);
        assert_eq!(contradiction.unwrap_err().kind(), ErrorKind::Invalid);
    });
}

#[test]
fn a_conflicting_lock_has_a_kind_of_its_own_and_keeps_the_bytes() {
    everywhere(|directory| {
        let path = directory.join("file");
        std::fs::write(&path, "bytes").unwrap();
        let holder = OpenOptions::new().share(Share::NONE).open(&path).unwrap();
        assert_eq!(holder.option_report()[0].option, "share=none");
        for mode in [Mode::Open, Mode::Truncate, Mode::CreateOrTruncate] {
            let error =
                OpenOptions::new().mode(mode).share(Share::READ | Share::WRITE).open(&path).unwrap_err();
            assert_eq!(error.kind(), ErrorKind::Locked, "{error}");
        }
        assert_eq!(std::fs::read(&path).unwrap(), b"bytes");
        drop(holder);
        let shared = OpenOptions::new().share(Share::READ | Share::WRITE).open(&path).unwrap();
        assert_eq!(shared.option_report()[0].option, "share=read|write");
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
        let path = directory.join("file");
        std::fs::write(&path, "bytes").unwrap();
        let _holder = OpenOptions::new().share(Share::NONE).open(&path).unwrap();
        for (value, code) in [("", 11), ("0", 11), ("1", 21)] {
            let mut child = crate::alone("more_options::the_environment_switches_locks_off");
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

#[test]
fn a_clone_stays_usable_after_close() {
    everywhere(|directory| {
        let file = File::create_new(directory.join("file")).unwrap();
        let clone = file.clone();
        file.close().unwrap();
        clone.write_all_at(b"bytes", 0).unwrap();
        assert_eq!(clone.len().unwrap(), 5);
        clone.close().unwrap();
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
