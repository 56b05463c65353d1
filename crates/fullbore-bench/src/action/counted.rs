//! Data that counts its blocks as they are made: the progress of a transfer is reported in steps of a megabyte, too
//! coarse for small requests.

use std::fmt;
use std::sync::atomic::{AtomicU64, Ordering};

use fullbore::buf::Pool;
use fullbore::operation::Generate;
use fullbore::operation::generate::Stamped;

/// Written data that adds every block to a count of bytes.
#[derive(Debug)]
pub(super) struct CountedData<'a> {
    pub(super) data: &'a Stamped,
    pub(super) count: &'a AtomicU64,
}

impl fmt::Display for CountedData<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.data.fmt(f)
    }
}

impl Generate for CountedData<'_> {
    fn fill(&self, offset: u64, target: &mut [u8]) {
        self.count.fetch_add(target.len() as u64, Ordering::Relaxed);
        self.data.fill(offset, target);
    }

    fn renew(&self, offset: u64, target: &mut [u8]) {
        self.count.fetch_add(target.len() as u64, Ordering::Relaxed);
        self.data.renew(offset, target);
    }

    fn prime(&self, pool: &mut Pool) {
        self.data.prime(pool);
    }
}
