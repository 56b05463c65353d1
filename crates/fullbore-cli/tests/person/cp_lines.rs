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
const LINES_OF_EVERY_VERSION: &[&str] = &[
    "cp -r source new",
    "cp -r source into",
    "cp -rT source into",
    "cp -r source/. into",
    "cp -r source new/",
    "cp source into",
    "ln -s source sl; cp -r sl link into",
    "ln -s source sl; cp -rH sl link into",
    "ln -s source sl; cp -rP sl link into",
    "ln -s source sl; cp -a sl into",
    "cp -t into foo bar",
    "cp -T foo into",
    "cp link foo",
    "cp link into",
    "cp -P link into",
    "cp nothing foo into",
    "cp foo foo into",
    "cp foo missing/x/y",
    "cp -p 755 x",
    "cp -p 755 600",
    "cp --preserve=mode 755 x",
    "cp 755 foo",
    "cp -f foo bar",
    "mkdir -p in/p/x; printf 0 > in/p/x/1; chmod 600 in/p/x/1; cp -r p in",
    "mkdir -p in/p; printf 0 > in/p/x; cp -r p in",
];

/// Lines with results identical to GNU's 9.1 to the last byte: standard output, standard error, files, exit code.
const LINES: &[&str] = &[
    "cp nothing x",
    "cp nothing missing/x",
    "cp foo missing/x",
    "cp foo bar/x",
    "cp tree x",
    "cp tree foo into",
    "cp foo",
    "cp",
    "cp foo bar nothing",
    "cp foo bar 600",
    "cp -t nothing foo",
    "cp -t foo bar",
    "cp -T foo bar 600",
    "cp -t into -T foo",
    "cp '' foo into",
    "cp foo ''",
    "cp -r tree ''",
    "cp foo foo",
    "cp foo ./foo",
    "cp -P link foo",
    "cp -a link foo",
    "cp -df link foo",
    "cp -r link foo",
    "cp foo link",
    "cp --remove-destination foo link",
    "cp -v --remove-destination bar foo",
    "cp -n foo foo",
    "cp -nf bar foo",
    "cp -fn bar foo",
    "cp -rnf bar foo",
    "cp -n -u bar old",
    "cp -u bar old",
    "cp -u old bar",
    "cp -uv bar old",
    "cp foo dangling",
    "cp -f foo dangling",
    "cp --remove-destination foo dangling",
    "POSIXLY_CORRECT=1 cp foo dangling",
    "cp -rP dangling link",
    "cp bar a",
    "cp -f bar a",
    "cp -v foo x",
    "cp -v 'sp ace' x",
    "cp -v \"it's\" x",
    "cp -v $'n\\nl' x",
    "cp -v foo bar into",
    "cp -rv tree/deep x",
    "cp -b foo bar",
    "cp -bv foo bar",
    "cp -v --backup=t foo bar; cp -v --backup=numbered 600 bar; cp -v --backup=existing 755 bar",
    "cp -v -S .old foo bar",
    "cp --backup=simple --suffix=.b -v foo bar",
    "cp -v -b --suffix -o foo bar; cp -v -b -S -x foo bar",
    "cp -r --parents tree/deep/.. into",
    "SIMPLE_BACKUP_SUFFIX=.e VERSION_CONTROL=simple cp -bv foo bar",
    "cp --backup=none -v foo bar",
    "cp -b foo~ foo",
    "cp --backup=t foo~ foo",
    "n=$(printf %253s | tr ' ' n); cp bar $n; cp -bv foo $n; cp -b -S .backup bar $n; cp --backup=t foo $n",
    "n=$(printf %254s | tr ' ' n); cp bar $n; cp -bv foo $n; cp -b -S .backup bar $n; cp --backup=t foo $n",
    "n=$(printf %255s | tr ' ' n); cp bar $n; cp -bv foo $n; cp -b -S .backup bar $n; cp --backup=t foo $n",
    "n=$(printf %255s | tr ' ' n); cp bar $n; cp --backup=t foo $n; cp --backup=t 600 $n; cp --backup=t 755 $n",
    "n=$(printf %251s | tr ' ' n); cp bar $n; cp foo $n.~9; cp foo $n.~9~; cp --backup=t foo $n; cp --backup foo $n",
    "n=$(printf %250s | tr ' ' n); cp bar $n; cp foo $n.~9~; cp --backup=t 600 $n; cp --backup 755 $n",
    "n=$(printf é%253s | tr ' ' n); cp bar $n; cp -b foo $n; n=$(printf %253sé | tr ' ' n); cp bar $n; cp -b foo $n",
    "n=$(printf %255s | tr ' ' n); cp bar $n; cp -bf $n $n",
    "cp -bf foo foo",
    "cp -b foo foo",
    "cp -bn foo bar",
    "cp -b foo link",
    "cp -bd link foo",
    "cp -rb tree/deep into; cp -rb tree/deep into",
    "cp -l foo x",
    "cp -lv foo x",
    "cp -l foo bar",
    "cp -lf foo bar",
    "cp -l link x",
    "cp -lP link x",
    "cp -lP link x; cp -P link x",
    "cp -rl tree x",
    "cp -l foo foo",
    "cp -s foo x",
    "cp -s foo bar",
    "cp -sf foo bar",
    "cp -s foo into",
    "cp -rs \"$PWD/tree\" x",
    "cp -ls foo x",
    "cp -s foo foo",
    "cp -sn foo into",
    "cp -su old into; cp -su bar into; cp -su foo into",
    "cp -s -u bar p/f",
    "printf 'n\\n' | cp -si foo into",
    "printf 'y\\n' | cp -si foo into",
    "cp -sb foo into",
    "cp -sf foo into",
    "cp -s foo tree/deep",
    "cp -s p/f p/f; cp -s p/f p/./f",
    "mkdir p/into; cp foo p/into; cp -rsn p/into .; cp -rsn p/f p/into .; cp -rsn p/into dir",
    "cp --attributes-only 600 x",
    "cp -p --attributes-only 755 bar",
    "cp -a --attributes-only link bar",
    "cp -a --remove-destination --attributes-only link bar",
    "cp --parents tree/deep/b into",
    "cp -v --parents tree/deep/b tree/a into",
    "cp -rv --parents tree/deep/ into",
    "cp --parents \"$PWD/tree/a\" into",
    "cp --parents foo/x into",
    "cp --parents foo bar",
    "cp -rp --parents 700/ into",
    "cp --parents tree/deep/../a into",
    "cp --strip-trailing-slashes link/ dlink/ -r into",
    "cp link/ x",
    "cp -r dlink/ x",
    "cp -r p dlink",
    "cp -rT dir dlink",
    "cp -r dir foo",
    "cp -rT foo dir",
    "cp -rv p/x q/x into",
    "cp p/f q/f into",
    "cp -f p/f q/f into",
    "cp -b p/f q/f into",
    "cp --backup=t p/f q/f into",
    "cp foo ./foo into",
    "cp -r dir dir into",
    "cp -dR link p/f into",
    "cp -r p/. q/. into",
    "cp -r p/x/.. into",
    "cp -dR tree/l p/f into; cp -r tree into",
    "cp -a --no-preserve=mode 600 755 700 fifo into",
    "cp --no-preserve=mode 600 x; cp -r --no-preserve=mode 700 755 into",
    "cp --preserve=ownership 600 x",
    "cp -r --preserve=ownership 700 600 fifo into",
    "cp -aL tree x",
    "cp --preserve=links -RH link foo into",
    "cp -RL --preserve=links link foo into",
    "cp -a tree x; rm x/h; cp -au tree/. x",
    "cp -aL link x; cp -La link y; cp -dH link z",
    "cp -R --copy-contents tree x",
    "cp -x -r tree x",
    "cp -rn tree .",
    "cp -rl tree .",
    "cp -ru tree .",
    "cp --sparse=always foo x; cp --sparse=never foo y",
    "cp --reflink=always --sparse=never foo x",
    "cp --update foo old",
    "cp foo bar/",
    "cp foo new/",
    "cp -r tree new/",
    "cp -a tree/. into",
    "cp /dev/null x",
    "cp foo /dev/null",
    "cp -rL a into",
    "cp -rL dangling into",
    "cp -Hr dangling into",
    "printf 'y\\nn\\n' | cp -i foo bar into",
    "printf 'n\\n' | cp -i bar foo; cat foo",
    "printf 'y\\n' | cp -i bar foo; cat foo",
    "printf 'n\\n' | cp -nvi bar foo",
    "printf 'y\\n' | cp -inv bar foo",
    "cp -i foo new",
    "cp -i bar foo < /dev/null",
    "chmod 400 bar; printf 'y\\n' | cp -if foo bar",
];

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
    let lines = LINES_OF_EVERY_VERSION.iter().chain(if known { LINES } else { &[] });
    for arguments in cases("command lines of cp", 2, lines) {
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
            let mut errors = ended.stderr.replace(&system_text(40), "oo many levels of symbolic links");
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
            let copy = dir.at("target").join(path.strip_prefix(source).unwrap());
            assert_eq!(fs::read(&copy).unwrap(), bytes, "{}", path.display());
            read.push((path, bytes));
        }
    }
    let (file, bytes) = read.iter().find(|(_, bytes)| bytes.len() < 4096).unwrap();
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
        if let Err(error) = set {
            return println!("skipped: extended attributes: {error}");
        }
        dir.set_mode(name, 0o444);
    }
    for flags in ["-a", "-r --preserve=xattr"] {
        for words in ["tree copy", "tree/small one"] {
            let words = format!("cp {flags} {words}");
            run(somebody.command(words.split(' ')).current_dir(dir.path())).succeeds();
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
