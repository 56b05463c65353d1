//! `fullbore copy` and `cp`: the same trees and exit codes, and the additions: no partial copies, verification,
//! resumption.

use crate::support::*;

use crate::trees::{same, seen};

#[test]
fn a_directory_is_not_copied_into_itself() {
    let dir = TestDir::new();
    dir.directories(["a/b"]);
    dir.file("a/file", "x");
    #[cfg(unix)]
    symlink("..", dir.at("a/up")).unwrap();
    let before = names(&dir.at("a"));
    for (source, target) in [("a", "a/c"), ("a", "a/b"), ("a", "a"), ("a/", "a/b/c"), ("a/b/..", "a/c")] {
        let ended = dir.run(&format!("copy -r {source} {target}"));
        ended.fails(1, &["cannot copy a directory, ", ", into itself, "]);
        assert_eq!(names(&dir.at("a")), before, "{source} {target}");
    }
    if cfg!(unix) {
        dir.run("copy -rL a other").fails(1, &["cannot copy cyclic symbolic link"]);
        assert_eq!(dir.read("other/file"), b"x");
    }
}

#[test]
fn verbose_lists_names_and_summary_adds_up() {
    let dir = TestDir::new();
    dir.directories(["s"]);
    // Names on Windows have no control characters, and a file there is data to its end.
    let (name, line, holes) = match cfg!(unix) {
        true => ("s/a\nb", "'s/a'$'\\n''b' -> 't/a'$'\\n''b'\n", 9 << 20),
        false => ("s/a b", "'s/a b' -> 't/a b'\n", 0),
    };
    dir.file(name, bytes(1000, 1));
    File::create(dir.at("s/sparse")).unwrap().set_len(10 << 20).unwrap();
    write_at(&dir.at("s/sparse"), &bytes(1 << 20, 2), 3 << 20);
    let ended = dir.run("copy -rv s t --explain").succeeds();
    let text = match cfg!(unix) {
        true => ended.text(),
        false => slashes(&ended.text()),
    };
    assert_contains(&text, &["'s' -> 't'\n", line, "'s/sparse' -> 't/sparse'\n"]);
    assert!(ended.stderr.contains("strategy: "), "{ended}");
    assert_eq!(ended.stderr.contains("skipped as holes"), holes > 0, "{ended}");
    assert!(ended.stderr.contains("copied: 2 files, 1 directory"), "{ended}");
    let json = dir.run("copy -r s u --json --reflink=never").succeeds().json();
    assert_eq!(json["copy"]["files"], 2);
    assert_eq!(json["copy"]["copied"], 1000 + (10 << 20) - holes);
    assert_eq!(json["copy"]["holes"], holes);
    assert_eq!(json["bytes"], (10 << 20) + 1000);
    let json = dir.run("copy s/sparse v --verify --json --reflink=never").succeeds().json();
    assert_eq!(json["copy"]["verified"], (10 << 20) - holes);
    let ended = dir.run("copy -r s w --progress always").succeeds();
    assert!(ended.stderr.contains("copy: ") && ended.stderr.contains(" of 10.5 MB"), "{ended}");
}

#[test]
fn holes_for_zeros_exclude_flags_that_set_the_method() {
    let dir = TestDir::new();
    dir.directories(["s"]);
    let content = |file: u64| [bytes(100_000, file), vec![0; 3 << 20]].concat();
    for file in 0..3 {
        dir.file(&format!("s/{file}"), content(file));
    }
    for flag in ["--strategy method=direct", "--strategy workers=2", "--cache drop", "--verify", "--resume"] {
        let name = flag.split(' ').next().unwrap();
        dir.run(&format!("copy -r --sparse always {flag} s t")).fails(1, &["--sparse", name]);
        assert_eq!(dir.names(), ["s"], "{flag}");
    }
    dir.run("copy -r --sparse always --strategy auto --workers 2 --memory 8M s t").succeeds();
    for file in 0..3 {
        assert!(dir.read(&format!("t/{file}")) == content(file), "{file}");
    }
}

#[test]
fn a_new_tree_is_complete_at_every_level_of_sync() {
    let dir = TestDir::new();
    dir.directories(["s/deep", "s/empty"]);
    dir.file("s/none", "");
    dir.file("s/deep/small", bytes(1000, 1));
    dir.file("s/deep/large", bytes(1 << 20, 2));
    for level in ["none", "data", "full"] {
        dir.run(&format!("copy -r --sync {level} s {level}")).succeeds();
        same(&seen(&dir.at("s"), false), &seen(&dir.at(level), false), level);
    }
}

#[test]
fn interrupted_copy_leaves_no_tree() {
    let dir = TestDir::new();
    for directory in 0..20 {
        dir.directories([format!("source/{directory}")]);
        for file in 0..200 {
            dir.file(&format!("source/{directory}/{file}"), bytes(3000, file));
        }
    }
    let (source, target) = (dir.at("source"), dir.at("target"));
    let whole = seen(&source, false);
    let begin = Instant::now();
    dir.run("copy -r source target").succeeds();
    let longest = begin.elapsed();
    fs::remove_dir_all(&target).unwrap();
    let (mut outcomes, mut killed_in_the_middle) = (BTreeSet::new(), 0);
    for round in 0..24u32 {
        let gently = cfg!(unix) && round % 2 == 0;
        let mut running = start(&mut dir.command("copy -r source target"));
        sleep(longest * (round / 2) / 12);
        running.stop(gently);
        let ended = running.end();
        outcomes.insert(ended.code());
        if target.exists() {
            same(&whole, &seen(&target, false), &format!("half a tree: {ended}"));
            fs::remove_dir_all(&target).unwrap();
        }
        for name in dir.names().into_iter().filter(|name| name != "source") {
            assert!(!gently && name.starts_with(".target.fullbore-"), "{name} is left: {ended}");
            killed_in_the_middle += 1;
            fs::remove_dir_all(dir.at(&name)).unwrap();
        }
    }
    assert!(cfg!(windows) || outcomes.contains(&130), "{outcomes:?}");
    assert!(outcomes.contains(&KILLED) && killed_in_the_middle > 0, "{outcomes:?}");
}

#[test]
fn prompt_is_on_standard_error() {
    let dir = TestDir::new();
    dir.file("a", "new");
    dir.file("b", "old");
    for (answer, wanted) in [("n\n", "old"), ("", "old"), ("maybe\n", "old"), ("Yes\n", "new")] {
        let ended = run_with(&mut dir.command("cp -i a b"), answer.as_bytes()).succeeds();
        assert_eq!(ended.stderr, "fullbore copy: overwrite 'b'? ");
        assert!(ended.stdout.is_empty());
        assert_eq!(dir.read("b"), wanted.as_bytes(), "{answer:?}");
    }
}

#[test]
fn only_the_first_letter_of_an_answer_is_kept() {
    let dir = TestDir::new();
    dir.directories(["target"]);
    dir.files(["a", "b"], "new");
    dir.files(["target/a", "target/b"], "old");
    let answers = [vec![b'n'; 100_000], b"\n".to_vec(), vec![b'y'; 100_000]].concat();
    run_with(&mut dir.command("cp -i a b target"), &answers).succeeds();
    assert_eq!((dir.read("target/a"), dir.read("target/b")), (b"old".to_vec(), b"new".to_vec()));
    #[cfg(unix)]
    {
        let line = "(ulimit -v 500000; head -c 1G /dev/zero | $0 copy -i a target)";
        dir.shell(line).succeeds();
        assert_eq!(dir.read("target/a"), b"old");
    }
}

/// Gives a file or directory the modification time of another.
fn same_time(path: &Path, source: &Path) {
    let time = fs::metadata(source).unwrap().modified().unwrap();
    let file = File::options().read(true).write(path.is_file()).open(path).unwrap();
    file.set_times(fs::FileTimes::new().set_modified(time)).unwrap();
}

/// A target with the length and the time of its source may have lost its bytes.
#[test]
fn damaged_targets_are_copied_again() {
    let dir = TestDir::new();
    let target = dir.at("target");
    let lost = |len: usize| {
        File::create(&target).unwrap().set_len(len as u64).unwrap();
        same_time(&target, &dir.at("source"));
    };
    let again = |options: &str| {
        run(&mut dir.command(&format!("copy --resume --reflink=never source target --json {options}")))
            .succeeds()
    };
    for len in [100_000, (12 << 20) + 4567] {
        let data = bytes(len, 7);
        let source = dir.file("source", &data);
        again("");
        assert_eq!(again("").json()["copy"]["skipped"], 1);
        let json = again("--verify").json();
        assert_eq!((&json["copy"]["skipped"], &json["copy"]["verified"]), (&json!(1), &json!(len)));
        for at in [0, len as u64 - 7] {
            write_at(&target, b"damage", at);
            same_time(&target, &source);
            again("--verify");
            assert!(dir.read("target") == data, "{len} {at}");
        }
        lost(len);
        if File::open(&target).unwrap().metadata().is_ok_and(|found| is_sparse(&found)) {
            again("");
            assert!(dir.read("target") == data, "{len}");
            // Zeros may be a hole.
            dir.file("source", vec![0; len]);
            lost(len);
            assert_eq!(again("").json()["copy"]["skipped"], 1);
        } else {
            println!("skipped: this file system has no holes");
        }
        fs::remove_file(&target).unwrap();
    }
}

#[cfg(unix)]
fn is_sparse(found: &fs::Metadata) -> bool {
    found.blocks() * 512 < found.len()
}

#[cfg(windows)]
fn is_sparse(_: &fs::Metadata) -> bool {
    false
}

// Lengths of directories.
#[cfg(unix)]
#[test]
fn a_directory_is_not_the_copy_of_a_file() {
    let dir = TestDir::new();
    dir.directories(["target"]);
    let source = dir.file("source", bytes(fs::metadata(dir.at("target")).unwrap().len() as usize, 1));
    same_time(&dir.at("target"), &source);
    dir.run("copy --resume -T source target").fails(1, &["directory"]);
}

/// Subvolumes have device numbers of their own.
#[cfg(target_os = "linux")]
#[test]
fn blocks_are_shared_between_subvolumes() {
    let Some(()) = or_skip("subvolumes", installed("btrfs")) else { return };
    let images = TestDir::new();
    let place = images.at("mounted");
    let mount = mount_image("mkfs.btrfs -q -f", &images.at("image"), 200 << 20, &place);
    let Some(_mount) = or_skip("btrfs", mount) else { return };
    let dir = TestDir::within(&place);
    for name in ["one", "two"] {
        let mut create = Command::new("btrfs");
        create.args(["subvolume", "create"]).arg(dir.at(name)).stdout(Stdio::null());
        assert!(create.status().unwrap().success());
    }
    for (name, len) in [("large", 3 << 20), ("small", 100_000)] {
        dir.file(&format!("one/{name}"), bytes(len, 1));
        let json = dir.run(&format!("copy --json one/{name} two/{name}")).succeeds().json();
        assert_eq!(json["copy"]["cloned"], len, "{name}: {json}");
    }
}
