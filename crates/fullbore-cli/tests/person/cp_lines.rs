//! `cp` and GNU `cp`: command lines with the same results, on files made by a shell.

use crate::copy_trees::nasty;
use crate::cp::ours;
use crate::support::*;
use crate::trees::seen;

/// Files of every kind, made by a shell.
const SETUP: &str = "umask 022; printf x > foo; printf yy > bar; ln -s foo link; ln -s link link2; ln -s nowhere dangling; \
                     mkdir -p dir/sub tree/deep into; printf 1 > tree/a; printf 2 > tree/deep/b; ln -s a tree/l; \
                     ln tree/a tree/h; printf old > into/foo; ln -s dir dlink; printf o > old; touch -d 2001-01-01 old; \
                     printf z > 'sp ace'; printf q > \"it's\"; printf s > 600; chmod 600 600; printf t > 755; chmod 755 755; \
                     mkdir 700; chmod 700 700; mkfifo fifo; chmod 600 fifo; printf n > $'n\\nl'; mkdir -p p/x q/x; \
                     printf 1 > p/x/1; printf 2 > q/x/2; printf p > p/f; printf q > q/f; ln -s a a; \
                     printf new > foo~; ";

/// Lines with the same files and exit code in every version of `cp`; `source` has files of every kind. With 9.1, the output
/// is the same, too.
const LINES_OF_EVERY_VERSION: &str = include_str!("lines/cp-of-every-version.txt");

/// Lines with results identical to GNU's 9.1 to the last byte: standard output, standard error, files, exit code.
const LINES: &str = include_str!("lines/cp.txt");

#[test]
fn common_command_lines_match_gnu() {
    let known = is_version("cp", &["cp (GNU coreutils) 9.1"]);
    let dir = TestDir::new();
    for template in ["template", "template with source"] {
        dir.directories([template]);
        line_of_tools(&dir.at(template), SETUP, false, "C").succeeds();
    }
    nasty(&dir, "template with source/source");
    let mut wrong = Vec::new();
    let lines = LINES_OF_EVERY_VERSION.lines().chain(if known { LINES } else { "" }.lines());
    for arguments in cases("command lines of cp", 4, lines) {
        let template = if arguments.contains("source") { "template with source" } else { "template" };
        let [theirs, ours] = [false, true].map(|ours| {
            dir.shell(&format!("cp -a '{template}' place")).succeeds();
            let place = dir.at("place");
            let ended = line_of_tools(&place, &format!("umask 022; {arguments}"), ours, "C");
            let all = seen(&place, false);
            fs::remove_dir_all(place).unwrap();
            let mut lines: Vec<String> = ended.text().lines().map(str::to_owned).collect();
            lines.sort();
            // The words of GNU's C library for a loop of links; others have their own.
            let mut errors = ended.stderr.replace(&system_words(40), "Too many levels of symbolic links");
            if !known {
                lines.clear();
                errors.truncate(1);
            }
            ((ended.code(), lines, errors), all)
        });
        if theirs.0 != ours.0 {
            wrong.push(format!("{arguments}\n  GNU:  {:?}\n  ours: {:?}", theirs.0, ours.0));
        } else if theirs.1 != ours.1 {
            let names = theirs.1.keys().chain(ours.1.keys());
            let differ = names.filter(|name| theirs.1.get(*name) != ours.1.get(*name)).map(|name| {
                let said = [&theirs.1, &ours.1].map(|all| all.get(name));
                format!("\n  {}: {said:?}", String::from_utf8_lossy(name))
            });
            wrong.push(format!("{arguments}{}", differ.collect::<String>()));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn link_does_not_replace_its_target() {
    let dir = TestDir::new();
    dir.file("foo", "x");
    symlink("foo", dir.at("link")).unwrap();
    dir.directories(["source", "target"]);
    dir.file("target/foo", "x");
    symlink("../target/foo", dir.at("source/foo")).unwrap();
    for arguments in
        ["-P link foo", "-d link foo", "-a link foo", "-r link foo", "-df link foo", "-r source/. target"]
    {
        let ended = ours(&dir, &format!("cp {arguments}"));
        ended.fails(1, &["are the same file"]);
        for name in ["foo", "target/foo"] {
            assert!(fs::symlink_metadata(dir.at(name)).unwrap().is_file(), "{arguments}");
            assert_eq!(dir.read(name), b"x", "{arguments}");
        }
    }
}

/// The system reports a length of one page for these files.
#[test]
fn files_of_sysfs_are_copied() {
    let places = ["/sys/kernel/mm/transparent_hugepage", "/sys/class/net/lo/queues", "/sys/kernel/mm/ksm"];
    let Some(source) = places.into_iter().map(Path::new).find(|path| path.is_dir()) else {
        return println!("skipped: no sysfs");
    };
    let dir = TestDir::new();
    // Some of them are write-only; the others are still copied.
    let _ = dir.run(&format!("cp -r {} target", source.display()));
    let mut read = Vec::new();
    for (path, _) in walked(source) {
        if let Ok(bytes) = fs::read(&path) {
            let copy = fs::read(dir.at("target").join(path.strip_prefix(source).unwrap())).unwrap();
            // Some are counters, which have changed since.
            let counts = |bytes: &[u8]| bytes.trim_ascii_end().iter().all(u8::is_ascii_digit);
            assert!(copy == bytes || counts(&copy) && counts(&bytes), "{}: {copy:?}", path.display());
            read.push((path, bytes));
        }
    }
    // No counter, if possible.
    let short = read.iter().filter(|(_, bytes)| bytes.len() < 4096);
    let (file, bytes) = short.max_by_key(|(_, bytes)| bytes.contains(&b'[')).unwrap();
    for flag in ["--sparse=always", "--sparse=never", "--reflink=never", "--verify"] {
        dir.run(&format!("cp {flag} {} one", file.display())).succeeds();
        assert_eq!(dir.read("one"), *bytes, "{flag}");
    }
}

#[test]
fn sparse_flag_makes_or_fills_holes() {
    let dir = TestDir::new();
    let mut data = bytes(3 << 20, 4);
    data[1 << 20..2 << 20].fill(0);
    data.extend([0; 5000]);
    dir.file("full", &data);
    let copied = |flag: &str, source: &str, target: &str, wanted: &[u8]| {
        dir.run(&format!("cp --reflink=never --sparse={flag} {source} {target}")).succeeds();
        assert!(dir.read(target) == wanted, "{flag}");
        fs::metadata(dir.at(target)).unwrap().blocks() * 512
    };
    let sparse = copied("always", "full", "sparse", &data);
    assert!(sparse < 5 << 19, "{sparse} bytes");
    assert!(copied("never", "sparse", "target", &data) >= 3 << 20);
    assert!(copied("auto", "sparse", "target", &data) < 5 << 19);
    let zeros = &data[(1 << 20)..(1 << 20) + 100_000];
    dir.file("full", zeros);
    assert_eq!(copied("always", "full", "zeros", zeros), 0);
}

#[test]
fn links_to_directories_are_kept_on_request() {
    let dir = TestDir::new();
    dir.directories(["s/d", "t", "other"]);
    dir.file("s/d/file", "x");
    symlink("../other", dir.at("t/d")).unwrap();
    ours(&dir, "cp -r s/. t")
        .fails(1, &["cp: cannot overwrite non-directory 't/./d' with directory 's/./d'\n"]);
    ours(&dir, "cp -r --keep-directory-symlink s/. t").succeeds();
    assert_eq!(dir.read("other/file"), b"x");
    assert!(fs::symlink_metadata(dir.at("t/d")).unwrap().is_symlink());
}

#[test]
fn one_file_system_is_respected() {
    let dir = TestDir::new();
    dir.directories(["s/mount"]);
    let Some(_mount) = or_skip("a second file system", Mount::in_memory("size=50%", &dir.at("s/mount")))
    else {
        return;
    };
    dir.file("s/mount/there", "x");
    dir.file("s/here", "x");
    dir.run("cp -rx s t").succeeds();
    assert_eq!(names(&dir.at("t")), ["here", "mount"]);
    assert!(names(&dir.at("t/mount")).is_empty());
    dir.run("cp -rx s/mount u").succeeds();
    assert_eq!(names(&dir.at("u")), ["there"]);
}

/// Access control lists, on every file system of the test environment.
#[test]
fn access_control_lists_are_preserved() {
    let tools = installed("setfacl").and_then(|()| installed("getfacl"));
    let Some(()) = or_skip("access control lists", tools) else { return };
    let dirs = std::env::var_os("FULLBORE_TEST_DIRS").unwrap_or_default();
    let rooms = std::env::split_paths(&dirs).filter(|dir| dir.is_dir()).map(|dir| TestDir::within(&dir));
    for dir in rooms.chain([TestDir::new()]) {
        let place = dir.path().display();
        dir.directories(["tree"]);
        dir.file("tree/file", bytes(300_000, 1));
        dir.file("tree/small", "x");
        let set = |list: &str, name: &str| dir.shell(&format!("setfacl -m {list} {name}")).code() == 0;
        if !set("u:1:r,g:7:rw,m::rw", "tree/file") {
            println!("skipped: access control lists: not on {place}");
            continue;
        }
        assert!(set("u:1:r,g:7:rw", "tree/small"));
        assert!(set("u:2:rwx", "tree") && set("d:u:3:rwx,d:g::---", "tree"));
        let lists = |root: &str| dir.shell(&format!("cd {root} && getfacl -Rn . | sort")).succeeds().text();
        for flags in ["-a", "-rp", "-r --preserve=mode"] {
            ours(&dir, &format!("cp {flags} tree copy")).succeeds();
            assert_eq!(lists("tree"), lists("copy"), "{flags} in {place}");
            ours(&dir, &format!("cp {flags} tree/. copy")).succeeds();
            assert_eq!(lists("tree"), lists("copy"), "{flags} over itself in {place}");
            fs::remove_dir_all(dir.at("copy")).unwrap();
        }
        for flags in ["-p", "-a"] {
            ours(&dir, &format!("cp {flags} tree/file one")).succeeds();
            let list = |path: &str| dir.shell(&format!("getfacl -n {path} | tail -n +2")).succeeds().text();
            assert_eq!(list("tree/file"), list("one"));
            fs::remove_file(dir.at("one")).unwrap();
        }
    }
}

/// The system checks the mode, not the descriptor, when an attribute is set.
#[test]
fn attributes_of_unwritable_files_are_preserved() {
    let Some(somebody) = Unprivileged::new() else { return };
    let dir = TestDir::open_to_all();
    dir.directories(["tree"]);
    for (name, len) in [("tree/small", 10), ("tree/large", 3 << 20)] {
        let path = dir.file(name, bytes(len, 1));
        let set = rustix::fs::setxattr(&path, "user.one", b"value", rustix::fs::XattrFlags::empty());
        let Some(()) = or_skip("extended attributes", set) else { return };
        dir.set_mode(name, 0o444);
    }
    for flags in ["-a", "-r --preserve=xattr"] {
        for words in ["tree copy", "tree/small one"] {
            somebody.run(&dir, &format!("cp {flags} {words}")).succeeds();
        }
        for name in ["copy/small", "copy/large", "one"] {
            let mut value = [0; 16];
            let len = rustix::fs::getxattr(dir.at(name), "user.one", &mut value[..]).unwrap_or(0);
            assert_eq!((&value[..len], dir.mode(name)), (&b"value"[..], 0o444), "{flags} {name}");
        }
        fs::remove_dir_all(dir.at("copy")).unwrap();
        fs::remove_file(dir.at("one")).unwrap();
    }
}

#[test]
fn attribute_that_cannot_be_set_is_named() {
    let Some(somebody) = Unprivileged::new() else { return };
    let dir = TestDir::open_to_all();
    let path = dir.file("source", "bytes");
    let set = rustix::fs::setxattr(&path, "security.one", b"value", rustix::fs::XattrFlags::empty());
    let Some(()) = or_skip("security attributes", set) else { return };
    let ended = somebody.run(&dir, "cp --preserve=xattr source target");
    ended.fails(1, &["setting attribute 'security.one' for 'target': "]);
}

#[test]
fn force_replaces_a_target_that_cannot_be_opened_for_its_attributes() {
    let Some(somebody) = Unprivileged::new() else { return };
    let dir = TestDir::open_to_all();
    dir.files(["source", "target"], "bytes");
    dir.set_mode("target", 0o444);
    let cp = |flags: &str| somebody.run(&dir, &format!("cp --attributes-only {flags} source target"));
    cp("-v").fails(1, &["cannot create regular file 'target': "]);
    assert_eq!(dir.read("target"), b"bytes");
    assert_contains(&cp("-fv").succeeds().text(), &["removed 'target'"]);
    assert_eq!(dir.read("target"), b"");
}

/// No name can be changed there.
#[test]
fn an_append_only_directory_gets_new_files_alone() {
    let dir = TestDir::new();
    dir.directories(["log", "tree"]);
    let data = bytes(300_000, 1);
    dir.file("in", &data);
    dir.file("log/old", "old");
    dir.file("long", bytes(9 << 20, 2));
    let copy = |words: &str| dir.run(&format!("copy {words}"));
    let lines = ["in log/new", "in log/old", "-r tree log/tree", "--resume long log/long"];
    let ended = while_attributed(&dir.at("log"), "a", || lines.map(copy));
    let Some([new, old, tree, long]) = ended else { return };
    new.succeeds();
    old.fails(1, &["log/old"]);
    tree.fails(1, &["log/tree"]);
    long.fails(1, &["log/long"]);
    assert!(dir.read("log/new") == data && dir.read("log/old") == b"old");
    let (hidden, named): (Vec<_>, _) =
        names(&dir.at("log")).into_iter().partition(|name| name.starts_with('.'));
    assert!(named == ["new", "old"] && hidden.len() == 4, "{named:?} {hidden:?}");
}

#[test]
fn a_method_that_may_share_blocks_contradicts_reflink_never() {
    let dir = TestDir::new();
    dir.file("in", bytes(300_000, 1));
    let ended = dir.run("copy --reflink=never --strategy method=copy_file_range in out");
    ended.fails(1, &["share blocks"]);
    assert_eq!(dir.names(), ["in"]);
}

/// `cp` removes such a file before it creates the new one.
#[test]
fn old_file_that_cannot_give_way_is_not_removed() {
    let Some(somebody) = Unprivileged::new() else { return };
    let dir = TestDir::open_to_all();
    dir.directories(["closed"]);
    dir.files(["source", "closed/target"], "bytes");
    dir.set_mode("closed/target", 0o444);
    dir.set_mode("closed", 0o555);
    for (flag, doing) in [
        ("-f", "cannot remove"),
        ("--remove-destination", "cannot remove"),
        ("-p", "cannot create regular file"),
        ("--attributes-only", "cannot create regular file"),
    ] {
        let ended = somebody.run(&dir, &format!("cp {flag} source closed/target"));
        ended.fails(1, &[&format!("{doing} 'closed/target': ")]);
    }
    dir.set_mode("closed", 0o755);
    let cp = |flag: &str| dir.run(&format!("cp {flag} source closed/target"));
    let ended = while_attributed(&dir.at("closed/target"), "i", || ["-f", "--remove-destination"].map(cp));
    ended.into_iter().flatten().for_each(|ended| drop(ended.fails(1, &["cannot remove 'closed/target': "])));
}
