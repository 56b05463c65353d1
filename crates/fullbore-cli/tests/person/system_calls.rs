//! System calls that fail, are forbidden, or are counted. Each one that creates, names or closes a file fails in turn: no
//! hidden file is left, and no old file is lost.

use crate::support::*;
use seccompiler::{BpfProgram, SeccompAction, SeccompFilter, apply_filter};

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
    dir.directories(["room/tree/in/deep", "room/there"]);
    for (name, len) in
        [("tree/small", 1000), ("tree/in/deep/other", 300_000), ("in", 5 << 20), ("little", 5000)]
    {
        dir.file(&format!("room/{name}"), bytes(len, len as u64));
    }
    symlink("small", dir.at("room/tree/link")).unwrap();
    dir.files(["room/out", "room/there/small"], "old bytes");
    dir.files(["room/one", "room/two"], bytes(50_000, 1));
    dir
}

/// Runs a command on the files of a template. Fails if it leaves a hidden file, unless it failed and `keeps` a part and a
/// journal for the next run, or if a file is lost or partly written. Returns its exit code.
fn leaves_nothing_partial(template: &TestDir, what: &str, keeps: bool, command: &mut Command) -> i32 {
    template.shell("rm -rf place && cp -a room place").succeeds();
    let place = template.at("place");
    let before = snapshot(&place);
    let ended = run(command);
    let what = format!("{what}: {ended}");
    assert!((0..=3).contains(&ended.code()) && !ended.stderr.contains("panicked"), "{what}");
    let after = snapshot(&place);
    for (path, FileState { content, .. }) in &after {
        let name = path.file_name().unwrap().to_string_lossy();
        let kept = keeps && (name.contains("-part-") || name.contains("-journal"));
        assert!(!name.contains(".fullbore-") || kept && ended.code() != 0, "{name} is left: {what}");
        if let Some(old) = before.get(path).filter(|old| old.content != *content) {
            assert_eq!(old.content, b"old bytes", "{}: {what}", path.display());
            let whole = before.values().any(|whole| whole.content == *content);
            assert!(whole, "{} is not a copy: {what}", path.display());
        }
    }
    assert!(before.keys().all(|path| after.contains_key(path)), "a file is lost: {what}");
    if what.contains("--backup") {
        let is_out = |path: &Path| path.file_name().is_some_and(|name| name.as_bytes().starts_with(b"out"));
        let kept = after.iter().any(|(path, state)| is_out(path) && state.content == b"old bytes");
        assert!(kept, "neither the target nor its backup has the old bytes: {what}");
    }
    ended.code()
}

/// Fails the calls one by one. `keeps`: a failed run leaves a part and a journal for the next. Each of `calls` must be among
/// them. A run fails if a sync fails.
fn fail_each(words: &str, keeps: bool, calls: &str) {
    let template = template();
    let log = template.at("log");
    let mut failed = BTreeSet::new();
    for (call, error) in CALLS {
        for number in (1..7).chain(cases("failing calls", 2, 7..=MOST)) {
            let mut command = template.command(words);
            command.current_dir(template.at("place"));
            let inject = format!("inject={call}:error={error}:when={number}");
            let options = ["-e", &format!("trace={call}"), "-e", &inject];
            let Some(mut command) = traced(&options, &log, &command) else { return };
            let what = format!("{words}, {call} {number}");
            let code = leaves_nothing_partial(&template, &what, keeps, &mut command);
            if !fs::read_to_string(&log).unwrap_or_default().contains("(INJECTED)") {
                break;
            }
            assert!(code != 0 || !call.ends_with("sync"), "{what}: exit 0");
            failed.insert(call);
        }
    }
    let missing: Vec<_> = calls.split(' ').filter(|call| !failed.contains(call)).collect();
    assert!(missing.is_empty(), "{words}: {missing:?} never failed");
}

#[test]
fn copy_with_failing_calls_leaves_nothing_partial() {
    fail_each("copy --sync full in out", false, "fsync renameat");
    fail_each("copy -p little out", false, "renameat utimensat");
    fail_each("transform none in out", false, "pwrite64 renameat");
}

/// NFS, SMB and FUSE report a full disk only when a file is closed.
#[test]
fn errors_of_closing_keep_the_old_file() {
    let template = template();
    let log = template.at("log");
    for words in ["copy in out", "copy little out", "transform none in out", "copy -r tree new", "gen 1M out"]
    {
        template.shell("rm -rf place && cp -a room place").succeeds();
        let mut command = template.command(words);
        command.current_dir(template.at("place"));
        let failing = |from: usize| {
            let inject = format!("inject=close:error=ENOSPC:when={from}+");
            traced(&["-e", "trace=close", "-e", &inject], &log, &command)
        };
        if failing(1).is_none() {
            return;
        }
        // The dynamic loader closes files first, and ends with 127 if it cannot.
        let after_loading =
            (1..20).find(|&from| failing(from).is_some_and(|mut from| run(&mut from).code() != 127));
        let Some(mut command) = after_loading.and_then(failing) else {
            panic!("{words}: it was never started")
        };
        let ended = run(&mut command);
        assert!(ended.code() != 0 && ended.stderr.contains("cannot close"), "{words}: {ended}");
        assert_eq!(template.read("place/out"), b"old bytes", "{words}");
        leaves_nothing_partial(&template, words, false, &mut command);
    }
}

#[test]
fn backups_outlive_failures_after_the_target_is_replaced() {
    fail_each("copy -a --backup tree/link out", false, "linkat renameat symlinkat utimensat");
    fail_each("copy --sync full --backup little out", false, "fsync linkat renameat");
}

#[test]
fn tree_with_failing_calls_leaves_nothing_hidden() {
    fail_each("copy -a tree new", false, "getdents64 mkdirat renameat2 symlinkat utimensat");
    fail_each("copy -a tree/. there", false, "getdents64 mkdirat symlinkat utimensat");
}

#[test]
fn resumed_or_verified_copy_with_failing_calls_loses_nothing() {
    fail_each("copy --resume in out", true, "fdatasync renameat utimensat");
    fail_each("copy --verify in out", false, "renameat");
}

#[test]
fn linking_with_failing_calls_leaves_nothing() {
    fail_each("dedupe --link hard one two", false, "linkat renameat");
}

/// With few descriptors, opening fails at each place in turn.
#[test]
fn without_descriptors_nothing_hidden_is_left() {
    let template = template();
    let commands =
        ["copy -r tree new", "copy in out", "copy -r tree/. there", "transform none in out", "gen 1M out"];
    let every = (3..24).flat_map(|limit| commands.map(|words| (limit, words)));
    for (limit, words) in cases("few descriptors", 3, every) {
        template.shell("rm -rf place && cp -a room place").succeeds();
        let before = snapshot(&template.at("place"));
        let ended = template.shell(&format!("cd place; ulimit -n {limit}; exec \"$0\" {words}"));
        let after = snapshot(&template.at("place"));
        let hidden = |path: &&PathBuf| path.file_name().unwrap().to_string_lossy().contains(".fullbore-");
        assert_eq!(after.keys().find(hidden), None, "{limit} {words}: {ended}");
        assert!(before.keys().all(|path| after.contains_key(path)), "{limit} {words}: {ended}");
    }
}

/// `io_uring_setup(2)`: the same number on every architecture.
const IO_URING_SETUP: i64 = 425;

/// Runs a command in a sandbox that forbids io_uring, as containers do although the kernel supports it: the filter applies to its own thread and its children.
fn sandboxed(mut command: Command) -> Finished {
    let confined = move || {
        let filter = SeccompFilter::new(
            BTreeMap::from([(IO_URING_SETUP, vec![])]),
            SeccompAction::Allow,
            SeccompAction::Errno(1),
            std::env::consts::ARCH.try_into().unwrap(),
        );
        let program: BpfProgram = filter.unwrap().try_into().unwrap();
        apply_filter(&program).unwrap();
        run(&mut command)
    };
    thread::spawn(confined).join().unwrap()
}

#[test]
fn a_forbidden_io_uring_is_refused_with_the_reason_or_replaced() {
    let dir = TestDir::new();
    let data = bytes(3_000_001, 6);
    let input = dir.file("in", &data);
    let sandboxed = |words: &str| sandboxed(dir.command(words));
    let probed = sandboxed("probe in").succeeds().text();
    let line = probed.lines().find(|line| line.trim_start().starts_with("uring")).unwrap();
    assert!(line.contains("forbidden here (seccomp"), "{line}");

    sandboxed("transform upper in out --strategy method=uring").fails(2, &["uring", "forbidden here"]);
    assert_eq!(dir.names(), ["in"]);

    // The asynchronous members of the family use io_uring where that works.
    for name in ["auto", "cci-ov", "cci-ex"] {
        let ended = sandboxed(&format!("transform upper in out --strategy {name} --explain")).succeeds();
        assert!(name == "auto" || ended.stderr.contains("uring"), "{name}: {ended}");
        assert!(dir.read("out") == data.to_ascii_uppercase(), "{name}");
    }

    // For cold input, `auto` would choose io_uring.
    let file = File::open(&input).unwrap();
    file.sync_all().unwrap();
    rustix::fs::fadvise(&file, 0, None, rustix::fs::Advice::DontNeed).unwrap();
    sandboxed("transform none in /dev/null --explain").succeeds();
}

/// A length that no other file has, in bytes.
const LARGE: usize = 20_000_003;

/// The state of a large input is determined once before a run and once after it, and passed down in between.
#[test]
fn a_large_input_is_inspected_once_before_a_run_and_once_after() {
    let dir = TestDir::new();
    dir.files(["one", "other"], bytes(LARGE, 1));
    let size = format!("_size={LARGE},");
    let options = ["-e", "trace=fstat,newfstatat,statx,open,openat"];
    for strategy in ["method=buffered", "read=mmap,write=buffered,window=4M"] {
        for (line, expected) in [
            ("wc -l one", 2),
            ("sum one", 2),
            ("sum --algorithm sha256 one", 2),
            ("cmp one other", 4),
            // The output is inspected when it is committed.
            ("transform upper one new", 3),
            // Names are resolved before files are opened, and the copy is compared with its source afterwards. No inspection per
            // window or worker.
            ("copy --reflink=never one new", 6),
        ] {
            // An old output of the same length would be counted.
            let _ = fs::remove_file(dir.at("new"));
            let line = format!("{line} --strategy {strategy},workers=2,model=pool,stripe=1M");
            let Some(mut command) = traced(&options, &dir.at("trace"), &dir.command(&line)) else { return };
            run(&mut command).succeeds();
            let calls = fs::read_to_string(dir.at("trace")).unwrap();
            let found: Vec<_> = calls.lines().filter(|call| call.contains(&size)).collect();
            assert_eq!(found.len(), expected, "{line}: {found:#?}");
        }
    }
}

/// Facts of the machine, such as the number of processors in a control group, take longer to read than a small file.
#[test]
fn a_small_file_needs_no_facts_of_the_machine() {
    let dir = TestDir::new();
    dir.files(["one", "other"], "some text\n");
    for line in ["wc one", "wc -l one", "sum one", "cmp one other", "copy one new", "transform upper one new"]
    {
        let options = ["-e", "trace=open,openat,stat,statx"];
        let Some(mut command) = traced(&options, &dir.at("trace"), &dir.command(line)) else { return };
        run(&mut command).succeeds();
        let calls = fs::read_to_string(dir.at("trace")).unwrap();
        let of_machine = calls.lines().find(|call| call.contains("\"/sys/") || call.contains("cgroup"));
        assert_eq!(of_machine, None, "{line}");
    }
}
