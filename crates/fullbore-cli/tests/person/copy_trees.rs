//! `fullbore copy` of trees with modes, links, holes and special files, beside `cp`, and on several file systems.

use rustix::fs::{AtFlags, CWD, Timespec, Timestamps, XattrFlags};

use crate::support::*;
use crate::trees::{same, seen};

fn set_times(path: &Path, seconds: i64, nanoseconds: i64) {
    let time = Timespec { tv_sec: seconds, tv_nsec: nanoseconds as _ };
    let times = Timestamps { last_access: time, last_modification: time };
    rustix::fs::utimensat(CWD, path, &times, AtFlags::SYMLINK_NOFOLLOW).unwrap();
}

/// Creates files of every kind that a user can create.
pub(crate) fn nasty(dir: &TestDir, name: &str) -> PathBuf {
    let root = dir.at(name);
    let broken = root.join(OsStr::from_bytes(b"d1/d2/\xff\xfe dir"));
    fs::create_dir_all(&broken).unwrap();
    fs::create_dir(root.join("empty")).unwrap();
    fs::write(root.join(OsStr::from_bytes(b"d1/new\nline \xff")), "x").unwrap();
    fs::write(root.join("zero"), "").unwrap();
    for (name, len) in
        [("small", 5000), ("edge", 256 << 10), ("middle", (256 << 10) + 1), ("large", 5_000_001)]
    {
        fs::write(root.join(name), bytes(len, len as u64)).unwrap();
    }
    fs::hard_link(root.join("small"), broken.join("second name")).unwrap();
    fs::hard_link(root.join("large"), root.join("d1/second large")).unwrap();
    symlink("nowhere", root.join("dangling")).unwrap();
    symlink("d1", root.join("to a directory")).unwrap();
    symlink("small", root.join("to a file")).unwrap();
    fifo(&root.join("pipe"));
    dir.set_mode(&format!("{name}/pipe"), 0o640);
    let sparse = File::create(root.join("sparse")).unwrap();
    sparse.set_len(1 << 40).unwrap();
    sparse.write_all_at(&bytes(20_000, 9), 5 << 30).unwrap();
    sparse.write_all_at(b"end", (1 << 40) - 3).unwrap();
    for (index, mode) in [0o755, 0o600, 0o4755, 0o2755, 0o444, 0o400].into_iter().enumerate() {
        let path = root.join(format!("mode {index}"));
        fs::write(&path, [index as u8]).unwrap();
        fs::set_permissions(&path, fs::Permissions::from_mode(mode)).unwrap();
        set_times(&path, 987_654_321, 123_456_789 + index as i64);
    }
    // A file system without extended attributes reports the same for both sides.
    let _ = rustix::fs::setxattr(root.join("small"), "user.one", b"value\0x", XattrFlags::empty());
    let _ = rustix::fs::setxattr(root.join("d1"), "user.two", b"", XattrFlags::empty());
    set_times(&root.join("dangling"), 1, 2);
    dir.set_mode(&format!("{name}/empty"), 0o1750);
    set_times(&root.join("empty"), 5, 6);
    set_times(&root.join("d1"), 7, 999_999_999);
    root
}

/// A later source may replace the copy of a file with several names before its other names are reached.
#[test]
fn names_of_a_replaced_copy_get_a_copy_of_their_own() {
    for words in ["copy -a p/. q/. r/. into", "copy -a --backup=t p/f q/f r/g into"] {
        let dir = TestDir::new();
        dir.directories(["p", "q", "r", "into"]);
        fs::hard_link(dir.file("p/f", "old"), dir.at("r/g")).unwrap();
        dir.file("q/f", "new");
        dir.run(words).succeeds();
        assert_eq!((dir.read("into/f"), dir.read("into/g")), (b"new".to_vec(), b"old".to_vec()), "{words}");
    }
}

#[test]
fn archive_copy_preserves_everything_visible() {
    let dir = TestDir::new();
    let (source, target) = (nasty(&dir, "source"), dir.at("target"));
    let whole = seen(&source, true);
    for options in [
        "-a",
        "-a --workers 5",
        "-a --verify",
        "-a --resume",
        "-a --cache drop",
        "-dR --preserve=all --sync full --reflink=never",
    ] {
        let begin = Instant::now();
        dir.run(&format!("copy {options} source target")).succeeds();
        assert!(begin.elapsed() < Duration::from_secs(60), "the holes were copied");
        same(&whole, &seen(&target, true), options);
        assert_eq!(dir.names(), ["source", "target"], "{options}");
        // A second run replaces everything, for an ordinary user also files that nobody may write.
        let force = if root().is_ok() { "" } else { "-f" };
        dir.run(&format!("copy {options} {force} source/. target")).succeeds();
        same(&whole, &seen(&target, true), &format!("{options}, over itself"));
        fs::remove_dir_all(&target).unwrap();
    }
}

/// Direct writes end with a whole block. Cutting the copy to its length sets its times and clears its capabilities, so it comes
/// before them; so does the owner of a replaced file.
#[test]
fn direct_writes_and_replaced_files_keep_attributes() {
    let dir = TestDir::new();
    let path = dir.file("in", bytes(5_000_001, 1));
    // A capability that root may set, on a file system that has some.
    let value = [1, 0, 0, 2, 0, 4, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0];
    let set = rustix::fs::setxattr(&path, "security.capability", &value, XattrFlags::empty());
    let capability = |name: &str| {
        let mut value = [0; 64];
        rustix::fs::getxattr(dir.at(name), "security.capability", &mut value[..]).is_ok()
    };
    set_times(&path, 1_500_000_000, 5);
    for way in ["--cache direct", "--strategy method=aio", "--strategy write=uring,write-cache=direct", ""] {
        let copied = dir.run(&format!("copy -a {way} in new"));
        if copied.code() != 0 && copied.stderr.contains("cannot use") {
            println!("skipped: {way}: {copied}");
            continue;
        }
        copied.succeeds();
        let modified = fs::metadata(dir.at("new")).unwrap();
        assert_eq!((modified.mtime(), modified.len()), (1_500_000_000, 5_000_001), "{way}");
        assert_eq!(capability("new"), set.is_ok(), "{way}");
        dir.file("there", "old");
        dir.run(&format!("copy --preserve=xattr {way} in there")).succeeds();
        assert_eq!(capability("there"), set.is_ok(), "{way}");
        fs::remove_file(dir.at("new")).unwrap();
    }
    dir.file("empty", "");
    dir.run("copy --strategy method=splice empty new").succeeds();
    assert!(dir.read("new").is_empty());
}

#[test]
fn files_of_the_system_and_pipes_are_read_to_their_end() {
    let dir = TestDir::new();
    dir.run("copy /proc/self/status target").succeeds();
    assert!(String::from_utf8_lossy(&dir.read("target")).contains("Name:\tfullbore"));
    let kallsyms = fs::read("/proc/kallsyms").unwrap();
    dir.run("copy /proc/kallsyms symbols").succeeds();
    assert_eq!(dir.read("symbols").len(), kallsyms.len());
    let data = bytes(3_000_001, 5);
    run_with(&mut dir.command("copy /dev/stdin piped"), &data).succeeds();
    assert!(dir.read("piped") == data);
    assert!(dir.run("copy piped /dev/stdout").succeeds().stdout == data);
}

/// A program that serves files, such as Samba, holds a lease while its client caches one (fcntl(2)).
#[test]
fn a_leased_file_is_copied_once_its_lease_is_released() {
    let holds = "import fcntl, os, signal, sys
fd = os.open(sys.argv[1], os.O_RDWR)
signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGIO])
fcntl.fcntl(fd, fcntl.F_SETLEASE, fcntl.F_WRLCK)
print('held', flush=True)
signal.sigwait([signal.SIGIO])";
    let Some(()) = or_skip("a lease", installed("python3")) else { return };
    let dir = TestDir::new();
    fs::create_dir(dir.at("source")).unwrap();
    let leased = dir.file("source/leased", "content");
    let mut holder =
        Command::new("python3").args(["-c", holds]).arg(leased).stdout(Stdio::piped()).spawn().unwrap();
    let mut held = holder.stdout.take().unwrap();
    held.read_exact(&mut [0; 4]).unwrap();
    dir.run("copy -r source target").succeeds();
    assert_eq!(dir.read("target/leased"), b"content");
    let ended = holder.wait().unwrap();
    assert!(ended.success(), "{ended}");
}

#[test]
fn existing_target_keeps_the_same_attributes_as_with_cp() {
    let dir = TestDir::new();
    dir.file("source", "new");
    dir.file("target", "old");
    dir.set_mode("target", 0o640);
    symlink("target", dir.at("link")).unwrap();
    dir.run("copy source link").succeeds();
    assert_eq!((dir.read("target"), dir.mode("target")), (b"new".to_vec(), 0o640));
    assert!(fs::symlink_metadata(dir.at("link")).unwrap().is_symlink());
}

#[test]
fn failures_are_reported_and_the_rest_is_copied() {
    let Some(somebody) = Unprivileged::new() else { return };
    let Some(()) = or_skip("files of another user", root()) else { return };
    let dir = TestDir::open_to_all();
    dir.directories(["source/closed"]);
    ["a", "secret", "z", "closed/x"].iter().for_each(|name| drop(dir.file(&format!("source/{name}"), name)));
    dir.set_mode("source/secret", 0o600);
    dir.set_mode("source/closed", 0o700);
    let copy = |words: &str| somebody.run(&dir, &format!("copy {words}"));
    copy("-a source target").fails(
        1,
        &[
            "source/secret' for reading: Permission denied",
            "cannot access '",
            "source/closed': Permission denied",
        ],
    );
    assert_eq!(names(&dir.at("target")), ["a", "z"]);
    // An unwritable target is replaced only with --force.
    dir.set_mode("target/a", 0o444);
    copy("source/z target/a").fails(1, &["target/a", "Permission denied"]);
    assert_eq!(dir.read("target/a"), b"a");
    copy("-f source/z target/a").succeeds();
    assert_eq!(dir.read("target/a"), b"z");
}

#[test]
fn full_disk_is_reported_and_leaves_no_partial_file() {
    let dir = TestDir::new();
    let Some(_disk) = or_skip("a full disk", Mount::in_memory("size=4M", &dir.at("disk"))) else { return };
    dir.directories(["source"]);
    for index in 0..40 {
        dir.file(&format!("source/{index:02}"), bytes(200_000, index));
    }
    dir.file("large", bytes(6 << 20, 1));
    for options in ["", "--verify", "--resume", "--reflink=never --workers 1"] {
        let ended = dir.run(&format!("copy {options} large disk/large"));
        ended.fails(1, &["disk/large", "No space left on device"]);
        let left = names(&dir.at("disk"));
        assert!(left.is_empty() || options == "--resume", "{options:?}: {left:?}");
        left.iter().for_each(|name| fs::remove_file(dir.at("disk").join(name)).unwrap());
    }
    dir.run("copy -r source disk/tree").fails(1, &["disk/tree/", "No space left on device"]);
    let whole = names(&dir.at("disk/tree"));
    assert!(whole.len() > 5 && whole.len() < 40, "{whole:?}");
    for name in whole {
        assert!(dir.read(&format!("disk/tree/{name}")) == dir.read(&format!("source/{name}")));
    }
    assert_eq!(names(&dir.at("disk")), ["tree"]);
}

#[test]
fn blocks_are_shared_if_the_file_system_supports_it() {
    let dir = TestDir::new();
    dir.file("source", bytes(100, 1));
    if let Some(_disk) = mount_sharing(&dir, "disk") {
        for (name, len) in [("large", 40_000_001), ("small", 5000), ("empty", 0)] {
            let path = dir.file(&format!("disk/{name}"), bytes(len, 7));
            for (way, cloned) in [("auto", len), ("always", len), ("never", 0)] {
                let ended = dir.run(&format!("copy --json --reflink={way} disk/{name} disk/t")).succeeds();
                assert_eq!(ended.json()["copy"]["cloned"], cloned, "{way} {name}");
                assert!(dir.read("disk/t") == fs::read(&path).unwrap());
            }
        }
    }
    let Some(tmpfs) =
        or_skip("a file system without shared blocks", Mount::in_memory("size=50%", &dir.at("memory")))
    else {
        return;
    };
    let ended = dir.run("copy --reflink=always source memory/x");
    ended.fails(1, &["cannot clone", "different file systems"]);
    assert!(names(&dir.at("memory")).is_empty());
    drop(tmpfs);
}

/// The stack is too small for all levels, so directories must be known as such before they are copied: behind links, and on file
/// systems that list no kinds.
#[test]
fn deep_trees_without_kinds_are_copied() {
    const DEPTH: usize = 1000;
    let dir = TestDir::new();
    dir.directories((0..DEPTH).map(|level| format!("source/{level}")));
    for level in 1..DEPTH {
        symlink(format!("../{level}"), dir.at(&format!("source/{}/next", level - 1))).unwrap();
    }
    let mounted = mount_image("mkfs.ext4 -q -F -O ^filetype", &dir.at("image"), 64 << 20, &dir.at("mounted"));
    let mounted = or_skip("a file system that lists no kinds", mounted);
    let targets = if mounted.is_some() { &["mounted/one", "mounted/other"][..] } else { &["one"] };
    for (source, target) in
        [Some("source/0"), mounted.as_ref().map(|_| "mounted/one")].iter().flatten().zip(targets)
    {
        dir.shell(&format!("ulimit -s 512 && $0 copy -rL --workers 1 {source} {target}")).succeeds();
        let count = dir.shell(&format!("find {target} -type d | wc -l")).succeeds().text();
        assert_eq!(count.trim(), DEPTH.to_string(), "{target}");
    }
    // The removal by std opens all levels.
    dir.shell(&format!("rm -rf {}", targets.join(" "))).succeeds();
}

/// The system accepts paths of 4096 bytes.
#[test]
fn files_below_longer_paths_than_the_system_accepts_are_copied() {
    let dir = TestDir::new();
    let half = vec!["d".repeat(200); 11].join("/");
    let line = format!("mkdir -p s/{half} && cd s/{half} && mkdir -p {half} && cd {half}");
    let made = "head -c 300000 /dev/urandom >large && ln large link && echo deep >small";
    dir.shell(&format!("{line} && {made}")).succeeds();
    dir.run("copy -a s t").succeeds();
    let found = dir.shell("find t -type f -size 300000c -links 2 | wc -l").succeeds().text();
    assert_eq!(found.trim(), "2");
    let small = dir.shell("find t -type f -size 5c | wc -l").succeeds().text();
    assert_eq!(small.trim(), "1");
    let contents =
        dir.shell("find s t -type f -execdir sha256sum {} + | cut -c 1-64 | sort -u | wc -l").text();
    assert_eq!(contents.trim(), "2");
    // The removal by std opens all levels.
    dir.shell("rm -rf s t").succeeds();
}
