//! Extents of files, in the form of Linux's `FIEMAP`.

pub(crate) const LAST: u32 = 0x0001;
pub(crate) const UNKNOWN: u32 = 0x0002;
pub(crate) const DELALLOC: u32 = 0x0004;
pub(crate) const ENCODED: u32 = 0x0008;
pub(crate) const INLINE: u32 = 0x0200;
pub(crate) const UNWRITTEN: u32 = 0x0800;
pub(crate) const SHARED: u32 = 0x2000;

/// One extent, as Linux writes it.
#[repr(C)]
#[derive(Debug, Default, Clone, Copy)]
pub(crate) struct RawExtent {
    /// Offset in the file in bytes.
    pub(crate) logical: u64,
    /// Offset on the device in bytes.
    pub(crate) physical: u64,
    /// Length in bytes.
    pub(crate) length: u64,
    reserved64: [u64; 2],
    /// `FIEMAP_EXTENT_*`.
    pub(crate) flags: u32,
    reserved: [u32; 3],
}

impl RawExtent {
    /// An extent of a system that reports it in another form.
    #[cfg(not(target_os = "linux"))]
    pub(in crate::sys) fn new(logical: u64, physical: u64, length: u64, flags: u32) -> Self {
        Self { logical, physical, length, flags, ..Self::default() }
    }
}
