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

/// Creates the files on which the commands work.
fn template() -> TestDir {
    let dir = TestDir::new();
    dir.directories(["room/tree/in", "room/there"]);
    for (name, len) in [("tree/small", 1000), ("tree/in/other", 300_000), ("in", 5 << 20), ("little", 5000)] {
        dir.file(&format!("room/{name}"), bytes(len, len as u64));
    }
    symlink("small", dir.at("room/tree/link")).unwrap();
    dir.files(["room/out", "room/there/small"], "old bytes");
    dir.files(["room/one", "room/two"], bytes(50_000, 1));
    dir
}

/// Returns every file with its content, by its path.
fn seen(directory: &Path) -> BTreeMap<PathBuf, Vec<u8>> {
    let content = |(path, kind): (PathBuf, fs::Metadata)| {
        let content = if kind.is_file() { fs::read(&path).unwrap() } else { Vec::new() };
        (path, content)
    };
    walked(directory).into_iter().map(content).collect()
}

/// Runs a command on the files of a template. Fails if it leaves a hidden file, unless it failed and `keeps` a part and a
/// journal for the next run, or if a file is lost or partly written.
fn leaves_nothing_partial(template: &TestDir, what: &str, keeps: bool, command: &mut Command) {
    template.shell("rm -rf place && cp -a room place").succeeds();
    let place = template.at("place");
    let before = seen(&place);
    let ended = run(command);
    let what = format!("{what}: {ended}");
    assert!((0..=3).contains(&ended.code()) && !ended.stderr.contains("panicked"), "{what}");
    let after = seen(&place);
    for (path, content) in &after {
        let name = path.file_name().unwrap().to_string_lossy();
        let kept = keeps && (name.contains("-part-") || name.contains("-journal"));
        assert!(!name.contains(".fullbore-") || kept && ended.code() != 0, "{name} is left: {what}");
        if let Some(old) = before.get(path).filter(|old| *old != content) {
            assert_eq!(old, b"old bytes", "{}: {what}", path.display());
            let whole = before.values().any(|whole| whole == content);
            assert!(whole, "{} is not a copy: {what}", path.display());
        }
    }
    assert!(before.keys().all(|path| after.contains_key(path)), "a file is lost: {what}");
}

/// Fails the calls one by one. `keeps`: a failed run leaves a part and a journal for the next.
fn fail_each(words: &str, keeps: bool) {
    let template = template();
    let log = template.at("log");
    for (call, error) in CALLS {
        for number in (1..7).chain(cases("failing calls", 2, 7..=MOST)) {
            let mut command = template.command(words);
            command.current_dir(template.at("place"));
            let inject = format!("inject={call}:error={error}:when={number}");
            let options = ["-e", &format!("trace={call}"), "-e", &inject];
            let Some(mut command) = traced(&options, &log, &command) else { return };
            let what = format!("{words}, {call} {number}");
            leaves_nothing_partial(&template, &what, keeps, &mut command);
            if !fs::read_to_string(&log).unwrap_or_default().contains("(INJECTED)") {
                break;
            }
        }
    }
}

#[test]
fn copy_with_failing_calls_leaves_nothing_partial() {
    fail_each("copy --sync full in out", false);
    fail_each("copy -p little out", false);
    fail_each("transform none in out", false);
}

#[test]
fn tree_with_failing_calls_leaves_nothing_hidden() {
    fail_each("copy -a tree new", false);
    fail_each("copy -a tree/. there", false);
}

#[test]
fn resumed_or_verified_copy_with_failing_calls_loses_nothing() {
    fail_each("copy --resume in out", true);
    fail_each("copy --verify in out", false);
}

#[test]
fn linking_with_failing_calls_leaves_nothing() {
    fail_each("dedupe --link hard one two", false);
}

/// With few descriptors, opening fails at each place in turn.
#[test]
fn without_descriptors_nothing_hidden_is_left() {
    let template = template();
    let commands =
        ["copy -r tree new", "copy in out", "copy -r tree/. there", "transform none in out", "gen 1M out"];
    let every = (4..24).flat_map(|limit| commands.map(|words| (limit, words)));
    for (limit, words) in cases("few descriptors", 3, every) {
        template.shell("rm -rf place && cp -a room place").succeeds();
        let before = seen(&template.at("place"));
        let ended = template.shell(&format!("cd place; ulimit -n {limit}; exec \"$0\" {words}"));
        let after = seen(&template.at("place"));
        let hidden = |path: &&PathBuf| path.file_name().unwrap().to_string_lossy().contains(".fullbore-");
        assert_eq!(after.keys().find(hidden), None, "{limit} {words}: {ended}");
        assert!(before.keys().all(|path| after.contains_key(path)), "{limit} {words}: {ended}");
    }
}
