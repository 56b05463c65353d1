//! The memory in which an operation receives blocks.

/// The memory in which an operation receives the blocks of a file.
///
/// A block in a *buffer* belongs to the run; nobody else changes it. A block in a *mapping* is the page cache itself, which saves a
/// copy; but other threads and other processes can change it at any moment, even while the operation reads it.
///
/// ```
/// use fullbore_io::buf::BlockMemory;
/// // SAFETY: the operation loads each byte once, and is correct for any bytes.
/// const HERE: BlockMemory = unsafe { BlockMemory::mapping() };
/// assert_ne!(HERE, BlockMemory::BUFFER);
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct BlockMemory {
    mapping: bool,
}

impl BlockMemory {
    /// Buffers only, which suit every operation.
    pub const BUFFER: Self = Self { mapping: false };

    /// Buffers and mappings, for the operations of these crates, which were reviewed for changing bytes.
    pub const REVIEWED: Self = Self { mapping: true };

    /// Buffers and mappings, for other operations.
    ///
    /// # Safety
    /// The operation must be sound for bytes that change while it reads them: two loads of one byte may differ. Thus it creates no
    /// `str` from the bytes, and no bounds follow from a byte that is loaded again.
    pub const unsafe fn mapping() -> Self {
        Self { mapping: true }
    }

    /// True if blocks may be in a mapping.
    pub const fn may_be_mapping(self) -> bool {
        self.mapping
    }
}
