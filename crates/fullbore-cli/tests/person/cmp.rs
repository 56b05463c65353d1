//! `fullbore cmp` and GNU `cmp`: the same bytes on both outputs and the same exit code, case by case.

use crate::support::*;
/// True if a GNU `cmp` with known wording is installed.
#[cfg(unix)]
fn peer() -> bool {
    if !has("cmp") {
        println!("skipped: no cmp to compare with");
        return false;
    }
    let said = run(Command::new("cmp").arg("--version")).text();
    let gnu = said.starts_with("cmp (GNU diffutils) 3.") && !said.starts_with("cmp (GNU diffutils) 3.7");
    if !gnu {
        println!("skipped: cmp is not GNU's of 3.8 or later: {said}");
    }
    gnu
}

/// Runs the command with space-separated words.
fn ours(dir: &TestDir, words: &str) -> Finished {
    run(dir.command(&format!("cmp {words}")).env("LC_ALL", "C"))
}

/// Runs a shell line in which `CMP` is the peer or the command under test.
#[cfg(unix)]
fn line(dir: &TestDir, line: &str, ours: bool, locale: &str) -> Finished {
    let words = if ours { "CMP() { \"$0\" cmp \"$@\"; }" } else { "CMP() { command cmp \"$@\"; }" };
    let mut command = Command::new("bash");
    command.args(["-c", &format!("{words}\n{line}")]).arg(env!("CARGO_BIN_EXE_fullbore"));
    command.env("XDG_CONFIG_HOME", "/nonexistent").env("LC_ALL", locale).current_dir(dir.path());
    run(command.stdin(std::process::Stdio::null()))
}

#[cfg(unix)]
#[track_caller]
fn alike_in(dir: &TestDir, text: &str, locale: &str) {
    let (theirs, ours) = (line(dir, text, false, locale), line(dir, text, true, locale));
    let said = |ended: &Finished| {
        let out = ended.stdout.escape_ascii().to_string();
        (ended.code(), out.chars().take(2000).collect::<String>(), ended.stderr.clone())
    };
    assert_eq!(said(&ours), said(&theirs), "{text} ({locale})");
    assert_eq!(ours.stdout, theirs.stdout, "{text} ({locale})");
}

#[cfg(unix)]
#[track_caller]
fn alike(dir: &TestDir, text: &str) {
    alike_in(dir, text, "C.UTF-8");
}

/// As [`corpus`], if there is a peer to compare with.
#[cfg(unix)]
fn corpus_beside_peer() -> Option<TestDir> {
    peer().then(corpus)
}

/// A directory with every kind of file for comparisons.
fn corpus() -> TestDir {
    let dir = TestDir::new();
    dir.file("a", "abc\ndef\n");
    dir.file("b", "abc\ndeg\n");
    dir.file("short", "abc\n");
    dir.file("part", "abc\nde");
    dir.file("empty", "");
    dir.file("other", "xbc\n\nzzzzzzzzz");
    dir.file("all", (0..=255).collect::<Vec<u8>>());
    dir.file("none", (0..=255).rev().collect::<Vec<u8>>());
    fs::create_dir(dir.at("dir")).unwrap();
    #[cfg(unix)]
    std::os::unix::fs::symlink("a", dir.at("link")).unwrap();
    fs::hard_link(dir.at("a"), dir.at("hard")).unwrap();
    let big: Vec<u8> = bytes(3_000_000, 1);
    let changed = |places: &[usize]| {
        let mut changed = big.clone();
        places.iter().for_each(|&place| changed[place] ^= 0x55);
        changed
    };
    dir.file("big", &big);
    dir.file("same", &big);
    dir.file("late", changed(&[2_999_999]));
    dir.file("some", changed(&[0, 4095, 4096, 262_143, 262_144, 1_048_575, 1_048_576, 2_000_000]));
    dir.file("cut", &big[..2_500_000]);
    dir.file("noise", bytes(3_000_000, 2));
    dir
}

// GNU `cmp` as the peer, in shell lines.
#[cfg(unix)]
#[test]
fn files_are_compared_as_by_the_peer() {
    let Some(dir) = corpus_beside_peer() else { return };
    let names =
        ["a", "b", "short", "part", "empty", "other", "all", "none", "link", "hard", "dir", "missing"];
    let options =
        ["", "-b", "-l", "-lb", "-s", "-n 4", "-n 5 -l", "-i 1", "-i 3:4", "-i 4:0 -n 2", "-s -n 4"];
    for left in names {
        for right in names {
            // Every pair with some flags, all flags with many pairs.
            let place = (left.len() * 7
                + right.len() * 5
                + left.as_bytes()[0] as usize
                + right.as_bytes()[1 % right.len()] as usize)
                % options.len();
            for options in [options[place], options[(place + 3) % options.len()], ""] {
                alike(&dir, &format!("CMP {options} {left} {right}"));
            }
        }
    }
    for options in options {
        for pair in
            ["a b", "b a", "a short", "part a", "all none", "a empty", "empty a", "a a", "dir a", "dir dir"]
        {
            alike(&dir, &format!("CMP {options} {pair}"));
        }
    }
}

// GNU `cmp` as the peer, in shell lines.
#[cfg(unix)]
#[test]
fn large_files_are_compared_as_by_the_peer() {
    let Some(dir) = corpus_beside_peer() else { return };
    for pair in
        ["big same", "big late", "late big", "big some", "big cut", "cut big", "some cut", "noise big"]
    {
        for options in [
            "",
            "-b",
            "-l",
            "-s",
            "-n 2500000",
            "-n 2500001",
            "-i 1",
            "-i 100K:100K",
            "-l -n 1M",
            "-i 1:2 -l -n 300000",
        ] {
            alike(&dir, &format!("CMP {options} {pair}"));
        }
        for ours in [
            "--workers 1",
            "--workers 8 --strategy request=4K,stripe=4K",
            "--cache direct",
            "--strategy method=mmap",
            "--strategy method=uring,depth=4,request=64K",
            "--cache drop",
        ] {
            for options in ["", "-l"] {
                let theirs = line(&dir, &format!("CMP {options} {pair}"), false, "C.UTF-8");
                let found = line(&dir, &format!("CMP {options} {ours} {pair}"), true, "C.UTF-8");
                if found.stderr.contains("cannot use: method") {
                    println!("skipped: {}", found.stderr.trim());
                    continue;
                }
                assert_eq!(found.code(), theirs.code(), "{ours} {options} {pair}: {found}");
                assert_eq!(found.stderr, theirs.stderr, "{ours} {options} {pair}");
                assert!(found.stdout == theirs.stdout, "{ours} {options} {pair}");
            }
        }
    }
}

// GNU `cmp` as the peer, in shell lines.
#[cfg(unix)]
#[test]
fn standard_input_and_pipes_are_compared_as_by_the_peer() {
    let Some(dir) = corpus_beside_peer() else { return };
    for text in [
        "CMP a",
        "CMP -",
        "cat b | CMP a",
        "CMP - a < b",
        "CMP a - < b",
        "CMP - - < a",
        "CMP - a < a",
        "CMP a - < dir",
        "CMP - a < empty",
        "printf abc | CMP - a",
        "printf abc | CMP -l - a",
        "printf abx | CMP -l - a",
        "printf abx | CMP -l -n 3 - a",
        "printf 'xabc\\ndef\\n' | CMP -i 1:0 - a",
        "printf 'xabc\\ndef\\n' | CMP -i 0:1 a -",
        "printf abc | CMP - /dev/stdin",
        "printf abc | CMP -i 1:2 - /dev/stdin",
        "printf ab | CMP -i 3 - a",
        "CMP <(cat a) <(cat a)",
        "CMP -s <(cat a) <(cat b)",
        "CMP -s big <(cat big)",
        "CMP -s <(cat big) big",
        "cat late | CMP - big",
        "cat big | CMP late",
        "cat some | CMP -l - big",
        "cat some | CMP -bl big",
        "cat cut | CMP - big",
        "cat big | CMP - cut",
        "cat big | CMP -l - <(cat some) | cat",
        "(read -n1 x; CMP - b -i 0:1) < a",
        "(read -n1 x; CMP -s - a -i 0:1) < a",
        "(head -c 65536 >/dev/null; CMP - some -i 0:65536) < big",
        "(CMP -n 4 - a; cat) < <(printf 'abc\\nrest')",
    ] {
        alike(&dir, text);
    }
}

// GNU `cmp` as the peer, in shell lines.
#[cfg(unix)]
#[test]
fn files_of_the_kernel_and_devices_are_compared_as_by_the_peer() {
    let Some(dir) = corpus_beside_peer() else { return };
    fs::copy("/proc/version", dir.at("version")).unwrap();
    for text in [
        "CMP /proc/version version",
        "CMP version /proc/version",
        "CMP -l /proc/version a",
        "CMP /proc/version empty",
        "CMP -s /proc/version empty",
        "CMP -i 3 /proc/version version",
        "CMP /proc/cpuinfo <(cat /proc/version)",
        "CMP /sys/kernel/mm/transparent_hugepage/enabled a",
        "cat /sys/kernel/mm/transparent_hugepage/enabled > huge; CMP /sys/kernel/mm/transparent_hugepage/enabled huge",
        "CMP /dev/zero /dev/zero",
        "CMP -n 1M /dev/zero /dev/full",
        "CMP -n 5 /dev/zero a",
        "CMP /dev/zero empty",
        "CMP /dev/null empty",
        "CMP /dev/null a",
        "CMP -s /dev/null a",
        "CMP -n 10M /dev/zero <(head -c 10M /dev/zero)",
        "CMP /dev/zero <(head -c 10M /dev/zero)",
    ] {
        alike(&dir, text);
    }
    // Version 3.8 of the peer trusts a reported length of zero with -s; reading gives the correct result.
    let same = line(&dir, "CMP -s /proc/version version", true, "C");
    assert_eq!(same.code(), 0, "{same}");
}

// GNU `cmp` as the peer, in shell lines.
#[cfg(unix)]
#[test]
fn numbers_and_operands_parse_as_in_the_peer() {
    let Some(dir) = corpus_beside_peer() else { return };
    for number in [
        "0",
        "1",
        "010",
        "08",
        "0x1",
        "0x",
        "0x1K",
        "1kB",
        "1K",
        "1KB",
        "1KiB",
        "1Ki",
        "1kD",
        "1M",
        "1m",
        "1Z",
        "0Y",
        "K",
        "KB",
        "' K'",
        "'1 '",
        "' +1'",
        "-0",
        "-1",
        "''",
        "x",
        "1x",
        "8E",
        "7E",
        "9223372036854775807",
        "9223372036854775808",
        "99999999999999999999",
        "1:2",
        "1:",
        ":1",
        "1:x",
        "1:2:3",
        "1K:2",
        "0x:",
        "$'1\\xff'",
    ] {
        for text in [
            format!("CMP -i {number} a b"),
            format!("CMP -n {number} a b"),
            format!("CMP --ignore-initial={number} b a"),
            format!("CMP -- a b {number}"),
            format!("CMP -- a b 1 {number}"),
        ] {
            alike(&dir, &text);
        }
    }
    for text in [
        "CMP",
        "CMP a b 1 2 3",
        "CMP a b 5 5",
        "CMP -i 3 a b 1 1",
        "CMP -i 1 -i 3 a b",
        "CMP -n 7 -n 5 a b",
        "CMP -ls a b",
        "CMP -l -s a b",
        "CMP -ll a b",
        "CMP -ss a b",
        "CMP -bb a b",
        "CMP -c a b",
        "CMP -ln3 a b",
        "CMP -i1:1 a b",
        "CMP --verbose a b",
        "CMP --verb a b",
        "CMP --print-bytes a b",
        "CMP --print-chars a b",
        "CMP --quiet a b",
        "CMP --silent a b",
        "CMP --bytes=3 a b",
        "CMP --bytes 3 a b",
        "CMP a b -l",
        "CMP '' a",
        "CMP missing missing2",
        "CMP -s missing a",
        "CMP -s dir a",
        "CMP dir missing",
        "CMP dir /",
        "CMP -n 0 a dir",
        "CMP -n 0 a b",
        "CMP $'a\\xff' a",
        "cp b $'b\\xff\\n'; CMP a $'b\\xff\\n'",
        "cp short $'s\\xff'; CMP a $'s\\xff'",
    ] {
        alike(&dir, text);
    }
    for text in ["CMP --nope a b", "CMP -n", "CMP -z a b", "CMP a b -1"] {
        assert_eq!(line(&dir, text, true, "C").code(), line(&dir, text, false, "C").code(), "{text}");
    }
}

// GNU `cmp` as the peer, in shell lines.
#[cfg(unix)]
#[test]
fn messages_and_outputs_match_the_peer() {
    let Some(dir) = corpus_beside_peer() else { return };
    for locale in ["C", "POSIX", "C.UTF-8"] {
        for text in ["CMP a b", "CMP -b a b", "CMP a short", "CMP all none", "CMP -lb all none"] {
            alike_in(&dir, text, locale);
        }
    }
    for text in [
        "LC_ALL= LC_MESSAGES=C LANG=C.UTF-8 CMP a b",
        "LC_ALL= LC_MESSAGES= LANG=C.UTF-8 CMP a b",
        "unset LC_ALL LC_MESSAGES LANG; CMP a b",
        "CMP a b > /dev/null",
        "CMP a short > /dev/null",
        "CMP -l part a > /dev/null",
        "CMP -l other short > /dev/null",
        "CMP a b > /dev/full",
        "CMP -l a b > /dev/full",
        "CMP -l noise big | head -n 2; echo ${PIPESTATUS[0]}",
    ] {
        alike(&dir, text);
    }
}

// Holes: a file on Windows is data to its end.
#[cfg(unix)]
#[test]
fn a_terabyte_of_holes_takes_no_time() {
    let dir = TestDir::new();
    for (name, last) in [("one", "x"), ("two", "x"), ("three", "y")] {
        let mut file = fs::File::create(dir.at(name)).unwrap();
        if let Err(error) = file.set_len(1 << 40) {
            println!("skipped: no file of a terabyte: {error}");
            return;
        }
        file.seek(SeekFrom::Start((1 << 40) - 1)).unwrap();
        file.write_all(last.as_bytes()).unwrap();
    }
    let begin = Instant::now();
    ours(&dir, "one two").succeeds();
    let found = ours(&dir, "one three").fails(1, &[]);
    assert_eq!(found.text(), "one three differ: char 1099511627776, line 1\n");
    let found = ours(&dir, "-l one three").fails(1, &[]);
    assert_eq!(found.text(), "1099511627776 170 171\n");
    assert!(begin.elapsed() < Duration::from_secs(20), "{:?}", begin.elapsed());
}

#[test]
fn modified_file_is_an_error() {
    let dir = TestDir::new();
    let data = bytes(1 << 20, 3);
    dir.file("one", &data);
    let two = dir.file("two", &data);
    // The first input is a pipe without data, so the change is certain to fall into the comparison.
    let mut waits = start(
        fullbore(["cmp", "-"])
            .arg(&two)
            .stdin(std::process::Stdio::piped())
            .stdout(std::process::Stdio::piped()),
    );
    let mut pipe = waits.child.stdin.take().unwrap();
    pipe.write_all(&data[..1 << 19]).unwrap();
    std::thread::sleep(Duration::from_millis(200));
    fs::OpenOptions::new().append(true).open(&two).unwrap().write_all(b"more").unwrap();
    drop(pipe.write_all(&data[1 << 19..]));
    drop(pipe);
    waits.end().fails(3, &["cmp: ", "two", "modified while"]);
    dir.run("cmp one one").succeeds();
}

#[test]
fn json_has_the_result() {
    let dir = corpus();
    let json = |text: &str, code: i32| -> serde_json::Value {
        let said = ours(&dir, text);
        assert_eq!(said.code(), code, "{text}: {said}");
        said.json()
    };
    let equal = json("--json big same", 0);
    assert_eq!((&equal["equal"], &equal["bytes"]), (&true.into(), &3_000_000.into()));
    let differ = json("--json a b", 1);
    assert_eq!(differ["differ"], serde_json::json!({ "byte": 7, "line": 2, "values": [102, 103] }));
    let end = json("--json part a", 1);
    assert_eq!(end["end"], serde_json::json!({ "file": "part", "bytes": 6, "newlines": 1 }));
    assert_eq!(json("--json a hard", 0)["equal"], true);
}

#[test]
fn explain_names_the_strategies() {
    let dir = corpus();
    let said = ours(&dir, "--explain --time big same").succeeds();
    assert_contains(&said.stderr, &["big:", "same:", "strategy: ", "because: ", "real ", "3.00 MB in all"]);
    let said = ours(&dir, "--explain a hard").succeeds();
    assert!(said.stderr.contains("nothing is read: both are the same file"), "{}", said.stderr);
    let said = ours(&dir, "--explain -s big cut").fails(1, &["the sizes differ"]);
    assert!(said.stdout.is_empty());
    ours(&dir, "--strategy nonsense big same").fails(2, &["--strategy", "nonsense"]);
    let version = ours(&dir, "--version").succeeds().text();
    assert!(version.starts_with("cmp (fullbore) "), "{version}");
}
