//! The visible properties of a tree of files, to compare copies.

use crate::support::*;

/// Returns all visible properties of the tree below a path, by name.
pub(crate) fn seen(root: &Path, times: bool) -> BTreeMap<Vec<u8>, String> {
    let mut all = BTreeMap::new();
    for (path, found) in walked(root) {
        let name = path.strip_prefix(root).unwrap().as_os_str().as_encoded_bytes().to_owned();
        let mut said = metadata(&path, &found, times);
        if !found.is_dir() {
            said += &format!(" {}", found.len());
        }
        if found.is_symlink() {
            said += &format!(" to {:?}", fs::read_link(&path).unwrap());
        } else if found.is_file() && found.len() < 1 << 26 {
            said += &format!(" {:x?}", sum(&fs::read(&path).unwrap()));
        }
        all.insert(name, said);
    }
    all
}

/// Returns mode, owner, device, number of names, times and extended attributes. Long files must have holes.
#[cfg(unix)]
fn metadata(path: &Path, found: &fs::Metadata, times: bool) -> String {
    let mut said = format!("{:o} {}:{} {}", found.mode(), found.uid(), found.gid(), found.rdev());
    if times {
        said += &format!(" {}.{}", found.mtime(), found.mtime_nsec());
    }
    if !found.is_dir() {
        said += &format!(" {}", found.nlink());
    }
    if found.is_file() && found.len() >= 1 << 26 {
        assert!(found.blocks() < 1 << 12, "{} lost its holes", path.display());
    }
    let mut list = vec![0; 4096];
    let len = rustix::fs::llistxattr(path, list.as_mut_slice()).unwrap_or(0);
    for attribute in list[..len].split(|&byte| byte == 0).filter(|name| !name.is_empty()) {
        let mut value = vec![0; 4096];
        let len = rustix::fs::lgetxattr(path, attribute, value.as_mut_slice()).unwrap();
        said += &format!(" {}={:?}", String::from_utf8_lossy(attribute), &value[..len]);
    }
    said
}

/// Returns the attribute for writing, and the time.
#[cfg(windows)]
fn metadata(_: &Path, found: &fs::Metadata, times: bool) -> String {
    let time = times.then(|| found.modified().unwrap());
    format!("{} {time:?}", found.permissions().readonly())
}

/// Asserts that two trees are equal, and prints the differences otherwise.
#[track_caller]
pub(crate) fn same(one: &BTreeMap<Vec<u8>, String>, two: &BTreeMap<Vec<u8>, String>, what: &str) {
    for name in one.keys().chain(two.keys()) {
        assert_eq!(one.get(name), two.get(name), "{}: {what}", String::from_utf8_lossy(name));
    }
}

/// A hash without accidental collisions among these small files (FNV-1a).
fn sum(data: &[u8]) -> u64 {
    data.iter()
        .fold(0xcbf2_9ce4_8422_2325, |sum, &byte| (sum ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3))
}
