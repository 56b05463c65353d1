//! `fullbore cmp`: results of its own; `cmp_as_gnu` compares it with GNU `cmp`.

use crate::support::*;

fn ours(dir: &TestDir, words: &str) -> Finished {
    run(dir.command(&format!("cmp {words}")).env("LC_ALL", "C"))
}

/// A directory with every kind of file for comparisons.
pub(crate) fn corpus() -> TestDir {
    let dir = TestDir::new();
    dir.file("a", "abc\ndef\n");
    dir.file("b", "abc\ndeg\n");
    dir.file("short", "abc\n");
    dir.file("part", "abc\nde");
    dir.file("empty", "");
    dir.file("other", "xbc\n\nzzzzzzzzz");
    dir.file("all", (0..=255).collect::<Vec<u8>>());
    dir.file("none", (0..=255).rev().collect::<Vec<u8>>());
    dir.directories(["dir"]);
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
    dir.file("noise", [&big[..2_700_000], &bytes(300_000, 2)].concat());
    dir
}

// A file system in memory has files of any length.
#[cfg(target_os = "linux")]
#[test]
fn the_last_bytes_that_a_file_can_have_are_compared() {
    const LENGTH: u64 = i64::MAX as u64;
    let shared = Path::new("/dev/shm");
    if !shared.is_dir() {
        return println!("skipped: no /dev/shm");
    }
    let dir = TestDir::within(shared);
    for (name, last) in [("a", b'x'), ("b", b'y')] {
        let file = File::create(dir.at(name)).unwrap();
        let Some(()) = or_skip("a file of the maximum length", file.set_len(LENGTH)) else { return };
        file.write_all_at(&[last], LENGTH - 1).unwrap();
    }
    for (skip, code) in [(LENGTH - 8, 1), (LENGTH - 1, 1), (LENGTH, 0)] {
        assert_eq!(dir.run(&format!("cmp -s -i {skip} a b")).code(), code, "{skip}");
    }
}

// Holes: a file on Windows is data to its end.
#[cfg(unix)]
#[test]
fn a_terabyte_of_holes_takes_no_time() {
    let dir = TestDir::new();
    for (name, last) in [("one", "x"), ("two", "x"), ("three", "y")] {
        let mut file = fs::File::create(dir.at(name)).unwrap();
        let Some(()) = or_skip("a file of a terabyte", file.set_len(1 << 40)) else { return };
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
    // Two files of a Windows share may have one identity.
    let nothing = said.stderr.contains("nothing is read: both are the same file");
    assert_eq!(nothing, !cfg!(windows), "{}", said.stderr);
    let said = ours(&dir, "--explain -s big cut").fails(1, &["the sizes differ"]);
    assert!(said.stdout.is_empty());
    ours(&dir, "--strategy nonsense big same").fails(2, &["--strategy", "nonsense"]);
    let version = ours(&dir, "--version").succeeds().text();
    assert!(version.starts_with("cmp (fullbore) "), "{version}");
}
