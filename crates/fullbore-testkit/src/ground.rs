//! Test directories, one per available file system, test data, and facts of the system by std.

use std::fmt::Display;
use std::fs::{self, File};
use std::io::{Read, Seek, SeekFrom};
use std::path::{Path, PathBuf};

use crate::or_skip;

/// The device that is empty and discards what is written.
pub const NULL: &str = if cfg!(windows) { "NUL" } else { "/dev/null" };

/// Creates directories on different file systems: that of the build, tmpfs, and those in `FULLBORE_TEST_DIRS`
/// (colon-separated), such as XFS and btrfs on loop devices.
pub fn directories() -> Vec<tempfile::TempDir> {
    let mut roots = vec![build_directory()];
    match Path::new("/dev/shm") {
        // Wine shows the directories of Linux.
        shm if cfg!(unix) && shm.is_dir() => roots.push(shm.to_owned()),
        _ => println!("skipped: tmpfs: /dev/shm does not exist"),
    }
    match std::env::var_os("FULLBORE_TEST_DIRS") {
        Some(more) => roots.extend(std::env::split_paths(&more)),
        None => println!("skipped: further file systems: FULLBORE_TEST_DIRS is not set"),
    }
    roots
        .iter()
        .map(|root| tempfile::tempdir_in(root).unwrap_or_else(|error| panic!("{}: {error}", root.display())))
        .collect()
}

/// Returns `target/tmp` of the build: on a disk where the system's temporary directory may be in memory, and ignored by git.
/// A program that cargo did not put into `target/PROFILE/deps` gets the system's temporary directory.
pub fn build_directory() -> PathBuf {
    let test = std::env::current_exe().expect("a test is a file");
    let profile = test.ancestors().find(|folder| folder.ends_with("deps")).and_then(Path::parent);
    let Some(target) = profile.and_then(Path::parent) else { return std::env::temp_dir() };
    let tmp = target.join("tmp");
    fs::create_dir_all(&tmp).unwrap_or_else(|error| panic!("{}: {error}", tmp.display()));
    tmp
}

/// Returns the name of a path's file system if it is one of Linux whose abilities the tests know.
pub fn known_file_system(path: &Path) -> Option<&'static str> {
    let mounts = cfg!(target_os = "linux").then(|| fs::read_to_string("/proc/mounts").ok())??;
    let path = path.canonicalize().ok()?;
    let mounts = mounts.lines().filter_map(|line| {
        let mut words = line.split(' ').skip(1);
        Some((words.next()?, words.next()?))
    });
    // The deepest mount; of several in one place, the last.
    let (_, kind) =
        mounts.filter(|(place, _)| path.starts_with(place)).max_by_key(|(place, _)| place.len())?;
    ["btrfs", "ext4", "tmpfs", "xfs"].into_iter().find(|known| *known == kind)
}

/// Returns what a file system supports; `None`, with the reason printed, if it refuses `what` for a file or directory. A known file
/// system refuses what `docs/probe.md` says: tmpfs whatever `bypasses` or drops the page cache, the others nothing. btrfs may put
/// files inline into its metadata that have less than two blocks. Where io_uring may be forbidden, `uring` is exempt.
#[track_caller]
pub fn supported_or_skip<T>(
    path: &Path,
    bypasses: bool,
    what: &str,
    found: Result<T, impl Display>,
) -> Option<T> {
    let system = known_file_system(path);
    let found = or_skip(&format!("{what} in {} ({system:?})", path.display()), found);
    let is_short = path.metadata().is_ok_and(|found| found.is_file() && found.len() < 8192);
    if let Some(system) = system
        && !(bypasses && is_short && system == "btrfs")
        && (found.is_some() || !what.contains("uring") || offers_rings())
    {
        assert_eq!(found.is_some(), !(bypasses && system == "tmpfs"), "{what} on {system}");
    }
    found
}

/// True if Linux surely lets this process use io_uring: neither a setting nor a filter of system calls forbids it.
pub fn offers_rings() -> bool {
    let says = |file, text| fs::read_to_string(file).is_ok_and(|found| found.contains(text));
    cfg!(target_os = "linux")
        && says("/proc/sys/kernel/io_uring_disabled", "0")
        && says("/proc/self/status", "Seccomp:\t0")
}

/// Runs a test in each of the [`directories`] concurrently, since it mostly waits.
pub fn everywhere(test: impl Fn(&Path) + Sync) {
    let directories = directories();
    std::thread::scope(|scope| {
        for directory in &directories {
            scope.spawn(|| test(directory.path()));
        }
    });
}

/// Returns `len` bytes without short periods (an affine sequence, independent of the library's generator).
pub fn bytes(len: usize, seed: u64) -> Vec<u8> {
    let mut state = seed.wrapping_mul(0x5851_f42d_4c95_7f2d).wrapping_add(1);
    std::iter::repeat_with(|| {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 56) as u8
    })
    .take(len)
    .collect()
}

/// Writes a file in a directory; returns its path.
pub fn write_file(directory: impl AsRef<Path>, name: &str, content: impl AsRef<[u8]>) -> PathBuf {
    let path = directory.as_ref().join(name);
    fs::write(&path, content).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    path
}

/// Writes a file in a new temporary directory; returns the directory, which is removed when it is dropped, and the path.
pub fn temporary_file(content: impl AsRef<[u8]>) -> (tempfile::TempDir, PathBuf) {
    let directory = tempfile::tempdir().expect("a temporary directory");
    let path = write_file(&directory, "file", content);
    (directory, path)
}

/// The names in a directory, sorted, without the `lost+found` of a file system's root.
pub fn names(directory: &Path) -> Vec<String> {
    let entries = fs::read_dir(directory).unwrap_or_else(|error| panic!("{}: {error}", directory.display()));
    let name = |entry: std::io::Result<fs::DirEntry>| entry.expect("an entry").file_name();
    let names = entries.map(|entry| name(entry).into_string().expect("a name in Unicode"));
    let mut names: Vec<_> = names.filter(|name| name != "lost+found").collect();
    names.sort();
    names
}

/// Reads `len` bytes at an offset by std, or fewer at the end.
pub fn read_at(path: &Path, offset: u64, len: usize) -> Vec<u8> {
    let mut file = File::open(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    file.seek(SeekFrom::Start(offset)).expect("a file has offsets");
    let mut bytes = Vec::with_capacity(len);
    file.take(len as u64).read_to_end(&mut bytes).expect("a file can be read");
    bytes
}

/// Creates a symbolic link to a file. False, with the reason printed, where the system makes none: Windows needs a
/// privilege, and Wine reports success.
pub fn symlink(target: &Path, link: &Path) -> bool {
    #[cfg(unix)]
    std::os::unix::fs::symlink(target, link).unwrap_or_else(|error| panic!("{}: {error}", link.display()));
    #[cfg(windows)]
    {
        let made = std::os::windows::fs::symlink_file(target, link);
        if made.is_err() || !link.is_symlink() {
            println!("skipped: symbolic links: {made:?}");
            return false;
        }
    }
    true
}

/// Creates a named pipe for this user. Not every Unix has the call in a form that Rust's libraries offer.
#[cfg(unix)]
pub fn fifo(path: &Path) {
    let made = std::process::Command::new("mkfifo").args(["-m", "600"]).arg(path).status();
    assert!(made.expect("POSIX has mkfifo").success());
}

/// True if a rename can replace a file that is open. Wine 8 refuses it.
pub fn replaces_open_files(directory: &Path) -> bool {
    let [old, new] = ["replaced", "replacement"].map(|name| directory.join(format!(".{name}")));
    let open = File::create(&old).expect("a file can be created");
    fs::write(&new, "").expect("a file can be created");
    let renamed = fs::rename(&new, &old);
    drop(open);
    let _ = fs::remove_file(&new);
    fs::remove_file(&old).expect("a file can be removed");
    if let Err(error) = &renamed {
        println!("skipped: replacing an open file: {error}");
    }
    renamed.is_ok()
}
