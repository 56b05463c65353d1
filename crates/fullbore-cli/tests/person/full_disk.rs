//! A full disk: the system's error message, an intact old output, nothing left behind, no signal.

use crate::support::*;

#[test]
fn full_disk_is_reported_and_loses_nothing() {
    let dir = TestDir::new();
    let make = "mkfs.ext4 -q -F -O ^has_journal";
    let small = mount_image(make, &dir.at("image"), 16 << 20, &dir.at("disk"));
    let Some(_disk) = or_skip("a full disk", small) else { return };
    let disk = dir.at("disk");
    let old = bytes(3 << 20, 1);
    let output = disk.join("out");
    fs::write(&output, &old).unwrap();
    let input = dir.file("in", bytes(24 << 20, 2));
    let free = || rustix::fs::statvfs(&disk).unwrap().f_bavail;
    rustix::fs::sync();
    let before = free();
    let all = strategies(&["method=mmap,window=256K,workers=2", "method=uring,cache=direct,depth=8"]);
    let all = all.iter().flat_map(|strategy| {
        ["extend", "size", "fallocate"].map(|alloc| format!("{strategy},alloc={alloc}"))
    });
    for strategy in cases("a full disk", 4, all) {
        let ended = run(&mut transform("shift:1", &input, &output, &["--strategy", &strategy]));
        if refused(&ended) {
            continue;
        }
        ended.fails(2, &["disk/out", "No space left on device", "free some space"]);
        assert!(fs::read(&output).unwrap() == old, "{strategy}");
        assert_eq!(names(&disk), ["out"], "{strategy}");
        let ended = run(&mut transform("shift:1", &input, &disk.join("new"), &["--strategy", &strategy]));
        ended.fails(2, &["disk/new", "No space left on device"]);
        assert_eq!(names(&disk), ["out"], "{strategy}");
    }
    for method in ["splice", "copy_file_range"] {
        let option = format!("method={method}");
        let ended = run(&mut transform("none", &input, &output, &["--strategy", &option]));
        if !refused_method(&ended, method) {
            ended.fails(2, &["disk/out", "No space left on device"]);
        }
        assert!(fs::read(&output).unwrap() == old, "{method}");
    }
    for content in ["random", "text", "zeros"] {
        run(fullbore(["gen", "24M", "--content", content]).arg(&output))
            .fails(2, &["No space left on device"]);
        assert!(fs::read(&output).unwrap() == old, "{content}");
    }
    for strategy in ["auto", "cci", "cci-mm", "cci-stdio", "cci-mmtp", "cci-ov"] {
        let mut over = transform("shift:1", &input, &output, &["--overwrite", "--strategy", strategy]);
        run(&mut over).fails(2, &["disk/out", "No space left on device"]);
        fs::write(&output, &old).unwrap();
    }
    assert_eq!(names(&disk), ["out"]);
    rustix::fs::sync();
    assert!(free() + 64 >= before, "blocks are lost: {before} before, {} now", free());
}

/// A device that accepts no more data: its backing file is in memory and cannot grow. Files can still be allocated on
/// it. Later writeback is lost, so only a write that bypasses the page cache reports the error.
#[test]
fn bypassing_strategy_fails_on_a_device_that_refuses_writes() {
    let dir = TestDir::new();
    let what = "a device that refuses writes";
    let Some(_memory) = or_skip(what, Mount::in_memory("size=24m", &dir.at("memory"))) else { return };
    let make = "mkfs.ext4 -q -F -E nodiscard -O ^has_journal";
    let disk = mount_image(make, &dir.at("memory/image"), 192 << 20, &dir.at("disk"));
    let Some(_disk) = or_skip(what, disk) else { return };
    let input = dir.file("in", bytes(64 << 20, 7));
    let output = dir.at("disk/out");
    for strategy in ["method=direct", "method=aio", "write=direct,workers=1", "method=uring,cache=direct"] {
        for options in [&["--resume"][..], &["--resume", "--verify"], &[]] {
            let mut command = fullbore(["copy", "--reflink=never", "--sync", "none", "--strategy", strategy]);
            let ended = run(command.args(options).arg(&input).arg(&output));
            if refused(&ended) {
                continue;
            }
            assert!(ended.code() == 1 && ended.stderr.contains("out"), "{strategy} {options:?}: {ended}");
            assert!(!output.exists(), "{strategy} {options:?}");
        }
        let ended = dir.run(&format!("transform none in disk/out --sync none --strategy {strategy}"));
        assert!(ended.code() == 2 && ended.stderr.contains("out: cannot"), "{strategy}: {ended}");
        assert!(!output.exists(), "{strategy}");
    }
}
