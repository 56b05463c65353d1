//! `fullbore gen`: exact sizes, and the same bytes from the same seed for every strategy.

use crate::support::*;
#[test]
fn sizes_are_exact_in_every_unit() {
    let dir = TestDir::new();
    for (text, bytes) in [
        ("0", 0),
        ("1", 1),
        ("999", 999),
        ("640KB", 640_000),
        ("3kB", 3_000),
        ("64K", 65_536),
        ("64KiB", 65_536),
        ("3MB", 3_000_000),
        ("3MiB", 3 << 20),
        ("1.5M", 3 << 19),
    ] {
        for content in ["random", "text", "zeros"] {
            dir.run(&format!("gen {text} --content {content} out")).succeeds();
            assert_eq!(fs::metadata(dir.at("out")).unwrap().len(), bytes, "{text} {content}");
        }
    }
    assert_eq!(dir.names(), ["out"]);
}

fn generated(path: &Path, options: &[&str]) -> Option<Vec<u8>> {
    let ended = run(fullbore(["gen", "3000001"]).arg(path).args(options));
    if refused(&ended) {
        return None;
    }
    ended.succeeds();
    Some(fs::read(path).unwrap())
}

#[test]
fn the_same_seed_gives_the_same_bytes_by_any_strategy() {
    let dir = TestDir::new();
    let out = dir.at("out");
    for content in [&["--content", "random"][..], &["--content", "text", "--line", "61"]] {
        let wanted = generated(&out, &[content, &["--seed", "7", "--strategy", "cci"]].concat()).unwrap();
        let all = methods().into_iter().map(|method| format!("method={method},request=12345"));
        let more =
            ["workers=3,model=pool,stripe=64K", "workers=2,request=4K,alloc=size", "depth=8,method=uring"];
        let all = named().into_iter().chain(more).map(str::to_owned).chain(all);
        for strategy in cases("gen by any strategy", 2, all) {
            let options = [content, &["--seed", "7", "--strategy", &strategy]].concat();
            if let Some(found) = generated(&out, &options) {
                assert!(found == wanted, "{content:?} {strategy}");
            }
            let options = [content, &["--seed", "7", "--overwrite", "--strategy", &strategy]].concat();
            if let Some(found) = generated(&out, &options) {
                assert!(found == wanted, "{content:?} {strategy} over the old file");
            }
        }
        let mut command = fullbore(["gen", "3000001", "-", "--seed", "7"]);
        assert!(run(command.args(content)).succeeds().stdout == wanted, "to standard output");
        let other = generated(&out, &[content, &["--seed", "8"]].concat()).unwrap();
        assert!(other != wanted, "another seed");
        // A shorter output is a prefix of a longer one.
        let mut command = fullbore(["gen", "5000000", "-", "--seed", "7"]);
        assert!(run(command.args(content)).succeeds().stdout[..3_000_001] == wanted[..]);
    }
}

#[test]
fn content_matches_its_name() {
    let dir = TestDir::new();
    let out = dir.at("out");
    let random = generated(&out, &[]).unwrap();
    let mut counts = [0u32; 256];
    random.iter().for_each(|&byte| counts[usize::from(byte)] += 1);
    // 11,719 of each on average, with a standard deviation of 108.
    assert!(counts.iter().all(|count| (11_000..12_500).contains(count)), "{counts:?}");
    let text = String::from_utf8(generated(&out, &["--content", "text", "--line", "50"]).unwrap()).unwrap();
    let lines: Vec<_> = text.split_inclusive('\n').collect();
    assert!(lines[..lines.len() - 1].iter().all(|line| line.len() == 50 && line.is_ascii()));
    let wordly = |c: char| c.is_ascii_alphabetic() || " ,.".contains(c);
    assert!(lines.iter().all(|line| line.trim_end_matches('\n').chars().all(wordly)));
    assert!(generated(&out, &["--content", "zeros"]).unwrap().iter().all(|&byte| byte == 0));
    // Written, not a hole.
    dir.run("gen 1M --content zeros --sync data out").succeeds();
    #[cfg(unix)]
    assert!(std::os::unix::fs::MetadataExt::blocks(&fs::metadata(&out).unwrap()) * 512 >= 1 << 20);
}
