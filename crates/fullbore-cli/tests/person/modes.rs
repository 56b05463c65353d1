//! Modes, owners and links of outputs: protected files are not written, replaced files keep their permissions.

use std::os::unix::fs::chown;

use crate::support::*;

/// Returns the mode, owner and group of a file.
fn rights(dir: &TestDir, name: &str) -> (u32, u32, u32) {
    let found = fs::metadata(dir.at(name)).unwrap();
    (found.mode() & 0o7777, found.uid(), found.gid())
}

#[test]
fn a_replaced_file_keeps_its_mode_and_owner() {
    let dir = TestDir::new();
    dir.file("in", "abc");
    dir.set_mode("in", 0o600);
    for mode in [0o640, 0o600, 0o666, 0o755, 0o4755] {
        // A write by an ordinary user clears the set-ID bits.
        let wanted = if root().is_ok() { mode } else { mode & 0o777 };
        dir.file("out", "old");
        dir.set_mode("out", mode);
        dir.run("transform upper in out").succeeds();
        assert_eq!((dir.mode("out"), dir.read("out")), (wanted, b"ABC".to_vec()), "{wanted:o}");
    }
    let Some(()) = or_skip("keeping another owner", root()) else { return };
    chown(dir.file("out", "old"), Some(65534), Some(65533)).unwrap();
    dir.run("transform upper in out").succeeds();
    let (_, owner, group) = rights(&dir, "out");
    assert_eq!((owner, group), (65534, 65533));
}

/// A process that may give files away, but not change their modes afterwards, as root of some containers.
#[test]
fn a_private_file_is_not_replaced_by_one_that_others_read() {
    let Some(()) = or_skip("files of another user", root()) else { return };
    let Some(()) = or_skip("fewer capabilities", installed("setpriv")) else { return };
    let dir = TestDir::new();
    chown(dir.file("out", "old"), Some(65534), Some(65534)).unwrap();
    dir.set_mode("out", 0o600);
    let mut command = Command::new("setpriv");
    command.args(["--bounding-set", "-fowner"]).arg(binary()).args(["gen", "10", "out"]);
    let status = command.current_dir(dir.path()).stderr(Stdio::null()).status().unwrap();
    let (mode, owner, _) = rights(&dir, "out");
    assert_eq!((status.code(), dir.read("out")), (Some(2), b"old".to_vec()));
    assert_eq!((mode, owner), (0o600, 65534));
}

/// Attributes that are not preserved stay those of the replaced file.
#[test]
fn a_replaced_file_keeps_what_is_not_preserved() {
    let Some(()) = or_skip("files of another user", root()) else { return };
    let dir = TestDir::new();
    dir.file("in", "abc");
    dir.set_mode("in", 0o640);
    for (words, wanted) in [
        ("copy --preserve=mode in out", (0o640, 65534, 65533)),
        ("copy -a --no-preserve=ownership in out", (0o640, 65534, 65533)),
        ("copy --preserve=ownership in out", (0o604, 0, 0)),
        ("copy -p in out", (0o640, 0, 0)),
        ("copy --preserve=timestamps in out", (0o604, 65534, 65533)),
    ] {
        let _ = fs::remove_file(dir.at("out"));
        chown(dir.file("out", "old"), Some(65534), Some(65533)).unwrap();
        dir.set_mode("out", 0o604);
        dir.run(words).succeeds();
        assert_eq!((rights(&dir, "out"), dir.read("out")), (wanted, b"abc".to_vec()), "{words}");
    }
}

// Default access lists.
#[cfg(target_os = "linux")]
#[test]
fn new_files_obey_the_default_access_list() {
    let dir = TestDir::new();
    dir.directories(["tree"]);
    dir.file("tree/small", "abc");
    dir.file("tree/large", bytes(300_000, 1));
    let place = dir.at("place");
    fs::create_dir(&place).unwrap();
    // Owner, group, others.
    let list = access_list(&[(1, 7, u32::MAX), (4, 7, u32::MAX), (32, 0, u32::MAX)]);
    let flags = rustix::fs::XattrFlags::empty();
    let set = rustix::fs::setxattr(&place, "system.posix_acl_default", &list, flags);
    let Some(()) = or_skip("default access lists", set) else { return };
    for (umask, mode) in [("022", 0o644), ("077", 0o664)] {
        for name in ["tree/small", "tree/large"] {
            dir.set_mode(name, mode);
        }
        let copy = r#""$0" copy tree/small tree/large place && "$0" copy -r tree place"#;
        dir.shell(&format!("umask {umask}; {copy}; \"$0\" copy --attributes-only tree/small place/empty"))
            .succeeds();
        for name in ["small", "large", "tree/small", "tree/large", "empty"] {
            assert_eq!(dir.mode(&format!("place/{name}")), mode & 0o770, "{name}");
        }
        dir.shell("rm -r place/*").succeeds();
    }
}

/// A kept mode leaves no access list that the source lacks, which could give another user access.
#[cfg(target_os = "linux")]
#[test]
fn a_kept_mode_excludes_the_default_access_list() {
    let dir = TestDir::new();
    dir.shell("mkdir place tree && mkfifo tree/fifo && echo abc > tree/file && chmod 640 tree/*").succeeds();
    // A user with the right to read and write, and the mask.
    let (none, other) = (u32::MAX, 65534);
    let list = access_list(&[(1, 7, none), (2, 6, other), (4, 5, none), (16, 7, none), (32, 0, none)]);
    let flags = rustix::fs::XattrFlags::empty();
    let set = rustix::fs::setxattr(dir.at("place"), "system.posix_acl_default", &list, flags);
    let Some(()) = or_skip("default access lists", set) else { return };
    for flag in ["-a", "-rp", "-r --preserve=mode"] {
        dir.run(&format!("copy {flag} tree place")).succeeds();
        for name in ["place/tree", "place/tree/fifo", "place/tree/file"] {
            let found = rustix::fs::lgetxattr(dir.at(name), "system.posix_acl_access", &mut [0u8; 0]);
            assert_eq!(found, Err(rustix::io::Errno::NODATA), "{flag} {name}");
        }
        assert_eq!(dir.mode("place/tree/fifo"), 0o640, "{flag}");
        dir.shell("rm -r place/tree").succeeds();
    }
}

/// A file owned by its writer runs as its writer: it must not keep the bits that made the old file run as its owner.
#[test]
fn set_id_bits_survive_only_with_owner_and_group() {
    let Some(()) = or_skip("files of another user", root()) else { return };
    let Some(other) = Unprivileged::new() else { return };
    let dir = TestDir::open_to_all();
    for content in [&b"new bytes"[..], &bytes(5 << 20, 1)] {
        dir.file("in", content);
        dir.set_mode("in", 0o644);
        for words in [
            "copy in out",
            "copy -f in out",
            "copy --preserve=mode set out",
            "copy -p set out",
            "copy --verify in out",
            "copy --resume in out",
            "copy -r tree into",
            "transform upper in out",
            "gen 1K out",
        ] {
            for mode in [0o4777, 0o2777, 0o6777] {
                for tree in ["tree", "into/tree"] {
                    dir.directories([tree]);
                    dir.set_mode(tree, 0o777);
                }
                dir.file("tree/out", content);
                for path in ["out", "set", "into/tree/out"] {
                    let _ = fs::remove_file(dir.at(path));
                    dir.file(path, content);
                    dir.set_mode(path, mode);
                }
                let ended = other.run(&dir, words).succeeds();
                let written = if words.contains("-r ") { "into/tree/out" } else { "out" };
                let (found, owner, _) = rights(&dir, written);
                assert_eq!((found & 0o6000, owner), (0, 65534), "{words} {mode:o}: {found:o}, {ended}");
            }
        }
        // If owner and group can be preserved, so are the bits.
        for words in ["copy in out", "copy -p set out", "transform upper in out"] {
            for name in ["out", "set"] {
                chown(dir.file(name, content), Some(65534), Some(65533)).unwrap();
                dir.set_mode(name, 0o6755);
            }
            dir.run(words).succeeds();
            assert_eq!(rights(&dir, "out"), (0o6755, 65534, 65533), "{words}");
        }
    }
}

/// A change of the mode by a user outside the group clears the bit.
#[test]
fn new_directories_inherit_the_set_group_id_bit() {
    let Some(()) = or_skip("a directory of another group", root()) else { return };
    let Some(other) = Unprivileged::new() else { return };
    let dir = TestDir::open_to_all();
    dir.directories(["tree/inner", "shared"]);
    chown(dir.at("shared"), None, Some(4242)).unwrap();
    dir.set_mode("shared", 0o2777);
    other.run(&dir, "copy -r tree shared/copy").succeeds();
    for name in ["shared/copy", "shared/copy/inner"] {
        let (mode, owner, group) = rights(&dir, name);
        assert_eq!((mode & 0o2000, owner, group), (0o2000, 65534, 4242), "{name}");
    }
}

/// A umask may deny the owner access to new directories.
#[test]
fn trees_are_copied_under_any_umask() {
    let Some(other) = Unprivileged::new() else { return };
    let dir = TestDir::open_to_all();
    dir.directories(["tree/inner"]);
    dir.files(["tree/file", "tree/inner/file"], "bytes");
    let peer = has("cp");
    for umask in ["0222", "0277", "0333", "0100", "0400", "0777"] {
        for flags in ["-r", "-a"] {
            dir.directories(["place"]);
            dir.set_mode("place", 0o777);
            let copied = |command: &mut Command, target: &str| {
                let script = format!("umask {umask}; exec \"$@\"");
                let mut shell = Command::new("bash");
                shell.args(["-c", &script, "bash"]).arg(command.get_program()).args(command.get_args());
                run(shell.env("XDG_CONFIG_HOME", NOWHERE).stdin(Stdio::null())).succeeds();
                ["", "/file", "/inner", "/inner/file"].map(|name| {
                    let name = format!("place/{target}{name}");
                    let mode = dir.mode(&name);
                    // Its owner, if that is not root, could not look into it.
                    dir.set_mode(&name, mode | 0o700);
                    mode
                })
            };
            let target = |name: &str| dir.at("place").join(name);
            let ours = copied(other.command(["copy", flags]).arg(dir.at("tree")).arg(target("ours")), "ours");
            if peer {
                let cp = Path::new("cp");
                let mut cp = if root().is_ok() { as_user(NOBODY, cp) } else { Command::new(cp) };
                let theirs = copied(cp.arg(flags).arg(dir.at("tree")).arg(target("theirs")), "theirs");
                assert_eq!(ours, theirs, "{umask} {flags}");
            }
            fs::remove_dir_all(dir.at("place")).unwrap();
        }
    }
}

#[test]
fn a_new_file_has_the_mode_of_any_new_file() {
    let dir = TestDir::new();
    dir.file("in", "abc");
    for (umask, wanted) in [("022", 0o644), ("077", 0o600), ("002", 0o664)] {
        dir.shell(&format!(r#"umask {umask}; "$0" transform upper in {umask}"#)).succeeds();
        assert_eq!(dir.mode(umask), wanted, "umask {umask}");
    }
}

#[test]
fn the_file_behind_a_link_is_replaced_and_the_link_stays() {
    let dir = TestDir::new();
    dir.file("in", "abc");
    dir.directories(["far"]);
    dir.file("far/target", "old");
    symlink("far/target", dir.at("link")).unwrap();
    symlink("link", dir.at("link-to-link")).unwrap();
    dir.run("transform upper in link-to-link").succeeds();
    assert_eq!(dir.read("far/target"), b"ABC");
    assert!(dir.at("link").symlink_metadata().unwrap().is_symlink());
    symlink("nowhere", dir.at("dangling")).unwrap();
    dir.run("transform upper in dangling").fails(2, &["dangling", "symbolic link"]);
    dir.run("transform upper dangling out").fails(2, &["dangling", "No such file"]);
    assert_eq!(dir.names(), ["dangling", "far", "in", "link", "link-to-link"]);
}

#[test]
fn without_rights_nothing_is_read_or_written() {
    let dir = TestDir::open_to_all();
    dir.files(["in", "secret"], "abc");
    dir.file("guarded", "old");
    dir.directories(["closed"]);
    for (name, mode) in [("in", 0o644), ("secret", 0o200), ("guarded", 0o444), ("closed", 0o555)] {
        dir.set_mode(name, mode);
    }
    let Some(person) = Unprivileged::new() else { return };
    person.run(&dir, "transform upper in out").succeeds();
    for (words, name) in [
        ("transform upper secret out", "secret"),
        ("transform upper in guarded", "guarded"),
        ("transform upper --overwrite in guarded", "guarded"),
        ("transform upper --in-place guarded", "guarded"),
        ("transform upper in closed/new", "new"),
        ("gen 1M closed/new", "new"),
    ] {
        person.run(&dir, words).fails(2, &[name, "Permission denied"]);
    }
    assert_eq!(dir.read("guarded"), b"old");
    assert_eq!(names(&dir.at("closed")), [""; 0]);
    assert_eq!(dir.names(), ["closed", "guarded", "in", "out", "secret"]);
}

// A read-only file system, mounted.
#[cfg(target_os = "linux")]
#[test]
fn read_only_file_system_is_reported() {
    let dir = TestDir::new();
    dir.file("in", "abc");
    let place = dir.at("mounted");
    let Some(_mount) = or_skip("a read-only mount", Mount::in_memory("size=50%", &place)) else { return };
    dir.file("mounted/old", "old");
    let again = Mount::new(&["-o", "remount,ro"], &place);
    let Some(again) = or_skip("a read-only mount", again) else { return };
    // Mounted once, unmounted once.
    std::mem::forget(again);
    for name in ["old", "new"] {
        for options in ["", "--overwrite"] {
            let ended = dir.run(&format!("transform upper in mounted/{name} {options}"));
            ended.fails(2, &[name, "ead-only file system"]);
        }
    }
    dir.run("transform upper --in-place mounted/old").fails(2, &["ead-only file system"]);
    dir.run("transform upper mounted/old out").succeeds();
    assert_eq!(dir.read("mounted/old"), b"old");
    assert_eq!(names(&place), ["old"]);
}

/// The descriptor of a pipe or of a new directory has no call before Linux 6.6: its path under `/proc` serves.
#[test]
fn modes_of_pipes_and_new_directories_need_no_proc() {
    let dir = TestDir::new();
    dir.shell("mkdir t t/sub; mkfifo -m 640 t/p").succeeds();
    let release = fs::read_to_string("/proc/sys/kernel/osrelease").unwrap_or_default();
    let kernel: Vec<u32> = release.split('.').take(2).filter_map(|number| number.parse().ok()).collect();
    for (umask, arguments) in [("022", "-a"), ("277", "-r")] {
        let Some(mut command) =
            without_proc(&dir.shell_command(&format!("umask {umask}; exec \"$0\" copy {arguments} t u")))
        else {
            return;
        };
        let ended = run(&mut command);
        if kernel < vec![6, 6] {
            assert_eq!(dir.names(), ["t"], "{}", ended.stderr);
            continue;
        }
        ended.succeeds();
        assert_eq!(dir.mode("u/p"), if umask == "022" { 0o640 } else { 0o400 }, "{umask}");
        fs::remove_dir_all(dir.at("u")).unwrap();
    }
}

#[test]
fn directories_that_may_be_read_but_not_entered_are_listed() {
    let dir = TestDir::open_to_all();
    let Some(user) = Unprivileged::new() else { return };
    dir.directories(["source/sub", "source/empty"]);
    dir.file("source/sub/f", "x");
    dir.shell(&format!("chown -R {NOBODY} source; chmod 444 source/sub source/empty")).text();
    user.run(&dir, "copy -r source target").fails(1, &["source/sub/f"]);
    for name in ["target/sub", "target/empty"] {
        assert_eq!(dir.mode(name), 0o444, "{name}");
    }
    user.run(&dir, "copy -a source/empty other").succeeds();
}

#[test]
fn directories_of_a_path_need_not_be_listed() {
    let Some(other) = Unprivileged::new() else { return };
    let dir = TestDir::open_to_all();
    dir.directories(["a", "into", "kept"]);
    dir.file("a/f", "bytes");
    for (name, mode) in [("a/f", 0o644), ("into", 0o777), ("kept", 0o777), ("a", 0o311)] {
        dir.set_mode(name, mode);
    }
    let ended = ["copy --parents a/f into", "copy --parents --preserve=xattr a/f kept"]
        .map(|words| other.run(&dir, words));
    dir.set_mode("a", 0o755);
    for (ended, into) in ended.into_iter().zip(["into", "kept"]) {
        ended.succeeds();
        dir.set_mode(&format!("{into}/a"), 0o755);
        assert_eq!(dir.read(&format!("{into}/a/f")), b"bytes");
    }
}

/// A change of owner would clear them.
#[test]
fn attributes_alone_keep_set_id_bits_of_the_same_owner() {
    let dir = TestDir::new();
    dir.files(["source", "target"], "x");
    dir.set_mode("target", 0o4755);
    dir.run("copy --attributes-only --preserve=ownership source target").succeeds();
    assert_eq!(fs::metadata(dir.at("target")).unwrap().mode() & 0o7777, 0o4755);
}
