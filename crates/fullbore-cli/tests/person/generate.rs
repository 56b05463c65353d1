//! `fullbore gen`: exact sizes, and the same bytes from the same seed for every strategy.

use crate::support::*;

#[test]
fn sizes_are_exact() {
    let dir = TestDir::new();
    for (text, bytes) in [("0", 0), ("1", 1), ("640KB", 640_000), ("1.5M", 3 << 19)] {
        for content in ["random", "text", "zeros"] {
            dir.run(&format!("gen {text} --content {content} out")).succeeds();
            assert_eq!(fs::metadata(dir.at("out")).unwrap().len(), bytes, "{text} {content}");
        }
    }
    assert_eq!(dir.names(), ["out"]);
}

/// Generates 3,000,001 bytes; `None` if the method is unavailable.
fn generated(dir: &TestDir, options: &str) -> Option<Vec<u8>> {
    let ended = dir.run(&format!("gen 3000001 out {options}"));
    ended.succeeds_unless_refused().then(|| dir.read("out"))
}

#[test]
fn the_same_seed_gives_the_same_bytes_by_any_strategy() {
    let dir = TestDir::new();
    for (content, one_in) in [("--content random", 2), ("--content text --line 61", 3)] {
        let wanted = generated(&dir, &format!("{content} --seed 7 --strategy cci")).unwrap();
        let all = methods().into_iter().map(|method| format!("method={method},request=12345"));
        let more =
            ["workers=3,model=pool,stripe=64K", "workers=2,request=4K,alloc=size", "depth=8,method=uring"];
        let all = named().into_iter().chain(more).map(str::to_owned).chain(all);
        for strategy in cases("gen by any strategy", one_in, all) {
            // To a new file, and over the old one.
            for overwrite in ["", "--overwrite"] {
                let options = format!("{content} --seed 7 {overwrite} --strategy {strategy}");
                if let Some(found) = generated(&dir, &options) {
                    assert!(found == wanted, "{options}");
                }
            }
        }
        let printed = |words: &str| dir.run(&format!("gen {words} {content}")).succeeds().stdout;
        assert!(printed("3000001 - --seed 7") == wanted, "to standard output");
        assert!(printed("3000001 - --seed 8") != wanted, "another seed");
        // A shorter output is a prefix of a longer one.
        assert!(printed("5000000 - --seed 7")[..3_000_001] == wanted[..]);
    }
}

#[test]
fn content_matches_its_name() {
    let dir = TestDir::new();
    let random = generated(&dir, "").unwrap();
    let mut counts = [0u32; 256];
    random.iter().for_each(|&byte| counts[usize::from(byte)] += 1);
    // 11,719 of each on average, with a standard deviation of 108.
    assert!(counts.iter().all(|count| (11_000..12_500).contains(count)), "{counts:?}");
    let text = String::from_utf8(generated(&dir, "--content text --line 50").unwrap()).unwrap();
    let lines: Vec<_> = text.split_inclusive('\n').collect();
    assert!(lines[..lines.len() - 1].iter().all(|line| line.len() == 50 && line.is_ascii()));
    let wordly = |c: char| c.is_ascii_alphabetic() || " ,.".contains(c);
    assert!(lines.iter().all(|line| line.trim_end_matches('\n').chars().all(wordly)));
    assert!(generated(&dir, "--content zeros").unwrap().iter().all(|&byte| byte == 0));
    // Written, not a hole.
    dir.run("gen 1M --content zeros --sync data out").succeeds();
    #[cfg(unix)]
    assert!(std::os::unix::fs::MetadataExt::blocks(&fs::metadata(dir.at("out")).unwrap()) * 512 >= 1 << 20);
}
