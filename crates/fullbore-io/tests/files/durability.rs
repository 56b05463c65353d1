//! The durability levels of a commit under power failures; commit reports; poisoned files.

use super::*;

use fullbore_io::file::{CommitReport, Step};
use fullbore_io::{Result, sys};
use fullbore_testkit::numbers;

const OLD: &[u8] = b"the previous content.";
const NEW: &[u8] = b"the content that replaces it, longer than the previous one";

/// Creates a directory with an existing file.
fn room() -> (tempfile::TempDir, PathBuf) {
    let room = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
    let path = write_file(room.path(), "file", OLD);
    (room, path)
}

/// Replaces `path` under a plan, in three writes.
fn replace(path: &Path, plan: &Plan, durability: Durability) -> Result<CommitReport> {
    let output = Output::replace(path)?.with_faults(plan);
    for (index, part) in NEW.chunks(20).enumerate() {
        output.file().write_all_at(part, index as u64 * 20)?;
    }
    output.commit(durability)
}

#[test]
fn a_commit_report_lists_the_syncs_that_were_made() {
    for (durability, promises) in [
        (Durability::None, (false, false, false)),
        (Durability::Data, (true, false, false)),
        (Durability::Full, (true, true, true)),
    ] {
        let (room, path) = room();
        let plan = Plan::new(1);
        let report = replace(&path, &plan, durability).unwrap();
        assert_eq!((report.data(), report.metadata(), report.directory()), promises, "{report}");
        assert_eq!(fs::read(&path).unwrap(), NEW);
        assert_eq!(names(room.path()), ["file"]);
        // The plan recorded the same steps in the same order.
        let seen: Vec<_> = plan
            .events()
            .into_iter()
            .map(|event| match event {
                Event::Synced(level) => Step::Synced(level),
                Event::Linked(_) => Step::Linked,
                Event::Renamed { to, .. } => {
                    assert_eq!(to, path);
                    Step::Renamed
                }
                Event::SyncedDirectory(directory) => {
                    assert_eq!(directory, room.path());
                    Step::SyncedDirectory
                }
                other => panic!("{other:?}"),
            })
            .collect();
        assert_eq!(report.steps(), seen);
    }
}

#[test]
fn a_commit_report_is_empty_where_nothing_was_synced() {
    let (_room, path) = room();
    let (_reader, writer) = std::io::pipe().unwrap();
    let pipe = Output::from(File::from_fd(writer.into(), "pipe").unwrap());
    assert_eq!(pipe.commit(Durability::Full).unwrap(), CommitReport::default());
    // A file that was already open, as standard output is, has its name.
    let appended = fs::OpenOptions::new().append(true).create(true).open(path.with_extension("log")).unwrap();
    let report = Output::try_from(appended).unwrap().commit(Durability::Full).unwrap();
    assert_eq!(report.steps(), [Step::Synced(Durability::Full)]);
    // No name changed, so no directory is synced.
    let output = Output::overwrite(&path).unwrap();
    let report = output.commit(Durability::Full).unwrap();
    assert_eq!(report.steps(), [Step::Synced(Durability::Full)]);
    assert!(!report.directory());
}

#[test]
fn full_survives_every_power_failure() {
    for worst in [CrashState::RenameLost, CrashState::RenameKept, CrashState::Torn] {
        for seed in 0..20 {
            for fresh in [false, true] {
                let (_room, path) = room();
                if fresh {
                    fs::remove_file(&path).unwrap();
                }
                let plan = Plan::new(seed).with_power_failure();
                let _ = replace(&path, &plan, Durability::Full).unwrap();
                plan.crash(worst).unwrap();
                assert_eq!(fs::read(&path).unwrap(), NEW, "{worst:?} {seed}");
            }
        }
    }
}

#[test]
fn data_survives_as_the_old_file_or_the_new_one() {
    let mut seen = BTreeSet::new();
    for worst in [CrashState::RenameLost, CrashState::RenameKept, CrashState::Torn] {
        for seed in 0..20 {
            let (_room, path) = room();
            sys::change_mode_at(sys::CURRENT_DIRECTORY, &path, 0o640).unwrap();
            let usual = sys::stat(&path).unwrap().permissions();
            let plan = Plan::new(seed).with_power_failure();
            let _ = replace(&path, &plan, Durability::Data).unwrap();
            plan.crash(worst).unwrap();
            let found = fs::read(&path).unwrap();
            assert!(found == OLD || found == NEW, "{worst:?} {seed}: {found:?}");
            assert_eq!(sys::stat(&path).unwrap().permissions(), usual);
            assert!(usual == 0o640 || cfg!(windows));
            seen.insert(found);
        }
    }
    assert_eq!(seen, [OLD.to_vec(), NEW.to_vec()].into());
}

#[test]
fn none_may_lose_all_content() {
    let (_room, path) = room();
    let plan = Plan::new(1).with_power_failure();
    let _ = replace(&path, &plan, Durability::None).unwrap();
    plan.crash(CrashState::RenameKept).unwrap();
    // The empty files of 2009 (ext4): renamed before their bytes were written.
    assert_eq!(fs::read(&path).unwrap(), b"");
    let (_room, path) = self::room();
    let plan = Plan::new(1).with_power_failure();
    let _ = replace(&path, &plan, Durability::None).unwrap();
    plan.crash(CrashState::RenameLost).unwrap();
    assert_eq!(fs::read(&path).unwrap(), OLD);
}

#[test]
fn a_power_failure_before_the_commit_leaves_the_old_file() {
    let (_room, path) = room();
    let plan = Plan::new(1).with_power_failure();
    let output = Output::replace(&path).unwrap().with_faults(&plan);
    output.file().write_all_at(NEW, 0).unwrap();
    plan.crash(CrashState::RenameKept).unwrap();
    drop(output);
    assert_eq!(fs::read(&path).unwrap(), OLD);
}

#[test]
fn a_failed_sync_poisons_every_handle_and_no_retry_succeeds() {
    let (_room, path) = room();
    let plan = Plan::new(1).with(Fault::SyncFails { sync: 1 }).with_power_failure();
    let file = File::open_write(&path).unwrap().with_faults(&plan);
    let (clone, again) = (file.clone(), file.reopen(true));
    file.write_all_at(NEW, 0).unwrap();
    assert!(file.poisoned().is_none());
    let first = file.sync_data().unwrap_err();
    assert_eq!(first.kind(), ErrorKind::Io);
    for handle in [&file, &clone, &again] {
        assert_eq!(handle.poisoned().unwrap().raw_os_error(), Some(numbers::IO));
        for error in [
            handle.sync_all().unwrap_err(),
            handle.write_at(b"more", 0).unwrap_err(),
            handle.write_all_at(b"more", 0).unwrap_err(),
            handle.set_len(3).unwrap_err(),
        ] {
            let text = error.to_string();
            // "Input/output error" by glibc, "I/O error" by musl, a translation by Windows.
            let cause = match () {
                () if cfg!(target_env = "musl") => "I/O error)",
                () if cfg!(windows) => "",
                () => "Input/output error)",
            };
            assert!(text.contains(&format!("an earlier sync of this file failed ({cause}")), "{text}");
            assert!(text.contains("write the file again"), "{text}");
        }
        // Reads still work.
        assert_eq!(handle.read_at(&mut [0; 8], 0).unwrap(), 8);
    }
    // The system's sync was called once: a second call could wrongly succeed.
    assert_eq!(plan.counts().syncs, 1);
    plan.crash(CrashState::RenameLost).unwrap();
    assert_eq!(fs::read(&path).unwrap(), OLD);
}

#[test]
fn a_file_that_cannot_be_synced_is_not_poisoned() {
    let (reader, writer) = std::io::pipe().unwrap();
    let file = File::from_fd(writer.into(), "a pipe").unwrap();
    let error = file.sync_all().unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Unsupported);
    file.write_back().unwrap();
    assert!(file.poisoned().is_none());
    file.write_all_next(b"bytes").unwrap();
    drop(reader);
}

/// A file system that becomes read-only after an error keeps the dirty pages of its files.
#[cfg(target_os = "linux")]
#[test]
fn a_file_system_that_became_read_only_is_an_error() {
    use fullbore_testkit::mounts::{LoopDevice, Mount, command};
    let room = tempfile::tempdir().unwrap();
    let (image, place) = (room.path().join("image"), room.path().join("mounted"));
    fs::File::create(&image).unwrap().set_len(64 << 20).unwrap();
    let mounted = command("mkfs.ext4", ["-q".as_ref(), image.as_os_str()])
        .and_then(|_| LoopDevice::new(&image, "--direct-io=off"))
        .and_then(|device| {
            let path = device.path().to_str().unwrap().to_owned();
            Ok((Mount::new(&["-o", "errors=remount-ro", &path], &place)?, device))
        });
    let what = "a file system that becomes read-only";
    let Some((_mount, device)) = fullbore_testkit::or_skip(what, mounted) else { return };
    let file = File::create_new(place.join("file")).unwrap();
    file.sync_all().unwrap();
    file.write_all_at(&[1; 100_000], 0).unwrap();
    let name = device.path().file_name().unwrap();
    let trigger = Path::new("/sys/fs/ext4").join(name).join("trigger_fs_error");
    let Some(()) = fullbore_testkit::or_skip(what, fs::write(&trigger, "test")) else { return };
    let error = file.write_back().unwrap_err();
    assert_eq!((error.kind(), file.poisoned().is_some()), (ErrorKind::Io, true), "{error}");
}

/// `cp` keeps the old or the new bytes in the same case, because file systems write back a file that was truncated.
#[cfg(target_os = "linux")]
#[test]
fn a_file_replaced_without_a_sync_reaches_the_device_soon() {
    use fullbore_testkit::mounts::{LoopDevice, Mount, command};
    for (mkfs, len) in [("mkfs.ext4", 64 << 20), ("mkfs.xfs", 400 << 20)] {
        let room = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
        let at = |name: &str| room.path().join(name);
        fs::File::create(at("image")).unwrap().set_len(len).unwrap();
        let mounted = command(mkfs, ["-q".as_ref(), at("image").as_os_str()])
            .and_then(|_| LoopDevice::new(&at("image"), "--direct-io=off"))
            .and_then(|device| Mount::new(&[device.path().to_str().unwrap()], &at("mounted")));
        let what = format!("a power failure on a file system of {mkfs}");
        let Some(_mount) = fullbore_testkit::or_skip(&what, mounted) else { continue };
        let (old, new) = (vec![b'o'; 8 << 20], vec![b'n'; 8 << 20]);
        let path = at("mounted").join("file");
        fs::write(&path, &old).unwrap();
        File::open_write(&path).unwrap().sync_all().unwrap();
        let output = Output::create(&path).unwrap();
        output.file().allocate_and_extend(new.len() as u64).unwrap();
        output.file().write_all_at(&new, 0).unwrap();
        output.commit(Durability::None).unwrap();
        // Less than the half minute after which the kernel writes dirty pages on its own.
        let end = Instant::now() + Duration::from_secs(20);
        loop {
            std::thread::sleep(Duration::from_secs(2));
            // The sync of a new file commits the journal, with the new name.
            fs::File::create(at("mounted").join("another")).unwrap().sync_all().unwrap();
            let after = at("device after the power failure");
            fs::copy(at("image"), &after).unwrap();
            let _mount = Mount::new(&["-o", "loop,nouuid", after.to_str().unwrap()], &at("after"))
                .or_else(|_| Mount::new(&["-o", "loop", after.to_str().unwrap()], &at("after")))
                .unwrap();
            let found = fs::read(at("after").join("file")).unwrap();
            if found == new {
                break;
            }
            assert!(Instant::now() < end, "{mkfs}: {} bytes, the first {:?}", found.len(), found.first());
        }
    }
}

#[test]
fn an_output_whose_sync_fails_is_never_renamed() {
    for durability in [Durability::Data, Durability::Full] {
        let (room, path) = room();
        let plan = Plan::new(1).with(Fault::SyncFails { sync: 1 });
        let error = replace(&path, &plan, durability).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Io);
        assert_eq!(fs::read(&path).unwrap(), OLD);
        assert_eq!(names(room.path()), ["file"]);
        assert!(!plan.events().iter().any(|event| matches!(event, Event::Renamed { .. })));
    }
    // After a failed sync by the writer itself, the commit fails even at the lowest level.
    let (_room, path) = room();
    let plan = Plan::new(1).with(Fault::SyncFails { sync: 1 });
    let output = Output::replace(&path).unwrap().with_faults(&plan);
    output.file().sync_data().unwrap_err();
    output.commit(Durability::None).unwrap_err();
    assert_eq!(fs::read(&path).unwrap(), OLD);
}

#[test]
fn an_unsynced_directory_is_an_error_that_states_the_content() {
    let (room, path) = room();
    let plan = Plan::new(1).with(Fault::SyncFails { sync: 2 }).with_power_failure();
    let error = replace(&path, &plan, Durability::Full).unwrap_err();
    assert_eq!(error.path(), room.path());
    assert!(error.to_string().contains("a power failure may restore the old one"), "{error}");
    assert_eq!(fs::read(&path).unwrap(), NEW);
    plan.crash(CrashState::RenameLost).unwrap();
    assert_eq!(fs::read(&path).unwrap(), OLD);
}

#[test]
fn only_regular_files_are_replaced() {
    let (room, path) = room();
    let link = room.path().join("link");
    if symlink(Path::new("file"), &link) {
        let output = Output::replace(&link).unwrap();
        output.file().write_all_at(NEW, 0).unwrap();
        let _ = output.commit(Durability::None).unwrap();
        assert_eq!(fs::read(&path).unwrap(), NEW);
        assert!(link.symlink_metadata().unwrap().is_symlink());
    }
    for other in [room.path(), Path::new(NULL)] {
        assert_eq!(Output::replace(other).unwrap_err().kind(), ErrorKind::Unsupported);
    }
}
