//! Blocks reserved past the end of a file are gone when it is closed. The evidence is the system's: `stat` and `du`; on
//! Windows, which has neither, the size of the allocation.

use std::fs;
use std::io::Write;
use std::path::Path;
#[cfg(target_os = "linux")]
use std::process::Command;

use fullbore::asynchronous::{AsyncFile, Driver};
use fullbore::file::{Access, Durability, File, Mode, OpenOptions, Output, Placement, Support};
use fullbore::operation::{Kernel, parse};
use fullbore::pattern::{Progress, transform};
use fullbore::strategy::{Strategy, StrategySpec};
use fullbore::stream::FileStream;

use fullbore_testkit::ground::{bytes, everywhere, supported_or_skip};

const RESERVED: u64 = 4 << 20;

/// A way to close a file.
type Ending = fn(File);

/// Returns an opened file whose options the file system supports; `None`, with the reason printed, for another.
fn native(directory: &Path, file: File) -> Option<File> {
    let emulated = file.option_report().iter().find(|found| found.support != Support::Native).cloned();
    supported_or_skip(directory, false, "reserving", emulated.map_or(Ok(file), Err))
}

/// Opens a new file with reserved space; `None` where the file system has none to reserve.
fn reserving(path: &Path) -> Option<File> {
    let file = OpenOptions::new().mode(Mode::CreateOrTruncate).reserve(RESERVED).open(path).unwrap();
    let file = native(path.parent().unwrap(), file)?;
    assert!(used(path) >= RESERVED, "{}", path.display());
    Some(file)
}

/// Bytes of the file's blocks, by the system.
#[cfg(not(target_os = "linux"))]
fn used(path: &Path) -> u64 {
    fullbore::sys::stat(path).unwrap().allocated()
}

/// Bytes of the file's blocks, by GNU's `du`.
#[cfg(target_os = "linux")]
fn used(path: &Path) -> u64 {
    let output = Command::new("du").args(["--block-size=1"]).arg(path).output().unwrap();
    let text = String::from_utf8(output.stdout).unwrap();
    text.split_whitespace().next().unwrap().parse().unwrap()
}

/// Fails unless the file has these bytes and no more blocks than they need.
fn holds_only(path: &Path, expected: &[u8], what: &str) {
    let found = fs::metadata(path).unwrap();
    assert_eq!(found.len(), expected.len() as u64, "{what}: {}", path.display());
    // A file system may store metadata of its own (xattrs, trees) among the blocks, but not the reserved space.
    let most = expected.len() as u64 + (64 << 10);
    #[cfg(unix)]
    {
        use std::os::unix::fs::MetadataExt;
        assert!(found.blocks() * 512 <= most, "{what}: {}: {} blocks", path.display(), found.blocks());
    }
    assert!(used(path) <= most, "{what}: {}", path.display());
    assert!(fs::read(path).unwrap() == expected, "{what}: {}", path.display());
}

#[test]
fn closing_frees_what_was_reserved_and_not_written() {
    everywhere(|directory| {
        for len in [0, 1, 5000, 300_000] {
            let (path, content) = (directory.join("file"), bytes(len, 1));
            let endings: [(&str, Ending); 3] = [
                ("drop", drop),
                ("close", |file| file.close().unwrap()),
                ("last of several handles", |file| {
                    let (clone, again) = (file.clone(), file.reopen(true));
                    let duplicate = file.try_clone().unwrap();
                    file.close().unwrap();
                    drop(clone);
                    assert!(used(again.path()) >= RESERVED, "handles are left");
                    again.close().unwrap();
                    duplicate.close().unwrap();
                }),
            ];
            for (what, end) in endings {
                let Some(file) = reserving(&path) else { return };
                file.write_all_at(&content, 0).unwrap();
                end(file);
                holds_only(&path, &content, what);
            }
        }
    });
}

#[test]
fn closing_keeps_the_bytes_and_the_time_of_modification() {
    everywhere(|directory| {
        let path = directory.join("file");
        for len in [1000, RESERVED as usize - 1, RESERVED as usize, RESERVED as usize + 5000] {
            let Some(file) = reserving(&path) else { return };
            let content = bytes(len, 2);
            file.write_all_at(&content, 0).unwrap();
            let second = std::time::UNIX_EPOCH + std::time::Duration::from_secs(1_000_000_000);
            file.set_times(fs::FileTimes::new().set_modified(second)).unwrap();
            drop(file);
            holds_only(&path, &content, "written");
            assert_eq!(fs::metadata(&path).unwrap().modified().unwrap(), second);
        }
    });
}

#[test]
fn streams_and_asynchronous_files_leave_nothing() {
    everywhere(|directory| {
        let (path, content) = (directory.join("file"), bytes(70_000, 3));
        for close in [true, false] {
            let Some(file) = reserving(&path) else { return };
            let mut stream = FileStream::new(file);
            stream.write_all(&content).unwrap();
            match close {
                true => stream.close().unwrap(),
                false => drop(stream),
            }
            holds_only(&path, &content, "stream");
            let file = AsyncFile::new(reserving(&path).unwrap(), &Driver::shared().unwrap());
            futures_lite::future::block_on(async {
                let (written, _) = file.write_all_at(content.clone(), 0).await;
                written.unwrap();
                match close {
                    true => file.close().await.unwrap(),
                    false => drop(file),
                }
            });
            holds_only(&path, &content, "asynchronous");
        }
    });
}

#[test]
fn temporary_files_with_a_name_leave_nothing() {
    everywhere(|directory| {
        let (path, content) = (directory.join("named"), bytes(9000, 4));
        let file = OpenOptions::new().temporary(true).reserve(RESERVED).open(directory).unwrap();
        let Some(file) = native(directory, file) else { return };
        file.write_all_at(&content, 0).unwrap();
        file.link_to(&path).unwrap();
        drop(file);
        holds_only(&path, &content, "temporary");
    });
}

#[test]
fn commit_frees_what_was_reserved_and_not_written() {
    everywhere(|directory| {
        let (path, content) = (directory.join("output"), bytes(9000, 5));
        for (what, placement) in [("new", Placement::Replace), ("overwritten", Placement::Overwrite)] {
            for with_len in [false, true] {
                let output = Output::create_with(&path, placement, None).unwrap();
                let reserved = output.file().reserve(0..RESERVED);
                let Some(()) = supported_or_skip(directory, false, "reserving", reserved) else { return };
                output.file().write_all_at(&content, 0).unwrap();
                match with_len {
                    true => output.commit_len(content.len() as u64, Durability::None),
                    false => output.commit(Durability::None),
                }
                .unwrap();
                holds_only(&path, &content, what);
            }
        }
        // Length and blocks set for more bytes than there are.
        let output = Output::replace(&path).unwrap();
        output.file().allocate_and_extend(RESERVED).unwrap();
        output.file().write_all_at(&content, 0).unwrap();
        output.commit_len(content.len() as u64, Durability::None).unwrap();
        holds_only(&path, &content, "allocated");
    });
}

#[test]
fn write_access_suffices_to_free_blocks() {
    everywhere(|directory| {
        let path = directory.join("file");
        let mut options = OpenOptions::new();
        options.mode(Mode::CreateNew).access(Access::Write).reserve(RESERVED);
        let Some(file) = native(directory, options.open(&path).unwrap()) else { return };
        file.write_all_at(b"bytes", 0).unwrap();
        drop(file);
        holds_only(&path, b"bytes", "write-only");
    });
}

#[test]
fn a_run_that_fails_or_writes_less_leaves_no_zeros() {
    everywhere(|directory| {
        let (input, path) = (directory.join("input"), directory.join("output"));
        let (content, old) = (bytes(300_000, 6), bytes(20_000, 7));
        fs::write(&input, &content).unwrap();
        let run = |operation: &str, placement, text: &str, progress: &Progress| {
            let operation = parse(operation, Kernel::Simd).unwrap();
            let strategy = text.parse::<StrategySpec>().unwrap().apply(Strategy::plain());
            let output = Output::create_with(&path, placement, None).unwrap();
            let input = File::open(&input).unwrap();
            transform(&*operation, &input, output, &strategy, Durability::None, progress)
        };
        let cancelled = Progress::default();
        cancelled.cancel();
        for text in ["write=mmap", "alloc=fallocate", "alloc=size,workers=2,model=pool"] {
            for placement in [Placement::Replace, Placement::Overwrite] {
                fs::write(&path, &old).unwrap();
                run("none", placement, text, &cancelled).unwrap_err();
                holds_only(&path, &old, text);
                assert_eq!(fs::read_dir(directory).unwrap().count(), 2, "{text}");
                run("none", placement, text, &Progress::default()).unwrap();
                // XFS keeps blocks that it allocated ahead of a growing file for some minutes, also those of the old content.
                match text.contains("fallocate") && placement == Placement::Replace {
                    true => holds_only(&path, &content, text),
                    false => assert!(fs::read(&path).unwrap() == content, "{text}"),
                }
            }
        }
        // An output that was longer.
        fs::write(&path, bytes(900_000, 8)).unwrap();
        run("none", Placement::Overwrite, "write=mmap", &Progress::default()).unwrap();
        assert!(fs::read(&path).unwrap() == content, "shorter");
    });
}
