//! The states before runs: input and output in the page cache or out of it, verified.

use std::fs;
use std::io::{self, Write};
use std::path::Path;
use std::sync::OnceLock;

use fullbore::file::File;
use fullbore::probe;

use super::Attempt;

/// Reads the whole file into the page cache, unless it is there.
pub(crate) fn warm(path: &Path) -> Attempt<()> {
    for _ in 0..3 {
        if cached(path)? == 1.0 {
            return Ok(());
        }
        io::copy(&mut fs::File::open(path)?, &mut Sink)?;
    }
    Err(format!("{}: not entirely in the page cache: use a smaller --size", path.display()).into())
}

/// Evicts the whole file from the page cache and verifies it.
pub(crate) fn cold(path: &Path) -> Attempt<()> {
    let file = File::open(path)?;
    let mut left = 1.0;
    for _ in 0..3 {
        file.sync_data()?;
        file.drop_cache()?;
        left = cached(path)?;
        if left == 0.0 {
            return Ok(());
        }
    }
    Err(format!("{}: {:.2}% stay in the page cache", path.display(), left * 100.0).into())
}

/// Reads every file of a tree into the page cache.
pub(crate) fn warm_tree(root: &Path) -> Attempt<()> {
    every_file(root, &mut warm)
}

/// Evicts every file of a tree from the page cache and verifies it. Names and attributes stay in memory: only root can drop
/// those, and only for the whole machine.
pub(crate) fn cold_tree(root: &Path) -> Attempt<()> {
    rustix::fs::syncfs(fs::File::open(root)?)?;
    every_file(root, &mut cold)
}

fn every_file(directory: &Path, visit: &mut dyn FnMut(&Path) -> Attempt<()>) -> Attempt<()> {
    for entry in fs::read_dir(directory)? {
        let (entry, path) = entry.map(|entry| (entry.file_type(), entry.path()))?;
        match entry? {
            kind if kind.is_dir() => every_file(&path, visit)?,
            kind if kind.is_file() && fs::metadata(&path)?.len() > 0 => visit(&path)?,
            _ => {}
        }
    }
    Ok(())
}

/// Makes `path` a complete copy of `from` in the page cache, unless it is one.
pub(crate) fn whole(path: &Path, from: &Path) -> Attempt<()> {
    let len = fs::metadata(from)?.len();
    if fs::metadata(path).is_ok_and(|found| found.len() == len) && cached(path)? == 1.0 {
        return Ok(());
    }
    let mut input = fs::File::open(from)?;
    let mut output = fs::File::options().write(true).create(true).truncate(false).open(path)?;
    // `io::copy` between files would allow the kernel to share their blocks.
    let mut buffer = vec![0; 256 << 10];
    loop {
        let count = io::Read::read(&mut input, &mut buffer)?;
        if count == 0 {
            break;
        }
        output.write_all(&buffer[..count])?;
    }
    Ok(())
}

/// Removes a file or tree that may not exist, and syncs the file system, so that no run pays for another's output.
pub(crate) fn absent(path: &Path) -> Attempt<()> {
    remove(path);
    let directory = path.parent().ok_or("a file without a directory")?;
    rustix::fs::syncfs(fs::File::open(directory)?)?;
    Ok(())
}

/// Touches three quarters of the free memory, once per run. The host of a virtual machine provides a page when it is
/// touched for the first time, which takes several times as long as filling it from a file. Without this, a program that
/// fills new memory would be measured on that.
pub(crate) fn memory() -> Attempt<()> {
    static TOUCHED: OnceLock<()> = OnceLock::new();
    if TOUCHED.get().is_none() {
        let free = rustix::system::sysinfo();
        let free = free.freeram as usize * free.mem_unit as usize;
        std::hint::black_box(vec![1u8; free / 4 * 3]);
        let _ = TOUCHED.set(());
    }
    Ok(())
}

/// Removes a file or tree that may not exist.
pub(crate) fn remove(path: &Path) {
    if fs::remove_file(path).is_err() {
        let _ = fs::remove_dir_all(path);
    }
}

/// The share of a file that the page cache holds, 0 to 1.
fn cached(path: &Path) -> Attempt<f64> {
    let residency = probe::residency(fs::File::open(path)?, 0..u64::MAX)
        .map_err(|error| format!("{}: cannot determine its cached share: {error}", path.display()))?;
    residency.share().ok_or_else(|| format!("{}: is empty", path.display()).into())
}

/// Discards everything; unlike `io::sink`, nothing may bypass it.
struct Sink;

impl Write for Sink {
    fn write(&mut self, data: &[u8]) -> io::Result<usize> {
        Ok(std::hint::black_box(data).len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}
