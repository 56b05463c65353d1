//! `sum` and the tools whose lists it prints and checks.

#[cfg(unix)]
use crate::streams::fifo;
use crate::support::*;

/// The peer of each algorithm.
const PEERS: &[(&str, &str)] = &[
    ("blake3", "b3sum"),
    ("sha256", "sha256sum"),
    ("sha512", "sha512sum"),
    ("sha1", "sha1sum"),
    ("md5", "md5sum"),
];

fn peers() -> Vec<(&'static str, &'static str)> {
    let (there, missing): (Vec<_>, Vec<_>) = PEERS.iter().partition(|(_, peer)| has(peer));
    missing.iter().for_each(|(_, peer)| println!("skipped: no {peer}"));
    there
}

fn sum<I: AsRef<OsStr>>(dir: &TestDir, arguments: impl IntoIterator<Item = I>) -> Command {
    let mut command = fullbore(["sum"]);
    command.args(arguments).current_dir(dir.path());
    command
}

fn of<I: AsRef<OsStr>>(dir: &TestDir, program: &str, arguments: impl IntoIterator<Item = I>) -> Command {
    let mut command = Command::new(program);
    command.args(arguments).current_dir(dir.path()).env("LC_ALL", "C").stdin(Stdio::null());
    command
}

/// Creates difficult files, and returns their names and some of missing files.
fn nasty(dir: &TestDir) -> Vec<OsString> {
    let data = bytes(5_000_003, 1);
    let mut names: Vec<OsString> = Vec::new();
    let lengths = [
        0,
        1,
        63,
        64,
        65,
        1023,
        1024,
        1025,
        2048,
        2049,
        3072,
        3073,
        4096,
        5121,
        65_536,
        262_144,
        262_145,
        1 << 20,
        (2 << 20) + 1,
        5_000_003,
    ];
    for len in lengths {
        dir.file(&len.to_string(), &data[..len]);
        names.push(len.to_string().into());
    }
    // Windows forbids the others.
    let everywhere = [" leading", "a) = b", "-dash"];
    let unix = ["new\nline", "back\\slash", "carriage\rreturn", "trailing ", "*star"];
    for name in everywhere.iter().chain(unix.iter().filter(|_| cfg!(unix))) {
        dir.file(name, name);
        names.push(name.into());
    }
    let sparse = fs::File::create(dir.at("sparse")).unwrap();
    sparse.set_len(40 << 20).unwrap();
    dir.directories(["directory"]);
    names.extend(["sparse", "missing", "directory", NULL].map(OsString::from));
    names.extend(cfg!(unix).then(|| "/proc/version".into()));
    names
}

/// Asserts equal standard outputs and exit codes.
#[track_caller]
fn same(ours: &Finished, theirs: &Finished, what: &str) {
    let text = |ended: &Finished| String::from_utf8_lossy(&ended.stdout).into_owned();
    assert_eq!(text(ours), text(theirs), "{what}\nours: {ours}\ntheirs: {theirs}");
    assert!(ours.stdout == theirs.stdout, "{what}");
    assert_eq!(ours.code(), theirs.code(), "{what}\nours: {ours}\ntheirs: {theirs}");
}

// The tools as peers.
#[cfg(unix)]
#[test]
fn output_matches_the_peers() {
    let dir = TestDir::new();
    let names = nasty(&dir);
    for (algorithm, peer) in peers() {
        let options: &[&[&str]] = match peer {
            "b3sum" => &[
                &[],
                &["--tag"],
                &["--no-names"],
                &["-l", "5"],
                &["-l", "100", "--seek", "7"],
                &["--derive-key", "person 2026 test"],
            ],
            _ => &[&[], &["-b"], &["-t"], &["-b", "-t"], &["--tag"], &["-z"], &["--tag", "-z"]],
        };
        for options in options {
            let arguments =
                || options.iter().map(OsString::from).chain(["--".into()]).chain(names.iter().cloned());
            let theirs = run(&mut of(&dir, peer, arguments()));
            let more: [&[&str]; 5] = [
                &[],
                &["--workers", "1"],
                &["--workers", "5"],
                &["--strategy", "request=4K"],
                &["--strategy", "method=mmap"],
            ];
            for more in fullbore_testkit::cases("sum with other strategies", 2, more) {
                let ours = run(sum(&dir, ["-a", algorithm]).args(more).args(arguments()));
                same(&ours, &theirs, &format!("{peer} {options:?} {more:?}"));
                assert_contains(
                    &ours.stderr,
                    &["missing: No such file or directory", "directory: Is a directory"],
                );
            }
        }
    }
    assert_eq!(dir.run("sum 0").succeeds().text(), dir.run("sum -a blake3 0").text());
}

#[test]
fn keys_and_bytes_are_as_b3sum_has_them() {
    let dir = TestDir::new();
    dir.file("in", bytes(100_000, 2));
    let key = bytes(32, 3);
    if let Some(()) = or_skip("keys and bytes", installed("b3sum")) {
        let ours = run_with(&mut sum(&dir, ["--keyed", "in"]), &key);
        same(&ours, &run_with(&mut of(&dir, "b3sum", ["--keyed", "in"]), &key), "keyed");
        same(&dir.run("sum --raw in"), &run(&mut of(&dir, "b3sum", ["--raw", "in"])), "raw");
        same(
            &dir.run("sum --raw -l 1000 in"),
            &run(&mut of(&dir, "b3sum", ["--raw", "-l", "1000", "in"])),
            "raw",
        );
    }
    assert_eq!(dir.run("sum --raw -l 1000 in").succeeds().stdout.len(), 1000);
    run_with(&mut sum(&dir, ["--keyed", "in"]), &key[1..]).fails(1, &["--keyed", "32 bytes", "31"]);
    run_with(&mut sum(&dir, ["--keyed", "in"]), &bytes(33, 1)).fails(1, &["--keyed", "more"]);
    run_with(&mut sum(&dir, ["--keyed", "-"]), &key).fails(1, &["the key is already read from it"]);
    dir.run("sum --raw in in").fails(1, &["--raw"]);
    dir.run("sum -a md5 -l 5 in").fails(1, &["blake3"]);
    dir.run("sum -l 10000000000 in").fails(1, &["--length"]);
    dir.run("sum -a sha0 in").fails(1, &["sha0", "blake3, sha256"]);
}

// The tools as peers, in shell lines, and a named pipe.
#[cfg(unix)]
#[test]
fn pipes_and_standard_input_are_summed() {
    let dir = TestDir::new();
    let data = bytes(3_000_001, 4);
    dir.file("in", &data);
    for (algorithm, peer) in peers() {
        let theirs = run_with(&mut of(&dir, peer, [""; 0]), &data);
        for arguments in
            [&[][..], &["-"], &["--workers", "1"], &["--workers", "4", "-"], &["--strategy", "request=1000"]]
        {
            let ours = run_with(sum(&dir, ["-a", algorithm]).args(arguments), &data);
            same(&ours, &theirs, &format!("{peer} {arguments:?}"));
        }
        let line = format!(
            r#"head -c 50000000 /dev/zero | "$0" sum -a {algorithm}; head -c 50000000 /dev/zero | {peer}"#
        );
        let both = shell(&line, &[]).succeeds().text();
        let (ours, theirs) = both.split_once('\n').unwrap();
        assert_eq!(ours, theirs.trim_end());
        let redirected = shell(
            &format!(r#"{{ head -c 1000 >/dev/null; "$0" sum -a {algorithm}; }} < "$1""#),
            &[&dir.at("in")],
        );
        let rest = run_with(&mut of(&dir, peer, [""; 0]), &data[1000..]);
        same(&redirected, &rest, "what is left of standard input");
    }
    let pipe = fifo(&dir, "fifo");
    let all = [["-a", "blake3,sha256"], ["--workers", "3"]];
    let ours = std::thread::scope(|scope| {
        scope.spawn(|| fs::write(&pipe, &data).unwrap());
        run(sum(&dir, all.as_flattened()).arg("fifo").args(["fifo-is-not"])).fails(1, &["fifo-is-not"]).text()
    });
    assert_eq!(ours.lines().count(), 2, "{ours}");
}

#[test]
fn several_hashes_in_one_pass_match_single_hashes() {
    let dir = TestDir::new();
    for (name, len) in [("empty", 0), ("small", 1000), ("large", 9_000_001)] {
        dir.file(name, bytes(len, 5));
    }
    let all = "blake3,sha256,sha512,sha1,md5,xxh3,crc32c";
    let mut wanted = String::new();
    for name in ["empty", "small", "large"] {
        for algorithm in all.split(',') {
            wanted += &dir.run(&format!("sum --tag -a {algorithm} {name}")).succeeds().text();
        }
    }
    assert_eq!(wanted.lines().count(), 21);
    for workers in ["1", "2", "3", "8"] {
        let ours = dir.run(&format!("sum -a {all} --workers {workers} empty small large")).succeeds();
        assert_eq!(ours.text(), wanted, "{workers} workers");
    }
    let trees = dir.run("sum -a crc32c -a blake3 -a crc32c large").succeeds().text();
    let tags: Vec<_> = trees.lines().map(|line| line.split(' ').next().unwrap()).collect();
    assert_eq!(tags, ["CRC32C", "BLAKE3"]);
    dir.file("list", &wanted);
    let checked = dir.run("sum --check list").succeeds().text();
    assert_eq!(checked.lines().filter(|line| line.ends_with(": OK")).count(), 21);
}

// A tree with links and names of any bytes; shell lines.
#[cfg(unix)]
#[test]
fn trees_are_walked_in_the_order_of_their_paths() {
    let dir = TestDir::new();
    dir.directories(["tree/b", "tree/b/deep", "tree/b-c", "tree/.hidden", "tree/empty"]);
    for (seed, name) in
        ["tree/z", "tree/b/x", "tree/b/deep/er", "tree/b-c/y", "tree/b.txt", "tree/b0", "tree/.hidden/h"]
            .iter()
            .enumerate()
    {
        dir.file(name, bytes(5000 * seed, seed as u64));
    }
    let broken = PathBuf::from(OsStr::from_bytes(b"tree/\xff\xfe"));
    fs::write(dir.path().join(&broken), "broken").unwrap();
    symlink("../b", dir.at("tree/b/link")).unwrap();
    symlink("b", dir.at("tree/loop")).unwrap();
    symlink("z", dir.at("tree/same")).unwrap();
    fifo(&dir, "tree/fifo");
    let line = r#"cd "$1" && find tree -type f -print0 | LC_ALL=C sort -z | xargs -0 sha256sum"#;
    let wanted = shell(line, &[dir.path()]).succeeds();
    for workers in ["1", "4"] {
        same(&dir.run(&format!("sum -a sha256 -r tree --workers {workers}")), &wanted, workers);
    }
    dir.run("sum tree").fails(1, &["tree: Is a directory"]);
    let followed = dir.run("sum -rL tree").fails(1, &["tree/b/link", "leads back"]);
    let text = String::from_utf8_lossy(&followed.stdout).into_owned();
    assert!(text.contains("  tree/same\n") && text.contains("  tree/loop/x\n"), "{text}");
    // Names that are not UTF-8 survive the way through a list.
    let list = dir.run("sum -r tree").succeeds().stdout;
    fs::write(dir.at("list"), list).unwrap();
    let checked = dir.run("sum -c list").succeeds().stdout;
    assert!(checked.windows(7).any(|window| window == b"\xff\xfe: OK\n"));
}

/// A list with every kind of line.
fn list(dir: &TestDir, peer: &str) -> Vec<u8> {
    let names = ["f", "back\\slash", "new\nline", "carriage\rreturn", "large"];
    let lines = |options: &[&str], names: &[&str]| run(of(dir, peer, options).args(names)).succeeds().stdout;
    let one = String::from_utf8(lines(&[], &["f"])).unwrap();
    let digits = one.split(' ').next().unwrap();
    let zeros = "0".repeat(digits.len());
    let mut list = lines(&[], &names);
    list.extend(lines(&["--tag"], &names));
    if peer != "b3sum" {
        list.extend(lines(&["-b"], &names[..1]));
        list.extend(format!("# a comment\n\n  {one}{digits}  f\r\n{}  f\n", digits.to_uppercase()).bytes());
    }
    list.extend(
        format!(
            "junk\n{zeros}  f\n{zeros}  missing\n{zeros}  new\n{digits}  directory\n{}  f\n",
            &digits[1..]
        )
        .bytes(),
    );
    list.extend(format!("\\{zeros}  miss\\ning\n\\{zeros}  bad\\escape\n{digits}  f").bytes());
    list
}

// The tools as peers.
#[cfg(unix)]
#[test]
fn lists_are_checked_as_the_peers_check_them() {
    let dir = TestDir::new();
    for (seed, name) in
        ["f", "back\\slash", "new\nline", "carriage\rreturn", "large", "new"].iter().enumerate()
    {
        dir.file(name, bytes(if *name == "large" { 3 << 20 } else { 10 * seed }, seed as u64));
    }
    dir.directories(["directory"]);
    for (algorithm, peer) in peers() {
        fs::write(dir.at("list"), list(&dir, peer)).unwrap();
        fs::write(dir.at("good"), run(&mut of(&dir, peer, ["f", "large", "back\\slash"])).succeeds().stdout)
            .unwrap();
        let one = run(&mut of(&dir, peer, ["f"])).succeeds().text();
        fs::write(dir.at("gone"), one.replace("  f", "  gone")).unwrap();
        fs::write(dir.at("some"), format!("{one}{}", one.replace("  f", "  gone"))).unwrap();
        fs::write(dir.at("flawed"), format!("{one}junk\n")).unwrap();
        dir.file("junk", "junk\nmore\n");
        let options: &[&[&str]] = match peer {
            "b3sum" => &[&[], &["--quiet"]],
            _ => &[
                &[],
                &["--quiet"],
                &["--status"],
                &["--strict"],
                &["-w"],
                &["--ignore-missing"],
                &["--ignore-missing", "--quiet", "--strict"],
            ],
        };
        for options in options {
            for lists in [
                &["list"][..],
                &["good"],
                &["gone"],
                &["some"],
                &["flawed"],
                &["junk"],
                &["good", "list", "good"],
            ] {
                let what = format!("{peer} -c {options:?} {lists:?}");
                let theirs = run(of(&dir, peer, ["-c"]).args(*options).args(lists));
                for workers in ["1", "3"] {
                    let flags = ["-a", algorithm, "-c", "--workers", workers];
                    let ours = run(sum(&dir, flags).args(*options).args(lists));
                    same(&ours, &theirs, &what);
                    if peer != "b3sum" {
                        // They quote names with control characters.
                        let told = |ended: &Finished| {
                            let said = ended.stderr.replace(peer, "fullbore");
                            said.lines()
                                .filter(|line| line.contains("WARNING") || line.contains("checksum"))
                                .collect::<Vec<_>>()
                                .join("\n")
                        };
                        assert_eq!(told(&ours), told(&theirs), "{what}");
                    }
                }
                // The algorithm of a list need not be named.
                same(
                    &run(sum(&dir, ["--check"]).args(*options).args(lists)),
                    &theirs,
                    &format!("{what}, algorithm not said"),
                );
            }
            let theirs = run_with(of(&dir, peer, ["-c"]).args(*options), &dir.read("list"));
            let ours = run_with(sum(&dir, ["-c", "-a", algorithm]).args(*options), &dir.read("list"));
            same(&ours, &theirs, &format!("{peer} -c {options:?} from a pipe"));
        }
    }
}

#[test]
fn checks_its_own_output() {
    let dir = TestDir::new();
    let names = nasty(&dir);
    let there = |name: &&OsString| {
        !["missing", "directory", "/proc/version"].map(OsStr::new).contains(&name.as_os_str())
    };
    let names: Vec<_> = names.iter().filter(there).collect();
    for options in [
        &[][..],
        &["--tag"],
        &["-a", "xxh3"],
        &["-a", "crc32c"],
        &["-a", "xxh3,crc32c"],
        &["-a", "sha512", "-b"],
    ] {
        let list = run(sum(&dir, options).arg("--").args(&names)).succeeds().stdout;
        fs::write(dir.at("list"), list).unwrap();
        let checked = dir.run("sum -c --strict list").succeeds();
        let lines =
            checked.stdout.split(|&byte| byte == b'\n').filter(|line| line.ends_with(b": OK")).count();
        assert!(lines >= names.len() - 1, "{options:?}: {checked}");
        dir.file("1024", "changed");
        let checked = dir.run("sum -c list").fails(1, &["did NOT match"]);
        assert!(checked.text().contains("1024: FAILED\n"));
        dir.file("1024", &bytes(5_000_003, 1)[..1024]);
    }
    let line = dir.run("sum -a xxh3 0").succeeds().text();
    assert_eq!(line, "XXH3_2d06800538d394c2  0\n", "as xxhsum -H3");
}

#[test]
fn json_has_the_same_sums() {
    let dir = TestDir::new();
    dir.file("f", "abc");
    #[cfg(unix)]
    let broken = Some(OsStr::from_bytes(b"\xff"));
    #[cfg(windows)]
    let broken = None;
    broken.into_iter().for_each(|name: &OsStr| fs::write(dir.path().join(name), "abc").unwrap());
    let names: Vec<&OsStr> = ["f".as_ref(), "missing".as_ref()].into_iter().chain(broken).collect();
    let ended = run(sum(&dir, ["--json", "-a", "md5,crc32c"]).args(&names)).fails(1, &["missing"]);
    let lines: Vec<serde_json::Value> =
        ended.text().lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert_eq!(lines[0]["md5"], "900150983cd24fb0d6963f7d28e17f72");
    assert_eq!((&lines[0]["name"], &lines[0]["bytes"]), (&"f".into(), &3.into()));
    assert_eq!(lines[1]["error"], not_found());
    assert!(cfg!(windows) || lines[2]["name_bytes"] == "ff");
    assert_eq!(lines.last().unwrap()["account"]["bytes"], 3 * (names.len() - 1));
    fs::write(dir.at("list"), dir.run("sum f").succeeds().stdout).unwrap();
    let checked = dir.run("sum --json -c list").succeeds().text();
    let first: serde_json::Value = serde_json::from_str(checked.lines().next().unwrap()).unwrap();
    assert_eq!((&first["verdict"], &first["algorithm"]), (&"OK".into(), &"blake3".into()));
}

// A command line longer than Windows permits.
#[cfg(unix)]
#[test]
fn closed_pipe_ends_the_run() {
    let dir = TestDir::new();
    dir.file("f", "abc");
    let line = r#"cd "$1"; "$0" sum $(yes f | head -n 30000) | head -n 1; echo ${PIPESTATUS[0]}"#;
    let ended = shell(line, &[dir.path()]).succeeds();
    assert!(ended.text().ends_with("141\n"), "{ended}: {}", ended.text());
}

#[test]
fn flags_of_b3sum_and_cksum() {
    let dir = TestDir::new();
    dir.file("a", "abc");
    let sum = |words: &[&str]| run(fullbore(["sum"]).args(words).current_dir(dir.path()));
    let plain = sum(&["a"]).succeeds().text();
    let digits = plain.split(' ').next().unwrap();
    assert_eq!(sum(&["--no-mmap", "a"]).succeeds().text(), plain);
    assert_eq!(sum(&["--num-threads", "1", "a"]).succeeds().text(), plain);
    assert_eq!(sum(&["--num-threads=0", "a"]).succeeds().text(), plain);
    assert_eq!(sum(&["--tag", "--no-names", "a"]).succeeds().text(), format!("{digits}\n"));
    assert_eq!(sum(&["--tag", "--untagged", "a"]).succeeds().text(), plain);
    assert!(sum(&["--no-mmap", "--explain", "a"]).succeeds().stderr.contains("buffered"));
    for words in [
        &["--wrong"][..],
        &["--length"],
        &["--raw", "a", "a"],
        &["-a", "sha", "a"],
        &["-a", "md", "a"],
        &["-a", "sha3", "a"],
        &["-a", "sha3", "-l", "100", "a"],
        &["-a", "blake2b", "-l", "7", "a"],
        &["-a", "blake2b", "-l", "520", "a"],
        &["-a", "sm3", "-l", "64", "a"],
        &["-c", "-a", "crc", "a"],
        &["-c", "-l", "3", "a"],
        &["--quiet", "a"],
        &["--strategy", "none", "a"],
    ] {
        sum(words).fails(1, &[]);
    }
    // b3sum's wording.
    let list = format!("{digits}  missing\n{digits}  a\n");
    let ended = run_with(fullbore(["sum", "-c"]).current_dir(dir.path()), list.as_bytes());
    assert_eq!(ended.code(), 1);
    assert_eq!(ended.text(), format!("missing: FAILED ({} (os error 2))\na: OK\n", not_found()));
    assert_eq!(ended.stderr, "fullbore: WARNING: 1 computed checksum did NOT match\n");
}
