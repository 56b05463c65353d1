//! Every kind of path: supported and unsupported operations, and correct reports of both.

use super::*;

use fullbore_io::file::FileKind;

#[cfg(target_os = "linux")]
use fullbore_testkit::mounts::LoopDevice;

/// Returns the support of the one option set.
fn support(options: &OpenOptions, path: &Path) -> Support {
    let file = options.open(path).unwrap();
    let [found] = file.option_report() else { panic!("{:?}", file.option_report()) };
    let strict = options.clone().strict(true).open(path).map(drop);
    match &found.support {
        Support::Unsupported(why) => {
            let error = strict.unwrap_err();
            assert_eq!(error.kind(), ErrorKind::Unsupported);
            assert!(error.to_string().contains(why), "{error}");
        }
        _ => strict.unwrap(),
    }
    found.support.clone()
}

fn writing() -> OpenOptions {
    let mut options = OpenOptions::new();
    options.access(Access::ReadWrite);
    options
}

fn refused(support: &Support, why: &str) {
    assert!(matches!(support, Support::Unsupported(said) if said.contains(why)), "{support:?}");
}

/// Checks the options' support on a file without offsets.
fn flows(path: &Path, name: &str) {
    let appending = OpenOptions::new().mode(Mode::Append).access(Access::ReadWrite).to_owned();
    let append = support(&appending, path);
    assert!(matches!(&append, Support::Emulated(how) if how.contains(name)), "{append:?}");
    for through in [Durability::Data, Durability::Full] {
        refused(
            &support(writing().write_through(through), path),
            &format!("{name} stores nothing on a device"),
        );
    }
    refused(
        &support(writing().mode(Mode::CreateOrTruncate).reserve(4096), path),
        &format!("{name} has no blocks"),
    );
    for cache in [CachePolicy::DontCache, CachePolicy::Direct] {
        refused(&support(writing().cache(cache), path), &format!("{name} has no pages"));
    }
    let file = writing().open(path).unwrap();
    assert_eq!(file.sync_data().unwrap_err().kind(), ErrorKind::Unsupported);
    assert!(file.set_len(1).is_err() && file.seek_data(0).is_err() && file.reserve(0..1).is_err());
    // std does not find NUL.
    assert!(cfg!(windows) || path.exists(), "a file that was not created here stays");
}

// Directories of Windows have no pipes; `streams` tests those without a name.
#[cfg(unix)]
#[test]
fn a_named_pipe_is_read_and_written_sequentially() {
    use std::io::{Read, Write};
    use std::thread;

    use fullbore_io::stream::FileStream;

    everywhere(|directory| {
        let path = directory.join("pipe");
        fullbore_testkit::ground::fifo(&path);
        let data = bytes(300_000, 1);
        let found = thread::scope(|scope| {
            // Each open blocks until the other.
            scope.spawn(|| {
                let file = OpenOptions::new().access(Access::Write).open(&path).unwrap();
                assert!(!file.seekable());
                let mut stream = FileStream::new(file);
                stream.write_all(&data).unwrap();
                stream.close().unwrap();
            });
            let file = OpenOptions::new().open(&path).unwrap();
            assert_eq!(file.kind(), FileKind::Fifo);
            assert!(file.seekable_len().unwrap().is_none());
            let mut found = Vec::new();
            FileStream::new(file).read_to_end(&mut found).unwrap();
            found
        });
        assert!(found == data);
        flows(&path, "a pipe");
        // delete_on_close works for any kind of file.
        writing().delete_on_close(true).open(&path).unwrap().close().unwrap();
        assert!(!path.exists());
    });
}

#[test]
fn transfers_at_offsets_are_unsupported_on_a_pipe() {
    let (reader, writer) = std::io::pipe().unwrap();
    let reader = File::from_fd(reader.into(), "reader").unwrap();
    let writer = File::from_fd(writer.into(), "writer").unwrap();
    for error in [
        reader.read_at(&mut [0; 4], 0).unwrap_err(),
        reader.read_exact_at(&mut [0; 4], 0).unwrap_err(),
        writer.write_at(b"no", 0).unwrap_err(),
        writer.write_all_at(b"no", 0).unwrap_err(),
    ] {
        assert_eq!(error.kind(), ErrorKind::Unsupported, "{error}");
    }
    writer.write_all_next(b"next").unwrap();
    let mut read = [0; 4];
    assert_eq!(reader.read_next(&mut read).unwrap(), 4);
    assert_eq!(&read, b"next");
}

/// A name that was a regular file in a listing and is a pipe by now: nothing waits for a writer.
#[cfg(unix)]
#[test]
fn a_pipe_that_has_replaced_a_listed_file_is_an_error() {
    use fullbore_io::file::HeldDir;
    use fullbore_io::sys::{OpenFlags, status_flags};

    everywhere(|directory| {
        fullbore_testkit::ground::fifo(&directory.join("pipe"));
        fs::write(directory.join("file"), "bytes").unwrap();
        let held = HeldDir::open(directory).unwrap();
        let waits = |file: &File| !status_flags(file).unwrap().contains(OpenFlags::NONBLOCK);
        let pipe = held.open_file(Path::new("pipe"), false).unwrap();
        assert_eq!(pipe.stamped().unwrap_err().kind(), ErrorKind::Changed);
        assert!(!waits(&pipe));
        let file = held.open_file(Path::new("file"), false).unwrap();
        assert!(!waits(&file));
        assert_eq!(file.stamp().unwrap().len, 5);
        assert!(waits(&file));
    });
}

// Directories of Windows have no sockets.
#[cfg(unix)]
#[test]
fn a_socket_is_refused() {
    use std::os::unix::net::UnixListener;

    everywhere(|directory| {
        let path = directory.join("socket");
        let _listener = UnixListener::bind(&path).unwrap();
        for mode in [Mode::Open, Mode::CreateOrTruncate, Mode::Truncate, Mode::OpenOrCreate, Mode::Append] {
            for strict in [false, true] {
                let error = OpenOptions::new().mode(mode).strict(strict).open(&path).unwrap_err();
                assert_eq!(error.kind(), ErrorKind::Unsupported, "{mode:?}");
                assert!(error.to_string().contains("socket: cannot open: it is a socket"), "{error}");
            }
        }
        assert_eq!(File::open(&path).unwrap_err().kind(), ErrorKind::Unsupported);
        assert!(path.exists());
    });
}

#[test]
fn character_devices_are_read_and_written_with_correct_reports() {
    let names: &[&str] = match () {
        () if cfg!(windows) => &["NUL"],
        () if cfg!(target_os = "macos") => &["/dev/zero", "/dev/null"],
        () => &["/dev/zero", "/dev/null", "/dev/full"],
    };
    for &name in names {
        let path = Path::new(name);
        flows(path, "a character device");
        let file = writing().open(path).unwrap();
        assert_eq!(file.kind(), FileKind::CharacterDevice);
        assert_eq!(file.seekable_len().unwrap(), None);
        let mut data = [9; 5000];
        match name {
            "/dev/null" | "NUL" => assert_eq!(file.read_at(&mut data, 0).unwrap(), 0),
            _ => {
                file.read_exact_at(&mut data, 77).unwrap();
                assert_eq!(data, [0; 5000]);
            }
        }
        match (name, file.write_all_at(&[1; 5000], 0)) {
            ("/dev/full", written) => assert_eq!(written.unwrap_err().kind(), ErrorKind::NoSpace),
            (_, written) => written.unwrap(),
        }
        // CreateOrTruncate truncates regular files, not devices.
        let emptied = OpenOptions::new().mode(Mode::CreateOrTruncate).open(path).unwrap();
        assert_eq!(emptied.kind(), FileKind::CharacterDevice);
    }
}

// Only Linux has loop devices.
#[cfg(target_os = "linux")]
#[test]
fn a_block_device_has_a_length_offsets_and_a_fixed_end() {
    let directory = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
    let image = write_file(directory.path(), "image", vec![0; 4 << 20]);
    let made = LoopDevice::new(&image, "--sector-size=512");
    let Some(made) = fullbore_testkit::or_skip("a loop device", made) else { return };
    let file = writing().open(made.path()).unwrap();
    assert_eq!((file.kind(), file.seekable()), (FileKind::BlockDevice, true));
    assert_eq!((file.len().unwrap(), file.seekable_len().unwrap()), (4 << 20, Some(4 << 20)));
    let data = bytes(70_000, 5);
    file.write_all_at(&data, 12_345).unwrap();
    let mut found = vec![0; data.len()];
    file.read_exact_at(&mut found, 12_345).unwrap();
    assert!(found == data);
    assert_eq!(file.read_at(&mut found, 4 << 20).unwrap(), 0);
    assert_eq!(file.write_all_at(&data, 4 << 20).unwrap_err().kind(), ErrorKind::NoSpace);
    assert!(file.set_len(1).is_err());

    // The report on appending matches the behaviour.
    let appending = OpenOptions::new().mode(Mode::Append).access(Access::ReadWrite).to_owned();
    refused(&support(&appending, made.path()), "writes go to their offsets");
    appending.open(made.path()).unwrap().write_all_at(b"here", 4096).unwrap();
    let mut four = [0; 4];
    file.read_exact_at(&mut four, 4096).unwrap();
    assert_eq!(&four, b"here");
    let mut stream = fullbore_io::stream::FileStream::new(appending.open(made.path()).unwrap());
    for part in [&data[..9000], &data[9000..20_000]] {
        stream.write_all(part).unwrap();
        stream.flush().unwrap();
    }
    drop(stream);
    file.read_exact_at(&mut found[..20_000], 0).unwrap();
    assert!(found[..20_000] == data[..20_000], "a second write overwrote the first");
    assert_eq!(support(writing().write_through(Durability::Data), made.path()), Support::Native);
    refused(
        &support(writing().mode(Mode::CreateOrTruncate).reserve(4096), made.path()),
        "always fully allocated",
    );
    // The device's node is in memory (devtmpfs), its bytes are not.
    assert_eq!(support(OpenOptions::new().hint(Hint::Random), made.path()), Support::Native);
    file.sync_all().unwrap();
}

#[test]
fn write_through_is_supported_on_devices_and_refused_in_memory() {
    everywhere(|directory| {
        let path = write_file(directory, "file", "");
        let in_memory = fullbore_io::probe::in_memory(File::open(&path).unwrap());
        let found = support(writing().write_through(Durability::Full), &path);
        let stores = match &found {
            // The device of a Mac may keep the bytes in its cache.
            Support::Emulated(how) => cfg!(target_os = "macos") && how.contains("sync_data"),
            found => *found == Support::Native,
        };
        assert_eq!(stores, !in_memory, "{found:?}");
        let append = support(OpenOptions::new().mode(Mode::Append), &path);
        assert_eq!(append, Support::Native);
    });
}

/// The umask is global to the process, so the test runs in processes of its own.
// Windows has neither a umask nor these bits.
#[cfg(unix)]
#[test]
fn permissions_respect_the_umask_and_existing_files_keep_theirs() {
    use std::os::unix::fs::{MetadataExt, PermissionsExt};

    const CHILD: &str = "FULLBORE_TEST_MASK";
    let cases = [("022", 0o666, 0o644), ("077", 0o666, 0o600), ("000", 0o640, 0o640), ("027", 0o777, 0o750)];
    if let Some(directory) = std::env::var_os(CHILD) {
        let index: usize = std::env::var("INDEX").unwrap().parse().unwrap();
        let (_, requested, expected) = cases[index];
        for (name, mode) in [
            ("create", Mode::CreateOrTruncate),
            ("create-new", Mode::CreateNew),
            ("open-or-create", Mode::OpenOrCreate),
            ("append", Mode::Append),
        ] {
            for (strict, room) in [(false, 0), (true, 0), (false, 4096)] {
                let path = Path::new(&directory).join(format!("{name}-{strict}-{room}-{index}"));
                let room = if matches!(mode, Mode::CreateOrTruncate | Mode::CreateNew) { room } else { 0 };
                OpenOptions::new()
                    .mode(mode)
                    .permissions(requested)
                    .strict(strict)
                    .reserve(room)
                    .open(&path)
                    .unwrap();
                assert_eq!(fs::metadata(&path).unwrap().mode() & 0o7777, expected, "{}", path.display());
            }
        }
        let old = Path::new(&directory).join("old");
        OpenOptions::new().mode(Mode::CreateOrTruncate).permissions(requested).open(&old).unwrap();
        assert_eq!(fs::metadata(&old).unwrap().mode() & 0o7777, 0o604);
        let temporary = OpenOptions::new().temporary(true).permissions(requested).open(&directory).unwrap();
        assert_eq!(fullbore_io::sys::status(&temporary).unwrap().permissions(), expected);
        return;
    }
    everywhere(|directory| {
        fs::write(directory.join("old"), "old").unwrap();
        fs::set_permissions(directory.join("old"), fs::Permissions::from_mode(0o604)).unwrap();
        let name = "kinds::permissions_respect_the_umask_and_existing_files_keep_theirs";
        for (index, (mask, ..)) in cases.iter().enumerate() {
            // The shell sets the umask, since a thread of this process would set it for all others.
            let output = std::process::Command::new("sh")
                .args(["-c", &format!("umask {mask}; exec \"$0\" --exact {name}")])
                .arg(std::env::current_exe().unwrap())
                .env(CHILD, directory)
                .env("INDEX", index.to_string())
                .output()
                .unwrap();
            assert!(output.status.success(), "{output:?}");
            assert!(String::from_utf8_lossy(&output.stdout).contains("1 passed"), "{output:?}");
        }
    });
}

/// The length of a device's configuration is that for root; other users get fewer bytes.
#[cfg(target_os = "linux")]
#[test]
fn a_nominal_length_need_not_be_a_page() {
    let Ok(devices) = fs::read_dir("/sys/bus/pci/devices") else {
        return println!("skipped: no PCI devices");
    };
    let read = || {
        let nobody = 65_534;
        // SAFETY: changes the user of this thread alone. An ordinary user may not, and need not.
        unsafe { libc::syscall(libc::SYS_setresuid, nobody, nobody, nobody) };
        for device in devices {
            let path = device.unwrap().path().join("config");
            assert_eq!(
                fullbore_io::file::read(&path).unwrap(),
                fs::read(&path).unwrap(),
                "{}",
                path.display()
            );
        }
    };
    std::thread::spawn(read).join().unwrap();
}
