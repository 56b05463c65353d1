//! The states before runs: input and output in the page cache or out of it, verified.

use std::cell::Cell;
use std::fs;
use std::io::{self, Read, Write};
use std::path::Path;
use std::time::Duration;

use fullbore::file::File;
use fullbore::probe;
use fullbore::sys::{self, Advice};

use super::harness::Attempt;
use super::harness::directory::sync;

/// Reads a whole file, or every file of a tree, into the page cache, unless it is there.
pub(crate) fn warm(path: &Path) -> Attempt<()> {
    every_file(path, &|path| {
        for _ in 0..3 {
            if cached(path)? == 1.0 {
                return Ok(());
            }
            each_block(path, |data| {
                std::hint::black_box(data);
                Ok(())
            })?;
        }
        Err(format!("{}: not entirely in the page cache: use a smaller --size", path.display()).into())
    })
}

/// Evicts a whole file, or every file of a tree, from the page cache and verifies it. Names and attributes stay in memory:
/// only root can drop those, and only for the whole machine.
pub(crate) fn cold(path: &Path) -> Attempt<()> {
    if path.is_dir() {
        sync(path)?;
    }
    every_file(path, &|path| {
        let file = File::open(path)?;
        let mut left = 1.0;
        for attempt in 0..20 {
            if attempt > 0 {
                // Something else of the system has pages for a moment.
                std::thread::sleep(Duration::from_millis(50));
            }
            file.sync_data()?;
            file.drop_cache()?;
            left = cached(path)?;
            if left == 0.0 {
                return Ok(());
            }
        }
        Err(format!("{}: {:.2}% stay in the page cache", path.display(), left * 100.0).into())
    })
}

pub(crate) fn cold_or_warm(path: &Path, is_cold: bool) -> Attempt<()> {
    if is_cold { cold(path) } else { warm(path) }
}

/// Evicts a whole file and reads these parts of it again.
pub(crate) fn partly(path: &Path, parts: Cached) -> Attempt<()> {
    if parts == Cached::First(1.0) {
        return warm(path);
    }
    cold(path)?;
    let len = fs::metadata(path)?.len();
    match parts {
        Cached::First(share) => {
            let len = (len as f64 * share) as u64;
            io::copy(&mut fs::File::open(path)?.take(len), &mut io::sink())?;
        }
        Cached::Every(part) => {
            let file = File::open(path)?;
            // No read-ahead: the pages between the parts stay out.
            sys::advise(&file, 0, None, Advice::Random)?;
            let mut buffer = vec![0; part as usize];
            for at in (0..len).step_by(2 * buffer.len()) {
                file.read_at(&mut buffer, at)?;
            }
        }
    }
    Ok(())
}

#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum Cached {
    /// The first share of it.
    First(f64),
    /// Every other part of this length in bytes.
    Every(u64),
}

fn every_file(path: &Path, visit: &dyn Fn(&Path) -> Attempt<()>) -> Attempt<()> {
    let found = fs::symlink_metadata(path)?;
    match found.file_type() {
        kind if kind.is_dir() => fs::read_dir(path)?.try_for_each(|entry| every_file(&entry?.path(), visit)),
        kind if kind.is_file() && found.len() > 0 => visit(path),
        _ => Ok(()),
    }
}

/// Reads a file by plain system calls: `io::copy` between files would allow the kernel to share their blocks.
fn each_block(path: &Path, mut visit: impl FnMut(&[u8]) -> io::Result<()>) -> io::Result<()> {
    let mut file = fs::File::open(path)?;
    let mut buffer = vec![0; 256 << 10];
    loop {
        match file.read(&mut buffer)? {
            0 => return Ok(()),
            count => visit(&buffer[..count])?,
        }
    }
}

/// Makes `path` a complete copy of `from` in the page cache, unless it is one.
pub(crate) fn whole(path: &Path, from: &Path) -> Attempt<()> {
    let len = fs::metadata(from)?.len();
    if fs::metadata(path).is_ok_and(|found| found.len() == len) && cached(path)? == 1.0 {
        return Ok(());
    }
    let mut output = fs::File::options().write(true).create(true).truncate(false).open(path)?;
    Ok(each_block(from, |data| output.write_all(data))?)
}

/// Removes a file or tree that may not exist, and syncs the file system, so that no run pays for another's output.
pub(crate) fn absent(path: &Path) -> Attempt<()> {
    remove(path);
    sync(path.parent().ok_or("a file without a directory")?)
}

/// Makes `path` absent, and gives the next run memory for a copy of `input` that was just in use: a file of that length is
/// written and removed. The host of a virtual machine may take back free memory after two seconds, and provides a page at
/// its next use, which takes several times as long as filling it from a file. The run would be measured on that.
pub(crate) fn fresh(path: &Path, input: &Path) -> Attempt<()> {
    absent(path)?;
    let len = Cell::new(0);
    every_file(input, &|file| {
        len.set(len.get() + fs::metadata(file)?.len());
        Ok(())
    })?;
    let (mut file, zeros) = (fs::File::create(path)?, vec![0; 512 << 10]);
    while let count @ 1.. = len.get().min(zeros.len() as u64) {
        file.write_all(&zeros[..count as usize])?;
        len.set(len.get() - count);
    }
    absent(path)
}

pub(crate) fn remove(path: &Path) {
    if fs::remove_file(path).is_err() {
        let _ = fs::remove_dir_all(path);
    }
}

fn cached(path: &Path) -> Attempt<f64> {
    let residency = probe::residency(fs::File::open(path)?, 0..u64::MAX)
        .map_err(|error| format!("{}: cannot determine its cached share: {error}", path.display()))?;
    residency.share().ok_or_else(|| format!("{}: is empty", path.display()).into())
}
