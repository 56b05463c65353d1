//! Test directories, one per available file system, and test data.

use std::path::{Path, PathBuf};

/// Creates directories on different file systems: that of the build, tmpfs, and those in `FULLBORE_TEST_DIRS`
/// (colon-separated), such as XFS and btrfs on loop devices.
///
/// # Panics
/// If a directory cannot be created.
pub fn directories() -> Vec<tempfile::TempDir> {
    let mut roots = vec![of_the_build()];
    match Path::new("/dev/shm") {
        shm if shm.is_dir() => roots.push(shm.to_owned()),
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

/// Returns `target/tmp` of the build.
fn of_the_build() -> PathBuf {
    let test = std::env::current_exe().expect("a test is a file");
    let target = test.ancestors().nth(3).expect("cargo puts tests in target/PROFILE/deps");
    let tmp = target.join("tmp");
    std::fs::create_dir_all(&tmp).unwrap_or_else(|error| panic!("{}: {error}", tmp.display()));
    tmp
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
