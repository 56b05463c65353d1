//! `sum` and the tools whose lists it prints and checks.

use crate::support::*;

/// Returns another program with space-separated words, in the directory.
pub(crate) fn of(dir: &TestDir, words: &str) -> Command {
    let mut words = words.split_whitespace();
    let mut command = Command::new(words.next().unwrap());
    command.args(words).current_dir(dir.path()).env("LC_ALL", "C").stdin(Stdio::null());
    command
}

/// Creates difficult files, and returns their names and some of missing files.
pub(crate) fn nasty(dir: &TestDir) -> Vec<OsString> {
    let data = bytes(5_000_003, 1);
    let mut names: Vec<OsString> = Vec::new();
    let lengths = [
        0, 1, 63, 64, 65, 1023, 1024, 1025, 2048, 2049, 3072, 3073, 4096, 5121, 65_536, 262_144, 262_145,
        1_048_576, 2_097_153, 5_000_003,
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
    File::create(dir.at("holes")).unwrap().set_len(9 << 20).unwrap();
    dir.directories(["directory"]);
    names.extend(["holes", "missing", "directory", NULL].map(OsString::from));
    names.extend(cfg!(unix).then(|| "/proc/version".into()));
    names
}

/// Asserts equal standard outputs and exit codes.
#[track_caller]
pub(crate) fn same(ours: &Finished, theirs: &Finished, what: &str) {
    let text = |ended: &Finished| String::from_utf8_lossy(&ended.stdout).into_owned();
    assert_eq!(text(ours), text(theirs), "{what}\nours: {ours}\ntheirs: {theirs}");
    assert!(ours.stdout == theirs.stdout, "{what}");
    assert_eq!(ours.code(), theirs.code(), "{what}\nours: {ours}\ntheirs: {theirs}");
}

#[test]
fn keys_and_bytes_are_as_b3sum_has_them() {
    let dir = TestDir::new();
    dir.file("in", bytes(100_000, 2));
    let key = bytes(32, 3);
    let keyed = |name: &str, key: &[u8]| run_with(&mut dir.command(&format!("sum --keyed {name}")), key);
    if let Some(()) = or_skip("keys and bytes", installed("b3sum")) {
        same(&keyed("in", &key), &run_with(&mut of(&dir, "b3sum --keyed in"), &key), "keyed");
        for words in ["--raw in", "--raw -l 1000 in"] {
            let theirs = run(&mut of(&dir, &format!("b3sum {words}")));
            same(&dir.run(&format!("sum {words}")), &theirs, words);
        }
    }
    assert_eq!(dir.run("sum --raw -l 1000 in").succeeds().stdout.len(), 1000);
    assert_eq!(dir.run("sum --raw --tag in").succeeds().stdout.len(), 32);
    dir.file("empty", "");
    dir.run("sum --check empty").fails(1, &["no properly formatted checksum lines"]);
    let mut b3sum = Command::new(name_binary(dir.path(), "b3sum"));
    let ended = run(b3sum.arg("--check").arg(dir.at("empty"))).succeeds();
    assert!(ended.stdout.is_empty() && ended.stderr.is_empty());
    keyed("in", &key[1..]).fails(1, &["--keyed", "32 key bytes", "31"]);
    keyed("in", &bytes(33, 1)).fails(1, &["--keyed", "more"]);
    keyed("-", &key).fails(1, &["the key was already read from it"]);
    dir.run("sum --raw in in").fails(1, &["--raw"]);
    dir.run("sum -a md5 -l 5 in").fails(1, &["blake3"]);
    dir.run("sum -l 10000000000 in").fails(1, &["--length"]);
    dir.run("sum -a sha0 in").fails(1, &["sha0", "blake3, sha256"]);
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

#[test]
fn checks_its_own_output() {
    let dir = TestDir::new();
    let mut names = nasty(&dir);
    names.retain(|name| {
        !["missing", "directory", "/proc/version"].map(OsStr::new).contains(&name.as_os_str())
    });
    for options in ["", "--tag", "-a xxh3", "-a crc32c", "-a xxh3,crc32c", "-a sha512 -b"] {
        let list = run(dir.command(&format!("sum {options} --")).args(&names)).succeeds().stdout;
        dir.file("list", list);
        let checked = dir.run("sum -c --strict list").succeeds();
        let lines = checked.stdout.split(|&byte| byte == b'\n').filter(|line| line.ends_with(b": OK"));
        assert!(lines.count() >= names.len() - 1, "{options:?}: {checked}");
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
    let ended = run(dir.command("sum --json -a md5,crc32c").args(&names)).fails(1, &["missing"]);
    let lines: Vec<Value> = ended.text().lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert_eq!(lines[0]["md5"], "900150983cd24fb0d6963f7d28e17f72");
    assert_eq!((&lines[0]["name"], &lines[0]["bytes"]), (&"f".into(), &3.into()));
    assert_eq!(lines[1]["error"], not_found());
    assert!(cfg!(windows) || lines[2]["name_bytes"] == "ff");
    assert_eq!(lines.last().unwrap()["run"]["bytes"], 3 * (names.len() - 1));
    dir.file("list", dir.run("sum f").succeeds().stdout);
    let checked = dir.run("sum --json -c list").succeeds().text();
    let first: Value = serde_json::from_str(checked.lines().next().unwrap()).unwrap();
    assert_eq!((&first["verdict"], &first["algorithm"]), (&"OK".into(), &"blake3".into()));
    let crc = dir.run("sum --json -a crc,bsd f").succeeds().text();
    let crc: Value = serde_json::from_str(crc.lines().next().unwrap()).unwrap();
    assert_eq!((&crc["crc"], &crc["bsd"]), (&1_219_131_554.into(), &16_556.into()));
    let quiet = dir.run("sum --json -c --quiet list").succeeds().text();
    assert!(quiet.starts_with("{\"run\""), "{quiet}");
}

#[test]
fn flags_of_b3sum_and_cksum() {
    let dir = TestDir::new();
    dir.file("a", "abc");
    let sum = |words: &str| dir.run(&format!("sum {words}"));
    let plain = sum("a").succeeds().text();
    let digits = plain.split(' ').next().unwrap();
    assert_eq!(sum("-a blake3 a").succeeds().text(), plain);
    assert_eq!(sum("--no-mmap a").succeeds().text(), plain);
    assert_eq!(sum("--num-threads 1 a").succeeds().text(), plain);
    assert_eq!(sum("--num-threads=0 a").succeeds().text(), plain);
    assert_eq!(sum("--tag --no-names a").succeeds().text(), format!("{digits}\n"));
    assert_eq!(sum("--tag --untagged a").succeeds().text(), plain);
    assert!(sum("--no-mmap --explain a").succeeds().stderr.contains("buffered"));
    for words in [
        "--wrong",
        "--length",
        "--raw a a",
        "-a sha a",
        "-a md a",
        "-a sha3 a",
        "-a sha3 -l 100 a",
        "-a blake2b -l 7 a",
        "-a blake2b -l 520 a",
        "-a sm3 -l 64 a",
        "-c -a crc a",
        "-c -l 3 a",
        "--quiet a",
        "--strategy none a",
    ] {
        sum(words).fails(1, &[]);
    }
    // b3sum's wording.
    let list = format!("{digits}  missing\n{digits}  a\n");
    let ended = run_with(&mut dir.command("sum -c"), list.as_bytes());
    assert_eq!(ended.code(), 1);
    assert_eq!(ended.text(), format!("missing: FAILED ({} (os error 2))\na: OK\n", not_found()));
    assert_eq!(ended.stderr, "fullbore: WARNING: 1 computed checksum did NOT match\n");
}

#[test]
fn an_empty_name_is_a_missing_file_beside_others() {
    let dir = TestDir::new();
    dir.file("in", "abc");
    let ended = run(dir.command("sum").args(["", "in"])).fails(1, &[&not_found()]);
    assert!(ended.stdout.ends_with(b"  in\n"), "{ended}");
}

/// A list on standard input that names standard input would take its own lines as data.
#[test]
fn a_list_on_standard_input_does_not_read_itself() {
    let dir = TestDir::new();
    dir.file("good", "hi\n");
    let good = dir.run("sum -a sha256 good").succeeds().text();
    let wrong = format!("{}  good\n", "0".repeat(64));
    let list = format!("{good}{}  -\n#{}\n{}", &good[..64], "x".repeat(9000), wrong.repeat(50));
    let ended = run_with(&mut dir.command("sum -a sha256 -c"), list.as_bytes());
    assert_eq!((ended.code(), ended.text().matches("good: FAILED").count()), (1, 50), "{ended}");
}

#[test]
fn length_of_a_family_is_not_that_of_blake3() {
    let dir = TestDir::new();
    dir.file("f", "abc");
    let alone = dir.run("sum --tag -a blake3 --seek 1 f").succeeds().text();
    let both = dir.run("sum -a sha2,blake3 --length 256 --seek 1 f").succeeds().text();
    assert!(both.starts_with("SHA256 (f)") && both.ends_with(&alone), "{both}");
}
