//! The binary called as `cp`: the same messages, exit codes and files.

#[cfg(unix)]
use crate::cp_lines::{LINES, SETUP};
use crate::support::*;
#[cfg(unix)]
use crate::trees::seen;

/// Returns a directory in which the binary is called `cp`.
fn program(test_dir: &TestDir) -> PathBuf {
    let names = test_dir.at("names");
    if !names.exists() {
        fs::create_dir(&names).unwrap();
        name_binary(&names, "cp");
    }
    names
}

/// Runs a shell line in which `cp` is this program or the machine's.
#[cfg(unix)]
fn line(test_dir: &TestDir, place: &Path, text: &str, ours: bool) -> Finished {
    let names = program(test_dir);
    let mut command = Command::new("bash");
    command.args(["-c", text]).current_dir(place).env("LC_ALL", "C");
    for name in ["VERSION_CONTROL", "SIMPLE_BACKUP_SUFFIX", "POSIXLY_CORRECT"] {
        command.env_remove(name);
    }
    if ours {
        let path = std::env::var_os("PATH").unwrap_or_default();
        let dirs = [names].into_iter().chain(std::env::split_paths(&path));
        command.env("PATH", std::env::join_paths(dirs).unwrap());
    }
    run(&mut command)
}

/// Runs a shell line in the directory, in which `cp` is this program.
#[cfg(unix)]
fn ours(test_dir: &TestDir, text: &str) -> Finished {
    line(test_dir, test_dir.path(), text, true)
}

/// Runs a line of space-separated words in the directory.
#[cfg(windows)]
fn ours(test_dir: &TestDir, text: &str) -> Finished {
    let mut command = Command::new(program(test_dir).join("cp.exe"));
    command.args(text.split(' ').skip(1)).current_dir(test_dir.path());
    run(command.env("XDG_CONFIG_HOME", NOWHERE))
}

// GNU `cp` as the peer, in shell lines.
#[cfg(unix)]
#[test]
fn common_command_lines_match_gnu() {
    let version = Command::new("cp").arg("--version").output().map(|output| output.stdout);
    if !version.is_ok_and(|text| String::from_utf8_lossy(&text).starts_with("cp (GNU coreutils) 9.1")) {
        return println!("skipped: no cp of GNU coreutils 9.1");
    }
    let test_dir = TestDir::new();
    let mut wrong = Vec::new();
    for arguments in LINES {
        let [theirs, ours] = [false, true].map(|ours| {
            let place = test_dir.at("place");
            fs::create_dir(&place).unwrap();
            let ended = line(&test_dir, &place, &format!("{SETUP}{arguments}"), ours);
            let all = seen(&place, false);
            run(Command::new("rm").arg("-rf").arg(&place)).succeeds();
            let mut lines: Vec<String> = ended.text().lines().map(str::to_owned).collect();
            lines.sort();
            // The words of GNU's C library for a loop of links; others have their own.
            let errors = ended.stderr.replace(&system_text(40), "oo many levels of symbolic links");
            (ended.code(), lines, errors, all)
        });
        if (theirs.0, &theirs.1, &theirs.2) != (ours.0, &ours.1, &ours.2) {
            let [theirs, ours] = [theirs, ours].map(|(code, out, err, _)| format!("{code} {out:?} {err:?}"));
            wrong.push(format!("{arguments}\n  GNU:  {theirs}\n  ours: {ours}"));
        } else if theirs.3 != ours.3 {
            let names = theirs.3.keys().chain(ours.3.keys());
            let differ = names.filter(|name| theirs.3.get(*name) != ours.3.get(*name)).map(|name| {
                let said = [&theirs.3, &ours.3].map(|all| all.get(name));
                format!("\n  {}: {said:?}", String::from_utf8_lossy(name))
            });
            wrong.push(format!("{arguments}{}", differ.collect::<String>()));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

// Symbolic links.
#[cfg(unix)]
#[test]
fn link_does_not_replace_its_target() {
    let test_dir = TestDir::new();
    test_dir.file("foo", "x");
    symlink("foo", test_dir.at("link")).unwrap();
    test_dir.directories(["source", "target"]);
    test_dir.file("target/foo", "x");
    symlink("../target/foo", test_dir.at("source/foo")).unwrap();
    for arguments in
        ["-P link foo", "-d link foo", "-a link foo", "-r link foo", "-df link foo", "-r source/. target"]
    {
        let ended = ours(&test_dir, &format!("cp {arguments}"));
        ended.fails(1, &["are the same file"]);
        for name in ["foo", "target/foo"] {
            assert!(fs::symlink_metadata(test_dir.at(name)).unwrap().is_file(), "{arguments}");
            assert_eq!(test_dir.read(name), b"x", "{arguments}");
        }
    }
}

#[test]
fn no_clobber_and_dangling_links_are_not_forced() {
    let test_dir = TestDir::new();
    test_dir.file("new", "new");
    test_dir.file("old", "old");
    for flags in ["-n", "-nf", "-f -n", "-n -f", "-rnf", "-n -u", "-u -n", "-in"] {
        ours(&test_dir, &format!("cp {flags} new old")).succeeds();
        assert_eq!(test_dir.read("old"), b"old", "{flags}");
    }
    #[cfg(unix)]
    {
        symlink("nowhere", test_dir.at("dangling")).unwrap();
        let ended = ours(&test_dir, "cp -f new dangling");
        ended.fails(1, &["cp: not writing through dangling symlink 'dangling'\n"]);
        assert_eq!(fs::read_link(test_dir.at("dangling")).unwrap(), Path::new("nowhere"));
    }
    ours(&test_dir, "cp --update=none-fail new old").fails(1, &["not replacing 'old'"]);
    ours(&test_dir, "cp --update=none new old").succeeds();
    assert_eq!(test_dir.read("old"), b"old");
    ours(&test_dir, "cp --update=all new old").succeeds();
    assert_eq!(test_dir.read("old"), b"new");
}

#[test]
fn directories_with_one_name_are_merged_for_any_number_of_workers() {
    let test_dir = TestDir::new();
    for source in 0..8 {
        for directory in 0..4 {
            fs::create_dir_all(test_dir.at(&format!("{source}/x/{directory}"))).unwrap();
            test_dir.file(&format!("{source}/x/{directory}/{source}"), [source]);
        }
    }
    for workers in ["1", "2", "8"] {
        let target = test_dir.at("target");
        fs::create_dir(&target).unwrap();
        let text = format!("cp -r --workers {workers} [0-7]/x target");
        ours(&test_dir, &text).succeeds();
        for source in 0..8u8 {
            for directory in 0..4 {
                let path = target.join(format!("x/{directory}/{source}"));
                assert_eq!(fs::read(&path).unwrap(), [source], "{}", path.display());
            }
        }
        assert_eq!(names(&target), ["x"]);
        fs::remove_dir_all(&target).unwrap();
    }
}

/// The system reports a length of one page for these files.
// `/sys`.
#[cfg(target_os = "linux")]
#[test]
fn files_of_sysfs_are_copied() {
    let Some(source) =
        ["/sys/kernel/mm/transparent_hugepage", "/sys/class/net/lo/queues", "/sys/kernel/mm/ksm"]
            .into_iter()
            .map(Path::new)
            .find(|path| path.is_dir())
    else {
        return println!("skipped: no sysfs");
    };
    let test_dir = TestDir::new();
    let target = test_dir.at("target");
    // Some of them are write-only; the others are still copied.
    let _ = run(fullbore(["cp", "-r"]).arg(source).arg(&target));
    let mut compared = 0;
    let mut open = vec![source.to_owned()];
    while let Some(directory) = open.pop() {
        for entry in fs::read_dir(&directory).unwrap().flatten() {
            let path = entry.path();
            if path.is_dir() {
                open.push(path);
            } else if let Ok(bytes) = fs::read(&path) {
                let copy = target.join(path.strip_prefix(source).unwrap());
                assert_eq!(fs::read(&copy).unwrap(), bytes, "{}", path.display());
                compared += 1;
            }
        }
    }
    assert!(compared > 0);
    let one = fs::read_dir(source).unwrap().flatten().map(|entry| entry.path());
    let Some(file) = one.into_iter().find(|path| fs::read(path).is_ok_and(|bytes| bytes.len() < 4096)) else {
        return;
    };
    for flag in ["--sparse=always", "--sparse=never", "--reflink=never", "--verify"] {
        run(fullbore(["cp", flag]).arg(&file).arg(test_dir.at("one"))).succeeds();
        assert_eq!(test_dir.read("one"), fs::read(&file).unwrap(), "{flag}");
    }
}

// Holes: a file on Windows is data to its end.
#[cfg(unix)]
#[test]
fn sparse_flag_makes_or_fills_holes() {
    let test_dir = TestDir::new();
    let mut data = bytes(3 << 20, 4);
    data[1 << 20..2 << 20].fill(0);
    data.extend([0; 5000]);
    let full = test_dir.file("full", &data);
    let blocks = |path: &Path| fs::metadata(path).unwrap().blocks() * 512;
    let copied = |flag: &str, source: &Path, len: usize| {
        let target = test_dir.at("target");
        let ended = run(fullbore(["cp", "--reflink=never", flag]).arg(source).arg(&target));
        ended.succeeds();
        assert!(fs::read(&target).unwrap() == data[..len], "{flag}");
        blocks(&target)
    };
    let sparse = copied("--sparse=always", &full, data.len());
    assert!(sparse < 5 << 19, "{sparse} bytes");
    fs::rename(test_dir.at("target"), test_dir.at("sparse")).unwrap();
    assert!(copied("--sparse=never", &test_dir.at("sparse"), data.len()) >= 3 << 20);
    assert!(copied("--sparse=auto", &test_dir.at("sparse"), data.len()) < 5 << 19);
    fs::write(&full, &data[(1 << 20)..(1 << 20) + 100_000]).unwrap();
    test_dir.run("cp --sparse=always full zeros").succeeds();
    assert_eq!(
        (blocks(&test_dir.at("zeros")), fs::metadata(test_dir.at("zeros")).unwrap().len()),
        (0, 100_000)
    );
}

#[test]
fn debug_and_time_print_details() {
    let test_dir = TestDir::new();
    test_dir.file("a", "bytes");
    let ended = ours(&test_dir, "cp --debug --reflink=never a b").succeeds();
    assert!(ended.text().starts_with("'a' -> 'b'\ncopy offload: "), "{ended}");
    assert!(ended.text().contains(", reflink: no, sparse detection: no\n"), "{ended}");
    let ended = ours(&test_dir, "cp --debug -n a b").succeeds();
    assert_eq!(ended.text(), "skipped 'b'\n");
    let ended = ours(&test_dir, "cp -v a c").succeeds();
    assert_eq!((ended.text().as_str(), ended.stderr.as_str()), ("'a' -> 'c'\n", ""));
    let ended = ours(&test_dir, "cp --time a c").succeeds();
    assert!(ended.stdout.is_empty() && ended.stderr.starts_with("copied: 1 files; "), "{ended}");
}

// Symbolic links.
#[cfg(unix)]
#[test]
fn links_to_directories_are_kept_on_request() {
    let test_dir = TestDir::new();
    test_dir.directories(["s/d", "t", "other"]);
    test_dir.file("s/d/file", "x");
    symlink("../other", test_dir.at("t/d")).unwrap();
    ours(&test_dir, "cp -r s/. t")
        .fails(1, &["cp: cannot overwrite non-directory 't/./d' with directory 's/./d'\n"]);
    ours(&test_dir, "cp -r --keep-directory-symlink s/. t").succeeds();
    assert_eq!(test_dir.read("other/file"), b"x");
    assert!(fs::symlink_metadata(test_dir.at("t/d")).unwrap().is_symlink());
}

// A file system, mounted.
#[cfg(target_os = "linux")]
#[test]
fn one_file_system_is_respected() {
    let test_dir = TestDir::new();
    test_dir.directories(["s/mount"]);
    let Some(_mount) = or_skip("a second file system", Mount::in_memory("size=50%", &test_dir.at("s/mount")))
    else {
        return;
    };
    test_dir.file("s/mount/there", "x");
    test_dir.file("s/here", "x");
    test_dir.run("cp -rx s t").succeeds();
    assert_eq!(names(&test_dir.at("t")), ["here", "mount"]);
    assert!(names(&test_dir.at("t/mount")).is_empty());
    test_dir.run("cp -rx s/mount u").succeeds();
    assert_eq!(names(&test_dir.at("u")), ["there"]);
}

/// Access control lists, on every file system of the test environment.
// Lists of Unix.
#[cfg(unix)]
#[test]
fn access_control_lists_are_preserved() {
    let Some(()) = or_skip("access control lists", installed("setfacl")) else { return };
    let Some(()) = or_skip("access control lists", installed("getfacl")) else { return };
    let dirs = std::env::var_os("FULLBORE_TEST_DIRS").unwrap_or_default();
    let rooms = std::env::split_paths(&dirs).filter(|dir| dir.is_dir()).map(|dir| TestDir::within(&dir));
    for test_dir in rooms.chain([TestDir::new()]) {
        test_dir.directories(["tree"]);
        let file = test_dir.file("tree/file", bytes(300_000, 1));
        test_dir.file("tree/small", "x");
        let set =
            |list: &str, path: &Path| run(Command::new("setfacl").args(["-m", list]).arg(path)).code() == 0;
        if !set("u:1:r,g:7:rw,m::rw", &file) {
            println!("skipped: access control lists: not on {}", test_dir.path().display());
            continue;
        }
        assert!(set("u:1:r,g:7:rw", &test_dir.at("tree/small")));
        assert!(set("u:2:rwx", &test_dir.at("tree")) && set("d:u:3:rwx,d:g::---", &test_dir.at("tree")));
        let lists = |root: &str| {
            let text = format!("cd {root} && getfacl -Rn . | sort");
            run(Command::new("bash").args(["-c", &text]).current_dir(test_dir.path())).succeeds().text()
        };
        for flags in ["-a", "-rp", "-r --preserve=mode"] {
            ours(&test_dir, &format!("cp {flags} tree copy")).succeeds();
            assert_eq!(lists("tree"), lists("copy"), "{flags} in {}", test_dir.path().display());
            ours(&test_dir, &format!("cp {flags} tree/. copy")).succeeds();
            assert_eq!(lists("tree"), lists("copy"), "{flags} over itself in {}", test_dir.path().display());
            fs::remove_dir_all(test_dir.at("copy")).unwrap();
        }
        for flags in ["-p", "-a"] {
            ours(&test_dir, &format!("cp {flags} tree/file one")).succeeds();
            let list = |path: &str| {
                let text = format!("getfacl -n {path} | tail -n +2");
                run(Command::new("bash").args(["-c", &text]).current_dir(test_dir.path())).succeeds().text()
            };
            assert_eq!(list("tree/file"), list("one"));
            fs::remove_file(test_dir.at("one")).unwrap();
        }
    }
}

/// The system checks the mode, not the descriptor, when an attribute is set.
// Extended attributes and modes.
#[cfg(unix)]
#[test]
fn attributes_of_unwritable_files_are_preserved() {
    let Some(somebody) = Unprivileged::new() else { return };
    let test_dir = TestDir::open_to_all();
    test_dir.directories(["tree"]);
    for (name, len) in [("tree/small", 10), ("tree/large", 3 << 20)] {
        let path = test_dir.file(name, bytes(len, 1));
        let set = rustix::fs::setxattr(&path, "user.one", b"value", rustix::fs::XattrFlags::empty());
        if let Err(error) = set {
            return println!("skipped: extended attributes: {error}");
        }
        fs::set_permissions(&path, fs::Permissions::from_mode(0o444)).unwrap();
    }
    let value = |path: &Path| {
        let mut value = [0; 16];
        let len = rustix::fs::getxattr(path, "user.one", &mut value[..]).unwrap_or(0);
        (value[..len].to_vec(), fs::metadata(path).unwrap().mode() & 0o777)
    };
    for flags in [&["-a"][..], &["-r", "--preserve=xattr"]] {
        let copy = test_dir.at("copy");
        run(somebody.command(["cp"]).args(flags).arg(test_dir.at("tree")).arg(&copy)).succeeds();
        let one = test_dir.at("one");
        run(somebody.command(["cp"]).args(flags).arg(test_dir.at("tree/small")).arg(&one)).succeeds();
        for path in [copy.join("small"), copy.join("large"), one.clone()] {
            assert_eq!(value(&path), (b"value".to_vec(), 0o444), "{flags:?} {}", path.display());
        }
        fs::remove_dir_all(copy).unwrap();
        fs::remove_file(one).unwrap();
    }
}

#[test]
fn backup_is_restored_when_the_copy_fails() {
    let test_dir = TestDir::new();
    test_dir.file("b", "old");
    test_dir.file("b~", "older");
    test_dir.directories(["unreadable"]);
    let source = test_dir.file("a", "new");
    #[cfg(unix)]
    fs::set_permissions(&source, fs::Permissions::from_mode(0o000)).unwrap();
    #[cfg(windows)]
    let _kept =
        std::os::windows::fs::OpenOptionsExt::share_mode(fs::File::options().read(true), 0).open(&source);
    // Root can read it anyway.
    let failing = if fs::read(&source).is_ok() { "/proc/self/mem" } else { "a" };
    ours(&test_dir, &format!("cp --backup=t {failing} b")).fails(1, &["cp: "]);
    assert_eq!(test_dir.read("b"), b"old");
    assert!(!test_dir.at("b.~1~").exists());
    assert_eq!(test_dir.read("b~"), b"older");
}
