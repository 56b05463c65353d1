//! How much of a file the page cache holds.

use std::io;
use std::ops::Range;
use std::os::fd::AsFd;

use serde::{Deserialize, Serialize};

use crate::sys::{cachestat, statx};

/// What the page cache holds of a range of a file. All in bytes, in whole pages; None: the call that answered
/// does not tell.
///
/// ```
/// let found = fullbore::probe::residency(std::fs::File::open("Cargo.toml")?, 0..1)?;
/// assert!(found.cached <= found.total, "both in whole pages");
/// assert!(found.total.is_power_of_two(), "one page");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Residency {
    /// The range itself, as far as it is inside the file, rounded out to whole pages.
    pub total: u64,
    /// In the page cache.
    pub cached: u64,
    /// Changed, and not yet on its way to the device.
    pub dirty: Option<u64>,
    /// On its way to the device.
    pub writeback: Option<u64>,
    /// Once in the cache and evicted since.
    pub evicted: Option<u64>,
    /// Evicted so lately that reading it again would count as thrashing.
    pub recently_evicted: Option<u64>,
    /// Which call answered.
    pub source: ResidencySource,
}

/// The call that told the residency.
///
/// ```
/// use fullbore::probe::{ResidencySource, residency};
/// let found = residency(std::fs::File::open("Cargo.toml")?, 0..1)?;
/// assert_eq!(found.source == ResidencySource::Cachestat, found.dirty.is_some(), "mincore does not tell");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ResidencySource {
    /// `cachestat(2)`.
    Cachestat,
    /// `mincore(2)` on a mapping that is never touched.
    Mincore,
}

impl Residency {
    /// The cached share of the range, 0 to 1; None of an empty range.
    ///
    /// ```
    /// use fullbore::probe::residency;
    /// let file = std::fs::File::open("Cargo.toml")?;
    /// assert!(residency(&file, 0..u64::MAX)?.share().is_some_and(|share| (0.0..=1.0).contains(&share)));
    /// assert_eq!(residency(&file, 0..0)?.share(), None);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn share(&self) -> Option<f64> {
        (self.total > 0).then(|| self.cached as f64 / self.total as f64)
    }
}

/// Asks what the page cache holds of `range` (bytes of the file; what lies past its end is left out).
///
/// Three system calls with `cachestat(2)`: cheap enough to frame every trial. `mincore(2)` answers where that
/// call is missing or forbidden, and on overlays, where it counts the pages of the overlay's own inode, which
/// never has any.
///
/// ```
/// let file = std::fs::File::open("Cargo.toml")?;
/// let found = fullbore::probe::residency(&file, 0..u64::MAX)?;
/// assert!(found.total >= file.metadata()?.len(), "as far as the file goes, in whole pages");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// # Errors
/// The system's, from either call. `PermissionDenied` where the kernel would not tell the truth: a file that
/// this user neither owns nor may write. `mincore` also needs a descriptor open for reading.
pub fn residency(fd: impl AsFd, range: Range<u64>) -> io::Result<Residency> {
    let fd = fd.as_fd();
    let page = rustix::param::page_size() as u64;
    let size = statx::of_file(fd)?.size;
    let start = range.start.min(size) / page * page;
    let end = range.end.min(size).div_ceil(page).saturating_mul(page);
    let total = end.saturating_sub(start);
    if total == 0 || range.is_empty() || range.start >= size {
        return Ok(Residency {
            total: 0,
            cached: 0,
            dirty: None,
            writeback: None,
            evicted: None,
            recently_evicted: None,
            source: ResidencySource::Cachestat,
        });
    }
    if !super::overlaid(fd) {
        match cachestat::cachestat(fd, start, total) {
            Ok(pages) => {
                return Ok(Residency {
                    total,
                    cached: pages.cached * page,
                    dirty: Some(pages.dirty * page),
                    writeback: Some(pages.writeback * page),
                    evicted: Some(pages.evicted * page),
                    recently_evicted: Some(pages.recently_evicted * page),
                    source: ResidencySource::Cachestat,
                });
            }
            Err(error) if replaceable(&error) => {}
            Err(error) => return Err(error),
        }
    }
    // The last page may be partly past the end: a mapping covers it whole all the same.
    Ok(Residency {
        total,
        cached: cachestat::mincore(fd, start, total)? * page,
        dirty: None,
        writeback: None,
        evicted: None,
        recently_evicted: None,
        source: ResidencySource::Mincore,
    })
}

/// Whether the call, and not the question, failed: missing, barred by a filter, not for this file system.
fn replaceable(error: &io::Error) -> bool {
    matches!(error.raw_os_error(), Some(libc::ENOSYS | libc::EPERM | libc::EACCES | libc::EOPNOTSUPP))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs::File;
    use std::io::Write;

    /// A file of so many bytes in the working folder of the tests, written back so that it can be dropped.
    fn file(bytes: usize) -> File {
        let mut file = tempfile::tempfile_in(env!("CARGO_MANIFEST_DIR")).unwrap();
        file.write_all(&vec![7; bytes]).unwrap();
        file.sync_all().unwrap();
        file
    }

    #[test]
    fn both_calls_agree_before_and_after_dropping() {
        let file = file(300_001);
        let page = rustix::param::page_size() as u64;
        let total = 300_001u64.div_ceil(page) * page;
        let warm = residency(&file, 0..u64::MAX).unwrap();
        assert_eq!((warm.total, warm.cached), (total, total));
        assert_eq!(warm.share(), Some(1.0));
        assert_eq!(cachestat::mincore(file.as_fd(), 0, total).unwrap() * page, warm.cached);
        rustix::fs::fadvise(&file, 0, None, rustix::fs::Advice::DontNeed).unwrap();
        let cold = residency(&file, 0..u64::MAX).unwrap();
        assert_eq!(cachestat::mincore(file.as_fd(), 0, total).unwrap() * page, cold.cached);
        let in_memory = crate::probe::in_memory(&file);
        assert!(cold.cached == 0 || in_memory, "{cold:?}");
    }

    #[test]
    fn a_range_is_rounded_out_to_pages_and_ends_with_the_file() {
        let page = rustix::param::page_size() as u64;
        let file = file(3 * page as usize + 1);
        let total = |range| residency(&file, range).unwrap().total;
        assert_eq!(total(0..1), page);
        assert_eq!(total(page - 1..page + 1), 2 * page);
        assert_eq!(total(3 * page..u64::MAX), page);
        assert_eq!(total(5 * page..9 * page), 0);
        assert_eq!(total(page..page), 0);
    }

    #[test]
    fn an_empty_file_has_no_share() {
        assert_eq!(residency(file(0), 0..u64::MAX).unwrap().share(), None);
    }

    #[test]
    fn a_pipe_holds_nothing() {
        let (reader, _writer) = rustix::pipe::pipe().unwrap();
        // A pipe has size 0 and so an empty range: nothing to ask.
        assert_eq!(residency(reader, 0..10).unwrap().total, 0);
    }
}
