//! `copy --resume`: an interrupted run is continued, without interference by other users.

use crate::support::*;
/// Long enough to interrupt a run in the middle.
const LENGTH: usize = 96 << 20;

fn resume<I: AsRef<OsStr>>(arguments: impl IntoIterator<Item = I>) -> Command {
    let mut command = fullbore(["copy", "--resume", "--reflink=never", "--workers", "1", "--sync", "data"]);
    command.args(arguments);
    command
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

/// Kills a run as soon as some stripes are in the journal; `false` if it ended before.
fn killed(command: &mut Command, journal: &Path) -> bool {
    let before = fs::metadata(journal).map_or(0, |found| found.len());
    let mut running = start(command);
    let begin = Instant::now();
    while fs::metadata(journal).map_or(0, |found| found.len()) < before.max(500) + 300
        && running.alive()
        && begin.elapsed() < Duration::from_secs(60)
    {
        sleep(Duration::from_micros(200));
    }
    running.kill();
    running.end().code() == KILLED
}

fn resumed(ended: &Finished) -> u64 {
    let json = ended.json();
    json["copy"]["resumed"].as_u64().unwrap()
}

// Modes and symbolic links.
#[cfg(unix)]
#[test]
fn partial_file_and_journal_are_private() {
    let dir = TestDir::new();
    let data = bytes(LENGTH, 1);
    let source = dir.file("source", &data);
    for plant in ["readable", "second name", "another file", "link", "nothing"] {
        let place = dir.at(plant);
        fs::create_dir(&place).unwrap();
        let target = place.join("target");
        let mut attempts = 0;
        while !killed(resume([&source, &target]).arg("-p"), &journal(&target)) {
            attempts += 1;
            assert!(attempts < 20, "no run was killed in the middle");
            fs::remove_file(&target).unwrap();
        }
        let old = part(&place).expect("a part");
        for path in left(&place) {
            assert_eq!(fs::metadata(&path).unwrap().mode() & 0o7777, 0o600, "{}", path.display());
        }
        let away = place.join("away");
        match plant {
            "readable" => fs::set_permissions(&old, fs::Permissions::from_mode(0o604)).unwrap(),
            "second name" => fs::hard_link(&old, &away).unwrap(),
            "another file" => {
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
        let ended = run(resume([&source, &target]).args(["-p", "--json"])).succeeds();
        assert_eq!(resumed(&ended) > 0, plant == "nothing", "{plant}: {ended}");
        assert!(fs::read(&target).unwrap() == data, "{plant}");
        let found = fs::symlink_metadata(&target).unwrap();
        assert!(found.is_file() && found.nlink() == 1, "{plant}");
        if away.exists() {
            assert_ne!(fs::metadata(&away).unwrap().ino(), found.ino(), "{plant}: written through");
        }
        assert!(!journal(&target).exists(), "{plant}");
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
    fs::set_permissions(&source, fs::Permissions::from_mode(0o600)).unwrap();
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
    let source = dir.file("source", &old);
    let target = dir.at("target");
    while !killed(resume([&source, &target]).arg("-p"), &journal(&target)) {
        fs::remove_file(&target).unwrap();
    }
    let kept = fs::read(journal(&target)).unwrap();
    run(&mut resume([&source, &target])).succeeds();
    let stale = || {
        fs::write(journal(&target), &kept).unwrap();
        #[cfg(unix)]
        fs::set_permissions(journal(&target), fs::Permissions::from_mode(0o600)).unwrap();
    };
    stale();
    run(&mut resume([&source, &target])).succeeds();
    assert!(!journal(&target).exists(), "the copy is complete");
    // The target is missing, or the source changed.
    stale();
    fs::remove_file(&target).unwrap();
    let ended = run(resume([&source, &target]).arg("--json")).succeeds();
    assert!(resumed(&ended) == 0 && fs::read(&target).unwrap() == old);
    stale();
    fs::write(&source, &new).unwrap();
    run(&mut resume([&source, &target])).succeeds();
    assert!(fs::read(&target).unwrap() == new);
    assert_eq!(dir.names(), ["source", "target"]);
}

#[test]
#[cfg_attr(windows, ignore = "Wine reports the last change as the time of birth")]
fn same_command_resumes_the_tree() {
    let dir = TestDir::new();
    let data = bytes(LENGTH, 5);
    dir.directories(["src/in"]);
    dir.file("src/in/large", &data);
    dir.file("src/small", "bytes");
    let (source, target) = (dir.at("src"), dir.at("dst"));
    let archive = || {
        let mut command = resume(["-a"]);
        command.args([&source, &target]);
        command
    };
    let inner = target.join("in/large");
    let mut attempts = 0;
    while !killed(&mut archive(), &journal(&inner)) {
        attempts += 1;
        assert!(attempts < 20, "no run was killed in the middle");
        fs::remove_dir_all(&target).unwrap();
    }
    assert!(part(&target.join("in")).is_some());
    let ended = run(archive().arg("--json")).succeeds();
    assert!(resumed(&ended) > 0, "{ended}");
    assert!(fs::read(&inner).unwrap() == data && !target.join("src").exists());
    assert_eq!(dir.names(), ["dst", "src"]);
    assert_eq!(
        (names(&target), names(&target.join("in"))),
        (vec!["in".into(), "small".into()], vec!["large".into()])
    );
    // The target is now an existing directory: copied into, as with cp.
    run(&mut archive()).succeeds();
    assert!(target.join("src/in/large").exists());
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
    fs::set_permissions(&closed, fs::Permissions::from_mode(0o000)).unwrap();
    if rustix::process::geteuid().is_root() {
        std::os::unix::fs::chown(&closed, Some(0), None).unwrap();
    }
    let again = || run(other.command(["copy", "-r", "--resume", "src", "dst"]).current_dir(dir.path()));
    again().fails(1, &["closed"]);
    fs::set_permissions(&closed, fs::Permissions::from_mode(0o644)).unwrap();
    again().succeeds();
    assert_eq!(
        (names(&dir.at("dst")), dir.names()),
        (vec!["closed".to_owned()], vec!["dst".into(), "src".into()])
    );
}

#[test]
fn killed_copy_resumes_at_its_offset() {
    let dir = TestDir::new();
    let data = bytes(96 << 20, 3);
    let source = dir.file("source", &data);
    let target = dir.file("target", "old");
    let journal = dir.at(".target.fullbore-journal");
    let going = |options: &[&str]| {
        let mut command = resume(options);
        command.arg(&source).arg(&target);
        command
    };
    let mut stopped = 0;
    for gently in [false, true, false] {
        let before = fs::metadata(&journal).map_or(0, |found| found.len());
        let mut running = start(&mut going(&[]));
        // A header and some records.
        let begin = Instant::now();
        while fs::metadata(&journal).map_or(0, |found| found.len()) < before.max(400) + 300
            && begin.elapsed() < Duration::from_secs(30)
        {
            sleep(Duration::from_micros(200));
        }
        running.stop(gently);
        if running.end().code() != 0 {
            stopped += 1;
            assert_eq!(
                fs::read(&target).unwrap(),
                b"old",
                "the target is not touched before the copy is whole"
            );
            assert!(journal.exists() && part(dir.path()).is_some());
        } else {
            fs::write(&target, "old").unwrap();
        }
    }
    assert!(stopped > 0, "no run was interrupted");
    let json = run(&mut going(&["--json"])).succeeds().json();
    assert!(fs::read(&target).unwrap() == data);
    assert_eq!(dir.names(), ["source", "target"]);
    let (resumed, copied) =
        (json["copy"]["resumed"].as_u64().unwrap(), json["copy"]["copied"].as_u64().unwrap());
    assert!(resumed > 0, "{json}");
    assert_eq!(resumed + copied, data.len() as u64);
    // The copy is complete, and a further run has nothing to do.
    let json = run(&mut going(&["--json"])).succeeds().json();
    assert_eq!(json["copy"]["skipped"], 1);
}

/// The remains of an earlier run are checked: they are not used for another source, nor where they were damaged.
#[test]
fn resume_checks_source_and_written_data() {
    let dir = TestDir::new();
    let (old, new) = (bytes(24 << 20, 1), bytes(24 << 20, 2));
    for damage in [true, false] {
        let source = dir.file("source", &old);
        let target = dir.at("target");
        let journal = dir.at(".target.fullbore-journal");
        let begin = Instant::now();
        loop {
            let mut running = start(resume([""; 0]).arg(&source).arg(&target));
            while fs::metadata(&journal).map_or(0, |found| found.len()) < 700 && !target.exists() {
                sleep(Duration::from_micros(100));
            }
            running.kill();
            running.end();
            if journal.exists() && part(dir.path()).is_some() {
                break;
            }
            assert!(begin.elapsed() < Duration::from_secs(60), "no run was killed in the middle");
            let _ = fs::remove_file(&target);
        }
        let wanted = if damage {
            write_at(&part(dir.path()).unwrap(), b"damage", 1 << 20);
            &old
        } else {
            fs::write(&source, &new).unwrap();
            &new
        };
        run(resume([""; 0]).arg(&source).arg(&target)).succeeds();
        assert!(fs::read(&target).unwrap() == *wanted, "damage: {damage}");
        assert_eq!(dir.names(), ["source", "target"]);
        fs::remove_file(&target).unwrap();
    }
}
