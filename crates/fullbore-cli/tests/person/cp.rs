//! The binary called as `cp`: the same messages, exit codes and files.

use crate::support::*;

/// Runs a line in the directory, in which `cp` is this program.
pub(crate) fn ours(dir: &TestDir, text: &str) -> Finished {
    #[cfg(unix)]
    return line_of_tools(dir.path(), text, true, "C");
    #[cfg(windows)]
    {
        let names = TestDir::new();
        let mut command = Command::new(name_binary(names.path(), "cp"));
        command.args(text.split(' ').skip(1)).current_dir(dir.path());
        run(command.env("XDG_CONFIG_HOME", NOWHERE))
    }
}

#[test]
fn missing_source_is_the_error_whatever_the_target_is() {
    let dir = TestDir::new();
    for target in ["none/", "''"] {
        ours(&dir, &format!("cp missing {target}")).fails(1, &["cp: cannot stat 'missing': No such file"]);
    }
}

#[test]
fn no_clobber_and_dangling_links_are_not_forced() {
    let dir = TestDir::new();
    dir.file("new", "new");
    dir.file("old", "old");
    for flags in ["-n", "-in"] {
        ours(&dir, &format!("cp {flags} new old")).succeeds();
        assert_eq!(dir.read("old"), b"old", "{flags}");
    }
    #[cfg(unix)]
    {
        symlink("nowhere", dir.at("dangling")).unwrap();
        let ended = ours(&dir, "cp -f new dangling");
        ended.fails(1, &["cp: not writing through dangling symlink 'dangling'\n"]);
        assert_eq!(fs::read_link(dir.at("dangling")).unwrap(), Path::new("nowhere"));
        // GNU's `-n` replaces the link if the source is a further name of a copied file.
        dir.directories(["further"]);
        fs::hard_link(dir.at("new"), dir.at("name")).unwrap();
        symlink("nowhere", dir.at("further/name")).unwrap();
        ours(&dir, "cp -n --preserve=links new name further").succeeds();
        assert_eq!(fs::read_link(dir.at("further/name")).unwrap(), Path::new("nowhere"));
        // The order of the sources decides: the first name is not written through the link.
        fs::remove_file(dir.at("further/new")).unwrap();
        let ended = ours(&dir, "cp -n --preserve=links name new further");
        ended.fails(1, &["cp: not writing through dangling symlink 'further/name'\n"]);
        assert_eq!(dir.read("further/new"), b"new");
    }
    ours(&dir, "cp --update=none-fail new old").fails(1, &["not replacing 'old'"]);
    ours(&dir, "cp --update=none new old").succeeds();
    // An existing target is kept before its link's path is examined.
    dir.directories(["directory"]);
    dir.file("directory/new", "old");
    ours(&dir, "cp -s --update=none new directory").succeeds();
    assert_eq!(dir.read("directory/new"), b"old");
    assert_eq!(dir.read("old"), b"old");
    // The last of `-u` and `--update` counts.
    fs::File::options().write(true).open(dir.at("new")).unwrap().set_modified(std::time::UNIX_EPOCH).unwrap();
    ours(&dir, "cp --update=all -u new old").succeeds();
    assert_eq!(dir.read("old"), b"old");
    ours(&dir, "cp -u --update=all new old").succeeds();
    dir.file("kept", "old");
    ours(&dir, "cp --backup=numbered --backup new kept").succeeds();
    assert_eq!(dir.read("kept.~1~"), b"old");
    assert_eq!(dir.read("old"), b"new");
}

/// Also if the first of them is written through a symbolic link at the target.
#[cfg(unix)]
#[test]
fn names_of_one_file_stay_names_of_one_file() {
    use std::os::unix::fs::MetadataExt;
    for (links, flags) in [("x", "-a"), ("x y", "-a"), ("x y", "-aL"), ("x", "-r --preserve=links")] {
        let dir = TestDir::new();
        dir.shell("mkdir s f; echo new >s/x; ln s/x s/y; echo old | tee behind-x >behind-y").succeeds();
        for name in links.split(' ') {
            symlink(format!("../behind-{name}"), dir.at(&format!("f/{name}"))).unwrap();
        }
        ours(&dir, &format!("cp {flags} ./s/. f")).succeeds();
        let [x, y] = ["f/x", "f/y"].map(|name| fs::metadata(dir.at(name)).unwrap().ino());
        assert_eq!(
            (x == y, dir.read("f/x"), dir.read("f/y")),
            (true, b"new\n".into(), b"new\n".into()),
            "{flags}"
        );
        // At most one of the files behind the links is written.
        let old = ["behind-x", "behind-y"].iter().filter(|name| dir.read(name) == b"old\n").count();
        assert!(old >= 1, "{links} {flags}");
    }
}

#[test]
fn directories_with_one_name_are_merged_for_any_number_of_workers() {
    let dir = TestDir::new();
    for (source, directory) in (0..8).flat_map(|source| (0..4).map(move |directory| (source, directory))) {
        let place = format!("{source}/x/{directory}");
        dir.directories([&place]);
        dir.file(&format!("{place}/{source}"), [source]);
    }
    for workers in ["1", "2", "8"] {
        dir.directories(["target"]);
        ours(&dir, &format!("cp -r --workers {workers} ?/x target")).succeeds();
        for (source, directory) in (0..8).flat_map(|source| (0..4).map(move |directory| (source, directory)))
        {
            let name = format!("target/x/{directory}/{source}");
            assert_eq!(dir.read(&name), [source], "{name}");
        }
        assert_eq!(names(&dir.at("target")), ["x"]);
        fs::remove_dir_all(dir.at("target")).unwrap();
    }
}

#[test]
fn debug_and_time_print_details() {
    let dir = TestDir::new();
    dir.file("a", "bytes");
    let ended = ours(&dir, "cp --debug --reflink=never a b").succeeds();
    assert!(ended.text().starts_with("'a' -> 'b'\ncopy offload: "), "{ended}");
    assert!(ended.text().contains(", reflink: no, sparse detection: no\n"), "{ended}");
    let ended = ours(&dir, "cp --debug --attributes-only a c").succeeds();
    assert_eq!(ended.text().lines().count(), 1, "no bytes were copied");
    let ended = ours(&dir, "cp --debug -n a b").succeeds();
    assert_eq!(ended.text(), "skipped 'b'\n");
    let ended = ours(&dir, "cp -v a c").succeeds();
    assert_eq!((ended.text().as_str(), ended.stderr.as_str()), ("'a' -> 'c'\n", ""));
    let ended = ours(&dir, "cp --time a c").succeeds();
    assert!(ended.stdout.is_empty() && ended.stderr.starts_with("copied: 1 file; "), "{ended}");
}

#[test]
fn backup_is_restored_when_the_copy_fails() {
    let dir = TestDir::new();
    dir.file("b", "old");
    dir.file("b~", "older");
    let source = dir.file("a", "new");
    #[cfg(unix)]
    dir.set_mode("a", 0o000);
    #[cfg(windows)]
    let _kept =
        std::os::windows::fs::OpenOptionsExt::share_mode(fs::File::options().read(true), 0).open(&source);
    // Root can read it anyway.
    let failing = if fs::read(&source).is_ok() { "/proc/self/mem" } else { "a" };
    ours(&dir, &format!("cp --backup=t {failing} b")).fails(1, &["cp: "]);
    assert_eq!(dir.read("b"), b"old");
    assert!(!dir.at("b.~1~").exists());
    assert_eq!(dir.read("b~"), b"older");
}

/// The shortened name of a backup may be that of the source, which the backup would replace.
#[cfg(unix)]
#[test]
fn shortened_backup_does_not_replace_its_source() {
    let dir = TestDir::new();
    let (source, target) = (format!("{}~", "n".repeat(253)), "n".repeat(255));
    dir.file(&source, "new");
    dir.file(&target, "old");
    ours(&dir, &format!("cp -b {source} {target}")).fails(1, &["backing up"]);
    assert_eq!((dir.read(&source), dir.read(&target)), (b"new".to_vec(), b"old".to_vec()));
}
