//! The states that runs must find: input and output in the page cache or out of it, proved and not assumed.

use std::fs;
use std::io::{self, Write};
use std::path::Path;
use std::sync::OnceLock;

use fullbore::file::File;
use fullbore::probe;

use super::Attempt;

/// Puts the whole file into the page cache, unless it is there.
pub(crate) fn warm(path: &Path) -> Attempt<()> {
    for _ in 0..3 {
        if cached(path)? == 1.0 {
            return Ok(());
        }
        io::copy(&mut fs::File::open(path)?, &mut Sink)?;
    }
    Err(format!("{}: the page cache does not hold it whole; give less --size", path.display()).into())
}

/// Takes the whole file out of the page cache and proves that it is.
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
    Err(format!("{}: {:.2}% of it stay in the page cache", path.display(), left * 100.0).into())
}

/// Puts every file of a tree into the page cache.
pub(crate) fn warm_tree(root: &Path) -> Attempt<()> {
    every_file(root, &mut warm)
}

/// Takes every file of a tree out of the page cache and proves that each is. Names and attributes stay in memory: only root
/// can drop those, and only for the whole machine.
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

/// Makes `path` a whole copy of `from`, in the page cache, unless it is both.
pub(crate) fn whole(path: &Path, from: &Path) -> Attempt<()> {
    let len = fs::metadata(from)?.len();
    if fs::metadata(path).is_ok_and(|found| found.len() == len) && cached(path)? == 1.0 {
        return Ok(());
    }
    let mut input = fs::File::open(from)?;
    let mut output = fs::File::options().write(true).create(true).truncate(false).open(path)?;
    // `io::copy` between files would let the kernel share their blocks.
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

/// Removes a file or tree that may not be there, and lets the file system settle, so that nobody pays for another's
/// output.
pub(crate) fn absent(path: &Path) -> Attempt<()> {
    remove(path);
    let directory = path.parent().ok_or("a file of the benchmark has a directory")?;
    rustix::fs::syncfs(fs::File::open(directory)?)?;
    Ok(())
}

/// Touches three quarters of the memory that is free, once a run. The host of a virtual machine gives it a page when it
/// is touched for the first time, which takes several times as long as filling it from a file. That is nobody's merit, so
/// nobody who fills new memory is measured on it.
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

/// Removes a file or tree that may not be there.
pub(crate) fn remove(path: &Path) {
    if fs::remove_file(path).is_err() {
        let _ = fs::remove_dir_all(path);
    }
}

/// The share of a file that the page cache holds, 0 to 1.
fn cached(path: &Path) -> Attempt<f64> {
    let residency = probe::residency(fs::File::open(path)?, 0..u64::MAX).map_err(|error| {
        format!("{}: the system does not say what it caches of it: {error}", path.display())
    })?;
    residency.share().ok_or_else(|| format!("{}: is empty", path.display()).into())
}

/// Takes everything; unlike `io::sink`, nothing may bypass it.
struct Sink;

impl Write for Sink {
    fn write(&mut self, data: &[u8]) -> io::Result<usize> {
        Ok(std::hint::black_box(data).len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}
