//! `cmp` and GNU `cmp`: the same bytes on both outputs and the same exit code, case by case; `tools_on_corpus` compares
//! them over small and difficult files.

use crate::cmp::corpus;
use crate::support::*;

/// A directory with every kind of file, if a GNU `cmp` with known wording is installed.
pub(crate) fn corpus_beside_peer() -> Option<TestDir> {
    is_version("cmp", &["cmp (GNU diffutils) 3.8", "cmp (GNU diffutils) 3.9", "cmp (GNU diffutils) 3.1"])
        .then(corpus)
}

fn line(dir: &TestDir, text: &str, ours: bool) -> Finished {
    line_of_tools(dir.path(), text, ours, "C.UTF-8")
}

#[track_caller]
fn alike<L: AsRef<str>>(dir: &TestDir, lines: impl IntoIterator<Item = L>) {
    assert_alike(dir, lines.into_iter().map(|line| ("C.UTF-8", line)));
}

#[test]
fn large_files_are_compared_as_by_the_peer() {
    let Some(dir) = corpus_beside_peer() else { return };
    let pairs =
        ["big same", "big late", "late big", "big some", "big cut", "cut big", "some cut", "noise big"];
    let options = "|-b|-l|-s|-n 2500000|-n 2500001|-i 1|-i 100K:100K|-l -n 1M|-i 1:2 -l -n 300000";
    let lines =
        pairs.iter().flat_map(|pair| options.split('|').map(move |options| format!("cmp {options} {pair}")));
    alike(&dir, cases("cmp of large files", 2, lines));
    for pair in pairs {
        for options in ["", "-l"] {
            let theirs = line(&dir, &format!("cmp {options} {pair}"), false);
            for ours in [
                "--workers 1",
                "--workers 8 --strategy request=4K,stripe=4K",
                "--cache direct",
                "--strategy method=mmap",
                "--strategy method=uring,depth=4,request=64K",
                "--cache drop",
            ] {
                let found = line(&dir, &format!("cmp {options} {ours} {pair}"), true);
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

#[test]
fn standard_input_and_pipes_are_compared_as_by_the_peer() {
    let Some(dir) = corpus_beside_peer() else { return };
    alike(&dir, include_str!("lines/cmp-standard-input.txt").lines());
}

#[test]
fn files_of_the_kernel_and_devices_are_compared_as_by_the_peer() {
    let Some(dir) = corpus_beside_peer() else { return };
    fs::copy("/proc/version", dir.at("version")).unwrap();
    alike(&dir, include_str!("lines/cmp-kernel.txt").lines());
    // Version 3.8 of the peer trusts a reported length of zero with -s; reading gives the correct result.
    let same = line(&dir, "cmp -s /proc/version version", true);
    assert_eq!(same.code(), 0, "{same}");
}

#[test]
fn numbers_and_operands_parse_as_in_the_peer() {
    let Some(dir) = corpus_beside_peer() else { return };
    let numbers = "0|1|010|08|0x1|0x|0x1K|1kB|1K|1KB|1KiB|1Ki|1kD|1M|1m|1Z|0Y|K|KB|' K'|'1 '|' +1'|-0|-1|''|x|1x|8E|7E|\
                   9223372036854775807|9223372036854775808|99999999999999999999|1:2|1:|:1|1:x|1:2:3|1K:2|0x:|$'1\\xff'";
    let lines = numbers.split('|').flat_map(|number| {
        [
            format!("cmp -i {number} a b"),
            format!("cmp -n {number} a b"),
            format!("cmp --ignore-initial={number} b a"),
            format!("cmp -- a b {number}"),
            format!("cmp -- a b 1 {number}"),
        ]
    });
    alike(&dir, cases("numbers of cmp", 4, lines));
    alike(&dir, include_str!("lines/cmp-operands.txt").lines());
    let repeated = ["-i 5:0 -i 1", "-i 1 -i 5:0", "-i 0:5 -i 1", "-i 1:2 -i 3"];
    alike(&dir, cases("repeated -i of cmp", 1, repeated.map(|skips| format!("cmp {skips} a b"))));
    for text in ["cmp --nope a b", "cmp -n", "cmp -z a b", "cmp a b -1"] {
        assert_eq!(line(&dir, text, true).code(), line(&dir, text, false).code(), "{text}");
    }
}

#[test]
fn messages_and_outputs_match_the_peer() {
    let Some(dir) = corpus_beside_peer() else { return };
    for locale in ["C", "POSIX", "C.UTF-8"] {
        let lines = ["cmp a b", "cmp -b a b", "cmp a short", "cmp all none", "cmp -lb all none"];
        assert_alike(&dir, lines.map(|line| (locale, line)));
    }
    alike(&dir, include_str!("lines/cmp-outputs.txt").lines());
}
