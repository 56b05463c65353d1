//! `--sync`: the calls that put bytes and names on the device, in their order.

use crate::support::*;

/// Returns the calls of a shell line with the binary as `$0` that sync or name files: those that name one are called `name`, and
/// those that sync the test's directory have it after their name; `None`, with the reason printed, without `strace`.
fn calls(dir: &TestDir, line: &str) -> Option<Vec<String>> {
    let log = dir.at("log");
    let trace = ["-y", "-e", "trace=fsync,fdatasync,syncfs,linkat,rename,renameat,renameat2"];
    run(&mut traced(&trace, &log, &dir.shell_command(&format!("exec \"$0\" {line}")))?).succeeds();
    let text = fs::read_to_string(&log).unwrap();
    let own = format!("<{}>)", dir.path().canonicalize().unwrap().display());
    let call = |line: &str| {
        let (call, arguments) = line.split_once(' ')?.1.trim().split_once('(')?;
        // Without the trial of a call, and calls that strace does not know.
        let done = arguments.ends_with(" = 0") && !call.starts_with("syscall");
        let name = match (call.contains("sync"), arguments.contains(&own)) {
            (true, true) => format!("{call} directory"),
            (true, false) => call.to_owned(),
            (false, _) => "name".to_owned(),
        };
        done.then_some(name)
    };
    let mut calls: Vec<String> = text.lines().filter_map(call).collect();
    // A file that replaces another gets a hidden name first.
    calls.dedup_by(|next, call| next == "name" && call == "name");
    Some(calls)
}

#[test]
fn each_level_has_its_calls() {
    let dir = TestDir::new();
    dir.file("in", bytes(100_000, 1));
    dir.directories(["tree/deep", "tree/empty"]);
    dir.files(["tree/small", "tree/deep/other"], "bytes");
    let named = ["name", "fdatasync,name", "fsync,name,fsync directory"];
    let written = ["", "fdatasync", "fsync"];
    let tree = ["name", "syncfs,name", "syncfs,name,fsync directory"];
    for (words, levels) in [
        ("transform none in new", named),
        ("transform none in old", named),
        ("transform none in old --overwrite", written),
        ("transform none old --in-place", written),
        ("transform none in - >new", written),
        ("gen 100K new", named),
        ("gen 100K old", named),
        ("gen 100K old --overwrite", written),
        ("copy --reflink=never in new", named),
        ("copy in old", named),
        ("copy -r tree new", tree),
    ] {
        for (level, wanted) in ["none", "data", "full"].iter().zip(levels) {
            dir.shell("rm -rf new; echo old >old").succeeds();
            let Some(found) = calls(&dir, &format!("{words} --sync {level}")) else { return };
            assert_eq!(found.join(","), wanted, "{words} --sync {level}");
        }
    }
}

/// The bytes are on the device before the target has its name, and a skipped target is synced on request.
#[test]
fn resumed_targets_are_synced() {
    let dir = TestDir::new();
    dir.directories(["src/in", "dst"]);
    dir.file("src/in/small", "bytes");
    dir.file("src/in/medium", bytes(400_000, 1));
    dir.file("src/in/large", bytes(6 << 20, 2));
    let copy = "copy -r --resume --reflink=never --workers 1 src dst";
    let Some(first) = calls(&dir, copy) else { return };
    assert_eq!(first, ["fdatasync", "name"].repeat(3));
    assert_eq!(calls(&dir, copy).unwrap(), [""; 0]);
    assert_eq!(calls(&dir, &format!("{copy} --sync data")).unwrap(), ["fdatasync"; 3]);
}

#[test]
fn names_of_every_kind_are_synced_at_level_full() {
    let dir = TestDir::new();
    dir.directories(["there", "empty"]);
    symlink("file", dir.at("link")).unwrap();
    dir.fifo("fifo");
    fs::hard_link(dir.file("file", "bytes"), dir.at("other")).unwrap();
    // The directory of the new name, and that of a new directory.
    for (words, least) in [
        ("copy -P --sync full link there/link", 1),
        ("copy -R --sync full fifo there/fifo", 1),
        ("copy -l --sync full file there/hard", 1),
        ("copy -s --sync full file symbolic", 1),
        ("copy -d --sync full file other there", 3),
        ("copy -a --resume --sync full empty new", 2),
        ("copy --attributes-only --sync full file there/file", 1),
    ] {
        let Some(calls) = calls(&dir, words) else { return };
        let count = calls.iter().filter(|call| call.starts_with("fsync")).count();
        assert!(count >= least, "{words}: {calls:?}");
    }
}
