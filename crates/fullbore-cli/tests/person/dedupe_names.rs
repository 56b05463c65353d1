//! `dedupe` of files with several names, and of names given by several paths.

use crate::support::*;

fn inodes<const N: usize>(dir: &TestDir, names: [impl AsRef<str>; N]) -> [u64; N] {
    names.map(|name| fs::metadata(dir.at(name.as_ref())).unwrap().ino())
}

#[cfg(target_os = "linux")]
#[test]
fn reflinks_leave_files_with_several_names() {
    let dir = TestDir::new();
    let Some(_mount) = mount_sharing(&dir, "xfs") else { return };
    dir.files(["xfs/1", "xfs/2", "xfs/3"], bytes(300_000, 1));
    fs::hard_link(dir.at("xfs/2"), dir.at("xfs/2h")).unwrap();
    let names = ["xfs/1", "xfs/2", "xfs/2h", "xfs/3"];
    let before = inodes(&dir, names);
    for (options, word) in [("--dry-run", "would be linked"), ("", "linked")] {
        let text = dir.run(&format!("dedupe --link reflink {options} xfs")).succeeds().text();
        assert_contains(
            &text,
            &["xfs/2: left: ", "= xfs/2h: left: ", "several names", &format!("xfs/3: {word}\n")],
        );
    }
    let after = inodes(&dir, names);
    assert_eq!(after[..3], before[..3]);
    assert_ne!(after[3], before[3]);
    // A file with several names can be the one that is kept.
    let text = dir.run("dedupe --link reflink xfs/2 xfs/2h xfs/3").succeeds().text();
    assert!(text.contains("xfs/3: linked\n"), "{text}");
    assert_eq!(inodes(&dir, ["xfs/2"]), inodes(&dir, ["xfs/2h"]));
}

#[test]
fn hard_links_move_all_names_of_a_file_or_none() {
    let dir = TestDir::new();
    dir.directories(["a", "t", "u"]);
    dir.files(["a/1", "t/2"], "the same");
    for name in ["t/2h", "t/.hidden", "u/2"] {
        fs::hard_link(dir.at("t/2"), dir.at(name)).unwrap();
    }
    let before = snapshot(dir.path());
    for paths in ["a t", "-. a t", "a t u", "--any-metadata a t"] {
        for options in ["--dry-run", ""] {
            let text = dir.run(&format!("dedupe --link hard {options} {paths}")).succeeds().text();
            assert_contains(&text, &["t/2: left: ", "= t/2h: left: ", "other names"]);
            assert!(snapshot(dir.path()) == before, "{options} {paths}");
        }
    }
    let would = dir.run("dedupe --link hard --dry-run -. a t u").succeeds().text();
    assert_eq!(would.matches(": would be linked\n").count(), 4, "{would}");
    let text = dir.run("dedupe --link hard -. a t u").succeeds().text();
    assert_eq!(text.matches(": linked\n").count(), 4, "{text}");
    let all = inodes(&dir, ["a/1", "t/2", "t/2h", "t/.hidden", "u/2"]);
    assert!(all.iter().all(|inode| *inode == all[0]), "{all:?}");
}

#[test]
fn a_dash_is_a_name_like_any_other() {
    let dir = TestDir::new();
    dir.directories(["-"]);
    dir.files(["-/1", "-/2"], "the same");
    let text = dir.run("dedupe -").succeeds().text();
    assert!(text.ends_with(":\n    -/1\n    -/2\n"), "{text}");
}

#[test]
fn a_failure_at_one_name_leaves_all_names_of_the_file() {
    let Some(user) = Unprivileged::new() else { return };
    let dir = TestDir::open_to_all();
    dir.directories(["a", "t", "u"]);
    dir.files(["a/1", "t/2"], "the same");
    fs::hard_link(dir.at("t/2"), dir.at("u/2")).unwrap();
    // Links to the files of others may be forbidden.
    if root().is_ok() {
        for name in ["a", "t", "a/1", "t/2"] {
            std::os::unix::fs::chown(dir.at(name), Some(NOBODY), Some(NOBODY)).unwrap();
        }
    }
    dir.set_mode("u", 0o555);
    let before = snapshot(dir.path());
    let dedupe = || user.run(&dir, "dedupe --link hard a t u");
    let failed = dedupe().fails(1, &["u/2", &system_text(13)]);
    assert_contains(&failed.text(), &["t/2: left: not all names", "= u/2: failed"]);
    assert!(snapshot(dir.path()) == before);
    dir.set_mode("u", 0o777);
    assert_eq!(dedupe().succeeds().text().matches(": linked\n").count(), 2);
    let all = inodes(&dir, ["a/1", "t/2", "u/2"]);
    assert!(all.iter().all(|inode| *inode == all[0]), "{all:?}");
}

/// A file that has reached the maximum number of links does not replace the rest of its group.
#[cfg(target_os = "linux")]
#[test]
fn a_group_larger_than_the_link_limit_is_linked_in_parts() {
    /// Of ext4.
    const LIMIT: usize = 65_000;
    if !fullbore_testkit::runs_all("dedupe at the link limit") {
        return;
    }
    let dir = TestDir::new();
    let mount = mount_image("mkfs.ext4 -q", &dir.at("image"), 64 << 20, &dir.at("ext4"));
    let Some(_mount) = or_skip("a file with the maximum number of links", mount) else { return };
    dir.directories(["ext4/more", "ext4/group"]);
    dir.files(["ext4/group/a", "ext4/group/b1", "ext4/group/c"], "the same");
    fs::hard_link(dir.at("ext4/group/b1"), dir.at("ext4/group/b2")).unwrap();
    for number in 0..LIMIT - 2 {
        fs::hard_link(dir.at("ext4/group/a"), dir.at(&format!("ext4/more/{number}"))).unwrap();
    }
    let text = dir.run("dedupe --link hard ext4/group").succeeds().text();
    // There is room for one of the two names of `b1`.
    assert_eq!(text.matches(": linked\n").count(), 1, "{text}");
    let [a, b1, b2, c] = inodes(&dir, ["a", "b1", "b2", "c"].map(|name| format!("ext4/group/{name}")));
    assert!(a != b1 && b1 == b2 && b2 == c, "{text}");
}

#[test]
fn a_name_given_by_several_paths_counts_once() {
    for paths in ["a ./a", ". a", "a a/", "a sl/", "sl/ ./a//", "a a/../a/x", "a bound", "a/x a/y a/../a/y"] {
        let dir = TestDir::new();
        dir.directories(["a"]);
        dir.files(["a/x", "a/y"], "the same");
        symlink("a", dir.at("sl")).unwrap();
        let _mount = if paths.contains("bound") {
            let mount = Mount::new(&["--bind", dir.at("a").to_str().unwrap()], &dir.at("bound"));
            let Some(mount) = or_skip("a bind mount", mount) else { continue };
            Some(mount)
        } else {
            None
        };
        let would = dir.run(&format!("dedupe --link hard --dry-run {paths}")).succeeds().text();
        assert_eq!(would.matches("would be linked").count(), 1, "{paths}: {would}");
        assert_eq!(would.lines().count(), 2 + 1 + 2, "{paths}: {would}");
        let text = dir.run(&format!("dedupe --link hard {paths}")).succeeds().text();
        assert_eq!(text.matches(": linked").count(), 1, "{paths}: {text}");
        let [x, y] = inodes(&dir, ["a/x", "a/y"]);
        assert_eq!(x, y, "{paths}");
        dir.run(&format!("dedupe --link reflink {paths}")).succeeds();
    }
}
