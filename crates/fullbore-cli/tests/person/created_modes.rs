//! Modes, owners and links of new files on file systems that lack something.

use crate::facilities::*;
use crate::support::*;

/// As on FAT mounted by another user: no mode can be changed. A file that keeps no mode gets that of the file system, as with `cp`.
#[test]
fn new_files_need_no_right_to_change_modes() {
    let dir = TestDir::new();
    dir.directories(["tree/deep"]);
    dir.file("tree/deep/small", bytes(1000, 1));
    dir.file("large", bytes(5 << 20, 2));
    let calls = "fchmod,fchmodat";
    let refuse = ["-e", &format!("trace={calls}"), "-e", &format!("inject={calls}:error=EPERM")];
    for (words, name) in [
        ("copy large other", "other"),
        ("copy --sync full large other", "other"),
        ("copy --resume large other", "other"),
        ("copy --preserve=ownership large other", "other"),
        ("copy --attributes-only large other", "other"),
        ("copy -r tree other", "other/deep/small"),
        ("copy -r --preserve=ownership tree other", "other/deep/small"),
    ] {
        let log = dir.at("log");
        let Some(mut command) = traced(&refuse, &log, &dir.command(words)) else { return };
        run(&mut command).succeeds();
        assert!(dir.at(name).exists(), "{words}");
        assert!(fs::read_to_string(&log).unwrap().contains("(INJECTED)"), "{words}");
        dir.shell("rm -r other").succeeds();
    }
}

/// Until a new directory or file has its owner and group, its mode gives nothing to a group.
#[test]
fn the_owner_comes_before_the_rights_of_the_group() {
    let Some(()) = or_skip("files of another user", root()) else { return };
    let dir = TestDir::new();
    dir.shell("mkdir -p tree/deep && echo abc > tree/deep/small && head -c 5000000 /dev/zero > tree/large")
        .succeeds();
    dir.shell("mkfifo tree/fifo && chmod -R 770 tree && chown -R 65534:65533 tree").succeeds();
    dir.shell("mkdir place && chgrp 65532 place && chmod 2777 place").succeeds();
    for words in
        ["copy -r --preserve=ownership tree place", "copy -r --resume --preserve=ownership tree place"]
    {
        let log = dir.at("log");
        let trace = ["-e", "trace=fchmod,fchown"];
        let Some(mut command) = traced(&trace, &log, &dir.command(words)) else { return };
        run(&mut command).succeeds();
        let calls = fs::read_to_string(&log).unwrap();
        let (mut owned, mut checked) = (BTreeSet::new(), 0);
        for line in calls.lines() {
            let Some((call, arguments)) = line.split_once('(') else { continue };
            // A call of one thread may be interrupted by that of another: `fchmod(5, 0750 <unfinished ...>`.
            let mut arguments = arguments.split([',', ')', '<']).map(str::trim);
            let file = arguments.next();
            if call.ends_with("fchown") {
                owned.insert(file);
            } else if call.ends_with("fchmod") {
                let mode = u32::from_str_radix(arguments.next().unwrap(), 8).unwrap();
                assert!(owned.remove(&file) || mode & 0o077 == 0, "{words}: {line}");
                checked += 1;
            }
        }
        assert!(checked > 3, "{words}: {calls}");
        let state = |name: &str| {
            let stat = dir.at(name).symlink_metadata().unwrap();
            (stat.uid(), stat.gid(), stat.mode() & 0o777)
        };
        for name in
            ["place/tree", "place/tree/deep", "place/tree/large", "place/tree/deep/small", "place/tree/fifo"]
        {
            assert_eq!(state(name), (65534, 65533, 0o750), "{words}: {name}");
        }
        dir.shell("rm -r place/tree").succeeds();
    }
}

/// A clone that replaces the file created for it is the file that further names belong to.
#[test]
fn names_of_a_shared_file_are_names_of_one_copy() {
    let dir = TestDir::new();
    let Some(_mounted) = mount_sharing(&dir, "xfs") else { return };
    dir.directories(["xfs/tree", "xfs/place"]);
    dir.file("xfs/tree/a", bytes(1 << 20, 1));
    fs::hard_link(dir.at("xfs/tree/a"), dir.at("xfs/tree/b")).unwrap();
    let Some(mut command) = without_proc(&dir.command("copy -a xfs/tree/a xfs/tree/b xfs/place")) else {
        return;
    };
    run(&mut command).succeeds();
    let [one, two] = ["xfs/place/a", "xfs/place/b"].map(|name| dir.at(name).metadata().unwrap().ino());
    assert_eq!(one, two);
}

/// A file that shares the blocks of another keeps its own rights, whatever the directory gives new files.
#[test]
fn shared_blocks_give_no_rights() {
    let dir = TestDir::new();
    let Some(_mounted) = mount_sharing(&dir, "xfs") else { return };
    dir.directories(["xfs/place"]);
    for name in ["xfs/place/a", "xfs/place/b"] {
        dir.file(name, bytes(1 << 20, 1));
        dir.set_mode(name, 0o640);
    }
    let none = u32::MAX;
    let list = access_list(&[(1, 7, none), (2, 6, NOBODY), (4, 5, none), (16, 7, none), (32, 0, none)]);
    let flags = rustix::fs::XattrFlags::empty();
    rustix::fs::setxattr(dir.at("xfs/place"), "system.posix_acl_default", &list, flags).unwrap();
    let text = dir.run("dedupe --link reflink xfs/place").succeeds().text();
    assert!(text.contains("xfs/place/b: linked"), "{text}");
    for name in ["xfs/place/a", "xfs/place/b"] {
        let found = rustix::fs::lgetxattr(dir.at(name), "system.posix_acl_access", &mut [0u8; 0]);
        assert_eq!(found, Err(rustix::io::Errno::NODATA), "{name}");
        assert_eq!(dir.mode(name), 0o640);
    }
}
