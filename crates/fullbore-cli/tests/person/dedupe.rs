//! `dedupe`: duplicates found, linked, and left alone.

use crate::support::*;

/// Returns the groups of JSON lines, each as the sets of names of its files.
pub(crate) fn groups(text: &str) -> BTreeSet<BTreeSet<Vec<String>>> {
    let lines = text.lines().map(|line| serde_json::from_str::<Value>(line).unwrap());
    lines
        .filter(|line| line.get("files").is_some())
        .map(|line| {
            let files = line["files"].as_array().unwrap().iter();
            files
                .map(|file| {
                    let names = file["names"].as_array().unwrap().iter();
                    names.map(|name| slashes(name["name"].as_str().unwrap())).collect()
                })
                .collect()
        })
        .collect()
}

pub(crate) fn set(groups: &[&[&[&str]]]) -> BTreeSet<BTreeSet<Vec<String>>> {
    let files = |files: &&[&[&str]]| {
        files.iter().map(|names| names.iter().map(|&name| name.to_owned()).collect()).collect()
    };
    groups.iter().map(files).collect()
}

/// Creates a tree with equal files of all length classes, and nearly equal ones.
fn tree(dir: &TestDir) {
    dir.directories(["t", "t/deep", "t/.hidden"]);
    let large = bytes(3_000_000, 1);
    let mut other = large.clone();
    other[1_500_000] ^= 1; // not visible at either end
    for (name, content) in [
        ("t/large", &large[..]),
        ("t/deep/large", &large),
        ("t/other", &other),
        ("t/.hidden/large", &large),
        ("t/shorter", &large[..2_999_999]),
        ("t/small", b"small"),
        ("t/deep/small", b"small"),
        ("t/smell", b"smaLl"),
        ("t/.small", b"small"),
        ("t/empty", b""),
        ("t/deep/empty", b""),
        ("t/alone", b"nobody has this"),
        ("t/medium", &large[..200_000]),
        ("t/deep/medium", &large[..200_000]),
    ] {
        dir.file(name, content);
    }
    let mut end = large[..200_000].to_vec();
    end[199_999] ^= 1;
    dir.file("t/medium end", end);
    fs::hard_link(dir.at("t/small"), dir.at("t/deep/small too")).unwrap();
    fs::hard_link(dir.at("t/alone"), dir.at("t/alone too")).unwrap();
    #[cfg(unix)]
    {
        symlink("small", dir.at("t/link")).unwrap();
        symlink("deep", dir.at("t/directory link")).unwrap();
        dir.fifo("t/fifo");
    }
}

#[test]
fn equal_files_are_found_and_no_others() {
    let dir = TestDir::new();
    tree(&dir);
    let plain = [
        &[&["t/deep/large"][..], &["t/large"]][..],
        &[&["t/deep/medium"], &["t/medium"]],
        &[&["t/deep/small too", "t/small"], &["t/deep/small"]],
    ];
    for options in ["", "--bytes", "--workers 1", "--workers 5 --bytes", "--strategy request=4K"] {
        let found = dir.run(&format!("dedupe --json t {options}")).succeeds().text();
        assert_eq!(groups(&found), set(&plain), "{options:?}");
        let summary: Value = serde_json::from_str(found.lines().last().unwrap()).unwrap();
        assert_eq!(summary["summary"]["redundant_bytes"], 3_200_005);
        assert!(found.starts_with("{\"blake3\""), "{found}");
    }
    let hidden = dir.run("dedupe --json -. --min-size 6 t").succeeds().text();
    let wanted = [&[&["t/deep/large"][..], &["t/large"], &["t/.hidden/large"]][..], plain[1]];
    assert_eq!(groups(&hidden), set(&wanted));
    let empty = dir.run("dedupe --json --empty --max-size 4 t").succeeds().text();
    assert_eq!(groups(&empty), set(&[&[&["t/deep/empty"], &["t/empty"]]]));
    let named = dir.run("dedupe --json t/large t/deep t/.hidden/large t/large").succeeds().text();
    assert_eq!(groups(&named), set(&[wanted[0], &[&["t/deep/small"], &["t/deep/small too"]]]));
    let text = slashes(&dir.run("dedupe t").succeeds().text());
    let totals = "# Total: 6400010 B (6.40 MB) in 6 files in 3 groups\n# Redundant: 3200005 B";
    assert!(text.starts_with(totals), "{text}");
    let last = ", 5 B (5 B) * 2:\n    t/deep/small\n    t/deep/small too\n    = t/small\n";
    assert!(text.ends_with(last), "{text}");
    let sum = dir.run("sum t/large").succeeds().text();
    assert!(text.contains(&format!("{}, 3000000 B", &sum[..64])), "{text}");
    dir.run("dedupe t missing").fails(1, &["missing"]);
    dir.run("dedupe").fails(2, &["PATH"]);
}

#[test]
fn finds_the_same_groups_as_fclones() {
    let Some(()) = or_skip("the same groups", installed("fclones")) else { return };
    let dir = TestDir::new();
    tree(&dir);
    for number in 0..300_usize {
        let len = [1, 100, 5000, 40_000, 131_072, 131_073, 300_000][number % 7];
        let mut content = bytes(len, (number % 5) as u64);
        if number % 3 == 0 {
            content[number * 7919 % len] ^= 0x10;
        }
        dir.file(&format!("t/{number}"), content);
    }
    let mut command = Command::new("fclones");
    let theirs = run(command.args(["group", "-f", "json", "-A", "t"]).current_dir(dir.path())).json();
    let root = dir.path().canonicalize().unwrap();
    let path = |file: &Value| Path::new(file.as_str().unwrap()).strip_prefix(&root).unwrap().to_owned();
    let theirs = theirs["groups"].as_array().unwrap().iter();
    let theirs: BTreeSet<BTreeSet<PathBuf>> =
        theirs.map(|group| group["files"].as_array().unwrap().iter().map(path).collect()).collect();
    let ours: BTreeSet<BTreeSet<PathBuf>> = groups(&dir.run("dedupe --json t").succeeds().text())
        .iter()
        .map(|files| files.iter().flatten().map(PathBuf::from).collect())
        .collect();
    assert_eq!(ours.len(), theirs.len());
    // It lists one of several names of a file.
    let found = |group: &BTreeSet<PathBuf>| {
        ours.iter().any(|own| group.is_subset(own) && own.len() <= group.len() + 1)
    };
    assert!(theirs.iter().all(found), "{ours:?}\n{theirs:?}");
}

#[test]
fn nothing_is_linked_without_the_flag() {
    let dir = TestDir::new();
    tree(&dir);
    let before = snapshot(dir.path());
    dir.run("dedupe t").succeeds();
    let would = slashes(&dir.run("dedupe --link hard --dry-run t").succeeds().text());
    assert!(would.contains("    t/large: would be linked\n"), "{would}");
    assert!(snapshot(dir.path()) == before);
    dir.run("dedupe --dry-run t").fails(2, &["--link"]);
}

#[test]
fn json_has_the_outcome_of_each_name() {
    let dir = TestDir::new();
    dir.directories(["t"]);
    dir.files(["t/a", "t/b", "t/c"], "the same");
    // A name outside the search.
    fs::hard_link(dir.at("t/c"), dir.at("c")).unwrap();
    let dedupe = |options: &str, word: &str, count: u64| {
        let text = dir.run(&format!("dedupe --link hard --json {options} t")).succeeds().text();
        let lines: Vec<Value> = text.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
        let [group, totals] = &lines[..] else { panic!("{text}") };
        let names: Vec<&Value> =
            group["files"].as_array().unwrap().iter().map(|file| &file["names"][0]).collect();
        let outcomes: Vec<&Value> = names.iter().map(|name| &name["outcome"]).collect();
        assert_eq!(outcomes, ["kept", word, "left"], "{text}");
        let why = [0, 1, 2].map(|name| names[name]["why"].as_str().unwrap_or_default());
        assert!(why[..2] == ["", ""] && why[2].contains("other names"), "{text}");
        assert_eq!(totals["summary"]["linked_names"], count, "{text}");
    };
    dedupe("--dry-run", "would be linked", 0);
    dedupe("", "linked", 1);
}

#[test]
fn hard_links_merge_duplicates() {
    let dir = TestDir::new();
    tree(&dir);
    let before = snapshot(dir.path());
    let text = slashes(&dir.run("dedupe --link hard -. --empty t").succeeds().text());
    assert!(text.contains("    t/large: linked\n"), "{text}");
    let after = snapshot(dir.path());
    assert_eq!(
        before.keys().collect::<Vec<_>>(),
        after.keys().collect::<Vec<_>>(),
        "the names are unchanged"
    );
    for (path, state) in &before {
        assert!(after[path].content == state.content, "{}", path.display());
    }
    let inode = |name: &str| after[&dir.at(name)].identity;
    for names in [
        ["t/large", "t/deep/large"],
        ["t/large", "t/.hidden/large"],
        ["t/small", "t/deep/small"],
        ["t/small", "t/.small"],
        ["t/small", "t/deep/small too"],
        ["t/empty", "t/deep/empty"],
    ] {
        assert_eq!(inode(names[0]), inode(names[1]), "{names:?}");
    }
    assert_ne!(inode("t/large"), inode("t/other"));
    assert!(groups(&dir.run("dedupe --json -. --empty t").succeeds().text()).is_empty());
}

#[test]
fn reflinks_share_blocks_and_keep_the_rest() {
    let dir = TestDir::new();
    let content = bytes(1 << 20, 1);
    let make = |directory: &Path| {
        fs::write(directory.join("a"), &content).unwrap();
        fs::write(directory.join("b"), &content).unwrap();
        #[cfg(unix)]
        fs::set_permissions(directory.join("b"), fs::Permissions::from_mode(0o640)).unwrap();
    };
    make(dir.path());
    let text = slashes(&dir.run("dedupe --link reflink .").succeeds().text());
    let left = text.contains("./b: left: the file system cannot share");
    assert!(left || text.contains("./b: linked"), "{text}");
    assert_eq!(dir.names(), ["a", "b"], "no temporary files are left");
    #[cfg(target_os = "linux")]
    {
        let Some(_mount) = mount_sharing(&dir, "xfs") else { return };
        make(&dir.at("xfs"));
        let before = fs::metadata(dir.at("xfs/b")).unwrap();
        let text = dir.run("dedupe --link reflink xfs").succeeds().text();
        assert!(text.contains("xfs/b: linked"), "{text}");
        let after = fs::metadata(dir.at("xfs/b")).unwrap();
        assert_eq!(
            (after.mode(), after.mtime(), after.mtime_nsec(), after.uid()),
            (before.mode(), before.mtime(), before.mtime_nsec(), before.uid())
        );
        assert_ne!(after.ino(), fs::metadata(dir.at("xfs/a")).unwrap().ino());
        assert!(dir.read("xfs/b") == content);
    }
}
