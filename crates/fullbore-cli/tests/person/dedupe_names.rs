//! `dedupe` of names given by several paths.

use crate::support::*;

/// Returns the inode numbers of files.
fn inodes<const N: usize>(dir: &TestDir, names: [&str; N]) -> [u64; N] {
    names.map(|name| fs::metadata(dir.at(name)).unwrap().ino())
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
