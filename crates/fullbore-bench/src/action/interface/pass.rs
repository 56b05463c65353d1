//! A pass of an interface: the records with their order, and the source or use of their bytes.

use std::fmt;
use std::io::SeekFrom;
use std::ops::Range;
use std::sync::Arc;

use fullbore::operation::Generate;
use fullbore::operation::generate::Stamped;
use fullbore::pattern::Order;

/// Written data is stamped in units of this length, in bytes.
const BLOCK: usize = 4096;

#[derive(Debug, Clone)]
pub(super) struct Pass {
    range: Range<u64>,
    /// Length of a record in bytes; the last of the range may be shorter.
    record: usize,
    order: RecordOrder,
    /// Length of the file in bytes.
    file: u64,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum RecordOrder {
    Forward,
    /// From end to start; each offset is relative to the end of the file.
    Backward,
    /// Each at most once, as [`Order::Random`].
    Random {
        seed: u64,
        count: u64,
    },
}

impl Pass {
    pub(super) fn new(range: Range<u64>, record: usize, order: RecordOrder, file: u64) -> Self {
        Self { range, record, order, file }
    }

    pub(super) fn count(&self) -> u64 {
        match self.order {
            RecordOrder::Forward | RecordOrder::Backward => self.blocks(),
            RecordOrder::Random { count, .. } => count.min(self.blocks()),
        }
    }

    pub(super) fn record(&self, index: u64) -> (u64, usize) {
        let block = match self.order {
            RecordOrder::Forward => index,
            RecordOrder::Backward => self.blocks() - 1 - index,
            RecordOrder::Random { seed, count } => Order::Random { seed, count }.block(index, self.blocks()),
        };
        let offset = self.range.start + block * self.record as u64;
        (offset, (self.range.end - offset).min(self.record as u64) as usize)
    }

    pub(super) fn records(&self) -> impl Iterator<Item = (u64, usize)> + '_ {
        (0..self.count()).map(|index| self.record(index))
    }

    pub(super) fn bytes(&self) -> u64 {
        let len = self.range.end - self.range.start;
        match self.order {
            RecordOrder::Forward | RecordOrder::Backward => len,
            RecordOrder::Random { .. } if len.is_multiple_of(self.record as u64) => {
                self.count() * self.record as u64
            }
            // The last record, which is shorter, may be among them.
            RecordOrder::Random { .. } => self.records().map(|(_, len)| len as u64).sum(),
        }
    }

    pub(super) fn seek(&self, offset: u64) -> SeekFrom {
        match self.order {
            RecordOrder::Backward => SeekFrom::End(-((self.file - offset) as i64)),
            RecordOrder::Forward | RecordOrder::Random { .. } => SeekFrom::Start(offset),
        }
    }

    fn blocks(&self) -> u64 {
        (self.range.end - self.range.start).div_ceil(self.record as u64)
    }
}

/// Callback for read data: offset and bytes of a record or a part of it.
pub(super) type Observer = Arc<dyn Fn(u64, &[u8]) + Send + Sync>;

#[derive(Clone)]
pub(super) enum Payload {
    /// Read and discarded, or passed to an observer.
    Read(Option<Observer>),
    Write {
        data: Arc<Stamped>,
        /// True if all records are whole blocks; two of those differ only in their stamps.
        blocks: bool,
    },
}

impl fmt::Debug for Payload {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(if self.writes() { "Write" } else { "Read" })
    }
}

impl Payload {
    /// Creates a payload of `data` for calls of `each` bytes.
    pub(super) fn written(data: Stamped, each: usize) -> Self {
        Self::Write { data: Arc::new(data), blocks: each.is_multiple_of(BLOCK) }
    }

    pub(super) fn writes(&self) -> bool {
        matches!(self, Self::Write { .. })
    }

    #[inline]
    pub(super) fn observe(&self, offset: u64, data: &[u8]) {
        match self {
            Self::Read(Some(observer)) => observer(offset, data),
            _ => {
                std::hint::black_box(data.as_ptr());
            }
        }
    }

    /// Generates the data for `offset` in a buffer that was [primed](Self::prime) and not changed otherwise since.
    #[inline]
    pub(super) fn make(&self, offset: u64, data: &mut [u8]) {
        let Self::Write { data: stamped, blocks } = self else { return };
        if *blocks && data.len().is_multiple_of(BLOCK) && offset.is_multiple_of(BLOCK as u64) {
            stamped.renew(offset, data);
        } else {
            stamped.fill(offset, data);
        }
    }

    /// Fills a buffer with the bytes that all records have in common.
    pub(super) fn prime(&self, data: &mut [u8]) {
        if let Self::Write { data: stamped, .. } = self {
            stamped.fill(0, data);
        }
    }
}
