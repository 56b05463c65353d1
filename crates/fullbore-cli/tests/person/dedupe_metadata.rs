//! `dedupe` of files with different metadata, on other file systems, and with holes.

use crate::dedupe::{groups, set};
use crate::support::*;

#[test]
fn files_with_different_metadata_are_left() {
    let dir = TestDir::new();
    dir.files(["a", "mode", "attribute", "owner"], "the same");
    dir.set_mode("mode", 0o600);
    let attributes =
        rustix::fs::setxattr(dir.at("attribute"), "user.fullbore", b"x", rustix::fs::XattrFlags::empty())
            .is_ok();
    let root = rustix::process::geteuid().is_root();
    if root {
        std::os::unix::fs::chown(dir.at("owner"), Some(12345), None).unwrap();
    } else {
        println!("skipped: another owner: only root can give files away");
        fs::remove_file(dir.at("owner")).unwrap();
    }
    let text = dir.run("dedupe --link hard .").succeeds().text();
    assert!(text.contains("./mode: left: different mode"), "{text}");
    assert!(!root || text.contains("./owner: left: different owner"), "{text}");
    match attributes {
        true => assert!(text.contains("./attribute: left: different extended attributes"), "{text}"),
        false => println!("skipped: no extended attributes on this file system"),
    }
    dir.run("dedupe --link reflink --any-metadata .").fails(2, &["--link hard"]);
    let told = dir.run("dedupe --link hard --any-metadata .").succeeds().text();
    assert!(told.contains("./mode: linked"), "{told}");
}

#[test]
fn files_are_linked_to_the_first_with_their_metadata() {
    let dir = TestDir::new();
    dir.files(["a", "b", "c", "d"], "the same");
    for name in ["b", "d"] {
        dir.set_mode(name, 0o600);
    }
    let text = dir.run("dedupe --link hard .").succeeds().text();
    assert!(text.contains("./b: left: different mode"), "{text}");
    assert!(text.contains("./c: linked") && text.contains("./d: linked"), "{text}");
    let inode = |name: &str| fs::metadata(dir.at(name)).unwrap().ino();
    assert_eq!((inode("a"), inode("b")), (inode("c"), inode("d")));
}

#[test]
fn immutable_files_are_left() {
    let dir = TestDir::new();
    dir.files(["a", "b"], "the same");
    let ended = while_attributed(&dir.at("b"), "i", || dir.run("dedupe --link hard ."));
    let Some(ended) = ended else { return };
    assert!(ended.succeeds().text().contains("./b: left: one of the files is immutable"));
}

#[test]
fn files_are_linked_within_their_file_system() {
    let dir = TestDir::new();
    dir.file("a", "the same");
    let Some(_mount) = or_skip("another file system", Mount::in_memory("size=50%", &dir.at("m"))) else {
        return;
    };
    dir.file("m/c", "the same");
    for how in ["hard", "reflink"] {
        let text = dir.run(&format!("dedupe --link {how} .")).succeeds().text();
        assert!(text.contains("./m/c: left: on another file system"), "{text}");
    }
    dir.files(["b", "m/d", "m/e"], "the same");
    let text = dir.run("dedupe --link hard .").succeeds().text();
    assert!(text.contains("./m/c\n") && text.contains("./m/d: linked"), "{text}");
    let inode = |name: &str| fs::metadata(dir.at(name)).unwrap().ino();
    assert_eq!((inode("a"), inode("m/c"), inode("m/c")), (inode("b"), inode("m/d"), inode("m/e")));
}

/// A run that read the holes would take hours.
#[test]
fn holes_are_not_read() {
    use std::os::unix::fs::FileExt;
    let dir = TestDir::new();
    // The maximum file length of this file system.
    let longest = |file: &fs::File| (40..47).rev().find(|&bits| file.set_len(1 << bits).is_ok());
    let Some(bits) = longest(&fs::File::create(dir.at("probe")).unwrap()) else {
        return println!("skipped: holes: no long files");
    };
    fs::remove_file(dir.at("probe")).unwrap();
    for (name, data) in [("a", "data"), ("b", "data"), ("c", "dota"), ("d", "data")] {
        let file = fs::File::create(dir.at(name)).unwrap();
        file.set_len(1 << bits).unwrap();
        file.write_all_at(data.as_bytes(), 1 << (bits - 1)).unwrap();
    }
    // The same zeros, partly written.
    fs::File::options().write(true).open(dir.at("d")).unwrap().write_all_at(&[0; 1 << 20], 1 << 30).unwrap();
    let wanted = set(&[&[&["./a"], &["./b"], &["./d"]]]);
    for options in ["", "--bytes"] {
        let text = dir.run(&format!("dedupe --json {options} .")).succeeds().text();
        assert_eq!(groups(&text), wanted);
        assert!(text.starts_with("{\"blake3_without_zeros\":"), "{text}");
    }
    let text = dir.run("dedupe --link hard .").succeeds().text();
    assert!(text.contains(" (without zeros), "), "{text}");
    assert_eq!(fs::metadata(dir.at("d")).unwrap().ino(), fs::metadata(dir.at("a")).unwrap().ino());
    // One with long holes and one without.
    let len = 80 << 20;
    dir.file("dense", vec![0; len]);
    fs::File::create(dir.at("sparse")).unwrap().set_len(len as u64).unwrap();
    let found = groups(&dir.run("dedupe --json dense sparse").succeeds().text());
    assert_eq!(found, set(&[&[&["dense"], &["sparse"]]]));
}
