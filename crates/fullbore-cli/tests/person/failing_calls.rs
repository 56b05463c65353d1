//! Each system call that creates, names or closes a file fails in turn: no hidden file is left, and no old file is
//! lost.

use crate::support::*;
/// The calls with their errors. Calls of the dynamic loader are excluded, because their failures do not concern this
/// program.
const CALLS: [(&str, &str); 15] = [
    ("mkdirat", "EIO"),
    ("linkat", "EIO"),
    ("renameat", "EIO"),
    ("renameat2", "EIO"),
    ("write", "ENOSPC"),
    ("pwrite64", "ENOSPC"),
    ("ftruncate", "EIO"),
    ("fallocate", "ENOSPC"),
    ("fchmod", "EPERM"),
    ("fchown", "EPERM"),
    ("utimensat", "EIO"),
    ("fsync", "EIO"),
    ("fdatasync", "EIO"),
    ("getdents64", "EIO"),
    ("symlinkat", "EIO"),
];

/// The maximum number of failed calls of one kind, one after the other.
const MOST: usize = if cfg!(debug_assertions) { 12 } else { 24 };

fn make(dir: &Path) {
    fs::create_dir_all(dir.join("tree/in")).unwrap();
    fs::create_dir(dir.join("there")).unwrap();
    for (name, len) in [("tree/small", 1000), ("tree/in/other", 300_000), ("in", 5 << 20), ("little", 5000)] {
        fs::write(dir.join(name), bytes(len, len as u64)).unwrap();
    }
    std::os::unix::fs::symlink("small", dir.join("tree/link")).unwrap();
    for name in ["out", "there/small"] {
        fs::write(dir.join(name), "old bytes").unwrap();
    }
    for name in ["one", "two"] {
        fs::write(dir.join(name), bytes(50_000, 1)).unwrap();
    }
}

/// Collects every file with its content.
fn files(directory: &Path, found: &mut BTreeMap<PathBuf, Vec<u8>>) {
    for entry in fs::read_dir(directory).unwrap() {
        let path = entry.unwrap().path();
        match path.symlink_metadata().unwrap() {
            kind if kind.is_dir() => {
                found.insert(path.clone(), Vec::new());
                files(&path, found);
            }
            kind if kind.is_file() => drop(found.insert(path.clone(), fs::read(&path).unwrap())),
            _ => drop(found.insert(path, Vec::new())),
        }
    }
}

fn seen(directory: &Path) -> BTreeMap<PathBuf, Vec<u8>> {
    let mut found = BTreeMap::new();
    files(directory, &mut found);
    found
}

/// Fails the calls one by one. `keeps`: a failed run leaves a part and a journal for the next.
fn fail_each(words: &[&str], keeps: bool) {
    for (call, error) in CALLS {
        for number in 1..=MOST {
            let dir = TestDir::new();
            let inner = dir.at("room");
            fs::create_dir(&inner).unwrap();
            make(&inner);
            let before = seen(&inner);
            let mut command = Command::new("strace");
            command.args(["-f", "-qq", "-o"]).arg(dir.at("log"));
            command.args(["-e", &format!("trace={call}"), "-e"]);
            command.arg(format!("inject={call}:error={error}:when={number}"));
            command.arg(env!("CARGO_BIN_EXE_fullbore")).args(words).current_dir(&inner);
            let ended = run(command.env("XDG_CONFIG_HOME", "/nonexistent"));
            let log = fs::read_to_string(dir.at("log")).unwrap_or_default();
            let what = format!("{words:?}, {call} {number}: {ended}");
            assert!((0..=3).contains(&ended.code()) && !ended.stderr.contains("panicked"), "{what}");
            let after = seen(&inner);
            for (path, content) in &after {
                let name = path.file_name().unwrap().to_string_lossy();
                let kept = keeps && (name.contains("-part-") || name.contains("-journal"));
                assert!(!name.contains(".fullbore-") || kept && ended.code() != 0, "{name} is left: {what}");
                if let Some(old) = before.get(path).filter(|old| *old != content) {
                    assert_eq!(old, b"old bytes", "{}: {what}", path.display());
                    assert!(
                        before.values().any(|whole| whole == content),
                        "{} is not a copy: {what}",
                        path.display()
                    );
                }
            }
            assert!(before.keys().all(|path| after.contains_key(path)), "a file is lost: {what}");
            if !log.contains("(INJECTED)") {
                break;
            }
        }
    }
}

fn strace() -> bool {
    if has("strace") {
        let traced = Command::new("strace").args(["-qq", "-o", "/dev/null", "true"]).status();
        if traced.is_ok_and(|status| status.success()) {
            return true;
        }
    }
    println!("skipped: failing calls: no strace with permission to trace");
    false
}

#[test]
fn copy_with_failing_calls_leaves_nothing_partial() {
    if strace() {
        fail_each(&["copy", "--sync", "full", "in", "out"], false);
        fail_each(&["copy", "-p", "little", "out"], false);
        fail_each(&["transform", "none", "in", "out"], false);
    }
}

#[test]
fn tree_with_failing_calls_leaves_nothing_hidden() {
    if strace() {
        fail_each(&["copy", "-a", "tree", "new"], false);
        fail_each(&["copy", "-a", "tree/.", "there"], false);
    }
}

#[test]
fn resumed_or_verified_copy_with_failing_calls_loses_nothing() {
    if strace() {
        fail_each(&["copy", "--resume", "in", "out"], true);
        fail_each(&["copy", "--verify", "in", "out"], false);
    }
}

#[test]
fn linking_with_failing_calls_leaves_nothing() {
    if strace() {
        fail_each(&["dedupe", "--link", "hard", "one", "two"], false);
    }
}

/// With few descriptors, opening fails at each place in turn.
#[test]
fn without_descriptors_nothing_hidden_is_left() {
    for limit in 4..24 {
        for words in
            ["copy -r tree new", "copy in out", "copy -r tree/. there", "transform none in out", "gen 1M out"]
        {
            let dir = TestDir::new();
            make(dir.path());
            let before = seen(dir.path());
            let line = format!("ulimit -n {limit}; cd \"$1\" && exec \"$0\" {words}");
            let ended = shell(&line, &[dir.path()]);
            let after = seen(dir.path());
            let hidden = |path: &&PathBuf| path.file_name().unwrap().to_string_lossy().contains(".fullbore-");
            assert_eq!(after.keys().find(hidden), None, "{limit} {words}: {ended}");
            assert!(before.keys().all(|path| after.contains_key(path)), "{limit} {words}: {ended}");
        }
    }
}
