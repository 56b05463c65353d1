//! Names changed by another process during a run, and systems that lack a call: nothing is written elsewhere, nothing
//! is left.

use crate::support::*;

use rustix::fs::{CWD, RenameFlags};

/// Runs `work` while the two paths are exchanged in a loop; `false` if exchanging is not supported.
fn exchanged(one: &Path, other: &Path, work: impl FnOnce()) -> bool {
    let swap = || rustix::fs::renameat_with(CWD, one, CWD, other, RenameFlags::EXCHANGE);
    if or_skip("exchanged names", swap().and_then(|()| swap())).is_none() {
        return false;
    }
    let mut odd = false;
    let exchange = |_| {
        swap().unwrap();
        odd = !odd;
    };
    meanwhile(exchange, work);
    if odd {
        swap().unwrap();
    }
    true
}

/// Temporary names that remain.
fn left(directory: &Path) -> Vec<String> {
    let names =
        walked(directory).into_iter().map(|(path, _)| path.file_name().unwrap().display().to_string());
    names.filter(|name| name.contains(".fullbore")).collect()
}

#[test]
fn dedupe_does_not_follow_an_exchanged_directory() {
    for trial in cases("exchanged directories", 3, 0..24) {
        let how = ["hard", "reflink"][trial % 2];
        let dir = TestDir::new();
        dir.directories(["t", "t/a", "t/d", "foreign"]);
        symlink(dir.at("foreign"), dir.at("link")).unwrap();
        for directory in ["t/a", "t/d", "foreign"] {
            (0..50).for_each(|file| drop(dir.file(&format!("{directory}/{file}"), format!("file {file}"))));
        }
        let before = snapshot(&dir.at("foreign"));
        let dedupe = || drop(dir.run(&format!("dedupe --link {how} t")));
        if !exchanged(&dir.at("t/d"), &dir.at("link"), dedupe) {
            return;
        }
        assert_eq!(snapshot(&dir.at("foreign")), before, "trial {trial}");
        assert_eq!(left(dir.path()), [""; 0], "trial {trial}");
    }
}

#[test]
fn copy_does_not_follow_an_exchanged_directory() {
    for trial in cases("exchanged directories", 4, 0..24) {
        let dir = TestDir::new();
        dir.directories(["s", "s/d", "s/d/new", "t", "t/d", "foreign"]);
        symlink(dir.at("foreign"), dir.at("link")).unwrap();
        for file in 0..100 {
            dir.file(&format!("s/d/{file}"), "ours");
            dir.file(&format!("s/d/new/{file}"), "ours");
            if file % 2 == 0 {
                dir.file(&format!("t/d/{file}"), "old");
                dir.file(&format!("foreign/{file}"), "theirs");
            }
        }
        fs::hard_link(dir.at("s/d/1"), dir.at("s/d/one")).unwrap();
        symlink("1", dir.at("s/d/soft")).unwrap();
        let before = snapshot(&dir.at("foreign"));
        let options = ["-rT", "-aT", "-rTf --resume"][trial % 3];
        let copy = || drop(dir.run(&format!("copy {options} s t")));
        if !exchanged(&dir.at("t/d"), &dir.at("link"), copy) {
            return;
        }
        assert_eq!(snapshot(&dir.at("foreign")), before, "trial {trial}");
        assert_eq!(left(dir.path()), [""; 0], "trial {trial}");
    }
}

#[test]
fn deep_trees_are_copied_with_few_descriptors() {
    let dir = TestDir::new();
    let mut directory = dir.at("s");
    for level in 0..30 {
        fs::create_dir(&directory).unwrap();
        (0..3).for_each(|file| {
            fs::write(directory.join(format!("f{file}")), format!("{level} {file}")).unwrap()
        });
        fs::write(directory.join("large"), bytes(300_000, level)).unwrap();
        let _ = fs::hard_link(dir.at("s/f1"), directory.join("again"));
        directory.push(format!("d{level}"));
    }
    for (options, target) in [("-r", "new"), ("-a", "archive"), ("-rT", "new"), ("-rT --resume", "resumed")] {
        dir.shell(&format!("ulimit -n 20; exec \"$0\" copy {options} s {target}")).succeeds();
        dir.shell(&format!("diff -r s {target}")).succeeds();
        assert_eq!(left(dir.path()), [""; 0], "{options}");
    }
    let (one, deep) = (fs::metadata(dir.at("archive/f1")).unwrap(), dir.at("archive/d0/d1/again"));
    assert_eq!(fs::metadata(deep).unwrap().ino(), one.ino());
}

#[test]
fn fallback_calls_keep_unfinished_files_private() {
    let dir = TestDir::new();
    let content = bytes(3_000_000, 1);
    dir.file("source", &content);
    dir.set_mode("source", 0o640);
    dir.file("t", "");
    let usual = dir.mode("t");
    fs::remove_file(dir.at("t")).unwrap();
    let (fail, later) = ("--inject=linkat:error=EPERM", "--inject=linkat:error=EPERM:when=3+");
    let (no_space, no_openat2) = ("--inject=fallocate:error=ENOSYS", "--inject=openat2:error=EPERM");
    for (inject, words, mode) in [
        (&[fail][..], "copy source t", usual & 0o640),
        (&[fail, no_space], "copy source t", usual & 0o640),
        (&[later], "copy source t", usual & 0o640),
        (&[later], "copy -p source t", 0o640),
        (&[fail], "copy -p source t", 0o640),
        (&[fail, no_space], "transform none source t", usual),
        (&[no_openat2, fail], "transform none source t", usual),
    ] {
        for old in [None, Some(0o604)] {
            if let Some(mode) = old {
                dir.file("t", "old");
                dir.set_mode("t", mode);
            }
            let Some(mut command) = traced(inject, &dir.at("trace"), &dir.command(words)) else { return };
            let (ended, calls) = (run(&mut command), dir.read("trace"));
            let calls = String::from_utf8_lossy(&calls);
            fs::remove_file(dir.at("trace")).unwrap();
            let about = format!("{inject:?} {words} {old:?}");
            assert_eq!(ended.code(), 0, "{about}: {ended}");
            assert!(dir.read("t") == content, "{about}");
            let wanted = if words.contains("-p") { mode } else { old.unwrap_or(mode) };
            assert_eq!(dir.mode("t"), wanted, "{about}");
            assert_eq!(left(dir.path()), [""; 0], "{about}");
            let created = |line: &&str| line.contains(".fullbore-") && line.contains("O_CREAT");
            let named: Vec<_> = calls.lines().filter(created).collect();
            assert!(named.iter().all(|line| line.contains(", 0600")), "{about}: {named:?}");
            assert!(!inject.contains(&fail) || !named.is_empty(), "{about}: no temporary name");
            fs::remove_file(dir.at("t")).unwrap();
        }
    }
}

#[test]
fn without_proc_temporaries_are_their_owners_alone() {
    let dir = TestDir::open_to_all();
    dir.file("source", bytes(3_000_000, 1));
    let Some(user) = Unprivileged::new() else { return };
    for mut command in [fullbore(["copy", "source", "t"]), user.command(["copy", "source", "t"])] {
        let Some(mut command) = without_proc(command.current_dir(dir.path())) else { return };
        run(&mut command).succeeds();
        assert_eq!(dir.read("t").len(), 3_000_000);
        assert_eq!(dir.names(), ["source", "t"]);
        fs::remove_file(dir.at("t")).unwrap();
    }
}
