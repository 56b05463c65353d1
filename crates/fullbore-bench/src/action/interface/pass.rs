//! What an interface is to do: which records in which order, and what becomes of their bytes.

use std::fmt;
use std::io::SeekFrom;
use std::ops::Range;
use std::sync::Arc;

use fullbore::operation::Generate;
use fullbore::operation::generate::Stamped;
use fullbore::pattern::Order;

/// The unit in which written data is stamped, in bytes.
const BLOCK: usize = 4096;

/// Records of a file, in an order.
#[derive(Debug, Clone)]
pub(super) struct Pass {
    range: Range<u64>,
    /// Bytes of a record; the last of the range may be shorter.
    record: usize,
    order: RecordOrder,
    /// The length of the file in bytes.
    file: u64,
}

/// The order of records.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum RecordOrder {
    /// From front to back.
    Forward,
    /// From back to front, each offset told from the end.
    Backward,
    /// Each at most once: as [`Order::Random`].
    Random {
        /// Chooses the permutation.
        seed: u64,
        /// How many records.
        count: u64,
    },
}

impl Pass {
    /// Records of `record` bytes over a range of a file of `file` bytes.
    pub(super) fn new(range: Range<u64>, record: usize, order: RecordOrder, file: u64) -> Self {
        Self { range, record, order, file }
    }

    /// How many records.
    pub(super) fn count(&self) -> u64 {
        match self.order {
            RecordOrder::Forward | RecordOrder::Backward => self.blocks(),
            RecordOrder::Random { count, .. } => count.min(self.blocks()),
        }
    }

    /// Offset and length of the record that comes as number `index`, in bytes.
    pub(super) fn record(&self, index: u64) -> (u64, usize) {
        let block = match self.order {
            RecordOrder::Forward => index,
            RecordOrder::Backward => self.blocks() - 1 - index,
            RecordOrder::Random { seed, count } => Order::Random { seed, count }.block(index, self.blocks()),
        };
        let offset = self.range.start + block * self.record as u64;
        (offset, (self.range.end - offset).min(self.record as u64) as usize)
    }

    /// All records.
    pub(super) fn records(&self) -> impl Iterator<Item = (u64, usize)> + '_ {
        (0..self.count()).map(|index| self.record(index))
    }

    /// The bytes of all records.
    pub(super) fn bytes(&self) -> u64 {
        let len = self.range.end - self.range.start;
        match self.order {
            RecordOrder::Forward | RecordOrder::Backward => len,
            RecordOrder::Random { .. } if len.is_multiple_of(self.record as u64) => {
                self.count() * self.record as u64
            }
            // Whether the last, which is shorter, is among them.
            RecordOrder::Random { .. } => self.records().map(|(_, len)| len as u64).sum(),
        }
    }

    /// How whoever has a position goes to `offset`.
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

/// Who looks at what was read: offset and bytes of a record or a part of it.
pub(super) type Observer = Arc<dyn Fn(u64, &[u8]) + Send + Sync>;

/// What becomes of the bytes.
#[derive(Clone)]
pub(super) enum Payload {
    /// They are read, and thrown away unless somebody looks.
    Read(Option<Observer>),
    /// They are made and written.
    Write {
        /// Makes them.
        data: Arc<Stamped>,
        /// Whether all records are whole blocks: between those only the stamps differ.
        blocks: bool,
    },
}

impl fmt::Debug for Payload {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(if self.writes() { "Write" } else { "Read" })
    }
}

impl Payload {
    /// Bytes of `data` for calls of `each` bytes.
    pub(super) fn written(data: Stamped, each: usize) -> Self {
        Self::Write { data: Arc::new(data), blocks: each.is_multiple_of(BLOCK) }
    }

    /// Whether they are written.
    pub(super) fn writes(&self) -> bool {
        matches!(self, Self::Write { .. })
    }

    /// Takes what was read at `offset`.
    #[inline]
    pub(super) fn observe(&self, offset: u64, data: &[u8]) {
        match self {
            Self::Read(Some(observer)) => observer(offset, data),
            _ => {
                std::hint::black_box(data.as_ptr());
            }
        }
    }

    /// Makes what is to be written at `offset`, in a buffer that was [primed](Self::prime) and holds nothing else since.
    #[inline]
    pub(super) fn make(&self, offset: u64, data: &mut [u8]) {
        let Self::Write { data: stamped, blocks } = self else { return };
        if *blocks && data.len().is_multiple_of(BLOCK) && offset.is_multiple_of(BLOCK as u64) {
            stamped.renew(offset, data);
        } else {
            stamped.fill(offset, data);
        }
    }

    /// Fills a buffer with what all records have in common.
    pub(super) fn prime(&self, data: &mut [u8]) {
        if let Self::Write { data: stamped, .. } = self {
            stamped.fill(0, data);
        }
    }
}
