//! `copy --resume`: an interrupted run is continued, without interference by other users.

use crate::support::*;

/// Long enough to interrupt a run in the middle.
const LENGTH: usize = 96 << 20;

/// A copy of `source` to `target` in a directory, with further words.
fn resume(dir: &TestDir, words: &str) -> Command {
    dir.command(&format!("copy --resume --reflink=never --workers 1 --sync data {words}"))
}

/// Hidden files that a run left in a directory: parts and journals.
fn left(directory: &Path) -> Vec<PathBuf> {
    let hidden = names(directory).into_iter().filter(|name| name.starts_with('.'));
    hidden.map(|name| directory.join(name)).collect()
}

fn part(directory: &Path) -> Option<PathBuf> {
    left(directory).into_iter().find(|path| path.to_string_lossy().contains(".fullbore-part-"))
}

fn journal(target: &Path) -> PathBuf {
    let name = target.file_name().unwrap().to_str().unwrap();
    target.with_file_name(format!(".{name}.fullbore-journal"))
}

/// Stops a run, by Ctrl-C if `gently`, as soon as some stripes are in the journal of its target; `false` if it ended
/// before.
fn stopped(command: &mut Command, target: &Path, gently: bool) -> bool {
    let journal = journal(target);
    let len = || fs::metadata(&journal).map_or(0, |found| found.len());
    let before = len();
    let mut running = start(command);
    let begin = Instant::now();
    while len() < before.max(400) + 300 && running.alive() && begin.elapsed() < Duration::from_secs(60) {
        sleep(Duration::from_micros(200));
    }
    running.stop(gently);
    running.end().code() != 0
}

/// Kills runs until one was killed in the middle; the others' targets are removed.
#[track_caller]
fn kill_in_the_middle(command: impl Fn() -> Command, target: &Path) {
    for _ in 0..20 {
        if stopped(&mut command(), target, false) {
            return;
        }
        let _ = fs::remove_file(target);
    }
    panic!("no run was killed in the middle");
}

fn resumed(ended: &Finished) -> u64 {
    ended.json()["copy"]["resumed"].as_u64().unwrap()
}

// Modes and symbolic links.
#[cfg(unix)]
#[test]
fn partial_file_and_journal_are_private() {
    let dir = TestDir::new();
    let data = bytes(LENGTH, 1);
    dir.file("source", &data);
    for plant in ["readable", "second-name", "another-file", "link", "nothing"] {
        dir.directories([plant]);
        let (place, target) = (dir.at(plant), dir.at(plant).join("target"));
        let words = format!("-p source {plant}/target");
        kill_in_the_middle(|| resume(&dir, &words), &target);
        let old = part(&place).expect("a part");
        for path in left(&place) {
            assert_eq!(fs::metadata(&path).unwrap().mode() & 0o7777, 0o600, "{}", path.display());
        }
        let away = place.join("away");
        match plant {
            "readable" => fs::set_permissions(&old, fs::Permissions::from_mode(0o604)).unwrap(),
            "second-name" => fs::hard_link(&old, &away).unwrap(),
            "another-file" => {
                fs::rename(&old, &away).unwrap();
                fs::copy(&away, &old).unwrap();
                fs::set_permissions(&old, fs::Permissions::from_mode(0o600)).unwrap();
            }
            "link" => {
                fs::rename(&old, &away).unwrap();
                symlink("away", &old).unwrap();
            }
            _ => {}
        }
        let ended = run(resume(&dir, &words).arg("--json")).succeeds();
        assert_eq!(resumed(&ended) > 0, plant == "nothing", "{plant}: {ended}");
        assert!(fs::read(&target).unwrap() == data, "{plant}");
        let found = fs::symlink_metadata(&target).unwrap();
        assert!(found.is_file() && found.nlink() == 1, "{plant}");
        if away.exists() {
            assert_ne!(fs::metadata(&away).unwrap().ino(), found.ino(), "{plant}: written through");
        }
        assert!(!journal(&target).exists(), "{plant}");
        // Others could have opened the part, or it was replaced: it is removed. A link under its name stays.
        match plant {
            "link" => assert!(old.is_symlink()),
            _ => assert!(!old.exists(), "{plant}"),
        }
    }
}

/// Another user's file under the name of a journal is neither read nor written, and does not block.
// Files of another user.
#[cfg(unix)]
#[test]
fn foreign_journal_is_ignored() {
    let Some(()) = or_skip("files of another user", root()) else { return };
    let Some(other) = Unprivileged::new() else { return };
    let dir = TestDir::open_to_all();
    let data = bytes(20 << 20, 2);
    let source = dir.file("source", &data);
    dir.set_mode("source", 0o600);
    std::os::unix::fs::chown(&source, Some(65534), Some(65534)).unwrap();
    let target = dir.at("target");
    let planted = journal(&target);
    fs::write(&planted, "planted").unwrap();
    fs::set_permissions(&planted, fs::Permissions::from_mode(0o666)).unwrap();
    run(other.command(["copy", "--resume", "--reflink=never"]).arg(&source).arg(&target)).succeeds();
    let found = fs::metadata(&target).unwrap();
    assert_eq!((found.mode() & 0o7777, found.uid()), (0o600, 65534));
    assert!(fs::read(&target).unwrap() == data);
    assert_eq!(fs::read(&planted).unwrap(), b"planted");
    assert_eq!(left(dir.path()), [planted]);
}

/// A run that was killed between naming the target and removing the journal.
#[test]
fn a_stale_journal_stops_no_later_copy() {
    let dir = TestDir::new();
    let (old, new) = (bytes(LENGTH, 3), bytes(LENGTH, 4));
    dir.file("source", &old);
    let target = dir.at("target");
    kill_in_the_middle(|| resume(&dir, "-p source target"), &target);
    let kept = fs::read(journal(&target)).unwrap();
    let again = || run(&mut resume(&dir, "source target --json")).succeeds();
    again();
    let stale = || {
        fs::write(journal(&target), &kept).unwrap();
        #[cfg(unix)]
        fs::set_permissions(journal(&target), fs::Permissions::from_mode(0o600)).unwrap();
    };
    stale();
    again();
    assert!(!journal(&target).exists(), "the copy is complete");
    // The target is missing, or the source changed.
    stale();
    fs::remove_file(&target).unwrap();
    assert!(resumed(&again()) == 0 && fs::read(&target).unwrap() == old);
    stale();
    dir.file("source", &new);
    again();
    assert!(fs::read(&target).unwrap() == new);
    assert_eq!(dir.names(), ["source", "target"]);
}

/// The source of an interrupted run may be too short for a journal in the next.
#[test]
fn a_source_that_became_short_leaves_nothing_behind() {
    let dir = TestDir::new();
    dir.file("source", bytes(LENGTH, 6));
    let target = dir.at("target");
    kill_in_the_middle(|| resume(&dir, "source target"), &target);
    assert!(part(dir.path()).is_some());
    dir.file("source", "short");
    run(&mut resume(&dir, "source target")).succeeds();
    assert_eq!(
        (dir.names(), dir.read("target")),
        (vec!["source".into(), "target".into()], b"short".to_vec())
    );
}

#[test]
fn directories_of_the_same_name_are_merged() {
    let dir = TestDir::new();
    dir.directories(["p/x", "q/x", "into"]);
    dir.files(["p/x/1", "q/x/2"], "bytes");
    run(&mut resume(&dir, "-r p/x q/x into")).succeeds();
    assert_eq!(
        (names(&dir.at("into")), names(&dir.at("into/x"))),
        (vec!["x".into()], vec!["1".into(), "2".into()])
    );
}

/// Kills copies of the tree `src` to `dst` until one was killed in the middle; returns the bytes of its large file.
fn kill_tree(dir: &TestDir, archive: impl Fn() -> Command) -> Vec<u8> {
    let data = bytes(LENGTH, 5);
    dir.directories(["src/in"]);
    dir.file("src/in/large", &data);
    dir.file("src/small", "bytes");
    for attempt in 0.. {
        if stopped(&mut archive(), &dir.at("dst/in/large"), false) {
            break;
        }
        assert!(attempt < 20, "no run was killed in the middle");
        fs::remove_dir_all(dir.at("dst")).unwrap();
    }
    assert!(part(&dir.at("dst/in")).is_some());
    data
}

#[test]
#[cfg_attr(windows, ignore = "Wine reports the last change as the creation time")]
fn same_command_resumes_the_tree() {
    let dir = TestDir::new();
    let inner = dir.at("dst/in/large");
    let archive = || resume(&dir, "-a src dst");
    let data = kill_tree(&dir, archive);
    // The user decides on a journal of another copy.
    dir.directories(["other"]);
    for words in ["-r other dst", "-rT other dst"] {
        run(&mut resume(&dir, words)).fails(1, &["copy of", "src was begun", ".dst.fullbore-journal"]);
    }
    fs::remove_dir(dir.at("other")).unwrap();
    let ended = run(archive().arg("--json")).succeeds();
    assert!(resumed(&ended) > 0, "{ended}");
    assert!(fs::read(&inner).unwrap() == data && !dir.at("dst/src").exists());
    assert_eq!(dir.names(), ["dst", "src"]);
    assert_eq!(
        (names(&dir.at("dst")), names(&dir.at("dst/in"))),
        (vec!["in".into(), "small".into()], vec!["large".into()])
    );
    // The target is now an existing directory: copied into, as with cp.
    run(&mut archive()).succeeds();
    assert!(dir.at("dst/src/in/large").exists());
    assert_eq!(dir.names(), ["dst", "src"]);
}

/// The same command retries files that could not be copied.
// Permission bits.
#[cfg(unix)]
#[test]
fn tree_with_failures_is_resumed() {
    let Some(other) = Unprivileged::new() else { return };
    let dir = TestDir::open_to_all();
    dir.directories(["src"]);
    let closed = dir.file("src/closed", "bytes");
    dir.set_mode("src/closed", 0o000);
    if root().is_ok() {
        std::os::unix::fs::chown(&closed, Some(0), None).unwrap();
    }
    let again = || other.run(&dir, "copy -r --resume src dst");
    again().fails(1, &["closed"]);
    dir.set_mode("src/closed", 0o644);
    again().succeeds();
    assert_eq!(names(&dir.at("dst")), ["closed"]);
    assert_eq!(dir.names(), ["dst", "src"]);
}

#[test]
fn killed_copy_resumes_at_its_offset() {
    let dir = TestDir::new();
    let data = bytes(LENGTH, 3);
    dir.file("source", &data);
    let target = dir.file("target", "old");
    let going = |options: &str| resume(&dir, &format!("source target {options}"));
    for gently in [false, true, false] {
        // A run that ends first leaves no part.
        let is_stopped = (0..20).any(|_| {
            let is_stopped = stopped(&mut going(""), &target, gently);
            if !is_stopped {
                dir.file("target", "old");
            }
            is_stopped
        });
        assert!(is_stopped, "no run was interrupted");
        assert_eq!(dir.read("target"), b"old", "the target is not touched before the copy is whole");
        assert!(journal(&target).exists() && part(dir.path()).is_some());
    }
    let json = run(&mut going("--json")).succeeds().json();
    assert!(fs::read(&target).unwrap() == data);
    assert_eq!(dir.names(), ["source", "target"]);
    let [resumed, copied] = ["resumed", "copied"].map(|what| json["copy"][what].as_u64().unwrap());
    assert!(resumed > 0, "{json}");
    assert_eq!(resumed + copied, data.len() as u64);
    // The copy is complete, and a further run has nothing to do.
    let json = run(&mut going("--json")).succeeds().json();
    assert_eq!(json["copy"]["skipped"], 1);
}

/// The remains of an earlier run are checked: they are not used for another source, nor where they were damaged.
#[test]
fn resume_checks_source_and_written_data() {
    let dir = TestDir::new();
    let (old, new) = (bytes(24 << 20, 1), bytes(24 << 20, 2));
    for damage in [true, false] {
        dir.file("source", &old);
        let target = dir.at("target");
        kill_in_the_middle(|| resume(&dir, "source target"), &target);
        let wanted = if damage {
            write_at(&part(dir.path()).unwrap(), b"damage", 1 << 20);
            &old
        } else {
            dir.file("source", &new);
            &new
        };
        run(&mut resume(&dir, "source target")).succeeds();
        assert!(fs::read(&target).unwrap() == *wanted, "damage: {damage}");
        assert_eq!(dir.names(), ["source", "target"]);
        fs::remove_file(&target).unwrap();
    }
}

/// Bytes of the part where the source has a hole.
#[test]
fn holes_of_the_source_are_cleared() {
    let dir = TestDir::new();
    let mut data = bytes(LENGTH, 8);
    data[16 << 20..32 << 20].fill(0);
    let source = File::create(dir.at("source")).unwrap();
    source.set_len(LENGTH as u64).unwrap();
    write_at(&dir.at("source"), &data[..16 << 20], 0);
    write_at(&dir.at("source"), &data[32 << 20..], 32 << 20);
    let target = dir.at("target");
    for options in ["", "--verify"] {
        kill_in_the_middle(|| resume(&dir, "source target"), &target);
        write_at(&part(dir.path()).unwrap(), b"damage", 20 << 20);
        run(&mut resume(&dir, &format!("source target {options}"))).succeeds();
        assert!(dir.read("target") == data, "{options:?}");
        fs::remove_file(&target).unwrap();
    }
}

/// An entry of any kind that takes the place of an interrupted copy.
// Links.
#[cfg(unix)]
#[test]
fn complete_targets_leave_no_journal_and_no_part() {
    let dir = TestDir::new();
    let data = bytes(LENGTH, 9);
    dir.file("source", &data);
    kill_in_the_middle(|| resume(&dir, "source target"), &dir.at("target"));
    let part = part(dir.path()).unwrap();
    let name = part.file_name().unwrap().to_str().unwrap();
    let (kept, written) = (fs::read(journal(&dir.at("target"))).unwrap(), fs::read(&part).unwrap());
    dir.directories(["src"]);
    dir.files(["src/a", "src/target"], "short");
    symlink("a", dir.at("src/link")).unwrap();
    fs::hard_link(dir.at("src/a"), dir.at("src/hard")).unwrap();
    for (from, words) in [
        ("hard", "-v --preserve=links src/a src/hard"),
        ("target", "-r src/target"),
        ("target", "-rT src"),
        ("link", "-r src/link"),
        ("link", "-s ../src/link"),
    ] {
        for damage in [false, true] {
            let into = dir.at("into");
            fs::create_dir(&into).unwrap();
            let name = name.replace("target", from);
            let mut journal = kept.clone();
            journal[70] ^= u8::from(damage);
            for (name, content) in [(&name, &written), (&format!(".{from}.fullbore-journal"), &journal)] {
                fs::write(into.join(name), content).unwrap();
                fs::set_permissions(into.join(name), fs::Permissions::from_mode(0o600)).unwrap();
            }
            fs::write(into.join(".target.fullbore-part-another"), "").unwrap();
            let words = words.replace("-s ../src/link", &format!("-s {}", dir.at("src/link").display()));
            run(&mut dir.command(&format!("copy --resume {words} into"))).succeeds();
            let left = left(&into);
            assert_eq!(left, [into.join(".target.fullbore-part-another")], "{words} {damage}");
            fs::remove_dir_all(into).unwrap();
        }
    }
    // A damaged journal of a copy that is begun again.
    write_at(&journal(&dir.at("target")), &[!kept[70]], 70);
    run(&mut resume(&dir, "source target")).succeeds();
    assert_eq!(
        (dir.names(), dir.read("target") == data),
        (vec!["source".into(), "src".into(), "target".into()], true)
    );
}

/// Directories of an interrupted run are private until the tree is complete.
// Modes.
#[cfg(unix)]
#[test]
fn directories_of_a_continued_tree_get_their_modes() {
    let dir = TestDir::new();
    let copy = || resume(&dir, "-r --preserve=ownership src dst");
    kill_tree(&dir, copy);
    assert_eq!((dir.mode("dst"), dir.mode("dst/in")), (0o700, 0o700));
    dir.set_mode("src/in", 0o755);
    dir.set_mode("src", 0o755);
    run(&mut copy()).succeeds();
    dir.directories(["usual"]);
    let usual = 0o755 & dir.mode("usual");
    assert_eq!((dir.mode("dst"), dir.mode("dst/in")), (usual, usual));
}

/// The number of the device differs after another mount.
#[cfg(target_os = "linux")]
#[test]
fn a_tree_is_resumed_after_another_mount() {
    use fullbore_testkit::mounts::LoopDevice;
    let images = TestDir::new();
    let (image, place) = (images.at("image"), images.at("mounted"));
    let Some(mount) = or_skip("another mount", mount_image("mkfs.ext4 -q -F", &image, 400 << 20, &place))
    else {
        return;
    };
    let dir = TestDir::within(&place);
    let path = dir.path().to_owned();
    let copy = || resume(&dir, "-a src dst");
    let data = kill_tree(&dir, copy);
    let before = fs::metadata(&path).unwrap().dev();
    drop(mount);
    images.file("other", [0; 4096]);
    let _taken = LoopDevice::new(&images.at("other"), "--read-only").unwrap();
    let _mount = Mount::new(&["-o", "loop", image.to_str().unwrap()], &place).unwrap();
    if fs::metadata(&path).unwrap().dev() == before {
        println!("skipped: the device has the same number");
        return;
    }
    let ended = run(copy().arg("--json")).succeeds();
    assert!(resumed(&ended) > 0, "{ended}");
    assert!(dir.read("dst/in/large") == data && !dir.at("dst/src").exists());
    assert_eq!(dir.names(), ["dst", "src"]);
}

/// If blocks cannot be shared, nothing can be resumed.
#[test]
fn a_copy_that_shares_no_blocks_leaves_nothing_behind() {
    let dir = TestDir::new();
    dir.file("source", bytes(LENGTH, 8));
    let ended = dir.run("copy --resume --reflink=always source target");
    if ended.code() == 0 {
        return println!("skipped: this file system shares blocks");
    }
    ended.fails(1, &["cannot clone"]);
    assert_eq!(dir.names(), ["source"]);
    // A part with bytes is kept.
    let target = dir.at("target");
    kill_in_the_middle(|| resume(&dir, "source target"), &target);
    dir.run("copy --resume --reflink=always source target").fails(1, &["cannot clone"]);
    assert!(part(dir.path()).is_some() && journal(&target).exists());
}

/// The other names of a file become links to the copy that an earlier run began.
#[test]
fn a_file_with_several_names_is_continued_under_the_name_that_was_begun() {
    for name in ["a", "b"] {
        let dir = TestDir::new();
        let data = bytes(LENGTH, 10);
        dir.directories(["src/a", "src/b", "dst/a", "dst/b"]);
        dir.file("src/a/large", &data);
        fs::hard_link(dir.at("src/a/large"), dir.at("src/b/large")).unwrap();
        let words = format!("-a src/{name}/large dst/{name}");
        kill_in_the_middle(|| resume(&dir, &words), &dir.at(&format!("dst/{name}/large")));
        let ended = run(resume(&dir, "-aT src dst").arg("--json")).succeeds();
        assert!(resumed(&ended) > 0, "{name}: {ended}");
        let json = ended.json();
        assert_eq!(json["copy"]["files"], 1, "{name}: {json}");
        assert_eq!(json["copy"]["hard_links"], 1, "{name}: {json}");
        for name in ["a", "b"] {
            assert!(dir.read(&format!("dst/{name}/large")) == data);
            assert!(left(&dir.at("dst").join(name)).is_empty());
        }
    }
}
