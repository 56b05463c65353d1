//! Safe outputs: protected files are not written, replaced files keep their permissions, and failures leave the old
//! file and nothing else.

use crate::support::*;
#[cfg(unix)]
fn mode(path: &Path) -> u32 {
    fs::metadata(path).unwrap().permissions().mode() & 0o7777
}

#[cfg(unix)]
fn set_mode(path: &Path, mode: u32) {
    fs::set_permissions(path, fs::Permissions::from_mode(mode)).unwrap();
}

// Modes and owners.
#[cfg(unix)]
#[test]
fn a_replaced_file_keeps_its_mode_and_owner() {
    let dir = TestDir::new();
    let input = dir.file("in", "abc");
    set_mode(&input, 0o600);
    for wanted in [0o640, 0o600, 0o666, 0o755, 0o4755] {
        let output = dir.file("out", "old");
        set_mode(&output, wanted);
        dir.run("transform upper in out").succeeds();
        assert_eq!((mode(&output), fs::read(&output).unwrap()), (wanted, b"ABC".to_vec()), "{wanted:o}");
    }
    if rustix::process::geteuid().is_root() {
        let output = dir.file("out", "old");
        std::os::unix::fs::chown(&output, Some(65534), Some(65533)).unwrap();
        dir.run("transform upper in out").succeeds();
        let found = fs::metadata(&output).unwrap();
        assert_eq!((found.uid(), found.gid()), (65534, 65533));
    } else {
        println!("skipped: keeping another owner: needs root");
    }
}

/// A file owned by its writer runs as its writer: it must not keep the bits that made the old file run as its owner.
// Modes and owners.
#[cfg(unix)]
#[test]
fn set_id_bits_survive_only_with_owner_and_group() {
    let Some(()) = or_skip("files of another user", root()) else { return };
    let Some(other) = Unprivileged::new() else { return };
    let dir = TestDir::open_to_all();
    let large = bytes(5 << 20, 1);
    for content in [&b"new bytes"[..], &large] {
        let input = dir.file("in", content);
        set_mode(&input, 0o644);
        let output = dir.at("out");
        for words in [
            &["copy", "in", "out"][..],
            &["copy", "-f", "in", "out"],
            &["copy", "--preserve=mode", "set", "out"],
            &["copy", "-p", "set", "out"],
            &["copy", "--verify", "in", "out"],
            &["copy", "--resume", "in", "out"],
            &["copy", "-r", "tree", "into"],
            &["transform", "upper", "in", "out"],
            &["gen", "1K", "out"],
        ] {
            for mode in [0o4777, 0o2777, 0o6777] {
                for tree in ["tree", "into/tree"] {
                    fs::create_dir_all(dir.at(tree)).unwrap();
                    set_mode(&dir.at(tree), 0o777);
                }
                fs::write(dir.at("tree/out"), content).unwrap();
                for path in ["out", "set", "into/tree/out"] {
                    let _ = fs::remove_file(dir.at(path));
                    set_mode(&dir.file(path, content), mode);
                }
                let ended = run(other.command(words).current_dir(dir.path())).succeeds();
                let written = if words.contains(&"-r") { dir.at("into/tree/out") } else { output.clone() };
                let found = fs::metadata(&written).unwrap();
                assert_eq!(found.uid(), 65534, "{words:?} {mode:o}: {ended}");
                assert_eq!(found.mode() & 0o6000, 0, "{words:?} {mode:o}: {:o}", found.mode());
            }
        }
        // If owner and group can be preserved, so are the bits.
        for words in
            [&["copy", "in", "out"][..], &["copy", "-p", "set", "out"], &["transform", "upper", "in", "out"]]
        {
            let out = dir.file("out", content);
            for path in [&out, &dir.file("set", content)] {
                std::os::unix::fs::chown(path, Some(65534), Some(65533)).unwrap();
                set_mode(path, 0o6755);
            }
            run(fullbore(words).current_dir(dir.path())).succeeds();
            let found = fs::metadata(&out).unwrap();
            assert_eq!(
                (found.mode() & 0o7777, found.uid(), found.gid()),
                (0o6755, 65534, 65533),
                "{words:?}"
            );
        }
    }
}

// Modes and owners.
#[cfg(unix)]
#[test]
fn a_new_file_has_the_mode_of_any_new_file() {
    let dir = TestDir::new();
    let input = dir.file("in", "abc");
    for (umask, wanted) in [("022", 0o644), ("077", 0o600), ("002", 0o664)] {
        let output = dir.at(umask);
        shell(&format!(r#"umask {umask}; "$0" transform upper "$1" "$2""#), &[&input, &output]).succeeds();
        assert_eq!(mode(&output), wanted, "umask {umask}");
    }
}

// Symbolic links.
#[cfg(unix)]
#[test]
fn the_file_behind_a_link_is_replaced_and_the_link_stays() {
    let dir = TestDir::new();
    let input = dir.file("in", "abc");
    dir.directories(["far"]);
    let target = dir.file("far/target", "old");
    symlink("far/target", dir.at("link")).unwrap();
    symlink("link", dir.at("link to link")).unwrap();
    run(&mut transform("upper", &input, &dir.at("link to link"), &[])).succeeds();
    assert_eq!(fs::read(&target).unwrap(), b"ABC");
    assert!(dir.at("link").symlink_metadata().unwrap().is_symlink());
    symlink("nowhere", dir.at("dangling")).unwrap();
    dir.run("transform upper in dangling").fails(2, &["dangling", "symbolic link"]);
    dir.run("transform upper dangling out").fails(2, &["dangling", "No such file"]);
    assert_eq!(dir.names(), ["dangling", "far", "in", "link", "link to link"]);
}

#[test]
fn another_name_of_the_old_file_keeps_the_old_bytes() {
    let dir = TestDir::new();
    dir.file("in", "abc");
    let output = dir.file("out", "old");
    fs::hard_link(&output, dir.at("other")).unwrap();
    dir.run("transform upper in out").succeeds();
    assert_eq!((fs::read(&output).unwrap(), dir.read("other")), (b"ABC".to_vec(), b"old".to_vec()));
}

#[test]
fn input_as_output_is_rejected_under_any_name() {
    let dir = TestDir::new();
    let data = bytes(500_000, 1);
    let file = dir.file("same", &data);
    fs::hard_link(&file, dir.at("hard")).unwrap();
    #[cfg(unix)]
    symlink("same", dir.at("soft")).unwrap();
    let names = dir.names();
    for name in names.iter().map(String::as_str).chain(["./same"]) {
        for options in [&[][..], &["--overwrite"]] {
            run(&mut transform("upper", &file, &dir.at(name), options))
                .fails(2, &["same file", "--in-place"]);
        }
    }
    let open = || fs::File::options().read(true).write(true).open(&file).unwrap();
    run(transform("upper", "-".as_ref(), &file, &[]).stdin(open())).fails(2, &["same file"]);
    start(transform("upper", &file, "-".as_ref(), &[]).stdout(open())).end().fails(2, &["same file"]);
    let append = fs::File::options().append(true).open(&file).unwrap();
    start(transform("upper", &file, "-".as_ref(), &[]).stdout(append)).end().fails(2, &["same file"]);
    assert!(fs::read(&file).unwrap() == data);
    assert_eq!(dir.names(), names);
    // The shell has already truncated it; the content is lost, but the file must not grow without end.
    let empty = fs::File::create(&file).unwrap();
    let ended = start(transform("upper", &file, "-".as_ref(), &[]).stdout(empty)).end();
    assert!([0, 2].contains(&ended.code()), "{ended}");
    assert_eq!(fs::metadata(&file).unwrap().len(), 0);
}

#[test]
fn directories_are_neither_inputs_nor_outputs() {
    let dir = TestDir::new();
    dir.file("in", "abc");
    dir.directories(["directory"]);
    dir.run("transform upper directory out").fails(2, &["directory", "name a file"]);
    dir.run("transform upper in directory").fails(2, &["it is a directory", "name a file in it"]);
    dir.run("transform upper in directory --overwrite").fails(2, &["it is a directory"]);
    dir.run("transform upper --in-place directory").fails(2, &["it is a directory"]);
    dir.run("gen 1M directory").fails(2, &["it is a directory"]);
    #[cfg(unix)]
    shell(r#""$0" transform upper - - < "$1""#, &[&dir.at("directory")]).fails(2, &["directory"]);
    assert_eq!(dir.names(), ["directory", "in"]);
}

#[test]
fn missing_files_are_named() {
    let dir = TestDir::new();
    let input = dir.file("in", "abc");
    let old = dir.file("old", "old");
    dir.run("transform upper missing old").fails(2, &["missing", &not_found()]);
    for options in [&[][..], &["--overwrite"]] {
        run(&mut transform("upper", &input, &dir.at("no/where"), options))
            .fails(2, &["no/where", "directory"]);
    }
    let not_a_directory = system_text(if cfg!(windows) { 267 } else { 20 });
    dir.run("transform upper in in/out").fails(2, &["in/out", &not_a_directory]);
    run(&mut transform("upper", &input, "".as_ref(), &[])).fails(2, &["OUT"]);
    run(&mut transform("upper", "".as_ref(), &old, &[])).fails(2, &["IN"]);
    run(&mut transform("upper", &input, &dir.at(&"n".repeat(300)), &[]))
        .fails(2, &[if cfg!(windows) { "nnn: cannot" } else { "name too long" }]);
    dir.run("transform upper --in-place missing").fails(2, &["missing", &not_found()]);
    assert_eq!(fs::read(&old).unwrap(), b"old");
    assert_eq!(dir.names(), ["in", "old"]);
}

#[test]
fn the_longest_name_can_be_written() {
    let dir = TestDir::new();
    let input = dir.file("in", "abc");
    let long = dir.at(&"n".repeat(255));
    for _ in 0..2 {
        run(&mut transform("upper", &input, &long, &[])).succeeds();
        assert_eq!(fs::read(&long).unwrap(), b"ABC");
    }
}

#[test]
fn names_need_not_be_utf_8() {
    let dir = TestDir::new();
    #[cfg(unix)]
    let [input, output]: [std::ffi::OsString; 2] =
        [b"in \xff\n".to_vec(), b"out \xfe\t'".to_vec()].map(std::os::unix::ffi::OsStringExt::from_vec);
    // A surrogate without its partner.
    #[cfg(windows)]
    let [input, output]: [std::ffi::OsString; 2] =
        [[0x69, 0xd800], [0x6f, 0xdc00]].map(|units| std::os::windows::ffi::OsStringExt::from_wide(&units));
    let [input, output] = [input, output].map(|name| dir.path().join(name));
    if let (true, Err(error)) = (cfg!(windows), fs::write(&input, "abc")) {
        return println!("skipped: the system makes no such names: {error}");
    }
    fs::write(&input, "abc").unwrap();
    for options in [&[][..], &["--overwrite"], &[]] {
        run(&mut transform("upper", &input, &output, options)).succeeds();
        assert_eq!(fs::read(&output).unwrap(), b"ABC");
    }
    run(fullbore(["probe"]).arg(&output)).succeeds();
    assert_eq!(fs::read_dir(dir.path()).unwrap().count(), 2);
}

// Modes and owners.
#[cfg(unix)]
#[test]
fn without_rights_nothing_is_read_or_written() {
    let dir = TestDir::open_to_all();
    let input = dir.file("in", "abc");
    set_mode(&input, 0o644);
    let secret = dir.file("secret", "abc");
    set_mode(&secret, 0o200);
    let guarded = dir.file("guarded", "old");
    set_mode(&guarded, 0o444);
    dir.directories(["closed"]);
    let closed = dir.at("closed");
    set_mode(&closed, 0o555);
    let Some(person) = Unprivileged::new() else { return };
    let go = |words: &[&str], paths: &[&Path]| run(person.command(words).args(paths));
    go(&["transform", "upper"], &[&input, &dir.at("out")]).succeeds();
    let denied = |words: &[&str], paths: &[&Path], name: &str| {
        go(words, paths).fails(2, &[name, "Permission denied"]);
    };
    denied(&["transform", "upper"], &[&secret, &dir.at("out")], "secret");
    denied(&["transform", "upper"], &[&input, &guarded], "guarded");
    denied(&["transform", "upper", "--overwrite"], &[&input, &guarded], "guarded");
    denied(&["transform", "upper", "--in-place"], &[&guarded], "guarded");
    denied(&["transform", "upper"], &[&input, &closed.join("new")], "new");
    denied(&["gen", "1M"], &[&closed.join("new")], "new");
    assert_eq!(fs::read(&guarded).unwrap(), b"old");
    assert_eq!(names(&closed), [""; 0]);
    assert_eq!(dir.names(), ["closed", "guarded", "in", "out", "secret"]);
    set_mode(&closed, 0o755);
}

// A read-only file system, mounted.
#[cfg(target_os = "linux")]
#[test]
fn read_only_file_system_is_reported() {
    let dir = TestDir::new();
    let input = dir.file("in", "abc");
    let place = dir.at("mounted");
    let Some(_mount) = or_skip("a read-only mount", Mount::in_memory("size=50%", &place)) else { return };
    fs::write(place.join("old"), "old").unwrap();
    let again = Mount::new(&["-o", "remount,ro"], &place);
    let Some(again) = or_skip("a read-only mount", again) else { return };
    // Mounted once, unmounted once.
    std::mem::forget(again);
    for name in ["old", "new"] {
        for options in [&[][..], &["--overwrite"]] {
            run(&mut transform("upper", &input, &place.join(name), options))
                .fails(2, &[name, "ead-only file system"]);
        }
    }
    run(fullbore(["transform", "upper", "--in-place"]).arg(place.join("old")))
        .fails(2, &["ead-only file system"]);
    run(&mut transform("upper", &place.join("old"), &dir.at("out"), &[])).succeeds();
    assert_eq!(fs::read(place.join("old")).unwrap(), b"old");
    assert_eq!(names(&place), ["old"]);
}
