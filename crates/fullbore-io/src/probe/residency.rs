//! Share of a file in the page cache.

use std::io;
use std::ops::Range;

use super::identity::overlaid;
use crate::sys::{self, AsHandle, Code};

/// Pages of a range of a file in the page cache, in bytes of whole pages. `None` if the call does not report the value.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct Residency {
    /// Length of the range within the file, rounded out to whole pages.
    pub total: u64,
    /// Bytes in the page cache.
    pub cached: u64,
    /// Bytes that are modified, with writeback not started.
    pub dirty: Option<u64>,
    /// Bytes under writeback.
    pub writeback: Option<u64>,
    /// Bytes that were in the cache and have been evicted.
    pub evicted: Option<u64>,
    /// Bytes evicted so recently that a read now would count as a refault.
    pub recently_evicted: Option<u64>,
    /// Call that reported the values.
    pub source: ResidencySource,
}

/// Call that reported a residency.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize), serde(rename_all = "snake_case"))]
pub enum ResidencySource {
    /// `cachestat(2)`.
    Cachestat,
    /// `mincore(2)` on a mapping that is never accessed.
    Mincore,
}

impl Residency {
    fn counted(total: u64, cached: u64, source: ResidencySource) -> Self {
        let (dirty, writeback, evicted, recently_evicted) = (None, None, None, None);
        Self { total, cached, dirty, writeback, evicted, recently_evicted, source }
    }

    /// Returns the cached share of the range, 0 to 1; `None` for an empty range.
    pub fn share(&self) -> Option<f64> {
        (self.total > 0).then(|| self.cached as f64 / self.total as f64)
    }
}

/// Determines the share of `range` in the page cache (in bytes of the file; the part past its end is omitted).
///
/// Takes two system calls with `cachestat(2)`, and a third if nothing is cached: cheap enough before and after every trial.
/// `mincore(2)` is used if that call is missing or forbidden, and on overlays, where it counts the pages of the overlay's own
/// inode, which never has any.
///
/// # Errors
/// The system's, from either call. `PermissionDenied` if the kernel would not report true values: for a file that this
/// user neither owns nor may write. `mincore` also needs a descriptor open for reading.
pub fn residency(fd: impl AsHandle, range: Range<u64>) -> io::Result<Residency> {
    let size = sys::extended_status(fd.as_handle())?.size;
    residency_within(fd, range, size)
}

/// As [`residency`], for a file of known size, in bytes.
pub fn residency_within(fd: impl AsHandle, range: Range<u64>, size: u64) -> io::Result<Residency> {
    let fd = fd.as_handle();
    let page = sys::page_size() as u64;
    let start = range.start.min(size) / page * page;
    let end = range.end.min(size).div_ceil(page).saturating_mul(page);
    let total = end.saturating_sub(start);
    if total == 0 || range.is_empty() || range.start >= size {
        return Ok(Residency::counted(0, 0, ResidencySource::Cachestat));
    }
    match sys::cachestat(fd, start, total) {
        // A count of zero may be that of the wrong inode.
        Ok(pages) if pages.cached > 0 || !overlaid(fd) => {
            return Ok(Residency {
                dirty: Some(pages.dirty * page),
                writeback: Some(pages.writeback * page),
                evicted: Some(pages.evicted * page),
                recently_evicted: Some(pages.recently_evicted * page),
                ..Residency::counted(total, pages.cached * page, ResidencySource::Cachestat)
            });
        }
        Ok(_) => {}
        Err(error) if replaceable(&error) => {}
        Err(error) => return Err(error),
    }
    // The last page may be partly past the end of the file: a mapping covers it anyway.
    let cached = sys::resident_pages(fd, start, total)? * page;
    Ok(Residency::counted(total, cached, ResidencySource::Mincore))
}

/// True if the call itself is unusable: missing, blocked by a filter, or unsupported by this file system.
fn replaceable(error: &io::Error) -> bool {
    matches!(
        Code::of(error),
        Some(Code::NOT_IMPLEMENTED | Code::NOT_PERMITTED | Code::ACCESS_DENIED | Code::UNSUPPORTED)
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use fullbore_testkit::ground::build_directory;
    use std::fs::File;
    use std::io::Write;

    /// Creates a file of this length in the directory of the build, written back so that it can be dropped.
    fn file(bytes: usize) -> File {
        let mut file = tempfile::tempfile_in(build_directory()).unwrap();
        file.write_all(&vec![7; bytes]).unwrap();
        file.sync_all().unwrap();
        file
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn both_calls_agree_before_and_after_dropping() {
        let file = file(300_001);
        let page = sys::page_size() as u64;
        let total = 300_001u64.div_ceil(page) * page;
        let warm = residency(&file, 0..u64::MAX).unwrap();
        assert_eq!((warm.total, warm.cached), (total, total));
        assert_eq!(warm.share(), Some(1.0));
        assert_eq!(sys::resident_pages(file.as_handle(), 0, total).unwrap() * page, warm.cached);
        sys::advise(&file, 0, None, sys::Advice::DontNeed).unwrap();
        let cold = residency(&file, 0..u64::MAX).unwrap();
        assert_eq!(sys::resident_pages(file.as_handle(), 0, total).unwrap() * page, cold.cached);
        let in_memory = crate::probe::in_memory(&file);
        assert!(cold.cached == 0 || in_memory, "{cold:?}");
    }

    #[cfg(unix)]
    #[test]
    fn a_range_is_rounded_out_to_pages_and_ends_with_the_file() {
        let page = sys::page_size() as u64;
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
    fn a_pipe_has_no_pages() {
        let (reader, _writer) = sys::pipe().unwrap();
        // A pipe has size 0 and therefore an empty range.
        assert_eq!(residency(reader, 0..10).unwrap().total, 0);
    }
}
